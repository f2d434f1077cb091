"""lse: the logarithm of a sum of exponentials, from max, exp, sum and log.

    lse(x) = a + log Σ exp(x_i - a),   a = max x

The derivative is the softmax of x.
"""

import numpy as np

import wengert as wg
from benchmarks.gradbench.problem import Problem, Workload, generator


def log_sum_exp(x):
    a = np.max(x)
    return a + np.log(np.sum(np.exp(x - a)))


PROBLEM = Problem(
    fields={"x": "n"},
    functions={"primal": wg.compile(log_sum_exp), "gradient": wg.compile(wg.grad(log_sum_exp))},
    derivatives=("gradient",),
    work=lambda x: len(x),
    workloads=lambda data: [
        Workload(f"n={n}", lambda n=n: {"x": generator().uniform(size=n)})
        for n in [2500 * 2**i for i in range(10)]
    ],
)
