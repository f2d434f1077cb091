"""What becomes of a decision: taken at once, made for each example of a batch, or left to later.

A predicate is a Python number, an array or a tensor. Of NumPy's kind it is a number now; batched,
it has one for each example, and both ways are gone; traced, its number is not known yet.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from wengert.arrays.batched.array import BatchedArray
from wengert.arrays.kind import array_of
from wengert.errors import StateError
from wengert.functions.choosing import where
from wengert.tensor import Tensor, wrap
from wengert.tree import flatten, rebuild
from wengert.tree import leaves as leaves_of


def one_number(predicate: Any, what: str) -> Any:
    """A predicate as an array without history, after a check that it is one number."""
    array = array_of(predicate)
    if array is None or not (hasattr(array, "dtype") or hasattr(array, "__bool__")):
        kind = "None, as of a function without return" if array is None else type(array).__name__
        raise StateError(f"{what} is {kind}, but has to be one number.")
    shape = getattr(array, "shape", ())
    if int(np.prod(shape)) != 1:
        raise StateError(
            f"{what} is an array of shape {list(shape)}, but has to be one number. Reduce it, e.g. "
            "with .all() or .any(); or choose element by element, with wg.where."
        )
    return array.reshape(()) if shape else array


def is_batched(array: Any) -> bool:
    return type(array) is BatchedArray


def anywhere(array: Any) -> Any:
    """Whether a predicate holds for any example of all batches around it, as an array."""
    return outermost(np.any, array)


def outermost(reduce: Any, array: Any) -> Any:
    """What np.any, np.max or np.min makes of the numbers of all examples of the batches around."""
    while is_batched(array):
        array = reduce(array.raw, axis=0)
    return array


def chosen(predicate: Any, one: Any, other: Any) -> Any:
    """A state with the leaves of `one` where a predicate holds, of `other` elsewhere."""
    first, tree = flatten(one)
    return rebuild(tree, map(partial(_either, predicate), first, leaves_of(other)))


def _either(predicate: Any, a: Any, b: Any) -> Any:
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return where(wrap(predicate), a, b)
    return np.where(predicate, a, b)
