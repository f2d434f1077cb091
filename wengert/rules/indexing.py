"""Indexing: taking elements out and adding them back in. Taking is linear; its transpose adds."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.dispatch import primitive
from wengert.rules.rule import linear


@primitive
def getitem(x: Any, index: Any) -> Any:
    """`x[index]`; a view for basic indices, a zero-dimensional one for a single element."""
    if isinstance(x, np.ndarray):
        result = x[index]
        if isinstance(result, np.ndarray) or not is_basic(index):
            return result
        # A lone element would be a copy; the ellipsis makes it a view.
        return x[(*index, ...) if isinstance(index, tuple) else (index, ...)]
    return x[index]


def is_basic(index: Any) -> bool:
    """Whether NumPy answers this index with a view."""
    parts = index if isinstance(index, tuple) else (index,)
    return all(
        p is None or p is Ellipsis or isinstance(p, (slice, int, np.integer)) and not isinstance(p, bool)
        for p in parts
    )


@primitive
def add_at(g: Any, index: Any, shape: Any) -> Any:
    """Zeros of `shape` with `g` added at `index`, as often as an element occurs: getitem transposed."""
    out = np.zeros(shape, g.dtype)
    if is_basic(index) or _is_mask(index):
        out[index] = g
    else:
        np.add.at(out, index, g)
    return out


def _is_mask(index: Any) -> bool:
    return isinstance(index, np.ndarray) and index.dtype == bool


linear(getitem, lambda g, x_shape, index: add_at(g, index, x_shape), view=True, name="Index")
linear(add_at, lambda h, index: getitem(h, index), name="IndexPut")


@primitive
def put(x: Any, index: Any, value: Any) -> Any:
    """A copy of `x` with `x[index] = value`."""
    out = x.copy()
    out[index] = value
    return out


def _without(g: Any, index: Any) -> Any:
    return put(g, index, 0)


def _fit(g: Any, shape: tuple[int, ...]) -> Any:
    """Sum to the shape of a value that was broadcast on assignment (leading ones may be extra)."""
    from wengert.rules.rule import unbroadcast

    core = shape
    while len(core) > len(g.shape) and core[0] == 1:
        core = core[1:]
    return np.reshape(unbroadcast(g, core), shape)


linear(
    put,
    lambda g, index: _without(g, index),
    None,
    lambda g, index, value_shape: _fit(getitem(g, index), value_shape),
    name="IndexPut",
)

# ---- along one dimension -------------------------------------------------------------------


@primitive
def gather(x: Any, index: Any, axis: int) -> Any:
    """`out[i, j] = x[index[i, j], j]` for axis 0, and so on; `index` may be smaller than `x`."""
    return x[_grid(index, axis)]


@primitive
def scatter_add(g: Any, index: Any, shape: Any, axis: int) -> Any:
    """Zeros of `shape` with `g[i, j]` added at `[index[i, j], j]`: gather transposed."""
    out = np.zeros(shape, g.dtype)
    np.add.at(out, _grid(index, axis), g)
    return out


def _grid(index: Any, axis: int) -> tuple[Any, ...]:
    """Index arrays that address, for each entry of `index`, the element it names."""
    grid = list(np.ogrid[tuple(slice(n) for n in index.shape)])
    grid[axis] = index
    return tuple(grid)


linear(gather, lambda g, x_shape, index, axis: scatter_add(g, index, x_shape, axis))
linear(scatter_add, lambda h, index, axis: gather(h, index, axis))
linear(
    np.take_along_axis,
    lambda g, arr_shape, indices, axis: _take_back(g, arr_shape, indices, axis),
    name="Gather",
)


def _take_back(g: Any, shape: Any, indices: Any, axis: int) -> Any:
    return scatter_add(g, indices, shape, axis)


@primitive
def take_rows(weight: Any, index: Any) -> Any:
    """`weight[index]` along the first dimension: an embedding."""
    return weight[index]


@primitive
def add_rows(g: Any, index: Any, shape: Any) -> Any:
    """Zeros of `shape` with the rows `g` added at `index`: take_rows transposed."""
    out = np.zeros(shape, g.dtype)
    np.add.at(out, index, g)
    return out


linear(take_rows, lambda g, weight_shape, index: add_rows(g, index, weight_shape), name="Embedding")
linear(add_rows, lambda h, index: take_rows(h, index), name="EmbeddingBackward")
