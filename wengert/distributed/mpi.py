"""Ranks that are processes, by MPI: wengert's side of mpi4py, which is imported when it is needed.

Collectives are MPI's own non-blocking ones, on the arrays' memory: MPI's name and the description
of a collective say which arguments they take. MPI makes progress only inside its calls, so whoever
waits asks again and again, until the time is up; for what nobody waits for yet, a thread does.
Few ranks of one machine combine blocks in memory that they share instead (`near.py`).

MPI itself trusts that all ranks do the same. So what a rank is about to do is compared with the
others before it does it for the first time, and each time if WENGERT_CHECK=1. What ranks of one
machine have begun is compared whenever one has waited for it (`board.py`).
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wengert.distributed import transport
from wengert.distributed.board import COMPARISON, Board
from wengert.distributed.collectives import ReduceOp
from wengert.distributed.driver import DRIVER, PAUSE
from wengert.distributed.near import MEMORY, MOST, SLOT, Block, Differs, Layout, Place, Ring, shared
from wengert.distributed.transport import Call, Done, Pending, Transport, disagreement, form
from wengert.errors import DistBackendError, DistTimeoutError, RankLostError
from wengert.history.location import here, line_of

INSTALL = (
    'Install it with: pip install "wengert[mpi]" (mpi4py and Open MPI), or give the backend '
    "'threads', which needs nothing."
)
AT_ONCE = 5e-5
"""So many seconds a transfer is asked for without giving way, which may cost a turn of others."""
EAGER = 2e-3
"""So many seconds a transfer is asked for again and again: between, others may have the core."""
TEXT = 1024
"""Bytes in which a rank says what it is about to do."""
TAGS = 2**15
"""So many numbers MPI lets every message have, on any system."""
CHOSEN = {"OMPI_MCA_coll_libnbc_iallreduce_algorithm": "rabenseifner"}
"""What Open MPI is told when it starts, unless the user tells it something else.

Left to itself it combines what is not to be waited for, and in place, by a tree in which each step
sends all: 10 MB between two processes took 3.6 times as long. Rabenseifner's way ("Optimization of
collective reduction operations", 2004) sends no more than a ring, in as few steps as a tree."""


def library() -> Any:
    """mpi4py's module, with MPI started; DistBackendError if there is none."""
    for name, value in CHOSEN.items():
        os.environ.setdefault(name, value)
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError, OSError) as error:  # RuntimeError: it finds no MPI library
        raise DistBackendError(f"MPI cannot be used: {error}\n{INSTALL}") from error
    if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        raise DistBackendError(
            "MPI was started without support for threads. Do not start it before wengert does, or "
            "with: import mpi4py; mpi4py.rc.thread_level = 'multiple', before mpi4py.MPI is "
            "imported."
        )
    return MPI


def revoked(MPI: Any, comm: Any) -> None:
    """End what others do in a communicator, where MPI can: a rank was lost, or leaves it."""
    with contextlib.suppress(MPI.Exception, NotImplementedError):
        comm.Revoke()


def lost_classes(MPI: Any) -> tuple[int, ...]:
    """MPI's kinds of errors for an operation of which some rank has died."""
    return MPI.ERR_PROC_FAILED, MPI.ERR_PROC_FAILED_PENDING, MPI.ERR_REVOKED


# ---- what MPI is given --------------------------------------------------------------------------

_NATIVE = {"SUM": "iufc", "PROD": "iufc", "MIN": "iu", "MAX": "iu"}
"""Kinds of numbers that MPI combines as NumPy does; of floats it may lose a NaN."""
NUMBERS = "bBhHiIlLqQfdFD"
"""Codes of the dtypes that MPI has too; of others it sees bytes."""
_OPS: dict[Any, Any] = {}


def combining(MPI: Any, op: ReduceOp, dtype: Any) -> tuple[Any, Any]:
    """MPI's type for elements, and its operation; one of our own where MPI has none."""
    key = op.mpi, dtype
    if key not in _OPS:
        kinds = _NATIVE.get(op.mpi, "iu")
        if dtype.kind in kinds and dtype.char in NUMBERS:
            _OPS[key] = MPI.Datatype.fromcode(dtype.char), getattr(MPI, op.mpi)
        else:
            element = MPI.BYTE.Create_contiguous(dtype.itemsize).Commit()
            _OPS[key] = element, MPI.Op.Create(_combine(op.function, dtype), commute=True)
    return _OPS[key]


def _combine(function: np.ufunc, dtype: Any) -> Callable[[Any, Any, Any], None]:
    def combine(source: Any, target: Any, _: Any) -> None:
        out = np.frombuffer(target, np.uint8).view(dtype)
        out[...] = function(np.frombuffer(source, np.uint8).view(dtype), out)

    return combine


def _bytes(array: Any) -> Any:
    """An array's memory, also for dtypes that MPI does not know."""
    return array.reshape(-1).view(np.uint8)


def _text(words: str) -> Any:
    """Words as others are sent them."""
    text, said = np.zeros(TEXT, np.uint8), words.encode()[:TEXT]
    text[: len(said)] = np.frombuffer(said, np.uint8)
    return text


# ---- transfers --------------------------------------------------------------------------------


class Polled(Pending):
    """A transfer that goes on when it is asked for."""

    at: Mpi
    what: Callable[[], str]
    source: int | None = None
    at_once = AT_ONCE

    def wait(self, timeout: float) -> None:
        if self.poll():
            return
        began = moved = time.monotonic()
        pause, parts = PAUSE / 100, self.parts
        while not self.poll():
            now = time.monotonic()
            if self.parts != parts:  # others are at work: who slept now would be late for the next
                moved, pause, parts = now, PAUSE / 100, self.parts
            waited = now - began
            if waited < self.at_once:
                continue
            if now - moved < EAGER and waited < timeout:
                give_way()
                continue
            if waited > timeout:
                raise self.at.late(self.what(), timeout)
            self.look()
            time.sleep(pause)
            pause = min(1.1 * pause, PAUSE)

    @property
    def parts(self) -> int:
        """How much of it is done, as far as that is known."""
        return 0

    def look(self) -> None:
        """See whether there is still something to wait for, which `poll` does not tell."""

    def drive(self) -> None:
        DRIVER.take(self)


class Shared(Polled):
    """A block in the ring of those ranks that share memory."""

    def __init__(self, at: Mpi, block: Block, call: Call, place: int) -> None:
        self.at = at
        self.block = block
        self.place = place
        self.what = call.described
        self.ring = block.ring
        self.at_once = AT_ONCE if self.ring.spins else 0.0

    def poll(self) -> bool:
        if not self.block.done:
            self._told(self.ring.go_on)
        return self.block.done

    @property
    def parts(self) -> int:
        return self.block.moved

    def look(self) -> None:
        self.at.notice(self.what)  # memory does not tell that a rank was lost
        self.at.see(self.what, self.place)

    def begin(self) -> Shared:
        self._told(self.ring.add, self.block)
        return self

    def _told(self, move: Callable[..., None], *given: Any) -> None:
        try:
            move(*given)
        except Differs as differs:
            rank, number = differs.args
            raise self.at.differs(self.what, self.at.ranks[rank], number) from None

    def wait(self, timeout: float) -> None:
        self._told(self.ring.go_on, True)
        super().wait(timeout)

    def drive(self) -> None:
        if not self.block.written:
            DRIVER.take(self)  # others read what is written when they come to it


class Room(Polled):
    """Until all have read what a rank has made in a place."""

    def __init__(self, at: Mpi, place: Place) -> None:
        self.at = at
        self.place = place
        self.what = lambda: "the sum before, which others have not read yet"

    def poll(self) -> bool:
        return self.place.free

    def look(self) -> None:
        self.at.notice(self.what)


class Transfer(Polled):
    """One or two of MPI's requests. `source` is the sender of what was received."""

    done = False
    status: Any = None
    error: DistBackendError | None = None

    def __init__(
        self,
        at: Mpi,
        request: Any,
        what: Callable[[], str],
        keep: Any,
        place: int | None = None,
        partners: Sequence[int] = (),
    ) -> None:
        self.at = at
        self.request = request
        self.what = what
        self.keep = keep  # memory that MPI reads and writes
        self.place = place  # among the group's collectives, of those that are one
        self.partners = partners  # of a message: who is to send or to receive it
        self.lock = threading.Lock()

    def poll(self) -> bool:
        with self.lock:  # whoever waits, and the thread that drives
            if self.error is not None:
                raise self.error  # MPI says it once: a request that has failed is over
            if not self.done:
                try:
                    self.done = self.request.Test(self.status)
                    if self.done:
                        self._end()
                except self.at.MPI.Exception as error:
                    self.error = self.at.failed(self.what, error)
                    raise self.error from error
                except DistBackendError as error:
                    self.error = error
                    raise
            return self.done

    def look(self) -> None:
        if self.place is not None:
            self.at.see(self.what, self.place)
        gone = self.at.board.gone(self.partners)
        if gone is not None and not self._comes():
            raise self.at.missed(self.what, gone)

    def _comes(self) -> bool:
        """Whether what was sent before its sender left is still to be had."""
        time.sleep(PAUSE)
        return self.poll()

    def _end(self) -> None:
        if self.place is not None:
            self.at.compare(self.what, self.place)
        self.keep = None
        if self.status is not None:
            self.source = self.status.Get_source()


class Requests:
    """Several of MPI's requests, as one."""

    def __init__(self, requests: list[Any]) -> None:
        self.requests = requests

    def Test(self, status: Any) -> bool:
        # One by one: MPI's test of all does not say what went wrong with one.
        self.requests = [request for request in self.requests if not request.Test()]
        return not self.requests


class Arriving:
    """A message as a request: first comes what it is, and where the rest is to be received."""

    def __init__(self, at: Mpi, array: Any, what: Callable[[], str], first: Any, head: Any) -> None:
        self.at = at
        self.array = array
        self.what = what
        self.first = first
        self.head = head
        self.rest: Any = None

    def Test(self, status: Any) -> bool:
        if self.rest is None:
            if not self.first.Test(status):
                return False
            number, _, theirs = self.head.tobytes().rstrip(b"\0").decode().partition(" ")
            source = status.Get_source()
            if theirs != form(self.array):
                self.at.end(f"rank {self.at.number} was sent something else than it had asked for")
                raise DistBackendError(
                    f"rank {self.at.number}: {self.what()}\n"
                    f"  rank {self.at.ranks[source]} sent {theirs}"
                )
            self.rest = self.at.control.Irecv(_bytes(self.array), source, int(number))
        return bool(self.rest.Test())


def give_way() -> None:
    """Let another process have the core."""
    getattr(os, "sched_yield", lambda: time.sleep(0))()


# ---- ranks --------------------------------------------------------------------------------------

PARTING = 10.0
"""So many seconds a rank waits at its end for the others, which do without it from then on."""
SURVIVES = "OMPI_MCA_mpi_ft_enable"
"""The variable by which Open MPI's mpirun says that processes are left alone when one dies."""
LOST = threading.Event()
"""Set when a rank was lost: mpirun may call an abort a success then."""


def outlives() -> bool:
    """Whether this process goes on when others die, so that MPI's own end may wait for those."""
    MPI: Any = sys.modules.get("mpi4py.MPI")
    runs = MPI is not None and MPI.Is_initialized() and not MPI.Is_finalized()
    return runs and os.environ.get(SURVIVES) == "1"


def part() -> None:
    """Wait a while until all ranks are about to end, or have died."""
    MPI = library()
    answer, deadline = np.ones(1, np.int32), time.monotonic() + PARTING
    with contextlib.suppress(MPI.Exception):  # of one that has died: all others are told at once
        request = MPI.COMM_WORLD.Iagree(answer)
        while not request.Test() and time.monotonic() < deadline:
            time.sleep(PAUSE)


def error_of(MPI: Any, error: Any) -> type[DistBackendError]:
    """The kind of error that is ours for one of MPI's: whether it says that a rank was lost."""
    if error.Get_error_class() not in lost_classes(MPI):
        return DistBackendError
    LOST.set()
    return RankLostError


class Mpi(Transport):
    """One process of a communicator."""

    def __init__(
        self, MPI: Any, comm: Any, timeout: float, ranks: Sequence[int] | None = None
    ) -> None:
        self.MPI = MPI
        self.comm = comm
        self.timeout = timeout
        self.rank = comm.Get_rank()
        self.size = comm.Get_size()
        self.ranks = range(self.size) if ranks is None else ranks
        """Their numbers among all, by which errors and the board name them."""
        self.number = self.ranks[self.rank]
        self.begins: dict[Any, tuple[int, Callable[[Call, Any, Any, int], Pending]]] = {}
        """The number of an operation that the ranks have compared, and what begins it."""
        self.cards: dict[tuple[Any, ...], int] = {}
        """Their numbers, the same on all ranks."""
        self.ring: Ring | None = None
        """Made when all ranks first come to what it can do."""
        self.at_once = {}
        self.sent = 0
        self.always = os.environ.get("WENGERT_CHECK") == "1"
        self.broken: str | None = None
        self.error: type[DistBackendError] = DistBackendError
        try:
            with _ending_after(timeout):
                self._begin()
        except MPI.Exception as error:
            revoked(MPI, comm)
            raise self.failed(lambda: "the beginning of a group", error) from error

    def _begin(self) -> None:
        self.control = self.comm.Dup()  # what compares is not mixed up with what is compared
        near = self.comm.Split_type(self.MPI.COMM_TYPE_SHARED)
        try:
            self.board = self._board(near)
        except self.MPI.Exception:
            revoked(self.MPI, near)  # others may wait for this rank
            raise
        weakref.finalize(self, self.board.leave, os.getpid())  # or when the program ends
        self.all_near = near.size == self.size
        near.Free()

    @classmethod
    def joined(cls, init_method: Any, rank: int, size: int, timeout: float, comm: Any) -> Mpi:
        with _ending_after(timeout):
            MPI = library()
        chosen, comm = comm is not None, MPI.COMM_WORLD if comm is None else comm
        told = transport.expected(size, comm.size, chosen)
        if told != comm.size or (rank >= 0 and rank != comm.rank):
            raise DistBackendError(
                f"MPI was started with {comm.size} rank(s), of which this is number {comm.rank}, "
                f"but this is to be rank {comm.rank if rank < 0 else rank} of {told}. Start the "
                f"program by: wengert run --nproc {told} {Path(sys.argv[0]).name or 'script.py'}"
            )
        if comm.size > 1:
            _end_all_with_an_error(MPI)
        request = _answered(MPI, comm, comm.Ibarrier)
        deadline = time.monotonic() + timeout
        while not _answered(MPI, comm, request.Test):
            if time.monotonic() > deadline:
                raise DistTimeoutError(
                    f"rank {comm.rank} of {comm.size} waited {timeout:g} s in init_process_group "
                    "for all ranks to come"
                )
            time.sleep(PAUSE)
        with _ending_after(timeout):
            comm = _answered(MPI, comm, comm.Dup)
        return cls(MPI, comm, timeout)

    def _board(self, near: Any) -> Board:
        memory = shared(near, Board.size(near.size))
        if memory is None:  # each rank knows of itself alone
            return Board(bytearray(Board.size(1)), [self.number], 0)
        return Board(memory, near.allgather(self.number), near.rank)

    @property
    def _shares(self) -> bool:
        """Whether ranks combine blocks in memory: few of them read it, on one machine."""
        return self.all_near and 1 < self.size <= MOST

    def _ring(self) -> Ring | None:
        """Memory in which blocks are combined, if there is some."""
        if not self._shares:
            return None
        memory = self._memory(Ring.size(self.size))
        return None if memory is None else Ring(memory, self.rank, self.size)

    def _memory(self, size: int, *where: Any) -> Any:
        """Memory that all ranks share, if there is some."""
        with _ending_after(self.timeout):
            what = lambda: "the beginning of shared memory"
            return self.begun(what, lambda: shared(self.control, size, *where))

    # ---- transfers ----

    def start(self, call: Call, send: Any, receive: Any) -> Pending:
        if self.broken is not None:
            raise self.unusable(call.described)
        key = call[:5]
        known = self.begins.get(key)
        if known is None or self.always:
            self.alike(str(call.card), call.described, call.timeout or self.timeout)
            known = self.begins[key] = self.prepared(call)
        number, begin = known
        place = self.board.note(number)
        if send is not None and receive is not None and send is not receive:
            if call.collective.mpi == "bcast":
                receive[...] = send
            elif np.may_share_memory(send, receive):
                send = send.copy()
        return begin(call, send, receive, place)

    def prepared(self, call: Call) -> tuple[int, Callable[[Call, Any, Any, int], Pending]]:
        """A collective's number, and what begins it on some memory: all ranks are about to."""
        c, ring = call.collective, None
        number = self.cards.setdefault(call.card, len(self.cards))
        if not (c.rooted or c.brings.stacked or c.gets.stacked):
            ring = self.ring = self.ring or self._ring()
        if ring is None or not ring.takes(call.op.function, call.dtype):
            begin = self.by_mpi(call)
            return number, lambda call, send, receive, place: Transfer(
                self,
                self.begun(call.described, lambda: begin(send, receive)),
                call.described,
                (send, receive),
                place,
            )
        layout = Layout(ring, number, call.block, call.dtype, call.op.function)
        at_once = None if self.always else layout.at_once(self.board)
        if at_once is not None:
            self.at_once[call.op, call.block, call.dtype] = at_once
        return number, lambda call, send, receive, place: Shared(
            self, Block(layout, send, receive), call, place
        ).begin()

    def place(self, call: Call) -> Place | None:
        if not self._shares or self.always:
            return None
        self.alike(str(call.card), call.described, self.timeout)
        (count,), dtype = call.block, call.dtype
        slots = Place.slots(count, dtype)
        memory = self._memory(Ring.size(self.size, slots, SLOT), [MEMORY])
        if memory is None:
            return None
        ring = Ring(memory, self.rank, self.size, slots, SLOT)
        number = self.cards.setdefault(call.card, len(self.cards))
        return Place(ring, number, count, dtype) if ring.takes(np.add, dtype) else None

    def make_room(self, place: Place, timeout: float) -> None:
        if not place.free:
            Room(self, place).wait(timeout)

    def start_placed(self, call: Call, place: Place, receive: Any) -> Pending:
        if self.broken is not None:
            raise self.unusable(call.described)
        return Shared(self, place.block(receive), call, self.board.note(place.number)).begin()

    def left(self, call: Call, at_once: Any) -> Pending:
        assert self.ring is not None
        block = self.ring.left(at_once.words)
        return Done() if block is None else Shared(self, block, call, self.board.count)

    def by_mpi(self, call: Call) -> Callable[[Any, Any], Any]:
        """MPI's call, from the description of the collective: a request."""
        c, dtype = call.collective, call.dtype
        start = getattr(self.comm, f"I{c.mpi}")
        named: dict[str, Any] = {"root": call.root} if c.rooted else {}
        element = self.MPI.BYTE
        if c.combines:
            element, named["op"] = combining(self.MPI, call.op, dtype)
        seen = (lambda array: array) if dtype.char in NUMBERS else _bytes
        if c.mpi == "bcast":
            return lambda send, receive: start(
                [seen(send if receive is None else receive), element], **named
            )

        def begin(send: Any, receive: Any) -> Any:
            into = None if receive is None else [seen(receive), element]
            if send is receive:
                return start(self.MPI.IN_PLACE, into, **named)
            return start(None if send is None else [seen(send), element], into, **named)

        return begin

    def alike(self, card: str, described: Callable[[], str], timeout: float) -> None:
        """See that all ranks are about to do the same; an error on all of them if not."""
        text = _text(f"{card}\0{described()}")
        texts = np.empty((self.size, TEXT), np.uint8)
        place = self.board.note(COMPARISON)  # others may have come to an operation that they know
        begin = lambda: self.control.Iallgather(text, texts)
        self.waited(described, begin, timeout, place)
        for other, row in enumerate(texts):
            if not np.array_equal(row[: len(card) + 1], text[: len(card) + 1]):
                words = row.tobytes().rstrip(b"\0").decode(errors="replace").partition("\0")[2]
                self.end(
                    f"rank {self.number} came to another operation than rank {self.ranks[other]}"
                )
                raise disagreement(described(), self.number, words, self.ranks[other])

    def send(self, array: Any, to: int, tag: int) -> Pending:
        # MPI sees bytes, and would take those of one dtype for another's.
        what = self._message(f"send of {form(array)} to rank {self.ranks[to]}")
        self.sent = (self.sent + 1) % TAGS
        head = _text(f"{self.sent} {form(array)}")
        begin = lambda: [
            self.comm.Isend(head, to, tag),
            self.control.Isend(_bytes(array), to, self.sent),
        ]
        request = Requests(self.begun(what, begin))
        return Transfer(self, request, what, (head, array), partners=[self.ranks[to]])

    def receive(self, array: Any, source: int | None, tag: int) -> Pending:
        MPI, head = self.MPI, _text("")
        whom = "any rank" if source is None else f"rank {self.ranks[source]}"
        what = self._message(f"recv of {form(array)} from {whom}")
        place = MPI.ANY_SOURCE if source is None else source
        first = self.begun(what, lambda: self.comm.Irecv(head, place, tag))
        request = Arriving(self, array, what, first, head)
        others = [rank for rank in self.ranks if rank != self.number]
        partners = others if source is None else [self.ranks[source]]
        transfer = Transfer(self, request, what, array, partners=partners)
        transfer.status = MPI.Status()
        return transfer

    def _message(self, words: str) -> Callable[[], str]:
        """What tells of a message, with the user's line; an error where there can be none."""
        at = here()
        what = lambda: f"{words}, at {line_of(*at)}"
        if self.broken is not None:
            raise self.unusable(what)
        return what

    def begun(self, what: Callable[[], str], begin: Callable[[], Any]) -> Any:
        """What MPI answers; an error of its own as one of ours."""
        try:
            return begin()
        except self.MPI.Exception as error:
            raise self.failed(what, error) from error

    def waited(
        self,
        what: Callable[[], str],
        begin: Callable[[], Any],
        timeout: float,
        place: int | None = None,
    ) -> None:
        """Begin what gives a request, and wait for that."""
        Transfer(self, self.begun(what, begin), what, None, place).wait(timeout)

    def split(self, ranks: Sequence[int], timeout: float) -> Mpi | None:
        text = f"new_group({list(ranks)})"
        what = self._message(text)
        self.alike(text, what, timeout)
        if self.number not in ranks:
            return None
        members = self.comm.Get_group().Incl(list(ranks))
        with _ending_after(timeout):
            comm = self.begun(what, lambda: self.comm.Create_group(members))
        return Mpi(self.MPI, comm, timeout, ranks)

    # ---- ranks that are lost ----

    def revoke(self) -> None:
        for comm in (self.comm, self.control):
            self.begun(lambda: "going on without a rank that was lost", comm.Revoke)

    def agreed(self, well: bool, timeout: float, comm: Any = None) -> bool:
        answer = np.array([well], np.int32)  # MPI combines all answers by `and`
        what = lambda: "an agreement on who is left"
        try:
            self.waited(what, lambda: (comm or self.comm).Iagree(answer), timeout)
        except RankLostError:
            return False  # on all ranks, as MPI promises
        return bool(answer[0])

    def shrunk(self, timeout: float) -> tuple[Mpi, list[int]]:
        comm = self.comm
        while True:
            what = lambda: "the search for the ranks that are left"
            # All have agreed, so that nobody is waited for long. Open MPI 5's Ishrink may crash.
            with _ending_after(timeout):
                comm = self.begun(what, comm.Shrink)
            smaller = None
            with contextlib.suppress(RankLostError):  # of another one, in the meantime
                smaller = Mpi(self.MPI, comm, timeout)
            if self.agreed(smaller is not None, timeout, comm) and smaller is not None:
                before = list(comm.Get_group().Translate_ranks(None, self.comm.Get_group()))
                LOST.set()
                return smaller, before

    # ---- what goes wrong ----

    def end(self, why: str) -> None:
        """The group cannot be used any more."""
        self.broken = why
        self.at_once.clear()

    def notice(self, what: Callable[[], str]) -> None:
        """An error if a rank was lost, or has left the group."""
        self.begun(what, lambda: self.control.Iprobe(self.MPI.ANY_SOURCE, self.MPI.ANY_TAG))

    def see(self, what: Callable[[], str], place: int) -> None:
        """An error if another rank has come to another operation, or will not come."""
        self.compare(what, place)
        rank = self.board.absent(place)
        if rank is not None:
            raise self.missed(what, rank)

    def missed(self, what: Callable[[], str], rank: int) -> DistBackendError:
        """The error for a rank that has left the group before it came to what others wait for."""
        self.end(
            f"rank {rank} has left the group before it came to this: its program has ended (at "
            "unequal numbers of batches, use DDP's join), or has called destroy_process_group()"
        )
        return self.unusable(what)

    def compare(self, what: Callable[[], str], place: int) -> None:
        """An error if another rank has come to another operation than this one, at a place."""
        if self.board.differing(place) is None:
            return
        time.sleep(PAUSE)  # what is counted may be seen before what it counts
        if others := self.board.differing(place):
            raise self.differs(what, *others)

    def differs(self, what: Callable[[], str], rank: int, number: int) -> DistBackendError:
        """The error for another rank that has come to the operation of that number."""
        self.end(f"rank {self.number} came to another operation than rank {rank}")
        return disagreement(what(), self.number, self.words(number), rank)

    def words(self, number: int) -> str:
        """The operation of a number, as errors show it."""
        if number == COMPARISON:
            return "an operation that is new to it"
        return next((Call.words(c) for c, n in self.cards.items() if n == number), "another one")

    def unusable(self, what: Callable[[], str]) -> DistBackendError:
        return self.error(f"rank {self.number} cannot go on with {what()}\n{self.broken}")

    def failed(self, what: Callable[[], str], error: Any) -> DistBackendError:
        """MPI's errors do not say to which rank and operation they came."""
        if error_of(self.MPI, error) is RankLostError:
            self.error = RankLostError  # and of whatever else fails after that
        lost = "A rank was lost; " if self.error is RankLostError else ""
        self.end(f"{lost}MPI said: {error}")
        return self.error(f"rank {self.number}: {what()} failed.\n{self.broken}")

    def late(self, what: str, timeout: float) -> DistTimeoutError:
        error = DistTimeoutError(
            f"rank {self.number} waited {timeout:g} s in {what}{self.board.where(self.words)}"
        )
        self.end(str(error))
        return error

    def close(self) -> None:
        self.board.leave(os.getpid())
        if self.broken is None:
            status = self.MPI.Status()
            if self.comm.Iprobe(status=status):
                sender = self.ranks[status.Get_source()]
                self.end(
                    f"rank {self.number} has left the group without having received what rank "
                    f"{sender} has sent to it"
                )
                raise DistBackendError(self.broken)
            self.control.Free()
            self.comm.Free()


@contextlib.contextmanager
def _ending_after(timeout: float) -> Iterator[None]:
    """End this process if MPI does not return in time: it may wait for ever for a rank that died.

    What begins MPI, or a group, waits in C, so that nobody can raise an error meanwhile.
    """
    if sys.__stderr__ is None:
        yield
        return
    faulthandler.dump_traceback_later(timeout, exit=True, file=sys.__stderr__)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def _answered(MPI: Any, comm: Any, ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except MPI.Exception as error:
        raise error_of(MPI, error)(
            f"rank {comm.rank} of {comm.size}: init_process_group failed: {error}"
        ) from error


def _end_all_with_an_error(MPI: Any) -> None:
    """An error that ends this process ends the others: they would wait for it."""
    before = sys.excepthook
    if getattr(before, "ends_all", False):
        return

    def hook(kind: Any, error: Any, traceback: Any) -> None:
        error.add_note(f"(on rank {MPI.COMM_WORLD.rank} of {MPI.COMM_WORLD.size})")
        with contextlib.redirect_stderr(io.StringIO()) as text:
            before(kind, error, traceback)
        sys.stderr.write(text.getvalue())  # at once, or mpirun's words come into the middle of it
        sys.stdout.flush()
        sys.stderr.flush()
        if LOST.is_set():
            part()
            os._exit(1)
        if not MPI.Is_finalized():
            MPI.COMM_WORLD.Abort(1)

    hook.ends_all = True  # type: ignore[attr-defined]
    sys.excepthook = hook
