"""Distributions of sizes and lifetimes, whose distribution functions have closed inverses."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from wengert.distributions import constraints
from wengert.distributions.constraints import Constraint
from wengert.distributions.distribution import (
    EULER,
    Distribution,
    broadcast_all,
    finite,
    uniforms,
)
from wengert.functions.choosing import where
from wengert.functions.creation import full_like, zeros_like
from wengert.functions.special import digamma, lgamma
from wengert.tensor import Tensor


class Quantiles(Distribution):
    """Distributions that are sampled by their quantiles; subclasses state those."""

    has_rsample = True

    def _quantile(self, u: Tensor) -> Tensor:
        """Where the distribution function is 1 - u: the tail is where the precision is needed."""
        raise self._lacks("icdf")

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        like = vars(self)[next(iter(self.arg_constraints))]
        return self._quantile(uniforms(self._extended_shape(sample_shape), like))

    def icdf(self, value: Any) -> Tensor:
        return self._quantile(1 - self._probability(value))


class HalfCauchy(Quantiles):
    """|x| for a Cauchy x at 0: p(x) = 2 / (pi scale (1 + (x / scale)^2)), x >= 0.

    It has no mean and no variance.

    >>> import wengert as wg
    >>> HalfCauchy(2.0).cdf(2.0)
    tensor(0.5000)
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {"scale": constraints.positive}
    support = constraints.nonnegative

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        (self.scale,) = broadcast_all(scale)
        super().__init__(self.scale.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return full_like(self.scale, math.inf)

    @property
    def mode(self) -> Tensor:
        return zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        return full_like(self.scale, math.inf)

    def log_prob(self, value: Any) -> Tensor:
        value = self._value(value)
        inside = math.log(2 / math.pi) - self.scale.log() - ((value / self.scale) ** 2).log1p()
        return inside.masked_fill(value < 0, -math.inf)

    def cdf(self, value: Any) -> Tensor:
        return (self._value(value) / self.scale).atan() * (2 / math.pi)

    def _quantile(self, u: Tensor) -> Tensor:
        return self.scale / (u * (math.pi / 2)).tan()

    def entropy(self) -> Tensor:
        return math.log(2 * math.pi) + self.scale.log()


class Pareto(Quantiles):
    """p(x) = alpha scale^alpha / x^(alpha + 1), x >= scale: incomes, sizes of cities.

    >>> import wengert as wg
    >>> Pareto(wg.tensor(1.0), wg.tensor([0.5, 3.0])).mean
    tensor([   inf, 1.5000])
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "alpha": constraints.positive,
        "scale": constraints.positive,
    }

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        super().__init__(self.scale.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Constraint:
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Tensor:
        a = self.alpha
        return finite(a * self.scale, a - 1)

    @property
    def mode(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        a = self.alpha
        return finite(self.scale**2 * a, a - 2) / (a - 1).masked_fill(a <= 2, 1.0) ** 2

    def log_prob(self, value: Any) -> Tensor:
        x = self._value(value)
        return self.alpha.log() + self.alpha * (self.scale / x).log() - x.log()

    def cdf(self, value: Any) -> Tensor:
        return -(self.alpha * (self.scale / self._value(value)).log()).expm1()

    def _quantile(self, u: Tensor) -> Tensor:
        return self.scale * (-u.log() / self.alpha).exp()

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + 1 + 1 / self.alpha


class GeneralizedPareto(Quantiles):
    """What exceeds a high threshold: P(x) = 1 - (1 + c z)^(-1/c),  z = (x - loc) / scale >= 0.

    c is the `concentration`: 0 is an exponential tail, P(x) = 1 - exp(-z); a positive one a heavy
    tail, c = 1 / alpha; with a negative one x ends at loc - scale / c (Pickands, 1975).

    >>> import wengert as wg
    >>> GeneralizedPareto(0.0, 1.0, wg.tensor([0.0, 0.5])).icdf(0.75)
    tensor([1.3863, 2.0000])
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }

    def __init__(
        self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None
    ) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Constraint:
        c = self.concentration
        end = self.loc - self.scale / c.masked_fill(c >= 0, -1.0)
        return constraints.interval(self.loc, end.masked_fill(c >= 0, math.inf))

    @property
    def _nonzero(self) -> tuple[Tensor, Tensor]:
        """Where the concentration is not 0, and a concentration that is 1 elsewhere."""
        zero = self.concentration == 0
        return ~zero, self.concentration.masked_fill(zero, 1.0)

    @property
    def mean(self) -> Tensor:
        return self.loc + finite(self.scale, 1 - self.concentration)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        less = 1 - self.concentration
        return finite(self.scale**2, 2 * less - 1) / less.masked_fill(less <= 0.5, 1.0) ** 2

    def _minus_log_survival(self, x: Tensor) -> Tensor:
        """-log(1 - P(x)): log(1 + c z) / c."""
        z = (x - self.loc) / self.scale
        curved, c = self._nonzero
        return where(curved, (c * z).log1p() / c, z)

    def log_prob(self, value: Any) -> Tensor:
        exponent = (1 + self.concentration) * self._minus_log_survival(self._value(value))
        return -exponent - self.scale.log()

    def cdf(self, value: Any) -> Tensor:
        return -(-self._minus_log_survival(self._value(value))).expm1()

    def _quantile(self, u: Tensor) -> Tensor:
        curved, c = self._nonzero
        return self.loc + self.scale * where(curved, (-c * u.log()).expm1() / c, -u.log())

    def entropy(self) -> Tensor:
        return self.scale.log() + self.concentration + 1


class Weibull(Quantiles):
    """P(x) = 1 - exp(-(x / scale)^k), x > 0, with k = `concentration`: lifetimes.

    >>> Weibull(2.0, 1.0).mean  # exponential
    tensor(2.)
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "scale": constraints.positive,
        "concentration": constraints.positive,
    }
    support = constraints.positive

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        super().__init__(self.scale.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.scale * lgamma(1 + 1 / self.concentration).exp()

    @property
    def mode(self) -> Tensor:
        k = self.concentration
        return self.scale * ((k - 1) / k).clamp(min=0) ** (1 / k)

    @property
    def variance(self) -> Tensor:
        inverse = 1 / self.concentration
        squares = lgamma(1 + 2 * inverse).exp() - (2 * lgamma(1 + inverse)).exp()
        return self.scale**2 * squares

    def log_prob(self, value: Any) -> Tensor:
        k, log = self.concentration, (self._value(value) / self.scale).log()
        return k.log() - self.scale.log() + (k - 1) * log - (k * log).exp()

    def cdf(self, value: Any) -> Tensor:
        return -(-((self._value(value) / self.scale) ** self.concentration)).expm1()

    def _quantile(self, u: Tensor) -> Tensor:
        return self.scale * (-u.log()) ** (1 / self.concentration)

    def entropy(self) -> Tensor:
        k = self.concentration
        return EULER * (1 - 1 / k) + (self.scale / k).log() + 1


class Kumaraswamy(Quantiles):
    """P(x) = 1 - (1 - x^a)^b on (0, 1), a = `concentration1`, b = `concentration0`.

    Much like the beta distribution, with quantiles in closed form (Kumaraswamy, 1980).

    >>> Kumaraswamy(1.0, 1.0).mean  # uniform
    tensor(0.5000)
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval

    def __init__(
        self, concentration1: Any, concentration0: Any, validate_args: bool | None = None
    ) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        super().__init__(self.concentration1.shape, validate_args=validate_args)

    def _moment(self, n: int) -> Tensor:
        """E[x^n] = b B(1 + n / a, b)."""
        b, order = self.concentration0, 1 + n / self.concentration1
        return (b.log() + lgamma(order) + lgamma(b) - lgamma(order + b)).exp()

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        """Where the density is largest; NaN where it grows without bound, or is constant."""
        a, b = self.concentration1, self.concentration0
        inside = (a >= 1) & (b >= 1) & (a * b > 1)
        share = ((a - 1) / (a * b - 1).masked_fill(~inside, 1.0)).clamp(min=0)
        return (share ** (1 / a)).masked_fill(~inside, math.nan)

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - self._moment(1) ** 2

    def log_prob(self, value: Any) -> Tensor:
        a, b, log = self.concentration1, self.concentration0, self._value(value).log()
        return a.log() + b.log() + (a - 1) * log + (b - 1) * (-(a * log).expm1()).log()

    def cdf(self, value: Any) -> Tensor:
        x = self._value(value)
        return -(self.concentration0 * (-(x**self.concentration1)).log1p()).expm1()

    def _quantile(self, u: Tensor) -> Tensor:
        return (-(u.log() / self.concentration0).expm1()) ** (1 / self.concentration1)

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = digamma(b + 1) + EULER
        return (1 - 1 / b) + (1 - 1 / a) * harmonic - a.log() - b.log()
