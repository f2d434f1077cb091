"""A function of each form, added at run time by one statement, works wherever functions do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.special

import wengert as wg
from wengert.rules.rule import RULES
from wengert.sparse.derivatives import sparse_jacobian

elementwise, linear, general = wg.primitive.elementwise, wg.primitive.linear, wg.primitive.general
same = np.testing.assert_allclose
RNG = np.random.default_rng(0)
pytestmark = pytest.mark.usefixtures("table")


# ---- the forms -----------------------------------------------------------------------------------


def swell(opaque):
    @elementwise(lambda t, x, y: t * (np.exp(x) + y), names="added", opaque=opaque)
    def swell(x):
        return x * np.exp(x)

    return swell


def blend(opaque):
    @elementwise(
        lambda t, b: t * b * b, lambda t, a, b: 2 * t * a * b, names="added", opaque=opaque
    )
    def blend(a, b):
        return a * b * b

    return blend


def onwards(opaque):
    def backwards(g, axis):
        return np.flip(np.cumsum(np.flip(g, axis), axis), axis)

    @linear(backwards, names="added", axis="axis", opaque=opaque)
    def onwards(x, axis=-1):
        return np.cumsum(x, axis)

    return onwards


def rms(opaque):
    def share(x, y, axis):
        return x / (x.shape[axis] * np.expand_dims(y, axis))

    @general(
        reverse={"x": lambda g, x, y, axis: np.expand_dims(g, axis) * np.conj(share(x, y, axis))},
        forward={"x": lambda t, x, y, axis: np.sum(t * share(x, y, axis), axis)},
        axis="axis",
        names="added",
        opaque=opaque,
    )
    def rms(x, axis=-1):
        return np.sqrt(np.mean(x * x, axis))

    return rms


def collect(opaque):
    @linear(lambda g, index, x_shape: spread(g, index, x_shape), None, names="added", opaque=opaque)
    def collect(x, index):
        return x[index]

    @linear(lambda h, index: collect(h, index), None, opaque=opaque)
    def spread(g, index, shape):
        out = np.zeros_like(g, shape=shape)
        np.add.at(out, index, g)
        return out

    return collect


def spence(opaque):
    return elementwise(lambda t, x: t * np.log(x) / (1 - x), names="added")(scipy.special.spence)


class Form(NamedTuple):
    declare: Callable[[bool], Any]
    x: Any
    others: tuple[Any, ...] = ()
    opaque: bool = False
    complex: bool = True


LINE, TABLE, PLACES = RNG.uniform(0.2, 2, 3), RNG.uniform(0.2, 2, (4, 3)), np.array([2, 0, 2])
FORMS = {
    f"{form.declare.__name__}{', opaque' * opaque}": form._replace(opaque=opaque)
    for form in (
        Form(swell, LINE),
        Form(blend, LINE, (RNG.uniform(1, 2, 3),)),
        Form(onwards, TABLE, (0,)),
        Form(rms, TABLE, (0,)),
        Form(collect, LINE, (PLACES,)),
    )
    for opaque in (False, True)
} | {"a ufunc": Form(spence, LINE, complex=False)}
ELEMENTWISE = swell, spence

each_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def function_of(form: Form) -> tuple[Any, Any, Any]:
    """The function, and its public one of a tensor; the numbers that both give."""
    function = form.declare(form.opaque)
    others = [wg.tensor(v) if isinstance(v, np.ndarray) else v for v in form.others]
    return function, lambda x: wg.added(x, *others), function(form.x, *form.others)


# ---- where they work -----------------------------------------------------------------------------


@each_form
def test_it_has_all_its_names_and_writes_where_it_is_told_to(form):
    function, added, expected = function_of(form)
    x, out = wg.tensor(form.x), wg.empty(0, dtype=wg.float64)
    others = [wg.tensor(v) if isinstance(v, np.ndarray) else v for v in form.others]
    assert wg.added(x, *others, out=out) is out
    for y in (function(x, *others), added(x), x.added(*others), out):
        same(y, expected)
    if RULES[function].inplace:
        y = x.clone().requires_grad_().clone()
        assert y.added_(*others) is y
        assert y.grad_fn is not None
        same(y.detach(), expected)


@each_form
def test_it_is_differentiated_to_every_order_in_batches_and_for_complex_numbers(form):
    _, added, _ = function_of(form)
    first = {"check_forward_ad": True, "check_batched_grad": True}
    turned = form.x * np.exp(0.3j)
    for x in (form.x, turned) if form.complex else (form.x,):
        x = wg.tensor(x, requires_grad=True)
        real = {"check_batched_forward_grad": True} if not x.is_complex() else {}
        assert wg.autograd.gradcheck(added, x, **first, **real)
        assert wg.autograd.gradgradcheck(added, x, check_fwd_over_rev=True)
    x = wg.tensor(form.x)
    third = wg.jacrev(wg.jacrev(wg.jacrev(added)))(x)
    same(third, wg.jacfwd(wg.jacfwd(wg.jacfwd(added)))(x), atol=1e-12)
    same(third, wg.jacfwd(wg.jacrev(wg.jacfwd(added)))(x), atol=1e-12)


@each_form
def test_it_is_batched_traced_compiled_and_sparse(form):
    function, added, expected = function_of(form)
    x = wg.tensor(form.x)

    def loss(x):
        return (added(x) ** 2).sum()

    gradient = wg.grad(loss)
    rows = wg.stack([x, x + 0.1])
    same(wg.vmap(added)(rows), [added(row) for row in rows])
    same(wg.vmap(gradient)(rows), [gradient(row) for row in rows])

    same(wg.compile(added)(x), expected)
    same(wg.compile(gradient)(x), gradient(x))
    same(wg.compile(lambda x: wg.jvp(added, (x,), (x,))[1])(x), wg.jvp(added, (x,), (x,))[1])
    same(wg.compile(wg.vmap(gradient))(rows), wg.vmap(gradient)(rows))

    def flat(v):
        return np.ravel(function(np.reshape(v, form.x.shape), *form.others))

    v = form.x.ravel()
    jacobian = sparse_jacobian(flat, np.ones(form.x.size))
    same(jacobian(v).toarray(), wg.jacrev(flat)(v))
    if form.declare in ELEMENTWISE:
        assert jacobian(v).nnz == v.size


@pytest.mark.parametrize("form", [f for f in FORMS.values() if f.declare in ELEMENTWISE])
def test_an_elementwise_one_has_a_formula(form):
    # An opaque one had none: what it consists of is not known, but its name and its rule are.
    function, *_ = function_of(form)
    formula = wg.symbolic.formula(lambda x: 2 * function(x))
    same([formula(0.5), formula.derivative()(0.5)], [2 * function(0.5), 2 * wg.grad(function)(0.5)])
    same(formula.derivative().derivative()(0.5), 2 * wg.grad(wg.grad(function))(0.5), rtol=1e-12)
    same(formula(form.x), 2 * function(form.x))
    if form.opaque:
        assert str(formula) == "2*swell(x)"
