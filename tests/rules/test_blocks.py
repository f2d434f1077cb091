"""Large plain arrays take other ways to the same numbers: they are the formulas' own."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from types import FunctionType

import numpy as np
import pytest
from scipy import special

import wengert as wg
from tests.rules.calls import completed, listed, places, with_arrays
from tests.rules.samples import SAMPLES
from wengert.autograd.differentiate import grad
from wengert.autograd.plan import plan_of
from wengert.autograd.record import recorder
from wengert.compile.call import by_blocks as machine
from wengert.rules import RULES, blocks, convolution, indexing, neural, normalization, reductions
from wengert.rules.blocks import (
    at_once,
    by_rows,
    by_samples,
    each_line,
    each_row,
    rows_and_sums,
    sum_of_rows,
)
from wengert.rules.quick import QUICK
from wengert.rules.rule import pull
from wengert.tensor import wrap

LARGE = (300, 301)  # several blocks, the last of them not a whole one


@pytest.fixture
def runs(monkeypatch):
    """The functions that ran as machine code."""
    seen = []
    run = blocks.MACHINE.run
    monkeypatch.setattr(blocks.MACHINE, "run", lambda f, *rest: seen.append(f) or run(f, *rest))
    return seen


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_formula_at_once_is_the_formula(dtype, runs):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, *LARGE)).astype(dtype)
    formula = lambda x, y: 2 * x * x + y
    out = at_once(formula)(x, y)
    assert (out.dtype, out.shape, runs) == (dtype, LARGE, [formula])
    np.testing.assert_allclose(out, formula(x, y), rtol=1e-6, atol=1e-6)


def test_what_does_not_fit_together_is_left_to_the_formula(runs):
    x = np.ones(LARGE)
    add = at_once(lambda x, y: x + y)
    for y in (np.ones(LARGE[1]), np.ones(LARGE, np.float32), np.ones(LARGE, complex)):
        assert np.array_equal(add(x, y), x + y)
    assert not runs


def test_what_was_computed_before_does_not_say_how_another_call_is():
    # Builtin functions look at their arguments themselves: at dtypes, shapes, order and settings.
    def formula(x, y, n, word):
        return n * x + y if word == "sum" else n * x - y

    add, rng = at_once(formula), np.random.default_rng(0)
    for n, word in [(2.0, "sum"), (2.0, "difference"), (2, "sum"), (-0.0, "sum"), (0.0, "sum")]:
        for shape in [(120, 120), LARGE, (14400,), (9, 12), (3, 4), (), (0, 5)]:
            for dtype in (np.float32, np.float64, np.float16):
                x, y = rng.standard_normal((2, *shape)).astype(dtype)
                one = y.sum(keepdims=True).ravel()
                for a, b in [(x, y), (x.T, y.T), (x, one), (x, 2.0), (x, y.astype("f"))]:
                    for _ in range(2):
                        found, expected = add(a, b, n, word), formula(a, b, n, word)
                        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
                        assert np.array_equal(found, expected)
                        assert np.array_equal(np.signbit(found), np.signbit(expected))


def test_errors_that_a_program_asks_for_are_raised_of_what_has_code():
    divide = at_once(lambda x, y: 2 * x / y)
    x = np.ones(LARGE)
    divide(x, x)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        divide(x, 0 * x)


def test_what_has_code_is_freed():
    x = np.ones(LARGE)
    double = at_once(lambda x: 2 * x)
    double(x)
    before = sys.getrefcount(x)
    seen = weakref.ref(double(x))
    assert (seen(), sys.getrefcount(x)) == (None, before)


def test_any_order_in_memory_will_do():
    x = np.random.default_rng(0).standard_normal(LARGE)
    double = at_once(lambda x: 2 * x)
    for view in (x.T, x[:, ::-1], np.broadcast_to(x[:, :1], LARGE)):
        assert np.array_equal(double(view), 2 * view)


def test_samples_may_have_several_results_and_share_arrays():
    x, w = np.arange(24.0).reshape(4, 2, 3), np.array([[1.0], [2.0]])
    sums, scaled = by_samples(lambda x, w: (np.sum(x, axis=2), x * w), [x], [w])
    assert np.array_equal(sums, x.sum(2))
    assert np.array_equal(scaled, x * w)


def test_code_is_made_once_for_any_number_of_rows(monkeypatch):
    made = []
    inside = machine.Blocks.__init__
    monkeypatch.setattr(
        machine.Blocks, "__init__", lambda self, *call: made.append(call) or inside(self, *call)
    )
    twice = lambda x: x + x
    for count in (200, 300, 1000):
        x = np.random.default_rng(0).standard_normal((count, 300))
        assert np.array_equal(by_rows(twice, 300, [x]), 2 * x)
    assert len(made) == 1


def test_rows_of_ever_new_lengths_are_left_to_numpy(monkeypatch):
    monkeypatch.setattr(machine, "LIMIT", 0)
    monkeypatch.setattr(machine, "_made", {})
    rng = np.random.default_rng(0)
    x = wg.tensor(rng.standard_normal((300, 301)), requires_grad=True)
    w, b = (wg.tensor(rng.standard_normal(301), requires_grad=True) for _ in range(2))

    def results():
        y = wg.nn.functional.layer_norm(x, (301,), w, b).softmax(-1).cumsum(-1)
        return y, *wg.autograd.grad((y * y).sum(), [x, w, b])

    found = results()
    assert not any(machine._made.values())
    monkeypatch.setattr(machine, "LIMIT", 32)
    for ours, theirs in zip(found, results(), strict=True):
        np.testing.assert_allclose(ours.detach(), theirs.detach(), rtol=1e-9, atol=1e-12)
    assert any(machine._made.values())


def test_without_the_compiler_functions_run_step_by_step(monkeypatch):
    monkeypatch.delattr(blocks.MACHINE, "run")
    x = np.random.default_rng(0).standard_normal(LARGE)
    assert np.array_equal(by_rows(lambda x: x + x, LARGE[1], [x]), 2 * x)


@pytest.mark.parametrize("compiled", [True, False])
def test_blocks_in_turn_read_what_those_before_them_wrote(compiled, monkeypatch):
    if not compiled:
        monkeypatch.delattr(blocks.MACHINE, "in_turn")
    x = np.ones((4, 3))
    blocks.MACHINE.in_turn([x[1:]], lambda x: (2 * x,), 1, [x[:-1]], [], [0, 1, 2])
    assert x[:, 0].tolist() == [1, 2, 4, 8]


def test_importing_the_package_does_not_load_the_library_of_the_compiler():
    code = "import sys, wengert; print('llvmlite' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


@pytest.mark.parametrize("count", [218, 300, 1001])
def test_sums_of_rows_count_each_row_once(count):
    x = np.random.default_rng(0).standard_normal((count, 301))
    w = np.arange(301.0)
    found = sum_of_rows(lambda x, w: x * w, [x], [w])
    np.testing.assert_allclose(found, (x * w).sum(0), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("count", [218, 300, 1001])
def test_rows_come_with_sums_of_others(count):
    x = np.random.default_rng(0).standard_normal((count, 301))
    w = np.arange(301.0)
    rows, sums, squares = rows_and_sums(lambda x, w: (x + w, x * w, x * x), [x], [w])
    assert np.array_equal(rows, x + w)
    np.testing.assert_allclose(sums, (x * w).sum(0), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(squares, (x * x).sum(0), rtol=1e-10)


def test_threads_share_code():
    x = np.random.default_rng(0).standard_normal((1000, 300))
    expected, wrong = reductions.softmax(x, -1), []

    def run():
        for _ in range(20):
            if not np.array_equal(reductions.softmax(x, -1), expected):
                wrong.append(1)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


TOGETHER = [rule for rule in RULES.values() if rule.together is not None]


@pytest.mark.parametrize("rule", TOGETHER, ids=str)
@pytest.mark.parametrize("count", [218, 300])  # whole blocks, and some rows more
def test_what_is_pulled_together_is_what_is_pulled_one_by_one(rule, count, runs):
    rng = np.random.default_rng(0)
    x, g = rng.standard_normal((2, count, 301))
    call = rule.bind(x, *rng.standard_normal((len(rule.reverse) - 1, 301)), 1e-5)
    tensors = {name: wrap(call[name]).requires_grad_() for name in rule.reverse}
    apply = recorder(rule.function)
    y = apply(*{**call, **tensors}.values())
    runs.clear()
    found = grad([y], [*tensors.values()], [wrap(g)])
    assert len(runs) == 1
    for together, (name, tensor) in zip(found, tensors.items(), strict=True):
        (alone,) = grad([apply(*{**call, name: tensor}.values())], [tensor], [wrap(g)])
        for other in (alone.detach(), pull(rule, name, g, call, None)):
            np.testing.assert_allclose(together.detach(), other, rtol=1e-9, atol=1e-9)


# ---- the functions that run so -------------------------------------------------------------

FUNCTIONS = [
    *[function for function, rule in RULES.items() if rule.formulas],
    np.cumsum,
    normalization.standardize,
    normalization.scaled,
    normalization.layer_norm,
    normalization.scaled_channels,
    convolution.convolution,
    convolution.convolution_input,
    convolution.convolution_weight,
]


def values_and_gradients(rule, call):
    tensors = [wrap(place.of(call)).requires_grad_() for place in places(rule, call)]
    results = listed(recorder(rule.function)(*with_arrays(rule, call, tensors).values()))
    cotangents = [wrap(np.cos(np.arange(y.numel())).reshape(y.shape)) for y in results]
    return [x.detach().numpy() for x in (*results, *grad(results, tensors, cotangents))]


def look_again(monkeypatch, least):
    """Enter no code without Python: what an earlier test has let in knows how many are many."""
    frozen = gc.get_freeze_count()
    gc.unfreeze()  # what is frozen is not among them
    everything = gc.get_objects()
    if frozen:
        gc.freeze()
    for code in everything:
        if type(code) is FunctionType and code.__qualname__ == "at_once.<locals>.code":
            cells = dict(zip(code.__code__.co_freevars, code.__closure__, strict=True))
            look = cells["look"].cell_contents
            monkeypatch.setattr(cells["quickly"], "cell_contents", look)
            monkeypatch.setattr(cells["least"], "cell_contents", least)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_few_numbers_and_many_give_the_same(function, runs, monkeypatch):
    rule = RULES[function]
    calls = [completed(rule, call) for call in SAMPLES[function]]
    calls = [c for c in calls if all(x.of(c).dtype == float for x in places(rule, c))]
    expected = [values_and_gradients(rule, call) for call in calls]
    assert not runs
    for name, size in {"BLOCK": 4, "SEVERAL": 4, "FEW": 3}.items():
        monkeypatch.setattr(blocks, name, size)
    look_again(monkeypatch, 4)
    monkeypatch.setattr(convolution, "ENOUGH", 1)
    for call, before in zip(calls, expected, strict=True):
        for ours, theirs in zip(values_and_gradients(rule, call), before, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)
    plan = plan_of(rule)
    assert runs or not (plan.blocks or plan.fused or rule.family == "general")


def _standardized(x, weight, bias, eps):
    away = x - np.mean(x, axis=-1, keepdims=True)
    return away / np.sqrt(np.mean(away * away, axis=-1, keepdims=True) + eps) * weight + bias


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_each_row_is_what_the_function_makes_of_it(dtype):
    # Of one row and of many, short and long, in order and not, and with what all of them share.
    entered = each_row(_standardized, shared=2), each_row(np.sum, reduces=True)
    rng = np.random.default_rng(0)
    for shape in [
        (10, 10),
        (3, 5, 10),
        (64,),
        (2, 40),
        (1, 5000),
        (900, 40),
        (40, 1),
        (3, 4),
        (0, 9),
    ]:
        x, (w, b) = rng.standard_normal(shape), rng.standard_normal((2, shape[-1]))
        x, w, b = (a.astype(dtype) for a in (x, w, b))
        for given in (x, np.asfortranarray(x), x[..., ::-1]):
            for call in ((given, w, b, 1e-5), (given, w, b, 0.5), (given, w, w[:1], 0.5)):
                found, expected = entered[0](*call), _standardized(*call)
                assert (found.dtype, found.shape) == (dtype, shape)
                np.testing.assert_allclose(found, expected, rtol=1e-3, atol=2e-4)
            found = entered[1](given, -1)
            assert (found.dtype, found.shape) == (dtype, shape[:-1])
            np.testing.assert_allclose(found, given.sum(-1), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_are_what_the_function_makes_of_them(dtype):
    # Of one matrix and of many, small and large, with and without room for what is in between.
    softmax = reductions.softmax.body.formula
    entered = each_row(softmax, ndim=2)
    reduced = {f: each_line(f) for f in (np.sum, np.max, np.prod, np.var)}
    rng = np.random.default_rng(0)
    for shape in [
        (10, 10),
        (7, 5, 10),
        (1, 300, 90),
        (300, 200),
        (40, 1),
        (1, 200),
        (3, 4),
    ]:
        x = rng.uniform(0.9, 1.1, shape).astype(dtype)
        for given in (x, np.asfortranarray(x), x[..., ::-1]):
            for _ in range(2):
                found, expected = entered(given, -2), softmax(given, -2)
                assert (found.dtype, found.shape) == (dtype, shape)
                np.testing.assert_allclose(found, expected, rtol=1e-5)
        for function, of_lines in reduced.items():
            for axis in range(-x.ndim, x.ndim):
                for kept in (False, True):
                    found = of_lines(x, axis, kept)
                    expected = function(x, axis=axis, keepdims=kept)
                    assert (found.dtype, found.shape) == (dtype, expected.shape)
                    np.testing.assert_allclose(found, expected, rtol=3e-4)


def test_rows_of_ever_new_lengths_are_left_to_the_formula(monkeypatch):
    made = []
    inside = machine.Blocks.__init__
    monkeypatch.setattr(
        machine.Blocks, "__init__", lambda self, *call: made.append(call) or inside(self, *call)
    )
    total = each_row(np.sum, reduces=True)
    for length in range(50, 100):
        assert np.array_equal(total(np.ones((2, length)), -1), [length, length])
    assert len(made) < 20


def test_settings_that_are_equal_and_not_the_same_have_code_of_their_own():
    x = np.ones(LARGE)
    signed = at_once(lambda x, zero: np.copysign(x, zero * x))
    assert [signed(x, zero)[0, 0] for zero in (0.0, -0.0)] == [1, -1]


INDICES = {
    "rows": ([3, -1, 3],),
    "columns": (slice(None), [0, 2, -40]),
    "places": ([[0, 1], [0, 1]], [[5], [-1]]),
    "in the middle": (slice(None), [1, 1], [0, -1]),
}


@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES)
def test_many_numbers_are_added_where_few_are(index):
    index = tuple(np.array(p) if isinstance(p, list) else p for p in index)
    shape = (40, 40, 40)
    g = np.random.default_rng(0).normal(size=np.empty(shape)[index].shape)
    expected = np.zeros(shape)
    np.add.at(expected, index, g)
    np.testing.assert_allclose(indexing.add_at(g, index, shape), expected, atol=1e-15)


@pytest.mark.parametrize("groups", [1, 2])
def test_convolutions_of_many_samples_are_those_of_few(groups, runs):
    random = np.random.default_rng(0)
    shapes = (149, 4, 20, 20), (8, 4 // groups, 3, 3), (8,)
    x, weight, bias = (wg.tensor(random.normal(size=s), requires_grad=True) for s in shapes)

    def results(x):
        y = wg.nn.functional.conv2d(x, weight, bias, stride=2, padding=1, groups=groups)
        return y, *wg.autograd.grad((y * y * y).sum(), [x, weight, bias])

    parts = zip(*map(results, x.split(1)), strict=True)
    assert not runs
    found = results(x)
    assert len(runs) == 3
    y, x_grad, *shared = (wg.stack(part) for part in parts)
    expected = y.squeeze(1), x_grad.squeeze(1), *(g.sum(0) for g in shared)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours.detach(), theirs.detach(), rtol=1e-10, atol=1e-10)


SINGLE_STEPS = {
    np.where: lambda x, y: np.where(x > 0, x, y),
    np.copysign: lambda x, y: np.copysign(x, y),
    **{f: f for f in QUICK if isinstance(f, np.ufunc) and f.nin == 2 and f.nout == 1},
}
del SINGLE_STEPS[np.power], SINGLE_STEPS[np.matmul]
ODD = np.array([0.0, -0.0, 1.5, -1.5, np.inf, -np.inf, np.nan, 7.0, 1e-30])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("function", [*SINGLE_STEPS, np.add, np.divide], ids=lambda f: f.__name__)
def test_single_steps_that_numpy_takes_one_by_one_are_the_same_in_machine_code(function, dtype):
    plain = SINGLE_STEPS.get(function, function)
    with np.errstate(all="ignore"):
        x, y = (np.resize(a, blocks.ENOUGH + 5).astype(dtype) for a in np.meshgrid(ODD, ODD))
        expected = plain(x, y)
        operands = [wg.tensor(x > 0)] if function is np.where else []
        found = recorder(function)(*operands, wg.tensor(x), wg.tensor(y)).numpy()
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=4 * np.finfo(dtype).eps, atol=0)
    zero = (found == 0) & (expected == 0)
    assert np.array_equal(np.signbit(found[zero]), np.signbit(expected[zero]))


def test_the_next_number_of_float16_is_not_one_of_float32_rounded():
    x, y = (wg.tensor(np.array(a, np.float16)) for a in ([1.5, 0.0], [0.0, 1.0]))
    for step in (wg.nextafter, wg.compile(wg.nextafter)):
        assert step(x, y).numpy().tolist() == [1.4990234375, 2.0**-24]


@pytest.mark.parametrize("exponent", [2, 3, 4, -1, -2, 0.5, 3.0])
def test_powers_by_products_are_powers(exponent):
    x = np.array([0.25, 1.5, 3.0])
    found = wg.pow(wg.tensor(x), exponent)
    np.testing.assert_allclose(found.numpy(), x**exponent, rtol=1e-15)


@pytest.mark.parametrize("exponent", [-2, -3, -4])
def test_a_power_below_zero_is_one_of_the_reciprocal_so_that_a_subnormal_one_is_not_lost(exponent):
    x = np.float64(1e-312) ** (1 / exponent) * np.linspace(1, 2, 200)
    found = wg.compile(lambda x: x**exponent)(wg.tensor(x))
    np.testing.assert_allclose(found, x**exponent, rtol=1e-9, atol=1e-322)


# ---- erf of fewer numbers ------------------------------------------------------------------


def test_erf_in_float32_is_within_four_units_in_the_last_place():
    x = np.concatenate([np.logspace(-30, 1, 300_000), np.linspace(0, 6, 300_000)])
    x = np.concatenate([x, -x]).astype(np.float32)
    exact = special.erf(x.astype(np.float64))
    away = np.abs(neural._erf_in_float32(x) - exact) / np.spacing(np.abs(exact.astype(np.float32)))
    assert away.max() <= 4


@pytest.mark.parametrize("char", "?bhilqfdBHIL")
def test_erf_of_one_number_is_as_scipys(char):
    for number in (0, 1, 0.3, -2, np.inf, np.nan):
        if char in "fd" or number in (0, 1):
            x = np.array([number]).astype(char)
            value, known = neural.erf(x), special.erf(x)
            assert (value.dtype, value.shape) == (known.dtype, known.shape)
            np.testing.assert_allclose(value, known, rtol=1e-7 if char == "f" else 1e-15)


def test_gelu_does_not_import_scipys_functions():
    # They take 0.2 s, and were asked once what becomes of integers: a tenth of GPT's first call.
    script = (
        "import sys, wengert as wg\n"
        "x, g = wg.ones(4000, requires_grad=True), wg.nn.functional.gelu\n"
        "g(x).sum().backward(); wg.compile(lambda x: g(x))(x)\n"
        "assert 'scipy.special' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.filterwarnings("error")
def test_erf_in_float32_at_its_ends():
    ends = np.array([np.inf, -np.inf, 3e38, -3e38, 0, -0.0, np.nan, 1e-45], np.float32)
    x = np.resize(ends, 1000)
    assert np.array_equal(neural.erf(x), special.erf(x), equal_nan=True)
    assert np.array_equal(np.signbit(neural.erf(x)), np.signbit(special.erf(x)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_numbers_are_clipped_in_place_as_few_are(dtype):
    x = np.random.default_rng(0).normal(size=10_000).astype(dtype)
    x[:4] = np.nan, np.inf, -np.inf, -0.0
    written = wg.tensor(x.copy())
    np.testing.assert_array_equal(written.clamp_(-0.5, 1), np.clip(x, -0.5, 1))
    written = wg.tensor(x.copy())
    np.testing.assert_array_equal(written.relu_(), np.maximum(x, 0))
