"""Collectives of Python objects: pickled, and sent as arrays of bytes of one length.

Unpickling runs code: these are for ranks that trust each other.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.distributed import groups
from wengert.distributed.collectives import COLLECTIVES, ReduceOp, part_of
from wengert.distributed.groups import ProcessGroup
from wengert.distributed.tensors import place


def _exchanged(
    own: ProcessGroup, name: str, called: str, objects: Sequence[Any], root: int = 0
) -> list[Any]:
    """The objects that this rank gets in a collective to which it brings some."""
    collective = part_of(called, COLLECTIVES[name])
    texts = [np.frombuffer(pickle.dumps(x), np.uint8) for x in objects]
    length = np.array([max((len(t) for t in texts), default=0)])
    own.run(part_of(called, COLLECTIVES["all_reduce"]), length, length, ReduceOp.MAX).wait()
    block = (int(length[0]),)
    send = np.zeros((own.size(), *block) if collective.brings.stacked else block, np.uint8)
    for row, text in zip(send if collective.brings.stacked else send[None], texts, strict=False):
        row[: len(text)] = text  # a pickle says itself where it ends
    receive = np.zeros(collective.gets_shape(block, own.size()), np.uint8)
    own.run(collective, send, receive, root=root).wait()
    if collective.gets.rooted and own.rank() != root:
        return []
    return [pickle.loads(row.tobytes()) for row in receive.reshape(-1, *block)]


def everyones(own: ProcessGroup, called: str, obj: Any) -> list[Any]:
    """What each rank of a group brings, in the name of who asks for it: nobody else's call of
    objects is taken for that.
    """
    return _exchanged(own, "all_gather", called, [obj])


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Write the objects of all ranks into a list, on all ranks.

    >>> from wengert import distributed as dist
    >>> def work():
    ...     found = [None] * 2
    ...     all_gather_object(found, {"rank": dist.get_rank()})
    ...     return found
    >>> dist.run_threads(work, 2)[1]
    [{'rank': 0}, {'rank': 1}]
    """
    own = groups.resolve(group, "all_gather_object")
    object_list[:] = everyones(own, "all_gather_object", obj)


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
) -> None:
    """Write the objects of all ranks into a list, on rank `dst`."""
    own = groups.resolve(group, "gather_object")
    root = place(own, dst, group_dst, "dst", 0)
    if (object_gather_list is not None) != (own.rank() == root):
        raise ValueError(
            f"rank {own.number}: object_gather_list is for rank {own.ranks[root]}, which has one"
        )
    objects = _exchanged(own, "gather", "gather_object", [obj], root)
    if object_gather_list is not None:
        object_gather_list[:] = objects


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """Give all ranks the objects in the list of rank `src`, in place."""
    own = groups.resolve(group, "broadcast_object_list")
    root = place(own, src, group_src, "src", 0)
    mine = [object_list] if own.rank() == root else []
    object_list[:] = _exchanged(own, "broadcast", "broadcast_object_list", mine, root)[0]


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """Give each rank its object of the list of rank `src`: it becomes the first of the output."""
    own = groups.resolve(group, "scatter_object_list")
    root = place(own, src, group_src, "src", 0)
    mine: Any = scatter_object_input_list if own.rank() == root else []
    if own.rank() == root and len(mine or ()) != own.size():
        raise ValueError(f"rank {own.number}: scatter_object_input_list has one for each rank")
    scatter_object_output_list[0] = _exchanged(own, "scatter", "scatter_object_list", mine, root)[0]


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Any = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Send objects to a rank."""
    own = groups.resolve(group, "send_object_list").now("send")
    to = place(own, dst, group_dst, "dst")
    text = np.frombuffer(pickle.dumps(list(object_list)), np.uint8)
    for array in (np.array([len(text)]), text):
        own.carrier.send(array, to, _TAG).wait(own.timeout)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Receive objects in place; the sender's rank, among all. Any sender, without `src`."""
    own = groups.resolve(group, "recv_object_list").now("recv")
    anybody = src is None and group_src is None
    length = np.zeros(1, np.int64)
    first = own.carrier.receive(
        length, None if anybody else place(own, src, group_src, "src"), _TAG
    )
    first.wait(own.timeout)
    source: int = first.source  # type: ignore[attr-defined]
    text = np.empty(int(length[0]), np.uint8)
    own.carrier.receive(text, source, _TAG).wait(own.timeout)
    object_list[:] = pickle.loads(text.tobytes())
    return own.ranks[source]


def shifted(obj: Any, own: ProcessGroup) -> Any:
    """The object of the rank before this one; the first rank gets that of the last."""
    text = np.frombuffer(pickle.dumps(obj), np.uint8)
    length = _passed_on(np.array([len(text)]), np.zeros(1, np.int64), own)
    return pickle.loads(_passed_on(text, np.empty(int(length[0]), np.uint8), own).tobytes())


def _passed_on(array: Any, into: Any, own: ProcessGroup) -> Any:
    sent = own.carrier.send(array, (own.rank() + 1) % own.size(), _TAG)
    own.carrier.receive(into, (own.rank() - 1) % own.size(), _TAG).wait(own.timeout)
    sent.wait(own.timeout)
    return into


_TAG = 32767
"""The tag of objects: MPI promises tags up to this one. Tensors may use it too, if not at once."""
