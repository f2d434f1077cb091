"""Quantiles, counts in intervals, covariances: statistics under PyTorch's names."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.arrays.kind import array_of
from wengert.autograd.misfits import told
from wengert.autograd.operands import cast
from wengert.autograd.record import recorder
from wengert.autograd.settings import refuses
from wengert.dispatch import as_array, numpy, primitive, require
from wengert.errors import MissingRuleError
from wengert.functions import results
from wengert.functions.arguments import constant, of_tensors, one_dim, takes_out, tensor_of
from wengert.history import modes
from wengert.rules.indexing import scatter_add
from wengert.rules.loops import loopable
from wengert.rules.reductions import count_bins
from wengert.tensor import Tensor, carries, wrap

_pick, _scattered = recorder(np.take_along_axis), recorder(scatter_add)

# ---- quantiles -----------------------------------------------------------------------------


@takes_out
def quantile(
    input: Any, q: float | Tensor, dim: Any = None, keepdim: bool = False,
    *, interpolation: str = "linear",
) -> Tensor:  # fmt: skip
    """The q-quantile: between the two nearest elements by `interpolation`. NaN if there is one.

    Interpolations: "linear", "lower", "higher", "midpoint", "nearest". Several quantiles come along
    a new first dimension; `q` has a gradient too where the interpolation is linear.

    >>> import wengert as wg
    >>> wg.quantile(wg.tensor([1.0, 2.0, 3.0, 4.0]), 0.5)
    tensor(2.5000)
    """
    return _quantile(input, q, dim, keepdim, interpolation, ignore_nan=False)


@takes_out
def nanquantile(
    input: Any, q: float | Tensor, dim: Any = None, keepdim: bool = False,
    *, interpolation: str = "linear",
) -> Tensor:  # fmt: skip
    """The q-quantile of the elements that are not NaN."""
    return _quantile(input, q, dim, keepdim, interpolation, ignore_nan=True)


_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile(
    input: Any, q: Any, dim: Any, keepdim: bool, interpolation: str, ignore_nan: bool
) -> Any:
    input = tensor_of(input)
    if not dtypes.is_floating(input.dtype):
        raise RuntimeError(
            f"quantile() input tensor must be either float or double dtype, got {input.dtype}. Use "
            "x.float()."
        )
    if not input._array.size:
        raise RuntimeError("quantile() input tensor must be non-empty")
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(
            f"quantile() interpolation must be one of {', '.join(_INTERPOLATIONS)}, but got "
            f"{interpolation}"
        )
    try:
        q = q if isinstance(q, Tensor) else wrap(as_array(q, input.dtype))
    except ValueError:
        raise TypeError(
            f"quantile(): argument 'q' must be a number or a Tensor, not {q!r}"
        ) from None
    if q.dtype != input.dtype:
        raise RuntimeError(
            f"quantile() q tensor must be same dtype as the input tensor: {q.dtype} and "
            f"{input.dtype}"
        )
    if q.ndim > 1:
        raise RuntimeError(f"quantile() q must be a scalar or 1D tensor, got {q.ndim}D")
    wrong = "quantile() q values must be in the range [0, 1]"
    require((q._array >= 0) & (q._array <= 1), RuntimeError, wrong)
    function = numpy.nanquantile if ignore_nan else numpy.quantile
    axis = None if dim is None or not input.ndim else one_dim(dim, input._array.ndim)
    places = q if q.requires_grad else q._array  # whose arithmetic nobody records
    return function(input, places, axis, method=interpolation, keepdims=keepdim)


# ---- counts --------------------------------------------------------------------------------


@of_tensors(1)
def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Tensor:
    """How often each number 0, 1, 2, ... occurs, or the sums of the weights of its places.

    >>> import wengert as wg
    >>> wg.bincount(wg.tensor([0, 2, 2]))
    tensor([1, 0, 2])
    """
    if input.dtype.kind not in "iu":
        raise NotImplementedError(
            f"bincount is not implemented for {input.dtype}: it counts integers"
        )
    if minlength < 0:
        raise RuntimeError(f"minlength should be >= 0, got {minlength}")
    wrong = "bincount only supports 1-d non-negative integral inputs."
    require(input.ndim == 1, RuntimeError, wrong)
    require(input._array >= 0, RuntimeError, wrong)
    if weights is not None and tuple(weights.shape) != tuple(input.shape):
        raise RuntimeError(
            "weights should be 1-d and have the same length as input: "
            f"{list(weights.shape)} and {list(input.shape)}"
        )
    counts = constant(np.bincount(input._array, None, minlength))
    if weights is None:
        return counts
    weights = tensor_of(weights)
    kind = dtypes.float32 if weights.dtype == dtypes.float32 else dtypes.float64
    return _scattered(cast(weights, kind), input._array, tuple(counts.shape), 0)


def _check_bins(name: str, bins: Any, k: int = 0) -> None:
    if isinstance(bins, int) and bins <= 0:
        raise RuntimeError(f"{name}: bins must be > 0, but got {bins} for dimension {k}")


def _bounds(name: str, x: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """The interval to count in: as given, else from the smallest to the largest element."""
    if low == high == 0 and x.size:
        low, high = x.min(), x.max()
    if low > high:
        raise RuntimeError(f"{name}: max must be larger than min, got {low} and {high}")
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"{name}: range of [{low}, {high}] is not finite")
    return (low - 1, high + 1) if low == high else (low, high)


@of_tensors(1, takes_out=True)
@refuses(input="biuc")
def histc(input: Any, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """Counts of the elements in `bins` equal intervals from `min` to `max`.

    Where both are 0 they are the smallest and the largest element; what lies outside is not
    counted.
    """
    _check_bins("torch.histc", bins)
    return constant(_counts(input._array, bins, min, max))


@functools.partial(primitive, opaque=True)
def _counts(x: Any, bins: int, min: Any, max: Any) -> Any:
    low, high = _bounds("torch.histc", x, min, max)
    x = x.ravel()
    if not loopable(x):
        return np.histogram(x, bins, (low, high))[0].astype(x.dtype)
    counts = np.zeros(bins, np.int64)
    count_bins(x, np.array((low, high), x.dtype), counts)
    return counts.astype(x.dtype)


@of_tensors(1, takes_out=True)
def histogram(
    input: Any, bins: Any = 100, *, range: Any = None, weight: Any = None, density: bool = False
) -> results.histogram_result:
    """Counts (or sums of weights, or a density) in intervals, and the bounds of the intervals.

    `bins` is a number of equal intervals, over `range`, or the increasing bounds themselves.
    """
    if not isinstance(bins, (int, Tensor, np.ndarray)):
        raise TypeError(
            "histogram(): argument 'bins' must be int or a Tensor of bounds, not "
            f"{type(bins).__name__}. Make one with wengert.tensor(...)."
        )
    points = input.reshape(-1, 1)
    weight = weight if weight is None else weight.reshape(-1)
    counts, edges = histogramdd(points, [bins], range=range, weight=weight, density=density)
    return results.histogram_result(counts, edges[0])


@of_tensors(1)
def histogramdd(
    input: Any,
    bins: Any,
    *,
    range: Sequence[float] | None = None,
    weight: Any = None,
    density: bool = False,
) -> results.histogramdd_result:
    """Counts of points, the rows of the input, in boxes, and the bounds of the boxes.

    `bins` is one number of intervals, one for each coordinate, or their bounds; `range` the lowest
    and the highest value of each coordinate, one after the other.
    """
    if not dtypes.is_floating(input.dtype):
        raise NotImplementedError(
            f"histogramdd is not implemented for {input.dtype}: use x.float()"
        )
    if input.ndim < 2:
        raise RuntimeError(
            f"torch.histogramdd: input tensor should have at least 2 dimensions, got {input.ndim}"
        )
    d = input.shape[-1]
    bins = [bins] * d if isinstance(bins, int) else list(bins)
    if len(bins) != d:
        raise RuntimeError(
            "histogramdd: The size of bins must be equal to the innermost dimension of the input: "
            f"{len(bins)} and {d}"
        )
    if weight is not None and tuple(weight.shape) != tuple(input.shape[:-1]):
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the "
            "input tensor excluding its innermost dimension, but got input with shape "
            f"{list(input.shape)} and weight with shape {list(weight.shape)}"
        )
    weight = weight if weight is None else tensor_of(weight)
    if weight is not None and (_tracked(weight) or carries(weight)):
        raise MissingRuleError(
            "the sums of weights in histogram and histogramdd have no derivative here, as in "
            "PyTorch. np.histogram and np.histogramdd have: pass them weights=, or weight.detach()."
        )
    bins = [b if isinstance(b, int) else array_of(b) for b in bins]
    points, flat = input._array.reshape(-1, d), None if weight is None else array_of(weight).ravel()
    counts, *edges = _counted(points, bins, range, flat, density)
    return results.histogramdd_result(constant(counts), tuple(constant(e) for e in edges))


def _tracked(x: Tensor) -> bool:
    return x.requires_grad and modes.is_grad_enabled()


@functools.partial(primitive, opaque=True)
def _counted(points: Any, bins: Any, span: Any, weights: Any, density: bool) -> tuple[Any, ...]:
    """The counts, and the bounds of each coordinate."""
    edges = [_edges(b, points[:, k], span, k).astype(points.dtype) for k, b in enumerate(bins)]
    with np.errstate(invalid="ignore"):  # the density of no points is NaN
        counts = np.histogramdd(points, edges, density=density, weights=weights)[0]
    return counts.astype(points.dtype), *edges


def _edges(bins: Any, x: Any, span: Any, k: int) -> Any:
    """The bounds of the intervals of one coordinate."""
    if not isinstance(bins, int):
        edges = np.asarray(bins)
        if edges.ndim != 1 or np.any(np.diff(edges) < 0):
            raise RuntimeError(
                f"torch.histogramdd: the bounds of bins must increase, for dimension {k} they are "
                f"{edges.tolist()}"
            )
        return edges
    _check_bins("torch.histogram()", bins, k)
    if span is not None:
        low, high = span[2 * k : 2 * k + 2]
        if low > high:
            raise RuntimeError(
                f"torch.histogramdd: min should not exceed max, but got min {low} max {high} for "
                f"dimension {k}"
            )
    else:
        low, high = (x.min(), x.max()) if x.size else (0, 1)
    low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
    return np.linspace(low, high, bins + 1)


# ---- covariance ----------------------------------------------------------------------------


@told
def cov(input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Tensor:
    """The covariance matrix of variables in rows and observations in columns.

    sum w (x - m) (x - m)^H / (sum w - correction), with m the weighted mean and w the product of
    the frequencies `fweights` (integers) and the importances `aweights`; where there are
    importances the correction is scaled by sum(w a) / sum(w). One variable gives a number.
    """
    x = _variables("cov", input)
    _check_weights(x.shape[-1] if x.ndim else 1, fweights, aweights)
    return numpy.cov(x, ddof=correction, fweights=fweights, aweights=aweights)


def _variables(name: str, input: Any) -> Tensor:
    x = tensor_of(input)
    if x.ndim > 2:
        raise RuntimeError(
            f"{name}(): expected input to have two or fewer dimensions but got an input with "
            f"{x.ndim} dimensions"
        )
    if x.dtype == dtypes.bool:
        raise RuntimeError(f"{name}(): bool dtype is not supported for input. Use x.float().")
    return x if dtypes.is_inexact(x.dtype) else cast(x, dtypes.get_default_dtype())


def _check_weights(n: int, fweights: Any, aweights: Any) -> None:
    """RuntimeError for what cannot be weights of n observations."""
    weights = None
    for name, given, kinds in (("fweights", fweights, "iu"), ("aweights", aweights, "f")):
        if given is None:
            continue
        if given.ndim > 1:
            raise RuntimeError(
                f"cov(): expected {name} to have one or fewer dimensions but got {name} with "
                f"{given.ndim} dimensions"
            )
        if given.dtype.kind not in kinds:
            wanted = "integral" if kinds == "iu" else "floating point"
            raise RuntimeError(
                f"cov(): expected {name} to have {wanted} dtype but got {name} with {given.dtype} "
                "dtype"
            )
        if given.numel() != n:
            raise RuntimeError(
                f"cov(): expected {name} to have the same numel as there are observations in the "
                f"input but got {given.numel()} != {n}"
            )
        require(~(given._array < 0), RuntimeError, f"cov(): {name} cannot be negative")
        weights = given if weights is None else weights * given
    wrong = "cov(): weights sum to zero, can't be normalized"
    require(weights is None or weights._array.sum() != 0, RuntimeError, wrong)


def corrcoef(input: Any) -> Tensor:
    """The matrix of correlation coefficients of variables in rows: covariances over the products
    of the standard deviations.
    """
    return numpy.corrcoef(_variables("corrcoef", input))
