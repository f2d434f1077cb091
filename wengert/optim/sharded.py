"""Optimizers whose state is divided among ranks: each updates its share, all get the results."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from wengert.distributed import groups, objects, tensors
from wengert.functions.joining import cat
from wengert.history import modes
from wengert.imports import lacking as _lacking
from wengert.optim.lbfgs import LBFGS
from wengert.optim.optimizer import Optimizer
from wengert.tensor import Tensor


class ZeroRedundancyOptimizer(Optimizer):
    """An optimizer of which each rank keeps the state of its share of the parameters.

    Whole parameters are dealt out, the largest first, each to the rank that has least so far. A
    step updates those of this rank, whose gradients are to be averaged already, as
    `DistributedDataParallel` leaves them, and then every rank sends its share to the others. So the
    state of Adam takes 1/p of the memory, up to the size of one parameter (Rajbhandari et al.,
    2020, stage 1). `defaults` are the settings of `optimizer_class`. Within `wg.compile` the update
    of this rank's share, and what is sent and taken, are statements of the step's program.

    Errors: RuntimeError from `state_dict` on ranks that have not all of it; see
    `consolidate_state_dict`.

    >>> import wengert as wg
    >>> from wengert import distributed as dist
    >>> def work():
    ...     x = [wg.ones(2, requires_grad=True) for _ in range(2)]
    ...     optimizer = ZeroRedundancyOptimizer(x, wg.optim.Adam, lr=0.5)
    ...     (x[0] + x[1]).sum().backward()
    ...     optimizer.step()
    ...     return len(optimizer.optim.state), x[0].tolist(), x[1].tolist()
    >>> dist.run_threads(work, 2)[0]
    (1, [0.5, 0.5], [0.5, 0.5])
    """

    def __init__(
        self,
        params: Any,
        optimizer_class: type[Optimizer],
        process_group: Any = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        if parameters_as_bucket_view or overlap_with_ddp:
            raise NotImplementedError(
                "ZeroRedundancyOptimizer: parameters keep their own memory, and are updated after "
                "the backward pass. Leave parameters_as_bucket_view and overlap_with_ddp out."
            )
        if issubclass(optimizer_class, LBFGS):
            raise NotImplementedError(
                "ZeroRedundancyOptimizer: LBFGS takes all parameters for one vector, so that no "
                "rank can update a share by itself. Use LBFGS undivided, or a divided Adam."
            )
        self.process_group = groups.resolve(process_group, "ZeroRedundancyOptimizer")
        self._whole: dict[str, Any] | None = None
        super().__init__(params, defaults)
        self._optimizer_class = optimizer_class
        self._settings = defaults
        self._deal_out()
        self.process_group.watch(self._deal_out)
        self.defaults = self.optim.defaults

    @property
    def _rank(self) -> int:
        return self.process_group.rank()

    def _deal_out(self) -> None:
        """Divide the parameters; the state of this rank's share begins anew."""
        everything = [p for group in self.param_groups for p in group["params"]]
        loads = [0] * self.process_group.size()
        self._owner: dict[int, int] = {}
        self._shares: list[list[Tensor]] = [[] for _ in loads]
        for p in sorted(everything, key=lambda p: -p.numel()):  # stable: alike on all ranks
            rank = loads.index(min(loads))
            loads[rank] += p.numel()
            self._owner[id(p)] = rank
            self._shares[rank].append(p)
        # Of the same groups: their settings are in one place.
        self.optim = self._optimizer_class(self.param_groups, **self._settings)
        for p in [p for p in self.optim.state if not self._is_mine(p)]:
            del self.optim.state[p]
        self._mine = [[*filter(self._is_mine, group["params"])] for group in self.param_groups]

    def _is_mine(self, p: Tensor) -> bool:
        return self._owner[id(p)] == self._rank

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        if hasattr(self, "optim"):
            raise NotImplementedError(
                "ZeroRedundancyOptimizer: give all groups at the start; they are dealt out then"
            )
        super().add_param_group(param_group)

    # ---- steps ----------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        """Update this rank's share, and take that of the others.

        `closure` is called once, before: it computes the gradients of all parameters.
        """
        loss = None
        if closure is not None:
            with modes.enable_grad():
                loss = closure()
        with self._share_alone():
            self.optim.step()
        with modes.no_grad():
            for rank, share in enumerate(self._shares):
                self._send(rank, share)
        return loss

    @contextlib.contextmanager
    def _share_alone(self) -> Iterator[None]:
        """Have the groups hold this rank's parameters alone."""
        groups = self.optim.param_groups
        everything = [group["params"] for group in groups]
        for group, mine in zip(groups, self._mine, strict=True):
            group["params"] = mine
        try:
            yield
        finally:
            for group, params in zip(groups, everything, strict=True):
                group["params"] = params

    def _send(self, rank: int, share: list[Tensor]) -> None:
        for dtype in dict.fromkeys(p.dtype for p in share):
            same = [p for p in share if p.dtype == dtype]
            flat = cat([p.reshape(-1) for p in same])
            tensors.broadcast(flat, group=self.process_group, group_src=rank)
            # There too where it came from: a program might work it out twice, and round otherwise.
            for p, part in zip(same, flat.split([p.numel() for p in same]), strict=True):
                p.copy_(part.reshape(p.shape))

    # ---- state ----------------------------------------------------------------------------------

    def shard_state_dict(self) -> dict[str, Any]:
        """This rank's part of the state, by the numbers that parameters have among all."""
        return self.optim.state_dict()

    def load_shards(self, shards: Iterable[dict[str, Any]]) -> None:
        """Take this rank's part of what other numbers of ranks gave as `shard_state_dict`."""
        whole: dict[str, Any] = {}
        state: dict[int, Any] = {}
        for whole in shards:  # their settings are alike
            state |= self._part_of(whole)
        self.load_state_dict(whole | {"state": state})

    def _part_of(self, saved: dict[str, Any]) -> dict[int, Any]:
        """What a state says of this rank's parameters."""
        everything = [p for group in self.param_groups for p in group["params"]]
        mine = {k for k, p in enumerate(everything) if self._is_mine(p)}
        return {k: values for k, values in saved["state"].items() if k in mine}

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Bring the whole state to rank `to`, whose `state_dict` returns it then."""
        root = groups.get_group_rank(self.process_group, to)
        parts: Any = [None] * self.process_group.size() if self._rank == root else None
        mine = self.shard_state_dict()
        objects.gather_object(mine, parts, group=self.process_group, group_dst=root)
        self._whole = None
        if parts is not None:
            state = {k: v for part in parts for k, v in part["state"].items()}
            self._whole = mine | {"state": dict(sorted(state.items()))}

    def state_dict(self) -> dict[str, Any]:
        """The whole state, on the rank to which it was brought."""
        if self._whole is None:
            raise RuntimeError(
                f"Optimizer state has not been consolidated on this rank ({self._rank}). Please "
                f"call `consolidate_state_dict(to={self._rank})` on all ranks beforehand if you "
                "meant to save the global state."
            )
        return self._whole

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take this rank's part of a whole state, which any number of ranks may have saved."""
        self.optim.load_state_dict(state_dict | {"state": self._part_of(state_dict)})


_lacking(__name__)
