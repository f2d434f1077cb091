"""The few operations of a program that NumPy has no function for, as functions on plain arrays.

Views are values of their own here, and a write makes a new value: `updated` and `added` return what
the array holds afterwards.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def astype(x: Any, dtype: Any) -> Any:
    """`x` in another dtype."""
    return np.asarray(x).astype(dtype)


def view(x: Any, index: Any) -> Any:
    """`x[index]` for slices and None."""
    return x[index]


def take(x: Any, index: Any) -> Any:
    """`x[index]` with arrays of integers in the index."""
    return x[index]


def updated(x: Any, index: Any, value: Any) -> Any:
    """What `x` holds after `x[index] = value`."""
    out = np.array(x)
    out[index] = value
    return out


def added(x: Any, index: Any, value: Any) -> Any:
    """What `x` holds after `value` was added at `index`, each time an element occurs in it."""
    out = np.array(x)
    np.add.at(out, index, value)
    return out


def full(shape: Any, number: Any, dtype: Any) -> Any:
    """An array of one number."""
    return np.full(shape, number, dtype)


def number(x: Any, dtype: Any) -> Any:
    """A Python number, made of an array with one element."""
    return np.dtype(dtype).type(x).item()


OPERATIONS = frozenset({astype, view, take, updated, added, full, number})
