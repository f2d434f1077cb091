"""What stands for `torch.ops`: libraries of operators, of which there is ATen."""

from __future__ import annotations

from functools import partial
from typing import Any, NoReturn

from wengert.pytorch.absent import NoCounterpart
from wengert.pytorch.aten import Operator, operator


class ATen:
    """The operators of PyTorch's own library: `torch.ops.aten.add`.

    One of PyTorch's inside (`_pin_memory`) can be named, as a key of a table is; where it is not
    here, it says so when it is called.
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            function = operator(name)
        except NoCounterpart as error:
            if not name.startswith("_"):
                raise
            function = Operator(name, partial(_refuse, error))
        setattr(self, name, function)
        return function


def _refuse(error: NoCounterpart, *args: Any, **kwargs: Any) -> NoReturn:
    raise NoCounterpart(*error.args)


aten = ATen()


def __getattr__(name: str) -> Any:
    raise NoCounterpart(
        f"torch.ops.{name} has operators of a compiled library; wengert has none. Call the "
        "Python functions that they stand for, or make one differentiable with wengert.primitive."
    )
