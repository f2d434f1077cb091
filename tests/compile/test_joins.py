"""Joined arrays that are computed with part by part: the same elements, in fewer loops."""

import numpy as np
import pytest

import wengert as wg
from tests.compile.builder import Builder, same
from wengert.compile.program.infer import check_types
from wengert.compile.program.operations import full, updated, view
from wengert.compile.program.passes import joins
from wengert.compile.program.passes.dead import dead
from wengert.compile.program.passes.joins import part_by_part


@pytest.fixture
def small(monkeypatch):
    """Every array is large, and worth it."""
    monkeypatch.setattr(joins, "LARGE", 1)
    monkeypatch.setattr(joins, "FOR_EACH", 100)


def copied(program):
    """A program that may be changed."""
    other = type(program)()
    vars(other).update(vars(program))
    other.statements, other.outputs = list(program.statements), list(program.outputs)
    return other


def random_joins(seed):
    """Rolls, slices among others and joins of parts, and what is computed of them."""
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(2, 7, size=rng.integers(1, 4)))
    b = Builder()
    pool = [b.input(*shape, dtype="f8"), b.input(*shape, dtype="f8")]
    row = b.input(shape[-1], dtype="f8")

    def one():
        return pool[int(rng.integers(len(pool)))]

    def part(x, axis, i, j):
        return b(
            view,
            x,
            tuple(slice(i, j, 1) if k == axis else slice(0, n, 1) for k, n in enumerate(shape)),
        )

    def roll():
        x, axis = one(), int(rng.integers(len(shape)))
        i = int(rng.integers(shape[axis] + 1))
        ends = (part(x, axis, i, shape[axis]), part(x, axis, 0, i))
        return b(np.concatenate, ends, axis=axis)

    def place():
        bounds = [sorted(map(int, rng.integers(0, n + 1, size=2))) for n in shape]
        box = tuple(slice(i, j, 1) for i, j in bounds)
        around = b(full, shape, 0, np.dtype("f8")) if rng.integers(2) else one()
        return b(updated, around, box, b(view, one(), box))

    def join():
        pool.append(rng.choice([roll, place])())

    def meet():
        joined = [rng.choice([roll, place])() for _ in range(rng.integers(2, 4))]
        for x in joined[1:]:
            joined[0] = b(rng.choice([np.add, np.multiply]), joined[0], x)
        pool.append(joined[0])

    def add():
        other = row if rng.integers(4) == 0 else one()
        pool.append(b(rng.choice([np.add, np.multiply, np.maximum]), one(), other))

    def choose():
        pool.append(b(np.where, b(np.less, one(), one()), one(), 0.5))

    def negate():
        pool.append(b(np.negative, one()))

    for _ in range(8):
        rng.choice([join, meet, meet, add, negate, choose])()
    b.program.outputs = [*pool[-2:], b(np.sum, one(), axis=(0,))]
    return dead(b.program)


def test_random_programs_compute_the_same_part_by_part(small):
    applied = 0
    for seed in range(300):
        program = random_joins(seed)
        changed = copied(program)
        if part_by_part(changed):
            applied += 1
            check_types(changed)
            same(program, changed, rtol=0, atol=0)
    assert applied > 100


def test_the_sum_of_two_rolls_is_joined_once():
    # Each roll was an array of its own, written in two loops and read again.
    f = wg.compile(lambda x: np.roll(x, 1) + np.roll(x, -1) - 2 * x)
    x = np.random.default_rng(0).normal(size=1 << 17)
    np.testing.assert_array_equal(f(x), np.roll(x, 1) + np.roll(x, -1) - 2 * x)
    assert f.explain().arena == 0
    assert "in 3 fused loops" in str(f.explain())  # what is inside, and both ends


def test_the_derivative_of_a_stencil_keeps_no_array_for_each_of_its_slices():
    # What each slice is given was put among zeros, in as many arrays, which were added up.
    def stencil(x):
        inside = 4 * x[1:-1, 1:-1] - x[2:, 1:-1] - x[:-2, 1:-1] - x[1:-1, 2:] - x[1:-1, :-2]
        return np.sum(inside**2)

    slope = wg.compile(wg.grad(stencil))
    x = np.random.default_rng(0).normal(size=(300, 400))
    np.testing.assert_allclose(slope(x), wg.grad(stencil)(x), rtol=1e-13, atol=1e-13)
    assert slope.explain().arena <= 2.1 * x.nbytes


def test_what_is_read_whole_too_is_joined_for_that(small):
    b = Builder()
    x, y = b.input(6, dtype="f8"), b.input(6, dtype="f8")
    rolled = b(
        np.concatenate, (b(view, x, (slice(2, 6, 1),)), b(view, x, (slice(0, 2, 1),))), axis=0
    )
    b.program.outputs = [b(np.add, rolled, y), b(np.sum, rolled, axis=(0,))]
    assert not part_by_part(copied(b.program))
