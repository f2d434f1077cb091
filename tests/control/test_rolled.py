"""Long `for` loops of Python's in compiled functions: one statement, or as many as iterations.

Either way a compiled function gives what eager mode gives.
"""

import random

import numpy as np
import pytest

import wengert as wg
from wengert.control.rolled import LONG
from wengert.errors import TracingError

N = LONG + 3
x = np.random.default_rng(0).normal(size=(N, 3))
w = np.random.default_rng(1).normal(size=3) * 0.5

# ---- loops whose iterations are alike ------------------------------------------------------------


def over_rows(x, w):
    h = np.zeros(3)
    for row in x:
        h = np.tanh(h * w + row)
    return h


def over_numbers(x, w):
    h, total = np.zeros(3), 0.0
    for t in range(N):
        h = np.tanh(h * w + x[t] / (t + 1))
        total = total + h.sum() * t
    return total + h


def backwards(x, w):
    h = np.zeros(3)
    for t in range(N - 1, 0, -1):
        h = h * w + x[t] - x[t - 1] + x[-t]
    return h


def variables_read_afterwards(x, w):
    h = np.zeros(3)
    for t, scale in enumerate([2.0, 3.0]):
        for row in x:
            y = np.tanh(h * w + row) * scale
            h = y * 0.5 + t
    return h + y + row


def without_a_beginning(x, w):
    h = None
    for t in range(N):
        h = x[t] if h is None else h * w + x[t]
    return h


def containers(x, w):
    state = {"a": np.zeros(3), "b": [0.0, np.ones(3)]}
    for row in x:
        a, (b, c) = state["a"], state["b"]
        state = {"a": np.tanh(a * w + row), "b": [b + row[0], c * w]}
    return state["a"] + state["b"][0] + state["b"][1]


def comprehensions(x, w):
    hs = [np.zeros(3), np.ones(3)]
    for t in range(N):
        hs = [np.tanh(h * w + x[t]) for h in hs]
    return hs[0] + hs[1]


def exchanged(x, w):
    h = before = np.zeros(3)
    for t in range(N):
        assert h.shape == x[t].shape
        h, before = before * w + x[t], h
    return h - before


def left_out(x, w):
    h = np.zeros(3)
    for t in range(N):
        if x.ndim > 2:
            continue
        h = h * w + x[t]
    else:
        h = h + 1
    return h


def one_in_another(x, w):
    h = np.zeros(3)
    for t in range(N):
        for k in range(LONG):
            h = h * w + x[t] * k
    return h


def with_others_beside(x, w):
    h = np.zeros(3)
    for t, (row, (after, k)) in enumerate(
        zip(x, zip(x[1:], range(N), strict=False), strict=False), 1
    ):
        h = np.tanh(h * w + row * t - after * k)
    return h + t


def around_a_gradient(x, w):
    slope = wg.grad(lambda h: np.sum(np.cos(h * w)))
    h = np.ones(3)
    for row in x:
        h = h - 0.1 * slope(h) + 0.01 * row
    return h


def that_collects(x, w):
    h, seen = np.zeros(3), []
    for t in range(N):
        h = h * w + x[t]
        seen.append(h)
    return np.stack(seen)


def that_counts(x, w):
    h, n = np.zeros(3), 0
    for t in range(N):
        h = h * w + x[t]
        n += 1
    return h * n


def that_counts_elsewhere(x, w):
    h, n = np.zeros(3), 0

    def count():
        nonlocal n
        n += 1

    for t in range(N):
        h = h * w + x[t]
        count()
    return h * n


def that_changes_an_object(x, w):
    class State:
        pass

    state = State()
    state.h = np.zeros(3)
    for t in range(N):
        state.h = state.h * w + x[t]
    return state.h


def that_changes_a_list(x, w):
    h = [np.zeros(3), np.ones(3)]
    for t in range(N):
        for k in range(2):
            h[k] = np.tanh(h[k] * w + x[t])
    return h[0] + h[1]


ALIKE = [
    over_rows, over_numbers, backwards, variables_read_afterwards, without_a_beginning, containers,
    comprehensions, exchanged, left_out, one_in_another, around_a_gradient, with_others_beside,
    that_collects, that_counts, that_counts_elsewhere, that_changes_an_object, that_changes_a_list,
]  # fmt: skip

# ---- loops whose iterations differ ---------------------------------------------------------------


def decided_by_the_number(x, w):
    h = np.zeros(3)
    for t in range(N):
        h = h * w if t % 3 else h + x[t]
    return h


def with_large_numbers(x, w):
    h = np.zeros(3)
    for t in range(N):
        h = h * w + x[t] / 2**t
    return h


def that_ends_early(x, w):
    h = np.zeros(3)
    for t in range(N):
        if t == N - 2:
            break
        h = h * w + x[t]
    return h


def that_goes_through_something_else(x, w):
    h, other = np.zeros(3), iter(range(N))
    for t in range(N):
        h = h * w + x[next(other)] * t
    return h


def with_names(x, w):
    h, rows = np.zeros(3), {f"row{t}": x[t] for t in range(N)}
    for t in range(N):
        h = h * w + rows[f"row{t}"]
    return h


def that_grows(x, w):
    h = np.zeros(1)
    for t in range(N):
        h = np.concatenate([h, x[t] * w])
    return h


def with_a_factor_of_pythons(x, w):
    h, rate = np.zeros(3), 1.0
    for t in range(N):
        h, rate = h * w + x[t] * rate, rate * 0.9
    return h * (1 if rate < 0.5 else 2)


def of_which_a_function_sees_variables(x, w):
    h = np.zeros(3)
    cell = lambda row: np.tanh(h * w + row)
    for t in range(N):
        h = cell(x[t])
    return h


def within_try(x, w):
    h = np.zeros(3)
    try:
        for t in range(N):
            h = h * w if t % 3 else h + x[t]
    except:  # noqa: E722
        return h * 7
    return h


UNLIKE = [
    decided_by_the_number, with_large_numbers, that_ends_early, that_goes_through_something_else,
    with_names, that_grows, with_a_factor_of_pythons, of_which_a_function_sees_variables,
    within_try,
]  # fmt: skip


def check(f, rolled):
    compiled = wg.compile(f)
    for scale in (1.0, 0.7):
        mine, known = compiled(x * scale, w), f(x * scale, w)
        assert mine.dtype == known.dtype
        assert np.allclose(mine, known, rtol=1e-11, atol=1e-13)
    assert ("repeat" in {s.name for s in compiled.program.statements}) == rolled
    assert not compiled.retraces


def some(functions, quick):
    """The functions as parameters, of which most are for the long sweeps."""
    marks = {f: () if f in quick else pytest.mark.sweep for f in functions}
    return pytest.mark.parametrize("f", [pytest.param(f, marks=marks[f]) for f in functions])


@some(ALIKE, quick=[variables_read_afterwards, without_a_beginning, containers, with_others_beside])
def test_a_loop_whose_iterations_are_alike_is_one_statement(f):
    check(f, True)


@some(UNLIKE, quick=[decided_by_the_number, with_names, within_try])
def test_a_loop_whose_iterations_are_not_is_traced_one_by_one(f):
    check(f, False)


@some([over_numbers, variables_read_afterwards, around_a_gradient], quick=[over_numbers])
def test_derivatives_of_a_loop_are_loops(f):
    slope = wg.grad(lambda x, w: f(x, w).sum(), (0, 1))
    compiled = wg.compile(slope)
    for mine, known in zip(compiled(x, w), slope(x, w), strict=True):
        assert np.allclose(mine, known, rtol=1e-10, atol=1e-12)
    assert [s.name for s in compiled.program.statements].count("repeat") >= 2


def test_short_loops_are_traced_one_by_one():
    f = wg.compile(lambda x: over_rows(x, w))
    f(x[: LONG - 1])
    assert "repeat" not in [s.name for s in f.program.statements]


def test_parameters_and_random_numbers():
    wg.manual_seed(0)
    net = wg.nn.Sequential(wg.nn.Linear(3, 3), wg.nn.Tanh()).double()

    def loss(x):
        h = wg.zeros(3, dtype=wg.float64)
        for row in x:
            h = net(h) + row * wg.rand(3, dtype=wg.float64)
        return h.square().sum()

    def step(x):
        net.zero_grad()
        y = loss(x)
        y.backward()
        return y

    rows = wg.tensor(x)
    compiled = wg.compile(step)
    compiled(rows)
    assert [s.name for s in compiled.program.statements].count("repeat") == 2
    wg.manual_seed(3)
    known = [step(rows), *[p.grad.clone() for p in net.parameters()]]
    wg.manual_seed(3)
    made = [compiled(rows), *[p.grad for p in net.parameters()]]
    assert all(wg.allclose(a, b) for a, b in zip(made, known, strict=True))


def test_numbers_that_python_draws_differ_between_iterations():
    def f(x):
        h = x
        for _ in range(N):
            h = h * 0.9 + random.random()
        return h

    compiled = wg.compile(f)
    try:
        compiled(x[0])
    except TracingError:
        return  # as for a short loop
    random.seed(5)
    known = f(x[0])
    random.seed(5)
    assert np.allclose(compiled(x[0]), known)


def test_what_a_body_writes_outside_is_written_by_each_iteration():
    class Model:
        seen = 0

    model = Model()

    def f(x):
        h = x
        for _ in range(N):
            h = h * 0.9
            model.seen = model.seen + 1
        return h

    wg.compile(f)(x[0])
    assert model.seen == N


def test_the_time_to_trace_does_not_depend_on_the_number_of_iterations():
    def statements(n):
        f = wg.compile(lambda x: over_rows(x, w))
        f(np.ones((n, 3)))
        (loop,) = [s for s in f.program.statements if s.name == "repeat"]
        return len(f.program.statements), len(loop.function.body.statements)

    assert statements(LONG) == statements(5000)


def decay(mean):
    mean[:] = mean * 0.9
    return mean.sum()


def outside_in_a_for_loop(mean, x):
    total = x.sum()
    for row in x:
        decay(mean)
        total = total + row.sum()
    return total


def outside_in_a_fori_loop(mean, x):
    return wg.fori_loop(0, len(x), lambda _, total: total + 0 * decay(mean), x.sum())


def outside_in_a_while_loop(mean, x):
    return wg.while_loop(lambda total: total < 10, lambda total: total + decay(mean), 0 * x.sum())


def outside_in_a_branch(mean, x):
    return wg.cond(x.sum() < 0, lambda: decay(mean), lambda: x.sum())


OUTSIDE = outside_in_a_fori_loop, outside_in_a_while_loop, outside_in_a_branch


@pytest.mark.parametrize("like", [np.ones, wg.ones])
def test_an_array_of_outside_that_is_first_met_in_a_body_is_written_by_each_iteration(like):
    # It counted as made in the body: its write was moved out, and was made once.
    model = [like(3)]
    wg.compile(lambda x: outside_in_a_for_loop(model[0], x))(like((N, 3)))
    assert np.allclose(np.asarray(model[0]), 0.9**N)


@pytest.mark.parametrize("f", OUTSIDE)
@pytest.mark.parametrize("like", [np.ones, wg.ones])
def test_a_write_to_an_array_of_outside_in_a_body_is_made_by_each_iteration(f, like):
    # It was refused: the body had to return what it changes.
    eager, compiled = like(3), like(3)
    step = wg.compile(lambda x: f(compiled, x))
    for start in (0.1, 0.2, -0.1) if f is outside_in_a_branch else (0.1, 0.2):
        assert np.allclose(np.asarray(step(like(3) * start)), np.asarray(f(eager, like(3) * start)))
    assert np.allclose(np.asarray(compiled), np.asarray(eager))


def taken_before(x):
    pairs, total = zip(x, x * 2, strict=True), 0.0
    next(pairs)
    for k, (a, b) in enumerate(pairs):
        total = total + k * (a * b).sum()
    return total


def gone_through_twice(x):
    pairs, total = zip(x, x * 2, strict=True), 0.0
    for a, b in pairs:
        total = total + (a * b).sum()
    for a, _ in pairs:
        total = total + a.sum()
    return total + len(list(pairs))


def paired_with_itself(x):
    pairs, total = zip(x, x, strict=True), 0.0
    for a, b in zip(pairs, pairs, strict=True):
        total = total + (a[0] * b[1]).sum()
    return total


def taken_inside(x):
    pairs, total = enumerate(x), 0.0
    for _, a in pairs:
        total = total + (a * next(pairs)[1]).sum()
    return total


def left_by_a_shorter_one(x):
    rows, total, last = enumerate(x), 0.0, x[0]
    for (k, a), j in zip(rows, range(80), strict=False):
        total, last = total + (k - j + 1) * a.sum(), a
    return total + last.sum() + len(list(rows))


def left_early(x):
    pairs, total = enumerate(x), 0.0
    for k, a in pairs:
        total = total + a.sum()
        if k == 70:
            break
    return total + len(list(pairs))


@pytest.mark.parametrize(
    "f",
    [
        taken_before,
        gone_through_twice,
        paired_with_itself,
        taken_inside,
        left_by_a_shorter_one,
        left_early,
    ],
)
def test_what_zip_and_enumerate_return_gives_each_item_once(f):
    # It was a sequence: a second loop over it ran again, and items taken before came once more.
    x = np.linspace(-1.0, 1.0, 300).reshape(100, 3)
    assert np.allclose(wg.compile(f)(x), f(x))
    assert np.allclose(wg.compile(wg.grad(f))(x), wg.grad(f)(x))


def test_what_is_left_after_a_rolled_loop_takes_no_unrolling():
    compiled = wg.compile(left_by_a_shorter_one)
    compiled(np.ones((100, 3)))
    assert [s.name for s in compiled.program.statements].count("repeat") == 1
