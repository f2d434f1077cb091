"""Loops and choices within vmap and forward mode, in every order with reverse mode.

Compiled, each is one statement, which gives what eager mode gives.
"""

import numpy as np
import pytest

import wengert as wg
from wengert.errors import TracingError

# ---- functions of two vectors -------------------------------------------------------------------


def counted(x, w):
    return wg.fori_loop(0, 4, lambda i, y: np.sin(y * w) + 0.1 * i * x[::-1], x)


def along_rows(x, w):
    # The carry begins without a batch and without a tangent, and gets both in the body.
    step = lambda c, row: (np.tanh(c * w + row), c.sum() * row)
    c, ys = wg.scan(step, np.zeros(3), np.stack([x, 2 * x, x * x, w]))
    return c * ys[1] + ys.sum()


def of_unknown_length(x, w):
    grow = lambda y: y * (1.5 + np.sin(w * y) ** 2) + 0.1 * x
    return wg.while_loop(lambda y: (y * y).sum() < 50, grow, x)


def with_numbers(x, w):
    def body(state):
        n, total, y = state
        return n + 1, total + y.sum() * x[0], y * 1.3 + w * w

    going = lambda state: (state[0] < 20) & (np.sum(state[2] ** 2) < 30)
    n, total, y = wg.while_loop(going, body, (0, 0.0, x))
    return y * n + total


def with_a_choice(x, w):
    choose = lambda i, y: wg.cond((w * w).sum() > i, lambda: y * w, lambda: np.cos(y))
    return wg.fori_loop(0, 4, choose, x)


def nested(x, w):
    inner = lambda y: wg.while_loop(lambda z: (z * z).sum() < 20, lambda z: z * 1.7 + w * w, y)
    return wg.fori_loop(0, 3, lambda i, y: np.sin(inner(y)) * 0.2 + x * w, x)


def around_reverse_mode(x, w):
    slope = wg.grad(lambda y: (np.sin(y) * w).sum())
    return wg.fori_loop(0, 4, lambda i, y: y - 0.1 * slope(y), x)


def around_forward_mode(x, w):
    slope = wg.jacfwd(lambda y: (np.sin(y) * w).sum())
    return wg.while_loop(lambda y: (y * y).sum() < 30, lambda y: 1.4 * y - 0.1 * slope(y), x)


LOOPS = [
    counted, along_rows, of_unknown_length, with_numbers, with_a_choice, nested,
    around_reverse_mode, around_forward_mode,
]  # fmt: skip

# ---- transforms, and what they are of -----------------------------------------------------------

x, w = np.random.default_rng(0).normal(size=(2, 3))
xs, ws = np.random.default_rng(1).normal(size=(2, 4, 3))


def grad(f):
    return wg.grad(lambda x, w: f(x, w).sum(), (0, 1))


def by_x(f):
    """The derivative by x in the direction of w."""
    return lambda x, w: wg.jvp(lambda x: f(x, w), (x,), (w,))[1]


def by_w(f):
    return lambda x, w: wg.jvp(lambda w: f(x, w), (w,), (x,))[1]


def of_x(f):
    """The first of the gradients, and so on."""
    return lambda x, w: f(x, w)[0]


WAYS = {
    "jvp": (by_x, x, w),
    "vmap": (wg.vmap, xs, ws),
    "vmap of a gradient": (lambda f: wg.vmap(grad(f), (0, None)), xs, w),
    "gradient of a vmap": (lambda f: grad(wg.vmap(f, (None, 0))), x, ws),
    "jvp of a gradient": (lambda f: by_w(of_x(grad(f))), x, w),
    "gradient of a jvp": (lambda f: grad(by_w(f)), x, w),
    "jacfwd": (lambda f: wg.jacfwd(f, (0, 1)), x, w),
    "jacrev": (lambda f: wg.jacrev(f, (0, 1)), x, w),
    "jvp of a vmap": (lambda f: by_x(wg.vmap(f)), xs, ws),
    "vmap of a hessian": (lambda f: wg.vmap(wg.hessian(lambda x, w: f(x, w).sum())), xs, ws),
}
PAIRS = [(loop, way) for loop in LOOPS for way in WAYS]
QUICK = [
    (along_rows, "jvp"),
    (along_rows, "gradient of a vmap"),
    (along_rows, "jvp of a gradient"),
    (of_unknown_length, "vmap"),
    (of_unknown_length, "jvp of a gradient"),
    (with_numbers, "vmap of a gradient"),
    (with_a_choice, "vmap of a gradient"),
    (nested, "vmap"),
    (counted, "gradient of a jvp"),
]


def flat(made):
    return [a for y in made for a in flat(y)] if isinstance(made, tuple) else [np.asarray(made)]


def check(loop, transform, *args):
    f = transform(loop)
    compiled = wg.compile(f)
    for scale in (1.0, 0.7):
        given = args[0] * scale, args[1]
        for mine, known in zip(flat(compiled(*given)), flat(f(*given)), strict=True):
            assert mine.dtype == known.dtype
            assert mine.shape == known.shape
            assert np.allclose(mine, known, rtol=1e-9, atol=1e-10)
    names = {s.name for s in compiled.program.statements}
    depends = any(map(np.any, flat(f(*args))))  # of a derivative that is zero nothing is computed
    assert names & {"repeat", "until", "rewind"} or not depends
    assert not compiled.retraces


@pytest.mark.crossed
@pytest.mark.parametrize(("loop", "way"), QUICK)
def test_a_loop_in_other_modes_is_one_statement(loop, way):
    check(loop, *WAYS[way])


@pytest.mark.sweep
@pytest.mark.parametrize(("loop", "way"), [pair for pair in PAIRS if pair not in QUICK])
def test_a_loop_in_all_orders_of_modes_is_one_statement(loop, way):
    check(loop, *WAYS[way])


@pytest.mark.sweep
@pytest.mark.parametrize("loop", LOOPS)
def test_gradients_of_gradients_within_a_vmap(loop):
    check(loop, lambda f: grad(wg.vmap(of_x(grad(f)), (0, None))), xs, w)


def long(x, w):
    # Its states are more than those that are kept: all of them are computed again.
    def body(state):
        n, y = state
        return n + 1, y + 1e-4 * np.sin(w * y[::-1])

    return wg.while_loop(lambda state: state[0] < 1500, body, (0, x))[1]


TWICE = lambda f: grad(of_x(grad(f)))


@pytest.mark.parametrize(
    "loop",
    [with_numbers, nested, pytest.param(long, marks=pytest.mark.sweep),
     pytest.param(around_forward_mode, marks=pytest.mark.sweep)],
)  # fmt: skip
def test_reverse_mode_twice_through_a_loop_of_unknown_length(loop):
    check(loop, TWICE, x, w)


@pytest.mark.sweep
@pytest.mark.parametrize("loop", [f for f in LOOPS if f is not around_forward_mode])
def test_reverse_mode_twice_and_forward_mode_through_all_loops(loop):
    check(loop, lambda f: by_x(of_x(TWICE(f))), x, w)


@pytest.mark.parametrize(
    "loop", [of_unknown_length, pytest.param(with_numbers, marks=pytest.mark.sweep)]
)
def test_reverse_mode_three_times_through_a_loop_of_unknown_length(loop):
    check(loop, lambda f: grad(of_x(TWICE(f))), x, w)


def test_a_condition_that_draws_cannot_be_asked_twice():
    f = lambda x: wg.while_loop(lambda y: y.sum() + wg.rand(()) < 9, lambda y: y + 1, x)
    with pytest.raises(TracingError, match="draws random numbers inside of vmap"):
        wg.compile(wg.vmap(f, randomness="different"))(wg.ones(3, 2))


def test_what_a_body_saved_does_not_outlive_forward_mode():
    # A node held its output's tangent, and that the node. So tensors of a body that was run once
    # more, for its carry got a tangent, counted as results of the compiled function.
    compiled = wg.compile(by_x(along_rows))
    compiled(x, w)
    assert len(compiled.program.outputs) == 1


def test_forward_mode_within_a_body_leaves_no_tensor_behind():
    # The level is over before the body is: what its history holds was a cycle that lay there still.
    def f(x):
        body = lambda i, h: wg.jvp(np.tanh, (h,), (h,))[1]
        return wg.fori_loop(0, 3, body, x * 1).sum()

    x = wg.tensor([0.5, -0.3, 0.9], requires_grad=True)
    mine, known = (wg.autograd.grad(g(x), x)[0] for g in (wg.compile(f), f))
    np.testing.assert_allclose(mine, known, rtol=1e-5)


def test_forward_over_reverse_of_a_body_leaves_no_tensor_behind() -> None:
    # A tangent in a body has history, which is never freed: with the tensor that it belongs to it
    # was a cycle, and counted as what outlives the function ("batched by a vmap ... used after").
    rows = np.linspace(-1, 1, 36).reshape(12, 3)
    weights = wg.tensor(np.linspace(-1, 1, 9).reshape(3, 3))

    def f(x):
        return wg.scan(lambda h, r: (np.tanh(h @ weights + r * h), h.sum()), x, rows)[0].sum()

    x = wg.tensor([0.5, -0.3, 0.9], dtype=wg.float64)
    np.testing.assert_allclose(wg.compile(wg.hessian(f))(x), wg.hessian(f)(x), rtol=1e-10)
    for a, b in zip(
        wg.compile(lambda x: wg.jvp(f, (x,), (x * x,)))(x), wg.jvp(f, (x,), (x * x,)), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-10)
