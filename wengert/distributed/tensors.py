"""Collectives that write into tensors, by PyTorch's names.

Each names the collective, what this rank brings, and where what it gets is written: a tensor, or a
list of one for each rank. Blocks travel from and into the tensors' own memory, where that is in one
piece. What is brought with a history, or in a program, is exchanged as a function with a
derivative (`functional.py`), and the result is written as any other in-place write is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.autograd.engine import mark_written
from wengert.compile.trace.world import watch
from wengert.distributed import groups
from wengert.distributed.collectives import COLLECTIVES, Collective, ReduceOp, part_of
from wengert.distributed.functional import exchanged
from wengert.distributed.groups import ProcessGroup
from wengert.distributed.transport import Done
from wengert.distributed.work import Timeout, Work, seconds
from wengert.errors import DistError, GradError
from wengert.functions.creation import zeros_like
from wengert.functions.joining import stack
from wengert.history import modes
from wengert.tensor import Tensor, is_leaf, wrap

End = Tensor | Sequence[Tensor]
"""What a rank brings or gets: one tensor, or the blocks of a stack one by one."""


def exchange_into(
    name: str,
    own: ProcessGroup,
    brings: End | None,
    gets: End | None,
    op: Any = ReduceOp.SUM,
    root: int = 0,
    async_op: bool = False,
) -> Work | None:
    """Run a collective on this rank: an end is None where this rank has no part in it."""
    if not isinstance(op, ReduceOp):
        raise TypeError(f"op= is one of {[f'ReduceOp.{o.name}' for o in ReduceOp]}, not {op!r}")
    collective = COLLECTIVES[name]
    alone = brings is gets and not async_op and watch.active() is None
    if alone and isinstance(brings, Tensor) and _is_plain(brings):
        own.run_in_place(collective, brings._array, op, root)
        mark_written(brings, name)
        return None
    for end, side in ((brings, collective.brings), (gets, collective.gets)):
        if end is not None:
            _check(name, own, end, side.stacked)
    brought = _listed(brings)
    if _is_recorded(brought, _listed(gets)):
        _record(collective, own, brings, gets, op, root, async_op)
        return None
    send = _outgoing(brings)
    block = _block(collective, brings, gets)
    dtype = (brought or _listed(gets))[0]._array.dtype
    receive = None if gets is None else _incoming(gets, collective.gets_shape(block, own.size()))
    if receive is None and collective.gets.stacked is False:
        receive = send  # a rank that gets nothing: its shape says what the block is
    if receive is not None and receive.dtype != dtype:
        raise DistError(
            f"rank {own.number}: {name} of {dtype} is to be written into {receive.dtype}"
        )
    work = own.run(collective, send, receive, op, root, lambda: _written(gets, receive, name))
    return waited(work, async_op)


def waited(work: Work, async_op: bool) -> Work | None:
    """Wait for an operation, or let it go on and return it."""
    if async_op:
        work.go_on()
        return work
    work.wait()
    return None


def _listed(end: End | None) -> list[Tensor]:
    if end is None:
        return []
    return [end] if isinstance(end, Tensor) else list(end)


def _check(name: str, own: ProcessGroup, end: Any, stacked: bool = False) -> None:
    """An end is a tensor, or where there is a stack, as many tensors of one shape as ranks."""
    tensors = end if stacked and not isinstance(end, Tensor) else [end]
    for t in tensors:
        if not isinstance(t, Tensor):
            raise TypeError(
                f"rank {own.number}: {name} takes tensors, not {type(t).__name__}. "
                "wg.from_numpy(x) is one in the memory of a NumPy array; objects go by "
                "all_gather_object and its like."
            )
    shapes = {tuple(t.shape) for t in tensors}
    if tensors is end and (len(tensors) != own.size() or len(shapes) > 1):
        raise DistError(
            f"rank {own.number}: {name} takes one tensor for each of {own.size()} ranks, all of "
            f"one shape, but was given {len(end)} of shapes {sorted(map(list, shapes))}."
        )


def _is_recorded(brought: list[Tensor], gets: list[Tensor]) -> bool:
    """Whether what is brought has a derivative that somebody may ask for, or no numbers yet."""
    if watch.active() is not None or any(type(t._array) is not np.ndarray for t in brought):
        return True
    own = {id(t) for t in gets}
    return modes.is_grad_enabled() and any(
        t.requires_grad and not (is_leaf(t) and id(t) in own) for t in brought
    )


def _record(
    collective: Collective,
    own: ProcessGroup,
    brings: Any,
    gets: Any,
    op: ReduceOp,
    root: int,
    async_op: bool,
) -> None:
    name = collective.name
    if async_op:
        raise GradError(
            f"rank {own.number}: {name} with async_op=True is not recorded. Call it on "
            "x.detach(), or without async_op."
        )
    if collective.gets.rooted and modes.is_grad_enabled() and _has_history(brings):
        raise GradError(
            f"rank {own.number}: {name} writes on one rank only, so that the others would have "
            f"nothing to differentiate. Use wengert.distributed.functional.{name}, or x.detach()."
        )
    if brings is None:  # it is the root that does; the others say how large a block is
        brings = [zeros_like(gets)] * own.size()
    x = brings if isinstance(brings, Tensor) else stack(list(brings))
    y = exchanged(x, name, own, own.ranks[root], op)
    if gets is None or (collective.gets.rooted and own.rank() != root):
        return
    pairs = [(gets, y)] if isinstance(gets, Tensor) else zip(gets, y.unbind(0), strict=True)
    for target, part in pairs:
        # A leaf takes values, as it does from an optimizer.
        with modes.set_grad_enabled(
            modes.is_grad_enabled() and not (target.requires_grad and is_leaf(target))
        ):
            target.copy_(part)


def _has_history(brings: Any) -> bool:
    return any(t.requires_grad for t in _listed(brings))


def _outgoing(brings: End | None) -> Any:
    """What is brought, in one piece of memory."""
    if brings is None:
        return None
    if isinstance(brings, Tensor):
        return np.require(brings._array, requirements=("C", "A"))
    return np.stack([t._array for t in brings])


def _block(collective: Collective, brings: Any, gets: Any) -> tuple[int, ...]:
    """The shape of a block, which each of the ends shows."""
    end, side = (gets, collective.gets) if brings is None else (brings, collective.brings)
    if not isinstance(end, Tensor):
        return tuple(end[0].shape)
    return tuple(end.shape[1:]) if side.stacked else tuple(end.shape)


def _incoming(gets: End, shape: tuple[int, ...]) -> Any:
    """Where to receive: the tensor's own memory, if it is in one piece."""
    first = _listed(gets)[0]._array
    if isinstance(gets, Tensor) and first.shape == shape and _in_one_piece(first):
        return first
    for t in _listed(gets):
        expected = shape if isinstance(gets, Tensor) else shape[1:]
        if tuple(t.shape) != expected:
            raise DistError(
                f"what is received has shape {list(expected)}, and is to be written into a tensor "
                f"of shape {list(t.shape)}"
            )
    return np.empty(shape, first.dtype)


def _is_plain(tensor: Tensor) -> bool:
    """Whether a tensor's memory can be overwritten as it is: a short way, for small messages."""
    array = tensor._array
    if type(array) is not np.ndarray or (tensor._node is not None and not is_leaf(tensor)):
        return False
    return array.flags.carray


def _in_one_piece(array: Any) -> bool:
    return type(array) is np.ndarray and array.flags.carray  # aligned and writeable, too


def _written(gets: End | None, receive: Any, name: str) -> list[Tensor]:
    """Write down that tensors were received into; copy what lies elsewhere."""
    if gets is None:
        return []
    if isinstance(gets, Tensor) and gets._array is receive:
        mark_written(gets, name)
        return [gets]
    targets = _listed(gets)
    with modes.no_grad():
        for target, part in zip(targets, [receive] if gets is targets[0] else receive, strict=True):
            target.copy_(wrap(part))
    return targets


# ---- one tensor to and from each ----------------------------------------------------------------


def all_reduce(
    tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Combine the ranks' tensors, in place on all ranks: x = sum over ranks of x.

    With `async_op` it returns a `Work`; the tensor is not to be used before its `wait()`. Errors:
    DistBackendError if ranks bring different shapes or dtypes, DistTimeoutError if one is missing.
    """
    own = groups.resolve(group, "all_reduce")
    # For small messages what is asked here is most of the time that they take.
    if not async_op and not watch.CAPTURES:
        at_once = own.carrier.at_once.get(op)
        if at_once is None or not at_once.begin(tensor):  # another tensor than the last
            at_once = own.begun_at_once(tensor, op)
        if at_once is not None:
            mark_written(tensor, "all_reduce")  # while the others come
            if at_once.end() == 1 or op is ReduceOp.AVG:
                own.end_at_once(at_once, tensor._array, op)
            return None
    return exchange_into("all_reduce", own, tensor, tensor, op, 0, async_op)


def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Give all ranks the tensor of rank `src`, in place."""
    own = groups.resolve(group, "broadcast")
    root = place(own, src, group_src, "src")
    return exchange_into("broadcast", own, tensor, tensor, ReduceOp.SUM, root, async_op)


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Combine the ranks' tensors, in place on rank `dst`; the others' stay as they are."""
    own = groups.resolve(group, "reduce")
    root = place(own, dst, group_dst, "dst")
    gets = tensor if own.rank() == root else None
    return exchange_into("reduce", own, tensor, gets, op, root, async_op)


def all_gather(
    tensor_list: Sequence[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Write the tensors of all ranks into a list, on all ranks."""
    own = groups.resolve(group, "all_gather")
    return exchange_into("all_gather", own, tensor, list(tensor_list), async_op=async_op)


def gather(
    tensor: Tensor,
    gather_list: Sequence[Tensor] | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Write the tensors of all ranks into a list, on rank `dst`; others give no list."""
    own = groups.resolve(group, "gather")
    root = place(own, dst, group_dst, "dst", 0)
    gets = only_at_root(own, root, gather_list, "gather_list")
    return exchange_into("gather", own, tensor, gets, ReduceOp.SUM, root, async_op)


def scatter(
    tensor: Tensor,
    scatter_list: Sequence[Tensor] | None = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Give each rank its tensor of the list of rank `src`; others give no list."""
    own = groups.resolve(group, "scatter")
    root = place(own, src, group_src, "src", 0)
    brings = only_at_root(own, root, scatter_list, "scatter_list")
    return exchange_into("scatter", own, brings, tensor, ReduceOp.SUM, root, async_op)


def reduce_scatter(
    output: Tensor,
    input_list: Sequence[Tensor],
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Combine, for each rank, what all ranks have for it in their lists."""
    own = groups.resolve(group, "reduce_scatter")
    return exchange_into("reduce_scatter", own, list(input_list), output, op, 0, async_op)


# ---- one tensor for all -------------------------------------------------------------------------


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Write the tensors of all ranks one after the other into one, along the first dimension."""
    own = groups.resolve(group, "all_gather_into_tensor")
    output = stacked(own, output_tensor, input_tensor, "all_gather_into_tensor")
    return exchange_into("all_gather", own, input_tensor, output, async_op=async_op)


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Combine the ranks' inputs; each rank gets its part along the first dimension."""
    own = groups.resolve(group, "reduce_scatter_tensor")
    parts = stacked(own, input, output, "reduce_scatter_tensor")
    return exchange_into("reduce_scatter", own, parts, output, op, 0, async_op)


def stacked(own: ProcessGroup, whole: Tensor, part: Tensor, what: str) -> Tensor:
    """A tensor of one block for each rank, as a stack of blocks of the shape of `part`."""
    shape = (own.size(), *part.shape)
    joined = (own.size() * part.shape[0], *part.shape[1:]) if part.ndim else (own.size(),)
    if tuple(whole.shape) not in (shape, joined):
        raise DistError(
            f"rank {own.number}: {what} with parts of shape {list(part.shape)} takes a tensor of "
            f"shape {list(joined)} or {list(shape)}, not {list(whole.shape)}"
        )
    return whole if tuple(whole.shape) == shape else whole.view(shape)


def place(
    own: ProcessGroup,
    given: int | None,
    in_group: int | None,
    name: str,
    default: int | None = None,
) -> int:
    """The root by its number in the group, given as that or as its number among all ranks."""
    if given is not None and in_group is not None:
        raise ValueError(f"Can't specify both group_{name} and {name}")
    if in_group is None:
        given = default if given is None else given
        if given is None:
            raise ValueError(f"Must specify {name} or group_{name}")
        return groups.get_group_rank(own, given)
    if not 0 <= in_group < own.size():
        raise ValueError(
            f"rank {own.number}: group_{name}={in_group} is not a rank of a group of {own.size()}"
        )
    return in_group


def only_at_root(own: ProcessGroup, root: int, given: Any, name: str) -> Any:
    """A list that the root has to give, and nobody else may."""
    if own.rank() == root:
        if not given:
            raise ValueError(f"rank {own.number}: argument {name} must be specified on this rank")
        return list(given)
    if given:
        raise ValueError(f"rank {own.number}: argument {name} must not be given on this rank")
    return None


# ---- all to all ---------------------------------------------------------------------------------


def all_to_all(
    output_tensor_list: Sequence[Tensor],
    input_tensor_list: Sequence[Tensor],
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Send the i-th tensor of a list to rank i. Their shapes may differ.

    The lengths are agreed on first; `all_to_all_single` with equal parts is one message.
    """
    own = groups.resolve(group, "all_to_all")
    return _ragged(own, list(output_tensor_list), list(input_tensor_list), async_op)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Divide a tensor along its first dimension, and send the i-th part to rank i.

    Without sizes the parts are equal; all ranks give sizes, or none.
    """
    own = groups.resolve(group, "all_to_all_single")
    if output_split_sizes or input_split_sizes:
        parts = [
            list(t.split(list(sizes or [t.shape[0] // own.size()] * own.size())))
            for t, sizes in ((output, output_split_sizes), (input, input_split_sizes))
        ]
        return _ragged(own, parts[0], parts[1], async_op)
    size = own.size()
    for name, t in (("output", output), ("input", input)):
        if not t.ndim or t.shape[0] % size:
            raise DistError(
                f"rank {own.number}: all_to_all_single divides the first dimension of its {name} "
                f"by {size}, but the shape is {list(t.shape)}. Give split sizes."
            )
    ends = [t.view(size, t.shape[0] // size, *t.shape[1:]) for t in (input, output)]
    return exchange_into("all_to_all", own, ends[0], ends[1], async_op=async_op)


def _ragged(
    own: ProcessGroup, outputs: list[Tensor], inputs: list[Tensor], async_op: bool
) -> Work | None:
    """Parts of different lengths, made as long as the longest of all ranks."""
    for parts in (outputs, inputs):
        if len(parts) != own.size():
            raise DistError(
                f"rank {own.number}: all_to_all takes one tensor for each of {own.size()} ranks, "
                f"but was given {len(parts)}"
            )
    n = _agreed_lengths(own, outputs, inputs)
    sent = [_lengthened(t, n) for t in inputs]
    got = [_lengthened(t.detach(), n) for t in outputs]
    exchange_into("all_to_all", own, sent, got)
    for target, part in zip(outputs, got, strict=True):
        target.copy_(part[: target.numel()].view(target.shape))
    return Work(Done(), lambda: outputs) if async_op else None


def _agreed_lengths(own: ProcessGroup, outputs: list[Tensor], inputs: list[Tensor]) -> int:
    """The longest part of all ranks; DistError, on all, if one expects another than it is sent."""
    mine = np.array([[t.numel() for t in inputs], [t.numel() for t in outputs]])
    lengths = np.empty((own.size(), *mine.shape), mine.dtype)
    own.run(part_of("all_to_all", COLLECTIVES["all_gather"]), mine, lengths).wait()
    sent, expected = lengths[:, 0], lengths[:, 1].T
    for source, to in np.argwhere(sent != expected):
        raise DistError(
            f"rank {own.number}: all_to_all: rank {own.ranks[source]} sends {sent[source, to]} "
            f"numbers to rank {own.ranks[to]}, which expects {expected[source, to]}"
        )
    return int(lengths.max())


def _lengthened(t: Tensor, n: int) -> Tensor:
    flat = t.reshape(-1)
    padded = flat.new_zeros(n)
    padded[: flat.shape[0]] = flat
    return padded


# ---- waiting for each other ---------------------------------------------------------------------

MEETING = Collective("barrier", "x -> x", "allreduce")


def barrier(
    group: Any = None, async_op: bool = False, device_ids: Any = None, timeout: Timeout = None
) -> Work | None:
    """Wait until all ranks of the group have come here."""
    own = groups.resolve(group, "barrier")
    token = np.zeros(1, np.int32)
    within = None if timeout is None else seconds(timeout)
    return waited(own.run(MEETING, token, token, timeout=within), async_op)


def monitored_barrier(
    group: Any = None, timeout: Timeout = None, wait_all_ranks: bool = False
) -> None:
    """A barrier that says which ranks did not come, and where they are; all of them, always."""
    barrier(group, timeout=timeout)


# ---- from one rank to another -------------------------------------------------------------------


def isend(
    tensor: Tensor,
    dst: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> Work:
    """Begin to send a tensor to a rank, which receives it."""
    own = groups.resolve(group, "isend").now("send")
    to = place(own, dst, group_dst, "dst")
    array = np.asarray(_numbers(own, tensor, "send"), order="C")
    if to == own.rank():
        raise ValueError(f"rank {own.number} sends to itself")
    return Work(own.carrier.send(array, to, tag), lambda: [tensor], own.timeout)


def irecv(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_src: int | None = None,
) -> Work:
    """Begin to receive into a tensor what a rank sends; any rank, without `src`."""
    own = groups.resolve(group, "irecv").now("recv")
    anybody = src is None and group_src is None
    source = None if anybody else place(own, src, group_src, "src")
    array = _numbers(own, tensor, "recv")
    into = array if _in_one_piece(array) else np.empty(array.shape, array.dtype)
    pending = own.carrier.receive(into, source, tag)
    return Work(pending, lambda: _written(tensor, into, "recv"), own.timeout)


def send(
    tensor: Tensor,
    dst: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> None:
    """Send a tensor to a rank, which receives it."""
    isend(tensor, dst, group, tag, group_dst).wait()


def recv(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_src: int | None = None,
) -> int:
    """Receive a tensor in place; the sender's rank, among all."""
    own = groups.resolve(group, "recv")
    return own.ranks[irecv(tensor, src, group, tag, group_src).source_rank()]


def _numbers(own: ProcessGroup, tensor: Tensor, what: str) -> Any:
    _check(what, own, tensor)
    if type(tensor._array) is not np.ndarray:
        raise DistError(
            f"rank {own.number}: {what} has no meaning in a compiled program or a vmap. "
            "Collectives have: wengert.distributed.functional."
        )
    return tensor._array


class P2POp:
    """One of the operations of `batch_isend_irecv`: `isend` or `irecv`, and its arguments."""

    def __init__(
        self,
        op: Any,
        tensor: Tensor,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError("P2POp: op is wengert.distributed.isend or irecv")
        self.op = op
        self.tensor = tensor
        self.peer = peer
        self.group = group
        self.tag = tag
        self.group_peer = group_peer


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Begin several sends and receives; what to wait for."""
    return [p.op(p.tensor, p.peer, p.group, p.tag, p.group_peer) for p in p2p_op_list]
