"""Activations of neural networks that are primitives for speed or range.

Their rules are formulas in the ordinary functions; where a plain NumPy array comes
in, a body may take a faster way to the same numbers.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from wengert.dispatch import ERRORS, QUIET, Function, as_array, primitive, quietly
from wengert.errors import DtypeError
from wengert.rules.blocks import ENOUGH, EXACT
from wengert.rules.elementwise import (
    FEW,
    ONE,
    ZERO,
    at_least,
    at_most,
    clip,
    clip_into,
    masked,
    times,
)
from wengert.rules.loops import loopable, loops
from wengert.rules.rule import elementwise
from wengert.rules.ways import INTO, implemented, way

# ---- activations ---------------------------------------------------------------------------


def _flat(t: Any) -> Any:
    """The derivative of a slope that is the same on each side of a kink: zero, as in PyTorch."""
    return np.zeros_like(t)


_FLOAT_32 = np.dtype(np.float32)
_ZERO_32 = ZERO[_FLOAT_32]


def in_single(function: Function) -> Function:
    """A function of x and settings that computes numbers of 16 bits in 32, and rounds once."""

    @functools.wraps(function)
    def run(x: Any, *settings: Any, **named: Any) -> Any:
        dtype = x.dtype
        if dtype.itemsize != 2 or dtype.kind not in "fV":
            return function(x, *settings, **named)
        return function(x.astype(np.float32), *settings, **named).astype(dtype)

    return run


@primitive
@implemented
def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)), accurate where it is small: log(sigmoid(x)) is x far below 0."""
    return _sigmoid(x)


@way(sigmoid, lambda x: type(x) is np.ndarray and x.dtype in EXACT)
def _sigmoid_in_place(x: Any) -> Any:
    before = ERRORS.set(QUIET)  # of exp, where the result is too small for any number but 0
    try:
        out = np.exp(-x)
    finally:
        ERRORS.reset(before)
    out += ONE[out.dtype]
    return np.reciprocal(out)


@in_single
def _sigmoid(x: Any) -> Any:
    if x.dtype.kind != "c":
        return 1 / (1 + np.exp(np.multiply(x, -1.0)))
    left = np.real(x) < 0
    small = np.exp(np.where(left, x, -x))  # the larger one of both may overflow
    return np.where(left, small, 1) / (1 + small)


@primitive
def relu(x: Any) -> Any:
    """max(x, 0); NaN stays NaN."""
    if x.dtype is _FLOAT_32 and not (type(x) is np.ndarray and x.size > ENOUGH):
        return np.maximum(x, _ZERO_32)  # without looking up its zero: a tenth of a small relu
    if x.dtype.kind in "bc":
        raise DtypeError(f"relu is not defined for {x.dtype}: convert it, e.g. with x.float()")
    return at_least(x, ZERO.get(x.dtype, 0))


def _relu_into(x: Any, out: Any) -> Any:
    return clip_into(x, 0, None, out) if x.size > ENOUGH else np.maximum(x, _zero_of(x), out=out)


INTO[relu] = _relu_into


def _zero_of(x: Any) -> Any:
    """A 0 in the dtype; the commonest is told without a look into a table."""
    return _ZERO_32 if x.dtype is _FLOAT_32 else ZERO.get(x.dtype, 0)


@primitive
def threshold_pull(g: Any, at: Any) -> Any:
    """`g` unless at <= 0, else 0: relu's cotangent."""
    zero = _zero_of(at)
    off = at <= zero
    if type(g) is type(off) is np.ndarray and g.size <= FEW and g.shape == off.shape:
        out = g.copy()
        out[off] = zero  # a mask of few is quicker than np.copyto by a third
        return out
    return masked(g, np.logical_not(off))


@primitive
@in_single
@implemented
def erf(x: Any) -> Any:
    """The error function, 2/sqrt(pi) times the integral of exp(-s^2) from 0 to x."""
    from scipy import special

    return special.erf(x)


# erf(x) = tanh(x P(x²)) within 7.1e-8, relatively: P fits artanh(erf(x)) / x for x < 4.2, where
# float32 has left the rest to tanh, weighted by what tanh leaves of an error (Lawson's iteration).
# Its last coefficients are positive, so that it grows from there on. SciPy's takes eight times as
# long; with the rounding errors of float32 the result is within four units in the last place.
_ERF = [
    np.array(c, np.float32)
    for c in (
        5.421760008698423e-09, 2.7572079066365414e-08, -4.7945675212275665e-06,
        8.459641815870852e-05, -0.0006148378853812344, -0.00019528852319529878,
        0.10276986427110456, 1.1283792471709722,
    )
]  # fmt: skip


@way(erf, lambda x: type(x) is np.ndarray and x.dtype == np.float32 and x.size > FEW)
@quietly  # of what overflows, where tanh gives 1
def _erf_in_float32(x: Any) -> Any:
    square = x * x
    y = square * _ERF[0]
    for c in _ERF[1:-1]:
        y += c
        y *= square
    y += _ERF[-1]
    y *= x
    return np.tanh(y, out=y)


@way(erf, lambda x: type(x) is np.ndarray and x.shape == (1,) and x.dtype.char in "?bhilqfd")
def _erf_of_one(x: Any) -> Any:
    # SciPy's takes 0.2 s to import, which gelu's first call would wait for only to be told that
    # integers become floating point.
    return np.array([math.erf(x[0])], x.dtype if x.dtype.kind == "f" else np.float64)


elementwise(sigmoid, lambda t, y: t * (y * (1 - y)), names="sigmoid", doc="1 / (1 + exp(-x)).")
elementwise(relu, lambda t, y: threshold_pull(t, y), names="relu", doc="max(x, 0).")
elementwise(threshold_pull, threshold_pull, _flat, name="ThresholdBackward")
elementwise(
    erf,
    lambda t, x: t * (2 / math.sqrt(math.pi)) * np.exp(-x * x),
    names="erf",
    doc="The error function.",
)


@primitive
@in_single
def gelu(x: Any) -> Any:
    """x Phi(x), with Phi the distribution function of the standard normal.

    Hendrycks and Gimpel (2016).
    """
    return x * _normal_cdf(x)


def _normal_cdf(x: Any) -> Any:
    return 0.5 * (1 + erf(x * math.sqrt(0.5)))


def _normal_pdf(x: Any) -> Any:
    return np.exp(-0.5 * x * x) * (1 / math.sqrt(2 * math.pi))


elementwise(gelu, lambda t, x: t * (_normal_cdf(x) + x * _normal_pdf(x)))


_GELU_TANH, _GELU_CUBE = math.sqrt(2 / math.pi), 0.044715


@primitive
@in_single
def gelu_tanh(x: Any) -> Any:
    """gelu with Phi(x) as (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2."""
    return 0.5 * x * (1 + _gelu_tanh_of(x, x * x))


def _gelu_tanh_of(x: Any, square: Any) -> Any:
    return np.tanh(x * (_GELU_TANH + _GELU_TANH * _GELU_CUBE * square))


def _gelu_tanh_parts(x: Any) -> tuple[Any, Any, Any]:
    """Of y = tanh(u): y, u', and of that what stems from the cube."""
    square = x * x
    bend = 3 * _GELU_TANH * _GELU_CUBE * square
    return _gelu_tanh_of(x, square), _GELU_TANH + bend, bend


@primitive
@in_single
def gelu_tanh_slope(x: Any) -> Any:
    """The derivative of `gelu_tanh`; of 16 bits each step of a recorded one would be rounded."""
    y, inner, _ = _gelu_tanh_parts(x)
    return 0.5 * (1 + y) * (1 + x * (1 - y) * inner)


def _gelu_tanh_bend(x: Any) -> Any:
    y, inner, bend = _gelu_tanh_parts(x)
    return (1 - y * y) * (inner + bend - x * y * inner * inner)


elementwise(gelu_tanh, lambda t, x: t * gelu_tanh_slope(x), name="Gelu")
elementwise(gelu_tanh_slope, lambda t, x: t * _gelu_tanh_bend(x), name="GeluBackward")


@primitive
@in_single
def silu(x: Any) -> Any:
    """x sigmoid(x)."""
    return x * sigmoid(x)


def _silu_slope(x: Any) -> Any:
    s = sigmoid(x)
    return s * (1 + x * (1 - s))


elementwise(silu, lambda t, x: t * _silu_slope(x))


@primitive
def leaky_relu(x: Any, slope: float) -> Any:
    """x where x > 0, else slope * x."""
    below = slope * x
    if 0 <= slope <= 1:
        return np.maximum(x, below)
    return np.where(x > 0, x, below)


@primitive
def leaky_pull(g: Any, at: Any, slope: float) -> Any:
    """`g` where at > 0, else slope * g."""
    return _bent(g, at, slope)


def _bent(x: Any, at: Any, slope: Any) -> Any:
    positive = at > 0
    return masked(x, positive) + masked(slope * x, np.logical_not(positive))


elementwise(leaky_relu, lambda t, x, slope: leaky_pull(t, x, slope))
elementwise(leaky_pull, leaky_pull, _flat, name="LeakyReluBackward")


@primitive
@implemented
def prelu(x: Any, weight: Any) -> Any:
    """x where x > 0, else weight * x: `leaky_relu` of a slope that is learned."""
    return _bent(x, x, weight)


@primitive
@implemented
def prelu_pull(g: Any, weight: Any, at: Any) -> Any:
    """`g` where at > 0, else weight * g."""
    return _bent(g, at, weight)


def _by_one_weight(weight: Any, *arrays: Any) -> bool:
    return (
        loopable(*arrays, weight)
        and weight.size == 1
        and all(x.flags.c_contiguous and x.shape == arrays[0].shape for x in arrays)
    )


@way(prelu, lambda x, weight: _by_one_weight(weight, x))
def _bent_by_loops(x: Any, weight: Any) -> Any:
    return _bent_at(x, weight, x)


@way(prelu_pull, lambda g, weight, at: _by_one_weight(weight, g, at))
def _bent_at(g: Any, weight: Any, at: Any) -> Any:
    out = np.empty(g.shape, g.dtype)
    _bend(g.reshape(-1), weight.reshape(-1), at.reshape(-1), out.reshape(-1))
    return out


@loops
def _bend(g, weight, at, out):
    for i in range(len(g)):
        bent = weight[0] * g[i]
        out[i] = g[i] if at[i] > 0 else bent


@primitive
def below_zero(g: Any, at: Any) -> Any:
    """`g` unless at > 0, else 0."""
    return masked(g, np.logical_not(at > 0))


elementwise(prelu, lambda t, x, weight: prelu_pull(t, weight, x), lambda t, x: below_zero(t * x, x))
elementwise(
    prelu_pull,
    lambda t, weight, at: prelu_pull(t, weight, at),
    lambda t, g, at: below_zero(t * g, at),
    _flat,
    name="PreluKernelBackward",
)
elementwise(below_zero, below_zero, _flat)


@primitive
@in_single
def elu(x: Any, alpha: float, scale: float, rate: float) -> Any:
    """scale * x where x > 0, else scale * alpha * (exp(rate * x) - 1): elu, selu and celu."""
    below = times(scale * alpha, np.expm1(times(rate, at_most(x, 0))))
    return times(scale, at_least(x, 0)) + below


def _elu_slope(x: Any, alpha: float, scale: float, rate: float) -> Any:
    steep = scale * alpha * rate
    slope = times(steep, np.exp(times(rate, at_most(x, 0))))
    # With alpha = 1 there is no kink, and the formula holds on both sides.
    return slope if steep == scale else np.where(x > 0, scale, slope)


elementwise(elu, lambda t, x, alpha, scale, rate: t * _elu_slope(x, alpha, scale, rate))


@primitive
@in_single
def softplus(x: Any, beta: float = 1.0, threshold: float = math.inf) -> Any:
    """log(1 + exp(beta x)) / beta, without overflow; x itself where beta x exceeds `threshold`."""
    z = times(beta, x)
    out = at_least(z, 0) + np.log1p(np.exp(-np.absolute(z)))
    out = out if beta == 1 else out / beta
    return out if threshold == math.inf else np.where(z > threshold, x, out)


def _softplus_slope(x: Any, beta: float, threshold: float) -> Any:
    z = beta * x
    slope = sigmoid(z)
    return slope if threshold == math.inf else np.where(z > threshold, 1, slope)


elementwise(softplus, lambda t, x, beta, threshold: t * _softplus_slope(x, beta, threshold))


@primitive
@in_single
def mish(x: Any) -> Any:
    """x tanh(log(1 + exp(x)))."""
    return x * np.tanh(softplus(x))


def _mish_slope(x: Any) -> Any:
    y = np.tanh(softplus(x))
    return y + x * (1 - y * y) * sigmoid(x)


elementwise(mish, lambda t, x: t * _mish_slope(x))


@primitive
@in_single
def log_sigmoid(x: Any) -> Any:
    """log(sigmoid(x)) = min(x, 0) - log(1 + exp(-|x|)), without overflow."""
    return at_most(x, 0) - np.log1p(np.exp(-np.absolute(x)))


elementwise(log_sigmoid, lambda t, x: t * sigmoid(-x))


@primitive
def hardtanh(x: Any, low: float, high: float) -> Any:
    """x, cut off below `low` and above `high`; constant at both bounds."""
    return clip(x, low, high)


@primitive
def hardtanh_pull(g: Any, at: Any, low: float, high: float) -> Any:
    """`g` strictly between the bounds, else 0."""
    return masked(g, (at > low) & (at < high))


elementwise(hardtanh, lambda t, x, low, high: hardtanh_pull(t, x, low, high))
elementwise(hardtanh_pull, hardtanh_pull, _flat, name="HardtanhBackward")


@primitive
def huber(a: Any, b: Any, bound: float) -> Any:
    """d^2 / 2 where |d| <= bound, and a line from there on, of d = a - b; it is never the
    difference of squares, of which an infinite one would make a NaN.
    """
    return _huber(a - b, bound)


@in_single
def _huber(d: Any, bound: float) -> Any:
    size = np.absolute(d)
    near = at_most(size, bound)
    return near * (size - 0.5 * near)


elementwise(
    huber,
    lambda t, a, b, bound: t * hardtanh(a - b, -bound, bound),
    lambda t, a, b, bound: -t * hardtanh(a - b, -bound, bound),
)


@primitive
def threshold(x: Any, limit: float, value: float) -> Any:
    """x where x > limit, else `value`; NaN stays NaN."""
    return np.where(x <= limit, as_array(value, x.dtype), x)


@primitive
def above_pull(g: Any, at: Any, limit: float) -> Any:
    """`g` unless at <= limit, else 0."""
    return masked(g, np.logical_not(at <= limit))


elementwise(threshold, lambda t, x, limit: above_pull(t, x, limit))
elementwise(above_pull, above_pull, _flat, name="AboveBackward")


@primitive
def shrink_pull(g: Any, at: Any, lambd: float) -> Any:
    """`g` where |at| > lambd, else 0."""
    return masked(g, np.logical_not(np.absolute(at) <= lambd))  # NaN is none of them


@primitive
def hardshrink(x: Any, lambd: float) -> Any:
    """x where |x| > lambd, else 0."""
    return shrink_pull(x, x, lambd)


@primitive
def softshrink(x: Any, lambd: float) -> Any:
    """x moved towards 0 by `lambd`, 0 where |x| <= lambd."""
    return shrink_pull(x - np.copysign(x.dtype.type(lambd), x), x, lambd)


for shrink in (hardshrink, softshrink):
    elementwise(shrink, lambda t, x, lambd: shrink_pull(t, x, lambd))
elementwise(shrink_pull, shrink_pull, _flat, name="HardshrinkBackward")


@primitive
def hardsigmoid(x: Any) -> Any:
    """min(max(x + 3, 0), 6) / 6."""
    return clip(x + 3, 0, 6) / 6


@primitive
def hardswish(x: Any) -> Any:
    """x hardsigmoid(x)."""
    return x * (clip(x + 3, 0, 6) / 6)


elementwise(hardsigmoid, lambda t, x: masked(t / 6, np.absolute(x) < 3))
elementwise(
    hardswish, lambda t, x: np.where(np.absolute(x) < 3, t * (x / 3 + 0.5), masked(t, x >= 3))
)
