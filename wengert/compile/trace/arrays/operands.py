"""What an operand is to arithmetic: its type and shape, a value's or a Python number's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from wengert.compile.program.program import Shape, Value
from wengert.compile.trace.arrays.lines import is_users
from wengert.compile.trace.arrays.numbers import number_of
from wengert.compile.trace.arrays.returned import is_traced
from wengert.dispatch import PLAIN

BITWISE = frozenset({np.bitwise_and, np.bitwise_or, np.bitwise_xor})


def in_arithmetic(kind: Any) -> np.dtype[Any]:
    """The dtype of a Python number: truth values are ints."""
    dtype = np.dtype(kind)
    return np.dtype(int) if dtype.kind == "b" else dtype


def type_of(x: Any) -> Any:
    """A value's dtype, or the Python type of what is a Python number."""
    if type(x) is not Value:
        return type(x) if type(x) is not bool else np.dtype(bool)
    if x.weak:
        return {"f": float, "i": int, "c": complex}.get(x.dtype.kind, x.dtype)
    return x.dtype


def shape_of(x: Any) -> Shape:
    return x.shape if type(x) is Value else ()


def common_shape(operands: list[Any]) -> Shape:
    """Mostly that of all operands that have dimensions."""
    shapes = [shape_of(x) for x in operands]
    different = {shape for shape in shapes if shape}
    return np.broadcast_shapes(*shapes) if len(different) > 1 else next(iter(different), ())


def cast_for(trace: Any, ufunc: Any, operands: Any) -> Any:
    """The operands of a ufunc of several results, of the dtypes of its loop."""
    given = [trace.operand(x) for x in operands]
    loop = ufunc.resolve_dtypes((*map(type_of, given), *[None] * ufunc.nout))
    pairs = zip(given, operands, loop, strict=False)
    return [trace.array(trace.cast(x, to)) if type(x) is Value else y for x, y, to in pairs]


def of_two_signs(trace: Any, ufunc: Any, args: Any) -> Value:
    """A comparison of ints with those that have no sign: negative ones are below all of these."""
    signs = [-1 if x.dtype.kind == "i" else 0 for x in args]
    negative = trace.array(args[signs.index(-1)]) < 0
    same = ufunc(*(trace.array(trace.cast(x, np.dtype(np.uint64))) for x in args))
    chosen: Any = np.where(negative, bool(ufunc(*signs)), same)
    return chosen.value


def assigned(trace: Any, x: Any, shape: Shape, dtype: Any) -> Any:
    """`x` as it is written to places of this shape and dtype, or NumPy's error.

    Leading ones may be dropped on assignment.
    """
    value: Any = trace.operand(x)
    kind = type_of(value)
    if kind is complex and dtype.kind != "c":
        dtype.type(1j)  # raises TypeError: Python's is no number of a real dtype
    if kind is float and dtype.kind in "iu" and is_users():
        if type(value) is Value:
            value = number_of(trace.array(value), int).value
        else:
            value = int(value)
    if type(value) is int and is_users():
        np.zeros((), dtype)[()] = value  # raises OverflowError
    value = trace.cast(value, dtype)
    given = shape_of(value)
    kept = min(len(given), len(shape))
    dropped, inner = given[: len(given) - kept], given[len(given) - kept :]
    pairs = zip(inner, shape[len(shape) - kept :], strict=True)
    if {*dropped} - {1} or any(n not in (1, m) for n, m in pairs):
        raise ValueError(
            f"could not broadcast input array from shape {_text(given)} into shape {_text(shape)}"
        )
    return trace.record(np.reshape, (value, inner), inner, dtype) if dropped else value


def _text(shape: Shape) -> str:
    return str(shape).replace(" ", "")


def are_plain(values: Iterable[Any]) -> bool:
    """Whether arguments are numbers and their dtypes, and lead to no function of the program's."""
    for x in values:
        kind = type(x)
        if is_traced(x) or kind in _PLAIN:
            continue
        if kind is np.ndarray:
            passes = not x.dtype.hasobject
        elif kind is tuple or kind is list:
            passes = are_plain(x)
        elif kind is slice:
            passes = are_plain((x.start, x.stop, x.step))
        else:
            passes = isinstance(x, np.dtype)
        if not passes:
            return False
    return True


_PLAIN = frozenset({*PLAIN, *np.sctypeDict.values()} - {slice, np.object_, np.void})
