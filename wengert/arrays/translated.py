"""Calls answered through the meaning on Tensors.

What NumPy functions mean on Tensors (`functions/numpy/`) is written in functions that have rules,
and those have meanings on every kind of array: a kind need not say the same again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.history import modes


def through_tensors(kind: type, meaning: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Call `meaning` with the arrays of a kind as Tensors; the Tensors it returns become arrays."""
    from wengert.tensor import Tensor, wrap  # it is above this

    def wrapped(x: Any) -> Any:
        return wrap(x) if type(x) is kind else x

    def bare(x: Any) -> Any:
        return x._array if isinstance(x, Tensor) else x

    with modes.no_grad():
        taken = {name: _each(wrapped, x) for name, x in kwargs.items()}
        return _each(bare, meaning(*_each(wrapped, args), **taken))


def _each(change: Callable[[Any], Any], x: Any) -> Any:
    if type(x) in (list, tuple):
        return type(x)(_each(change, item) for item in x)
    return change(x)
