"""What adds at computed places takes quicker ways than np.add.at, to the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

from wengert.rules import indexing

rng = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.int64])
@pytest.mark.parametrize("low", [0, -50])
def test_rows_are_added_where_the_index_says(dtype, low):
    index = rng.integers(low, 50, (40, 30))
    g = (rng.standard_normal((40, 30, 6, 2)) * 5).astype(dtype)
    expected = np.zeros((50, 6, 2), dtype)
    np.add.at(expected, index, g)
    found = indexing.add_rows(g, index, expected.shape)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    found = indexing.add_at(g, index, expected.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_elements_are_added_along_one_dimension(axis):
    shape, size = (7, 5, 6), [(7, 5, 6), (4, 5, 3)]
    for small in size:
        index = rng.integers(-shape[axis], shape[axis], small)
        g = rng.standard_normal(small)
        grid = list(np.ix_(*map(np.arange, small)))
        grid[axis] = index
        expected = np.zeros(shape)
        np.add.at(expected, tuple(grid), g)
        np.testing.assert_allclose(indexing.scatter_add(g, index, shape, axis), expected)
        if small == shape:
            np.testing.assert_allclose(indexing.put_along_axis(g, index, shape, axis), expected)


@pytest.mark.parametrize("wrong", [5, -6])
def test_an_index_out_of_range_is_an_error_and_no_other_row(wrong):
    index = np.zeros((3, 2000), int)
    index[1, 2] = wrong
    g = np.ones((3, 2000))
    with pytest.raises(IndexError, match=f"{wrong} is out of bounds"):
        indexing.scatter_add(g, index, (5, 2000), 0)
    with pytest.raises(IndexError, match=f"{wrong} is out of bounds"):
        indexing.add_rows(np.ones((3, 2000, 4)), index, (5, 4))


def test_the_first_index_out_of_range_is_named_as_numpy_does():
    # The lowest was, though NumPy names the first, and so does compiled code.
    index, g = np.array([1, 5, -7, 9]), np.ones((4, 3))
    for add in (indexing.add_rows, indexing.add_at):
        with pytest.raises(IndexError, match="index 5 is out of bounds for dimension 0"):
            add(g, index, (3, 3))
    with pytest.raises(IndexError, match="index 5 is out of bounds for dimension 0"):
        indexing.scatter_add(np.ones(4), index, (3,), 0)
