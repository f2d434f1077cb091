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
from wengert.functions.arguments import constant
from wengert.functions.choosing import where
from wengert.functions.joining import stack
from wengert.functions.math import log1p
from wengert.functions.special import digamma, gammainc, gammaincc, lgamma, xlog1py, xlogy
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


class Gamma(Distribution):
    """p(x) = rate^a x^(a-1) exp(-rate x) / Gamma(a), a = `concentration`.

    >>> import wengert as wg
    >>> a = wg.tensor(2.0, requires_grad=True)
    >>> Gamma(a, 4.0).mean
    tensor(0.5000, grad_fn=<DivBackward0>)
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "concentration": constraints.positive,
        "rate": constraints.positive,
    }
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate**2

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return (standard_gamma(self.concentration, shape) / self.rate).clamp(min=tiny(self.rate))

    def log_prob(self, value: Any) -> Tensor:
        value, a = self._value(value), self.concentration
        return xlogy(a, self.rate) + xlogy(a - 1, value) - self.rate * value - lgamma(a)

    def cdf(self, value: Any) -> Tensor:
        return gammainc(self.concentration, self.rate * self._value(value))

    def icdf(self, value: Any) -> Tensor:
        return _gammaincinv(self.concentration, self._probability(value)) / self.rate

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - self.rate.log() + lgamma(a) + (1 - a) * digamma(a)


class Chi2(Gamma):
    """The sum of the squares of `df` standard normal variables: Gamma(df / 2, 1 / 2).

    >>> Chi2(3.0).mean
    tensor(3.)
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {"df": constraints.positive}

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        (self.df,) = broadcast_all(df)
        super().__init__(0.5 * self.df, 0.5, validate_args=validate_args)


class InverseGamma(Distribution):
    """1 / x for a gamma x: p(x) = rate^a x^(-a-1) exp(-rate / x) / Gamma(a), a = `concentration`.

    The conjugate prior of a normal distribution's variance.

    >>> InverseGamma(3.0, 4.0).mean
    tensor(2.)
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "concentration": constraints.positive,
        "rate": constraints.positive,
    }
    support = constraints.positive
    has_rsample = True

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return finite(self.rate, self.concentration - 1)

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        a = self.concentration
        return finite(self.rate**2, a - 2) / (a - 1).masked_fill(a <= 2, 1.0) ** 2

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.rate / standard_gamma(self.concentration, self._extended_shape(sample_shape))

    def log_prob(self, value: Any) -> Tensor:
        x, a = self._value(value), self.concentration
        return xlogy(a, self.rate) - (a + 1) * x.log() - self.rate / x - lgamma(a)

    def cdf(self, value: Any) -> Tensor:
        return gammaincc(self.concentration, self.rate / self._value(value))

    def icdf(self, value: Any) -> Tensor:
        return self.rate / _gammaincinv(self.concentration, 1 - self._probability(value))

    def entropy(self) -> Tensor:
        a = self.concentration
        return a + self.rate.log() + lgamma(a) - (1 + a) * digamma(a)


class FisherSnedecor(Distribution):
    """(v / df1) / (w / df2) for chi-squared v and w of df1 and df2: the F distribution.

    >>> FisherSnedecor(3.0, 4.0).mean
    tensor(2.)
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "df1": constraints.positive,
        "df2": constraints.positive,
    }
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        super().__init__(self.df1.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        d = self.df2.masked_fill(self.df2 <= 2, math.nan)
        return d / (d - 2)

    @property
    def mode(self) -> Tensor:
        m = self.df1.masked_fill(self.df1 <= 2, math.nan)
        return (m - 2) / m * self.df2 / (self.df2 + 2)

    @property
    def variance(self) -> Tensor:
        d = self.df2.masked_fill(self.df2 <= 4, math.nan)
        return 2 * d**2 * (self.df1 + d - 2) / (self.df1 * (d - 2) ** 2 * (d - 4))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        above = standard_gamma(self.df1 / 2, shape) / self.df1
        below = standard_gamma(self.df2 / 2, shape) / self.df2
        return (above / below).clamp(min=tiny(self.df1))

    def log_prob(self, value: Any) -> Tensor:
        x, a, b, ratio = self._value(value), self.df1 / 2, self.df2 / 2, self.df1 / self.df2
        inside = a * ratio.log() + (a - 1) * x.log() - (a + b) * log1p(ratio * x)
        return inside - _log_beta(a, b)

    def cdf(self, value: Any) -> Tensor:
        x = self._value(value) * self.df1
        return _betainc(self.df1 / 2, self.df2 / 2, x / (x + self.df2))

    def icdf(self, value: Any) -> Tensor:
        a, b = self.df1 / 2, self.df2 / 2
        share = _betaincinv(a, b, self._probability(value))
        return self.df2 * share / (self.df1 * (1 - share))

    def entropy(self) -> Tensor:
        a, b = self.df1 / 2, self.df2 / 2
        means = (1 - a) * digamma(a) - (1 + b) * digamma(b) + (a + b) * digamma(a + b)
        return means + _log_beta(a, b) + (self.df2 / self.df1).log()


class StudentT(Distribution):
    """loc + scale z / sqrt(v / df), for a standard normal z and a chi-squared v of `df`.

    p(x) is proportional to (1 + z^2 / df)^(-(df + 1) / 2),  z = (x - loc) / scale. Its mean exists
    for df > 1, its variance is finite for df > 2.

    >>> StudentT(4.0).variance
    tensor(2.)
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True

    def __init__(
        self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        super().__init__(self.df.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc.masked_fill(self.df <= 1, math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        df = self.df
        finite = self.scale**2 * df / (df - 2).masked_fill(df <= 2, 1.0)
        return finite.masked_fill(df <= 2, math.inf).masked_fill(df <= 1, math.nan)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        z = normals(shape, self.loc)
        v = 2 * standard_gamma(self.df / 2, shape)
        return self.loc + self.scale * z * (self.df / v).sqrt()

    def log_prob(self, value: Any) -> Tensor:
        z, df = (self._value(value) - self.loc) / self.scale, self.df
        scale = (
            self.scale.log() + 0.5 * (df * math.pi).log() + lgamma(df / 2) - lgamma((df + 1) / 2)
        )
        return -0.5 * (df + 1) * log1p(z * z / df) - scale

    def cdf(self, value: Any) -> Tensor:
        return _stdtr(self.df, (self._value(value) - self.loc) / self.scale)

    def icdf(self, value: Any) -> Tensor:
        return self.loc + self.scale * _stdtrit(self.df, self._probability(value))

    def entropy(self) -> Tensor:
        df = self.df
        half = (df + 1) / 2
        return (
            self.scale.log() + half * (digamma(half) - digamma(df / 2))
            + 0.5 * df.log() + lgamma(df / 2) + 0.5 * math.log(math.pi) - lgamma(half)
        )  # fmt: skip


class Beta(Distribution):
    """p(x) = x^(a-1) (1-x)^(b-1) / B(a, b) with a = `concentration1`, b = `concentration0`.

    >>> Beta(2.0, 3.0).mean
    tensor(0.4000)
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self, concentration1: Any, concentration0: Any, validate_args: bool | None = None
    ) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        super().__init__(self.concentration1.shape, validate_args=validate_args)

    @property
    def _total(self) -> Tensor:
        return self.concentration1 + self.concentration0

    @property
    def mean(self) -> Tensor:
        return self.concentration1 / self._total

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        inside = (a - 1) / (a + b - 2)
        at_end = (a >= b).to(a.dtype).masked_fill(a == b, math.nan)
        return where((a > 1) & (b > 1), inside, at_end)

    @property
    def variance(self) -> Tensor:
        n = self._total
        return self.concentration1 * self.concentration0 / (n**2 * (n + 1))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        x = standard_gamma(self.concentration1, shape)
        return x / (x + standard_gamma(self.concentration0, shape))

    def log_prob(self, value: Any) -> Tensor:
        value, a, b = self._value(value), self.concentration1, self.concentration0
        return xlogy(a - 1, value) + xlog1py(b - 1, -value) - _log_beta(a, b)

    def cdf(self, value: Any) -> Tensor:
        return _betainc(self.concentration1, self.concentration0, self._value(value))

    def icdf(self, value: Any) -> Tensor:
        p = self._probability(value)
        return _betaincinv(self.concentration1, self.concentration0, p)

    def entropy(self) -> Tensor:
        a, b, n = self.concentration1, self.concentration0, self._total
        return _log_beta(a, b) - (a - 1) * digamma(a) - (b - 1) * digamma(b) + (n - 2) * digamma(n)


class Dirichlet(Distribution):
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
    has_rsample = True

    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None:
        (self.concentration,) = broadcast_all(concentration)
        if self.concentration.ndim < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        shape = self.concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        """The most likely vector; a corner where all concentrations are below 1."""
        excess = (self.concentration - 1).clamp(min=0)
        total = excess.sum(-1, True)
        corner = stack([self.concentration.argmax(-1) == i for i in range(self.event_shape[0])], -1)
        return where(total > 0, excess / total.masked_fill(total == 0, 1.0), corner.to(total.dtype))

    @property
    def variance(self) -> Tensor:
        n, m = self.concentration.sum(-1, True), self.mean
        return m * (1 - m) / (n + 1)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        x = standard_gamma(self.concentration, self._extended_shape(sample_shape))
        return x / x.sum(-1, True)

    def log_prob(self, value: Any) -> Tensor:
        value, a = self._value(value), self.concentration
        return xlogy(a - 1, value).sum(-1) + lgamma(a.sum(-1)) - lgamma(a).sum(-1)

    def entropy(self) -> Tensor:
        a, k = self.concentration, self.event_shape[0]
        n = a.sum(-1)
        return lgamma(a).sum(-1) - lgamma(n) - (k - n) * digamma(n) - ((a - 1) * digamma(a)).sum(-1)
