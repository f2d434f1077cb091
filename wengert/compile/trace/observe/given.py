"""Iterators that methods of containers go through: what they give is noted as they give it.

    losses.extend(f(x) for x in xs)        table.update(zip(names, values))

A program makes such a call again, on what the iterator has given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MappingView
from typing import Any, NamedTuple

from wengert.compile.trace.observe.objects import empty


class Done(NamedTuple):
    """What a program has done so far: how many effects, writes into arrays, and draws."""

    effects: int
    writes: int
    draws: int
    time: int


class Given:
    """An iterator that keeps what it gives, and when: `done` tells what the program has done."""

    def __init__(self, items: Any, done: Callable[[], Done]) -> None:
        self._from = iter(items)  # a mapping is known by its `items`
        self.done = done
        self.given: list[Any] = []
        self.periods: list[tuple[Done, Done]] = []
        """What had been done before it gave something, and after."""

    def __iter__(self) -> Given:
        return self

    def __next__(self) -> Any:
        before = self.done()
        try:
            item = next(self._from)
        finally:
            self.periods.append((before, self.done()))
        self.given.append(item)
        return item


class Within:
    """What a call itself has done, from `begun` on, and not the iterators that it went through."""

    def __init__(self, begun: Done, args: tuple[Any, ...]) -> None:
        self.begun = begun
        self.periods = [period for x in args if type(x) is Given for period in x.periods]

    def own(self, now: Done) -> list[tuple[Done, Done]]:
        """The periods in which it was the call that did something."""
        starts = [self.begun, *(end for _, end in self.periods)]
        ends = [*(start for start, _ in self.periods), now]
        return [*zip(starts, ends, strict=True)]


def kept(container: Any, name: str, args: Any, done: Callable[[], Done]) -> tuple[Any, ...]:
    """Arguments of a method, in which iterators keep what they give if it goes through them."""
    if not any(isinstance(x, _GIVING) for x in args) or not _goes_through(container, name, args):
        return tuple(args)
    return tuple([Given(x, done) if isinstance(x, _GIVING) else x for x in args])


def given(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments with lists of what they gave in the place of iterators."""
    return tuple([x.given if type(x) is Given else x for x in args])


_GIVING = (Iterator, MappingView)


class _Asked(Exception):
    pass


class _Probe:
    def __iter__(self) -> Any:
        raise _Asked


def _goes_through(container: Any, name: str, args: Any) -> bool:
    """Whether a method goes through what it is given: an empty container's tells."""
    probes = [_Probe() if isinstance(x, _GIVING) else x for x in args]
    try:
        getattr(empty(container), name)(*probes)
    except _Asked:
        return True
    except Exception:
        return False
    return False
