"""Circular functions and their inverses, in the language of `lanes.py`.

sin and cos subtract the nearest multiple of π, in three parts (Cody & Waite, 1980, chapter 8), and
take one polynomial on [-π/2, π/2]: two polynomials on half of that, one for each function, would
cost more where every lane must compute both. They are what is taken where both are asked for, as by
a function and its derivative. Arguments too large for three parts are reduced one by
one with as many digits of 1/π as they need (Payne & Hanek, "Radian reduction for trigonometric
functions", 1983).
"""

from __future__ import annotations

import math

from wengert.compile.llvm.elementary import polynomials
from wengert.compile.llvm.elementary.reduction import reduced_far
from wengert.compile.llvm.elementary.table import native
from wengert.compile.llvm.machine.lanes import (
    Lanes,
    absolute,
    branch,
    copysign,
    fma,
    mad,
    polynomial,
    sqrt,
    where,
)

PI = {
    32: (3.1415927410125732, -8.742277657347586e-08, -3.4302490200117637e-15),
    64: (3.141592653589793, 1.2246467991473532e-16, -2.9947698097183397e-33),
}
# Below these the three parts of π are enough, also beside a multiple of π/2.
NEAR = {32: 2.0**17, 64: 2.0**30}
# Where arcsin turns to √((1 - x) / 2), whose arcsine is below 1/2 then: so are its errors, doubled.
SERIES_END = 0.55


def reduced(x: Lanes, period: float, offset: float) -> tuple[Lanes, Lanes]:
    """(n, r): x = (n + offset) period π + r, with n in the low bits of an integer."""
    shift = x.format.round_shift
    turns = mad(x, 1 / (math.pi * period), -offset) if offset else x * (1 / (math.pi * period))
    shifted = turns + shift
    whole = shifted - shift
    count = whole + offset if offset else whole
    high, middle, low = (part * period for part in PI[x.format.bits])
    # The first difference is exact, and each other rounds what is left, however small that is.
    r = fma(count, -low, fma(count, -middle, fma(count, -high, x)))
    far = absolute(x) >= NEAR[x.format.bits]
    usual = (shifted.bits(), r)
    n, r = branch(far.any(), lambda: reduced_far(x, far, usual, period, offset), usual)
    return n, r


def odd_to_sign(n: Lanes) -> Lanes:
    """The sign bit set where n is odd."""
    return n << (n.format.bits - 1)


def sin_reduced(r: Lanes) -> Lanes:
    """sin(r) for |r| <= π/2."""
    z = r * r
    return mad(r * z, polynomial(z, polynomials.SIN), r)


@native(large=True)
def sin(x: Lanes) -> Lanes:
    n, r = reduced(x, 1.0, 0.0)
    y = (sin_reduced(r).bits() ^ odd_to_sign(n)).floats()
    return where(x.equals(0.0), x, y)


@native(large=True)
def cos(x: Lanes) -> Lanes:
    """cos(x) = sin(x + π/2): the multiples of π lie half a step aside, and n gives the sign."""
    n, r = reduced(x, 1.0, 0.5)
    return (sin_reduced(r).bits() ^ odd_to_sign(n + 1)).floats()


def quarter(x: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """(n, sin(r), cos(r)) for x = n π/2 + r with |r| <= π/4."""
    n, r = reduced(x, 0.5, 0.0)
    z = r * r
    sine = mad(r * z, polynomial(z, polynomials.SIN_QUARTER), r)
    cosine = mad(mad(z, polynomial(z, polynomials.COS_QUARTER), -0.5), z, 1.0)
    return n, sine, cosine


def sin_and_cos(x: Lanes) -> tuple[Lanes, Lanes]:
    """Both, with the sign that the quarter of the circle gives them."""
    n, sine, cosine = quarter(x)
    odd = odd_to_sign(n) < 0
    s, c = where(odd, cosine, sine), where(odd, sine, cosine)
    s = (s.bits() ^ odd_to_sign(n >> 1)).floats()
    return where(x.equals(0.0), x, s), (c.bits() ^ odd_to_sign((n + 1) >> 1)).floats()


@native(large=True)
def tan(x: Lanes) -> Lanes:
    """sin(r) / cos(r), or -cos(r) / sin(r) beside an odd multiple of π/2."""
    n, sine, cosine = quarter(x)
    odd = odd_to_sign(n) < 0
    y = where(odd, -cosine, sine) / where(odd, sine, cosine)
    return where(x.equals(0.0), x, y)


def arcsin_series(x: Lanes, z: Lanes) -> Lanes:
    """arcsin(x) for |x| <= SERIES_END and z = x²."""
    return mad(x * z, polynomial(z, polynomials.ASIN), x)


@native()
def arcsin(x: Lanes) -> Lanes:
    """The series near 0, and beyond π/2 - 2 arcsin(√((1 - |x|) / 2))."""
    high, low, _ = (part / 2 for part in PI[x.format.bits])
    size = absolute(x)
    near = size < SERIES_END
    z = where(near, x * x, mad(size, -0.5, 0.5))
    series = arcsin_series(where(near, size, sqrt(z)), z)
    return copysign(where(near, series, high - mad(series, 2.0, -low)), x)


@native()
def arccos(x: Lanes) -> Lanes:
    """π/2 - arcsin(x) near 0; beyond 2 arcsin(√((1 - |x|) / 2)), or π less it."""
    high, low, _ = PI[x.format.bits]
    size = absolute(x)
    near = size < SERIES_END
    z = where(near, x * x, mad(size, -0.5, 0.5))
    series = arcsin_series(where(near, x, sqrt(z)), z)
    twice = series * 2.0
    far = where(x < 0.0, high - (twice - low), twice)
    return where(near, high / 2 - (series - low / 2), far)


def arctan_series(x: Lanes) -> tuple[Lanes, Lanes]:
    """arctan(x) for 0 <= x <= 1, as x and what is to be added: so that one rounding follows."""
    z = x * x
    return x, x * z * polynomial(z, polynomials.ATAN)


def mirrored(
    mask: Lanes, angle: tuple[Lanes, Lanes], turn: tuple[float, float]
) -> tuple[Lanes, Lanes]:
    """turn - angle in the lanes where the mask holds, and the angle in the others."""
    pairs = zip(angle, turn, strict=True)
    lead, rest = (where(mask, whole - part, part) for part, whole in pairs)
    return lead, rest


@native()
def arctan(x: Lanes) -> Lanes:
    """The series up to 1, and π/2 less that of 1 / |x| beyond."""
    high, low, _ = (part / 2 for part in PI[x.format.bits])
    size = absolute(x)
    far = size > 1.0
    lead, rest = mirrored(far, arctan_series(where(far, 1.0 / size, size)), (high, low))
    return copysign(lead + rest, x)


@native(large=True)
def arctan2(y: Lanes, x: Lanes) -> Lanes:
    """The angle of the point (x, y): the series in the smaller ratio, and its mirror images."""
    high, low, _ = PI[x.format.bits]
    a, b = absolute(y), absolute(x)
    steep = a > b
    ratio = where(steep, b, a) / where(steep, a, b)
    # Where both are 0 or both infinite, the ratio stands for 0 or 1, as in C.
    ratio = where(a.equals(b), where(a.equals(0.0), a, 1.0), ratio)
    angle = mirrored(steep, arctan_series(ratio), (high / 2, low / 2))
    lead, rest = mirrored(x.sign_bit(), angle, (high, low))
    return copysign(where(x.is_nan() | y.is_nan(), x + y, lead + rest), y)
