"""Shapes: functions that move numbers without changing them. All linear; most are views.

Functions here that NumPy has under a method only (astype, a copy) are primitives of our own.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.dispatch import primitive
from wengert.rules.rule import linear, unbroadcast

# ---- rearranging ---------------------------------------------------------------------------

linear(np.reshape, lambda g, a_shape: np.reshape(g, a_shape), arguments=("a", "shape"), name="View", view=True)
linear(
    np.transpose,
    lambda g, axes: np.transpose(g, None if axes is None else np.argsort([i % len(axes) for i in axes])),
    name="Permute",
    view=True,
)
linear(np.swapaxes, lambda g, axis1, axis2: np.swapaxes(g, axis1, axis2), name="Transpose", view=True)
linear(
    np.moveaxis,
    lambda g, source, destination: np.moveaxis(g, destination, source),
    name="Movedim",
    view=True,
)
linear(np.squeeze, lambda g, a_shape: np.reshape(g, a_shape), view=True)
linear(np.expand_dims, lambda g, a_shape: np.reshape(g, a_shape), name="Unsqueeze", view=True)
linear(
    np.broadcast_to,
    lambda g, array_shape: unbroadcast(g, array_shape),
    arguments=("array", "shape"),
    name="Expand",
    view=True,
)
linear(np.flip, lambda g, axis: np.flip(g, axis))
linear(
    np.roll,
    lambda g, shift, axis: np.roll(g, [-s for s in shift] if isinstance(shift, (tuple, list)) else -shift, axis),
)
linear(np.rot90, lambda g, k, axes: np.rot90(g, -k, axes))
linear(np.tril, lambda g, k: np.tril(g, k))
linear(np.triu, lambda g, k: np.triu(g, k))
linear(np.ravel, lambda g, a_shape: np.reshape(g, a_shape), name="View", view=True)
linear(np.tile, lambda g, A_shape, reps: _untile(g, A_shape, reps), name="Repeat")


def _untile(g: Any, shape: tuple[int, ...], reps: Any) -> Any:
    reps = (reps,) if isinstance(reps, int) else tuple(reps)
    n = max(len(shape), len(reps))
    shape_, reps = (1,) * (n - len(shape)) + tuple(shape), (1,) * (n - len(reps)) + reps
    pairs = [k for pair in zip(reps, shape_, strict=True) for k in pair]
    return np.reshape(np.sum(np.reshape(g, pairs), axis=tuple(range(0, 2 * n, 2))), shape)


@primitive
def repeat_interleave(x: Any, repeats: Any, axis: int) -> Any:
    """Each slice of `x` along `axis` repeated as often as `repeats`, a number or one per slice."""
    return np.repeat(x, repeats, axis)


linear(repeat_interleave, lambda g, x_shape, repeats, axis: _unrepeat(g, x_shape, repeats, axis))
linear(np.repeat, lambda g, a_shape, repeats, axis: _unrepeat(g, a_shape, repeats, axis))


def _unrepeat(g: Any, shape: tuple[int, ...], repeats: Any, axis: int | None) -> Any:
    from wengert.rules.indexing import add_at

    if axis is None:
        flat = _unrepeat(np.reshape(g, (-1,)), (math.prod(shape),), repeats, 0)
        return np.reshape(flat, shape)
    rows = np.repeat(np.arange(shape[axis]), repeats)
    return add_at(g, (slice(None),) * (axis % len(shape)) + (rows,), shape)


# ---- diagonals -----------------------------------------------------------------------------


@primitive
def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The diagonal as a last dimension; a view of `x` that may be written to."""
    view = np.diagonal(x, offset, axis1, axis2)
    if isinstance(x, np.ndarray) and x.flags.writeable:
        view.flags.writeable = True
    return view


@primitive
def diagonal_scatter(g: Any, shape: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Zeros of `shape` with `g` on the diagonal: the transpose of `diagonal`."""
    out = np.zeros(shape, g.dtype)
    view = np.diagonal(out, offset, axis1, axis2)
    view.flags.writeable = True
    view[...] = g
    return out


linear(
    diagonal,
    lambda g, x_shape, offset, axis1, axis2: diagonal_scatter(g, x_shape, offset, axis1, axis2),
    view=True,
)
linear(
    diagonal_scatter,
    lambda h, offset, axis1, axis2: diagonal(h, offset, axis1, axis2),
    name="DiagonalBackward",
)
linear(
    np.diagonal,
    lambda g, a_shape, offset, axis1, axis2: diagonal_scatter(g, a_shape, offset, axis1, axis2),
)

# ---- dtypes and copies ---------------------------------------------------------------------


@primitive
def astype(x: Any, dtype: Any) -> Any:
    """`x` in another dtype. The cotangent comes back in the old one; a real input takes the real part."""
    if np.iscomplexobj(x) and np.dtype(dtype).kind not in "cb":
        x = x.real
    return x.astype(dtype)


def _cast_back(g: Any, dtype: Any) -> Any:
    return astype(np.real(g) if g.dtype.kind == "c" and dtype.kind != "c" else g, dtype)


linear(astype, lambda g, x_dtype: _cast_back(g, x_dtype), name="ToCopy")


@primitive
def copy(x: Any) -> Any:
    """A copy of `x`."""
    return x.copy()


@primitive
def alias(x: Any) -> Any:
    """The same memory under another name."""
    return x[...]


linear(copy, lambda g: g, name="Clone")
linear(alias, lambda g: g, view=True)

# ---- joining and splitting -----------------------------------------------------------------

linear(
    np.concatenate,
    lambda g, arrays_shape, axis: _split_at(g, [s[axis] for s in arrays_shape], axis),
    arguments=("arrays", "axis"),
    name="Cat",
    sequence="arrays",
)
linear(
    np.stack,
    lambda g, axis: [g[(slice(None),) * (axis % len(g.shape)) + (i,)] for i in range(g.shape[axis])],
    arguments=("arrays", "axis"),
    sequence="arrays",
)


def _split_at(g: Any, sizes: list[int], axis: int) -> list[Any]:
    before = (slice(None),) * (axis % len(g.shape))
    stops = np.cumsum(sizes).tolist()
    return [g[(*before, slice(stop - n, stop))] for stop, n in zip(stops, sizes, strict=True)]


@primitive
def split(x: Any, sizes: tuple[int, ...], axis: int) -> Any:
    """Consecutive pieces of `x` along `axis`, of the given sizes: views."""
    return tuple(_split_at(x, list(sizes), axis))


@primitive
def unbind(x: Any, axis: int) -> Any:
    """The slices of `x` along `axis`, without that dimension: views."""
    before = (slice(None),) * (axis % len(x.shape))
    return tuple(x[(*before, i, ...)] for i in range(x.shape[axis]))


linear(split, lambda g, axis: np.concatenate(g, axis), view=True, outputs=None)
linear(unbind, lambda g, axis: np.stack(g, axis), view=True, outputs=None)
