"""The body of a `for` loop as a function, cut out of the bytecode around it.

    for TARGET in ITEMS:         def body(item, NAMES...):
        BODY                         TARGET = item
                                     BODY
                                     return CARRIED

CARRIED are the variables that an iteration may read and that it writes. A loop that can be left
otherwise than by running out of items has no such function, and neither has one that writes to
variables that are seen by functions made around it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from types import CellType, CodeType, FunctionType
from typing import Any

from bytecode import Bytecode, Instr, Label
from bytecode.instr import CellVar, FreeVar, TryBegin, TryEnd

_LEAVING = ("RETURN", "YIELD", "SEND", "GET_AWAITABLE", "RERAISE")
_BY_NAME = ("_NAME", "_CLASSDEREF", "_FROM_DICT")
_FALLS_NOT = (
    "RETURN_VALUE",
    "RETURN_CONST",
    "RAISE_VARARGS",
    "RERAISE",
    "JUMP_FORWARD",
    "JUMP_BACKWARD",
    "JUMP_BACKWARD_NO_INTERRUPT",
)
_SUSPENDED = (
    inspect.CO_GENERATOR
    | inspect.CO_COROUTINE
    | inspect.CO_ITERABLE_COROUTINE
    | inspect.CO_ASYNC_GENERATOR
)
_NESTED = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_OF_FRAMES = {"locals", "vars", "dir", "eval", "exec", "super"}
"""Functions that ask which variables their caller has."""


class Unrolled(BaseException):
    """So many iterations of a loop have to be traced by themselves: its arguments are both.

    No `except Exception` around the loop takes it.
    """


@dataclass(eq=False)
class Site:
    """A loop whose body can be a function; `cells` are variables it shares with other functions."""

    code: CodeType
    names: list[str]
    """The variables that an iteration may read, beside its item and `cells`."""
    carried: list[str]
    cells: list[Any]
    leaves: list[str]
    """The variables that may be read after the loop, of those that it writes and does not carry."""

    def function(self, namespace: dict[str, Any], cells: tuple[CellType, ...]) -> FunctionType:
        return FunctionType(self.code, namespace, None, None, cells)


def site_of(code: Bytecode, at: int) -> Site | None:
    """The loop that the GET_ITER with this number begins, if its body can be a function."""
    if code.flags & _SUSPENDED:
        return None
    steps: list[Any] = list(code)
    k = at + 1
    while k < len(steps) and not isinstance(steps[k], Instr | TryBegin):
        k += 1
    if k == len(steps) or not isinstance(steps[k], Instr) or steps[k].name != "FOR_ITER":
        return None
    heads = {x for x in steps[at + 1 : k] if isinstance(x, Label)}
    try:
        stop = steps.index(steps[k].arg)
    except ValueError:
        return None
    body = steps[k + 1 : stop]
    if not _is_whole(body, heads):
        return None
    return _cut(code, steps, body, heads, stop)


def _is_whole(body: list[Any], heads: set[Any]) -> bool:
    """Whether all that leaves a body goes on with the next item."""
    inside = {x for x in body if isinstance(x, Label)} | heads
    depth = 0
    for x in body:
        if isinstance(x, TryBegin | TryEnd):
            return False
        if not isinstance(x, Instr):
            continue
        if x.name.startswith(_LEAVING) or x.name.endswith(_BY_NAME) or x.name == "DELETE_FAST":
            return False
        if isinstance(x.arg, Label) and x.arg not in inside:
            return False
        if x.name in ("LIST_APPEND", "SET_ADD", "MAP_ADD") and not depth:
            return False
        depth += x.name == "FOR_ITER"
        if _asks_for_variables(x):
            return False
        if x.name in ("STORE_DEREF", "DELETE_DEREF") and isinstance(x.arg, FreeVar):
            return False
    return True


def _asks_for_variables(x: Any) -> bool:
    if not isinstance(x, Instr) or x.name != "LOAD_GLOBAL":
        return False
    return (x.arg[1] if isinstance(x.arg, tuple) else x.arg) in _OF_FRAMES


def _cut(
    code: Bytecode, steps: list[Any], body: list[Any], heads: set[Any], stop: int
) -> Site | None:
    written = dict.fromkeys(name for x in body for name in _touched(x, "STORE"))
    args: list[Any] = [x.arg for x in body if isinstance(x, Instr)]
    shared = [arg for arg in args if isinstance(arg, CellVar | FreeVar)]
    own = {x.name for x in shared if x.name in written}
    inside = set(map(id, body))
    around = [x for x in steps if isinstance(x, Instr) and id(x) not in inside]
    if any(x.name in _MAKES_CELLS and getattr(x.arg, "name", x.arg) in own for x in around):
        return None
    cells = {x.name: x for x in shared if x.name not in own}
    read = _read_first(body)
    names = [name for name in read if name not in cells]
    carried = [name for name in names if name in written]
    once = Bytecode()
    out = Label()
    once += [Instr("MAKE_CELL", CellVar(name)) for name in sorted(own)]
    if cells:
        once.append(Instr("COPY_FREE_VARS", len(cells)))
    once += [Instr("RESUME", 0), Instr("LOAD_FAST", _ITEM)]
    labels: dict[Any, Label] = {}
    for x in body:
        once.append(_moved(x, heads, out, cells, labels))
    once.append(out)
    for name in carried:
        once.append(Instr("LOAD_DEREF", CellVar(name)) if name in own else Instr("LOAD_FAST", name))
    once += [Instr("BUILD_TUPLE", len(carried)), Instr("RETURN_VALUE")]
    once.argnames = [_ITEM, *names]
    once.argcount = 1 + len(names)
    once.freevars, once.cellvars = list(cells), sorted(own)
    once.name, once.filename = code.name, code.filename
    once.first_lineno = code.first_lineno
    once.flags = code.flags & ~_NESTED | inspect.CO_OPTIMIZED | inspect.CO_NEWLOCALS
    for x in once:
        if isinstance(x, Instr) and x.location is None:
            x.lineno = code.first_lineno
    unknown = any(isinstance(x, TryBegin) or _asks_for_variables(x) for x in steps)
    later = list(written) if unknown else _read_first(steps, stop)
    leaves = [name for name in later if name in written and name not in carried]
    return Site(once.to_code(), names, carried, list(cells.values()), leaves)


_ITEM = ".item"
_MAKES_CELLS = ("LOAD_CLOSURE", "LOAD_FAST")


def _touched(x: Any, how: str) -> Iterator[str]:
    """The variables that an instruction reads (LOAD) or writes (STORE)."""
    if isinstance(x, Instr) and x.name != "LOAD_FAST_AND_CLEAR":
        arg: Any = x.arg
        variables = arg if type(arg) is tuple else (arg,)
        for part, name in zip(_VARIABLE.findall(x.name), variables, strict=False):
            if part == how:
                yield getattr(name, "name", name)


_VARIABLE = re.compile("(LOAD|STORE)_(?:FAST|DEREF|CLOSURE)")


def _read_first(body: list[Any], start: int = 0) -> list[str]:
    """The variables that may be read before they are written, if a body runs from there."""
    places = {id(x): k for k, x in enumerate(body) if isinstance(x, Label)}
    known: list[set[str] | None] = [None] * (len(body) + 1)
    known[start] = set()
    pending = [start]
    first: dict[str, None] = {}
    while pending:
        k = pending.pop()
        if k >= len(body):
            continue
        x, now = body[k], known[k]
        assert now is not None
        first |= dict.fromkeys(sorted(n for n in _touched(x, "LOAD") if n not in now))
        after = now | set(_touched(x, "STORE"))
        targets = []
        if isinstance(x, Instr) and isinstance(x.arg, Label) and id(x.arg) in places:
            targets.append(places[id(x.arg)])
        if not (isinstance(x, Instr) and x.name in _FALLS_NOT):
            targets.append(k + 1)
        for t in targets:
            before = known[t]
            joined = after if before is None else before & after
            if joined != before:
                known[t] = joined
                pending.append(t)
    return list(first)


def _moved(x: Any, heads: set[Any], out: Label, cells: dict[str, Any], labels: Any) -> Any:
    """An instruction or a label of a body in its function."""
    if isinstance(x, Label):
        return labels.setdefault(id(x), Label())
    if not isinstance(x, Instr):
        return x
    name, arg = x.name, x.arg
    if isinstance(arg, Label):
        if arg in heads:
            forward = name.replace("BACKWARD_NO_INTERRUPT", "FORWARD").replace(
                "BACKWARD", "FORWARD"
            )
            return Instr(forward, out, location=x.location)
        return Instr(name, labels.setdefault(id(arg), Label()), location=x.location)
    if isinstance(arg, CellVar | FreeVar) and arg.name in cells:
        return Instr(name, FreeVar(arg.name), location=x.location)
    return x
