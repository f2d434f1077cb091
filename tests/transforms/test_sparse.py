"""Sparse Jacobians and Hessians are the dense ones, for as many products as there are colours."""

from __future__ import annotations

import re

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import wengert as wg
from wengert.errors import ForwardModeError, GradError, PatternError
from wengert.sparse.derivatives import SparseJacobian

RANDOM = np.random.default_rng(1974)
X = RANDOM.uniform(0.5, 1.5, 12)
D = np.eye(12) - np.eye(12, k=1)


def dense(derivative, shape, *args):
    value = derivative(*args)
    return np.asarray(value.detach() if isinstance(value, wg.Tensor) else value).reshape(shape)


def same_jacobian(f, *args, **options):
    plan = wg.sparse_jacobian(f, *args, **options)
    matrix = plan(*args)
    assert isinstance(matrix, scipy.sparse.csr_array)
    np.testing.assert_allclose(
        matrix.toarray(), dense(wg.jacrev(f), plan.shape, *args), rtol=1e-12, atol=1e-12
    )
    plan.check(*args)
    return plan


def same_hessian(f, *args, **options):
    plan = wg.sparse_hessian(f, *args, **options)
    matrix = plan(*args)
    np.testing.assert_allclose(
        matrix.toarray(), dense(wg.hessian(f), plan.shape, *args), rtol=1e-10, atol=1e-10
    )
    assert (plan.pattern != plan.pattern.T).nnz == 0
    plan.check(*args)
    return plan


def filled(x):
    y = np.zeros_like(x)
    y[0] = x[0]
    y[1:-1] = x[2:] - 2 * x[1:-1] + x[:-2] + np.exp(x[1:-1])
    y[-1] += x[-1] ** 2
    return y


def pinned(x):
    y = x**2 + x[0] * x
    y[0] = np.sum(x**3)
    return y


def recurrent(x):
    y = [x[0]]
    for i in range(1, len(x)):
        y.append(np.sin(y[-1]) * x[i])
    return np.stack(y)


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


# A function, how many nonzeros there are, and how many products they take.
JACOBIANS = {
    "elementwise": (np.sin, 12, 1),
    "a stencil that fills an array": (filled, 32, 3),
    "a full row and a full column": (pinned, 34, 3),
    "a recurrence over numbers": (recurrent, 78, 12),
    "cumulative sums": (np.cumsum, 78, 12),
    "a sorted array": (lambda x: np.sort(x) ** 2, 12, 1),
    "differences": (lambda x: np.diff(x) ** 2, 22, 2),
    "a constant matrix": (lambda x: D @ np.sin(x), 23, 2),
    "a constant matrix from the right": (lambda x: np.sin(x) @ D, 23, 2),
    "a constant mask": (lambda x: np.eye(12)[3] * x, 1, 1),
    "a mask of the moment": (lambda x: (x > 1) * x, 12, 1),
    "a choice": (lambda x: np.where(x > 1, x, 2 * x), 12, 1),
    "sums of rows": (lambda x: x.reshape(3, 4).sum(0), 12, 1),
    "softmax of rows": (lambda x: wg.softmax(wg.as_tensor(x).reshape(3, 4), 1), 48, 4),
    "gathered by an index": (lambda x: x[np.array([3, 3, 0])] * x[1], 6, 2),
    "a batch of functions": (wg.vmap(lambda v: v * np.sum(v)), None, None),
    "a gradient": (wg.grad(rosenbrock), 34, 3),
    "several dimensions": (lambda x: np.outer(x[:3], x[3:6]), 18, 2),
}


@pytest.mark.parametrize("case", JACOBIANS)
def test_a_sparse_jacobian_is_the_dense_one(case):
    f, nonzeros, products = JACOBIANS[case]
    x = X.reshape(4, 3) if f is JACOBIANS["a batch of functions"][0] else X
    plan = same_jacobian(f, x)
    if nonzeros is not None:
        assert (plan.nnz, plan.colouring.products) == (nonzeros, products)


HESSIANS = {
    "a band": (rosenbrock, 34, 3),
    "an arrow": (lambda x: np.sum(x[0] * x[1:] ** 2) + np.sum(np.cos(x)), 34, 2),
    "a square": (lambda x: np.dot(x, x), 12, 1),
    "a linear function": (lambda x: np.sum(x), 0, 0),
    "a kink": (lambda x: np.sum(np.abs(x)), 0, 0),
    "all with all": (lambda x: np.log(np.sum(np.exp(x))), 144, 12),
    "a ring": (lambda x: np.sum(x**2 * np.roll(x, 1)), 36, None),
    "a quadratic form": (lambda x: x @ (D @ x), 34, 3),
}


@pytest.mark.parametrize("case", HESSIANS)
def test_a_sparse_hessian_is_the_dense_one(case):
    f, nonzeros, products = HESSIANS[case]
    plan = same_hessian(f, X)
    assert plan.nnz == nonzeros
    if products is not None:
        assert plan.colouring.products == products


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
@pytest.mark.parametrize("chunk_size", [None, 1, 2])
def test_all_modes_and_chunks_agree(mode, chunk_size):
    same_jacobian(pinned, X, mode=mode, chunk_size=chunk_size)
    same_hessian(rosenbrock, X, mode=mode, chunk_size=chunk_size)


@pytest.mark.parametrize("order", ["natural", "largest_first", "smallest_last", "incidence_degree"])
def test_all_orders_of_colouring_agree(order):
    same_jacobian(pinned, X, order=order)
    same_hessian(rosenbrock, X, order=order)


def test_tensors_come_out_as_scipy_matrices_too():
    same_jacobian(lambda x: (x.roll(1) - x).relu(), wg.tensor(X))
    same_hessian(lambda x: (x * x.roll(1)).sum(), wg.tensor(X))


def test_a_module_is_looked_through():
    convolution = wg.nn.Conv2d(1, 1, 3, padding=1).double()
    plan = same_jacobian(lambda x: convolution(x.reshape(1, 1, 5, 5)), wg.rand(25).double())
    assert (plan.nnz, plan.colouring.products) == (169, 9)


def test_containers_are_columns_and_rows_one_after_the_other():
    def f(p):
        return {"a": p["u"] * p["v"][0], "b": np.sin(p["v"])}

    point = {"u": X[:4], "v": X[4:7]}
    matrix = wg.sparse_jacobian(f, point)(point).toarray()
    expected = np.zeros((7, 7))
    expected[:4, :4] = X[4] * np.eye(4)
    expected[:4, 4] = X[:4]
    expected[4:, 4:] = np.diag(np.cos(X[4:7]))
    np.testing.assert_allclose(matrix, expected)


def test_several_arguments_are_chosen_by_argnums():
    def f(a, b):
        return a * b[::-1]

    plan = wg.sparse_jacobian(f, X, X + 1, argnums=(0, 1))
    assert plan.shape == (12, 24)
    expected = np.hstack([np.diag(X[::-1] + 1), np.diag(X)[:, ::-1]])
    np.testing.assert_allclose(plan(X, X + 1).toarray(), expected)


def test_arguments_that_stay_may_be_zero_at_first_and_change_later():
    plan = wg.sparse_jacobian(lambda x, c, d: c * x + d * x[::-1], X, np.zeros(12), 0.0)
    matrix = plan(X, np.ones(12), 2.0).toarray()
    np.testing.assert_allclose(matrix, np.eye(12) + 2 * np.eye(12)[::-1])


def test_a_plan_is_used_at_other_points_and_keeps_its_pattern():
    plan = wg.sparse_jacobian(filled, np.zeros(12))
    for x in (X, X + 1):
        matrix = plan(x)
        np.testing.assert_allclose(matrix.toarray(), wg.jacrev(filled)(x))
        np.testing.assert_array_equal(matrix.indices, plan.pattern.indices)
    matrix.data[:] = 0
    matrix.indices[:] = 0  # the caller's own, not the plan's
    np.testing.assert_allclose(plan(X).toarray(), wg.jacrev(filled)(X))


def test_a_float32_function_gives_a_float32_matrix():
    x = X.astype(np.float32)
    assert wg.sparse_jacobian(filled, x, check=True)(x).dtype == np.float32
    assert wg.sparse_hessian(rosenbrock, x, check=True)(x).dtype == np.float32


def test_the_cost_is_the_number_of_colours():
    ran = []

    def counted(x):
        ran.append(None)
        return filled(x)

    plan = wg.sparse_jacobian(counted, np.ones(1000), chunk_size=1)
    ran.clear()
    plan(np.ones(1000))
    assert len(ran) == plan.colouring.products == 3


# ---- patterns --------------------------------------------------------------------------------


def branching(x):
    return x * x[0] if x[0] > 1 else x * x[1]


def test_a_pattern_is_that_of_the_branch_taken_and_a_check_notices_another():
    high, low = np.full(5, 2.0), np.full(5, 0.5)
    plan = wg.sparse_jacobian(branching, high)
    plan.check(high)
    with pytest.raises(PatternError, match=r"does not hold at this point.*column 1 the worst"):
        plan.check(low)
    checking = wg.sparse_jacobian(branching, high, check=True)
    checking(high)
    with pytest.raises(PatternError, match=re.escape("another plan here, wengert.sparse_jacobian")):
        checking(low)
    hessian = wg.sparse_hessian(lambda x: np.sum(branching(x) ** 2), high)
    with pytest.raises(PatternError, match="does not hold"):
        hessian.check(low)


def test_the_user_s_pattern_is_taken():
    union = np.eye(5, dtype=bool)
    union[:, :2] = True
    for pattern in (union, scipy.sparse.csr_matrix(union), scipy.sparse.coo_array(union)):
        plan = wg.sparse_jacobian(branching, np.ones(5), pattern=pattern)
        for x in (np.full(5, 2.0), np.full(5, 0.5)):
            plan.check(x)
            np.testing.assert_allclose(plan(x).toarray(), wg.jacrev(branching)(x))
    upper = np.triu(np.ones((12, 12)), 0) * (np.abs(np.subtract.outer(range(12), range(12))) < 2)
    same_hessian(rosenbrock, X, pattern=upper)  # its lower half follows


def test_a_function_not_looked_into_is_named_and_right():
    plan = same_jacobian(lambda x: wg.matrix_exp(x.reshape(3, 3)) * 2, wg.tensor(X[:9]))
    assert plan.careful == ["matrix_exp"]
    assert plan.nnz == 81


def test_a_number_taken_out_as_python_s_has_no_derivative_here_either():
    same_jacobian(lambda x: x * float(x[0]) + x.detach()[1].item() * x, wg.tensor(X))


def test_an_array_that_would_lose_its_origins_is_an_error():
    def f(x):
        with wg.no_grad():
            constant = np.asarray(x)
        return x * constant[0]

    with pytest.raises(
        PatternError, match=r"(?s)a NumPy array was made of numbers.*pattern=\.\.\."
    ):
        wg.sparse_jacobian(f, wg.tensor(X))
    plan = wg.sparse_jacobian(f, wg.tensor(X), pattern=np.eye(12), mode="reverse")
    np.testing.assert_allclose(plan(wg.tensor(X)).toarray(), X[0] * np.eye(12))


def test_numbers_that_cancel_to_rounding_errors_are_no_lack_of_a_pattern():
    # The derivative is 0; a product in reverse mode adds 0.5 u - 0.5 u in another order.
    def f(x):
        means = np.stack([x[:-1], x[1:]]).mean(0)
        taken = means[np.arange(8) * 4 % 8]
        return np.roll(taken, 4) - taken

    plan = wg.sparse_jacobian(f, X[:9])
    plan.check(X[:9])
    assert not plan(X[:9]).toarray().any()


# ---- random programs -------------------------------------------------------------------------

STEPS = {
    "slice": lambda x, k: x[k % 3 :] * 1.5,
    "neighbours": lambda x, k: x[1:] * x[:-1],
    "roll": lambda x, k: np.roll(x, k) - x,
    "flip": lambda x, k: np.flip(x) * np.sin(x),
    "scaled by one": lambda x, k: x * x[k % len(x)],
    "scaled by a sum": lambda x, k: x + np.sum(x[: k % 3]),
    "windows": lambda x, k: np.stack([x[:-1], x[1:]]).mean(0),
    "take": lambda x, k: x[np.arange(len(x)) * (k + 1) % len(x)],
    "where": lambda x, k: np.where(np.arange(len(x)) % 2, x, np.tanh(x)),
    "fill": lambda x, k: put(x, k),
    "join": lambda x, k: np.concatenate([x[:2], x[k % 3 :] ** 2]),
    "maximum": lambda x, k: np.maximum(x, np.flip(x)),
}


def put(x, k):
    y = np.zeros_like(x)
    y[::2] = x[::2]
    y[k % len(x)] += x[0] * x[-1]
    return y


@given(st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 5)), max_size=5))
@settings(deadline=None, max_examples=60)
def test_sparse_derivatives_of_random_programs_are_the_dense_ones(steps):
    def f(x):
        for name, k in steps:
            x = STEPS[name](x, k)
        return x

    x = X[:9]
    same_jacobian(f, x)
    same_hessian(lambda x: np.sum(f(x) ** 2), x)


def test_the_derivative_of_a_function_without_outputs_is_a_matrix_without_rows():
    # How many cotangents there were was asked of an array without elements.
    plan = same_jacobian(lambda x: x[9:] * 1.5, X[:9])
    assert plan.shape == (0, 9)


# ---- where not everything is there -----------------------------------------------------------


class Square(wg.autograd.Function):
    """No jvp."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


def test_what_has_no_forward_derivative_is_computed_by_rows():
    x = wg.tensor(X)
    plan = same_jacobian(lambda x: Square.apply(x)[1:], x)
    assert plan.colouring.jvps == 0
    same_hessian(lambda x: (Square.apply(x) * x).sum(), x)
    with pytest.raises(ForwardModeError):
        wg.sparse_jacobian(lambda x: Square.apply(x)[1:], x, mode="forward")(x)


def test_compiled_functions_may_be_inside():
    same_jacobian(wg.compile(lambda x: np.sin(x[1:]) * x[:-1]), X)
    same_hessian(wg.compile(lambda x: np.sum(np.sin(x[1:]) * x[:-1])), X)


def test_nothing_depends_on_nothing():
    plan = wg.sparse_jacobian(lambda x: 0 * x, np.zeros(0))
    assert plan(np.zeros(0)).shape == (0, 0)
    plan = wg.sparse_jacobian(np.zeros_like, X)
    assert plan(X).nnz == plan.colouring.products == 0


# ---- bad input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: wg.sparse_jacobian(3.0, X), TypeError, "takes a function, but got float"),
        (lambda: wg.sparse_jacobian(np.sin), TypeError, r"the point to prepare for.*\(f, x\)"),
        (lambda: wg.sparse_jacobian(np.sin, np.arange(3)), GradError, "dtype int64"),
        (lambda: wg.sparse_jacobian(np.sin, X + 0j), GradError, "to be real"),
        (lambda: wg.sparse_jacobian(lambda x: None, X), GradError, "Is a `return` missing"),
        (lambda: wg.sparse_jacobian(np.sin, X, argnums=1), GradError, "argnum"),
        (lambda: wg.sparse_hessian(np.sin, X), GradError, "needs a scalar output"),
        (lambda: wg.sparse_jacobian(np.sin, X, mode="both"), ValueError, "'auto', 'forward' or"),
        (lambda: wg.sparse_jacobian(np.sin, X, order="best"), ValueError, "Choose one of natural"),
        (lambda: wg.sparse_jacobian(np.sin, X, chunk_size=0), ValueError, "greater than 0"),
        (
            lambda: wg.sparse_jacobian(np.sin, X, pattern=np.eye(3)),
            PatternError,
            r"shape \(3, 3\), but the arguments have 12",
        ),
        (
            lambda: wg.sparse_hessian(rosenbrock, X, pattern=np.ones((3, 12))),
            PatternError,
            "is square",
        ),
        (lambda: wg.sparse_jacobian(np.sin, X)(X[:3]), PatternError, "for 12 inputs.* have 3"),
        (
            lambda: wg.sparse_jacobian(np.sin, X, pattern=np.ones((3, 12)))(X),
            PatternError,
            "for 3 outputs, but sin returned 12",
        ),
        (
            lambda: wg.sparse_jacobian(np.sin, wg.tensor(X, requires_grad=True)),
            GradError,
            r"no history. Pass x\.detach\(\)",
        ),
    ],
)
def test_what_cannot_be_is_said(call, error, says):
    with pytest.raises(error, match=says):
        call()


def test_a_plan_says_what_it_costs():
    plan = wg.sparse_jacobian(filled, X)
    assert isinstance(plan, SparseJacobian)
    assert repr(plan) == (
        "<sparse Jacobian, 12 x 12, 32 nonzeros: 3 products (3 with columns) instead of 12>"
    )
