"""What a call has done that ends with an error: what the function does before it raises.

A program finds an error before it has written anything, and left it so. A sweep takes what raises
by its values, beside what is written before it or after it.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.compile.stories import same
from wengert import nn
from wengert.nn import functional as F

TABLE = wg.arange(8.0).reshape(4, 2) + 1
DRAWS = np.random.default_rng(0)
RAISES: dict[str, Callable[[Any], Any]] = {
    "an index": lambda i: TABLE[i],
    "nll_loss": lambda i: F.nll_loss(TABLE[: len(i)], i),
    "binary_cross_entropy": lambda i: F.binary_cross_entropy(i / 3, wg.zeros(len(i))),
    "gather": lambda i: TABLE.gather(0, i[:, None].expand(-1, 2)),
    "one_hot": lambda i: F.one_hot(i, 4),
    "an inverse": lambda i: wg.linalg.inv(wg.outer(i, i) + wg.eye(len(i)) * (1 - i[0] % 2)),
    "a draw": lambda i: wg.as_tensor(DRAWS.normal(0, 5 - float(i.max()), size=2)),
    "in a branch": lambda i: wg.cond(i.sum() > 1, lambda: TABLE[i], lambda: TABLE[: len(i)]),
    "in a loop": lambda i: wg.fori_loop(0, 3, lambda k, s: s + TABLE[i], wg.zeros(len(i), 2)),
    "an error of Python": lambda i: TABLE[i] if len(i) == 2 else 1 / 0,
}


def step(world: Any) -> None:
    (world.weight * 2).sum().backward()
    world.optimizer.step()
    world.optimizer.zero_grad()


WRITES: dict[str, Callable[[Any], Any]] = {
    "a tensor": lambda w: w.x.add_(1),
    "an attribute": lambda w: setattr(w, "count", w.count + 1),
    "a list": lambda w: w.items.append(w.x * 2),
    "a shorter list": lambda w: w.items.pop(),
    "a dictionary": lambda w: w.table.update(k=w.x.sum()),
    "an array": lambda w: w.array.__setitem__(0, w.array[0] + 1),
    "a gradient": lambda w: (w.weight * w.x.sum()).sum().backward(),
    "a gradient that is set": lambda w: setattr(w.weight, "grad", w.weight.detach() * 3),
    "a step": step,
    "running means": lambda w: w.norm(w.rows),
    "data": lambda w: setattr(w.other, "data", w.x * 1),
    "a random number": lambda w: w.items.append(wg.rand(2)),
    "NumPy's random number": lambda w: w.items.append(w.rng.normal(size=2)),
    "Python's random number": lambda w: w.items.append(w.random.random()),
    "a variable": lambda w: w.bump(),
}
ORDERS = ("before", "after", "both")


def world() -> Any:
    import random

    wg.manual_seed(0)
    w = SimpleNamespace(x=wg.tensor([1.0, 2.0]), count=0, items=[1, 2], table={})
    w.array, w.rng, w.random = np.zeros(3), np.random.default_rng(0), random.Random(0)
    w.weight, w.other, w.rows = nn.Parameter(wg.ones(2)), wg.zeros(2), wg.arange(6.0).reshape(3, 2)
    w.optimizer, w.norm = wg.optim.Adam([w.weight], lr=0.1), nn.BatchNorm1d(2)
    bumped = 0

    def bump() -> None:
        nonlocal bumped
        bumped += 1

    w.bump, w.bumped = bump, lambda: bumped
    return w


def plain(x: Any) -> Any:
    if isinstance(x, list | dict):
        parts = x.items() if isinstance(x, dict) else enumerate(x)
        return [(key, plain(part)) for key, part in parts]
    return x.tolist() if isinstance(x, wg.Tensor | np.ndarray) else x


def seen(w: Any) -> Any:
    moments = [plain(state) for state in w.optimizer.state.values()]
    held = [w.x, w.array, w.weight, w.weight.grad, w.other, w.norm.running_mean, w.items, w.table]
    drawn = [wg.rand(1), w.rng.normal(), w.random.random()]
    return [*map(plain, held), w.x._version, w.count, w.bumped(), moments, *map(plain, drawn)]


def told(raises: str, writes: str, order: str) -> Callable[[Any], Any]:
    def story(compile: Any) -> Any:
        w = world()
        DRAWS.bit_generator.state = np.random.default_rng(0).bit_generator.state

        def function(i: Any) -> Any:
            if order != "after":
                WRITES[writes](w)
            y = RAISES[raises](i)
            if order != "before":
                WRITES[writes](w)
            return y

        call, log = compile(function), []
        for numbers in ([0, 1], [1, 2], [0, 9], [1, 1, 1], [9, 1], [0, 1]):
            try:
                log.append(plain(call(wg.tensor(numbers))))
            except Exception as error:
                log.append((type(error).__name__, str(error)))
            log.append(seen(w))
        return log

    return story


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("writes", WRITES)
@pytest.mark.parametrize("raises", RAISES)
def test_a_call_that_fails_has_done_what_comes_before(raises: str, writes: str, order: str) -> None:
    same(told(raises, writes, order))


def test_a_question_that_an_argument_refuses_is_asked_where_the_function_asks() -> None:
    # It was asked for the signature, of each later argument: the call raised before it had drawn.
    def story(compile: Any) -> Any:
        rng = np.random.default_rng(0)

        def function(x: Any) -> Any:
            return (x + wg.as_tensor(rng.normal(size=2))) * (1 + x._version)

        call, log = compile(function), []
        with wg.inference_mode():
            untold = wg.ones(2)
        for x in (wg.ones(2), wg.ones(2), untold, wg.ones(2), untold, wg.ones(2)):
            try:
                log.append(plain(call(x)))
            except Exception as error:
                log.append((type(error).__name__, str(error)))
        return log

    same(story)
