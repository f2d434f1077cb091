"""Division of many numbers by one: a multiplication by its inverse, corrected.

A processor takes some sixteen cycles for a vector's quotients. With r = 1/d, q = x r is the
quotient but for the last bit, and q + r (x - q d), its remainder computed exactly by a fused
multiply-add, is the quotient as division rounds it (Markstein, 1990).
"""

from __future__ import annotations

from wengert.compile.llvm.machine.lanes import FLOAT32, Lanes, absolute, fma, where
from wengert.compile.llvm.machine.memory import splat
from wengert.compile.llvm.machine.values import B, V


class Inverse:
    """A scalar, prepared to be divided by."""

    def __init__(self, b: B, divisor: V, lanes: int) -> None:
        # Very small and large ones are scaled, with the numerator, or 1/d would be out of range.
        d = Lanes(b, divisor)
        limit = 2.0**64 if d.format is FLOAT32 else 2.0**512
        size = absolute(d)
        scale = where(size < 1 / limit, d.full(limit), 1.0)
        scale = where(size > limit, 1 / limit, scale)
        d = d * scale
        self.scale, self.divisor, self.inverse = (
            splat(b, x.value, lanes) for x in (scale, d, 1.0 / d)
        )

    def times(self, b: B, x: V) -> V:
        """x / divisor."""
        scale, divisor, inverse = (Lanes(b, v) for v in (self.scale, self.divisor, self.inverse))
        scaled = Lanes(b, x) * scale
        first = scaled * inverse
        better = fma(fma(-first, divisor, scaled), inverse, first)
        # Where there is no remainder (of infinities, or by zero) the product is right already.
        return where(better.is_nan(), first, better).value
