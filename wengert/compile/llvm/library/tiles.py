"""Products of small matrices as machine code: register tiles, explicit vectors, no packing but one.

The kernel is the classical one (Goto and van de Geijn, 2008) without its outer loops: a tile of the
result stays in registers while the shared dimension runs by; each step multiplies a vector of B by
an element of A that is repeated across the lanes. Columns of the result are the lanes, so a row of
B must be contiguous: one that is not is transposed in registers into a panel on the stack. Few rows
times a transposed B (a linear layer on a single example) run along the shared dimension instead.

All extents and strides are static, so every address is a base and a constant, and the edges of the
matrices cost masks that are constants too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from wengert.compile.llvm.elementary.scalars import apply
from wengert.compile.llvm.machine import values
from wengert.compile.llvm.machine.control import along, evenly, fold, fold_along, nest, repeat
from wengert.compile.llvm.machine.functions import internal
from wengert.compile.llvm.machine.memory import (
    load,
    load_row,
    offset,
    permuted,
    prefetch,
    splat,
    store,
    store_row,
)
from wengert.compile.llvm.machine.scratch import stack
from wengert.compile.llvm.machine.values import I64, POINTER, VOID, intrinsic, number
from wengert.compile.plan.kernel import LINE

PANEL = 32 * 1024
"""Bytes of the stack that a transposed panel of B may take: what stays in the first-level cache."""
TURN = 16
"""Multiplications of vectors in a turn of the loop along the shared dimension, or in a step:
more are no faster, and take so much longer to compile."""
LATENCY = 8
"""Independent chains of multiply-adds that keep two units of latency 4 busy."""
DOT_ROWS = 8
"""Rows of A up to which a transposed B is multiplied along the shared dimension."""
DOT_TILE = 4
"""Rows of A that are multiplied so at once."""


class Matrices(NamedTuple):
    """c (+)= a @ b for one pair of matrices: extents m, k, n and strides in elements."""

    m: int
    k: int
    n: int
    a: tuple[int, int]
    b: tuple[int, int]
    c: tuple[int, int]
    dtype: np.dtype
    add: bool

    def swapped(self) -> Matrices:
        """The transposed product: c.T (+)= b.T @ a.T."""
        return self._replace(m=self.n, n=self.m, a=self.b[::-1], b=self.a[::-1], c=self.c[::-1])


class Registers(NamedTuple):
    """What a machine has to compute with: the bytes of a vector register and their number."""

    bytes: int = 64
    number: int = 32


def emit(builder: Any, product: Matrices, registers: Registers, pointers: Sequence[Any]) -> None:
    """Append the product of the matrices at `pointers` (a, b, c) to the builder's block."""
    _ProductWriter(builder, product, registers).run(*pointers)


# ---- vectors ------------------------------------------------------------------------------------


class Vectors:
    """Loads, stores and arithmetic on vectors of one element type."""

    def __init__(self, builder: Any, dtype: np.dtype) -> None:
        self.builder = builder
        self.dtype = dtype
        self.size = dtype.itemsize
        self.type = values.stored(dtype)
        self.floating = dtype.kind == "f"

    def at(self, base: Any, *terms: tuple[Any, int]) -> Any:
        """`base` plus the sum of index * stride, in elements; indices may be Python numbers."""
        b, constant = self.builder, 0
        for index, stride in terms:
            if isinstance(index, int):
                constant += index * stride
            elif isinstance(index, ir.Constant):
                constant += index.constant * stride
            elif stride:
                step = b.mul(index, I64(stride), flags=("nsw",)) if stride != 1 else index
                base = b.gep(base, [step], inbounds=True, source_etype=self.type)
        if constant:
            base = b.gep(base, [I64(constant)], inbounds=True, source_etype=self.type)
        return base

    def load(self, pointer: Any, width: int, used: int) -> Any:
        """A vector whose first `used` lanes are read; the others are zero."""
        return load_row(self.builder, pointer, self.type, width, range(used))

    def store(self, value: Any, pointer: Any, used: int) -> None:
        """Write the first `used` lanes."""
        store_row(self.builder, value, pointer, range(used))

    def element(self, pointer: Any) -> Any:
        return self.builder.load(pointer, typ=self.type, align=self.size)

    def copy(self, source: Any, target: Any, count: int, lanes: int) -> None:
        """Copy so many elements, which lie next to each other."""

        def some(j: Any, used: int) -> None:
            value = self.load(self.at(source, (j, lanes)), lanes, used)
            self.store(value, self.at(target, (j, lanes)), used)

        along(self.builder, count, lanes, some)

    def fill(self, target: Any, count: int, vector: Any) -> None:
        """Write a vector that many elements long, over and over."""
        lanes = vector.type.count
        write = lambda j, used: self.store(vector, self.at(target, (j, lanes)), used)
        along(self.builder, count, lanes, write)

    def room(self, count: int) -> Any:
        """Memory on the stack for so many elements."""
        return stack(self.builder, ir.ArrayType(self.type, count), LINE)

    def prefetch(self, base: Any, *terms: tuple[Any, int]) -> None:
        """Ask for the line of memory at `base` plus the sum of index * stride; it may be none."""
        b, offset = self.builder, I64(0)
        for index, stride in terms:
            offset = b.add(offset, b.mul(index, I64(stride)))
        prefetch(b, b.gep(base, [offset], source_etype=self.type), 1)

    def zero(self, width: int) -> Any:
        return number(ir.VectorType(self.type, width), 0)

    def repeated(self, scalar: Any, width: int) -> Any:
        """A vector with one element in all lanes."""
        return splat(self.builder, scalar, width)

    def shuffle(self, x: Any, y: Any, lanes: Sequence[int]) -> Any:
        return permuted(self.builder, x, lanes, y)

    def add(self, x: Any, y: Any) -> Any:
        if self.dtype == np.bool_:
            return self.builder.or_(x, y)
        return self.builder.fadd(x, y) if self.floating else self.builder.add(x, y)

    def multiply_add(self, x: Any, y: Any, total: Any) -> Any:
        """x * y + total, rounded once where the machine can."""
        if self.floating:
            return intrinsic(self.builder, "fmuladd", [x.type], x.type, [x, y, total])
        if self.dtype == np.bool_:
            return self.builder.or_(self.builder.and_(x, y), total)
        return self.builder.add(self.builder.mul(x, y), total)

    def outer(self, column: Iterable[Any], row: list[Any], totals: list[Any]) -> list[Any]:
        """The register tile `totals`, row after row, plus the product of a column and a row.

        The row is vectors; elements of the column are read as late as they can be.
        """
        sums, olds = [], iter(totals)
        for element in column:
            repeated = self.repeated(element, row[0].type.count)
            sums += [self.multiply_add(repeated, y, next(olds)) for y in row]
        return sums

    def sums(self, vectors: list[Any]) -> Any:
        """A vector of the sums over each vector's lanes; both counts are powers of two.

        Each round lays two vectors into one: the segments of both, each folded in half.
        """
        width, segments = vectors[0].type.count, 1
        while len(vectors) > 1:
            half = width // segments // 2
            low = [s * 2 * half + i for s in range(2 * segments) for i in range(half)]
            high = [lane + half for lane in low]
            pairs = zip(vectors[::2], vectors[1::2], strict=True)
            vectors = [
                self.add(self.shuffle(x, y, low), self.shuffle(x, y, high)) for x, y in pairs
            ]
            segments *= 2
        (total,) = vectors
        while total.type.count > segments:
            even = list(range(0, total.type.count, 2))
            odd = [lane + 1 for lane in even]
            total = self.add(self.shuffle(total, total, even), self.shuffle(total, total, odd))
        return total

    def transposed(self, rows: list[Any], columns: int) -> list[Any]:
        """The columns of a block as vectors, from its rows, `columns` (a power of two) wide."""
        width = len(rows)
        if columns == 1:
            return [self._joined(rows)]
        vectors = rows
        while len(vectors) > columns:  # rows lie shorter than a vector: join them
            pairs = zip(vectors[::2], vectors[1::2], strict=True)
            wide = vectors[0].type.count * 2
            vectors = [self.shuffle(x, y, range(wide)) for x, y in pairs]

        def apart(_: Any, vectors: list[Any]) -> list[Any]:
            couples = list(zip(vectors[::2], vectors[1::2], strict=True))
            even = [self.shuffle(x, y, range(0, 2 * width, 2)) for x, y in couples]
            odd = [self.shuffle(x, y, range(1, 2 * width, 2)) for x, y in couples]
            return even + odd

        # Straight code takes LLVM thrice as long, which looks for shuffles of shuffles.
        return fold(self.builder, columns.bit_length() - 1, vectors, apart)

    def _joined(self, rows: list[Any]) -> Any:
        """One vector of many with one lane each."""
        return in_pairs(rows, lambda x, y: self.shuffle(x, y, range(2 * x.type.count)))


def in_pairs(items: list[Any], combine: Callable[[Any, Any], Any]) -> Any:
    """As many items as a power of two as one, each with its neighbour, and so on."""
    while len(items) > 1:
        items = [combine(x, y) for x, y in zip(items[::2], items[1::2], strict=True)]
    return items[0]


def power_of_two(n: int) -> int:
    """The least power of two that is not below `n`."""
    return 1 << max(0, n - 1).bit_length()


# ---- tiles --------------------------------------------------------------------------------------


class Tile(NamedTuple):
    """A block of the result: rows, vectors per row, and accumulators along k for each."""

    rows: int
    vectors: int
    chains: int


def choose_tile(product: Matrices, lanes: int, registers: Registers) -> Tile:
    """The tile with the least estimated time: its multiply-adds, its loads, and its latency."""
    best, least = Tile(1, 1, 1), float("inf")
    across = -(-product.n // lanes)
    for vectors in range(1, min(across, 8) + 1):
        most = (registers.number - 2 - vectors) // vectors if vectors > 1 else registers.number - 3
        for rows in range(1, max(1, min(most, product.m)) + 1):
            chains = 1
            while rows * vectors * chains < LATENCY and 2 * chains <= product.k:
                chains *= 2
            if rows * vectors * chains + vectors + 1 > registers.number and rows > 1:
                continue
            time = _time(product, across, rows, vectors, chains)
            if time < least:
                best, least = Tile(rows, vectors, chains), time
    return best


def _time(product: Matrices, across: int, rows: int, vectors: int, chains: int) -> float:
    """Cycles for the whole product, roughly, on a machine of two multipliers and two loads."""

    def tile(r: int, v: int) -> float:
        # Half of the vectors of B lie across two lines; chains of latency 4 are never quite filled.
        step = max(r * v / 2, (r + 1.5 * v) / 2, 5 / chains)
        return product.k * step + r * v + 6  # its stores, and the loop around it

    def panel(v: int) -> float:
        kinds = evenly(product.m, rows)
        uneven = 1.06 if len(kinds) > 1 else 1  # two kinds of tiles are twice the code
        return uneven * sum(times * tile(size, v) for times, _, size in kinds)

    full, rest = divmod(across, vectors)
    uneven = 1.06 if full and rest else 1
    return uneven * (full * panel(vectors) + (panel(rest) if rest else 0))


def _transposer(module: Any, dtype: np.dtype, lanes: int, used: int, size: int) -> Any:
    """A function (from, stride, to, row) that transposes a block in registers.

    It reads `used` runs of `size` elements, `stride` apart, and writes `size` vectors, `row` apart.
    Shuffles are slow to compile, so all products of a module share it.
    """
    name = f"transpose {dtype.str[1:]} {used} of {lanes} by {size}"
    function = module.globals.get(name)
    if function is not None:
        return function
    function, builder = internal(module, name, VOID, [POINTER, I64, POINTER, I64])
    v = Vectors(builder, dtype)
    source, stride, target, row = function.args
    width = power_of_two(size)

    def line(base: Any, step: Any, number: int) -> Any:
        offset = builder.mul(step, I64(number))
        return builder.gep(base, [offset], inbounds=True, source_etype=v.type)

    rows = [v.load(line(source, stride, j), width, size) for j in range(used)]
    rows += [v.zero(width)] * (lanes - used)
    for l, column in enumerate(v.transposed(rows, width)[:size]):
        v.store(column, line(target, row, l), lanes)
    builder.ret_void()
    return function


def transpose(
    v: Vectors,
    source: tuple[Any, tuple[int, int]],
    target: tuple[Any, int],
    k: int,
    lanes: int,
    used: int,
) -> None:
    """Copy `used` columns of B to `k` rows of a panel, in blocks if they are contiguous along k.

    `source` has the strides of B, `target` the stride of the panel's rows.
    """
    (b, strides), (copy, row) = source, target
    block = min(lanes, power_of_two(k)) if strides[0] == 1 else 1

    def copied(l: Any, size: int) -> None:
        """`size` elements along k, from number l * block."""
        base, to = v.at(b, (l, block * strides[0])), v.at(copy, (l, block * row))
        function = _transposer(v.builder.module, v.dtype, lanes, used, size)
        v.builder.call(function, [base, I64(strides[1]), to, I64(row)])

    along(v.builder, k, block, copied)


class _ProductWriter:
    def __init__(self, builder: Any, product: Matrices, registers: Registers) -> None:
        self.builder = builder
        self.product = product
        self.registers = registers
        self.vectors = Vectors(builder, product.dtype)
        self.most = max(1, registers.bytes // product.dtype.itemsize)

    def run(self, a: Any, b: Any, c: Any) -> None:
        p = self.product
        if p.m == 0 or p.n == 0:
            return
        swap = p.n > 1 and p.c[1] != 1 and (p.c[0] == 1 or p.m == 1)
        if swap or (p.n == 1 and p.m > 1 and p.c[0] == 1):
            self.product, (a, b) = p.swapped(), (b, a)
            p = self.product
        if p.dtype.kind == "c" or (p.n > 1 and p.c[1] != 1):
            self._plain(a, b, c)
        elif p.k == 0:
            self._cleared(c)
        elif self._along_k(p):
            self._dots(a, b, c)
        elif p.n == 1 or p.b[1] == 1:
            self._direct(a, b, c)
        else:
            self._panels(a, b, c)

    @staticmethod
    def _along_k(p: Matrices) -> bool:
        """Whether dot products are the faster way: few rows, and long enough ones."""
        contiguous = p.b[0] == 1 and p.a[1] == 1 and (p.n == 1 or p.b[1] != 1)
        return contiguous and (p.k > 2 if p.m == 1 else p.m <= DOT_ROWS and p.k >= 8 * p.m)

    # ---- where BLAS and vectors have no way in ----------------------------------------------

    def _plain(self, a: Any, b: Any, c: Any) -> None:
        """Three loops over elements: of complex numbers, or for a result without contiguous rows
        or columns.
        """
        p, builder, parts = self.product, self.builder, 1 + (self.product.dtype.kind == "c")

        def at(base: Any, i: Any, j: Any, strides: tuple[int, int]) -> Any:
            steps = (builder.mul(x, I64(s)) for x, s in zip((i, j), strides, strict=True))
            return offset(builder, base, builder.add(*steps), p.dtype)

        def read(place: Any) -> Any:
            return load(builder, place, p.dtype, 0, 0, 1)

        def combined(name: str, x: Any, y: Any) -> Any:
            return apply(builder, name, p.dtype, (p.dtype, p.dtype), [x, y])

        def one(i: Any, j: Any) -> None:
            def step(l: Any, total: list[Any]) -> list[Any]:
                x, y = read(at(a, i, l, p.a)), read(at(b, l, j, p.b))
                added = combined("add", whole(total), combined("multiply", x, y))
                return list(added) if parts > 1 else [added]

            start = [number(values.element(p.dtype), 0)] * parts
            total, place = whole(fold(builder, p.k, start, step)), at(c, i, j, p.c)
            total = combined("add", total, read(place)) if p.add else total
            store(builder, total, place, p.dtype, 0, 0, 1)

        def whole(total: list[Any]) -> Any:
            return tuple(total) if parts > 1 else total[0]

        nest(builder, (p.m, p.n), one)

    def _cleared(self, c: Any) -> None:
        """The sum of no products."""
        p, v = self.product, self.vectors
        if p.add:
            return
        nothing = v.zero(min(self.most, power_of_two(p.n)))
        repeat(self.builder, p.m, lambda i: v.fill(v.at(c, (i, p.c[0])), p.n, nothing))

    # ---- rows of B contiguous ---------------------------------------------------------------

    def _direct(self, a: Any, b: Any, c: Any) -> None:
        p, v = self.product, self.vectors
        lanes = min(self.most, power_of_two(p.n))
        tile = choose_tile(p, lanes, self.registers)
        wide = tile.vectors * lanes

        def panel(j: Any, columns: int) -> None:
            start = v.at(b, (j, wide))
            self._rows(a, start, p.b[0], v.at(c, (j, wide)), tile, lanes, columns)

        along(self.builder, p.n, wide, panel)

    def _rows(self, a: Any, b: Any, row: int, c: Any, tile: Tile, lanes: int, columns: int) -> None:
        """All rows of the result, for one panel of columns. `row` is the stride of B's rows."""
        p, v = self.product, self.vectors

        def block(first: int, rows: int, i: Any) -> None:
            x, y = v.at(a, (i, rows * p.a[0])), v.at(c, (i, rows * p.c[0]))
            x, y = v.at(x, (first, p.a[0])), v.at(y, (first, p.c[0]))
            self._tile(x, b, row, y, Tile(rows, 0, tile.chains), lanes, columns)

        for times, first, rows in evenly(p.m, tile.rows):
            repeat(self.builder, times, functools.partial(block, first, rows))

    def _tile(self, a: Any, b: Any, row: int, c: Any, tile: Tile, lanes: int, columns: int) -> None:
        """One tile of the result: `tile.rows` by `columns`."""
        p, v = self.product, self.vectors
        used = [min(lanes, columns - at) for at in range(0, columns, lanes)]
        count = tile.rows * len(used)
        chains = max(tile.chains, 1)

        def step(base: Any, x: Any, l: int, totals: list[Any]) -> list[Any]:
            """The outer product of a column of A and a row of B, number l from the bases."""
            ys = [v.load(v.at(base, (l, row), (n, lanes)), lanes, u) for n, u in enumerate(used)]
            xs = (v.element(v.at(x, (i, p.a[0]), (l, p.a[1]))) for i in range(tile.rows))
            begin = (l % chains) * count
            end = begin + count
            return [*totals[:begin], *v.outer(xs, ys, totals[begin:end]), *totals[end:]]

        totals = [v.zero(lanes)] * (count * chains)
        unroll = self._unrolled(count, chains)

        def some(l: Any, steps: int, totals: list[Any]) -> list[Any]:
            base, x = v.at(b, (l, unroll * row)), v.at(a, (l, unroll * p.a[1]))
            for nth in range(steps):
                totals = step(base, x, nth, totals)
            return totals

        totals = fold_along(self.builder, p.k, unroll, totals, some)
        for at in range(count):
            total = in_pairs(totals[at::count], v.add)
            i, n = divmod(at, len(used))
            place = v.at(c, (i, p.c[0]), (n, lanes))
            if p.add:
                total = v.add(total, v.load(place, lanes, used[n]))
            v.store(total, place, used[n])

    def _unrolled(self, count: int, chains: int) -> int:
        """How many steps along k one turn of the loop takes."""
        most = max(chains, min(8, TURN // count) // chains * chains)
        even = [u for u in range(most, most // 2, -chains) if self.product.k % u == 0]
        return even[0] if even else most

    # ---- rows of B not contiguous -----------------------------------------------------------

    def _panels(self, a: Any, b: Any, c: Any) -> None:
        """Copy B, transposed, into panels on the stack; multiply by those."""
        p, v = self.product, self.vectors
        lanes = min(self.most, power_of_two(p.n))
        tile = choose_tile(p, lanes, self.registers)
        wide = tile.vectors * lanes
        depth = max(1, PANEL // (wide * v.size * self.most)) * self.most
        if p.k > depth:
            self._deep(a, b, c, depth)
            return
        copy = v.room(p.k * wide)

        def panel(j: Any, columns: int) -> None:
            start = v.at(b, (j, wide * p.b[1]))
            for n in range(0, columns, lanes):
                used = min(lanes, columns - n)
                source, target = v.at(start, (n, p.b[1])), v.at(copy, (n, 1))
                transpose(v, (source, p.b), (target, wide), p.k, lanes, used)
            self._rows(a, copy, wide, v.at(c, (j, wide)), tile, lanes, columns)

        along(self.builder, p.n, wide, panel)

    def _deep(self, a: Any, b: Any, c: Any, depth: int) -> None:
        """Take the shared dimension in blocks, so that the panels stay in the cache."""
        p, v = self.product, self.vectors
        self._cleared(c)
        even = [d for d in range(depth, depth // 4, -self.most) if p.k % d == 0]
        size = even[0] if even else depth

        def block(first: Any, k: int) -> None:
            self.product = p._replace(k=k, add=True)
            self._panels(a=v.at(a, (first, size * p.a[1])), b=v.at(b, (first, size * p.b[0])), c=c)
            self.product = p

        along(self.builder, p.k, size, block)

    # ---- along the shared dimension ---------------------------------------------------------

    def _dots(self, a: Any, b: Any, c: Any) -> None:
        """Dot products of contiguous rows of A and contiguous columns of B."""
        p, v = self.product, self.vectors
        lanes = min(self.most, power_of_two(p.k))
        rows = -(-p.m // -(-p.m // DOT_TILE))  # as even as they can be
        for first in range(0, p.m, rows):
            self.product = p._replace(m=min(rows, p.m - first))
            self._dot_rows(v.at(a, (first, p.a[0])), b, v.at(c, (first, p.c[0])), lanes)
        self.product = p

    def _dot_rows(self, a: Any, b: Any, c: Any, lanes: int) -> None:
        """A few rows of the result."""
        p, v = self.product, self.vectors
        group = self._group(lanes)

        def columns(j: Any, count: int) -> None:
            self._dot(a, v.at(b, (j, group * p.b[1])), v.at(c, (j, group)), lanes, count)

        along(self.builder, p.n, group, columns)

    def _group(self, lanes: int) -> int:
        """How many columns at once: a power of two that leaves the registers room."""
        room = (self.registers.number - self.product.m - 1) // self.product.m
        group = power_of_two(max(1, room // 2 + 1))
        return min(lanes, group, power_of_two(self.product.n))

    def _dot(self, a: Any, b: Any, c: Any, lanes: int, columns: int) -> None:
        p, v = self.product, self.vectors

        def step(x: Any, y: Any, l: int, used: int, totals: list[Any]) -> list[Any]:
            xs = [v.load(v.at(x, (i, p.a[0]), (l, lanes)), lanes, used) for i in range(p.m)]
            out = list(totals)
            for j in range(columns):
                column = v.load(v.at(y, (j, p.b[1]), (l, lanes)), lanes, used)
                for i, row in enumerate(xs):
                    at = i * columns + j
                    out[at] = v.multiply_add(row, column, out[at])
            return out

        totals = [v.zero(lanes)] * (p.m * columns)
        whole, rest = divmod(p.k, lanes)
        unroll = max(1, min(4, TURN // len(totals)))

        def some(l: Any, steps: int, totals: list[Any]) -> list[Any]:
            x, y = v.at(a, (l, unroll * lanes)), v.at(b, (l, unroll * lanes))
            for nth in range(steps):
                totals = step(x, y, nth, lanes, totals)
            return totals

        totals = fold_along(self.builder, whole, unroll, totals, some)
        if rest:
            totals = step(a, b, whole, rest, totals)
        self._store_sums(c, totals, columns)

    def _store_sums(self, c: Any, totals: list[Any], columns: int) -> None:
        """Add up the lanes of the accumulators, `columns` for each row, and write the results."""
        p, v = self.product, self.vectors
        group, lanes = power_of_two(columns), totals[0].type.count
        rows = [
            totals[i * columns : (i + 1) * columns] + [v.zero(lanes)] * (group - columns)
            for i in range(p.m)
        ]
        if p.m * group == lanes:  # all fit into one vector
            both = v.sums([total for row in rows for total in row])
            sums = [v.shuffle(both, both, range(i * group, (i + 1) * group)) for i in range(p.m)]
        else:
            sums = [v.sums(row) for row in rows]
        for i, total in enumerate(sums):
            place = v.at(c, (i, p.c[0]))
            if p.add:
                total = v.add(total, v.load(place, group, columns))
            v.store(total, place, columns)
