"""What is reached from an object: all that a call which is given it may change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import BuiltinMethodType, CellType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from wengert.compile.trace.arrays.array import TracedArray
from wengert.compile.trace.observe.objects import ATOMS, CONTAINERS, contents, held_in
from wengert.compile.trace.observe.stubs import code_of
from wengert.compile.trace.observe.users import is_users_class
from wengert.compile.trace.world.readings import Passing
from wengert.compile.trace.world.state import HIDDEN, attributes, is_itself, parts_of
from wengert.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Alone:
    """An object of which nothing else is reached: the settings of an optimizer, by its schedule."""

    object: Any


def reached_from(x: Any) -> Iterator[Any]:
    """All objects that others lead to; Passing if something is hidden in one.

    Classes and modules of Python are what they are.
    """
    waiting, seen = [x], {id(x)}
    while waiting:
        x = waiting.pop()
        if type(x) is Alone:
            yield x.object
            continue
        if type(x) in ATOMS or isinstance(x, (ModuleType, type, np.generic, np.dtype)):
            continue
        yield x
        for part in _parts(x):
            if id(part) not in seen:
                seen.add(id(part))
                waiting.append(part)


def led_to(functions: Iterable[Any]) -> Iterator[Any]:
    """All that functions may change: what they name, and what that leads to."""
    waiting, seen = list(functions), set[int]()
    while waiting:
        function = waiting.pop()
        if type(function) is not FunctionType or id(function) in seen:
            continue
        seen.add(id(function))
        space = function.__globals__
        named = [space[name] for name in code_of(function).co_names if name in space]
        yield space
        for x in (*named, *map(held_in, function.__closure__ or ())):
            yield from reached_from(x)
            waiting.append(x)


def _parts(x: Any) -> Iterator[Any]:
    if isinstance(x, CONTAINERS):
        yield from contents(x)
    elif isinstance(x, FunctionType):
        yield from map(held_in, x.__closure__ or ())
    elif isinstance(x, MethodType):
        yield from (x.__self__, x.__func__)
    elif isinstance(x, BuiltinMethodType):
        yield x.__self__
    elif isinstance(x, CellType):
        yield held_in(x)
    elif not isinstance(x, Tensor | np.ndarray | TracedArray):
        scheduled = None if is_users_class(type(x)) else getattr(x, "scheduled", None)
        for name, part in attributes(x) if is_itself(x) else parts_of(x):
            if name == HIDDEN:
                raise Passing
            if name == scheduled:
                yield from map(Alone, vars(part)["param_groups"])
            else:
                yield part
