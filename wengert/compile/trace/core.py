"""The table of meanings, and what its parts share; the meaning of what has none of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compile.program.program import Shape, Value, mapped
from wengert.compile.trace.array import Trace, TracedArray
from wengert.dispatch import meanings
from wengert.errors import TracingError
from wengert.history.location import here, line_of

MEANINGS: dict[Any, Callable[..., Any]] = {}
OPAQUE: set[Any] = set()
"""Primitives whose bodies fill arrays step by step: they stay one statement."""


means = meanings(MEANINGS)
"""Say what functions mean on traced arrays; the trace is passed first."""


def is_tensor(x: Any) -> bool:
    if type(x) in (list, tuple):
        return any(is_tensor(item) for item in x)
    return (hasattr(type(x), "__array_function__") and not isinstance(x, np.ndarray)) and type(
        x
    ) is not TracedArray


def into(out: Any, result: Any) -> Any:
    """`out=`: the array named takes the result."""
    target = out[0] if isinstance(out, tuple) else out
    if target is None:
        return result
    writable(target).write(result)
    return target


def writable(x: Any) -> TracedArray:
    """The array that a function writes into."""
    if type(x) is TracedArray:
        return x
    raise TracingError(
        f"a compiled function writes into an array made outside of it, at\n  "
        f"{line_of(*here())}\nReturn the result instead, or make the array inside with "
        "np.zeros_like(x) of an argument; tensors may be written in place."
    )


def for_reading(function: Any, trace: Trace, x: Any, *args: Any, **kwargs: Any) -> Any:
    """A view of `x` that only a call of the function gives."""

    def call(value: Value) -> Value:
        return opaque(trace, function, (trace.array(value), *args), kwargs).value

    return array_of(trace, x).peek(call, lambda array: function(array, *args, **kwargs))


def in_dtype(x: Any, dtype: Any) -> Any:
    return x if dtype is None else x.astype(dtype)


def promotable(x: Any) -> Any:
    """What np.result_type takes for a value: its dtype, or a number for a weak one."""
    if type(x) is not Value:
        return x
    return x.dtype.type(0).item() if x.weak else x.dtype


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    found = axis if isinstance(axis, (tuple, list)) else (axis,)
    return tuple(sorted(axis_of(a, ndim) for a in found))


def axis_of(axis: Any, ndim: int) -> int:
    axis = axis.__index__()
    if not -max(ndim, 1) <= axis < max(ndim, 1):
        raise np.exceptions.AxisError(axis, ndim)
    return axis % ndim if ndim else 0


def reduced(shape: Shape, axes: tuple[int, ...], keepdims: bool) -> Shape:
    if keepdims:
        return tuple(1 if i in axes else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in axes)


def array_of(trace: Trace, x: Any) -> TracedArray:
    if type(x) is TracedArray:
        return x
    value = trace.operand(x)
    return trace.array(value if type(value) is Value else trace.program.constant(np.asarray(value)))


def shape_depends(what: str, instead: str) -> TracingError:
    return TracingError(
        f"{what} at\n  {line_of(*here())}\n"
        "Its shape depends on numbers that are not known while the function is compiled. "
        f"Keep the full shape and choose, as in {instead}."
    )


def opaque(trace: Trace, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """One statement that calls the function; its results' shapes are learned on zeros."""
    instead = _SHAPED_BY_NUMBERS.get(function)
    if instead is not None:
        raise shape_depends(f"np.{function.__name__}", instead)
    args, kwargs = _values(trace, args), _values(trace, kwargs)
    like = getattr(function, "result", None) or function
    with np.errstate(all="ignore"):
        made = like(*mapped(args, _zero), **mapped(kwargs, _zero))
    several = type(made) in (tuple, list) or isinstance(made, tuple)
    results = [np.asarray(item) for item in (made if several else (made,))]
    outputs = trace.append(function, args, kwargs, [(r.shape, r.dtype) for r in results])
    arrays = tuple(map(trace.array, outputs))
    return arrays if several else arrays[0]


def _zero(value: Value) -> Any:
    """A stand-in that a function of unknown behaviour accepts: ones on the diagonal, zeros beside.

    A matrix of zeros would be singular; an index of zeros is in range.
    """
    if len(value.shape) >= 2 and value.dtype.kind in "fc":
        return np.broadcast_to(np.eye(*value.shape[-2:], dtype=value.dtype), value.shape)
    return np.zeros(value.shape, value.dtype)


def _values(trace: Trace, item: Any) -> Any:
    if type(item) is TracedArray:
        return item.value
    if isinstance(item, np.ndarray):
        return trace.external(item)
    if type(item) in (tuple, list):
        return type(item)(_values(trace, part) for part in item)
    if type(item) is dict:
        return {key: _values(trace, part) for key, part in item.items()}
    return item


class Postponed(Exception):
    """Raised while tracing a step that later ones do not repeat: it has to run eagerly."""


_SHAPED_BY_NUMBERS = {
    np.nonzero: "np.where(condition, a, b)",
    np.argwhere: "np.where(condition, a, b)",
    np.flatnonzero: "np.where(condition, a, b)",
    np.unique: "np.sort(x), whose shape is known",
    np.compress: "np.where(condition, a, 0)",
    np.extract: "np.where(condition, a, 0)",
    np.bincount: "np.add.at(zeros, index, 1)",
}
