"""Errors of transforms: what was found, and what to type instead."""

import math

import numpy as np
import pytest

import wengert as wg
from wengert.errors import BatchingError, GradError, MissingRuleError

X = np.array([1.0, 2.0])


def written(x):
    x[0] = 3.0
    return np.sum(x)


def scaled(x):
    x *= 2
    return np.sum(x)


def through_a_view(x):
    y = x[:1]
    y += 1
    return np.sum(x)


@pytest.mark.parametrize("f", [written, scaled, through_a_view], ids=lambda f: f.__name__)
@pytest.mark.parametrize("make", [np.array, wg.tensor], ids=["array", "tensor"])
def test_arguments_are_not_written_to(f, make):
    x = make([1.0, 2.0])
    with pytest.raises(RuntimeError, match=r"x = x.clone\(\), or x = np.copy\(x\)"):
        wg.grad(f)(x)
    with pytest.raises(RuntimeError, match=r"being differentiated"), wg.no_grad():
        wg.grad(lambda x: wg.grad(f)(x).sum())(x)
    assert x.tolist() == [1.0, 2.0]


def test_a_copy_of_an_argument_may_be_written_to():
    def f(x):
        y = np.copy(x)
        y[0] = y[1] * 3
        return np.sum(y * x)

    np.testing.assert_array_equal(wg.grad(f)(X), [6.0, 7.0])


CALLS = [
    (lambda: wg.grad(lambda x: x * 2)(X), GradError, r"shape \(2,\).*y\.sum\(\).*wengert\.jacrev"),
    (lambda: wg.grad(lambda x: (x, x))(1.0), GradError, r"\(\*, \*\).*has_aux=True"),
    (lambda: wg.grad(lambda x: [x])(1.0), GradError, r"to return one number, but .*\[\*\]"),
    (lambda: wg.grad(lambda x: None)(1.0), GradError, "None. Is a `return` missing"),
    (lambda: wg.grad(lambda x: x.item())(1.0), GradError, r"returned float .*use NumPy's func"),
    (lambda: wg.grad(lambda x: 1.0)(1.0), GradError, r"float 1\.0.*0 \* x \+ c"),
    (lambda: wg.grad(lambda x: x > 1)(1.0), GradError, "dtype bool, which has no derivative"),
    (lambda: wg.grad(lambda x: x * 1j)(1.0), GradError, r"real output.*np\.real\(y\)"),
    (lambda: wg.grad(lambda x: x, has_aux=True)(1.0), GradError, r"pair \(output, aux\)"),
    (lambda: wg.grad(lambda x: x)(3), GradError, r"is int 3: .* Write 3\.0;"),
    (lambda: wg.grad(np.sum)(np.array([1, 2])), GradError, r"int64: .*x\.astype\(float\)"),
    (lambda: wg.grad(np.sum)(wg.tensor([1, 2])), GradError, r"int64: .*x\.double\(\)"),
    (lambda: wg.grad(lambda p: p["n"])({"n": [1.0, 2]}), GradError, r"at \['n'\]\[1\], is int 2"),
    (lambda: wg.grad(lambda x: x)("x"), TypeError, "is a str, by which nothing can be"),
    (lambda: wg.grad(3), TypeError, r"grad takes a function, but got int: grad\(f\)\(x\)"),
    (lambda: wg.grad(np.sin, "x"), GradError, "argnums must be int or Tuple"),
    (lambda: wg.grad(np.sin, ()), GradError, "argnums must be non-empty"),
    (lambda: wg.grad(np.sin, (0, 0))(1.0), GradError, "argnums elements must be unique"),
    (lambda: wg.grad(np.sin, 1)(1.0), GradError, "Got argnum=1, but only 1 positional inputs"),
    (lambda: wg.grad(np.unique_values)(np.ones(3)), MissingRuleError, "derivative rule"),
    (lambda: wg.jacrev(lambda x: [x, 2.0])(1.0), GradError, r"at \[1\], float 2\.0"),
    (lambda: wg.jacrev(lambda x: [])(1.0), GradError, r"returned \[\]"),
    (lambda: wg.jacrev(lambda x: x > 1)(X), GradError, "bool, which has no derivative"),
    (lambda: wg.jacrev(lambda x: x)(1j), GradError, "all inputs to be real"),
    (lambda: wg.jacrev(lambda x: x * 1j)(1.0), GradError, "all outputs to be real"),
    (lambda: wg.func.jacrev(np.sin, chunk_size=0), ValueError, "`chunk_size` should be greater"),
    (lambda: wg.vjp(lambda x: x, X)[1]((X,)), GradError, r"the structure \*, but \(\*,\)"),
    (lambda: wg.vjp(lambda x: x, X)[1](np.ones(3)), GradError, r"shape \(3,\), but the output"),
    (lambda: wg.vjp(lambda x: x, X)[1](1j * X), GradError, "complex .* Pass its real part"),
    (lambda: wg.vjp(lambda x: [x], X)[1]({"a": X}), GradError, r"\[\*\], but \{'a': \*\}"),
    (lambda: wg.hvp(np.sum, X, np.ones(3)), GradError, r"vector has shape \(3,\)"),
    (lambda: wg.hvp(np.sum, X, [X]), GradError, "hvp: the vector must have the structure"),
    (lambda: wg.hvp(lambda x: x, X, X), GradError, "hvp needs a scalar output"),
    (lambda: wg.hessian(lambda x: None)(X), GradError, "hessian needs .* Is a `return` missing"),
    (lambda: wg.jvp(lambda x: None, (X,), (X,)), GradError, "jvp needs .* Is a `return` missing"),
    (lambda: wg.jacfwd(lambda x: None)(X), GradError, "jacfwd needs .* Is a `return` missing"),
    (lambda: wg.jacobian(lambda x: None)(X), GradError, "jacobian needs .* Is a `return` missing"),
    (lambda: wg.vmap(lambda x: None)(X), ValueError, "Is a `return` missing"),
    (lambda: wg.vmap(lambda x: "a")(X), ValueError, "must only return Tensors, arrays and numbers"),
    (lambda: wg.jvp(lambda x: x, (1,), (1,)), GradError, r"is int 1: .* Write 1\.0;"),
    (lambda: wg.jacfwd(np.sin)(np.array([1, 2])), GradError, r"int64: .*x\.astype\(float\)"),
    (lambda: wg.func.linearize(np.sin, 1), GradError, r"is int 1: .* Write 1\.0;"),
    (lambda: wg.hvp(np.sum, np.array([1, 2]), X), GradError, r"int64: .*x\.astype\(float\)"),
    (lambda: wg.jvp(lambda x: x > 1, (X,), (X,)), GradError, "bool, which has no derivative"),
    (lambda: wg.jvp(np.unique_values, (X,), (X,)), MissingRuleError, "carries a tangent. Write it"),
    (lambda: wg.vmap(wg.grad(np.unique_values))(np.eye(3)), MissingRuleError, "has no deriv"),
    (lambda: wg.jvp(np.sin, (X,), X), GradError, r"the structure \(\*,\), but \* was given"),
    (lambda: wg.jvp(np.sin, (X,), (np.ones(3),)), GradError, r"shape \(3,\), but the argument"),
    (lambda: wg.jvp(np.sin, (X,), (1j * X,)), GradError, "complex .* Pass its real part"),
    (lambda: wg.vmap(np.add, (0,))(X, X), ValueError, "not compatible with the structure"),
    (lambda: wg.vmap(np.add)(X, np.ones(3)), ValueError, r"same size .* \[2, 3\]"),
    (lambda: wg.vmap(np.sin, 1)(X), ValueError, "dimensionality 1"),
    (lambda: wg.vmap(lambda x: x if x > 0 else 1)(X), BatchingError, "(?s)control flow.*wg.where"),
    (  # what is refused for its numbers is refused in a batch
        lambda: wg.vmap(lambda i: wg.nn.functional.one_hot(i, 3))(wg.tensor([[0, 1], [2, 3]])),
        RuntimeError,
        "must be smaller than num_classes",
    ),
    (lambda: wg.vmap(lambda x: x * float(x))(X), BatchingError, r"float\(\) on a batched value"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "match"), CALLS, ids=range(len(CALLS)))
def test_bad_calls_say_what_to_type(call, error, match):
    with pytest.raises(error, match=match):
        call()


def test_filling_an_ordinary_array_names_zeros_like():
    def f(x):
        y = np.zeros(2)
        y[:] = x
        return np.sum(y)

    with pytest.raises(RuntimeError, match=r"np\.zeros_like\(x\)"):
        wg.grad(f)(X)
    with pytest.raises(RuntimeError, match=r"np\.stack\(\[\.\.\.\]\)"):
        wg.grad(lambda x: np.sum(np.array([x[0], x[1]])))(X)


def into_an_array_of_numpys(x):
    y = np.zeros(2)
    y[0] = x[0]
    return np.sum(x * y)


# x * y would count y as constant, and the derivative be half of what it is.
@pytest.mark.parametrize(
    "transform", [wg.grad, wg.jacfwd, wg.hessian, wg.vmap], ids=lambda t: t.__name__
)
def test_an_array_of_numpys_does_not_take_elements_that_are_differentiated(transform):
    x = np.stack([X, X]) if transform is wg.vmap else X
    with pytest.raises(ValueError, match="setting an array element") as caught:
        transform(into_an_array_of_numpys)(x)
    assert "np.zeros_like(x)" in str(caught.value.__cause__)
    assert "y[0] = x[0]" in str(caught.value.__cause__)


@pytest.mark.parametrize("transform", [wg.grad, wg.jacfwd], ids=lambda t: t.__name__)
@pytest.mark.parametrize("number", [math.sin, float, complex], ids=lambda f: f.__name__)
def test_numbers_made_of_what_is_differentiated_are_warned_of(transform, number):
    with pytest.warns(UserWarning, match=r"np\.sin\(x\) instead of math\.sin\(x\)") as caught:
        transform(lambda x: x * number(x).real)(1.0)
    assert caught[0].filename == __file__


def test_numbers_of_what_is_not_differentiated_are_nobodys_business():
    def f(x, times):
        assert float(wg.as_tensor(x).detach()) == 2.0
        return x ** float(times)

    assert wg.grad(f)(2.0, 3) == 12.0
    assert wg.grad(lambda x: x * float(x))(wg.tensor(2.0)) == 2.0  # PyTorch's code means it


def test_an_error_in_the_function_is_the_users_own_and_leaves_no_mode_behind():
    def f(x):
        raise KeyError("mine")

    with wg.no_grad():
        with pytest.raises(KeyError, match="mine"):
            wg.grad(f)(1.0)
        assert not wg.is_grad_enabled()
    assert wg.is_grad_enabled()
