"""Batches inside the engine: a function run once, on arrays that show one example and hold all.

Gradients for many cotangents at once, and the columns of a Jacobian, are made by `each`; the
public `vmap`, in `transforms/vmap.py`, adds containers, dimensions and chunks. Read
`arrays/batched/array.py` and `levels.py` first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from wengert.arrays.batched.array import BatchedArray, Level, _newest, entered, is_batched, left
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
            results = f(*inside)
        return [None if x is None else _crossing(left, leaving, x, level) for x in results]


def units(x: Any) -> Iterator[np.ndarray]:
    """Arrays like x that are one in one entry and zero elsewhere."""
    for i in np.ndindex(x._array.shape):
        unit = np.zeros_like(x._array)
        unit[i] = 1
        yield unit


class VmapInfo(NamedTuple):
    """What a custom function's `vmap` is told of the batch."""

    batch_size: int
    randomness: str


def level_among(args: Any) -> Level | None:
    """The innermost level of which an argument has a value for each example."""
    return _newest([x._array for x in args if isinstance(x, Tensor)], None)


def by_rule(rule: Callable[..., Any], args: Any, level: Level) -> Any:
    """What a custom function's `vmap(info, in_dims, *args)` makes of whole batches."""
    dims = tuple(0 if isinstance(x, Tensor) and is_batched(x._array, level) else None for x in args)
    whole = [x if d is None else leaving(x, d, level) for x, d in zip(args, dims, strict=True)]
    results, out_dims = rule(VmapInfo(level.size, level.randomness), dims, *whole)
    if not isinstance(results, tuple):
        return results if out_dims is None else entering(results, out_dims, level)
    out_dims = out_dims if isinstance(out_dims, (tuple, list)) else (out_dims,) * len(results)
    pairs = zip(results, out_dims, strict=True)
    return tuple(x if d is None else entering(x, d, level) for x, d in pairs)


def _crossing(function: Any, record: Any, x: Tensor, level: Level) -> Tensor:
    """A tensor on the other side of a level: what nobody follows need not be recorded."""
    if x._node is None and x._origin is None and not carries(x):
        array = x._array
        known = type(array) is np.ndarray or type(array) is BatchedArray
        return wrap((function.body if known else function)(array, 0, level))
    crossed: Tensor = record(x, 0, level)
    return crossed
