"""Casts between dtypes as NumPy makes them, on LLVM values."""

from __future__ import annotations

import functools
from typing import Any, TypeAlias

import numpy as np
from llvmlite import ir

from wengert.compile.llvm.machine.values import (
    I32,
    I64,
    element,
    intrinsic,
    lanes_of,
    like,
    number,
    part,
    scalar_type,
    wide,
)

B: TypeAlias = ir.IRBuilder
V: TypeAlias = ir.Value
FLOAT32 = np.dtype(np.float32)


def is_nan(b: B, x: V) -> V:
    return b.fcmp_unordered("uno", x, x)


def nonzero(b: B, x: Any, dtype: np.dtype) -> V:
    """Whether a value counts as true: NaN does."""
    if dtype.kind == "b":
        return x
    if dtype.kind == "c":
        return b.or_(*(b.fcmp_unordered("!=", p, like(p, 0.0)) for p in x))
    if dtype.kind == "f":
        return b.fcmp_unordered("!=", x, like(x, 0.0))
    return b.icmp_unsigned("!=", x, like(x, 0))


def cast(b: B, x: Any, source: np.dtype, target: np.dtype) -> Any:
    """A value of dtype `source` in dtype `target`."""
    if source == target:
        return x
    if source.kind == "V":
        return cast(b, _widened(b, x), FLOAT32, target)
    if target.kind == "V":
        return _narrowed(b, cast(b, x, source, FLOAT32))
    if target.kind == "b":
        return nonzero(b, x, source)
    if source.kind == "c":
        if target.kind == "c":
            return tuple(_between_floats(b, p, part(source), part(target)) for p in x)
        return cast(b, x[0], part(source), target)
    if target.kind == "c":
        real = cast(b, x, source, part(target))
        return real, like(real, 0.0)
    if source.kind == "f":
        if target.kind == "f":
            return _between_floats(b, x, source, target)
        return _to_integer(b, x, source, target)
    if target.kind == "f":
        return _from_integer(b, x, source, target)
    kind = wide(element(target), lanes_of(x))
    if source.kind == "b" or target.itemsize > source.itemsize:
        return b.sext(x, kind) if source.kind == "i" else b.zext(x, kind)
    return b.trunc(x, kind) if target.itemsize < source.itemsize else x


def _between_floats(b: B, x: V, source: np.dtype, target: np.dtype) -> V:
    kind = wide(element(target), lanes_of(x))
    if target.itemsize > source.itemsize:
        return b.fpext(x, kind)
    if target.itemsize == source.itemsize:
        return x
    if source.itemsize == 8 and target.itemsize == 2:
        x = _rounded_to_odd(b, x)
    return b.fptrunc(x, kind)


def _rounded_to_odd(b: B, x: V) -> V:
    """A double as a float whose last bit tells whether it is exact: rounding it again is right.

    Processors have no direct step from double to half.
    """
    lanes = lanes_of(x)
    near = b.fptrunc(x, wide(ir.FloatType(), lanes))
    back = b.fpext(near, x.type)
    bits = b.bitcast(near, wide(I32, lanes))
    inexact = b.fcmp_ordered("one", x, back)
    even = b.icmp_unsigned("==", b.and_(bits, like(bits, 1)), like(bits, 0))
    # The odd neighbour on the side of x: away from zero if near lies between zero and x.
    positive = b.fcmp_ordered(">", x, back)
    negative_sign = b.icmp_signed("<", bits, like(bits, 0))
    step = b.select(b.xor(positive, negative_sign), like(bits, 1), like(bits, -1))
    odd = b.select(b.and_(inexact, even), b.add(bits, step), bits)
    return b.bitcast(odd, near.type)


def _widened(b: B, x: V) -> V:
    """The bits of a bfloat16 are the upper half of a float's."""
    lanes = lanes_of(x)
    bits = b.zext(x, wide(I32, lanes))
    return b.bitcast(b.shl(bits, like(bits, 16)), wide(ir.FloatType(), lanes))


def _narrowed(b: B, x: V) -> V:
    """A float as the bits of the nearest bfloat16, of two the even one."""
    lanes = lanes_of(x)
    bits = b.bitcast(x, wide(I32, lanes))
    last = b.and_(b.lshr(bits, like(bits, 16)), like(bits, 1))
    rounded = b.add(bits, b.add(last, like(bits, 0x7FFF)))
    sign = b.and_(bits, like(bits, 0x80000000))
    quiet = b.or_(sign, like(bits, 0x7FC00000))  # rounding could make a NaN infinite
    upper = b.lshr(b.select(is_nan(b, x), quiet, rounded), like(bits, 16))
    return b.trunc(upper, wide(ir.IntType(16), lanes))


def _to_integer(b: B, x: V, source: np.dtype, target: np.dtype) -> V:
    """Truncation. Numbers out of range give what the processor gives NumPy too."""
    lanes = lanes_of(x)
    kind = wide(element(target), lanes)
    if source.itemsize == 2:
        x = b.fpext(x, wide(ir.FloatType(), lanes))
    if target.itemsize < 4 or target == np.dtype(np.int32):
        whole = _truncated(b, x, wide(I32, lanes))
        return b.trunc(whole, kind) if target.itemsize < 4 else whole
    if target != np.dtype(np.uint64):
        whole = _truncated(b, x, wide(I64, lanes))
        return b.trunc(whole, kind) if target.itemsize < 8 else whole
    half = 2.0**63
    large = b.fcmp_ordered(">=", x, like(x, half))
    reduced = b.select(large, b.fsub(x, like(x, half)), x)
    whole = _truncated(b, reduced, kind)
    return b.select(large, b.xor(whole, number(kind, 1 << 63)), whole)


def _truncated(b: B, x: V, kind: ir.Type) -> V:
    """A number's integer part; of one out of range, and of NaN, the least integer.

    LLVM leaves those open: where it knows the number, it takes what it likes. Other processors than
    Intel's give the integer that is nearest, and are asked.
    """
    whole = b.fptosi(x, kind)
    if not _gives_the_least():
        return _frozen(b, whole)
    bits = scalar_type(whole).width
    size = intrinsic(b, "fabs", [x.type], x.type, [x])
    inside = b.fcmp_ordered("<", size, like(x, 2.0 ** (bits - 1)))
    return b.select(inside, whole, number(kind, -(1 << (bits - 1))))


@functools.cache
def _gives_the_least() -> bool:
    """Whether NumPy makes the least integer of NaN, as the processor does."""
    with np.errstate(invalid="ignore"):
        return bool(np.array(np.nan).astype(np.int32) == np.iinfo(np.int32).min)


def _from_integer(b: B, x: V, source: np.dtype, target: np.dtype) -> V:
    signed = source.kind == "i"
    convert = b.sitofp if signed else b.uitofp
    if target.itemsize == 2:  # in two steps, of which the first is exact or itself rounds to odd
        lanes = lanes_of(x)
        if source.itemsize <= 2:
            return b.fptrunc(convert(x, wide(ir.FloatType(), lanes)), wide(element(target), lanes))
        double = convert(x, wide(ir.DoubleType(), lanes))
        return _between_floats(b, double, np.dtype(np.float64), target)
    return convert(x, wide(element(target), lanes_of(x)))


def _frozen(b: B, x: V) -> V:
    """Some value, where LLVM would call a conversion out of range undefined."""
    frozen = ir.Instruction(b.block, x.type, "freeze", [x])
    b._insert(frozen)
    return frozen
