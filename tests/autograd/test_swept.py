"""The sweep gives what its six lines say."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.autograd import engine
from wengert.tensor import current_node

RNG = np.random.default_rng(0)


def written(x, w):
    """A write through a view, and another through the base."""
    y = x * 2
    y[0] = w[1]
    y.mul_(w)
    return y.exp()


PROGRAMS = {
    "a chain": lambda x, w: x.sin().exp().tanh(),
    "a diamond": lambda x, w: (y := x * w) * y.sin() + y,
    "one argument twice": lambda x, w: x * x + x / w,
    "broadcasting": lambda x, w: x + w[0] * x.sum(0, keepdim=True),
    "several outputs": lambda x, w: x.split(1)[1] * x.unbind(0)[0] + w.max(1, keepdim=True)[0].mT,
    "outputs of which few are used": lambda x, w: wg.linalg.svd(x * w).S,
    "a list": lambda x, w: wg.cat([x, w, x @ w.mT], 1).tanh(),
    "writes": written,
    "complex numbers": lambda x, w: wg.complex(x, w).exp().abs(),
    "what depends on one alone": lambda x, w: (x + w.detach()).cos(),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_sweep_is_what_its_six_lines_say(name):
    leaves = [wg.tensor(RNG.uniform(0.5, 1.5, (3, 3)), requires_grad=True) for _ in range(2)]
    y = PROGRAMS[name](*leaves)
    g = RNG.standard_normal(y.shape)
    arrived = engine.swept(current_node(y), g)
    y.backward(wg.tensor(g))
    assert arrived
    for leaf in leaves:
        expected = arrived.pop((current_node(leaf), 0), None)
        assert (leaf.grad is None) == (expected is None)
        if expected is not None:
            np.testing.assert_array_equal(leaf.grad.numpy(), expected)
    assert not arrived
