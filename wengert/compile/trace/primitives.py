"""Primitives whose bodies write into arrays that they make, and those that ask for numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.compile.program import operations
from wengert.compile.program.program import Value
from wengert.compile.trace.array import Trace, TracedArray
from wengert.compile.trace.core import (
    MEANINGS,
    OPAQUE,
    Postponed,
    array_of,
    axes_of,
    axis_of,
    means,
    opaque,
)
from wengert.compile.trace.indexing import along, index_of, of_tensor
from wengert.compile.trace.products import contract
from wengert.errors import TracingError
from wengert.history.location import here, line_of


def _zeros(trace: Trace, shape: Any, dtype: Any) -> Value:
    shape = tuple(shape)
    return trace.record(operations.full, (shape, 0, dtype), shape, dtype)


def primitives() -> None:
    """Meanings of primitives, most of whose bodies write into arrays that they make."""
    from wengert.dispatch import lasting, met, number, once
    from wengert.rules import (
        convolution,
        elementwise,
        indexing,
        linalg,
        neural,
        products,
        reductions,
        shapes,
        special,
    )

    OPAQUE.update(
        value
        for value in vars(convolution).values()
        if hasattr(value, "plain") and value.__module__ == convolution.__name__
    )
    OPAQUE.update({elementwise.spherical_bessel, elementwise.make_complex})
    OPAQUE.add(reductions.recurrence)
    OPAQUE.update({special.airy_ai, special.airy_aip, special.chebyt, special.gegenbauer})
    OPAQUE.update({special.genlaguerre, special.hermite, special.hermitenorm})
    OPAQUE.update({linalg.solve_triangular, linalg.lu_unpivoted, linalg.pivoted, linalg.order_of})
    OPAQUE.update({linalg.matrix_exp, linalg.pinv, linalg.least_squares})
    MEANINGS[np.linalg.eig] = lambda trace, a: opaque(trace, linalg.complex_eig, (a,), {})
    OPAQUE.update({shapes.diagonal_scatter, shapes.overlapped})
    MEANINGS[shapes.as_strided] = _as_strided
    MEANINGS[products.einsum] = contract
    MEANINGS[products.affine] = lambda trace, x, weight, bias: (
        np.matmul(x, np.transpose(weight))
        if bias is None
        else np.matmul(x, np.transpose(weight)) + bias
    )
    MEANINGS[lasting] = _lasting
    MEANINGS[neural.erf] = lambda trace, x: trace.array(
        trace.elementwise(operations.erf, [array_of(trace, x).value])
    )
    MEANINGS[once] = _once
    MEANINGS[number] = _number
    MEANINGS[met] = _met
    MEANINGS[reductions.variance] = _variance
    MEANINGS[shapes.diagonal] = lambda trace, x, *args, **rest: np.diagonal(x, *args, **rest)
    MEANINGS[shapes.expand] = lambda trace, x, shape: np.broadcast_to(x, shape)
    MEANINGS[shapes.astype] = _astype
    MEANINGS[indexing.getitem] = lambda trace, x, index: of_tensor(array_of(trace, x), index)

    @means(indexing.add_at, indexing.add_rows)
    def _add_at(trace: Trace, g: Any, index: Any, shape: Any) -> Any:
        g = array_of(trace, g)
        zeros = _zeros(trace, shape, g.dtype)
        places, basic = index_of(trace, zeros.shape, index)
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
        return _add_at(trace, g, along(shape, indices, axis_of(axis, len(shape))), shape)

    @means(indexing.unpick)
    def _unpick(trace: Trace, g: Any, index: Any, shape: Any, axis: int) -> Any:
        axis = axis % len(shape)
        rows = math.prod(g.shape)
        at = (np.arange(rows), np.reshape(index, (-1,)))
        out = _add_at(trace, np.reshape(g, (-1,)), at, (rows, shape[axis]))
        return np.moveaxis(np.reshape(out, (*g.shape, shape[axis])), -1, axis)


def _as_strided(trace: Trace, x: Any, *args: Any, **kwargs: Any) -> Any:
    raise TracingError(
        f"as_strided in a compiled function at\n  {line_of(*here())}\n"
        "It looks at memory, which a traced array does not have yet: use slices, unfold, diagonal "
        "or expand."
    )


def _variance(trace: Trace, x: Any, axis: Any, correction: Any = 1, keepdims: bool = False) -> Any:
    away = x - np.mean(x, axis=axis, keepdims=True)
    square = np.real(away * np.conj(away)) if x.dtype.kind == "c" else away * away
    n = math.prod(x.shape[i] for i in axes_of(axis, x.ndim)) - correction
    return np.true_divide(np.sum(square, axis=axis, keepdims=keepdims), n)


def _astype(trace: Trace, x: Any, dtype: Any) -> Any:
    if x.dtype.kind == "c" and np.dtype(dtype).kind not in "cb":
        x = np.real(x)
    return x.astype(dtype)


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
    return TracedArray(trace, trace.keep(np.array(made), mapping, key), ())


def _met(trace: Trace, x: Any) -> Any:
    if x.weak or x.dtype.kind == "b":
        return x
    dtype = np.dtype({"f": np.float64, "c": np.complex128}.get(x.dtype.kind, np.int64))
    value = trace.record(operations.number, (x.value, dtype), (), dtype)
    value.weak = True
    return trace.array(value)


def _number(trace: Trace, x: Any) -> Any:
    if x.weak:
        return x
    value = trace.record(operations.number, (x.value, np.float64), (), np.float64)
    value.weak = True
    return trace.array(value)
