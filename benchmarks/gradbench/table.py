"""The table: each problem at a few sizes, the peers in turns, after a check that they agree."""

import importlib
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gradbench import NAMES, fresh, named
from benchmarks.gradbench.problem import Workload
from benchmarks.report import OURS, Report, Row
from benchmarks.running import chosen
from benchmarks.timing import Target

LEGEND = (
    "C is objective and derivative by hand. A derivative's row has its own objective beside it; "
    "a peer that needs more than two seconds for one call does not enter larger sizes."
)
MODULES = {"PyTorch": "in_torch", "JAX": "in_jax", "C": "in_c"}
FIRST_CALLS = "First calls at the largest size, each in a fresh process"
PEAKS = "Peak memory of a call at the largest size"
TOLERANCE = 1e-10
TOO_SLOW = 2.0
TURN, ROUNDS, BUDGET = 0.005, 15, 2.0  # seconds of a turn, how many, seconds for all turns of a row
SHORT = 0.1  # seconds of a call that what others leave to do makes longer


def found(name: str, workload: str, data: Path | None) -> Workload:
    return next(w for w in named(name).workloads(data) if w.name == workload)


def sizes(name: str, data: Path | None, quick: bool) -> list[Workload]:
    """The smallest, a middle one and the largest that the table shows; quickly, the smallest."""
    workloads = list(named(name).workloads(data))
    workloads = workloads[: named(name).shown]
    places = {0} if quick else {0, len(workloads) // 2, len(workloads) - 1}
    return [workloads[i] for i in sorted(places) if workloads]


def call(peer: str, name: str, function: str, workload: Workload) -> Callable[[], Any]:
    """What a peer does for a row, ready to run, its arguments in arrays of its own."""
    of = named(name)
    arguments = of.arguments(workload.fields())
    if peer == OURS:
        f = of.functions[function]
        return lambda: f(*arguments)
    module = importlib.import_module(f"benchmarks.gradbench.{MODULES[peer]}")
    f = module.FUNCTIONS[name][function]
    given = module.given(name, arguments)
    return lambda: module.wait(f(*given))


def enters(peer: str, name: str, function: str) -> bool:
    if peer == OURS:
        return True
    module = importlib.import_module(f"benchmarks.gradbench.{MODULES[peer]}")
    return function in module.FUNCTIONS.get(name, {})


def run(peers, quick: bool, only, data: Path | None = None) -> Report:
    present, missing = _present(peers)
    report = Report("gradbench", list(peers), missing, quick, LEGEND)
    for name in NAMES:
        slow: set[tuple[str, str]] = set()
        sized = sizes(name, data, quick)
        for workload in sized:
            objective = None
            for function in named(name).functions:
                title = f"{workload.name} {function}".strip()
                if not chosen(name, title, only):
                    continue
                entrants = [
                    peer
                    for peer in present
                    if enters(peer, name, function) and (peer, function) not in slow
                ]
                print(f"timing: {name} {title} ...", flush=True)
                with report.attempt(f"{name} {title}"):
                    row = _row(name, title, function, workload, entrants, quick)
                    report.rows.append(row)
                    slow |= {(p, function) for p, took in row.medians.items() if took > TOO_SLOW}
                    row.size = _work(name, workload)
                    if function not in named(name).derivatives:
                        objective = row.medians.get(OURS)
                        continue
                    if objective:
                        row.medians["objective"] = objective
                    row.targets = (Target("C", _at_most(name, workload, data)),)
                    if workload is sized[-1]:
                        row.leads = function == named(name).derivatives[-1]
                        if not quick:
                            _fresh_rows(report, name, title, function, workload, row.medians, data)
    report.rows.sort(key=lambda row: (row.section in (FIRST_CALLS, PEAKS), row.section == PEAKS))
    return report


def _at_most(name: str, workload: Workload, data: Path | None) -> float:
    """Of C's time, which a derivative should take: there is less to gain at the smallest size."""
    smallest = next(iter(named(name).workloads(data)))
    return 1.0 if workload.name == smallest.name else 0.5


def _work(name: str, workload: Workload) -> int | None:
    work = named(name).work
    return None if work is None else work(**workload.fields())


def _present(peers) -> tuple[list[str], dict[str, str]]:
    present, missing = [], {}
    for peer in peers:
        try:
            if peer != OURS:
                module = importlib.import_module(f"benchmarks.gradbench.{MODULES[peer]}")
                getattr(module, "library", lambda: None)()
            present.append(peer)
        except ImportError as error:
            missing[peer] = str(error)
    return present, missing


def _row(name, title, function, workload, entrants, quick) -> Row:
    works = {peer: call(peer, name, function, workload) for peer in entrants}
    results = {peer: work() for peer, work in works.items()}
    check(f"{name} {title}", results)
    del results
    times = race(works, 3 if quick else ROUNDS, BUDGET / 2 if quick else BUDGET)
    medians = {peer: float(np.median(seconds)) for peer, seconds in times.items()}
    return Row(name, title, "s", medians, times, targets=())


def race(works: dict[str, Callable[[], Any]], rounds: int, budget: float) -> dict[str, list[float]]:
    """Seconds of one call, a number for each round; slow ones leave when their part of the budget
    is spent, so that others are timed as often as they can be.

    A turn begins with a call that is not counted, unless it is long. What others leave to do is no
    matter of whose turn it is: JAX frees its arrays for tens of milliseconds after its result is
    there. Nor is it what has left a cache that all of the machine's users share.
    """
    repetitions, short = {}, set()
    for name, work in works.items():
        work()
        took = _seconds(work, 1)
        repetitions[name] = max(1, int(TURN / took))
        short |= {name} if took < SHORT else set()
    times: dict[str, list[float]] = {name: [] for name in works}
    left, order = dict.fromkeys(works, budget / len(works)), list(works)
    shuffle = random.Random(0).shuffle
    for turn in range(rounds):
        shuffle(order)
        for name in order:
            if turn == 0 or left[name] > 0:
                start = time.perf_counter()
                if name in short:
                    works[name]()
                times[name].append(_seconds(works[name], repetitions[name]))
                left[name] -= time.perf_counter() - start
    return times


def _seconds(work: Callable[[], Any], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        work()
    return (time.perf_counter() - start) / count


def _fresh_rows(report, name, title, function, workload, medians, data) -> None:
    seconds, peaks = {}, {}
    for peer in report.peers:
        if peer in medians:
            first, peak = fresh.measured(peer, name, workload.name, function, data)
            peaks[peer] = peak
            if peer != "C":
                seconds[peer] = first
    title = f"{name} {title}"
    samples = {peer: [x] for peer, x in seconds.items()}
    report.rows.append(Row(FIRST_CALLS, title, "s", seconds, samples, ()))
    if any(peaks.values()):
        peaks = {peer: max(peak, 4096) for peer, peak in peaks.items()}
        samples = {peer: [x] for peer, x in peaks.items()}
        report.rows.append(Row(PEAKS, title, "B", peaks, samples, ()))


# ---- agreement -------------------------------------------------------------------------------


def check(title: str, results: dict[str, Any], tolerance: float = TOLERANCE) -> None:
    """AssertionError unless all have computed the same, each part to the tolerance of its size."""
    if not results:
        return
    (first, expected), *others = results.items()
    for name, result in others:
        for ours, theirs in zip(parts(expected), parts(result), strict=True):
            apart = np.max(np.abs(ours - theirs), initial=0) / max(1, np.abs(ours).max(initial=0))
            if not apart <= tolerance:
                raise AssertionError(f"{title}: {first} and {name} are {apart:.2g} apart")


def parts(result: Any) -> list[np.ndarray]:
    """The arrays of a result, those of an object by name (JAX sorts them)."""
    if isinstance(result, dict):
        return [array for _, part in sorted(result.items()) for array in parts(part)]
    if isinstance(result, tuple | list):
        return [array for part in result for array in parts(part)]
    if hasattr(result, "detach"):
        result = result.detach().numpy()
    return [np.asarray(result, float)]
