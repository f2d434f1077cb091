"""What a call means on batched arrays: the methods of ufuncs, and indexing."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.arrays.batched.array import (
    BatchedArray,
    Level,
    aligned,
    at,
    check_target,
    entered,
    generalized,
    left,
    left_view,
    loop,
    ndim_of,
    same,
    total,
)
from wengert.arrays.common import axes_of, axis_of
from wengert.dispatch import as_array
from wengert.errors import BatchingError
from wengert.history.location import here, line_of
from wengert.rules import indexing


@Level.pattern(entered, left, left_view, total, same)
def _through_levels(function: Any, level: Level, *args: Any) -> Any:
    """These look for their own level beneath newer ones."""
    return function.body(*args)


# ---- ufuncs ---------------------------------------------------------------------------------


@Level.means(np.ufunc.accumulate)
def _accumulate(level: Level, ufunc: Any, x: Any, axis: Any = 0, **rest: Any) -> Any:
    if not at(x, level):
        return loop(level, ufunc.accumulate, (x, axis), rest)
    return BatchedArray(ufunc.accumulate(x.raw, axis_of(axis, x.ndim) + 1, **rest), level)


@Level.means(np.ufunc.reduceat)
def _reduceat(level: Level, ufunc: Any, x: Any, places: Any, axis: Any = 0, **rest: Any) -> Any:
    if not at(x, level) or at(places, level):
        return loop(level, ufunc.reduceat, (x, places, axis), rest)
    return BatchedArray(ufunc.reduceat(x.raw, places, axis_of(axis, x.ndim) + 1, **rest), level)


@Level.pattern(
    *(f for f in vars(np).values() if isinstance(f, np.ufunc) and f.signature is not None)
)
def _generalized(function: Any, level: Level, *args: Any, **kwargs: Any) -> Any:
    return generalized(level, function, args, kwargs)


@Level.means(np.ufunc.reduce)
def _reduce(
    level: Level, ufunc: Any, a: Any, axis: Any = 0, dtype: Any = None, keepdims: bool = False,
    **rest: Any,
) -> Any:  # fmt: skip
    if not at(a, level):
        return loop(level, ufunc.reduce, (a,), {"axis": axis, "keepdims": keepdims, **rest})
    rest = {k: _aligned_option(v, a, level) for k, v in rest.items()}
    axes = axes_of(axis, a.ndim)
    reduced = ufunc.reduce(
        a.raw, axis=tuple(i + 1 for i in axes), dtype=dtype, keepdims=keepdims, **rest
    )
    return BatchedArray(reduced, level)


def _aligned_option(x: Any, a: BatchedArray, level: Level) -> Any:
    return aligned(x, a.ndim, level) if at(x, level) else x


@Level.means(np.ufunc.at)
def _at(level: Level, ufunc: Any, x: Any, index: Any, *values: Any) -> None:
    """`ufunc.at`: each example's own element, each time its index occurs."""
    check_target(level, x, f"np.{ufunc.__name__}.at")
    place = Place(level, x.shape, index, target=True)
    if not place.advanced:
        region = x.raw[place.index]
        region[...] = ufunc(region, *(aligned(v, region.ndim - 1, level) for v in values))
        return
    ufunc.at(x.raw, place.index, *(place.put(v) for v in values))


# ---- indexing -------------------------------------------------------------------------------


class Place:
    """An index of examples of some shape as one of their whole batch.

    `index` is for the array with the batch in front, or, where that is not batched and the index
    is, for the array itself. What it takes has the batch and the dimensions of the index arrays
    where NumPy puts them; `take` moves them to where they belong, and `put` moves a value there.
    """

    def __init__(
        self, level: Level, shape: tuple[int, ...], index: Any, target: bool, batched: bool = True
    ) -> None:
        self.level = level
        parts = _parts(level, shape, index)
        arrays = [p for p in parts if hasattr(p, "ndim")]
        self.advanced = bool(arrays)
        self.moves: tuple[Any, Any] | None = None
        if not arrays:
            self.index: Any = (slice(None), *parts)
            return
        n = max(p.ndim for p in arrays)
        self.shape = _taken(shape, parts)
        numbers = [i for i, p in enumerate(parts) if isinstance(p, int) or hasattr(p, "ndim")]
        together = numbers == list(range(numbers[0], numbers[-1] + 1))
        before = numbers[0] if together else 0  # dimensions of the result ahead of the arrays'
        own = any(at(p, level) for p in arrays)
        parts = [aligned(p, n, level) if at(p, level) else p for p in parts]
        if not own:
            self.index = (slice(None), *parts)
            if not together:
                self.moves = n, 0
        elif batched:
            rows = np.reshape(np.arange(level.size), (level.size, *(1,) * n))
            self.index = (rows, *parts)
            if before and together:
                self.moves = tuple(range(1, 1 + n)), tuple(range(1 + before, 1 + before + n))
        else:
            self.index = tuple(parts)
            if before:
                self.moves = before, 0

    def take(self, x: Any) -> Any:
        """From an array (with the batch in front) to the result with the batch in front."""
        taken = x[self.index]
        return taken if self.moves is None else np.moveaxis(taken, *self.moves)

    def put(self, value: Any) -> Any:
        """A value in the order in which the index takes dimensions."""
        if not at(value, self.level) and not ndim_of(value):
            return value
        n = len(self.shape)
        wide = aligned(value, n, self.level) if at(value, self.level) else as_array(value)
        extra = len(wide.shape) - (n + at(value, self.level))
        if extra > 0:  # leading ones may be dropped on assignment
            first = int(at(value, self.level))
            wide = np.reshape(wide, wide.shape[:first] + wide.shape[first + extra :])
        wide = np.broadcast_to(wide, (self.level.size, *self.shape))
        return wide if self.moves is None else np.moveaxis(wide, self.moves[1], self.moves[0])


def _taken(shape: tuple[int, ...], parts: list[Any]) -> tuple[int, ...]:
    """The shape of what an index takes, learned on an array without memory."""
    sample = np.broadcast_to(np.False_, tuple(max(n, 1) for n in shape))
    index = tuple(np.zeros(p.shape, np.int64) if hasattr(p, "ndim") else p for p in parts)
    if all(shape):
        index = tuple(0 if isinstance(p, int) else p for p in index)
        return sample[index].shape
    return np.empty(shape, bool)[index].shape


def _parts(level: Level, shape: tuple[int, ...], index: Any) -> list[Any]:
    """An index with one entry per dimension or None: numbers, slices and arrays of integers."""
    given = list(index) if isinstance(index, tuple) else [index]
    parts = [q for p in given for q in _part(level, p)]
    used = sum(p is not None and p is not Ellipsis for p in parts)
    if used > len(shape):
        raise IndexError(
            f"too many indices for array: array is {len(shape)}-dimensional, but {used} were "
            "indexed"
        )
    dots = [i for i, p in enumerate(parts) if p is Ellipsis]
    at_ = dots[0] if dots else len(parts)
    parts[at_ : at_ + bool(dots)] = [slice(None)] * (len(shape) - used)
    if any(p is Ellipsis for p in parts):
        raise IndexError("an index can only have a single ellipsis ('...')")
    return parts


def _part(level: Level, p: Any) -> list[Any]:
    if p is None or p is Ellipsis or isinstance(p, slice):
        return [p]
    if isinstance(p, (int, np.integer)) and not isinstance(p, (bool, np.bool_)):
        return [int(p)]
    p = _listed(p) if isinstance(p, (list, tuple)) else as_array(p)
    if p.dtype == bool:
        if at(p, level):
            raise BatchingError(
                f"vmap: a batched mask as an index, at\n  {line_of(*here())}\n"
                "How many elements it takes may differ from example to example. Keep the full "
                "shape and choose, as in wg.where(mask, x, 0) or np.where."
            )
        if not p.ndim and isinstance(p, np.ndarray):
            return [None] if p else [None, np.zeros(0, np.int64)]
        return list(np.nonzero(p))
    if not p.size and dtypes.is_floating(p.dtype):
        p = p.astype(np.int64)
    if p.dtype.kind not in "iu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    return [p]


def _listed(p: Any) -> Any:
    return (
        np.stack([as_array(x) for x in p])
        if any(type(x) is BatchedArray for x in p)
        else np.asarray(p)
    )


@Level.means(operator.getitem, indexing.getitem, indexing.select, indexing.slices)
def getitem(level: Level, x: Any, index: Any) -> Any:
    """`x[index]` with a batched array, a batched index, or both; a view for basic indices."""
    parts = index if isinstance(index, tuple) else (index,)
    if any(p is False or p is np.False_ for p in parts):
        return getitem(level, x, tuple(None if p is False or p is np.False_ else p for p in parts))[
            :0
        ]
    batched = at(x, level)
    place = Place(level, x.shape, index, target=False, batched=batched)
    return BatchedArray(place.take(x.raw if batched else x), level)


@Level.means(operator.setitem)
def setitem(level: Level, x: Any, index: Any, value: Any) -> None:
    """`x[index] = value`."""
    parts = index if isinstance(index, tuple) else (index,)
    check_target(level, x, "x[index] = value")
    if len(parts) == 1 and at(parts[0], level) and parts[0].dtype == bool:
        mask = parts[0]
        if ndim_of(value):
            raise BatchingError(
                f"vmap: values written where a batched mask holds, at\n  {line_of(*here())}\n"
                "How many there are may differ from example to example. Write a single number, or "
                "choose with np.where(mask, values, x), with values in the shape of x."
            )
        mask = np.reshape(mask, (*mask.shape, *(1,) * (x.ndim - mask.ndim)))
        x[...] = np.where(mask, value, x)
        return
    place = Place(level, x.shape, parts, target=True)
    if not place.advanced:
        region = x.raw[place.index]
        wide = aligned(value, region.ndim - 1, level)
        extra = ndim_of(wide) - region.ndim
        if at(value, level) and extra > 0:
            wide = np.reshape(wide, (wide.shape[0], *wide.shape[1 + extra :]))
        x.raw[place.index] = wide
        return
    x.raw[place.index] = place.put(value)
