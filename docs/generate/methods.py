"""Tensor's methods in the reference, of whatever file they come from, and what is a function too.

The class gets most of what it has while the package is imported, which those who only read the
source do not see.
"""

from __future__ import annotations

import inspect
from typing import Any

import griffe
import numpy as np

import wengert as wg
from docs.generate.stubs import FRONTS


def own() -> dict[str, Any]:
    """The public methods that no function has the name of, and the properties."""
    return {name: v for name, v in _public() if isinstance(v, property) or function(name) is None}


def function(name: str) -> Any:
    """The function that a method is short for, or None.

    >>> function("exp") is wg.exp
    True
    """
    found = (getattr(module, name, None) for module in FRONTS)
    return next((f for f in found if inspect.isroutine(f)), None) if name[-1] != "_" else None


def functions() -> dict[str, str]:
    """Methods that are functions too, and where those are written."""
    found = {name: function(name) for name, _ in _public() if name not in own()}
    return {name: f"{f.__module__}.{f.__name__}" for name, f in found.items() if f is not None}


def numpys(name: str) -> str:
    """What is said of a method that arrays have too.

    >>> numpys("itemsize")
    "As NumPy's `ndarray.itemsize`."
    """
    return f"As NumPy's `ndarray.{name}`." if hasattr(np.ndarray, name) else ""


def _public() -> list[tuple[str, Any]]:
    return sorted((n, value) for n, value in vars(wg.Tensor).items() if not n.startswith("_"))


def given(tensor: griffe.Class) -> None:
    """Put the methods and properties where readers look for them."""
    for name, value in own().items():
        text = inspect.getdoc(value) or numpys(name)
        if not text:
            continue
        made: Any
        if isinstance(value, property):
            made = griffe.Attribute(name)
            made.labels.add("property")
        elif inspect.isroutine(value):
            made = griffe.Function(name)
        else:  # a setting
            continue
        made.docstring = griffe.Docstring(text, parent=made)
        tensor.set_member(name, made)
