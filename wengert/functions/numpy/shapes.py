"""What NumPy's functions that rearrange, join and pick elements mean on Tensors.

Where NumPy decides which element goes where, it is asked about an array of places, and the
elements are gathered by its answer.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.arrays.common import axis_of
from wengert.arrays.facts import composed
from wengert.arrays.kind import array_of
from wengert.dispatch import as_array
from wengert.functions.numpy.calls import no_more
from wengert.rules.shapes import windows


def known(x: Any) -> Any:
    """Indices as NumPy itself takes them: no function that is asked for may be asked again."""
    x = array_of(x)
    return np.asarray(x) if hasattr(type(x), "__array_function__") else x


def _places(a: Any) -> Any:
    return np.reshape(np.arange(math.prod(a.shape)), a.shape)


def _gathered(a: Any, places: Any) -> Any:
    return np.ravel(a)[places]


@composed(np.lib.stride_tricks.sliding_window_view)
def _sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    sizes = tuple(window_shape) if np.iterable(window_shape) else (window_shape,)
    axes = range(len(x.shape)) if axis is None else axis if np.iterable(axis) else (axis,)
    if axis is None and len(sizes) != len(x.shape):
        raise ValueError("Since axis is None, must provide window_shape for all dimensions of `x`")
    n = len(x.shape)
    for size, along in zip(sizes, tuple(axes), strict=True):
        if not 0 <= size <= x.shape[along % n]:
            raise ValueError("window shape cannot be larger than input array shape")
        x = windows(x, along % n, size, 1)
    return x


# ---- joining and splitting -----------------------------------------------------------------


@composed(np.append)
def _append(arr: Any, values: Any, axis: int | None = None) -> Any:
    arr, values = as_array(arr), as_array(values)
    if axis is None:
        arr, values, axis = np.ravel(arr), np.ravel(values), 0
    return np.concatenate([arr, values], axis=axis)


@composed(np.insert)
def _insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    arr, values = as_array(arr), as_array(values)
    if axis is None:
        arr, axis = np.ravel(arr), 0
    axis = axis_of(axis, len(arr.shape))
    obj = known(obj)
    # Ask NumPy with places instead of values: those of `values` come after those of `arr`.
    n = math.prod(arr.shape)
    there = np.insert(_places(arr), obj, n + _places(values), axis=axis)
    both = np.concatenate([np.ravel(arr), np.astype(np.ravel(values), arr.dtype)])
    return both[there]


@composed(np.delete)
def _delete(arr: Any, obj: Any, axis: int | None = None) -> Any:
    arr = as_array(arr)
    return _gathered(arr, np.delete(_places(arr), known(obj), axis=axis))


@composed(np.block)
def _block(arrays: Any) -> Any:
    """Blocks put together: the innermost lists along the last axis, and so on outwards."""

    def depth(x: Any) -> int:
        return 1 + depth(x[0]) if isinstance(x, list) else 0

    def leaves(x: Any) -> list[Any]:
        return [y for item in x for y in leaves(item)] if isinstance(x, list) else [as_array(x)]

    levels = depth(arrays)
    n = max(levels, *(len(x.shape) for x in leaves(arrays)))

    def joined(x: Any, level: int) -> Any:
        if not isinstance(x, list):
            x = as_array(x)
            return np.reshape(x, (*(1,) * (n - len(x.shape)), *x.shape))
        return np.concatenate([joined(item, level + 1) for item in x], axis=n - levels + level)

    return joined(arrays, 0)


def _splitting(name: str, axis: int, least: int) -> Any:
    def meaning(ary: Any, indices_or_sections: Any) -> Any:
        n = len(ary.shape)
        if n < least:
            raise ValueError(f"{name} only works on arrays of {least} or more dimensions")
        return np.split(ary, known(indices_or_sections), min(axis, n - 1))

    return meaning


for _name, _axis, _least in (("hsplit", 1, 1), ("vsplit", 0, 2), ("dsplit", 2, 3)):
    composed(getattr(np, _name))(_splitting(_name, _axis, _least))


@composed(np.unstack)
def _unstack(x: Any, /, *, axis: int = 0) -> Any:
    first = np.moveaxis(x, axis, 0)
    return tuple(first[i] for i in range(first.shape[0]))


# ---- picking -------------------------------------------------------------------------------


@composed(np.compress)
def _compress(condition: Any, a: Any, axis: int | None = None, **rest: Any) -> Any:
    no_more(rest)
    kept = np.flatnonzero(array_of(as_array(condition)))
    return np.take(as_array(a), kept, axis=axis)


@composed(np.extract)
def _extract(condition: Any, arr: Any) -> Any:
    kept = np.flatnonzero(array_of(as_array(condition)))
    return np.ravel(as_array(arr))[kept]


@composed(np.resize)
def _resize(a: Any, new_shape: Any) -> Any:
    return _gathered(a, np.resize(_places(a), new_shape))


@composed(np.trim_zeros)
def _trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """What is left without the zeros at the front and at the back of each axis, or of some."""
    places = np.argwhere(np.asarray(array_of(filt)))
    n = len(filt.shape)
    axes = {k % n for k in (range(n) if axis is None else np.atleast_1d(axis).tolist())}
    kept = [slice(None)] * n
    for k in axes:
        start = int(places[:, k].min(initial=filt.shape[k])) if "f" in trim.lower() else 0
        stop = int(places[:, k].max(initial=-1)) + 1 if "b" in trim.lower() else filt.shape[k]
        kept[k] = slice(start, stop) if len(places) else slice(0, 0)
    return filt[tuple(kept)]


@composed(np.partition)
def _partition(a: Any, kth: Any, axis: int | None = -1, **rest: Any) -> Any:
    no_more(rest)
    a, axis = (np.ravel(a), 0) if axis is None else (a, axis)
    return np.take_along_axis(a, np.argpartition(array_of(a), kth, axis=axis), axis)


@composed(np.diagflat)
def _diagflat(v: Any, k: int = 0) -> Any:
    return np.diag(np.ravel(v), k)


@composed(np.matrix_transpose, np.linalg.matrix_transpose)
def _matrix_transpose(x: Any, /) -> Any:
    if len(x.shape) < 2:
        raise ValueError(
            f"Input array must be at least 2-dimensional, but it is {len(x.shape)}-dimensional"
        )
    return np.swapaxes(x, -1, -2)
