"""Where arrays lie in memory while a plan runs."""

import numpy as np
import pytest

import wengert as wg
from tests.compile.builder import Builder, arrays_for, random_program
from tests.compile.plans import NumPy, execute
from wengert.compile.backend import backend
from wengert.compile.plan import memory as places
from wengert.compile.plan.planner import memory, plan


@pytest.fixture
def large(monkeypatch):
    """Everything is."""
    monkeypatch.setattr(places, "LARGE", 0)


def agrees(program):
    done = plan(program, NumPy())
    arrays = arrays_for(program)
    with np.errstate(all="ignore"):
        expected = program.run([np.array(a) for a in arrays])
    for mine, right in zip(execute(done, arrays), expected, strict=True):
        np.testing.assert_allclose(mine, right, rtol=1e-5, atol=1e-4)
    return done


def test_what_a_result_is_written_over_lies_in_its_memory(large):
    # The product had memory of its own, as large as the result.
    b = Builder()
    x, w = b.input(30, 20), b.input(20, 30)
    b.program.outputs = [b(np.tanh, b(np.matmul, x, w))]
    assert agrees(b.program).arena == 0


def test_what_is_small_begins_with_a_line_of_the_cache():
    b = Builder()
    x, w = b.input(30, 20), b.input(20, 30)
    b.program.outputs = [b(np.tanh, b(np.matmul, x, w))]
    assert agrees(b.program).arena > 0


def test_a_result_that_is_written_before_is_not_written_over(large):
    b = Builder()
    x, w = b.input(30, 30), b.input(30, 30)
    product = b(np.matmul, x, w)
    b.program.outputs = [product, b(np.matmul, b(np.tanh, product), w)]
    assert agrees(b.program).arena >= 30 * 30 * 4


def test_what_somebody_still_sees_is_not_written_early(large):
    b = Builder()
    x, w = b.input(30, 20), b.input(20, 30)
    b.program.outputs = [b(np.tanh, b(np.matmul, x, w))]
    b.program.replacing = {0: None}
    assert agrees(b.program).arena > 0


def test_random_programs_compute_the_same_in_the_memory_of_results(large):
    inside = 0
    for seed in range(150):
        program = random_program(seed)
        done = agrees(program)
        touched = [p for step in done.steps[:-1] for p in step.places if p.kind == "output"]
        inside += len(touched) > len(program.outputs)
    assert inside > 10


def state(x, n):
    """A loop, and what is made of its end."""
    end, _ = wg.scan(lambda s, row: (s + np.sin(row), np.sum(row)), np.zeros(n), x)
    return -end


def test_a_loop_runs_where_its_state_begins_and_its_end_is_wanted():
    # Zeros, the end of the state and the result were three arrays.
    n = 20_000
    x = np.random.default_rng(0).normal(size=(5, n))
    f = wg.compile(lambda x: state(x, n))
    np.testing.assert_allclose(f(x), -np.sum(np.sin(x), axis=0), atol=1e-12)
    assert memory(plan(f.program, backend())) < 8 * n


def test_loops_whose_states_begin_with_one_array_do_not_share_it(large):
    def f(x, a):
        first = np.exp(a)
        body = lambda s, row: ((s[1] * row, s[0] + row), s[0])
        (s, t), rows = wg.scan(body, (first, first), x)
        other, _ = wg.while_loop(lambda s: s[1] < 3, lambda s: (s[0] + first, s[1] + 1), (first, 0))
        return -s, 2 * t, rows + 1, np.tanh(other)

    rng = np.random.default_rng(0)
    x, a = rng.normal(size=(4, 40)), rng.normal(size=40)
    compiled = wg.compile(f)
    for mine, right in zip(compiled(x, a), f(x, a), strict=True):
        np.testing.assert_allclose(mine, right)
    for mine, right in zip(compiled(x + 1, a), f(x + 1, a), strict=True):
        np.testing.assert_allclose(mine, right)
