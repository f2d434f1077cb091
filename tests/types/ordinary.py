"""Ordinary code, for type checkers: after each line the type is what `assert_type` says.

`mypy` and `basedpyright` read this file with the package. Nothing runs it.
"""

from __future__ import annotations

from typing import assert_type

import numpy as np

import wengert as wg
from wengert import Tensor, nn, optim
from wengert.compile.call.function import CompiledFunction
from wengert.nn import functional as F


def tensors() -> None:
    x = wg.randn(3, 4, requires_grad=True)
    assert_type(x, Tensor)
    assert_type(wg.zeros((2, 3), dtype=wg.float64), Tensor)
    assert_type(wg.arange(10) % 2 == 0, Tensor)
    assert_type(2 * x - 1, Tensor)
    assert_type(x[0, :2] @ x.T[:2], Tensor)
    assert_type(x.relu().sum(dim=1, keepdim=True), Tensor)
    assert_type(x.max(), Tensor)
    assert_type(x.max(1).values, Tensor)
    assert_type(wg.max(x, dim=0).indices, Tensor)
    assert_type(wg.where(x > 0, x, 0.0), Tensor)
    assert_type(wg.stack([x, x]).mean(), Tensor)
    assert_type(wg.linalg.svd(x).S, Tensor)
    assert_type(wg.special.erf(x) + wg.sin(x).exp_(), Tensor)
    assert_type(F.softmax(x, dim=-1), Tensor)
    assert_type(x.size(0), int)
    assert_type(x.shape[0] + x.ndim, int)
    assert_type(list(x), list[Tensor])
    x.sum().backward()
    assert_type(x.grad, Tensor)
    with wg.no_grad():
        x -= 0.1 * x.grad
    x.grad = None
    values, order = x.sort()
    assert_type(values, Tensor)
    assert_type(order, Tensor)


class Net(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.lift = nn.Linear(3, width)
        self.body = nn.Sequential(nn.ReLU(), nn.Dropout(0.1), nn.Linear(width, 2))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        h = self.lift(x)
        assert_type(h, Tensor)
        return self.body(h) if mask is None else self.body(h * mask)

    @wg.no_grad()
    def predict(self, x: Tensor) -> Tensor:
        return self(x).argmax(1)


def training() -> None:
    net = Net(8)
    optimizer = optim.Adam(net.parameters(), lr=1e-3)
    # The order of arguments is that of the class: checkers took weights for `size_average`.
    criterion = nn.CrossEntropyLoss(wg.ones(2), label_smoothing=0.1)

    @wg.compile
    def step(x: Tensor, y: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        assert_type(loss, Tensor)
        loss.backward()
        optimizer.step()
        return loss

    assert_type(step(wg.randn(5, 3), wg.arange(5)), Tensor)
    assert_type(net(wg.randn(5, 3), mask=None), Tensor)
    assert_type(net.predict(wg.randn(5, 3)), Tensor)
    assert_type(wg.compile(net)(wg.randn(5, 3)), Tensor)
    assert_type(net.lift.weight, nn.Parameter)
    assert_type(nn.LSTM(3, 4)(wg.randn(7, 3)), tuple[Tensor, tuple[Tensor, Tensor]])


def energy(x: np.ndarray, stiffness: float = 1.0) -> float:
    return float(stiffness * np.sum(x * x))


def scaled(x: np.ndarray, factor: float) -> np.ndarray:
    return x * factor


def transforms() -> None:
    x = np.ones(3)
    assert_type(wg.grad(energy)(x, 2.0).ndim, int)
    assert_type(wg.value_and_grad(scaled)(x, 2.0)[0], np.ndarray)
    assert_type(wg.value_and_grad(scaled)(x, 2.0)[1].ndim, int)
    wg.vmap(energy)(x, stiffness=2.0)
    assert_type(wg.vjp(energy, x)[0], float)
    assert_type(wg.hvp(energy, x, x).ndim, int)
    double: CompiledFunction[[float], float] = wg.compile(lambda x: 2 * x)
    assert_type(double(1.0), float)
