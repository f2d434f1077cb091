"""Ordinary differential equations: solutions, their derivatives by both ways, and bad input."""

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg

import wengert as wg
from tests.sweeps import swept
from tests.transforms import numeric
from wengert.errors import GradError, ShapeError
from wengert.solvers.ode import slopes_of
from wengert.solvers.runge_kutta import METHODS

PARAMETERS = np.array([0.9, 0.7, 0.8, 0.6])
START = np.array([1.2, 0.7])
TIMES = np.array([0.0, 0.4, 1.1, 2.5])
WEIGHTS = np.array([[0.3, -1.0], [1.0, 0.5], [-0.7, 0.2], [0.4, 1.5]])

ADAPTIVE = ["dopri5", "tsit5", "bosh3", "rodas4", "LSODA", "BDF", "Radau", "RK45", "RK23", "DOP853"]
FIXED = {"euler": 1, "midpoint": 2, "rk4": 4}


def prey(t, y, p):
    """Lotka and Volterra's equations, with a season."""
    a, b, c, d = p
    return np.stack(
        [a * y[0] * (1 + 0.2 * np.sin(t)) - b * y[0] * y[1], d * y[0] * y[1] - c * y[1]]
    )


def reference(p, y0, t):
    found = scipy.integrate.solve_ivp(
        lambda t, y: prey(t, y, p), (t[0], t[-1]), y0, "DOP853", t, rtol=1e-12, atol=1e-13
    )
    return found.y.T


def loss(p, y0, t, **how):
    return np.sum(wg.odeint(prey, y0, t, p, **how) * WEIGHTS)


EXPECTED = [
    numeric.gradient(
        lambda x, k=k: np.sum(
            reference(*[x if i == k else v for i, v in enumerate((PARAMETERS, START, TIMES))])
            * WEIGHTS
        ),
        point,
    )
    for k, point in enumerate((PARAMETERS, START, TIMES))
]

WAYS = {
    **{f"adjoint {m}": {"method": m, "rtol": 1e-8, "atol": 1e-9} for m in ("dopri5", "LSODA")},
    "adjoint bosh3": {"method": "bosh3", "rtol": 1e-6, "atol": 1e-7},
    # Its steps take df/dt, and y in the adjoint equation changes with t: that was refused.
    "adjoint rodas4": {"method": "rodas4", "rtol": 1e-6, "atol": 1e-8},
    "adjoint rk4": {"method": "rk4", "step_size": 0.02},
    "direct dopri5": {"gradient": "direct", "rtol": 1e-8, "atol": 1e-9},
    "direct tsit5": {"gradient": "direct", "method": "tsit5", "rtol": 1e-8, "atol": 1e-9},
    "direct rodas4": {"gradient": "direct", "method": "rodas4", "rtol": 1e-6, "atol": 1e-8},
    "direct rk4": {"gradient": "direct", "method": "rk4", "step_size": 0.02},
}


@pytest.mark.parametrize("method", ADAPTIVE)
def test_solutions_are_as_accurate_as_the_tolerances(method):
    exact = reference(PARAMETERS, START, TIMES)
    loose = wg.odeint(prey, START, TIMES, PARAMETERS, method=method, rtol=1e-4, atol=1e-6)
    fine = wg.odeint(prey, START, TIMES, PARAMETERS, method=method, rtol=1e-9, atol=1e-10)
    assert 1e-7 < np.abs(loose - exact).max() < 1e-2
    assert np.abs(fine - exact).max() < 2e-7


@pytest.mark.parametrize(("method", "order"), FIXED.items())
def test_errors_of_fixed_steps_fall_with_the_order_of_the_method(method, order):
    exact = reference(PARAMETERS, START, TIMES)
    errors = [
        np.abs(wg.odeint(prey, START, TIMES, PARAMETERS, method=method, step_size=h) - exact).max()
        for h in (0.04, 0.02)
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.2)


@pytest.mark.parametrize(
    ("method", "order", "dense"),
    [("bosh3", 3, 3), ("dopri5", 5, 4), ("tsit5", 5, 4), ("rodas4", 4, 3)],
)
def test_errors_of_one_step_and_of_its_dense_output_fall_with_their_orders(method, order, dense):
    table, errors = METHODS[method], []
    f = lambda t, y: prey(t, y, PARAMETERS)
    for h in (0.2, 0.1):
        slopes = slopes_of(lambda t, y: f(t, y))
        y, stages = table.step(f, 0.3, wg.tensor(START), h, None, slopes)
        stages.append(f(0.3 + h, y))
        exact = reference(PARAMETERS, START, np.array([0.3, 0.3 + 0.4 * h, 0.3 + h]))
        middle = table.between(0.4, wg.tensor(START), h, stages)
        assert wg.allclose(table.between(1.0, wg.tensor(START), h, stages), y, rtol=1e-12)
        errors.append([np.abs(y.numpy() - exact[2]).max(), np.abs(middle.numpy() - exact[1]).max()])
    found = np.log2(np.divide(*errors)) - 1  # of one step: one more than of all
    assert np.all(found > np.array([order, dense]) - 0.4), found


def test_dense_output_is_as_accurate_as_the_steps():
    times = np.linspace(0, 2.5, 200)
    found = wg.odeint(prey, START, times, PARAMETERS)
    np.testing.assert_allclose(found, reference(PARAMETERS, START, times), rtol=1e-6)


def test_time_may_run_backwards():
    there = wg.odeint(prey, START, TIMES, PARAMETERS)
    back = wg.odeint(prey, there[-1], TIMES[::-1].copy(), PARAMETERS)
    np.testing.assert_allclose(back[::-1], there, rtol=1e-5)


@pytest.mark.parametrize(
    "how", swept(WAYS, "direct rk4", "direct rodas4", "adjoint dopri5", "adjoint LSODA")
)
def test_gradients_by_parameters_start_and_times_in_both_directions(how):
    point = (PARAMETERS, START, TIMES)
    found = wg.grad(lambda *x: loss(*x, **how), (0, 1, 2))(*point)
    for g, expected in zip(found, EXPECTED, strict=True):
        np.testing.assert_allclose(g, expected, rtol=1e-4, atol=1e-4)
    direction = (np.cos(PARAMETERS), np.sin(START), np.array([0.3, -1.0, 0.2, 0.5]))
    pushed = wg.jvp(lambda *x: loss(*x, **how), point, direction)[1]
    along = sum(np.sum(g * v) for g, v in zip(EXPECTED, direction, strict=True))
    assert pushed == pytest.approx(along, rel=1e-4)


def test_direct_differentiation_is_the_exact_derivative_of_the_numbers_computed():
    how = {"gradient": "direct", "method": "rk4", "step_size": 0.25}
    for k, point in enumerate((PARAMETERS, START)):
        both = [PARAMETERS, START]

        def f(x, k=k, both=both):
            return loss(*[x if i == k else v for i, v in enumerate(both)], TIMES, **how)

        np.testing.assert_allclose(wg.grad(f)(point), numeric.gradient(f, point), rtol=1e-8)


@pytest.mark.parametrize("how", [{}, {"gradient": "direct"}], ids=["adjoint", "direct"])
def test_second_derivatives_in_all_mixes(how):
    def f(rate):
        return wg.odeint(lambda t, y, r: -r * y * y, 1.0, [0.0, 2.0], rate, **how)[-1]

    exact = 8 / (1 + 2 * 0.5) ** 3  # y = 1 / (1 + r t)
    for one in (wg.jacrev, wg.jacfwd):
        for other in (wg.jacrev, wg.jacfwd):
            assert one(other(f))(0.5) == pytest.approx(exact, rel=1e-5)


def test_the_matrix_exponential():
    matrix = np.array([[0.1, 1.0, 0.0], [-1.0, 0.2, 0.3], [0.5, 0.0, -0.4]])

    def flow(m):
        return wg.odeint(lambda t, y, m: np.matmul(m, y), np.eye(3), [0.0, 1.0], m)[-1]

    np.testing.assert_allclose(flow(matrix), scipy.linalg.expm(matrix), atol=1e-6)
    direction = np.arange(9.0).reshape(3, 3)
    exact = scipy.linalg.expm_frechet(matrix, direction, compute_expm=False)
    np.testing.assert_allclose(wg.jvp(flow, (matrix,), (direction,))[1], exact, rtol=1e-5)


def test_states_and_parameters_are_containers():
    def oscillator(t, state, p):
        return {"x": state["v"], "v": -p["k"] * state["x"]}

    def swing(k, **how):
        start = {"x": np.array([1.0, 0.5]), "v": np.zeros(2)}
        return wg.odeint(oscillator, start, [0.0, 1.0], {"k": k}, **how)

    made = swing(4.0)
    assert set(made) == {"x", "v"}
    assert made["x"].shape == (2, 2)
    np.testing.assert_allclose(made["x"][-1], [np.cos(2.0), 0.5 * np.cos(2.0)], atol=1e-6)
    for how in ({}, {"gradient": "direct"}):
        slope = wg.grad(lambda k, how=how: swing(k, **how)["x"][-1, 0])(4.0)
        assert slope == pytest.approx(-np.sin(2.0) / 4, abs=1e-6)


@pytest.mark.parametrize("gradient", ["adjoint", "direct"])
def test_complex_states_beside_real_ones(gradient):
    def turn(t, y, w):
        return (1j * w * y[0], -y[1])

    def f(w):
        z, x = wg.odeint(turn, (1 + 0j, 1.0), [0.0, 1.0], w, gradient=gradient)
        return np.real(z[-1]) + x[-1]

    assert f(2.0) == pytest.approx(np.cos(2.0) + np.exp(-1), abs=1e-6)
    assert wg.grad(f)(2.0) == pytest.approx(-np.sin(2.0), abs=1e-6)


@pytest.mark.parametrize("gradient", ["adjoint", "direct"])
def test_neural_differential_equations_in_single_precision(gradient):
    wg.manual_seed(0)
    net = wg.nn.Sequential(wg.nn.Linear(2, 8), wg.nn.Tanh(), wg.nn.Linear(8, 2))
    y0, times = wg.randn(5, 2), wg.linspace(0, 1, 4)

    def f(t, y, parameters):
        return wg.func.functional_call(net, parameters, y)

    out = wg.odeint(f, y0, times, dict(net.named_parameters()), gradient=gradient)
    assert out.shape == (4, 5, 2)
    assert out.dtype == wg.float32
    (out[-1] ** 2).sum().backward()
    twin = net[0].weight.detach().double().numpy()
    direction = np.ones_like(twin)

    def total(s):
        parameters = {k: v.detach().double() for k, v in net.named_parameters()}
        parameters["0.weight"] = wg.tensor(twin + s * direction)
        made = wg.odeint(f, y0.double(), times.double(), parameters)
        return (made[-1] ** 2).sum().item()

    expected = (total(1e-5) - total(-1e-5)) / 2e-5
    assert net[0].weight.grad.sum().item() == pytest.approx(expected, rel=2e-3)


def test_stiff_equations_by_scipys_methods_with_gradients():
    def robertson(t, y, k):
        a, b, c = k[0] * y[0], k[1] * y[1] * y[1], k[2] * y[1] * y[2]
        return np.stack([-a + c, a - c - b, b])

    k = np.array([0.04, 3e7, 1e4])
    y0, times = np.array([1.0, 0.0, 0.0]), np.array([0.0, 4.0])

    def left(scale, **how):
        return wg.odeint(robertson, y0, times, k * scale, **how)[-1, 0]

    how = {"method": "BDF", "rtol": 1e-6, "atol": 1e-9}
    assert left(np.ones(3), **how) == pytest.approx(0.9055, abs=1e-4)
    expected = numeric.gradient(
        lambda s: left(s, method="Radau", rtol=1e-11, atol=1e-13), np.ones(3), 1e-4
    )
    pushed = wg.jvp(lambda s: left(s, **how), (np.ones(3),), (np.ones(3),))[1]
    assert pushed == pytest.approx(expected.sum(), rel=1e-3)
    found = wg.grad(lambda s: left(s, **how))(np.ones(3))
    np.testing.assert_allclose(found, expected, rtol=1e-2)


def test_vmap_and_compile():
    def end(rate, **how):
        return wg.odeint(lambda t, y, r: -r * y, 1.0, np.array([0.0, 2.0]), rate, **how)[-1]

    rates = np.array([0.3, 0.5, 1.0])
    exact = -2 * np.exp(-2 * rates)
    direct = {"gradient": "direct", "method": "rk4", "step_size": 0.05}
    for how in ({}, {"gradient": "direct"}, direct):
        slope = wg.grad(lambda r, how=how: end(r, **how))
        np.testing.assert_allclose(wg.vmap(slope)(rates), exact, rtol=1e-5)
        compiled = wg.compile(slope)
        for rate, value in zip(rates, exact, strict=True):
            assert compiled(np.array(rate)) == pytest.approx(value, rel=1e-5)


def test_one_time_gives_the_start():
    np.testing.assert_array_equal(wg.odeint(prey, START, TIMES[:1], PARAMETERS), START[None])
    g = wg.grad(lambda y: np.sum(wg.odeint(prey, y, TIMES[:1], PARAMETERS)))(START)
    np.testing.assert_array_equal(g, np.ones(2))


def test_numbers_in_arrays_out_and_tensors_give_tensors():
    assert isinstance(wg.odeint(lambda t, y: -y, 1.0, [0, 1]), np.ndarray)
    y = wg.odeint(lambda t, y: -y, wg.tensor(1.0), wg.tensor([0.0, 1.0]))
    assert isinstance(y, wg.Tensor)
    assert y.dtype == wg.float32
    assert not y.requires_grad


# ---- bad input -----------------------------------------------------------------------------


def growing(t, y):
    return -y


CALLS = {
    "no function": (lambda: wg.odeint(3, 1.0, [0, 1]), TypeError, r"f\(t, y, \*args\) first"),
    "method": (
        lambda: wg.odeint(growing, 1.0, [0, 1], method="rk5"),
        ValueError,
        "no method 'rk5'. Choose one of euler",
    ),
    "gradient": (
        lambda: wg.odeint(growing, 1.0, [0, 1], gradient="exact"),
        ValueError,
        '"adjoint" or "direct"',
    ),
    "direct by SciPy": (
        lambda: wg.odeint(growing, 1.0, [0, 1], method="BDF", gradient="direct"),
        ValueError,
        "steps of SciPy's BDF are not recorded",
    ),
    "not monotonic": (
        lambda: wg.odeint(growing, 1.0, [0, 2, 1]),
        ValueError,
        r"after t\[1\]=2 comes 1",
    ),
    "equal times": (
        lambda: wg.odeint(growing, 1.0, [0, 1, 1]),
        ValueError,
        "all increase or all decrease",
    ),
    "nan in times": (lambda: wg.odeint(growing, 1.0, [0, np.nan]), ValueError, "all increase"),
    "times of rank 2": (
        lambda: wg.odeint(growing, 1.0, [[0.0, 1.0]]),
        ValueError,
        r"shape \(1, 2\)",
    ),
    "a number for times": (
        lambda: wg.odeint(growing, 1.0, 3.0),
        TypeError,
        "t is a vector of times, but got float",
    ),
    "step_size": (
        lambda: wg.odeint(growing, 1.0, [0, 1], step_size=0.1),
        ValueError,
        "dopri5 chooses its steps",
    ),
    "negative step": (
        lambda: wg.odeint(growing, 1.0, [0, 1], method="rk4", step_size=-1),
        ValueError,
        "positive length",
    ),
    "tolerance": (
        lambda: wg.odeint(growing, 1.0, [0, 1], method="rk4", rtol=1e-3),
        ValueError,
        "rk4 takes steps of fixed length",
    ),
    "rounding": (
        lambda: wg.odeint(growing, wg.tensor(1.0), [0, 1], rtol=1e-9),
        ValueError,
        "below the rounding of float32",
    ),
    "max_steps": (
        lambda: wg.odeint(growing, 1.0, [0, 1], max_steps=0),
        ValueError,
        "positive number of steps",
    ),
    "shape": (
        lambda: wg.odeint(lambda t, y: np.ones(3), START, [0, 1]),
        ShapeError,
        r"returned shape \(3,\), but the unknown has shape \(2,\)",
    ),
    "structure": (
        lambda: wg.odeint(lambda t, y: {"y": y}, START, [0, 1]),
        GradError,
        "must have the structure",
    ),
    "not finite": (
        lambda: wg.odeint(lambda t, y: y / 0.0, np.ones(2), [0, 1]),
        GradError,
        r"not finite at the first time, t=0",
    ),
    "not finite, BDF": (
        lambda: wg.odeint(lambda t, y: y * np.nan, 1.0, [0, 1], method="BDF"),
        GradError,
        "not finite at the first time",
    ),
    "not finite, rk4": (
        lambda: wg.odeint(lambda t, y: y * np.nan, 1.0, [0, 1], method="rk4"),
        GradError,
        "not finite at t=1",
    ),
    "explosion": (lambda: wg.odeint(lambda t, y: y * y, 1.0, [0.0, 2.0]), GradError, r"t=1.*LSODA"),
    "too many steps": (
        lambda: wg.odeint(lambda t, y: -1e6 * (y - np.cos(t)), 1.0, [0.0, 100.0], max_steps=200),
        GradError,
        r"200 steps did not reach t=100, only t=.*LSODA",
    ),
    "too many, SciPy": (
        lambda: wg.odeint(growing, 1.0, [0.0, 100.0], max_steps=3, method="Radau"),
        GradError,
        "3 steps of Radau did not reach",
    ),
    "before the solution": (
        lambda: wg.odeint(growing, 1.0, [2.0, 1.0], dense=True)([1.5, 0.5]),
        ValueError,
        r"goes from t=1 to t=2, not to t=0\.5",
    ),
    "dense, fixed steps": (
        lambda: wg.odeint(growing, 1.0, [0.0, 1.0], method="rk4", dense=True),
        ValueError,
        "rk4 has no dense output here; choose one of bosh3, dopri5",
    ),
    "dense, one time": (
        lambda: wg.odeint(growing, 1.0, [0.0], dense=True),
        ValueError,
        "has a first and a last time",
    ),
    "empty state": (lambda: wg.odeint(growing, (), [0, 1]), GradError, "no numbers in it"),
}


@pytest.mark.parametrize(("call", "error", "message"), CALLS.values(), ids=CALLS)
def test_bad_input_says_what_was_found_and_what_to_type(call, error, message):
    with np.errstate(all="ignore"), pytest.raises(error, match=message):
        call()


def test_a_tensor_that_f_closes_over_is_an_error_for_the_adjoint_method():
    rate = wg.tensor(0.5, requires_grad=True)
    hidden = lambda t, y: -rate * y
    y0 = wg.tensor(1.0, requires_grad=True)
    for start in (y0, wg.tensor(1.0), 1.0):
        with pytest.raises(GradError, match="not among its arguments"):
            wg.odeint(hidden, start, [0.0, 1.0])
    wg.odeint(hidden, y0, [0.0, 1.0], gradient="direct")[-1].backward()
    assert rate.grad.item() == pytest.approx(-np.exp(-0.5), rel=1e-3)
    with wg.no_grad():
        wg.odeint(hidden, y0, [0.0, 1.0])
