"""What loops and branches do where it shows only at the call which way they go: whether there is an
iteration at all, which branch is taken, whether a body raises.

"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from wengert.errors import TracingError

ROWS = np.zeros((3, 2))
ALWAYS: dict[str, Callable[[Any], Any]] = {
    "fori_loop": lambda x: wg.fori_loop(0, 3, lambda i, s: s, x),
    "fori_loop of no rounds": lambda x: wg.fori_loop(0, 0, lambda i, s: s * 2, x),
    "scan": lambda x: wg.scan(lambda c, row: (c, row), x, ROWS)[0],
    "scan of no rows": lambda x: wg.scan(lambda c, row: (c * 2, row), x, ROWS[:0])[0],
    "while_loop": lambda x: wg.while_loop(lambda s: s.sum() < 0, lambda s: s, x),
    "cond": lambda x: wg.cond(x.sum() > 0, lambda t: t, lambda t: t, x),
    "switch": lambda x: wg.switch(x.sum().long(), [lambda t: t] * 3, x),
}
SOMETIMES: dict[str, Callable[[Any], Any]] = {
    "while_loop": lambda x: wg.while_loop(lambda s: s.sum() < 0, lambda s: s * 2, x),
    "cond": lambda x: wg.cond(x.sum() > 0, lambda t: t, lambda t: t * 2, x),
    "switch": lambda x: wg.switch(x.sum().long(), [lambda t: t * 2, lambda t: t], x),
}


@pytest.mark.parametrize("name", ALWAYS)
def test_what_each_way_returns_as_it_was_given_is_that_very_tensor(name: str) -> None:
    # It was another tensor, so what was written there was lost.
    def writes(x: Any) -> Any:
        y = ALWAYS[name](x)
        y += 1
        return y, x * 1

    mine, eager = wg.ones(2), wg.ones(2)
    assert writes(eager)[0] is eager
    compiled = wg.compile(writes)
    for k in range(3):
        y, seen = compiled(mine)
        assert y is mine
        assert seen.tolist() == [k + 2.0] * 2
        assert mine._version == k + 1
    assert wg.compile(ALWAYS[name])(mine) is mine


@pytest.mark.parametrize("name", SOMETIMES)
def test_a_write_into_what_may_be_given_back_is_refused(name: str) -> None:
    # It was written into a copy, where eager mode writes into the argument.
    def writes(x: Any) -> Any:
        y = SOMETIMES[name](x)
        y += 1
        return y

    with pytest.raises(TracingError, match=r"a write into a result of a loop or a choice, at\n.*"):
        wg.compile(writes)(wg.ones(2))
    copied = wg.compile(lambda x: SOMETIMES[name](x).clone().add_(1))
    assert copied(wg.ones(2)).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("name", SOMETIMES)
def test_what_may_be_given_back_is_a_tensor_of_its_own(name: str) -> None:
    compiled = wg.compile(SOMETIMES[name])
    for _ in range(3):
        x = wg.ones(2)
        y = compiled(x)
        assert SOMETIMES[name](x) is x
        assert y is not x
        assert y.tolist() == x.tolist()


def raises_while(write: Any, catch: bool) -> dict[str, Callable[[Any], Any]]:
    """A function of each kind of loop or branch whose body writes and then raises."""

    def body(*given: Any) -> Any:
        write()
        raise ValueError("no more")

    ways: dict[str, Callable[[Any], Any]] = {
        "fori_loop": lambda x: wg.fori_loop(0, 3, body, x),
        "scan": lambda x: wg.scan(body, x, ROWS)[0],
        "while_loop": lambda x: wg.while_loop(lambda s: s.sum() < 9, body, x),
        "cond": lambda x: wg.cond(x.sum() > 0, body, lambda t: t, x),
    }

    def caught(name: str, x: Any) -> Any:
        try:
            return ways[name](x)
        except ValueError:
            return x * 2

    return {name: partial(caught, name) if catch else way for name, way in ways.items()}


@pytest.mark.parametrize("name", ["fori_loop", "scan", "while_loop", "cond"])
def test_an_error_that_ends_a_body_is_not_caught_outside_of_it(name: str) -> None:
    # What the body had written before was lost, or the program had no value to return.
    count = wg.zeros(1)
    caught = raises_while(lambda: count.add_(1), catch=True)[name]
    with pytest.raises(TracingError, match="a ValueError that has ended the body of a loop"):
        wg.compile(caught)(wg.ones(2))
    assert count.tolist() == [0.0]
    raising = wg.compile(raises_while(lambda: count.add_(1), catch=False)[name])
    for k in range(3):
        with pytest.raises(ValueError, match="no more"):
            raising(wg.ones(2))
        assert count.tolist() == [k + 1.0]


BRANCHES: dict[str, Callable[..., Any]] = {
    "cond": lambda x, w: wg.cond(x.sum() > 0, lambda: x * w, lambda: x * 2),
    "switch": lambda x, w: wg.switch((x.sum() > 0).long(), [lambda: x * 2, lambda: x * w]),
}


@pytest.mark.parametrize("name", BRANCHES)
def test_the_gradient_of_what_only_another_branch_reads_is_zero(name: str) -> None:
    # Eagerly it is None: which branch is taken shows when the program runs.
    w = wg.ones(2, requires_grad=True)
    compiled = wg.compile(BRANCHES[name])
    for sign in (1.0, -1.0, 1.0):
        x = wg.tensor([sign, sign], requires_grad=True)
        w.grad = None
        compiled(x, w).sum().backward()
        assert w.grad is not None
        assert w.grad.tolist() == [max(sign, 0.0)] * 2
        assert x.grad.tolist() == [1.0 if sign > 0 else 2.0] * 2
        w.grad = None
        BRANCHES[name](x, w).sum().backward()
        assert (w.grad is None) == (sign < 0)
