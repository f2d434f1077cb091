"""Code written for NumPy's arrays: inside of transforms its methods and indices are NumPy's."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy

X = np.array([[1.0, 2.0, 5.0], [4.0, 3.0, 0.5]])


def ported(x: Any) -> Any:
    """One function, run by NumPy and by a transform alike."""
    assert x.size == 6
    y = x.copy().astype(float).conjugate()
    high, spread = y.max(0), y.std() + y.var(ddof=1)
    whole, rest = divmod(y, 2.3)
    sums = y.transpose().cumsum().sum(dtype=float, initial=3.0) + y.repeat(2, axis=0).sum()
    listed = ([1, 2, 3] * y + y * [1, 2, 3]).mean(where=np.asarray(X > 2))
    return high.sum() + spread + sums + listed + rest.sum() + whole.sum() + y.round(2).argmax() / 3


def test_methods_mean_numpys_in_a_function_that_is_called_with_arrays() -> None:
    value, gradient = wg.value_and_grad(ported)(X)
    assert value == pytest.approx(ported(X), rel=1e-14)
    np.testing.assert_allclose(gradient, wg.numeric.gradient(ported, X), rtol=1e-6)


def test_methods_of_tensors_that_a_program_brings_stay_pytorchs() -> None:
    x = wg.tensor([1.0, 2.0], requires_grad=True)
    assert x.std().item() == pytest.approx(0.5**0.5)  # NumPy's is 0.5
    assert x.size(0) == 2
    assert x.max(0).indices.item() == 1
    assert wg.grad(lambda x: x.std())(x.detach()).tolist() == pytest.approx([-(0.5**0.5), 0.5**0.5])


def test_a_number_beside_an_array_of_indices_is_one_of_them_as_numpy_says() -> None:
    # PyTorch takes the number first, and leaves the dimension of the list at its place.
    x = np.arange(60.0).reshape(3, 4, 5)
    value, pull = wg.func.vjp(lambda x: x[1, 2:, [1, 3]], x)
    np.testing.assert_array_equal(value, x[1, 2:, [1, 3]])
    assert pull(np.ones((2, 2)))[0].sum() == 4

    def written(x: Any) -> Any:
        y = np.zeros_like(x)
        y[1, 2:, [1, 3]] = x[0, :2, :2]
        return y

    np.testing.assert_array_equal(wg.func.vjp(written, x)[0], written(x))


def test_integers_divide_to_double_precision_in_code_for_arrays() -> None:
    # PyTorch's default dtype is float32, which NumPy's code would not notice and lose digits.
    def third(x: Any) -> Any:
        return x.sum() * (np.argmax(x) / 3)

    assert wg.value_and_grad(third)(np.array([1.0, 2.0]))[0] == third(np.array([1.0, 2.0]))


class Net(wg.nn.Module):
    """A module, whose code is PyTorch's."""

    def forward(self, x: Any) -> Any:
        return x.max(1).values * x.size(0)


def test_a_module_that_is_called_with_an_array_is_pytorchs_code() -> None:
    net = Net()

    def loss(x: Any) -> Any:
        y = net(x)
        assert y.size == 2
        return y.max(0) + x.max(0)[0]

    assert wg.value_and_grad(loss)(X)[0] == 2 * 5.0 + 4.0


def test_results_that_leave_a_transform_have_pytorchs_methods_again() -> None:
    outer = wg.tensor([1.0, 3.0], requires_grad=True)
    slope = wg.grad(lambda x: (x * outer**2).sum())(np.array([1.0, 1.0]))
    assert type(slope) is wg.Tensor
    assert slope.max(0).indices.item() == 1


def test_positions_of_arguments_are_those_of_numpys_signature() -> None:
    # The third argument of np.sum once went to keepdims=, whatever it was.
    x = wg.from_numpy(X).requires_grad_()
    assert np.sum(x, 0, np.float32).dtype == np.float32
    out = wg.zeros(3, dtype=wg.float64)
    assert np.max(x.detach(), 0, out) is out
    assert out.tolist() == [4.0, 3.0, 5.0]
    assert np.amax(x, 1, None, True).shape == (2, 1)
    assert np.angle(wg.tensor([1j]), True).tolist() == [90.0]


def test_elements_that_a_ufunc_leaves_out_are_those_of_its_out() -> None:
    x, out = wg.from_numpy(X), wg.full((2, 3), 7.0, dtype=wg.float64)
    np.sqrt(x, where=X > 2, out=out)
    np.testing.assert_array_equal(out.numpy(), np.sqrt(X, where=X > 2, out=np.full((2, 3), 7.0)))


@pytest.mark.parametrize(
    "f",
    [
        lambda np, x: np.array([x, x**2, [1.0, 2.0, 3.0]]),
        lambda np, x: np.asarray([[x[0], 1], [x[1], 2]], dtype=float),
        lambda np, x: np.r_[x, 1.0, 1:3, x[::-1]],
        lambda np, x: np.c_[x, [1.0, 2.0, 3.0], x],
        lambda np, x: np.mean([x[0], x[1] ** 2]),
        lambda np, x: np.append(x, [x[0], 2.0]),
        lambda np, x: np.concatenate([x, [1.0]]),
        lambda np, x: np.linalg.norm([x[0], x[1]]),
        lambda np, x: np.vectorize(lambda v: v * v if v > 0.5 else -v)(x),
        lambda np, x: np.vectorize(lambda u, v: u * v)(x, x[0]),
    ],
)
def test_constructors_of_wengert_numpy_keep_the_derivative(f: Any) -> None:
    x = np.array([0.3, 0.9, 1.7])
    value, pull = wg.func.vjp(lambda x: f(wengert.numpy, x), x)
    np.testing.assert_allclose(value, f(np, x))
    weights = np.arange(1.0, 1 + np.size(value)).reshape(np.shape(value))
    expected = wg.numeric.gradient(lambda x: np.sum(weights * f(np, x)), x)
    np.testing.assert_allclose(pull(weights)[0], expected, atol=1e-8)


NAMED = [
    "cumsum",
    "cumprod",
    "cummax",
    "prod",
    "var",
    "std",
    "median",
    "mode",
    "logsumexp",
    "sort",
    "argsort",
    "nansum",
    "nanmean",
    "squeeze",
    "unbind",
    "count_nonzero",
    "diff",
    "logcumsumexp",
    "aminmax",
]


@pytest.mark.parametrize("name", NAMED)
def test_functions_of_tensors_take_an_axis_as_pytorchs_do(name):
    # Some 40 functions knew `dim=` only, where PyTorch takes NumPy's name in all of them.
    x = wg.tensor([[2.0, 1.0, 3.0], [0.5, 4.0, -1.0]])
    by_dim, by_axis = (getattr(x, name)(**{word: 0}) for word in ("dim", "axis"))
    first = lambda out: out if isinstance(out, wg.Tensor) else out[0]
    assert wg.equal(first(by_dim), first(by_axis))


def test_keepdims_is_keepdim_and_an_argument_has_one_name():
    x = wg.ones(2, 3)
    assert x.var(axis=0, keepdims=True).shape == (1, 3)
    assert wg.cumsum(x, axis=1, out=wg.empty(2, 3)).shape == (2, 3)
    for call in (x.var, x.squeeze, x.median):
        with pytest.raises(TypeError, match="dim= and axis=, which are one argument"):
            call(dim=0, axis=1)
    with pytest.raises(TypeError):
        x.cumsum(0, axis=0)


@pytest.mark.parametrize("make", [lambda x: x * x, lambda x: x**2, np.copy, np.exp])
def test_what_a_write_in_place_saves_is_the_value_before_it(make):
    # The old value had a cell of its own, so that it was not copied: wg.grad of x**2; s *= x was
    # x**2 (2 + x), silently, and so was `allow_mutation_on_saved_tensors`.
    x = np.array([0.4, 1.1, 0.7])

    def written(x):
        s = make(x)
        s *= x
        s /= 1 + x
        return s.sum()

    plain = lambda x: (make(x) * x / (1 + x)).sum()
    np.testing.assert_allclose(wg.grad(written)(x), wg.grad(plain)(x))
    np.testing.assert_allclose(wg.hessian(written)(x), wg.hessian(plain)(x))
    t = wg.tensor([0.4, 1.1, 0.7], requires_grad=True)
    with wg.autograd.graph.allow_mutation_on_saved_tensors():
        s = t * t
        s *= t
        s.sum().backward()
    np.testing.assert_allclose(t.grad, 3 * t.detach() ** 2)


def test_numpys_numbers_are_left_as_they_are_by_operators_in_place() -> None:
    # An element and a sum are numbers to NumPy, which `+=` names anew: here the other name of it
    # changed too, and the product was t * t; of an element of x it was an error.
    def total(x: Any) -> Any:
        s = t = np.sum(x)
        t *= x[1]
        u = y = x * x
        first = y[0]
        first += x[2]
        y[1] -= s
        return s * t + np.sum(u) * first

    for transform in (wg.grad, lambda f: wg.compile(wg.grad(f))):
        np.testing.assert_allclose(transform(total)(X[0]), wg.numeric.gradient(total, X[0]))
    assert wg.value_and_grad(total)(X[0])[0] == total(X[0])


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_of_an_array_has_memory_and_history_of_its_own(copied: Any) -> None:
    # It was another leaf in the same memory: scipy.integrate.quad_vec added to both.
    def f(x: Any) -> Any:
        y = x * x
        z = copied(y)
        z += 1
        return np.sum(y * z)

    np.testing.assert_allclose(wg.grad(f)(X), wg.numeric.gradient(f, X), rtol=1e-6)


@pytest.mark.parametrize(("count", "ddof"), [(3, 3), (3, 5), (1, 1)])
def test_a_covariance_over_no_degrees_of_freedom_is_infinite_or_nan(count: int, ddof: int) -> None:
    # It was divided by a negative number of them: variances below zero.
    x = np.arange(2.0 * count).reshape(2, count) ** 2
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        expected = np.cov(x, ddof=ddof)
    np.testing.assert_array_equal(np.cov(wg.tensor(x), ddof=ddof).numpy(), expected)
