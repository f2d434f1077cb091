"""What an object of a library holds, to its depth: all that its methods may go by.

The library's code is not observed, so nobody knows what a method reads. Whatever it is, the object
leads to it. So all of it is looked at: attributes, items, the bytes of what has memory, and of what
C keeps to itself that which pickle would be told.
"""

from __future__ import annotations

import copy
import copyreg
import functools
import operator
import weakref
from collections.abc import Callable, Iterable, Iterator
from types import BuiltinFunctionType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

import numpy as np

from wengert.compile.trace.arrays.array import TracedArray
from wengert.compile.trace.observe.events import MISSING
from wengert.compile.trace.observe.objects import (
    ATOMS,
    CHANGEABLE,
    CONTAINERS,
    UNCHANGEABLE,
    Held,
    contents,
    fill,
    has_method,
    held_in,
    own_attribute,
    static,
)
from wengert.functions.random import Generator
from wengert.history.surroundings import DECIDING, KNOWING, SETTINGS
from wengert.tensor import Tensor

_ITSELF = (
    *(type, ModuleType, FunctionType, BuiltinFunctionType, Tensor, Generator, TracedArray),
    *(
        np.random.Generator,
        np.random.RandomState,
        np.dtype,
        np.ufunc,
        type(np.concatenate),
        np.generic,
    ),
)
"""Classes of objects of which nothing is asked here: they do not change, or are known otherwise."""


def is_itself(x: Any) -> bool:
    return type(x) in ATOMS or isinstance(x, (*_ITSELF, *DECIDING, *SETTINGS, *KNOWING))


def held_by(x: Any, undo: list[Callable[[], Any]] | None = None) -> Any:
    """What an object holds; None if that cannot be seen.

    A list is given what puts it back, of each part that can be changed.
    """
    seen: dict[int, tuple[int, Any]] = {}
    held = _held(x, seen)
    if undo is not None:
        known = [part for _, part in seen.values()]
        known += [own for part in known if type(own := getattr(part, "__dict__", None)) is dict]
        undo += filter(None, map(putting_back, known))
    return None if type(held) is Held and HIDDEN in held.names else held


def putting_back(x: Any) -> Callable[[], Any] | None:
    """What makes an object hold again what itself holds now; None where it cannot be changed, or
    only by its attributes.
    """
    if isinstance(x, CHANGEABLE):
        return functools.partial(fill, x, contents(x))
    if isinstance(x, UNCHANGEABLE) or is_itself(x):
        return None
    if has_method(type(x), "__setitem__") and _is_memory(x):
        everything = slice(None) if getattr(x, "ndim", 1) else ()
        held = _copied(x) if isinstance(x, memoryview) else copy.copy(x[everything])
        return functools.partial(operator.setitem, x, everything, held)
    told, tell = (static(type(x), name) for name in ("__getstate__", "__setstate__"))
    if told is static(object, "__getstate__") or tell is None or type(tell) is FunctionType:
        return None
    return functools.partial(x.__setstate__, x.__getstate__())


def _is_memory(x: Any) -> bool:
    if isinstance(x, np.ndarray):  # of dates, say, of which there is no memoryview
        return x.flags.writeable or x.dtype.hasobject
    try:
        return not memoryview(x).readonly
    except TypeError:
        return False


def _copied(x: memoryview) -> memoryview:
    return memoryview(x.tobytes()).cast("B").cast(x.format, x.shape)  # type: ignore[call-overload]


HIDDEN = "hidden"
_VIEWS: Any = tuple(type(view({})) for view in (dict.keys, dict.values, dict.items))


def _held(x: Any, seen: dict[int, tuple[int, Any]]) -> Any:
    if is_itself(x):
        return x
    if id(x) in seen:
        return "as part", seen[id(x)][0]
    seen[id(x)] = len(seen), x  # kept: ids of dead ones are used again
    parts = {name: _held(part, seen) for name, part in parts_of(x)}
    return Held(type(x), tuple(parts), tuple(parts.values()))


def parts_of(x: Any) -> Iterator[tuple[Any, Any]]:
    """The parts of an object by name: attributes by theirs, all else by pairs."""
    if isinstance(x, MethodType):
        yield from (("__func__", x.__func__), ("__self__", x.__self__))
        return
    if isinstance(x, FunctionType):
        yield from (((k,), held_in(cell)) for k, cell in enumerate(x.__closure__ or ()))
        return
    yield from attributes(x)
    if isinstance(x, np.ndarray):
        yield (), (x.shape, x.strides, x.dtype.str)
        yield (0,), np.ndarray.tolist(x) if x.dtype.hasobject else np.ndarray.tobytes(x)
    elif isinstance(x, CONTAINERS):
        yield (), len(x)
        yield from (((k,), part) for k, part in enumerate(contents(x)))
    elif isinstance(x, _VIEWS):
        yield (0,), x.mapping
    elif _keeps_to_itself(x):
        try:
            told = _told(x)
        except Exception:  # whatever pickle would say
            yield HIDDEN, id(x)
        else:
            yield from (((k,), part) for k, part in enumerate(told))


def holds_weakly(x: Any) -> bool:
    """Whether an object leads to others by weak references: it gives what may be gone soon."""
    waiting, seen = [x], {id(x): x}
    while waiting:
        x = waiting.pop()
        if isinstance(x, WEAK):
            return True
        for part in () if is_itself(x) else (part for _, part in parts_of(x)):
            if id(part) not in seen:
                seen[id(part)] = part
                waiting.append(part)
    return False


WEAK = weakref.ReferenceType, weakref.ProxyType, weakref.CallableProxyType


def attributes(x: Any) -> Iterator[tuple[str, Any]]:
    """What an object itself keeps by name."""
    own = getattr(x, "__dict__", None)
    if type(own) is dict:
        yield from tuple(own.items())
    for name in slots_of(type(x)):
        value = own_attribute(x, name)
        if value is not MISSING:
            yield name, value


def slots_of(cls: type) -> list[str]:
    """The names of a class's slots. Python itself would leave a list of them in the class."""
    return members(base for base in cls.__mro__ if "__slots__" in vars(base))


def members(classes: Iterable[type]) -> list[str]:
    """What their objects keep by name in places of C's."""
    own = [vars(cls) for cls in classes]
    return [name for names in own for name, x in names.items() if type(x) is MemberDescriptorType]


def is_attributes(x: Any) -> bool:
    """Whether an object is nothing but what it keeps by name."""
    other = isinstance(x, (np.ndarray, MethodType, *CONTAINERS))
    return not other and not _keeps_to_itself(x)


def _keeps_to_itself(x: Any) -> bool:
    """Whether C has something of an object that is no attribute of it."""
    own = [m for name in TOLD if (m := static(type(x), name)) is not static(object, name)]
    if not own:
        named = slots_of(type(x))
        has_names = type(getattr(x, "__dict__", None)) is dict or bool(named)
        # Python's classes add a word for each name, for the dictionary, and for weak references.
        return not has_names or type(x).__basicsize__ > object.__basicsize__ + 8 * (len(named) + 2)
    return any(type(method) is not FunctionType for method in own)


def reduced(x: Any, protocol: int) -> Any:
    """What pickle is told of an object; with nothing left in its class."""
    cls = type(x)
    reducer, there = copyreg.dispatch_table.get(cls), SLOTS in vars(cls)
    try:
        return x.__reduce_ex__(protocol) if reducer is None else reducer(x)
    finally:
        if SLOTS in vars(cls) and not there:
            type.__delattr__(cls, SLOTS)


SLOTS = "__slotnames__"
"""Where Python keeps the names of a class's slots, when they are first asked for."""
TOLD = "__reduce_ex__", "__reduce__", "__getstate__"
"""The methods by which pickle asks what an object is."""


def _told(x: Any) -> tuple[Any, ...]:
    """What there is of an object's memory, or what makes a copy of it."""
    try:
        memory = memoryview(x)
    except TypeError:
        told = reduced(x, 2)
        if isinstance(told, str):
            return (told,)
        return tuple([tuple(part) if isinstance(part, Iterator) else part for part in told])
    return memory.format, memory.shape, memory.tobytes()
