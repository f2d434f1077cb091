"""The batched meanings of the primitives of `rules/` about shapes, places and reductions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.arrays.batched.array import BatchedArray, Level, at, further, loop, raw
from wengert.arrays.batched.meanings import Place, getitem, setitem
from wengert.arrays.common import axes_of
from wengert.dispatch import as_array
from wengert.rules import convolution, indexing, normalization, shapes

means, pattern = Level.means, Level.pattern

# ---- one axis further ------------------------------------------------------------------------


@means(convolution.max_places)
def _max_places(level: Level, *args: Any) -> Any:
    """Counted from the back, as what has a rule for pools is."""
    return further(level, convolution.max_places, args, {})


@means(np.take_along_axis)
def _take_along_axis(level: Level, arr: Any, indices: Any, axis: Any = -1) -> Any:
    if axis is None:
        arr, axis = np.reshape(arr, (-1,)), 0
    return further(level, np.take_along_axis, (as_array(arr), as_array(indices), axis), {})


@means(indexing.put_along_axis)
def _put_along_axis(level: Level, g: Any, indices: Any, shape: Any, axis: Any) -> Any:
    if axis is None:
        flat = _put_along_axis(level, g, indices, (math.prod(shape),), 0)
        return np.reshape(flat, shape)
    return further(level, indexing.put_along_axis, (g, indices, shape, axis), {})


@means(normalization.standardize)
def _standardize(level: Level, x: BatchedArray, axes: Any, eps: float) -> Any:
    dims = axes_of(axes, x.ndim)
    if dims == tuple(range(dims[0], x.ndim)):  # the last dimensions
        shifted = tuple(i + 1 for i in dims)
        return BatchedArray(normalization.standardize(x.raw, shifted, eps), level)
    return normalization.standardize.body(x, axes, eps)  # type: ignore[attr-defined]


# ---- shapes ----------------------------------------------------------------------------------


@pattern(shapes.as_strided)
def _one_by_one(function: Any, level: Level, *args: Any) -> Any:
    """What looks at memory does so for each example."""
    return loop(level, function, args, {})


# ---- places ----------------------------------------------------------------------------------


@means(indexing.add_at, indexing.add_rows)
def _add_at(level: Level, g: Any, index: Any, shape: Any) -> Any:
    place = Place(level, tuple(shape), index, target=True)
    value = place.put(g) if place.advanced else raw(g, level)
    return BatchedArray(indexing.add_at(value, place.index, (level.size, *shape)), level)


@means(indexing.put)
def _put(level: Level, x: Any, index: Any, value: Any) -> Any:
    out = BatchedArray(np.copy(raw(x, level)), level)
    setitem(level, out, index, value)
    return out


@means(indexing.take_rows)
def _take_rows(level: Level, weight: Any, index: Any) -> Any:
    if not at(weight, level):
        return BatchedArray(indexing.take_rows(weight, index.raw), level)
    return getitem(level, weight, as_array(index))
