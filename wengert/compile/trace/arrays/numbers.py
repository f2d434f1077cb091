"""Python's numbers in a trace: what `x.item()`, `float(x)` and `int(x)` make of a traced array.

Such a number is a value of the program like any other, of one of Python's classes, and each call
computes it. Only what Python decides by it is an error, or makes it known (`Trace.decide`): a
branch, an index, a text.
"""

from __future__ import annotations

import contextlib
import math
import operator
from collections.abc import Sequence
from types import FunctionType
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.autograd.operands import unsuited
from wengert.compile.program.intervals import range_of
from wengert.compile.program.program import Value
from wengert.compile.trace.arrays import ints
from wengert.dispatch import require

NUMBERS = (float, int, complex)
"""Classes that make a number of what they are called with."""

ROUNDED = {round: np.rint, math.floor: np.floor, math.ceil: np.ceil, math.trunc: np.trunc}
"""Functions that make an int of a number."""

COMPUTED = 2**53
"""An int that is computed lies below, unless its dtype says more: it has room for what follows."""


def class_of(x: Any) -> type:
    """The class of what a traced array stands for."""
    return dtypes.class_of(x)


def _class_of_items(dtype: np.dtype[Any]) -> type:
    if dtypes.is_inexact(dtype):
        return complex if dtype.kind == "c" else float
    return bool if dtype.kind == "b" else int


def item_of(x: Any) -> Any:
    """What `.item()` makes of a traced array."""
    if x.size != 1:
        raise ValueError("can only convert an array of size 1 to a Python scalar")
    return number_of(x, _class_of_items(x.dtype))


def method_of(x: Any, name: str) -> Any:
    """An operator's method of one of Python's numbers: it takes what its class takes.

    What is of a class of Python's numbers too, as np.float64 is, is one of these to it: an operator
    would have asked that first.
    """

    def method(*others: Any) -> Any:
        ones = list(map(_one_of, others))
        with contextlib.suppress(Exception):  # which the operator itself raises
            if getattr(class_of(x)(1), name)(*ones) is NotImplemented:
                return NotImplemented
        return getattr(x, name)(*map(_as_pythons, others, ones))

    return method


def _as_pythons(x: Any, one: Any) -> Any:
    kind = next((kind for kind in (float, complex) if isinstance(one, kind)), None)
    if kind is None or not isinstance(one, np.generic):
        return x
    return kind(x) if x is one else number_of(x, kind)


def _to_complex(x: Any) -> Any:
    """What a complex number, asked before a float of a class of its own, takes that for."""
    one = _one_of(x)
    return _as_pythons(x, one) if isinstance(one, float) else x


def rounded(kind: Any, x: Any) -> Any:
    """What calling one of these functions makes of a traced number of Python's."""
    return number_of(x if x.dtype.kind in "biu" else ROUNDED[kind](x), int)


def converted(x: Any, kind: type) -> Any:
    """What calling one of these classes with a traced array makes."""
    if x.shape:
        kind(np.broadcast_to(1, x.shape))  # for NumPy's error, if it has one
    if x.dtype.kind == "c" and kind is not complex:
        return kind(x)
    return number_of(x, kind)


def number_of(x: Any, kind: type, limit: int = COMPUTED) -> Any:
    """The number of one of Python's classes that a traced array holds, or is rounded to.

    An int is known to lie in an interval, as one that is an argument: the dtype's, or one up to
    `limit`, which each call checks.
    """
    if x.shape:
        x = np.reshape(x, ())
    if x.weak and class_of(x) is kind:
        return x
    if kind is not int:
        return x.trace.number_like(x, kind)
    bounds = x.value.bounds or _range_of(x.dtype)
    if bounds is None:
        require(np.logical_not(np.isnan(x)), ValueError, "cannot convert float NaN to integer")
        require(np.isfinite(x), OverflowError, "cannot convert float infinity to integer")
        x = np.trunc(x)
    if bounds is None or max(map(abs, bounds)) > limit:
        bounds = -limit, limit
        require((x >= -limit) & (x <= limit), OverflowError, _too_large(limit))
    number = x.trace.number_like(x, int)
    number.value.bounds = bounds
    return number


def _range_of(dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "b":
        return 0, 1
    return range_of(dtype) if dtype.kind in "iu" else None


def _too_large(limit: int) -> str:
    return (
        f"an int that a compiled function computes is larger than {limit}, and what follows of it "
        "might have no room in 64 bits. Leave the function uncompiled."
    )


def check_exponent(trace: Any, exponent: Any, of_user: bool) -> None:
    """NumPy has no negative powers of ints, and says so if it meets one; so do tensors, unless
    the call stands in the user's code.
    """
    constants = trace.program.constants
    known = constants.get(exponent) if type(exponent) is Value else exponent
    if known is not None and np.all(known >= 0):
        return
    error: Exception = ValueError("Integers to negative integer powers are not allowed.")
    if not of_user:
        error = unsuited("pow", error, ())
    holds = trace.array(exponent) >= 0 if type(exponent) is Value else np.bool_(False)
    require(trace.as_array(holds), type(error), *error.args)


# ---- operators ------------------------------------------------------------------------------


def with_operators(cls: Any) -> Any:
    """A decorator of the class of traced arrays: NumPy's operators, and Python's of its numbers."""
    for name, method in vars(np.lib.mixins.NDArrayOperatorsMixin).items():
        if type(method) is FunctionType:
            if method.__code__.co_argcount == 2:
                method = _deferring(name, method)
            setattr(cls, name, _of_numbers(name, method))
    for back in ("", "r"):
        name = f"__{back}divmod__"
        of_numbers = _divided(getattr(cls, f"__{back}floordiv__"), getattr(cls, f"__{back}mod__"))
        setattr(cls, name, _chosen(of_numbers, getattr(cls, name)))
    return cls


def _deferring(name: str, of_arrays: Any) -> Any:
    """An operator that leaves a number's meeting with a Tensor, or what is no number, to that.

    One of NumPy's numbers is an array to a sequence, unless it is to repeat it.
    """
    repeats = name in ("__mul__", "__rmul__", "__imul__")

    def method(self: Any, other: Any) -> Any:
        if self.scalar and hasattr(type(other), "_array"):
            return NotImplemented
        if (self.weak or (repeats and self.single)) and _is_no_number(other):
            _try(name, class_of(self)(1), other)
            return NotImplemented
        if self.weak and name in _ORDERINGS:
            getattr(operator, name)(class_of(self)(1), _one_of(other))  # complex ones have none
        if name == "__pow__" and not self.scalar and self.dtype.kind == "b" and _is_two(other):
            return np.square(self)  # as NumPy does, and of truth values it is not np.power's dtype
        return of_arrays(self, other)

    return method


_ORDERINGS = frozenset({"__lt__", "__le__", "__gt__", "__ge__"})


def _is_two(x: Any) -> bool:
    """Whether this is Python's number 2, which is decided if it is not known."""
    number = getattr(x, "weak", False) and class_of(x) is int
    return bool((number or type(x) is int) and x == 2)


def _one_of(x: Any) -> Any:
    """A number of the class of what stands for one; anything else is itself."""
    return class_of(x)(1) if getattr(x, "scalar", False) else x


def _is_no_number(x: Any) -> bool:
    """Whether this is something else of Python's own, or a sequence."""
    own = type(x).__module__ == "builtins" and not isinstance(x, NUMBERS)
    return own or isinstance(x, Sequence)


def _try(name: str, number: Any, other: Any) -> None:
    """Raise the error that an operator of such a number raises, if it does, in its words."""
    if type(other).__module__ != "builtins":
        return
    _operate(name, number, other)


def _operate(name: str, number: Any, *others: Any) -> Any:
    """What Python makes by an operator: that of another class, where a number's own has none."""
    if hasattr(operator, name):
        return getattr(operator, name)(number, *others)
    return getattr(operator, f"__{name[3:]}")(*others, number)


def _of_numbers(name: str, of_arrays: Any) -> Any:
    """An operator that makes Python's numbers of Python's numbers.

    Where 64 bits have no room for an int, Python computes it of the numbers themselves.
    """

    def method(self: Any, *others: Any) -> Any:
        if not self.weak:
            return of_arrays(self, *others)
        if class_of(self) is complex and name[2] != "r" and name not in _ORDERINGS:
            others = tuple(map(_to_complex, others))
        trace = self.trace
        outer, trace.arithmetic = trace.arithmetic, True
        try:
            return of_arrays(self, *others)
        except ints.Wide as wide:
            known, *rest = (
                trace.fixed(x, str(wide)) if type(x) is type(self) else x for x in (self, *others)
            )
            return _operate(name, known, *rest)
        finally:
            trace.arithmetic = outer

    return method


def _chosen(of_numbers: Any, of_arrays: Any) -> Any:
    return lambda self, other: (of_numbers if self.weak else of_arrays)(self, other)


def _divided(floor: Any, rest: Any) -> Any:
    """`divmod` of Python's numbers, which are one by one what its two operators make."""

    def method(self: Any, other: Any) -> Any:
        parts = floor(self, other), rest(self, other)
        return NotImplemented if any(x is NotImplemented for x in parts) else parts

    return method
