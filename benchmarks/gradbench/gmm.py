"""gmm: the posterior density of a mixture of Gaussian distributions, as its logarithm.

    Σ_i log Σ_c exp(α_c + Σ_j q_cj - ½ |Q_c (x_i - μ_c)|²) - n (d/2 log 2π + log Σ_c exp α_c)
    + the logarithm of a Wishart prior of the Q_c

Q_c is a lower triangle: exp(q_c) on its diagonal, and l_c below, column after column.
"""

import numpy as np
from scipy.special import multigammaln

import wengert as wg
from benchmarks.gradbench.problem import InputError, Problem, Workload, generator, nested


def triangles(q, l):
    d = q.shape[1]
    Q = np.zeros_like(q, shape=(*q.shape, d))
    diagonal = np.arange(d)
    columns, rows = np.triu_indices(d, 1)
    Q[:, diagonal, diagonal] = np.exp(q)
    Q[:, rows, columns] = l
    return Q


def log_sum_exp(x, axis):
    a = np.max(x, axis=axis, keepdims=True)
    return np.squeeze(a, axis) + np.log(np.sum(np.exp(x - a), axis=axis))


def log_posterior(alpha, mu, q, l, x, m, gamma):
    n, d = x.shape
    apart = (x - mu[:, None]) @ triangles(q, l).swapaxes(1, 2)  # Q (x - μ): (k, n, d)
    terms = (alpha + np.sum(q, axis=1))[:, None] - 0.5 * np.sum(apart**2, axis=2)
    likelihood = np.sum(log_sum_exp(terms, axis=0)) - n * log_sum_exp(alpha, axis=0)
    return likelihood - n * d / 2 * np.log(2 * np.pi) + log_wishart(q, l, m, gamma)


def log_wishart(q, l, m, gamma):
    k, d = q.shape
    nu = d + m + 1
    constant = nu * d * np.log(gamma / np.sqrt(2)) - multigammaln(nu / 2, d)
    squares = np.sum(np.exp(q) ** 2) + np.sum(l**2)
    return k * constant + m * np.sum(q) - gamma**2 / 2 * squares


def gradient(*arguments):
    return wg.grad(log_posterior, argnums=(0, 1, 2, 3))(*arguments)


def prepare(d, k, n, alpha, mu, q, l, x, m, gamma):
    if l.shape[1] != d * (d - 1) // 2:
        raise InputError(f"field l has rows of {l.shape[1]}, and should have {d * (d - 1) // 2}")
    return alpha, mu, q, l, x, m, gamma


def workload(d, k, n=1000):
    def fields():
        draw = generator()
        return {
            "d": d,
            "k": k,
            "n": n,
            "x": draw.normal(size=(n, d)),
            "m": 0,
            "gamma": 1.0,
            "alpha": draw.normal(size=k),
            "mu": draw.uniform(size=(k, d)),
            "q": draw.normal(size=(k, d)),
            "l": draw.normal(size=(k, d * (d - 1) // 2)),
        }

    return Workload(f"{d}_{k}_{n}", fields)


SIZES = [(d, k) for d in (2, 10, 20, 32, 64) for k in (5, 10, 25, 50, 100)]

PROBLEM = Problem(
    fields={
        "d": "size d",
        "k": "size k",
        "n": "size n",
        "alpha": "k",
        "mu": "k d",
        "q": "k d",
        "l": "k *",
        "x": "n d",
        "m": "integer",
        "gamma": "number",
    },
    functions={"objective": wg.compile(log_posterior), "jacobian": wg.compile(gradient)},
    derivatives=("jacobian",),
    workloads=lambda data: [workload(*size) for size in sorted(SIZES, key=np.prod)],
    prepare=prepare,
    work=lambda n, k, d, **_: n * k * d * d,
    answer=lambda function, result: (
        nested(dict(zip(("alpha", "mu", "q", "l"), result, strict=True)))
        if function == "jacobian"
        else nested(result)
    ),
)
