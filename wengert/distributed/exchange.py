"""Collectives as functions with a derivative: what a rank gets, as a function of what it brings.

All eight are one primitive, as they are one description: its transpose is the collective with its
arrow turned round. So derivatives of every order exist. A compiled program has a statement that
starts each and one that waits for it, as far apart as the rest allows. The program names a group by
its key and runs on the ranks that have one of so many.
"""

from __future__ import annotations

import itertools
import time
import weakref
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.autograd import primitive
from wengert.compile.trace.world import watch
from wengert.dispatch import Parts, Unforeseen
from wengert.distributed import groups
from wengert.distributed.collectives import COLLECTIVES, ReduceOp
from wengert.distributed.work import Work
from wengert.errors import DistError
from wengert.history import modes
from wengert.tensor import Tensor, wrap


def _result(x: Any, collective: str, root: int, group: int, size: int, outbox: int = 0) -> Any:
    return np.zeros(COLLECTIVES[collective].result_shape(x.shape, size), x.dtype)


@primitive.linear(
    lambda g, collective, root, group, size: exchange(
        g, COLLECTIVES[collective].transpose.name, root, group, size
    ),
    None,
    opaque=True,
    result=_result,
)
def exchange(x: Any, collective: str, root: int, group: int, size: int, outbox: int = 0) -> Any:
    """What this rank gets in a collective of a group of `size` ranks to which it brings `x`.

    Blocks are summed where they are combined. A rank that gets nothing returns zeros. The number
    of an `Outbox`, if there is one, says that `x` may lie in it.
    """
    receive = _room(x, collective, size)
    _begun(receive, x, collective, root, group, size, outbox).wait()
    _renew(outbox)
    return receive


def _room(x: Any, collective: str, size: int) -> Any:
    return np.empty(COLLECTIVES[collective].result_shape(x.shape, size), x.dtype)


def _begun(
    receive: Any, x: Any, collective: str, root: int, group: int, size: int, outbox: int
) -> Work:
    """An exchange that goes on; the array `receive` has what it gives when it is done."""
    own, c = _ours(collective, group, size), COLLECTIVES[collective]
    if (sending := _outboxes.get(outbox)) is not None and (place := sending.take(x, own)):
        return own.add_shares(place, receive, ReduceOp.SUM)
    if c.gets.rooted and own.rank() != root:
        receive[...] = 0
    return own.run(c, np.require(x, requirements=("C", "A")), receive, root=root)


class OtherRanks(DistError, Unforeseen):
    """A program is for another number of ranks: the function runs instead, and nothing was sent."""


def _ours(collective: str, group: int, size: int) -> groups.ProcessGroup:
    """The group of that number, if it still has as many ranks as the program was made for."""
    here = groups.by_key(group, collective)
    if here.size() != size:
        raise OtherRanks(
            f"rank {here.number}: {collective} is part of a program made for {size} ranks, and its "
            f"group has {here.size()}. Compile the function again."
        )
    return here


# ---- what is brought again and again -------------------------------------------------------------


class Outbox:
    """Memory for what a program brings to sums: it computes it there, where other ranks read it.

    All ranks take two places in turns: who writes in one need not wait for those who still read the
    other. The tensor has the place that is next, or memory of its own if that cannot be written.
    """

    def __init__(self, count: int, dtype: Any) -> None:
        self.number = next(_numbers)
        self.tensor = wrap(np.empty(count, dtype))
        self.carrier: Any = None
        self.places: deque[Any] = deque()
        """The next one first."""
        _outboxes[self.number] = self

    def sum(self, x: Tensor, own: groups.ProcessGroup) -> Tensor:
        """The sum of the ranks' `x` in a program, which computes that in this memory."""
        with modes.no_grad():
            self.tensor.copy_(x)
        watch.active().lend(self.tensor)
        total: Tensor = exchange(
            self.tensor, "all_reduce", 0, own.key, own.size(), outbox=self.number
        )
        return total

    def take(self, x: Any, own: groups.ProcessGroup) -> Any:
        """The next place, with `x` in it; None if ranks share no memory."""
        if self.carrier is not own.carrier:  # at the first sum, which all ranks come to
            self.carrier = own.carrier
            pair = [own.place(x.size, x.dtype, ReduceOp.SUM) for _ in range(2)]
            self.places = deque(place for place in pair if place is not None)
        if len(self.places) < 2:
            return None
        place = self.places[0]
        self.places.rotate()
        if place.array.ctypes.data != x.ctypes.data:
            own.make_room(place)
            np.copyto(place.array, x)
        return place

    def renew(self) -> None:
        """A sum is done."""
        if self.places:
            array, mine = self.places[0].array, self.tensor._array
            self.tensor._array = array if self.places[0].free else np.empty_like(mine)

    def close(self) -> None:
        """Nothing is computed here any more: on all ranks."""
        _outboxes.pop(self.number, None)


_numbers = itertools.count(1)
_outboxes: weakref.WeakValueDictionary[int, Outbox] = weakref.WeakValueDictionary()


def _renew(outbox: int) -> None:
    if (sending := _outboxes.get(outbox)) is not None:
        sending.renew()


# ---- in three parts, between which a compiled program does other work ----------------------------


@dataclass(slots=True)
class Underway:
    """A collective that a program has started, and since when."""

    work: Work
    receive: Any
    since: float


@dataclass(slots=True)
class Waited:
    """How long the collectives of one kind took, and for how much of that the program waited."""

    calls: int = 0
    taken: float = 0.0
    waited: float = 0.0

    @property
    def hidden(self) -> float:
        """The share of the time in which the program did other work."""
        return 1 - self.waited / self.taken if self.taken else 0.0


_tickets = itertools.count()


def start(
    x: Any, collective: str, root: int, group: int, size: int, outbox: int = 0
) -> tuple[Any, Any]:
    """Begin an exchange. `x` and what it is received in are left to it until `wait` has ended."""
    ticket, receive = np.array(0), _room(x, collective, size)
    _start_into((ticket, receive), x, collective, root, group, size, outbox)
    return ticket, receive


def _start_into(
    outputs: Sequence[Any], x: Any, collective: str, root: int, group: int, size: int,
    outbox: int = 0,
) -> None:  # fmt: skip
    ticket, receive = outputs
    work = _begun(receive, x, collective, root, group, size, outbox)
    ticket[...] = number = next(_tickets)
    own = groups.by_key(group, collective)
    own.underway[number] = Underway(work, receive, time.perf_counter())


def go_on(ticket: Any, collective: str, root: int, group: int, size: int, outbox: int = 0) -> Any:
    """Have an exchange go on, which some engines do only within their calls."""
    groups.by_key(group, collective).underway[int(ticket)].work.is_completed()
    return ticket


def wait(
    ticket: Any, room: Any, x: Any, collective: str, root: int, group: int, size: int,
    outbox: int = 0,
) -> Any:  # fmt: skip
    """What the exchange gave that has this ticket."""
    here = _ours(collective, group, size)
    began = here.underway.pop(int(ticket))
    asked = time.perf_counter()
    began.work.wait()
    _renew(outbox)
    now = time.perf_counter()
    known = here.waited.setdefault((collective, x.shape), Waited())
    known.calls += 1
    known.taken += now - began.since
    known.waited += now - asked
    return began.receive


def _wait_into(outputs: Sequence[Any], *args: Any, **named: Any) -> None:
    (output,), receive = outputs, wait(*args, **named)
    if output.ctypes.data != receive.ctypes.data:
        np.copyto(output, receive)


def _hidden(
    ticket: Any, room: Any, x: Any, collective: str, root: int, group: int, size: int,
    outbox: int = 0,
) -> str:  # fmt: skip
    """What `f.explain()` says of a `wait`: of all the calls so far of this kind."""
    known = groups.by_key(group, collective).waited.get((collective, x.shape))
    if known is None:
        return collective
    return f"{collective}, {known.hidden:.0%} of {known.taken / known.calls * 1e3:.2g} ms hidden"


_part: Any
for _part in (exchange, start, go_on, wait):
    _part.meets = True  # all ranks have to call it
exchange.parts = Parts(start, go_on, wait)  # type: ignore[attr-defined]
start.into = _start_into  # type: ignore[attr-defined]
wait.into = _wait_into  # type: ignore[attr-defined]
wait.over = {0: 1}  # type: ignore[attr-defined]
wait.told = _hidden  # type: ignore[attr-defined]
