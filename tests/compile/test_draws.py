"""Random numbers are drawn in the order of the program, whatever its loops are merged to."""

from __future__ import annotations

import gc
import random
import tracemalloc
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import nn, optim
from wengert.nn import functional as F


@pytest.mark.parametrize("early", [False, True])
def test_draws_keep_their_order_beside_loops_that_are_merged(early: bool) -> None:
    # Only what reads another was ordered: an optimizer's loops, merged with those that read the
    # mask of the dropout, let the permutation be drawn before that, silently.
    def drawn(compiles: bool) -> Any:
        layer = nn.Linear(3, 3)
        optimizer = optim.SGD(layer.parameters(), lr=0.1, momentum=0.9)

        def step(x: Any) -> Any:
            layer.weight.grad = wg.ones(3, 3)
            optimizer.step()
            order = wg.randperm(3) if early else None
            x = F.dropout(x, 0.5)
            order = wg.randperm(3) if order is None else order
            return x[:, order], order

        f = wg.compile(step) if compiles else step
        wg.manual_seed(0)
        return [[y.tolist() for y in f(wg.ones(2, 3))] for _ in range(3)]

    assert drawn(True) == drawn(False)


def test_no_example_of_what_is_drawn_stays_in_the_program() -> None:
    # The array that showed the shape of a draw was kept with the program, as large as it was.
    def held(n: int) -> int:
        compiled = wg.compile(lambda x: (x + wg.rand(n)).sum())
        tracemalloc.start()
        compiled(wg.ones(1)), compiled(wg.ones(1))
        gc.collect()
        taken: int = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        return taken

    held(10)  # what is made once
    arena = 4 * 1_000_000  # bytes: what is drawn lies there
    assert held(1_000_000) - held(10) < 1.5 * arena


class Program:
    """Random draws of several kinds, with work of few shapes between them."""

    def __init__(self, seed: int) -> None:
        choose = random.Random(seed)
        self.steps = [choose.choice(self.KINDS) for _ in range(choose.randint(4, 12))]
        self.held = wg.ones(3, 3)

    def work(self, x: Any) -> Any:
        with wg.no_grad():
            self.held.mul_(0.9).add_(0.01)
        return x

    KINDS = (
        work,
        work,
        lambda self, x: F.dropout(x, 0.5),
        lambda self, x: x[:, wg.randperm(3)],
        lambda self, x: x + wg.rand(3, 3),
        lambda self, x: x * wg.randn(3),
        lambda self, x: x - wg.randint(0, 5, (3, 3)),
        lambda self, x: x + wg.bernoulli(wg.full((3, 3), 0.5)),
        lambda self, x: wg.where(wg.rand(3) > 0.5, x, -x),
    )

    def __call__(self, x: Any) -> Any:
        for step in self.steps:
            x = step(self, x)
        return x


@pytest.mark.parametrize("seed", range(30))
def test_random_programs_draw_what_eager_mode_draws(seed: int) -> None:
    def drawn(compiles: bool) -> Any:
        program = Program(seed)
        f = wg.compile(program) if compiles else program
        wg.manual_seed(seed)
        results = [f(wg.arange(9.0).reshape(3, 3)).numpy() for _ in range(2)]
        return [*results, wg.rand(2).numpy(), program.held.numpy()]

    for eager, compiled in zip(drawn(False), drawn(True), strict=True):
        np.testing.assert_allclose(compiled, eager, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("layers", [2, 3])
def test_a_program_that_is_not_meant_has_drawn_nothing(layers: int) -> None:
    # What decides which program is meant was computed with what comes after a draw: each of them
    # drew before it left the call to the next.
    def run(compile: Any) -> tuple[list[float], list[bytes]]:
        wg.manual_seed(5)
        net = nn.GRU(4, 2, layers, dropout=0.2, batch_first=True, bidirectional=True).double()
        weights, count = list(net.parameters()), {"calls": 0}
        optimizer = optim.SGD(weights, lr=0.01)

        def step(x: Any) -> Any:
            loss = net(x)[0].square().mean()
            gradients = wg.autograd.grad(loss, weights, create_graph=True)
            loss = loss + 0.1 * sum(g.square().sum() for g in gradients)
            loss.backward()
            count["calls"] += 1
            if count["calls"] % 2 == 0:
                optimizer.step()
            return loss.detach()

        step, losses, states = compile(step), [], []
        for k in range(6):
            losses.append(float(step(wg.tensor(np.random.default_rng(k).normal(size=(4, 6, 4))))))
            states.append(wg.get_rng_state().numpy().tobytes())
        return losses, states

    (expected, before), (found, after) = run(lambda f: f), run(wg.compile)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert after == before
