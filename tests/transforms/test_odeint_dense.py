"""Solutions as functions of time: the same numbers and derivatives in every mode."""

import numpy as np
import pytest

import wengert as wg
from tests.transforms.test_odeint import PARAMETERS, START, prey, reference

SPAN = np.array([0.0, 2.5])
AT = np.array([1.1, 0.0, 2.5, 0.4, 0.4])
WEIGHTS = np.arange(10.0).reshape(5, 2) - 4
METHODS = [
    "dopri5",
    *(pytest.param(m, marks=pytest.mark.sweep) for m in ("tsit5", "bosh3", "rodas4")),
]


def loss(p, y0, t, span=SPAN, **how):
    return np.sum(wg.odeint(prey, y0, span, p, dense=True, **how)(t) * WEIGHTS)


@pytest.mark.parametrize("span", [SPAN, SPAN[::-1]], ids=["forwards", "backwards"])
@pytest.mark.parametrize("method", METHODS)
def test_numbers_and_derivatives_are_those_of_the_solution_in_every_mode(method, span):
    # Compiled, the derivative by a time that is the first one was zero: no step lay before it.
    point = PARAMETERS, START, AT
    how = {"span": span, "method": method, "rtol": 1e-7}
    sol = wg.odeint(prey, START, span, PARAMETERS, dense=True, method=method, rtol=1e-7)
    slopes = np.array([prey(t, y, PARAMETERS) for t, y in zip(AT, sol(AT), strict=True)])
    known = wg.grad(lambda *x: loss(*x, **how), (0, 1, 2))(*point)
    np.testing.assert_allclose(known[2], (WEIGHTS * slopes).sum(1), rtol=1e-5)
    for gradient in ("adjoint", "direct"):
        f = wg.value_and_grad(lambda *x, g=gradient: loss(*x, **how, gradient=g), (0, 1, 2))
        for run in (f, wg.compile(f)):
            value, gradients = run(*point)
            assert value == pytest.approx((sol(AT) * WEIGHTS).sum(), rel=1e-12)
            for found, expected in zip(gradients, known, strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


def test_it_is_as_accurate_as_the_steps_and_costs_no_evaluation():
    calls = []
    sol = wg.odeint(
        lambda t, y, p: calls.append(t) or prey(t, y, p), START, SPAN, PARAMETERS, dense=True
    )
    taken = len(calls)
    times = np.linspace(*SPAN, 50)
    np.testing.assert_allclose(sol(times), reference(PARAMETERS, START, times), atol=1e-6)
    assert sol(1.0).shape == (2,)
    assert sol(times.reshape(5, 10)).shape == (5, 10, 2)
    assert len(calls) == taken
    np.testing.assert_allclose(wg.compile(sol)(times), sol(times), rtol=1e-14)
    np.testing.assert_allclose(wg.vmap(sol)(times), sol(times), rtol=1e-14)
    slope = wg.jacfwd(sol)(1.0)
    np.testing.assert_allclose(slope, prey(1.0, sol(1.0), PARAMETERS), rtol=1e-5)


def test_batches_containers_and_tensors():
    def f(t, state, rate):
        return {"x": -rate * state["x"], "turn": 1j * state["turn"]}

    def at(rate, t):
        begun = {"x": np.ones(2), "turn": 1.0 + 0j}
        return wg.odeint(f, begun, [0.0, 1.0], rate, dense=True, gradient="direct")(t)

    rates = np.array([0.5, 1.0])
    found = wg.vmap(at, (0, None))(rates, 0.5)
    np.testing.assert_allclose(found["x"], np.exp(-0.5 * rates)[:, None] * np.ones(2), rtol=1e-6)
    np.testing.assert_allclose(at(0.5, [0.2, 0.1])["turn"], np.exp(1j * np.array([0.2, 0.1])))
    sol = wg.odeint(lambda t, y: -y, wg.tensor(1.0), [0.0, 1.0], dense=True)
    assert isinstance(sol(0.5), wg.Tensor)
