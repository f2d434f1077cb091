"""What is outside, how it was reached, and what was read and written of it."""

from __future__ import annotations

import functools
from types import BuiltinMethodType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from wengert.arrays.memory import storage
from wengert.compile.trace.observe.events import MISSING, Origin, Read, Unobserved, Write
from wengert.compile.trace.observe.given import Done
from wengert.compile.trace.observe.objects import (
    ATOMS,
    CONTAINERS,
    contents,
    dictionary_behind,
    labels_of,
    name_of,
    own_attribute,
    receiver,
    same,
    written_with,
)
from wengert.compile.trace.observe.users import is_library, is_of_user


class Outside:
    """The objects that were there before, and places in them.

    Reads name the object that was read, and need no path: the read that led to the object was told
    before.
    """

    def __init__(self) -> None:
        self.origins: dict[int, Origin] = {}  # of what is outside, by id; holds the objects
        self.values: dict[Any, tuple[Any, Any]] = {}  # by place: what is there, and what is seen
        self.written: set[Any] = set()  # places
        self.before: dict[int, tuple[Any, ...]] = {}  # contents of containers that were changed
        self.put: dict[int, Any] = {}  # what the program has made and written outside
        self.changed: set[int] = set()  # what the program has written in, by id
        self.reordered: set[int] = set()  # containers changed otherwise than item by item
        self.gone_through: set[int] = set()
        self.methods: dict[tuple[type, str], Any] = {}
        self.classes: dict[int, type] = {}  # that the program has made
        self.used: dict[int, type] = {}  # that a library was given
        self.codes: dict[int, tuple[CodeType, bool]] = {}  # whether a user's
        self.behind: dict[int, tuple[Any, int]] = {}  # where functions were looked for
        self.lent: dict[int, Any] = {}  # functions that are stubs for this
        self.quiet: dict[int, CodeType] = {}  # what may run unobserved
        self.deaf = 0
        """How many calls are under way in which nobody is told of others."""
        self.answering = False  # while Python tells of a call
        self.importing: Any = None
        self.interrupting: Any = None  # the frame of what came meanwhile
        self.explained: list[BaseException] = []
        """Errors whose cause was seen: the program raises them, or asked for what is not there."""
        self.library: Any = None  # the frame of a library's function that the user's code calls
        self.stood: Any = None
        self.calling: Any = None  # the frame whose call is being looked at
        self.is_statement = False  # whether nobody looks at what that returns
        self.is_tried = False  # and whether an error of it may be caught
        self.telling = False  # while a subclass is told, what runs is its own

    def on_read(self, read: Read) -> Any:
        """What the program is to see: the value itself, or what stands for it."""
        return read.value

    def before_write(self, kind: str, owner: Any) -> None:
        """The program is about to write an attribute or an item of an object from outside."""

    def on_write(self, write: Write) -> None:
        pass

    def done(self) -> Done:
        """What the program has done so far."""
        return Done(0, 0, 0, 0)

    def on_change(self, container: Any, held: tuple[Any, ...]) -> None:
        """The program itself has changed a container outside, which held this."""

    def on_unobserved(self, ran: Unobserved) -> None:
        pass

    def standing_now(self) -> Any:
        """What stands where the program has written, before garbage is collected."""

    def came(self, what: str, stood: Any) -> None:
        """Garbage was collected, or a signal came, and anything was called; what stood before."""

    def interrupts(self, code: CodeType) -> bool:
        """Whether code runs at any time, and is none of the program's: nobody is told until
        `resumes`."""
        return False

    def resumes(self) -> None:
        pass

    def explain(self, error: BaseException) -> None:
        self.explained.append(error)

    def is_explained(self, error: BaseException) -> bool:
        return any(known is error for known in self.explained)

    def reached(self, value: Any) -> None:
        """An object is met that is from outside."""

    def lent_out(self, container: Any) -> None:
        """A library is given a method of a container outside, which it may call at any time."""

    def is_known(self, owner: Any, name: Any = None) -> bool:
        """Whether the subclass knows itself what happens to an object, or to this attribute."""
        return False

    def had_by_class(self, cls: type, name: str) -> None:
        """An object has something by its class, which is no user's."""

    def class_used(self, cls: type) -> None:
        """A library has a class of the user's, or an object of it, and may ask it for anything."""

    def class_made(self, cls: type) -> None:
        """The program has made a class, of which it may have used something before it was done."""

    def _use_class(self, value: Any) -> None:
        while type(value) in FUNCTIONS[1:]:
            value = value.__self__ if type(value) is MethodType else value.func
        cls = value if issubclass(type(value), type) else type(value)
        if id(cls) not in self.used and id(cls) not in self.classes:
            self.used[id(cls)] = cls
            if is_of_user(cls):
                self._tell(self.class_used, cls)

    def kept_attribute(self, owner: Any, name: str) -> Any:
        """An attribute's value, if the object itself keeps it."""
        return own_attribute(owner, name)

    def shadow(self, value: Any, depth: int = 1) -> Any:
        """What a library gets, or what is gone through, in the place of a container outside, and to
        this depth of those in it.
        """
        return value

    def behind_shadow(self, value: Any) -> Any:
        """The container in whose place a library got this, which it has returned."""
        return value

    def depth_for(self, callee: Any, args: tuple[Any, ...]) -> int:
        """How deep a library looks into containers; what it may pass on it gets as it is, because
        the program may write there.
        """
        return 0

    def words(self, value: Any) -> str:
        """How an object was reached, as in `self.layers[2].weight`."""
        origin = self.origins.get(id(value))
        if origin is None:
            return f"a {type(value).__name__}"
        steps = [origin.step]
        while origin is not None and origin.parent is not None:
            origin = self.origins.get(id(origin.parent))
            steps.append("" if origin is None else origin.step)
        return "".join(reversed(steps)).removeprefix(".")

    def is_outside(self, value: Any) -> bool:
        if id(value) in self.origins:
            return True
        return type(value) is super and id(receiver(value)) in self.origins

    def around(self, array: Any) -> Any:
        """The array from outside in whose memory another object's elements lie."""
        if not isinstance(array, np.ndarray) or array.base is None:
            return None
        memory = storage(array)
        arrays = (o.value for o in self.origins.values() if isinstance(o.value, np.ndarray))
        return next((x for x in arrays if storage(x) is memory), None)

    def _tell(self, handler: Any, *event: Any) -> Any:
        """Run what is no part of the observed program."""
        outer, self.telling = self.telling, True
        try:
            return handler(*event)
        finally:
            self.telling = outer

    def _reach(self, value: Any, parent: Any, step: str) -> None:
        """Remember that a value is outside, and how it was reached."""
        if type(value) in ATOMS or id(value) in self.origins or id(value) in self.put:
            return
        self.origins[id(value)] = Origin(value, parent, step)
        self._tell(self.reached, value)
        if isinstance(value, MethodType | BuiltinMethodType):
            around = value.__self__
            if around is not None and not isinstance(around, ModuleType):
                self._reach(around, parent, step)
            if isinstance(value, MethodType):
                self._reach(value.__func__, value.__self__, f".{name_of(value)}")

    def _read(self, kind: str, owner: Any, key: Any, value: Any, step: str) -> Any:
        """Tell of a read, once for each place; and what the program sees there."""
        place = place_of(kind, owner, key)
        if place is not None:
            known = self.values.get(place)
            if known is not None and same(known[0], value):
                return known[1]
            if place in self.written:
                return value
        seen = self._tell(self.on_read, Read(kind, owner, key, value))
        self._reach(value, owner, step)
        self._reach(seen, owner, step)
        if place is not None:
            self.values[place] = value, seen
        return seen

    def _read_attribute(self, owner: Any, name: str, value: Any) -> Any:
        if self.is_known(owner, name):
            self._tell(self.had_by_class, type(owner), name)
            return value
        if not self.is_outside(owner):
            return self.made_inside(owner, name, value)
        if type(owner) is ModuleType and name in vars(owner):
            return self._read("global", vars(owner), name, value, f"{name_of(owner)}.{name}")
        return self._read("attribute", owner, name, value, f".{name}")

    def made_inside(self, owner: Any, name: str, value: Any) -> Any:
        """An attribute of an object that the program has made; what is seen there."""
        return value

    def _read_contents(self, container: Any) -> None:
        """All of a container was read: what it held before the program changed it."""
        if id(container) in self.gone_through:
            return
        self.gone_through.add(id(container))
        held = self.held_before(container)
        self._tell(self.on_read, Read("contents", container, None, held))
        labels = labels_of(container, held)
        for value, label in zip(held, labels, strict=True):
            self._reach(value, container, label)

    def held_before(self, container: Any) -> tuple[Any, ...]:
        """What a container held before the program changed it."""
        held = self.before.get(id(container))
        return contents(container) if held is None else held

    def _given(self, value: Any, callee: Any) -> None:
        """A library got a value, which may be read to its depth."""
        waiting, within = [value], set[int]()
        while waiting:
            value = waiting.pop()
            if type(value) in ATOMS:
                continue
            outside = id(value) in self.origins
            self._use_class(value)
            if isinstance(value, CONTAINERS):
                if id(value) not in (self.gone_through if outside else within):
                    waiting += contents(value)
                    if outside:
                        self._read_contents(value)
                    else:
                        within.add(id(value))
            elif isinstance(value, functools.partial):
                for name in ("func", "args", "keywords"):
                    part = getattr(value, name)
                    waiting.append(part)
                    if outside:
                        self._reach(part, value, f".{name}")
            elif isinstance(value, BuiltinMethodType) and isinstance(value.__self__, CONTAINERS):
                if id(value.__self__) in self.origins:
                    self._read_contents(value.__self__)
                    self._tell(self.lent_out, value.__self__)
            elif isinstance(value, ModuleType):
                if outside and not is_library(vars(value)):
                    self._read_contents(self._read_attribute(value, "__dict__", vars(value)))
            elif outside and not (
                isinstance(value, (type, BuiltinMethodType, *FUNCTIONS)) or self.is_known(value)
            ):
                self._read("call", value, callee, MISSING, "")

    def _wrote(self, kind: str, owner: Any, key: Any, before: Any, after: Any) -> None:
        place = place_of(kind, owner, key)
        if place is not None:
            self.values.pop(place, None)
            self.written.add(place)
        if type(after) not in ATOMS and id(after) not in self.origins:
            self.put[id(after)] = after
        self.changed |= written_with(owner)
        self._tell(self.on_write, Write(kind, owner, key, before, after))

    def _changed(self, container: Any, before: tuple[Any, ...]) -> None:
        self._keep_before(container, before)
        self.reordered.add(id(container))

    def _keep_before(self, container: Any, held: tuple[Any, ...]) -> None:
        """The program has changed a container that held this."""
        self.changed.add(id(container))
        if id(container) not in self.before:
            self.before[id(container)] = self.as_before(container, held)
        self._tell(self.on_change, container, held)

    def as_before(self, container: Any, held: tuple[Any, ...]) -> tuple[Any, ...]:
        """What a container, which holds this, held before the program wrote attributes there."""
        return held


FUNCTIONS = (FunctionType, MethodType, functools.partial)


def place_of(kind: str, owner: Any, key: Any) -> Any:
    """What identifies a place to read or write; None if nothing does. 1 is not True here."""
    if type(owner) is super:
        return kind, id(receiver(owner)), receiver(owner, "__thisclass__"), key
    own = dictionary_behind(owner) if kind == "attribute" else None
    if own is not None and key in own:  # an item of that, by whichever name it is read
        kind, owner = "item", own
    if isinstance(owner, list) and type(key) is int and key < 0:
        key += list.__len__(owner)
    if type(key) in ATOMS and type(key) is not slice:
        return kind, id(owner), type(key), key
    return None
