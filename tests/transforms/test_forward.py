"""jvp, linearize, jacfwd, and forward mode within and around the other transforms."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import wengert as wg
from wengert.errors import GradError

X = np.array([0.5, 1.5, -2.0])
V = np.array([1.0, 0.5, -1.0])


def smooth(x):
    return np.tanh(x) * x[0] + np.sin(x) ** 2


def filled(x):
    y = np.zeros_like(x)
    y[0] = np.sin(x[0])
    for i in range(1, len(x)):
        y[i] = y[i - 1] * x[i] if x[i] > 0 else x[i] ** 2
        y[0] += x[i] * x[0]
    y *= x
    return y


def scalar(f):
    return lambda x: np.sum(f(x) ** 3)


both = pytest.mark.parametrize("f", [smooth, filled], ids=lambda f: f.__name__)


@both
def test_jvp_is_the_jacobian_times_the_tangent(f):
    y, t = wg.jvp(f, (X,), (V,))
    np.testing.assert_allclose(y, f(X))
    np.testing.assert_allclose(t, wg.jacrev(f)(X) @ V)


def test_results_are_of_the_callers_kind():
    assert wg.jvp(lambda x: x**2, 3.0, 1.0) == (9.0, 6.0)
    point, direction = {"a": 2.0, "b": [3.0]}, {"b": [1.0], "a": 0.0}
    y, t = wg.jvp(lambda d: {"s": d["a"] * d["b"][0]}, point, direction)
    assert (y, t) == ({"s": 6.0}, {"s": 2.0})
    y, t = wg.jvp(np.sin, (X,), (V,))
    assert type(y) is type(t) is np.ndarray
    y, t = wg.jvp(wg.sin, (wg.tensor(X),), (wg.tensor(V),))
    assert type(y) is type(t) is wg.Tensor
    assert not t.requires_grad


def test_results_share_no_memory_with_the_arguments():
    y, t = wg.jvp(lambda x: x, (X,), (V,))
    y[0] = t[0] = 100
    assert X[0] == 0.5
    assert V[0] == 1.0


def test_aux_and_strict():
    y, t, aux = wg.jvp(lambda x: (x * x, {"seen": x + 1}), 2.0, 1.0, has_aux=True)
    assert (y, t, aux) == (4.0, 4.0, {"seen": 3.0})
    assert wg.jvp(lambda x: 0 * x.detach(), 2.0, 1.0)[1] == 0
    with pytest.raises(GradError, match="independent"):
        wg.jvp(lambda x: x.detach(), 2.0, 1.0, strict=True)


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: wg.jvp(np.sin, (X,), (V[:2],)), GradError, r"tangent at \[0\]|shape \(2,\)"),
        (lambda: wg.jvp(np.sin, (X,), (V, V)), GradError, "structure"),
        (lambda: wg.jvp(np.sin, (X,), (V * 1j,)), GradError, "complex"),
        (lambda: wg.jvp(np.sin, (3,), (1,)), GradError, "3.0"),
        (lambda: wg.jvp(lambda x: 1.0, (X,), (V,)), GradError, "where a tensor"),
        (lambda: wg.jvp(3, (X,), (V,)), TypeError, "takes a function"),
        (lambda: wg.jvp(lambda x: np.asarray(x), (X,), (V,)), RuntimeError, "tangent"),
        (lambda: wg.func.jacfwd(np.sin, chunk_size=0), ValueError, "chunk_size"),
        (lambda: wg.func.jacfwd(np.sin)(X + 0j), GradError, "real"),
    ],
)
def test_bad_calls_say_what_to_type(call, error, match):
    with pytest.raises(error, match=match):
        call()


# ---- Jacobians -----------------------------------------------------------------------------


@both
@pytest.mark.parametrize("chunk_size", [None, 1, 2])
def test_jacfwd_and_jacrev_agree(f, chunk_size):
    expected = np.stack([wg.jvp(f, (X,), (e,))[1] for e in np.eye(3)], -1)
    np.testing.assert_allclose(wg.func.jacfwd(f, chunk_size=chunk_size)(X), expected)
    np.testing.assert_allclose(wg.jacrev(f, chunk_size=chunk_size)(X), expected)
    np.testing.assert_allclose(wg.jacobian(f)(X), expected)


def test_jacobians_of_containers():
    def f(a, b):
        return {"p": a["x"] * b, "q": (np.sum(b) * a["x"][1], a["x"][0] * b[0])}

    args = ({"x": X}, V)
    for argnums in (0, 1, (1, 0)):
        forward, reverse = wg.func.jacfwd(f, argnums)(*args), wg.jacrev(f, argnums)(*args)
        leaves: list = []
        others: list = []
        from wengert.tree import collect

        assert collect(forward, leaves) == collect(reverse, others)
        for a, b in zip(leaves, others, strict=True):
            np.testing.assert_allclose(a, b)
            assert np.shape(a) == np.shape(b)


def test_jacobian_takes_the_mode_that_has_fewer_runs():
    # A custom rule that is wrong in one direction tells which was used.
    class Odd(wg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g * 10

        @staticmethod
        def jvp(ctx, t):
            return t * 100

    def tall(x):
        return np.stack([Odd.apply(x)[0]] * 5)

    def wide(x):
        return Odd.apply(x)[:1]

    assert wg.jacobian(tall)(wg.tensor(X)).max() == 100
    assert wg.jacobian(wide)(wg.tensor(X)).max() == 10


def test_empty_and_constant():
    assert wg.func.jacfwd(lambda x: np.sum(x) * np.ones(2))(np.zeros(0)).shape == (2, 0)
    np.testing.assert_array_equal(wg.func.jacfwd(lambda x: (x * 0).detach())(X), np.zeros((3, 3)))
    assert wg.jacobian(lambda x: x[:0])(X).shape == (0, 3)


# ---- second and third derivatives ----------------------------------------------------------


@both
def test_hessians_and_their_products_agree(f):
    f = scalar(f)
    expected = wg.jacrev(wg.jacrev(f))(X)
    np.testing.assert_allclose(wg.hessian(f)(X), expected)
    for outer, inner in itertools.product((wg.func.jacfwd, wg.jacrev), repeat=2):
        np.testing.assert_allclose(outer(inner(f))(X), expected, atol=1e-12)
    np.testing.assert_allclose(wg.hvp(f, X, V), expected @ V)
    np.testing.assert_allclose(wg.vhp(f, X, V), expected @ V)
    np.testing.assert_allclose(wg.jvp(wg.grad(f), (X,), (V,))[1], expected @ V)
    np.testing.assert_allclose(wg.grad(lambda x: wg.jvp(f, (x,), (V,))[1])(X), expected @ V)


@both
def test_third_derivatives_in_all_mixes(f):
    f = scalar(f)
    modes = (wg.func.jacfwd, wg.jacrev)
    expected = wg.jacrev(wg.jacrev(wg.jacrev(f)))(X)
    for a, b, c in itertools.product(modes, repeat=3):
        np.testing.assert_allclose(a(b(c(f)))(X), expected, atol=1e-11)


def test_levels_are_not_confused():
    # d/dx [x * d/dy (x + y)] at y = 1 is 1, and 2 if the two tangents are taken for each other.
    def inner(x):
        return x * wg.jvp(lambda y: x + y, (1.0,), (1.0,))[1]

    assert wg.jvp(inner, (2.0,), (1.0,)) == (2.0, 1.0)
    assert wg.grad(inner)(2.0) == 1.0
    assert wg.jvp(lambda x: wg.grad(lambda y: x * y * y)(x), (3.0,), (1.0,)) == (18.0, 12.0)


# ---- with the other transforms -------------------------------------------------------------


def test_jvp_and_vmap_in_both_orders():
    xs, vs = np.stack([X, X + 1]), np.stack([V, 2 * V])
    expected = [wg.jvp(smooth, (x,), (v,))[1] for x, v in zip(xs, vs, strict=True)]
    np.testing.assert_allclose(wg.jvp(wg.vmap(smooth), (xs,), (vs,))[1], expected)
    inside = wg.vmap(lambda x, v: wg.jvp(smooth, (x,), (v,))[1])
    np.testing.assert_allclose(inside(xs, vs), expected)
    np.testing.assert_allclose(
        wg.vmap(wg.func.jacfwd(smooth))(xs), [wg.jacrev(smooth)(x) for x in xs]
    )
    np.testing.assert_allclose(
        wg.vmap(wg.hessian(scalar(smooth)))(xs), [wg.hessian(scalar(smooth))(x) for x in xs]
    )


def test_a_tangent_that_requires_grad_is_differentiated_through():
    v = wg.tensor(V, requires_grad=True)
    w = wg.tensor(2.0, requires_grad=True, dtype=wg.float64)
    _, t = wg.jvp(lambda x: wg.sin(x * w), (wg.tensor(X),), (v,))
    t.sum().backward()
    np.testing.assert_allclose(v.grad.numpy(), 2 * np.cos(2 * X))
    np.testing.assert_allclose(w.grad.item(), np.sum(V * np.cos(2 * X) - 2 * V * X * np.sin(2 * X)))


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: lambda x: wg.jvp(f, (x,), (V,)),
        wg.func.jacfwd,
        lambda f: wg.hessian(scalar(f)),
        lambda f: lambda x: wg.hvp(scalar(f), x, V),
    ],
    ids=["jvp", "jacfwd", "hessian", "hvp"],
)
def test_forward_mode_compiles(transform):
    plain, compiled = transform(smooth), wg.compile(transform(smooth))
    for x in (X, X + 1, 2 * X):
        for a, b in zip(plain(x), compiled(x), strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-10, atol=1e-12)


def test_a_compiled_function_has_the_jvp_of_the_function():
    compiled = wg.compile(smooth)
    for _ in range(3):
        compiled(wg.tensor(X))
    expected = wg.jvp(smooth, (wg.tensor(X),), (wg.tensor(V),))
    for a, b in zip(wg.jvp(compiled, (wg.tensor(X),), (wg.tensor(V),)), expected, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy())


def test_checkpointed_regions_push_tangents():
    from wengert.utils.checkpoint import checkpoint

    def f(x):
        return checkpoint(lambda x: (x.tanh() * x.exp()).sum(), x, use_reentrant=False)

    x, v = wg.tensor(X), wg.tensor(V)
    np.testing.assert_allclose(
        wg.jvp(f, (x,), (v,))[1].item(),
        wg.jvp(lambda x: (x.tanh() * x.exp()).sum(), (x,), (v,))[1].item(),
    )


# ---- linearize -----------------------------------------------------------------------------


@both
def test_linearize_runs_the_function_once(f):
    runs = 0

    def counted(x):
        nonlocal runs
        runs += 1
        return f(x)

    y, push = wg.func.linearize(counted, X)
    np.testing.assert_allclose(y, f(X))
    for v in (V, X, 0 * V):
        np.testing.assert_allclose(push(v), wg.jvp(f, (X,), (v,))[1], atol=1e-12)
    assert runs == 1
    with pytest.raises(GradError, match="linearize: the tangent"):
        push(V[:2])
