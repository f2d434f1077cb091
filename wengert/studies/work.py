"""What a worker does: it unpacks the function once, compiles it once, and runs batches of rows.

Each worker traces the function; where they share a disk cache one of them makes machine code of it,
and the others wait for that, or find it when they join later.
"""

from __future__ import annotations

import functools
import pickle
from dataclasses import dataclass
from typing import Any

from wengert.errors import BatchingError
from wengert.studies.rows import Rows, checked, collected
from wengert.transforms.vmap import vmap


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

    def __call__(self, batch: Rows, count: int) -> Rows:
        """The results of the first `count` rows of a batch."""
        f = self.function
        if self.vmap:
            results = Rows.of(self.rows(batch)).taken(slice(count))
        else:
            results = Rows.of(collected([self.row(batch, k) for k in range(count)], f))
        return checked(results, None, f)

    def rows(self, batch: Rows) -> Any:
        try:
            return self.ready(batch.value())
        except BatchingError as error:
            error.add_note("studies.map(..., vmap=False) calls the function for one row at a time.")
            raise

    def row(self, batch: Rows, k: int) -> Any:
        try:
            return self.ready(batch.row(k))
        except Exception as error:
            error.add_note(f"(in row {k} of its batch)")
            raise


@functools.lru_cache(maxsize=4)
def _unpacked(job: bytes) -> Job:
    return pickle.loads(job)


def run(job: bytes, batch: Rows, count: int) -> Rows:
    """What is submitted to an executor: the job, as it was packed once, and one batch of it."""
    return _unpacked(job)(batch, count)
