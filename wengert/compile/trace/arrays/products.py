"""Products of traced arrays, all of them products of matrices in the end."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.compile.trace.arrays.array import Trace
from wengert.rules import contraction, products


@Trace.means(np.matmul)
def _matmul(trace: Trace, a: Any, b: Any, **rest: Any) -> Any:
    x: Any
    y: Any
    a, b = trace.as_array(a), trace.as_array(b)
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


@Trace.means(products.einsum)
def _contract(trace: Trace, subscripts: str, operands: Any) -> Any:
    """Our einsum of a list of operands: two at a time, each pair a product of matrices."""
    items = [trace.as_array(x) for x in operands]
    y = contraction.in_pairs(subscripts, items, contraction.as_matrices).copy()
    dtype = np.result_type(*(x.dtype for x in items))  # sums of small ints are wider
    return y if y.dtype == dtype else y.astype(dtype)
