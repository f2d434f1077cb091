"""Rows of parameters in memory that the workers of this machine share.

A pipe carries some 300 MB in a second, so that small fits would wait for their parameters. Of rows
that were lent, workers are told the numbers alone.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import itertools
import math
import os
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


class Lent:
    """Rows that workers look up. Whoever lends them takes them back, by `close`."""

    def __init__(self, rows: Rows) -> None:
        self.forms = [(x.dtype, x.shape) for x in rows.arrays]
        self.tree, self.tensors = rows.tree, rows.tensors
        rooms = itertools.accumulate((_room(*form) for form in self.forms), initial=0)
        *self.starts, size = rooms
        self.given = rows
        self.memory = _memory(size)
        self.name = self.memory.name
        # Written as a file: pages that are mapped are made one by one, and may not be there.
        self.file = (FOLDER / self.name).open("r+b", buffering=0)

    def __getstate__(self) -> dict[str, Any]:
        own = ("given", "memory", "file")
        return {name: value for name, value in vars(self).items() if name not in own}

    def arrays(self, memory: Any) -> list[Any]:
        """All rows, where they lie in the memory."""
        return [
            np.ndarray(shape, dtype, memory, start)
            for (dtype, shape), start in zip(self.forms, self.starts, strict=True)
        ]

    def part(self, numbers: Any) -> Part | None:
        """Some of the rows, as workers are told of them; None if there is no room for them.

        They are written now: workers begin with some while others are not there yet.
        """
        first, last = min(numbers), max(numbers)
        try:
            for x, start in zip(self.given.arrays, self.starts, strict=True):
                size = x.dtype.itemsize * math.prod(x.shape[1:])
                _write(self.file, np.ascontiguousarray(x[first : last + 1]), start + size * first)
        except OSError:
            return None
        return Part(self, span(numbers))

    def close(self) -> None:
        self.file.close()
        if self.memory.size <= SPARE and not _spare:
            _spare.append(self.memory)
        else:
            _end(self.memory)


_spare: list[SharedMemory] = []
"""That of the last study: to make its pages took longer than to write into them."""


def _memory(size: int) -> SharedMemory:
    """Memory of so many bytes, or more."""
    with contextlib.suppress(IndexError):
        spare = _spare.pop()
        if spare.size >= size:
            return spare
        _end(spare)
    return SharedMemory(create=True, size=max(size, 1))


def _end(memory: SharedMemory) -> None:
    memory.close()
    memory.unlink()


@atexit.register
def _end_spare() -> None:
    while _spare:
        _end(_spare.pop())


forks.in_child(_spare.clear)  # it is the parent's


class Part(NamedTuple):
    """Rows of those that were lent."""

    lent: Lent
    which: Any

    def rows(self) -> Rows:
        """They, in the worker, which copies those that it runs."""
        arrays = self.lent.arrays(_opened(self.lent.name))
        return Rows(self.lent.tree, arrays, self.lent.tensors).taken(self.which)


def lent(rows: Rows) -> Lent | None:
    """Rows in memory that is shared; None where there is none."""
    if not FOLDER.is_dir() or any(x.dtype.hasobject for x in rows.arrays):
        return None
    return Lent(rows)


def _write(file: Any, array: Any, start: int) -> None:
    """Write all of an array from a place on; OSError if there is no room for it."""
    left = memoryview(array.reshape(-1).view(np.uint8))
    while left:
        done = os.pwrite(file.fileno(), left, start)
        left, start = left[done:], start + done


def _room(dtype: Any, shape: Any) -> int:
    return -(-dtype.itemsize * math.prod(shape) // LINE) * LINE


@functools.lru_cache(maxsize=2)
def _opened(name: str) -> Any:
    # Not by SharedMemory: a worker that ends would take the memory back that it opens.
    return np.memmap(FOLDER / name, np.uint8, "r")
