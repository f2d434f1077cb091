"""`torch._foreach_mul_(tensors, 2)` and its like, which optimizers call.

PyTorch does many tensors at once on a GPU. Here each function is the one of a single tensor, done
for one after another: what is given as a list has one entry for each tensor, all else is for all.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from wengert.functions import linalg
from wengert.tensor import Tensor

PREFIX = "_foreach_"
OTHERWISE = {
    "maximum": "clamp_min",
    "maximum_": "clamp_min_",
    "minimum": "clamp_max",
    "minimum_": "clamp_max_",
}
"""Functions that take numbers only by another name, if they are for a single tensor."""
SCALED = ("addcmul", "addcdiv")
"""Whose last argument, a number for each tensor or for all, has a name in the single function."""


def function(name: str) -> Callable[..., Any] | None:
    """The function of lists by a name of PyTorch's, None if it has no such one.

    >>> import wengert as wg
    >>> function("_foreach_add")([wg.ones(2), wg.zeros(1)], [wg.ones(2), wg.ones(1)], alpha=2)
    (tensor([3., 3.]), tensor([2.]))
    """
    own = name.removeprefix(PREFIX)
    single = linalg.vector_norm if own == "norm" else _single(OTHERWISE.get(own, own))
    if own == name or single is None:
        return None
    scaled = own.removesuffix("_") in SCALED

    def foreach(self: Any, *args: Any, **kwargs: Any) -> Any:
        count = len(self) if isinstance(self, (list, tuple)) else len(args[0])
        given = [_spread(arg, count, name) for arg in (self, *args)]
        named = {key: _spread(value, count, name) for key, value in kwargs.items()}
        if scaled and len(given) > 3:
            numbers = given.pop()
            named["value"] = [n.item() if isinstance(n, Tensor) else n for n in numbers]
        return tuple(
            single(*[arg[k] for arg in given], **{key: value[k] for key, value in named.items()})
            for k in range(count)
        )

    foreach.__name__ = foreach.__qualname__ = name
    return foreach


def _single(name: str) -> Any:
    """The function or method of one tensor; where none is in place, its result is written there."""
    for place in (importlib.import_module("wengert"), Tensor):
        function = getattr(place, name, None)
        if callable(function) and not isinstance(function, type):
            return function
    function = _single(name[:-1]) if name.endswith("_") else None
    return function and (lambda x, *args, **kwargs: x.copy_(function(x, *args, **kwargs)))


def _spread(argument: Any, count: int, name: str) -> list[Any]:
    """An argument's entry for each tensor; RuntimeError if there are not as many."""
    if isinstance(argument, Tensor) and argument.ndim == 1 and name.strip("_").endswith(SCALED):
        argument = argument.tolist()
    if not isinstance(argument, (list, tuple)):
        return [argument] * count
    if len(argument) != count:
        raise RuntimeError(
            f"{name}: Tensor lists must have the same number of tensors, got {count} and "
            f"{len(argument)}"
        )
    return list(argument)
