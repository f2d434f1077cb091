"""Products of traced arrays, all of them products of matrices in the end."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.arrays.meanings.core import (
    array_of,
    as_on_tensors,
    means,
)
from wengert.arrays.traced import Trace


def matmul(trace: Trace, a: Any, b: Any) -> Any:
    x: Any
    y: Any
    a, b = array_of(trace, a), array_of(trace, b)
    if not a.ndim or not b.ndim:
        raise ValueError("matmul: an operand does not have enough dimensions (0, but 1 is needed)")
    row, column = a.ndim == 1, b.ndim == 1
    x = np.reshape(a, (1, a.shape[0])) if row else a
    y = np.reshape(b, (b.shape[0], 1)) if column else b
    if x.shape[-1] != y.shape[-2]:
        raise ValueError(
            f"matmul: shapes {list(a.shape)} and {list(b.shape)} do not fit: {x.shape[-1]} columns "
            f"of the first meet {y.shape[-2]} rows of the second"
        )
    kind = np.result_type(a.dtype, b.dtype)
    lead = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    shape = (*lead, x.shape[-2], y.shape[-1])
    args = (trace.cast(x.value, kind), trace.cast(y.value, kind))
    out = trace.array(trace.record(np.matmul, args, shape, kind))
    if row or column:
        kept = (*lead, *(() if row else shape[-2:-1]), *(() if column else shape[-1:]))
        return np.reshape(out, kept)
    return out


@means(np.dot)
def _dot(trace: Trace, a: Any, b: Any) -> Any:
    a, b = array_of(trace, a), array_of(trace, b)
    if not a.ndim or not b.ndim:
        return np.multiply(a, b)
    if b.ndim <= 2:
        return np.matmul(a, b)
    return np.tensordot(a, b, ((a.ndim - 1,), (b.ndim - 2,)))


@means(np.inner)
def _inner(trace: Trace, a: Any, b: Any) -> Any:
    a, b = array_of(trace, a), array_of(trace, b)
    if not a.ndim or not b.ndim:
        return np.multiply(a, b)
    return np.tensordot(a, b, ((a.ndim - 1,), (b.ndim - 1,)))


@means(np.tensordot)
def _tensordot(trace: Trace, a: Any, b: Any, axes: Any = 2) -> Any:
    from wengert.rules.products import _axes as pairs

    a, b = array_of(trace, a), array_of(trace, b)
    left, right = pairs(axes, a.ndim, b.ndim)
    free_a = [i for i in range(a.ndim) if i not in left]
    free_b = [i for i in range(b.ndim) if i not in right]
    n = math.prod(a.shape[i] for i in left)
    x = np.reshape(np.transpose(a, free_a + left), (math.prod(a.shape[i] for i in free_a), n))
    y = np.reshape(np.transpose(b, right + free_b), (n, math.prod(b.shape[i] for i in free_b)))
    shape = (*(a.shape[i] for i in free_a), *(b.shape[i] for i in free_b))
    return np.reshape(np.matmul(x, y), shape)


@means(np.einsum)
def _einsum(trace: Trace, subscripts: str, *operands: Any, optimize: Any = False) -> Any:
    from wengert.functions.products import einsum

    return as_on_tensors(einsum, (subscripts, *operands), {})


def contract(trace: Trace, subscripts: str, operands: Any) -> Any:
    """Our einsum of a list of operands: two at a time, each pair a product of matrices."""
    items = [array_of(trace, x) for x in operands]
    inputs, output = subscripts.split("->")
    terms = inputs.split(",")
    while len(items) > 1:
        b, tb = items.pop(1), terms.pop(1)
        a, ta = items.pop(0), terms.pop(0)
        wanted = "".join(dict.fromkeys(c for c in ta + tb if c in output + "".join(terms)))
        items.insert(0, _pair(a, ta, b, tb, wanted))
        terms.insert(0, wanted)
    return _arranged(items[0], terms[0], output).copy()


def _arranged(a: Any, term: str, output: str) -> Any:
    gone = tuple(i for i, c in enumerate(term) if c not in output)
    a = np.sum(a, axis=gone) if gone else a
    left = [c for c in term if c in output]
    return np.transpose(a, [left.index(c) for c in output])


def _pair(a: Any, ta: str, b: Any, tb: str, wanted: str) -> Any:
    """A product of two arrays with named dimensions, as one batched product of matrices."""
    alone_a = tuple(i for i, c in enumerate(ta) if c not in tb + wanted)
    alone_b = tuple(i for i, c in enumerate(tb) if c not in ta + wanted)
    if alone_a:
        a, ta = np.sum(a, axis=alone_a), "".join(c for c in ta if c in tb + wanted)
    if alone_b:
        b, tb = np.sum(b, axis=alone_b), "".join(c for c in tb if c in ta + wanted)
    both = [c for c in ta if c in tb]
    batch = [c for c in both if c in wanted]
    inner = [c for c in both if c not in wanted]
    rows, columns = [c for c in ta if c not in tb], [c for c in tb if c not in ta]
    size = dict(zip(tb, b.shape, strict=True))
    for c, n in zip(ta, a.shape, strict=True):
        size[c] = n if size.get(c, 1) == 1 else size[c]
    count = lambda names: math.prod(size[c] for c in names)
    grown = lambda x, t: (
        np.broadcast_to(x, tuple(size[c] for c in t))
        if any(size[c] != n for c, n in zip(t, x.shape, strict=True))
        else x
    )
    a, b = grown(a, ta), grown(b, tb)
    lead = tuple(size[c] for c in batch)
    x = np.transpose(a, [ta.index(c) for c in (*batch, *rows, *inner)])
    y = np.transpose(b, [tb.index(c) for c in (*batch, *inner, *columns)])
    out = np.matmul(
        np.reshape(x, (*lead, count(rows), count(inner))),
        np.reshape(y, (*lead, count(inner), count(columns))),
    )
    names = (*batch, *rows, *columns)
    out = np.reshape(out, tuple(size[c] for c in names))
    return np.transpose(out, [names.index(c) for c in wanted])
