"""Sums of products of arrays, each repeated where the other goes on, are products of matrices."""

import numpy as np
import pytest

import wengert as wg
from tests.compile.programs import agree
from wengert.compile.backend import backend
from wengert.compile.plan.planner import plan

FORMS = {
    "over rows": (lambda a, b: np.sum(a[:, :, None] * b[:, None, :], axis=0), (200, 20), (200, 30)),
    "over columns": (lambda a, b: np.sum(a[:, None, :] * b, axis=-1), (50, 20), (30, 20)),
    "between": (lambda a, b: np.sum(a[:, :, None] * b, axis=1), (50, 20), (20, 30)),
    "batch": (lambda a, b: np.sum(a[:, :, None] * b[:, None], axis=-1), (5, 50, 20), (5, 30, 20)),
    "two axes": (lambda a, b: np.sum(a[:, None] * b, axis=(2, 3)), (50, 20, 6), (30, 20, 6)),
    "more columns": (
        lambda a, b: np.sum(b * a[:, :, None, None], axis=1),
        (50, 20),
        (20, 6, 7),
    ),
    "vmap": (
        wg.vmap(wg.vmap(lambda a, b: np.sum(a * b), (None, 0)), (0, None)),
        (60, 20),
        (50, 20),
    ),
    "part of more": (
        lambda a, b: np.exp(-np.sum(np.sin(a)[:, None] * b, axis=-1)),
        (50, 20),
        (30, 20),
    ),
}


def arrays(*shapes, dtype=np.float64):
    rng = np.random.default_rng(0)
    return [rng.normal(size=shape).astype(dtype) for shape in shapes]


def products(compiled):
    names = [type(s).__name__ for s in plan(compiled.program, backend()).steps]
    return names.count("Multiply")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", FORMS)
def test_sums_of_products_of_repeated_arrays_are_products_of_matrices(form, dtype):
    # Loops over all three extents took up to twenty times longer.
    f, *shapes = FORMS[form]
    a, b = arrays(*shapes, dtype=dtype)
    compiled = wg.compile(f)
    agree([compiled(a, b)], [f(a, b)], exact=False)
    assert products(compiled) == 1


@pytest.mark.parametrize("form", FORMS)
def test_what_is_not_finite_is_multiplied_by_the_same_numbers(form):
    f, *shapes = FORMS[form]
    a, b = arrays(*shapes)
    a.flat[3], a.flat[60], b.flat[5] = np.inf, np.nan, 0
    with np.errstate(invalid="ignore", over="ignore"):
        agree([wg.compile(f)(a, b)], [f(a, b)], exact=False)


LOOPS = {
    "the same rows": (lambda a, b: np.sum(a * b, axis=1), (500, 20), (500, 20)),
    "few columns": (lambda a, b: np.sum(a[:, None] * b, axis=-1), (5000, 3), (3, 3)),
    "not summed in one": (lambda a, b: np.sum(a[:, :, None] * b, axis=1), (500, 20), (30,)),
}


@pytest.mark.parametrize("form", LOOPS)
def test_other_sums_of_products_are_loops(form):
    f, *shapes = LOOPS[form]
    a, b = arrays(*shapes)
    compiled = wg.compile(f)
    agree([compiled(a, b)], [f(a, b)], exact=False)
    assert products(compiled) == 0


def test_a_long_sum_of_float32_is_not_added_up_in_order():
    a, b = arrays((100_000, 8), (100_000, 8), dtype=np.float32)
    a, b = 1 + a**2, 1 + b**2
    f = wg.compile(lambda a, b: np.sum(a[:, :, None] * b[:, None, :], axis=0))
    exact = a.astype(float).T @ b.astype(float)
    np.testing.assert_allclose(f(a, b), exact, rtol=1e-6)


SUMMED = {
    "rows": (lambda a, b: np.sum(a @ b, axis=1), (4, 50, 20), (4, 20, 30), 4 * 20 * 30),
    "columns": (lambda a, b: np.sum(a @ b, axis=-1), (4, 50, 20), (4, 20, 30), 4 * 50 * 20),
    "all": (lambda a, b: np.sum(a @ b), (50, 20), (20, 30), 20),
    "rows of a batch": (lambda a, b: np.sum(a @ b, axis=(0, 1)), (4, 50, 20), (4, 20, 30), 2400),
    "moved by a vector": (
        wg.grad(lambda b, a: np.sum(np.sin(a) @ b.T * a) + np.sum((a - b[0]) @ b)),
        (20, 20),
        (50, 20),
        None,
    ),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", SUMMED)
def test_a_sum_of_rows_of_a_product_is_the_product_of_their_sum(form, dtype):
    # The derivative by what rows are moved by, as the centres of Gaussian distributions, was a
    # product of matrices whose rows were added up.
    f, *shapes, most = SUMMED[form]
    a, b = arrays(*shapes, dtype=dtype)
    compiled = wg.compile(f)
    agree([compiled(a, b)], [f(a, b)], exact=False)
    sizes = [
        s.args[0].size * s.output.shape[-1]
        for s in compiled.program.statements
        if s.function is np.matmul
    ]
    assert most is None or all(size <= most for size in sizes)


def test_rows_of_a_product_that_is_read_besides_are_summed_as_they_are():
    a, b = arrays((50, 20), (20, 30))
    f = wg.compile(lambda a, b: (a @ b, np.sum(a @ b, axis=0)))
    f(a, b)
    assert len([s for s in f.program.statements if s.function is np.sum]) == 1
    agree(f(a, b), f.function(a, b), exact=False)
