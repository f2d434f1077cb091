"""What meanings on traced arrays share."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.arrays import common
from wengert.compile.program.program import Value
from wengert.compile.trace.arrays.array import Trace


def view_by(function: Any, trace: Trace, x: Any, *args: Any, **kwargs: Any) -> Any:
    """A view of `x` that only a call of the function gives."""

    def call(value: Value) -> Value:
        return trace.otherwise(function, (trace.array(value), *args), kwargs).value

    whole = not args and not kwargs
    of_array = function if whole else lambda array: function(array, *args, **kwargs)
    return trace.as_array(x).peek(call, of_array)


def in_dtype(x: Any, dtype: Any) -> Any:
    return x if dtype is None else x.astype(dtype)


def promotable(x: Any) -> Any:
    """What np.result_type takes for a value: its dtype, or a number for a weak one."""
    if type(x) is not Value:
        return x
    return x.dtype.type(0).item() if x.weak else x.dtype


def is_of_truths(x: Any) -> bool:
    """Whether this is a truth value, or an array of some."""
    return type(x) is bool or getattr(x, "dtype", None) == np.bool_


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    if any(map(is_of_truths, axis if isinstance(axis, tuple) else (axis,))):
        raise TypeError("an integer is required")
    return tuple(sorted(common.axes_of(axis, ndim)))
