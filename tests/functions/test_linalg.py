"""Linear algebra: singular points, phases, NumPy's names, batches, compiled functions."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

import wengert as wg
from wengert.errors import GradError, MissingRuleError

RNG = np.random.default_rng(17)
A = RNG.normal(size=(3, 3)) + 2 * np.eye(3)
T = RNG.normal(size=(4, 3))
B = RNG.normal(size=(3, 2))
P = T.T @ T + np.diag([1.0, 2.0, 3.0])
Z = RNG.normal(size=(4, 3)) + 1j * RNG.normal(size=(4, 3))
RANK_2 = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.5], [1.0, 2.0, 3.5]])
RANK_1 = np.outer([1.0, 2.0, 3.0], [1.0, -1.0, 2.0])


def slope(f, x, t, h=1e-5):
    """df along t, by a central difference."""
    return (f(x + h * t) - f(x - h * t)) / (2 * h)


def gradient(f, x):
    leaf = wg.tensor(x, requires_grad=True)
    f(leaf).backward()
    return leaf.grad.numpy()


def agrees_with_difference_quotient(f, x, hermitian=False, tolerance=1e-6):
    """The gradient of a real function, against the function itself along a random direction."""
    t = RNG.normal(size=x.shape)
    if x.dtype.kind == "c":
        t = t + 1j * RNG.normal(size=x.shape)
    if hermitian:
        t = t + np.conj(t.T)
    found = np.sum(np.conj(gradient(f, x)) * t).real
    expected = slope(lambda y: f(wg.tensor(y)).item(), x, t)
    assert found == pytest.approx(expected, rel=tolerance, abs=tolerance)


# ---- determinants at singular matrices ---------------------------------------------------------


@pytest.mark.parametrize("x", [A, RANK_2, RANK_1, np.zeros((3, 3)), Z[:3]], ids=str)
def test_first_and_second_derivatives_of_det_are_right_at_singular_matrices(x):
    def f(y):
        d = wg.linalg.det(y)
        return d.real if d.is_complex() else d

    agrees_with_difference_quotient(f, x)
    w = wg.tensor(RNG.normal(size=x.shape))

    def directional(y):
        leaf = y if y.requires_grad else y.clone().requires_grad_()
        (g,) = wg.autograd.grad(f(leaf), leaf, create_graph=True)
        return ((g.real if g.is_complex() else g) * w).sum()

    agrees_with_difference_quotient(directional, x)


def test_gradient_of_det_of_rank_n_minus_2_is_zero():
    np.testing.assert_allclose(gradient(wg.linalg.det, RANK_1), 0, atol=1e-13)


def test_slogdet_of_a_singular_matrix_is_minus_infinity():
    sign, size = wg.linalg.slogdet(wg.tensor([[1.0, 2.0], [2.0, 4.0]]))
    assert (sign.item(), size.item()) == (0.0, -inf)


# ---- gauge -------------------------------------------------------------------------------------


def test_gradients_through_complex_singular_vectors_are_right_where_the_phase_cancels():
    w = wg.tensor(RNG.normal(size=(4, 3)))

    def f(x):
        u, s, vh = wg.linalg.svd(x, full_matrices=False)
        return ((u * s.log()) @ vh).real.mul(w).sum() + u.abs().pow(3).sum() + vh[0].abs().sum()

    agrees_with_difference_quotient(f, Z)
    agrees_with_difference_quotient(lambda x: f(x.mH.mT.conj().conj()), Z)


def test_gradients_through_complex_wide_singular_vectors_are_right():
    w = wg.tensor(RNG.normal(size=(3, 4)))

    def f(x):
        u, s, vh = wg.linalg.svd(x, full_matrices=False)
        return ((u * s.log()) @ vh).imag.mul(w).sum() + vh.abs().pow(3).sum()

    agrees_with_difference_quotient(f, Z.T.copy())


def test_gradients_through_complex_hermitian_eigenvectors_are_right():
    h = Z.conj().T @ Z + np.diag([0.0, 1.0, 2.0])
    w = wg.tensor(RNG.normal(size=(3, 3)))

    def f(x):
        values, vectors = wg.linalg.eigh(x)
        return ((vectors * values.log()) @ vectors.mH).real.mul(w).sum() + vectors.abs().pow(
            3
        ).sum()

    agrees_with_difference_quotient(f, h, hermitian=True)


def test_gradients_through_complex_eigenvectors_are_right():
    w = wg.tensor(RNG.normal(size=3))

    def f(x):
        values, vectors = wg.linalg.eig(x)
        order = values.real.argsort()
        return (vectors.abs()[:, order].pow(3) * w).sum() + values.abs().pow(2).sum()

    agrees_with_difference_quotient(f, Z[:3])
    agrees_with_difference_quotient(f, A)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda x: wg.linalg.svd(x)[0], "svd"),
        (lambda x: wg.linalg.eigh(x @ x.mH)[1], "linalg_eigh"),
        (lambda x: wg.linalg.eig(x)[1], "linalg_eig"),
    ],
)
def test_a_loss_that_depends_on_the_phase_of_vectors_is_refused(call, name):
    x = wg.tensor(Z[:3], requires_grad=True)
    with pytest.raises(GradError, match=f"{name}_backward: .*e\\^{{i phi}}.*ill-defined"):
        call(x).real.sum().backward()
    with pytest.raises(GradError, match="ill-defined"):
        wg.autograd.grad(call(x).real.sum(), x, create_graph=True)


# ---- repeated values ---------------------------------------------------------------------------


def test_eigenvalues_that_are_equal_have_gradients_where_the_function_does():
    # Vectors of equal values are arbitrary; a function of the values that treats them alike is not.
    np.testing.assert_allclose(
        gradient(lambda x: wg.linalg.eigvalsh(x).sum(), np.eye(3)), np.eye(3)
    )
    values_only = gradient(lambda x: wg.linalg.eigh(x)[0].pow(2).sum(), np.eye(3))
    np.testing.assert_allclose(values_only, 2 * np.eye(3))
    np.testing.assert_allclose(gradient(lambda x: wg.linalg.svd(x)[1].sum(), np.eye(3)), np.eye(3))


def test_vectors_of_equal_values_have_no_finite_derivative():
    with np.errstate(all="ignore"):
        g = gradient(lambda x: wg.linalg.eigh(x)[1][0, 1], np.eye(2))
    assert not np.isfinite(g).all()


# ---- singular, indefinite ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: np.linalg.inv(x), "linalg.inv: Singular matrix.*lstsq"),
        (lambda x: wg.linalg.solve(x, x[0]), "linalg.solve: Singular matrix"),
        (lambda x: wg.linalg.cholesky(x - 1), "positive-definite.*symmetric"),
        (lambda x: wg.linalg.svd(x * np.nan), "svd: SVD did not converge.*isfinite"),
    ],
)
@pytest.mark.parametrize("form", [lambda f: f, wg.compile], ids=["eager", "compiled"])
def test_errors_about_matrices_say_what_to_do(call, words, form):
    # Compiled code raised those of NumPy, which are no errors of wengert's.
    call = form(call)
    with pytest.raises(wg.linalg.LinAlgError, match=words):
        call(wg.zeros(2, 2))
    with pytest.raises(np.linalg.LinAlgError):  # one of NumPy's, for code written for it
        call(wg.zeros(2, 2))


def test_codes_instead_of_errors_tell_which_matrix_of_a_batch_is_singular():
    batch = wg.tensor([[[2.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]], requires_grad=True)
    inverse, info = wg.linalg.inv_ex(batch)
    assert info.tolist() == [0, 2]
    assert info.dtype == wg.int32
    inverse[0].sum().backward()
    np.testing.assert_allclose(batch.grad[0].numpy(), [[-0.25, -0.5], [-0.5, -1.0]])
    np.testing.assert_allclose(inverse[0].detach(), [[0.5, 0], [0, 1]])
    factor, info = wg.linalg.cholesky_ex(wg.tensor([[[1.0, 0], [0, 1]], [[1.0, 2], [2, 1]]]))
    assert info.tolist() == [0, 2]
    assert factor[0].tolist() == [[1, 0], [0, 1]]
    assert factor[1].isnan().any()
    solution, info = wg.linalg.solve_ex(wg.zeros(2, 2), wg.ones(2))
    assert info.item() == 1
    assert not solution.isfinite().any()


INDEFINITE = P - 40 * np.diag([0.0, 1.0, 0.0])
SINGULAR = np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 0.0]) + np.diag([0.0, 0.0, 1.0])
CODED = {
    "inv": lambda a, b, **how: wg.linalg.inv_ex(a, **how),
    "solve": lambda a, b, **how: wg.linalg.solve_ex(a, b, **how),
    "solve vectors": lambda a, b, **how: wg.linalg.solve_ex(a, b[..., 0], **how),
    "solve from the right": lambda a, b, **how: wg.linalg.solve_ex(a, b.mT, left=False, **how),
    "cholesky": lambda a, b, **how: wg.linalg.cholesky_ex(a, **how),
    "upper cholesky": lambda a, b, **how: wg.linalg.cholesky_ex(a, upper=True, **how),
    "lu": lambda a, b, **how: wg.linalg.lu_factor_ex(a, **how),
    "ldl": lambda a, b, **how: wg.linalg.ldl_factor_ex(a, **how),
    "ldl solved": lambda a, b, **how: [wg.linalg.ldl_solve(*wg.linalg.ldl_factor(a), b)],
    "cond": lambda a, b, **how: [wg.linalg.cond(a, 1)],
}


@pytest.mark.parametrize("name", CODED)
@pytest.mark.filterwarnings("ignore")
def test_codes_are_computed_with_what_they_are_about(name):
    # Compiled and under vmap all codes were 0, and a singular matrix raised.
    def outcome(function, a, b, **how):
        try:
            return [x.numpy() for x in function(wg.tensor(a), wg.tensor(b), **how)]
        except (wg.linalg.LinAlgError, IndexError) as error:
            return str(error)

    each = np.stack([P, np.zeros((3, 3)), A, INDEFINITE, SINGULAR])
    b = RNG.normal(size=(5, 3, 2))
    call = CODED[name]
    for matrices, right in ((each, b), (each[:1], b[:1]), (each[:, :0, :0], b[:, :0]), (P, b[0])):
        expected = outcome(call, matrices, right)
        found = [outcome(wg.compile(call), matrices, right)]
        found += [outcome(wg.vmap(call), matrices, right)] if matrices.ndim > 2 else []
        for one in found:
            if isinstance(expected, str):
                assert one == expected
                continue
            for x, y in zip(one, expected, strict=True):
                assert x.dtype == y.dtype
                np.testing.assert_allclose(x, y, atol=1e-12)
    errors = [outcome(f, each, b, check_errors=True) for f in (call, wg.compile(call))]
    assert str(errors[0]) == str(errors[1])


def test_a_zero_on_the_diagonal_of_a_triangle_gives_infinity_and_no_error():
    for batch in ((), (50,)):  # the two ways in which they are solved
        a = wg.ones(*batch, 2, 2).triu() * wg.tensor([1.0, 0.0])
        x = wg.linalg.solve_triangular(a + 0 * a.tril(), wg.ones(*batch, 2, 1), upper=True)
        assert x[..., 1, 0].isinf().all()


def test_many_small_triangles_are_solved_as_few_are():
    a = wg.tensor(RNG.normal(size=(40, 3, 3)) + 3 * np.eye(3))
    b = wg.tensor(RNG.normal(size=(40, 3, 2)))
    for upper in (True, False):
        for unit in (True, False):
            together = wg.linalg.solve_triangular(a, b, upper=upper, unitriangular=unit)
            each = [
                wg.linalg.solve_triangular(x, y, upper=upper, unitriangular=unit)
                for x, y in zip(a, b, strict=True)
            ]
            np.testing.assert_allclose(together, wg.stack(each), rtol=1e-12, atol=1e-12)


def test_constants_among_the_factorisations_refuse_to_be_differentiated():
    x = wg.tensor(P, requires_grad=True)
    for call in (wg.geqrf, wg.linalg.ldl_factor):
        with pytest.raises(MissingRuleError, match=r"not implemented.*detach"):
            call(x)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_large_matrices_take_another_way_to_the_same_numbers(dtype):
    a = RNG.normal(size=(70, 70)) + 1j * RNG.normal(size=(70, 70)) + 9 * np.eye(70)
    a = (a if dtype.startswith("complex") else a.real).astype(dtype)
    x, tolerance = wg.tensor(a), 1e-3 if dtype in ("float32", "complex64") else 1e-11
    for b in (a[:, :3], a[0]):
        found = wg.linalg.solve(x, wg.tensor(b.copy()))
        assert found.dtype == a.dtype
        np.testing.assert_allclose(found, np.linalg.solve(a, b), rtol=tolerance, atol=tolerance)
    inverse = wg.linalg.inv(x)
    assert inverse.dtype == a.dtype
    np.testing.assert_allclose(inverse, np.linalg.inv(a), rtol=tolerance, atol=tolerance)
    for call in (wg.linalg.inv, lambda x: wg.linalg.solve(x, x)):
        with pytest.raises(wg.linalg.LinAlgError, match="Singular"):
            call(wg.zeros_like(x))


# ---- empty matrices ----------------------------------------------------------------------------


def test_empty_matrices_and_batches():
    none = wg.zeros(0, 0, dtype=wg.float64, requires_grad=True)
    assert wg.linalg.det(none).item() == 1
    assert wg.linalg.slogdet(none).logabsdet.item() == 0
    for call in (wg.linalg.inv, wg.linalg.cholesky, wg.linalg.pinv, wg.linalg.matrix_exp):
        assert call(none).shape == (0, 0)
    batch = wg.zeros(0, 3, 3, requires_grad=True)
    for call in (
        wg.linalg.inv, wg.linalg.det, wg.linalg.eigvalsh, wg.linalg.svdvals, wg.linalg.cholesky,
        wg.linalg.matrix_exp, lambda x: wg.linalg.lu(x).L, lambda x: wg.linalg.qr(x).R,
        lambda x: wg.linalg.solve(x, wg.zeros(3)), lambda x: wg.linalg.matrix_norm(x, 2),
        lambda x: wg.linalg.lstsq(x, wg.zeros(0, 3, 1)).solution,
    ):  # fmt: skip
        y = call(batch)
        assert y.shape[0] == 0
        (g,) = wg.autograd.grad(y.sum(), batch)
        assert g.shape == batch.shape


# ---- NumPy's names -----------------------------------------------------------------------------

NUMPY = {
    "inv": (np.linalg.inv, A),
    "solve": (lambda x: np.linalg.solve(x, B), A),
    "solve for an array": (lambda x: np.linalg.solve(A, x), B),
    "det": (np.linalg.det, A),
    "slogdet": (lambda x: np.linalg.slogdet(x).logabsdet, A),
    "cholesky": (np.linalg.cholesky, P),
    "cholesky upper": (lambda x: np.linalg.cholesky(x, upper=True), P),
    "qr": (lambda x: np.linalg.qr(x).Q, T),
    "qr r": (lambda x: np.linalg.qr(x, "r"), T),
    "eigh": (lambda x: np.linalg.eigh(x).eigenvalues, P),
    "eigh U": (lambda x: np.linalg.eigh(x, "U").eigenvectors, P),
    "eigvalsh": (np.linalg.eigvalsh, P),
    "eig": (lambda x: np.linalg.eig(x).eigenvalues, P),
    "eigvals": (np.linalg.eigvals, P),
    "svd": (lambda x: np.linalg.svd(x, full_matrices=False).Vh, T),
    "svd values": (lambda x: np.linalg.svd(x, compute_uv=False), T),
    "svdvals": (np.linalg.svdvals, T),
    "pinv": (np.linalg.pinv, T),
    "pinv rtol": (lambda x: np.linalg.pinv(x, rtol=1e-3), T),
    "lstsq": (lambda x: np.linalg.lstsq(x, T[:, :2])[0], T + 1),
    "lstsq residuals": (lambda x: np.linalg.lstsq(x, T[:, 0], rcond=None)[1], T + 1),
    "lstsq singular values": (lambda x: np.linalg.lstsq(x, T[:, 0])[3], T + 1),
    "norm": (np.linalg.norm, A),
    "norm 3": (lambda x: np.linalg.norm(x, 3, axis=1), A),
    "norm nuc": (lambda x: np.linalg.norm(x, "nuc"), A),
    "norm -1": (lambda x: np.linalg.norm(x, -1, (0, 1), keepdims=True), A),
    "norm 0": (lambda x: np.linalg.norm(x[0], 0), A),
    "vector_norm": (lambda x: np.linalg.vector_norm(x, axis=0, ord=1), A),
    "matrix_norm": (lambda x: np.linalg.matrix_norm(x, ord=2), A),
    "matrix_power": (lambda x: np.linalg.matrix_power(x, -3), A),
    "matrix_rank": (np.linalg.matrix_rank, RANK_2),
    "cond": (np.linalg.cond, A),
    "multi_dot": (lambda x: np.linalg.multi_dot([x, A, B]), A),
    "cross": (lambda x: np.cross(x, A), A[0]),
    "cross axis": (lambda x: np.cross(x, A.T, axisa=0, axisc=0), A),
    "linalg.cross": (lambda x: np.linalg.cross(x, A), A),
    "trace": (lambda x: np.linalg.trace(x, offset=1), A),
    "diagonal": (lambda x: np.linalg.diagonal(x), A),
    "outer": (lambda x: np.linalg.outer(x[0], A[1]), A),
    "matrix_transpose": (np.linalg.matrix_transpose, T),
    "matmul": (lambda x: np.linalg.matmul(x, T.T), T),
    "tensordot": (lambda x: np.linalg.tensordot(x, T, axes=((0,), (0,))), T),
    "linalg.vecdot": (lambda x: np.linalg.vecdot(x, T), T),
    "vecdot": (lambda x: np.vecdot(x, T, axis=0), T),
    "matvec": (lambda x: np.matvec(x, A[0]), T),
    "vecmat": (lambda x: np.vecmat(A[0], x), T.T.copy()),
    "tensorsolve": (
        lambda x: np.linalg.tensorsolve(x, A[:2], axes=(0,)),
        RNG.normal(size=(6, 2, 3)),
    ),
    "tensorinv": (lambda x: np.linalg.tensorinv(x, 1), RNG.normal(size=(6, 2, 3))),
}


@pytest.mark.parametrize("name", NUMPY)
def test_numpys_functions_give_numpys_results_and_their_derivatives(name):
    call, x = NUMPY[name]
    expected = np.asarray(call(x))
    leaf = wg.tensor(x, requires_grad=True)
    y = call(leaf)
    assert isinstance(y, wg.Tensor)
    assert y.dtype == expected.dtype
    np.testing.assert_allclose(y.detach(), expected, rtol=1e-9, atol=1e-12)
    if y.requires_grad:
        w = RNG.normal(size=expected.shape)
        t = RNG.normal(size=x.shape)
        if name.startswith(("eigh", "eigvalsh", "cholesky")):
            t = t + t.T
        (g,) = wg.autograd.grad((y * w).sum(), leaf)
        quotient = slope(lambda z: np.sum(w * call(z)), x, t)
        assert np.sum(g.numpy() * t) == pytest.approx(quotient, rel=1e-5, abs=1e-7)


def test_integers_become_double_as_in_numpy():
    x = wg.tensor([[3, 4], [0, 5]])
    assert np.linalg.norm(x).dtype == wg.float64
    assert np.linalg.cond(x).dtype == wg.float64


# ---- products and powers -----------------------------------------------------------------------


def test_a_chain_of_products_takes_the_cheapest_order():
    shapes = [(10, 100), (100, 5), (5, 50)]
    factors = [wg.randn(*shape, dtype=wg.float64) for shape in shapes]
    expected = factors[0] @ factors[1] @ factors[2]
    np.testing.assert_allclose(wg.linalg.multi_dot(factors), expected, rtol=1e-10, atol=1e-10)


def test_low_rank_decompositions_find_a_low_rank():
    wg.manual_seed(0)
    x = wg.tensor(RNG.normal(size=(20, 3)) @ RNG.normal(size=(3, 12)))
    for matrix in (x, x.mT):
        u, s, v = wg.svd_lowrank(matrix, q=4)
        np.testing.assert_allclose((u * s) @ v.mT, matrix, atol=1e-8)
    u, s, v = wg.pca_lowrank(x, q=3)
    np.testing.assert_allclose((u * s) @ v.mT, x - x.mean(0), atol=1e-8)
    with pytest.raises(ValueError, match="not greater than 12"):
        wg.pca_lowrank(x, q=13)


# ---- vmap, compile -----------------------------------------------------------------------------

BATCHED = {
    "inv": wg.linalg.inv,
    "solve": lambda x: wg.linalg.solve(x, x[0]),
    "solve matrix": lambda x: wg.linalg.solve(x, wg.tensor(B)),
    "solve_triangular": lambda x: wg.linalg.solve_triangular(x, wg.tensor(B), upper=False),
    "det": wg.linalg.det,
    "slogdet": lambda x: wg.linalg.slogdet(x)[1],
    "logdet": wg.logdet,
    "cholesky": wg.linalg.cholesky,
    "cholesky_inverse": lambda x: wg.cholesky_inverse(wg.linalg.cholesky(x)),
    "qr": lambda x: wg.linalg.qr(x).R,
    "eigh": lambda x: wg.linalg.eigh(x)[0],
    "eigvals": lambda x: wg.linalg.eigvals(x).real.sort()[0],
    "svdvals": wg.linalg.svdvals,
    "svd": lambda x: wg.linalg.svd(x)[0].abs(),
    "pinv": wg.linalg.pinv,
    "lstsq": lambda x: wg.linalg.lstsq(x, x[0].unsqueeze(1))[0],
    "lu": lambda x: wg.linalg.lu(x).U,
    "lu_solve": lambda x: wg.linalg.lu_solve(*wg.linalg.lu_factor(x), wg.tensor(B)),
    "matrix_exp": wg.linalg.matrix_exp,
    "matrix_power": lambda x: wg.linalg.matrix_power(x, 3),
    "norm": wg.linalg.norm,
    "matrix_norm": lambda x: wg.linalg.matrix_norm(x, "nuc"),
    "cond": wg.linalg.cond,
    "matrix_rank": wg.linalg.matrix_rank,
    "householder_product": lambda x: wg.linalg.householder_product(x, x[0]),
}
MANY = np.stack([P, P + np.eye(3), 2 * P])


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("name", BATCHED)
def test_vmap_gives_what_a_loop_gives(name):
    call = BATCHED[name]
    many = wg.tensor(MANY, requires_grad=True)
    found = wg.vmap(call)(many)
    expected = wg.stack([call(x) for x in many.unbind()])
    np.testing.assert_allclose(found.detach(), expected.detach(), rtol=1e-9, atol=1e-12)
    if expected.requires_grad:
        w = wg.tensor(RNG.normal(size=tuple(expected.shape)))
        (ours,) = wg.autograd.grad((found * w).sum(), many, retain_graph=True)
        (theirs,) = wg.autograd.grad((expected * w).sum(), many)
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", [name for name in BATCHED if name != "matrix_rank"])
def test_compiled_functions_agree(name):
    call = BATCHED[name]

    def loss(x):
        return call(x).pow(2).sum()

    expected, slope_ = loss(wg.tensor(P)), gradient(loss, P)
    compiled = wg.compile(wg.value_and_grad(loss))
    value, found = compiled(wg.tensor(P))
    assert value.item() == pytest.approx(expected.item(), rel=1e-9)
    np.testing.assert_allclose(found, slope_, rtol=1e-7, atol=1e-9)


def test_in_a_compiled_function_eigenvalues_are_complex():
    f = wg.compile(lambda x: wg.linalg.eig(x)[0])
    rotation = wg.tensor([[0.0, -1.0], [1.0, 0.0]])
    np.testing.assert_allclose(sorted(f(rotation).numpy().imag), [-1, 1])


# ---- out= --------------------------------------------------------------------------------------


def test_out_takes_one_tensor_or_one_for_each_result():
    x = wg.tensor(P)
    out = wg.empty(0, dtype=wg.float64)
    assert wg.linalg.inv(x, out=out) is out
    np.testing.assert_allclose(out, np.linalg.inv(P))
    values, vectors = wg.empty(3, dtype=wg.float64), wg.empty(3, 3, dtype=wg.float64)
    found = wg.linalg.eigh(x, out=(values, vectors))
    assert found.eigenvalues is values
    np.testing.assert_allclose(values, np.linalg.eigvalsh(P))


# ---- as in PyTorch's table of operators ----------------------------------------------------------


def test_the_power_0_of_a_tracked_matrix_is_tracked():
    # It was a constant, so that a power that varies left the graph at 0.
    x = wg.tensor(P, requires_grad=True)
    power = wg.linalg.matrix_power(x, 0)
    assert wg.equal(power, wg.eye(len(P), dtype=wg.float64))
    assert not wg.autograd.grad(power.sum(), x)[0].any()


def test_the_default_driver_leaves_out_residuals():
    x, y = wg.tensor([[1.0], [1.0]], requires_grad=True), wg.tensor([[1.0], [3.0]])
    assert wg.linalg.lstsq(x, y).residuals.shape == (0,)
    assert wg.linalg.lstsq(x, y).residuals.requires_grad
    assert wg.linalg.lstsq(x, y, driver="gelsd").residuals.tolist() == [2]


def test_powers_of_a_number_are_one_row():
    assert wg.linalg.vander(wg.tensor(2.0), N=3).tolist() == [[1, 2, 4]]
    with pytest.raises(RuntimeError, match="must be greater than 1"):
        wg.linalg.vander(wg.ones(2), N=0)


def test_the_older_lu_takes_out_for_as_many_results_as_it_has():
    # It asked for three, the third of which it did not return.
    out = wg.empty(0, dtype=wg.float64), wg.empty(0, dtype=wg.int32)
    assert wg.lu(wg.tensor(P), out=out)[0] is out[0]
