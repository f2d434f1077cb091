"""The world around a traced function: each read becomes an input or a guard, each write a result.

The user's code is observed as it runs (`observe/`), so where a value came from is known. What is
read as an array is an input of the program, fetched at each call; so is a number, or a tensor that
is no parameter, once it was seen to change (it is *varying*). All else is a guard: the program is
used again if the same is still there. What is written is put back when the trace ends, and written
anew by each call. What can be none of these is refused, by an error that names the line.

The library's own code is trusted and not observed; `watch.py` tells what it reads of modules.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import io
import logging
import sys
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.compile.trace.arrays.array import TracedArray
from wengert.compile.trace.arrays.numbers import NUMBERS, class_of, converted
from wengert.compile.trace.arrays.refusals import Postponed
from wengert.compile.trace.observe import Read, Unobserved, Write, rewrite
from wengert.compile.trace.observe.objects import (
    ATOMS,
    CONTAINERS,
    UNCHANGEABLE,
    behind,
    contents,
    dictionary_of,
    fill,
    name_of,
    own_attribute,
    same,
    static,
)
from wengert.compile.trace.observe.users import is_library, is_of_user, is_users_class
from wengert.compile.trace.world import garbage, watch
from wengert.compile.trace.world.conditions import Conditions, home_of
from wengert.compile.trace.world.drawn import ASKS_FILES, SYSTEM, acts, drawn, where_numpy_stands
from wengert.compile.trace.world.drawn import EVERYWHERE as GENERATORS_OF_ALL
from wengert.compile.trace.world.inputs import Fixed, Inputs, Passed, Retraced, Varying
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
    Place,
    Presence,
    State,
    Variable,
    is_number,
    key_of,
)
from wengert.compile.trace.world.state import (
    WEAK,
    attributes,
    held_by,
    holds_weakly,
    is_attributes,
    is_itself,
    note_slots,
)
from wengert.errors import TracingError
from wengert.functions.methods.conversations import element
from wengert.history.location import here, line_of
from wengert.history.surroundings import EVERYWHERE
from wengert.tensor import Tensor


@dataclass(slots=True)
class LibraryRead:
    """What the library reads of something outside: what it held, itself and its containers, what
    it is in words, and the user's line.
    """

    place: Contents | State
    held: Any
    containers: list[tuple[Any, tuple[Any, ...]]]
    words: str
    line: Any


OF_THE_TRACE = TracingError | Retraced | Postponed
OF_THE_MOMENT = KeyboardInterrupt | MemoryError | RecursionError
"""Errors that come of when a function runs, and where: the next call need not meet them."""


class World(Iterating):
    """What one trace reads and writes outside. `varying` has the places whose values are inputs."""

    acting = frozenset({*map(id, GENERATORS_OF_ALL), *ASKS_FILES, *SYSTEM} - {id(None)})

    def __init__(
        self,
        inputs: Inputs,
        passed: Passed,
        conditions: Conditions,
        outside: Outside,
        varying: Mapping[Any, Place],
    ) -> None:
        super().__init__()
        self.trace = passed.trace
        self.inputs = inputs
        self.passed = passed
        self.conditions = conditions
        self.outside = outside
        self.varying = varying
        self.reading: Any = None  # an object's id and the attribute that the user's code reads
        self.writing: Any = None  # that, if it is written
        self.written_places: dict[Any, tuple[Place, Any]] = {}
        """By place: what was there before the trace."""
        conditions.settings.written = self.written_places
        self.effects: list[tuple[Place | None, Any]] = []
        """What the function wrote, in order: a place and a value, or a call on a container."""
        self.library_read: dict[Any, LibraryRead] = {}
        """Containers that the library has gone through, and its objects that were used."""
        self.shadows: dict[int, tuple[Any, Any]] = {}
        self.had: set[tuple[type, str]] = set()  # what classes have that is a condition
        self.unobserved: Unobserved | None = None  # the first that ran so
        self.returned = False  # the function: what runs then is its derivative
        self.unrolled: dict[Any, int] | None = None
        """How many steps of the user's loops are traced before the others; None if all are."""
        self.broken: BaseException | None = None
        """What ends the trace, though the function may have caught that."""

    # ---- running --------------------------------------------------------------------------------

    def run(self, function: Any, leaves: list[Any], /, *args: Any, **named: Any) -> Any:
        """Call a function; `leaves` are what its arguments hold."""
        for i, leaf in enumerate(leaves):
            if not self.is_known(leaf):
                self._reach(leaf, None, f"argument {i}")
        self._reach(function, None, getattr(function, "__name__", type(function).__name__))
        for container in EVERYWHERE:
            self._tell(self.reached, container)
            self._note_library_read(Contents(container), "what holds for all modules")
        result = self.called(function, *args, **named)
        self.returned = True
        return result

    @contextlib.contextmanager
    def observing(self) -> Iterator[None]:
        garbage.expect()
        try:
            with super().observing():
                yield
                if rewrite.THREAD.observer is not self:  # an interrupt came in a collection
                    self.unseen(Unobserved("a collection of garbage", *here()))
                if self.deaf:
                    self.unseen(Unobserved("what came after an interrupt", *here()))
        except Exception as error:
            self._check_observed(error)
            raise
        self._check_observed(None)
        if self.broken is not None:
            raise self.broken

    def _tell(self, handler: Any, *event: Any) -> Any:
        with watch.aside():
            return super()._tell(handler, *event)

    def is_told(self) -> bool:
        return super().is_told() and watch.active() is not None

    def acts(self, function: Any) -> bool:
        return acts(function)

    def gives_messages(self, owner: Any) -> bool:
        return is_where_texts_go(owner)

    def standing(self) -> bytes:
        return where_numpy_stands()

    def raised(self, error: BaseException) -> None:
        # No run of the function itself raises that, so what it does then is none of its ways.
        if self.broken is None and isinstance(error, OF_THE_TRACE | OF_THE_MOMENT):
            self.broken = error
        super().raised(error)

    def unseen(self, ran: Unobserved) -> None:
        if self.unobserved is None:
            self.unobserved = ran

    def _check_observed(self, error: Exception | None) -> None:
        """What runs past the observer may have read anything."""
        ran = self.unobserved
        if ran is not None:
            name, line = ran.name, line_of(ran.caller, ran.at)
            raise TracingError(
                f"{name} runs where a compiled function cannot see what it reads or does, called "
                f"at\n  {line}\nCall it in the function itself, or before it: pass what comes "
                "of it."
            ) from error

    def lent_out(self, container: Any) -> None:
        self._note_library_read(Contents(container))

    def is_known(self, owner: Any, name: Any = None) -> bool:
        if isinstance(owner, Tensor):
            return name is None or name[:1] == "_" or static(type(owner), name) is not None
        return isinstance(owner, TracedArray | np.generic | np.dtype)

    def read_attribute(self, owner: Any, name: str) -> Any:
        if name == "__class__" and type(owner) is TracedArray:
            return class_of(owner)
        outer, self.reading = self.reading, (id(owner), name)
        try:
            return super().read_attribute(owner, name)
        finally:
            self.reading = outer

    def read_by_library(self, owner: Any, name: str, value: Any) -> Any:
        """What the library gets for an attribute of a module."""
        with watch.aside():
            home = home_of(owner, name)
            if home is not None:
                place = Item(home, name)
                if key_of(place) not in self.written_places:
                    self.conditions.note(Guard(place, value))
            elif name[:1] != "_":
                self._through_class(owner, type(owner), name)
            self._use_class(owner)
            self._reach(owner, None, f"a {type(owner).__name__}")
            self._reach(value, owner, f".{name}")
            self.conditions.name(value if isinstance(value, dict) else {name: value})
            if isinstance(value, CONTAINERS):
                self._read_contents(value)
                self._note_library_read(Contents(value), f"{name} of a {type(owner).__name__}")
            return value

    def _note_library_read(self, place: Contents | State, words: str = "") -> LibraryRead:
        """The library looks at something, which it may change from now on; who asked it to."""
        key = key_of(place)
        known = self.library_read.get(key)
        if known is None:
            containers: list[tuple[Any, tuple[Any, ...]]] = []
            if isinstance(place, Contents):
                held: Any = self.held_before(place.container)
                containers.append((place.container, held))
            else:
                held = held_by(place.owner, containers)
            known = LibraryRead(place, held, containers, words or str(place), here())
            self.library_read[key] = known
        elif same(self._now(place), known.held):
            known.line = here()
        return known

    def written_by_library(self, owner: Any, put: Any, name: str, *value: Any) -> None:
        """The library sets or deletes an attribute of a module."""
        with watch.aside():
            home = home_of(owner, name)
            if home is not None and type(home[name]) in ATOMS and id(owner) in self.origins:
                self.conditions.note(Guard(Item(home, name), home[name]))
        self._put(put, "attribute", owner, name, *value)

    def _put(self, put: Any, kind: str, owner: Any, key: Any, *value: Any) -> None:
        outer, self.writing = self.writing, (id(owner), key)
        try:
            super()._put(put, kind, owner, key, *value)
        finally:
            self.writing = outer

    def read_item(self, owner: Any, key: Any) -> Any:
        return super().read_item(owner, _known_key(owner, key))

    def write_item(self, value: Any, owner: Any, key: Any) -> None:
        super().write_item(value, owner, _known_key(owner, key))

    def delete_item(self, owner: Any, key: Any) -> None:
        super().delete_item(owner, _known_key(owner, key))

    # ---- reads ----------------------------------------------------------------------------------

    def on_read(self, read: Read) -> Any:
        self.check_acted(read.owner)
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
            return self._seen(Item(home, name), value)
        if isinstance(owner, type | FunctionType) or own_attribute(owner, name) is not MISSING:
            if isinstance(owner, type) and not Guard(Attribute(owner, name), value).holds():
                self.had_by_class(owner, name)
            return value if is_library_class(owner) else self._seen(Attribute(owner, name), value)
        self._through_class(owner, type(owner), name)
        if is_computed(owner, name):
            self._use_class(owner)
            if type(value) in ATOMS and not is_itself(owner):
                self.conditions.note(Guard(Attribute(owner, name), value))
            else:
                self._note_held(owner)
        return self._inside(value)

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
        if is_users_class(cls):
            given = Guard(Attribute(cls, name), getattr(cls, name, MISSING))
            if given.holds():
                self.conditions.note(given)
                return
        for base in cls.__mro__:
            if base.__module__ in _FIXED:
                break
            names = dictionary_of(base)
            value = names.get(name, MISSING)
            if watch.stands_in(value):
                break
            self.conditions.note(Guard(Item(names, name), value))
            if value is not MISSING:
                break

    def class_used(self, cls: type) -> None:
        """Nobody sees what a library asks of a class. It may ask for what the class has that acts,
        for what its own classes have by the same name, and for what was not there.
        """
        theirs = [vars(base) for base in cls.__mro__ if not is_of_user(base)]
        for base in filter(is_of_user, cls.__mro__):
            names = dictionary_of(base)
            note_slots(base)
            self.conditions.note(Guard(Length(names), len(names)))
            for name, value in names.items():
                if hasattr(type(value), "__get__") or any(name in their for their in theirs):
                    self.conditions.note(Guard(Item(names, name), value))

    def _past(self, around: Any, name: str, value: Any) -> Any:
        """An attribute that `super()` finds: that of the classes after this one."""
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
        kept = _mapping_behind(owner)
        if kept is not None:
            self._note_contents(kept)
        else:
            self._note_held(owner)
        return self._inside(value)

    def _element(self, owner: list[Any], key: int) -> Element:
        """An item of a list; one that is counted from the end is another one in a longer list."""
        if key < 0:
            self.conditions.note(Guard(Length(owner), len(self.held_before(owner))))
        return Element(owner, range(len(owner))[key])

    def _read_has_at(self, owner: Any, key: Any, value: Any) -> Any:
        self.conditions.note(Guard(Presence(owner, key), value))
        return value

    def _read_own_at(self, owner: Any, name: str, value: Any) -> Any:
        self.conditions.note(Guard(Item(vars(owner), name), value))
        return value

    def _read_length_at(self, owner: Any, key: Any, value: Any) -> Any:
        if not isinstance(owner, UNCHANGEABLE):
            self.conditions.note(Guard(Length(owner), value))
        return value

    def _read_contents_at(self, owner: Any, key: Any, held: Any) -> Any:
        if not isinstance(owner, UNCHANGEABLE) and TracedArray not in map(type, held):
            self.conditions.note(Guard(Contents(owner), held))
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

    def _read_class_at(self, owner: Any, key: Any, value: Any) -> Any:
        if not isinstance(owner, type):
            self.conditions.note(Guard(Class(owner), value))
        return value

    def _read_call_at(self, owner: Any, callee: Any, value: Any) -> Any:
        """A library's callable was given an object, and may have read anything of it."""
        kept = _mapping_behind(owner)
        if kept is not None:
            self._note_contents(kept)
        elif isinstance(owner, ContextVar) and name_of(callee) == "get":
            pass  # its answer is a condition, and asking changes nothing
        elif isinstance(owner, Iterator) and not isinstance(owner, io.IOBase):
            self.refuse(f"a {type(owner).__name__} from outside is gone through")
        elif is_users_class(type(owner)):
            self._note_state(owner, set())
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

    def _note_contents(self, container: Any) -> None:
        self.conditions.note(Guard(Contents(container), self.held_before(container)))

    def held_before(self, container: Any) -> tuple[Any, ...]:
        held = super().held_before(container)
        return held if id(container) in self.before else self.as_before(container, held)

    def as_before(self, container: Any, held: tuple[Any, ...]) -> tuple[Any, ...]:
        written = [x for x in self.written_places.values() if _is_in(x[0], container)]
        if not written:
            return held
        half = len(held) // 2
        mapping = dict(zip(held[:half], held[half:], strict=True))
        for place, before in written:
            Item(mapping, place.key).write(before, ())  # type: ignore[union-attr]
        return contents(mapping)

    def _note_state(self, owner: Any, known: set[int]) -> None:
        """All that an object held before the call, and what that held."""
        known.add(id(owner))
        held: Any = owner if isinstance(owner, CONTAINERS) else getattr(owner, "__dict__", None)
        if held is None:
            return
        self._note_contents(held)
        for value in self.held_before(held):
            if id(value) in known or type(value) in ATOMS:
                continue
            self._reach(value, owner, "")
            if isinstance(value, CONTAINERS) or is_users_class(type(value)):
                self._note_state(value, known)

    def looped(self, items: Any, *rest: Any) -> Any:
        from wengert.control.rolled import rolling

        iterated, site = self.iterated(items), rest[-1]
        if self.unrolled is None or self.telling:
            return iterated
        return rolling(self, items, site, rest[:-1]) or iterated

    # ---- what the program sees ------------------------------------------------------------------

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
        if type(value) is np.ndarray and is_numeric(value):
            return self.passed.array(place, value)
        if is_state(value) and value not in self.outside.tensors:
            return self.passed.tensor(place, value)
        return None

    def match_class(self, subject: Any, cls: Any, names: Any) -> tuple[Any, Any, Any]:
        """A pattern asks for the class that a traced array would have; it may take a number."""
        if type(subject) is TracedArray:
            if subject.scalar:
                subject = subject.concrete("the class")
            elif issubclass(class_of(subject), cls):
                return names, TracedArray, subject
        return super().match_class(subject, cls, names)

    def matched(self, seen: Any, value: Any) -> None:
        if seen is not value:
            known = self.passed.stand_in_for(value) if isinstance(value, Tensor) else None
            place = self.inputs.places.get(seen.value) if known is None else known.place
            if place is not None and key_of(place) in self.varying:
                raise Fixed(place)

    def _inside(self, value: Any) -> Any:
        """What stands for an object that is known by itself."""
        if type(value) is np.ndarray and is_numeric(value):
            return self.passed.array(Known(value), value)
        return value

    def real(self, x: Any) -> Any:
        place = self.passed.place_of(x) if type(x) is TracedArray else None
        if type(place) is not Known or x.storage.value is not x.storage.origin:
            return x
        return place.object

    def shadow(self, value: Any) -> Any:
        """A container in whose place a library gets another, with traced arrays in it."""
        if not isinstance(value, list | tuple | dict) or id(value) not in self.origins:
            return value
        known = self.shadows.get(id(value))
        if known is None:
            known = self.shadows[id(value)] = value, self._shadowed(value)
        return known[1]

    def _shadowed(self, value: Any) -> Any:
        held = tuple(value.values()) if isinstance(value, dict) else tuple(value)
        with watch.aside():
            seen = [self.shadow(self._inside(x)) for x in held]
        if all(a is b for a, b in zip(held, seen, strict=True)):
            return value
        if isinstance(value, dict):
            return dict(zip(value, seen, strict=True))
        return seen if isinstance(value, list) else tuple(seen)

    # ---- calls ----------------------------------------------------------------------------------

    def _class(self, function: Any, *args: Any) -> Any:
        """`isinstance` and `type`: a traced array is of the class that it would have."""
        if not args or type(args[0]) is not TracedArray:
            return super()._class(function, *args)
        cls = class_of(args[0])
        return issubclass(cls, args[1]) if function is isinstance else cls

    def _trusted(self, callee: Any, args: Any, named: Any) -> Any:
        if len(args) == 1 and not named and any(callee is kind for kind in NUMBERS):
            return named, args, functools.partial(self._number, callee)
        answer = drawn(callee, args, named, self)
        if answer is None:
            trusted = super()._trusted(callee, args, named)
        else:
            for value in (*args, *named.values()):
                self._given(value, callee)
            trusted = named, args, answer
        if (callee is zip or callee is enumerate) and self.unrolled is not None:
            from wengert.control.rolled import together

            joined = together(callee, *args, **named)
            return trusted if joined is None else ({}, (), lambda: joined)
        return trusted

    def _number(self, kind: type, x: Any) -> Any:
        """What `float(x)` and its like make."""
        self._given(x, kind)
        if isinstance(x, Tensor):
            x = element(x, kind)
        return converted(x, kind) if type(x) is TracedArray else kind(x)

    def refuse(self, what: str) -> Any:
        raise TracingError(
            f"{what} in a compiled function, at\n  {line_of(*here())}\n"
            "That gives something else each time, or a program cannot do it again. Do it before "
            "the call, and pass what comes of it as an argument."
        )

    # ---- writes ---------------------------------------------------------------------------------

    def kept_attribute(self, owner: Any, name: str) -> Any:
        home = home_of(owner, name)
        if home is None and is_computed(owner, name):
            return getattr(owner, name, MISSING)
        return super().kept_attribute(owner, name) if home is None else home[name]

    def on_write(self, write: Write) -> None:
        if self.returned:
            raise TracingError(
                "the derivative of a compiled function changes something outside, at\n"
                f"  {line_of(*here())}\nCall backward() in the compiled function, or leave it "
                "uncompiled."
            )
        self.check_acted(write.owner)
        if isinstance(write.owner, np.random.BitGenerator):
            self.refuse("the state of a generator from outside is set")
        if write.kind in ("call", "in place"):
            self._did(write)
            return
        place = self._place_of(write)
        if place is None:
            self.effects.append((None, (write.owner, "__setitem__", (write.key, write.after), {})))
            return
        key = key_of(place)
        if key not in self.written_places:
            self.written_places[key] = place, write.before
        self.effects.append((place, write.after))

    def _did(self, write: Write) -> None:
        if write.kind == "call":
            args, named = write.after
            self.effects.append((None, (write.owner, write.key, args, named)))
        elif isinstance(write.owner, CONTAINERS):
            self.effects.append((None, (write.owner, f"__i{write.key}__", (write.after,), {})))
        elif not is_users_class(type(write.owner)):
            self.refuse(f"a {type(write.owner).__name__} from outside is changed in place")

    def _place_of(self, write: Write) -> Place | None:
        owner, key = write.owner, write.key
        if write.kind == "global":
            return Item(owner, key)
        if write.kind == "cell":
            return Variable(owner)
        if write.kind == "attribute":
            home = home_of(owner, key)
            own = getattr(owner, "__dict__", None)
            if home is None and type(own) is dict and write.after is MISSING:
                home = own
            return Attribute(owner, key) if home is None else Item(home, key)
        if isinstance(owner, dict):
            return Item(owner, key)
        if isinstance(owner, list) and isinstance(key, int) and write.after is not MISSING:
            return self._element(owner, key)
        if not isinstance(owner, CONTAINERS):
            self.refuse(f"an item of a {type(owner).__name__} from outside is set")
        return None

    # ---- the end --------------------------------------------------------------------------------

    def check_library(self) -> None:
        """What the library changes but by attributes of modules no call could do again."""
        for read in self._changed_by_library():
            raise TracingError(
                f"a compiled function changes {read.words} by a call of the library, at\n"
                f"  {line_of(*read.line)}\nDo it before the call, and take it back after."
            )

    def _changed_by_library(self) -> Iterator[LibraryRead]:
        for read in self.library_read.values():
            if not same(self._now(read.place), read.held):
                yield read

    def _now(self, place: Contents | State) -> Any:
        return self.held_before(place.container) if type(place) is Contents else place.read(())

    def standing_now(self) -> list[tuple[Any, Any]]:
        """What stands now where the function has written."""
        places = [(place, place.read(())) for place, _ in self.written_places.values()]
        changed = [self.origins[key].value for key in self.before]
        return places + [(Contents(container), contents(container)) for container in changed]

    def collected(self, stood: list[tuple[Place, Any]]) -> None:
        """Garbage was collected, which may have called anything; what stood before."""
        for place, before in stood:
            if not same(place.read(()), before):
                self.unseen(Unobserved(f"a finalizer that changes {place}", *here()))

    def put_back(self) -> None:
        """Make the world what it was before the trace."""
        for read in [*self._changed_by_library()]:
            for container, held in read.containers:
                fill(container, held)
        self.library_read = {}
        if rewrite.THREAD.observer is self:  # an interrupt came while it was taken away
            rewrite.THREAD.observer = None
        self.take_back()
        for place, before in reversed(self.written_places.values()):
            if not isinstance(place, Element):
                place.write(before, ())  # type: ignore[union-attr]
        self.written_places = {}
        for key, held in self.before.items():
            fill(self.origins[key].value, held)
        self.before = {}

    def check_kept(self, fixed: Mapping[Any, Place]) -> None:
        """What is read and written is kept for the next call: it is fetched from its place."""
        known = {*self.varying, *fixed}
        kept = {
            key: place
            for key, (place, before) in self.written_places.items()
            if key in self.conditions.guards and key not in known and is_fetchable(before)
        }
        if kept:
            raise Varying(kept)


def _known_key(owner: Any, key: Any) -> Any:
    """Where a number says which item of a dictionary is meant, it decides that."""
    if not isinstance(owner, dict):
        return key
    if type(key) is tuple:
        return tuple([_known_key(owner, part) for part in key])
    return key.concrete("a key") if type(key) is TracedArray and key.scalar else key


def is_numeric(array: Any) -> bool:
    return dtypes.is_number(array.dtype) and array.dtype.isnative


def is_state(x: Any) -> bool:
    """Whether this is a tensor that may be another one at each call: none that is trained."""
    return type(x) is Tensor and not (x.requires_grad and x.is_leaf)


def is_fetchable(x: Any) -> bool:
    """Whether a program can read such a value anew at each call."""
    return (
        is_number(x) or type(x) is int or (type(x) is np.ndarray and is_numeric(x)) or is_state(x)
    )


_FIXED = frozenset({"builtins", "abc", "typing"})
"""Modules of classes that nobody changes."""


def is_library_class(owner: Any) -> bool:
    return isinstance(owner, type) and not is_users_class(owner)


def is_where_texts_go(owner: Any) -> bool:
    """Whether this is for messages, which a compiled function gives once."""
    if isinstance(owner, io.IOBase):
        return owner in (sys.stdout, sys.stderr) or not owner.readable()
    return isinstance(owner, logging.Logger | logging.Handler)


def is_computed(owner: Any, name: str) -> bool:
    """Whether an attribute is what code of the owner's class makes of its state."""
    member = static(type(owner), name)
    return hasattr(type(member), "__set__")


def _mapping_behind(owner: Any) -> dict[Any, Any] | None:
    """Where a library's mapping keeps its items, as os.environ does."""
    if isinstance(owner, Mapping) and not isinstance(owner, dict):
        for name in ("_data", "data"):
            kept = getattr(owner, name, None)
            if type(kept) is dict:
                return kept
    return None


def _is_in(place: Place, container: Any) -> bool:
    return type(place) is Item and place.mapping is container
