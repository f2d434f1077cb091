"""The first calls of a compiled step: tracing, compiling, running, each time in a fresh process.

What is made before the call (the network, its parameters, the compiled function that has not run
yet) and the import of the library do not count. wengert's cache on the disk begins empty; JAX keeps
none unless it is asked to, and here it is not. Each process has one core: JAX compiles on all that
it finds, whatever it is told about threads.

Of wengert there are two more: the second call, which makes the way from Python to the machine code,
and the first call of the next process, which finds all machine code on the disk.
"""

import os
import statistics
import sys
import tempfile
import time
from functools import partial

from benchmarks import gpt, mlp, resnet
from benchmarks.peers import in_a_fresh_process, load
from benchmarks.report import OURS, Report, Row
from benchmarks.timing import Target

SECTION = "First calls, each in a fresh process"
PEERS = ("wengert", "JAX")
DEEP = mlp.Problem((16, *[64] * 63, 10), batch=32, loss="cross_entropy")
PROGRAMS = {
    "MLP": mlp.compiled_case,
    "deep MLP": partial(mlp.compiled_case, problem=DEEP),
    "ResNet": resnet.resnet_case,
    "GPT": gpt.gpt_case,
}
NAMES = {
    "MLP": f"{mlp.SMALL_1}, SGD",
    "deep MLP": f"MLP: 64 layers of 64, batch {DEEP.batch}, SGD",
    "ResNet": resnet.NAME,
    "GPT": gpt.NAME,
}
LIMITS = {"second": 0.150, "next": 0.050}
"""Seconds that the other two calls of the small step may take."""
WORDS = {"second": "the second call", "next": "the first call of the next process"}


def measure(programs, report: Report, targets: tuple[Target, ...]) -> None:
    """Add rows for each program; the peers take turns."""
    peers = [peer for peer in PEERS if peer in report.peers]
    if not (programs and peers):
        return
    print("measuring first calls ...", flush=True)
    for program in programs:
        firsts: dict[str, list[float]] = {peer: [] for peer in peers}
        others: dict[str, list[float]] = {kind: [] for kind in LIMITS}
        for _ in range(1 if report.quick else 5):
            for peer in peers:
                with tempfile.TemporaryDirectory() as empty:
                    first, second = _fresh(peer, program, empty)
                    firsts[peer].append(first)
                    if peer == OURS:
                        others["second"].append(second)
                        others["next"].append(_fresh(peer, program, empty)[0])
        report.rows.append(_row(NAMES[program], firsts, targets))
        for kind, times in others.items() if OURS in peers else ():
            own = program == "MLP"
            limit = {"limit": [LIMITS[kind]]} if own else {}
            name = f"{WORDS[kind]}: {NAMES[program]}"
            row = _row(name, {OURS: times, **limit}, (Target("limit", 1.0),) if own else ())
            report.rows.append(row)


def _row(name: str, seconds: dict[str, list[float]], targets: tuple[Target, ...]) -> Row:
    medians = {peer: statistics.median(times) for peer, times in seconds.items()}
    return Row(SECTION, name, unit="s", medians=medians, samples=seconds, targets=targets)


def _fresh(peer: str, program: str, cache: str) -> list[float]:
    environment = {"WENGERT_CACHE": cache, "JAX_ENABLE_COMPILATION_CACHE": "0"}
    output = in_a_fresh_process("first_call", peer, program, env=environment)
    return [float(word) for word in output.split()]


def seconds_of_calls(peer: str, program: str) -> tuple[float, float]:
    """The first and the second call, in a fresh process."""
    modules, missing = load([peer])
    assert not missing, missing
    work = PROGRAMS[program](modules, SECTION, targets=()).entrants[peer]()
    start = time.perf_counter()
    work()
    middle = time.perf_counter()
    work()
    return middle - start, time.perf_counter() - middle


if __name__ == "__main__":  # started by `measure`, whose process has set the number of threads
    if hasattr(os, "sched_setaffinity"):  # on Linux
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print(*seconds_of_calls(*sys.argv[1:]))
