"""What NumPy's statistics mean on Tensors: order statistics, averages, NaNs left out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.arrays.common import axes_of
from wengert.arrays.facts import composed
from wengert.arrays.kind import array_of
from wengert.dispatch import as_array, require, taking
from wengert.errors import MissingRuleError
from wengert.functions.numpy.arguments import LONG, chosen, long
from wengert.functions.numpy.calls import no_more, root
from wengert.rules import reductions

# ---- extrema and running sums --------------------------------------------------------------


composed(np.amax)(LONG[np.max])
composed(np.amin)(LONG[np.min])


@composed(np.ptp)
def _ptp(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    return np.max(a, axis=axis, keepdims=keepdims) - np.min(a, axis=axis, keepdims=keepdims)


def _cumulative(run: Any, first: int) -> Any:
    def meaning(
        x: Any,
        /,
        *,
        axis: int | None = None,
        dtype: Any = None,
        out: Any = None,
        include_initial: bool = False,
    ) -> Any:
        if axis is None:
            if len(x.shape) > 1:
                raise ValueError("for arrays of several dimensions `axis` must be given")
            axis = 0
        (axis,) = reductions.axes_of(axis)
        result = run(x if dtype is None else np.astype(x, dtype), axis=axis)
        if not include_initial:
            return result
        start = (slice(None),) * (axis % len(x.shape)) + (slice(0, 1),)
        return np.concatenate([np.full_like(result[start], first), result], axis=axis)

    return meaning


composed(np.cumulative_sum)(_cumulative(np.cumsum, 0))
composed(np.cumulative_prod)(_cumulative(np.cumprod, 1))

# ---- moments -------------------------------------------------------------------------------


@long(np.mean)
def _mean(
    a: Any, axis: Any = None, dtype: Any = None, keepdims: Any = False, where: Any = True
) -> Any:
    a = as_array(a)
    a = a if dtype is None else np.astype(a, np.dtype(dtype))
    if where is True:
        return np.mean(a, axis=axis, keepdims=keepdims is True)
    total = np.sum(_inexact(chosen(a, where, 0)), axis=axis, keepdims=keepdims is True)
    return total * _over(_numbers(a, axis, keepdims is True, where), total.dtype)


@composed(np.var)
def _var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    ddof: float = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = np._NoValue,
    correction: Any = None,
) -> Any:
    ddof = ddof if correction in (None, np._NoValue) else correction
    a = _inexact(as_array(a) if dtype is None else np.astype(as_array(a), np.dtype(dtype)))
    middle = np.mean(a, axis=axis, keepdims=True, where=where) if mean is np._NoValue else mean
    away = chosen(a - middle, where, 0)
    square = np.real(away * np.conj(away)) if a.dtype.kind == "c" else away * away
    total = np.sum(square, axis=axis, keepdims=keepdims is True)
    if where is True:
        n = reductions.count(a.shape, axis) - ddof
        return total * (1 / n) if n else total * math.nan
    return total * _over(_numbers(a, axis, keepdims is True, where) - ddof, total.dtype)


@composed(np.std)
@taking(_var)
def _std(a: Any, *args: Any, **kwargs: Any) -> Any:
    return root(_var(a, *args, **kwargs))


def _numbers(a: Any, axis: Any, keepdims: bool, where: Any) -> Any:
    """How many elements are chosen."""
    return np.sum(np.broadcast_to(array_of(where), a.shape), axis=axis, keepdims=keepdims)


def _over(n: Any, dtype: Any) -> Any:
    """1 / n in a dtype, NaN where n is 0 or less: without a division that warns."""
    return np.where(n > 0, 1 / np.maximum(n, 1), math.nan).astype(np.empty(0, dtype).real.dtype)


def _inexact(a: Any) -> Any:
    return np.astype(a, np.float64) if a.dtype.kind in "biu" else a


# ---- without NaN: the same, of the elements that are numbers -------------------------------


def _without_nan(function: Any) -> Any:
    """A function of NumPy's that has `where=`, of the elements that are not NaN."""

    def meaning(a: Any, *args: Any, where: Any = True, **kwargs: Any) -> Any:
        a = as_array(a)
        kept = ~np.isnan(array_of(a))
        return function(a, *args, where=kept if where is True else kept & array_of(where), **kwargs)

    return meaning


for _nan, _all in (
    (np.nansum, LONG[np.sum]), (np.nanprod, LONG[np.prod]), (np.nanmean, _mean),
    (np.nanvar, _var),
):  # fmt: skip
    composed(_nan)(taking(_all)(_without_nan(_all)))


@composed(np.nanstd)
@taking(_var)
def _nanstd(a: Any, *args: Any, **kwargs: Any) -> Any:
    return root(np.nanvar(a, *args, **kwargs))


def _nan_extremum(whole: Any, neutral: float) -> Any:
    def meaning(
        a: Any,
        axis: Any = None,
        keepdims: Any = False,
        initial: Any = np._NoValue,
        where: Any = True,
    ) -> Any:
        a = as_array(a)
        kept = ~np.isnan(array_of(a))
        kept = kept if where is True else kept & array_of(where)
        start = neutral if initial is np._NoValue else initial
        extremum = whole(a, axis, None, keepdims is True, start, kept)
        if initial is not np._NoValue:
            return extremum
        nothing = ~np.any(kept, axis=axis, keepdims=keepdims is True)
        return np.where(nothing, np.asarray(math.nan, a.dtype), extremum)

    return meaning


composed(np.nanmax)(_nan_extremum(LONG[np.max], -math.inf))
composed(np.nanmin)(_nan_extremum(LONG[np.min], math.inf))


def _filled(a: Any, value: Any) -> Any:
    return chosen(a, ~np.isnan(array_of(a)), value)


@composed(np.nancumsum)
def _nancumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    return np.cumsum(_filled(a if dtype is None else np.astype(a, dtype), 0), axis=axis)


@composed(np.nancumprod)
def _nancumprod(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    return np.cumprod(_filled(a if dtype is None else np.astype(a, dtype), 1), axis=axis)


# ---- quantiles -----------------------------------------------------------------------------

_METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantiles(a: Any, q: Any, axis: Any, method: str, keepdims: bool, ignore_nan: bool) -> Any:
    """NumPy's `quantile`: the axes flattened into one, sorted, two neighbours weighted."""
    if method not in _METHODS:
        raise MissingRuleError(
            f"quantile with method={method!r} is not supported on Tensors; use one of "
            f"{', '.join(_METHODS)}"
        )
    a, q = as_array(a), as_array(q)
    if a.dtype.kind in "biu":
        a = np.astype(a, np.float64)
    places = array_of(q)
    require((places >= 0) & (places <= 1), ValueError, "Quantiles must be in the range [0, 1]")
    n = len(a.shape)
    axes = axes_of(axis, n)
    rest = tuple(k for k in range(n) if k not in axes)
    outer = tuple(a.shape[k] for k in rest)
    rows, of_rows = a, axes == (n - 1,)
    if not of_rows:
        rows = np.transpose(a, (*rest, *axes)) if rest else a
        rows = np.reshape(rows, (*outer, math.prod(a.shape[k] for k in axes)))
    if not rows.shape[-1]:
        return np.full(places.shape + outer, math.nan)
    quantiles = _in_rows(np.sort(rows, axis=-1), np.reshape(q, (-1,)), method, ignore_nan)
    if not places.ndim and of_rows and keepdims:
        return quantiles
    if not places.ndim and not keepdims:
        return np.reshape(quantiles, outer)
    quantiles = np.moveaxis(quantiles, -1, 0)
    if keepdims:
        quantiles = np.reshape(
            quantiles, (-1, *(1 if k in axes else size for k, size in enumerate(a.shape)))
        )
    return np.reshape(quantiles, places.shape + tuple(quantiles.shape[1:]))


def _in_rows(ordered: Any, q: Any, method: str, ignore_nan: bool) -> Any:
    n = ordered.shape[-1]
    nans = np.sum(np.isnan(array_of(ordered)), axis=-1, keepdims=True)
    last = np.maximum(n - 1 - nans, 0) if ignore_nan else np.full(nans.shape, n - 1)
    rank = q * (last if q.dtype.kind in "biu" else last.astype(q.dtype))
    place = array_of(rank)
    low, high = np.floor(place).astype(np.int64), np.ceil(place).astype(np.int64)
    if not ignore_nan:  # NaN is sorted to the end
        low, high = (np.where(nans > 0, n - 1, k) for k in (low, high))
    if method == "nearest":
        low = high = np.where(low == high, low, np.rint(place).astype(np.int64))
    if method in ("lower", "nearest"):
        return np.take_along_axis(ordered, low, -1)
    above = np.take_along_axis(ordered, high, -1)
    if method == "higher":
        return above
    below = np.take_along_axis(ordered, low, -1)
    weight = (low != high) * 0.5 if method == "midpoint" else rank - np.floor(place)
    weight = weight if weight.dtype == ordered.dtype else np.astype(weight, ordered.dtype)
    return below + (above - below) * weight


def _quantile_meaning(ignore_nan: bool, scale: float) -> Any:
    def meaning(
        a: Any,
        q: Any,
        axis: Any = None,
        out: Any = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: Any = False,
        *,
        weights: Any = None,
        **rest: Any,
    ) -> Any:
        no_more({"weights": weights, **rest})
        q = q if scale == 1 else as_array(q) / scale
        return _quantiles(a, q, axis, method, keepdims is True, ignore_nan)

    return meaning


composed(np.quantile)(_quantile_meaning(False, 1))
composed(np.percentile)(_quantile_meaning(False, 100))
composed(np.nanquantile)(_quantile_meaning(True, 1))
composed(np.nanpercentile)(_quantile_meaning(True, 100))


def _median_meaning(ignore_nan: bool) -> Any:
    def meaning(
        a: Any,
        axis: Any = None,
        out: Any = None,
        overwrite_input: bool = False,
        keepdims: Any = False,
    ) -> Any:
        return _quantiles(a, 0.5, axis, "midpoint", keepdims is True, ignore_nan)

    return meaning


composed(np.median)(_median_meaning(False))
composed(np.nanmedian)(_median_meaning(True))

# ---- averages and covariances --------------------------------------------------------------


@composed(np.average)
def _average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False
) -> Any:
    """sum(w a) / sum(w)."""
    a, keepdims = as_array(a), keepdims is True
    if weights is None:
        mean = np.mean(a, axis=axis, keepdims=keepdims)
        total = np.full_like(mean, reductions.count(a.shape, axis))
        return (mean, total) if returned else mean
    weights = as_array(weights)
    if weights.shape != a.shape:
        if axis is None:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        n = len(a.shape)
        axes = tuple(k % n for k in np.atleast_1d(axis).tolist())
        if tuple(a.shape[k] for k in axes) != tuple(weights.shape):
            raise ValueError("Shape of weights must be consistent with shape of a along axis.")
        order = tuple(int(k) for k in np.argsort(axes))
        weights = np.reshape(
            np.transpose(weights, order), [s if k in axes else 1 for k, s in enumerate(a.shape)]
        )
        weights = np.broadcast_to(weights, a.shape)
    total = np.sum(weights, axis=axis, keepdims=keepdims)
    wrong = "Weights sum to zero, can't be normalized"
    require(array_of(total) != 0, ZeroDivisionError, wrong)
    mean = np.sum(a * weights, axis=axis, keepdims=keepdims) / total
    return (mean, np.broadcast_to(total, mean.shape)) if returned else mean


@composed(np.cov)
def _cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    """The covariances of variables in rows (or columns), weighted observations in the others."""

    def rows(v: Any) -> Any:
        v = as_array(v)
        if v.dtype.kind in "biu":
            v = np.astype(v, np.float64)
        v = np.reshape(v, (1, -1)) if len(v.shape) < 2 else v if rowvar else np.transpose(v)
        return v if dtype is None else np.astype(v, dtype)

    if len(as_array(m).shape) > 2:
        raise ValueError("m has more than 2 dimensions")
    x = rows(m) if y is None else np.concatenate([rows(m), rows(y)], axis=0)
    ddof = (0 if bias else 1) if ddof is None else ddof
    w = None
    for given in (fweights, aweights):
        if given is not None:
            w = as_array(given) if w is None else w * as_array(given)
    if w is None:
        away = x - np.mean(x, axis=1, keepdims=True)
        products, degrees = np.matmul(away, np.conj(np.transpose(away))), x.shape[1] - ddof
        if degrees > 0:
            return np.squeeze(products / degrees)
        # 0/0 for a single observation, x/0 for several: by a product, which raises no warning.
        return np.squeeze(products * (math.nan if x.shape[1] <= 1 else math.inf))
    total = np.sum(w)
    away = x - np.sum(x * w, axis=1, keepdims=True) / total
    scale = 1 if aweights is None else np.sum(w * aweights) / total
    products = np.matmul(away * w, np.conj(np.transpose(away)))
    return np.squeeze(products / np.maximum(total - ddof * scale, 0))


@composed(np.corrcoef)
def _corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None, **rest: Any) -> Any:
    no_more(rest)
    c = np.cov(x, y, rowvar, dtype=dtype)
    if not c.shape:
        return c / c
    spread = np.sqrt(np.real(np.diagonal(c)))
    c = c / np.expand_dims(spread, 1) / np.expand_dims(spread, 0)
    return c if c.dtype.kind == "c" else np.clip(c, -1, 1)  # by rounding it may be beyond
