"""Statements that have machine code of their own: running sums, sorts, searches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.compile.backend import backend
from wengert.compile.llvm.machine import scratch
from wengert.compile.plan.plan import Call
from wengert.compile.program.operations import check
from wengert.rules.reductions import recurrence

FLOATS = [np.float32, np.float64]
WHOLE = [np.int64, np.int32, np.int16, np.int8, np.uint8, np.uint64]
SHAPES = [
    ((7,), 0), ((1,), 0), ((0,), 0), ((100,), 0), ((3, 0), 1), ((0, 3), 1), ((5, 40), 1),
    ((40, 5), 0), ((33, 70), 0), ((33, 70), -1), ((2, 9, 17), 1), ((3, 4, 5), 0), ((130, 1), 0),
]  # fmt: skip


def numbers(shape: Any, dtype: Any, seed: int = 0) -> np.ndarray:
    """Some of them equal, some not numbers where there is such a thing."""
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        x = rng.choice([*rng.standard_normal(20), 0.0, -0.0, np.inf, -np.inf], shape).astype(dtype)
        x[rng.random(shape) < 0.03] = np.nan
        x[rng.random(shape) < 0.01] = -np.float64(np.nan)
        return x
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True) // rng.choice([1, 16])


def kinds(compiled: Any) -> set[str]:
    """As `explain` tells them, but nothing is measured."""
    forward = compiled._latest().forward
    steps = [step for step in forward.plan.steps if isinstance(step, Call)]
    calls = sum(step.statement.function is not check for step in steps)
    in_python = calls - sum(backend().runs(step) for step in steps)
    return {kind for kind, count in (("python", in_python), ("native", calls - in_python)) if count}


def run(function: Any, *arrays: Any, native: bool = True) -> Any:
    """The result of the compiled function, in which nothing is left to Python."""
    compiled = wg.compile(function)
    result = compiled(*arrays)
    if native:
        assert kinds(compiled) == {"native"}
    return result


def smooth(shape: Any, dtype: Any, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


RUNNING = {
    "cumsum": np.cumsum,
    "cumprod": np.cumprod,
    "maximum": np.maximum.accumulate,
    "minimum": np.minimum.accumulate,
    "logaddexp": np.logaddexp.accumulate,
}


@pytest.mark.crossed
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", RUNNING)
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_running_reductions_are_numpys(name: str, shape: Any, axis: int) -> None:
    for dtype in FLOATS:
        x = smooth(shape, dtype)
        made = run(lambda x: RUNNING[name](x, axis=axis), x)
        expected = RUNNING[name](x, axis=axis)
        assert made.dtype == expected.dtype
        np.testing.assert_allclose(made, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.crossed
@pytest.mark.parametrize("dtype", [*WHOLE, np.bool_])
@pytest.mark.parametrize("name", ["cumsum", "cumprod", "maximum", "minimum"])
def test_running_reductions_of_whole_numbers_are_exact(name: str, dtype: Any) -> None:
    x = numbers((6, 37), np.int64).astype(dtype)
    for axis in (0, 1):
        native = dtype != np.bool_ or name.startswith("cum")
        made = run(lambda x, axis=axis: RUNNING[name](x, axis=axis), x, native=native)
        expected = RUNNING[name](x, axis=axis)
        assert made.dtype == expected.dtype
        np.testing.assert_array_equal(made, expected)


@pytest.mark.parametrize("dtype", FLOATS)
def test_infinities_and_nan_run_on_as_in_numpy(dtype: Any) -> None:
    x = np.array([1, 2, np.inf, 3, -np.inf, 1, np.nan, 2] * 5, dtype)
    zeros = np.array([-0.0, -0.0, 0.0, -0.0], dtype)
    with np.errstate(invalid="ignore"):
        for function in RUNNING.values():
            for part in (x, x[:6], x[3:], x[::-1], zeros):
                for rows in (part, np.stack([part] * 6), np.stack([part] * 6, 1)):
                    made = run(lambda x, function=function: function(x, axis=0), rows)
                    np.testing.assert_allclose(made, function(rows, axis=0), rtol=1e-6)
    signs = run(lambda x: np.cumsum(x, 0), zeros)
    np.testing.assert_array_equal(np.signbit(signs), np.signbit(np.cumsum(zeros, 0)))


def test_a_running_product_is_not_regrouped() -> None:
    # In another order, 0 would meet the product of the others, which overflows.
    x = np.array([0.0, 1e200, 1e200, 1e200])
    np.testing.assert_array_equal(run(lambda x: np.cumprod(x, 0), x), np.zeros(4))
    b = np.full(4, 1e200)
    np.testing.assert_array_equal(
        run(lambda a, b: recurrence(a, b, 0), np.zeros(4), b), np.zeros(4)
    )


def test_any_strides_and_the_flattened_array() -> None:
    x = smooth((6, 20, 9), np.float64)
    cases: list[Any] = [
        lambda x: np.cumsum(x[:, ::-1], 1),
        lambda x: np.cumsum(x[..., ::-2], 2)[..., ::-1],
        lambda x: np.cumprod(np.transpose(x, (2, 0, 1)), 1),
        lambda x: np.cumsum(np.broadcast_to(x[:, :1], x.shape), 1),
        lambda x: np.cumsum(np.broadcast_to(x[..., :1], x.shape), 0),
        lambda x: recurrence(x[:, ::2], np.transpose(x, (0, 1, 2))[:, 1::2], 1),
        lambda x: recurrence(x, x, 0),
        lambda x: np.cumsum(x),
        lambda x: np.cumsum(x[0, :, 0]),
        lambda x: np.cumsum(x[0, 0, 0]),
        lambda x: np.cumsum(x, axis=1, dtype=np.float32),
    ]
    for case in cases:
        made, expected = run(case, x), case(x)
        assert made.shape == expected.shape
        np.testing.assert_allclose(made, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.crossed
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_recurrences_are_those_of_the_loop(shape: Any, axis: int, dtype: Any) -> None:
    a, b = smooth(shape, dtype), smooth(shape, dtype, 1)
    made = run(lambda a, b: recurrence(a, b, axis), a, b)
    np.testing.assert_allclose(made, recurrence(a, b, axis), rtol=1e-3, atol=1e-4)


def test_what_has_no_machine_code_is_called() -> None:
    x = smooth((4, 5), np.float32).astype(np.complex64)
    compiled = wg.compile(lambda x: np.cumsum(x, 1))
    np.testing.assert_allclose(compiled(x), np.cumsum(x, 1), rtol=1e-5)
    assert [line.kind for line in compiled.explain().lines] == ["python"]


def test_a_result_may_go_where_an_argument_lies() -> None:
    x = wg.tensor(smooth((20, 30), np.float32))
    expected = np.cumsum(x.numpy()[::-1], 0)

    @wg.compile
    def accumulate(x: wg.Tensor) -> None:
        x.copy_(wg.cumsum(wg.flip(x, [0]), 0))

    accumulate(x)
    assert {line.kind for line in accumulate.explain().lines} == {"loops", "native"}
    np.testing.assert_allclose(x.numpy(), expected, rtol=1e-5, atol=1e-5)


# ---- sorts --------------------------------------------------------------------------------------


@pytest.mark.crossed
@pytest.mark.parametrize("dtype", [*FLOATS, np.float16, *WHOLE, np.bool_])
@pytest.mark.parametrize("count", [1, 7, 8, 33, 128, 129, 5000])
def test_orders_are_numpys_stable_ones(count: int, dtype: Any) -> None:
    x = numbers((3, count), dtype) if dtype != np.bool_ else numbers((3, count), np.int8) > 0
    made = run(lambda x: np.argsort(x, axis=1, kind="stable"), x)
    np.testing.assert_array_equal(made, np.argsort(x, axis=1, kind="stable"))


@pytest.mark.parametrize("seed", range(12))
def test_orders_of_random_shapes_and_strides(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(0 if seed > 8 else 1, 12, rng.integers(1, 4)))
    axis = int(rng.integers(len(shape)))
    shape = tuple(n * int(rng.choice([1, 15])) if i == axis else n for i, n in enumerate(shape))
    x = numbers(shape, rng.choice([np.float32, np.float64, np.int64]), seed)
    axes = rng.permutation(len(shape)).tolist()

    def order(x: Any) -> Any:
        x = np.transpose(np.flip(x, axis), axes)
        return np.argsort(x, axis=axes.index(axis), kind="stable")

    np.testing.assert_array_equal(run(order, x), order(x))


def test_a_row_whose_digits_are_all_the_same_needs_no_pass() -> None:
    for x in (np.zeros(500), np.arange(500, dtype=np.int64)[::-1].copy(), np.full(500, np.nan)):
        made = run(lambda x: np.argsort(x, kind="stable"), x)
        np.testing.assert_array_equal(made, np.argsort(x, kind="stable"))


@pytest.mark.usefixtures("written_anew")
def test_no_memory_for_a_sort_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    # Asked for so much that there is none: malloc says no.
    real = scratch.Scratch.allocated
    much = scratch.I64(1 << 62)
    monkeypatch.setattr(scratch.Scratch, "allocated", lambda self, size: real(self, much))
    with pytest.raises(MemoryError):
        wg.compile(lambda x: np.argsort(x, kind="stable"))(np.zeros(30000))


@pytest.mark.usefixtures("written_anew")
def test_orders_where_vectors_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    from wengert.compile.llvm.machine import host as machine

    for size in (16, 32):
        monkeypatch.setattr(machine, "vector_bytes", lambda size=size: size)
        for dtype in (np.float32, np.float64, np.uint64):
            x = numbers((4, 30), dtype, size)
            made = run(lambda x: np.argsort(x, kind="stable"), x)
            np.testing.assert_array_equal(made, np.argsort(x, kind="stable"))
            rows = np.where(np.isfinite(x.astype(float)), x, 1)
            made = run(lambda x: np.cumsum(x, axis=1), rows)
            np.testing.assert_allclose(made, np.cumsum(rows, axis=1), rtol=1e-5, atol=1e-5)


# ---- searches -----------------------------------------------------------------------------------


@pytest.mark.crossed
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int32, np.uint8])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 8, 100, 1000])
def test_searches_find_numpys_places(count: int, dtype: Any, side: Any) -> None:
    table = np.sort(numbers(count, dtype))
    sought = np.concatenate([numbers(77, dtype, 1), table])
    made = run(lambda a, v: np.searchsorted(a, v, side), table, sought)
    np.testing.assert_array_equal(made, np.searchsorted(table, sought, side))


def test_searches_with_strides_dtypes_and_scalars() -> None:
    table = np.sort(smooth(40, np.float32))
    x = smooth((5, 6, 7), np.float64)
    cases: list[Any] = [
        lambda a, v: np.searchsorted(a, np.transpose(v)),
        lambda a, v: np.searchsorted(a[::3], v[:, ::-2]),
        lambda a, v: np.searchsorted(-a[::-1], v[0, 0, 0]),
        lambda a, v: np.searchsorted(a, np.broadcast_to(v[:, :1], v.shape)),
        lambda a, v: np.searchsorted(a, a),
    ]
    for case in cases:
        np.testing.assert_array_equal(run(case, table, x), case(table, x))


# ---- as tensors' functions ----------------------------------------------------------------------

BOUNDS = wg.tensor(np.linspace(-1, 1, 7))
FUNCTIONS: dict[str, Any] = {
    "cumsum": lambda x: wg.cumsum(x, 0),
    "cumprod": lambda x: wg.cumprod(x, 1),
    "logcumsumexp": lambda x: wg.logcumsumexp(x, 1),
    "cummax": lambda x: wg.cummax(x, 1),
    "cummin": lambda x: wg.cummin(x, 0),
    "cumulative_trapezoid": lambda x: wg.cumulative_trapezoid(x),
    "flattened": lambda x: np.cumsum(x),
    "prod": lambda x: wg.prod(x, 1) * 2,
    "sort": lambda x: wg.sort(x, 1),
    "descending": lambda x: wg.sort(x, 0, descending=True),
    "msort": wg.msort,
    "topk": lambda x: wg.topk(x, 3),
    "smallest": lambda x: wg.topk(x, 2, largest=False),
    "kthvalue": lambda x: wg.kthvalue(x, 3),
    "median": lambda x: wg.median(x),
    "median along": lambda x: wg.median(x, 1),
    "nanmedian": lambda x: wg.nanmedian(x),
    "quantile": lambda x: wg.quantile(x, 0.3),
    "quantiles": lambda x: wg.quantile(x, wg.tensor([0.2, 0.9], dtype=wg.float64), dim=1),
    "nanquantile": lambda x: wg.nanquantile(x, 0.4, dim=0),
    "np.sort": lambda x: np.sort(x, 1),
}


def first(result: Any) -> Any:
    return result[0] if isinstance(result, tuple) else result


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_and_their_gradients_compile_without_a_call(name: str) -> None:
    function = FUNCTIONS[name]
    x = smooth((6, 11), np.float64)

    def gradient(x: wg.Tensor) -> Any:
        x = x.detach().requires_grad_()
        out = first(function(x))
        (out * wg.cos(out)).sum().backward()
        return x.grad

    for part in (function, gradient):
        compiled = wg.compile(part)
        made, expected = compiled(wg.tensor(x)), part(wg.tensor(x))
        pairs = zip(made, expected, strict=True) if isinstance(made, tuple) else [(made, expected)]
        for a, b in pairs:
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-9, atol=1e-12)
        if part is function and name != "prod":
            assert kinds(compiled) == {"native"}
        else:
            assert "python" not in kinds(compiled)


@pytest.mark.parametrize("right", [False, True])
def test_buckets_and_searches_in_rows(right: bool) -> None:
    x = smooth((4, 9), np.float64)
    x[1, 3], x[2, 0] = np.nan, 1
    cases: list[Any] = [
        lambda x: wg.bucketize(x, BOUNDS, right=right),
        lambda x: wg.searchsorted(BOUNDS, x, right=right, out_int32=True),
        lambda x: wg.searchsorted(wg.sort(x, 1)[0], x, right=right),
    ]
    for case in cases:
        made, expected = run(case, wg.tensor(x)), case(wg.tensor(x))
        assert made.dtype == expected.dtype
        np.testing.assert_array_equal(made.numpy(), expected.numpy())


def test_cummax_takes_the_last_of_equal_elements_and_keeps_nan() -> None:
    x = wg.tensor([[1.0, 3.0, 3.0, 2.0, np.nan, 5.0, np.nan, 1.0]])
    for function in (lambda x: wg.cummax(x, 1), wg.compile(lambda x: wg.cummax(x, 1))):
        values, indices = function(x)
        assert indices.tolist() == [[0, 1, 2, 2, 4, 4, 6, 6]]
        np.testing.assert_array_equal(values.numpy()[0, 4:], np.nan)
