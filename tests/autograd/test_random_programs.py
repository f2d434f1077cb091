"""Random programs, run by wengert and by PyTorch: all gradients agree, of first and second order.

A program is a list of random choices, so that both libraries make the same ones: operations on
tensors made before, views, writes in place, custom functions, tensors with several outputs.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import wengert as wg

torch = pytest.importorskip("torch")


def scaled(lib: Any) -> Any:
    class Scaled(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, factor: float) -> Any:
            y = (x * factor).tanh()
            ctx.save_for_backward(y)
            ctx.factor = factor
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (y,) = ctx.saved_tensors
            return g * (1 - y * y) * ctx.factor, None

    return Scaled.apply


STEPS: list[Any] = [
    lambda lib, a, b, r: a + b,
    lambda lib, a, b, r: a * b,
    lambda lib, a, b, r: a - b * 0.5,
    lambda lib, a, b, r: a.tanh(),
    lambda lib, a, b, r: a.sin() * b.cos(),
    lambda lib, a, b, r: a / (b * b + 1),
    lambda lib, a, b, r: a @ b,
    lambda lib, a, b, r: a.T,
    lambda lib, a, b, r: a.sum(0) + b,
    lambda lib, a, b, r: a.mean(1, keepdim=True) * b,
    lambda lib, a, b, r: lib.cat([a[:1], b[1:]]),
    lambda lib, a, b, r: a[r.randrange(3)].expand(3, 3) - b,
    lambda lib, a, b, r: (lambda parts: parts[0] * parts[2] + b)(a.unbind()),
    lambda lib, a, b, r: (
        lambda parts: lib.stack([parts[1][:, 0], parts[0][:, 1], parts[0][:, 0]]) + b
    )(a.split([2, 1], dim=1)),
    lambda lib, a, b, r: scaled(lib)(a, 0.5 + r.random()),
    lambda lib, a, b, r: a.detach() * b,
    lambda lib, a, b, r: (a * 1).mul_(b),
    lambda lib, a, b, r: written(a * 1, b, r),
    lambda lib, a, b, r: a.reshape(9)[::2].sum() * b,
    lambda lib, a, b, r: a.clamp(-0.5, 0.5) + b.abs(),
]


def written(a: Any, b: Any, r: random.Random) -> Any:
    """`a` after a write through one of its views."""
    view = [lambda: a[r.randrange(3)], lambda: a[:, 1:], lambda: a.T[1], lambda: a.view(9)[2:5]][
        r.randrange(4)
    ]()
    if r.random() < 0.5:
        view.mul_(0.5)
    else:
        view.add_(b.sum() * 0.1)
    return a


def run(lib: Any, seed: int, length: int = 12, hooks: bool = True) -> tuple[list[Any], Any]:
    """The leaves and the result of a random program."""
    r = random.Random(seed)
    values = np.random.default_rng(seed).standard_normal((3, 3, 3))
    leaves = [lib.tensor(v.tolist(), dtype=lib.float64, requires_grad=True) for v in values]
    tensors = list(leaves)
    for _ in range(length):
        a, b = r.choice(tensors), r.choice(tensors)
        y = r.choice(STEPS)(lib, a, b, r)
        tensors.append(y * 0.5)
        if hooks and r.random() < 0.2:
            tensors[-1].register_hook(lambda g: g * 0.9)
        if r.random() < 0.2:
            tensors[-1].retain_grad()
    return tensors, sum(((t * t).sum() for t in tensors[-4:]), lib.zeros((), dtype=lib.float64))


def numbers(grads: Any) -> list[Any]:
    return [None if g is None else np.asarray(g.detach().tolist()) for g in grads]


def assert_same(ours: list[Any], theirs: list[Any]) -> None:
    for a, b in zip(ours, theirs, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(60))
def test_backward_agrees(seed):
    found = []
    for lib in (wg, torch):
        tensors, y = run(lib, seed)
        y.backward()
        found.append(numbers([t.grad for t in tensors if t.is_leaf or t.retains_grad]))
    assert_same(*found)


@pytest.mark.parametrize("seed", range(60))
def test_second_derivatives_agree(seed):
    found = []
    for lib in (wg, torch):
        tensors, y = run(lib, seed, length=8)
        leaves = tensors[:3]
        firsts = lib.autograd.grad(y, leaves, create_graph=True, allow_unused=True)
        known = [g for g in firsts if g is not None and g.requires_grad]
        seconds = (
            lib.autograd.grad([(g * g).sum() for g in known], leaves, allow_unused=True)
            if known
            else []
        )
        found.append(numbers([*firsts, *seconds]))
    assert_same(*found)


@pytest.mark.parametrize("seed", range(30))
def test_gradients_of_what_lies_between_agree(seed):
    found = []
    for lib in (wg, torch):
        tensors, y = run(lib, seed, hooks=False)  # see test_hooks.py for the difference
        wanted = [t for t in tensors[::2] if t.requires_grad]
        found.append(numbers(lib.autograd.grad(y, wanted, allow_unused=True)))
    assert_same(*found)
