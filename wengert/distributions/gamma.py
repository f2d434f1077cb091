"""The gamma distribution and what is made from it: chi-squared, Student's t, beta, Dirichlet.

A gamma variable moves with its concentration so that its quantile stays, whoever drew it: implicit
reparameterisation (Figurnov, Mohamed, Mnih, 2018), the rule of `moved_gamma`.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

from wengert import dtypes
from wengert.autograd.record import recorder
from wengert.distributions import constraints
from wengert.distributions.constraints import Constraint
from wengert.distributions.distribution import (
    Distribution,
    broadcast_all,
    finite,
    normals,
    numbers,
    tiny,
)
from wengert.distributions.elementwise_transforms import PowerTransform
from wengert.distributions.exp_family import ExponentialFamily
from wengert.distributions.family import (
    Family,
    Positive,
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
)
from wengert.distributions.formulas import function
from wengert.distributions.location import LocationScale
from wengert.functions.arguments import constant
from wengert.functions.choosing import where
from wengert.functions.elementary import digamma, lgamma, log1p
from wengert.functions.joining import stack
from wengert.functions.special import gammainc, gammaincc, xlog1py, xlogy
from wengert.rules import special as rules
from wengert.tensor import Tensor

_gammaincinv, _moved_gamma = recorder(rules.gammaincinv), recorder(rules.moved_gamma)
_betainc, _betaincinv = recorder(rules.betainc), recorder(rules.betaincinv)
_stdtr, _stdtrit = recorder(rules.stdtr), recorder(rules.stdtrit)


def standard_gamma(concentration: Tensor, shape: Any) -> Tensor:
    """Gamma variables of rate 1, differentiable in their concentration, none of them 0.

    They are computed in double precision: in single, the density of a large concentration has
    few digits, and the quantiles of a small one are far below the smallest number.
    """
    wide = concentration.to(dtypes.float64).expand(shape)
    at = wide.detach()
    drawn = constant(numbers().standard_gamma(at._array, tuple(shape)))
    return _moved_gamma(wide, drawn, at).to(concentration.dtype).clamp(min=tiny(concentration))


def _log_beta(a: Tensor, b: Tensor) -> Tensor:
    return lgamma(a) + lgamma(b) - lgamma(a + b)


@family(a="concentration")
class Gamma(Family, ExponentialFamily):
    """p(x) = rate^a x^(a-1) exp(-rate x) / Gamma(a), a = `concentration`.

    >>> import wengert as wg
    >>> a = wg.tensor(2.0, requires_grad=True)
    >>> Gamma(a, 4.0).mean
    tensor(0.5000, grad_fn=<DivBackward0>)
    """

    concentration: Positive
    rate: Positive
    support = constraints.nonnegative

    mean = quantity(lambda a, rate: a / rate)
    mode = quantity(lambda a, rate: ((a - 1) / rate).clamp(min=0))
    variance = quantity(lambda a, rate: a / rate**2)
    entropy = expectation(lambda a, rate: a - rate.log() + lgamma(a) + (1 - a) * digamma(a))
    log_prob = pointwise(lambda x, a, rate: xlogy(a, rate) + xlogy(a - 1, x) - rate * x - lgamma(a))
    _mean_log = expectation(lambda a, rate: digamma(a) - rate.log())
    _log_mean_exp = function(lambda t, a, rate: -a * (t / rate).log1p())
    cdf = pointwise(lambda x, a, rate: gammainc(a, rate * x))
    icdf = quantile(lambda p, a, rate: _gammaincinv(a, p) / rate)
    rsample = pathwise(
        lambda shape, a, rate: (standard_gamma(a, shape) / rate).clamp(min=tiny(rate))
    )
    _natural_params = natural(lambda a, rate: (a - 1, -rate))
    _log_normalizer = normalizer(lambda x, y: lgamma(x + 1) - (x + 1) * (-y).log())
    _mean_carrier_measure = 0.0


class Chi2(Gamma):
    """The sum of the squares of `df` standard normal variables: Gamma(df / 2, 1 / 2).

    >>> Chi2(3.0).mean
    tensor(3.)
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {"df": constraints.positive}

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        (self.df,) = broadcast_all(df)
        super().__init__(0.5 * self.df, 0.5, validate_args=validate_args)


@family(a="concentration")
class InverseGamma(Transformed):
    """1 / x for a gamma x: p(x) = rate^a x^(-a-1) exp(-rate / x) / Gamma(a), a = `concentration`.

    The conjugate prior of a normal distribution's variance.

    >>> InverseGamma(3.0, 4.0).mean
    tensor(2.)
    """

    concentration: Positive
    rate: Positive
    support = constraints.positive

    mean = quantity(lambda a, rate: finite(rate, a - 1))
    mode = quantity(lambda a, rate: rate / (a + 1))
    variance = quantity(
        lambda a, rate: finite(rate**2, a - 2) / (a - 1).masked_fill(a <= 2, 1.0) ** 2
    )
    entropy = expectation(lambda a, rate: a + rate.log() + lgamma(a) - (1 + a) * digamma(a))
    log_prob = pointwise(
        lambda x, a, rate: xlogy(a, rate) - (a + 1) * x.log() - rate / x - lgamma(a)
    )
    cdf = pointwise(lambda x, a, rate: gammaincc(a, rate / x))
    icdf = quantile(lambda p, a, rate: rate / _gammaincinv(a, 1 - p))
    rsample = pathwise(lambda shape, a, rate: rate / standard_gamma(a, shape))
    _made_of = made_of(lambda a, rate: (Gamma(a, rate), [PowerTransform(-1.0)]))


@family()
class FisherSnedecor(Family):
    """(v / df1) / (w / df2) for chi-squared v and w of df1 and df2: the F distribution.

    >>> FisherSnedecor(3.0, 4.0).mean
    tensor(2.)
    """

    df1: Positive
    df2: Positive
    support = constraints.positive

    @quantity
    def mean(df2: Any) -> Tensor:
        d = df2.masked_fill(df2 <= 2, math.nan)
        return d / (d - 2)

    @quantity
    def mode(df1: Any, df2: Any) -> Tensor:
        m = df1.masked_fill(df1 <= 2, math.nan)
        return (m - 2) / m * df2 / (df2 + 2)

    @quantity
    def variance(df2: Any, df1: Any) -> Tensor:
        d = df2.masked_fill(df2 <= 4, math.nan)
        return 2 * d**2 * (df1 + d - 2) / (df1 * (d - 2) ** 2 * (d - 4))

    @pathwise
    def rsample(shape: Any, df1: Any, df2: Any) -> Tensor:
        above = standard_gamma(df1 / 2, shape) / df1
        below = standard_gamma(df2 / 2, shape) / df2
        return (above / below).clamp(min=tiny(df1))

    @pointwise
    def log_prob(x: Any, df1: Any, df2: Any) -> Tensor:
        a, b, ratio = df1 / 2, df2 / 2, df1 / df2
        inside = a * ratio.log() + (a - 1) * x.log() - (a + b) * log1p(ratio * x)
        return inside - _log_beta(a, b)

    cdf = pointwise(lambda x, df1, df2: _betainc(df1 / 2, df2 / 2, x * df1 / (x * df1 + df2)))

    @quantile
    def icdf(p: Any, df1: Any, df2: Any) -> Tensor:
        a, b = df1 / 2, df2 / 2
        share = _betaincinv(a, b, p)
        return df2 * share / (df1 * (1 - share))

    @expectation
    def entropy(df1: Any, df2: Any) -> Tensor:
        a, b = df1 / 2, df2 / 2
        means = (1 - a) * digamma(a) - (1 + b) * digamma(b) + (a + b) * digamma(a + b)
        return means + _log_beta(a, b) + (df2 / df1).log()


@family()
class StudentT(LocationScale):
    """loc + scale z / sqrt(v / df), for a standard normal z and a chi-squared v of `df`.

    p(x) is proportional to (1 + z^2 / df)^(-(df + 1) / 2),  z = (x - loc) / scale. Its mean exists
    for df > 1, its variance is finite for df > 2.

    >>> StudentT(4.0).variance
    tensor(2.)
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "df": constraints.positive,
        **LocationScale.arg_constraints,
    }

    def __init__(
        self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        Distribution.__init__(self, self.df.shape, validate_args=validate_args)

    mean = quantity(lambda df, loc: loc.masked_fill(df <= 1, math.nan))
    mode = quantity(lambda loc: loc)

    @quantity
    def variance(scale: Any, df: Any) -> Tensor:
        finite = scale**2 * df / (df - 2).masked_fill(df <= 2, 1.0)
        return finite.masked_fill(df <= 2, math.inf).masked_fill(df <= 1, math.nan)

    entropy = expectation(
        lambda df, scale: scale.log() + (df + 1) / 2 * (digamma((df + 1) / 2) - digamma(df / 2))
        + 0.5 * df.log() + lgamma(df / 2) + 0.5 * math.log(math.pi) - lgamma((df + 1) / 2)
    )  # fmt: skip
    log_prob = pointwise(
        lambda z, df, scale: (
            -0.5 * (df + 1) * log1p(z * z / df)
            - (scale.log() + 0.5 * (df * math.pi).log() + lgamma(df / 2) - lgamma((df + 1) / 2))
        )
    )
    cdf = pointwise(lambda z, df: _stdtr(df, z))
    _standard_quantile = function(lambda u, df: _stdtrit(df, u))

    @pathwise
    def rsample(shape: Any, loc: Any, df: Any, scale: Any) -> Tensor:
        z = normals(shape, loc)
        v = 2 * standard_gamma(df / 2, shape)
        return loc + scale * z * (df / v).sqrt()


@family(a="concentration1", b="concentration0")
class Beta(Family, ExponentialFamily):
    """p(x) = x^(a-1) (1-x)^(b-1) / B(a, b) with a = `concentration1`, b = `concentration0`.

    >>> Beta(2.0, 3.0).mean
    tensor(0.4000)
    """

    concentration1: Positive
    concentration0: Positive
    support = constraints.unit_interval

    mean = quantity(lambda a, b: a / (a + b))

    @quantity
    def mode(a: Any, b: Any) -> Tensor:
        inside = (a - 1) / (a + b - 2)
        at_end = (a >= b).to(a.dtype).masked_fill(a == b, math.nan)
        return where((a > 1) & (b > 1), inside, at_end)

    variance = quantity(lambda a, b: a * b / ((a + b) ** 2 * (a + b + 1)))

    @expectation
    def entropy(a: Any, b: Any) -> Tensor:
        n = a + b
        return _log_beta(a, b) - (a - 1) * digamma(a) - (b - 1) * digamma(b) + (n - 2) * digamma(n)

    log_prob = pointwise(lambda x, a, b: xlogy(a - 1, x) + xlog1py(b - 1, -x) - _log_beta(a, b))
    _mean_log = expectation(lambda a, b: digamma(a) - digamma(a + b))
    cdf = pointwise(lambda x, a, b: _betainc(a, b, x))
    icdf = quantile(lambda p, a, b: _betaincinv(a, b, p))

    @pathwise
    def rsample(shape: Any, a: Any, b: Any) -> Tensor:
        x = standard_gamma(a, shape)
        return x / (x + standard_gamma(b, shape))

    _natural_params = natural(lambda a, b: (a, b))
    _log_normalizer = normalizer(_log_beta)


@family(a="concentration")
class Dirichlet(Family, ExponentialFamily):
    """Probability vectors: p(x) = prod x_i^(a_i - 1) Gamma(sum a) / prod Gamma(a_i).

    The last dimension of `concentration` is the event.

    >>> import wengert as wg
    >>> Dirichlet(wg.tensor([1.0, 3.0])).mean
    tensor([0.2500, 0.7500])
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "concentration": constraints.independent(constraints.positive, 1)
    }
    support = constraints.simplex

    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None:
        (self.concentration,) = broadcast_all(concentration)
        if self.concentration.ndim < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        shape = self.concentration.shape
        Distribution.__init__(self, shape[:-1], shape[-1:], validate_args)

    mean = quantity(lambda a: a / a.sum(-1, True))

    @quantity
    def mode(a: Any, event_shape: Any) -> Tensor:
        """The most likely vector; a corner where all concentrations are below 1."""
        excess = (a - 1).clamp(min=0)
        total = excess.sum(-1, True)
        corner = stack([a.argmax(-1) == i for i in range(event_shape[0])], -1)
        return where(total > 0, excess / total.masked_fill(total == 0, 1.0), corner.to(total.dtype))

    variance = quantity(lambda a, mean: mean * (1 - mean) / (a.sum(-1, True) + 1))

    @expectation
    def entropy(event_shape: Any, a: Any) -> Tensor:
        k = event_shape[0]
        n = a.sum(-1)
        return lgamma(a).sum(-1) - lgamma(n) - (k - n) * digamma(n) - ((a - 1) * digamma(a)).sum(-1)

    log_prob = pointwise(
        lambda x, a: xlogy(a - 1, x).sum(-1) + lgamma(a.sum(-1)) - lgamma(a).sum(-1)
    )

    @pathwise
    def rsample(shape: Any, a: Any) -> Tensor:
        x = standard_gamma(a, shape)
        return x / x.sum(-1, True)

    _natural_params = natural(lambda a: (a,))
    _log_normalizer = normalizer(lambda a: lgamma(a).sum(-1) - lgamma(a.sum(-1)))
