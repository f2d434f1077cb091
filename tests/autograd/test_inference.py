"""Inference mode: tensors that autograd may never see, and normal tensors that pass through it."""

from __future__ import annotations

import copy
import pickle

import pytest

import wengert as wg
from wengert.errors import InferenceError, InplaceError


def made_inside(lib, *shape, **options):
    with lib.inference_mode():
        return lib.ones(*shape, **options)


def tracked(lib, *shape):
    return lib.ones(*shape, requires_grad=True) * 1


# ---- what is made inside -------------------------------------------------------------------


def test_tensors_created_inside_are_inference_tensors_for_ever(lib):
    t = made_inside(lib, 2)
    assert t.is_inference()
    assert not t.requires_grad
    assert t.is_leaf
    with lib.inference_mode():
        assert t.is_inference()
    assert not lib.ones(2).is_inference()


def test_they_have_no_version_counter(lib):
    t = made_inside(lib, 2)
    with pytest.raises(RuntimeError, match="do not track version counter"):
        t._version
    with lib.inference_mode():
        t.add_(1)
        with pytest.raises(RuntimeError, match="do not track version counter"):
            t._version


def test_a_factory_may_still_be_asked_for_requires_grad(lib):
    t = made_inside(lib, 2, requires_grad=True)
    assert t.is_inference()
    assert t.requires_grad
    assert t.is_leaf


def test_results_and_views_inside_are_inference_tensors_without_grad(lib):
    with lib.inference_mode():
        t = lib.ones(2, 2, requires_grad=True)
        for result in (
            t * 2,
            t + t,
            t.sum(),
            t.view(-1),
            t[0],
            t.t(),
            t.unbind()[0],
            t.detach(),
            t.clone(),
        ):
            assert result.is_inference()
            assert not result.requires_grad
            assert result.is_leaf
        assert not t.view(-1)._is_view()


def test_results_that_have_no_derivative_are_inference_tensors_too(lib):
    with lib.inference_mode():
        t = lib.ones(2)
        assert (t > 0).is_inference()
        assert t.argmax().is_inference()
        assert lib.zeros_like(t).is_inference()
        assert lib.tensor([1.0]).is_inference()


def test_an_in_place_operation_inside_leaves_the_tensor_what_it_was(lib):
    with lib.inference_mode():
        t = lib.ones(2, requires_grad=True)
        assert t.add_(1) is t
        t[0] = 5
        assert t.is_inference()
        assert t.requires_grad
    assert t.tolist() == [5, 2]


# ---- normal tensors inside -----------------------------------------------------------------


def test_functional_results_of_normal_tensors_inside_are_inference_tensors(lib):
    a = tracked(lib, 2)
    with lib.inference_mode():
        for result in (a * 2, a + a, a.sum(), a.clone(), a.exp()):
            assert result.is_inference()
            assert not result.requires_grad


def test_a_normal_tensor_may_be_changed_inside_and_stays_normal(lib):
    for a in (lib.ones(2), tracked(lib, 2), lib.ones(2, requires_grad=True)):
        requires, before = a.requires_grad, a._version
        with lib.inference_mode():
            a.add_(1)
        assert not a.is_inference()
        assert a.requires_grad == requires
        assert a._version == before + 1


def test_a_change_inside_makes_graphs_fail_that_saved_the_tensor(lib):
    a = tracked(lib, 2)
    y = a * a
    with lib.inference_mode():
        a.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_view_of_a_normal_tensor_inside_is_a_normal_tensor(lib):
    for a in (lib.ones(4), tracked(lib, 4), lib.ones(4, requires_grad=True)):
        with lib.inference_mode():
            v = a.view(2, 2)
            w = v[0]
        for view in (v, w):
            assert not view.is_inference()
            assert view._is_view()
            assert view._base is a
            assert view.requires_grad == a.requires_grad
            assert view.is_leaf
            assert view.grad_fn is None
            assert view._version == 0


def test_such_a_view_may_be_changed_inside(lib):
    a = tracked(lib, 4)
    with lib.inference_mode():
        a.view(2, 2)[0].add_(1)
    assert a.tolist() == [2, 2, 1, 1]
    assert a._version == 1
    assert a.requires_grad


def test_such_a_view_of_a_tracked_tensor_must_not_be_changed_outside(lib):
    a = tracked(lib, 4)
    with lib.inference_mode():
        v = a.view(2, 2)
    with pytest.raises(RuntimeError, match="created in inference mode"):
        v.add_(1)
    with pytest.raises(RuntimeError, match="created in inference mode"):
        v[0].add_(1)


def test_after_a_change_of_the_base_outside_the_history_of_the_view_cannot_be_read(lib):
    a = tracked(lib, 4)
    with lib.inference_mode():
        v = a.view(2, 2)
    a.add_(1)
    assert v.requires_grad
    with pytest.raises(RuntimeError, match="created in inference mode"):
        v.grad_fn
    with pytest.raises(RuntimeError, match="created in inference mode"):
        v * 2


def test_nothing_of_this_holds_for_untracked_tensors(lib):
    a = lib.ones(4)
    with lib.inference_mode():
        v = a.view(2, 2)
    v.add_(1)
    a.add_(1)
    assert v.grad_fn is None
    assert v.tolist() == [[3, 3], [3, 3]]
    assert v._version == 2


def test_writing_a_tracked_value_into_a_view_made_inside_is_refused(lib):
    a, w = lib.ones(4), lib.ones(1, requires_grad=True)
    with lib.inference_mode():
        v = a.view(2, 2)
    with pytest.raises(RuntimeError, match="created in inference mode"):
        v.mul_(w)


def test_inference_operands_may_change_normal_tensors(lib):
    t, a = made_inside(lib, 2), lib.ones(2)
    a.add_(t)
    a.copy_(t)
    a[0] = t[0]
    assert not a.is_inference()
    assert a.tolist() == [1, 1]


# ---- inference tensors outside -------------------------------------------------------------


def test_inference_tensors_can_be_read_outside_and_functional_results_are_normal(lib):
    t = made_inside(lib, 2)
    assert t.tolist() == [1, 1]
    for result in (t + 1, t * t, t.sum(), t.exp(), t.clone(), t > 0):
        assert not result.is_inference()
        assert not result.requires_grad
    assert t.numpy().tolist() == [1, 1]


def test_viewing_them_outside_gives_inference_tensors_that_are_no_views(lib):
    for t in (made_inside(lib, 2, 2), made_inside(lib, 2, 2, requires_grad=True)):
        for v in (t.view(-1), t[0], t.t(), t.detach(), t.unbind()[0], t.reshape(4)):
            assert v.is_inference()
            assert not v._is_view()
            assert not v.requires_grad
            assert v.is_leaf


CHANGES = {
    "add_": lambda lib, t: t.add_(1),
    "iadd": lambda lib, t: t.__iadd__(1),
    "zero_": lambda lib, t: t.zero_(),
    "copy_": lambda lib, t: t.copy_(lib.ones(2)),
    "setitem": lambda lib, t: t.__setitem__(0, 1.0),
    "view": lambda lib, t: t[:1].mul_(2),
    "exp_": lambda lib, t: t.exp_(),
    "out": lambda lib, t: lib.add(lib.ones(2), 1, out=t),
    "tracked": lambda lib, t: t.add_(lib.ones(2, requires_grad=True)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changing_them_outside_is_an_error(lib, change):
    t = made_inside(lib, 2)
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        CHANGES[change](lib, t)
    with lib.no_grad(), pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        CHANGES[change](lib, t)


def test_requiring_grad_of_them_outside_is_an_error(lib):
    t = made_inside(lib, 2)
    with pytest.raises(RuntimeError, match="inference tensor outside InferenceMode"):
        t.requires_grad_()
    with pytest.raises(RuntimeError, match="inference tensor outside InferenceMode"):
        t.requires_grad = True
    assert not t.requires_grad_(False).requires_grad
    with lib.inference_mode():
        assert t.requires_grad_().requires_grad


SAVERS = {
    "mul": lambda a, t: a * t,
    "div": lambda a, t: a / t,
    "matmul": lambda a, t: a @ t,
    "pow": lambda a, t: a**t,
    "maximum": lambda a, t: a.maximum(t),
    "inplace": lambda a, t: (a * 1).mul_(t),
}


@pytest.mark.parametrize("name", SAVERS)
def test_saving_them_for_backward_is_an_error_at_the_forward_operation(lib, name):
    a, t = lib.ones(2, 2, requires_grad=True), made_inside(lib, 2, 2)
    with pytest.raises(RuntimeError, match="cannot be saved for backward"):
        SAVERS[name](a, t)
    with lib.no_grad():
        SAVERS[name](a, t)


def test_operations_that_save_nothing_accept_them(lib):
    a, t = lib.ones(2, requires_grad=True), made_inside(lib, 2)
    y = (a + t) - t
    y.sum().backward()
    assert a.grad.tolist() == [1, 1]


def test_a_clone_made_outside_is_a_normal_tensor(lib):
    a, c = lib.ones(2, requires_grad=True), made_inside(lib, 2).clone()
    c.add_(1)
    (a * c).sum().backward()
    assert a.grad.tolist() == [2, 2]
    assert not c.is_inference()


def test_a_leaf_inference_tensor_that_requires_grad_receives_a_gradient(lib):
    t = made_inside(lib, 2, requires_grad=True)
    y = t + 1
    assert y.requires_grad
    assert not y.is_inference()
    y.sum().backward()
    assert t.grad.tolist() == [1, 1]


def test_saving_by_a_custom_function_is_refused_too(lib):
    class Keep(lib.autograd.Function):
        @staticmethod
        def forward(ctx, a, t):
            ctx.save_for_backward(t)
            return a * t

        @staticmethod
        def backward(ctx, g):
            return g, None

    with pytest.raises(RuntimeError, match="cannot be saved for backward"):
        Keep.apply(lib.ones(2, requires_grad=True), made_inside(lib, 2))


def test_listed_operands_are_refused_where_they_are_saved(lib):
    a, t = lib.ones(2, 2, requires_grad=True), made_inside(lib, 2, 2)
    assert lib.cat([a, t]).requires_grad
    with pytest.raises(RuntimeError, match="cannot be saved for backward"):
        lib.einsum("ij,jk->ik", a, t)


def test_an_index_tensor_made_inside_cannot_be_saved(lib):
    a = lib.ones(3, requires_grad=True)
    with lib.inference_mode():
        index = lib.tensor([0, 2])
    with pytest.raises(RuntimeError, match="cannot be saved for backward"):
        a[index]
    with pytest.raises(RuntimeError, match="cannot be saved for backward"):
        a.gather(0, index)


def test_deep_copies_made_outside_are_normal(lib):
    t = made_inside(lib, 2)
    assert not copy.deepcopy(t).is_inference()
    assert not pickle.loads(pickle.dumps(t)).is_inference()


def test_backward_inside_inference_mode_uses_graphs_made_outside(lib):
    a = lib.ones(2, requires_grad=True)
    y = (a * a).sum()
    with lib.inference_mode(), lib.inference_mode(False):
        y.backward()
    assert a.grad.tolist() == [2, 2]


def test_normal_tensors_are_made_again_in_a_disabled_inner_mode(lib):
    with lib.inference_mode():
        with lib.inference_mode(False):
            t = lib.ones(2, requires_grad=True)
            y = (t * t).sum()
            y.backward()
        assert not t.is_inference()
    assert t.grad.tolist() == [2, 2]


# ---- ours alone ----------------------------------------------------------------------------


@pytest.mark.parametrize("change", CHANGES)
def test_a_refused_change_changes_nothing(change):
    t = made_inside(wg, 2)
    with pytest.raises(InferenceError):
        CHANGES[change](wg, t)
    assert t.tolist() == [1, 1]


def test_the_errors_say_what_to_type():
    t = made_inside(wg, 2)
    with pytest.raises(InferenceError, match=r"clone\(\)"):
        t.add_(1)
    with pytest.raises(InferenceError, match=r"clone\(\) outside inference_mode"):
        wg.ones(2, requires_grad=True) * t
    with pytest.raises(InferenceError, match="no_grad"):
        t._version
    a = tracked(wg, 2)
    with wg.inference_mode():
        v = a[:1]
    with pytest.raises(InplaceError, match="Take the view outside inference_mode"):
        v.add_(1)
