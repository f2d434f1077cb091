"""Training of which ranks die: for threads, and as a program for `wengert run`.

wengert run --nproc 4 --min 1 -m tests.distributed.surviving FOLDER
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import wengert as wg
from tests.distributed.training import network
from wengert import distributed as dist
from wengert.distributed import elastic
from wengert.distributed.optim import ZeroRedundancyOptimizer
from wengert.nn.parallel import DistributedDataParallel as DDP
from wengert.serialization import sharded

PHASES = ("before", "in a bucket", "after", "in a commit", "in a checkpoint")
"""Where in a step a rank may die."""
STEPS = 6


def share(step: int, rank: int, size: int) -> tuple[Any, Any]:
    """A rank's part of the data of a step: sixty rows, divided among those that are there."""
    r = np.random.default_rng(step)
    x, y = (r.standard_normal((60, n)).astype(np.float32) for n in (3, 2))
    return tuple(wg.from_numpy(a[rank::size].copy()) for a in (x, y))


def alone() -> list[Any]:
    """The parameters after training on one rank: as after training on any number of them."""
    net = network()
    optimizer = wg.optim.Adam(net.parameters(), lr=0.01)
    for k in range(STEPS):
        x, y = share(k, 0, 1)
        optimizer.zero_grad()
        ((net(x) - y) ** 2).mean().backward()
        optimizer.step()
    return [p.detach().numpy() for p in net.parameters()]


def train(
    die: Callable[[], Any],
    phase: str,
    at: int,
    who: int,
    folder: Path | None = None,
    compiled: bool = False,
) -> tuple[int, list[Any]]:
    """Train until the end; how many ranks are left, and their parameters."""
    size = dist.get_world_size()
    net = DDP(network(), bucket_cap_mb=5e-5)
    make: Any = wg.optim.Adam if compiled else Divided
    optimizer = make(net.parameters(), lr=0.01)
    state = elastic.State(net=net, optimizer=optimizer, watched=Watched())
    doomed = dist.get_rank() == who

    def here(now: str) -> None:
        if doomed and now == phase and state.step == at and dist.get_world_size() == size:
            die()

    state.watched.told, send = lambda: here("in a commit"), net._reducer[0].send
    net._reducer[0].send = lambda bucket: (send(bucket), here("in a bucket"))

    def update(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    update = wg.compile(update) if compiled else update

    def step(state: Any) -> None:
        here("before")
        update(*share(state.step, dist.get_rank(), dist.get_world_size()))
        here("after")

    dying.here = here
    elastic.run(step, state, steps=STEPS, folder=folder, save_every=2)
    return dist.get_world_size(), [p.detach().numpy() for p in net.parameters()]


def Divided(params: Any, lr: float) -> Any:
    return ZeroRedundancyOptimizer(params, wg.optim.Adam, lr=lr)


class Watched:
    """A part of a state, which each commit and each checkpoint asks for its own."""

    def __init__(self) -> None:
        self.told: Callable[[], Any] = lambda: None

    def state_dict(self) -> dict[str, Any]:
        self.told()
        return {}

    def load_state_dict(self, state: Any) -> None:
        pass


dying = threading.local()


def torn(state: Any, path: Path, save: Callable[..., Any] = sharded.save_file) -> None:
    """What writes a checkpoint's file, for ranks that may die when half of it is written."""
    path.write_bytes(b"half")
    dying.here("in a checkpoint")
    save(state, path)


def check(found: tuple[int, list[Any]], size: int) -> None:
    assert found[0] == size
    for mine, expected in zip(found[1], alone(), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-4, atol=1e-6)


def main(folder: str) -> None:
    """Lose a rank in one phase after the other, until one is left."""
    dist.init_process_group(timeout=20)
    sharded.save_file = torn  # type: ignore[assignment]
    die = lambda: os.kill(os.getpid(), signal.SIGKILL)
    for phase in ("in a bucket", "in a commit", "in a checkpoint"):
        size = dist.get_world_size()
        where = Path(folder) / phase if phase == "in a checkpoint" else None
        check(train(die, phase, 4, 1, where), size - 1)
        if dist.get_rank() == 0:
            print("trained to the end, lost one", phase, flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
