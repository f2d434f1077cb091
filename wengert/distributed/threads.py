"""Ranks that are threads of this process: nothing to install, and the same result every time."""

from __future__ import annotations

from typing import Any

from wengert.distributed.hub import Entrance, HubTransport, no_comm

_ENTRANCE = Entrance()
"""Threads that come with the same `init_method` meet."""


class Threads(HubTransport):
    """One rank's end of a hub in this process."""

    @classmethod
    def joined(cls, init_method: Any, rank: int, size: int, timeout: float, comm: Any) -> Threads:
        no_comm(comm)
        if rank < 0 or size < 1:
            raise ValueError(
                "the backend 'threads' has to be told rank= and world_size=, or is started by "
                "wengert.distributed.run_threads(function, world_size)"
            )
        if rank >= size:
            raise ValueError(f"rank {rank} is not below the world_size, {size}")
        hub = _ENTRANCE.enter(str(init_method or ""), rank, size)
        hub.meet(rank, timeout)
        return cls(hub, rank, range(size))
