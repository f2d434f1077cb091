"""What must die, at once and without the garbage collector, and what must not."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import wengert as wg


@pytest.fixture(autouse=True)
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def leaf(lib: Any, *values: float) -> Any:
    return lib.tensor(list(values), requires_grad=True)


class Token:
    """Something whose end can be watched."""


def holding(lib: Any) -> Any:
    """A function whose node holds its second argument."""

    class Holds(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, token: Any) -> Any:
            ctx.token = token
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2 * (ctx.saved_tensors[0] > 0).to(g.dtype), None

    return Holds.apply


def test_a_tensor_that_retains_its_gradient_dies_with_its_name(lib):
    x = leaf(lib, 1.0)
    y = x * 2
    y.retain_grad()
    alive = weakref.ref(y)
    z = y + 3
    del y
    assert alive() is None
    z.backward()
    assert x.grad.tolist() == [2]


def test_a_tensor_with_a_hook_dies_with_its_name_and_the_hook_lives_on(lib):
    x = leaf(lib, 1.0)
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append(g.item()))
    alive = weakref.ref(y)
    z = y + 3
    del y
    assert alive() is None
    z.backward()
    assert seen == [1]


def test_a_hook_dies_with_its_node(lib):
    y = leaf(lib, 1.0) * 2
    token = Token()
    alive = weakref.ref(token)
    y.register_hook(lambda g, token=token: None)
    y.grad_fn.register_hook(lambda gi, go, token=token: None)
    del token
    assert alive() is not None
    del y
    assert alive() is None


def test_a_hook_dies_when_it_is_removed(lib):
    x = leaf(lib, 1.0)
    token = Token()
    alive = weakref.ref(token)
    handle = x.register_hook(lambda g, token=token: None)
    del token
    handle.remove()
    assert alive() is None


@pytest.mark.parametrize("run", [False, True])
def test_a_graph_dies_with_its_root(lib, run):
    token = Token()
    alive = weakref.ref(token)
    y = holding(lib)(leaf(lib, 1.0), token).sum()
    del token
    if run:
        y.backward()
    assert alive() is not None
    del y
    assert alive() is None


def test_a_graph_dies_with_its_root_although_the_leaf_lives(lib):
    x = leaf(lib, 1.0)
    token = Token()
    alive = weakref.ref(token)
    y = holding(lib)(x, token)
    del token
    y.backward()
    del y
    assert alive() is None
    assert x.grad is not None


def test_a_graph_that_saved_its_result_dies(lib):
    x = leaf(lib, 1.0)
    token = Token()
    alive = weakref.ref(token)
    y = holding(lib)(x, token).exp().tanh()
    del token, y
    assert alive() is None


def test_a_graph_with_a_write_through_a_view_that_saved_its_result_dies(lib):
    x = leaf(lib, 1.0, 2.0)
    token = Token()
    alive = weakref.ref(token)
    y = holding(lib)(x, token)
    y[:1].exp_()
    z = y.sum()
    del token, y, z
    assert alive() is None


def test_saved_values_die_with_the_pass_that_frees_them(lib):
    x = leaf(lib, 1.0)
    y = x * 2
    z = y * y
    alive = weakref.ref(y)
    del y
    assert alive() is not None
    z.backward()
    assert alive() is None


def test_the_original_dies_although_its_memory_is_shared(lib):
    x = lib.ones(3)
    y = x.detach()
    alive = weakref.ref(x)
    del x
    assert alive() is None
    assert y.tolist() == [1, 1, 1]


def test_the_graph_of_a_gradient_dies(lib):
    x = leaf(lib, 2.0)
    token = Token()
    alive = weakref.ref(token)
    y = holding(lib)(x, token) ** 2
    (g,) = lib.autograd.grad(y, x, create_graph=True)
    del token, y
    assert alive() is not None
    del g
    assert alive() is None


def test_a_cycle_through_an_attribute_of_a_node_is_collected(lib):
    token = Token()
    alive = weakref.ref(token)
    y = holding(lib)(leaf(lib, 1.0), token)
    y.grad_fn.output = y
    y.backward()
    del token, y
    gc.collect()
    assert alive() is None


def test_a_deleted_view_that_was_written_keeps_its_part_of_history(lib):
    x = leaf(lib, 1.0, 2.0)
    y = x * 1
    view = y[:1]
    view.mul_(10)
    copy = view * 1
    del view
    gc.collect()
    (y.sum() + copy.sum()).backward()
    assert x.grad.tolist() == [20, 1]


def test_a_graph_works_after_its_tensors_were_collected_in_a_cycle(lib):
    class Box:
        pass

    x = leaf(lib, 2.0)
    box = Box()
    box.self = box
    box.y = x * x
    box.y.box = box
    z = box.y * 3
    del box
    gc.collect()
    z.backward()
    assert x.grad.tolist() == [12]


def test_an_error_leaves_no_half_finished_state(lib):
    x = leaf(lib, 2.0)

    def fail(g: Any) -> None:
        raise ValueError("no")

    y = x * 2
    handle = y.register_hook(fail)
    for _ in range(3):
        with pytest.raises(ValueError, match="no"):
            (y * 1).backward()
    handle.remove()
    (x * 5).backward()
    assert x.grad.tolist() == [5]
    assert lib.is_grad_enabled()


def test_collecting_in_a_destructor_during_a_pass_is_harmless(lib):
    class Collects:
        def __del__(self) -> None:
            gc.collect()

    x = leaf(lib, 1.0)
    y = x
    for _ in range(5):
        y = holding(lib)(y, Collects())
    y.backward()
    del y
    assert x.grad.tolist() == [32]


def test_a_gradient_handed_to_a_hook_dies_after_it(lib):
    x = leaf(lib, 1.0)
    alive = []
    y = x * 2
    y.register_hook(lambda g: alive.append(weakref.ref(g)))
    (y * 3).backward()
    assert alive[0]() is None


# ---- wengert's own -------------------------------------------------------------------------


def test_a_cycle_through_notes_on_a_node_is_collected():
    y = leaf(wg, 1.0) * 2
    token = Token()
    alive = weakref.ref(token)
    y.grad_fn.metadata["self"] = y
    y.grad_fn.metadata["token"] = token
    del token, y
    gc.collect()
    assert alive() is None


def test_a_cycle_of_a_leaf_and_its_recorded_gradient_is_collected():
    import warnings

    x = leaf(wg, 2.0)
    token = Token()
    alive = weakref.ref(token)
    y = holding(wg)(x, token) ** 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y.backward(create_graph=True)
    del token, y, x
    gc.collect()
    assert alive() is None


def test_nothing_of_an_ordinary_training_step_waits_for_the_collector():
    w = wg.ones(3, 3, requires_grad=True)
    data = wg.ones(2, 3)
    before = 0
    for i in range(20):
        if i == 2:  # by now every recorder has been compiled
            gc.collect()
            before = len(gc.get_objects())
        loss = ((data @ w).tanh() ** 2).sum()
        loss.backward()
        with wg.no_grad():
            w -= 0.1 * w.grad
        w.grad = None
    del loss
    assert len(gc.get_objects()) - before < 40


def test_an_unused_graph_leaves_nothing_behind():
    x = wg.ones(3, requires_grad=True)
    before = 0
    for i in range(50):
        if i == 2:
            gc.collect()
            before = len(gc.get_objects())
        a, b, c = (x * 2).exp().unbind()
        y = a * b + c
        y[...] = x.sum()
    del a, b, c, y
    assert len(gc.get_objects()) - before < 50


def test_a_process_that_dies_in_a_pass_does_not_hang():
    program = """
import wengert as wg

class Deep(wg.autograd.Function):
    @staticmethod
    def forward(ctx, x, depth):
        ctx.depth = depth
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        if not ctx.depth:
            raise LookupError("the bottom")
        with wg.enable_grad():
            Deep.apply(g.detach().requires_grad_(), ctx.depth - 1).backward()
        return g, None

Deep.apply(wg.ones(1, requires_grad=True), 50).backward()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert "LookupError: the bottom" in done.stderr
