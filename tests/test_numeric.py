"""Difference quotients: as accurate as the balance of truncation and rounding promises."""

import numpy as np
import pytest

import wengert as wg
from wengert import numeric
from wengert.errors import GradError


def f(x):
    return np.log(x[0]) + x[0] * x[1] - np.sin(x[1])


EXACT = np.array([5.5, 2 - np.cos(5)])


@pytest.mark.parametrize(
    ("method", "accuracy"),
    [("central", 1e-9), ("forward", 1e-6), ("richardson", 1e-12), ("complex", 1e-15)],
)
def test_the_gradient_is_as_accurate_as_the_method_promises(method, accuracy):
    np.testing.assert_allclose(numeric.gradient(f, [2.0, 5.0], method=method), EXACT, rtol=accuracy)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_the_step_follows_the_size_of_x(scale):
    slope = numeric.gradient(lambda x: np.sum(x**2), np.array([scale]))
    np.testing.assert_allclose(slope, 2 * scale, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    ("method", "count"),
    [("central", 2 * 6), ("forward", 6 + 1), ("richardson", 16 * 6), ("complex", 6)],
)
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


# ---- Jacobians and estimates ---------------------------------------------------------------

METHODS = pytest.mark.parametrize("method", ["forward", "central", "richardson", "complex"])
FUNCTIONS = {
    "exp": (np.exp, np.exp, 1.0),
    "sin": (np.sin, np.cos, 3.0),
    "fast": (lambda x: np.sin(100 * x), lambda x: 100 * np.cos(100 * x), 1.0),
    "large": (lambda x: x**2, lambda x: 2 * x, 1e6),
    "linear": (lambda x: 3 * x + 1, lambda x: 3.0, 2.0),
    "near the edge of the domain": (np.log, lambda x: 1 / x, 0.05),
}


@METHODS
def test_a_jacobian_has_the_shape_of_the_output_and_then_of_the_input(method):
    matrix = np.array([[1.0, 2.0], [3.0, 4.0]])
    found = numeric.jacobian(lambda x: matrix @ x, np.ones((2, 3)), method=method)
    assert found.shape == (2, 3, 2, 3)
    exact = np.einsum("ik,jl->ijkl", matrix, np.eye(3))
    np.testing.assert_allclose(found, exact, atol=1e-6)


def test_a_jacobian_by_no_inputs_is_empty():
    assert numeric.jacobian(lambda x: np.ones(3), np.empty(0)).shape == (3, 0)


@METHODS
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_error_is_within_its_estimate_and_the_estimate_not_idle(method, name):
    f, slope, x = FUNCTIONS[name]
    found = numeric.estimate(f, x, method=method)
    size = max(abs(slope(x)), 1)
    assert abs(found.value - slope(x)) <= 1.1 * found.error  # estimated to first order
    assert found.error <= {"forward": 1e-3, "central": 1e-5}.get(method, 1e-9) * size * abs(x)


@pytest.mark.parametrize(
    ("method", "count"), [("forward", 7), ("central", 12), ("richardson", 48), ("complex", 3)]
)
def test_an_estimate_counts_its_evaluations(method, count):
    found = numeric.estimate(np.sin, [0.1, 0.2, 0.3], method=method)
    assert found.evaluations == count
    assert found.value.shape == found.error.shape == (3, 3)
    np.testing.assert_allclose(found.value, np.diag(np.cos([0.1, 0.2, 0.3])), atol=1e-6)


def test_extrapolation_steps_over_points_outside_the_domain():
    with np.errstate(all="raise"):
        found = numeric.estimate(np.sqrt, 1e-2)
    np.testing.assert_allclose(found.value, 5, rtol=1e-8)


@pytest.mark.parametrize(("method", "gain"), [("central", 20), ("forward", 2)])
def test_a_balanced_step_knows_how_fast_the_function_changes(method, gain):
    f, slope, x = FUNCTIONS["fast"]
    step = numeric.balanced_step(f, x, method)
    balanced = numeric.gradient(f, x, method=method, step=step)
    quick = numeric.gradient(f, x, method=method)
    assert abs(balanced - slope(x)) < abs(quick - slope(x)) / gain


def test_balanced_steps_come_one_for_each_entry_and_stay_within_bounds():
    steps = numeric.balanced_step(lambda x: x[0] ** 2 + np.sin(50 * x[1]), [1.0, 1.0])
    assert steps.shape == (2,)
    assert steps[1] < steps[0] <= 0.1
    # Where the function is zero throughout, nothing is known.
    assert numeric.balanced_step(lambda x: 0 * x, 1.0) == numeric.step_size(1.0)


def test_a_step_may_be_given_for_each_entry():
    slopes = numeric.gradient(lambda x: (x**2).sum(), [1.0, 2.0], method="forward", step=[0.5, 1.0])
    assert slopes.tolist() == [2.5, 5.0]


def test_complex_steps_on_tensors_give_complex_tensors():
    seen = []
    x = wg.tensor([2.0, 5.0])
    found = numeric.gradient(lambda p: seen.append(p.dtype) or f(p), x, method="complex")
    np.testing.assert_allclose(found, EXACT, rtol=1e-15)
    assert set(seen) == {wg.complex128}


# ---- the dilemma ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "least"), [("forward", (1e-10, 1e-7)), ("central", (1e-13, 1e-9))]
)
def test_the_error_curve_falls_then_rises(method, least):
    curve = numeric.error_curve(np.exp, 1.0, np.e, method=method)
    assert least[0] < curve.best_error < least[1]
    assert curve.errors[0] > 1e3 * curve.best_error
    assert curve.errors[-1] > 1e3 * curve.best_error
    assert 1e-2 < curve.best_step / curve.chosen < 1e2
    order = {"forward": 1, "central": 2}[method]
    falling = np.polyfit(np.log(curve.steps[3:9]), np.log(curve.errors[3:9]), 1)[0]
    assert abs(falling - order) < 0.1


def test_the_error_curve_finds_the_exact_derivative_itself_and_moves_the_entry_asked_for():
    curve = numeric.error_curve(f, [2.0, 5.0], at=1)
    np.testing.assert_allclose(curve.exact, EXACT[1], rtol=1e-12)
    assert curve.best_error < 1e-8


def test_the_printed_curve_marks_the_least_error_and_the_step_used():
    text = str(numeric.error_curve(np.exp, 1.0, np.e))
    assert text.count("least error") == text.count("the step used") == 1
    assert len(text.splitlines()) == 1 + 17 + 1  # the powers of ten, and the step used
    few = numeric.error_curve(np.exp, 1.0, np.e, steps=[0.5, 0.25, 0.125])
    assert len(str(few).splitlines()) == 1 + 3


def test_the_curve_is_drawn(tmp_path):
    numeric.error_curve(np.exp, 1.0, np.e).plot(tmp_path / "curve.png")
    assert (tmp_path / "curve.png").stat().st_size > 5000


def test_mistakes_in_estimates_and_curves_are_named():
    with pytest.raises(GradError, match="drops the imaginary part"):
        numeric.gradient(lambda x: np.abs(x), 1.0, method="complex")
    with pytest.raises(ValueError, match="Say which entry"):
        numeric.error_curve(f, [2.0, 5.0])
    with pytest.raises(ValueError, match="no step to balance"):
        numeric.balanced_step(np.exp, 1.0, "complex")
    with pytest.raises(GradError, match="returns numbers, but it returned str"):
        numeric.jacobian(lambda x: "x", 1.0)
