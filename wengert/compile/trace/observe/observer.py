"""The observer: what rewritten code tells, sorted into reads, writes and calls.

What is *outside* was there before: the function's globals, cells, defaults and arguments, and what
was reached from these. Only that counts. What the program makes while it is observed is its own.

Reads name the object that was read, and need no path: the read that led to the object was told
before. One fact stands for the many ways to go through a container: whoever iterates over one
that is outside, or gives it to a library, has read its contents.
"""

from __future__ import annotations

import contextlib
import functools
import operator
import os
import sys
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from types import CellType, FunctionType, ModuleType
from typing import Any

from wengert.compile.trace.observe import rewrite
from wengert.compile.trace.observe.calls import Calls
from wengert.compile.trace.observe.events import MISSING, Read, Write
from wengert.compile.trace.observe.given import Within, given, kept
from wengert.compile.trace.observe.objects import (
    ATOMS,
    CHANGEABLE,
    CONTAINERS,
    answers,
    base_of,
    contents,
    dictionary_behind,
    has_method,
    held_in,
    label,
    may_raise,
    name_of,
    own_item,
    receiver,
    same,
    static,
)
from wengert.compile.trace.observe.operators import OPERATORS, Decided
from wengert.compile.trace.observe.outside import place_of
from wengert.compile.trace.observe.rewrite import method_of
from wengert.compile.trace.observe.users import is_of_a_module, is_of_user


class Observer(Calls):
    """Runs a function and is told what it reads and writes outside. Subclasses say what for."""

    # ---- what rewritten code tells: reads --------------------------------------------------------

    def read_global(self, value: Any, name: str) -> Any:
        namespace = sys._getframe(2).f_globals
        return self._read("global", namespace, name, value, name)

    def read_name(self, value: Any, name: str) -> Any:
        frame = sys._getframe(2)
        if frame.f_locals is not frame.f_globals and name in frame.f_locals:
            return value
        return self._read("global", frame.f_globals, name, value, name)

    def read_module(self, module: Any, name: str) -> Any:
        """`import a.b` gives a; and names are relative to where they are imported."""
        if sys.modules.get(name) is not module:
            name = module.__name__
        return self._read("global", sys.modules, name, module, name)

    def imported(self, module: Any, value: Any, name: str) -> Any:
        self._reach(module, None, module.__name__)
        return self._read_attribute(module, name, value)

    def read_cell(self, value: Any, cell: CellType, name: str) -> Any:
        if id(cell) not in self.origins:
            return value
        return self._read("cell", cell, name, value, "")

    def read_attribute(self, owner: Any, name: str) -> Any:
        code = self._behind(owner, name)
        try:
            if code is not None:
                return code()
            value = getattr(owner, name)
        except AttributeError as error:
            self._lacks(owner, name)
            self.explain(error)
            raise
        return self._read_attribute(owner, name, value)

    def through_super(self, cls: Any, start: Any, owner: Any, given: bool, name: str) -> Any:
        return self.read_attribute(rewrite.super_object(cls, start, owner, given), name)

    def read_item(self, owner: Any, key: Any) -> Any:
        users = self._method(owner, "__getitem__")
        if users is not None:
            return users(key)
        if isinstance(owner, type) and self._found(owner, "__class_getitem__") is not None:
            return self.called(self.read_attribute(owner, "__class_getitem__"), key)
        if isinstance(owner, dict) and self._is_missing(owner, key):
            return self._missing(owner, key)
        try:
            value = owner[key]
        except LookupError as error:
            self._lacks_item(owner, key)
            self.explain(error)
            raise
        if not self.is_outside(owner) or isinstance(owner, type) or self.is_known(owner):
            return value
        return self._read_kept_item(owner, key, value)

    def _read_kept_item(self, owner: Any, key: Any, value: Any) -> Any:
        if isinstance(owner, CONTAINERS) and (
            type(key) is slice or id(owner) in self.reordered or value is not own_item(owner, key)
        ):
            return self._read_reordered(owner, value)
        return self._read("item", owner, key, value, f"[{label(key)}]")

    def _is_missing(self, owner: dict[Any, Any], key: Any) -> bool:
        """Whether a dictionary's class says what to do, as there is no such item."""
        if type(owner) is dict or static(type(owner), "__missing__") is None:
            return False
        return self.is_outside(owner) and own_item(owner, key) is MISSING

    def _missing(self, owner: Any, key: Any) -> Any:
        self._lacks_item(owner, key)
        users = self._method(owner, "__missing__")
        if users is not None:
            return users(key)
        if not isinstance(owner, defaultdict):
            return owner[key]
        make = self.read_attribute(owner, "default_factory")
        if make is None:
            raise KeyError(key)
        value = self.called(make)
        self.write_item(value, owner, key)
        return value

    def _lacks_item(self, owner: Any, key: Any) -> None:
        """There is no such item, which somebody may catch."""
        if isinstance(owner, dict) and self.is_outside(owner) and type(key) in ATOMS:
            self._read_has(owner, key)
        else:
            self._given(owner, operator.getitem)

    def _read_reordered(self, owner: Any, value: Any) -> Any:
        """An item of a container whose items are no longer where they were."""
        if place_of("item", owner, None) is not None:
            self._read_contents(owner)
        return value

    def iterated(self, items: Any) -> Any:
        users = self._method(items, "__iter__")
        iterator = items if users is None else users()
        step = self._method(iterator, "__next__")
        if step is not None and (users is not None or iter(items) is items):
            return _Iterated(step)
        return self.whole(iterator)

    def extended(self, items: Any) -> Any:
        """`[*items]` asks for the length too, to make room; an error of a type is no answer."""
        iterator = self.iterated(items)
        length = self._method(items, "__len__") or self._method(items, "__length_hint__")
        if length is not None:
            with contextlib.suppress(TypeError):
                length()
        return iterator

    def looped(self, items: Any, *rest: Any) -> Any:
        """A `for` loop goes through items: the rest are cells, and the loop's `Site`."""
        return self.iterated(items)

    def whole(self, value: Any) -> Any:
        if isinstance(value, CONTAINERS):
            if id(value) in self.origins:
                self._read_contents(value)
                return self.shadow(value)
        else:
            self._given(value, iter)
        return value

    def mapped(self, value: Any) -> Any:
        """For what takes all keys, and what they lead to."""
        if isinstance(value, CONTAINERS):
            return self.whole(value)
        self._given(value, dict)
        return value

    def formatted(self, value: Any) -> Any:
        self._given(value, format)
        return value

    def formatted_by(self, value: Any, form: str) -> tuple[Any, Any]:
        """The operands of a format, last one first."""
        return form, self.formatted(value)

    def length(self, value: Any) -> Any:
        if id(value) in self.origins and isinstance(value, CONTAINERS):
            if id(value) in self.reordered and not isinstance(value, list | deque):
                self._read_contents(value)  # how many are new depends on which there were
            else:
                self._read_length(value)
                self._read_written(value if isinstance(value, dict) else dictionary_behind(value))
        return value

    def _read_length(self, container: Any) -> None:
        self._read("length", container, None, base_of(container).__len__(container), "")

    def _read_written(self, mapping: Any) -> None:
        """Whether what the program has put into a dictionary was there before."""
        if mapping is not None and id(mapping) in self.changed:
            for _, at, _, key in [*filter(None, self.written)]:
                if at == id(mapping):
                    self._tell(self.on_read, Read("kept", mapping, key, MISSING))

    def truth(self, value: Any) -> Any:
        """For a decision that keeps no more of a value than its truth."""
        if type(value) is bool:
            return value
        users = self._method(value, "__bool__")
        if users is None and not has_method(type(value), "__bool__"):
            users = self._method(value, "__len__")
        if users is not None:
            return bool(users())
        if not isinstance(value, CONTAINERS):
            self._given(value, bool)
        return self.length(value)

    def identical(self, left: Any, right: Any) -> tuple[Any, Any]:
        """For a question whether two are one object."""
        return right, left

    def contains(self, item: Any, container: Any) -> Any:
        users = self._method(container, "__contains__")
        if users is not None:
            return (item,) if users(item) else (), item
        self._given(item, operator.contains)  # which is compared by what it holds
        if id(container) in self.origins and isinstance(container, CONTAINERS):
            if isinstance(container, dict) and type(item) in ATOMS:
                self._read_has(container, item)
            else:
                self._read_contents(container)
        else:
            self._given(container, operator.contains)
        return container, item

    def _read_has(self, container: Any, key: Any) -> None:
        if id(container) in self.reordered:
            self._read_contents(container)
        elif place_of("item", container, key) not in self.written:
            there = base_of(container).__contains__(container, key)
            self._read("has", container, key, there, "")

    def operands(self, left: Any, right: Any, operation: str) -> tuple[Any, Any]:
        if type(left) in ATOMS and type(right) in ATOMS:
            return right, left
        for value in (left, right):
            if isinstance(value, CONTAINERS):
                self._given(value, operator)
        return self._users_operator(left, right, operation)

    def unary(self, value: Any, operation: str) -> Any:
        """The operand of `-x`, `~x`, or `+x`; or another, of which it makes the same result."""
        method = self._method(value, f"__{operation}__")
        return value if method is None else Decided(method())

    def _users_operator(self, left: Any, right: Any, operation: str) -> tuple[Any, Any]:
        """The operands, last one first; or others, of which the operator makes the same result.

        The second operand's method goes first if its class refines the first one's.
        """
        there, back = OPERATORS[operation]
        ways = [(left, there, right), (right, back, left)]
        if type(left) is type(right):
            ways.pop()
        elif issubclass(type(right), type(left)) and static(type(right), back) is not static(
            type(left), back
        ):
            ways.reverse()
        if all(self._found(type(owner), name) is None for owner, name, _ in ways):
            return right, left
        for owner, name, other in ways:
            if not has_method(type(owner), name):
                continue
            method = self._method(owner, name) or method_of(owner, name)
            result = method(other)
            if result is not NotImplemented:
                return None, Decided(result)
        if operation in ("eq", "ne"):
            return None, Decided((left is right) == (operation == "eq"))
        return right, left  # Python's own error

    def match_kind(self, subject: Any) -> Any:
        """A pattern asks whether something is a sequence, or a mapping."""
        return subject

    def match_keys(self, subject: Any, keys: Any) -> tuple[Any, Any]:
        if id(subject) in self.origins and isinstance(subject, dict):
            for key in keys:
                self._read_has(subject, key)
                if key in subject:
                    self.matched(self.read_item(subject, key), subject[key])
        return keys, subject

    def match_class(self, subject: Any, cls: Any, names: Any) -> tuple[Any, Any, Any]:
        self._read_of_class(cls, "__match_args__")
        self._read_bases(type(subject))
        if id(subject) in self.origins:
            self._read("class", subject, None, type(subject), "")
            for name in (*getattr(cls, "__match_args__", ()), *names):
                if hasattr(subject, name):
                    self.matched(self.read_attribute(subject, name), getattr(subject, name))
        return names, cls, subject

    def matched(self, seen: Any, value: Any) -> None:
        """A pattern takes a value as it is, and not what is to be seen in its place."""

    def caught(self, error: BaseException) -> BaseException:
        if type(error) is NameError and error.name is not None:
            namespace = rewrite.running(sys._getframe(2)).f_globals
            if error.name not in namespace:
                self._read("global", namespace, error.name, MISSING, "")
                self.explain(error)
        elif isinstance(error, ImportError) and error.name is not None:
            self._reach(sys.modules, None, "sys.modules")
            self._read_has(sys.modules, error.name)
            self.explain(error)
        self.raised(error)
        return rewrite.cleaned(error)

    def raising(self, error: Any) -> Any:
        """The program raises an error, or one of a class."""
        if isinstance(error, type) and issubclass(error, BaseException):
            error = self.called(error)
        if isinstance(error, BaseException):
            self.explain(error)
        return error

    def raised(self, error: BaseException) -> None:
        """An error is about to be caught."""

    # ---- writes ----------------------------------------------------------------------------------

    def write_global(self, value: Any, name: str) -> Any:
        namespace = sys._getframe(2).f_globals
        self._wrote("global", namespace, name, namespace.get(name, MISSING), value)
        return value

    def write_name(self, value: Any, name: str) -> Any:
        frame = sys._getframe(2)
        if frame.f_locals is frame.f_globals and is_of_a_module(frame.f_globals):
            self._wrote("global", frame.f_globals, name, frame.f_globals.get(name, MISSING), value)
        return value

    def delete_global(self, name: str) -> None:
        namespace = sys._getframe(2).f_globals
        if name in namespace:
            self._wrote("global", namespace, name, namespace[name], MISSING)

    def write_cell(self, value: Any, cell: CellType, name: str) -> Any:
        if id(cell) in self.origins:
            self._wrote("cell", cell, name, held_in(cell), value)
        return value

    def delete_cell(self, cell: CellType, name: str) -> None:
        if id(cell) in self.origins and held_in(cell) is not MISSING:
            self._wrote("cell", cell, name, held_in(cell), MISSING)

    def write_attribute(self, value: Any, owner: Any, name: str) -> None:
        if isinstance(owner, type):
            self.methods.clear()
        users = self._method(owner, "__setattr__")
        setter = static(type(owner), name)
        if users is not None:
            users(name, value)
        elif type(setter) is property and self._of_user(setter.fset):
            self.called(setter.fset, owner, value)
        elif type(getattr(type(setter), "__set__", None)) is FunctionType:
            self._reach(setter, None, name)
            self.called(type(setter).__set__, setter, owner, value)
        else:
            self._put(setattr, "attribute", owner, name, value)

    def delete_attribute(self, owner: Any, name: str) -> None:
        users = self._method(owner, "__delattr__")
        member = static(type(owner), name)
        if users is not None:
            users(name)
        elif type(member) is property and self._of_user(member.fdel):
            self.called(member.fdel, owner)
        else:
            self._put(delattr, "attribute", owner, name)

    def write_item(self, value: Any, owner: Any, key: Any) -> None:
        users = self._method(owner, "__setitem__")
        if users is not None:
            users(key, value)
        else:
            if type(key) is slice and isinstance(owner, list):
                value = self.iterated(value)
            self._put(operator.setitem, "item", owner, key, value)

    def delete_item(self, owner: Any, key: Any) -> None:
        users = self._method(owner, "__delitem__")
        if users is not None:
            users(key)
        else:
            self._put(operator.delitem, "item", owner, key)

    def _put(self, put: Any, kind: str, owner: Any, key: Any, *value: Any) -> None:
        """Write, or delete if there is no value, and tell of it if the owner is outside."""
        if not self.is_outside(owner) or self.is_known(owner, key if kind == "attribute" else None):
            put(owner, key, *value)
            return
        if type(owner) is super:
            put, owner = functools.partial(_put_past, owner, put), receiver(owner)
        self._tell(self.before_write, kind, owner)
        if type(key) is slice and value and isinstance(value[0], Iterator):
            value = ([*value[0]],)  # as a list does first
        before = (self.kept_attribute if kind == "attribute" else own_item)(owner, key)
        if isinstance(owner, CONTAINERS) and kind == "item":
            held = contents(owner)
        if isinstance(owner, list | deque) and kind == "item":
            self._read_length(owner)
        elif not value and place_of(kind, owner, key) not in self.written:
            self._tell(self.on_read, Read("kept", owner, key, before))
        put(owner, key, *value)
        if isinstance(owner, CONTAINERS) and kind == "item":
            self._keep_before(owner, held)
            if type(key) is slice or (not value and not isinstance(owner, dict)):
                self.reordered.add(id(owner))
        if isinstance(owner, ModuleType) and kind == "attribute":
            kind, owner = "global", vars(owner)
        self._wrote(kind, owner, key, before, value[0] if value else MISSING)

    def in_place(self, left: Any, right: Any, operation: str) -> tuple[Any, Any]:
        name = f"__i{operation}__"
        method = self._method(left, name)
        theirs = method is None and has_method(type(left), name)
        if theirs and id(left) in self.origins and not self.is_known(left):
            if isinstance(left, CHANGEABLE):
                self._given(right, operator)
                held, done = contents(left), self.done()
                args = kept(left, name, (right,), self.done)
                result = getattr(operator, name)(left, *args)
                self._changed(left, held)
                within = Within(done, args)
                write = Write("in place", left, operation, MISSING, given(args)[0], within)
                self._tell(self.on_write, write)
                return None, Decided(result)
            self._tell(self.on_write, Write("in place", left, operation, MISSING, right))
        if theirs:
            return right, left
        result = NotImplemented if method is None else method(right)
        if result is not NotImplemented:
            return None, Decided(result)
        return self.operands(left, right, operation)

    # ---- calls -----------------------------------------------------------------------------------

    def call(self, *operands: Any) -> tuple[Any, Any, Any]:
        arguments, callee = rewrite.taken_apart(operands)
        return self._from(sys._getframe(2), callee, arguments, {})

    def call_named(self, *operands: Any) -> tuple[Any, Any, Any]:
        arguments, callee = rewrite.taken_apart(operands[:-1])
        return self._from(sys._getframe(2), callee, *rewrite.by_name(arguments, operands[-1]))

    def call_unpacked(self, *operands: Any) -> tuple[Any, Any, Any]:
        named, arguments, callee = rewrite.unpacked(*operands)
        if type(arguments) is not tuple:
            arguments = self.iterated(arguments)
            if not hasattr(type(arguments), "__iter__"):
                return named, arguments, callee  # Python's own error
            arguments = tuple(arguments)
        elif id(arguments) in self.origins:
            self._read_contents(arguments)
            arguments = self.shadow(arguments)
        return self._from(sys._getframe(2), callee, arguments, named)

    def _from(self, frame: Any, callee: Any, args: Any, named: Any) -> tuple[Any, Any, Any]:
        """A call in the user's code, which runs in this frame."""
        self.calling = frame
        try:
            return self._resolved(callee, args, named)
        finally:
            self.calling = None

    def answered(self, value: Any) -> Any:
        """What a call in the user's code returned."""
        return value

    def _read_what_is_taken(self, owner: Any, args: tuple[Any, ...]) -> None:
        """What a method takes away was there, or it would have raised an error."""
        if isinstance(owner, dict) and args:
            self._tell(self.on_read, Read("kept", owner, args[0], MISSING))
        elif isinstance(owner, list | deque) and all(type(x) is int for x in args):
            self._read_length(owner)
        else:
            self._read_contents(owner)

    # ---- what libraries do with what is outside --------------------------------------------------

    def _method_of_container(self, method: Any, unused: bool, *args: Any, **named: Any) -> Any:
        """A method of a container outside: one that changes it has written, any other has read.

        It is `unused` where nobody looks at what it returns.
        """
        owner, name = method.__self__, name_of(method)
        self._use_class(owner)  # C may call other methods of it
        before, done = contents(owner), self.done()
        for value in (*args, *named.values()):
            self._given(value, method)
        keeping = kept(owner, name, args, self.done)
        try:
            result = method(*keeping, **named)
        except Exception as error:
            self._read_contents(owner)
            self.explain(error)
            raise
        args, within = given(keeping), Within(done, keeping)
        if isinstance(owner, CHANGEABLE) and not same(before, contents(owner)):
            self._changed(owner, before)
            if isinstance(owner, set) and name == "pop":  # of any item: the call takes out this one
                name, args = "remove", (result,)
            write = Write("call", owner, name, before, (args, named), within)
            self._tell(self.on_write, write)
            if not unused and answers(base_of(owner), name):
                self._read_contents(owner)
            elif may_raise(owner, name, args):
                self._read_what_is_taken(owner, args)
        elif name == "get" and type(args[0]) in ATOMS:
            self._read_has(owner, args[0])
            value = own_item(owner, args[0])
            if value is not MISSING:
                return self._read_kept_item(owner, args[0], value)
        else:
            self._read_contents(owner)
            seen = self.shadow(owner)
            return result if seen is owner else getattr(seen, name)(*args, **named)
        return result

    def _dunder(self, method: Any, *args: Any, **named: Any) -> Any:
        """`object.__setattr__(x, name, value)`, `super().__getattribute__(name)`, and others."""
        name = name_of(method)
        bound = getattr(method, "__self__", MISSING)
        owner, *rest = args if bound is MISSING else (bound, *args)
        kind = "item" if name.endswith("item__") else "attribute"
        self.methods.clear()
        if named or not rest or not self.is_outside(owner):
            return method(*args, **named)
        if name.startswith("__get"):
            value = method(*args)
            if kind == "item":
                return self._read_kept_item(owner, rest[0], value)
            return self._read(kind, owner, rest[0], value, f".{rest[0]}")

        def put(owner: Any, key: Any, *value: Any) -> None:
            method(*args)

        return self._put(put, kind, owner, *rest)

    # ---- builtins that are an operation by another name ------------------------------------------

    def _getattr(self, _: Any, owner: Any, name: Any, *default: Any) -> Any:
        if not default:
            return self.read_attribute(owner, name)
        try:
            return self.read_attribute(owner, name)
        except AttributeError:
            return default[0]

    def _hasattr(self, _: Any, owner: Any, name: Any) -> bool:
        try:
            self.read_attribute(owner, name)
        except AttributeError:
            return False
        return True

    def _lacks(self, owner: Any, name: str) -> None:
        if self.is_outside(owner):
            self._read("lacks", owner, name, False, "")
        elif not isinstance(owner, type | ModuleType):
            self._read_of_class(type(owner), name)

    def _setattr(self, _: Any, owner: Any, name: Any, value: Any) -> None:
        self.write_attribute(value, owner, name)

    def _setitem(self, _: Any, owner: Any, key: Any, value: Any) -> None:
        self.write_item(value, owner, key)

    def _getitem(self, _: Any, owner: Any, key: Any) -> Any:
        return self.read_item(owner, key)

    def _getenv(self, _: Any, *args: Any) -> Any:
        self._reach(os.environ, None, "os.environ")
        return self.called(os.environ.get, *args)

    def _import(self, function: Any, *args: Any) -> Any:
        return self.read_module(function(*args), args[0])

    def _delattr(self, _: Any, owner: Any, name: Any) -> None:
        self.delete_attribute(owner, name)

    def _vars(self, vars: Any, *owner: Any) -> Any:
        return self.read_attribute(*owner, "__dict__") if len(owner) == 1 else vars(*owner)

    def _dir(self, dir: Any, *owner: Any) -> Any:
        for x in owner:
            if self.is_known(x):
                self._read_contents(self.read_attribute(x, "__dict__"))
            else:
                self._given(x, dir)
        return dir(*owner)

    def _len(self, len: Any, *value: Any) -> Any:
        users = self._method(value[0], "__len__") if value else None
        if users is None:
            if value and not isinstance(value[0], CONTAINERS):
                self._given(value[0], len)
            return len(*map(self.length, value))
        return len(_Length(users()))

    def _globals(self, _: Any) -> Any:
        namespace = rewrite.running(sys._getframe(1)).f_globals
        self._reach(namespace, None, "globals()")
        return namespace

    def _bool(self, bool: Any, *value: Any) -> Any:
        return bool(*map(self.truth, value))

    def _iter(self, iter: Any, *args: Any) -> Any:
        if len(args) != 1:
            for value in args:
                self._given(value, iter)
            return iter(*args)
        users = self._method(args[0], "__iter__")
        return iter(self.whole(args[0])) if users is None else users()

    def _next(self, next: Any, *args: Any) -> Any:
        step = self._method(args[0], "__next__") if args else None
        if step is None:
            for value in args[:1]:
                self._given(value, next)
            return next(*args)
        return next(_Iterated(step), *args[1:])

    def _identity(self, function: Any, *args: Any) -> Any:
        for x in args:
            self.known_by_itself(x)
        return function(*args)

    def known_by_itself(self, x: Any) -> None:
        """Which object something is decides something."""

    def _class(self, function: Any, *args: Any) -> Any:
        if args and id(args[0]) in self.origins and not self.is_known(args[0]):
            self._read("class", args[0], None, type(args[0]), "")
        for x in args[:1]:
            self._read_bases(type(x))
        return function(*args)

    def _subclass(self, function: Any, *args: Any) -> Any:
        for cls in args[:1]:
            self._read_bases(cls)
        return function(*args)

    def _read_bases(self, cls: Any) -> None:
        """A class is asked whether it is another one: it may be given other bases."""
        if isinstance(cls, type) and is_of_user(cls) and id(cls) not in self.classes:
            self._read_of_class(cls, "__mro__")

    # ---- the user's code behind an attribute -----------------------------------------------------

    def _behind(self, owner: Any, name: str) -> Any:
        """The user's code behind an attribute: a property, a descriptor, `__getattr__`."""
        cls = type(owner)
        if cls is ModuleType:
            return self._behind_module(owner, name)
        getter = self._method(owner, "__getattribute__")
        fallback = self._users_method(cls, "__getattr__")
        if getter is None and cls is not super:
            getter = self._descriptor(owner, cls, name)
        if getter is None and fallback is None:
            return None

        def get() -> Any:
            try:
                if getter is not None:
                    return getter(name)
                value = object.__getattribute__(owner, name)
            except AttributeError:
                if fallback is None:
                    raise
                self._read_past_own(owner, name)
                self._read_of_class(cls, "__getattr__")
                return self.called(fallback, owner, name)
            return self._read_attribute(owner, name, value)

        return get

    def _behind_module(self, module: Any, name: str) -> Any:
        """A module's own `__getattr__`, which is asked for what the module does not have."""
        fallback = vars(module).get("__getattr__")
        if name in vars(module) or hasattr(ModuleType, name) or not self._of_user(fallback):
            return None

        def get() -> Any:
            self._read_past_own(module, name)
            return self.called(self._read_attribute(module, "__getattr__", fallback), name)

        return get

    def _descriptor(self, owner: Any, cls: type, name: str) -> Any:
        member = static(cls, name)
        if member is None or type(member) is FunctionType:
            return None
        if type(member) is property and self._of_user(member.fget):
            self._read_of_class(cls, name)
            return lambda _: self.called(member.fget, owner)
        if type(member) is functools.cached_property and name not in vars(owner):
            self._read_past_own(owner, name)
            return lambda _: self._cached(member, owner, name)
        get = self._found(type(member), "__get__")
        first = hasattr(type(member), "__set__")  # before what the object has itself
        if get is None or (not first and name in getattr(owner, "__dict__", ())):
            return None
        if first:
            self._tell(self.had_by_class, cls, name)
        else:
            self._read_past_own(owner, name)
        self._reach(member, None, name)
        return lambda _: self.called(get, member, owner, cls)

    def _read_past_own(self, owner: Any, name: str) -> None:
        """The class says what an attribute is, as the object has none itself."""
        if self.is_outside(owner) and hasattr(owner, "__dict__"):
            self._read("own", owner, name, MISSING, "")
        self._tell(self.had_by_class, type(owner), name)

    def _cached(self, member: Any, owner: Any, name: str) -> Any:
        value = self.called(member.func, owner)
        self._put(
            lambda x, key, value: x.__dict__.update({key: value}), "attribute", owner, name, value
        )
        return value

    def enter(self, manager: Any) -> tuple[Any, Any]:
        enter, leave = rewrite.entering(manager)
        if self._found(type(manager), "__enter__") is None:
            self._given(manager, "with")
        return self.called(enter), leave

    def special(self, owner: Any, name: str) -> tuple[Any, Any]:
        self._given(owner, "with")
        bound, apply = rewrite.special(owner, name)
        return bound, apply


class _Iterated:
    """An iterator of the user's, whose steps are observed."""

    def __init__(self, step: Callable[[], Any]) -> None:
        self.step = step

    def __iter__(self) -> _Iterated:
        return self

    def __next__(self) -> Any:
        return self.step()


class _Length:
    """Has `len` check what a user's `__len__` returned."""

    def __init__(self, length: Any) -> None:
        self.length = length

    def __len__(self) -> Any:
        return self.length


def _put_past(around: Any, put: Any, owner: Any, key: Any, *value: Any) -> None:
    put(around, key, *value)
