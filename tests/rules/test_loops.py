"""Functions of loops: their machine code computes what Python computes of the same text."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.nn.functional as F
from wengert.rules import alignment, indexing, losses, neural, reductions, sampling
from wengert.rules.loops import loops, within_loops
from wengert.rules.quick import QUICK

LIMIT = 6


@within_loops
def _half(x):
    quarter = x / 4
    return quarter + quarter


@loops
def _everything(x, marks, counts, out, start, sign):
    """Each kind of statement and expression."""
    rows, columns = x.shape
    total, seen = x.dtype.type(0), 0
    for i in range(start, rows):
        for j in range(columns - 1, -1, -1):
            if x[i, j] != x[i, j]:
                continue
            if seen > LIMIT and not sign:
                break
            elif marks[i, j] and (x[i, j] > 0 or seen % 2 == 1):
                total += _half(x[i, j]) if sign else -x[i, j]
            else:
                total -= 0.5
            seen += 1
            counts[i, j] += seen // 2
            out[i, j] = np.maximum(total, np.floor(x[i, j])) * min(seen, 3)
    power = 1
    while power < 40:
        power *= 3
    out[0, 0] = power + abs(int(out[0, 0]))
    return seen


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_machine_code_of_every_statement_is_python_s(dtype):
    rng = np.random.default_rng(0)
    x = (4 * rng.standard_normal((5, 8))).astype(dtype)
    x[1, 2] = np.nan
    marks = rng.random(x.shape) < 0.5
    for start, sign in itertools.product((0, 2), (True, False)):
        given = [(x, marks), (x.T[::-1].T, marks.T[::-1].T)]  # by their strides
        for numbers, flags in given:
            results = []
            for run in (_everything, _everything.body):
                counts, out = np.zeros(x.shape, np.int64), np.zeros(x.shape, dtype)
                seen = run(numbers, flags, counts, out, start, sign)
                results.append((seen, counts, out))
            (seen, counts, out), expected = results
            assert seen == expected[0]
            np.testing.assert_array_equal(counts, expected[1])
            np.testing.assert_allclose(out, expected[2], rtol=1e-6)


@loops
def _of_complex(x, marks, out, sizes):
    total = x.dtype.type(0)
    for i in range(len(x)):
        z = x[i] * 2 if marks[i] else -x[i]
        total += z / (x[i] + 1.5)
        if x[i] == total:
            continue
        out[i] = total * x[i] - sizes[i]
        sizes[i] += abs(x[i]) + x[i].imag * x[i].real


@pytest.mark.parametrize("dtype", ["F", "D"])
def test_machine_code_of_complex_numbers_is_python_s(dtype):
    # Loops took floats only.
    rng = np.random.default_rng(0)
    x = (rng.standard_normal(20) + 1j * rng.standard_normal(20)).astype(dtype)
    marks, sizes = x.real > 0, x.imag.copy()
    for step in (1, -2):
        results = []
        for run in (_of_complex, _of_complex.body):
            out, counts = np.zeros_like(x[::step]), sizes[::step].copy()
            run(x[::step], marks[::step], out, counts)
            results.append((out, counts))
        for ours, theirs in zip(*results, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-4 if dtype == "F" else 1e-12)


@pytest.mark.parametrize("power", [-2, -1, 0.5, 2, 3, 4])
def test_powers_of_many_complex_numbers_and_their_slopes_are_those_of_few(power):
    # NumPy's powers and quotients of them took eight times as long as products and loops.
    rng = np.random.default_rng(0)
    numbers = rng.standard_normal(5000) + 1j * rng.standard_normal(5000)
    many = wg.tensor(numbers, requires_grad=True)
    y = many**power / many
    (slope,) = wg.autograd.grad(y, many, wg.ones(5000).to(wg.complex128))
    expected = (power - 1) * numbers ** (power - 2.0)
    np.testing.assert_allclose(y.detach().numpy(), numbers ** (power - 1.0), rtol=1e-9)
    np.testing.assert_allclose(slope.numpy(), np.conj(expected), rtol=1e-8)


def test_a_quotient_of_complex_numbers_by_zero_raises_what_a_program_asks_for():
    x = wg.zeros(5000, dtype=wg.complex128)
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        x.reciprocal()
    assert x.reciprocal().isnan().all()


def test_a_variable_that_changes_its_type_is_refused():
    @loops
    def changing(x):
        total = 0
        for i in range(len(x)):
            total += x[i]
        x[0] = total

    with pytest.raises(TypeError, match="total began as int64 and cannot become float64"):
        changing(np.ones(3))


def _in_python(monkeypatch: Any) -> None:
    """Leave plain arrays to the formulas."""
    for module in (sampling, alignment, losses, neural, reductions):
        monkeypatch.setattr(module, "loopable", lambda *arrays: False)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
def test_samples_between_pixels_are_those_of_the_formula(mode, padding, monkeypatch):
    rng = np.random.default_rng(0)
    kinds = itertools.product((2, 3), (True, False), (0, 1, 2))
    cases = []
    for n, corners, order in kinds:
        x = rng.standard_normal((2, 3, 5, 4, 1)[: 2 + n])
        grid = rng.uniform(-2.6, 2.6, (*(2, 4, 3, 2)[: 1 + n], n))
        how = mode, padding, corners, (order, *(0,) * (n - 1))
        y = sampling.sample(x, grid, *how)
        g = rng.standard_normal(y.shape)
        cases.append((x, grid, how, y, g, sampling.spread(g, grid, x.shape, *how)))
    _in_python(monkeypatch)
    for x, grid, how, y, g, back in cases:
        np.testing.assert_allclose(y, sampling.sample(x, grid, *how), atol=1e-12)
        np.testing.assert_allclose(back, sampling.spread(g, grid, x.shape, *how), atol=1e-12)


@pytest.mark.filterwarnings("error")
def test_alignments_are_those_of_the_formula(monkeypatch):
    # Of the samples one is too short for its text, one has no text, one repeats a label.
    rng = np.random.default_rng(0)
    x = np.log(rng.dirichlet(np.ones(4), (6, 5)))
    states = np.zeros((5, 7), np.int64)
    states[:, 1::2] = [[1, 2, 3], [2, 2, 1], [1, 1, 1], [3, 1, 0], [2, 3, 1]]
    frames, lengths = np.array([6, 5, 4, 6, 0]), np.array([3, 3, 3, 0, 0])
    call = x, states, frames, lengths
    g = rng.standard_normal(5)
    losses, shares = alignment.alignments(*call), alignment.shares(g, *call)
    assert np.isinf(losses[2])
    assert losses[4] == 0
    _in_python(monkeypatch)
    np.testing.assert_allclose(losses, alignment.alignments(*call), rtol=1e-12)
    np.testing.assert_allclose(shares, alignment.shares(g, *call), atol=1e-12)


def test_alignments_take_a_batch_of_labels_under_vmap():
    # Labels that vmap maps over were read as numbers, which they were not.
    rng = np.random.default_rng(0)
    x = wg.tensor(rng.standard_normal((2, 6, 3, 4))).log_softmax(-1)
    labels = wg.tensor(rng.integers(1, 4, (2, 3, 2)))
    loss = lambda x, labels: F.ctc_loss(x, labels, (6, 6, 6), (2, 2, 1))
    each = [loss(a, b) for a, b in zip(x, labels, strict=True)]
    np.testing.assert_allclose(wg.vmap(loss)(x, labels), wg.stack(each), rtol=1e-12)


def test_ctc_of_no_frames_is_certain_of_no_text_and_of_none_other():
    # A sample without frames was given the first frame of the others.
    x = wg.zeros(4, 2, 3).log_softmax(-1)
    losses = F.ctc_loss(x, wg.tensor([[1], [2]]), (0, 0), (0, 1), reduction="none")
    assert losses.tolist() == [0, float("inf")]


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
def test_lines_are_taken_and_put_back_as_numpy_does(dtype):
    rng = np.random.default_rng(0)
    x = rng.integers(-9, 9, (3, 4, 5)).astype(dtype)
    for axis in (0, 1, -1):
        shape = list(x.shape)
        shape[axis] = 7
        index = rng.integers(-x.shape[axis], x.shape[axis], shape)
        taken = QUICK[np.take_along_axis](x, index, axis)
        np.testing.assert_array_equal(taken, np.take_along_axis(x, index, axis))
        back = indexing.put_along_axis(taken, index, x.shape, axis)
        expected = np.zeros_like(x)
        grid = list(np.indices(index.shape, sparse=True))
        grid[axis] = index
        np.add.at(expected, tuple(grid), taken)
        np.testing.assert_array_equal(back, expected)
        with pytest.raises(IndexError, match="out of bounds"):
            QUICK[np.take_along_axis](x, index + x.shape[axis], axis)


@pytest.mark.parametrize("dtype", ["f4", "i8", "f2", "?"])
def test_the_mode_is_the_smallest_of_the_most_frequent_and_its_last_place(dtype):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 3, (6, 7)).astype(dtype)
    for axis in (0, 1):
        values, places = wg.tensor(x).mode(axis)
        for row, value, place in zip(np.moveaxis(x, axis, -1), values, places, strict=True):
            kinds, counts = np.unique(row, return_counts=True)
            assert value.item() == kinds[np.argmax(counts)]
            assert place.item() == np.flatnonzero(row == value.item())[-1]


def test_running_extrema_keep_nan_and_the_last_of_equal_places():
    x = np.array([2, 1, 2, 3, np.nan, 5, np.nan, 4], np.float32)
    both = [wg.tensor(x).cummax(0), wg.tensor(-x).cummin(0)]
    for values, places in both:
        assert places.tolist() == [0, 0, 2, 3, 4, 4, 6, 6]
        np.testing.assert_array_equal(np.isnan(values.numpy()), np.arange(8) >= 4)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(90, 60), (7, 90, 11), (5000,), (1, 5000), (5000, 1), (0, 9)])
def test_running_sums_and_products_are_numpy_s_to_the_last_bit(shape, dtype):
    x = (1 + np.random.default_rng(0).standard_normal(shape) / 10).astype(dtype)
    x.flat[:2] = -0.0
    for a in (x, x.T, x[::-1], np.asfortranarray(x)):
        for axis in range(-a.ndim, a.ndim):
            for ours, theirs in ((wg.cumsum, np.cumsum), (wg.cumprod, np.cumprod)):
                found, expected = ours(wg.tensor(a), axis).numpy(), theirs(a, axis)
                assert np.array_equal(found, expected)
                assert np.array_equal(np.signbit(found), np.signbit(expected))


def test_running_products_that_overflow_raise_what_a_program_asks_for():
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        np.cumprod(wg.full((5000,), 2.0), 0)


@pytest.mark.parametrize("axis", [0, 1, 2, -2])
def test_recurrences_are_those_of_numpy(axis):
    a, b = np.random.default_rng(0).standard_normal((2, 9, 8, 7))
    steps = reductions.recurrence.body.formula
    for x, y in ((a, b), (a.T, b.T), (a[::-1], b[:, ::-1])):
        assert np.array_equal(reductions.recurrence(x, y, axis), steps(x, y, axis))


def test_each_kind_of_arguments_has_its_machine_code():
    # The key of a call's dtypes was made in Python, and took longer than the loops themselves.
    @loops
    def largest(x, low):
        most = x.dtype.type(low)
        for i in range(len(x)):
            most = max(most, x[i])
        return int(most)

    dtypes = [np.dtype(d) for d in ("f4", "f8", "i4", "i8", "u1")]
    for dtype in 2 * [*dtypes, pickle.loads(pickle.dumps(dtypes[0]))]:  # equal, another object
        x = np.array([3, 7, 5], dtype)
        assert [largest(x, low) for low in (9, True, 2)] == [9, 7, 7]
    assert largest.body(np.array([3, 7]), 1) == 7


def test_a_number_too_large_for_loops_is_an_error():
    # It was cut to its lowest 64 bits.
    index = np.arange(10)
    for _ in range(1000):
        indexing.outside(index, 0, 10)
    with pytest.raises(OverflowError):
        indexing.outside(index, 0, 1 << 64)


@pytest.mark.parametrize("inner", [0, 1, 2, 9])
def test_loops_of_one_round_are_python_s_too(inner):
    # Machine code has them apart: made for vectors, they took twice as long where inner is 1.
    @loops
    def clipped(x, out):
        rows, inner = x.shape
        left = 0
        for i in range(rows):
            k = -1
            for k in range(inner):
                if x[i, k] < 0:
                    continue
                if x[i, k] > 2:
                    break
                out[i, k] += x[i, k]
            left += k
        return left

    x = np.random.default_rng(0).normal(1, 2, (40, inner))
    for given in (x, np.repeat(x, 2, 1)[:, ::2], x.T.copy().T, x[::-1]):
        found, expected = np.zeros(x.shape), np.zeros(x.shape)
        assert clipped(given, found) == clipped.body(given, expected)
        np.testing.assert_array_equal(found, expected)
