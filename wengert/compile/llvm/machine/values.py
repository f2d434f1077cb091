"""LLVM's types for NumPy's dtypes, and constants of them.

Values are scalars or vectors of: i1 for bool, iN for integers, half, float, double, the bits of
bfloat16; a pair of floats for complex numbers. In memory a bool is a byte, and a complex number two
floats in a row.
"""

from __future__ import annotations

import functools
import struct
from typing import Any, TypeAlias

import numpy as np
from llvmlite import ir

from wengert.compile.llvm.machine.functions import call

B: TypeAlias = ir.IRBuilder
V: TypeAlias = ir.Value

FLOATS = {2: ir.HalfType(), 4: ir.FloatType(), 8: ir.DoubleType()}
BIT = ir.IntType(1)
BYTE = ir.IntType(8)
I32 = ir.IntType(32)
I64 = ir.IntType(64)
POINTER = ir.PointerType()
VOID = ir.VoidType()

INTP = np.dtype(np.int64)


def part(dtype: np.dtype) -> np.dtype:
    """The dtype of a complex number's parts; the dtype itself for others."""
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def element(dtype: np.dtype) -> ir.Type:
    """The type of a value; of each of the two for complex numbers."""
    kind = dtype.kind
    if kind == "b":
        return BIT
    if kind in "iu":
        return ir.IntType(8 * dtype.itemsize)
    if kind == "V":
        return ir.IntType(16)
    return FLOATS[part(dtype).itemsize]


def stored(dtype: np.dtype) -> ir.Type:
    """The type of an element in memory."""
    return BYTE if dtype.kind == "b" else element(dtype)


@functools.lru_cache(1 << 8)
def wide(kind: ir.Type, lanes: int) -> ir.Type:
    """A vector of `lanes` such values; the type itself for no lanes."""
    return ir.VectorType(kind, lanes) if lanes else kind


def lanes_of(value: ir.Value) -> int:
    """The number of lanes; 0 for a scalar."""
    return value.type.count if isinstance(value.type, ir.VectorType) else 0


class Uniform(ir.Constant):  # type: ignore[misc]  # llvmlite has no types
    """One constant in every lane, or none that matters; LLVM's text names it once."""

    def __init__(self, kind: ir.VectorType, lane: ir.Constant | None) -> None:
        self.type = kind
        self.constant = () if lane is None else (lane,) * kind.count

    def _get_reference(self) -> str:
        return f"splat ({self.constant[0]})" if self.constant else "poison"


def number(kind: ir.Type, value: Any) -> ir.Constant:
    """A constant of a scalar type, or of a vector type in all lanes."""
    if isinstance(kind, ir.VectorType):
        return Uniform(kind, number(kind.element, value))
    if isinstance(kind, ir.IntType):
        value = int(value)
        limit = 1 << kind.width
        value %= limit
        return ir.Constant(kind, value if value < limit >> 1 or kind.width == 1 else value - limit)
    return ir.Constant(kind, _rounded(kind, float(value)))


def _rounded(kind: ir.Type, value: float) -> float:
    """A Python float rounded to the type; what is too large becomes infinite."""
    size = {"half": "e", "float": "f", "double": "d"}[str(kind)]
    try:
        return struct.unpack(size, struct.pack(size, value))[0]
    except OverflowError:
        return float("inf") if value > 0 else -float("inf")


def like(value: ir.Value, constant: Any) -> ir.Constant:
    """A constant of a value's type."""
    return number(value.type, constant)


@functools.lru_cache(1 << 8)
def mask(lanes: int, active: int) -> ir.Constant:
    """The first `active` of `lanes` lanes."""
    return ir.Constant(ir.VectorType(BIT, lanes), [BIT(k < active) for k in range(lanes)])


def intrinsic(b: ir.IRBuilder, name: str, kinds: list[ir.Type], result: ir.Type, args: list) -> Any:
    """A call of an LLVM intrinsic; `kinds` are the types that its name tells."""
    return call(b, ".".join(["llvm", name, *map(mangled, kinds)]), result, args)


def mangled(kind: ir.Type) -> str:
    """LLVM's short name of a type: f32, v8f64, v4i1.

    >>> mangled(ir.VectorType(ir.DoubleType(), 8))
    'v8f64'
    """
    if isinstance(kind, ir.VectorType):
        return f"v{kind.count}{mangled(kind.element)}"
    if isinstance(kind, ir.PointerType):
        return "p0"
    return {"half": "f16", "float": "f32", "double": "f64"}.get(str(kind), str(kind))
