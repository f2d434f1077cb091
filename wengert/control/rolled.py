"""Python's `for` loops in compiled functions: the body of a long one is traced once.

It runs as that of `wg.fori_loop` or `wg.scan` does, with a number or a row that is not known. That
is no guess: whatever an iteration could do otherwise than another, it would do by the number, and
to decide by a number that is not known is an error. Then the trace begins again, and the first
iteration runs as it is written, which may give variables the kinds that they keep; if that is no
help, all of them are traced one by one, as those of a short loop. So it is if the body changes
anything but its variables. The last iteration runs as it is written if variables are read after the
loop that an iteration only leaves behind.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Iterator
from types import (
    BuiltinFunctionType,
    CellType,
    FrameType,
    FunctionType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np

from wengert.arrays.batched.array import BatchedArray
from wengert.compile.trace import watch
from wengert.compile.trace.array import TracedArray
from wengert.compile.trace.inputs import Retraced
from wengert.compile.trace.observe.loops import Site, Unrolled
from wengert.compile.trace.observe.objects import ATOMS, CONTAINERS, contents, held_in, same
from wengert.compile.trace.refusals import Postponed
from wengert.control.recorded import Loop
from wengert.errors import StateError, TracingError
from wengert.tensor import Tensor
from wengert.tree import collect, rebuild

LONG = 64
"""Loops of fewer iterations compile quickly one by one, and may run faster so."""
FIRST = 1
"""So many iterations at most run as they are written before the others."""
MOST = 10_000
"""A body that can reach more objects than so many is not looked at."""

ARRAYS = (Tensor, TracedArray, BatchedArray, np.ndarray)


def rolling(world: Any, items: Any, site: Site, cells: tuple[CellType, ...]) -> Any:
    """An iterator for a loop over `items` that could be one statement; None for all others."""
    if not _is_known(items) or (type(items) is Together and items.at):
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
    """What `zip` and `enumerate` make of numbers and rows: all of them are gone through at once."""

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self.parts = parts
        self.at = 0

    def __len__(self) -> int:
        return min(map(len, self.parts))

    def __getitem__(self, k: Any) -> Any:
        return tuple([part[k] for part in self.parts])

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.at == len(self):
            raise StopIteration
        self.at += 1
        return self[self.at - 1]


def together(function: Any, *args: Any, **named: Any) -> Any:
    """What `zip` or `enumerate` returns, if a long loop over it may be one statement."""
    if not args or not all(_is_known(x) and len(x) >= LONG for x in args[:1]):
        return None
    if function is zip:
        uneven = named.get("strict") and len(set(map(len, args))) > 1
        return Together(args) if all(map(_is_known, args)) and not uneven else None
    start = args[1] if len(args) == 2 else named.get("start", 0)
    return Together((range(start, start + len(args[0])), args[0])) if type(start) is int else None


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

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.at == self.first and watch.active() is not None:
            self.roll(sys._getframe(1))
            self.at = self.last
        if self.at == len(self.items):
            raise StopIteration
        self.at += 1
        return self.items[self.at - 1]

    def roll(self, frame: FrameType) -> None:
        """Run all iterations in between as one statement, with the variables of a frame."""
        try:
            self._roll(frame)
        except (Retraced, Postponed):
            raise
        except Exception as error:
            # What has another form at first may keep that which the first iteration gives it.
            steps = 1 if isinstance(error, StateError | KeyError) else FIRST + 1
            self.world.broken = Unrolled(self.site, self.first + steps)
            raise self.world.broken from error

    def _roll(self, frame: FrameType) -> None:
        site = self.site
        given = {name: frame.f_locals[name] for name in site.names}
        leaves: list[Any] = []
        tree = collect([given[name] for name in site.carried], leaves)
        moving = [k for k, x in enumerate(leaves) if isinstance(x, (*ARRAYS, float, complex))]
        function = site.function(frame.f_globals, self.cells)
        around = Reached(self.world, [*given.values(), *self.cells])

        def whole(parts: Any) -> list[Any]:
            now = list(leaves)
            for k, part in zip(moving, parts, strict=True):
                now[k] = part
            return rebuild(tree, iter(now))

        def body(index: Any, parts: Any, row: Any) -> tuple[Any, None]:
            now = given | dict(zip(site.carried, whole(parts), strict=True))
            item = self._item(self.items, index, iter(row or ()))
            made = self.world.called(function, item, *[now[name] for name in site.names])
            news: list[Any] = []
            if collect(list(made), news) != tree:
                raise StateError("a variable of a loop changes its structure")
            if any(k not in moving and not same(x, leaves[k]) for k, x in enumerate(news)):
                raise TracingError("a variable of a loop changes, and is no array or float")
            return [news[k] for k in moving], None

        loop = Loop(watch.active().trace, "a for loop", function, body)
        rows = list(self._rows(self.items)) or None
        finals, _ = loop.run([leaves[k] for k in moving], rows, self.last - self.first)
        around.check()
        if any(getattr(x, "weak", False) for x in finals):
            raise TracingError("a float of Python's would no longer be known")
        _rebind(frame, dict(zip(site.carried, whole(finals), strict=True)))

    def _rows(self, items: Any) -> Iterator[Any]:
        """The rows of arrays that the iterations in between go through."""
        if type(items) is Together:
            for part in items.parts:
                yield from self._rows(part)
        elif type(items) is not range:
            yield items[self.first : self.last]

    def _item(self, items: Any, index: Any, rows: Iterator[Any]) -> Any:
        """What an iteration gets, whose number is not known."""
        if type(items) is Together:
            return tuple([self._item(part, index, rows) for part in items.parts])
        if type(items) is not range:
            return next(rows)
        numbers = items[self.first : self.last]
        item = index * numbers.step + numbers.start
        bounds = min(numbers), max(numbers)
        index.trace.counters[item.value] = item.value.bounds = bounds
        return item


def _rebind(frame: FrameType, variables: dict[str, Any]) -> None:
    """Change variables of a function that is running."""
    frame.f_locals.update(variables)
    if sys.version_info < (3, 13):  # there f_locals is a copy
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))


class Reached:
    """What a body can reach and change without the trace being told, and what all of that holds.

    Of what is from outside the trace is told, and of arrays that a body writes to.
    """

    def __init__(self, world: Any, roots: list[Any]) -> None:
        self.held: dict[int, tuple[Any, tuple[Any, ...]]] = {}
        pending = list(roots)
        while pending:
            x = pending.pop()
            if id(x) in self.held or world.is_outside(x) or isinstance(x, _LEAVES):
                continue
            if type(x) in ATOMS:
                continue
            inside = _inside(x)
            if inside is None or len(self.held) == MOST:
                raise TracingError(f"the body of a loop could change a {type(x).__name__}")
            self.held[id(x)] = x, inside
            pending += inside

    def check(self) -> None:
        for x, inside in self.held.values():
            now = _inside(x)
            if now is None or len(now) != len(inside) or not all(map(_is_same, now, inside)):
                raise TracingError(f"the body of a loop changes a {type(x).__name__}")


_LEAVES = (*ARRAYS, np.generic, np.dtype, ModuleType, BuiltinFunctionType, np.ufunc)


def _is_same(a: Any, b: Any) -> bool:
    return a is b or same(a, b)


def _inside(x: Any) -> tuple[Any, ...] | None:
    """All that an object holds; None if that cannot be seen."""
    if isinstance(x, CONTAINERS):
        return (*contents(x), *vars(x).values()) if hasattr(x, "__dict__") else contents(x)
    if isinstance(x, CellType):
        return (held_in(x),)
    if isinstance(x, FunctionType):
        named = (x.__kwdefaults__ or {}).values()
        return (*(x.__closure__ or ()), *(x.__defaults__ or ()), *named, *vars(x).values())
    if isinstance(x, MethodType):
        return x.__self__, x.__func__
    if isinstance(x, functools.partial):
        return x.func, *x.args, *x.keywords.values()
    if isinstance(x, type):
        return tuple(v for v in vars(x).values() if isinstance(v, CONTAINERS))
    kept = getattr(x, "__dict__", None)
    if kept is None or any("__slots__" in vars(cls) for cls in type(x).__mro__):
        return None
    return (*kept.keys(), *kept.values())
