"""Scattering: copies of a tensor with some elements replaced or added to, under PyTorch's names."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.arrays.kind import array_of
from wengert.autograd.misfits import told
from wengert.autograd.operands import cast, one_dtype
from wengert.autograd.record import recorder
from wengert.autograd.settings import refuses
from wengert.dispatch import as_array, known, primitive
from wengert.functions.arguments import constant, of_tensors, one_dim, tensor_of
from wengert.functions.indexing import (
    check_index,
    check_sizes,
    check_wrapped,
    divide,
    lasting,
    plain_slice,
    value_for,
)
from wengert.functions.joining import cat
from wengert.functions.shapes import as_strided
from wengert.rules import indexing as rules
from wengert.tensor import Tensor, wrap

_FULL = slice(None)
_get, _put = recorder(rules.getitem), recorder(rules.put)
_added, _scatter_added = recorder(rules.added), recorder(rules.scatter_added)
_scatter_add, _where = recorder(rules.scatter_add), recorder(np.where)

# ---- changed copies ------------------------------------------------------------------------


def _source(src: Any, input: Tensor, axis: int, places: Any, name: str) -> Tensor:
    """The part of `src` that a scatter reads: a number, or as much as there are indices."""
    if places.ndim != input.ndim and places.size:
        raise RuntimeError(
            f"{name}(): Index tensor must have the same number of dimensions as self tensor: "
            f"{places.ndim} and {input.ndim}"
        )
    check_sizes(input, axis, places)
    if not isinstance(src, Tensor):
        return wrap(np.broadcast_to(as_array(dtypes.number(src), input.dtype), places.shape))
    if src.dtype != input.dtype:
        raise RuntimeError(
            f"{name}(): Expected self.dtype to be equal to src.dtype, got {input.dtype} and "
            f"{src.dtype}"
        )
    if src._array.shape == places.shape:
        return src
    if src.ndim != places.ndim and places.size:
        raise RuntimeError(
            f"{name}(): Index tensor must have the same number of dimensions as src tensor: "
            f"{places.ndim} and {src.ndim}"
        )
    if any(n > m for n, m in zip(places.shape, src.shape, strict=False)):
        raise RuntimeError(
            f"Expected index {list(places.shape)} to be no larger than src {list(src.shape)}"
        )
    return src[tuple(slice(n) for n in places.shape)]


def _lifted(
    scatter: Any, input: Tensor, dim: int, index: Any, src: Any, *rest: Any, **named: Any
) -> Tensor:
    """A scatter into a number, as one into a vector of one element."""
    one_dim(dim, input._array.ndim)
    src = src.reshape(1) if isinstance(src, Tensor) and not src.ndim else src
    places = np.atleast_1d(array_of(index))
    return scatter(input.reshape(1), 0, places, src, *rest, **named).reshape(())


@of_tensors(1, takes_out=True)
def scatter(
    input: Any,
    dim: int,
    index: Any,
    src: Tensor | float | None = None,
    *,
    value: Any = None,
    reduce: str | None = None,
) -> Tensor:
    """`out[index[i][j]][j] = src[i][j]` for dim 0, the rest as in `input`; "add" or "multiply"
    instead.
    """
    src = value if src is None else src
    if not input._array.ndim:
        return _lifted(scatter, input, dim, index, src, reduce=reduce)
    axis, places = check_index("scatter", input, dim, index)
    if reduce is not None:
        return scatter_reduce(
            input,
            axis,
            constant(places),
            _source(src, input, axis, places, "scatter"),
            {"add": "sum", "multiply": "prod"}[reduce],
        )
    source = _source(src, input, axis, places, "scatter")
    return _put(input, rules._grid(places, axis), source)


@of_tensors(1, takes_out=True)
def scatter_add(input: Any, dim: int, index: Any, src: Any) -> Tensor:
    """`out[index[i][j]][j] += src[i][j]` for dim 0: `gather` transposed, added to `input`."""
    if not input._array.ndim:
        return _lifted(scatter_add, input, dim, index, src)
    axis, places = check_index("scatter_add", input, dim, index)
    source = _source(src, input, axis, places, "scatter_add")
    return _scatter_added(input, source, places, axis)


_PROD, _AMAX, _AMIN, _SUM, _MEAN = "prod", "amax", "amin", "sum", "mean"


@of_tensors(1, takes_out=True)
def scatter_reduce(
    input: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True
) -> Tensor:
    """Elements of `src` that go to one place combined by "sum", "prod", "mean", "amax" or "amin".

    With `include_self=False` the old value takes no part where anything arrives. Equal extrema
    share the gradient.
    """
    if not input._array.ndim:
        return _lifted(scatter_reduce, input, dim, index, src, reduce, include_self=include_self)
    if reduce not in (_SUM, _MEAN, _PROD, _AMAX, _AMIN):
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    axis, places = check_index("scatter_reduce", input, dim, index)
    source = _source(src, input, axis, places, "scatter_reduce")
    return _reduced(input, places, axis, source, reduce, include_self)


def _reduced(
    input: Tensor, places: Any, axis: int, source: Tensor, reduce: str, include_self: bool
) -> Tensor:
    shape, dtype = input._array.shape, input.dtype
    if reduce == _SUM and include_self:
        return _scatter_added(input, source, places, axis)
    arrivals = rules.scatter_add(np.ones(places.shape, np.int64), places, shape, axis)
    neutral = wrap(np.full((), _neutral(reduce, dtype), dtype))
    first = input if include_self else _where(constant(arrivals == 0), input, neutral)
    if reduce in (_SUM, _MEAN):
        total = first + _scatter_add(source, places, shape, axis)
        if reduce == _SUM:
            return total
        n = wrap(np.maximum(arrivals + include_self, 1).astype(dtype))
        return total / n if dtypes.is_inexact(dtype) else total // n
    # One layer per number of arrival: the k-th element that came to each place.
    rank = rules.ranks(places, axis)
    count = int(rank.max(initial=-1)) + 1 if known(rank) else places.shape[axis]
    layers = _put(neutral.expand(count, *shape), (rank, *rules._grid(places, axis)), source)
    piled = cat([first[None], layers])
    if reduce == _PROD:
        return cast(piled.prod(0), dtype)
    return piled.amax(0) if reduce == _AMAX else piled.amin(0)


@of_tensors(1, takes_out=True)
@refuses(data="biuc")
def segment_reduce(
    data: Any,
    reduce: str,
    *,
    lengths: Any = None,
    indices: Any = None,
    offsets: Any = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Any = None,
) -> Tensor:
    """Neighbours along `axis` combined by "sum", "mean", "max", "min" or "prod".

    How many they are say `lengths`, or `offsets` say where they begin and the last ones end, in
    the last of their dimensions; those before are the data's. An empty segment is `initial`.

    >>> import wengert as wg
    >>> wg.segment_reduce(wg.arange(6.0), "max", lengths=wg.tensor([2, 4]))
    tensor([1., 5.])
    """
    names = {"max": _AMAX, "min": _AMIN, _SUM: _SUM, _MEAN: _MEAN, _PROD: _PROD}
    if reduce not in names or indices is not None or (lengths is None) == (offsets is None):
        raise RuntimeError(
            "segment_reduce(): reduce is one of max, mean, min, sum and prod, and either lengths "
            f"or offsets say what belongs together, but got {reduce!r} and "
            f"{'both or none' if (lengths is None) == (offsets is None) else 'indices'} of them"
        )
    counts = tensor_of(lengths) if offsets is None else tensor_of(offsets).diff()
    axis = one_dim(axis, data.ndim)
    before, n, after = data.shape[:axis], counts.shape[-1], data.shape[axis + 1 :]
    if counts.shape[:-1] != before:
        raise RuntimeError(
            f"segment_reduce(): along axis {axis} of data of shape {tuple(data.shape)} segments "
            f"have the shape {(*before, 'n')}, got {tuple(counts.shape)}"
        )
    ones = (1,) * len(after)
    segments = constant(_segments(counts._array, data.shape[axis], unsafe))
    places = segments.reshape((*segments.shape, *ones)).expand(data.shape)._array
    kind = _SUM if reduce == _MEAN else names[reduce]
    first = _neutral(kind, data.dtype) if initial is None else initial
    begun = wrap(np.full((*before, n + 1, *after), first, data.dtype))
    extremum = kind in (_AMAX, _AMIN)
    combined = _reduced(begun, places, axis, data, kind, not extremum).narrow(axis, 0, n)
    if extremum:  # one that equals the initial number has the gradient all the same
        beyond = combined._array < first if kind == _AMAX else combined._array > first
        return combined.masked_fill(constant(beyond), first)
    if reduce != _MEAN:
        return combined
    divisors = counts.reshape((*counts.shape, *ones)).to(data.dtype)
    return combined / (divisors if initial is None else divisors.clamp(min=1))


@functools.partial(primitive, opaque=True)
def _segments(counts: Any, size: int, unsafe: bool) -> Any:
    """The segment of each element; those that belong to none have one more, the last.

    RuntimeError if the counts, in the last of their dimensions, do not fit the size.
    """
    total = counts.sum(-1, keepdims=True)
    if (counts < 0).any() or (total > size).any() or (not unsafe and (total != size).any()):
        raise RuntimeError(
            "Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when "
            f"!unsafe: the segments have {total.ravel().tolist()} of {size} elements"
        )
    each = np.concatenate([counts, size - total], -1)
    numbers = np.broadcast_to(np.arange(each.shape[-1]), each.shape)
    return np.repeat(numbers.ravel(), each.ravel()).reshape((*counts.shape[:-1], size))


def _neutral(reduce: str, dtype: Any) -> Any:
    if reduce in (_SUM, _MEAN):
        return 0
    if reduce == _PROD:
        return 1
    if dtype.kind == "b":
        return reduce == _AMIN
    lowest, highest = (
        (-np.inf, np.inf)
        if dtypes.is_floating(dtype)
        else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    )
    return lowest if reduce == _AMAX else highest


def _rows(axis: int, places: Any) -> tuple[Any, ...]:
    return (_FULL,) * axis + (places if places.ndim else places.reshape(1),)


@of_tensors(1, takes_out=True)
def index_add(input: Any, dim: int, index: Any, source: Any, *, alpha: complex = 1) -> Tensor:
    """`input` with alpha times the slices of `source` added at the slices that `index` names."""
    if not input._array.ndim:
        return _lifted(index_add, input, dim, index, source, alpha=alpha)
    axis, places = check_index("index_add", input, dim, index)
    if source.dtype != input.dtype:
        raise RuntimeError(
            f"index_add_(): self ({input.dtype}) and source ({source.dtype}) must have the same "
            "scalar type"
        )
    source = tensor_of(source, "source")
    shape, source_shape = input._array.shape, source._array.shape
    slices = *shape[:axis], places.size, *shape[axis + 1 :]
    if source_shape != slices if source_shape else places.size > 1:
        raise RuntimeError(
            "index_add(): source tensor shape must match self tensor shape, excluding the "
            f"specified dimension. Got self.shape = {list(input.shape)} source.shape = "
            f"{list(source.shape)} and {places.size} indices"
        )
    source = source if alpha == 1 else source * alpha
    return _added(input, source, _rows(axis, places))


@of_tensors(1, takes_out=True)
def index_copy(input: Any, dim: int, index: Any, source: Any) -> Tensor:
    """`input` with the slices that `index` names replaced by those of `source`."""
    if not input._array.ndim:
        return _lifted(index_copy, input, dim, index, source)
    one_dtype("index_copy", (input, source))
    axis, places = check_index("index_copy", input, dim, index)
    return _put(input, _rows(axis, places), value_for(source, input))


@of_tensors(1)
def index_fill(input: Any, dim: int, index: Any, value: Any) -> Tensor:
    """`input` with the slices that `index` names filled with a number."""
    if not input._array.ndim:
        return _lifted(lambda x, d, i, _: index_fill(x, d, i, value), input, dim, index, value)
    if isinstance(value, Tensor) and value.ndim:
        raise RuntimeError(
            "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{value.ndim} dimension(s)."
        )
    axis, places = check_index("index_fill", input, dim, index)
    # By a mask: a slice that is named twice is filled once, and counts once for the gradient.
    n = input._array.shape[axis]
    if type(places) is np.ndarray:
        named = np.zeros(n, bool)
        named[places] = True
    else:
        named = (np.arange(n)[:, None] == np.reshape(places, (1, -1))).any(1)
    behind = input._array.ndim - axis - 1
    mask = np.reshape(named, (n, *(1,) * behind)) if behind else named
    return _where(constant(mask), value_for(value, input), input)


@of_tensors(1, takes_out=True)
def index_reduce(
    input: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True
) -> Tensor:
    """Slices of `source` combined into the slices that `index` names: "prod", "mean", "amax",
    "amin".
    """
    if not input._array.ndim:
        return _lifted(index_reduce, input, dim, index, source, reduce, include_self=include_self)
    axis, places = check_index("index_reduce", input, dim, index)
    places = np.reshape(places, [-1 if d == axis else 1 for d in range(input.ndim)])
    return scatter_reduce(
        input,
        axis,
        constant(np.broadcast_to(places, source.shape)),
        source,
        reduce,
        include_self=include_self,
    )


@of_tensors(1)
def index_put(input: Any, indices: Sequence[Any], values: Any, accumulate: bool = False) -> Tensor:
    """`input` with `input[indices]` replaced by the values, or with the values added there."""
    one_dtype("index_put", (input, values))
    if not len(indices):
        raise RuntimeError("index_put needs at least one index; to write everywhere use copy_")
    basic, advanced = divide(
        input._array.shape, tuple([_FULL if i is None else i for i in indices])
    )
    if basic is not None:  # numbers among the indices: as arrays they mean the same here
        advanced = tuple(as_array(array_of(i)) if i is not None else _FULL for i in indices)
    advanced = lasting(advanced)
    values = value_for(values, input)
    if not accumulate:
        return _put(input, advanced, values)
    shape = _shape_at(advanced, input._array.shape) or _get(input, advanced)._array.shape
    values = values if values._array.shape == shape else values.expand(shape)
    return _added(input, values, advanced)


def _shape_at(index: Any, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape of an array of this shape at arrays of integers that stand side by side."""
    if type(index) is not tuple:
        index = (array_of(index),)
        if shape and type(index[0]) is np.ndarray and index[0].dtype.kind in "iu":
            return (*index[0].shape, *shape[1:])
    here = [d for d, part in enumerate(index) if part is not _FULL]
    arrays = [array_of(index[d]) for d in here]
    if not here or here[-1] - here[0] >= len(here) or len(index) > len(shape):
        return None
    for x in arrays:
        if type(x) is not np.ndarray or x.dtype.kind not in "iu":
            return None
    shapes = [x.shape for x in arrays]
    alike = shapes.count(shapes[0]) == len(shapes)
    region = shapes[0] if alike else np.broadcast_shapes(*shapes)
    return (*shape[: here[0]], *region, *shape[here[-1] + 1 :])


@told
def put(input: Any, index: Any, source: Any, accumulate: bool = False) -> Tensor:
    """`input` with elements of its flattened form replaced, or with the source added to them."""
    input, source = tensor_of(input), tensor_of(source, "source")
    if source.dtype != input.dtype:
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got self.dtype = "
            f"{input.dtype} and source.dtype = {source.dtype}"
        )
    flat = input.reshape(-1)
    _, places = check_wrapped(flat, index)
    if source.numel() != places.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got "
            f"source.numel() = {source.numel()}, index.numel() = {places.size}"
        )
    places = constant(np.reshape(places, (-1,)))
    return index_put(flat, (places,), source.reshape(-1), accumulate).reshape(input.shape)


@of_tensors(2)
def select_scatter(input: Any, src: Any, dim: int, index: int) -> Tensor:
    """`input` with one slice along `dim` replaced."""
    axis = one_dim(dim, input._array.ndim)
    return _put(input, (_FULL,) * axis + (index,), value_for(src, input))


@of_tensors(2, takes_out=True)
def slice_scatter(
    input: Any, src: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Tensor:
    """`input` with a range of slices along `dim` replaced."""
    axis = one_dim(dim, input._array.ndim)
    if step < 1:
        raise RuntimeError(f"slice step must be positive, got {step}")
    return _put(
        input, (_FULL,) * axis + (plain_slice(slice(start, end, step)),), value_for(src, input)
    )


@of_tensors(2)
def as_strided_scatter(
    input: Any, src: Any, size: Any, stride: Any, storage_offset: int | None = None
) -> Tensor:
    """`input` with the elements that `as_strided` would show replaced."""
    places = as_strided(
        constant(np.arange(input.numel()).reshape(input.shape)), size, stride, storage_offset
    )
    return put(input, places, value_for(src, input))


@of_tensors(1)
def nonzero_static(input: Any, *, size: int, fill_value: int = -1) -> Tensor:
    """The indices of the elements that are not zero in a fixed number of rows, cut or filled up."""
    if size < 0:
        raise RuntimeError(f"nonzero_static: 'size' must be an non-negative integer, got {size}")
    return constant(_places_of_others(tensor_of(input)._array, size, fill_value))


@functools.partial(primitive, opaque=True)
def _places_of_others(x: Any, size: int, fill: int) -> Any:
    """Where numbers other than 0 are, in `size` rows."""
    places = np.argwhere(x)[:size]
    rows = np.full((size, places.shape[1]), fill, np.int64)
    rows[: len(places)] = places
    return rows


@of_tensors(2)
def diagonal_scatter(input: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """`input` with a diagonal replaced."""
    places = np.arange(input.numel()).reshape(input.shape)
    diagonal = np.diagonal(places, offset, dim1, dim2)
    return put(input, constant(diagonal.copy()), value_for(src, input))


def unravel_index(indices: Any, shape: Any) -> tuple[Tensor, ...]:
    """Places in the flattened tensor as one index per dimension."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    return tuple(constant(np.asarray(i)) for i in np.unravel_index(indices._array, shape))
