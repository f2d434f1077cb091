"""Transforms of each number by itself; see `transforms.py`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.distributions import constraints
from wengert.distributions.distribution import Distribution, eps, softplus, summed, tiny
from wengert.distributions.formulas import attribute, function, slope
from wengert.distributions.transform import Transform
from wengert.functions.creation import zeros_like
from wengert.functions.elementary import sigmoid
from wengert.tensor import Tensor


class ExpTransform(Transform):
    """y = exp(x).

    >>> import wengert as wg
    >>> ExpTransform().inv(wg.tensor(1.0))
    tensor(0.)
    """

    bijective = True
    codomain = constraints.positive
    sign = 1

    _call = function(lambda x: x.exp())
    _inverse = function(lambda y: y.log())
    log_abs_det_jacobian = slope(lambda x, y: x)


class PowerTransform(Transform):
    """y = x^exponent for x > 0; the exponent is a number or a tensor, and not 0.

    >>> import wengert as wg
    >>> PowerTransform(2)(wg.tensor(3.0))
    tensor(9.)
    """

    bijective = True
    domain = codomain = constraints.positive

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.exponent = exponent

    sign = attribute(lambda exponent: _sign(exponent))
    _call = function(lambda x, exponent: x**exponent)
    _inverse = function(lambda y, exponent: y ** (1 / exponent))
    log_abs_det_jacobian = slope(lambda x, y, exponent: (exponent * y / x).abs().log())

    def forward_shape(self, shape: Any) -> tuple[int, ...]:
        return _broadcast(shape, self.exponent)

    inverse_shape = forward_shape


def _sign(x: Any) -> Any:
    return x.sign() if isinstance(x, Tensor) else math.copysign(1, x)


def _broadcast(shape: Any, *others: Any) -> tuple[int, ...]:
    return np.broadcast_shapes(tuple(shape), *(tuple(getattr(x, "shape", ())) for x in others))


class SigmoidTransform(Transform):
    """y = 1 / (1 + exp(-x)); the inverse of 0 and of 1 is finite."""

    bijective = True
    codomain = constraints.unit_interval
    sign = 1

    _call = function(lambda x: sigmoid(x))

    @function
    def _inverse(y: Any) -> Tensor:
        y = y.clamp(min=tiny(y), max=1 - eps(y) / 2)
        return y.log() - (-y).log1p()

    log_abs_det_jacobian = slope(lambda x, y: -softplus(x) - softplus(-x))


class SoftplusTransform(Transform):
    """y = log(1 + exp(x))."""

    bijective = True
    codomain = constraints.positive
    sign = 1

    _call = function(lambda x: softplus(x))
    _inverse = function(lambda y: (-(-y).expm1()).log() + y)
    log_abs_det_jacobian = slope(lambda x, y: -softplus(-x))


class TanhTransform(Transform):
    """y = tanh(x). With `cache_size=1` the inverse of a result that rounds to 1 is finite."""

    bijective = True
    codomain = constraints.interval(-1.0, 1.0)
    sign = 1

    _call = function(lambda x: x.tanh())
    _inverse = function(lambda y: y.atanh())
    log_abs_det_jacobian = slope(lambda x, y: log_slope_of_tanh(x))


def log_slope_of_tanh(x: Tensor) -> Tensor:
    """log(1 - tanh^2 x), without the cancellation: 2 (log 2 - x - log(1 + e^(-2 x)))."""
    return 2 * (math.log(2) - x - softplus(-2 * x))


class AbsTransform(Transform):
    """y = |x|, which is not invertible: `inv` gives the positive one of the two arguments."""

    codomain = constraints.positive

    _call = function(lambda x: x.abs())
    _inverse = function(lambda y: y)


class AffineTransform(Transform):
    """y = loc + scale x, of numbers or tensors; `event_dim` dimensions make one event.

    >>> import wengert as wg
    >>> AffineTransform(1.0, 2.0)(wg.tensor([0.0, 1.0]))
    tensor([1., 3.])
    """

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale = loc, scale
        self.domain = self.codomain = constraints.independently(constraints.real, event_dim)

    sign = attribute(lambda scale: _sign(scale))
    _call = function(lambda x, loc, scale: loc + scale * x)
    _inverse = function(lambda y, loc, scale: (y - loc) / scale)

    @slope
    def log_abs_det_jacobian(x: Any, y: Any, scale: Any, event_dim: Any) -> Tensor:
        log = scale.abs().log() if isinstance(scale, Tensor) else math.log(abs(scale))
        return summed(zeros_like(x) + log, event_dim)

    def forward_shape(self, shape: Any) -> tuple[int, ...]:
        return _broadcast(shape, self.loc, self.scale)

    inverse_shape = forward_shape


class CumulativeDistributionTransform(Transform):
    """y = P(x), the distribution function: uniform, if x has that distribution.

    Its inverse turns uniform numbers into those of the distribution, and a chain of one and
    another's inverse is a copula's marginal.

    >>> import wengert as wg
    >>> from wengert.distributions import Exponential
    >>> CumulativeDistributionTransform(Exponential(1.0)).inv(wg.tensor(0.5))
    tensor(0.6931)
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = 1

    def __init__(self, distribution: Distribution, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.distribution = distribution

    domain = attribute(lambda distribution: distribution.support)
    _call = function(lambda x, distribution: distribution.cdf(x))
    _inverse = function(lambda y, distribution: distribution.icdf(y))
    log_abs_det_jacobian = slope(lambda x, y, distribution: distribution.log_prob(x))
