"""Elementwise functions: one line each, `(t, ...) -> t * dy/dx`.

Where a function has a kink or a pole the value follows one table (docs): the derivative if there is
one; for a convex kink the subgradient of least norm, for a concave one the supergradient; else by
continuity, so that sqrt gives inf at 0; where the function itself is
undefined (log of a negative number) whatever the formula gives, as in PyTorch: a slope there that
is finite keeps `where(x > 0, log(x), 0)` differentiable.
"""

from __future__ import annotations

import cmath
import math
import operator
from typing import Any

import numpy as np

from wengert.dispatch import PROTOCOL, Function, all_true, errors_pass, primitive
from wengert.rules.blocks import ENOUGH, EXACT, at_once
from wengert.rules.loops import ADDED, addable, exact_loops, loops
from wengert.rules.rule import elementwise, general, linear, unbroadcast
from wengert.rules.shapes import astype
from wengert.rules.ways import INTO, QUICK, implemented, way

# ---- arithmetic ----------------------------------------------------------------------------

elementwise(np.add, lambda t: t, lambda t: t, name="Add", boxes=True)
elementwise(np.subtract, lambda t: t, lambda t: -t, name="Sub", boxes=True)
elementwise(
    np.multiply,
    lambda t, b: t * b,
    lambda t, a: t * a,
    names="mul multiply",
    boxes=True,
    doc="The product of two tensors, element by element.",
)


def quotient(a: Any, b: Any) -> Any:
    """a / b; of many complex numbers NumPy's takes eight times as long as a loop."""
    if type(b) is not np.ndarray or b.dtype.kind != "c" or b.size < ENOUGH or not errors_pass():
        return a / b
    out = np.empty(b.shape, b.dtype)
    if type(a) in (int, float):
        _number_over_each(float(a), b.reshape(-1), out.reshape(-1))
    elif addable(a, b) and a.shape == b.shape:
        _over_each(a.reshape(-1), b.reshape(-1), out.reshape(-1))
    else:
        return a / b
    return out


@loops
def _over_each(a, b, out):
    for i in range(len(out)):
        out[i] = a[i] / b[i]


@loops
def _number_over_each(a, b, out):
    for i in range(len(out)):
        out[i] = a / b[i]


elementwise(
    np.divide,
    lambda t, b: quotient(t, b),
    lambda t, a, b: -t * quotient(quotient(a, b), b),
    name="Div",
    names="true_divide",
    boxes=True,
    doc="The quotient; integers give floating-point numbers.",
)
elementwise(np.negative, lambda t: -t, names="neg negative", doc="-x.")
elementwise(np.positive, lambda t: t, name="Alias")
elementwise(np.reciprocal, lambda t, y: -t * y * y)
elementwise(np.square, lambda t, x: 2 * t * x)


def _is_known(x: Any) -> bool:
    """Whether this is a number, by which a formula can be chosen; arrays may stand for one."""
    return isinstance(x, (int, float, complex)) and not hasattr(type(x), PROTOCOL)


def _power_slope(a: Any, b: Any) -> Any:
    """d(a ** b)/da; 0 where b is 0, also at a = 0."""
    if _is_known(b):
        if b == 0.5 and a.dtype.kind == "c":  # other powers of them take ten times as long
            return quotient(0.5, np.sqrt(a))
        if b == 2:
            return 2 * a
        return b * _powers(a)(a, b - 1) if b != 0 else np.zeros_like(a)
    return np.where(b == 0, 0, b * a ** np.where(b == 0, 1, b - 1))


def _powers(a: Any) -> Function:
    """What computes powers of this kind of array, where it may by products."""
    return QUICK[np.power] if type(a) is np.ndarray else operator.pow


def _power_growth(a: Any, b: Any, y: Any) -> Any:
    """d(a ** b)/db = a**b log a; 0 at a = 0 for b >= 0, minus infinity there for b < 0."""
    if _is_known(a):
        if a == 0:
            return np.where(np.real(b) < 0, -np.inf, np.zeros_like(y))
        if y.dtype.kind == "c":
            return y * cmath.log(a)
        return y * (math.log(a.real) if a.real > 0 else math.nan)
    zero = a == 0
    growth = np.where(zero, 0, y * np.log(np.where(zero, 1, a)))
    return np.where(zero & (np.real(b) < 0), -np.inf, growth)


elementwise(
    np.power,
    lambda t, a, b: t * _power_slope(a, b),
    lambda t, a, b, y: t * _power_growth(a, b, y),
    name="Pow",
)
elementwise(
    np.remainder,
    lambda t: t,
    lambda t, a, b: -t * np.floor(a / b),
    names="remainder",
    tensors=0,
    doc="The remainder with the sign of the divisor, as Python's %.",
)
elementwise(
    np.fmod,
    lambda t: t,
    lambda t, a, b: -t * np.trunc(a / b),
    names="fmod",
    tensors=1,
    doc="The remainder with the sign of the dividend, as C's fmod.",
)


@primitive
def trunc_divide(a: Any, b: Any) -> Any:
    """a / b rounded towards zero."""
    return np.trunc(a / b)


# A step's slope is 0 also where the quotient's is infinite, which a composition would multiply.
elementwise(trunc_divide, lambda t: np.zeros_like(t), lambda t: np.zeros_like(t), name="Div")
elementwise(
    np.floor_divide,
    lambda t: np.zeros_like(t),
    lambda t: np.zeros_like(t),
    names="floor_divide",
    doc="The quotient rounded towards minus infinity.",
)

# ---- exponentials and logarithms -----------------------------------------------------------

elementwise(np.exp, lambda t, y: t * y, names="exp", doc="e to the power x.")
elementwise(np.exp2, lambda t, y: t * y * math.log(2), names="exp2", doc="2 to the power x.")
elementwise(np.expm1, lambda t, y: t * (y + 1), names="expm1", doc="exp(x) - 1, accurate near 0.")
elementwise(np.log, lambda t, x: t / x, names="log", doc="The natural logarithm.")
elementwise(
    np.log2, lambda t, x: t / (x * math.log(2)), names="log2", doc="The logarithm to base 2."
)
elementwise(
    np.log10, lambda t, x: t / (x * math.log(10)), names="log10", doc="The logarithm to base 10."
)
elementwise(np.log1p, lambda t, x: t / (1 + x), names="log1p", doc="log(1 + x), accurate near 0.")
elementwise(np.sqrt, lambda t, y: t / (2 * y), names="sqrt", doc="The square root; NaN below zero.")
elementwise(np.cbrt, lambda t, y: t / (3 * y * y))
elementwise(
    np.logaddexp,
    lambda t, a, y: t * exponential_share(a, y),
    lambda t, b, y: t * exponential_share(b, y),
)


def exponential_share(x: Any, y: Any) -> Any:
    """exp(x - y), x's share in y = log(sum(exp)); of an infinite sum 1 for infinity, else 0."""
    infinite = np.isinf(y)
    return np.where(infinite, (x == y) & (np.real(x) > 0), np.exp(x - np.where(infinite, 0, y)))


# ---- trigonometry --------------------------------------------------------------------------

elementwise(np.sin, lambda t, x: t * np.cos(x), names="sin", doc="The sine.")
elementwise(np.cos, lambda t, x: -t * np.sin(x), names="cos", doc="The cosine.")
elementwise(np.tan, lambda t, y: t * (1 + y * y), names="tan", doc="The tangent.")
elementwise(
    np.arcsin, lambda t, x: t / np.sqrt(1 - x * x), names="asin arcsin", doc="The inverse sine."
)
elementwise(
    np.arccos, lambda t, x: -t / np.sqrt(1 - x * x), names="acos arccos", doc="The inverse cosine."
)
elementwise(
    np.arctan, lambda t, x: t / (1 + x * x), names="atan arctan", doc="The inverse tangent."
)
elementwise(np.sinh, lambda t, x: t * np.cosh(x), names="sinh", doc="The hyperbolic sine.")
elementwise(np.cosh, lambda t, x: t * np.sinh(x), names="cosh", doc="The hyperbolic cosine.")
elementwise(np.tanh, lambda t, y: t * (1 - y * y), names="tanh", doc="The hyperbolic tangent.")
elementwise(
    np.arcsinh,
    lambda t, x: t / np.sqrt(x * x + 1),
    names="asinh arcsinh",
    doc="The inverse hyperbolic sine.",
)
elementwise(
    np.arccosh,
    lambda t, x: t / (np.sqrt(x - 1) * np.sqrt(x + 1)),
    names="acosh arccosh",
    doc="The inverse hyperbolic cosine.",
)
elementwise(
    np.arctanh,
    lambda t, x: t / (1 - x * x),
    names="atanh arctanh",
    doc="The inverse hyperbolic tangent.",
)
elementwise(
    np.arctan2,
    lambda t, a, b: t * _direction(b, np.hypot(a, b), 2),
    lambda t, a, b: -t * _direction(a, np.hypot(a, b), 2),
    names="atan2 arctan2",
    tensors=2,
    doc="The angle of the point (other, input), in (-pi, pi].",
)
elementwise(
    np.hypot,
    lambda t, a, y: t * _direction(a, y),
    lambda t, b, y: t * _direction(b, y),
    names="hypot",
    tensors=2,
    doc="sqrt(a^2 + b^2), without overflow.",
)


def _direction(a: Any, r: Any, power: int = 1) -> Any:
    """a / r**power, one division at a time, since r**2 may overflow; 0 at the origin."""
    origin = r == 0
    for _ in range(power):
        a = a / np.where(origin, 1, r)
    return np.where(origin, 0, a)


elementwise(np.deg2rad, lambda t: t * (math.pi / 180), names="deg2rad", doc="Degrees to radians.")
elementwise(np.rad2deg, lambda t: t * (180 / math.pi), names="rad2deg", doc="Radians to degrees.")
elementwise(
    np.sinc,
    lambda t, x: t * -math.pi * spherical_bessel(math.pi * x, 1),
    names="sinc",
    doc="sin(pi x) / (pi x), and 1 at 0.",
)


@primitive
def spherical_bessel(x: Any, n: int) -> Any:
    """The spherical Bessel function of the first kind j_n; j_0(x) = sin(x) / x."""
    if n == 1:
        return _first_bessel(x)
    from scipy import special

    return special.spherical_jn(n, x).astype(x.dtype)


def _first_bessel(x: Any) -> Any:
    """j_1 = (sin(x) / x - cos(x)) / x: SciPy's general one takes ten times as long.

    The terms cancel near 0, where the series x/3 (1 - x^2/10 (1 - x^2/28 (...))) is taken.
    """
    near = np.abs(x) < 1
    far = np.where(near, 1, x)
    square: Any = np.where(near, x * x, 0)
    series: Any = 1.0
    for k in range(9, 0, -1):
        series = 1 - square / (2 * k * (2 * k + 3)) * series
    # At infinity j_1 is 0; NumPy has NaN for its sine.
    far = np.where(np.isinf(far), 0, (np.sin(far) / far - np.cos(far)) / far)
    return np.where(near, x / 3 * series, far).astype(x.dtype)


# j_n' = (n j_{n-1} - (n+1) j_{n+1}) / (2n+1), which has no pole at 0: derivatives of sinc of every
# order are right there too.
elementwise(
    spherical_bessel,
    lambda t, x, n: (
        t
        * ((n * spherical_bessel(x, n - 1) if n else 0) - (n + 1) * spherical_bessel(x, n + 1))
        / (2 * n + 1)
    ),
)


# ---- kinks and steps -----------------------------------------------------------------------

# Where both are equal each gets half: the subgradient of least norm. Selection rather than a
# product with 0 and 1 keeps the dtype, and makes no NaN of an infinite cotangent.
elementwise(
    np.maximum,
    lambda t, a, b: np.where(a == b, t / 2, np.where(a < b, 0, t)),
    lambda t, a, b: np.where(a == b, t / 2, np.where(b < a, 0, t)),
    names="maximum",
    tensors=2,
    inplace=False,
    ordered=True,
    doc="The larger of two, element by element; NaN if either is.",
)
elementwise(
    np.minimum,
    lambda t, a, b: np.where(a == b, t / 2, np.where(a > b, 0, t)),
    lambda t, a, b: np.where(a == b, t / 2, np.where(b > a, 0, t)),
    names="minimum",
    tensors=2,
    inplace=False,
    ordered=True,
    doc="The smaller of two, element by element; NaN if either is.",
)
# These pick one of their arguments, the first if both are equal.
elementwise(
    np.fmax,
    lambda t, a, b: np.where((a >= b) | (b != b), t, 0),
    lambda t, a, b: np.where((a >= b) | (b != b), 0, t),
    names="fmax",
    tensors=2,
    inplace=False,
    ordered=True,
    doc="The larger of two; a NaN loses to a number.",
)
elementwise(
    np.fmin,
    lambda t, a, b: np.where((a <= b) | (b != b), t, 0),
    lambda t, a, b: np.where((a <= b) | (b != b), 0, t),
    names="fmin",
    tensors=2,
    inplace=False,
    ordered=True,
    doc="The smaller of two; a NaN loses to a number.",
)
for step in (np.floor, np.ceil, np.trunc, np.rint):
    elementwise(step, lambda t: np.zeros_like(t), name="Round" if step is np.rint else None)


@primitive
def frac(x: Any) -> Any:
    """x - trunc(x)."""
    return x - np.trunc(x)


@primitive
def between(a: Any, b: Any, weight: float) -> Any:
    """a + weight (b - a), from the nearer end: a weight of 1 gives b itself."""
    step = b - a
    return b - step * (1 - weight) if weight >= 0.5 else a + weight * step


@primitive
def product_added(a: Any, b: Any, c: Any, value: Any) -> Any:
    """a + value b c."""
    return a + b * c if value == 1 else a + value * (b * c)


@primitive
def quotient_added(a: Any, b: Any, c: Any, value: Any) -> Any:
    """a + value b / c."""
    return a + b / c if value == 1 else a + value * (b / c)


elementwise(
    product_added,
    lambda t: t,
    lambda t, c, value: t * (value * c),
    lambda t, b, value: t * (value * b),
    name="Addcmul",
)
elementwise(
    quotient_added,
    lambda t: t,
    lambda t, c, value: t * (value / c),
    lambda t, b, c, value: -t * (value * ((b / c) / c)),
    name="Addcdiv",
)
elementwise(frac, lambda t: t)
elementwise(between, lambda t, weight: t * (1 - weight), lambda t, weight: t * weight, name="Lerp")
# The step from x to its neighbour is a constant, almost everywhere.
elementwise(np.nextafter, lambda t: t, lambda t: np.zeros_like(t))
elementwise(
    np.copysign,
    lambda t, a, y: t * np.sign(a) * np.sign(y),
    lambda t: np.zeros_like(t),
    names="copysign",
    tensors=1,
    doc="The size of one with the sign of the other.",
)
elementwise(np.heaviside, lambda t: np.zeros_like(t), lambda t, a: np.where(a == 0, t, 0))

# |z| and z / |z| are not holomorphic: both directions are stated.
general(
    np.absolute,
    reverse={"x": lambda g, x: g * np.sign(x)},
    forward={"x": lambda t, x: np.real(np.conj(np.sign(x)) * t)},
    name="Abs",
)


def _turn(t: Any, x: Any) -> Any:
    """The derivative of x / |x|: what of t is across x, over |x|. A real number cannot turn."""
    if x.dtype.kind != "c":
        return np.zeros_like(t)
    unit, size = np.sign(x), np.absolute(x)
    return np.where(
        size == 0, 0, (t - unit * np.real(np.conj(unit) * t)) / np.where(size == 0, 1, size)
    )


# The Jacobian is symmetric, so both directions are the same.
general(np.sign, reverse={"x": lambda g, x: _turn(g, x)}, forward={"x": lambda t, x: _turn(t, x)})
elementwise(np.fabs, lambda t, x: t * np.sign(x))

# ---- complex parts -------------------------------------------------------------------------

general(
    np.conjugate,
    reverse={"x": lambda g: np.conj(g)},
    forward={"x": lambda t: np.conj(t)},
    name="Conj",
)
general(
    np.real,
    reverse={"val": lambda g, val_dtype: as_complex(g, val_dtype)},
    forward={"val": lambda t: np.real(t)},
    view=True,
)
general(
    np.imag,
    reverse={"val": lambda g, val_dtype: as_complex(g, val_dtype, 1j)},
    forward={"val": lambda t: np.imag(t)},
    view=True,
)


def as_complex(g: Any, dtype: Any, unit: complex = 1) -> Any:
    """A real cotangent as a complex one along 1 or i. A real input has no part along i."""
    if unit == 1:
        return astype(g, dtype) if dtype.kind == "c" else g
    return make_complex(np.zeros_like(g), g) if dtype.kind == "c" else np.zeros_like(g)


def _angle_slope(z: Any) -> Any:
    """i z / |z|^2, the direction in which the angle grows; 0 at 0, and along the real axis."""
    squared = np.real(z * np.conj(z))
    return np.where(squared == 0, 0, 1j * z / np.where(squared == 0, 1, squared))


general(
    np.angle,
    reverse={"z": lambda g, z: g * _angle_slope(z) if z.dtype.kind == "c" else np.zeros_like(g)},
    forward={"z": lambda t, z: np.real(np.conj(_angle_slope(z)) * t)},
    arguments=["z"],
)


@primitive
def make_complex(real: Any, imag: Any) -> Any:
    """real + i imag, from two real arrays; the parts keep their infinities."""
    if type(real) is type(imag) is np.ndarray and real.dtype is imag.dtype in _COMPLEX:
        shape, dtype = real.shape, _COMPLEX[real.dtype]
        if shape != imag.shape:
            shape = np.broadcast_shapes(shape, imag.shape)
    else:
        shape = np.broadcast_shapes(np.shape(real), np.shape(imag))
        dtype = np.result_type(real, imag, np.complex64)
    out = np.empty(shape, dtype)
    out.real, out.imag = real, imag
    return out


_COMPLEX = {dtype: np.result_type(dtype, np.complex64) for dtype in EXACT}


general(
    make_complex,
    reverse={
        "real": lambda g, real_shape: unbroadcast(np.real(g), real_shape),
        "imag": lambda g, imag_shape: unbroadcast(np.imag(g), imag_shape),
    },
    forward={
        "real": lambda t, imag_shape: make_complex(t, np.zeros(imag_shape, t.dtype)),
        "imag": lambda t, real_shape: make_complex(np.zeros(real_shape, t.dtype), t),
    },
    name="Complex",
)

# ---- choosing ------------------------------------------------------------------------------

_BITS: dict[Any, Any] = {
    np.dtype(np.float32): np.dtype(np.int32),
    np.dtype(np.float64): np.dtype(np.int64),
}
FEW = 256


@implemented
def masked(g: Any, mask: Any) -> Any:
    """`g` where the mask holds, else 0, by selection: inf outside the mask makes no NaN.

    np.where takes a branch per element, which a processor mispredicts half of the time on random
    signs. On many numbers an `and` of the bits is ten times as fast; on few, filling is.
    """
    return np.where(mask, g, g.dtype.type(0))


def _has_bits(g: Any, mask: Any) -> bool:
    alike = type(g) is type(mask) is np.ndarray and g.shape == mask.shape
    return alike and mask.dtype.char == "?" and g.dtype in _BITS


@way(masked, _has_bits)
def _masked_by_bits(g: Any, mask: Any) -> Any:
    if g.size <= FEW:
        out = np.zeros(g.shape, g.dtype)
        np.copyto(out, g, where=mask)
        return out
    bits = _BITS[g.dtype]
    ones = np.negative(mask.view(np.int8), dtype=bits)  # -1 has every bit set
    ones &= g.view(bits)
    return ones.view(g.dtype)


linear(
    np.where,
    None,
    lambda g, condition, a_shape: unbroadcast(masked(g, condition), a_shape),
    lambda g, condition, b_shape: unbroadcast(masked(g, np.logical_not(condition)), b_shape),
    forward={
        "a": lambda t, condition, y: np.broadcast_to(np.where(condition, t, 0), y.shape),
        "b": lambda t, condition, y: np.broadcast_to(np.where(condition, 0, t), y.shape),
    },
    arguments=("condition", "a", "b"),
    constants=("condition",),
)

general(
    np.clip,
    reverse={"a": lambda g, a, a_min, a_max: masked(g, inside(a, a_min, a_max))},
    forward={"a": lambda t, a, a_min, a_max: np.where(inside(a, a_min, a_max), t, 0)},
    arguments=("a", "a_min", "a_max"),
    name="Clamp",
)


def clip(a: Any, a_min: Any = None, a_max: Any = None) -> Any:
    """np.clip; of floats in a plain array without the Python around it, or NumPy's maximum."""
    if type(a) is np.ndarray and a.dtype in EXACT:
        return clip_into(a, a_min, a_max)
    return np.clip(a, a_min, a_max)


def clip_into(a: Any, a_min: Any, a_max: Any, out: Any = None) -> Any:
    low, high = -math.inf if a_min is None else a_min, math.inf if a_max is None else a_max
    numbers = type(low) in (int, float) and type(high) in (int, float)
    if out is a and numbers and a.size >= ENOUGH and a.flags.c_contiguous and a.dtype in EXACT:
        _clip_within(a.reshape(-1), float(low), float(high))
        return a
    return clipped(a, low, high, out)


@exact_loops
def _clip_within(x, low, high):
    for i in range(len(x)):
        x[i] = min(max(x[i], x.dtype.type(low)), x.dtype.type(high))


_umath = getattr(getattr(np, "_core", None), "umath", None)
clipped: Function = getattr(_umath, "clip", np.ndarray.clip)
"""`clipped(a, low, high, out)`: the ufunc behind NumPy's method, which is Python, where it is."""


# With a number of Python's a ufunc takes twice as long on few numbers as with a 0-d array.
ZERO = {dtype: np.zeros((), dtype) for dtype in EXACT}
ONE = {dtype: np.ones((), dtype) for dtype in ADDED}
for _number in (*ZERO.values(), *ONE.values()):
    _number.flags.writeable = False


def at_least(x: Any, low: Any) -> Any:
    """np.maximum(x, low), of a number: of many, NumPy's takes three times as long as its clip."""
    if type(x) is not np.ndarray or x.dtype not in EXACT:
        return np.maximum(x, low)
    return clip(x, low) if x.size > ENOUGH else np.maximum(x, low or ZERO[x.dtype])


def at_most(x: Any, high: Any) -> Any:
    """np.minimum(x, high), likewise."""
    if type(x) is not np.ndarray or x.dtype not in EXACT:
        return np.minimum(x, high)
    return clip(x, None, high) if x.size > ENOUGH else np.minimum(x, high or ZERO[x.dtype])


def times(number: float, x: Any) -> Any:
    """number * x, which is x itself if the number is 1: what many settings are."""
    return x if number == 1 else number * x


QUICK[np.clip], INTO[np.clip] = clip, clip_into


def inside(a: Any, low: Any, high: Any) -> Any:
    """Where clipping leaves a as it is; the bounds belong to the inside."""
    above = a == a if low is None else a >= low
    return above if high is None else above & (a <= high)


def _replaced(x: Any, most: float, nan: float, above: float, below: float) -> Any:
    finite = np.where(x > most, above, np.where(x < -most, below, x))
    return np.where(x == x, finite, nan).astype(x.dtype)


_finite = at_once(_replaced, ENOUGH)


@primitive
@implemented
def nan_to_num(x: Any, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """x with its NaNs and infinities replaced by finite numbers."""
    return np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)


def _by_numbers(x: Any, *instead: Any, **named: Any) -> bool:
    numbers = all(type(value) in _NUMBERS for value in (*instead, *named.values()))
    return numbers and type(x) is np.ndarray and x.dtype in EXACT and x.ndim > 0


_NUMBERS = int, float, type(None)


@way(nan_to_num, _by_numbers)
def _replaced_at_once(x: Any, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    if x.size <= ENOUGH and all_true(np.isfinite(x)):
        return x.copy()
    most = float(np.finfo(x.dtype).max)
    above, below = most if posinf is None else posinf, -most if neginf is None else neginf
    return _finite(x, most, float(nan), float(above), float(below))


general(
    nan_to_num,
    reverse={"x": lambda g, x: masked(g, np.isfinite(x))},
    forward={"x": lambda t, x: np.where(np.isfinite(x), t, 0)},
)
