"""Softmax and standardizing of rows, on plain arrays, a few rows at a time, which fit the cache.

Sums along rows are products with a vector of ones or, of products, of row with row: BLAS does both
at the speed of memory, where `np.add.reduce` begins anew for each row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

_EXACT = (np.dtype(np.float32), np.dtype(np.float64))
# So many numbers are worked on at a time: a few arrays of that size fit a second-level cache.
BLOCK = 1 << 15
_NEAR = 0.02


def fits(x: Any, axis: int) -> bool:
    """Whether an array is plain, and `axis` its last dimension."""
    return (
        type(x) is np.ndarray
        and x.dtype in _EXACT
        and axis in (-1, x.ndim - 1)
        and x.size > 0
        and x.flags.c_contiguous
    )


def _blocks(count: int, length: int) -> Iterator[slice]:
    step = max(1, BLOCK // length)
    return (slice(i, i + step) for i in range(0, count, step))


def _matrix(x: Any, length: int) -> Any:
    return x.reshape(-1, length)


def softmax(x: Any) -> Any:
    """exp(x - shift) / sum(exp(x - shift)) along the last dimension.

    One shift serves a whole block, its largest number, as long as no row's largest is far below
    it: that is seen in the sums. Otherwise each row is shifted by its own.
    """
    length = x.shape[-1]
    rows, out = _matrix(x, length), np.empty(x.shape, x.dtype)
    made, ones = _matrix(out, length), np.ones(length, x.dtype)
    with np.errstate(invalid="ignore"):  # inf - inf is NaN, and may be seen in the result
        for block in _blocks(len(rows), length):
            part, e = rows[block], made[block]
            np.subtract(part, np.maximum.reduce(part, axis=None), out=e)
            np.exp(e, out=e)
            total = e.dot(ones)
            if not np.minimum.reduce(total) > _NEAR:  # or NaN
                np.subtract(part, np.maximum.reduce(part, axis=1)[:, None], out=e)
                np.exp(e, out=e)
                total = e.dot(ones)
            e *= np.reciprocal(total)[:, None]
    return out


def softmax_pull(g: Any, y: Any) -> Any:
    """y (g - sum(g y)) along the last dimension."""
    length = y.shape[-1]
    out = np.empty(y.shape, y.dtype)
    gs, ys, made = _matrix(g, length), _matrix(y, length), _matrix(out, length)
    for block in _blocks(len(ys), length):
        part = made[block]
        np.subtract(gs[block], np.vecdot(gs[block], ys[block])[:, None], out=part)
        part *= ys[block]
    return out


def standardize(x: Any, length: int, eps: float) -> Any:
    """(x - mean) / sqrt(var + eps) of each run of `length` numbers."""
    out = np.empty(x.shape, x.dtype)
    rows, made, mean = _matrix(x, length), _matrix(out, length), _means(x, length)
    for block in _blocks(len(rows), length):
        part, y = rows[block], made[block]
        np.subtract(part, part.dot(mean)[:, None], out=y)
        var = np.vecdot(y, y)
        var /= length
        var += eps
        y *= np.reciprocal(np.sqrt(var, out=var), out=var)[:, None]
    return out


def standardize_pull(g: Any, x: Any, y: Any, length: int, eps: float) -> Any:
    """r (g - mean(g) - y mean(g y)), with r = 1 / sqrt(var + eps)."""
    out = np.empty(x.shape, x.dtype)
    gs, xs, ys, made = (_matrix(a, length) for a in (g, x, y, out))
    mean = _means(x, length)
    for block in _blocks(len(xs), length):
        part, row, given = made[block], ys[block], gs[block]
        # y.x / n = r var, and var = 1 / r^2 - eps: a quadratic equation for r.
        s = np.vecdot(row, xs[block])
        s /= length
        r = 2 / (s + np.sqrt(s * s + 4 * eps))
        np.multiply(row, (np.vecdot(given, row) / -length)[:, None], out=part)
        part += given
        part -= given.dot(mean)[:, None]
        part *= r[:, None]
    return out


def _means(x: Any, length: int) -> Any:
    return np.full(length, 1 / length, x.dtype)


def column_sums(a: Any, b: Any = None) -> Any:
    """The sum of all rows of `a`, or of `a * b`."""
    if b is None:
        return np.ones(len(a), a.dtype).dot(a)
    total = np.zeros(a.shape[1], a.dtype)
    for block in _blocks(*a.shape):
        product = a[block] * b[block]
        total += np.ones(len(product), a.dtype).dot(product)
    return total
