"""Methods that NumPy's arrays and PyTorch's tensors both have, with other arguments.

`x.std(ddof=1)` is NumPy's, `x.std(correction=1)` PyTorch's. A call that one of them refuses and
the other takes was meant for the other one, and its error says what both are and what to write.
Which calls those are is stated nowhere: the other one is asked, on zeros of the same shape.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from wengert.dispatch import Function, signature
from wengert.errors import ShapeError
from wengert.tensor import Tensor, wrap

REFUSALS = frozenset({TypeError, RuntimeError, ValueError, IndexError, ShapeError})
"""Errors of a call, and not of a rule or a mode, which have classes of their own."""


def meant(error: Exception, other: str) -> Exception:
    """The error of a call with what was found of the other method, by `of_numpy` or `of_pytorch`.

    >>> meant(TypeError("no ddof"), "NumPy's is np.std(x).")
    TypeError("no ddof. NumPy's is np.std(x).")
    """
    return type(error)(f"{str(error).removesuffix('.')}. {other}")


def of_numpy(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """What to say of a refused call that NumPy's method of the same name takes.

    >>> from wengert.functions.creation import tensor
    >>> print(of_numpy(Tensor.std, (tensor([1.0, 2.0]),), {"ddof": 1}))
    NumPy's x.std(axis=None, dtype=None, out=None, ddof=0, **kwargs) is np.std(x, ddof=1) on ...
    """
    x, *rest = args or (kwargs.get("input"),)
    if not isinstance(x, Tensor) or kwargs.get("out") is not None:
        return ""
    names, defaults = signature(function)
    by_place = dict(enumerate(names))
    while rest and rest[-1] is defaults.get(by_place.get(len(rest), ""), _Given):
        rest.pop()  # a folded function hands on what was not given, too
    kwargs = {
        name: value
        for name, value in kwargs.items()
        if name != "input" and value is not defaults.get(name, _Given)
    }
    for name in _methods().get(inspect.unwrap(function), ()):
        result = _taken(getattr(np.ndarray, name), x, rest, kwargs)
        if result is not None:
            return (
                f"NumPy's x.{name}{_arguments(getattr(np.ndarray, name))} is "
                f"{_as_function(name, x, rest, kwargs, result[0])}; x.{name}"
                f"{_arguments(function)} of a tensor is PyTorch's."
            )
    return ""


def of_pytorch(name: str, method: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """What to say of a call that NumPy's method refuses and PyTorch's takes."""
    x, *rest = args
    if _taken(method, x, rest, kwargs, wrap) is None:
        return ""
    return (
        f"PyTorch's x.{name}{_arguments(method)} is wengert.Tensor.{name}"
        f"({_written(('x', *map(_text, rest)), kwargs)}); code for arrays, as in wengert.grad, "
        f"has NumPy's methods: x.{name}{_arguments(getattr(np.ndarray, name))}."
    )


class _Given:
    """The default of an argument that has none."""


@functools.cache
def _methods() -> dict[Any, list[str]]:
    """Names of methods of NumPy's arrays, by the functions that they are on tensors."""
    methods: dict[Any, list[str]] = {}
    for name in dir(np.ndarray):
        own = inspect.getattr_static(Tensor, name, None)
        if callable(own) and not name.startswith("_"):
            methods.setdefault(inspect.unwrap(own), []).append(name)
    return methods


def _taken(
    method: Any, x: Tensor, rest: Any, kwargs: dict[str, Any], kind: Any = np.asarray
) -> tuple[Any] | None:
    """What a method returns of zeros, as the one item of a tuple, unless it refuses them."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            args = (kind(_zeros(x)), *(_plain(value, kind) for value in rest))
            return (method(*args, **{n: _plain(v, kind) for n, v in kwargs.items()}),)
    except Exception:  # whatever it says of them
        return None


def _zeros(x: Tensor) -> Any:
    return np.zeros(tuple(x.shape), x.dtype)


def _plain(value: Any, kind: Callable[[Any], Any]) -> Any:
    """An argument, without history; of arrays that have no numbers yet, zeros."""
    if not isinstance(value, Tensor):
        return value
    array = value._array
    return kind(array.copy() if isinstance(array, np.ndarray) else _zeros(value))


def _as_function(name: str, x: Tensor, rest: Any, kwargs: dict[str, Any], result: Any) -> str:
    """How NumPy's method is written as a function, which takes tensors."""
    name_of_function = "ravel" if name == "flatten" else name
    function = getattr(np, name_of_function, None)
    for args in (rest, [tuple(rest)]):  # sizes and axes: one by one, and as a tuple
        alike = function and _taken(function, x, args, kwargs)
        if alike:
            call = f"np.{name_of_function}({_written(('x', *map(_text, args)), kwargs)})"
            in_place = result is None is not alike[0]
            return f"{'x[...] = ' if in_place else ''}{call} on tensors"
    call = f"x.detach().numpy().{name}({_written(tuple(map(_text, rest)), kwargs)})"
    return f"{call}, which has no derivative"


def _written(args: tuple[str, ...], kwargs: dict[str, Any]) -> str:
    return ", ".join((*args, *(f"{name}={_text(value)}" for name, value in kwargs.items())))


def _text(value: Any) -> str:
    if isinstance(value, type):
        return f"np.{value.__name__}" if value.__module__ == "numpy" else value.__name__
    text = repr(value)
    brief = isinstance(value, (int, float, str, list, tuple, type(None))) and len(text) < 40
    return text if brief else "..."


def _arguments(method: Any) -> str:
    """What a method takes after its tensor, as `inspect` writes it."""
    _, *parameters = inspect.signature(method).parameters.values()
    ours = isinstance(method, FunctionType)  # whose further names are NumPy's of the others
    told = [p for p in parameters if not (ours and p.kind is p.VAR_KEYWORD)]
    return str(inspect.Signature([p.replace(annotation=p.empty) for p in told]))
