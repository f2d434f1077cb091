"""Sorting many numbers: the order of NumPy's stable sort, found a quicker way."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.functions.sorting import _FEW

rng = np.random.default_rng(0)
ARRAYS = {
    "float32": rng.standard_normal((100, 90)).astype(np.float32),
    "few distinct integers": rng.integers(0, 50, (100, 90)),
    "three dimensions": rng.integers(0, 10**9, (50, 30, 7)),
    "ties in some rows": np.where(rng.random((100, 90)) < 0.01, 0, rng.standard_normal((100, 90))),
    "NaN": np.where(rng.random((100, 90)) < 0.01, np.nan, rng.standard_normal((100, 90))),
    "one line": rng.standard_normal(9000),
    "zeros of both signs": np.array([0.0, -0.0] * 4000),
    "truth values": rng.random((100, 90)) < 0.5,
}


@pytest.mark.parametrize("name", ARRAYS)
def test_the_order_is_that_of_a_stable_sort(name):
    x = ARRAYS[name]
    assert x.size > _FEW
    for axis in range(x.ndim):
        values, order = wg.sort(wg.from_numpy(x), axis, stable=True)
        expected = np.argsort(x, axis=axis, kind="stable")
        np.testing.assert_array_equal(order.numpy(), expected)
        np.testing.assert_array_equal(values.numpy(), np.take_along_axis(x, expected, axis))
        downwards = wg.argsort(wg.from_numpy(x), axis, descending=True).numpy()
        flipped = x.shape[axis] - 1 - np.argsort(np.flip(x, axis), axis=axis, kind="stable")
        np.testing.assert_array_equal(downwards, np.flip(flipped, axis))


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("axis", [0, 1])
def test_the_first_few_of_many_are_those_of_the_whole_order(axis, largest):
    # They are divided from the others before they are sorted; NaN counts as largest.
    x = np.random.default_rng(0).integers(0, 9, (40, 50)).astype("f4")
    x[3, 4] = x[30, 4] = np.nan
    values, places = wg.tensor(x).topk(5, axis, largest)
    whole = np.sort(x, axis)
    whole = np.take(np.flip(whole, axis) if largest else whole, np.arange(5), axis)
    assert np.array_equal(values.numpy(), whole, equal_nan=True)
    assert np.array_equal(np.take_along_axis(x, places.numpy(), axis), whole, equal_nan=True)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_of_a_rank_stand_where_a_stable_order_has_them(axis, dtype):
    # Ties, zeros of both signs and NaN: the value alone does not say which of them it is.
    x = rng.integers(-3, 4, (60, 40)).astype(dtype)
    x[rng.random(x.shape) < 0.1] = np.nan
    x[rng.random(x.shape) < 0.1] = -0.0
    x[:, 7], x[7] = np.nan, 1.0
    t, order, n = wg.tensor(x), np.argsort(x, axis, kind="stable"), x.shape[axis]
    for k in (1, 3, 16, 17, n - 1, n):
        found = wg.kthvalue(t, k, axis)[1]
        assert np.array_equal(found, np.take(order, k - 1, axis))
        for largest in (False, True):
            found = wg.topk(t, k, axis, largest)[1]
            expected = wg.argsort(t, axis, largest).numpy().take(range(k), axis)
            assert np.array_equal(found, expected) or k > 16
    missing = np.isnan(x).sum(axis)
    for median, place in (
        (wg.nanmedian, np.maximum(n - missing - 1, 0) // 2),
        (wg.median, np.where(missing > 0, n - missing, (n - 1) // 2)),
    ):
        expected = np.take_along_axis(order, np.expand_dims(place, axis), axis).squeeze(axis)
        assert np.array_equal(median(t, axis)[1], expected)
