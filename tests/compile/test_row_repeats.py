"""Loops over rows: what they compute, what is left whole, and that memory does not grow."""

import numpy as np
import pytest

import wengert as wg
from tests.compile.builder import Builder, same
from wengert.compile.program.bodies import Repeat
from wengert.compile.program.infer import check_types
from wengert.compile.program.operations import added, take
from wengert.compile.program.passes import blocks
from wengert.compile.program.passes.blocks import in_blocks
from wengert.compile.program.program import Program, Statement, Value

N, LENGTH, P = 64, 6, 6


@pytest.fixture
def small(monkeypatch):
    """A block is a few rows."""
    monkeypatch.setattr(blocks, "BLOCK", 512)


class Body(Builder):
    """A loop's body, under construction."""

    def __init__(self, *kinds):
        super().__init__()
        self.kinds = [Value(shape, dtype) for shape, dtype in kinds]
        self.index = Value((), np.int64)

    def repeat(self, b, updates, outputs, inits, xs, around, backwards=False):
        """The statement, in a program; its results."""
        body = self.program
        body.inputs = [self.index, *self.kinds]
        body.updates, body.outputs = dict(updates), list(outputs)
        function = Repeat(body, LENGTH, backwards, len(inits), len(xs))
        finals = [Value(v.shape, v.dtype) for v in self.kinds[: len(inits)]]
        rows = [Value((LENGTH, *v.shape), v.dtype) for v in outputs]
        b.program.statements.append(
            Statement(function, (*inits, *xs, *around), {}, (*finals, *rows))
        )
        return finals, rows


def inner_loops(program: Program):
    """The loops in the bodies of loops."""
    outer = [s.function for s in program.statements if isinstance(s.function, Repeat)]
    return [s for r in outer for s in r.body.statements if isinstance(s.function, Repeat)]


def powers(n=N, twist=None):
    """A sum of powers, each by a number of its own, and its derivative by these numbers."""
    b = Builder()
    p, t, one = b.input(P, dtype="f8"), b.input(n, dtype="f8"), b.input(n, dtype="f8")
    zero = b.input(P, dtype="f8")
    row, few = ((n,), "f8"), ((P,), "f8")
    f = Body(row, row, few, row)
    y, power, p_in, t_in = f.kinds
    term = f(np.multiply, f(take, p_in, (f.index,)), power)
    f_updates = {y: f(np.add, y, term), power: f(np.multiply, power, t_in)}
    (y, _), (kept,) = f.repeat(b, f_updates, [power], [one, one], [], [p, t])
    g = b(np.multiply, y, 2.0)
    back = Body(row, few, row)
    g_in, sums, power = back.kinds
    total = back.total(back(np.multiply, g_in, power), 0)
    after = back(added, sums, (back.index,), total)
    if twist == "decays":
        after = back(np.multiply, after, 0.5)
    if twist == "is read":
        after = back(added, sums, (back.index,), back(np.multiply, total, back.total(sums, 0)))
    outputs = [sums] if twist == "is kept" else []
    (_, sums), _ = back.repeat(b, {sums: after}, outputs, [g, zero], [kept], [], backwards=True)
    b.program.outputs = [sums, b.total(g, 0)]
    return b.program


@pytest.mark.parametrize("n", [64, 80, 67])
def test_a_loop_and_its_derivative_are_a_loop_over_blocks_of_rows(small, n):
    # All iterations' rows of all elements lay in memory.
    program = powers(n)
    made = in_blocks(program, 256)
    check_types(made)
    assert len(inner_loops(made)) == (2 if n % 8 == 0 else 4)
    assert all(v.size < n * LENGTH for s in inner_loops(made) for v in s.outputs)
    same(program, made)


@pytest.mark.parametrize("twist", ["decays", "is read", "is kept"])
def test_a_part_of_the_state_that_more_is_done_with_than_adding_is_no_sum(small, twist):
    made = in_blocks(powers(twist=twist), 256)
    assert made is None or not any(len(s.function.body.updates) > 1 for s in inner_loops(made))
    if made is not None:
        same(powers(twist=twist), made)


def test_what_a_result_has_of_all_rows_is_not_made_in_blocks(small):
    program = powers()
    program.outputs.append(program.statements[0].outputs[2])  # all powers
    assert in_blocks(program, 256) is None


def test_the_derivative_of_a_loop_over_a_large_array_takes_the_memory_of_a_block():
    # 100 iterations of 40,000 numbers were kept, 32 MB.
    def misfit(w, x):
        y, power = np.zeros_like(x), np.ones_like(x)
        for k in range(100):
            y = y + w[k] * power
            power = np.sin(power * x)
        return np.sum((y - x) ** 2)

    slopes = wg.grad(misfit, argnums=(0, 1))
    f = wg.compile(slopes)
    rng = np.random.default_rng(0)
    w, x = rng.normal(size=100), rng.uniform(size=40_000)
    for mine, right in zip(f(w, x), slopes(w, x), strict=True):
        np.testing.assert_allclose(mine, right, rtol=1e-9, atol=1e-9)
    assert f.explain().arena < 1 << 20


# ---- random programs ----------------------------------------------------------------------------


def random_loop(seed):
    """A loop whose state has rows, numbers and sums, and another one back through what it keeps."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(32, 80))
    b = Builder()
    row, wide, few, one = ((n,), "f8"), ((n, 3), "f8"), ((P,), "f8"), ((), "f8")
    kinds = {"row": row, "wide": wide, "few": few, "one": one}

    def loop(first, xs, backwards):
        state = ["row", str(rng.choice([*kinds])), *rng.choice([*kinds], int(rng.integers(0, 3)))]
        around = ["row", *rng.choice([*kinds], int(rng.integers(1, 3)))]
        inside = Body(
            *(kinds[k] for k in state), *(x_kind for _, x_kind in xs), *(kinds[k] for k in around)
        )
        pool = list(inside.kinds)

        def some(*shapes):
            fit = [v for v in pool if v.shape in shapes]
            return fit[rng.integers(len(fit))] if fit else None

        def fitting(v):
            other = some(v.shape, ())
            return v if other is None else other

        for _ in range(int(rng.integers(4, 10))):
            v = pool[rng.integers(len(pool))]
            kind = rng.integers(6)
            if kind < 3 and v.shape:
                other = fitting(v)
                pool.append(inside(rng.choice([np.add, np.multiply, np.subtract]), v, other))
            elif kind == 3:
                pool.append(inside(rng.choice([np.tanh, np.sin, np.negative]), v))
            elif v.shape == (n,):
                pool.append(inside.total(v, 0))
            elif v.shape == (n, 3):
                pool.append(inside.total(v, int(rng.integers(2))))
        updates = {}
        for v in inside.kinds[: len(state)]:
            how, summed = rng.integers(5), some((n,))
            if how == 0:
                continue
            if how < 3 and v.shape in ((), (P,)):
                part = inside.total(inside(np.multiply, summed, fitting(summed)), 0)
                part = inside(np.multiply, part, 0.5) if rng.integers(2) else part
                at = v.shape and rng.integers(2)
                updates[v] = (
                    inside(added, v, (inside.index,), part) if at else inside(np.add, v, part)
                )
            else:
                new = some(v.shape)
                updates[v] = inside(np.tanh, new)
        kept = [
            v for v in (some((n,)), some((n, 3)), some(())) if v is not None and rng.integers(3)
        ]
        given = [first if first is not None else b.input(n, dtype="f8")]
        given += [b.input(*kinds[k][0], dtype="f8") for k in state[1:]]
        others = [b.input(*kinds[k][0], dtype="f8") for k in around]
        finals, rows = inside.repeat(b, updates, kept, given, [x for x, _ in xs], others, backwards)
        return finals, list(zip(rows, ((v.shape, "f8") for v in kept), strict=True))

    finals, rows = loop(None, [], False)
    between = b(np.sin, finals[0])
    lasts, more = loop(between, rows, True)
    ends = [*finals[1:], *lasts, *(v for v, _ in more)]
    b.program.outputs = [
        b.total(v, v.shape.index(n)) if n in v.shape else v for v in ends if rng.integers(3) == 0
    ]
    return b.program


def test_random_loops_compute_the_same_in_blocks(small):
    applied, carried = 0, 0
    for seed in range(600):
        program = random_loop(seed)
        if not program.outputs:
            continue
        made = in_blocks(program, 512)
        if made is not None:
            applied += 1
            check_types(made)
            made.check()
            same(program, made)
            carried += any(s.function.carries > 1 for s in inner_loops(made))
    assert applied > 60
    assert carried > 20
