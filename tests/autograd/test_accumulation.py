"""Adding into `.grad`: whose buffer it is, in which layout, and what may be assigned."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import wengert as wg


def leaf(lib: Any, *values: float) -> Any:
    return lib.tensor(list(values), requires_grad=True)


def recorded_backward(y: Any, *gradient: Any, **options: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y.backward(*gradient, create_graph=True, **options)


# ---- buffers -------------------------------------------------------------------------------


def test_two_leaves_never_share_a_buffer(lib):
    x, w = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, 4.0)
    (x + w).sum().backward()
    x.grad.add_(10)
    assert w.grad.tolist() == [1, 1]


def test_two_leaves_do_not_share_the_buffer_of_a_given_gradient(lib):
    x, w = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, 4.0)
    g = lib.ones(2)
    (x + w).backward(g)
    x.grad.add_(10)
    assert w.grad.tolist() == g.tolist() == [1, 1]


def test_nor_with_create_graph(lib):
    x, w = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, 4.0)
    g = lib.ones(2)
    recorded_backward(x + w, g)
    with lib.no_grad():
        x.grad.add_(10)
    assert w.grad.tolist() == g.tolist() == [1, 1]


def test_a_gradient_that_a_hook_kept_is_not_taken_over(lib):
    x = leaf(lib, 1.0, 2.0)
    kept = []
    x.register_hook(kept.append)
    (x * 3).sum().backward()
    x.grad.zero_()
    assert kept[0].tolist() == [3, 3]


def test_a_gradient_retained_in_between_is_not_shared_with_a_leaf(lib):
    x = leaf(lib, 1.0, 2.0)
    y = x + 0
    z = y + 0
    y.retain_grad()
    z.retain_grad()
    z.backward(lib.ones(2))
    y.grad.add_(10)
    assert x.grad.tolist() == z.grad.tolist() == [1, 1]


def test_later_gradients_are_added_in_place(lib):
    x = leaf(lib, 1.0, 2.0)
    (x * 2).sum().backward()
    first = x.grad
    (x * 3).sum().backward()
    assert x.grad is first
    assert first.tolist() == [5, 5]


def test_adding_in_place_is_counted(lib):
    x = leaf(lib, 1.0)
    (x * 2).backward()
    before = x.grad._version
    (x * 2).backward()
    assert x.grad._version == before + 1


def test_with_create_graph_a_new_tensor_replaces_the_old(lib):
    x = leaf(lib, 1.0, 2.0)
    (x * 2).sum().backward()
    first = x.grad
    recorded_backward((x * x).sum())
    assert x.grad is not first
    assert first.tolist() == [2, 2]
    assert x.grad.tolist() == [4, 6]
    x.grad = None


def test_a_plain_pass_after_a_recorded_one_adds_in_place(lib):
    x = leaf(lib, 2.0)
    recorded_backward(x**3)
    first = x.grad
    assert first.requires_grad
    (x**3).backward()
    assert x.grad is first
    assert first.tolist() == [24]
    x.grad = None


def test_a_gradient_that_was_used_is_found_changed(lib):
    # The product saved x.grad, and the second pass adds into it.
    x, w = leaf(lib, 1.0), leaf(lib, 3.0)
    (x * 2).backward()
    y = w * x.grad
    (x * 2).backward()
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        y.backward()


def test_recorded_gradients_can_be_differentiated(lib):
    x = leaf(lib, 2.0)
    recorded_backward(x**3)
    recorded_backward(x**2)
    assert x.grad.tolist() == [16]
    (h,) = lib.autograd.grad(x.grad, x)
    assert h.tolist() == [14]
    x.grad = None


def test_the_gradient_of_a_scalar_can_be_written(lib):
    # NumPy's functions return scalars, which cannot be, for arrays without dimensions.
    x = lib.tensor(2.0, requires_grad=True)
    (x * x * 3).backward()
    first, alias = x.grad, x.grad.detach()
    (x * x).backward()
    first.mul_(2)
    assert alias.item() == x.grad.item() == 32


# ---- layout --------------------------------------------------------------------------------


def test_a_gradient_has_the_strides_of_a_dense_leaf(lib):
    x = lib.ones(2, 3, 4).permute(2, 0, 1).detach().requires_grad_()
    assert x.stride() == (1, 12, 4)
    (x * 2).sum().backward()
    assert x.grad.stride() == (1, 12, 4)
    x.grad = None
    (x * x).sum().backward()
    assert x.grad.stride() == (1, 12, 4)


def test_a_gradient_that_arrives_in_another_layout_is_brought_to_the_leafs(lib):
    x = lib.ones(3, 4, requires_grad=True)
    x.T.backward(lib.ones(4, 3))
    assert x.grad.stride() == (4, 1)


def test_the_gradient_of_a_leaf_with_gaps_is_contiguous(lib):
    x = lib.ones(4, 6).T[::2].detach().requires_grad_()
    assert x.stride() == (2, 6)
    (x * 2).sum().backward()
    assert x.grad.stride() == (4, 1)


def test_the_gradient_of_an_expanded_leaf_is_contiguous(lib):
    x = lib.ones(1).expand(3).detach().requires_grad_()
    (x * 2).sum().backward()
    assert x.grad.stride() == (1,)
    assert x.grad.tolist() == [2, 2, 2]


def test_layout_holds_with_create_graph(lib):
    x = lib.ones(2, 3).T.detach().requires_grad_()
    recorded_backward((x * x).sum())
    assert x.grad.stride() == x.stride() == (1, 3)
    x.grad = None


def test_empty_dimensions_broadcast(lib):
    x = lib.ones(4, 0, requires_grad=True)
    w = lib.ones(4, 1, requires_grad=True)
    (x * w).sum().backward()
    assert x.grad.shape == (4, 0)
    assert w.grad.tolist() == [[0], [0], [0], [0]]


# ---- assigning -----------------------------------------------------------------------------


@pytest.mark.parametrize("value", [1.0, "a", [1.0]])
def test_only_a_tensor_or_none_may_be_assigned(lib, value):
    with pytest.raises(TypeError, match="expected to be a Tensor or None"):
        leaf(lib, 1.0).grad = value


def test_shape_dtype_and_identity_of_an_assigned_gradient_are_checked(lib):
    x = leaf(lib, 1.0)
    for bad in (lib.ones(2), lib.ones(1, dtype=lib.float64), x):
        with pytest.raises(RuntimeError):
            x.grad = bad
    assert x.grad is None


def test_an_assigned_gradient_is_the_one_that_is_added_to(lib):
    x = leaf(lib, 1.0)
    x.grad = g = lib.tensor([10.0])
    (x * 2).backward()
    assert x.grad is g
    assert g.tolist() == [12]


def test_grad_can_be_deleted(lib):
    x = leaf(lib, 1.0)
    x.grad = lib.ones(1)
    del x.grad
    assert x.grad is None


# ---- leaves --------------------------------------------------------------------------------


def test_a_leaf_that_no_longer_requires_grad_receives_nothing(lib):
    x = leaf(lib, 1.0)
    y = x * 2
    x.requires_grad_(False)
    y.backward()
    assert x.grad is None


def test_a_leaf_that_was_deleted_is_no_obstacle(lib):
    x, w = leaf(lib, 1.0), leaf(lib, 2.0)
    y = x * w
    del x
    y.backward()
    assert w.grad.tolist() == [1]


# ---- wengert's own -------------------------------------------------------------------------


def failing(message: str) -> Any:
    class Failing(wg.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            raise ValueError(message)

    return Failing.apply


def test_a_pass_that_fails_has_changed_no_leaf():
    early, late = wg.ones(1, requires_grad=True), wg.ones(1, requires_grad=True)
    late.grad = wg.ones(1)
    y = failing("deep down")(early * 2) * late
    with pytest.raises(ValueError, match="deep down"):
        y.backward()
    assert early.grad is None
    assert late.grad.tolist() == [1]


def test_a_failing_hook_on_one_leaf_leaves_the_others_unchanged():
    leaves = [wg.ones(1, requires_grad=True) for _ in range(3)]

    def fail(g: Any) -> None:
        raise ValueError("no")

    leaves[1].register_hook(fail)
    with pytest.raises(ValueError, match="no"):
        (leaves[0] * leaves[1] * leaves[2]).backward()
    assert [x.grad for x in leaves] == [None, None, None]


def test_hooks_after_accumulation_find_all_leaves_finished():
    leaves = [wg.ones(1, requires_grad=True) for _ in range(3)]
    for x in leaves:
        x.register_post_accumulate_grad_hook(lambda x: seen.append([y.grad.item() for y in leaves]))
    seen: list[list[float]] = []
    (leaves[0] * 2 + leaves[1] * 3 + leaves[2] * 4).backward()
    assert seen == [[2, 3, 4]] * 3


def test_the_first_gradient_is_taken_over_where_nobody_else_holds_it():
    x = wg.ones(1000, requires_grad=True)
    addresses = []

    class Watch(wg.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            g = g * 2
            addresses.append(g._array.ctypes.data)
            return g

    Watch.apply(x).sum().backward()
    assert x.grad._array.ctypes.data == addresses[0]


def test_a_sum_that_overlaps_nothing_is_exact():
    x = wg.tensor(np.arange(4.0), requires_grad=True)
    for _ in range(3):
        (x * x).sum().backward()
    assert x.grad.tolist() == [0, 6, 12, 18]
