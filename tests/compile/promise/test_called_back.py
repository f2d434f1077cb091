"""Calls of C and of libraries that call the program's functions, which do something themselves.

Such a call on a container from outside is made again by each call of the program. What the trace
saw its functions do was an effect of its own beside that: it was done twice.
"""

from __future__ import annotations

import bisect
import collections
import contextvars
import copy
import functools
import heapq
import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from wengert.errors import TracingError
from wengert.utils.checkpoint import checkpoint


class Counts:
    """A number that compares, and counts how often."""

    calls = 0

    def __init__(self, value: int) -> None:
        self.value = value

    def __lt__(self, other: Any) -> bool:
        Counts.calls += 1
        return self.value < other.value

    def __eq__(self, other: Any) -> bool:
        Counts.calls += 1
        return type(other) is Counts and self.value == other.value

    def __hash__(self) -> int:
        return self.value

    def __repr__(self) -> str:
        return f"Counts({self.value})"


def by_value(x: Any) -> Any:
    Counts.calls += 1
    return x


class Tally(collections.Counter[str]):
    def __setitem__(self, key: str, value: int) -> None:
        super().__setitem__(key, value + 1)


class PastSuper(collections.Counter[str]):
    def __setitem__(self, key: str, value: int) -> None:
        dict.__setitem__(self, key, value + 1)


class Ordered(collections.OrderedDict[str, int]):
    def __setitem__(self, key: str, value: int) -> None:
        Counts.calls += 1
        collections.OrderedDict.__setitem__(self, key, value)

    def __delitem__(self, key: str) -> None:
        Counts.calls += 1
        collections.OrderedDict.__delitem__(self, key)


class Plain(dict[str, int]):
    def __delitem__(self, key: str) -> None:
        dict.__delitem__(self, key)


class Mirrored(list[int]):
    def __iadd__(self, other: Any) -> Any:
        Counts.calls += 1
        return super().__iadd__(other)


def added(o: Any) -> None:
    o += [5]


def taken_out(o: Any) -> None:
    del o[min(o)]


def counted(o: Any) -> Any:
    o.sort(key=by_value)
    return Counts.calls


CASES: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "list.sort(key=)": (lambda: [3, 1, 2], lambda o: o.sort(key=by_value)),
    "list.sort(key=), and it is asked": (lambda: [3, 1, 2], counted),
    "list.sort()": (lambda: [*map(Counts, (3, 1, 2))], lambda o: o.sort()),
    "heapify": (lambda: [*map(Counts, (3, 1, 2))], lambda o: heapq.heapify(o)),
    "heappop": (lambda: [*map(Counts, range(9))], lambda o: heapq.heappop(o)),
    "insort": (lambda: [1, 2, 3], lambda o: bisect.insort(o, 2, key=by_value)),
    "list.remove": (
        lambda: [*map(Counts, range(9))],
        lambda o: o.remove(Counts(o[2].value)),
    ),
    "Counter.update": (lambda: Tally("aab"), lambda o: o.update(c=4)),
    "Counter.update, past super": (lambda: PastSuper("aab"), lambda o: o.update("ab")),
    "OrderedDict.update": (lambda: Ordered(a=1), lambda o: o.update(b=o["a"])),
    "OrderedDict.pop": (
        lambda: Ordered(zip("abcdef", range(6), strict=False)),
        lambda o: o.popitem(),
    ),
    "del": (lambda: Plain(zip("abcdef", range(6), strict=False)), taken_out),
    "+=": (lambda: Mirrored([3]), added),
}


def story(make: Any, act: Any, compile: Any) -> list[Any]:
    Counts.calls = 0
    container = make()

    def f(x: Any) -> Any:
        asked = act(container)
        return x * len(container) + (asked if type(asked) is int else 0)

    f = compile(f)
    seen = []
    for k in range(5):
        if k == 3 and isinstance(container, list):
            container.insert(0, container[0])
        seen.append((f(wg.ones(1)).item(), repr(container), Counts.calls))
    return seen


@pytest.mark.parametrize("name", CASES)
def test_what_a_call_of_c_calls_is_done_once(name: str) -> None:
    assert story(*CASES[name], wg.compile) == story(*CASES[name], lambda f: f)


def test_what_a_call_of_c_calls_may_not_write_into_arrays() -> None:
    # Each call of the program writes, and then the call of C would write again.
    total, items = wg.zeros(1), [3, 1, 2]

    @wg.compile
    def f(x: Any) -> Any:
        items.sort(key=lambda v: (total.add_(1), v)[1])
        return x * 2

    with pytest.raises(TracingError, match="calls a function that writes into arrays"):
        f(wg.ones(1))
    assert total.item() == 0
    assert items == [3, 1, 2]


# ---- iterators that methods go through ---------------------------------------------------------


def doubled(x: Any) -> Any:
    Counts.calls += 1
    return x * 2


def put_in_front(o: Any, x: Any) -> None:
    o[0:1] = (doubled(v) for v in (5, 6))


def joined(o: Any, x: Any) -> None:
    o += map(doubled, (1, 2))


GIVING: dict[str, tuple[Callable[[], Any], Callable[[Any, Any], Any]]] = {
    "extend(generator)": (list, lambda o, x: o.extend(doubled(v) for v in (1, 2))),
    "extend(map)": (list, lambda o, x: o.extend(map(doubled, (1, 2)))),
    "extend(zip)": (list, lambda o, x: o.extend(zip((1, 2), (3, 4), strict=True))),
    "extend(reversed)": (list, lambda o, x: o.extend(reversed([1, 2]))),
    "extend(keys)": (list, lambda o, x: o.extend({"a": 1}.keys())),
    "extend(what is computed)": (list, lambda o, x: o.extend(x * doubled(v) for v in (1, 2))),
    "extend(what asks for the length)": (list, lambda o, x: o.extend(len(o) for _ in range(2))),
    "+=": (list, joined),
    "[a:b] =": (lambda: [1, 2], put_in_front),
    "extendleft": (collections.deque, lambda o, x: o.extendleft(map(doubled, (1, 2)))),
    "dict.update": (dict, lambda o, x: o.update(zip("ab", (x, x * 2), strict=True))),
    "dict.update(generator)": (dict, lambda o, x: o.update((k, doubled(len(o))) for k in "ab")),
    "set.update": (lambda: {1}, lambda o, x: o.update(doubled(v) for v in (1, 2))),
    "difference_update": (lambda: {1, 2, 9}, lambda o, x: o.difference_update(iter([1, 9]))),
    "Counter.update": (collections.Counter, lambda o, x: o.update(c for c in "ab")),
    "Counter.update, with a method of its own": (
        lambda: Tally("aab"),
        lambda o, x: o.update(c for c in "ab"),
    ),
    "OrderedDict.update": (
        lambda: Ordered(a=1),
        lambda o, x: o.update((c, 1) for c in "bc"),
    ),
}


@pytest.mark.parametrize("name", GIVING)
def test_a_method_goes_through_an_iterator(name: str) -> None:
    # It was refused, as something that is "returned": the call held the iterator.
    make, act = GIVING[name]

    def seen(compile: Any) -> list[Any]:
        Counts.calls = 0
        container = make()

        def f(x: Any) -> Any:
            act(container, x)
            return x * len(container)

        f = compile(f)
        return [
            (f(wg.full((1,), k)).item(), repr(container), Counts.calls) for k in (1.0, 2.0, 3.0)
        ]

    assert seen(wg.compile) == seen(lambda f: f)


def test_a_method_that_calls_what_writes_goes_through_no_iterator_that_writes() -> None:
    # What one of them finds, the other has left: no call could do one again without the other.
    table = Ordered(a=1)

    @wg.compile
    def f(x: Any) -> Any:
        table.update((c, doubled(1)) for c in "bc")
        return x * 2

    with pytest.raises(TracingError, match="an iterator that writes as well"):
        f(wg.ones(1))
    assert table == {"a": 1}


# ---- calls that are asked again ------------------------------------------------------------------


class Speaks:
    """Does something whenever it is asked."""

    def __init__(self, does: Callable[[], Any]) -> None:
        self.does = does

    def __str__(self) -> str:
        self.does()
        return "spoken"

    __repr__ = __str__

    def __len__(self) -> int:
        self.does()
        return 2

    def __iter__(self) -> Any:
        self.does()
        return iter((1, 2))

    def __copy__(self) -> Any:
        self.does()
        return self


ASKING: dict[str, Callable[[Any], Any]] = {
    "json.dumps(default=)": lambda does: len(json.dumps({1: {2}}, default=lambda _: does() or 1)),
    "re.sub": lambda does: len(re.sub("a", lambda _: does() or "b", "aba")),
    "lru_cache": lambda does: functools.lru_cache(lambda x: does() or x)(2),
    "Context.run": lambda does: contextvars.copy_context().run(lambda: does() or 2),
    "str": lambda does: len(str(Speaks(does))),
    "repr": lambda does: len(repr(Speaks(does))),
    "[*x]": lambda does: len([*Speaks(does)]),
    "copy": lambda does: (copy.copy(Speaks(does)), 2)[1],
    "vectorize": lambda does: float(np.vectorize(lambda v: does() or v, [float])([1.0, 2.0]).sum()),
    "min(key=)": lambda does: min([3, 2], key=lambda v: does() or v),
}
DOING: dict[str, Callable[[Any, Any], Any]] = {
    "writes into a tensor": lambda t, x: t.add_(1),
    "writes into an item": lambda t, x: t.__setitem__(0, t[1] + x.sum()),
    "writes into an array": lambda t, x: np.add(t, 1, out=t.numpy()),
    "draws": lambda t, x: t.mul_(wg.rand(())),
}


@pytest.mark.crossed
@pytest.mark.parametrize("doing", DOING)
@pytest.mark.parametrize("asking", ASKING)
def test_what_writes_into_arrays_when_it_is_asked_is_not_asked_again(
    asking: str, doing: str
) -> None:
    # It was asked again after the trace, and before each call, and wrote each time.
    def seen(compile: Any) -> list[Any]:
        wg.manual_seed(0)
        total = wg.tensor([1.0, 2.0])

        def f(x: Any) -> Any:
            def does() -> None:
                DOING[doing](total, x)

            return x.sum() * ASKING[asking](does)

        f = compile(f)
        return [(f(wg.full((2,), k)).item(), total.tolist()) for k in (1.0, 2.0, 3.0)]

    assert np.allclose(
        *([v for a, b in seen(c) for v in (a, *b)] for c in (wg.compile, lambda f: f))
    )


def test_what_runs_again_for_the_derivative_writes_nothing_outside() -> None:
    # Its second run, which belongs to backward(), was part of the call: it wrote twice.
    total, weight = wg.zeros(1), wg.ones(2, requires_grad=True)

    def part(x: Any) -> Any:
        total.add_(1)
        return (x * weight).exp()

    @wg.compile
    def f(x: Any) -> Any:
        return checkpoint(part, x, use_reentrant=False).sum()

    with pytest.raises(TracingError, match="the derivative of a compiled function changes"):
        f(wg.ones(2))
    assert total.item() == 0
    with wg.no_grad():
        f(wg.ones(2))
    assert total.item() == 1


def test_what_the_derivative_writes_outside_is_put_back_when_it_is_refused() -> None:
    # It was noted after the refusal: what was traced stayed where it had been written.
    kept: dict[str, Any] = {"gradient": None}
    weight = wg.ones(2, requires_grad=True)

    class Holder:
        gradient: Any = None

    holder = Holder()

    def keep(g: Any) -> None:
        holder.gradient = kept["gradient"] = g

    @wg.compile
    def f(x: Any) -> Any:
        y = x * weight
        y.register_hook(keep)
        return y.sum()

    with pytest.raises(TracingError, match="the derivative of a compiled function changes"):
        f(wg.ones(2))
    assert kept == {"gradient": None}
    assert holder.gradient is None
