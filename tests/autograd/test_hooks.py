"""Hooks on tensors, on nodes and on leaves: when they run, what they get, what they may do."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import wengert as wg


def leaf(lib: Any, *values: float) -> Any:
    return lib.tensor(list(values), requires_grad=True)


# ---- on tensors ----------------------------------------------------------------------------


def test_hooks_run_in_order_of_registration_each_on_what_the_last_returned(lib):
    x = leaf(lib, 1.0)
    seen = []
    x.register_hook(lambda g: seen.append(g.item()))
    x.register_hook(lambda g: g * 10)
    x.register_hook(lambda g: seen.append(g.item()))
    (x * 2).backward()
    assert seen == [2, 20]
    assert x.grad.tolist() == [20]


def test_a_returned_tensor_replaces_the_gradient_upstream(lib):
    x = leaf(lib, 1.0)
    y = x * 2
    y.register_hook(lambda g: g * 10)
    (y * 3).backward()
    assert x.grad.tolist() == [60]


def test_a_hook_runs_once_on_the_sum_of_all_contributions(lib):
    x = leaf(lib, 2.0)
    y = x * 1
    seen = []
    x.register_hook(lambda g: seen.append(("x", g.item())))
    y.register_hook(lambda g: seen.append(("y", g.item())))
    (y * y + y * 3 + x * 5).backward()
    assert seen == [("y", 7), ("x", 12)]


def test_hooks_run_in_each_pass(lib):
    x = leaf(lib, 2.0)
    seen = []
    x.register_hook(lambda g: seen.append(g.item()))
    y = x + 1
    y.backward()
    y.backward()
    assert seen == [1, 1]


def test_a_hook_alters_what_grad_returns(lib):
    x = leaf(lib, 2.0)
    x.register_hook(lambda g: g * 10)
    assert lib.autograd.grad(x * 3, x)[0].tolist() == [30]


def test_any_callable_without_a_name_will_do(lib):
    class Doubling:
        def __call__(self, g: Any) -> Any:
            return g * 2

    x = leaf(lib, 1.0)
    x.register_hook(Doubling())
    (x * 1).backward()
    assert x.grad.tolist() == [2]


def test_that_a_hook_is_callable_is_not_checked_at_once(lib):
    x = leaf(lib, 1.0)
    handle = x.register_hook("no function")
    with pytest.raises(TypeError):
        (x * 1).backward()
    handle.remove()
    (x * 1).backward()


def test_a_removed_hook_does_not_run_and_may_be_removed_again(lib):
    x = leaf(lib, 1.0)
    handle = x.register_hook(lambda g: g * 100)
    handle.remove()
    handle.remove()
    (x * 2).backward()
    assert x.grad.tolist() == [2]


def test_a_handle_is_a_context(lib):
    x = leaf(lib, 1.0)
    with x.register_hook(lambda g: g * 100):
        (x * 2).backward()
    (x * 2).backward()
    assert x.grad.tolist() == [202]


def test_a_hook_may_remove_itself(lib):
    x = leaf(lib, 1.0)

    def once(g: Any) -> Any:
        handle.remove()
        return g * 10

    handle = x.register_hook(once)
    (x * 2).backward()
    (x * 2).backward()
    assert x.grad.tolist() == [22]


def test_a_hook_on_what_needs_no_gradient_is_an_error(lib):
    with pytest.raises(RuntimeError, match="doesn't require grad"):
        lib.ones(1).register_hook(print)


def test_a_hook_may_run_a_pass_of_its_own(lib):
    x, w = leaf(lib, 1.0), leaf(lib, 3.0)

    def nested(g: Any) -> None:
        with lib.enable_grad():
            (w * w).backward()

    x.register_hook(nested)
    (x * 2).backward()
    assert x.grad.tolist() == [2]
    assert w.grad.tolist() == [6]


def test_a_hook_may_reset_grad(lib):
    x = leaf(lib, 1.0)
    (x * 2).backward()

    def reset(g: Any) -> None:
        x.grad = None

    x.register_hook(reset)
    (x * 3).backward()
    assert x.grad.tolist() == [3]


def test_hooks_run_without_recording_unless_the_pass_is_recorded(lib):
    x = leaf(lib, 2.0)
    modes = []
    x.register_hook(lambda g: modes.append((lib.is_grad_enabled(), g.requires_grad)))
    lib.autograd.grad(x**3, x)
    lib.autograd.grad(x**3, x, create_graph=True)
    assert modes == [(False, False), (True, True)]


def test_what_a_hook_computes_in_a_recorded_pass_is_differentiated(lib):
    x = leaf(lib, 2.0)
    x.register_hook(lambda g: g * g)
    (g,) = lib.autograd.grad(x**2, x, create_graph=True)
    assert g.item() == 16
    assert lib.autograd.grad(g.sum(), x)[0].item() == 16**2


def test_an_exception_in_a_hook_reaches_the_caller(lib):
    x = leaf(lib, 2.0)

    def fail(g: Any) -> None:
        raise KeyError("mine")

    handle = x.register_hook(fail)
    with pytest.raises(KeyError, match="mine"):
        (x * 2).backward()
    handle.remove()
    (x * 2).backward()
    assert x.grad.tolist() == [2]


def test_a_hook_on_a_leaf_may_be_called_with_none(lib):
    x = leaf(lib, 2.0)
    seen = []
    x.register_hook(seen.append)
    without_gradient(lib)(x).backward()
    assert seen == [None]
    assert x.grad is None


def without_gradient(lib: Any) -> Any:
    class WithoutGradient(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return None

    return WithoutGradient.apply


def test_a_hook_may_not_turn_none_into_a_gradient(lib):
    x = leaf(lib, 2.0)
    x.register_hook(lambda g: lib.ones(1))
    with pytest.raises(RuntimeError, match="can't replace a None gradient"):
        without_gradient(lib)(x).backward()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda lib: 5, TypeError, "expected Variable, but hook returned 'int'"),
        (lambda lib: lib.ones(3), RuntimeError, "has changed the size of value"),
        (lambda lib: lib.ones(2, dtype=lib.float64), RuntimeError, "has changed the type of value"),
    ],
    ids=["type", "shape", "dtype"],
)
def test_what_a_hook_returns_is_checked(lib, make, error, message):
    x = leaf(lib, 1.0, 2.0)
    y = x * 2
    y.register_hook(lambda g: make(lib))
    with pytest.raises(error, match=message):
        y.sum().backward()


def test_a_hook_stays_with_the_value_when_the_tensor_is_overwritten(lib):
    x = leaf(lib, 2.0)
    y = x * 1
    seen = []
    y.register_hook(lambda g: seen.append(g.item()))
    y.mul_(10)
    y.register_hook(lambda g: seen.append(g.item()))
    (y * 3).backward()
    assert seen == [3, 30]


def test_hooks_survive_switching_requires_grad_off_and_on(lib):
    x = leaf(lib, 2.0)
    x.register_hook(lambda g: g * 10)
    x.requires_grad_(False)
    x.requires_grad_(True)
    (x * 1).backward()
    assert x.grad.tolist() == [10]


# ---- on nodes ------------------------------------------------------------------------------


def test_a_node_hook_gets_gradients_of_inputs_and_of_outputs(lib):
    x, w = leaf(lib, 2.0), leaf(lib, 5.0)
    y = x * w
    seen = []
    y.grad_fn.register_hook(
        lambda gi, go: seen.append(([g.item() for g in gi], [g.item() for g in go]))
    )
    (y * 3).backward()
    assert seen == [([15, 6], [3])]


def test_a_node_hook_gets_none_for_an_input_that_was_a_number(lib):
    x = leaf(lib, 2.0)
    y = x * 3
    seen = []
    y.grad_fn.register_hook(lambda gi, go: seen.append((gi[0].item(), gi[1])))
    y.grad_fn.register_hook(lambda gi, go: (gi[0] * 10, None))
    y.backward()
    assert seen == [(3, None)]
    assert x.grad.tolist() == [30]


def test_a_node_hook_may_replace_the_gradients_of_the_inputs(lib):
    x, w = leaf(lib, 2.0), leaf(lib, 5.0)
    y = x * w
    y.grad_fn.register_hook(lambda gi, go: (gi[0] * 10, None))
    y.backward()
    assert x.grad.tolist() == [50]
    assert w.grad is None


def test_a_prehook_may_replace_the_gradients_of_the_outputs(lib):
    x = leaf(lib, 2.0)
    y = x.exp() * 3
    seen = []
    y.grad_fn.register_prehook(lambda go: (go[0] * 10,))
    y.grad_fn.register_prehook(lambda go: seen.append(go[0].item()))
    y.grad_fn.register_hook(lambda gi, go: seen.append((gi[0].item(), go[0].item())))
    y.backward()
    assert seen == [10, (30, 10)]


def test_prehooks_run_after_tensor_hooks_and_after_retaining(lib):
    x = leaf(lib, 2.0)
    y = x * 3
    y.retain_grad()
    y.grad_fn.register_prehook(lambda go: (go[0] * 7,))
    y.register_hook(lambda g: g * 10)
    (y * y).backward()
    assert y.grad.tolist() == [120]
    assert x.grad.tolist() == [2520]


def test_the_same_function_registered_twice_runs_twice(lib):
    x = leaf(lib, 2.0)
    y = x.exp()

    def double(go: Any) -> Any:
        return (go[0] * 2,)

    y.grad_fn.register_prehook(double)
    y.grad_fn.register_prehook(double)
    seen = []
    y.register_hook(lambda g: seen.append(g.item()))
    y.grad_fn.register_hook(lambda gi, go: seen.append(go[0].item()))
    y.backward()
    assert seen == [1, 4]


def test_the_hooks_of_a_custom_node_get_none_for_outputs_that_are_no_tensors(lib):
    class Mixed(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1, "text", x * 2

        @staticmethod
        def backward(ctx: Any, a: Any, none: Any, b: Any) -> Any:
            assert none is None
            return a + 2 * b

    a, text, b = Mixed.apply(leaf(lib, 2.0))
    assert text == "text"
    seen = []
    a.grad_fn.register_prehook(seen.append)
    (a + b).backward()
    (go,) = seen
    assert [g if g is None else g.item() for g in go] == [1, None, 1]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda lib: 5, TypeError, "expected tuple, but hook returned 'int'"),
        (lambda lib: lib.ones(2), TypeError, "expected tuple, but hook returned"),
        (lambda lib: (lib.ones(2),) * 3, RuntimeError, "incorrect number of values"),
        (lambda lib: (lib.ones(3), None), RuntimeError, "has changed the size of value"),
    ],
    ids=["int", "tensor", "count", "shape"],
)
def test_what_a_node_hook_returns_is_checked(lib, make, error, message):
    x = leaf(lib, 1.0, 2.0)
    y = x * x
    y.grad_fn.register_hook(lambda gi, go: make(lib))
    with pytest.raises(error, match=message):
        y.sum().backward()


@pytest.mark.parametrize("result", [5, (1, 2)])
def test_what_a_prehook_returns_is_checked(lib, result):
    y = leaf(lib, 1.0) * 2
    y.grad_fn.register_prehook(lambda go: result)
    with pytest.raises((TypeError, RuntimeError), match="hook"):
        y.backward()


def test_the_accumulator_of_a_leaf_takes_hooks(lib):
    x = leaf(lib, 2.0)
    accumulator = x.exp().grad_fn.next_functions[0][0]
    seen = []
    accumulator.register_prehook(lambda go: seen.append(("before", go[0].item(), x.grad)))
    accumulator.register_hook(
        lambda gi, go: seen.append(("after", gi, go[0].item(), x.grad.item()))
    )
    (x * 3).backward()
    assert seen == [("before", 3, None), ("after", (), 3, 3)]


# ---- after accumulation --------------------------------------------------------------------


def test_a_hook_after_accumulation_sees_the_leaf_with_its_grad(lib):
    x = leaf(lib, 2.0)
    seen = []
    handle = x.register_post_accumulate_grad_hook(lambda p: seen.append((p is x, p.grad.item())))
    (x * 3).backward()
    (x * 3).backward()
    handle.remove()
    (x * 3).backward()
    assert seen == [(True, 3), (True, 6)]


def test_such_a_hook_may_take_the_step_and_drop_the_gradient(lib):
    x = leaf(lib, 2.0)

    def step(p: Any) -> None:
        with lib.no_grad():
            p.add_(p.grad * -1)
        p.grad = None

    x.register_post_accumulate_grad_hook(step)
    (x * 3).backward()
    assert x.tolist() == [-1]
    assert x.grad is None


def test_such_a_hook_runs_for_inputs_of_backward_but_not_in_grad(lib):
    x = leaf(lib, 2.0)
    seen = []
    x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.item()))
    (x * 3).backward(inputs=[x])
    lib.autograd.grad(x * 3, x)
    assert seen == [3]


def test_only_a_leaf_takes_such_a_hook(lib):
    with pytest.raises(RuntimeError, match="non-leaf"):
        (leaf(lib, 1.0) * 2).register_post_accumulate_grad_hook(print)


# ---- retain_grad ---------------------------------------------------------------------------


def test_retain_grad_may_be_repeated_and_accumulates_over_passes(lib):
    x = leaf(lib, 2.0)
    y = x + 3
    y.retain_grad()
    y.retain_grad()
    z = y + 1
    z.backward()
    z.backward()
    assert y.grad.tolist() == [2]
    assert y.retains_grad


def test_retain_grad_does_nothing_on_a_leaf(lib):
    x = leaf(lib, 2.0)
    x.retain_grad()
    assert not x.retains_grad
    (x * 3).backward()
    assert x.grad.tolist() == [3]


def test_retain_grad_needs_a_gradient_to_retain(lib):
    with pytest.raises(
        RuntimeError, match="can't retain_grad on Tensor that has requires_grad=False"
    ):
        lib.ones(1).retain_grad()


def test_a_retained_gradient_is_what_hooks_made_of_it(lib):
    x = leaf(lib, 2.0)
    y = x * 3
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    (y * 1).backward()
    assert y.grad.tolist() == [10]


def test_a_retained_gradient_of_a_recorded_pass_has_history(lib):
    x = leaf(lib, 2.0)
    y = x * 3
    y.retain_grad()
    lib.autograd.grad(y**3, x, create_graph=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (y**3).backward(create_graph=True)
    assert y.grad.requires_grad
    x.grad = y.grad = None


def test_a_retained_gradient_of_a_plain_pass_has_none(lib):
    x = leaf(lib, 2.0)
    y = x * 3
    y.retain_grad()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (y**3).backward(create_graph=True)
    y.grad = y.grad.detach()
    (y**3).backward()
    assert not y.grad.requires_grad
    x.grad = None


def test_after_an_in_place_operation_the_new_values_gradient_is_retained(lib):
    x = leaf(lib, 2.0)
    y = x * 1
    y.retain_grad()
    y.mul_(10)
    (y * 3).backward()
    assert y.grad.tolist() == [3]
    assert x.grad.tolist() == [30]


# ---- several tensors -----------------------------------------------------------------------


def test_a_hook_on_several_tensors_runs_when_the_last_gradient_is_there(lib):
    x = leaf(lib, 2.0)
    y, z = x * 2, x * 3
    seen = []
    lib.autograd.graph.register_multi_grad_hook(
        (y, z), lambda gs: seen.append([g.item() for g in gs])
    )
    x.register_hook(lambda g: seen.append("x"))
    (y * z).backward()
    assert seen == [[6, 4], "x"]


def test_a_tensor_that_the_pass_does_not_reach_counts_as_none(lib):
    x = leaf(lib, 2.0)
    y, z = x * 2, x * 3
    seen = []
    lib.autograd.graph.register_multi_grad_hook((y, z), seen.append)
    x.register_hook(lambda g: seen.append("x"))
    (y * 1).backward()
    assert [g if g is None else g.item() for g in seen[0]] == [1, None]
    assert seen[1:] == ["x"]


def test_a_hook_on_several_tensors_runs_once_in_each_pass(lib):
    x = leaf(lib, 2.0)
    y, z = x + 1, x + 2
    seen = []
    handle = lib.autograd.graph.register_multi_grad_hook((y, z), lambda gs: seen.append(len(gs)))
    w = y + z
    w.backward()
    w.backward()
    handle.remove()
    w.backward()
    assert seen == [2, 2]


def test_a_hook_on_any_of_several_tensors_gets_the_first_gradient(lib):
    x = leaf(lib, 2.0)
    y = x * 2
    z = y * 3
    seen = []
    lib.autograd.graph.register_multi_grad_hook((x, z), lambda g: seen.append(g.item()), mode="any")
    z.backward()
    assert seen == [1]


def test_an_unknown_mode_is_an_error(lib):
    with pytest.raises(ValueError, match="Expects mode to be one of"):
        lib.autograd.graph.register_multi_grad_hook((leaf(lib, 1.0),), print, mode="some")


# ---- callbacks -----------------------------------------------------------------------------


def test_a_queued_callback_runs_once_after_all_gradients_were_accumulated(lib):
    queue = lib.autograd.Variable._execution_engine.queue_callback
    x = leaf(lib, 2.0)
    y = x * 2
    seen = []
    y.register_hook(lambda g: queue(lambda: seen.append(x.grad.item())))
    (y * 3).backward()
    (x * 1).backward()
    assert seen == [6]


def test_a_callback_may_queue_another(lib):
    queue = lib.autograd.Variable._execution_engine.queue_callback
    x = leaf(lib, 2.0)
    seen = []

    def first() -> None:
        seen.append("first")
        queue(lambda: seen.append("second"))

    x.register_hook(lambda g: queue(first))
    (x * 3).backward()
    assert seen == ["first", "second"]


def test_a_callback_of_a_nested_pass_belongs_to_it(lib):
    queue = lib.autograd.Variable._execution_engine.queue_callback
    x, w = leaf(lib, 2.0), leaf(lib, 3.0)
    seen = []
    w.register_hook(lambda g: queue(lambda: seen.append("inner")))

    def nested(g: Any) -> None:
        queue(lambda: seen.append("outer"))
        with lib.enable_grad():
            (w * 2).backward()
        seen.append("between")

    x.register_hook(nested)
    (x * 3).backward()
    assert seen == ["inner", "between", "outer"]


def test_outside_a_pass_no_callback_can_be_queued(lib):
    with pytest.raises(RuntimeError, match="only be installed during backward"):
        lib.autograd.Variable._execution_engine.queue_callback(print)


# ---- wengert's own -------------------------------------------------------------------------


def test_a_captured_gradient_has_passed_the_hooks_wherever_the_pass_ends():
    # PyTorch forgets the hook of y when the pass goes on below it.
    x = wg.tensor([2.0], requires_grad=True)
    y = x * 3
    y.register_hook(lambda g: g * 10)
    assert wg.autograd.grad(y * y, y)[0].tolist() == [120]
    assert [g.tolist() for g in wg.autograd.grad(y * y, (y, x))] == [[120], [360]]


def test_a_hook_removed_by_an_earlier_one_does_not_run():
    # PyTorch fixes the hooks of a pass before the first of them runs.
    x = leaf(wg, 1.0)
    handles = []
    x.register_hook(lambda g: handles[0].remove())
    handles.append(x.register_hook(lambda g: g * 100))
    (x * 2).backward()
    assert x.grad.tolist() == [2]


def test_a_removed_node_hook_does_not_run():
    x = leaf(wg, 2.0)
    y = x * x
    handles = [
        y.grad_fn.register_hook(lambda gi, go: handles[1].remove()),
        y.grad_fn.register_hook(lambda gi, go: (None, None)),
        y.grad_fn.register_prehook(lambda go: (None,)),
    ]
    handles[2].remove()
    y.backward()
    assert x.grad.tolist() == [4]


def test_a_gradient_that_came_through_a_view_is_copied_only_if_others_hold_its_memory():
    # What no view's gradient was: a leaf's own without a copy. DistributedDataParallel has views.
    for keep in (False, True):
        p = wg.ones(64, 64, requires_grad=True)
        view, held, memory = p.view_as(p), [], []

        def seen(g, held=held, memory=memory, keep=keep):
            memory.append(g.data_ptr())
            if keep:
                held.append(g)

        view.register_hook(seen)
        (wg.ones(3, 64) @ view).sum().backward()
        assert (p.grad.data_ptr() == memory[0]) is not keep
        (2 * p).sum().backward()
        assert p.grad.tolist() == [[5.0] * 64] * 64
        assert all(g.tolist() == [[3.0] * 64] * 64 for g in held)
