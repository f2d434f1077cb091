"""Statistics, differences, integrals and masked reductions beside PyTorch's: values, dtypes,
shapes, first and second derivatives, and the errors of bad input.
"""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg

torch = pytest.importorskip("torch")

from tests.parity.test_operators import C, M, N, P, Q, V, Z, compare, outputs_of  # noqa: E402

INF, NAN = float("inf"), float("nan")
ROW = M[:1]
KNOTS = np.array([0.0, 0.4, 1.5, 2.0])

CALLS = {
    "cov weights": (
        lambda t, x, w: t.cov(x, fweights=t.tensor([1, 2, 0, 3]), aweights=w, correction=0),
        M,
        P[0].copy(),
    ),
    "cov of one variable": (lambda t, x: t.cov(x), ROW),
    "cov of complex numbers": (lambda t, x: t.cov(x), Z),
    "corrcoef of one variable": (lambda t, x: t.corrcoef(x), ROW),
    "diff 0": (lambda t, x, y: t.diff(x, 0, prepend=y), M, N),
    "diff joined": (lambda t, x, y: t.diff(x, 2, 0, prepend=y, append=y), M, N),
    "gradient": (lambda t, x: t.gradient(x), M),
    "gradient 2": (lambda t, x: t.gradient(x, dim=1, edge_order=2, spacing=0.5), M),
    "gradient coordinates": (
        lambda t, x, k: t.gradient(x, spacing=(k,), dim=1, edge_order=2),
        M,
        KNOTS,
    ),
    "gradient of a pair": (lambda t, x: t.gradient(x[:2], dim=0), M),
    "trapezoid places": (lambda t, y, x: t.trapezoid(y, x), M, KNOTS),
    "trapezoid 0": (lambda t, y, x: t.trapezoid(y, x, dim=0), M, N),
    "trapezoid of one": (lambda t, y: t.trapezoid(y[:, :1]), M),
    "cumulative_trapezoid": (lambda t, y, x: t.cumulative_trapezoid(y, x), C, KNOTS),
    "quantile by q": (lambda t, x, q: t.quantile(x, q, dim=0), M, np.array([0.2, 0.7])),
    "quantile of a number": (lambda t, x: t.quantile(x[0, 0], 0.5, dim=-1), M),
    "quantile kept": (lambda t, x: t.quantile(x, 0.3, keepdim=True), C),
    "nanquantile kept": (
        lambda t, x: t.nanquantile(x, 0.3, dim=1, keepdim=True),
        np.where(M > 1, NAN, M),
    ),
    "renorm": (lambda t, x: t.renorm(x, 2, 0, 1.5), M),
    "frobenius_norm": (lambda t, x: t.norm(x, "fro", dim=(0, 1)), M),
    "nuclear norm": (lambda t, x: t.norm(x, "nuc"), M),
    "norm 0 is tracked": (lambda t, x: x.norm(0, 1), M),
    "frexp": (lambda t, x: t.frexp(x), M),
    "heaviside": (lambda t, x, y: t.heaviside(x.detach(), y.detach()), M, N),
    "logaddexp complex": (lambda t, x, y: t.logaddexp(x, y), Z, Z[::-1].copy()),
    "logcumsumexp complex": (lambda t, x: t.logcumsumexp(x, 1), Z),
    "logsumexp complex": (lambda t, x: t.logsumexp(x, 1), Z),
    "index_fill twice": (lambda t, x, v: x.index_fill(0, t.tensor([1, 1]), v), M, np.array(2.0)),
    "vander": (lambda t, x: t.vander(x.detach(), 3, increasing=True), V),
    "chain_matmul": (lambda t, x, y: t.linalg.multi_dot([x, y.T, x]), M, N),
}

MASK = np.array([[True, False, True, True], [False] * 4, [True, True, False, False]])
MASKED = {
    "sum": lambda t, x, m: t.masked.sum(x, 1, mask=m),
    "prod": lambda t, x, m: t.masked.prod(x, 0, mask=m),
    "amax": lambda t, x, m: t.masked.amax(x, 0, keepdim=True, mask=m),
    "amin": lambda t, x, m: t.masked.amin(x, mask=m),
    "argmax": lambda t, x, m: t.masked.argmax(x, 1, mask=m).long(),
    "argmin": lambda t, x, m: t.masked.argmin(x, mask=m).long(),
    "mean": lambda t, x, m: t.masked.mean(x, 0, mask=m),
    "mean of none": lambda t, x, m: t.masked.mean(x, 1, mask=m).isnan(),
    "var": lambda t, x, m: t.masked.var(x, (0, 1), mask=m),
    "std": lambda t, x, m: t.masked.std(x, (0, 1), unbiased=False, mask=m),
    "median": lambda t, x, m: t.masked.median(x, 0, mask=m),
    "norm": lambda t, x, m: t.masked.norm(x, 3.0, 0, mask=m),
    "logsumexp": lambda t, x, m: t.masked.logsumexp(x, 0, mask=m),
    "cumsum": lambda t, x, m: t.masked.cumsum(x, 1, mask=m),
    "cumprod": lambda t, x, m: t.masked.cumprod(x, 0, mask=m),
    "softmax": lambda t, x, m: t.masked.softmax(x, 0, mask=m),
    "softmin": lambda t, x, m: t.masked.softmin(x, 0, mask=m),
    "log_softmax": lambda t, x, m: t.masked.log_softmax(x, 0, mask=m).exp(),
    "normalize": lambda t, x, m: t.masked.normalize(x, 2.0, 0, mask=m),
    "logaddexp": lambda t, x, m: t.masked.logaddexp(x.detach(), 2 * x.detach(), input_mask=m),
}


@pytest.mark.parametrize("name", CALLS)
def test_call_agrees_in_value_dtype_shape_and_derivatives(name):
    call, *arrays = CALLS[name]
    compare(call, arrays)


@pytest.mark.parametrize("name", MASKED)
def test_masked_reduction_agrees(name):
    compare(lambda t, x: MASKED[name](t, x, t.tensor(MASK)), [M])


@pytest.mark.parametrize("name", MASKED)
def test_masked_reduction_without_a_mask_is_the_plain_one(name):
    compare(lambda t, x: MASKED[name](t, x, None), [M])


COUNTS = {
    "histogram": lambda t, x: t.histogram(x, 3),
    "histogram bounds": lambda t, x: t.histogram(x, t.tensor([-1.0, 0.5, 2.0], dtype=t.float64)),
    "histogram weights": lambda t, x: t.histogram(x, 4, range=(-1, 1), weight=x * x, density=True),
    "histogramdd": lambda t, x: t.histogramdd(x[:, :2], [2, 3]),
    "histogramdd range": lambda t, x: t.histogramdd(x[:, :2], 2, range=[-1, 1, -2, 2]),
    "histc": lambda t, x: t.histc(x, 4),
    "bincount weights": lambda t, x: t.bincount(t.tensor([1, 3, 3]), x[:, 0], minlength=6),
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts_agree(name):
    def flat(result):
        return [y for part in outputs_of(result) for y in outputs_of(part)]

    theirs, ours = (flat(COUNTS[name](t, t.tensor(M))) for t in (torch, wg))
    assert len(theirs) == len(ours)
    for y, z in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(z.numpy(), y.numpy())
        assert (str(z.dtype), tuple(z.shape)) == (str(y.dtype).removeprefix("torch."), y.shape)


BAD = {
    "cov of a cube": lambda t, x: t.cov(x[None]),
    "cov of float frequencies": lambda t, x: t.cov(x, fweights=x[0]),
    "cov of weights that sum to 0": lambda t, x: t.cov(x, aweights=0 * x[0]),
    "diff of a number": lambda t, x: t.diff(x[0, 0]),
    "diff of a negative order": lambda t, x: t.diff(x, -1),
    "diff along no dimension": lambda t, x: t.diff(x, dim=2),
    "diff joined to another rank": lambda t, x: t.diff(x, prepend=x[0]),
    "gradient of one sample": lambda t, x: t.gradient(x[:1], dim=0),
    "gradient of order 3": lambda t, x: t.gradient(x, edge_order=3),
    "gradient with too few distances": lambda t, x: t.gradient(x, spacing=[1.0]),
    "gradient twice along one": lambda t, x: t.gradient(x, dim=(1, 1)),
    "trapezoid at too many places": lambda t, x: t.trapezoid(x, t.ones(7)),
    "trapezoid of a number": lambda t, x: t.trapezoid(x[0, 0]),
    "quantile above 1": lambda t, x: t.quantile(x, 1.5),
    "quantile of integers": lambda t, x: t.quantile(x.long(), 0.5),
    "quantile of another dtype": lambda t, x: t.quantile(x, t.tensor(0.5, dtype=t.float32)),
    "quantile of nothing": lambda t, x: t.quantile(x[:0], 0.5),
    "quantile by a word": lambda t, x: t.quantile(x, 0.5, interpolation="cubic"),
    "renorm of a number": lambda t, x: t.renorm(x[0, 0], 2, 0, 1.0),
    "renorm to a negative norm": lambda t, x: t.renorm(x, 2, 0, -1.0),
    "histogram of no bins": lambda t, x: t.histogram(x, 0),
    "histogram weighted by another shape": lambda t, x: t.histogram(x, 2, weight=x[0]),
    "histogramdd of a vector": lambda t, x: t.histogramdd(x[0], 2),
    "histogramdd of too many bins": lambda t, x: t.histogramdd(x, [2, 2]),
    "histc backwards": lambda t, x: t.histc(x, 3, 2, 1),
    "bincount of floats": lambda t, x: t.bincount(x[0]),
    "bincount of negative numbers": lambda t, x: t.bincount(t.tensor([-1])),
    "bincount of a matrix": lambda t, x: t.bincount(x.long().abs()),
    "searchsorted to both sides": lambda t, x: t.searchsorted(x[0], x[0], right=True, side="left"),
    "searchsorted in other rows": lambda t, x: t.searchsorted(x, x[:2]),
    "bucketize by a matrix": lambda t, x: t.bucketize(x, x),
    "heaviside of two dtypes": lambda t, x: t.heaviside(x, x.float()),
    "sign of complex numbers": lambda t, x: t.sign(t.complex(x, x)),
    "frexp of integers": lambda t, x: t.frexp(x.long()),
    "complex of a number": lambda t, x: t.complex(x, "1"),
    "hsplit of a number": lambda t, x: t.hsplit(x[0, 0], 1),
    "vsplit into no sections": lambda t, x: t.vsplit(x, 0),
    "roll by nothing": lambda t, x: t.roll(x, ()),
    "narrow of a number": lambda t, x: t.narrow(x[0, 0], 0, 0, 1),
    "hstack of nothing": lambda t, x: t.hstack([]),
    "index_add of another shape": lambda t, x: x.index_add(0, t.tensor([0, 1]), x[0]),
    "put of another dtype": lambda t, x: x.put(t.tensor([0]), t.tensor([1])),
    "put of too many": lambda t, x: x.put(t.tensor([0]), x[0]),
    "masked_scatter by numbers": lambda t, x: x.masked_scatter(x, x),
    "masked_fill with a complex number": lambda t, x: x.masked_fill(x > 0, 1j),
    "take_along_dim of floats": lambda t, x: t.take_along_dim(x, x, 1),
    "isclose by a negative tolerance": lambda t, x: t.isclose(x, x, rtol=-1.0),
    "integer to a negative power": lambda t, x: x.long() ** -1,
    "cross of two ranks": lambda t, x: t.linalg.cross(x[:, :3], x[0, 0]),
    "out= that cannot hold the result": lambda t, x: t.add(x, x, out=t.zeros(3, 4).long()),
    "out= of several names for one number": lambda t, x: t.exp(x, out=x[:1].expand(3, 4)),
}


def error_of(call, *arguments):
    """The type of the error that a call raises; of one that raises none, AssertionError."""
    try:
        call(*arguments)
    except Exception as error:
        return type(error)
    return AssertionError


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_the_same_kind_of_error(name):
    expected = error_of(BAD[name], torch, torch.tensor(M))
    with pytest.raises(expected):
        BAD[name](wg, wg.tensor(M))


def test_probabilities_have_a_gradient():
    q = wg.tensor(0.25, dtype=wg.float64, requires_grad=True)
    wg.quantile(wg.tensor([1.0, 3.0, 9.0], dtype=wg.float64), q).backward()
    assert q.grad.item() == 4.0  # (3 - 1) times the two intervals


def test_shares_of_probability_are_those_of_q():
    compare(lambda t, x, q: t.quantile(x, q), [M, Q[0, :2].copy()])
