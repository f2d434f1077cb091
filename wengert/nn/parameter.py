"""Parameters and buffers: tensors that a module knows as its own."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from wengert import dtypes
from wengert.functions.creation import as_tensor, check_device
from wengert.imports import lacking as _lacking
from wengert.tensor import Tensor, bare, cell_of, require


class Parameter(Tensor):
    """A tensor that becomes a module's parameter when it is made the module's attribute.

    It requires grad unless told otherwise, and shares the memory of `data`.

    >>> import wengert as wg
    >>> Parameter(wg.zeros(2))
    Parameter containing:
    tensor([0., 0.], requires_grad=True)
    """

    __slots__ = ()
    copied_alone = True

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Self:
        out = _sharing(cls, data)
        if requires_grad:
            require(out)
        return out

    __torch_function__ = None  # type: ignore[assignment]  # results are no parameters

    def __init__(self, data: Any = None, requires_grad: bool = True) -> None:
        pass  # all is done in __new__; this states the arguments

    def __repr__(self: Any, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return "Parameter containing:\n" + Tensor.__repr__(self)


class Buffer(Tensor):
    """A tensor that becomes a module's buffer when it is made the module's attribute."""

    __slots__ = ()

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Self:
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


# ---- shapes that are not known yet ---------------------------------------------------------


class _Uninitialized(Tensor):
    """A tensor whose shape the first input of its lazy module will decide."""

    __slots__ = ()
    _becomes: Any  # the class that it has from then on

    @property
    def shape(self) -> Any:
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually "
            "happens in `load_state_dict` when trying to load an uninitialized parameter into an "
            "initialized one. Call `forward` to initialize the parameters before accessing their "
            "attributes."
        )

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Give it a shape; its values are zeros until they are set."""
        check_device(device)
        self._array = np.zeros(shape, self._array.dtype if dtype is None else dtype)
        self.__class__ = self._becomes

    def detach(self) -> Any:
        return self  # in a state_dict it stands for itself

    def __deepcopy__(self, memo: Any) -> Any:
        twin = type(self)(dtype=self._array.dtype)
        memo[id(self)] = twin
        return twin

    def __repr__(self: Any, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return f"<{type(self).__name__}>"


class UninitializedParameter(_Uninitialized, Parameter):  # type: ignore[misc]
    """A lazy module's parameter before its first input: without a shape."""

    __slots__ = ()
    _becomes = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        check_device(device)
        empty = np.empty(0, dtypes.or_default(dtype))
        return Parameter.__new__(cls, as_tensor(empty), requires_grad)

    def __init__(self, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> None:
        pass


class UninitializedBuffer(_Uninitialized):
    """A lazy module's buffer before its first input: without a shape."""

    __slots__ = ()
    _becomes = Tensor

    def __new__(cls, requires_grad: bool = False, device: Any = None, dtype: Any = None) -> Any:
        check_device(device)
        return _sharing(cls, np.empty(0, dtypes.or_default(dtype)))

    def __init__(self, requires_grad: bool = False, device: Any = None, dtype: Any = None) -> None:
        pass


def is_lazy(param: Any) -> bool:
    """Whether a parameter or buffer has no shape yet."""
    return isinstance(param, _Uninitialized)


_lacking(__name__)
