"""Small systems of linear equations as loops of `wengert.control`: a trace has them as they are.

    A = Q R,  A X = B:  Q^T [A | B] = [R | C],  X = R^-1 C

by Householder's reflections, one for each column, and back substitution, row by row (Golub and Van
Loan, "Matrix Computations", 4th ed. 2013, sections 5.2 and 3.1). LAPACK, which Python has to call,
is faster where matrices are large.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.control.loops import fori_loop
from wengert.rules.linalg import solve_triangular

LARGE = 32
"""From so many unknowns on LAPACK is called."""


def solved(a: Any, b: Any, patched: bool = False) -> Any:
    """X with A X = B, for the columns of B.

    Where A is singular X is not finite. If it is `patched`, a zero on R's diagonal counts as the
    least number that the others of its column would notice, as in MINPACK.
    """
    n = a.shape[-1]
    if n < LARGE:
        both = fori_loop(0, n, _reflected, np.concatenate([a, b], axis=1))
        r, c = both[:, :n], both[:, n:]
    else:
        q, r = np.linalg.qr(a)
        c = np.matmul(np.transpose(q), b)
    pivots = np.diagonal(r)
    if patched:
        eps = float(np.finfo(a.dtype).eps)
        largest = eps * np.max(np.abs(np.triu(r)), axis=0)
        instead = np.where(largest == 0, eps, largest)
        pivots = np.where(pivots == 0, instead, pivots)
    if n >= LARGE:
        return solve_triangular(np.where(np.eye(n, dtype=bool), pivots, r), c, True)
    rows = np.arange(n)

    def substitute(i: Any, x: Any) -> Any:
        k = n - 1 - i
        row = (c[k] - np.matmul(r[k], x)) / pivots[k]
        return np.where((rows == k)[:, None], row, x)

    return fori_loop(0, n, substitute, np.zeros_like(c))


def _reflected(k: Any, both: Any) -> Any:
    """Column k with zeros below its diagonal, and what that does to the others."""
    rows = np.arange(both.shape[0])
    column = np.where(rows >= k, both[:, k], 0.0)
    size = np.copysign(np.sqrt(np.sum(column * column)), both[k, k])
    is_zero = size == 0
    v = np.where(is_zero, 0.0, column / np.where(is_zero, 1.0, size) + (rows == k))
    along = np.matmul(v, both) / np.where(is_zero, 1.0, v[k])
    return both - v[:, None] * along
