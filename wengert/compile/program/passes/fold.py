"""Constants are computed now: NumPy evaluates what depends on nothing else.

An array that repeats one number is a `full`, which has no memory of its own; elementwise functions
of such arrays are such arrays again.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from wengert.compile.program.operations import OPERATIONS, astype, full, number
from wengert.compile.program.passes.rewrite import (
    ELEMENTWISE,
    EVERY,
    NUMBERS,
    Rewrite,
    Rules,
    shortest,
)
from wengert.compile.program.program import Program, Statement, Value, mapped

LARGE = 1 << 16
"""A result of more bytes than this is kept as a statement, unless its inputs are larger still."""

RULES = Rules()


def uniform(program: Program) -> Program:
    """Constants that are one repeated number become `full`."""
    fulls = []
    by: dict[Value, Any] = {}
    for value, array in program.constants.items():
        repeated = repeated_number(array)
        if repeated is not None:
            out = by[value] = Value(value.shape, value.dtype)
            fulls.append(Statement(full, (array.shape, repeated, array.dtype), {}, (out,)))
    if fulls:
        program.substitute(by)
        program.statements = [*fulls, *program.statements]
        for value in by:
            del program.constants[value]
    return program


def repeated_number(array: np.ndarray[Any, Any]) -> Any:
    """The number that an array repeats, to the bit; None if there are several."""
    if array.dtype.kind not in "biufc" or array.dtype.itemsize > 16 or array.size == 0:
        return None
    first = array[(0,) * array.ndim]
    # An early look at the last element spares most large arrays the comparison of all.
    if array.size > 1 and first.tobytes() != array[(-1,) * array.ndim].tobytes():
        return None
    number = shortest(first)
    if type(number) not in NUMBERS:
        return None
    if not (array == first).all() and not (number != number and np.isnan(array).all()):
        return None
    if number == 0 and np.ascontiguousarray(array).tobytes() != first.tobytes() * array.size:
        return None  # zeros of both signs
    return number


@RULES.on(ELEMENTWISE)
def same_everywhere(p: Rewrite, s: Statement) -> Any:
    """f(full(a), full(b)) = full(f(a, b))"""
    if s.kwargs:
        return None
    operands = s.args[:1] if s.function is astype else s.args
    if not any(type(arg) is Value for arg in operands):
        return None
    numbers = [p.scalar(arg) for arg in operands]
    if any(k is None for k in numbers):
        return None
    arrays = [
        np.full((), k, arg.dtype) if type(arg) is Value else k
        for arg, k in zip(operands, numbers, strict=True)
    ]
    result = np.asarray(s.function(*arrays, *s.args[len(operands) :]), s.output.dtype)
    return repeated_number(result)


@RULES.on(EVERY)
def evaluated(p: Rewrite, s: Statement) -> Any:
    """f(constants) is a constant."""
    function = s.function
    if function is full or function is np.arange or function is np.broadcast_to:
        return None
    if getattr(function, "draws", False):  # random numbers are new each time
        return None
    known: dict[Value, Any] = {}
    for value in s.inputs:
        array = _known(p, value)
        if array is None:
            return None
        known[value] = array
    out = s.output
    if out.nbytes > LARGE and out.nbytes >= sum(a.nbytes for a in known.values()):
        return None
    try:
        result = _evaluate(s, known)
    except Exception:  # whatever is wrong with the call shows when it runs
        return None
    if out.weak:
        return result if type(result) in NUMBERS else np.asarray(result).item()
    array = np.ascontiguousarray(np.asarray(result, out.dtype)).reshape(np.shape(result))
    if array.shape != out.shape:
        return None
    repeated = repeated_number(array)
    return p.program.constant(array) if repeated is None else repeated


def _evaluate(s: Statement, known: dict[Value, Any]) -> Any:
    args = mapped(s.args, known.__getitem__)
    kwargs = mapped(s.kwargs, known.__getitem__)
    if isinstance(s.function, np.ufunc) or s.function in OPERATIONS:
        return s.function(*args, **kwargs)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # what would warn is left to warn when it runs
        return s.function(*args, **kwargs)


def _known(p: Rewrite, value: Value) -> Any:
    """The array that a value is, if that is known and costs little to write down."""
    array = p.program.constants.get(value)
    if array is not None:
        return array
    s = p.maker(value, full, np.arange)
    if s is None or s.inputs or value.nbytes > LARGE:
        return None
    return s.function(*s.args, **s.kwargs)


@RULES.on(full)
def shortened(p: Rewrite, s: Statement) -> Any:
    """full(1) and full(np.float32(1)) are full(1.0)."""
    shape, k, dtype = s.args[0], s.args[1], s.output.dtype
    if type(k) is Value:
        return p(np.broadcast_to, p(astype, k, dtype), shape) if k.shape == () else None
    number = repeated_number(np.full((), k, dtype)) if np.ndim(k) == 0 else None
    same = type(number) is type(k) and repr(number) == repr(k) and len(s.args) == 3
    return None if same else number


@RULES.on(number)
def of_full(p: Rewrite, s: Statement) -> Any:
    """number(full(k)) = k"""
    return p.scalar(s.args[0])
