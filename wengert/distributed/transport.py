"""What carries blocks from rank to rank: the one class that says what every engine must do.

`mpi.py`, `ray.py` and `threads.py` are those that there are. One for GPU arrays (NCCL) would be
another subclass and a line in `ENGINES`; nothing else knows of engines.
"""

from __future__ import annotations

import abc
import importlib
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from wengert.distributed.collectives import Collective, ReduceOp
from wengert.errors import DistBackendError
from wengert.history.location import here, line_of

ENGINES = {
    "mpi": "wengert.distributed.mpi:Mpi",
    "ray": "wengert.distributed.ray:Ray",
    "threads": "wengert.distributed.threads:Threads",
}
"""Backends by name. Each class is imported when it is first asked for."""
LAUNCHED = "WENGERT_ENGINE"
"""The variable in which `wengert run` says by which engine it has started the ranks."""

AROUND = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS")
"""Variables by which a process is told that it was started as one of several."""


class Call(NamedTuple):
    """What a rank is about to do: all ranks of a group have to be about to do the same."""

    collective: Collective
    op: ReduceOp
    root: int
    block: tuple[int, ...]
    dtype: Any
    at: tuple[Any, int] | None  # the user's line, as `history.location.here` has it
    """None if this rank waits in the call itself: then it is looked for when an error needs it."""
    timeout: float | None = None
    """Seconds that the others have to come, if they are not those of the group."""

    @property
    def card(self) -> tuple[Any, ...]:
        """What has to agree: also whether what is summed is divided."""
        c = self.collective
        op = self.op.name if c.combines else ""
        return c.name, op, self.root if c.rooted else -1, self.block, str(self.dtype)

    @staticmethod
    def words(card: tuple[Any, ...]) -> str:
        name, op, root, block, dtype = card
        words = [name, op, f"of {dtype}{list(block)}"]
        if root >= 0:
            words.append(f"with root {root}")
        return " ".join(filter(None, words))

    def described(self) -> str:
        return f"{self.words(self.card)}, at {line_of(*(self.at or here()))}"


def told_here(words: str) -> str:
    """What a rank does, and the user's line."""
    return f"{words}, at {line_of(*here())}"


def form(array: Any) -> str:
    """The dtype and shape of a block, as errors show them."""
    return f"{array.dtype}{list(array.shape)}"


class Pending(abc.ABC):
    """A transfer under way. What it receives lies in its buffer once it is done."""

    @abc.abstractmethod
    def poll(self) -> bool:
        """Whether it is done; raises what went wrong."""

    @abc.abstractmethod
    def wait(self, timeout: float) -> None:
        """Return when it is done; DistTimeoutError after so many seconds."""

    def drive(self) -> None:  # noqa: B027  (some go on by themselves)
        """Nobody waits yet: have it go on in the meantime."""


class Done(Pending):
    """A transfer that nobody has to wait for."""

    def poll(self) -> bool:
        return True

    def wait(self, timeout: float) -> None:
        pass


class Transport(abc.ABC):
    """The ranks of one group, seen from one of them. Arrays handed in are contiguous."""

    rank: int
    size: int
    at_once: dict[Any, Any] = {}  # noqa: RUF012  (engines that prepare some have their own)
    """What runs all_reduce in a tensor's own memory, if the others come soon.

    By operation, shape and dtype, and by the operation alone what was used last. `begin(tensor)` is
    0 if the tensor is not like it, or others have to be waited for. Then `end()` is 2 if all is
    done, and 1 if it is left to be waited for."""

    def left(self, call: Call, at_once: Any) -> Pending:
        """What was left of what such a one has begun."""
        raise NotImplementedError

    @classmethod
    @abc.abstractmethod
    def joined(cls, init_method: Any, rank: int, size: int, timeout: float, comm: Any) -> Transport:
        """The group of all ranks. Rank and size are -1 where the engine is to say them."""

    @abc.abstractmethod
    def start(self, call: Call, send: Any, receive: Any) -> Pending:
        """Begin a collective. `send` or `receive` is None where this rank has no part in it."""

    def place(self, call: Call) -> Any:
        """Memory in which this rank makes what it brings to such a sum; None if there is none.

        All ranks call it. Then `start_placed` takes the place of `start`, after `make_room`.
        """
        return None

    def make_room(self, place: Any, timeout: float) -> None:
        """Wait until what was made in a place may be written over."""
        raise NotImplementedError

    def start_placed(self, call: Call, place: Any, receive: Any) -> Pending:
        """Begin to sum what all ranks have made in a place."""
        raise NotImplementedError

    @abc.abstractmethod
    def send(self, array: Any, to: int, tag: int) -> Pending: ...

    @abc.abstractmethod
    def receive(self, array: Any, source: int | None, tag: int) -> Pending:
        """None stands for any source. When done, the transfer's `source` says which it was."""

    @abc.abstractmethod
    def split(self, ranks: Sequence[int], timeout: float) -> Transport | None:
        """A group of some of these ranks, or None for a rank that is not among them.

        All ranks call it, in the same order.
        """

    @abc.abstractmethod
    def revoke(self) -> None:
        """A rank was lost: what the others have under way in this group fails, too.

        Otherwise they would wait for one that has turned to something else. DistBackendError where
        the engine cannot go on without all ranks.
        """

    @abc.abstractmethod
    def agreed(self, well: bool, timeout: float) -> bool:
        """Whether all ranks say that all is well, and none is lost: the same answer on all."""

    @abc.abstractmethod
    def shrunk(self, timeout: float) -> tuple[Transport, list[int]]:
        """The ranks that are left, as a group of their own, and their numbers in this one."""

    @abc.abstractmethod
    def close(self) -> None:
        """Give back what the group holds. Not called for a group that broke down."""

    def fail(self, error: BaseException) -> None:  # noqa: B027  (not every engine can)
        """This rank ends with an error: let others know, where that is possible."""


def named(backend: str | None) -> str:
    """A backend's name. None, and PyTorch's "gloo", are that by which processes were started."""
    name = (backend or "gloo").lower().partition(",")[0].removeprefix("cpu:")
    return os.environ.get(LAUNCHED, "mpi") if name == "gloo" else name


def engine(backend: str) -> type[Transport]:
    """The class of a backend; ValueError for a name that is none."""
    name = named(backend)
    if name not in ENGINES:
        raise ValueError(
            f"backend {name!r} is not there: tensors are on the CPU. Choose 'mpi' or 'ray' for "
            "processes, or 'threads' for threads of this process."
        )
    module, _, cls = ENGINES[name].partition(":")
    return getattr(importlib.import_module(module), cls)


def expected(asked: int, ranks: int, chosen: bool) -> int:
    """How many ranks there are to be, in a communicator of so many `ranks`, that may be `chosen`.

    DistBackendError for one of several processes that MPI takes to be alone.
    """
    if asked > 0 or chosen:
        return asked if asked > 0 else ranks
    if told := os.environ.get("WORLD_SIZE"):
        return int(told)
    started = next((n for n in map(os.environ.get, AROUND) if n not in (None, "1")), None)
    if ranks == 1 and started is not None:
        raise DistBackendError(
            f"this is one of {started} processes, but for MPI it is alone: mpirun or srun is not "
            "that of mpi4py's MPI, and each process would work by itself. Use what belongs "
            "together, or srun --mpi=pmix; give world_size=1 if this is meant."
        )
    return ranks


def disagreement(mine: str, rank: int, theirs: str, other: int) -> DistBackendError:
    """The error for two ranks that are about to do different things."""
    return DistBackendError(
        "ranks have come to different operations:\n"
        f"  rank {rank}: {mine}\n  rank {other}: {theirs}\n"
        "All ranks of a group call the same collectives in the same order, with blocks of one "
        "shape and dtype."
    )
