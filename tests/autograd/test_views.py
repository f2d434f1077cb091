"""Views and in-place operations: whose history changes, which gradients follow, what is refused."""

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


def gradient(lib, f, x):
    (g,) = lib.autograd.grad(f(x), x)
    return g.tolist()


def second(lib, f, x):
    """The gradient of the squared norm of the gradient."""
    (g,) = lib.autograd.grad(f(x), x, create_graph=True)
    if not g.requires_grad:
        return None
    (h,) = lib.autograd.grad((g * g).sum(), x)
    return h.tolist()


# ---- what the result is --------------------------------------------------------------------


def test_in_place_operations_return_the_same_object(lib):
    x = lib.ones(2)
    assert x.add_(1) is x
    assert x.mul_(2).sub_(1) is x
    y = x
    y += 1
    assert y is x


def test_in_place_on_a_leaf_that_requires_grad_is_refused(lib):
    x = leaf(lib, 2)
    for change in (
        lambda: x.add_(1),
        lambda: x.zero_(),
        lambda: x.__setitem__(0, 1.0),
        lambda: x.exp_(),
    ):
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
            change()
    assert x.tolist() == [1, 2]


def test_in_place_on_a_view_of_such_a_leaf_is_refused_at_the_operation(lib):
    x = leaf(lib, 4)
    for view in (x[:2], x.view(2, 2), x.view(2, 2)[0]):
        with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
            view.add_(1)
    assert x.tolist() == [1, 2, 3, 4]


def test_requires_grad_set_on_the_base_makes_older_views_refuse(lib):
    x = lib.ones(4)
    v = x[:2]
    v.add_(1)
    x.requires_grad_()
    assert v.requires_grad
    with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
        v.add_(1)
    x.requires_grad_(False)
    assert not v.requires_grad
    v.add_(1)
    assert x.tolist() == [3, 3, 1, 1]


def test_no_grad_allows_in_place_on_views_of_leaves(lib):
    x = leaf(lib, 3)
    with lib.no_grad():
        x[1:].mul_(10)
    assert x.tolist() == [1, 20, 30]
    assert x.is_leaf
    assert x.requires_grad


# ---- writing tracked values ----------------------------------------------------------------


def test_writing_a_tracked_value_makes_an_untracked_tensor_a_tracked_non_leaf(lib):
    w = leaf(lib, 2)
    for write in (
        lambda x: x.add_(w),
        lambda x: x.copy_(w),
        lambda x: x.__setitem__(slice(None), w),
        lambda x: x.mul_(w),
    ):
        x = lib.ones(2, dtype=lib.float64)
        write(x)
        assert x.requires_grad
        assert not x.is_leaf
        assert x.grad_fn is not None
        assert x.tolist() in ([1, 2], [2, 3])


def test_broadcasting_a_tracked_value_into_a_tensor(lib):
    w = leaf(lib, 1)
    x = lib.zeros(3, 2, dtype=lib.float64)
    x[1] = w
    x.add_(w)
    (x * x).sum().backward()
    assert w.grad.tolist() == [2 * (4 * 1 + 2 * 4)]


def test_writing_a_tracked_value_into_a_view_makes_the_base_tracked(lib):
    w = leaf(lib, 2)
    base = lib.ones(4, dtype=lib.float64)
    view = base[1:3]
    view.mul_(w)
    assert base.requires_grad
    assert not base.is_leaf
    assert view.requires_grad
    (base * base).sum().backward()
    assert w.grad.tolist() == [2, 4]


def test_writing_a_tracked_value_into_the_base_makes_earlier_views_tracked(lib):
    w = leaf(lib, 4)
    base = lib.ones(4, dtype=lib.float64)
    view = base.view(2, 2)
    row = view[0]
    assert not row.requires_grad
    base.mul_(w)
    for v in (view, row):
        assert v.requires_grad
        assert not v.is_leaf
        assert v.grad_fn is not None
    row.sum().backward()
    assert w.grad.tolist() == [1, 1, 0, 0]


def test_writing_into_one_view_makes_its_sibling_tracked(lib):
    w = leaf(lib, 2)
    base = lib.zeros(4, dtype=lib.float64)
    a, b = base[:3], base[1:]
    a[1:].copy_(w)
    assert b.requires_grad
    (b * b).sum().backward()
    assert w.grad.tolist() == [2, 4]


def test_the_view_that_was_written_gets_a_history_through_the_base(lib):
    x = leaf(lib, 4)
    base = x * 1
    view = base[:2]
    before = view.grad_fn
    view.mul_(3)
    assert view.grad_fn is not before
    assert type(base.grad_fn).__name__ == "CopySlices"


# ---- gradients through mixtures ------------------------------------------------------------


def view_then_base(x):
    y = x * 1
    y[:2].mul_(x[2:])
    return (y * y).sum()


def view_then_overlapping_view(x):
    y = x * 1
    a, b = y[:3], y[1:]
    a.mul_(2)
    return (b * b * b).sum()


def view_of_a_view(x):
    y = x * 1
    y.view(2, 2)[1][:1].mul_(x[0])
    return (y * y).sum()


def view_of_a_view_used(x):
    y = x * 1
    rows = y.view(2, 2)
    last = rows[1]
    y.mul_(x)
    return (last * last).sum() + rows.sum()


def several_changes(x):
    y = x * 1
    a, b, c = y[:2], y[1:3], y.view(2, 2)
    a.mul_(x[1:3])
    b.add_(a.clone() * 3)
    c[1].mul_(b.clone())
    return (y * y).sum() + (a * b).sum()


def non_contiguous(x):
    y = (x.view(2, 2) * 1).t()
    y[0].mul_(x[:2])
    y[:, 1].add_(y[:, 0] * 2)
    return (y * y * y).sum()


def flattened_transpose(x):
    # The base lies in memory by columns; its flattened transpose is a view all the same.
    y = (x.view(2, 2) * 1).t().clone()
    flat = y.t().reshape(-1)
    flat[1:3].mul_(x[1:3])
    return (y * y).sum()


def diagonal(x):
    y = x.view(2, 2) * 1
    y.diagonal().mul_(x[:2])
    return (y * y).sum()


def assigned(x):
    y = x * 1
    y[1] = x[0] * x[3]
    y[2:] = y[1] * 2
    return (y * y).sum()


def assigned_by_mask(x):
    y = x * 1
    y[y > 2.5] = (x * x)[:2]
    return (y * y).sum()


def assigned_through_a_view(x):
    y = x * 1
    y.view(2, 2)[:, 1] = x[:2] * x[2:]
    return (y * y).sum()


def copied_into_a_view(x):
    y = x * 1
    y[::2].copy_(x[1::2] * x[1::2])
    return (y * y * y).sum()


def filled_view(x):
    y = x * x
    y[1:3].zero_()
    y[2:].fill_(7.0)
    return (y * y).sum() + (y[:2] * x[:2]).sum()


def expanded_value(x):
    y = (x * 1).view(2, 2)
    y[:] = x[0].expand(2, 2) * x[:2]
    return (y * y).sum()


def changed_twice_and_used_between(x):
    y = x * 1
    v = y[:2]
    v.mul_(2)
    z = (v * 3).sum()
    v.add_(x[2:])
    return z + (y * y).sum()


def squeezed(x):
    y = (x * 1).view(1, 4)
    y.squeeze(0).unsqueeze(1).mul_(x.view(4, 1))
    return (y * y).sum()


def relu_on_a_view(x):
    y = x - 2.5
    y[1:].clamp_(min=0)
    return (y * y * x).sum()


def exp_on_a_view(x):
    y = x * 0.1
    y[1:3].exp_()
    return (y * x).sum()


MIXTURES = [
    view_then_base,
    view_then_overlapping_view,
    view_of_a_view,
    view_of_a_view_used,
    several_changes,
    non_contiguous,
    flattened_transpose,
    diagonal,
    assigned,
    assigned_by_mask,
    assigned_through_a_view,
    copied_into_a_view,
    filled_view,
    expanded_value,
    changed_twice_and_used_between,
    squeezed,
    relu_on_a_view,
    exp_on_a_view,
]


@pytest.mark.parametrize("f", MIXTURES, ids=lambda f: f.__name__)
def test_gradients_through_views_and_writes_are_difference_quotients(lib, f):
    x = leaf(lib, 4)
    point, eps = np.array([1.0, 2.0, 3.0, 4.0]), 1e-6

    def value(shift):
        return float(f(lib.tensor((point + shift).tolist(), dtype=lib.float64)))

    quotients = [(value(eps * e) - value(-eps * e)) / (2 * eps) for e in np.eye(4)]
    np.testing.assert_allclose(gradient(lib, f, x), quotients, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("f", MIXTURES, ids=lambda f: f.__name__)
def test_second_derivatives_through_views_and_writes_are_difference_quotients(lib, f):
    point, eps = np.array([1.0, 2.0, 3.0, 4.0]), 1e-6

    def squared(shift):
        x = lib.tensor((point + shift).tolist(), dtype=lib.float64).requires_grad_()
        g = np.array(gradient(lib, f, x))
        return float(g @ g)

    quotients = [(squared(eps * e) - squared(-eps * e)) / (2 * eps) for e in np.eye(4)]
    np.testing.assert_allclose(second(lib, f, leaf(lib, 4)), quotients, rtol=1e-5, atol=1e-4)


def test_a_custom_function_that_modifies_a_view_rebuilds_the_bases_history(lib):
    class Double(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with lib.no_grad():
                x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    x = leaf(lib, 4)
    y = x * 1
    v = y[:2]
    assert Double.apply(v) is v
    (y * y).sum().backward()
    assert x.grad.tolist() == [8, 16, 6, 8]
    assert v.grad_fn is not None


def test_a_long_loop_that_fills_a_buffer(lib):
    x = leaf(lib, 1)
    out = lib.zeros(50, dtype=lib.float64)
    out[0] = x[0]
    for i in range(1, 50):
        out[i] = out[i - 1] * 1.1
    out[-1].backward()
    assert x.grad.item() == pytest.approx(1.1**49)


# ---- reading ------------------------------------------------------------------------------


def test_reading_grad_fn_under_no_grad_does_not_spoil_it(lib):
    x = leaf(lib, 4)
    y = x * 1
    v = y[:2]
    y.mul_(3)
    with lib.no_grad():
        assert v.grad_fn is not None
        assert v.requires_grad
    v.sum().backward()
    assert x.grad.tolist() == [3, 3, 0, 0]


def test_reading_grad_fn_of_real_and_imaginary_views_under_no_grad(lib):
    z = lib.ones(2, dtype=lib.complex128, requires_grad=True)
    y = z * 1
    re, im = y.real, y.imag
    y.mul_(2)
    with lib.no_grad():
        assert re.grad_fn is not None
        assert im.grad_fn is not None
    (re * 3 + im).sum().backward()
    assert z.grad.tolist() == [6 + 2j, 6 + 2j]


def test_writing_through_real_and_imaginary_views(lib):
    w = leaf(lib, 2)
    z = lib.zeros(2, dtype=lib.complex128)
    z.real.copy_(w)
    z.imag.copy_(w * w)
    assert z.requires_grad
    (z.real * 2 + z.imag * 10).sum().backward()
    assert w.grad.tolist() == [22, 42]


def test_writing_through_view_as_real(lib):
    w = leaf(lib, 2)
    z = lib.zeros(2, dtype=lib.complex128)
    lib.view_as_real(z)[:, 1] = w
    (z.imag * z.imag).sum().backward()
    assert w.grad.tolist() == [2, 4]


def test_is_view_and_base(lib):
    x = lib.ones(4)
    a = x.view(2, 2)
    b = a[0]
    assert not x._is_view()
    assert x._base is None
    assert a._is_view()
    assert b._is_view()
    assert b._base is x
    with lib.no_grad():
        assert x[1:]._is_view()
    assert not (x + 1)._is_view()
    assert not x.clone()._is_view()
    assert not x.detach()._is_view()


VIEWS = {
    "slice": lambda x: x[1:],
    "select": lambda x: x[0],
    "element": lambda x: x[0, 0],
    "ellipsis": lambda x: x[...],
    "none": lambda x: x[None],
    "step": lambda x: x[:, ::2],
    "view": lambda x: x.view(-1),
    "reshape": lambda x: x.reshape(3, 2),
    "t": lambda x: x.t(),
    "T": lambda x: x.T,
    "transpose": lambda x: x.transpose(0, 1),
    "permute": lambda x: x.permute(1, 0),
    "squeeze": lambda x: x.squeeze(),
    "unsqueeze": lambda x: x.unsqueeze(0),
    "expand": lambda x: x.expand(2, 2, 3),
    "narrow": lambda x: x.narrow(1, 0, 2),
    "diagonal": lambda x: x.diagonal(),
    "unbind": lambda x: x.unbind(0)[1],
    "split": lambda x: x.split(1)[1],
    "chunk": lambda x: x.chunk(2)[0],
    "select_method": lambda x: x.select(0, 1),
    "view_as": lambda x: x.view_as(x),
    "flatten": lambda x: x.flatten(),
    "movedim": lambda x: x.movedim(0, 1),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "unfold": lambda x: x.unfold(1, 2, 1),
}


@pytest.mark.parametrize("name", VIEWS)
def test_functions_that_give_views(lib, name):
    x = lib.ones(2, 3)
    v = VIEWS[name](x)
    assert v._is_view()
    assert v._base is x
    x.zero_()
    assert v.sum().item() == 0


@pytest.mark.parametrize("name", sorted(VIEWS.keys() - {"expand", "unfold"}))
def test_a_write_through_each_kind_of_view_reaches_the_bases_gradient(lib, name):
    w = lib.full((), 3.0, dtype=lib.float64, requires_grad=True)
    x = leaf(lib, 2, 3)
    if name in ("unbind", "split", "chunk"):
        pytest.skip("several views at once may not be written")
    y = x * 1
    v = VIEWS[name](y)
    n = v.numel()
    v.mul_(w)
    assert y.requires_grad
    y.sum().backward()
    values = np.arange(1.0, 7.0).reshape(2, 3)
    grads = np.array(x.grad.tolist())
    assert (grads == 3).sum() == n
    assert (grads == 1).sum() == 6 - n
    assert w.grad.item() == values[grads == 3].sum()


def test_functions_that_give_copies_are_no_views(lib):
    x = lib.ones(2, 3)
    for y in (
        x[[0, 1]],
        x[x > 0],
        x.t().reshape(-1),
        x.t().contiguous(),
        x.flip(0),
        x.repeat(1, 1),
    ):
        assert not y._is_view()


def test_a_contiguous_tensor_is_its_own_contiguous_self(lib):
    x = lib.ones(2, 3)
    assert x.contiguous() is x
    assert x.expand(2, 3)._is_view()


def test_a_view_made_under_no_grad_reports_requires_grad_but_is_a_leaf(lib):
    for x in (leaf(lib, 4), leaf(lib, 4) * 1):
        with lib.no_grad():
            v = x[:2]
        assert v.requires_grad
        assert v.grad_fn is None
        assert v.is_leaf
        assert v._is_view()


def test_an_older_view_of_a_new_leaf_reports_requires_grad_but_is_a_leaf(lib):
    x = lib.ones(4)
    v = x[:2]
    x.requires_grad_()
    assert v.requires_grad
    assert v.grad_fn is None
    assert v.is_leaf
    (v * 2).sum().backward()
    assert x.grad is None


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
