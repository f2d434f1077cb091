"""The methods of NumPy's arrays, as calls of its functions, for kinds of arrays that answer those.

A kind of array says what NumPy's functions mean on it (`kind.py`); `x.sum(0)` and `x + y` follow.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from wengert.arrays.kind import Kind, array_of
from wengert.dispatch import numpy


class ArrayMethods(np.lib.mixins.NDArrayOperatorsMixin):
    """Operators, and the methods that are functions. An array has a kind, a shape and a dtype."""

    __slots__ = ()
    __array_priority__ = Kind.priority

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        function = ufunc if method == "__call__" else getattr(ufunc, method)
        return self.kind.answer(function, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return self.kind.answer(function, args, kwargs)

    def __getitem__(self, index: Any) -> Any:
        return self.kind.answer(operator.getitem, (self, _bare_index(index)), {})

    def __setitem__(self, index: Any, value: Any) -> None:
        self.kind.answer(operator.setitem, (self, _bare_index(index), array_of(value)), {})

    @property
    def kind(self) -> Kind:
        raise NotImplementedError

    @property
    def shape(self) -> tuple[int, ...]:
        raise NotImplementedError

    @property
    def dtype(self) -> np.dtype[Any]:
        raise NotImplementedError

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def device(self) -> str:
        """Where the memory is: a word to NumPy, and to PyTorch an object."""
        return "cpu"

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def T(self) -> Any:
        return numpy.transpose(self)

    @property
    def mT(self) -> Any:
        return numpy.swapaxes(self, -1, -2)

    @property
    def flat(self) -> Any:
        return numpy.ravel(self)

    def reshape(self, *shape: Any, order: str = "C") -> Any:
        return numpy.reshape(self, shape[0] if len(shape) == 1 else shape, order=order)

    def transpose(self, *axes: Any) -> Any:
        return numpy.transpose(self, axes[0] if len(axes) == 1 else axes or None)

    def flatten(self, order: str = "C") -> Any:
        return numpy.reshape(self, (-1,), order=order).copy()

    def conj(self) -> Any:
        """NumPy's method gives a real array itself, as its function does not."""
        return numpy.conjugate(self) if self.dtype.kind == "c" else self

    conjugate = conj

    def fill(self, value: Any) -> None:
        if np.ndim(value):
            raise ValueError("setting an array element with a sequence.")
        self[...] = value

    def sort(self, axis: int = -1, kind: Any = None, order: Any = None, **stable: Any) -> None:
        self[...] = numpy.sort(self, axis=axis, kind=kind, order=order, **stable)

    def partition(self, kth: Any, axis: int = -1, kind: Any = "introselect") -> None:
        self[...] = numpy.partition(self, kth, axis=axis, kind=kind)

    def compress(self, condition: Any, axis: Any = None) -> Any:
        return numpy.compress(condition, self, axis=axis)

    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True,
        copy: bool = True,
    ) -> Any:  # fmt: skip
        if not np.can_cast(self.dtype, dtype, casting):  # type: ignore[arg-type]
            raise TypeError(f"Cannot cast array data from {self.dtype!r} to {np.dtype(dtype)!r} "
                            f"according to the rule {casting!r}")  # fmt: skip
        return numpy.astype(self, dtype, copy=copy)

    def ptp(self, *args: Any, **kwargs: Any) -> Any:
        return numpy.ptp(self, *args, **kwargs)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    __hash__ = None  # type: ignore[assignment]


def _bare_index(index: Any) -> Any:
    return tuple(map(array_of, index)) if type(index) is tuple else array_of(index)


def _method(name: str, function: Any) -> Any:
    def method(self: ArrayMethods, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    method.__name__ = name
    return method


# The description of the rest is NumPy's own: a method that is called as its function is.
for _name in dir(np.ndarray):
    if (
        not _name.startswith("_")
        and callable(getattr(np.ndarray, _name))
        and _name not in {*vars(ArrayMethods), "resize"}  # np.resize repeats, the method fills up
        and hasattr(np, _name)
    ):
        setattr(ArrayMethods, _name, _method(_name, getattr(np, _name)))

for _name in ("real", "imag"):
    if _name not in vars(ArrayMethods):
        setattr(ArrayMethods, _name, property(_method(_name, getattr(np, _name))))

METHODS: dict[str, Any] = {
    name: member
    for name, member in vars(ArrayMethods).items()
    if not name.startswith("_") and name not in ("kind", "shape", "dtype")
}
"""What the methods of NumPy's arrays mean, by their names, for arrays that have a state."""
