"""Loops and branches make nothing that nobody reads, and go through no rows that are all one."""

import numpy as np
import pytest

import wengert as wg
from wengert.compile.backend import backend
from wengert.compile.plan.planner import plan
from wengert.compile.program.bodies import Choose, Repeat, Rewind, Until, bodies

w = np.array([0.3, -0.5, 0.7])
x = np.random.default_rng(0).normal(size=(100, 3))


def of_kind(kind, program):
    """The statements of a kind, wherever they are."""
    for s in program.statements:
        if isinstance(s.function, kind):
            yield s
        for body in bodies(s):
            yield from of_kind(kind, body)


def checked(f, *args):
    """The compiled function, which is that of eager mode."""
    compiled = wg.compile(f)
    for scale in (1.0, 0.7):
        given = [a * scale for a in args]
        for mine, known in zip(
            wg.tree.flatten(compiled(*given))[0], wg.tree.flatten(f(*given))[0], strict=True
        ):
            np.testing.assert_allclose(mine, known, rtol=1e-11, atol=1e-13)
    return compiled.program


def collected(x, w):
    def step(h, row):
        h = np.tanh(h * w + row)
        return h, (h, h * 2)

    return wg.scan(step, np.zeros(3), x)


def rows_made(s):
    return len(s.outputs) - s.function.carries


def test_of_a_loop_that_its_derivative_alone_reads_no_results_are_kept():
    # Results went into memory beside what was saved, which were the same numbers a second time.
    gradient = wg.grad(lambda x, w: collected(x, w)[1][1].sum())
    forward, backward = of_kind(Repeat, checked(gradient, x, w))
    assert (rows_made(forward), rows_made(backward)) == (1, 1)


def test_what_is_collected_twice_is_written_once():
    def f(x):
        h, first, second = x[0], [], []
        for row in x:
            h = np.tanh(h * 0.5 + row)
            first.append(h)
            second.append(h)
        return np.stack(first), np.stack(second) * 2

    (loop,) = of_kind(Repeat, checked(f, x))
    assert rows_made(loop) == 1


@pytest.mark.parametrize(
    "weigh", [np.sum, np.mean, lambda y: (y * w).sum(), lambda y: (2 * y * y).sum()]
)
def test_cotangents_that_cost_nothing_to_make_are_not_laid_out(weigh):
    # A row for each iteration lay in memory, from the beginning of the call: a budget could not go
    # below what the function takes without one.
    gradient = wg.grad(lambda x, w: weigh(collected(x, w)[1][0]))
    forward, backward = of_kind(Repeat, checked(gradient, x, w))
    assert backward.function.rows == rows_made(forward) == 1


@pytest.mark.parametrize("loop", [Repeat, Until])
def test_a_part_of_a_state_that_leads_to_no_result_is_not_carried(loop):
    def f(x):
        def step(state):
            k, h, total, steps = state
            h = np.sin(h) * x
            return k + 1, h, total + h.sum() * steps, steps + 2.0

        state = (0, x, 0.0, 1.0)
        if loop is Repeat:
            return wg.fori_loop(0, 9, lambda k, state: step(state), state)[1]
        return wg.while_loop(lambda state: state[0] < 9, step, state)[1]

    (s,) = of_kind(loop, checked(f, w))
    assert s.function.carries == (1 if loop is Repeat else 2)


def test_the_derivative_of_a_loop_of_unknown_length_keeps_no_part_that_only_the_test_reads():
    def f(x):
        step = lambda state: (state[0] + 1, np.sin(state[1]) * x)
        return wg.while_loop(lambda state: state[0] < 9, step, (0, x))[1].sum()

    program = checked(wg.grad(f), w)
    (until,), (rewind,) = of_kind(Until, program), of_kind(Rewind, program)
    assert [v.shape[1:] for v in until.outputs[until.function.carries + 1 :]] == [(3,)]
    assert rewind.function.carries[0] == 1


def test_a_second_derivative_of_such_a_loop_keeps_no_more_either():
    def f(x):
        step = lambda state: (state[0] + 1, np.sin(state[1]) * x, state[2] * x)
        return wg.while_loop(lambda state: state[0] < 5, step, (0, x, x))[1]

    program = checked(wg.grad(lambda x: wg.grad(f)(x) ** 2), np.array(0.8))
    assert all(s.function.carries[0] == 1 for s in of_kind(Rewind, program))


def test_of_a_choice_what_nobody_reads_is_not_made():
    def f(x):
        one, other = lambda x: (np.sin(x), np.exp(x)), lambda x: (np.cos(x), x * 2)
        return wg.cond(x.sum() > 0, one, other, x)[0]

    (choice,) = of_kind(Choose, checked(f, w))
    assert len(choice.outputs) == 1
    assert [len(body.statements) for body in choice.function.bodies] == [1, 1]


def test_in_a_loop_in_a_loop_the_outer_one_goes_on_without_what_the_inner_one_made():
    def f(x, w):
        def outer(carry, row):
            h, seen = carry
            (h, seen), _ = wg.scan(
                lambda c, t: ((np.tanh(c[0] * w + t), c[1] + t), c[1]), (h, seen), x[:5]
            )
            return (h + row, seen), seen

        return wg.scan(outer, (np.zeros(3), np.zeros(3)), x)[0][0]

    outer, inner = of_kind(Repeat, checked(f, x, w))
    assert (outer.function.carries, inner.function.carries) == (1, 1)
    assert rows_made(outer) == rows_made(inner) == 0


def test_random_numbers_that_nobody_reads_are_drawn_all_the_same():
    def f():
        wg.fori_loop(0, 5, lambda k, total: total + wg.rand(3), wg.zeros(3))
        return wg.rand(2)

    compiled = wg.compile(f)
    compiled()
    wg.manual_seed(3)
    mine = compiled()
    wg.manual_seed(3)
    assert (mine == f()).all()


def test_what_is_checked_in_a_loop_that_nobody_reads_is_checked():
    def f(table, k):
        wg.fori_loop(0, 4, lambda i, total: total + table[k + i], 0.0)
        return table * 2

    compiled = wg.compile(f)
    assert (compiled(w, 0 - 1) == w * 2).all()
    with pytest.raises(IndexError):
        compiled(w, 2)


def fitted(c, t):
    value, power = 0.0, np.ones_like(t)
    for k in range(len(c)):
        value, power = value + c[k] * power, power * t
    return np.sum((np.sign(t) - value) ** 2)


def test_a_derivative_by_elements_that_a_loop_takes_is_written_one_by_one():
    # Each iteration made zeros for all elements, put a number among them, and added these to the
    # sum of those before: a thousand coefficients took a million additions.
    c, t = np.random.default_rng(0).uniform(size=70), np.linspace(-1, 1, 9)
    gradient = wg.compile(wg.grad(fitted))
    np.testing.assert_allclose(gradient(c, t), wg.grad(fitted)(c, t), rtol=1e-9)
    np.testing.assert_allclose(gradient(2 * c, t), wg.grad(fitted)(2 * c, t), rtol=1e-9)
    _, back = of_kind(Repeat, gradient.program)
    (body,) = bodies(back)
    names = [s.name for s in body.statements]
    assert "added" in names
    assert "full" not in names
    (last,) = [
        s for s in plan(body, backend(), inside=True).steps if s.statements[-1].name == "added"
    ]
    assert not last.kernel.extents


def test_an_array_of_one_number_that_a_body_is_given_it_makes():
    def f(x):
        zeros = np.zeros(3)
        return wg.scan(lambda h, row: (h + np.where(row > 0, zeros, row), h * zeros), x[0], x)

    (loop,) = of_kind(Repeat, checked(f, x))
    assert len(loop.args) == 2
