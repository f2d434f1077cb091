"""How times are taken: many short rounds, in each of which every peer has its turn.

A machine's speed drifts while a benchmark runs: its clock changes, its neighbours come and go.
Peers timed one after the other meet different machines; peers timed in turns of a few milliseconds
meet the same one. The median over the rounds forgets the turns that something interrupted.
"""

import itertools
import random
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

Work = Callable[[], object]  # one repetition of what is timed; returns something to check
Make = Callable[[], Work]  # builds the work afresh: parameters, optimizer state, inputs


@dataclass(frozen=True)
class Target:
    """wengert's time (or memory) is to be at most this many times the peer's."""

    peer: str
    at_most: float


@dataclass(frozen=True)
class Case:
    """One thing that several peers do, with what is expected of wengert.

    Yardsticks are timed beside the peers but compute something else, less: a bound on what any
    peer can reach. `size` is what the cost should be in proportion to, if it is plotted.
    """

    section: str
    name: str
    entrants: Mapping[str, Make]
    targets: tuple[Target, ...] = ()
    yardsticks: Mapping[str, Make] = field(default_factory=dict)
    size: float | None = None


@dataclass(frozen=True)
class Effort:
    """How long to measure."""

    rounds: int
    seconds_per_turn: float


FULL = Effort(rounds=41, seconds_per_turn=0.008)
QUICK = Effort(rounds=7, seconds_per_turn=0.002)


@dataclass
class Times:
    """Seconds for one repetition, one number for each round."""

    repetitions: int
    seconds: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def race(case: Case, effort: Effort) -> dict[str, Times]:
    """Time every entrant and yardstick of a case, in turns.

    Each turn builds its work afresh, outside the measured time. So all peers repeat the same steps
    from the same parameters, none trains itself into zeros or denormal numbers (which are slow),
    and none keeps an unlucky placement of its arrays for the whole run. The garbage collector stays
    on, as it does for users.
    """
    makers = {**case.entrants, **case.yardsticks}
    times = {
        name: Times(_repetitions(make(), effort.seconds_per_turn)) for name, make in makers.items()
    }
    # A new order each round: no peer always runs in the caches that one other peer left behind.
    shuffle = random.Random(0).shuffle
    order = list(makers)
    for _ in range(effort.rounds):
        shuffle(order)
        for name in order:
            work = makers[name]()
            work()  # first calls fill caches and create optimizer state
            times[name].seconds.append(_seconds(work, times[name].repetitions))
    return times


def check_agreement(case: Case, steps: int = 3, tolerance: float = 1e-4) -> None:
    """Raise an error unless all entrants compute the same numbers, at each of a few repetitions.

    The tolerance is relative, and wide enough for float32 sums taken in another order.
    """
    results = {}
    for name, make in case.entrants.items():
        work = make()
        results[name] = [_numbers(work()) for _ in range(steps)]
    if not results:
        return
    (first, expected), *others = results.items()
    for name, found in others:
        for step, (ours, theirs) in enumerate(zip(expected, found, strict=True)):
            largest = np.abs(ours).max(initial=0)
            if not np.allclose(ours, theirs, rtol=tolerance, atol=tolerance * largest):
                raise AssertionError(
                    f"{case.name}: {first} and {name} compute different numbers in repetition "
                    f"{step}, so their times cannot be compared.\n{first}: {ours}\n{name}: {theirs}"
                )


def _numbers(result):
    if result is None:
        return np.empty(0)
    if isinstance(result, tuple):
        return np.concatenate([_numbers(item).reshape(-1) for item in result])
    if hasattr(result, "detach"):  # a tensor of wengert or PyTorch
        return np.asarray(getattr(result.detach(), "resolve_conj", result.detach)().numpy())
    return np.asarray(getattr(result, "_value", result))  # autograd and JAX box arrays


def _repetitions(work: Work, seconds: float) -> int:
    """How many repetitions fill a turn: at least three, so that no single call rules it."""
    work()
    count = 1
    # A millisecond is enough for an estimate, and far above the clock's resolution.
    while (each := _seconds(work, count)) * count < 1e-3:
        count *= 2
    return max(3, round(seconds / each))


def _seconds(work: Work, count: int) -> float:
    """The mean time of one call. The empty loop costs each peer the same few nanoseconds."""
    start = time.perf_counter()
    for _ in itertools.repeat(None, count):
        work()
    return (time.perf_counter() - start) / count
