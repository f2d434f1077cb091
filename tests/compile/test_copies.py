"""Parts of one array that lie close to each other are written by one loop, copies among them."""

import sys

import numpy as np
import pytest

import wengert as wg
from tests.compile.programs import agree
from wengert.compile.backend import backend
from wengert.compile.plan.plan import Loops
from wengert.compile.plan.planner import plan


def loops(compiled):
    return [s for s in plan(compiled.program, backend()).steps if isinstance(s, Loops)]


def columns(x, y):
    """Rows of what is computed of one array, of another one, given, and constant."""
    a, b = np.sin(x), np.exp(y)
    return np.stack([a, b, x, np.ones_like(x), a * 2, y, b], axis=1)


def test_rows_of_computed_copied_and_constant_elements_are_written_at_once():
    # Each kind was a loop of its own over all lines of the array.
    x, y = np.random.default_rng(0).normal(size=(2, 5000))
    compiled = wg.compile(columns)
    agree(compiled(x, y), columns(x, y), exact=False)
    assert len(loops(compiled)) == 1


def test_parts_that_fill_lines_of_memory_are_written_each_for_itself():
    x, y = np.random.default_rng(0).normal(size=(2, 5000))
    compiled = wg.compile(lambda x, y: np.concatenate([np.sin(x), np.exp(y)]))
    agree(compiled(x, y), np.concatenate([np.sin(x), np.exp(y)]), exact=False)
    assert len(loops(compiled)) == 2


def test_a_large_value_is_not_made_long_before_it_is_joined():
    def f(x, y):
        late = np.sort(np.exp(y), axis=1)[:, :1] * y
        return np.concatenate([np.sin(x), np.cumsum(late, 1) + late, np.cos(late)], axis=1)

    x, y = np.random.default_rng(0).normal(size=(2, 5000, 3))
    compiled = wg.compile(f)
    agree(compiled(x, y), f(x, y), exact=False)


def drawn(random):
    """A function of an array of three columns that joins parts of what it computes."""

    def part(x, made):
        whole = made[random.integers(len(made))]
        k = int(random.integers(3))
        kind = random.integers(7)
        if kind == 0:
            return whole
        if kind == 1:
            return np.full((x.shape[0], 1), 2, x.dtype)
        if kind == 2:
            return np.arange(x.shape[0], dtype=x.dtype)[:, None]
        if kind == 3:
            return whole[::-1, k : k + 1]
        if kind == 4:
            return np.sum(whole, axis=1, keepdims=True)
        if kind == 5:
            return np.broadcast_to(np.max(whole, axis=0), whole.shape)
        return whole[:, k : k + 1]

    def f(x):
        made, results = [x], []
        for _ in range(random.integers(1, 5)):
            y = made[random.integers(len(made))]
            maps = np.tanh(y), y * 0.5, 1 - y, np.where(y > 0, y, -y), np.minimum(y, made[0])
            made.append(maps[random.integers(len(maps))])
            if random.random() < 0.5:
                parts = [part(x, made) for _ in range(random.integers(2, 6))]
                results.append(np.concatenate(parts, axis=1))
                made.append(results[-1][:, -1:] * made[-1])
        return [*results, made[-1]]

    return f


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
@pytest.mark.parametrize("seed", [*range(25), 397, 530])
def test_arrays_joined_of_anything_are_what_they_are_eagerly(seed, dtype, monkeypatch):
    monkeypatch.setattr(sys.modules["wengert.compile.program.passes.copies"], "LARGE", 0)
    x = (np.random.default_rng(seed).normal(size=(37, 3)) * 4).astype(dtype)
    known = drawn(np.random.default_rng(seed))(x)
    compiled = wg.compile(lambda x: drawn(np.random.default_rng(seed))(x))
    for _ in range(2):
        for mine, theirs in zip(compiled(x), known, strict=True):
            assert mine.dtype == theirs.dtype
            np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-4)
