"""Custom functions: calling, saving, aliases, errors."""

from __future__ import annotations

import gc
import traceback
import warnings
import weakref
from typing import Any

import pytest

import wengert as wg


def leaf(lib: Any, *values: float) -> Any:
    return lib.tensor(list(values), requires_grad=True)


def custom(lib: Any, forward: Any, backward: Any, **members: Any) -> Any:
    """A Function from two plain functions."""
    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)} | members
    return type("Custom", (lib.autograd.Function,), members)


def double(lib: Any) -> Any:
    return custom(lib, lambda ctx, x: x * 2, lambda ctx, g: g * 2)


# ---- calling -------------------------------------------------------------------------------


def test_arguments_may_be_any_objects(lib):
    f = custom(
        lib,
        lambda ctx, x, word, n, nothing, w: x * n + w * len(word),
        lambda ctx, g: (g * 3, None, None, None, g * 4),
    )
    x, w = leaf(lib, 1.0), leaf(lib, 1.0)
    f.apply(x, "four", 3, None, w).backward()
    assert (x.grad.item(), w.grad.item()) == (3, 4)


def test_outputs_may_be_any_objects(lib):
    got = []
    f = custom(
        lib, lambda ctx, x: (x * 2, "a", None, [x]), lambda ctx, *gs: got.extend(gs) or gs[0] * 2
    )
    x = leaf(lib, 1.0)
    y, word, nothing, items = f.apply(x)
    assert (word, nothing, items[0] is x) == ("a", None, True)
    y.backward()
    assert [g if g is None else g.item() for g in got] == [1, None, None, None]


def test_a_single_output_is_returned_bare_and_a_tuple_of_one_is_not(lib):
    x = leaf(lib, 1.0)
    assert isinstance(double(lib).apply(x), lib.Tensor)
    (y,) = custom(lib, lambda ctx, x: (x * 2,), lambda ctx, g: g * 2).apply(x)
    y.backward()
    assert x.grad.tolist() == [2]


def test_it_works_without_any_tensor(lib):
    f = custom(lib, lambda ctx, a: a + 1, lambda ctx, g: None)
    assert f.apply(2) == 3


def test_needs_input_grad_has_one_entry_per_argument(lib):
    seen = []

    def forward(ctx: Any, *args: Any) -> Any:
        seen.append(ctx.needs_input_grad)
        return args[0] * 2

    def backward(ctx: Any, g: Any) -> Any:
        seen.append(ctx.needs_input_grad)
        return g * 2, None, None

    custom(lib, forward, backward).apply(leaf(lib, 1.0), 5, lib.ones(1)).backward()
    assert seen == [(True, False, False)] * 2


def test_extra_nones_are_allowed(lib):
    x = leaf(lib, 1.0)
    custom(lib, lambda ctx, x: x * 2, lambda ctx, g: (g * 2, None, None)).apply(x).backward()
    assert x.grad.tolist() == [2]


@pytest.mark.parametrize("n", [1, 3])
def test_another_number_of_gradients_is_an_error(lib, n):
    f = custom(lib, lambda ctx, x, w: x * w, lambda ctx, g: (g,) * n)
    y = f.apply(leaf(lib, 1.0), leaf(lib, 1.0))
    with pytest.raises(RuntimeError, match="returned an incorrect number of gradients"):
        y.backward()


def test_a_gradient_for_what_is_no_tensor_is_an_error(lib):
    f = custom(lib, lambda ctx, x, n: x * n, lambda ctx, g: (g * 2, g))
    y = f.apply(leaf(lib, 1.0), 2)
    with pytest.raises(RuntimeError, match="gradient different than None at position 2"):
        y.backward()


def test_a_gradient_that_is_no_tensor_is_an_error(lib):
    y = custom(lib, lambda ctx, x: x * 2, lambda ctx, g: 2.0).apply(leaf(lib, 1.0))
    with pytest.raises(RuntimeError, match="expected Variable or None"):
        y.backward()


def test_none_means_no_gradient_and_not_zeros(lib):
    x = leaf(lib, 1.0)
    custom(lib, lambda ctx, x: x * 2, lambda ctx, g: None).apply(x).backward()
    assert x.grad is None


def test_nothing_is_computed_upstream_of_none(lib):
    x = leaf(lib, 1.0)
    y = x * 2
    seen = []
    y.register_hook(seen.append)
    custom(lib, lambda ctx, x: x * 2, lambda ctx, g: None).apply(y.exp()).backward()
    assert seen == [None]
    assert x.grad is None


def test_a_custom_function_upstream_of_none_gets_zeros(lib):
    x, seen = leaf(lib, 1.0, 2.0), []
    f = custom(lib, lambda ctx, x: x * 2, lambda ctx, g: seen.append(g.tolist()) or g)
    nothing = custom(lib, lambda ctx, x: x.sum(), lambda ctx, g: None)
    nothing.apply(f.apply(x)).backward()
    assert seen == [[0, 0]]
    assert x.grad.tolist() == [0, 0]


def test_or_none_if_it_asked_for_that(lib):
    x, seen = leaf(lib, 1.0), []
    f = custom(
        lib,
        lambda ctx, x: ctx.set_materialize_grads(False) or x * 2,
        lambda ctx, g: seen.append(g),
    )
    custom(lib, lambda ctx, x: x * 2, lambda ctx, g: None).apply(f.apply(x)).backward()
    assert seen == [None]
    assert x.grad is None


@pytest.mark.parametrize("materialize", [True, False])
def test_a_missing_gradient_is_zeros_or_none(lib, materialize):
    seen = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(materialize)
        return x * 2, lib.ones(3, dtype=lib.float64) * x.sum()

    f = custom(lib, forward, lambda ctx, a, b: seen.append(b) or a * 2)
    x = leaf(lib, 1.0, 2.0)
    f.apply(x)[0].sum().backward()
    if materialize:
        assert seen[0].tolist() == [0, 0, 0]
        assert seen[0].dtype == lib.float64
    else:
        assert seen == [None]


def test_a_gradient_of_the_wrong_shape_names_function_and_position(lib):
    f = custom(lib, lambda ctx, x, w: x * w, lambda ctx, g: (g, lib.ones(3)))
    y = f.apply(leaf(lib, 1.0, 2.0), leaf(lib, 1.0, 2.0))
    with pytest.raises(RuntimeError, match=r"CustomBackward.*index 1.*expected shape"):
        y.sum().backward()


def test_a_gradient_that_can_be_summed_to_the_shape_is_reduced(lib):
    f = custom(lib, lambda ctx, x, w: x + w, lambda ctx, g: (g, g))
    x = lib.ones(2, 1, requires_grad=True)
    w = lib.ones((), requires_grad=True)
    f.apply(x, w.expand(2, 3)).sum().backward()
    assert x.grad.tolist() == [[3], [3]]
    assert w.grad.item() == 6


def test_a_gradient_of_another_floating_dtype_is_converted(lib):
    x = leaf(lib, 1.0)
    custom(lib, lambda ctx, x: x * 2, lambda ctx, g: g.double()).apply(x).backward()
    assert x.grad.dtype == lib.float32


def test_backward_records_exactly_when_create_graph_does(lib):
    seen = []
    f = custom(
        lib, lambda ctx, x: x * 2, lambda ctx, g: seen.append(lib.is_grad_enabled()) or g * 2
    )
    x = leaf(lib, 1.0)
    lib.autograd.grad(f.apply(x), x)
    lib.autograd.grad(f.apply(x), x, create_graph=True)
    assert seen == [False, True]


def test_untracked_outputs_have_no_node(lib):
    f = double(lib)
    assert f.apply(lib.ones(1)).grad_fn is None
    with lib.no_grad():
        y = f.apply(leaf(lib, 1.0))
    assert y.grad_fn is None
    assert not y.requires_grad


def test_forward_is_not_recorded(lib):
    def forward(ctx: Any, x: Any) -> Any:
        assert not lib.is_grad_enabled()
        y = x * 3
        y[0] = 0
        y.view(-1).add_(1)
        return y

    x = leaf(lib, 1.0, 2.0)
    y = custom(lib, forward, lambda ctx, g: g * 10).apply(x)
    assert y.grad_fn.name() == "CustomBackward"
    y.sum().backward()
    assert x.grad.tolist() == [10, 10]


def test_integer_outputs_are_outside_the_graph(lib):
    f = custom(lib, lambda ctx, x: (x * 2, x.argmax()), lambda ctx, g, none: g * 2)
    x = leaf(lib, 1.0, 3.0)
    y, i = f.apply(x)
    assert not i.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_setup_context_may_be_separate(lib):
    class Cube(lib.autograd.Function):
        @staticmethod
        def forward(x: Any, n: int = 3) -> Any:
            return x**n

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            x, ctx.n = inputs
            ctx.save_for_backward(x)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * ctx.n * x ** (ctx.n - 1), None

    x = leaf(lib, 2.0)
    Cube.apply(x).backward()
    Cube.apply(x, n=2).backward()
    assert x.grad.tolist() == [16]


def test_the_node_is_named_after_the_function(lib):
    class Cubed(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x**3

    y = Cubed.apply(leaf(lib, 1.0))
    assert type(y.grad_fn).__name__ == y.grad_fn.name() == "CubedBackward"
    assert isinstance(y.grad_fn, Cubed._backward_cls)


# ---- saving --------------------------------------------------------------------------------


def square(lib: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    return custom(lib, forward, lambda ctx, g: 2 * ctx.saved_tensors[0] * g)


def test_saved_inputs_are_read_back_as_the_same_object(lib):
    x = leaf(lib, 3.0)
    y = square(lib).apply(x)
    assert y.grad_fn.saved_tensors[0] is x
    assert y.grad_fn.saved_tensors[0] is x


def test_second_derivatives_go_through_saved_inputs(lib):
    x = leaf(lib, 3.0)
    (g,) = lib.autograd.grad(square(lib).apply(x), x, create_graph=True)
    (h,) = lib.autograd.grad(g, x)
    assert (g.item(), h.item()) == (6, 2)


def test_nothing_saved_reads_as_an_empty_tuple(lib):
    y = double(lib).apply(leaf(lib, 1.0))
    assert y.grad_fn.saved_tensors == ()


def test_none_may_be_saved(lib):
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(None, x, None)
        return x * 1

    y = custom(lib, forward, lambda ctx, g: g).apply(leaf(lib, 1.0))
    a, x, b = y.grad_fn.saved_tensors
    assert a is b is None
    assert x is not None


def test_only_tensors_and_none_may_be_saved(lib):
    f = custom(lib, lambda ctx, x: ctx.save_for_backward(5) or x * 1, lambda ctx, g: g)
    with pytest.raises(TypeError, match="save_for_backward can only save variables"):
        f.apply(leaf(lib, 1.0))


def test_temporaries_may_be_saved(lib):
    def forward(ctx: Any, x: Any) -> Any:
        t = x * 5
        ctx.save_for_backward(t)
        return x * 1

    x = leaf(lib, 2.0)
    custom(lib, forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(x).backward()
    assert x.grad.tolist() == [10]


def exp(lib: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    return custom(lib, forward, lambda ctx, g: g * ctx.saved_tensors[0])


def test_a_saved_output_is_read_back_with_the_functions_node(lib):
    y = exp(lib).apply(leaf(lib, 0.5))
    (saved,) = y.grad_fn.saved_tensors
    assert saved.grad_fn is y.grad_fn
    assert saved.tolist() == y.tolist()


def test_second_derivatives_go_through_a_saved_output(lib):
    x = leaf(lib, 0.5)
    y = exp(lib).apply(x)
    (g,) = lib.autograd.grad(y, x, create_graph=True)
    (h,) = lib.autograd.grad(g, x, create_graph=True)
    (k,) = lib.autograd.grad(h, x)
    assert g.item() == h.item() == k.item() == y.item()


def test_a_saved_output_makes_no_cycle(lib):
    gc.disable()
    try:
        y = exp(lib).apply(leaf(lib, 0.5))
        alive = weakref.ref(y)
        del y
        assert alive() is None
    finally:
        gc.enable()


def test_a_saved_output_of_several_is_read_back_with_its_number(lib):
    def forward(ctx: Any, x: Any) -> Any:
        a, b = x * 2, x.exp()
        ctx.save_for_backward(b)
        return a, b

    def backward(ctx: Any, ga: Any, gb: Any) -> Any:
        (b,) = ctx.saved_tensors
        return ga * 2 + gb * b

    x = leaf(lib, 0.5)
    a, b = custom(lib, forward, backward).apply(x)
    assert a.grad_fn.saved_tensors[0].output_nr == b.output_nr == 1
    (g,) = lib.autograd.grad(b, x, create_graph=True)
    assert lib.autograd.grad(g, x)[0].item() == b.item()


def test_a_saved_tensor_keeps_its_own_place_in_the_graph(lib):
    _, b = leaf(lib, 1.0, 2.0).unbind()
    y = square(lib).apply(b)
    (saved,) = y.grad_fn.saved_tensors
    assert saved.output_nr == 1
    assert saved.grad_fn is b.grad_fn


def test_saved_values_cannot_be_read_after_the_pass(lib):
    y = square(lib).apply(leaf(lib, 1.0))
    y.backward()
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        y.grad_fn.saved_tensors


def test_saved_tensors_may_be_read_repeatedly_in_backward(lib):
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    x = leaf(lib, 3.0)
    f = custom(lib, forward, lambda ctx, g: (ctx.saved_tensors[0] + ctx.saved_tensors[0]) * g)
    f.apply(x).backward()
    assert x.grad.tolist() == [6]


def test_saved_values_are_checked_for_changes(lib):
    x = leaf(lib, 3.0)
    t = x * 1
    y = square(lib).apply(t)
    t.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_saved_variables_is_a_deprecated_alias(lib):
    y = square(lib).apply(leaf(lib, 3.0))
    with pytest.warns(DeprecationWarning, match="saved_tensors"):
        y.grad_fn.saved_variables


def test_any_attribute_may_be_set_and_cycles_through_it_are_collected(lib):
    class Token:
        pass

    def forward(ctx: Any, x: Any, token: Any) -> Any:
        ctx.token = token
        return x * 2

    for run in (False, True):
        token = Token()
        alive = weakref.ref(token)
        y = custom(lib, forward, lambda ctx, g: (g * 2, None)).apply(leaf(lib, 1.0), token)
        y.grad_fn.output = y
        if run:
            y.backward()
        del y, token
        gc.collect()
        assert alive() is None


# ---- outputs that are inputs, views, duplicates --------------------------------------------


def test_an_input_returned_comes_back_as_a_view_with_the_functions_node(lib):
    f = custom(lib, lambda ctx, x: x, lambda ctx, g: g * 10)
    for x in (leaf(lib, 1.0), leaf(lib, 1.0) * 1):
        y = f.apply(x)
        assert y is not x
        assert y._is_view()
        assert y._base is x
        assert y.grad_fn.name() == "CustomBackward"
        assert x.grad_fn is not y.grad_fn


def test_so_does_an_untracked_input(lib):
    x = lib.ones(1)
    y = custom(lib, lambda ctx, x: x, lambda ctx, g: g).apply(x)
    assert y is not x
    assert y._is_view()
    assert not y.requires_grad


def test_the_gradient_through_an_alias_is_the_functions(lib):
    x = leaf(lib, 1.0)
    y = custom(lib, lambda ctx, x: x, lambda ctx, g: g * 10).apply(x)
    (y * 2 + x * 3).backward()
    assert x.grad.tolist() == [23]


def test_a_hook_on_an_alias_sees_only_what_flows_through_it(lib):
    x = leaf(lib, 1.0)
    y = custom(lib, lambda ctx, x: x, lambda ctx, g: g).apply(x)
    seen = []
    y.register_hook(lambda g: seen.append(g.item()))
    (y * 2 + x * 3).backward()
    assert seen == [2]
    assert x.grad.tolist() == [5]


def test_a_tensor_returned_twice_is_one_object_and_its_gradient_arrives_once(lib):
    seen = []

    def forward(ctx: Any, x: Any) -> Any:
        y = x * 2
        return y, y

    f = custom(lib, forward, lambda ctx, a, b: seen.append((a + b).item()) or (a + b) * 2)
    x = leaf(lib, 1.0)
    a, b = f.apply(x)
    assert a is b
    (a * 3 + b * 4).backward()
    assert seen == [7]
    assert x.grad.tolist() == [14]


def add_one(lib: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        x.add_(1)
        ctx.mark_dirty(x)
        return x

    return custom(lib, forward, lambda ctx, g: g * 10)


def test_a_dirty_input_is_the_output_itself(lib):
    x = leaf(lib, 1.0)
    t = x * 2
    y = add_one(lib).apply(t)
    assert y is t
    assert y.grad_fn.name() == "CustomBackward"
    (y * 3).backward()
    assert x.grad.tolist() == [60]


def test_a_leaf_that_requires_grad_may_not_be_dirty(lib):
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        add_one(lib).apply(leaf(lib, 1.0))


def test_a_dirty_input_must_be_returned(lib):
    def forward(ctx: Any, x: Any) -> Any:
        x.add_(1)
        ctx.mark_dirty(x)
        return x * 2

    with pytest.raises(RuntimeError, match="marked as dirty"):
        custom(lib, forward, lambda ctx, g: g).apply(leaf(lib, 1.0) * 1)


def test_a_dirty_view_of_a_function_with_several_outputs_is_an_error(lib):
    def forward(ctx: Any, x: Any) -> Any:
        x.add_(1)
        ctx.mark_dirty(x)
        return x, x * 2

    base = leaf(lib, 1.0, 2.0) * 1
    with pytest.raises(RuntimeError, match="modifies inplace an input that is a view"):
        custom(lib, forward, lambda ctx, a, b: a).apply(base[:1])


def test_a_dirty_view_rebuilds_the_history_of_its_base(lib):
    x = leaf(lib, 1.0, 2.0)
    base = x * 1
    add_one(lib).apply(base[:1])
    base.sum().backward()
    assert base.tolist() == [2, 2]
    assert x.grad.tolist() == [10, 1]


def test_marking_what_is_no_input_only_warns(lib):
    def forward(ctx: Any, x: Any) -> Any:
        y = x * 2
        ctx.mark_dirty(y)
        return y

    x = leaf(lib, 1.0)
    with pytest.warns(UserWarning, match="Only input Tensors"):
        y = custom(lib, forward, lambda ctx, g: g * 2).apply(x)
    y.backward()
    assert x.grad.tolist() == [2]


def test_an_output_marked_non_differentiable_does_not_require_grad(lib):
    seen = []

    def forward(ctx: Any, x: Any) -> Any:
        a, b = x * 2, x * 3
        ctx.mark_non_differentiable(b)
        return a, b

    f = custom(lib, forward, lambda ctx, a, b: seen.append(b.tolist()) or a * 2)
    x = leaf(lib, 1.0, 2.0)
    a, b = f.apply(x)
    assert a.requires_grad
    assert not b.requires_grad
    a.sum().backward()
    assert seen == [[0, 0]]
    assert x.grad.tolist() == [2, 2]


@pytest.mark.parametrize("of", ["input", "temporary"])
def test_an_output_that_is_a_view_may_not_be_changed_while_tracked(lib, of):
    f = custom(
        lib,
        lambda ctx, x: (x if of == "input" else x * 2).view(-1),
        lambda ctx, g: g.view(2, 1),
    )
    y = f.apply(lib.ones(2, 1, requires_grad=True) * 1)
    assert (y * 2).requires_grad
    with pytest.raises(RuntimeError, match="created inside a custom Function"):
        y.add_(1)


def test_such_a_view_of_several_has_the_error_of_several_views(lib):
    f = custom(lib, lambda ctx, x: (x.view(-1), x * 2), lambda ctx, a, b: b)
    y, _ = f.apply(lib.ones(2, 1, requires_grad=True) * 1)
    with pytest.raises(RuntimeError, match="returns multiple views"):
        y.add_(1)


def test_an_untracked_view_may_be_changed_but_not_by_a_tracked_value(lib):
    f = custom(lib, lambda ctx, x: x.view(-1), lambda ctx, g: g.view(2, 1))
    y = f.apply(lib.ones(2, 1))
    y.add_(1)
    with pytest.raises(RuntimeError, match="created inside a custom Function"):
        y.mul_(leaf(lib, 3.0))


def test_a_view_returned_under_no_grad_is_one_made_under_no_grad(lib):
    f = custom(lib, lambda ctx, x: x.view(-1), lambda ctx, g: g)
    x = lib.ones(2, 1, requires_grad=True) * 1
    with lib.no_grad():
        y = f.apply(x)
    assert y._is_view()
    assert y.requires_grad
    assert y.grad_fn is None
    with pytest.raises(RuntimeError, match="created in no_grad mode"):
        y.add_(1)


# ---- classes and errors --------------------------------------------------------------------


def once(lib: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    decorate = lib.autograd.function.once_differentiable
    backward = decorate(lambda ctx, g: 2 * ctx.saved_tensors[0] * g)
    return custom(lib, forward, backward)


def test_a_once_differentiable_backward_runs_unrecorded(lib):
    x = leaf(lib, 3.0)
    once(lib).apply(x).backward()
    assert x.grad.tolist() == [6]


def test_its_results_raise_when_a_pass_reaches_them(lib):
    x = leaf(lib, 3.0)
    v = leaf(lib, 1.0)
    (g,) = lib.autograd.grad(once(lib).apply(x), x, v, create_graph=True)
    assert g.requires_grad
    h = g * 2
    with pytest.raises(RuntimeError, match="once_differentiable"):
        h.backward()


def test_its_results_do_not_require_grad_if_the_incoming_gradient_does_not(lib):
    x = leaf(lib, 3.0)
    (g,) = lib.autograd.grad(once(lib).apply(x), x, lib.ones(1), create_graph=True)
    assert not g.requires_grad


def test_without_forward_apply_raises(lib):
    class Empty(lib.autograd.Function):
        pass

    with pytest.raises(NotImplementedError, match="must implement the forward"):
        Empty.apply(leaf(lib, 1.0))


def test_without_backward_the_pass_raises_and_not_apply(lib):
    class Half(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

    y = Half.apply(leaf(lib, 1.0))
    with pytest.raises(
        (RuntimeError, NotImplementedError), match="must implement either the backward"
    ):
        y.backward()


def test_backward_and_vjp_together_raise_in_the_pass(lib):
    f = custom(lib, lambda ctx, x: x * 2, lambda ctx, g: g, vjp=staticmethod(lambda ctx, g: g))
    y = f.apply(leaf(lib, 1.0))
    with pytest.raises(RuntimeError, match="Implementing both"):
        y.backward()


def test_vjp_is_another_name_for_backward(lib):
    class Double(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def vjp(ctx: Any, g: Any) -> Any:
            return g * 2

    x = leaf(lib, 1.0)
    Double.apply(x).backward()
    assert x.grad.tolist() == [2]


def test_instances_warn_and_cannot_be_called(lib):
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        f = double(lib)()
    with pytest.raises(RuntimeError, match="Legacy autograd function"):
        f(leaf(lib, 1.0))


def test_an_exception_in_backward_arrives_with_its_type_and_line(lib):
    def backward(ctx: Any, g: Any) -> Any:
        raise ZeroDivisionError("a line of the user")

    y = custom(lib, lambda ctx, x: x * 2, backward).apply(leaf(lib, 1.0))
    with pytest.raises(ZeroDivisionError) as caught:
        y.backward()
    assert "raise ZeroDivisionError(" in "".join(traceback.format_exception(caught.value))
    x = leaf(lib, 1.0)
    double(lib).apply(x).backward()
    assert x.grad.tolist() == [2]


def test_backward_may_run_a_pass_of_its_own(lib):
    def backward(ctx: Any, g: Any) -> Any:
        with lib.enable_grad():
            t = lib.ones(1, requires_grad=True)
            (t * 5).backward()
        assert not lib.is_grad_enabled()
        return g * t.grad

    x = leaf(lib, 1.0)
    custom(lib, lambda ctx, x: x * 2, backward).apply(x).backward()
    assert x.grad.tolist() == [5]
    assert lib.is_grad_enabled()


def test_an_inplace_function_keeps_its_flag(lib):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert lib.autograd.function.InplaceFunction(inplace=True).inplace


# ---- wengert's own -------------------------------------------------------------------------


def test_the_position_counts_the_arguments_of_forward():
    f = custom(wg, lambda ctx, a, x, w: x * w, lambda ctx, g: (None, g, wg.ones(3)))
    y = f.apply("a", leaf(wg, 1.0, 2.0), leaf(wg, 1.0, 2.0))
    with pytest.raises(RuntimeError, match="index 2"):
        y.sum().backward()
