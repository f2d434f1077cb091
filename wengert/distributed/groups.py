"""Process groups: who belongs to them, which is the one of all, and what is under way in them.

Rank and groups belong to a process; of ranks that are threads, to a thread. A group has a number,
its key, the same on all its ranks: programs name it by that, and find the group of whoever runs
them. The key 0 is the group of all ranks.
"""

from __future__ import annotations

import itertools
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.compile.trace.world import watch
from wengert.distributed import transport
from wengert.distributed.collectives import COLLECTIVES, Collective, ReduceOp
from wengert.distributed.transport import Call, Transport
from wengert.distributed.work import Timeout, Work, seconds
from wengert.errors import DistError
from wengert.history import forks
from wengert.history.location import here
from wengert.history.surroundings import KNOWING

ALL_REDUCE = COLLECTIVES["all_reduce"]


class ProcessGroup:
    """Ranks that work together, as one of them sees them. Operations take one as `group=`."""

    def __init__(
        self, key: int, carrier: Transport, ranks: Sequence[int], timeout: float, backend: str
    ) -> None:
        self.key = key
        self.carrier = carrier
        self.ranks = tuple(ranks)
        self.timeout = timeout
        self.backend = backend
        self.ended = ""
        """Why the group can no longer be used."""
        self.underway: dict[int, Any] = {}
        """What compiled programs have started and not waited for, by tickets (`exchange.py`)."""
        self.waited: dict[Any, Any] = {}
        """How long they took and were waited for, by kinds."""
        self._watching: list[weakref.WeakMethod[Callable[[], None]]] = []

    def rank(self) -> int:
        return self.carrier.rank

    def size(self) -> int:
        return self.carrier.size

    @property
    def number(self) -> int:
        """This rank as errors name it: by its number among all, whatever it is in the group."""
        return self.ranks[self.carrier.rank]

    def name(self) -> str:
        return self.backend

    @property
    def group_name(self) -> str:
        return str(self.key)

    def __repr__(self) -> str:
        return f"<ProcessGroup {self.key}: rank {self.rank()} of {self.size()}, {self.backend}>"

    def watch(self, method: Callable[[], None]) -> None:
        """Have a bound method called whenever ranks were lost and the others are numbered anew.

        Who derives something from a group's size or rank says so here how to derive it again.
        """
        self._watching.append(weakref.WeakMethod(method))

    def renumber(self, carrier: Transport) -> None:
        """Go on with those ranks that are left."""
        self.carrier = carrier
        self.ranks = tuple(range(carrier.size))
        self._watching = [m for m in self._watching if m() is not None]
        for method in self._watching:
            if (notify := method()) is not None:
                notify()

    def usable(self, what: str) -> ProcessGroup:
        if self.ended:
            raise DistError(f"rank {self.number}: {what} in a group that {self.ended}")
        return self

    def now(self, what: str) -> ProcessGroup:
        """The group, for what is carried out in this call: in a program it would be no part."""
        if watch.active() is not None:
            raise NotImplementedError(
                f"rank {self.number}: a compiled function cannot call {what} here: it would be "
                "done while the function is compiled, and not again. Call it outside."
            )
        return self.usable(what)

    def run(
        self,
        collective: Collective,
        send: Any,
        receive: Any,
        op: ReduceOp = ReduceOp.SUM,
        root: int = 0,
        finish: Callable[[], Any] | None = None,
        timeout: float | None = None,
    ) -> Work:
        """Begin a collective on contiguous arrays; `root` is a rank in this group."""
        self.now(collective.name)
        bringer = collective.brings.rooted and root != self.rank()
        getter = collective.gets.rooted and root != self.rank()
        if bringer:
            block = receive.shape if not collective.gets.stacked else receive.shape[1:]
        else:
            block = collective.block_shape(send.shape, self.size())
        dtype = (receive if bringer else send).dtype
        call = Call(collective, op, root, block, dtype, here(), timeout)
        pending = self.carrier.start(call, None if bringer else send, None if getter else receive)
        if op is ReduceOp.AVG and collective.combines and not getter:
            finish = self._averaged(receive, finish)
        return Work(pending, finish, timeout or self.timeout)

    def run_in_place(self, collective: Collective, array: Any, op: ReduceOp, root: int) -> None:
        """Run a collective in which each rank gets what has the shape of what it brings."""
        carrier, call = self.carrier, Call(collective, op, root, array.shape, array.dtype, None)
        send = array if root == carrier.rank or not collective.brings.rooted else None
        carrier.start(call, send, array).wait(self.timeout)
        if op is ReduceOp.AVG and collective.combines:
            np.divide(array, self.size(), out=array)

    def begun_at_once(self, tensor: Any, op: ReduceOp) -> Any:
        """What has begun to combine the ranks' `tensor` by `op`, in place, if it was ready."""
        known, array = self.carrier.at_once, getattr(tensor, "_array", None)
        at_once = known.get((op, array.shape, array.dtype)) if type(array) is np.ndarray else None
        if at_once is None or not at_once.begin(tensor):
            return None
        known[op] = at_once
        return at_once

    def end_at_once(self, begun: Any, array: Any, op: ReduceOp) -> None:
        """Wait for what has `begun` until the ranks' `array` is combined by `op`."""
        if begun.end() == 1:
            call = Call(ALL_REDUCE, op, 0, array.shape, array.dtype, None)
            self.carrier.left(call, begun).wait(self.timeout)
        if op is ReduceOp.AVG:
            np.divide(array, self.size(), out=array)

    def place(self, count: int, dtype: Any, op: ReduceOp = ReduceOp.AVG) -> Any:
        """Memory that other ranks read, `.array`, for what this one brings to sums, or for its
        shares of averages; or None.
        """
        return self.carrier.place(self._shared((count,), dtype, op))

    def make_room(self, place: Any) -> None:
        """Wait until a place may be written."""
        self.usable("all_reduce")
        self.carrier.make_room(place, self.timeout)

    def add_shares(self, place: Any, receive: Any, op: ReduceOp = ReduceOp.AVG) -> Work:
        """Begin to add what ranks have made in a place, or where the sum is received."""
        self.now("all_reduce")
        call, carrier = self._shared(receive.shape, receive.dtype, op), self.carrier
        if place is None:
            pending = carrier.start(call, receive, receive)
        else:
            pending = carrier.start_placed(call, place, receive)
        return Work(pending, None, self.timeout)

    def _shared(self, shape: tuple[int, ...], dtype: Any, op: ReduceOp) -> Call:
        return Call(ALL_REDUCE, op, 0, shape, np.dtype(dtype), here())

    def _averaged(self, receive: Any, finish: Callable[[], Any] | None) -> Callable[[], Any]:
        def averaged() -> Any:
            np.divide(receive, self.size(), out=receive)
            return None if finish is None else finish()

        return averaged


KNOWING.append(ProcessGroup)  # programs name it, and ask it how many ranks there are when they run


class Member:
    """One rank: its groups by their keys, and how many there ever were."""

    def __init__(self, world: ProcessGroup) -> None:
        self.world = world
        self.groups = {0: world}
        self.count = 1
        self.names: dict[str, int] = {}


class _Thread(threading.local):
    member: Member | None = None


_thread = _Thread()
_process: list[Member] = []  # one at most


def member() -> Member | None:
    """The rank that runs here, if it has joined a group."""
    own = _thread.member
    return own or (_process[-1] if _process else None)


def joined(what: str) -> Member:
    own = member()
    if own is None:
        raise ValueError(
            f"{what}: Default process group has not been initialized, please make sure to call "
            "init_process_group before, and nothing after destroy_process_group. With the backend "
            "'threads', each thread calls it."
        )
    return own


def resolve(group: Any, what: str) -> ProcessGroup:
    """The group that an argument `group=` means, on the rank that runs here."""
    if group is None:
        own = _thread.member or (_process[-1] if _process else joined(what))
        return own.world if not own.world.ended else own.world.usable(what)
    if isinstance(group, ProcessGroup):
        return group.usable(what)
    if group is NON_MEMBER:
        raise ValueError(f"{what}: this rank is not in the group that it is given")
    raise TypeError(f"{what}: group= is a group that new_group made, not {type(group).__name__}")


def by_key(key: int, what: str) -> ProcessGroup:
    here_ = joined(what)
    if key not in here_.groups:
        raise DistError(f"{what} in a group that has been destroyed, or that this rank is not in")
    return here_.groups[key].usable(what)


class NonMember:
    """What `new_group` returns to a rank that is not in the group."""

    def __repr__(self) -> str:
        return "GroupMember.NON_GROUP_MEMBER"

    def __bool__(self) -> bool:
        return False


NON_MEMBER = NonMember()


class _WorldOf(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:
        own = member()
        return None if own is None else own.world


class GroupMember(metaclass=_WorldOf):
    """`GroupMember.WORLD` is the group of all ranks, None before `init_process_group`."""

    NON_GROUP_MEMBER = NON_MEMBER


group = GroupMember


# ---- beginning and ending ----------------------------------------------------------------------


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: Timeout = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
    *,
    comm: Any = None,
) -> None:
    """Join the group of all ranks; every rank calls this once, before anything else here.

    `backend` is "mpi" for processes started by `wengert run`, `mpirun` or `srun`, which tell the
    rank and how many there are; "ray" for actors of Ray, started by `wengert run --engine ray`; or
    "threads", where each thread is told `rank` and `world_size` (`run_threads` does both). None is
    that of the launcher, "mpi" without one. Ray's actors that a program has itself started are told
    `rank`, `world_size`, and as `init_method` a name for their meeting. With "mpi", `comm` may be a
    communicator of mpi4py's, of which a duplicate is used. `timeout` is in seconds, or a timedelta.

    Errors: DistBackendError if MPI is missing, or was started with another number of ranks than
    `world_size` or the variable WORLD_SIZE says; DistTimeoutError if some ranks do not come.
    """
    _left_out("init_process_group", "MPI finds and connects ranks itself", store, pg_options)
    if member() is not None:
        raise ValueError("trying to initialize the default process group twice!")
    name = backend or transport.named(None)
    wait = seconds(timeout)
    carrier = transport.engine(name).joined(init_method, rank, world_size, wait, comm)
    world = ProcessGroup(0, carrier, range(carrier.size), wait, name)
    if name == "threads":
        _thread.member = Member(world)
    else:
        _process.append(Member(world))


def _left_out(what: str, why: str, *given: Any) -> None:
    """NotImplementedError for what belongs to PyTorch's own transports."""
    if any(x is not None for x in given):
        raise NotImplementedError(
            f"{what}: store= and pg_options= are of PyTorch's own transports; leave them out: {why}"
        )


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """Leave a group; all of them, without an argument. They cannot be used any more."""
    here_ = joined("destroy_process_group")
    chosen = [here_.groups[k] for k in sorted(here_.groups, reverse=True)]
    if group is not None and group is not here_.world:
        chosen = [resolve(group, "destroy_process_group")]
    for left in chosen:
        left.carrier.close()
        left.ended = "has been destroyed"
        del here_.groups[left.key]
    if not here_.groups:
        if _thread.member is here_:
            _thread.member = None
        else:
            _process.remove(here_)


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: Timeout = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
) -> Any:
    """A group of some ranks. All ranks call this, in the same order, also those not in it.

    Those get `GroupMember.NON_GROUP_MEMBER`. None stands for all ranks.
    """
    _left_out("new_group", "MPI connects ranks itself", pg_options)
    if use_local_synchronization:
        raise NotImplementedError(
            "new_group: all ranks call it, also those that are not in the group; leave "
            "use_local_synchronization out"
        )
    here_ = joined("new_group")
    world = here_.world.usable("new_group")
    chosen = sorted(range(world.size()) if ranks is None else ranks)
    if len(set(chosen)) != len(chosen) or not set(chosen) <= set(range(world.size())) or not chosen:
        raise ValueError(
            f"new_group: {list(ranks or ())} are to be different ranks below {world.size()}"
        )
    if backend is not None and transport.engine(backend) is not type(world.carrier):
        raise ValueError(f"new_group: its backend is that of all ranks, {world.backend!r}")
    wait = world.timeout if timeout is None else seconds(timeout)
    key, here_.count = here_.count, here_.count + 1
    carrier = world.carrier.split(chosen, wait)
    if carrier is None:
        return NON_MEMBER
    group = here_.groups[key] = ProcessGroup(key, carrier, chosen, wait, world.backend)
    return group


def new_subgroups(group_size: int | None = None, group: Any = None, **settings: Any) -> Any:
    """Groups of `group_size` neighbours each: the one of this rank, and all of them."""
    if group is not None and resolve(group, "new_subgroups") is not joined("new_subgroups").world:
        raise NotImplementedError(
            "new_subgroups divides all ranks; for those of a group name them: "
            "new_subgroups_by_enumeration"
        )
    size = get_world_size()
    if group_size is None or group_size < 1 or size % group_size:
        raise ValueError(f"new_subgroups: group_size={group_size} does not divide {size} ranks")
    chosen = [range(k, k + group_size) for k in range(0, size, group_size)]
    return new_subgroups_by_enumeration(chosen, **settings)


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]],
    timeout: Timeout = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> Any:
    """The group of this rank, and all that were made."""
    _left_out("new_subgroups", "MPI connects ranks itself", pg_options)
    groups = [new_group(ranks, timeout, backend) for ranks in ranks_per_subgroup_list]
    mine = next((g for g in groups if isinstance(g, ProcessGroup)), None)
    return mine, groups


# ---- ranks that are lost -------------------------------------------------------------------------


def agreed(well: bool) -> bool:
    """Whether all ranks say that all is well and none is lost: the same answer on all of them.

    A rank that says no does so because one was lost; what the others have under way fails then.
    """
    here_ = joined("agreed")
    if not well:
        for group in here_.groups.values():
            group.carrier.revoke()
    return here_.world.carrier.agreed(well, here_.world.timeout)


def go_on() -> list[int]:
    """Make the ranks that are left the group of all; the numbers that they had before.

    All that are left call this, after `agreed` has said no. Groups of some ranks end.
    """
    here_ = joined("go_on")
    carrier, before = here_.world.carrier.shrunk(here_.world.timeout)
    for key in [k for k in here_.groups if k]:
        here_.groups.pop(key).ended = "was made before ranks were lost. Make it anew"
    here_.world.renumber(carrier)
    return before


# ---- questions -----------------------------------------------------------------------------------


def is_available() -> bool:
    """Whether ranks can work together here: as threads, always."""
    return True


def is_initialized() -> bool:
    """Whether this rank has joined the group of all."""
    return member() is not None


def is_mpi_available() -> bool:
    """Whether mpi4py and an MPI are installed."""
    from importlib.util import find_spec

    return find_spec("mpi4py") is not None


def is_gloo_available() -> bool:
    """PyTorch's transport between processors: MPI takes its place, and its name."""
    return is_mpi_available()


def is_nccl_available() -> bool:
    """Transports between GPUs: there are no arrays on them."""
    return False


is_ucc_available = is_xccl_available = is_nccl_available


def is_torchelastic_launched() -> bool:
    """Whether `wengert run` (or torchrun) started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def is_backend_available(backend: str) -> bool:
    return transport.named(backend) in transport.ENGINES


def get_rank(group: Any = None) -> int:
    """This rank's number in a group; -1 if it is not in it, 0 before there is one.

    >>> get_rank(), get_world_size()
    (0, 1)
    """
    if group is NON_MEMBER:
        return -1
    return resolve(group, "get_rank").rank() if group is not None or member() else 0


def get_world_size(group: Any = None) -> int:
    """How many ranks a group has; -1 if this one is not in it, 1 before there is one."""
    if group is NON_MEMBER:
        return -1
    return resolve(group, "get_world_size").size() if group is not None or member() else 1


def get_backend(group: Any = None) -> str:
    return resolve(group, "get_backend").backend


def get_process_group_ranks(group: Any = None) -> list[int]:
    """The ranks of a group, as they count among all."""
    return list(resolve(group, "get_process_group_ranks").ranks)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The number among all ranks of a rank in a group."""
    return resolve(group, "get_global_rank").ranks[group_rank]


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The number in a group of a rank of all; ValueError if it is not in it."""
    ranks = resolve(group, "get_group_rank").ranks
    if global_rank not in ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return ranks.index(global_rank)


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """This rank's number among those on its machine, as LOCAL_RANK says."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is None:
        raise RuntimeError("LOCAL_RANK is not in the environment. wengert run sets it.")
    return int(fallback_rank)


def get_pg_count() -> int:
    own = member()
    return 0 if own is None else len(own.groups)


# ---- ranks that are threads --------------------------------------------------------------------


def run_threads(
    function: Callable[..., Any], world_size: int, *args: Any, timeout: Timeout = None
) -> list[Any]:
    """Run `function(*args)` on so many ranks, as threads of this process; their results.

    Each thread is in a group of the backend "threads" before the function begins. If one ends with
    an error, the others stop at their next operation, and that error is raised. One that calls
    `sys.exit` is lost to the others as a process is that was killed: if they go on without it
    (`elastic.run`) and end well, None stands for its result.

    >>> from wengert import distributed as dist
    >>> import wengert as wg
    >>> def work():
    ...     x = wg.tensor([1.0, 2.0]) * (dist.get_rank() + 1)
    ...     dist.all_reduce(x)
    ...     return x.tolist()
    >>> dist.run_threads(work, 3)
    [[6.0, 12.0], [6.0, 12.0], [6.0, 12.0]]
    """
    results: list[Any] = [None] * world_size
    errors: dict[int, BaseException] = {}
    left_behind: dict[int, Any] = {}
    where = f"run_threads {next(_RUNS)}"

    def run(rank: int) -> None:
        try:
            init_process_group("threads", where, timeout, world_size, rank)
            results[rank] = function(*args)
            if _thread.member is not None:
                destroy_process_group()
        except BaseException as error:
            errors[rank] = error
            if (own := _thread.member) is not None:
                if isinstance(error, SystemExit):
                    left_behind[rank] = own.world.carrier
                for group in own.groups.values():
                    group.carrier.fail(error)
        finally:
            if _thread.member is not None:
                destroy_process_group()

    threads = [
        threading.Thread(target=run, args=(r,), name=f"rank {r}", daemon=True)
        for r in range(world_size)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for rank, error in errors.items():  # the first to come is the cause of the others
        if rank not in left_behind or not left_behind[rank].left_behind:
            error.add_note(f"(on rank {rank} of {world_size})")
            raise error
    return results


_RUNS = itertools.count()


def _forked() -> None:
    for left in _process:
        for group in left.groups.values():
            group.ended = (
                "belongs to another process: this one was forked after MPI's start. Fork before "
                "init_process_group, or start processes by 'spawn'"
            )


forks.in_child(_forked)
