"""Data parallelism: a batch in parts, each through a replica of the module, in threads.

Replicas share the parameters, so that their gradients add up to those of the undivided batch.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from wengert.autograd.operands import tensors_among
from wengert.functions.joining import cat, split, stack
from wengert.history import modes
from wengert.imports import lacking as _lacking
from wengert.nn.module import Module
from wengert.tensor import Tensor

if TYPE_CHECKING:  # `pytorch/absent.py` finds it when it is asked for
    from wengert.nn.distributed import DistributedDataParallel as DistributedDataParallel


class DataParallel(Module):
    """A module that divides its inputs along `dim` and runs the parts side by side.

    `device_ids` says how many replicas there are: one for each of its items; None means one for
    each processor. Gradients are those of the whole batch wherever the module treats samples by
    themselves. The replicas run in threads, with this thread's grad mode and the default of
    everything else, so hooks on saved tensors have to be set where they are to work: inside of the
    module's forward pass. What the first replica writes into buffers is kept, as in PyTorch.

    >>> import wengert as wg
    >>> net = DataParallel(wg.nn.Linear(3, 2), device_ids=[0, 1])
    >>> net(wg.zeros(5, 3)).shape
    torch.Size([5, 2])
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        count = (os.cpu_count() or 1) if device_ids is None else len(device_ids)
        if not count:
            raise ValueError("DataParallel: device_ids is empty; give one item for each replica")
        self.dim = dim
        self.module = module
        self.device_ids = list(range(count))
        self.output_device = output_device

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        parts, keywords = scatter_kwargs(inputs, kwargs, self.device_ids, self.dim)
        if len(parts) == 1:
            return self.module(*parts[0], **keywords[0])
        replicas = replicate(self.module, self.device_ids[: len(parts)])
        return gather(parallel_apply(replicas, parts, keywords), self.output_device, self.dim)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[Any] | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """What `DataParallel(module, ...)` makes of these inputs."""
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    parallel = DataParallel(module, device_ids, output_device, dim)
    return parallel(*inputs, **(module_kwargs or {}))


# ---- dividing and joining ------------------------------------------------------------------


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> list[Any]:
    """Tensors anywhere in a structure divided into as many parts, or fewer; the rest repeated."""
    count = _parts(inputs, len(target_gpus), dim)
    return [_part(inputs, i, count, dim) for i in range(count)]


def scatter_kwargs(
    inputs: tuple[Any, ...], kwargs: dict[str, Any], target_gpus: Sequence[Any], dim: int = 0
) -> tuple[list[tuple[Any, ...]], list[dict[str, Any]]]:
    """Positional and keyword arguments, divided alike."""
    parts = scatter((tuple(inputs), dict(kwargs)), target_gpus, dim)
    return [p[0] for p in parts], [p[1] for p in parts]


def _parts(inputs: Any, wanted: int, dim: int) -> int:
    lengths = {t.shape[dim] for t in tensors_among([inputs]) if t.ndim}
    if not lengths:
        return 1
    counts = {-(-n // -(-n // wanted)) if n else 1 for n in lengths}
    if len(counts) > 1:
        raise RuntimeError(
            f"DataParallel: inputs of sizes {sorted(lengths)} along dimension {dim} do not divide "
            f"into the same number of parts among {wanted} replicas"
        )
    return counts.pop()


def _part(value: Any, i: int, count: int, dim: int) -> Any:
    if isinstance(value, Tensor):
        if not value.ndim or count == 1:
            return value
        return split(value, max(-(-value.shape[dim] // count), 1), dim)[i]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_part(item, i, count, dim) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(_part(item, i, count, dim) for item in value)
    if isinstance(value, dict):
        return {k: _part(item, i, count, dim) for k, item in value.items()}
    return value


def gather(outputs: Sequence[Any], target_device: Any = None, dim: int = 0) -> Any:
    """The replicas' results joined; numbers for each replica become a vector."""
    first = outputs[0]
    if isinstance(first, Tensor):
        return cat(list(outputs), dim) if first.ndim else stack(list(outputs))
    if first is None:
        return None
    if isinstance(first, dict):
        return {k: gather([o[k] for o in outputs], target_device, dim) for k in first}
    if isinstance(first, (list, tuple)):
        joined = [gather(items, target_device, dim) for items in zip(*outputs, strict=True)]
        return type(first)(*joined) if hasattr(first, "_fields") else type(first)(joined)
    raise TypeError(
        f"DataParallel: cannot join results of type {type(first).__name__}; return tensors, or "
        "tuples, lists and dicts of them"
    )


# ---- replicas ------------------------------------------------------------------------------


def replicate(network: Module, devices: Sequence[Any]) -> list[Module]:
    """Copies of a module's structure that share its parameters; only the first shares buffers."""
    return [_replica(network, i == 0, {}) for i in range(len(devices))]


def _replica(module: Any, shares_buffers: bool, replicas: dict[int, Any]) -> Any:
    if module is None:
        return None
    if id(module) in replicas:
        return replicas[id(module)]
    replica = replicas[id(module)] = module.__class__.__new__(module.__class__)
    state = replica.__dict__
    state.update(module.__dict__)
    for store in ("_parameters", "_buffers", "_modules"):
        state[store] = copy.copy(state[store])
    if not shares_buffers:
        for name, buffer in state["_buffers"].items():
            state["_buffers"][name] = None if buffer is None else buffer.detach().clone()
    for name, child in state["_modules"].items():
        state["_modules"][name] = _replica(child, shares_buffers, replicas)
    return replica


def parallel_apply(
    modules: Sequence[Any], inputs: Sequence[Any], kwargs_tup: Sequence[Any] | None = None,
    devices: Any = None,
) -> list[Any]:  # fmt: skip
    """Each module on its input, in threads; the error of the first that fails is raised."""
    keywords = kwargs_tup or [{}] * len(modules)
    state = modes.current()
    theirs = modes.State(grad=state.grad, inference=state.inference)

    def run(i: int) -> Any:
        before = modes.enter(theirs)
        try:
            given = inputs[i] if isinstance(inputs[i], tuple) else (inputs[i],)
            return modules[i](*given, **keywords[i])
        except Exception as error:
            error.add_note(f"(in replica {i} of {len(modules)})")
            raise
        finally:
            modes.enter(before)

    with ThreadPoolExecutor(len(modules)) as pool:
        return list(pool.map(run, range(len(modules))))


_lacking(__name__)
