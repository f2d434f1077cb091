"""The few operations of a program that NumPy has no function for, as functions on plain arrays.

Views are values of their own here, and a write makes a new value: `updated` and `added` return what
the array holds afterwards.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.dispatch import Unforeseen


def astype(x: Any, dtype: Any) -> Any:
    """`x` in another dtype."""
    return np.asarray(x).astype(dtype)


def view(x: Any, index: Any) -> Any:
    """`x[index]` for slices and None."""
    return x[index]


def take(x: Any, index: Any) -> Any:
    """`x[index]` with arrays of integers in the index: those that a `check` has let pass."""
    return x[index]


def updated(x: Any, index: Any, value: Any) -> Any:
    """What `x` holds after `x[index] = value`."""
    out = np.array(x)
    out[index] = value
    return out


def added(x: Any, index: Any, value: Any) -> Any:
    """What `x` holds after `value` was added at `index`, each time an element occurs in it."""
    out = np.array(x)
    # In NumPy 2.4 it reads past the end of what has fewer axes than the index.
    np.add.at(out, index, np.broadcast_to(value, np.shape(out[index])))
    return out


def full(shape: Any, number: Any, dtype: Any) -> Any:
    """An array of one number."""
    return np.full(shape, number, dtype)


def anew(x: Any, time: int) -> Any:
    """`x` itself. What is made of it is made again then, and not what was made of `x` before."""
    return x


def number(x: Any, dtype: Any) -> Any:
    """A Python number, made of an array with one element."""
    return np.dtype(dtype).type(x).item()


def check(holds: Any, error: Any, *args: Any) -> None:
    """Raise `error(*args)` if `holds` is false. It has no result, and is carried out for sure."""
    if not holds:
        raise error(*args)


class Otherwise(Unforeseen):
    """A number decides otherwise than a program supposes: the call is another program's."""


def supposes(statement: Any) -> bool:
    """Whether a statement checks what is but supposed."""
    return statement.function is check and statement.args[1] in (Unforeseen, Otherwise)


class Special:
    """A function of `scipy.special` on single elements; SciPy is imported when it is called."""

    __module__ = "scipy.special"
    nin = nout = 1
    signature = None

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __call__(self, x: Any) -> Any:
        import scipy.special

        return getattr(scipy.special, self.__name__)(x)

    def resolve_dtypes(self, dtypes: Any, **rest: Any) -> Any:
        """The dtypes of argument and result, as a ufunc tells them."""
        dtype = np.dtype(dtypes[0] if dtypes[0] is not float else np.float64)
        if dtype.kind not in "fc" or dtype.itemsize < 4:
            dtype = np.dtype(np.float64 if dtype.kind != "f" else np.float32)
        return dtype, dtype

    def __repr__(self) -> str:
        return f"scipy.special.{self.__name__}"


erf = Special("erf")

LAYOUTS = frozenset({np.reshape, np.transpose, np.broadcast_to, view})
"""Functions that only look at elements in another order, or at some of them."""
SOURCES = frozenset({full, np.arange})
"""Functions that make arrays out of nothing."""
OPERATIONS = frozenset({astype, view, take, updated, added, full, anew, number, check})
