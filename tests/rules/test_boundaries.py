"""What derivatives are where there is none: kinks, steps, poles, infinities.

The conventions: the derivative where there is one; at a convex kink the subgradient of least norm,
at a concave one the supergradient; else by continuity; NaN where the function itself is undefined.
The expected numbers are written out, and are PyTorch's but for the lines that say otherwise.
"""

from __future__ import annotations

import math
from math import inf, nan
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.rules.calls import Call, arrays_of, completed, gradients, leaf, pulled, recorded
from wengert.rules import RULES, neural, reductions
from wengert.rules.rule import pull
from wengert.tensor import wrap

log2 = math.log(2)

# One argument, one point: (function, x, dy/dx).
POINTS: list[tuple[Any, Any, Any]] = [
    # Kinks.
    (np.absolute, 0.0, 0.0),
    (np.absolute, -0.0, 0.0),
    (np.absolute, 0j, 0j),
    (np.fabs, 0.0, 0.0),
    (neural.relu, 0.0, 0.0),
    (neural.relu, nan, 1.0),
    (neural.threshold, [0.5, 0.8, nan, inf], [0.0, 1.0, 1.0, 1.0]),
    (neural.leaky_relu, 0.0, 0.5),
    (neural.elu, 0.0, 1.0),
    (neural.hardtanh, [-1.0, 0.0, 1.0], [0.0, 1.0, 0.0]),
    (np.clip, [-2.0, -1.0, 0.0, 1.0, 2.0, nan], [0.0, 1.0, 1.0, 1.0, 0.0, 0.0]),
    # Steps.
    (np.sign, 0.0, 0.0),
    (np.sign, 0j, 0j),
    (np.floor, 1.0, 0.0),
    (np.ceil, inf, 0.0),
    (np.rint, 0.5, 0.0),
    # Poles and ends of the domain.
    (np.sqrt, 0.0, inf),
    (np.log, 0.0, inf),
    (np.log2, 0.0, inf),
    (np.log1p, -1.0, inf),
    (np.reciprocal, 0.0, -inf),
    (np.arcsin, [-1.0, 1.0], [inf, inf]),
    (np.arccos, 1.0, -inf),
    (np.arctanh, 1.0, inf),
    (np.arccosh, 1.0, inf),
    (np.cbrt, 0.0, inf),
    # Outside of the domain the formulas continue, as PyTorch's do.
    (np.sqrt, -1.0, nan),
    (np.arcsin, 2.0, nan),
    (np.log, -1.0, -1.0),
    (np.log2, -1.0, -1 / log2),
    (np.log10, -1.0, -1 / math.log(10)),
    (np.log1p, -2.0, -1.0),
    (np.arctanh, 2.0, -1 / 3),
    # Smooth points that a formula could miss.
    (np.sinc, 0.0, 0.0),
    (np.sinc, 1.0, -1.0),
    (np.angle, 0j, 0j),
    (np.angle, -1.0, 0.0),
    (np.exp, -inf, 0.0),
    (np.tanh, [-inf, inf], [0.0, 0.0]),
    (neural.sigmoid, [-1000.0, 1000.0], [0.0, 0.0]),
    (neural.gelu, 0.0, 0.5),
    (neural.softplus, [-1000.0, 1000.0], [0.0, 1.0]),
    (neural.log_sigmoid, [-1000.0, 1000.0], [1.0, 0.0]),
]
SETTINGS: dict[Any, Call] = {
    np.clip: {"a_min": -1.0, "a_max": 1.0},
    neural.threshold: {"limit": 0.5, "value": 0.1},
    neural.leaky_relu: {"slope": 0.5},
    neural.elu: {"alpha": 1.0, "scale": 1.0, "rate": 1.0},
    neural.hardtanh: {"low": -1.0, "high": 1.0},
}

# Two arguments: (function, a, b, dy/da, dy/db).
PAIRS: list[tuple[Any, float, float, float, float]] = [
    # Ties: half each. A NaN is the result, whichever argument it stands in.
    (np.maximum, 2.0, 2.0, 0.5, 0.5),
    (np.minimum, 2.0, 2.0, 0.5, 0.5),
    (np.maximum, inf, inf, 0.5, 0.5),
    (np.maximum, -inf, 0.0, 0.0, 1.0),
    (np.maximum, nan, 1.0, 1.0, 1.0),
    (np.minimum, 1.0, nan, 1.0, 1.0),
    # These take the first argument if both are equal, and the number if the other is NaN.
    (np.fmax, 2.0, 2.0, 1.0, 0.0),
    (np.fmin, 2.0, 2.0, 1.0, 0.0),
    (np.fmax, nan, 1.0, 0.0, 1.0),
    (np.fmin, 1.0, nan, 1.0, 0.0),
    # Powers of 0, and to the 0.
    (np.power, 0.0, -1.0, -inf, -inf),
    (np.power, 0.0, 0.0, 0.0, 0.0),
    (np.power, 0.0, 0.5, inf, 0.0),
    (np.power, 0.0, 1.0, 1.0, 0.0),
    (np.power, 0.0, 2.0, 0.0, 0.0),
    (np.power, 2.0, 0.0, 0.0, log2),
    (np.power, -2.0, 3.0, 12.0, nan),
    (np.power, -2.0, 0.5, nan, nan),
    # A cone: PyTorch gives NaN at its tip, where 0 is the subgradient of least norm.
    (np.hypot, 0.0, 0.0, 0.0, 0.0),
    (np.hypot, 3.0, 4.0, 0.6, 0.8),
    (np.arctan2, 0.0, 0.0, 0.0, 0.0),
    (np.arctan2, 1e-200, 1e-200, 5e199, -5e199),
    (np.arctan2, 0.0, -1.0, -1.0, 0.0),
    # PyTorch gives NaN for two infinities.
    (np.logaddexp, 0.0, 0.0, 0.5, 0.5),
    (np.logaddexp, -inf, 0.0, 0.0, 1.0),
    (np.logaddexp, -inf, -inf, 0.0, 0.0),
    (np.logaddexp, inf, 0.0, 1.0, 0.0),
    (np.copysign, 0.0, -1.0, 0.0, 0.0),
    (np.copysign, 2.0, -0.0, -1.0, 0.0),
    (np.heaviside, 0.0, 2.0, 0.0, 1.0),
    (np.heaviside, 1.0, 2.0, 0.0, 0.0),
    (np.remainder, 2.0, 2.0, 1.0, -1.0),
    (np.fmod, -2.0, 2.0, 1.0, 1.0),
]

# Reductions of a vector to a number: (function, x, gradient).
VECTORS: list[tuple[Any, list[float], list[float]]] = [
    (np.max, [1.0, 3.0, 3.0], [0.0, 0.5, 0.5]),
    (np.min, [1.0, 1.0, 1.0, 4.0], [1 / 3, 1 / 3, 1 / 3, 0.0]),
    (np.max, [nan, 1.0, nan], [0.5, 0.0, 0.5]),
    (np.max, [nan, nan], [0.5, 0.5]),
    (np.prod, [2.0, 0.0, 3.0], [0.0, 6.0, 0.0]),
    (np.prod, [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]),
    (np.prod, [5.0], [1.0]),
    (reductions.logsumexp, [-inf, 0.0], [0.0, 1.0]),
    (reductions.logsumexp, [1000.0, 1000.0], [0.5, 0.5]),
    (reductions.logsumexp, [-1000.0, 0.0], [0.0, 1.0]),
    # PyTorch gives NaN for infinite sums.
    (reductions.logsumexp, [-inf, -inf], [0.0, 0.0]),
    (reductions.logsumexp, [inf, 0.0], [1.0, 0.0]),
]

# Functions from vectors to vectors: (function, x, cotangent, gradient).
MAPS: list[tuple[Any, list[float], list[float], list[float]]] = [
    (np.cumprod, [2.0, 0.0, 3.0], [1.0, 1.0, 1.0], [1.0, 8.0, 0.0]),
    (reductions.logcumsumexp, [-inf, 0.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.5, 0.5]),
    (reductions.logcumsumexp, [1000.0, 1000.0, -inf], [0.0, 0.0, 1.0], [0.5, 0.5, 0.0]),
    (reductions.softmax, [1000.0, 0.0], [1.0, 0.0], [0.0, 0.0]),
    (reductions.softmax, [-inf, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.25, -0.25]),
    (reductions.log_softmax, [1000.0, 0.0], [1.0, 0.0], [0.0, 0.0]),
    (reductions.log_softmax, [1000.0, 0.0], [0.0, 1.0], [-1.0, 1.0]),
    # Selection, not multiplication: what is not selected gets 0 even of an infinite cotangent.
    (neural.relu, [-1.0, 1.0], [inf, inf], [0.0, inf]),
    (np.clip, [-2.0, 0.0], [inf, nan], [0.0, nan]),
]


@pytest.fixture(autouse=True)
def _as_numpy_computes() -> Any:
    """NumPy warns of divisions by zero; here they are meant."""
    with np.errstate(all="ignore"):
        yield


def check(function: Any, arrays: list[np.ndarray], g: Any, expected: list[Any]) -> None:
    """The gradients by the literal reading, by the recorder, and by rules run on Tensors."""
    rule = RULES[function]
    call = dict(zip(rule.arguments, arrays, strict=False)) | SETTINGS.get(function, {})
    if "axis" in rule.arguments:
        call["axis"] = 0
    call = completed(rule, call)
    y = np.asarray(rule.apply(call))
    g = np.ones_like(y) if g is None else np.asarray(g, y.dtype)
    for found, wanted in zip(pulled(rule, call, [g]), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
    for create_graph in (False, True):
        xs = [leaf(x) for x in arrays_of(rule, call)]
        found = gradients(recorded(rule, call, xs), xs, [wrap(g)], create_graph=create_graph)
        for x, wanted in zip(found, expected, strict=True):
            np.testing.assert_allclose(x._array, wanted, rtol=1e-12)


def _id(value: Any) -> str:
    return value.__name__ if callable(value) else str(value)


@pytest.mark.parametrize(("function", "x", "slope"), POINTS, ids=_id)
def test_slope_at_a_point(function: Any, x: Any, slope: Any) -> None:
    check(function, [np.asarray(x)], None, [slope])


@pytest.mark.parametrize(("function", "a", "b", "slope_a", "slope_b"), PAIRS, ids=_id)
def test_slopes_of_two_arguments(
    function: Any, a: float, b: float, slope_a: float, slope_b: float
) -> None:
    check(function, [np.asarray(a), np.asarray(b)], None, [slope_a, slope_b])


@pytest.mark.parametrize(("function", "x", "gradient"), VECTORS, ids=_id)
def test_gradient_of_a_reduction(function: Any, x: list[float], gradient: list[float]) -> None:
    check(function, [np.asarray(x)], None, [gradient])


@pytest.mark.parametrize(("function", "x", "g", "gradient"), MAPS, ids=_id)
def test_cotangent_of_a_map(
    function: Any, x: list[float], g: list[float], gradient: list[float]
) -> None:
    check(function, [np.asarray(x)], g, [gradient])


@pytest.mark.parametrize(
    ("exponent", "slope"), [(0, 0.0), (1, 1.0), (2, 0.0), (0.5, inf), (-1, -inf), (3, 0.0)]
)
def test_slope_at_zero_of_a_power_with_a_number_as_exponent(exponent: Any, slope: float) -> None:
    x = leaf(np.asarray(0.0))
    (g,) = gradients([x**exponent], [x], None)
    assert float(g._array) == slope


@pytest.mark.parametrize(
    ("base", "x", "slope"),
    [(0, 0.0, 0.0), (0, -1.0, -inf), (0, 1.0, 0.0), (2, 0.0, log2), (-2, 1.0, nan)],
)
def test_slope_of_a_number_to_a_power(base: Any, x: float, slope: float) -> None:
    exponent = leaf(np.asarray(x))
    (g,) = gradients([base**exponent], [exponent], None)
    np.testing.assert_array_equal(g._array, slope)


@pytest.mark.parametrize(
    ("f", "x", "derivatives"),
    [
        (lambda x: x**2, 0.0, [0.0, 2.0, 0.0]),
        (lambda x: x**3, 0.0, [0.0, 0.0, 6.0]),
        (np.square, 0.0, [0.0, 2.0, 0.0]),
        (np.sinc, 0.0, [0.0, -(math.pi**2) / 3, 0.0]),
        (np.absolute, 0.0, [0.0, 0.0, 0.0]),
        (lambda x: np.prod(np.stack([x, x, x])), 0.0, [0.0, 0.0, 6.0]),
        (lambda x: np.cumprod(np.stack([x, x]))[1], 0.0, [0.0, 2.0, 0.0]),
    ],
)
def test_higher_derivatives_at_zero(f: Any, x: float, derivatives: list[float]) -> None:
    point = leaf(np.asarray(x))
    value = f(point)
    for derivative in derivatives:
        if value.requires_grad:
            (value,) = gradients([value], [point], None, create_graph=True)
        else:  # a constant
            value = 0 * value
        np.testing.assert_allclose(value._array, derivative, atol=1e-14)


@pytest.mark.parametrize("norm", [np.linalg.norm, np.std], ids=_id)
def test_norm_and_deviation_have_slope_zero_where_they_vanish(norm: Any) -> None:
    x = leaf(np.zeros(3))
    (g,) = gradients([norm(x)], [x], None)
    np.testing.assert_array_equal(g._array, np.zeros(3))


def test_a_nan_outside_of_the_selection_stays_outside() -> None:
    condition, g = np.array([True, False]), np.array([1.0, nan])
    call = {"condition": condition, "a": np.ones(2), "b": np.ones(2)}
    rule = RULES[np.where]
    np.testing.assert_array_equal(pull(rule, "a", g, call, None), [1.0, 0.0])
    np.testing.assert_array_equal(pull(rule, "b", g, call, None), [0.0, nan])


def test_log_sum_exp_of_complex_numbers_has_a_second_derivative_although_they_have_no_order():
    x = wg.tensor([[0.3 + 1j, -0.2 - 0.5j, 1.1 + 0j]], dtype=wg.complex128, requires_grad=True)
    assert wg.autograd.gradgradcheck(lambda x: wg.logsumexp(x, 1), x)


@pytest.mark.parametrize(
    "special", [[], [0.0], [0.0, 0.0], [np.inf], [1e-300, 1e-300], [-2.0]], ids=str
)
@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_the_gradient_of_a_product_of_many_is_the_product_of_the_others(special, scale):
    # It is the product divided by each number, where that loses no digits.
    numbers = scale * np.random.default_rng(0).uniform(0.9, 1.1, 300)
    numbers[: len(special)] = special
    x = wg.tensor(numbers, requires_grad=True)
    (slope,) = wg.autograd.grad(x.prod(), x)
    sides = [np.prod(numbers[:i]) * np.prod(numbers[i + 1 :]) for i in range(len(numbers))]
    np.testing.assert_allclose(slope.numpy(), sides, rtol=1e-12, atol=1e-307)


def test_a_number_is_reduced_along_the_dimension_that_it_has_not():
    # Its cotangent was given an extent of 1 there: an IndexError in the backward pass.
    for reduce in (wg.sum, wg.mean, wg.amax, wg.logsumexp, wg.prod):
        for dim in (0, -1):
            x = wg.tensor(2.0, requires_grad=True)
            reduce(x, dim).backward()
            assert x.grad == 1
