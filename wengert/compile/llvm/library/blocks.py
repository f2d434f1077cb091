"""Products of large matrices: operands copied into blocks that fit the caches.

The classical blocking (Goto and van de Geijn, 2008), with the roles of the operands exchanged. A
block of B lies in the second-level cache, cut into panels whose rows follow one another; a few rows
of A stay in the first-level cache while all panels of the block run by, and each panel gives a tile
of the result in registers.

The tile is a function in the module, and what differs between products are its arguments. So the
products of a module share a few of them, which take most of the time to compile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from wengert.compile.llvm.library.tiles import Matrices, Registers, Vectors, power_of_two, transpose
from wengert.compile.llvm.machine.control import along, loop, repeat
from wengert.compile.llvm.machine.functions import internal
from wengert.compile.llvm.machine.values import I64, POINTER, VOID

LEAST, LEAST_ROWS = 2**21, 96
"""Multiplications, and rows of A, from which copying B pays: each copy is read so often."""
WIDE, LEAST_WIDE = 4096, 16
"""Bytes between rows of B from which they drive one another from the cache, and rows of A then."""
ROWS, VECTORS = 12, 2
"""A tile, where there are registers enough: four times six is as fast, but reads B more often."""
NEAR = 44 * 1024
"""Bytes of the first-level cache for rows of A and a panel of B."""
BLOCK = 256 * 1024
"""Bytes of the stack, and of the second-level cache, for a block of B."""
APART = 2048
"""Bytes between columns of A from which they drive one another from the cache."""
UNROLL = 4
"""Steps along the shared dimension in one turn of a tile's loop."""


def suits(p: Matrices) -> bool:
    """Whether a product is large enough to copy B, and its operands lie well enough."""
    p = _upright(p)
    wide = p.b[1] == 1 and p.b[0] * p.dtype.itemsize >= WIDE
    large = p.m * p.k * p.n > LEAST and p.m >= (LEAST_WIDE if wide else LEAST_ROWS)
    return large and min(p.k, p.n) >= 16 and 1 in p.a and 1 in p.b and p.c[1] == 1


def emit_blocks(builder: Any, p: Matrices, registers: Registers, pointers: Sequence[Any]) -> None:
    """Append the product of the matrices at `pointers` (a, b, c) to the builder's block."""
    a, b, c = pointers
    upright = _upright(p)
    if upright is not p:
        a, b = b, a
    _Blocks(builder, upright, registers).run(a, b, c)


def _upright(p: Matrices) -> Matrices:
    """A product whose result has contiguous rows, if rows or columns are."""
    return p if p.c[1] == 1 else p.swapped()


# ---- the tile -----------------------------------------------------------------------------------


class Kernel(NamedTuple):
    """What tells the tiles' functions apart.

    A is read along its rows, or `down` its columns; `odd` tiles take any number of steps along the
    shared dimension, others a multiple of UNROLL.
    """

    dtype: np.dtype
    lanes: int
    rows: int
    columns: int
    down: bool
    odd: bool

    @property
    def name(self) -> str:
        size = f"{self.rows}x{self.columns} by {self.lanes}"
        ways = [way for way in ("down", "odd") if getattr(self, way)]
        return " ".join(["tile", self.dtype.str[1:], size, *ways])

    @property
    def used(self) -> list[int]:
        """The lanes in use of each vector of a row."""
        return [min(self.lanes, self.columns - at) for at in range(0, self.columns, self.lanes)]


def kernel(module: Any, key: Kernel) -> Any:
    """The function (a, step, b, c, row, k, add) that computes a tile of the result.

    `step` is the distance of rows in A, or of columns where it reads down those, and `row` that of
    rows of the result; both in bytes. `add` says whether the result is added to what is there.
    """
    function = module.globals.get(key.name)
    if function is not None:
        return function
    types = [POINTER, I64, POINTER, POINTER, I64, I64, ir.IntType(1)]
    function, builder = internal(module, key.name, VOID, types, "noinline")
    a, step, b, c, row, k, add = function.args
    totals = _totals(builder, key, a, step, b, k)
    adding, storing = (builder.append_basic_block(name) for name in ("adding", "storing"))
    builder.cbranch(add, adding, storing)
    for block in (adding, storing):
        builder.position_at_end(block)
        _write(builder, key, totals, c, row, add=block is adding)
        builder.ret_void()
    return function


def _totals(builder: Any, key: Kernel, a: Any, step: Any, b: Any, k: Any) -> list[Any]:
    """The sum of the outer products of columns of A and rows of a panel of B."""
    v, lanes, vectors = Vectors(builder, key.dtype), key.lanes, len(key.used)

    def outer(x: Any, y: Any, totals: list[Any]) -> list[Any]:
        """Add the product of one column and one row."""
        row = [v.load(v.at(y, (n, lanes)), lanes, lanes) for n in range(vectors)]
        return v.outer(column(x), row, totals)

    def column(x: Any) -> Iterator[Any]:
        for i in range(key.rows):
            yield v.element(v.at(x, (i, 1)) if key.down else x)
            if not key.down:
                x = _beyond(builder, x, step)

    def steps(state: list[Any], count: int) -> list[Any]:
        x, y, *totals = state
        for _ in range(count):
            totals = outer(x, y, totals)
            x = _beyond(builder, x, step) if key.down else v.at(x, (1, 1))
            y = v.at(y, (vectors, lanes))
        return [x, y, *totals]

    state = [a, b, *[v.zero(lanes)] * (key.rows * vectors)]
    turns = builder.lshr(k, I64(UNROLL.bit_length() - 1))
    state = _fold(builder, turns, state, lambda state: steps(state, UNROLL))
    if key.odd:
        left = builder.and_(k, I64(UNROLL - 1))
        state = _fold(builder, left, state, lambda state: steps(state, 1))
    return state[2:]


def _write(builder: Any, key: Kernel, totals: list[Any], c: Any, row: Any, add: bool) -> None:
    v, left = Vectors(builder, key.dtype), iter(totals)
    for _ in range(key.rows):
        for n, used in enumerate(key.used):
            total, place = next(left), v.at(c, (n, key.lanes))
            if add:
                total = v.add(total, v.load(place, key.lanes, used))
            v.store(total, place, used)
        c = _beyond(builder, c, row)


def _beyond(builder: Any, base: Any, step: Any) -> Any:
    """The address that many bytes beyond another."""
    return builder.gep(base, [step], inbounds=True, source_etype=ir.IntType(8))


def _fold(
    builder: Any, count: Any, carried: list[Any], body: Callable[[list[Any]], list[Any]]
) -> list[Any]:
    """Run `carried = body(carried)` as often as a number known at run time says."""
    with loop(builder, count, *carried) as turns:
        left, *values = turns.carried
        turns.while_(builder.icmp_unsigned("!=", left, I64(0)))
        turns.again(builder.sub(left, I64(1)), *body(values))
    return values


# ---- the loops around it ------------------------------------------------------------------------


class _Blocks:
    def __init__(self, builder: Any, p: Matrices, registers: Registers) -> None:
        self.builder = builder
        self.product = p
        self.vectors = Vectors(builder, p.dtype)
        size = p.dtype.itemsize
        self.lanes = lanes = min(max(1, registers.bytes // size), power_of_two(p.n))
        self.rows = min(ROWS, (registers.number - 2 * VECTORS) // VECTORS)
        self.wide = min(VECTORS, -(-p.n // lanes)) * lanes
        self.depth = _even(p.k, NEAR // ((self.rows + self.wide) * size), 16)
        self.panels = _even(-(-p.n // self.wide), BLOCK // (self.depth * self.wide * size), 1)
        self.down = p.a[1] != 1
        self.pitch = -(-self.rows // lanes) * lanes  # of columns of A in their copy
        self.copied = self.down and self.panels >= 4 and p.a[1] * size >= APART
        self.step = self.pitch if self.copied else p.a[1] if self.down else p.a[0]

    def run(self, a: Any, b: Any, c: Any) -> None:
        p, v = self.product, self.vectors
        self.block = v.room(self.depth * self.panels * self.wide)
        self.copy = v.room(self.depth * self.pitch) if self.copied else None

        def columns(j: Any, count: int) -> None:
            right, result = v.at(b, (j, across * p.b[1])), v.at(c, (j, across))

            def deep(l: Any, k: int) -> None:
                add = self.builder.icmp_unsigned(">=", l, I64(0 if p.add else 1))
                x, y = v.at(a, (l, self.depth * p.a[1])), v.at(right, (l, self.depth * p.b[0]))
                self._cut(y, count, k)
                self._block(x, result, count, k, add)

            along(self.builder, p.k, self.depth, deep)

        across = self.panels * self.wide
        along(self.builder, p.n, across, columns)

    def _block(self, a: Any, c: Any, columns: int, k: int, add: Any) -> None:
        """c (+)= a @ block, for all rows, `columns` columns and `k` along the shared dimension."""
        p, v = self.product, self.vectors
        step, row = I64(self.step * v.size), I64(p.c[0] * v.size)

        def rows(i: Any, count: int) -> None:
            x, y = v.at(a, (i, self.rows * p.a[0])), v.at(c, (i, self.rows * p.c[0]))
            if self.copied:
                self._copy(x, count, k)
                x = self.copy
            elif self.down:  # columns far apart: no cache foresees what the next tile reads
                ahead = I64(self.rows)
                repeat(self.builder, k, lambda l: v.prefetch(x, (l, p.a[1]), (ahead, 1)))

            def panel(j: Any, wide: int) -> None:
                key = Kernel(p.dtype, self.lanes, count, wide, self.down, k % UNROLL != 0)
                function = kernel(self.builder.module, key)
                right, result = v.at(self.block, (j, k * self.wide)), v.at(y, (j, self.wide))
                self.builder.call(function, [x, step, right, result, row, I64(k), add])

            along(self.builder, columns, self.wide, panel)

        along(self.builder, p.m, self.rows, rows)

    # ---- copies -----------------------------------------------------------------------------

    def _copy(self, a: Any, rows: int, k: int) -> None:
        """Copy columns of A, `rows` long, to lie beside one another."""
        p, v, lanes = self.product, self.vectors, self.lanes

        def columns(l: Any, count: int) -> None:
            for number in range(count):
                base = v.at(a, (l, UNROLL * p.a[1]), (number, p.a[1]))
                to = v.at(self.copy, (l, UNROLL * self.pitch), (number, self.pitch))
                for i in range(0, rows, lanes):
                    element = v.load(v.at(base, (i, 1)), lanes, min(lanes, rows - i))
                    v.store(element, v.at(to, (i, 1)), lanes)

        along(self.builder, k, UNROLL, columns)

    def _cut(self, b: Any, columns: int, k: int) -> None:
        """Copy `columns` columns of B and `k` rows into panels."""
        if self.product.b[1] == 1:
            self._cut_rows(b, columns, k)
        else:
            self._cut_columns(b, columns, k)

    def _cut_rows(self, b: Any, columns: int, k: int) -> None:
        """Row by row, since they are contiguous: a cache foresees what is read next."""
        p, v, lanes = self.product, self.vectors, self.lanes

        def row(l: Any, _: int) -> None:
            start = v.at(b, (l, p.b[0]))

            def piece(j: Any, count: int) -> None:
                here, to = v.at(start, (j, self.wide)), v.at(self.block, (j, k * self.wide))
                to = v.at(to, (l, -(-count // lanes) * lanes))
                for at in range(0, count, lanes):
                    vector = v.load(v.at(here, (at, 1)), lanes, min(lanes, count - at))
                    v.store(vector, v.at(to, (at, 1)), lanes)

            along(self.builder, columns, self.wide, piece)

        along(self.builder, k, 1, row)

    def _cut_columns(self, b: Any, columns: int, k: int) -> None:
        """Columns are contiguous: transposed in registers."""
        p, v, lanes = self.product, self.vectors, self.lanes

        def panel(j: Any, count: int) -> None:
            start, to = v.at(b, (j, self.wide * p.b[1])), v.at(self.block, (j, k * self.wide))
            row = -(-count // lanes) * lanes
            for at in range(0, count, lanes):
                source, target = v.at(start, (at, p.b[1])), v.at(to, (at, 1))
                used = min(lanes, count - at)
                transpose(v, (source, p.b), (target, row), k, lanes, used)

        along(self.builder, columns, self.wide, panel)


def _even(extent: int, most: int, multiple: int) -> int:
    """The size of the parts that an extent is cut into evenly, about `most` at most."""
    most = max(multiple, most // multiple * multiple)
    size = -(-extent // -(-extent // most))
    return min(extent, -(-size // multiple) * multiple)
