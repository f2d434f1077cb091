"""What an operand is to arithmetic: its type and shape, a value's or a Python number's."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.compile.program.program import Shape, Value

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
