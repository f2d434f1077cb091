"""What bodies of loops and branches write outside: each iteration does, as in eager mode."""

from __future__ import annotations

import random
import runpy
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import nn
from wengert.errors import ModifiedError, StateError, TracingError


def outcome(f: Any, held: list[wg.Tensor], *args: wg.Tensor) -> list[np.ndarray[Any, Any]]:
    """Two calls and their gradients, and what is in the arrays outside then."""
    xs = [x.clone().requires_grad_() for x in args]
    seen = []
    for _ in range(2):
        y = f(*xs)
        y.sum().backward()
        seen.append(y.detach().numpy().copy())
    return seen + [x.grad.numpy() for x in xs] + [h.detach().numpy().copy() for h in held]


def check(make: Any, *args: wg.Tensor) -> None:
    """`make` returns a function, and the arrays of outside that it writes."""
    f, held = make()
    eager = outcome(f, held, *args)
    f, held = make()
    compiled = outcome(wg.compile(f), held, *args)
    for a, b in zip(eager, compiled, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5)


def filled() -> Any:
    def f(x: Any) -> Any:
        out = wg.zeros(5)

        def body(i: Any, s: Any) -> Any:
            out[i] = s * x
            return s * 1.1

        wg.fori_loop(0, 5, body, x)
        return out**2

    return f, []


def recurrence() -> Any:
    def f(x: Any) -> Any:
        out = wg.zeros(5)

        def body(i: Any, s: Any) -> Any:
            out[i] = (out[i - 1] + 1) * x
            return s

        wg.fori_loop(1, 5, body, x)
        return out**2

    return f, []


def through_a_view() -> Any:
    def f(x: Any) -> Any:
        out = wg.ones(3) * x
        row = out[1]

        def body(i: Any, s: Any) -> Any:
            row.add_(x * i)
            return s + row.clone()

        return out.sum() * wg.fori_loop(0, 5, body, x * 0)

    return f, []


def in_a_nested_loop() -> Any:
    count = wg.zeros(2, dtype=wg.int64)

    def f(x: Any) -> Any:
        def inner(j: Any, u: Any) -> Any:
            count[1] += 1
            return u * x

        def outer(i: Any, s: Any) -> Any:
            count[0] += 1
            return wg.fori_loop(0, 3, inner, s)

        return wg.fori_loop(0, 4, outer, x)

    return f, [count]


def as_long_as() -> Any:
    count = wg.zeros(())

    def f(x: Any) -> Any:
        path, k = wg.zeros(12), wg.zeros((), dtype=wg.int64)

        def body(s: Any) -> Any:
            path[k] = s
            k.add_(1)
            count.add_(1)
            return s * x

        return wg.while_loop(lambda s: s < 50, body, x) + path.sum()

    return f, [count]


def momentum() -> Any:
    moment = wg.zeros(())

    def f(x: Any) -> Any:
        def body(i: Any, s: Any) -> Any:
            g = wg.func.grad(lambda z: z**2 * x)(s)
            with wg.no_grad():
                moment.mul_(0.9).add_(g.detach() * 0.1)
            return s - 0.1 * g

        return wg.fori_loop(0, 5, body, x)

    return f, [moment]


def in_branches() -> Any:
    count = wg.zeros(3)

    def f(x: Any) -> Any:
        out = wg.zeros(3)

        def low(z: Any) -> Any:
            out[0] = z * 2
            count[1] += 1
            return z

        def high(z: Any) -> Any:
            out[1] = z * 3
            return z * 1

        def body(i: Any, s: Any) -> Any:
            return s + wg.cond(x * i < 5, low, high, x * i)

        return out * wg.fori_loop(0, 4, body, x) + out

    return f, [count]


def with_and_without_history() -> Any:
    def f(x: Any) -> Any:
        out = x * wg.ones(3)

        def quiet(z: Any) -> Any:
            with wg.no_grad():
                out[0] = 5.0
            return z

        def recorded(z: Any) -> Any:
            out[1] = z * 3
            return z * 1

        return out * wg.cond(x > 1, quiet, recorded, x)

    return f, []


def means_of_batches() -> Any:
    norm = nn.BatchNorm1d(1)

    def f(x: Any) -> Any:
        def body(i: Any, s: Any) -> Any:
            return wg.tanh(norm(s))

        return wg.fori_loop(0, 6, body, x * wg.arange(4.0)[:, None] ** 2).sum()

    return f, [norm.running_mean, norm.running_var, norm.num_batches_tracked]


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("n", wg.zeros(()))

    def forward(self, s: Any, x: Any) -> Any:
        self.n += 1
        return s * x, s


def counted_in_an_attribute() -> Any:
    module = Counting()

    def f(x: Any) -> Any:
        total, rows = wg.scan(lambda s, row: module(s, row), x, x * wg.ones(5))
        return total + rows.sum()

    return f, [module.n]


def rows_of_a_grid() -> Any:
    def f(x: Any) -> Any:
        u = wg.zeros(66, 8)
        u[0] = x * wg.ones(8)
        for t in range(1, 66):
            u[t] = u[t - 1] * 0.9 + wg.roll(u[t - 1], 1) * 0.1 * x
        return u[-1]

    return f, []


def twice_differentiated() -> Any:
    f = filled()[0]
    return wg.func.grad(wg.func.grad(lambda x: f(x).sum())), []


def forwards() -> Any:
    f = filled()[0]
    return lambda x: wg.func.jvp(f, (x,), (wg.ones(()),))[1], []


def in_a_batch() -> Any:
    count = wg.zeros(4)

    def f(x: Any) -> Any:
        def one(a: Any) -> Any:
            def body(i: Any, s: Any) -> Any:
                count.add_(1)
                return s * a

            return wg.fori_loop(0, 3, body, a)

        return wg.vmap(one)(x * wg.ones(3)).sum()

    return f, [count]


PROGRAMS = (
    filled, recurrence, through_a_view, in_a_nested_loop, as_long_as, momentum, in_branches,
    with_and_without_history, means_of_batches, counted_in_an_attribute, rows_of_a_grid,
    twice_differentiated, forwards, in_a_batch,
)  # fmt: skip


@pytest.mark.crossed
@pytest.mark.parametrize("number", [1.5, 2.5])
@pytest.mark.parametrize("make", PROGRAMS)
def test_what_a_body_writes_outside_is_written_by_each_iteration(make: Any, number: float) -> None:
    # It was an error, and a loop of Python's that did so was traced iteration by iteration.
    check(make, wg.tensor(number))


def test_a_loop_of_python_that_fills_an_array_is_one_statement() -> None:
    # Each of its iterations was traced: a simulation of 1,000 steps took seconds to compile.
    f = wg.compile(rows_of_a_grid()[0])
    f(wg.tensor(1.0, requires_grad=True))
    assert "x 65" in str(f.explain())


def test_what_an_iteration_saves_and_another_overwrites_is_an_error_as_in_eager_mode() -> None:
    def f(x: Any) -> Any:
        out = x * 1

        def body(i: Any, s: Any) -> Any:
            out.mul_(1.1)
            return s + out * x

        return wg.fori_loop(0, 5, body, x * 0) * out.sum()

    for g in (f, wg.compile(f)):
        with pytest.raises(ModifiedError, match="saved by MulBackward0"):
            g(wg.tensor(2.0, requires_grad=True)).backward()


def looks_into_it(out: Any, i: Any, s: Any) -> Any:
    out[0] = s.sum()
    return out


def rows_look_into_it(out: Any) -> Any:
    def body(s: Any, row: Any) -> Any:
        out[0] = row * 2
        return s + row, out[0]

    return wg.scan(body, wg.zeros(()), wg.ones(3))[1]


def goes_through_it(out: Any) -> Any:
    def body(s: Any, row: Any) -> Any:
        out.add_(1)
        return s + row, None

    return wg.scan(body, wg.zeros(()), out)[0]


@pytest.mark.parametrize(
    "f",
    [
        lambda out: wg.fori_loop(0, 3, lambda i, s: looks_into_it(out, i, s), out),
        rows_look_into_it,
        goes_through_it,
    ],
)
def test_a_part_of_the_state_that_looks_into_what_a_body_writes_is_refused(f: Any) -> None:
    # Eagerly they are one memory: all rows would show what the last iteration wrote.
    with pytest.raises(TracingError, match="that its state, a row or a result looks into"):
        wg.compile(f)(wg.zeros(3))


def test_a_number_of_python_that_a_body_writes_outside_is_refused_at_the_line(
    tmp_path: Any,
) -> None:
    # Reading that line from the disk was taken for something that the function does.
    path = tmp_path / "program.py"
    path.write_text(
        "import wengert as wg\nclass Model: count = 0\nmodel = Model()\n"
        "def body(i, s):\n    model.count += 1\n    return s\n"
        "def f(x): return wg.fori_loop(0, 3, body, x)\n"
    )
    namespace = runpy.run_path(str(path))
    with pytest.raises(StateError, match=r"writes to something outside of it(.|\n)*def f\(x\)"):
        wg.compile(namespace["f"])(wg.zeros(3))


def test_the_derivative_of_a_choice_that_is_written_into_a_place_goes_to_all_branches() -> None:
    # Its cotangent is a view, which the first branch looked up, and the others took from there.
    def make() -> Any:
        def f(x: Any) -> Any:
            def body(t: Any, s: Any) -> Any:
                s = s.clone()
                s[t] = wg.cond(x * t > 3, lambda z: z * z, lambda z: z * 2, x * t)
                return s

            return wg.fori_loop(0, 3, body, x * wg.zeros(3))

        return f, []

    check(make, wg.tensor(2.0))


# ---- random bodies ------------------------------------------------------------------------------


class Body:
    """A random body: statements that read and write some arrays of outside, and a state."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.statements = [self._statement(2) for _ in range(self.random.randint(1, 4))]
        self.loop = self.random.choice(["for", "fori", "while"])
        self.count = 66 if self.loop == "for" else self.random.randint(2, 5)

    def _expression(self) -> Any:
        k, c = self.random.randrange(2), self.random.uniform(0.1, 0.5)
        return self.random.choice(
            [
                lambda b, s, i, x: s * c,
                lambda b, s, i, x: wg.tanh(b[k].sum()) * c,
                lambda b, s, i, x: x * c + i * 0.01,
                lambda b, s, i, x: wg.sin(s * x),
            ]
        )

    def _statement(self, depth: int) -> Any:
        k, e = self.random.randrange(2), self._expression()
        j = self.random.randrange(4)

        def put(b: Any, s: Any, i: Any, x: Any) -> Any:
            b[k][i % 4] = e(b, s, i, x)
            return s

        def add(b: Any, s: Any, i: Any, x: Any) -> Any:
            b[k].add_(e(b, s, i, x))
            return s

        def part(b: Any, s: Any, i: Any, x: Any) -> Any:
            b[k][j : j + 2].sub_(e(b, s, i, x) * 0.5)
            return s

        def quiet(b: Any, s: Any, i: Any, x: Any) -> Any:
            with wg.no_grad():
                b[k].mul_(0.5)
            return s

        def step(b: Any, s: Any, i: Any, x: Any) -> Any:
            return s * 0.5 + e(b, s, i, x)

        kinds = [put, add, part, quiet, step]
        if depth:
            one, other = self._statement(depth - 1), self._statement(depth - 1)

            def either(b: Any, s: Any, i: Any, x: Any) -> Any:
                return wg.cond(
                    s > 0.3, lambda s: one(b, s, i, x) * 1, lambda s: other(b, s, i, x) * 1, s
                )

            def inner(b: Any, s: Any, i: Any, x: Any) -> Any:
                return wg.fori_loop(0, 2, lambda n, s: one(b, s, i + n, x), s)

            kinds += [either, inner]
        return self.random.choice(kinds)

    def __call__(self, x: Any, held: Any) -> Any:
        b = [held, wg.zeros(4) + x * self.random.choice([0.0])]
        run = lambda s, i: [s := statement(b, s, i, x) for statement in self.statements][-1]
        if self.loop == "for":
            s = x * 1
            for i in range(self.count):
                s = run(s, i)
        elif self.loop == "fori":
            s = wg.fori_loop(0, self.count, lambda i, s: run(s, i), x * 1)
        else:
            s, _ = wg.while_loop(
                lambda state: state[1] < self.count,
                lambda state: (run(state[0], state[1]), state[1] + 1),
                (x * 1, wg.tensor(0)),
            )
        return s + b[1].sum() + held.sum() * 0.1


def lived(seed: int, compiles: bool) -> Any:
    """What two calls return, the gradient, and the array outside; or the kind of error."""
    body, held = Body(seed), wg.zeros(4)

    def f(x: Any) -> Any:
        return body(x, held.detach())

    g = wg.compile(f) if compiles else f
    x = wg.tensor(0.7, requires_grad=True)
    try:
        ys = [g(x) for _ in range(2)]
        ys[-1].backward()
    except (ModifiedError, TracingError) as error:
        return type(error)
    return [*(y.item() for y in ys), x.grad.item(), *held.tolist()]


SEEDS = range(40)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_bodies_write_what_they_write_in_eager_mode(seed: int) -> None:
    eager, compiled = lived(seed, False), lived(seed, True)
    if isinstance(eager, type) or isinstance(compiled, type):
        assert isinstance(compiled, type), f"eager {eager}, compiled {compiled}"
        return
    np.testing.assert_allclose(compiled, eager, rtol=1e-3, atol=1e-5)
