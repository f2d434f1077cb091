"""Containers of tensors: nested lists, tuples, dictionaries, dataclasses, and classes of your own.

The one notion that transforms, compiled functions and files share. Lists, tuples, dictionaries,
named tuples and dataclasses are containers by themselves; other classes become containers by
`register`, which says what their objects hold and how one is made of other parts. Leaves are all
else. Of two containers of one `structure`, only the leaves differ.

>>> import wengert.tree as tree
>>> tree.map(lambda x, step: x - step, {"a": 1.0, "b": [2.0, None]}, {"a": 0.5, "b": [1.0, None]})
{'a': 0.5, 'b': [1.0, None]}
>>> tree.leaves({"a": 1.0, "b": [2.0, None]})
[1.0, 2.0]
"""

from __future__ import annotations

import builtins
import dataclasses
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from wengert.errors import GradError

__all__ = ["all", "flatten", "leaves", "map", "reduce", "register", "structure", "unflatten"]

Opened = Callable[[Any], tuple[Any, Any]]
Made = Callable[[Any, Any], Any]


class Form(NamedTuple):
    """How objects of a registered class are taken apart, and made."""

    flatten: Opened
    unflatten: Made


class Constants(tuple[Any, ...]):
    """In the place of a container's keys: what a registered object has beside its parts."""

    __slots__ = ()


REGISTERED: dict[type, Form] = {}


def register(kind: Any = None, flatten: Opened | None = None, unflatten: Made | None = None) -> Any:
    """Make the objects of a class containers: `flatten(x)` is (parts, constants), and
    `unflatten(constants, parts)` makes one of other parts.

    Without them the class says it itself, by methods `tree_flatten(self)` and
    `tree_unflatten(cls, constants, parts)`, and `register` is a decorator. Constants are compared,
    by ==, where two structures have to be the same. Dataclasses are containers without being
    registered.

    TypeError for what is no class, for tensors and arrays, and for a class that says nothing.

    >>> import numpy as np
    >>> import wengert as wg
    >>> @register
    ... class Line:
    ...     def __init__(self, slope, offset):
    ...         self.slope, self.offset = slope, offset
    ...     def tree_flatten(self):
    ...         return (self.slope, self.offset), None
    ...     @classmethod
    ...     def tree_unflatten(cls, constants, parts):
    ...         return cls(*parts)
    >>> gradient = wg.grad(lambda line: line.slope * 2.0 + line.offset)(Line(1.0, 3.0))
    >>> gradient.slope, gradient.offset
    (2.0, 1.0)
    """
    if not isinstance(kind, type):
        raise TypeError(f"tree.register takes a class, but got {type(kind).__name__} {kind!r}")
    if hasattr(kind, "__array_function__"):
        raise TypeError(f"tree.register: {kind.__name__} is a kind of array, which is a leaf")
    if flatten is None and unflatten is None:
        if not (hasattr(kind, "tree_flatten") and hasattr(kind, "tree_unflatten")):
            raise TypeError(
                f"tree.register: say what {kind.__name__} holds: flatten=, which gives (parts, "
                "constants), and unflatten=, which makes an object of (constants, parts); or "
                "define the methods tree_flatten and tree_unflatten"
            )
        methods: Any = kind
        flatten, unflatten = methods.tree_flatten, methods.tree_unflatten
    if flatten is None or unflatten is None:
        raise TypeError(f"tree.register({kind.__name__}, ...) needs both flatten= and unflatten=")
    REGISTERED[kind] = Form(flatten, unflatten)
    return kind


# ---- containers, one level deep ------------------------------------------------------------


def opened(item: Any) -> tuple[Constants, tuple[Any, ...]] | None:
    """The constants and the parts of an object of a registered class; None for all else."""
    form = REGISTERED.get(type(item))
    if form is None:
        return None
    parts, constants = form.flatten(item)
    return Constants((constants,)), tuple(parts)


def unflattened(kind: type, constants: Constants, parts: list[Any]) -> Any:
    """An object of a registered class."""
    return REGISTERED[kind].unflatten(constants[0], tuple(parts))


def named_parts(item: Any) -> dict[Any, Any] | None:
    """The parts of a container whose parts have names; None for anything else."""
    kind = type(item)
    if kind is dict or kind is OrderedDict:
        return item
    if isinstance(item, tuple) and hasattr(kind, "_fields"):
        return dict(zip(kind._fields, item, strict=True))
    if dataclasses.is_dataclass(kind) and kind not in REGISTERED:
        return {f.name: getattr(item, f.name) for f in dataclasses.fields(kind) if f.init}
    return None


# ---- structures ----------------------------------------------------------------------------


class Tree(NamedTuple):
    """A container without its leaves: its type, its keys (None for sequences) and its parts."""

    kind: type
    keys: tuple[Any, ...] | None
    parts: tuple[Any, ...]

    def __repr__(self) -> str:
        if self.kind is type(None):
            return "None"
        if type(self.keys) is Constants:
            return f"{self.kind.__name__}({', '.join(builtins.map(repr, self.parts))})"
        if self.keys is None:
            inside = ", ".join(builtins.map(repr, self.parts))
            comma = "," if len(self.parts) == 1 else ""
            return f"[{inside}]" if self.kind is list else f"({inside}{comma})"
        pairs = zip(self.keys, self.parts, strict=True)
        if issubclass(self.kind, dict):
            return "{" + ", ".join(f"{key!r}: {part!r}" for key, part in pairs) + "}"
        return f"{self.kind.__name__}(" + ", ".join(f"{k}={p!r}" for k, p in pairs) + ")"


class _Leaf:
    def __repr__(self) -> str:
        return "*"

    def __reduce__(self) -> str:
        return "LEAF"  # there is one, also where containers come from another process


LEAF = _Leaf()
NOTHING = Tree(type(None), None, ())
ATOMS: set[type] = {np.ndarray, float, int, bool, complex, np.float64, np.float32}
"""Classes whose objects are leaves, whatever else they are; those who define some add them."""


def collect(item: Any, leaves: list[Any]) -> Any:
    """The structure of nested containers; their leaves are added to the list.

    >>> leaves = []
    >>> collect({"a": 1.0, "b": [2.0, None]}, leaves), leaves
    ({'a': *, 'b': [*, None]}, [1.0, 2.0])
    """
    kind = type(item)
    if kind in ATOMS:
        leaves.append(item)
        return LEAF
    if item is None:
        return NOTHING
    if kind is tuple or kind is list:
        return Tree(kind, None, tuple([collect(part, leaves) for part in item]))
    named = named_parts(item)
    if named is None:
        registered = opened(item)
        if registered is not None:
            constants, parts = registered
            return Tree(kind, constants, tuple([collect(part, leaves) for part in parts]))
        leaves.append(item)
        return LEAF
    return Tree(kind, tuple(named), tuple([collect(part, leaves) for part in named.values()]))


def rebuild(tree: Any, leaves: Iterator[Any]) -> Any:
    """The containers of a structure, around other leaves."""
    if tree is LEAF:
        return next(leaves)
    kind, keys, parts = tree
    if kind is type(None):
        return None
    inside = [rebuild(part, leaves) for part in parts]
    if keys is None:
        return kind(inside)
    if type(keys) is Constants:
        return unflattened(kind, keys, inside)
    pairs = zip(keys, inside, strict=True)
    return kind(pairs) if issubclass(kind, dict) else kind(**dict(pairs))


def paths(tree: Any, before: str = "") -> Iterator[str]:
    """How to reach each leaf, as Python writes it: [0]['weight']."""
    if tree is LEAF:
        yield before
        return
    for i, part in enumerate(tree.parts):
        if tree.keys is None or type(tree.keys) is Constants:
            step = f"[{i}]"
        elif issubclass(tree.kind, dict):
            step = f"[{tree.keys[i]!r}]"
        else:
            step = f".{tree.keys[i]}"
        yield from paths(part, before + step)


def matched(
    tree: Any, item: Any, what: str, whole: Callable[[Any], Any] | None = None
) -> list[Any]:
    """The leaves of an item that must have the containers of `tree`; keys in any order.

    `whole` makes leaves of containers that stand in place of one, as lists of numbers may.
    """
    leaves: list[Any] = []
    if not _collect(tree, item, leaves, whole):
        got = repr(collect(item, []))
        raise GradError(
            f"{what} must have the structure {tree!r}, but {got} was given, where each * is a "
            "tensor, an array or a number."
        )
    return leaves


def _collect(tree: Any, item: Any, leaves: list[Any], whole: Any = None) -> bool:
    """Add the leaves of an item, in the order of `tree`; False if it has other containers."""
    if tree is LEAF:
        item = item if whole is None else whole(item)
        leaves.append(item)
        return collect(item, []) is LEAF
    kind, keys, parts = tree
    if kind is type(None):
        return item is None
    if keys is None:
        if type(item) is not kind or len(item) != len(parts):
            return False
        given = item
    elif type(keys) is Constants:
        registered = opened(item) if type(item) is kind else None
        if registered is None or registered[0] != keys or len(registered[1]) != len(parts):
            return False
        given = registered[1]
    else:
        named = named_parts(item) if isinstance(item, (dict, kind)) else None
        if named is None or set(named) != set(keys):
            return False
        given = [named[key] for key in keys]
    return builtins.all(
        _collect(part, x, leaves, whole) for part, x in zip(parts, given, strict=True)
    )


# ---- for users -----------------------------------------------------------------------------


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """(leaves, structure): what is in nested containers, and the containers without it.

    None is a container of nothing.

    >>> flatten((1.0, {"a": 2.0}))
    ([1.0, 2.0], (*, {'a': *}))
    """
    leaves: list[Any] = []
    structure = collect(tree, leaves)
    return leaves, structure


def leaves(tree: Any) -> list[Any]:
    """What is in nested containers, in order."""
    return flatten(tree)[0]


def structure(tree: Any) -> Any:
    """The containers without what they hold; structures can be compared by ==."""
    return flatten(tree)[1]


def unflatten(structure: Any, leaves: Any) -> Any:
    """The containers of a structure, around other leaves: ValueError if there are too few or many.

    >>> unflatten(flatten((1.0, {"a": 2.0}))[1], [3.0, 4.0])
    (3.0, {'a': 4.0})
    """
    given = list(leaves)
    needed = len(list(paths(structure)))
    if len(given) != needed:
        raise ValueError(
            f"tree.unflatten: the structure {structure!r} has room for {needed} leaves, but "
            f"{len(given)} were given"
        )
    return rebuild(structure, iter(given))


def map(f: Callable[..., Any], tree: Any, *rest: Any) -> Any:
    """`f(leaf, *leaves of the rest)` in the place of each leaf; all trees have one structure.

    GradError says which two structures differ.
    """
    leaves, structure = flatten(tree)
    others = [matched(structure, other, "tree.map: the other trees") for other in rest]
    return rebuild(structure, builtins.map(f, leaves, *others))


def all(tree: Any) -> bool:
    """Whether all leaves are true."""
    return builtins.all(leaves(tree))


def reduce(f: Callable[[Any, Any], Any], tree: Any, initial: Any) -> Any:
    """`f(f(initial, first leaf), second leaf)`, and so on.

    >>> reduce(lambda total, x: total + x, {"a": 1.0, "b": [2.0, 3.0]}, 0.0)
    6.0
    """
    for leaf in leaves(tree):
        initial = f(initial, leaf)
    return initial
