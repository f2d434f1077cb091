"""Containers of tensors: nested lists, tuples, dictionaries, dataclasses, and classes of your own.

Transforms, compiled functions and files look into the same ones.

>>> import wengert.tree as tree
>>> tree.map(lambda x, step: x - step, {"a": 1.0, "b": [2.0, None]}, {"a": 0.5, "b": [1.0, None]})
{'a': 0.5, 'b': [1.0, None]}
>>> tree.leaves({"a": 1.0, "b": [2.0, None]})
[1.0, 2.0]
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from wengert.containers import register as register
from wengert.transforms import calls
from wengert.transforms.calls import Tree as Tree


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """(leaves, structure): what is in nested containers, and the containers without it.

    None is a container of nothing.

    >>> flatten((1.0, {"a": 2.0}))
    ([1.0, 2.0], (*, {'a': *}))
    """
    found: list[Any] = []
    structure = calls.flatten(tree, found)
    return found, structure


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
    needed = len(list(calls.paths(structure)))
    if len(given) != needed:
        raise ValueError(
            f"tree.unflatten: the structure {structure!r} has room for {needed} leaves, but "
            f"{len(given)} were given"
        )
    return calls.rebuild(structure, iter(given))


def map(f: Callable[..., Any], tree: Any, *rest: Any) -> Any:
    """`f(leaf, *leaves of the rest)` in the place of each leaf; all trees have one structure.

    GradError says which two structures differ.
    """
    found, structure = flatten(tree)
    others = [calls.matched(structure, other, "tree.map: the other trees") for other in rest]
    made = [f(*items) for items in zip(found, *others, strict=True)]
    return calls.rebuild(structure, iter(made))


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
