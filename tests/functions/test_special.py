"""Special functions: SciPy's names on tensors, accuracy in the tails, what has no derivative."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy import special, stats

import wengert as wg
from wengert.rules.special import ORDER_FIRST, SCIPY

RNG = np.random.default_rng(23)
X = RNG.uniform(0.2, 0.8, (2, 3))
Y = RNG.uniform(1.2, 3.0, (2, 3))

UFUNCS = {
    name: getattr(special, name)
    for name in [*SCIPY, *ORDER_FIRST]
    if isinstance(getattr(special, name), np.ufunc)
}
CONSTANT_FIRST = {"zeta": 2.5, **dict.fromkeys(ORDER_FIRST, 2)}


@pytest.mark.parametrize("name", UFUNCS)
def test_scipys_functions_on_tensors_give_scipys_results_and_their_derivatives(name):
    function = UFUNCS[name]

    def call(*arrays):
        return function(CONSTANT_FIRST[name], arrays[-1]) if name in CONSTANT_FIRST else (
            function(*arrays)
        )  # fmt: skip

    arrays = {1: [X], 2: [X, Y], 3: [Y, Y + 0.5, X]}[function.nin]
    if name == "zeta":
        arrays = [Y, Y]
    leaves = [wg.tensor(x, requires_grad=True) for x in arrays]
    y = call(*leaves)
    expected = call(*arrays)
    assert isinstance(y, wg.Tensor)
    np.testing.assert_allclose(y.detach(), expected, rtol=1e-13)
    used = leaves[-1:] if name in CONSTANT_FIRST else leaves
    slopes = wg.autograd.grad(y.sum(), used)
    for k, g in enumerate(slopes, len(leaves) - len(used)):
        h = 1e-6
        up, down = (
            call(*(x + s * h if i == k else x for i, x in enumerate(arrays))) for s in (1, -1)
        )
        np.testing.assert_allclose(g, (up - down) / (2 * h), rtol=1e-6, atol=1e-7)


def test_integers_become_double_under_scipys_names_and_the_default_dtype_under_pytorchs():
    n = wg.tensor([2, 3])
    assert special.gammaln(n).dtype == wg.float64
    assert wg.lgamma(n).dtype == wg.float32


def test_half_precision_stays_half():
    assert wg.lgamma(wg.tensor([2.5], dtype=wg.float16)).dtype == wg.float16


def test_logarithm_of_the_normal_distribution_is_accurate_far_to_the_left():
    x = wg.tensor([-1e3, -50.0, -5.0], dtype=wg.float64, requires_grad=True)
    wg.special.log_ndtr(x).sum().backward()
    # The inverse Mills ratio, phi(x) / Phi(x), tends to -x - 1/x.
    np.testing.assert_allclose(x.grad[:2], [1e3 + 1e-3, 50 + 1 / 50], rtol=1e-5)


def test_recurrences_have_no_pole_at_zero():
    x = wg.zeros(1, dtype=wg.float64, requires_grad=True)
    for function, slopes in (
        (wg.special.bessel_j1, [0.5, 0.0, -0.375]),
        (wg.special.i1, [0.5, 0.0, 0.375]),
        (wg.special.i0, [0.0, 0.5, 0.0]),
    ):
        y = function(x)
        for expected in slopes:
            (y,) = wg.autograd.grad(y.sum(), x, create_graph=True)
            assert y.item() == pytest.approx(expected)


def test_zeta_is_differentiated_by_its_exponent():
    # zeta'(s) and zeta''(2), to many digits, by mpmath.
    mpmath = pytest.importorskip("mpmath")
    s = wg.tensor([1.1, 2.0, 3.5, 10.0, 30.0], dtype=wg.float64, requires_grad=True)
    for q in (1.0, 0.1, 7.5):
        (slope,) = wg.autograd.grad(wg.special.zeta(s, q).sum(), s, create_graph=True)
        (curve,) = wg.autograd.grad(slope.sum(), s)
        for x, *found in zip(s.tolist(), slope.tolist(), curve.tolist(), strict=True):
            expected = [float(mpmath.zeta(x, q, n)) for n in (1, 2)]
            assert found == pytest.approx(expected, rel=1e-11)


def test_the_slope_of_zeta_is_nan_where_zeta_is_none():
    s = wg.tensor([0.5, 2.0], dtype=wg.float64, requires_grad=True)
    q = wg.tensor([1.0, -0.5], dtype=wg.float64)
    wg.special.zeta(s, q).sum().backward()
    assert s.grad.isnan().all()


def test_degrees_may_be_tensors_and_broadcast():
    n = wg.tensor([[0], [1], [4]])
    x = wg.tensor(X[0], requires_grad=True)
    y = wg.special.legendre_polynomial_p(x, n)
    np.testing.assert_allclose(y.detach(), special.eval_legendre(n.numpy(), X[0]))
    y.sum().backward()
    np.testing.assert_allclose(x.grad, 1 + (35 * 4 * X[0] ** 3 - 30 * 2 * X[0]) / 8)


def test_multivariate_gamma_refuses_what_is_outside_its_domain():
    with pytest.raises(RuntimeError, match=r"greater than \(p-1\)/2 = 1.0.*smallest is 0.5"):
        wg.mvlgamma(wg.tensor([0.5, 2.0]), 3)


@pytest.mark.parametrize("name", ["gammaln", "erfinv", "i1", "xlogy"])
def test_vmap_and_compile_take_special_functions(name):
    function = getattr(wg.special, name)
    x = wg.tensor(X)

    def call(x):
        return function(x, x + 1) if name == "xlogy" else function(x)

    np.testing.assert_allclose(wg.vmap(call)(x), call(x), rtol=1e-12)
    value, g = wg.compile(wg.value_and_grad(lambda x: call(x).sum()))(x)
    expected, slope = wg.value_and_grad(lambda x: call(x).sum())(x)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(g, slope, rtol=1e-12)


def test_importing_wengert_does_not_import_scipy():
    check = "import wengert, sys; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], timeout=60).returncode == 0


def test_functions_that_have_other_names_in_special_are_found_there():
    # expit was lost from the namespace when sigmoid moved to the module of declared functions.
    special = wg.special
    for name, same in (("expit", "sigmoid"), ("gammaln", "lgamma"), ("psi", "digamma")):
        assert getattr(special, name) is getattr(wg, same)
    assert special.modified_bessel_i0 is wg.i0


@pytest.mark.parametrize("count", [100, 10_000, 40_000])  # by NumPy, in short and in long blocks
def test_erfinv_of_single_precision_is_within_three_units_in_the_last_place(count):
    near_one = 1 - 10 ** -np.linspace(1, 7, count // 4)
    x = np.concatenate([np.linspace(-1, 1, count), near_one]).astype(np.float32)
    expected = special.erfinv(x.astype(np.float64))
    found = wg.erfinv(wg.tensor(x)).numpy()
    finite = np.isfinite(expected)
    units = np.finfo(np.float32).eps * np.abs(expected[finite])
    assert (np.abs(found[finite] - expected[finite]) <= 3 * units).all()
    assert (found[~finite] == expected[~finite]).all()
    assert np.isnan(wg.erfinv(wg.tensor([1.5, np.nan])).numpy()).all()


@pytest.mark.parametrize(("dtype", "units"), [("float32", 4), ("float64", 6)])
def test_the_derivative_of_digamma_is_a_formula_on_both_sides_of_zero(dtype, units):
    x = np.concatenate([np.linspace(-9.87, 30.1, 9001), 10 ** np.linspace(-5, 8, 1000)])
    x = x[(x > 0) | (np.abs(x - np.round(x)) > 1e-2)].astype(dtype)
    expected = special.polygamma(1, x.astype(np.float64))
    found = wg.polygamma(1, wg.tensor(x)).numpy()
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=units * np.finfo(dtype).eps)
    assert wg.polygamma(1, wg.tensor([0.0, -3.0])).tolist() == [np.inf, np.inf]


def test_whole_numbers_of_degrees_do_not_round_what_is_computed_from_them():
    # A half beside degrees that were integers was 0, and so was the density of Student's t.
    x = wg.tensor([0.3, -1.2], dtype=wg.float64, requires_grad=True)
    wg.autograd.grad(special.stdtr(6, x).sum(), x)
    for n in (6, np.array([6, 6])):
        (slope,) = wg.autograd.grad(special.stdtr(n, x).sum(), x)
        np.testing.assert_allclose(slope, stats.t.pdf(x.detach().numpy(), 6))


@pytest.mark.parametrize(
    ("call", "of"),
    [
        (lambda v: special.jv(v, 0.3), "jv: its argument order"),
        (lambda v: special.kv(v, v), "kv: its argument order"),
        (lambda v: special.hyp2f1(v, 1.0, 2.0, 0.3), "hyp2f1: its argument a"),
        (lambda v: special.eval_hermite(v, v), "hermite: its argument order"),
    ],
)
def test_parameters_without_a_derivative_are_refused_in_both_modes(call, of):
    # The tensor went to SciPy again and again, RecursionError; in forward mode the tangent of what
    # a rule says nothing of was lost: zero.
    for transform in (wg.grad, lambda f: lambda v: wg.jvp(f, (v,), (1.0,))):
        with pytest.raises(wg.errors.MissingRuleError, match=of):
            transform(call)(1.2)


def test_many_orders_of_one_argument_add_up_in_its_gradient():
    # The gradient of a number had the shape of the orders.
    x = wg.tensor(0.7, dtype=wg.float64, requires_grad=True)
    (slope,) = wg.autograd.grad(special.jv(np.arange(3), x).sum(), x)
    assert slope.shape == ()
    assert slope.item() == pytest.approx(special.jvp(np.arange(3), 0.7).sum())
    orders = wg.tensor([0.0, 1.0, 2.0], dtype=wg.float64)
    assert special.jv(orders, x).tolist() == pytest.approx(special.jv(np.arange(3), 0.7).tolist())


def test_numbers_stand_beside_tensors_among_three_arguments():
    # An int has no shape: AttributeError.
    x = wg.tensor([0.3, 0.6], dtype=wg.float64, requires_grad=True)
    (slope,) = wg.autograd.grad(special.betainc(2, 3.0, x).sum(), x)
    np.testing.assert_allclose(slope, stats.beta.pdf(x.detach().numpy(), 2, 3))
    special.betainc(2, x, 0.4).sum().backward()
    assert x.grad.shape == (2,)
