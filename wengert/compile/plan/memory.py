"""The arena: each array gets memory for as long as it is needed.

Steps are walked in order. A buffer takes the smallest free block that it fits in when it is first
written, and frees it after its last reader. A kernel may write over an array that it is the last to
read, where both are walked in step; a loop, over what its state begins with. What is written over
by a result lies in the memory of that from the start, if it is large.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from wengert.compile.plan.kernel import LINE, Kernel
from wengert.compile.plan.plan import Call, Layout, Loops, Multiply, Place, Plan, Step
from wengert.compile.plan.strides import Buffer, Strided
from wengert.compile.plan.terms import Built, Touch
from wengert.compile.program.bodies import Repeat, Until
from wengert.compile.program.program import Statement, Value

LARGE = 1 << 16
"""Bytes that no nearest cache holds. Outputs do not begin with a line of it, as the arena does."""


@dataclass(slots=True)
class Draft:
    """A step whose arrays have no places yet: all buffers that it touches, for a kernel also how,
    for a loop what its states begin with, and what makes the step when they have."""

    buffers: list[Buffer]
    step: Callable[[], Step]
    built: Built | None = None
    begins: dict[Buffer, Buffer] = field(default_factory=dict)

    @staticmethod
    def kernel(built: Built, statements: list[Statement]) -> Draft:
        def step() -> Step:
            return Loops(built.kernel, tuple(map(_place, built.buffers)), statements)

        return Draft(built.buffers, step, built)

    @staticmethod
    def product(s: Statement, a: Strided, b: Strided, out: Strided) -> Draft:
        def step() -> Step:
            return Multiply(_layout(a), _layout(b), _layout(out), statements=[s])

        return Draft([a.buffer, b.buffer, out.buffer], step)

    @staticmethod
    def call(
        s: Statement, inputs: dict[Value, Strided], outs: list[Strided], bodies: tuple[Plan, ...]
    ) -> Draft:
        def step() -> Step:
            read = {v: _layout(a) for v, a in inputs.items()}
            return Call(s, read, tuple(map(_layout, outs)), bodies)

        buffers = [a.buffer for a in inputs.values()]
        carries = s.function.carries if isinstance(s.function, Repeat | Until) else 0
        begins = {
            out.buffer: inputs[x].buffer
            for x, out in zip(s.args[:carries], outs, strict=False)
            if type(x) is Value and s.args.count(x) == buffers.count(inputs[x].buffer) == 1
        }
        return Draft([*buffers, *(a.buffer for a in outs)], step, begins=begins)


def _place(buffer: Buffer) -> Place:
    assert buffer.place is not None
    return buffer.place


def _layout(a: Strided) -> Layout:
    place = _place(a.buffer)
    place = Place(place.kind, place.number, place.offset + a.offset * a.buffer.dtype.itemsize)
    return Layout(place, a.shape, a.strides, a.buffer.dtype)


@dataclass(slots=True)
class Arena:
    """Blocks of free memory below `size`, as (offset, length) in order; what the others hold."""

    size: int = 0
    free: list[tuple[int, int]] = field(default_factory=list)
    taken: set[Buffer] = field(default_factory=set)

    def take(self, length: int) -> int:
        """The offset of a block: the smallest that is large enough, or new memory."""
        best = min((n, at) for at, n in [(0, math.inf), *self.free] if n >= length)
        if best[0] != math.inf:
            n, at = int(best[0]), best[1]
            self.free.remove((at, n))
            if n > length:
                insort(self.free, (at + length, n - length))
            return at
        if self.free and sum(self.free[-1]) == self.size:
            at, _ = self.free.pop()
        else:
            at = self.size
        self.size = at + length
        return at

    def give(self, at: int, length: int) -> None:
        """Free a block, and join it with its neighbours."""
        k = bisect_left(self.free, (at, 0))
        if k < len(self.free) and self.free[k][0] == at + length:
            length += self.free.pop(k)[1]
        if k and sum(self.free[k - 1]) == at:
            before, n = self.free.pop(k - 1)
            at, length = before, length + n
        insort(self.free, (at, length))


def rounded(nbytes: int) -> int:
    return max(-(-nbytes // LINE), 1) * LINE


def placed(drafts: list[Draft], seen: Collection[int] = ()) -> tuple[list[Step], int]:
    """The steps on arrays that have places, and the size of the arena in bytes.

    Nothing else is written before to outputs of these numbers, whose memory is `seen` until then.
    """
    size = _lay_out(drafts, seen)
    return [draft.step() for draft in drafts], size


def _lay_out(drafts: list[Draft], seen: Collection[int]) -> int:
    """Give every buffer that has none a place in the arena; the arena's size in bytes."""
    first: dict[Buffer, int] = {}
    last: dict[Buffer, int] = {}
    for k, draft in enumerate(drafts):
        for b in draft.buffers:
            first.setdefault(b, k)
            last[b] = k
    _lay_in_outputs(drafts, first, last, seen)
    arena = Arena()
    for k, draft in enumerate(drafts):
        mine = [b for b in dict.fromkeys(draft.buffers) if _is_free(b) or b in arena.taken]
        new = sorted((b for b in mine if first[b] == k), key=lambda b: -b.nbytes)
        dying = [b for b in mine if last[b] == k]
        gone = [b for b in dying if first[b] != k]
        for b in new:
            old = _replaced(draft, b, gone)
            if old is not None:
                gone.remove(old)
                dying.remove(old)
                b.place = old.place
            else:
                b.place = Place("arena", 0, arena.take(rounded(b.nbytes)))
            arena.taken.add(b)
        for b in dying:
            assert b.place is not None
            arena.give(b.place.offset, rounded(b.nbytes))
    return arena.size


def _is_free(b: Buffer) -> bool:
    return b.place is None


def _lay_in_outputs(
    drafts: list[Draft], first: dict[Buffer, int], last: dict[Buffer, int], seen: Collection[int]
) -> None:
    """Give large buffers that an output is written over its place, which nobody sees before."""
    for k in reversed(range(len(drafts))):
        mine = dict.fromkeys(drafts[k].buffers)
        new = [b for b in mine if first[b] == k and _is_output(b, seen)]
        gone = [b for b in mine if _is_free(b) and first[b] < last[b] == k]
        for b in new:
            old = _replaced(drafts[k], b, gone) if b.nbytes >= LARGE else None
            if old is not None:
                gone.remove(old)
                old.place = b.place


def _is_output(b: Buffer, seen: Collection[int]) -> bool:
    return b.place is not None and b.place.kind == "output" and b.place.number not in seen


def _replaced(draft: Draft, new: Buffer, dying: list[Buffer]) -> Buffer | None:
    """A dying buffer that a new one may lie over."""
    for old in dying:
        alike = old.nbytes == new.nbytes and old.dtype.itemsize == new.dtype.itemsize
        if alike and (draft.begins.get(new) is old or _in_step(draft.built, old, new)):
            return old
    return None


def _in_step(built: Built | None, old: Buffer, new: Buffer) -> bool:
    if built is None:
        return False
    touches = [built.touches[built.buffers.index(b)] for b in (old, new)]
    return in_step(built.kernel, *touches)


def in_step(kernel: Kernel, old: Touch, new: Touch) -> bool:
    """Whether each element is read for the last time before it is written at the same place.

    The loops may run in any order, so each element must be visited once: an access that stays in
    its place along a loop would read again what was written over.
    """
    if not old.loads or not new.stores:
        return True
    access = new.stores[0][1]
    where = access.strides, access.offset, access.indices
    if any((a.strides, a.offset, a.indices) != where for _, a in old.loads):
        return False
    if any((a.strides, a.offset, a.indices) != where or c for _, a, c in new.stores):
        return False
    if max(stage for stage, _ in old.loads) > min(stage for stage, _, _ in new.stores):
        return False
    steps = zip(access.strides, kernel.extents, strict=True)
    return not access.indices and all(step or extent <= 1 for step, extent in steps)
