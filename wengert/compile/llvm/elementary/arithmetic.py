"""Arithmetic as NumPy defines it, where LLVM has no instruction for it, in terms of `lanes.py`."""

from __future__ import annotations

import math

from llvmlite import ir

from wengert.compile.llvm.elementary.table import native
from wengert.compile.llvm.machine.lanes import (
    Lanes,
    absolute,
    branch,
    copysign,
    fma,
    larger,
    mad,
    repeat,
    smaller,
    sqrt,
    two_product,
    where,
)


@native(heavy=False)
def nextafter(x: Lanes, y: Lanes) -> Lanes:
    """The float after x in the direction of y: one more or less in its bits."""
    bits = x.bits()
    away = (y > x) ^ x.sign_bit()
    step = where(away, bits.full(1), -1)
    moved = where(x.equals(0.0), copysign(x.full(0), y).bits() | 1, bits + step).floats()
    return where(x.equals(y), y, where(x.is_nan() | y.is_nan(), x + y, moved))


@native()
def hypot(x: Lanes, y: Lanes) -> Lanes:
    """√(x² + y²), scaled by a power of two where a square would leave the range."""
    format = x.format
    a, b = absolute(x), absolute(y)
    high, low = larger(a, b), smaller(b, a)
    exponent = format.bias // 2 + format.digits + 4
    up, down = 2.0**exponent, 2.0**-exponent
    large = high > 2.0 ** (format.bias // 2 - 2)
    small = high < 2.0 ** (2 * format.digits - exponent)
    scale = where(large, down, where(small, x.full(up), 1.0))
    back = where(large, up, where(small, x.full(down), 1.0))
    high, low = high * scale, low * scale
    length = sqrt(mad(high, high, low * low)) * back
    return where(a.equals(math.inf) | b.equals(math.inf), math.inf, length)


@native()
def cbrt(x: Lanes) -> Lanes:
    """x^(1/3) = |x| w² with w near |x|^(-1/3), which needs no division."""
    format = x.format
    size = absolute(x)
    tiny = size < format.smallest_normal
    scaled = where(tiny, size * 2.0 ** (3 * (format.digits // 3 + 1)), size)
    w = inverse_cube_root(scaled)
    root = scaled * w * w
    # root³ - |x| with the rounding error of root²: a step of Newton that decides the last digit.
    square, error = two_product(root, root)
    excess = mad(error, root, fma(square, root, -scaled))
    root = mad(excess * (w * w), -1 / 3, root)
    root = where(tiny, root * 2.0 ** -(format.digits // 3 + 1), root)
    ordinary = (size > 0.0) & (size < math.inf)
    return where(ordinary, copysign(root, x), x)


def inverse_cube_root(x: Lanes) -> Lanes:
    """x^(-1/3) for positive normal x, to half the digits and more.

    Read as an integer, a float is nearly its logarithm, so the bits of x^(-1/3) are a constant
    less a third of the bits of x; 0.0601 halves the largest error, to 1 in 29. The bits that a
    float holds are enough. Householder's steps follow, in h = 1 - x w³.
    """
    format = x.format
    shift = format.bits - format.digits
    offset = 2.0**format.digits
    holder = x.full(offset).bits()
    whole = ((x.bits() >> shift) | holder).floats() - offset
    third = (4 / 3 * format.bias - 0.0601) * 2.0 ** (format.digits - shift)
    w = ((mad(whole, -1 / 3, third) + offset).bits() << shift).floats()
    for series in ((14 / 81, 2 / 9, 1 / 3), (2 / 9, 1 / 3))[: format.bits // 32]:
        h = mad(-(x * w), w * w, 1.0)
        sum_: Lanes | float = series[0]
        for term in series[1:]:
            sum_ = mad(h, sum_, term)
        w = mad(w * h, sum_, w)
    return w


@native(large=True)
def fmod(x: Lanes, y: Lanes) -> Lanes:
    """x - y trunc(x / y), exactly, with the sign of x."""
    a, b = absolute(x), absolute(y)
    b = where(b.equals(0.0), math.nan, b)
    reach = b * quotient_step(x)
    [left] = branch((a >= reach).any(), lambda: [long_division(a, b)], [division_step(a, b)])
    left = where(b.equals(math.inf) & (a < math.inf), a, left)
    return copysign(left, x)


def quotient_step(x: Lanes) -> float:
    """A quotient below this is a whole number without rounding."""
    return 2.0 ** (x.format.digits - 1)


def division_step(a: Lanes, b: Lanes) -> Lanes:
    """a mod b for positive a < b 2^digits: the quotient is right or one too large."""
    left = fma(-(a / b).call("trunc"), b, a)
    return where(left < 0.0, left + b, left)


def long_division(a: Lanes, b: Lanes) -> Lanes:
    """a mod b for any positive a and b: by b 2^k first, then by ever smaller k."""
    step = quotient_step(a)

    def climb(divisor: Lanes) -> tuple[ir.Value, list[Lanes]]:
        above = a > divisor * step
        return above.any(), [where(above, divisor * step, divisor)]

    def descend(left: Lanes, divisor: Lanes) -> tuple[ir.Value, list[Lanes]]:
        more = divisor > b
        return more.any(), [division_step(left, divisor), where(more, divisor / step, divisor)]

    [divisor] = repeat([b], climb)
    return repeat([a, divisor], descend)[0]


@native(large=True)
def remainder(x: Lanes, y: Lanes) -> Lanes:
    """x - y floor(x / y), with the sign of y."""
    left = fmod(x, y)
    other_side = (left < 0.0) ^ (y < 0.0)
    return where(left.equals(0.0), copysign(left, y), where(other_side, left + y, left))


@native(large=True)
def floor_divide(x: Lanes, y: Lanes) -> Lanes:
    """floor(x / y), from the exact remainder, rounded as NumPy does."""
    left = fmod(x, y)
    other_side = left.differs(0.0) & ((left < 0.0) ^ (y < 0.0))
    quotient = (x - left) / y
    quotient = where(other_side, quotient - 1.0, quotient)
    floor = quotient.call("floor")
    floor = where(quotient - floor > 0.5, floor + 1.0, floor)
    result = where(quotient.equals(0.0), copysign(quotient, x / y), floor)
    return where(y.equals(0.0), x / y, result)
