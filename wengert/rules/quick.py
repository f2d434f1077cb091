"""NumPy functions on plain arrays, without the Python that NumPy wraps around them.

`np.sum(a)` on a few numbers spends three quarters of its time on the way to `np.add.reduce`. The
recorders call these for plain arrays; what they mean, and their derivatives, stay NumPy's own. Of
many numbers machine code computes some functions faster, or SciPy: where that is longer than a line
it stands beside the rule.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.dispatch import Function
from wengert.rules import fft, linalg  # noqa: F401  (their functions have ways)
from wengert.rules.blocks import (
    BLOCK,
    ENOUGH,
    FLOATING,
    at_once,
    by_elements,
    each_line,
    reducible,
)
from wengert.rules.elementwise import ONE, quotient
from wengert.rules.indexing import getitem, select, slices
from wengert.rules.loops import ADDED, addable, exact_loops
from wengert.rules.products import by_matrix
from wengert.rules.reductions import adds_lines, by_lines, count, prod
from wengert.rules.shapes import astype
from wengert.rules.stacks import matmul
from wengert.rules.ways import QUICK as QUICK
from wengert.rules.ways import implemented, way

_add: Function = np.add.reduce


SUMMED = (*ADDED, np.dtype(np.int64))


def total(a: Any, axis: Any, keepdims: Any) -> Any:
    """np.sum, of a dtype in `SUMMED`."""
    if a.size >= ENOUGH and a.flags.c_contiguous:  # NumPy begins anew for each row
        if a.dtype.kind == "i":
            if axis is None:
                whole = _total_of_ints(a.reshape(-1))
                return np.array(whole).reshape((1,) * (a.ndim if keepdims else 0))
        elif a.dtype.kind == "c":
            if adds_lines(a, axis):
                return by_lines(a, axis, keepdims, 0)
        elif axis is None:
            if a.size >= BLOCK and not keepdims:
                return _total_of_many(a)
        elif type(axis) is int and -a.ndim <= axis < a.ndim:
            return _each_sum(a, axis, keepdims)
    if axis is None and not keepdims:
        return _add(a, None, None, np.empty((), a.dtype))  # no scalar to be made an array
    return _add(a, axis=axis, keepdims=keepdims)


_each_sum, _each_max, _each_min = each_line(np.sum), each_line(np.max), each_line(np.min)


_PARTS = 1 << 10


def _total_of_many(a: Any) -> Any:
    """Sums of parts, and their sum."""
    whole, numbers = a.size // _PARTS, a.reshape(-1)
    sums = _each_sum(numbers[: whole * _PARTS].reshape(whole, _PARTS), -1)
    rest = _add(numbers[whole * _PARTS :], None)
    return np.add(_add(sums, None), rest, np.empty((), a.dtype))


def _sum(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    return total(a, axis, keepdims) if a.dtype in SUMMED else _add(a, axis=axis, keepdims=keepdims)


@exact_loops
def _total_of_ints(a):
    total = 0
    for i in range(len(a)):
        total += a[i]
    return total


def average(a: Any, axis: Any, keepdims: Any) -> Any:
    """np.mean, of one number at least and a dtype in `ADDED`."""
    if axis is None and not keepdims and a.size < BLOCK:
        return np.array(_add(a, None) / a.size, a.dtype)
    return total(a, axis, keepdims) / np.asarray(count(a.shape, axis), a.dtype)


def _mean(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    if a.dtype in ADDED and a.size:
        return average(a, axis, keepdims)
    return np.mean(a, axis=axis, keepdims=keepdims)


def _max(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    if reducible(a, axis, ENOUGH):
        return _each_max(a, axis, keepdims)
    return _reduced(np.maximum, a, axis, keepdims)


def _min(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    if reducible(a, axis, ENOUGH):
        return _each_min(a, axis, keepdims)
    return _reduced(np.minimum, a, axis, keepdims)


def _reduced(function: Any, a: Any, axis: Any, keepdims: Any) -> Any:
    if axis is None and not keepdims:
        return function.reduce(a, None, None, np.empty((), a.dtype))
    return function.reduce(a, axis=axis, keepdims=keepdims)


def _matmul(a: Any, b: Any) -> Any:
    return by_matrix(a, b) if b.ndim == 2 else matmul(a, b)


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


def _stack(arrays: Any, axis: int = 0) -> Any:
    if type(axis) is int and 0 <= axis <= arrays[0].ndim:
        place = (*_ALL[:axis], None)
        return np.concatenate(tuple([a[place] for a in arrays]), axis)
    return np.stack(arrays, axis)


def _rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    if m.ndim == 2 and axes == (0, 1) and type(k) is int and k % 2:
        return m[:, ::-1].T if k % 4 == 1 else m.T[:, ::-1]
    return np.rot90(m, k, axes)


def _squeeze(a: Any, axis: Any = None) -> Any:
    return a.squeeze(axis)


def _select(x: Any, index: Any) -> Any:
    return x[index, ...] if type(index) is int else getitem.body(x, index)  # type: ignore[attr-defined]


def _slices(x: Any, index: Any) -> Any:
    if type(index) is slice:
        return x[index]
    # The ellipsis makes a lone element a view, as in `getitem`; None and numbers are taken there.
    if type(index) is tuple and {*map(type, index)} == _SLICE and len(index) <= x.ndim:
        return x[index]
    return getitem.body(x, index)  # type: ignore[attr-defined]


_SLICE = {slice}
_ALL = (slice(None),) * 64  # no array has more dimensions


def _power(a: Any, b: Any) -> Any:
    """a ** b, where b is a small whole number by products: NumPy's takes twenty times as long."""
    if type(b) in (int, float) and b in PRODUCTS and a.dtype in ADDED:
        return PRODUCTS[b](a)
    return np.power(a, b)


def _reciprocal(a: Any) -> Any:
    """np.reciprocal; of many numbers a division by NumPy takes half its time."""
    if a.dtype.kind == "c":
        return quotient(1, a)
    return np.divide(ONE[a.dtype], a) if a.dtype in ONE else np.reciprocal(a)


PRODUCTS: dict[float, Function] = {
    2: np.square,
    3: at_once(lambda a: np.square(a) * a, ENOUGH),
    4: at_once(lambda a: np.square(np.square(a)), ENOUGH),
    -1: _reciprocal,
    -2: lambda a: np.square(_reciprocal(a)),
    0.5: np.sqrt,
}


def _real(val: Any) -> Any:
    return val.real


QUICK |= {
    np.real: _real,
    np.power: _power,
    np.reciprocal: _reciprocal,
    np.sum: _sum,
    np.mean: _mean,
    np.max: _max,
    np.min: _min,
    np.prod: prod,
    np.matmul: _matmul,
    np.reshape: _reshape,
    np.transpose: _transpose,
    np.swapaxes: _swapaxes,
    np.expand_dims: _expand_dims,
    np.rot90: _rot90,
    np.squeeze: _squeeze,
    np.stack: _stack,
    select: _select,
    slices: _slices,
}

# ---- many numbers ----------------------------------------------------------------------------

_ONE_BY_ONE: list[Function] = [np.fmod, np.remainder, np.floor_divide, np.hypot, np.logaddexp]
_ONE_BY_ONE += [np.arccosh, np.copysign, np.deg2rad, np.exp2, np.fabs, np.heaviside, np.nextafter]
_ONE_BY_ONE += [np.rad2deg, np.sign]
"""Of these NumPy computes one number after the other."""
QUICK |= {function: at_once(function, ENOUGH) for function in _ONE_BY_ONE}


def _only(x: Any) -> Any:
    """The number in a tuple of one."""
    return x[0] if type(x) is tuple and len(x) == 1 else x


def _turns(a: Any, shift: Any, axis: Any = None) -> bool:
    """Whether elements that are there are shifted along one axis."""
    shift, axis = _only(shift), _only(axis)
    return type(shift) is type(axis) is int and -a.ndim <= axis < a.ndim and a.size > 0


@way(np.roll, _turns)
def _turned(a: Any, shift: Any, axis: Any) -> Any:
    axis = _only(axis)
    start, before = -_only(shift) % a.shape[axis], _ALL[: axis % a.ndim]
    parts = a[(*before, slice(start, None))], a[(*before, slice(start))]
    return np.concatenate(parts, axis)


def _chosen_one_by_one(condition: Any, a: Any, b: Any) -> bool:
    """Whether these are many, of which np.where takes a branch for each: a processor mispredicts
    half of those.
    """
    if type(condition) is not np.ndarray or condition.size < ENOUGH or condition.dtype.kind != "b":
        return False
    alike = a.shape == condition.shape, b.shape == condition.shape
    return any(alike) and all(y or x.size == 1 for x, y in zip((a, b), alike, strict=True))


@way(np.where, lambda condition, a, b: _chosen_one_by_one(condition, a, b) and a.dtype in FLOATING)
def _chosen_at_once(condition: Any, a: Any, b: Any) -> Any:
    if a.shape == b.shape:
        return by_elements(np.where, condition, a, b)
    if a.shape == condition.shape:
        return by_elements(np.where, condition, a, shared=[b.reshape(())])
    return by_elements(_where_not, condition, b, shared=[a.reshape(())])


def _lies_flat(x: Any, shape: tuple[int, ...]) -> bool:
    return x.size == 1 or (x.shape == shape and x.flags.c_contiguous)


@way(
    np.where,
    lambda condition, a, b: (
        _chosen_one_by_one(condition, a, b)
        and addable(a, b)
        and all(_lies_flat(x, condition.shape) for x in (condition, a, b))
    ),
)
def _chosen_by_loops(condition: Any, a: Any, b: Any) -> Any:
    out = np.empty(condition.shape, a.dtype)
    _choose(*(x.reshape(-1) for x in (condition, a, b, out)), a.size > 1, b.size > 1)
    return out


@exact_loops
def _choose(mask, a, b, out, all_a, all_b):
    for i in range(len(out)):
        p, q = a[i if all_a else 0], b[i if all_b else 0]
        out[i] = p if mask[i] else q


def _where_not(condition: Any, b: Any, a: Any) -> Any:
    return np.where(condition, a, b)


QUICK[astype] = implemented(astype.body)  # type: ignore[attr-defined]
