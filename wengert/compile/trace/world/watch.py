"""Watching what a traced function reads and changes outside of itself.

While a thread traces, a few attributes of our classes have descriptors that tell its capture of
each access: the array, the history and the gradient of a tensor, the attributes of a module, a
generator's numbers, an optimizer's groups. The engine knows nothing of it: a tensor's `_array`
simply is a traced array when asked for. Other threads get from them what they always get.

Nothing is put into the objects themselves, so an interrupt finds little to leave behind: which
captures are at work, and what stands in the classes, which follows from that (`_settle`).
"""

from __future__ import annotations

import functools
import sys
from collections import deque
from collections.abc import Callable
from itertools import chain
from threading import get_ident
from typing import Any

import numpy as np

from wengert.compile.trace.arrays.refusals import Postponed
from wengert.compile.trace.world.state import TOLD
from wengert.functions.random import Generator
from wengert.history import forks, modes
from wengert.history.surroundings import BEFORE_ONCE, BEGINNING, DECIDING, EXCHANGING, SETTINGS
from wengert.history.uncollected import uncollected
from wengert.tensor import Tensor

CAPTURES: dict[int, Any] = {}
"""The captures at work, by thread; None while one looks aside."""


def active() -> Any:
    """The capture of this thread, or None."""
    return CAPTURES.get(get_ident())


def _postpone() -> None:
    """Leave a call to eager mode."""
    if active() is not None:
        raise Postponed


def _write(value: Any, container: Any, key: Any) -> bool:
    """Write an entry as the user's code would, where somebody traces."""
    capture = active()
    if capture is not None:
        capture.world.write_item(value, container, key)
    return capture is not None


def _note_begun(module: Any) -> None:
    """What the library does to a module that somebody's trace makes is nothing outside."""
    capture = active()
    if capture is not None:
        capture.world.begun[id(module)] = module


BEFORE_ONCE.append(_postpone)
BEGINNING.append(_note_begun)
EXCHANGING.append(_write)


SLOT = Tensor.__dict__["_array"]
"""The slot itself: reads and writes past the watch."""


def is_real(tensor: Tensor) -> bool:
    """Whether a tensor has an array with numbers: from outside, or state from now on."""
    try:
        return type(SLOT.__get__(tensor)) is np.ndarray
    except AttributeError:  # it is being made
        return False


class _Watched:
    """In the place of an attribute: a capture says what is seen there, and what is put there.

    `usual` is what the class has there otherwise: a slot, or a default for what instances have.
    """

    def __init__(self, usual: Any, name: str, subject: str, *more: Any) -> None:
        self.usual = usual
        self.get, self.set = (getattr(usual, name, None) for name in ("__get__", "__set__"))
        self.name = name
        self.read, self.written = f"{subject}_of", f"{subject}_for"
        self.more = more

    def __get__(self, owner: Any, cls: Any = None) -> Any:
        if owner is None:
            return self.usual
        own = owner.__dict__.get(self.name, self.usual) if self.get is None else self.get(owner)
        capture = CAPTURES.get(get_ident())
        return own if capture is None else getattr(capture, self.read)(owner, own, *self.more)

    def __set__(self, owner: Any, value: Any) -> None:
        capture = CAPTURES.get(get_ident())
        if capture is not None:
            value = getattr(capture, self.written)(owner, value, *self.more)
        if self.set is None:
            owner.__dict__[self.name] = value
        else:
            self.set(owner, value)


class _Attributes:
    """In the place of the method `__getattribute__` of a class of modules."""

    def __init__(self) -> None:
        self.usual = object.__getattribute__

    def __get__(self, module: Any, owner: Any = None) -> Any:
        if module is None:
            return self.usual
        return functools.partial(self.read, module)

    def read(self, module: Any, name: str) -> Any:
        try:
            value = object.__getattribute__(module, name)
        except AttributeError:
            value = type(module).__getattr__(module, name)  # where modules keep their parameters
        capture = CAPTURES.get(get_ident())
        if capture is None:
            return value
        if name in TOLD:  # who makes a copy goes by all that the module has
            for known, held in tuple(object.__getattribute__(module, "__dict__").items()):
                capture.attribute_of(module, known, held)
        return value if name.startswith("__") else capture.attribute_of(module, name, value)


class _Changes:
    """In the place of the method `__setattr__` or `__delattr__` of a class of modules."""

    def __init__(self, usual: Any) -> None:
        self.usual = usual

    def __get__(self, module: Any, owner: Any = None) -> Any:
        return self.usual if module is None else functools.partial(self.change, module)

    def change(self, module: Any, name: str, *value: Any) -> None:
        capture = CAPTURES.get(get_ident())
        if capture is None:
            self.usual(module, name, *value)
        else:
            capture.attribute_for(module, self.usual, name, *value)


def _hash(tensor: Tensor) -> int:
    """In the place of the method `__hash__` of tensors: what finds one by itself asks for it.

    A function, as Python drops an interrupt that comes while it looks for a `__hash__`, which a
    descriptor of ours would take the time for.
    """
    capture = CAPTURES.get(get_ident())
    if capture is not None:
        capture.hash_of(tensor)
    return object.__hash__(tensor)


_hash.usual = object.__hash__  # type: ignore[attr-defined]


class _Does:
    """In the place of a generator's method: a capture does it instead."""

    def __init__(self, usual: Any, name: str) -> None:
        self.usual = usual
        self.name = name

    def __get__(self, owner: Any, cls: Any = None) -> Any:
        if owner is None:
            return self.usual
        capture = CAPTURES.get(get_ident())
        if capture is None:
            return functools.partial(self.usual, owner)
        return functools.partial(capture.generator_does, owner, self.name)


@functools.cache
def _changes(cls: type, method: str) -> _Changes:
    """Made before the class is first watched, when it has its own method."""
    return _Changes(getattr(cls, method))


def stands_in(value: Any) -> bool:
    """Whether this is in the place of what a class has while somebody traces."""
    return value is _hash or isinstance(value, (_Watched, _Attributes, _Changes, _Does))


_WATCHED = [
    (Tensor, "_array", _Watched(SLOT, "_array", "array")),
    *(
        (Tensor, name, _Watched(Tensor.__dict__[name], name, "history", name))
        for name in ("_node", "_cell", "_origin")
    ),
    (Tensor, "__hash__", _hash),
    (Tensor, "_grad", _Watched(None, "_grad", "gradient")),
    (Generator, "_numbers", _Watched(Generator.__dict__["_numbers"], "_numbers", "numbers")),
    *(
        (Generator, name, _Does(Generator.__dict__[name], name))
        for name in ("_begin", "_began", "_unforeseen", "_state", "_restore")
    ),
]
_ATTRIBUTES, _GROUPS = _Attributes(), _Watched(None, "param_groups", "groups")


def _settle() -> None:
    """Make the watched attributes what the captures at work ask for.

    All of it, the question included, is one call in C, so no interrupt and no other thread comes in
    between, as collections of garbage would let them; and to do it once too often does no harm.
    """
    modules: list[tuple[type, str, Any]] = []
    for cls in DECIDING:
        modules.append((cls, "__getattribute__", _ATTRIBUTES))
        modules += ((cls, name, _changes(cls, name)) for name in ("__setattr__", "__delattr__"))
    optimizers = [(cls, "param_groups", _GROUPS) for cls in SETTINGS]
    classes, names, watching = zip(*_WATCHED, *modules, *optimizers, strict=True)
    usual = [here.usual for here in watching]
    wanted = chain.from_iterable(map((usual, watching).__getitem__, map(bool, (CAPTURES,))))
    with uncollected():
        deque(map(setattr, classes, names, wanted), 0)


def run(capture: Any, function: Callable[[], Any]) -> Any:
    """What `function` returns, while `capture` is told of what this thread touches."""
    before = modes.current(), sys.getprofile()
    ended = False
    try:
        try:
            CAPTURES[get_ident()] = capture
            _settle()
            return function()
        finally:
            _end(capture, *before)
            ended = True
    finally:
        if not ended:  # an interrupt came in between
            _end(capture, *before)


def _end(capture: Any, mode: Any, profile: Any) -> None:
    CAPTURES.pop(get_ident(), None)
    _profile(profile)
    _settle()
    modes.enter(mode)
    modes.settle()
    capture.restore()


def _profile(wanted: Any) -> None:
    """Set who is told of calls; some profiler written in C could not be put back, and stays."""
    now: Any = sys.getprofile()
    if now is wanted:
        return
    if hasattr(now, "disable"):  # cProfile's
        now.disable()
    if hasattr(wanted, "enable"):
        wanted.enable()
    elif now is None or callable(now) or hasattr(now, "disable"):
        sys.setprofile(wanted)


class aside:
    """Leave the watch: what happens inside is real."""

    def __enter__(self) -> None:
        self.capture = active()
        if self.capture is not None:
            CAPTURES[get_ident()] = None

    def __exit__(self, *exception: object) -> None:
        if self.capture is not None:
            CAPTURES[get_ident()] = self.capture


def _forget() -> None:
    """In a forked process nobody traces: of the threads that did, it has at most the stack."""
    CAPTURES.clear()
    _settle()


forks.in_child(_forget)
