"""States: containers of tensors, arrays and numbers that a loop carries, or that branches return.

All iterations have to agree on the *form* of the state, and all branches on that of the result: the
containers, and the shape and dtype of each leaf. A Python number has the form of what takes its
place first.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from wengert.compile.trace.observe.stubs import code_of
from wengert.errors import StateError
from wengert.functions.creation import as_tensor
from wengert.functions.joining import stack
from wengert.functions.shapes import clone
from wengert.history.location import here, line_of
from wengert.tensor import Tensor
from wengert.tree import flatten, paths, rebuild
from wengert.tree import map as tree_map

NUMBERS = (bool, int, float, complex)


class Form(NamedTuple):
    """The containers of a state, and (shape, dtype) of each leaf; None for a Python number."""

    tree: Any
    leaves: tuple[Any, ...]


def split(state: Any, what: str) -> tuple[list[Any], Form]:
    """The leaves of a state, and its form. `what` names it, for errors."""
    leaves, tree = flatten(state)
    forms = tuple([_form(leaf) for leaf in leaves])
    if NotImplemented in forms:
        k = forms.index(NotImplemented)
        raise StateError(
            f"{what}{list(paths(tree))[k]} is a {type(leaves[k]).__name__}. Tensors, NumPy arrays, "
            "numbers, and lists, tuples, dicts, named tuples and dataclasses of them can be there; "
            "what else a body needs it may close over."
        )
    return leaves, Form(tree, forms)


def _form(leaf: Any) -> Any:
    if type(leaf) is Tensor:
        return leaf._array.shape, leaf._array.dtype
    if isinstance(leaf, NUMBERS) and not isinstance(leaf, np.generic):
        return None
    if hasattr(leaf, "shape") and hasattr(leaf, "dtype"):
        array = getattr(leaf, "_array", leaf)
        return None if getattr(array, "weak", False) else (tuple(array.shape), array.dtype)
    return NotImplemented


def agreed(first: Form, second: Form, one: str, other: str, function: Any) -> Form:
    """The form that two have in common; `one` and `other` name them, for errors."""
    if first == second:
        return first
    if first.tree != second.tree:
        raise StateError(
            f"{one} has the structure {first.tree!r}, but {other} has {second.tree!r}, where each "
            f"* is a tensor, an array or a number, {place(function)}\nReturn the same containers, "
            "with as many items."
        )
    leaves = []
    for k, (a, b) in enumerate(zip(first.leaves, second.leaves, strict=True)):
        number = a is None or b is None
        if a != b and (not number or (a or b)[0] != ()):
            at = list(paths(first.tree))[k]
            help = "Both must have the same shape and dtype: reshape or convert one of them."
            if number:
                help = "Start with an array of that shape, e.g. wg.zeros(...)."
            raise StateError(
                f"{one}{at} is {described(a)}, but {other}{at} is {described(b)}, "
                f"{place(function)}\n{help}"
            )
        leaves.append(b if a is None else a)
    return Form(first.tree, tuple(leaves))


def split_branch(
    result: Any, before: Form | None, what: str, names: Sequence[str], k: int, function: Any
) -> tuple[list[Any], Form]:
    """The leaves of what branch k returns, and the form that all have so far."""
    leaves, form = split(result, f"what {names[k]} of {what} returns: result")
    if before is not None:
        one, other = f"the result of {names[0]} of {what}", f"that of {names[k]}"
        form = agreed(before, form, one, other, function)
    return leaves, form


def apart(state: Any) -> Any:
    """A copy of a state: what a loop or a branch returns shares no memory with what was there
    before, whichever way it went.

    A compiled program makes all ways end in the same memory, for which way is taken shows when it
    runs.
    """
    return tree_map(_copied, state)


def _copied(leaf: Any) -> Any:
    if isinstance(leaf, Tensor):
        return clone(leaf)
    return leaf if isinstance(leaf, np.generic) or _form(leaf) is None else np.copy(leaf)


def described(form: Any) -> str:
    if form is None:
        return "a Python number"
    shape, dtype = form
    return f"an array of shape {list(shape)} and dtype {dtype}"


def place(function: Any) -> str:
    """Where a loop was called, and which function it was given, for errors."""
    function = inspect.unwrap(function)
    code = code_of(function) if isinstance(function, FunctionType) else None
    named = f"{getattr(function, '__name__', type(function).__name__)}"
    begun = f" (line {code.co_firstlineno} of {code.co_filename})" if code else ""
    return f"in {named}{begun}, called at\n  {line_of(*here())}"


# ---- rows ---------------------------------------------------------------------------------------


def length_of(xs: Any, length: int | None, what: str, name: str = "xs") -> int:
    """How many rows there are: the first extent of all leaves."""
    leaves, form = split(xs, name)
    counts = {}
    for at, leaf, known in zip(paths(form.tree), leaves, form.leaves, strict=True):
        if known is None or not known[0]:
            raise StateError(
                f"{what}: {name}{at} is {described(known)}, and has no rows to go through. Give "
                "it one more dimension, or let the body close over it."
            )
        counts[f"{name}{at}"] = leaf.shape[0]
    if length is not None:
        counts["length"] = length
    if not counts:
        raise StateError(
            f"{what} needs {name} to go through, or length=, the number of iterations."
        )
    if len(set(counts.values())) > 1:
        told = ", ".join(f"{name}: {n}" for name, n in counts.items())
        longest, least = max(counts, key=counts.__getitem__), min(counts.values())
        cure = f"length={least}" if longest == "length" else f"{longest}[:{least}]"
        raise StateError(
            f"{what} goes through all of {name} at once, but there are ({told}) rows, at\n"
            f"  {line_of(*here())}\nGive all as many, e.g. {cure}."
        )
    return next(iter(counts.values()))


def row(xs: Any, k: Any) -> Any:
    """Row k of all leaves."""
    leaves, tree = flatten(xs)
    return rebuild(tree, iter([leaf[k] for leaf in leaves]))


def stacked(rows: list[list[Any]], tensors: bool) -> Iterator[Any]:
    """For each leaf of what the iterations returned, all of it as one array."""
    for column in zip(*rows, strict=True):
        if tensors or any(isinstance(x, Tensor) for x in column):
            yield stack(list(map(as_tensor, column)))
        else:
            yield np.stack(column)
