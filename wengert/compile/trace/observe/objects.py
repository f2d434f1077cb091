"""Looking at objects past what a user's class makes of them."""

from __future__ import annotations

import contextlib
import functools
import gc
import operator
import types
from collections import OrderedDict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import CellType, CodeType, MappingProxyType, MethodType
from typing import Any

import numpy as np

from wengert.compile.trace.observe.events import MISSING
from wengert.compile.trace.observe.users import is_of_user

ATOMS = frozenset(
    {int, float, complex, bool, str, bytes, range, slice, CodeType}
    | {type(None), type(...), type(NotImplemented)}
)
"""Values that hold nothing which could be read later."""

CHANGEABLE = (list, dict, set, deque)
UNCHANGEABLE = (tuple, frozenset)
CONTAINERS = (*CHANGEABLE, *UNCHANGEABLE, MappingProxyType)

PLAIN = (int, float, bool, complex, str, bytes, type(None), tuple)
"""Classes of objects that are the same to a program if they are equal."""


def base_of(container: Any) -> Any:
    """The class of Python's of which a container is; its methods are not the user's."""
    return next(base for base in (OrderedDict, *CONTAINERS) if isinstance(container, base))


def contents(container: Any) -> tuple[Any, ...]:
    """All that a container holds; past the methods of subclasses, which may be the user's."""
    base: Any
    for base in (OrderedDict, dict):  # an OrderedDict has an order of its own
        if isinstance(container, base):
            return (*base.keys(container), *base.values(container))
    if isinstance(container, MappingProxyType):
        return (*container.keys(), *container.values())
    for base in CONTAINERS:
        if isinstance(container, base):
            items = tuple(base.__iter__(container))
            # A set that is filled again has another order, as has an equal one.
            return tuple(sorted(items, key=_rank)) if base in (set, frozenset) else items
    raise TypeError(f"a {type(container).__name__} is no container")


def _rank(item: Any) -> int:
    return hash(item) if type(item) in ATOMS else id(item)


def empty(container: Any) -> Any:
    """An empty container of the first class of this one that is no user's, for questions."""
    return next(cls for cls in type(container).__mro__ if not is_of_user(cls))()


@functools.cache
def answers(base: Any, name: str) -> bool:
    """Whether a method of a container returns anything: it does for one of zeros."""
    for args in ((), (0,), (0, 0)):
        with contextlib.suppress(Exception):
            if getattr(base({0: 0}), name)(*args) is not None:
                return True
    return False


def may_raise(container: Any, name: str, args: tuple[Any, ...]) -> bool:
    """Whether a method raises an error if what it wants is not there: an empty one's does."""
    try:
        getattr(empty(container), name)(*args)
    except Exception:
        return True
    return False


def fill(container: Any, held: tuple[Any, ...]) -> None:
    """Make a container hold this again."""
    if isinstance(container, dict):
        kind: Any = OrderedDict if isinstance(container, OrderedDict) else dict
        half = len(held) // 2
        keys = held[:half]
        ours = set(map(id, keys))
        # It may be a module's globals: what others read meanwhile is there.
        for key in [key for key in kind.__iter__(container) if id(key) not in ours]:
            kind.__delitem__(container, key)
        for _ in range(2):
            for key, value in zip(keys, held[half:], strict=True):
                kind.__setitem__(container, key, value)
            if all(map(operator.is_, kind.__iter__(container), keys)):
                break
            kind.clear(container)  # they come in another order
    elif isinstance(container, list):
        list.__setitem__(container, slice(None), held)
    elif isinstance(container, set):
        set.intersection_update(container, held)  # what stays keeps its place in the order
        set.update(container, held)
    else:
        deque.clear(container)
        deque.extend(container, held)


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """What an object holds: its parts by name. Attributes' names are strings."""

    kind: type
    names: tuple[Any, ...]
    parts: tuple[Any, ...]

    def covers(self, other: Held) -> bool:
        """Whether it holds all that the other one does; attributes that came later are caches."""
        if self.kind is not other.kind:
            return False
        named = dict(zip(self.names, self.parts, strict=True))
        if any(type(name) is not str for name in self.names if name not in other.names):
            return False
        pairs = zip(other.names, other.parts, strict=True)
        return all(same(named.get(name, MISSING), part) for name, part in pairs)


def same(a: Any, b: Any) -> bool:
    """Whether two values cannot be told apart: one object, or of one class and equal in their bits.

    A method is another object each time it is read. Of what an object holds `a` is as it is now.
    """
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if type(a) is tuple:
        return len(a) == len(b) and all(map(same, a, b))
    if type(a) in (float, complex):
        return repr(a) == repr(b)  # -0.0 and 0.0 are equal
    if isinstance(a, np.generic):
        return a.dtype == b.dtype and a.tobytes() == b.tobytes()
    if type(a) is MethodType:
        return a.__func__ is b.__func__ and a.__self__ is b.__self__
    if type(a) is Held:
        return a.covers(b)
    return type(a) in PLAIN and bool(a == b)


def static(cls: type, name: str) -> Any:
    """A class's attribute, past descriptors; None if there is none."""
    for base in cls.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return None


def method_of(cls: type, name: str) -> Any:
    """The function that is a class's method, if it is one: past its kind of method."""
    member = static(cls, name)
    return member.__func__ if isinstance(member, staticmethod | classmethod) else member


def dictionary_of(cls: type) -> dict[str, Any]:
    """The dictionary in which a class keeps what it has."""
    (names,) = gc.get_referents(cls.__dict__)
    return names


def own_dictionary(x: Any) -> dict[str, Any] | None:
    """Where an object keeps its attributes, if it is no class."""
    own = None if isinstance(x, type) else getattr(x, "__dict__", None)
    return own if type(own) is dict else None


def dictionary_behind(x: Any) -> dict[str, Any] | None:
    """What an object, or a class, keeps its attributes in, or what a view of a dictionary shows."""
    if isinstance(x, MappingProxyType):
        behind = gc.get_referents(x)[0]
        return behind if type(behind) is dict else None
    return dictionary_of(x) if isinstance(x, type) else own_dictionary(x)


def written_with(x: Any) -> set[int]:
    """The ids of what changes if an object is written: it, and where it keeps its attributes."""
    behind = dictionary_behind(x)
    return {id(x)} if behind is None else {id(x), id(behind)}


def has_method(cls: type, name: str) -> bool:
    return any(name in base.__dict__ for base in cls.__mro__)


def held_in(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a variable that has no value yet, or no longer
        return MISSING


def own_attribute(owner: Any, name: str) -> Any:
    """An attribute's value, if the object itself keeps it."""
    kept = getattr(owner, "__dict__", None)
    if kept is not None and name in kept:
        return kept[name]
    slot = static(type(owner), name)
    if type(slot) is types.MemberDescriptorType:
        try:
            return slot.__get__(owner)
        except AttributeError:
            return MISSING
    return MISSING


def own_item(owner: Any, key: Any) -> Any:
    """An item of a container, past the methods of subclasses."""
    try:
        base: Any
        if isinstance(owner, dict):
            return dict.get(owner, key, MISSING)  # past `__missing__`
        for base in (list, tuple):
            if isinstance(owner, base):
                return base.__getitem__(owner, key)
        if isinstance(owner, (deque, MappingProxyType, Mapping)):
            return owner[key]
    except (LookupError, TypeError):
        pass
    return MISSING


def labels_of(container: Any, held: tuple[Any, ...]) -> Iterator[str]:
    if isinstance(container, dict):
        keys = held[: len(held) // 2]
        yield from (".keys()" for _ in keys)
        yield from (f"[{label(key)}]" for key in keys)
    else:
        yield from (f"[{i}]" for i in range(len(held)))


def label(key: Any) -> str:
    return repr(key) if type(key) in ATOMS else "..."


def name_of(value: Any) -> str:
    return getattr(value, "__name__", "")


def receiver(around: Any, name: str = "__self__") -> Any:
    """The object that a `super` object speaks for."""
    return getattr(around, name)


def behind(around: Any) -> tuple[type, ...]:
    """The classes in which a `super` object looks."""
    classes = receiver(around, "__self_class__").__mro__
    return classes[classes.index(receiver(around, "__thisclass__")) + 1 :]
