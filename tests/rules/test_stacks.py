"""Products of stacks of small matrices are NumPy's, whoever computes them."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.rules import blocks, stacks
from wengert.rules.stacks import matmul


@pytest.fixture
def runs(monkeypatch):
    """The calls that ran as machine code."""
    seen = []
    by_samples = blocks.by_samples
    monkeypatch.setattr(
        blocks, "by_samples", lambda *call, **rest: seen.append(call) or by_samples(*call, **rest)
    )
    return seen


def stack(rng, dtype, turned, *shape):
    if turned:
        return np.swapaxes(rng.standard_normal((*shape[:-2], *shape[:-3:-1])), -1, -2).astype(
            dtype, order="K"
        )
    return rng.standard_normal(shape).astype(dtype)


@pytest.mark.crossed
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("turn_a", [False, True])
@pytest.mark.parametrize("turn_b", [False, True])
@pytest.mark.parametrize("sizes", [(33, 70, 250), (64, 32, 64)])
def test_any_layout_in_memory_gives_the_product(dtype, turn_a, turn_b, sizes, runs):
    rng = np.random.default_rng(0)
    m, k, n = sizes
    a = stack(rng, dtype, turn_a, 7, 5, m, k)
    b = stack(rng, dtype, turn_b, 7, 5, k, n)
    out = matmul(a, b)
    assert (out.dtype, out.shape) == (dtype, (7, 5, m, n))
    rounding = 1e-5 if dtype is np.float32 else 1e-13
    np.testing.assert_allclose(out, np.matmul(a, b), rtol=0, atol=40 * rounding)
    assert len(runs) == (turn_b or m * k * n >= stacks.MEDIUM)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (np.ones((40, 64, 64), int), np.ones((40, 64, 64), int)),
        (np.ones((40, 64, 64), np.float32), np.ones((40, 64, 64))),
        (np.ones((1, 64, 64)), np.ones((40, 64, 64))),
        (np.ones((40, 64, 64)), np.ones((64, 64))),
        (np.ones((2, 64, 64)), np.ones((2, 64, 64))),
        (np.ones((2, 300, 300)), np.ones((2, 300, 300))),
        (np.ones((40, 64, 128))[:, :, ::2], np.ones((40, 64, 64))),
        (np.ones((0, 64, 64)), np.ones((0, 64, 64))),
        (np.ones((40, 64)), np.ones((40, 64, 64))),
    ],
    ids=[
        "integers",
        "two dtypes",
        "one repeated",
        "one",
        "few",
        "large",
        "strided",
        "none",
        "rows",
    ],
)
def test_others_are_numpys(left, right, runs):
    right = np.swapaxes(np.swapaxes(right, -1, -2).copy(), -1, -2)  # a layout that code is made for
    assert np.array_equal(matmul(left, right), np.matmul(left, right))
    assert not runs


def test_sizes_that_do_not_fit_are_numpys_error():
    with pytest.raises(ValueError, match="matmul"):
        matmul(np.ones((40, 64, 65)), np.ones((40, 64, 64)))


def test_products_of_tensors_and_their_gradients_take_this_way(runs):
    rng = np.random.default_rng(0)
    a, b = (wg.tensor(rng.standard_normal((24, 96, 80)), requires_grad=True) for _ in "ab")
    for product in (lambda: wg.bmm(a, b.mT), lambda: wg.einsum("bik,bjk->bij", a, b)):
        runs.clear()
        a.grad = b.grad = None
        out = product()
        g = wg.tensor(rng.standard_normal(out.shape))
        out.backward(g)
        assert len(runs) == 3
        x, y, h = (t.detach().numpy() for t in (a, b, g))
        np.testing.assert_allclose(out.detach().numpy(), x @ y.swapaxes(1, 2), atol=1e-12)
        np.testing.assert_allclose(a.grad.numpy(), h @ y, atol=1e-12)
        np.testing.assert_allclose(b.grad.numpy(), h.swapaxes(1, 2) @ x, atol=1e-12)
