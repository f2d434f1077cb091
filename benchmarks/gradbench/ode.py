"""ode: an ordinary differential equation by the classical method of Runge and Kutta.

    y_0' = x_0,   y_i' = x_i y_{i-1},   y(0) = 0

in s equal steps from 0 to 2, and the derivative of the last element of y(2) by x.
"""

import numpy as np

import wengert as wg
from benchmarks.gradbench.problem import Problem, Workload, generator


def solve(x, s):
    def slope(y):
        return x * np.concatenate([np.ones(1), y[:-1]])

    h = 2 / s
    y = np.zeros_like(x)
    for _ in range(s):
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h / 2 * k2)
        k4 = slope(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


def last(x, s):
    return solve(x, s)[-1]


def workload(n, s):
    return Workload(f"n={n},s={s}", lambda: {"x": generator().uniform(size=n), "s": s})


SIZES = [(n, s) for n in (1000, 10000, 100000) for s in (1, 10, 100)]

PROBLEM = Problem(
    fields={"x": "n", "s": "size s"},
    functions={"primal": wg.compile(solve), "gradient": wg.compile(wg.grad(last))},
    derivatives=("gradient",),
    work=lambda x, s: len(x) * s,
    workloads=lambda data: [
        workload(*size) for size in sorted(SIZES, key=lambda size: np.prod(size))
    ],
)
