"""Buckets of gradients, which are averaged over ranks while others are still being computed.

Parameters are put into buckets in the order in which their gradients become ready. When a gradient
is, it is copied into its bucket; a full bucket is sent, in the order of the buckets, which is the
same on all ranks. When all are back the gradients take what arrived.

Leaves get their gradients at the end of a sweep. A bucket is told earlier what arrives at them
(`autograd/watching.py`): as soon as the sweep has gone through all that they were used in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

import numpy as np

from wengert.autograd.engine import mark_written
from wengert.autograd.watching import Watcher
from wengert.distributed import objects
from wengert.distributed.collectives import COLLECTIVES, ReduceOp
from wengert.distributed.exchange import Outbox
from wengert.distributed.groups import ProcessGroup
from wengert.distributed.work import Future
from wengert.functions.joining import cat
from wengert.history import modes
from wengert.history.node import AccumulateGrad, Node
from wengert.tensor import Tensor, wrap

Hook = Callable[[Any, Any], Future]


class Bucket:
    """Gradients of some parameters one after the other; hooks are given it."""

    def __init__(self, number: int, params: Sequence[Tensor]) -> None:
        self.number = number
        self.params = list(params)
        self.last = False
        self.taken = False  # whether what has arrived are gradients now
        self.missing = len(self.params)
        self.future: Future | None = None
        self.stops: list[int] = np.cumsum([p.numel() for p in self.params]).tolist()
        self.place: Any = None
        self.outbox = Outbox(self.stops[-1], self.params[0]._array.dtype)
        self.flat: Any = None
        self.parts: dict[int, Any] = {}
        self.brought: dict[int, Any] = {}
        self.renew()

    def begin(self) -> None:
        """A backward pass begins."""
        self.missing, self.future = len(self.params), None
        if self.taken:
            self.renew()

    def renew(self) -> None:
        """Take other memory for what arrives: gradients lie in what there was, or did so far."""
        self.taken = False
        if self.place is None:
            self.brought = {}
        del self.flat, self.parts  # nobody may have it any more: then it is what is taken next
        self.flat = np.empty(self.stops[-1], self.params[0]._array.dtype)
        self.parts = self._divided(self.flat)
        if self.place is None:
            self.brought = self.parts

    def bring_by(self, place: Any) -> None:
        """Put gradients where other ranks read them; into the memory of what arrives, for None."""
        self.place = place
        self.brought = self.parts if place is None else self._divided(place.array)

    def _divided(self, flat: Any) -> dict[int, Any]:
        return {
            id(p): flat[stop - p.numel() : stop].reshape(p.shape)
            for p, stop in zip(self.params, self.stops, strict=True)
        }

    def buffer(self) -> Tensor:
        return wrap(self.flat)

    def set_buffer(self, tensor: Tensor) -> None:
        self.flat[...] = tensor._array

    def gradients(self) -> list[Tensor]:
        return [wrap(part) for part in self.parts.values()]

    def parameters(self) -> list[Tensor]:
        return self.params

    def index(self) -> int:
        return self.number

    def is_last(self) -> bool:
        return self.last


class Reducer(Watcher):
    """The buckets of a module's parameters, through one backward pass after the other."""

    def __init__(
        self,
        own: ProcessGroup,
        named: dict[str, Tensor],
        capacity: float,
        as_views: bool,
        unused: bool,
    ) -> None:
        self.own = own
        self.names = {id(p): name for name, p in named.items()}
        self.params = list(named.values())
        self.capacity = capacity
        self.as_views = as_views
        self.asks_unused = unused
        self.hook: tuple[Any, Hook] | None = None
        self.divisor = own.size()
        self.buckets: list[Bucket] = []
        self.order: list[Tensor] = []  # in which gradients became ready
        self.ordered = False
        self.expecting = False
        self.traced = False  # whether this pass is one of a program that is being written
        self.ready: set[int] = set()  # whose gradients are in their buckets
        self.ended: set[int] = set()  # with whom the sweep is done
        self.leaves: dict[Any, Tensor] = {}
        self.used: set[int] = set()
        self.fresh: set[int] = (
            set()
        )  # whose gradients nobody can have seen before they are averaged
        self.fill(reversed(self.params))
        for p in self.params:
            p.register_post_accumulate_grad_hook(self.on_ready)
        own.watch(self.renumber)

    def renumber(self) -> None:
        """Ranks were lost: average over those that are left, from the next forward pass on."""
        self.divisor = self.own.size()
        self.rest()
        self.ready.clear()
        self.ended.clear()
        self.order.clear()
        self.ordered = False
        for bucket in self.buckets:
            bucket.bring_by(None)

    def hook_by(self, state: Any, hook: Hook) -> None:
        """Average buckets by a function of the user's, which reads and writes their memory."""
        self.hook = state, hook
        for bucket in self.buckets:
            bucket.bring_by(None)

    def rest(self) -> None:
        """No backward pass is to be averaged."""
        self.expecting = False
        self.look_away()

    # ---- making buckets -------------------------------------------------------------------------

    def fill(self, params: Iterable[Tensor]) -> None:
        """Divide parameters among buckets of at most so many bytes, each of one dtype."""
        groups: list[list[Tensor]] = []
        open_: dict[Any, list[Tensor]] = {}
        for p in params:
            group = open_.get(p.dtype)
            size = sum(x._array.nbytes for x in group or ())
            if group is None or (size and size + p._array.nbytes > self.capacity):
                group = open_[p.dtype] = []
                groups.append(group)
            group.append(p)
        for bucket in self.buckets:
            bucket.outbox.close()
        self.buckets = [Bucket(k, group) for k, group in enumerate(groups)]
        self.buckets[-1].last = True
        self.bucket_of = {id(p): b for b in self.buckets for p in b.params}

    def reorder(self) -> None:
        """Buckets in the order in which gradients became ready on the first rank."""
        self.ordered = True
        places = {id(p): k for k, p in enumerate(self.params)}
        order = [[places[id(p)] for p in self.order]]
        objects.broadcast_object_list(order, group=self.own, group_src=0)
        if len(order[0]) == len(self.params):
            self.fill(self.params[k] for k in order[0])
        for bucket in self.buckets if self.hook is None else ():
            bucket.bring_by(self.own.place(bucket.flat.size, bucket.flat.dtype))

    # ---- one backward pass ----------------------------------------------------------------------

    def expect(self, outputs: list[Tensor]) -> None:
        """A forward pass is over whose backward pass is to be averaged."""
        self.begin(any(type(t._array) is not np.ndarray for t in outputs))
        if self.traced and self.asks_unused:
            self.refuse("which parameters ranks use is asked at each step.")
        if self.asks_unused:
            self.used = reached(outputs)
            for p in self.params:
                if p._node is None or id(p._node) not in self.used:
                    self.leave_out(p)

    def refuse(self, why: str) -> NoReturn:
        """Leave a step that is being compiled to be run eagerly: nothing was sent yet."""
        self.rest()
        raise NotImplementedError(f"DistributedDataParallel: {why}")

    def begin(self, traced: bool) -> None:
        if self.expecting and not self.traced and self.ended and len(self.ended) < len(self.params):
            missing = [self.names[id(p)] for p in self.params if id(p) not in self.ended]
            if not traced:  # else it is raised once more, when the step runs eagerly
                self.rest()
            raise RuntimeError(
                f"rank {self.own.number}: Expected to have finished reduction in the prior "
                f"iteration before starting a new one: no gradient came for {', '.join(missing)}. "
                "Give DistributedDataParallel(find_unused_parameters=True), or let the loss "
                "depend on all parameters."
            )
        self.expecting, self.traced = True, traced
        self.ready.clear()
        self.ended.clear()
        self.fresh.clear()
        self.leaves = {p._node: p for p in self.params if p._node is not None}
        self.watch()
        self.sent = 0
        for b in self.buckets:
            b.begin()

    def complete(self, leaf: AccumulateGrad, g: Any) -> bool:
        """All that a parameter gets has arrived: its gradient will be the average, if there was
        none and nobody else waits for it."""
        p, before = self.leaves[leaf], self.leaves[leaf]._grad
        if not self.expecting or id(p) in self.ready or type(g) is not np.ndarray:
            return False
        if before is None:
            self.share(g, self.into(p))
            self.fresh.add(id(p))
        elif np.may_share_memory(before._array, self.bucket_of[id(p)].parts[id(p)]):
            return False  # the sweep will add to this memory, which therefore cannot be sent yet
        else:
            self.share(np.add(before._array, g, out=self.into(p)), self.into(p))
        self.order.append(p)
        self.note(p)
        taken = before is None and len(leaf.post_hooks or ()) == 1
        if taken:
            self.ended.add(id(p))
        return taken

    def swept(self) -> None:
        if self.expecting and len(self.ended) == len(self.params):
            self.finish(traced=False)
        elif self.expecting and self.traced:
            self.refuse("a backward pass has left parameters without a gradient.")

    def on_ready(self, p: Tensor) -> None:
        """The hook of a parameter: the sweep has added to its gradient."""
        if not self.expecting:
            return
        if id(p) in self.ended:
            raise RuntimeError(
                f"rank {self.own.number}: Expected to mark a variable ready only once: "
                f"{self.names[id(p)]} got a second gradient since the forward pass. Call the "
                "module once for each backward pass, or accumulate under no_sync()."
            )
        if id(p) not in self.ready:
            g = p._grad
            assert g is not None
            if type(g._array) is np.ndarray:
                self.share(g._array, self.into(p))
            self.order.append(p)
            self.note(p)
        self.end(p)

    def share(self, g: Any, out: Any) -> None:
        """What a gradient adds to the average; hooks are given gradients as they are."""
        np.divide(g, self.divisor if self.hook is None else 1, out=out)

    def into(self, p: Tensor) -> Any:
        """Where the share of a parameter goes."""
        bucket = self.bucket_of[id(p)]
        if bucket.place is not None and bucket.missing == len(bucket.params):  # the first in it
            self.own.make_room(bucket.place)
        return bucket.brought[id(p)]

    def leave_out(self, p: Tensor) -> None:
        """No gradient will come for a parameter."""
        self.into(p)[...] = 0
        self.note(p)
        self.end(p)

    def note(self, p: Tensor) -> None:
        """A gradient is in its bucket: send those that are full."""
        self.ready.add(id(p))
        bucket = self.bucket_of[id(p)]
        bucket.missing -= 1
        self.traced = p._grad is not None and type(p._grad._array) is not np.ndarray
        while self.sent < len(self.buckets) and not self.buckets[self.sent].missing:
            if self.traced:
                self.exchange(self.buckets[self.sent])
            else:
                self.send(self.buckets[self.sent])
            self.sent += 1

    def end(self, p: Tensor) -> None:
        self.ended.add(id(p))
        if len(self.ended) == len(self.params):
            self.finish(self.traced)

    def send(self, bucket: Bucket) -> None:
        """Begin to average a bucket."""
        if self.hook is not None:
            state, hook = self.hook
            bucket.future = hook(state, bucket)
            return
        work = self.own.add_shares(bucket.place, bucket.flat)
        work.go_on()
        bucket.future = work.get_future()

    def exchange(self, bucket: Bucket) -> None:
        """Average a bucket within a program that is being written: as one statement."""
        if self.hook is not None:
            raise NotImplementedError(
                "hooks of register_comm_hook look at numbers, which a compiled step has not yet. "
                "Compile the step without the hook, or leave it eager."
            )
        # The large ones first: they are computed where they are sent from, from a line on.
        params = sorted(bucket.params, key=lambda p: -p.numel())
        gradients = [p._grad for p in params]
        with modes.no_grad():
            flat = cat([g.reshape(-1) for g in gradients if g is not None])
            total = bucket.outbox.sum(flat, self.own)
            parts = total.split([g.numel() for g in gradients if g is not None])
            for p, part in zip(params, parts, strict=True):
                # Divided last, where it is one loop with what follows: the update.
                p.grad = part.reshape(p.shape) / self.divisor

    def finish(self, traced: bool) -> None:
        """All buckets are under way: wait for them, and hand out what arrived."""
        self.rest()
        if traced:
            return
        somewhere = self.used_somewhere()
        for bucket in self.buckets:
            assert bucket.future is not None
            value = bucket.future.wait()
            if isinstance(value, Tensor) and value._array is not bucket.flat:
                bucket.flat[...] = value._array.reshape(-1)
            given = [
                self.hand_out(p, bucket.parts[id(p)]) for p in bucket.params if id(p) in somewhere
            ]
            bucket.taken = any(given) and not self.as_views
        if not self.ordered:
            self.reorder()
        self.order.clear()

    def used_somewhere(self) -> set[int]:
        """The parameters that got a gradient on some rank."""
        if not self.asks_unused:
            return set(self.names)
        bits = np.array([p._node is not None and id(p._node) in self.used for p in self.params])
        bits = bits.astype(np.int32)
        self.own.run(COLLECTIVES["all_reduce"], bits, bits, ReduceOp.MAX).wait()
        return {id(p) for p, bit in zip(self.params, bits, strict=True) if bit}

    def hand_out(self, p: Tensor, part: Any) -> bool:
        """Give a parameter its average; whether its gradient lies in the bucket's memory now."""
        have = p._grad
        given = have is None or self.as_views or id(p) in self.fresh
        if have is not None and not given:
            np.copyto(have._array, part)
            mark_written(have, "all_reduce")
        elif have is None or have._array is not part:
            p._grad = wrap(part)
        return given

    def shadow(self) -> None:
        """Take part in a backward pass of others, with nothing to add."""
        for bucket in self.buckets:
            bucket.begin()
            for p in bucket.params:
                self.into(p)[...] = 0
            self.send(bucket)
        self.used = set()
        self.used_somewhere()
        for bucket in self.buckets:
            assert bucket.future is not None
            bucket.future.wait()
        if not self.ordered:
            self.reorder()


def reached(outputs: list[Tensor]) -> set[int]:
    """The ids of the leaves' nodes from which tensors were computed."""
    waiting: list[Any] = [t._node for t in outputs if t._node is not None]
    seen: set[int] = set()
    leaves: set[int] = set()
    while waiting:
        edge = waiting.pop()
        node: Node = edge if isinstance(edge, Node) else edge.node
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, AccumulateGrad):
            leaves.add(id(node))
        waiting += [e for e in node.edges or () if e is not None]
    return leaves
