"""`Variable`: what a tensor with history was called before tensors had one."""

from __future__ import annotations

from typing import Any

from wengert.autograd import engine
from wengert.imports import lacking as _lacking
from wengert.tensor import Tensor


class _VariableType(type):
    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Tensor)

    def __call__(cls, data: Any, requires_grad: bool = False) -> Tensor:
        out = data.detach()
        return out.requires_grad_() if requires_grad else out


class _Engine:
    """The sweep, as programs reach for it that want to be called at its end."""

    queue_callback = staticmethod(engine.queue_callback)


class Variable(metaclass=_VariableType):
    """A tensor, as programs before 0.4 wrapped it: shares the memory of what it is given.

    `Variable._execution_engine.queue_callback(f)`, called during a pass, has `f()` called once at
    its end, when all gradients are there.
    """

    _execution_engine = _Engine()


_lacking(__name__)
