"""Distributions made from one other: more dimensions in an event, and functions of an outcome."""

from __future__ import annotations

from typing import Any, Self

from wengert.distributions import constraints
from wengert.distributions.distribution import Distribution, lengths, summed
from wengert.distributions.transforms import ComposeTransform, Transform
from wengert.functions.choosing import where
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

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        new = self._fresh(_instance)
        extra = self.base_dist.batch_shape[len(self.batch_shape) :]
        base = self.base_dist.expand((*lengths(batch_shape, "batch_shape"), *extra))
        Independent.__init__(new, base, self.reinterpreted_batch_ndims, self._validate_args)
        return new

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

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        new = self._fresh(_instance)
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
