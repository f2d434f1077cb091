"""What the iterations of a compiled loop keep for its derivative: as little as makes the rest."""

import numpy as np
import pytest

import wengert as wg
from wengert.compile.backend import backend
from wengert.compile.plan.plan import Call
from wengert.compile.plan.planner import plan
from wengert.compile.program.again import computed_again
from wengert.compile.program.program import Statement, Value


def rows_of(compiled):
    """How many numbers an iteration keeps."""
    loops = [s for s in compiled.program.statements if s.name == "repeat"]
    carries = loops[0].function.carries
    return sum(v.size // loops[0].function.length for v in loops[0].outputs[carries:])


def checked(f, *args):
    """The compiled gradient, which is that of eager mode."""
    gradient = wg.grad(f)
    compiled = wg.compile(gradient)
    for _ in range(2):
        np.testing.assert_allclose(compiled(*args), gradient(*args), rtol=1e-12)
    return compiled


def test_a_step_of_cheap_functions_keeps_its_state_alone():
    # Each stage of a Runge-Kutta step was kept: four times the memory, and the time of moving it.
    def end(x):
        def slope(y):
            return x * np.concatenate([np.ones(1), y[:-1]])

        def step(_, y):
            first = slope(y)
            second = slope(y + 0.1 * first)
            third = slope(y + 0.1 * second)
            return y + 0.2 * third / (1 + second * second)

        return np.sum(wg.fori_loop(0, 5, step, np.zeros_like(x)) ** 2)

    assert rows_of(checked(end, np.linspace(0.5, 1.5, 40))) == 40


def test_of_a_logistic_function_its_exponential_is_kept():
    # The sum in its denominator and the quotient were kept as well.
    def end(x):
        step = lambda _, y: 1 / (1 + np.exp(-x * y))
        return np.sum(wg.fori_loop(0, 5, step, np.ones_like(x)))

    assert rows_of(checked(end, np.linspace(0.5, 1.5, 40))) == 2 * 40


def test_what_is_small_is_kept_in_place_of_what_it_is_made_of():
    def end(x):
        def step(_, y):
            row = np.sum(y * x, axis=0)
            return np.tanh(y + row * row)

        return np.sum(wg.fori_loop(0, 5, step, np.ones_like(x)))

    # The sum of columns, the state and its tanh, which is the next one's state.
    assert rows_of(checked(end, np.linspace(0.1, 0.3, 40).reshape(8, 5))) <= 2 * 40 + 5


# ---- the cut ------------------------------------------------------------------------------------


def graph(**makes):
    """Values of a name, and the statements that make them of others."""
    values = {}
    made = {}
    for name, parts in makes.items():
        values[name] = Value((), float)
        if parts is not None:
            args = tuple(values[part] for part in parts)
            made[values[name]] = Statement(np.add, args, {}, (values[name],))
    return values, made


def again(values, made, asked, **prices):
    prices = {values[name]: price for name, price in prices.items()}
    found = computed_again([values[name] for name in asked], made.get, lambda v: prices.get(v, 100))
    names = {v: name for name, v in values.items()}
    return [names[s.output] for s in found]


def test_the_cheapest_of_a_chain_is_kept():
    values, made = graph(x=None, a="x", b="a", c="b")
    assert again(values, made, "c", x=9, a=2, b=5, c=7) == ["b", "c"]


def test_of_equal_prices_what_is_asked_for_is_kept():
    values, made = graph(x=None, a="x", b="a")
    assert again(values, made, "b") == []


def test_one_value_is_kept_for_all_that_is_made_of_it():
    values, made = graph(x=None, a="x", b="xa", c="ab")
    assert again(values, made, "abc") == ["a", "b", "c"]


def test_flow_that_went_the_wrong_way_is_sent_back():
    # The least is x and y, 2 each, though a way through both m and n seemed to be free at first.
    values, made = graph(x=None, y=None, m="xy", n="xy", a="mn", b="mn")
    assert sorted(again(values, made, "ab", x=2, y=2, m=3, n=3, a=3, b=3)) == list("abmn")


@pytest.mark.parametrize("seed", range(20))
def test_no_choice_of_what_is_kept_is_cheaper(seed):
    draw = np.random.default_rng(seed)
    names = "stuvwxyz"
    parts = {}
    for k, name in enumerate(names):
        count = draw.integers(0, min(k, 3) + 1)
        parts[name] = "".join(draw.choice(list(names[:k]), count, replace=False)) or None
    values, made = graph(**parts)
    prices = {name: int(draw.integers(1, 9)) for name in names}
    asked = names[-2:]
    found = again(values, made, asked, **prices)

    def cost(kept):
        """What it costs to keep these; None if they do not make all that is asked for."""
        pending = [name for name in asked if name not in kept]
        while pending:
            name = pending.pop()
            if parts[name] is None:
                return None
            pending += [part for part in parts[name] if part not in kept]
        return sum(prices[name] for name in kept)

    choices = [{n for j, n in enumerate(names) if k >> j & 1} for k in range(1 << len(names))]
    least = min(c for c in map(cost, choices) if c is not None)
    read = {part for name in found for part in parts[name]} | set(asked)
    assert cost(read - set(found)) == least


Y, Z = np.linspace(-1, 1, 40), np.linspace(0, 1, 40)


@pytest.mark.crossed
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    "body",
    [
        lambda s, r: ((s[0] * 0.5 + r, s[1]), s[0]),
        lambda s, r: ((s[1] + r, s[0] * s[1]), (s[0], s[1])),
        lambda s, r: ((s[1], s[0]), (s[0], s[0], s[1])),
        lambda s, r: ((s[0] * s[1], s[0] * s[1]), (s[1], s[0], s[0] * s[1])),
        lambda s, r: ((np.ones(40), s[0]), (s[0], s[1])),
        lambda s, r: ((np.concatenate([s[0][:1], s[0][:-1]]) + r, s[0]), (s[0], s[1][::-1])),
    ],
)
@pytest.mark.parametrize("length", [1, 2, 5])
def test_states_that_are_rows_of_results_are_what_they_were(body, reverse, length):
    xs = np.linspace(0.5, 2, length)
    loop = lambda x, y, xs: wg.scan(body, (x, y), xs, reverse=reverse)
    found, known = wg.compile(loop)(Y, Z, xs), loop(Y, Z, xs)
    for mine, other in zip(wg.tree.leaves(found), wg.tree.leaves(known), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-13)


def test_a_state_that_is_a_row_of_a_result_is_computed_there():
    # It was computed in one place, and copied to its row by each iteration.
    compiled = wg.compile(lambda x: wg.scan(lambda s, _: (s * 0.5 + 1, s), x, None, length=4))
    compiled(Y)
    (loop,) = (s for s in plan(compiled.program, backend()).steps if isinstance(s, Call))
    assert len(loop.bodies[0].steps) == 1


@pytest.mark.parametrize(
    "seen",
    [
        lambda y, x: np.transpose(y, (1, 0, 2)),
        lambda y, x: np.transpose(y, (2, 0, 1)).reshape(4, -1),
        lambda y, x: np.transpose(y, (1, 0, 2)).reshape(5, -1) @ np.ones((24, 3)),
        lambda y, x: np.concatenate([y, 2 * x], 1),
        lambda y, x: np.stack([y, 2 * x], -1),
    ],
)
def test_rows_of_results_lie_one_after_the_other_however_they_are_seen(seen):
    # A loop wrote its rows, each in one piece, into a part of what they were joined to.
    def f(x):
        return seen(wg.scan(lambda s, row: (s * 0.5 + row, np.sin(s)), x[0], x)[1], x)

    x = np.linspace(-2, 2, 120).reshape(6, 5, 4)
    assert np.allclose(wg.compile(f)(x), f(x), rtol=1e-12)


@pytest.mark.parametrize("n", [0, 1, 12, 13, 14, 150, 300])
def test_wide_states_that_are_not_kept_are_made_again_by_stretches(n):
    # Memory for all was new at each call: its pages took 50 times as long as the iterations.
    def last(w, n):
        going, step = lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * w + np.sin(s[2]), s[1] * 0.5)
        return wg.while_loop(going, step, (0, w, 1 - w))[1].sum()

    w = np.linspace(0.5, 0.9, 80_000)
    slope = wg.compile(wg.grad(last))
    for _ in range(2):
        np.testing.assert_allclose(slope(w, wg.tensor(n)), wg.grad(last)(w, n), rtol=1e-9)
