"""Python's `for` loops in compiled functions: the body of a long one is traced once.

It runs as that of `wg.fori_loop` or `wg.scan` does, with a number or a row that is not known. That
is no guess: whatever an iteration could do otherwise than another, it would do by the number, and
to decide by a number that is not known is an error. Then the trace begins again, and the first
iteration runs as it is written, which may give variables the kinds that they keep; if that is no
help, all of them are traced one by one, as those of a short loop. What the body changes beside its
variables is looked at too (`written.py`, `iterations.py`). The last iteration runs as it is written
if variables are read after the loop that an iteration only leaves behind.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from types import CellType, FrameType
from typing import Any

from wengert.compile.trace.arrays.refusals import Postponed
from wengert.compile.trace.observe.loops import Site, Unrolled
from wengert.compile.trace.world import watch
from wengert.compile.trace.world.inputs import Retraced
from wengert.control.iterations import Iterations
from wengert.control.written import ARRAYS, Learned, Reached, Writes
from wengert.errors import TracingError

LONG = 64
"""Loops of fewer iterations compile quickly one by one, and may run faster so."""
FIRST = 1
"""So many iterations at most run as they are written before the others."""


def rolling(world: Any, items: Any, site: Site, cells: tuple[CellType, ...]) -> Any:
    """An iterator for a loop over `items` that could be one statement; None for all others."""
    if not _is_known(items) or (type(items) is Together and items.is_begun):
        return None
    first = world.unrolled.get(site, 0)
    rolls = len(items) >= LONG and first <= FIRST
    return Rolling(world, items, site, cells, first) if rolls else None


def _is_known(items: Any) -> bool:
    """Whether it is known what a loop over this goes through."""
    kind = type(items)
    return kind is range or kind is Together or (_is_array(items) and bool(items.ndim))


def _is_array(items: Any) -> bool:
    """Whether a loop over this goes through its rows."""
    own = getattr(type(items), "__iter__", None)
    return any(own is getattr(kind, "__iter__", None) for kind in ARRAYS if isinstance(items, kind))


class Together:
    """What `zip` and `enumerate` make of numbers and rows: all of them are gone through at once.

    It is an iterator, as theirs are: each item comes once, whoever asks, and what it goes through
    may be such an iterator too.
    """

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self.parts = parts
        self.rest: Iterator[Any] = zip(*parts, strict=False)
        self.at = 0
        self.rolls = False
        """Whether a statement goes through it: an iteration that takes items then takes others."""

    def __len__(self) -> int:
        return min(map(len, self.parts))

    def __getitem__(self, k: Any) -> Any:
        return tuple([part[k] for part in self.parts])

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.rolls:
            raise TracingError("an iteration takes items of what the loop goes through")
        self.at += 1
        return next(self.rest)

    @property
    def is_begun(self) -> bool:
        return any(one.at for one in self.all())

    def all(self) -> Iterator[Together]:
        """This one, and those that it goes through."""
        yield self
        for part in self.parts:
            if type(part) is Together:
                yield from part.all()

    def pass_over(self, count: int) -> None:
        """Be where it is after so many items."""
        for part in self.parts:
            if type(part) is Together:
                part.pass_over(count)
        left = [part if type(part) is Together else part[count:] for part in self.parts]
        self.at, self.rest = count, zip(*left, strict=False)


def together(function: Any, *args: Any, **named: Any) -> Any:
    """What `zip` or `enumerate` returns, if a long loop over it may be one statement."""
    if not args or not all(_is_known(x) and len(x) >= LONG for x in args[:1]):
        return None
    if function is zip:
        uneven = named.get("strict") and len(set(map(len, args))) > 1
        return _apart(args) if all(map(_is_known, args)) and not uneven else None
    start = args[1] if len(args) == 2 else named.get("start", 0)
    return _apart((range(start, start + len(args[0])), args[0])) if type(start) is int else None


def _apart(parts: tuple[Any, ...]) -> Together | None:
    """These together, unless one of them is gone through twice at a time, or was begun."""
    whole = Together(parts)
    every = list(whole.all())
    return whole if len(set(map(id, every))) == len(every) and not whole.is_begun else None


class Rolling:
    """What a long loop goes through; `first` and what is from `last` on runs as it is written."""

    def __init__(
        self, world: Any, items: Any, site: Site, cells: tuple[CellType, ...], first: int
    ) -> None:
        self.world = world
        self.items = items
        self.site = site
        self.cells = cells
        self.at = 0
        self.first = first
        self.last = len(items) - bool(site.leaves)
        self.writes = Writes()
        self.most = FIRST + 1
        self.begun: Reached | None = None

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.at == self.first and watch.active() is not None:
            self.roll(sys._getframe(1))
            self.at = self.last
        elif not self.at and watch.active() is not None:
            self.begin(sys._getframe(1))
        self.at += 1
        if type(self.items) is Together:
            return next(self.items)
        if self.at > len(self.items):
            raise StopIteration
        return self.items[self.at - 1]

    def begin(self, frame: FrameType) -> None:
        """Note what the first iteration may write, which runs as it is written."""
        variables = [frame.f_locals[name] for name in self.site.names if name in frame.f_locals]
        with contextlib.suppress(TracingError):
            self.begun = Reached(self.world, [*variables, *self.cells])

    def roll(self, frame: FrameType) -> None:
        """Run all iterations in between as one statement, with the variables of a frame."""
        try:
            self._roll(frame)
        except (Retraced, Postponed):
            raise
        except Exception as error:
            # What has another form at first may keep that which the first iteration gives it, and
            # that one shows what all of them write.
            self.world.broken = Unrolled(self.site, self.first + 1)
            raise self.world.broken from error

    def _roll(self, frame: FrameType) -> None:
        every = list(self.items.all()) if type(self.items) is Together else []
        if any(one.at != self.at for one in every):
            raise TracingError("an iteration takes items of what the loop goes through")
        for one in every:
            one.rolls = True
        self._written(frame)
        for one in every:
            one.rolls = False
        if every:
            every[0].pass_over(self.last)

    def _written(self, frame: FrameType) -> None:
        if self.begun is not None:  # what the first iteration has written, the others will
            self.writes.learn(x for x in self.begun.changes() if not isinstance(x, Exception))
        while True:
            try:
                Iterations(self, frame).run(frame)
                return
            except Learned:
                pass

    def rows(self, items: Any) -> Iterator[Any]:
        """The rows of arrays that the iterations in between go through."""
        if type(items) is Together:
            for part in items.parts:
                yield from self.rows(part)
        elif type(items) is not range:
            yield items[self.first : self.last]

    def item(self, items: Any, index: Any, rows: Iterator[Any]) -> Any:
        """What an iteration gets, whose number is not known."""
        if type(items) is Together:
            return tuple([self.item(part, index, rows) for part in items.parts])
        if type(items) is not range:
            return next(rows)
        numbers = items[self.first : self.last]
        return self.number(index, numbers.step, numbers.start, len(numbers))

    def number(self, index: Any, step: int, start: int, count: int) -> Any:
        """An int that is `start` at first and then more by `step` in each iteration."""
        item = index * step + start
        last = start + step * (count - 1)
        bounds = min(start, last), max(start, last)
        index.trace.counters[item.value] = item.value.bounds = bounds
        return item
