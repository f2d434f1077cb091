"""SciPy's functions that are written for arrays of any kind: they run on tensors as they are.

More and more of SciPy asks an array for its namespace, as the array API standard says, and
computes with what is there: `scipy.stats.skew`, `scipy.signal.hilbert`. A tensor's namespace
records what it does. SciPy asks only where SCIPY_ARRAY_API was set before its import; `asked` lets
it ask while one call runs, in the thread that calls.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import numpy as np
import scipy.special

from wengert.arrays.kind import TENSORS
from wengert.errors import MissingRuleError
from wengert.functions import array_api
from wengert.functions.creation import as_tensor


def holds_arrays(x: Any) -> bool:
    """Whether there is an array here that is no array of NumPy's, or in lists and dicts."""
    if isinstance(x, (list, tuple)):
        return any(map(holds_arrays, x))
    if isinstance(x, dict):
        return any(map(holds_arrays, x.values()))
    return hasattr(type(x), "__array_function__") and not isinstance(x, (np.ndarray, np.generic))


def rows(table: Any, k: Any) -> Any:
    """`table[k]` of a table that may be of numbers while what says which rows is not."""
    return (as_tensor(table) if holds_arrays(k) and not holds_arrays(table) else table)[k]


def undefined(name: str) -> MissingRuleError:
    """The error of a function of SciPy's that has no derivative here."""
    return MissingRuleError(
        f"{name} has no derivative rule. Give it one: a function of your own that calls it, with "
        "@wengert.primitive.elementwise, .linear or .general; or pass x.detach().numpy() if no "
        "derivative is wanted."
    )


_ASKED: ContextVar[bool] = ContextVar("asked", default=False)


class _Switch:
    """SciPy's setting, as it was, and on where we ask."""

    def __init__(self, before: Any) -> None:
        self.before = before

    def __bool__(self) -> bool:
        return bool(self.before) or _ASKED.get()


@functools.cache
def _installed() -> bool:
    """Whether SciPy's setting could be made one that a thread may switch on for itself."""
    from scipy._lib import _array_api

    read = _array_api.array_namespace.__globals__
    if "SCIPY_ARRAY_API" not in read:
        return False
    read["SCIPY_ARRAY_API"] = _Switch(read["SCIPY_ARRAY_API"])
    return True


@contextlib.contextmanager
def asked() -> Iterator[None]:
    """SciPy asks arrays for their namespace."""
    token = _ASKED.set(_installed())
    try:
        yield
    finally:
        _ASKED.reset(token)


def _tensors(x: Any) -> Any:
    """Arrays of NumPy's as tensors: the standard lets kinds of arrays not be mixed."""
    if isinstance(x, np.ndarray) and x.dtype.kind in "biufc":
        return array_api.asarray(x)
    if holds_arrays(x) and not isinstance(x, (list, tuple, dict)):
        return x if hasattr(type(x), "__array_namespace__") else TENSORS.wrap(x)
    if type(x) in (list, tuple) and any(isinstance(part, np.ndarray) for part in x):
        return type(x)(map(_tensors, x))
    return x


def by_the_standard(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What SciPy's function computes by the namespace of the tensors that it is given."""
    given = {key: _tensors(value) for key, value in kwargs.items()}
    with asked():
        return function(*map(_tensors, args), **given)


def asks_arrays(function: Callable[..., Any]) -> bool:
    """Whether SciPy says of a function that it computes with arrays of any kind."""
    from scipy._lib import _array_api

    table = getattr(_array_api, "xp_capabilities_table", {})
    try:
        said = table.get(function) or table.get(inspect.unwrap(function)) or {"np_only": True}
    except TypeError:  # what has no hash is in no table
        return False
    return not said.get("np_only")


class _Ufuncs:
    """`scipy.special`'s ufuncs, which ask tensors what they mean whatever SciPy's setting is."""

    def __getattr__(self, name: str) -> Any:
        return inspect.unwrap(getattr(scipy.special, name))


ufuncs: Any = _Ufuncs()
