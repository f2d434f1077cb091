"""Distributions of sizes and lifetimes, whose distribution functions have closed inverses."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from wengert.distributions import constraints
from wengert.distributions.constraints import Constraint
from wengert.distributions.distribution import EULER, Distribution, broadcast_all, finite, uniforms
from wengert.distributions.elementwise_transforms import (
    AbsTransform,
    AffineTransform,
    ExpTransform,
    PowerTransform,
)
from wengert.distributions.family import (
    Positive,
    Real,
    Survival,
    Transformed,
    expectation,
    family,
    made_of,
    pathwise,
    pointwise,
    quantile,
    quantity,
    region,
)
from wengert.distributions.formulas import function
from wengert.distributions.location import Cauchy, Exponential, Uniform
from wengert.distributions.transform import Transform
from wengert.functions.choosing import where
from wengert.functions.creation import full_like, ones_like, zeros_like
from wengert.functions.elementary import digamma, lgamma
from wengert.tensor import Tensor


@family()
class HalfCauchy(Transformed):
    """|x| for a Cauchy x at 0: p(x) = 2 / (pi scale (1 + (x / scale)^2)), x >= 0.

    It has no mean and no variance.

    >>> import wengert as wg
    >>> HalfCauchy(2.0).cdf(2.0)
    tensor(0.5000)
    """

    scale: Positive
    support = constraints.nonnegative

    mean = variance = quantity(lambda scale: full_like(scale, math.inf))
    mode = quantity(lambda scale: zeros_like(scale))
    entropy = expectation(lambda scale: math.log(2 * math.pi) + scale.log())

    def log_prob(self, value: Any) -> Tensor:
        value = self._value(value)
        inside = math.log(2 / math.pi) - self.scale.log() - ((value / self.scale) ** 2).log1p()
        return inside.masked_fill(value < 0, -math.inf)

    cdf = pointwise(lambda x, scale: (x / scale).atan() * (2 / math.pi))
    # By 1 - p: the tail is where the precision is needed.
    icdf = quantile(lambda p, scale: scale / ((1 - p) * (math.pi / 2)).tan())
    rsample = pathwise(lambda shape, scale: scale / (uniforms(shape, scale) * (math.pi / 2)).tan())
    _made_of = made_of(lambda scale: (Cauchy(zeros_like(scale), scale), [AbsTransform()]))


@family(a="alpha")
class Pareto(Survival, Transformed):
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
        Distribution.__init__(self, self.scale.shape, validate_args=validate_args)

    support = region(lambda scale: constraints.greater_than_eq(scale))

    mean = quantity(lambda scale, a: finite(a * scale, a - 1))
    mode = quantity(lambda scale: scale)
    variance = quantity(
        lambda scale, a: finite(scale**2 * a, a - 2) / (a - 1).masked_fill(a <= 2, 1.0) ** 2
    )
    entropy = expectation(lambda scale, a: (scale / a).log() + 1 + 1 / a)
    _mean_log = expectation(lambda scale, a: scale.log() + 1 / a)
    log_prob = pointwise(lambda x, scale, a: a.log() + a * (scale / x).log() - x.log())
    _hazard = function(lambda x, scale, a: a * (x / scale).log())
    _at_hazard = function(lambda h, scale, a: scale * (h / a).exp())
    _made_of = made_of(
        lambda scale, a: (Exponential(a), [ExpTransform(), AffineTransform(0, scale)])
    )


@family(c="concentration")
class GeneralizedPareto(Survival):
    """What exceeds a high threshold: P(x) = 1 - (1 + c z)^(-1/c),  z = (x - loc) / scale >= 0.

    c is the `concentration`: 0 is an exponential tail, P(x) = 1 - exp(-z); a positive one a heavy
    tail, c = 1 / alpha; with a negative one x ends at loc - scale / c (Pickands, 1975).

    >>> import wengert as wg
    >>> GeneralizedPareto(0.0, 1.0, wg.tensor([0.0, 0.5])).icdf(0.75)
    tensor([1.3863, 2.0000])
    """

    loc: Real
    scale: Positive
    concentration: Real

    @region
    def support(loc: Any, scale: Any, c: Any) -> Constraint:
        end = loc - scale / c.masked_fill(c >= 0, -1.0)
        return constraints.interval(loc, end.masked_fill(c >= 0, math.inf))

    mean = quantity(lambda loc, scale, c: loc + finite(scale, 1 - c))
    mode = quantity(lambda loc: loc)

    @quantity
    def variance(c: Any, scale: Any) -> Tensor:
        less = 1 - c
        return finite(scale**2, 2 * less - 1) / less.masked_fill(less <= 0.5, 1.0) ** 2

    entropy = expectation(lambda scale, c: scale.log() + c + 1)

    @property
    def _nonzero(self) -> tuple[Tensor, Tensor]:
        """Where the concentration is not 0, and a concentration that is 1 elsewhere."""
        zero = self.concentration == 0
        return ~zero, self.concentration.masked_fill(zero, 1.0)

    def _hazard(self, x: Tensor, /) -> Tensor:
        z = (x - self.loc) / self.scale
        curved, c = self._nonzero
        return where(curved, (c * z).log1p() / c, z)

    def _at_hazard(self, h: Tensor, /) -> Tensor:
        curved, c = self._nonzero
        return self.loc + self.scale * where(curved, (c * h).expm1() / c, h)

    @pointwise
    def log_prob(x: Any, c: Any, _hazard: Any, scale: Any) -> Tensor:
        return -(1 + c) * _hazard(x) - scale.log()


@family(k="concentration")
class Weibull(Survival, Transformed):
    """P(x) = 1 - exp(-(x / scale)^k), x > 0, with k = `concentration`: lifetimes.

    >>> Weibull(2.0, 1.0).mean  # exponential
    tensor(2.)
    """

    scale: Positive
    concentration: Positive
    support = constraints.positive

    mean = quantity(lambda scale, k: scale * lgamma(1 + 1 / k).exp())
    mode = quantity(lambda scale, k: scale * ((k - 1) / k).clamp(min=0) ** (1 / k))
    variance = quantity(
        lambda scale, k: scale**2 * (lgamma(1 + 2 / k).exp() - (2 * lgamma(1 + 1 / k)).exp())
    )
    entropy = expectation(lambda scale, k: EULER * (1 - 1 / k) + (scale / k).log() + 1)

    @pointwise
    def log_prob(x: Any, scale: Any, k: Any) -> Tensor:
        log = (x / scale).log()
        return k.log() - scale.log() + (k - 1) * log - (k * log).exp()

    _hazard = function(lambda x, scale, k: (x / scale) ** k)
    _at_hazard = function(lambda h, scale, k: scale * h ** (1 / k))
    _made_of = made_of(
        lambda scale, k: (
            Exponential(ones_like(scale)),
            [PowerTransform(1 / k), AffineTransform(0, scale)],
        )
    )


@family(a="concentration1", b="concentration0", E="_moment")
class Kumaraswamy(Survival, Transformed):
    """P(x) = 1 - (1 - x^a)^b on (0, 1), a = `concentration1`, b = `concentration0`.

    Much like the beta distribution, with quantiles in closed form (Kumaraswamy, 1980).

    >>> Kumaraswamy(1.0, 1.0).mean  # uniform
    tensor(0.5000)
    """

    concentration1: Positive
    concentration0: Positive
    support = constraints.unit_interval

    def _moment(self, n: int) -> Tensor:
        """E[x^n] = b B(1 + n / a, b)."""
        b, order = self.concentration0, 1 + n / self.concentration1
        return (b.log() + lgamma(order) + lgamma(b) - lgamma(order + b)).exp()

    mean = quantity(lambda E: E(1))

    @quantity
    def mode(a: Any, b: Any) -> Tensor:
        """Where the density is largest; NaN where it grows without bound, or is constant."""
        inside = (a >= 1) & (b >= 1) & (a * b > 1)
        share = ((a - 1) / (a * b - 1).masked_fill(~inside, 1.0)).clamp(min=0)
        return (share ** (1 / a)).masked_fill(~inside, math.nan)

    variance = quantity(lambda E: E(2) - E(1) ** 2)

    entropy = expectation(
        lambda a, b: (1 - 1 / b) + (1 - 1 / a) * (digamma(b + 1) + EULER) - a.log() - b.log()
    )

    @pointwise
    def log_prob(x: Any, a: Any, b: Any) -> Tensor:
        log = x.log()
        return a.log() + b.log() + (a - 1) * log + (b - 1) * (-(a * log).expm1()).log()

    _hazard = function(lambda x, a, b: -b * (-(x**a)).log1p())
    _at_hazard = function(lambda h, a, b: (-(-h / b).expm1()) ** (1 / a))

    @made_of
    def _made_of(a: Any, b: Any) -> tuple[Distribution, list[Transform]]:
        rest = AffineTransform(1.0, -1.0)
        return Uniform(zeros_like(a), 1.0), [PowerTransform(1 / b), rest, PowerTransform(1 / a)]
