"""vjp, jacrev, hessian, hvp, vhp."""

import numpy as np
import pytest

import wengert as wg
from tests.transforms import numeric

RNG = np.random.default_rng(1)
A, X, V = RNG.standard_normal((3, 4)), RNG.standard_normal(4), RNG.standard_normal(4)


def f(x):
    return np.tanh(A @ x) * x[:3]


def scalar(x):
    return np.sum(f(x) ** 2)


def test_pull_is_the_transposed_jacobian():
    y, pull = wg.vjp(f, X)
    np.testing.assert_allclose(y, f(X))
    v = RNG.standard_normal(3)
    (g,) = pull(v)
    np.testing.assert_allclose(g, v @ numeric.jacobian(f, X), rtol=1e-6, atol=1e-8)


def test_pull_may_be_called_again_whatever_happened_to_the_arrays():
    x = X.copy()
    y, pull = wg.vjp(np.exp, x)
    first = pull(np.ones(4))[0].copy()
    y *= 0
    x *= 0
    v = np.ones(4)
    (second,) = pull(v)
    v *= 5
    np.testing.assert_array_equal(first, second)
    _, pull = wg.vjp(lambda x: x, X)
    v = np.ones(4)
    (g,) = pull(v)
    g *= 5
    np.testing.assert_array_equal(v, np.ones(4))


def test_pull_frees_what_it_needs_when_told_so():
    _, pull = wg.vjp(np.exp, X)
    pull(V, retain_graph=False)
    with pytest.raises(wg.errors.FreedGraphError):
        pull(V)


def test_the_structure_of_outputs_is_that_of_cotangents():
    y, pull, aux = wg.vjp(lambda a, b: ({"s": a * b, "t": [a]}, "aux"), 2.0, 3.0, has_aux=True)
    assert y == {"s": 6.0, "t": [2.0]}
    assert aux == "aux"
    assert pull({"t": [1.0], "s": 10.0}) == (31.0, 20.0)


def test_a_product_is_differentiable_in_its_cotangent_and_its_primal():
    x = wg.tensor(X, requires_grad=True)
    v = wg.tensor(V, requires_grad=True)
    _, pull = wg.vjp(lambda x: x**3, x)
    (g,) = pull(v)
    by_x, by_v = wg.autograd.grad(g.sum(), (x, v))
    np.testing.assert_allclose(by_x.numpy(), 6 * X * V)
    np.testing.assert_allclose(by_v.numpy(), 3 * X**2)
    assert not pull(v, create_graph=False)[0].requires_grad


def test_a_complex_cotangent_pulls_back_through_a_complex_function():
    z = RNG.standard_normal(3) + 1j * RNG.standard_normal(3)
    _, pull = wg.vjp(lambda z: z * z, z)
    v = np.array([1.0, 1j, 2 - 1j])
    np.testing.assert_allclose(pull(v)[0], np.conj(2 * z) * v)


def test_the_jacobian_is_the_difference_quotient():
    np.testing.assert_allclose(wg.jacrev(f)(X), numeric.jacobian(f, X), rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(wg.jacobian(f)(X), wg.jacrev(f)(X))


def test_the_jacobian_has_the_output_shape_then_the_input_shape():
    M = RNG.standard_normal((2, 3))
    J = wg.jacrev(lambda m: m.T * m[0, 0])(M)
    assert J.shape == (3, 2, 2, 3)
    np.testing.assert_allclose(J, numeric.jacobian(lambda m: m.T * m[0, 0], M), atol=1e-8)
    assert wg.jacrev(lambda x: x * X)(2.0).shape == (4,)
    assert wg.jacrev(lambda x: x[:0])(X).shape == (0, 4)
    assert type(wg.jacrev(lambda x: x * 2)(2.0)) is float


def test_the_jacobian_of_containers():
    J = wg.jacrev(lambda p: [p["a"] * p["b"], p["b"]])({"a": 2.0, "b": 3.0})
    assert J == [{"a": 3.0, "b": 2.0}, {"a": 0.0, "b": 1.0}]
    J, aux = wg.jacrev(lambda a, b: (a * b, a), (0, 1), has_aux=True)(2.0, 3.0)
    assert J == (3.0, 2.0)
    assert aux == 2.0


def test_a_jacobian_has_history_where_an_outer_differentiation_sees_it():
    x = wg.tensor(X, requires_grad=True)
    J = wg.jacrev(lambda x: x**3)(x)
    (g,) = wg.autograd.grad(J.sum(), x)
    np.testing.assert_allclose(g.numpy(), 6 * X)


def test_the_hessian_is_the_jacobian_of_the_gradient():
    H = wg.hessian(scalar)(X)
    np.testing.assert_allclose(H, numeric.jacobian(wg.grad(scalar), X), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(H, H.T)


def test_the_hessian_has_blocks_for_several_arguments():
    H = wg.hessian(lambda a, b: a * a * b, (0, 1))(2.0, 3.0)
    assert H == ((6.0, 4.0), (4.0, 0.0))
    blocks = wg.hessian(lambda p: p["a"] * p["b"])({"a": 1.0, "b": 1.0})
    assert blocks == {"a": {"a": 0.0, "b": 1.0}, "b": {"a": 1.0, "b": 0.0}}


def test_products_with_the_hessian_are_products_with_the_hessian():
    H = wg.hessian(scalar)(X)
    np.testing.assert_allclose(wg.hvp(scalar, X, V), H @ V)
    np.testing.assert_allclose(wg.vhp(scalar, X, V), V @ H)
    assert wg.hvp(lambda x: x**3, 2.0, 1.0) == 12.0
    assert wg.hvp(lambda a, b: a * a * b, (2.0, 3.0), (1.0, 0.0)) == (6.0, 4.0)
    t = wg.hvp(lambda x: (x**3).sum(), wg.tensor([1.0, 2.0]), wg.tensor([1.0, 0.0]))
    assert t.tolist() == [6.0, 0.0]
    assert wg.hvp(lambda p: p["a"] ** 3, {"a": 2.0}, {"a": 1.0}) == {"a": 12.0}


def test_the_hessian_of_a_linear_function_is_zero():
    np.testing.assert_array_equal(wg.hessian(np.sum)(X), np.zeros((4, 4)))
    np.testing.assert_array_equal(wg.hvp(np.sum, X, V), np.zeros(4))


def test_an_array_filled_from_itself_has_derivatives_of_second_order():
    def chain(x):
        y = np.zeros_like(x)
        y[0] = np.sin(x[0])
        for i in range(1, len(x)):
            y[i] = y[i - 1] * x[i] + y[0]
        return y[-1]

    expected = numeric.jacobian(wg.grad(chain), X)
    np.testing.assert_allclose(wg.hessian(chain)(X), expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(wg.hvp(chain, X, V), expected @ V, rtol=1e-6, atol=1e-8)
    (g,) = wg.vjp(chain, X)[1](1.0)
    np.testing.assert_allclose(g, numeric.gradient(chain, X), rtol=1e-6, atol=1e-8)


def test_solving_with_hessian_products_finds_the_newton_step():
    def g(x):
        return np.sum((x - 1) ** 4) + np.sum(x * x)

    x = X.copy()
    for _ in range(30):
        x = x - np.linalg.solve(wg.hessian(g)(x), wg.grad(g)(x))
    np.testing.assert_allclose(wg.grad(g)(x), 0, atol=1e-10)


def test_products_with_a_hessian_have_the_kinds_of_their_arguments():
    # A number among arrays once came back as NumPy's number.
    def f(p):
        return np.sum(p["x"] ** 2) * p["s"] ** 3

    p = {"x": np.array([1.0, 2.0]), "s": 2.0}
    for product in (wg.hvp(f, p, p), wg.vhp(f, p, p)):
        assert type(product["s"]) is float
        assert product["s"] == 240.0  # d2f/ds2 s + d2f/dsdx x = 6 s |x|^2 s + 3 s^2 2 |x|^2
        np.testing.assert_array_equal(product["x"], [64.0, 128.0])
