"""Long chains and deep nesting: nothing recurses, nothing takes quadratic time."""

from __future__ import annotations

from typing import Any

import pytest

import wengert as wg
from tests.counting import calls


def leaf(lib: Any, *values: float) -> Any:
    return lib.tensor(list(values), requires_grad=True)


def test_a_long_chain_is_built_run_and_dropped(lib):
    x = leaf(lib, 1.0)
    y = x
    for _ in range(150_000):
        y = y + 1
    y.backward()
    assert x.grad.tolist() == [1]
    del y


def test_a_long_chain_is_dropped_without_having_run(lib):
    y = leaf(lib, 1.0)
    for _ in range(150_000):
        y = y * y
    del y


def test_a_long_chain_of_writes_in_place(lib):
    x = leaf(lib, 1.0)
    y = x * 1
    for _ in range(100_000):
        y.add_(1)
    y.backward()
    assert x.grad.tolist() == [1]
    del y


def test_a_long_chain_of_custom_functions_with_two_edges(lib):
    class Second(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return None, g

    x = leaf(lib, 1.0)
    y = x * 1
    for _ in range(150_000):
        y = Second.apply(x, y)
    del y


def test_a_chain_in_which_everything_is_used_twice(lib):
    x = leaf(lib, 1.0)
    y = x
    for _ in range(60):
        y = y + y
    y.backward()
    assert x.grad.item() == 2**60


def nested(lib: Any) -> Any:
    class Nested(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, depth: int) -> Any:
            ctx.depth = depth
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            if ctx.depth:
                with lib.enable_grad():
                    t = g.detach().requires_grad_()
                    Nested.apply(t, ctx.depth - 1).sum().backward()
                g = t.grad + 1
            return g, None

    return Nested.apply


def test_two_thousand_nested_passes_work_and_again_afterwards(lib):
    for _ in range(2):
        x = leaf(lib, 0.0)
        nested(lib)(x, 2000).backward()
        assert x.grad.item() == 2001


def test_an_error_deep_in_nested_passes_reaches_the_caller(lib):
    class Deep(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, depth: int) -> Any:
            ctx.depth = depth
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            if not ctx.depth:
                raise ArithmeticError("at the bottom")
            with lib.enable_grad():
                t = g.detach().requires_grad_()
                Deep.apply(t, ctx.depth - 1).backward()
            return g, None

    x = leaf(lib, 1.0)
    with pytest.raises(ArithmeticError, match="at the bottom"):
        Deep.apply(x, 150).backward()
    (x * 2).backward()
    assert x.grad.tolist() == [2]


# ---- wengert's own -------------------------------------------------------------------------


@pytest.mark.sweep
def test_a_chain_of_a_million_operations():
    x = wg.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(1_000_000):
        y = y + x
    y.backward()
    assert x.grad.item() == 1_000_001
    del y


def test_work_grows_in_proportion_to_length():
    def chain(n: int) -> None:
        x = wg.tensor(1.0, requires_grad=True)
        y = x * 1
        for _ in range(n):
            y.mul_(1)
        y.backward()

    chain(100)
    assert calls(lambda: chain(8000)) < 8.5 * calls(lambda: chain(1000))


def test_asking_for_one_input_of_a_long_chain():
    x = wg.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(100_000):
        y = y + x
    assert wg.autograd.grad(y, x)[0].item() == 100_001
