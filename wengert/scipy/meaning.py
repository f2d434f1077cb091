"""How a function of SciPy's gets a meaning on tensors: `meaning("linalg")` above its definition.

The definition has the arguments of SciPy's function on which a derivative depends, under SciPy's
names; in which order they are given, and what their defaults are, is read off SciPy's signature.
Definitions are written in NumPy's functions, so that every kind of array can run them.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.errors import MissingRuleError

Function = Callable[..., Any]


def holds_arrays(x: Any) -> bool:
    """Whether there is an array here that is no array of NumPy's, or in lists and dicts."""
    if isinstance(x, (list, tuple)):
        return any(map(holds_arrays, x))
    if isinstance(x, dict):
        return any(map(holds_arrays, x.values()))
    return hasattr(type(x), "__array_function__") and not isinstance(x, (np.ndarray, np.generic))


def meaning(module: str, of: Any = None) -> Callable[[Function], Function]:
    """A decorator: this is what the function of its name in `scipy.MODULE` means on tensors."""

    def decorate(own: Function) -> Function:
        name = own.__name__
        theirs = getattr(importlib.import_module(f"scipy.{module}") if of is None else of, name)
        described = _described(f"scipy.{module}.{name}", own, theirs)

        @functools.wraps(own)
        def called(*args: Any, **kwargs: Any) -> Any:
            if not (holds_arrays(args) or holds_arrays(kwargs)):
                return theirs(*args, **kwargs)
            return described(*args, **kwargs)

        return called

    return decorate


def _described(name: str, own: Function, theirs: Function) -> Function:
    """A definition that is called as SciPy's function is."""
    try:
        signature = inspect.signature(theirs)
    except ValueError:  # functions in C say nothing of theirs
        return own
    known = inspect.signature(own).parameters
    if any(p.kind is p.VAR_POSITIONAL for p in known.values()):
        return own

    def called(*args: Any, **kwargs: Any) -> Any:
        given = dict(signature.bind(*args, **kwargs).arguments)
        for p in signature.parameters.values():
            if p.kind is p.VAR_KEYWORD:
                given |= given.pop(p.name, {})
        for n, value in given.items():
            default = signature.parameters[n].default if n in signature.parameters else None
            plain = default is value or (type(default) is type(value) and default == value)
            if n not in known and not plain:
                raise TypeError(
                    f"{name} on tensors does not take {n}={value!r}. It takes {', '.join(known)}."
                )
        return own(**{n: value for n, value in given.items() if n in known})

    return called


def otherwise(module: str) -> Function:
    """`__getattr__` of a module: SciPy's own, which tells of the tensors that it is given."""
    scipys = importlib.import_module(f"scipy.{module}")

    def attribute(name: str) -> Any:
        found = getattr(scipys, name)
        if not inspect.isroutine(found):
            return found

        @functools.wraps(found)
        def refusing(*args: Any, **kwargs: Any) -> Any:
            if holds_arrays(args) or holds_arrays(kwargs):
                raise undefined(f"scipy.{module}.{name}")
            return found(*args, **kwargs)

        return refusing

    return attribute


def undefined(name: str) -> MissingRuleError:
    """The error of a function of SciPy's that has no derivative here."""
    return MissingRuleError(
        f"{name} has no derivative rule. Give it one: a function of your own that calls it, with "
        "@wengert.primitive.elementwise, .linear or .general; or pass x.detach().numpy() if no "
        "derivative is wanted."
    )
