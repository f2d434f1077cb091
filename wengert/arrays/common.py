"""What functions mean on every kind of array that says nothing else: questions, and compositions.

Each is written in functions that kinds do say something about.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.arrays.kind import Kind
from wengert.dispatch import require
from wengert.rules import products

means = Kind.means

# ---- about arrays -----------------------------------------------------------------------------


@means(np.shape)
def _shape(kind: Kind, a: Any) -> tuple[int, ...]:
    return kind.as_array(a).shape


@means(np.ndim)
def _ndim(kind: Kind, a: Any) -> int:
    return len(kind.as_array(a).shape)


@means(np.size)
def _size(kind: Kind, a: Any, axis: Any = None) -> int:
    shape = kind.as_array(a).shape
    return math.prod(shape) if axis is None else shape[axis]


@means(np.iscomplexobj)
def _iscomplexobj(kind: Kind, x: Any) -> bool:
    return x.dtype.kind == "c"


@means(np.isrealobj)
def _isrealobj(kind: Kind, x: Any) -> bool:
    return x.dtype.kind != "c"


@means(np.array_equal)
def _array_equal(kind: Kind, a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    if np.shape(a1) != np.shape(a2):
        return False
    equal = np.equal(a1, a2)
    return np.all(equal | (np.isnan(a1) & np.isnan(a2)) if equal_nan else equal)


@means(np.allclose)
def _allclose(kind: Kind, a: Any, b: Any, *args: Any, **kwargs: Any) -> Any:
    return np.all(np.isclose(a, b, *args, **kwargs))


@means(require)
def _require(kind: Kind, holds: Any, error: Any, *args: Any) -> None:
    """What is wrong with numbers that are not known yet shows when they are."""


# ---- shapes -----------------------------------------------------------------------------------


@means(np.ravel)
def _ravel(kind: Kind, a: Any, order: Any = "C") -> Any:
    return np.reshape(kind.as_array(a), (-1,), order=order)


@means(np.expand_dims)
def _expand_dims(kind: Kind, a: Any, axis: Any) -> Any:
    a = kind.as_array(a)
    return np.reshape(a, np.expand_dims(np.broadcast_to(np.False_, a.shape), axis).shape)


@means(np.squeeze)
def _squeeze(kind: Kind, a: Any, axis: Any = None) -> Any:
    a = kind.as_array(a)
    return np.reshape(a, np.squeeze(np.broadcast_to(np.False_, a.shape), axis).shape)


@means(np.ufunc.outer)
def _outer(kind: Kind, ufunc: Any, a: Any, b: Any) -> Any:
    a, b = kind.as_array(a), kind.as_array(b)
    return ufunc(np.reshape(a, (*a.shape, *(1,) * b.ndim)), b)


@means(np.dot)
def _dot(kind: Kind, a: Any, b: Any) -> Any:
    a, b = kind.as_array(a), kind.as_array(b)
    if not a.ndim or not b.ndim:
        return np.multiply(a, b)
    if b.ndim <= 2:
        return np.matmul(a, b)
    return np.tensordot(a, b, ((a.ndim - 1,), (b.ndim - 2,)))


@means(np.tensordot)
def _tensordot(kind: Kind, a: Any, b: Any, axes: Any = 2) -> Any:
    a, b = kind.as_array(a), kind.as_array(b)
    left, right = products._axes(axes, a.ndim, b.ndim)
    free_a = [i for i in range(a.ndim) if i not in left]
    free_b = [i for i in range(b.ndim) if i not in right]
    n = math.prod(a.shape[i] for i in left)
    x = np.reshape(np.transpose(a, free_a + left), (math.prod(a.shape[i] for i in free_a), n))
    y = np.reshape(np.transpose(b, right + free_b), (n, math.prod(b.shape[i] for i in free_b)))
    shape = (*(a.shape[i] for i in free_a), *(b.shape[i] for i in free_b))
    return np.reshape(np.matmul(x, y), shape)


@means(products.affine)
def _affine(kind: Kind, x: Any, weight: Any, bias: Any) -> Any:
    out = np.matmul(x, np.transpose(weight))
    return out if bias is None else out + bias


# ---- dimensions -------------------------------------------------------------------------------


def axis_of(axis: Any, ndim: int) -> int:
    """A dimension counted from the front."""
    axis = axis.__index__()
    if not -max(ndim, 1) <= axis < max(ndim, 1):
        raise np.exceptions.AxisError(axis, ndim)
    return axis % ndim if ndim else 0


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """Several dimensions; all for None, and none of an array that has none."""
    if axis is None:
        return tuple(range(ndim))
    if not ndim:
        return ()
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    return tuple(axis_of(i, ndim) for i in axes)
