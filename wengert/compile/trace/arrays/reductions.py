"""Reductions on traced arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.arrays.common import axis_of
from wengert.arrays.facts import REDUCED_BY, REDUCTIONS, RUNNING
from wengert.compile.program.infer import reduced
from wengert.compile.trace.arrays.array import Trace
from wengert.compile.trace.arrays.core import axes_of, in_dtype
from wengert.errors import TracingError
from wengert.history.location import here, line_of


@Trace.pattern(*REDUCED_BY)
def _reduction(
    function: Any, trace: Trace, a: Any, axis: Any = None, dtype: Any = None,
    keepdims: bool = False, initial: Any = None, where: Any = True,
) -> Any:  # fmt: skip
    if where is not True or initial is not None:
        raise TracingError(
            f"np.{function.__name__} with where= or initial= in a compiled function, at\n  "
            f"{line_of(*here())}\nChoose with np.where first, and add what it is to begin with."
        )
    x = trace.operand(a)
    x = trace.cast(x, np.dtype(dtype) if dtype is not None else _result(function, x.dtype))
    axes = axes_of(axis, len(x.shape)) if x.shape else ()
    if not axes:
        return trace.array(x)
    shape = reduced(x.shape, axes, keepdims)
    if function in (np.max, np.min) and not all(x.shape[i] for i in axes):
        raise ValueError(
            f"zero-size array to reduction operation {function.__name__} which has no identity"
        )
    return trace.array(
        trace.record(function, (x,), shape, x.dtype, axis=axes, keepdims=bool(keepdims))
    )


def _result(function: Any, dtype: Any) -> Any:
    """The dtype of what a reduction returns."""
    if function in (np.any, np.all):
        return np.dtype(bool)
    return dtype if function in (np.max, np.min) else np.add.reduce(np.zeros(1, dtype)).dtype


@Trace.means(np.ufunc.reduce)
def _reduce(
    trace: Trace, ufunc: Any, a: Any, axis: Any = 0, dtype: Any = None, keepdims: bool = False,
    **rest: Any,
) -> Any:  # fmt: skip
    if ufunc in REDUCTIONS:
        return REDUCTIONS[ufunc](in_dtype(a, dtype), axis=axis, keepdims=bool(keepdims), **rest)
    return trace.otherwise(ufunc.reduce, (a, axis), {"keepdims": keepdims, **rest})


@Trace.means(np.ufunc.accumulate)
def _accumulate(trace: Trace, ufunc: Any, a: Any, axis: int = 0, dtype: Any = None) -> Any:
    if ufunc in RUNNING:
        return RUNNING[ufunc](in_dtype(a, dtype), axis=axis)
    return trace.otherwise(ufunc.accumulate, (a, axis), {})


@Trace.means(np.mean)
def _mean(trace: Trace, a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    a = trace.as_array(a)
    if dtype is None and a.dtype.kind in "biu":
        dtype = np.float64
    axes = axes_of(axis, a.ndim) if a.ndim else ()
    n = math.prod(a.shape[i] for i in axes)
    total = np.sum(in_dtype(a, dtype), axis=axes, keepdims=keepdims)
    mean = np.true_divide(total, n) if n else total * np.nan
    return mean if dtype is None else mean.astype(dtype)  # of ints too, if those are asked for


@Trace.pattern(np.argmax, np.argmin)
def _arg(function: Any, trace: Trace, a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    a = trace.as_array(a)
    if axis is None:
        flat = _arg(function, trace, np.reshape(a, (-1,)), 0, False)
        return np.reshape(flat, (1,) * a.ndim) if keepdims else flat
    if not a.ndim:
        return np.zeros_like(a, dtype=np.int64)
    i = axis_of(axis, a.ndim)
    shape = reduced(a.shape, (i,), keepdims)
    return trace.array(
        trace.record(function, (a.value,), shape, np.int64, axis=i, keepdims=bool(keepdims))
    )
