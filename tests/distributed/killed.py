"""Training of which a rank is killed by another process, some time after it has come to a phase.

`surviving.py` loses ranks where a phase begins; here they die wherever they are by then, in MPI's
calls and in machine code too.

    wengert run --nproc 3 --min 1 -m tests.distributed.killed FOLDER PHASE STEP RANK SECONDS
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.distributed import surviving
from wengert import distributed as dist
from wengert.serialization import sharded

STARTING = "starting"
PHASES = (STARTING, *surviving.PHASES)
LONGEST = 0.03
"""Seconds in which all steps are done; starting takes a second."""
TIMEOUT = 10


class Killer:
    """Kills this process once, from outside, so many seconds after it is told."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.told = False

    def __call__(self) -> None:
        if not self.told:
            self.told = True
            words = f"sleep {self.seconds}; kill -{signal.SIGKILL.value} {os.getpid()}"
            nowhere = subprocess.DEVNULL
            subprocess.Popen(["sh", "-c", words], stdout=nowhere, stderr=nowhere)

    def await_end(self) -> None:
        """A process that is through before it is killed waits: its number may become another's."""
        if self.told:
            time.sleep(self.seconds + TIMEOUT)


def announced(state: Any, path: Path) -> None:
    """What writes a checkpoint's file."""
    surviving.dying.here("in a checkpoint")
    WRITE(state, path)


WRITE = sharded.save_file


def main(folder: str, phase: str, at: str, who: str, seconds: str) -> None:
    killer = Killer(float(seconds))
    rank = int(os.environ["RANK"])
    doomed = rank == int(who) and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"
    if doomed and phase == STARTING:
        killer()
    dist.init_process_group(timeout=TIMEOUT)
    sharded.save_file = announced  # type: ignore[assignment]
    die = killer if doomed else lambda: None
    size, found = surviving.train(die, phase, int(at), int(who), Path(folder))
    surviving.check((size, found), size)
    killer.await_end()
    print("trained to the end:", rank, flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
