"""The array API standard's namespace: all its names, tensors in and out, and history kept."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import wengert as wg

STANDARD = """
    e inf nan newaxis pi
    arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like
    tril triu zeros zeros_like
    astype can_cast finfo iinfo isdtype result_type __array_namespace_info__
    bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128
    abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert
    bitwise_or bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp
    expm1 floor floor_divide greater greater_equal hypot imag isfinite isinf isnan less less_equal
    log log1p log2 log10 logaddexp logical_and logical_not logical_or logical_xor maximum minimum
    multiply negative nextafter not_equal positive pow real reciprocal remainder round sign signbit
    sin sinh square sqrt subtract tan tanh trunc
    take take_along_axis matmul matrix_transpose tensordot vecdot
    broadcast_arrays broadcast_to concat expand_dims flip moveaxis permute_dims repeat reshape roll
    squeeze stack tile unstack
    argmax argmin count_nonzero nonzero searchsorted where
    unique_all unique_counts unique_inverse unique_values argsort sort
    cumulative_prod cumulative_sum max mean min prod std sum var all any diff
    fft linalg
"""
NAMES = STANDARD.split()


@pytest.fixture
def x() -> wg.Tensor:
    return wg.tensor([[1.0, 4.0, 2.0], [3.0, 0.5, 9.0]], requires_grad=True)


def test_the_namespace_has_every_name_of_the_standard(x: wg.Tensor) -> None:
    xp = x.__array_namespace__(api_version="2024.12")
    assert [name for name in NAMES if not hasattr(xp, name)] == []
    assert sorted(name for name in NAMES if not name.startswith("__")) == sorted(xp.__all__)


def test_names_outside_of_the_standard_are_absent(x: wg.Tensor) -> None:
    with pytest.raises(AttributeError, match=r"2024\.12 has no 'percentile'"):
        x.__array_namespace__().percentile


def test_unknown_versions_are_refused(x: wg.Tensor) -> None:
    with pytest.raises(ValueError, match=r"newest that is, is '2024\.12'"):
        x.__array_namespace__(api_version="2031.12")


def test_what_makes_arrays_makes_tensors(x: wg.Tensor) -> None:
    xp = x.__array_namespace__()
    made = [
        xp.arange(3), xp.asarray([1.0]), xp.asarray(np.ones(2)), xp.empty((2,)), xp.eye(2),
        xp.full((2,), 3), xp.linspace(0, 1, 3), xp.ones(2), xp.zeros((2, 3)), xp.zeros_like(x),
        xp.ones_like(x), xp.full_like(x, 2.0), xp.empty_like(x), xp.from_dlpack(np.ones(2)),
    ]  # fmt: skip
    assert all(isinstance(y, wg.Tensor) for y in made)
    assert xp.asarray(x) is x
    assert xp.linspace(0, 1, 4, endpoint=False).tolist() == [0, 0.25, 0.5, 0.75]


CALLS = {
    "sum": lambda xp, x: xp.sum(x, axis=0, dtype=xp.float64),
    "prod": lambda xp, x: xp.prod(x, axis=(0, 1), keepdims=True),
    "std": lambda xp, x: xp.std(x, axis=1, correction=1),
    "var": lambda xp, x: xp.var(x, correction=0.0),
    "sort": lambda xp, x: xp.sort(x, axis=0, descending=True),
    "astype": lambda xp, x: xp.astype(x, xp.float64),
    "cumulative_sum": lambda xp, x: xp.cumulative_sum(x, axis=1, include_initial=True),
    "matrix_transpose": lambda xp, x: xp.matrix_transpose(x),
    "permute_dims": lambda xp, x: xp.permute_dims(x, (1, 0)),
    "concat": lambda xp, x: xp.concat([x, x], axis=None),
    "unstack": lambda xp, x: xp.unstack(x, axis=1)[1],
    "take_along_axis": lambda xp, x: xp.take_along_axis(x, xp.argsort(x, axis=1), axis=1),
    "clip": lambda xp, x: xp.clip(x, min=1.0, max=3.5),
    "where": lambda xp, x: xp.where(x > 1, x, 0.0),
    "vecdot": lambda xp, x: xp.vecdot(x, x, axis=0),
    "logaddexp": lambda xp, x: xp.logaddexp(x, xp.asarray(1.0)),
    "mean": lambda xp, x: xp.mean(x, axis=(0,), keepdims=True),
    "diff": lambda xp, x: xp.diff(x, axis=1),
    "fft": lambda xp, x: xp.abs(xp.fft.rfft(x)),
    "linalg": lambda xp, x: xp.linalg.vector_norm(x, axis=1),
}


@pytest.mark.parametrize("name", CALLS)
def test_results_are_numpys_and_keep_their_history(name: str, x: wg.Tensor) -> None:
    y = CALLS[name](x.__array_namespace__(), x)
    assert isinstance(y, wg.Tensor)
    assert y.requires_grad
    plain = wg.from_numpy(x.detach().numpy())
    np.testing.assert_allclose(y.detach().numpy(), CALLS[name](wg.array_api, plain).numpy())
    (slope,) = wg.autograd.grad(y.sum(), x)
    assert np.isfinite(slope.numpy()).all()


def test_sums_of_integers_are_wide(x: wg.Tensor) -> None:
    xp = x.__array_namespace__()
    assert xp.sum(xp.ones(3, dtype=xp.int8)).dtype == xp.int64
    assert xp.prod(xp.ones(3, dtype=xp.uint8)).dtype == xp.uint64


def test_the_namespace_says_what_it_has(x: wg.Tensor) -> None:
    info = x.__array_namespace__().__array_namespace_info__()
    assert info.default_dtypes()["real floating"] == wg.float32
    assert set(info.dtypes(kind="complex floating")) == {"complex64", "complex128"}
    assert info.devices() == [x.device]
    assert info.capabilities()["boolean indexing"]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda xp: xp.asarray([1.0], copy=False), ValueError),
        (lambda xp: xp.asarray(wg.ones(2), dtype=xp.int64, copy=False), ValueError),
        (lambda xp: xp.asarray([1.0], device="cuda"), RuntimeError),
        (lambda xp: xp.cumulative_sum(wg.ones(2, 2)), ValueError),
        (lambda xp: xp.sum(wg.ones(2), axis=3), Exception),
    ],
)
def test_bad_input_is_an_error(call: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        call(wg.array_api)


SCIPY = """
import numpy as np, wengert as wg
from scipy import integrate, optimize, special, stats
functions = [
    special.logsumexp, special.softmax, stats.gmean, stats.skew, stats.kurtosis, stats.variation,
    lambda x: stats.moment(x, 3), integrate.trapezoid, integrate.cumulative_trapezoid,
    optimize.rosen, special.erf, special.exprel, lambda x: special.jv(1, x),
]
at = np.array([0.3, 0.9, 2.0, 1.4])
for f in functions:
    x = wg.from_numpy(at.copy()).requires_grad_()
    y = f(x)
    assert isinstance(y, wg.Tensor), f
    np.testing.assert_allclose(y.detach().numpy(), f(at))
    weights = np.arange(1.0, y.numel() + 1).reshape(y.shape)
    (slope,) = wg.autograd.grad((y * weights).sum(), x)
    h = 1e-6 * np.eye(4)
    quotient = [((f(at + d) - f(at - d)) * weights).sum() / 2e-6 for d in h]
    np.testing.assert_allclose(slope.numpy(), quotient, rtol=1e-5, atol=1e-7)
import wengert.scipy.stats as ours
x = wg.from_numpy(at.copy()).requires_grad_()
np.testing.assert_allclose(ours.gamma.logpdf(x, at).detach(), stats.gamma.logpdf(at, at))
try:
    stats.pearsonr(x, at[::-1].copy())
except TypeError as error:  # SciPy spoke of namespaces, and did not say of which function
    assert "scipy.stats.pearsonr was given tensors and NumPy's arrays" in str(error)
    assert "write wengert.scipy.stats.pearsonr" in str(error)
print(len(functions))
"""


def test_scipys_functions_take_tensors_and_are_differentiated() -> None:
    # SciPy reads the setting when it is imported, hence the process.
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    done = subprocess.run(
        [sys.executable, "-c", SCIPY], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["13"], done.stderr


def test_functions_of_the_standard_take_all_of_its_arguments():
    xp = wg.ones(1).__array_namespace__()
    np.testing.assert_array_equal(xp.eye(3, 4, k=1).numpy(), np.eye(3, 4, 1))
    assert xp.arange(1, 0, 1).shape == (0,)
    assert xp.arange(0, stop=5, step=2).tolist() == [0, 2, 4]
    x = xp.asarray([1.0, 4.0])
    copied = xp.from_dlpack(x, device="cpu", copy=True)
    copied[0] = 2
    assert x.tolist() == [1, 4]
    for ends in ({"prepend": 0.0}, {"append": [9.0]}, {"prepend": [3.0], "append": 1.0}):
        x.requires_grad_()
        y = xp.diff(x, **ends)
        np.testing.assert_array_equal(y.detach().numpy(), np.diff([1.0, 4.0], **ends))
        assert y.requires_grad


def test_frequencies_are_tensors_of_the_dtype_asked_for(x: wg.Tensor) -> None:
    # They were NumPy's, which takes no dtype.
    xp = x.__array_namespace__()
    assert wg.equal(xp.fft.fftfreq(4, d=0.5, dtype=xp.float64), wg.fft.fftfreq(4, 0.5).double())
    assert xp.fft.rfftfreq(4, dtype=xp.float32).dtype == wg.float32
    assert isinstance(xp.fft.fft(x), wg.Tensor)


def test_memory_is_exported_by_the_arguments_of_the_standard(x: wg.Tensor) -> None:
    names = ["self", "stream", "max_version", "dl_device", "copy"]
    assert list(inspect.signature(wg.Tensor.__dlpack__).parameters) == names
