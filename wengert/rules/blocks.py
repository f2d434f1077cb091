"""Formulas on large plain arrays, a block at a time: what is between stays in the cache.

A formula in NumPy goes through its arrays once for each of its steps, and the arrays between two
steps are as large as its result. Taken a block at a time they are small, and used again.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from wengert.dispatch import Function

_BYTES = 1 << 17  # of one array in a block: a few of them fit a second-level cache


def in_blocks(formula: Function) -> Function:
    """The same elementwise formula, which takes large plain arrays of one shape and dtype in blocks.

    >>> x = np.linspace(0, 1, 100_000)
    >>> bool(np.all(in_blocks(lambda x, y: 2 * x + y)(x, x) == 3 * x))
    True
    """

    @functools.wraps(formula)
    def run(*arrays: Any) -> Any:
        first = arrays[0]
        if not all(_alike(x, first) for x in arrays) or first.nbytes <= _BYTES:
            return formula(*arrays)
        out = np.empty(first.shape, first.dtype)
        made, flat = out.reshape(-1), [x.reshape(-1) for x in arrays]
        step = _BYTES // first.itemsize
        for start in range(0, first.size, step):
            made[start : start + step] = formula(*[x[start : start + step] for x in flat])
        return out

    return run


def _alike(x: Any, first: Any) -> bool:
    return (
        type(x) is np.ndarray
        and x.shape == first.shape
        and x.dtype is first.dtype
        and x.flags.c_contiguous
    )
