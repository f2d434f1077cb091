"""Invertible functions with the logarithms of their Jacobians' determinants.

`t(x)` applies one, `t.inv(y)` undoes it, and `t.log_abs_det_jacobian(x, y)` is log |dy/dx|, summed
over the `event_dim` last dimensions that it acts on together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from wengert.distributions import constraints
from wengert.distributions.constraints import Constraint
from wengert.distributions.distribution import broadcast_all, tiny
from wengert.functions.creation import full_like, zeros_like
from wengert.functions.joining import cat
from wengert.functions.math import logaddexp, sigmoid, softmax
from wengert.functions.ranges import arange
from wengert.tensor import Tensor


class Transform:
    """A differentiable function of tensors; a bijective one has an inverse."""

    bijective = True
    domain: Any = constraints.real
    codomain: Any = constraints.real

    def __call__(self, x: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} does not define __call__")

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no inverse")

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log |dy/dx| at x, where y = self(x) is known."""
        raise NotImplementedError(f"{type(self).__name__} does not define log_abs_det_jacobian")

    @property
    def inv(self) -> Transform:
        """The inverse as a transform."""
        return _Inverse(self)

    @property
    def sign(self) -> Any:
        """+1 or -1: whether it increases or decreases."""
        raise NotImplementedError(f"{type(self).__name__} is neither increasing nor decreasing")

    def forward_shape(self, shape: Any) -> tuple[int, ...]:
        """The shape of the result for an argument of `shape`."""
        return tuple(shape)

    def inverse_shape(self, shape: Any) -> tuple[int, ...]:
        return tuple(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _Inverse(Transform):
    def __init__(self, transform: Transform) -> None:
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

    def __call__(self, x: Tensor) -> Tensor:
        return self._of._inverse(x)

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
    """y = exp(x)."""

    codomain = constraints.positive
    sign = 1

    def __call__(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class PowerTransform(Transform):
    """y = x^exponent, x > 0."""

    domain = codomain = constraints.positive

    def __init__(self, exponent: Any) -> None:
        (self.exponent,) = broadcast_all(exponent)

    @property
    def sign(self) -> Any:
        return self.exponent.sign()

    def __call__(self, x: Tensor) -> Tensor:
        return x**self.exponent

    def _inverse(self, y: Tensor) -> Tensor:
        return y ** (1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()


class SigmoidTransform(Transform):
    """y = 1 / (1 + exp(-x))."""

    codomain = constraints.unit_interval
    sign = 1

    def __call__(self, x: Tensor) -> Tensor:
        return sigmoid(x)

    def _inverse(self, y: Tensor) -> Tensor:
        y = y.clamp(min=tiny(y), max=1 - 1e-16)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        zero = zeros_like(x)
        return -logaddexp(x, zero) - logaddexp(-x, zero)


class SoftplusTransform(Transform):
    """y = log(1 + exp(x))."""

    codomain = constraints.positive
    sign = 1

    def __call__(self, x: Tensor) -> Tensor:
        return logaddexp(x, zeros_like(x))

    def _inverse(self, y: Tensor) -> Tensor:
        return (-(-y).expm1()).log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -logaddexp(-x, zeros_like(x))


class TanhTransform(Transform):
    """y = tanh(x)."""

    codomain = constraints.interval(-1.0, 1.0)
    sign = 1

    def __call__(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        # log(1 - tanh^2 x) without the cancellation: 2 (log 2 - x - log(1 + e^(-2 x))).
        return 2 * (math.log(2) - x - logaddexp(-2 * x, zeros_like(x)))


class AbsTransform(Transform):
    """y = |x|; not invertible."""

    bijective = False
    codomain = constraints.positive

    def __call__(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class AffineTransform(Transform):
    """y = loc + scale x."""

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0) -> None:
        self.loc, self.scale, self.event_dim = loc, scale, event_dim

    @property
    def domain(self) -> Constraint:
        return constraints.independent(constraints.real, self.event_dim)

    codomain = domain

    @property
    def sign(self) -> Any:
        return broadcast_all(self.scale)[0].sign()

    def __call__(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        (scale,) = broadcast_all(self.scale)
        return _summed((scale.abs().log() + zeros_like(x)).to(x.dtype), self.event_dim)


def _summed(x: Tensor, dims: int) -> Tensor:
    return x.sum(tuple(range(-dims, 0))) if dims else x


class SoftmaxTransform(Transform):
    """y = softmax(x) along the last dimension; its inverse, log y, is one of many."""

    bijective = False
    domain = constraints.real_vector
    codomain = constraints.simplex

    def __call__(self, x: Tensor) -> Tensor:
        return softmax(x, -1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()


class StickBreakingTransform(Transform):
    """K numbers to K + 1 probabilities: each takes its share of what is left of a stick."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def __call__(self, x: Tensor) -> Tensor:
        z = sigmoid(x - self._offset(x))
        left = (1 - z).cumprod(-1)
        one = full_like(x[..., :1], 1.0)
        return cat([z, one], -1) * cat([one, left], -1)

    @staticmethod
    def _offset(x: Tensor) -> Tensor:
        """log of how many pieces are to come, so that x = 0 breaks evenly."""
        n = x.shape[-1]
        return (n - arange(n).to(x.dtype)).log()

    def _inverse(self, y: Tensor) -> Tensor:
        left = (1 - y[..., :-1].cumsum(-1)).clamp(min=tiny(y))
        x = y[..., :-1].log() - left.log()
        return x + self._offset(x)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - self._offset(x)
        return (-x - logaddexp(-x, zeros_like(x)) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> tuple[int, ...]:
        return (*shape[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: Any) -> tuple[int, ...]:
        return (*shape[:-1], shape[-1] - 1)


class LowerCholeskyTransform(Transform):
    """A square matrix to a lower triangular one with the exponentials of its diagonal."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def __call__(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class ReshapeTransform(Transform):
    """The event in another shape."""

    def __init__(self, in_shape: Any, out_shape: Any) -> None:
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

    def __call__(self, x: Tensor) -> Tensor:
        return x.reshape(self.forward_shape(x.shape))

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(self.inverse_shape(y.shape))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return _summed(zeros_like(x), len(self.in_shape))

    def forward_shape(self, shape: Any) -> tuple[int, ...]:
        return (*self._batch(shape, self.in_shape), *self.out_shape)

    def inverse_shape(self, shape: Any) -> tuple[int, ...]:
        return (*self._batch(shape, self.out_shape), *self.in_shape)


class IndependentTransform(Transform):
    """A transform of each entry, with the determinant summed over the last dimensions."""

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int) -> None:
        self.base_transform = base_transform
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        self.bijective = base_transform.bijective
        n = reinterpreted_batch_ndims
        self.domain = constraints.independent(base_transform.domain, n)
        self.codomain = constraints.independent(base_transform.codomain, n)

    def __call__(self, x: Tensor) -> Tensor:
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.base_transform._inverse(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        found = self.base_transform.log_abs_det_jacobian(x, y)
        return _summed(found, self.reinterpreted_batch_ndims)


class ComposeTransform(Transform):
    """Transforms one after the other, the first first."""

    def __init__(self, parts: Sequence[Transform]) -> None:
        self.parts = list(parts)
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
        return constraints.independent(first, self._ranks()[0] - first.event_dim)

    @property
    def codomain(self) -> Constraint:
        if not self.parts:
            return constraints.real
        last = self.parts[-1].codomain
        return constraints.independent(last, self._ranks()[1] - last.event_dim)

    @property
    def sign(self) -> Any:
        return math.prod([part.sign for part in self.parts])

    def __call__(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def _inverse(self, y: Tensor) -> Tensor:
        for part in reversed(self.parts):
            y = part._inverse(y)
        return y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        rank = self._ranks()[0]
        total: Any = None
        for i, part in enumerate(self.parts):
            z = y if i == len(self.parts) - 1 else part(x)
            term = _summed(part.log_abs_det_jacobian(x, z), rank - part.domain.event_dim)
            total = term if total is None else total + term
            rank += part.codomain.event_dim - part.domain.event_dim
            x = z
        return zeros_like(x) if total is None else total

    def forward_shape(self, shape: Any) -> tuple[int, ...]:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return tuple(shape)

    def inverse_shape(self, shape: Any) -> tuple[int, ...]:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return tuple(shape)

    def __repr__(self) -> str:
        return f"ComposeTransform({self.parts!r})"


identity_transform = ComposeTransform([])
