"""The first call of a compiled step: tracing, compiling, running, each time in a fresh process.

What is made before the call (the network, its parameters, the compiled function that has not run
yet) and the import of the library do not count. wengert's cache on the disk begins empty; JAX keeps
none unless it is asked to, and here it is not. Each process has one core: JAX compiles on all that
it finds, whatever it is told about threads.
"""

import os
import statistics
import sys
import tempfile
import time

from benchmarks import gpt, mlp
from benchmarks.peers import in_a_fresh_process, load
from benchmarks.report import Report, Row
from benchmarks.timing import Target

SECTION = "First calls, each in a fresh process"
PEERS = ("wengert", "JAX")
PROGRAMS = {"MLP": mlp.compiled_case, "GPT": gpt.gpt_case}
NAMES = {"MLP": f"{mlp.SMALL_1}, SGD", "GPT": gpt.NAME}


def measure(programs, report: Report, targets: tuple[Target, ...]) -> None:
    """Add a row for each program; the peers take turns."""
    peers = [peer for peer in PEERS if peer in report.peers]
    if not (programs and peers):
        return
    print("measuring first calls ...", flush=True)
    for program in programs:
        seconds: dict[str, list[float]] = {peer: [] for peer in peers}
        for _ in range(1 if report.quick else 5):
            for peer in peers:
                with tempfile.TemporaryDirectory() as empty:
                    environment = {"WENGERT_CACHE": empty, "JAX_ENABLE_COMPILATION_CACHE": "0"}
                    output = in_a_fresh_process("first_call", peer, program, env=environment)
                seconds[peer].append(float(output))
        report.rows.append(
            Row(
                SECTION,
                NAMES[program],
                unit="s",
                medians={peer: statistics.median(times) for peer, times in seconds.items()},
                samples=seconds,
                targets=targets,
            )
        )


def seconds_of_first_call(peer: str, program: str) -> float:
    """Call it in a fresh process."""
    modules, missing = load([peer])
    assert not missing, missing
    work = PROGRAMS[program](modules, SECTION, targets=()).entrants[peer]()
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":  # started by `measure`, whose process has set the number of threads
    if hasattr(os, "sched_setaffinity"):  # on Linux
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print(seconds_of_first_call(*sys.argv[1:]))
