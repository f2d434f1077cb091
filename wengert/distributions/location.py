"""Continuous distributions on the line or a part of it, told by where they lie and how wide."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from wengert.distributions import constraints
from wengert.distributions.distribution import EULER, HALF_LOG_2PI, Distribution, eps, normals, tiny
from wengert.distributions.elementwise_transforms import AbsTransform, AffineTransform, ExpTransform
from wengert.distributions.exp_family import ExponentialFamily
from wengert.distributions.family import (
    Dependent,
    Positive,
    Quantiles,
    Real,
    Survival,
    Transformed,
    expectation,
    family,
    made_of,
    natural,
    normalizer,
    pathwise,
    pointwise,
    quantile,
    quantity,
    region,
)
from wengert.distributions.formulas import OfTensor, function
from wengert.distributions.transform import Transform
from wengert.functions.creation import full_like, ones_like, zeros_like
from wengert.functions.elementary import lgamma
from wengert.functions.special import ndtr, ndtri, xlogy
from wengert.tensor import Tensor


@family(Q="_standard_quantile")
class LocationScale(Quantiles):
    """loc + scale z, where z has a fixed distribution.

    Subclasses state that of z: formulas at a value are in z = (x - loc) / scale.
    """

    loc: Real
    scale: Positive
    support = constraints.real
    _standard_quantile: ClassVar[OfTensor]

    def _value(self, value: Any) -> Tensor:
        return (super()._value(value) - self.loc) / self.scale

    _quantile = function(lambda u, loc, scale, Q: loc + scale * Q(u))


@family()
class Normal(LocationScale, ExponentialFamily):
    """The normal distribution of mean `loc` and standard deviation `scale`.

    p(x) = exp(-z^2 / 2) / (scale sqrt(2 pi)),  z = (x - loc) / scale.

    >>> import wengert as wg
    >>> Normal(0.0, 1.0).log_prob(wg.tensor(0.0))
    tensor(-0.9189)
    """

    mean = mode = quantity(lambda loc: loc)
    stddev = quantity(lambda scale: scale)
    variance = quantity(lambda scale: scale**2)
    entropy = expectation(lambda scale: 0.5 + HALF_LOG_2PI + scale.log())
    _log_mean_exp = function(lambda t, loc, scale: -t * loc + 0.5 * (t * scale) ** 2)
    log_prob = pointwise(lambda z, scale: -0.5 * z * z - scale.log() - HALF_LOG_2PI)
    cdf = pointwise(lambda z: ndtr(z))
    _standard_quantile = function(lambda u: ndtri(u))
    rsample = pathwise(lambda shape, loc, scale: loc + scale * normals(shape, loc))
    _natural_params = natural(lambda loc, scale: (loc / scale**2, -0.5 / scale**2))
    _log_normalizer = normalizer(lambda x, y: -0.25 * x**2 / y + 0.5 * (-math.pi / y).log())
    _mean_carrier_measure = 0.0


@family()
class LogNormal(Transformed):
    """exp(y) for a normal y of mean `loc` and standard deviation `scale`.

    p(x) = exp(-z^2 / 2) / (x scale sqrt(2 pi)),  z = (log x - loc) / scale, for x > 0.

    >>> LogNormal(0.0, 1.0).mean  # exp(1 / 2)
    tensor(1.6487)
    """

    loc: Real
    scale: Positive
    support = constraints.positive

    mean = quantity(lambda loc, scale: (loc + scale**2 / 2).exp())
    mode = quantity(lambda loc, scale: (loc - scale**2).exp())
    variance = quantity(lambda loc, scale: (scale**2).expm1() * (2 * loc + scale**2).exp())
    entropy = expectation(lambda loc, scale: 0.5 + HALF_LOG_2PI + scale.log() + loc)

    @pointwise
    def log_prob(x: Any, loc: Any, scale: Any) -> Tensor:
        log = x.log()
        z = (log - loc) / scale
        return -0.5 * z * z - scale.log() - HALF_LOG_2PI - log

    rsample = pathwise(lambda shape, loc, scale: (loc + scale * normals(shape, loc)).exp())
    _made_of = made_of(lambda loc, scale: (Normal(loc, scale), [ExpTransform()]))


@family()
class HalfNormal(Transformed):
    """|x| for a normal x of mean 0 and standard deviation `scale`.

    p(x) = 2 exp(-x^2 / (2 scale^2)) / (scale sqrt(2 pi)), x >= 0.

    >>> HalfNormal(1.0).icdf(0.5)
    tensor(0.6745)
    """

    scale: Positive
    support = constraints.nonnegative

    mean = quantity(lambda scale: scale * math.sqrt(2 / math.pi))
    mode = quantity(lambda scale: zeros_like(scale))
    variance = quantity(lambda scale: scale**2 * (1 - 2 / math.pi))
    entropy = expectation(lambda scale: 0.5 + HALF_LOG_2PI - math.log(2) + scale.log())

    def log_prob(self, value: Any) -> Tensor:
        value = self._value(value)
        inside = math.log(2) - HALF_LOG_2PI - self.scale.log() - 0.5 * (value / self.scale) ** 2
        return inside.masked_fill(value < 0, -math.inf)

    cdf = pointwise(lambda x, scale: 2 * ndtr(x / scale) - 1)
    icdf = quantile(lambda p, scale: scale * ndtri((p + 1) / 2))
    _made_of = made_of(lambda scale: (Normal(zeros_like(scale), scale), [AbsTransform()]))


@family()
class Uniform(Quantiles):
    """Uniform on [low, high).

    p(x) = 1 / (high - low). ValueError unless low < high.

    >>> Uniform(1.0, 3.0).log_prob(2.0).exp()
    tensor(0.5000)
    """

    low: Dependent
    high: Dependent

    _related: ClassVar[Any] = {"high": lambda self: constraints.greater_than(self.low.detach())}
    support = region(lambda low, high: constraints.interval(low, high))

    mean = quantity(lambda low, high: (low + high) / 2)
    mode = quantity(lambda low: full_like(low, math.nan))  # every point is as likely
    variance = quantity(lambda low, high: (high - low) ** 2 / 12)
    entropy = expectation(lambda low, high: (high - low).log())
    _mean_log = expectation(
        lambda low, high: (xlogy(high, high) - xlogy(low, low)) / (high - low) - 1
    )
    _log_mean_exp = function(
        lambda t, low, high: -t * low + (-(t * (low - high)).expm1() / (t * (high - low))).log()
    )

    def log_prob(self, value: Any) -> Tensor:
        value = self._value(value)
        outside = (value < self.low) | (value >= self.high)
        return (-(self.high - self.low).log() + 0 * value).masked_fill(outside, -math.inf)

    cdf = pointwise(lambda x, low, high: ((x - low) / (high - low)).clamp(min=0, max=1))
    _quantile = function(lambda u, low, high: low + u * (high - low))


@family()
class Exponential(Survival, ExponentialFamily):
    """p(x) = rate exp(-rate x), x >= 0.

    >>> import wengert as wg
    >>> Exponential(wg.tensor([0.5, 2.0])).mean
    tensor([2.0000, 0.5000])
    """

    rate: Positive
    support = constraints.nonnegative

    mean = stddev = quantity(lambda rate: 1 / rate)
    mode = quantity(lambda rate: zeros_like(rate))
    variance = quantity(lambda rate: rate**-2)
    entropy = expectation(lambda rate: 1 - rate.log())
    _mean_log = expectation(lambda rate: -EULER - rate.log())
    _log_mean_exp = function(lambda t, rate: -(t / rate).log1p())
    log_prob = pointwise(lambda x, rate: rate.log() - rate * x)
    _hazard = function(lambda x, rate: rate * x)
    _at_hazard = function(lambda h, rate: h / rate)
    _natural_params = natural(lambda rate: (-rate,))
    _log_normalizer = normalizer(lambda x: -(-x).log())
    _mean_carrier_measure = 0.0


@family()
class Laplace(LocationScale):
    """p(x) = exp(-|z|) / (2 scale),  z = (x - loc) / scale.

    >>> Laplace(0.0, 1.0).cdf(0.0)
    tensor(0.5000)
    """

    mean = mode = quantity(lambda loc: loc)
    variance = quantity(lambda scale: 2 * scale**2)
    entropy = expectation(lambda scale: 1 + (2 * scale).log())
    log_prob = pointwise(lambda z, scale: -z.abs() - (2 * scale).log())
    cdf = pointwise(lambda z: 0.5 - 0.5 * z.sign() * (-z.abs()).expm1())
    _standard_quantile = function(lambda u: (0.5 - u).sign() * (-(2 * u - 1).abs()).log1p())


@family()
class Cauchy(LocationScale):
    """p(x) = 1 / (pi scale (1 + z^2)),  z = (x - loc) / scale. It has no mean and no variance.

    >>> Cauchy(0.0, 1.0).cdf(1.0)
    tensor(0.7500)
    """

    mean = quantity(lambda loc: full_like(loc, math.nan))
    mode = quantity(lambda loc: loc)
    variance = quantity(lambda loc: full_like(loc, math.inf))
    entropy = expectation(lambda scale: math.log(4 * math.pi) + scale.log())
    log_prob = pointwise(lambda z, scale: -math.log(math.pi) - scale.log() - (z**2).log1p())
    cdf = pointwise(lambda z: z.atan() / math.pi + 0.5)
    _standard_quantile = function(lambda u: (math.pi * (u - 0.5)).tan())


@family()
class Gumbel(LocationScale, Transformed):
    """The largest of many: P(x) = exp(-exp(-z)),  z = (x - loc) / scale.

    >>> Gumbel(1.0, 2.0).mode
    tensor(1.)
    """

    mean = quantity(lambda loc, scale: loc + EULER * scale)
    mode = quantity(lambda loc: loc)
    variance = quantity(lambda scale: math.pi**2 / 6 * scale**2)
    entropy = expectation(lambda scale: scale.log() + 1 + EULER)
    _log_mean_exp = function(lambda t, loc, scale: -t * loc + lgamma(1 + t * scale))
    log_prob = pointwise(lambda z, scale: -z - (-z).exp() - scale.log())
    cdf = pointwise(lambda z: (-(-z).exp()).exp())
    _standard_quantile = function(lambda u: -(-u.log()).log())

    @made_of
    def _made_of(loc: Any, scale: Any) -> tuple[Distribution, list[Transform]]:
        log, minus = ExpTransform().inv, AffineTransform(0.0, -ones_like(scale))
        inside = Uniform(full_like(loc, tiny(loc)), 1 - eps(loc))
        return inside, [log, minus, log, AffineTransform(loc, -scale)]
