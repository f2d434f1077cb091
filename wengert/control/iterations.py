"""The iterations of a Python loop as one statement: what they write is its state and its results.

The state is a tree of the variables that are carried, what stands at the places that an iteration
writes, and the last items of lists that grow. Arrays and floats in it are carried by the statement;
all else stays as it is, but for ints that count.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from wengert.compile.program.program import Value, values_in
from wengert.compile.trace.arrays.array import TracedArray
from wengert.compile.trace.arrays.storage import Storage
from wengert.compile.trace.loops.memory import hold, traced_in
from wengert.compile.trace.observe.loops import Unrolled
from wengert.compile.trace.observe.objects import ATOMS, CHANGEABLE, same
from wengert.compile.trace.world import watch
from wengert.compile.trace.world.places import key_of
from wengert.control.recorded import Loop
from wengert.control.written import (
    ARRAYS,
    Growing,
    Grown,
    Learned,
    Part,
    Reached,
    line_through,
    rows_of,
)
from wengert.errors import StateError, TracingError
from wengert.tensor import Tensor
from wengert.tree import collect, flatten, named_parts, opened, rebuild


class Row(NamedTuple):
    """A leaf of what each iteration appends: number `k` of the results."""

    k: int
    tensor: bool


class Line(NamedTuple):
    """An int that iteration i appends: a * i + b."""

    a: int
    b: int


class Iterations:
    """One attempt to run iterations as one statement, with the variables of a frame.

    It raises Learned where they write more than was known.
    """

    def __init__(self, loop: Any, frame: FrameType) -> None:
        self.loop, self.site = loop, loop.site
        self.world, self.writes = loop.world, loop.writes
        self.trace = watch.active().trace
        self.count = loop.last - loop.first
        self.given = {name: frame.f_locals[name] for name in self.site.names}
        self.around = Reached(self.world, [*self.given.values(), *loop.cells])
        places = [place for place, _ in self.world.written_places.values()]
        self.stood = {key_of(place): place.read(()) for place in places}
        lists = [grown.items for grown in self.writes.lists]
        self.objects = {
            name
            for name, x in self.given.items()
            if name in self.writes.objects or any(x is items for items in lists)
        }
        self.carried = [name for name in self.site.carried if name not in self.objects]
        self.before = [part.place.read(()) for part in self.writes.parts]
        self.holders = [
            [*(p for p in places if p.read(()) is items), *self.around.holders(items)]
            for items in lists
        ]
        self.lengths = list(map(len, lists))
        self.over = False
        """Whether this is a derivative's run: then the loop has written what it writes."""
        self.leaves: list[Any] = []
        variables = [self.given[name] for name in self.carried]
        tails = list(map(_tail, self.writes.lists))
        self.tree = collect([variables, self.before, tails], self.leaves)
        kinds = (*ARRAYS, float, complex)
        self.moving = [k for k, x in enumerate(self.leaves) if isinstance(x, kinds)]
        self.appended: list[tuple[Any, list[Any]]] = []
        """For each list that grows: the structure of what is appended, and its leaves."""
        self.unchanged: set[int] = set()
        """The numbers of leaves that are the same arrays after the loop."""
        self.shared: list[Any] = []
        """Which results are one memory in the body: final leaves' numbers, rows, and arrays."""

    # ---- the whole loop -------------------------------------------------------------------------

    def run(self, frame: FrameType) -> None:
        """A derivative that runs the body again keeps this object, so that keeps no frame."""
        function = self.site.function(frame.f_globals, self.loop.cells)

        def body(index: Any, parts: Any, row: Any) -> tuple[Any, Any]:
            return self._iteration(function, index, parts, row or [])

        rows = list(self.loop.rows(self.loop.items))
        inits = [self.leaves[k] for k in self.moving]
        loop = Loop(self.trace, "a for loop", function, body, apart=False)
        finals, ys = loop.run(inits, rows or None, self.count)
        self.over = True
        if any(getattr(x, "weak", False) for x in finals):
            raise TracingError("a float of Python's would no longer be known")
        self._keep_apart(dict(zip(self.moving, finals, strict=True)), ys, rows)
        leaves = list(self.leaves)
        for k, final in zip(self.moving, finals, strict=True):
            if k in self.writes.in_place:
                _write(leaves[k], final)
            elif k not in self.unchanged:
                leaves[k] = final
        for k, step in self.writes.counts.items():
            leaves[k] += step * self.count
        variables, after, _ = rebuild(self.tree, iter(leaves))
        for part, value in zip(self.writes.parts, after, strict=True):
            part.place.write(value, ())
            if part.outside:
                self.world.effects.append((part.place, value))
        for grown, (tree, kinds) in zip(self.writes.lists, self.appended, strict=True):
            columns = [self._column(kind, ys) for kind in kinds]
            for row in zip(*columns, strict=True) if columns else [()] * self.count:
                grown.items.extend(rebuild(tree, iter(row)))
        _rebind(frame, dict(zip(self.carried, variables, strict=True)))

    def _column(self, kind: Any, ys: list[Any]) -> list[Any]:
        """What each iteration appends as one leaf."""
        if type(kind) is Row:
            y = ys[kind.k]
            return rows_of(y if kind.tensor or not isinstance(y, Tensor) else y._array)
        if type(kind) is Line:
            return [kind.a * i + kind.b for i in range(self.count)]
        return [kind] * self.count

    # ---- one iteration --------------------------------------------------------------------------

    def _iteration(
        self, function: Any, index: Any, parts: list[Any], row: list[Any]
    ) -> tuple[Any, Any]:
        """The next state, and a row of the results."""
        held = dict(zip(self.moving, parts, strict=True))
        leaves = [held.get(k, x) for k, x in enumerate(self.leaves)]
        for k, step in self.writes.counts.items():
            leaves[k] = self.loop.number(index, step, leaves[k], self.count)
        variables, before, tails = rebuild(self.tree, iter(leaves))
        now = self.given | dict(zip(self.carried, variables, strict=True))

        def position(growing: Growing, key: TracedArray) -> Any:
            line = line_through(self.trace, key.value, index.value)
            if line is None or line[0] != growing.grown.count:
                return None
            return line[1] - growing.length - len(growing.new)

        lists = [
            Growing(grown, length, tail, position)
            for grown, length, tail in zip(self.writes.lists, self.lengths, tails, strict=True)
        ]
        for name in self.objects:
            now[name] = next((x for x in lists if x.grown.items is now[name]), now[name])
        begun = len(self.world.effects)
        places = [
            *(place for place, _ in self.world.written_places.values()),
            *(place for held in self.holders for place in held),
            *(part.place for part in self.writes.parts),
        ]
        there = [(place, place.read(())) for place in places]
        with self._holes() as holes:
            for part, value in zip(self.writes.parts, before, strict=True):
                part.place.write(value, ())
            self._hold(lists)
            try:
                item = self.loop.item(self.loop.items, index, iter(row))
                news = self.world.called(function, item, *[now[name] for name in self.site.names])
                told = self.world.effects[begun:]
                after = [part.place.read(()) for part in self.writes.parts]
                self._check_held(lists)
            finally:
                for place, value in there:
                    place.write(value, ())
                del self.world.effects[begun:]
                if not self.over:
                    self._take_back()
            self._learn(told, news, now, variables)
            new = dict(zip(self.site.carried, news, strict=True))
            carried = [new[name] for name in self.carried]
            self._check_containers([variables, before, tails], leaves)
            self._check_containers_apart([carried, after, *(x.new for x in lists)])
            tails = [[*x.tail, *x.new][len(x.tail) + len(x.new) - x.grown.tail :] for x in lists]
            state = self._next([carried, after, tails], leaves, index)
            ys = self._appended(lists, index)
            self._check_memory(parts, row, state, ys)
            holes.check([*state, *ys])
            return state, ys

    def _hold(self, lists: list[Any]) -> None:
        for places, x in zip(self.holders, lists, strict=True):
            for place in places:
                place.write(x, ())

    def _check_held(self, lists: list[Any]) -> None:
        for places, x in zip(self.holders, lists, strict=True):
            if any(place.read(()) is not x for place in places):
                raise TracingError("the body of a loop replaces a list that grows")

    def _take_back(self) -> None:
        """Make what else has changed as it was before the iteration, and learn of it."""
        changes = list(self.around.changes())
        for change in changes:
            if isinstance(change, Exception):
                raise change
            if isinstance(change, Grown):
                del change.items[-change.count :]
            else:
                change.place.write(change.before, ())
        if self.writes.learn(changes):
            raise Learned

    def _learn(self, told: list[Any], news: Any, now: Any, variables: list[Any]) -> None:
        """What the trace was told of, and which variables kept what they held."""
        parts = []
        for place, _ in told:
            if place is None:
                raise TracingError("the body of a loop changes a container from outside")
            if key_of(place) not in self.stood:
                raise StateError("the first iteration of a loop writes something outside")
            parts.append(Part(place, None, outside=True))
        kept = {
            name
            for name, x, new in zip(self.site.carried, self._given(variables), news, strict=True)
            if x is new and isinstance(x, CHANGEABLE) and name not in self.objects
        }
        self.writes.objects |= kept
        if self.writes.learn(parts) or kept:
            raise Learned
        for name, new in zip(self.site.carried, news, strict=True):
            if name in self.objects and new is not now[name]:
                raise TracingError("the body of a loop replaces a container that it changes")

    def _given(self, variables: list[Any]) -> list[Any]:
        held = dict(zip(self.carried, variables, strict=True))
        return [held.get(name) for name in self.site.carried]

    def _check_containers(self, given: Any, leaves: list[Any]) -> None:
        """The containers of a state are made for each iteration, so none is changed."""
        present: list[Any] = []
        if collect(given, present) != self.tree or any(
            a is not b for a, b in zip(present, leaves, strict=True)
        ):
            raise TracingError("the body of a loop changes a container of its state")

    def _check_containers_apart(self, returned: Any) -> None:
        """Each container that an iteration makes has one name: after the loop there are copies."""
        ids = [id(x) for x in containers_in(returned)]
        if len(ids) > len(set(ids)) or not self.around.held.keys().isdisjoint(ids):
            raise TracingError("the body of a loop gives one container two names")

    def _next(self, new: Any, leaves: list[Any], index: Any) -> list[Any]:
        """The arrays and floats of the next state."""
        news: list[Any] = []
        if collect(new, news) != self.tree:
            raise StateError("a variable of a loop changes its structure")
        moving, counts = set(self.moving), self.writes.counts
        for k, (x, before) in enumerate(zip(news, leaves, strict=True)):
            if k in moving or same(x, before):
                continue
            if k in counts:
                line = line_through(self.trace, getattr(x, "value", x), index.value)
                if line == (counts[k], self.leaves[k] + counts[k]):
                    continue
            elif type(x) is int and type(before) is int:
                counts[k] = x - before
                raise Learned
            raise TracingError("a variable of a loop changes, and is no array, float or count")
        return [news[k] for k in self.moving]

    def _appended(self, lists: list[Any], index: Any) -> list[Any]:
        """The arrays in what is appended; also notes what else there is."""
        ys: list[Any] = []
        self.appended = []
        for growing in lists:
            new, tree = flatten(growing.new)
            if len(growing.new) != growing.grown.count:
                raise TracingError("the iterations of a loop append differently many items")
            kinds: list[Any] = []
            for x in new:
                if isinstance(x, TracedArray) and x.weak:
                    line = line_through(self.trace, x.value, index.value)
                    if line is None:
                        raise TracingError("a number of Python's would no longer be known")
                    kinds.append(Line(*line))
                elif isinstance(x, ARRAYS):
                    kinds.append(Row(len(ys), isinstance(x, Tensor)))
                    ys.append(x)
                elif type(x) in ATOMS or isinstance(x, np.generic) or self._was_there(x):
                    kinds.append(x)
                else:
                    raise TracingError(f"the body of a loop makes a {type(x).__name__}")
            self.appended.append((tree, kinds))
        return ys

    def _was_there(self, x: Any) -> bool:
        """Whether an object is none that an iteration makes."""
        return id(x) in self.around.held or self.world.is_outside(x)

    # ---- memory ---------------------------------------------------------------------------------

    def _holes(self) -> Holes:
        """What stands in place of arrays that an iteration writes: other names for them lead to
        what they hold before the loop, which is no longer so.
        """
        arrays = [self.leaves[k] for k in self.writes.in_place]
        return Holes(self.trace, [s for x in arrays if (s := storage_of(x)) is not None])

    def _check_memory(self, parts: list[Any], row: list[Any], news: Any, ys: Any) -> None:
        """What is written in place is written where the state lies, by no other name; and what
        else is one memory in the body.
        """
        ins, rows = list(map(storage_of, parts)), list(map(storage_of, row))
        outs = [storage_of(x) for x in (*news, *ys)]
        if any(s is not None and s.writes for s in rows):
            raise TracingError("the body of a loop writes into the rows that it goes through")
        written = set()
        self.unchanged, self.shared = set(), []
        start = self.trace.scopes[-1].start
        for m, k in enumerate(self.moving):
            stays = ins[m] is not None and outs[m] is ins[m] and _is_whole(news[m], parts[m])
            if ins[m] is not None and ins[m].writes:  # type: ignore[union-attr]
                if not stays or outs.count(ins[m]) > 1 or not _can_be_written(self.leaves[k]):
                    raise TracingError("the body of a loop writes into an array of another name")
                written.add(k)
            elif stays:
                self.unchanged.add(k)
        for m, s in enumerate(outs):
            k = self.moving[m] if m < len(news) else -1
            if s is None or k in self.unchanged or k in written:
                continue
            if s in rows or s in ins or outs.count(s) > 1 or s.born < start:
                self.shared.append((k, m - len(news), s))
        if written - self.writes.in_place:
            self.writes.in_place |= written
            raise Learned

    def _keep_apart(self, finals: dict[int, Any], ys: list[Any], rows: list[Any]) -> None:
        """Eagerly these are one memory: who writes there has all iterations traced."""
        if not self.shared:
            return
        refuse = functools.partial(_stop, self.world, Unrolled(self.site, self.loop.most))
        arrays = [finals[k] if k >= 0 else ys[m] for k, m, _ in self.shared]
        storages = [storage_of(x) for x in (*arrays, *rows, *self.leaves)]
        for s in (*storages, *(s for _, _, s in self.shared)):
            if s is not None:
                self.trace.apart[s] = refuse


def _stop(world: Any, broken: Unrolled) -> BaseException:
    world.broken = broken
    return broken


class Holes:
    """Arrays that hold what is not there: no statement may read it."""

    def __init__(self, trace: Any, storages: list[Storage]) -> None:
        self.trace = trace
        self.storages = storages

    def __enter__(self) -> Holes:
        self.values = [s.value for s in self.storages]
        self.holes = [Value(v.shape, v.dtype, v.weak) for v in self.values]
        self._fill(self.holes)
        return self

    def __exit__(self, *error: object) -> None:
        self._fill(self.values)

    def _fill(self, values: list[Value]) -> None:
        for s, value in zip(self.storages, values, strict=True):
            hold(s, value)

    def check(self, results: list[Any]) -> None:
        read = {v for x in results if (s := storage_of(x)) is not None for v in [s.value]}
        for s in self.trace.program.statements:
            read.update(values_in((s.args, s.kwargs)))
        if not read.isdisjoint(self.holes):
            raise TracingError("the body of a loop reads an array that it writes by another name")


def storage_of(x: Any) -> Storage | None:
    """Where the elements of an array of the trace lie; None for numbers, and for other arrays."""
    array = traced_in(x)
    return None if array is None or array.scalar else array.storage


def containers_in(x: Any) -> Iterator[Any]:
    """The containers in a tree that can be changed."""
    known = opened(x)
    named = named_parts(x) if known is None else None
    parts: Any = x if isinstance(x, list | tuple) else () if known is None else known[1]
    parts = parts if named is None else named.values()
    if not isinstance(x, tuple) and (known is not None or named is not None or type(x) is list):
        yield x
    for part in parts:
        yield from containers_in(part)


def _is_whole(new: Any, part: Any) -> bool:
    return not any(
        getattr(x._array if isinstance(x, Tensor) else x, "path", ()) for x in (new, part)
    )


def _can_be_written(x: Any) -> bool:
    return isinstance(x, Tensor | TracedArray) and storage_of(x) is not None


def _write(x: Any, final: Any) -> None:
    if isinstance(x, Tensor):
        x.copy_(final)
    else:
        x[...] = final


def _tail(grown: Grown) -> list[Any]:
    """The last items of a list, as many as are read."""
    if grown.tail > len(grown.items):
        raise StateError("a list of a loop has too few items before it")
    return grown.items[len(grown.items) - grown.tail :]


def _rebind(frame: FrameType, variables: dict[str, Any]) -> None:
    """Change variables of a function that is running."""
    frame.f_locals.update(variables)
    if sys.version_info < (3, 13):  # there f_locals is a copy
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))
