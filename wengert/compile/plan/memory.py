"""The arena: each array gets memory for as long as it is needed.

Steps are walked in order. A buffer takes the smallest free block that it fits in when it is first
written, and frees it after its last reader. A kernel may write over an array that it is the last to
read, where both are walked in step.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from dataclasses import dataclass, field

from wengert.compile.plan.kernel import Kernel
from wengert.compile.plan.plan import Place
from wengert.compile.plan.strides import Buffer
from wengert.compile.plan.terms import Built, Touch

ALIGNMENT = 64


@dataclass(slots=True)
class Use:
    """What a step touches: all buffers, and for a kernel also how."""

    buffers: list[Buffer]
    built: Built | None = None


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
    return max(-(-nbytes // ALIGNMENT), 1) * ALIGNMENT


def lay_out(uses: list[Use]) -> int:
    """Give every buffer that has none a place in the arena; the arena's size in bytes."""
    first: dict[Buffer, int] = {}
    last: dict[Buffer, int] = {}
    for k, use in enumerate(uses):
        for b in use.buffers:
            if b.place is None:
                first.setdefault(b, k)
                last[b] = k
    arena = Arena()
    for k, use in enumerate(uses):
        mine = [b for b in dict.fromkeys(use.buffers) if b in first]
        new = sorted((b for b in mine if first[b] == k), key=lambda b: -b.nbytes)
        dying = [b for b in mine if last[b] == k]
        gone = [b for b in dying if first[b] != k]
        for b in new:
            old = _replaced(use.built, b, gone)
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
