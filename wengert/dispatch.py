"""How a function call finds its meaning.

The primitives are NumPy's own functions. NumPy asks its arguments what a call means, by the
protocols `__array_ufunc__` (NEP 13) and `__array_function__` (NEP 18); so a kind of array gives
`np.sin` a new meaning by implementing them. `primitive` gives functions that NumPy lacks the same
property: they look at their arguments' `__array_function__`, as NumPy's own do.

Nothing in this package is imported here. Read `rules/` next.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType
from typing import Any, NamedTuple

import numpy as np
from numpy._core import umath  # private: see ERRORS

Function = Callable[..., Any]
numpy: Any = np
"""NumPy for calls on other kinds of arrays: its types know only its own."""


def primitive(
    function: Function, *, opaque: bool = False, result: Function | None = None
) -> Function:
    """Make `function` dispatchable: any argument with `__array_function__` may take over the call.

    The body is the meaning on plain NumPy arrays. Lists and tuples among the arguments are looked
    into one level deep (`concatenate`-like functions). The body of an `opaque` one runs on nothing
    else: other kinds of arrays call it as a whole. `result(...)` of the same arguments is an array,
    or a tuple of arrays, of the shape and dtype that it returns, for when it cannot be run.

    >>> @primitive
    ... def double(x):
    ...     return 2 * x
    >>> double(np.ones(2))
    array([2., 2.])
    """

    @functools.wraps(function)
    def dispatched(*args: Any, **kwargs: Any) -> Any:
        for arg in (*args, *kwargs.values()) if kwargs else args:
            kind = type(arg)
            if kind is ndarray or kind in PLAIN:
                continue
            if kind is tuple or kind is list:
                asked = [x for x in arg if type(x) is not ndarray and hasattr(x, PROTOCOL)]
            else:
                asked = [arg] if hasattr(kind, PROTOCOL) else []
            for x in asked:
                result = getattr(x, PROTOCOL)(dispatched, (type(x),), args, kwargs)
                if result is not NotImplemented:
                    return result
        return function(*args, **kwargs) if kwargs else function(*args)

    dispatched.body = function  # type: ignore[attr-defined]
    dispatched.opaque = opaque  # type: ignore[attr-defined]
    dispatched.result = result  # type: ignore[attr-defined]
    return dispatched


class Parts(NamedTuple):
    """A function of work that is done elsewhere, in three: a program does others in between.

    `start(x, *rest)` gives a ticket, of which `go_on(ticket, *rest)` makes the ticket again, and
    room for what the function returns; `wait(ticket, room, x, *rest)` returns that. A program has
    both in memory of its own where they say how: `start.into(outputs, x, *rest)` writes what it
    gives into arrays, and `wait.over` says that its first output may lie over its argument 1.
    """

    start: Function
    go_on: Function
    wait: Function


# What np.errstate(all="ignore") sets, which takes ten times as long: a fifth of a small sigmoid.
ERRORS = umath._extobj_contextvar
"""Where NumPy keeps its settings; another object each time that they are set."""
QUIET = umath._make_extobj(all="ignore")


def quietly(function: Function) -> Function:
    """A function that computes infinities and NaN without a warning: they are its results."""

    @functools.wraps(function)
    def quiet(*args: Any, **kwargs: Any) -> Any:
        before = ERRORS.set(QUIET)
        try:
            return function(*args, **kwargs)
        finally:
            ERRORS.reset(before)

    return quiet


_looked_at: tuple[Any, bool] = None, True
"""Settings, and whether errors of arithmetic pass by them."""


def errors_pass(*_: Any) -> bool:
    """Whether a division by zero, or an overflow, leaves a program as it is, but for a warning.

    Machine code makes the infinity, or NaN, and nothing else: it is for programs that are content
    with that.

    >>> errors_pass()
    True
    >>> with np.errstate(divide="raise"):
    ...     errors_pass()
    False
    """
    global _looked_at
    settings = ERRORS.get()
    known, passing = _looked_at
    if known is not settings:
        told: Any = np.geterr()
        passing = all(told[kind] in ("ignore", "warn") for kind in _KINDS_OF_ERRORS)
        _looked_at = settings, passing
    return passing


_KINDS_OF_ERRORS = "divide", "over", "under", "invalid"

ndarray = np.ndarray
PROTOCOL = "__array_function__"
PLAIN = frozenset({int, float, bool, complex, str, type(None), np.dtype, slice, type(Ellipsis)})


def as_array(x: Any, dtype: Any = None) -> Any:
    """`np.asarray`, but arrays of other kinds stay what they are."""
    if isinstance(x, ndarray) or not hasattr(type(x), "__array_function__"):
        if type(x) is list and any(hasattr(type(item), "__array_function__") for item in x):
            return as_array(np.stack(x), dtype)
        return np.asarray(x, dtype)
    x = x if dtype is None or x.dtype == dtype else x.astype(dtype)
    return x[...] if getattr(x, "scalar", False) is True else x  # a number that is not known yet


def each(change: Function, x: Any) -> Any:
    """`change(x)`; of a list, a tuple or a dictionary, that of each of its items.

    >>> each(abs, (-1, [-2.0]))
    (1, [2.0])
    """
    kind = type(x)
    if kind is list or kind is tuple:
        return kind([each(change, item) for item in x])
    if kind is dict:
        return {name: each(change, item) for name, item in x.items()}
    if isinstance(x, tuple) and hasattr(kind, "_fields"):
        return kind(*[each(change, item) for item in x])
    return change(x)


def known(x: Any) -> bool:
    """Whether the numbers of an array can be looked at now, to check them, say.

    Other kinds of arrays may not have numbers yet; what is wrong with them shows when they do.
    """
    return isinstance(x, (ndarray, np.generic))


@primitive
def require(holds: Any, error: Function, *args: Any) -> None:
    """Raise `error(*args)` unless all of `holds` is true: the check of an array's numbers.

    Where the numbers are not known yet, a kind of array says what becomes of it: a trace writes it
    down, and compiled code raises the same error, which is why `error` is made of the arrays.

    >>> require(np.array([1, 2]) > 0, ValueError, "not positive")
    """
    kind = type(holds)
    if not (holds if kind in _TRUTHS else all_true(holds) if kind is ndarray else np.all(holds)):
        raise error(*args)


_TRUTHS = frozenset({bool, np.bool_})


def all_true(holds: Any) -> bool:
    """Whether all of a plain array of truth values are true.

    NumPy counts a few in an eighth of the time that it takes to reduce them, and finds one that is
    false in their bytes in a third of that.

    >>> all_true(np.array([True, False])), all_true(np.array([]))
    (False, True)
    """
    if holds.size <= _FEW and holds.dtype.kind == "b":
        return b"\0" not in holds.tobytes()
    return bool(np.count_nonzero(holds) == holds.size)


_FEW = 1000


class Unforeseen(Exception):
    """Something is not as it was supposed to be: the call has to run eagerly."""


def supposed(holds: Any) -> bool:
    """Whether all of `holds` is true, as it nearly always is.

    Where the numbers are not known yet, it is supposed to be: compiled code checks that before it
    writes anything, and a call for which it is false runs eagerly.

    >>> supposed(np.array([1, 2]) > 0), supposed(np.array([1, 2]) > 1)
    (True, False)
    """
    try:
        require(holds, Unforeseen)
    except Unforeseen:
        return False
    return True


ORDERS = frozenset({np.less, np.less_equal, np.greater, np.greater_equal})
COMPARISONS = ORDERS | {np.equal, np.not_equal}
WRITERS = frozenset({np.put, np.place, np.putmask, np.fill_diagonal, np.put_along_axis})


def writes(function: Any) -> bool:
    """Whether a NumPy function changes its first argument."""
    return function in WRITERS or getattr(function, "__name__", "") == "at"


def within(x: Any, low: Any, high: Any) -> Any:
    """Where low <= x < high."""
    return (x >= low) & (x < high)


@functools.cache
def called(function: Function, name: str, doc: str | None = None, module: str = "") -> Function:
    """A function, after it was told what it is called, what it does, and where it is found."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc or function.__doc__
    function.__module__ = module or function.__module__
    return function


def taking(like: Function) -> Callable[[Function], Function]:
    """A decorator: a function of any arguments takes those of another one, to pass them on."""

    def note(function: Function) -> Function:
        result = inspect.signature(function, eval_str=True).return_annotation
        taken = inspect.signature(like, eval_str=True).replace(return_annotation=result)
        vars(function)["__signature__"] = taken
        return function

    return note


def signature(function: Function) -> tuple[tuple[str, ...], dict[str, Any]]:
    """The names of a function's arguments, in order, and the defaults of those that have one."""
    if isinstance(function, np.ufunc):
        letters = map(chr, range(ord("a"), ord("a") + function.nin))
        return tuple(letters) if function.nin > 1 else ("x",), {}
    written = in_python(function)
    if type(written) is FunctionType and not hasattr(written, "__signature__"):
        return _as_written(written)
    parameters = inspect.signature(function).parameters
    names = tuple(p.name for p in parameters.values() if p.kind is not p.VAR_KEYWORD)
    defaults = {p.name: p.default for p in parameters.values() if p.default is not p.empty}
    return names, defaults


def in_python(function: Function) -> Any:
    """The function that says what arguments one takes: for one in C, one in Python that does."""
    written: Any = function
    while hasattr(written, "__wrapped__") and not hasattr(written, "__signature__"):
        written = written.__wrapped__
    if type(written) is BuiltinFunctionType:
        with contextlib.suppress(SyntaxError, NameError):  # it says nothing, or not in Python
            return _as_told(str(written.__text_signature__))  # type: ignore[attr-defined]
    return written


@functools.cache
def _as_told(text: str) -> FunctionType:
    # No tree is made of the text, as by inspect.signature: up to 3.11.7 Python counts in one place
    # how deep the trees of all threads are, and raises SystemError where two are made at once.
    space: dict[str, Any] = {"__builtins__": {}}
    exec(f"def told{text}: ...", space)  # noqa: S102 - a head, of no text of a user's
    told: FunctionType = space["told"]
    return told


def _as_written(function: FunctionType) -> tuple[tuple[str, ...], dict[str, Any]]:
    # What inspect.signature says, in a tenth of its time: it is asked hundreds of times at import.
    code = function.__code__
    count, keywords = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    rest = keywords + bool(code.co_flags & inspect.CO_VARARGS)
    named = code.co_varnames
    positional = named[:count]
    given = function.__defaults__ or ()
    defaults = dict(zip(positional[count - len(given) :], given, strict=True))
    names = (*positional, *named[keywords:rest], *named[count:keywords])
    return names, defaults | (function.__kwdefaults__ or {})
