"""Parts: results that lie in the memory of an argument, a tensor from outside, or another result.

What a function returns is said by where it lies: in memory of its own, as an `Output` does, or in
that of something else, as a `Part`, of which each call takes a view anew.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wengert.arrays.memory import address
from wengert.autograd.record import recorder
from wengert.compile.plan.strides import reshaped
from wengert.compile.trace.arrays.array import TracedArray
from wengert.compile.trace.arrays.storage import Storage
from wengert.compile.trace.world.places import Output, Place
from wengert.rules import shapes
from wengert.tensor import INFERENCE, Tensor, View, cell_of, view_of, wrap

_strided = recorder(shapes.as_strided)
_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class Part:
    """Among a call's results: what lies in the memory of `base`, all of it or as `lies` says.

    `lies` is a shape, strides and an offset from the first element, in elements. What is a `view`
    to the history too is written as `creation` says; what shares the `versions` counts writes
    together with the base.
    """

    number: int
    base: Output | Part | Place
    lies: tuple[tuple[int, ...], tuple[int, ...], int] | None
    tensor: bool
    view: bool = False
    creation: str | None = None
    versions: bool = False
    inference: bool = False
    requires_grad: bool = False
    leaf: bool = False
    itemsize: int = 0

    def of(self, base: Any) -> Any:
        """This part of what a call has found, or made, as the base."""
        whole = base._array if isinstance(base, Tensor) else base
        array = self.seen_in(whole)
        if not self.tensor:
            return array
        out = wrap(array)
        if self.view and isinstance(base, Tensor):
            view_of(out, base, *self.call(whole), self.creation)
        elif self.versions and isinstance(base, Tensor):
            out._cell = cell_of(base)
        elif self.inference:
            out._origin = INFERENCE
        return out.requires_grad_() if self.leaf else out

    def seen_in(self, whole: Any) -> Any:
        return whole if self.lies is None else _seen(whole, *self.lies)

    def axes(self) -> tuple[int, ...] | None:
        """The axes of an output in the order that makes it this; None if this is more than that."""
        if type(self.base) is not Output or self.base.tensor or self.lies is None:
            return None
        shape, strides, offset = self.lies
        order = sorted(range(len(shape)), key=lambda i: -strides[i])
        sizes = [shape[i] for i in order]
        whole = [math.prod(sizes[k + 1 :]) for k in range(len(sizes))]
        if offset or 0 in shape or [strides[i] for i in order] != whole:
            return None
        return tuple(order.index(i) for i in range(len(shape)))

    def call(self, whole: np.ndarray[Any, Any]) -> tuple[Any, tuple[Any, ...]]:
        """What makes such a view again, of a base that holds this array."""
        steps = _steps(whole)
        return _strided, (*(self.lies or (whole.shape, steps, 0)), steps)

    def chain(self) -> Iterator[Output | Part | Place]:
        """This part, what it lies in, and what that lies in."""
        x: Output | Part | Place = self
        while type(x) is Part:
            yield x
            x = x.base
        yield x

    def within(self, around: Part) -> Part:
        """This part as one of another part of the same base."""
        lies = self.lies
        if lies is not None and around.lies is not None:
            shape, strides, offset = lies
            lies = shape, strides, offset - around.lies[2]
        return replace(self, base=around, lies=lies)


def _steps(array: np.ndarray[Any, Any]) -> tuple[int, ...]:
    return tuple(step // array.itemsize for step in array.strides)


def _seen(array: Any, shape: Any, strides: Any, offset: int) -> Any:
    size = array.itemsize
    if not array.flags.c_contiguous or not array.size:
        return shapes.as_strided(array, shape, strides, offset, _steps(array))
    return np.ndarray(shape, array.dtype, array, offset * size, [s * size for s in strides])


def part(
    x: Tensor | TracedArray, array: TracedArray, base: Output | Part | Place, cell: Any = None
) -> Part | None:
    """A result as a part of the base in whose storage it lies; None if it cannot be said so.

    `cell` is what counts the writes to the base.
    """
    lies = _lies(array)
    if lies is None:
        return None
    whole = None if not array.path else lies
    if not isinstance(x, Tensor):
        return Part(next(_numbers), base, whole, False, itemsize=array.dtype.itemsize)
    return Part(
        next(_numbers),
        base,
        whole,
        tensor=True,
        view=type(x._origin) is View,
        # The history of what is no result by itself is not known to the caller.
        creation="custom" if isinstance(base, Output | Part) and cell is None else None,
        versions=cell is not None and x._cell is cell,
        inference=x._origin is INFERENCE,
        itemsize=array.dtype.itemsize,
    )


def ordered(x: Any, array: TracedArray, base: Output, strides: Any) -> Part:
    """A result as all of an output that has its axes in another order: a tensor, as `x` is."""
    tensor = isinstance(x, Tensor)
    return Part(
        next(_numbers),
        base,
        (array.shape, strides, 0),
        tensor,
        inference=tensor and x._origin is INFERENCE,
        itemsize=array.dtype.itemsize,
    )


def _lies(array: TracedArray) -> Any:
    """Where the elements lie in the storage, or in a result of its own that is row-major."""
    path = array.path
    root = seen = array.storage.like()
    for step in path:
        if step.function is np.reshape and not _can_reshape(seen, step.shape):
            return None
        seen = step.seen(seen)
    if seen.dtype != root.dtype or not all(step.is_known for step in path):
        return None
    return seen.shape, _steps(seen), (address(seen) - address(root)) // root.itemsize


def _can_reshape(array: np.ndarray[Any, Any], shape: Any) -> bool:
    return reshaped(array.shape, _steps(array), shape) is not None


def overlapping(arrays: list[TracedArray]) -> set[Storage]:
    """The storages of which several of these arrays see the same elements."""
    storages = set()
    known: dict[Storage, list[Any]] = {}
    roots: dict[Storage, Any] = {}
    for array in arrays:
        root = roots.setdefault(array.storage, array.storage.like())
        seen, others = array.seen_in(root), known.setdefault(array.storage, [])
        if any(np.may_share_memory(seen, other) for other in others):
            storages.add(array.storage)
        others.append(seen)
    return storages
