"""Products of traced arrays, all of them products of matrices in the end."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.arrays.translated import through_tensors
from wengert.compile.trace.array import Trace, TracedArray
from wengert.compile.trace.core import (
    array_of,
    means,
)
from wengert.rules import contraction


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

    return through_tensors(TracedArray, einsum, (subscripts, *operands), {})


def contract(trace: Trace, subscripts: str, operands: Any) -> Any:
    """Our einsum of a list of operands: two at a time, each pair a product of matrices."""
    items = [array_of(trace, x) for x in operands]
    return contraction.in_pairs(subscripts, items, contraction.as_matrices).copy()
