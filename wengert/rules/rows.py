"""Standardizing of rows, on plain arrays of few numbers: `blocks.py` is for many.

Sums along rows are products with a vector of ones or, of products, of row with row: BLAS does both
at the speed of memory, where `np.add.reduce` begins anew for each row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.rules.blocks import BLOCK, EXACT


def fits(x: Any, axis: int) -> bool:
    """Whether this is a plain array, and `axis` its last dimension."""
    return (
        type(x) is np.ndarray
        and x.dtype in EXACT
        and axis in (-1, x.ndim - 1)
        and x.size > 0
        and x.flags.c_contiguous
    )


def inverse_deviation(s: Any, eps: float) -> Any:
    """r = 1 / sqrt(var + eps), from s = the mean of x y, where y = (x - mean) r.

    s = r var, and var = 1 / r^2 - eps: a quadratic equation for r.
    """
    return 2 / (s + np.sqrt(s * s + 4 * eps))


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
