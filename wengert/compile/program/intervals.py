"""Intervals of ints: what a function makes of ints that are known to lie between two numbers.

Python's, which have as many bits as it takes: whether a dtype has room for them is for who asks.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

Bounds = tuple[int, int]
"""The least and the greatest that an int may be."""


def fits(bounds: Bounds, dtype: Any) -> bool:
    """Whether all ints of an interval are numbers of this dtype."""
    if dtype.kind not in "iu":
        return True
    low, high = range_of(dtype)
    return low <= bounds[0] and bounds[1] <= high


def range_of(dtype: Any) -> Bounds:
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


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
ALWAYS: dict[Any, Callable[[Bounds, Bounds], bool]] = {
    np.less: lambda a, b: a[1] < b[0],
    np.less_equal: lambda a, b: a[1] <= b[0],
    np.greater: lambda a, b: a[0] > b[1],
    np.greater_equal: lambda a, b: a[0] >= b[1],
    np.equal: lambda a, b: a[0] == a[1] == b[0] == b[1],
    np.not_equal: lambda a, b: a[1] < b[0] or b[1] < a[0],
}
_OPPOSITE = {np.less: np.greater_equal, np.less_equal: np.greater, np.equal: np.not_equal}
_OPPOSITE |= {b: a for a, b in _OPPOSITE.items()}


def compared(ufunc: Any, known: list[Any]) -> bool | None:
    """What a comparison gives for all ints of these intervals, if that is one thing."""
    if ufunc not in ALWAYS or None in known:
        return None
    if ALWAYS[ufunc](*known):
        return True
    return False if ALWAYS[_OPPOSITE[ufunc]](*known) else None
