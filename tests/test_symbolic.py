"""Formulas of functions and of their derivatives, which the same rules give."""

from __future__ import annotations

import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.arrays.symbolic import formulas
from wengert.arrays.symbolic.array import symbols
from wengert.arrays.symbolic.terms import apply, term
from wengert.errors import TracingError
from wengert.symbolic import Formula, formula, swell

X = np.array([0.3, 1.7, 2.5])

ONE: dict[str, Any] = {
    "polynomial": lambda x: 3 * x**3 - 2 * x + 1,
    "quotient": lambda x: (1 + x) / (2 + x * x),
    "chain": lambda x: np.sin(np.exp(-x)) + np.log1p(x),
    "hyperbolic": lambda x: np.tanh(x) * np.cosh(x) - np.arctan(x),
    "roots": lambda x: np.sqrt(x) + np.cbrt(x) + np.hypot(x, 2.0),
    "choice": lambda x: np.where(x > 1, x**2, -x) + np.maximum(x, 2) - np.minimum(x, 1),
    "power": lambda x: x**x + 2.0**x,
    "tensor methods": lambda x: (x * 2).exp().log1p() + x.sigmoid() + x.relu(),
    "clipped": lambda x: np.clip(x, 0.5, 2.0) * x,
    "absolute": lambda x: np.absolute(x - 1) * np.sign(x - 2),
}


@pytest.mark.parametrize("f", ONE.values(), ids=ONE)
def test_a_formula_has_the_values_of_the_function(f: Any) -> None:
    found = formula(f)(x=X)
    expected = f(wg.from_numpy(X))
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-14)


@pytest.mark.parametrize("f", ONE.values(), ids=ONE)
def test_its_derivative_has_the_values_of_the_gradient(f: Any) -> None:
    x = wg.from_numpy(X.copy()).requires_grad_()
    f(x).sum().backward()
    np.testing.assert_allclose(formula(f).derivative()(x=X), x.grad.numpy(), rtol=1e-13)


@pytest.mark.parametrize("name", ["polynomial", "quotient", "chain", "hyperbolic"])
def test_second_derivatives(name: str) -> None:
    f = ONE[name]
    second = formula(f).derivative().derivative()
    expected = [wg.grad(wg.grad(f))(x) for x in X.tolist()]
    np.testing.assert_allclose(second(x=X), expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["polynomial", "quotient", "chain", "roots"])
def test_sympy_differentiates_to_the_same(name: str) -> None:
    sympy = pytest.importorskip("sympy")
    f = formula(ONE[name])
    x = sympy.Symbol("x", real=True)
    difference = f.derivative().sympy() - sympy.diff(f.sympy(), x)
    assert abs(float(difference.subs(x, 1.375).evalf())) < 1e-12


def test_the_reverse_sweep_on_symbols_gives_the_formula_too() -> None:
    f = lambda x: np.sum(np.sin(x) * x[::-1])
    forward = [str(formula(f, x=(2,)).derivative(name)) for name in ("x_0", "x_1")]
    reverse = formula(lambda x: wg.grad(f)(x), x=(2,))
    x = {"x_0": 0.3, "x_1": 1.2}
    np.testing.assert_allclose([d(**x) for d in reverse], wg.grad(f)(np.array([0.3, 1.2])))
    assert forward[0].count("cos(x_0)") == 1


def test_matrices_loops_and_filled_arrays() -> None:
    def f(w: Any, x: Any) -> Any:
        h = np.tanh(w @ x)
        total = np.zeros_like(h)
        for i in range(2):
            total[i] = h[i] ** 2 + np.sum(x) / len(x)
        return np.stack([total, np.cumsum(h)])

    made = formula(f, w=(2, 3), x=(3,))
    rng = np.random.default_rng(0)
    w, x = rng.normal(size=(2, 3)), rng.normal(size=3)
    values = {f"w_{i}_{j}": w[i, j] for i in range(2) for j in range(3)}
    values |= {f"x_{i}": x[i] for i in range(3)}
    assert made.shape == (2, 2)
    found = [[cell(**values) for cell in row] for row in made]
    np.testing.assert_allclose(found, f(w, x))


def test_text_can_be_read_back() -> None:
    from wengert.symbolic.expressions import Expression

    made = formula(lambda a, b: -((a - (b - 2)) ** 2) / (a * (b + 1)) - (a - b) * -3.5)
    again = Expression(str(made), ["a", "b"])
    assert again(1.25, 0.5) == pytest.approx(made(a=1.25, b=0.5))


def test_latex() -> None:
    made = formula(lambda x1, beta: np.exp(-x1) / np.sqrt(beta) + np.sin(x1 * beta) ** 2)
    assert made.latex() == (
        r"\frac{e^{-x_{1}}}{\sqrt{\beta}} + \left(\sin\left(x_{1} \beta\right)\right)^{2}"
    )
    assert made._repr_latex_().startswith("$")


def test_what_nobody_writes_down_is_left_out() -> None:
    x = symbols("x")
    for made in (x + 0, 0 + x, x * 1, x / 1, x**1, x - 0, np.negative(-x)):
        assert made.item() is x.item()
    assert (0 * x).item() is term(0)
    assert str((x + -x).item()) == "x - x"


def test_equal_terms_are_one_object() -> None:
    x = symbols("x")
    a, b = np.sin(x * 2).item(), np.sin(x * 2).item()
    assert a is b
    assert pickle.loads(pickle.dumps(a)) is a


def test_the_logistic_map_of_the_lecture() -> None:
    pytest.importorskip("sympy")
    rows = swell(lambda l: 4 * l * (1 - l), 6)
    assert str(rows[1].derivative) == "4*(1 - x) - 4*x"
    assert str(rows[2].simplified) == "16*(-16*x**3 + 24*x**2 - 10*x + 1)"
    growth = [b.derivative_size / a.derivative_size for a, b in pairwise(rows[1:])]
    assert min(growth) > 2
    steps = {b.forward_mode - a.forward_mode for a, b in pairwise(rows)}
    assert len(steps) == 1
    assert all(row.simplified is None for row in rows[4:])


def test_a_formula_too_long_to_write_says_so() -> None:
    x: Any = symbols("x")
    for _ in range(40):
        x = 4 * x * (1 - x)
    made = Formula(x.item(), ["x"])
    assert made.size > 2**39
    assert made.shared_size < 130
    with pytest.raises(ValueError, match="letters written out"):
        str(made)


@pytest.mark.parametrize(
    ("f", "what"),
    [
        (lambda x: x if x > 0 else -x, "a branch"),
        (lambda x: np.sort(x), "sort"),
        (lambda x: np.asarray([x, float(x)]), "a conversion to a number"),
    ],
)
def test_what_needs_numbers_names_the_line(f: Any, what: str) -> None:
    with pytest.raises(TracingError, match=f"(?s){what}.*test_symbolic.py"):
        formula(f)


def test_bad_names() -> None:
    f = formula(lambda x, y: x * y)
    with pytest.raises(TypeError, match="say by which"):
        f.derivative()
    with pytest.raises(ValueError, match="no variable"):
        f.derivative("z")
    with pytest.raises(TypeError, match="no value for y"):
        f(x=1.0)
    with pytest.raises(TypeError, match="unknown z"):
        f(x=1.0, y=2.0, z=3.0)
    with pytest.raises(TypeError, match="no parameter"):
        formula(lambda x: x, w=(2,))


def test_sympys_function_of_a_name_is_the_same_function() -> None:
    # SymPy's sinc has the name of NumPy's and is another function.
    sympy = pytest.importorskip("sympy")
    for function, theirs in formulas._meanings(sympy).items():
        if not isinstance(function, np.ufunc) or function.nin != 1 or function is np.logical_not:
            continue
        x = 1.5 if function is np.arccosh else 0.3
        np.testing.assert_allclose(
            float(theirs(sympy.Float(x))), function(x), err_msg=str(function)
        )
    assert np.sinc not in formulas._meanings(sympy)


def test_functions_without_a_counterpart_in_sympy() -> None:
    pytest.importorskip("sympy")
    made = Formula(apply(np.sinc, symbols("x").item()), ["x"])
    with pytest.raises(ValueError, match="no counterpart"):
        made.sympy()


def test_a_formula_may_be_given_as_text_and_called_with_numbers_in_order():
    made = formula("log(x1) + x1*x2 - sin(x2)")
    assert repr(made) == "log(x1) + x1*x2 - sin(x2)"
    assert made(2.0, 5.0) == made(2.0, x2=5.0) == made(x1=2.0, x2=5.0)
    with pytest.raises(TypeError, match="variables are x1, x2: 3 numbers were given"):
        made(1.0, 2.0, 3.0)


def test_a_number_where_an_array_was_meant_says_how_to_give_its_shape():
    with pytest.raises(ValueError, match="matmul") as caught:
        formula(lambda x, y: x @ y, y=(3,))
    assert caught.value.__notes__ == [
        "x: a number, since no shape was given. An array of three would be formula(f, x=(3,))."
    ]


def test_swelling_prints_as_a_table_with_gaps_where_nothing_was_simplified():
    lines = str(swell(lambda l: l * l, 3, simplify=1)).splitlines()
    assert lines[0].split("  ") == [
        "n", "formula", "derivative", "simplified", "shared", "forward mode"
    ]  # fmt: skip
    assert [line.split() for line in lines[1:]] == [
        ["1", "0", "0", "0", "0", "0"], ["2", "1", "1", "1", "3"], ["3", "3", "7", "4", "6"]
    ]  # fmt: skip
