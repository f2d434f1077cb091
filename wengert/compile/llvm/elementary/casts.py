"""Casts between dtypes as NumPy makes them, on LLVM values."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from llvmlite import ir

from wengert.compile.llvm.machine.lanes import Lanes, absolute, like, of_values, values_of, where
from wengert.compile.llvm.machine.values import I32, I64, B, V, element, number, part

FLOAT32 = np.dtype(np.float32)
SINGLE, DOUBLE = ir.FloatType(), ir.DoubleType()


def nonzero(b: B, x: Any, dtype: np.dtype) -> V:
    """Whether a value counts as true: NaN does."""
    return truth(of_values(b, x), dtype).value


def truth(x: Any, dtype: np.dtype) -> Lanes:
    """Where lanes count as true."""
    if dtype.kind == "c":
        return x[0].differs(0) | x[1].differs(0)
    return x if dtype.kind == "b" else x.differs(0)


def cast(b: B, x: Any, source: np.dtype, target: np.dtype) -> Any:
    """A value of dtype `source` in dtype `target`."""
    return x if source == target else values_of(_cast(of_values(b, x), source, target))


def _cast(x: Any, source: np.dtype, target: np.dtype) -> Any:
    if source == target:
        return x
    if source.kind == "V":
        return _cast(_widened(x), FLOAT32, target)
    if target.kind == "V":
        return _narrowed(_cast(x, source, FLOAT32))
    if target.kind == "b":
        return truth(x, source)
    if source.kind == "c":
        if target.kind == "c":
            return tuple(_between_floats(p, part(source), part(target)) for p in x)
        return _cast(x[0], part(source), target)
    if target.kind == "c":
        real = _cast(x, source, part(target))
        return real, real.full(0.0)
    if source.kind == "f":
        return (_between_floats if target.kind == "f" else _to_integer)(x, source, target)
    if target.kind == "f":
        return _from_integer(x, source, target)
    if source.kind == "b" or target.itemsize > source.itemsize:
        return x.to("sext" if source.kind == "i" else "zext", element(target))
    return x.to("trunc", element(target)) if target.itemsize < source.itemsize else x


def _between_floats(x: Lanes, source: np.dtype, target: np.dtype) -> Lanes:
    if target.itemsize > source.itemsize:
        return x.to("fpext", element(target))
    if target.itemsize == source.itemsize:
        return x
    if source.itemsize == 8 and target.itemsize == 2:
        x = _rounded_to_odd(x)
    return x.to("fptrunc", element(target))


def _rounded_to_odd(x: Lanes) -> Lanes:
    """A double as a float whose last bit tells whether it is exact: rounding it again is right.

    Processors have no direct step from double to half.
    """
    near = x.narrow()
    back, bits = near.widen(), near.bits()
    inexact = (x < back) | (x > back)
    # The odd neighbour on the side of x: away from zero if near lies between zero and x.
    step = where((x > back) ^ (bits < 0), bits.full(1), -1)
    return where(inexact & (bits & 1).equals(0), bits + step, bits).floats()


def _widened(x: Lanes) -> Lanes:
    """The bits of a bfloat16 are the upper half of a float's."""
    return (x.to("zext", I32) << 16).floats()


def _narrowed(x: Lanes) -> Lanes:
    """A float as the bits of the nearest bfloat16, of two the even one."""
    bits = x.bits()
    rounded = bits + (((bits >> 16) & 1) + 0x7FFF)
    quiet = (bits & 0x80000000) | 0x7FC00000  # rounding could make a NaN infinite
    return (where(x.is_nan(), quiet, rounded) >> 16).to("trunc", ir.IntType(16))


def _to_integer(x: Lanes, source: np.dtype, target: np.dtype) -> Lanes:
    """Truncation. Numbers out of range give what the processor gives NumPy too."""
    if source.itemsize == 2:
        x = x.to("fpext", SINGLE)
    if target.itemsize < 4 or target == np.dtype(np.int32):
        whole = _truncated(x, I32)
        return whole.to("trunc", element(target)) if target.itemsize < 4 else whole
    if target != np.dtype(np.uint64):
        whole = _truncated(x, I64)
        return whole.to("trunc", element(target)) if target.itemsize < 8 else whole
    large = x >= 2.0**63
    whole = _truncated(where(large, x - 2.0**63, x), I64)
    return where(large, whole ^ (1 << 63), whole)


def _truncated(x: Lanes, kind: ir.IntType) -> Lanes:
    """A number's integer part; of one out of range, and of NaN, the least integer.

    LLVM leaves those open: where it knows the number, it takes what it likes. Other processors than
    Intel's give the integer that is nearest, and are asked.
    """
    whole = x.to("fptosi", kind)
    if not _gives_the_least():
        return _frozen(whole)
    inside = absolute(x) < 2.0 ** (kind.width - 1)
    return where(inside, whole, -(1 << (kind.width - 1)))


@functools.cache
def _gives_the_least() -> bool:
    """Whether NumPy makes the least integer of NaN, as the processor does."""
    with np.errstate(invalid="ignore"):
        return bool(np.array(np.nan).astype(np.int32) == np.iinfo(np.int32).min)


def _from_integer(x: Lanes, source: np.dtype, target: np.dtype) -> Lanes:
    convert = "sitofp" if source.kind == "i" else "uitofp"
    if source.kind == "b" and target.itemsize != 2:
        ones = Lanes(x.builder, number(like(x.type, element(target)), 1.0))
        return where(x, ones, 0.0)
    if target.itemsize != 2:
        return x.to(convert, element(target))
    # In two steps, of which the first is exact or itself rounds to odd.
    if source.itemsize <= 2:
        return x.to(convert, SINGLE).to("fptrunc", element(target))
    return _between_floats(x.to(convert, DOUBLE), np.dtype(np.float64), target)


def _frozen(x: Lanes) -> Lanes:
    """Some value, where LLVM would call a conversion out of range undefined."""
    frozen = ir.Instruction(x.builder.block, x.type, "freeze", [x.value])
    x.builder._insert(frozen)
    return x.new(frozen)
