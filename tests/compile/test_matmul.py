"""Products of matrices as machine code, in all layouts, against NumPy in double precision."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

import numpy as np
import pytest
from llvmlite import ir

from wengert.compile.llvm.library import blocks, matmul, tiles
from wengert.compile.llvm.machine import host as machine
from wengert.compile.plan.plan import Layout, Multiply, Place

RNG = np.random.default_rng(0)
FLOATS = [np.float32, np.float64]


def layout(x: np.ndarray) -> Layout:
    strides = tuple(s // x.itemsize for s in x.strides)
    return Layout(Place("arena", 0), x.shape, strides, x.dtype)


def multiply(a: np.ndarray, b: np.ndarray, out: np.ndarray, add: bool = False) -> None:
    """out (+)= a @ b by compiled code."""
    multiply_all([(a, b, out, add)])


def multiply_all(products: list[tuple[np.ndarray, np.ndarray, np.ndarray, bool]]) -> None:
    """One module for many products: most of the cost of a small one is the module."""
    module = ir.Module("products")
    names = []
    for number, (a, b, out, add) in enumerate(products):
        inner = matmul.define(module, Multiply(layout(a), layout(b), layout(out), add))
        kind = ir.FunctionType(ir.VoidType(), [ir.PointerType()] * 3)
        outer = ir.Function(module, kind, f"run{number}")
        builder = ir.IRBuilder(outer.append_basic_block())
        builder.call(inner, outer.args)
        builder.ret_void()
        names.append(outer.name)
    code = machine.compile_module(module, "products")
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)
    for name, (a, b, out, _) in zip(names, products, strict=True):
        call(code.address(name))(a.ctypes.data, b.ctypes.data, out.ctypes.data)


def numbers(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    if np.dtype(dtype).kind in "iu":
        return RNG.integers(0, 100, shape).astype(dtype)
    if np.dtype(dtype).kind == "b":
        return RNG.random(shape) < 0.3
    made = RNG.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        made = made + 1j * RNG.standard_normal(shape)
    return made.astype(dtype)


def laid(shape: tuple[int, ...], dtype: Any, how: str) -> np.ndarray:
    """An array of a layout: rows contiguous, columns contiguous, a slice of either, or neither."""
    *lead, m, n = shape
    if how == "rows":
        return numbers(shape, dtype)
    if how == "columns":
        return numbers((*lead, n, m), dtype).swapaxes(-1, -2)
    if how == "slice of rows":
        return numbers((*lead, m, n + 3), dtype)[..., 1 : n + 1]
    if how == "slice of columns":
        return numbers((*lead, n, m + 3), dtype).swapaxes(-1, -2)[..., 1 : m + 1, :]
    if how == "backwards":
        return numbers((*lead, m, n), dtype)[..., ::-1, :]
    assert how == "neither"
    return numbers((*lead, 2 * m, 3 * n), dtype)[..., ::2, ::3]


LAYOUTS = ["rows", "columns", "slice of rows", "slice of columns", "backwards", "neither"]


def check(made: np.ndarray, a: np.ndarray, b: np.ndarray, before: Any = 0) -> None:
    """Compare with the product in double precision, within the rounding of a sum of k terms."""
    dtype = made.dtype
    if dtype.kind in "iub":
        assert np.array_equal(made, (before + a @ b).astype(dtype))
        return
    wide = np.complex128 if dtype.kind == "c" else np.float64
    expected = before + a.astype(wide) @ b.astype(wide)
    scale = np.abs(before) + np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
    room = np.finfo(dtype).eps * (4 + 2 * np.sqrt(a.shape[-1])) * scale
    error = np.abs(made - expected)
    assert (error <= room).all(), (dtype, a.shape, b.shape, a.strides, b.strides, error.max())


SIZES = [
    *itertools.product([1, 5, 17], [1, 3, 20], [1, 2, 33]),
    (64, 32, 64), (70, 70, 70), (31, 65, 49), (1, 70, 70), (70, 70, 1), (3, 2, 70), (70, 1, 70),
]  # fmt: skip


@pytest.mark.crossed
@pytest.mark.parametrize("add", [False, True])
@pytest.mark.parametrize("left", ["rows", "columns"])
@pytest.mark.parametrize("right", ["rows", "columns"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_our_tiles_in_many_sizes(dtype: Any, left: str, right: str, add: bool) -> None:
    sizes = [tuple(int(e) for e in RNG.integers(0, 71, 3)) for _ in range(3)]
    sizes += SIZES if dtype is np.float32 and not add else SIZES[::6]
    products, before = [], []
    for m, k, n in sizes:
        out = numbers((m, n), dtype)
        before.append(out.copy() if add else 0)
        products.append((laid((m, k), dtype, left), laid((k, n), dtype, right), out, add))
    multiply_all(products)
    for (a, b, out, _), old in zip(products, before, strict=True):
        check(out, a, b, old)


@pytest.mark.crossed
@pytest.mark.parametrize("own", [True, False], ids=["tiles", "blas"])
@pytest.mark.parametrize("dtype", [*FLOATS, np.complex64, np.complex128])
def test_all_layouts(dtype: Any, own: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matmul, "ours", lambda p: own)
    ways = list(itertools.product(LAYOUTS, repeat=3))
    ways = ways[::5] if dtype is np.float32 else ways[::17]  # neither has a factor of six
    m, k, n = 6, 18, 5
    products = [
        (laid((m, k), dtype, left), laid((k, n), dtype, right), laid((m, n), dtype, out), False)
        for left, right, out in ways
    ]
    multiply_all(products)
    for a, b, out, _ in products:
        check(out, a, b)


@pytest.mark.crossed
@pytest.mark.parametrize("own", [True, False], ids=["tiles", "blas"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_vectors_and_outer_products(dtype: Any, own: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matmul, "ours", lambda p: own)
    shapes = [(1, 37, 37), (37, 37, 1), (37, 1, 37), (1, 40, 1), (1, 1, 40), (40, 1, 1), (1, 1, 1)]
    products = []
    ways = [*itertools.pairwise(LAYOUTS), *itertools.pairwise(LAYOUTS[::-1])]
    for (m, k, n), (left, right), add in itertools.product(shapes, ways, [False, True]):
        out = np.ones((m, n), dtype)
        products.append((laid((m, k), dtype, left), laid((k, n), dtype, right), out, add))
    multiply_all(products)
    for a, b, out, add in products:
        check(out, a, b, int(add))


@pytest.mark.crossed
@pytest.mark.parametrize("own", [True, False], ids=["tiles", "blas"])
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((5, 4, 3), (3, 6)),
        ((4, 3), (5, 3, 6)),
        ((5, 4, 3), (5, 3, 6)),
        ((2, 1, 4, 3), (5, 3, 6)),
        ((2, 5, 4, 3), (2, 5, 3, 6)),
        ((1, 4, 3), (7, 3, 6)),
        ((2, 3, 1, 8), (8, 8)),
        ((2, 3, 1, 8), (3, 8, 8)),
        ((0, 4, 3), (3, 6)),
        ((2, 4, 0), (0, 6)),
        ((4, 3), (9, 3, 1)),
    ],
)
def test_leading_dimensions_broadcast(
    left: tuple[int, ...], right: tuple[int, ...], own: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matmul, "ours", lambda p: own)
    products = []
    for x, y in itertools.product(["rows", "columns", "slice of rows"], repeat=2):
        a, b = laid(left, np.float32, x), laid(right, np.float32, y)
        shape = np.broadcast_shapes(left[:-2], right[:-2])
        out = numbers((*shape, left[-2], right[-1]), np.float32)
        products.append((a, b, out, False))
    multiply_all(products)
    for a, b, out, _ in products:
        check(out, a, b)


def test_heads_of_attention_lie_across_rows() -> None:
    """Heads are a dimension in the middle of memory: strides that no reshape gives."""
    batch, length, heads, width = 2, 10, 3, 8
    q, k = (numbers((batch, length, heads, width), np.float32) for _ in range(2))
    queries, keys = q.transpose(0, 2, 1, 3), k.transpose(0, 2, 3, 1)
    scores = np.empty((batch, heads, length, length), np.float32)
    multiply(queries, keys, scores)
    check(scores, queries, keys)
    mixed = np.empty((batch, length, heads, width), np.float32).transpose(0, 2, 1, 3)
    multiply(scores, queries, mixed)
    check(mixed, scores, queries)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint32, np.bool_])
def test_integers_wrap_and_booleans_are_logical(dtype: Any) -> None:
    products = [
        (laid((5, 19), dtype, x), laid((19, 21), dtype, y), laid((5, 21), dtype, z), False)
        for x, y, z in [
            ("rows", "rows", "rows"), ("rows", "columns", "rows"), ("columns", "rows", "columns"),
            ("neither", "neither", "neither"),
        ]
    ]  # fmt: skip
    multiply_all(products)
    for a, b, out, _ in products:
        check(out, a, b)


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_long_shared_dimension_is_taken_in_blocks(dtype: Any) -> None:
    depth = tiles.PANEL // 16 // np.dtype(dtype).itemsize
    for add in (False, True):
        a, b = laid((6, 3 * depth + 5), dtype, "rows"), laid((3 * depth + 5, 20), dtype, "neither")
        out = np.ones((6, 20), dtype)
        multiply(a, b, out, add)
        check(out, a, b, int(add))


@pytest.mark.parametrize("size", [16, 32, 64])
def test_every_width_of_vectors(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    few = tiles.Registers(size, 32 if size == 64 else 16)
    monkeypatch.setattr(matmul, "registers", lambda: few)
    products = []
    for (m, k, n), right in itertools.product([(7, 9, 21), (2, 33, 10)], ["rows", "columns"]):
        out = np.empty((m, n), np.float32)
        products.append(
            (laid((m, k), np.float32, "rows"), laid((k, n), np.float32, right), out, False)
        )
    multiply_all(products)
    for a, b, out, _ in products:
        check(out, a, b)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products are cut into blocks that are small: several in each direction, and rests."""
    for name, value in {"LEAST": 0, "LEAST_ROWS": 1, "NEAR": 5000, "BLOCK": 4000}.items():
        monkeypatch.setattr(blocks, name, value)


BLOCKED = [(np.float32, False), (np.float64, True), (np.int32, True), (np.int8, False)]
OTHERS = [(dtype, not add) for dtype, add in BLOCKED]


@pytest.mark.crossed
@pytest.mark.parametrize(
    ("dtype", "add"), [*BLOCKED, *(pytest.param(*way, marks=pytest.mark.sweep) for way in OTHERS)]
)
def test_large_products_are_cut_into_blocks(dtype: Any, add: bool, small_blocks: None) -> None:
    sizes = [(31, 97, 75), (24, 64, 64), (40, 33, 17)]
    ways = itertools.product(sizes, ["slice of rows", "columns"], ["rows", "slice of columns"])
    products, before = [], []
    for (m, k, n), left, right in ways:
        out = laid((m, n), dtype, "slice of rows" if right == "rows" else "columns")
        before.append(out.copy() if add else 0)
        products.append((laid((m, k), dtype, left), laid((k, n), dtype, right), out, add))
        step = Multiply(*(layout(x) for x in products[-1][:3]))
        assert blocks.suits(matmul.describe(step).matrices)
    multiply_all(products)
    for (a, b, out, _), old in zip(products, before, strict=True):
        check(out, a, b, old)


@pytest.mark.parametrize("size", [16, 32, 64])
def test_blocks_in_every_width_of_vectors(
    size: int, small_blocks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With columns of A copied, as those that lie far apart are."""
    monkeypatch.setattr(blocks, "APART", 0)
    monkeypatch.setattr(blocks, "BLOCK", 2**16)
    few = tiles.Registers(size, 32 if size == 64 else 16)
    monkeypatch.setattr(matmul, "registers", lambda: few)
    whole = np.full((42, 203), 3, np.float32)
    a, b = laid((40, 66), np.float32, "columns"), laid((66, 201), np.float32, "rows")
    multiply(a, b, whole[1:-1, 1:-1])
    check(whole[1:-1, 1:-1], a, b)
    edge = np.ones(whole.shape, bool)
    edge[1:-1, 1:-1] = False
    assert (whole[edge] == 3).all()


def test_products_in_blocks_share_their_tiles(small_blocks: None) -> None:
    module = ir.Module("shared")
    for m, k, n in [(24, 64, 64), (48, 32, 128), (36, 128, 64)]:
        a, b, out = (np.empty(shape, np.float32) for shape in [(m, k), (k, n), (m, n)])
        matmul.define(module, Multiply(layout(a), layout(b), layout(out)))
    assert sum(f.name.startswith("tile") for f in module.functions) == 1


def test_products_of_a_batch_ask_for_the_next_operands() -> None:
    """What is asked for beyond the last product is not read: it may be no memory."""
    a, b = numbers((3, 40, 32), np.float32), laid((3, 32, 40), np.float32, "columns")
    out = np.empty((3, 40, 40), np.float32)
    module = ir.Module("ahead")
    matmul.define(module, Multiply(layout(a), layout(b), layout(out)))
    assert "llvm.prefetch" in str(module)
    multiply(a, b, out)
    check(out, a, b)


@pytest.mark.parametrize("own", [True, False], ids=["tiles", "blas"])
def test_an_empty_sum_is_zero(own: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matmul, "ours", lambda p: own)
    a, b = np.empty((3, 0), np.float32), np.empty((0, 4), np.float32)
    out = np.full((3, 4), 7, np.float32)
    multiply(a, b, out, add=True)
    assert (out == 7).all()
    multiply(a, b, out)
    assert (out == 0).all()


def test_what_lies_beside_the_result_is_left_alone() -> None:
    """Masked stores at the edges once wrote whole vectors in another compiler."""
    for m, k, n in [(3, 5, 7), (9, 17, 18), (1, 20, 5)]:
        for how in ("rows", "columns"):
            whole = np.full((m + 2, n + 2), 3, np.float32)
            a, b = numbers((m, k), np.float32), laid((k, n), np.float32, how)
            multiply(a, b, whole[1:-1, 1:-1])
            check(whole[1:-1, 1:-1], a, b)
            edge = np.ones(whole.shape, bool)
            edge[1:-1, 1:-1] = False
            assert (whole[edge] == 3).all()


def test_nan_and_infinity_arrive() -> None:
    for m in (1, 8):
        a, b = numbers((m, 20), np.float32), numbers((9, 20), np.float32).T
        a[0, 3], b[4, 5] = np.inf, np.nan
        out = np.empty((m, 9), np.float32)
        multiply(a, b, out)
        assert np.isnan(out[:, 5]).all()
        assert not np.isfinite(out[0]).any()
        assert np.isfinite(np.delete(out[1:], 5, axis=1)).all()


def test_equal_products_share_a_function() -> None:
    module = ir.Module("shared")
    a, b, out = (np.empty((4, 4), np.float32) for _ in range(3))
    first = matmul.define(module, Multiply(layout(a), layout(b), layout(out)))
    assert matmul.define(module, Multiply(layout(b), layout(a), layout(out))) is first
    assert matmul.define(module, Multiply(layout(b.T), layout(a), layout(out))) is not first


def test_a_batch_times_one_matrix_is_one_product() -> None:
    a, b, out = np.empty((5, 6, 4, 3)), np.empty((3, 8)), np.empty((5, 6, 4, 8))
    product = matmul.describe(Multiply(layout(a), layout(b), layout(out)))
    assert product.batch == ()
    assert product.matrices.m == 120


def test_other_dtypes_are_refused_with_a_way_out() -> None:
    a = layout(np.empty((4, 4), np.float16))
    with pytest.raises(NotImplementedError, match="Call it in Python"):
        matmul.define(ir.Module("half"), Multiply(a, a, a))


@pytest.mark.parametrize("left", ["rows", "columns"])
@pytest.mark.parametrize("right", ["rows", "columns"])
def test_blas_reads_slices_in_place(left: str, right: str) -> None:
    """Matrices that are slices go to BLAS by their leading dimension, without a copy."""
    a, b = (
        laid((200, 190), np.float32, f"slice of {left}"),
        laid((190, 210), np.float32, f"slice of {right}"),
    )
    out = np.empty((200, 220), np.float32)[:, 4:214]
    step = Multiply(layout(a), layout(b), layout(out))
    assert matmul.blas_call(matmul.describe(step).matrices) is not None
    multiply(a, b, out)
    check(out, a, b)
