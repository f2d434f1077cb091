"""Loops that are equal run once, beside each other and where a branch asks for one again."""

from collections.abc import Iterator

import numpy as np
import pytest

import wengert as wg
from tests.compile.programs import Builder
from wengert.compile.program.bodies import Choose, Until, bodies
from wengert.compile.program.passes.twins import twins
from wengert.compile.program.program import Program, Statement, Value


def loops(program: Program) -> Iterator[Statement]:
    """The loops of unknown length that a call runs, wherever they are."""
    for s in program.statements:
        if isinstance(s.function, Until):
            yield s
        for body in bodies(s):
            yield from loops(body)


def flight(speed):
    fly = lambda s: (s[0] + 0.01 * s[1], s[1] - 0.01 * np.sin(s[0]) * speed * np.abs(s[1]))
    x, v = wg.while_loop(lambda s: s[0] < 1.0, fly, (0.0 * speed, speed))
    return x * v


def check(f, *args, flown):
    compiled = wg.compile(f)
    for scale in (1.0, 1.3, 2.0):
        given = [a * scale for a in args]
        np.testing.assert_allclose(compiled(*given), f(*given), rtol=1e-12)
    assert len(list(loops(compiled.program))) == flown


slope, tangent = wg.grad(flight), wg.jacfwd(flight)


@pytest.mark.parametrize("derivative", [slope, tangent], ids=["slope", "tangent"])
@pytest.mark.parametrize(
    "f",
    [
        lambda s, d: flight(s) + d(s),
        lambda s, d: d(s) * 2 + flight(s),
        lambda s, d: branch(flight(s), lambda v: d(s), lambda v: v * 2),
        lambda s, d: branch(
            flight(s),
            lambda v: wg.cond(s > 1.8, lambda: d(s) + v, lambda: v * 3),
            lambda v: v * 2,
        ),
        lambda s, d: branch(
            s, lambda s: wg.cond(flight(s) > 1.6, lambda: d(s), lambda: flight(s) * 2), lambda s: s
        ),
    ],
    ids=["before it", "behind it", "in a branch", "in a branch of a branch", "both in a branch"],
)
def test_a_function_and_its_derivative_run_one_loop(f, derivative):
    # Each had its own: a derivative keeps states, and the loop of a tangent does more.
    check(lambda s: f(s, derivative), 1.5, flown=1)


def branch(value, then, otherwise):
    return wg.cond(value > 1.6, lambda: then(value), lambda: otherwise(value))


@pytest.mark.parametrize(
    "f",
    [
        lambda s: flight(s) + tangent(s) + slope(s) + wg.jacfwd(tangent)(s),
        lambda s: wg.cond(flight(s) > 1.6, lambda: wg.grad(tangent)(s), lambda: tangent(s)),
        lambda s: wg.cond(flight(s) > 1.6, lambda: tangent(s), lambda: flight(s) * 2),
    ],
    ids=["four of them", "two in branches", "asked for again in a branch"],
)
def test_a_function_and_several_derivatives_run_one_loop(f):
    check(f, 1.5, flown=1)


@pytest.mark.parametrize("derivative", [wg.grad, wg.jacfwd])
def test_a_descent_flies_once_for_each_place_that_it_tries(derivative):
    def descent(s):
        def step(state):
            s, value, slope, eta, n = state
            tried = s - eta * slope
            found = flight(tried)
            worse = lambda: (s, value, slope, eta / 2, n + 1)
            better = lambda: (tried, found, derivative(flight)(tried), eta, n + 1)
            return wg.cond(found < value, better, worse)

        start = s, flight(s), derivative(flight)(s), 0.1 + 0 * s, 0
        return wg.while_loop(lambda state: state[4] < 9, step, start)[0]

    check(descent, 1.5, flown=3)  # where it starts, where it goes on, and its own


def pushed(s, seed):
    return wg.jvp(flight, (s,), (seed,))[1]


@pytest.mark.parametrize(
    "f",
    [
        lambda s: flight(s) + pushed(s, flight(s) * 2),
        lambda s: wg.cond(flight(s) > 1.6, lambda: pushed(s, flight(s)), lambda: s * 2),
    ],
)
def test_a_loop_that_is_given_what_the_other_makes_runs_after_it(f):
    check(f, 1.5, flown=2)


@pytest.mark.parametrize("changed", ["the test", "the body", "the start"])
def test_a_loop_that_differs_in_what_they_share_runs_by_itself(changed):
    end, rate = (1.1 if changed == "the test" else 1.0), 1.3 if changed == "the body" else 1.2
    start = 0.1 if changed == "the start" else 0.0
    first = lambda s: wg.while_loop(lambda x: x < 1.0, lambda x: x * 1.2 + 0.1, s * 0.0)

    def beside(s):
        step = lambda state: (state[0] * rate + 0.1, state[1] * 2)
        return wg.while_loop(lambda state: state[0] < end, step, (s * 0.0 + start, s))[1]

    check(lambda s: first(s) + beside(s), 1.5, flown=2)


def test_many_tangents_are_not_computed_for_a_branch_that_may_not_be_taken():
    def flow(x):
        return wg.while_loop(lambda x: x.sum() < 15, lambda x: x * np.cos(x) + 0.5, x).sum()

    def f(x):
        value = flow(x)
        return wg.cond(value > 1e9, lambda: wg.jacfwd(flow)(x), lambda: x * value)

    check(f, np.linspace(0.1, 0.3, 20), flown=2)


@pytest.mark.parametrize(
    "other",
    [
        lambda s: flight(s * 2),
        lambda s: wg.while_loop(lambda x: x < 1.0, lambda x: x * 1.1 + 0.1, s * 0),
        lambda s: wg.while_loop(lambda x: x < 1.1, lambda x: x * 1.2 + 0.1, s * 0),
        lambda s: wg.while_loop(lambda x: x < 1.0, lambda x: x * 1.2 + s, s * 0),
    ],
)
def test_loops_that_differ_anywhere_both_run(other):
    first = lambda s: wg.while_loop(lambda x: x < 1.0, lambda x: x * 1.2 + 0.1, s * 0)
    check(lambda s: first(s) + flight(s) + other(s), 1.5, flown=3)


def test_loops_that_draw_both_run():
    def f(s):
        walk = lambda x: x + wg.rand(()).numpy()
        return sum(wg.while_loop(lambda x: x < 3.0, walk, s) for _ in range(2))

    compiled = wg.compile(f)
    for _ in range(3):
        wg.manual_seed(3)
        known = f(0.5)
        wg.manual_seed(3)
        assert np.isclose(compiled(0.5), known)
    assert len(list(loops(compiled.program))) == 2


def test_large_states_are_not_kept_for_a_branch_that_may_not_be_taken():
    def flow(x):
        return wg.while_loop(lambda x: x.sum() < 900, lambda x: x * np.cos(x) + 0.5, x).sum()

    def f(x):
        value = flow(x)
        return wg.cond(value > 1e9, lambda: wg.grad(flow)(x), lambda: x * value)

    check(f, np.linspace(0.1, 0.3, 1000), flown=2)
    check(lambda x: flow(x) * wg.grad(flow)(x), np.linspace(0.1, 0.3, 1000), flown=1)


def test_what_two_statements_share_is_changed_for_neither():
    # A derivative makes a choice again with the same object, to which an argument was added.
    def loop(b, x):
        test, body = Builder(), Builder()
        y, z = test.input((), np.float64), body.input((), np.float64)
        test.result(test(np.less, y, 9.0))
        body.program.updates = {z: body(np.multiply, z, 2.0)}
        results = Value((), np.float64), Value((), np.int64)
        s = Statement(Until(test.program, body.program, 1), (x,), {}, results)
        b.program.statements.append(s)
        return results[0]

    b, branch = Builder(), Builder()
    x, k = b.input((), np.float64, "x"), b.input((), np.int64, "k")
    branch.result(loop(branch, branch.input((), np.float64)))
    choose = Choose([branch.program], [[0]], [[0]])
    choose.likes = [Value((), np.float64)]
    final, *chosen = loop(b, x), Value((), np.float64), Value((), np.float64)
    for v, given in zip(chosen, (x, b(np.add, x, 1.0)), strict=True):
        b.program.statements.append(Statement(choose, (k, given), {}, (v,)))
    program = b.result(final, *chosen)
    known = program.run([1.5, 0])
    assert twins(program)
    program.check()
    assert program.run([1.5, 0]) == known
    assert len(list(loops(program))) == 2
