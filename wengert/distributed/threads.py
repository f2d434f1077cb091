"""Ranks that are threads of this process: nothing to install, and the same result every time.

The ranks of a group meet in a `Hub`. A collective is a slot there, counted by each rank for itself:
what a rank brings is copied into the slot, and when all have come each works out what it gets from
what lies there, in the order of the ranks. Messages from one rank to another lie in queues.
"""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from typing import Any

from wengert.distributed.transport import Call, Done, Pending, Transport, disagreement
from wengert.errors import DistBackendError, DistTimeoutError, RankLostError


class Slot:
    """One collective: what each rank is about to do, what it brought, and who has left."""

    def __init__(self) -> None:
        self.calls: dict[int, Call] = {}
        self.brought: dict[int, Any] = {}
        self.left: set[int] = set()


class Hub:
    """Where the ranks of a group meet. All that it has is guarded by `changed`."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.changed = threading.Condition()
        self.slots: defaultdict[int, Slot] = defaultdict(Slot)
        self.messages: defaultdict[tuple[int, int], deque[tuple[int, Any]]] = defaultdict(deque)
        """For each (receiver, tag) the senders and what they sent, in the order of arrival."""
        self.parts: dict[tuple[int, tuple[int, ...]], Hub] = {}
        self.latest: dict[int, str] = {}
        self.ended: set[int] = set()
        self.broken: str | None = None
        """What broke the group down: nothing can be done in it from then on."""
        self.error: type[DistBackendError] = DistBackendError
        self.lost: set[int] = set()
        self.said: list[dict[int, bool]] = []
        """What ranks answered each time that they had to agree."""
        self.next: tuple[Hub, list[int]] | None = None
        """Where the ranks meet that are left, and which they are."""

    def break_down(self, reason: str, error: type[DistBackendError] = DistBackendError) -> None:
        with self.changed:
            if self.broken is None:
                self.broken, self.error = reason, error
            for part in self.parts.values():
                part.break_down(reason, error)
            self.changed.notify_all()

    def wait(self, rank: int, ready: Callable[[], bool], timeout: float, what: str) -> None:
        """Return when `ready`; the condition is held."""
        done = self.changed.wait_for(lambda: ready() or self.broken is not None, timeout)
        if ready():
            return
        if done:
            raise self.error(f"rank {rank} cannot go on with {what}\n{self.broken}")

    def answers(self, rank: int, turn: int, well: bool, timeout: float) -> dict[int, bool]:
        """What all ranks that are left have answered, this turn; one that is lost says no."""
        with self.changed:
            while len(self.said) <= turn:
                self.said.append({})
            said = self.said[turn]
            said[rank] = well
            self.changed.notify_all()
            everybody = range(self.size)
            if not self.changed.wait_for(
                lambda: all(r in said or r in self.lost for r in everybody), timeout
            ):
                missing = [r for r in everybody if r not in said and r not in self.lost]
                raise DistTimeoutError(
                    f"rank {rank} waited {timeout:g} s for the others to agree on who is left"
                    + self.where(missing)
                )
            for r in everybody:
                said.setdefault(r, False)
            return said

    def where(self, ranks: Sequence[int]) -> str:
        """Where each of these ranks stands."""
        return "".join(
            f"\n  rank {r} "
            + ("has ended" if r in self.ended else f"last began {self.latest.get(r, 'nothing')}")
            for r in ranks
        )


class Threads(Transport):
    """One rank's end of a hub."""

    def __init__(self, hub: Hub, rank: int) -> None:
        self.hub = hub
        self.rank = rank
        self.size = hub.size
        self.count = 0
        self.splits = 0
        self.turns = 0

    @classmethod
    def joined(cls, init_method: Any, rank: int, size: int, timeout: float, comm: Any) -> Threads:
        if comm is not None:
            raise ValueError("comm= is a communicator of MPI: it goes with the backend 'mpi'")
        if rank < 0 or size < 1:
            raise ValueError(
                "the backend 'threads' has to be told rank= and world_size=, or is started by "
                "wengert.distributed.run_threads(function, world_size)"
            )
        if rank >= size:
            raise ValueError(f"rank {rank} is not below the world_size, {size}")
        key = str(init_method or "")
        with _MEETINGS_LOCK:
            if key not in _MEETINGS or _MEETINGS[key][0].broken is not None:
                _MEETINGS[key] = Hub(size), set()
            hub, came = _MEETINGS[key]
            if hub.size != size or rank in came:
                raise ValueError(
                    f"init_process_group: rank {rank} of {size} comes where ranks "
                    f"{sorted(came)} of {hub.size} are waiting"
                )
            came.add(rank)
            if len(came) == size:
                del _MEETINGS[key]
        self = cls(hub, rank)
        self.meet(came, timeout)
        return self

    def meet(self, came: set[int], timeout: float) -> None:
        """Wait for all ranks at the start."""
        hub = self.hub
        with hub.changed:
            hub.changed.notify_all()
            hub.wait(self.rank, lambda: len(came) == hub.size, timeout, "init_process_group")
            if len(came) < hub.size:
                missing = sorted(set(range(hub.size)) - came)
                hub.broken = f"rank {self.rank} waited {timeout:g} s for ranks {missing} to start"
                hub.changed.notify_all()
                raise DistTimeoutError(f"init_process_group: {hub.broken}")

    def start(self, call: Call, send: Any, receive: Any) -> Pending:
        hub, count = self.hub, self.count
        self.count += 1
        with hub.changed:
            if hub.broken is not None:
                raise hub.error(
                    f"rank {self.rank} cannot go on with {call.described()}\n{hub.broken}"
                )
            slot = hub.slots[count]
            for other, theirs in slot.calls.items():
                if theirs.card != call.card:
                    error = disagreement(call.described(), self.rank, theirs.described(), other)
                    hub.break_down(str(error))
                    raise error
            slot.calls[self.rank] = call
            hub.latest[self.rank] = call.described()
            if send is not None:
                slot.brought[self.rank] = send.copy()
            if len(slot.calls) == self.size:
                hub.changed.notify_all()
        return Meeting(self, call, count, slot, receive)

    def send(self, array: Any, to: int, tag: int) -> Pending:
        with self.hub.changed:
            self.hub.messages[to, tag].append((self.rank, array.copy()))
            self.hub.changed.notify_all()
        return Done()

    def receive(self, array: Any, source: int | None, tag: int) -> Pending:
        return Message(self, array, source, tag)

    def split(self, ranks: Sequence[int], timeout: float) -> Threads | None:
        key = self.splits, tuple(ranks)
        self.splits += 1
        if self.rank not in ranks:
            return None
        with self.hub.changed:
            hub = self.hub.parts.setdefault(key, Hub(len(ranks)))
        return Threads(hub, ranks.index(self.rank))

    def revoke(self) -> None:
        self.hub.break_down(f"rank {self.rank} has found a rank lost", RankLostError)

    def agreed(self, well: bool, timeout: float) -> bool:
        turn, self.turns = self.turns, self.turns + 1
        return all(self.hub.answers(self.rank, turn, well, timeout).values())

    def shrunk(self, timeout: float) -> tuple[Threads, list[int]]:
        hub = self.hub
        self.agreed(False, timeout)  # all that are left have come here
        with hub.changed:
            if hub.next is None:
                left = sorted(set(range(hub.size)) - hub.lost)
                hub.next = Hub(len(left)), left
            new, left = hub.next
        return Threads(new, left.index(self.rank)), left

    @property
    def left_behind(self) -> bool:
        """Whether the others have gone on without this rank."""
        return self.hub.next is not None and self.rank in self.hub.lost

    def close(self) -> None:
        with self.hub.changed:
            self.hub.ended.add(self.rank)

    def fail(self, error: BaseException) -> None:
        if not isinstance(error, SystemExit):
            self.hub.break_down(f"rank {self.rank} ended with {type(error).__name__}: {error}")
            return
        with self.hub.changed:  # as a process that ends: the others may go on
            self.hub.lost.add(self.rank)
        self.hub.break_down(f"rank {self.rank} has ended", RankLostError)


class Meeting(Pending):
    """One rank's part in a slot: its result is worked out when all have come."""

    def __init__(self, at: Threads, call: Call, count: int, slot: Slot, receive: Any) -> None:
        self.at = at
        self.call = call
        self.count = count
        self.slot = slot
        self.receive = receive
        self.done = False

    def complete(self) -> bool:
        return len(self.slot.calls) == self.at.size

    def poll(self) -> bool:
        with self.at.hub.changed:
            if not self.done and self.complete():
                self.take()
            elif not self.done and self.at.hub.broken is not None:
                self.at.hub.wait(self.at.rank, self.complete, 0, self.call.described())
            return self.done

    def wait(self, timeout: float) -> None:
        if self.done:
            return
        hub, rank = self.at.hub, self.at.rank
        with hub.changed:
            hub.wait(rank, self.complete, timeout, self.call.described())
            if not self.complete():
                missing = sorted(set(range(hub.size)) - self.slot.calls.keys())
                error = DistTimeoutError(
                    f"rank {rank} waited {timeout:g} s in {self.call.described()}\n"
                    f"  for ranks {missing}:{hub.where(missing)}"
                )
                hub.break_down(str(error))
                raise error
            self.take()

    def take(self) -> None:
        slot, at, call = self.slot, self.at, self.call
        if self.receive is not None:
            self.receive[...] = call.collective.result(
                [slot.brought.get(r) for r in range(at.size)], at.rank, call.root, call.op.combined
            )
        self.done = True
        slot.left.add(at.rank)
        if len(slot.left) == at.size:
            at.hub.slots.pop(self.count, None)


class Message(Pending):
    """A message that is waited for."""

    def __init__(self, at: Threads, array: Any, source: int | None, tag: int) -> None:
        self.at = at
        self.array = array
        self.source = source
        self.tag = tag
        self.done = False

    def found(self) -> int | None:
        queue = self.at.hub.messages[self.at.rank, self.tag]
        places = (i for i, (sender, _) in enumerate(queue) if self.source in (None, sender))
        return next(places, None)

    def poll(self) -> bool:
        with self.at.hub.changed:
            if not self.done and self.found() is not None:
                self.take()
            return self.done

    def wait(self, timeout: float) -> None:
        hub, rank = self.at.hub, self.at.rank
        source = "any rank" if self.source is None else f"rank {self.source}"
        with hub.changed:
            if self.done:
                return
            what = f"recv from {source}"
            hub.wait(rank, lambda: self.found() is not None, timeout, what)
            if self.found() is None:
                others = [r for r in range(hub.size) if self.source in (None, r) and r != rank]
                raise DistTimeoutError(
                    f"rank {rank} waited {timeout:g} s in {what}:{hub.where(others)}"
                )
            self.take()

    def take(self) -> None:
        place = self.found()
        assert place is not None
        queue = self.at.hub.messages[self.at.rank, self.tag]
        self.source, sent = queue[place]
        if (sent.shape, sent.dtype) != (self.array.shape, self.array.dtype):
            raise DistBackendError(
                f"rank {self.at.rank} receives {self.array.dtype}{list(self.array.shape)} from "
                f"rank {self.source}, which sent {sent.dtype}{list(sent.shape)}"
            )
        del queue[place]
        self.array[...] = sent
        self.done = True


_MEETINGS: dict[str, tuple[Hub, set[int]]] = {}
"""Ranks that wait for the others to start, by the `init_method` they were given."""
_MEETINGS_LOCK = threading.Lock()

__all__ = ["Hub", "Threads"]
