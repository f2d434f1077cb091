"""What stands for `torch.ops`: libraries of operators, of which there is ATen."""

from __future__ import annotations

from typing import Any

from wengert.pytorch.absent import NoCounterpart
from wengert.pytorch.aten import operator


class ATen:
    """The operators of PyTorch's own library: `torch.ops.aten.add`."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        function = operator(name)
        setattr(self, name, function)
        return function


aten = ATen()


def __getattr__(name: str) -> Any:
    raise NoCounterpart(
        f"torch.ops.{name} has operators of a compiled library; wengert has none. Call the "
        "Python functions that they stand for, or make one differentiable with wengert.primitive."
    )
