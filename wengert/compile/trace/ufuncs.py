"""Calls of ufuncs and of their methods."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.compile.program.program import Value
from wengert.compile.trace.array import Trace, TracedArray, shape_of
from wengert.compile.trace.core import (
    in_dtype,
    into,
    is_tensor,
    means,
    opaque,
    promotable,
    shape_depends,
)
from wengert.compile.trace.indexing import add_into
from wengert.compile.trace.products import matmul
from wengert.errors import TracingError

_REDUCTIONS: dict[Any, Any] = {
    np.add: np.sum,
    np.multiply: np.prod,
    np.maximum: np.max,
    np.minimum: np.min,
    np.logical_or: np.any,
    np.logical_and: np.all,
}
_RUNNING: dict[Any, Any] = {np.add: np.cumsum, np.multiply: np.cumprod}


@means(np.where)
def _where(trace: Trace, condition: Any, *choices: Any) -> Any:
    if not choices:
        raise shape_depends("np.where(condition) with one argument", "np.where(condition, a, b)")
    c = trace.operand(condition)
    a, b = (trace.operand(x) for x in choices)
    if type(c) is not Value:
        c = trace.program.constant(np.asarray(c))
    c = trace.cast(c, np.bool_)
    dtype = np.result_type(*(promotable(x) for x in (a, b)))
    shape = np.broadcast_shapes(c.shape, shape_of(a), shape_of(b))
    args = (c, trace.cast(a, dtype), trace.cast(b, dtype))
    return trace.array(trace.record(np.where, args, shape, dtype))


def of_ufunc(trace: Trace, ufunc: np.ufunc, method: str, inputs: Any, kwargs: Any) -> Any:
    """A call of a ufunc, or of its methods."""
    if any(is_tensor(x) for x in inputs):
        return NotImplemented
    out = kwargs.pop("out", None)
    where = kwargs.pop("where", True)
    dtype = kwargs.pop("dtype", None)
    if method == "at":
        return add_into(ufunc, *inputs)
    if method == "__call__":
        result = _call(trace, ufunc, inputs, dtype, kwargs)
    elif method == "reduce" and ufunc in _REDUCTIONS:
        axis = kwargs.get("axis", inputs[1] if len(inputs) > 1 else 0)
        result = _REDUCTIONS[ufunc](
            in_dtype(inputs[0], dtype), axis=axis, keepdims=bool(kwargs.get("keepdims", False))
        )
    elif method == "accumulate" and ufunc in _RUNNING:
        result = _RUNNING[ufunc](in_dtype(inputs[0], dtype), axis=kwargs.get("axis", 0))
    elif method == "outer":
        a, b = (np.asarray(x) if not isinstance(x, TracedArray) else x for x in inputs)
        result = ufunc(np.reshape(a, (*a.shape, *(1,) * b.ndim)), b)
    else:
        result = opaque(trace, getattr(ufunc, method), inputs, kwargs)
    if where is not True:
        if out is None:
            raise TracingError("a ufunc with where= needs out= in a compiled function")
        result = np.where(where, result, out[0])
    return result if out is None else into(out, result)


def _call(trace: Trace, ufunc: np.ufunc, inputs: Any, dtype: Any, kwargs: Any) -> Any:
    if ufunc is np.matmul:
        return matmul(trace, *inputs)
    if ufunc in (np.equal, np.not_equal) and any(isinstance(x, (str, type(None))) for x in inputs):
        return ufunc is np.not_equal
    if ufunc is np.divmod:
        return np.floor_divide(*inputs), np.remainder(*inputs)
    if ufunc is np.modf:
        whole = np.trunc(*inputs)
        return inputs[0] - whole, whole
    if ufunc.signature is not None or ufunc.nout > 1:
        return opaque(trace, ufunc, inputs, kwargs)
    operands = [trace.operand(x) for x in inputs]
    return trace.array(trace.elementwise(ufunc, operands, dtype))
