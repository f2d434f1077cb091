"""SciPy's optimizers and solvers with derivatives: results and counts beside plain SciPy's."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
import pytest
from scipy import integrate, optimize, sparse

import wengert as wg
from wengert.errors import GradError, TracingError
from wengert.tree import collect


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


class Counted:
    """A function that knows how often it was called."""

    def __init__(self, f):
        self.f, self.calls = f, 0

    def __call__(self, *args):
        self.calls += 1
        return self.f(*args)


START = np.array([1.3, 0.7, 0.8, 1.9])
GRADIENT = ["CG", "BFGS", "L-BFGS-B", "SLSQP"]
PRODUCTS = ["Newton-CG", "trust-ncg", "trust-krylov", "trust-constr"]
MATRIX = ["trust-exact"]


# ---- minima ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [*GRADIENT, *PRODUCTS, *MATRIX])
def test_results_and_counts_are_those_of_scipy_with_derivatives_by_hand(method):
    given = {"jac": optimize.rosen_der}
    if method in PRODUCTS:
        given["hessp"] = optimize.rosen_hess_prod
    if method in MATRIX:
        given["hess"] = optimize.rosen_hess
    theirs = optimize.minimize(optimize.rosen, START, method=method, **given)
    ours = wg.optimize.minimize(rosenbrock, START, method=method)
    # Both end where the gradient is below 1e-5, and the least curvature there is some 0.4.
    np.testing.assert_allclose(ours.x, theirs.x, atol=5e-5)
    assert ours.fun == pytest.approx(theirs.fun, abs=1e-8)
    assert ours.success == theirs.success
    for count in ("nit", "nfev", "njev", "nhev") if method != "CG" else ():
        expected = theirs.get(count, 0)  # CG's goes by the last bit of the start: 53 to 109
        assert abs(ours.get(count, 0) - expected) <= 2 + 0.1 * expected  # rounding differs


def test_tnc_and_dogleg():
    """TNC's counts depend on rounding, and dogleg wants a convex function."""
    ours = wg.optimize.minimize(rosenbrock, START, method="TNC")
    np.testing.assert_allclose(ours.x, np.ones(4), atol=1e-3)
    bowl = wg.optimize.minimize(lambda x: np.sum(np.cosh(x - 1)), START, method="dogleg")
    np.testing.assert_allclose(bowl.x, np.ones(4), atol=1e-6)


def test_value_and_gradient_come_from_one_run():
    f = Counted(rosenbrock)
    found = wg.optimize.minimize(f, np.array([-1.2, 1.0]), method="BFGS")
    assert f.calls == found.nfev == found.njev
    by_differences = Counted(rosenbrock)
    optimize.minimize(by_differences, np.array([-1.2, 1.0]), method="BFGS")
    assert 2.5 * f.calls < by_differences.calls


def test_the_default_method_is_scipys():
    square = {"f": lambda x: np.sum((x - 2) ** 2), "x0": np.zeros(2)}
    free = wg.optimize.minimize(**square)
    assert "hess_inv" in free
    assert free.hess_inv.shape == (2, 2)
    bounded = wg.optimize.minimize(**square, bounds=[(0, 1), (None, None)])
    assert isinstance(bounded.hess_inv, optimize.LbfgsInvHessProduct)
    np.testing.assert_allclose(bounded.x, [1, 2])
    bound = {"type": "eq", "fun": lambda x: x[0] - 1}
    constrained = wg.optimize.minimize(**square, constraints=bound)
    np.testing.assert_allclose(constrained.x, [1, 2])


class Line(NamedTuple):
    slope: float
    offset: float


@dataclasses.dataclass
class Model:
    weights: np.ndarray
    scale: float


STRUCTURES = {
    "dict": (
        {"a": 0.0, "b": np.zeros((2, 3))},
        lambda p: (p["a"] - 1) ** 2 + np.sum((p["b"] - 2) ** 2),
    ),
    "list": ([0.0, wg.zeros(2)], lambda p: (p[0] - 1) ** 2 + np.sum((p[1] - 2) ** 2)),
    "tuple in a list": (
        [(0.0, 1.0), {"c": np.zeros(1)}],
        lambda p: (p[0][0] - p[0][1]) ** 2 + p[0][1] ** 2 + np.sum(p[1]["c"] ** 2),
    ),
    "named tuple": (Line(0.0, 0.0), lambda p: (p.slope - 1) ** 2 + (p.offset - 2) ** 2),
    "dataclass": (
        Model(np.zeros(2), 3.0), lambda p: np.sum((p.weights - p.scale) ** 2) + p.scale**2
    ),
    "number": (0.0, lambda x: (x - 1) ** 2),
    "tensor": (wg.zeros(2, 2, dtype=wg.float64), lambda x: ((x - 1) ** 2).sum()),
    "with None": ({"a": 0.0, "b": None}, lambda p: (p["a"] - 1) ** 2),
}  # fmt: skip


def kinds(item):
    leaves = []
    tree = collect(item, leaves)
    return repr(tree), [(type(x), getattr(x, "dtype", None), np.shape(x)) for x in leaves]


@pytest.mark.parametrize("compile", [False, True])
@pytest.mark.parametrize("name", STRUCTURES)
def test_what_goes_in_comes_out(name, compile):
    start, f = STRUCTURES[name]
    found = wg.optimize.minimize(f, start, compile=compile)
    assert found.success
    assert kinds(found.x) == kinds(start)
    assert kinds(found.jac) == kinds(start)
    assert found.fun == pytest.approx(0, abs=1e-6)
    assert float(f(found.x)) == pytest.approx(found.fun)


def test_the_start_is_not_written_to_and_the_result_is_its_own():
    start = {"a": np.zeros(2), "b": wg.zeros(2)}
    found = wg.optimize.minimize(lambda p: np.sum((p["a"] - p["b"] - 1) ** 2), start)
    assert not start["a"].any()
    assert not start["b"].numpy().any()
    assert not found.x["b"].requires_grad
    found.x["a"][:] = 7  # an array that may be written to


def test_a_network_is_fitted_by_its_named_parameters():
    wg.manual_seed(0)
    net = wg.nn.Sequential(wg.nn.Linear(1, 5), wg.nn.Tanh(), wg.nn.Linear(5, 1)).double()
    x = wg.linspace(-1, 1, 30, dtype=wg.float64)[:, None]
    y = (3 * x).sin()

    def loss(parameters):
        return wg.nn.functional.mse_loss(wg.func.functional_call(net, parameters, (x,)), y)

    before = loss(dict(net.named_parameters())).item()
    found = wg.optimize.minimize(loss, dict(net.named_parameters()), method="L-BFGS-B")
    assert found.fun < 1e-3 * before
    assert loss(dict(net.named_parameters())).item() == before  # the network is as it was
    net.load_state_dict(found.x)
    assert loss(dict(net.named_parameters())).item() == pytest.approx(found.fun)


def test_dtypes_are_kept():
    start = {"a": wg.zeros(2), "b": np.zeros(2, np.float32)}
    found = wg.optimize.minimize(
        lambda p: ((p["a"] - 1) ** 2).sum() + ((p["b"] - 2) ** 2).sum(), start
    )
    assert found.x["a"].dtype == wg.float32
    assert found.x["b"].dtype == np.float32


def test_a_complex_parameter_beside_one_with_bounds_is_free_in_both_parts():
    # Its imaginary part had the bounds 0 and 0, and the minimum was another one.
    def f(p):
        return abs(p["z"] - (1 + 2j)) ** 2 + (p["x"] - 3.0) ** 2

    found = wg.optimize.minimize(f, {"z": 0j, "x": 0.0}, bounds={"x": (0.0, 2.0)})
    assert abs(found.x["z"] - (1 + 2j)) < 1e-6
    assert found.x["x"] == 2.0


def test_complex_parameters_are_two_numbers_each():
    found = wg.optimize.minimize(lambda z: np.abs(z * z - (3 + 4j)) ** 2, 1.0 + 0.5j)
    assert found.x == pytest.approx(2 + 1j, abs=1e-6)
    vector = wg.optimize.minimize(
        lambda z: np.sum(np.abs(z - np.array([1j, 2.0])) ** 2), np.zeros(2, complex),
        method="trust-ncg",
    )  # fmt: skip
    np.testing.assert_allclose(vector.x, [1j, 2], atol=1e-6)


def test_arguments_are_passed_on():
    def f(x, scale, *, shift=0.0):
        return np.sum((scale * x - 1 - shift) ** 2)

    assert wg.optimize.minimize(f, np.zeros(2), (2.0,)).x == pytest.approx([0.5, 0.5])
    products = wg.optimize.minimize(f, np.zeros(2), (2.0,), "Newton-CG", compile=True)
    assert products.x == pytest.approx([0.5, 0.5])


def test_options_and_tolerances_are_scipys():
    short = wg.optimize.minimize(rosenbrock, START, options={"maxiter": 2})
    assert short.nit == 2
    assert not short.success
    loose = wg.optimize.minimize(rosenbrock, START, tol=1.0)
    assert loose.nfev < wg.optimize.minimize(rosenbrock, START).nfev


def test_a_method_of_ones_own():
    def descend(fun, x0, args, jac, hessp, **options):
        x = x0
        for _ in range(options["steps"]):
            g = jac(x) + 1e-12
            x = x - g * (g @ g) / (g @ hessp(x, g))
        return optimize.OptimizeResult(x=x, fun=fun(x), jac=jac(x))

    found = wg.optimize.minimize(
        lambda p: np.sum((p["a"] - 1) ** 2) + 2 * p["b"] ** 2, {"a": np.zeros(2), "b": 1.0},
        method=descend, options={"steps": 40},
    )  # fmt: skip
    np.testing.assert_allclose(found.x["a"], [1, 1], atol=1e-6)


def test_callbacks_see_the_structure():
    seen, results = [], []

    def f(p):
        return rosenbrock(p["x"])

    wg.optimize.minimize(f, {"x": START}, callback=seen.append)
    assert all(list(p) == ["x"] and p["x"].shape == (4,) for p in seen)

    def each(intermediate_result):
        results.append(intermediate_result)

    found = wg.optimize.minimize(f, {"x": START}, callback=each)
    assert [r.fun for r in results][-1] == found.fun
    np.testing.assert_array_equal(results[-1].x["x"], found.x["x"])
    interior = []
    wg.optimize.minimize(f, {"x": START}, method="trust-constr", callback=interior.append)
    assert "x" in interior[0]
    wg.optimize.minimize(f, {"x": START}, method="TNC", callback=interior.append)
    assert "x" in interior[-1]

    def stop(p):
        raise StopIteration

    assert wg.optimize.minimize(f, {"x": START}, callback=stop).nit == 1


# ---- bounds and constraints --------------------------------------------------------------------


def distance(p):
    return (p["a"] - 3) ** 2 + np.sum((p["b"] - 3) ** 2)


@pytest.mark.parametrize("method", ["L-BFGS-B", "TNC", "SLSQP", "trust-constr"])
def test_bounds_have_the_structure_of_the_parameters(method):
    start = {"a": 0.0, "b": np.zeros(2)}
    for bounds, a, b in [
        ({"a": (None, 1.0)}, 1, [3, 3]),
        ({"b": (None, np.array([2.0, 4.0]))}, 3, [2, 3]),
        ({"b": [(0, 1), (None, 2)]}, 3, [1, 2]),
        ({"a": (0, 2), "b": (-1, 1)}, 2, [1, 1]),
        (optimize.Bounds(-1, [1, 2, 5]), 1, [2, 3]),
        ({}, 3, [3, 3]),
    ]:
        found = wg.optimize.minimize(distance, start, method=method, bounds=bounds)
        assert found.x["a"] == pytest.approx(a, abs=1e-3)
        np.testing.assert_allclose(found.x["b"], b, atol=1e-3)


def test_a_vector_of_two_with_two_pairs_is_read_as_scipy_reads_it():
    found = wg.optimize.minimize(
        lambda x: np.sum((x - 9) ** 2), np.zeros(2), bounds=[(0, 1), (2, 3)]
    )
    np.testing.assert_allclose(found.x, [1, 3])


CIRCLE = {"a": 1.0, "b": np.array([0.5])}


def area(p):
    return -p["a"] * p["b"][0]


@pytest.mark.parametrize("method", ["SLSQP", "trust-constr"])
def test_constraints_take_the_parameters_and_get_their_derivatives(method):
    """The largest rectangle in a circle of radius 1 is a square."""
    f = Counted(lambda p: p["a"] ** 2 + p["b"] ** 2)
    for constraint in (
        {"type": "ineq", "fun": lambda p, r: r - f(p)[0], "args": (1.0,)},
        optimize.NonlinearConstraint(f, -np.inf, 1.0),
    ):
        found = wg.optimize.minimize(area, CIRCLE, method=method, constraints=constraint)
        assert found.x["a"] == pytest.approx(np.sqrt(0.5), abs=1e-3)
        assert found.x["b"][0] == pytest.approx(np.sqrt(0.5), abs=1e-3)
    assert f.calls < 400
    line = optimize.LinearConstraint([[1, 1]], -np.inf, 1)  # on the flat vector
    found = wg.optimize.minimize(area, CIRCLE, method=method, constraints=[line])
    assert found.x["a"] == pytest.approx(0.5, abs=1e-3)


# ---- least squares -----------------------------------------------------------------------------

TIMES = np.linspace(0, 3, 40)


def decay(p):
    return p["height"] * np.exp(-p["rates"][0] * TIMES) + np.exp(-p["rates"][1] * TIMES)


@pytest.mark.parametrize("compile", [False, True])
@pytest.mark.parametrize("method", ["trf", "dogbox", "lm"])
def test_a_fit_with_nested_parameters(method, compile):
    truth = {"height": 2.0, "rates": np.array([0.5, 3.0])}
    data = decay(truth)
    found = wg.optimize.least_squares(
        lambda p: decay(p) - data, {"height": 1.0, "rates": np.array([0.3, 2.0])}, method=method,
        compile=compile,
    )  # fmt: skip
    assert found.success
    assert found.x["height"] == pytest.approx(2)
    np.testing.assert_allclose(found.x["rates"], truth["rates"], rtol=1e-6)
    assert kinds(found.grad) == kinds(truth)


def test_least_squares_agree_with_scipy():
    data = decay({"height": 2.0, "rates": np.array([0.5, 3.0])}) + 0.1 * np.cos(9 * TIMES)

    def flat(x):
        return decay({"height": x[0], "rates": x[1:]}) - data

    start = np.array([1.0, 0.3, 2.0])
    for options in ({}, {"loss": "soft_l1"}, {"bounds": (0, [1.5, 5, 5])}, {"x_scale": "jac"}):
        theirs = optimize.least_squares(flat, start, **options)
        ours = wg.optimize.least_squares(flat, start, **options)
        np.testing.assert_allclose(ours.x, theirs.x, rtol=1e-4)
        assert ours.cost == pytest.approx(theirs.cost, rel=1e-6)
        np.testing.assert_allclose(ours.jac, theirs.jac, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    "options",
    [
        {}, {"sigma": np.linspace(0.5, 2.0, 9)}, {"sigma": np.full(9, 0.3), "absolute_sigma": True},
        {"bounds": ([0.0, 0.0], [1.9, 5.0])}, {"p0": [1.0, 2.0], "method": "trf"},
        {"sigma": np.eye(9) + 0.2}, {"compile": True},
    ],
)  # fmt: skip
def test_fitted_curves_and_their_covariance_agree_with_scipy(options):
    t = np.linspace(0.0, 2.0, 9)
    seen = 2.0 * np.exp(-1.5 * t) + 0.05 * np.cos(9 * t)
    curve = lambda t, height, rate: height * np.exp(-rate * t)
    found, covariance = wg.optimize.curve_fit(curve, wg.tensor(t), seen, **options)
    options = {name: x for name, x in options.items() if name != "compile"}
    expected, theirs = optimize.curve_fit(curve, t, seen, **options)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    np.testing.assert_allclose(covariance, theirs, rtol=1e-3)


def test_a_curve_whose_parameters_cannot_be_counted_asks_for_a_start():
    with pytest.raises(ValueError, match=r"Say where to begin: p0=\[1.0, 1.0\]"):
        wg.optimize.curve_fit(lambda t, *p: p[0] * t, np.ones(3), np.ones(3))


def chain(x):
    """Rosenbrock's function in many variables, as residuals: each row has two nonzeros."""
    return {"slopes": 10 * (x[1:] - x[:-1] ** 2), "ends": [1 - x]}


def test_a_sparse_jacobian_is_used_where_it_pays():
    start = np.full(300, 0.5)
    f = Counted(chain)
    found = wg.optimize.least_squares(f, start)
    assert sparse.issparse(found.jac)
    np.testing.assert_allclose(found.x, np.ones(300), atol=1e-6)
    dense = wg.optimize.least_squares(chain, start, jac="dense")
    assert isinstance(dense.jac, np.ndarray)
    np.testing.assert_allclose(found.x, dense.x, atol=1e-6)
    assert f.calls < 8 * found.nfev  # products, not columns
    few = wg.optimize.least_squares(chain, np.full(5, 0.5))
    assert isinstance(few.jac, np.ndarray)
    forced = wg.optimize.least_squares(chain, np.full(5, 0.5), jac="sparse")
    assert sparse.issparse(forced.jac)
    exact = wg.optimize.least_squares(chain, np.full(60, 0.5), tr_solver="exact")
    assert isinstance(exact.jac, np.ndarray)


def test_the_pattern_is_found_anew_where_another_branch_is_taken():
    def f(x):
        coupled = x * np.concatenate([x[1:], x[:1]]) if x[0] > 0.9 else x
        return coupled - 1

    found = wg.optimize.least_squares(f, np.full(60, 0.5), jac="sparse")
    np.testing.assert_allclose(f(found.x), 0, atol=1e-6)


# ---- roots -------------------------------------------------------------------------------------


@pytest.mark.parametrize("compile", [False, True])
@pytest.mark.parametrize("method", ["hybr", "lm"])
def test_roots(method, compile):
    def f(v, total):
        return {"first": v["x"] ** 2 - v["y"], "second": np.sum(v["x"]) + v["y"][:1] - total}

    start = {"x": np.array([1.0, 1.5]), "y": np.array([1.0, 1.0])}
    g = lambda v, total: [f(v, total), v["x"][:1] - 1]
    found = wg.optimize.root(g, start, (4.0,), method, compile=compile)
    assert found.success
    np.testing.assert_allclose(found.x["x"], [1, 2], rtol=1e-6)
    np.testing.assert_allclose(found.x["y"], [1, 4], rtol=1e-6)


def test_roots_agree_with_scipy_and_need_no_differences():
    def f(x):
        return np.stack([x[0] + 0.5 * (x[0] - x[1]) ** 3 - 1, 0.5 * (x[1] - x[0]) ** 3 + x[1]])

    counted = Counted(f)
    theirs = optimize.root(lambda x: np.asarray(f(x)), [0.0, 0.0])
    ours = wg.optimize.root(counted, np.zeros(2), tol=1e-12)
    np.testing.assert_allclose(ours.x, theirs.x)
    assert ours.nfev < theirs.nfev
    assert wg.optimize.root(lambda x: x**3 - 8, 1.0).x == pytest.approx(2.0)


# ---- differential equations --------------------------------------------------------------------


def robertson(t, y):
    a, b, c = 0.04 * y["slow"], 3e7 * y["fast"][0] ** 2, 1e4 * y["fast"][0] * y["fast"][1]
    return {"slow": c - a, "fast": np.stack([a - b - c, b])}


def flat_robertson(t, y):
    made = robertson(t, {"slow": y[0], "fast": y[1:]})
    return np.array([made["slow"], *made["fast"]])


@pytest.mark.parametrize("compile", [False, True])
@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
def test_stiff_equations_get_the_jacobian(method, compile):
    start = {"slow": 1.0, "fast": np.zeros(2)}
    f = Counted(robertson)
    ours = wg.optimize.solve_ivp(f, (0, 40), start, method, rtol=1e-6, atol=1e-9, compile=compile)
    theirs = integrate.solve_ivp(flat_robertson, (0, 40), [1, 0, 0], method, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(ours.y["slow"][-1], theirs.y[0, -1], rtol=1e-4)
    np.testing.assert_allclose(ours.y["fast"][:, -1], theirs.y[1:, -1], rtol=1e-4)
    assert ours.nfev <= theirs.nfev + 5
    assert ours.njev > 0


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853"])
def test_explicit_methods_agree_with_scipy(method):
    def f(t, y, k):
        return np.stack([y[1], -k * y[0]])

    times = np.linspace(0, 2, 5)
    ours = wg.optimize.solve_ivp(f, (0, 2), np.array([1.0, 0.0]), method, times, True, args=(2.0,))
    theirs = integrate.solve_ivp(f, (0, 2), [1.0, 0.0], method, times, True, args=(2.0,))
    np.testing.assert_allclose(ours.y, theirs.y)
    np.testing.assert_allclose(ours.sol(0.7), theirs.sol(0.7))
    np.testing.assert_allclose(ours.sol([0.7, 1.0]), theirs.sol([0.7, 1.0]))
    assert (ours.nfev, ours.njev) == (theirs.nfev, theirs.njev)


def heat(t, u):
    around = np.concatenate([u[1:], 0 * u[:1]]) + np.concatenate([0 * u[:1], u[:-1]])
    return 1e4 * (around - 2 * u)


def test_the_jacobian_of_many_equations_is_sparse():
    start = np.sin(np.linspace(0, np.pi, 100))
    f = Counted(heat)
    ours = wg.optimize.solve_ivp(f, (0, 0.05), start, "BDF")
    assert f.calls < ours.nfev + 10  # three colours, not a hundred columns
    dense = wg.optimize.solve_ivp(heat, (0, 0.05), start, "BDF", jac="dense")
    np.testing.assert_allclose(ours.y, dense.y, rtol=1e-6, atol=1e-12)


def test_events_and_dense_output_have_the_structure():
    def f(t, y):
        return {"height": y["speed"], "speed": 0 * y["speed"] - 9.81}

    def ground(t, y):
        return y["height"]

    ground.terminal, ground.direction = True, -1
    start = {"height": wg.tensor(10.0, dtype=wg.float64), "speed": wg.tensor(0.0, dtype=wg.float64)}
    found = wg.optimize.solve_ivp(f, (0, 5), start, events=ground, dense_output=True, rtol=1e-8)
    at = np.sqrt(20 / 9.81)
    assert found.t_events[0] == pytest.approx([at])
    assert found.y_events[0]["speed"].tolist() == pytest.approx([-9.81 * at])
    assert found.y["height"].shape == (len(found.t),)
    assert found.sol(0.1)["height"].item() == pytest.approx(10 - 9.81 * 0.005)
    both = wg.optimize.solve_ivp(f, (0, 1), start, events=[ground, ground])
    assert [len(t) for t in both.t_events] == [0, 0]


def test_complex_equations():
    for method in ("RK45", "Radau"):
        found = wg.optimize.solve_ivp(lambda t, z: 1j * z, (0, 1), 1 + 0j, method, rtol=1e-8)
        assert found.y[-1] == pytest.approx(np.exp(1j), abs=1e-6)


def test_the_solution_is_that_of_odeint():
    def f(t, y):
        return np.stack([y[1], -np.sin(y[0])])

    start, times = np.array([1.0, 0.0]), [0.0, 1.0, 2.0]
    ours = wg.optimize.solve_ivp(f, (0, 2), start, t_eval=times, rtol=1e-9, atol=1e-9)
    theirs = wg.odeint(f, start, times, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours.y.T, theirs, atol=1e-7)


# ---- errors ------------------------------------------------------------------------------------


def log_sum(p):
    return np.sum(np.log(p["a"]))


def square_root(p):
    return np.sum(np.sqrt(p["a"])) + p["b"] ** 2


ERRORS = {
    "takes no gradient, so there is nothing to supply": (
        ValueError, lambda m: m.minimize(rosenbrock, START, method="Nelder-Mead")
    ),
    "there is no method 'SGD'. Choose one of CG, BFGS": (
        ValueError, lambda m: m.minimize(rosenbrock, START, method="SGD")
    ),
    "BFGS takes no bounds. Choose one of L-BFGS-B": (
        ValueError, lambda m: m.minimize(rosenbrock, START, method="BFGS", bounds=[(0, 1)] * 4)
    ),
    "CG takes no constraints": (
        ValueError,
        lambda m: m.minimize(
            rosenbrock, START, method="CG", constraints={"type": "eq", "fun": np.sum}
        ),
    ),
    "minimize needs a scalar output, but the function returned shape (4,)": (
        GradError, lambda m: m.minimize(lambda x: x**2, START)
    ),
    "minimize needs the function to return one number, but it returned None": (
        GradError, lambda m: m.minimize(lambda x: None, START)
    ),
    "log_sum is nan at x0. Begin where it is finite": (
        ValueError, lambda m: m.minimize(log_sum, {"a": np.array([-1.0])})
    ),
    "gradient by x0['a'] is not finite": (
        ValueError, lambda m: m.minimize(square_root, {"a": np.zeros(2), "b": 1.0})
    ),
    "x0['n'] is int 3, of dtype int64: integers cannot be varied. Write 3.0": (
        GradError, lambda m: m.minimize(lambda p: p["n"] ** 2, {"n": 3})
    ),
    "x0[1] is str 'x', which is no parameter": (
        TypeError, lambda m: m.minimize(lambda p: p[0] ** 2, [1.0, "x"])
    ),
    "the bounds['a'] are (3,), where (low, high)": (
        ValueError, lambda m: m.minimize(log_sum, {"a": np.ones(2)}, bounds={"a": 3})
    ),
    "x0 has no parameters in it": (GradError, lambda m: m.minimize(lambda p: 0.0, {})),
    "minimize takes a function, but got float": (TypeError, lambda m: m.minimize(1.0, START)),
    "callback is a function": (TypeError, lambda m: m.minimize(rosenbrock, START, callback=3)),
    "must have names out of 'a'": (
        ValueError, lambda m: m.minimize(log_sum, {"a": np.ones(2)}, bounds={"b": (0, 1)})
    ),
    "where (low, high) was expected": (
        ValueError, lambda m: m.minimize(log_sum, {"a": np.ones(2)}, bounds={"a": (0, 1, 2)})
    ),
    "do not have the shape of the parameter, (2,)": (
        wg.errors.ShapeError,
        lambda m: m.minimize(log_sum, {"a": np.ones(2)}, bounds={"a": (np.zeros(3), None)}),
    ),
    "must have the structure of the parameters, [*, *]": (
        ValueError, lambda m: m.minimize(lambda p: p[0] * p[1], [1.0, 1.0], bounds=[(0, 1)])
    ),
    "complex numbers have no order": (
        GradError, lambda m: m.minimize(np.abs, 1j, bounds=(0, 1))
    ),
    "a constraint is a dict": (
        TypeError, lambda m: m.minimize(rosenbrock, START, method="SLSQP", constraints=[np.sum])
    ),
    "TNC has no intermediate_result": (
        ValueError,
        lambda m: m.minimize(
            rosenbrock, START, method="TNC", callback=lambda intermediate_result: None
        ),
    ),
    "least_squares: there is no method 'newton'": (
        ValueError, lambda m: m.least_squares(chain, START, method="newton")
    ),
    "numbers that chain returns at x0 are not finite": (
        ValueError, lambda m: m.least_squares(chain, np.full(3, np.nan))
    ),
    'with method="lm" the Jacobian is dense': (
        ValueError, lambda m: m.least_squares(chain, START, method="lm", jac="sparse")
    ),
    "jac is 'auto', 'dense' or 'sparse', not '2-point'": (
        ValueError, lambda m: m.least_squares(chain, START, jac="2-point")
    ),
    "root: krylov takes no Jacobian": (
        ValueError, lambda m: m.root(np.sin, 1.0, method="krylov")
    ),
    "root: there is no method 'brentq'": (
        ValueError, lambda m: m.root(np.sin, 1.0, method="brentq")
    ),
    "returns 1 numbers for 4 unknowns": (ValueError, lambda m: m.root(rosenbrock, START)),
    "returned None. Is a `return` missing?": (GradError, lambda m: m.root(lambda x: None, 1.0)),
    "solve_ivp: there is no method 'euler'": (
        ValueError, lambda m: m.solve_ivp(heat, (0, 1), START, "euler")
    ),
    "LSODA takes no sparse Jacobian": (
        ValueError, lambda m: m.solve_ivp(heat, (0, 1), START, "LSODA", jac="sparse")
    ),
    "the derivative must have the structure {'a': *}": (
        GradError, lambda m: m.solve_ivp(lambda t, y: y["a"], (0, 1), {"a": 1.0})
    ),
    "the derivative has shape (2,), where y0 has shape (4,)": (
        wg.errors.ShapeError, lambda m: m.solve_ivp(lambda t, y: y[:2], (0, 1), START)
    ),
}  # fmt: skip


@pytest.mark.parametrize("message", ERRORS)
def test_errors(message):
    kind, call = ERRORS[message]
    with np.errstate(invalid="ignore", divide="ignore"), pytest.raises(kind) as caught:
        call(wg.optimize)
    assert message in str(caught.value)


def test_the_module_is_imported_when_it_is_asked_for():
    assert "optimize" in dir(wg)
    assert wg.optimize.minimize.__module__ == "wengert.optimize.minimum"


def test_a_compiled_objective_is_compiled_once():
    # The method that was compiled stood beside the last point and value, which were conditions:
    # it was compiled at each point, and after sixteen of them ran eagerly, with a warning.
    def rosenbrock(x):
        return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    found = wg.optimize.minimize(rosenbrock, np.zeros(4), method="BFGS", compile=True)
    assert found.nfev > 20
    np.testing.assert_allclose(found.x, 1, atol=1e-4)


OUTSIDE = {
    "implicit.argmin.*args": lambda p: wg.optimize.minimize(lambda x: np.sum((x - p) ** 2), X0).x,
    "implicit.root": lambda p: wg.optimize.root(lambda x: x - p, p).x,
    "argmin of the sum": lambda p: wg.optimize.least_squares(lambda x: x - p, X0).x,
    "the sum of squares": lambda p: wg.optimize.curve_fit(lambda t, a: a * t, X0, p)[0],
    "odeint": lambda p: wg.optimize.solve_ivp(lambda t, y: y - p, (0, 1), X0).y,
}
X0 = np.zeros(2)


@pytest.mark.parametrize(("instead", "f"), OUTSIDE.items(), ids=OUTSIDE)
def test_scipys_iterations_say_what_a_compiled_function_takes_instead(instead, f):
    # It was told that a number is not known, and to choose between values; or ran eagerly.
    with pytest.raises(
        TracingError, match=f"SciPy's iterations are no part of .*\n.*\n.*{instead}"
    ):
        wg.compile(f)(np.ones(2))


def test_a_minimum_of_what_a_trace_knows_is_found_while_it_is_compiled():
    best = lambda p: p + wg.optimize.minimize(lambda x: np.sum((x - 3) ** 2), np.zeros(2)).x
    np.testing.assert_allclose(wg.compile(best)(np.ones(2)), best(np.ones(2)))
