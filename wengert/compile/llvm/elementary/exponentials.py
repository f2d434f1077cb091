"""Exponentials and what is made of them, in the language of `lanes.py`.

x = n log(2) + r with n whole and |r| <= log(2)/2, so that exp(x) = 2^n exp(r) (Cody & Waite,
"Software Manual for the Elementary Functions", 1980, chapter 6). log(2) is taken in two parts, of
which the first has so few digits that its product with n is exact, with and without fused
multiplication. The scale 2^n is integer arithmetic on the exponent.
"""

from __future__ import annotations

import math

from wengert.compile.llvm.elementary import polynomials
from wengert.compile.llvm.elementary.table import native
from wengert.compile.llvm.machine import host as machine
from wengert.compile.llvm.machine.lanes import (
    FLOAT32,
    Lanes,
    absolute,
    can_scale,
    copysign,
    fma,
    larger,
    mad,
    polynomial,
    scale,
    smaller,
    where,
)

LOG2_E = 1 / math.log(2)
# log(2) in two parts, the first of 12 and of 40 digits.
LOG_2 = {
    32: (0.693115234375, 3.1946184945309415e-05),
    64: (0.6931471805601177, -1.7239444525614835e-13),
}
# Beyond these, exp is inf and 0; just beyond, so that rounding still decides at the border.
OVERFLOW = {32: 89.0, 64: 710.0}
UNDERFLOW = {32: -104.0, 64: -746.0}


def shifted_round(x: Lanes, factor: float = 1.0) -> tuple[Lanes, Lanes]:
    """x factor rounded to a whole number: as the low bits of an integer, and as a float."""
    shifted = mad(x, factor, x.format.round_shift) if factor != 1.0 else x + x.format.round_shift
    return shifted.bits(), shifted - x.format.round_shift


def reduced(x: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """(n, n, r): x = n log(2) + r, with n in the low bits of an integer and as a float."""
    high, low = LOG_2[x.format.bits]
    bits, n = shifted_round(x, LOG2_E)
    return bits, n, mad(n, -low, mad(n, -high, x))


def exp_reduced(r: Lanes) -> Lanes:
    """exp(r) for |r| <= log(2)/2."""
    return mad(mad(polynomial(r, polynomials.EXP), r, 1.0), r, 1.0)


def expm1_reduced(r: Lanes) -> Lanes:
    """exp(r) - 1 for |r| <= log(2)/2."""
    return mad(r * r, polynomial(r, polynomials.EXP), r)


def power_of_two(n: Lanes) -> Lanes:
    """2^n for n in the low bits of an integer, where that is a normal number."""
    format = n.format
    return ((n << format.digits) + format.one).floats()


def scaled(x: Lanes, n: Lanes, whole: Lanes) -> Lanes:
    """x 2^n for x near 1 and any n, in the low bits of an integer and as a float, rounded once.

    Where no instruction does it, in two factors, since 2^n itself may be no normal number; and in
    factors, not by an addition to the exponent of x, which would make a number of nan.
    """
    if can_scale(x):
        return scale(x, whole)
    half = n >> 1
    return x * power_of_two(half) * power_of_two(n - half)


@native()
def exp(x: Lanes) -> Lanes:
    bits = x.format.bits
    n, whole, r = reduced(larger(smaller(x, OVERFLOW[bits]), UNDERFLOW[bits]))
    return scaled(exp_reduced(r), n, whole)


def falling_exp(x: Lanes) -> Lanes:
    """exp(x) where x is known to be a difference, and at most 0 or nan.

    In float32 log(2) is taken in one part. It is wrong by 2^-28.5 of itself, so that the result is
    within 2 units in the last place down to x = -6, and within 5 at the lower end; there a rounded
    difference has moved it by 20 times as much.
    """
    x = larger(x, UNDERFLOW[x.format.bits])
    n, whole, r = reduced(x)
    if x.format is FLOAT32 and machine.host().has("fma"):
        r = fma(whole, -math.log(2), x)
    e = mad(polynomial(r, polynomials.EXP_SHORT), r, 1.0)
    return scaled(e, n, whole)


@native()
def exp2(x: Lanes) -> Lanes:
    bounds = {32: (129.0, -151.0), 64: (1025.0, -1076.0)}[x.format.bits]
    x = larger(smaller(x, bounds[0]), bounds[1])
    n, whole = shifted_round(x)
    return scaled(exp_reduced((x - whole) * math.log(2)), n, whole)


@native()
def expm1(x: Lanes) -> Lanes:
    """2^n p + 2^n - 1 with p = exp(r) - 1; as twice its half, since 2^n may overflow alone."""
    # Below 2 log(eps), exp(x) is lost beside 1; the bound keeps 2^(n - 1) a normal number.
    x = larger(smaller(x, OVERFLOW[x.format.bits]), -80.0)
    n, whole, r = reduced(x)
    p, half_scale = expm1_reduced(r), power_of_two(n - 1)
    result = mad(half_scale, p, half_scale - 0.5) * 2.0
    return copysign(where(whole.equals(0.0), p, result), x)


def decay(x: Lanes) -> Lanes:
    """exp(-|x|)."""
    n, whole, r = reduced(larger(-absolute(x), UNDERFLOW[x.format.bits]))
    return scaled(exp_reduced(r), n, whole)


@native()
def sigmoid(x: Lanes) -> Lanes:
    """1 / (1 + exp(-x)), both sides of the fraction scaled down so that the lower is in range."""
    format = x.format
    shrink = format.bits + 8
    # The upper bound of -x is past the smallest result, and at the lower one exp(-x) is lost in 1.
    bounded = smaller(larger(-x, -60.0), -UNDERFLOW[format.bits])
    n, _, r = reduced(bounded)
    unit, scale = 2.0**-shrink, power_of_two(n - shrink)
    # exp(r) unrounded, total + rest: where exp(-x) outweighs 1, the sum with 1 rounds for both.
    total = r + 1.0
    rest = mad(r * r, polynomial(r, polynomials.EXP), (1.0 - total) + r)
    heavy = x < 0.0
    lead = where(heavy, total, total + rest)
    return unit / mad(lead, scale, where(heavy, mad(rest, scale, unit), unit))


@native()
def tanh(x: Lanes) -> Lanes:
    """1 - 2 / (exp(2|x|) + 1), and x + x³ P(x²) where that would cancel."""
    size = absolute(x)
    # Beyond the bound the result rounds to 1, and exp needs no care about its range.
    n, _, r = reduced(smaller(size, {32: 10.0, 64: 20.0}[x.format.bits]) * 2.0)
    far = 1.0 - 2.0 / mad(exp_reduced(r), power_of_two(n), 1.0)
    z = x * x
    near = mad(z * size, polynomial(z, polynomials.TANH), size)
    return copysign(where(size < 0.625, near, far), x)


def half_exp(x: Lanes) -> Lanes:
    """exp(x) / 2, which does not overflow before cosh(x)."""
    n, whole, r = reduced(smaller(x, OVERFLOW[x.format.bits] + 1.0))
    return scaled(exp_reduced(r), n - 1, whole - 1.0)


@native()
def cosh(x: Lanes) -> Lanes:
    half = half_exp(absolute(x))
    return half + 0.25 / half


@native()
def sinh(x: Lanes) -> Lanes:
    size = absolute(x)
    half = half_exp(size)
    z = x * x
    near = mad(z * size, polynomial(z, polynomials.SINH), size)
    return copysign(where(size < 1.0, near, half - 0.25 / half), x)
