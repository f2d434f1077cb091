"""NumPy's functions without derivatives have none: what they give does not follow the numbers.

A function that is taken for constant has zeros for a gradient, and nobody is told.
"""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.arrays.facts import CONSTANT, LIKE

X = np.array([[0.31, 1.22, 0.73], [2.14, 1.91, 0.52]])
ARGUMENTS = {
    np.searchsorted: (np.sort(X[0]), X[1]),
    np.digitize: (X[0], np.sort(X[1])),
    np.argpartition: (X, 1),
    np.lexsort: ((X[0], X[1]),),
    np.diag_indices_from: (X[:, :2],),
}
"""How functions are called that take other arguments than one or two arrays."""


def called(function, step):
    """The numbers that a function gives of arrays that are moved a little."""
    move = lambda x: x + step * np.cos(3 * x) if isinstance(x, np.ndarray) else x
    arguments = ARGUMENTS.get(function)
    for given in [arguments] if arguments else [(X,), (X, X[::-1])]:
        try:
            out = function(*map(move, given))
        except TypeError:  # it takes another number of them, or integers
            continue
        out = out if type(out) is tuple else (out,)
        return [x for x in map(np.asarray, out) if x.dtype.kind in "biufc"]
    return ()


@pytest.mark.parametrize(
    "function", sorted(CONSTANT - LIKE, key=lambda f: f.__name__), ids=lambda f: f.__name__
)
def test_what_has_no_derivative_stays_when_its_arguments_move(function):
    before, after = called(function, 0.0), called(function, 1e-7)
    for x, y in zip(before, after, strict=True):
        np.testing.assert_array_equal(x, y)


W = np.arange(1.0, 6.0)
S = np.array([0.3, 1.2, 0.7, 2.1, 1.1])
COUNTS = {
    "unique": lambda x: np.unique(x),
    "unique, with facts": lambda x: np.unique(x, return_index=True, return_counts=True)[0],
    "unique rows": lambda x: np.unique(np.stack([x, 2 * x, x]), axis=0),
    "bincount": lambda x: np.bincount([0, 1, 1, 4, 0], x, minlength=7),
    "histogram of weights": lambda x: np.histogram(W, 3, weights=x)[0],
    "histogram in a range": lambda x: np.histogram(W, 3, (1.5, 4.5), weights=x)[0],
    "density": lambda x: np.histogram(W, [0, 2.5, 6], weights=x, density=True)[0],
    "density of samples": lambda x: np.histogram(x, 3, density=True)[0],
    "edges": lambda x: np.histogram(x, 4)[1],
    "edges by a rule": lambda x: np.histogram_bin_edges(x, "sqrt"),
    "edges of a range": lambda x: np.histogram_bin_edges(W, 4, (x[0], x[3])),
    "edges as given": lambda x: np.histogram(W, np.sort(x))[1],
    "two dimensions": lambda x: np.histogram2d(W, W[::-1], (2, 3), weights=x)[0],
    "edges in two": lambda x: np.histogram2d(x, W)[1],
    "points": lambda x: np.histogramdd(np.stack([x, W], 1), 3, density=True)[0],
    "singular values": lambda x: np.linalg.lstsq(np.vander(x[:4], 2), W[:4])[3],
}


@pytest.mark.parametrize("f", COUNTS.values(), ids=COUNTS)
def test_values_and_weights_in_sets_and_histograms_have_gradients(f):
    # They were taken for constant: np.histogram(a, weights=w), np.unique(x) gave zeros, silently.
    expected = f(S)
    found = f(wg.tensor(S, requires_grad=True))
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.detach(), expected)
    share = np.cos(np.arange(expected.size)).reshape(expected.shape)
    gradient = wg.grad(lambda x: np.sum(f(x) * share))(S)
    slope = wg.numeric.gradient(lambda x: float(np.sum(f(x) * share)), S, method="richardson")
    np.testing.assert_allclose(gradient, slope, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(
        wg.jvp(lambda x: np.sum(f(x) * share), (S,), (W,))[1], slope @ W, rtol=1e-6
    )


def test_histograms_are_numpys_in_values_and_kinds():
    x = wg.tensor(S)
    for bins in (3, "auto", [0.0, 1.0, 2.1]):
        for found, expected in zip(np.histogram(x, bins), np.histogram(S, bins), strict=True):
            np.testing.assert_array_equal(found, expected)
            assert found.dtype == expected.dtype
    with pytest.raises(ValueError, match="must be equal to the dimension"):
        np.histogramdd(wg.ones(4, 2), bins=(1, 2, 3))
    np.testing.assert_array_equal(np.histogram(wg.tensor([2.0, 2.0]), 2)[1], [1.5, 2.0, 2.5])


def test_weights_under_pytorchs_names_have_gradients_or_say_that_they_have_none():
    # They were taken for constant, where PyTorch fails in backward.
    places = wg.tensor([0, 1, 1, 2, 0])
    gradient = wg.grad(lambda w: (wg.bincount(places, w) * wg.tensor([1.0, 2, 3])).sum())(W)
    np.testing.assert_array_equal(gradient, [1, 2, 2, 3, 1])
    weight = wg.tensor(W, requires_grad=True)
    with pytest.raises(wg.errors.MissingRuleError, match=r"np\.histogram"):
        wg.histogram(wg.tensor(S), 3, weight=weight)
    with wg.no_grad():
        assert not wg.histogram(wg.tensor(S), 3, weight=weight).hist.requires_grad
