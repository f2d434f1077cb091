"""Reductions: of what is repeated, of one element, of a reduction, of a reshape.

Maxima, minima, any, all and sums of integers are exact. Sums and products of floating-point
numbers are taken in another order in `of_reduction` and `of_layout`; a sum of n equal numbers x is
n * x in `of_full` and `of_broadcast`, rounded once where a sum rounds at each step. What each term
of a sum is multiplied by, the sum is multiplied by in `of_multiples`, if it is there anyway: other
numbers round then, and one that is too large for its dtype is another one of the two.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.compile.program.infer import REDUCTIONS, reduced
from wengert.compile.program.passes.rewrite import Rewrite, Rules
from wengert.compile.program.program import Statement, Value

RULES = Rules()
SELECTING = frozenset({np.max, np.min, np.any, np.all})
"""Reductions of equal elements to such an element."""


def _reduced(s: Statement) -> tuple[Any, tuple[int, ...], bool]:
    """The array, the axes, and keepdims."""
    return s.args[0], s.kwargs["axis"], s.kwargs.get("keepdims", False)


@RULES.on(*REDUCTIONS)
def of_one_element(p: Rewrite, s: Statement) -> Any:
    """sum(x, axis) = x where the axis has size 1"""
    x, axes, _ = _reduced(s)
    if x.dtype != s.output.dtype:
        return None
    return p(np.reshape, x, s.output.shape) if all(x.shape[i] == 1 for i in axes) else None


@RULES.on(*REDUCTIONS)
def of_full(p: Rewrite, s: Statement) -> Any:
    """sum(full(k)) = full(n * k), max(full(k)) = full(k)"""
    x, axes, _ = _reduced(s)
    k = p.scalar(x)
    n = math.prod(x.shape[i] for i in axes)
    if k is None or n == 0 or x.dtype != s.output.dtype:
        return None
    if s.function is np.sum and _holds(n, x.dtype):
        return np.multiply(np.full((), k, x.dtype), np.full((), n, x.dtype)).item()
    return k if s.function in SELECTING or (s.function is np.prod and k in (0, 1)) else None


def _holds(n: int, dtype: np.dtype) -> bool:
    """Whether n is a number of this dtype."""
    if dtype.kind in "iu":
        return n <= np.iinfo(dtype).max
    digits = {2: 11, 4: 24, 8: 53}.get(dtype.itemsize if dtype.kind == "f" else 0, 0)
    return n < 1 << digits


@RULES.on(*SELECTING, np.sum)
def of_broadcast(p: Rewrite, s: Statement) -> Any:
    """sum(broadcast_to(x)) = n * sum(x), max(broadcast_to(x)) = max(x)"""
    x, axes, keepdims = _reduced(s)
    m = p.maker(x, np.broadcast_to)
    if not m or x.size == 0 or x.dtype != s.output.dtype:
        return None
    base = m.args[0]
    padded = (1,) * (len(x.shape) - len(base.shape)) + base.shape
    n = math.prod(x.shape[i] for i in axes if padded[i] == 1)
    if s.function is np.sum and not _holds(n, x.dtype):
        return None
    inner = p(s.function, p(np.reshape, base, padded), axis=axes, keepdims=keepdims)
    return p(np.multiply, inner, n) if s.function is np.sum else inner


@RULES.on(*REDUCTIONS)
def of_reduction(p: Rewrite, s: Statement) -> Any:
    """sum(sum(x, axis=0), axis=0) = sum(x, axis=(0, 1))"""
    x, axes, keepdims = _reduced(s)
    m = p.maker(x, s.function)
    if not m or not p.once(x):
        return None
    base, inner, kept = _reduced(m)
    if kept:
        both = {*inner, *axes}
    else:
        left = [i for i in range(len(base.shape)) if i not in inner]
        both = {*inner, *(left[i] for i in axes)}
    out = p(s.function, base, axis=tuple(sorted(both)), keepdims=kept and keepdims)
    return p(np.reshape, out, s.output.shape)


@RULES.on(*REDUCTIONS)
def of_layout(p: Rewrite, s: Statement) -> Any:
    """The sum of all elements of a reshape or a transpose is that of all elements of the array."""
    x, axes, _ = _reduced(s)
    m = p.maker(x, np.reshape, np.transpose)
    if not m or len(axes) != len(x.shape) or not axes:
        return None
    base: Value = m.args[0]
    if not base.shape:
        return None
    out = p(s.function, base, axis=tuple(range(len(base.shape))), keepdims=False)
    return p(np.reshape, out, s.output.shape)


@RULES.on(np.sum)
def of_negatives(p: Rewrite, s: Statement) -> Any:
    """sum(-x) = -sum(x)"""
    x, axes, keepdims = _reduced(s)
    m = p.maker(x, np.negative)
    if not m or not p.once(x):
        return None
    return p(np.negative, p(np.sum, m.args[0], axis=axes, keepdims=keepdims))


@RULES.on(np.sum)
def of_multiples(p: Rewrite, s: Statement) -> Any:
    """sum(a * x) = a * sum(x), where a is one number for all of a sum that is taken anyway"""
    x, axes, keepdims = _reduced(s)
    m = p.maker(x, np.multiply)
    for a, b in (m.args, m.args[::-1]) if m else ():
        if type(a) is not Value or type(b) is not Value or b.shape != x.shape:
            continue
        shape = (1,) * (len(x.shape) - len(a.shape)) + a.shape
        if a.dtype != b.dtype or a.dtype.kind != "f" or any(shape[i] != 1 for i in axes):
            continue
        for kept in (False, True):
            total = p.known(np.sum, b, axis=axes, keepdims=kept)
            if total is not None:
                factor = p(np.reshape, a, reduced(shape, axes, keepdims))
                return p(np.multiply, factor, p(np.reshape, total, s.output.shape))
    return None
