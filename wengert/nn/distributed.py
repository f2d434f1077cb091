"""Data parallelism between processes: each rank has the module, and a share of the data.

`buckets.py` averages the gradients; here is the module around the module.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wengert import tree
from wengert.distributed import groups, objects, tensors
from wengert.distributed.collectives import COLLECTIVES
from wengert.distributed.hooks import allreduce_hook
from wengert.errors import DistError
from wengert.functions.joining import cat
from wengert.history import modes
from wengert.nn.buckets import Reducer
from wengert.nn.module import Module
from wengert.tensor import Tensor

MEGABYTE = 1024 * 1024


class DistributedDataParallel(Module):
    """A module of which each rank has a copy: its gradients are the averages over the ranks.

    All copies begin with rank 0's parameters and buffers. A backward pass puts gradients into
    buckets of `bucket_cap_mb`, which are averaged as they fill; afterwards each `.grad` is
    1/p sum over ranks of their gradients, the same bits on all. With `find_unused_parameters`
    a rank's loss need not depend on all parameters; `static_graph` says that it is the same ones
    each time. With `gradient_as_bucket_view` gradients lie in the buckets. `broadcast_buffers`
    gives all ranks rank 0's buffers before each forward pass in training.

    Errors: DistError if the ranks' parameters differ in number, name, shape or dtype; RuntimeError
    in the next forward pass if a parameter got no gradient.

    >>> import wengert as wg
    >>> from wengert import distributed as dist
    >>> def work():
    ...     net = DistributedDataParallel(wg.nn.Linear(1, 1, bias=False))
    ...     net(wg.tensor([[1.0 + dist.get_rank()]])).sum().backward()
    ...     return net.module.weight.grad.item()
    >>> dist.run_threads(work, 2)
    [1.5, 1.5]
    """

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool = True,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
    ) -> None:
        super().__init__()
        if device_ids and len(device_ids) > 1:
            raise ValueError("DistributedDataParallel: a rank is one process, with one device")
        if dim:
            raise NotImplementedError("DistributedDataParallel: a batch is shared along dim=0")
        named: dict[str, Tensor] = {n: p for n, p in module.named_parameters() if p.requires_grad}
        if not named:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter "
                "that requires a gradient."
            )
        own = groups.resolve(process_group, "DistributedDataParallel")
        self.module = module
        self.process_group = own
        self.broadcast_buffers = broadcast_buffers
        self.find_unused_parameters = find_unused_parameters
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.static_graph = static_graph
        self.require_backward_grad_sync = True
        self.ignored = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        named = {n: p for n, p in named.items() if n not in self.ignored}
        self._joining = False
        if own.size() > 1:
            self._check_alike(named)
            if init_sync:
                self._copy_from(0, [*module.parameters(), *module.buffers()])
        capacity = (25 if bucket_cap_mb is None else bucket_cap_mb) * MEGABYTE
        unused = find_unused_parameters or static_graph
        # In a list: what it does is no part of the module's state.
        self._reducer = [Reducer(own, named, capacity, gradient_as_bucket_view, unused)]
        self._buffers_shared = [b for n, b in module.named_buffers() if n not in self.ignored]

    def _check_alike(self, named: dict[str, Tensor]) -> None:
        mine = [(n, tuple(p.shape), str(p.dtype)) for n, p in named.items()]
        own = self.process_group
        everybody = objects.everyones(own, "DistributedDataParallel", mine)
        for rank, theirs in enumerate(everybody):
            if theirs != mine:
                pairs = [*zip(mine, theirs, strict=False)]
                one, other = next(
                    (p for p in pairs if p[0] != p[1]),
                    (f"{len(mine)} parameters", f"{len(theirs)} parameters"),
                )
                raise DistError(
                    "DistributedDataParallel: ranks have different parameters.\n"
                    f"  rank {own.number}: {one}\n  rank {own.ranks[rank]}: {other}"
                )

    def _copy_from(self, root: int, given: list[Tensor]) -> None:
        """Give all ranks the values of one, in one message for each dtype."""
        by_dtype: dict[Any, list[Tensor]] = {}
        for t in given:
            by_dtype.setdefault(t.dtype, []).append(t)
        own = self.process_group
        for same in by_dtype.values():
            with modes.no_grad():
                flat = cat([t.reshape(-1) for t in same])
                tensors.broadcast(flat, group=own, group_src=root)
                if own.rank() == root:
                    continue
                for t, part in zip(same, flat.split([t.numel() for t in same]), strict=True):
                    t.copy_(part.reshape(t.shape))

    # ---- passes ---------------------------------------------------------------------------------

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        reducer = self._reducer[0]
        syncs = self.require_backward_grad_sync and modes.is_grad_enabled()
        if self.process_group.size() == 1 and reducer.hook is None:
            return self.module(*inputs, **kwargs)
        if self._joining:
            self._active(1)
        if self.broadcast_buffers and syncs and self.training and self._buffers_shared:
            self._copy_from(0, self._buffers_shared)
        result = self.module(*inputs, **kwargs)
        if syncs:
            reducer.expect([x for x in tree.leaves(result) if isinstance(x, Tensor)])
        else:
            reducer.rest()
        return result

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Accumulate gradients without averaging: forward and backward passes in here.

        The next pass outside averages what has accumulated.
        """
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state: Any, hook: Callable[[Any, Any], Any]) -> None:
        """Average buckets by `hook(state, bucket)`, which returns a future of the averaged buffer.

        `wengert.distributed.hooks` has some: `allreduce_hook`, `fp16_compress_hook`,
        `bf16_compress_hook`, `powerSGD_hook`.
        """
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self._reducer[0].hook is not None:
            raise RuntimeError("register_comm_hook can only be called once.")
        own = self.process_group if state is None and hook is not allreduce_hook else state
        self._reducer[0].hook_by(own, hook)

    # ---- ranks with fewer batches ---------------------------------------------------------------

    def _active(self, mine: int) -> int:
        if any(type(p._array) is not np.ndarray for p in self.module.parameters()):
            raise NotImplementedError(
                "join: a compiled step does not ask how many ranks have batches left. Leave the "
                "step eager, or give all ranks as many batches (utils.data.DistributedSampler)."
            )
        count = np.array([mine])
        self.process_group.run(COLLECTIVES["all_reduce"], count, count).wait()
        return int(count[0])

    @contextlib.contextmanager
    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Iterator[None]:
        """Train on unequal numbers of batches: a rank whose data have ended takes part with zeros.

        Gradients are divided by the number of ranks, also when some have ended. At the end all
        ranks take the parameters and buffers of one that had the most batches.
        """
        if not enable:
            yield
            return
        if not divide_by_initial_world_size or throw_on_early_termination:
            raise NotImplementedError(
                "join: gradients are divided by the number of all ranks, and ranks whose data have "
                "ended wait for the others"
            )
        self._joining = True
        try:
            yield
        finally:
            self._joining = False
        passes = 0
        while self._active(0):
            passes += 1
            if self.broadcast_buffers and self.training and self._buffers_shared:
                self._copy_from(0, self._buffers_shared)
            self._reducer[0].shadow()
        waited = objects.everyones(self.process_group, "join", passes)
        last = waited.index(min(waited))
        self._copy_from(last, [*self.module.parameters(), *self.module.buffers()])
