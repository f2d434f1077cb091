"""Loops in compiled functions: one statement, which gives what eager mode and unrolling give."""

import numpy as np
import pytest

import wengert as wg
from wengert.errors import StateError, TracingError

F64 = wg.float64


def loops_in(compiled):
    return [s for s in compiled.program.statements if s.name == "repeat"]


def gradients(f, *args):
    """Value and gradients of the sum of all that f returns."""
    leaves = [a.detach().clone().requires_grad_(a.requires_grad) for a in args]
    made = f(*leaves)
    made = made if isinstance(made, tuple) else (made,)
    total = sum((y * y).sum() for y in made)
    tracked = [x for x in leaves if x.requires_grad]
    return [*made, *wg.autograd.grad(total, tracked, materialize_grads=True)]


def check(f, *args, **settings):
    """Compiled and eager give the same, and so do their gradients; it is a loop."""
    compiled = wg.compile(f)
    for _ in range(2):
        for mine, known in zip(gradients(compiled, *args), gradients(f, *args), strict=True):
            assert mine.dtype == known.dtype
            assert np.allclose(mine.detach(), known.detach(), rtol=1e-10, atol=1e-12)
    assert loops_in(compiled)
    return compiled


def tensor(*shape, seed=0, grad=True):
    rng = np.random.default_rng(seed)
    return wg.tensor(rng.normal(size=shape) * 0.5, dtype=F64, requires_grad=grad)


def power(x, w):
    return wg.fori_loop(0, 7, lambda i, y: (y * w + i).sin(), x)


def cell(x, w, b):
    def step(h, row):
        h = (h @ w + row + b).tanh()
        return h, h * 2

    return wg.scan(step, wg.zeros(x.shape[1], dtype=F64), x)


def through_reverse(x, w, b):
    def step(carry, row):
        h, total = carry
        h = (h @ w + row["a"]).tanh() * row["b"]
        return (h, total + h.sum()), {"h": h, "t": total}

    start = (b * 1.0, wg.zeros((), dtype=F64))
    (h, total), ys = wg.scan(step, start, {"a": x, "b": x + 1}, reverse=True)
    return h, total, ys["h"], ys["t"]


def nested(x, w, b):
    def outer(i, h):
        inner = wg.scan(lambda c, r: ((c @ w + r).tanh(), c.sum() * i), h, x)
        return inner[0] + b * inner[1].sum()

    return wg.fori_loop(1, 5, outer, b)


def with_a_number(x, w, b):
    def body(i, state):
        n, total, y = state
        return n + 1, total + y.sum() * n, (y * x[i]).cos() + w[i, 0]

    n, total, y = wg.fori_loop(0, 3, body, (0, 0.0, b))
    return total, y * n


def closed_over_twice(x, w, b):
    # A sweep through the body once went on from v to w, which then got that part of it twice.
    v = w.sin()
    return wg.fori_loop(0, 3, lambda i, h: (h @ v + x[0] @ w).tanh(), b)


THREE = tensor(3, 3), tensor(3, 3, seed=1), tensor(3, seed=2)


def test_fori_loop():
    check(power, tensor(4), tensor(4, seed=1))


@pytest.mark.parametrize("f", [cell, through_reverse, nested, with_a_number, closed_over_twice])
def test_loops_give_what_eager_mode_gives(f):
    check(f, *THREE)


@pytest.mark.parametrize("f", [cell, through_reverse, nested, with_a_number, closed_over_twice])
def test_second_derivatives_are_loops_as_well(f):
    def slopes(*args):
        total = sum((y * y).sum() for y in _flat(f(*args)))
        return wg.autograd.grad(total, args, create_graph=True)

    check(slopes, *THREE)


def _flat(made):
    return [y for part in (made if isinstance(made, tuple) else (made,)) for y in (
        part if isinstance(part, tuple) else (part,))]  # fmt: skip


def test_derivatives_to_the_third_order():
    f = lambda x: wg.fori_loop(0, 4, lambda i, y: (y * x).sin() + y, x * 1.0).sum()
    third = wg.grad(lambda x: wg.grad(lambda x: wg.grad(f)(x).sum())(x).sum())
    x = np.array([0.3, -0.7])
    compiled = wg.compile(third)
    assert np.allclose(compiled(x), third(x))
    assert loops_in(compiled)


def test_the_time_to_compile_does_not_depend_on_the_number_of_iterations():
    def counted(n):
        f = wg.compile(lambda x: wg.fori_loop(0, n, lambda i, y: y * 0.999 + x, x))
        x = tensor(3)
        assert np.allclose(f(x).detach(), x.detach() * (1 - 0.999 ** (n + 1)) * 1000)
        (loop,) = loops_in(f)
        return len(f.program.statements), len(loop.function.body.statements)

    assert counted(3) == counted(30_000)


def test_numpy_code_is_a_loop_too():
    def f(a, x):
        total, seen = wg.scan(lambda c, row: (c @ a + row, c.sum()), np.zeros(3), x)
        return total, seen

    a, x = np.random.default_rng(0).normal(size=(2, 3, 3))
    compiled = wg.compile(f)
    for mine, known in zip(compiled(a, x), f(a, x), strict=True):
        assert type(mine) is np.ndarray
        assert np.allclose(mine, known)
    assert loops_in(compiled)
    g = wg.compile(wg.grad(lambda a, x: f(a, x)[0].sum()))
    assert np.allclose(g(a, x), wg.grad(lambda a, x: f(a, x)[0].sum())(a, x))
    assert loops_in(g)


def test_map_is_a_loop():
    check(lambda x, w: wg.map(lambda row: (row @ w).tanh(), x), tensor(5, 3), tensor(3, 3, seed=1))


def test_invariants_are_computed_once():
    f = wg.compile(lambda x, w: wg.fori_loop(0, 9, lambda i, y: y * w.exp().sum(), x))
    f(tensor(3), tensor(3))
    (loop,) = loops_in(f)
    assert [s.name for s in loop.function.body.statements] == ["np.multiply"]


def test_parameters_that_a_body_closes_over_get_gradients():
    wg.manual_seed(0)
    net = wg.nn.Linear(3, 3).double()

    def loss(x):
        return wg.fori_loop(0, 5, lambda i, h: net(h).tanh(), x).square().sum()

    def step(x):
        net.zero_grad()
        y = loss(x)
        y.backward()
        return y

    x = tensor(2, 3, grad=False)
    step(x)
    known = [p.grad.clone() for p in net.parameters()]
    compiled = wg.compile(step)
    for _ in range(2):
        compiled(x)
        assert all(wg.allclose(p.grad, g) for p, g in zip(net.parameters(), known, strict=True))
    assert len(loops_in(compiled)) == 2


def test_random_numbers_in_a_body_are_new_in_each_iteration():
    def f(x):
        return wg.fori_loop(0, 6, lambda i, y: y * wg.rand(2, dtype=F64), x)

    x = tensor(2)
    compiled = wg.compile(f)
    wg.manual_seed(3)
    known = gradients(f, x)
    compiled(x)
    wg.manual_seed(3)
    made = gradients(compiled, x)
    assert all(wg.allclose(a, b) for a, b in zip(made, known, strict=True))


def test_rows_by_the_number_of_the_iteration_need_no_check():
    f = wg.compile(lambda x: wg.fori_loop(0, 3, lambda i, y: y + x[i], wg.zeros((), dtype=F64)))
    x = tensor(3, grad=False)
    assert wg.allclose(f(x), x.sum())
    (loop,) = loops_in(f)
    assert "check" not in [s.name for s in loop.function.body.statements]


def test_an_index_out_of_range_in_a_body_is_an_error():
    f = wg.compile(lambda x, k: wg.fori_loop(0, 3, lambda i, y: y + x[k[i]], wg.zeros(())))
    x = wg.arange(3.0)
    assert f(x, wg.tensor([0, 2, 1])) == 3
    with pytest.raises(IndexError, match="index 5 is out of bounds"):
        f(x, wg.tensor([0, 5, 1]))


def test_what_a_body_read_first_outlives_a_run_of_it_that_is_given_up():
    # The body runs twice, for its state begins as an array and becomes a tensor. What it had taken
    # of an argument in the first run was known to the argument, and no longer in the program.
    def f(p):
        a = p[1]
        return wg.fori_loop(0, 3, lambda i, y: y * a, np.ones(())) + a

    p = np.array([1.0, 2.0])
    assert np.allclose(wg.compile(wg.grad(f))(p), wg.grad(f)(p))


def test_cotangents_of_rows_are_added_where_they_belong():
    # Each iteration made zeros for the whole array, so time grew with the square of its rows.
    def f(x, n):
        total = lambda t, y: np.tanh(y + x[t] * x[t + 1])
        return wg.fori_loop(0, n, total, np.zeros(3)).sum()

    x = np.random.default_rng(0).normal(size=(200, 3))
    compiled = wg.compile(wg.grad(lambda x: f(x, 199)))
    assert np.allclose(compiled(x), wg.grad(lambda x: f(x, 199))(x))
    back = loops_in(compiled)[-1].function.body
    assert [s.name for s in back.statements].count("added") == 2
    assert "full" not in [s.name for s in back.statements]


class TestRefused:
    def test_a_state_of_another_form(self):
        f = wg.compile(lambda x: wg.fori_loop(0, 3, lambda i, y: y[None], x))
        with pytest.raises(StateError, match=r"shape \[2\] .* shape \[1, 2\]"):
            f(wg.zeros(2))

    def test_a_value_that_leaves_the_body(self):
        def f(x):
            kept = []

            def body(i, s):
                kept.append(s * 2)
                return s + 1

            return wg.fori_loop(0, 3, body, x) + kept[0]

        with pytest.raises(TracingError, match="used after it"):
            wg.compile(f)(wg.zeros(2))


def test_a_state_that_begins_as_a_number_and_is_differentiated_becomes_an_array():
    # Its conversion to the dtype that it had stayed a number: the body was traced for ever.
    ts = np.array([0.5, 1.5, 2.0])
    f = wg.value_and_grad(lambda x: wg.scan(lambda p, t: (p * t, p), x * 1.0, ts)[1].sum())
    assert wg.compile(f)(0.5) == pytest.approx(f(0.5))


def test_a_functions_default_array_does_not_keep_what_a_body_computed():
    # What a library had been given was kept, frames among that, and with these the history.
    ts = np.array([0.5, 1.5, 2.0])

    def f(x, rows=ts):
        return wg.scan(lambda p, t: (p * t, p * (t - 0.5)), x * 1.0, rows)[1].sum()

    g = wg.grad(lambda x: f(x))
    assert wg.compile(g)(np.ones(2)) == pytest.approx(g(np.ones(2)))


def same_each_time(inner):
    """Loops or branches that do not depend on the iterations around them, in one or two loops."""
    once = lambda x, w: wg.map(lambda row: inner(x) * w, w[:4]).sum()
    twice = lambda x, w: wg.fori_loop(0, 3, lambda i, y: y + once(x, w) * 0.1, x.sum())
    return once, twice


@pytest.mark.parametrize(
    "inner",
    [
        lambda x: wg.fori_loop(2, 7, lambda i, h: h.sin(), x * 1),
        lambda x: wg.scan(lambda h, _: (h.sin(), h * h), x, length=3)[1].sum(0),
        lambda x: wg.cond(x.sum() > -9, lambda: x.sin().exp(), lambda: x * 2),
        lambda x: wg.while_loop(lambda h: h.sum() < 9, lambda h: h * h + 0.5, x),
    ],
)
def test_a_loop_that_its_surroundings_do_not_change_has_a_derivative(inner):
    # It was moved out, and what it saved was said to be a result of the body that it had been in.
    for f in same_each_time(inner):
        check(f, tensor(3), tensor(6, 3, seed=1))
