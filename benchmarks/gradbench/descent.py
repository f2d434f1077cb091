"""What particle and saddle share: the descent, as GradBench fixes it, and the two modes."""

import numpy as np

import wengert as wg


def by_forward(f):
    """The gradient of f by forward mode."""
    return wg.jacfwd(f)


def by_reverse(f):
    return wg.grad(f)


MODES = {"f": by_forward, "r": by_reverse}
NAMES = tuple(outer + inner for outer in MODES for inner in MODES)


def minimum(f, gradient, x):
    """Where steps down the gradient, whose length doubles or halves, end."""

    def goes_on(state):
        _, _, g, _, _, done = state
        return ~done & (np.sum(g * g) > 1e-10)

    def step(state):
        x, value, g, eta, successes, done = state
        tried = x - eta * g

        def doubled():
            return x, value, g, 2 * eta, 0 * successes, done

        def attempted():
            return wg.cond(np.sum((x - tried) ** 2) <= 1e-10, ended, compared)

        def ended():
            return x, value, g, eta, successes, ~done

        def compared():
            found = f(tried)
            return wg.cond(found < value, lambda: accepted(found), refused)

        def accepted(found):
            return tried, found, gradient(tried), eta, successes + 1, done

        def refused():
            return x, value, g, eta / 2, 0 * successes, done

        return wg.cond(successes == 10, doubled, attempted)

    start = (x, f(x), gradient(x), np.array(1e-5), np.array(0), np.array(False))
    return wg.while_loop(goes_on, step, start)[0]
