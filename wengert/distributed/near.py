"""How the ranks of one machine combine blocks in memory that they share.

In a ring blocks are combined without messages: each rank writes its own where all others read, and
each combines all of them, in the order of the ranks, so that all get the same bits. A block is
copied once, or made where others read it (`Place`), and nothing has to be driven: who has written
need not wait for those who read.

The memory is a file that has no name once all have opened it: nothing is left of it.
"""

from __future__ import annotations

import contextlib
import math
import mmap
import os
import tempfile
import threading
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wengert.distributed.board import COUNTS, LINE, READ_COUNT, Board

SLOT = 2**17
"""Bytes that are written before others may read them: they are still in a cache then."""
APART = SLOT + 67 * 64
"""Bytes from one slot to the next: as far apart as caches are large, the beginnings of all slots
would have to lie in the same few lines of them."""
SLOTS = 32
"""So many parts a rank may write before others have read the first of them."""
AT_ONCE = 8
"""So many parts are combined in one call, in which no other thread runs: some 100 microseconds."""
SPINS = 10_000
"""How often it is looked whether others have come, some 50 microseconds, before it is left."""
MOST = 4
"""So many ranks read what all have written. For more of them MPI's ways read less."""


MEMORY = "/dev/shm"
"""The folder whose files are in memory, on Linux."""


def shared(
    near: Any, size: int, folders: Sequence[str] = (MEMORY, tempfile.gettempdir())
) -> mmap.mmap | None:
    """Memory of so many bytes, zeros at first, for all ranks of a communicator of one machine.

    None on all of them if there is none to be had.
    """
    path: Path | None = None
    if near.rank == 0:
        path = _reserved(size, folders)
    try:
        path = near.bcast(path)
        if path is None:
            return None
        with path.open("r+b") as file:
            memory = mmap.mmap(file.fileno(), size)
        near.Barrier()
    except BaseException:  # the rank that would take the name away may be the one that died
        if path is not None:
            path.unlink(missing_ok=True)
        raise
    if near.rank == 0:
        path.unlink()
    return memory


def _reserved(size: int, folders: Sequence[str]) -> Path | None:
    """A file of so many bytes, in the first folder that has room for it."""
    reserve = getattr(os, "posix_fallocate", lambda file, start, size: os.truncate(file, size))
    for folder in folders:
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


# ---- blocks that are combined -------------------------------------------------------------------


class Differs(Exception):
    """A rank, and the number of the operation that it has come to instead of another one."""


class Layout:
    """How blocks of one operation lie in a ring: the same for each of them."""

    def __init__(
        self, ring: Ring, number: int, shape: tuple[int, ...], dtype: Any, op: np.ufunc
    ) -> None:
        self.ring = ring
        loop = ring.code.loop(op, dtype)
        assert loop is not None
        size, step = math.prod(shape) * dtype.itemsize, SLOT // dtype.itemsize * dtype.itemsize
        self.parts = max(1, -(-size // step))
        last = size - step * (self.parts - 1)
        words = (ring.words.ctypes.data, number, 0, 0, self.parts, step, last, dtype.itemsize)
        unused = [0] * (ring.code.Blocks.DIMENSIONS - len(words) - len(loop))
        self.words = np.array([*words, *loop, *unused], np.int64)
        self.shape, self.dtype = shape, dtype

    def at_once(self, board: Board) -> Any:
        """What combines an array if the others come soon; None if it has to be waited for."""
        if self.parts > AT_ONCE:
            return None
        code, words = self.ring.code, np.concatenate([self.words, np.array(self.shape, np.int64)])
        words[code.Blocks.BOARD] = board.address
        self.ring.tables[words.ctypes.data] = words, board, self.dtype  # at addresses that it has
        return code.at_once(words, self.dtype)


class Block:
    """What a rank brings, and where it gets what all have brought, combined."""

    __slots__ = ("address", "keep", "ring", "words")

    def __init__(self, layout: Layout, brought: Any, into: Any) -> None:
        self.ring = layout.ring
        self.words = layout.words.copy()
        self.address = self.words.ctypes.data
        self.keep: Any = (brought, into)
        blocks = self.ring.code.Blocks
        self.words[blocks.SOURCE] = brought.ctypes.data
        self.words[blocks.TARGET] = into.ctypes.data

    @classmethod
    def opened(cls, ring: Ring, words: Any) -> Block:
        """A block that was begun at once, and has to be waited for."""
        self = cls.__new__(cls)
        self.ring, self.words, self.address = ring, words, words.ctypes.data
        self.keep = ring.code.taken(words)
        return self

    @property
    def written(self) -> bool:
        """Whether others can read all that this rank brings."""
        blocks = self.ring.code.Blocks
        return bool(self.words[blocks.PUT] == self.words[blocks.PARTS])

    @property
    def moved(self) -> int:
        """How many parts were written and read."""
        blocks = self.ring.code.Blocks
        return int(self.words[blocks.PUT] + self.words[blocks.GOT])

    @property
    def done(self) -> bool:
        blocks = self.ring.code.Blocks
        return bool(self.words[blocks.GOT] == self.words[blocks.PARTS])


class Place:
    """Memory in which a rank makes what it brings: `array`, which others read after `block`.

    Its ring has one slot for each part of the array, so that a part always comes to lie in the same
    one. The array may be written anew when all have read it, that is, when it is `free`.
    """

    def __init__(self, ring: Ring, number: int, count: int, dtype: Any) -> None:
        self.ring = ring
        self.number = number
        self.layout = Layout(ring, number, (count,), dtype, np.add)
        begin = ring.start + ring.slots * SLOT * ring.rank
        self.array: Any = np.frombuffer(ring.memory, dtype, count, begin)

    @staticmethod
    def slots(count: int, dtype: Any) -> int:
        return max(1, -(-count * dtype.itemsize // SLOT))

    @property
    def free(self) -> bool:
        return bool((self.ring.counts[:, READ_COUNT] >= self.ring.counts[self.ring.rank, 0]).all())

    def block(self, into: Any) -> Block:
        return Block(self.layout, self.array, into)


class Ring:
    """The ranks' parts of blocks, in as many slots as go round.

    Each rank counts the parts that it has written, and those that it has read. A part can be read
    when all have written it, and its slot be written again when all have read it.
    """

    def __init__(
        self, memory: Any, rank: int, size: int, slots: int = SLOTS, apart: int = APART
    ) -> None:
        from wengert.distributed import near_code

        self.code = near_code
        self.rank = rank
        self.memory = memory
        self.turn = near_code.turn()
        self.slots = slots
        row = self.row(slots)
        self.start = row * size
        self.counts: Any = np.frombuffer(memory, np.int64, self.start // 8).reshape(size, -1)
        at = np.frombuffer(memory, np.uint8).ctypes.data
        w = near_code.Words
        self.words = np.zeros(len(w), np.int64)
        for word, value in (
            (w.SIZE, size),
            (w.RANK, rank),
            (w.ROWS, at),  # what is written, what is read, and whose part is in a slot
            (w.ROW, row),
            (w.MINE, at + row * rank),
            (w.DATA, at + self.start),
            (w.SLOT, apart),
            (w.SLOTS, slots),
            (w.SPINS, SPINS * (size <= (os.cpu_count() or 1))),  # else others need the core
            (w.FREE, slots),  # parts that may be written before readers have to be asked
            (w.READY, 0),  # parts that all are known to have written
        ):
            self.words[word] = value
        self.spins = int(self.words[w.SPINS])
        self.tables: dict[int, Any] = {}
        self.blocks: deque[Block] = deque()
        self.lock = threading.Lock()

    @staticmethod
    def row(slots: int) -> int:
        """Bytes in which a rank counts: whole lines, so that the slots begin with one."""
        return -(-(COUNTS + slots) // LINE) * LINE * 8

    @classmethod
    def size(cls, ranks: int, slots: int = SLOTS, apart: int = APART) -> int:
        return (cls.row(slots) + slots * apart) * ranks

    def takes(self, op: np.ufunc, dtype: Any) -> bool:
        return self.code.loop(op, dtype) is not None

    def add(self, block: Block) -> None:
        """Begin with a block, after those that were begun before."""
        with self.lock:
            self._busy(True)
            self._take_open()
            self.blocks.append(block)
            self._move(0)

    def left(self, words: Any) -> Block | None:
        """The block of this table, which was begun at once and left; None if it is done."""
        with self.lock:
            self._take_open()
            return next((block for block in self.blocks if block.words is words), None)

    def go_on(self, waits: bool = False) -> None:
        """Write and read what can be; Differs if ranks do different things.

        `waits` for the others a moment, if it is of use and no other block is under way.
        """
        with self.lock:
            self._take_open()
            self._move(self.spins if waits else 0)

    def _busy(self, is_so: bool) -> None:
        self.words[self.code.Words.BUSY] = is_so

    def _take_open(self) -> None:
        word = self.code.Words.OPEN
        if address := int(self.words[word]):
            self.words[word] = 0
            self.blocks.appendleft(Block.opened(self, self.tables[address][0]))

    def _move(self, spins: int) -> None:
        code = self.code
        may = code.WRITES | code.READS
        spins = spins if len(self.blocks) == 1 else 0
        for block in self.blocks:
            state = self.turn(block.address, may, spins)
            if state == code.Turn.DIFFERS:
                raise Differs(*self.words[[code.Words.OTHER, code.Words.THEIRS]].tolist())
            if state == code.Turn.LEFT:
                may = code.WRITES if may & code.WRITES and block.written else 0
            if not may:
                break
        while self.blocks and self.blocks[0].done:
            self.blocks.popleft().keep = None
        self._busy(bool(self.blocks))
