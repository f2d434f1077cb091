"""Calls that answer differently each time: of random generators, and clocks.

Each is a statement, which is carried out when the program runs, in the order of the calls.
"""

from __future__ import annotations

import copy
import functools
import os
import random
import time
import uuid
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compile.trace import watch
from wengert.compile.trace.places import Known, Place

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
        return getattr(Numbers(world, Known(around)), callee.__name__)
    if args and isinstance(args[0], GENERATORS) and world.is_outside(args[0]):
        draw = getattr(Numbers(world, Known(args[0])), callee.__name__)
        return lambda _, *rest, **named: draw(*rest, **named)  # a method in the class: Cython's
    try:
        if callee in _CLOCKS:
            return getattr(Numbers(world, Known(time)), callee.__name__)
        anew = callee in _SEEDED and not args and not named
        if callee not in _UNREPEATABLE and not anew:
            return None
    except TypeError:  # what cannot be hashed
        return None
    return world.refuse(f"{callee.__name__}() is called")


class Numbers:
    """What stands for a generator, or a clock, at a place: its methods draw in the program."""

    def __init__(self, world: Any, place: Place) -> None:
        self._world = world
        self._place = place

    def __getattr__(self, method: str) -> Callable[..., Any]:
        return functools.partial(_draw, self._world, Draw(self._place, method))


class Draw:
    """Calls a method of what is at a place, each time that the program runs."""

    draws = True
    __module__ = "wengert"

    def __init__(self, place: Place, method: str) -> None:
        self.place = place
        self.method = method
        self.__name__ = f"draw_{method}"
        self.like: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.place.read(()), self.method)(*args, **kwargs)

    def result(self, *args: Any, **kwargs: Any) -> Any:
        """Another result of this shape, dtype and class, that draws nothing from the generator."""
        with watch.aside():
            owner = self.place.read(())
            owner = owner if owner is time else copy.deepcopy(owner)
            self.like = getattr(owner, self.method)(*args, **kwargs)
        return self.like


def _draw(world: Any, draw: Draw, /, *args: Any, **kwargs: Any) -> Any:
    """Write down a draw; what it makes is a number if that is what the method makes."""
    made = world.trace.otherwise(draw, args, kwargs)
    like = draw.like
    if not isinstance(like, float | int | np.generic | np.ndarray):
        world.refuse(f"{draw.method}() of a generator from outside is called")
    if isinstance(like, float | int) and not isinstance(like, np.generic):
        return world.trace.number_like(made, type(like))
    made.single = isinstance(like, np.generic)
    return made
