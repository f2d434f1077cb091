"""Indexing, gathering and scattering under PyTorch's names.

An index has two parts: numbers, slices, None and `...` take a view; index tensors and masks then
pick elements of it. PyTorch takes the view first, which is not always what NumPy makes of the
mixture; `divide` below does the same.
"""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.autograd import inplace
from wengert.history import modes
from wengert.autograd.record import cast, lazy, recorder
from wengert.functions.arguments import array_of, one_dim, plain_result, takes_out, tensor_of
from wengert.rules import indexing as rules
from wengert.tensor import INFERENCE, Tensor, wrap

_get, _put = lazy(rules.getitem), lazy(rules.put)
_gather, _scatter_add, _where = lazy(rules.gather), lazy(rules.scatter_add), lazy(np.where)
_assign = lazy(rules.overwritten)

_FULL = slice(None)

# ---- x[index] ------------------------------------------------------------------------------


def get(x: Tensor, index: Any) -> Tensor:
    """`x[index]`: a view for numbers and slices, a copy for index tensors and masks."""
    try:
        if type(index) is int or (type(index) is slice and index.step is None):
            return _get(x, _plain_slice(index) if type(index) is slice else index)  # type: ignore[no-any-return]
        basic, advanced = divide(x._array.shape, index)
        if advanced is None:
            return _get(x, basic)  # type: ignore[no-any-return]
        if basic is not None:
            x = _get(x, basic)
        return _get(x, advanced)  # type: ignore[no-any-return]
    except IndexError as error:
        raise IndexError(_explained(x, error)) from None


def _explained(x: Tensor, error: IndexError) -> str:
    text = str(error).replace("for axis", "for dimension").replace("too many indices for array", "too many indices for tensor")
    return text if "shape" in text else f"{text} (the tensor has shape {list(x.shape)})"


def divide(shape: tuple[int, ...], index: Any) -> tuple[Any, Any]:
    """An index as (basic part or None, advanced part or None), to be applied one after the other."""
    parts = _as_tuple(index)
    used = sum(_dims_used(p) for p in parts)
    if used > len(shape):
        raise IndexError(f"too many indices for tensor of dimension {len(shape)}: {used} were given")
    if not any(p is Ellipsis for p in parts):
        parts = (*parts, Ellipsis)
    basic: list[Any] = []
    advanced: list[Any] = []
    dim = 0
    for p in parts:
        if p is Ellipsis:
            n = len(shape) - used
            basic += [_FULL] * n
            advanced += [_FULL] * n
            dim += n
        elif p is None:
            basic.append(None)
            advanced.append(_FULL)
        elif isinstance(p, slice):
            basic.append(_plain_slice(p))
            advanced.append(_FULL)
            dim += 1
        elif isinstance(p, int):
            basic.append(p)
            if not -shape[dim] <= p < shape[dim]:
                raise IndexError(f"index {p} is out of bounds for dimension {dim} with size {shape[dim]}")
            dim += 1
        elif p.dtype == bool:
            if not p.ndim:  # a single truth value takes all or nothing, along a new dimension
                basic.append(None)
                advanced.append(np.zeros(int(p), np.int64))
                continue
            if p.shape != shape[dim : dim + p.ndim]:
                raise IndexError(
                    f"The shape of the mask {list(p.shape)} at index {dim} does not match the shape of the indexed tensor {list(shape)}"
                )
            basic += [_FULL] * p.ndim
            advanced.append(p)
            dim += p.ndim
        else:
            basic.append(_FULL)
            advanced.append(p)
            dim += 1
    return _trivial_as_none(basic), _only_arrays(advanced)


def _trivial_as_none(basic: list[Any]) -> Any:
    return None if all(p == _FULL if isinstance(p, slice) else False for p in basic) and basic else tuple(basic)


def _only_arrays(advanced: list[Any]) -> Any:
    while advanced and isinstance(advanced[-1], slice):
        advanced.pop()
    if not advanced:
        return None
    return advanced[0] if len(advanced) == 1 else tuple(advanced)


def _as_tuple(index: Any) -> tuple[Any, ...]:
    """The parts of an index, each a number, a slice, None, `...`, or an array of integers or bools."""
    if isinstance(index, list) and _is_tuple_in_disguise(index):
        warnings.warn(
            "Using a non-tuple sequence for multidimensional indexing is deprecated; use x[tuple(index)] "
            "instead of x[index], or x[wengert.tensor(index)] for an index tensor.",
            UserWarning,
            stacklevel=4,
        )
        index = tuple(index)
    parts = index if isinstance(index, tuple) else (index,)
    return tuple(p if p is None or p is Ellipsis or type(p) in (int, slice) else _part(p) for p in parts)


def _is_tuple_in_disguise(index: list[Any]) -> bool:
    """A list with slices, sequences or an ellipsis in it is taken as a tuple of indices."""
    return any(p is Ellipsis or p is None or isinstance(p, (slice, list, tuple, Tensor, np.ndarray)) for p in index) and len(index) < 32


def _part(p: Any) -> Any:
    if isinstance(p, bool):
        return np.asarray(p)
    if isinstance(p, Tensor):
        array = p._array
        if array.dtype == np.uint8:
            warnings.warn("indexing with dtype uint8 is deprecated, please use a dtype bool instead", UserWarning, stacklevel=5)
            array = array.astype(bool)
        if array.ndim == 0 and array.dtype.kind in "iu" and isinstance(array, np.ndarray):
            return int(array)  # a single index tensor is a number
        p = array
    elif isinstance(p, (list, tuple, range)):
        p = np.asarray([array_of(i) for i in p]) if len(p) else np.zeros(0, np.int64)
    elif hasattr(p, "__index__") and getattr(p, "ndim", 0) == 0 and not isinstance(p, np.bool_):
        return operator.index(p)
    p = p if hasattr(p, "dtype") and hasattr(p, "ndim") else np.asarray(p)
    if p.dtype.kind not in "iub":
        raise IndexError(f"tensors used as indices must be long, int, byte or bool tensors, got {p.dtype}")
    return np.asarray(p) if isinstance(p, np.generic) else p


def _dims_used(p: Any) -> int:
    if p is None or p is Ellipsis:
        return 0
    return p.ndim if getattr(p, "dtype", None) == bool else 1


def _plain_slice(s: slice) -> slice:
    if s.step is not None and operator.index(s.step) <= 0:
        raise ValueError("step must be greater than zero: use x.flip(dim) to reverse a dimension")
    if type(s.start) in _BOUND and type(s.stop) in _BOUND:
        return s
    start, stop, step = (None if v is None else operator.index(v) for v in (s.start, s.stop, s.step))
    return slice(start, stop, step)


_BOUND = (int, type(None))

# ---- x[index] = value ----------------------------------------------------------------------


def put(x: Tensor, index: Any, value: Any) -> None:
    """`x[index] = value`, in place; value and history as PyTorch has them."""
    basic, advanced = divide(x._array.shape, index)
    if type(x._array) is np.ndarray and not _tracked(x) and not _tracked(value):
        inplace.refuse(x, (value,))
        inplace._check_memory(x)
        array = x._array if basic is None else rules.getitem.plain(x._array, basic)
        _store(array, ... if advanced is None else advanced, _value_array(value, x._array.dtype))
        if x._origin is not INFERENCE:
            inplace.mark_written(x, "index_put_")
        return
    inplace.refuse(x, (value,) if isinstance(value, Tensor) else ())
    region = x if basic is None else _get(x, basic)
    value = value_for(value, x)
    if advanced is None:
        region.copy_(_without_leading_ones(value, region.ndim))
    else:
        inplace.write(region, _put_recorded, (advanced, value), "index_put_")


def _tracked(x: Any) -> bool:
    return isinstance(x, Tensor) and modes.is_grad_enabled() and x.requires_grad


def _value_array(value: Any, dtype: Any) -> Any:
    array = array_of(value)
    if isinstance(array, (np.ndarray, np.generic)):
        return array.real if array.dtype.kind == "c" and dtype.kind != "c" else array
    array = np.asarray(array)
    return array.astype(dtype) if array.dtype.kind in "biuf" and dtype.kind in "biu" else array


def _store(array: Any, index: Any, value: Any) -> None:
    try:
        array[index] = value
    except ValueError:
        have = np.shape(array[index])
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(np.shape(value))} cannot be broadcast to "
            f"indexing result of shape {list(have)}"
        ) from None
    except IndexError as error:
        raise IndexError(str(error).replace("for axis", "for dimension")) from None


def value_for(value: Any, x: Tensor) -> Tensor:
    """A value to be written into `x`, as a tensor of its dtype."""
    value = value if isinstance(value, Tensor) else wrap(np.asarray(value))
    return cast(value, x._array.dtype)


def _without_leading_ones(value: Tensor, ndim: int) -> Tensor:
    extra = value.ndim - ndim
    return value.reshape(value.shape[extra:]) if extra > 0 and set(value.shape[:extra]) == {1} else value


def _put_recorded(old: Tensor, index: Any, value: Tensor) -> Tensor:
    return _put(old, index, value)  # type: ignore[no-any-return]


# ---- choosing ------------------------------------------------------------------------------


@takes_out
def where(condition: Any, input: Any = None, other: Any = None) -> Any:
    """`input` where the condition holds, `other` elsewhere; given only the condition, its indices.

    >>> import wengert as wg
    >>> wg.where(wg.tensor([True, False]), wg.tensor([1.0, 2.0]), 0)
    tensor([1., 0.])
    """
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    condition = tensor_of(condition, "condition")
    if condition.dtype != dtypes.bool:
        if condition.dtype != dtypes.uint8:
            raise RuntimeError(f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype}")
        condition = plain_result(condition._array.astype(bool))
    kind = dtypes.result_type(array_of(input), array_of(other))
    input, other = (
        cast(x, kind) if isinstance(x, Tensor) else wrap(np.asarray(x, kind)) for x in (input, other)
    )
    return _where(condition, input, other)


def masked_fill(input: Any, mask: Any, value: Any) -> Tensor:
    """`input` with `value` where the mask holds."""
    input = tensor_of(input)
    if array_of(mask).dtype not in (dtypes.bool, dtypes.uint8):
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype}")
    if isinstance(value, Tensor) and value.ndim:
        raise RuntimeError(f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s).")
    mask = plain_result(np.asarray(array_of(mask), bool))
    return _where(mask, value_for(value, input), input)  # type: ignore[no-any-return]


@takes_out
def masked_select(input: Any, mask: Any) -> Tensor:
    """The elements where the mask holds, in one dimension."""
    from wengert.functions.shapes import broadcast_tensors

    if mask.dtype != dtypes.bool:
        raise RuntimeError(f"masked_select: expected BoolTensor for mask, got {mask.dtype}")
    input, mask = broadcast_tensors(tensor_of(input), mask)
    return _get(input, mask._array)  # type: ignore[no-any-return]


def masked_scatter(input: Any, mask: Any, source: Any) -> Tensor:
    """`input` with the elements where the mask holds replaced by those of `source`, in order."""
    mask = np.broadcast_to(mask._array, np.broadcast_shapes(input.shape, mask.shape))
    input = input.expand(mask.shape)
    n = int(mask.sum())
    if source.numel() < n:
        raise RuntimeError(f"masked_scatter: expected self and source to have as many elements as the mask holds: {n}, got {source.numel()}")
    return _put(input, mask, cast(source.reshape(-1)[:n], input.dtype))  # type: ignore[no-any-return]


@takes_out
def nonzero(input: Any, *, as_tuple: bool = False) -> Any:
    """The indices of the elements that are not zero: one row each, or one tensor per dimension."""
    input = tensor_of(input)
    if as_tuple:
        return tuple(plain_result(i) for i in np.nonzero(np.atleast_1d(input._array)))
    return plain_result(np.argwhere(input._array))


def argwhere(input: Any) -> Tensor:
    """The indices of the elements that are not zero, one row each."""
    return nonzero(input)  # type: ignore[no-any-return]


# ---- along one dimension -------------------------------------------------------------------


def _check_index(name: str, input: Tensor, dim: int, index: Any) -> tuple[int, Any]:
    axis = one_dim(dim, input.ndim)
    places = np.asarray(array_of(index))
    if places.dtype.kind not in "iu":
        raise RuntimeError(f"{name}(): Expected dtype int64 for index, got {places.dtype}")
    n = input.shape[axis] if input.ndim else 1
    if places.size and (places.min() < 0 or places.max() >= n):
        bad = places[(places < 0) | (places >= n)].flat[0]
        raise RuntimeError(f"index {bad} is out of bounds for dimension {axis} with size {n}")
    return axis, places


def _at_least_1d(x: Any) -> Any:
    return x if x.ndim else x.reshape(1)


@takes_out
def gather(input: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Tensor:
    """`out[i][j] = input[index[i][j]][j]` for dim 0, and so on along another dimension.

    >>> import wengert as wg
    >>> wg.gather(wg.tensor([[1, 2], [3, 4]]), 1, wg.tensor([[0], [1]]))
    tensor([[1],
            [4]])
    """
    input = tensor_of(input)
    axis, places = _check_index("gather", input, dim, index)
    if max(places.ndim, 1) != max(input.ndim, 1) and places.size:
        raise RuntimeError(f"Index tensor must have the same number of dimensions as input tensor: {places.ndim} and {input.ndim}")
    if not input.ndim or not places.ndim:
        return _get(_at_least_1d(input), np.atleast_1d(places)).reshape(places.shape)  # type: ignore[no-any-return]
    for d, (n, m) in enumerate(zip(places.shape, input.shape, strict=False)):
        if d != axis and n > m and places.size:
            raise RuntimeError(f"Size does not match at dimension {d} expected index {list(places.shape)} to be no larger than self {list(input.shape)} apart from dimension {axis}")
    return _gather(input, places, axis)  # type: ignore[no-any-return]


@takes_out
def take_along_dim(input: Any, indices: Any, dim: int | None = None) -> Tensor:
    """As `gather`, with the shapes broadcast; without `dim` in the flattened tensor."""
    if dim is None:
        return input.reshape(-1)[indices.reshape(-1)].reshape(indices.shape)  # type: ignore[no-any-return]
    axis = one_dim(dim, input.ndim)
    shape = np.broadcast_shapes(*(tuple(1 if d == axis else n for d, n in enumerate(x.shape)) for x in (input, indices)))
    full = [tuple(x.shape[d] if d == axis else n for d, n in enumerate(shape)) for x in (input, indices)]
    return gather(input.expand(full[0]), axis, indices.expand(full[1]))  # type: ignore[no-any-return]


@takes_out
def index_select(input: Any, dim: int, index: Any) -> Tensor:
    """The slices along `dim` that a vector of indices names."""
    input = tensor_of(input)
    axis, places = _check_index("index_select", input, dim, index)
    if places.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if not input.ndim:
        return _get(input.reshape(1), np.atleast_1d(places)).reshape(())  # type: ignore[no-any-return]
    return _get(input, (_FULL,) * axis + (np.atleast_1d(places),))  # type: ignore[no-any-return]


@takes_out
def take(input: Any, index: Any) -> Tensor:
    """Elements of the flattened tensor."""
    flat = tensor_of(input).reshape(-1)
    _, places = _check_wrapped(flat, index)
    return _get(flat, (places,))  # type: ignore[no-any-return]


def _check_wrapped(flat: Tensor, index: Any) -> tuple[int, Any]:
    places = np.asarray(array_of(index))
    n = len(flat._array)
    if places.size and (places.min() < -n or places.max() >= n):
        raise IndexError(f"out of range: tried to access an index outside of a tensor of {n} elements")
    return 0, places % max(n, 1)


# ---- changed copies ------------------------------------------------------------------------


def _source(src: Any, input: Tensor, places: Any, name: str) -> Tensor:
    """The part of `src` that a scatter reads: a number, or as much as there are indices."""
    if not isinstance(src, Tensor):
        return wrap(np.broadcast_to(np.asarray(src, input.dtype), places.shape))
    if src.dtype != input.dtype:
        raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype, got {input.dtype} and {src.dtype}")
    if src._array.shape == places.shape:
        return src
    if any(n > m for n, m in zip(places.shape, src.shape, strict=False)):
        raise RuntimeError(f"Expected index {list(places.shape)} to be no larger than src {list(src.shape)}")
    return src[tuple(slice(n) for n in places.shape)]  # type: ignore[no-any-return]


def _lifted(operation: Any, input: Tensor, index: Any, src: Any) -> Tensor:
    """A scatter into a number, as one into a vector of one element."""
    src = src.reshape(1) if isinstance(src, Tensor) and not src.ndim else src
    return operation(input.reshape(1), np.atleast_1d(array_of(index)), src).reshape(())  # type: ignore[no-any-return]


@takes_out
def scatter(input: Any, dim: int, index: Any, src: Any = None, *, value: Any = None, reduce: str | None = None) -> Tensor:
    """`out[index[i][j]][j] = src[i][j]` for dim 0, the rest as in `input`; "add" or "multiply" instead."""
    input = tensor_of(input)
    src = value if src is None else src
    if not input.ndim:
        return _lifted(lambda x, i, s: scatter(x, 0, i, s, reduce=reduce), input, index, src)
    axis, places = _check_index("scatter", input, dim, index)
    if reduce is not None:
        return scatter_reduce(input, axis, plain_result(places), _source(src, input, places, "scatter"), {"add": "sum", "multiply": "prod"}[reduce])  # type: ignore[no-any-return]
    source = _source(src, input, places, "scatter")
    return _put(input, rules._grid(places, axis), source)  # type: ignore[no-any-return]


@takes_out
def scatter_add(input: Any, dim: int, index: Any, src: Any) -> Tensor:
    """`out[index[i][j]][j] += src[i][j]` for dim 0: `gather` transposed, added to `input`."""
    input = tensor_of(input)
    if not input.ndim:
        return _lifted(lambda x, i, s: scatter_add(x, 0, i, s), input, index, src)
    axis, places = _check_index("scatter_add", input, dim, index)
    return input + _scatter_add(_source(src, input, places, "scatter_add"), places, tuple(input.shape), axis)  # type: ignore[no-any-return]


_PROD, _AMAX, _AMIN, _SUM, _MEAN = "prod", "amax", "amin", "sum", "mean"


@takes_out
def scatter_reduce(input: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True) -> Tensor:
    """Elements of `src` that go to one place combined by "sum", "prod", "mean", "amax" or "amin".

    With `include_self=False` the old value takes no part where anything arrives. Equal extrema share
    the gradient.
    """
    input = tensor_of(input)
    if not input.ndim:
        return _lifted(lambda x, i, s: scatter_reduce(x, 0, i, s, reduce, include_self=include_self), input, index, src)
    axis, places = _check_index("scatter_reduce", input, dim, index)
    source = _source(src, input, places, "scatter_reduce")
    grid = rules._grid(places, axis)
    return _reduced(input, grid, places, axis, source, reduce, include_self)


def _reduced(input: Tensor, grid: Any, places: Any, axis: int, source: Tensor, reduce: str, include_self: bool) -> Tensor:
    shape = tuple(input.shape)
    arrivals = np.zeros(shape, np.int64)
    np.add.at(arrivals, grid, 1)
    takes_part = wrap(np.ones(shape, bool) if include_self else arrivals == 0)
    zero = wrap(np.zeros((), input.dtype))
    if reduce in (_SUM, _MEAN):
        total = _where(takes_part, input, zero) + _scatter_add(source, places, shape, axis)
        if reduce == _SUM:
            return total  # type: ignore[no-any-return]
        n = np.maximum(arrivals + (takes_part._array if include_self else 0), 1)
        if dtypes.is_inexact(input.dtype):
            return total / wrap(n.astype(input.dtype))  # type: ignore[no-any-return]
        return total // wrap(n.astype(input.dtype))  # type: ignore[no-any-return]
    # One row per number of arrival: the k-th element that came to each place.
    rank = _ranks(grid, shape)
    layers = [input] if include_self else [_where(takes_part, input, wrap(np.asarray(_neutral(reduce, input.dtype), input.dtype)))]
    neutral = wrap(np.full(shape, _neutral(reduce, input.dtype), input.dtype))
    for k in range(int(rank.max(initial=-1)) + 1):
        chosen = rank == k
        index = tuple(np.broadcast_to(g, places.shape)[chosen] for g in grid)
        layers.append(_put(neutral, index, _get(source, chosen)))
    from wengert.functions.shapes import stack

    piled = stack(layers)
    if reduce == _PROD:
        return piled.prod(0)  # type: ignore[no-any-return]
    if reduce not in (_AMAX, _AMIN):
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    return piled.amax(0) if reduce == _AMAX else piled.amin(0)  # type: ignore[no-any-return]


def _neutral(reduce: str, dtype: Any) -> Any:
    if reduce == _PROD:
        return 1
    lowest, highest = (-np.inf, np.inf) if dtype.kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return lowest if reduce == _AMAX else highest


def _ranks(grid: Any, shape: tuple[int, ...]) -> Any:
    """For each source element, how many before it went to the same place."""
    index = np.broadcast_arrays(*grid)
    flat = np.ravel_multi_index([g.ravel() for g in index], shape) if index[0].size else np.zeros(0, np.int64)
    order = np.argsort(flat, kind="stable")
    ordered = flat[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if flat.size else np.zeros(0, np.int64)
    run = np.repeat(starts, np.diff(np.r_[starts, flat.size]))
    ranks = np.empty(flat.size, np.int64)
    ranks[order] = np.arange(flat.size) - run
    return ranks.reshape(index[0].shape)


def _rows(input: Tensor, axis: int, places: Any) -> tuple[Any, ...]:
    return (_FULL,) * axis + (np.atleast_1d(places),)


@takes_out
def index_add(input: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Tensor:
    """`input` with alpha times the slices of `source` added at the slices that `index` names."""
    input = tensor_of(input)
    if not input.ndim:
        return _lifted(lambda x, i, s: index_add(x, 0, i, s, alpha=alpha), input, index, source)
    axis, places = _check_index("index_add", input, dim, index)
    if source.dtype != input.dtype:
        raise RuntimeError(f"index_add_(): self ({input.dtype}) and source ({source.dtype}) must have the same scalar type")
    source = source if alpha == 1 else source * alpha
    return input + recorder(rules.add_at)(source, _rows(input, axis, places), tuple(input.shape))  # type: ignore[no-any-return]


@takes_out
def index_copy(input: Any, dim: int, index: Any, source: Any) -> Tensor:
    """`input` with the slices that `index` names replaced by those of `source`."""
    input = tensor_of(input)
    if not input.ndim:
        return _lifted(lambda x, i, s: index_copy(x, 0, i, s), input, index, source)
    axis, places = _check_index("index_copy", input, dim, index)
    return _put(input, _rows(input, axis, places), value_for(source, input))  # type: ignore[no-any-return]


def index_fill(input: Any, dim: int, index: Any, value: Any) -> Tensor:
    """`input` with the slices that `index` names filled with a number."""
    input = tensor_of(input)
    if not input.ndim:
        return _lifted(lambda x, i, s: index_fill(x, 0, i, value), input, index, value)
    axis, places = _check_index("index_fill", input, dim, index)
    return _put(input, _rows(input, axis, places), value_for(value, input))  # type: ignore[no-any-return]


@takes_out
def index_reduce(input: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True) -> Tensor:
    """Slices of `source` combined into the slices that `index` names: "prod", "mean", "amax", "amin"."""
    input = tensor_of(input)
    if not input.ndim:
        return _lifted(lambda x, i, s: index_reduce(x, 0, i, s, reduce, include_self=include_self), input, index, source)
    axis, places = _check_index("index_reduce", input, dim, index)
    places = np.reshape(places, [-1 if d == axis else 1 for d in range(input.ndim)])
    return scatter_reduce(input, axis, plain_result(np.broadcast_to(places, source.shape)), source, reduce, include_self=include_self)  # type: ignore[no-any-return]


def index_put(input: Any, indices: Any, values: Any, accumulate: bool = False) -> Tensor:
    """`input` with `input[indices]` replaced by the values, or with the values added there."""
    input = tensor_of(input)
    basic, advanced = divide(tuple(input.shape), tuple(_FULL if i is None else i for i in indices))
    if basic is not None:  # numbers among the indices: as arrays they mean the same here
        advanced = tuple(np.asarray(array_of(i)) if i is not None else _FULL for i in indices)
    values = value_for(values, input)
    if not accumulate:
        return _put(input, advanced, values)  # type: ignore[no-any-return]
    region = _get(input, advanced)
    return input + recorder(rules.add_at)(values.expand(region.shape), advanced, tuple(input.shape))  # type: ignore[no-any-return]


def put_(input: Any, index: Any, source: Any, accumulate: bool = False) -> Tensor:
    """`input` with elements of its flattened form replaced, or with the source added to them."""
    flat = input.reshape(-1)
    _, places = _check_wrapped(flat, index)
    return index_put(flat, (plain_result(places),), source, accumulate).reshape(input.shape)  # type: ignore[no-any-return]


def select_scatter(input: Any, src: Any, dim: int, index: int) -> Tensor:
    """`input` with one slice along `dim` replaced."""
    axis = one_dim(dim, input.ndim)
    return _put(input, (_FULL,) * axis + (index,), value_for(src, input))  # type: ignore[no-any-return]


@takes_out
def slice_scatter(input: Any, src: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Tensor:
    """`input` with a range of slices along `dim` replaced."""
    axis = one_dim(dim, input.ndim)
    return _put(input, (_FULL,) * axis + (_plain_slice(slice(start, end, step)),), value_for(src, input))  # type: ignore[no-any-return]


def diagonal_scatter(input: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """`input` with a diagonal replaced."""
    places = np.arange(input.numel()).reshape(input.shape)
    diagonal = np.diagonal(places, offset, dim1, dim2)
    return put_(input, plain_result(diagonal.copy()), src)


def unravel_index(indices: Any, shape: Any) -> tuple[Tensor, ...]:
    """Places in the flattened tensor as one index per dimension."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    return tuple(plain_result(np.asarray(i)) for i in np.unravel_index(indices._array, shape))


# ---- writing -------------------------------------------------------------------------------


def overwrite(x: Tensor, value: Any, name: str, record: Any = None) -> Tensor:
    """Make `x` hold a value that its old one has no part in."""
    value = value if isinstance(value, Tensor) else wrap(np.asarray(value))
    if not _tracked(x) and not _tracked(value) and type(x._array) is np.ndarray:
        inplace.refuse(x, (value,))
        inplace._check_memory(x)
        _broadcastable(value, x)
        array = value._array
        array = array.real if array.dtype.kind == "c" and x._array.dtype.kind != "c" else array
        np.copyto(x._array, array, casting="unsafe")
        if x._origin is not INFERENCE:
            inplace.mark_written(x, name)
        return x
    _broadcastable(value, x)
    return inplace.write(x, record or _assign, (cast(value, x._array.dtype),), name)


def _broadcastable(value: Tensor, x: Tensor) -> None:
    have, want = value._array.shape, x._array.shape
    if have == want or not have:
        return
    try:
        fits = np.broadcast_shapes(have, want) == want
    except ValueError:
        fits = False
    if not fits:
        raise RuntimeError(
            f"The size of the written tensor, {list(have)}, does not match the existing size {list(want)}: "
            f"The expanded size must match at each non-singleton dimension. Target sizes: {list(want)}. Tensor sizes: {list(have)}"
        )
