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

Here are those that put others together; `transform.py` says what a transform is, the others are in
`elementwise_transforms.py` and `vector_transforms.py`.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any

from wengert.distributions import constraints
from wengert.distributions.constraints import Constraint
from wengert.distributions.distribution import summed
from wengert.distributions.elementwise_transforms import AbsTransform as AbsTransform
from wengert.distributions.elementwise_transforms import AffineTransform as AffineTransform
from wengert.distributions.elementwise_transforms import (
    CumulativeDistributionTransform as CumulativeDistributionTransform,
)
from wengert.distributions.elementwise_transforms import ExpTransform as ExpTransform
from wengert.distributions.elementwise_transforms import PowerTransform as PowerTransform
from wengert.distributions.elementwise_transforms import SigmoidTransform as SigmoidTransform
from wengert.distributions.elementwise_transforms import SoftplusTransform as SoftplusTransform
from wengert.distributions.elementwise_transforms import TanhTransform as TanhTransform
from wengert.distributions.formulas import attribute, function, slope
from wengert.distributions.transform import Transform as Transform
from wengert.distributions.transform import _InverseTransform as _InverseTransform
from wengert.distributions.vector_transforms import CorrCholeskyTransform as CorrCholeskyTransform
from wengert.distributions.vector_transforms import LowerCholeskyTransform as LowerCholeskyTransform
from wengert.distributions.vector_transforms import (
    PositiveDefiniteTransform as PositiveDefiniteTransform,
)
from wengert.distributions.vector_transforms import SoftmaxTransform as SoftmaxTransform
from wengert.distributions.vector_transforms import StickBreakingTransform as StickBreakingTransform
from wengert.functions.creation import zeros_like
from wengert.functions.joining import cat, stack
from wengert.tensor import Tensor


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

    _call = function(lambda x, forward_shape: x.reshape(forward_shape(x.shape)))
    _inverse = function(lambda y, inverse_shape: y.reshape(inverse_shape(y.shape)))
    log_abs_det_jacobian = slope(lambda x, y, in_shape: summed(zeros_like(x), len(in_shape)))

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

    sign = attribute(lambda base_transform: base_transform.sign)
    _call = function(lambda x, base_transform: base_transform(x))
    _inverse = function(lambda y, base_transform: base_transform.inv(y))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        determinant = self.base_transform.log_abs_det_jacobian(x, y)
        return summed(determinant, self.reinterpreted_batch_ndims)

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

    sign = attribute(lambda parts: math.prod([part.sign for part in parts]))

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
    lengths: list[int] | None = None

    domain = attribute(lambda _of_parts: _of_parts("domain"))
    codomain = attribute(lambda _of_parts: _of_parts("codomain"))
    bijective = attribute(lambda transforms: all(t.bijective for t in transforms))

    def _of_parts(self, side: str) -> Constraint:
        parts = [getattr(t, side) for t in self.transforms]
        return constraints.Beside(parts, self.dim, self.lengths)

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

    event_dim = attribute(lambda transforms: max((t.event_dim for t in transforms), default=0))

    def _cut(self, x: Tensor) -> list[Tensor]:
        assert self.lengths is not None
        if x.shape[self.dim] != sum(self.lengths):
            raise ValueError(
                f"dimension {self.dim} of {tuple(x.shape)} is to have {sum(self.lengths)} "
                f"elements, the sum of the lengths {self.lengths}"
            )
        return list(x.split(self.lengths, self.dim))

    def _join(self, parts: list[Tensor]) -> Tensor:
        return cat(parts, self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        logs, rank = self._determinants(x, y), self.event_dim
        logs = [
            summed(log, rank - t.event_dim) for log, t in zip(logs, self.transforms, strict=True)
        ]
        dim = self.dim if self.dim < 0 else self.dim - x.ndim
        if dim + rank < 0:  # a dimension of the batch: the determinants lie beside each other too
            return cat(logs, dim + rank)
        return functools.reduce(operator.add, logs)


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
