"""Views and in-place operations: whose history changes, which gradients follow, what is refused."""

from __future__ import annotations

import numpy as np
import pytest


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


def test_a_write_through_strides_reaches_the_gradient_of_a_turned_base(lib):
    # The base's cotangent is row-major: the strides were looked up in it as if it were the base.
    x = leaf(lib, 2, 3)
    y = x.T * 3
    y.as_strided((2, 2), (1, 3), 1).mul_(10)
    (y * lib.arange(6.0).reshape(3, 2)).sum().backward()
    assert x.grad.tolist() == [[0.0, 60.0, 120.0], [3.0, 90.0, 150.0]]


def test_strides_of_a_view_see_the_rest_of_its_bases_storage(lib):
    # What the view itself did not hold was no view of anything: writes were not counted, and their
    # gradients fell away.
    x = leaf(lib, 6)
    y = x * 1
    view = y[2:]
    window = view.as_strided((3,), (1,), 1)
    assert window._base is y
    window.mul_(3)
    assert view._version == y._version == 1
    (y * lib.arange(6.0)).sum().backward()
    assert x.grad.tolist() == [0.0, 3.0, 6.0, 9.0, 4.0, 5.0]


def test_a_view_turns_into_strides_outside_of_it(lib):
    # An AttributeError from inside.
    x = lib.arange(6.0)
    view = x[2:]
    view.as_strided_((2,), (1,), 0)
    assert view._base is x
    view.add_(5)
    assert x.tolist() == [5.0, 6.0, 2.0, 3.0, 4.0, 5.0]
