"""What an iteration of a Python loop writes, beside its variables, as part of the loop's state.

    self.h = cell(row, self.h)     a place: what it holds goes from one iteration to the next
    outs.append(self.h)            a list that grows: what is appended is a row of the results,
                                   and the last that it holds (outs[-1], outs[t]) is carried
    n += 1                         a count: known from the number of the iteration
    h += row                       an array: it is written once, after the loop

Which ones there are is not asked of the code. What a body can reach is compared with what it was
before an iteration (`Reached`), and of what is outside the trace was told. While the body is traced
a list that grows is another one (`Growing`), which has no length and only its last items.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import BuiltinMethodType, CellType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from wengert.arrays.batched.array import BatchedArray
from wengert.compile.program.program import Value
from wengert.compile.trace.arrays.array import Trace, TracedArray
from wengert.compile.trace.observe.events import MISSING
from wengert.compile.trace.observe.objects import ATOMS, CONTAINERS, contents, held_in, same
from wengert.compile.trace.world.places import Attribute, Element, Item, Variable, key_of
from wengert.errors import TracingError
from wengert.functions.joining import unbind
from wengert.tensor import Tensor

MOST = 10_000
"""A body that can reach more objects than so many is not looked at."""

ARRAYS = (Tensor, TracedArray, BatchedArray, np.ndarray)
_LEAVES = (*ARRAYS, np.generic, np.dtype, ModuleType, np.ufunc)


class Learned(Exception):
    """More is known now of what an iteration writes: the body is to be traced again."""


# ---- what a body can reach ----------------------------------------------------------------------


class Reached:
    """What a body can reach and change without the trace being told, and what all of that holds.

    Of what is from outside the trace is told, and of arrays that a body writes to.
    """

    def __init__(self, world: Any, roots: list[Any]) -> None:
        self.held: dict[int, tuple[Any, list[tuple[Any, Any]]]] = {}
        pending = [*roots, *(place.read(()) for place, _ in world.written_places.values())]
        while pending:
            x = pending.pop()
            if id(x) in self.held or world.is_outside(x) or isinstance(x, _LEAVES):
                continue
            if type(x) in ATOMS or x is MISSING:
                continue
            inside = _parts(x)
            if inside is None or len(self.held) == MOST:
                raise TracingError(f"the body of a loop could change a {type(x).__name__}")
            self.held[id(x)] = x, inside
            pending += [part for _, part in inside]

    def changes(self) -> Iterator[Part | Grown | Exception]:
        """The places that hold something else now, and the lists that have grown."""
        for x, before in self.held.values():
            now = _parts(x)
            if now is None:
                yield _changes(x)
                continue
            pairs = list(zip(now, before, strict=False))
            differ = [(a, b) for a, b in pairs if not (a[1] is b[1] or same(a[1], b[1]))]
            if len(now) == len(before):
                for (place, _), (_, held) in differ:
                    yield _changes(x) if place is None else Part(place, held)
            elif type(x) is list and len(now) > len(before) and not differ:
                yield Grown(x, len(now) - len(before))
            else:
                yield _changes(x)

    def holders(self, items: list[Any]) -> list[Any]:
        """The places that hold a list."""
        places = [place for _, held in self.held.values() for place, part in held if part is items]
        if None in places:
            raise TracingError("a list that grows is held where it cannot be replaced")
        return places


def _changes(x: Any) -> TracingError:
    return TracingError(f"the body of a loop changes a {type(x).__name__}")


def _parts(x: Any) -> list[tuple[Any, Any]] | None:
    """All that an object holds, and the place of each if it can be written; None if that cannot be
    seen.
    """
    kind = type(x)
    if kind is Growing:
        return [(Attribute(x, name), getattr(x, name)) for name in ("tail", "new")]
    if kind is dict:
        return [*((None, key) for key in x), *((Item(x, key), v) for key, v in x.items())]
    if kind is list:
        return [(Element(x, k), v) for k, v in enumerate(x)]
    if isinstance(x, CONTAINERS):
        named = vars(x).values() if hasattr(x, "__dict__") else ()
        return [(None, part) for part in (*contents(x), *named)]
    if isinstance(x, CellType):
        return [(Variable(x), held_in(x))]
    if isinstance(x, FunctionType):
        kept = (*(x.__kwdefaults__ or {}).values(), *vars(x).values())
        return [(None, v) for v in (*(x.__closure__ or ()), *(x.__defaults__ or ()), *kept)]
    if isinstance(x, MethodType):
        return [(None, x.__self__), (None, x.__func__)]
    if isinstance(x, BuiltinMethodType):
        return [(None, x.__self__)]
    if isinstance(x, functools.partial):
        return [(None, v) for v in (x.func, *x.args, *x.keywords.values())]
    if isinstance(x, type):
        return [(None, v) for v in vars(x).values() if isinstance(v, CONTAINERS)]
    own = getattr(x, "__dict__", None)
    if own is None or any("__slots__" in vars(cls) for cls in kind.__mro__):
        return None
    return _parts(own)


# ---- lists that grow ----------------------------------------------------------------------------


@dataclass(eq=False)
class Grown:
    """A list that each iteration appends `count` items to, of which the last `tail` are read."""

    items: list[Any]
    count: int
    tail: int = 0


class Growing(list[Any]):
    """Stands for a list that grows, in the body: `tail` are the last items before an iteration.

    It holds nothing itself, for what past its methods would look into it.
    """

    def __init__(self, grown: Grown, length: int, tail: list[Any], position: Any) -> None:
        super().__init__()
        self.grown = grown
        self.length = length  # of the list before the loop
        self.tail = tail
        self.position = position
        self.new: list[Any] = []

    def append(self, x: Any) -> None:
        self.new.append(x)

    def extend(self, xs: Any) -> None:
        self.new.extend(xs)

    def __iadd__(self, xs: Any) -> Any:  # type: ignore[misc]
        self.new.extend(xs)
        return self

    def __getitem__(self, key: Any) -> Any:
        if type(key) is TracedArray:
            key = self.position(self, key)
        elif type(key) is int and 0 <= key < self.length:
            return self.grown.items[key]
        if type(key) is not int or key >= 0:
            raise _asked(self)
        known = [*self.tail, *self.new]
        if -key > len(known):
            self.grown.tail = -key - len(self.new)
            raise Learned
        return known[key]


def _asked(self: Any, *args: Any, **named: Any) -> Any:
    raise TracingError("the body of a loop asks a list for more than its last items")


_KEPT = {"__new__", "__class__", "__getattribute__", "__setattr__", "__init_subclass__"}
for _name in dir(list):
    if _name not in Growing.__dict__ and _name not in _KEPT:
        setattr(Growing, _name, _asked)
for _name in ("__radd__", "__rmul__", "__copy__", "__deepcopy__"):
    setattr(Growing, _name, _asked)


# ---- all of it ----------------------------------------------------------------------------------


@dataclass(eq=False)
class Part:
    """A place that an iteration writes, and what is there before the loop; one `outside` is told of
    what is written there after it."""

    place: Any
    before: Any
    outside: bool = False


@dataclass
class Writes:
    """What an iteration writes; more of it is learned as the body is traced."""

    parts: list[Part] = field(default_factory=list)
    lists: list[Grown] = field(default_factory=list)
    objects: set[str] = field(default_factory=set)
    """Variables that keep their container, which is changed."""
    counts: dict[int, int] = field(default_factory=dict)
    """By the number of a leaf of the state: by how much the int is more in each iteration."""
    in_place: set[int] = field(default_factory=set)
    """The numbers of leaves that are arrays which are written."""

    def learn(self, changes: Any) -> bool:
        """Take note of changes; whether one was not known. Then leaves have other numbers."""
        known = {key_of(part.place) for part in self.parts} | {id(g.items) for g in self.lists}
        news = False
        for change in changes:
            is_list = type(change) is Grown
            if (id(change.items) if is_list else key_of(change.place)) not in known:
                (self.lists if is_list else self.parts).append(change)
                known.add(id(change.items) if is_list else key_of(change.place))
                news = True
        if news:
            self.counts, self.in_place = {}, set()
        return news


def rows_of(array: Any) -> list[Any]:
    """The rows of an array, as an iteration made each."""
    if isinstance(array, Tensor):
        return list(unbind(array))
    rows = [array[k, ...] for k in range(array.shape[0])]
    for row in rows:
        if type(row) is TracedArray:
            row.single = not row.ndim
    return rows


# ---- numbers of iterations ----------------------------------------------------------------------


def line_through(trace: Trace, value: Any, index: Value) -> tuple[int, int] | None:
    """(a, b) if an int is a * index + b, for the number of the iteration; else None."""
    if type(value) is not Value:
        return (0, value) if type(value) is int else None
    if value is index:
        return 1, 0
    makers = {s.outputs[0]: s for s in trace.program.statements if s.outputs}
    s = makers.get(value)
    if s is None or s.function not in _LINES or not value.weak:
        return None
    parts = [line_through(trace, x, index) for x in s.args]
    if None in parts:
        return None
    (a, b), (c, d) = parts  # type: ignore[misc]
    if s.function is np.multiply:
        return (a * d + b * c, b * d) if not a * c else None
    return (a + c, b + d) if s.function is np.add else (a - c, b - d)


_LINES = (np.add, np.subtract, np.multiply)
