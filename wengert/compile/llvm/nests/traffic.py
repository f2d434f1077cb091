"""Which accesses of a nest go to memory far away, and how they get there without waiting.

Arrays that fit the caches are best left to the processor. Rows longer than that are fetched some
blocks before they are used, and what is larger than the caches hold until somebody reads it is
written past them: a write through the caches reads the memory first.
"""

from __future__ import annotations

import math

from wengert.compile.llvm.machine.memory import PART
from wengert.compile.llvm.nests.schedule import Nest, cost
from wengert.compile.plan.kernel import Access, Load, Store

LONG = 1 << 18
"""Bytes from which on a row is read from afar, as it fits no near cache."""

AHEAD = {2: 1 << 14, 1: 1 << 11}
"""Bytes by which such a row is fetched ahead, into the second-level cache and on into the first.

The first distance is past the page at hand, where the processor itself stops looking ahead. It
takes away most of what a row costs whose work fills the processor. From there the second takes it:
lines that come to the first level from memory would wait there too long, and others for them."""

PAST_CACHES = 1 << 25
"""Bytes from which on an array is written past the caches. Smaller ones gain nothing there if they
are read next, and lose much (3 times, at 4 MB); at 40 MB it is a tenth to a fifth faster."""


LIGHT = 8.0
"""Instructions for each of several rows that are read, up to which memory is what a nest waits for
that writes past the caches. What is fetched ahead keeps the writes waiting there: sums and products
of two rows of 40 MB take a fifth longer with it. The processor fetches as far ahead as it needs."""


def from_afar(nest: Nest, parts: int = 1, past: frozenset[int] = frozenset()) -> frozenset[Access]:
    """What is fetched ahead: what is read in rows longer than the caches, one element after the
    other.

    A nest may be one of several `parts`: of one row, if it has no other loop. The stores `past` the
    caches are those that it makes.
    """
    if nest.vector < 0 or nest.vector != len(nest.extents) - 1:
        return frozenset()
    length = nest.extents[-1] * (parts if len(nest.extents) == 1 else 1)
    far = frozenset(
        op.access
        for op in nest.operations
        if isinstance(op, Load)
        and op.access.strides[-1] == 1
        and not op.access.indices
        and length * op.dtype.itemsize >= LONG
    )
    light = sum(map(cost, nest.operations)) <= LIGHT * len(far)
    return frozenset() if past and light and len(far) > 1 else far


def past_caches(nest: Nest, parts: int = 1) -> frozenset[int]:
    """The stores to be written past the caches, if they are aligned, of so many nests alike."""
    if nest.vector < 0 or nest.vector != len(nest.extents) - 1:
        return frozenset()
    stores = ((k, op) for k, op in enumerate(nest.operations) if isinstance(op, Store))
    return frozenset(k for k, op in stores if _goes_past(nest, op, parts))


def _goes_past(nest: Nest, op: Store, parts: int) -> bool:
    dtype = nest.buffers[op.access.buffer]
    *outer, last = op.access.strides
    if op.combine or op.access.indices or last != 1 or dtype.kind == "c":
        return False
    size = math.prod(n for n, s in zip(nest.extents, op.access.strides, strict=True) if s)
    # Every vector of every row has to begin at a multiple of PART.
    steps = (nest.lanes, *outer)
    whole = all(step * dtype.itemsize % PART == 0 for step in steps)
    return whole and parts * size * dtype.itemsize >= PAST_CACHES
