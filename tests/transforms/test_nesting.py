"""Transforms inside transforms, and beside the other ways to differentiate."""

import threading

import numpy as np
import pytest

import wengert as wg
from tests.transforms import numeric

X = np.array([0.5, 1.5, -2.0])


def test_derivatives_of_every_order():
    f, value, x = (lambda x: x**6), 1.0, 1.5
    for order in range(7):
        assert (f(x) if order else x**6) == pytest.approx(value * x ** (6 - order))
        f, value = wg.grad(f), value * (6 - order)
    assert f(x) == 0.0


def test_inner_and_outer_perturbations_are_not_confused():
    # d/dx (x * d/dy (x + y)) at y = 1: the inner derivative is 1, whatever x is.
    assert wg.grad(lambda x: x * wg.grad(lambda y: x + y)(1.0))(1.0) == 1.0
    assert wg.grad(lambda x: x * wg.grad(lambda y: x * y)(1.0))(3.0) == 6.0
    assert wg.grad(lambda x: wg.grad(lambda y: x * y * y)(x))(3.0) == 12.0
    assert wg.grad(lambda x: wg.grad(lambda x: x * x)(x) * x)(3.0) == 12.0


def test_the_hessian_of_a_function_that_takes_a_gradient():
    def energy(x):
        return np.sum(x**4)

    def f(x):
        g = wg.grad(energy)(x)
        return np.sum(g * g)  # 16 x^6

    np.testing.assert_allclose(wg.hessian(f)(X), np.diag(480 * X**4))


def test_jacobians_of_gradients_and_gradients_of_jacobians():
    def f(x):
        return np.sum(x[0] * x * x)

    expected = numeric.jacobian(lambda x: np.asarray(wg.grad(f)(x)), X)
    np.testing.assert_allclose(wg.jacrev(wg.grad(f))(X), expected, rtol=1e-6, atol=1e-8)
    g = wg.grad(lambda x: np.sum(wg.jacrev(lambda y: y**3)(x)))(X)
    np.testing.assert_allclose(g, 6 * X)
    third = wg.jacrev(wg.hessian(lambda x: np.sum(x**4)))(X)
    assert third.shape == (3, 3, 3)
    np.testing.assert_allclose(np.einsum("iii->i", third), 24 * X)


def test_a_gradient_step_inside_a_loss_is_differentiated_through():
    def inner(w, rate):
        for _ in range(3):
            w = w - rate * wg.grad(lambda w: np.sum((w - 1) ** 2))(w)
        return np.sum(w * w)

    g = wg.grad(lambda rate: inner(X, rate))(0.1)
    h = 1e-6
    assert g == pytest.approx((inner(X, 0.1 + h) - inner(X, 0.1 - h)) / (2 * h), rel=1e-6)


def test_backward_goes_on_through_a_gradient():
    x = wg.tensor([1.0, 2.0], requires_grad=True)
    wg.grad(lambda x: (x**3).sum())(x).sum().backward()
    assert x.grad.tolist() == [6.0, 12.0]


def test_closures_over_tensors_that_require_grad_are_seen_from_outside():
    w = wg.tensor(2.0, requires_grad=True)
    g = wg.grad(lambda x: w * x**2)(wg.tensor(3.0))
    assert g.item() == 12.0
    g.backward()
    assert w.grad.item() == 6.0
    value, g = wg.value_and_grad(lambda x: w * x**2)(3.0)  # a number could carry no history
    assert wg.autograd.grad(value + g, w)[0].item() == 15.0


def test_aux_keeps_the_history_that_it_has_from_outside_only():
    w = wg.tensor(2.0, requires_grad=True)
    _, (mine, shared, theirs) = wg.grad(lambda x: (x * x, (2 * x, w * x, w)), has_aux=True)(
        wg.tensor(3.0)
    )
    assert not mine.requires_grad
    assert theirs is w
    shared.backward()
    assert w.grad.item() == 3.0


def test_no_grad_outside_is_no_obstacle_and_cuts_the_connection():
    w = wg.tensor(2.0, requires_grad=True)
    with wg.no_grad():
        g = wg.grad(lambda x: w * x**2)(wg.tensor(3.0))
        assert wg.grad(lambda x: w * x**2)(3.0) == 12.0
    assert g.item() == 12.0
    assert not g.requires_grad
    with wg.inference_mode():
        assert wg.grad(lambda x: x**2)(3.0) == 6.0


def test_no_grad_inside_is_respected():
    def f(x):
        with wg.no_grad():
            c = x**2
        return x**2 - c

    assert wg.grad(f)(3.0) == 6.0

    def g(x):
        with wg.no_grad():
            c = wg.grad(lambda y: y**3)(x)
        return x * c

    assert wg.grad(g)(2.0) == 12.0


def test_an_inner_transform_does_not_walk_the_history_outside():
    # The cost of one call once grew with all that had been recorded before it.
    x = wg.ones(1, requires_grad=True)
    for _ in range(2000):
        x = x * 1.0
    begun = wg.tensor(0.0) * 1  # something to run first
    assert begun.item() == 0.0
    from wengert.autograd import engine

    walked = []
    before = engine.reachable
    engine.reachable = lambda *args: walked.append(before(*args)) or walked[-1]
    try:
        wg.grad(lambda y: (y * y).sum())(x)
    finally:
        engine.reachable = before
    assert max(map(len, walked)) < 10


def test_threads_differentiate_at_once():
    results = {}

    def work(k):
        for _ in range(20):
            results[k] = wg.grad(wg.grad(lambda x: x**3))(float(k))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == {k: 6.0 * k for k in range(4)}


def test_a_custom_function_and_a_hook_are_met_inside():
    class Double(wg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    assert wg.grad(lambda x: Double.apply(x) * x)(3.0) == 12.0

    seen = []

    def f(x):
        y = x * x
        y.register_hook(seen.append)
        return y * 2

    assert wg.grad(f)(3.0) == 12.0
    assert [g.item() for g in seen] == [2.0]
