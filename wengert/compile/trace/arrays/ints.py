"""Python's ints in a trace: the interval that each is known to lie in.

A program's ints have 64 bits, Python's have as many as it takes. So an int that is an input is one
of an interval, which each call checks, and whatever is computed of it lies in one too. Where that
is too wide, or leaves open what Python would do (raise an error, give a float), the trace has to
know the number. A comparison that the interval leaves open cuts it in two.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from wengert.compile.program.intervals import RULES, Bounds, compared, fits, range_of
from wengert.compile.program.program import Statement, Value
from wengert.dispatch import ORDERS


class Wide(Exception):
    """What is computed of ints has no room in 64 bits, or Python decides what it is."""


_ENDS = (-(2**31), 0, 2**31)
"""Where intervals end at first: the product of two such ints has room in 64 bits."""


def interval(n: int, cuts: Iterable[int]) -> Bounds | None:
    """The interval of an int between two cuts; None for one that is too large."""
    ends = sorted({*_ENDS, *cuts})
    k = bisect.bisect_right(ends, n)
    return (ends[k - 1], ends[k] - 1) if 0 < k < len(ends) else None


def bounds_of(x: Any) -> Any:
    """What an operand lies between; None if nothing is known."""
    if type(x) is not Value:
        return (x, x) if isinstance(x, int | float) else None
    return (0, 1) if x.weak and x.dtype.kind == "b" else x.bounds


def divisor(ufunc: Any, known: list[Any]) -> int | None:
    """Which operand must not be 0."""
    if ufunc is np.power:
        return 0 if known[1] is None or known[1][0] < 0 else None
    return 1 if ufunc in (np.divide, np.floor_divide, np.remainder) else None


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


def is_up_to_sign(base: Any, exponent: Any) -> bool:
    """Whether it is the sign of an int that decides if a power of it is a float."""
    return not _is_real(base, exponent) and _is_real((0, 0), exponent) and base[1] >= 0


# ---- where intervals are cut ----------------------------------------------------------------


def cuts(value: Value, maker: Statement | None) -> tuple[Value, set[int]]:
    """The int that decides whether this is true, and where it may be cut: an int, or a comparison
    of one with a number. (Whether it equals one says nothing of all others.)
    """
    if maker is None or maker.function not in ORDERS:
        return value, {0, 1}
    values = [x for x in maker.args if type(x) is Value]
    numbers = [x for x in maker.args if isinstance(x, int | float) and math.isfinite(x)]
    if len(values) != 1 or not numbers:
        return value, set()
    return values[0], {math.ceil(numbers[0]), math.floor(numbers[0]) + 1}
