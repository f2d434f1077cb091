"""Stubs: what the user's functions run as while they may be called past the observer.

C and libraries call hooks, `key=` functions, `__float__` and much else, and ask nobody. So every
function that an observed program reaches gets the code of a stub while it is observed: one with the
same parameters, which gives the call to the observer of its thread. Where there is none, as in all
other threads, it does what the function does.
"""

from __future__ import annotations

import gc
import inspect
import threading
import weakref
from collections.abc import Iterable, Iterator
from types import CodeType, FrameType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any

import numpy as np

from wengert.arrays.methods import ArrayMethods
from wengert.compile.trace.observe import rewrite
from wengert.compile.trace.observe.libraries import BUILTIN
from wengert.compile.trace.observe.objects import ATOMS, held_in
from wengert.compile.trace.observe.users import is_of_user
from wengert.history import forks
from wengert.rules.rule import RULES
from wengert.tensor import Tensor

_DEPTH = 6
"""So far are the functions looked for that an object may lead a library to."""

_lock = forks.waited_for(threading.RLock())
_stubs: dict[int, Stub] = {}
"""By the id of the stub's code, which the stub holds."""


class Stub:
    """What a stub's code calls: for a function, and those who want it told."""

    def __init__(self, function: FunctionType) -> None:
        self.function = function
        self.code = function.__code__
        self.stands_in = _stub_code(self)
        self.users: set[int] = set()

    def call(self, /, *args: Any, **named: Any) -> Any:
        observer = rewrite.THREAD.observer
        if observer is None or not observer.is_told():
            return self.original()(*args, **named)
        if observer.interrupts(self.code):
            try:
                return self.original()(*args, **named)
            finally:
                observer.resumes()
        observer.called_by_others(self.function, args)
        return observer.called(self.function, *args, **named)

    def original(self) -> FunctionType:
        """The function with its own code."""
        f = self.function
        own = FunctionType(self.code, f.__globals__, f.__name__, f.__defaults__, f.__closure__)
        own.__kwdefaults__ = f.__kwdefaults__
        return own


def code_of(function: FunctionType) -> CodeType:
    """A function's own code."""
    code = function.__code__  # read once: another thread may lend it, or take it back
    stub = _stubs.get(id(code))
    return code if stub is None else stub.code


def lend(function: FunctionType, user: Any) -> None:
    """Have a function called by way of a stub, until `take_back`."""
    with _lock:
        stub = _stubs.get(id(function.__code__))
        if stub is None:
            stub = Stub(function)
            _stubs[id(stub.stands_in)] = stub
            function.__code__ = stub.stands_in
        stub.users.add(id(user))


def take_back(functions: Iterable[FunctionType], user: Any) -> None:
    """Take stubs away that nobody else wants; a second time does no harm."""
    with _lock:
        for function in functions:
            known = id(function.__code__)
            stub = _stubs.get(known)
            if stub is not None:
                stub.users.discard(id(user))
                if not stub.users:
                    function.__code__ = stub.code
                    del _stubs[known]


_STUB = "what a stub calls"


def _stub_code(stub: Stub) -> CodeType:
    """Code of the same parameters and variables of enclosing functions, which calls the stub."""
    code = stub.code
    first, count = code.co_posonlyargcount, code.co_argcount
    names = iter(code.co_varnames)
    given = [next(names) for _ in range(count)]
    named = [next(names) for _ in range(code.co_kwonlyargcount)]
    more = [f"*{next(names)}"] if code.co_flags & _VARARGS else []
    rest = [f"**{next(names)}"] if code.co_flags & _VARKEYWORDS else []
    before = [*given[:first], "/"] if first else []
    between = more or (["*"] if named else [])
    parameters = ", ".join([*before, *given[first:], *between, *named, *rest])
    arguments = ", ".join([*given, *more, *(f"{name}={name}" for name in named), *rest])
    text = f"def stub({parameters}): return {_STUB!r}.call({arguments})"
    stub_code = next(c for c in compile(text, __file__, "exec").co_consts if type(c) is CodeType)
    return stub_code.replace(
        co_consts=tuple(stub if const == _STUB else const for const in stub_code.co_consts),
        co_name=code.co_name,
        co_qualname=code.co_qualname,
        co_firstlineno=code.co_firstlineno,
        co_freevars=code.co_freevars,
        # What a function is stays the same to those who ask; Python 3.13 warns where it does not.
        co_flags=stub_code.co_flags | code.co_flags & _KIND,
    )


_VARARGS, _VARKEYWORDS = inspect.CO_VARARGS, inspect.CO_VARKEYWORDS
_KIND = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def functions_behind(value: Any, known: dict[int, tuple[Any, int]]) -> Iterator[FunctionType]:
    """The functions that a library may call that gets a value.

    `known` has what was looked at before, and how far from there.
    """
    level = [value]
    for depth in range(_DEPTH, -1, -1):
        parts: list[Any] = []
        for x in level:
            kind = type(x)
            if kind in _LEADING_NOWHERE:
                continue
            before = known.get(id(x))
            if before is not None and before[1] >= depth:
                continue
            known[id(x)] = x, depth
            if kind is FunctionType:
                yield x
            if depth:
                parts += gc.get_referents(x) if kind in _PLAIN_CONTAINERS else _parts(x)
        if not parts:
            return
        level = parts


_LEADING_NOWHERE = {*ATOMS, np.ndarray, Tensor, *BUILTIN, ModuleType, FrameType}
_PLAIN_CONTAINERS = frozenset({dict, list, tuple, set})
_ARRAYS = np.ndarray, ArrayMethods, Tensor


def _parts(x: Any) -> Iterable[Any]:
    """What an object holds that decides what its calls do."""
    if type(x) in _OF_LIBRARIES:
        return gc.get_referents(x)
    if type(x) is FunctionType:
        return (*map(held_in, x.__closure__ or ()), *vars(x).values(), RULES.get(x))
    if type(x) is np.ufunc:
        return (RULES.get(x),)  # which may be the user's
    if isinstance(x, type):
        return (*vars(x).values(), *x.__mro__, type(x)) if is_of_user(x) else ()
    if isinstance(x, _ARRAYS):
        return (type(x),)
    if type(x) is MethodType:
        return x.__func__, x.__self__
    if type(x) is GeneratorType:  # of which the function has been called
        return [part for part in gc.get_referents(x) if getattr(part, "__code__", 0) != x.gi_code]
    if is_of_user(type(x)):
        return (type(x),)
    _OF_LIBRARIES.add(type(x))
    return gc.get_referents(x)


_OF_LIBRARIES: weakref.WeakSet[type] = weakref.WeakSet()
"""Classes of which that is known to be all: a module has a dozen dictionaries of hooks."""
