"""The structure of a call's arguments: the containers, and what the function does to them.

Lists, tuples, named tuples, dictionaries, dataclasses and namespaces are looked into. What they
hold is an argument like any other: arrays are the program's inputs, and anything else part of what
a specialization is for. So a new container with the same kind of contents is nothing new. The
function gets containers of its own; what it changes in them, each call changes in the caller's.
"""

from __future__ import annotations

import dataclasses
import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from wengert import tree
from wengert.autograd.methods import give
from wengert.compile.trace.world import watch
from wengert.errors import TracingError
from wengert.tensor import Tensor
from wengert.tree import REGISTERED

_LEAVES = frozenset({Tensor, np.ndarray, float, int, bool, complex, str, type(None)})
_MAPPINGS = (dict, OrderedDict, defaultdict)


@functools.lru_cache(1024)
def _looked_into(kind: type) -> str:
    """Whether objects of this class are "named" tuples, dataclasses ("object"), or ""."""
    if kind is SimpleNamespace:
        return "object"
    if issubclass(kind, tuple):
        return "named" if hasattr(kind, "_fields") else ""
    if not dataclasses.is_dataclass(kind) or issubclass(kind, (Tensor, np.ndarray)):
        return ""
    # Modules and optimizers are not copied; nor is what only its own __new__ can make.
    known = hasattr(kind, "named_parameters") or hasattr(kind, "add_param_group")
    return "object" if not known and kind.__new__ is object.__new__ else ""


def _attributes(item: Any) -> dict[str, Any]:
    """All that a dataclass's object holds: its fields, and whatever else was set."""
    state: Any = object.__getstate__(item)
    if isinstance(state, tuple):
        own, slots = state
        return {**(own or {}), **slots}
    return dict(state or {})


class Defaulting(NamedTuple):
    """The kind of a dictionary that makes what it has not."""

    factory: Any


def flatten(item: Any, leaves: list[Any], around: tuple[int, ...] = ()) -> Any:
    """Collect the leaves of nested containers; what is returned says how to put them together.

    `around` has the ids of the objects that the item is in: one that it leads back to is a leaf.
    """
    container = None if type(item) in _LEAVES or id(item) in around else opened(item)
    if container is None:
        leaves.append(item)
        return None
    kind, keys, parts = container
    around = (*around, id(item))
    return kind, keys, tuple([flatten(part, leaves, around) for part in parts])


def opened(item: Any) -> tuple[Any, tuple[Any, ...] | None, Collection[Any]] | None:
    """A container's kind, its keys if it has some, and its parts; None for anything else."""
    kind: Any = type(item)
    if kind is tuple or kind is list:
        return kind, None, item
    parts = named_parts_of(item)
    if parts is None:
        registered = registered_parts(item)
        return None if registered is None else (kind, *registered)
    if kind is defaultdict:
        kind = Defaulting(item.default_factory)
    return kind, tuple(parts), parts.values()


def registered_parts(item: Any) -> Any:
    """What `tree.opened` gives: it asks the user's class, which is no code to be observed."""
    if type(item) not in REGISTERED:
        return None
    with watch.aside():
        return tree.opened(item)


def named_parts_of(item: Any) -> dict[Any, Any] | None:
    """What a container holds by name; None for anything else."""
    kind: Any = type(item)
    if kind in _MAPPINGS:
        return None if getattr(item, "__dict__", None) else item  # an OrderedDict may have some
    if kind in REGISTERED:
        return None
    form = _looked_into(kind)
    if form == "named":
        return dict(zip(kind._fields, item, strict=True))
    return _attributes(item) if form else None


def rebuild(structure: Any, leaves: Iterable[Any]) -> Any:
    """The containers of `flatten`, around other leaves."""
    return _built(structure, iter(leaves))


def _built(part: Any, items: Iterator[Any]) -> Any:
    if part is None:
        return next(items)
    kind, keys, parts = part
    built = [_built(p, items) for p in parts]
    if keys is None:
        return kind(built)
    if type(keys) is tree.Constants:
        return tree.unflattened(kind, keys, built)
    named = dict(zip(keys, built, strict=True))
    if type(kind) is Defaulting:
        return defaultdict(kind.factory, named)
    if kind in _MAPPINGS:
        return named if kind is dict else kind(named)
    if issubclass(kind, tuple):
        return tuple.__new__(kind, built)
    return give(kind.__new__(kind), named)


# ---- how a call is laid out -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Container:
    """A container among the arguments: the slot where it lies, and what lies in it from `first` on.

    `kind` and `keys` are those of `opened`.
    """

    slot: int
    kind: Any
    keys: tuple[Any, ...] | None
    first: int
    count: int

    def parts(self, item: Any) -> tuple[Any, ...] | None:
        """What an object holds, if it is such a container."""
        container = opened(item)
        if container is None:
            return None
        kind, keys, parts = container
        fits = kind == self.kind and keys == self.keys and len(parts) == self.count
        return tuple(parts) if fits else None

    def can_change(self) -> bool:
        return not (isinstance(self.kind, type) and issubclass(self.kind, tuple))


@dataclass(frozen=True, slots=True)
class Spread:
    """A call's arguments in slots, one after the other, then the parts of each container there.

    `slots` says where the flattened arguments are, and after them the containers.
    """

    arguments: int
    keywords: tuple[str, ...] = ()
    containers: tuple[Container, ...] = ()
    slots: tuple[int, ...] = ()

    @classmethod
    def of(cls, structure: Any) -> Spread:
        """That of calls whose `(args, kwargs)` have this structure."""
        _, _, ((_, _, args), (_, keywords, kwargs)) = structure
        containers: list[Container] = []
        leaves: list[int] = []
        free = len(args) + len(kwargs)
        for slot, part in enumerate((*args, *kwargs)):
            free = _lay(slot, part, free, containers, leaves)
        slots = *leaves, *(c.slot for c in containers)
        return cls(len(args), keywords, tuple(containers), slots)

    def flat(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any] | None:
        """What the slots have in a call; None if it is another kind of call."""
        if len(args) != self.arguments or tuple(kwargs) != self.keywords:
            return None
        laid = [*args, *kwargs.values()]
        for container in self.containers:
            parts = container.parts(laid[container.slot])
            if parts is None:
                return None
            laid += parts
        return [laid[slot] for slot in self.slots]

    def size(self) -> int:
        """How many slots there are."""
        return self.arguments + len(self.keywords) + sum(c.count for c in self.containers)


def _lay(slot: int, part: Any, free: int, containers: list[Container], leaves: list[int]) -> int:
    """Note what lies in a slot, and lay its parts from `free` on; gives the next free slot."""
    if part is None:
        leaves.append(slot)
        return free
    kind, keys, parts = part
    containers.append(Container(slot, kind, keys, free, len(parts)))
    first, free = free, free + len(parts)
    for k, inner in enumerate(parts, first):
        free = _lay(k, inner, free, containers, leaves)
    return free


# ---- what the function does to them -----------------------------------------------------------


class Change(NamedTuple):
    """What became of a container: keys that are gone, and what is new or different, by key.

    A list that grew or shrank is given whole.
    """

    gone: tuple[Any, ...]
    parts: dict[Any, Any]


class Changed(NamedTuple):
    """The result of a function that changed containers it was given, and their changes by place."""

    result: Any
    changes: dict[int, Change]


def tracked(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """The function's result, with what it changed in containers among its arguments, if it did."""
    given = list(containers(args, kwargs))
    before = [_contents(container) for container in given]
    result = function(*args, **kwargs)
    changes = {}
    for place, (container, old) in enumerate(zip(given, before, strict=True)):
        change = _change(container, old, _contents(container))
        if isinstance(container, dict) and getattr(container, "__dict__", None):
            raise TracingError(
                f"a compiled function gives an attribute to a {type(container).__name__} that it "
                "is passed, of which each call knows the items only. Put it into an item."
            )
        if change is not None and type(container) in REGISTERED:
            raise TracingError(
                f"a compiled function changes what a {type(container).__name__} holds, which is a "
                "container by wengert.tree.register: its objects are values. Return a new one."
            )
        if change is not None:
            changes[place] = change
    return Changed(result, changes) if changes else result


def applied(outcome: Changed, containers: Sequence[Any]) -> Any:
    """The result, after the caller's containers were changed as told."""
    for place, (gone, parts) in outcome.changes.items():
        container = containers[place]
        if isinstance(container, list):
            if gone:
                container[:] = parts.values()
            else:
                for i, part in parts.items():
                    container[i] = part
        elif isinstance(container, dict):
            for key in gone:
                del container[key]
            container.update(parts)
        else:
            for key in gone:
                object.__delattr__(container, key)
            for key, part in parts.items():
                object.__setattr__(container, key, part)
    return outcome.result


def containers(args: Any, kwargs: Any) -> Iterator[Any]:
    """The containers among a call's arguments, in the order of `flatten`."""
    return _containers((*args, *kwargs.values()), ())


def _containers(items: Iterable[Any], around: tuple[int, ...]) -> Iterator[Any]:
    for item in items:
        container = None if type(item) in _LEAVES or id(item) in around else opened(item)
        if container is not None:
            yield item
            yield from _containers(container[2], (*around, id(item)))


def are_several(containers: Iterable[Any]) -> bool:
    """Whether those that can be changed are as many objects as they are places.

    A call that is given one twice is told apart by nothing else.
    """
    ids = [id(x) for x in containers if not isinstance(x, tuple)]
    return len(set(ids)) == len(ids)


def _contents(container: Any) -> dict[Any, Any]:
    if isinstance(container, (list, tuple)):
        return dict(enumerate(container))
    registered = registered_parts(container)
    if registered is not None:
        return dict(enumerate(registered[1]))
    return dict(container) if isinstance(container, dict) else _attributes(container)


def _change(container: Any, old: dict[Any, Any], new: dict[Any, Any]) -> Change | None:
    """None if the contents are the same objects. What a property has cached is no change."""
    if isinstance(container, list) and len(old) != len(new):
        return Change((len(old),), new)
    if isinstance(container, dict):
        stayed, came = [k for k in old if k in new], [k for k in new if k not in old]
        if [*new] != stayed + came:  # they come in another order
            return Change(tuple(old), new)
    gone = tuple(key for key in old if key not in new)
    parts = {key: x for key, x in new.items() if key not in old or old[key] is not x}
    if parts and not isinstance(container, (list, dict)) and type(container) not in REGISTERED:
        cached = functools.cached_property
        kind = type(container)
        parts = {k: x for k, x in parts.items() if not isinstance(getattr(kind, k, None), cached)}
    return Change(gone, parts) if gone or parts else None
