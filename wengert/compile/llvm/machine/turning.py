"""Rows turned into columns, within registers, and back.

A block of rows is kept column after column: element c n + r of it is element c of row r, where n is
the number of rows. Two blocks become one of twice as many rows by shuffles of two vectors each, and
one becomes two by shuffles the other way.

Short rows that lie side by side are read and written as whole vectors, whose elements belong to all
columns in turns: points of two or three coordinates, say.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wengert.compile.llvm.machine.memory import load, offset, permuted, store, zeros
from wengert.compile.llvm.machine.values import B, V, lanes_of

SHORT_ROW = 4
"""Elements of rows that lie side by side: of longer ones each is read by itself."""


def columns_of(b: B, rows: list[V]) -> list[V]:
    """The columns of rows: lane i of column j is lane j of row i.

    Rows are as many as a vector has lanes, and of no more elements; both are powers of two.
    """
    blocks, lanes, n = [[row] for row in rows], len(rows), 1
    while len(blocks) > 1:
        pairs = zip(blocks[::2], blocks[1::2], strict=True)
        blocks = [_joined(b, x, y, n, lanes) for x, y in pairs]
        n *= 2
    return blocks[0]


def rows_of(b: B, columns: list[V]) -> list[V]:
    """The rows of columns: what `columns_of` makes of them again."""
    blocks, n = [columns], lanes_of(columns[0])
    while n > 1:
        n //= 2
        blocks = [half for block in blocks for half in _parted(b, block, n)]
    return [row for (row,) in blocks]


def load_rows(b: B, places: list[V], dtype: np.dtype, lanes: int, count: int) -> list[V]:
    """The columns of rows of `count` elements, which begin at these places; other lanes are 0."""
    width = 1 << (count - 1).bit_length()
    rows = [load(b, place, dtype, width, 1, count) for place in places]
    rows += [zeros(rows[0])] * (lanes - len(rows))
    return columns_of(b, rows)[:count]


def store_rows(b: B, columns: list[V], places: list[V], dtype: np.dtype) -> None:
    """Write the rows of columns, as many as a power of two, from these places on."""
    for row, place in zip(rows_of(b, columns), places, strict=False):
        store(b, row, place, dtype, len(columns), 1, len(columns))


def load_beside(
    b: B, pointer: V, dtype: np.dtype, lanes: int, step: int, rows: int, columns: Sequence[int]
) -> list[V]:
    """These columns of rows of `step` elements side by side; other lanes are 0.

    Nothing is read past the last of these columns in the last row.
    """
    size = (rows - 1) * step + max(columns) + 1
    parts = [
        load(b, offset(b, pointer, start, dtype), dtype, lanes, 1, min(lanes, size - start))
        for start in range(0, size, lanes)
    ]
    return [_picked(b, parts, [c + r * step for r in range(rows)], lanes) for c in columns]


def store_beside(b: B, columns: list[V], pointer: V, dtype: np.dtype, rows: int) -> None:
    """Write all columns of rows that lie side by side."""
    lanes, step = lanes_of(columns[0]), len(columns)
    for start in range(0, rows * step, lanes):
        stop = min(start + lanes, rows * step)
        order = [k % step * lanes + k // step for k in range(start, stop)]
        vector = _picked(b, columns, order, lanes)
        store(b, vector, offset(b, pointer, start, dtype), dtype, lanes, 1, stop - start)


def _picked(b: B, parts: list[V], order: Sequence[int], lanes: int) -> V:
    """Elements of vectors, numbered one vector after the other; other lanes are 0."""
    order = [*order, *[len(parts) * lanes] * (lanes - len(order))]
    first, *rest = [*parts, zeros(parts[0])]
    picked = permuted(b, first, [n if n < 2 * lanes else 0 for n in order], rest[0])
    for k, part in enumerate(rest[1:], 2):
        here = [n - (k - 1) * lanes if n // lanes == k else i for i, n in enumerate(order)]
        if max(here) >= lanes:
            picked = permuted(b, picked, here, part)
    return picked


def _joined(b: B, x: list[V], y: list[V], n: int, lanes: int) -> list[V]:
    """Two blocks of n rows as one."""
    size = lanes_of(x[0])
    taken = min(size, lanes // 2)  # elements of each that a vector of both holds
    joined = []
    for u, v in zip(x, y, strict=True):
        for start in range(0, size, taken):
            order = [
                side + c + r
                for c in range(start, start + taken, n)
                for side in (0, size)
                for r in range(n)
            ]
            joined.append(permuted(b, u, order, v))
    return joined


def _parted(b: B, block: list[V], n: int) -> tuple[list[V], list[V]]:
    """One block of 2 n rows as two."""
    size = lanes_of(block[0])
    pairs = list(zip(block[::2], block[1::2] or [None], strict=True))
    sides: tuple[list[V], list[V]] = [], []
    for half, vectors in enumerate(sides):
        within = [c + r for c in range(half * n, size, 2 * n) for r in range(n)]
        for u, v in pairs:
            order = within if v is None else [*within, *(size + k for k in within)]
            vectors.append(permuted(b, u, order, v))
    return sides
