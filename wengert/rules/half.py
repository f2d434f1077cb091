"""Half precision: functions are computed in float32 and their results rounded, as in PyTorch.

NumPy by itself rounds at each step of a running sum, and overflows where only the result would not;
of bfloat16 it has no loops for many functions, and makes float32 of such an array and a number. So
rules see these arrays `held`, in a class of their own, to which numbers and arrays of other dtypes
give way; tensors have them as NumPy does. Other kinds of arrays hand their calls to `computed`.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from wengert.dispatch import COMPARISONS, Function, each, ndarray, writes
from wengert.dtypes import is_half, is_inexact, is_number
from wengert.rules.blocks import ENOUGH, FLOATING, HALF, at_once
from wengert.rules.loops import exact_loops
from wengert.rules.rule import RULES

AS_THEY_ARE = frozenset(
    {np.shares_memory, np.may_share_memory, np.result_type, np.can_cast, np.copyto}
    | {operator.getitem, operator.setitem, np.nextafter, np.spacing}
    | {np.array_str, np.array_repr, np.array2string}
    | COMPARISONS
)
"""What asks about arrays, moves or compares their numbers, or goes to the next one: it computes
nothing. A Python number that is compared with them is rounded as they are.
"""


class HalfArray(ndarray):
    """An array of float16 or bfloat16, the functions of which are computed in float32."""

    __array_priority__ = 0

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if not all(isinstance(x, ndarray) for x in arrays_in((*args, *kwargs.values()))):
            return NotImplemented  # another kind of array says what is done
        if keeps_numbers(function):
            return each(held, function(*each(_bare, args), **each(_bare, kwargs)))
        out = kwargs.pop("out", None)
        return _stored(computed(function, lambda a, k: function(*a, **k), args, kwargs), out)

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        if method == "__call__" and _are_alone(ufunc, args, kwargs):
            return each(held, _computed_alone(ufunc, args, kwargs))
        function = ufunc if method == "__call__" else getattr(ufunc, method)
        return self.__array_function__(function, (), args, kwargs)

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        return held(_bare(self).astype(dtype, *args, **kwargs))


def cast(x: Any, dtype: Any) -> Any:
    """`x.astype(dtype)`; many numbers to 16 bits as machine code: NumPy's goes one by one."""
    x = _bare(x)
    if HALF in (x.dtype, dtype) and dtype in FLOATING:
        return _cast(x, np.dtype(dtype))
    many = type(x) is ndarray and x.size >= ENOUGH and x.flags.c_contiguous
    if many and x.dtype == _SINGLE and _is_brain(dtype):
        out = np.empty(x.shape, dtype)
        flat = x.reshape(-1)
        _round_to_upper_halves(flat, flat.view(np.int32), out.reshape(-1).view(np.int16))
        return out
    return x.astype(dtype)


def _is_brain(dtype: Any) -> bool:
    return dtype != HALF and is_half(np.dtype(dtype))


@exact_loops
def _round_to_upper_halves(x, bits, out):
    """bfloat16 of float32: its upper half, rounded to even."""
    for i in range(len(bits)):
        upper = bits[i] // 65536
        rounded = (bits[i] + 32767 + upper % 2) // 65536
        missing = 32704 if upper >= 0 else -64
        out[i] = rounded if x[i] == x[i] else missing


def _astype(x: Any, dtype: Any) -> Any:
    return x.astype(dtype)


_cast = at_once(_astype, ENOUGH)


def held(x: Any) -> Any:
    """An array as rules see it: of the class above if its dtype is half precision."""
    if type(x) is ndarray and x.dtype.itemsize == 2 and is_half(x.dtype):
        return x.view(HalfArray)
    return x


def rounded(function: Function, *args: Any, **kwargs: Any) -> Any:
    """A function of plain arrays some of which are of half precision."""
    if _are_alone(function, args, kwargs):
        return _computed_alone(function, args, kwargs)
    return each(_bare, function(*each(held, args), **kwargs))


_ALONE = frozenset({ndarray, HalfArray, int, float, bool, type(None)})
"""What is looked into no further: then what is widened is known at once."""


def _are_alone(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether arrays stand among numbers, and no argument is a dtype or is written into."""
    settings = not kwargs or _ALONE.issuperset(map(type, kwargs.values()))
    if not settings or not _ALONE.issuperset(map(type, args)):
        return False
    return "out" not in kwargs and not writes(function) and not keeps_numbers(function)


def _computed_alone(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What `computed` gives, bare, without a search for what is to be widened."""
    narrow = next(x.dtype for x in args if _is_narrow(x))
    wide = [cast(x, _SINGLE) if _is_narrow(x) else x for x in args]
    y = function(*wide, **kwargs)
    if type(y) is ndarray:
        return cast(y, narrow) if y.dtype.kind == "f" else y
    return each(_bare, each(functools.partial(_narrowed, narrow), y))


_SINGLE = np.dtype(np.float32)


def _is_narrow(x: Any) -> bool:
    return isinstance(x, ndarray) and is_half(x.dtype)


def rounded_if_narrow(function: Function, *args: Any, **kwargs: Any) -> Any:
    """A function of arrays of several kinds, the first of which may be a plain array."""
    if type(args[0]) is ndarray and is_half(args[0].dtype):
        return rounded(function, *args, **kwargs)
    return function(*args, **kwargs)


def keeps_numbers(function: Any) -> bool:
    """Whether a function looks at its arguments, or into them, and computes nothing."""
    return function in AS_THEY_ARE or (function in RULES and RULES[function].view)


def computed(function: Function, call: Function, args: Any, kwargs: Any) -> Any:
    """What `call(args, kwargs)` of the function gives in float32, rounded to the arguments' dtype.

    Not rounded if another dtype is asked for.
    """
    narrow = next(x.dtype for x in arrays_in((*args, *kwargs.values())) if is_half(x.dtype))
    if kwargs.get("dtype") is not None:
        kwargs = kwargs | {"dtype": np.dtype(kwargs["dtype"])}  # which may be a class or a name
    wide = each(_widened, args)
    result = call(wide, each(_widened, kwargs))
    if writes(function):
        args[0][...] = wide[0]
    asked = next((x for x in (*args, kwargs.get("dtype")) if isinstance(x, np.dtype)), narrow)
    return each(functools.partial(_narrowed, asked), result) if is_half(asked) else result


def arrays_in(values: Iterable[Any]) -> Iterable[Any]:
    """The arrays among some arguments, also those in lists and tuples."""
    for x in values:
        if isinstance(x, (list, tuple)):
            yield from arrays_in(x)
        elif hasattr(type(x), "__array_function__"):
            yield x


def are_half(values: Iterable[Any]) -> bool:
    """Whether the arrays of floating-point numbers among some values are of one such dtype.

    Numbers that a program is given have none of their own.
    """
    kinds = set()
    for x in arrays_in(values):
        if getattr(x, "weak", False):
            continue
        if is_number(x.dtype) and is_inexact(x.dtype):
            if not is_half(x.dtype):
                return False  # at the first, as nearly always: this is asked of each call
            kinds.add(x.dtype)
    return len(kinds) == 1


def _stored(result: Any, out: Any) -> Any:
    """The result in the array that `out=` names, of which a ufunc makes a tuple."""
    target = out[0] if isinstance(out, tuple) else out
    if target is None:
        return result
    target[...] = result
    return target


def _widened(x: Any) -> Any:
    """float32 of half precision, of arrays and of dtypes; anything else as it is."""
    if isinstance(x, np.dtype):
        return _SINGLE if is_half(x) else x
    narrow = hasattr(x, "astype") and is_half(x.dtype)
    return cast(x, _SINGLE) if narrow else x


def _narrowed(dtype: Any, y: Any) -> Any:
    """What was computed, rounded, if it is real and floating point."""
    if not hasattr(y, "astype") or y.dtype.kind != "f":
        return y
    return held(cast(np.asarray(y) if isinstance(y, np.generic) else y, dtype))


def _bare(x: Any) -> Any:
    return x.view(ndarray) if type(x) is HalfArray else x
