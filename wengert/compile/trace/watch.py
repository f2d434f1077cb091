"""Watching what a traced function reads and changes outside of itself.

While a thread traces, a few attributes of our classes have descriptors that tell its capture of
each access: the array, the history and the gradient of a tensor, the attributes of a module, a
generator's numbers. The engine knows nothing of it: a tensor's `_array` simply is a traced array
when asked for. Other threads get from them what they always get.

Nothing is put into the objects themselves, so an interrupt finds little to leave behind: which
captures are at work, and what stands in the classes, which follows from that (`_settle`).
"""

from __future__ import annotations

import functools
import gc
import operator
import sys
import sysconfig
import types
from collections import deque
from collections.abc import Callable, Iterator
from itertools import chain
from threading import get_ident
from typing import Any

import numpy as np

from wengert.functions.random import Generator
from wengert.history import forks, modes
from wengert.history.location import INTERNAL
from wengert.history.surroundings import DECIDING
from wengert.tensor import Tensor

CAPTURES: dict[int, Any] = {}
"""The captures at work, by thread; None while one looks aside."""


def active() -> Any:
    """The capture of this thread, or None."""
    return CAPTURES.get(get_ident())


SLOT = Tensor.__dict__["_array"]
"""The slot itself: reads and writes past the watch."""


def is_real(tensor: Tensor) -> bool:
    """Whether a tensor has an array with numbers: from outside, or state from now on."""
    try:
        return type(SLOT.__get__(tensor)) is np.ndarray
    except AttributeError:  # it is being made
        return False


class _Array:
    """In the place of the slot `Tensor._array`."""

    def __get__(self, tensor: Any, owner: Any = None) -> Any:
        if tensor is None:
            return SLOT
        array = SLOT.__get__(tensor)
        capture = CAPTURES.get(get_ident())
        return array if capture is None else capture.array_of(tensor, array)

    def __set__(self, tensor: Any, array: Any) -> None:
        capture = CAPTURES.get(get_ident())
        if capture is not None:
            array = capture.array_for(tensor, array)
        SLOT.__set__(tensor, array)


class _History:
    """In the place of a slot of a tensor's history."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.slot = Tensor.__dict__[name]

    def __get__(self, tensor: Any, owner: Any = None) -> Any:
        if tensor is None:
            return self.slot
        capture = CAPTURES.get(get_ident())
        if capture is None or not is_real(tensor):
            return self.slot.__get__(tensor)
        return getattr(capture.outside.history(tensor), self.name)

    def __set__(self, tensor: Any, value: Any) -> None:
        capture = CAPTURES.get(get_ident())
        if capture is None or not is_real(tensor):
            self.slot.__set__(tensor, value)
        else:
            setattr(capture.outside.history(tensor), self.name, value)


class _Grad:
    """In the place of the attribute `Tensor._grad`."""

    def __get__(self, tensor: Any, owner: Any = None) -> Any:
        if tensor is None:
            return None  # the default of the class
        own = tensor.__dict__.get("_grad")
        capture = CAPTURES.get(get_ident())
        return own if capture is None else capture.grad_of(tensor, own)

    def __set__(self, tensor: Any, grad: Any) -> None:
        capture = CAPTURES.get(get_ident())
        if capture is None or not capture.grad_for(tensor, grad):
            tensor.__dict__["_grad"] = grad


_BEGUN = Generator.__dict__["_numbers"]


class _Numbers:
    """In the place of the attribute `Generator._numbers`."""

    def __get__(self, generator: Any, owner: Any = None) -> Any:
        if generator is None:
            return _BEGUN
        own = _BEGUN.__get__(generator)
        capture = CAPTURES.get(get_ident())
        return own if capture is None else capture.numbers_of(generator, own)

    def __set__(self, generator: Any, numbers: Any) -> None:
        capture = CAPTURES.get(get_ident())
        if capture is not None:
            capture.refuse("seeding a generator")
        generator.__dict__["_numbers"] = numbers


class _Attributes:
    """In the place of the method `__getattribute__` of a class of modules."""

    def __get__(self, module: Any, owner: Any = None) -> Any:
        if module is None:
            return object.__getattribute__
        return functools.partial(self.read, module)

    def read(self, module: Any, name: str) -> Any:
        try:
            value = object.__getattribute__(module, name)
        except AttributeError:
            value = type(module).__getattr__(module, name)  # where modules keep their parameters
        capture = CAPTURES.get(get_ident())
        if capture is not None and not name.startswith("__"):
            capture.conditions.attribute(module, name, value)
        return value


_WATCHED: list[tuple[type, str, Any]] = [
    (Tensor, "_array", _Array()),
    *((Tensor, name, _History(name)) for name in ("_node", "_cell", "_origin")),
    (Tensor, "_grad", _Grad()),
    (Generator, "_numbers", _Numbers()),
]
_ATTRIBUTES = _Attributes()


def _settle() -> None:
    """Make the watched attributes what the captures at work ask for.

    All of it, the question included, is one call in C, so no interrupt and no other thread comes in
    between; and to do it once too often does no harm.
    """
    modules = [(cls, "__getattribute__", _ATTRIBUTES) for cls in DECIDING]
    classes, names, watching = zip(*_WATCHED, *modules, strict=True)
    usual = [here.__get__(None, cls) for cls, here in zip(classes, watching, strict=True)]
    wanted = chain.from_iterable(map((usual, watching).__getitem__, map(bool, (CAPTURES,))))
    deque(map(setattr, classes, names, wanted), 0)


def run(capture: Any, function: Callable[[], Any]) -> Any:
    """What `function` returns, while `capture` is told of what this thread touches."""
    before = modes.current(), sys.getprofile()
    try:
        try:
            CAPTURES[get_ident()] = capture
            _settle()
            _profile(Calls(capture).event)
            return function()
        finally:
            _end(capture, *before)
    finally:
        _end(capture, *before)  # again: an interrupt may have come in between


def _end(capture: Any, mode: Any, profile: Any) -> None:
    CAPTURES.pop(get_ident(), None)
    _profile(profile)
    _settle()
    modes.enter(mode)
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


# ---- globals and closures -------------------------------------------------------------------

_LIBRARY = tuple(
    sorted({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})
)


class Calls:
    """Notes which of the user's functions run, and what they read from globals and closures."""

    def __init__(self, capture: Any) -> None:
        self.capture = capture
        self.seen: dict[types.CodeType, bool] = {}

    def event(self, frame: types.FrameType, event: str, arg: Any) -> None:
        if event != "call":
            return
        code = frame.f_code
        if code.co_filename in INTERNAL or active() is None:
            return
        if code in self.seen:
            if code.co_freevars and self.seen[code]:
                with aside():
                    self._enclosed(frame)  # another function, maybe, of the same code
            return
        self.seen[code] = is_users_code(frame)
        if not self.seen[code]:
            return
        with aside():
            names = {*code.co_names, *(c for c in code.co_consts if type(c) is str)}
            owners = [frame.f_locals[name] for name in code.co_varnames[: code.co_argcount]]
            for name in code.co_names:
                if name in frame.f_globals:
                    self.capture.conditions.item(frame.f_globals, name, frame.f_globals[name])
                    owners.append(frame.f_globals[name])
            if code.co_freevars:
                self._enclosed(frame)
            owners += [frame.f_locals[name] for name in code.co_freevars if name in frame.f_locals]
            for owner in owners:
                if type(owner) is dict or is_users(type(owner)):
                    self.capture.conditions.inside(owner, names)

    def _enclosed(self, frame: types.FrameType) -> None:
        code = frame.f_code
        values = [frame.f_locals.get(name, _UNBOUND) for name in code.co_freevars]
        known = self.capture.conditions.enclosed.setdefault(code, [])
        if not any(all(map(operator.is_, values, others)) for others in known):
            known.append(values)
            for cell in cells_of(frame, values):
                self.capture.conditions.variable(cell)


def is_users_code(frame: types.FrameType) -> bool:
    """Whether what runs in a frame is of the user's program: not of Python, nor of a library."""
    file = frame.f_code.co_filename
    if file.startswith("<"):  # made from text, as the __init__ of a dataclass: for this module
        file = frame.f_globals.get("__file__", file)
    return file not in INTERNAL and not file.startswith((*_LIBRARY, "<frozen"))


def is_users(cls: type) -> bool:
    """Whether a class is of the user's program: not of Python, nor of a library."""
    module = sys.modules.get(cls.__module__)
    file = getattr(module, "__file__", None)
    if module is None or issubclass(cls, (type, types.ModuleType)):
        return False
    return (file is None and cls.__module__ == "__main__") or (
        file is not None and file not in INTERNAL and not file.startswith(_LIBRARY)
    )


def cells_of(frame: types.FrameType, values: list[Any]) -> list[Any]:
    """The cells of a function that was just called and encloses these values.

    A frame does not name its function, only the code. To find the functions with a code, all that
    the collector knows must be looked through, which takes a tenth of a second in large programs;
    so those are looked at first that the callers name.
    """
    code = frame.f_code
    for outer in _callers(frame):
        if any(part is code for part in outer.f_code.co_consts):  # made in there: a comprehension
            around = outer.f_locals
            if all(around.get(n) is v for n, v in zip(code.co_freevars, values, strict=True)):
                return []  # its variables are those of a call that is noted already
    near = (f for outer in _callers(frame) for f in _named_by(outer) if f.__code__ is code)
    found = [f.__closure__ for f in near if all(map(operator.is_, _contents(f), values))]
    if not found:
        referrers = gc.get_referrers(code)
        found = [f.__closure__ for f in referrers if isinstance(f, types.FunctionType)]
    return [cell for closure in found for cell in closure or ()]


_UNBOUND = object()


def _contents(function: types.FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # a variable that has no value yet, or no longer
            yield _UNBOUND


def _callers(frame: types.FrameType) -> Iterator[types.FrameType]:
    """The nearest ones: a function's, and those of a wrapper or two around it."""
    for _ in range(4):
        if frame.f_back is None:
            return
        frame = frame.f_back
        yield frame


def _named_by(frame: types.FrameType) -> Iterator[types.FunctionType]:
    """Functions that a running one can call: its variables, globals, and their attributes."""
    names = frame.f_code.co_names
    owners = list(frame.f_locals.values())
    for owner in owners:
        yield from _functions(owner)
    for name in names:
        if name in frame.f_globals:
            yield from _functions(frame.f_globals[name])
    for owner in owners:
        for name in names:
            for holder in (owner, *type(owner).__mro__):
                # Not getattr, which may run the user's code.
                yield from _functions(getattr(holder, "__dict__", {}).get(name))


def _functions(x: Any) -> Iterator[types.FunctionType]:
    """The function that an object is, or that it calls by another name."""
    if isinstance(x, types.FunctionType):
        yield x
    elif isinstance(x, (types.MethodType, staticmethod, classmethod)):
        yield from _functions(x.__func__)
    elif isinstance(x, functools.partial):
        yield from _functions(x.func)
    elif isinstance(x, property):
        yield from _functions(x.fget)
    elif isinstance(x, type):
        yield from _functions(vars(x).get("__init__"))
