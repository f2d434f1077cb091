"""particle: the place of a charge is chosen so that a particle hits the floor at the origin.

Two charges, at (10, 10 - w) and (10, 0), push the particle by the gradient of their potential

    V(x) = Σ 1 / |x - charge|

while it flies in steps of Euler's method, until it is below the floor. The time of its last step is
corrected so that it ends on it; f(w) is the square of where that is, and is made small by descent.
So a derivative is taken of a loop of unknown length, in whose body there is another derivative.
"""

import numpy as np

import wengert as wg
from benchmarks.gradbench.descent import MODES, NAMES, minimum
from benchmarks.gradbench.problem import Problem, Workload

STEP = 0.1


def potential(x, w):
    to_first = np.sqrt((x[0] - 10) ** 2 + (x[1] - 10 + w) ** 2)
    to_second = np.sqrt((x[0] - 10) ** 2 + x[1] ** 2)
    return 1 / to_first + 1 / to_second


def missed(w, slope):
    """f, where the potential's derivative is taken by `slope`."""

    def move(state):
        x, _, v = state
        force = slope(lambda x: potential(x, w))(x)
        return x + STEP * v, v, v - STEP * force

    start = np.array([0.0, 8.0]), np.zeros(2), np.array([0.75, 0.0])
    x, v, _ = wg.while_loop(lambda state: state[0][1] > 0, move, start)
    return (x[0] - x[1] / v[1] * v[0]) ** 2


def solver(outer, inner):
    def solve(w):
        f = lambda w: missed(w, inner)
        return minimum(f, outer(f), w)

    return solve


SOLVERS = {name: solver(*(MODES[mode] for mode in name)) for name in NAMES}

PROBLEM = Problem(
    fields={"w": "number"},
    functions={name: wg.compile(solve) for name, solve in SOLVERS.items()},
    derivatives=NAMES,
    workloads=lambda data: [Workload("", lambda: {"w": 0.0})],
    prepare=lambda w: (np.array(w),),
)
