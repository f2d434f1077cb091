"""The loops of a nest as LLVM IR, with vectors written out.

How the loops run is decided before, as data: `schedule.py` orders them, `phases.py` says when each
operation is computed. Here they are written down: one loop
is taken in blocks of several vectors, with one last block for what remains, whose last vector is
partly active. A value that is the same for all lanes stays a scalar, computed outside the loops it
does not depend on.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from llvmlite import ir

from wengert.compile.llvm.elementary import math as series
from wengert.compile.llvm.elementary.casts import FLOAT32, cast
from wengert.compile.llvm.elementary.division import Inverse
from wengert.compile.llvm.elementary.scalars import apply, identity
from wengert.compile.llvm.machine.control import counting
from wengert.compile.llvm.machine.lanes import Lanes, where
from wengert.compile.llvm.machine.memory import (
    blend,
    folded,
    gather,
    lane,
    load,
    offset,
    one_by_one,
    prefetch,
    splat,
    store,
    store_past_caches,
)
from wengert.compile.llvm.machine.scratch import Variable, stack
from wengert.compile.llvm.machine.turning import columns_of
from wengert.compile.llvm.machine.values import I64, INTP, B, V, element, like, number, stored
from wengert.compile.llvm.nests.accumulators import (
    BLOCK,
    Accumulator,
    Position,
    RunningMaximum,
    combined,
)
from wengert.compile.llvm.nests.neighbours import Window, neighbours, read_together, write_together
from wengert.compile.llvm.nests.phases import Phases
from wengert.compile.llvm.nests.products import (
    CONTRACT,
    circular_pairs,
    products_summed,
    sums_of_products,
)
from wengert.compile.llvm.nests.scatters import Copies, places
from wengert.compile.llvm.nests.schedule import Nest, Phase, arguments, cost, dtype_of
from wengert.compile.llvm.nests.streams import Stream, falling
from wengert.compile.llvm.nests.tables import Table, is_short
from wengert.compile.llvm.nests.traffic import AHEAD, from_afar
from wengert.compile.plan.kernel import LINE, Access, Apply, Const, Index, Load, Reduce, Store

_UNROLL = 100
"""Loops are written out if that makes no more instructions than about this."""


class NestWriter:
    """Writes one nest at the builder's position."""

    def __init__(
        self,
        b: B,
        nest: Nest,
        bases: list[V],
        fused: bool,
        past: frozenset[int] = frozenset(),
        parts: int = 1,
    ) -> None:
        self.b, self.nest, self.bases = b, nest, bases
        self.operations = nest.operations
        self.plan = Phases(nest)
        self.lanes = nest.lanes if nest.vector >= 0 else 0
        self.fused = fused and self.lanes > 0  # whether a fused multiply-add is an instruction
        self.values: dict[int, list[Any]] = {}  # by operation: one per vector, or one scalar
        self.splats: dict[int, Any] = {}  # scalars in all lanes
        self.pointers: dict[Access, V] = {}
        self.indices: dict[int, V] = {}
        self.active: list[int] = []  # lanes in use of each vector of the block; none outside
        self.kept: dict[int, Access] = {}
        self.in_lanes = self._used_in_lanes()
        self.divisors = self._used_as_divisors()
        self.terms = products_summed(nest.operations)
        self.sums = sums_of_products(nest.operations)
        self.inverses: dict[int, Inverse] = {}
        self.tiles: dict[int, V] = {}  # by load: where a transposed square lies
        self.falling = falling(nest.operations)
        self.past = past  # stores that are not to be kept in the caches
        self.far = from_afar(nest, parts, past)
        self.copies: dict[tuple[int, int], Copies] = {}  # of the places that are added to
        self.tables: dict[int, Table] = {}  # by load: what it takes elements out of
        self.windows = neighbours(nest, self.plan.level)
        self.circular = circular_pairs(nest.operations)
        self.read: dict[int, list[V]] = {}  # what was read, or computed, together with another
        self.now: tuple[Collection[int], int, int] = ((), 0, 0)  # see `_is_now`
        self.tile_row: V = I64(0)
        self.in_square = False

    def _dtype(self, number: int) -> np.dtype:
        return dtype_of(self.operations[number], self.operations)

    def _used_in_lanes(self) -> set[int]:
        """Scalars that operations on vectors use."""
        used: set[int] = set()
        for k in self.plan.live:
            op = self.operations[k]
            if self.plan.wide[k] or (isinstance(op, Reduce) and self._across()):
                used.update(i for i in arguments(op) if not self.plan.wide[i])
        return used

    def _used_as_divisors(self) -> set[int]:
        """Scalars by which vectors of floats are divided."""
        return {
            op.args[1]
            for k in self.plan.live
            if isinstance(op := self.operations[k], Apply)
            and op.name in ("divide", "true_divide")
            and self.plan.wide[k]
            and not self.plan.wide[op.args[1]]
            and op.dtype.kind == "f"
            and op.dtype.itemsize in (4, 8)
        }

    # ---- the order of things ----------------------------------------------------------------

    def run(self) -> None:
        for k in sorted(self.plan.live):
            op = self.operations[k]
            if isinstance(op, Load | Store) and op.access not in self.pointers:
                base = self.bases[op.access.buffer]
                dtype = self.nest.buffers[op.access.buffer]
                self.pointers[op.access] = offset(self.b, base, op.access.offset, dtype)
        for k in sorted(self.plan.kept):
            self._make_row_buffer(k)
        for k in sorted(self.nest.packed & self.plan.live):
            self.tiles[k] = self._room(self._dtype(k), self.lanes**2 * self.nest.jam)
        for k in sorted(self.plan.live):
            op = self.operations[k]
            if isinstance(op, Store) and (count := self._copied(op)):
                where, at = _begin(op.access), self.pointers[op.access]
                if where not in self.copies:
                    dtype = self.nest.buffers[op.access.buffer]
                    self.copies[where] = Copies(self.b, dtype, count, self.lanes, at)
            if isinstance(op, Load) and self._in_lanes(op.access) and is_short(self.nest, op):
                ((_, _, size),) = op.access.indices
                at = self.pointers[op.access]
                self.tables[k] = Table(self.b, op.dtype, at, size, self.lanes)
        self._outer(0)
        for copies in self.copies.values():
            copies.finish()

    def _copied(self, op: Store) -> int:
        """How many places a store adds to in copies for each lane."""
        return places(self.nest, op) if self._in_lanes(op.access) else 0

    def _in_lanes(self, access: Access) -> bool:
        """Whether computed indices differ between lanes, all of them."""
        return self.lanes > 0 and all(self.plan.wide[k] for k, _, _ in access.indices)

    def _make_row_buffer(self, number: int) -> None:
        dtype = self._dtype(number)
        _, size = self.plan.buffer_strides(number)
        access = self.plan.buffer_access(number, -1 - number)
        self.kept[number] = access
        self.pointers[access] = self._room(dtype, size)

    def _room(self, dtype: np.dtype, size: int) -> V:
        """Room for elements on the stack."""
        return stack(self.b, ir.ArrayType(stored(dtype), size), LINE)

    def _outer(self, depth: int) -> None:
        self._compute(depth, self.plan.live, 0)
        if depth < self.nest.outer:
            self._loop(depth, lambda: self._outer(depth + 1))
            return
        phases, passed = self.plan.phases, 0
        while passed < len(phases):
            stream = self.plan.streams.get(passed)
            if stream is not None:
                self._stream(stream, phases[passed], phases[passed + 1])
                passed += 1
            else:
                self._pass(phases[passed])
            passed += 1
            self._compute(depth, self.plan.live, passed)

    def _pass(self, phase: Phase) -> None:
        """One pass over a row: its reductions become values of the row."""
        steps = self._steps()
        accumulators = {k: self._accumulator(k, steps) for k in phase.reduces}
        if 0 not in self.nest.extents[self.nest.outer :]:
            with self._scope():
                self._row(self.nest.outer, phase, accumulators, self._chunks(accumulators))
        for k, accumulator in accumulators.items():
            self._assign(k, accumulator.results(max(len(self.active), 1)))

    def _row(
        self, depth: int, phase: Phase, sums: dict[int, Accumulator], chunks: tuple[int, int]
    ) -> None:
        """The loops of a pass, from `depth` on."""
        if depth > self.nest.outer:
            self._compute(depth, phase.needed | phase.reloaded, len(self.plan.phases), phase)
        if depth == len(self.nest.extents):
            self._accumulate(sums)
            return

        def flush() -> None:
            for accumulator in sums.values():
                accumulator.flush()

        packed = sorted(self.nest.packed & phase.needed)
        if packed and depth == len(self.nest.extents) - 1:
            self._squares(depth, packed, lambda: self._row(depth + 1, phase, sums, chunks), flush)
            return
        chunk = chunks[1] if depth == chunks[0] else 0
        self._loop(depth, lambda: self._row(depth + 1, phase, sums, chunks), chunk, flush)

    # ---- two passes in one ------------------------------------------------------------------

    def _stream(self, stream: Stream, first: Phase, second: Phase) -> None:
        """Both passes at once; one after the other if the outcome is not finite."""
        b = self.b
        results = self._streamed(stream, first, second)
        places = {k: Variable(b, value) for k, value in results.items()}
        zeros = [Lanes(b, value) * 0.0 for value in results.values()]  # NaN of what is not finite
        not_finite = functools.reduce(operator.add, zeros).is_nan()
        with b.if_then(not_finite.value, likely=False), self._scope():
            self._pass(first)
            self._compute(self.nest.outer, self.plan.live, self.plan.ready[stream.maximum])
            self._pass(second)
            for k, place in places.items():
                place.put(self.values[k][0])
        for k, place in places.items():
            self._assign(k, [place.get()])

    def _streamed(self, stream: Stream, first: Phase, second: Phase) -> dict[int, V]:
        """The maximum and the sums, of one pass."""
        b, depth, passed = self.b, self.nest.outer, len(self.plan.phases)
        op = self.operations[stream.maximum]
        assert isinstance(op, Reduce)
        top = RunningMaximum(b, op.dtype, self.lanes)
        running = {k: self._accumulator(k, self._steps()) for k in second.reduces}

        def body() -> None:
            self._compute(depth + 1, first.needed, passed, first)
            top.rise(self._vectors(op.arg), self.active[-1], list(running.values()))
            now = top.value()
            for k in (stream.maximum, *stream.shifts):
                self.values[k], self.splats[k] = [lane(b, now, 0)], now
            self._compute(depth + 1, second.needed, passed, second)
            self._accumulate(running)

        def flush() -> None:
            for accumulator in running.values():
                accumulator.flush()

        at, chunk = self._chunks(running)
        before, self.falling = self.falling, self.falling | stream.exponentials
        with self._scope():
            self._loop(depth, body, chunk if at == depth else 0, flush)
        self.falling = before
        sums = {k: accumulator.results(1)[0] for k, accumulator in running.items()}
        return {stream.maximum: lane(b, top.value(), 0), **sums}

    # ---- operations -------------------------------------------------------------------------

    def _compute(
        self, depth: int, among: Collection[int], passed: int, phase: Phase | None = None
    ) -> None:
        """All operations of a level that can be computed and have not been."""
        self.now = among, depth, passed
        for k in sorted(among):
            if not self._is_now(k) or k in self.values or isinstance(self.operations[k], Reduce):
                continue
            if phase is not None and k in phase.reloaded:
                self._assign(k, self._reload(k))
                continue
            self._assign(k, self._results(k))
            if phase is not None and k in phase.saved:
                self._save(k)

    def _is_now(self, k: int) -> bool:
        """Whether an operation is computed at this point."""
        among, depth, passed = self.now  # no function that holds this emitter: it would be a cycle
        return k in among and self.plan.level[k] == depth and self.plan.ready[k] <= passed

    def _assign(self, number: int, values: list[Any]) -> None:
        self.values[number] = values
        if number in self.in_lanes and values and self.lanes:
            self.splats[number] = splat(self.b, values[0], self.lanes)
        if number in self.divisors and values and self.fused:
            self.inverses[number] = Inverse(self.b, values[0], self.lanes)

    def _vectors(self, number: int) -> list[Any]:
        """A value as vectors, one for each of the block."""
        if self.plan.wide[number]:
            return self.values[number]
        known = self.splats.get(number)
        if known is None:
            known = splat(self.b, self.values[number][0], self.lanes)
        return [known] * len(self.active)

    def _results(self, number: int) -> list[Any]:
        op = self.operations[number]
        if isinstance(op, Store):
            self._store(number, op)
            return []
        if isinstance(op, Const):
            return [self._constant(op)]
        if isinstance(op, Index):
            return self._index_values(op)
        if isinstance(op, Load):
            return self._load(number, op)
        assert isinstance(op, Apply)
        inverse = self.inverses.get(op.args[-1]) if self._divides(number, op) else None
        if inverse is not None:
            return [inverse.times(self.b, x) for x in self._vectors(op.args[0])]
        kinds = tuple(self._dtype(k) for k in op.args)
        rows = self._operands(number, op.args)
        if number in self.terms:
            return [self.b.fmul(*args, flags=(CONTRACT,)) for args in rows]
        if number in self.circular and all(map(self._is_now, self.circular[number])):
            return self._circular(number, rows)
        if number in self.falling:
            return [series.call(self.b, "falling_exp", *args) for args in rows]
        if (summed := self.sums.get(number)) and self._at_once(
            number, summed.product, *summed.factors
        ):
            return [summed.of(self.b, *args) for args in self._operands(number, summed.read)]
        return [apply(self.b, op.name, op.dtype, kinds, list(args)) for args in rows]

    def _circular(self, number: int, rows: list[tuple[Any, ...]]) -> list[Any]:
        """A sine or a cosine, where both are asked for."""
        if number not in self.read:
            pairs = [series.sin_and_cos(self.b, *args) for args in rows]
            both = zip(*pairs, strict=True)
            self.read |= {k: list(x) for k, x in zip(self.circular[number], both, strict=True)}
        return self.read[number]

    def _operands(self, number: int, args: Sequence[int]) -> list[tuple[Any, ...]]:
        """What an operation reads, for each vector of the block if it is one of vectors."""
        if self.plan.wide[number]:
            return list(zip(*(self._vectors(k) for k in args), strict=True))
        return [tuple(self.values[k][0] for k in args)]

    def _at_once(self, number: int, product: int, *factors: int) -> bool:
        """Whether a product is made in the same loop as the sum that reads it."""
        level, wide = self.plan.level, self.plan.wide
        here = level[product] == level[number] and wide[product] == wide[number]
        return here and all(k in self.values for k in factors)

    def _divides(self, number: int, op: Apply) -> bool:
        return op.name in ("divide", "true_divide") and self.plan.wide[number]

    def _constant(self, op: Const) -> Any:
        if op.dtype.kind == "V":
            single = number(element(FLOAT32), op.value)
            return cast(self.b, single, FLOAT32, op.dtype)
        kind = element(op.dtype)
        if op.dtype.kind == "c":
            value = complex(op.value)
            return number(kind, value.real), number(kind, value.imag)
        if op.dtype.kind == "b":
            return number(kind, bool(op.value))
        return number(kind, op.value)

    def _index_values(self, op: Index) -> list[V]:
        index = self.indices[op.loop]
        if op.loop != self.nest.vector:
            return [cast(self.b, index, INTP, op.dtype)]
        kind = ir.VectorType(I64, self.lanes)
        base = splat(self.b, index, self.lanes)
        steps = (range(u * self.lanes, (u + 1) * self.lanes) for u in range(len(self.active)))
        values = (self.b.add(base, ir.Constant(kind, [I64(i) for i in step])) for step in steps)
        return [cast(self.b, v, INTP, op.dtype) for v in values]

    # ---- memory -----------------------------------------------------------------------------

    def _step(self, access: Access) -> int:
        return access.strides[self.nest.vector] if self.nest.vector >= 0 else 0

    def _load(self, number: int, op: Load) -> list[Any]:
        if number in self.tiles and self.in_square:
            return self._tile_row(number)
        window = self._window(number)
        if window is not None:
            if number not in self.read:
                rows = self._rows(self.operations[window[0]].access)  # type: ignore[union-attr]
                self.read |= read_together(self.b, self.nest, window, rows)
            return self.read[number]
        step, dtype = self._step(op.access), op.dtype
        pointer, vectors = self._place(op.access)
        if not self.plan.wide[number]:
            return [load(self.b, pointer, dtype, 0, 0, 1)]
        if number in self.tables and vectors is not None:
            return list(map(self.tables[number].taken, vectors))
        values = []
        for u, active in enumerate(self.active):
            place = offset(self.b, pointer, u * self.lanes * step, dtype)
            if vectors is None:
                values.append(load(self.b, place, dtype, self.lanes, step, active))
            else:
                values.append(gather(self.b, place, vectors[u], dtype, self.lanes, active))
        return values

    def _window(self, number: int) -> Window | None:
        """The operations that access memory together with one, if all of them can now."""
        window = self.windows.get(number)
        return window if window is not None and all(map(self._is_now, window)) else None

    def _rows(self, access: Access) -> list[list[V]]:
        """The addresses that the active lanes access, of each vector."""
        step, dtype, pointer = self._step(access), self._dtype_at(access), self.pointers[access]
        return [
            [offset(self.b, pointer, (u * self.lanes + i) * step, dtype) for i in range(active)]
            for u, active in enumerate(self.active)
        ]

    def _squares(
        self, depth: int, packed: list[int], body: Callable[[], None], flush: Callable[[], None]
    ) -> None:
        """The last loop in pieces of as many steps as there are lanes; before each, what loads
        read along it is transposed, for lanes to lie side by side."""
        extent, lanes = self.nest.extents[depth], self.lanes

        def piece(start: V, count: int) -> None:
            for k in packed:
                self._pack(k, start, count)
            self.in_square = True
            with counting(self.b, I64(0), I64(count), 1) as row:
                self.tile_row = row
                self._iteration(depth, self.b.add(start, row), body)
            self.in_square = False
            flush()

        rest = extent % lanes
        if extent >= lanes:
            with counting(self.b, I64(0), I64(extent - rest), lanes) as start:
                piece(start, lanes)
        if rest and extent < 4 * lanes:
            piece(I64(extent - rest), rest)
        elif rest:  # the edge of something large: not worth the code of another transposition
            with counting(self.b, I64(extent - rest), I64(extent), 1) as index:
                self._iteration(depth, index, body)
            flush()

    def _pack(self, number: int, start: V, count: int) -> None:
        """Transpose `count` elements from `start` on for each lane into the load's tile."""
        op, b, lanes = self.operations[number], self.b, self.lanes
        assert isinstance(op, Load)
        dtype, step = op.dtype, self._step(op.access)
        corner = offset(b, self.pointers[op.access], start, dtype)
        for u, active in enumerate(self.active):
            rows = []
            for i in range(lanes):
                place = offset(b, corner, (u * lanes + i) * step, dtype)
                if i < active:
                    rows.append(load(b, place, dtype, lanes, 1, count))
                else:
                    rows.append(like(rows[0], 0))
            for i, row in enumerate(columns_of(b, rows)[:count]):
                place = offset(b, self.tiles[number], (i * self.nest.jam + u) * lanes, dtype)
                store(b, row, place, dtype, lanes, 1, lanes)

    def _tile_row(self, number: int) -> list[V]:
        dtype, lanes = self._dtype(number), self.lanes
        row = self.b.mul(self.tile_row, I64(self.nest.jam * lanes))
        pointer = offset(self.b, self.tiles[number], row, dtype)
        places = (offset(self.b, pointer, u * lanes, dtype) for u in range(len(self.active)))
        return [load(self.b, place, dtype, lanes, 1, lanes) for place in places]

    def _place(self, access: Access) -> tuple[V, list[V] | None]:
        """Where an access begins, and what computed indices add to that in each vector."""
        pointer, vectors = self.pointers[access], None
        for k, stride, size in access.indices:
            dtype = self._dtype(k)
            offsets = [self._within(value, dtype, stride, size) for value in self.values[k]]
            if not self.plan.wide[k]:
                pointer = offset(self.b, pointer, offsets[0], self._dtype_at(access))
            elif vectors is None:
                vectors = offsets
            else:
                vectors = [self.b.add(x, y) for x, y in zip(vectors, offsets, strict=True)]
        step = self._step(access)
        if vectors is not None and step:
            kind = ir.VectorType(I64, self.lanes)
            lanes = ir.Constant(kind, [I64(i * step) for i in range(self.lanes)])
            vectors = [self.b.add(v, lanes) for v in vectors]
        return pointer, vectors

    def _within(self, value: V, dtype: np.dtype, stride: int, size: int) -> V:
        """An index times its stride; 0 for one out of range, which a check tells of."""
        index = Lanes(self.b, cast(self.b, value, dtype, INTP))
        if dtype.kind == "i":
            index = where(index < 0, index + size, index)
        index = where(index.below(size), index, 0)
        return (index * stride if stride != 1 else index).value

    def _save(self, number: int) -> None:
        """Keep a value of an element until a later pass over the row."""
        dtype = self._dtype(number)
        pointer = self.pointers[self.kept[number]]
        lanes = self.lanes if self.plan.wide[number] else 0
        for u, value in enumerate(self.values[number]):
            place = offset(self.b, pointer, u * lanes, dtype)
            store(self.b, value, place, dtype, lanes, 1, lanes)

    def _reload(self, number: int) -> list[Any]:
        dtype = self._dtype(number)
        pointer = self.pointers[self.kept[number]]
        lanes = self.lanes if self.plan.wide[number] else 0
        count = len(self.active) if lanes else 1
        places = (offset(self.b, pointer, u * lanes, dtype) for u in range(count))
        return [load(self.b, place, dtype, lanes, 1, lanes) for place in places]

    def _store(self, number: int, op: Store) -> None:
        dtype = self.nest.buffers[op.access.buffer]
        window = self._window(number)
        if window is not None:
            if number == max(window):  # by then, all have been computed
                rows = self._rows(self.operations[window[0]].access)  # type: ignore[union-attr]
                values = [self._vectors(self.operations[k].arg) for k in window]  # type: ignore[union-attr]
                write_together(self.b, self.nest, window, rows, values)
            return
        step = self._step(op.access)
        pointer, vectors = self._place(op.access)
        combine = self._combining(op, dtype)
        copies = self.copies.get(_begin(op.access))
        if copies is not None and vectors is not None:
            for u, value in enumerate(self._vectors(op.arg)):
                copies.add(vectors[u], value, self.active[u])
        elif vectors is not None:
            for u, value in enumerate(self._vectors(op.arg)):
                place = offset(self.b, pointer, u * self.lanes * step, dtype)
                active = self.active[u]
                one_by_one(self.b, place, vectors[u], value, dtype, active, combine)
        elif step and self.active:
            for u, value in enumerate(self._vectors(op.arg)):
                place = offset(self.b, pointer, u * self.lanes * step, dtype)
                if combine is not None:
                    old = load(self.b, place, dtype, self.lanes, step, self.active[u])
                    value = combine(old, value)
                if number in self.past and self.active[u] == self.lanes:
                    store_past_caches(self.b, value, place, dtype)
                else:
                    store(self.b, value, place, dtype, self.lanes, step, self.active[u])
        else:
            value = self._single(op, dtype, combine)
            if combine is not None:
                value = combine(load(self.b, pointer, dtype, 0, 0, 1), value)
            store(self.b, value, pointer, dtype, 0, 0, 1)

    def _combining(self, op: Store, dtype: np.dtype) -> Callable[[Any, Any], Any] | None:
        if not op.combine:
            return None
        return lambda x, y: combined(self.b, op.combine, dtype, x, y)

    def _single(self, op: Store, dtype: np.dtype, combine: Callable[[Any, Any], Any] | None) -> Any:
        """What arrives at one place from all lanes: all of it combined, or the last."""
        if not self.active or (combine is None and not self.plan.wide[op.arg]):
            return self.values[op.arg][0]
        values = self._vectors(op.arg)
        if combine is None:
            return lane(self.b, values[-1], self.active[-1] - 1)
        if self.active[-1] < self.lanes:
            neutral = splat(
                self.b, self._constant(Const(identity(op.combine, dtype), dtype)), self.lanes
            )
            values = [*values[:-1], blend(self.b, self.active[-1], values[-1], neutral)]
        total = values[0]
        for value in values[1:]:
            total = combine(total, value)
        return folded(self.b, total, combine)

    # ---- reductions -------------------------------------------------------------------------

    def _across(self) -> bool:
        """Whether the lanes are elements of one row."""
        return self.nest.vector >= self.nest.outer

    def _accumulator(self, number: int, steps: int) -> Accumulator:
        op = self.operations[number]
        assert isinstance(op, Reduce)
        source = self._dtype(op.arg)
        across = self._across()
        count = self.nest.jam if across else len(self.active) if self.plan.wide[op.arg] else 1
        lanes = self.lanes if across or self.plan.wide[op.arg] else 0
        if op.name.startswith("arg"):
            small = self.nest.extents[-1] < 2**31 if self.nest.extents else True
            return Position(self.b, op, source, lanes, count, across, small)
        return Accumulator(self.b, op, source, lanes, count, across, steps > 2 * BLOCK)

    def _accumulate(self, sums: dict[int, Accumulator]) -> None:
        for k, accumulator in sums.items():
            op = self.operations[k]
            assert isinstance(op, Reduce)
            values = self._vectors(op.arg) if accumulator.lanes else self.values[op.arg]
            has_row = len(self.nest.extents) > self.nest.outer
            index = self.indices[len(self.nest.extents) - 1] if has_row else I64(0)
            for u, value in enumerate(values):
                at = self.b.add(index, I64(u * self.lanes)) if accumulator.across else index
                active = self.active[u] if accumulator.lanes else 1
                accumulator.update(u, value, active, at)

    def _trips(self, depth: int) -> int:
        extent = self.nest.extents[depth]
        block = self.nest.lanes * self.nest.jam
        return -(-extent // block) if depth == self.nest.vector else extent

    def _steps(self) -> int:
        steps = 1
        for depth in range(self.nest.outer, len(self.nest.extents)):
            steps *= self._trips(depth)
        return steps

    def _chunks(self, sums: dict[int, Accumulator]) -> tuple[int, int]:
        """Which loop to take in pieces, and of how many steps, for sums to be made in blocks."""
        if not any(accumulator.blocks for accumulator in sums.values()):
            return -1, 0
        inner = 1
        for depth in reversed(range(self.nest.outer, len(self.nest.extents))):
            if inner * self._trips(depth) > 2 * BLOCK:
                return depth, max(1, BLOCK // inner)
            inner *= self._trips(depth)
        return -1, 0

    # ---- loops ------------------------------------------------------------------------------

    @contextmanager
    def _scope(self) -> Iterator[None]:
        """What is computed within is forgotten after."""
        names = "values", "splats", "inverses", "pointers", "indices", "read", "active"
        before = {name: getattr(self, name) for name in names}
        for name in names[:-1]:
            setattr(self, name, dict(before[name]))
        yield
        for name in names:
            setattr(self, name, before[name])

    def _loop(
        self,
        depth: int,
        body: Callable[[], None],
        chunk: int = 0,
        flush: Callable[[], None] = lambda: None,
    ) -> None:
        """All iterations of a loop; `flush` is called after each `chunk` of them, if given."""
        extent = self.nest.extents[depth]
        if depth != self.nest.vector:
            self._counted(depth, 0, extent, 1, body, chunk, flush)
            return
        lanes, jam = self.nest.lanes, self.nest.jam
        block = lanes * jam
        rest = extent % block
        if extent >= block:
            with self._lanes_active([lanes] * jam):
                self._counted(depth, 0, extent - rest, block, body, chunk, flush)
        if rest:
            used = -(-rest // lanes)
            with self._lanes_active([min(lanes, rest - u * lanes) for u in range(used)]):
                self._counted(depth, extent - rest, extent, block, body, 0, flush)

    @contextmanager
    def _lanes_active(self, active: list[int]) -> Iterator[None]:
        before, self.active = self.active, active
        yield
        self.active = before

    def _counted(
        self,
        depth: int,
        start: int,
        stop: int,
        step: int,
        body: Callable[[], None],
        chunk: int,
        flush: Callable[[], None],
    ) -> None:
        trips = -(-(stop - start) // step)
        if trips == 1 or (not chunk and trips * self._work(depth) <= _UNROLL):
            for k in range(trips):
                self._iteration(depth, I64(start + k * step), body)
        elif chunk:
            with counting(self.b, I64(start), I64(stop), chunk * step) as first:
                beyond = self.b.add(first, I64(chunk * step))
                full = self.b.icmp_signed("<", beyond, I64(stop))
                with counting(self.b, first, self.b.select(full, beyond, I64(stop)), step) as index:
                    self._iteration(depth, index, body)
                flush()
        else:
            with counting(self.b, I64(start), I64(stop), step) as index:
                self._iteration(depth, index, body)

    def _work(self, depth: int) -> int:
        """About how many operations an iteration of the loop at `depth` holds."""
        inner = 1
        for loop in range(depth + 1, len(self.nest.extents)):
            inner *= self._trips(loop)
        vectors = self.nest.jam if self.nest.vector >= 0 else 1
        work = 0.0
        for k in self.plan.live:
            op = self.operations[k]
            if self.plan.level[k] > depth:
                work += cost(op) + 2
            if isinstance(op, Reduce):
                work += 24 if depth < self.nest.outer and self._across() else 2
        return max(1, int(work * vectors * inner))

    def _iteration(self, depth: int, index: V, body: Callable[[], None]) -> None:
        with self._scope():
            self.indices[depth] = index
            for access, pointer in self.pointers.items():
                stride = access.strides[depth]
                if stride:
                    self.pointers[access] = self._moved(pointer, access, index, stride)
            if depth == self.nest.vector:
                self._prefetch()
            body()

    def _prefetch(self) -> None:
        """Bring near what a long row is read at some blocks later."""
        for access, pointer in self.pointers.items():
            if access not in self.far:
                continue
            dtype = self._dtype_at(access)
            size = len(self.active) * self.lanes * dtype.itemsize
            for level, distance in AHEAD.items():
                for line in range(0, size, LINE):
                    ahead = (distance + line) // dtype.itemsize
                    prefetch(self.b, offset(self.b, pointer, ahead, dtype), level)

    def _moved(self, pointer: V, access: Access, index: V, stride: int) -> V:
        if isinstance(index, ir.Constant):
            return offset(self.b, pointer, index.constant * stride, self._dtype_at(access))
        steps = self.b.mul(index, I64(stride)) if stride != 1 else index
        return offset(self.b, pointer, steps, self._dtype_at(access))

    def _dtype_at(self, access: Access) -> np.dtype:
        if access.buffer < 0:
            return self._dtype(-1 - access.buffer)
        return self.nest.buffers[access.buffer]


def _begin(access: Access) -> tuple[int, int]:
    """The buffer of an access, and where it begins there."""
    return access.buffer, access.offset
