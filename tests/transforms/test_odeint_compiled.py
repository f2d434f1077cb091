"""Differential equations in compiled functions: loops of machine code, and their derivatives."""

import numpy as np
import pytest

import wengert as wg
from tests.sweeps import swept
from tests.transforms.test_odeint import PARAMETERS, START, TIMES, loss, prey
from wengert.errors import GradError, TracingError

HOW = {
    "dopri5": {},
    "rk4": {"method": "rk4", "step_size": 0.25},
    "tsit5, direct": {"method": "tsit5", "gradient": "direct"},
    "bosh3": {"method": "bosh3", "rtol": 1e-5},
    "rodas4": {"method": "rodas4", "rtol": 1e-5},
    "midpoint": {"method": "midpoint"},
}


def loops(compiled):
    return [s.name for s in compiled.program.statements if s.name in ("repeat", "until")]


@pytest.mark.parametrize("how", swept(HOW, "dopri5", "rk4"))
def test_solutions_and_gradients_are_those_of_the_recorded_steps(how):
    point = (PARAMETERS, START, TIMES)
    compiled = wg.compile(wg.value_and_grad(lambda *x: loss(*x, **how), (0, 1, 2)))
    value, gradients = compiled(*point)
    expected, known = wg.value_and_grad(
        lambda *x: loss(*x, **{**how, "gradient": "direct"}), (0, 1, 2)
    )(*point)
    assert value == pytest.approx(expected, rel=1e-12)
    for g, e in zip(gradients, known, strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-8, atol=1e-10)
    assert loops(compiled) == ["repeat", "repeat"]
    compiled(PARAMETERS * 1.01, START, TIMES)
    assert not compiled.retraces


@pytest.mark.sweep
def test_forward_mode_vmap_and_containers():
    def f(t, state, rate):
        return {"x": -rate * state["x"], "total": state["x"].sum()}

    def end(rate):
        begun = {"x": np.array([1.0, 2.0]), "total": 0.0}
        return wg.odeint(f, begun, np.array([0.0, 0.5, 1.0]), rate, gradient="direct")["total"][-1]

    rates = np.array([0.5, 1.0, 2.0])
    exact = 3 * (np.exp(-rates) * (rates + 1) - 1) / rates**2
    np.testing.assert_allclose(wg.vmap(wg.grad(end))(rates), exact, rtol=1e-6)
    np.testing.assert_allclose(wg.compile(wg.vmap(wg.grad(end)))(rates), exact, rtol=1e-6)
    assert wg.compile(wg.jacfwd(end))(rates[0]) == pytest.approx(exact[0], rel=1e-6)


@pytest.mark.sweep
def test_time_runs_backwards_and_a_batch_of_times():
    there = wg.odeint(prey, START, TIMES, PARAMETERS)
    back = wg.compile(lambda y, t: wg.odeint(prey, y, t, PARAMETERS))
    np.testing.assert_allclose(back(there[-1], TIMES[::-1].copy())[::-1], there, rtol=1e-5)
    times = np.stack([TIMES, TIMES / 2])
    both = wg.compile(wg.vmap(lambda t: wg.odeint(prey, START, t, PARAMETERS)))(times)
    np.testing.assert_allclose(both[0], there, rtol=1e-5)
    np.testing.assert_allclose(both[1], wg.odeint(prey, START, times[1], PARAMETERS), rtol=1e-5)


@pytest.mark.sweep
def test_single_precision_stays_single():
    f = wg.compile(lambda y: wg.odeint(lambda t, y: -y * t, y, wg.tensor([0.0, 1.0, 2.0])))
    y = f(wg.tensor([1.0, 2.0]))
    assert y.dtype == wg.float32
    assert wg.allclose(y[:, 0], wg.tensor([1.0, 0.60653, 0.13534]), rtol=1e-3)


def test_right_hand_sides_in_scipys_form():
    def lotka(t, y, p):
        hares, lynxes = y
        return [(p[0] - p[1] * lynxes) * hares, (-p[2] + p[3] * hares) * lynxes]

    def total(y0, p):
        return wg.odeint(lotka, y0, [0.0, 1.0], p)[-1].sum()

    eager = wg.grad(total)(START, PARAMETERS)
    np.testing.assert_allclose(wg.compile(wg.grad(total))(START, PARAMETERS), eager, rtol=1e-6)
    made = wg.odeint(lambda t, y: (y[1], 0.0), wg.tensor([1.0, 2.0]), [0.0, 1.0])
    assert wg.allclose(made, wg.tensor([[1.0, 2.0], [3.0, 2.0]]))
    rows = wg.odeint(lambda t, y: [-y[0], y[1]], np.ones((2, 3)), [0.0, 1.0])
    np.testing.assert_allclose(rows[-1], np.exp([[-1.0] * 3, [1.0] * 3]), rtol=1e-6)


@pytest.mark.parametrize("way", ["compile", pytest.param("vmap", marks=pytest.mark.sweep)])
def test_a_step_that_is_not_taken_leaves_no_nan_in_the_gradient(way):
    # Steps that are tried near t=2 ask for the root of a negative y: nan, whose part in the
    # derivative was to be multiplied by zero.
    def end(y0):
        how = {"gradient": "direct", "rtol": 1e-3}
        return wg.odeint(lambda t, y: -np.sqrt(y), y0, [0.0, 1.98], **how)[-1]

    with np.errstate(invalid="ignore"):
        y0 = np.array([1.0, 1.1])
        eager = [wg.grad(end)(y) for y in y0]
        slope = wg.vmap(wg.grad(end)) if way == "vmap" else wg.compile(wg.grad(end))
        found = slope(y0) if way == "vmap" else [slope(y) for y in y0]
        np.testing.assert_allclose(found, eager, rtol=1e-8)


BAD = {
    "explosion": (lambda y: wg.odeint(lambda t, y: y * y, y, [0.0, 2.0]), GradError, "t=1"),
    "too many steps": (
        lambda y: wg.odeint(lambda t, y: -1e6 * (y - t), y, [0.0, 100.0], max_steps=200),
        GradError,
        'rodas4", or SciPy',
    ),
    "not finite": (
        lambda y: wg.odeint(lambda t, y: np.log(-y), y, [0.0, 1.0]),
        GradError,
        "not finite at the first time, t=0",
    ),
    "not finite, rk4": (
        lambda y: wg.odeint(lambda t, y: y + np.log(1 - t), y, [0.0, 0.5, 2.0, 3.0], method="rk4"),
        GradError,
        "not finite at t=2",
    ),
    "times": (
        lambda y: wg.odeint(lambda t, y: -y, y, np.stack([0.0 * y, y, 0.5 * y])),
        ValueError,
        r"after t\[1\]=1 comes 0.5",
    ),
}


@pytest.mark.parametrize(("f", "error", "message"), BAD.values(), ids=BAD)
def test_compiled_code_raises_the_errors_of_eager_mode(f, error, message):
    with np.errstate(all="ignore"):
        for call in (f, wg.compile(f)):
            with pytest.raises(error, match=message):
                call(np.array(1.0))


@pytest.mark.parametrize("method", ["LSODA", "BDF", "RK45"])
def test_the_derivative_by_a_number_of_what_scipy_integrates(method):
    # The call of Python was given a float, and took its dtype.
    def last(rate):
        slope = lambda t, y, rate: [y[1], -rate * y[0]]
        return wg.odeint(slope, np.array([1.0, 0.0]), [0.0, 1.0, 2.0], rate, method=method)[-1, 0]

    assert wg.compile(wg.grad(last))(1.0) == pytest.approx(-np.sin(2.0), rel=1e-5)


@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_a_function_that_draws_is_called_as_often_as_in_eager_mode(method):
    # It was called once more, to see whether its numbers are known; drawn for that, they were lost.
    def final(y):
        def slope(t, y):
            return -y * (1 + 0.01 * wg.rand(2))

        return wg.odeint(slope, y, wg.linspace(0, 1, 3), method=method)[-1]

    y, compiled = wg.tensor([1.0, 2.0]), wg.compile(final)
    wg.manual_seed(0)
    expected = [final(y).tolist() for _ in range(3)]
    wg.manual_seed(0)
    np.testing.assert_allclose([compiled(y).tolist() for _ in range(3)], expected, rtol=1e-5)


@pytest.mark.parametrize(("method", "gradient"), [("rk4", "adjoint"), ("dopri5", "direct")])
def test_a_function_that_draws_where_the_derivative_is_another_one_is_refused(method, gradient):
    def total(y):
        slope = lambda t, y: -y * wg.rand(2)
        return wg.odeint(slope, y, wg.linspace(0, 1, 3), method=method, gradient=gradient).sum()

    with pytest.raises(TracingError, match="draws random numbers"):
        wg.compile(total)(wg.tensor([1.0, 2.0], requires_grad=True))
