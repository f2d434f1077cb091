"""Python's ints in a trace: the interval that each is known to lie in.

A program's ints have 64 bits, Python's have as many as it takes. So an int that is an input is one
of an interval, which each call checks, and whatever is computed of it lies in one too. Where that
is too wide, or leaves open what Python would do (raise an error, give a float), the trace has to
know the number. A comparison that the interval leaves open cuts it in two.
"""

from __future__ import annotations

import bisect
import itertools
import math
import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from wengert.compile.program.program import Statement, Value

Bounds = tuple[int, int]
"""The least and the greatest that an int may be."""


class Wide(Exception):
    """What is computed of ints has no room in 64 bits, or Python decides what it is."""


_ENDS = (-(2**31), 0, 2**31)
"""Where intervals end at first: the product of two such ints has room in 64 bits."""


def interval(n: int, cuts: Iterable[int]) -> Bounds | None:
    """The interval of an int between two cuts; None for one that is too large."""
    ends = sorted({*_ENDS, *cuts})
    k = bisect.bisect_right(ends, n)
    return (ends[k - 1], ends[k] - 1) if 0 < k < len(ends) else None


def fits(bounds: Bounds, dtype: Any) -> bool:
    """Whether all ints of an interval are numbers of this dtype."""
    if dtype.kind not in "iu":
        return True
    low, high = range_of(dtype)
    return low <= bounds[0] and bounds[1] <= high


def range_of(dtype: Any) -> Bounds:
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def bounds_of(x: Any) -> Any:
    """What an operand lies between; None if nothing is known."""
    if type(x) is not Value:
        return (x, x) if isinstance(x, int | float) else None
    return (0, 1) if x.weak and x.dtype.kind == "b" else x.bounds


# ---- what follows ---------------------------------------------------------------------------


def _reached(f: Callable[..., int]) -> Callable[..., Bounds]:
    """Of a function that is monotonic in each argument: its extremes are those at the corners."""
    return lambda *bounds: _around(f(*corner) for corner in itertools.product(*bounds))


def _around(ends: Iterable[int]) -> Bounds:
    known = list(ends)
    return min(known), max(known)


def _absolute(a: Bounds) -> Bounds:
    low, high = sorted(map(abs, a))
    return (0 if a[0] <= 0 <= a[1] else low), high


def _divided(f: Callable[[Bounds, Bounds], Bounds]) -> Callable[[Bounds, Bounds], Bounds | None]:
    """Of a division by what lies on one side of 0: it may lie on both, and 0 is an error."""

    def rule(a: Bounds, b: Bounds) -> Bounds | None:
        sides = (b[0], min(b[1], -1)), (max(b[0], 1), b[1])
        ends = [end for low, high in sides if low <= high for end in f(a, (low, high))]
        return _around(ends) if ends else None

    return rule


def _remainder(a: Bounds, b: Bounds) -> Bounds:
    return (0, b[1] - 1) if b[0] > 0 else (b[0] + 1, 0)


def _bitwise(a: Bounds, b: Bounds) -> Bounds:
    """No bit comes in beyond the longest operand's, and no sign that neither has."""
    ends = *a, *b
    size = 1 << max(n.bit_length() for n in ends)
    return (-size if min(ends) < 0 else 0), size - 1


def _power(a: Bounds, b: Bounds) -> Bounds | None:
    size = max(map(abs, a))
    if size > 1 and b[1] > 63:
        return None
    largest = size ** b[1] if size > 1 else 1
    return (0 if a[0] >= 0 else -largest), largest


def _shifted(f: Callable[..., int]) -> Callable[..., Bounds | None]:
    return lambda a, b: _reached(f)(a, b) if b[0] >= 0 and b[1] < 64 else None


RULES: dict[Any, Callable[..., Bounds | None]] = {
    np.add: _reached(operator.add),
    np.subtract: _reached(operator.sub),
    np.multiply: _reached(operator.mul),
    np.floor_divide: _divided(_reached(operator.floordiv)),
    np.negative: _reached(operator.neg),
    np.positive: _reached(operator.pos),
    np.invert: _reached(operator.invert),
    np.maximum: _reached(max),
    np.minimum: _reached(min),
    np.left_shift: _shifted(operator.lshift),
    np.right_shift: _shifted(operator.rshift),
    np.absolute: _absolute,
    np.remainder: _divided(_remainder),
    np.bitwise_and: _bitwise,
    np.bitwise_or: _bitwise,
    np.bitwise_xor: _bitwise,
    np.power: _power,
}

# Whether all pairs of an interval and another compare so.
_ALWAYS: dict[Any, Callable[[Bounds, Bounds], bool]] = {
    np.less: lambda a, b: a[1] < b[0],
    np.less_equal: lambda a, b: a[1] <= b[0],
    np.greater: lambda a, b: a[0] > b[1],
    np.greater_equal: lambda a, b: a[0] >= b[1],
    np.equal: lambda a, b: a[0] == a[1] == b[0] == b[1],
    np.not_equal: lambda a, b: a[1] < b[0] or b[1] < a[0],
}
_ORDERS = (np.less, np.less_equal, np.greater, np.greater_equal)
_OPPOSITE = {np.less: np.greater_equal, np.less_equal: np.greater, np.equal: np.not_equal}
_OPPOSITE |= {b: a for a, b in _OPPOSITE.items()}


def divisor(ufunc: Any, known: list[Any]) -> int | None:
    """Which operand must not be 0."""
    if ufunc is np.power:
        return 0 if known[1] is None or known[1][0] < 0 else None
    return 1 if ufunc in (np.divide, np.floor_divide, np.remainder) else None


def compared(ufunc: Any, known: list[Any]) -> bool | None:
    """What a comparison gives for all ints of these intervals, if that is one thing."""
    if ufunc not in _ALWAYS or None in known:
        return None
    if _ALWAYS[ufunc](*known):
        return True
    return False if _ALWAYS[_OPPOSITE[ufunc]](*known) else None


def beyond(ufunc: Any, operands: list[Any], loop: list[Any]) -> bool | None:
    """What a comparison gives with an int that is no number of the dtype that it meets.

    OverflowError for all else, as NumPy says.
    """
    for x, dtype in zip(operands, loop, strict=True):
        if type(x) is int and not fits((x, x), dtype):
            answer = compared(ufunc, [range_of(dtype) if y is not x else (x, x) for y in operands])
            if answer is None:
                raise OverflowError(f"Python integer {x} out of bounds for {dtype}")
            return answer
    return None


def result(ufunc: Any, known: list[Any], dtype: Any) -> Bounds | None:
    """The interval of what a ufunc makes of ints; ValueError if it has to know them.

    None for what is no int, or computed of an int of which nothing is known.
    """
    if ufunc is np.power and not _is_real(*known):
        raise ValueError
    if dtype.kind not in "iu" or None in known:
        return None
    bounds = RULES[ufunc](*known) if ufunc in RULES else None
    if bounds is None or not fits(bounds, dtype):
        raise ValueError
    return bounds


def _is_real(base: Any, exponent: Any) -> bool:
    """Whether a power is of the class of its operands: no float of ints, nothing complex."""
    if exponent is None or isinstance(exponent[0], float):
        return base is None or base[0] >= 0
    return bool(exponent[0] >= 0)


# ---- where intervals are cut ----------------------------------------------------------------


def cuts(value: Value, maker: Statement | None) -> tuple[Value, set[int]]:
    """The int that decides whether this is true, and where it may be cut: an int, or a comparison
    of one with a number. (Whether it equals one says nothing of all others.)
    """
    if maker is None or maker.function not in _ORDERS:
        return value, {0, 1}
    values = [x for x in maker.args if type(x) is Value]
    numbers = [x for x in maker.args if isinstance(x, int | float) and math.isfinite(x)]
    if len(values) != 1 or not numbers:
        return value, set()
    return values[0], {math.ceil(numbers[0]), math.floor(numbers[0]) + 1}
