"""What NumPy's sets and histograms mean on Tensors.

Which elements are equal, and which bin an element falls into, is constant almost everywhere: NumPy
is asked. What is picked, summed, or lies between the smallest and the largest is differentiable.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from wengert.arrays.facts import composed
from wengert.autograd.record import recorder
from wengert.dispatch import as_array
from wengert.functions.numpy.shapes import known
from wengert.rules.indexing import scatter_add
from wengert.tensor import Tensor, wrap


@composed(np.unique)
def _unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """Of equal elements the first is picked, and has the gradient."""
    own: Any = np.unique  # its types know one form for each combination of arguments
    _, first, *rest = own(
        known(ar), True, return_inverse, return_counts, axis, equal_nan=equal_nan, sorted=sorted
    )
    values = np.ravel(ar)[first] if axis is None else np.take(ar, first, axis)
    facts = [wrap(x) for x in ([first] if return_index else []) + rest]
    return (values, *facts) if facts else values


@composed(np.bincount)
def _bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    x = known(x)
    if weights is None:
        return wrap(np.bincount(x, None, minlength))
    weights = as_array(weights)
    count = len(np.bincount(x, np.zeros(weights.shape), minlength))  # it checks the arguments, too
    return _summed(np.astype(weights, np.float64), np.asarray(x), count)


def _summed(weights: Any, places: Any, count: int) -> Any:
    """The sum of the weights that belong to each of so many places."""
    weights = weights if isinstance(weights, Tensor) else wrap(weights)
    return recorder(scatter_add)(weights, places, (count,), 0)


# ---- histograms ----------------------------------------------------------------------------


@composed(np.histogram_bin_edges)
def _edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """Bins that are given as they are; others divide what lies between the extremes equally."""
    if not isinstance(bins, str) and len(np.shape(bins)):
        return as_array(bins)
    given: Any = known(range) if range is None else [known(end) for end in range]
    edges = np.histogram_bin_edges(known(a), bins, given, known(weights))
    first, last = (np.min(a), np.max(a)) if range is None else range
    if np.size(a) == 0 and range is None:
        return wrap(edges)
    if known(first) == known(last):  # NumPy makes room
        first, last = first - 0.5, last + 0.5
    return np.linspace(as_array(first), as_array(last), len(edges), dtype=edges.dtype)


@composed(np.histogram)
def _histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    edges = _edges(a, bins, range, weights)
    if weights is None:
        counts = wrap(np.histogram(known(a), known(edges))[0])
    else:
        counts = _weighted([np.ravel(a)], [edges], weights)
    if density:
        counts = counts / np.diff(edges) / np.sum(counts)
    return counts, edges


@composed(np.histogramdd)
def _histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    columns = _columns(sample)
    each = bins if isinstance(bins, (list, tuple, np.ndarray)) else [bins] * len(columns)
    if len(each) != len(columns):
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    ranges = [None] * len(columns) if range is None else range
    edges = [_edges(x, b, r) for x, b, r in zip(columns, each, ranges, strict=True)]
    counts = _weighted(columns, edges, np.ones(columns[0].shape) if weights is None else weights)
    if density:
        volume = functools.reduce(np.multiply.outer, map(np.diff, edges))
        counts = counts / volume / np.sum(counts)
    return counts, tuple(edges)


@composed(np.histogram2d)
def _histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    if len(np.shape(bins)) == 1 and len(bins) not in (1, 2):
        bins = [bins, bins]
    counts, edges = _histogramdd([x, y], bins, range, density, weights)
    return counts, *edges


def _columns(sample: Any) -> list[Any]:
    """The coordinates of the points: columns of a matrix, or each by itself in a list."""
    if isinstance(sample, (list, tuple)):
        return [as_array(x) for x in sample]
    sample = np.reshape(sample, (-1, 1)) if len(sample.shape) == 1 else sample
    return [sample[:, k] for k in np.arange(sample.shape[1]).tolist()]


def _weighted(columns: list[Any], edges: list[Any], weights: Any) -> Any:
    """The weights of the points in each cell between the edges; the last of these belongs to it."""
    shape = tuple(len(e) - 1 for e in edges)
    places, inside = [], np.True_
    for x, e, n in zip(map(known, columns), map(known, edges), shape, strict=True):
        place = np.searchsorted(e, x, side="right") - 1 - (np.asarray(x) == e[-1])
        inside = inside & (place >= 0) & (place < n)
        places.append(place)
    flat = np.ravel_multi_index([p[inside] for p in places], shape)
    weights = np.ravel(as_array(weights))
    kept = weights[np.flatnonzero(inside)]
    return np.reshape(_summed(kept, flat, int(np.prod(shape))), shape)
