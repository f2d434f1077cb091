"""Reductions of few long rows in pieces, whose results are combined in a fixed order.

Where a kernel has too few rows for threads to share, a loop that it reduces along is cut instead.
Each piece leaves what it makes in memory of its own, and one step combines these: so a sum is that
of its pieces, whose number follows from the work alone, whatever the number of threads.

A kernel that uses such results again is several steps. A softmax of one row is the maximum and the
sum of each piece, which are combined, and the elements, in pieces again:

    m[p] = max x,    s[p] = sum exp(x - m[p])      of each piece p
    m = max m[p],    s = sum s[p] exp(m[p] - m)    of all pieces
    y = exp(x - m) / s                             of each element
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from wengert.compile.llvm.nests.schedule import (
    accesses,
    arguments,
    dtype_of,
    loops_of,
    passes_before,
)
from wengert.compile.llvm.nests.streams import sums_of_exponentials
from wengert.compile.plan.kernel import (
    INT64,
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

BOOL = np.dtype(bool)
ROOM = 1 << 15
"""Bytes that what the pieces leave may take."""
PLACES = "argmax", "argmin"


class Step(NamedTuple):
    """A kernel over the buffers of the whole one and, after them, those of `Pieces.scratch`.

    Where there is a `last`, its first loop runs over the pieces, and the last of these is that
    kernel, as if it were the first one.
    """

    kernel: Kernel
    last: Kernel | None = None


class Pieces(NamedTuple):
    """How a kernel is done in pieces.

    `scratch` are dtypes and sizes. If there is a `doubt`, it is the number of a bool that the first
    two steps write: where that is false, the kernel is to be done as a whole instead.
    """

    scratch: list[tuple[np.dtype, int]]
    steps: list[Step]
    doubt: int | None


def cut(kernel: Kernel, loop: int, size: int) -> Pieces | None:
    """The kernel in pieces of so many steps of a loop; None if that cannot be done."""
    draft = _Draft(kernel, loop, size)
    return draft.pieces() if draft.possible() else None


def reduced(kernel: Kernel) -> list[int]:
    """The loops that something is reduced along."""
    operations = [op for stage in kernel.stages for op in stage]
    row = range(kernel.outer, len(kernel.extents))
    along = {*row} if any(isinstance(op, Reduce) for op in operations) else set()
    for op in operations:
        if isinstance(op, Store) and op.combine:
            along.update(k for k, s in enumerate(op.access.strides) if not s)
    return sorted(along)


class _Draft:
    def __init__(self, kernel: Kernel, loop: int, size: int) -> None:
        self.kernel, self.loop, self.size = kernel, loop, size
        self.operations = tuple(op for stage in kernel.stages for op in stage)
        self.count = -(-kernel.extents[loop] // size)
        self.row = range(kernel.outer, len(kernel.extents)) if loop >= kernel.outer else range(0)
        self.rows = kernel.extents[: len(kernel.extents) - len(self.row)]
        self.loops = loops_of(self.operations, self.row)
        self.totals: dict[int, Operation] = {}  # by reduction: how its result for a row is read
        self.scratch: list[tuple[np.dtype, int]] = []
        self.steps: list[Step] = []

    # ---- whether ----------------------------------------------------------------------------

    def possible(self) -> bool:
        walks: dict[int, set[int]] = {}
        for access in accesses(self.operations):
            walks.setdefault(access.buffer, set()).add(access.strides[self.loop])
        alike = all(len(walks[n]) == 1 for n in self.kernel.written if n in walks)
        return alike and all(map(self._fits, self.operations))

    def _fits(self, op: Operation) -> bool:
        if isinstance(op, Index):
            return op.loop != self.loop
        if isinstance(op, Store):
            own = op.access.strides[self.loop] or self._is_of_rows(op)
            return not op.access.indices and bool(own or (op.combine and self._joins(op)))
        return not isinstance(op, Reduce) or not self.row or self._joins(op)

    def _joins(self, op: Store | Reduce) -> bool:
        """Whether results of pieces can be combined as they are.

        Half precision is summed in single precision, which pieces would round.
        """
        dtype = dtype_of(self.operations[op.arg], self.operations)
        if isinstance(op, Reduce) and op.name in PLACES:
            return len(self.row) == 1 and dtype.kind in "iuf"
        return dtype.kind != "f" or dtype.itemsize > 2

    def _is_of_rows(self, op: Store) -> bool:
        """Whether a store happens once for a row that is cut."""
        walks = any(op.access.strides[k] for k in self.row)
        return bool(self.row) and not walks and self.loops[op.arg].isdisjoint(self.row)

    # ---- the steps --------------------------------------------------------------------------

    def pieces(self) -> Pieces | None:
        phases = self._phases()
        together = len(phases) > 1 and sums_of_exponentials(self.operations, *phases[:2])
        doubt = self._reduce_with_exponentials(phases.pop(0), phases.pop(0)) if together else None
        for phase in phases:
            self._reduce(phase)
        stores = [op for op in self.operations if isinstance(op, Store)]
        of_rows = [op for op in stores if self._is_of_rows(op)]
        self._store([op for op in stores if op not in of_rows])
        self._store_of_rows(of_rows)
        room = sum(dtype.itemsize * size for dtype, size in self.scratch)
        return Pieces(self.scratch, self.steps, doubt) if room <= ROOM else None

    def _phases(self) -> list[list[int]]:
        """The reductions over rows that are cut: those known at first, those that use them, ..."""
        phases: dict[int, list[int]] = {}
        for k, number in enumerate(passes_before(self.operations) if self.row else ()):
            if isinstance(self.operations[k], Reduce):
                phases.setdefault(number, []).append(k)
        return [phases[number] for number in sorted(phases)]

    def _reduce(self, reduces: list[int]) -> None:
        """Reductions that do not use each other: over each piece, and over those results."""
        step, left = self._copier(), {}
        for k in reduces:
            op = self.operations[k]
            left[k] = [self._leave(step, step.copy(k))]
            if isinstance(op, Reduce) and op.name in PLACES:
                best = replace(step, copies={}, place=(1 + self.loop, step.copy(k), self.size))
                left[k].append(self._leave(step, best.copy(op.arg)))
        self._do_in_pieces(step)
        results, totals = _Writer(), {}
        for k, reads in left.items():
            op = self.operations[k]
            assert isinstance(op, Reduce)
            totals[k] = results.add(replace(op, arg=results.add(reads[-1])))
        for k, reads in left.items():
            if len(reads) > 1:
                totals[k] = self._place(results, reads[0].access, totals[k])
        self._keep(results, totals)

    def _place(self, step: _Writer, places: Access, piece: int) -> int:
        """Where in the row the best element is, which is in that piece."""
        *along, next_piece = places.strides
        place = Access(places.buffer, (*along, 0), 0, ((piece, next_piece, self.count),))
        size = step.add(Const(self.size, INT64))
        before = step.add(Apply("multiply", (piece, size), INT64))
        return step.add(Apply("add", (before, step.add(Load(place, INT64))), INT64))

    def _reduce_with_exponentials(self, first: list[int], sums: list[int]) -> int:
        """A maximum, and sums of exponentials relative to it: of a piece, relative to its own.

        That is for what is finite: where it is noted whether all of it is.
        """
        (top,) = first
        step, dtype = self._copier(), dtype_of(self.operations[top], self.operations)
        left = {k: self._leave(step, step.copy(k)) for k in (top, *sums)}
        self._do_in_pieces(step)
        results = _Writer()
        own = results.add(left[top])
        totals = {top: results.add(Reduce("maximum", own, dtype))}
        below = results.add(Apply("subtract", (own, totals[top]), dtype))
        factor = results.add(Apply("exp", (below,), dtype))
        for k in sums:
            term = results.add(Apply("multiply", (results.add(left[k]), factor), dtype))
            totals[k] = results.add(Reduce("add", term, dtype))
        doubt = self._room(BOOL, 1)
        finite = [results.add(Apply("isfinite", (number,), BOOL)) for number in totals.values()]
        for number in finite[1:]:
            finite[0] = results.add(Apply("logical_and", (finite[0], number), BOOL))
        everywhere = Access(doubt, (0,) * (len(self.rows) + 1))
        results.add(Store(everywhere, finite[0], "logical_and"))
        self._keep(results, totals)
        return doubt

    def _leave(self, step: _Writer, number: int) -> Load:
        """Write a piece's result for each row; how it is read beside those of other pieces."""
        dtype = dtype_of(step.operations[number], step.operations)
        along, rows = _contiguous(self.rows)
        buffer = self._room(dtype, self.count * rows)
        step.add(Store(Access(buffer, (rows, *along, *(0 for _ in self.row))), number))
        return Load(Access(buffer, (*along, rows)), dtype)

    def _keep(self, results: _Writer, totals: dict[int, int]) -> None:
        """Write the results for whole rows, which later steps read."""
        along, rows = _contiguous(self.rows)
        for k, number in totals.items():
            dtype = dtype_of(results.operations[number], results.operations)
            buffer = self._room(dtype, rows)
            results.add(Store(Access(buffer, (*along, 0)), number))
            self.totals[k] = Load(Access(buffer, (*along, *(0 for _ in self.row))), dtype)
        self._do(results, (*self.rows, self.count), len(self.rows))

    def _store(self, stores: list[Store]) -> None:
        """What is written for each element; what is combined along the loop, for each piece."""
        step, combining, written = self._copier(), [], []
        for op in stores:
            store = step.copied(op)
            if not op.access.strides[self.loop]:
                pairs = zip(self.kernel.extents, op.access.strides, strict=True)
                shape = tuple(n if s else 1 for n, s in pairs)
                along, size = _contiguous(shape)
                dtype = dtype_of(self.operations[op.arg], self.operations)
                left = Access(self._room(dtype, self.count * size), (size, *along))
                combining.append((shape, Load(left, dtype), replace(store, arg=0)))
                store = replace(store, access=left, onto=False)
            written.append(store)
        step.operations += written  # after all that is read: it may lie where that was
        if stores:
            self._do_in_pieces(step)
        for shape, load, store in combining:
            self._do(_Writer([load, store]), (self.count, *shape), 1 + len(shape))

    def _store_of_rows(self, stores: list[Store]) -> None:
        """The last step: what it writes may lie where elements were read."""
        outer = len(self.rows)
        step = _Writer(whole=self.operations, totals=self.totals, walk=lambda s: s[:outer])
        step.operations += [step.copied(op) for op in stores]
        if stores:
            self._do(step, self.rows, outer)

    # ---- kernels ----------------------------------------------------------------------------

    def _copier(self) -> _Writer:
        """Writes operations for elements, with the pieces as a loop before the others."""
        loop, size = self.loop, self.size
        return _Writer([], self.operations, self.totals, lambda s: (size * s[loop], *s), 1)

    def _do_in_pieces(self, step: _Writer) -> None:
        extents = [self.count, *self.kernel.extents]
        extents[1 + self.loop] = self.size
        self._do(step, tuple(extents), 1 + self.kernel.outer)
        kernel = self.steps[-1].kernel
        whole = self.kernel.extents[self.loop]
        extents[0], extents[1 + self.loop] = 1, whole - self.size * (self.count - 1)
        self.steps[-1] = Step(kernel, replace(kernel, extents=tuple(extents)))

    def _do(self, step: _Writer, extents: tuple[int, ...], outer: int) -> None:
        buffers = (*self.kernel.buffers, *(dtype for dtype, _ in self.scratch))
        written = {op.access.buffer for op in step.operations if isinstance(op, Store)}
        stages = _staged(step.operations)
        self.steps.append(Step(Kernel(extents, outer, stages, buffers, tuple(sorted(written)))))

    def _room(self, dtype: np.dtype, size: int) -> int:
        self.scratch.append((dtype, size))
        return len(self.kernel.buffers) + len(self.scratch) - 1


@dataclass(eq=False, repr=False)
class _Writer:
    """Operations of a new kernel: copies of those of a `whole` one, and others.

    Copies have other strides, and numbers of loops that are higher by `shift`; of reductions of
    which the `totals` are known, these are read. With a `place`, copies are of one step of a loop:
    that loop, the number of the operation that says which step, and how many there are.
    """

    operations: list[Operation] = field(default_factory=list)
    whole: Sequence[Operation] = ()
    totals: dict[int, Operation] = field(default_factory=dict)
    walk: Callable[[tuple[int, ...]], tuple[int, ...]] = tuple
    shift: int = 0
    copies: dict[int, int] = field(default_factory=dict)
    place: tuple[int, int, int] | None = None

    def add(self, op: Operation) -> int:
        self.operations.append(op)
        return len(self.operations) - 1

    def copy(self, number: int) -> int:
        """An operation of the whole kernel, with all that it is made of."""
        if number not in self.copies:
            op = self.totals.get(number, self.whole[number])
            self.copies[number] = self.add(self.copied(op))
        return self.copies[number]

    def copied(self, op: Any) -> Any:
        if isinstance(op, Index):
            return replace(op, loop=op.loop + self.shift)
        if isinstance(op, Load | Store):
            indices = tuple((self.copy(k), step, size) for k, step, size in op.access.indices)
            strides = self.walk(op.access.strides)
            if self.place is not None and strides[self.place[0]]:
                loop, step, size = self.place
                indices = (*indices, (step, strides[loop], size))
                strides = (*strides[:loop], 0, *strides[loop + 1 :])
            access = replace(op.access, strides=strides, indices=indices)
            op = replace(op, access=access)
        if isinstance(op, Reduce | Store):
            return replace(op, arg=self.copy(op.arg))
        if isinstance(op, Apply):
            return replace(op, args=tuple(map(self.copy, op.args)))
        return op


def _contiguous(extents: Sequence[int]) -> tuple[tuple[int, ...], int]:
    """Strides of an array in order, 0 along loops of one step, and its size."""
    sizes = [math.prod(extents[k + 1 :]) for k in range(len(extents))]
    return tuple(s if n > 1 else 0 for s, n in zip(sizes, extents, strict=True)), math.prod(extents)


def _staged(operations: list[Operation]) -> tuple[tuple[Operation, ...], ...]:
    """Operations in stages: what uses a reduction comes in a later one."""
    stages: list[list[Operation]] = [[]]
    begin = 0
    for k, op in enumerate(operations):
        if any(i >= begin and isinstance(operations[i], Reduce) for i in arguments(op)):
            stages.append([])
            begin = k
        stages[-1].append(op)
    return tuple(map(tuple, stages))
