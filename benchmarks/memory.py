"""The peak memory of one forward and backward pass, as the operating system sees it.

Each peer runs in a process of its own. A first pass loads kernels and lets libraries allocate their
workspace; its gradients are then freed. The number is how far a second pass lifts the process's
resident memory above where it stood, at the highest. The system's count is used because it is one
ruler for all: tracemalloc sees NumPy's arrays but not PyTorch's, PyTorch's profiler sees only its
own.

Large arrays get pages of their own, which go back to the system when they are freed (see
`LARGE_ARRAYS`), so resident memory follows what is alive and not the history of the heap.
"""

import gc
import re
import statistics
import sys
from pathlib import Path

from benchmarks.mlp import Problem, gradient_pass
from benchmarks.peers import in_a_fresh_process, load
from benchmarks.timing import Target

PROBLEM = Problem((1024,) * 9, batch=512, loss="mse")
NAME = "8 layers of 1024, batch 512"
TARGETS = (Target("PyTorch", 1.1),)

# glibc otherwise raises this threshold as it goes, and keeps freed arrays on its heap.
LARGE_ARRAYS = {"MALLOC_MMAP_THRESHOLD_": "65536"}


def available() -> bool:
    """Whether this system can set a process's peak back to its present size: Linux can."""
    return Path("/proc/self/clear_refs").exists()


def peaks(peers, processes: int) -> dict[str, list[int]]:
    """Bytes for each peer, one number for each process; the peers take turns."""
    bytes_by_peer = {peer: [] for peer in peers}
    for _ in range(processes):
        for peer in peers:
            output = in_a_fresh_process("memory", peer, env=LARGE_ARRAYS)
            bytes_by_peer[peer].append(int(output))
    return bytes_by_peer


def median(measured: list[int]) -> float:
    return statistics.median(measured)


def peak_of_one_pass(peer: str) -> int:
    """Bytes that the second pass adds at its peak. Call it in a fresh process."""
    modules, missing = load([peer])
    assert not missing, missing
    gradient_pass(peer, modules[peer], PROBLEM)()  # the first pass, dropped at once
    gc.collect()  # cycles left over from it must not be freed in the middle of the measurement
    run = gradient_pass(peer, modules[peer], PROBLEM)
    before = status_bytes("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak is now the present size
    run()
    return status_bytes("VmHWM") - before


def status_bytes(field: str) -> int:
    """A line such as `VmRSS:   25192 kB` of this process's status, in bytes."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(rf"^{field}:\s+(\d+) kB", status, re.MULTILINE)[1])


if __name__ == "__main__":  # started by `peaks`, whose process has set the number of threads
    print(peak_of_one_pass(sys.argv[1]))
