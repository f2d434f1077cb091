"""What the ranks of one machine say to each other through memory that they share.

A board has where each rank stands, for errors. In a ring blocks are combined without messages: each
rank writes its own where all others read, and each combines all of them, in the order of the
ranks, so that all get the same bits. A block is copied once, and nothing has to be driven: who has
written need not wait for those who read.

The memory is a file that has no name once all have opened it: nothing is left of it.
"""

from __future__ import annotations

import contextlib
import math
import mmap
import os
import platform
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wengert.distributed.collectives import COLLECTIVES

IN_ORDER = platform.machine().lower() in ("x86_64", "amd64", "i686")
"""Whether a processor shows others what it writes in the order in which it has written it."""
SLOT = 2**17
"""Bytes that are written before others may read them: they are still in a cache then."""
SLOTS = 32
"""So many parts a rank may write before others have read the first of them."""
MOST = 4
"""So many ranks read what all have written. For more of them MPI's ways read less."""
_LINE = 8  # words of 8 bytes of which a cache moves no fewer


def shared(near: Any, size: int) -> mmap.mmap | None:
    """Memory of so many bytes, zeros at first, for all ranks of a communicator of one machine.

    None on all of them if there is none to be had.
    """
    path: Path | None = None
    if near.rank == 0:
        path = _reserved(size)
    path = near.bcast(path)
    if path is None:
        return None
    with path.open("r+b") as file:
        memory = mmap.mmap(file.fileno(), size)
    near.Barrier()
    if near.rank == 0:
        path.unlink()
    return memory


def _reserved(size: int) -> Path | None:
    """A file of so many bytes, in memory where there is a place for such files."""
    reserve = getattr(os, "posix_fallocate", lambda file, start, size: os.truncate(file, size))
    for folder in ("/dev/shm", tempfile.gettempdir()):
        with contextlib.suppress(OSError):
            file, name = tempfile.mkstemp(prefix="wengert-", dir=folder)
            try:
                reserve(file, 0, size)  # a page that is not there would end the process later
                return Path(name)
            except OSError:
                Path(name).unlink()
            finally:
                os.close(file)
    return None


# ---- where ranks stand --------------------------------------------------------------------------


class Board:
    """For each rank of this machine how many operations it has begun, and which was the last."""

    names = (*COLLECTIVES, "barrier")

    def __init__(self, memory: Any, ranks: Sequence[int], mine: int) -> None:
        self.ranks = ranks
        self.rows: Any = np.frombuffer(memory, np.int64).reshape(-1, 2)
        self.row: Any = memoryview(memory).cast("q")[2 * mine : 2 * mine + 2]
        self.places = {name: k for k, name in enumerate(self.names)}

    @staticmethod
    def size(ranks: int) -> int:
        return 16 * ranks

    def note(self, name: str) -> None:
        row = self.row
        row[0] += 1
        row[1] = self.places[name]

    def where(self) -> str:
        """Where the ranks stand that are not as far as this one, or at another operation."""
        mine, here = self.row
        lines = [
            f"\n  rank {rank} has begun {count} operations, "
            + (f"the last of them {self.names[last]}" if count else "none of them in this group")
            for rank, (count, last) in zip(self.ranks, self.rows.tolist(), strict=True)
            if count < mine or (count == mine and last != here)
        ]
        return f"; this is the operation {mine} of the group." + "".join(lines)


# ---- blocks that are combined -------------------------------------------------------------------


class Differs(Exception):
    """A rank, and the number of the operation that it has come to instead of another one."""


class Layout:
    """How blocks of one operation lie in a ring: the same for each of them."""

    def __init__(
        self, ring: Ring, number: int, shape: tuple[int, ...], dtype: Any, op: np.ufunc
    ) -> None:
        self.ring = ring
        self.number = number
        """That of the operation, the same on all ranks that have come to the same one."""
        self.combine = op
        size, step = math.prod(shape), SLOT // dtype.itemsize
        self.parts = max(1, -(-size // step))
        self.cuts = [slice(start, start + step) for start in range(0, size, step)]
        slots = ring.slots(dtype)
        self.full = _Places(lambda slot: slots[slot])
        if self.parts == 1:
            self.last = _Places(lambda slot: slots[slot, :, :size].reshape(slots.shape[1], *shape))
        else:
            self.last = _Places(lambda slot: slots[slot, :, : size - step * (self.parts - 1)])

    def cut(self, array: Any) -> list[Any]:
        """The parts of a block, each of which is written into a slot."""
        if self.parts == 1:
            return [array]
        flat = array.reshape(-1)
        return [flat[cut] for cut in self.cuts]

    def places(self, slot: int, part: int) -> list[Any]:
        """Where the ranks write a part."""
        return (self.full if part < self.parts - 1 else self.last)[slot]


class _Places(dict[int, list[Any]]):
    """Views of slots, kept: making one takes as long as adding what is in it."""

    def __init__(self, make: Callable[[int], Any]) -> None:
        self.make = make

    def __missing__(self, slot: int) -> list[Any]:
        views = self.make(slot)
        found = self[slot] = [views[rank, ...] for rank in range(len(views))]  # of a number, too
        return found


class Block:
    """What a rank brings, and where it gets what all have brought, combined."""

    __slots__ = ("brought", "done", "got", "into", "layout", "put")

    def __init__(self, layout: Layout, brought: Any, into: Any) -> None:
        self.layout = layout
        self.brought = layout.cut(brought)
        self.into = self.brought if into is brought else layout.cut(into)
        self.put = self.got = 0  # parts that this rank has written, and read
        self.done = False


class Ring:
    """The ranks' parts of blocks, in as many slots as go round.

    Each rank counts the parts that it has written, and those that it has read. A part can be read
    when all have written it, and its slot be written again when all have read it.
    """

    def __init__(self, memory: Any, rank: int, size: int) -> None:
        self.rank = rank
        words = _LINE + SLOTS
        every = memoryview(memory).cast("q")
        rows = [every[r * words : (r + 1) * words] for r in range(size)]
        self.mine = rows[rank]  # written, read, and from the next line on whose part is in a slot
        self.others = [r for r in range(size) if r != rank]
        self.rows = [rows[r] for r in self.others]
        data = np.frombuffer(memory, np.uint8, SLOTS * size * SLOT, 8 * words * size)
        self.data = data.reshape(SLOTS, size, SLOT)
        self.written = self.read = 0
        self.free = SLOTS  # parts that may be written before readers have to be asked
        self.ready = 0  # parts that all others are known to have written
        self.puts: deque[Block] = deque()
        self.gets: deque[Block] = deque()
        self.lock = threading.Lock()

    @staticmethod
    def size(ranks: int) -> int:
        return 8 * (_LINE + SLOTS) * ranks + SLOTS * ranks * SLOT

    def add(self, block: Block) -> None:
        """Begin with a block, after those that were begun before."""
        with self.lock:
            self.puts.append(block)
            self.gets.append(block)
            self._move()

    def go_on(self) -> None:
        """Write and read what can be, without waiting; Differs if ranks do different things."""
        with self.lock:
            self._move()

    def _move(self) -> None:
        self._write()
        while self._read() and self.puts:
            self._write()

    def slots(self, dtype: Any) -> Any:
        """(slots, ranks, elements)"""
        return self.data[..., : SLOT // dtype.itemsize * dtype.itemsize].view(dtype)

    def _write(self) -> None:
        while self.puts:
            block = self.puts[0]
            layout = block.layout
            for part in block.brought[block.put :]:
                if self.written == self.free:
                    self.free = min(self.read, *[row[1] for row in self.rows]) + SLOTS
                    if self.written == self.free:
                        return
                slot = self.written % SLOTS
                np.copyto(layout.places(slot, block.put)[self.rank], part)
                self.mine[_LINE + slot] = layout.number
                self.written += 1
                self.mine[0] = self.written  # only now others may read
                block.put += 1
            self.puts.popleft()

    def _read(self) -> bool:
        """Whether something was read."""
        before = self.read
        while self.gets:
            block = self.gets[0]
            layout = block.layout
            for into in block.into[block.got :]:
                if self.read == self.ready:
                    self.ready = min(self.written, *[row[0] for row in self.rows])
                    if self.read == self.ready:
                        return self.read > before
                slot = self.read % SLOTS
                for rank, row in zip(self.others, self.rows, strict=True):
                    if row[_LINE + slot] != layout.number:
                        raise Differs(rank, row[_LINE + slot])
                first, second, *more = layout.places(slot, block.got)
                layout.combine(first, second, out=into)
                for other in more:
                    layout.combine(into, other, out=into)
                self.read += 1
                self.mine[1] = self.read  # only now its slot may be written again
                block.got += 1
            block.done = True
            self.gets.popleft()
        return self.read > before
