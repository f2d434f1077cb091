"""Large plain arrays take other ways to the same numbers: they are the formulas' own."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from wengert.rules import neural
from wengert.rules.blocks import in_blocks

LARGE = (300, 301)  # several blocks, the last of them not a whole one


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_formula_in_blocks_is_the_formula(dtype):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, *LARGE)).astype(dtype)
    sizes = []

    def formula(x, y):
        sizes.append(x.size)
        return np.exp(-x * x) + y

    out = in_blocks(formula)(x, y)
    assert (out.dtype, len(sizes) > 1, sum(sizes)) == (dtype, True, x.size)
    np.testing.assert_array_equal(out, formula(x, y))


def test_what_does_not_fit_together_is_left_to_the_formula():
    x = np.ones(LARGE)
    add = in_blocks(lambda x, y: x + y)
    for y in (2.0, np.ones(LARGE[1]), np.ones(LARGE, np.float32), np.ones(LARGE[::-1]).T):
        assert np.array_equal(add(x, y), x + y)


def test_erf_in_float32_is_within_four_units_in_the_last_place():
    x = np.concatenate([np.logspace(-30, 1, 300_000), np.linspace(0, 6, 300_000)])
    x = np.concatenate([x, -x]).astype(np.float32)
    exact = special.erf(x.astype(np.float64))
    away = np.abs(neural.erf(x) - exact) / np.spacing(np.abs(exact.astype(np.float32)))
    assert away.max() <= 4


@pytest.mark.filterwarnings("error")
def test_erf_in_float32_at_its_ends():
    ends = np.array([np.inf, -np.inf, 3e38, -3e38, 0, -0.0, np.nan, 1e-45], np.float32)
    x = np.resize(ends, 1000)
    assert np.array_equal(neural.erf(x), special.erf(x), equal_nan=True)
    assert np.array_equal(np.signbit(neural.erf(x)), np.signbit(special.erf(x)))


@pytest.mark.parametrize("activation", [neural.gelu, neural.silu, neural.sigmoid])
def test_activations_of_large_arrays_are_those_of_small_ones(activation):
    x = np.random.default_rng(0).standard_normal(LARGE).astype(np.float32) * 3
    rows = np.stack([activation(row[:100]) for row in x])
    np.testing.assert_allclose(activation(x)[:, :100], rows, rtol=2e-6, atol=1e-6)
