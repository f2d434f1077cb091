"""What stands for `torch.ops`: namespaces of operators, of which there is ATen's."""

from __future__ import annotations

from typing import Any

from wengert.pytorch.absent import NoCounterpart
from wengert.pytorch.aten import operator


class Namespace:
    """The operators of one library: `torch.ops.aten.add`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if self._name != "aten":
            raise NoCounterpart(
                f"torch.ops.{self._name}.{name} is an operator of a compiled library, of which "
                "wengert has none. Call the Python function that it stands for, or make one "
                "differentiable with wengert.primitive."
            )
        found = operator(name)
        setattr(self, name, found)
        return found


def __getattr__(name: str) -> Namespace:
    if name.startswith("__"):
        raise AttributeError(name)
    return globals().setdefault(name, Namespace(name))
