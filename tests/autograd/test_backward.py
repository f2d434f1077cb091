"""`backward` and `grad`: which nodes run, what is refused, what comes back (PyTorch's rules)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import wengert as wg


def leaf(lib: Any, *values: float) -> Any:
    return lib.tensor(list(values), requires_grad=True)


# ---- roots ---------------------------------------------------------------------------------


def test_a_root_without_graph_is_an_error(lib):
    with pytest.raises(RuntimeError, match="does not require grad"):
        lib.ones(1).backward()


def test_one_root_without_graph_among_several_is_enough_for_the_error(lib):
    x = leaf(lib, 2.0)
    with pytest.raises(RuntimeError, match="element 1 of tensors does not require grad"):
        lib.autograd.backward((x * 2, lib.ones(1)))
    assert x.grad is None


def test_a_root_with_several_elements_needs_a_gradient(lib):
    x = leaf(lib, 1.0, 2.0)
    with pytest.raises(RuntimeError, match="only for scalar outputs"):
        (x * 2).backward()
    with pytest.raises(RuntimeError, match="only for scalar outputs"):
        lib.autograd.backward((x * 2,), (None,))


@pytest.mark.parametrize("shape", [(), (1,), (1, 1, 1)])
def test_a_root_with_one_element_of_any_shape_needs_none(lib, shape):
    x = lib.ones(shape, requires_grad=True)
    (x * 3).backward()
    assert x.grad.shape == shape
    assert x.grad.item() == 3


def test_a_complex_scalar_needs_a_gradient(lib):
    x = lib.tensor(1 + 2j, requires_grad=True)
    with pytest.raises(RuntimeError, match="real scalar outputs"):
        (x * x).backward()


def test_a_given_gradient_has_exactly_the_shape_of_its_root(lib):
    x = leaf(lib, 1.0)
    message = (
        r"Mismatch in shape: grad_output\[0\] has a shape of torch.Size\(\[\]\) and output\[0\]"
    )
    with pytest.raises(RuntimeError, match=message):
        (x * 2).backward(lib.tensor(1.0))


def test_the_number_of_gradients_is_the_number_of_roots(lib):
    x = leaf(lib, 1.0)
    with pytest.raises(RuntimeError, match="got 2 tensors and 1 gradients"):
        lib.autograd.backward((x * 2, x * 3), (lib.ones(1),))


def test_real_and_complex_gradients_are_not_mixed(lib):
    x = leaf(lib, 1.0)
    with pytest.raises(RuntimeError, match="required to have the same dtype"):
        lib.autograd.grad(x * 2, x, lib.ones(1, dtype=lib.complex64))


@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_a_gradient_of_another_real_dtype_is_converted(lib, dtype):
    x = leaf(lib, 1.0)
    (g,) = lib.autograd.grad(x * 2, x, lib.ones(1, dtype=getattr(lib, dtype)))
    assert g.dtype == lib.float32


def test_a_gradient_that_is_no_tensor_is_a_type_error(lib):
    x = leaf(lib, 1.0)
    with pytest.raises(TypeError):
        lib.autograd.grad(x * 2, x, ("one",))


def test_a_root_listed_twice_counts_twice(lib):
    x = leaf(lib, 3.0)
    y = x * x
    lib.autograd.backward((y, y), (lib.ones(1), lib.ones(1)))
    assert x.grad.tolist() == [12]


def test_a_root_may_be_an_ancestor_of_another(lib):
    x = leaf(lib, 3.0)
    y = x * x
    lib.autograd.backward((y * 2, y))
    assert x.grad.tolist() == [18]


def test_a_leaf_may_be_a_root(lib):
    x = leaf(lib, 3.0)
    x.backward()
    assert x.grad.tolist() == [1]


def test_no_roots_at_all_is_no_error(lib):
    lib.autograd.backward([])


def test_a_gradient_given_by_the_user_is_not_modified(lib):
    x = leaf(lib, 1.0, 2.0)
    g = lib.tensor([1.0, 10.0])
    y = x.clone()
    for _ in range(3):
        y.backward(g, retain_graph=True)
    assert g.tolist() == [1, 10]
    assert x.grad.tolist() == [3, 30]


def test_a_gradient_given_to_a_leaf_is_not_shared_with_it(lib):
    x = leaf(lib, 1.0, 2.0)
    g = lib.tensor([1.0, 10.0])
    x.backward(g)
    x.grad.add_(5)
    assert g.tolist() == [1, 10]


def test_two_branches_that_receive_one_tensor_do_not_see_each_others_sums(lib):
    x = leaf(lib, 1.0, 2.0)
    a, b = x + 0, x + 0
    (a + b + a * 2).backward(lib.tensor([1.0, 10.0]))
    assert x.grad.tolist() == [4, 40]


def test_an_expanded_gradient_passes_through_slices_and_products(lib):
    x = lib.ones(3, 4, requires_grad=True)
    w = lib.ones(4, 2)
    for f in (lambda x: x[1], lambda x: x[:, 1:3], lambda x: x @ w, lambda x: x.T):
        expanded = lib.tensor(2.0).expand(f(x).shape)
        (found,) = lib.autograd.grad(f(x), x, expanded)
        (expected,) = lib.autograd.grad(f(x), x, expanded.clone())
        assert found.tolist() == expected.tolist()
    (g,) = lib.autograd.grad(x.diagonal(), x, lib.tensor(2.0).expand(3))
    assert g.tolist() == [[2, 0, 0, 0], [0, 2, 0, 0], [0, 0, 2, 0]]


# ---- grad ----------------------------------------------------------------------------------


def test_an_input_that_does_not_require_grad_is_an_error(lib):
    x = leaf(lib, 1.0)
    with pytest.raises(RuntimeError, match="does not require grad"):
        lib.autograd.grad(x * 2, lib.ones(1))


def test_an_input_without_influence_is_an_error_unless_allowed(lib):
    x, w = leaf(lib, 1.0), leaf(lib, 1.0)
    with pytest.raises(RuntimeError, match="Set allow_unused=True"):
        lib.autograd.grad(x * 2, (x, w))
    assert lib.autograd.grad(x * 2, (w,), allow_unused=True) == (None,)


def test_the_error_of_an_unused_input_names_its_position(lib):
    x, w = leaf(lib, 1.0), leaf(lib, 1.0)
    with pytest.raises(RuntimeError, match="at index 1 appears to not have been used"):
        lib.autograd.grad(x * 2, (x, w))


def test_zeros_are_made_for_an_input_without_influence_on_request(lib):
    x, w = leaf(lib, 1.0), leaf(lib, 1.0, 2.0)
    gx, gw = lib.autograd.grad(x * 2, (x, w), materialize_grads=True)
    assert gx.tolist() == [2]
    assert gw.tolist() == [0, 0]
    with pytest.raises(ValueError, match="allow_unused"):
        lib.autograd.grad(x * 2, (x, w), materialize_grads=True, allow_unused=False)


def test_zeros_made_with_create_graph_require_grad(lib):
    x, w = leaf(lib, 1.0), leaf(lib, 1.0)
    _, gw = lib.autograd.grad(x * 2, (x, w), materialize_grads=True, create_graph=True)
    assert gw.requires_grad


def test_no_inputs_is_an_error(lib):
    x = leaf(lib, 1.0)
    with pytest.raises(RuntimeError, match="cannot be empty"):
        lib.autograd.grad(x * 2, [])


def test_grad_writes_no_dot_grad(lib):
    x, w = leaf(lib, 1.0), leaf(lib, 2.0)
    y = x * w
    y.retain_grad()
    lib.autograd.grad(y * y, (x,))
    assert x.grad is None
    assert w.grad is None


def test_grad_of_an_output_with_respect_to_itself_is_the_given_gradient(lib):
    x = leaf(lib, 1.0)
    y = x * 2
    assert lib.autograd.grad(y, y)[0].tolist() == [1]
    assert lib.autograd.grad(x, x)[0].tolist() == [1]


def test_an_input_may_be_listed_twice(lib):
    x = leaf(lib, 3.0)
    a, b = lib.autograd.grad(x * x, (x, x))
    assert a.tolist() == b.tolist() == [6]


def test_gradients_of_leaves_and_of_what_lies_between_come_in_one_call(lib):
    x = leaf(lib, 3.0)
    y = x * 2
    z = y * y
    gx, gy, gz = lib.autograd.grad(z, (x, y, z))
    assert (gx.item(), gy.item(), gz.item()) == (24, 12, 1)


def raising(lib: Any) -> Any:
    class Raising(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            raise AssertionError("this backward should not run")

    return Raising.apply


def test_only_nodes_on_a_path_to_an_input_run(lib):
    x, w = leaf(lib, 1.0), leaf(lib, 2.0)
    y = x * 3 + raising(lib)(w)
    assert lib.autograd.grad(y, x)[0].tolist() == [3]


def test_no_node_runs_if_no_input_can_be_reached(lib):
    x, w = leaf(lib, 1.0), leaf(lib, 2.0)
    assert lib.autograd.grad(raising(lib)(w), x, allow_unused=True) == (None,)


def test_nodes_below_an_input_do_not_run(lib):
    x = leaf(lib, 1.0)
    y = raising(lib)(x)
    assert lib.autograd.grad(y * 3, y)[0].tolist() == [3]


def test_hooks_below_an_input_do_not_fire(lib):
    x = leaf(lib, 1.0)
    seen = []
    x.register_hook(lambda g: seen.append("x"))
    y = x * 2
    y.register_hook(lambda g: seen.append("y"))
    lib.autograd.grad(y * 3, y)
    assert seen == ["y"]


def test_the_same_holds_for_backward_with_inputs(lib):
    x, w = leaf(lib, 1.0), leaf(lib, 2.0)
    (x * 3 + raising(lib)(w)).backward(inputs=x)
    assert x.grad.tolist() == [3]
    assert w.grad is None


def test_several_outputs_of_one_node_are_asked_for_in_one_call(lib):
    x = leaf(lib, 1.0, 2.0, 3.0, 4.0)
    a, b = x.chunk(2)
    ga, gb = lib.autograd.grad((a * b).sum(), (a, b))
    assert ga.tolist() == [3, 4]
    assert gb.tolist() == [1, 2]


def test_asking_for_the_outputs_of_a_node_does_not_run_it(lib):
    class Halves(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x[:1].clone(), x[1:].clone()

        @staticmethod
        def backward(ctx: Any, *gs: Any) -> Any:
            raise AssertionError("this backward should not run")

    a, b = Halves.apply(leaf(lib, 1.0, 2.0))
    ga, gb = lib.autograd.grad((a * b).sum(), (a, b))
    assert (ga.tolist(), gb.tolist()) == ([2], [1])


def test_one_output_of_a_node_may_be_asked_for_together_with_what_lies_below(lib):
    x = leaf(lib, 1.0, 2.0, 3.0, 4.0)
    a, b = x.chunk(2)
    gx, gb = lib.autograd.grad((a * b).sum(), (x, b))
    assert gx.tolist() == [3, 4, 1, 2]
    assert gb.tolist() == [1, 2]


def test_the_results_of_create_graph_require_grad(lib):
    x = lib.ones(3, 3, requires_grad=True)
    for f in (lambda x: x.diagonal(), lambda x: x[1], lambda x: x[:, 1:]):
        (g,) = lib.autograd.grad((f(x) ** 2).sum(), x, create_graph=True)
        assert g.requires_grad
        (h,) = lib.autograd.grad(g.sum(), x)
        assert h.sum().item() == 2 * f(x).numel()


def test_without_create_graph_they_do_not(lib):
    x = leaf(lib, 2.0)
    (g,) = lib.autograd.grad(x**3, x)
    assert not g.requires_grad
    assert g.grad_fn is None


def test_third_derivatives(lib):
    x = leaf(lib, 2.0)
    y = x**4
    for expected in (32, 48, 48, 24):
        (y,) = lib.autograd.grad(y, x, create_graph=True)
        assert y.item() == expected


def test_gradients_with_history_given_to_create_graph_are_differentiated(lib):
    x = leaf(lib, 2.0)
    v = leaf(lib, 1.0)
    (g,) = lib.autograd.grad(x**3, x, v, create_graph=True)
    assert lib.autograd.grad(g, v)[0].tolist() == [12]


def test_integer_and_boolean_results_are_outside_the_graph(lib):
    x = leaf(lib, 1.0, 3.0, 2.0)
    assert not (x > 1).requires_grad
    assert not x.argmax().requires_grad
    values, indices = x.sort()
    assert values.requires_grad
    assert not indices.requires_grad


# ---- inputs= -------------------------------------------------------------------------------


def test_backward_accumulates_into_exactly_the_inputs(lib):
    x, w = leaf(lib, 2.0), leaf(lib, 3.0)
    (x * w).backward(inputs=[x], retain_graph=True)
    assert x.grad.tolist() == [3]
    assert w.grad is None


def test_backward_takes_an_input_that_is_no_leaf(lib):
    x = leaf(lib, 2.0)
    y = x * 2
    (y * y).backward(inputs=y)
    assert y.grad.tolist() == [8]
    assert x.grad is None
    assert y.retains_grad


def test_backward_takes_leaves_and_others_together(lib):
    x = leaf(lib, 2.0)
    y = x * 2
    (y * y).backward(inputs=(x, y))
    assert y.grad.tolist() == [8]
    assert x.grad.tolist() == [16]


def test_an_input_listed_twice_is_accumulated_once(lib):
    x = leaf(lib, 2.0)
    (x * x).backward(inputs=[x, x])
    assert x.grad.tolist() == [4]


def test_backward_with_no_inputs_is_an_error(lib):
    x = leaf(lib, 2.0)
    with pytest.raises(RuntimeError, match="cannot be empty"):
        (x * x).backward(inputs=[])


def test_an_input_out_of_reach_keeps_its_grad(lib):
    x, w = leaf(lib, 2.0), leaf(lib, 3.0)
    w.grad = lib.ones(1)
    (x * x).backward(inputs=[w])
    assert w.grad.tolist() == [1]
    assert x.grad is None


def test_inputs_receive_second_derivatives(lib):
    x = leaf(lib, 2.0)
    (g,) = lib.autograd.grad(x**3, x, create_graph=True)
    g.backward(inputs=x)
    assert x.grad.tolist() == [12]


# ---- undefined gradients -------------------------------------------------------------------


def test_an_output_that_received_nothing_counts_as_zero(lib):
    x = leaf(lib, 1.0, 2.0, 3.0, 4.0)
    a, _ = x.chunk(2)
    a.sum().backward()
    assert x.grad.tolist() == [1, 1, 0, 0]


def test_a_hook_on_a_sibling_output_is_called_with_none(lib):
    x = leaf(lib, 3.0, 1.0, 2.0)
    a, b, _ = (x * 1).unbind()
    seen = []
    b.register_hook(lambda g: seen.append(g))
    a.backward()
    assert seen == [None]


def test_such_a_hook_may_not_invent_a_gradient(lib):
    x = leaf(lib, 3.0, 1.0)
    a, b = (x * 1).unbind()
    b.register_hook(lambda g: lib.tensor(1.0))
    with pytest.raises(RuntimeError, match="can't replace a None gradient"):
        a.backward()


# ---- .grad of what is no leaf --------------------------------------------------------------


def test_reading_grad_of_a_non_leaf_warns(lib):
    y = leaf(lib, 1.0) * 2
    with pytest.warns(UserWarning, match="not a leaf Tensor"):
        assert y.grad is None


def test_leaves_and_retaining_tensors_do_not_warn(lib):
    x = leaf(lib, 1.0)
    y = x * 2
    y.retain_grad()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert x.grad is None
        assert y.grad is None
        assert lib.ones(1).grad is None


# ---- batches of gradients ------------------------------------------------------------------


def test_batched_gradients_are_the_stack_of_the_separate_calls(lib):
    x = leaf(lib, 1.0, 2.0, 3.0)
    y = x * x
    gs = lib.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 2.0]])
    (batch,) = lib.autograd.grad(y, x, gs, is_grads_batched=True, retain_graph=True)
    rows = [lib.autograd.grad(y, x, g, retain_graph=True)[0].tolist() for g in gs]
    assert batch.tolist() == rows


def test_batched_gradients_may_be_integers(lib):
    x = leaf(lib, 1.0, 2.0)
    gs = lib.tensor([[1, 0], [0, 1]])
    (batch,) = lib.autograd.grad(x * x, x, gs, is_grads_batched=True)
    assert batch.tolist() == [[2, 0], [0, 4]]


@pytest.mark.parametrize("shape", [(2, 3), (2, 1), (2,)])
def test_the_other_dimensions_of_batched_gradients_must_fit(lib, shape):
    x = leaf(lib, 1.0, 2.0)
    with pytest.raises(RuntimeError, match="we interpret the first"):
        lib.autograd.grad(x * x, x, lib.ones(shape), is_grads_batched=True)


def test_batched_gradients_of_a_scalar_have_one_dimension(lib):
    x = lib.tensor(2.0, requires_grad=True)
    (batch,) = lib.autograd.grad(x * x, x, lib.tensor([1.0, 2.0]), is_grads_batched=True)
    assert batch.tolist() == [4, 8]
    with pytest.raises(RuntimeError, match="we interpret the first"):
        lib.autograd.grad(x * x, x, lib.ones(2, 1), is_grads_batched=True)


def test_batched_gradients_leave_unused_inputs_undefined(lib):
    x, w = leaf(lib, 1.0), leaf(lib, 1.0)
    gs = lib.ones(2, 1)
    g, none = lib.autograd.grad(x * x, (x, w), gs, is_grads_batched=True, allow_unused=True)
    assert g.shape == (2, 1)
    assert none is None


def test_batched_gradients_can_be_differentiated_again(lib):
    x = leaf(lib, 1.0, 2.0)
    (rows,) = lib.autograd.grad(
        (x**3), x, lib.tensor([[1.0, 0.0], [0.0, 1.0]]), is_grads_batched=True, create_graph=True
    )
    (h,) = lib.autograd.grad(rows.sum(), x)
    assert h.tolist() == [6, 12]


# ---- gradient edges ------------------------------------------------------------------------


def test_an_edge_of_the_graph_may_stand_for_an_input_and_for_a_root(lib):
    x = leaf(lib, 2.0)
    y = x * 3
    edge = lib.autograd.graph.get_gradient_edge(y)
    assert lib.autograd.grad(y * y, edge, retain_graph=True)[0].tolist() == [12]
    (g,) = lib.autograd.grad(edge, x, grad_outputs=(lib.ones(1),))
    assert g.tolist() == [3]


def test_an_edge_names_one_output_of_several(lib):
    x = leaf(lib, 1.0, 2.0)
    a, b = x.unbind()
    edge = lib.autograd.graph.get_gradient_edge(b)
    assert edge.output_nr == 1
    assert lib.autograd.grad(a * b * 1, edge)[0].item() == 1


# ---- nodes as functions --------------------------------------------------------------------


def test_a_node_can_be_called_with_its_gradients(lib):
    x = leaf(lib, 3.0)
    y = x * x
    assert [g.tolist() for g in y.grad_fn(lib.ones(1))] == [[3], [3]]
    assert y.exp().grad_fn(lib.ones(1)).item() == pytest.approx(np.exp(9.0), rel=1e-5)


def test_calling_a_node_keeps_its_saved_values_and_can_be_differentiated(lib):
    x = leaf(lib, 3.0)
    y = x * x
    a, b = y.grad_fn(lib.ones(1))
    (h,) = lib.autograd.grad(a + b, x)
    assert h.tolist() == [2]
    y.backward()
    assert x.grad.tolist() == [6]


@pytest.mark.parametrize("n", [0, 2])
def test_a_node_called_with_the_wrong_number_of_gradients_says_so(lib, n):
    y = leaf(lib, 3.0).exp()
    with pytest.raises(TypeError, match=f"expected 1 arguments, got {n} instead"):
        y.grad_fn(*[lib.ones(1)] * n)


def test_a_node_of_several_outputs_takes_none_for_the_missing(lib):
    a, _ = leaf(lib, 1.0, 2.0, 3.0, 4.0).chunk(2)
    assert a.grad_fn(lib.ones(2), None).tolist() == [1, 1, 0, 0]


def test_an_accumulator_can_be_called(lib):
    x = leaf(lib, 3.0)
    accumulator = x.exp().grad_fn.next_functions[0][0]
    accumulator(lib.tensor([5.0]))
    assert x.grad.tolist() == [5]
    assert accumulator.variable is x


def test_nodes_have_pytorchs_names(lib):
    x = leaf(lib, 3.0)
    names = [
        y.grad_fn.name() for y in (x + x, x * x, x**2, x / x, x - x, x.exp(), x.sum(), x.clone())
    ]
    assert names == [
        f"{name}Backward0" for name in ("Add", "Mul", "Pow", "Div", "Sub", "Exp", "Sum", "Clone")
    ]
    assert x.exp().grad_fn.next_functions[0][0].name().endswith("AccumulateGrad")


def test_a_number_is_an_input_without_a_node(lib):
    x = leaf(lib, 3.0)
    for y in (x + 1, 2 * x, x / 2, x - 1):
        (first, _), second = y.grad_fn.next_functions
        assert first.variable is x
        assert second == (None, 0)
        assert y.grad_fn(lib.ones(1))[1] is None
    for y in (x**2, -x, x * lib.ones(1)):
        assert y.grad_fn.next_functions[0][0].variable is x
    assert len((x**2).grad_fn.next_functions) == 1


def test_nodes_of_one_tensor_are_one_object(lib):
    x = leaf(lib, 3.0)
    y = x * x
    z = y.exp()
    assert z.grad_fn.next_functions[0][0] is y.grad_fn
    assert y.grad_fn.next_functions[0][0] is y.grad_fn.next_functions[1][0]


def test_notes_may_be_kept_on_a_node(lib):
    y = leaf(lib, 3.0) * 2
    y.grad_fn.metadata["note"] = 1
    assert y.grad_fn.metadata == {"note": 1}
    y.backward()
    assert y.grad_fn.metadata["note"] == 1


def test_a_plain_array_may_be_given_as_gradient():
    x = wg.ones(2, requires_grad=True)
    (x * 2).backward(np.array([1.0, 3.0], np.float32))
    assert x.grad.tolist() == [2, 6]


def test_the_mismatch_names_the_position():
    x = leaf(wg, 1.0, 2.0)
    with pytest.raises(
        RuntimeError, match=r"grad_output\[1\] has a shape of torch.Size\(\[2, 2\]\)"
    ):
        wg.autograd.backward((x * 2, x * 3), (wg.ones(2), wg.ones(2, 2)))


def test_a_second_backward_goes_through_nodes_that_keep_no_tensor():
    # Slices were said to keep an index, einsum of one operand and resizing by a constant matrix
    # arrays: the pass after the first was refused, as of nodes whose tensors are freed.
    resized = wg.nn.functional.interpolate
    for f in (
        lambda x: x[0],
        lambda x: x[:, 1:],
        lambda x: x.diff(),
        lambda x: wg.trapezoid(x),
        lambda x: x.narrow(0, 1, 1),
        lambda x: wg.einsum("ij->ji", x),
        lambda x: wg.meshgrid(x[0], x[1], indexing="ij")[0],
        lambda x: resized(x[None], scale_factor=2),
        lambda x: resized(x[None], scale_factor=2, mode="linear"),
    ):
        x = wg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
        y = f(x)
        y.backward(wg.ones_like(y))
        once = x.grad.clone()
        y.backward(wg.ones_like(y))
        assert wg.equal(x.grad, 2 * once)


def test_the_edge_of_a_scalar_is_a_root_as_the_scalar_is(lib):
    # Its cotangent was asked for, though the tensor that stands there has one element.
    x = leaf(lib, 1.0, 2.0)
    edge = lib.autograd.graph.get_gradient_edge((x**2).sum())
    lib.autograd.backward(edge, retain_graph=True)
    assert x.grad.tolist() == [2.0, 4.0]
    assert lib.autograd.grad(edge, x)[0].tolist() == [2.0, 4.0]
    with pytest.raises(RuntimeError, match="only for scalar outputs"):
        lib.autograd.backward(lib.autograd.graph.get_gradient_edge(x * 2))
