"""kmeans: the step of Newton's method for the centres of clusters.

    cost(c) = Σ_i min_j |p_i - c_j|²

The Hessian H is diagonal, so H times the vector of ones is its diagonal, and the direction is the
gradient divided by it, element by element.
"""

import numpy as np

import wengert as wg
from benchmarks.gradbench.problem import Problem, Workload, generator


def cost(points, centroids):
    distances = np.sum((points[:, None] - centroids) ** 2, axis=-1)
    return np.sum(np.min(distances, axis=1))


def direction(points, centroids):
    gradient = wg.grad(lambda c: cost(points, c))
    g, h = wg.jvp(gradient, (centroids,), (np.ones_like(centroids),))
    return g / h


def workload(k, n, d):
    def fields():
        points = generator().uniform(size=(n, d))
        return {"points": points, "centroids": points[-k:]}

    return Workload(f"k={k},n={n},d={d}", fields)


SIZES = [(k, n, d) for k in (10, 100, 1000) for n in (1000, 10000) for d in (8, 16)]

PROBLEM = Problem(
    fields={"points": "n d", "centroids": "k d"},
    functions={"cost": wg.compile(cost), "dir": wg.compile(direction)},
    derivatives=("dir",),
    work=lambda points, centroids: points.size * len(centroids),
    workloads=lambda data: [
        workload(*size) for size in sorted(SIZES, key=lambda size: np.prod(size))
    ],
)
