"""Arguments that NumPy's functions have beside those that a meaning knows.

A derivative depends on few arguments; NumPy's functions have more, that many share: `dtype=`,
`where=`, `initial=`, `casting=`, `order=`. They say what is done to the operands before, or to the
result after. Which a function has, and in which order, is NumPy's own signature: `described` reads
it, and gives a meaning the arguments that it knows under the names that it has for them.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.arrays.facts import REDUCTIONS
from wengert.arrays.kind import name_of
from wengert.dispatch import as_array, in_python
from wengert.rules import reductions
from wengert.tensor import MEANINGS

Meaning = Callable[..., Any]

_UFUNC = {"casting": "same_kind", "order": "K", "dtype": None, "subok": True, "where": True}
LONG: dict[Any, Meaning] = {}
"""What functions mean that have `where=` and the like, where their rules know nothing of them."""


def long(*functions: Any) -> Callable[[Meaning], Meaning]:
    """A decorator: this is what functions mean with all of their arguments."""

    def note(meaning: Meaning) -> Meaning:
        LONG.update(dict.fromkeys(functions, meaning))
        return meaning

    return note


# ---- from NumPy's signature to a meaning's -------------------------------------------------


def described(function: Any, own: Iterable[str], core: Meaning) -> Meaning:
    """A meaning that knows the arguments `own`, for calls with any arguments of the function."""
    order, defaults = _signature(function)
    own = tuple(own)
    if not order:  # any number of operands
        return core
    renamed = {a: b for a, b in zip(order, own, strict=False) if a not in own and b not in order}
    order = tuple(renamed.get(n, n) for n in order)
    agreeing = next((i for i, n in enumerate(order) if own[i : i + 1] != (n,)), len(order))
    if order == own[:agreeing] and defaults.keys() <= {*own}:
        return core
    known = {*own}

    def meaning(*args: Any, **kwargs: Any) -> Any:
        if not kwargs and len(args) <= agreeing:
            return core(*args)
        given = dict(zip(order[agreeing:], args[agreeing:], strict=False))
        if len(given) < len(args) - agreeing:
            raise TypeError(f"{name_of(function)} takes {len(order)} arguments, got {len(args)}")
        given |= {renamed.get(n, n): value for n, value in kwargs.items()}
        given = {n: x for n, x in given.items() if n in known or not _is(x, defaults.get(n, 0))}
        args = args[:agreeing]
        if (out := None if "out" in known else given.pop("out", None)) is not None:
            return MEANINGS.into(out, function, args, given)
        if known >= given.keys():
            return core(*args, **given)
        whole = LONG.get(function)
        if whole is not None:
            return whole(*args, **given)
        around = {n: given.pop(n) for n in [*given] if n not in known}
        return _before(function, core, args, given, around)

    return meaning


def _is(value: Any, default: Any) -> bool:
    return value is default or value is np._NoValue or (type(value) is str and value == default)


@functools.cache
def _signature(function: Any) -> tuple[tuple[str, ...], dict[str, Any]]:
    """The names of NumPy's arguments that have a place, and the defaults of those that have one."""
    if isinstance(function, np.ufunc):
        return tuple("abcd"[: function.nin]) if function.nin > 1 else ("x",), _UFUNC
    try:
        parameters = inspect.signature(in_python(function)).parameters.values()
    except ValueError:  # functions in C say nothing of theirs
        return (), {}
    placed = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return (), {}
    names = tuple(p.name for p in parameters if p.kind in placed)
    return names, {p.name: p.default for p in parameters if p.default is not p.empty}


def _before(
    function: Any, core: Meaning, args: Any, given: dict[str, Any], around: dict[str, Any]
) -> Any:
    """A call whose operands are cast first: `dtype=`, as far as `casting=` lets them be."""
    casting = around.pop("casting", "same_kind")
    dtype = around.pop("dtype", None)
    around.pop("subok", None)  # tensors are of no class derived from NumPy's
    if around.get("order") in ("C", "A", "K"):  # as tensors lie
        del around["order"]
    for name, value in around.items():
        if name == "where":
            raise TypeError(
                f"{name_of(function)} with where= needs out=, which has the other elements; or "
                "write np.where(condition, f(x), other)"
            )
        raise TypeError(
            f"{name_of(function)} on a Tensor does not take {name}={value!r}. Apply it before or "
            "after, or call the function on x.detach().numpy()."
        )
    if dtype is not None:
        args = tuple(_cast(function, x, dtypes.asked(dtype), casting) for x in args)
        given = {n: _cast(function, x, dtypes.asked(dtype), casting) for n, x in given.items()}
    return core(*args, **given)


def _cast(function: Any, x: Any, dtype: Any, casting: Any) -> Any:
    """An operand, or a list of operands, in another dtype; what is no array as it is."""
    if isinstance(x, (list, tuple)) and any(hasattr(item, "dtype") for item in x):
        return [_cast(function, as_array(item), dtype, casting) for item in x]
    if not hasattr(x, "dtype") or not hasattr(x, "shape"):
        return x
    if isinstance(function, np.ufunc) and not np.can_cast(x.dtype, dtype, casting):
        raise TypeError(
            f"Cannot cast ufunc '{function.__name__}' input from {x.dtype!r} to {dtype!r} with "
            f"casting rule {casting!r}"
        )
    return np.astype(x, dtype)


# ---- orders of elements --------------------------------------------------------------------


@long(np.reshape)
def _reshape(a: Any, shape: Any, order: str = "C", copy: Any = None) -> Any:
    """In the order of Fortran the first index changes quickest: all is turned around."""
    if order not in ("C", "F", "A"):
        raise ValueError(f"reshape: order must be 'C', 'F' or 'A', got {order!r}")
    if order == "F":
        shape = tuple(shape) if hasattr(shape, "__iter__") else (shape,)
        a = np.transpose(np.reshape(np.transpose(a), shape[::-1]))
    else:
        a = np.reshape(a, shape)
    return np.copy(a) if copy else a


@long(np.ravel)
def _ravel(a: Any, order: str = "C") -> Any:
    return _reshape(a, -1, "C" if order == "K" else order)


@long(np.angle)
def _angle(z: Any, deg: bool = False) -> Any:
    return np.rad2deg(np.angle(z)) if deg else np.angle(z)


# ---- reductions ----------------------------------------------------------------------------


def chosen(a: Any, where: Any, otherwise: Any) -> Any:
    """The elements where the condition holds, and elsewhere a number of their dtype."""
    if where is True:
        return a
    return np.where(where, a, np.asarray(otherwise, a.dtype))


def _neutral(ufunc: np.ufunc, dtype: np.dtype[Any]) -> Any:
    """The number that a reduction does not notice."""
    if ufunc.identity is not None:
        return ufunc.identity
    if dtype.kind == "b":
        return ufunc is np.minimum
    limits = np.iinfo(dtype) if dtype.kind in "iu" else None
    if ufunc is np.maximum:
        return -np.inf if limits is None else limits.min
    return np.inf if limits is None else limits.max


def _whole(ufunc: np.ufunc, function: Any) -> Meaning:
    """A reduction with all that NumPy's has: cast first, elements left out, one more put in."""

    def meaning(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        keepdims: Any = False,
        initial: Any = np._NoValue,
        where: Any = True,
    ) -> Any:
        a = as_array(a)
        a = a if dtype is None else np.astype(a, dtypes.asked(dtype))
        if where is not True and initial is np._NoValue and ufunc.identity is None:
            raise ValueError(
                f"reduction operation '{ufunc.__name__}' does not have an identity, so to use a "
                "where mask one has to specify 'initial'"
            )
        a = chosen(a, where, _neutral(ufunc, a.dtype))
        if initial is np._NoValue:
            return function(a, axis=axis, keepdims=keepdims)
        if ufunc.identity is None and not reductions.count(a.shape, axis):
            a = np.broadcast_to(np.asarray(_neutral(ufunc, a.dtype)), _one_at_least(a.shape, axis))
        return ufunc(function(a, axis=axis, keepdims=keepdims), initial)

    return meaning


def _one_at_least(shape: tuple[int, ...], axis: Any) -> tuple[int, ...]:
    """A shape in which something is there to be reduced."""
    reduced = {
        a % len(shape) for a in reductions.axes_of(range(len(shape)) if axis is None else axis)
    }
    return tuple(1 if k in reduced else n for k, n in enumerate(shape))


for _ufunc, _function in REDUCTIONS.items():
    LONG[_function] = _whole(_ufunc, _function)
