"""Indexing: taking elements out and adding them back in. Taking is linear; its transpose adds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.dispatch import primitive, within
from wengert.rules.loops import ADDED, addable, as_lines, exact_loops, loops
from wengert.rules.rule import general, linear, transposed, unbroadcast
from wengert.rules.ways import implemented, way

_FEW, _MANY = 1 << 11, 1 << 12
_WHOLE_NUMBERS = (np.dtype(np.int64),)  # a tuple asks first whether it is the very same


@primitive
def getitem(x: Any, index: Any) -> Any:
    """`x[index]`; a view for basic indices, a zero-dimensional one for a single element."""
    if isinstance(x, np.ndarray):
        try:
            if type(index) is tuple:
                result = _behind_whole(x, index)
            else:
                result = _where_true(x, index) if _is_mask(index) else x[index]
        except IndexError as error:
            raise of_tensors(error, x.shape) from None
        if isinstance(result, np.ndarray):
            # NumPy gathers into a turned array, of which PyTorch's programs could take no view.
            turned = not (result.flags.c_contiguous or is_basic(index))
            return np.ascontiguousarray(result) if turned else result
    if not is_basic(index):
        return x[index]
    # A lone element would be a copy; the ellipsis makes it a view.
    parts = index if isinstance(index, tuple) else (index,)
    return x[parts if Ellipsis in parts else (*parts, ...)]


def _behind_whole(x: Any, index: tuple[Any, ...]) -> Any:
    """`x[index]`; of one array behind whole dimensions by `take`, whose result is in order."""
    *before, last = index or (None,)
    places = isinstance(last, np.ndarray) and last.dtype.kind in "iu"
    if places and before and all(map(_is_whole, before)):
        return x.take(last, len(before))
    return x[index]


def _where_true(x: Any, mask: Any) -> Any:
    """`x[mask]`; of many NumPy takes a branch for each, half of which a processor mispredicts."""
    if not (type(x) is np.ndarray and x.shape == mask.shape and addable(x) and x.size >= _MANY):
        return x[mask]
    out = np.empty(np.count_nonzero(mask), x.dtype)
    _keep_true(x.reshape(-1), mask.reshape(-1), out)
    return out


@exact_loops
def _keep_true(x, mask, out):
    k = 0
    for i in range(len(x)):
        if k < len(out):
            out[k] = x[i]
            k += 1 if mask[i] else 0


def places_of(mask: Any) -> Any:
    """np.argwhere(mask)."""
    if type(mask) is not np.ndarray or mask.ndim != 2 or mask.size < _MANY:
        return (
            np.array(mask.nonzero()).T
            if type(mask) is np.ndarray and mask.ndim
            else np.argwhere(mask)
        )
    out = np.empty((np.count_nonzero(mask), 2), np.int64)
    _note_true(mask, out)
    return out


@exact_loops
def _note_true(mask, out):
    k = 0
    for i in range(len(mask)):
        for j in range(mask.shape[1]):
            if k < len(out):
                out[k, 0], out[k, 1] = i, j
                k += 1 if mask[i, j] else 0


def is_basic(index: Any) -> bool:
    """Whether NumPy answers this index with a view."""
    for p in index if isinstance(index, tuple) else (index,):
        if p is None or p is Ellipsis:
            continue
        if not isinstance(p, (slice, int, np.integer)) or isinstance(p, bool):
            return False
    return True


@primitive
def add_at(g: Any, index: Any, x_shape: Any) -> Any:
    """Zeros of `x_shape` with `g` added at `index`, each time it occurs: getitem transposed."""
    basic = is_basic(index) or _is_mask(index)
    if not basic and (places := _neighbours(index, x_shape)) is not None:
        return _add_slices(g, *places, x_shape)
    out = np.zeros(x_shape, g.dtype)
    if basic:
        out[index] = g
    else:
        np.add.at(out, index, g)
    return out


def _neighbours(index: Any, shape: Any) -> tuple[int, int, Any] | None:
    """Which dimensions integers index, from `start` to `stop`, and where in them, as if one.

    None of an index that holds anything but such arrays behind whole dimensions.
    """
    parts = index if isinstance(index, tuple) else (index,)
    start, stop = 0, len(parts)
    while start < stop and _is_whole(parts[start]):
        start += 1
    for p in parts[start:]:
        if not isinstance(p, np.ndarray) or p.dtype.kind not in "iu":
            return None
    places = _from_start(parts[start], shape, start) if start < stop else 0
    for d, p in enumerate(parts[start + 1 :], start + 1):
        places = places * shape[d] + _from_start(p, shape, d)
    return start, stop, places


def _is_whole(part: Any) -> bool:
    return type(part) is slice and part == _WHOLE


_WHOLE = slice(None)


def _add_slices(g: Any, start: int, stop: int, places: Any, shape: Any) -> Any:
    """Zeros of `shape` with slices of `g` added at places in its dimensions start, ..., stop."""
    if addable(g):
        return _with_slices(np.zeros(shape, g.dtype), g, start, stop, places)
    outer, count, inner = map(math.prod, (shape[:start], shape[start:stop], shape[stop:]))
    rows = g.reshape(outer, places.size, inner).swapaxes(0, 1).reshape(places.size, outer * inner)
    summed = add_rows.body(rows, places.reshape(-1), (count, outer * inner))  # type: ignore[attr-defined]
    return summed.reshape(count, outer, inner).swapaxes(0, 1).reshape(shape)


def _with_slices(out: Any, g: Any, start: int, stop: int, places: Any) -> Any:
    """An array in order, with slices of `g` added to it."""
    shape = out.shape
    outer, count, inner = map(math.prod, (shape[:start], shape[start:stop], shape[stop:]))
    lines = g.reshape(outer, places.size, inner), places.reshape(-1)
    _add_each_slice(*lines, out.reshape(outer, count, inner))
    return out


@loops
def _add_each_slice(g, places, out):
    for i in range(g.shape[0]):
        for j in range(g.shape[1]):
            place = places[j]
            for k in range(g.shape[2]):
                out[i, place, k] += g[i, j, k]


def _is_mask(index: Any) -> bool:
    return isinstance(index, np.ndarray) and index.dtype.kind == "b"


transposed(getitem, add_at, "Index", "IndexPut", view=True, constants=("index",))


@primitive
def select(x: Any, index: Any) -> Any:
    """`x[index]` where the last part of the index is a number: a view."""
    return getitem.body(x, index)  # type: ignore[attr-defined]


@primitive
def slices(x: Any, index: Any) -> Any:
    """`x[index]` for slices, None and `...`: a view."""
    return getitem.body(x, index)  # type: ignore[attr-defined]


# PyTorch's graphs name these apart.
linear(select, add_at, view=True)
linear(slices, add_at, view=True, name="Slice")


@primitive
def put(x: Any, index: Any, value: Any) -> Any:
    """A copy of `x` with `x[index] = value`."""
    out = x.copy(order="K") if type(x) is np.ndarray else np.copy(x)
    try:
        if _is_mask(index) and _fits_mask(out, index, value):
            _fill_true(out.reshape(-1), index.reshape(-1), value)
        else:
            out[index] = value
    except IndexError as error:
        raise of_tensors(error, x.shape) from None
    return out


@primitive
@implemented
def added(x: Any, value: Any, index: Any) -> Any:
    """A copy of `x` with `value` added at `index`, each time it occurs."""
    return x + add_at(value, index, x.shape)


def _at_slices(x: Any, value: Any, index: Any) -> bool:
    return addable(x, value) and not (is_basic(index) or _is_mask(index))


@way(added, _at_slices)
def _added_to_a_copy(x: Any, value: Any, index: Any) -> Any:
    places = _neighbours(index, x.shape)
    if places is None:
        return added.body.formula(x, value, index)  # type: ignore[attr-defined]
    return _with_slices(x.copy(), value, *places)


linear(
    added,
    lambda g: g,
    lambda g, index: getitem(g, index),
    None,
    forward={
        "x": lambda t: t,
        "value": lambda t, index, x_shape: add_at(t, index, x_shape),
    },
    name="IndexPut",
    constants=("index",),
)


def _fits_mask(x: Any, mask: Any, value: Any) -> bool:
    """Whether these are a number for each element of many where the mask holds."""
    if not (type(value) is np.ndarray and value.ndim == 1 and x.size >= _MANY):
        return False
    fits = addable(x, value) and x.flags.c_contiguous and x.shape == mask.shape
    return fits and 0 < len(value) == np.count_nonzero(mask)


@exact_loops
def _fill_true(x, mask, value):
    k = 0
    for i in range(len(x)):
        x[i] = value[min(k, len(value) - 1)] if mask[i] else x[i]
        k += 1 if mask[i] else 0


def of_tensors(error: IndexError, shape: tuple[int, ...]) -> IndexError:
    """NumPy's error about the index of an array, as one about the index of a tensor."""
    text = str(error).replace("for axis", "for dimension").replace("array is", "it is")
    text = text.replace("too many indices for array", "too many indices for tensor")
    if not shape:
        text = "invalid index of a 0-dim tensor. Use `tensor.item()` to convert it to a number"
    elif "shape" not in text:
        text = f"{text} (the tensor has shape {list(shape)})"
    return IndexError(text)


def _without(x: Any, index: Any) -> Any:
    return put(x, index, 0)


def _fit(g: Any, shape: tuple[int, ...]) -> Any:
    """Sum to the shape of a value that was broadcast on assignment (leading ones may be extra)."""
    core = shape
    while len(core) > len(g.shape) and core[0] == 1:
        core = core[1:]
    return np.reshape(unbroadcast(g, core), shape)


linear(
    put,
    _without,
    None,
    lambda g, index, value_shape: _fit(getitem(g, index), value_shape),
    forward={"x": _without, "value": lambda t, index, x: put(np.zeros_like(x), index, t)},
    name="IndexPut",
    constants=("index",),
)

# ---- along one dimension -------------------------------------------------------------------


@primitive
@implemented
def gather(x: Any, index: Any, axis: int) -> Any:
    """`out[i, j] = x[index[i, j], j]` for axis 0, and so on; `index` may be smaller than `x`."""
    return x[_grid(index, axis)]


@primitive
@implemented
def scatter_add(g: Any, index: Any, x_shape: Any, axis: int) -> Any:
    """Zeros of `x_shape` with `g[i, j]` added at `[index[i, j], j]`: gather transposed."""
    return _added(g, _flat(index, x_shape, axis), x_shape)


@primitive
@implemented
def scatter_added(x: Any, g: Any, index: Any, axis: int) -> Any:
    """A copy of `x` with `g[i, j]` added at `[index[i, j], j]` for axis 0, and so on."""
    return x + scatter_add(g, index, x.shape, axis)


@implemented
def _added(g: Any, places: Any, shape: Any) -> Any:
    """Zeros of `shape` with `g` added at places of its flattened form.

    Along one dimension np.add.at takes a quarter of the time that it takes along several.
    """
    out = np.zeros(math.prod(shape), g.dtype)
    np.add.at(out, places.reshape(-1), g.reshape(-1))
    return out.reshape(shape)


@way(_added, lambda g, places, shape: addable(g))
def _added_by_loops(g: Any, places: Any, shape: Any) -> Any:
    """The loop takes as many of one as of the other, and checks nothing."""
    out = np.zeros(math.prod(shape), g.dtype)
    _add_each(np.broadcast_to(g, places.shape).reshape(-1), places.reshape(-1), out)
    return out.reshape(shape)


@loops
def _add_each(g, places, out):
    for i in range(len(g)):
        out[places[i]] += g[i]


def _flat(index: Any, shape: Any, axis: int) -> Any:
    """Where the elements that `index` names along one dimension lie in a flattened array."""
    steps = [math.prod(shape[d + 1 :]) for d in range(len(shape))]
    axis %= len(shape)
    places = _from_start(index, shape, axis) * steps[axis]
    for d, grid in enumerate(_grid(index, axis)):
        if d != axis:
            places = places + grid * steps[d]
    return places


def _from_start(index: Any, shape: Any, axis: int) -> Any:
    """Indices along an axis from its start: negative ones count from the end."""
    n = shape[axis]
    if type(index) is not np.ndarray or index.dtype != np.intp:
        index = np.asarray(index).astype(np.intp, copy=False)
    if not index.size or not outside(index.ravel(), 0, n):
        return index
    if outside(index.ravel(), -n, n):
        raise of_tensors(out_of_bounds(index, axis, shape), shape)
    return np.where(index < 0, index + n, index)


def out_of_bounds(index: Any, axis: int, shape: Any) -> IndexError:
    """NumPy's own words: they name the first index that is out of bounds."""
    index, n = np.asarray(index), shape[axis]
    wrong = index[~within(index, -n, n)][0]
    return IndexError(f"index {wrong} is out of bounds for axis {axis} with size {n}")


@exact_loops
def outside(index, low, high):
    """How many of the indices are below `low`, or not below `high`."""
    count = 0
    for i in range(len(index)):
        if index[i] < low or index[i] >= high:
            count += 1
    return count


def _grid(index: Any, axis: int) -> tuple[Any, ...]:
    """Index arrays that address, for each entry of `index`, the element it names."""
    last = len(index.shape) - 1
    return tuple(
        index if d == axis % (last + 1) else np.reshape(np.arange(n), (n, *(1,) * (last - d)))
        for d, n in enumerate(index.shape)
    )


def ranks(index: Any, axis: int) -> Any:
    """For each entry of an index along `axis`, how many before it name the same place."""
    order = np.argsort(index, axis, kind="stable")
    ordered = np.take_along_axis(index, order, axis)
    steps = np.reshape(
        np.arange(index.shape[axis]), [-1 if d == axis else 1 for d in range(index.ndim)]
    )
    begins = (ordered != np.roll(ordered, 1, axis)) | (steps == 0)
    start = np.maximum.accumulate(np.where(begins, steps, 0), axis)
    return np.take_along_axis(steps - start, np.argsort(order, axis), axis)


transposed(gather, scatter_add, constants=("index",), axes=("axis",))
linear(
    scatter_added,
    lambda g: g,
    lambda g, index, axis: gather(g, index, axis),
    None,
    forward={
        "x": lambda t: t,
        "g": lambda t, index, x_shape, axis: scatter_add(t, index, x_shape, axis),
    },
    name="ScatterAdd",
    constants=("index",),
    axes=("axis",),
)


@primitive
@implemented
def pick(x: Any, index: Any, axis: int) -> Any:
    """One element of each row along `axis`: `x[index[j], j]` for axis 0; the dimension goes."""
    rows = np.moveaxis(x, axis, -1).reshape(-1, x.shape[axis])
    return rows[np.arange(len(rows)), index.ravel()].reshape(index.shape)


@primitive
def unpick(g: Any, index: Any, x_shape: Any, axis: int) -> Any:
    """Zeros of `x_shape` with one element of each row along `axis` set to `g`: pick transposed."""
    axis = axis % len(x_shape)
    n = x_shape[axis]
    rows = np.zeros((math.prod(g.shape), n), g.dtype)
    rows[np.arange(len(rows)), index.ravel()] = g.ravel()
    return np.moveaxis(rows.reshape(*g.shape, n), -1, axis)


transposed(pick, unpick, back_name="PickBackward", constants=("index",), axes=("axis",))


@primitive
@implemented
def put_along_axis(g: Any, indices: Any, shape: Any, axis: int | None) -> Any:
    """Zeros of `shape` with `g` added at `indices` along `axis`: take_along_axis transposed.

    Where `indices` and `shape` differ outside of `axis`, both broadcast, as in NumPy.
    """
    if axis is None:
        return np.reshape(add_rows.body(g, indices, (math.prod(shape),)), shape)  # type: ignore[attr-defined]
    grid = list(np.ogrid[tuple(slice(n) for n in shape)])
    grid[axis] = indices
    out = np.zeros(shape, g.dtype)
    np.add.at(out, tuple(grid), g)
    return out


def _along_lines(g: Any, indices: Any, shape: Any, axis: int | None) -> bool:
    return axis is not None and g.shape == indices.shape and _alike_outside(g, indices, shape, axis)


@way(scatter_add, _along_lines)
@way(put_along_axis, _along_lines)
def _put_along_lines(g: Any, indices: Any, shape: Any, axis: int) -> Any:
    return _with_lines(np.zeros(shape, g.dtype), g, indices, axis)


@way(
    scatter_added,
    lambda x, g, index, axis: x.dtype == g.dtype and _along_lines(g, index, x.shape, axis),
)
def _scattered_to_a_copy(x: Any, g: Any, index: Any, axis: int) -> Any:
    return _with_lines(x.copy(), g, index, axis)


def _with_lines(out: Any, g: Any, indices: Any, axis: int) -> Any:
    _put_lines(*_placed(axis, indices, out.shape, g, out))
    return out


def _fits_outside(g: Any, indices: Any, shape: Any, axis: int | None) -> bool:
    if axis is None or g.shape != indices.shape:
        return False
    outside = [n for d, n in enumerate(shape) if d != axis % len(shape)]
    return np.delete(g.shape, axis).tolist() == outside


@way(put_along_axis, _fits_outside)
def _put_flat(g: Any, indices: Any, shape: Any, axis: int) -> Any:
    return _added(g, _flat(indices, shape, axis), shape)


def _from_lines(x: Any, indices: Any, axis: int | None = -1) -> bool:
    return axis is not None and _alike_outside(x, indices, x.shape, axis)


@way(gather, _from_lines)
@way(np.take_along_axis, _from_lines)
def _taken(x: Any, indices: Any, axis: int = -1) -> Any:
    out = np.empty(indices.shape, x.dtype)
    _take_lines(*_placed(axis, indices, x.shape, x, out))
    return out


def _placed(axis: int, indices: Any, shape: Any, *arrays: Any) -> list[Any]:
    """Indices from the start of an axis, and arrays, as lines along it."""
    if outside(indices.ravel(), 0, shape[axis]):
        indices = _from_start(indices, shape, axis)
    return as_lines(axis, indices, *arrays)


def _at(index: Any, axis: int, ndim: int) -> Any:
    return index[(slice(None),) * (axis % ndim) + (None,)]


def _is_one_of_a_line(x: Any, index: Any, axis: int) -> bool:
    return type(x) is type(index) is np.ndarray and x.ndim == 1 and not index.ndim


@way(pick, _is_one_of_a_line)
def _picked_from_a_line(x: Any, index: Any, axis: int) -> Any:
    return np.array(x[index[()]])


@way(pick, lambda x, index, axis: _from_lines(x, _at(index, axis, x.ndim), axis))
def _picked_from_lines(x: Any, index: Any, axis: int) -> Any:
    return _taken(x, _at(index, axis, x.ndim), axis).reshape(index.shape)


@exact_loops
def _take_lines(places, x, out):
    """Along the second of three dimensions."""
    outer, many, inner = places.shape
    for i in range(outer):
        for j in range(many):
            for k in range(inner):
                out[i, j, k] = x[i, places[i, j, k], k]


@loops
def _put_lines(places, g, out):
    """What was taken, added back."""
    outer, many, inner = places.shape
    for i in range(outer):
        for j in range(many):
            for k in range(inner):
                out[i, places[i, j, k], k] += g[i, j, k]


def _alike_outside(x: Any, indices: Any, shape: Any, axis: int) -> bool:
    """Whether these are plain arrays, and `shape` is that of the indices but along an axis."""
    if not (type(x) is type(indices) is np.ndarray and indices.dtype in _WHOLE_NUMBERS):
        return False
    if x.dtype not in ADDED and x.dtype not in _WHOLE_NUMBERS:
        return False
    other, ndim = indices.shape, len(shape)
    if ndim != len(other) or not -ndim <= axis < ndim:
        return False
    return shape[:axis] == other[:axis] and (axis == -1 or shape[axis + 1 :] == other[axis + 1 :])


linear(
    np.take_along_axis,
    lambda g, arr_shape, indices, axis: put_along_axis(g, indices, arr_shape, axis),
    name="Gather",
    constants=("indices",),
    axes=("axis",),
)
linear(
    put_along_axis,
    np.take_along_axis,
    name="GatherBackward",
    constants=("indices",),
    axes=("axis",),
    shape="shape",
)


@primitive
def take_rows(x: Any, index: Any) -> Any:
    """`x[index]` along the first dimension: an embedding."""
    return x[index]


@primitive
@implemented
def add_rows(g: Any, index: Any, x_shape: Any) -> Any:
    """Zeros of `x_shape` with the rows `g` added at `index`: take_rows transposed."""
    columns = math.prod(x_shape[1:])
    places = _from_start(index.reshape(-1), x_shape, 0)[:, None] * columns + np.arange(columns)
    return _added(g, places, x_shape)


@way(add_rows, lambda g, index, x_shape: addable(g))
def _add_rows_by_loops(g: Any, index: Any, x_shape: Any) -> Any:
    places = _from_start(index.reshape(-1), x_shape, 0)
    return _with_slices(np.zeros(x_shape, g.dtype), g, 0, 1, places)


@way(add_rows, lambda g, index, x_shape: g.size <= _FEW)
def _add_few_rows(g: Any, index: Any, x_shape: Any) -> Any:
    out = np.zeros(x_shape, g.dtype)
    np.add.at(out, index, g)
    return out


transposed(take_rows, add_rows, "Embedding", "EmbeddingBackward", constants=("index",))


@primitive
@implemented
def take_planes(x: Any, places: Any) -> Any:
    """Behind two dimensions, the elements that have these numbers in each plane, or volume."""
    lead, shape = places.shape[:2], places.shape
    flat = np.reshape(x, (*lead, math.prod(x.shape[2:])))
    places = np.reshape(places, (*lead, math.prod(shape[2:])))
    return np.reshape(np.take_along_axis(flat, places, 2), shape)


@primitive
def put_planes(g: Any, places: Any, x_shape: Any) -> Any:
    """Zeros of `x_shape` with `g` added at these places of its planes: take_planes transposed."""
    shape = (*x_shape[:2], math.prod(places.shape[2:]))
    flat = (*x_shape[:2], math.prod(x_shape[2:]))
    out = put_along_axis(np.reshape(g, shape), np.reshape(places, shape), flat, 2)
    return np.reshape(out, x_shape)


@way(take_planes, lambda x, places: type(places) is np.ndarray and addable(x) and x.size > 0)
def _take_planes_by_loops(x: Any, places: Any) -> Any:
    planes = x.reshape(*x.shape[:2], -1), places.reshape(*places.shape[:2], -1)
    return _taken(*planes, 2).reshape(places.shape)


transposed(
    take_planes, put_planes, "AdaptiveMaxPool", "AdaptiveMaxPoolBackward", constants=("places",)
)


# ---- overwriting ---------------------------------------------------------------------------
#
# What an in-place operation leaves if the old value takes no part: its cotangent is 0.


@primitive
def overwritten(old: Any, value: Any) -> Any:
    """`value`, repeated to the shape of `old`."""
    return np.broadcast_to(value, old.shape)


def filled(array: Any, value: Any) -> bool:
    """Make all elements of a plain array one of Python's numbers, if it may be written and takes
    that as it is: of many, NumPy stores one after the other.
    """
    kind = type(value)
    if kind is int:
        if value and not (array.dtype.kind in "fc" and abs(value) < 1 << 53):
            return False
    elif kind is not float or array.dtype.kind not in "fc":
        return False
    if array.size >= _MANY and addable(array) and array.flags.carray:
        _fill(array.reshape(-1), float(value))
        return True
    try:
        array.fill(value)
    except ValueError:  # it may only be read
        return False
    return True


@exact_loops
def _fill(array, value):
    for i in range(len(array)):
        array[i] = value


@primitive
def refilled(old: Any, value: Any) -> Any:
    """One number in the shape of `old`."""
    return np.broadcast_to(value, old.shape)


@primitive
def zeroed(old: Any) -> Any:
    """Zeros in the shape of `old`."""
    return np.zeros_like(old)


for overwriting, label in ((overwritten, "CopyBackwards"), (refilled, "Fill")):
    general(
        overwriting,
        reverse={
            "old": lambda g: np.zeros_like(g),
            "value": lambda g, value_shape: unbroadcast(g, value_shape),
        },
        forward={
            "old": lambda t: np.zeros_like(t),
            "value": lambda t, y: np.broadcast_to(t, y.shape),
        },
        name=label,
    )
linear(zeroed, lambda g: np.zeros_like(g), name="Zero")
