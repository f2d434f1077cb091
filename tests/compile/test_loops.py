"""Machine code of kernels against their meaning in NumPy."""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from llvmlite import ir

from tests.compile.kernels import compiled, interpret
from tests.compile.random_kernels import copies, kernels
from wengert.compile.llvm.elementary.scalars import supported
from wengert.compile.llvm.nests.kernels import define
from wengert.compile.llvm.nests.scatters import places as count_of_copies
from wengert.compile.llvm.nests.schedule import arrange
from wengert.compile.plan.kernel import (
    Access,
    Apply,
    Const,
    Index,
    Kernel,
    Load,
    Operation,
    Reduce,
    Store,
    Unsupported,
)

F2, F4, F8 = (np.dtype(f"f{n}") for n in (2, 4, 8))
BOOL, INT32, INT64 = np.dtype(bool), np.dtype("i4"), np.dtype("i8")
WIDTHS = [16, 32, 64]

BINARY = (
    "add subtract multiply divide maximum minimum fmax fmin copysign floor_divide remainder fmod "
    "less less_equal greater greater_equal equal not_equal logical_and logical_or logical_xor "
    "heaviside"
)
UNARY = (
    "negative absolute square sqrt reciprocal sign floor ceil trunc rint isnan isinf isfinite "
    "signbit logical_not conjugate exp"
)
INTEGER = (
    "add subtract multiply floor_divide remainder fmod maximum minimum left_shift right_shift "
    "bitwise_and bitwise_or bitwise_xor less greater_equal equal logical_and"
)


def kernel(
    extents: tuple[int, ...], outer: int, *stages: list[Operation], buffers: list[np.dtype]
) -> Kernel:
    stores = [op for stage in stages for op in stage if isinstance(op, Store)]
    written = tuple(op.access.buffer for op in stores)
    return Kernel(extents, outer, tuple(map(tuple, stages)), tuple(buffers), written)


def at(buffer: int, *strides: int, offset: int = 0, indices: Any = ()) -> Access:
    return Access(buffer, strides, offset, indices)


def normal(*shape: int, dtype: Any = F4) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape).astype(dtype)


def check(k: Kernel, *arrays: np.ndarray, tolerance: float = 1e-6, width: int = 0) -> Any:
    """Run it, compare with its meaning, and give the array written last."""
    got, want = copies(arrays), copies(arrays)
    interpret(k, want)
    compiled(k, width)(*got)
    for mine, theirs in zip(got, want, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance)
    return got[-1]


# ---- elementwise ---------------------------------------------------------------------------


def line(n: int, function: str, count: int, dtype: np.dtype, result: np.dtype) -> Kernel:
    loads: list[Operation] = [Load(at(k, 1), dtype) for k in range(count)]
    ops = [*loads, Apply(function, tuple(range(count)), result), Store(at(count, 1), count)]
    return kernel((n,), 1, ops, buffers=[dtype] * count + [result])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 15, 16, 17, 64, 65, 1000])
def test_every_length_is_covered_to_the_last_element(n: int, width: int) -> None:
    # Nothing is written past the end, either.
    x, y, out = normal(n), normal(n), np.full(n + 20, 7, F4)
    out = check(line(n, "multiply", 2, F4, F4), x, y, out, width=width)
    np.testing.assert_array_equal(out[:n], x * y)
    assert (out[n:] == 7).all()


EXTREMES = [0, -0.0, 1, -1, 2.5, -2.5, np.inf, -np.inf, np.nan]


@pytest.mark.crossed
@pytest.mark.parametrize("dtype", [F2, F4, F8])
@pytest.mark.parametrize("name", BINARY.split())
def test_functions_of_two_floats_agree_at_the_extremes(name: str, dtype: np.dtype) -> None:
    x, y = (a.ravel().astype(dtype) for a in np.meshgrid(EXTREMES, EXTREMES))
    with np.errstate(all="ignore"):
        want = getattr(np, name)(x, y)
    k = line(len(x), name, 2, dtype, want.dtype)
    np.testing.assert_array_equal(check(k, x, y, np.empty_like(want)), want)


@pytest.mark.crossed
@pytest.mark.parametrize("dtype", [F2, F4, F8])
@pytest.mark.parametrize("name", UNARY.split())
def test_functions_of_one_float_agree_at_the_extremes(name: str, dtype: np.dtype) -> None:
    x = np.array(EXTREMES * 5, dtype)
    with np.errstate(all="ignore"):
        want = getattr(np, name)(x)
    k = line(len(x), name, 1, dtype, want.dtype)
    check(k, x, np.empty_like(want), tolerance=1e-3 if dtype == F2 else 1e-6)


@pytest.mark.crossed
@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
@pytest.mark.parametrize("name", INTEGER.split())
def test_functions_of_two_integers_wrap_and_divide_by_zero(name: str, dtype: str) -> None:
    limits = np.iinfo(dtype)
    values = [0, 1, 2, 7, limits.max, limits.min, limits.max // 2]
    values += [-1, -2, -7] if limits.min else [3, 5, 100]
    x, y = (a.ravel().astype(dtype) for a in np.meshgrid(*[np.array(values, dtype)] * 2))
    with np.errstate(all="ignore"):
        want = getattr(np, name)(x, y)
    k = line(len(x), name, 2, np.dtype(dtype), want.dtype)
    np.testing.assert_array_equal(check(k, x, y, np.empty_like(want)), want)


@pytest.mark.crossed
@pytest.mark.parametrize("target", ["?", "i1", "u1", "i4", "u4", "i8", "u8", "f2", "f4", "f8"])
@pytest.mark.parametrize("source", ["?", "i1", "u2", "i4", "i8", "u8", "f2", "f4", "f8"])
def test_casts(source: str, target: str) -> None:
    x = np.arange(-20, 50).astype(source) if "u" not in source else np.arange(70, dtype=source)
    if np.dtype(source).kind == "f":
        x = x * np.dtype(source).type(1.37)
        x = abs(x) if "u" in target else x
    k = line(x.size, "astype", 1, np.dtype(source), np.dtype(target))
    np.testing.assert_array_equal(check(k, x, np.empty(x.shape, target)), x.astype(target))


def test_a_double_becomes_a_half_with_one_rounding() -> None:
    # Rounded to float32 first, 1 + 2**-11 + 2**-40 would lie halfway and go down.
    x = np.concatenate([[1 + 2**-11 + 2**-40, -1 - 2**-11 - 2**-40, 1e6], normal(1000, dtype=F8)])
    out = check(line(x.size, "astype", 1, F8, F2), x, np.zeros(x.size, F2))
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(out, x.astype(F2))


@pytest.mark.parametrize("dtype", [F4, F8])
def test_division_by_one_number_is_division(dtype: np.dtype) -> None:
    limits = np.finfo(dtype)
    small, large = limits.smallest_subnormal, limits.max
    divisors = [0, -0.0, 1, -3, 7, 1e-10, 1e30, np.inf, np.nan, small, large, limits.tiny]
    ops = [Load(at(0, 1), dtype), Load(at(1, 0), dtype), Apply("divide", (0, 1), dtype)]
    run = compiled(kernel((216,), 1, [*ops, Store(at(2, 1), 2)], buffers=[dtype] * 3))
    x = np.array([*divisors, *normal(204)], dtype)
    for d in divisors:
        out = np.empty_like(x)
        run(x, np.array([d], dtype), out)
        with np.errstate(all="ignore"):
            np.testing.assert_array_max_ulp(out, x / dtype.type(d))


def test_where_and_constants() -> None:
    ops: list[Operation] = [
        Load(at(0, 1), F4),
        Const(0.5, F4),
        Apply("greater", (0, 1), BOOL),
        Const(-1.0, F4),
        Apply("where", (2, 0, 3), F4),
        Store(at(1, 1), 4),
        Store(at(2, 1), 2),
    ]
    check(kernel((50,), 1, ops, buffers=[F4, F4, BOOL]), normal(50), normal(50), np.zeros(50, bool))


@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize("n", [1, 5, 40])
def test_complex_numbers(dtype: str, n: int) -> None:
    kind = np.dtype(dtype)
    part = np.dtype(f"f{kind.itemsize // 2}")
    x, y = normal(n) + 1j * normal(n)[::-1], 2 - 1j * normal(n)
    ops: list[Operation] = [Load(at(0, 1), kind), Load(at(1, -1, offset=n - 1), kind)]
    for name in ("add", "subtract", "multiply", "divide"):
        ops.append(Apply(name, (0, 1), kind))
    for name in ("negative", "conjugate", "exp", "absolute", "real", "imag"):
        ops.append(Apply(name, (0,), part if name in ("absolute", "real", "imag") else kind))
    stores = [Store(at(k, 1), k) for k in range(2, 12)]
    buffers = [kind, kind, *(op.dtype for op in ops[2:])]
    arrays = [x.astype(kind), y.astype(kind), *(np.zeros(n, d) for d in buffers[2:])]
    check(kernel((n,), 1, [*ops, *stores], buffers=buffers), *arrays, tolerance=1e-5)


def test_sums_of_complex_numbers() -> None:
    c = np.dtype("c8")
    ops = [Load(at(0, 70, 1), c), Reduce("add", 0, c), Store(at(1, 1, 0), 1)]
    x = (normal(3, 70) + 1j * normal(3, 70)[::-1]).astype(c)
    check(kernel((3, 70), 1, ops, buffers=[c, c]), x, np.zeros(3, c), tolerance=1e-4)


# ---- memory --------------------------------------------------------------------------------


def test_broadcasting() -> None:
    ops: list[Operation] = [
        Load(at(0, 50, 1), F4),
        Load(at(1, 0, 1), F4),
        Load(at(2, 1, 0), F4),
        Apply("add", (0, 1), F4),
        Apply("multiply", (3, 2), F4),
        Store(at(3, 50, 1), 4),
    ]
    k = kernel((33, 50), 2, ops, buffers=[F4] * 4)
    check(k, normal(33, 50), normal(50), normal(33), normal(33, 50))


@pytest.mark.parametrize("step", [-1, -3, 2, 5])
def test_strides(step: int) -> None:
    n = 75
    source = at(0, step, offset=0 if step > 0 else -step * (n - 1))
    k = kernel((n,), 1, [Load(source, F4), Store(at(1, 1), 0)], buffers=[F4, F4])
    check(k, normal(n * abs(step)), normal(n))
    target = at(1, step, offset=source.offset)
    k = kernel((n,), 1, [Load(at(0, 1), F4), Store(target, 0)], buffers=[F4, F4])
    check(k, normal(n), normal(n * abs(step)))


@pytest.mark.crossed
@pytest.mark.parametrize("dtype", [F4, F8, np.dtype("i2"), BOOL])
@pytest.mark.parametrize("shape", [(3, 4), (16, 16), (40, 70), (65, 129), (5, 300)])
def test_transposed_reads_and_writes(shape: tuple[int, int], dtype: np.dtype) -> None:
    m, n = shape
    x = (normal(m, n) * 10).astype(dtype)
    read = [Load(at(0, 1, m), dtype), Store(at(1, n, 1), 0)]
    check(kernel(shape, 2, read, buffers=[dtype] * 2), x, np.zeros(m * n, dtype))
    written = [Load(at(0, n, 1), dtype), Store(at(1, 1, m), 0)]
    check(kernel(shape, 2, written, buffers=[dtype] * 2), x, np.zeros(m * n, dtype))
    both = [
        Load(at(0, 1, m), dtype),
        Load(at(1, n, 1), dtype),
        Apply("add", (0, 1), dtype),
        Store(at(2, n, 1), 2),
    ]
    check(kernel(shape, 2, both, buffers=[dtype] * 3), x, x[::-1].copy(), np.zeros(m * n, dtype))


ROWS = {
    "whole": ([0, 1, 2], [0, 1, 2], 3),
    "gaps": ([1, 4, 6], [5, 1, 2], 9),
    "far apart": ([0, 40, 3], [30, 31, 0], 41),
    "long": (list(range(11)), list(range(10, -1, -1)), 11),
    "twice": ([2, 2, 3], [0, 2, 3], 5),
    "falling": ([0, 1, 2, 3], [3, 2, 1, 0], -4),
    "one of two": ([1], [1], 2),
    "pairs": ([0, 1], [1, 0], 2),
    "some of four": ([1, 3], [0, 2], 4),
    "of two rows": ([2, 3, 4], [1, 2, 3], 3),
}


@pytest.mark.crossed
@pytest.mark.parametrize("width", [16, 64])
@pytest.mark.parametrize(
    ("rows", "dtype"),
    [*((rows, F8) for rows in ROWS), *(("long", d) for d in (F4, np.dtype("c8"), BOOL))],
)
def test_elements_of_a_row_are_read_and_written_together(rows: str, dtype: Any, width: int) -> None:
    # What lies in the gaps is left as it is, and nothing past the last row is touched.
    read, written, step = ROWS[rows]
    n = 37
    start = 0 if step > 0 else -step * (n - 1)
    loads: list[Operation] = [Load(at(0, step, offset=start + k), dtype) for k in read]
    name = "logical_xor" if dtype == BOOL else "add"
    sums = [Apply(name, (k, 0), dtype) for k in range(len(read))]
    stores = [Store(at(1, step, offset=start + k), len(read) + i) for i, k in enumerate(written)]
    k = kernel((n,), 1, [*loads, *sums, *stores], buffers=[dtype] * 2)
    size = (n - 1) * abs(step) + 1 + max(*read, *written)
    x = normal(size, dtype=F8)
    check(k, (10 * x).astype(dtype), (10 * x[::-1]).astype(dtype), width=width)


def columns_of_rows(n: int, step: int, *columns: int) -> Kernel:
    """Twice some columns of rows that lie side by side."""
    ops: list[Operation] = []
    for c in columns:
        k = len(ops)
        ops += [Load(at(0, step, offset=c), F8), Apply("add", (k, k), F8)]
        ops += [Store(at(1, step, offset=c), k + 1)]
    return kernel((n,), 1, ops, buffers=[F8] * 2)


@pytest.mark.parametrize("columns", [(0, 1, 2), (1,), (1, 2)])
def test_short_rows_side_by_side_are_read_and_written_as_whole_vectors(columns: Any) -> None:
    # Points of three coordinates were read lane by lane: a third to a half of the speed.
    module = ir.Module("beside")
    define(module, columns_of_rows(64, 3, *columns), 64)
    text = str(module)
    assert "gather" not in text
    assert "load <8 x double>" in text
    assert ("store <8 x double>" in text) is (len(columns) == 3)


@pytest.mark.skipif(os.name == "nt", reason="pages are protected otherwise there")
@pytest.mark.parametrize("n", [1, 5, 8, 11, 37])
@pytest.mark.parametrize("columns", [(0, 1, 2), (0,), (1, 2)])
def test_nothing_is_read_past_the_last_of_short_rows(columns: Any, n: int) -> None:
    # The next page is not the process's: to read a vector that reaches into it ends the process.
    size = (n - 1) * 3 + max(columns) + 1
    pages = np.frombuffer(mmap.mmap(-1, 2 * mmap.PAGESIZE), np.uint8)
    next_page = ctypes.c_void_p(pages[mmap.PAGESIZE :].ctypes.data)
    protect = functools.partial(ctypes.CDLL(None).mprotect, next_page, mmap.PAGESIZE)
    x, out = pages[: mmap.PAGESIZE].view(F8)[-size:], np.zeros(size)
    x[:] = normal(size, dtype=F8)
    assert protect(0) == 0
    compiled(columns_of_rows(n, 3, *columns))(x, out)
    assert protect(mmap.PROT_READ | mmap.PROT_WRITE) == 0
    for c in columns:
        np.testing.assert_array_equal(out[c::3], 2 * x[c::3])


@pytest.mark.crossed
@pytest.mark.parametrize(
    ("name", "row", "dtype"),
    [
        *(("add", row, F8) for row in [(2,), (3,), (4,), (2, 2), (5,)]),
        *(("add", (3,), dtype) for dtype in (F2, F4, np.dtype("i4"))),
        *(("maximum", (3,), F4), ("argmin", (3,), F4), ("logical_and", (2,), BOOL)),
    ],
)
def test_short_rows_are_reduced_and_used_again(name: Any, row: Any, dtype: Any) -> None:
    n, m = 45, int(np.prod(row))
    inner = tuple(int(np.prod(row[k + 1 :])) for k in range(len(row)))
    found = INT64 if name == "argmin" else dtype
    ops: list[Operation] = [
        Load(at(0, m, *inner), dtype),
        Index(1),
        Apply("astype", (1,), dtype),
        Apply("maximum", (0, 2), dtype),
        Reduce(name, 3, found),
    ]
    later: list[Operation] = [Apply("astype", (4,), dtype), Apply("maximum", (3, 5), dtype)]
    stores = [Store(at(1, m, *inner), 6), Store(at(2, 1, *[0] * len(row)), 4)]
    k = kernel((n, *row), 1, ops, [*later, *stores], buffers=[dtype, dtype, found])
    x = (3 * normal(n, m, dtype=F8)).astype(dtype)
    tolerance = 1e-2 if dtype == F2 else 1e-6
    check(k, x, x[::-1].copy(), np.zeros(n, found), tolerance=tolerance)


@pytest.mark.parametrize("few", [2, 3])
def test_maps_of_short_rows_beside_what_is_the_same_for_all(few: int) -> None:
    n, m = 50, 4
    ops: list[Operation] = [
        Load(at(0, n * few, few, 1), F8),
        Load(at(1, few, 0, 1), F8),
        Apply("add", (0, 1), F8),
        Store(at(2, n * few, few, 1), 2),
        Store(at(3, few, 0, 1), 2, "add"),
    ]
    arrays = normal(m, n, few, dtype=F8), normal(m, few, dtype=F8)
    sums = kernel((m, n, few), 3, ops, buffers=[F8] * 4)
    check(sums, *arrays, np.zeros((m, n, few)), np.zeros((m, few)))
    maps = kernel((m, n, few), 3, ops[:4], buffers=[F8] * 3)
    check(maps, *arrays, np.zeros((m, n, few)))


def test_sums_beside_each_other_read_a_large_row_once() -> None:
    # sum_i w[i, j] (p[i, t] - c[j, t]), for few t
    n, m, few = 1000, 40, 3
    ops: list[Operation] = [
        Load(at(0, 1, 0, m), F8),
        Load(at(1, 0, 1, few), F8),
        Load(at(2, few, 1, 0), F8),
        Apply("subtract", (1, 2), F8),
        Apply("multiply", (0, 3), F8),
        Store(at(3, few, 1, 0), 4, "add"),
    ]
    k = kernel((m, few, n), 2, ops, buffers=[F8] * 4)
    nest = arrange(k, 64)
    assert len(nest.extents) == 2
    w, p, c = normal(n, m, dtype=F8), normal(n, few, dtype=F8), normal(m, few, dtype=F8)
    out = check(k, w, p, c, np.zeros((m, few)))
    np.testing.assert_allclose(out, w.T @ p - w.sum(0)[:, None] * c, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("rows", [24, 7])
def test_distances_turn_what_they_read_about_once_for_several_rows(rows: int) -> None:
    m, n = 43, 9
    ops: list[Operation] = [
        Load(at(0, n, 0, 1), F8),
        Load(at(1, 0, n, 1), F8),
        Apply("subtract", (0, 1), F8),
        Apply("multiply", (2, 2), F8),
        Reduce("add", 3, F8),
    ]
    later = [Store(at(2, m, 1, 0), 4), Store(at(3, 1, 0, 0), 4, "minimum")]
    k = kernel((rows, m, n), 2, ops, later, buffers=[F8] * 4)
    x, y = normal(rows, n, dtype=F8), normal(m, n, dtype=F8)
    out = check(k, x, y, np.zeros((rows, m)), np.zeros(rows))
    np.testing.assert_allclose(out, ((x[:, None] - y) ** 2).sum(2).min(1))


@pytest.mark.parametrize(("count", "together"), [(16, 8), (12, 4), (7, 1)])
def test_sums_of_one_vector_are_made_side_by_side_as_each_addition_waits_for_the_last(
    count: int, together: int
) -> None:
    # A weight for each of some points and centres, times how far they are apart, over the points.
    points, size = 50, 8
    ops: list[Operation] = [
        Load(at(0, 1, 0, count), F8),
        Load(at(1, 0, 1, size), F8),
        Load(at(2, size, 1, 0), F8),
        Apply("subtract", (1, 2), F8),
        Apply("multiply", (0, 3), F8),
        Reduce("add", 4, F8),
    ]
    k = kernel((count, size, points), 2, ops, [Store(at(3, size, 1, 0), 5)], buffers=[F8] * 4)
    nest = arrange(k, 64)
    assert nest.jam * sum(isinstance(op, Reduce) for op in nest.operations) == together
    w, x, c = (
        normal(*shape, dtype=F8) for shape in ((points, count), (points, size), (count, size))
    )
    out = check(k, w, x, c, np.zeros((count, size)))
    np.testing.assert_allclose(out, (w[:, :, None] * (x[:, None] - c)).sum(0), atol=1e-12)


@pytest.mark.parametrize("dtype", [F4, F8])
@pytest.mark.parametrize(
    ("count", "length", "together"), [(8, 50, 4), (6, 50, 2), (7, 50, 1), (8, 5000, 1)]
)
def test_short_rows_are_taken_four_or_two_at_a_time_as_each_waits_for_its_sum(
    count: int, length: int, together: int, dtype: np.dtype
) -> None:
    # Of rows of a hundred numbers each took a third longer by itself, to be divided by their sum,
    # and normalised, a fifth longer in pairs than four at a time.
    ops: list[Operation] = [Load(at(0, length, 1), dtype), Reduce("add", 0, dtype)]
    later: list[Operation] = [Apply("divide", (0, 1), dtype), Store(at(1, length, 1), 2)]
    k = kernel((count, length), 1, ops, later, buffers=[dtype] * 2)
    reduced = [op for op in arrange(k, 64).operations if isinstance(op, Reduce)]
    assert len(reduced) == together
    x = np.abs(normal(count, length, dtype=F8)).astype(dtype) + 1
    x[2, 3] = np.inf
    with np.errstate(invalid="ignore"):
        check(k, x, np.zeros_like(x))


@pytest.mark.parametrize(("count", "jam"), [(100, 1), (10_000, 2)])
def test_a_short_loop_of_a_heavy_function_is_little_code(count: int, jam: int) -> None:
    # A hundred of them took LLVM 1.2 seconds: up to seven copies of tanh in each.
    ops: list[Operation] = [Load(at(0, 1), F8), Apply("tanh", (0,), F8), Store(at(1, 1), 1)]
    k = kernel((count,), 1, ops, buffers=[F8] * 2)
    assert arrange(k, 64).jam == jam
    x = normal(count, dtype=F8)
    np.testing.assert_allclose(check(k, x, np.zeros(count)), np.tanh(x), rtol=1e-14)


@pytest.mark.parametrize(("count", "together"), [(8, True), (12, False)])
def test_so_many_sums_are_side_by_side_as_registers_hold_with_their_own_numbers(
    count: int, together: bool
) -> None:
    # Sixteen sums of a weight times a distance from sixteen numbers took turns in registers.
    far = [Load(at(1, 0, 1, count), F8)]
    weights = [Load(at(0, 1, 0, 100), F8)]
    own = [Load(at(2, count, 1, 0), F8)]
    terms = [*weights, *far, *own, Apply("subtract", (1, 2), F8), Apply("multiply", (0, 3), F8)]
    store = [Store(at(3, count, 1, 0), 5)]
    made = kernel((100, count, 400), 2, [*terms, Reduce("add", 4, F8)], store, buffers=[F8] * 4)
    nest = arrange(made, 64)
    assert (sum(isinstance(op, Reduce) for op in nest.operations) == count) is together


@pytest.mark.parametrize("dtype", [F4, F8])
def test_products_are_summed_by_instructions_that_round_once(dtype: np.dtype) -> None:
    load = [Load(at(0, 9, 1), dtype), Load(at(1, 9, 1), dtype), Apply("multiply", (0, 1), dtype)]
    rest = [Store(at(2, 1, 0), 3)]
    made = kernel((40, 9), 1, [*load, Reduce("add", 2, dtype)], rest, buffers=[dtype] * 3)
    module = ir.Module("products")
    define(module, made)
    text = str(module)
    assert "fmul contract" in text
    assert "fadd contract" in text


@pytest.mark.parametrize("dtype", [F4, F8])
@pytest.mark.parametrize(
    ("name", "args", "once"),
    [
        ("add", (3, 2), True), ("add", (2, 3), True), ("subtract", (3, 2), False),
        ("subtract", (2, 3), False), ("add", (3, 4), True), ("subtract", (3, 4), False),
        ("add", (0, 1), False),
    ],
)  # fmt: skip
def test_a_sum_with_a_product_rounds_once_and_a_difference_never_does(
    dtype: np.dtype, name: str, args: tuple[int, int], once: bool
) -> None:
    loads = [Load(at(k, 1), dtype) for k in range(3)]
    products = [Apply("multiply", (0, 1), dtype), Apply("multiply", (1, 2), dtype)]
    last = [Apply(name, args, dtype), Store(at(3, 1), 5)]
    made = kernel((37,), 1, [*loads, *products, *last], buffers=[dtype] * 4)
    module = ir.Module("once")
    define(module, made)
    assert ("fmuladd" in str(module)) is once
    x, y, z = (normal(37, dtype=dtype) + k for k in range(3))
    check(made, x, y, z, np.zeros(37, dtype), tolerance=4 * float(np.finfo(dtype).eps))


def test_a_number_without_loops() -> None:
    ops = [Load(at(0), F4), Const(2.0, F4), Apply("multiply", (0, 1), F4), Store(at(1), 2)]
    check(kernel((), 0, ops, buffers=[F4, F4]), normal(1), normal(1))


def test_loop_indices() -> None:
    ops: list[Operation] = [
        Index(0),
        Index(1),
        Const(100, INT64),
        Apply("multiply", (0, 2), INT64),
        Apply("add", (3, 1), INT64),
        Store(at(0, 37, 1), 4),
    ]
    check(kernel((5, 37), 2, ops, buffers=[INT64]), np.zeros(5 * 37, INT64))


def test_written_over_what_was_read() -> None:
    # The squares are stored before the second pass reads the row again.
    ops: list[Operation] = [
        Load(at(0, 40, 1), F4),
        Apply("square", (0,), F4),
        Store(at(1, 40, 1), 1),
        Reduce("add", 0, F4),
    ]
    later = [Apply("multiply", (0, 3), F4), Store(at(2, 40, 1), 4)]
    x = normal(3, 40)
    check(kernel((3, 40), 1, ops, later, buffers=[F4] * 3), x, x, normal(3, 40), tolerance=1e-5)


# ---- computed places -----------------------------------------------------------------------


def rows_taken(count: int, size: int, width: int) -> Kernel:
    """out[i] = table[index[i]]"""
    source = at(1, 0, 1, indices=((0, width, size),))
    ops = [Load(at(0, 1, 0), INT64), Load(source, F4), Store(at(2, width, 1), 1)]
    return kernel((count, width), 2, ops, buffers=[INT64, F4, F4])


@pytest.mark.parametrize("width", [1, 5, 48])
def test_rows_are_taken_at_indices_of_both_signs(width: int) -> None:
    table, index = normal(10, width), np.array([3, -1, 0, 9, -10, 3, 3])
    out = check(rows_taken(7, 10, width), index, table, normal(7, width))
    np.testing.assert_array_equal(out, table[index])


@pytest.mark.parametrize("wrong", [10, -11, 2**40])
@pytest.mark.parametrize("width", [1, 5])
def test_an_index_out_of_range_reads_the_first_element(wrong: int, width: int) -> None:
    table = normal(10, width)
    out = check(rows_taken(4, 10, width), np.array([3, 1, wrong, 2]), table, normal(4, width))
    np.testing.assert_array_equal(out[2], table[0])


def test_elements_taken_in_vectors() -> None:
    source = at(1, 0, 20, indices=((0, 1, 20),))
    ops = [Load(at(0, 1, 0), INT32), Load(source, F4), Store(at(2, 3, 1), 1)]
    index = np.random.default_rng(0).integers(-20, 20, 50).astype(INT32)
    k = kernel((50, 3), 2, ops, buffers=[INT32, F4, F4])
    check(k, index, normal(3, 20), normal(50, 3))


@pytest.mark.parametrize("width", [1, 5, 48])
@pytest.mark.parametrize("combine", ["", "add"])
def test_what_meets_at_one_place_is_taken_in_order(combine: str, width: int) -> None:
    target = at(2, 0, 1, indices=((0, width, 6),))
    ops = [Load(at(0, 1, 0), INT64), Load(at(1, width, 1), F4), Store(target, 1, combine)]
    index = np.array([0, 5, 0, -1, 2, 0, 2, 2, 5, 5, 5, 1] * 3)
    k = kernel((36, width), 2, ops, buffers=[INT64, F4, F4])
    check(k, index, normal(36, width), normal(6, width), tolerance=1e-5)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("size", [1, 7, 8, 9, 16, 17, 32, 33])
@pytest.mark.parametrize("dtype", [F4, F8])
def test_elements_of_a_short_table_are_taken_as_those_of_a_long_one(
    dtype: np.dtype, size: int, width: int
) -> None:
    source = at(1, 0, offset=3, indices=((0, 1, size),))
    ops = [Load(at(0, 1), INT64), Load(source, dtype), Apply("negative", (1,), dtype)]
    made = kernel((301,), 1, [*ops, Store(at(2, 1), 2)], buffers=[INT64, dtype, dtype])
    index = np.random.default_rng(0).integers(-size - 1, size + 1, 301)
    table = normal(size + 3, dtype=dtype)
    table[-1] = np.inf
    out = check(made, index, table, normal(301, dtype=dtype), width=width)
    inside = np.where((index < -size) | (index >= size), 0, index % size)
    np.testing.assert_array_equal(out, -table[3:][inside])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("count", [3, 100, 5003])
@pytest.mark.parametrize("size", [1, 7, 64, 65])
@pytest.mark.parametrize("dtype", [F4, F8, INT64])
def test_what_meets_at_few_places_is_added_onto_what_is_there(
    dtype: np.dtype, size: int, count: int, width: int
) -> None:
    # Of few places each lane has a copy.
    target = at(2, 0, offset=2, indices=((0, 1, size),))
    ops = [Load(at(0, 1), INT64), Load(at(1, 1), dtype), Apply("multiply", (1, 1), dtype)]
    store = Store(target, 2, "add", onto=True)
    made = kernel((count,), 1, [*ops, store], buffers=[INT64, dtype, dtype])
    random = np.random.default_rng(0)
    index, given = random.integers(-size, size, count), random.integers(0, 9, count).astype(dtype)
    onto = random.integers(0, 9, size + 3).astype(dtype)
    known = onto.copy()
    np.add.at(known, index % size + 2, given * given)
    out = check(made, index, given, onto, width=width)
    np.testing.assert_array_equal(out, known)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("first", "second"), [(0, 7), (9, 2), (0, 5), (3, 3)])
def test_places_of_one_buffer_have_copies_where_no_others_lie_among_them(
    first: int, second: int, width: int
) -> None:
    # As two rows of a gradient are, which a kernel adds to: no copies were made of either.
    places = [at(2, 0, offset=k, indices=((0, 1, 7),)) for k in (first, second)]
    ops = [Load(at(0, 1), INT64), Load(at(1, 1), F8), Apply("negative", (1,), F8)]
    stores = [Store(place, 1 + k, "add", onto=True) for k, place in enumerate(places)]
    made = kernel((1003,), 1, [*ops, *stores], buffers=[INT64, F8, F8])
    random = np.random.default_rng(0)
    index, given = random.integers(-7, 7, 1003), random.integers(0, 9, 1003) / 4
    known = np.zeros(16)
    np.add.at(known, index % 7 + first, given)
    np.add.at(known, index % 7 + second, -given)
    out = check(made, index, given, np.zeros(16), width=width)
    np.testing.assert_array_equal(out, known)
    apart = abs(first - second) >= 7
    nest = arrange(made, 64)
    copied = [count_of_copies(nest, op) for op in nest.operations if isinstance(op, Store)]
    assert copied == ([7, 7] if apart or first == second else [0, 0])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("row", [(2,), (3, 2), (3, 3), (7,)])
@pytest.mark.parametrize("size", [3, 9, 70])
def test_what_short_rows_add_at_computed_places_is_taken_many_rows_at_once(
    size: int, row: tuple[int, ...], width: int
) -> None:
    # As the gradient of a row of a table does. The loops kept their order, as if the last number
    # had to stay: vectors had as many lanes as the row is long.
    n, each = 50, int(np.prod(row))
    strides = [each, *(int(np.prod(row[k + 1 :])) for k in range(len(row)))]
    still = [0] * len(strides)
    ops = [Load(at(0, *strides), INT64), Load(at(1, *strides), F8)]
    store = Store(at(2, *still, indices=((0, 1, size),)), 1, "add", onto=True)
    made = kernel((n, *row), 1 + len(row), [*ops, store], buffers=[INT64, F8, F8])
    random = np.random.default_rng(0)
    index = random.integers(-size, size, n * each)
    given, onto = normal(n * each, dtype=F8), normal(size, dtype=F8)
    known = onto.copy()
    np.add.at(known, index % size, given)
    np.testing.assert_allclose(check(made, index, given, onto, width=width), known, atol=1e-12)
    assert arrange(made, 64).lanes == 8


# ---- reductions ----------------------------------------------------------------------------


@pytest.mark.crossed
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("shape", [(1, 1), (3, 10), (64, 10), (4, 64), (7, 100), (2, 5000)])
@pytest.mark.parametrize("name", ["add", "maximum", "minimum", "argmax", "argmin"])
def test_reductions_of_rows_and_of_columns(name: str, shape: Any, width: int) -> None:
    m, n = shape
    dtype = INT64 if name.startswith("arg") else F4
    x = np.round(normal(m, n), 1)
    for strides in ((n, 1), (1, m)):
        ops = [Load(at(0, *strides), F4), Reduce(name, 0, dtype), Store(at(1, 1, 0), 1)]
        k = kernel(shape, 1, ops, buffers=[F4, dtype])
        check(k, x, np.zeros(m, dtype), tolerance=1e-4, width=width)


@pytest.mark.parametrize("n", [5, 40, 300])
def test_nan_goes_through_extrema_and_is_their_place(n: int) -> None:
    names = ["maximum", "minimum", "argmax", "argmin"]
    dtypes = [F4, F4, INT64, INT64]
    reduces = [Reduce(name, 0, d) for name, d in zip(names, dtypes, strict=True)]
    stores = [Store(at(k, 1, 0), k) for k in range(1, 5)]
    k = kernel((4, n), 1, [Load(at(0, n, 1), F4), *reduces], stores, buffers=[F4, *dtypes])
    x = normal(4, n)
    x[0, n // 2] = x[1, n - 1] = x[1, n - 2] = x[2, 0] = np.nan
    x[3] = -np.inf
    check(k, x, *(np.zeros(4, d) for d in dtypes))


def test_reductions_of_bools_and_integers() -> None:
    ops: list[Operation] = [Load(at(0, 50, 1), BOOL), Load(at(1, 50, 1), INT32)]
    reduces = [Reduce("logical_or", 0, BOOL), Reduce("logical_and", 0, BOOL)]
    reduces += [Reduce("add", 1, INT32), Reduce("multiply", 1, INT32), Reduce("maximum", 1, INT32)]
    stores = [Store(at(k, 1, 0), k) for k in range(2, 7)]
    k = kernel(
        (3, 50), 1, [*ops, *reduces], stores, buffers=[BOOL, INT32, BOOL, BOOL] + [INT32] * 3
    )
    bits = np.zeros((3, 50), bool)
    bits[1, 30], bits[2] = True, True
    numbers = (normal(3, 50) * 9).astype(INT32) | 1
    outs = [np.zeros(3, bool), np.zeros(3, bool), *(np.zeros(3, INT32) for _ in range(3))]
    check(k, bits, numbers, *outs)


def test_a_long_sum_does_not_gather_error() -> None:
    n = 3_000_000
    ops = [Load(at(0, 1), F4), Reduce("add", 0, F4), Store(at(1, 0), 1)]
    x = np.full(n, 0.1, F4)
    out = np.zeros(1, F4)
    compiled(kernel((n,), 0, ops, buffers=[F4, F4]))(x, out)
    np.testing.assert_allclose(out[0], np.float64(F4.type(0.1)) * n, rtol=1e-6)


# Sums over bands of rows: of 8, of 10, of 16, and where the number of rows allows none.
BANDS = [(1000, 50), (20, 300), (16400, 33), (97, 100)]


@pytest.mark.parametrize("shape", [(3, 10), (64, 10), *BANDS, (0, 5)])
def test_sums_over_the_outer_loop(shape: tuple[int, int]) -> None:
    m, n = shape
    ops: list[Operation] = [
        Load(at(0, n, 1), F4),
        Const(0.0, F4),
        Apply("maximum", (0, 1), F4),
        Store(at(1, n, 1), 2),
        Store(at(2, 0, 1), 2, "add"),
        Store(at(3, 0, 0), 0, "add"),
    ]
    x = normal(m, n)
    check(kernel(shape, 1, ops, buffers=[F4] * 4), x, x + 1, normal(n), normal(1), tolerance=1e-4)


def test_sums_of_tall_columns_beside_their_elements_gather_little_error() -> None:
    m, n = 1 << 17, 33
    ops = [Load(at(0, n, 1), F4), Store(at(1, n, 1), 0), Store(at(2, 0, 1), 0, "add")]
    x = np.full((m, n), 0.1, F4)
    out = np.zeros(n, F4)
    compiled(kernel((m, n), 1, ops, buffers=[F4] * 3))(x, np.empty_like(x), out)
    # One after the other in float32 they are wrong by 1e-3.
    np.testing.assert_allclose(out, np.float64(F4.type(0.1)) * m, rtol=2e-4)


@pytest.mark.parametrize("strides", [(0, 1), (0, 0), (70, 1)])
def test_sums_onto_what_is_there(strides: tuple[int, int]) -> None:
    ops = [Load(at(0, 70, 1), F4), Store(at(1, *strides), 0, "add", onto=True)]
    k = kernel((30, 70), 2, ops, buffers=[F4, F4])
    check(k, normal(30, 70), normal(30, 70) + 5, tolerance=1e-4)


@pytest.mark.parametrize("extents", [(2, 2), (12, 5), (4, 6, 5)])
def test_what_is_the_same_for_two_rows_is_added_for_each(extents: tuple[int, ...]) -> None:
    # Rows were written out in pairs, and what did not depend on them was added once for both.
    still = [0] * len(extents)
    ops = [Load(at(0, *still), F4), Store(at(1, *still), 0, "add", onto=True)]
    k = kernel(extents, len(extents) - 1, ops, buffers=[F4, F4])
    check(k, normal(1), normal(1) + 5, tolerance=1e-4)


def test_empty_rows_have_the_sum_zero() -> None:
    ops = [Load(at(0, 1, 1), F4), Reduce("add", 0, F4), Store(at(1, 1, 0), 1)]
    assert not check(kernel((6, 0), 1, ops, buffers=[F4, F4]), normal(1), normal(6)).any()


def softmax(m: int, n: int) -> Kernel:
    return kernel(
        (m, n),
        1,
        [Load(at(0, n, 1), F4), Reduce("maximum", 0, F4)],
        [Apply("subtract", (0, 1), F4), Apply("exp", (2,), F4), Reduce("add", 3, F4)],
        [Apply("divide", (3, 4), F4), Store(at(1, n, 1), 5)],
        buffers=[F4, F4],
    )


# The longest row is more than its buffer may hold.
@pytest.mark.parametrize("shape", [(1, 1), (64, 10), (5, 64), (3, 1000), (2, 40000)])
def test_softmax(shape: tuple[int, int]) -> None:
    check(softmax(*shape), normal(*shape), normal(*shape))
    x = normal(*shape)
    check(softmax(*shape), x, x)  # in place


@pytest.mark.parametrize("shape", [(5, 3), (5, 128), (2, 1000)])
def test_layer_norm_with_its_statistics(shape: tuple[int, int]) -> None:
    m, n = shape
    k = kernel(
        shape,
        1,
        [
            Load(at(0, n, 1), F4),
            Reduce("add", 0, F4),
            Const(1 / n, F4),
            Apply("multiply", (1, 2), F4),
            Store(at(4, 1, 0), 3),
        ],
        [Apply("subtract", (0, 3), F4), Apply("square", (5,), F4), Reduce("add", 6, F4)],
        [
            Apply("multiply", (7, 2), F4),
            Const(1e-5, F4),
            Apply("add", (8, 9), F4),
            Apply("sqrt", (10,), F4),
            Apply("divide", (5, 11), F4),
            Load(at(1, 0, 1), F4),
            Load(at(2, 0, 1), F4),
            Apply("multiply", (12, 13), F4),
            Apply("add", (15, 14), F4),
            Store(at(3, n, 1), 16),
        ],
        buffers=[F4] * 5,
    )
    check(k, normal(m, n), normal(n), normal(n), normal(m, n), normal(m), tolerance=1e-4)


def test_row_and_column_sums_at_once() -> None:
    ops: list[Operation] = [Load(at(0, 70, 1), F4), Reduce("maximum", 0, F4)]
    later: list[Operation] = [
        Apply("subtract", (0, 1), F4),
        Store(at(1, 0, 1), 2, "add"),
        Store(at(2, 0, 0), 1, "maximum"),
    ]
    k = kernel((30, 70), 1, ops, later, buffers=[F4] * 3)
    check(k, normal(30, 70), normal(70), normal(1), tolerance=1e-4)


# ---- at random -----------------------------------------------------------------------------


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(kernels())
def test_random_kernels(case: tuple[Kernel, list[np.ndarray]]) -> None:
    k, arrays = case
    got, want = copies(arrays), copies(arrays)
    interpret(k, want)
    compiled(k)(*got)
    tolerance = 2e-2 if F2 in k.buffers else 1e-4
    for mine, theirs in zip(got, want, strict=True):
        np.testing.assert_allclose(
            mine.astype(F8), theirs.astype(F8), rtol=tolerance, atol=tolerance
        )


# ---- the function --------------------------------------------------------------------------


def test_equal_kernels_are_one_function_and_text_is_the_same() -> None:
    modules = [ir.Module("one"), ir.Module("one")]
    for module in modules:
        assert define(module, softmax(3, 20)) is define(module, softmax(3, 20))
        assert define(module, softmax(3, 21)) is not define(module, softmax(3, 20))
    assert str(modules[0]) == str(modules[1])


def test_what_has_no_loops_is_refused_without_a_trace() -> None:
    module = ir.Module("one")
    with pytest.raises(Unsupported, match=r"sin of complex64 has no loops"):
        define(module, line(5, "sin", 1, np.dtype("c8"), np.dtype("c8")))
    assert "loops." not in str(module)
    assert not supported("sin", (np.dtype("c8"),))
    assert not supported("add", (np.dtype("longdouble"),) * 2)
    assert not supported("add", (np.dtype("U3"),) * 2)
    assert supported("tanh", (F4,))
    assert supported("where", (BOOL, F4, F4))
