"""vmap beside PyTorch's: the same programs, values, gradients and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg

torch = pytest.importorskip("torch")

random = np.random.default_rng(2)
X = random.standard_normal((4, 3, 5))
Y = random.standard_normal((4, 5))
W = random.standard_normal((5, 3))
N = random.integers(0, 3, (4, 2))
R = np.array([1, 4, 8, 0])


def in_place(t: Any, x: Any) -> Any:
    out = t.zeros_like(x)
    out[1:] = x[:-1] * 2
    out[0] -= x.sum(0)
    return out.relu_()


PROGRAMS: dict[str, tuple[Any, Any, tuple[Any, ...]]] = {
    "sum": (lambda t, x: x.sum(), 0, (X,)),
    "sum over the last": (lambda t, x: x.sum(-1), 1, (X,)),
    "mean, var, std": (lambda t, x: x.mean(0) + x.var(0) * x.std(0), 0, (X,)),
    "softmax": (lambda t, x: t.softmax(x, -1).log(), 0, (X,)),
    "matmul": (lambda t, x, w: x @ w, (0, None), (X, W)),
    "matmul with a vector": (lambda t, x, y: x @ y, (0, 0), (X, Y)),
    "einsum": (lambda t, x, w: t.einsum("ij,jk->ik", x, w), (0, None), (X, W)),
    "outer": (lambda t, y: t.outer(y, y), 0, (Y,)),
    "where": (lambda t, x: t.where(x > 0, x, x.exp()), 0, (X,)),
    "max": (lambda t, x: x.max(0).values * x.amax(), 0, (X,)),
    "sort": (lambda t, x: x.sort(-1, descending=True).values[:, :2], 0, (X,)),
    "topk": (lambda t, x: x.topk(2).values, 0, (X,)),
    # A tolerance was no array to vmap: these called themselves without end, or were refused.
    "pinv atol": (lambda t, x: t.linalg.pinv(x, atol=1e-3), 0, (X,)),
    "pinv rtol of each": (lambda t, x, r: t.linalg.pinv(x, rtol=r / 10), (0, 0), (X, R)),
    "pinv atol of each": (lambda t, x, r: t.linalg.pinv(x, atol=r / 10), (None, 0), (X[0], R)),
    "cumsum": (lambda t, x: x.cumsum(0).cumprod(1), 0, (X,)),
    "cat": (lambda t, x, y: t.cat([x, y[None], x]), (0, 0), (X, Y)),
    "stack": (lambda t, x, y: t.stack([x[0], y], -1), (0, 0), (X, Y)),
    "flip and roll": (lambda t, x: x.flip(0).roll(2, 1), 0, (X,)),
    "views": (lambda t, x: x.T.reshape(-1).unsqueeze(0).expand(2, -1).flatten(), 0, (X,)),
    "chunk": (lambda t, x: x.chunk(2, 1)[1] * 2, 0, (X,)),
    "index": (lambda t, x: x[:, [0, 0, 2]] * x[1:2, ::2], 0, (X,)),
    "batched index": (lambda t, x, n: x[n], (0, 0), (X, N)),
    "index of a table": (lambda t, w, n: w[n], (None, 0), (W, N)),
    "gather": (lambda t, x, n: x.gather(0, n[:, None]), (0, 0), (X, N)),
    "index_select": (lambda t, x, n: x.index_select(0, n), (0, 0), (X, N)),
    "embedding": (lambda t, w, n: t.nn.functional.embedding(n, w), (None, 0), (W, N)),
    "masked_fill": (lambda t, x: x.masked_fill(x > 0, 2.0), 0, (X,)),
    "in place": (in_place, 0, (X,)),
    "clamp": (lambda t, x: x.clamp(-0.5, 0.5).abs().sqrt(), 0, (X + 3,)),
    "norm": (lambda t, x: x.norm(dim=1), 0, (X,)),
    "layer_norm": (lambda t, x: t.nn.functional.layer_norm(x, (5,)), 0, (X,)),
    "gelu": (lambda t, x: t.nn.functional.gelu(x), 0, (X,)),
    "mse_loss": (lambda t, x, y: t.nn.functional.mse_loss(x[0], y), (0, 0), (X, Y)),
    "conv1d": (
        lambda t, x, w: t.nn.functional.conv1d(x[None], w[:, :, None]),
        (0, None),
        (X, W),
    ),
    "avg_pool1d": (lambda t, x: t.nn.functional.avg_pool1d(x[None], 2), 0, (X,)),
    "diagonal": (lambda t, x: t.diagonal(x, 1), 0, (X,)),
    "tril": (lambda t, x: x.tril() + x.triu(1), 0, (X,)),
    "prod": (lambda t, x: x.prod(1), 0, (X,)),
    "logsumexp": (lambda t, x: x.logsumexp(0), 0, (X,)),
    "nested": (lambda t, x: t.vmap(lambda row: row * row.sum())(x), 0, (X,)),
    "nested over two": (
        lambda t, x, y: t.vmap(lambda row: t.dot(row, y))(x),
        (0, 0),
        (X, Y),
    ),
    "gradient of each": (
        lambda t, x, y: t.func.grad(lambda x: ((x @ y) ** 3).sum())(x),
        (0, 0),
        (X, Y),
    ),
    "Jacobian of each": (lambda t, y: t.func.jacrev(lambda y: y.sin() * y.sum())(y), 0, (Y,)),
}


def run(t: Any, name: str) -> tuple[Any, list[Any]]:
    f, dims, arrays = PROGRAMS[name]
    xs = [t.from_numpy(x.copy()).requires_grad_(x.dtype.kind == "f") for x in arrays]
    y = t.vmap(lambda *args: f(t, *args), in_dims=dims)(*xs)
    weight = t.from_numpy(np.cos(np.arange(y.numel(), dtype=float)).reshape(tuple(y.shape)))
    (y * weight).sum().backward()
    return y, [x.grad for x in xs if x.requires_grad]


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_gradients(name: str) -> None:
    y, grads = run(wg, name)
    z, expected = run(torch, name)
    assert tuple(y.shape) == tuple(z.shape)
    for a, b in zip([y, *grads], [z, *expected], strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-9, atol=1e-11)


REFUSALS: dict[str, Any] = {
    "no inputs": lambda t: t.vmap(lambda: 1)(),
    "sizes differ": lambda t: t.vmap(t.add)(t.ones(3), t.ones(4)),
    "a number is mapped over": lambda t: t.vmap(t.add)(t.ones(3), 2.0),
    "in_dims of another structure": lambda t: t.vmap(t.add, in_dims=(0,))(t.ones(3), t.ones(3)),
    "in_dims out of range": lambda t: t.vmap(t.sin, in_dims=1)(t.ones(3)),
    "in_dims of another type": lambda t: t.vmap(t.sin, in_dims="a")(t.ones(3)),
    "out_dims of another structure": lambda t: t.vmap(t.sin, out_dims=(0, 0))(t.ones(3)),
    "out_dims out of range": lambda t: t.vmap(t.sin, out_dims=2)(t.ones(3)),
    "out_dims None for a batched result": lambda t: t.vmap(t.sin, out_dims=None)(t.ones(3)),
    "no tensor returned": lambda t: t.vmap(lambda x: "text")(t.ones(3)),
    "control flow": lambda t: t.vmap(lambda x: x if x > 0 else -x)(t.ones(3)),
    "item": lambda t: t.vmap(lambda x: x * x.item())(t.ones(3)),
    "write into what is not batched": lambda t: t.vmap(lambda x: t.zeros(2).add_(x))(t.ones(3, 2)),
    "random": lambda t: t.vmap(lambda x: x + t.rand(()))(t.ones(3)),
    "randomness": lambda t: t.vmap(t.sin, randomness="any")(t.ones(3)),
    "chunk_size": lambda t: t.vmap(t.sin, chunk_size=0)(t.ones(3)),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name: str) -> None:
    with pytest.raises(Exception) as theirs:  # noqa: PT011 - ours must be of its type
        REFUSALS[name](torch)
    with pytest.raises(theirs.type):
        REFUSALS[name](wg)


def test_many_cotangents_at_once() -> None:
    def jacobian(t: Any) -> Any:
        x = t.from_numpy(Y[0].copy()).requires_grad_()
        y = x.exp() * x.sum()
        basis = t.eye(5, dtype=t.float64)
        return t.autograd.grad(y, x, basis, is_grads_batched=True)[0].numpy()

    np.testing.assert_allclose(jacobian(wg), jacobian(torch), rtol=1e-12)
