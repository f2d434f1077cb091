"""Calls: the user's functions are run as observed copies, and what libraries get is told.

A copy is made for a call and is not kept: no object of the program holds one. Functions that are
given to a library go as copies too, unless the library is known to keep and not to call them.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import sys
import threading
import types
from collections.abc import Callable, Iterator
from types import BuiltinMethodType, CodeType, FunctionType, MethodType
from typing import Any

from wengert.compile.trace.observe import rewrite, stubs
from wengert.compile.trace.observe.events import MISSING, Origin, Unobserved
from wengert.compile.trace.observe.libraries import (
    BOUND,
    BY_FRAME,
    DUNDERS,
    OPERATIONS,
    PLAIN_CALLABLES,
    SLOTS,
)
from wengert.compile.trace.observe.listeners import EVERY_CALL, Kind, Listener
from wengert.compile.trace.observe.objects import (
    CONTAINERS,
    behind,
    method_of,
    name_of,
    own_attribute,
    static,
)
from wengert.compile.trace.observe.outside import Outside
from wengert.compile.trace.observe.stubs import code_of
from wengert.compile.trace.observe.users import is_of_user, is_users_code
from wengert.history.location import is_internal
from wengert.history.surroundings import UNHEARD


class Calls(Outside):
    """Who is called, and with what."""

    def is_users(self, code: CodeType, namespace: dict[str, Any]) -> bool:
        """Whether code is of the user's program, which is observed, and of no library."""
        return is_users_code(code, namespace)

    acting: frozenset[int] = frozenset()
    """The ids of functions in C that do something else at each call, and of what they are methods
    of; both live as long as Python."""
    listener: Listener = EVERY_CALL

    def acts(self, function: Any) -> bool:
        """Whether one of those that are acting, or of a module that is, does so by itself."""
        return True

    def standing(self) -> Any:
        """What another library's function must not change."""

    def run(self, function: Any, /, *args: Any, **named: Any) -> Any:
        """Call a function and observe it. Its arguments are outside, and so is what they hold."""
        self._reach(function, None, getattr(function, "__name__", type(function).__name__))
        for key, argument in (*enumerate(args), *named.items()):
            self._reach(argument, None, parameter_name(function, key))
        with self.observing():
            return self.called(function, *args, **named)

    @contextlib.contextmanager
    def observing(self) -> Iterator[None]:
        """In which what runs is told."""
        outer, profile = rewrite.THREAD.observer, sys.getprofile()
        watched = profile is None or isinstance(profile, FunctionType | MethodType)
        try:
            rewrite.THREAD.observer = self
            if watched:
                self._listener().listen(self._event, self.acting)
            yield
        except BaseException as error:
            raise rewrite.cleaned(error)  # noqa: B904  (the same error)
        finally:
            rewrite.THREAD.observer = outer
            if watched:
                sys.setprofile(profile)
            self.take_back()

    def _listener(self) -> Listener:
        """What a code is, is noted for all observers, but not by one that has a view of its own."""
        return self.listener if type(self).is_users is Calls.is_users else EVERY_CALL

    def reached(self, value: Any) -> None:
        """Have functions observed that who gets this may call."""
        if type(value) not in CONTAINERS:
            for function in stubs.functions_behind(value, self.behind):
                if self._of_user(function):
                    self.lend(function)

    def take_back(self) -> None:
        stubs.take_back(self.lent.values(), self)

    def lend(self, function: FunctionType) -> None:
        """Have calls of a function told that nobody observes."""
        if id(function) not in self.put:
            self.origins.setdefault(id(function), Origin(function, None, function.__name__))
        self.lent[id(function)] = function
        stubs.lend(function, self)

    def is_told(self) -> bool:
        """Whether the calls of stubs are the observed program's."""
        return not self.telling and rewrite.THREAD.observer is self

    def called(self, function: Any, /, *args: Any, **named: Any) -> Any:
        """Call from here: what Python calls by itself, as a getter."""
        named, args, callee = self._resolved(function, args, named)
        return callee(*args, **named)

    def _resolved(
        self, callee: Any, args: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[dict[str, Any], tuple[Any, ...], Any]:
        """What is really called: observed copies of the user's functions."""
        kind = type(callee)
        if kind is FunctionType and self._of_user(callee):
            return named, args, self._copy(callee, self._entered(callee))
        if kind is MethodType:
            if self._of_user(callee.__func__) or type(callee.__func__) is not FunctionType:
                return self._resolved(callee.__func__, (callee.__self__, *args), named)
        elif kind is functools.partial:
            self._read_partial(callee)
            given, by_name = self.shadow(callee.args), self.shadow(callee.keywords)
            return self._resolved(callee.func, given + args, {**by_name, **named})
        elif kind not in PLAIN_CALLABLES:
            users = self._found(kind, "__call__")  # of a class, its metaclass may have one
            if users is not None:
                return self._resolved(users, (callee, *args), named)
            if isinstance(callee, type) and self._is_made_by_user(callee):
                return named, args, functools.partial(self._instance, callee)
        return self._trusted(callee, args, named)

    def _read_partial(self, partial: Any) -> None:
        if id(partial) in self.origins:
            for name in ("func", "args", "keywords"):
                self._read_attribute(partial, name, getattr(partial, name))
            self._read_contents(partial.args)
            self._read_contents(partial.keywords)

    def _is_made_by_user(self, cls: type) -> bool:
        if static(type(cls), "__call__") is not type.__dict__["__call__"]:
            return False
        methods = [self._found(cls, name) for name in ("__init__", "__new__")]
        if any(method is not None for method in methods):
            return True
        if not self.telling and is_of_user(cls):  # what was made for it, as a named tuple's
            for method in (method_of(cls, "__init__"), method_of(cls, "__new__")):
                if type(method) is FunctionType:
                    self._entered(method)
        return False

    def _instance(self, cls: Any, /, *args: Any, **named: Any) -> Any:
        """What `type.__call__` does."""
        item = self.called(cls.__new__, cls, *args, **named)
        if isinstance(item, cls):
            result = self.called(type(item).__init__, item, *args, **named)
            if result is not None:
                kind = type(result).__name__
                raise TypeError(f"__init__() should return None, not '{kind}'")
        return item

    def _of_user(self, function: Any) -> bool:
        if type(function) is not FunctionType:
            return False
        return self._is_users(code_of(function), function.__globals__)

    def _is_users(self, code: CodeType, namespace: dict[str, Any]) -> bool:
        known = self.codes.get(id(code))
        if known is None:
            known = code, self._tell(self.is_users, code, namespace)
            self.codes[id(code)] = known
        return known[1]

    def _copy(self, function: FunctionType, defaults: Any) -> FunctionType:
        code = self._rewritten(code_of(function))
        copy = FunctionType(
            code, function.__globals__, function.__name__, defaults[0], function.__closure__
        )
        copy.__kwdefaults__ = defaults[1]
        copy.__qualname__ = function.__qualname__
        if function.__dict__:
            copy.__dict__.update(function.__dict__)
        return copy

    def _entered(self, function: FunctionType) -> tuple[Any, Any]:
        """A function is called: its code, its cells and its defaults, if it is from outside."""
        defaults, named = function.__defaults__, function.__kwdefaults__
        if id(function) not in self.origins:
            return defaults, named
        code = code_of(function)
        self._read("code", function, "__code__", code, "")
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            self._reach(cell, None, name)
        if defaults:
            names = code.co_varnames[: code.co_argcount][-len(defaults) :]
            pairs = zip(names, defaults, strict=True)
            defaults = tuple(self._read("default", function, n, v, n) for n, v in pairs)
        if named:
            named = {n: self._read("default", function, n, v, n) for n, v in named.items()}
        return defaults, named

    def _trusted(
        self, callee: Any, args: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[dict[str, Any], tuple[Any, ...], Any]:
        kind = type(callee)
        named_here = callee.__func__ if kind is MethodType else callee
        if type(named_here) is FunctionType and "rule" in vars(named_here):
            self._tell(self.reached, vars(named_here)["rule"].function)  # it may be the user's
        if callee is type and len(args) == 3:  # a class is of the module where this is called
            return named, args, callee
        if callee is builtins.__build_class__:
            return named, args, self._meant("_class_statement", callee)
        if callee is eval or callee is exec:
            return named, (self._read_as(callee, *args[:1]), *args[1:]), callee
        if kind in PLAIN_CALLABLES or kind is type:
            meaning = OPERATIONS.get(callee, "")
            if meaning is None or (not meaning and callee in BY_FRAME and not args):
                return named, args, callee
            if meaning and not named:
                return named, args, self._meant(meaning, callee)
        if kind is types.MethodDescriptorType and args and isinstance(args[0], CONTAINERS):
            callee, args, kind = callee.__get__(args[0]), args[1:], BuiltinMethodType
        if name_of(callee) in DUNDERS and (kind in SLOTS or kind in (FunctionType, MethodType)):
            return named, args, self._meant("_dunder", callee)
        around = getattr(callee, "__self__", None) if kind in BOUND else None
        if isinstance(around, CONTAINERS):
            if id(around) in self.origins:
                callee = self._meant("_method_of_container", callee, self.is_statement)
            else:
                for value in args:
                    self._given(value, callee)
            return named, args, callee
        for value in (around, callee, *args, *named.values()):
            self._given(value, callee)
        depth = self.depth_for(callee, args)
        args = tuple([self.shadow(value, depth) for value in args])
        named = {name: self.shadow(value, depth) for name, value in named.items()}
        return named, args, callee

    def _class_statement(self, build: Any, *args: Any, **named: Any) -> Any:
        cls = build(*args, **named)
        self.classes[id(cls)] = cls
        self._tell(self.class_made, cls)
        return cls

    def _read_as(self, callee: Any, text: Any) -> Any:
        """What `eval` or `exec` is to run, as observed code."""
        if isinstance(text, str):
            text = text.lstrip(" \t") if callee is eval else text
            text = compile(text, "<string>", callee.__name__, dont_inherit=True)
        if type(text) is not CodeType:
            return text
        self.quiet[id(text)] = text  # so that it lives as long as the observed code is wanted
        return self._rewritten(text)

    def _rewritten(self, code: CodeType) -> CodeType:
        """The observed copy of code."""
        known = rewrite.known(code)
        if known is not None:
            return known
        return self.unheard(self._tell, rewrite.rewritten, code)

    def unheard(self, function: Any, /, *args: Any) -> Any:
        """Call what calls nothing of the program's: Python runs at half its speed where it tells.

        An interrupt that the program catches may come before this hears again: see `deaf`.
        """
        if self.answering or sys.getprofile() != self._event:
            return function(*args)
        self.deaf += 1
        try:
            sys.setprofile(None)
            return function(*args)
        finally:
            self._listener().listen(self._event, self.acting)
            self.deaf -= 1

    def _meant(self, meaning: str, *callee: Any) -> Any:
        """An operation of the observer, in the place of a callable that does this."""
        return functools.partial(getattr(self, meaning), *callee)

    def _is_meant(self, callee: Any) -> bool:
        """Whether this is an operation of the observer, which tells itself of what it does."""
        return getattr(getattr(callee, "func", None), "__self__", None) is self

    def _found(self, cls: type, name: str) -> Any:
        """A special method of a class, if it is the user's; whether there is one has been read."""
        key = cls, name
        if key not in self.methods:
            self.methods[key] = self._users_method(cls, name)
            if not self.telling:
                self._read_of_class(cls, name)
        return self.methods[key]

    def _users_method(self, cls: type, name: str) -> Any:
        method = method_of(cls, name)
        return method if self._of_user(method) else None

    def _read_of_class(self, cls: type, name: str) -> Any:
        """An object has something by its class: which another one may have been given since.

        That is so too of objects that the program makes: their class was there before.
        """
        value = self._tell(getattr, cls, name, MISSING)
        if not is_of_user(cls):
            self._tell(self.had_by_class, cls, name)
            return value
        self._reach(cls, None, cls.__name__)
        return self._read("attribute", cls, name, value, f".{name}")

    def made_inside(self, owner: Any, name: str, value: Any) -> Any:
        cls = type(owner)
        if cls is super:
            for after in behind(owner):
                self._read_of_class(after, name)
                if name in vars(after):
                    break
        if self.telling or issubclass(cls, type | types.ModuleType) or not is_of_user(cls):
            return value
        if own_attribute(owner, name) is not MISSING:
            return value
        is_of_class = static(cls, name) is value
        seen = self._read_of_class(cls, name)
        if not is_of_class and type(value) is not MethodType:
            self._use_class(owner)  # a library's property
        return seen if is_of_class else value

    def called_by_others(self, function: FunctionType, args: tuple[Any, ...]) -> None:
        """C or a library calls a function of the user's, which it may have found in a class."""
        if args:
            self._use_class(args[0])

    def _method(self, owner: Any, name: str) -> Callable[..., Any] | None:
        """A user's special method of an object, bound and observed; or None."""
        method = self._found(type(owner), name)
        return None if method is None else functools.partial(self.called, method, owner)

    def _event(self, frame: types.FrameType, event: str, arg: Any) -> None:
        """Told by Python of each call in this thread: the user's functions should be copies."""
        self.answering = True  # who is called may not be taken away meanwhile
        try:
            self._heard(frame, event, arg)
        finally:
            self.answering = False

    def _heard(self, frame: types.FrameType, event: str, arg: Any) -> None:
        if event == "call":
            if id(frame.f_code) not in self.quiet:
                self._ran(frame)
        elif event == "c_call":
            acts = id(arg) in self.acting or id(arg.__self__) in self.acting
            if acts and self.is_told() and self.acts(arg) and not _is_excused(frame):
                self._unseen(frame, arg.__name__)
        elif event == "return" and frame is self.library:
            if self.standing() != self.stood:
                self._unseen(frame, frame.f_code.co_name)
            self.library = None
        elif event == "return" and frame is self.importing:
            self.importing = None
        elif event == "return" and frame is self.interrupting:
            self.interrupting = None
            self.resumes()

    def _ran(self, frame: types.FrameType) -> None:
        code = frame.f_code
        module = code.co_name == "<module>" and not code.co_flags & _OPTIMIZED
        if self.importing is None and self.is_told() and _is_imported(frame):
            self.importing = frame  # runs once, in eager mode too; so does what finds a module
            return
        if self.is_told() and self.interrupts(code):
            self.interrupting = frame
            return
        observed = rewrite.is_rewritten(code)
        starts = code is threading.Thread.start.__code__  # what nobody observes there
        if starts or (not observed and self._is_users(code, frame.f_globals)):
            if self.importing is None and self.is_told():
                self._unseen(frame)
            return
        kind = Kind.OBSERVED if observed else _kind_of(code, frame.f_globals)
        if kind is not None and not module:
            self._listener().note(code, kind)
        if kind in (Kind.OBSERVED, Kind.ENGINE):
            self.quiet[id(code)] = code
        elif self.library is None and self.is_told() and _is_called_by_user(frame):
            self.library, self.stood = frame, self.standing()

    def _unseen(self, frame: types.FrameType, name: str = "") -> None:
        outer = frame if name else frame.f_back
        while outer is not None and not self._is_users(outer.f_code, outer.f_globals):
            outer = outer.f_back
        caller, at = (None, 0) if outer is None else (outer.f_code, outer.f_lasti)
        self._tell(self.on_unobserved, Unobserved(name or frame.f_code.co_name, caller, at))


def _unheard(function: Any, *args: Any) -> Any:
    observer = rewrite.THREAD.observer
    return function(*args) if observer is None else observer.unheard(function, *args)


UNHEARD.append(_unheard)


def _kind_of(code: CodeType, namespace: dict[str, Any]) -> Kind | None:
    """The kind of code that is not the user's; None of text that a library has made into code.

    What is made for a class of the engine, as the `__init__` of a dataclass, is the engine's.
    """
    if is_internal(code.co_filename):
        return Kind.ENGINE
    if code.co_filename == "<string>" and is_internal(namespace.get("__file__") or ""):
        return Kind.ENGINE
    return None if code.co_filename.startswith("<") else Kind.LIBRARY


_OPTIMIZED = 1  # CO_OPTIMIZED: a function's code, whose variables have places


def _is_called_by_user(frame: types.FrameType) -> bool:
    return frame.f_back is not None and rewrite.is_rewritten(frame.f_back.f_code)


def _is_excused(frame: types.FrameType | None) -> bool:
    """Whether an import, a message or the compiler itself is at work."""
    while frame is not None and not rewrite.is_rewritten(frame.f_code):
        name = frame.f_globals.get("__name__", "")
        if name.startswith(_EXCUSED) or frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


_EXCUSED = "warnings", "logging", "traceback", "wengert.compile", "wengert.history"


def _is_imported(frame: types.FrameType) -> bool:
    outer = frame.f_back
    return outer is not None and outer.f_code.co_filename.startswith("<frozen importlib")


def parameter_name(function: Any, key: Any) -> str:
    if isinstance(key, str):
        return key
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if code is None:
        return f"argument {key}"
    place = key + isinstance(function, MethodType)
    count = code.co_argcount
    return code.co_varnames[place] if place < count else f"args[{place - count}]"
