"""The Kullback-Leibler divergence KL(p || q) = E_p[log p(x) - log q(x)], in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from wengert.distributions.compound import Independent, TransformedDistribution, summed
from wengert.distributions.discrete import (
    Bernoulli,
    Binomial,
    Categorical,
    Geometric,
    OneHotCategorical,
    Poisson,
)
from wengert.distributions.distribution import EULER, HALF_LOG_2PI, Distribution
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
from wengert.distributions.multivariate import MultivariateNormal
from wengert.functions.creation import full_like
from wengert.functions.indexing import where
from wengert.functions.linalg import solve_triangular
from wengert.functions.special import digamma, lgamma, xlogy
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
        if not (isinstance(given, type) and issubclass(given, Distribution)):
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


def _inf(like: Tensor) -> Tensor:
    return full_like(like, math.inf)


# ---- discrete ----------------------------------------------------------------------------------


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    a, b = p.probs, q.probs
    return _weighed(a, b) + _weighed(1 - a, 1 - b)


def _weighed(a: Tensor, b: Tensor) -> Tensor:
    """a log(a / b); 0 where a is 0, infinite where only b is."""
    term = xlogy(a, a) - xlogy(a, b.masked_fill(b == 0, 1.0))
    return where((b == 0) & (a > 0), _inf(term), term)


@register_kl(Binomial, Binomial)
def _binomial(p: Binomial, q: Binomial) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    same = p.total_count * (_weighed(p.probs, q.probs) + _weighed(1 - p.probs, 1 - q.probs))
    return where(p.total_count > q.total_count, _inf(same), same)


@register_kl(Categorical, Categorical)
@register_kl(OneHotCategorical, OneHotCategorical)
def _categorical(p: Any, q: Any) -> Tensor:
    term = p.probs * (p.logits - q.logits)
    term = where((q.probs == 0) & (p.probs > 0), _inf(term), term)
    return where(p.probs == 0, full_like(term, 0.0), term).sum(-1)


@register_kl(Geometric, Geometric)
def _geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - (-q.probs).log1p() * (1 / p.probs - 1) - q.probs.log()


@register_kl(Poisson, Poisson)
def _poisson(p: Poisson, q: Poisson) -> Tensor:
    return _weighed(p.rate, q.rate) - p.rate + q.rate


# ---- one family --------------------------------------------------------------------------------


@register_kl(Normal, Normal)
def _normal(p: Normal | LogNormal, q: Normal | LogNormal) -> Tensor:
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - ratio.log())


@register_kl(LogNormal, LogNormal)
def _lognormal(p: LogNormal, q: LogNormal) -> Tensor:
    return _normal(p, q)  # an invertible map of both changes nothing


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: HalfNormal, q: HalfNormal) -> Tensor:
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio - 1 - ratio.log())


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be "
            f"computed: {tuple(p.event_shape)} and {tuple(q.event_shape)}"
        )
    spread = solve_triangular(q.scale_tril, p.scale_tril, upper=False)
    shift = solve_triangular(q.scale_tril, (q.loc - p.loc).unsqueeze(-1), upper=False)
    squares = (spread**2).sum((-2, -1)) + (shift**2).sum((-2, -1))
    return q._half_log_det() - p._half_log_det() + 0.5 * (squares - p.event_shape[0])


@register_kl(Exponential, Exponential)
def _exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


@register_kl(Gamma, Gamma)
def _gamma(p: Gamma, q: Gamma) -> Tensor:
    a, b = p.concentration, q.concentration
    return (
        b * (p.rate / q.rate).log() + lgamma(b) - lgamma(a)
        + (a - b) * digamma(a) + (q.rate - p.rate) * (a / p.rate)
    )  # fmt: skip


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


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    ratio, shift = p.scale / q.scale, (q.loc - p.loc) / q.scale
    return -ratio.log() - 1 + EULER * (ratio - 1) - shift + (shift + lgamma(1 + ratio)).exp()


@register_kl(Uniform, Uniform)
def _uniform(p: Uniform, q: Uniform) -> Tensor:
    inside = ((q.high - q.low) / (p.high - p.low)).log()
    return where((q.low > p.low) | (q.high < p.high), _inf(inside), inside)


# ---- against a normal, an exponential or a gamma -----------------------------------------------


@register_kl(Beta, Normal)
@register_kl(Exponential, Normal)
@register_kl(Gamma, Normal)
@register_kl(Gumbel, Normal)
@register_kl(Laplace, Normal)
@register_kl(Uniform, Normal)
def _against_normal(p: Any, q: Normal) -> Tensor:
    """E_p[-log q] needs the mean and the variance of p only."""
    spread = (p.variance + (p.mean - q.loc) ** 2) / q.scale**2
    return 0.5 * spread + q.scale.log() + HALF_LOG_2PI - p.entropy()


@register_kl(Beta, Exponential)
@register_kl(Gamma, Exponential)
def _against_exponential(p: Any, q: Exponential) -> Tensor:
    return q.rate * p.mean - q.rate.log() - p.entropy()


@register_kl(Exponential, Gamma)
def _exponential_gamma(p: Exponential, q: Gamma) -> Tensor:
    return _gamma(Gamma(full_like(p.rate, 1.0), p.rate), q)


@register_kl(Normal, Gumbel)
def _normal_gumbel(p: Normal, q: Gumbel) -> Tensor:
    z = (p.loc - q.loc) / q.scale
    ratio = p.scale / q.scale
    return z + (-z + 0.5 * ratio**2).exp() + q.scale.log() - p.entropy()


@register_kl(Normal, Laplace)
def _normal_laplace(p: Normal, q: Laplace) -> Tensor:
    shift = p.loc - q.loc
    z = shift / p.scale
    mean = math.sqrt(2 / math.pi) * p.scale * (-0.5 * z * z).exp()
    distance = mean + shift * (z / math.sqrt(2)).erf()
    return (2 * q.scale).log() + distance / q.scale - p.entropy()


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
    same = len(p.transforms) == len(q.transforms) and all(
        a is b or (type(a) is type(b) and not vars(a) and not vars(b))
        for a, b in zip(p.transforms, q.transforms, strict=True)
    )
    if not same or p.event_shape != q.event_shape:
        raise NotImplementedError(
            "KL between TransformedDistributions is that of their bases if both have the same "
            f"transforms, but these have {p.transforms!r} and {q.transforms!r}"
        )
    return kl_divergence(p.base_dist, q.base_dist)
