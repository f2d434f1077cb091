"""Branches in compiled functions: one statement, of which each call runs one branch."""

import numpy as np
import pytest

import wengert as wg
from tests.control.test_compiled import F64, gradients, tensor
from wengert.compile.program.bodies import bodies
from wengert.errors import StateError


def choices_in(program):
    """Whether there is a choice, or one in a body."""
    return any(s.name == "choose" or any(map(choices_in, bodies(s))) for s in program.statements)


def check(f, *args):
    compiled = wg.compile(f)
    for sign in (1, -1, 1):
        given = [a.detach().mul(sign).requires_grad_(a.requires_grad) for a in args]
        for mine, known in zip(gradients(compiled, *given), gradients(f, *given), strict=True):
            assert mine.dtype == known.dtype
            assert np.allclose(mine.detach(), known.detach(), rtol=1e-10, atol=1e-12)
    assert choices_in(compiled.program)
    return compiled


def either(x, w):
    return wg.cond(x.sum() > 0, lambda x: (x * w).sin() * 2, lambda x: (x - w).exp(), x)


def one_sided(x, w):
    return wg.cond(x[0] > w[0], lambda: (x * x, w.sum()), lambda: (w * 3, w[0] * 2.0))


def in_a_loop(x, w):
    def body(i, y):
        return wg.cond(y.sum() > 0, lambda: (y - w * w).tanh(), lambda: y * 0.5 + x[i])

    return wg.fori_loop(0, 3, body, x)


def loop_inside(x, w):
    return wg.cond(
        x.sum() > 0, lambda: wg.fori_loop(0, 4, lambda i, y: (y * w).sin(), x), lambda: x * w
    )


def nested(x, w):
    inner = lambda: wg.cond(w.sum() > 0, lambda: x * w, lambda: x / w)
    return wg.cond(x.sum() > 0, inner, lambda: x + w)


ALL = [either, one_sided, in_a_loop, loop_inside, nested]


@pytest.mark.parametrize("f", ALL)
def test_branches_give_what_eager_mode_gives(f):
    check(f, tensor(3), tensor(3, seed=1))


@pytest.mark.parametrize("f", ALL)
def test_second_derivatives_are_branches_as_well(f):
    def slopes(x, w):
        made = f(x, w)
        total = sum((y * y).sum() for y in (made if isinstance(made, tuple) else (made,)))
        return wg.autograd.grad(total, (x, w), create_graph=True, materialize_grads=True)

    check(slopes, tensor(3), tensor(3, seed=1))


def test_the_derivative_of_the_branch_that_is_not_taken_does_no_harm():
    # where(x > 0, sqrt(x), 0) has a NaN for its derivative at 0: 0 times infinity.
    f = wg.compile(wg.grad(lambda x: wg.cond(x > 0, np.sqrt, lambda x: x * 0, x)))
    assert f(0.0) == 0
    assert f(4.0) == 0.25


def test_switch_takes_the_first_or_the_last_beyond():
    f = lambda k, x: wg.switch(k, [lambda: x, lambda: x * 10, lambda: -x])
    compiled = wg.compile(f)
    x = wg.tensor([1.0, 2.0])
    for k in (-7, 0, 1, 2, 9):
        assert wg.equal(compiled(wg.tensor(k), x), f(wg.tensor(k), x))
    assert not compiled.retraces


def test_only_the_branch_that_is_taken_draws_and_checks():
    def f(p, x, k):
        return wg.cond(p, lambda: wg.rand(2) + x[k], lambda: x[:2] * 1.0)

    compiled = wg.compile(f)
    x = wg.arange(3.0)
    compiled(wg.tensor(True), x, wg.tensor(1))
    wg.manual_seed(1)
    assert compiled(wg.tensor(False), x, wg.tensor(7)).tolist() == [0, 1]
    made = compiled(wg.tensor(True), x, wg.tensor(2))
    wg.manual_seed(1)
    assert wg.equal(made, f(wg.tensor(True), x, wg.tensor(2)))
    with pytest.raises(IndexError, match="out of bounds"):
        compiled(wg.tensor(True), x, wg.tensor(7))


def test_numbers_that_branches_return():
    f = wg.compile(lambda x: wg.cond(x.sum() > 0, lambda: (1, x), lambda: (0.5, x * 2.0)))
    assert f(np.ones(2))[0] == 1
    assert f(-np.ones(2))[0] == 0.5
    assert np.array_equal(f(-np.ones(2))[1], [-2.0, -2.0])


def test_branches_that_differ_are_refused():
    f = wg.compile(lambda x: wg.cond(x.sum() > 0, lambda: x, lambda: (x, x)))
    # "Branch 0" was the one for a predicate that is false, and inside of vmap the other one.
    told = r"false_fn of wg.cond has the structure \(\*, \*\), but that of true_fn .* \*"
    with pytest.raises(StateError, match=told):
        f(wg.ones(2, dtype=F64))
