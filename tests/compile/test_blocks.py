"""Blocks of rows: what the loop computes, what it leaves alone, and that memory does not grow."""

import functools

import numpy as np
import pytest

import wengert as wg
from tests.compile.builder import Builder, arrays_for, same
from tests.compile.plans import NumPy, execute
from wengert.compile.plan import planner
from wengert.compile.plan.planner import memory, plan
from wengert.compile.program.bodies import Repeat
from wengert.compile.program.infer import check_types
from wengert.compile.program.operations import astype, view
from wengert.compile.program.passes import blocks

LEAST = 256
in_blocks = functools.partial(blocks.in_blocks, large=LEAST)


@pytest.fixture
def small(monkeypatch):
    """Everything is large, and a block is a few rows."""
    monkeypatch.setattr(blocks, "BLOCK", 512)
    monkeypatch.setattr(blocks, "OF_PRODUCTS", 1024)


def loops(program):
    return [s.function for s in program.statements if isinstance(s.function, Repeat)]


def nearest(n, k=5, d=3, dtype="f8"):
    """The sum of the least squared distances, and its derivative by the centres."""
    b = Builder()
    x, c = b.input(n, d, dtype=dtype), b.input(k, d, dtype=dtype)
    apart = b(np.subtract, b(np.reshape, x, (n, 1, d)), c)
    distances = b.total(b(np.multiply, apart, apart), 2)
    least = b(np.min, distances, axis=(1,), keepdims=True)
    here = b(np.where, b(np.equal, distances, least), 1.0, b(np.multiply, distances, 0))
    share = b(np.divide, here, b.total(here, 1, keepdims=True))
    slopes = b(np.multiply, b(np.reshape, share, (n, k, 1)), apart)
    b.program.outputs = [b.total(slopes, 0), b.total(least, 0, 1), b.total(share, 0)]
    return b.program


@pytest.mark.parametrize("n", [64, 96, 67, 100])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_sums_over_the_rows_of_distances_are_one_loop_over_blocks(small, n, dtype):
    program = nearest(n, dtype=dtype)
    made = in_blocks(program)
    check_types(made)
    assert len(loops(made)) == (1 if n % 8 == 0 else 2)  # the rest is a loop of one block
    assert all(r.carries == 3 for r in loops(made))  # each distance is computed once for all sums
    same(program, made)


def test_a_plan_in_blocks_computes_the_same_in_less_memory(small, monkeypatch):
    program = nearest(960)
    arrays = arrays_for(program)
    expected = program.run([np.array(a) for a in arrays])
    whole = memory(plan(program, NumPy()))
    monkeypatch.setattr(planner, "LARGE", 256)
    made = plan(program, NumPy())
    assert memory(made) * 3 < whole
    for mine, right in zip(execute(made, arrays), expected, strict=True):
        np.testing.assert_allclose(mine, right)


def test_sums_of_narrow_floats_are_kept_in_double_precision(small):
    (loop,) = loops(in_blocks(nearest(96, dtype="f4")))
    assert {v.dtype for v in loop.body.updates} == {np.dtype("f8")}


def test_a_sum_that_needs_another_one_of_the_same_rows_is_not_in_its_loop(small):
    b = Builder()
    x, y = b.input(64, 5, dtype="f8"), b.input(64, 3, dtype="f8")
    rows = b(np.exp, b(np.divide, x, b.total(x, 1, keepdims=True)))
    rows = b(np.divide, rows, b.total(rows, 1, keepdims=True))
    mean = b(np.divide, b.total(rows, 0), 64.0)
    apart = b(np.subtract, rows, mean)
    b.program.outputs = [b.total(b(np.multiply, apart, apart), 0), b.total(y, 0)]
    made = in_blocks(b.program)
    if made is not None:
        assert all(r.carries == 1 for r in loops(made))
        same(b.program, made)


def test_what_others_read_is_not_made_in_blocks(small):
    program = nearest(64)
    program.outputs.append(program.statements[3].output)  # the distances
    assert in_blocks(program) is None


def test_what_draws_stays_in_its_order(small):
    program = nearest(64)
    draws = lambda: np.zeros(3)
    draws.draws = True
    b = Builder()
    b.program = program
    b.opaque(draws, (), ((3,), "f8"))
    assert in_blocks(program) is None


def test_rows_of_a_view_are_read_from_it(small):
    # Whose rows a view's are was asked of what knows no program: an AttributeError.
    b = Builder()
    x, c = b.input(2, 96, 3, dtype="f8"), b.input(5, 3, dtype="f8")
    points = b(view, x, (1, slice(0, 96, 1), slice(0, 3, 1)))
    apart = b(np.subtract, b(np.reshape, points, (96, 1, 3)), c)
    b.program.outputs = [b.total(b(np.exp, b.total(b(np.multiply, apart, apart), 2)), 0)]
    made = in_blocks(b.program)
    assert len(loops(made)) == 1
    same(b.program, made)


# ---- random programs ----------------------------------------------------------------------------


def random_rows(seed):
    """Sums over the rows of what is computed of arrays with a row for each of some things."""
    rng = np.random.default_rng(seed)
    n, k, d = int(rng.integers(32, 80)), int(rng.integers(2, 6)), int(rng.integers(1, 4))
    dtype = rng.choice(["f8", "f8", "f4", "i8"])
    b = Builder()
    x, c = b.input(n, d, dtype=dtype), b.input(k, d, dtype=dtype)
    w = b.input(n, dtype=dtype)
    first = b(np.subtract, b(np.reshape, x, (n, 1, d)), c)
    pool = {first: 0, x: 0, w: 0, c: None}  # by value: the axis of the rows

    def one():
        values = list(pool)
        return values[int(rng.integers(len(values)))]

    def add(value, axis):
        if value.size <= 20_000:
            pool[value] = axis

    def binary():
        v, u = one(), one()
        places = []
        for z in (v, u):
            places.append(None if pool[z] is None else pool[z] - len(z.shape))
        try:
            rank = len(np.broadcast_shapes(v.shape, u.shape))
        except ValueError:
            return
        known = {p for p in places if p is not None}
        if len(known) == 1:
            function = rng.choice([np.add, np.multiply, np.maximum, np.subtract])
            add(b(function, v, u), rank + known.pop())

    def reduce():
        v = one()
        axes = [k for k in range(len(v.shape)) if k != pool[v]]
        if axes:
            gone = int(rng.choice(axes))
            keeps = bool(rng.integers(2))
            function = rng.choice([np.sum, np.max, np.min])
            axis = pool[v]
            if axis is not None and not keeps:
                axis -= gone < axis
            add(b(function, v, axis=(gone,), keepdims=keeps), axis)

    def layout():
        v = one()
        if rng.integers(2):
            order = tuple(int(k) for k in rng.permutation(len(v.shape)))
            add(b(np.transpose, v, order), None if pool[v] is None else order.index(pool[v]))
        elif len(v.shape) < 4:
            at = int(rng.integers(len(v.shape) + 1))
            axis = pool[v]
            shape = (*v.shape[:at], 1, *v.shape[at:])
            add(b(np.reshape, v, shape), axis if axis is None or axis < at else axis + 1)

    def unary():
        v = one()
        add(b(rng.choice([np.negative, np.absolute, np.sign]), v), pool[v])

    def product():
        v = one()
        if pool[v] is None or len(v.shape) < 2 or pool[v] == len(v.shape) - 1 or dtype == "i8":
            return
        wide = int(rng.integers(2, 6))
        add(b(np.matmul, v, b.input(v.shape[-1], wide, dtype=dtype)), pool[v])

    def position():
        v = one()
        axes = [k for k in range(len(v.shape)) if k != pool[v]]
        if axes and pool[v] is not None:
            gone = int(rng.choice(axes))
            where = b(rng.choice([np.argmin, np.argmax]), v, axis=gone, keepdims=True)
            add(b(astype, where, np.dtype(dtype)), pool[v])

    for _ in range(25):
        rng.choice([binary, binary, reduce, layout, unary, product, position])()
    ends = [v for v, axis in pool.items() if axis is not None][-4:]
    if rng.integers(2):  # rows of what is small are results too
        b.program.outputs += [v for v in pool if v.nbytes < LEAST and pool[v] is not None][-2:]
    pairs = [(v, u) for v in ends for u in ends if v is not u and len(v.shape) == 2 == len(u.shape)]
    for v, u in pairs[:1]:  # and products that sum over the rows
        x, y = (w if pool[w] == 0 else b(np.transpose, w, (1, 0)) for w in (v, u))
        b.program.outputs.append(b(np.matmul, b(np.transpose, x, (1, 0)), y))
    for v in ends:
        others = tuple(k for k in range(len(v.shape)) if k == pool[v] or rng.integers(2))
        function = rng.choice([np.sum, np.sum, np.max, np.min])
        total = b(function, v, axis=others, keepdims=bool(rng.integers(2)))
        b.program.outputs.append(b(np.negative, total) if rng.integers(2) else total)
    return b.program


def made_of(repeat):
    """What there is in a loop over blocks."""
    functions = {s.function for s in repeat.body.statements}
    yield from ("sums",) if repeat.carries else ()
    yield from ("rows",) if repeat.body.outputs else ()
    yield from ("products",) if np.matmul in functions else ()
    yield from ("positions",) if functions & {np.argmin, np.argmax} else ()


def test_random_programs_compute_the_same_in_blocks(small):
    applied, kinds = 0, set()
    for seed in range(400):
        program = random_rows(seed)
        made = in_blocks(program)
        if made is not None:
            applied += 1
            check_types(made)
            same(program, made)
            kinds.update(kind for r in loops(made) for kind in made_of(r))
    assert applied > 40
    assert kinds == {"sums", "rows", "products", "positions"}


# ---- as users write it --------------------------------------------------------------------------


def cost(points, centres):
    distances = np.sum((points[:, None] - centres) ** 2, axis=-1)
    return np.sum(np.min(distances, axis=1))


def test_python_numbers_and_arrays_from_outside_are_read_around_the_loop():
    random = np.random.default_rng(0)
    points, scales = random.normal(size=(2003, 2)), random.normal(size=500)

    def scaled(centres, factor):
        distances = np.sum((points[:, None] * factor - centres) ** 2, axis=-1) * scales
        return np.sum(np.min(distances, axis=1) * factor)

    slope = wg.grad(scaled)
    compiled = wg.compile(slope)
    for factor in (0.5, 2.0, 3.5):
        centres = random.normal(size=(500, 2))
        np.testing.assert_allclose(compiled(centres, factor), slope(centres, factor), atol=1e-12)
    assert "repeat" in str(compiled.explain())


def test_the_derivative_by_the_nearest_of_many_centres_needs_little_memory():
    random = np.random.default_rng(0)
    points, centres = random.normal(size=(5003, 2)), random.normal(size=(400, 2))
    slope = wg.compile(lambda c: wg.grad(lambda c: cost(points, c))(c))
    np.testing.assert_allclose(slope(centres), wg.grad(lambda c: cost(points, c))(centres))
    assert slope.explain().arena < 1 << 20  # the distances are 16 MB
    assert "repeat" in str(slope.explain())


def test_the_nearest_of_many_centres_are_found_without_a_matrix_of_products():
    # A product stayed whole, and with it what was computed of it: 16 MB here.
    random = np.random.default_rng(0)
    points, centres = random.normal(size=(5003, 6)), random.normal(size=(400, 6))

    def nearest(points, centres):
        return np.argmin(np.sum(centres**2, axis=1) - 2 * points @ centres.T, axis=1)

    compiled = wg.compile(nearest)
    np.testing.assert_array_equal(compiled(points, centres), nearest(points, centres))
    assert compiled.explain().arena < 1 << 21


def test_a_product_that_sums_over_the_rows_of_products_needs_no_array_of_these():
    # The density of a mixture: its derivative kept four arrays of points times centres.
    random = np.random.default_rng(0)
    x, centres = random.normal(size=(1003, 16)), random.normal(size=(40, 16))
    turns = random.normal(size=(40, 16, 16)) / 8

    def density(centres, turns):
        apart = (x - centres[:, None]) @ turns.swapaxes(1, 2)
        return np.sum(np.log(np.sum(np.exp(-np.sum(apart**2, axis=2)), axis=0)))

    slope = wg.grad(density, argnums=(0, 1))
    compiled = wg.compile(lambda *arguments: slope(*arguments))
    for found, expected in zip(compiled(centres, turns), slope(centres, turns), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    assert compiled.explain().arena < 1 << 22
    assert "repeat" in str(compiled.explain())
