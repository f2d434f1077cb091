"""Logarithms and powers, in the language of `lanes.py`.

x = 2^e m with sqrt(1/2) <= m < sqrt(2), so that log(x) = e log(2) + log(m), and f = m - 1 is exact.
In float32 log(1 + f) is a polynomial in f. In float64 its degree would be above 20, so there
log(1 + f) = 2 atanh(s) with s = f / (2 + f), |s| < 0.172, is the shorter way (Muller, "Elementary
Functions", 3rd edition, section 11.4). No tables: gathering costs more than the terms it saves.
"""

from __future__ import annotations

import math

from wengert.compile.llvm.elementary import polynomials
from wengert.compile.llvm.elementary.exponentials import (
    LOG_2,
    decay,
    exp2,
    exp_reduced,
    power_of_two,
    reduced,
    scaled,
)
from wengert.compile.llvm.elementary.table import native
from wengert.compile.llvm.machine.lanes import (
    FLOAT64,
    Lanes,
    absolute,
    copysign,
    fma,
    larger,
    mad,
    negate_where,
    polynomial,
    smaller,
    sqrt,
    two_product,
    two_sum,
    where,
)

# The bits of the float below sqrt(1/2): what m is counted from.
HALF_ROOT = {32: 0x3F3504F3, 64: 0x3FE6A09E667F3BCC}
LOG2_E = {
    32: (1.4426950216293335, 1.925963033500011e-08),
    64: (1.4426950408889634, 2.0355273740931033e-17),
}
LOG10_E = {
    32: (0.4342944920063019, -1.0103049952192578e-08),
    64: (0.4342944819032518, 1.098319650216765e-17),
}
# log10(2), its first part of 12 and of 40 digits.
LOG10_2 = {
    32: (0.301025390625, 4.605038981195214e-06),
    64: (0.3010299956640665, -8.532344317057107e-14),
}


def whole_float(n: Lanes) -> Lanes:
    """A small integer, in all the bits of its lane, as a float: no processor need convert it."""
    shift = n.full(0).floats().full(n.format.round_shift)
    return (n + shift.bits()).floats() - shift


def split(x: Lanes) -> tuple[Lanes, Lanes]:
    """(e, m) of a positive normal number x = 2^e m, e an integer in all the bits of its lane."""
    format = x.format
    bits = x.bits()
    # Counted from below the smallest exponent, so that the shift sees no negative number.
    biased = (bits + (format.one - HALF_ROOT[format.bits])) >> format.digits
    e = biased - format.bias
    return e, (bits - (e << format.digits)).floats()


def normal_split(x: Lanes) -> tuple[Lanes, Lanes]:
    """(e, m) of a positive number, e as a float: the denormal ones are scaled up first."""
    format = x.format
    tiny = x < format.smallest_normal
    e, m = split(where(tiny, x * 2.0**format.digits, x))
    e = whole_float(e)
    return where(tiny, e - float(format.digits), e), m


def log1p_parts(f: Lanes) -> tuple[Lanes, Lanes]:
    """log(1 + f) = f - rest, for sqrt(1/2) <= 1 + f <= sqrt(2): (f² / 2, rest)."""
    half_square = f * 0.5 * f
    if f.format is FLOAT64:
        s = f / (f + 2.0)
        z = s * s
        # 2 atanh(s) = f - (f²/2 - s (f²/2 + 2 z P(z))): the sum's large terms are exact.
        tail = mad(z * 2.0, polynomial(z, polynomials.ATANH), half_square)
        return half_square, half_square - s * tail
    cube = f * f * f
    return half_square, mad(-cube, polynomial(f, polynomials.LOG), half_square)


def log_domain(x: Lanes, result: Lanes) -> Lanes:
    """`result` where 0 < x < inf, and what a logarithm is elsewhere."""
    result = where(x < math.inf, result, x)
    result = where(x < 0.0, math.nan, result)
    return where(x.equals(0.0), -math.inf, result)


def log_positive(x: Lanes) -> Lanes:
    """log(x) for 0 < x < inf."""
    high, low = LOG_2[x.format.bits]
    e, m = normal_split(x)
    f = m - 1.0
    _, rest = log1p_parts(f)
    return mad(e, high, f - mad(e, -low, rest))


@native()
def log(x: Lanes) -> Lanes:
    return log_domain(x, log_positive(x))


def log_times(
    f: Lanes, factor: tuple[float, float], e: Lanes, unit: tuple[float, float] = (1.0, 0.0)
) -> Lanes:
    """e unit + log(1 + f) factor, with the factor and log(1 + f) in two parts each."""
    _, rest = log1p_parts(f)
    high, low = two_sum(f, -rest)
    product, error = two_product(high, factor[0])
    error = error + mad(low, factor[0], high * factor[1])
    # e unit is the larger, or 0, which the sum takes as well.
    total, lost = two_sum(e * unit[0], product)
    return total + (lost + mad(e, unit[1], error))


@native()
def log2(x: Lanes) -> Lanes:
    e, m = normal_split(x)
    return log_domain(x, log_times(m - 1.0, LOG2_E[x.format.bits], e))


@native()
def log10(x: Lanes) -> Lanes:
    bits = x.format.bits
    e, m = normal_split(x)
    return log_domain(x, log_times(m - 1.0, LOG10_E[bits], e, LOG10_2[bits]))


def log1p_split(x: Lanes) -> tuple[Lanes, Lanes]:
    """(e, f): 1 + x = 2^e (1 + f), without rounding x against 1 where that would matter.

    f = 2^-e x + (2^-e - 1), of which the first is integer arithmetic and the second exact until it
    no longer matters.
    """
    format = x.format
    e, _ = split(x + 1.0)
    scaled_x = (x.bits() - (e << format.digits)).floats()
    bounded = where(e < format.bias - 1, e, format.bias - 1)
    inverse = (format.one - (bounded << format.digits)).floats()
    return whole_float(e), scaled_x + (inverse - 1.0)


def log1p_inside(x: Lanes, shifted: Lanes | float = 0.0) -> Lanes:
    """log(1 + x) + shifted log(2) for -1 < x < inf."""
    high, low = LOG_2[x.format.bits]
    e, f = log1p_split(x)
    if isinstance(shifted, Lanes):
        e = e + shifted
    _, rest = log1p_parts(f)
    return mad(e, high, f - mad(e, -low, rest))


@native()
def log1p(x: Lanes) -> Lanes:
    result = copysign(log1p_inside(x), x)
    result = where(x < math.inf, result, x)
    result = where(x < -1.0, math.nan, result)
    return where(x.equals(-1.0), -math.inf, result)


@native()
def arcsinh(x: Lanes) -> Lanes:
    """log(|x| + √(x² + 1)) = log1p(|x| + x² / (1 + √(x² + 1))), with the sign of x."""
    size = absolute(x)
    # Beyond this 1 is lost beside |x|, and log(2 |x|) remains; x² may be inf.
    huge = size > 2.0 ** (x.format.digits + 2)
    near = where(huge, 1.0, size)
    square = near * near
    fraction = square / (sqrt(square + 1.0) + 1.0)
    result = log1p_inside(where(huge, size, near + fraction), shifted=where(huge, x.full(1.0), 0.0))
    return copysign(where(size < math.inf, result, size), x)


@native()
def arccosh(x: Lanes) -> Lanes:
    """log1p(t + √(t (t + 2))) with t = x - 1."""
    huge = x > 2.0 ** (x.format.digits + 2)
    t = where(huge, 1.0, x - 1.0)
    root = sqrt(mad(t, t, t * 2.0))
    result = log1p_inside(where(huge, x, t + root), shifted=where(huge, x.full(1.0), 0.0))
    result = where(x < math.inf, result, x)
    return where(x < 1.0, math.nan, where(x.equals(1.0), 0.0, result))


@native()
def arctanh(x: Lanes) -> Lanes:
    """e log(2) / 2 + atanh(s), with (1 + x) / (1 - x) = 2^e (1 + s) / (1 - s).

    So s = (1 + x - 2^e (1 - x)) / (1 + x + 2^e (1 - x)), without rounding what cancels.
    """
    format = x.format
    size = absolute(x)
    e, _ = split((size + 1.0) / (1.0 - size))
    scale = ((e << format.digits) + format.one).floats()
    small = size < 0.5
    above = where(small, fma(size, scale + 1.0, 1.0 - scale), fma(scale, size - 1.0, size + 1.0))
    below = where(small, fma(size, 1.0 - scale, scale + 1.0), fma(scale, 1.0 - size, size + 1.0))
    s = above / below
    z = s * s
    high, low = (part / 2 for part in LOG_2[format.bits])
    e = whole_float(e)
    result = mad(e, high, s + mad(s * z, polynomial(z, polynomials.ATANH), e * low))
    result = where(size > 1.0, math.nan, where(size.equals(1.0), math.inf, result))
    return copysign(where(x.is_nan(), x, result), x)


@native()
def softplus(x: Lanes) -> Lanes:
    """log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|))."""
    return larger(x, 0.0) + log1p_inside(decay(x))


@native(large=True)
def logaddexp(x: Lanes, y: Lanes) -> Lanes:
    """max(x, y) + log(1 + exp(-|x - y|)); two infinities of one sign have no difference."""
    gap = where(x.equals(y), 0.0, x - y)
    result = where(gap > 0.0, x, y) + log1p_inside(decay(gap))
    return where(gap.is_nan(), gap, result)


@native(large=True)
def logaddexp2(x: Lanes, y: Lanes) -> Lanes:
    gap = where(x.equals(y), 0.0, x - y)
    more = log1p_inside(exp2(-absolute(gap))) * LOG2_E[x.format.bits][0]
    return where(gap.is_nan(), gap, where(gap > 0.0, x, y) + more)


def power_domain(x: Lanes, y: Lanes, size: Lanes) -> Lanes:
    """x^y given |x|^y, which is nan where a logarithm is multiplied as 0 · inf."""
    whole = y.call("trunc")
    half = y * 0.5
    odd = whole.equals(y) & half.call("trunc").differs(half)
    result = negate_where(odd & x.sign_bit(), size)
    result = where((x < 0.0) & (x > -math.inf) & whole.differs(y), math.nan, result)
    one = y.equals(0.0) | x.equals(1.0)
    return where(one | (x.equals(-1.0) & absolute(y).equals(math.inf)), 1.0, result)


@native("float_power", large=True)
def power(x: Lanes, y: Lanes) -> Lanes:
    """x^y = exp(y log|x|), the product to enough digits that exp keeps all of its own."""
    size = absolute(x)
    core = power64 if x.format is FLOAT64 else power32
    return power_domain(x, y, core(size, y))


def power32(x: Lanes, y: Lanes) -> Lanes:
    """x^y for float32 x >= 0, in float64: a logarithm in two float32 parts would take longer."""
    wide = x.widen()
    e, m = split(wide)
    f = m - 1.0
    series = mad(polynomial(f, polynomials.LOG_MIDDLE), f, -0.5)
    logarithm = mad(whole_float(e), math.log(2), mad(f * f, series, f))
    t = y.widen() * endpoints(wide, logarithm)
    # float32 ends well within these, and float64 does not.
    n, _, r = reduced(larger(smaller(t, 90.0), -110.0))
    p = polynomial(r, {64: polynomials.EXP[32]})
    return (mad(mad(p, r, 1.0), r, 1.0) * power_of_two(n)).narrow()


def endpoints(x: Lanes, logarithm: Lanes) -> Lanes:
    """log(x), given it for 0 < x < inf."""
    logarithm = where(x < math.inf, logarithm, x)
    return where(x.equals(0.0), -math.inf, logarithm)


def power64(x: Lanes, y: Lanes) -> Lanes:
    """x^y for float64 x >= 0, with log(x) in two parts (Dekker's arithmetic)."""
    high, low = log_two_parts(x)
    high = endpoints(x, high)
    product, error = two_product(y, high)
    error = mad(y, low, error)
    # Past the ends of exp, what was lost no longer matters, and may be inf - inf.
    bounded = larger(smaller(product, 710.0), -746.0)
    error = where(bounded.equals(product), error, 0.0)
    n, whole, r = reduced(bounded)
    return scaled(exp_reduced(r + error), n, whole)


def log_two_parts(x: Lanes) -> tuple[Lanes, Lanes]:
    """log(x) for 0 < x < inf as a sum of two floats, to about 2^-66 of itself."""
    ln2, ln2_low = LOG_2[64]
    e, m = normal_split(x)
    f = m - 1.0
    # s = f / (2 + f) and what the division left.
    below, below_low = two_sum(f.full(2.0), f)
    s = f / below
    s_low = (fma(-s, below, f) - s * below_low) / below
    z, z_low = two_product(s, s)
    z_low = mad(s * 2.0, s_low, z_low)
    # atanh(s) = s + s³ (1/3 + z Q(z)), the bracket in two parts.
    q = polynomial(z, polynomials.ATANH_TAIL)
    third, third_low = two_sum(z.full(1 / 3), z * q)
    third_low = third_low + 1.850371707708594e-17
    cubic, cubic_low = two_product(z, third)
    cubic_low = cubic_low + mad(z, third_low, z_low * third)
    tail, tail_low = two_product(s, cubic)
    tail_low = tail_low + mad(s, cubic_low, s_low * cubic)
    high, low = two_sum(s * 2.0, tail * 2.0)
    low = low + mad(s_low, 2.0, tail_low * 2.0)
    total, lost = two_sum(e * ln2, high)
    return two_sum(total, lost + mad(e, ln2_low, low))
