"""Orders of rows (argsort) and places in sorted rows (searchsorted), as native functions.

What is sorted are whole numbers: the bits of an element, changed so that they compare as the
elements do, with its place in the row below them. No two are equal, so any way of sorting is
stable. Of a short row each number's rank is counted, which is quadratic, but has no branches and
fills vectors; a long row is sorted by its digits, the lowest first, in steps of a byte.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from llvmlite import ir

from wengert.compile.llvm.elementary.casts import cast
from wengert.compile.llvm.library.natives import NATIVES, Native
from wengert.compile.llvm.library.rows import axes_of, each_row, merged, moved
from wengert.compile.llvm.machine import host as machine
from wengert.compile.llvm.machine.control import along, fold, repeat
from wengert.compile.llvm.machine.functions import internal
from wengert.compile.llvm.machine.lanes import Lanes, where
from wengert.compile.llvm.machine.memory import gather, load, offset, one_by_one, splat, store
from wengert.compile.llvm.machine.scratch import Scratch, stack
from wengert.compile.llvm.machine.values import BYTE, I32, I64, INTP, POINTER, B, V, number
from wengert.compile.plan.plan import Call, Layout
from wengert.compile.program.program import Value

RANKED = {2: 32, 4: 64, 8: 128}
"""Elements of a row up to which ranks are counted, by the lanes of a vector of 64-bit integers."""
TOGETHER = 4
"""Vectors whose ranks are counted at once."""

_DIGITS = 256
_KEYS = np.dtype(np.uint64)
_WIDE = ir.IntType(128)


def _well_formed(x: Layout) -> bool:
    return x.dtype.kind in "biuf" and x.dtype.itemsize <= 8 and x.dtype.isnative


# ---- numbers that compare as elements do --------------------------------------------------------


def comparable(x: Lanes, dtype: np.dtype) -> Lanes:
    """An unsigned integer of the dtype's size. Zeros are equal, NaNs are, and are the largest."""
    if dtype.kind == "b":
        return x.to("zext", BYTE)
    if dtype.kind == "u":
        return x
    last = 8 * dtype.itemsize - 1
    if dtype.kind == "i":
        return x ^ (1 << last)
    bits = (x + 0.0).bits()
    sign = bits.by("ashr", last)
    return where(x.is_nan(), -1, bits ^ (sign | (1 << last)))


# ---- argsort ------------------------------------------------------------------------------------


def _axis(step: Call) -> tuple[int, Layout, Layout] | None:
    """The axis of an argsort, and its arrays."""
    s = step.statement
    given = dict(zip(("axis", "kind"), s.args[1:], strict=False)) | s.kwargs
    axis = given.pop("axis", -1)
    given.pop("kind", None)  # all are stable here
    given.pop("stable", None)
    v = s.args[0] if s.args else None
    if len(s.args) > 3 or given or type(v) is not Value or v.weak or sys.byteorder != "little":
        return None
    x, (out,) = step.inputs[v], step.outputs
    if axis is None and len(x.shape) == 1:
        axis = 0
    if type(axis) is not int or not x.shape or not _well_formed(x) or out.dtype != INTP:
        return None
    axis %= len(x.shape)
    return (axis, x, out) if x.shape[axis] < 1 << 31 else None


def argsort(
    module: ir.Module, step: Call, name: str, parts: tuple[int, Layout, Layout]
) -> ir.Function:
    """The function of an argsort."""
    axis, x, out = parts
    function, b = internal(module, name, I32, [POINTER] * 2, "noinline")
    count = x.shape[axis]
    strides = x.strides[axis], out.strides[axis]
    rows = axes_of(x.shape, x.strides, out.strides, without=axis)
    if math.prod(x.shape):
        lanes = max(machine.vector_bytes() // 8, 2)
        sort: Any = _Ranks if count <= RANKED[lanes] else _Digits
        sorter = sort(b, x.dtype, count, strides, lanes)
        each_row(b, rows, list(function.args), (x.dtype, INTP), lambda at: sorter.row(*at))
        sorter.finish()
    b.ret(I32(0))
    return function


class _Ranks:
    """Short rows: an element goes where as many are before it."""

    def __init__(
        self, b: B, dtype: np.dtype, count: int, strides: tuple[int, int], lanes: int
    ) -> None:
        self.b = b
        self.dtype = dtype
        self.count = count
        self.strides = strides
        self.lanes = lanes
        self.compound = dtype.itemsize <= 4  # places fit in beside the keys
        padded = -(-count // lanes) * lanes
        self.keys = stack(b, ir.ArrayType(I64, padded))
        first = ir.Constant(ir.VectorType(I64, lanes), [I64(k) for k in range(lanes)])
        self.first = Lanes(b, first)

    def finish(self) -> None:
        pass

    def row(self, x: V, out: V) -> None:
        b, lanes = self.b, self.lanes
        note = lambda i, active: self._note(x, b.mul(i, I64(lanes)), active)
        along(b, self.count, lanes, note)

        def rank(i: V, size: int) -> None:
            actives = [min(lanes, size - k) for k in range(0, size, lanes)]
            self._rank(out, b.mul(i, I64(TOGETHER * lanes)), actives)

        along(b, self.count, TOGETHER * lanes, rank)

    def _everywhere(self, x: V) -> Lanes:
        return Lanes(self.b, splat(self.b, x, self.lanes))

    def _places(self, start: V) -> Lanes:
        return self._everywhere(start) + self.first

    def _note(self, x: V, start: V, active: int) -> None:
        """Keys of a vector of elements."""
        b = self.b
        at = offset(b, x, b.mul(start, I64(self.strides[0])), self.dtype)
        elements = load(b, at, self.dtype, self.lanes, self.strides[0], active)
        key = comparable(Lanes(b, elements), self.dtype)
        if self.compound:
            key = key.to("zext", I64) << 32 | self._places(start)
        store(b, key.value, offset(b, self.keys, start, _KEYS), _KEYS, self.lanes, 1, self.lanes)

    def _rank(self, out: V, start: V, actives: list[int]) -> None:
        """Write the places of some vectors of elements where these are to go."""
        b, lanes = self.b, self.lanes
        starts = [b.add(start, I64(k * lanes)) for k in range(len(actives))]
        keys = [offset(b, self.keys, s, _KEYS) for s in starts]
        mine = [Lanes(b, load(b, at, _KEYS, lanes, 1, lanes)) for at in keys]
        places = [self._places(s) for s in starts]

        def count(j: V, ranks: list[V]) -> list[V]:
            other = load(b, offset(b, self.keys, j, _KEYS), _KEYS, 0, 1, 1)
            other, here = self._everywhere(other), self._everywhere(j)
            counts = []
            for key, place, rank in zip(mine, places, ranks, strict=True):
                less = other.below(key)
                if not self.compound:
                    less = less | (other.equals(key) & here.below(place))
                counts.append((Lanes(b, rank) - less.to("sext", I64)).value)
            return counts

        ranks = fold(b, self.count, [key.full(0).value for key in mine], count)
        for rank, place, active in zip(ranks, places, actives, strict=True):
            to = Lanes(b, rank) * self.strides[1]
            one_by_one(b, out, to.value, place.value, INTP, active, None)


class _Digits:
    """Long rows: counting sorts by one byte of the keys after the other (LSD radix sort)."""

    def __init__(
        self, b: B, dtype: np.dtype, count: int, strides: tuple[int, int], lanes: int
    ) -> None:
        self.b = b
        self.dtype = dtype
        self.count = count
        self.strides = strides
        self.passes = dtype.itemsize
        self.kind = I64 if dtype.itemsize <= 4 else _WIDE
        self.size = self.kind.width // 8
        self.tables = stack(b, ir.ArrayType(I32, _DIGITS * self.passes))
        self.scratch = Scratch(b)
        self.memory = self.scratch.room(2 * self.size * count)

    def finish(self) -> None:
        self.scratch.free()

    def _bump(self, place: V) -> V:
        """What a counter holds, which is one more from now on."""
        before = self.b.load(place, typ=I32, align=4)
        self.b.store(self.b.add(before, I32(1)), place, align=4)
        return self.b.zext(before, I64)

    def _counter(self, table: V, digit: V) -> V:
        return self.b.gep(table, [self.b.zext(digit, I64)], inbounds=True, source_etype=I32)

    def _number(self, memory: V, index: V) -> V:
        return self.b.gep(memory, [index], inbounds=True, source_etype=self.kind)

    def row(self, x: V, out: V) -> None:
        b = self.b
        other = self._number(self.memory, I64(self.count))
        self._clear()
        repeat(b, self.count, lambda i: self._note(x, i))
        source, _ = fold(b, self.passes, [self.memory, other], self._pass)

        def write(i: V) -> None:
            place = b.load(self._number(source, i), typ=I32, align=4)
            at = offset(b, out, b.mul(i, I64(self.strides[1])), INTP)
            b.store(b.zext(place, I64), at, align=8)

        repeat(b, self.count, write)

    def _clear(self) -> None:
        b = self.b
        some = number(ir.VectorType(I32, 16), 0)
        repeat(
            b,
            _DIGITS * self.passes // 16,
            lambda i: b.store(some, b.gep(self.tables, [i], source_etype=some.type), align=4),
        )

    def _note(self, x: V, i: V) -> None:
        """The number of an element, and its digits counted."""
        b = self.b
        at = offset(b, x, b.mul(i, I64(self.strides[0])), self.dtype)
        key = comparable(Lanes(b, load(b, at, self.dtype, 0, 1, 1)), self.dtype)
        for k in range(self.passes):
            digit = (key >> 8 * k).to("trunc", BYTE) if self.passes > 1 else key
            table = b.gep(self.tables, [I64(k * _DIGITS)], source_etype=I32)
            self._bump(self._counter(table, digit.value))
        high = key.to("zext", self.kind) << self.kind.width // 2
        whole = high | Lanes(b, i).to("zext", self.kind)
        b.store(whole.value, self._number(self.memory, i), align=8)

    def _pass(self, k: V, both: list[V]) -> list[V]:
        """Sort by a digit from one half of the memory to the other, unless all have the same."""
        b = self.b
        source, target = both
        table = b.gep(self.tables, [b.mul(k, I64(_DIGITS))], source_etype=I32)
        skipped = b.add(k, I64(self.size // 2))

        def digit(i: V) -> V:
            at = b.gep(self._number(source, i), [skipped], source_etype=BYTE)
            return b.load(at, typ=BYTE, align=1)

        of_first = b.load(self._counter(table, digit(I64(0))), typ=I32, align=4)
        differ = b.icmp_unsigned("!=", of_first, I32(self.count))

        def move(i: V) -> None:
            place = self._bump(self._counter(table, digit(i)))
            value = b.load(self._number(source, i), typ=self.kind, align=8)
            b.store(value, self._number(target, place), align=8)

        with b.if_then(differ):
            self._starts(table)
            repeat(b, self.count, move)
        return [b.select(differ, target, source), b.select(differ, source, target)]

    def _starts(self, table: V) -> None:
        """Counts become the places where their digits begin."""
        b, unrolled = self.b, 8

        def some(i: V, carried: list[V]) -> list[V]:
            (total,) = carried
            for k in range(unrolled):
                index = b.add(b.mul(i, I64(unrolled)), I64(k))
                at = b.gep(table, [index], inbounds=True, source_etype=I32)
                count = b.load(at, typ=I32, align=4)
                b.store(total, at, align=4)
                total = b.add(total, count)
            return [total]

        fold(b, _DIGITS // unrolled, [I32(0)], some)


# ---- searchsorted -------------------------------------------------------------------------------


_Parts = tuple[Layout, Layout, Layout, str, np.dtype]


def _search(step: Call) -> _Parts | None:
    """The sorted row, what is looked for, where results go, the side, and the dtype to compare."""
    s = step.statement
    given = dict(zip(("side", "sorter"), s.args[2:], strict=False)) | s.kwargs
    side = given.pop("side", "left")
    if given.pop("sorter", None) is not None or given or len(s.args) < 2:
        return None
    if side not in ("left", "right"):
        return None
    if not all(type(v) is Value and not v.weak for v in s.args[:2]):
        return None
    row, sought = (step.inputs[v] for v in s.args[:2])
    (out,) = step.outputs
    if len(row.shape) != 1 or sought.shape != out.shape or out.dtype != INTP:
        return None
    if not (_well_formed(row) and _well_formed(sought)):
        return None
    return row, sought, out, side, np.result_type(row.dtype, sought.dtype)


def searchsorted(module: ir.Module, step: Call, name: str, parts: _Parts) -> ir.Function:
    """The function of a searchsorted."""
    row, sought, out, side, dtype = parts
    order = list(step.inputs)
    picks = [order.index(v) for v in step.statement.args[:2]]
    function, b = internal(module, name, I32, [POINTER] * (len(order) + 1), "noinline")
    if math.prod(out.shape):
        table, values = (function.args[i] for i in picks)
        axes = merged(axes_of(out.shape, sought.strides, out.strides))
        *rows, (extent, strides) = axes or [(1, (1, 1))]
        search = _Search(b, table, row, dtype, side)
        once = lambda at: search.all(at, sought.dtype, extent, strides)
        each_row(b, rows, [values, function.args[-1]], (sought.dtype, INTP), once)
    b.ret(I32(0))
    return function


class _Search:
    """Binary searches, a vector of them at once: they halve the row in step."""

    def __init__(self, b: B, table: V, row: Layout, dtype: np.dtype, side: str) -> None:
        self.b = b
        self.table = table
        self.row = row
        self.dtype = dtype
        self.side = side
        self.lanes = max(machine.vector_bytes() // 8, 4)

    def all(self, at: list[V], dtype: np.dtype, extent: int, strides: tuple[int, ...]) -> None:
        def block(i: V, active: int) -> None:
            b, start = self.b, self.b.mul(i, I64(self.lanes))
            source, target = moved(b, at, start, strides, (dtype, INTP))
            if strides[0] or extent == 1:
                x = load(b, source, dtype, self.lanes, strides[0], active)
            else:
                x = splat(b, load(b, source, dtype, 0, 0, 1), self.lanes)
            place = self._place(Lanes(b, cast(b, x, dtype, self.dtype)))
            store(b, place, target, INTP, self.lanes, strides[1], active)

        along(self.b, extent, self.lanes, block)

    def _place(self, x: Lanes) -> V:
        """How many elements of the row are less, or not greater."""
        b = self.b

        def halve(_: V, carried: list[V]) -> list[V]:
            place, left = (Lanes(b, value) for value in carried)
            middle = place + Lanes(b, splat(b, (left + 1 >> 1).value, self.lanes))
            chosen = where(self._before(middle - 1, x), middle, place)
            return [chosen.value, (left >> 1).value]

        nowhere = number(ir.VectorType(I64, self.lanes), 0)
        count = self.row.shape[0]
        place, _ = fold(b, count.bit_length(), [nowhere, I64(count)], halve)
        return place

    def _before(self, index: Lanes, x: Lanes) -> Lanes:
        """Whether the row's elements go before those sought. NaN is the largest."""
        b, left = self.b, self.side == "left"
        steps = (index * self.row.strides[0]).value
        row = gather(b, self.table, steps, self.row.dtype, self.lanes, self.lanes)
        y = Lanes(b, cast(b, row, self.row.dtype, self.dtype))
        if self.dtype.kind in "bu":
            return y.below(x) if left else ~x.below(y)
        before = y < x if left else y <= x
        if self.dtype.kind == "i":
            return before
        return before | (x.is_nan() & ~y.is_nan() if left else x.is_nan())


NATIVES[np.argsort] = Native(_axis, argsort)
NATIVES[np.searchsorted] = Native(_search, searchsorted)
