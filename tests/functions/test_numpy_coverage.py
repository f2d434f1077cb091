"""NumPy's functions by their NumPy names: each row of the page in docs, checked again."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.functions import numpy_coverage as coverage
from tests.functions.numpy_samples import SAMPLES

LISTED = coverage.listed()

WITHOUT_A_DERIVATIVE = {
    "about arrays, not numbers": """array array_repr array_str array2string asanyarray asarray
        asarray_chkfinite ascontiguousarray asfortranarray asmatrix base_repr binary_repr bmat
        broadcast_shapes can_cast common_type copyto empty empty_like frombuffer from_dlpack
        fromfile fromfunction fromiter frompyfunc fromregex fromstring full full_like genfromtxt
        get_include get_printoptions getbufsize geterr geterrcall info isdtype isfortran isscalar
        issubdtype iterable load loadtxt may_share_memory min_scalar_type mintypecode ndim
        nested_iters ones ones_like printoptions promote_types require result_type save savetxt
        savez savez_compressed set_printoptions setbufsize seterr seterrcall shape shares_memory
        show_config show_runtime size test typename zeros zeros_like einsum_path put
        put_along_axis place putmask fill_diagonal""",
    "constants and ranges": """arange bartlett blackman diag_indices diag_indices_from eye hamming
        hanning identity indices ix_ kaiser mask_indices tri tril_indices tril_indices_from
        triu_indices triu_indices_from""",
    "truth, order, counts and places": """all allclose any argmax argmin argpartition argsort
        argwhere array_equal array_equiv bincount count_nonzero digitize equal flatnonzero greater
        greater_equal histogram histogram2d histogram_bin_edges histogramdd isclose iscomplex
        iscomplexobj isfinite isin isinf isnan isneginf isposinf isreal isrealobj less less_equal
        lexsort logical_and logical_not logical_or logical_xor nanargmax nanargmin nonzero
        not_equal ravel_multi_index searchsorted signbit spacing unravel_index""",
    "bits, whole numbers, dates": """bitwise_and bitwise_count bitwise_invert bitwise_left_shift
        bitwise_not bitwise_or bitwise_right_shift bitwise_xor busday_count busday_offset
        datetime_as_string datetime_data format_float_positional format_float_scientific gcd invert
        is_busday isnat lcm left_shift packbits right_shift unpackbits""",
    "sets, whose elements keep no order": """intersect1d setdiff1d setxor1d union1d unique
        unique_all unique_counts unique_inverse unique_values""",
    "rounding to decimals": "around round",
    "not on Tensors: use np.linalg": "polydiv polyfit",
    "deprecated, another name of vstack": "row_stack",
}
"""NumPy's other functions, by the reason why the page has no row for them."""


def differentiable_names() -> set[str]:
    excluded = {name for names in WITHOUT_A_DERIVATIVE.values() for name in names.split()}
    functions = {
        name
        for name in dir(np)
        if callable(getattr(np, name))
        and not name.startswith("_")
        and not inspect.isclass(getattr(np, name))
    }
    return functions - excluded


def test_every_differentiable_function_has_a_sample() -> None:
    # A newer NumPy may have functions that this one lacks, so samples may be fewer than names.
    assert sorted(differentiable_names() - set(SAMPLES)) == []


def test_the_page_lists_the_samples() -> None:
    assert set(LISTED) == set(SAMPLES)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_row_of_the_page_says_what_the_checks_see(name: str) -> None:
    assert coverage.row(name) == LISTED[name], (
        "docs/numpy_coverage.md is out of date: python -m tests.functions.numpy_coverage"
    )


@pytest.mark.parametrize("name", SAMPLES)
def test_value_and_derivatives_are_there(name: str) -> None:
    assert LISTED[name][:4] == ("yes",) * 4


def test_the_page_is_what_the_script_writes() -> None:
    assert coverage.page(LISTED) == coverage.PAGE.read_text()


# ---- in particular -------------------------------------------------------------------------


def leaf(*values: Any) -> wg.Tensor:
    return wg.tensor(values, dtype=wg.float64, requires_grad=True)


def test_interp_differentiates_by_the_points_it_goes_through() -> None:
    x, xp, fp = leaf(0.5), leaf(0.0, 1.0), leaf(2.0, 4.0)
    np.interp(x, xp, fp).sum().backward()
    assert x.grad.tolist() == [2.0]
    assert fp.grad.tolist() == [0.5, 0.5]
    assert xp.grad.tolist() == [-1.0, -1.0]


@pytest.mark.parametrize("period", [None, 3.0])
def test_interp_outside_and_periodic_is_numpys(period: float | None) -> None:
    x = np.linspace(-4, 4, 21)
    xp, fp = np.array([0.0, 0.5, 1.25, 2.0]), np.array([1.0, -1.0, 3.0, 2.0])
    found = np.interp(wg.from_numpy(x), xp, fp, period=period)
    np.testing.assert_allclose(found.numpy(), np.interp(x, xp, fp, period=period), atol=1e-12)
    found = np.interp(wg.from_numpy(x), xp, fp, left=-7, right=9)
    expected = np.interp(x, xp, fp, left=-7, right=9)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-14)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize(("n", "m"), [(5, 3), (5, 4), (3, 5), (4, 5), (4, 4), (1, 3)])
def test_correlate_is_numpys_for_all_lengths(mode: str, n: int, m: int) -> None:
    random = np.random.default_rng(n * m)
    a, v = (random.normal(size=k) + 1j * random.normal(size=k) for k in (n, m))
    for function in (np.correlate, np.convolve):
        found = function(wg.from_numpy(a), wg.from_numpy(v), mode)
        np.testing.assert_allclose(found.numpy(), function(a, v, mode), atol=1e-12)


def test_unwrap_is_numpys_at_exactly_half_a_period() -> None:
    p = np.array([0.0, np.pi, 0.0, 2 * np.pi, 7.0, -9.0])
    np.testing.assert_allclose(np.unwrap(wg.from_numpy(p)).numpy(), np.unwrap(p))
    degrees = np.array([0.0, 180.0, 360.0, 170.0, -190.0])
    found = np.unwrap(wg.from_numpy(degrees), period=360)
    np.testing.assert_allclose(found.numpy(), np.unwrap(degrees, period=360))


@pytest.mark.parametrize("axis", [None, 0, (0, 2), -1])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("method", ["linear", "lower", "higher", "midpoint", "nearest"])
def test_quantile_is_numpys_for_axes_and_methods(axis: Any, keepdims: bool, method: Any) -> None:
    x = np.random.default_rng(3).normal(size=(3, 4, 5))
    for q in (0.35, [0.1, 0.5, 1.0], np.array([[0.2], [0.9]])):
        found = np.quantile(wg.from_numpy(x), q, axis, method=method, keepdims=keepdims)
        expected = np.quantile(x, q, axis, method=method, keepdims=keepdims)
        np.testing.assert_allclose(found.numpy(), expected, atol=1e-12)
        assert found.shape == expected.shape


def test_a_piece_is_computed_only_where_it_is_chosen() -> None:
    x = leaf(-1.0, 4.0)
    y = np.piecewise(x, [x.detach().numpy() > 0], [np.sqrt, lambda v: v * v])
    y.sum().backward()
    assert y.tolist() == [1.0, 2.0]
    assert x.grad.tolist() == [-2.0, 0.25]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: np.interp(x, [0.0, 1.0], [1.0]), ValueError),
        (lambda x: np.average(x, weights=np.zeros(3)), ZeroDivisionError),
        (lambda x: np.quantile(x, 1.5), ValueError),
        (lambda x: np.choose([5], [x, x]), ValueError),
        (lambda x: np.cross(x[:2], x[:2]), ValueError),
        (lambda x: np.gradient(x, edge_order=3), ValueError),
        (lambda x: np.gradient(x[:1]), RuntimeError),
        (lambda x: np.matrix_transpose(x), ValueError),
        (lambda x: np.select([x > 0], [x, x]), ValueError),
        (lambda x: np.max(x, where=[True, False, True]), ValueError),
        (lambda x: np.exp(x, where=[True, False, True]), TypeError),
        (lambda x: np.add(x, x, dtype=np.int64), TypeError),
        (lambda x: np.sort(x, order="name"), TypeError),
    ],
)
def test_bad_input_is_an_error(call: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        call(leaf(1.0, 2.0, 3.0))
