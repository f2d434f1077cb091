"""The structure of a result: containers, and what stands in them for what a call computes.

Lists, tuples, named tuples and dictionaries are containers, and so are dataclasses and other kinds
of dictionaries, of which each call gets a copy.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from wengert import tree
from wengert.compile.trace.arguments import registered_parts as _registered
from wengert.compile.trace.parts import Part
from wengert.compile.trace.places import Output, Place
from wengert.tensor import Tensor

LEAVES = Output | Part | Place
"""What stands in a result's structure for what each call finds or makes."""


class Filled(NamedTuple):
    """An object that is made anew for each call, with these attributes or items."""

    empty: Any
    parts: dict[Any, Any]

    @classmethod
    def like(cls, container: Any, parts: dict[Any, Any]) -> Filled:
        """Without the parts themselves, which may be large."""
        registered = _registered(container)
        if registered is not None:
            return cls(Registered(type(container), registered[0]), parts)
        return cls(_with(container, dict.fromkeys(parts)), parts)


class Registered(NamedTuple):
    """An object of a class that was registered as a container, without its parts."""

    kind: type
    constants: tree.Constants


def named_parts(container: Any) -> dict[Any, Any] | None:
    """What a dictionary, a dataclass or a registered object holds; None for all else."""
    registered = _registered(container)
    if registered is not None:
        return dict(enumerate(registered[1]))
    if isinstance(container, dict):
        return dict(container.items())
    if dataclasses.is_dataclass(container) and not isinstance(container, type):
        names = [f.name for f in dataclasses.fields(container) if hasattr(container, f.name)]
        return {name: getattr(container, name) for name in names}
    return None


def parts_of(container: Any) -> Iterable[Any]:
    """What a container holds, in order."""
    if isinstance(container, (list, tuple)):
        return container
    return (named_parts(container) or {}).values()


def tensors_in(item: Any) -> list[Tensor]:
    """The tensors in nested containers, in order."""
    if isinstance(item, Tensor):
        return [item]
    return [t for part in parts_of(item) for t in tensors_in(part)]


def parts_within(item: Any) -> list[Any]:
    """What nested containers hold that is no container, in order."""
    found = [x for part in parts_of(item) for x in parts_within(part)]
    return found or [item]


def sequence(kind: type, parts: list[Any]) -> Any:
    """A list, tuple or named tuple."""
    return kind(*parts) if hasattr(kind, "_fields") else kind(parts)


def leaves_of(structure: Any) -> list[Any]:
    """What each call puts into a result's structure."""
    return [leaf for _, leaf in named_leaves(structure, ())]


def named_leaves(structure: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The leaves of a result's structure, each with the keys that lead to it behind `path`."""
    if isinstance(structure, LEAVES):
        yield path, structure
        return
    parts: Any = structure.parts if type(structure) is Filled else structure
    if hasattr(type(parts), "_fields"):
        parts = parts._asdict()
    if isinstance(parts, (list, tuple)):
        parts = dict(enumerate(parts))
    for key, part in parts.items() if type(parts) is dict else ():
        yield from named_leaves(part, (*path, key))


def outputs_in(structure: Any) -> list[Output]:
    """The outputs in a result's structure, and those that parts of it lie in."""
    leaves = leaves_of(structure)
    leaves += [x for leaf in leaves if type(leaf) is Part for x in leaf.chain()]
    return [leaf for leaf in leaves if type(leaf) is Output]


def filled(structure: Any, value_of: Callable[[Any], Any]) -> Any:
    """The result of a call: `value_of` gives what an output or an argument is in it."""
    if isinstance(structure, LEAVES):
        return value_of(structure)
    if type(structure) is Filled:
        return _with(structure.empty, filled(structure.parts, value_of))
    if type(structure) is dict:
        return {key: filled(part, value_of) for key, part in structure.items()}
    if isinstance(structure, (list, tuple)):
        return sequence(type(structure), [filled(part, value_of) for part in structure])
    return structure


def _with(container: Any, parts: dict[Any, Any]) -> Any:
    """A copy of a dataclass or dictionary that holds other parts."""
    if type(container) is Registered:
        return tree.made(*container, [*parts.values()])
    made = copy.copy(container)
    for key, part in parts.items():
        if isinstance(made, dict):
            made[key] = part
        else:
            object.__setattr__(made, key, part)  # which a frozen one allows too
    return made
