"""llsq: a polynomial fitted to the sign function by least squares.

f(x) = ½ Σ_i (sign(t_i) - Σ_j x_j t_i^j)²,   t_i = -1 + 2i/(n-1)
"""

import numpy as np

import wengert as wg
from benchmarks.gradbench.problem import Problem, Workload, generator


def misfit(x, n):
    t = np.linspace(-1, 1, n)
    fitted, power = 0.0, np.ones(n)
    for j in range(len(x)):
        fitted = fitted + x[j] * power
        power = power * t
    return 0.5 * np.sum((np.sign(t) - fitted) ** 2)


def workload(n, m=128):
    return Workload(f"n={n},m={m}", lambda: {"x": generator().uniform(size=m), "n": n})


PROBLEM = Problem(
    fields={"x": "m", "n": "size n"},
    functions={"primal": wg.compile(misfit), "gradient": wg.compile(wg.grad(misfit))},
    derivatives=("gradient",),
    work=lambda x, n: n * len(x),
    workloads=lambda data: [workload(n) for n in [*(2**i for i in range(4, 13)), 8196, 16392]],
)
