"""Programs that live by their loops: each compiles to loops, and so does its derivative."""

import numpy as np
import pytest

import wengert as wg

draw = np.random.default_rng(0)

# ---- a recurrent network -----------------------------------------------------------------------

STEPS, UNITS = 70, 4
sequence = draw.normal(size=(STEPS, UNITS))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm(weights):
    """How well a network of two layers, whose gates lie side by side, predicts what comes next."""
    states, loss = [(np.zeros(UNITS), np.zeros(UNITS))] * 2, 0.0
    for t in range(STEPS - 1):
        x, after = sequence[t], []
        for (h, c), W in zip(states, weights, strict=True):
            gates = np.concatenate([x, h]) @ W
            i, f, o, g = (gates[k * UNITS : (k + 1) * UNITS] for k in range(4))
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            x = sigmoid(o) * np.tanh(c)
            after.append((x, c))
        states = after
        loss = loss + np.sum((x - sequence[t + 1]) ** 2)
    return loss


# ---- a filter -----------------------------------------------------------------------------------

observed = np.cumsum(draw.normal(size=100)) + draw.normal(size=100)


def kalman(logs):
    """The negative log-likelihood of a place that is seen through noise, and of its speed."""
    moved, seen = np.exp(logs)
    A, H = np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([1.0, 0.0])
    m, P, total = np.zeros(2), np.eye(2), 0.0
    for y in observed:
        m, P = A @ m, A @ P @ A.T + moved * np.eye(2)
        variance = H @ P @ H + seen
        error, gain = y - H @ m, P @ H / variance
        m, P = m + gain * error, P - np.outer(gain, H @ P)
        total = total + 0.5 * (np.log(variance) + error**2 / variance)
    return total


# ---- a ball that falls, and is reflected when it meets the floor -------------------------------


def bounced(p):
    """Where a ball is after its third contact with the floor, by steps of Runge and Kutta."""
    drag, kept = p

    def slope(z):
        return np.stack([z[1], -9.81 - drag * z[1] * np.abs(z[1])])

    def step(z, h):
        k1 = slope(z)
        k2 = slope(z + h / 2 * k1)
        k3 = slope(z + h / 2 * k2)
        return z + h / 6 * (k1 + 4 * k2 + slope(z + h * (2 * k3 - k2) + 0 * k1))

    def fly(state):
        z, t, contacts = state
        tried = step(z, 0.01)

        def meets():
            part = 0.01 * z[0] / (z[0] - tried[0])  # of the step, up to the floor
            there = step(z, part)
            return np.stack([0 * there[0], -kept * there[1]]), t + part, contacts + 1

        return wg.cond(tried[0] < 0, meets, lambda: (tried, t + 0.01, contacts))

    start = np.array([1.0, 0.0]), np.array(0.0), np.array(0)
    z, t, _ = wg.while_loop(lambda s: s[2] < 3, fly, start)
    return step(z, 0.05)[0] + t


# ---- a ray between mirrors ----------------------------------------------------------------------


def ray(p):
    """Where a ray leaves a channel that narrows, after as many reflections as it takes."""
    height, angle = p
    normals = np.array([[0.1, -1.0], [0.1, 1.0]]) / np.sqrt(1.01)

    def reflect(state):
        place, direction, n = state
        up = direction[1] > 0
        normal = wg.where(up, normals[0], normals[1])
        wall = wg.where(up, 1.0, -1.0) * np.array([0.0, 1.0])
        far = np.sum((wall - place) * normal) / np.sum(direction * normal)
        place = place + far * direction
        return place, direction - 2 * np.sum(direction * normal) * normal, n + 1

    start = np.stack([0 * height, height]), np.stack([np.cos(angle), np.sin(angle)]), np.array(0)
    inside = lambda s: (s[1][0] > 0) & (s[2] < 40)
    place, direction, _ = wg.while_loop(inside, reflect, start)
    return place[1] + direction[1]


# ---- Newton's method ----------------------------------------------------------------------------


def root(a):
    """The sum of a solution of x³ + a x = (1, 2, 3), by as many steps as that takes."""
    f = lambda x: x**3 + a * x - np.array([1.0, 2.0, 3.0])

    def step(x):
        return x - np.linalg.solve(wg.jacfwd(f)(x), f(x))

    return np.sum(wg.while_loop(lambda x: np.sum(f(x) ** 2) > 1e-22, step, np.ones(3)))


SHOWS = {
    lstm: draw.normal(size=(2, 2 * UNITS, 4 * UNITS)) * 0.3,
    kalman: np.array([-1.0, 0.5]),
    bounced: np.array([0.1, 0.8]),
    ray: np.array([0.3, 0.7]),
    root: np.array([0.5, 1.0, 2.0]),
}


@pytest.mark.parametrize("f", SHOWS, ids=lambda f: f.__name__)
def test_it_compiles_to_loops_and_is_differentiated(f):
    gradient = wg.value_and_grad(f)
    compiled = wg.compile(gradient)
    for scale in (1.0, 0.9):
        x = SHOWS[f] * scale
        (value, slope), (known, steep) = compiled(x), gradient(x)
        assert np.allclose(value, known, rtol=1e-10)
        assert np.allclose(slope, steep, rtol=1e-8, atol=1e-10)
        assert np.isfinite(slope).all()
        assert np.abs(slope).max() > 1e-3
    assert {s.name for s in compiled.program.statements} & {"repeat", "until"}
    assert len(compiled.program.statements) < 150
