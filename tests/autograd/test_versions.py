"""The version counter: what counts as a change, who shares the count, and who checks it."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.errors import ModifiedError

INPLACE = {
    "add_": lambda x: x.add_(1),
    "mul_": lambda x: x.mul_(2),
    "sub_": lambda x: x.sub_(1),
    "div_": lambda x: x.div_(2),
    "zero_": lambda x: x.zero_(),
    "fill_": lambda x: x.fill_(3),
    "copy_": lambda x: x.copy_(x.clone()),
    "exp_": lambda x: x.exp_(),
    "clamp_": lambda x: x.clamp_(0, 1),
    "iadd": lambda x: x.__iadd__(1),
    "ipow": lambda x: x.__ipow__(2),
    "t_": lambda x: x.t_(),
}


@pytest.mark.parametrize("name", INPLACE)
def test_every_in_place_operation_advances_the_counter_by_one(lib, name):
    x = lib.ones(2, 2)
    assert x._version == 0
    assert INPLACE[name](x) is x
    assert x._version == 1


def test_indexed_assignment_advances_the_counter(lib):
    x = lib.ones(2, 2)
    x[0] = 5.0
    x[x > 3] = 1.0
    x[:, 1] = lib.zeros(2)
    assert x._version == 3


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
def test_the_counter_advances_with_recording_off(lib, mode):
    x = lib.ones(2)
    with getattr(lib, mode)():
        x.add_(1)
    assert x._version == 1


def test_out_of_place_operations_and_reads_leave_the_counter(lib):
    x = lib.ones(3)
    x + 1, x[0], x.sum(), x.clone(), x.numpy()
    assert x._version == 0


def test_views_share_the_counter_both_ways(lib):
    x = lib.ones(4)
    a, b = x[:2], x.view(2, 2)[0]
    a.add_(1)
    assert (x._version, a._version, b._version) == (1, 1, 1)
    b.mul_(1)
    x.mul_(1)
    assert (x._version, a._version, b._version) == (3, 3, 3)


def test_a_view_taken_after_writes_starts_at_their_count(lib):
    x = lib.ones(4)
    x.add_(1)
    assert x[1:]._version == 1


def test_copies_start_at_zero(lib):
    x = lib.ones(4)
    x.add_(1)
    assert x.clone()._version == 0
    assert (x + 0)._version == 0


def test_detached_tensors_share_the_counter(lib):
    x = lib.ones(2)
    d = x.detach()
    d.add_(1)
    assert (x._version, d._version) == (1, 1)
    x.add_(1)
    assert (x._version, d._version) == (2, 2)


def test_changing_a_detached_tensor_invalidates_what_the_original_saved(lib):
    x = lib.ones(2, requires_grad=True).clone()
    y = x * x
    x.detach().add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_data_has_a_counter_of_its_own(lib):
    x = lib.ones(2, requires_grad=True).clone()
    y = x * x
    x.data.add_(0)
    assert x._version == 0
    y.sum().backward()


def test_assigning_data_keeps_counter_identity_and_the_sharing_with_views(lib):
    x = lib.ones(4)
    v = x[:2]
    x.add_(1)
    before = id(x)
    x.data = lib.zeros(7)
    assert id(x) == before
    assert x.shape == (7,)
    assert (x._version, v._version) == (1, 1)
    x.add_(1)
    assert (x._version, v._version) == (2, 2)
    v.add_(1)
    assert (x._version, v._version) == (3, 3)


def test_product_saves_both_factors_and_notices_a_change_of_either(lib):
    for changed in (0, 1):
        leaf = lib.ones(2, requires_grad=True)
        factors = [leaf * 2, leaf * 3]
        y = factors[0] * factors[1]
        with lib.no_grad():
            factors[changed].add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()


def test_a_buffer_times_a_constant_may_be_overwritten(lib):
    # Only the factor of a tracked factor is saved.
    x = lib.ones(2, requires_grad=True)
    buffer = x * 3
    c = lib.full((2,), 4.0)
    y = buffer * c
    buffer.zero_()
    y.sum().backward()
    assert x.grad.tolist() == [12, 12]


def test_a_constant_factor_must_not_be_overwritten(lib):
    x = lib.ones(2, requires_grad=True)
    c = lib.full((2,), 4.0)
    y = x * c
    c.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


NOTHING_SAVED = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "number": lambda a, b: a * 3,
    "sum": lambda a, b: a.sum(),
    "neg": lambda a, b: -a,
    "reshape": lambda a, b: a.reshape(2, 1) + 0,
    "index": lambda a, b: a[1] + 0,
    "mask": lambda a, b: a[b > 0],
    "mean": lambda a, b: a.mean(),
    "clone": lambda a, b: a.clone(),
}


@pytest.mark.parametrize("name", NOTHING_SAVED)
def test_operations_that_save_no_values_survive_any_change(lib, name):
    leaf = lib.ones(2, requires_grad=True)
    a = leaf * 2
    y = NOTHING_SAVED[name](a, lib.ones(2))
    with lib.no_grad():
        a.add_(1)
    y.sum().backward()
    assert leaf.grad is not None


def test_an_operation_that_saves_its_result_is_valid_after_its_own_write(lib):
    x = lib.zeros(2, requires_grad=True)
    y = (x * 1).exp_()
    y.sum().backward()
    assert x.grad.tolist() == [1, 1]


def test_earlier_consumers_of_an_overwritten_value_fail(lib):
    x = lib.ones(2, requires_grad=True)
    y = x * 1
    z = y * y
    y.exp_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_a_later_write_invalidates_a_result_saved_in_place(lib):
    x = lib.ones(2, requires_grad=True)
    y = (x * 1).exp_()
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_an_in_place_product_keeps_the_old_value_it_needs(lib):
    x = lib.full((2,), 3.0, requires_grad=True)
    w = lib.full((2,), 5.0, requires_grad=True)
    y = x * 1
    y.mul_(w)
    y.sum().backward()
    assert x.grad.tolist() == [5, 5]
    assert w.grad.tolist() == [3, 3]


def test_the_saved_output_shares_memory_and_counter(lib):
    x = lib.ones(2, requires_grad=True)
    y = x.exp()
    saved = y.grad_fn._saved_result
    assert saved._version == 0
    with lib.no_grad():
        saved.mul_(2)
    assert y._version == 1
    assert y.tolist() == saved.tolist()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_change_through_a_view_is_noticed_where_the_base_was_saved(lib):
    x = lib.ones(4, requires_grad=True).clone()
    y = x * x
    x[:1].add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_leaf_changed_under_no_grad_is_noticed(lib):
    w = lib.ones(2, requires_grad=True)
    loss = (w * w).sum()
    with lib.no_grad():
        w.sub_(0.1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_increment_version_counts_like_a_write(lib):
    x = lib.ones(2, requires_grad=True).clone()
    y = x * x
    lib.autograd.graph.increment_version(x)
    assert x._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_custom_function_notices_that_what_it_saved_was_changed(lib):
    class Square(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    x = lib.ones(2, requires_grad=True).clone()
    y = Square.apply(x)
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_gradient_accumulation_counts_as_a_write_to_grad(lib):
    x = lib.ones(2, requires_grad=True)
    x.sum().backward()
    g, before = x.grad, x.grad._version
    x.sum().backward()
    assert x.grad is g
    assert g._version > before


# ---- ours alone: the message ---------------------------------------------------------------


def test_the_message_names_the_saver_and_the_writer_with_the_line_of_each():
    x = wg.ones(2, 3, requires_grad=True) * 1
    y = x * x  # the line that saved
    x.add_(1)  # the line that wrote
    with pytest.raises(ModifiedError) as caught:
        y.sum().backward()
    message = str(caught.value)
    assert "MulBackward0" in message
    assert "y = x * x  # the line that saved" in message
    assert "add_" in message
    assert "x.add_(1)  # the line that wrote" in message
    assert "[2, 3]" in message
    assert "clone()" in message


def test_the_message_names_indexed_assignment_as_the_writer():
    x = wg.ones(2, 3, requires_grad=True) * 1
    y = x * x
    x[0] = 7.0
    with pytest.raises(ModifiedError, match=r"x\[0\] = 7.0"):
        y.sum().backward()


def test_numpy_writes_through_out_are_counted():
    x = wg.ones(2)
    np.add(x, 1, out=x)
    assert x._version == 1
    assert x.tolist() == [2, 2]
