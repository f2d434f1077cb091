"""Softmax and standardizing of rows, on plain arrays of few numbers: `blocks.py` is for many.

Sums along rows are products with a vector of ones or, of products, of row with row: BLAS does both
at the speed of memory, where `np.add.reduce` begins anew for each row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.dispatch import quietly
from wengert.rules.blocks import BLOCK, EXACT

_NEAR = 0.02


def fits(x: Any, axis: int) -> bool:
    """Whether this is a plain array, and `axis` its last dimension."""
    return (
        type(x) is np.ndarray
        and x.dtype in EXACT
        and axis in (-1, x.ndim - 1)
        and x.size > 0
        and x.flags.c_contiguous
    )


def _matrix(x: Any, length: int) -> Any:
    return x.reshape(-1, length)


@quietly  # inf - inf is NaN, and may be seen in the result
def softmax(x: Any) -> Any:
    """exp(x - shift) / sum(exp(x - shift)) along the last dimension.

    One shift serves all rows, the largest number, as long as no row's largest is far below it: that
    is seen in the sums. Otherwise each row is shifted by its own.
    """
    rows = _matrix(x, x.shape[-1])
    ones = np.ones(x.shape[-1], x.dtype)
    e = np.subtract(rows, np.maximum.reduce(rows, axis=None))
    np.exp(e, out=e)
    total = e.dot(ones)
    if not np.minimum.reduce(total) > _NEAR:  # or NaN
        np.subtract(rows, np.maximum.reduce(rows, axis=1)[:, None], out=e)
        np.exp(e, out=e)
        total = e.dot(ones)
    e *= np.reciprocal(total)[:, None]
    return e.reshape(x.shape)


def softmax_pull(g: Any, y: Any) -> Any:
    """y (g - sum(g y)) along the last dimension."""
    out = np.subtract(g, np.vecdot(g, y)[..., None])
    out *= y
    return out


def standardize(x: Any, length: int, eps: float) -> Any:
    """(x - mean) / sqrt(var + eps) of each run of `length` numbers."""
    rows = _matrix(x, length)
    y = np.subtract(rows, rows.dot(_means(x, length))[:, None])
    var = np.vecdot(y, y)
    var /= length
    var += eps
    y *= np.reciprocal(np.sqrt(var, out=var), out=var)[:, None]
    return y.reshape(x.shape)


def inverse_deviation(s: Any, eps: float) -> Any:
    """r = 1 / sqrt(var + eps), from s = the mean of x y, where y = (x - mean) r.

    s = r var, and var = 1 / r^2 - eps: a quadratic equation for r.
    """
    return 2 / (s + np.sqrt(s * s + 4 * eps))


def standardize_pull(g: Any, x: Any, y: Any, length: int, eps: float) -> Any:
    """r (g - mean(g) - y mean(g y)), with r = 1 / sqrt(var + eps)."""
    given, rows, standardized = (_matrix(a, length) for a in (g, x, y))
    r = inverse_deviation(np.vecdot(standardized, rows) / length, eps)
    out = np.multiply(standardized, (np.vecdot(given, standardized) / -length)[:, None])
    out += given
    out -= given.dot(_means(x, length))[:, None]
    out *= r[:, None]
    return out.reshape(x.shape)


def _means(x: Any, length: int) -> Any:
    return np.full(length, 1 / length, x.dtype)


def column_sums(a: Any, b: Any = None) -> Any:
    """The sum of all rows of `a`, or of `a * b`."""
    if b is None:
        return np.ones(len(a), a.dtype).dot(a)
    total = np.zeros(a.shape[1], a.dtype)
    step = max(1, BLOCK // a.shape[1])  # whose products stay in the cache
    for start in range(0, len(a), step):
        product = a[start : start + step] * b[start : start + step]
        total += np.ones(len(product), a.dtype).dot(product)
    return total
