"""Accumulators: the sums, extrema and positions of extrema that a pass over a row makes.

Several vectors accumulate independently. A long sum of floats is made of blocks, whose sums are
added in float64, so that its error does not grow with its length.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from wengert.compile.llvm.elementary.casts import cast, is_nan
from wengert.compile.llvm.elementary.scalars import apply, identity
from wengert.compile.llvm.machine.memory import blend, folded, splat
from wengert.compile.llvm.machine.values import (
    I32,
    I64,
    B,
    V,
    element,
    lanes_of,
    like,
    number,
    wide,
)
from wengert.compile.plan.kernel import Reduce

FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)
INT8 = np.dtype(np.int8)

BLOCK = 128
"""Steps of a sum of floats after which the accumulators are emptied into those of float64."""


CONTRACT = "contract"
"""Says of a product and of a sum that both may be one instruction, which rounds once."""


def combined(b: B, name: str, dtype: np.dtype, x: Any, y: Any) -> Any:
    """What has been combined so far, and one element more."""
    if name == "add" and dtype in (FLOAT32, FLOAT64):
        return b.fadd(x, y, flags=(CONTRACT,))
    return apply(b, name, dtype, (dtype, dtype), [x, y])


def working_dtype(name: str, dtype: np.dtype) -> np.dtype:
    """The dtype to accumulate in."""
    if dtype.kind == "f" and dtype.itemsize == 2 and name in ("add", "multiply"):
        return FLOAT32
    return dtype


class Accumulator:
    """A reduction under way, in `count` variables of `lanes` lanes (0: scalars).

    `across` says that the lanes are elements of one row, so that they are combined at the end;
    otherwise each lane is a row of its own.
    """

    def __init__(
        self,
        b: B,
        op: Reduce,
        source: np.dtype,
        lanes: int,
        count: int,
        across: bool,
        blocks: bool,
    ) -> None:
        self.op, self.source, self.lanes, self.across = op, source, lanes, across
        self.dtype = working_dtype(op.name, op.dtype)
        self.blocks = blocks and op.name == "add" and self.dtype.kind == "f"
        self.parts = 2 if self.dtype.kind == "c" else 1
        kind = wide(element(self.dtype), lanes)
        double = wide(element(FLOAT64), lanes)
        with b.goto_entry_block():
            self.variables = [[b.alloca(kind) for _ in range(self.parts)] for _ in range(count)]
            self.totals = [b.alloca(double) for _ in range(count)] if self.blocks else []
        for k in range(count):
            self._write(b, k, self._identity(kind))
            if self.blocks:
                b.store(number(double, -0.0), self.totals[k])

    def _identity(self, kind: ir.Type) -> Any:
        start = identity(self.op.name, self.dtype)
        if self.parts == 1:
            return number(kind, start)
        return number(kind, start), number(kind, 0.0 if start == 1 else start)

    def _read(self, b: B, k: int) -> Any:
        values = tuple(b.load(v, typ=v.allocated_type) for v in self.variables[k])
        return values if self.parts == 2 else values[0]

    def _write(self, b: B, k: int, value: Any) -> None:
        for part, variable in zip(
            value if self.parts == 2 else (value,), self.variables[k], strict=True
        ):
            b.store(part, variable)

    def combine(self, b: B, x: Any, y: Any) -> Any:
        return combined(b, self.op.name, self.dtype, x, y)

    def update(self, b: B, k: int, value: Any, active: int, index: Any = None) -> None:
        """Take in a value (a vector if `lanes`), of which `active` lanes count."""
        value = cast(b, value, self.source, self.dtype)
        old = self._read(b, k)
        new = self.combine(b, old, value)
        if self.across and active < self.lanes:
            new = blend(b, active, new, old)
        self._write(b, k, new)

    def flush(self, b: B) -> None:
        """The end of a block."""
        if not self.blocks:
            return
        for k, total in enumerate(self.totals):
            value = self._read(b, k)
            b.store(self._added(b, total, value), total)
            self._write(b, k, like(value, -0.0))

    def scale(self, b: B, factor: V, begins: V) -> None:
        """Multiply what was summed so far by a factor; begin anew in lanes where that is said."""
        for (variable,) in self.variables:
            value = b.fmul(b.load(variable, typ=variable.allocated_type), factor)
            b.store(b.select(begins, like(value, -0.0), value), variable)
        for total in self.totals:
            wider = cast(b, factor, self.dtype, FLOAT64)
            value = b.fmul(b.load(total, typ=total.allocated_type), wider)
            b.store(b.select(begins, like(value, -0.0), value), total)

    def _added(self, b: B, total: V, value: V) -> V:
        return b.fadd(b.load(total, typ=total.allocated_type), cast(b, value, self.dtype, FLOAT64))

    def results(self, b: B, used: int) -> list[Any]:
        """The result for the row; for `used` vectors of rows if each lane is one."""
        count = len(self.variables)
        if self.blocks:
            values = [self._added(b, self.totals[k], self._read(b, k)) for k in range(count)]
            dtype = FLOAT64
        else:
            values = [self._read(b, k) for k in range(count)]
            dtype = self.dtype

        def joined(x: Any, y: Any) -> Any:
            return apply(b, self.op.name, dtype, (dtype, dtype), [x, y])

        if self.across:
            while len(values) > 1:
                pairs = list(zip(values[::2], values[1::2], strict=False))
                values = [joined(x, y) for x, y in pairs] + values[2 * len(pairs) :]
            if self.lanes:
                values = [folded(b, values[0], joined)]
        return [cast(b, v, dtype, self.op.dtype) for v in values[:used]]


class Position(Accumulator):
    """argmax or argmin: the best value so far in each lane, and where it was.

    NaN counts as the best of all, as in NumPy; of equals the first is taken.
    """

    def __init__(
        self, b: B, op: Reduce, source: np.dtype, lanes: int, count: int, across: bool, small: bool
    ) -> None:
        self.value_dtype = INT8 if source.kind == "b" else source
        value = Reduce(op.name, op.arg, self.value_dtype)
        super().__init__(b, value, source, lanes, count, across, False)
        self.result_dtype = op.dtype
        kind = wide(I32 if small else I64, lanes)
        with b.goto_entry_block():
            self.places = [b.alloca(kind) for _ in range(count)]
        for k, place in enumerate(self.places):
            start = number(kind, 0)
            if across and lanes:
                start = ir.Constant(kind, [kind.element(k * lanes + i) for i in range(lanes)])
            b.store(start, place)

    def _better(self, b: B, new: V, old: V) -> V:
        sign = ">" if self.op.name == "argmax" else "<"
        if self.value_dtype.kind == "f":
            return b.and_(b.fcmp_unordered(sign, new, old), b.fcmp_ordered("ord", old, old))
        if self.value_dtype.kind == "u":
            return b.icmp_unsigned(sign, new, old)
        return b.icmp_signed(sign, new, old)

    def update(self, b: B, k: int, value: Any, active: int, index: Any = None) -> None:
        value = cast(b, value, self.source, self.value_dtype)
        old = self._read(b, k)
        better = self._better(b, value, old)
        if self.across and active < self.lanes:
            better = blend(b, active, better, like(better, 0))
        self._write(b, k, b.select(better, value, old))
        place = self.places[k]
        at = b.load(place, typ=place.allocated_type)
        b.store(b.select(better, self._index(b, index, at), at), place)

    def _index(self, b: B, index: V, at: V) -> V:
        kind = at.type.element if self.lanes else at.type
        base = b.trunc(index, kind) if kind.width < 64 else index
        if not self.lanes:
            return base
        vector = splat(b, base, self.lanes)
        if not self.across:
            return vector
        return b.add(vector, ir.Constant(at.type, [kind(i) for i in range(self.lanes)]))

    def results(self, b: B, used: int) -> list[Any]:
        best = [
            (self._read(b, k), b.load(p, typ=p.allocated_type)) for k, p in enumerate(self.places)
        ]
        if self.across:
            while len(best) > 1:
                pairs = list(zip(best[::2], best[1::2], strict=False))
                best = [self._first(b, x, y) for x, y in pairs] + best[2 * len(pairs) :]
            if self.lanes:
                best = [folded(b, best[0], lambda x, y: self._first(b, x, y))]
        where = [place for _, place in best[:used]]
        kind = wide(element(self.result_dtype), lanes_of(where[0]))
        return [b.sext(w, kind) if w.type != kind else w for w in where]

    def _first(self, b: B, x: tuple[V, V], y: tuple[V, V]) -> tuple[V, V]:
        """The better of two; of equals, and of NaNs, the one at the lower place."""
        earlier = b.icmp_signed("<", y[1], x[1])
        same = (
            b.or_(
                b.fcmp_ordered("==", x[0], y[0]),
                b.and_(is_nan(b, x[0]), is_nan(b, y[0])),
            )
            if self.value_dtype.kind == "f"
            else b.icmp_signed("==", x[0], y[0])
        )
        takes = b.or_(self._better(b, y[0], x[0]), b.and_(same, earlier))
        return b.select(takes, y[0], x[0]), b.select(takes, y[1], x[1])


class RunningMaximum:
    """The maximum of a row so far, in all lanes of a vector, and what has to happen as it rises."""

    def __init__(self, b: B, dtype: np.dtype, lanes: int) -> None:
        self.dtype, self.lanes = dtype, lanes
        kind = wide(element(dtype), lanes)
        with b.goto_entry_block():
            self.variable = b.alloca(kind)
        b.store(number(kind, -float("inf")), self.variable)

    def value(self, b: B) -> V:
        return b.load(self.variable, typ=self.variable.allocated_type)

    def rise(self, b: B, values: list[V], active: int, sums: list[Accumulator]) -> None:
        """Take in a block, of whose last vector so many lanes count. `sums` are of exponentials
        relative to the maximum: where it rises, they shrink.

        A NaN may be overlooked here: then the sums are NaN.
        """
        if active < self.lanes:
            lowest = like(values[-1], -float("inf"))
            values = [*values[:-1], blend(b, active, values[-1], lowest)]

        def larger(x: V, y: V) -> V:  # one instruction, which gives y if one is NaN
            return b.select(b.fcmp_ordered(">", x, y), x, y)

        largest = values[0]
        for value in values[1:]:
            largest = larger(value, largest)
        old = self.value(b)
        bits = ir.IntType(self.lanes)
        higher = b.bitcast(b.fcmp_ordered(">", largest, old), bits)
        with b.if_then(b.icmp_unsigned("!=", higher, bits(0)), likely=False):
            new = splat(b, folded(b, larger(largest, old), larger), self.lanes)
            factor = apply(b, "exp", self.dtype, (self.dtype,), [b.fsub(old, new)])
            # What was summed relative to -inf is nothing, or NaN that means nothing.
            begins = b.fcmp_ordered("==", old, like(old, -float("inf")))
            for accumulator in sums:
                accumulator.scale(b, factor, begins)
            b.store(new, self.variable)
