"""NumPy functions on plain arrays, without the Python that NumPy wraps around them.

`np.sum(a)` on a few numbers spends three quarters of its time on the way to `np.add.reduce`. The
recorders call these for plain arrays; what they mean, and their derivatives, stay NumPy's own. Of
large arrays and matrices SciPy computes some functions faster: those stand beside their rules.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.dispatch import Function
from wengert.rules import fft, linalg
from wengert.rules.indexing import getitem, select, slices
from wengert.rules.products import by_matrix
from wengert.rules.reductions import count, cumsum
from wengert.rules.stacks import matmul

EXACT = (np.dtype(np.float32), np.dtype(np.float64))
"""What is summed as it is: np.mean sums other dtypes in wider ones, np.sum integers."""
_add: Function = np.add.reduce


def _sum(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    if axis is None and not keepdims and a.dtype in EXACT:
        return _add(a, None, None, np.empty((), a.dtype))  # no scalar to be made an array
    return _add(a, axis=axis, keepdims=keepdims)


def _mean(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    if a.dtype not in EXACT or not a.size:
        return np.mean(a, axis=axis, keepdims=keepdims)
    if axis is None and not keepdims:
        return np.array(_add(a, None) / a.size, a.dtype)
    return _add(a, axis=axis, keepdims=keepdims) / count(a.shape, axis)


def _matmul(a: Any, b: Any) -> Any:
    if b.ndim == 2:
        return by_matrix(a, b)
    return matmul(a, b)


def _reshape(a: Any, shape: Any) -> Any:
    return a.reshape(shape)


def _transpose(a: Any, axes: Any = None) -> Any:
    return a.transpose(axes)


def _swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    return a.swapaxes(axis1, axis2)


def _expand_dims(a: Any, axis: Any) -> Any:
    if type(axis) is int and 0 <= axis <= a.ndim:
        return a[(*_ALL[:axis], None, ...)]
    return np.expand_dims(a, axis)


def _squeeze(a: Any, axis: Any = None) -> Any:
    return a.squeeze(axis)


def _select(x: Any, index: Any) -> Any:
    return x[index, ...] if type(index) is int else getitem.plain(x, index)  # type: ignore[attr-defined]


def _slices(x: Any, index: Any) -> Any:
    return x[index] if type(index) is slice else getitem.plain(x, index)  # type: ignore[attr-defined]


_ALL = (slice(None),) * 64  # no array has more dimensions


QUICK: dict[Function, Function] = {
    np.sum: _sum,
    np.mean: _mean,
    np.cumsum: cumsum,
    np.matmul: _matmul,
    np.reshape: _reshape,
    np.transpose: _transpose,
    np.swapaxes: _swapaxes,
    np.expand_dims: _expand_dims,
    np.squeeze: _squeeze,
    select: _select,
    slices: _slices,
    **fft.FAST,
    **linalg.FAST,
}
