"""Readings: what code answers that is not observed, asked again at each call.

A callable of a library, or of C, may go by anything in the process: a setting, a cache, a file, the
clock. Nobody can see by what. But where all that it is given lasts from call to call, it can be
asked again: with the same arguments, before a program is used again, and what it answers is
guarded like anything else that is read outside.

Not asked is what goes by its arguments alone. That is a rule and no list of functions: classes
make objects of what they are given, the language's modules in C and NumPy's functions on arrays
keep nothing, and wengert tells by itself what it goes by.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterable
from types import (
    BuiltinMethodType,
    ClassMethodDescriptorType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

import numpy as np

from wengert.compile.trace.observe.events import MISSING
from wengert.compile.trace.observe.objects import ATOMS, PLAIN, Held, name_of
from wengert.compile.trace.state import HIDDEN, held_by, is_itself
from wengert.tensor import Tensor

_KEEP_NOTHING = frozenset(
    {"builtins", "math", "cmath", "_operator", "itertools", "_functools", "_collections"}
    | {"_bisect", "_heapq", "_struct", "numpy", "numpy.dtypes"}
)
"""Modules in C that keep nothing from call to call."""
_TEXTS = frozenset({str, repr, format, ascii})
_TEXT_METHODS = frozenset({"format", "format_map"})
_FROM_FILES: frozenset[Any] = frozenset({np.fromfile, np.loadtxt, np.genfromtxt})
_DISPATCHED = np.ufunc, type(np.concatenate)
_OF_CLASSES = MethodDescriptorType, WrapperDescriptorType, ClassMethodDescriptorType
_BOUND = BuiltinMethodType, MethodWrapperType


class Reading:
    """A call that is made again: `answer` is what it answers now.

    That is the object itself if others have it too, else, as it is another one each time, what it
    holds; and the class of an error.
    """

    __slots__ = ("__weakref__", "args", "callee", "latest", "named", "shared")

    def __init__(self, callee: Any, args: Any, named: Any, shared: bool) -> None:
        self.callee = callee
        self.args = args
        self.named = named
        self.shared = shared

    @property
    def answer(self) -> Any:
        try:
            made = self.callee(*map(_copied, self.args), **self.named)
        except Exception as error:
            return type(error)
        # Kept: machine code compares an attribute that somebody holds.
        self.latest = made if self.shared else _held(made)
        return self.latest

    def __str__(self) -> str:
        shown = [*map(_shown, self.args), *(f"{k}={_shown(x)}" for k, x in self.named.items())]
        return f"{_name(self.callee)}({', '.join(shown)})"


def _shown(x: Any) -> str:
    return repr(x) if type(x) in ATOMS else f"a {type(x).__name__}"


def _name(callee: Any) -> str:
    if isinstance(callee, BuiltinMethodType | MethodType | FunctionType):
        around = getattr(callee, "__self__", None)
        if isinstance(around, ModuleType):
            return f"{around.__name__}.{callee.__name__}"
        return str(getattr(callee, "__qualname__", callee.__name__))
    return name_of(callee) or f"a {type(callee).__name__}"


_interned: weakref.WeakValueDictionary[Any, Reading] = weakref.WeakValueDictionary()


def reading(callee: Any, args: Any, named: Any, shared: bool) -> Reading:
    """The reading of a call, the same one for the same call: it stands for a place."""
    made = Reading(callee, args, named, shared)
    key = shared, _key(callee), _key(args), tuple(named), _key(tuple(named.values()))
    return _interned.setdefault(key, made)


def _key(x: Any) -> Any:
    """By what a value is found again: objects by what they are, as a reading holds them."""
    kind = type(x)
    if kind in (list, tuple):
        return kind, tuple(map(_key, x))
    if kind is dict:
        return kind, tuple(x), tuple(map(_key, x.values()))
    if kind in ATOMS and kind is not slice:
        return kind, repr(x) if kind in (float, complex) else x
    if isinstance(x, MethodType | BuiltinMethodType):
        function = getattr(x, "__func__", None) or x.__name__
        return kind, _key(function), id(x.__self__)
    return id(x)


# ---- what can be asked again ---------------------------------------------------------------------


class Passing(Exception):
    """An argument that is not there at the next call."""


def lasting(x: Any, is_outside: Callable[[Any], bool]) -> Any:
    """What an argument is at the next call: containers and arrays by what they hold now."""
    kind = type(x)
    if kind in ATOMS:
        return x
    if kind in (list, tuple, set, frozenset):
        return kind([lasting(part, is_outside) for part in x])
    if kind is dict:
        return {lasting(k, is_outside): lasting(v, is_outside) for k, v in x.items()}
    if kind is np.ndarray:
        return x.copy()
    if isinstance(x, MethodType | BuiltinMethodType):
        lasting(x.__self__, is_outside)
        if isinstance(x, MethodType):
            lasting(x.__func__, is_outside)
        return x
    known = isinstance(x, ModuleType | type | np.generic | np.dtype) or _is_function_of_c(x)
    if known or _is_value(x) or (is_outside(x) and not _is_told_of(x)):
        return x
    if kind is FunctionType and vars(_module(x)).get(x.__name__) is x:
        return x
    raise Passing


def _is_function_of_c(x: Any) -> bool:
    return isinstance(x, (*_DISPATCHED, *_OF_CLASSES))


def _module(function: FunctionType) -> Any:
    return sys.modules.get(function.__module__, sys)


def _is_value(x: Any) -> bool:
    """Whether an object is a value, which does not change: it has a hash that is not its own."""
    cls = type(x)
    hashed: Any = cls.__hash__
    is_array = hasattr(cls, "_array") or hasattr(cls, "__array_function__")
    return hashed not in (None, object.__hash__) and not is_array


def _is_told_of(x: Any) -> bool:
    """Whether a trace knows otherwise what is read of an object."""
    return isinstance(x, Tensor) or (is_itself(x) and not isinstance(x, FunctionType))


def _copied(x: Any) -> Any:
    """An argument, which what is asked may change."""
    kind = type(x)
    if kind in (list, set, np.ndarray):
        return x.copy() if kind is not list else [*map(_copied, x)]
    return {k: _copied(v) for k, v in x.items()} if kind is dict else x


def compared(made: Any, shared: bool) -> Any:
    """What is compared of an answer, which others have too if it is `shared`; MISSING if nothing
    can be.
    """
    if isinstance(made, Tensor | type):
        return MISSING
    if shared:
        return made
    held = _held(made)
    return MISSING if held is None or not is_seen_whole(held) else held


def _held(made: Any) -> Any:
    """What an object holds; of containers of plain values, which are common, a tuple."""
    try:
        return _plain(made)
    except _NotPlain:
        return held_by(made)


class _NotPlain(Exception):
    """Something that holds more than what is equal to it."""


def _plain(x: Any) -> Any:
    kind = type(x)
    if kind in PLAIN and kind is not tuple:
        return x
    if kind is tuple or kind is list:
        return kind.__name__, *map(_plain, x)
    if kind is dict:
        return "dict", *x, *map(_plain, x.values())
    raise _NotPlain


def is_seen_whole(held: Any) -> bool:
    """Whether there is nothing hidden in an object, or that is told of otherwise."""
    if type(held) is Held:
        return HIDDEN not in held.names and all(map(is_seen_whole, held.parts))
    return not isinstance(held, Tensor)


# ---- what need not be asked ----------------------------------------------------------------------


def goes_by_arguments(callee: Any, args: tuple[Any, ...]) -> bool:
    """Whether what a callable answers follows from what it is given."""
    if isinstance(callee, type) or callee is repr or callee is format or callee is ascii:
        return callee not in _TEXTS or not args or type(args[0]) in ATOMS
    if isinstance(callee, _DISPATCHED):
        return True
    if isinstance(callee, _OF_CLASSES):
        return callee.__objclass__.__module__ in _KEEP_NOTHING
    if isinstance(callee, _BOUND):
        around = callee.__self__
        if type(around) is str and callee.__name__ in _TEXT_METHODS:
            return not args or all(type(x) in ATOMS for x in args)
        if isinstance(around, ModuleType):
            name = callee.__module__ if around.__name__.startswith("numpy.") else around.__name__
            return name in _KEEP_NOTHING and callee not in _FROM_FILES
        cls = around if isinstance(around, type) else type(around)
        return cls.__module__ in _KEEP_NOTHING
    return is_ours(callee)


def is_computed(callee: Any, given: Iterable[Any], answer: Any) -> bool:
    """Whether an answer follows from what was given, as it is: it was computed from it.

    A function of NumPy or SciPy that answers with arrays computes them. One that tells of the
    process, as `np.geterr()` does, answers with Python's objects.
    """
    if type(callee) is not FunctionType or package_of(callee) not in ("numpy", "scipy"):
        return False
    return all(map(_is_plain, given)) and _is_of_arrays(answer)


def _is_of_arrays(x: Any) -> bool:
    if type(x) in (tuple, list):
        return all(map(_is_of_arrays, x))
    return isinstance(x, np.ndarray | np.generic)


def _is_plain(x: Any) -> bool:
    if type(x) in (tuple, list):
        return all(map(_is_plain, x))
    return type(x) in ATOMS or isinstance(x, np.ndarray | np.generic | np.dtype | type)


def is_ours(callee: Any) -> bool:
    return package_of(callee) == "wengert"


def package_of(callee: Any) -> str:
    """Where a callable, or a class, comes from."""
    callee = callee.__func__ if isinstance(callee, MethodType) else callee
    if isinstance(callee, BuiltinMethodType):
        around = callee.__self__
        if isinstance(around, ModuleType):
            return around.__name__.lstrip("_").partition(".")[0]
        callee = around if isinstance(around, type) else type(around)
    elif not isinstance(callee, FunctionType | type):
        callee = type(callee)
    module = getattr(callee, "__module__", None)
    return module.partition(".")[0] if type(module) is str else ""
