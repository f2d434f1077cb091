"""Plans of sparse matrices in compiled functions: the products and the matrix are its program."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import wengert as wg
from wengert.errors import PatternError, TracingError
from wengert.sparse.matrix import Matrix

X = np.linspace(0.5, 1.5, 9)
SCALE = 2.0


def chain(x):
    return x[1:] * x[:-1] ** 2


def scaled(x):
    return SCALE * chain(x)


def arrow(x):
    """Its Jacobian has a full row and a full column: products of both kinds."""
    return np.concatenate([x[0] * x[1:] ** 2, np.sum(x**3)[None]])


def equal(one, other):
    assert type(one) is type(other) is Matrix
    np.testing.assert_array_equal(one.indices, other.indices)
    np.testing.assert_array_equal(one.indptr, other.indptr)
    np.testing.assert_allclose(one.data, other.data, rtol=1e-13)


@pytest.mark.parametrize("f", [chain, arrow])
def test_a_compiled_plan_gives_the_same_matrix(f):
    plan = wg.sparse_jacobian(f, X)
    compiled = wg.compile(plan)
    for x in (X, X + 1, X[::-1].copy()):
        equal(compiled(x), plan(x))
    assert not compiled.retraces
    assert not any("sparse" in s.name for s in compiled.program.statements)


def test_a_compiled_plan_of_a_hessian_gives_the_same_matrix():
    plan = wg.sparse_hessian(lambda x: np.sum(chain(x)), X)
    compiled = wg.compile(plan)
    for x in (X, X + 1):
        equal(compiled(x), plan(x))


def test_several_arguments_and_tensors():
    f = lambda x, y: x * np.sin(y)
    plan = wg.sparse_jacobian(f, X, X, argnums=(0, 1))
    compiled = wg.compile(lambda x, y: {"matrix": plan(x, y), "twice": x * 2})
    equal(compiled(X, X + 1)["matrix"], plan(X, X + 1))
    x = wg.tensor(X)
    equal(wg.compile(plan)(x, x), plan(x, x))


def test_products_with_the_matrix_are_part_of_the_program():
    plan = wg.sparse_jacobian(chain, X)

    def step(x, v):
        J = plan(x)
        r = chain(x)
        return J @ v, J.T @ r, J @ np.stack([v, x], axis=1), J.dot(v), J.toarray(), J.data

    compiled = wg.compile(step)
    for x in (X, X + 1):
        for mine, known in zip(compiled(x, X), step(x, X), strict=True):
            np.testing.assert_allclose(mine, known, rtol=1e-13)
    assert not any(callable(getattr(s, "python", None)) for s in compiled.program.statements)


def test_what_the_function_reads_is_read_at_each_call(monkeypatch):
    plan = wg.sparse_jacobian(scaled, X)
    compiled = wg.compile(lambda x: plan(x))
    equal(compiled(X), plan(X))
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    equal(compiled(X), plan(X))
    assert compiled(X).data[0] == pytest.approx(5 * 2 * X[0] * X[1])


def test_each_call_has_a_pattern_of_its_own():
    # SciPy writes into a matrix: the plan's pattern was lost, and with it all later matrices.
    plan = wg.sparse_jacobian(chain, X)
    compiled = wg.compile(plan)
    for f in (plan, compiled):
        at_zero = f(np.zeros_like(X))
        at_zero.eliminate_zeros()
        assert at_zero.nnz == 0
        assert f(X).nnz == plan.nnz


def test_an_empty_matrix():
    plan = wg.sparse_jacobian(lambda x: 0 * x[:3] + 1.0, X)
    assert wg.compile(plan)(X).shape == (3, 9)


def test_the_matrix_is_scipys_and_a_container_of_its_entries():
    J = wg.sparse_jacobian(chain, X)(X)
    assert isinstance(J, csr_array)
    doubled = wg.tree.map(lambda data: 2 * data, J)
    equal(doubled, wg.sparse_jacobian(lambda x: 2 * chain(x), X)(X))
    assert isinstance(J.T @ J, csr_array) or (J.T @ J).format == "csc"
    assert isinstance(J @ np.ones(9), np.ndarray)
    total = wg.compile(lambda J, v: J @ v)(J, X)
    np.testing.assert_allclose(total, J @ X)


def test_a_plan_is_made_before():
    inside = lambda x: wg.sparse_jacobian(chain, x)(x).data
    with pytest.warns(UserWarning, match="runs eagerly.*Make the plan before, plan ="):
        np.testing.assert_allclose(wg.compile(inside)(X), inside(X))
    with pytest.raises(PatternError, match="there are none yet"):
        wg.vmap(inside)(X[None])


def test_a_pattern_that_is_given_needs_no_numbers():
    pattern = wg.sparse_jacobian(chain, X).pattern
    compiled = wg.compile(lambda x: wg.sparse_jacobian(chain, x, pattern=pattern)(x).data)
    np.testing.assert_allclose(compiled(X), wg.sparse_jacobian(chain, X)(X).data)


def test_what_scipy_does_with_numbers_is_refused():
    plan = wg.sparse_jacobian(chain, X)
    with pytest.raises(TracingError):
        wg.compile(lambda x: (plan(x) * 2).data)(X)


def test_a_product_that_does_not_fit_says_so():
    plan = wg.sparse_jacobian(chain, X)
    with pytest.raises(ValueError, match="dimension"):
        wg.compile(lambda x: plan(x) @ x[:3])(X)
