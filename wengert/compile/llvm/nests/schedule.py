"""The order of a kernel's loops: which are merged, which is taken in vectors, which is innermost.

`arrange` gives a `Nest`: the same kernel with its loops permuted so that memory is walked in order,
adjacent loops merged where that is the same walk, and one loop chosen to be taken in vectors. A sum
over outer loops becomes a row reduction where the kernel has no other, so that its accumulators
stay in registers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from wengert.compile.llvm.elementary.math import HEAVY
from wengert.compile.llvm.machine.turning import SHORT_ROW
from wengert.compile.plan.kernel import (
    Access,
    Apply,
    Const,
    Index,
    Kernel,
    Load,
    Operation,
    Reduce,
    Store,
)

MEDIUM = frozenset(["divide", "sqrt", "reciprocal", "rsqrt"])
BAND = 8
"""Rows of a band that a sum over rows is cut into: a processor looks ahead in so many at once."""
CHAIN = 1024
"""Bands from which on they have up to four times as many rows: their sums are added one by one."""
WRITTEN_OUT, LONG = 4, 32
"""Rows of so few elements are no loop, if another one has so many steps to be taken in vectors."""
SIDE_BY_SIDE = 16
"""Sums that are made of one row at the same time, and numbers of each that stay in registers."""
SHARED = 1 << 13
"""Elements of an array that is worth reading once for all of them: no nearest cache holds it."""
SHORT = 64
"""Vectors of a loop that is not worth much code."""
AT_ONCE = 8
"""Vectors of sums that are worth making at the same time: a processor adds so many in the time
that one addition takes."""
MOST = 250
"""Operations of a nest whose rows were written out."""
STRIP = 128
"""Bytes of a row that are worked on at once, as `_jam` has it; shorter rows need no bands."""


class Nest(NamedTuple):
    """A kernel in the form that code is generated from.

    `vector` is the loop taken in vectors, the last of the outer ones or the last of all (-1: none),
    of `lanes` elements each, `jam` vectors at once. Operations are numbered as in the kernel; those
    added come last. `packed` are the loads that walk memory along the last loop, not along
    `vector`: squares of them are transposed on the way.
    """

    extents: tuple[int, ...]
    outer: int
    operations: tuple[Operation, ...]
    buffers: tuple[np.dtype, ...]
    vector: int
    lanes: int
    jam: int
    packed: frozenset[int] = frozenset()

    def offset(self, number: int) -> int:
        """Where in its buffer a load or a store begins."""
        op = self.operations[number]
        assert isinstance(op, Load | Store)
        return op.access.offset


@dataclass(slots=True)
class Phase:
    """A pass over a row: the operations computed for each element, and the reductions made."""

    reduces: list[int] = field(default_factory=list)
    stores: list[int] = field(default_factory=list)
    needed: set[int] = field(default_factory=set)
    saved: set[int] = field(default_factory=set)
    reloaded: set[int] = field(default_factory=set)


def arrange(kernel: Kernel, vector_bytes: int) -> Nest:
    """The order to run a kernel in, on a machine with vectors of this many bytes."""
    draft = _Draft(kernel)
    draft.drop_unit_loops()
    draft.reduce_early()
    while not draft.ordered:
        draft.sort()
        draft.merge()
        if not draft.write_out():
            draft.share_rows()
            break
        draft.reduce_early()
    return draft.vectorised(vector_bytes)


def accesses(operations: Sequence[Operation]) -> list[Access]:
    return [x.access for x in operations if isinstance(x, Load | Store)]


def arguments(op: Operation) -> tuple[int, ...]:
    """The operations whose results an operation uses."""
    if isinstance(op, Load):
        return tuple(k for k, _, _ in op.access.indices)
    if isinstance(op, Apply):
        return op.args
    if isinstance(op, Reduce):
        return (op.arg,)
    if isinstance(op, Store):
        return (op.arg, *(k for k, _, _ in op.access.indices))
    return ()


def made_of(
    operations: Sequence[Operation],
    numbers: Iterable[int],
    among: Callable[[int], bool] = lambda k: True,
) -> set[int]:
    """Operations, and all that their values are made of; no further than these are `among`."""
    parts: set[int] = set()
    waiting = [*numbers]
    while waiting:
        k = waiting.pop()
        if k not in parts and among(k):
            parts.add(k)
            waiting += arguments(operations[k])
    return parts


def passes_before(operations: Sequence[Operation]) -> list[int]:
    """For each operation, how many reductions at least come before its value, one of another."""
    passes: list[int] = []
    for op in operations:
        latest = max((passes[k] for k in arguments(op)), default=0)
        passes.append(latest + isinstance(op, Reduce))
    return passes


def loops_of(operations: Sequence[Operation], row: Iterable[int]) -> list[frozenset[int]]:
    """For each operation, the loops its result depends on; `row` are those within a row."""
    loops: list[frozenset[int]] = []
    for op in operations:
        own: set[int] = set()
        if isinstance(op, Load | Store):
            own |= {k for k, s in enumerate(op.access.strides) if s}
        elif isinstance(op, Index):
            own.add(op.loop)
        own.update(*(loops[k] for k in arguments(op)))
        loops.append(frozenset(own.difference(row) if isinstance(op, Reduce) else own))
    return loops


def dtype_of(op: Operation, operations: Sequence[Operation]) -> np.dtype:
    """The dtype of the result; of what is stored, for a store."""
    return dtype_of(operations[op.arg], operations) if isinstance(op, Store) else op.dtype


def cost(op: Operation) -> float:
    """Roughly how many instructions an operation takes."""
    if isinstance(op, Load):
        return 8.0 if op.access.indices else 1.0
    if isinstance(op, Apply):
        return 12.0 if op.name in HEAVY else 4.0 if op.name in MEDIUM else 1.0
    return 0.0 if isinstance(op, Const | Index) else 1.0


class _Draft:
    """A kernel on its way to be a `Nest`."""

    def __init__(self, kernel: Kernel) -> None:
        self.operations: list[Operation] = [op for stage in kernel.stages for op in stage]
        self.buffers = kernel.buffers
        self.extents = kernel.extents
        self.outer = list(range(kernel.outer))
        self.row = list(range(kernel.outer, len(kernel.extents)))
        stores = [op for op in self.operations if isinstance(op, Store)]
        # What is written last at an element must stay: then the loops keep their order. So they do
        # where rows are added; single numbers may come in any.
        self.ordered = any(
            s.access.indices and (not s.combine or any(s.access.strides)) for s in stores
        )

    # ---- the steps --------------------------------------------------------------------------

    def drop_unit_loops(self) -> None:
        self.outer = [k for k in self.outer if self.extents[k] != 1]
        self.row = [k for k in self.row if self.extents[k] != 1]
        for k, op in enumerate(self.operations):
            if isinstance(op, Index) and self.extents[op.loop] == 1:
                self.operations[k] = Const(0, op.dtype)

    def reduce_early(self) -> None:
        """Make row reductions of the stores that accumulate, where the loops allow it."""
        for k, store in self._accumulating():
            if not store.onto and not self._repeats(store, self.outer + self.row):
                self.operations[k] = replace(store, combine="")  # nothing meets: a store
        chosen = not self._rows_matter()
        if chosen:
            self.outer, self.row = self.outer + self.row, []
            if not self.ordered:
                self.row = self._summed_loops()
                self.outer = [k for k in self.outer if k not in self.row]
        if not self.row:
            return
        if chosen:
            self._sum_in_bands()
        depends = loops_of(self.operations, self.row)
        for k, store in self._accumulating():
            walks_row = any(store.access.strides[i] for i in self.row)
            if not walks_row and (chosen or depends[store.arg].intersection(self.row)):
                dtype = dtype_of(store, self.operations)
                self.operations[k] = Reduce(store.combine, store.arg, dtype)
                more = store.onto or self._repeats(store, self.outer)
                combine = store.combine if more else ""
                self.operations.append(Store(store.access, k, combine, store.onto))

    def _sum_in_bands(self) -> None:
        """Cut what is summed over into bands of some rows, if all elements are written as well.

        A sum alone goes down the columns, some at a time, and its accumulators stay in registers.
        With all that else is read and written, that way leads through too many pages for what is
        far away to be fetched ahead. A band is few rows, side by side.
        """
        loop, whole = self.row[-1], self.outer + self.row
        written = [
            op
            for op in self.operations
            if isinstance(op, Store) and not op.combine and all(op.access.strides[k] for k in whole)
        ]
        if len(self.row) > 1 or not written:
            return
        if any(isinstance(op, Index) and op.loop == loop for op in self.operations):
            return
        extent = self.extents[loop]
        size = min(dtype_of(s, self.operations).itemsize for s in written)
        if math.prod(self.extents[k] for k in self.outer) * size <= STRIP:
            return
        wanted = min(max(BAND, extent // CHAIN), 4 * BAND)
        divisors = [n for n in range(wanted // 2, 2 * wanted) if extent % n == 0 and extent > n]
        if not divisors:
            return
        rows = min(divisors, key=lambda n: abs(math.log(n / wanted)))
        self._cut(loop, rows)
        self.outer.append(loop)
        self.row = [len(self.extents) - 1]

    def sort(self) -> None:
        """Large strides outside, small ones inside; stores count for more."""
        weights = [
            (a, 3.0 if isinstance(op, Store) else 1.0)
            for op in self.operations
            if isinstance(op, Load | Store)
            for a in [op.access]
        ]

        def key(loop: int) -> float:
            steps = [(w, math.log2(abs(a.strides[loop]))) for a, w in weights if a.strides[loop]]
            # A loop that nothing moves along is best outside.
            return -sum(w * s for w, s in steps) / sum(w for w, _ in steps) if steps else -math.inf

        self.outer.sort(key=key)
        self.row.sort(key=key)

    def merge(self) -> None:
        """Merge adjacent loops that every access walks as one."""
        self.outer = self._merged(self.outer)
        self.row = self._merged(self.row)

    def write_out(self) -> bool:
        """Make operations of their own of the elements of a short row; whether that was done.

        The elements of a row are then read and written together, and reductions are
        functions of them. Four that are only mapped are a vector themselves.
        """
        short = self.row or self._short_loop()
        count = math.prod(self.extents[k] for k in short)
        rest = [self.extents[k] for k in self.outer if k not in short]
        inside = loops_of([_mapped(op) for op in self.operations], ())
        more = sum(bool(on.intersection(short)) for on in inside) * (count - 1)
        fine = 1 < count <= WRITTEN_OUT and max(rest, default=0) >= LONG
        if not fine or len(self.operations) + more > MOST or not self._reduces_plainly():
            return False
        self.operations = _written_out(self.operations, short, self.extents, self.row)
        self.outer, self.row = [k for k in self.outer if k not in short], []
        return True

    def share_rows(self) -> None:
        """Make operations of their own of the steps of a short outer loop that sums run beside.

        What is read along a row and is the same for all these steps is then read once for all, and
        their sums are made side by side, in registers.
        """
        if math.prod(self.extents[k] for k in self.row) < LONG or not self._reduces_plainly():
            return
        every = loops_of([_mapped(op) for op in self.operations], ())
        large = [
            on
            for op, on in zip(self.operations, every, strict=True)
            if isinstance(op, Load) and math.prod(self.extents[k] for k in on) >= SHARED
        ]
        for short in self.outer:
            count = self.extents[short]
            rest = [self.extents[k] for k in self.outer if k != short]
            more = sum(short in on for on in every) * (count - 1)
            same = [on for on in large if short not in on and on.intersection(self.row)]
            own = sum(
                isinstance(op, Load) and short in on and not on.intersection(self.row)
                for op, on in zip(self.operations, every, strict=True)
            )
            if (
                2 <= count <= SIDE_BY_SIDE // (1 + own)
                and max(rest, default=0) >= LONG
                and len(self.operations) + more <= MOST
                and 2 * len(same) >= len(large) > 0
            ):
                self.operations = _written_out(self.operations, [short], self.extents, self.row)
                self.outer.remove(short)
                return

    def _short_loop(self) -> list[int]:
        """The loop along which results lie side by side, or meet at computed places, if it is too
        short for vectors.
        """
        stores = [op for op in self.operations if isinstance(op, Store)]
        return [
            k
            for k in self.outer[-1:]
            if self.extents[k] < WRITTEN_OUT
            and all(
                (0 < op.access.strides[k] <= WRITTEN_OUT and not op.combine) or op.access.indices
                for op in stores
            )
        ]

    def _reduces_plainly(self) -> bool:
        """Whether all reductions are functions of two elements, of the dtype that they have."""
        reductions = [op for op in self.operations if isinstance(op, Reduce)]
        return all(
            not op.name.startswith("arg")
            and op.dtype == dtype_of(self.operations[op.arg], self.operations)
            and op.dtype.kind in "fiub"
            and (op.dtype.kind != "f" or op.dtype.itemsize > 2)
            for op in reductions
        )

    # ---- helpers ----------------------------------------------------------------------------

    def _accumulating(self) -> list[tuple[int, Store]]:
        return [
            (k, op)
            for k, op in enumerate(self.operations)
            if isinstance(op, Store) and op.combine and not op.access.indices
        ]

    def _repeats(self, store: Store, loops: list[int]) -> list[int]:
        return [k for k in loops if not store.access.strides[k]]

    def _rows_matter(self) -> bool:
        """Whether anything happens once per row, be it empty."""
        if not self.row:
            return any(isinstance(op, Reduce) for op in self.operations)
        depends = loops_of(self.operations, self.row)
        return (
            any(isinstance(op, Reduce) for op in self.operations)
            or any(self.extents[k] == 0 for k in self.row)
            or any(
                depends[k].isdisjoint(self.row)
                for k, op in enumerate(self.operations)
                if isinstance(op, Store) and op.combine
            )
        )

    def _summed_loops(self) -> list[int]:
        """The loops that the largest accumulating store sums over."""
        stores = [store for _, store in self._accumulating() if self._repeats(store, self.outer)]

        def size(store: Store) -> int:
            repeated = self._repeats(store, self.outer)
            return math.prod(self.extents[k] for k in self.outer if k not in repeated)

        return self._repeats(max(stores, key=size), self.outer) if stores else []

    def _merged(self, loops: list[int]) -> list[int]:
        fixed = {op.loop for op in self.operations if isinstance(op, Index)}
        walks = [a.strides for a in accesses(self.operations)]
        extents = list(self.extents)
        done: list[int] = []
        for loop in loops:
            last = done[-1] if done else -1
            joins = done and last not in fixed and loop not in fixed
            if joins and all(s[last] == s[loop] * extents[loop] for s in walks):
                extents[loop] *= extents[last]  # the inner one's strides serve both
                done[-1] = loop
            else:
                done.append(loop)
        self.extents = tuple(extents)
        return done

    # ---- vectors ----------------------------------------------------------------------------

    def vectorised(self, vector_bytes: int) -> Nest:
        """Choose the loop to take in vectors, and renumber the loops."""
        loops = [*self.outer, *self.row]
        best, lanes = -1, 1
        if self.ordered:
            candidates = loops[-1:]
        else:
            candidates = [k for k in loops if self.extents[k] > 1]
        depends = loops_of(self.operations, self.row)
        lowest = math.inf
        # Of equals the last wins: it is the one whose steps are small.
        for loop in reversed(candidates):
            width = self._lanes(loop, depends, vector_bytes)
            price = self._price(loop, width, depends)
            if price < lowest:
                best, lanes, lowest = loop, width, price
        self._make_last(best)
        if best in self.outer and not self.row and not self.ordered:
            # A loop that loads walk along goes within, so that squares of it can be transposed.
            along = self._walked_otherwise(best, self.outer)
            if along is not None:
                self.outer.remove(along)
                self.row.append(along)
        elif best in self.outer and not self.ordered:
            along = self._walked_otherwise(best, self.row)
            if along is not None:
                self._make_last(along)
        packed = self._packed(best)
        if packed and self._share_squares(best, packed):
            packed, depends = self._packed(best), loops_of(self.operations, self.row)
        if not packed and self._sum_side_by_side(best, self._jam(best, lanes, depends)):
            depends = loops_of(self.operations, self.row)
        if self._take_rows_together(best, lanes):
            depends = loops_of(self.operations, self.row)
        loops = [*self.outer, *self.row]
        place = {loop: k for k, loop in enumerate(loops)}
        operations = tuple(_moved(op, loops, place) for op in self.operations)
        return Nest(
            tuple(self.extents[k] for k in loops),
            len(self.outer),
            operations,
            self.buffers,
            place.get(best, -1),
            lanes,
            1 if packed else self._jam(best, lanes, depends),
            packed,
        )

    def _make_last(self, loop: int) -> None:
        """Innermost among the loops it is one of."""
        for group in (self.outer, self.row):
            if loop in group:
                group.remove(loop)
                group.append(loop)

    def _turned(self, vector: int, along: int) -> frozenset[int]:
        """The loads that are contiguous along one loop, where another is taken in vectors."""
        return frozenset(
            k
            for k, op in enumerate(self.operations)
            if isinstance(op, Load)
            and abs(op.access.strides[vector]) > 1
            and op.access.strides[along] == 1
            and not op.access.indices
            and op.dtype.itemsize in (4, 8)
            and op.dtype.kind != "c"
        )

    def _walked_otherwise(self, vector: int, among: list[int]) -> int | None:
        counts = {k: len(self._turned(vector, k)) for k in among if self.extents[k] > 3}
        best = max(counts, key=counts.__getitem__, default=None)
        return best if best is not None and counts[best] else None

    def _packed(self, vector: int) -> frozenset[int]:
        if vector not in self.outer or not self.row or self.extents[self.row[-1]] < 4:
            return frozenset()
        return self._turned(vector, self.row[-1])

    def _share_squares(self, vector: int, packed: frozenset[int]) -> bool:
        """Cut an outer loop into steps of several iterations, which turn the same squares about
        once for all; whether that was done."""
        strides = [op.access.strides for k in packed if isinstance(op := self.operations[k], Load)]
        counted = {op.loop for op in self.operations if isinstance(op, Index)}
        for loop in self.outer:
            count = next((n for n in (8, 4, 2) if self.extents[loop] % n == 0), 1)
            along = loops_of([_mapped(op) for op in self.operations], ())
            more = sum(loop in on for on in along) * (count - 1)
            alike = loop not in (vector, *counted) and not any(s[loop] for s in strides)
            if alike and count > 1 and not self.ordered and len(self.operations) + more <= MOST:
                return self._step_by(loop, count)
        return False

    def _step_by(self, loop: int, count: int) -> bool:
        """Cut a loop into steps of several iterations, which are written out; whether there are."""
        if count == 1:
            return False
        self._cut(loop, count)
        last = len(self.extents) - 1
        self.operations = _written_out(self.operations, [last], self.extents, self.row)
        return True

    def _sum_side_by_side(self, vector: int, jam: int) -> bool:
        """Cut an outer loop into steps of several iterations, whose sums over a row are made at the
        same time, as one alone waits for each of its additions; whether that was done."""
        if vector not in self.outer or self.ordered or self._passes_again():
            return False
        every = loops_of([_mapped(op) for op in self.operations], ())
        sums = [on for op, on in zip(self.operations, every, strict=True) if type(op) is Reduce]
        reads = [on for op, on in zip(self.operations, every, strict=True) if type(op) is Load]
        counted = {op.loop for op in self.operations if isinstance(op, Index)}

        def own(loop: int) -> int:
            return sum(loop in on for on in reads)

        for loop in sorted({*self.outer} - {vector, *counted}, key=own):
            alone = sum(loop not in on for on in sums)
            most = (AT_ONCE // jam - alone) // max(len(sums) - alone, 1)
            count = next((n for n in (8, 4, 2) if n <= most and self.extents[loop] % n == 0), 1)
            more = sum(loop in on for on in every) * (count - 1)
            if alone < len(sums) and count > 1 and len(self.operations) + more <= MOST:
                return self._step_by(loop, count)
        return False

    def _take_rows_together(self, vector: int, lanes: int) -> bool:
        """Cut the loop over short rows into some at a time, as one row alone waits for its sum, and
        for what is computed of that, before it is passed over again; whether that was done."""
        length = math.prod(self.extents[k] for k in self.row)
        if vector not in self.row or length > SHORT * lanes or self.ordered or not self.outer:
            return False
        if any(isinstance(op, Apply) and op.name in HEAVY for op in self.operations):
            return False  # they fill a processor's queue by themselves
        loop, counted = self.outer[-1], {op.loop for op in self.operations if type(op) is Index}
        every = loops_of([_mapped(op) for op in self.operations], ())
        own = all(
            loop in on for op, on in zip(self.operations, every, strict=True) if type(op) is Reduce
        )
        more = sum(loop in on for on in every)
        if loop in counted or not own or not self._passes_again():
            return False
        most = 4 if 2 * length <= SHORT * lanes else 2  # code for more of the longest is no gain
        fits = lambda n: len(self.operations) + more * (n - 1) <= MOST
        counts = (n for n in (4, 2) if n <= most and self.extents[loop] % n == 0 and fits(n))
        return self._step_by(loop, next(counts, 1))

    def _passes_again(self) -> bool:
        """Whether there is no sum over a row, or a row is passed over again with its sum."""
        depends = loops_of(self.operations, self.row)
        after: set[int] = set()
        for k, (op, on) in enumerate(zip(self.operations, depends, strict=True)):
            if not after.isdisjoint(arguments(op)):
                after.add(k)
                if not on.isdisjoint(self.row):
                    return True
            if isinstance(op, Reduce):
                after.add(k)
        return not after

    def _cut(self, loop: int, count: int) -> None:
        """Make the last `count` steps of a loop one of its own, the last of all loops."""
        extents = [*self.extents, count]
        extents[loop] //= count
        self.extents = tuple(extents)
        for k, op in enumerate(self.operations):
            if isinstance(op, Load | Store):
                strides = [*op.access.strides, op.access.strides[loop]]
                strides[loop] *= count
                access = replace(op.access, strides=tuple(strides))
                self.operations[k] = replace(op, access=access)

    def _lanes(self, loop: int, depends: list[frozenset[int]], vector_bytes: int) -> int:
        """How many elements fill a vector of the widest dtype, or the whole loop if it is short."""
        sizes = [
            dtype_of(op, self.operations).itemsize
            for op, on in zip(self.operations, depends, strict=True)
            if loop in on and not (isinstance(op, Reduce) and op.name.startswith("arg"))
        ]
        widest = max(sizes, default=8)
        needed = 1 << (self.extents[loop] - 1).bit_length()
        return max(2, min(vector_bytes // widest, needed))

    def _price(self, loop: int, lanes: int, depends: list[frozenset[int]]) -> float:
        """About how many instructions it takes all in all, were this loop taken in vectors."""
        trips = {k: self.extents[k] for k in [*self.outer, *self.row]}
        trips[loop] = -(-trips[loop] // lanes)
        rows = math.prod(trips[k] for k in self.outer)
        box = rows * math.prod(trips[k] for k in self.row)
        total = 0.0
        for k, (op, on) in enumerate(zip(self.operations, depends, strict=True)):
            times = math.prod(trips.get(i, 1) for i in on)
            if isinstance(op, Reduce):
                total += box
                if loop in self.row:  # the lanes have to come together
                    total += rows * 6.0 * math.log2(lanes)
                continue
            total += times * cost(op)
            if isinstance(op, Load | Store) and loop in on:
                moved = abs(op.access.strides[loop])
                gathered = any(loop in depends[i] for i, _, _ in op.access.indices)
                if any(k in self._turned(loop, i) for i in trips if i != loop):
                    total += times * 6.0
                elif 1 < moved <= SHORT_ROW and isinstance(op, Load) and not gathered:
                    total += times * moved
                elif moved > 1 or gathered:
                    # Each element by itself; far ones miss the cache besides.
                    total += times * lanes * (1.0 if moved < 16 else 2.0)
        return total

    def _jam(self, loop: int, lanes: int, depends: list[frozenset[int]]) -> int:
        """How many vectors to work on at once: more independent work, while registers last."""
        if loop < 0:
            return 1
        on_it = [op for op, on in zip(self.operations, depends, strict=True) if loop in on]
        work = sum(map(cost, on_it))
        jam = 4 if work <= 40 else 2 if work <= 80 else 1
        if work < 4 and loop in self.outer and self.row:
            jam = 8  # short work on far rows: several cache lines of each
        elif any(isinstance(op, Apply) and op.name in HEAVY for op in on_it):
            # They fill a processor's queue by themselves. Sums over a row are another matter: each
            # step waits for the one before. But in a short loop, code is what takes long: LLVM has
            # to find registers for all constants of a function, in as many vectors.
            reduces = any(isinstance(op, Reduce) for op in self.operations)
            if self.extents[loop] <= SHORT * lanes:
                jam = 1
            elif jam == 4:
                jam = 4 if reduces and loop in self.row else 2
        return min(jam, -(-self.extents[loop] // lanes))


def _mapped(op: Operation) -> Operation:
    """An operation, as if a reduction gave a number for each element."""
    return Apply(op.name, (op.arg,), op.dtype) if isinstance(op, Reduce) else op


def _written_out(
    operations: Sequence[Operation],
    loops: Sequence[int],
    extents: Sequence[int],
    row: Sequence[int],
) -> list[Operation]:
    """The operations with those of each step of some loops for itself.

    Reductions are over a `row`: those over one of these loops become functions. What is the same
    for all steps is done once, but for what each of them adds to something.
    """
    depends = loops_of(operations, row)
    of_rows = set(row).isdisjoint(loops)
    elements = list(np.ndindex(*(extents[k] for k in loops)))
    written: list[Operation] = []
    numbers: list[list[int]] = []  # by operation: that of each element, or the one for all

    def add(op: Operation) -> int:
        written.append(op)
        return len(written) - 1

    for op, on in zip(operations, depends, strict=True):
        if isinstance(op, Reduce) and not of_rows:
            args = (numbers[op.arg] * len(elements))[: len(elements)]
            total = args[0]
            for arg in args[1:]:
                total = add(Apply(op.name, (total, arg), op.dtype))
            numbers.append([total])
        else:
            adds = of_rows and isinstance(op, Store) and op.combine
            places = elements if adds or on.intersection(loops) else elements[:1]
            numbers.append([add(_at(op, loops, e, j, numbers)) for j, e in enumerate(places)])
    return written


def _at(
    op: Operation, row: Sequence[int], element: Sequence[int], j: int, numbers: list[list[int]]
) -> Operation:
    """An operation of element j of a row, for that at a place alone."""
    if isinstance(op, Index):
        return Const(element[row.index(op.loop)], op.dtype) if op.loop in row else op
    if isinstance(op, Const):
        return op

    def moved(k: int) -> int:
        return numbers[k][j % len(numbers[k])]

    if isinstance(op, Load | Store):
        access = op.access
        steps = zip(row, element, strict=True)
        access = replace(
            access,
            strides=tuple(0 if k in row else s for k, s in enumerate(access.strides)),
            offset=access.offset + sum(access.strides[k] * e for k, e in steps),
            indices=tuple((moved(k), stride, size) for k, stride, size in access.indices),
        )
        op = replace(op, access=access)
    if isinstance(op, Store | Reduce):
        return replace(op, arg=moved(op.arg))
    if isinstance(op, Apply):
        return replace(op, args=tuple(map(moved, op.args)))
    return op


def _moved(op: Operation, loops: list[int], place: dict[int, int]) -> Operation:
    """An operation, with loops renumbered."""
    if isinstance(op, Index):
        return replace(op, loop=place[op.loop])
    if isinstance(op, Load | Store):
        strides = tuple(op.access.strides[k] for k in loops)
        return replace(op, access=replace(op.access, strides=strides))
    return op
