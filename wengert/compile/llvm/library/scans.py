"""Running sums, products and extrema, and linear recurrences, as native functions.

Rows along the scanned axis are independent, so they are the lanes of vectors where they lie side by
side in memory. Where the axis itself is the one with neighbours, each vector is scanned in
registers, by steps of 1, 2, 4, ... lanes (Hillis and Steele, 1986), and what came before it is
added at the end. That groups the operations anew; a product or a recurrence of floats is never
regrouped, because 0 times a product that overflows would be NaN: its rows are lanes if there are
enough, or else go one element at a time.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir

from wengert.arrays.facts import RUNNING
from wengert.compile.llvm.elementary.casts import cast
from wengert.compile.llvm.elementary.scalars import apply, identity
from wengert.compile.llvm.library.natives import NATIVES, Native
from wengert.compile.llvm.library.rows import Axis, axes_of, each_row, merged, moved
from wengert.compile.llvm.machine import host as machine
from wengert.compile.llvm.machine.control import along, fold, fold_along
from wengert.compile.llvm.machine.functions import internal
from wengert.compile.llvm.machine.memory import blend, load, permuted, splat, store
from wengert.compile.llvm.machine.values import I64, POINTER, VOID, B, V, element, number, wide
from wengert.compile.plan.plan import Call, Layout
from wengert.compile.program.program import Value
from wengert.rules.reductions import recurrence

COMBINED: dict[Any, str] = {
    **{function: ufunc.__name__ for ufunc, function in RUNNING.items()},
    **{f.accumulate: f.__name__ for f in (np.maximum, np.minimum, np.logaddexp)},
    recurrence: "recurrence",
}

BESIDE = 4
"""Vectors of rows that are scanned at once: independent operations, and whole lines of memory."""
APART = 4
"""Rows from which those that do not lie side by side are lanes, too."""


@dataclass(frozen=True, slots=True)
class Scan:
    """All that the machine code depends on. Strides are of the inputs, in order, and the output."""

    combine: str
    count: int
    strides: tuple[int, ...]  # along the scanned axis
    rows: tuple[Axis, ...]  # the other axes
    dtypes: tuple[np.dtype, ...]

    @property
    def regroups(self) -> bool:
        """Whether neighbours may be combined before what comes before them."""
        inexact = self.combine == "multiply" and self.dtypes[-1].kind == "f"
        return self.combine != "recurrence" and not inexact


# ---- describing ---------------------------------------------------------------------------------


def describe(step: Call) -> Scan | None:
    """What a step scans; None if it is not among what is written here."""
    s = step.statement
    combine = COMBINED[s.function]
    values = 2 if combine == "recurrence" else 1
    named = {**dict(zip(("axis", "dtype"), s.args[values:], strict=False)), **s.kwargs}
    default = None if s.function in RUNNING.values() else 0
    axis = named.pop("axis", default)
    named.pop("dtype", None)  # it is the output's
    given = s.args[:values]
    if named or len(given) != values or not all(type(v) is Value and not v.weak for v in given):
        return None
    layouts = [*(step.inputs[v] for v in given), *step.outputs]
    dtypes = tuple(x.dtype for x in layouts)
    if not all(d.kind in "biuf" and d.itemsize <= 8 and d.isnative for d in dtypes):
        return None
    if dtypes[-1].kind == "b" or np.dtype(np.float16) in dtypes:
        return None
    if combine == "logaddexp" and dtypes[-1].kind != "f":
        return None
    return _scan(combine, axis, layouts, dtypes)


def _scan(combine: str, axis: Any, layouts: list[Layout], dtypes: Any) -> Scan | None:
    if axis is None:
        flat = tuple(stride for x in layouts if (stride := _flat(x)) is not None)
        if len(flat) < len(layouts):
            return None
        return Scan(combine, math.prod(layouts[0].shape), flat, (), dtypes)
    shape = layouts[-1].shape
    if type(axis) is not int or not shape or any(x.shape != shape for x in layouts):
        return None
    axis %= len(shape)
    strides = [x.strides for x in layouts]
    rows = merged(axes_of(shape, *strides, without=axis))
    return Scan(combine, shape[axis], tuple(s[axis] for s in strides), tuple(rows), dtypes)


def _flat(x: Layout) -> int | None:
    """The stride of an array read as one row, if it has one."""
    pairs = [(n, s) for n, s in zip(x.shape, x.strides, strict=True) if n != 1]
    for (_, outer), (n, inner) in itertools.pairwise(pairs):
        if outer != n * inner:
            return None
    return pairs[-1][1] if pairs else 1


# ---- defining -----------------------------------------------------------------------------------


def define(module: ir.Module, step: Call, name: str, scan: Scan) -> ir.Function:
    """The function of a step, of the addresses of its distinct inputs and its output."""
    order = list(step.inputs)
    values = 2 if scan.combine == "recurrence" else 1
    picks = [*(order.index(v) for v in step.statement.args[:values]), len(order)]
    function, b = internal(module, name, VOID, [POINTER] * (len(order) + 1), "noinline")
    if scan.count and all(n for n, _ in scan.rows):
        _ScanWriter(b, scan).run([function.args[i] for i in picks])
    b.ret_void()
    return function


class _ScanWriter:
    def __init__(self, b: B, scan: Scan) -> None:
        self.b = b
        self.scan = scan
        self.dtype = scan.dtypes[-1]
        self.lanes = max(machine.vector_bytes() // self.dtype.itemsize, 2)

    def run(self, pointers: list[V]) -> None:
        rows = list(self.scan.rows)
        beside = self._beside(rows)
        lanes = rows.pop(beside) if beside is not None else None
        row = lambda at: self._row(at, lanes)
        each_row(self.b, rows, pointers, self.scan.dtypes, row)

    def _beside(self, rows: list[Axis]) -> int | None:
        """Which axis of rows is that of the lanes, if one is.

        Where loads and stores take longer than the operations, it has to lie side by side.
        """
        for i, (_, strides) in enumerate(rows):
            if strides[-1] == 1 and not (self.scan.regroups and self.scan.strides[-1] == 1):
                return i
        if not rows or (self.scan.regroups and self.scan.combine != "logaddexp"):
            return None
        longest = max(range(len(rows)), key=lambda i: rows[i][0])
        return longest if rows[longest][0] >= APART else None

    def _row(self, pointers: list[V], lanes: Axis | None) -> None:
        if lanes is not None:
            self._side_by_side(pointers, *lanes)
        elif self.scan.regroups and self.scan.count > 1:
            self._in_registers(pointers)
        else:
            self._sequence(pointers, [(0, 0)], (0,) * len(pointers), 0)

    def _moved(self, pointers: list[V], index: V, strides: Sequence[int]) -> list[V]:
        """The addresses `index` steps further on."""
        return moved(self.b, pointers, index, strides, self.scan.dtypes)

    # ---- memory ---------------------------------------------------------------------------------

    def _read(
        self, pointers: list[V], lanes: int, strides: Sequence[int], active: int
    ) -> tuple[Any, ...]:
        """The inputs' next elements, in the output's dtype."""
        elements = []
        for p, stride, dtype in zip(pointers[:-1], strides, self.scan.dtypes, strict=False):
            if lanes and not stride:
                x = splat(self.b, load(self.b, p, dtype, 0, 0, 1), lanes)
            else:
                x = load(self.b, p, dtype, lanes, stride, active)
            elements.append(cast(self.b, x, dtype, self.dtype))
        return tuple(elements)

    def _write(self, value: V, pointers: list[V], lanes: int, stride: int, active: int) -> None:
        store(self.b, value, pointers[-1], self.dtype, lanes, stride, active)

    # ---- rows as lanes --------------------------------------------------------------------------

    def _side_by_side(self, pointers: list[V], extent: int, strides: tuple[int, ...]) -> None:
        lanes = self.lanes
        beside = BESIDE if all(s in (0, 1) for s in strides) else 2

        def block(i: V, size: int) -> None:
            start = self.b.mul(i, I64(beside * lanes))
            vectors = [(k, min(lanes, size - k)) for k in range(0, size, lanes)]
            self._sequence(self._moved(pointers, start, strides), vectors, strides, lanes)

        along(self.b, extent, beside * lanes, block)

    def _sequence(
        self, pointers: list[V], vectors: list[tuple[int, int]], beside: tuple[int, ...], lanes: int
    ) -> None:
        """One element of each row after the other. Vectors of rows are (first row, how many)."""

        def at(index: V | None, first: int) -> list[V]:
            base = pointers if index is None else self._moved(pointers, index, self.scan.strides)
            return self._moved(base, I64(first), beside) if first else base

        def read(index: V | None) -> list[tuple[Any, ...]]:
            return [self._read(at(index, first), lanes, beside, n) for first, n in vectors]

        def write(index: V | None, values: list[V]) -> None:
            for (first, n), value in zip(vectors, values, strict=True):
                self._write(value, at(index, first), lanes, beside[-1], n)

        def following(i: V, before: list[V]) -> list[V]:
            index = self.b.add(i, I64(1))
            after = [self._next(y, x) for y, x in zip(before, read(index), strict=True)]
            write(index, after)
            return after

        start = [x[0] for x in read(None)]
        write(None, start)
        fold(self.b, self.scan.count - 1, start, following)

    def _next(self, before: V, given: tuple[Any, ...]) -> V:
        if self.scan.combine != "recurrence":
            return self._combined(before, given[0])
        a, factor = given
        product = apply(self.b, "multiply", self.dtype, (self.dtype,) * 2, [factor, before])
        return apply(self.b, "add", self.dtype, (self.dtype,) * 2, [a, product])

    def _combined(self, x: V, y: V) -> V:
        return apply(self.b, self.scan.combine, self.dtype, (self.dtype,) * 2, [x, y])

    # ---- along a row ----------------------------------------------------------------------------

    def _in_registers(self, pointers: list[V]) -> None:
        lanes, strides = self.lanes, self.scan.strides

        def block(i: V, active: int, carried: list[V]) -> list[V]:
            here = self._moved(pointers, self.b.mul(i, I64(lanes)), strides)
            (x,) = self._read(here, lanes, strides, active)
            prefixes = self._prefixes(x)
            self._write(self._combined(carried[0], prefixes), here, lanes, strides[-1], active)
            last = permuted(self.b, prefixes, [lanes - 1] * lanes)
            return [self._combined(carried[0], last)]

        start = number(wide(element(self.dtype), lanes), identity(self.scan.combine, self.dtype))
        fold_along(self.b, self.scan.count, lanes, [start], block)

    def _prefixes(self, x: V) -> V:
        """In each lane, all up to it combined."""
        step = 1
        while step < self.lanes:
            # Lanes without a partner combine with themselves, and keep what they have.
            before = permuted(self.b, x, [k - step if k >= step else k for k in range(self.lanes)])
            x = blend(self.b, step, x, self._combined(before, x))
            step *= 2
        return x


NATIVES.update(dict.fromkeys(COMBINED, Native(describe, define)))
