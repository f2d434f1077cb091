"""Parameters and buffers: tensors that a module knows as its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert import dtypes
from wengert.functions.creation import as_tensor, require
from wengert.tensor import Tensor, bare, cell_of


class Parameter(Tensor):
    """A tensor that becomes a module's parameter when it is made the module's attribute.

    It requires grad unless told otherwise, and shares the memory of `data`.

    >>> import wengert as wg
    >>> Parameter(wg.zeros(2))
    Parameter containing:
    tensor([0., 0.], requires_grad=True)
    """

    __slots__ = ()

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        out = _sharing(cls, data)
        if requires_grad:
            require(out)
        return out

    def __init__(self, data: Any = None, requires_grad: bool = True) -> None:
        pass  # all is done in __new__; this states the arguments

    def __repr__(self: Any, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return "Parameter containing:\n" + Tensor.__repr__(self)


class Buffer(Tensor):
    """A tensor that becomes a module's buffer when it is made the module's attribute."""

    __slots__ = ()

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        out = _sharing(cls, data)
        out.persistent = persistent
        return out

    def __init__(self, data: Any = None, *, persistent: bool = True) -> None:
        pass


def _sharing(cls: type, data: Any) -> Any:
    """A tensor of a class, without history, on the memory of `data`."""
    if data is None:
        data = as_tensor(np.empty(0, dtypes.get_default_dtype()))
    elif not isinstance(data, Tensor):
        data = as_tensor(data)
    out: Any = bare(cls, data._array)
    out._cell = cell_of(data)
    return out
