"""Derivatives of branches that write memory from outside, which others save or write again.

Which branch is taken shows when the program runs, and with it what is overwritten.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.sweeps import swept
from wengert.errors import GradError, ModifiedError


class World:
    """A weight, a buffer, and branches that use them; `grad` is what it says of the weight."""

    def __init__(self) -> None:
        self.weight = wg.tensor([0.5, 1.5], requires_grad=True)
        self.buffer = wg.tensor([1.0, 3.0])

    def writes(self, x: Any) -> Any:
        self.buffer.mul_(2)
        return x * self.weight * self.buffer

    def reads(self, x: Any) -> Any:
        return x * self.weight * self.buffer

    def does_neither(self, x: Any) -> Any:
        return x * self.weight

    def writes_after(self, x: Any) -> Any:
        y = x * self.weight * self.buffer
        self.buffer.mul_(2)
        return y

    def writes_history(self, x: Any) -> Any:
        self.buffer.copy_(x.detach() + 1)
        return (x * self.weight * self.buffer) ** 2


def inside(world: World, f: Callable[..., Any]) -> Callable[..., Any]:
    def step(*args: Any) -> Any:
        loss = f(*args)
        loss.backward()
        return loss

    return step


def twice(world: World, f: Callable[..., Any]) -> Callable[..., Any]:
    def step(*args: Any) -> Any:
        loss = f(*args)
        (g,) = wg.autograd.grad(loss, [world.weight], create_graph=True)
        (loss + (g * g).sum()).backward()
        return loss

    return step


def outside(world: World, f: Callable[..., Any]) -> Callable[..., Any]:
    return f


def two(branch: Callable[..., Any], x: Any, y: Any) -> Any:
    return branch(0, x) + branch(1, y)


def nested(branch: Callable[..., Any], x: Any, y: Any) -> Any:
    return branch(1, branch(0, x).tanh() * y)


def in_a_loop(branch: Callable[..., Any], x: Any, y: Any) -> Any:
    return wg.fori_loop(0, 2, lambda i, s: branch(1, y) + branch(0, x) + s * 0.5, x)


BRANCHES = [name for name in vars(World) if not name.startswith("_")]
PAIRS = list(itertools.product(BRANCHES, BRANCHES))
HOW, SHAPES = (inside, outside, twice), (two, nested, in_a_loop)
ROWS = random.Random(0).sample([*itertools.product(PAIRS, PAIRS, SHAPES, HOW)], 400)
NAMED = {
    f"{a}, {b}, {c}, {d}, {s.__name__}, {h.__name__}": (((a, b), (c, d)), s, h)
    for (a, b), (c, d), s, h in ROWS
}


def seen(how: Any, shape: Any, pairs: Any, compile: Any) -> list[Any]:
    """What some calls give, the gradients, and what is in the buffer."""
    world = World()

    def branch(k: int, x: Any) -> Any:
        first, second = (getattr(world, name) for name in pairs[k])
        return wg.cond(x.sum() > 0, first, second, (x,))

    f = compile(how(world, lambda x, y: shape(branch, x, y).sum()))
    found = []
    for signs in ((1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)):
        world.weight.grad = None
        args = [wg.tensor([0.5, 0.25]) * sign for sign in signs]
        try:
            result = f(*args)
            if how is outside:
                result.backward()
            found.append([result.item(), world.weight.grad.tolist(), world.buffer.tolist()])
        except (ModifiedError, GradError) as error:
            found.append([type(error), world.buffer.tolist()])
    return found


@pytest.mark.filterwarnings("ignore:.*runs eagerly for such arguments")
@pytest.mark.parametrize("row", swept(NAMED, *[*NAMED][:40]))
def test_what_a_branch_saves_is_overwritten_where_another_one_was_taken(row: Any) -> None:
    # A branch that was not taken counted as one that had written: the program could not be pulled
    # back, and a function that called backward() itself was never compiled.
    pairs, shape, how = row
    eager = seen(how, shape, pairs, lambda f: f)
    compiled = seen(how, shape, pairs, wg.compile)
    for wanted, got in zip(eager, compiled, strict=True):
        assert len(wanted) == len(got)
        for a, b in zip(wanted, got, strict=True):
            assert a is b if isinstance(a, type) else np.allclose(a, b, rtol=1e-5), (wanted, got)


def test_a_function_with_a_branch_that_writes_and_reads_is_compiled() -> None:
    world = World()

    @wg.compile
    def step(x: Any) -> Any:
        loss = wg.cond(x.sum() > 0, world.writes, world.does_neither, (x,)).sum()
        loss.backward()
        return loss

    step(wg.ones(2))
    assert step.explain().statements
