"""The arena: each array gets memory for as long as it is needed.

Steps are walked in order. A buffer takes the smallest free block that it fits in when it is first
written, and frees it after its last reader. A kernel may write over an array that it is the last to
read, where both are walked in step.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Callable
from dataclasses import dataclass, field

from wengert.compile.plan.kernel import LINE, Kernel
from wengert.compile.plan.plan import Call, Layout, Loops, Multiply, Place, Plan, Step
from wengert.compile.plan.strides import Buffer, Strided
from wengert.compile.plan.terms import Built, Touch
from wengert.compile.program.program import Statement, Value


@dataclass(slots=True)
class Draft:
    """A step whose arrays have no places yet: all buffers that it touches, for a kernel also how,
    and what makes the step when they have."""

    buffers: list[Buffer]
    step: Callable[[], Step]
    built: Built | None = None

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

        return Draft([a.buffer for a in (*inputs.values(), *outs)], step)


def _place(buffer: Buffer) -> Place:
    assert buffer.place is not None
    return buffer.place


def _layout(a: Strided) -> Layout:
    place = _place(a.buffer)
    place = Place(place.kind, place.number, place.offset + a.offset * a.buffer.dtype.itemsize)
    return Layout(place, a.shape, a.strides, a.buffer.dtype)


@dataclass(slots=True)
class Arena:
    """Blocks of free memory below `size`, as (offset, length) in order."""

    size: int = 0
    free: list[tuple[int, int]] = field(default_factory=list)

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


def placed(drafts: list[Draft]) -> tuple[list[Step], int]:
    """The steps on arrays that have places, and the size of the arena in bytes."""
    size = _lay_out(drafts)
    return [draft.step() for draft in drafts], size


def _lay_out(drafts: list[Draft]) -> int:
    """Give every buffer that has none a place in the arena; the arena's size in bytes."""
    first: dict[Buffer, int] = {}
    last: dict[Buffer, int] = {}
    for k, draft in enumerate(drafts):
        for b in draft.buffers:
            if b.place is None:
                first.setdefault(b, k)
                last[b] = k
    arena = Arena()
    for k, draft in enumerate(drafts):
        mine = [b for b in dict.fromkeys(draft.buffers) if b in first]
        new = sorted((b for b in mine if first[b] == k), key=lambda b: -b.nbytes)
        dying = [b for b in mine if last[b] == k]
        gone = [b for b in dying if first[b] != k]
        for b in new:
            old = _replaced(draft.built, b, gone)
            if old is not None:
                gone.remove(old)
                dying.remove(old)
                b.place = old.place
            else:
                b.place = Place("arena", 0, arena.take(rounded(b.nbytes)))
        for b in dying:
            assert b.place is not None
            arena.give(b.place.offset, rounded(b.nbytes))
    return arena.size


def _replaced(built: Built | None, new: Buffer, dying: list[Buffer]) -> Buffer | None:
    """A dying buffer that a new one may lie over."""
    if built is None:
        return None
    for old in dying:
        if old.nbytes == new.nbytes and old.dtype.itemsize == new.dtype.itemsize:
            touch = built.touches[built.buffers.index(old)]
            if in_step(built.kernel, touch, built.touches[built.buffers.index(new)]):
                return old
    return None


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
