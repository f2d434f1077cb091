"""The error function and its complement, in the language of `lanes.py`."""

from __future__ import annotations

from wengert.compile.llvm.elementary import polynomials
from wengert.compile.llvm.elementary.exponentials import power_of_two, reduced, scaled
from wengert.compile.llvm.elementary.table import native
from wengert.compile.llvm.machine.lanes import (
    FLOAT64,
    Lanes,
    absolute,
    copysign,
    fma,
    mad,
    polynomial,
    smaller,
    two_product,
    where,
)

# (x - 3) / (x + 3) carries 0 … inf to -1 … 1, where erfc without its exponential is smooth.
ERFC_CENTRE = 3.0


@native()
def erf(x: Lanes) -> Lanes:
    """x + x P(x²) near 0, and 1 - erfc(x) from where that does not cancel."""
    size = absolute(x)
    z = x * x
    near = mad(size, polynomial(z, polynomials.ERF), size)
    if x.format is FLOAT64:
        far = 1.0 - erfc_positive(smaller(size, 6.0))
        return copysign(where(size < 1.0, near, far), x)
    # In float32 only the absolute size of erfc matters: its fourth root is a polynomial.
    root = polynomial(smaller(size, 3.95) - 2.575, polynomials.ERF_TAIL)
    square = root * root
    return copysign(where(size < 1.2, near, mad(-square, square, 1.0)), x)


def erfc_positive(x: Lanes) -> Lanes:
    """erfc(x) = exp(-x²) Q((x - 3) / (x + 3)) / (x + 3) for x >= 0 (Shepherd & Laframboise, 1981).

    Each factor has two parts: the rounding errors of the six steps would otherwise add up.
    """
    below, above = x + ERFC_CENTRE, x - ERFC_CENTRE
    below_low, above_low = x - (below - ERFC_CENTRE), x - (above + ERFC_CENTRE)
    inverse = 1.0 / below
    inverse_error = fma(-inverse, below, 1.0) - inverse * below_low
    t = above * inverse
    t_error = (fma(-t, below, above) + mad(-t, below_low, above_low)) * inverse
    c0, c1, *higher = polynomials.ERFC[64]
    curve = t * polynomial(t, {64: tuple(higher)})
    slope = curve + c1
    smooth = mad(t, slope, c0)
    smooth_low = fma(t, slope, c0 - smooth) + polynomials.ERFC_LOW
    smooth_low = smooth_low + mad(t_error, mad(curve, 2.0, c1), smooth * inverse_error)
    factor, low = two_product(smooth, inverse)
    low = mad(inverse, smooth_low, low)
    # exp(-x²) would magnify the rounding error of x² as well.
    square, error = two_product(x, x)
    n, whole, r = reduced(-square)
    r = r - error
    total = r + 1.0
    rest = mad(r * r, polynomial(r, polynomials.EXP), (1.0 - total) + r)
    return scaled(mad(total, factor, mad(rest, factor, total * low)), n, whole)


def erfc_positive32(x: Lanes) -> Lanes:
    """erfc of float32, in float64: its steps would add up to five roundings in float32."""
    x = x.widen()
    inverse = 1.0 / (x + ERFC_CENTRE)
    smooth = polynomial((x - ERFC_CENTRE) * inverse, {64: polynomials.ERFC[32]}) * inverse
    n, _, r = reduced(-(x * x))
    e = mad(mad(polynomial(r, {64: polynomials.EXP[32]}), r, 1.0), r, 1.0)
    return (e * power_of_two(n) * smooth).narrow()


@native(large=True)
def erfc(x: Lanes) -> Lanes:
    size = smaller(absolute(x), {32: 10.1, 64: 27.3}[x.format.bits])
    if x.format is not FLOAT64:
        y = erfc_positive32(size)
        return where(x < 0.0, 2.0 - y, y)
    y = erfc_positive(size)
    z = x * x
    near = mad(-x, polynomial(z, polynomials.ERF), 1.0 - x)
    return where(absolute(x) < 0.5, near, where(x < 0.0, 2.0 - y, y))
