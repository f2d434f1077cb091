"""Sorting, searching, counting and sets under PyTorch's names.

The order is found outside the graph, as in `reductions.py`; the values are gathered inside it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.autograd.record import recorder
from wengert.dispatch import as_array, known
from wengert.functions import results
from wengert.functions.arguments import array_of, into, one_dim, plain_result, takes_out, tensor_of
from wengert.functions.indexing import index_select
from wengert.functions.reductions import picked
from wengert.functions.shapes import movedim
from wengert.tensor import Tensor, wrap

_pick, _amax, _where = recorder(np.take_along_axis), recorder(np.max), recorder(np.where)

# ---- sorting -------------------------------------------------------------------------------


def _order(x: Any, axis: int, descending: bool) -> Any:
    """The indices that sort along `axis`, equal elements in their order; NaN counts as largest."""
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    backwards = np.argsort(np.flip(x, axis), axis=axis, kind="stable")
    return x.shape[axis] - 1 - np.flip(backwards, axis)


@takes_out
def sort(input: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """The elements in order along `dim`, and where each came from."""
    input = tensor_of(input)
    axis = one_dim(dim, input.ndim)
    if not input.ndim:
        return results.sort_result(input.clone(), plain_result(np.zeros((), np.int64)))
    order = _order(input._array, axis, descending)
    return results.sort_result(_pick(input, order, axis), plain_result(order))


def argsort(input: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The indices that sort along `dim`."""
    input = tensor_of(input)
    axis = one_dim(dim, input.ndim)
    return plain_result(
        _order(input._array, axis, descending) if input.ndim else np.zeros((), np.int64)
    )


@takes_out
def msort(input: Any) -> Tensor:
    """Sorted along the first dimension."""
    return sort(input, 0)[0]


@takes_out
def topk(input: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The k largest (or smallest) elements along `dim`, and where they are."""
    input = tensor_of(input)
    axis = one_dim(dim, input.ndim)
    n = input.shape[axis] if input.ndim else 1
    if not 0 <= k <= n:
        raise RuntimeError(
            f"selected index k out of range: k={k}, but dimension {axis} has size {n}"
        )
    if not input.ndim:
        return results.topk_result(input.clone(), plain_result(np.zeros((), np.int64)))
    order = np.take(_order(input._array, axis, largest), np.arange(k), axis)
    return results.topk_result(_pick(input, order, axis), plain_result(order))


@takes_out
def kthvalue(input: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The k-th smallest element along `dim` (k counts from 1), and where it is."""
    input = tensor_of(input)
    axis = one_dim(dim, input.ndim)
    n = input.shape[axis] if input.ndim else 1
    if not 1 <= k <= n:
        raise RuntimeError(
            f"kthvalue(): selected number k out of range for dimension {axis}: k={k}, size {n}"
        )
    order = (
        np.take(_order(input._array, axis, False), [k - 1], axis)
        if input.ndim
        else np.zeros((), np.int64)
    )
    return picked(results.kthvalue_result, input, order, dim, keepdim)


@takes_out
def median(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The middle element, the lower of two; NaN if there is one. Full reductions share ties."""
    return _median(input, dim, keepdim, results.median_result, ignore_nan=False)


@takes_out
def nanmedian(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The middle element of those that are not NaN."""
    return _median(input, dim, keepdim, results.nanmedian_result, ignore_nan=True)


def _median(input: Any, dim: Any, keepdim: bool, result: Any, ignore_nan: bool) -> Any:
    input = tensor_of(input)
    if dim is None:
        flat = input.reshape(-1)
        if not flat._array.size:
            return plain_result(np.asarray(math.nan, input.dtype))
        middle = flat._array[_middle(flat._array, 0, ignore_nan)[0]]
        hit = (flat._array == middle) | ((flat._array != flat._array) & (middle != middle))
        if input.dtype.kind in "biu":
            return plain_result(as_array(middle))
        # Equal elements share the gradient evenly, as those of a maximum do.
        if not known(hit):
            rest = np.asarray(-math.inf, input.dtype)
            return _amax(_where(plain_result(hit), flat, plain_result(rest)), None, False)
        return _amax(flat[plain_result(hit)], None, False)
    axis = one_dim(dim, input.ndim)
    if not input.ndim:
        return picked(result, input, np.zeros((), np.int64), dim, keepdim)
    if not input.shape[axis]:
        raise IndexError(f"median(): Expected reduction dim {axis} to have non-zero size.")
    return picked(result, input, _middle(input._array, axis, ignore_nan), dim, keepdim)


def _middle(x: Any, axis: int, ignore_nan: bool) -> Any:
    """Where along `axis` the median stands."""
    order = _order(x, axis, False)
    nans = np.isnan(x).sum(axis=axis, keepdims=True) if x.dtype.kind == "f" else np.zeros(1, int)
    n = x.shape[axis]
    if ignore_nan:
        place = np.maximum(n - nans - 1, 0) // 2
    else:
        place = np.where(nans > 0, n - nans, (n - 1) // 2)
    place = np.broadcast_to(place, [1 if i == axis else s for i, s in enumerate(x.shape)])
    return np.take_along_axis(order, place, axis)


@takes_out
def mode(input: Any, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent element along `dim` (the smallest of several), and where it stands last."""
    input = tensor_of(input)
    axis = one_dim(dim, input.ndim)
    if not input.ndim:
        return picked(results.mode_result, input, np.zeros((), np.int64), dim, keepdim)

    def last_of_most_frequent(row: Any) -> Any:
        values, counts = np.unique(row, return_counts=True)
        return np.flatnonzero(row == values[np.argmax(counts)])[-1]

    found = np.apply_along_axis(last_of_most_frequent, axis, input._array)
    return picked(results.mode_result, input, np.expand_dims(found, axis), dim, keepdim)


def quantile(
    input: Any,
    q: Any,
    dim: Any = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
    out: Any = None,
) -> Any:
    """The q-quantile: between the two nearest elements by `interpolation`. NaN if there is one."""
    if out is not None:
        return into(out, quantile, (input, q, dim, keepdim), {"interpolation": interpolation})
    return _quantile(input, q, dim, keepdim, interpolation, ignore_nan=False)


def nanquantile(
    input: Any,
    q: Any,
    dim: Any = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
    out: Any = None,
) -> Any:
    """The q-quantile of the elements that are not NaN."""
    if out is not None:
        return into(out, nanquantile, (input, q, dim, keepdim), {"interpolation": interpolation})
    return _quantile(input, q, dim, keepdim, interpolation, ignore_nan=True)


def _quantile(
    input: Any, q: Any, dim: Any, keepdim: bool, interpolation: str, ignore_nan: bool
) -> Any:
    input = tensor_of(input)
    where = as_array(array_of(q), input.dtype)
    if known(where) and ((where < 0) | (where > 1)).any():
        raise RuntimeError("quantile() q values must be in the range [0, 1]")
    shape = input.shape
    rows = input.reshape(-1) if dim is None else movedim(input, one_dim(dim, input.ndim), -1)
    ordered = sort(rows, -1)[0]
    n = ordered.shape[-1]
    nans = np.isnan(ordered._array).sum(-1, keepdims=True)
    last = n - 1 - nans if ignore_nan else np.where(nans > 0, 0, n - 1)
    rank = np.atleast_1d(where) * np.maximum(last, 0)
    low, high = np.floor(rank).astype(np.int64), np.ceil(rank).astype(np.int64)
    if not ignore_nan:
        low, high = (np.where(nans > 0, n - 1, i) for i in (low, high))
    rank = np.where(low == high, low, rank)
    if interpolation == "lower":
        picked = _pick(ordered, low, -1)
    elif interpolation == "higher":
        picked = _pick(ordered, high, -1)
    elif interpolation == "nearest":
        picked = _pick(ordered, np.rint(rank).astype(np.int64), -1)
    elif interpolation in ("linear", "midpoint"):
        weight = as_array(
            rank - low if interpolation == "linear" else (low != high) * 0.5, input.dtype
        )
        below, above = _pick(ordered, low, -1), _pick(ordered, high, -1)
        picked = below + (above - below) * wrap(weight)
    else:
        raise RuntimeError(
            "quantile() interpolation must be one of linear, lower, higher, midpoint or "
            f"nearest, but got {interpolation}"
        )
    # The quantiles come last so far, and are to come first.
    if keepdim:
        picked = (
            picked.unsqueeze(-2)
            if dim is None
            else movedim(picked.unsqueeze(-2), -2, one_dim(dim, len(shape)))
        )
        if dim is None:
            picked = picked.reshape((1,) * len(shape) + (where.size,))
    picked = movedim(picked, -1, 0)
    return picked if where.ndim else picked.squeeze(0)


# ---- counts --------------------------------------------------------------------------------


def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Tensor:
    """How often each number 0, 1, 2, ... occurs, or the sums of the weights of its places."""
    counts = np.bincount(array_of(tensor_of(input)), array_of(weights), minlength)
    if weights is not None and weights.dtype == dtypes.float32:
        counts = counts.astype(np.float32)
    return plain_result(counts)


@takes_out
def histc(input: Any, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """Counts of the elements in `bins` equal intervals from `min` to `max`."""
    input = tensor_of(input)
    x = input._array.ravel()
    low, high = (x.min(), x.max()) if min == max == 0 and x.size else (min, max)
    if low == high:
        low, high = low - 1, high + 1
    return plain_result(np.histogram(x, bins, (low, high))[0].astype(input.dtype))


def histogram(
    input: Any, bins: Any, *, range: Any = None, weight: Any = None, density: bool = False
) -> Any:
    """Counts in intervals, and the bounds of the intervals."""
    input = tensor_of(input)
    hist, edges = np.histogram(input._array, array_of(bins), range, density, array_of(weight))
    return results.histogram_result(
        plain_result(hist.astype(input.dtype)), plain_result(edges.astype(input.dtype))
    )


# ---- sets ----------------------------------------------------------------------------------


def unique(
    input: Any,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: Any = None,
) -> Any:
    """The different elements (or slices along `dim`) in order; where each went; how often each
    is.
    """
    input = tensor_of(input)
    if dim is None:
        _, first, inverse, counts = np.unique(
            input._array.ravel(), return_index=True, return_inverse=True, return_counts=True
        )
        values, inverse = input.reshape(-1)[plain_result(first)], inverse.reshape(input.shape)
    else:
        axis = one_dim(dim, input.ndim)
        _, first, inverse, counts = np.unique(
            input._array, return_index=True, return_inverse=True, return_counts=True, axis=axis
        )
        values, inverse = index_select(input, axis, plain_result(first)), inverse.ravel()
    return _with_counts(values, inverse, counts, return_inverse, return_counts)


def unique_consecutive(
    input: Any, return_inverse: bool = False, return_counts: bool = False, dim: Any = None
) -> Any:
    """As `unique`, but only neighbours that are equal become one."""
    input = tensor_of(input)
    axis = 0 if dim is None else one_dim(dim, input.ndim)
    rows = input.reshape(-1) if dim is None else input
    x = np.moveaxis(rows._array, axis, 0).reshape(rows.shape[axis], -1)
    starts = np.ones(len(x), bool)
    starts[1:] = (x[1:] != x[:-1]).any(1)
    first = np.flatnonzero(starts)
    inverse = np.cumsum(starts) - 1
    counts = np.diff(np.append(first, len(x)))
    values = index_select(rows, axis, plain_result(first))
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
    found = [values]
    if return_inverse:
        found.append(plain_result(inverse))
    if return_counts:
        found.append(plain_result(counts))
    return tuple(found) if len(found) > 1 else values


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
    sequence, values = array_of(tensor_of(sorted_sequence)), as_array(array_of(input))
    if sorter is not None:
        sequence = np.take_along_axis(sequence, array_of(sorter), -1)
    place: Any = side or ("right" if right else "left")
    if sequence.ndim == 1:
        found = np.searchsorted(sequence, values, place)
    elif not (known(sequence) and known(values)):
        rows, sought = sequence[..., None, :], values[..., None]
        before = rows < sought if place == "left" else rows <= sought
        last = (sought != sought) & (True if place == "right" else rows == rows)
        found = (before | last).sum(-1)
    else:
        rows = zip(
            sequence.reshape(-1, sequence.shape[-1]),
            values.reshape(-1, values.shape[-1]),
            strict=True,
        )
        found = np.reshape([np.searchsorted(s, v, place) for s, v in rows], values.shape)
    return plain_result(as_array(found, np.int32 if out_int32 else np.int64))


@takes_out
def bucketize(
    input: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False
) -> Tensor:
    """The number of the interval between boundaries in which each element lies."""
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)
