"""Reductions on traced arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compile.trace.array import Trace
from wengert.compile.trace.core import (
    MEANINGS,
    array_of,
    axes_of,
    axis_of,
    in_dtype,
    means,
    reduced,
)
from wengert.errors import TracingError


def _reduction(function: Any, result: Callable[[Any], Any]) -> None:
    def meaning(
        trace: Trace, a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False,
        initial: Any = None, where: Any = True,
    ) -> Any:  # fmt: skip
        if where is not True or initial is not None:
            raise TracingError(
                f"np.{function.__name__} with where= or initial= is not available in a compiled "
                "function; choose with np.where first"
            )
        x = trace.operand(a)
        x = trace.cast(x, np.dtype(dtype) if dtype is not None else result(x.dtype))
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

    MEANINGS[function] = meaning


def _sum_dtype(dtype: Any) -> Any:
    return np.add.reduce(np.zeros(1, dtype)).dtype


_reduction(np.sum, _sum_dtype)
_reduction(np.prod, _sum_dtype)
_reduction(np.max, lambda dtype: dtype)
_reduction(np.min, lambda dtype: dtype)
_reduction(np.any, lambda dtype: np.dtype(bool))
_reduction(np.all, lambda dtype: np.dtype(bool))


@means(np.mean)
def _mean(trace: Trace, a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    a = array_of(trace, a)
    if dtype is None and a.dtype.kind in "biu":
        dtype = np.float64
    axes = axes_of(axis, a.ndim) if a.ndim else ()
    n = math.prod(a.shape[i] for i in axes)
    total = np.sum(in_dtype(a, dtype), axis=axes, keepdims=keepdims)
    return np.true_divide(total, n) if n else total * np.nan


@means(np.argmax)
def _argmax(trace: Trace, a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _arg(trace, np.argmax, a, axis, keepdims)


@means(np.argmin)
def _argmin(trace: Trace, a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _arg(trace, np.argmin, a, axis, keepdims)


def _arg(trace: Trace, function: Any, a: Any, axis: Any, keepdims: bool) -> Any:
    a = array_of(trace, a)
    if axis is None:
        flat = _arg(trace, function, np.reshape(a, (-1,)), 0, False)
        return np.reshape(flat, (1,) * a.ndim) if keepdims else flat
    if not a.ndim:
        return np.zeros_like(a, dtype=np.int64)
    i = axis_of(axis, a.ndim)
    shape = reduced(a.shape, (i,), keepdims)
    return trace.array(
        trace.record(function, (a.value,), shape, np.int64, axis=i, keepdims=bool(keepdims))
    )
