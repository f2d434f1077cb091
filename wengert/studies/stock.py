"""The rows of a study that are not finished: those that wait, and those that workers take."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.studies.lent import Left, Lent, lent
from wengert.studies.rows import Rows, span


@dataclass
class Batch:
    """Rows that go to one worker together; `losses` counts the workers that were lost with it."""

    rows: np.ndarray[Any, Any]
    losses: int = 0

    def parts(self, size: int) -> list[Batch]:
        """Batches of its rows, so many in each."""
        return [
            Batch(self.rows[start : start + size], self.losses)
            for start in range(0, len(self.rows), size)
        ]

    def __str__(self) -> str:
        if not len(self.rows):
            return "none of its rows"
        first, last = self.rows[0], self.rows[-1]
        return f"row {first}" if first == last else f"rows {first} to {last}"


class Stock:
    """The rows of these numbers. Workers of this machine take them by themselves, if `shares`.

    `shared` is the batch of what they may take; a call that is given it ends with some of them.
    What others get, and what a worker was lost with, are batches of their own, which wait.
    """

    def __init__(self, parameters: Rows, numbers: Any, size: int, shares: bool) -> None:
        self.parameters, self.size = parameters, size
        self.left = np.zeros(len(parameters), bool)
        """Of each row whether it is still to be finished."""
        self.left[numbers] = True
        self.shared = Batch(numbers)
        self.lent: Lent | None = lent(parameters, numbers, size) if shares else None
        self.waiting = deque(self.shared.parts(size) if self.lent is None else ())

    @property
    def has_shared(self) -> bool:
        """Whether there is something that workers may take."""
        return self.lent is not None and self.lent.taken < self.lent.count

    def write(self, count: int | None = None) -> bool:
        """Write more of what workers take, so many rows or a piece; whether there was some.

        Where there is no room for it, it waits to be sent.
        """
        if self.lent is None:
            return False
        try:
            return self.lent.write(count)
        except OSError:
            self.put_back(Batch(self.lent.cut()))
            return True

    def given(self, batch: Batch) -> Rows | Lent:
        """What a worker is given for a batch."""
        if batch is self.shared:
            assert self.lent is not None
            return self.lent
        return self.parameters.taken(span(batch.rows))

    def put_back(self, batch: Batch) -> None:
        self.waiting.extendleft(reversed(batch.parts(self.size)))

    def finished(
        self, batch: Batch, which: list[range], results: Rows | Left
    ) -> tuple[Any, Rows] | None:
        """The numbers of those rows of a batch that are finished, and results; others wait again.

        None for rows that were taken, but are to be run again.
        """
        if batch is self.shared and self.lent is None:
            return None
        rows = batch.rows[np.concatenate([np.arange(r.start, r.stop) for r in which])]
        self.left[rows] = False
        if batch is not self.shared:
            self.put_back(Batch(batch.rows[len(rows) :], batch.losses))
        if isinstance(results, Rows):
            return rows, results
        assert self.lent is not None
        return rows, self.lent.received(which, results)

    def out(self, batch: Batch) -> Batch:
        """What of a batch workers have, and did not finish."""
        if batch is not self.shared:
            return batch
        return self._unfinished(0 if self.lent is None else self.lent.taken)

    def _unfinished(self, taken: int) -> Batch:
        rows = self.shared.rows[:taken]
        return Batch(rows[self.left[rows]])

    def missing(self, batch: Batch) -> Batch:
        """What is missing of a batch when a worker was lost with it.

        All workers are lost that took rows by themselves. What they did not take waits from then
        on: rows that a worker is lost with again are to go to one worker alone.
        """
        if batch is not self.shared or self.lent is None:
            return self.out(batch)
        taken = self.lent.taken  # a worker that is being ended may still take some
        self.put_back(Batch(batch.rows[taken : self.lent.count]))
        self.lent.close(False)
        self.lent = None
        return self._unfinished(taken)

    def close(self) -> None:
        if self.lent is not None:
            self.lent.close(not self.left.any())
