"""Members of a batch: what loops over them compute, what they leave alone, and their memory."""

import numpy as np
import pytest

import wengert as wg
from tests.compile.builder import Builder, same
from tests.compile.plans import NumPy
from wengert.compile.plan.planner import memory, plan
from wengert.compile.program.bodies import Repeat
from wengert.compile.program.infer import check_types
from wengert.compile.program.operations import added, full, take, updated
from wengert.compile.program.passes import members
from wengert.compile.program.passes.members import by_members

ALL = slice(None)


@pytest.fixture
def small(monkeypatch):
    """Everything is large, and a loop takes a member or two at a time."""
    monkeypatch.setattr(members, "LARGE", 1024)
    monkeypatch.setattr(members, "SMALL", 128)
    monkeypatch.setattr(members, "BLOCK", 512)


def loops(program):
    return [s.function for s in program.statements if isinstance(s.function, Repeat)]


def mixture(k=6, n=16, d=3, read_whole=False):
    """A log-sum-exp over components, and its derivative, where each has a triangle of its own."""
    b = Builder()
    x, mu = b.input(n, d, dtype="f8"), b.input(k, d, dtype="f8")
    below = b.input(k, d * (d - 1) // 2, dtype="f8")
    columns, rows = map(b.constant, np.triu_indices(d, 1))
    every = slice(0, k, 1)
    triangles = b(updated, b(full, (k, d, d), 1.0, np.float64), (every, rows, columns), below)
    apart = b(np.subtract, x, b(np.reshape, mu, (k, 1, d)))
    turned = b(np.matmul, apart, b(np.transpose, triangles, (0, 2, 1)))
    terms = b(np.negative, b.total(b(np.multiply, turned, turned), 2))
    weights = b(np.exp, b(np.subtract, terms, b(np.max, terms, axis=(0,), keepdims=True)))
    share = b(np.divide, weights, b.total(weights, 0, keepdims=True))
    slopes = b(np.multiply, b(np.reshape, share, (k, n, 1)), turned)
    by_triangle = b(np.matmul, b(np.transpose, slopes, (0, 2, 1)), apart)
    by_below = b(take, by_triangle, (every, rows, columns))
    by_mu = b.total(b(np.matmul, slopes, triangles), 1)
    b.program.outputs = [b(np.multiply, by_below, below), by_mu, share]
    b.program.outputs += [turned] if read_whole else []
    return b.program


@pytest.mark.parametrize("k", [4, 6, 7])
def test_what_comes_together_of_all_members_lies_between_two_loops(small, k):
    program = mixture(k)
    made = by_members(program)
    check_types(made)
    first, second = loops(made)
    products = [[s.function for s in r.body.statements].count(np.matmul) for r in (first, second)]
    assert products == [1, 3]  # what the second loop needs of the first one it makes again
    same(program, made)


def test_what_is_a_result_is_not_made_twice(small):
    program = mixture(read_whole=True)
    made = by_members(program)
    assert sum(s.function is np.matmul for r in loops(made) for s in r.body.statements) == 3
    same(program, made)


def test_attention_goes_by_heads(small):
    b = Builder()
    q, k, v = (b.input(2, 8, 4, 3, dtype="f8") for _ in range(3))  # times, heads
    heads = [b(np.transpose, x, (2, 0, 1, 3)) for x in (q, k, v)]
    scores = b(np.matmul, heads[0], b(np.transpose, heads[1], (0, 1, 3, 2)))
    out = b(np.matmul, b.softmax(scores), heads[2])
    b.program.outputs = [b(np.transpose, out, (1, 2, 0, 3))]
    made = by_members(b.program)
    assert len(loops(made)) == 1
    same(b.program, made)


def test_members_that_share_a_wide_matrix_are_multiplied_together(small, monkeypatch):
    monkeypatch.setattr(members, "NARROW", 2)
    b = Builder()
    x, y, w = b.input(8, 5, 4), b.input(8, 4, 5), b.input(4, 4)
    b.program.outputs = [b(np.exp, b(np.matmul, b(np.matmul, b(np.exp, x), w), y))]
    made = by_members(b.program)
    assert made is None or all(v.shape != (4, 4) for r in loops(made) for v in r.body.inputs)


def test_what_draws_stays_in_its_order(small):
    program = mixture()
    draws = lambda: np.zeros(3)
    draws.draws = True
    b = Builder()
    b.program = program
    b.opaque(draws, (), ((3,), "f8"))
    assert by_members(program) is None


def test_a_mixture_of_gaussian_distributions_takes_the_memory_of_a_component():
    # Arrays of all points, components and dimensions were made some points at a time, but
    # triangles of all components lay in memory five times.
    def density(mu, L, x):
        Q = np.zeros_like(mu, shape=(k, d, d))
        columns, rows = np.triu_indices(d, 1)
        Q[:, rows, columns] = L
        terms = -np.sum(((x - mu[:, None]) @ Q.swapaxes(1, 2)) ** 2, axis=2)
        highest = np.max(terms, axis=0)
        return np.sum(highest + np.log(np.sum(np.exp(terms - highest), axis=0)))

    n, k, d = 300, 100, 60
    rng = np.random.default_rng(0)
    L = rng.normal(size=(k, d * (d - 1) // 2)) / d
    arguments = rng.normal(size=(k, d)), L, rng.normal(size=(n, d))
    f = wg.compile(wg.grad(density, argnums=(0, 1)))
    for mine, right in zip(f(*arguments), f.function(*arguments), strict=True):
        np.testing.assert_allclose(mine, right, rtol=1e-9, atol=1e-9)
    assert memory(plan(f.program, NumPy())) < 8 * k * d * d


def test_a_large_member_is_made_some_rows_at_a_time():
    # A loop over members worked in all rows of one, and a loop over blocks of all members' rows,
    # which needs more, was taken before it was looked at.
    def likelihood(x, mu, turns):
        turned = (x - mu[:, None]) @ turns
        return np.sum(wg.logsumexp(-np.sum(turned**2, axis=2), 0))

    f = wg.compile(wg.value_and_grad(likelihood, argnums=(1, 2)))
    rng = np.random.default_rng(0)
    x, mu, turns = (
        rng.normal(size=(2000, 32)),
        rng.normal(size=(20, 32)),
        np.eye(32) * np.ones((20, 1, 1)),
    )
    value, slopes = f(x, mu, turns)
    expected, others = wg.value_and_grad(likelihood, argnums=(1, 2))(x, mu, turns)
    np.testing.assert_allclose(value, expected)
    for mine, right in zip(slopes, others, strict=True):
        np.testing.assert_allclose(mine, right, atol=1e-9)
    one = x.nbytes
    assert f.explain().arena < 2 * one


# ---- random programs ----------------------------------------------------------------------------


def random_members(seed):
    """What is computed of batches of matrices, some of it of all members of a batch."""
    rng = np.random.default_rng(seed)
    k, m = int(rng.integers(4, 9)), int(rng.integers(2, 6))
    b = Builder()
    shapes = [(k, m, m), (k, m, m), (m, m), (k, 1, m), (k, m, 1), (1, m), (k, 1, 1)]
    pool = [b.input(*shape, dtype="f8") for shape in shapes]
    places = [b.constant(rng.permutation(m)[:2]) for _ in range(2)]

    def one(*shapes):
        fitting = [v for v in pool if not shapes or v.shape in shapes]
        return fitting[int(rng.integers(len(fitting)))]

    def product():
        return b(np.matmul, one((k, m, m), (m, m)), one((k, m, m)))

    def binary():
        x, y = one(), one()
        np.broadcast_shapes(x.shape, y.shape)
        return b(rng.choice([np.add, np.multiply, np.maximum, np.subtract]), x, y)

    def unary():
        return b(rng.choice([np.negative, np.absolute, np.tanh]), one())

    def turn():
        x = one((k, m, m))
        return b(np.transpose, x, (0, 2, 1))

    def reduce():
        x = one((k, m, m))
        axis = int(rng.integers(3))
        return b(rng.choice([np.sum, np.max]), x, axis=(axis,), keepdims=True)

    def gather():
        return b(take, one((k, m, m)), (slice(0, k, 1), places[0], places[1]))

    def scatter():
        index = (slice(0, k, 1), *places)
        values = b(take, one((k, m, m)), index)
        target = one((k, m, m)) if rng.integers(2) else b(full, (k, m, m), 0.0, np.float64)
        return b(rng.choice([updated, added]), target, index, values)

    def elsewhere():  # along another axis, and back
        x = b(np.transpose, one((k, m, m)), (1, 0, 2))
        if rng.integers(2):
            b.program.outputs.append(x)
        y = b(np.multiply, x, b(np.transpose, one((k, m, m)), (1, 0, 2)))
        return b(np.transpose, b(np.add, y, x) if rng.integers(2) else y, (1, 0, 2))

    def whole():  # of all members, for each of them
        x = b(np.reshape, one((k, 1, m)), (k, m))
        return b(np.matmul, b(np.matmul, one((k, m, m)), b.input(m, k, dtype="f8")), x)

    steps = [product, product, binary, binary, unary, turn, reduce, gather, scatter]
    for _ in range(18):
        new = rng.choice([*steps, elsewhere, whole])()
        if new.shape[:1] in ((k,), (1,)) and new.shape[1:] in ((m, m), (1, m), (m, 1), (1, 1)):
            pool.append(new)
        elif new.shape == (k, 2):
            b.program.outputs.append(new)
    b.program.outputs += pool[-3:]
    return b.program


def test_random_programs_compute_the_same_by_members(small):
    applied, kinds = 0, set()
    for seed in range(600):
        program = random_members(seed)
        made = by_members(program)
        if made is not None:
            applied += 1
            check_types(made)
            made.check()
            same(program, made)
            inside = [s.function for r in loops(made) for s in r.body.statements]
            kinds.update({np.matmul, take, updated, added} & set(inside))
            kinds.add(len(loops(made)))
    assert applied > 60
    assert kinds >= {np.matmul, take, updated, added, 1, 2}
