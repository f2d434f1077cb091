"""einsum as products of matrices: two operands at a time, where BLAS does nearly all of the work.

`np.einsum` itself walks along all letters at once in loops of its own, which is quick to begin and,
on many numbers, ten times as slow as BLAS.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.rules.stacks import matmul

Step = Callable[[Any, str, Any, str, str], Any]

# Measured: with so many terms in all, and in each product of a batch, the way over BLAS is shorter.
MANY, ENOUGH = 1 << 15, 1 << 8


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
    size = dict(zip(ta + tb, a.shape + b.shape, strict=False))
    count = lambda names: math.prod(size[c] for c in names)
    rows = count(c for c in wanted if c not in tb)
    columns = count(c for c in wanted if c not in ta)
    terms = count(size)
    batch = count(c for c in wanted if c in ta and c in tb)
    return min(rows, columns) > 1 and terms >= MANY and terms >= ENOUGH * batch


def as_matrices(a: Any, ta: str, b: Any, tb: str, wanted: str) -> Any:
    """A product of two arrays with named dimensions, as one batched product of matrices."""
    alone_a = tuple(i for i, c in enumerate(ta) if c not in tb + wanted)
    alone_b = tuple(i for i, c in enumerate(tb) if c not in ta + wanted)
    if alone_a:
        a, ta = np.sum(a, axis=alone_a), "".join(c for c in ta if c in tb + wanted)
    if alone_b:
        b, tb = np.sum(b, axis=alone_b), "".join(c for c in tb if c in ta + wanted)
    if wanted[-1:] and wanted[-1] not in tb:
        a, ta, b, tb = b, tb, a, ta  # so that the result has its order in memory, too
    both = [c for c in ta if c in tb]
    batch = [c for c in wanted if c in both]
    inner = [c for c in both if c not in wanted]
    rows, columns = [c for c in wanted if c not in tb], [c for c in wanted if c not in ta]
    size = dict(zip(tb, b.shape, strict=True))
    for c, n in zip(ta, a.shape, strict=True):
        size[c] = n if size.get(c, 1) == 1 else size[c]
    count = lambda names: math.prod(size[c] for c in names)
    a, b = _grown(a, ta, size), _grown(b, tb, size)
    lead = tuple(size[c] for c in batch)
    x = np.transpose(a, [ta.index(c) for c in (*batch, *rows, *inner)])
    y = np.transpose(b, [tb.index(c) for c in (*batch, *inner, *columns)])
    out = matmul(
        np.reshape(x, (*lead, count(rows), count(inner))),
        np.reshape(y, (*lead, count(inner), count(columns))),
    )
    names = (*batch, *rows, *columns)
    out = np.reshape(out, tuple(size[c] for c in names))
    return np.transpose(out, [names.index(c) for c in wanted])


def _grown(x: Any, term: str, size: dict[str, int]) -> Any:
    """Dimensions of size 1 repeated against larger ones of the same name."""
    shape = tuple(size[c] for c in term)
    return x if x.shape == shape else np.broadcast_to(x, shape)
