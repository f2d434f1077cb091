"""The structure of a result: containers, and what stands in them for what a call computes.

Lists, tuples, named tuples and dictionaries stand for themselves. All else that each call makes,
and those of them that several lead to, is an `Anew`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from wengert.compile.trace.anew import (
    Anew,
    Described,
    Unmakeable,
    described,
    is_plain,
    is_same_object,
)
from wengert.compile.trace.arrays.array import TracedArray
from wengert.compile.trace.parts import Part
from wengert.compile.trace.world.places import Output, Place, own_of
from wengert.tensor import Tensor

LEAVES = Output | Part | Place
"""What stands in a result's structure for what each call finds or makes."""


def gone_through(
    items: Iterable[Any],
    describe: Callable[[Any], Described],
    is_there: Callable[[Any], bool] = lambda x: False,
    again: Callable[[Any], None] = lambda x: None,
) -> Iterator[Any]:
    """The arrays and tensors in results, in order, each as often as it is met.

    What `is_there` anyway is not looked into; `again` is told of what was met before.
    """
    waiting, seen = [*items][::-1], dict[int, Any]()
    while waiting:
        x = waiting.pop()
        if isinstance(x, (Tensor, TracedArray)):
            yield x
            if isinstance(x, Tensor) and not is_there(x) and id(x) not in seen:
                seen[id(x)] = x
                waiting += reversed([*own_of(x).values()])
        elif is_there(x) or is_same_object(x):
            continue
        elif id(x) in seen:
            again(x)
        else:
            seen[id(x)] = x
            if is_plain(x):
                waiting += reversed([*x.values()] if type(x) is dict else x)
            else:
                description = describe(x)
                waiting += reversed((*description.args, *description.parts))


def tensors_in(item: Any) -> list[Tensor]:
    """The tensors in containers, and other objects that a function may make, in that order."""
    return [x for x in gone_through([item], _described) if isinstance(x, Tensor)]


def _described(x: Any) -> Described:
    try:
        return described(x)
    except Unmakeable:
        return Described(type(x))


def sequence(kind: type, parts: list[Any]) -> Any:
    """A list, tuple or named tuple."""
    return parts if kind is list else tuple.__new__(kind, parts)


def leaves_of(structure: Any) -> list[Any]:
    """What each call puts into a result's structure."""
    return [leaf for _, leaf in named_leaves(structure, ())]


def named_leaves(
    structure: Any, path: tuple[Any, ...], known: set[int] | None = None
) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The leaves of a result's structure, each with the keys that lead to it behind `path`."""
    if isinstance(structure, LEAVES):
        yield path, structure
        return
    parts: Any = structure
    known = set() if known is None else known
    if type(structure) is Anew:
        if id(structure) in known:
            return
        known.add(id(structure))
        parts = structure.named()
    elif hasattr(type(parts), "_fields"):
        parts = parts._asdict()
    if isinstance(parts, (list, tuple)):
        parts = dict(enumerate(parts))
    for key, part in parts.items() if type(parts) is dict else ():
        yield from named_leaves(part, (*path, key), known)


def outputs_in(structure: Any) -> list[Output]:
    """The outputs in a result's structure, and those that parts of it lie in."""
    leaves = leaves_of(structure)
    leaves += [x for leaf in leaves if type(leaf) is Part for x in leaf.chain()]
    return [leaf for leaf in leaves if type(leaf) is Output]


def filled(structure: Any, value_of: Callable[[Any], Any]) -> Any:
    """The result of a call: `value_of` gives what an output or an argument is in it."""
    return _filled(structure, value_of, {})


def _filled(structure: Any, value_of: Callable[[Any], Any], objects: dict[int, Any]) -> Any:
    """Its `objects` are made once, however many lead to them."""
    kind = type(structure)
    if isinstance(structure, LEAVES):
        return value_of(structure)
    if kind is dict:
        return {key: _filled(part, value_of, objects) for key, part in structure.items()}
    if isinstance(structure, (list, tuple)):
        return sequence(kind, [_filled(part, value_of, objects) for part in structure])
    if kind is not Anew:
        return structure
    if id(structure) not in objects:
        args = [_filled(part, value_of, objects) for part in structure.args]
        if id(structure) not in objects:  # nor by what it is made of
            objects[id(structure)] = structure.make(*args)
            parts = [_filled(part, value_of, objects) for part in structure.parts]
            if structure.fill is not None:
                structure.fill(objects[id(structure)], *parts)
    return objects[id(structure)]
