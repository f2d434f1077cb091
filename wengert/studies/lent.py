"""Rows of parameters in memory that the workers of this machine share.

A pipe carries some 300 MB in a second, so that small fits would wait for their parameters. Of rows
that were lent, workers are told the numbers alone.
"""

from __future__ import annotations

import functools
import itertools
import math
import os
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wengert.studies.rows import Rows

FOLDER = Path("/dev/shm")
"""Where shared memory has files, on Linux; elsewhere rows are sent."""
LINE = 64
"""Bytes at whose multiples arrays begin."""


class Lent:
    """Rows that workers look up. Whoever lends them takes them back, by `close`."""

    def __init__(self, rows: Rows, memory: SharedMemory) -> None:
        self.name = memory.name
        self.forms = [(x.dtype, x.shape) for x in rows.arrays]
        self.tree, self.tensors = rows.tree, rows.tensors
        self.memory = memory

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "memory"}

    def arrays(self, memory: Any) -> list[Any]:
        """All rows, where they lie in the memory."""
        arrays, start = [], 0
        for dtype, shape in self.forms:
            arrays.append(np.ndarray(shape, dtype, memory, start))
            start += _room(dtype, shape)
        return arrays

    def part(self, numbers: Any) -> Part:
        """Some of the rows, as workers are told of them."""
        first, last = int(numbers[0]), int(numbers[-1])
        return Part(self, slice(first, last + 1) if last - first + 1 == len(numbers) else numbers)

    def close(self) -> None:
        self.memory.close()
        self.memory.unlink()


class Part(NamedTuple):
    """Rows of those that were lent."""

    lent: Lent
    which: Any

    def rows(self) -> Rows:
        """A copy of them, in the worker."""
        arrays = self.lent.arrays(_opened(self.lent.name))
        return Rows(self.lent.tree, [x[self.which].copy() for x in arrays], self.lent.tensors)


def lent(rows: Rows) -> Lent | None:
    """Rows in shared memory; None where there is none, or not enough."""
    if not FOLDER.is_dir() or any(x.dtype.hasobject for x in rows.arrays):
        return None
    rooms = [_room(x.dtype, x.shape) for x in rows.arrays]
    starts = [0, *itertools.accumulate(rooms[:-1])]
    memory = SharedMemory(create=True, size=max(sum(rooms), 1))
    try:  # written as a file: pages that are mapped are made one by one, and may not be there
        with (FOLDER / memory.name).open("r+b", buffering=0) as file:
            for x, start in zip(rows.arrays, starts, strict=True):
                _write(file, np.ascontiguousarray(x), start)
    except OSError:
        memory.close()
        memory.unlink()
        return None
    return Lent(rows, memory)


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
