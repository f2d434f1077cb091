"""The first call of a problem's function, and its peak memory, in a process of its own.

`python -m benchmarks.gradbench.fresh PEER PROBLEM WORKLOAD FUNCTION [DATA]` prints the seconds of
the first call and the bytes that a second call adds at its peak.
"""

import gc
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.memory import LARGE_ARRAYS, available, status_bytes
from benchmarks.peers import in_a_fresh_process


def measured(peer: str, problem: str, workload: str, function: str, data: Path | None):
    """Seconds and bytes; no bytes where the system does not count them."""
    words = [peer, problem, workload, function, *([str(data)] if data else [])]
    with tempfile.TemporaryDirectory() as empty:
        environment = {"WENGERT_CACHE": empty, "JAX_ENABLE_COMPILATION_CACHE": "0", **LARGE_ARRAYS}
        printed = in_a_fresh_process("gradbench.fresh", *words, env=environment)
    seconds, peak = printed.split()
    return float(seconds), int(peak)


def run(peer: str, problem: str, workload: str, function: str, data: str | None = None) -> None:
    from benchmarks.gradbench.table import call, found

    work = call(peer, problem, function, found(problem, workload, Path(data) if data else None))
    start = time.perf_counter()
    work()
    seconds = time.perf_counter() - start
    work()  # links what is called from now on
    gc.collect()
    if not available():
        print(seconds, 0)
        return
    before = status_bytes("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak is now the present size
    kept = work()
    print(seconds, status_bytes("VmHWM") - before)
    del kept


if __name__ == "__main__":  # started by `measured`, whose process has set the number of threads
    run(*sys.argv[1:])
