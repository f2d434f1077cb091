"""What a specialization depends on in the arguments of a call."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.compile.trace.arguments import flatten
from wengert.compile.trace.arrays.layouts import strides_of
from wengert.compile.trace.arrays.returned import has_numpys_operators
from wengert.compile.trace.observe.objects import ATOMS, UNCHANGEABLE, contents
from wengert.compile.trace.observe.users import is_users_class
from wengert.compile.trace.world.places import history_of, is_number
from wengert.compile.trace.world.readings import has_value
from wengert.dtypes import is_supported
from wengert.tensor import INFERENCE, Tensor


def holds_no_memory(container: Any) -> bool:
    """Whether this can be changed, and holds nothing that has memory."""
    leaves: list[Any] = []
    flatten(container, leaves)
    return not isinstance(container, tuple) and not any(
        isinstance(x, Tensor | np.ndarray) and x.size for x in leaves
    )


def of_another_kind(x: Any) -> bool:
    """Whether an argument is of another kind of array than NumPy's, of a vmap, say, of a class with
    operators of its own, or one that holds no numbers, or wider ones than tensors do.
    """
    array = x._array if isinstance(x, Tensor) else x
    if isinstance(array, np.ndarray):
        return not (has_numpys_operators(array) and is_supported(array.dtype))
    return hasattr(type(array), "__array_function__")


def is_numpys(x: Any) -> bool:
    return is_number(x) and isinstance(x, np.generic)


def kind_of(x: Any, static: bool) -> Any:
    """What a specialization depends on in an argument."""
    if static and isinstance(x, Tensor | np.ndarray):
        return Same(x)
    if isinstance(x, Tensor):
        array = x._array
        lies = array.shape, array.dtype, strides_of(array)
        return type(x), *lies, history_of(x), x._origin is INFERENCE
    if isinstance(x, np.ndarray):
        return np.ndarray, x.shape, x.dtype, strides_of(x)
    return type(x) if is_number(x) and not static else alike(x)


def alike(x: Any) -> Any:
    """What stands for a value in a key: the same for values that no program tells apart.

    Equality is not enough of numbers, nor of what holds some: 1 == True == 1.0, and 0.0 == -0.0.
    """
    kind = type(x)
    if kind in (float, complex):
        return kind, repr(x)
    if isinstance(x, np.generic):
        return x.dtype, x.tobytes()
    if isinstance(x, UNCHANGEABLE):
        return kind, *map(alike, contents(x))
    try:
        hash(x)
    except TypeError:
        return Same(x)
    if is_users_class(kind):  # equal ones may differ
        return Same(x)
    is_alone = kind in _ALONE or callable(x) or not has_value(kind)
    return (kind, x) if is_alone else (kind, x, repr(x))


_ALONE = ATOMS - {range, slice}
"""Classes of values of which equal ones cannot be told apart: Decimals and ranges can."""


def with_keys(structure: Any) -> Any:
    """What stands in a key for how arguments are put together: a dictionary's keys are values."""
    if structure is None:
        return None
    kind, keys, parts = structure
    return kind, keys and tuple(map(alike, keys)), tuple(map(with_keys, parts))


class Same:
    """Stands for one object in a key. It keeps the object, for ids of dead ones are used again."""

    __slots__ = ("x",)

    def __init__(self, x: Any) -> None:
        self.x = x

    def __hash__(self) -> int:
        return id(self.x)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.x is self.x


def same_memory(flat: list[Any]) -> tuple[tuple[int, int, bool], ...]:
    """Which arguments are the same array as an earlier one, and whether they are one object."""
    first: dict[Any, int] = {}
    same = []
    for i, x in enumerate(flat):
        array = x._array if isinstance(x, Tensor) else x
        if isinstance(array, np.ndarray) and array.size:
            where = array.__array_interface__["data"][0], array.shape, array.strides, array.dtype
            if first.setdefault(where, i) != i:
                same.append((i, first[where], x is flat[first[where]]))
    return tuple(same)
