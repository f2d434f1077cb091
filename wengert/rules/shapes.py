"""Shapes: functions that move numbers without changing them. All linear; most are views.

Functions here that NumPy has under a method only (astype, a copy) are primitives of our own.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.dispatch import Function, primitive
from wengert.rules.blocks import ENOUGH
from wengert.rules.half import cast, held
from wengert.rules.indexing import add_at, getitem
from wengert.rules.loops import addable, as_lines, exact_loops, loops
from wengert.rules.rule import linear, transposed, unbroadcast
from wengert.rules.ways import implemented, way

# ---- rearranging ---------------------------------------------------------------------------


def inverse(axes: Any) -> list[int]:
    """The permutation that undoes `axes`."""
    axes = np.atleast_1d(axes)  # of a vector it may be a number
    return np.argsort(axes % len(axes)).tolist()


linear(
    np.reshape,
    lambda g, a_shape: np.reshape(g, a_shape),
    arguments=("a", "shape"),
    name="View",
    view=True,
)
linear(
    np.transpose,
    lambda g, axes: np.transpose(g, None if axes is None else inverse(axes)),
    name="Permute",
    view=True,
)
linear(
    np.swapaxes, lambda g, axis1, axis2: np.swapaxes(g, axis1, axis2), name="Transpose", view=True
)
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
    lambda g, x_shape: unbroadcast(g, x_shape),
    arguments=("x", "shape"),
    name="Expand",
    view=True,
)
linear(np.flip, lambda g, axis: np.flip(g, axis), view=True)
linear(
    np.roll,
    lambda g, shift, axis: np.roll(
        g, [-s for s in shift] if isinstance(shift, (tuple, list)) else -shift, axis
    ),
)
linear(np.rot90, lambda g, k, axes: np.rot90(g, -k, axes), view=True, axes=("axes",))
# Of a vector NumPy makes a matrix with equal rows.
linear(np.tril, lambda g, m_shape, k: unbroadcast(np.tril(g, k), m_shape))
linear(np.triu, lambda g, m_shape, k: unbroadcast(np.triu(g, k), m_shape))


def _are_matrices(m: Any, k: int = 0) -> bool:
    return addable(m) and m.ndim > 1 and m.size > 0


@way(np.tril, _are_matrices)
def _lower_by_loops(m: Any, k: int = 0) -> Any:
    return _triangle(m, k + 1, True)


@way(np.triu, _are_matrices)
def _upper_by_loops(m: Any, k: int = 0) -> Any:
    return _triangle(m, k, False)


def _triangle(m: Any, k: int, lower: bool) -> Any:
    out = np.empty(m.shape, m.dtype)
    shape = -1, *m.shape[-2:]
    _copy_triangle(m.reshape(shape), int(k), lower, out.reshape(shape))
    return out


@exact_loops
def _copy_triangle(x, k, lower, out):
    """What stands before column `k` of the first row, further by one in each row; or the rest."""
    count, n, columns = x.shape
    for i in range(count):
        for j in range(n):
            cut = j + k
            if cut < 0:
                cut = 0
            if cut > columns:
                cut = columns
            for c in range(cut):
                out[i, j, c] = x[i, j, c] if lower else x.dtype.type(0)
            for c in range(cut, columns):
                out[i, j, c] = x.dtype.type(0) if lower else x[i, j, c]


linear(np.ravel, lambda g, a_shape: np.reshape(g, a_shape), name="View", view=True)
linear(np.tile, lambda g, A_shape, reps: _untile(g, A_shape, reps), name="Repeat")


def _untile(g: Any, shape: tuple[int, ...], reps: Any) -> Any:
    reps = tuple(reps) if isinstance(reps, (tuple, list)) else (operator.index(reps),)
    n = max(len(shape), len(reps))
    shape_, reps = (1,) * (n - len(shape)) + tuple(shape), (1,) * (n - len(reps)) + reps
    pairs = [k for pair in zip(reps, shape_, strict=True) for k in pair]
    return np.reshape(np.sum(np.reshape(g, pairs), axis=tuple(range(0, 2 * n, 2))), shape)


@primitive
def repeat_interleave(x: Any, repeats: Any, axis: int) -> Any:
    """Each slice of `x` along `axis` repeated as often as `repeats`, a number or one per slice."""
    return np.repeat(x, repeats, axis if np.ndim(x) else None)


linear(repeat_interleave, lambda g, x_shape, repeats, axis: _unrepeat(g, x_shape, repeats, axis))
linear(np.repeat, lambda g, a_shape, repeats, axis: _unrepeat(g, a_shape, repeats, axis))


def _unrepeat(g: Any, shape: tuple[int, ...], repeats: Any, axis: int | None) -> Any:
    if axis is None:
        flat = _unrepeat(np.reshape(g, (-1,)), (math.prod(shape),), repeats, 0)
        return np.reshape(flat, shape)
    if not shape:
        return np.sum(g)
    axis = axis % len(shape)
    if isinstance(repeats, int):
        return np.sum(
            np.reshape(g, (*shape[: axis + 1], repeats, *shape[axis + 1 :])), axis=axis + 1
        )
    rows = np.repeat(np.arange(shape[axis]), repeats)
    return add_at(g, (*(slice(None),) * axis, rows), shape)


# ---- neighbours ----------------------------------------------------------------------------


@primitive
@implemented
def difference(x: Any, axis: int) -> Any:
    """Each element less the one before it along `axis`; of truth values, whether they differ."""
    before = (slice(None),) * (axis % len(x.shape))
    apart: Any = np.not_equal if x.dtype == bool else np.subtract
    return apart(x[(*before, slice(1, None))], x[(*before, slice(None, -1))])


@way(difference, lambda x, axis: addable(x) and x.size >= ENOUGH)
def _difference_by_loops(x: Any, axis: int) -> Any:
    """NumPy begins anew for each row."""
    outer, n, inner = as_lines(axis, x)[0].shape
    shape = list(x.shape)
    shape[axis] -= 1
    out = np.empty(shape, x.dtype)
    _subtract(x.reshape(outer, n * inner), out.reshape(outer, (n - 1) * inner), inner)
    return out


@loops
def _subtract(x, out, step):
    for i in range(len(out)):
        for j in range(out.shape[1]):
            out[i, j] = x[i, j + step] - x[i, j]


def _undifference(g: Any, x_shape: tuple[int, ...], axis: int) -> Any:
    shape = list(x_shape)
    shape[axis] = min(shape[axis], 1)
    edge = np.zeros_like(g, shape=shape)
    return difference(np.concatenate([edge, np.negative(g), edge], axis), axis)


linear(difference, _undifference, name="Sub", axes=("axis",))

# ---- diagonals -----------------------------------------------------------------------------


@primitive
def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The diagonal as a last dimension; a view of `x` that may be written to."""
    if not isinstance(x, np.ndarray):
        return np.diagonal(x, offset, axis1, axis2)
    view = x.diagonal(offset, axis1, axis2)
    if x.flags.writeable:
        view.flags.writeable = True
    return view


@primitive
def diagonal_scatter(g: Any, x_shape: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Zeros of `x_shape` with `g` on the diagonal: the transpose of `diagonal`."""
    out = np.zeros(x_shape, g.dtype)
    view = np.diagonal(out, offset, axis1, axis2)
    view.flags.writeable = True
    view[...] = g
    return out


transposed(
    *(diagonal, diagonal_scatter), back_name="DiagonalBackward", view=True, axes=("axis1", "axis2")
)
linear(
    np.diagonal,
    lambda g, a_shape, offset, axis1, axis2: diagonal_scatter(g, a_shape, offset, axis1, axis2),
    view=True,
    axes=("axis1", "axis2"),
)


@exact_loops
def number_triangle(places, rows, columns, before, upper):
    """Note rows and columns: of row i those before column i + `before`, or those from there on."""
    k = 0
    for i in range(rows):
        middle = min(max(i + before, 0), columns)
        for j in range(middle if upper else 0, columns if upper else middle):
            places[0, k] = i
            places[1, k] = j
            k += 1


# ---- dtypes and copies ---------------------------------------------------------------------


@primitive
def astype(x: Any, dtype: Any) -> Any:
    """`x` in another dtype; its cotangent comes back in the old one, real if that is real."""
    if x.dtype.kind == "c" and np.dtype(dtype).kind not in "cb":
        x = x.real
    return held(cast(x, dtype))


def _cast_back(g: Any, dtype: Any) -> Any:
    return astype(np.real(g) if g.dtype.kind == "c" and dtypes.is_floating(dtype) else g, dtype)


linear(
    astype,
    lambda g, x_dtype: _cast_back(g, x_dtype),
    arguments=("x", "dtype"),
    name="ToCopy",
    casts=True,
    axes=(),
)


@primitive
def copy(x: Any) -> Any:
    """A copy of `x`."""
    return x.copy()


@primitive
def alias(x: Any) -> Any:
    """A view of all of x."""
    return x[...]


linear(copy, lambda g: g, name="Clone")
linear(alias, lambda g: g, view=True)

# ---- joining and splitting -----------------------------------------------------------------

linear(
    np.concatenate,
    lambda g, arrays_shape, axis: _unjoin(g, arrays_shape, axis),
    arguments=("arrays", "axis"),
    name="Cat",
    sequence="arrays",
)
linear(
    np.stack,
    lambda g, axis: list(_slices(g, axis)),
    arguments=("arrays", "axis"),
    sequence="arrays",
)


def _slices(x: Any, axis: int) -> tuple[Any, ...]:
    if type(x) is np.ndarray and x.ndim > 1:  # which goes along its first dimension itself
        return tuple(np.moveaxis(x, axis, 0) if axis else x)
    before = (slice(None),) * (axis % len(x.shape))
    return tuple(x[(*before, i, ...)] for i in range(x.shape[axis]))


def _split_at(g: Any, sizes: Sequence[int], axis: int) -> list[Any]:
    """Consecutive pieces of g along an axis."""
    before = (slice(None),) * (axis % len(g.shape))
    parts, start = [], 0
    for n in sizes:
        parts.append(g[(*before, slice(start, start + n))])
        start += n
    return parts


def _unjoin(g: Any, shapes: list[tuple[int, ...]], axis: int | None) -> list[Any]:
    if axis is None:
        flat = _split_at(g, [math.prod(shape) for shape in shapes], 0)
        return [np.reshape(part, shape) for part, shape in zip(flat, shapes, strict=True)]
    return _split_at(g, [shape[axis] for shape in shapes], axis)


@primitive
def split(x: Any, sizes: tuple[int, ...], axis: int) -> Any:
    """Consecutive pieces of `x` along `axis`, of the given sizes: views."""
    return tuple(_split_at(x, sizes, axis))


@primitive
def unbind(x: Any, axis: int) -> Any:
    """The slices of `x` along `axis`, without that dimension: views."""
    return _slices(x, axis)


linear(split, lambda g, axis: np.concatenate(g, axis), view=True, outputs=None, axes=("axis",))
linear(unbind, lambda g, axis: np.stack(g, axis), view=True, outputs=None, axes=("axis",))


@primitive
def flipped(x: Any, axis: Any) -> Any:
    """A copy of `x` with some dimensions in reverse order; NumPy's flip is a view."""
    if isinstance(x, np.ndarray) and type(axis) is tuple:
        turned = [slice(None)] * x.ndim
        for a in axis:
            turned[a] = slice(None, None, -1)
        return x[tuple(turned)].copy("K")  # as dense as x lies
    return np.copy(np.flip(x, axis))


linear(flipped, flipped, name="Flip")


@primitive
def pixel_shuffle(x: Any, factor: int) -> Any:
    """(*, C r^2, H, W) to (*, C, H r, W r)."""
    (*lead, c, h, w), r, k = x.shape, factor, len(x.shape) - 3
    parts = x.reshape((*lead, c // (r * r), r, r, h, w))
    turned = parts.transpose((*range(k + 1), k + 3, k + 1, k + 4, k + 2))
    return turned.copy().reshape((*lead, c // (r * r), h * r, w * r))


@primitive
def pixel_unshuffle(x: Any, factor: int) -> Any:
    """(*, C, H r, W r) to (*, C r^2, H, W)."""
    (*lead, c, h, w), r, k = x.shape, factor, len(x.shape) - 3
    parts = x.reshape((*lead, c, h // r, r, w // r, r))
    turned = parts.transpose((*range(k + 1), k + 2, k + 4, k + 1, k + 3))
    return turned.copy().reshape((*lead, c * r * r, h // r, w // r))


transposed(pixel_shuffle, pixel_unshuffle, axes=())


@primitive
@implemented
def trace(x: Any) -> Any:
    """The sum of a matrix's diagonal."""
    return np.sum(np.diagonal(x))


@way(trace, addable)
def _trace_of_plain(x: Any) -> Any:
    return _add(x.diagonal(), None, None, np.empty((), x.dtype))


_add: Function = np.add.reduce

linear(trace, lambda g, x_shape: diagonal_scatter(np.broadcast_to(g, (min(x_shape),)), x_shape))

# ---- views that NumPy has no writable function for -----------------------------------------


@primitive
@implemented
def expand(x: Any, shape: Any) -> Any:
    """`x` repeated along dimensions of size 1, as a view; writable where nothing is repeated."""
    view = np.broadcast_to(x, shape)
    if isinstance(x, np.ndarray) and x.flags.writeable:
        view.flags.writeable = True
    return view


def _in_the_open(x: Any) -> bool:
    if type(x) is not np.ndarray or x.dtype.kind not in "biufc" or not (x.size and x.ndim):
        return False
    flags = x.flags
    return flags.c_contiguous and flags.writeable


@way(expand, lambda x, shape: _in_the_open(x))
def _expanded_memory(x: Any, shape: Any) -> Any:
    extra, have = len(shape) - x.ndim, x.shape
    if shape[extra:] == have:
        return np.ndarray(shape, x.dtype, x, 0, (*(0,) * extra, *x.strides))
    strides = [
        0 if m == 1 and n != 1 else stride
        for m, n, stride in zip(have, shape[extra:], x.strides, strict=True)
    ]
    return np.ndarray(shape, x.dtype, x, 0, (*(0,) * extra, *strides))


linear(expand, lambda g, x_shape: unbroadcast(g, x_shape), view=True)


@primitive
@implemented
def windows(x: Any, axis: int, size: int, step: int) -> Any:
    """Windows of `size` along `axis`, `step` apart, as a last dimension: a view."""
    if not x.ndim:
        return x.reshape(1)
    views = np.lib.stride_tricks.sliding_window_view(x, size, axis, writeable=x.flags.writeable)
    return views[(slice(None),) * (axis % x.ndim) + (slice(None, None, step),)]


@way(windows, lambda x, axis, size, step: _in_the_open(x))
def _windows_of_memory(x: Any, axis: int, size: int, step: int) -> Any:
    shape, strides = list(x.shape), list(x.strides)
    shape[axis] = (shape[axis] - size) // step + 1
    strides[axis] *= step
    return np.ndarray((*shape, size), x.dtype, x, 0, (*strides, x.strides[axis]))


@primitive
@implemented
def overlapped(g: Any, x_shape: Any, axis: int, step: int) -> Any:
    """Zeros of `x_shape` with windows added where they came from: `windows` transposed."""
    out = np.zeros(x_shape, g.dtype)
    if not x_shape:
        return g.reshape(())
    axis %= len(x_shape)
    out, g = np.moveaxis(out, axis, -1), np.moveaxis(g, axis, -2)
    for i in range(g.shape[-2]):
        out[..., i * step : i * step + g.shape[-1]] += g[..., i, :]
    return np.moveaxis(out, -1, axis)


@way(overlapped, lambda g, x_shape, axis, step: bool(x_shape) and addable(g))
def _overlapped_by_loops(g: Any, x_shape: Any, axis: int, step: int) -> Any:
    out = np.zeros(x_shape, g.dtype)
    (lines,) = as_lines(axis, out)
    outer, _, inner = lines.shape
    _add_windows(g.reshape(outer, g.shape[axis % len(x_shape)], inner, g.shape[-1]), lines, step)
    return out


@loops
def _add_windows(g, out, step):
    outer, count, inner, size = g.shape
    for i in range(outer):
        for j in range(count):
            for s in range(size):
                for k in range(inner):
                    out[i, j * step + s, k] += g[i, j, k, s]


linear(windows, overlapped, name="Unfold", view=True, axes=("axis",))
linear(
    overlapped,
    lambda h, g_shape, axis, step: windows(h, axis, g_shape[-1], step),
    name="UnfoldBackward",
    axes=("axis",),
    shape="x_shape",
)


class _Memory:
    """Memory that NumPy may look into, and what keeps it alive."""

    def __init__(self, interface: dict[str, Any], owner: Any) -> None:
        self.__array_interface__ = interface
        self.owner = owner


@primitive
def as_strided(x: Any, size: Any, stride: Any, offset: int, layout: Any) -> Any:
    """A view of the memory of `x`: sizes and strides in elements, offset from its first element.

    `layout` is the strides of `x` in elements, which the transpose needs to find its way back.
    A cotangent in the place of `x`, which lies otherwise, is copied into such memory first.
    """
    strides = zip(x.shape, x.strides, layout, strict=True)
    if any(n > 1 and now != x.itemsize * step for n, now, step in strides):
        x = _laid_out(x, layout)
    interface = dict(x.__array_interface__)
    pointer, readonly = interface["data"]
    interface |= {
        "data": (pointer + offset * x.itemsize, readonly),
        "shape": tuple(size),
        "strides": tuple(s * x.itemsize for s in stride),
    }
    seen = np.asarray(_Memory(interface, x))
    return seen if seen.dtype == x.dtype else seen.view(x.dtype)  # of bfloat16 it has the size


def _laid_out(x: Any, layout: Any) -> Any:
    """A copy of an array with these strides in elements."""
    there = places(x.shape, layout, 0)
    low = there.min(initial=0)
    memory = np.zeros(int(there.max(initial=0) - low) + 1, x.dtype)
    memory[there - low] = x
    strides = tuple(step * x.itemsize for step in layout)
    return np.ndarray(x.shape, x.dtype, memory, -low * x.itemsize, strides)


def places(size: Any, stride: Any, offset: int) -> Any:
    """Where in memory each element lies."""
    places = np.full(size, offset)
    for axis, (n, step) in enumerate(zip(size, stride, strict=True)):
        places = places + np.reshape(
            np.arange(n) * step, [-1 if k == axis else 1 for k in range(len(size))]
        )
    return places


def _unstride(g: Any, x_shape: Any, size: Any, stride: Any, offset: int, layout: Any) -> Any:
    """Cotangents added up in memory, then read in the layout of the input."""
    there, here = places(size, stride, offset), places(x_shape, layout, 0)
    low = min(there.min(initial=0), here.min(initial=0))
    high = max(there.max(initial=0), here.max(initial=0))
    return getitem(add_at(g, (there - low,), (int(high - low) + 1,)), (here - low,))


linear(as_strided, _unstride, view=True)


@primitive
@implemented
def real_pairs(x: Any) -> Any:
    """Complex numbers as pairs of real ones: a view with a last dimension of size 2."""
    return np.stack([np.real(x), np.imag(x)], -1)


@way(real_pairs, lambda x: type(x) is np.ndarray and x.flags.c_contiguous and x.ndim > 0)
def _real_pairs_in_order(x: Any) -> Any:
    return x.view(x.real.dtype).reshape(*x.shape, 2)


@way(real_pairs, lambda x: isinstance(x, np.ndarray))
def _real_pairs_in_place(x: Any) -> Any:
    return x[..., None].view(x.real.dtype)


@primitive
@implemented
def complex_of_pairs(x: Any) -> Any:
    """Pairs of real numbers as complex ones: a view if each pair lies together in memory."""
    return x[..., 0] + 1j * x[..., 1]


@way(complex_of_pairs, lambda x: isinstance(x, np.ndarray))
def _complex_in_place(x: Any) -> Any:
    kind = np.result_type(x.dtype, np.complex64)
    if x.strides[-1] != x.itemsize:
        x = x.copy()
    return x.view(kind)[..., 0]


linear(real_pairs, lambda g: complex_of_pairs(g), name="ViewAsReal", view=True, axes=())
linear(complex_of_pairs, lambda g: real_pairs(g), name="ViewAsComplex", view=True, axes=())
