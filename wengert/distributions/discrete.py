"""Discrete distributions. Their samples have no derivative: weigh by log_prob of what was drawn.

Those of a probability take `probs` or `logits`, log(p / (1 - p)) or unnormalised log p; the other
one is computed when it is asked for.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar

import numpy as np

from wengert.autograd.operands import cast
from wengert.dispatch import as_array
from wengert.distributions import constraints
from wengert.distributions.constraints import Constraint
from wengert.distributions.distribution import (
    Distribution,
    broadcast_all,
    lazy,
    numbers,
    one_of,
    softplus,
    tiny,
    uniforms,
)
from wengert.distributions.exp_family import ExponentialFamily
from wengert.distributions.family import (
    Family,
    Parameter,
    draw,
    expectation,
    family,
    natural,
    normalizer,
    pointwise,
    quantity,
    region,
)
from wengert.distributions.gamma import standard_gamma
from wengert.distributions.utils import logits_to_probs, probs_to_logits
from wengert.functions.arguments import constant
from wengert.functions.creation import full, full_like, zeros_like
from wengert.functions.elementary import lgamma, sigmoid
from wengert.functions.joining import stack
from wengert.functions.math import log_softmax
from wengert.functions.ranges import arange
from wengert.functions.shapes import broadcast_tensors
from wengert.functions.sorting import searchsorted
from wengert.functions.special import xlog1py, xlogy
from wengert.history.modes import no_grad
from wengert.tensor import Tensor


def _drawn(kind: str, shape: Any, *parameters: Tensor) -> Tensor:
    """What NumPy's generator draws, in the dtype of the last parameter, without history."""
    arrays = [x.detach()._array for x in parameters]
    drawn = getattr(numbers(), kind)(*arrays, tuple(shape))
    return constant(as_array(drawn).astype(parameters[-1].dtype))


def _enumerated(distribution: Distribution, count: int, expand: bool) -> Tensor:
    batch = distribution.batch_shape
    values = arange(count).reshape(count, *(1,) * len(batch))
    return values.expand((count, *batch)) if expand else values


class _OneGiven(Family):
    """Distributions that are given by one of two parameters."""

    @property
    def param(self) -> Tensor:
        """The parameter that was given."""
        return vars(self)[self._given[-1]]

    @property
    def param_shape(self) -> Any:
        return self.param.shape


class Chance(_OneGiven):
    """Distributions of one probability, given as itself or as its logit."""

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        (given,) = self._set(probs, logits)
        Distribution.__init__(self, given.shape, validate_args=validate_args)

    def _set(self, probs: Any, logits: Any, *others: Any) -> tuple[Tensor, ...]:
        name, given = one_of(probs=probs, logits=logits)
        parameters = broadcast_all(given, *others)
        vars(self)[name] = parameters[0]
        return parameters

    @lazy
    def probs(self) -> Tensor:
        """The probability."""
        return logits_to_probs(vars(self)["logits"], is_binary=True)

    @lazy
    def logits(self) -> Tensor:
        """log(p / (1 - p))."""
        return probs_to_logits(vars(self)["probs"], is_binary=True)


@family(p="probs")
class Bernoulli(Chance, ExponentialFamily):
    """1 with probability p, else 0.

    >>> import wengert as wg
    >>> Bernoulli(wg.tensor([0.25])).log_prob(wg.tensor([0.0])).exp()
    tensor([0.7500])
    """

    __init__ = Chance.__init__
    support = constraints.boolean
    has_enumerate_support = True

    mean = quantity(lambda p: p)
    mode = quantity(lambda p: (p >= 0.5).to(p.dtype).masked_fill(p == 0.5, math.nan))
    variance = quantity(lambda p: p * (1 - p))
    entropy = expectation(lambda p, logits: softplus(logits) - p * logits)
    log_prob = pointwise(lambda k, logits: k * logits - softplus(logits))
    sample = draw(lambda shape, p: (uniforms(shape, p) < p).to(p.dtype))
    _natural_params = natural(lambda logits: (logits,))
    _log_normalizer = normalizer(softplus)
    _mean_carrier_measure = 0.0

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return _enumerated(self, 2, expand).to(self.probs.dtype)


@family(n="total_count", p="probs")
class Binomial(Chance):
    """The number of successes in `total_count` trials of probability p.

    p(k) = n! / (k! (n - k)!) p^k (1 - p)^(n - k), k = 0 ... n. `total_count` may be a tensor; the
    entropy and the list of outcomes need all of its elements to be equal (NotImplementedError).

    >>> Binomial(4, 0.5).log_prob(2).exp()
    tensor(0.3750)
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "total_count": constraints.nonnegative_integer,
        **Chance.arg_constraints,
    }
    has_enumerate_support = True

    def __init__(
        self,
        total_count: Any = 1,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        _, self.total_count = self._set(probs, logits, total_count)
        Distribution.__init__(self, self.total_count.shape, validate_args=validate_args)

    support = region(lambda n: constraints.integer_interval(0, n), is_discrete=True)

    mean = quantity(lambda n, p: n * p)
    mode = quantity(lambda n, p: ((n + 1) * p).floor().clamp(max=n))
    variance = quantity(lambda n, p: n * p * (1 - p))
    sample = draw(lambda shape, n, p: _drawn("binomial", shape, n.to(np.dtype(np.int64)), p))

    @pointwise
    def log_prob(k: Any, logits: Any, n: Any) -> Tensor:
        ways = lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
        return ways + k * logits - n * softplus(logits)

    @expectation
    def entropy(log_prob: Any, enumerate_support: Any) -> Tensor:
        log = log_prob(enumerate_support(False))
        return -(log.exp() * log).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n = int(self.total_count.max().item())
        if self.total_count.min().item() != n:
            raise NotImplementedError(
                "the outcomes of binomial distributions, of which an entropy is a sum, have one "
                f"list only if all have as many, but these have different numbers: "
                f"{self.total_count!r}. Take those of each alone."
            )
        return _enumerated(self, n + 1, expand).to(self.probs.dtype)


@family(p="probs")
class Geometric(Chance):
    """The number of failures before the first success of probability p: 0, 1, ...

    p(k) = p (1 - p)^k.

    >>> Geometric(0.25).mean
    tensor(3.)
    """

    __init__ = Chance.__init__
    support = constraints.nonnegative_integer

    _related: ClassVar[Any] = {"probs": lambda self: constraints.positive}

    mean = quantity(lambda p: 1 / p - 1)
    mode = quantity(lambda p: zeros_like(p))
    variance = quantity(lambda p: (1 / p - 1) / p)
    entropy = expectation(lambda p, logits: (softplus(logits) - p * logits) / p)
    log_prob = pointwise(lambda k, p: xlog1py(k, -p) + p.log())
    sample = draw(lambda shape, p: (uniforms(shape, p).log() / (-p).log1p()).floor())


@family(n="total_count")
class NegativeBinomial(Chance):
    """The number of successes, of probability p each, before `total_count` failures.

    p(k) = Gamma(n + k) / (k! Gamma(n)) (1 - p)^n p^k; n = `total_count` need not be an integer. It
    is a Poisson distribution whose rate is a gamma variable.

    >>> NegativeBinomial(3.0, 0.5).mean
    tensor(3.)
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(
        self,
        total_count: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        _, self.total_count = self._set(probs, logits, total_count)
        Distribution.__init__(self, self.total_count.shape, validate_args=validate_args)

    mean = quantity(lambda n, logits: n * logits.exp())
    mode = quantity(lambda n, logits: ((n - 1) * logits.exp()).floor().clamp(min=0))
    variance = quantity(lambda mean, logits: mean / sigmoid(-logits))
    sample = draw(
        lambda shape, n, logits: _drawn("poisson", shape, standard_gamma(n, shape) * logits.exp())
    )

    @pointwise
    def log_prob(k: Any, logits: Any, n: Any) -> Tensor:
        # Gamma(n + k) / Gamma(n) is 1 for k = 0, at n = 0 too.
        ways = (lgamma(n + k) - lgamma(n)).masked_fill(n + k == 0, 0.0) - lgamma(1 + k)
        return ways - n * softplus(logits) - k * softplus(-logits)


@family()
class Poisson(Family, ExponentialFamily):
    """p(k) = rate^k exp(-rate) / k!

    >>> Poisson(2.0).log_prob(0).exp()
    tensor(0.1353)
    """

    rate: Annotated[Parameter, constraints.nonnegative]
    support = constraints.nonnegative_integer

    mean = variance = quantity(lambda rate: rate)
    mode = quantity(lambda rate: rate.floor())
    log_prob = pointwise(lambda k, rate: xlogy(k, rate) - rate - lgamma(k + 1))
    sample = draw(lambda shape, rate: _drawn("poisson", shape, rate))
    _natural_params = natural(lambda rate: (rate.log(),))
    _log_normalizer = normalizer(lambda x: x.exp())


@family()
class Categorical(_OneGiven):
    """An index 0..K-1 with probabilities along the last dimension of `probs` or `logits`.

    `probs` need not sum to 1, `logits` not be normalised: both are.

    >>> import wengert as wg
    >>> Categorical(wg.tensor([1.0, 3.0])).log_prob(wg.tensor(1)).exp()
    tensor(0.7500)
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    has_enumerate_support = True

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        name, given = one_of(probs=probs, logits=logits)
        (given,) = broadcast_all(given)
        if given.ndim < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if name == "probs":
            vars(self)[name] = given / given.sum(-1, True)
        else:
            vars(self)[name] = log_softmax(given, -1)
        self._num_events = int(given.shape[-1])
        Distribution.__init__(self, given.shape[:-1], validate_args=validate_args)

    @lazy
    def probs(self) -> Tensor:
        """The probabilities."""
        return logits_to_probs(vars(self)["logits"])

    @lazy
    def logits(self) -> Tensor:
        """Their logarithms."""
        return probs_to_logits(vars(self)["probs"])

    support = region(
        lambda _num_events: constraints.integer_interval(0, _num_events - 1), is_discrete=True
    )

    # Indices have no mean.
    mean = variance = quantity(lambda probs: full_like(probs[..., 0], math.nan))
    mode = quantity(lambda probs: probs.argmax(-1))
    entropy = expectation(
        lambda probs, logits: -(logits.clamp(min=np.finfo(logits.dtype).min) * probs).sum(-1)
    )

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            ends = self.probs.cumsum(-1)
            shape = self._extended_shape(sample_shape)
            # Which interval has u times the total in it; the total is not exactly 1. A sample is
            # as many as the first K - 1 intervals that end there or before.
            u = uniforms(shape, ends)
            inner, rows = ends[..., :-1], math.prod(self._batch_shape)
            if rows * rows > u.numel():  # few numbers for each of many rows
                return (u.unsqueeze(-1) * ends[..., -1:] >= inner).sum(-1)
            u = u.reshape(-1, *self._batch_shape).movedim(0, -1) * ends[..., -1:]
            return searchsorted(inner, u, right=True).movedim(-1, 0).reshape(shape)

    @pointwise
    def log_prob(x: Any, logits: Any) -> Tensor:
        index = cast(x, np.dtype(np.int64)).unsqueeze(-1)
        shape = np.broadcast_shapes(tuple(index.shape[:-1]), tuple(logits.shape[:-1]))
        index = index.expand((*shape, 1))
        return logits.expand((*shape, logits.shape[-1])).gather(-1, index).squeeze(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return _enumerated(self, self._num_events, expand)


@family(index="_categorical")
class OverCategories(Distribution):
    """Vectors with an entry for each outcome of the categorical distribution inside."""

    arg_constraints: ClassVar[dict[str, Constraint]] = Categorical.arg_constraints
    _categorical: Categorical

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits, validate_args)
        inner = self._categorical
        Distribution.__init__(
            self, inner.batch_shape, (inner._num_events,), validate_args=validate_args
        )

    probs = quantity(lambda index: index.probs)
    logits = quantity(lambda index: index.logits)
    param_shape = quantity(lambda index: index.param_shape)

    def _one_hot(self, index: Tensor) -> Tensor:
        return (index.unsqueeze(-1) == arange(self._categorical._num_events)).to(self.probs.dtype)


@family(p="probs", index="_categorical")
class OneHotCategorical(OverCategories):
    """`Categorical` with outcomes as vectors of a 1 among zeros.

    >>> OneHotCategorical([1.0, 3.0]).mean
    tensor([0.2500, 0.7500])
    """

    __init__ = OverCategories.__init__
    support = constraints.one_hot
    has_enumerate_support = True

    mean = quantity(lambda p: p)
    mode = quantity(lambda index, _one_hot: _one_hot(index.mode))
    variance = quantity(lambda p: p * (1 - p))
    entropy = expectation(lambda index: index.entropy())
    log_prob = pointwise(lambda x, index: index.log_prob(x.argmax(-1)))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self._one_hot(self._categorical.sample(sample_shape))

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._one_hot(self._categorical.enumerate_support(expand))


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """One-hot samples whose gradient is that of the probabilities (Bengio et al., 2013): biased.

    >>> import wengert as wg
    >>> logits = wg.zeros(3, requires_grad=True)
    >>> x = OneHotCategoricalStraightThrough(logits=logits).rsample()
    >>> wg.autograd.grad(x[0], logits)[0]
    tensor([ 0.2222, -0.1111, -0.1111])
    """

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


@family(n="total_count", p="probs")
class Multinomial(OverCategories):
    """How often each of K outcomes came up in `total_count` draws.

    p(x) = n! prod_i p_i^x_i / x_i! for counts x with the sum n = `total_count`, which is one number
    for the whole batch. Sampling draws once for each outcome.

    >>> Multinomial(2, [0.5, 0.5]).log_prob([1.0, 1.0]).exp()
    tensor(0.5000)
    """

    def __init__(
        self,
        total_count: int = 1,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError(
                "inhomogeneous total_count is not supported: "
                f"it must be an int, got {total_count!r}"
            )
        self.total_count = total_count
        super().__init__(probs, logits, validate_args)

    _related: ClassVar[Any] = {"total_count": lambda self: constraints.nonnegative_integer}
    support = region(lambda n: constraints.multinomial(n), is_discrete=True, event_dim=1)

    mean = quantity(lambda n, p: p * n)
    variance = quantity(lambda n, p: n * p * (1 - p))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)[:-1]
        probs = self.probs.detach().to(np.dtype(np.float64))
        # How often each outcome came up, given the others before it: binomial.
        left = full(shape, self.total_count, dtype=np.dtype(np.int64))
        rest = probs.flip(-1).cumsum(-1).flip(-1).clamp(min=tiny(probs))
        counts = []
        for i in range(self.event_shape[0] - 1):
            chance = (probs[..., i] / rest[..., i]).clamp(max=1.0)
            counts.append(_drawn("binomial", shape, left, chance).to(left.dtype))
            left = left - counts[-1]
        return stack([*counts, left], -1).to(self.probs.dtype)

    def log_prob(self, value: Any) -> Tensor:
        value, logits = broadcast_tensors(self._value(value), self.logits)
        impossible = (value == 0) & (logits == -math.inf)
        logits = logits.masked_fill(impossible, 0.0)
        return lgamma(value.sum(-1) + 1) - lgamma(value + 1).sum(-1) + (logits * value).sum(-1)

    @expectation
    def entropy(p: Any, batch_shape: Any, _categorical: Any, n: Any) -> Tensor:
        """H = n H(p) - log n! + sum_i E[log x_i!], each x_i binomial."""
        counts = Binomial(n, p)
        k = arange(1, n + 1).to(p.dtype).reshape(n, *(1,) * (len(batch_shape) + 1))
        spread = (counts.log_prob(k).exp() * lgamma(k + 1)).sum((0, -1))
        return n * _categorical.entropy() - math.lgamma(n + 1) + spread
