"""Events: when a solution of a differential equation meets a condition, and derivatives of that."""

import numpy as np
import pytest

import wengert as wg
from wengert.errors import GradError, StateError

G = 9.81
HEIGHTS = np.array([1.0, 2.0, 4.0])


def fall(t, y):
    return [y[1], -G]


def landing(h, **how):
    return wg.odeint_event(fall, np.stack([h, 0 * h]), 0.0, lambda t, y: y[0], **how)


def test_time_and_place_of_an_event_and_derivatives_up_to_the_third():
    t, y = landing(2.0)
    assert t == pytest.approx(np.sqrt(4 / G), abs=1e-14)  # a constant of the list was single before
    np.testing.assert_allclose(y, [0, -np.sqrt(4 * G)], atol=1e-12)
    f, exact = lambda h: landing(h)[0], np.sqrt(2 / G) * np.array([1, 0.5, -0.25, 0.375])
    for order in range(1, 4):
        f = wg.grad(f)
        assert f(2.0) == pytest.approx(exact[order] * 2.0 ** (0.5 - order), rel=1e-11)
    assert wg.jacfwd(lambda h: landing(h)[1][1])(2.0) == pytest.approx(-np.sqrt(G / 4))


def test_compiled_and_batched():
    f = wg.value_and_grad(lambda h: landing(h)[0])
    compiled = wg.compile(f)
    for h in HEIGHTS:
        np.testing.assert_allclose(compiled(h), [np.sqrt(2 * h / G), 1 / np.sqrt(2 * G * h)])
    assert not compiled.retraces
    assert any(s.name == "until" for s in compiled.program.statements)


@pytest.mark.sweep
def test_batches_end_each_at_its_own_time():
    for f in (wg.vmap(landing), wg.compile(wg.vmap(landing))):
        np.testing.assert_allclose(f(HEIGHTS)[0], np.sqrt(2 * HEIGHTS / G))
    slopes = wg.vmap(wg.grad(lambda h: landing(h)[0]))(HEIGHTS)
    np.testing.assert_allclose(slopes, 1 / np.sqrt(2 * G * HEIGHTS))


@pytest.mark.sweep
@pytest.mark.parametrize("mode", [wg.jacrev, wg.jacfwd])
def test_a_ball_that_bounces_five_times(mode):
    def bounces(kept):
        def one(state, _):
            t, y = wg.odeint_event(fall, state[1], state[0], lambda t, y: y[0], direction=-1)
            return (t, np.stack([0 * y[0], -kept * y[1]])), t

        return wg.scan(one, (np.array(0.0), np.array([1.0, 0.0])), None, length=5)[1]

    powers = np.arange(5.0)
    known = np.sqrt(2 / G) * (2 * np.cumsum(0.8**powers) - 1)
    np.testing.assert_allclose(bounces(0.8), known, rtol=1e-12)
    compiled = wg.compile(bounces)
    np.testing.assert_allclose(compiled(0.8), known, rtol=1e-12)
    slopes = 2 * np.sqrt(2 / G) * np.cumsum(powers * 0.8 ** (powers - 1))
    np.testing.assert_allclose(mode(bounces)(0.8), slopes, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(wg.compile(mode(bounces))(0.8), slopes, rtol=1e-10, atol=1e-14)


def test_direction_time_backwards_and_parameters_of_containers():
    spin = lambda t, s, p: {"x": s["v"], "v": -(p["w"] ** 2) * s["x"]}
    start = {"x": wg.tensor(0.0, dtype=wg.float64), "v": wg.tensor(1.0, dtype=wg.float64)}

    def crossing(w, **how):
        return wg.odeint_event(spin, start, 0.0, lambda t, s, p: s["x"], {"w": w}, **how)

    w = wg.tensor(2.0, dtype=wg.float64, requires_grad=True)
    for how, turns in (({}, 0.5), ({"direction": 1}, 1.0), ({"end": -10.0}, -0.5)):
        t, s = crossing(w, **how)
        assert t.item() == pytest.approx(turns * np.pi, rel=1e-6)
        assert abs(s["x"].item()) < 1e-12
        (slope,) = wg.autograd.grad(t, w)
        assert slope.item() == pytest.approx(-turns * np.pi / 2, rel=1e-5)


BAD = {
    "no event": (lambda h: wg.odeint_event(fall, h, 0.0, 3), TypeError, "an event"),
    "direction": (lambda h: landing(h, direction=2), ValueError, "direction is -1, 0 or 1, not 2"),
    "fixed steps": (
        lambda h: landing(h, method="rk4"),
        ValueError,
        "rk4 does not choose its steps",
    ),
    "SciPy": (lambda h: landing(h, method="BDF"), ValueError, "steps of SciPy's BDF"),
    "never": (lambda h: landing(h, end=0.25), GradError, r"did not change its sign until t=0\.25"),
    "other way": (lambda h: landing(h, direction=1, end=5.0), GradError, "Is `direction` right"),
    "too many steps": (
        lambda h: landing(h, max_steps=2),
        GradError,
        r"2 steps did not reach t=0\.01",
    ),
    "several numbers": (
        lambda h: wg.odeint_event(fall, np.stack([h, h]), 0.0, lambda t, y: y),
        StateError,
        r"shape \[2\], but has to be one number",
    ),
    "touches": (
        lambda h: wg.odeint_event(
            lambda t, y: h * 0 + 1.0, h - 1, 0.0, lambda t, y: np.where(t < 1, -1.0, 0.0)
        ),
        GradError,
        "only touches zero has no derivative",
    ),
}


@pytest.mark.parametrize(("f", "error", "message"), BAD.values(), ids=BAD)
def test_bad_input_says_what_was_found_and_what_to_type(f, error, message):
    with pytest.raises(error, match=message):
        f(np.array(1.0))


def test_an_event_that_is_not_reached_is_an_error_of_compiled_code():
    compiled = wg.compile(lambda h: landing(h, end=0.5)[0])
    assert compiled(0.1) == pytest.approx(np.sqrt(0.2 / G))
    with pytest.raises(GradError, match=r"did not change its sign until t=0\.5"):
        compiled(2.0)
