"""When each operation of a nest is computed: at which loop, and in which pass over a row.

A row is passed over once per phase. A reduction of a phase is known in the next one. What a later
phase needs again of an earlier one is computed again if that is cheap, and else kept in a buffer
as long as the row. Values that are the same for a whole row are computed once for it.
`streams.py` says which two passes over a long row may be one.
"""

from __future__ import annotations

from wengert.compile.llvm.nests.schedule import (
    Nest,
    Phase,
    arguments,
    cost,
    dtype_of,
    loops_of,
    made_of,
    passes_before,
)
from wengert.compile.llvm.nests.streams import Stream, stream_of
from wengert.compile.plan.kernel import Access, Load, Reduce, Store

ROW_BYTES = 64 * 1024
"""Room on the stack for all row buffers of a kernel."""

_CHEAP = 8.0
"""What costs no more than this is computed again rather than kept."""


class Phases:
    """The plan of all passes.

    `level[k]` is the number of loops around operation k, `ready[k]` the number of phases before it
    can be computed, `wide[k]` whether its values differ along the loop taken in vectors; `live` is
    what the results depend on.
    """

    def __init__(self, nest: Nest) -> None:
        self.nest = nest
        self.operations = nest.operations
        depth = len(nest.extents)
        row = range(nest.outer, depth)
        self.loops = loops_of(nest.operations, row)
        self.wide = [nest.vector in on for on in self.loops]
        self.level = self._levels()
        self.ready = passes_before(nest.operations)
        stores = (k for k, op in enumerate(nest.operations) if isinstance(op, Store))
        self.live = made_of(nest.operations, stores)
        self.phases = self._phases()
        self.streams = self._streams()
        self.kept = {k for phase in self.phases for k in phase.saved}

    # ---- where and when ---------------------------------------------------------------------

    def _levels(self) -> list[int]:
        levels: list[int] = []
        reduced: list[bool] = []
        for k, op in enumerate(self.operations):
            after = any(reduced[i] for i in arguments(op))
            reduced.append(after or isinstance(op, Reduce))
            level = max(self.loops[k], default=-1) + 1
            # What accumulates, or depends on a reduction, belongs to a row at least.
            accumulates = isinstance(op, Reduce) or (isinstance(op, Store) and op.combine)
            if accumulates or after:
                level = max(level, self.nest.outer)
            levels.append(level)
        return levels

    # ---- the phases -------------------------------------------------------------------------

    def _phases(self) -> list[Phase]:
        when = {
            k: self.ready[k]
            for k in self.live
            if isinstance(self.operations[k], Store) and self.level[k] > self.nest.outer
        }
        while True:
            phases = self._filled(when)
            late = self._overwritten_too_early(phases, when)
            if not late:
                return phases
            when |= late

    def _filled(self, when: dict[int, int]) -> list[Phase]:
        """The phases for a choice of when each store happens."""
        makes = {k: self.ready[k] - 1 for k in self.live if isinstance(self.operations[k], Reduce)}
        count = 1 + max([*when.values(), *makes.values()], default=-1)
        phases = [Phase() for _ in range(count)]
        for k in sorted(makes):
            phases[makes[k]].reduces.append(k)
        for k in sorted(when):
            phases[when[k]].stores.append(k)
        room = ROW_BYTES
        first: dict[int, Phase] = {}
        for phase in phases:
            stack = [*phase.stores, *(self.operations[k].arg for k in phase.reduces)]  # type: ignore[union-attr]
            while stack:
                k = stack.pop()
                if k in phase.needed or k in phase.reloaded or self.level[k] <= self.nest.outer:
                    continue
                if k in first and self._worth_keeping(k):
                    new = 0 if k in first[k].saved else self.buffer_bytes(k)
                    if new <= room:
                        room -= new
                        first[k].saved.add(k)
                        phase.reloaded.add(k)
                        continue
                phase.needed.add(k)
                stack += arguments(self.operations[k])
            for k in phase.needed:
                first.setdefault(k, phase)
        return phases

    def _worth_keeping(self, number: int) -> bool:
        op = self.operations[number]
        if isinstance(op, Store) or dtype_of(op, self.operations).kind == "c":
            return False
        if isinstance(op, Load) and not op.access.indices:
            return False
        return self._recomputation(number) > _CHEAP

    def _recomputation(self, number: int) -> float:
        """The cost of computing a value for each element, from loads on."""
        of_elements = lambda k: self.level[k] > self.nest.outer
        parts = made_of(self.operations, [number], of_elements)
        return sum(cost(self.operations[k]) for k in parts)

    def _overwritten_too_early(self, phases: list[Phase], when: dict[int, int]) -> dict[int, int]:
        """Stores to postpone: their memory may be that of a load which a later phase repeats."""
        late: dict[int, int] = {}
        for k, at in when.items():
            for later in range(at + 1, len(phases)):
                loads = (self.operations[i] for i in phases[later].needed)
                if any(isinstance(x, Load) and self._may_meet(x, k) for x in loads):
                    late[k] = later
        return late

    def _may_meet(self, load: Load, store: int) -> bool:
        mine, other = load.access, self.operations[store].access  # type: ignore[union-attr]
        if mine.buffer == other.buffer:
            return True
        same = mine.strides == other.strides and mine.offset == other.offset
        written = self.nest.buffers[other.buffer]
        return same and load.dtype.itemsize == written.itemsize

    def _streams(self) -> dict[int, Stream]:
        """By the number of a phase: how it is one pass together with the next."""
        streams: dict[int, Stream] = {}
        for k, (first, second) in enumerate(zip(self.phases, self.phases[1:], strict=False)):
            stream = stream_of(self.nest, first, second)
            if stream is not None:
                streams[k] = stream
        return streams

    # ---- row buffers ------------------------------------------------------------------------

    def buffer_strides(self, number: int) -> tuple[tuple[int, ...], int]:
        """For a value kept over a row: a stride for each loop, and the number of elements.

        If the loop in vectors is an outer one, each place holds a block of it. Rows are padded to
        whole blocks.
        """
        nest = self.nest
        block = nest.lanes * nest.jam
        outer_vector = 0 <= nest.vector < nest.outer
        size = block if outer_vector and self.wide[number] else 1
        strides = [0] * len(nest.extents)
        for loop in reversed(range(nest.outer, len(nest.extents))):
            if loop in self.loops[number]:
                strides[loop] = size
                extent = nest.extents[loop]
                size *= -(-extent // block) * block if loop == nest.vector else extent
        return tuple(strides), size

    def buffer_bytes(self, number: int) -> int:
        itemsize = dtype_of(self.operations[number], self.operations).itemsize
        return self.buffer_strides(number)[1] * itemsize

    def buffer_access(self, number: int, buffer: int) -> Access:
        return Access(buffer, self.buffer_strides(number)[0])
