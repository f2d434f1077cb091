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
from wengert.errors import StateError, TracingError

ROWS = np.zeros((3, 2))
ALWAYS: dict[str, Callable[[Any], Any]] = {
    "fori_loop": lambda x: wg.fori_loop(0, 3, lambda i, s: s, x),
    "fori_loop of no rounds": lambda x: wg.fori_loop(0, 0, lambda i, s: s * 2, x),
    "scan": lambda x: wg.scan(lambda c, row: (c, row), x, ROWS)[0],
    "scan of no rows": lambda x: wg.scan(lambda c, row: (c * 2, row), x, ROWS[:0])[0],
    "while_loop": lambda x: wg.while_loop(lambda s: s.sum() < -9, lambda s: s, x),
    "cond": lambda x: wg.cond(x.sum() > 0, lambda t: t, lambda t: t, x),
    "switch": lambda x: wg.switch(x.sum().long(), [lambda t: t] * 3, x),
}
SOMETIMES: dict[str, Callable[[Any], Any]] = {
    "while_loop": lambda x: wg.while_loop(lambda s: s.sum() < 0, lambda s: s * -2, x),
    "cond": lambda x: wg.cond(x.sum() > 0, lambda t: t, lambda t: t * 2, x),
    "switch": lambda x: wg.switch(x.sum().long(), [lambda t: t * 2, lambda t: t], x),
}


WAYS = {f"{name}, always": way for name, way in ALWAYS.items()} | SOMETIMES
ASKED: dict[str, Callable[[Any, Any], Any]] = {
    "is it the argument": lambda x, y: x * 2 if y is x else x * 3,
    "is it a key": lambda x, y: x * {x: 2.0}.get(y, 3.0),
    "has it been written": lambda x, y: x * y._version,
    "is it a leaf": lambda x, y: x * (2.0 if y.is_leaf else 3.0),
    "is it a view": lambda x, y: x * (2.0 if y._base is None else 3.0),
    "how does it lie": lambda x, y: x * (2.0 if y.is_contiguous() else 3.0),
    "the argument is written": lambda x, y: (x.data.add_(1), y * 2)[1],
    "the result is written": lambda x, y: (y.data.add_(1), x * 2 + y)[1],
    "both are returned": lambda x, y: (x, y),
}


@pytest.mark.parametrize("tracked", [False, True])
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("name", WAYS)
def test_what_a_loop_or_a_branch_returns_is_a_tensor_of_its_own(
    name: str, asked: str, tracked: bool
) -> None:
    # Eager mode gave the argument back, and a program, which makes all ways end in one memory, only
    # where all of them did: what was written into either later was missed, and `is` told another.
    def function(x: Any) -> Any:
        return ASKED[asked](x, WAYS[name](x))

    compiled = wg.compile(function)
    for sign in (1.0, -1.0, 1.0):
        seen = []
        for run in (function, compiled):
            x = wg.tensor([sign, 2 * sign], requires_grad=tracked)
            results = run(x)
            results = results if isinstance(results, tuple) else (results,)
            seen.append([r.tolist() for r in (*results, x)])
            assert len({r.data_ptr() for r in results}) == len(results)
        assert seen[0] == seen[1]


WRITING: dict[str, Callable[[Any], Any]] = {
    "fori_loop": lambda x: wg.fori_loop(0, 3, lambda i, s: s.add_(1), x),
    "two parts in turns": lambda x: wg.fori_loop(
        0, 3, lambda i, s: (s[1], s[0].add_(1)), (x, x * 2)
    ),
    "one tensor twice": lambda x: wg.fori_loop(0, 3, lambda i, s: (s[0].add_(1), s[0] * 2), (x, x)),
    "scan": lambda x: wg.scan(lambda s, row: (s.add_(row), s * 1), x, wg.ones(3, 2)),
    "while_loop": lambda x: wg.while_loop(lambda s: s.sum() < 9, lambda s: s.add_(1), x),
    "a loop in a loop": lambda x: wg.fori_loop(
        0, 3, lambda i, s: wg.fori_loop(0, 2, lambda j, t: t.add_(1), s) * 1 + s, x
    ),
}


@pytest.mark.parametrize("tracked", [False, True])
@pytest.mark.parametrize("name", WRITING)
def test_a_body_writes_into_a_state_of_its_own(name: str, tracked: bool) -> None:
    # Eager mode wrote into the caller's tensor, and a program did not.
    compiled = wg.compile(WRITING[name])
    for _ in range(2):
        seen = []
        for run in (WRITING[name], compiled):
            x = wg.tensor([1.0, 2.0], requires_grad=tracked)
            results = run(x)
            results = results if isinstance(results, tuple) else (results,)
            seen.append([r.tolist() for r in results])
            assert x.tolist() == [1.0, 2.0]
            if tracked:
                sum(r.sum() for r in results).backward()
                seen[-1].append(x.grad.tolist())
        assert seen[0] == seen[1]


KEPT = wg.ones(2)
SHARING: dict[str, Callable[[Any], Any]] = {
    "what was there before": lambda x: wg.fori_loop(0, 3, lambda i, s: (s.add_(1), KEPT)[1], x),
    "one tensor twice": lambda x: wg.fori_loop(0, 3, lambda i, s: (s[0].add_(1), s[0]), (x, x * 2)),
    "a row that is the state": lambda x: wg.scan(lambda s, row: (s.add_(row), s), x, wg.ones(3, 2)),
    "the row it was given": lambda x: wg.scan(lambda s, row: (s.add_(1), row), x, wg.ones(3, 2)),
    "a write into a row": lambda x: wg.map(lambda row: row.add_(1), wg.ones(3, 2)),
    "a write while asked": lambda x: wg.while_loop(
        lambda s: s.add_(1).sum() < 9, lambda s: s * 1, x
    ),
}


@pytest.mark.parametrize("name", SHARING)
def test_a_body_that_writes_into_what_another_iteration_returned_is_refused(name: str) -> None:
    # Eagerly the next iteration writes there, too; a program has a copy of it.
    with pytest.raises(TracingError, match=r"in <lambda> \(line .*test_ways.py\), called at\n"):
        wg.compile(SHARING[name])(wg.ones(2))


def grown(s: Any) -> Any:
    return wg.cat([s, s])


def test_an_error_of_a_body_from_outside_names_its_own_line() -> None:
    # It named the code that stands in its place while it is observed.
    f = wg.compile(lambda x: wg.fori_loop(0, 3, lambda i, s: grown(s), x))
    with pytest.raises(StateError, match=r"in <lambda> \(line .*test_ways.py\)"):
        f(wg.ones(2))
    for compile in (lambda f: f, wg.compile):
        f = compile(lambda x: wg.while_loop(lambda s: s.sum() < 9, grown, x))
        with pytest.raises(StateError, match=r"in grown \(line .*test_ways.py\)"):
            f(wg.ones(2))


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
