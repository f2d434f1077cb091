"""Products of sparse matrices, by `scipy.sparse`, and which elements meet in them."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.autograd import primitive


@primitive.linear(
    lambda g, dense, rows, columns: np.sum(g[rows] * dense[columns], axis=-1),
    lambda g, values, rows, columns, dense_shape: product(values, g, columns, rows, dense_shape[0]),
    None,
    None,
    None,
    opaque=True,
    result=lambda values, dense, rows, columns, count: np.empty(
        (count, dense.shape[1]), np.result_type(values, dense)
    ),
)
def product(values: Any, dense: Any, rows: Any, columns: Any, count: int) -> Any:
    """S @ dense, where S has `count` rows and these values at these places."""
    from scipy.sparse import coo_array

    matrix = coo_array((values, (rows, columns)), shape=(count, dense.shape[0]))
    return np.asarray(matrix.tocsr() @ dense)


def meetings(columns: Any, rows: Any) -> tuple[Any, Any]:
    """All pairs (p, q) with columns[p] == rows[q]."""
    order = np.argsort(rows, kind="stable")
    first = np.searchsorted(rows[order], columns, "left")
    count = np.searchsorted(rows[order], columns, "right") - first
    p = np.repeat(np.arange(len(columns)), count)
    within = np.arange(len(p)) - np.repeat(np.cumsum(count) - count, count)
    return p, order[np.repeat(first, count) + within]
