"""The observer's ear in machine code: it passes on the few calls that concern the observer.

A trace makes some hundred thousand calls, nearly all of them in the engine, and Python tells of
each call and return. What code is is noted at the code object (see `Kind`), where C finds it; so
only calls that are new, calls of libraries by observed code, and functions in C that act reach
Python. `Listener` tells of all calls, and is the reference.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from types import CodeType
from typing import Any

from llvmlite import ir

from wengert.compile.call.entry.writer import HALF, WORD, Writer
from wengert.compile.llvm.machine.host import FEW, compile_text, python, register
from wengert.compile.trace.observe.listeners import Kind, Listener
from wengert.history import forks

_CALL, _RETURN, _C_CALL = 0, 3, 4  # PyTrace_CALL, PyTrace_RETURN, PyTrace_C_CALL
_NAMES = {_CALL: sys.intern("call"), _RETURN: sys.intern("return"), _C_CALL: sys.intern("c_call")}
_ROOM = 64
_SELF = 24
"""Where a PyCFunctionObject keeps what it is a method of: after the head and its definition."""


class NativeListener(Listener):
    """Listens in machine code. There is one, since what it notes is so for the whole process."""

    def __init__(self) -> None:
        self.words = (ctypes.c_uint64 * (2 + _ROOM))()  # index of the extra, count, who acts
        self.acting: frozenset[int] = frozenset()
        register("listener.words", ctypes.addressof(self.words))
        for name in _NAMES.values():
            register(f"listener.{name}", id(name))
        register("listener.get_extra", python(_of_this_version("Code_GetExtra")))
        self.words[0] = _api("Eval_RequestCodeExtraIndex", ctypes.c_ssize_t, ctypes.c_void_p)(None)
        self.put = _api(
            "Code_SetExtra", ctypes.c_int, ctypes.py_object, ctypes.c_ssize_t, ctypes.c_void_p
        )
        self.set = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.py_object)(
            ("PyEval_SetProfile", ctypes.pythonapi)
        )
        self.code = compile_text("listener", _module, "listener", FEW)
        self.heard = self.code.address("heard")

    def listen(self, event: Callable[..., Any], acting: frozenset[int]) -> None:
        if not acting <= self.acting:
            more = acting - self.acting
            count = len(self.acting)
            if count + len(more) > _ROOM:
                return super().listen(event, acting)
            self.words[2 + count : 2 + count + len(more)] = [*more]
            self.words[1] = count + len(more)
            self.acting |= more
        self.set(self.heard, event)

    def note(self, code: CodeType, kind: Kind) -> None:
        self.put(code, self.words[0], int(kind))


_lock = forks.renewed(threading.RLock())
_made: list[NativeListener] = []


def native_listener() -> NativeListener:
    """The one of this process, also for threads that ask at once."""
    if not _made:
        with _lock:
            if not _made:
                _made.append(NativeListener())
    return _made[0]


def _of_this_version(name: str) -> str:
    return f"PyUnstable_{name}" if sys.version_info >= (3, 12) else f"_Py{name}"


def _api(name: str, returns: Any, *arguments: Any) -> Any:
    """A function of CPython's API that keeps a word with a code object."""
    name = _of_this_version(name)
    return ctypes.PYFUNCTYPE(returns, *arguments)((name, ctypes.pythonapi))


# ---- the machine code ------------------------------------------------------------------------


def _module() -> ir.Module:
    module = ir.Module("listener")
    _Heard(module).write()
    return module


class _Heard:
    """A `Py_tracefunc`: `int heard(method, frame, what, argument)`."""

    def __init__(self, module: ir.Module) -> None:
        self.w = w = Writer(module, None, "heard", HALF, WORD, WORD, HALF, WORD)
        self.method, self.frame, self.what, self.argument = w.function.args
        for attribute in ("noinline", "optnone"):  # a trace is over before better code pays
            w.function.attributes.add(attribute)
        self.quiet, self.told = w.block("quiet"), w.block("told")
        self.words = w.known("listener.words")
        self.extra = w.variable()
        with w.build.goto_entry_block():
            self.given = w.build.alloca(WORD, 3)

    def write(self) -> None:
        w = self.w
        by_code, by_function = w.block("by_code"), w.block("by_function")
        what = w.build.switch(self.what, self.quiet)
        for number, block in ((_CALL, by_code), (_RETURN, by_code), (_C_CALL, by_function)):
            what.add_case(number, block)
        w.build.position_at_end(by_code)
        self.by_code()
        w.build.position_at_end(by_function)
        self.by_function()
        w.build.position_at_end(self.quiet)
        w.build.ret(w.number(0, HALF))
        w.build.position_at_end(self.told)
        self.tell()

    def by_code(self) -> None:
        """What is not noted is told, and a library's function that observed code calls."""
        w = self.w
        kind = self.kind_of(self.frame)
        w.need(w.differs(kind, Kind.ENGINE), self.quiet)
        w.need(w.differs(kind, Kind.OBSERVED), self.quiet)
        w.need(w.same(kind, Kind.LIBRARY), self.told)
        caller = w.call("python.PyFrame_GetBack", self.frame)
        w.need(w.differs(caller, 0), self.quiet)
        kind = self.kind_of(caller)
        w.call("python.Py_DecRef", caller)
        w.build.cbranch(w.same(kind, Kind.OBSERVED), self.told, self.quiet)

    def kind_of(self, frame: ir.Value) -> ir.Value:
        w = self.w
        code = w.call("python.PyFrame_GetCode", frame)
        w.build.store(w.number(0), self.extra)
        place = w.build.ptrtoint(self.extra, WORD)
        w.call("listener.get_extra", code, w.word(self.words, 0), place)
        w.call("python.Py_DecRef", code)
        return w.build.load(self.extra)

    def by_function(self) -> None:
        w = self.w
        around = w.load(self.argument, _SELF)
        acting = w.build.add(self.words, w.number(16))
        with w.each(acting, w.word(self.words, 1), 1) as place:
            one = w.word(place, 0)
            w.need(w.differs(one, self.argument), self.told)
            w.need(w.differs(one, around), self.told)
        w.build.branch(self.quiet)

    def tell(self) -> None:
        w = self.w
        none = w.known("python._Py_NoneStruct")
        name = w.known(f"listener.{_NAMES[_C_CALL]}")
        for number in (_CALL, _RETURN):
            it = w.same(self.what, number)
            name = w.build.select(it, w.known(f"listener.{_NAMES[number]}"), name)
        argument = w.build.select(w.same(self.argument, 0), none, self.argument)
        given = w.build.ptrtoint(self.given, WORD)
        for place, value in enumerate((self.frame, name, argument)):
            w.store(value, given, place)
        count, no_names = w.number(3), w.number(0)
        result = w.call("python.PyObject_Vectorcall", self.method, given, count, no_names)
        with w.when(w.same(result, 0)):
            w.build.ret(w.number(-1, HALF))
        w.call("python.Py_DecRef", result)
        w.build.ret(w.number(0, HALF))
