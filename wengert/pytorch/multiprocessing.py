"""`torch.multiprocessing` is Python's `multiprocessing`: tensors are sent as NumPy arrays are."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing import *  # noqa: F403
from typing import Any

from wengert.imports import lacking as _lacking


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> Any:
    """Run `fn(k, *args)` in processes k = 0 ... nprocs - 1; RuntimeError if one of them fails."""
    context = multiprocessing.get_context(start_method)
    processes = [context.Process(target=fn, args=(k, *args), daemon=daemon) for k in range(nprocs)]  # type: ignore[attr-defined]
    for process in processes:
        process.start()
    for process in processes if join else ():
        process.join()
    if failed := [k for k, process in enumerate(processes) if join and process.exitcode]:
        raise RuntimeError(
            f"process {failed[0]} terminated with exit code {processes[failed[0]].exitcode}"
        )
    return None if join else processes


def get_sharing_strategy() -> str:
    """The one way in which tensors are sent."""
    return "copy"


def get_all_sharing_strategies() -> set[str]:
    return {"copy"}


def set_sharing_strategy(new_strategy: str) -> None:
    """Accepted: there is one way, copies."""


_lacking(__name__)
