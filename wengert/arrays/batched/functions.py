"""The batched meanings of NumPy's functions: most are themselves, with dimensions counted anew."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.arrays.batched.array import (
    BatchedArray,
    Level,
    aligned,
    at,
    by_name,
    check_target,
    loop,
    raw,
)
from wengert.arrays.common import axes_of, axis_of
from wengert.arrays.facts import COMPOSED, LIKE, REDUCED_BY, RUNNING
from wengert.dispatch import as_array, require
from wengert.rules import shapes

means, pattern = Level.means, Level.pattern


# ---- reductions -----------------------------------------------------------------------------


@pattern(
    *REDUCED_BY, np.mean, np.std, np.var, np.nansum, np.nanprod,
    np.nanmax, np.nanmin, np.nanmean, np.nanstd, np.nanvar, np.median, np.nanmedian,
    np.ptp, np.count_nonzero,
)  # fmt: skip
def _reduction(
    function: Any, level: Level, a: BatchedArray, axis: Any = None, *args: Any, **kwargs: Any
) -> Any:
    """A function of `axis`, all dimensions by default."""
    axes = tuple(i + 1 for i in axes_of(axis, a.ndim))
    kwargs = {k: aligned(v, a.ndim, level) if at(v, level) else v for k, v in kwargs.items()}
    return BatchedArray(function(a.raw, axes, *args, **kwargs), level)


@pattern(
    *RUNNING.values(), np.nancumsum, np.nancumprod, np.sort, np.argsort, np.partition,
    np.argpartition, np.argmax, np.argmin, np.nanargmax, np.nanargmin,
)  # fmt: skip
def _along(function: Any, level: Level, a: BatchedArray, *args: Any, **kwargs: Any) -> Any:
    """A function along one dimension; of the flattened array if that is None."""
    (first, *_), given = by_name(function, (a, *args), kwargs, ("axis",))
    x, n = given.pop(first).raw, a.ndim
    flat = given["axis"] is None or not n
    if flat:
        x, given["axis"] = x if n == 1 else np.reshape(x, (level.size, a.size)), 0
    given["axis"] = axis_of(given["axis"], n) + 1
    result = function(x, **given)
    if flat and given.get("keepdims"):
        result = np.reshape(result, (level.size, *(1,) * n))
    if not n and function in (np.sort, np.argsort):
        result = np.reshape(result, (level.size,))
    return BatchedArray(result, level)


@pattern(np.quantile, np.percentile, np.nanquantile, np.nanpercentile)
def _quantile(
    function: Any, level: Level, a: BatchedArray, q: Any, axis: Any = None, **rest: Any
) -> Any:
    axes = tuple(i + 1 for i in axes_of(axis, a.ndim))
    quantiles = function(a.raw, q, axis=axes, **rest)
    return BatchedArray(np.moveaxis(quantiles, np.ndim(q), 0), level)


# ---- shapes ---------------------------------------------------------------------------------


def _sizes(shape: Any) -> tuple[int, ...]:
    return tuple(shape) if isinstance(shape, (tuple, list)) else (shape.__index__(),)


@means(np.reshape)
def _reshape(
    level: Level, a: BatchedArray, shape: Any = None, order: str = "C", **rest: Any
) -> Any:
    shape = _sizes(rest.get("newshape", shape))
    if -1 in shape:
        known = math.prod(n for n in shape if n != -1)
        if shape.count(-1) > 1 or (known and a.size % known) or (not known and a.size):
            raise ValueError(f"cannot reshape array of size {a.size} into shape {shape}")
        shape = tuple((a.size // known if known else 0) if n == -1 else n for n in shape)
    if math.prod(shape) != a.size:
        raise ValueError(f"cannot reshape array of size {a.size} into shape {shape}")
    if order == "F":
        back = np.reshape(np.transpose(a), tuple(reversed(shape)))
        return np.transpose(back)
    return BatchedArray(np.reshape(a.raw, (level.size, *shape)), level)


@means(np.transpose)
def _transpose(level: Level, a: BatchedArray, axes: Any = None) -> Any:
    order = range(a.ndim)[::-1] if axes is None else [axis_of(i, a.ndim) for i in axes]
    return BatchedArray(np.transpose(a.raw, (0, *(i + 1 for i in order))), level)


@means(np.swapaxes)
def _swapaxes(level: Level, a: BatchedArray, axis1: int, axis2: int) -> Any:
    i, j = axis_of(axis1, a.ndim), axis_of(axis2, a.ndim)
    return BatchedArray(np.swapaxes(a.raw, i + 1, j + 1), level) if a.ndim else a[...]


@means(np.moveaxis)
def _moveaxis(level: Level, a: BatchedArray, source: Any, destination: Any) -> Any:
    here, there = (tuple(i + 1 for i in axes_of(p, a.ndim)) for p in (source, destination))
    return BatchedArray(np.moveaxis(a.raw, here, there), level)


@means(np.broadcast_to)
def _broadcast_to(level: Level, array: BatchedArray, shape: Any, subok: bool = False) -> Any:
    shape = _sizes(shape)
    if len(shape) < array.ndim:
        raise ValueError(
            f"operands could not be broadcast together with remapped shapes: {array.shape} and "
            f"requested shape {shape}"
        )
    wide = aligned(array, len(shape), level)
    return BatchedArray(np.broadcast_to(wide, (level.size, *shape)), level)


@means(np.flip)
def _flip(level: Level, m: BatchedArray, axis: Any = None) -> Any:
    return BatchedArray(np.flip(m.raw, tuple(i + 1 for i in axes_of(axis, m.ndim))), level)


@means(np.roll)
def _roll(level: Level, a: BatchedArray, shift: Any, axis: Any = None) -> Any:
    if axis is None:
        return np.reshape(np.roll(np.reshape(a, (-1,)), shift, 0), a.shape)
    axes = tuple(i + 1 for i in axes_of(axis, a.ndim))
    shift = shift if len(axes) > 1 or np.ndim(shift) else (shift,)
    return BatchedArray(np.roll(a.raw, shift, axes if len(axes) > 1 else axes[0]), level)


@means(np.tril)
def _tril(level: Level, m: BatchedArray, k: int = 0) -> Any:
    return BatchedArray(np.tril(_square(m).raw, k), level)


@means(np.triu)
def _triu(level: Level, m: BatchedArray, k: int = 0) -> Any:
    return BatchedArray(np.triu(_square(m).raw, k), level)


def _square(m: Any) -> Any:
    """Of a vector NumPy makes a matrix with equal rows."""
    return np.broadcast_to(m, m.shape * 2) if m.ndim == 1 else m


@means(np.tile)
def _tile(level: Level, A: BatchedArray, reps: Any) -> Any:
    reps = _sizes(reps)
    n = max(A.ndim, len(reps))
    return BatchedArray(np.tile(aligned(A, n, level), (1,) * (n + 1 - len(reps)) + reps), level)


@means(np.repeat, shapes.repeat_interleave)
def _repeat(level: Level, a: BatchedArray, repeats: Any, axis: Any = None) -> Any:
    x: Any = a
    if axis is None:
        x, axis = np.reshape(a, (-1,)), 0
    return BatchedArray(np.repeat(x.raw, repeats, axis_of(axis, x.ndim) + 1), level)


@means(np.concatenate)
def _concatenate(level: Level, arrays: Any, axis: Any = 0, **rest: Any) -> Any:
    items: list[Any] = [as_array(x) for x in arrays]
    if axis is None:
        items, axis = [np.reshape(x, (-1,)) for x in items], 0
    i = axis_of(axis, items[0].ndim) + 1
    return BatchedArray(np.concatenate([raw(x, level) for x in items], i, **rest), level)


@means(np.stack)
def _stack(level: Level, arrays: Any, axis: Any = 0, **rest: Any) -> Any:
    items: list[Any] = [as_array(x) for x in arrays]
    i = axis_of(axis, items[0].ndim + 1) + 1
    return BatchedArray(np.stack([raw(x, level) for x in items], i, **rest), level)


@means(np.pad)
def _pad(
    level: Level, array: BatchedArray, pad_width: Any, mode: Any = "constant", **options: Any
) -> Any:
    if any(at(v, level) for v in options.values()):
        return loop(level, np.pad, (array, pad_width, mode), options)
    widths = np.broadcast_to(np.asarray(pad_width), (array.ndim, 2)).tolist()
    for name, value in options.items():
        if np.ndim(value):
            options[name] = [(0, 0), *np.broadcast_to(np.asarray(value), (array.ndim, 2)).tolist()]
    return BatchedArray(np.pad(array.raw, [(0, 0), *widths], mode, **options), level)


# ---- making arrays, and about them ----------------------------------------------------------


@pattern(*LIKE)
def _like(function: Any, level: Level, a: Any, *args: Any, shape: Any = None, **rest: Any) -> Any:
    if (args and at(args[0], level)) or not at(a, level):  # full_like with a batched value
        shape = a.shape if shape is None else _sizes(shape)
        out = BatchedArray(np.empty_like(raw(a, level), shape=(level.size, *shape)), level)
        out[...] = args[0]
        return out
    whole = None if shape is None else (level.size, *_sizes(shape))
    return BatchedArray(function(a.raw, *args, shape=whole, **rest), level)


@means(np.copy)
def _copy(level: Level, a: Any, order: str = "K", subok: bool = False) -> Any:
    return a.copy()


@means(np.copyto)
def _copyto(level: Level, dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> Any:
    check_target(level, dst, "np.copyto")
    n = dst.ndim
    np.copyto(dst.raw, aligned(src, n, level), casting=casting, where=aligned(where, n, level))


@means(np.result_type)
def _result_type(level: Level, *operands: Any) -> Any:
    return np.result_type(*(x.dtype if at(x, level) else x for x in operands))


@means(np.can_cast)
def _can_cast(level: Level, from_: Any, to: Any, casting: Any = "safe") -> bool:
    return np.can_cast(from_.dtype, to, casting)


@means(np.may_share_memory, np.shares_memory)
def _shares(level: Level, a: Any, b: Any, max_work: Any = None) -> bool:
    a, b = (x.raw if at(x, level) else x for x in (a, b))
    return bool(np.may_share_memory(a, b))


# ---- indexing -------------------------------------------------------------------------------


@means(np.searchsorted)
def _searchsorted(
    level: Level, a: Any, v: BatchedArray, side: Any = "left", sorter: Any = None
) -> Any:
    if sorter is not None:
        return loop(level, np.searchsorted, (a, v, side, sorter), {})
    return BatchedArray(np.searchsorted(a, v.raw, side), level)


@means(np.digitize)
def _digitize(level: Level, x: BatchedArray, bins: Any, right: bool = False) -> Any:
    return BatchedArray(np.digitize(x.raw, bins, right), level)


@means(np.interp)
def _interp(level: Level, x: Any, xp: Any, fp: Any, **rest: Any) -> Any:
    if at(xp, level) or at(fp, level) or rest:
        return level.composed(COMPOSED[np.interp], (x, xp, fp), rest)
    return BatchedArray(np.interp(x.raw, xp, fp), level)


@means(require)
def _require(level: Level, holds: Any, error: Any, *args: Any) -> None:
    """Of all examples at once."""
    require(raw(holds, level), error, *(x.raw if at(x, level) else x for x in args))
