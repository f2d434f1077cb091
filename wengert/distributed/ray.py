"""Ranks that are actors of Ray, for clusters that have Ray and no MPI.

The hub is an actor too, which ranks find by its name. Blocks do not pass through it: each rank puts
what it brings into Ray's store, which the processes of a machine share, and reads there what the
others brought. So every rank reads what all bring, where MPI's rings would bring it the sum: for
large models on many machines MPI is the engine.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Sequence
from typing import Any

from wengert.distributed.hub import Entrance, Hub, HubTransport, no_comm
from wengert.errors import DistBackendError, RankLostError

INSTALL = "Install it with: pip install \"wengert[ray]\", or give the backend 'mpi' or 'threads'."
NAMESPACE = "wengert"
MEETING = "WENGERT_MEETING"
"""The variable that says under which name ranks meet."""


def installed() -> bool:
    """Whether there is a Ray to import."""
    from importlib.util import find_spec

    return find_spec("ray") is not None


def is_here() -> bool:
    """Whether Ray's cluster is one of its own, on this machine."""
    return not os.environ.get("RAY_ADDRESS")


def library(least: int = 1) -> Any:
    """Ray's module, connected to its cluster: the one that RAY_ADDRESS names, or one of its own.

    Its own is this machine, with room for at least so many processes, and for each processor.
    """
    os.environ.setdefault("RAY_DEDUP_LOGS", "0")  # what several ranks print is told of each
    try:
        import ray
    except ImportError as error:
        raise DistBackendError(f"Ray cannot be used: {error}\n{INSTALL}") from error
    if ray.is_initialized():
        return ray
    if is_here():
        count = max(least, os.cpu_count() or 1)
        ray.init(num_cpus=count, include_dashboard=False, _node_ip_address="127.0.0.1")
    else:
        ray.init()
    return ray


def room(least: int = 1) -> int:
    """For how many processes the cluster has processors."""
    return int(library(least).cluster_resources().get("CPU", 1))


class Desk:
    """What the actor is: an entrance, and the hubs behind it, which are named by numbers."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.entrance = Entrance()
        self.hubs: list[Hub] = []
        self.world: Hub | None = None
        """Where all ranks meet, or met last."""

    def enter(self, rank: int, size: int) -> Any:
        self.world = self.entrance.enter("", rank, size)
        return self.named(self.world)

    def ask(self, number: int, method: str, *words: Any) -> Any:
        """What a hub answers; hubs among it by their numbers."""
        return self.named(getattr(self.hubs[number], method)(*words))

    def lose(self, rank: int) -> None:
        """The process has ended that began as this rank; DistBackendError if none has come yet."""
        if self.world is None:
            raise DistBackendError(f"rank {rank} has ended before any rank had come")
        self.world.lose(rank)

    def named(self, answer: Any) -> Any:
        if isinstance(answer, tuple):
            return tuple(map(self.named, answer))
        if not isinstance(answer, Hub):
            return answer
        with self.lock:
            if answer not in self.hubs:
                self.hubs.append(answer)
            return self.hubs.index(answer)


def desk(name: str, size: int) -> Any:
    """The desk of this name; whoever asks first makes it, and has to stay until the others left."""
    remote = library().remote(Desk)
    # A rank that waits has one of its threads.
    settings = {"num_cpus": 0, "max_concurrency": 4 * size + 16}
    return remote.options(name=name, namespace=NAMESPACE, get_if_exists=True, **settings).remote()


def asked(method: Any, *words: Any) -> Any:
    """What an actor's method returns, or raises."""
    ray = library()
    try:
        return ray.get(method.remote(*words))
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None
    except ray.exceptions.RayActorError as error:
        raise DistBackendError(
            f"the actor in which ranks meet has ended, or was on a machine that has: {error}"
        ) from None


class Remote:
    """A hub at a desk: its methods are asked there."""

    def __init__(self, desk: Any, number: int) -> None:
        self.desk = desk
        self.number = number

    def __getattr__(self, method: str) -> Any:
        return functools.partial(self._ask, method)

    def _ask(self, method: str, *words: Any) -> Any:
        answer = asked(self.desk.ask, self.number, method, *words)
        if method == "part":
            return Remote(self.desk, answer)
        if method == "shrunk":
            return Remote(self.desk, answer[0]), answer[1]
        return answer


class Ray(HubTransport):
    """One rank's end of a hub that is an actor."""

    @classmethod
    def joined(cls, init_method: Any, rank: int, size: int, timeout: float, comm: Any) -> Ray:
        no_comm(comm)
        rank = int(os.environ.get("RANK", -1)) if rank < 0 else rank
        size = int(os.environ.get("WORLD_SIZE", -1)) if size < 0 else size
        if not 0 <= rank < size:
            raise ValueError(
                f"the backend 'ray' was told rank {rank} of {size}: start the script by "
                "'wengert run --engine ray', or give init_process_group rank= and world_size="
            )
        place = desk(str(init_method or os.environ.get(MEETING, "ranks")), size)
        hub = Remote(place, asked(place.enter, rank, size))
        hub.meet(rank, timeout)
        return cls(hub, rank, range(size))

    def kept(self, array: Any) -> Any:
        return [library().put(array)]  # in a list: Ray would put the array in the reference's place

    def read(self, blocks: Sequence[Any]) -> list[Any]:
        ray = library()
        try:
            return [None if block is None else ray.get(block[0]) for block in blocks]
        except ray.exceptions.ObjectLostError as error:
            raise RankLostError(
                f"rank {self.number}: what a rank brought is gone with it"
            ) from error
