"""Sums at computed places, of which there are few: each lane adds in places of its own.

What meets at one place waits for what was written there before, a load and a store away. With a
copy of the places for each lane it waits for the same lane of the vector before alone; in the end
the copies of each place are added up.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir

from wengert.compile.llvm.machine.control import counting
from wengert.compile.llvm.machine.memory import folded, load, offset, one_by_one, store
from wengert.compile.llvm.machine.scratch import stack
from wengert.compile.llvm.machine.values import I64, B, V, element, number, wide
from wengert.compile.llvm.nests.accumulators import combined
from wengert.compile.llvm.nests.schedule import Nest, accesses
from wengert.compile.plan.kernel import LINE, Store

FEW = 64
"""Places of which there is a copy for each lane, at most."""
OFTEN = 8
"""Numbers that arrive for each copy, at least: they are begun and added up."""


def places(nest: Nest, op: Store) -> int:
    """How many places a store adds to that has copies; 0 if it has none."""
    dtype = nest.buffers[op.access.buffer]
    if op.combine != "add" or dtype not in (np.float32, np.float64) or any(op.access.strides):
        return 0
    if not op.access.indices or any(stride < 0 for _, stride, _ in op.access.indices):
        return 0
    if [x.buffer for x in accesses(nest.operations)].count(op.access.buffer) > 1:
        return 0
    count = 1 + sum(stride * (size - 1) for _, stride, size in op.access.indices)
    arriving = math.prod(nest.extents)
    return count if count <= FEW and arriving >= OFTEN * count * nest.lanes else 0


class Copies:
    """The copies of one store's places, on the stack: a vector for each place."""

    def __init__(self, b: B, dtype: np.dtype, count: int, lanes: int) -> None:
        self.b, self.dtype, self.count, self.lanes = b, dtype, count, lanes
        self.kind = wide(element(dtype), lanes)
        self.at = stack(b, ir.ArrayType(self.kind, count), LINE)
        with counting(b, I64(0), I64(count), 1) as k:
            self._put(k, number(self.kind, -0.0))

    def _put(self, k: V, value: V) -> None:
        store(self.b, value, self._place(k), self.dtype, self.lanes, 1, self.lanes)

    def _place(self, k: V) -> V:
        return offset(self.b, self.at, self.b.mul(k, I64(self.lanes)), self.dtype)

    def add(self, offsets: V, value: V, active: int) -> None:
        """Add the active lanes of a vector, each in its own copy of its place."""
        b, vector = self.b, wide(I64, self.lanes)
        own = ir.Constant(vector, [I64(k) for k in range(self.lanes)])
        offsets = b.add(b.mul(offsets, number(vector, self.lanes)), own)
        one_by_one(b, self.at, offsets, value, self.dtype, active, self._combined)

    def _combined(self, x: Any, y: Any) -> Any:
        return combined(self.b, "add", self.dtype, x, y)

    def finish(self, target: V) -> None:
        """Add what the copies hold to what is there."""
        with counting(self.b, I64(0), I64(self.count), 1) as k:
            copies = load(self.b, self._place(k), self.dtype, self.lanes, 1, self.lanes)
            place = offset(self.b, target, k, self.dtype)
            before = load(self.b, place, self.dtype, 0, 0, 1)
            total = self._combined(before, folded(self.b, copies, self._combined))
            store(self.b, total, place, self.dtype, 0, 0, 1)
