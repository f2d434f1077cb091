"""Arrays in memory as offset and strides, and what changes of layout do to them.

`through` answers for a view of an array what NumPy's `strides` would: where the same elements lie,
seen in another shape. Only a reshape may have no answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.compile.plan.plan import Place
from wengert.compile.program.infer import axes_of
from wengert.compile.program.operations import take, view
from wengert.compile.program.program import Shape, Statement


class Buffer:
    """A piece of memory: at a fixed place, or wherever in the arena there is room for it."""

    __slots__ = ("dtype", "place", "size")

    def __init__(self, size: int, dtype: np.dtype, place: Place | None = None) -> None:
        self.size = size
        self.dtype = dtype
        self.place = place

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize


@dataclass(frozen=True, slots=True)
class Strided:
    """An array: elements of a buffer, at an offset and with strides, in elements."""

    buffer: Buffer
    shape: Shape
    strides: tuple[int, ...]
    offset: int = 0

    @property
    def contiguous(self) -> bool:
        """Whether it lies in memory without gaps, row by row."""
        return all(
            n == 1 or s == t
            for n, s, t in zip(self.shape, self.strides, row_major(self.shape), strict=True)
        )


def row_major(shape: Shape) -> tuple[int, ...]:
    """The strides of an array whose last axis is contiguous.

    >>> row_major((2, 3, 4))
    (12, 4, 1)
    """
    strides = []
    step = 1
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


def in_order(shape: Shape, order: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of an array that holds its axes in another order, the last one contiguous.

    >>> in_order((2, 3, 4), (2, 0, 1))
    (3, 1, 6)
    """
    strides = [0] * len(shape)
    for axis, step in zip(order, row_major(tuple(shape[a] for a in order)), strict=True):
        strides[axis] = step
    return tuple(strides)


def entries_of_view(s: Statement) -> Iterator[tuple[Any, int]]:
    """For each entry of a basic index: the entry, and the axis of the operand it is about."""
    axis = 0
    index = s.args[1] if isinstance(s.args[1], tuple) else (s.args[1],)
    for entry in index:
        yield entry, axis
        axis += entry is not None
    for rest in range(axis, len(s.args[0].shape)):
        yield slice(None), rest


def start_and_step(entry: slice, n: int) -> tuple[int, int]:
    start, _, step = entry.indices(n)
    return start, step


def through(s: Statement, a: Strided) -> Strided | None:
    """The result of a change of layout of an array in memory, or None if it needs a copy."""
    f, shape = s.function, s.output.shape
    if f is np.transpose:
        axes = axes_of(s)
        return Strided(a.buffer, shape, tuple(a.strides[k] for k in axes), a.offset)
    if f is np.broadcast_to:
        lead = len(shape) - len(a.shape)
        kept = [
            0 if n == 1 and m != 1 else step
            for n, m, step in zip(a.shape, shape[lead:], a.strides, strict=True)
        ]
        return Strided(a.buffer, shape, (0,) * lead + tuple(kept), a.offset)
    if f is np.reshape:
        strides = reshaped(a.shape, a.strides, shape)
        return None if strides is None else Strided(a.buffer, shape, strides, a.offset)
    assert f is view or f is take, f"{s} is no change of layout"
    return part_of(a, s)


def part_of(a: Strided, s: Statement) -> Strided:
    """`a[index]`, for the basic index of a statement."""
    offset, shape, strides = a.offset, [], []
    for entry, axis in entries_of_view(s):
        if entry is None:
            shape.append(1)
            strides.append(0)
        elif isinstance(entry, slice):
            n = a.shape[axis]
            start, step = start_and_step(entry, n)
            shape.append(len(range(*entry.indices(n))))
            strides.append(a.strides[axis] * step)
            offset += start * a.strides[axis] if shape[-1] else 0
        else:
            offset += (entry % a.shape[axis]) * a.strides[axis]
    return Strided(a.buffer, tuple(shape), tuple(strides), offset)


def inverse(s: Statement, a: Strided) -> Strided | None:
    """Where the operand of a change of layout lies if its result is to lie at `a`."""
    x = s.args[0]
    if s.function is np.transpose:
        strides = [0] * len(x.shape)
        for axis, step in zip(axes_of(s), a.strides, strict=True):
            strides[axis] = step
        return Strided(a.buffer, x.shape, tuple(strides), a.offset)
    if s.function is np.reshape:
        steps = reshaped(a.shape, a.strides, x.shape)
        return None if steps is None else Strided(a.buffer, x.shape, steps, a.offset)
    return None


def blocks(old: Shape, new: Shape) -> list[tuple[range, range]]:
    """The smallest runs of axes that a reshape turns into one another; no size may be 0.

    >>> blocks((2, 3, 4), (6, 2, 2))
    [(range(0, 2), range(0, 1)), (range(2, 3), range(1, 3))]
    """
    runs = []
    i = j = 0
    while i < len(old) or j < len(new):
        first, second = i, j
        p = q = 1
        while True:
            if p <= q and i < len(old) and (p < q or i == first):
                p *= old[i]
                i += 1
            elif j < len(new) and (q < p or j == second):
                q *= new[j]
                j += 1
            else:
                break
        while i < len(old) and old[i] == 1:
            i += 1
        while j < len(new) and new[j] == 1:
            j += 1
        runs.append((range(first, i), range(second, j)))
    return runs


def reshaped(shape: Shape, strides: tuple[int, ...], new: Shape) -> tuple[int, ...] | None:
    """The strides of the same memory in another shape; None if there are none."""
    if 0 in new:
        return row_major(new)
    result = [0] * len(new)
    for olds, news in blocks(shape, new):
        run = [(shape[k], strides[k]) for k in olds if shape[k] != 1]
        merged: list[tuple[int, int]] = []
        for n, step in run:
            if merged and merged[-1][1] == step * n:
                merged[-1] = merged[-1][0] * n, step
            else:
                merged.append((n, step))
        for k in reversed(news):
            if new[k] == 1:
                continue
            if not merged or merged[-1][0] % new[k]:
                return None
            n, step = merged.pop()
            result[k] = step
            if n != new[k]:
                merged.append((n // new[k], step * new[k]))
    return tuple(result)
