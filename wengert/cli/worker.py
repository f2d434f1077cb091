"""One process of `wengert run`: sets the variables that torchrun sets, and runs the script."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from pathlib import Path

from wengert.cli.program import ENDED, run

SOURCES = {
    "RANK": ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"),
    "WORLD_SIZE": ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"),
    "LOCAL_RANK": ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"),
    "LOCAL_WORLD_SIZE": ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"),
    "GROUP_RANK": ("OMPI_COMM_WORLD_NODE_RANK", "SLURM_NODEID"),
}
"""For each variable of torchrun's, what Open MPI, MPICH and SLURM call it."""
OTHERWISE = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500", "OMP_NUM_THREADS": "1"}
"""What scripts ask for although MPI needs none of it, and a thread for each process, as there."""


def variables(environment: dict[str, str]) -> dict[str, str]:
    """What to add to the variables that MPI's launcher has set.

    >>> found = variables({"PMI_RANK": "1", "PMI_SIZE": "4"})
    >>> found["RANK"], found["WORLD_SIZE"], found["MASTER_ADDR"]
    ('1', '4', '127.0.0.1')
    """
    added = {k: v for k, v in OTHERWISE.items() if k not in environment}
    for name, sources in SOURCES.items():
        value = next((environment[s] for s in sources if s in environment), None)
        if value is not None:
            added[name] = value
    return added


def main(words: list[str]) -> None:
    os.environ.update(variables(dict(os.environ)))
    try:
        run(words)
    except SystemExit as end:
        if not outlives():
            if not end.code:
                note_end()
            raise
        leave(status(end))
    if outlives():
        leave(0)
    note_end()


def note_end() -> None:
    """Tell the launcher that a process has ended well."""
    if folder := os.environ.get(ENDED):
        Path(folder, os.environ["RANK"]).touch()


def status(end: SystemExit) -> int:
    """The exit status of a script that ends so, which prints what is no number, as Python does.

    >>> status(SystemExit(3)), status(SystemExit())
    (3, 0)
    """
    if isinstance(end.code, str):
        print(end.code, file=sys.stderr)
    return end.code if isinstance(end.code, int) else int(end.code is not None)


def outlives() -> bool:
    """Whether this process works with others, and goes on when those die."""
    mpi = sys.modules.get("wengert.distributed.mpi")
    return mpi is not None and mpi.outlives()


def leave(status: int) -> None:
    """End as Python does, but for MPI's end: that waits for all ranks, at times for dead ones."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    if status == 0:
        note_end()
    sys.stdout.flush()
    sys.stderr.flush()
    sys.modules["wengert.distributed.mpi"].part()
    os._exit(status)


if __name__ == "__main__":
    main(sys.argv[1:])
