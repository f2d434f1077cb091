"""Products with a matrix of ones where an index is a column's number take rows by the index."""

import numpy as np
import pytest

import wengert as wg
from tests.compile.programs import agree
from wengert.compile.backend import backend
from wengert.compile.plan.planner import plan

MANY, SIZE = 2000, 40


def one_hot(index):
    return (index[:, None] == np.arange(SIZE)).astype(float)


def drawn(width=16):
    rng = np.random.default_rng(0)
    index = rng.integers(0, SIZE, size=MANY)
    return index, rng.normal(size=(SIZE, width)), rng.normal(size=(MANY, width))


def products(compiled):
    """The products that are always taken whole."""
    names = [type(s).__name__ for s in plan(compiled.program, backend()).steps]
    return names.count("Multiply")


FORMS = {
    "rows taken": lambda i, table, x: one_hot(i) @ table,
    "rows added up": lambda i, table, x: one_hot(i).T @ x,
    "columns taken": lambda i, table, x: table.T @ one_hot(i).T,
    "columns added up": lambda i, table, x: x.T @ one_hot(i),
    "numbers first": lambda i, table, x: (np.arange(SIZE)[:, None] == i).astype(float) @ x,
    "numbers that are no row's": lambda i, table, x: one_hot(2 * i - 3) @ table,
    "sums of no row": lambda i, table, x: one_hot(2 * i - 3).T @ x,
    "products summed": lambda i, table, x: np.sum(
        (i[:, None] == np.arange(SIZE))[:, :, None] * x[:, None, :], axis=0
    ),
    "derivative": wg.grad(lambda t, i, x: wg.sum((one_hot(i) @ t - x) ** 2)),
}


def run(form, index, table, x):
    """The function of a form, and its arguments."""
    order = (table, index, x) if form == "derivative" else (index, table, x)
    return FORMS[form], order


@pytest.mark.parametrize("form", FORMS)
def test_rows_are_taken_by_the_index_that_a_matrix_of_ones_was_made_of(form):
    # Each row was the sum of forty products, of which one was not zero.
    f, args = run(form, *drawn())
    compiled = wg.compile(f)
    agree([compiled(*args)], [f(*args)], exact=False)
    assert products(compiled) == 0


@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("form", FORMS)
def test_what_is_not_finite_spreads_as_zero_times_it_does(form, number):
    index, table, x = drawn()
    table[7, 3] = x[11, 5] = number
    f, args = run(form, index, table, x)
    compiled = wg.compile(f)
    compiled(*run(form, *drawn())[1])
    with np.errstate(invalid="ignore"):
        agree([compiled(*args)], [f(*args)], exact=False)


WHOLE = {
    "numbers that do not count": lambda i, t: (
        (i[:, None] == np.arange(SIZE)[::-1]).astype(float) @ t
    ),
    "numbers that are floats": lambda i, t: (
        (i[:, None] == np.arange(float(SIZE))).astype(float) @ t
    ),
    "another comparison": lambda i, t: (i[:, None] >= np.arange(SIZE)).astype(float) @ t,
}


@pytest.mark.parametrize("form", WHOLE)
def test_other_comparisons_are_multiplied(form):
    index, table, _ = drawn(64)
    compiled = wg.compile(WHOLE[form])
    agree([compiled(index, table)], [WHOLE[form](index, table)], exact=False)
    assert products(compiled) == 1


def test_one_hot_of_the_library_takes_rows():
    index, table, _ = drawn()

    def f(index, table):
        return wg.nn.functional.one_hot(index, SIZE).to(wg.float64) @ table

    compiled = wg.compile(f)
    given = wg.tensor(index), wg.tensor(table)
    agree([compiled(*given)], [f(*given)], exact=False)
    assert products(compiled) == 0
