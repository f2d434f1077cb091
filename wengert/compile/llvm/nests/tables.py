"""Short tables: what is taken out of a few elements at computed places is permuted in registers.

A gather reads lane after lane from memory, at some processors as slowly as one load after another.
A table that fills one or two vectors is read once, and a permutation takes all lanes out of it.
"""

from __future__ import annotations

import math

import numpy as np
from llvmlite import ir

from wengert.compile.llvm.machine import host as machine
from wengert.compile.llvm.machine.functions import call
from wengert.compile.llvm.machine.memory import load, offset
from wengert.compile.llvm.machine.values import I32, B, V, lanes_of, wide
from wengert.compile.llvm.nests.schedule import Nest
from wengert.compile.plan.kernel import Load, Store

NAMES = {
    np.dtype(np.float64): ("permvar.df", "vpermi2var.pd"),
    np.dtype(np.float32): ("permvar.sf", "vpermi2var.ps"),
}
"""The permutations of one vector of 64 bytes, and of two."""
OFTEN = 8
"""Vectors that are taken out of a table, at least."""


def is_short(nest: Nest, op: Load) -> bool:
    """Whether a load takes elements out of a table that lies in registers."""
    if op.dtype not in NAMES or op.dtype.itemsize * nest.lanes != 64:
        return False
    if not machine.host().has("avx512f") or any(op.access.strides) or len(op.access.indices) != 1:
        return False
    ((_, stride, size),) = op.access.indices
    if any(isinstance(x, Store) and x.access.buffer == op.access.buffer for x in nest.operations):
        return False
    enough = math.prod(nest.extents) >= OFTEN * nest.lanes
    return stride == 1 and 0 < size <= 2 * nest.lanes and enough


class Table:
    """The elements from an address on, in one vector or two."""

    def __init__(self, b: B, dtype: np.dtype, pointer: V, size: int, lanes: int) -> None:
        self.b = b
        self.name = NAMES[dtype]
        self.vectors = [
            load(b, offset(b, pointer, k, dtype), dtype, lanes, 1, min(size - k, lanes))
            for k in range(0, size, lanes)
        ]

    def taken(self, places: V) -> V:
        """Those at some places, a vector of int64."""
        b, kind = self.b, self.vectors[0].type
        if isinstance(kind.element, ir.FloatType):
            places = b.trunc(places, wide(I32, lanes_of(places)))
        name = f"llvm.x86.avx512.{self.name[len(self.vectors) - 1]}.512"
        first, *second = self.vectors
        return call(b, name, kind, [first, places, *second])
