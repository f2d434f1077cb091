"""One statement of a function: its derivative and its names. From it follows everything else."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import scipy.special

import wengert as wg
from wengert.errors import MissingRuleError
from wengert.sparse.derivatives import sparse_jacobian

RNG = np.random.default_rng(0)


pytestmark = pytest.mark.usefixtures("table")


def swelling():
    @wg.primitive.elementwise(lambda t, x, y: t * (np.exp(x) + y), names="swell swollen")
    def swell(x):
        """x exp(x)."""
        return x * np.exp(x)

    return swell


def real(*shape):
    return wg.tensor(RNG.standard_normal(shape), requires_grad=True)


def test_an_elementwise_function_is_one_statement():
    swell = swelling()
    x = real(3)
    expected = x.detach().numpy() * np.exp(x.detach().numpy())
    slope = expected + np.exp(x.detach().numpy())

    # under its own name on arrays and tensors, under its public ones on tensors
    np.testing.assert_array_equal(swell(x.detach().numpy()), expected)
    for y in (swell(x), wg.swell(x), wg.swollen(x), x.swell(), x.swollen()):
        np.testing.assert_array_equal(y.detach().numpy(), expected)
        assert type(y.grad_fn).__name__ == "SwellBackward0"
        np.testing.assert_allclose(wg.autograd.grad(y.sum(), x)[0].numpy(), slope)
    assert (wg.swell.__name__, wg.swell.__doc__) == ("swell", "x exp(x).")
    assert pickle.loads(pickle.dumps(wg.swell)) is wg.swell
    assert wg.swell(wg.tensor([1, 2])).dtype == wg.float32

    # written into a tensor
    out = wg.empty(0, dtype=wg.float64)
    assert wg.swell(x.detach(), out=out) is out
    np.testing.assert_array_equal(out.numpy(), expected)
    for write in (wg.swell_, wg.Tensor.swell_, wg.Tensor.swollen_):
        y = x.clone()
        assert write(y) is y
        np.testing.assert_allclose(wg.autograd.grad(y.sum(), x)[0].numpy(), slope)
    with pytest.raises(TypeError, match=r"swell_\(\): argument 'input' .* must be a Tensor"):
        wg.swell_([1.0])


def test_it_is_differentiated_in_both_directions_to_every_order_real_and_complex():
    swelling()
    both = {"check_forward_ad": True, "check_batched_grad": True}
    for x in (real(4), wg.tensor(RNG.standard_normal(4) + 1j, requires_grad=True)):
        assert wg.autograd.gradcheck(wg.swell, x, **both)
        assert wg.autograd.gradgradcheck(wg.swell, x, check_fwd_over_rev=True)
    third = wg.grad(wg.grad(wg.grad(lambda x: wg.swell(x))))(wg.tensor(0.5))
    np.testing.assert_allclose(third, (0.5 + 3) * np.exp(0.5), rtol=1e-6)


def test_it_is_batched_traced_compiled_sparse_and_symbolic():
    swell = swelling()
    x = real(5, 3)
    np.testing.assert_array_equal(wg.vmap(wg.swell)(x).detach(), wg.swell(x).detach())

    def loss(x):
        return wg.swell(x).sum()

    x = x.detach()
    written = wg.compile(lambda x: x.clone().swell_())(x)
    np.testing.assert_allclose(written, wg.swell(x), rtol=1e-14)
    gradient = wg.compile(wg.grad(loss))
    np.testing.assert_allclose(gradient(x), wg.grad(loss)(x), rtol=1e-12)
    assert "np.exp" in str(gradient.program)  # the body, which is NumPy code, was traced

    jacobian = sparse_jacobian(lambda x: swell(x), np.ones(4))
    assert jacobian(np.ones(4)).nnz == 4
    np.testing.assert_allclose(jacobian(np.ones(4)).toarray(), 2 * np.e * np.eye(4))

    formula = wg.symbolic.formula(lambda x: swell(x))
    np.testing.assert_allclose(formula.derivative("x")(0.5), 1.5 * np.exp(0.5))


def test_a_function_of_two_tensors_takes_numbers_as_well():
    @wg.primitive.elementwise(lambda t, b: t * b, lambda t, a: t * a, names="blend")
    def blend(a, b):
        return a * b

    x, w = real(3), real(2, 3)
    assert wg.autograd.gradcheck(wg.blend, (x, w), check_forward_ad=True)
    y = w.clone()
    assert y.blend_(2.0) is y
    np.testing.assert_array_equal(wg.blend(w, 2.0).detach(), y.detach())
    with wg.no_grad():
        np.testing.assert_array_equal(w.clone().blend_(w).detach(), (w * w).detach())
    with pytest.raises(TypeError, match=r"blend\(\) takes tensors and numbers, got Tensor and str"):
        wg.blend(x, "2")


def test_a_function_of_more_arguments_has_them_under_its_names():
    @wg.primitive.elementwise(lambda t, x, by: t * by, names="lift")
    def lift(x, by=2.0):
        return x * by

    x = real(3)
    np.testing.assert_array_equal(wg.lift(input=x, by=3.0).detach(), (x * 3).detach())
    np.testing.assert_array_equal(x.clone().lift_(3.0).detach(), x.lift(3.0).detach())
    with pytest.raises(TypeError, match="multiple values for argument 'by'"):
        x.lift(3.0, by=2.0)
    with pytest.raises(TypeError, match="does not take the argument times"):
        x.lift(times=2.0)


@pytest.mark.parametrize("opaque", [False, True])
def test_a_function_with_an_axis_is_one_statement(opaque):
    calls = []

    def backwards(g, axis):
        return np.flip(np.cumsum(np.flip(g, axis), axis), axis)

    @wg.primitive.linear(backwards, names="onwards", axis="axis", opaque=opaque)
    def onwards(x, axis=-1):
        """Sums from the first element to each."""
        if type(x) is np.ndarray:
            calls.append(x.shape)
        return np.cumsum(x, axis)

    x = real(4, 3, 2)
    for dim in (0, 1, -1):
        expected = np.cumsum(x.detach().numpy(), dim)
        out = wg.empty(0, dtype=wg.float64)
        wg.onwards(x.detach(), dim=dim, out=out)
        for y in (wg.onwards(x, dim), x.onwards(dim=dim), onwards(x, axis=dim), out):
            np.testing.assert_array_equal(y.detach().numpy(), expected)
        calls.clear()
        batched = wg.vmap(lambda x, dim=dim: wg.onwards(x, dim % 2))(x)
        assert len(calls) == 1  # for all examples
        np.testing.assert_array_equal(batched.detach(), wg.onwards(x, dim % 2 + 1).detach())
        compiled = wg.compile(lambda x, dim=dim: x.onwards(dim))
        np.testing.assert_array_equal(compiled(x.detach()), expected)
    assert x.onwards().shape == x.shape
    assert wg.autograd.gradcheck(
        lambda x: x.onwards(1), x, check_forward_ad=True, check_batched_grad=True
    )
    assert not hasattr(x, "onwards_")
    with pytest.raises(IndexError, match="Dimension out of range"):
        x.onwards(3)
    with pytest.raises(TypeError, match="axis='axes' is to name one of its arguments, x, axis"):
        wg.primitive.linear(backwards, axis="axes")(lambda x, axis=-1: x)


def test_what_an_argument_is_called_says_nothing_of_what_it_is():
    # Beside axis=, what was called `shape` got the batch in front under vmap, without an error; an
    # axis of another name was no `dim`; `self` was refused as if it had been given twice.
    def fill(g, whole, over):
        return np.broadcast_to(np.expand_dims(g, over), whole)

    @wg.primitive.linear(
        lambda g, self_shape, over: spread(g, self_shape, over), axis="over", names="whole"
    )
    def whole(self, over):
        return np.sum(self, over)

    spread = wg.primitive.linear(
        lambda g, over: whole(g, over), None, None, axis="over", shape="whole"
    )(fill)

    x = real(4, 3, 2)
    for dim in (0, -1):
        np.testing.assert_array_equal(x.whole(dim=dim).detach(), whole(self=x, over=dim).detach())
        np.testing.assert_array_equal(wg.whole(x, dim).detach(), x.sum(dim).detach())
        f = lambda x, dim=dim: x.whole(dim) ** 2
        assert wg.autograd.gradcheck(f, x, check_forward_ad=True, check_batched_grad=True)
        assert wg.autograd.gradgradcheck(f, x)
    filled = wg.vmap(lambda row: spread(row, (3, 2), 0))(x[:, 0])
    np.testing.assert_array_equal(filled.detach(), fill(x[:, 0].detach().numpy(), (4, 3, 2), 1))

    @wg.primitive.linear(lambda g, shape: g * sum(shape), axis="axis")
    def weighed(x, shape, axis=-1):
        return x * sum(shape)

    np.testing.assert_array_equal(
        wg.vmap(lambda row: weighed(row, (2, 3), 0))(x).detach(), 5 * x.detach()
    )


@pytest.mark.parametrize(
    ("function", "means"),
    [
        (lambda y: y, "y, which means the result of the function"),
        (lambda x, out: x, "out, which means the tensor that a result is written into"),
        (lambda a, a_dtype: a, "a_dtype, which means the dtype of a"),
        (lambda x, x_shape: x, "x_shape, which means the shape of x"),
    ],
    ids=["y", "out", "a_dtype", "x_shape"],
)
def test_an_argument_whose_name_means_something_else_is_refused(function, means):
    # Of an argument called a_dtype rules took what was passed for the dtype of a.
    with pytest.raises(TypeError, match=f"an argument is called {means}"):
        wg.primitive.elementwise(lambda t: t)(function)


def test_forward_mode_of_a_rule_for_reverse_mode_alone_is_an_error_that_says_so():
    @wg.primitive.general(reverse={"x": lambda g, x: g * (np.absolute(x) < 1)})
    def capped(x):
        return np.clip(x, -1, 1)

    x = np.array([0.5, 2.0])
    np.testing.assert_array_equal(wg.grad(lambda x: capped(x).sum())(x), [1, 0])
    np.testing.assert_array_equal(wg.jacrev(capped)(x), np.diag([1.0, 0.0]))
    with pytest.raises(MissingRuleError, match=r"capped has a rule for reverse mode alone.*jacrev"):
        wg.jvp(capped, (x,), (x,))
    with pytest.raises(TypeError, match="Both directions are stated"):
        wg.primitive.general(reverse={"x": lambda g: g}, forward={})(lambda x: copy.copy(x))


def test_a_name_that_has_a_meaning_is_refused():
    for taken in ("exp", "fill", "swell add"):  # exp, fill_ and add are methods
        with pytest.raises(ValueError, match="has a meaning in wengert already"):
            wg.primitive.elementwise(lambda t: t, names=taken)(lambda x: 1 * x)
    assert not hasattr(wg, "swell")


def test_a_ufunc_has_a_rule_by_the_same_statement():
    spence = wg.primitive.elementwise(lambda t, x: t * np.log(x) / (1 - x))(scipy.special.spence)
    assert spence is scipy.special.spence
    x = wg.tensor([0.5, 1.5], dtype=wg.float64, requires_grad=True)
    y = spence(x)
    assert type(y.grad_fn).__name__ == "SpenceBackward0"
    np.testing.assert_array_equal(wg.vmap(spence)(x).detach(), y.detach())
    assert wg.autograd.gradcheck(spence, x, check_forward_ad=True)
    assert wg.autograd.gradgradcheck(spence, x)
    slope = wg.compile(wg.grad(lambda x: spence(x).sum()))
    np.testing.assert_allclose(slope(x.detach()), wg.autograd.grad(y.sum(), x)[0], rtol=1e-14)
    formula = wg.symbolic.formula(lambda x: spence(x))
    np.testing.assert_allclose(formula.derivative()(0.5), 2 * np.log(0.5))


def test_a_ufunc_with_names_or_several_results_is_declared_as_a_function_is():
    expi = wg.primitive.elementwise(lambda t, x: t * np.exp(x) / x, names="expi")(
        scipy.special.expi
    )
    x = real(3)
    for same in (wg.expi(x), x.expi(), x.clone().expi_()):
        np.testing.assert_array_equal(same.detach(), expi(x.detach().numpy()))

    def slopes(x):
        return np.sin(np.pi * x * x / 2), np.cos(np.pi * x * x / 2)

    # What it is given as rules was called by compiled functions where they could not see it.
    fresnel = wg.primitive.general(
        outputs=2,
        reverse={"x": lambda g, x: sum(a * b for a, b in zip(g, slopes(x), strict=True))},
        forward={"x": lambda t, x: [t * slope for slope in slopes(x)]},
    )(scipy.special.fresnel)
    assert wg.autograd.gradcheck(fresnel, x, check_forward_ad=True, check_batched_grad=True)
    slope = wg.compile(wg.grad(lambda x: fresnel(x)[1].sum()))
    np.testing.assert_allclose(slope(x.detach()), slopes(x.detach().numpy())[1], rtol=1e-14)


def test_a_ufunc_that_a_rule_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"exp: it has a rule already.*def f\(x\): return"):
        wg.primitive.elementwise(lambda t, y: t * y)(np.exp)
    special, elementwise = scipy.special, wg.primitive.elementwise
    for declare, ufunc, message in (
        (elementwise(lambda t: t), special.sici, r"outputs=2\)"),
        (wg.primitive.linear(lambda g: g), np.vecdot, r"it works on \(n\),\(n\)->\(\)"),
        (elementwise(lambda t: t, opaque=True), special.expi, "Leave out opaque and result"),
        (elementwise(lambda t, c: t), special.ellipeinc, "the rule for a asks for 'c'"),
    ):
        with pytest.raises(TypeError, match=message):
            declare(ufunc)
