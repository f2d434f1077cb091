"""Calls of C and of libraries that call the program's functions, which do something themselves.

Such a call on a container from outside is made again by each call of the program. What the trace
saw its functions do was an effect of its own beside that: it was done twice.
"""

from __future__ import annotations

import bisect
import collections
import heapq
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from wengert.errors import TracingError


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
