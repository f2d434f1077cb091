"""`np.vectorize`, NumPy's own, of functions that are differentiated."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg

X = np.array([[0.3, 1.2, -0.7], [2.1, -1.1, 0.4]])


@np.vectorize(otypes=[np.float64])
def decorated(a):
    return np.sin(a) if a > 0 else a**3


FORMS = {
    "branches": lambda x: np.vectorize(lambda a: a * a if a > 0.5 else -a)(x),
    "decorator": decorated,
    "two arguments": lambda x: np.vectorize(lambda a, b: a * b)(x, x[:, :1]),
    "a number": lambda x: np.vectorize(lambda a, b: a**b)(x, 2),
    "by name": lambda x: np.vectorize(lambda a, b: a - 2 * b)(x, b=x * x),
    "excluded": lambda x: np.vectorize(lambda a, p: a * p[0] + p[1], excluded=[1])(x, x[0]),
    "excluded name": lambda x: np.vectorize(lambda a, p: a * p[0], excluded=["p"])(X, p=x[0]),
    "rows": lambda x: np.vectorize(lambda r: r @ r * r[0], signature="(n)->()")(x),
    "rows to rows": lambda x: np.vectorize(lambda r, s: r * s, signature="(n),()->(n)")(x, x[:, 0]),
    "two results": lambda x: np.vectorize(lambda a: (a * a, 2 * a))(x)[1],
    "of the first's kind": lambda x: np.vectorize(lambda a: a if a > 0 else 0)(x),
    "a point": lambda x: np.vectorize(lambda a: a * a)(x[0, 0]),
}


@pytest.mark.parametrize("f", FORMS.values(), ids=FORMS)
def test_numpys_own_vectorize_has_derivatives(f):
    # It made arrays of tensors, which is an error: only wengert.numpy had one, without signatures.
    expected = f(X)
    found = f(wg.tensor(X, requires_grad=True))
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.detach(), expected)
    share = np.cos(np.arange(expected.size)).reshape(expected.shape)
    slope = wg.numeric.gradient(lambda x: float(np.sum(f(x) * share)), X)
    gradient = wg.grad(lambda x: np.sum(f(x) * share))(X)
    np.testing.assert_allclose(gradient, slope, rtol=1e-6, atol=1e-8)


def test_a_vectorized_function_without_branches_compiles():
    f = wg.grad(lambda x: np.sum(np.vectorize(lambda a: a * np.exp(a))(x)))
    np.testing.assert_allclose(wg.compile(f)(X), (1 + X) * np.exp(X))


def test_calls_without_tensors_are_numpys():
    assert type(np.vectorize(lambda a: a * 2)(X)) is np.ndarray
    assert np.vectorize(lambda a: a + "!")(["a", "b"]).tolist() == ["a!", "b!"]
    assert np.vectorize.__call__.__name__ == "__call__"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: np.vectorize(abs)(x[:0]), "nothing to join"),
        (lambda x: np.vectorize(abs, signature="(n),(n)->()")(x), "wrong number of arguments"),
        (lambda x: np.vectorize(abs, signature="(n,m,k)->()")(x), "asks for"),
        (lambda x: np.vectorize(abs, signature="(n),(n)->()")(x, x[0, :2]), "inconsistent size"),
    ],
)
def test_what_cannot_be_vectorized_says_why(call, words):
    with pytest.raises((TypeError, ValueError), match=words):
        call(wg.tensor(X))
