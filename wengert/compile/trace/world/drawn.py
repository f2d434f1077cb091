"""Calls that answer differently each time: of random generators, and clocks.

Each is a statement, which is carried out when the program runs, in the order of the calls.
"""

from __future__ import annotations

import atexit
import copy
import ctypes
import functools
import os
import pickle
import random
import re
import sys
import time
import uuid
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compile.program.program import Value
from wengert.compile.trace.arrays.array import values_of
from wengert.compile.trace.arrays.numbers import COMPUTED, number_of
from wengert.compile.trace.arrays.opaque import like, zeros
from wengert.compile.trace.observe.objects import CHANGEABLE
from wengert.compile.trace.world import watch
from wengert.compile.trace.world.places import Attribute, Known, Place
from wengert.functions.random import Generator, default_generator

GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)
_CLOCKS = frozenset(
    getattr(time, name + unit)
    for name in ("time", "perf_counter", "monotonic", "process_time", "thread_time")
    for unit in ("", "_ns")
)
_UNREPEATABLE = frozenset(
    {
        *(
            input,
            os.read,
            os.urandom,
            uuid.uuid1,
            uuid.uuid4,
            time.localtime,
            time.gmtime,
            time.ctime,
        ),
        *(getattr(np.random, f"{verb}_bit_generator") for verb in ("get", "set")),
    }
)
_SEEDED = frozenset({np.random.default_rng, *GENERATORS})
EVERYWHERE = np.random.rand.__self__, random.random.__self__  # type: ignore[attr-defined]
"""The generators that all of a process draws from."""
_NUMPYS = {
    np.random.seed: EVERYWHERE[0].seed,
    np.random.ranf: EVERYWHERE[0].random_sample,
    np.random.sample: EVERYWHERE[0].random_sample,
}
"""Functions of NumPy's generator that are no methods of it."""
ASKS_FILES = {
    id(getattr(os, name, None)): name
    for name in ("open", "stat", "lstat", "listdir", "scandir", "access", "getcwd", "readlink")
} | {id(open): "open"}
"""Functions that ask the system for files, which may be others at each call, by id."""
SYSTEM = frozenset({id(sys.modules[os.name]), id(sys.modules["_signal"]), id(atexit)})
"""Modules whose functions act on the system, by id: what they do would be done again by asking."""
_ASKING = re.compile(
    "get|is|sched_get|sysconf|confstr|fpathconf|pathconf|W|urandom|cpu_count|uname|times|fspath"
    "|fstat|strerror|device_encoding|_path|ctermid|ttyname|tcget|major|minor|default_int"
)
"""How the names begin of those that only ask."""


def acts(function: Any) -> bool:
    """Whether a function in C does more than answer, if it is one of those that are told of."""
    around = id(function.__self__)
    return (
        around not in SYSTEM or id(function) in ASKS_FILES or not _ASKING.match(function.__name__)
    )


_STAMPS = 2**62 - 1
"""What a clock says in nanoseconds lies below."""


def drawn(callee: Any, args: Any, named: Any, world: Any) -> Callable[..., Any] | None:
    """What is called in the place of such a callable; None for all others."""
    if type(callee) is type(np.random.seed):
        callee = _NUMPYS.get(callee, callee)
    around = getattr(callee, "__self__", None)
    if around is EVERYWHERE[0] or (isinstance(around, GENERATORS) and world.is_outside(around)):
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


def where_numpy_stands() -> bytes:
    """What a draw from NumPy's generator of all changes, as functions of other libraries do."""
    everywhere = EVERYWHERE[0]
    generator = everywhere._bit_generator
    if type(generator) is not np.random.MT19937:  # of a program that called set_bit_generator
        return pickle.dumps(everywhere.get_state(legacy=False))
    return ctypes.string_at(generator.ctypes.state_address, _MERSENNE)


_MERSENNE = 4 * 625
"""Bytes: the state's 624 words, and where in them the next draw begins."""


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
        self.makes: type | None = None
        """The class of what it makes; not an example, which a program would keep for ever."""
        drawn_from = place.owner if type(place) is Attribute else place.read(())
        self.again = None if drawn_from is time else drawn_from is default_generator
        """Whether `set_rng_state` lets it draw the same again, as a checkpoint does; None of a
        clock, of which nobody expects it."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.place.read(()), self.method)(*args, **kwargs)

    def result(self, *args: Any, **kwargs: Any) -> Any:
        """Another result of this shape, dtype and class, that draws nothing from the generator."""
        with watch.aside():
            owner = self.place.read(())
            owner = owner if owner is time else copy.deepcopy(owner)
            result = getattr(owner, self.method)(*args, **kwargs)
        self.makes = type(result)
        return result


class Stands(Draw):
    """Where a generator stands, as so many bytes whatever the numbers in it are."""

    def __init__(self, place: Place) -> None:
        super().__init__(place, "state")
        with watch.aside():
            self.size = len(self._bytes()) * 3 // 2

    def _bytes(self) -> bytes:
        return pickle.dumps(state_of(self.place.read(())))

    def __call__(self) -> np.ndarray[Any, Any]:
        return np.frombuffer(self._bytes().ljust(self.size, b"\0"), np.uint8)


class PutBack(Draw):
    """Lets a generator stand where it stood."""

    def __init__(self, place: Place) -> None:
        super().__init__(place, "put_back")

    def __call__(self, state: np.ndarray[Any, Any]) -> None:
        put_back(self.place.read(()), pickle.loads(state.tobytes()))


def state_of(generator: Any) -> Any:
    """Where a generator stands, wengert's, NumPy's or Python's."""
    if isinstance(generator, np.random.Generator):
        return generator.bit_generator.state
    if isinstance(generator, random.Random):
        return generator.getstate()
    return generator._state() if isinstance(generator, Generator) else generator.get_state()


def put_back(generator: Any, state: Any) -> None:
    """Let it stand where it stood when that was asked."""
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = state
    elif isinstance(generator, random.Random):
        generator.setstate(state)
    elif isinstance(generator, Generator):
        generator._restore(state)
    else:
        generator.set_state(state)


def done(world: Any, generator: Any, name: str, args: Any) -> Any:
    """Write down what one of wengert's generators does with its state; the state is bytes."""
    if name in ("_begin", "_restore"):
        draw = Draw(Known(generator), name)
        world.trace.append(draw, values_of(world.trace, args), {}, [])
        return None
    return getattr(Numbers(world, Known(generator)), name)(*args)


def _draw(world: Any, draw: Draw, /, *args: Any, **kwargs: Any) -> Any:
    """Write down a draw; what it makes is a number if that is what the method makes.

    A method that makes nothing has changed the generator, unless it was given what it may change.
    """
    given, named = values_of(world.trace, args), values_of(world.trace, kwargs)
    changed = any(isinstance(x, (*CHANGEABLE, Value)) for x in (*given, *named.values()))
    if like(draw, given, named, zeros) is None and not changed:
        world.trace.append(draw, given, named, [])
        return None
    kind = draw.makes
    if kind is None:
        return world.refuse(f"{draw.method}() of a generator from outside is called")
    draws = world.trace.otherwise(draw, args, kwargs)
    if not issubclass(kind, float | int | np.generic | np.ndarray):
        world.refuse(f"{draw.method}() of a generator from outside is called")
    if issubclass(kind, float | int) and not issubclass(kind, np.generic):
        clock = draw.place.read(()) is time
        return number_of(draws, kind, _STAMPS if clock else COMPUTED)
    draws.single = issubclass(kind, np.generic)
    return draws
