"""Differences, slopes and integrals of sampled functions, under PyTorch's names.

All are sums of slices and differences, so nothing here needs a rule of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert import dtypes
from wengert.autograd.misfits import told
from wengert.autograd.operands import cast
from wengert.autograd.record import recorder
from wengert.autograd.settings import refuses
from wengert.dispatch import numpy
from wengert.functions.arguments import of_tensors, one_dim, tensor_of
from wengert.functions.joining import cat
from wengert.functions.reductions import cumsum, sum
from wengert.functions.shapes import narrow, select
from wengert.rules.blocks import EXACT
from wengert.rules.indexing import slices
from wengert.rules.shapes import difference
from wengert.tensor import Tensor, wrap

_difference, _power, _get = recorder(difference), recorder(np.power), recorder(slices)


@of_tensors(1, takes_out=True)
def diff(input: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """Differences of neighbours along `dim`, n times over.

    `prepend` and `append` are joined to the input first. Of truth values the difference is whether
    they differ.

    >>> import wengert as wg
    >>> wg.diff(wg.tensor([1, 4, 9, 16]), n=2)
    tensor([2, 2])
    """
    if not input._array.ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    axis = one_dim(dim, input._array.ndim)
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    if n == 0:
        return input.clone()
    parts = [tensor_of(x) for x in (prepend, input, append) if x is not None]
    for x in parts:
        if x.ndim != input.ndim:
            raise RuntimeError(
                "diff expects prepend or append to be the same dimension as input: "
                f"{list(x.shape)} beside {list(input.shape)}"
            )
    x = cat(parts, axis) if len(parts) > 1 else input
    for _ in range(n):
        x = _difference(x, axis)
    return x


# ---- integrals -----------------------------------------------------------------------------


def _pairs(name: str, y: Any, x: Any, dim: int) -> tuple[Tensor, Tensor | None, int]:
    """Sums of neighbours, the widths between them (None: one for all), and the dimension."""
    y = tensor_of(y, "y")
    if not y.ndim:
        raise IndexError(f"{name}: dimension specified as {dim} but tensor has no dimensions")
    axis = one_dim(dim, y.ndim)
    n = y.shape[axis]
    inner = max(n - 1, 0)
    pairs = narrow(y, axis, min(1, n), inner) + narrow(y, axis, 0, inner)
    if x is None:
        return pairs, None, axis
    x = tensor_of(x, "x")
    if x.ndim == 1:
        x = x.reshape([-1 if d == axis else 1 for d in range(y.ndim)])
    along = axis - y.ndim + x.ndim
    if along < 0 or x.shape[along] != n:
        raise RuntimeError(
            f"{name}: There must be one `x` value for each sample point: y has {n} along dimension "
            f"{axis}, x has shape {list(x.shape)}"
        )
    return pairs, diff(x, dim=along), axis


@told
@refuses(y="b", x="b")
def trapezoid(y: Any, x: Any = None, *, dx: float | None = None, dim: int = -1) -> Tensor:
    """The integral of sampled values by the trapezoidal rule: sum (x1 - x0) (y0 + y1) / 2.

    The samples stand at `x`, or `dx` (1) apart.

    >>> import wengert as wg
    >>> wg.trapezoid(wg.tensor([1.0, 5.0, 10.0]))
    tensor(10.5000)
    """
    pairs, width, axis = _pairs("trapezoid", y, _places("trapezoid", x, dx), dim)
    if width is not None:
        return sum(pairs * width, axis) / 2
    total, n = sum(y, axis), y.shape[axis]
    if not n:
        return total
    # All of them but half of the ends: sums of bytes that are neighbours would wrap around.
    return (total - (select(y, axis, 0) + select(y, axis, n - 1)) * 0.5) * (1 if dx is None else dx)


trapz = trapezoid


@told
@refuses(y="b", x="b")
def cumulative_trapezoid(
    y: Any, x: Any = None, *, dx: float | None = None, dim: int = -1
) -> Tensor:
    """The running integral of sampled values by the trapezoidal rule, one element shorter."""
    places = _places("cumulative_trapezoid", x, dx)
    pairs, width, axis = _pairs("cumulative_trapezoid", y, places, dim)
    if width is None:
        return cumsum(pairs, axis) * ((1 if dx is None else dx) / 2)
    return cumsum(pairs * width, axis) / 2


def _places(name: str, x: Any, dx: Any) -> Any:
    if x is not None and dx is not None:
        raise TypeError(f"{name}() takes x, where the samples stand, or dx, not both")
    return x


# ---- slopes --------------------------------------------------------------------------------


@told
@refuses(input="b")
def gradient(
    input: Any, *, spacing: Any = None, dim: Any = None, edge_order: int = 1
) -> tuple[Tensor, ...]:
    """Central differences within, one-sided ones at the ends, along each dimension asked for.

    `spacing` is one distance (1), one per dimension, or the coordinates of each dimension. With
    `edge_order=2` the ends are exact for parabolas too. Fornberg (1988) has the weights for
    points at unequal distances.

    >>> import wengert as wg
    >>> wg.gradient(wg.tensor([1.0, 4.0, 9.0, 16.0]))
    (tensor([3., 4., 6., 7.]),)
    """
    x = tensor_of(input)
    if not dtypes.is_inexact(x.dtype):
        x = cast(x, dtypes.get_default_dtype())
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    dims = list(range(x.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    dims = [one_dim(d, x.ndim) for d in dims]
    repeated = [d for d in dims if dims.count(d) > 1]
    if repeated:
        raise RuntimeError(f"dim {repeated[0]} appears multiple times in the list of dims")
    several = isinstance(spacing, (list, tuple))
    steps = list(spacing) if several else [1 if spacing is None else spacing] * len(dims)
    if len(steps) != len(dims):
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar, or one for each of the "
            f"{len(dims)} dimensions {dims}, but got a list of length {len(steps)}"
        )
    return tuple(slope(x, d, h, edge_order) for d, h in zip(dims, steps, strict=True))


def slope(x: Tensor, axis: int, spacing: Any, edge_order: int) -> Tensor:
    """The derivative along one dimension of samples at equal distances, or at coordinates."""
    n = x.shape[axis]
    if n < edge_order + 1:
        raise RuntimeError(
            "torch.gradient expected each dimension size to be at least edge_order+1, but "
            f"dimension {axis} has size {n} and edge_order is {edge_order}"
        )
    if not getattr(spacing, "ndim", 0):
        inner, first, last = _equal_weights(spacing, edge_order)
    else:
        points = tensor_of(spacing)
        if points.ndim != 1 or points.shape[0] != n:
            raise RuntimeError(
                f"torch.gradient expected {n} coordinates along dimension {axis}, but got shape "
                f"{list(points.shape)}"
            )
        if not dtypes.is_inexact(points.dtype):
            points = cast(points, dtypes.get_default_dtype())
        inner, first, last = _unequal_weights(points, edge_order)
        inner = [w.reshape([-1 if d == axis else 1 for d in range(x.ndim)]) for w in inner]
    ends = [
        _weighted(first, [narrow(x, axis, k, 1) for k in range(len(first))]),
        _weighted(last, [narrow(x, axis, n - 1 - k, 1) for k in range(len(last))]),
    ]
    if n == 2:
        return cat(ends, axis)
    middle = _weighted(inner, [narrow(x, axis, k, n - 2) for k in range(3)])
    return cat([ends[0], middle, ends[1]], axis)


def _weighted(weights: list[Any], parts: list[Tensor]) -> Tensor:
    terms = [w * x for w, x in zip(weights, parts, strict=True) if not (type(w) is int and w == 0)]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _equal_weights(h: Any, edge_order: int) -> tuple[list[Any], list[Any], list[Any]]:
    """Weights of the neighbours within, and of the elements from each end on inwards."""
    h = h.item() if isinstance(h, (np.ndarray, np.generic)) else h
    inner = [-0.5 / h, 0, 0.5 / h]
    if edge_order == 1:
        return inner, [-1 / h, 1 / h], [1 / h, -1 / h]
    return inner, [-1.5 / h, 2 / h, -0.5 / h], [1.5 / h, -2 / h, 0.5 / h]


def _unequal_weights(points: Tensor, edge_order: int) -> tuple[list[Any], list[Any], list[Any]]:
    h = diff(points)
    n = h.shape[0]
    before, after = narrow(h, 0, 0, n - 1), narrow(h, 0, 1, n - 1)
    both = before + after
    inner = [-after / (before * both), (after - before) / (before * after), before / (after * both)]
    if edge_order == 1:
        return inner, [-1 / h[0], 1 / h[0]], [1 / h[-1], -1 / h[-1]]
    first = _parabola(h[0], h[1])
    return inner, first, [-w for w in _parabola(h[-1], h[-2])]


def _parabola(near: Tensor, far: Tensor) -> list[Any]:
    """Weights of the slope at the first of three points, with these distances between them."""
    both = near + far
    return [-(near + both) / (near * both), both / (near * far), -near / (far * both)]


# ---- polynomials' matrices -----------------------------------------------------------------


@of_tensors(1)
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers of a vector's elements as columns, highest first unless `increasing`."""
    if x.ndim != 1:
        raise RuntimeError(f"x must be a one-dimensional tensor, got shape {list(x.shape)}")
    if N is not None and N < 0:
        raise RuntimeError(f"N must be non-negative, got {N}")
    if x._array.dtype not in EXACT:
        return numpy.vander(x, N, increasing)
    powers = np.arange(len(x) if N is None else N, dtype=x._array.dtype)
    return _power(_get(x, (slice(None), None)), wrap(powers if increasing else powers[::-1]))
