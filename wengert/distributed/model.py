"""How long a training step takes on many ranks, from two numbers that are measured on a few.

A message of n bytes takes a + n/b: a the latency, b the bandwidth (Hockney, 1994). An algorithm of
all-reduce sends so many messages after one another, and so many times its bytes: `ALGORITHMS`
states both, and all else follows. The first three are those of MPICH (Thakur, Rabenseifner and
Gropp, 2005), which also chooses between them by size; the last is what few ranks of one machine do.

>>> network = Network(latency=3e-6, bandwidth=45e9)
>>> print(network.all_reduce(0.5e9, 64, "rings"))
22.3 ms by rings on 64 ranks, 0.4 ms of it latency
>>> print(network.all_reduce(0.5e9, 4096, "rings"))
46.8 ms by rings on 4096 ranks, 24.6 ms of it latency
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.distributed.collectives import ReduceOp
from wengert.distributed.groups import get_world_size
from wengert.distributed.near import SLOT
from wengert.distributed.tensors import all_reduce, barrier
from wengert.tensor import wrap

BUCKET = 25 * 2**20
"""Bytes of gradients that are sent together: `bucket_cap_mb` of DistributedDataParallel."""


# ---- what an all-reduce costs -------------------------------------------------------------------


@dataclass(frozen=True)
class Algorithm:
    """What p ranks send: messages after one another, and bytes, in those of what is reduced."""

    messages: Callable[[int], float]
    volume: Callable[[int], float]  # what p ranks send, in times of what is reduced
    cache: float = math.inf
    """Bytes of what is reduced that are moved at the full bandwidth: more leave the caches."""
    turns: Callable[[float], float] = lambda size: 0.0
    """How often a rank waits for its core, where others of the same machine have it."""


def _power(p: int) -> int:
    """The largest power of two among p ranks."""
    return 1 << (p.bit_length() - 1)


def _rest(p: int) -> int:
    """Whether some ranks are beside a power of two: they send all to a partner, and get all."""
    return int(p != _power(p))


ALGORITHMS = {
    # Each rank sends to the next one: 1/p of the bytes p - 1 times to add, p - 1 times to share.
    "rings": Algorithm(lambda p: 2 * (p - 1), lambda p: 2 * (p - 1) / p),
    # Pairs exchange halves, then quarters, ..., and back: as many bytes, and few messages.
    "halving": Algorithm(
        lambda p: 2 * math.log2(_power(p)) + 2 * _rest(p),
        lambda p: 2 * (_power(p) - 1) / _power(p) + 2 * _rest(p),
    ),
    # Pairs exchange everything: half the messages, for what is small.
    "doubling": Algorithm(
        lambda p: math.log2(_power(p)) + 2 * _rest(p), lambda p: math.log2(_power(p)) + 2 * _rest(p)
    ),
    # Ranks of one machine (`near.py`) read and write one block to bring it, and go p - 1 times
    # through three to combine all. Where they take turns, it is some ten times until all have begun
    # and ended, and for the first parts; from then on those of others are there already.
    "shared": Algorithm(
        lambda p: p - 1,
        lambda p: (3 * p - 1) * int(p > 1),
        cache=2e6,
        turns=lambda n: 10 + 2 * min(math.ceil(n / SLOT), 3),
    ),
}


@dataclass(frozen=True)
class Reduction:
    """The predicted time of one all-reduce, in seconds."""

    algorithm: str
    ranks: int
    latency: float  # seconds that messages take to begin
    transfer: float  # seconds in which bytes move
    turns: float = 0.0  # seconds in which ranks wait for a core that others have

    @property
    def seconds(self) -> float:
        return self.latency + self.transfer + self.turns

    def __str__(self) -> str:
        return (
            f"{1e3 * self.seconds:.1f} ms by {self.algorithm} on {self.ranks} ranks, "
            f"{1e3 * self.latency:.1f} ms of it latency"
        )


@dataclass(frozen=True)
class Network:
    """What connects ranks: the seconds that a message takes to begin, and bytes per second then.

    Of memory that is shared, `beyond` is the bandwidth for what is beyond the caches. Ranks that
    share `cores`, being more than these, compute one after the other, find nothing of theirs in the
    caches, and wait `turn` seconds whenever one takes a core from another. None says that each has
    one of its own.
    """

    latency: float  # seconds that a message takes to begin
    bandwidth: float
    beyond: float | None = None
    cores: int | None = None
    turn: float = 0.0

    def __post_init__(self) -> None:
        if not (self.latency >= 0 and self.bandwidth > 0):
            raise ValueError(
                f"a network has a latency of at least 0 seconds and a bandwidth above 0 bytes per "
                f"second, not {self.latency} and {self.bandwidth}"
            )

    def rounds(self, ranks: int) -> int:
        """How many ranks have to share a core, at most."""
        return 1 if self.cores is None else max(1, math.ceil(ranks / self.cores))

    def all_reduce(self, size: float, ranks: int, algorithm: str | None = None) -> Reduction:
        """The time of an all-reduce of `size` bytes; without an algorithm, of the fastest one.

            messages(p) a + volume(p) n / b

        (of memory that is shared, the first 2 MB of n at b, and what is beyond at b'), as often as
        ranks share a core; then all of it is at b', and they take turns. ValueError
        for fewer than one rank, or an algorithm that is not in `ALGORITHMS`.
        """
        if algorithm is None:
            predicted = [self.all_reduce(size, ranks, name) for name in ALGORITHMS]
            return min(predicted, key=lambda one: one.seconds)
        if algorithm not in ALGORITHMS:
            raise ValueError(f"algorithm {algorithm!r} is none of {', '.join(ALGORITHMS)}")
        if ranks < 1 or size < 0:
            raise ValueError(f"{size} bytes on {ranks} ranks: there is at least one rank")
        messages, near, far, turns = self._amounts(size, ranks, ALGORITHMS[algorithm])
        transfer = near / self.bandwidth + far / (self.beyond or self.bandwidth)
        return Reduction(algorithm, ranks, messages * self.latency, transfer, turns * self.turn)

    def _amounts(self, size: float, ranks: int, cost: Algorithm) -> tuple[float, ...]:
        """What an all-reduce takes: messages, bytes within and beyond the caches, turns."""
        rounds, volume = self.rounds(ranks), cost.volume(ranks) * self.rounds(ranks)
        # Who had the core before has filled its caches.
        near, turns = (0.0, cost.turns(size)) if rounds > 1 else (min(size, cost.cache), 0.0)
        return rounds * cost.messages(ranks), volume * near, volume * (size - near), turns

    @classmethod
    def fitted(
        cls,
        times: Iterable[tuple[float, int, float]],
        algorithm: str = "rings",
        cores: int | None = None,
    ) -> Network:
        """The network whose predictions are nearest to measured (bytes, ranks, seconds).

        Least squares of relative errors, so that small messages count as much as large ones. How
        long a turn takes is told by times of more ranks than `cores` beside those of fewer.
        ValueError if the sizes do not tell latency from bandwidth.

        >>> true = Network(2e-5, 1e9)
        >>> sizes = [1e3, 1e5, 1e7]
        >>> times = [(n, 4, true.all_reduce(n, 4, "rings").seconds) for n in sizes]
        >>> found = Network.fitted(times)
        >>> round(found.latency, 9), round(found.bandwidth)
        (2e-05, 1000000000)
        """
        from scipy.optimize import nnls

        like, cost = cls(0.0, 1.0, cores=cores), ALGORITHMS[algorithm]
        rows = [[x / t for x in like._amounts(n, p, cost)] for n, p, t in times if p > 1]
        # In seconds per gigabyte: columns of one size leave nothing to rounding.
        A = np.array(rows).reshape(-1, 4) * [1e-6, 1e-9, 1e-9, 1e-6]
        told = [W for W in WAYS if np.linalg.matrix_rank(A @ W) == W.shape[1]]
        if not told:
            raise ValueError(
                "latency and bandwidth cannot be told apart: measure sizes that differ, on two or "
                "more ranks"
            )
        best, _ = nnls(A @ told[0], np.ones(len(A)))
        latency, near, far, turn = (told[0] @ best).tolist()
        beyond = 1e9 / max(far, 1e-9) if told[0].shape[1] > 2 else None
        return cls(1e-6 * latency, 1e9 / max(near, 1e-9), beyond, cores, 1e-6 * turn)


_LATENCY, _NEAR, _FAR, _TURN = np.eye(4)
WAYS = [
    np.transpose(columns)
    for columns in (
        [_LATENCY, _NEAR, _FAR, _TURN],
        [_LATENCY, _NEAR, _FAR],
        [_LATENCY, _NEAR + _FAR],
    )
]
"""What times may tell of a network, the most first: its figures by those that are fitted."""


def measured(
    sizes: Iterable[int] = (10**3, 10**5, 10**6, 10**7), group: Any = None, repeats: int = 10
) -> list[tuple[float, int, float]]:
    """(bytes, ranks, seconds) of all-reduces of each size, for `Network.fitted`: all ranks call it.

    All start together, and the slowest rank counts; of the repeats the fastest one, since what
    slows one down is not the network.
    """
    arrays = [wrap(np.zeros(max(1, size // 8))) for size in sizes]
    seconds = wrap(np.zeros((repeats, len(arrays))))
    for row in seconds._array:  # of all sizes in turns: a machine that others use drifts
        for k, x in enumerate(arrays):
            all_reduce(x, group=group)  # whose memory the one before has taken from the caches
            barrier(group)
            start = time.perf_counter()
            all_reduce(x, group=group)
            row[k] = time.perf_counter() - start
    all_reduce(seconds, ReduceOp.MAX, group)
    ranks, fastest = get_world_size(group), seconds._array.min(0, initial=np.inf)
    return [(x._array.nbytes, ranks, float(t)) for x, t in zip(arrays, fastest, strict=True)]


# ---- what a step takes --------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """One training step of data parallelism: what a rank computes, and sends.

    `compute` seconds of forward and backward pass, of which `backward` is the second's share;
    `gradients` bytes, in buckets of `bucket`, which are ready one after the other, evenly, during
    the backward pass.
    """

    compute: float
    gradients: float
    bucket: float = BUCKET
    backward: float = 2 / 3

    def on(self, network: Network, ranks: int, algorithm: str | None = None) -> StepTime:
        """The time of the step on so many ranks, each with a batch of its own.

        Each bucket is sent when it is ready and the one before it is through. With k buckets, each
        of which takes t, and the first of which is ready at r = compute (1 - backward (k - 1)/k),

            T = max(compute, r + (k - 1) t) + t

        that is, what is sent during the backward pass is hidden behind it, and the last bucket is
        not, nor is what is late.

        >>> step = Step(compute=0.3, gradients=0.5e9)
        >>> print(step.on(Network(3e-6, 45e9), 64))
        301.1 ms on 64 ranks, 0.4% of it waiting
        """
        count = max(1, math.ceil(self.gradients / self.bucket))
        one = network.all_reduce(self.gradients / count, ranks, algorithm)
        compute = self.compute * network.rounds(ranks)
        ready = compute * (1 - self.backward * (count - 1) / count)
        seconds = max(compute, ready + (count - 1) * one.seconds) + one.seconds
        return StepTime(ranks, seconds, compute, count * one.seconds)


@dataclass(frozen=True)
class StepTime:
    """A predicted step: its seconds, those of them that compute, and those that are sent."""

    ranks: int
    seconds: float
    compute: float
    sent: float

    @property
    def efficiency(self) -> float:
        """The samples per second of each rank, beside one rank alone."""
        return self.compute / self.seconds

    @property
    def hidden(self) -> float:
        """The share of what is sent that nobody waits for."""
        waited = self.seconds - self.compute
        return 1 - waited / self.sent if self.sent else 1.0

    def __str__(self) -> str:
        return (
            f"{1e3 * self.seconds:.1f} ms on {self.ranks} ranks, {1 - self.efficiency:.1%} of it "
            "waiting"
        )


RANKS = tuple(2**k for k in range(13))


def plot(network: Network, step: Step, ranks: Sequence[int] = RANKS) -> Any:
    """A figure: the all-reduce of all gradients, and the step's efficiency, over the ranks."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for name in ("rings", "halving"):
        times = [network.all_reduce(step.gradients, p, name) for p in ranks]
        left.plot(ranks, [1e3 * t.seconds for t in times], ".-", label=name)
        steps = [step.on(network, p, name).efficiency for p in ranks]
        right.plot(ranks, [100 * e for e in steps], ".-", label=name)
    transfer = [1e3 * network.all_reduce(step.gradients, p, "rings").transfer for p in ranks]
    left.plot(ranks, transfer, "--", color="0.6", label="without latency")
    left.set(xscale="log", xlabel="ranks", ylabel="all-reduce of all gradients, ms", ylim=(0, None))
    right.set(xscale="log", xlabel="ranks", ylabel="efficiency, %", ylim=(0, 105))
    for axes in (left, right):
        axes.set_xscale("log", base=2)
        axes.legend(fontsize="small")
    plt.close(figure)
    return figure
