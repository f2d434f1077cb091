"""What a container is: the one notion that transforms, compiled functions and files share.

Lists, tuples, dictionaries, named tuples and dataclasses are containers by themselves. Other
classes become containers by `register`, which says what their objects hold and how one is made of
other parts. Leaves are all else. `wengert.tree` has the functions for users; nothing of the package
is imported here.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

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


def opened(item: Any) -> tuple[Constants, tuple[Any, ...]] | None:
    """The constants and the parts of an object of a registered class; None for all else."""
    form = REGISTERED.get(type(item))
    if form is None:
        return None
    parts, constants = form.flatten(item)
    return Constants((constants,)), tuple(parts)


def made(kind: type, constants: Constants, parts: list[Any]) -> Any:
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
