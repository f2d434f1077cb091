"""Derivatives of loops of unknown length: which states are kept, and how it goes back from them."""

import numpy as np
import pytest

import wengert as wg
from wengert.compile.llvm.library import bodies as machine
from wengert.compile.program import bodies
from wengert.compile.program.bodies import Rewind, apart
from wengert.compile.program.rounds import times, together

WIDE = 40  # more than lies in registers


def run(count, step):
    def f(x, w):
        body = lambda s: (s[0] + 1, *step(s[1], s[2], w))
        return sum(y.sum() for y in wg.while_loop(lambda s: s[0] < count, body, (0, x, x * w))[1:])

    return f


def cheap(y, z, w):
    return y + 1e-2 * z * w, z - 1e-2 * y * z


def costly(y, z, w):
    return np.sin(y) * w, z * w + y


def summed(y, z, w):
    return y * w, z + 1e-2 * y.sum()


@pytest.fixture
def little_room(monkeypatch):
    """Rows for few states, and stretches of few."""
    monkeypatch.setattr(bodies, "ROOM", 20 * 2 * 8 * WIDE)
    monkeypatch.setattr(bodies, "CACHED", 20 * 2 * 8 * WIDE)
    monkeypatch.setattr(bodies, "MANY", 16)
    monkeypatch.setattr(machine, "STRETCH", 8 * 8 * WIDE)


def rewinds(compiled):
    return [s.function for s in compiled.program.statements if isinstance(s.function, Rewind)]


@pytest.mark.parametrize("memory", [None, "60kB"])
@pytest.mark.parametrize("step", [cheap, costly, summed])
@pytest.mark.parametrize("count", [0, 1, 7, 8, 16, 17, 20, 33, 100, 1000])
def test_however_many_iterations_there_are_it_goes_back_through_all(
    count, step, memory, little_room
):
    x, w = np.linspace(0.5, 1.0, WIDE), np.linspace(0.9, 0.99, WIDE)
    gradient = wg.grad(run(count, step), (0, 1))
    compiled = wg.compile(gradient, memory=memory)
    for mine, known in zip(compiled(x, w), gradient(x, w), strict=True):
        np.testing.assert_allclose(mine, known, rtol=1e-10, atol=1e-300)


def test_rows_that_are_full_lie_twice_as_far_apart():
    assert [apart(k, 4) for k in (0, 3, 4, 7, 8, 15, 16)] == [1, 1, 2, 2, 4, 4, 8]


def test_rows_are_those_of_the_interpreter():
    # Where they are more than there is room for, every second one stays, there and here.
    compiled = wg.compile(wg.value_and_grad(run(100, cheap), (0, 1)))
    x, w = np.linspace(0.5, 1.0, WIDE), np.linspace(0.9, 0.99, WIDE)
    compiled(x, w)
    (until,) = [s for s in compiled.program.statements if s.name == "until"]
    function = until.function
    function.rows = 6
    results = function(0, x, x * w, w)
    kept = results[4 + function.keeps.index(1)]
    states = [x]
    y, z = x, x * w
    for _ in range(96):
        y, z = cheap(y, z, w)
        states.append(y)
    np.testing.assert_allclose(kept[:4], states[::32], rtol=1e-12)
    assert results[3] == 100


def test_iterations_that_only_walk_through_arrays_go_back_several_at_once():
    # Each read and wrote all of the state, and so did the states between: 7 times the plain loop.
    x, w = np.linspace(0.5, 1.0, WIDE), np.linspace(0.9, 0.99, WIDE)
    compiled = wg.compile(wg.grad(run(100, cheap)))
    compiled(x, w)
    (rewind,) = rewinds(compiled)
    assert times(rewind) > 1
    first, back = rewind.bodies
    onwards, backwards = together(rewind, 4)
    assert len(onwards.statements) == 4 * len(first.statements)
    assert len(backwards.statements) == 3 * len(first.statements) + 4 * len(back.statements)


@pytest.mark.parametrize(("step", "width"), [(costly, WIDE), (summed, WIDE), (cheap, 3)])
def test_others_go_back_one_by_one(step, width):
    # What costs more than reading it is computed once; what lies in registers is not read.
    x, w = np.linspace(0.5, 1.0, width), np.linspace(0.9, 0.99, width)
    compiled = wg.compile(wg.grad(run(100, step)))
    compiled(x, w)
    assert [times(rewind) for rewind in rewinds(compiled)] == [1]


TABLE = np.linspace(0.1, 0.9, WIDE)


def rooted(y, z, w):
    """What the derivative needs depends on w in one body alone, and on a constant."""
    return np.exp(-y * w) * 0.9 + 0.01 * z, np.where(z > 0, np.log1p(z * z * TABLE), z) * 0.5


def multiplied(y, z, w):
    return np.tanh(np.outer(TABLE, w) @ y / WIDE), 0.9 * z + np.cos(y)


@pytest.mark.parametrize("step", [costly, rooted, multiplied], ids=lambda f: f.__name__)
@pytest.mark.parametrize("count", [0, 1, 9, 16, 17, 150])
def test_what_a_derivative_needs_is_made_beside_the_states(step, count, little_room):
    # What costs more than to read it was computed on the way to the states, and once more on the
    # way back: 4.5 times the plain loop for sin(s) w, 3.6 for tanh(s w).
    x, w = np.linspace(0.5, 1.0, WIDE), np.linspace(0.9, 0.99, WIDE)
    gradient = wg.grad(run(count, step), (0, 1))
    second = wg.grad(lambda x, w: sum(g.sum() for g in gradient(x, w)), (0, 1))
    for derivative in (gradient, second, wg.vmap(gradient)):
        at = (
            (np.stack([x, 0.5 * x]), np.stack([w, w]))
            if derivative not in (gradient, second)
            else (x, w)
        )
        compiled = wg.compile(derivative)
        for mine, known in zip(compiled(*at), derivative(*at), strict=True):
            np.testing.assert_allclose(mine, known, rtol=1e-9, atol=1e-12)
    compiled = wg.compile(gradient)
    compiled(x, w)
    (rewind,) = rewinds(compiled)
    back = rewind.bodies[1]
    assert rewind.results
    names = {s.name for s in back.statements}
    assert not names & {"np.sin", "np.cos", "np.exp", "np.log1p", "np.tanh"}
    assert {s.name for s in rewind.alone.statements} > names
    compiled = wg.compile(gradient, memory="60kB")
    compiled(x, w)
    assert not any(rewind.results for rewind in rewinds(compiled))


def test_the_interpreter_makes_results_beside_states_too():
    def gradient(x, w):
        return wg.grad(run(30, lambda y, z, w: (np.sin(y) * w, z)), (0, 1))(x, w)

    x, w = np.linspace(0.5, 1.0, WIDE), np.linspace(0.9, 0.99, WIDE)
    compiled = wg.compile(gradient)
    expected = compiled(x, w)
    assert rewinds(compiled)[0].results
    for mine, known in zip(expected, compiled.program.run([x, w]), strict=True):
        np.testing.assert_allclose(mine, known, rtol=1e-12)
    space = {}
    exec(str(compiled.program), space)  # noqa: S102  (the text is what is tested)
    for mine, known in zip(expected, space["program"](x, w), strict=True):
        np.testing.assert_allclose(mine, known, rtol=1e-12)


def test_a_loop_within_a_loop_has_results_beside_states():
    def total(x, w):
        inner = lambda s, row: (run(20, costly)(s * row, w) * 1e-3 + s, s.sum())
        return wg.scan(inner, x, TABLE[:5])[1].sum()

    x, w = np.linspace(0.5, 1.0, WIDE), np.linspace(0.9, 0.99, WIDE)
    gradient = wg.grad(total, (0, 1))
    for mine, known in zip(wg.compile(gradient)(x, w), gradient(x, w), strict=True):
        np.testing.assert_allclose(mine, known, rtol=1e-10)
