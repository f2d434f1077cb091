"""Kind: what functions mean on a kind of array, and in which order that is asked.

Everything here is a NumPy array, or quacks like one. A kind of array is a subclass of `Kind`, and
its instances are what some of its arrays have in common: a vmap's level, the trace of a program,
the origins of a pattern. An array tells its instance as `kind`, and hands on to it what NumPy asks
(`ArrayMethods` does so); meanings are registered on the class and get the instance as their first
argument. `kind_of` gives NumPy's own arrays a kind too, the one that changes nothing.

Tensors lie above all this: what a kind has to know of them, `TENSORS`, is filled in from there.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from wengert.arrays.facts import COMPOSED, takes_elements
from wengert.arrays.memory import address, offset, storage
from wengert.dispatch import PLAIN, Function, each
from wengert.errors import MissingRuleError
from wengert.history import modes
from wengert.rules.rule import RULES

Decorator = Callable[[Function], Function]


class Kind:
    """A kind of array. A call with its arrays is answered by the first of these that has an answer:

    1. `own`, the function's meaning on this kind
    2. `elementwise`, if the function takes each element by itself
    3. `body`, of one of our primitives: it is written in functions that have meanings
    4. `composed`, the functions that it consists of, as Tensors know them
    5. `otherwise`: call it, loop over it, or refuse

    Each says NotImplemented to pass a function on; a kind overrides those about which it has more
    to say. Among arrays of several kinds the one with the highest `priority` answers.
    """

    __slots__ = ()
    meanings: ClassVar[dict[Any, Function]] = {}
    has_layout: ClassVar[bool] = False  # whether strides say where elements lie in memory
    runs_later: ClassVar[bool] = False  # whether a computation is written down, and not done yet
    priority: ClassVar[int] = 500  # as `__array_priority__` of its arrays; 1000 is that of Tensors

    def __init_subclass__(cls) -> None:
        cls.meanings = {}

    @classmethod
    def means(cls, *functions: Any) -> Decorator:
        """A decorator: this is what functions mean, `meaning(kind, *args, **kwargs)`.

        On `Kind` itself it says what they mean on all kinds that say nothing else. A method of
        `np.ufunc`, such as `np.ufunc.outer`, stands for that of each ufunc, which comes second.
        """

        def note(meaning: Function) -> Function:
            for function in functions:
                cls.noted(function, meaning)
            return meaning

        return note

    @classmethod
    def pattern(cls, *functions: Any) -> Decorator:
        """A decorator: functions follow one pattern, `meaning(function, kind, *args, **kwargs)`."""

        def note(meaning: Function) -> Function:
            for function in functions:
                cls.noted(function, functools.partial(meaning, function))
            return meaning

        return note

    @classmethod
    def noted(cls, function: Any, meaning: Function) -> None:
        cls.meanings[function] = meaning

    # ---- answering --------------------------------------------------------------------------

    def answer(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What NumPy's protocols return for a call with arrays of this kind."""
        kind = self.among((*args, *kwargs.values()) if kwargs else args)
        if kind is None:
            return NotImplemented
        if len(args) > 2:
            args, kwargs = _with_out(function, args, kwargs)
        if not kwargs:
            return kind.call(function, args, kwargs)
        out = kwargs.pop("out", None)
        where = kwargs.pop("where", True) if isinstance(function, np.ufunc) else True
        kwargs = {k: v for k, v in kwargs.items() if v is not np._NoValue}
        result = kind.call(function, args, kwargs)
        if out is None and where is True:
            return result
        return kind.store(function, result, out if isinstance(out, tuple) else (out,), where)

    def among(self, values: Any) -> Kind | None:
        """The kind that answers for these arguments: None if one that takes over is there."""
        return None if _holds(values, self.priority) else self

    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result = self.own(function, args, kwargs)
        if result is NotImplemented and takes_elements(function):
            result = self.elementwise(function, args, kwargs)
        if result is NotImplemented and hasattr(function, "body") and not function.opaque:
            result = self.body(function.body, args, kwargs)
        if result is NotImplemented and function in COMPOSED and function not in RULES:
            result = self.composed(COMPOSED[function], args, kwargs)
        if result is NotImplemented:
            result = self.otherwise(function, args, kwargs)
        return result

    def own(self, function: Any, args: Any, kwargs: Any) -> Any:
        meaning = self.meanings.get(function) or Kind.meanings.get(function)
        if meaning is None and isinstance(getattr(function, "__self__", None), np.ufunc):
            args = (function.__self__, *args)
            function = getattr(np.ufunc, function.__name__)
            meaning = self.meanings.get(function) or Kind.meanings.get(function)
        return NotImplemented if meaning is None else meaning(self, *args, **kwargs)

    def elementwise(self, function: Any, args: Any, kwargs: Any) -> Any:
        return NotImplemented

    def body(self, function: Function, args: Any, kwargs: Any) -> Any:
        return function(*args, **kwargs)

    def composed(self, meaning: Function, args: Any, kwargs: Any) -> Any:
        """The meaning on Tensors, around arrays of this kind; Tensors returned become arrays."""
        with modes.no_grad():
            return each(array_of, meaning(*each(_wrapped, args), **each(_wrapped, kwargs)))

    def otherwise(self, function: Any, args: Any, kwargs: Any) -> Any:
        raise MissingRuleError(
            f"{name_of(function)} has no meaning on arrays of the kind {type(self).__name__}. "
            "Write it with functions that have one, or say what it means: "
            f"@{type(self).__name__}.means({name_of(function)})."
        )

    def store(self, function: Any, result: Any, targets: tuple[Any, ...], where: Any) -> Any:
        """`out=`: the arrays named take the results, where they are to; `targets` has them."""
        if where is not True and targets == (None,):
            raise TypeError(f"{name_of(function)} with where= needs out= on this kind of array")
        results = result if isinstance(result, tuple) else (result,)
        for target, value in zip(targets, results, strict=True):
            if target is not None:
                target[...] = value if where is True else np.where(where, value, target)
        return targets[0] if len(targets) == 1 else targets

    # ---- what the engine and the optimizers ask -----------------------------------------------

    def as_array(self, x: Any) -> Any:
        """An operand that meets arrays of this kind, as an array."""
        return x if hasattr(type(x), "__array_function__") else np.asarray(x)

    def lasting(self, x: Any, mapping: Any, key: Any) -> Any:
        """`x`, which the caller is about to keep in `mapping[key]` beyond this call: state.

        A kind of array that only describes computations makes a real array here, for later calls.
        """
        return x

    def once(self, x: Any) -> Any:
        """`x`, in a step that later ones do not repeat, and which so is not to be recorded."""
        return x

    def anew(self, x: Any) -> Any:
        """`x`, of which is computed a second time what was computed before, and is not there."""
        return x

    def alike(self, x: Any, array: Any) -> Any:
        """An array just made beside `x`, as one that can hold values like those of `x`."""
        return array

    def arriving(self, g: Any, born: int) -> Any:
        """A cotangent that a leaf made at the time `born` is about to keep, as its own."""
        return g.copy()

    def tensor(self, x: Any) -> Any:
        """What a user gets to see of an array that the engine made."""
        return TENSORS.wrap(x)

    def met(self, x: Any) -> Any:
        """An array of no dimensions that meets a tensor, as which NumPy's count as Python numbers.

        So does what this returns for one whose number is not known yet.
        """
        return x

    def offset(self, x: Any) -> int:
        """How many elements of the memory that `x` looks into come before its first."""
        raise NotImplementedError(f"{type(x).__name__} has no memory of its own to look into")

    def elements(self, x: Any) -> int:
        """How many elements there are in the memory that `x` looks into, as far as is known."""
        raise NotImplementedError(f"{type(x).__name__} has no memory of its own to look into")

    def address(self, x: Any) -> int:
        """Where the first element of `x` is."""
        raise NotImplementedError(f"{type(x).__name__} has no memory of its own to look into")

    def number(self, x: Any) -> Any:
        """A Python number: of an array with one element, or the number itself."""
        return float(x)


class _Plain(Kind):
    __slots__ = ()
    has_layout = True

    def arriving(self, g: Any, born: int) -> Any:
        return g  # which is copied in the leaf's layout

    def offset(self, x: Any) -> int:
        return offset(x)

    def elements(self, x: Any) -> int:
        return int(storage(x).nbytes // x.itemsize)

    def address(self, x: Any) -> int:
        return address(x)


NUMPY = _Plain()
"""The kind of NumPy's own arrays, and of numbers."""


def kind_of(x: Any) -> Kind:
    """The kind of an array."""
    return NUMPY if type(x) is np.ndarray else getattr(x, "kind", NUMPY)


def number(x: Any) -> Any:
    """A Python number: of a tensor or an array with one element, or the number itself."""
    if type(x) is float:
        return x
    x = TENSORS.detached(x) if isinstance(x, TENSORS.type) else x
    return kind_of(x).number(x)


def name_of(function: Any) -> str:
    """What a message calls a function: numpy.linalg.lstsq, numpy.logaddexp.reduce."""
    ufunc = getattr(function, "__self__", None)
    if isinstance(ufunc, np.ufunc):
        return f"numpy.{ufunc.__name__}.{function.__name__}"
    module = getattr(function, "__module__", None) or "numpy"
    if isinstance(function, np.ufunc) and not hasattr(np, function.__name__):
        module = "scipy.special"  # whose ufuncs have no module
    return f"{module}.{getattr(function, '__name__', function)}"


def _with_out(function: Any, args: Any, kwargs: Any) -> tuple[Any, dict[str, Any]]:
    """A call of one of NumPy's functions, with `out` and what comes after it by their names."""
    place, names = _from_out(function)
    if len(args) <= place:
        return args, kwargs
    return args[:place], dict(zip(names, args[place:], strict=False)) | kwargs


@functools.cache
def _from_out(function: Any) -> tuple[int, tuple[str, ...]]:
    """The place of `out` among the arguments of a function of NumPy's, and the names from there."""
    numpys = (getattr(function, "__module__", None) or "").startswith("numpy")
    try:
        told = inspect.signature(function).parameters.values() if numpys else ()
    except ValueError:  # functions in C say nothing of theirs
        told = ()
    names = tuple(p.name for p in told if p.kind is p.POSITIONAL_OR_KEYWORD)
    place = names.index("out") if "out" in names else sys.maxsize
    return place, names[place:]


def _holds(values: Any, priority: int) -> bool:
    """Whether an array among some arguments takes over from a kind of this priority."""
    for x in values:
        kind = type(x)
        if kind is np.ndarray or kind in PLAIN:
            continue
        if kind is list or kind is tuple:
            if _holds(x, priority):
                return True
        elif hasattr(kind, "__array_function__") and getattr(x, "__array_priority__", 0) > priority:
            return True
    return False


# ---- Tensors ----------------------------------------------------------------------------------


class _Tensors:
    """What there is to know of Tensors; `tensor.py`, above this, says so."""

    type: Any = ()
    wrap: Callable[[Any], Any]
    detached: Callable[[Any], Any]


TENSORS = _Tensors()


def array_of(x: Any) -> Any:
    """The array in a Tensor; anything else as it is."""
    return x._array if isinstance(x, TENSORS.type) else x


def _wrapped(x: Any) -> Any:
    return TENSORS.wrap(x) if isinstance(getattr(x, "kind", None), Kind) else x
