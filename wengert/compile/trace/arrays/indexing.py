"""Reading and writing parts of traced arrays."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from wengert.arrays.common import axis_of
from wengert.arrays.facts import COMPOSED
from wengert.compile.program import operations
from wengert.compile.program.infer import infer
from wengert.compile.program.program import Shape, Value
from wengert.compile.trace.arrays.array import Trace, TracedArray, known, writable
from wengert.compile.trace.arrays.core import is_of_truths
from wengert.compile.trace.arrays.lines import is_users
from wengert.compile.trace.arrays.operands import assigned
from wengert.compile.trace.arrays.refusals import shape_depends
from wengert.dispatch import Function, require, within
from wengert.errors import TracingError
from wengert.history.location import here, line_of
from wengert.rules import indexing
from wengert.rules.indexing import out_of_bounds


def _outside_tensor(index: Any, axis: int, shape: Shape) -> IndexError:
    return indexing.of_tensors(out_of_bounds(index, axis, shape), shape)


@Trace.means(operator.getitem)
def getitem(trace: Trace, x: Any, index: Any) -> Any:
    """`x[index]`: a view for slices and numbers, else a copy.

    Without dots a single element is a copy too: NumPy makes a number of it.
    """
    return _found(trace, x, index, out_of_bounds)


def _found(trace: Trace, x: Any, index: Any, error: Function) -> Any:
    x, index = _counted_truths(trace, trace.as_array(x), index)
    places, basic = index_of(trace, x.shape, index, error)
    if basic:
        seen = x.look(operations.view, places, _seen(operations.view, x, places))
        if seen.shape or _has_dots(index):
            return seen
        one = x.trace.array(seen.value)
        one.single = True
        return one
    shape = _seen(operations.take, x, places)
    taken = x.trace.array(x.trace.record(operations.take, (x.value, places), shape, x.dtype))
    taken.single = not shape and not _has_dots(index)
    return taken


@Trace.means(indexing.getitem)
def _of_tensor(trace: Trace, x: Any, index: Any) -> Any:
    """`x[index]` of the array in a Tensor: a view also of one element, by a number or a tensor."""
    x, index = _counted_truths(trace, trace.as_array(x), index)
    places, basic = index_of(x.trace, x.shape, index, _outside_tensor)
    if any(type(p) is Value and p.shape for p in places):
        return _found(trace, x, index, _outside_tensor)
    function = operations.view if basic else operations.take
    return x.look(function, places, _seen(function, x, places))


@Trace.means(operator.setitem)
def setitem(trace: Trace, x: Any, index: Any, value: Any, error: Function = out_of_bounds) -> None:
    """`x[index] = value`."""
    x = writable(x)
    if x.path and is_users() and not x.like.flags.writeable:  # as np.broadcast_to and diagonal give
        raise ValueError("assignment destination is read-only")
    if _is_mask(index, x.shape) and np.ndim(value) < 2 and np.size(value) == 1:
        mask = np.reshape(index, index.shape + (1,) * (x.ndim - index.ndim))
        return x.write(np.where(mask, value, x))
    x, index = _counted_truths(trace, x, index)
    places, basic = index_of(x.trace, x.shape, index, error)
    if basic:
        shape = _seen(operations.view, x, places)
        if not shape and is_users() and np.ndim(value) and not _has_dots(index):
            raise ValueError("setting an array element with a sequence.")
        return x.look(operations.view, places, shape).write(value)
    v = assigned(x.trace, value, _seen(operations.take, x, places), x.dtype)
    new = x.trace.record(operations.updated, (x.value, places, v), x.shape, x.dtype)
    return x.become(new)


@Trace.means(indexing.put)
def _put(trace: Trace, x: Any, index: Any, value: Any) -> Any:
    out = np.copy(trace.as_array(x))
    setitem(trace, out, index, value, _outside_tensor)
    return out


def _has_dots(index: Any) -> bool:
    return index is Ellipsis or (type(index) is tuple and any(p is Ellipsis for p in index))


def _is_mask(index: Any, shape: Shape) -> bool:
    """Whether an index is an array of truth values for the first dimensions."""
    if not isinstance(index, (np.ndarray, TracedArray)) or index.dtype != bool:
        return False
    return tuple(index.shape) == tuple(shape[: index.ndim])


def index_of(
    trace: Trace, shape: Shape, index: Any, error: Function = out_of_bounds
) -> tuple[tuple[Any, ...], bool]:
    """An index as a tuple with one entry per dimension or None, and whether it makes a view.

    An array in it that is out of range is `error(array, axis, shape)`.
    """
    parts = list(index) if isinstance(index, tuple) else [index]
    parts = [_part(trace, p) for p in parts]
    parts = [q for p in parts for q in (p if type(p) is list else [p])]
    used = sum(p is not None and p is not Ellipsis for p in parts)
    if used > len(shape):
        raise IndexError(
            f"too many indices for array: array is {len(shape)}-dimensional, but {used} were "
            "indexed"
        )
    if Ellipsis not in [p for p in parts if not isinstance(p, (np.ndarray, Value))]:
        parts.append(Ellipsis)
    at = next(i for i, p in enumerate(parts) if p is Ellipsis)
    parts[at : at + 1] = [slice(None)] * (len(shape) - used)
    axes = iter(range(len(shape)))
    places = tuple(p if p is None else _place(p, next(axes), shape, error) for p in parts)
    if 0 not in _joint_shape(places):  # nothing is looked for there
        _check_range(trace, [p for p in places if p is not None], shape, error)
    return places, all(p is None or type(p) in (slice, int) for p in places)


def _counted_truths(trace: Trace, x: TracedArray, index: Any) -> tuple[TracedArray, Any]:
    """The array with a dimension for each lone truth value, which takes it once or not at all."""
    parts = index if isinstance(index, tuple) else (index,)
    if not any(map(_is_truth, parts)):
        return x, index
    seen: list[Any] = []
    taken: list[Any] = []
    for p in parts:
        if _is_truth(p):
            seen.append(None)
            taken.append(np.zeros(int(_mask(trace, p) if type(p) is TracedArray else p), np.int64))
            continue
        taken.append(p)
        if p is Ellipsis:
            seen.append(p)
        elif p is not None:
            mask = np.asarray(p) if type(p) is list else p
            seen += [slice(None)] * (mask.ndim if is_of_truths(mask) else 1)
    return getitem(trace, x, (*seen, *([] if _has_dots(index) else [...]))), tuple(taken)


def _is_truth(p: Any) -> bool:
    return is_of_truths(p) and not np.ndim(p)


def _mask(trace: Trace, mask: TracedArray) -> Any:
    try:
        return trace.decide(mask, "a mask")
    except TracingError:
        raise shape_depends("a traced mask as an index", "np.where(mask, x, 0)") from None


def _part(trace: Trace, p: Any) -> Any:
    if p is None or p is Ellipsis or isinstance(p, slice):
        if isinstance(p, slice):
            return slice(*(None if v is None else v.__index__() for v in (p.start, p.stop, p.step)))
        return p
    if type(p) is TracedArray:  # one that stands for a number is an int to isinstance
        value = known(p)
        if type(value) is not Value:
            return operator.index(value)
        if value in trace.program.constants:
            p = trace.program.constants[value]
        elif value.dtype == bool:
            p = _mask(trace, p)
        elif value.dtype.kind not in "iu":
            raise IndexError("arrays used as indices must be of integer (or boolean) type")
        else:
            return value
    elif isinstance(p, (int, np.integer)) and not isinstance(p, (bool, np.bool_)):
        return int(p)
    p = np.asarray(p)
    if p.dtype == bool:
        return list(map(trace.program.constant, np.nonzero(p)))
    if p.size == 0 and p.dtype.kind == "f":
        p = p.astype(np.int64)
    if p.dtype.kind not in "iu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    return trace.program.constant(p)


def _check_range(trace: Trace, places: list[Any], shape: Shape, error: Function) -> None:
    for axis, (p, n) in enumerate(zip(places, shape, strict=True)):
        if type(p) is Value and not (p.bounds and -n <= p.bounds[0] and p.bounds[1] < n):
            index = trace.array(p)
            require(within(index.astype(np.int64), -n, n), error, index, axis, shape)


def _place(p: Any, axis: int, shape: Shape, error: Function) -> Any:
    n = shape[axis]
    if type(p) is int:
        require(-n <= p < n, error, p, axis, shape)
        return p % n
    if type(p) is slice:
        start, stop, step = p.indices(n)
        count = len(range(start, stop, step))
        if not count:
            return slice(0, 0, 1)
        end = start + count * step if step > 0 else start + (count - 1) * step - 1
        return slice(start, min(end, n) if step > 0 else None if end < 0 else end, step)
    return p


def _joint_shape(places: tuple[Any, ...]) -> Shape:
    """What the arrays in an index broadcast to; NumPy's own error if they do not."""
    shapes = [p.shape for p in places if type(p) is Value]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        arrays = tuple([np.zeros(shape, np.intp) for shape in shapes])
        return np.empty((1,) * len(arrays))[arrays].shape


@Trace.means(np.take)
def _take(trace: Trace, a: Any, indices: Any, axis: Any = None, **rest: Any) -> Any:
    """As it is composed, but of arrays: so errors are NumPy's."""
    indices = trace.as_array(indices)
    if indices.dtype.kind == "b":  # which are places here, and no mask
        indices = indices.astype(np.int64)
    return COMPOSED[np.take](trace.as_array(a), indices, axis, **rest)


def _seen(function: Function, x: TracedArray, places: tuple[Any, ...]) -> Shape:
    """The shape of what an index takes, or shows in a view."""
    known = infer(function, (x.value, places))
    assert known is not None
    return known[0]


@Trace.means(np.take_along_axis)
def _take_along_axis(trace: Trace, arr: Any, indices: Any, axis: Any = -1) -> Any:
    arr, indices = trace.as_array(arr), trace.as_array(indices)
    if axis is None:
        return np.reshape(arr, (-1,))[indices]
    return arr[along(arr.shape, indices, axis_of(axis, arr.ndim))]


def along(shape: Shape, indices: Any, axis: int) -> tuple[Any, ...]:
    grid: list[Any] = list(np.ogrid[tuple(slice(n) for n in shape)])
    grid[axis] = indices
    return tuple(grid)


@Trace.means(np.ufunc.at)
def _add_into(trace: Trace, ufunc: Any, x: Any, index: Any, value: Any = None) -> None:
    if type(x) is not TracedArray:
        raise TracingError(
            f"np.{ufunc.__name__}.at into an array made outside of the compiled function, at\n  "
            f"{line_of(*here())}\nMake it inside with np.zeros_like(x) of an argument."
        )
    if ufunc is not np.add:
        raise TracingError(f"np.{ufunc.__name__}.at is not available in a compiled function")
    x.become(added(x.trace, x.value, index, value))


def added(trace: Trace, x: Value, index: Any, value: Any) -> Value:
    """What `x` holds after `np.add.at(x, index, value)`."""
    whole = trace.array(x)
    part, index = _counted_truths(trace, whole, index)
    places, _ = index_of(trace, part.shape, index)
    v = assigned(trace, value, _seen(operations.take, part, places), x.dtype)
    part.become(trace.record(operations.added, (part.value, places, v), part.shape, x.dtype))
    return whole.value


# ---- places of the rules ----------------------------------------------------------------------


@Trace.means(indexing.add_at, indexing.add_rows)
def _add_at(trace: Trace, g: Any, index: Any, shape: Any) -> Any:
    g, shape = trace.as_array(g), tuple(shape)
    zeros = trace.record(operations.full, (shape, 0, g.dtype), shape, g.dtype)
    out = trace.array(zeros)
    part, index = _counted_truths(trace, out, index)
    places, basic = index_of(trace, part.shape, index)
    if basic:
        part[index] = g
    else:
        args = (part.value, places, g.value)
        part.become(trace.record(operations.added, args, part.shape, g.dtype))
    return out


@Trace.means(indexing.scatter_add)
def _scatter_add(trace: Trace, g: Any, index: Any, shape: Any, axis: int) -> Any:
    return _add_at(trace, g, indexing._grid(index, axis), shape)


@Trace.means(indexing.put_along_axis)
def _put_along_axis(trace: Trace, g: Any, indices: Any, shape: Any, axis: Any) -> Any:
    if axis is None:
        return np.reshape(_add_at(trace, g, indices, (math.prod(shape),)), shape)
    return _add_at(trace, g, along(shape, indices, axis_of(axis, len(shape))), shape)


@Trace.means(indexing.unpick)
def _unpick(trace: Trace, g: Any, index: Any, shape: Any, axis: int) -> Any:
    axis = axis % len(shape)
    rows = math.prod(g.shape)
    at = (np.arange(rows), np.reshape(index, (-1,)))
    out = _add_at(trace, np.reshape(g, (-1,)), at, (rows, shape[axis]))
    return np.moveaxis(np.reshape(out, (*g.shape, shape[axis])), -1, axis)
