"""Division of many numbers by one: a multiplication by its inverse, corrected.

A processor takes some sixteen cycles for a vector's quotients. With r = 1/d, q = x r is the
quotient but for the last bit, and q + r (x - q d), its remainder computed exactly by a fused
multiply-add, is the quotient as division rounds it (Markstein, 1990).
"""

from __future__ import annotations

from typing import TypeAlias

from llvmlite import ir

from wengert.compile.llvm.elementary.casts import is_nan
from wengert.compile.llvm.machine.memory import splat
from wengert.compile.llvm.machine.values import intrinsic, like, scalar_type

B: TypeAlias = ir.IRBuilder
V: TypeAlias = ir.Value


class Inverse:
    """A scalar, prepared to be divided by."""

    def __init__(self, b: B, divisor: V, lanes: int) -> None:
        # Very small and large ones are scaled, with the numerator, or 1/d would be out of range.
        limit = 2.0**64 if str(scalar_type(divisor)) == "float" else 2.0**512
        size = intrinsic(b, "fabs", [divisor.type], divisor.type, [divisor])
        one = like(divisor, 1.0)
        scale = b.select(b.fcmp_ordered("<", size, like(size, 1 / limit)), like(size, limit), one)
        scale = b.select(b.fcmp_ordered(">", size, like(size, limit)), like(size, 1 / limit), scale)
        scaled = b.fmul(divisor, scale)
        self.scale = splat(b, scale, lanes)
        self.divisor = splat(b, scaled, lanes)
        self.inverse = splat(b, b.fdiv(one, scaled), lanes)

    def times(self, b: B, x: V) -> V:
        """x / divisor."""
        x = b.fmul(x, self.scale)
        first = b.fmul(x, self.inverse)
        rest = intrinsic(b, "fma", [x.type], x.type, [b.fneg(first), self.divisor, x])
        better = intrinsic(b, "fma", [x.type], x.type, [rest, self.inverse, first])
        # Where there is no remainder (of infinities, or by zero) the product is right already.
        return b.select(is_nan(b, better), first, better)
