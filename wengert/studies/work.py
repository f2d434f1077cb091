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
from wengert.studies.lent import Part
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

    def __call__(self, batch: Rows, size: int, moment: float = math.inf) -> Rows:
        """The results of a batch, of which `size` rows are run at once.

        Of its first rows alone, if a moment is over before the others were begun.
        """
        f, count, end = self.function, len(batch), time.perf_counter() + moment
        run, step = (self.rows, size) if self.vmap else (self.row, 1)
        parts = []
        for start in range(0, count, step):
            parts.append(run(batch, start, step))
            if time.perf_counter() > end:
                break
        if not self.vmap:
            return checked(Rows.of(collected(parts, f)), None, f)
        return joined([checked(part, None, f) for part in parts], f).taken(slice(count))

    def rows(self, batch: Rows, start: int, size: int) -> Rows:
        # The last row is repeated: one shape is compiled, and no second.
        numbers = np.minimum(np.arange(start, start + size), len(batch) - 1)
        with _within(start, start + size):
            try:
                return Rows.of(self.ready(batch.taken(numbers).value()))
            except BatchingError as error:
                told = "studies.map(..., vmap=False) calls the function for one row at a time."
                error.add_note(told)
                raise

    def row(self, batch: Rows, k: int, size: int) -> Any:
        with _within(k, k + size):
            return self.ready(batch.taken([k]).row(0))  # a copy: others may look at the batch


@contextlib.contextmanager
def _within(start: int, stop: int) -> Iterator[None]:
    """Tell with an error by which rows of its batch it was raised."""
    try:
        yield
    except Exception as error:
        error.__dict__[WITHIN] = slice(start, stop)
        raise


@functools.lru_cache(maxsize=4)
def _unpacked(job: bytes) -> Job:
    return pickle.loads(job)


def run(
    job: bytes | Job, given: Rows | Part, size: int, moment: float = math.inf
) -> tuple[Rows, float]:
    """What is submitted to an executor: the job, as it was packed once, and one batch of it.

    It gives the results of those rows that were begun within a moment, and the seconds that they
    took.
    """
    start = time.perf_counter()
    batch = given if isinstance(given, Rows) else given.rows()
    results = (_unpacked(job) if isinstance(job, bytes) else job)(batch, size, moment)
    return results, time.perf_counter() - start
