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

from wengert.functions.creation import as_tensor
from wengert.scipy.standard import by_the_standard, holds_arrays

Function = Callable[..., Any]


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


def rows(table: Any, k: Any) -> Any:
    """`table[k]` of a table that may be of numbers while what says which rows is not."""
    return (as_tensor(table) if holds_arrays(k) and not holds_arrays(table) else table)[k]


def linear(module: str, name: str, argument: str) -> Function:
    """A function of SciPy's that is linear along an axis of one argument, whatever the others are.

    On tensors it is a product with a matrix, of which SciPy says the columns: what it makes of unit
    vectors. What it makes of zeros is added, since some functions are linear up to a constant.
    """
    theirs = getattr(importlib.import_module(f"scipy.{module}"), name)
    signature = inspect.signature(theirs)

    @functools.wraps(theirs)
    def called(*args: Any, **kwargs: Any) -> Any:
        if not (holds_arrays(args) or holds_arrays(kwargs)):
            return theirs(*args, **kwargs)
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        x, axis = given.arguments[argument], given.arguments["axis"]
        others = {n: v for n, v in given.arguments.items() if n != argument}
        if holds_arrays(others):
            raise TypeError(
                f"scipy.{module}.{name} on tensors is differentiated by {argument}= only; pass "
                "plain arrays and numbers for what else it takes"
            )
        n = x.shape[axis]
        given.arguments[argument] = np.eye(n, n + 1, dtype=np.result_type(x.dtype, np.float32))
        given.arguments["axis"] = 0
        found = theirs(*given.args, **given.kwargs)
        if not isinstance(found, np.ndarray):
            raise TypeError(f"scipy.{module}.{name} on tensors gives one array: leave out zi=")
        columns, rest = found[:, :n] - found[:, n:], found[:, n]
        y = np.tensordot(x, columns, ((axis,), (1,)))
        return np.moveaxis(y + rest if rest.any() else y, -1, axis)

    called.defined = True  # type: ignore[attr-defined]
    return called


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
        return (
            by_the_standard(f"scipy.{module}.{name}", found) if inspect.isroutine(found) else found
        )

    return attribute
