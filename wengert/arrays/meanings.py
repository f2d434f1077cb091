"""What NumPy's functions mean on traced arrays: statements of a program's small vocabulary.

A function that is not named here is, in this order: written in terms of others by its own body (our
primitives) or by the meaning it has on Tensors; or one opaque statement, which the compiled program
carries out by calling it. Its shape is then learned by running it once on zeros.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.arrays.traced import Trace, TracedArray, shape_of
from wengert.compile import operations
from wengert.compile.program import Shape, Value, mapped
from wengert.compile.strides import reshaped, row_major
from wengert.errors import TracingError
from wengert.history.location import here, line_of

MEANINGS: dict[Any, Callable[..., Any]] = {}
OPAQUE: set[Any] = set()
"""Primitives whose bodies fill arrays step by step: they stay one statement."""


def means(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Say what functions mean on traced arrays; the trace is passed first."""

    def note(meaning: Callable[..., Any]) -> Callable[..., Any]:
        for function in functions:
            MEANINGS[function] = meaning
        return meaning

    return note


def of_function(trace: Trace, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of a NumPy function or a primitive with traced arrays among its arguments."""
    from wengert.functions.numpy import TRANSLATIONS

    if any(_is_tensor(x) for x in (*args, *kwargs.values())):
        return NotImplemented
    out = kwargs.pop("out", None)
    if out is not None:
        return _into(out, of_function(trace, function, args, kwargs))
    kwargs = {k: v for k, v in kwargs.items() if v is not np._NoValue}
    if not OPAQUE:
        primitives()
    meaning = MEANINGS.get(function)
    if meaning is not None:
        return meaning(trace, *args, **kwargs)
    plain = getattr(function, "plain", None)
    if plain is not None and function not in OPAQUE:
        return plain(*args, **kwargs)
    if function in TRANSLATIONS:
        return _as_on_tensors(TRANSLATIONS[function], args, kwargs)
    return opaque(trace, function, args, kwargs)


def _is_tensor(x: Any) -> bool:
    if type(x) in (list, tuple):
        return any(_is_tensor(item) for item in x)
    return (hasattr(type(x), "__array_function__") and not isinstance(x, np.ndarray)) and type(
        x
    ) is not TracedArray


def _as_on_tensors(meaning: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Through the meaning on Tensors, which is written in functions that have one here."""
    from wengert.history import modes
    from wengert.tensor import Tensor, wrap

    def wrapped(x: Any) -> Any:
        if type(x) in (list, tuple):
            return type(x)(wrapped(item) for item in x)
        return wrap(x) if type(x) is TracedArray else x

    def bare(x: Any) -> Any:
        if type(x) in (list, tuple):
            return type(x)(bare(item) for item in x)
        return x._array if isinstance(x, Tensor) else x

    with modes.no_grad():
        return bare(meaning(*wrapped(args), **{k: wrapped(v) for k, v in kwargs.items()}))


def _into(out: Any, result: Any) -> Any:
    """`out=`: the array named takes the result."""
    target = out[0] if isinstance(out, tuple) else out
    if target is None:
        return result
    _target(target).write(result)
    return target


# ---- ufuncs ---------------------------------------------------------------------------------

_REDUCTIONS: dict[Any, Any] = {
    np.add: np.sum,
    np.multiply: np.prod,
    np.maximum: np.max,
    np.minimum: np.min,
    np.logical_or: np.any,
    np.logical_and: np.all,
}
_RUNNING: dict[Any, Any] = {np.add: np.cumsum, np.multiply: np.cumprod}


def of_ufunc(trace: Trace, ufunc: np.ufunc, method: str, inputs: Any, kwargs: Any) -> Any:
    """A call of a ufunc, or of its methods."""
    if any(_is_tensor(x) for x in inputs):
        return NotImplemented
    out = kwargs.pop("out", None)
    where = kwargs.pop("where", True)
    dtype = kwargs.pop("dtype", None)
    if method == "at":
        return _at(ufunc, *inputs)
    if method == "__call__":
        result = _call(trace, ufunc, inputs, dtype, kwargs)
    elif method == "reduce" and ufunc in _REDUCTIONS:
        axis = kwargs.get("axis", inputs[1] if len(inputs) > 1 else 0)
        result = _REDUCTIONS[ufunc](
            _as(inputs[0], dtype), axis=axis, keepdims=bool(kwargs.get("keepdims", False))
        )
    elif method == "accumulate" and ufunc in _RUNNING:
        result = _RUNNING[ufunc](_as(inputs[0], dtype), axis=kwargs.get("axis", 0))
    elif method == "outer":
        a, b = (np.asarray(x) if not isinstance(x, TracedArray) else x for x in inputs)
        result = ufunc(np.reshape(a, (*a.shape, *(1,) * b.ndim)), b)
    else:
        result = opaque(trace, getattr(ufunc, method), inputs, kwargs)
    if where is not True:
        if out is None:
            raise TracingError("a ufunc with where= needs out= in a compiled function")
        result = np.where(where, result, out[0])
    return result if out is None else _into(out, result)


def _as(x: Any, dtype: Any) -> Any:
    return x if dtype is None else x.astype(dtype)


def _call(trace: Trace, ufunc: np.ufunc, inputs: Any, dtype: Any, kwargs: Any) -> Any:
    if ufunc is np.matmul:
        return _matmul(trace, *inputs)
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


def _at(ufunc: np.ufunc, x: Any, index: Any, value: Any = None) -> None:
    if type(x) is not TracedArray:
        raise TracingError(
            f"np.{ufunc.__name__}.at into an array made outside of the compiled function, at\n  "
            f"{line_of(*here())}\nMake it inside with np.zeros_like(x) of an argument."
        )
    if ufunc is not np.add:
        raise TracingError(f"np.{ufunc.__name__}.at is not available in a compiled function")
    x.become(added(x.trace, x.value, index, value))


def added(trace: Trace, x: Value, index: Any, value: Any) -> Value:
    """What `x` holds after `np.add.at(x, index, value)`."""
    places, _ = _index(trace, x.shape, index)
    v = trace.cast(trace.operand(value), x.dtype)
    return trace.record(operations.added, (x, places, v), x.shape, x.dtype)


def _target(x: Any) -> TracedArray:
    """The array that a function writes into."""
    if type(x) is TracedArray:
        return x
    raise TracingError(
        f"a compiled function writes into an array made outside of it, at\n  "
        f"{line_of(*here())}\nReturn the result instead, or make the array inside with "
        "np.zeros_like(x) of an argument; tensors may be written in place."
    )


@means(np.where)
def _where(trace: Trace, condition: Any, *choices: Any) -> Any:
    if not choices:
        raise _shape_depends("np.where(condition) with one argument", "np.where(condition, a, b)")
    c = trace.operand(condition)
    a, b = (trace.operand(x) for x in choices)
    if type(c) is not Value:
        c = trace.program.constant(np.asarray(c))
    c = trace.cast(c, np.bool_)
    dtype = np.result_type(*(_promotable(x) for x in (a, b)))
    shape = np.broadcast_shapes(c.shape, shape_of(a), shape_of(b))
    args = (c, trace.cast(a, dtype), trace.cast(b, dtype))
    return trace.array(trace.record(np.where, args, shape, dtype))


def _promotable(x: Any) -> Any:
    """What np.result_type takes for a value: its dtype, or a number for a weak one."""
    if type(x) is not Value:
        return x
    return x.dtype.type(0).item() if x.weak else x.dtype


# ---- reductions -----------------------------------------------------------------------------


def _axes(axis: Any, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    found = axis if isinstance(axis, (tuple, list)) else (axis,)
    return tuple(sorted(_axis(a, ndim) for a in found))


def _axis(axis: Any, ndim: int) -> int:
    axis = axis.__index__()
    if not -max(ndim, 1) <= axis < max(ndim, 1):
        raise np.exceptions.AxisError(axis, ndim)
    return axis % ndim if ndim else 0


def _reduced(shape: Shape, axes: tuple[int, ...], keepdims: bool) -> Shape:
    if keepdims:
        return tuple(1 if i in axes else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in axes)


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
        axes = _axes(axis, len(x.shape)) if x.shape else ()
        if not axes:
            return trace.array(x)
        shape = _reduced(x.shape, axes, keepdims)
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
    a = _array(trace, a)
    if dtype is None and a.dtype.kind in "biu":
        dtype = np.float64
    axes = _axes(axis, a.ndim) if a.ndim else ()
    n = math.prod(a.shape[i] for i in axes)
    total = np.sum(_as(a, dtype), axis=axes, keepdims=keepdims)
    return np.true_divide(total, n) if n else total * np.nan


def _array(trace: Trace, x: Any) -> TracedArray:
    if type(x) is TracedArray:
        return x
    value = trace.operand(x)
    return trace.array(value if type(value) is Value else trace.program.constant(np.asarray(value)))


@means(np.argmax)
def _argmax(trace: Trace, a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _arg(trace, np.argmax, a, axis, keepdims)


@means(np.argmin)
def _argmin(trace: Trace, a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _arg(trace, np.argmin, a, axis, keepdims)


def _arg(trace: Trace, function: Any, a: Any, axis: Any, keepdims: bool) -> Any:
    a = _array(trace, a)
    if axis is None:
        flat = _arg(trace, function, np.reshape(a, (-1,)), 0, False)
        return np.reshape(flat, (1,) * a.ndim) if keepdims else flat
    if not a.ndim:
        return np.zeros_like(a, dtype=np.int64)
    i = _axis(axis, a.ndim)
    shape = _reduced(a.shape, (i,), keepdims)
    return trace.array(
        trace.record(function, (a.value,), shape, np.int64, axis=i, keepdims=bool(keepdims))
    )


# ---- shapes ---------------------------------------------------------------------------------


@means(np.reshape)
def _reshape(trace: Trace, a: Any, shape: Any = None, order: str = "C", **rest: Any) -> Any:
    a = _array(trace, a)
    shape = rest.get("newshape", shape)
    if order not in ("C", "A"):
        if order == "F":
            back = tuple(reversed(np.empty(a.shape, bool).reshape(shape).shape))
            return np.transpose(np.reshape(np.transpose(a), back))
        raise TracingError(f"reshape with order={order!r} is not available in a compiled function")
    wanted = (
        np.broadcast_to(np.False_, a.shape).reshape(shape).shape if a.size else _empty(a, shape)
    )
    if wanted == a.shape:
        return a.look(operations.view, (slice(None),) * a.ndim, a.shape)
    if reshaped(a.shape, _steps_of(a), wanted) is None:  # NumPy copies
        return trace.array(trace.record(np.reshape, (a.value, wanted), wanted, a.dtype))
    return a.look(np.reshape, wanted, wanted)


def _steps_of(a: TracedArray) -> tuple[int, ...]:
    """The strides, in elements, of a view of an array that is row-major."""
    shape = a.storage.value.shape
    steps = row_major(shape)
    for step in a.path:
        if step.function is np.reshape:
            steps = reshaped(shape, steps, step.shape) or row_major(step.shape)
        elif step.function is np.transpose:
            steps = tuple(steps[i] for i in step.args)
        elif step.function is np.broadcast_to:
            lead = len(step.shape) - len(shape)
            kept = zip(shape, step.shape[lead:], steps, strict=True)
            steps = (0,) * lead + tuple(0 if n != m else s for n, m, s in kept)
        else:
            sizes, found = iter(zip(shape, steps, strict=True)), []
            for place in step.args:
                if place is None:
                    found.append(0)
                elif type(place) is slice:
                    found.append(next(sizes)[1] * (place.step or 1))
                else:
                    next(sizes)
            steps = tuple(found)
        shape = step.shape
    return steps


def _empty(a: TracedArray, shape: Any) -> Shape:
    return np.empty(a.shape, bool).reshape(shape).shape


@means(np.ravel)
def _ravel(trace: Trace, a: Any, order: str = "C") -> Any:
    return np.reshape(_array(trace, a), (-1,))


@means(np.transpose)
def _transpose(trace: Trace, a: Any, axes: Any = None) -> Any:
    a = _array(trace, a)
    order = tuple(range(a.ndim))[::-1] if axes is None else tuple(_axis(i, a.ndim) for i in axes)
    if sorted(order) != list(range(a.ndim)):
        raise ValueError("axes don't match array")
    return a.look(np.transpose, order, tuple(a.shape[i] for i in order))


@means(np.swapaxes)
def _swapaxes(trace: Trace, a: Any, axis1: int, axis2: int) -> Any:
    order = list(range(a.ndim))
    i, j = _axis(axis1, a.ndim), _axis(axis2, a.ndim)
    order[i], order[j] = order[j], order[i]
    return np.transpose(a, order)


@means(np.matrix_transpose)
def _matrix_transpose(trace: Trace, x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


@means(np.moveaxis)
def _moveaxis(trace: Trace, a: Any, source: Any, destination: Any) -> Any:
    return np.transpose(a, _moved(a.ndim, source, destination))


def _moved(ndim: int, source: Any, destination: Any) -> list[int]:
    places = np.lib.stride_tricks.as_strided(
        np.zeros(1, np.int8), (1,) * ndim, tuple(range(1, ndim + 1))
    )
    return [s - 1 for s in np.moveaxis(places, source, destination).strides]


@means(np.squeeze)
def _squeeze(trace: Trace, a: Any, axis: Any = None) -> Any:
    a = _array(trace, a)
    gone = [i for i, n in enumerate(a.shape) if n == 1] if axis is None else _axes(axis, a.ndim)
    if any(a.shape[i] != 1 for i in gone):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return np.reshape(a, tuple(n for i, n in enumerate(a.shape) if i not in gone))


@means(np.expand_dims)
def _expand_dims(trace: Trace, a: Any, axis: Any) -> Any:
    return np.reshape(a, np.expand_dims(np.broadcast_to(np.False_, a.shape), axis).shape)


@means(np.broadcast_to)
def _broadcast_to(trace: Trace, array: Any, shape: Any, subok: bool = False) -> Any:
    array = _array(trace, array)
    wanted = np.broadcast_to(np.broadcast_to(np.False_, array.shape), shape).shape
    if wanted == array.shape:
        return array.look(operations.view, (slice(None),) * array.ndim, array.shape)
    return array.look(np.broadcast_to, wanted, wanted)


@means(np.flip)
def _flip(trace: Trace, m: Any, axis: Any = None) -> Any:
    axes = _axes(axis, m.ndim)
    return m[tuple(slice(None, None, -1 if i in axes else None) for i in range(m.ndim))]


@means(np.roll)
def _roll(trace: Trace, a: Any, shift: Any, axis: Any = None) -> Any:
    if axis is None:
        return np.reshape(np.roll(np.reshape(a, (-1,)), shift, 0), a.shape)
    for by, i in np.broadcast(shift, axis):
        i = _axis(i, a.ndim)
        n = a.shape[i]
        by = by % n if n else 0
        before = (slice(None),) * i
        if by:
            a = np.concatenate([a[(*before, slice(n - by, n))], a[(*before, slice(0, n - by))]], i)
    return a.copy()


@means(np.tril)
def _tril(trace: Trace, m: Any, k: int = 0) -> Any:
    return _triangle(m, k, lower=True)


@means(np.triu)
def _triu(trace: Trace, m: Any, k: int = 0) -> Any:
    return _triangle(m, k - 1, lower=False)


def _triangle(m: Any, k: int, lower: bool) -> Any:
    if m.ndim == 1:
        m = np.broadcast_to(m, (m.shape[0], m.shape[0]))
    rows, columns = m.shape[-2:]
    mask = np.tri(rows, columns, k, dtype=np.bool_)
    return np.where(mask if lower else ~mask, m, m.dtype.type(0).item())


@means(np.concatenate)
def _concatenate(trace: Trace, arrays: Any, axis: Any = 0, dtype: Any = None, **rest: Any) -> Any:
    items: list[Any] = [_array(trace, x) for x in arrays]
    if axis is None:
        items, axis = [np.reshape(x, (-1,)) for x in items], 0
    i = _axis(axis, items[0].ndim)
    kind = np.dtype(dtype) if dtype is not None else np.result_type(*(x.dtype for x in items))
    shapes = [x.shape for x in items]
    if any(s[:i] + s[i + 1 :] != shapes[0][:i] + shapes[0][i + 1 :] for s in shapes):
        raise ValueError(
            "all the input array dimensions except for the concatenation axis must match exactly, "
            f"but found shapes {shapes}"
        )
    shape = (*shapes[0][:i], sum(s[i] for s in shapes), *shapes[0][i + 1 :])
    values = tuple(trace.cast(x.value, kind) for x in items)
    return trace.array(trace.record(np.concatenate, (values,), shape, kind, axis=i))


@means(np.stack)
def _stack(trace: Trace, arrays: Any, axis: Any = 0, **rest: Any) -> Any:
    items = [_array(trace, x) for x in arrays]
    if len({x.shape for x in items}) > 1:
        raise ValueError("all input arrays must have the same shape")
    i = axis % (items[0].ndim + 1)
    return np.concatenate([np.expand_dims(x, i) for x in items], i)


@means(np.tile)
def _tile(trace: Trace, A: Any, reps: Any) -> Any:
    reps = tuple(reps) if isinstance(reps, (tuple, list)) else (reps,)
    n = max(A.ndim, len(reps))
    shape, reps = (1,) * (n - A.ndim) + A.shape, (1,) * (n - len(reps)) + reps
    pairs = [k for pair in zip((1,) * n, shape, strict=True) for k in pair]
    wide = [k for pair in zip(reps, shape, strict=True) for k in pair]
    repeated = np.broadcast_to(np.reshape(A, pairs), wide)
    return np.reshape(repeated, [r * s for r, s in zip(reps, shape, strict=True)]).copy()


@means(np.repeat)
def _repeat(trace: Trace, a: Any, repeats: Any, axis: Any = None) -> Any:
    if axis is None:
        a, axis = np.reshape(a, (-1,)), 0
    i = _axis(axis, a.ndim)
    if np.ndim(repeats) == 0:
        rows = np.repeat(np.arange(a.shape[i]), int(repeats))
    else:
        rows = np.repeat(np.arange(a.shape[i]), np.asarray(repeats))
    return a[(*(slice(None),) * i, rows)]


@means(np.diagonal)
def _diagonal(trace: Trace, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    i, j = _axis(axis1, a.ndim), _axis(axis2, a.ndim)
    rows, columns = a.shape[i], a.shape[j]
    n = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    last = np.moveaxis(a, (i, j), (-2, -1))
    flat = np.reshape(last, (*last.shape[:-2], rows * columns))  # a view, like all that follows
    start = max(offset, 0) - min(offset, 0) * columns
    end = start + max(n - 1, 0) * (columns + 1) + 1
    return flat[..., start : end if n else start : columns + 1]


@means(np.split, np.array_split)
def _split(trace: Trace, ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    i = _axis(axis, ary.ndim)
    parts = np.array_split(np.arange(ary.shape[i]), indices_or_sections)
    before = (slice(None),) * i
    return [
        ary[(*before, slice(int(p[0]), int(p[-1]) + 1) if len(p) else slice(0, 0))] for p in parts
    ]


# ---- making arrays --------------------------------------------------------------------------


def _like(trace: Trace, number: Any, a: Any, dtype: Any, shape: Any) -> TracedArray:
    dtype = np.dtype(dtype) if dtype is not None else a.dtype
    shape = a.shape if shape is None else (shape,) if isinstance(shape, int) else tuple(shape)
    return trace.array(trace.record(operations.full, (shape, number, dtype), shape, dtype))


@means(np.zeros_like)
def _zeros_like(
    trace: Trace, a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None
) -> Any:
    return _like(trace, 0, a, dtype, shape)


@means(np.empty_like)
def _empty_like(
    trace: Trace, prototype: Any, dtype: Any = None, order: str = "K", subok: bool = True,
    shape: Any = None,
) -> Any:  # fmt: skip
    return _like(trace, 0, prototype, dtype, shape)


@means(np.ones_like)
def _ones_like(
    trace: Trace, a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None
) -> Any:
    return _like(trace, 1, a, dtype, shape)


@means(np.full_like)
def _full_like(
    trace: Trace, a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True,
    shape: Any = None,
) -> Any:  # fmt: skip
    out = _like(trace, 0, a, dtype, shape)
    out.write(fill_value)
    return out


@means(np.copy)
def _copy(trace: Trace, a: Any, order: str = "K", subok: bool = False) -> Any:
    return _array(trace, a).copy()


@means(np.put_along_axis)
def _put_along(trace: Trace, arr: Any, indices: Any, values: Any, axis: Any, **rest: Any) -> None:
    arr, indices = _target(arr), _array(trace, indices)
    if axis is None:
        np.reshape(arr, (-1,))[indices] = values
    else:
        arr[_along(arr.shape, indices, _axis(axis, arr.ndim))] = values


@means(np.fill_diagonal)
def _fill_diagonal(trace: Trace, a: Any, val: Any, wrap: bool = False) -> None:
    a = _target(a)
    step = sum(math.prod(a.shape[i + 1 :]) for i in range(a.ndim))
    end = None if wrap or a.ndim > 2 else min(a.shape[1] ** 2, a.size)
    np.reshape(a, (-1,))[:end:step] = val


@means(np.put)
def _put(trace: Trace, a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    np.reshape(_target(a), (-1,))[ind] = v


@means(np.putmask)
def _putmask(trace: Trace, a: Any, mask: Any, values: Any) -> None:
    a = _target(a)
    if np.shape(values) not in ((), a.shape):
        raise TracingError("np.putmask repeats values: use np.where(mask, values, a)")
    a.write(np.where(mask, values, a))


@means(np.copyto)
def _copyto(
    trace: Trace, dst: Any, src: Any, casting: str = "same_kind", where: Any = True
) -> None:
    if where is not True:
        src = np.where(where, src, dst)
    _into(dst, src)


# ---- about arrays ---------------------------------------------------------------------------


@means(np.shape)
def _shape(trace: Trace, a: Any) -> Shape:
    return _array(trace, a).shape


@means(np.ndim)
def _ndim(trace: Trace, a: Any) -> int:
    return _array(trace, a).ndim


@means(np.size)
def _size(trace: Trace, a: Any, axis: Any = None) -> int:
    a = _array(trace, a)
    return a.size if axis is None else a.shape[axis]


@means(np.iscomplexobj)
def _iscomplexobj(trace: Trace, x: Any) -> bool:
    return x.dtype.kind == "c"


@means(np.isrealobj)
def _isrealobj(trace: Trace, x: Any) -> bool:
    return x.dtype.kind != "c"


@means(np.result_type)
def _result_type(trace: Trace, *operands: Any) -> Any:
    kinds = [_promotable(x.value) if type(x) is TracedArray else x for x in operands]
    return np.result_type(*kinds)


@means(np.may_share_memory, np.shares_memory)
def _shares(trace: Trace, a: Any, b: Any, max_work: Any = None) -> bool:
    return type(a) is type(b) is TracedArray and a.storage is b.storage


# ---- numbers --------------------------------------------------------------------------------


@means(np.real)
def _real(trace: Trace, val: Any) -> Any:
    return val if val.dtype.kind != "c" else _frozen(np.real, trace, val)


@means(np.imag)
def _imag(trace: Trace, val: Any) -> Any:
    return np.zeros_like(val) if val.dtype.kind != "c" else _frozen(np.imag, trace, val)


@means(np.clip)
def _clip(
    trace: Trace, a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None,
    dtype: Any = None,
) -> Any:  # fmt: skip
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    a = a.copy() if low is None else np.maximum(a, low)
    return a if high is None else np.minimum(a, high)


@means(np.round, np.around)
def _round(trace: Trace, a: Any, decimals: int = 0) -> Any:
    if decimals == 0:
        return np.rint(a) if a.dtype.kind in "fc" else a.copy()
    scale = 10.0 ** abs(decimals)
    return np.rint(a * scale) / scale if decimals > 0 else np.rint(a / scale) * scale


@means(np.count_nonzero)
def _count_nonzero(trace: Trace, a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return np.sum(np.not_equal(a, 0), axis=axis, keepdims=keepdims, dtype=np.int64)


@means(np.nan_to_num)
def _nan_to_num(
    trace: Trace, x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    if x.dtype.kind not in "f":
        return opaque(trace, np.nan_to_num, (x, True, nan, posinf, neginf), {})
    limits = np.finfo(x.dtype)
    high = float(limits.max) if posinf is None else posinf
    low = float(limits.min) if neginf is None else neginf
    x = np.where(np.isnan(x), nan, x)
    return np.where(x == np.inf, high, np.where(x == -np.inf, low, x))


@means(np.array_equal)
def _array_equal(trace: Trace, a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    return np.all(np.equal(a1, a2)) if np.shape(a1) == np.shape(a2) else np.False_


@means(np.isclose)
def _isclose(
    trace: Trace, a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    near = np.less_equal(np.absolute(a - b), atol + rtol * np.absolute(b)) & np.isfinite(b)
    near = near | np.equal(a, b)
    return near | (np.isnan(a) & np.isnan(b)) if equal_nan else near


# ---- products -------------------------------------------------------------------------------


def _matmul(trace: Trace, a: Any, b: Any) -> Any:
    x: Any
    y: Any
    a, b = _array(trace, a), _array(trace, b)
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
    a, b = _array(trace, a), _array(trace, b)
    if not a.ndim or not b.ndim:
        return np.multiply(a, b)
    if b.ndim <= 2:
        return np.matmul(a, b)
    return np.tensordot(a, b, ((a.ndim - 1,), (b.ndim - 2,)))


@means(np.inner)
def _inner(trace: Trace, a: Any, b: Any) -> Any:
    a, b = _array(trace, a), _array(trace, b)
    if not a.ndim or not b.ndim:
        return np.multiply(a, b)
    return np.tensordot(a, b, ((a.ndim - 1,), (b.ndim - 1,)))


@means(np.tensordot)
def _tensordot(trace: Trace, a: Any, b: Any, axes: Any = 2) -> Any:
    from wengert.rules.products import _axes as pairs

    a, b = _array(trace, a), _array(trace, b)
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

    return _as_on_tensors(einsum, (subscripts, *operands), {})


def _contract(trace: Trace, subscripts: str, operands: Any) -> Any:
    """Our einsum of a list of operands: two at a time, each pair a product of matrices."""
    items = [_array(trace, x) for x in operands]
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


# ---- indexing -------------------------------------------------------------------------------


def _shape_depends(what: str, instead: str) -> TracingError:
    return TracingError(
        f"{what} at\n  {line_of(*here())}\n"
        "Its shape depends on numbers that are not known while the function is compiled. "
        f"Keep the full shape and choose, as in {instead}."
    )


def getitem(x: TracedArray, index: Any) -> Any:
    """`x[index]`: a view for slices and numbers, else a copy."""
    places, basic = _index(x.trace, x.shape, index)
    if basic:
        return x.look(operations.view, places, _viewed(x.shape, places))
    shape = _taken(x.shape, places)
    made = x.trace.array(x.trace.record(operations.take, (x.value, places), shape, x.dtype))
    if all(p.shape == () for p in places if type(p) is Value):
        made.storage.frozen = True  # of a Tensor, it would be a view
    return made


def setitem(x: TracedArray, index: Any, value: Any) -> None:
    """`x[index] = value`."""
    if type(index) is TracedArray and index.dtype == bool and index.shape == x.shape:
        return x.write(np.where(index, value, x))  # a scalar, or it fails to broadcast
    if isinstance(index, np.ndarray) and index.dtype == bool and np.ndim(value) == 0:
        mask = np.reshape(index, index.shape + (1,) * (x.ndim - index.ndim))
        return x.write(np.where(mask, value, x))
    places, basic = _index(x.trace, x.shape, index)
    if basic:
        return x.look(operations.view, places, _viewed(x.shape, places)).write(value)
    v = x.trace.operand(value)
    v = x.trace.cast(v, x.dtype)
    new = x.trace.record(operations.updated, (x.value, places, v), x.shape, x.dtype)
    return x.become(new)


def _index(trace: Trace, shape: Shape, index: Any) -> tuple[tuple[Any, ...], bool]:
    """An index as a tuple with one entry per dimension or None, and whether it makes a view."""
    parts = list(index) if isinstance(index, tuple) else [index]
    parts = [_part(trace, p) for p in parts]
    parts = [q for p in parts for q in (p if type(p) is list else [p])]
    used = sum(p is not None and p is not Ellipsis for p in parts)
    if used > len(shape):
        raise IndexError(
            f"too many indices for array: array is {len(shape)}-dimensional, but {used} were "
            "indexed"
        )
    if Ellipsis not in [p for p in parts if not isinstance(p, (np.ndarray, Value))]:
        parts.append(Ellipsis)
    at = next(i for i, p in enumerate(parts) if p is Ellipsis)
    parts[at : at + 1] = [slice(None)] * (len(shape) - used)
    sizes = iter(shape)
    places = tuple(p if p is None else _place(p, next(sizes)) for p in parts)
    return places, all(p is None or type(p) in (slice, int) for p in places)


def _part(trace: Trace, p: Any) -> Any:
    if p is None or p is Ellipsis or isinstance(p, slice):
        if isinstance(p, slice):
            return slice(*(None if v is None else v.__index__() for v in (p.start, p.stop, p.step)))
        return p
    if isinstance(p, (int, np.integer)) and not isinstance(p, (bool, np.bool_)):
        return int(p)
    if type(p) is TracedArray:
        value = p.value
        if value in trace.program.constants:
            p = trace.program.constants[value]
        elif value.dtype == bool:
            raise _shape_depends("a traced mask as an index", "np.where(mask, x, 0)")
        elif value.dtype.kind not in "iu":
            raise IndexError("arrays used as indices must be of integer (or boolean) type")
        else:
            return value
    p = np.asarray(p)
    if p.dtype == bool and not p.ndim:
        if p:
            return None  # a truth value adds a dimension
        raise TracingError("x[False] is not available in a compiled function; take x[None][:0]")
    if p.dtype == bool:
        return list(map(trace.program.constant, np.nonzero(p)))
    if p.size == 0 and p.dtype.kind == "f":
        p = p.astype(np.int64)
    if p.dtype.kind not in "iu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    return trace.program.constant(p)


def _place(p: Any, n: int) -> Any:
    if type(p) is int:
        if not -n <= p < n:
            raise IndexError(f"index {p} is out of bounds for axis with size {n}")
        return p % n
    if type(p) is slice:
        start, stop, step = p.indices(n)
        count = len(range(start, stop, step))
        if not count:
            return slice(0, 0, 1)
        end = start + count * step if step > 0 else start + (count - 1) * step - 1
        return slice(start, min(end, n) if step > 0 else None if end < 0 else end, step)
    return p


def _viewed(shape: Shape, places: tuple[Any, ...]) -> Shape:
    out, sizes = [], iter(shape)
    for p in places:
        if p is None:
            out.append(1)
            continue
        n = next(sizes)
        if type(p) is slice:
            out.append(len(range(*p.indices(n))))
    return tuple(out)


def _taken(shape: Shape, places: tuple[Any, ...]) -> Shape:
    sample = np.broadcast_to(np.False_, tuple(max(n, 1) for n in shape))
    index = mapped(places, lambda v: np.zeros(v.shape, np.int64))
    return sample[index].shape if all(shape) else np.empty(shape, bool)[index].shape


@means(np.take)
def _take(trace: Trace, a: Any, indices: Any, axis: Any = None, mode: str = "raise") -> Any:
    a = _array(trace, a)
    if axis is None:
        a, axis = np.reshape(a, (-1,)), 0
    return a[(*(slice(None),) * _axis(axis, a.ndim), indices)]


@means(np.take_along_axis)
def _take_along_axis(trace: Trace, arr: Any, indices: Any, axis: Any = -1) -> Any:
    arr, indices = _array(trace, arr), _array(trace, indices)
    if axis is None:
        return np.reshape(arr, (-1,))[indices]
    return arr[_along(arr.shape, indices, _axis(axis, arr.ndim))]


def _along(shape: Shape, indices: Any, axis: int) -> tuple[Any, ...]:
    grid: list[Any] = list(np.ogrid[tuple(slice(n) for n in shape)])
    grid[axis] = indices
    return tuple(grid)


# ---- our primitives that fill arrays ---------------------------------------------------------


def _zeros(trace: Trace, shape: Any, dtype: Any) -> Value:
    shape = tuple(shape)
    return trace.record(operations.full, (shape, 0, dtype), shape, dtype)


def primitives() -> None:
    """Meanings of primitives, most of whose bodies write into arrays that they make."""
    from wengert.dispatch import lasting, number, once
    from wengert.rules import (
        convolution,
        elementwise,
        indexing,
        neural,
        products,
        reductions,
        shapes,
    )

    OPAQUE.update(
        value
        for value in vars(convolution).values()
        if hasattr(value, "plain") and value.__module__ == convolution.__name__
    )
    OPAQUE.update({elementwise.spherical_bessel, elementwise.make_complex})
    OPAQUE.add(reductions.recurrence)
    OPAQUE.add(shapes.diagonal_scatter)
    MEANINGS[shapes.overlapped] = functools.partial(_frozen, shapes.overlapped)
    MEANINGS[shapes.as_strided] = _as_strided
    MEANINGS[products.einsum] = _contract
    MEANINGS[products.affine] = lambda trace, x, weight, bias: (
        np.matmul(x, np.transpose(weight))
        if bias is None
        else np.matmul(x, np.transpose(weight)) + bias
    )
    MEANINGS[lasting] = _lasting
    MEANINGS[neural.erf] = lambda trace, x: trace.array(
        trace.elementwise(operations.erf, [_array(trace, x).value])
    )
    MEANINGS[once] = _once
    MEANINGS[number] = _number
    MEANINGS[reductions.variance] = _variance
    MEANINGS[shapes.diagonal] = lambda trace, x, *args, **rest: np.diagonal(x, *args, **rest)
    MEANINGS[shapes.expand] = lambda trace, x, shape: np.broadcast_to(x, shape)
    MEANINGS[shapes.astype] = _astype
    MEANINGS[indexing.getitem] = lambda trace, x, index: x[index]

    @means(indexing.add_at, indexing.add_rows)
    def _add_at(trace: Trace, g: Any, index: Any, shape: Any) -> Any:
        g = _array(trace, g)
        zeros = _zeros(trace, shape, g.dtype)
        places, basic = _index(trace, zeros.shape, index)
        if basic:
            out = trace.array(zeros)
            out[index] = g
            return out
        args = (zeros, places, g.value)
        return trace.array(trace.record(operations.added, args, zeros.shape, g.dtype))

    @means(indexing.scatter_add)
    def _scatter_add(trace: Trace, g: Any, index: Any, shape: Any, axis: int) -> Any:
        return _add_at(trace, g, indexing._grid(index, axis), shape)

    @means(indexing.put_along_axis)
    def _put_along_axis(trace: Trace, g: Any, indices: Any, shape: Any, axis: Any) -> Any:
        if axis is None:
            return np.reshape(_add_at(trace, g, indices, (math.prod(shape),)), shape)
        return _add_at(trace, g, _along(shape, indices, _axis(axis, len(shape))), shape)

    @means(indexing.unpick)
    def _unpick(trace: Trace, g: Any, index: Any, shape: Any, axis: int) -> Any:
        axis = axis % len(shape)
        rows = math.prod(g.shape)
        at = (np.arange(rows), np.reshape(index, (-1,)))
        out = _add_at(trace, np.reshape(g, (-1,)), at, (rows, shape[axis]))
        return np.moveaxis(np.reshape(out, (*g.shape, shape[axis])), -1, axis)


def _frozen(function: Any, trace: Trace, *args: Any, **kwargs: Any) -> Any:
    """A view of memory, for reading."""
    made = opaque(trace, function, args, kwargs)
    made.storage.frozen = True
    return made


def _as_strided(trace: Trace, x: Any, *args: Any, **kwargs: Any) -> Any:
    raise TracingError(
        f"as_strided in a compiled function at\n  {line_of(*here())}\n"
        "It looks at memory, which a traced array does not have yet: use slices, unfold, diagonal "
        "or expand."
    )


def _variance(trace: Trace, x: Any, axis: Any, correction: Any = 1, keepdims: bool = False) -> Any:
    away = x - np.mean(x, axis=axis, keepdims=True)
    square = np.real(away * np.conj(away)) if x.dtype.kind == "c" else away * away
    n = math.prod(x.shape[i] for i in _axes(axis, x.ndim)) - correction
    return np.true_divide(np.sum(square, axis=axis, keepdims=keepdims), n)


def _astype(trace: Trace, x: Any, dtype: Any) -> Any:
    if x.dtype.kind == "c" and np.dtype(dtype).kind not in "cb":
        x = np.real(x)
    return x.astype(dtype)


class Postponed(Exception):
    """Raised while tracing a step that later ones do not repeat: it has to run eagerly."""


def _once(trace: Trace, x: Any) -> Any:
    raise Postponed


def _lasting(trace: Trace, x: Any, mapping: Any, key: Any) -> Any:
    """An array of its own, that the program reads and writes like one from outside."""
    value = x.value
    made = trace.program.constants.get(value)
    if made is None:
        maker = next((s for s in trace.program.statements if value in s.outputs), None)
        if maker is None or maker.inputs:
            raise Postponed
        made = maker.function(*maker.args, **maker.kwargs)
    return trace.keep(np.array(made), mapping, key)


def _number(trace: Trace, x: Any) -> Any:
    if x.weak:
        return x
    value = trace.record(operations.number, (x.value, np.float64), (), np.float64)
    value.weak = True
    return trace.array(value)


# ---- everything else -------------------------------------------------------------------------

_SHAPED_BY_NUMBERS = {
    np.nonzero: "np.where(condition, a, b)",
    np.argwhere: "np.where(condition, a, b)",
    np.flatnonzero: "np.where(condition, a, b)",
    np.unique: "np.sort(x), whose shape is known",
    np.compress: "np.where(condition, a, 0)",
    np.extract: "np.where(condition, a, 0)",
    np.bincount: "np.add.at(zeros, index, 1)",
}


def opaque(trace: Trace, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """One statement that calls the function; its results' shapes are learned on zeros."""
    instead = _SHAPED_BY_NUMBERS.get(function)
    if instead is not None:
        raise _shape_depends(f"np.{function.__name__}", instead)
    args, kwargs = _values(trace, args), _values(trace, kwargs)
    with np.errstate(all="ignore"):
        made = function(*mapped(args, _zero), **mapped(kwargs, _zero))
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
