"""Continuous distributions on the line or a part of it, sampled by their quantiles."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from wengert.distributions import constraints
from wengert.distributions.constraints import Constraint
from wengert.distributions.distribution import (
    EULER,
    HALF_LOG_2PI,
    Distribution,
    broadcast_all,
    normals,
    uniforms,
)
from wengert.functions.creation import full_like, zeros_like
from wengert.functions.special import ndtr, ndtri
from wengert.tensor import Tensor


class LocationScale(Distribution):
    """loc + scale z, where z has a fixed distribution. Subclasses state that of z."""

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support: Any = constraints.real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def _z(self, value: Any) -> Tensor:
        return (self._value(value) - self.loc) / self.scale

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        u = uniforms(self._extended_shape(sample_shape), self.loc)
        return self._quantile(u)

    def _quantile(self, u: Tensor) -> Tensor:
        raise self._lacks("icdf")

    def icdf(self, value: Any) -> Tensor:
        return self._quantile(self._probability(value))


class Normal(LocationScale):
    """The normal distribution of mean `loc` and standard deviation `scale`.

    p(x) = exp(-z^2 / 2) / (scale sqrt(2 pi)),  z = (x - loc) / scale.

    >>> import wengert as wg
    >>> Normal(0.0, 1.0).log_prob(wg.tensor(0.0))
    tensor(-0.9189)
    """

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        return self.scale**2

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.loc + self.scale * normals(self._extended_shape(sample_shape), self.loc)

    def log_prob(self, value: Any) -> Tensor:
        z = self._z(value)
        return -0.5 * z * z - self.scale.log() - HALF_LOG_2PI

    def cdf(self, value: Any) -> Tensor:
        return ndtr(self._z(value))

    def _quantile(self, u: Tensor) -> Tensor:
        return self.loc + self.scale * ndtri(u)

    def entropy(self) -> Tensor:
        return 0.5 + HALF_LOG_2PI + self.scale.log()


class LogNormal(LocationScale):
    """exp(y) for a normal y of mean `loc` and standard deviation `scale`.

    p(x) = exp(-z^2 / 2) / (x scale sqrt(2 pi)),  z = (log x - loc) / scale, for x > 0.

    >>> LogNormal(0.0, 1.0).mean  # exp(1 / 2)
    tensor(1.6487)
    """

    support = constraints.positive

    @property
    def mean(self) -> Tensor:
        return (self.loc + self.scale**2 / 2).exp()

    @property
    def mode(self) -> Tensor:
        return (self.loc - self.scale**2).exp()

    @property
    def variance(self) -> Tensor:
        return (self.scale**2).expm1() * (2 * self.loc + self.scale**2).exp()

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        z = normals(self._extended_shape(sample_shape), self.loc)
        return (self.loc + self.scale * z).exp()

    def log_prob(self, value: Any) -> Tensor:
        log = self._value(value).log()
        z = (log - self.loc) / self.scale
        return -0.5 * z * z - self.scale.log() - HALF_LOG_2PI - log

    def cdf(self, value: Any) -> Tensor:
        return ndtr((self._value(value).log() - self.loc) / self.scale)

    def _quantile(self, u: Tensor) -> Tensor:
        return (self.loc + self.scale * ndtri(u)).exp()

    def entropy(self) -> Tensor:
        return 0.5 + HALF_LOG_2PI + self.scale.log() + self.loc


class HalfNormal(Distribution):
    """|x| for a normal x of mean 0 and standard deviation `scale`.

    p(x) = 2 exp(-x^2 / (2 scale^2)) / (scale sqrt(2 pi)), x >= 0.

    >>> HalfNormal(1.0).icdf(0.5)
    tensor(0.6745)
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        (self.scale,) = broadcast_all(scale)
        super().__init__(self.scale.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def mode(self) -> Tensor:
        return zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        return self.scale**2 * (1 - 2 / math.pi)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.scale * normals(self._extended_shape(sample_shape), self.scale).abs()

    def log_prob(self, value: Any) -> Tensor:
        value = self._value(value)
        inside = math.log(2) - HALF_LOG_2PI - self.scale.log() - 0.5 * (value / self.scale) ** 2
        return inside.masked_fill(value < 0, -math.inf)

    def cdf(self, value: Any) -> Tensor:
        return 2 * ndtr(self._value(value) / self.scale) - 1

    def icdf(self, value: Any) -> Tensor:
        return self.scale * ndtri((self._probability(value) + 1) / 2)

    def entropy(self) -> Tensor:
        return 0.5 + HALF_LOG_2PI - math.log(2) + self.scale.log()


class Uniform(Distribution):
    """Uniform on [low, high).

    p(x) = 1 / (high - low). ValueError unless low < high.

    >>> Uniform(1.0, 3.0).log_prob(2.0).exp()
    tensor(0.5000)
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "low": constraints.dependent,
        "high": constraints.dependent,
    }
    has_rsample = True

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)
        if self._validate_args:
            self._check(constraints.greater_than(self.low.detach()), self.high, "parameter high")

    @constraints.dependent_property
    def support(self) -> Constraint:
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Tensor:
        return (self.low + self.high) / 2

    @property
    def mode(self) -> Tensor:
        return full_like(self.low, math.nan)  # every point is as likely

    @property
    def variance(self) -> Tensor:
        return (self.high - self.low) ** 2 / 12

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        u = uniforms(self._extended_shape(sample_shape), self.low)
        return self.low + u * (self.high - self.low)

    def log_prob(self, value: Any) -> Tensor:
        value = self._value(value)
        outside = (value < self.low) | (value >= self.high)
        return (-(self.high - self.low).log() + 0 * value).masked_fill(outside, -math.inf)

    def cdf(self, value: Any) -> Tensor:
        value = self._value(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Any) -> Tensor:
        return self.low + self._probability(value) * (self.high - self.low)

    def entropy(self) -> Tensor:
        return (self.high - self.low).log()


class Exponential(Distribution):
    """p(x) = rate exp(-rate x), x >= 0.

    >>> import wengert as wg
    >>> Exponential(wg.tensor([0.5, 2.0])).mean
    tensor([2.0000, 0.5000])
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return 1 / self.rate

    @property
    def mode(self) -> Tensor:
        return zeros_like(self.rate)

    @property
    def variance(self) -> Tensor:
        return self.rate**-2

    @property
    def stddev(self) -> Tensor:
        return 1 / self.rate

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        u = uniforms(self._extended_shape(sample_shape), self.rate)
        return -u.log() / self.rate

    def log_prob(self, value: Any) -> Tensor:
        return self.rate.log() - self.rate * self._value(value)

    def cdf(self, value: Any) -> Tensor:
        return -(-self.rate * self._value(value)).expm1()

    def icdf(self, value: Any) -> Tensor:
        return -(-self._probability(value)).log1p() / self.rate

    def entropy(self) -> Tensor:
        return 1 - self.rate.log()


class Laplace(LocationScale):
    """p(x) = exp(-|z|) / (2 scale),  z = (x - loc) / scale.

    >>> Laplace(0.0, 1.0).cdf(0.0)
    tensor(0.5000)
    """

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale**2

    def log_prob(self, value: Any) -> Tensor:
        return -self._z(value).abs() - (2 * self.scale).log()

    def cdf(self, value: Any) -> Tensor:
        z = self._z(value)
        return 0.5 - 0.5 * z.sign() * (-z.abs()).expm1()

    def _quantile(self, u: Tensor) -> Tensor:
        centred = u - 0.5
        return self.loc - self.scale * centred.sign() * (-2 * centred.abs()).log1p()

    def entropy(self) -> Tensor:
        return 1 + (2 * self.scale).log()


class Cauchy(LocationScale):
    """p(x) = 1 / (pi scale (1 + z^2)),  z = (x - loc) / scale. It has no mean and no variance.

    >>> Cauchy(0.0, 1.0).cdf(1.0)
    tensor(0.7500)
    """

    @property
    def mean(self) -> Tensor:
        return full_like(self.loc, math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return full_like(self.loc, math.inf)

    def log_prob(self, value: Any) -> Tensor:
        return -math.log(math.pi) - self.scale.log() - (self._z(value) ** 2).log1p()

    def cdf(self, value: Any) -> Tensor:
        return self._z(value).atan() / math.pi + 0.5

    def _quantile(self, u: Tensor) -> Tensor:
        return self.loc + self.scale * (math.pi * (u - 0.5)).tan()

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + self.scale.log()


class Gumbel(LocationScale):
    """The largest of many: P(x) = exp(-exp(-z)),  z = (x - loc) / scale.

    >>> Gumbel(1.0, 2.0).mode
    tensor(1.)
    """

    @property
    def mean(self) -> Tensor:
        return self.loc + EULER * self.scale

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return math.pi**2 / 6 * self.scale**2

    def log_prob(self, value: Any) -> Tensor:
        z = self._z(value)
        return -z - (-z).exp() - self.scale.log()

    def cdf(self, value: Any) -> Tensor:
        return (-(-self._z(value)).exp()).exp()

    def _quantile(self, u: Tensor) -> Tensor:
        return self.loc - self.scale * (-u.log()).log()

    def entropy(self) -> Tensor:
        return self.scale.log() + 1 + EULER
