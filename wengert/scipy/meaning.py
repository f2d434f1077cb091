"""How a function of SciPy's gets a meaning on tensors: `meaning("linalg")` above its definition.

The definition has the arguments of SciPy's function on which a derivative depends, under SciPy's
names; in which order they are given, and what their defaults are, is read off SciPy's signature.
Definitions are written in NumPy's functions, so that every kind of array can run them.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from wengert.dispatch import each
from wengert.errors import BatchingError, MissingRuleError, TracingError, WengertError
from wengert.scipy.source import by_source, can_run_again, entered, object_of_tensors, of_tensors
from wengert.scipy.standard import asks_arrays, by_the_standard, holds_arrays, undefined

Function = Callable[..., Any]


def bare(x: Any) -> Any:
    """Without history: which interval a number lies in has no derivative."""
    return x.detach() if hasattr(x, "detach") else x


def meaning(module: str, of: Any = None) -> Callable[[Function], Function]:
    """A decorator: this is what the function of its name in `scipy.MODULE` means on tensors."""

    def decorate(own: Function) -> Function:
        name = own.__name__
        theirs = getattr(importlib.import_module(f"scipy.{module}") if of is None else of, name)
        described = _described(f"scipy.{module}.{name}", own, theirs)

        @functools.wraps(own)
        def called(*args: Any, **kwargs: Any) -> Any:
            if not (holds_arrays(args) or holds_arrays(kwargs)):
                return theirs(*args, **kwargs)
            try:
                return described(*args, **kwargs)
            except Exception as error:
                if _says(error, name) or not _takes(theirs, args, kwargs):
                    raise
                raise TypeError(
                    f"scipy.{module}.{name} on tensors does not take these arguments, which SciPy "
                    f"does: {error}. Pass x.detach().numpy() if no derivative is wanted."
                ) from error

        return called

    return decorate


def _says(error: Exception, name: str) -> bool:
    """Whether an error tells which function was called and what to write."""
    said = (MissingRuleError, BatchingError, TracingError, WengertError)
    return isinstance(error, said) or name in str(error)


def _takes(theirs: Function, args: Any, kwargs: Any) -> bool:
    """Whether SciPy's function takes the numbers of a call that failed with tensors."""
    try:
        theirs(*_numbers(args), **_numbers(kwargs))
    except Exception:  # whatever it says of them
        return False
    return True


def _numbers(x: Any) -> Any:
    """Arguments without history; what has no numbers yet stays as it is, and is refused."""

    def bare(x: Any) -> Any:
        known = isinstance(getattr(x, "_array", None), np.ndarray)
        return x._array.copy()[()] if known else x

    return each(bare, x)


def linear(module: str, name: str, argument: str) -> Function:
    """A function of SciPy's that is linear along an axis of one argument, whatever the others are.

    On tensors it is a product with a matrix, of which SciPy says the columns: what it makes of unit
    vectors. What it makes of zeros is added, since some functions are linear up to a constant.
    """
    theirs = getattr(importlib.import_module(f"scipy.{module}"), name)
    signature = inspect.signature(theirs)

    @functools.wraps(theirs)
    def called(*args: Any, **kwargs: Any) -> Any:
        if not (holds_arrays(args) or holds_arrays(kwargs)):
            return theirs(*args, **kwargs)
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        x, axis = given.arguments[argument], given.arguments["axis"]
        others = {n: v for n, v in given.arguments.items() if n != argument}
        if holds_arrays(others):
            raise TypeError(
                f"scipy.{module}.{name} on tensors is differentiated by {argument}= only; pass "
                "plain arrays and numbers for what else it takes"
            )
        n = x.shape[axis]
        given.arguments[argument] = np.eye(n, n + 1, dtype=np.result_type(x.dtype, np.float32))
        given.arguments["axis"] = 0
        filtered = theirs(*given.args, **given.kwargs)
        if not isinstance(filtered, np.ndarray):
            raise TypeError(f"scipy.{module}.{name} on tensors gives one array: leave out zi=")
        columns, rest = filtered[:, :n] - filtered[:, n:], filtered[:, n]
        y = np.tensordot(x, columns, ((axis,), (1,)))
        return np.moveaxis(y + rest if rest.any() else y, -1, axis)

    called.defined = True  # type: ignore[attr-defined]
    return called


def _described(name: str, own: Function, theirs: Function) -> Function:
    """A definition that is called as SciPy's function is."""
    try:
        signature = inspect.signature(theirs)
    except ValueError:  # functions in C say nothing of theirs
        return own
    known = inspect.signature(own).parameters
    if any(p.kind is p.VAR_POSITIONAL for p in known.values()):
        return own

    def called(*args: Any, **kwargs: Any) -> Any:
        given = dict(signature.bind(*args, **kwargs).arguments)
        for p in signature.parameters.values():
            if p.kind is p.VAR_KEYWORD:
                given |= given.pop(p.name, {})
        for n, value in given.items():
            default = signature.parameters[n].default if n in signature.parameters else None
            is_default = default is value or (type(default) is type(value) and default == value)
            if n not in known and not is_default and not _is_a_hint(n):
                raise TypeError(
                    f"{name} on tensors does not take {n}={value!r}. It takes {', '.join(known)}."
                )
        return own(**{n: value for n, value in given.items() if n in known})

    return called


def _is_a_hint(argument: str) -> bool:
    """Whether an argument of SciPy's says how to compute, and not what."""
    return argument.startswith("overwrite_") or argument in (
        "check_finite", "lapack_driver", "driver", "workers",
    )  # fmt: skip


_NOT_FOR_TENSORS = (
    MissingRuleError, RuntimeError, TypeError, AttributeError, NotImplementedError,
)  # fmt: skip
"""What SciPy's code raises that goes on where tensors cannot."""


def as_it_is_written(name: str, function: Function) -> Function:
    """SciPy's function on tensors, by how SciPy has written it, or an error.

    It asks arrays for their namespace, or is written in NumPy's functions.
    """
    ways: list[Function] = [by_source] if isinstance(function, FunctionType) else []
    ways += [by_the_standard] if asks_arrays(function) else []

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        if not (holds_arrays(args) or holds_arrays(kwargs)):
            return function(*args, **kwargs)
        with contextlib.suppress(ValueError):  # functions in C say nothing of their arguments
            inspect.signature(function).bind(*args, **kwargs)
        reason = None
        for way in ways:
            try:
                result = entered(functools.partial(way, function))(*args, **kwargs)
            except Exception as error:
                if not isinstance(error, _NOT_FOR_TENSORS) and not _takes(function, args, kwargs):
                    raise
                reason = reason or error
                continue
            if holds_arrays(result) or holds_arrays(getattr(result, "__dict__", {})):
                return result
        if isinstance(reason, (BatchingError, TracingError)):
            raise reason  # which says what to write
        raise undefined(name) from reason

    called.defined = asks_arrays(function)  # type: ignore[attr-defined]
    called.tried = by_source in ways  # type: ignore[attr-defined]
    return called


def otherwise(module: str) -> Function:
    """`__getattr__` of a module: SciPy's own, which tells of the tensors that it is given."""
    scipys = importlib.import_module(f"scipy.{module}")

    def attribute(name: str) -> Any:
        item = getattr(scipys, name)
        if inspect.isroutine(item):
            return as_it_is_written(f"scipy.{module}.{name}", item)
        if isinstance(item, type):
            return of_tensors(item) if can_run_again(item) else item
        return object_of_tensors(item) if can_run_again(type(item)) else item

    return attribute
