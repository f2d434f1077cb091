"""`wg.compile(f, memory=...)`: what fits, what it computes, and what it says if nothing fits."""

import copy
import pickle
import random
import re
import tracemalloc
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.compile.program.budget import bytes_of, held_by, lighter
from wengert.nn import functional as F

WS = [
    wg.tensor(np.random.default_rng(k).normal(size=(8, 8)) / 3, requires_grad=True)
    for k in range(6)
]
X = wg.tensor(np.random.default_rng(6).normal(size=(500, 8)))


def loss(x: Any) -> Any:
    for w in WS:
        x = (x @ w).tanh().sin()
    return (x * x).sum()


def step(x: Any) -> Any:
    return wg.autograd.grad(loss(x), WS)


def same(a: Any, b: Any) -> None:
    for x, y in zip(a, b, strict=True):
        np.testing.assert_allclose(x.numpy(), y.numpy(), rtol=1e-9)


@pytest.mark.parametrize("lasting", [False, True])
@pytest.mark.parametrize("part", [0.8, 0.6, 0.5])
def test_a_lighter_program_computes_the_same_bits(part: float, lasting: bool) -> None:
    compiled = wg.compile(step)
    compiled(X)
    program = compiled.program
    room = int(part * held_by(program))
    made = lighter(program, room, lasting)
    assert made is not None
    made.check()
    assert len(made.statements) > len(program.statements)
    assert held_by(made) <= 1.01 * room  # what is small does not count
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=v.shape) for v in program.inputs]
    for a, b in zip(program.run(arrays), made.run(arrays), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_step_computes_again_what_does_not_fit() -> None:
    free = wg.compile(step)
    expected = free(X)
    most = free.explain().arena
    tight = wg.compile(step, memory=most // 2)
    for _ in range(3):
        same(tight(X), expected)
    memory = tight.explain().memory
    assert tight.explain().arena == memory.peak <= most // 2
    assert memory.again > 0
    assert f"of the {most // 2:,} that it may take" in str(tight.explain())
    roomy = wg.compile(step, memory=most)
    same(roomy(X), expected)
    assert roomy.explain().memory.again == 0


def test_what_is_kept_between_a_call_and_its_derivative_counts() -> None:
    free = wg.compile(loss)
    expected = wg.autograd.grad(free(X), WS)
    most = free.explain().memory.peak
    tight = wg.compile(loss, memory=most * 5 // 6)
    for _ in range(3):
        same(wg.autograd.grad(tight(X), WS), expected)
    assert tight.explain().memory.peak <= most * 5 // 6
    assert len(tight.specializations) == 1


def pushed(f: Any) -> Any:
    return lambda w, v: wg.jvp(wg.grad(f), (w,), (v,))[1]


def swept_twice(f: Any) -> Any:
    return lambda w, v: wg.grad(lambda w: (wg.grad(f)(w) * v).sum())(w)


def by_backward(f: Any) -> Any:
    def product(w: Any, v: Any) -> Any:
        w = wg.tensor(w, requires_grad=True)
        (slope,) = wg.autograd.grad(f(w), w, create_graph=True)
        (slope * v).sum().backward()
        return w.grad.numpy()

    return product


def layers(w: Any) -> Any:
    x = np.ones((300, 3))
    for _ in range(24):
        x = np.tanh(x @ w)
    return (x * x).sum()


@pytest.mark.parametrize("product", [pushed, swept_twice, by_backward])
def test_second_derivatives_compute_again_what_does_not_fit(product: Any) -> None:
    # The least was what they took without a budget, or hardly less: what a first derivative
    # computed again, the second kept of both runs; and tangents were not computed again at all.
    w, v = np.eye(3) * 0.5, np.random.default_rng(8).normal(size=(3, 3))
    for f, part in (scanned, 4), (written_out, 4), (nested, 4), (layers, 1.25):
        free = wg.compile(product(f))
        expected, most = free(w, v), free.explain().arena
        np.testing.assert_allclose(expected, product(f)(w, v), rtol=1e-10)
        tight = wg.compile(product(f), memory=int(most / part))
        for _ in range(2):
            np.testing.assert_allclose(tight(w, v), expected, rtol=1e-10)
        assert tight.explain().arena <= tight.explain().memory.peak <= most / part


def test_a_call_takes_the_memory_that_is_said() -> None:
    def f(w: Any) -> Any:
        step = lambda i, h: np.tanh(h * w + np.sin(h)[::-1])
        return wg.fori_loop(0, 60, step, np.ones_like(w)).sum()

    w = np.linspace(0.5, 1.0, 20_000)
    free = wg.compile(pushed(f))
    expected, most = free(w, w), free.explain().arena
    tight = wg.compile(pushed(f), memory=most // 2)
    tight(w, w)
    tracemalloc.start()
    np.testing.assert_allclose(tight(w, w), expected, rtol=1e-10)  # the arena is made by this call
    _, measured = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert tight.explain().arena < measured < tight.explain().memory.peak + 8 * w.nbytes < most


def test_third_derivatives_of_loops_in_blocks_keep_as_little() -> None:
    def third(w: Any, v: Any) -> Any:
        return wg.grad(lambda w: (swept_twice(scanned)(w, v) * v).sum())(w)

    w, v = np.eye(3) * 0.5, np.random.default_rng(8).normal(size=(3, 3))
    free = wg.compile(third)
    expected, most = free(w, v), free.explain().arena
    tight = wg.compile(third, memory=most // 4)
    np.testing.assert_allclose(tight(w, v), expected, rtol=1e-10)
    assert tight.explain().memory.kinds == 1


def test_random_numbers_are_drawn_once_however_often_they_are_read() -> None:
    def noisy(x: Any) -> Any:
        for w in WS:
            x = F.dropout((x @ w).tanh(), 0.5)
        return wg.autograd.grad((x * x).sum(), WS)

    wg.manual_seed(0)
    expected = noisy(X), wg.rand(3)
    free = wg.compile(noisy)
    free(X)
    tight = wg.compile(noisy, memory=free.explain().arena * 3 // 4)
    for _ in range(2):
        wg.manual_seed(0)
        same(tight(X), expected[0])
        np.testing.assert_array_equal(wg.rand(3).numpy(), expected[1].numpy())


LONG = np.random.default_rng(7).normal(size=(251, 3))


def scanned(w: Any) -> Any:
    return wg.scan(lambda h, x: (np.tanh(h @ w + x), None), np.zeros(3), LONG)[0].sum()


def numbered(w: Any) -> Any:
    return wg.fori_loop(5, 251, lambda i, h: np.tanh(h @ w + LONG[i] * i), np.zeros(3)).sum()


def backwards(w: Any) -> Any:
    step = lambda h, x: (np.tanh(h @ w + x[0]), h.sum() * x[1])
    return wg.scan(step, np.zeros(3), (LONG, np.arange(251.0)), reverse=True)[1].sum()


def written_out(w: Any) -> Any:
    h, total = np.zeros(3), 0.0
    for t in range(250):
        h = np.tanh(h @ w + LONG[t])
        total = total + h.sum()
    return total


def nested(w: Any) -> Any:
    def outer(h: Any, x: Any) -> Any:
        return wg.fori_loop(0, 9, lambda i, h: np.tanh(h @ w + x * i), h), h.sum()

    return wg.scan(outer, np.zeros(3), LONG)[1].sum()


@pytest.mark.parametrize("f", [scanned, numbered, backwards, written_out, nested])
def test_long_loops_are_cut_into_blocks_where_a_budget_asks_for_it(f: Any) -> None:
    # Only straight programs were computed again: of a loop all rows were kept, or nothing fitted.
    w = np.eye(3) * 0.5
    free = wg.compile(wg.grad(f))
    expected, most = free(w), free.explain().arena
    tight = wg.compile(wg.grad(f), memory=most // 2)
    for _ in range(3):
        np.testing.assert_allclose(tight(w), expected, rtol=1e-12)
    memory = tight.explain().memory
    assert memory.kinds == 1
    assert "loops run in blocks of 1 kind" in str(tight.explain())


def test_a_smaller_budget_cuts_blocks_into_blocks() -> None:
    def longer(w: Any) -> Any:
        return wg.fori_loop(0, 5000, lambda i, h: np.tanh(h @ w + i * 1e-3), np.ones(3)).sum()

    w = np.eye(3) * 0.5
    free, tight = wg.compile(wg.grad(longer)), wg.compile(wg.grad(longer), memory=5000)
    np.testing.assert_allclose(tight(w), free(w), rtol=1e-12)
    assert tight.explain().memory.kinds == 2


def test_what_the_body_of_a_loop_works_in_counts() -> None:
    # Only what lies outside of bodies did, so a budget of half as much was said to be met.
    def f(x: Any) -> Any:
        step = lambda i, h: np.tanh(np.cumsum(h)[::-1] * 1e-3 + np.cumsum(x) * i)
        return wg.fori_loop(0, 5, step, x)

    x = np.ones(10_000)
    compiled = wg.compile(f)
    compiled(x)
    assert compiled.explain().arena >= 2 * x.nbytes
    with pytest.raises(MemoryError, match="least that it can do with is"):
        wg.compile(f, memory=x.nbytes)(x)


def test_constants_that_a_program_holds_count() -> None:
    # Nor did they, however large; and the planner made a copy of each.
    def f(x: Any) -> Any:
        return x * np.linspace(0, 1, 10_000)

    x = np.ones(10_000)
    with pytest.raises(MemoryError, match="least that it can do with is 80,000"):
        wg.compile(f, memory=50_000)(x)
    compiled = wg.compile(f, memory=80_000)
    np.testing.assert_array_equal(compiled(x), f(x))
    (held,) = compiled.program.constants.values()
    assert any(held is c for c in compiled._latest().forward.plan.constants)


def test_a_loop_in_blocks_is_differentiated_later_too() -> None:
    w = wg.tensor(np.eye(3) * 0.5, requires_grad=True)
    free, tight = wg.compile(scanned), wg.compile(scanned, memory=3000)
    expected = wg.autograd.grad(free(w), w)
    assert free.explain().memory.peak > 6000
    for _ in range(3):
        same(wg.autograd.grad(tight(w), w), expected)
    assert tight.explain().memory.kinds > 0


OWN, NUMPYS, PYTHONS = wg.Generator(), np.random.default_rng(1), random.Random(1)
DRAWS = {
    "default": lambda: wg.rand(90).numpy(),
    "own": lambda: wg.rand(90, generator=OWN).numpy(),
    "NumPy's": lambda: NUMPYS.random(90),
    "NumPy's old": lambda: np.random.rand(90),
    "Python's": lambda: PYTHONS.random(),
}


def seeded() -> None:
    wg.manual_seed(0)
    OWN.manual_seed(0)
    NUMPYS.bit_generator.state = np.random.default_rng(1).bit_generator.state
    np.random.seed(0)
    PYTHONS.seed(0)


@pytest.mark.parametrize("name", DRAWS)
def test_blocks_draw_again_the_numbers_that_they_have_drawn(name: str) -> None:
    # Blocks that drew from wengert's generator were not cut at all; what was drawn from others was
    # drawn anew, so that the derivative was that of a function which nobody had computed.
    draw, rows = DRAWS[name], np.random.default_rng(7).normal(size=(1251, 90))

    def noisy(w: Any) -> Any:
        step = lambda h, x: (np.tanh(h * w + np.sin(x) * draw()), None)
        return wg.scan(step, np.zeros(90), rows)[0].sum()

    def written_out(w: Any) -> Any:
        h = np.zeros(90)
        for t in range(1250):
            h = np.tanh(h * w + np.sin(rows[t]) * draw())
        return h.sum()

    w = np.linspace(0.1, 0.5, 90)
    for f in noisy, written_out:
        seeded()
        expected, following = wg.grad(f)(w), draw()
        free = wg.compile(wg.grad(f))
        free(w)
        tight = wg.compile(wg.grad(f), memory=free.explain().arena // 4)
        for _ in range(3):
            seeded()
            np.testing.assert_allclose(tight(w), expected, rtol=1e-10)
            np.testing.assert_array_equal(draw(), following)
        assert tight.explain().memory.kinds > 0


def test_what_draws_is_differentiated_later_and_twice_within_a_budget() -> None:
    def noisy(w: Any) -> Any:
        step = lambda h, _: (wg.tanh(F.dropout(h, 0.5) * w + 1), None)
        return wg.scan(step, wg.zeros(90, dtype=wg.float64), length=900)[0].sum()

    w = wg.linspace(0.1, 0.5, 90, dtype=wg.float64).requires_grad_()
    twice = lambda w: wg.jvp(wg.grad(noisy), (w.detach(),), (wg.ones_like(w),))[1]
    for f in (lambda w: wg.autograd.grad(noisy(w), w)[0]), twice:
        wg.manual_seed(0)
        expected, following = f(w), wg.rand(3)
        tight = wg.compile(f, memory=120_000)
        for _ in range(3):
            wg.manual_seed(0)
            np.testing.assert_allclose(tight(w).detach(), expected.detach(), rtol=1e-10)
            np.testing.assert_array_equal(wg.rand(3), following)
    later = wg.compile(noisy, memory=120_000)
    for _ in range(3):
        wg.manual_seed(0)
        loss = later(w)
        np.testing.assert_array_equal(wg.rand(3), following)
        np.testing.assert_allclose(
            wg.autograd.grad(loss, w)[0], wg.autograd.grad(_again(noisy, w), w)[0], rtol=1e-10
        )


def _again(f: Any, *args: Any) -> Any:
    """What a function computes with the first random numbers."""
    wg.manual_seed(0)
    return f(*args)


def test_a_budget_that_cannot_be_met_says_the_least_that_can() -> None:
    with pytest.raises(MemoryError, match=r"may take 1,000 bytes .* least that it can do with is"):
        wg.compile(step, memory="1kB")(X)


def test_texts_are_numbers_of_bytes() -> None:
    assert [bytes_of(x) for x in ("200MB", "1.5 KiB", "3g", "7", 5)] == [
        200_000_000, 1536, 3 * 10**9, 7, 5,
    ]  # fmt: skip
    for wrong in ("much", "", "-1MB", 0, -3, 2.5, "0kB", True):
        with pytest.raises(ValueError, match="number of bytes, or a text like '200MB'"):
            wg.compile(step, memory=wrong)


@wg.compile(memory="1MB")
def decorated(x: Any) -> Any:
    return (x * x).sum()


def test_the_budget_goes_along_with_the_function() -> None:
    assert decorated.memory == 10**6
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    f = wg.compile(loss, memory="1GB")
    assert copy.copy(f).memory == 10**9
    assert wg.compile(f) is f
    assert wg.compile(f, memory=5).memory == 5
    module = wg.compile(wg.nn.Linear(8, 8).double(), memory="1MB")
    assert module(X).shape == (500, 8)
    assert module.memory == 10**6


def test_the_mask_of_a_maximum_is_made_again_of_the_maximum():
    # It lay in memory beside the exponentials, as large as they are, since the maximum did not.
    def log_sum_exp(x):
        top = np.max(x)
        return top + np.log(np.sum(np.exp(x - top)))

    slope = wg.compile(wg.grad(log_sum_exp))
    x = np.linspace(0, 1, 400_000)
    assert np.allclose(slope(x), np.exp(x) / np.exp(x).sum(), rtol=1e-12)
    assert slope.explain().arena < 1.1 * x.nbytes


def test_a_loop_of_unknown_length_keeps_fewer_states_where_a_budget_asks_for_it():
    # It kept 64 KB of them, or else nothing fitted; so few that wide states were computed twice.
    def last(w):
        going, step = lambda s: s[0] < 500, lambda s: (s[0] + 1, np.tanh(s[1] * w + 0.1))
        return wg.while_loop(going, step, (0, w))[1].sum()

    w = np.linspace(0.5, 1.0, 200)
    free = wg.compile(wg.grad(last))
    expected, most = free(w), free.explain().arena
    assert most > 500 * w.nbytes
    for budget in (most // 2, 30_000):
        tight = wg.compile(wg.grad(last), memory=budget)
        np.testing.assert_array_equal(tight(w), expected)
        assert tight.explain().memory.peak <= budget
    with pytest.raises(MemoryError, match="least that it can do with is"):
        wg.compile(wg.grad(last), memory=1000)(w)


@pytest.mark.parametrize("n", [0, 1, 2, 7, 40, 100])
def test_a_loop_of_unknown_length_has_room_for_few_states_however_long_it_runs(n):
    # Its derivative took memory for the states of all iterations, whatever the budget.
    def last(w):
        step = lambda s: (s[0] + 1, np.tanh(np.sin(s[1] * w)[::-1] + np.cumsum(s[1]) * 1e-4))
        return wg.while_loop(lambda s: s[0] < n, step, (0, w))[1].sum()

    w = np.linspace(0.5, 1.0, 4000)
    tight = wg.compile(wg.grad(last), memory=15 * w.nbytes)
    for _ in range(2):
        np.testing.assert_allclose(tight(w), wg.grad(last)(w), rtol=1e-10)
    assert tight.explain().memory.peak <= 15 * w.nbytes


def test_second_derivatives_of_a_loop_of_unknown_length_say_what_memory_its_states_take():
    # They said to give more, and did no more with more than 2 MB.
    def slope(w, n):
        going, step = lambda s: s[0] < n, lambda s: (s[0] + 1, np.tanh(s[1] * w))
        run = lambda w: wg.while_loop(going, step, (0, w))[1].sum()
        return wg.grad(lambda w: (wg.grad(run)(w) ** 2).sum())(w)

    w, n = np.linspace(0.5, 1.0, 4000), wg.tensor(3)
    tight = wg.compile(slope, memory=30 * w.nbytes)
    np.testing.assert_allclose(tight(w, n), slope(w, n), rtol=1e-10)
    n = wg.tensor(300)
    told = r"there is room for 4, but the loop ran for 300. Give it more, .*memory=(\d+)\)"
    with pytest.raises(MemoryError, match=told) as error:
        tight(w, n)
    enough = int(re.search(told, str(error.value))[1])
    np.testing.assert_allclose(
        wg.compile(slope, memory=enough)(w, n), slope(w, n), rtol=1e-8, atol=1e-300
    )


def test_third_derivatives_of_a_loop_of_unknown_length_compile_within_a_budget():
    # Two messages of different lengths gave PyErr_SetString two types in one module: TypeError.
    def run(w):
        going, step = lambda s: s[0] < 6, lambda s: (s[0] + 1, np.tanh(s[1] * w))
        return wg.while_loop(going, step, (0, w))[1].sum()

    second = lambda w: wg.grad(lambda w: (wg.grad(run)(w) ** 2).sum())(w)
    third = lambda w: wg.grad(lambda w: (second(w) ** 2).sum())(w)
    w = np.linspace(0.5, 1.0, 50)
    np.testing.assert_allclose(wg.compile(third, memory="1MB")(w), third(w), rtol=1e-9)


def test_working_memory_that_there_is_not_is_told_with_a_cure():
    # NumPy's error told the shape of an array that nobody had made.
    f = wg.compile(wg.grad(lambda x: wg.fori_loop(0, 10**13, lambda _, s: np.sin(s), x).sum()))
    with pytest.raises(MemoryError, match=r"works in [\d,]+ bytes(.|\n)*wg.compile\(f, memory="):
        f(np.ones(300))
