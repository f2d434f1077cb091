"""Calls that answer differently each time: of random generators that are not ours, and clocks.

Each is a statement, which is carried out when the program runs, in the order of the calls.
"""

from __future__ import annotations

import copy
import os
import random
import time
import uuid
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compile.trace.array import Trace

GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)
_CLOCKS = frozenset(
    getattr(time, name + unit)
    for name in ("time", "perf_counter", "monotonic", "process_time", "thread_time")
    for unit in ("", "_ns")
)
_UNREPEATABLE = frozenset(
    {os.urandom, uuid.uuid1, uuid.uuid4, time.localtime, time.gmtime, time.ctime}
)
_SEEDED = frozenset({np.random.default_rng, *GENERATORS})


def drawn(callee: Any, args: Any, named: Any, world: Any) -> Callable[..., Any] | None:
    """What is called in the place of such a callable; None for all others."""
    around = getattr(callee, "__self__", None)
    if isinstance(around, GENERATORS) and world.is_outside(around):
        return _Statement(world, Draw(around, callee.__name__))
    if args and isinstance(args[0], GENERATORS) and world.is_outside(args[0]):
        draw = Draw(args[0], callee.__name__)  # a method in the class, as Cython's are
        return lambda _, *rest, **named: _Statement(world, draw)(*rest, **named)
    try:
        if callee in _CLOCKS:
            return _Statement(world, Draw(time, callee.__name__))
        anew = callee in _SEEDED and not args and not named
        if callee not in _UNREPEATABLE and not anew:
            return None
    except TypeError:  # what cannot be hashed
        return None
    return world.refuse(f"{callee.__name__}() is called")


class Draw:
    """Calls a method, each time that the program runs."""

    draws = True
    __module__ = "wengert"

    def __init__(self, owner: Any, method: str) -> None:
        self.owner = owner
        self.method = method
        self.__name__ = f"draw_{method}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.owner, self.method)(*args, **kwargs)

    def result(self, *args: Any, **kwargs: Any) -> Any:
        """Another result of this shape, dtype and class, that draws nothing from the generator."""
        like = self.owner if self.owner is time else copy.deepcopy(self.owner)
        return getattr(like, self.method)(*args, **kwargs)


class _Statement:
    """Writes down a draw; what it makes is a number if that is what the method makes."""

    def __init__(self, world: Any, draw: Draw) -> None:
        self.world = world
        self.draw = draw

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        trace: Trace = self.world.trace
        like = self.draw.result(*args, **kwargs)
        if not isinstance(like, float | int | np.generic | np.ndarray):
            self.world.refuse(f"{self.draw.method}() of a generator from outside is called")
        made = trace.otherwise(self.draw, args, kwargs)
        if isinstance(like, float | int) and not isinstance(like, np.generic):
            return trace.number_like(made, type(like))
        made.single = isinstance(like, np.generic)
        return made
