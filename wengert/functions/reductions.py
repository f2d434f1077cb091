"""Reductions, running reductions, statistics and sorting under PyTorch's names.

Indices are found outside the graph; the values they pick are then gathered inside it, so that
`max(dim)`, `sort`, `topk` and their kin need no rule of their own.
"""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.autograd.record import cast, lazy
from wengert.functions import results
from wengert.functions.arguments import (
    Dim,
    array_of,
    into,
    numpy_names,
    one_dim,
    plain_result,
    some_dims,
    takes_out,
    tensor_of,
)
from wengert.rules import reductions as rules
from wengert.rules.reductions import count
from wengert.tensor import Tensor, wrap

_sum, _mean, _prod = lazy(np.sum), lazy(np.mean), lazy(np.prod)
_amax, _amin = lazy(np.max), lazy(np.min)
_cumsum = lazy(np.cumsum)
_logsumexp = lazy(rules.logsumexp)
_pick = lazy(np.take_along_axis)

# ---- sums ----------------------------------------------------------------------------------


def sum(input: Any, dim: Dim = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None, **names: Any) -> Tensor:  # noqa: A001
    """The sum over all elements, or over some dimensions. Integers and truth values sum to int64.

    >>> import wengert as wg
    >>> wg.sum(wg.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=0)
    tensor([4., 6.])
    """
    if out is not None:
        return into(out, sum, (input, dim, keepdim), {"dtype": dtype, **names})  # type: ignore[no-any-return]
    if names:
        dim, keepdim = numpy_names(dim, keepdim, names, "sum")
    if not isinstance(input, Tensor):
        input = tensor_of(input)
    if dtype is not None:
        input = cast(input, np.dtype(dtype))
    elif input._array.dtype.kind in "biu":
        input = cast(input, dtypes.int64)
    return _sum(input, dim if dim is None else some_dims(dim, input.ndim), keepdim)  # type: ignore[no-any-return]


def mean(input: Any, dim: Dim = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None, **names: Any) -> Tensor:
    """The arithmetic mean over all elements, or over some dimensions; floating point only."""
    if out is not None:
        return into(out, mean, (input, dim, keepdim), {"dtype": dtype, **names})  # type: ignore[no-any-return]
    if names:
        dim, keepdim = numpy_names(dim, keepdim, names, "mean")
    if not isinstance(input, Tensor):
        input = tensor_of(input)
    if dtype is not None:
        input = cast(input, np.dtype(dtype))
    if input._array.dtype.kind in "biu":
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or "
            f"complex dtype. Got: {input.dtype}. Use x.float().mean()."
        )
    if not input._array.size:
        return sum(input, dim, keepdim) * math.nan
    return _mean(input, dim if dim is None else some_dims(dim, input.ndim), keepdim)  # type: ignore[no-any-return]


@takes_out
def prod(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The product over all elements, or along one dimension."""
    input = tensor_of(input)
    if dtype is not None:
        input = cast(input, np.dtype(dtype))
    elif input.dtype.kind in "biu":
        input = cast(input, dtypes.int64)
    if not input.ndim:
        return input.clone()
    return _prod(input, some_dims(dim, input.ndim), keepdim)  # type: ignore[no-any-return]


@takes_out
def nansum(input: Any, dim: Dim = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum of the elements that are not NaN."""
    return sum(_without_nan(tensor_of(input)), dim, keepdim, dtype=dtype)


@takes_out
def nanmean(input: Any, dim: Dim = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean of the elements that are not NaN."""
    input = tensor_of(input)
    n = plain_result(~np.isnan(input._array))
    return nansum(input, dim, keepdim, dtype=dtype) / sum(n, dim, keepdim)


def _without_nan(input: Tensor) -> Tensor:
    from wengert.functions.indexing import masked_fill

    return masked_fill(input, plain_result(np.isnan(input._array)), 0)


@takes_out
def logsumexp(input: Any, dim: Dim, keepdim: bool = False) -> Tensor:
    """log(sum(exp(x))) over some dimensions, without overflow."""
    input = tensor_of(input)
    if not dtypes.is_inexact(input.dtype):
        input = cast(input, dtypes.get_default_dtype())
    axis = some_dims(dim, input.ndim)
    if axis is None:
        axis = tuple(range(input.ndim))
    if not input._array.size:
        return sum(input, dim, keepdim).log()
    return _logsumexp(input, axis, keepdim)  # type: ignore[no-any-return]


# ---- spread --------------------------------------------------------------------------------


def _correction(correction: Any, unbiased: Any) -> Any:
    if isinstance(correction, bool):
        return int(correction)
    if unbiased is not None:
        return int(bool(unbiased))
    return 1 if correction is None else correction


def _swap_unbiased(dim: Any, unbiased: Any) -> tuple[Any, Any]:
    """`var(False)` means unbiased=False, for all dimensions."""
    return (None, dim) if isinstance(dim, bool) else (dim, unbiased)


@takes_out
def var(input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None) -> Tensor:
    """The variance: squared distances from the mean, summed, over n - correction (1)."""
    return var_mean(input, dim, unbiased, keepdim, correction=correction)[0]


@takes_out
def std(input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None) -> Tensor:
    """The standard deviation, the square root of `var`; where it is 0 so is its gradient."""
    return std_mean(input, dim, unbiased, keepdim, correction=correction)[0]


def var_mean(input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None) -> tuple[Tensor, Tensor]:
    """The variance and the mean."""
    input = tensor_of(input)
    if not dtypes.is_inexact(input.dtype):
        raise RuntimeError(f"std and var only support floating point and complex dtypes, got {input.dtype}. Use x.float().")
    dim, unbiased = _swap_unbiased(dim, unbiased)
    axis = some_dims(dim, input.ndim)
    center = _mean(input, axis, True) if input._array.size else sum(input, axis, True) * math.nan
    away = input - center
    square = (away * away.conj()).real if input.dtype.kind == "c" else away * away
    n = (count(input._array.shape, axis) if input.ndim else 1) - _correction(correction, unbiased)
    total = _sum(square, axis, keepdim)
    result = total / builtins.max(n, 0) if n > 0 else total * math.nan if count(input._array.shape, axis) <= 1 else total / 0.0
    return result, center if keepdim else _squeezed(center, axis)


def _squeezed(x: Tensor, axis: Any) -> Tensor:
    return x.reshape(()) if axis is None else x.squeeze(axis)


def std_mean(input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None) -> tuple[Tensor, Tensor]:
    """The standard deviation and the mean."""
    variance, center = var_mean(input, dim, unbiased, keepdim, correction=correction)
    return root(variance), center


def root(square: Tensor) -> Tensor:
    """The square root with subgradient 0 at 0."""
    zero = plain_result(square._array == 0)
    if not np.any(zero._array):
        return square.sqrt()
    one = wrap(np.ones((), square.dtype))
    safe = one.where(zero, square).sqrt()
    return (0 * square).where(zero, safe)


@takes_out
def norm(input: Any, p: Any = "fro", dim: Dim = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """The p-norm of the elements, over all or some dimensions; "fro" is the Euclidean one, "nuc"
    the sum of a matrix's singular values. At 0 the gradient is 0."""
    input = tensor_of(input)
    if dtype is not None:
        input = cast(input, np.dtype(dtype))
    if p == "nuc":
        return input.__class__.__dict__["svd"](input)[1].sum(-1)  # type: ignore[no-any-return]
    return vector_norm(input, 2 if p in ("fro", None) else p, dim, keepdim)


def vector_norm(input: Tensor, p: Any, dim: Dim = None, keepdim: bool = False) -> Tensor:
    """(sum |x|^p)^(1/p); the largest |x| for inf, the smallest for -inf, the count of nonzeros for 0."""
    if not dtypes.is_inexact(input.dtype):
        raise RuntimeError(f"norm() needs a floating point or complex tensor, got {input.dtype}. Use x.float().")
    axis = some_dims(dim, input.ndim)
    if p == 2:
        square = (input * input.conj()).real if input.dtype.kind == "c" else input * input
        return root(_sum(square, axis, keepdim))
    size = input.abs()
    if p == math.inf:
        return _amax(size, axis, keepdim)  # type: ignore[no-any-return]
    if p == -math.inf:
        return _amin(size, axis, keepdim)  # type: ignore[no-any-return]
    if p == 0:
        return _sum(cast(size != 0, size.dtype), axis, keepdim)  # type: ignore[no-any-return]
    if p == 1:
        return _sum(size, axis, keepdim)  # type: ignore[no-any-return]
    total = _sum(size**p, axis, keepdim)
    zero = plain_result(total._array == 0)
    if not np.any(zero._array):
        return total ** (1 / p)
    safe = wrap(np.ones((), total.dtype)).where(zero, total) ** (1 / p)
    return (0 * total).where(zero, safe)


@takes_out
def dist(input: Any, other: Any, p: float = 2) -> Tensor:
    """The p-norm of the difference of two tensors."""
    return vector_norm(input - other, p)


# ---- extrema -------------------------------------------------------------------------------


def _extremum(full: Any, of_two: str, find: Any, result: Any) -> Any:
    def extreme(input: Any, dim: Any = None, keepdim: bool = False, *, out: Any = None, other: Any = None, **names: Any) -> Any:
        if out is not None:
            return into(out, extreme, (input, dim, keepdim), {"other": other, **names})
        if names:
            dim, keepdim = numpy_names(dim, keepdim, names, extreme.__name__)
        input = tensor_of(input)
        if other is None and isinstance(dim, (Tensor, np.ndarray)):
            other = dim
        if other is not None:
            from wengert.functions import math as elementwise

            return getattr(elementwise, of_two)(input, other)
        if dim is None:
            _refuse_empty(input, extreme.__name__)
            return full(input, None, False)
        indices = _found(find, input, dim, extreme.__name__)
        return _picked(result, input, indices, dim, keepdim)

    return extreme


def _refuse_empty(input: Tensor, name: str) -> None:
    if not input._array.size:
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. "
            "An empty tensor has no extremum; give dim= of a dimension that is not empty."
        )


def _found(find: Any, input: Tensor, dim: Any, name: str) -> Any:
    axis = one_dim(dim, input.ndim)
    if not input.ndim:
        return np.zeros((), np.int64)
    if input._array.shape[axis] == 0:
        raise IndexError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")
    return find(input._array, axis=axis, keepdims=True)


def _picked(result: Any, input: Tensor, indices: Any, dim: Any, keepdim: bool) -> Any:
    """The named pair (values, indices); `indices` keep the dimension."""
    if not input.ndim:
        return result(input.clone(), plain_result(indices))
    axis = one_dim(dim, input.ndim)
    values = _pick(input, indices, axis)
    if keepdim:
        return result(values, plain_result(indices))
    return result(values.squeeze(axis), plain_result(np.squeeze(indices, axis)))


max = _extremum(_amax, "maximum", np.argmax, results.max_result)  # noqa: A001
max.__name__ = "max"
max.__doc__ = """The largest element; with `dim` the largest along it and where; of two tensors the larger.

    Equal extrema of a full reduction share its gradient; with `dim` the first one gets it all.

    >>> import wengert as wg
    >>> values, indices = wg.max(wg.tensor([[1.0, 5.0], [7.0, 2.0]]), dim=1)
    >>> values, indices
    (tensor([5., 7.]), tensor([1, 0]))
    """
min = _extremum(_amin, "minimum", np.argmin, results.min_result)  # noqa: A001
min.__name__ = "min"
min.__doc__ = "The smallest element; with `dim` the smallest along it and where; of two tensors the smaller."


def _all_dims_extremum(full: Any, name: str, doc: str) -> Any:
    def extreme(input: Any, dim: Dim = None, keepdim: bool = False, *, out: Any = None, **names: Any) -> Tensor:
        if out is not None:
            return into(out, extreme, (input, dim, keepdim), names)  # type: ignore[no-any-return]
        dim, keepdim = numpy_names(dim, keepdim, names, name)
        input = tensor_of(input)
        axis = some_dims(dim, input.ndim)
        if not input._array.size and (axis is None or 0 in [input.shape[a] for a in np.atleast_1d(axis)]):
            raise IndexError(f"{name}(): Expected reduction dim to have non-zero size.")
        return full(input, axis, keepdim)  # type: ignore[no-any-return]

    extreme.__name__ = extreme.__qualname__ = name
    extreme.__doc__ = doc
    return extreme


amax = _all_dims_extremum(_amax, "amax", "The largest elements over some dimensions; ties share the gradient.")
amin = _all_dims_extremum(_amin, "amin", "The smallest elements over some dimensions; ties share the gradient.")


@takes_out
def aminmax(input: Any, *, dim: Any = None, keepdim: bool = False) -> Any:
    """The smallest and the largest elements, as a pair with names."""
    return results.aminmax_result(amin(input, dim, keepdim), amax(input, dim, keepdim))


def _arg(find: Any, name: str, doc: str) -> Any:
    def arg(input: Any, dim: Any = None, keepdim: bool = False, *, out: Any = None, **names: Any) -> Tensor:
        if out is not None:
            return into(out, arg, (input, dim, keepdim), names)  # type: ignore[no-any-return]
        dim, keepdim = numpy_names(dim, keepdim, names, name)
        input = tensor_of(input)
        if dim is None:
            _refuse_empty(input, name)
            found = find(input._array)
            return plain_result(np.reshape(found, (1,) * input.ndim) if keepdim else found)
        indices = _found(find, input, dim, name)
        if not keepdim and input.ndim:
            indices = np.squeeze(indices, one_dim(dim, input.ndim))
        return plain_result(indices)

    arg.__name__ = arg.__qualname__ = name
    arg.__doc__ = doc
    return arg


argmax = _arg(np.argmax, "argmax", "The index of the largest element: of the flattened tensor, or along `dim`.")
argmin = _arg(np.argmin, "argmin", "The index of the smallest element: of the flattened tensor, or along `dim`.")


def count_nonzero(input: Any, dim: Dim = None) -> Tensor:
    """How many elements are not zero."""
    input = tensor_of(input)
    return plain_result(np.asarray(np.count_nonzero(input._array, axis=some_dims(dim, input.ndim)), np.int64))


# ---- running reductions --------------------------------------------------------------------


@takes_out
def cumsum(input: Any, dim: int, *, dtype: Any = None) -> Tensor:
    """Running sums along `dim`."""
    input, axis = _running(input, dim, dtype)
    return _cumsum(input, axis) if input.ndim else input.clone()  # type: ignore[no-any-return]


def _running(input: Any, dim: int, dtype: Any) -> tuple[Tensor, int]:
    input = tensor_of(input)
    if dtype is not None:
        input = cast(input, np.dtype(dtype))
    elif input.dtype.kind in "biu":
        input = cast(input, dtypes.int64)
    return input, one_dim(dim, input.ndim)


@takes_out
def cumprod(input: Any, dim: int, *, dtype: Any = None) -> Tensor:
    """Running products along `dim`."""
    input, axis = _running(input, dim, dtype)
    if not input.ndim or not input._array.size:
        return input.clone()
    if not input.requires_grad:
        return plain_result(np.cumprod(input._array, axis))
    from wengert.functions.shapes import stack, unbind

    products: list[Tensor] = []
    for part in unbind(input, axis):
        products.append(products[-1] * part if products else part)
    return stack(products, axis)


@takes_out
def logcumsumexp(input: Any, dim: int) -> Tensor:
    """log of the running sums of exp(x) along `dim`, without overflow."""
    input = tensor_of(input)
    axis = one_dim(dim, input.ndim)
    if not input.ndim or not input._array.size:
        return input.clone()
    from wengert.functions.math import logaddexp
    from wengert.functions.shapes import stack, unbind

    sums: list[Tensor] = []
    for part in unbind(input, axis):
        sums.append(logaddexp(sums[-1], part) if sums else part)
    return stack(sums, axis)


def _running_extremum(better: Any, result: Any, name: str, doc: str) -> Any:
    @takes_out
    def running(input: Any, dim: int) -> Any:
        input = tensor_of(input)
        axis = one_dim(dim, input.ndim)
        if not input.ndim:
            return result(input.clone(), plain_result(np.zeros((), np.int64)))
        if not input._array.size:
            return result(input.clone(), plain_result(np.zeros(input.shape, np.int64)))
        x = np.moveaxis(input._array, axis, 0)
        indices = np.zeros(x.shape, np.int64)
        best = x[0]
        for i in range(1, len(x)):
            wins = better(x[i], best) | np.isnan(x[i])
            indices[i] = np.where(wins, i, indices[i - 1])
            best = np.where(wins, x[i], best)
        indices = np.moveaxis(indices, 0, axis)
        return result(_pick(input, indices, axis), plain_result(indices))

    running.__name__ = running.__qualname__ = name
    running.__doc__ = doc
    return running


cummax = _running_extremum(np.greater_equal, results.cummax_result, "cummax", "The largest so far along `dim`, and where it was met.")
cummin = _running_extremum(np.less_equal, results.cummin_result, "cummin", "The smallest so far along `dim`, and where it was met.")


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
    return plain_result(_order(input._array, axis, descending) if input.ndim else np.zeros((), np.int64))


@takes_out
def msort(input: Any) -> Tensor:
    """Sorted along the first dimension."""
    return sort(input, 0)[0]  # type: ignore[no-any-return]


@takes_out
def topk(input: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:  # noqa: A002
    """The k largest (or smallest) elements along `dim`, and where they are."""
    input = tensor_of(input)
    axis = one_dim(dim, input.ndim)
    n = input.shape[axis] if input.ndim else 1
    if not 0 <= k <= n:
        raise RuntimeError(f"selected index k out of range: k={k}, but dimension {axis} has size {n}")
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
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {axis}: k={k}, size {n}")
    order = np.take(_order(input._array, axis, False), [k - 1], axis) if input.ndim else np.zeros((), np.int64)
    return _picked(results.kthvalue_result, input, order, dim, keepdim)


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
            return plain_result(np.asarray(middle))
        # Equal elements share the gradient evenly, as those of a maximum do.
        return _amax(flat[plain_result(hit)], None, False)
    axis = one_dim(dim, input.ndim)
    if not input.ndim:
        return _picked(result, input, np.zeros((), np.int64), dim, keepdim)
    if not input.shape[axis]:
        raise IndexError(f"median(): Expected reduction dim {axis} to have non-zero size.")
    return _picked(result, input, _middle(input._array, axis, ignore_nan), dim, keepdim)


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
        return _picked(results.mode_result, input, np.zeros((), np.int64), dim, keepdim)

    def last_of_most_frequent(row: Any) -> Any:
        values, counts = np.unique(row, return_counts=True)
        return np.flatnonzero(row == values[np.argmax(counts)])[-1]

    found = np.apply_along_axis(last_of_most_frequent, axis, input._array)
    return _picked(results.mode_result, input, np.expand_dims(found, axis), dim, keepdim)


def quantile(input: Any, q: Any, dim: Any = None, keepdim: bool = False, *, interpolation: str = "linear", out: Any = None) -> Any:
    """The q-quantile: between the two nearest elements by `interpolation`. NaN if there is one."""
    if out is not None:
        return into(out, quantile, (input, q, dim, keepdim), {"interpolation": interpolation})
    return _quantile(input, q, dim, keepdim, interpolation, ignore_nan=False)


def nanquantile(input: Any, q: Any, dim: Any = None, keepdim: bool = False, *, interpolation: str = "linear", out: Any = None) -> Any:
    """The q-quantile of the elements that are not NaN."""
    if out is not None:
        return into(out, nanquantile, (input, q, dim, keepdim), {"interpolation": interpolation})
    return _quantile(input, q, dim, keepdim, interpolation, ignore_nan=True)


def _quantile(input: Any, q: Any, dim: Any, keepdim: bool, interpolation: str, ignore_nan: bool) -> Any:
    from wengert.functions.shapes import movedim

    input = tensor_of(input)
    where = np.asarray(array_of(q), input.dtype)
    if ((where < 0) | (where > 1)).any():
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
        weight = np.asarray(rank - low if interpolation == "linear" else (low != high) * 0.5, input.dtype)
        below, above = _pick(ordered, low, -1), _pick(ordered, high, -1)
        picked = below + (above - below) * wrap(weight)
    else:
        raise RuntimeError(f"quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}")
    # The quantiles come last so far, and are to come first.
    if keepdim:
        picked = picked.unsqueeze(-2) if dim is None else movedim(picked.unsqueeze(-2), -2, one_dim(dim, len(shape)))
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
def histc(input: Any, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:  # noqa: A002
    """Counts of the elements in `bins` equal intervals from `min` to `max`."""
    input = tensor_of(input)
    x = input._array.ravel()
    low, high = (x.min(), x.max()) if min == max == 0 and x.size else (min, max)
    if low == high:
        low, high = low - 1, high + 1
    return plain_result(np.histogram(x, bins, (low, high))[0].astype(input.dtype))


def histogram(input: Any, bins: Any, *, range: Any = None, weight: Any = None, density: bool = False) -> Any:  # noqa: A002
    """Counts in intervals, and the bounds of the intervals."""
    input = tensor_of(input)
    hist, edges = np.histogram(input._array, array_of(bins), range, density, array_of(weight))
    return results.histogram_result(plain_result(hist.astype(input.dtype)), plain_result(edges.astype(input.dtype)))


# ---- sets ----------------------------------------------------------------------------------


def unique(input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: Any = None) -> Any:  # noqa: A002
    """The different elements (or slices along `dim`) in order; where each went; how often each is."""
    from wengert.functions.indexing import index_select

    input = tensor_of(input)
    if dim is None:
        _, first, inverse, counts = np.unique(input._array.ravel(), return_index=True, return_inverse=True, return_counts=True)
        values, inverse = input.reshape(-1)[plain_result(first)], inverse.reshape(input.shape)
    else:
        axis = one_dim(dim, input.ndim)
        _, first, inverse, counts = np.unique(input._array, return_index=True, return_inverse=True, return_counts=True, axis=axis)
        values, inverse = index_select(input, axis, plain_result(first)), inverse.ravel()
    return _with_counts(values, inverse, counts, return_inverse, return_counts)


def unique_consecutive(input: Any, return_inverse: bool = False, return_counts: bool = False, dim: Any = None) -> Any:
    """As `unique`, but only neighbours that are equal become one."""
    from wengert.functions.indexing import index_select

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
    return _with_counts(values, inverse.reshape(input.shape) if dim is None else inverse, counts, return_inverse, return_counts)


def _with_counts(values: Tensor, inverse: Any, counts: Any, return_inverse: bool, return_counts: bool) -> Any:
    found = [values]
    if return_inverse:
        found.append(plain_result(inverse))
    if return_counts:
        found.append(plain_result(counts))
    return tuple(found) if len(found) > 1 else values


@takes_out
def searchsorted(sorted_sequence: Any, input: Any, *, out_int32: bool = False, right: bool = False, side: str | None = None, sorter: Any = None) -> Tensor:
    """Where each element would be inserted to keep the (last dimension of the) sequence sorted."""
    sequence, values = array_of(tensor_of(sorted_sequence)), np.asarray(array_of(input))
    if sorter is not None:
        sequence = np.take_along_axis(sequence, array_of(sorter), -1)
    side = side or ("right" if right else "left")
    if sequence.ndim == 1:
        found = np.searchsorted(sequence, values, side)
    else:
        rows = zip(sequence.reshape(-1, sequence.shape[-1]), values.reshape(-1, values.shape[-1]), strict=True)
        found = np.reshape([np.searchsorted(s, v, side) for s, v in rows], values.shape)
    return plain_result(np.asarray(found, np.int32 if out_int32 else np.int64))


@takes_out
def bucketize(input: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """The number of the interval between boundaries in which each element lies."""
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


# ---- differences and products of statistics ------------------------------------------------


@takes_out
def diff(input: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """Differences of neighbours along `dim`, n times over."""
    from wengert.functions.shapes import cat, narrow

    parts = [x for x in (prepend, tensor_of(input), append) if x is not None]
    x = cat(parts, dim) if len(parts) > 1 else parts[0]
    for _ in range(n):
        size = x.shape[dim]
        if not size:
            break
        upper, lower = narrow(x, dim, 1, size - 1), narrow(x, dim, 0, size - 1)
        x = upper ^ lower if x.dtype == dtypes.bool else upper - lower
    return x  # type: ignore[no-any-return]


def trapezoid(y: Any, x: Any = None, *, dx: Any = 1, dim: int = -1) -> Tensor:
    """The integral of sampled values by the trapezoidal rule."""
    from wengert.functions.shapes import narrow

    n = y.shape[dim] - 1
    pairs = narrow(y, dim, 1, n) + narrow(y, dim, 0, n)
    if x is None:
        return sum(pairs, dim) * (dx / 2)
    width = diff(x, dim=-1 if x.ndim == 1 else dim)
    if x.ndim == 1 and dim not in (-1, y.ndim - 1):
        width = width.reshape(-1, *[1] * (y.ndim - 1 - one_dim(dim, y.ndim)))
    return sum(pairs * width, dim) / 2


trapz = trapezoid


def cov(input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Tensor:
    """The covariance matrix of variables in rows and observations in columns."""
    x = tensor_of(input)
    x = x.reshape(1, -1) if x.ndim < 2 else x
    weights = None
    for given in (fweights, aweights):
        if given is not None:
            weights = given if weights is None else weights * given
    if weights is None:
        center, n = mean(x, 1, True), x.shape[1]
        away = x - center
        product = away @ away.conj().mT
        degrees: Any = n - correction
    else:
        total = weights.sum()
        away = x - (x * weights).sum(1, True) / total
        product = (away * weights) @ away.conj().mT
        degrees = total - correction * ((weights * aweights).sum() / total if aweights is not None else 1)
    result = product / degrees
    return result.reshape(()) if tensor_of(input).ndim < 2 else result  # type: ignore[no-any-return]


def corrcoef(input: Any) -> Tensor:
    """The matrix of correlation coefficients of variables in rows."""
    c = cov(input)
    if c.ndim == 0:
        return c / c
    spread = c.diagonal().real.sqrt() if c.dtype.kind == "c" else c.diagonal().sqrt()
    return c / spread.unsqueeze(1) / spread.unsqueeze(0)  # type: ignore[no-any-return]
