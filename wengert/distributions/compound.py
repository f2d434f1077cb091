"""Distributions made from several others: normal vectors broken off a stick, and mixtures."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from wengert.distributions import constraints
from wengert.distributions.discrete import Categorical
from wengert.distributions.distribution import Distribution, lengths
from wengert.distributions.family import family, quantity, region
from wengert.distributions.formulas import attribute
from wengert.distributions.location import LocationScale, Normal
from wengert.distributions.transformed import TransformedDistribution
from wengert.distributions.transforms import StickBreakingTransform
from wengert.functions.math import log_softmax
from wengert.functions.reductions import logsumexp
from wengert.history.modes import no_grad
from wengert.tensor import Tensor


@family(base="base_dist.base_dist")
class LogisticNormal(TransformedDistribution):
    """Probability vectors of K + 1 entries: normal vectors of K, broken off a stick.

    `StickBreakingTransform` says how. Unlike a Dirichlet distribution's, their entries can be
    correlated in any way (Aitchison and Shen, 1980).

    >>> import wengert as wg
    >>> LogisticNormal(wg.zeros(2), wg.ones(2)).event_shape
    torch.Size([3])
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = LocationScale.arg_constraints
    support: Any = constraints.simplex

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        base = base if base.batch_shape else base.expand((1,))
        super().__init__(base, StickBreakingTransform(), validate_args)

    loc = quantity(lambda base: base.loc)
    scale = quantity(lambda base: base.scale)


@family(mixture="_mixture", parts="_components", axis="_axis", weights="_weights")
class MixtureSameFamily(Distribution):
    """p(x) = sum_k weight_k p_k(x): the last batch dimension of the components is k.

    >>> import wengert as wg
    >>> from wengert.distributions import Normal
    >>> mix = MixtureSameFamily(Categorical(wg.ones(2)), Normal(wg.tensor([-1.0, 3.0]), 1.0))
    >>> mix.mean
    tensor(1.)
    """

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                " The Mixture distribution needs to be an instance of "
                f"wengert.distributions.Categorical, not {type(mixture_distribution).__name__}"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "The Component distribution needs to be an instance of "
                f"wengert.distributions.Distribution, not {type(component_distribution).__name__}"
            )
        batch = component_distribution.batch_shape
        k = mixture_distribution._num_events
        weights = tuple(mixture_distribution.batch_shape)
        if not batch or batch[-1] != k:
            raise ValueError(
                f"`mixture_distribution` has {k} components, but the last batch dimension of "
                f"`component_distribution` (batch_shape {tuple(batch)}) is not {k}"
            )
        if weights and weights != tuple(batch[:-1]):
            raise ValueError(
                f"`mixture_distribution.batch_shape` ({weights}) is not compatible with "
                f"`component_distribution.batch_shape` ({tuple(batch)})"
            )
        self._mixture, self._components = mixture_distribution, component_distribution
        super().__init__(
            batch[:-1], component_distribution.event_shape, validate_args=validate_args
        )

    mixture_distribution = attribute(lambda mixture: mixture)
    component_distribution = attribute(lambda parts: parts)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        new = self._fresh(_instance)
        batch = lengths(batch_shape, "batch_shape")
        components = self._components.expand((*batch, self._mixture._num_events))
        mixture = self._mixture.expand(batch)
        MixtureSameFamily.__init__(new, mixture, components, self._validate_args)
        return new

    @region
    def support(parts: Any) -> Any:
        support = parts.support
        if support is constraints.real or support is constraints.real_vector:
            return support
        return None  # each component checks it

    _axis = attribute(lambda event_shape: -1 - len(event_shape))
    _weights = quantity(
        lambda mixture, event_shape: mixture.probs[(..., *(None,) * len(event_shape))]
    )
    mean = quantity(lambda weights, parts, axis: (weights * parts.mean).sum(axis))

    @quantity
    def variance(weights: Any, parts: Any, mean: Any, axis: Any) -> Tensor:
        """The mean of the variances and the variance of the means."""
        spread = (parts.mean - mean.unsqueeze(axis)) ** 2
        return (weights * (parts.variance + spread)).sum(axis)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            # Weights without a batch are every mixture's, but each draws for itself.
            which = self._mixture.expand(self.batch_shape).sample(sample_shape)
            drawn = self._components.sample(sample_shape)
            shape = (*which.shape, 1, *self.event_shape)
            index = which.reshape((*which.shape, *(1,) * (1 + len(self.event_shape))))
            return drawn.gather(self._axis, index.expand(shape)).squeeze(self._axis)

    def _each(self, value: Any) -> Tensor:
        return self._value(value).unsqueeze(self._axis)

    def log_prob(self, value: Any) -> Tensor:
        inside = self._components.log_prob(self._each(value))
        return logsumexp(inside + log_softmax(self._mixture.logits, -1), -1)

    def cdf(self, value: Any) -> Tensor:
        return (self._components.cdf(self._each(value)) * self._mixture.probs).sum(-1)

    def __repr__(self) -> str:
        return f"MixtureSameFamily({self._mixture!r}, {self._components!r})"
