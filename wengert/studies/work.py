"""What a worker does: it unpacks the function once, compiles it once, and runs batches of rows.

Each worker traces the function; where they share a disk cache one of them makes machine code of it,
and the others wait for that, or find it when they join later.
"""

from __future__ import annotations

import contextlib
import functools
import math
import pickle
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.errors import BatchingError
from wengert.studies.lent import Left, Lent
from wengert.studies.rows import Rows, checked, collected, joined
from wengert.transforms.vmap import vmap

WITHIN = "_rows_of_batch"
"""The attribute of an error that says by which rows of its batch it was raised."""


@dataclass(frozen=True)
class Job:
    """A study's function, and how it is run."""

    function: Any
    vmap: bool
    compile: bool

    @functools.cached_property
    def ready(self) -> Any:
        """The function as it is run, compiled once for each process."""
        from wengert.compile.call.function import CompiledFunction, compile

        f = self.function
        eager = f.function if isinstance(f, CompiledFunction) else f
        mapped = vmap(eager) if self.vmap else eager
        return compile(mapped) if self.compile or eager is not f else mapped

    def __call__(
        self, given: Rows | Lent, size: int, moment: float = math.inf
    ) -> tuple[list[range], Rows | None]:
        """Which of the rows were run, of which `size` are at once, and what they gave.

        If a moment is over before the others were begun, or other workers take some, not all.
        """
        f, end, batch = self.function, time.perf_counter() + moment, given.rows()
        run, step = (self.rows, size) if self.vmap else (self.row, 1)
        which, parts = [], []
        for some in given.ranges(step):
            with _within(some):
                parts.append(run(batch, some, size))
            which.append(some)
            if time.perf_counter() > end:
                break
        if not parts:
            return which, None
        if not self.vmap:
            return which, checked(Rows.of(collected(parts, f)), None, f)
        return which, joined([checked(part, None, f) for part in parts], f)

    def rows(self, batch: Rows, some: range, size: int) -> Rows:
        # The last row is repeated: one shape is compiled, and no second.
        numbers = np.minimum(np.arange(some.start, some.start + size), some.stop - 1)
        try:
            results = Rows.of(self.ready(batch.taken(numbers).value()))
        except BatchingError as error:
            told = "studies.map(..., vmap=False) calls the function for one row at a time."
            error.add_note(told)
            raise
        return results if len(some) == size else results.taken(slice(len(some)))

    def row(self, batch: Rows, some: range, size: int) -> Any:
        return self.ready(batch.taken(some).row(0))  # a copy: others may look at the batch


@contextlib.contextmanager
def _within(some: range) -> Iterator[None]:
    """Tell with an error by which rows of its batch it was raised."""
    try:
        yield
    except Exception as error:
        error.__dict__[WITHIN] = slice(some.start, some.stop)
        raise


@functools.lru_cache(maxsize=4)
def _unpacked(job: bytes) -> Job:
    return pickle.loads(job)


def run(
    job: bytes | Job, given: Rows | Lent, size: int, moment: float = math.inf
) -> tuple[list[range], Rows | Left | None, float]:
    """What is submitted to an executor: the job, as it was packed once, and rows for it.

    It gives the numbers of those rows that were begun within a moment, their results, and the
    seconds that they took.
    """
    start = time.perf_counter()
    which, results = (_unpacked(job) if isinstance(job, bytes) else job)(given, size, moment)
    left = None if results is None else given.leave(which, results)
    return which, left, time.perf_counter() - start
