"""Optimizers whose state is divided among ranks: each updates its share, all get the results."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from wengert.distributed import groups, objects, tensors
from wengert.functions.joining import cat
from wengert.history import modes
from wengert.imports import lacking as _lacking
from wengert.optim.optimizer import Optimizer
from wengert.tensor import Tensor


class ZeroRedundancyOptimizer(Optimizer):
    """An optimizer of which each rank keeps the state of its share of the parameters.

    Whole parameters are dealt out, the largest first, each to the rank that has least so far. A
    step updates those of this rank, whose gradients are to be averaged already, as
    `DistributedDataParallel` leaves them, and then every rank sends its share to the others. So the
    state of Adam takes 1/p of the memory, up to the size of one parameter (Rajbhandari et al.,
    2020, stage 1). `defaults` are the settings of `optimizer_class`.

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
        self.process_group = groups.resolve(process_group, "ZeroRedundancyOptimizer")
        self._whole: dict[str, Any] | None = None
        super().__init__(params, defaults)
        self._optimizer_class = optimizer_class
        self._settings = defaults
        self._deal_out()
        self.process_group.watch(self._deal_out)
        self.defaults = self.optim.defaults
        for group, inner in zip(self.param_groups, self.optim.param_groups, strict=True):
            for name, value in inner.items():
                group.setdefault(name, value)

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
        mine = [
            {**group, "params": [p for p in group["params"] if self._owner[id(p)] == self._rank]}
            for group in self.param_groups
        ]
        self.optim = self._optimizer_class(mine, **self._settings)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        if hasattr(self, "optim"):
            raise NotImplementedError(
                "ZeroRedundancyOptimizer: give all groups at the start; they are dealt out then"
            )
        super().add_param_group(param_group)

    # ---- steps ----------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        """Update this rank's share, and take that of the others."""
        for group, inner in zip(self.param_groups, self.optim.param_groups, strict=True):
            inner.update({k: v for k, v in group.items() if k != "params"})
        loss = self.optim.step(closure) if closure is not None else self.optim.step()
        with modes.no_grad():
            for rank, share in enumerate(self._shares):
                self._send(rank, share)
        return loss

    def _send(self, rank: int, share: list[Tensor]) -> None:
        for dtype in dict.fromkeys(p.dtype for p in share):
            same = [p for p in share if p.dtype == dtype]
            flat = cat([p.reshape(-1) for p in same])
            tensors.broadcast(flat, group=self.process_group, group_src=rank)
            if rank == self._rank:
                continue
            for p, part in zip(same, flat.split([p.numel() for p in same]), strict=True):
                p.copy_(part.reshape(p.shape))

    # ---- state ----------------------------------------------------------------------------------

    def shard_state_dict(self) -> dict[str, Any]:
        """This rank's part of the state, by the numbers that parameters have among all."""
        number: dict[int, int] = {}
        for group in self.param_groups:
            for p in group["params"]:
                number.setdefault(id(p), len(number))
        packed = Optimizer.state_dict(self)
        packed["state"] = {number[id(p)]: dict(s) for p, s in self.optim.state.items()}
        return packed

    def load_shards(self, shards: Iterable[dict[str, Any]]) -> None:
        """Take this rank's part of what other numbers of ranks gave as `shard_state_dict`."""
        everything = [p for group in self.param_groups for p in group["params"]]
        mine = {k for k, p in enumerate(everything) if self._owner[id(p)] == self._rank}
        whole: dict[str, Any] = {}
        state: dict[int, Any] = {}
        for whole in shards:  # their settings are alike
            state |= {k: s for k, s in whole["state"].items() if k in mine}
        self.load_state_dict(whole | {"state": state})

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
        everything = [p for group in self.param_groups for p in group["params"]]
        for group, saved in zip(self.param_groups, state_dict["param_groups"], strict=True):
            group.update({k: v for k, v in saved.items() if k != "params"})
        inner = self.optim.state_dict()
        mine = [p for group in self.optim.param_groups for p in group["params"]]
        places = {id(p): k for k, p in enumerate(mine)}
        inner["state"] = {
            places[id(p)]: state_dict["state"][k]
            for k, p in enumerate(everything)
            if id(p) in places and k in state_dict["state"]
        }
        self.optim.load_state_dict(inner)


_lacking(__name__)
