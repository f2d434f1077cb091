"""Sparse Jacobians and Hessians: beside NumPy by hand, and beside dense ones where those are small.

Each evaluates a plan that was prepared before; what preparing costs has a section of its own.
By hand, the derivatives are written down by someone who knows them, and only their numbers are
computed: nobody can do less.
"""

from functools import cache, partial

import numpy as np

from benchmarks.peers import load
from benchmarks.report import Report
from benchmarks.running import chosen, run_cases
from benchmarks.timing import Case, Target

PEERS = ("wengert", "PyTorch", "JAX", "NumPy")
LEGEND = "NumPy computes the nonzeros by hand; PyTorch and JAX (compiled) whole Jacobians, dense."

LARGE = 100_000
DENSE = 1_000
SIDE = 300
EVALUATE, GROW, PREPARE = (
    "A sparse matrix of derivatives, prepared before",
    "The same for more and more columns: three colours each",
    "Preparing: the pattern and the colours",
)
BESIDE = f"A Jacobian of {DENSE:,} columns, beside a dense one"


# ---- the functions, and their derivatives by hand --------------------------------------------


def tridiagonal(x):
    """A reaction and a diffusion; the ends stay where they are."""
    y = np.zeros_like(x)
    y[0], y[-1] = x[0], x[-1]
    y[1:-1] = x[2:] - 2 * x[1:-1] + x[:-2] + np.exp(x[1:-1])
    return y


def tridiagonal_by_hand(x):
    values = np.ones((len(x) - 2, 3))
    values[:, 1] = np.exp(x[1:-1]) - 2
    return np.concatenate([[1.0], values.reshape(-1), [1.0]])


def bratu(u):
    """Bratu's equation, u_xx + u_yy + e^u = 0, on a square whose border is 0."""
    wide = np.zeros_like(u, shape=(u.shape[0] + 2, u.shape[1] + 2))
    wide[1:-1, 1:-1] = u
    around = wide[2:, 1:-1] + wide[:-2, 1:-1] + wide[1:-1, 2:] + wide[1:-1, :-2]
    return around - 4 * u + np.exp(u)


@cache
def bratu_diagonal(side):
    """Where the diagonal stands among the nonzeros, and how many there are."""
    there = np.ones((side, side), int)
    before = np.zeros_like(there)
    before[1:] += there[1:]
    before[:, 1:] += there[:, 1:]
    after = np.flip(before)
    ends = np.cumsum((1 + before + after).reshape(-1))
    return ends - 1 - after.reshape(-1), ends[-1]


def bratu_by_hand(u):
    diagonal, count = bratu_diagonal(len(u))
    values = np.ones(count)
    values[diagonal] = np.exp(u).reshape(-1) - 4
    return values


def arrow(x):
    """The first variable meets all others: the matrix of second derivatives is an arrowhead."""
    return np.sum(x[0] * x[1:] ** 2) + np.sum(np.cos(x))


def arrow_by_hand(x):
    rest = np.stack([2 * x[1:], 2 * x[0] - np.cos(x[1:])], axis=-1)
    return np.concatenate([-np.cos(x[:1]), 2 * x[1:], rest.reshape(-1)])


# ---- cases -----------------------------------------------------------------------------------


def point(n):
    return np.random.default_rng(0).uniform(0.5, 1.5, n)


@cache
def plan(prepare, f, shape):
    return prepare(f, point(shape))


def evaluated(prepare, f, shape):
    """The nonzeros, row by row."""
    matrix, x = plan(prepare, f, shape), point(shape)
    return lambda: matrix(x).data


def by_hand(f, shape):
    x = point(shape)
    return lambda: f(x)


def sparse_case(modules, section, name, method, f, hand, shape, size=None):
    entrants = {}
    if "wengert" in modules:
        entrants["wengert"] = partial(evaluated, getattr(modules["wengert"], method), f, shape)
    if "NumPy" in modules:
        entrants["NumPy"] = partial(by_hand, hand, shape)
    return Case(section, name, entrants, size=size)


def wengert_dense(wg):
    matrix, x = plan(wg.sparse_jacobian, tridiagonal, DENSE), point(DENSE)
    return lambda: matrix(x).toarray()


def torch_dense(torch):
    def f(x):
        inside = x[2:] - 2 * x[1:-1] + x[:-2] + torch.exp(x[1:-1])
        return torch.cat([x[:1], inside, x[-1:]])

    x = torch.from_numpy(point(DENSE))
    jacobian = torch.func.jacrev(f)
    return lambda: jacobian(x)


def jax_dense(jax):
    jax.config.update("jax_enable_x64", True)

    def f(x):
        inside = x[2:] - 2 * x[1:-1] + x[:-2] + jax.numpy.exp(x[1:-1])
        return jax.numpy.concatenate([x[:1], inside, x[-1:]])

    x = jax.numpy.asarray(point(DENSE))
    jacobian = jax.jit(jax.jacrev(f))
    return lambda: jacobian(x).block_until_ready()


def dense_case(modules):
    makers = {"wengert": wengert_dense, "PyTorch": torch_dense, "JAX": jax_dense}
    entrants = {k: partial(make, modules[k]) for k, make in makers.items() if k in modules}
    return Case(BESIDE, "tridiagonal", entrants, targets=(Target("PyTorch", 0.2),))


def preparing(prepare, f, shape):
    x = point(shape)
    return lambda: prepare(f, x).nnz


def preparing_case(modules, name, method, f, shape):
    entrants = {}
    if "wengert" in modules:
        entrants["wengert"] = partial(preparing, getattr(modules["wengert"], method), f, shape)
    return Case(PREPARE, name, entrants)


PROBLEMS = {
    f"tridiagonal Jacobian, n = {LARGE:,}": (
        "sparse_jacobian", tridiagonal, tridiagonal_by_hand, LARGE,
    ),
    f"Bratu's residual, {SIDE} x {SIDE}": (
        "sparse_jacobian", bratu, bratu_by_hand, (SIDE, SIDE),
    ),
    f"arrowhead Hessian, n = {LARGE:,}": ("sparse_hessian", arrow, arrow_by_hand, LARGE),
}  # fmt: skip


def cases(modules):
    for name, problem in PROBLEMS.items():
        yield sparse_case(modules, EVALUATE, name, *problem)
    for n in (1_000, 10_000, 100_000):
        problem = "sparse_jacobian", tridiagonal, tridiagonal_by_hand, n
        yield sparse_case(modules, GROW, f"tridiagonal Jacobian, n = {n:,}", *problem, size=n)
    yield dense_case(modules)
    for name, (method, f, _, shape) in PROBLEMS.items():
        yield preparing_case(modules, name, method, f, shape)


def run(peers, quick: bool, only) -> Report:
    """Check that the peers agree, then time them."""
    modules, missing = load(peers)
    report = Report("sparse", list(modules), missing, quick, LEGEND)
    run_cases([case for case in cases(modules) if chosen(case.section, case.name, only)], report)
    return report
