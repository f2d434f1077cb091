"""Settings of a call: an argument that is said to be a truth value, or a number, is one.

Python takes anything for a truth value, so that the word in `x.sort(-1, "stable")` would sort in
descending order. What an argument is, a function's annotations say; PyTorch takes for a `bool`
nothing but truth values, for an `int` whatever is whole and no truth value, and for a `float` one
number of any kind.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from wengert.dispatch import Function, signature
from wengert.errors import DtypeError
from wengert.tensor import Tensor

Told = TypeVar("Told", bound=Function)
_AT_ONCE = {
    "bool": frozenset({bool}),
    "bool | None": frozenset({bool, type(None)}),
    "int": frozenset({int}),
    "int | None": frozenset({int, type(None)}),
    "float": frozenset({float, int}),
}
"""By an annotation, the types of arguments that need no second look."""

_READ_BY_PYTHON = frozenset({"inplace", "hard", "full", "return_indices", "center"})
"""Truth values that PyTorch's own functions in Python read, where anything has one."""

Check = Callable[[tuple[Any, ...], dict[str, Any]], None]


def checked_settings(function: Function) -> tuple[int, Check]:
    """What raises TypeError for a call in which a setting is of another kind.

    It is to be asked of calls with keywords, or with more arguments than the number beside it. The
    message has no function's name, which `misfit` adds.

    >>> def sort(x, dim: int = -1, descending: bool = False): ...
    >>> at, check = checked_settings(sort)
    >>> check(("x", 0), {"descending": "stable"})
    Traceback (most recent call last):
    TypeError: argument 'descending' (position 3) must be bool, not str.
    """
    if hasattr(function, "settings_checked"):  # by what it was decorated with before
        return sys.maxsize, _nothing
    names, defaults = signature(function)
    written = inspect.unwrap(function)
    said = {n: _written(kind) for n, kind in getattr(written, "__annotations__", {}).items()}
    by_name = {n: (said[n], _AT_ONCE[said[n]]) for n in names if said.get(n) in _AT_ONCE}
    for name in _READ_BY_PYTHON & by_name.keys():
        del by_name[name]
    refused = vars(function).get("refused", {})
    if not by_name and not refused:
        return sys.maxsize, _nothing
    count = written.__code__.co_argcount
    placed = list(enumerate(names[:count]))
    by_place = [(i, n, *by_name[n]) for i, n in placed if n in by_name]
    tensors = [(i, refused[n]) for i, n in placed if n in refused]
    first = min([p[0] for p in by_place] + [p[0] for p in tensors], default=sys.maxsize)

    def refuse(name: str, kind: str, value: Any) -> None:
        if not (_fits(kind, value) or (value is None and defaults.get(name, 0) is None)):
            place = f" (position {names.index(name) + 1})" if name in names else ""
            raise TypeError(
                f"argument '{name}'{place} must be {kind.removesuffix(' | None')}, not "
                f"{type(value).__name__}."
            )

    def check(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if len(args) > first:
            for i, name, kind, at_once in by_place:
                if i < len(args) and type(args[i]) not in at_once:
                    refuse(name, kind, args[i])
            for i, kinds in tensors:
                if i < len(args):
                    refuse_dtype(function.__name__, args[i], kinds)
        for name in kwargs:
            if name in refused:
                refuse_dtype(function.__name__, kwargs[name], refused[name])
            if name in by_name:
                kind, at_once = by_name[name]
                if type(kwargs[name]) not in at_once:
                    refuse(name, kind, kwargs[name])

    return first, check


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


def refuse_unless_truth(name: str, value: Any) -> None:
    """TypeError for what is no truth value, where anything would have one."""
    if not _fits("bool", value):
        raise TypeError(f"argument '{name}' must be bool, not {type(value).__name__}.")


def _written(kind: Any) -> str:
    return kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))


def _fits(kind: str, value: Any) -> bool:
    """Whether a value is of a kind, which its type alone did not say."""
    if kind == "float":
        return hasattr(type(value), "__float__") and not getattr(value, "ndim", 0)
    if kind.startswith("bool"):
        return isinstance(value, (bool, np.bool_))
    if isinstance(value, (bool, np.bool_)):
        return False
    if isinstance(value, Tensor):
        return value.dtype.kind in "iu"
    return hasattr(type(value), "__index__")
