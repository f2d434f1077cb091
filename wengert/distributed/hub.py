"""Where the ranks of a group meet, and the engine that is made of such a place.

A collective is a slot in a `Hub`, counted by each rank for itself: what a rank brings lies there,
and when all have come each works out what it gets from it, in the order of the ranks. Messages from
one rank to another lie in queues. Ranks have here the numbers that they have among all, whatever
they are in a group: errors name them by those.

Ranks that are threads (`threads.py`) have the hub in their process; those that are actors of Ray
(`ray.py`) have it in another one, and ask it by its methods: blocks are only handed on here.
"""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Callable, Sequence, Set
from typing import Any

from wengert.distributed.transport import (
    Call,
    Done,
    Pending,
    Transport,
    disagreement,
    form,
    told_here,
)
from wengert.errors import DistBackendError, DistTimeoutError, RankLostError


class Slot:
    """One collective: what each rank is about to do, what it brought, and who has left."""

    def __init__(self) -> None:
        self.calls: dict[int, tuple[Any, str]] = {}
        self.brought: dict[int, Any] = {}
        self.left: set[int] = set()


class Hub:
    """Where the ranks of a group meet. All that it has is guarded by `changed`."""

    def __init__(self, ranks: Sequence[int]) -> None:
        self.ranks = tuple(ranks)
        self.size = len(self.ranks)
        self.changed = threading.Condition()
        self.slots: defaultdict[int, Slot] = defaultdict(Slot)
        self.messages: defaultdict[tuple[int, int], deque[tuple[int, str, str, Any]]]
        self.messages = defaultdict(deque)
        """For each (receiver, tag) senders, forms, words and blocks, in the order of arrival."""
        self.parts: dict[tuple[int, tuple[int, ...]], Hub] = {}
        self.came: set[int] = set()
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

    def meet(self, rank: int, timeout: float) -> None:
        """Wait for all ranks at the start."""
        with self.changed:
            self.came.add(rank)
            self.changed.notify_all()
            if not self.wait(
                rank, lambda: len(self.came) == self.size, timeout, "init_process_group"
            ):
                missing = sorted(set(self.ranks) - self.came)
                error = DistTimeoutError(
                    f"init_process_group: rank {rank} waited {timeout:g} s for ranks {missing} "
                    "to start"
                )
                self.break_down(str(error))
                raise error

    # ---- collectives ----------------------------------------------------------------------------

    def begin(self, rank: int, count: int, card: Any, described: str, block: Any) -> None:
        """A rank has come to its collective of this number, with a block or None."""
        with self.changed:
            self.see(rank, described, frozenset())
            slot = self.slots[count]
            for other, (theirs, text) in slot.calls.items():
                if theirs != card:
                    error = disagreement(described, rank, text, other)
                    self.break_down(str(error))
                    raise error
            slot.calls[rank] = card, described
            self.latest[rank] = described
            if block is not None:
                slot.brought[rank] = block
            if len(slot.calls) == self.size:
                self.changed.notify_all()

    def brought(self, rank: int, count: int, timeout: float | None) -> list[Any] | None:
        """What all ranks brought; None if somebody is missing, and there is no time to wait."""
        with self.changed:
            slot = self.slots[count]
            described = slot.calls[rank][1]
            gone = lambda: self.ended - slot.calls.keys()
            ready = lambda: len(slot.calls) == self.size
            if not self.wait(rank, ready, timeout or 0, described, gone):
                if timeout is None:
                    return None
                missing = sorted(set(self.ranks) - slot.calls.keys())
                error = DistTimeoutError(
                    f"rank {rank} waited {timeout:g} s in {described}\n"
                    f"  for ranks {missing}:{self.where(missing)}"
                )
                self.break_down(str(error))
                raise error
            slot.left.add(rank)
            if len(slot.left) == self.size:
                self.slots.pop(count)
            return [slot.brought.get(r) for r in self.ranks]

    # ---- messages -------------------------------------------------------------------------------

    def post(self, sender: int, to: int, tag: int, form: str, described: str, block: Any) -> None:
        """Leave a message for a rank; `form` is its dtype and shape, which errors show."""
        with self.changed:
            self.see(sender, described, {to} & self.ended)
            self.messages[to, tag].append((sender, form, described, block))
            self.changed.notify_all()

    def fetch(
        self,
        rank: int,
        source: int | None,
        tag: int,
        form: str,
        described: str,
        timeout: float | None,
    ) -> tuple[int, Any] | None:
        """The first message from a rank, or from any; None if there is no time to wait for it."""
        with self.changed:
            queue = self.messages[rank, tag]

            def place() -> int | None:
                return next((i for i, m in enumerate(queue) if source in (None, m[0])), None)

            others = {r for r in self.ranks if source in (None, r) and r != rank}
            gone = lambda: others if others <= self.ended else set()
            if not self.wait(rank, lambda: place() is not None, timeout or 0, described, gone):
                if timeout is None:
                    return None
                raise DistTimeoutError(
                    f"rank {rank} waited {timeout:g} s in {described}:{self.where(sorted(others))}"
                )
            at = place()
            assert at is not None
            sender, theirs, words, block = queue[at]
            if theirs != form:
                error = f"rank {rank}: {described}\n  rank {sender}: {words}"
                self.break_down(error)
                raise DistBackendError(error)
            del queue[at]
            return sender, block

    def unread(self, rank: int) -> None:
        """An error if a rank is about to leave while there is a message for it."""
        for (to, _), queue in self.messages.items():
            if to == rank and queue and self.broken is None:
                sender, _, words, _ = queue[0]
                error = DistBackendError(
                    f"rank {rank} has left the group without having received what there was for "
                    f"it\n  rank {sender}: {words}"
                )
                self.break_down(str(error))
                raise error

    # ---- who is there ---------------------------------------------------------------------------

    def part(self, count: int, ranks: tuple[int, ...]) -> Hub:
        """Where some of the ranks meet that all have divided themselves into, by this operation."""
        with self.changed:
            return self.parts.setdefault((count, ranks), Hub(ranks))

    def break_down(self, reason: str, error: type[DistBackendError] = DistBackendError) -> None:
        with self.changed:
            if self.broken is None:
                self.broken, self.error = reason, error
            for part in self.parts.values():
                part.break_down(reason, error)
            self.changed.notify_all()

    def lose(self, rank: int) -> None:
        """A rank has ended before its time: the others may go on without it, or have."""
        with self.changed:
            self.lost.add(rank)
            if self.next is not None and rank in self.next[1]:
                new, left = self.next
                new.lose(left.index(rank))
        self.break_down(f"rank {rank} has ended", RankLostError)

    def leave(self, rank: int) -> None:
        """A rank begins nothing more here; an error if it should have received something."""
        with self.changed:
            self.ended.add(rank)
            for part in self.parts.values():
                if rank in part.ranks:
                    part.leave(rank)
            self.changed.notify_all()
            self.unread(rank)

    def agreed(self, rank: int, turn: int, well: bool, timeout: float) -> bool:
        """Whether all ranks say, this turn, that all is well; one that is lost says no."""
        with self.changed:
            while len(self.said) <= turn:
                self.said.append({})
            said = self.said[turn]
            said[rank] = well
            self.changed.notify_all()
            everybody = self.ranks
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
            return all(said.values())

    def shrunk(self) -> tuple[Hub, list[int]]:
        """Where those meet that are left, and which of the ranks they are."""
        with self.changed:
            if self.next is None:
                left = sorted(set(self.ranks) - self.lost)
                self.next = Hub(range(len(left))), left
            return self.next

    def left_behind(self, rank: int) -> bool:
        """Whether the others have gone on without a rank."""
        return self.next is not None and rank in self.lost

    def wait(
        self,
        rank: int,
        ready: Callable[[], bool],
        timeout: float,
        what: str,
        gone: Callable[[], Set[int]] = frozenset,
    ) -> bool:
        """Wait until something is ready, and say whether it is; the condition is held.

        An error at once if that needs ranks that are `gone`.
        """
        over = lambda: ready() or self.broken is not None or bool(gone())
        done = self.changed.wait_for(over, timeout)
        if done and not ready():
            self.see(rank, what, gone())
        return done

    def see(self, rank: int, what: str, gone: Set[int]) -> None:
        """An error if the group has broken down, or ranks are gone that something needs."""
        if gone and self.broken is None:
            self.break_down(f"rank {min(gone)} has ended, or left the group, before that")
        if self.broken is not None:
            raise self.error(f"rank {rank} cannot go on with {what}\n{self.broken}")

    def where(self, ranks: Sequence[int]) -> str:
        """Where each of these ranks stands."""
        return "".join(
            f"\n  rank {r} "
            + ("has ended" if r in self.ended else f"last began {self.latest.get(r, 'nothing')}")
            for r in ranks
        )


class Entrance:
    """Where ranks are told their hub: by the name that they come with, and one after the other."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.waiting: dict[str, tuple[Hub, set[int]]] = {}
        """Hubs for which not all ranks have come yet, and those that have."""

    def enter(self, name: str, rank: int, size: int) -> Hub:
        """The hub in which a rank is to meet the others of this name."""
        with self.lock:
            if name not in self.waiting or self.waiting[name][0].broken is not None:
                self.waiting[name] = Hub(range(size)), set()
            hub, came = self.waiting[name]
            if hub.size != size or rank in came:
                raise ValueError(
                    f"init_process_group: rank {rank} of {size} comes where ranks "
                    f"{sorted(came)} of {hub.size} are waiting"
                )
            came.add(rank)
            if len(came) == size:
                del self.waiting[name]
            return hub


def no_comm(comm: Any) -> None:
    """ValueError for a communicator: ranks that meet in a hub have none."""
    if comm is not None:
        raise ValueError("comm= is a communicator of MPI: it goes with the backend 'mpi'")


class HubTransport(Transport):
    """One rank's end of a hub."""

    def __init__(self, hub: Any, number: int, ranks: Sequence[int]) -> None:
        self.hub = hub
        self.number = number
        self.ranks = ranks
        self.rank = ranks.index(number)
        self.size = len(ranks)
        self.count = 0
        self.turns = 0

    def kept(self, array: Any) -> Any:
        """What is handed to the hub for an array, which its owner may overwrite from now on."""
        return array.copy()

    def read(self, blocks: Sequence[Any]) -> list[Any]:
        """The arrays of what others have handed to the hub."""
        return list(blocks)

    def start(self, call: Call, send: Any, receive: Any) -> Pending:
        block = None if send is None else self.kept(send)
        return Meeting(self, call, self.begun(call.card, call.described(), block), receive)

    def begun(self, card: Any, described: str, block: Any = None) -> int:
        """The number of an operation that this rank has begun."""
        count, self.count = self.count, self.count + 1
        self.hub.begin(self.number, count, card, described, block)
        return count

    def send(self, array: Any, to: int, tag: int) -> Pending:
        whom = self.ranks[to]
        described = told_here(f"send of {form(array)} to rank {whom}")
        self.hub.post(self.number, whom, tag, form(array), described, self.kept(array))
        return Done()

    def receive(self, array: Any, source: int | None, tag: int) -> Pending:
        return Message(self, array, source, tag)

    def split(self, ranks: Sequence[int], timeout: float) -> Transport | None:
        words = f"new_group({list(ranks)})"
        count = self.begun(words, told_here(words))
        self.hub.brought(self.number, count, timeout)
        if self.number not in ranks:
            return None
        return type(self)(self.hub.part(count, tuple(ranks)), self.number, ranks)

    def revoke(self) -> None:
        self.hub.break_down(f"rank {self.number} has found a rank lost", RankLostError)

    def agreed(self, well: bool, timeout: float) -> bool:
        turn, self.turns = self.turns, self.turns + 1
        return bool(self.hub.agreed(self.number, turn, well, timeout))

    def shrunk(self, timeout: float) -> tuple[Transport, list[int]]:
        self.agreed(False, timeout)  # all that are left have come here
        new, left = self.hub.shrunk()
        return type(self)(new, left.index(self.number), range(len(left))), left

    @property
    def left_behind(self) -> bool:
        """Whether the others have gone on without this rank."""
        return bool(self.hub.left_behind(self.number))

    def close(self) -> None:
        self.hub.leave(self.number)

    def fail(self, error: BaseException) -> None:
        if isinstance(error, SystemExit):  # as a process that ends
            self.hub.lose(self.number)
        else:
            self.hub.break_down(f"rank {self.number} ended with {type(error).__name__}: {error}")


class Arriving(Pending):
    """What a hub hands out once it is there."""

    done = False

    def poll(self) -> bool:
        self.done = self.done or self.take(None)
        return self.done

    def wait(self, timeout: float) -> None:
        self.done = self.done or self.take(timeout)

    def take(self, timeout: float | None) -> bool:
        """Take what has arrived; None waits for nothing."""
        raise NotImplementedError


class Meeting(Arriving):
    """One rank's part in a slot: its result is worked out when all have come."""

    def __init__(self, at: HubTransport, call: Call, count: int, receive: Any) -> None:
        self.at = at
        self.call = call
        self.count = count
        self.receive = receive

    def take(self, timeout: float | None) -> bool:
        at, call = self.at, self.call
        brought = at.hub.brought(at.number, self.count, timeout)
        if brought is not None and self.receive is not None:
            self.receive[...] = call.collective.result(
                at.read(brought), at.rank, call.root, call.op.combined
            )
        return brought is not None


class Message(Arriving):
    """A message that is waited for."""

    def __init__(self, at: HubTransport, array: Any, source: int | None, tag: int) -> None:
        self.at = at
        self.array = array
        self.source = source
        self.tag = tag
        self.sender = None if source is None else at.ranks[source]
        whom = "any rank" if source is None else f"rank {self.sender}"
        self.described = told_here(f"recv of {form(array)} from {whom}")

    def take(self, timeout: float | None) -> bool:
        at = self.at
        words = form(self.array), self.described
        got = at.hub.fetch(at.number, self.sender, self.tag, *words, timeout)
        if got is not None:
            sender, block = got
            self.source = at.ranks.index(sender)
            self.array[...] = at.read([block])[0]
        return got is not None
