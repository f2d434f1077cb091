"""det: a determinant, by expansion along the first row, and that of each minor along its own.

    det A = Σ_j (-1)^j A[0, j] det(A without row 0 and column j)

The recursion goes by rows, through all minors of a row at once: those that are left when the first
i rows are used up are as many as there are ways to take i columns one after the other, n!/(n-i)!.
"""

import math

import numpy as np

import wengert as wg
from benchmarks.gradbench.problem import InputError, Problem, Workload, generator


def minors_columns(n):
    """For each row, the columns of all minors that begin with it, in the order of the expansion."""
    columns = [np.arange(n)[None]]
    for width in range(n, 1, -1):
        others = np.array([[c for c in range(width) if c != j] for j in range(width)])
        columns.append(columns[-1][:, others].reshape(-1, width - 1))
    return columns


def determinant(A, ell, columns):
    rows = A.reshape(ell, ell)
    minors = np.ones(math.factorial(ell))
    for row, left in zip(rows[::-1], columns[::-1], strict=True):
        signs = (-1.0) ** np.arange(left.shape[1])
        minors = np.sum(signs * row[left] * np.reshape(minors, (-1, left.shape[1])), axis=1)
    return minors[0]


def prepare(A, ell):
    if A.size != ell * ell:
        raise InputError(f"field A has {A.size} numbers, and should have {ell} x {ell}")
    return A, ell, minors_columns(ell)


def workload(ell):
    return Workload(str(ell), lambda: {"A": generator().uniform(size=ell * ell), "ell": ell})


PROBLEM = Problem(
    fields={"A": "*", "ell": "size ell"},
    functions={"primal": wg.compile(determinant), "gradient": wg.compile(wg.grad(determinant))},
    derivatives=("gradient",),
    workloads=lambda data: [workload(ell) for ell in range(5, 12)],
    prepare=prepare,
    work=lambda ell, **_: math.factorial(ell),
    shown=5,  # the tables of columns for 11 rows take a gigabyte
)
