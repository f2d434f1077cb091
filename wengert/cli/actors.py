"""`wengert run --engine ray`: the processes are actors of Ray, wherever its cluster has room.

As mpirun does for MPI: all are started, and all are ended when one dies, unless the others may go
on without it. Then the hub in which they meet is told.
"""

from __future__ import annotations

import os
import sys
import traceback
import uuid
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wengert.cli import program, worker
from wengert.cli.usage import UsageError
from wengert.distributed import ray as engine
from wengert.distributed.transport import LAUNCHED
from wengert.errors import DistBackendError


class Rank:
    """What the actors are: each runs the script once."""

    def node(self) -> str:
        import ray

        return str(ray.get_runtime_context().get_node_id())

    def run(self, words: Sequence[str], folder: str, variables: dict[str, str]) -> int:
        """The exit status of the script."""
        os.environ.update(variables)
        if Path(folder).is_dir():  # on another machine it may not be there
            os.chdir(folder)
        try:
            program.run([*words])
        except SystemExit as end:
            return worker.status(end)
        except BaseException:
            traceback.print_exc()
            return 1
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
        return 0


def room(least: int) -> int:
    """For how many ranks the cluster has processors."""
    if not engine.installed():
        raise UsageError('there is no Ray: pip install "wengert[ray]", or take --engine mpi')
    return engine.room(least)


def attempt(
    nproc: int, least: int | None, words: Sequence[str], environment: dict[str, str]
) -> int:
    """Run the script on so many ranks; the status of the first that failed, or 0.

    `least` are left at least when others have died; None if all are to be.
    """
    if nproc > (places := room(nproc)):
        raise UsageError(f"Ray's cluster has room for {places} processes, not {nproc}")
    ray = engine.library()
    meeting = f"ranks {uuid.uuid4().hex}"
    desk = engine.desk(meeting, nproc)
    common = {
        **worker.OTHERWISE,
        **{k: v for k, v in environment.items() if k.startswith(("WENGERT_", "TORCHELASTIC_"))},
        LAUNCHED: "ray",
        engine.MEETING: meeting,
        "WORLD_SIZE": str(nproc),
    }
    threads = {"OMP_NUM_THREADS": environment.get("OMP_NUM_THREADS", "1")}
    kind = ray.remote(Rank).options(num_cpus=1, runtime_env={"env_vars": threads})
    actors = [kind.remote() for _ in range(nproc)]
    try:
        nodes = ray.get([actor.node.remote() for actor in actors])
        started: Counter[str] = Counter()
        running: dict[Any, int] = {}
        for rank, (actor, node) in enumerate(zip(actors, nodes, strict=True)):
            own = {"RANK": str(rank), "LOCAL_RANK": str(started[node])}
            own["LOCAL_WORLD_SIZE"] = str(nodes.count(node))
            own["GROUP_RANK"] = str(list(dict.fromkeys(nodes)).index(node))
            started[node] += 1
            running[actor.run.remote(words, str(Path.cwd()), common | own | threads)] = rank
        return _outcome(ray, desk, running, least)
    finally:
        for actor in [*actors, desk]:
            ray.kill(actor)


def _outcome(ray: Any, desk: Any, running: dict[Any, int], least: int | None) -> int:
    """Wait for all ranks, or for one that ends them all."""
    left = len(running)
    while running:
        (ended, *_), _ = ray.wait([*running])
        rank = running.pop(ended)
        try:
            status = ray.get(ended)
        except ray.exceptions.RayActorError as error:
            print(f"wengert run: rank {rank} has died: {error}", file=sys.stderr, flush=True)
            left -= 1
            if least is None or left < least:
                return 1
            try:
                engine.asked(desk.lose, rank)
            except DistBackendError:  # before the ranks have met
                return 1
        else:
            if status:
                return int(status)
    return 0
