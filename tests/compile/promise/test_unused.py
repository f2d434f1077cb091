"""What a function asks of what it finds, and does not compute with, is asked again at each call."""

# ruff: noqa: E501  (a piece of a program reads best on a line)
from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.compile.stories import caught, noted, numbers, same
from wengert import nn


def turned(owner: Any, there: Callable[[Any], bool], take: Any, put: Any) -> Callable[[Any], Any]:
    """A function that takes something away where it is, and puts it there where it is not."""

    def f(x: Any) -> Any:
        if there(owner):
            take(owner)
            return x * 2
        put(owner, x)
        return x * 3

    return f


def emptied(o: Any) -> None:
    o.h = None


def taken(o: Any) -> None:
    del o.h


def with_a_tensor(o: Any, x: Any) -> None:
    o.h = x.sum()


def with_a_number(o: Any, x: Any) -> None:
    o.h = 4.0


def with_an_int(o: Any, x: Any) -> None:
    o.h = 3


def halved(o: Any) -> None:
    o.h = 1.5


def item_emptied(o: Any) -> None:
    o.d["h"] = None


def item_put(o: Any, x: Any) -> None:
    o.d["h"] = x.sum()


TURNED: dict[str, Any] = {
    "a tensor or None": (lambda o: o.h is not None, emptied, with_a_tensor),
    "a number or None": (lambda o: o.h is not None, emptied, with_a_number),
    "a tensor or no attribute": (lambda o: hasattr(o, "h"), taken, with_a_tensor),
    "a number or no attribute": (lambda o: hasattr(o, "h"), taken, with_a_number),
    "a number, which getattr() tells": (lambda o: getattr(o, "h", None) is not None, emptied, with_a_number),
    "an int or another number": (lambda o: isinstance(o.h, int), halved, with_an_int),
    "an item or None": (lambda o: o.d.get("h") is not None, item_emptied, item_put),
}  # fmt: skip


@pytest.mark.parametrize("name", TURNED)
def test_what_the_function_itself_puts_and_takes_away_decides_at_each_call(name: str) -> None:
    # It became an input, which the program did not read, so nothing asked whether it was there.
    def story(compile: Any) -> list[Any]:
        o = types.SimpleNamespace(h=None, d={})
        f = compile(turned(o, *TURNED[name]))
        return [noted([f(numbers(1, k)), vars(o)]) for k in range(6)]

    same(story)


def a_gradient(o: Any) -> None:
    o.t.grad = wg.ones(3)


ASKED: dict[str, Any] = {
    "its shape": (lambda o, x: x * o.t.shape[0], lambda o: setattr(o.t, "data", wg.ones(1))),
    "its length": (lambda o, x: x * len(o.t), lambda o: setattr(o.t, "data", wg.ones(1))),
    "how many axes it has": (lambda o, x: x * o.t.ndim, lambda o: setattr(o.t, "data", wg.ones(1, 1))),
    "how many numbers it has": (lambda o, x: x * o.t.numel(), lambda o: setattr(o.t, "data", wg.ones(6))),
    "its dtype": (lambda o, x: x * (2 + (o.t.dtype == wg.float32)), lambda o: setattr(o.t, "data", wg.ones(3, dtype=wg.float64))),
    "how it lies": (lambda o, x: x * (2 + o.t.is_contiguous()), lambda o: setattr(o.t, "data", wg.ones(3, 2)[:, 0])),
    "whether it has a gradient": (lambda o, x: x * (2 + (o.t.grad is None)), a_gradient),
    "the dtype of its gradient": (lambda o, x: x * (2 + (o.t.grad is not None and o.t.grad.dtype == wg.float32)), a_gradient),
    "whether it fits": (lambda o, x: (o.t + wg.ones(3), x * 2)[1], lambda o: setattr(o.t, "data", wg.ones(4))),
}  # fmt: skip


@pytest.mark.parametrize("name", ASKED)
def test_what_is_asked_of_a_tensor_that_is_not_computed_with_is_a_condition(name: str) -> None:
    ask, change = ASKED[name]

    def story(compile: Any) -> list[Any]:
        o = types.SimpleNamespace(t=nn.Parameter(wg.ones(3)))
        f, seen = compile(lambda x: ask(o, x)), []
        for k in range(6):
            if k == 3:
                change(o)
            seen.append(noted(caught(lambda: f(numbers(1, 2)))))
        return seen

    same(story)


@pytest.mark.parametrize("tracked", [False, True])
def test_an_int_that_only_decides_is_compared_at_each_call(tracked: bool) -> None:
    def story(compile: Any) -> list[Any]:
        w = wg.ones(2, requires_grad=tracked)
        f = compile(lambda x, n: x * w * (2 if n > 3 else 3))
        return [noted(f(numbers(1, 2), n)) for n in (5, 6, 6, 7, 8, 2, 2, 1, 5, 1)]

    same(story)


def test_an_array_that_only_decides_is_asked_at_each_call() -> None:
    def story(compile: Any) -> list[Any]:
        o = types.SimpleNamespace(a=np.ones(3))
        f, seen = compile(lambda x: x * len(o.a)), []
        for n in (3, 3, 3, 4, 4, 3):
            o.a = np.ones(n)
            seen.append(noted(f(numbers(1, 2))))
        return seen

    same(story)
