"""Batches inside the engine: a function run once, on arrays that show one example and hold all.

Gradients for many cotangents at once, and the columns of a Jacobian, are made by `each`; the
public `vmap`, in `transforms/vmap.py`, adds containers, dimensions and chunks. Read
`arrays/batched/array.py` and `levels.py` first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.arrays.batched.array import BatchedArray, Level, entered, left
from wengert.autograd.levels import entering, leaving
from wengert.history import modes
from wengert.tensor import Tensor, carries, wrap


class running:
    """A level that lives as long as the block."""

    __slots__ = ("level",)

    def __init__(self, size: int, randomness: Any = "error") -> None:
        self.level = Level(size, randomness, modes.current().level)

    def __enter__(self) -> Level:
        return self.level

    def __exit__(self, *exception: object) -> None:
        self.level.alive = False


class within(modes.Mode):
    """What the function does: operations recorded here are inside of the level."""

    fields: tuple[str, ...] = ("level",)

    def __init__(self, level: Level) -> None:
        self.level = level

    def _changed(self, state: modes.State) -> modes.State:
        return state._replace(level=self.level)


def each(f: Callable[..., Any], size: int, *arrays: Any, randomness: Any = "error") -> Any:
    """`f` of batched arrays (None stays None), for the engine: its results, with the batch first.

    The level lives while f runs; what f returns are Tensors or None.
    """
    with running(size, randomness) as level:
        inside = [None if x is None else _crossing(entered, entering, x, level) for x in arrays]
        with within(level):
            made = f(*inside)
        return [None if x is None else _crossing(left, leaving, x, level) for x in made]


def _crossing(function: Any, record: Any, x: Tensor, level: Level) -> Tensor:
    """A tensor on the other side of a level: what nobody follows need not be recorded."""
    if x._node is None and x._origin is None and not carries(x):
        array = x._array
        known = type(array) is np.ndarray or type(array) is BatchedArray
        return wrap((function.plain if known else function)(array, 0, level))
    crossed: Tensor = record(x, 0, level)
    return crossed
