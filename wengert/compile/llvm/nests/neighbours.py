"""Neighbours: accesses of one iteration that lie side by side in memory, made as one.

Where a loop is taken in vectors and each step of it leads to another row, the elements of a row are
read and written one after the other, a lane at a time. If several operations of an iteration access
elements of the same row, a few wide accesses for each lane do for all, and squares are turned about
in registers. Short rows that lie side by side are read and written whole, lane or no lane.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.compile.llvm.machine.turning import (
    SHORT_ROW,
    load_beside,
    load_rows,
    store_beside,
    store_rows,
)
from wengert.compile.llvm.machine.values import B, V
from wengert.compile.llvm.nests.schedule import Nest, dtype_of
from wengert.compile.plan.kernel import Load, Store

FEWEST = 2
"""Accesses that are worth a wide one."""

Window = tuple[int, ...]  # operations, in the order of their offsets


def neighbours(nest: Nest, levels: Sequence[int]) -> dict[int, Window]:
    """The window of each operation that is in one.

    The elements that a window reads lie within as many as there are lanes, or within one row of
    those side by side. Those that it writes are a power of two, without gaps, or such a row.
    """
    if nest.vector < 0 or nest.lanes < 4:
        return {}
    reads: dict[object, list[int]] = {}
    writes: dict[object, list[int]] = {}
    for k, op in enumerate(nest.operations):
        if isinstance(op, Load | Store) and k not in nest.packed and _strides(nest, op):
            rows = reads if isinstance(op, Load) else writes
            access = op.access
            rows.setdefault((access.buffer, access.strides, levels[k]), []).append(k)
    windows = [
        *(w for row in reads.values() for w in _read(nest, sorted(row, key=nest.offset))),
        *(w for row in writes.values() for w in _written(nest, sorted(row, key=nest.offset))),
    ]
    return {k: w for w in windows if len(w) >= FEWEST or _reads_beside(nest, w) for k in w}


def _beside(nest: Nest, number: int) -> int:
    """The length of the rows, if they are short and lie side by side; 0 if not."""
    op = nest.operations[number]
    assert isinstance(op, Load | Store)
    step = op.access.strides[nest.vector]
    return step if 1 < step <= SHORT_ROW else 0


def _reads_beside(nest: Nest, window: Window) -> bool:
    return isinstance(nest.operations[window[0]], Load) and _beside(nest, window[0]) > 0


def _strides(nest: Nest, op: Load | Store) -> bool:
    """Whether each lane has a row of its own. A gather is read as fast by the processor itself."""
    dtype = dtype_of(op, nest.operations)
    if dtype.itemsize not in (4, 8) or dtype.kind not in "fiu":
        return False
    if op.access.indices or (isinstance(op, Store) and op.combine):
        return False
    return abs(op.access.strides[nest.vector]) > 1


def _read(nest: Nest, members: list[int]) -> list[Window]:
    """Windows of no more elements than fit; each begins at a member."""
    windows: list[list[int]] = []
    most = _beside(nest, members[0]) or nest.lanes
    for k in members:
        if windows and nest.offset(k) - nest.offset(windows[-1][0]) < most:
            windows[-1].append(k)
        else:
            windows.append([k])
    return [tuple(window) for window in windows]


def _written(nest: Nest, members: list[int]) -> list[Window]:
    """Runs of adjacent elements, cut into whole rows or into powers of two."""
    runs: list[list[int]] = []
    for k in members:
        if runs and nest.offset(k) == nest.offset(runs[-1][-1]) + 1:
            runs[-1].append(k)
        else:
            runs.append([k])
    windows = []
    for run in runs:
        start = 0
        while start < len(run):
            left, whole = len(run) - start, _beside(nest, run[0])
            size = whole if 0 < whole <= left else min(nest.lanes, 1 << left.bit_length() - 1)
            windows.append(tuple(run[start : start + size]))
            start += size
    return windows


def read_together(b: B, nest: Nest, window: Window, rows: list[list[V]]) -> dict[int, list[V]]:
    """What the loads of a window give, of rows at these addresses in each vector."""
    first = nest.operations[window[0]]
    assert isinstance(first, Load)
    places = [nest.offset(k) - first.access.offset for k in window]
    dtype, lanes, step = first.dtype, nest.lanes, _beside(nest, window[0])
    if step:
        read = [load_beside(b, at[0], dtype, lanes, step, len(at), places) for at in rows]
        return dict(zip(window, map(list, zip(*read, strict=True)), strict=True))
    columns = [load_rows(b, at, dtype, lanes, places[-1] + 1) for at in rows]
    return {k: [vector[n] for vector in columns] for k, n in zip(window, places, strict=True)}


def write_together(
    b: B, nest: Nest, window: Window, rows: list[list[V]], values: list[list[V]]
) -> None:
    """Write the vectors of each store of a window to rows at these addresses."""
    first = nest.operations[window[0]]
    assert isinstance(first, Store)
    dtype, whole = nest.buffers[first.access.buffer], len(window) == _beside(nest, window[0])
    for places, columns in zip(rows, zip(*values, strict=True), strict=True):
        if whole:
            store_beside(b, list(columns), places[0], dtype, len(places))
        else:
            store_rows(b, list(columns), places, dtype)
