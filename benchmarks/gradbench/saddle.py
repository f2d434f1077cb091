"""saddle: the best answer to an opponent who answers best, a descent within a descent.

    min over x of max over y of |x|² - |y|²

The derivative by x is that of the whole inner search.
"""

import numpy as np

import wengert as wg
from benchmarks.gradbench.descent import MODES, NAMES, minimum
from benchmarks.gradbench.problem import Problem, Workload


def f(x, y):
    return np.sum(x * x) - np.sum(y * y)


def solver(outer, inner):
    def answer(x, start, mode):
        loss = lambda y: -f(x, y)
        return minimum(loss, mode(loss), start)

    def solve(start):
        worst = lambda x: f(x, answer(x, start, inner))
        x = minimum(worst, outer(worst), start)
        return np.concatenate([x, answer(x, start, outer)])

    return solve


SOLVERS = {name: solver(*(MODES[mode] for mode in name)) for name in NAMES}

PROBLEM = Problem(
    fields={"start": "2"},
    functions={name: wg.compile(solve) for name, solve in SOLVERS.items()},
    derivatives=NAMES,
    workloads=lambda data: [Workload("", lambda: {"start": np.ones(2)})],
)
