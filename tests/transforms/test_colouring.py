"""Colourings: every nonzero is told by its product, and few products are needed where few are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from wengert.sparse import colouring
from wengert.sparse.colouring import ORDERS, bidirectional, one_sided, seeds, symmetric

ORDER = st.sampled_from([None, *ORDERS])
SIZE = st.integers(1, 9)


def matrices(shape):
    sparse = st.sampled_from([0.0, 0.0, 0.0, 1.0, 2.0, -3.0, 0.5])
    return arrays(float, shape, elements=sparse)


def told(c, matrix):
    """The nonzeros, from the products with the matrix that the colours ask for."""
    by_rows = seeds(c.row_colours, 0, c.vjps, float) @ matrix
    return c.entries(by_rows, seeds(c.column_colours, 0, c.jvps, float) @ matrix.T)


@given(st.data(), ORDER, st.sampled_from(["both", "rows", "columns"]))
@settings(deadline=None, max_examples=300)
def test_every_nonzero_is_told_by_one_product(data, order, sides):
    matrix = data.draw(matrices((data.draw(SIZE), data.draw(SIZE))))
    rows, columns = np.nonzero(matrix)
    if sides == "both":
        c = bidirectional(rows, columns, matrix.shape, order)
    else:
        c = one_sided(rows, columns, matrix.shape, order, by_rows=sides == "rows")
        assert (c.jvps if sides == "rows" else c.vjps) == 0
    np.testing.assert_array_equal(told(c, matrix), matrix[rows, columns])
    assert c.products <= sum(matrix.shape)


@given(st.data(), ORDER)
@settings(deadline=None, max_examples=300)
def test_every_nonzero_of_a_symmetric_matrix_is_told_by_a_star_colouring(data, order):
    n = data.draw(SIZE)
    half = data.draw(matrices((n, n)))
    matrix = half + half.T
    rows, columns = np.nonzero(matrix)
    c = symmetric(rows, columns, n, order)
    np.testing.assert_array_equal(told(c, matrix), matrix[rows, columns])
    assert c.products <= n


@given(st.data(), ORDER)
@settings(deadline=None, max_examples=200)
def test_a_star_colouring_leaves_no_path_of_four_with_two_colours(data, order):
    n = data.draw(SIZE)
    half = data.draw(matrices((n, n)))
    near = ((half + half.T) != 0) & ~np.eye(n, dtype=bool)
    rows, columns = np.nonzero(near)
    starts, neighbours = colouring._lists(rows, columns, n)
    graph = colouring.Graph(np.diff(starts), lambda: colouring._symmetric_matrix(rows, columns, n))
    colours = colouring._star(starts, neighbours, ORDERS[order or "natural"](graph))
    for v, w in zip(rows, columns, strict=True):
        assert colours[v] != colours[w]
        for x in np.flatnonzero(near[w]):
            for y in np.flatnonzero(near[x]):
                if len({int(v), int(w), int(x), int(y)}) == 4:
                    assert len({colours[v], colours[w], colours[x], colours[y]}) > 2


@pytest.mark.crossed
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("degree", [1.5, 3, 6])
def test_larger_random_matrices_are_told_too(order, degree):
    # Vertices coloured before both of their neighbours were once forgotten: rare in small graphs.
    random = np.random.default_rng(1979)
    for _ in range(30):
        n = int(random.integers(20, 60))
        half = np.where(random.random((n, n)) < degree / n, random.integers(1, 9, (n, n)), 0)
        matrix = half + half.T
        rows, columns = np.nonzero(matrix)
        c = symmetric(rows, columns, n, order)
        np.testing.assert_array_equal(told(c, matrix), matrix[rows, columns])
        rows, columns = np.nonzero(half)
        c = bidirectional(rows, columns, half.shape, order)
        np.testing.assert_array_equal(told(c, half), half[rows, columns])


def tridiagonal(n):
    i = np.arange(n)
    rows, columns = np.concatenate([i, i[1:], i[:-1]]), np.concatenate([i, i[:-1], i[1:]])
    return np.divmod(np.sort(rows * n + columns), n)


def arrow(n, head):
    i = np.arange(n)
    rest = np.delete(i, head)
    rows = np.concatenate([i, rest, np.full(n - 1, head)])
    columns = np.concatenate([i, np.full(n - 1, head), rest])
    return np.divmod(np.sort(rows * n + columns), n)


def test_a_band_takes_as_many_colours_as_it_is_wide():
    rows, columns = tridiagonal(1000)
    assert bidirectional(rows, columns, (1000, 1000), None).products == 3
    assert symmetric(rows, columns, 1000, None).products == 3


@pytest.mark.parametrize("head", [0, 500, 999])
def test_an_arrow_takes_rows_and_columns_and_its_hessian_two_products(head):
    rows, columns = arrow(1000, head)
    c = bidirectional(rows, columns, (1000, 1000), None)
    assert (c.vjps, c.jvps) == (1, 2)
    assert one_sided(rows, columns, (1000, 1000), None, by_rows=False).products == 1000
    assert symmetric(rows, columns, 1000, None).products == 2


def test_a_full_row_costs_one_product_and_a_full_column_too():
    wide = np.eye(50, dtype=bool)
    wide[7] = True
    assert bidirectional(*np.nonzero(wide), (50, 50), None).products == 2
    assert bidirectional(*np.nonzero(wide.T), (50, 50), None).products == 2


def test_nothing_takes_no_product():
    none = np.zeros(0, np.int64)
    assert bidirectional(none, none, (3, 4), None).products == 0
    assert symmetric(none, none, 3, None).products == 0


def test_an_arrow_of_100_000_is_coloured_in_time_linear_in_its_nonzeros():
    # Walking from each vertex to its neighbours' neighbours takes 10^10 steps: this would not end.
    n = 100_000
    rows, columns = arrow(n, n - 1)
    assert symmetric(rows, columns, n, None).products == 2
    assert bidirectional(rows, columns, (n, n), None).products == 3
