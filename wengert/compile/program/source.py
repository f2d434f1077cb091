"""A program as NumPy source: what the compiler computes, as a function to read, run and keep.

The text defines `program(inputs...)`. Beside each group of statements stands the user's line that
they come from. Arrays that are too large to write down, and functions that cannot be imported by
name, are names that `namespace` binds:

    names = namespace(program)
    exec(source(program), names)
    names["program"](x, weight)
"""

from __future__ import annotations

import builtins
import keyword
import linecache
import math
import re
import sys
import textwrap
import types
from collections.abc import Callable, Iterator
from pathlib import PurePath
from typing import Any

import numpy as np

from wengert.compile.program.bodies import bodies
from wengert.compile.program.infer import REDUCTIONS, axes_of, infer, is_ufunc
from wengert.compile.program.operations import (
    Special,
    added,
    anew,
    astype,
    full,
    number,
    take,
    updated,
    view,
)
from wengert.compile.program.program import Program, Statement, Value
from wengert.compile.program.source_bodies import written as with_bodies
from wengert.dispatch import Function

WIDTH = 100
LITERAL = 8
"""Constants of up to this many elements are written out."""

INFIX: dict[Function, str] = {
    np.add: "+",
    np.subtract: "-",
    np.multiply: "*",
    np.divide: "/",
    np.power: "**",
    np.matmul: "@",
    np.remainder: "%",
    np.floor_divide: "//",
    np.less: "<",
    np.less_equal: "<=",
    np.greater: ">",
    np.greater_equal: ">=",
    np.equal: "==",
    np.not_equal: "!=",
    np.bitwise_and: "&",
    np.bitwise_or: "|",
    np.bitwise_xor: "^",
}
_ON_NUMBERS = frozenset({"+", "-", "*", "<", "<=", ">", ">=", "==", "!="})
"""Operators that mean on Python's numbers what they mean on arrays: 1.0 / 0.0 raises, for one."""

_TRUTH: dict[Function, str] = {np.logical_and: "&", np.logical_or: "|", np.logical_xor: "^"}

_HINTS: dict[Any, str] = {
    np.multiply: "mul",
    np.subtract: "sub",
    np.divide: "div",
    np.negative: "neg",
    np.power: "power",
    np.sum: "total",
    np.prod: "product",
    np.max: "highest",
    np.min: "lowest",
    np.any: "some",
    np.all: "every",
    np.matmul: "matmul",
    np.transpose: "transposed",
    np.broadcast_to: "repeated",
    np.reshape: "reshaped",
    np.concatenate: "joined",
    np.maximum: "maximum",
    np.greater: "above",
    np.less: "below",
    astype: "cast",
    view: "view",
    take: "taken",
}


def source(program: Program) -> str:
    """A program as the text of a Python module."""
    return Printer(program).text()


def namespace(program: Program) -> dict[str, Any]:
    """The names that the text of `source` does not define itself."""
    printer = Printer(program)
    printer.text()
    return printer.bound


class Printer:
    """Writes one program; `bound` collects the names that the text uses but does not define."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.bound: dict[str, Any] = {}
        self.imports: dict[str, str] = {}
        self.functions: dict[Any, str] = {}
        self.objects: dict[int, str] = {}
        self.literals: dict[Value, str] = {}
        self.names: dict[Value, str] = {}
        self.taken = {"np", "program", *keyword.kwlist, *keyword.softkwlist}
        self.counts: dict[str, int] = {}
        self.about: list[str] = []

    def text(self) -> str:
        p = self.program
        for value in p.inputs:
            self.name(value, p.names.get(value, "x"))
        for value, array in p.constants.items():
            self.constant(value, array)
        body = [*self.statements(), *self.ending()] or ["    pass"]
        imports = ["import numpy as np", *(f"{i}" for i in dict.fromkeys(self.imports.values()))]
        about = [f"# {line}" for line in self.about]
        head = self.wrapped(f"def program({', '.join(self.names[v] for v in p.inputs)}):", "")
        blank = [""] * 2
        return "\n".join([*imports, *([""] if about else []), *about, *blank, *head, *body]) + "\n"

    # ---- names ---------------------------------------------------------------------------

    def unique(self, name: str) -> str:
        name = re.sub(r"\W+", "_", name).strip("_") or "v"
        name = f"v{name}" if name[0].isdigit() else name
        free = name
        while free in self.taken:
            self.counts[name] = self.counts.get(name, 1) + 1
            free = f"{name}_{self.counts[name]}"
        self.taken.add(free)
        return free

    def name(self, value: Value, hint: str) -> str:
        self.names[value] = self.unique(hint)
        return self.names[value]

    def constant(self, value: Value, array: np.ndarray[Any, Any]) -> None:
        known = array.dtype.kind in "biuf" and hasattr(np, array.dtype.name)
        if known and 0 < array.size <= LITERAL:
            self.literals[value] = f"np.array({_digits(array)}, {self.dtype(array.dtype)})"
            return
        name = self.name(value, self.program.names.get(value, "constant"))
        self.bound[name] = array
        self.about.append(f"{name}: {array.dtype} {list(array.shape)}")

    def function(self, function: Function) -> str:
        """How a function is spelt, importing or binding it if NumPy has no such name."""
        text = self.functions.get(function)
        if text is None:
            text = self.functions[function] = self._found(function)
        return text

    def _found(self, function: Function) -> str:
        name = function.__name__
        for part, spelt in ((np, "np"), (np.linalg, "np.linalg"), (np.fft, "np.fft")):
            if getattr(part, name, None) is function:
                return f"{spelt}.{name}"
        if getattr(builtins, name, None) is function:
            return name
        home_name = getattr(function, "__module__", None) or "scipy.special"
        home = sys.modules.get(home_name)
        spelt = self.unique(name)
        if isinstance(function, Special) or getattr(home, name, None) is function:
            alias = "" if spelt == name else f" as {spelt}"
            self.imports[spelt] = f"from {home_name} import {name}{alias}"
        else:
            self.bound[spelt] = function
            self.about.append(f"{spelt}: a function")
        return spelt

    def object(self, item: Any) -> str:
        """A name for what has no text."""
        name = self.objects.get(id(item))
        if name is None:
            name = self.objects[id(item)] = self.unique(type(item).__name__.lower())
            self.bound[name] = item
            self.about.append(f"{name}: {type(item).__name__}")
        return name

    def dtype(self, dtype: Any) -> str:
        dtype = np.dtype(dtype)
        return f"np.{dtype.name}" if hasattr(np, dtype.name) else self.object(dtype)

    # ---- arguments -----------------------------------------------------------------------

    def arg(self, item: Any) -> str:
        kind = type(item)
        if kind is Value:
            return self.literals[item] if item in self.literals else self.names[item]
        if kind is float:
            return _special_numbers(repr(item))
        if kind is complex:
            return f"complex({self.arg(item.real)}, {self.arg(item.imag)})"
        if kind in (int, bool, str, type(None), type(Ellipsis)):
            return "..." if item is Ellipsis else repr(item)
        if kind is tuple or kind is list:
            parts = ", ".join(map(self.arg, item))
            if kind is list:
                return f"[{parts}]"
            return f"({parts},)" if len(item) == 1 else f"({parts})"
        if kind is slice:
            return f"slice({', '.join(map(self.arg, (item.start, item.stop, item.step)))})"
        if kind is dict:
            return f"{{{', '.join(f'{self.arg(k)}: {self.arg(v)}' for k, v in item.items())}}}"
        if isinstance(item, np.dtype) or (kind is type and issubclass(item, np.generic)):
            return self.dtype(item)
        if isinstance(item, types.FunctionType | type):  # what makes a check's error
            return self.function(item)
        if isinstance(item, np.generic) and item.dtype.kind in "biufc":
            return f"{self.dtype(item.dtype)}({self.arg(item.item())})"
        return self.object(item)

    def operand(self, item: Any) -> str:
        """An argument beside an operator."""
        text = self.arg(item)
        return f"({text})" if text.startswith("-") else text

    def index(self, index: Any, shape: tuple[int, ...]) -> str:
        """What stands between brackets."""
        entries = index if type(index) is tuple else (index,)
        sizes = iter(shape)
        parts = []
        for entry in entries:
            n = next(sizes, 0) if entry is not None else 0
            parts.append(_slice(entry, n) if type(entry) is slice else self.arg(entry))
        return ", ".join(parts) or "()"

    def call(self, function: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        named = [f"{key}={self.arg(item)}" for key, item in kwargs.items()]
        return f"{function}({', '.join([*map(self.arg, args), *named])})"

    # ---- statements ----------------------------------------------------------------------

    def statements(self) -> Iterator[str]:
        last = ""
        for s in self.program.statements:
            lines = [line for code in self.statement(s) for line in self.wrapped(code, "    ")]
            comment = self.comment(s)
            if comment and lines and comment != last:
                lines = _beside(lines, comment)
            last = comment or last
            yield from lines

    def comment(self, s: Statement) -> str:
        """The user's line that a statement comes from."""
        return _comment(s)

    def within(self, program: Program) -> Printer:
        """A printer of a body, with the names of this one."""
        inside = Printer(program)
        for shared in ("bound", "imports", "functions", "objects", "taken", "counts", "about"):
            setattr(inside, shared, getattr(self, shared))
        inside.function = self.function  # type: ignore[method-assign]
        inside.names = dict(self.names)
        return inside

    def statement(self, s: Statement) -> list[str]:
        if bodies(s):
            return with_bodies(self, s)
        if len(s.outputs) != 1:
            text = self.call(self.function(s.function), s.args, s.kwargs)
            names = [
                self.name(out, f"{s.function.__name__}_{i}") for i, out in enumerate(s.outputs)
            ]
            return [f"{', '.join(names)} = {text}" if names else text]
        hint = _HINTS.get(s.function, s.function.__name__)
        if s.function is updated or s.function is added:
            return self.write(s)
        text = self.expression(s)
        return [f"{self.name(s.output, self.program.names.get(s.output, hint))} = {text}"]

    def write(self, s: Statement) -> list[str]:
        """An array with something written into it: a copy, and an assignment."""
        x, index, value = s.args
        place, text, copied = self.index(index, x.shape), self.arg(value), self.arg(x)
        name = self.name(s.output, s.function.__name__)
        if s.function is updated:
            return [f"{name} = np.array({copied})", f"{name}[{place}] = {text}"]
        whole = self.arg(index)
        seen, given = infer(take, (x, index)), getattr(value, "shape", ())
        if given and seen is not None and given != seen[0]:
            text = f"np.broadcast_to({text}, {name}[{whole}].shape)"  # as in `operations.added`
        return [f"{name} = np.array({copied})", f"np.add.at({name}, {whole}, {text})"]

    def expression(self, s: Statement) -> str:
        written = _WRITTEN.get(s.function)
        text = written(self, s) if written else None
        if text is None and not s.kwargs and is_ufunc(s.function):
            text = self.operator(s)
        if text is None and s.function is np.matmul:
            text = self.infix("@", s)
        return text or self.call(self.function(s.function), s.args, s.kwargs)

    def operator(self, s: Statement) -> str | None:
        """Arithmetic with Python's operators, where they mean the same."""
        values = s.inputs
        sign = INFIX.get(s.function)
        if values and all(v.dtype.kind == "b" for v in values) and len(values) == len(s.args):
            sign = _TRUTH.get(s.function, sign)
            if s.function is np.logical_not and not values[0].weak:
                return f"~{self.operand(values[0])}"
        if s.function is np.negative and values:
            return f"-{self.operand(s.args[0])}"
        if sign is None or not values:
            return None
        if all(v.weak for v in values) and sign not in _ON_NUMBERS:
            return None
        if sign == "**" and (s.args[1] in (0.5, -1) or not s.output.shape):
            # The operator takes the square root, which differs at -inf, and the reciprocal; and on
            # single numbers it is another library's function, with another last digit.
            return None
        return self.infix(sign, s)

    def infix(self, sign: str, s: Statement) -> str:
        a, b = s.args
        return f"{self.operand(a) if sign == '**' else self.arg(a)} {sign} {self.operand(b)}"

    def ending(self) -> list[str]:
        """The updates, and what is returned."""
        p = self.program
        updates = {target: value for target, value in p.updates.items() if target is not value}
        shared = _sharing(p, set(updates))
        lines = []
        copies: dict[Value, str] = {}
        for value in [*p.outputs, *updates.values()]:
            if value in shared and value not in copies:
                # It lies in memory that is about to be written.
                copies[value] = self.unique("kept")
                lines.append(f"{copies[value]} = np.array({self.arg(value)})")
        text = lambda value: copies.get(value) or self.arg(value)
        lines += [f"{self.arg(k)}[...] = {text(value)}" for k, value in updates.items()]
        if p.outputs:
            returned = self.returned([*map(text, p.outputs)])
            long = len(returned) > WIDTH - 12 and not returned.startswith("(")
            lines.append(f"return ({returned})" if long else f"return {returned}")
        return [line for code in lines for line in self.wrapped(code, "    ")]

    def returned(self, texts: list[str]) -> str:
        """The outputs' texts as they are handed back."""
        return ", ".join(texts)

    def wrapped(self, code: str, indent: str) -> list[str]:
        """A line of code, broken within its first parentheses if it is too long."""
        head, bracket, rest = code.partition("(")
        if len(indent + code) <= WIDTH or not _encloses(rest) or '"' in code or "'" in code:
            return [indent + code]
        inner = indent + " " * 4 if not code.startswith("def ") else " " * 8
        lines = textwrap.wrap(
            rest, WIDTH - len(inner), break_long_words=False, break_on_hyphens=False
        )
        return [indent + head + bracket, *(inner + line for line in lines)]


# ---- statements with a text of their own ---------------------------------------------------


def _written_cast(p: Printer, s: Statement) -> str | None:
    x, dtype = s.args[0], p.dtype(s.output.dtype)
    if type(x) is not Value or x.weak:
        return f"{dtype}({p.arg(x)})"
    return f"{p.operand(x)}.astype({dtype})"


def _written_full(p: Printer, s: Statement) -> str:
    shape, k, dtype = p.arg(s.args[0]), s.args[1], p.dtype(s.output.dtype)
    if not s.output.shape:
        return f"{dtype}({p.arg(k)})"
    if type(k) in (int, float, bool) and k in (0, 1) and math.copysign(1, k) > 0:
        return f"np.{'ones' if k else 'zeros'}({shape}, {dtype})"
    return f"np.full({shape}, {p.arg(k)}, {dtype})"


def _written_number(p: Printer, s: Statement) -> str:
    x, dtype = s.args[0], s.output.dtype
    kind = _KINDS.get(dtype)
    if kind is None:
        return f"{p.dtype(dtype)}({p.operand(x)}.item()).item()"
    return f"{kind}({p.arg(x)})" if not x.shape else f"{kind}({p.operand(x)}.item())"


_KINDS = {np.dtype(np.float64): "float", np.dtype(np.int64): "int", np.dtype(np.bool_): "bool"}
"""Python's types, by the dtypes that hold the same numbers."""


def _written_reduction(p: Printer, s: Statement) -> str | None:
    if not isinstance(s.kwargs.get("axis"), tuple):
        return None
    axes, keepdims = s.kwargs["axis"], s.kwargs.get("keepdims", False)
    kwargs: dict[str, Any] = {"keepdims": True} if keepdims else {}
    if len(axes) < len(s.args[0].shape) or not axes:
        kwargs = {"axis": axes[0] if len(axes) == 1 else axes, **kwargs}
    return p.call(p.function(s.function), s.args, kwargs)


def _written_reshape(p: Printer, s: Statement) -> str | None:
    """x[:, None], if that is all."""
    x, new = s.args[0], list(s.output.shape)
    if type(x) is not Value or len(new) <= len(x.shape) or not x.shape:
        return None
    parts = []
    old = list(x.shape)
    for n in new:
        if old and n == old[0]:
            parts.append(":")
            old.pop(0)
        elif n == 1:
            parts.append("None")
        else:
            return None
    return None if old else f"{p.operand(x)}[{', '.join(parts)}]"


_WRITTEN: dict[Function, Callable[[Printer, Statement], str | None]] = {
    anew: lambda p, s: p.operand(s.args[0]),
    **dict.fromkeys(
        (view, take), lambda p, s: f"{p.operand(s.args[0])}[{p.index(s.args[1], s.args[0].shape)}]"
    ),
    astype: _written_cast,
    full: _written_full,
    number: _written_number,
    np.transpose: lambda p, s: f"{p.operand(s.args[0])}.T" if axes_of(s) == (1, 0) else None,
    np.reshape: _written_reshape,
    **dict.fromkeys(REDUCTIONS, _written_reduction),
}


# ---- pieces --------------------------------------------------------------------------------


def _special_numbers(text: str) -> str:
    """inf and nan as names that NumPy has.

    >>> _special_numbers("[-inf, 1.0]")
    '[-np.inf, 1.0]'
    """
    return re.sub(r"\b(nan|inf)\b", r"np.\1", text)


def _encloses(rest: str) -> bool:
    """Whether a parenthesis opened before `rest` is closed at its end."""
    depth = 1
    for i, letter in enumerate(rest):
        depth += (letter in "([{") - (letter in ")]}")
        if depth == 0:
            return rest[i:] in (")", "):")
    return False


def _digits(array: np.ndarray[Any, Any]) -> str:
    """The numbers of an array, with as many digits as its dtype needs."""
    text = np.array2string(array, separator=",", floatmode="unique", max_line_width=10**6)
    return _special_numbers(re.sub(r",(?=\S)", ", ", re.sub(r"\s+", "", text)))


def _slice(entry: slice, n: int) -> str:
    start, stop, step = entry.start, entry.stop, entry.step
    if step is None or step > 0:
        start = None if start == 0 else start
        stop = None if stop is not None and stop >= n else stop
    ends = ["" if end is None else str(end) for end in (start, stop, step)]
    return ":".join(ends if ends[2] not in ("", "1") else ends[:2])


def _sharing(program: Program, targets: set[Value]) -> set[Value]:
    """The values that may lie in the memory of these inputs."""
    shared = set(targets)
    for s in program.statements:
        fresh = is_ufunc(s.function) or (s.function in _FRESH)
        if not fresh and any(value in shared for value in s.inputs):
            shared.update(s.outputs)
    return shared


_FRESH = frozenset(
    {*REDUCTIONS, np.where, np.matmul, np.concatenate, np.argmax, np.argmin}
    | {astype, updated, added, full, number}
)


def _comment(s: Statement) -> str:
    """The user's line: file, line number, and what stands there."""
    if s.code is None:
        return ""
    lines = (line for start, end, line in s.code.co_lines() if start <= s.at < end)
    line = next(lines, None) or s.code.co_firstlineno
    text = linecache.getline(s.code.co_filename, line).strip()
    return f"# {PurePath(s.code.co_filename).name}:{line}: {text}".rstrip(": ")


def _beside(lines: list[str], comment: str) -> list[str]:
    """The comment after the first line, from a fixed column on, cut at the width."""
    column = max(48, len(lines[0]) + 2)
    if column + 24 > WIDTH:
        return [f"    {_cut(comment, WIDTH - 4)}", *lines]
    return [f"{lines[0]:<{column}}{_cut(comment, WIDTH - column)}", *lines[1:]]


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3].rstrip() + "..."


Program.writer = staticmethod(source)
