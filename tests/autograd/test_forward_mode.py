"""Forward mode: dual tensors, levels, views and writes, custom functions, lifetime."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest

import wengert as wg
from wengert.autograd import forward_ad as fw
from wengert.errors import ForwardModeError, MissingRuleError

P, T = [1.0, 2.0, 3.0], [0.5, -1.0, 2.0]


def dual(p=P, t=T):
    return fw.make_dual(wg.tensor(p), wg.tensor(t))


def tangent(x):
    t = fw.unpack_dual(x).tangent
    return None if t is None else t.tolist()


# ---- levels --------------------------------------------------------------------------------


def test_a_level_has_the_number_0_and_does_not_nest():
    with fw.dual_level() as level:
        assert level == 0
        with pytest.raises(RuntimeError, match="Nested forward mode AD"), fw.dual_level():
            pass
        assert tangent(dual()) == T  # the failed attempt has left nothing behind


def test_leaving_a_level_takes_the_tangents_away():
    with fw.dual_level():
        x = dual()
        y = x * 2
    assert fw.unpack_dual(y).tangent is None
    assert y._tangents == {} or not any(t is not None for t in y._tangents.values())
    with fw.dual_level():
        assert tangent(x) is None
        assert tangent(x * x) is None


def test_dual_tensors_need_a_level():
    with pytest.raises(RuntimeError, match="enter_dual_level"):
        dual()
    with pytest.raises(RuntimeError, match="level"):
        fw.exit_dual_level()


def test_levels_belong_to_a_thread():
    found = []

    def elsewhere():
        found.append(fw.unpack_dual(x * x).tangent)
        with fw.dual_level():
            found.append(tangent(dual()))

    with fw.dual_level():
        x = dual()
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        assert tangent(x) == T
    assert found == [None, T]


# ---- making and unpacking ------------------------------------------------------------------


def test_the_tangent_is_used_as_it_is():
    with fw.dual_level():
        p, t = wg.tensor(P), wg.tensor(T)
        x = fw.make_dual(p, t)
        assert fw.unpack_dual(x).tangent is t
        assert fw.unpack_dual(p).tangent is None
        assert fw.unpack_dual(x).primal is not p
        assert fw.unpack_dual(x).primal._version == p._version
        x.mul_(2)
        assert p.tolist() == [2, 4, 6]
        assert t.tolist() == [1, -2, 4]


def test_a_tangent_that_lies_otherwise_in_memory_is_copied():
    with fw.dual_level():
        for p, t in [
            (wg.ones(2, 3), wg.ones(3, 2).t()),
            (wg.ones(3), wg.ones(6)[::2]),
            (wg.ones(3), wg.ones(4)[1:]),
        ]:
            x = fw.make_dual(p, t)
            kept = fw.unpack_dual(x).tangent
            assert kept is not t
            kept.mul_(5)
            assert bool((t == 1).all())
            assert kept._array.strides == p._array.strides
        p, t = wg.ones(3, 1)[:, :0], wg.ones(0, 3).t()
        assert fw.unpack_dual(fw.make_dual(p, t)).tangent is t  # there is nothing to lie anywhere


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda: fw.make_dual(wg.ones(3), wg.ones(4)), RuntimeError, "has a different size"),
        (
            lambda: fw.make_dual(wg.ones(3), dual()),
            RuntimeError,
            "forward gradient at the",
        ),
        (
            lambda: fw.make_dual(dual(), wg.ones(3)),
            RuntimeError,
            "forward gradient at the",
        ),
        (
            lambda: fw.make_dual(wg.arange(3), wg.ones(3)),
            ValueError,
            "Expected primal to be",
        ),
        (
            lambda: fw.make_dual(wg.ones(3), wg.arange(3)),
            ValueError,
            "Expected tangent to be",
        ),
        (lambda: np.asarray(dual()), RuntimeError, "carries a tangent"),
        (lambda: np.add(dual(), 1, out=np.ones(3)), NotImplementedError, "out= function"),
        (lambda: wg.add(wg.ones(3), 1, out=dual()), NotImplementedError, "out= function"),
        (lambda: np.frompyfunc(abs, 1, 1)(dual()), MissingRuleError, "carries a tangent"),
    ],
)
def test_what_cannot_be_is_said(make, error, match):
    with fw.dual_level(), pytest.raises(error, match=match):
        make()


def test_printing_shows_the_tangent():
    with fw.dual_level():
        x = dual()
        assert repr(x) == f"tensor([1., 2., 3.], tangent={wg.tensor(T)!r})"
        assert repr(fw.unpack_dual(x)) == (
            f"UnpackedDualTensor(primal={wg.tensor(P)!r}, tangent={wg.tensor(T)!r})"
        )


# ---- modes and history ---------------------------------------------------------------------


def test_no_grad_does_not_stop_tangents_and_detach_does():
    with fw.dual_level():
        x = dual()
        with wg.no_grad():
            assert tangent(x * 2) == [1, -2, 4]
        assert tangent(x.detach()) is None
        x = x * 1
        x.detach_()
        assert tangent(x) is None


def test_gradients_of_the_parts_go_to_the_parts():
    with fw.dual_level():
        p, t = wg.tensor(P, requires_grad=True), wg.tensor(T, requires_grad=True)
        x = fw.make_dual(p, t)
        value, slope = fw.unpack_dual((x**3).sum())
        gp, gt = wg.autograd.grad(slope, (p, t), retain_graph=True)
        np.testing.assert_allclose(fw.unpack_dual(gp).primal.tolist(), 6 * np.multiply(P, T))
        np.testing.assert_allclose(gt.tolist(), 3 * np.square(P))
        (gp,) = wg.autograd.grad(value, p)
        np.testing.assert_allclose(gp.tolist(), 3 * np.square(P))


def test_a_gradient_inside_of_a_level_carries_the_hessian_product():
    with fw.dual_level():
        p = wg.tensor(P, requires_grad=True)
        x = fw.make_dual(p, wg.tensor(T))
        (g,) = wg.autograd.grad((x.tanh() * x.exp()).sum(), p)
        expected = wg.hvp(lambda x: (x.tanh() * x.exp()).sum(), wg.tensor(P), wg.tensor(T))
        np.testing.assert_allclose(fw.unpack_dual(g).tangent.tolist(), expected.tolist(), rtol=1e-6)


def test_backward_inside_of_a_level_leaves_numbers_in_grad():
    with fw.dual_level():
        p = wg.tensor(P, requires_grad=True)
        for _ in range(2):
            (fw.make_dual(p, wg.tensor(T)) ** 2).sum().backward()
        assert p.grad.tolist() == [4, 8, 12]
        assert fw.unpack_dual(p.grad).tangent is None


def test_comparisons_pass():
    with fw.dual_level():
        x = dual()
        assert (x > 1).tolist() == [False, True, True]
        assert tangent(x.eq_(x)) == [0, 0, 0]


# ---- views and writes ----------------------------------------------------------------------


def test_a_view_of_a_dual_has_a_view_of_its_tangent():
    with fw.dual_level():
        x = dual()
        t = fw.unpack_dual(x).tangent
        v = x[1:]
        assert fw.unpack_dual(v).tangent._base is t
        v.mul_(3)
        assert tangent(x) == [0.5, -3, 6]
        assert t.tolist() == [0.5, -3, 6]


@pytest.mark.parametrize(
    "write", [lambda v, x: v.copy_(x), lambda v, x: v.add_(x), lambda v, x: v.mul_(0).add_(x)]
)
@pytest.mark.parametrize("view", [lambda x: x[1:], lambda x: x[::2], lambda x: x.view(3)[:2]])
def test_writing_a_dual_into_a_view_gives_the_base_a_tangent(view, write):
    with fw.dual_level():
        base = wg.zeros(3)
        earlier = base[:]
        part = view(base)
        write(part, dual([1.0, 1.0], [7.0, 8.0]))
        whole = fw.unpack_dual(base).tangent
        assert tangent(part) == [7, 8]
        assert sorted(whole.tolist()) == [0, 7, 8]
        assert fw.unpack_dual(part).tangent._base is whole
        part.mul_(2)
        assert sorted(whole.tolist()) == [0, 14, 16]
        assert sorted(tangent(earlier)) == [0, 14, 16]
        base.mul_(2)
        assert tangent(part) == [28, 32]


def test_a_detached_view_does_not_write_tangents_back():
    with fw.dual_level():
        base = wg.zeros(3)
        base.detach()[1:].copy_(dual([1.0, 1.0], [7.0, 8.0]))
        assert tangent(base) is None


def test_views_taken_before_a_write_see_its_tangent():
    with fw.dual_level():
        y = wg.zeros(4)
        w = y[:2]
        y.add_(dual([1.0] * 4, [0.0, 1.0, 2.0, 3.0]))
        assert tangent(w) == [0, 1]
        y.copy_(wg.ones(4))
        assert tangent(w) == [0, 0]


def test_copy_broadcasts_the_tangent_and_shares_nothing():
    with fw.dual_level():
        x = dual()
        y = wg.zeros(2, 3).copy_(x)
        assert tangent(y) == [T, T]
        y.mul_(100)
        assert tangent(x) == T
        z = x + 0
        z += x
        assert tangent(x) == T


def test_shapes_changed_in_place_change_the_tangent():
    with fw.dual_level():
        x = fw.make_dual(wg.ones(2, 3), wg.arange(6.0).view(2, 3))
        x.t_()
        assert tangent(x) == [[0, 3], [1, 4], [2, 5]]
        x.unsqueeze_(0)
        assert np.shape(tangent(x)) == (1, 3, 2)


def test_inference_mode_writes_through_to_the_primal():
    with wg.inference_mode():
        p = wg.tensor(P)
        with fw.dual_level():
            x = fw.make_dual(p, wg.tensor(T))
            assert not x._is_view()
            x += 1
            assert tangent(x * 2) == [1, -2, 4]
        assert p.tolist() == [2, 3, 4]


# ---- lifetime ------------------------------------------------------------------------------


def test_dropping_a_dual_frees_its_tangent_at_once():
    gc.disable()
    try:
        with fw.dual_level():
            t = wg.tensor(T)
            gone = weakref.ref(t)
            x = fw.make_dual(wg.tensor(P), t)
            y = x * x
            del t
            assert gone() is not None
            del x, y
            assert gone() is None
    finally:
        gc.enable()


def test_leaving_a_level_with_cycles_does_not_hang():
    with fw.dual_level():
        x = fw.make_dual(wg.tensor(P, requires_grad=True), wg.tensor(T, requires_grad=True))
        y = x.exp()
        y.itself = y
    gc.collect()
    assert fw.unpack_dual(y).tangent is None


# ---- custom functions ----------------------------------------------------------------------


class Cube(wg.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        ctx.save_for_forward(x)
        ctx.save_for_backward(x)
        return factor * x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * ctx.factor * x**2 * g, None

    @staticmethod
    def jvp(ctx, t, none):
        assert none is None
        (x,) = ctx.saved_tensors
        return 3 * ctx.factor * x**2 * t


def test_a_custom_function_pushes_by_its_jvp_in_all_mixes():
    x = wg.tensor(P, dtype=wg.float64)

    def f(x):
        return Cube.apply(x, 2.0).sum()

    expected = np.diag(12 * x.numpy())
    for outer in (wg.jacrev, wg.func.jacfwd):
        for inner in (wg.jacrev, wg.func.jacfwd):
            np.testing.assert_allclose(outer(inner(f))(x).numpy(), expected)


def test_a_function_without_jvp_says_so_when_applied():
    class Forgetful(wg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    with fw.dual_level(), pytest.raises(RuntimeError, match="must implement the jvp"):
        Forgetful.apply(dual())
    x = wg.tensor(P)

    def f(x):
        return (Forgetful.apply(x) ** 2).sum()

    np.testing.assert_array_equal(wg.hessian(f)(x).numpy(), 8 * np.eye(3))
    assert wg.hvp(f, x, wg.ones(3)).tolist() == [8, 8, 8]


def test_what_jvp_reads_and_gets():
    seen = []

    class Two(wg.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a)
            return a + b, a.detach() * 1

        @staticmethod
        def jvp(ctx, ta, tb):
            seen.append((ctx.saved_tensors, ta.tolist(), tb.tolist()))
            return ta + tb, None

    with fw.dual_level():
        y, z = Two.apply(dual(), wg.ones(3))
        assert (tangent(y), tangent(z)) == (T, None)
    assert seen == [((), T, [0, 0, 0])]


def custom(forward, jvp):
    def run(ctx, x):
        return forward(ctx, x)

    members = {"forward": staticmethod(run), "jvp": staticmethod(jvp)}
    return type("F", (wg.autograd.Function,), members)


def _dirty(ctx, x):
    ctx.mark_dirty(x)
    return x.mul_(2)


@pytest.mark.parametrize(
    ("forward", "jvp", "match"),
    [
        (lambda ctx, x: x[:2], lambda ctx, t: t[:2].clone(), "not returning a view"),
        (lambda ctx, x: x[:2], lambda ctx, t: wg.zeros(3)[:2], "view of the given grad input"),
        (lambda ctx, x: x, lambda ctx, t: t, r"returning a view \(or an input as-is\)"),
        (lambda ctx, x: x, lambda ctx, t: wg.zeros(3), r"returning a view \(or an input as-is\)"),
        (_dirty, lambda ctx, t: t * 2, "not modifying the forward mode gradients inplace"),
        (
            _dirty,
            lambda ctx, t: t.mul_(2).clone(),
            "not returning the forward mode gradients",
        ),
        (lambda ctx, x: x * 2, lambda ctx, t: (t, t), "invalid number of forward gradients"),
        (lambda ctx, x: x * 2, lambda ctx, t: t[:1], "has a different size"),
    ],
)
def test_the_results_of_jvp_are_checked(forward, jvp, match):
    with fw.dual_level(), pytest.raises(ForwardModeError, match=match):
        custom(forward, jvp).apply(dual() * 1)


def test_views_and_writes_in_custom_functions_keep_their_tangents():
    with fw.dual_level():
        x = dual()
        y = custom(lambda ctx, x: x[:2], lambda ctx, t: t[:2]).apply(x)
        assert tangent(y) == T[:2]
        z = custom(_dirty, lambda ctx, t: t.mul_(2)).apply(x)
        assert z is x
        assert tangent(x) == [1, -2, 4]
        assert tangent(y) == [1, -2]


# ---- errors are raised where the user can see them -----------------------------------------


def test_hooks_on_saved_tensors_keep_tangents():
    def f(x):
        with wg.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            return (x.tanh() * x.exp()).sum()

    x, v = wg.tensor(P, dtype=wg.float64), wg.tensor(T, dtype=wg.float64)
    expected = wg.hvp(lambda x: (x.tanh() * x.exp()).sum(), x, v)
    np.testing.assert_allclose(wg.hvp(f, x, v).numpy(), expected.numpy())
