"""A matrix product as a native function: our own tiles where they win, BLAS for the rest.

`define(module, step)` gives a function `void (a, b, out)` of three pointers for a `Multiply` of a
plan, whose extents, strides and dtype are all known. Leading dimensions are loops around it, unless
they can be rows of one larger product. BLAS takes column-major matrices: a row-major one is its
transpose to it, so operands swap places, and what else is transposed goes into its flags. Slices
are leading dimensions; nothing is copied for BLAS.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from wengert.compile.llvm.library.blocks import emit_blocks, suits
from wengert.compile.llvm.library.tiles import Matrices, Registers, Vectors, emit
from wengert.compile.llvm.machine import functions
from wengert.compile.llvm.machine import host as machine
from wengert.compile.llvm.machine.control import repeat
from wengert.compile.llvm.machine.values import I64, POINTER, VOID
from wengert.compile.plan.kernel import LINE
from wengert.compile.plan.plan import Multiply
from wengert.history import threads

OWN = {1: 2**32, 2: 170**3}
"""Multiplications up to which our own tiles beat BLAS, by how many threads it has for one of ours.

Ours reach eight to nine tenths of what a core can do, one thread of OpenBLAS four to seven; it
needs some microseconds to get more threads going.
"""
OWN_MANY = 100**3
"""Multiplications up to which our own tiles beat BLAS where it has three for one, or more."""
PARTS = 8
"""Parts of a product, and so threads that share it, at most."""
OWN_SINGLE, OWN_DOWN = 512**3, 2**22
"""The bounds of products that `blocks.py` does not suit, and of those that read a by columns."""
FAR = 1024
"""Bytes from which columns lie so far apart that reading down them is slow."""
AHEAD = 2**15
"""Multiplications from which a product of a batch asks for the operands of the next."""
INLINE = 160
"""Instructions up to which a product becomes part of the function that calls it."""

_LETTERS = {"f4": "s", "f8": "d", "c8": "c", "c16": "z"}
_LARGEST = 2**31 - 1  # BLAS counts with 32 bits


class Product(NamedTuple):
    """All that the machine code of a product depends on. `batch` holds, for each leading dimension,
    its extent and the strides of a, b and out along it, in elements.
    """

    batch: tuple[tuple[int, int, int, int], ...]
    matrices: Matrices

    @property
    def name(self) -> str:
        """A name that equal products, and only those, share."""
        p = self.matrices
        sides = (
            f"{letter}({r},{c})" for letter, (r, c) in zip("abc", (p.a, p.b, p.c), strict=True)
        )
        parts = [p.dtype.str[1:], f"{p.m}x{p.k}x{p.n}", *sides]
        parts += [f"{extent}({x},{y},{z})" for extent, x, y, z in self.batch]
        return " ".join(["multiply", *parts, *(["add"] if p.add else [])])


def define(module: ir.Module, step: Multiply) -> ir.Function:
    """The function for a product, with the module's own linkage; equal products share one.

    Its arguments point to the first elements of a, b and out.
    """
    product = describe(step)
    function = module.globals.get(product.name)
    if function is not None:
        return function
    function, builder = functions.internal(module, product.name, VOID, [POINTER] * 3)
    for argument in function.args:
        argument.add_attribute("noalias")
    _batches(builder, product, list(function.args))
    builder.ret_void()
    size = sum(len(block.instructions) for block in function.blocks)
    function.attributes.add("alwaysinline" if size <= INLINE else "noinline")
    return function


# ---- describing ---------------------------------------------------------------------------------


def describe(step: Multiply) -> Product:
    """What a product's code depends on, with dimensions merged where memory allows."""
    a, b, out = step.a, step.b, step.out
    dtype = out.dtype
    if a.dtype != dtype or b.dtype != dtype or dtype.kind not in "fciub" or dtype == np.float16:
        raise NotImplementedError(
            f"A compiled product takes float32, float64, complex or integer operands of one dtype; "
            f"these are {a.dtype} @ {b.dtype} -> {dtype}. Call it in Python (a Call step) instead."
        )
    m, k, n = a.shape[-2], a.shape[-1], b.shape[-1]
    matrices = Matrices(
        m, k, n, _last(a.strides), _last(b.strides), _last(out.strides), dtype, step.add
    )
    lead = out.shape[:-2]
    strides = (_leading(x.shape, x.strides, len(lead)) for x in (a, b, out))
    batch = [(e, x, y, z) for e, x, y, z in zip(lead, *strides, strict=True) if e != 1]
    return _merged(_canonical(matrices), batch)


def _last(strides: tuple[int, ...]) -> tuple[int, int]:
    return strides[-2], strides[-1]


def _leading(shape: Sequence[int], strides: Sequence[int], count: int) -> list[int]:
    """Strides along the leading dimensions of the result: 0 where an operand is repeated."""
    own = [0 if e == 1 else s for e, s in zip(shape[:-2], strides[:-2], strict=True)]
    return [0] * (count - len(own)) + own


def _canonical(p: Matrices) -> Matrices:
    """Strides along extents of one are never used: choose them so that rows are contiguous."""

    def sides(rows: int, columns: int, strides: tuple[int, int]) -> tuple[int, int]:
        row, column = strides
        if columns == 1:
            column = 1
        if rows == 1:
            row = columns if column == 1 else 1
        return row, column

    return p._replace(a=sides(p.m, p.k, p.a), b=sides(p.k, p.n, p.b), c=sides(p.m, p.n, p.c))


def _merged(p: Matrices, batch: list[tuple[int, int, int, int]]) -> Product:
    """Leading dimensions become rows (b repeated) or columns (a repeated), or one another."""
    while batch:
        extent, x, y, z = batch[-1]
        if y == 0 and p.m == 1:
            p = p._replace(m=extent, a=(x, p.a[1]), c=(z, p.c[1]))
        elif y == 0 and x == p.m * p.a[0] and z == p.m * p.c[0]:
            p = p._replace(m=p.m * extent)
        elif x == 0 and p.n == 1:
            p = p._replace(n=extent, b=(p.b[0], y), c=(p.c[0], z))
        elif x == 0 and y == p.n * p.b[1] and z == p.n * p.c[1]:
            p = p._replace(n=p.n * extent)
        elif len(batch) > 1 and batch[-2][1:] == (extent * x, extent * y, extent * z):
            batch[-2:] = [(batch[-2][0] * extent, x, y, z)]
            continue
        else:
            break
        batch = batch[:-1]
    return Product(tuple(batch), _canonical(p))


# ---- emitting -----------------------------------------------------------------------------------


def _batches(builder: Any, product: Product, pointers: list[Any]) -> None:
    """Loops over the leading dimensions, around one product of matrices."""
    if not product.batch:
        _matrices(builder, product.matrices, pointers)
        return
    (extent, *strides), *inner = product.batch
    p, size = product.matrices, product.matrices.dtype.itemsize
    ahead = p.m * p.k * p.n >= AHEAD and not suits(p) and p.dtype.kind != "c"

    def once(index: Any) -> None:
        moved = [
            builder.gep(
                pointer,
                [builder.mul(index, I64(stride * size))],
                inbounds=True,
                source_etype=ir.IntType(8),
            )
            for pointer, stride in zip(pointers, strides, strict=True)
        ]
        if not inner and ahead:
            _prefetch(builder, product, pointers, index)
        _batches(builder, product._replace(batch=tuple(inner)), moved)

    repeat(builder, extent, once)


def _prefetch(builder: Any, product: Product, pointers: list[Any], index: Any) -> None:
    """Ask for the operands that come next in the innermost leading dimension.

    They are small, and rows of slices lie far apart: no cache foresees them.
    """
    p = product.matrices
    v, line = Vectors(builder, p.dtype), LINE // p.dtype.itemsize
    following = builder.add(index, I64(1))

    def matrix(pointer: Any, stride: int, rows: int, columns: int, far: int) -> None:
        def row(i: Any) -> None:
            for at in range(0, columns, line):
                v.prefetch(pointer, (following, stride), (i, far), (I64(at), 1))

        repeat(builder, rows, row)

    (_, x, y, _), (a, b, _) = product.batch[0], pointers
    for pointer, stride, (rows, columns), (far, near) in (
        (a, x, (p.m, p.k), p.a),
        (b, y, (p.k, p.n), p.b),
    ):
        if stride and near == 1:
            matrix(pointer, stride, rows, columns, far)
        elif stride and far == 1:
            matrix(pointer, stride, columns, rows, near)


def _matrices(builder: Any, p: Matrices, pointers: list[Any]) -> None:
    if min(p.m, p.n) == 0:
        return
    of_complex = p.dtype.kind == "c"
    own = p.k == 0 if of_complex else ours(p)
    call = None if own else blas_call(p)
    if call is not None:
        _gemm(builder, p, call, pointers)
    elif suits(p) and not of_complex:
        emit_blocks(builder, p, registers(), pointers)
    else:
        emit(builder, p, registers(), pointers)


def registers() -> Registers:
    """The vector registers of this machine."""
    size = machine.vector_bytes()
    many = size == 64 or not machine.host().triple.startswith(("x86", "i686", "amd64"))
    return Registers(size, 32 if many else 16)


def ours(p: Matrices) -> bool:
    """Whether our own tiles are to be preferred to BLAS."""
    if min(p.m, p.n) == 1:
        return True  # all time goes into reading the matrix, which straight loops do best
    most = OWN.get(rivals(), OWN_MANY)
    if not suits(p):
        down = p.a[1] != 1 and p.a[1] * p.dtype.itemsize >= FAR
        most = min(most, OWN_DOWN if down else OWN_SINGLE)
    return p.m * p.n * p.k <= most


def rivals() -> int:
    """How many threads BLAS has for each that our products had when the process began: results do
    not change with the number of threads that is said later, so neither may this choice.
    """
    own = min(threads.AT_FIRST, PARTS)
    return -(-threads.of_blas() // own)


# ---- BLAS ---------------------------------------------------------------------------------------


class Gemm(NamedTuple):
    """How BLAS is called. A side is (0 for a or 1 for b, transposed, leading dimension)."""

    m: int
    n: int
    k: int
    first: tuple[int, bool, int]
    second: tuple[int, bool, int]
    ldc: int


def blas_call(p: Matrices) -> Gemm | None:
    """The call for a product, or None where BLAS has no words for its strides."""
    if p.dtype.str[1:] not in _LETTERS:
        return None
    c = _side(p.c, p.m, p.n)
    if c is None:
        return None
    rowwise, ldc = c
    a, b = _side(p.a, p.m, p.k), _side(p.b, p.k, p.n)
    if a is None or b is None or max(p.m, p.n, p.k, a[1], b[1], ldc) > _LARGEST:
        return None
    if rowwise:  # c.T = b.T @ a.T, and a row-major matrix is its transpose to BLAS
        return Gemm(p.n, p.m, p.k, (1, not b[0], b[1]), (0, not a[0], a[1]), ldc)
    return Gemm(p.m, p.n, p.k, (0, a[0], a[1]), (1, b[0], b[1]), ldc)


def _side(strides: tuple[int, int], rows: int, columns: int) -> tuple[bool, int] | None:
    """Whether a matrix is row-major, and the distance of its rows, or else columns."""
    row, column = strides
    if column == 1 and row >= columns:
        return True, max(row, 1)
    if row == 1 and column >= rows:
        return False, max(column, 1)
    return None


def _gemm(builder: Any, p: Matrices, call: Gemm, pointers: list[Any]) -> None:
    module = builder.module
    name = f"blas.{_LETTERS[p.dtype.str[1:]]}gemm"
    gemm = functions.declare(module, name, VOID, [POINTER] * 13)
    number = ir.DoubleType() if p.dtype.char in "dD" else ir.FloatType()

    def word(value: int) -> Any:
        return _constant(module, ir.IntType(32), value)

    def flag(transposed: bool) -> Any:
        return _constant(module, ir.IntType(8), ord("T" if transposed else "N"))

    def factor(value: float) -> Any:
        if p.dtype.kind != "c":
            return _constant(module, number, value)
        return _constant(module, ir.ArrayType(number, 2), [value, 0.0])

    x, y = call.first, call.second
    builder.call(
        gemm,
        [
            *(flag(x[1]), flag(y[1]), word(call.m), word(call.n), word(call.k), factor(1.0)),
            *(pointers[x[0]], word(x[2]), pointers[y[0]], word(y[2])),
            *(factor(float(p.add)), pointers[2], word(call.ldc)),
        ],
    )


def _constant(module: ir.Module, kind: Any, value: Any) -> Any:
    """The address of a constant: BLAS takes all its arguments by address."""
    name = f"constant {kind} {value}"
    constant = module.globals.get(name)
    if constant is None:
        constant = ir.GlobalVariable(module, kind, name)
        constant.linkage = "internal"
        constant.global_constant = True
        constant.initializer = ir.Constant(kind, value)
    return constant
