"""What one trace reads outside: each read becomes an input of the program, or a guard."""

from __future__ import annotations

import builtins
import functools
import io
import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from types import FunctionType, MappingProxyType, ModuleType
from typing import Any

import numpy as np

from wengert.compile.trace.arrays.array import TracedArray
from wengert.compile.trace.observe import Read
from wengert.compile.trace.observe.objects import (
    ATOMS,
    CHANGEABLE,
    CONTAINERS,
    UNCHANGEABLE,
    behind,
    contents,
    dictionary_behind,
    dictionary_of,
    fill,
    name_of,
    own_attribute,
    own_dictionary,
    receiver,
    same,
    static,
)
from wengert.compile.trace.observe.users import is_library, is_of_user, is_users_class
from wengert.compile.trace.world import watch
from wengert.compile.trace.world.conditions import home_of
from wengert.compile.trace.world.inputs import Inputs, Passed
from wengert.compile.trace.world.iterating import Iterating
from wengert.compile.trace.world.outside import Outside
from wengert.compile.trace.world.places import (
    MISSING,
    Attribute,
    Class,
    Code,
    Contents,
    Element,
    Guard,
    Item,
    Known,
    Length,
    Named,
    Place,
    Presence,
    State,
    Variable,
    is_number,
    key_of,
)
from wengert.compile.trace.world.readings import is_fetched, is_ours
from wengert.compile.trace.world.settings import OF_A_STEP
from wengert.compile.trace.world.state import (
    WEAK,
    attributes,
    held_by,
    holds_weakly,
    is_attributes,
    is_itself,
    members,
)
from wengert.errors import TracingError
from wengert.history.location import here, line_of
from wengert.history.surroundings import SETTINGS
from wengert.tensor import Tensor


@dataclass(slots=True)
class LibraryRead:
    """What the library may change of something outside: what it holds as the function has left it,
    what puts back what it held before, what it is in words, and the user's line.
    """

    place: Contents | State
    held: Any
    undo: list[Callable[[], Any]]
    words: str
    line: Any


def _in_dictionary(owner: Any, name: str) -> Item:
    return Item(vars(owner), name)


_TOLD: dict[str, tuple[Callable[..., Place], Any]] = {
    "has": (Presence, ()),
    "own": (_in_dictionary, ()),
    "length": (lambda owner, _: Length(owner), UNCHANGEABLE),
    "class": (lambda owner, _: Class(owner), type),
}
"""By kind of read, where that is a condition as it stands: the place, and of whose it is none."""


class Reads(Iterating):
    """The reads of one trace. `varying` has the places whose values are inputs."""

    inputs: Inputs
    passed: Passed
    outside: Outside
    varying: Mapping[Any, Place]

    def __init__(self) -> None:
        super().__init__()
        self.written_places: dict[Any, tuple[Place, Any]] = {}
        """By place: what was there before the trace."""
        self.library_read: dict[Any, LibraryRead] = {}
        """Containers that were gone through, and objects of the library that were used."""
        self.had: set[tuple[type, str]] = set()  # what classes have that is a condition
        self.hiding: set[tuple[type, str]] = set()  # what their objects have themselves

    def reached(self, value: Any) -> None:
        """An object is what it is by its class, and may be given another one."""
        super().reached(value)
        if is_users_class(type(value)):
            self.conditions.note(Guard(Class(value), type(value)))

    def on_read(self, read: Read) -> Any:
        self.check_acted(read.owner)
        if isinstance(read.owner, Tensor) and read.owner in self.passed.stand_ins:
            return read.value  # the condition is what is told of the tensor that this stands for
        if read.kind in _TOLD:
            place, but = _TOLD[read.kind]
            if not isinstance(read.owner, but):
                self.conditions.note(Guard(place(read.owner, read.key), read.value))
            return read.value
        return getattr(self, f"_read_{read.kind}_at")(read.owner, read.key, read.value)

    def _read_global_at(self, namespace: dict[str, Any], name: str, value: Any) -> Any:
        if is_library(namespace):
            if name in namespace:
                self.conditions.note(Guard(Item(namespace, name), value))
            return value
        if name not in namespace:  # a builtin
            self.conditions.note(Guard(Item(namespace, name), MISSING))
            self.conditions.note(Guard(Item(vars(builtins), name), value))
            return value
        return self._seen(Item(namespace, name), value)

    def _read_cell_at(self, cell: Any, name: str, value: Any) -> Any:
        return self._seen(Variable(cell), value)

    def _read_attribute_at(self, owner: Any, name: str, value: Any) -> Any:
        if type(owner) in WEAK:
            self.check_held(owner)
        if isinstance(owner, super):
            return self._past(owner, name, value)
        home = home_of(owner, name)
        if home is not None:
            self._comes_first(owner, name)
            return self._seen(Item(home, name), value)
        if name == "__dict__" and value is own_dictionary(owner):
            return self._seen(Attribute(owner, name), value)
        if isinstance(owner, type | FunctionType) or own_attribute(owner, name) is not MISSING:
            if isinstance(owner, type) and not Guard(Attribute(owner, name), value).holds():
                self.had_by_class(owner, name)
                return value
            return value if is_library_class(owner) else self._seen(Attribute(owner, name), value)
        self._through_class(owner, type(owner), name)
        if is_computed(owner, name):
            self._use_class(owner)
            place = Attribute(owner, name)
            if type(value) in ATOMS and not is_itself(owner):
                self.conditions.note(Guard(place, value))
            else:
                self._note_held(owner)
                if Guard(place, value).holds():  # C keeps what pickle is not told, as a __cause__
                    return self._seen(place, value)
        return self._inside(value)

    def _comes_first(self, owner: Any, name: str) -> None:
        """What an object has itself comes first, unless its class gets a property of that name."""
        cls = type(owner)
        if not is_users_class(cls):
            return
        self.conditions.note(Guard(Class(owner), cls))
        if (cls, name) in self.hiding:
            return
        self.hiding.add((cls, name))
        self._note_order(cls)
        for base in filter(is_of_user, cls.__mro__):
            if not self._has_written(base, name):
                names = dictionary_of(base)
                self.conditions.note(Guard(Item(names, name), names.get(name, MISSING)))

    def _through_class(self, owner: Any, cls: type, name: str) -> None:
        """An attribute that an object does not have itself: its class has it."""
        own = getattr(owner, "__dict__", None)
        if type(own) is dict:
            self.conditions.note(Guard(Item(own, name), MISSING))
        if not isinstance(owner, ModuleType):
            self.conditions.note(Guard(Class(owner), type(owner)))
            self.had_by_class(cls, name)

    def had_by_class(self, cls: type, name: str) -> None:
        """What a class has, as it gives it; past that where it gives something new each time."""
        if (cls, name) in self.had:
            return
        self.had.add((cls, name))
        written = [base for base in cls.__mro__ if self._has_written(base, name)]
        member = static(cls, name)
        acts = member is None or is_of_user(type(member))  # by code of the user's
        if is_users_class(cls) and not written and not acts:
            given = Guard(Attribute(cls, name), getattr(cls, name, MISSING))
            if given.holds():
                self.conditions.note(given)
                return
        self._note_order(cls)
        for base in cls.__mro__:
            if base.__module__ in _FIXED:
                break
            names = dictionary_of(base)
            value = names.get(name, MISSING)
            if watch.stands_in(value):
                break
            if base not in written:
                self.conditions.note(Guard(Item(names, name), value))
            if value is not MISSING:
                break

    def _note_order(self, cls: type) -> None:
        """The user's classes may be given other bases."""
        if is_of_user(cls):
            self.conditions.note(Guard(Attribute(cls, "__mro__"), cls.__mro__))

    def _has_written(self, owner: Any, name: str) -> bool:
        return key_of(Attribute(owner, name)) in self.written_places

    def class_used(self, cls: type) -> None:
        """Nobody sees what a library asks of a class. It may ask for what the class has that acts,
        for what its own classes have by the same name, and for what was not there.
        """
        theirs = [vars(base) for base in cls.__mro__ if not is_of_user(base)]
        self.conditions.note(Guard(Attribute(cls, "__mro__"), cls.__mro__))
        for base in filter(is_of_user, cls.__mro__):
            names = dictionary_of(base)
            self.conditions.note(Guard(Length(names), len(names)))
            for name, value in names.items():
                if hasattr(type(value), "__get__") or any(name in their for their in theirs):
                    self.conditions.note(Guard(Item(names, name), value))

    def class_made(self, cls: type) -> None:
        self.conditions.forget(dictionary_of(cls))

    def _past(self, around: Any, name: str, value: Any) -> Any:
        """An attribute that `super()` finds: that of the classes after this one."""
        self._note_order(receiver(around, "__self_class__"))
        for cls in behind(around):
            self._through_class(around.__self__, cls, name)
            if name in vars(cls):
                break
        return value

    def _read_item_at(self, owner: Any, key: Any, value: Any) -> Any:
        if isinstance(owner, dict):
            return self._seen(Item(owner, key), value)
        if isinstance(owner, list):
            return self._seen(self._element(owner, key), value)
        if isinstance(owner, tuple):
            return self._inside(value)
        if type(value) not in ATOMS:
            self.check_held(owner)
        if self._read_behind(owner) is None:
            self._note_held(owner)
        return self._inside(value)

    def _read_behind(self, owner: Any) -> dict[Any, Any] | None:
        """Where a library's mapping keeps its items, as os.environ does: all of that is read."""
        own = own_dictionary(owner)
        if own is None or not isinstance(owner, Mapping) or isinstance(owner, dict):
            return None
        for name in ("_data", "data"):
            kept = own.get(name)
            if type(kept) is dict:
                self.conditions.note(Guard(Item(own, name), kept))
                self._note_contents(kept)
                return kept
        return None

    def _element(self, owner: list[Any], key: int) -> Element:
        """An item of a list; one that is counted from the end is another one in a longer list."""
        if key < 0:
            self.conditions.note(Guard(Length(owner), len(self.held_before(owner))))
        return Element(owner, range(list.__len__(owner))[key])

    def _read_lacks_at(self, owner: Any, name: str, value: Any) -> Any:
        self.conditions.note(Guard(Named(owner, name), value))
        if id(owner) in self.changed:
            self._through_class(owner, type(owner), name)
        return value

    def _read_kept_at(self, owner: Any, key: Any, before: Any) -> Any:
        """Whether there is what the function deletes, whatever it is."""
        home = owner if isinstance(owner, dict) else home_of(owner, key) or dictionary_behind(owner)
        place = Attribute(owner, key) if home is None else Item(home, key)
        self.conditions.note(Guard(place, MISSING, before is MISSING))
        return before

    def _read_contents_at(self, owner: Any, key: Any, held: Any) -> Any:
        if not isinstance(owner, UNCHANGEABLE) and TracedArray not in map(type, held):
            self._note_whole(owner)
        return held

    def _read_code_at(self, function: Any, key: Any, value: Any) -> Any:
        return self._seen(Code(function), value)

    def _read_default_at(self, function: Any, name: str, value: Any) -> Any:
        self.conditions.note(Guard(Attribute(function, "__defaults__"), function.__defaults__))
        named = function.__kwdefaults__
        self.conditions.note(Guard(Attribute(function, "__kwdefaults__"), named))
        if named and name in named:
            return self._seen(Item(named, name), value)
        return self._inside(value)

    def _read_call_at(self, owner: Any, callee: Any, value: Any) -> Any:
        """A library's callable was given an object, and may have read anything of it."""
        kept = self._read_behind(owner)
        if kept is not None:
            self._note_library_read(Contents(kept), str(State(owner)))
        elif isinstance(owner, ContextVar) and name_of(callee) == "get":
            pass  # its answer is a condition, and asking changes nothing
        elif isinstance(owner, Iterator) and not isinstance(owner, io.IOBase):
            self.refuse(f"a {type(owner).__name__} from outside is gone through")
        elif isinstance(owner, (*SETTINGS,)) and name_of(callee) in OF_A_STEP:
            pass  # the library tells what it goes by, and a step of the user's own is observed
        elif is_users_class(type(owner)):
            self._note_state(owner, set())
            if not is_attributes(owner) and not isinstance(owner, CONTAINERS):
                self._note_held(owner)  # a class of the user's may be one in C, as of ctypes
        else:
            self._note_held(owner)
        return value

    def check_held(self, owner: Any) -> None:
        if type(owner) not in ATOMS and holds_weakly(owner):
            self.refuse(f"a {type(owner).__name__}, which holds weakly, is asked for an object")

    def _note_held(self, owner: Any) -> None:
        """An object of a library, of which anything may have been asked."""
        if is_itself(owner) or type(owner) is TracedArray:
            return
        if is_where_texts_go(owner):
            own = getattr(owner, "__dict__", {})
            for name, value in own.items():
                if type(value) in ATOMS:
                    self.conditions.note(Guard(Item(own, name), value))
            return
        if isinstance(owner, CONTAINERS):
            self._note_contents(owner)
            return
        place = State(owner)
        if key_of(place) not in self.library_read and place.read(()) is None:
            self.refuse(f"a {type(owner).__name__} from outside is asked something")
        self._note_library_read(place)
        self._guard_held(owner, set())

    def _guard_held(self, x: Any, known: set[int]) -> None:
        """What an object held before the call must be there: each attribute by itself, quickly."""
        if is_itself(x) or id(x) in known:
            return
        known.add(id(x))
        parts: list[Any] = []
        if isinstance(x, CONTAINERS):
            self._note_contents(x)
            parts += self.held_before(x)
        elif is_attributes(x):
            for name, value in attributes(x):
                home = home_of(x, name)
                place: Place = Attribute(x, name) if home is None else Item(home, name)
                _, before = self.written_places.get(key_of(place), (place, value))
                self.conditions.note(Guard(place, before))
                parts.append(before)
        else:
            self.conditions.note(Guard(State(x), held_by(x)))
            return
        for part in parts:
            self._reach(part, x, "")
            self._guard_held(part, known)

    def _note_whole(self, container: Any) -> None:
        """All of a container is read, by who may change it, but what the engine keeps."""
        if isinstance(container, CHANGEABLE) and not self._is_engines(container):
            self._note_library_read(Contents(container))
        self._note_contents(container)

    def _is_engines(self, container: Any) -> bool:
        """Whether a container was found in an object of the engine's, as in an optimizer."""
        origin = self.origins.get(id(container))
        while origin is not None and origin.parent is not None:
            if _is_of_engine(type(origin.parent)):
                return True
            origin = self.origins.get(id(origin.parent))
        return False

    def _note_contents(self, container: Any) -> None:
        self.conditions.note(Guard(Contents(container), self.held_before(container)))
        theirs = (base for base in type(container).__mro__ if not is_of_user(base))
        for name in members(theirs):  # as a defaultdict has what makes its items
            self._seen(Attribute(container, name), getattr(container, name))

    def held_before(self, container: Any) -> tuple[Any, ...]:
        held = super().held_before(container)
        return held if id(container) in self.before else self.as_before(container, held)

    def as_before(self, container: Any, held: tuple[Any, ...]) -> tuple[Any, ...]:
        places: Any = self.written_places.values()
        written = [(_name_in(place), x) for place, x in places if _is_in(place, container)]
        if not written:
            return held
        return contents(_with_items(held, written))

    def _note_state(self, owner: Any, known: set[int], alone: bool = True) -> None:
        """All that an object held before the call, and what that held.

        If it is the function's `alone`, nobody else changes it, as the engine does its own.
        """
        known.add(id(owner))
        alone = alone and not _is_of_engine(type(owner))
        held: Any = owner if isinstance(owner, CONTAINERS) else getattr(owner, "__dict__", None)
        if held is None:
            return
        (self._note_whole if alone else self._note_contents)(held)
        for value in self.held_before(held):
            if id(value) in known or type(value) in ATOMS:
                continue
            self._reach(value, owner, "")
            if isinstance(value, CONTAINERS) or is_users_class(type(value)):
                self._note_state(value, known, alone)

    def _seen(self, place: Place, value: Any) -> Any:
        """What stands for a value that is read at a place."""
        if type(value) is TracedArray:
            return value
        if key_of(place) in self.varying:
            fetched = self._fetched(place, value)
            if fetched is not None:
                return fetched
        self.conditions.note(Guard(place, value))
        return self._inside(value)

    def _fetched(self, place: Place, value: Any) -> Any:
        if is_number(value) or (type(value) is int and self.inputs.interval(place, value)):
            return self.passed.number(place, value)
        if isinstance(value, np.ndarray) and is_fetched(value):
            return self.passed.array(place, value)
        if is_state(value) and value not in self.outside.tensors:
            return self.passed.tensor(place, value)
        return None

    def _inside(self, value: Any) -> Any:
        """What stands for an object that is known by itself."""
        if isinstance(value, np.ndarray) and is_fetched(value):
            return self.passed.array(Known(value), value)
        return value

    def _note_library_read(self, place: Contents | State, words: str = "") -> LibraryRead:
        """The library looks at something, which it may change from now on; who asked it to."""
        key = key_of(place)
        known = self.library_read.get(key)
        if known is None:
            undo: list[Callable[[], Any]] = []
            if isinstance(place, Contents):
                held: Any = contents(place.container)
                before = self.held_before(place.container)
                undo.append(functools.partial(fill, place.container, before))
            else:
                held = held_by(place.owner, undo)
            known = LibraryRead(place, held, undo, words or str(place), here())
            self.library_read[key] = known
        elif same(place.read(()), known.held):
            known.line = here()
        return known

    def on_change(self, container: Any, held: tuple[Any, ...]) -> None:
        known = self.library_read.get(key_of(Contents(container)))
        if known is not None:
            if not same(held, known.held):
                self.refuse_change(known)
            known.held = contents(container)

    def left(self, mapping: dict[Any, Any], *item: Any) -> None:
        """The program has written an attribute here, or is about to write this item."""
        known = self.library_read.get(key_of(Contents(mapping)))
        if known is not None:
            known.held = contents(_with_items(known.held, [item]) if item else mapping)

    def refuse_change(self, read: LibraryRead) -> None:
        """What the library changes but by attributes of modules no call could do again."""
        raise TracingError(
            f"a compiled function changes {read.words} by a call of the library, at\n"
            f"  {line_of(*read.line)}\nDo it before the call, and take it back after."
        )

    def refuse(self, what: str) -> Any:
        raise TracingError(
            f"{what} in a compiled function, at\n  {line_of(*here())}\n"
            "That gives something else each time, or a program cannot do it again. Do it before "
            "the call, and pass what comes of it as an argument."
        )


def is_state(x: Any) -> bool:
    """Whether this is a tensor that may be another one at each call: none that is trained."""
    return type(x) is Tensor and not (x.requires_grad and x.is_leaf)


def is_fetchable(x: Any) -> bool:
    """Whether a program can read such a value anew at each call."""
    return (
        is_number(x)
        or type(x) is int
        or (isinstance(x, np.ndarray) and is_fetched(x))
        or is_state(x)
    )


_FIXED = frozenset({"builtins", "abc", "typing"})
"""Modules of classes that nobody changes."""


def is_library_class(owner: Any) -> bool:
    return isinstance(owner, type) and not is_of_user(owner)


def is_where_texts_go(owner: Any) -> bool:
    """Whether this is for messages, which a compiled function gives once."""
    if isinstance(owner, io.IOBase):
        return owner in (sys.stdout, sys.stderr) or not owner.readable()
    return isinstance(owner, logging.Logger | logging.Handler)


def is_computed(owner: Any, name: str) -> bool:
    """Whether an attribute is what code of the owner's class makes of its state."""
    member = static(type(owner), name)
    return hasattr(type(member), "__set__")


def _is_of_engine(cls: type) -> bool:
    return any(map(is_ours, cls.__mro__))


def _with_items(held: tuple[Any, ...], items: Iterable[Any]) -> dict[Any, Any]:
    """A dictionary that has held this, with these items, some of them MISSING."""
    half = len(held) // 2
    mapping = dict(zip(held[:half], held[half:], strict=True))
    for key, value in items:
        Item(mapping, key).write(value, ())
    return mapping


def _is_in(place: Place, container: Any) -> bool:
    """Whether a place is one of a dictionary's, which may be where an object keeps attributes."""
    if type(place) is Attribute:
        own = dictionary_behind(place.owner)
        return own is not None and own is _mapping_of(container)
    return type(place) is Item and place.mapping is _mapping_of(container)


def _name_in(place: Any) -> Any:
    return place.name if type(place) is Attribute else place.key


def _mapping_of(container: Any) -> Any:
    return dictionary_behind(container) if type(container) is MappingProxyType else container
