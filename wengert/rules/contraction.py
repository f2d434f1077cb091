"""einsum as products of matrices: two operands at a time, where BLAS does nearly all of the work.

`np.einsum` itself walks along all letters at once in loops of its own, which is quick to begin and,
on many numbers, ten times as slow as BLAS.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from wengert.rules.stacks import matmul

Step = Callable[[Any, str, Any, str, str], Any]

# Measured: with so many terms in all, and in each product of a batch, the way over BLAS is shorter.
MANY, ENOUGH = 1 << 13, 1 << 4


def in_pairs(subscripts: str, operands: list[Any], step: Step) -> Any:
    """einsum of several operands, `step` by step in an order that keeps what is between small.

    `step(a, a_term, b, b_term, wanted)` multiplies two, and sums over the letters not wanted.
    """
    inputs, output = subscripts.split("->")
    left = list(zip(operands, inputs.split(","), strict=True))
    for places in _order(subscripts, operands):
        chosen = [left.pop(i) for i in sorted(places, reverse=True)][::-1]
        (a, ta), *others = chosen
        while others:
            b, tb = others.pop(0)
            later = {*output, *(c for _, term in (*left, *others) for c in term)}
            wanted = [c for c in dict.fromkeys(ta + tb) if c in later]
            if not others and not left:
                wanted = list(output)
            a, ta = step(a, ta, b, tb, "".join(wanted)), "".join(wanted)
        left.append((a, ta))
    ((result, term),) = left
    return _arranged(result, term, output)


def _order(subscripts: str, operands: list[Any]) -> list[tuple[int, ...]]:
    """Which operands to multiply first, by their places among those that are left."""
    if len(operands) < 3:
        return [tuple(range(len(operands)))]
    shapes = [np.empty(x.shape, np.bool_) for x in operands]  # of which only the shapes are read
    return list(np.einsum_path(subscripts, *shapes, optimize=True)[0][1:])


def _arranged(a: Any, term: str, output: str) -> Any:
    if term == output:
        return a
    gone = tuple(i for i, c in enumerate(term) if c not in output)
    a = np.sum(a, axis=gone) if gone else a
    left = [c for c in term if c in output]
    return np.transpose(a, [left.index(c) for c in output])


def quickest(a: Any, ta: str, b: Any, tb: str, wanted: str) -> Any:
    """A step on plain arrays: a product of matrices where it is one, and BLAS is worth its call."""
    if _suits_blas(a, ta, b, tb, wanted):
        return as_matrices(a, ta, b, tb, wanted)
    return np.einsum(f"{ta},{tb}->{wanted}", a, b)


def _suits_blas(a: Any, ta: str, b: Any, tb: str, wanted: str) -> bool:
    if a.size * b.size < MANY or a.dtype != b.dtype or a.dtype.char not in "fdFD":
        return False
    size, plan = dict(zip(ta + tb, a.shape + b.shape, strict=False)), _plan(ta, tb, wanted)
    terms = math.prod(size.values())
    if terms < MANY or terms < ENOUGH * _count(plan.batch, size):
        return False
    return min(_count(plan.rows, size), _count(plan.columns, size)) > 1


class _Plan(NamedTuple):
    """What a product of two arrays with named dimensions is as one of stacks of matrices."""

    alone: tuple[tuple[int, ...], tuple[int, ...]]  # dimensions that only one operand has
    turned: bool  # whether the second is the factor on the left
    left: tuple[int, ...] | None  # the order of dimensions as batch, rows, inner; None: as it is
    right: tuple[int, ...] | None  # as batch, inner, columns
    batch: str
    rows: str
    inner: str
    columns: str
    last: tuple[int, ...] | None  # the order of the result's


@functools.lru_cache(256)
def _plan(ta: str, tb: str, wanted: str) -> _Plan:
    alone = [
        tuple(i for i, c in enumerate(term) if c not in other + wanted)
        for term, other in ((ta, tb), (tb, ta))
    ]
    ta, tb = ("".join(c for c in term if c in o + wanted) for term, o in ((ta, tb), (tb, ta)))
    turned = wanted[-1:] != "" and wanted[-1] not in tb
    if turned:
        ta, tb = tb, ta  # so that the result has its order in memory, too
    batch = "".join(c for c in wanted if c in ta and c in tb)
    inner = "".join(c for c in ta if c in tb and c not in wanted)
    rows, columns = ("".join(c for c in wanted if c not in term) for term in (tb, ta))
    orders = (
        (ta, batch + rows + inner),
        (tb, batch + inner + columns),
        (batch + rows + columns, wanted),
    )
    left, right, last = (
        None if term == order else tuple(term.index(c) for c in order) for term, order in orders
    )
    return _Plan((alone[0], alone[1]), turned, left, right, batch, rows, inner, columns, last)


def _count(names: str, size: dict[str, int]) -> int:
    return math.prod([size[c] for c in names])


def as_matrices(a: Any, ta: str, b: Any, tb: str, wanted: str) -> Any:
    """A product of two arrays with named dimensions, as one batched product of matrices."""
    plan = _plan(ta, tb, wanted)
    if plan.alone[0]:
        a, ta = np.sum(a, axis=plan.alone[0]), "".join(c for c in ta if c in tb + wanted)
    if plan.alone[1]:
        b, tb = np.sum(b, axis=plan.alone[1]), "".join(c for c in tb if c in ta + wanted)
    size = dict(zip(tb, b.shape, strict=True))
    for c, n in zip(ta, a.shape, strict=True):
        size[c] = n if size.get(c, 1) == 1 else size[c]
    a, b = _grown(a, ta, size), _grown(b, tb, size)
    if plan.turned:
        a, b = b, a
    lead = tuple([size[c] for c in plan.batch])
    rows, inner, columns = (_count(c, size) for c in (plan.rows, plan.inner, plan.columns))
    x, y = _turned(a, plan.left), _turned(b, plan.right)
    out = matmul(_shaped(x, (*lead, rows, inner)), _shaped(y, (*lead, inner, columns)))
    out = _shaped(out, tuple([size[c] for c in (*plan.batch, *plan.rows, *plan.columns)]))
    return _turned(out, plan.last)


def _turned(x: Any, order: tuple[int, ...] | None) -> Any:
    return x if order is None else np.transpose(x, order)


def _shaped(x: Any, shape: tuple[int, ...]) -> Any:
    return x if x.shape == shape else np.reshape(x, shape)


def _grown(x: Any, term: str, size: dict[str, int]) -> Any:
    """Dimensions of size 1 repeated against larger ones of the same name."""
    return x if x.shape == (shape := tuple([size[c] for c in term])) else np.broadcast_to(x, shape)
