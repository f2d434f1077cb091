"""Settings of a call: an argument that is said to be a truth value, or a number, is one.

Python takes anything for a truth value, so that the word in `x.sort(-1, "stable")` would sort in
descending order. What an argument is, a function's annotations say; PyTorch takes for a `bool`
nothing but truth values, for an `int` whatever is whole and no truth value, and for a `float` one
number of any kind.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from wengert import dtypes
from wengert.dispatch import Function, signature
from wengert.errors import DtypeError
from wengert.tensor import Tensor

Told = TypeVar("Told", bound=Function)
_KINDS: dict[str, set[type]] = {
    "bool": {bool},
    "int": {int},
    "float": {float, int},
    "complex": {complex, float, int},
}
_BESIDE: dict[str, list[type]] = {
    "": [],
    " | None": [type(None)],
    " | str": [str],
    " | str | None": [str, type(None)],
}
_AT_ONCE = {
    kind + others: frozenset({*types, *more})
    for kind, types in _KINDS.items()
    for others, more in _BESIDE.items()
}
"""By an annotation, the types of arguments that need no second look."""

_READ_BY_PYTHON = frozenset({"inplace", "hard", "full", "return_indices", "center"})
"""Truth values that PyTorch's own functions in Python read, where anything has one."""

Check = Callable[[tuple[Any, ...], dict[str, Any]], None]
Glance = tuple[tuple[int, frozenset[type]], ...]
"""By place, the types of a setting that need no second look.

A call without keywords is right at a glance if all of these are.
"""


def checked_settings(function: Function) -> tuple[Glance, Check]:
    """What raises TypeError for a call in which a setting is of another kind.

    It is to be asked of calls that are not right at a glance. The message has no function's name,
    which `misfit` adds.

    >>> def sort(x, dim: int = -1, descending: bool = False): ...
    >>> glance, check = checked_settings(sort)
    >>> glance
    ((1, frozenset({<class 'int'>})), (2, frozenset({<class 'bool'>})))
    >>> check(("x", 0), {"descending": "stable"})
    Traceback (most recent call last):
    TypeError: argument 'descending' (position 3) must be bool, not str.
    """
    if hasattr(function, "settings_checked"):  # by what it was decorated with before
        return (), _nothing
    written = inspect.unwrap(function)
    names, refused = signature(function)[0], vars(function).get("refused", {})
    said = _kinds(written)
    settings = refused.keys() | {n for n in names if said.get(n) in _AT_ONCE}
    if settings <= _READ_BY_PYTHON:
        return (), _nothing
    placed = enumerate(names[: written.__code__.co_argcount])
    glance = [
        (i, frozenset[type]() if n in refused else _AT_ONCE[said[n]])
        for i, n in placed
        if n in settings
    ]
    return tuple(glance), _Settings(function).check


class _Settings:
    """The settings of a function. They are read when a call is checked: most never are."""

    __slots__ = "by_name", "by_place", "function", "refused", "tensors"
    by_name: dict[str, tuple[str, frozenset[type]]]
    refused: dict[str, str]
    tensors: list[tuple[int, str]]

    def __init__(self, function: Function) -> None:
        self.function = function
        self.by_place: list[tuple[int, str, str, frozenset[type]]] | None = None

    def read(self) -> None:
        names, written = signature(self.function)[0], inspect.unwrap(self.function)
        said = _kinds(written)
        self.refused = vars(self.function).get("refused", {})
        self.by_name = {
            n: (said[n], _AT_ONCE[said[n]])
            for n in names
            if said.get(n) in _AT_ONCE and n not in _READ_BY_PYTHON
        }
        placed = list(enumerate(names[: written.__code__.co_argcount]))
        self.tensors = [(i, self.refused[n]) for i, n in placed if n in self.refused]
        self.by_place = [(i, n, *self.by_name[n]) for i, n in placed if n in self.by_name]

    def check(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self.by_place is None:
            self.read()
        count = len(args)
        for i, name, kind, at_once in self.by_place:  # type: ignore[union-attr]
            if i >= count:
                break
            if type(args[i]) not in at_once:
                self.refuse(name, kind, args[i])
        for i, kinds in self.tensors:
            if i < count and isinstance(x := args[i], Tensor) and x._array.dtype.kind in kinds:
                refuse_dtype(self.function.__name__, x, kinds)
        for name in kwargs:
            if name in self.refused:
                refuse_dtype(self.function.__name__, kwargs[name], self.refused[name])
            if name in self.by_name:
                kind, at_once = self.by_name[name]
                if type(kwargs[name]) not in at_once:
                    self.refuse(name, kind, kwargs[name])

    def refuse(self, name: str, kind: str, value: Any) -> None:
        names, defaults = signature(self.function)
        if not (_fits(kind, value) or (value is None and defaults.get(name, 0) is None)):
            place = f" (position {names.index(name) + 1})" if name in names else ""
            refuse_tracked(name, value, place)
            kind = kind.removesuffix(" | None").replace("complex", "a number")
            raise TypeError(
                f"argument '{name}'{place} must be {kind}, not {dtypes.class_of(value).__name__}."
            )


def _nothing(_: Any, __: Any) -> None:
    """The check of functions that have no settings, or check them already."""


def refuses(**kinds: str) -> Callable[[Told], Told]:
    """Mark a function that is not defined for some dtypes: by argument their kinds, as NumPy's.

    It is asked where the function's settings are: it is to be decorated with what checks them.
    """

    def mark(function: Told) -> Told:
        vars(function)["refused"] = kinds
        return function

    return mark


def refuse_dtype(name: str, x: Any, kinds: str) -> None:
    """DtypeError for a tensor of a dtype of one of these kinds, which `name` is not defined for."""
    if isinstance(x, Tensor) and x._array.dtype.kind in kinds:
        hint = "Compare x.abs(), or x.real" if kinds == "c" else "Convert it first, as in x.float()"
        raise DtypeError(f'"{name}" is not implemented for {x.dtype}. {hint}.')


def settled(function: Told) -> Told:
    """Mark a function as one that checks its settings."""
    vars(function)["settings_checked"] = True
    return function


def refuse_tracked(name: str, value: Any, place: str = "") -> None:
    """TypeError for a setting that requires grad: its derivative would silently be lost."""
    if isinstance(value, Tensor) and value.requires_grad:
        raise TypeError(
            f"argument '{name}'{place} must be a number, not a Tensor that requires grad: there is "
            f"no derivative by it. Pass {name}.detach()."
        )


def refuse_unless_truth(name: str, value: Any) -> None:
    """TypeError for what is no truth value, where anything would have one."""
    if not _fits("bool", value):
        raise TypeError(f"argument '{name}' must be bool, not {dtypes.class_of(value).__name__}.")


def _kinds(written: Function) -> dict[str, str]:
    """The annotations of a function, as they are written."""
    said = getattr(written, "__annotations__", {})
    texts = {n: k if type(k) is str else getattr(k, "__name__", str(k)) for n, k in said.items()}
    return {n: text.removeprefix("builtins.") for n, text in texts.items()}


def _fits(kind: str, value: Any) -> bool:
    """Whether a value is of a kind, which its type alone did not say."""
    kind, _, _ = kind.partition(" ")
    if dtypes.is_number_to_come(value):
        value = dtypes.class_of(value)(1)
    if kind in ("float", "complex"):
        if isinstance(value, Tensor):
            return not value.ndim and not value.requires_grad
        asked = f"__{kind}__", "__float__"
        return any(hasattr(type(value), m) for m in asked) and not np.ndim(value)
    if kind == "bool":
        return isinstance(value, (bool, np.bool_))
    if isinstance(value, (bool, np.bool_)):
        return False
    if isinstance(value, Tensor):
        return value.dtype.kind in "iu"
    return hasattr(type(value), "__index__")
