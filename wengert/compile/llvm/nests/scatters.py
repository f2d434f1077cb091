"""Sums at computed places, of which there are few: each lane adds in places of its own.

What meets at one place waits for what was written there before, a load and a store away. With a
copy of the places for each lane it waits for the same lane of the vector before alone; in the end
the copies of each place are added up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from llvmlite import ir

from wengert.compile.llvm.machine.control import counting
from wengert.compile.llvm.machine.memory import folded, load, offset, one_by_one, store
from wengert.compile.llvm.machine.scratch import stack
from wengert.compile.llvm.machine.values import BIT, I64, B, V, element, number, wide
from wengert.compile.llvm.nests.accumulators import combined
from wengert.compile.llvm.nests.schedule import Nest, accesses
from wengert.compile.plan.kernel import LINE, Access, Store

FEW = 64
"""Places of which there is a copy for each lane, at most."""
NEAR = 16
"""Places whose copies lie in registers, at most: two for each lane, or one where a processor has
fewer of them."""
OFTEN = 8
"""Numbers that arrive for each copy, at least: they are begun and added up."""


def places(nest: Nest, op: Store) -> int:
    """How many places a store adds to that has copies; 0 if it has none."""
    dtype = nest.buffers[op.access.buffer]
    if op.combine != "add" or dtype not in (np.float32, np.float64) or not op.access.indices:
        return 0
    if not _is_fixed(op.access):
        return 0
    count = _span(op.access)
    begin = op.access.offset
    for x in accesses(nest.operations):
        apart = _is_fixed(x) and (x.offset + _span(x) <= begin or begin + count <= x.offset)
        if x.buffer == op.access.buffer and _where(x) != _where(op.access) and not apart:
            return 0
    arriving = math.prod(nest.extents)
    return count if count <= FEW and arriving >= OFTEN * count * nest.lanes else 0


def _is_fixed(x: Access) -> bool:
    """Whether no loop moves where it may lie."""
    return not any(x.strides) and all(stride >= 0 for _, stride, _ in x.indices)


def _span(x: Access) -> int:
    """How many places there are from its first to its last."""
    return 1 + sum(stride * (size - 1) for _, stride, size in x.indices)


def _where(x: Access) -> Any:
    """The places that may be added to, whichever they are."""
    return x.offset, x.strides, [(stride, size) for _, stride, size in x.indices]


class Copies:
    """The copies of the places that stores add to: a vector for each place.

    They lie on the stack. Few enough lie in registers: each gets what arrives, in the lanes where
    it is the place, which takes less time than to look where each lane belongs.
    """

    def __init__(self, b: B, dtype: np.dtype, count: int, lanes: int, target: V) -> None:
        self.b, self.dtype, self.count, self.lanes = b, dtype, count, lanes
        self.target = target
        self.kind = wide(element(dtype), lanes)
        self.near = count <= min(lanes * (2 if lanes * dtype.itemsize == 64 else 1), NEAR)
        self.at = stack(b, ir.ArrayType(self.kind, count), LINE)
        with self._each() as places:
            for k in places:
                self._put(k, number(self.kind, -0.0))

    @contextmanager
    def _each(self) -> Iterator[Iterable[Any]]:
        """All places, one after the other: what lies in registers has no computed address."""
        if self.near:
            yield range(self.count)
        else:
            with counting(self.b, I64(0), I64(self.count), 1) as k:
                yield (k,)

    def _put(self, k: Any, value: V) -> None:
        store(self.b, value, self._place(k), self.dtype, self.lanes, 1, self.lanes)

    def _get(self, k: Any) -> V:
        return load(self.b, self._place(k), self.dtype, self.lanes, 1, self.lanes)

    def _place(self, k: Any) -> V:
        far = I64(k * self.lanes) if type(k) is int else self.b.mul(k, I64(self.lanes))
        return offset(self.b, self.at, far, self.dtype)

    def add(self, offsets: V, value: V, active: int) -> None:
        """Add the active lanes of a vector, each in its own copy of its place."""
        b, vector = self.b, wide(I64, self.lanes)
        if self.near:
            own = ir.Constant(wide(BIT, self.lanes), [BIT(k < active) for k in range(self.lanes)])
            for k in range(self.count):
                here = b.icmp_signed("==", offsets, number(vector, k))
                here = here if active == self.lanes else b.and_(here, own)
                before = self._get(k)
                self._put(k, b.select(here, self._combined(before, value), before))
            return
        own = ir.Constant(vector, [I64(k) for k in range(self.lanes)])
        offsets = b.add(b.mul(offsets, number(vector, self.lanes)), own)
        one_by_one(b, self.at, offsets, value, self.dtype, active, self._combined)

    def _combined(self, x: Any, y: Any) -> Any:
        return combined(self.b, "add", self.dtype, x, y)

    def finish(self) -> None:
        """Add what the copies hold to what is there."""
        with self._each() as places:
            for k in places:
                place = offset(self.b, self.target, I64(k) if type(k) is int else k, self.dtype)
                before = load(self.b, place, self.dtype, 0, 0, 1)
                copies = folded(self.b, self._get(k), self._combined)
                store(self.b, self._combined(before, copies), place, self.dtype, 0, 0, 1)
