"""Mistakes that a type checker has to find: an `ignore` that is not needed is an error.

`mypy` and `basedpyright` read this file with the package. Nothing runs it.
"""

from __future__ import annotations

import wengert as wg
from wengert import Tensor, nn, optim
from wengert.nn import functional as F


@wg.compile
def scaled(x: Tensor, factor: float) -> Tensor:
    return x * factor


class Net(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x


def mistakes(x: Tensor) -> None:
    wg.zeroes(3)  # type: ignore[attr-defined]
    x.reqires_grad_()  # type: ignore[attr-defined]
    wg.sum(x, dims=1)  # type: ignore[call-arg]
    wg.zeros(3, dytpe=wg.float64)  # type: ignore[call-arg]
    wg.zeros("3")  # type: ignore[arg-type]
    x.sum(dim="0")  # type: ignore[arg-type]
    x.reshape("2")  # type: ignore[arg-type]
    nn.Linear("3", 2)  # type: ignore[arg-type]
    nn.Dropout(prob=0.5)  # type: ignore[call-arg]
    optim.SGD(lr=0.1)  # type: ignore[call-arg]
    optim.SGD([x], learning_rate=0.1)  # type: ignore[call-arg]
    F.softmax(x, axis=1)  # type: ignore[call-arg]
    F.cross_entropy(x)  # type: ignore[call-arg]
    scaled(x)  # type: ignore[call-arg, misc]
    scaled(x, "2")  # type: ignore[arg-type]
    Net()(x, mask=None)  # type: ignore[call-arg]
    Net()(1.0)  # type: ignore[arg-type]
    wg.grad(scaled)(x, "2")  # type: ignore[arg-type]
    x.max(1).value  # type: ignore[attr-defined]
    wg.exp("x")  # type: ignore[arg-type]
    x["a"]  # type: ignore[index]
    x.backward(retain=True)  # type: ignore[call-arg]
