"""The Kullback-Leibler divergence KL(p || q) = E_p[log p(x) - log q(x)], in closed form."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from wengert.dispatch import require
from wengert.distributions.discrete import (
    Bernoulli,
    Binomial,
    Categorical,
    Geometric,
    Multinomial,
    OneHotCategorical,
    Poisson,
)
from wengert.distributions.distribution import HALF_LOG_2PI, Distribution, softplus, summed
from wengert.distributions.exp_family import ExponentialFamily
from wengert.distributions.gamma import Beta, Dirichlet, Gamma
from wengert.distributions.location import (
    Cauchy,
    Exponential,
    Gumbel,
    HalfNormal,
    Laplace,
    LogNormal,
    Normal,
    Uniform,
)
from wengert.distributions.multivariate import NormalVectors
from wengert.distributions.relaxed import ContinuousBernoulli
from wengert.distributions.tails import Pareto
from wengert.distributions.transformed import Independent, TransformedDistribution
from wengert.functions.choosing import where
from wengert.functions.creation import full_like
from wengert.functions.elementary import digamma, lgamma
from wengert.functions.special import xlogy
from wengert.tensor import Tensor

Formula = Callable[[Any, Any], Tensor]
_FORMULAS: dict[tuple[type, type], Formula] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Formula], Formula]:
    """Decorates the formula for a pair of classes; subclasses use it unless they have their own.

    >>> class Mine(Normal):
    ...     pass
    >>> @register_kl(Mine, Normal)
    ... def between(p, q):
    ...     return p.loc - q.loc
    >>> kl_divergence(Mine(3.0, 1.0), Normal(1.0, 1.0))
    tensor(2.)
    """
    for given, name in ((type_p, "type_p"), (type_q, "type_q")):
        if not isinstance(given, type):  # any class may be a base of distributions
            raise TypeError(f"Expected {name} to be a subclass of Distribution but got {given!r}")

    def decorate(formula: Formula) -> Formula:
        _FORMULAS[type_p, type_q] = formula
        return formula

    return decorate


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """KL(p || q), of the batches' common shape; infinite where p has outcomes that q has not.

    Errors: NotImplementedError for pairs without a formula (`register_kl` adds one); estimate it
    from samples then: (p.log_prob(x) - q.log_prob(x)).mean(0) for x = p.rsample((1000,)).

    >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
    tensor(0.5000)
    """
    # The formula of the nearest classes: nearness in p counts before nearness in q.
    for kind_p in type(p).__mro__:
        for kind_q in type(q).__mro__:
            if (kind_p, kind_q) in _FORMULAS:
                return _FORMULAS[kind_p, kind_q](p, q)
    raise NotImplementedError(
        f"No KL(p || q) is implemented for p type {type(p).__name__} and q type "
        f"{type(q).__name__}. Add one with register_kl, or estimate it: "
        "(p.log_prob(x) - q.log_prob(x)).mean(0) for x = p.sample((1000,))."
    )


# ---- discrete ----------------------------------------------------------------------------------


def _weighed(a: Tensor, b: Tensor) -> Tensor:
    """a log(a / b); 0 where a is 0, infinite where only b is."""
    term = xlogy(a, a) - xlogy(a, b.masked_fill(b == 0, 1.0))
    return term.masked_fill((b == 0) & (a > 0), math.inf)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Bernoulli | Binomial, q: Bernoulli | Binomial) -> Tensor:
    a, b = p.probs, q.probs
    return _weighed(a, b) + _weighed(1 - a, 1 - b)


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Bernoulli, q: Poisson) -> Tensor:
    return q.rate - xlogy(p.probs, q.rate) - p.entropy()


@register_kl(Binomial, Binomial)
def _binomial(p: Binomial, q: Binomial) -> Tensor:
    wrong = "KL between Binomials where q.total_count > p.total_count is not implemented"
    require((p.total_count >= q.total_count)._array, NotImplementedError, wrong)
    return (p.total_count * _bernoulli(p, q)).masked_fill(p.total_count > q.total_count, math.inf)


@register_kl(Categorical, Categorical)
@register_kl(OneHotCategorical, OneHotCategorical)
def _categorical(p: Any, q: Any) -> Tensor:
    term = p.probs * (p.logits - q.logits)
    term = term.masked_fill((q.probs == 0) & (p.probs > 0), math.inf)
    return term.masked_fill(p.probs == 0, 0.0).sum(-1)


@register_kl(Multinomial, Multinomial)
def _multinomial(p: Multinomial, q: Multinomial) -> Tensor:
    if p.total_count != q.total_count:
        raise NotImplementedError(
            "KL between Multinomials of different total_count is not implemented: "
            f"{p.total_count} and {q.total_count}"
        )
    return p.total_count * _categorical(p, q)


@register_kl(Geometric, Geometric)
def _geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - (-q.probs).log1p() * (1 / p.probs - 1) - q.probs.log()


@register_kl(Poisson, Poisson)
def _poisson(p: Poisson, q: Poisson) -> Tensor:
    return _weighed(p.rate, q.rate) - p.rate + q.rate


# ---- one family --------------------------------------------------------------------------------


@register_kl(Normal, Normal)
@register_kl(LogNormal, LogNormal)
def _normal(p: Normal | LogNormal, q: Normal | LogNormal) -> Tensor:
    """Of log-normal ones too: an invertible map of both changes nothing."""
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - ratio.log())


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: HalfNormal, q: HalfNormal) -> Tensor:
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio - 1 - ratio.log())


@register_kl(NormalVectors, NormalVectors)
def _normal_vectors(p: NormalVectors, q: NormalVectors) -> Tensor:
    """tr(Q^-1 P) is a sum over the columns x of P's factors, of x^T Q^-1 x."""
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be "
            f"computed: {tuple(p.event_shape)} and {tuple(q.event_shape)}"
        )
    squares = q._squares((q.mean - p.mean).unsqueeze(-1)) - p.event_shape[0]
    for factor in p._factors():
        squares = squares + q._squares(factor)
    return q._half_log_det() - p._half_log_det() + 0.5 * squares


@register_kl(Beta, Beta)
def _beta(p: Beta, q: Beta) -> Tensor:
    a, b, c, d = p.concentration1, p.concentration0, q.concentration1, q.concentration0
    constants = lgamma(c) + lgamma(d) + lgamma(a + b) - lgamma(a) - lgamma(b) - lgamma(c + d)
    means = (a - c) * digamma(a) + (b - d) * digamma(b) + (c + d - a - b) * digamma(a + b)
    return constants + means


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    constants = lgamma(total) - lgamma(b.sum(-1)) + (lgamma(b) - lgamma(a)).sum(-1)
    return constants + ((a - b) * (digamma(a) - digamma(total).unsqueeze(-1))).sum(-1)


@register_kl(Pareto, Pareto)
def _pareto(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    inside = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return inside.masked_fill(p.scale < q.scale, math.inf)


@register_kl(Laplace, Laplace)
def _laplace(p: Laplace, q: Laplace) -> Tensor:
    distance = (p.loc - q.loc).abs()
    away = (p.scale * (-distance / p.scale).exp() + distance) / q.scale
    return (q.scale / p.scale).log() + away - 1


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    """Chyzak and Nielsen (2019)."""
    above = (p.scale + q.scale) ** 2 + (p.loc - q.loc) ** 2
    return above.log() - (4 * p.scale * q.scale).log()


# ---- two families ------------------------------------------------------------------------------
#
# KL(p || q) = E_p[-log q(x)] - H(p), and E_p[-log q] needs a few expectations under p: of x and its
# square for a normal q, of x and log x for a gamma q, of x and exp(-t x) for a Gumbel q. A uniform
# p that reaches beyond the support of q is infinitely far.


def _against(q: type[Distribution], *ps: type[Distribution]) -> Callable[[Formula], Formula]:
    """Decorates the formula for a family q, after several others."""
    low = getattr(q.support, "lower_bound", -math.inf)
    high = getattr(q.support, "upper_bound", math.inf)

    def decorate(formula: Formula) -> Formula:
        for p in ps:
            bounded = p is Uniform and low > -math.inf
            register_kl(p, q)(partial(_within, low, high, formula) if bounded else formula)
        return formula

    return decorate


def _within(low: float, high: float, formula: Formula, p: Uniform, q: Any) -> Tensor:
    """A formula where p lies within [low, high], infinity where it does not."""
    outside = (p.low < low) | (p.high > high)
    # What is outside is moved inside, for the formula has logarithms of it.
    width = p.high - p.low
    moved = Uniform(p.low.masked_fill(outside, 0.0), where(outside, width.clamp(max=1.0), p.high))
    return formula(moved, q).masked_fill(outside, math.inf)


@_against(Normal, Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Pareto, Uniform)
def _against_normal(p: Any, q: Normal) -> Tensor:
    spread = (p.variance + (p.mean - q.loc) ** 2) / q.scale**2
    return 0.5 * spread + q.scale.log() + HALF_LOG_2PI - p.entropy()


@_against(Laplace, Normal)
def _normal_laplace(p: Normal, q: Laplace) -> Tensor:
    shift = p.loc - q.loc
    z = shift / p.scale
    mean = math.sqrt(2 / math.pi) * p.scale * (-0.5 * z * z).exp()
    distance = mean + shift * (z / math.sqrt(2)).erf()
    return (2 * q.scale).log() + distance / q.scale - p.entropy()


@_against(ContinuousBernoulli, Beta, ContinuousBernoulli, Uniform)
def _against_continuous_bernoulli(p: Any, q: ContinuousBernoulli) -> Tensor:
    return softplus(q.logits) - q._log_constant() - p.mean * q.logits - p.entropy()


@_against(Pareto, Uniform)
def _uniform_pareto(p: Uniform, q: Pareto) -> Tensor:
    outside = p.low < q.scale
    low = where(outside, p.high * 0.5, p.low)  # any number between, for the formula
    mean_log = Uniform(low, p.high, validate_args=False)._mean_log()
    constants = q.alpha.log() + xlogy(q.alpha, q.scale)
    inside = (q.alpha + 1) * mean_log - constants - p.entropy()
    return inside.masked_fill(outside, math.inf)


@_against(Gamma, Beta, Exponential, Gamma, Pareto, Uniform)
def _against_gamma(p: Any, q: Gamma) -> Tensor:
    a, rate = q.concentration, q.rate
    return lgamma(a) - xlogy(a, rate) - (a - 1) * p._mean_log() + rate * p.mean - p.entropy()


@_against(Exponential, Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)
def _against_exponential(p: Any, q: Exponential) -> Tensor:
    return q.rate * p.mean - q.rate.log() - p.entropy()


@_against(Beta, Uniform)
def _against_beta(p: Uniform, q: Beta) -> Tensor:
    a, b = q.concentration1, q.concentration0
    mirrored = Uniform(1 - p.high, 1 - p.low)
    logs = (a - 1) * p._mean_log() + (b - 1) * mirrored._mean_log()
    return lgamma(a) + lgamma(b) - lgamma(a + b) - logs - p.entropy()


@_against(Uniform, Beta, ContinuousBernoulli, Uniform)
def _against_uniform(p: Any, q: Uniform) -> Tensor:
    low, high = (p.low, p.high) if isinstance(p, Uniform) else (0.0, 1.0)
    outside = (q.low > low) | (q.high < high)
    return ((q.high - q.low).log() - p.entropy()).masked_fill(outside, math.inf)


@_against(Gumbel, Exponential, Gamma, Gumbel, Normal, Uniform)
def _against_gumbel(p: Any, q: Gumbel) -> Tensor:
    t = 1 / q.scale
    exponential = (q.loc * t + p._log_mean_exp(t)).exp()
    return (p.mean - q.loc) * t + exponential + q.scale.log() - p.entropy()


# ---- infinite ----------------------------------------------------------------------------------

_ON_THE_LINE = (Normal, Laplace, Gumbel)
_ON_A_HALF = (Exponential, Gamma)
_ON_AN_INTERVAL = (Beta, ContinuousBernoulli, Uniform)


def _infinite(p: Distribution, q: Distribution) -> Tensor:
    """p has outcomes that q has not."""
    shape = np.broadcast_shapes(tuple(p.batch_shape), tuple(q.batch_shape))
    return full_like(p.mean, math.inf).expand(shape)


for _wide, _narrow in (
    *itertools.product(_ON_THE_LINE, (*_ON_A_HALF, Pareto, *_ON_AN_INTERVAL)),
    *itertools.product((*_ON_A_HALF, Pareto), _ON_AN_INTERVAL),
    *itertools.product((*_ON_A_HALF, Beta, ContinuousBernoulli), (Pareto,)),
    (Poisson, Bernoulli),
    (Poisson, Binomial),
):
    register_kl(_wide, _narrow)(_infinite)


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    if type(p) is not type(q):
        raise NotImplementedError(
            "KL between exponential families of different classes, "
            f"{type(p).__name__} and {type(q).__name__}. Add one with register_kl."
        )
    return p.divergence(q)


# ---- made from others --------------------------------------------------------------------------


@register_kl(Independent, Independent)
def _independent(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError(
            "KL between Independents with different reinterpreted_batch_ndims: "
            f"{p.reinterpreted_batch_ndims} and {q.reinterpreted_batch_ndims}"
        )
    return summed(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError(
            "KL between TransformedDistributions is that of their bases if both have the same "
            f"transforms, but these have {p.transforms!r} and {q.transforms!r}"
        )
    return kl_divergence(p.base_dist, q.base_dist)
