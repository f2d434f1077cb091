"""Difference quotients: as accurate as the balance of truncation and rounding promises."""

import numpy as np
import pytest

import wengert as wg
from wengert import numeric
from wengert.errors import GradError


def f(x):
    return np.log(x[0]) + x[0] * x[1] - np.sin(x[1])


EXACT = np.array([5.5, 2 - np.cos(5)])


@pytest.mark.parametrize(("method", "accuracy"), [("central", 1e-9), ("forward", 1e-6)])
def test_the_gradient_is_as_accurate_as_the_method_promises(method, accuracy):
    np.testing.assert_allclose(numeric.gradient(f, [2.0, 5.0], method=method), EXACT, rtol=accuracy)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_the_step_follows_the_size_of_x(scale):
    slope = numeric.gradient(lambda x: np.sum(x**2), np.array([scale]))
    np.testing.assert_allclose(slope, 2 * scale, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("method", "count"), [("central", 2 * 6), ("forward", 6 + 1)])
def test_n_elements_cost_2n_or_n_plus_1_evaluations(method, count):
    calls = []
    gradient = numeric.gradient(
        lambda x: calls.append(1) or x.sum(), np.ones((2, 3)), method=method
    )
    assert len(calls) == count
    np.testing.assert_allclose(gradient, np.ones((2, 3)), rtol=1e-6)


def test_no_step_near_the_chosen_one_is_much_better():
    # The dilemma: larger steps truncate more, smaller ones round more.
    errors = [abs(numeric.gradient(np.exp, 1.0, step=h) - np.e) for h in (1e-2, 6e-6, 1e-11)]
    assert errors[1] < 1e-9 < errors[2]
    assert errors[1] < errors[0]


def test_steps_are_exact_differences():
    x = np.array([0.1, 3.7, 1e6])
    h = numeric.step_size(x)
    assert ((x + h) - x == h).all()


def test_the_caller_s_array_is_neither_changed_nor_handed_out():
    x = np.array([2.0, 5.0])

    def spoils(p):
        value = f(p)
        p[:] = 0
        return value

    np.testing.assert_allclose(numeric.gradient(spoils, x), EXACT, rtol=1e-9)
    assert x.tolist() == [2, 5]


def test_a_tensor_is_perturbed_as_a_tensor_in_float64():
    seen = []
    x = wg.tensor([2.0, 5.0], requires_grad=True)
    gradient = numeric.gradient(lambda p: seen.append(p.dtype) or f(p), x)
    np.testing.assert_allclose(gradient, EXACT, rtol=1e-9)
    assert set(seen) == {wg.float64}


def test_scalars_and_single_element_results_work():
    assert numeric.gradient(np.sin, 0.0).shape == ()
    np.testing.assert_allclose(numeric.gradient(lambda x: x[:1] ** 2, [3.0]), [6.0], rtol=1e-9)


def test_mistakes_are_named():
    with pytest.raises(GradError, match=r"shape \(2,\).*\.sum\(\)"):
        numeric.gradient(lambda x: x, [1.0, 2.0])
    with pytest.raises(ValueError, match="choose 'central' or 'forward'"):
        numeric.gradient(f, [2.0, 5.0], method="backward")
    with pytest.raises(ValueError, match="not a positive number"):
        numeric.gradient(f, [2.0, 5.0], step=0)
    with pytest.raises(TypeError, match="real arrays"):
        numeric.gradient(f, [2j, 5.0])
