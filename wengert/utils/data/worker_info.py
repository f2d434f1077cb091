"""Where a data set is being read: in the main process or in which worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

END = object()
"""In the place of a batch: an iterable data set, or a worker's part of it, is used up."""


@dataclass(frozen=True)
class WorkerInfo:
    """What a data set may ask for in a worker process: see `get_worker_info`."""

    id: int  # the worker's number
    num_workers: int  # how many there are
    seed: int  # what its random numbers begin with
    dataset: Any  # its copy of the data set


current: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """In a worker process its id, the number of workers, its seed and its copy of the data set.

    None in the main process. An iterable data set asks here which part of the items is its own.
    """
    return current
