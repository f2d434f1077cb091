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
from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from wengert.tensor import Tensor

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
    kind: Any = type(item)
    if kind in _LEAVES:
        leaves.append(item)
        return None
    if kind is tuple or kind is list:
        return kind, tuple([flatten(part, leaves, around) for part in item])
    parts = named_parts_of(item)
    if parts is None or id(item) in around:
        leaves.append(item)
        return None
    around = (*around, id(item))
    if kind is defaultdict:
        kind = Defaulting(item.default_factory)
    return kind, tuple([(key, flatten(part, leaves, around)) for key, part in parts.items()])


def named_parts_of(item: Any) -> dict[Any, Any] | None:
    """What a container holds by name; None for anything else."""
    kind: Any = type(item)
    if kind in _MAPPINGS:
        return item
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
    kind, parts = part
    if kind is tuple or kind is list:
        return kind([_built(p, items) for p in parts])
    named = {key: _built(p, items) for key, p in parts}
    if type(kind) is Defaulting:
        return defaultdict(kind.factory, named)
    if kind in _MAPPINGS:
        return named if kind is dict else kind(named)
    if issubclass(kind, tuple):
        return tuple.__new__(kind, named.values())
    made = kind.__new__(kind)
    for key, value in named.items():
        object.__setattr__(made, key, value)  # which a frozen one allows too
    return made


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
    containers = list(_containers((args, kwargs)))
    before = [_contents(container) for container in containers]
    result = function(*args, **kwargs)
    changes = {}
    for place, (container, old) in enumerate(zip(containers, before, strict=True)):
        change = _change(container, old, _contents(container))
        if change is not None:
            changes[place] = change
    return Changed(result, changes) if changes else result


def applied(outcome: Changed, args: Any, kwargs: Any) -> Any:
    """The result, after the caller's containers were changed as the function says."""
    containers = list(_containers((args, kwargs)))
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


def _containers(item: Any, around: tuple[int, ...] = ()) -> Iterator[Any]:
    """The containers that can be changed, in the order of `flatten`."""
    kind = type(item)
    if kind in _LEAVES:
        return
    if kind is tuple or kind is list:
        if kind is list:
            yield item
        for part in item:
            yield from _containers(part, around)
        return
    parts = named_parts_of(item)
    if parts is None or id(item) in around:
        return
    if not isinstance(item, tuple):
        yield item
    for part in list(parts.values()):
        yield from _containers(part, (*around, id(item)))


def _contents(container: Any) -> dict[Any, Any]:
    if isinstance(container, list):
        return dict(enumerate(container))
    return dict(container) if isinstance(container, dict) else _attributes(container)


def _change(container: Any, old: dict[Any, Any], new: dict[Any, Any]) -> Change | None:
    """None if the contents are the same objects. What a property has cached is no change."""
    if isinstance(container, list) and len(old) != len(new):
        return Change((len(old),), new)
    gone = tuple(key for key in old if key not in new)
    parts = {key: x for key, x in new.items() if key not in old or old[key] is not x}
    if parts and not isinstance(container, (list, dict)):
        cached = functools.cached_property
        kind = type(container)
        parts = {k: x for k, x in parts.items() if not isinstance(getattr(kind, k, None), cached)}
    return Change(gone, parts) if gone or parts else None
