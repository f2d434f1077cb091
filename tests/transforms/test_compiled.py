"""Compiled transforms, and transforms inside compiled functions."""

import numpy as np
import pytest

import wengert as wg
from wengert.compile.backend import backend
from wengert.compile.plan.planner import plan

X = np.array([0.5, 1.5, -2.0])


def f(x):
    return np.sum(np.sin(x) * x) + np.exp(x[0])


def filled(x):
    y = np.zeros_like(x)
    for i in range(len(x)):
        y[i] = x[i] ** (i + 1)
    return np.sum(y)


def chained(x):
    y = np.zeros_like(x)
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = y[i - 1] * x[i] + y[0]
    return np.sum(y)


@pytest.mark.parametrize("function", [f, filled, chained], ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    "transform", [wg.grad, wg.value_and_grad, wg.jacrev, wg.hessian], ids=lambda t: t.__name__
)
def test_a_compiled_transform_gives_what_the_transform_gives(transform, function):
    plain = transform(function)
    compiled = wg.compile(plain)
    for x in (X, X + 1, 2 * X):  # the first call traces, the second runs, the third is linked
        expected, found = plain(x), compiled(x)
        if transform is not wg.value_and_grad:
            expected, found = (expected,), (found,)
        for a, b in zip(expected, found, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-12, atol=1e-12)
    assert len(compiled.specializations) == 1


def test_a_compiled_gradient_of_tensors_and_of_containers():
    g = wg.compile(wg.grad(lambda p: (p["a"] * p["b"][0]).sum()))
    for k in (1.0, 2.0):
        a, b = wg.tensor([k, 2.0]), wg.tensor([3.0, 4 * k])
        found = g({"a": a, "b": [b]})
        assert found["a"].tolist() == b.tolist()
        assert found["b"][0].tolist() == a.tolist()


def test_a_gradient_of_a_number():
    g = wg.compile(wg.grad(lambda x: np.sin(x) * x))
    for x in (1.0, 2.0, 3.0):
        assert float(g(x)) == pytest.approx(np.cos(x) * x + np.sin(x))


def test_a_gradient_inside_a_compiled_function():
    step = wg.compile(lambda w, rate: w - rate * wg.grad(f)(w))
    for rate in (0.1, 0.2):
        np.testing.assert_allclose(step(X, rate), X - rate * wg.grad(f)(X), rtol=1e-12)


def test_products_inside_a_compiled_function():
    product = wg.compile(lambda x, v: wg.hvp(f, x, v))
    pulled = wg.compile(lambda x, v: wg.vjp(np.tanh, x)[1](v)[0])
    for v in (X, X + 1):
        np.testing.assert_allclose(product(X, v), wg.hvp(f, X, v), rtol=1e-12)
        np.testing.assert_allclose(pulled(X, v), v / np.cosh(X) ** 2, rtol=1e-12)


def test_a_compiled_gradient_sees_its_parameters_change():
    net = wg.nn.Linear(3, 1)
    g = wg.compile(wg.grad(lambda x: net(x).sum()))
    x = wg.ones(3)
    for _ in range(3):
        np.testing.assert_allclose(g(x).detach().numpy(), net.weight.detach().numpy()[0])
        with wg.no_grad():
            net.weight.mul_(2)


def test_gradients_of_a_functional_call_compile():
    net = wg.nn.Sequential(wg.nn.Linear(2, 3), wg.nn.Tanh(), wg.nn.Linear(3, 1))
    x = wg.tensor([[1.0, 2.0]])
    plain = wg.grad(lambda p, x: wg.func.functional_call(net, p, x).sum())
    compiled = wg.compile(plain)
    for scale in (1.0, 0.5):
        parameters = {k: p.detach() * scale for k, p in net.named_parameters()}
        expected, found = plain(parameters, x), compiled(parameters, x)
        for name, g in expected.items():
            np.testing.assert_allclose(found[name].numpy(), g.numpy(), rtol=1e-5)


def test_the_gradient_of_a_compiled_function():
    compiled = wg.compile(f)
    np.testing.assert_allclose(wg.grad(compiled)(X), wg.grad(f)(X), rtol=1e-12)
    np.testing.assert_allclose(wg.hessian(compiled)(X), wg.hessian(f)(X), rtol=1e-12)


def test_every_kind_of_array_in_a_list_is_asked_what_a_function_means():
    # Only the first was once: a traced constant before a batched tangent left np.einsum to the body
    # for plain arrays, which asked for np.einsum again, without end.
    weights, positions = np.ones((5, 3)), np.arange(20.0).reshape(5, 4)

    def skinned(transforms):
        return wg.einsum("vi,ijk,vk->vj", wg.tensor(weights), transforms, wg.tensor(positions))

    transforms = wg.tensor(np.arange(48.0).reshape(3, 4, 4))
    expected = wg.jacfwd(skinned)(transforms)
    compiled = wg.compile(wg.jacfwd(skinned))
    for _ in range(3):
        np.testing.assert_allclose(compiled(transforms).numpy(), expected.numpy())


def seen(camera, x):
    """A point in a camera's picture: three numbers are turned, moved and cut into parts."""
    turned = np.cross(camera[:3], x - camera[3:6])
    v = turned[:2] / turned[2]
    return camera[6] * v * (1 + np.sum(v * v)) + camera[7:9]


def test_a_small_function_under_vmap_is_few_loops_over_the_batch():
    # Each slice and concatenation of its rows of three numbers was a loop once, 60 in all.
    draw = np.random.default_rng(0)
    cameras, points = draw.normal(size=(100, 9)), draw.normal(size=(100, 3))
    blocks = wg.vmap(wg.jacrev(seen, argnums=(0, 1)))
    compiled = wg.compile(blocks)
    for _ in range(3):
        for found, expected in zip(compiled(cameras, points), blocks(cameras, points), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert len(plan(compiled.program, backend()).steps) <= 6


def test_derivatives_of_a_small_function_under_vmap_keep_whole_arrays():
    draw = np.random.default_rng(0)
    cameras, points = draw.normal(size=(100, 9)), draw.normal(size=(100, 3))
    compiled = wg.compile(wg.vmap(seen))
    results = []
    for function in (wg.vmap(seen), compiled, compiled, compiled):
        x = wg.tensor(cameras, requires_grad=True)
        function(x, wg.tensor(points)).sin().sum().backward()
        results.append(x.grad.numpy())
    for found in results[1:]:
        np.testing.assert_allclose(found, results[0], rtol=1e-10)


def test_rows_between_products_of_matrices_stay_whole():
    # Each product would have all of their columns joined before it and cut out after it.
    net = wg.nn.Sequential(*(m for _ in range(4) for m in (wg.nn.Linear(8, 8), wg.nn.LayerNorm(8))))

    @wg.compile
    def loss(x):
        out = net(x).square().sum()
        out.backward()
        return out

    loss(wg.ones(128, 8))
    assert not any(s.name == "np.concatenate" for s in loss.program.statements)
