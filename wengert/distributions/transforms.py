"""Invertible functions with the logarithms of their Jacobians' determinants.

`t(x)` applies one, `t.inv(y)` undoes it, and `t.log_abs_det_jacobian(x, y)` is log |dy/dx|, summed
over the `event_dim` last dimensions that it acts on together.

>>> import wengert as wg
>>> t = ComposeTransform([AffineTransform(1.0, 2.0), ExpTransform()])
>>> x = wg.tensor([0.0, 1.0], dtype=wg.float64)
>>> y = t(x)  # exp(1 + 2 x)
>>> wg.allclose(t.inv(y), x)
True
>>> t.log_abs_det_jacobian(x, y)  # log 2 + 1 + 2 x
tensor([1.6931, 3.6931], dtype=wengert.float64)
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from wengert.distributions import constraints
from wengert.distributions.constraints import Constraint
from wengert.distributions.distribution import Distribution, eps, softplus, summed, tiny
from wengert.functions.comparison import equal
from wengert.functions.creation import as_tensor, full_like, zeros_like
from wengert.functions.decompositions import cholesky
from wengert.functions.joining import cat, stack
from wengert.functions.math import sigmoid, softmax
from wengert.functions.ranges import arange, eye
from wengert.functions.shapes import tril_indices
from wengert.tensor import Tensor


class Transform:
    """A differentiable function of tensors; a bijective one has an inverse.

    A subclass defines `_call(x)` and, as far as they exist, `_inverse(y)`,
    `log_abs_det_jacobian(x, y)` and `sign`; `domain` and `codomain` are constraints.
    With `cache_size=1` it remembers its last argument and result, so that the inverse of a result
    just computed is the argument itself: exact where the inverse loses precision, as that of a
    saturated tanh does.

    >>> import wengert as wg
    >>> class Cube(Transform):
    ...     def _call(self, x):
    ...         return x**3
    >>> Cube()(wg.tensor(2.0)), Cube()
    (tensor(8.), Cube())
    """

    bijective = False
    domain: Any = constraints.real
    codomain: Any = constraints.real
    _cache_size = 0
    _last: tuple[Any, Any] = (None, None)

    def __init__(self, cache_size: int = 0) -> None:
        self._remember(cache_size)

    def _remember(self, cache_size: int) -> None:
        if cache_size not in (0, 1):
            raise ValueError(f"cache_size must be 0 or 1, not {cache_size!r}")
        self._cache_size = cache_size
        self._last = (None, None)

    def __call__(self, x: Tensor) -> Tensor:
        known_x, known_y = self._last
        if x is known_x:
            return known_y
        y = self._call(x)
        if self._cache_size:
            self._last = x, y
        return y

    def _undo(self, y: Tensor) -> Tensor:
        known_x, known_y = self._last
        if y is known_y:
            return known_x
        x = self._inverse(y)
        if self._cache_size:
            self._last = x, y
        return x

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} does not define _call")

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no inverse")

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log |dy/dx| at x, where y = self(x) is known."""
        raise NotImplementedError(f"{type(self).__name__} does not define log_abs_det_jacobian")

    @property
    def event_dim(self) -> int:
        """How many trailing dimensions are transformed together."""
        before, after = self.domain.event_dim, self.codomain.event_dim
        if before != after:
            raise ValueError(
                f"the event_dim of {type(self).__name__} is {before} of its domain, {after} of "
                "its codomain: ask one of them, as in t.domain.event_dim"
            )
        return int(before)

    @property
    def inv(self) -> Transform:
        """The inverse as a transform."""
        return _Inverse(self)

    @property
    def sign(self) -> Any:
        """+1 or -1: whether it increases or decreases."""
        raise NotImplementedError(f"{type(self).__name__} is neither increasing nor decreasing")

    def with_cache(self, cache_size: int = 1) -> Self:
        """The same transform with another `cache_size`."""
        new = object.__new__(type(self))
        vars(new).update(vars(self))
        new._remember(cache_size)
        return new

    def forward_shape(self, shape: Any) -> tuple[int, ...]:
        """The shape of the result for an argument of `shape`."""
        return tuple(shape)

    def inverse_shape(self, shape: Any) -> tuple[int, ...]:
        """The shape of the argument for a result of `shape`."""
        return tuple(shape)

    def _settings(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k not in ("_last", "_cache_size")}

    def __eq__(self, other: object) -> bool:
        """Whether two transforms are the same function: one class, equal settings."""
        if self is other:
            return True
        if type(self) is not type(other):
            return False
        assert isinstance(other, Transform)
        mine, theirs = self._settings(), other._settings()
        return mine.keys() == theirs.keys() and all(
            _alike(value, theirs[name]) for name, value in mine.items()
        )

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def _alike(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return a is b or (a.shape == b.shape and equal(a, b))
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return False
    if isinstance(a, Constraint):
        return repr(a) == repr(b)
    return bool(a == b)


class _Inverse(Transform):
    def __init__(self, transform: Transform) -> None:
        super().__init__()
        self._of = transform

    @property
    def domain(self) -> Constraint:
        return self._of.codomain

    @property
    def codomain(self) -> Constraint:
        return self._of.domain

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return self._of.bijective

    @property
    def inv(self) -> Transform:
        return self._of

    @property
    def sign(self) -> Any:
        return self._of.sign

    def with_cache(self, cache_size: int = 1) -> Any:
        return self._of.with_cache(cache_size).inv

    def _call(self, x: Tensor) -> Tensor:
        return self._of._undo(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self._of(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._of.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> tuple[int, ...]:
        return self._of.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> tuple[int, ...]:
        return self._of.forward_shape(shape)

    def __repr__(self) -> str:
        return f"{self._of!r}.inv"


class ExpTransform(Transform):
    """y = exp(x).

    >>> import wengert as wg
    >>> ExpTransform().inv(wg.tensor(1.0))
    tensor(0.)
    """

    bijective = True
    codomain = constraints.positive
    sign = 1

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class PowerTransform(Transform):
    """y = x^exponent for x > 0; the exponent is a number or a tensor, and not 0.

    >>> import wengert as wg
    >>> PowerTransform(2)(wg.tensor(3.0))
    tensor(9.)
    """

    bijective = True
    domain = codomain = constraints.positive

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.exponent = exponent

    @property
    def sign(self) -> Any:
        return _sign(self.exponent)

    def _call(self, x: Tensor) -> Tensor:
        return x**self.exponent

    def _inverse(self, y: Tensor) -> Tensor:
        return y ** (1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> tuple[int, ...]:
        return _broadcast(shape, self.exponent)

    inverse_shape = forward_shape


def _sign(x: Any) -> Any:
    return x.sign() if isinstance(x, Tensor) else math.copysign(1, x)


def _broadcast(shape: Any, *others: Any) -> tuple[int, ...]:
    return np.broadcast_shapes(tuple(shape), *(tuple(getattr(x, "shape", ())) for x in others))


class SigmoidTransform(Transform):
    """y = 1 / (1 + exp(-x)); the inverse of 0 and of 1 is finite."""

    bijective = True
    codomain = constraints.unit_interval
    sign = 1

    def _call(self, x: Tensor) -> Tensor:
        return sigmoid(x)

    def _inverse(self, y: Tensor) -> Tensor:
        y = y.clamp(min=tiny(y), max=1 - eps(y) / 2)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(x) - softplus(-x)


class SoftplusTransform(Transform):
    """y = log(1 + exp(x))."""

    bijective = True
    codomain = constraints.positive
    sign = 1

    def _call(self, x: Tensor) -> Tensor:
        return softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-(-y).expm1()).log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x)


class TanhTransform(Transform):
    """y = tanh(x). With `cache_size=1` the inverse of a result that rounds to 1 is finite."""

    bijective = True
    codomain = constraints.interval(-1.0, 1.0)
    sign = 1

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return _log_slope_of_tanh(x)


def _log_slope_of_tanh(x: Tensor) -> Tensor:
    """log(1 - tanh^2 x), without the cancellation: 2 (log 2 - x - log(1 + e^(-2 x)))."""
    return 2 * (math.log(2) - x - softplus(-2 * x))


class AbsTransform(Transform):
    """y = |x|, which is not invertible: `inv` gives the positive one of the two arguments."""

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class AffineTransform(Transform):
    """y = loc + scale x, of numbers or tensors; `event_dim` dimensions make one event.

    >>> import wengert as wg
    >>> AffineTransform(1.0, 2.0)(wg.tensor([0.0, 1.0]))
    tensor([1., 3.])
    """

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    @property
    def domain(self) -> Constraint:
        return constraints.independent(constraints.real, self._event_dim)

    codomain = domain

    @property
    def sign(self) -> Any:
        return _sign(self.scale)

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        scale = self.scale
        log = scale.abs().log() if isinstance(scale, Tensor) else math.log(abs(scale))
        return summed(zeros_like(x) + log, self._event_dim)

    def forward_shape(self, shape: Any) -> tuple[int, ...]:
        return _broadcast(shape, self.loc, self.scale)

    inverse_shape = forward_shape


class SoftmaxTransform(Transform):
    """y = softmax(x) along the last dimension; its inverse, log y, is one of many."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        return softmax(x, -1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()


class StickBreakingTransform(Transform):
    """K numbers to K + 1 probabilities: each takes its share of what is left of a stick.

    y_i = z_i prod_(j<i) (1 - z_j),  z_i = sigmoid(x_i - log(K - i)),  so that x = 0 breaks evenly
    (the Stan reference manual, "Unit simplex").

    >>> import wengert as wg
    >>> StickBreakingTransform()(wg.zeros(3))
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    bijective = True
    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        z = sigmoid(x - self._offset(x))
        left = (1 - z).cumprod(-1)
        one = full_like(x[..., :1], 1.0)
        return cat([z, one], -1) * cat([one, left], -1)

    @staticmethod
    def _offset(x: Tensor) -> Tensor:
        """log of how many pieces are to come."""
        n = x.shape[-1]
        return (n - arange(n).to(x.dtype)).log()

    def _inverse(self, y: Tensor) -> Tensor:
        left = (1 - y[..., :-1].cumsum(-1)).clamp(min=tiny(y))
        x = y[..., :-1].log() - left.log()
        return x + self._offset(x)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        # dy_i / dx_i = y_i (1 - z_i), and the matrix is triangular.
        return (y[..., :-1].log() - softplus(x - self._offset(x))).sum(-1)

    def forward_shape(self, shape: Any) -> tuple[int, ...]:
        return (*shape[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: Any) -> tuple[int, ...]:
        return (*shape[:-1], shape[-1] - 1)


class LowerCholeskyTransform(Transform):
    """A square matrix to a lower triangular one with the exponentials of its diagonal.

    What is above the diagonal is lost; the inverse puts zeros there.

    >>> import wengert as wg
    >>> LowerCholeskyTransform()(wg.tensor([[0.0, 5.0], [2.0, 0.0]]))
    tensor([[1., 0.],
            [2., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    """A square matrix to L L^T, where L is what `LowerCholeskyTransform` makes of it."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(cholesky(y))


class CorrCholeskyTransform(Transform):
    """D (D - 1) / 2 numbers to the Cholesky factor of a D x D correlation matrix.

    Row i of the factor is a unit vector: with z = tanh(x), each entry takes its share of the length
    that is left, L_ij = z_ij prod_(k<j) sqrt(1 - z_ik^2) for j < i, and the diagonal takes the rest
    (the Stan reference manual, "Correlation matrix transform").

    >>> import wengert as wg
    >>> CorrCholeskyTransform()(wg.zeros(1))
    tensor([[1., 0.],
            [0., 1.]])
    """

    bijective = True
    domain = constraints.real_vector
    codomain = constraints.corr_cholesky

    def _call(self, x: Tensor) -> Tensor:
        z = _strict_lower(x.tanh(), self.forward_shape(x.shape)[-1])
        left = (1 - z * z).sqrt().cumprod(-1)
        # The diagonal's share is 1: z of it is 0 so far, and of what is above it too.
        whole = z + eye(z.shape[-1], dtype=z.dtype)
        return whole * cat([full_like(left[..., :1], 1.0), left[..., :-1]], -1)

    def _inverse(self, y: Tensor) -> Tensor:
        left = 1 - (y * y).cumsum(-1)
        before = cat([full_like(left[..., :1], 1.0), left[..., :-1]], -1)
        n = y.shape[-1]
        rows, columns = tril_indices(n, n, -1)
        share = y[..., rows, columns] / before[..., rows, columns].clamp(min=tiny(y)).sqrt()
        return share.clamp(min=-1 + eps(y) / 2, max=1 - eps(y) / 2).atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Of the strictly lower entries of y by x."""
        slope = _log_slope_of_tanh(x)
        n = self.forward_shape(x.shape)[-1]
        # Each entry was scaled by the root of what the entries before it in its row had left.
        left = _strict_lower(slope, n).cumsum(-1)
        rows, columns = tril_indices(n, n, -1)
        before = cat([zeros_like(left[..., :1]), left[..., :-1]], -1)[..., rows, columns]
        return (slope + before / 2).sum(-1)

    def forward_shape(self, shape: Any) -> tuple[int, ...]:
        if not shape:
            raise ValueError("CorrCholeskyTransform takes vectors, but a number was given")
        n = round((1 + math.sqrt(1 + 8 * shape[-1])) / 2)
        if n * (n - 1) // 2 != shape[-1]:
            raise ValueError(
                "CorrCholeskyTransform takes D (D - 1) / 2 numbers, 1, 3, 6, 10, ..., but the "
                f"last dimension of {tuple(shape)} is {shape[-1]}"
            )
        return (*shape[:-1], n, n)

    def inverse_shape(self, shape: Any) -> tuple[int, ...]:
        if len(shape) < 2 or shape[-1] != shape[-2]:
            raise ValueError(f"the factor is a square matrix, but the shape is {tuple(shape)}")
        n = shape[-1]
        return (*shape[:-2], n * (n - 1) // 2)


def _strict_lower(entries: Tensor, n: int) -> Tensor:
    """The n x n matrix with these below its diagonal, row by row, and zeros elsewhere."""
    place = np.zeros((n, n), np.int64)
    place[np.tril_indices(n, -1)] = np.arange(1, n * (n - 1) // 2 + 1)
    return cat([zeros_like(entries[..., :1]), entries], -1)[..., as_tensor(place)]


class CumulativeDistributionTransform(Transform):
    """y = P(x), the distribution function: uniform, if x has that distribution.

    Its inverse turns uniform numbers into those of the distribution, and a chain of one and
    another's inverse is a copula's marginal.

    >>> import wengert as wg
    >>> from wengert.distributions import Exponential
    >>> CumulativeDistributionTransform(Exponential(1.0)).inv(wg.tensor(0.5))
    tensor(0.6931)
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = 1

    def __init__(self, distribution: Distribution, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        return self.distribution.support

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)


class ReshapeTransform(Transform):
    """The event in another shape with as many elements.

    >>> import wengert as wg
    >>> ReshapeTransform((4,), (2, 2))(wg.zeros(3, 4)).shape
    torch.Size([3, 2, 2])
    """

    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.in_shape, self.out_shape = tuple(in_shape), tuple(out_shape)
        if math.prod(self.in_shape) != math.prod(self.out_shape):
            raise ValueError(
                f"in_shape, out_shape have different numbers of elements: {self.in_shape} and "
                f"{self.out_shape}"
            )
        self.domain = constraints.independent(constraints.real, len(self.in_shape))
        self.codomain = constraints.independent(constraints.real, len(self.out_shape))

    def _batch(self, x: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
        batch, event = x[: len(x) - len(shape)], x[len(x) - len(shape) :]
        if tuple(event) != shape:
            raise ValueError(f"expected a shape that ends with {shape}, got {tuple(x)}")
        return tuple(batch)

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(self.forward_shape(x.shape))

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(self.inverse_shape(y.shape))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return summed(zeros_like(x), len(self.in_shape))

    def forward_shape(self, shape: Any) -> tuple[int, ...]:
        return (*self._batch(shape, self.in_shape), *self.out_shape)

    def inverse_shape(self, shape: Any) -> tuple[int, ...]:
        return (*self._batch(shape, self.out_shape), *self.in_shape)


class IndependentTransform(Transform):
    """A transform of each entry, with the determinant summed over the last dimensions.

    >>> import wengert as wg
    >>> x = wg.ones(2)
    >>> IndependentTransform(ExpTransform(), 1).log_abs_det_jacobian(x, x.exp())
    tensor(2.)
    """

    def __init__(
        self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size)
        self.base_transform = base_transform
        self.reinterpreted_batch_ndims = n = reinterpreted_batch_ndims
        self.bijective = base_transform.bijective
        self.domain = constraints.independent(base_transform.domain, n)
        self.codomain = constraints.independent(base_transform.codomain, n)

    @property
    def sign(self) -> Any:
        return self.base_transform.sign

    def _call(self, x: Tensor) -> Tensor:
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        found = self.base_transform.log_abs_det_jacobian(x, y)
        return summed(found, self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Any) -> tuple[int, ...]:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> tuple[int, ...]:
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        return f"IndependentTransform({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class ComposeTransform(Transform):
    """Transforms one after the other, the first first.

    >>> import wengert as wg
    >>> ComposeTransform([AffineTransform(0.0, 2.0), ExpTransform()]).inv(wg.tensor(1.0))
    tensor(0.)
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = [part.with_cache(cache_size) if cache_size else part for part in parts]
        self.bijective = all(part.bijective for part in self.parts)

    def _ranks(self) -> tuple[int, int]:
        """Event dimensions of argument and result, so that every part has those it needs."""
        before = after = 0
        for part in self.parts:
            extra = max(0, part.domain.event_dim - after)
            before += extra
            after += extra + part.codomain.event_dim - part.domain.event_dim
        return before, after

    @property
    def domain(self) -> Constraint:
        if not self.parts:
            return constraints.real
        first = self.parts[0].domain
        return constraints.independently(first, self._ranks()[0] - first.event_dim)

    @property
    def codomain(self) -> Constraint:
        if not self.parts:
            return constraints.real
        last = self.parts[-1].codomain
        return constraints.independently(last, self._ranks()[1] - last.event_dim)

    @property
    def sign(self) -> Any:
        return math.prod([part.sign for part in self.parts])

    def _call(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def _inverse(self, y: Tensor) -> Tensor:
        for part in reversed(self.parts):
            y = part.inv(y)
        return y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        rank = self._ranks()[0]
        total: Any = None
        for i, part in enumerate(self.parts):
            z = y if i == len(self.parts) - 1 else part(x)
            term = summed(part.log_abs_det_jacobian(x, z), rank - part.domain.event_dim)
            total = term if total is None else total + term
            rank += part.codomain.event_dim - part.domain.event_dim
            x = z
        return zeros_like(x) if total is None else total

    def with_cache(self, cache_size: int = 1) -> Any:
        return ComposeTransform([part.with_cache(cache_size) for part in self.parts], cache_size)

    def forward_shape(self, shape: Any) -> tuple[int, ...]:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return tuple(shape)

    def inverse_shape(self, shape: Any) -> tuple[int, ...]:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return tuple(shape)

    def __repr__(self) -> str:
        inside = "".join(f"\n    {part!r}," for part in self.parts).removesuffix(",")
        return f"ComposeTransform({inside}\n)" if self.parts else "ComposeTransform()"


identity_transform = ComposeTransform([])


class _Beside(Transform):
    """Transforms of parts that lie beside each other along one dimension."""

    transforms: list[Transform]
    dim: int

    def _cut(self, x: Tensor) -> list[Tensor]:
        raise NotImplementedError

    def _join(self, parts: list[Tensor]) -> Tensor:
        raise NotImplementedError

    def _call(self, x: Tensor) -> Tensor:
        return self._join([t(p) for t, p in zip(self.transforms, self._cut(x), strict=True)])

    def _inverse(self, y: Tensor) -> Tensor:
        return self._join([t.inv(p) for t, p in zip(self.transforms, self._cut(y), strict=True)])

    def _determinants(self, x: Tensor, y: Tensor) -> list[Tensor]:
        parts = zip(self.transforms, self._cut(x), self._cut(y), strict=True)
        return [t.log_abs_det_jacobian(a, b) for t, a, b in parts]

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(t.bijective for t in self.transforms)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.transforms!r}, dim={self.dim})"


class CatTransform(_Beside):
    """Transforms of consecutive pieces of dimension `dim`, of the given `lengths` (1 each).

    >>> import wengert as wg
    >>> CatTransform([ExpTransform(), identity_transform], lengths=[1, 2])(wg.zeros(3))
    tensor([1., 0., 0.])
    """

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, lengths: Any = None, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size)
        self.transforms = [t.with_cache(cache_size) if cache_size else t for t in tseq]
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise ValueError(
                f"there are {len(self.transforms)} transforms, but {len(self.lengths)} lengths"
            )
        self.dim = dim

    @property
    def event_dim(self) -> int:
        return max((t.event_dim for t in self.transforms), default=0)

    def _cut(self, x: Tensor) -> list[Tensor]:
        if x.shape[self.dim] != sum(self.lengths):
            raise ValueError(
                f"dimension {self.dim} of {tuple(x.shape)} is to have {sum(self.lengths)} "
                f"elements, the sum of the lengths {self.lengths}"
            )
        return list(x.split(self.lengths, self.dim))

    def _join(self, parts: list[Tensor]) -> Tensor:
        return cat(parts, self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        found, rank = self._determinants(x, y), self.event_dim
        found = [
            summed(log, rank - t.event_dim) for log, t in zip(found, self.transforms, strict=True)
        ]
        dim = self.dim if self.dim < 0 else self.dim - x.ndim
        if dim + rank < 0:  # a dimension of the batch: the determinants lie beside each other too
            return cat(found, dim + rank)
        return functools.reduce(operator.add, found)

    @property
    def domain(self) -> Any:
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @property
    def codomain(self) -> Any:
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_Beside):
    """One transform for each index of dimension `dim`.

    >>> import wengert as wg
    >>> StackTransform([ExpTransform(), identity_transform], dim=-1)(wg.zeros(2, 2))
    tensor([[1., 0.],
            [1., 0.]])
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.transforms = [t.with_cache(cache_size) if cache_size else t for t in tseq]
        self.dim = dim

    def _cut(self, x: Tensor) -> list[Tensor]:
        if x.shape[self.dim] != len(self.transforms):
            raise ValueError(
                f"dimension {self.dim} of {tuple(x.shape)} is to have {len(self.transforms)} "
                "elements, one for each transform"
            )
        return list(x.unbind(self.dim))

    def _join(self, parts: list[Tensor]) -> Tensor:
        return stack(parts, self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return stack(self._determinants(x, y), self.dim)

    @property
    def domain(self) -> Any:
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @property
    def codomain(self) -> Any:
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
