"""Shapes, new arrays, and questions about arrays."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from wengert.arrays.common import axis_of
from wengert.compile.plan.strides import reshaped
from wengert.compile.program import operations
from wengert.compile.program.intervals import range_of
from wengert.compile.program.program import Shape, Value
from wengert.compile.trace.arrays.array import Trace, TracedArray, writable
from wengert.compile.trace.arrays.core import axes_of, promotable, view_by
from wengert.compile.trace.arrays.indexing import along
from wengert.compile.trace.arrays.layouts import strides_of
from wengert.compile.trace.arrays.numbers import class_of
from wengert.errors import TracingError
from wengert.history.location import here, line_of
from wengert.rules import shapes

# ---- shapes ---------------------------------------------------------------------------------


@Trace.means(np.reshape)
def _reshape(trace: Trace, a: Any, shape: Any = None, order: str = "C", **rest: Any) -> Any:
    a = trace.as_array(a)
    shape = rest.get("newshape", shape)
    if order not in ("C", "A"):
        if order == "F":
            back = tuple(reversed(np.empty(a.shape, bool).reshape(shape).shape))
            return np.transpose(np.reshape(np.transpose(a), back))
        raise TracingError(f"reshape with order={order!r} is not available in a compiled function")
    wanted = (
        np.broadcast_to(np.False_, a.shape).reshape(shape).shape if a.size else _empty(a, shape)
    )
    if wanted == a.shape:
        return a.look(operations.view, (slice(None),) * a.ndim, a.shape)
    steps = strides_of(a.like)
    if steps is not None and reshaped(a.shape, steps, wanted) is None:  # NumPy copies
        return trace.array(trace.record(np.reshape, (a.value, wanted), wanted, a.dtype))
    return a.look(np.reshape, wanted, wanted)


def _in_a_row(a: TracedArray) -> TracedArray:
    """The elements one after the other, to be written through wherever they lie."""
    size = (math.prod(a.shape),)
    return a.look(np.reshape, size, size)


def _empty(a: TracedArray, shape: Any) -> Shape:
    return np.empty(a.shape, bool).reshape(shape).shape


@Trace.means(np.transpose)
def _transpose(trace: Trace, a: Any, axes: Any = None) -> Any:
    a = trace.as_array(a)
    order = tuple(range(a.ndim))[::-1] if axes is None else tuple(axis_of(i, a.ndim) for i in axes)
    if sorted(order) != list(range(a.ndim)):
        raise ValueError("axes don't match array")
    return a.look(np.transpose, order, tuple(a.shape[i] for i in order))


@Trace.means(np.swapaxes)
def _swapaxes(trace: Trace, a: Any, axis1: int, axis2: int) -> Any:
    order = list(range(a.ndim))
    i, j = axis_of(axis1, a.ndim), axis_of(axis2, a.ndim)
    order[i], order[j] = order[j], order[i]
    return np.transpose(a, order)


@Trace.means(np.moveaxis)
def _moveaxis(trace: Trace, a: Any, source: Any, destination: Any) -> Any:
    return np.transpose(a, _moved(a.ndim, source, destination))


def _moved(ndim: int, source: Any, destination: Any) -> list[int]:
    places = np.lib.stride_tricks.as_strided(
        np.zeros(1, np.int8), (1,) * ndim, tuple(range(1, ndim + 1))
    )
    return [s - 1 for s in np.moveaxis(places, source, destination).strides]


@Trace.means(np.broadcast_to, shapes.expand)
def _broadcast_to(trace: Trace, array: Any, shape: Any, subok: bool = False) -> Any:
    array = trace.as_array(array)
    wanted = np.broadcast_to(np.broadcast_to(np.False_, array.shape), shape).shape
    if wanted == array.shape:
        return array.look(operations.view, (slice(None),) * array.ndim, array.shape)
    return array.look(np.broadcast_to, wanted, wanted)


@Trace.means(np.flip)
def _flip(trace: Trace, m: Any, axis: Any = None) -> Any:
    axes = axes_of(axis, m.ndim)
    return m[tuple(slice(None, None, -1 if i in axes else None) for i in range(m.ndim))]


@Trace.means(np.roll)
def _roll(trace: Trace, a: Any, shift: Any, axis: Any = None) -> Any:
    if axis is None:
        return np.reshape(np.roll(np.reshape(a, (-1,)), shift, 0), a.shape)
    for by, i in np.broadcast(shift, axis):
        i = axis_of(i, a.ndim)
        n = a.shape[i]
        by = by % n if n else 0
        before = (slice(None),) * i
        if by:
            a = np.concatenate([a[(*before, slice(n - by, n))], a[(*before, slice(0, n - by))]], i)
    return a.copy()


@Trace.means(np.tril)
def _tril(trace: Trace, m: Any, k: int = 0) -> Any:
    return _triangle(m, k, lower=True)


@Trace.means(np.triu)
def _triu(trace: Trace, m: Any, k: int = 0) -> Any:
    return _triangle(m, k - 1, lower=False)


def _triangle(m: Any, k: int, lower: bool) -> Any:
    if m.ndim == 1:
        m = np.broadcast_to(m, (m.shape[0], m.shape[0]))
    rows, columns = m.shape[-2:]
    mask = np.tri(rows, columns, k, dtype=np.bool_)
    return np.where(mask if lower else ~mask, m, m.dtype.type(0).item())


@Trace.means(np.concatenate)
def _concatenate(trace: Trace, arrays: Any, axis: Any = 0, dtype: Any = None, **rest: Any) -> Any:
    items: list[Any] = [trace.as_array(x) for x in arrays]
    if axis is None:
        items, axis = [np.reshape(x, (-1,)) for x in items], 0
    i = axis_of(axis, items[0].ndim)
    kind = np.dtype(dtype) if dtype is not None else np.result_type(*(x.dtype for x in items))
    shapes = [x.shape for x in items]
    if any(s[:i] + s[i + 1 :] != shapes[0][:i] + shapes[0][i + 1 :] for s in shapes):
        raise ValueError(
            "all the input array dimensions except for the concatenation axis must match exactly, "
            f"but found shapes {shapes}"
        )
    shape = (*shapes[0][:i], sum(s[i] for s in shapes), *shapes[0][i + 1 :])
    values = tuple(trace.cast(x.value, kind) for x in items)
    return trace.array(trace.record(np.concatenate, (values,), shape, kind, axis=i))


@Trace.means(np.stack)
def _stack(trace: Trace, arrays: Any, axis: Any = 0, **rest: Any) -> Any:
    items = [trace.as_array(x) for x in arrays]
    if len({x.shape for x in items}) > 1:
        raise ValueError("all input arrays must have the same shape")
    i = axis_of(axis, items[0].ndim + 1)
    return np.concatenate(list(_slabs(trace, items, i)), i)


def _slabs(trace: Trace, items: list[TracedArray], axis: int) -> Iterator[Any]:
    """What stands along an axis: slices of one array that follow each other are a part of it. Lists
    that collect rows are such, and their cotangents.
    """
    slices = list(map(_slice_of, items))
    k = 0
    while k < len(items):
        known, stop = slices[k], k + 1
        while known is not None and stop < len(items) and slices[stop] == known.after(stop - k):
            stop += 1
        yield (
            np.expand_dims(items[k], axis) if stop == k + 1 else _slab(trace, known, stop - k, axis)
        )
        k = stop


class _Slice(NamedTuple):
    """The slice of an array at a place along the first axis where it is one."""

    storage: Any
    path: tuple[Any, ...]
    before: tuple[Any, ...]
    place: int
    behind: tuple[Any, ...]
    shape: Shape

    def after(self, k: int) -> _Slice:
        return self._replace(place=self.place + k)


def _slice_of(x: TracedArray) -> _Slice | None:
    *path, last = x.path or (None,)
    if last is None or last.function is not operations.view:
        return None
    args = last.args
    k = next((k for k, part in enumerate(args) if type(part) is int), None)
    if k is None:
        return None
    return _Slice(x.storage, tuple(path), args[:k], args[k], args[k + 1 :], x.shape)


def _slab(trace: Trace, first: Any, n: int, axis: int) -> Any:
    """n slices from the first on, along `axis`."""
    storage, path, before, k, behind, shape = first
    at = len(before)
    args = (*before, slice(k, k + n, 1), *behind)
    shape = (*shape[:at], n, *shape[at:])
    slab = TracedArray(trace, storage, path).look(operations.view, args, shape)
    order = [k for k in range(len(shape)) if k != at]
    order.insert(axis, at)
    return slab if at == axis else np.transpose(slab, order)


@Trace.means(np.tile)
def _tile(trace: Trace, A: Any, reps: Any) -> Any:
    reps = tuple(reps) if isinstance(reps, (tuple, list)) else (reps,)
    n = max(A.ndim, len(reps))
    shape, reps = (1,) * (n - A.ndim) + A.shape, (1,) * (n - len(reps)) + reps
    pairs = [k for pair in zip((1,) * n, shape, strict=True) for k in pair]
    wide = [k for pair in zip(reps, shape, strict=True) for k in pair]
    repeated = np.broadcast_to(np.reshape(A, pairs), wide)
    return np.reshape(repeated, [r * s for r, s in zip(reps, shape, strict=True)]).copy()


@Trace.means(np.repeat)
def _repeat(trace: Trace, a: Any, repeats: Any, axis: Any = None) -> Any:
    if axis is None:
        a, axis = np.reshape(a, (-1,)), 0
    i = axis_of(axis, a.ndim)
    if np.ndim(repeats) == 0:
        rows = np.repeat(np.arange(a.shape[i]), int(repeats))
    else:
        rows = np.repeat(np.arange(a.shape[i]), np.asarray(repeats))
    return a[(*(slice(None),) * i, rows)]


@Trace.means(np.diag)
def _diag(trace: Trace, v: Any, k: int = 0) -> Any:
    return np.diagonal(v, k) if v.ndim == 2 else trace.otherwise(np.diag, (v, k), {})


@Trace.means(np.rot90)
def _rot90(trace: Trace, m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    i, j = (axis_of(axis, m.ndim) for axis in axes)
    if len(axes) != 2 or i == j:
        raise ValueError("Axes must be different.")
    if k % 2 == 0:
        return np.flip(m, axes) if k % 4 else m[...]
    return np.swapaxes(np.flip(m, j), i, j) if k % 4 == 1 else np.flip(np.swapaxes(m, i, j), j)


@Trace.means(np.lib.stride_tricks.sliding_window_view)
def _sliding_window_view(trace: Trace, x: Any, *args: Any, **kwargs: Any) -> Any:
    return view_by(np.lib.stride_tricks.sliding_window_view, trace, x, *args, **kwargs)


@Trace.means(np.diagonal, shapes.diagonal)
def _diagonal(trace: Trace, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    i, j = axis_of(axis1, a.ndim), axis_of(axis2, a.ndim)
    rows, columns = a.shape[i], a.shape[j]
    n = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    start = max(offset, 0) - min(offset, 0) * columns
    end = start + max(n - 1, 0) * (columns + 1) + 1

    def value_of(value: Value) -> Value:
        last: Any = trace.array(value)
        last = np.moveaxis(last, (i, j), (-2, -1))
        flat: Any = np.reshape(last, (*last.shape[:-2], rows * columns))
        return flat[..., start : end if n else start : columns + 1].value

    return a.peek(value_of, lambda array: np.diagonal(array, offset, i, j))


@Trace.means(shapes.as_strided)
def _as_strided(trace: Trace, x: Any, size: Any, stride: Any, offset: int, layout: Any) -> Any:
    own = shapes.places(x.shape, layout, 0).reshape(-1)
    wanted = shapes.places(size, stride, offset)
    order = np.argsort(own, kind="stable")
    places = np.minimum(np.searchsorted(own[order], wanted), max(own.size - 1, 0))
    if wanted.size and (not own.size or (own[order][places] != wanted).any()):
        raise TracingError(
            f"as_strided in a compiled function at\n  {line_of(*here())}\n"
            "It shows memory in which the tensor itself has no elements: take the view of the "
            "whole tensor that this is a part of."
        )
    index = order[places] if own.size else wanted

    def value_of(value: Value) -> Value:
        flat: Any = np.reshape(trace.array(value), (-1,))
        return flat[index].value

    return x.peek(value_of, lambda array: shapes.as_strided(array, size, stride, offset, layout))


# ---- making arrays --------------------------------------------------------------------------


def _like(trace: Trace, number: Any, a: Any, dtype: Any, order: str, shape: Any) -> TracedArray:
    strides = trace.kept([a]) if order == "K" and shape is None else None
    dtype = np.dtype(dtype) if dtype is not None else a.dtype
    shape = a.shape if shape is None else (shape,) if isinstance(shape, int) else tuple(shape)
    return trace.array(trace.record(operations.full, (shape, number, dtype), shape, dtype), strides)


@Trace.pattern(np.zeros_like, np.ones_like, np.empty_like)
def _likes(
    function: Any, trace: Trace, a: Any, dtype: Any = None, order: str = "K", subok: bool = True,
    shape: Any = None,
) -> Any:  # fmt: skip
    return _like(trace, int(function is np.ones_like), a, dtype, order, shape)


@Trace.means(np.full_like)
def _full_like(
    trace: Trace, a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True,
    shape: Any = None,
) -> Any:  # fmt: skip
    out = _like(trace, 0, a, dtype, order, shape)
    out.write(fill_value)
    return out


@Trace.means(np.copy)
def _copy(trace: Trace, a: Any, order: str = "K", subok: bool = False) -> Any:
    return trace.as_array(a).copy(order)


@Trace.means(np.put_along_axis)
def _put_along(trace: Trace, arr: Any, indices: Any, values: Any, axis: Any, **rest: Any) -> None:
    arr, indices = writable(arr), trace.as_array(indices)
    if axis is None:
        _in_a_row(arr)[indices] = values
    else:
        arr[along(arr.shape, indices, axis_of(axis, arr.ndim))] = values


@Trace.means(np.fill_diagonal)
def _fill_diagonal(trace: Trace, a: Any, val: Any, wrap: bool = False) -> None:
    a = writable(a)
    step = sum(math.prod(a.shape[i + 1 :]) for i in range(a.ndim))
    end = None if wrap or a.ndim > 2 else min(a.shape[1] ** 2, a.size)
    _in_a_row(a)[:end:step] = val


@Trace.means(np.put)
def _put(trace: Trace, a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    _in_a_row(writable(a))[ind] = v


@Trace.means(np.putmask)
def _putmask(trace: Trace, a: Any, mask: Any, values: Any) -> None:
    mask, values = trace.as_array(mask), trace.as_array(values)
    zeros = [np.zeros(x.shape, x.dtype) for x in (a, mask, values)]
    np.putmask(zeros[0][()] if a.scalar else zeros[0], *zeros[1:])  # for its errors
    if values.size:
        values = np.resize(values, a.shape) if values.shape not in ((), a.shape) else values
        writable(a).write(np.where(np.reshape(mask, a.shape), values, a))


@Trace.means(np.copyto)
def _copyto(
    trace: Trace, dst: Any, src: Any, casting: str = "same_kind", where: Any = True
) -> None:
    writable(dst).write(src if where is True else np.where(where, src, dst))


# ---- about arrays ---------------------------------------------------------------------------


@Trace.pattern(np.can_cast, np.promote_types)
def _about_dtypes(function: Any, trace: Trace, *args: Any, **kwargs: Any) -> Any:
    """What goes by dtypes alone, and takes no arrays in their place, or some."""

    def like(x: Any) -> Any:
        if type(x) is not TracedArray:
            return x
        return class_of(x)(0) if x.scalar else np.zeros((), x.dtype)

    return function(*map(like, args), **kwargs)


@Trace.means(np.result_type)
def _result_type(trace: Trace, *operands: Any) -> Any:
    kinds = [promotable(x.value) if type(x) is TracedArray else x for x in operands]
    return np.result_type(*kinds)


@Trace.means(np.may_share_memory)
def _may_share(trace: Trace, a: Any, b: Any, max_work: Any = None) -> bool:
    arrays = type(a) is type(b) is TracedArray
    return arrays and a.storage is b.storage and 0 not in (a.size, b.size)


@Trace.means(np.shares_memory)
def _shares(trace: Trace, a: Any, b: Any, max_work: Any = None) -> bool:
    if not type(a) is type(b) is TracedArray:
        return False
    steps = (*a.path, *b.path)
    if a.storage is b.storage and all(step.is_known for step in steps):
        base = a.storage.value
        places = np.arange(base.size).reshape(base.shape)
        return bool(np.intersect1d(a.seen_in(places), b.seen_in(places)).size)
    if a.storage is not b.storage and None in (a.storage.origin, b.storage.origin):
        return False
    raise TracingError(
        "whether two arrays share memory is asked in a compiled function, at\n"
        f"  {line_of(*here())}\nIt knows neither that of two from outside, nor computed indices. "
        "Ask before the call, and pass the answer."
    )


# ---- numbers --------------------------------------------------------------------------------


@Trace.means(np.real)
def _real(trace: Trace, val: Any) -> Any:
    return val if val.dtype.kind != "c" else view_by(np.real, trace, val)


@Trace.means(np.imag)
def _imag(trace: Trace, val: Any) -> Any:
    if val.weak and val.dtype.kind != "c":
        return class_of(val)().imag
    return np.zeros_like(val) if val.dtype.kind != "c" else view_by(np.imag, trace, val)


@Trace.means(shapes.real_pairs)
def _real_pairs(trace: Trace, x: Any) -> Any:
    return view_by(shapes.real_pairs, trace, x)


@Trace.means(shapes.complex_of_pairs)
def _complex_of_pairs(trace: Trace, x: Any) -> Any:
    pairs = x if x.strides[-1] == x.dtype.itemsize else x.copy()
    return view_by(shapes.complex_of_pairs, trace, pairs)


@Trace.means(np.clip)
def _clip(
    trace: Trace, a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None,
    dtype: Any = None,
) -> Any:  # fmt: skip
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    if a.dtype.kind in "iu":  # a limit that no element reaches is none
        least, greatest = range_of(a.dtype)
        low = None if type(low) is int and low < least else low
        high = None if type(high) is int and high > greatest else high
    if a.dtype.kind == "b":  # beside a number of Python's alone it would become an int
        a = a.astype(np.result_type(a, *(x for x in (low, high) if x is not None)))
    a = a.astype(a.dtype) if low is None else np.maximum(a, low)
    return a if high is None else np.minimum(a, high)


@Trace.means(shapes.astype)
def _astype(trace: Trace, x: Any, dtype: Any) -> Any:
    if x.dtype.kind == "c" and np.dtype(dtype).kind not in "cb":
        x = np.real(x)
    return x.astype(dtype)


@Trace.means(np.round, np.around)
def _round(trace: Trace, a: Any, decimals: int = 0) -> Any:
    decimals = operator.index(decimals)
    if decimals == 0 or (decimals > 0 and a.dtype.kind in "iu"):
        return np.rint(a) if a.dtype.kind in "fcb" else a.astype(a.dtype)
    if a.dtype.kind == "b":
        np.round(np.zeros((), a.dtype), decimals)  # raises
    scale = 10.0 ** abs(decimals)
    y = np.rint(a * scale) / scale if decimals > 0 else np.rint(a / scale) * scale
    return y.astype(a.dtype) if a.dtype.kind in "iu" else y


@Trace.means(np.count_nonzero)
def _count_nonzero(trace: Trace, a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return np.sum(np.not_equal(a, 0), axis=axis, keepdims=keepdims, dtype=np.int64)


@Trace.means(np.nan_to_num)
def _nan_to_num(
    trace: Trace, x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    if not copy:
        writable(x).write(np.nan_to_num(x, True, nan, posinf, neginf))
        return x
    if x.dtype.kind not in "f":
        return trace.otherwise(np.nan_to_num, (x, True, nan, posinf, neginf), {})
    limits = np.finfo(x.dtype)
    high = float(limits.max) if posinf is None else posinf
    low = float(limits.min) if neginf is None else neginf
    x = np.where(np.isnan(x), nan, x)
    return np.where(x == np.inf, high, np.where(x == -np.inf, low, x))


@Trace.means(np.isclose)
def _isclose(
    trace: Trace, a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    b = np.multiply(b, 1.0)  # as NumPy has it: truth values cannot be subtracted
    near = np.less_equal(np.absolute(a - b), atol + rtol * np.absolute(b)) & np.isfinite(b)
    near = near | np.equal(a, b)
    return near | (np.isnan(a) & np.isnan(b)) if equal_nan else near
