"""Distributions made from others: events of several dimensions, transformed ones, mixtures."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from wengert.distributions import constraints
from wengert.distributions.discrete import Categorical
from wengert.distributions.distribution import Distribution, summed
from wengert.distributions.location import LocationScale, Normal
from wengert.distributions.transforms import (
    ComposeTransform,
    StickBreakingTransform,
    Transform,
)
from wengert.functions.choosing import where
from wengert.functions.math import log_softmax
from wengert.functions.reductions import logsumexp
from wengert.history.modes import no_grad
from wengert.tensor import Tensor


class Independent(Distribution):
    """The last batch dimensions of `base` as dimensions of the event: log_prob sums over them.

    >>> import wengert as wg
    >>> from wengert.distributions import Normal
    >>> d = Independent(Normal(wg.zeros(3), 1.0), 1)
    >>> d.batch_shape, d.event_shape
    (torch.Size([]), torch.Size([3]))
    """

    def __init__(
        self,
        base_distribution: Distribution,
        reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ) -> None:
        n, batch = reinterpreted_batch_ndims, base_distribution.batch_shape
        if n > len(batch):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                f"actual {n} vs {len(batch)}"
            )
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, n
        self.has_rsample = base_distribution.has_rsample
        self.has_enumerate_support = n == 0 and base_distribution.has_enumerate_support
        split = len(batch) - n
        event = (*batch[split:], *base_distribution.event_shape)
        super().__init__(batch[:split], event, validate_args=validate_args)

    def expand(self, batch_shape: Any) -> Self:
        extra = self.base_dist.batch_shape[len(self.batch_shape) :]
        base = self.base_dist.expand((*batch_shape, *extra))
        return type(self)(base, self.reinterpreted_batch_ndims, self._validate_args)

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        return constraints.independent(self.base_dist.support, self.reinterpreted_batch_ndims)

    @property
    def mean(self) -> Tensor:
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Any) -> Tensor:
        return summed(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        return summed(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand)

    def __repr__(self) -> str:
        return f"Independent({self.base_dist!r}, {self.reinterpreted_batch_ndims})"


class TransformedDistribution(Distribution):
    """y = t(x) for x from `base_distribution`: log p(y) = log p(x) - log |dt/dx|.

    >>> import wengert as wg
    >>> from wengert.distributions import Normal, ExpTransform
    >>> d = TransformedDistribution(Normal(0.0, 1.0), [ExpTransform()])  # log-normal
    >>> d.log_prob(wg.tensor(1.0))
    tensor(-0.9189)
    """

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Transform | list[Transform],
        validate_args: bool | None = None,
    ) -> None:
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        if not all(isinstance(t, Transform) for t in self.transforms):
            raise ValueError(f"transforms must be Transforms, got {transforms!r}")
        self._whole = whole = ComposeTransform(self.transforms)
        shape = (*base_distribution.batch_shape, *base_distribution.event_shape)
        rank = whole.domain.event_dim
        if len(shape) < rank:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {rank}, but got {shape}."
            )
        more = rank - len(base_distribution.event_shape)
        if more > 0:
            base_distribution = Independent(base_distribution, more)
        self.base_dist = base_distribution
        self.has_rsample = base_distribution.has_rsample
        event = whole.codomain.event_dim + max(0, -more)
        after = whole.forward_shape(shape)
        split = len(after) - event
        super().__init__(after[:split], after[split:], validate_args=validate_args)

    def expand(self, batch_shape: Any) -> Self:
        new = object.__new__(type(self))
        TransformedDistribution.__init__(
            new, self.base_dist.expand(batch_shape), self.transforms, self._validate_args
        )
        return new

    @constraints.dependent_property
    def support(self) -> constraints.Constraint | None:
        if not self.transforms:
            return self.base_dist.support
        last = self.transforms[-1].codomain
        return constraints.independent(last, len(self.event_shape) - last.event_dim)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            return self._whole(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self._whole(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Any) -> Tensor:
        y = self._value(value)
        rank = len(self.event_shape)
        total: Any = 0.0
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            rank += transform.domain.event_dim - transform.codomain.event_dim
            log = transform.log_abs_det_jacobian(x, y)
            total = total - summed(log, rank - transform.domain.event_dim)
            y = x
        base = self.base_dist
        return total + summed(base.log_prob(y), rank - len(base.event_shape))

    def cdf(self, value: Any) -> Tensor:
        below = self.base_dist.cdf(self._whole.inv(self._value(value)))
        return self._oriented(below)

    def icdf(self, value: Any) -> Tensor:
        return self._whole(self.base_dist.icdf(self._oriented(value)))

    def _oriented(self, probability: Any) -> Any:
        """The probability of being below, from that of the base: above, if the map decreases."""
        sign = self._whole.sign
        if isinstance(sign, Tensor):
            return where(sign > 0, probability, 1 - probability)
        return probability if sign > 0 else 1 - probability

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist!r}, {self.transforms!r})"


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

    @property
    def loc(self) -> Tensor:
        return self.base_dist.base_dist.loc  # type: ignore[attr-defined]

    @property
    def scale(self) -> Tensor:
        return self.base_dist.base_dist.scale  # type: ignore[attr-defined]


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

    @property
    def mixture_distribution(self) -> Categorical:
        return self._mixture

    @property
    def component_distribution(self) -> Distribution:
        return self._components

    def expand(self, batch_shape: Any) -> Self:
        k = self._mixture._num_events
        components = self._components.expand((*batch_shape, k))
        return type(self)(self._mixture.expand(batch_shape), components, self._validate_args)

    @constraints.dependent_property
    def support(self) -> Any:
        support = self._components.support
        if support is constraints.real or support is constraints.real_vector:
            return support
        return None  # each component checks it

    def _weights(self) -> Tensor:
        probs = self._mixture.probs
        return probs.reshape((*probs.shape, *(1,) * len(self.event_shape)))

    @property
    def _axis(self) -> int:
        return -1 - len(self.event_shape)

    @property
    def mean(self) -> Tensor:
        return (self._weights() * self._components.mean).sum(self._axis)

    @property
    def variance(self) -> Tensor:
        """The mean of the variances and the variance of the means."""
        weights, means = self._weights(), self._components.mean
        spread = (means - self.mean.unsqueeze(self._axis)) ** 2
        return (weights * (self._components.variance + spread)).sum(self._axis)

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
