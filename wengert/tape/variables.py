"""Tensors and variables as programs with a gradient tape see them.

An `EagerTensor` is a wengert tensor that behaves as TensorFlow's: it cannot be written to, and
gives its numbers away (`numpy()`, `np.asarray`, plotting) whether it is recorded or not. A
`Variable` can be assigned to; what was computed from it keeps the value that it had then.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from wengert import dtypes
from wengert.arrays.kind import kind_of
from wengert.autograd.engine import mark_written
from wengert.functions.creation import as_tensor
from wengert.functions.methods.operators import COMPARISONS, OPERATORS
from wengert.tensor import Tensor, bare, current_node, require


class Listener(Protocol):
    """A tape, as far as variables know it."""

    def accessed(self, variable: Variable) -> None: ...


class _Active(threading.local):
    """The tapes that record in this thread, the innermost last."""

    def __init__(self) -> None:
        self.tapes: list[Any] = []


active = _Active()


def read(x: Any) -> Any:
    """A variable as a tensor of the value it has now; anything else as it is."""
    if isinstance(x, Variable):
        return x.value()
    if isinstance(x, (list, tuple)):
        return type(x)(map(read, x)) if type(x) in (list, tuple) else x
    return x


def eager(x: Any) -> Any:
    """A result as an `EagerTensor`: the same array and history."""
    if type(x) is Tensor:
        twin = bare(EagerTensor, x._array, current_node(x))
        twin._origin, twin._cell = x._origin, x._cell
        if x._tangents is not None:
            twin._tangents = x._tangents
        return twin
    if isinstance(x, (list, tuple)):
        parts = [eager(item) for item in x]
        return type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts)
    return x


class EagerTensor(Tensor):
    """A tensor of a program with a gradient tape: not written to, and its numbers are free."""

    __slots__ = ()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = np.asarray(kind_of(self._array).once(self._array))
        return np.array(array, dtype=dtype, copy=copy) if dtype is not None or copy else array

    def numpy(self, *, force: bool = False) -> Any:
        """The numbers: a copy, as an array, or as a NumPy scalar if there is one only."""
        return np.array(self.__array__())[()]

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        inputs = tuple(map(read, inputs))
        return eager(Tensor.__array_ufunc__(self, ufunc, method, *inputs, **kwargs))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return eager(Tensor.__array_function__(self, function, types, read(args), kwargs))

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError(
            f"{type(self).__name__} does not support item assignment: tensors of a tape do not "
            "change. Build a new one, or use a Variable and assign to it."
        )


class Variable(EagerTensor):
    """A tensor that can be assigned to, and that tapes watch by themselves if it is `trainable`.

    The value is copied; Python floats become float32, arrays keep their dtype. A function without
    arguments is called for the value.

    >>> v = Variable([1.0, 2.0], name="weights")
    >>> v.assign_add([0.5, 0.5]).numpy()
    array([1.5, 2.5], dtype=float32)
    """

    __slots__ = ()
    _names = itertools.count()

    name: str
    trainable: bool

    def __new__(
        cls, initial_value: Any, trainable: bool = True, name: str | None = None, dtype: Any = None
    ) -> Any:
        value = initial_value() if callable(initial_value) else initial_value
        tensor = as_tensor(np.asarray(value._array) if isinstance(value, Tensor) else value)
        if dtype is not None:
            tensor = tensor.to(dtype)
        self = bare(cls, tensor._array.copy())
        self.trainable = trainable
        self.name = f"{name or f'Variable_{next(cls._names)}'}:0"
        if trainable and dtypes.is_inexact(tensor.dtype):
            require(self)
        return self

    def __init__(
        self, initial_value: Any, trainable: bool = True, name: str | None = None, dtype: Any = None
    ) -> None:
        pass  # all is done in __new__; this states the arguments

    # Reading the numbers is what a tape takes note of, whoever does it.

    @property
    def _array(self) -> Any:
        for tape in active.tapes:
            tape.accessed(self)
        return _memory.__get__(self)

    @_array.setter
    def _array(self, array: Any) -> None:
        _memory.__set__(self, array)

    def value(self) -> EagerTensor:
        """The value it has now, as a tensor that stays as it is."""
        return bare(EagerTensor, self._array, self._node)

    read_value = value

    def assign(self, value: Any) -> Variable:
        """Give it a new value of its shape, and return it. The assignment is not recorded."""
        old = _memory.__get__(self)
        new = np.asarray(read(value))
        if new.shape != old.shape:
            raise ValueError(
                f"Cannot assign value to variable '{self.name}': Shape mismatch. The variable "
                f"shape {old.shape} and the assigned value shape {new.shape} are incompatible."
            )
        if not np.can_cast(new.dtype, old.dtype, "same_kind") and new.dtype.kind not in "biu":
            raise TypeError(
                f"variable '{self.name}' has dtype {old.dtype}, and a value of dtype {new.dtype} "
                "was assigned to it. Cast it first."
            )
        # Another array, not other numbers in the old one, which tensors made of it still show.
        _memory.__set__(self, new.astype(old.dtype))
        mark_written(self, "assign")
        return self

    def assign_add(self, delta: Any) -> Variable:
        """Add to the value."""
        return self.assign(_memory.__get__(self) + np.asarray(read(delta)))

    def assign_sub(self, delta: Any) -> Variable:
        """Subtract from the value."""
        return self.assign(_memory.__get__(self) - np.asarray(read(delta)))

    def __repr__(self: Any, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        array = _memory.__get__(self)
        return f"<Variable '{self.name}' shape={array.shape} dtype={array.dtype}, numpy={array!r}>"


_memory: Any = Tensor.__dict__["_array"]
"""Where a tensor has its array, beneath the property of `Variable`."""


# ---- operators -----------------------------------------------------------------------------


def _operator(name: str) -> Callable[..., Any]:
    method = getattr(Tensor, name)

    def operate(self: Any, *others: Any) -> Any:
        x = read(self)
        return eager(method(x, *(_operand(other, x) for other in others)))

    operate.__name__ = name
    return operate


def _operand(other: Any, x: Tensor) -> Any:
    """The other side of an operator; lists are tensors of the dtype of this side."""
    if isinstance(other, (list, tuple)):
        return as_tensor(np.asarray(other, x.dtype))
    return read(other)


def _getitem(self: Any, index: Any) -> Any:
    return eager(Tensor.__getitem__(read(self), read(index)))


def _rebinding(name: str) -> Callable[..., Any]:
    """`x += y` makes a new tensor; a variable says how it is changed."""
    out_of_place = _operator(f"__{name}__")

    def operate(self: Any, other: Any) -> Any:
        if isinstance(self, Variable):
            raise TypeError(
                f"variable '{self.name}' cannot be changed by an operator like +=. Use "
                "v.assign_add(x), v.assign_sub(x), or v.assign(v * x)."
            )
        return out_of_place(self, other)

    return operate


for _name in OPERATORS:
    setattr(EagerTensor, f"__{_name}__", _operator(f"__{_name}__"))
    setattr(EagerTensor, f"__r{_name}__", _operator(f"__r{_name}__"))
    setattr(EagerTensor, f"__i{_name}__", _rebinding(_name))
for _name in ("neg", "pos", "abs", *COMPARISONS):
    setattr(EagerTensor, f"__{_name}__", _operator(f"__{_name}__"))
setattr(EagerTensor, "__getitem__", _getitem)  # noqa: B010  (as the others are)
