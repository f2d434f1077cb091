"""Accumulators: the sums, extrema and positions of extrema that a pass over a row makes.

Several vectors accumulate independently. A long sum of floats is made of blocks, whose sums are
added in float64, so that its error does not grow with its length.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

from wengert.compile.llvm.elementary.casts import cast
from wengert.compile.llvm.elementary.scalars import apply, identity
from wengert.compile.llvm.machine.lanes import Lanes, larger, of_values, where
from wengert.compile.llvm.machine.memory import blend, folded, splat
from wengert.compile.llvm.machine.scratch import Variable
from wengert.compile.llvm.machine.values import B, V, element, like, mask, number, wide
from wengert.compile.llvm.nests.products import CONTRACT
from wengert.compile.plan.kernel import Reduce

FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)
INT8, INT32, INT64 = map(np.dtype, (np.int8, np.int32, np.int64))

BLOCK = 128
"""Steps of a sum of floats after which the accumulators are emptied into those of float64."""


def combined(b: B, name: str, dtype: np.dtype, x: Any, y: Any) -> Any:
    """What has been combined so far, and one element more."""
    if name == "add" and dtype in (FLOAT32, FLOAT64):
        return b.fadd(x, y, flags=(CONTRACT,))
    if name in ("maximum", "minimum"):
        x, y = y, x  # whether the new one is NaN is known before what came before it
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
        self, b: B, op: Reduce, source: np.dtype, lanes: int, count: int, across: bool, blocks: bool
    ) -> None:
        self.b, self.op, self.source, self.lanes, self.across = b, op, source, lanes, across
        self.dtype = working_dtype(op.name, op.dtype)
        self.blocks = blocks and op.name == "add" and self.dtype.kind == "f"
        kind, double = wide(element(self.dtype), lanes), wide(element(FLOAT64), lanes)
        start = identity(op.name, self.dtype)
        parts = (start, 0.0 if start == 1 else start)[: 2 if self.dtype.kind == "c" else 1]
        self.variables = [[Variable(b, number(kind, x)) for x in parts] for _ in range(count)]
        self.totals = [Variable(b, number(double, -0.0)) for _ in range(count * self.blocks)]

    def _read(self, k: int) -> Any:
        value, *more = (variable.get() for variable in self.variables[k])
        return (value, *more) if more else value

    def _write(self, k: int, value: Any) -> None:
        parts = value if isinstance(value, tuple) else (value,)
        for part, variable in zip(parts, self.variables[k], strict=True):
            variable.put(part)

    def update(self, k: int, value: Any, active: int, index: Any = None) -> None:
        """Take in a value (a vector if `lanes`), of which `active` lanes count."""
        old = self._read(k)
        value = cast(self.b, value, self.source, self.dtype)
        new = combined(self.b, self.op.name, self.dtype, old, value)
        if self.across and active < self.lanes:
            new = blend(self.b, active, new, old)
        self._write(k, new)

    def flush(self) -> None:
        """The end of a block."""
        for k, total in enumerate(self.totals):
            value = self._read(k)
            total.put(self._added(total, value))
            self._write(k, like(value, -0.0))

    def scale(self, factor: Lanes, begins: Lanes) -> None:
        """Multiply what was summed so far by a factor; begin anew in lanes where that is said."""
        wider = factor if not self.blocks or self.dtype == FLOAT64 else factor.widen()
        scaled = [(variable, factor) for (variable,) in self.variables]
        for variable, by in scaled + [(total, wider) for total in self.totals]:
            value = Lanes(self.b, variable.get()) * by
            variable.put(where(begins, value.full(-0.0), value).value)

    def _added(self, total: Variable, value: V) -> V:
        return self.b.fadd(total.get(), cast(self.b, value, self.dtype, FLOAT64))

    def results(self, used: int) -> list[Any]:
        """The result for the row; for `used` vectors of rows if each lane is one."""
        values = [self._read(k) for k in range(len(self.variables))]
        dtype = self.dtype
        if self.blocks:
            values, dtype = list(map(self._added, self.totals, values)), FLOAT64

        def joined(x: Any, y: Any) -> Any:
            return apply(self.b, self.op.name, dtype, (dtype, dtype), [x, y])

        values = self._across_lanes(values, joined)
        return [cast(self.b, v, dtype, self.op.dtype) for v in values[:used]]

    def _across_lanes(self, values: list[Any], joined: Callable[[Any, Any], Any]) -> list[Any]:
        """One number of all variables and their lanes, where these are of one row."""
        if not self.across:
            return values
        while len(values) > 1:
            pairs = list(zip(values[::2], values[1::2], strict=False))
            values = [joined(x, y) for x, y in pairs] + values[2 * len(pairs) :]
        return [folded(self.b, values[0], joined)] if self.lanes else values


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
        self.place_dtype = INT32 if small else INT64
        kind = wide(element(self.place_dtype), lanes)
        firsts = [number(kind, 0)] * count
        if across and lanes:
            firsts = [_counted(kind, k * lanes) for k in range(count)]
        self.places = [Variable(b, first) for first in firsts]

    def _better(self, new: Lanes, old: Lanes) -> Lanes:
        low, high = (old, new) if self.op.name == "argmax" else (new, old)
        if self.value_dtype.kind == "f":
            return ~(high <= low) & ~old.is_nan()
        return low.below(high) if self.value_dtype.kind == "u" else low < high

    def update(self, k: int, value: Any, active: int, index: Any = None) -> None:
        new = Lanes(self.b, cast(self.b, value, self.source, self.value_dtype))
        old = new.new(self._read(k))
        better = self._better(new, old)
        if self.across and active < self.lanes:
            better = better & better.new(mask(self.lanes, active))
        self._write(k, where(better, new, old).value)
        at = new.new(self.places[k].get())
        self.places[k].put(where(better, self._index(index, at), at).value)

    def _index(self, index: V, at: Lanes) -> Lanes:
        """The places of a vector, of which the first is `index`."""
        base = Lanes(self.b, cast(self.b, index, INT64, self.place_dtype))
        if not self.lanes:
            return base
        vector = base.new(splat(self.b, base.value, self.lanes))
        return vector + at.new(_counted(at.type, 0)) if self.across else vector

    def results(self, used: int) -> list[Any]:
        best = [(self._read(k), place.get()) for k, place in enumerate(self.places)]
        places = [place for _, place in self._across_lanes(best, self._first)[:used]]
        return [cast(self.b, place, self.place_dtype, self.result_dtype) for place in places]

    def _first(self, x: tuple[V, V], y: tuple[V, V]) -> tuple[V, V]:
        """The better of two; of equals, and of NaNs, the one at the lower place."""
        (a, i), (c, j) = (of_values(self.b, pair) for pair in (x, y))
        same = a.equals(c)
        if self.value_dtype.kind == "f":
            same = same | (a.is_nan() & c.is_nan())
        takes = self._better(c, a) | (same & (j < i))
        return where(takes, c, a).value, where(takes, j, i).value


def _counted(kind: ir.VectorType, start: int) -> ir.Constant:
    """Lanes that count, from a number on."""
    return ir.Constant(kind, [kind.element(start + i) for i in range(kind.count)])


class RunningMaximum:
    """The maximum of a row so far, in all lanes of a vector, and what has to happen as it rises."""

    def __init__(self, b: B, dtype: np.dtype, lanes: int) -> None:
        self.b, self.dtype, self.lanes = b, dtype, lanes
        self.variable = Variable(b, number(wide(element(dtype), lanes), -math.inf))

    def value(self) -> V:
        return self.variable.get()

    def rise(self, values: list[V], active: int, sums: list[Accumulator]) -> None:
        """Take in a block, of whose last vector so many lanes count. `sums` are of exponentials
        relative to the maximum: where it rises, they shrink.

        A NaN may be overlooked here: then the sums are NaN.
        """
        b = self.b
        if active < self.lanes:
            lowest = like(values[-1], -math.inf)
            values = [*values[:-1], blend(b, active, values[-1], lowest)]
        block = functools.reduce(larger, [Lanes(b, value) for value in values])
        old = block.new(self.value())
        with b.if_then((block > old).any(), likely=False):
            top = lambda x, y: larger(Lanes(b, y), Lanes(b, x)).value
            new = block.new(splat(b, folded(b, top(block.value, old.value), top), self.lanes))
            shrunk = apply(b, "exp", self.dtype, (self.dtype,), [(old - new).value])
            # What was summed relative to -inf is nothing, or NaN that means nothing.
            for accumulator in sums:
                accumulator.scale(block.new(shrunk), old.equals(-math.inf))
            self.variable.put(new.value)
