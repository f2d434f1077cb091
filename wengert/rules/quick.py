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
from wengert.rules.blocks import ENOUGH, EXACT, FLOATING, HALF, at_once, by_elements, many
from wengert.rules.indexing import getitem, select, slices, take_along_axis
from wengert.rules.products import by_matrix
from wengert.rules.reductions import count, cumsum, prod
from wengert.rules.shapes import astype
from wengert.rules.stacks import matmul

_add: Function = np.add.reduce


def total(a: Any, axis: Any, keepdims: Any) -> Any:
    """np.sum, of a dtype in `EXACT`."""
    if axis is None and not keepdims:
        return _add(a, None, None, np.empty((), a.dtype))  # no scalar to be made an array
    return _add(a, axis=axis, keepdims=keepdims)


def _sum(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    if a.dtype in EXACT:
        return total(a, axis, keepdims)
    return _add(a, axis=axis, keepdims=keepdims)


def average(a: Any, axis: Any, keepdims: Any) -> Any:
    """np.mean, of one number at least and a dtype in `EXACT`."""
    if axis is None and not keepdims:
        return np.array(_add(a, None) / a.size, a.dtype)
    return _add(a, axis=axis, keepdims=keepdims) / count(a.shape, axis)


def _mean(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    if a.dtype in EXACT and a.size:
        return average(a, axis, keepdims)
    return np.mean(a, axis=axis, keepdims=keepdims)


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
    return x[index, ...] if type(index) is int else getitem.body(x, index)  # type: ignore[attr-defined]


def _slices(x: Any, index: Any) -> Any:
    return x[index] if type(index) is slice else getitem.body(x, index)  # type: ignore[attr-defined]


def _roll(a: Any, shift: Any, axis: Any = None) -> Any:
    if type(shift) is type(axis) is tuple and len(shift) == len(axis) == 1:
        shift, axis = shift[0], axis[0]
    if type(shift) is type(axis) is int and -a.ndim <= axis < a.ndim and a.size:
        start, before = -shift % a.shape[axis], _ALL[: axis % a.ndim]
        parts = a[(*before, slice(start, None))], a[(*before, slice(start))]
        return np.concatenate(parts, axis)
    return np.roll(a, shift, axis)


_ALL = (slice(None),) * 64  # no array has more dimensions


def _where(condition: Any, a: Any, b: Any) -> Any:
    """np.where takes a branch for each element, which a processor mispredicts half of the time."""
    if type(condition) is np.ndarray and condition.dtype == bool and a.dtype in FLOATING:
        arrays = [x for x in (a, b) if x.shape == condition.shape]
        others = [x.reshape(()) for x in (a, b) if x.shape != condition.shape and x.size == 1]
        if condition.size >= ENOUGH and arrays and len(arrays) + len(others) == 2:
            choose = np.where if arrays[0] is a else _where_not
            return by_elements(choose, condition, *arrays, shared=others)
    return np.where(condition, a, b)


def _where_not(condition: Any, b: Any, a: Any) -> Any:
    return np.where(condition, a, b)


def _astype(x: Any, dtype: Any) -> Any:
    if many(x, enough=ENOUGH) and dtype in FLOATING and HALF in (x.dtype, dtype):
        return by_elements(astype.body, x, settings=(dtype,))  # type: ignore[attr-defined]
    return astype.body(x, dtype)  # type: ignore[attr-defined]


def _power(a: Any, b: Any) -> Any:
    """a ** b, where b is a small whole number by products: NumPy's takes twenty times as long."""
    if type(b) in (int, float) and a.dtype in EXACT and b in PRODUCTS:
        return PRODUCTS[b](a)
    return np.power(a, b)


PRODUCTS: dict[float, Function] = {
    2: np.square,
    3: lambda a: np.square(a) * a,
    4: lambda a: np.square(np.square(a)),
    -1: np.reciprocal,
    -2: lambda a: np.reciprocal(np.square(a)),
    0.5: np.sqrt,
}

# Of these NumPy computes one number after the other.
_ONE_BY_ONE: list[Function] = [np.fmod, np.remainder, np.floor_divide, np.hypot, np.logaddexp]
_ONE_BY_ONE += [np.arccosh, np.copysign, np.deg2rad, np.fabs, np.heaviside, np.nextafter]
_ONE_BY_ONE += [np.rad2deg, np.sign]

QUICK: dict[Function, Function] = {
    **{function: at_once(function, ENOUGH) for function in _ONE_BY_ONE},
    np.where: _where,
    np.roll: _roll,
    astype: _astype,
    np.power: _power,
    np.sum: _sum,
    np.mean: _mean,
    np.cumsum: cumsum,
    np.prod: prod,
    np.matmul: _matmul,
    np.reshape: _reshape,
    np.transpose: _transpose,
    np.swapaxes: _swapaxes,
    np.expand_dims: _expand_dims,
    np.take_along_axis: take_along_axis,
    np.squeeze: _squeeze,
    select: _select,
    slices: _slices,
    **fft.FAST,
    **linalg.FAST,
}
