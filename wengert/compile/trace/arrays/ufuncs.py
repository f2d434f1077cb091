"""Choices, ufuncs that are made of others, and what stays one statement."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.compile.program import operations
from wengert.compile.program.program import Value
from wengert.compile.trace.arrays.array import Trace, values_of
from wengert.compile.trace.arrays.core import promotable
from wengert.compile.trace.arrays.operands import shape_of
from wengert.dispatch import require
from wengert.rules import convolution, elementwise, linalg, neural, reductions, shapes, special


@Trace.means(np.where)
def _where(trace: Trace, condition: Any, *choices: Any) -> Any:
    if not choices:
        what = "np.where(condition) with one argument"
        return trace.by_numbers(np.nonzero, (condition,), {}, what, "np.where(condition, a, b)")
    c = trace.operand(condition)
    a, b = (trace.operand(x) for x in choices)
    if type(c) is not Value:
        c = trace.program.constant(np.asarray(c))
    c = trace.cast(c, np.bool_)
    dtype = np.result_type(*(promotable(x) for x in (a, b)))
    shape = np.broadcast_shapes(c.shape, shape_of(a), shape_of(b))
    args = (c, trace.cast(a, dtype), trace.cast(b, dtype))
    value = trace.record(np.where, args, shape, dtype)
    return trace.array(value, trace.kept([condition, *choices]))


@Trace.means(neural.erf)
def _erf(trace: Trace, x: Any) -> Any:
    value = trace.as_array(x).value
    y = trace.applied(operations.erf, [value])  # of half precision in single
    return trace.array(trace.cast(y, value.dtype) if value.dtype.kind == "f" else y)


# ---- one statement ----------------------------------------------------------------------------


@Trace.pattern(
    *(f for f in vars(convolution).values() if getattr(f, "__module__", "") == convolution.__name__
      and hasattr(f, "body")),
    elementwise.spherical_bessel, elementwise.make_complex, reductions.recurrence,
    special.airy_ai, special.airy_aip, special.chebyt, special.gegenbauer, special.genlaguerre,
    special.hermite, special.hermitenorm, linalg.solve_triangular, linalg.lu_unpivoted,
    linalg.pivoted, linalg.order_of, linalg.indefinite_at, linalg.ldl_factored, linalg.ldl_solved,
    linalg.matrix_exp, linalg.pinv, linalg.least_squares,
    shapes.diagonal_scatter, shapes.overlapped,
)  # fmt: skip
def _one_statement(function: Any, trace: Trace, *args: Any, **kwargs: Any) -> Any:
    """Primitives whose bodies fill arrays step by step, or ask for numbers, are not looked into."""
    return trace.otherwise(function, args, kwargs)


@Trace.means(require)
def _require(trace: Trace, holds: Any, error: Any, *args: Any) -> None:
    holds = np.all(trace.as_array(holds))
    trace.append(operations.check, (holds.value, error, *values_of(trace, args)), {}, [])


@Trace.means(np.linalg.eig)
def _eig(trace: Trace, a: Any) -> Any:
    return trace.otherwise(linalg.complex_eig, (a,), {})
