"""The batched meanings of the primitives of `rules/` that move numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert import dispatch
from wengert.arrays.batched.array import BatchedArray, Level
from wengert.arrays.batched.functions import _repeat
from wengert.arrays.batched.meanings import (
    ELEMENTWISE,
    MEANINGS,
    SLOW,
    Place,
    at,
    axis_of,
    getitem,
    means,
    raw,
    results,
    setitem,
)
from wengert.arrays.batched.products import contracted, factorisations
from wengert.dispatch import as_array
from wengert.errors import BatchingError

# ---- our primitives about shapes, products and indexing --------------------------------------


def _alike(level: Level, x: Any, made: Any) -> Any:
    return BatchedArray(dispatch.alike(raw(x, level), raw(made, level).copy()), level)


def _arriving(level: Level, x: Any, born: int) -> Any:
    if level.alive and born < level.start:
        raise BatchingError(
            "vmap: backward() inside reached a tensor that was made outside, whose .grad cannot "
            "take one value per example. Use wengert.autograd.grad inside, and return what it "
            "gives; or call backward() on what vmap returns, which adds up the examples."
        )
    return x.copy()


def primitives() -> None:
    """Meanings of the primitives of `rules/` that are linear in the numbers they move."""
    from wengert.rules import elementwise as e
    from wengert.rules import indexing, products, shapes

    ELEMENTWISE.update({e.spherical_bessel: 1, e.make_complex: 2, e.nan_to_num: 1})
    SLOW.update({shapes.as_strided})
    factorisations()
    MEANINGS[dispatch.alike] = _alike
    MEANINGS[dispatch.arriving] = _arriving
    MEANINGS[products.einsum] = contracted
    MEANINGS[products.affine] = _affine
    MEANINGS[shapes.astype] = lambda level, x, dtype: BatchedArray(
        shapes.astype(x.raw, dtype), level
    )
    MEANINGS[shapes.copy] = lambda level, x: x.copy()
    MEANINGS[shapes.alias] = lambda level, x: x[...]
    MEANINGS[shapes.expand] = lambda level, x, shape: np.broadcast_to(x, shape)
    MEANINGS[shapes.repeat_interleave] = _repeat
    MEANINGS[shapes.flipped] = lambda level, x, axis: np.flip(x, axis).copy()
    MEANINGS[shapes.real_pairs] = lambda level, x: BatchedArray(shapes.real_pairs(x.raw), level)
    MEANINGS[shapes.complex_of_pairs] = lambda level, x: BatchedArray(
        shapes.complex_of_pairs(x.raw), level
    )

    @means(shapes.diagonal)
    def _view(level: Level, x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
        i, j = axis_of(axis1, x.ndim) + 1, axis_of(axis2, x.ndim) + 1
        return BatchedArray(shapes.diagonal(x.raw, offset, i, j), level)

    @means(shapes.diagonal_scatter)
    def _diagonal_scatter(
        level: Level, g: Any, shape: Any, offset: int = 0, axis1: int = 0, axis2: int = 1
    ) -> Any:
        i, j = axis_of(axis1, len(shape)) + 1, axis_of(axis2, len(shape)) + 1
        made = shapes.diagonal_scatter(g.raw, (level.size, *shape), offset, i, j)
        return BatchedArray(made, level)

    @means(shapes.split)
    def _pieces(level: Level, x: Any, sizes: Any, axis: int) -> Any:
        return results(level, shapes.split(x.raw, sizes, axis_of(axis, x.ndim) + 1))

    @means(shapes.unbind)
    def _unbind(level: Level, x: Any, axis: int) -> Any:
        return results(level, shapes.unbind(x.raw, axis_of(axis, x.ndim) + 1))

    @means(shapes.windows)
    def _windows(level: Level, x: Any, axis: int, size: int, step: int) -> Any:
        if not x.ndim:
            return np.reshape(x, (1,))
        return BatchedArray(shapes.windows(x.raw, axis_of(axis, x.ndim) + 1, size, step), level)

    @means(shapes.overlapped)
    def _overlapped(level: Level, g: Any, shape: Any, axis: int, step: int) -> Any:
        if not shape:
            return np.reshape(g, ())
        i = axis_of(axis, len(shape)) + 1
        return BatchedArray(shapes.overlapped(g.raw, (level.size, *shape), i, step), level)

    for taking in (indexing.getitem, indexing.select, indexing.slices):
        MEANINGS[taking] = lambda level, x, index: getitem(x, index)

    @means(indexing.add_at, indexing.add_rows)
    def _add_at(level: Level, g: Any, index: Any, shape: Any) -> Any:
        place = Place(level, tuple(shape), index, target=True)
        if not place.advanced:
            value = raw(g, level)
            made = indexing.add_at(value, place.index, (level.size, *shape))
        else:
            made = indexing.add_at(place.put(g), place.index, (level.size, *shape))
        return BatchedArray(made, level)

    @means(indexing.put)
    def _put(level: Level, x: Any, index: Any, value: Any) -> Any:
        out = BatchedArray(np.copy(raw(x, level)), level)
        setitem(out, index, value)
        return out

    @means(indexing.gather)
    def _gather(level: Level, x: Any, index: Any, axis: int) -> Any:
        i = axis_of(axis, len(index.shape)) + 1
        return BatchedArray(indexing.gather(raw(x, level), raw(index, level), i), level)

    @means(indexing.scatter_add)
    def _scatter_add(level: Level, g: Any, index: Any, shape: Any, axis: int) -> Any:
        i = axis_of(axis, len(shape)) + 1
        args = raw(g, level), raw(index, level), (level.size, *shape), i
        return BatchedArray(indexing.scatter_add(*args), level)

    @means(indexing.pick)
    def _pick(level: Level, x: Any, index: Any, axis: int) -> Any:
        i = axis_of(axis, len(x.shape)) + 1
        return BatchedArray(indexing.pick(raw(x, level), raw(index, level), i), level)

    @means(indexing.unpick)
    def _unpick(level: Level, g: Any, index: Any, shape: Any, axis: int) -> Any:
        i = axis_of(axis, len(shape)) + 1
        args = raw(g, level), raw(index, level), (level.size, *shape), i
        return BatchedArray(indexing.unpick(*args), level)

    @means(indexing.put_along_axis)
    def _put_along_axis(level: Level, g: Any, indices: Any, shape: Any, axis: Any) -> Any:
        if axis is None:
            flat = _put_along_axis(level, g, indices, (math.prod(shape),), 0)
            return np.reshape(flat, shape)
        i = axis_of(axis, len(shape)) + 1
        args = raw(g, level), raw(indices, level), (level.size, *shape), i
        return BatchedArray(indexing.put_along_axis(*args), level)

    @means(indexing.take_rows)
    def _take_rows(level: Level, weight: Any, index: Any) -> Any:
        if not at(weight, level):
            return BatchedArray(indexing.take_rows(weight, index.raw), level)
        return getitem(weight, as_array(index))

    for overwriting in (indexing.overwritten, indexing.refilled):
        MEANINGS[overwriting] = lambda level, old, value: np.broadcast_to(value, old.shape)
    MEANINGS[indexing.zeroed] = lambda level, old: np.zeros_like(old)


def _affine(level: Level, x: Any, weight: Any, bias: Any) -> Any:
    out = np.matmul(x, np.swapaxes(weight, 0, 1))
    return out if bias is None else out + bias
