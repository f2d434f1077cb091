"""Branches on numbers that change are compiled once for each way that they go."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from wengert import nn, optim

X = np.arange(3.0)
TABLE = {0: 1.0, 1: 2.0, 2: 3.0}
ARRAY = np.array([2.0, 3.0])
LAYERS = [nn.ReLU(), nn.Tanh()]


class Held:
    w0 = 1.0
    w1 = 2.0


def last(x: Any, n: int) -> Any:
    k = 0
    while k < n:
        x, k = x * 2, k + 1
    return x


WAYS: dict[str, tuple[Callable[..., Any], Any, int]] = {
    # what decides, the numbers, and how many programs are enough
    "remainder": (lambda x, n: x * 2 if n % 5 == 3 else x + n, range(41), 3),
    "one of several": (lambda x, n: x * 2 if n in (10, 20, 30) else x + n, range(41), 5),
    "equal": (lambda x, n: x * 2 if n == 7 else x + n, range(41), 3),
    "less": (lambda x, n: x * 2 if n < 5 else x + n, range(41), 4),
    "both": (lambda x, n: x * 2 if n > 3 and n % 2 else x + n, range(41), 5),
    "an item of a list": (lambda x, n: x * [1, 2, 3][n % 3] + n, range(41), 4),
    "a float": (lambda x, n: x * 2 if n > 0.5 else x + n, np.linspace(0, 1, 41).tolist(), 2),
    "computed floats": (lambda x, n: x if np.sin(n * np.pi / 7) > 0 else x + n, range(41), 3),
    "NumPy's ints": (lambda x, n: x if n % 3 == 1 else x + n, list(map(np.int64, range(40))), 2),
    "beside NumPy's": (lambda x, n: x if n > np.float64(3) else x + n, range(41), 3),
    "the lesser": (lambda x, n: x * min(1.0, n / 10), range(41), 3),
    "a schedule": (lambda x, n: x * (0.1 if n < 10 else 0.1 * 0.5 ** (n // 10)), range(41), 4),
    "a shift of any size": (lambda x, n: x * float(1 << (n % 3)), range(20), 16),
    "a length": (lambda x, n: x[: n % 3], range(20), 4),
    "an axis of nothing": (lambda x, n: [x * k for k in range(n % 3)], range(20), 4),
    "an item outside": (lambda x, n: x * TABLE[n % 3], range(20), 4),
    "an item by get": (lambda x, n: x * TABLE.get(n % 4, 5.0), range(20), 5),
    "an attribute by its name": (lambda x, n: x * getattr(Held, f"w{n % 2}"), range(20), 3),
    "a layer": (lambda x, n: LAYERS[n % 2](wg.as_tensor(x)), range(20), 3),
    "an item of what is found": (lambda x, n: x * ARRAY[n % 2], range(20), 3),
    "what ends a loop": (lambda x, n: last(x, n % 4), range(20), 5),
    "a text of C": (lambda x, n: (x, "%02d" % (n % 2)), range(20), 3),  # noqa: UP031
    "what is rounded": (lambda x, n: x * [1, 2, 3][round(n / 7)], range(14), 4),
    "a whole part": (lambda x, n: x * [1, 2, 3][int(n / 5)], range(14), 4),
    "math": (lambda x, n: x * math.floor(n / 5), range(14), 2),
    "a comparison that is kept": (lambda x, n: x if (n > 3, n % 2 == 0)[1] else -x, range(14), 3),
    "a text": (lambda x, n: (x, f"{n % 2}"), range(20), 3),
    "a division": (lambda x, n: x if 1 / n > 0.2 else x + n, range(1, 30), 3),
}


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("place", ["argument", "outside"])
def test_a_branch_on_numbers_is_compiled_once_for_each_way(name: str, place: str) -> None:
    # For each number; and after 16 of them it ran eagerly, and slower than eagerly.
    f, numbers, enough = WAYS[name]
    now = {"n": 0}
    given = f if place == "argument" else lambda x: f(x, now["n"])
    compiled = wg.compile(given)
    for n in numbers:
        now["n"] = n
        args = (X, n) if place == "argument" else (X,)
        for _ in range(2):
            found, known = compiled(*args), given(*args)
            assert repr(found) == repr(known), n
    assert len(compiled.retraces) < enough + (place == "outside")


def test_a_step_that_logs_each_tenth_time_is_two_programs_and_the_first() -> None:
    class Training:
        def __init__(self) -> None:
            wg.manual_seed(0)
            self.net, self.steps, self.log = nn.Linear(3, 2), 0, []
            self.optimizer = optim.SGD(self.net.parameters(), lr=0.1, momentum=0.9)

        def step(self, x: Any) -> Any:
            self.steps += 1
            self.optimizer.zero_grad()
            loss = (self.net(x) ** 2).mean()
            loss.backward()
            if self.steps % 10 == 0:
                for group in self.optimizer.param_groups:
                    group["lr"] *= 0.5
                self.log.append(self.steps)
            self.optimizer.step()
            return loss

    x = wg.ones(4, 3)
    eager, traced = Training(), Training()
    compiled = wg.compile(traced.step)
    for _ in range(45):
        np.testing.assert_allclose(compiled(x).item(), eager.step(x).item(), 1e-5, 1e-9)
    assert traced.log == eager.log == [10, 20, 30, 40]
    assert traced.optimizer.param_groups[0]["lr"] == eager.optimizer.param_groups[0]["lr"]
    assert len(compiled.retraces) <= 3


def test_nothing_has_happened_when_a_call_goes_to_another_program() -> None:
    drawn: list[float] = []
    state = wg.zeros(2)
    generator = np.random.default_rng(0)

    def f(x: Any, n: int) -> Any:
        state.add_(1)
        noise = generator.normal(size=2)
        drawn.append(1.0)
        return x + noise if n % 3 == 1 else x - noise

    compiled = wg.compile(f)
    other = np.random.default_rng(0)
    for n in range(20):
        found, noise = compiled(X[:2], n), other.normal(size=2)
        np.testing.assert_array_equal(found, X[:2] + noise if n % 3 == 1 else X[:2] - noise)
    assert state.tolist() == [20, 20]
    assert len(drawn) == 20
    assert len(compiled.retraces) <= 3


def test_what_is_decided_by_results_is_refused_as_before() -> None:
    with pytest.raises(wg.errors.TracingError):
        wg.compile(lambda x, n: x if x.sum() * n > 2 else -x)(wg.ones(2), 2.0)


def test_derivatives_are_those_of_the_way_that_was_taken() -> None:
    f = lambda x, n: (x**3 if n % 2 else x**2).sum()
    compiled = wg.compile(f)
    x = wg.tensor([2.0, 3.0], requires_grad=True)
    for n in range(8):
        first = wg.autograd.grad(compiled(x, n), x, create_graph=True)[0]
        known = wg.autograd.grad(f(x, n), x, create_graph=True)[0]
        assert first.tolist() == known.tolist()
        second = [wg.autograd.grad(g.sum(), x)[0].tolist() for g in (first, known)]
        assert second[0] == second[1]
    assert len(compiled.retraces) <= 2


class Buffers(nn.Module):
    """What layers keep in buffers, and go by."""

    def __init__(self) -> None:
        super().__init__()
        self.loc = nn.Parameter(wg.zeros(3))
        self.times = wg.linspace(0, 1, 4)
        self.edges = wg.tensor([[0, 1], [1, 1]])
        self.register_buffer("is_begun", wg.tensor(0, dtype=wg.uint8))
        self.register_buffer("count", wg.tensor(0))
        self.register_buffer("queue", wg.zeros(4))

    def begin(self, x: Any) -> Any:
        if self.is_begun.item() == 0:
            with wg.no_grad():
                self.loc.copy_(-x.mean(0))
            self.is_begun.fill_(1)
        return x + self.loc

    def every_third(self, x: Any) -> Any:
        self.count += 1
        return x * 10 if self.count % 3 == 0 else x

    def in_order(self, x: Any) -> Any:
        assert (self.times[1:] > self.times[:-1]).all()
        return x * self.times[0]

    def along_edges(self, x: Any) -> Any:
        first, second = self.edges.nonzero().t()
        return x[first] * x[second]

    def queued(self, x: Any) -> Any:
        at = int(self.count) % 4
        self.queue[at : at + 2] = x.detach()[0, :2]
        self.count += 2
        return x + self.queue.sum()


@pytest.mark.parametrize("name", ["begin", "every_third", "in_order", "along_edges", "queued"])
def test_what_buffers_hold_decides_as_it_is_at_each_call(name: str) -> None:
    # Only plain arrays were looked at: layers that begin with their first batch did not compile.
    def run(compile: Any) -> tuple[list[Any], Any]:
        m = Buffers()
        f, found = compile(getattr(m, name)), []
        for n in range(10):
            if n == 6:
                m.edges[0, 0] = 1
                m.is_begun.zero_()
                m.times.mul_(2.0)
            if n == 8:
                m.edges = wg.tensor([[1, 0], [0, 0]])
                m.count = wg.tensor(6)
            x = wg.tensor(np.random.default_rng(n).normal(size=(4, 3)))
            found += [f(x), *m.buffers()]
        return [x.detach().tolist() for x in found], f

    (ours, f), (known, _) = run(wg.compile), run(lambda g: g)
    for a, b in zip(ours, known, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)
    assert len(f.retraces) <= 6


def test_a_buffer_that_decides_an_error_raises_it_at_the_call_that_meets_it() -> None:
    m = Buffers()
    f = wg.compile(m.in_order)
    f(wg.ones(2)), f(wg.ones(2))
    m.times.zero_()
    with pytest.raises(AssertionError):
        f(wg.ones(2))


def test_parameters_decide_nothing() -> None:
    m = Buffers()
    with pytest.raises(wg.errors.TracingError):
        wg.compile(lambda x: x if m.loc.sum() > 1 else -x)(wg.ones(2))
