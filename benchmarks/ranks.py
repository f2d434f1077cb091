"""Several processes of one machine: sums beside mpi4py's, training beside one process and PyTorch.

Each line is measured in processes of its own, which `mpirun` starts and which print their times, in
turns: a machine that others use drifts. Beside the training step on two ranks stand that of one
process, and that of two which have nothing to do with one another: no exchange can be quicker.
"""

import importlib
import itertools
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

from benchmarks.peers import load
from benchmarks.report import OURS, Report, Row
from benchmarks.running import chosen
from benchmarks.timing import Target

PEERS = ("wengert", "PyTorch")
SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
WIDTHS, BATCH = (784, 512, 512, 10), 128
FITS = 10_000
LEGEND = (
    "alone: the same step on one process; apart: on two that do not exchange anything; work: half "
    "of what two workers computed."
)


def run(peers: Sequence[str], quick: bool, only: Sequence[str]) -> Report:
    found, missing = load(peers)
    report = Report("ranks", [p for p in peers if p in found], missing, quick, LEGEND)
    for section, name, measure in LINES:
        if chosen(section, name, only):
            with report.attempt(f"{section}: {name}"):
                print(f"timing: {section}: {name} ...", flush=True)
                measure(report, section, name)
    return report


def processes(count: int, *words: str) -> dict[str, list[float]]:
    """What the first of so many processes prints; one is started by itself, without MPI."""
    from wengert.cli.run import command

    program = [sys.executable, "-m", "benchmarks.ranks", *words]
    done = subprocess.run(
        command(count, program) if count > 1 else program,
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
    )
    return json.loads(done.stdout.splitlines()[-1])


def in_turns(report: Report, programs: dict[str, tuple[int, *tuple[str, ...]]]) -> dict:
    """Samples of each program: how many processes, and their words."""
    samples: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(1 if report.quick else 5):
        for name, words in programs.items():
            samples[name] += processes(*words)["seconds"]
    return samples


def row(section: str, name: str, samples: dict, *targets: Target, size: float | None = None) -> Row:
    medians = {peer: statistics.median(times) for peer, times in samples.items()}
    return Row(section, name, "s", medians, samples, targets, size=size)


# ---- lines of the table -------------------------------------------------------------------------


def sums(report: Report, section: str, name: str) -> None:
    for size in SIZES:
        samples = processes(2, "sums", str(size), str(report.quick))
        title = f"{size // 1000:,} kB"
        report.rows.append(row(section, title, samples, Target("mpi4py", 1.05), size=float(size)))


def training(report: Report, section: str, name: str) -> None:
    kind = name.split()[0]
    programs = {
        OURS: (2, "training", "wengert", "together", kind),
        "alone": (1, "training", "wengert", "apart", kind),
        "apart": (2, "training", "wengert", "apart", kind),
    }
    if "PyTorch" in report.peers:
        programs["PyTorch"] = (2, "training", "torch", "together", "eager")
    targets = Target("alone", 2 / 1.7), Target("PyTorch", 1.0)
    report.rows.append(row(section, name, in_turns(report, programs), *targets))


def one_rank(report: Report, section: str, name: str) -> None:
    programs = {
        OURS: (1, "training", "wengert", "together", "eager"),
        "alone": (1, "training", "wengert", "apart", "eager"),
    }
    report.rows.append(row(section, name, in_turns(report, programs), Target("alone", 1.03)))


def study(report: Report, section: str, name: str) -> None:
    samples = processes(1, "study", str(report.quick))
    report.rows.append(row(section, name, samples, Target("work", 1 / 0.9)))


def model(report: Report, section: str, name: str) -> None:
    from wengert.distributed.model import Network

    times = {ranks: processes(ranks, "model")["times"] for ranks in (2, 3, 4)}
    known = [time for ranks in (2, 3) for time in times[ranks][:4]]
    network = Network.fitted(known, "shared", cores=os.cpu_count())
    for ranks, all_of_it in times.items():
        off = {n: network.all_reduce(n, ranks, "shared").seconds / t - 1 for n, _, t in all_of_it}
        worst = max(off, key=lambda size: abs(off[size]))
        report.notes.append(
            f"wengert.distributed.model, {ranks} ranks: times of 1 kB to 30 MB are predicted from "
            f"those of 1 kB to 10 MB on 2 and 3, and off by {off[worst]:+.0%} at most "
            f"({worst / 1e3:,.0f} kB)."
        )


TOGETHER = "784-512-512-10 on 2 processes, batch 128 each"
LINES: tuple[tuple[str, str, Callable[[Report, str, str], None]], ...] = (
    ("all_reduce of 2 processes", "all sizes", sums),
    (TOGETHER, "eager", training),
    (TOGETHER, "compiled", training),
    (TOGETHER, "one rank, eager", one_rank),
    ("10,000 fits on 2 workers", "that are there already", study),
    ("the model of all_reduce", "2, 3 and 4 ranks", model),
)


# ---- what the processes do ----------------------------------------------------------------------


def timed_sums(size: str, quick: str) -> dict[str, list[float]]:
    """Of both, in turns; the slower rank counts."""
    import numpy as np

    import wengert as wg
    from wengert import distributed as dist

    dist.init_process_group("mpi", timeout=60)
    from mpi4py import MPI

    comm, count = MPI.COMM_WORLD, int(size) // 4
    repeats = max(2, min(2000, int(2e7 / int(size))))
    tensor, array = wg.from_numpy(np.zeros(count, np.float32)), np.zeros(count, np.float32)

    def ours():
        for _ in itertools.repeat(None, repeats):
            dist.all_reduce(tensor)

    def theirs():
        for _ in itertools.repeat(None, repeats):
            comm.Allreduce(MPI.IN_PLACE, array)

    samples: dict[str, list[float]] = {OURS: [], "mpi4py": []}
    for _ in range(5 if quick == "True" else 21):
        for name, sum_all in ((OURS, ours), ("mpi4py", theirs)):
            comm.Barrier()
            start = time.perf_counter()
            sum_all()
            seconds = (time.perf_counter() - start) / repeats
            samples[name].append(comm.allreduce(seconds, MPI.MAX))
    return samples if comm.rank == 0 else {}


def timed_training(library: str, how: str, kind: str) -> dict[str, list[float]]:
    """Windows of ten steps, after which all meet."""
    import numpy as np

    lib = importlib.import_module(library)
    dist = importlib.import_module(f"{library}.distributed")
    parallel = importlib.import_module(f"{library}.nn.parallel")
    size = int(os.environ.get("OMPI_COMM_WORLD_SIZE", "1"))
    rank = int(os.environ.get("OMPI_COMM_WORLD_RANK", "0"))
    if library == "torch":
        lib.set_num_threads(1)
        there = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29533", "GLOO_SOCKET_IFNAME": "lo"}
        os.environ.update(there, RANK=str(rank), WORLD_SIZE=str(size))
    if size > 1 or how == "together":
        dist.init_process_group("gloo" if library == "torch" else "mpi")
    nn = lib.nn
    layers = [
        layer for a, b in itertools.pairwise(WIDTHS) for layer in (nn.Linear(a, b), nn.ReLU())
    ]
    net = nn.Sequential(*layers[:-1])
    net = parallel.DistributedDataParallel(net) if how == "together" else net
    optimizer, loss_of = lib.optim.SGD(net.parameters(), lr=0.01), nn.CrossEntropyLoss()

    def step(x, y):
        optimizer.zero_grad()
        loss = loss_of(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    step = lib.compile(step) if kind == "compiled" else step
    rng = np.random.default_rng(rank)
    batches = [
        (
            lib.from_numpy(rng.standard_normal((BATCH, WIDTHS[0])).astype(np.float32)),
            lib.from_numpy(rng.integers(0, WIDTHS[-1], BATCH)),
        )
        for _ in range(10)
    ]
    samples: list[float] = []
    for _ in range(3 + 30):
        if size > 1:
            dist.barrier()
        start = time.perf_counter()
        for batch in batches:
            step(*batch)
        if size > 1:
            dist.barrier()
        samples.append((time.perf_counter() - start) / len(batches))
    if size > 1 or how == "together":
        dist.destroy_process_group()
    return {"seconds": samples[3:]} if rank == 0 else {}


def timed_study(quick: str) -> dict[str, list[float]]:
    """Beside the time of a study half of what its workers' calls took."""
    from concurrent.futures import ProcessPoolExecutor

    import examples.study as example
    import wengert as wg
    from wengert.studies import study as studies

    work: list[float] = []
    result_of = studies._result

    def noted(future, batch):
        *found, seconds = result_of(future, batch)
        work.append(seconds)
        return *found, seconds

    studies._result = noted
    rows = example.experiments(FITS // len(example.ERRORS))
    samples: dict[str, list[float]] = {OURS: [], "work": []}
    with ProcessPoolExecutor(2) as workers:
        for _ in range(2 + (3 if quick == "True" else 15)):
            work.clear()
            start = time.perf_counter()
            wg.studies.map(example.fit, rows, executor=workers, progress=False)
            samples[OURS].append(time.perf_counter() - start)
            samples["work"].append(sum(work) / 2)
    return {name: times[2:] for name, times in samples.items()}


def timed_model() -> dict[str, list[tuple[float, int, float]]]:
    """All-reduces of several sizes: the first four are what the others are predicted from."""
    from wengert import distributed as dist
    from wengert.distributed.model import measured

    dist.init_process_group("mpi", timeout=60)
    sizes = [10**3, 10**5, 10**6, 10**7, 10**4, 3 * 10**5, 3 * 10**6, 3 * 10**7]
    times = measured(sizes, repeats=50)
    return {"times": times} if dist.get_rank() == 0 else {}


TASKS = {
    "sums": timed_sums,
    "training": timed_training,
    "study": timed_study,
    "model": timed_model,
}

if __name__ == "__main__":  # started by `processes`, whose process has set the number of threads
    if printed := TASKS[sys.argv[1]](*sys.argv[2:]):
        print(json.dumps(printed), flush=True)
