"""Continuous stand-ins for discrete distributions: their samples are differentiable.

A temperature says how near they are: towards 0 the samples become 0 and 1 (Maddison, Mnih and Teh,
"The concrete distribution", 2017; Jang, Gu and Poole, "Categorical reparameterization with
Gumbel-softmax", 2017).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

from wengert.distributions import constraints
from wengert.distributions.constraints import Constraint
from wengert.distributions.discrete import Categorical, Chance, OverCategories
from wengert.distributions.distribution import Distribution, broadcast_all, softplus, uniforms
from wengert.distributions.exp_family import ExponentialFamily
from wengert.distributions.family import (
    Quantiles,
    expectation,
    family,
    natural,
    normalizer,
    pathwise,
    pointwise,
    quantity,
)
from wengert.distributions.transformed import TransformedDistribution
from wengert.distributions.transforms import ExpTransform, SigmoidTransform, Transform
from wengert.distributions.utils import clamp_probs
from wengert.functions.choosing import where
from wengert.functions.reductions import logsumexp
from wengert.tensor import Tensor


@family()
class LogitRelaxedBernoulli(Chance):
    """log(x / (1 - x)) of a relaxed Bernoulli x: a logistic variable of scale 1 / temperature."""

    support = constraints.real

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        _, self.temperature = self._set(probs, logits, temperature)
        Distribution.__init__(self, self.temperature.shape, validate_args=validate_args)

    @pathwise
    def rsample(shape: Any, temperature: Any, logits: Any) -> Tensor:
        u = uniforms(shape, temperature)
        return (logits + u.log() - (-u).log1p()) / temperature

    @pointwise
    def log_prob(x: Any, logits: Any, temperature: Any) -> Tensor:
        z = logits - x * temperature
        return temperature.log() + z - 2 * softplus(z)


@family(base="base_dist")
class _Relaxed(TransformedDistribution):
    """A relaxed distribution in the place of its logits: what both have in common."""

    base_dist: Any
    _of_logits: ClassVar[tuple[Callable[..., Distribution], Transform]]

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        base, transform = self._of_logits
        super().__init__(base(temperature, probs, logits, validate_args), transform, validate_args)

    temperature = quantity(lambda base: base.temperature)
    probs = quantity(lambda base: base.probs)
    logits = quantity(lambda base: base.logits)


class RelaxedBernoulli(_Relaxed):
    """x = sigmoid((logits + l) / temperature) for a standard logistic l, in (0, 1).

    >>> import wengert as wg
    >>> logits = wg.tensor([0.5, -1.0], requires_grad=True)
    >>> RelaxedBernoulli(wg.tensor(0.5), logits=logits).rsample().requires_grad
    True
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = Chance.arg_constraints
    support = constraints.unit_interval
    _of_logits = LogitRelaxedBernoulli, SigmoidTransform()


class ExpRelaxedCategorical(OverCategories):
    """log x of a relaxed one-hot vector x: log softmax((logits + g) / temperature), g Gumbel."""

    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(probs, logits, validate_args)
        self.temperature = broadcast_all(temperature, self._categorical.param)[0][..., 0]

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        u = uniforms(self._extended_shape(sample_shape), self.temperature)
        scores = (self.logits - (-u.log()).log()) / self.temperature.unsqueeze(-1)
        return scores - logsumexp(scores, -1, True)

    def log_prob(self, value: Any) -> Tensor:
        k, t = self.event_shape[0], self.temperature
        scores = self.logits - self._value(value) * t.unsqueeze(-1)
        shares = (scores - logsumexp(scores, -1, True)).sum(-1)
        return shares + math.lgamma(k) + (k - 1) * t.log()


class RelaxedOneHotCategorical(_Relaxed):
    """x = softmax((logits + g) / temperature) for standard Gumbel g: a probability vector.

    >>> import wengert as wg
    >>> x = RelaxedOneHotCategorical(wg.tensor(0.5), wg.tensor([0.2, 0.8])).rsample()
    >>> wg.allclose(x.sum(), wg.tensor(1.0))
    True
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = Categorical.arg_constraints
    support = constraints.simplex
    _of_logits = ExpRelaxedCategorical, ExpTransform()


@family(log_C="_log_constant")
class ContinuousBernoulli(Quantiles, Chance, ExponentialFamily):
    """p(x) = C p^x (1 - p)^(1 - x) on [0, 1]: for pixels, say, where Bernoulli's does not add up.

    C = 2 atanh(1 - 2p) / (1 - 2p), and 2 at p = 1/2, around which (`lims`) a Taylor series is used
    (Loaiza-Ganem and Cunningham, "The continuous Bernoulli", 2019). It is an exponential of rate
    -logit(p), cut off at 1.

    >>> import wengert as wg
    >>> ContinuousBernoulli(wg.tensor([0.5, 0.9])).mean
    tensor([0.5000, 0.6699])
    """

    support = constraints.unit_interval

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        (given,) = self._set(probs, logits)
        self._lims = lims
        Distribution.__init__(self, given.shape, validate_args=validate_args)

    def _split(self) -> tuple[Tensor, Tensor, Tensor]:
        """Where p is far from 1/2, a p that is far from it everywhere, and p - 1/2."""
        p = clamp_probs(self.probs)
        far = (p <= self._lims[0]) | (p > self._lims[1])
        return far, where(far, p, self._lims[0]), p - 0.5

    def _log_constant(self) -> Tensor:
        far, p, x = self._split()
        exact = ((-p).log1p() - p.log()).abs().log() - (2 * p - 1).abs().log()
        return where(far, exact, math.log(2) + (4 / 3 + 104 / 45 * x * x) * x * x)

    @quantity
    def mean(_split: Any) -> Tensor:
        far, p, x = _split()
        exact = p / (2 * p - 1) + 1 / ((-p).log1p() - p.log())
        return where(far, exact, 0.5 + (1 / 3 + 16 / 45 * x * x) * x)

    @quantity
    def variance(_split: Any) -> Tensor:
        far, p, x = _split()
        exact = p * (p - 1) / (1 - 2 * p) ** 2 + 1 / ((-p).log1p() - p.log()) ** 2
        return where(far, exact, 1 / 12 - (1 / 15 - 128 / 945 * x * x) * x * x)

    log_prob = pointwise(lambda x, logits, log_C: x * logits - softplus(logits) + log_C())
    entropy = expectation(lambda logits, mean, log_C: softplus(logits) - log_C() - mean * logits)

    # With t = logit(p) the density is proportional to exp(t x).

    _natural_params = natural(lambda logits: (logits,))
    _mean_carrier_measure = 0.0

    @normalizer
    def _log_normalizer(t: Any) -> Tensor:
        far = t.abs() > 0.01
        safe = where(far, t, 1.0)
        return where(far, (safe.expm1() / safe).log(), t / 2 + t**2 / 24 - t**4 / 2880)

    def _rate(self) -> tuple[Tensor, Tensor, Tensor]:
        """Where p is far from 1/2, t there, and t as it is."""
        far, p, _ = self._split()
        whole = clamp_probs(self.probs)
        return far, p.log() - (-p).log1p(), whole.log() - (-whole).log1p()

    @pointwise
    def cdf(x: Any, _rate: Any) -> Tensor:
        far, rate, t = _rate()
        near = x + x * (x - 1) * t * (0.5 + (2 * x - 1) * t / 12)
        return where(far, (rate * x).expm1() / rate.expm1(), near).clamp(min=0, max=1)

    def _quantile(self, u: Tensor, /) -> Tensor:
        far, rate, t = self._rate()
        near = u + u * (1 - u) * t * (0.5 + (1 - 2 * u) * t / 6)
        return where(far, (u * rate.expm1()).log1p() / rate, near)
