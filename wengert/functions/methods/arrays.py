"""The methods of NumPy's arrays, on tensors.

`Array` is what code gets that was written for arrays: each name that NumPy's arrays have means
there what it means on them, `x.std()` with ddof=0, `x.max(0)` without indices, `x.size` a number.
What they are is said once, for every kind of array (`arrays/methods.py`). The package's own code
takes tensors of both kinds and speaks PyTorch: it is told apart by who calls. On other tensors
only those names are NumPy's that PyTorch has no use for.
"""

from __future__ import annotations

import functools
import sys
from types import FunctionType
from typing import Any

import numpy as np

from wengert.arrays.methods import METHODS
from wengert.autograd.homonyms import REFUSALS, meant, of_pytorch
from wengert.errors import DtypeError
from wengert.functions import indexing, shapes
from wengert.functions.methods import conversations, inplace, named, operators
from wengert.history import modes
from wengert.tensor import Array, Tensor, carries

_OTHERS = conversations, inplace, named, operators
"""The files that give Tensor its methods before this one adds those that are not there."""


def _as_numpys() -> bool:
    """Whether the code that asks for a method means NumPy's."""
    if not (modes.special and modes.current().numpy_code):
        return False
    name = sys._getframe(2).f_globals.get("__name__") or ""
    return not name.startswith("wengert.")


def _either(name: str, numpys: Any) -> Any:
    """A member of `Array` that means NumPy's or PyTorch's, by who asks."""
    pytorchs = vars(Tensor)[name]

    def asked(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not _as_numpys():
            return pytorchs(self, *args, **kwargs)
        try:
            return numpys(self, *args, **kwargs)
        except Exception as error:
            refused = type(error) in REFUSALS and type(error) is not RuntimeError
            pytorch = refused and of_pytorch(name, pytorchs, (self, *args), kwargs)
            if not pytorch:
                raise
            raise meant(error, pytorch) from error

    def read(self: Any) -> Any:
        return (numpys if _as_numpys() else pytorchs).__get__(self, type(self))

    member = asked if isinstance(numpys, FunctionType) and callable(pytorchs) else read
    member.__name__ = name
    member.__doc__ = f"NumPy's `ndarray.{name}` in code written for arrays."
    return member if member is asked else property(read, getattr(pytorchs, "fset", None))


# ---- x[index] ------------------------------------------------------------------------------
#
# Where a number stands beside an array of indices PyTorch takes the number first; to NumPy it is
# one of the arrays, which are broadcast, and their dimensions go to the front if they are apart.


def _numpys_index(index: Any) -> Any:
    """An index that means to PyTorch what this one means to NumPy."""
    parts = [
        np.asarray(p) if isinstance(p, list) else p
        for p in (index if type(index) is tuple else (index,))
    ]
    if any(len(getattr(p, "shape", ())) for p in parts):
        parts = [np.asarray([p]) if type(p) is int or isinstance(p, np.integer) else p
                 for p in parts]  # fmt: skip
    return tuple(parts) if type(index) is tuple else parts[0]


def _get(self: Any, index: Any) -> Any:
    if type(index) in (tuple, list) and _as_numpys():
        index = _numpys_index(index)
    return indexing.get(self, index)


def _put(self: Any, index: Any, value: Any) -> None:
    if type(index) in (tuple, list) and _as_numpys():
        index = _numpys_index(index)
    indexing.put(self, index, value)


def _strides(self: Any) -> tuple[int, ...]:
    """How many bytes lie between neighbours along each dimension."""
    return self._array.strides


def _flags(self: Any) -> Any:
    """How the memory lies, and whether it may be written to."""
    return self._array.flags


def _view(self: Any, dtype: Any = None, *rest: Any, **kwargs: Any) -> Any:
    """Read the memory as other numbers: complex ones as pairs, and pairs as complex ones."""
    if dtype is None and not kwargs:
        return self[...]
    if not isinstance(dtype, (type, np.dtype, str)):
        return shapes.view(self, dtype, *rest, **kwargs)
    dtype, now = np.dtype(dtype), self.dtype
    if dtype == now:
        return self[...]
    sizes = tuple(self.shape[:-1])
    if now.kind == "c" and dtype.kind == "f" and now.itemsize == 2 * dtype.itemsize:
        return shapes.view_as_real(self).reshape(*sizes, -1)
    if now.kind == "f" and dtype.kind == "c" and dtype.itemsize == 2 * now.itemsize:
        return shapes.view_as_complex(self.reshape(*sizes, -1, 2))
    if self.requires_grad or carries(self):
        raise DtypeError(
            f"x.view({dtype}) reads the bits of {now} numbers that are being differentiated, which "
            f"has no derivative: write x.astype({dtype}) for their values, or x.detach().view(...)."
        )
    return shapes.view(self, dtype)


def _item(self: Any, *place: Any) -> Any:
    """The single element, or the one at a place, as a Python number."""
    flat = len(place) == 1 and not isinstance(place[0], tuple)
    at = shapes.reshape(self, -1)[place] if flat else self[place[0] if len(place) == 1 else place]
    return conversations.TensorMethods.item(at)


def _copied(self: Any, memo: Any = None) -> Any:
    """A copy, as `copy.copy` and `copy.deepcopy` make it of an array, with its history."""
    return self.clone()


def _in_place(operator: Any) -> Any:
    """`x += y` where NumPy's numbers are left as they are: a name is given to a new one.

    Elements and sums are such numbers there. Python goes on to `x + y`.
    """

    @functools.wraps(operator)
    def asked(self: Any, other: Any) -> Any:
        number = not self._array.ndim and _as_numpys()
        return NotImplemented if number else operator(self, other)

    return asked


def _divmod(self: Any, other: Any) -> Any:
    return self // other, self % other


def _rdivmod(self: Any, other: Any) -> Any:
    return other // self, other % self


for _name, _member in METHODS.items():
    if hasattr(Tensor, _name):
        if _name not in ("T", "mT", "itemsize", "nbytes"):  # which are the same
            setattr(Array, _name, _either(_name, _member))
    else:
        setattr(Tensor, _name, _member)
for _name, _member in {
    "strides": property(_strides), "__divmod__": _divmod, "__rdivmod__": _rdivmod,
}.items():  # fmt: skip
    setattr(Tensor, _name, _member)
Array.flags = property(_flags)  # type: ignore[attr-defined]
for _name, _member in {
    "view": _view, "item": _item, "__copy__": _copied, "__deepcopy__": _copied,
}.items():  # fmt: skip
    setattr(Array, _name, _either(_name, _member))
for _name, _member in [*vars(Tensor).items()]:
    if _name.startswith("__i") and hasattr(Tensor, f"__r{_name[3:]}"):
        setattr(Array, _name, _in_place(_member))
Array.__getitem__ = _get  # type: ignore[method-assign]
Array.__setitem__ = _put  # type: ignore[method-assign]
