"""Solutions of equations and linear systems as functions of their parameters."""

import numpy as np
import pytest
import scipy.optimize

import wengert as wg
from tests.transforms import numeric
from wengert.errors import GradError, ShapeError

P = np.array([1.2, -0.4, 0.7])
X0 = np.zeros(3)
A = np.array([[3.0, 0.5, 0.2], [0.1, 2.0, -0.3], [0.4, -0.2, 2.5]])


def by_scipy(f, x0):
    return scipy.optimize.root(f, x0, tol=1e-13).x


def by_newton(f, x0):
    """A loop of one's own, on tensors, with wengert's Jacobian."""
    x = x0
    for _ in range(30):
        x = x - np.linalg.solve(np.asarray(wg.jacrev(f)(x)), np.asarray(f(x)))
    return x


def equation(x, p):
    return np.matmul(A, x) + 0.3 * np.sin(x) * p[0] - p


SOLVERS = {"scipy": by_scipy, "own loop": by_newton, "default": None}
LINEAR = ["dense", "lstsq", "gmres", "bicgstab"]


@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
def test_gradients_do_not_depend_on_how_the_root_was_found(solver):
    solution = wg.implicit.root(solver)(equation)
    np.testing.assert_allclose(equation(solution(X0, P), P), 0, atol=1e-12)
    expected = numeric.jacobian(lambda p: solution(X0, p), P)
    for jacobian in (wg.jacrev, wg.jacfwd):
        np.testing.assert_allclose(jacobian(lambda p: solution(X0, p))(P), expected, atol=1e-8)


@pytest.mark.parametrize("linear_solver", [*LINEAR, lambda matvec, b: _jacobi(matvec, b)])
def test_every_linear_solver_gives_the_derivatives_to_third_order(linear_solver):
    solution = wg.implicit.root(by_scipy, linear_solver=linear_solver)(equation)
    reference = wg.implicit.root(by_scipy)(equation)

    def loss(solution, p):
        return np.sum(solution(X0, p) ** 3)

    expected = numeric.gradient(lambda p: loss(reference, p), P)
    np.testing.assert_allclose(wg.grad(lambda p: loss(solution, p))(P), expected, rtol=1e-6)
    second = numeric.jacobian(wg.grad(lambda p: loss(reference, p)), P)
    for outer, inner in [(wg.jacrev, wg.grad), (wg.jacfwd, wg.grad), (wg.jacfwd, wg.jacfwd)]:
        found = outer(inner(lambda p: loss(solution, p)))(P)
        np.testing.assert_allclose(found, second, rtol=1e-5, atol=1e-7)
    third = numeric.gradient(lambda p: wg.hvp(lambda p: loss(reference, p), p, P).sum(), P)
    found = wg.grad(lambda p: np.sum(wg.hvp(lambda p: loss(solution, p), p, P)))(P)
    np.testing.assert_allclose(found, third, rtol=1e-5, atol=1e-6)


def _jacobi(matvec, b):
    """A user's linear solver: relaxed fixed-point iteration on real vectors."""
    x = np.zeros_like(b)
    for _ in range(400):
        x = x + 0.3 * (b - matvec(x))
    return x


def test_brentq_and_other_solvers_of_numbers():
    @wg.implicit.root(lambda f, x0: scipy.optimize.brentq(f, 0, 10, xtol=1e-14))
    def cube_root(x, p):
        return x**3 - p

    assert cube_root(1.0, 8.0) == pytest.approx(2.0)
    assert isinstance(cube_root(1.0, 8.0), float)
    assert wg.grad(cube_root, 1)(1.0, 8.0) == pytest.approx(1 / 12)
    assert wg.grad(cube_root, 0)(1.0, 8.0) == 0.0
    assert wg.grad(wg.grad(wg.grad(cube_root, 1), 1), 1)(1.0, 8.0) == pytest.approx(
        10 / 27 * 8 ** (-8 / 3)
    )
    assert wg.jvp(lambda p: cube_root(1.0, p), (8.0,), (12.0,))[1] == pytest.approx(1.0)


def test_unknowns_and_parameters_are_nested_containers():
    def f(x, p, shift=0.0):
        return {
            "a": 2 * x["a"] + np.sin(x["b"][0]) - p["u"] - shift,
            "b": [3 * x["b"][0] - x["a"][0] * p["v"][0] * p["u"][0]],
        }

    solution = wg.implicit.root()(f)
    x0 = {"a": np.zeros(2), "b": [0.5]}

    def loss(flat):
        x = solution(x0, {"u": flat[:2], "v": (flat[2],)}, shift=flat[3])
        return np.sum(x["a"] ** 2) + x["b"][0]

    flat = np.array([0.3, 0.8, -0.6, 0.1])
    expected = numeric.gradient(loss, flat)
    np.testing.assert_allclose(wg.grad(loss)(flat), expected, rtol=1e-6)
    np.testing.assert_allclose(wg.jacfwd(loss)(flat), expected, rtol=1e-6)
    p = {"u": np.array([0.3, 0.8]), "v": (-0.6,)}
    derivative = wg.grad(lambda p: np.sum(solution(x0, p)["a"]))(p)
    assert set(derivative) == {"u", "v"}
    assert isinstance(derivative["v"], tuple)


def test_tensors_give_tensors_with_history_in_their_dtype():
    solution = wg.implicit.root(by_scipy)(equation)
    p = wg.tensor(P, dtype=wg.float64, requires_grad=True)
    x = solution(wg.zeros(3, dtype=wg.float64), p)
    assert "ImplicitBackward" in repr(x)
    x.sum().backward()
    np.testing.assert_allclose(p.grad, wg.grad(lambda p: np.sum(solution(X0, p)))(P))
    assert solution(wg.zeros(3), wg.tensor([1.0, 2.0, 3.0])).dtype == wg.float32


def test_a_solver_may_use_torchs_way_of_optimizing():
    def descend(f, x0):
        x = wg.tensor(x0, requires_grad=True)
        optimizer = wg.optim.SGD([x], lr=0.2)
        for _ in range(200):
            optimizer.zero_grad()
            f(x).backward()
            optimizer.step()
        return x.detach()

    @wg.implicit.argmin(descend)
    def mean(x, data):
        return ((x - data) ** 2).mean(0).sum()

    data = wg.randn(5, 2, requires_grad=True)
    mean(wg.zeros(2), data)[0].backward()
    np.testing.assert_allclose(data.grad, np.tile([0.2, 0.0], (5, 1)), atol=1e-5)


def test_fixed_points_of_a_module_as_in_deep_equilibrium_models():
    wg.manual_seed(0)
    layer = wg.nn.Linear(3, 3).double()
    with wg.no_grad():
        layer.weight.mul_(0.5)

    @wg.implicit.fixed_point()
    def equilibrium(z, parameters, x):
        return np.tanh(wg.func.functional_call(layer, parameters, z) + x)

    x = wg.tensor(P, dtype=wg.float64)
    z0 = wg.zeros(3, dtype=wg.float64)
    z = equilibrium(z0, dict(layer.named_parameters()), x)
    z.sum().backward()
    unrolled = z0
    for _ in range(100):
        unrolled = np.tanh(layer(unrolled) + x)
    expected = wg.autograd.grad(unrolled.sum(), layer.weight)[0]
    np.testing.assert_allclose(layer.weight.grad, expected, rtol=1e-9)


def test_argmin_of_ridge_regression_has_the_derivative_of_its_formula():
    rng = np.random.default_rng(0)
    features, targets = rng.normal(size=(20, 4)), rng.normal(size=20)

    @wg.implicit.argmin(lambda f, w0: scipy.optimize.minimize(f, w0, tol=1e-10).x)
    def ridge(w, strength):
        return np.sum((np.matmul(features, w) - targets) ** 2) + strength * np.sum(w * w)

    def formula(s):
        return np.linalg.solve(features.T @ features + s * np.eye(4), features.T @ targets)

    expected = numeric.jacobian(formula, np.array(2.0))
    for by in ("dense", "cg"):
        chosen = wg.implicit.argmin(linear_solver=by)(ridge.__wrapped__)
        np.testing.assert_allclose(chosen(np.zeros(4), 2.0), formula(2.0), atol=1e-9)
        found = wg.jacrev(lambda s, w=chosen: w(np.zeros(4), s))(2.0)
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    np.testing.assert_allclose(wg.jacrev(ridge, 1)(np.zeros(4), 2.0), expected, rtol=1e-4)


@pytest.mark.parametrize("solver", ["dense", "lstsq", "gmres", None])
def test_linear_systems_are_differentiated_by_the_operator_and_the_right_hand_side(solver):
    def matvec(v, s):
        return s[0] * v + s[1] * np.roll(v, 1)

    def x(b, s):
        return wg.implicit.solve(matvec, b, s, solver=solver)

    b, s = np.array([1.0, -2.0, 0.5, 3.0]), np.array([2.0, 0.7])
    matrix = s[0] * np.eye(4) + s[1] * np.roll(np.eye(4), 1, axis=0)
    np.testing.assert_allclose(x(b, s), np.linalg.solve(matrix, b))
    for jacobian in (wg.jacrev, wg.jacfwd):
        np.testing.assert_allclose(jacobian(x)(b, s), np.linalg.inv(matrix), atol=1e-9)
        expected = numeric.jacobian(lambda s: x(b, s), s)
        np.testing.assert_allclose(jacobian(x, 1)(b, s), expected, atol=1e-7)
    hessian = numeric.jacobian(wg.grad(lambda s: np.sum(x(b, s) ** 2)), s)
    np.testing.assert_allclose(wg.hessian(lambda s: np.sum(x(b, s) ** 2))(s), hessian, rtol=1e-5)


def test_conjugate_gradients_solve_a_large_symmetric_system_without_its_matrix():
    n = 2_000

    def laplace(v, c):
        return c * v - np.concatenate([v[1:], v[:1]]) - np.concatenate([v[-1:], v[:-1]])

    b = np.sin(np.arange(n) * 2 * np.pi / n)

    def energy(c):
        return np.sum(b * wg.implicit.solve(laplace, b, c, symmetric=True))

    eigenvalue = 2.5 - 2 * np.cos(2 * np.pi / n)
    assert energy(2.5) == pytest.approx(n / 2 / eigenvalue)
    assert wg.grad(energy)(2.5) == pytest.approx(-n / 2 / eigenvalue**2)


def test_complex_unknowns_and_operators_that_are_linear_for_real_factors_only():
    @wg.implicit.root()
    def square_root(z, c):
        return z * z - c

    c = wg.tensor(2j, dtype=wg.complex128, requires_grad=True)
    w = square_root(1.0 + 0.1j, c)
    assert w.item() == pytest.approx(1 + 1j)
    w.real.backward()
    assert c.grad.item() == pytest.approx(np.conj(1 / (2 * (1 + 1j))))

    b = np.array([1.0 + 2j, -1j])
    x = wg.implicit.solve(lambda v: 3 * v + np.conj(v), b)
    np.testing.assert_allclose(3 * x + np.conj(x), b)


def test_least_squares_give_the_derivative_of_least_norm_where_the_jacobian_is_singular():
    def f(x, p):
        return np.stack([x[0] + x[1] - p, 2 * (x[0] + x[1] - p)])

    solver = lambda f, x0: np.array([0.5, 0.5])
    with pytest.raises(
        np.linalg.LinAlgError, match=r"Jacobian of f .*of size 2, is singular.*lstsq"
    ):
        wg.jacrev(wg.implicit.root(solver)(f), 1)(np.zeros(2), 1.0)
    least = wg.implicit.root(solver, linear_solver="lstsq")(f)
    np.testing.assert_allclose(wg.jacrev(least, 1)(np.zeros(2), 1.0), [0.5, 0.5])
    with pytest.raises(np.linalg.LinAlgError, match="gmres did not solve"):
        wg.implicit.solve(lambda v: 0 * v, np.ones(2), solver="gmres")


def test_vmap_solves_for_each_example_and_compile_calls_back():
    @wg.implicit.root(lambda f, x0: scipy.optimize.brentq(f, 0, 10, xtol=1e-14))
    def cube_root(x, p):
        return x**3 - p

    p = np.array([1.0, 8.0, 27.0])
    np.testing.assert_allclose(wg.vmap(lambda p: cube_root(1.0, p))(p), [1, 2, 3])
    slopes = 1 / (3 * np.array([1, 2, 3]) ** 2)
    np.testing.assert_allclose(wg.vmap(wg.grad(lambda p: cube_root(1.0, p)))(p), slopes)
    compiled = wg.compile(wg.grad(lambda p: cube_root(1.0, p)))
    for value, slope in zip(p, slopes, strict=True):
        assert compiled(np.array(value)) == pytest.approx(slope)


@wg.implicit.traceable
def newton(f, x):
    step = lambda x: f(x) / wg.grad(f)(x)
    return wg.while_loop(lambda x: np.abs(step(x)) > 1e-12, lambda x: x - step(x), x)


def cycle(x, p):
    return {"a": np.cos(x["b"] * p), "b": np.sin(x["a"]) + 0.1 * p}


@pytest.mark.parametrize("number", [float, np.array], ids=["float", "array"])
def test_compiled_derivatives_of_solutions_take_numbers_of_pythons(number):
    # Steps in Python are given a float as a float, and the linear system asked it for its dtype.
    root = wg.implicit.root()(lambda x, p: x**3 - p)
    linear = lambda p: wg.implicit.solve(lambda v, s: s * v, np.ones(2), p).sum()
    assert wg.compile(wg.grad(lambda p: root(1.0, p)))(number(8.0)) == pytest.approx(1 / 12)
    assert wg.compile(wg.grad(linear))(number(8.0)) == pytest.approx(-2 / 64)


LOOPED = {
    "the usual one of fixed points": (wg.implicit.fixed_point(), lambda x, p: np.cos(x * p), 1.0),
    "of containers": (wg.implicit.fixed_point(), cycle, {"a": np.ones(2), "b": np.ones(2)}),
    "of tensors": (wg.implicit.fixed_point(), lambda x, p: np.cos(x * p), wg.ones(2)),
    "one's own": (wg.implicit.root(newton), lambda x, p: x**3 - p, 1.0),
}


@pytest.mark.parametrize(("solver", "f", "x0"), LOOPED.values(), ids=LOOPED)
def test_a_compiled_function_has_the_iterations_of_a_solver_of_loops(solver, f, x0):
    # It called all solvers back in Python.
    solution = solver(f)

    def total(p):
        leaves = solution(x0, p)
        return sum(np.sum(x) for x in (leaves.values() if type(leaves) is dict else [leaves]))

    p = np.array(0.5)
    for derivative in (wg.value_and_grad(total), wg.grad(wg.grad(total))):
        compiled = wg.compile(derivative)
        assert np.allclose(compiled(p), derivative(p))
        names = {s.name for s in compiled.program.statements}
        assert "until" in names
        assert "implicit_solution" not in names


@pytest.mark.parametrize("x0", [1.0, wg.ones(2)], ids=["number", "tensor"])
@pytest.mark.parametrize("mode", [wg.compile, lambda f: f], ids=["compiled", "eager"])
def test_what_is_no_contraction_is_an_error_in_every_mode(mode, x0):
    grows = wg.implicit.fixed_point()(lambda x, p: 2 * x + p)
    turns = wg.implicit.fixed_point()(lambda x, p: p - x)
    with np.errstate(over="ignore"):
        for f in (grows, turns):
            with pytest.raises(GradError, match="x still changed by"):
                mode(lambda p, f=f: f(x0, p))(np.array(1.0))


def test_several_cotangents_share_the_factors_of_one_matrix():
    counted = []

    def f(x, p):
        counted.append(1)
        return np.matmul(A, x) - p

    solution = wg.implicit.root(lambda f, x0: np.linalg.solve(A, P))(f)
    wg.jacrev(lambda p: solution(X0, p))(P)
    once = len(counted)
    counted.clear()
    wg.grad(lambda p: solution(X0, p)[0])(P)
    assert once <= len(counted) + 4


def test_nothing_is_asked_of_the_equation_when_nothing_is_recorded():
    def f(x, p):
        assert isinstance(x, np.ndarray)
        return x - p

    solution = wg.implicit.root(lambda f, x0: P)(f)
    np.testing.assert_array_equal(solution(X0, P), P)


# ---- bad input -----------------------------------------------------------------------------

FIND = lambda f, x0: np.ones_like(x0)
CALLS = {
    "no function": (lambda: wg.implicit.root(FIND)(3), TypeError, r"root\(solver\)\(f\)"),
    "no solver": (lambda: wg.implicit.root(3), TypeError, r"solver is a function \(f, x0\) -> x"),
    "linear solver": (
        lambda: wg.implicit.root(FIND, linear_solver="lu"),
        ValueError,
        "no linear solver 'lu'",
    ),
    "optimize result": (
        lambda: wg.implicit.root(lambda f, x0: scipy.optimize.root(f, x0))(equation)(X0, P),
        GradError,
        r"OptimizeResult. Return the solution that is in it: \.x",
    ),
    "shape of the solution": (
        lambda: wg.implicit.root(lambda f, x0: x0[:2])(equation)(X0, P),
        ShapeError,
        r"returned shape \(2,\) for an unknown of shape \(3,\)",
    ),
    "structure of the solution": (
        lambda: wg.implicit.root(lambda f, x0: (x0, 1))(equation)(X0, P),
        GradError,
        "what the solver returns must have the structure",
    ),
    "not finite": (
        lambda: wg.implicit.root(lambda f, x0: x0 * np.nan)(equation)(X0, P),
        GradError,
        "not finite. It did not converge",
    ),
    "complex": (
        lambda: wg.implicit.root(lambda f, x0: x0 * 1j)(equation)(X0, P),
        GradError,
        "complex numbers for a real unknown",
    ),
    "number of equations": (
        lambda: wg.grad(lambda p: np.sum(wg.implicit.root(FIND)(lambda x, p: p[:2])(X0, p)))(P),
        ShapeError,
        "one equation for each unknown",
    ),
    "structure of the equations": (
        lambda: wg.grad(lambda p: np.sum(wg.implicit.root(FIND)(lambda x, p: {0: x, 1: p})(X0, p)))(
            P
        ),
        GradError,
        r"must have the structure \*, but \{0: \*, 1: \*\}",
    ),
    "no unknown": (lambda: wg.implicit.root(FIND)(equation)([], P), GradError, "no numbers in it"),
    "text": (lambda: wg.implicit.root(FIND)(equation)("x", P), TypeError, "str"),
    "root not found": (
        lambda: wg.implicit.root()(lambda x, p: x * x + p)(1.0, 1.0),
        GradError,
        "default solver did not converge",
    ),
    "no fixed point": (
        lambda: wg.implicit.fixed_point()(lambda x, p: 2 * x + p)(1.0, 1.0),
        GradError,
        "It is no contraction",
    ),
    "no minimum": (
        lambda: wg.implicit.argmin()(lambda x, p: -p * np.exp(x))(1.0, 1.0),
        GradError,
        "bounded",
    ),
    "not linear's shape": (
        lambda: wg.implicit.solve(lambda v: v[:1], np.ones(2)),
        ShapeError,
        "one equation for each",
    ),
    "no operator": (
        lambda: wg.implicit.solve(np.eye(2), np.ones(2)),
        TypeError,
        "takes a function",
    ),
}


@pytest.mark.parametrize(("call", "error", "message"), CALLS.values(), ids=CALLS)
def test_bad_input_says_what_was_found_and_what_to_type(call, error, message):
    with np.errstate(all="ignore"), pytest.raises(error, match=message):
        call()


def test_a_tensor_that_the_equation_closes_over_is_an_error_not_a_lost_derivative():
    hidden = wg.tensor(P, dtype=wg.float64, requires_grad=True)
    solution = wg.implicit.root(FIND)(lambda x, p: x - p - hidden)
    with pytest.raises(GradError, match="not among its arguments"):
        solution(X0, wg.tensor(P, requires_grad=True))
    with pytest.raises(GradError, match="not among its arguments"):
        wg.implicit.root(by_scipy)(lambda x: x - hidden)(X0)
    with pytest.raises(GradError, match="not among its arguments"):
        wg.grad(lambda p: np.sum(wg.implicit.root(by_scipy)(lambda x: x - p)(X0)))(P)
    with pytest.raises(GradError, match="not among its arguments"):
        wg.jvp(lambda p: wg.implicit.root(FIND)(lambda x: x - p)(X0), (P,), (P,))
    with pytest.raises(GradError, match="not among its arguments"):
        wg.jvp(lambda p: wg.implicit.solve(lambda v: v * p, P), (P,), (P,))
    with wg.no_grad():
        solution(X0, wg.tensor(P))


@pytest.mark.parametrize("solver", [None, lambda f, x0: 2**0.5], ids=["default", "own"])
@pytest.mark.parametrize(
    "x0", [1.0, np.ones(()), wg.tensor(1.0, dtype=wg.float64)], ids=["number", "array", "tensor"]
)
@pytest.mark.parametrize("transform", [wg.grad, wg.jacfwd], ids=["grad", "jacfwd"])
def test_what_an_equation_without_parameters_closes_over_is_no_lost_derivative_either(
    transform, solver, x0
):
    # The usual solver asks by tensors, another one need not ask at all; no one noticed then.
    def f(a):
        return a * wg.implicit.root(solver)(lambda x: x * x - a)(x0)

    with pytest.raises(GradError, match="its derivative would be lost"):
        transform(f)(2.0)


def test_equations_and_unknowns_are_equally_many():
    with pytest.raises(wg.errors.ShapeError, match=r"root: .* returned shape \(2,\), but the unkn"):
        wg.implicit.root()(lambda x, a: np.stack([x, x]) - a)(1.0, 2.0)


@pytest.mark.parametrize("a", [2.0, 3.0, 7.1, 1e4])
def test_the_usual_solvers_take_single_precision(a):
    # Residuals of 1e-7, all that float32 allows, once counted as no convergence.
    x0, a = wg.ones(2), wg.tensor(a)
    root = wg.implicit.root()(lambda x, a: x * x - a)
    fixed = wg.implicit.fixed_point()(lambda x, a: 0.5 * (x + a / x))
    for solve in (root, fixed):
        np.testing.assert_allclose(solve(x0, a).numpy(), np.sqrt(a.numpy()), rtol=1e-5)


@pytest.mark.parametrize("solver", [None, "gmres", "cg", lambda matvec, b: b])
@pytest.mark.parametrize(
    "matvec",
    [
        lambda v: v**2,
        lambda v: 3 * v + 1,
        lambda v: np.abs(v),
        lambda v: v * np.sqrt(np.sum(v * v)),
        lambda v: np.sin(v),
        lambda v: np.where(v > 0, 2 * v, v),
    ],
    ids=["square", "affine", "absolute", "scaled by its norm", "sine", "kink"],
)
@pytest.mark.parametrize("kind", [np.asarray, wg.tensor, np.float32])
def test_an_operator_that_is_not_linear_is_refused(matvec, solver, kind):
    # The matrix of its values at the unit vectors was solved, and its solution returned.
    b = kind(np.array([1.0, -2.0, 3.0]))
    with pytest.raises(GradError, match=r"is not linear: .*implicit\.root"):
        wg.implicit.solve(matvec, b, solver=solver)


def test_an_operator_that_rounds_counts_as_linear():
    n = 200
    matrix = np.random.default_rng(0).standard_normal((n, n)).astype(np.float32) + n * np.eye(n)
    matrix = matrix.astype(np.float32)
    b = np.ones(n, np.float32)
    x = wg.implicit.solve(lambda v: matrix @ v, b)
    np.testing.assert_allclose(matrix @ x, b, rtol=1e-4)
    assert not wg.implicit.solve(lambda v: matrix @ v, 0 * b).any()
    assert wg.implicit.solve(lambda v: 1e-30 * (matrix @ v), 1e-30 * b).dtype == np.float32


def test_an_affine_operator_is_refused_for_a_right_hand_side_of_zeros_too():
    with pytest.raises(GradError, match="A constant in it belongs to b"):
        wg.implicit.solve(lambda v: v + 1.0, np.zeros(3))
