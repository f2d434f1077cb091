"""Formulas typed by people: `log(x1) + x1*x2 - sin(x2)`, parsed into NumPy calls.

The text goes through Python's own parser and then through a whitelist: numbers, names, arithmetic,
and the functions of one table. Nothing is ever evaluated as code, and sizes are bounded, so a
formula may come from anywhere. A parsed formula is an ordinary function, which `explain` traces.
"""

from __future__ import annotations

import ast
import difflib
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from wengert.history.uncollected import parsed
from wengert.rules import RULES

MAX_LENGTH = 2000
MAX_DEPTH = 200
MAX_PARTS = 1000


class ExpressionError(ValueError):
    """A formula could not be read. The message shows the place, and what to type instead."""


def _softplus(x: Any) -> Any:
    return np.logaddexp(x, 0.0)


_NAMED = {
    name: (len(rule.arguments), rule.function)
    for rule in RULES.values()
    for name in rule.names
    if rule.family == "elementwise" and len(rule.arguments) == len(rule.reverse)
}
_ALSO: dict[str, tuple[int, Callable[..., Any]]] = {
    "abs": (1, np.absolute),
    "cbrt": (1, np.cbrt),
    "ceil": (1, np.ceil),
    "floor": (1, np.floor),
    "ln": (1, np.log),
    "max": (2, np.maximum),
    "min": (2, np.minimum),
    "pow": (2, np.power),
    "sign": (1, np.sign),
    "softplus": (1, _softplus),
    "square": (1, np.square),
}
FUNCTIONS = dict(sorted({**_NAMED, **_ALSO}.items()))
"""What a formula may call: the number of arguments, and the NumPy function that it means."""

CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf}
"""Names with a value of their own, unless the formula's user gives them another."""

_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
    ast.USub: np.negative,
    ast.UAdd: np.positive,
}

# Signs that textbooks and word processors use; one character each, so that columns stay true.
_SIGNS = str.maketrans({"−": "-", "–": "-", "×": "*", "·": "*", "÷": "/", "\n": " ", "\t": " "})


class Expression:
    """A formula of named variables: call it with their values, in the order of `variables`.

    >>> f = Expression("log(x1) + x1*x2 - sin(x2)")
    >>> f.variables
    ('x1', 'x2')
    >>> round(float(f(2.0, 5.0)), 3)
    11.652

    Several formulas separated by commas are one function with several results. `variables` fixes
    the order of the arguments; without it they come in order of appearance. `used` are those that
    appear, `results` is the number of results.
    """

    def __init__(self, text: str, variables: Iterable[str] | None = None) -> None:
        self.text = text.strip()
        self._source = self.text.translate(_SIGNS)
        given = None if variables is None else tuple(variables)
        self._tree = self._parsed()
        self._check()
        self._order = _by_height(self._tree)
        self.used = self._names(given or ())
        self.variables = self.used if given is None else given
        self.results = len(self._tree.elts) if isinstance(self._tree, ast.Tuple) else 1
        for name in self.used:
            if name not in self.variables:
                raise ExpressionError(_missing(name))

    def __call__(self, *values: Any) -> Any:
        if len(values) != len(self.variables):
            raise TypeError(
                f"the formula has {len(self.variables)} variables "
                f"({', '.join(self.variables)}), got {len(values)} values"
            )
        named = {**CONSTANTS, **dict(zip(self.variables, values, strict=True))}
        with np.errstate(all="ignore"):  # 1/0 is inf and log(-1) nan, here as in the library
            return self._values(named)[self._tree]

    def trouble(self, *values: float) -> str:
        """What of the formula has no finite value here although its parts have: said, and shown.

        Empty if there is no such part.

        >>> print(Expression("1 + log(x)").trouble(-2.0))
        log(-2) is not a real number, and so with all that depends on it
          1 + log(x)
              ^
        """
        named = {**CONSTANTS, **dict(zip(self.variables, values, strict=True))}
        with np.errstate(all="ignore"):
            results = self._values(named)
        for node in self._order:
            parts = [results[child] for child in _children(node)]
            if isinstance(node, ast.Tuple) or not parts or math.isfinite(results[node]):
                continue
            if all(map(math.isfinite, parts)):
                kind = "not a real number" if math.isnan(results[node]) else "infinite"
                return str(
                    self._error(
                        f"{_in_numbers(node, parts)} is {kind}, and so with all that depends on it",
                        self._column(node),
                    )
                )
        return ""

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"

    # ---- reading --------------------------------------------------------------------------

    def _parsed(self) -> ast.expr:
        if not self.text:
            raise ExpressionError('the formula is empty; try "log(x1) + x1*x2 - sin(x2)"')
        if len(self.text) > MAX_LENGTH:
            raise ExpressionError(
                f"the formula has {len(self.text)} characters; at most {MAX_LENGTH} are accepted"
            )
        try:
            return parsed(self._source, mode="eval").body
        except SyntaxError as error:
            column = max((error.offset or 1) - 1, 0)
            if re.search(r"[-+*/(,]\s*$", self._source) and "closed" not in error.msg:
                raise self._error("the formula ends too early", len(self._source)) from None
            raise self._error(_syntax(error, self._source), column) from None
        except (ValueError, MemoryError, RecursionError):
            raise ExpressionError("the formula is nested too deeply, or is not text") from None

    def _check(self) -> None:
        """Refuse what is not in the whitelist, before anything is computed."""
        level: list[ast.expr] = [self._tree]
        parts = 0
        for _ in range(MAX_DEPTH):
            parts += len(level)
            if parts > MAX_PARTS:
                raise ExpressionError(
                    f"the formula has more than {MAX_PARTS} parts; split it into smaller ones"
                )
            level = [child for node in level for child in self._checked(node)]
            if not level:
                return
        raise ExpressionError(
            f"the formula is nested more than {MAX_DEPTH} levels deep; split it into smaller ones"
        )

    def _checked(self, node: ast.expr) -> list[ast.expr]:
        """The parts of a node that is allowed; an error for one that is not."""
        match node:
            case ast.Constant(value=bool() | complex() | str() | bytes() | None):
                raise self._error(f"{node.value!r} is not a real number", self._column(node))
            case ast.Constant(value=int() | float()):
                return []
            case ast.Name(id=name):
                if name in FUNCTIONS:
                    count = FUNCTIONS[name][0]
                    example = f"{name}({', '.join('ab'[:count])})"
                    raise self._error(f"{name} is a function: write {example}", self._column(node))
                return []
            case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
                return [operand]
            case ast.BinOp(op=op, left=left, right=right) if type(op) in _OPERATORS:
                return [left, right]
            case ast.BinOp(op=ast.BitXor(), left=left):
                raise self._error("^ is not a power here: write **, as in x**2", self._end(left))
            case ast.Tuple(elts=elements) if node is self._tree and elements:
                return elements
            case ast.Call():
                return self._checked_call(node)
        raise self._error(
            "only numbers, variables, + - * / **, parentheses and functions are understood",
            self._column(node),
        )

    def _checked_call(self, node: ast.Call) -> list[ast.expr]:
        place = self._column(node)
        match node.func:
            case ast.Name(id=name) if name in FUNCTIONS:
                pass
            case ast.Name(id=name):
                raise self._error(_unknown(name), place)
            case ast.Attribute(attr=name) if name in FUNCTIONS:
                raise self._error(f"write {name}(...), with nothing before it", place)
            case _:
                raise self._error("this is not a function: write * to multiply", place)
        count = FUNCTIONS[name][0]
        if node.keywords or any(isinstance(arg, ast.Starred) for arg in node.args):
            raise self._error(f"{name} takes arguments by position only", place)
        if len(node.args) != count:
            wanted = "1 argument" if count == 1 else f"{count} arguments"
            raise self._error(f"{name} takes {wanted}, got {len(node.args)}", place)
        return node.args

    def _names(self, given: tuple[str, ...]) -> tuple[str, ...]:
        """The variables in order of appearance; a constant's name is one only if it is given."""
        names = {
            node.id: None
            for node in _walk(self._tree)  # in reading order
            if isinstance(node, ast.Name) and (node.id in given or node.id not in CONSTANTS)
        }
        return tuple(names)

    # ---- running --------------------------------------------------------------------------

    def _values(self, named: dict[str, Any]) -> dict[ast.expr, Any]:
        """The values of all parts, worked out level by level: what depends on least comes first.

        So do textbooks: in ln x1 + x1 x2 - sin x2 all three terms come before the first sum.
        """
        values: dict[ast.expr, Any] = {}
        for node in self._order:
            match node:
                case ast.Constant(value=int() | float() as literal):
                    values[node] = _float(literal)
                case ast.Name(id=name):
                    values[node] = named[name]
                case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                    values[node] = values[operand]
                case ast.UnaryOp(op=op, operand=operand):
                    values[node] = _applied(_OPERATORS[type(op)], values[operand])
                case ast.BinOp(op=op, left=left, right=right):
                    values[node] = _applied(_OPERATORS[type(op)], values[left], values[right])
                case ast.Call(func=ast.Name(id=name), args=args):
                    values[node] = _applied(FUNCTIONS[name][1], *(values[arg] for arg in args))
                case ast.Tuple(elts=elements):
                    values[node] = tuple(values[element] for element in elements)
        return values

    # ---- errors ---------------------------------------------------------------------------

    def _column(self, node: ast.expr) -> int:
        return len(self._source.encode()[: node.col_offset].decode())

    def _end(self, node: ast.expr) -> int:
        end = len(self._source.encode()[: node.end_col_offset].decode())
        return end + len(self._source[end:]) - len(self._source[end:].lstrip(" )"))

    def _error(self, message: str, column: int) -> ExpressionError:
        """The message under the formula, with a caret at the place; long formulas are cut."""
        start = max(0, column - 60)
        shown = ("…" if start else "") + self.text[start : start + 76].replace("\n", " ")
        column = min(column, len(self.text)) - start + (1 if start else 0)
        return ExpressionError(f"{message}\n  {shown}\n  {' ' * column}^")


def _walk(tree: ast.expr) -> Iterator[ast.expr]:
    """All parts of an expression, from left to right."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(_children(node))


def _children(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.Call):
        return node.args
    return [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]


_SYMBOLS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}


def _in_numbers(node: ast.expr, parts: list[float]) -> str:
    """A step of the formula with the values of its parts: log(-2), 1 / 0."""
    words = [f"{part:.6g}" for part in parts]
    if isinstance(node, ast.BinOp):
        left, right = (f"({w})" if w.startswith("-") else w for w in words)
        return f"{left} {_SYMBOLS[type(node.op)]} {right}"
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Name)
    return f"{node.func.id}({', '.join(words)})"


def _by_height(tree: ast.expr) -> list[ast.expr]:
    """All parts, those without parts of their own first; of one height, in reading order."""
    nodes = list(_walk(tree))
    heights: dict[ast.expr, int] = {}
    for node in reversed(nodes):  # parts come after the whole in reading order
        heights[node] = max((heights[child] + 1 for child in _children(node)), default=0)
    return sorted(nodes, key=heights.__getitem__)


def _float(number: float) -> float:
    """A literal as a float: integers too large for one are infinite, not an error."""
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _applied(function: Callable[..., Any], *values: Any) -> Any:
    """The function on values; of Python's numbers, a Python number."""
    if all(isinstance(value, float) for value in values):
        return float(function(*(np.float64(value) for value in values)))
    return function(*values)


def _unknown(name: str) -> str:
    near = difflib.get_close_matches(name.lower(), FUNCTIONS, n=1)
    if near:
        return f"unknown function {name}; did you mean {near[0]}?"
    return (
        f"unknown function {name} (to multiply, write {name}*(...)); "
        f"known are {', '.join(FUNCTIONS)}"
    )


def _missing(name: str) -> str:
    return f"no value for the variable {name}: add {name}=..., for example {name}=2"


def _syntax(error: SyntaxError, source: str) -> str:
    """Python's complaint in the words of someone who writes formulas."""
    said = error.msg or ""
    place = max((error.offset or 1) - 1, 0)
    before, rest = source[:place].rstrip(), source[place:]
    if "never closed" in said:
        return "this parenthesis is never closed"
    if "unmatched" in said:
        return "this parenthesis was never opened"
    if "nested" in said:
        return "too many parentheses inside one another"
    if "invalid character" in said and rest:
        name = unicodedata.name(rest[0], "unnamed").lower()
        return f"the character {rest[0]} ({name}) means nothing here"
    words = re.findall(r"\w+", before)[-1:] + re.findall(r"\w+", rest)[:1]
    apart = re.match(r"\w+ +[\w.]", rest) or re.match(r"\w +[\w.]", f"{before[-1:]} {rest}")
    if apart and any(word in FUNCTIONS for word in words):
        return "a function's argument goes in parentheses: sin(x)"
    if "decimal literal" in said or (re.search(r"[\w)]$", before) and re.match(r"[\w(]", rest)):
        return "to multiply, write *: 2*x, not 2x"
    return "this cannot be read as a formula"
