"""Which views may be changed in place, and what detaching and in-place view operations do."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import wengert as wg
from wengert.errors import InplaceError


def leaf(lib, *shape):
    """A leaf holding 1, 2, 3, ... in double precision."""
    n = int(np.prod(shape))
    return (lib.arange(n, dtype=lib.float64) + 1).reshape(shape).clone().requires_grad_()


# ---- what may be changed -------------------------------------------------------------------


def custom_view(lib):
    class Same(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, g):
            return g

    return Same.apply


MAKERS = {
    "no_grad": None,
    "unbind": lambda lib, x: x.unbind()[0],
    "split": lambda lib, x: x.split(1)[0],
    "split_with_sizes": lambda lib, x: x.split_with_sizes([1, 1])[0],
    "chunk": lambda lib, x: x.chunk(2)[1],
    "view_of_multi": lambda lib, x: x.unbind()[0][:1],
    "multi_of_view": lambda lib, x: x[:].unbind()[1],
    "custom": lambda lib, x: custom_view(lib)(x),
}
REASONS = dict.fromkeys(MAKERS, "returns multiple views") | {
    "no_grad": "created in no_grad mode",
    "custom": "created inside a custom Function",
}


def make(lib, name, x):
    if name == "no_grad":
        with lib.no_grad():
            return x[:1]
    return MAKERS[name](lib, x)


@pytest.mark.parametrize("name", MAKERS)
def test_views_that_may_not_be_changed_while_the_base_is_tracked(lib, name):
    v = make(lib, name, leaf(lib, 2, 2) * 1)
    with pytest.raises(RuntimeError, match=REASONS[name]):
        v.add_(1)
    with pytest.raises(RuntimeError, match=REASONS[name]):
        v[0] = 5


@pytest.mark.parametrize("name", MAKERS)
def test_the_same_views_may_be_changed_under_no_grad_but_not_later(lib, name):
    x = leaf(lib, 2, 2) * 1
    v = make(lib, name, x)
    with lib.no_grad():
        v.add_(1)
    assert x._version == 1
    with pytest.raises(RuntimeError, match=REASONS[name]):
        v.add_(1)


@pytest.mark.parametrize("name", MAKERS)
def test_with_nothing_tracked_all_of_them_may_be_changed(lib, name):
    x = lib.zeros(2, 2)
    v = make(lib, name, x)
    v.add_(1)
    assert x.sum().item() == v.numel()
    assert not x.requires_grad


@pytest.mark.parametrize("name", MAKERS)
def test_a_tracked_value_may_not_be_written_into_them_either(lib, name):
    w = lib.ones(1, requires_grad=True)
    v = make(lib, name, lib.zeros(2, 2))
    with pytest.raises(RuntimeError, match=REASONS[name]):
        v.add_(w)


@pytest.mark.parametrize("name", MAKERS)
def test_after_a_write_to_the_base_their_history_cannot_be_read(lib, name):
    x = leaf(lib, 2, 2) * 1
    v = make(lib, name, x)
    x.mul_(2)
    assert v.requires_grad
    with pytest.raises(RuntimeError, match=REASONS[name]):
        v.grad_fn
    with pytest.raises(RuntimeError, match=REASONS[name]):
        v * 2
    assert v.detach().numel() == v.numel()


def test_unsafe_variants_may_be_changed(lib):
    for name, *args in (
        ("unsafe_split", 1),
        ("unsafe_chunk", 2),
        ("unsafe_split_with_sizes", [1, 1]),
    ):
        x = leaf(lib, 2, 2)
        a, b = getattr(x * 1, name)(*args)
        a.mul_(3)
        (a + b).sum().backward()
        assert x.grad.tolist() == [[3, 3], [1, 1]]


def test_multi_views_through_real_views_are_refused(lib):
    z = lib.ones(2, 2, dtype=lib.complex128, requires_grad=True) * 1
    for v in (z.unbind()[0].real, lib.view_as_real(z).unbind()[0]):
        with pytest.raises(RuntimeError, match="returns multiple views"):
            v.mul_(2)


def test_a_view_of_what_a_no_grad_view_shows_stays_refused(lib):
    x = leaf(lib, 4) * 1
    with lib.no_grad():
        v = x[:3]
    with pytest.raises(RuntimeError, match="created in no_grad mode"):
        v[:1].add_(1)


# ---- in-place view operations --------------------------------------------------------------

TURNS = {
    "transpose_": lambda x: x.transpose_(0, 1),
    "t_": lambda x: x.t_(),
    "squeeze_": lambda x: x.squeeze_(0),
    "unsqueeze_": lambda x: x.unsqueeze_(0),
    "swapdims_": lambda x: x.swapdims_(0, 1),
    "swapaxes_": lambda x: x.swapaxes_(0, 1),
    "as_strided_": lambda x: x.as_strided_((1, 2), (2, 1)),
}
TURN_MAKERS = {
    "plain": lambda lib, x: x.view_as(x),
    "multi": lambda lib, x: x.split(1)[0],
    "custom": lambda lib, x: custom_view(lib)(x),
}


@pytest.mark.parametrize("tracked", [True, False])
@pytest.mark.parametrize("view_recorded", [True, False])
@pytest.mark.parametrize("turn_recorded", [True, False])
@pytest.mark.parametrize("maker", TURN_MAKERS)
@pytest.mark.parametrize("turn", TURNS)
def test_in_place_view_operations_obey_the_same_table(
    lib, turn, maker, turn_recorded, view_recorded, tracked
):
    base = leaf(lib, 2, 2) * 1 if tracked else lib.ones(2, 2)
    with lib.set_grad_enabled(view_recorded):
        v = TURN_MAKERS[maker](lib, base)
    reason = {
        "plain": None,
        "multi": "returns multiple views",
        "custom": "created inside a custom Function",
    }[maker]
    if not view_recorded:
        reason = "created in no_grad mode"
    if not tracked:
        reason = None
    if turn_recorded and reason:
        with pytest.raises(RuntimeError, match=reason):
            TURNS[turn](v)
        return
    with lib.set_grad_enabled(turn_recorded):
        assert TURNS[turn](v) is v
    if reason:
        with pytest.raises(RuntimeError, match=reason):
            v.add_(1)
    else:
        v.add_(1)


def test_an_in_place_view_operation_counts_as_a_change(lib):
    x = lib.ones(2, 3)
    assert x.t_() is x
    assert x.shape == (3, 2)
    assert x._version == 1
    assert not x._is_view()


def test_an_in_place_view_operation_is_refused_on_leaves(lib):
    x = leaf(lib, 2, 3)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x.t_()
    with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
        x[:1].t_()


def test_a_leaf_may_be_turned_under_no_grad(lib):
    x = leaf(lib, 2, 3)
    with lib.no_grad():
        x.t_()
    assert x.is_leaf
    (x * 2).sum().backward()
    assert x.grad.shape == (3, 2)


def test_gradients_flow_through_in_place_view_operations(lib):
    x = leaf(lib, 2, 3)
    w = lib.arange(6, dtype=lib.float64).reshape(3, 2)
    y = x * 1
    y.transpose_(0, 1)
    (y * w).sum().backward()
    assert x.grad.tolist() == w.t().tolist()


def test_gradients_flow_through_a_turned_view_that_is_then_changed(lib):
    x = leaf(lib, 2, 3)
    y = x * 1
    v = y[:, :2]
    v.t_()
    v[0].mul_(10)
    assert v.shape == (2, 2)
    y.sum().backward()
    assert x.grad.tolist() == [[10, 1, 1], [10, 1, 1]]


def test_a_view_of_a_view_that_was_turned_still_looks_at_the_same_elements(lib):
    x = leaf(lib, 2, 3)
    y = x * 1
    v = y[:, 1:]
    corner = v[0]
    v.t_()
    corner.mul_(10)
    y.sum().backward()
    assert x.grad.tolist() == [[1, 10, 10], [1, 1, 1]]
    assert v.tolist() == [[20, 5], [30, 6]]


def test_an_older_view_of_a_base_that_was_turned_still_looks_at_the_same_elements(lib):
    x = leaf(lib, 2, 3)
    y = x * 1
    row = y[0]
    y.t_()
    row.mul_(10)
    assert y.tolist() == [[10, 4], [20, 5], [30, 6]]
    (y * y).sum().backward(retain_graph=True)
    assert x.grad.tolist() == [[200, 400, 600], [8, 10, 12]]
    (row.sum() * 2).backward()
    assert x.grad.tolist() == [[220, 420, 620], [8, 10, 12]]


def test_what_saved_a_tensor_notices_that_it_was_turned(lib):
    x = leaf(lib, 2, 3) * 1
    y = x * x
    x.t_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


# ---- detach_, requires_grad_ ---------------------------------------------------------------


def test_detach_in_place_on_a_view_raises(lib):
    for x in (lib.ones(4), leaf(lib, 4)):
        with pytest.raises(RuntimeError, match="Can't detach views in-place"):
            x[:2].detach_()


def test_detach_in_place_on_a_base_leaves_its_views_attached(lib):
    x = leaf(lib, 4)
    base = x * 2
    view = base[:2]
    assert base.detach_() is base
    assert not base.requires_grad
    assert base.is_leaf
    assert view.requires_grad
    assert view.grad_fn is not None
    assert view._base is base
    view.sum().backward()
    assert x.grad.tolist() == [2, 2, 0, 0]


def test_a_view_that_outlived_a_detach_in_place_loses_its_history_when_the_base_is_rewritten(lib):
    # Its value comes from the base, which is a constant now.
    x = leaf(lib, 4)
    base = x * 2
    view = base[:2]
    base.detach_()
    base.mul_(5)
    w = leaf(lib, 2)
    (view * w).sum().backward()
    assert x.grad is None
    assert w.grad.tolist() == [10, 20]


def test_a_view_of_an_untracked_base_may_be_a_leaf_of_its_own(lib):
    base = lib.ones(4)
    view = base[:2].requires_grad_()
    base.mul_(5)
    assert view.is_leaf
    assert view.requires_grad
    (view * view).sum().backward()
    assert view.grad.tolist() == [10, 10]
    with pytest.raises(RuntimeError, match="leaf Variable"):
        view.add_(1)


def test_multi_views_may_be_used_under_no_grad_whatever_happened_to_their_base(lib):
    x = leaf(lib, 4) * 1
    a, _ = x.split(2)
    x.mul_(2)
    with lib.no_grad():
        assert (a + 1).tolist() == [3, 5]


def test_older_views_of_a_base_that_was_turned_twice(lib):
    x = leaf(lib, 2, 3)
    y = x * 1
    first = y[0]
    y.t_()
    second = y[0]
    y.unsqueeze_(0)
    third = y[0, 0]
    for v, index in (
        (first, (0, slice(None))),
        (second, (slice(None), 0)),
        (third, (slice(None), 0)),
    ):
        v.mul_(2)
        (g,) = lib.autograd.grad(v.sum(), x, retain_graph=True)
        assert g[index].sum().item() == g.sum().item()
    (g,) = lib.autograd.grad(y.sum(), x)
    assert g.tolist() == [[8, 2, 2], [4, 1, 1]]


def test_after_detach_in_place_earlier_graphs_still_work(lib):
    x = leaf(lib, 2)
    y = x * 2
    z = (y * 3).exp()
    y.detach_()
    z.sum().backward()
    assert x.grad is not None


def test_requires_grad_method_returns_self(lib):
    x = lib.ones(2)
    assert x.requires_grad_() is x
    assert x.requires_grad
    assert x.requires_grad_(False) is x
    assert not x.requires_grad


def test_switching_requires_grad_off_on_a_non_leaf_raises(lib):
    y = leaf(lib, 2) * 2
    with pytest.raises(RuntimeError, match="only change requires_grad flags of leaf"):
        y.requires_grad_(False)
    with pytest.raises(RuntimeError, match="only change requires_grad flags of leaf"):
        y.requires_grad = False
    y.requires_grad_()


def test_switching_requires_grad_off_on_a_leaf_works_although_graphs_exist(lib):
    x = leaf(lib, 2)
    y = (x * x).sum()
    x.requires_grad_(False)
    assert not (x * 2).requires_grad
    y.backward()
    x.requires_grad_()
    assert (x * 2).requires_grad


@pytest.mark.parametrize("name", ["int64", "int32", "uint8", "bool"])
def test_only_floating_and_complex_tensors_can_require_grad(lib, name):
    dtype = getattr(lib, name)
    for ask in (
        lambda: lib.ones(2, dtype=dtype).requires_grad_(),
        lambda: setattr(lib.ones(2, dtype=dtype), "requires_grad", True),
        lambda: lib.ones(2, dtype=dtype, requires_grad=True),
        lambda: lib.tensor([1, 0], dtype=dtype, requires_grad=True),
    ):
        with pytest.raises(RuntimeError, match="floating point"):
            ask()
    x = lib.ones(2, dtype=dtype, requires_grad=False)
    assert not x.requires_grad_(False).requires_grad
    x.requires_grad = False


@pytest.mark.parametrize("name", ["float16", "float32", "float64", "complex64", "complex128"])
def test_all_of_these_can_require_grad(lib, name):
    dtype = getattr(lib, name)
    assert lib.ones(2, dtype=dtype, requires_grad=True).requires_grad
    assert lib.ones(2, dtype=dtype).requires_grad_().requires_grad


# ---- memory --------------------------------------------------------------------------------


def test_writing_into_expanded_memory_is_refused(lib):
    for x in (lib.ones(1, 3).expand(2, 3), lib.ones(3).expand(2, 3)):
        with pytest.raises(RuntimeError, match=r"more than one element .* clone\(\)"):
            x.add_(1)


def test_expanding_without_repeating_may_be_written(lib):
    x = lib.ones(1, 3)
    x.expand(1, 3).add_(1)
    assert x.tolist() == [[2, 2, 2]]


def test_writing_into_an_overlapping_shift_of_itself_uses_the_old_values(lib):
    x = lib.arange(5, dtype=lib.float64)
    x[1:] = x[:-1].clone()
    assert x.tolist() == [0, 0, 1, 2, 3]


def test_in_place_on_views_leaves_no_reference_cycle(lib):
    x = leaf(lib, 4)
    y = x * 1
    y[:2].mul_(2)
    y[1:].exp_()
    (y * y).sum().backward()
    alive = weakref.ref(y)
    gc.collect()
    gc.disable()
    try:
        del y
        assert alive() is None
    finally:
        gc.enable()


def test_a_changed_copied_and_deleted_view_still_has_its_gradient(lib):
    x = leaf(lib, 4)
    y = x * 1
    v = y[:2]
    v.mul_(5)
    kept = v.clone()
    del v, y
    gc.collect()
    kept.sum().backward()
    assert x.grad.tolist() == [5, 5, 0, 0]


def test_in_place_activation_on_a_view(lib):
    x = (lib.arange(4, dtype=lib.float64) - 1.5).requires_grad_()
    y = x * 1
    lib.nn.functional.relu(y[1:], inplace=True)
    (y * y).sum().backward()
    assert x.grad.tolist() == [-3, 0, 1, 3]


def test_ten_thousand_in_place_steps_on_a_view(lib):
    x = leaf(lib, 2)
    y = x * 1
    v = y[:1]
    for _ in range(10_000):
        v.add_(1)
    y.sum().backward()
    assert x.grad.tolist() == [1, 1]


def test_an_in_place_result_keeps_the_tensors_dtype(lib):
    x = lib.ones(2, dtype=lib.float32, requires_grad=True)
    w = leaf(lib, 2)
    y = x * 1
    y.add_(w)
    assert y.dtype == lib.float32
    y.sum().backward()
    assert x.grad.dtype == lib.float32
    assert w.grad.dtype == lib.float64


def test_an_in_place_result_that_cannot_be_cast_is_refused(lib):
    x = lib.ones(2, dtype=lib.int64)
    with pytest.raises(RuntimeError, match="can't be cast"):
        x.add_(1.5)
    with pytest.raises(RuntimeError, match="can't be cast"):
        lib.ones(2).mul_(lib.ones(2, dtype=lib.complex64))


def test_an_in_place_result_that_would_grow_is_refused(lib):
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        lib.ones(2).add_(lib.ones(3, 2))


# ---- ours alone ----------------------------------------------------------------------------


def test_a_refused_write_changes_nothing():
    x = wg.ones(2, requires_grad=True)
    v = x[:1]
    with pytest.raises(InplaceError):
        v.add_(1)
    assert x.tolist() == [1, 1]
    assert x._version == 0


def test_the_refusals_say_what_to_type():
    x = wg.ones(2, 2, requires_grad=True)
    with pytest.raises(InplaceError, match=r"no_grad\(\).*clone\(\)"):
        x.add_(1)
    with pytest.raises(InplaceError, match=r"no_grad\(\).*clone\(\)"):
        x[0].add_(1)
    with pytest.raises(InplaceError, match="index instead of splitting"):
        (x * 1).unbind()[0].add_(1)


def test_the_gradient_of_an_overwritten_region_may_be_infinite():
    # Zero times infinity must not make a NaN where the old value no longer counts.
    x = wg.ones(2, requires_grad=True)
    y = x * 1
    y[:1] = 0.0
    z = np.sqrt(y)
    (g,) = wg.autograd.grad(z.sum(), x, create_graph=True)
    assert g.tolist() == [0.0, 0.5]


def test_the_refusal_names_the_function_without_the_backward_suffix(lib):
    x = leaf(lib, 2, 2) * 1
    with pytest.raises(RuntimeError, match="Output 1 of Unbind is a view and is being modified"):
        x.unbind()[1].add_(1)
    with pytest.raises(RuntimeError, match="Output 0 of Same is a view and is being modified"):
        custom_view(lib)(x).add_(1)
    a, _ = x.unbind()
    x.mul_(2)
    with pytest.raises(RuntimeError, match="Output 0 of Unbind is a view and its base or another"):
        a * 2
