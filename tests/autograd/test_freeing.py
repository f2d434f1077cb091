"""What a pass frees, and what may run again."""

from __future__ import annotations

import gc
import warnings
from typing import Any

import pytest

import wengert as wg


def leaf(lib: Any, *values: float) -> Any:
    return lib.tensor(list(values), requires_grad=True)


def test_a_second_pass_over_freed_values_is_an_error(lib):
    x = leaf(lib, 2.0)
    y = x * x
    y.backward()
    with pytest.raises(RuntimeError, match="Specify retain_graph=True"):
        y.backward()


def test_a_graph_that_saved_nothing_may_run_any_number_of_times(lib):
    x = leaf(lib, 2.0)
    y = (x + 1) + x - 5
    for _ in range(3):
        y.backward()
    assert x.grad.tolist() == [6]


def test_saved_indices_are_freed_too(lib):
    x = leaf(lib, 2.0, 3.0)
    y = x[lib.tensor([1, 1])].sum()
    y.backward()
    with pytest.raises(RuntimeError, match="Specify retain_graph=True"):
        y.backward()


def test_retain_graph_keeps_the_values(lib):
    x = leaf(lib, 2.0)
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [8]


def test_retain_graph_is_what_create_graph_is_unless_given(lib):
    x = leaf(lib, 2.0)
    y = x * x
    lib.autograd.grad(y, x, create_graph=True)
    lib.autograd.grad(y, x, create_graph=True, retain_graph=False)
    with pytest.raises(RuntimeError, match="Specify retain_graph=True"):
        lib.autograd.grad(y, x)


def test_only_nodes_that_ran_are_freed(lib):
    x, w = leaf(lib, 2.0), leaf(lib, 3.0)
    y, z = x * x, w * w
    both = y + z
    lib.autograd.grad(both, x)
    z.backward()
    with pytest.raises(RuntimeError, match="Specify retain_graph=True"):
        y.backward()


def test_a_shared_part_is_freed_for_the_other_root_too(lib):
    x = leaf(lib, 2.0)
    shared = x * x
    a, b = shared + 1, shared + 2
    a.backward()
    with pytest.raises(RuntimeError, match="Specify retain_graph=True"):
        b.backward()


def saves_its_output(lib: Any) -> Any:
    class Exp(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (y,) = ctx.saved_tensors
            return g * y

    return Exp.apply


@pytest.mark.parametrize("custom", [False, True])
def test_several_recorded_passes_and_then_a_plain_one(lib, custom):
    x = leaf(lib, 0.5)
    y = saves_its_output(lib)(x) if custom else x.exp()
    seconds = []
    for _ in range(3):
        (g,) = lib.autograd.grad(y, x, create_graph=True)
        seconds.append(lib.autograd.grad(g, x, retain_graph=True)[0].item())
    assert seconds[0] == seconds[1] == seconds[2]
    y.backward()
    assert x.grad.item() == pytest.approx(seconds[0])


def test_backward_with_create_graph_warns_of_a_cycle_and_grad_does_not(lib):
    x = leaf(lib, 2.0)
    # PyTorch warns once per process; what matters is that no other warning comes.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lib.autograd.grad(x**3, x, create_graph=True)
        assert not caught
        (x**3).backward(create_graph=True)
    assert all("Using backward() with create_graph=True" in str(w.message) for w in caught)
    x.grad = None
    gc.collect()


def test_backward_with_create_graph_warns_every_time():
    x = wg.tensor(2.0, requires_grad=True)
    for _ in range(2):
        with pytest.warns(UserWarning, match=r"Using backward\(\) with create_graph=True"):
            (x**3).backward(create_graph=True)
    x.grad = None


def test_saved_values_cannot_be_read_after_freeing(lib):
    x = leaf(lib, 2.0)
    y = x * x
    assert y.grad_fn._saved_self.tolist() == [2]
    y.backward()
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        y.grad_fn._saved_self


def test_attributes_of_a_custom_node_stay_readable_after_freeing(lib):
    class Scale(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, factor: float) -> Any:
            ctx.factor = factor
            ctx.save_for_backward(x)
            return x * factor

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.factor, None

    y = Scale.apply(leaf(lib, 2.0), 3.0)
    y.backward()
    assert y.grad_fn.factor == 3
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        y.grad_fn.saved_tensors


def test_a_custom_function_that_saved_nothing_may_run_again(lib):
    class Double(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    x = leaf(lib, 2.0)
    y = Double.apply(x)
    y.backward()
    y.backward()
    assert x.grad.tolist() == [4]


def test_a_pass_that_failed_can_be_repeated_with_another_root(lib):
    x = leaf(lib, 2.0)
    a = x * x
    b = a * 1
    a.backward()
    with pytest.raises(RuntimeError):
        b.backward()
    (x * x).backward()
    assert x.grad.tolist() == [8]
