"""Reductions, running reductions and statistics under PyTorch's names.

Indices are found outside the graph; the values they pick are then gathered inside it, so that
`max(dim)`, and in `sorting.py` `sort`, `topk` and their kin, need no rule of their own.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.autograd.misfits import told
from wengert.autograd.operands import cast, no_order
from wengert.autograd.out import in_dtype_of_out
from wengert.autograd.record import recorder, usually
from wengert.autograd.settings import refuses
from wengert.dispatch import all_true, as_array, called, known, quietly, taking
from wengert.functions import elementary, results
from wengert.functions.arguments import (
    Dim,
    constant,
    into,
    numpy_names,
    of_tensors,
    one_dim,
    operands_of,
    ordered,
    some_dims,
    takes_names,
    takes_out,
    tensor_of,
    unchecked,
)
from wengert.functions.indexing import masked_fill
from wengert.rules import indexing as indexing_rules
from wengert.rules import reductions as rules
from wengert.rules.blocks import EXACT
from wengert.rules.loops import ADDED
from wengert.rules.quick import SUMMED, average, total
from wengert.rules.reductions import count, running_places
from wengert.tensor import Tensor, wrap

_sum, _mean, _prod = recorder(np.sum), recorder(np.mean), recorder(np.prod)
_amax, _amin, _where = recorder(np.max), recorder(np.min), recorder(np.where)
_cumsum, _cumprod = recorder(np.cumsum), recorder(np.cumprod)
_logcumsumexp = recorder(rules.logcumsumexp)
_logsumexp = recorder(rules.logsumexp)
_pick, _pick_along = recorder(indexing_rules.pick), recorder(np.take_along_axis)
_variance, _length = recorder(rules.variance), recorder(rules.length)

# ---- sums ----------------------------------------------------------------------------------


def _reduces_one_or_all(input: Any, dim: Any, dtype: Any, out: Any, names: Any) -> bool:
    return (
        dtype is out is None
        and not names
        and (
            dim is None
            or (type(dim) is int and 0 <= dim + (dim < 0) * input._array.ndim < input._array.ndim)
            or (type(dim) is tuple and dim == tuple(range(input._array.ndim)))
        )
    )


def _with_axis(input: Any, dim: Any, keepdim: bool) -> tuple[Any, int | None, bool]:
    return input, dim % input._array.ndim if type(dim) is int else None, keepdim


def _accumulated(input: Any, dtype: Any) -> Tensor:
    """What is summed or multiplied: in a given dtype; integers and truth values as int64."""
    if not isinstance(input, Tensor):
        input = tensor_of(input)
    if dtype is not None:
        return cast(input, dtypes.stated(dtype))
    return cast(input, dtypes.int64) if input._array.dtype.kind in "biu" else input


@usually(
    np.sum,
    when=[_reduces_one_or_all, lambda input: input._array.dtype in SUMMED],
    given=_with_axis,
    quick=lambda a, axis, keepdims: total(a, axis, keepdims),
)
@in_dtype_of_out
def sum(
    input: Any,
    dim: Dim = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Any = None,
    **names: Any,
) -> Tensor:
    """The sum over all elements, or over some dimensions. Integers and truth values sum to int64.

    >>> import wengert as wg
    >>> wg.sum(wg.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=0)
    tensor([4., 6.])
    """
    if out is not None:
        return into(out, sum, (input, dim, keepdim), {"dtype": dtype, **names})
    if names:
        dim, keepdim = numpy_names(dim, keepdim, names, "sum")
    input = _accumulated(input, dtype)
    return _sum(input, dim if dim is None else some_dims(dim, input._array.ndim), keepdim)


@usually(
    np.mean,
    when=[_reduces_one_or_all, lambda input: input._array.dtype in ADDED and input._array.size],
    given=_with_axis,
    quick=lambda a, axis, keepdims: average(a, axis, keepdims),
)
def mean(
    input: Any,
    dim: Dim = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Any = None,
    **names: Any,
) -> Tensor:
    """The arithmetic mean over all elements, or over some dimensions; floating point only."""
    if out is not None:
        return into(out, mean, (input, dim, keepdim), {"dtype": dtype, **names})
    if names:
        dim, keepdim = numpy_names(dim, keepdim, names, "mean")
    if not isinstance(input, Tensor):
        input = tensor_of(input)
    if dtype is not None:
        input = cast(input, dtypes.stated(dtype))
    if input._array.dtype.kind in "biu":
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or "
            f"complex dtype. Got: {input.dtype}. Use x.float().mean()."
        )
    if not input._array.size:
        return sum(input, dim, keepdim) * math.nan
    return _mean(input, dim if dim is None else some_dims(dim, input._array.ndim), keepdim)


@takes_out
@in_dtype_of_out
def prod(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The product over all elements, or along one dimension."""
    input = _accumulated(input, dtype)
    axis = some_dims(dim, input._array.ndim)
    if not input._array.ndim:
        return input.clone()
    if input.dtype == dtypes.bool:
        return constant(np.all(input._array, axis=axis, keepdims=keepdim))
    return _prod(input, axis, keepdim)


@of_tensors(1, takes_out=True)
@in_dtype_of_out
@refuses(input="c")
def nansum(input: Any, dim: Dim = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum of the elements that are not NaN."""
    if known(input._array) and input._array.dtype in EXACT:
        total = _sum_quietly(input, dim, keepdim, dtype=dtype)
        array = total._array
        if all_true(array == array) if array.ndim else not math.isnan(array):
            return total
    return sum(_without_nan(input), dim, keepdim, dtype=dtype)


_sum_quietly = quietly(sum)  # inf - inf, of which the sum tells


@of_tensors(1, takes_out=True)
@refuses(input="biuc")
def nanmean(input: Any, dim: Dim = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean of the elements that are not NaN."""
    n = constant(~np.isnan(input._array))
    return nansum(input, dim, keepdim, dtype=dtype) / sum(n, dim, keepdim)


def _without_nan(input: Tensor) -> Tensor:
    return masked_fill(input, constant(np.isnan(input._array)), 0)


@of_tensors(1, takes_out=True)
def logsumexp(input: Any, dim: Dim, keepdim: bool = False) -> Tensor:
    """log(sum(exp(x))) over some dimensions, without overflow."""
    if not dtypes.is_inexact(input.dtype):
        input = cast(input, dtypes.get_default_dtype())
    axis = some_dims(dim, input._array.ndim)
    if axis is None:
        axis = tuple(range(input.ndim))
    if not input._array.size:
        return sum(input, dim, keepdim).log()
    return _logsumexp(input, axis, keepdim)


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


@of_tensors(1, takes_out=True)
def var(
    input: Any,
    dim: Any = None,
    unbiased: Any = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Tensor:
    """The variance: squared distances from the mean, summed, over n - correction (1)."""
    if not dtypes.is_inexact(input._array.dtype):
        raise RuntimeError(
            f"std and var only support floating point and complex dtypes, got {input.dtype}. Use "
            "x.float()."
        )
    dim, unbiased = _swap_unbiased(dim, unbiased)
    axis = some_dims(dim, input._array.ndim)
    less = _correction(correction, unbiased)
    n = count(input._array.shape, axis)
    if n > less and n > 0:
        return _variance(input, axis, less, keepdim)
    # 0/0 for a single element, x/0 for several: by a product, which raises no warning.
    total = sum(real_square(input), axis, keepdim)
    return total * (math.nan if n <= 1 else math.inf)


_var = unchecked(var)


def real_square(x: Tensor) -> Tensor:
    """|x|^2."""
    return (x * x.conj()).real if x._array.dtype.kind == "c" else x * x


@of_tensors(1, takes_out=True)
def std(
    input: Any,
    dim: Any = None,
    unbiased: Any = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Tensor:
    """The standard deviation, the square root of `var`; where it is 0 so is its gradient."""
    return root(_var(input, dim, unbiased, keepdim, correction=correction))


@told
def var_mean(
    input: Any,
    dim: Any = None,
    unbiased: Any = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> tuple[Tensor, Tensor]:
    """The variance and the mean."""
    input = tensor_of(input)
    variance = _var(input, dim, unbiased, keepdim, correction=correction)
    axis = some_dims(None if isinstance(dim, bool) else dim, input.ndim)
    if not input._array.size:
        return variance, sum(input, axis, keepdim) * math.nan
    return variance, _mean(input, axis, keepdim)


@told
@taking(_var)
def std_mean(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """The standard deviation and the mean."""
    variance, center = var_mean(*args, **kwargs)
    return root(variance), center


def root(square: Tensor) -> Tensor:
    """The square root with subgradient 0 at 0."""
    return _flat_at_zero(Tensor.sqrt, square)


def _flat_at_zero(function: Any, x: Tensor, value: float = 0.0) -> Tensor:
    """A function of x >= 0 with a value at 0 where its derivative counts as 0."""
    array = x._array
    if known(array) and (all_true(array != 0) if array.ndim else bool(array)):
        return function(x)
    zero = constant(x._array == 0)
    one = wrap(np.ones((), x.dtype))
    return wrap(np.asarray(value, x.dtype)).where(zero, function(one.where(zero, x)))


@of_tensors(1, takes_out=True)
def norm(
    input: Any,
    p: float | str | None = "fro",
    dim: Dim = None,
    keepdim: bool = False,
    dtype: Any = None,
) -> Tensor:
    """The p-norm of the elements, over all or some dimensions; "fro" is the Euclidean one, "nuc"
    the sum of a matrix's singular values. At 0 the gradient is 0."""
    if dtype is not None:
        input = cast(input, dtypes.stated(dtype))
    if p == "nuc":
        return nuclear_norm(input, dim, keepdim)
    return vector_norm(input, 2 if p in ("fro", None) else p, dim, keepdim)


@takes_out
def nuclear_norm(input: Any, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The sum of a matrix's singular values."""
    of_matrix: Any = np.linalg.norm
    input = tensor_of(input)
    _of_inexact(input)
    axes = some_dims((-2, -1) if dim is None else dim, input.ndim)
    if isinstance(axes, int) or len(axes) != 2:
        raise RuntimeError(
            f"nuclear_norm: dim must hold the two dimensions of the matrices, but is {dim}"
        )
    return of_matrix(input, "nuc", axes, keepdim)


@takes_out
def frobenius_norm(input: Any, dim: Dim = None, keepdim: bool = False) -> Tensor:
    """The Euclidean norm of the elements, over all or some dimensions."""
    return norm(input, "fro", None if dim in ((), []) else dim, keepdim)


def _of_inexact(input: Tensor) -> None:
    if not dtypes.is_inexact(input._array.dtype):
        raise RuntimeError(
            f"norm() needs a floating point or complex tensor, got {input.dtype}. Use x.float()."
        )


def vector_norm(input: Tensor, p: Any, dim: Dim = None, keepdim: bool = False) -> Tensor:
    """(sum |x|^p)^(1/p); the largest |x| for inf, the smallest for -inf, the count of nonzeros
    for 0.
    """
    _of_inexact(input)
    if isinstance(p, str):
        raise RuntimeError(f"norm(): Order {p} not supported. Use 'fro', 'nuc' or a number.")
    array = input._array
    if dtypes.is_half(array.dtype):  # its squares and powers may overflow
        return cast(vector_norm(cast(input, dtypes.float32), p, dim, keepdim), array.dtype)
    axis = None if dim is None else some_dims(dim, array.ndim)
    if p == 2:
        return _length(input, axis, keepdim)
    size = input.abs()
    if p == math.inf:
        return _amax(size, axis, keepdim)
    if p == -math.inf:
        return _amin(size, axis, keepdim)
    if p == 0:
        one = wrap(np.ones((), size.dtype))
        return _sum(_where(constant(size._array == size._array), size.sign(), one), axis, keepdim)
    if p == 1:
        return _sum(size, axis, keepdim)
    if p < 0:
        powers = _flat_at_zero(lambda x: x**p, size, math.inf)
        return _sum(powers, axis, keepdim) ** (1 / p)
    powers = size**p if p > 1 else _flat_at_zero(lambda x: x**p, size)
    return _flat_at_zero(lambda x: x ** (1 / p), _sum(powers, axis, keepdim))


@of_tensors(2, takes_out=True)
@refuses(input="b", other="b")
def dist(input: Any, other: Any, p: float = 2) -> Tensor:
    """The p-norm of the difference of two tensors."""
    return vector_norm(input - other, p)


@of_tensors(1, takes_out=True)
def renorm(input: Any, p: float, dim: int, maxnorm: float) -> Tensor:
    """The input with slices along `dim` scaled down to a p-norm of at most `maxnorm`."""
    if p <= 0:
        raise RuntimeError(f"renorm: non-positive-norm not supported, got p={p}")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if input.ndim < 2:
        raise RuntimeError(
            f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions"
        )
    axis = one_dim(dim, input._array.ndim)
    size = vector_norm(input, p, [d for d in range(input.ndim) if d != axis], True)
    # PyTorch adds 1e-7 to the norm, so that nothing ends just above the bound.
    scale: Any = maxnorm / (size + 1e-7)
    scale = scale.where(constant(size._array > maxnorm), wrap(np.ones((), size.dtype)))
    return input * scale


# ---- extrema -------------------------------------------------------------------------------


def _extremum(name: str, doc: str, full: Any, of_two: str, find: Any, result: Any) -> Any:
    def extreme(
        input: Any,
        dim: Any = None,
        keepdim: bool = False,
        *,
        out: Any = None,
        other: Any = None,
        **names: Any,
    ) -> Any:
        if out is not None:
            return into(out, extreme, (input, dim, keepdim), {"other": other, **names})
        if names:
            dim, keepdim = numpy_names(dim, keepdim, names, name)
        if not isinstance(input, Tensor):
            (input,) = operands_of(extreme, 1, (input,))
        if input._array.dtype.kind == "c":
            raise no_order(name, input.dtype)
        if dim is other is None:
            _refuse_empty(input, name)
            return full(input, None, False)
        if other is None and isinstance(dim, (Tensor, np.ndarray)):
            other = dim
        if other is not None:
            return getattr(elementary, of_two)(input, other)
        indices = _found(find, input, dim, name)
        return picked(result, input, indices, dim, keepdim)

    return told(called(extreme, name, doc))


def _refuse_empty(input: Tensor, name: str, error: Any = RuntimeError) -> None:
    if not input._array.size:
        raise error(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. "
            "An empty tensor has no extremum; give dim= of a dimension that is not empty."
        )


def _found(find: Any, input: Tensor, dim: Any, name: str) -> Any:
    axis = one_dim(dim, input._array.ndim)
    if not input._array.ndim:
        return np.zeros((), np.int64)
    if input._array.shape[axis] == 0:
        raise IndexError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")
    array = input._array
    if type(array) is np.ndarray:  # without what NumPy has around it
        return getattr(array, find.__name__)(axis, keepdims=True)
    return find(array, axis=axis, keepdims=True)


def picked(result: Any, input: Tensor, indices: Any, dim: Any, keepdim: bool) -> Any:
    """The named pair (values, indices); `indices` keep the dimension."""
    if not input._array.ndim:
        return result(input.clone(), constant(indices))
    axis = one_dim(dim, input._array.ndim)
    if keepdim:
        return result(_pick_along(input, indices, axis), constant(indices))
    indices = indices.squeeze(axis)
    return result(_pick(input, indices, axis), constant(indices))


max = _extremum(
    "max",
    """The largest element; with `dim` the largest along it and where; of two the larger.

    Equal extrema of a full reduction share its gradient; with `dim` the first one gets it all.

    >>> import wengert as wg
    >>> values, indices = wg.max(wg.tensor([[1.0, 5.0], [7.0, 2.0]]), dim=1)
    >>> values, indices
    (tensor([5., 7.]), tensor([1, 0]))
    """,
    _amax,
    "maximum",
    np.argmax,
    results.max_result,
)
min = _extremum(
    "min",
    "The smallest element; with `dim` the smallest along it and where; of two tensors the smaller.",
    _amin,
    "minimum",
    np.argmin,
    results.min_result,
)


def _all_dims_extremum(full: Any, name: str, doc: str) -> Any:
    def extreme(
        input: Any, dim: Dim = None, keepdim: bool = False, *, out: Any = None, **names: Any
    ) -> Tensor:
        if out is not None:
            return into(out, extreme, (input, dim, keepdim), names)
        if names:
            dim, keepdim = numpy_names(dim, keepdim, names, name)
        input = ordered(input, name)
        return full(input, _filled_dims(input, dim, name), keepdim)

    return called(extreme, name, doc)


def _filled_dims(input: Tensor, dim: Any, name: str) -> Any:
    """The dimensions of an extremum: an error if there is nothing along them."""
    axis = some_dims(dim, input._array.ndim)
    if axis is None:
        _refuse_empty(input, name)
    elif not input._array.size and (0 in [input.shape[a] for a in np.atleast_1d(axis)]):
        raise IndexError(f"{name}(): Expected reduction dim to have non-zero size.")
    return axis


amax = _all_dims_extremum(
    _amax, "amax", "The largest elements over some dimensions; ties share the gradient."
)
amin = _all_dims_extremum(
    _amin, "amin", "The smallest elements over some dimensions; ties share the gradient."
)


@takes_out
def aminmax(input: Any, *, dim: Any = None, keepdim: bool = False) -> results.aminmax_result:
    """The smallest and the largest elements, as a pair with names."""
    input = ordered(input, "amin")
    axis = _filled_dims(input, dim, "amin")
    return results.aminmax_result(_amin(input, axis, keepdim), _amax(input, axis, keepdim))


def _arg(find: Any, name: str, doc: str) -> Any:
    @refuses(input="b")
    def arg(
        input: Any, dim: Any = None, keepdim: bool = False, *, out: Any = None, **names: Any
    ) -> Tensor:
        if out is not None:
            return into(out, arg, (input, dim, keepdim), names)
        dim, keepdim = numpy_names(dim, keepdim, names, name)
        input = ordered(input, name)
        if dim is None:
            _refuse_empty(input, name, IndexError)
            places = find(input._array)
            return constant(np.reshape(places, (1,) * input.ndim) if keepdim else places)
        indices = _found(find, input, dim, name)
        if not keepdim and input.ndim:
            indices = np.squeeze(indices, one_dim(dim, input._array.ndim))
        return constant(indices)

    return told(called(arg, name, doc))


argmax = _arg(
    np.argmax,
    "argmax",
    "The index of the largest element: of the flattened tensor, or along `dim`.",
)
argmin = _arg(
    np.argmin,
    "argmin",
    "The index of the smallest element: of the flattened tensor, or along `dim`.",
)


@takes_names
def count_nonzero(input: Any, dim: Dim = None) -> Tensor:
    """How many elements are not zero."""
    input = tensor_of(input)
    return constant(
        as_array(np.count_nonzero(input._array, axis=some_dims(dim, input._array.ndim)), np.int64)
    )


# ---- running reductions --------------------------------------------------------------------


@takes_out
@in_dtype_of_out
def cumsum(input: Any, dim: int, *, dtype: Any = None) -> Tensor:
    """Running sums along `dim`."""
    input = _accumulated(input, dtype)
    axis = one_dim(dim, input._array.ndim)
    return _cumsum(input, axis) if input.ndim else input.clone()


@takes_out
@in_dtype_of_out
def cumprod(input: Any, dim: int, *, dtype: Any = None) -> Tensor:
    """Running products along `dim`."""
    input = _accumulated(input, dtype)
    axis = one_dim(dim, input._array.ndim)
    if not input.ndim or not input._array.size:
        return input.clone()
    return _cumprod(input, axis)


@of_tensors(1, takes_out=True)
@refuses(input="biu")
def logcumsumexp(input: Any, dim: int) -> Tensor:
    """log of the running sums of exp(x) along `dim`, without overflow."""
    axis = one_dim(dim, input._array.ndim)
    if not input.ndim or not input._array.size:
        return input.clone()
    if input.dtype.kind == "c":
        top = constant(np.max(np.real(input._array), axis=axis, keepdims=True))
        return _cumsum((input - top).exp(), axis).log() + top
    return _logcumsumexp(input, axis)


def _running_extremum(extremum: Any, result: Any, name: str, doc: str) -> Any:
    @takes_out
    def running(input: Any, dim: int) -> Any:
        input = ordered(input, name)
        axis = one_dim(dim, input._array.ndim)
        if not input._array.ndim:
            return result(input.clone(), constant(np.zeros((), np.int64)))
        if not input._array.size:
            return result(input.clone(), constant(np.zeros(input.shape, np.int64)))
        indices = running_places(input._array, axis, extremum)
        return result(_pick_along(input, indices, axis), constant(indices))

    return called(running, name, doc)


cummax = _running_extremum(
    np.maximum,
    results.cummax_result,
    "cummax",
    "The largest so far along `dim`, and where it was met.",
)
cummin = _running_extremum(
    np.minimum,
    results.cummin_result,
    "cummin",
    "The smallest so far along `dim`, and where it was met.",
)
