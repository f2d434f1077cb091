"""Long rows: sums of exponentials in one pass, memory fetched ahead and written past the caches."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.compile.kernels import compiled, interpret
from wengert.compile.llvm.machine import host as machine
from wengert.compile.llvm.nests import traffic
from wengert.compile.llvm.nests.phases import Phases
from wengert.compile.llvm.nests.schedule import arrange
from wengert.compile.llvm.nests.traffic import LONG, PAST_CACHES, from_afar, past_caches
from wengert.compile.plan.kernel import Access, Apply, Const, Kernel, Load, Operation, Reduce, Store

F4, F8, BOOL = np.dtype("f4"), np.dtype("f8"), np.dtype(bool)
N = LONG // 4 + 1237  # a row of float32 that is long, and not of whole vectors


def exponential_sums(
    rows: int, n: int, dtype: np.dtype = F4, guarded: bool = False, weighted: bool = False
) -> Kernel:
    """The maximum m of each row of x, and the sum of exp(x - m), times w if weighted."""
    x, w = Access(0, (n, 1)), Access(1, (n, 1))
    ops: list[Operation] = [Load(x, dtype), Reduce("maximum", 0, dtype)]
    shift = 1
    if guarded:
        ops += [Apply("isfinite", (1,), BOOL), Const(0.0, dtype)]
        ops += [Apply("where", (2, 1, 3), dtype)]
        shift = 4
    k = len(ops)  # the second stage loads again, as plans do
    ops += [Load(x, dtype), Apply("subtract", (k, shift), dtype), Apply("exp", (k + 1,), dtype)]
    if weighted:
        ops += [Load(w, dtype), Apply("multiply", (k + 3, k + 2), dtype)]
    ops += [Reduce("add", len(ops) - 1, dtype)]
    ops += [Store(Access(2, (1, 0)), 1), Store(Access(3, (1, 0)), len(ops) - 1)]
    return Kernel((rows, n), 1, (tuple(ops),), (dtype,) * 4, (2, 3))


def is_streamed(kernel: Kernel) -> bool:
    return bool(Phases(arrange(kernel, machine.vector_bytes())).streams)


def row(case: str, n: int) -> np.ndarray:
    x = np.random.default_rng(0).standard_normal(n) * 3
    match case:
        case "rising":
            x.sort()
        case "falling":
            x[::-1].sort()
        case "large":
            x *= 200
        case "-inf first":
            x[: n // 2] = -np.inf
        case "-inf here and there":
            x[::3] = -np.inf
        case "-inf only":
            x[:] = -np.inf
        case "inf":
            x[n // 3] = np.inf
        case "inf twice":
            x[[0, n - 1]] = np.inf
        case "nan":
            x[n // 2] = np.nan
        case "nan first":
            x[0] = np.nan
        case "nan last":
            x[n - 1] = np.nan
        case "nan and inf":
            x[5], x[n // 2] = np.inf, np.nan
        case "large last":
            x[n - 1] = 1e30
    return x


CASES = [
    "any", "rising", "falling", "large", "large last", "-inf first", "-inf here and there",
    "-inf only", "inf", "inf twice", "nan", "nan first", "nan last", "nan and inf",
]  # fmt: skip


@pytest.mark.parametrize("dtype", [F4, F8], ids=str)
@pytest.mark.parametrize("form", ["plain", "guarded", "weighted"])
def test_sums_of_exponentials_in_one_pass_are_those_of_two(form: str, dtype: np.dtype) -> None:
    k = exponential_sums(len(CASES), N, dtype, form == "guarded", form == "weighted")
    assert is_streamed(k)
    x = np.array([row(case, N) for case in CASES], dtype)
    w = np.random.default_rng(1).uniform(-1, 2, x.shape).astype(dtype)
    expected = [x, w, np.zeros(len(CASES), dtype), np.zeros(len(CASES), dtype)]
    found = [a.copy() for a in expected]
    interpret(k, expected)
    compiled(k)(*found)
    np.testing.assert_array_equal(found[2], expected[2])
    np.testing.assert_allclose(found[3], expected[3], rtol=3e-6 if dtype == F4 else 1e-13)


@pytest.mark.parametrize("width", [16, 32, 64])
def test_other_widths_of_vectors(width: int) -> None:
    k = exponential_sums(1, N)
    expected = [row("-inf first", N).astype(F4), np.zeros(1, F4), np.zeros(1, F4), np.zeros(1, F4)]
    found = [a.copy() for a in expected]
    interpret(k, expected)
    compiled(k, width)(*found)
    np.testing.assert_allclose(found[2:], expected[2:], rtol=3e-6)


def test_short_rows_and_other_sums_have_two_passes() -> None:
    assert not is_streamed(exponential_sums(3, 100))
    k = exponential_sums(1, N)
    for old, new in [
        (Apply("exp", (3,), F4), Apply("exp2", (3,), F4)),
        (Apply("exp", (3,), F4), Apply("exp", (2,), F4)),
        (Reduce("maximum", 0, F4), Reduce("minimum", 0, F4)),
        (Reduce("add", 4, F4), Reduce("multiply", 4, F4)),
        (Reduce("add", 4, F4), Reduce("add", 3, F4)),
        (Apply("subtract", (2, 1), F4), Apply("subtract", (1, 2), F4)),
    ]:
        (stage,) = k.stages
        assert old in stage
        changed = tuple(new if op == old else op for op in stage)
        assert not is_streamed(Kernel(k.extents, 1, (changed,), k.buffers, k.written)), new


def test_compiled_functions_of_a_long_row() -> None:
    n = 1 << 18
    x = np.random.default_rng(0).standard_normal(n).astype(F4)
    e = np.exp(x.astype(F8) - x.max())
    functions = {
        "logsumexp": (lambda x: wg.logsumexp(x, 0), np.log(e.sum()) + x.max()),
        "softmax": (lambda x: wg.softmax(x, 0), e / e.sum()),
        "log_softmax": (lambda x: wg.log_softmax(x, 0), np.log(e / e.sum())),
    }
    for name, (f, expected) in functions.items():
        found = wg.compile(f)(wg.tensor(x)).numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-5, err_msg=name)
    assert wg.compile(functions["logsumexp"][0])(wg.full((n,), -np.inf)).item() == -np.inf
    assert wg.compile(functions["logsumexp"][0])(wg.full((n,), np.inf)).item() == np.inf


# ---- writing past the caches ---------------------------------------------------------------


def scaled(rows: int, n: int, pitch: int) -> Kernel:
    ops = (Load(Access(0, (n, 1)), F4), Const(2.0, F4), Apply("multiply", (0, 1), F4))
    ops = (*ops, Store(Access(1, (pitch, 1)), 2))  # type: ignore[assignment]
    return Kernel((rows, n), 2, (ops,), (F4, F4), (1,))


@pytest.mark.parametrize("first", [0, 1, 3, 4])
def test_what_is_written_past_the_caches_may_begin_anywhere(
    monkeypatch: pytest.MonkeyPatch, first: int
) -> None:
    monkeypatch.setattr(traffic, "PAST_CACHES", 4096)
    for rows, n, pitch in [(1, 5003, 5003), (40, 132, 132), (40, 132, 136), (40, 131, 133)]:
        k = scaled(rows, n, pitch)
        at_once = past_caches(arrange(k, machine.vector_bytes()))
        assert bool(at_once) == (pitch != 133)
        x = np.random.default_rng(0).standard_normal((rows, n)).astype(F4)
        memory = np.full(rows * pitch + 8, 7, F4)
        out = memory[first : first + rows * pitch]
        compiled(k)(x, out)
        np.testing.assert_array_equal(out.reshape(rows, pitch)[:, :n], 2 * x)
        assert (out.reshape(rows, pitch)[:, n:] == 7).all()
        assert (memory[:first] == 7).all()
        assert (memory[first + rows * pitch :] == 7).all()


def test_smaller_arrays_are_written_through_the_caches() -> None:
    count = PAST_CACHES // 4
    for n in (count - 1, count):
        assert bool(past_caches(arrange(scaled(1, n, n), 64))) == (n == count)


def test_two_rows_are_not_fetched_ahead_of_little_work_that_writes_past_the_caches() -> None:
    # What was fetched kept the writes waiting: x + y of 40 MB each took a fifth longer.
    n = PAST_CACHES // 4

    def fetched(rows: int, function: str, count: int = n) -> int:
        ops: list[Operation] = [Load(Access(row, (1,)), F4) for row in range(rows)]
        ops += [Apply(function, (row,), F4) for row in range(rows)]
        for row in range(1, rows):
            ops.append(Apply("add", (len(ops) - 1 if row > 1 else rows, rows + row), F4))
        stage = (*ops, Store(Access(rows, (1,)), len(ops) - 1))
        nest = arrange(Kernel((count,), 1, (stage,), (F4,) * (rows + 1), (rows,)), 64)
        return len(from_afar(nest, past=past_caches(nest)))

    assert fetched(2, "negative") == fetched(3, "negative") == 0
    assert fetched(1, "negative") == 1
    assert fetched(2, "exp") == 2
    assert fetched(2, "negative", n - 1) == 2  # which goes through the caches
