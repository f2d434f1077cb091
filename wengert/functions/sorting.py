"""Sorting, searching, counting and sets under PyTorch's names.

The order is found outside the graph, as in `reductions.py`; the values are gathered inside it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.arrays.kind import array_of
from wengert.autograd.record import recorder
from wengert.autograd.settings import refuses
from wengert.dispatch import as_array, known, require, within
from wengert.functions import results
from wengert.functions.arguments import (
    constant,
    of_tensors,
    one_dim,
    ordered,
    takes_names,
    takes_out,
    tensor_of,
)
from wengert.functions.indexing import index_select
from wengert.functions.reductions import picked
from wengert.rules.indexing import pick
from wengert.rules.loops import as_lines, loopable
from wengert.rules.reductions import ends_of_longest_runs, first_of_lines, places_of_rank
from wengert.rules.ways import implemented, quick, way
from wengert.tensor import NUMBERS, Tensor

_pick, _amax, _where = recorder(np.take_along_axis), recorder(np.max), recorder(np.where)
_at = recorder(pick)
_taken = quick(np.take_along_axis)

# ---- sorting -------------------------------------------------------------------------------


def _order(x: Any, axis: int, descending: bool) -> Any:
    """The indices that sort along `axis`, equal elements in their order; NaN counts as largest."""
    x = _with_an_order(x)
    if not descending:
        return stable_order(x, axis)
    back = (*(slice(None),) * axis, slice(None, None, -1))
    return x.shape[axis] - 1 - stable_order(x[back], axis)[back]


def _with_an_order(x: Any) -> Any:
    """Numbers that NumPy sorts: of bfloat16 it leaves a NaN, and what is around it, in between."""
    return x.astype(np.float32) if x.dtype.kind == "V" else x


def _first(x: Any, axis: int, k: int, descending: bool) -> Any:
    """The first k of these indices; of elements that equal the last one, any.

    Machine code sorts by itself, and would have to call NumPy to divide them.
    """
    n = x.shape[axis]
    if type(x) is not np.ndarray:
        return np.take(_order(x, axis, descending), np.arange(k), axis)
    if 0 < k <= _FIRST and 2 * k <= n and loopable(x):
        order = np.empty([k if d == axis else size for d, size in enumerate(x.shape)], np.int64)
        first_of_lines(*as_lines(axis, x, order), -1.0 if descending else 1.0)
        return order
    if 4 * k > n or not k or x.dtype not in _DIVIDED:
        return _order(x, axis, descending)[(*(slice(None),) * axis, slice(k))].copy()
    place, part = (n - k, slice(n - k, None)) if descending else (k - 1, slice(k))
    inside = (*(slice(None),) * axis, part)
    chosen = np.sort(np.argpartition(x, place, axis)[inside], axis)
    return _taken(chosen, _order(_taken(x, chosen, axis), axis, descending), axis)


_FIRST = 16


_DIVIDED = (np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int32), np.dtype(np.int64))
_FEW = 1 << 12


@implemented
def stable_order(x: Any, axis: int) -> Any:
    """The indices that sort along `axis`, equal elements in their order."""
    return x.argsort(axis=axis, kind="stable")


@way(
    stable_order,
    lambda x, axis: isinstance(x, np.ndarray) and x.size >= _FEW and x.dtype.itemsize >= 4,
)
def _order_of_many(x: Any, axis: int) -> Any:
    """The stable sort has no vectors to sort with, and so takes ten times as long.

    Where all elements of a line differ there is one order only, whoever finds it; the other lines
    are sorted again.
    """
    across = np.swapaxes(x, axis, -1)
    lines = across.reshape(-1, x.shape[axis])
    order = np.argsort(lines, axis=-1)
    runs = _taken(lines, order, -1)
    ties = np.any(runs[:, 1:] == runs[:, :-1], axis=-1) | (runs[:, -1] != runs[:, -1])  # or NaN
    if ties.any():
        order[ties] = np.argsort(lines[ties], axis=-1, kind="stable")
    return np.swapaxes(order.reshape(across.shape), axis, -1)


@takes_out
def sort(
    input: Any, dim: int = -1, descending: bool = False, stable: bool = False
) -> results.sort_result:
    """The elements in order along `dim`, and where each came from."""
    input = ordered(input, "sort")
    axis = one_dim(dim, input._array.ndim)
    if not input._array.ndim:
        return results.sort_result(input.clone(), constant(np.zeros((), np.int64)))
    order = _order(input._array, axis, descending)
    return results.sort_result(_pick(input, order, axis), constant(order))


@takes_names
def argsort(input: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The indices that sort along `dim`."""
    input = ordered(input, "argsort")
    axis = one_dim(dim, input._array.ndim)
    return constant(
        _order(input._array, axis, descending) if input.ndim else np.zeros((), np.int64)
    )


@takes_out
def msort(input: Any) -> Tensor:
    """Sorted along the first dimension."""
    return sort(input, 0)[0]


@takes_out
@refuses(input="b")
def topk(
    input: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> results.topk_result:
    """The k largest (or smallest) elements along `dim`, and where they are."""
    input = ordered(input, "topk")
    axis = one_dim(dim, input._array.ndim)
    n = input._array.shape[axis] if input.ndim else 1
    if not 0 <= k <= n:
        raise RuntimeError(
            f"selected index k out of range: k={k}, but dimension {axis} has size {n}"
        )
    if not input._array.ndim:
        return results.topk_result(input.clone(), constant(np.zeros((), np.int64)))
    order = _first(input._array, axis, k, largest)
    return results.topk_result(_pick(input, order, axis), constant(order))


@takes_out
@refuses(input="b")
def kthvalue(input: Any, k: int, dim: int = -1, keepdim: bool = False) -> results.kthvalue_result:
    """The k-th smallest element along `dim` (k counts from 1), and where it is."""
    input = ordered(input, "kthvalue")
    axis = one_dim(dim, input._array.ndim)
    n = input._array.shape[axis] if input.ndim else 1
    if not 1 <= k <= n:
        raise RuntimeError(
            f"kthvalue(): selected number k out of range for dimension {axis}: k={k}, size {n}"
        )
    if not input.ndim:
        order = np.zeros((), np.int64)
    elif k > _FIRST and loopable(input._array):
        order = _of_rank(input._array, axis, k - 1)
    else:
        order = np.take(_first(input._array, axis, k, False), [k - 1], axis)
    return picked(results.kthvalue_result, input, order, dim, keepdim)


@takes_out
@refuses(input="b")
def median(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The middle element, the lower of two; NaN if there is one. Full reductions share ties."""
    return _median(input, dim, keepdim, results.median_result, ignore_nan=False)


@takes_out
@refuses(input="b")
def nanmedian(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The middle element of those that are not NaN."""
    return _median(input, dim, keepdim, results.nanmedian_result, ignore_nan=True)


def _median(input: Any, dim: Any, keepdim: bool, result: Any, ignore_nan: bool) -> Any:
    input = ordered(input, "nanmedian" if ignore_nan else "median")
    if dim is None:
        flat = input.reshape(-1)
        if not flat._array.size:
            return constant(np.asarray(math.nan, input.dtype))
        if loopable(flat._array):
            middle = _middle_number(flat._array, ignore_nan)
        else:
            middle = flat._array[_middle(flat._array, 0, ignore_nan)[0]]
        hit = flat._array == middle
        if not known(hit) or middle != middle:
            hit = hit | ((flat._array != flat._array) & (middle != middle))
        if input.dtype.kind in "biu":
            return constant(as_array(middle))
        # Equal elements share the gradient evenly, as those of a maximum do.
        if not known(hit):
            rest = np.asarray(-math.inf, input.dtype)
            return _amax(_where(constant(hit), flat, constant(rest)), None, False)
        places = hit.nonzero()[0]
        if len(places) == 1:
            return _at(flat, np.asarray(places[0]), 0)
        return _amax(flat[constant(places)], None, False)
    axis = one_dim(dim, input._array.ndim)
    if not input._array.ndim:
        return picked(result, input, np.zeros((), np.int64), dim, keepdim)
    if not input._array.shape[axis]:
        raise IndexError(f"median(): Expected reduction dim {axis} to have non-zero size.")
    return picked(result, input, _middle(input._array, axis, ignore_nan), dim, keepdim)


def _middle_number(x: Any, ignore_nan: bool) -> Any:
    x = x.copy()
    if x.size < _FEW:  # sorting is quicker than looking for NaNs, which come last
        x.sort()
        if x[-1] == x[-1]:
            return x[(x.size - 1) // 2]
    nans = np.count_nonzero(x != x)
    if nans and not ignore_nan:
        return x.dtype.type(math.nan)
    place = max(x.size - nans - 1, 0) // 2
    x.partition(place)
    return x[place]


def _middle(x: Any, axis: int, ignore_nan: bool) -> Any:
    """Where along `axis` the median stands."""
    if loopable(x):
        return _of_rank(x, axis, -2 if ignore_nan else -1)
    order = _order(x, axis, False)
    n = x.shape[axis]
    missing = np.isnan(x) if dtypes.is_floating(x.dtype) else np.zeros((1,) * x.ndim, bool)
    if known(missing) and not np.count_nonzero(missing):
        middle = (n - 1) // 2
        return order[(slice(None),) * axis + (slice(middle, middle + 1),)]
    nans = missing.sum(axis=axis, keepdims=True)
    if ignore_nan:
        place = np.maximum(n - nans - 1, 0) // 2
    else:
        place = np.where(nans > 0, n - nans, (n - 1) // 2)
    place = np.broadcast_to(place, [1 if i == axis else s for i, s in enumerate(x.shape)])
    return _taken(order, place, axis)


def _sorted(x: Any, axis: int) -> Any:
    """np.sort of a plain array, without the Python around it."""
    x = x.copy()
    x.sort(axis)
    return x


def _of_rank(x: Any, axis: int, rank: int) -> Any:
    """Where along `axis` the number of a rank stands, as in a stable order; of rank -1 the middle
    one or a NaN, of rank -2 the middle one of those that are not NaN.
    """
    places = np.empty([1 if d == axis else n for d, n in enumerate(x.shape)], np.int64)
    places_of_rank(*as_lines(axis, x, _sorted(x, axis), places), rank)
    return places


@takes_out
def mode(input: Any, dim: int = -1, keepdim: bool = False) -> results.mode_result:
    """The most frequent element along `dim` (the smallest of several), and where it stands last."""
    input = ordered(input, "mode")
    axis = one_dim(dim, input._array.ndim)
    if not input._array.ndim:
        return picked(results.mode_result, input, np.zeros((), np.int64), dim, keepdim)

    if not input._array.size:
        if not input._array.shape[axis]:
            raise IndexError(f"mode(): Expected reduction dim {axis} to have non-zero size.")
        nowhere = np.zeros([1 if d == axis else n for d, n in enumerate(input.shape)], np.int64)
        return picked(results.mode_result, input, nowhere, dim, keepdim)

    x = np.swapaxes(_with_an_order(input._array), axis, -1)
    order = stable_order(x, -1)
    ends = ends_of_longest_runs(np.sort(x, axis=-1))
    lines = order.reshape(-1, order.shape[-1])
    modes = lines[np.arange(len(lines)), ends.reshape(-1)].reshape(*ends.shape, 1)
    modes = np.swapaxes(modes, axis, -1)
    return picked(results.mode_result, input, modes, dim, keepdim)


# ---- sets ----------------------------------------------------------------------------------


@of_tensors(1)
@refuses(input="c")
def unique(
    input: Any,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: Any = None,
) -> Tensor:
    """The different elements (or slices along `dim`) in order; where each went; how often each
    is.
    """
    if dim is None and input._array.dtype.kind in "biu" and not (return_inverse or return_counts):
        return constant(np.unique(_with_an_order(input._array)))  # without where they stood
    if dim is None:
        _, first, inverse, counts = np.unique(
            _with_an_order(input._array).ravel(), True, True, True, equal_nan=False
        )
        values, inverse = input.reshape(-1)[constant(first)], inverse.reshape(input.shape)
    else:
        axis = one_dim(dim, input._array.ndim)
        x = _with_an_order(input._array)
        _, first, inverse, counts = np.unique(
            x, return_index=True, return_inverse=True, return_counts=True, axis=axis
        )
        values, inverse = index_select(input, axis, constant(first)), inverse.ravel()
    return _with_counts(values, inverse, counts, return_inverse, return_counts)


@of_tensors(1)
@refuses(input="c")
def unique_consecutive(
    input: Any, return_inverse: bool = False, return_counts: bool = False, dim: Any = None
) -> Tensor:
    """As `unique`, but only neighbours that are equal become one."""
    axis = 0 if dim is None else one_dim(dim, input._array.ndim)
    rows = input.reshape(-1) if dim is None else input
    n = rows.shape[axis]
    x = np.moveaxis(rows._array, axis, 0).reshape(n, rows.numel() // max(n, 1))
    starts = np.ones(len(x), bool)
    starts[1:] = (x[1:] != x[:-1]).any(1)
    first = np.flatnonzero(starts)
    inverse = np.cumsum(starts) - 1
    counts = np.diff(np.append(first, len(x)))
    values = index_select(rows, axis, constant(first))
    return _with_counts(
        values,
        inverse.reshape(input.shape) if dim is None else inverse,
        counts,
        return_inverse,
        return_counts,
    )


def _with_counts(
    values: Tensor, inverse: Any, counts: Any, return_inverse: bool, return_counts: bool
) -> Any:
    results = [values]
    if return_inverse:
        results.append(constant(inverse))
    if return_counts:
        results.append(constant(counts))
    return tuple(results) if len(results) > 1 else values


@takes_out
def searchsorted(
    sorted_sequence: Any,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Any = None,
) -> Tensor:
    """Where each element would be inserted to keep the (last dimension of the) sequence sorted."""
    sequence = _with_an_order(array_of(ordered(sorted_sequence, "searchsorted")))
    values = as_array(array_of(input if type(input) in NUMBERS else tensor_of(input)))
    values = _with_an_order(values)
    if side not in (None, "left", "right"):
        raise RuntimeError(f"searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            "searchsorted(): side and right can't be set to opposites, got side of left while "
            "right was True"
        )
    if not sequence.ndim:
        raise RuntimeError("searchsorted(): sorted_sequence must have one dimension or more")
    if sequence.ndim > 1 and sequence.shape[:-1] != values.shape[:-1]:
        raise RuntimeError(
            "searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions "
            "of boundaries tensor and input value tensor must match, but got "
            f"{list(sequence.shape)} and {list(values.shape)}"
        )
    if sorter is not None:
        order = array_of(sorter)
        if order.shape != sequence.shape or order.dtype != dtypes.int64:
            raise RuntimeError(
                "searchsorted(): sorter must be int64 and have the shape of the sequence, "
                f"{list(sequence.shape)}, got {order.dtype} of shape {list(order.shape)}"
            )
        wrong = "searchsorted(): sorter index out of range"
        require(within(order, 0, order.shape[-1]), RuntimeError, wrong)
        sequence = np.take_along_axis(sequence, order, -1)
    place: Any = side or ("right" if right else "left")
    if sequence.ndim == 1:
        if type(sequence) is type(values) is np.ndarray:
            places = sequence.searchsorted(values, place)
        else:
            places = np.searchsorted(sequence, values, place)
    elif not values.size or not sequence.size:
        places = np.zeros(values.shape, np.int64)
    elif not (known(sequence) and known(values)):
        rows, sought = sequence[..., None, :], values[..., None]
        before = rows < sought if place == "left" else rows <= sought
        last = (sought != sought) & (True if place == "right" else rows == rows)
        places = (before | last).sum(-1)
    else:
        rows = zip(
            sequence.reshape(-1, sequence.shape[-1]),
            values.reshape(-1, values.shape[-1]),
            strict=True,
        )
        places = np.reshape([np.searchsorted(s, v, place) for s, v in rows], values.shape)
    return constant(as_array(places, np.int32 if out_int32 else np.int64))


@of_tensors(1, takes_out=True)
@refuses(input="c")
def bucketize(
    input: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False
) -> Tensor:
    """The number of the interval between boundaries in which each element lies."""
    if tensor_of(boundaries).ndim != 1:
        raise RuntimeError(
            f"boundaries tensor must be 1 dimension, but got dim({tensor_of(boundaries).ndim})"
        )
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)
