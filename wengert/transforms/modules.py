"""Modules as functions of their parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wengert.functions.creation import as_tensor
from wengert.functions.joining import stack
from wengert.history.surroundings import exchange
from wengert.tensor import Tensor

Tensors = Mapping[str, Tensor]


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Tensors | Sequence[Tensors],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """module(*args, **kwargs) with these tensors in the place of its parameters and buffers.

    The module itself is left as it was. `args` is one argument or a tuple of them. With
    `tie_weights` a tensor given for one of the names of a shared parameter stands for all of them.
    `strict` asks for every parameter and buffer, and for no other names.

    >>> import wengert as wg
    >>> layer = wg.nn.Linear(2, 1)
    >>> functional_call(layer, {"weight": wg.ones(1, 2), "bias": wg.zeros(1)}, wg.ones(2))
    tensor([2.])
    """
    given = _merged(parameter_and_buffer_dicts)
    owners = _owners(module)
    _check_names(module, given, owners, strict, tie_weights)
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    swapped = []
    try:
        for store, key, tensor in _places(owners, given, tie_weights):
            swapped.append((store, key, store[key]))
            exchange(store, key, tensor)
        return module(*args, **(kwargs or {}))
    finally:
        for before in reversed(swapped):
            exchange(*before)


def _merged(dicts: Any) -> dict[str, Tensor]:
    if isinstance(dicts, Mapping):
        items = [dicts]
    elif isinstance(dicts, Sequence) and not isinstance(dicts, str):
        items = list(dicts)
        if not all(isinstance(d, Mapping) for d in items):
            raise ValueError(
                "Expected all elements of parameter_and_buffer_dicts to be dictionaries"
            )
    else:
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, "
            f"but got {type(dicts)}"
        )
    names = [name for d in items for name in d]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(
            f"{repeated} appeared in multiple dictionaries; behavior of functional call is "
            "ambiguous"
        )
    return {name: _tensor(name, value) for d in items for name, value in d.items()}


def _tensor(name: str, value: Any) -> Tensor:
    if isinstance(value, Tensor):
        return value
    if isinstance(value, np.ndarray):
        return as_tensor(value)
    raise TypeError(
        f"{value!r} is not an instance of Tensor: functional_call takes tensors by name, and got "
        f"{type(value).__name__} for {name!r}."
    )


def _owners(module: Any) -> dict[str, tuple[dict[str, Any], str]]:
    """Where each parameter and buffer stands, by its full name; a shared one under each name."""
    owners = {}
    for prefix, owner in module.named_modules(remove_duplicate=False):
        for store in (owner._parameters, owner._buffers):
            for key, tensor in store.items():
                if tensor is not None:
                    owners[f"{prefix}.{key}" if prefix else key] = store, key
    return owners


def _check_names(module: Any, given: Any, owners: Any, strict: bool, tied: bool) -> None:
    unknown = [name for name in given if name not in owners]
    covered = {id(owners[name][0][owners[name][1]]) for name in given if name in owners}
    missing = [
        name
        for name, (store, key) in owners.items()
        if name not in given and not (tied and id(store[key]) in covered)
    ]
    lines = []
    if unknown and strict:
        lines.append(f"Unexpected key(s): {', '.join(map(repr, unknown))}.")
    if missing and strict:
        lines.append(f"Missing key(s): {', '.join(map(repr, missing))}.")
    if lines:
        raise RuntimeError(
            "\n\t".join([f"Error(s) in reparametrizing for {type(module).__name__}:", *lines])
        )


def _places(owners: Any, given: dict[str, Tensor], tied: bool) -> list[tuple[Any, str, Tensor]]:
    """Which entries to exchange: those named and, with tied weights, those that share with them."""
    by_tensor: dict[int, list[str]] = {}
    for name, (store, key) in owners.items():
        by_tensor.setdefault(id(store[key]), []).append(name)
    wanted: dict[str, Tensor] = {}
    for name, tensor in given.items():
        if name not in owners:
            continue  # PyTorch ignores names that the module does not have, unless strict
        store, key = owners[name]
        for other in by_tensor[id(store[key])] if tied else [name]:
            if other not in given:
                before = wanted.setdefault(other, tensor)
                if before is not tensor:
                    raise ValueError(
                        f"functional_call got different tensors for names that {other!r} is tied "
                        "to. Pass one of them, or tie_weights=False."
                    )
        wanted[name] = tensor
    return [(*owners[name], tensor) for name, tensor in wanted.items()]


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters, and the buffers, of modules of one kind, each stacked along a new axis.

    For ensembles: `vmap` a `functional_call` over them.

    >>> import wengert as wg
    >>> parameters, _ = stack_module_state([wg.nn.Linear(2, 3) for _ in range(4)])
    >>> parameters["weight"].shape
    torch.Size([4, 3, 2])
    """
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(m.training for m in models) or all(not m.training for m in models)):
        raise RuntimeError(
            "stack_module_state: Expected all models to have the same training/eval mode."
        )
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    return (
        _stacked([dict(m.named_parameters()) for m in models]),
        _stacked([dict(m.named_buffers()) for m in models]),
    )


def _stacked(states: list[dict[str, Any]]) -> dict[str, Any]:
    result = {}
    for name in states[0]:
        tensors = [state[name] for state in states]
        required = {t.requires_grad for t in tensors}
        if len(required) > 1:
            raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
        stacked = stack([t.detach() for t in tensors])
        result[name] = stacked.requires_grad_() if required == {True} else stacked
    return result


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Let the batch normalizations of a module, in place, do without running mean and variance.

    They write to those in each run, which a function under `vmap` may not: the examples would
    overwrite each other's. Returns the module.

    >>> import wengert as wg
    >>> net = wg.nn.Sequential(wg.nn.Linear(2, 3), wg.nn.BatchNorm1d(3))
    >>> replace_all_batch_norm_modules_(net)[1].running_mean is None
    True
    """
    for module in root.modules():
        forget = getattr(module, "_forget_running_stats", None)
        if forget is not None:
            forget()
    return root
