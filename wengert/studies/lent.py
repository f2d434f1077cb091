"""Rows of parameters in memory that the workers of this machine share, and take by themselves.

A pipe carries some 300 MB in a second, and a message takes longer than many a small fit. So workers
are told once where all rows lie, and each takes the next ones when it is done with some: that is
two numbers in the same memory, which one worker at a time may change. Who dies meanwhile gives the
lock back, as its file is closed. Results are left where the rows were that they are of, if there is
room: who writes into a pipe waits for who reads, while all cores are at work.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import itertools
import math
import mmap
import os
import struct
import sys
import weakref
from collections.abc import Iterator
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wengert.history import forks
from wengert.studies.rows import Rows, span

FOLDER = Path("/dev/shm")
"""Where shared memory has files, on Linux; elsewhere rows are sent."""
SPARE = 2**26
"""At most so many bytes are kept for the next study."""
LINE = 64
"""Bytes at whose multiples arrays begin."""
PIECE = 2**20
"""Bytes of rows that are written before it is looked whether workers have ended something."""
HEAD = struct.Struct("3q")
"""What the memory begins with: whose rows are in it, and how many of them are taken, and there."""
THERE = 16
"""The byte at which it is said how many are there."""

_studies = itertools.count(1)


class Lent:
    """The rows of these numbers, which workers take so many at a time. Who lends them closes it."""

    def __init__(self, rows: Rows, numbers: Any, size: int) -> None:
        self.count, self.size = len(numbers), size
        self.forms = [(x.dtype, (self.count, *x.shape[1:])) for x in rows.arrays]
        self.tree, self.tensors = rows.tree, rows.tensors
        rooms = itertools.accumulate((_room(*form) for form in self.forms), initial=LINE)
        *self.starts, end = rooms
        sizes = [dtype.itemsize * math.prod(shape[1:]) for dtype, shape in self.forms]
        self.room, self.start = max(zip(sizes, self.starts, strict=True))
        """Bytes of a row where it has most of them, and where those begin."""
        self.given, self.numbers, self.there = rows, numbers, 0
        self.study = next(_studies)
        # Written as a file: pages that are mapped are made one by one, and may not be there.
        self.memory, self.file = _memory(end, HEAD.pack(self.study, 0, 0))
        self.name = self.memory.name

    def __getstate__(self) -> dict[str, Any]:
        own = ("given", "numbers", "there", "memory", "file")
        return {name: value for name, value in vars(self).items() if name not in own}

    # ---- who lends ----

    @property
    def taken(self) -> int:
        """How many rows workers have taken."""
        return HEAD.unpack(os.pread(self.file.fileno(), HEAD.size, 0))[1]

    def write(self, count: int | None = None) -> bool:
        """Write so many of the next rows, or a piece of them; whether there were any.

        OSError if there is no room for them.
        """
        first = self.there
        if first == self.count:
            return False
        if count is None:
            count = PIECE * self.count // max(1, sum(_room(*form) for form in self.forms))
        whole = max(1, count // self.size) * self.size  # a worker takes so many rows, or the last
        last = min(first + whole, self.count)
        some = span(self.numbers[first:last])
        for x, start in zip(self.given.arrays, self.starts, strict=True):
            size = x.dtype.itemsize * math.prod(x.shape[1:])
            _write(self.file, np.ascontiguousarray(x[some]), start + size * first)
        os.pwrite(self.file.fileno(), last.to_bytes(8, sys.byteorder), THERE)
        self.there = last
        return True

    def cut(self) -> Any:
        """Lend no more rows than those that are there; the numbers of the others."""
        rest, self.count = self.numbers[self.there :], self.there
        return rest

    def received(self, which: list[range], left: Left) -> Rows:
        """The results that a worker has left."""
        arrays = [np.empty((sum(map(len, which)), *shape), dtype) for dtype, shape in left.forms]
        for x, of, start in self._places(which, arrays):
            x[of] = np.ndarray(x[of].shape, x.dtype, self.memory.buf, start)
        return Rows(left.tree, arrays, left.tensors)

    def close(self, done: bool) -> None:
        """Take the rows back: calls that still run take no more of them.

        Only if all are done it is certain that none of these calls has results to leave there.
        """
        os.pwrite(self.file.fileno(), HEAD.pack(0, 0, 0), 0)
        if done and self.memory.size <= SPARE and not _spare:
            _spare.append((self.memory, self.file))
        else:
            _end(self.memory, self.file)

    # ---- who takes ----

    def rows(self) -> Rows:
        """All rows where they lie; who runs some copies them."""
        memory = _Opened(self.name).memory
        arrays = [
            np.ndarray(shape, dtype, memory, start)
            for (dtype, shape), start in zip(self.forms, self.starts, strict=True)
        ]
        return Rows(self.tree, arrays, self.tensors)

    def ranges(self, step: int) -> Iterator[range]:
        """Take so many of the next rows whenever it is asked for, until none are there."""
        file = _Opened(self.name)
        while some := self._take(file, step):
            yield some

    def _take(self, file: Any, step: int) -> range:
        with _locked(file):
            study, taken, there = HEAD.unpack(os.pread(file.fileno(), HEAD.size, 0))
            some = range(taken, min(taken + step, there) if study == self.study else taken)
            if some:
                os.pwrite(file.fileno(), HEAD.pack(study, some.stop, there)[:THERE], 0)
        return some

    def leave(self, which: list[range], results: Rows) -> Rows | Left:
        """Leave results where the rows were that they are of, or return them if they are larger."""
        if sum(x.itemsize * math.prod(x.shape[1:]) for x in results.arrays) > self.room:
            return results
        file = _Opened(self.name)
        for x, of, start in self._places(which, results.arrays):
            _write(file, np.ascontiguousarray(x[of]), start)
        forms = [(x.dtype, x.shape[1:]) for x in results.arrays]
        return Left(results.tree, forms, results.tensors)

    # ---- both ----

    def _places(self, which: list[range], arrays: list[Any]) -> Iterator[tuple[Any, slice, int]]:
        """For each range of rows, and each array of results: which of these, and where they are."""
        done = 0
        for some in which:
            of, start = slice(done, done + len(some)), self.start + self.room * some.start
            for x in arrays:
                yield x, of, start
                start += x[of].nbytes
            done = of.stop


class Left(NamedTuple):
    """Results that lie in memory that was lent: the dtype and shape of what there is of a row."""

    tree: Any
    forms: list[tuple[Any, tuple[int, ...]]]
    tensors: list[bool]


_spare: list[tuple[SharedMemory, Any]] = []
"""That of the last study: to make its pages took longer than to write into them."""


def _memory(size: int, head: bytes) -> tuple[SharedMemory, Any]:
    """Memory of so many bytes, or more, and its file, which begins with a head.

    That is written when no call of a study that was given up is about to write one.
    """
    for memory, file in _spares():
        with contextlib.suppress(OSError), _locked(file, waits=False):
            if memory.size >= size:
                os.pwrite(file.fileno(), head, 0)
                return memory, file
        _end(memory, file)
    memory = SharedMemory(create=True, size=size)
    file = (FOLDER / memory.name).open("r+b", buffering=0)
    try:
        os.pwrite(file.fileno(), head, 0)
    except OSError:
        _end(memory, file)
        raise
    return memory, file


def _end(memory: SharedMemory, file: Any) -> None:
    file.close()
    memory.close()
    memory.unlink()


def _spares() -> Iterator[tuple[SharedMemory, Any]]:
    with contextlib.suppress(IndexError):
        while True:
            yield _spare.pop()


@atexit.register
def _end_spare() -> None:
    for spare in _spares():
        _end(*spare)


forks.in_child(_spare.clear)  # it is the parent's


def lent(rows: Rows, numbers: Any, size: int) -> Lent | None:
    """Rows in memory that is shared; None where there is none."""
    if not FOLDER.is_dir() or any(x.dtype.hasobject for x in rows.arrays):
        return None
    try:
        return Lent(rows, numbers, size)
    except OSError:
        return None


@contextlib.contextmanager
def _locked(file: Any, waits: bool = True) -> Iterator[None]:
    """Be the only one who says how many rows are taken; BlockingIOError if another is doing so."""
    import fcntl  # which Windows has not, nor the folder

    fcntl.flock(file, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)


def _write(file: Any, array: Any, start: int) -> None:
    """Write all of an array from a place on; OSError if there is no room for it."""
    left = memoryview(array.reshape(-1).view(np.uint8))
    while left:
        done = os.pwrite(file.fileno(), left, start)
        left, start = left[done:], start + done


def _room(dtype: Any, shape: Any) -> int:
    return -(-dtype.itemsize * math.prod(shape) // LINE) * LINE


@functools.lru_cache(maxsize=2)
class _Opened:
    """What another process lends. Not by SharedMemory: a worker that ends would take it back."""

    def __init__(self, name: str) -> None:
        self.file = os.open(FOLDER / name, os.O_RDWR)
        weakref.finalize(self, os.close, self.file)
        self.memory = mmap.mmap(self.file, 0, prot=mmap.PROT_READ)

    def fileno(self) -> int:
        return self.file
