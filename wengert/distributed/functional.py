"""Collectives that return what they get, and can be differentiated: `torch.distributed.nn`'s names.

Every rank has to differentiate what it got: each collective has its transpose in the backward pass,
which all ranks of the group have to come to. A rank whose loss does not depend on what it got adds
zero times its sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.compile.trace.world import watch
from wengert.distributed import groups
from wengert.distributed.collectives import COLLECTIVES, ReduceOp
from wengert.distributed.exchange import exchange
from wengert.errors import GradError
from wengert.functions.joining import stack
from wengert.imports import lacking as _lacking
from wengert.tensor import Tensor, wrap

_COMPOSED = {
    ReduceOp.MAX: lambda blocks: blocks.amax(0),
    ReduceOp.MIN: lambda blocks: blocks.amin(0),
    ReduceOp.PRODUCT: lambda blocks: blocks.prod(0),
}
"""Operations that are not linear: of all blocks, by functions that have derivatives."""


def exchanged(x: Tensor, name: str, group: Any, root: int = 0, op: Any = ReduceOp.SUM) -> Tensor:
    """What this rank gets in a collective; `root` is its number among all ranks."""
    own = groups.resolve(group, name)
    collective = COLLECTIVES[name]
    if (capture := watch.active()) is not None:  # also what is known already: others may not know
        x = wrap(capture.trace.as_array(x._array)) if type(x._array) is np.ndarray else x
    place = groups.get_group_rank(own, root) if collective.rooted else 0
    if not collective.combines or op in (ReduceOp.SUM, ReduceOp.AVG):
        got = exchange(x, name, place, own.key, own.size())
        return got / own.size() if collective.combines and op is ReduceOp.AVG else got
    if op not in _COMPOSED:
        raise GradError(f"{name} by {op.name} has no derivative. Call it under no_grad().")
    # Each block of the result depends on that block of all ranks.
    way = "all_to_all" if collective.brings.stacked else "all_gather"
    got = _COMPOSED[op](exchange(x, way, 0, own.key, own.size()))
    return got * (own.rank() == place) if collective.gets.rooted else got


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The ranks' tensors combined, on all ranks.

    >>> import wengert as wg
    >>> from wengert import distributed as dist
    >>> def work():
    ...     x = wg.tensor([1.0, 2.0], requires_grad=True)
    ...     (all_reduce(x * (dist.get_rank() + 1)) ** 2).sum().backward()
    ...     return x.grad.tolist()
    >>> dist.run_threads(work, 2)
    [[12.0, 24.0], [24.0, 48.0]]
    """
    return exchanged(tensor, "all_reduce", group, op=op)


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """The tensor of rank `src`, on all ranks."""
    return exchanged(tensor, "broadcast", group, src)


def reduce(tensor: Tensor, dst: int, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The ranks' tensors combined, on rank `dst`; zeros elsewhere."""
    return exchanged(tensor, "reduce", group, dst, op)


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks, in the order of the ranks."""
    return exchanged(tensor, "all_gather", group).unbind(0)


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks, on rank `dst`; zeros elsewhere."""
    return exchanged(tensor, "gather", group, dst).unbind(0)


def scatter(tensors: Sequence[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """The tensor that rank `src` has for this one. Other ranks give tensors of these shapes."""
    return exchanged(stack(list(tensors)), "scatter", group, src)


def reduce_scatter(
    output: Any, input_list: Sequence[Tensor], op: Any = ReduceOp.SUM, group: Any = None
) -> Tensor:
    """What the ranks have for this one, combined. `output` is there for PyTorch's sake."""
    return exchanged(stack(list(input_list)), "reduce_scatter", group, op=op)


def all_to_all(
    output_tensor_list: Any, input_tensor_list: Sequence[Tensor], group: Any = None
) -> tuple[Tensor, ...]:
    """What each rank has for this one. `output_tensor_list` is there for PyTorch's sake."""
    return exchanged(stack(list(input_tensor_list)), "all_to_all", group).unbind(0)


_lacking(__name__)
