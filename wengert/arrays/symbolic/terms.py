"""Terms: numbers, symbols, and functions of terms, as they stand in a formula.

Equal terms are one object, so a formula is a graph in which common parts are shared. Only what
nobody would write down is left out: sums with 0, products with 0 and 1, the negative of a
negative, and arithmetic on numbers.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

Function = Callable[..., Any]


class Term:
    """A number, a symbol, or a function of terms."""

    __slots__ = ("__weakref__", "args", "function", "value")

    function: Function | None
    args: tuple[Term, ...]
    value: Any
    """Of a number itself, of a symbol its name."""

    @property
    def is_number(self) -> bool:
        return self.function is None and not isinstance(self.value, str)

    @property
    def is_symbol(self) -> bool:
        return self.function is None and isinstance(self.value, str)

    def __repr__(self) -> str:
        from wengert.arrays.symbolic.formulas import text  # it stands on this

        return text(self)

    def __reduce__(self) -> Any:
        return _new, (self.function, self.args, self.value)

    # Object arrays call these: in np.dot, np.sum and the like.

    def __add__(self, other: Any) -> Term:
        return apply(np.add, self, term(other))

    def __radd__(self, other: Any) -> Term:
        return apply(np.add, term(other), self)

    def __mul__(self, other: Any) -> Term:
        return apply(np.multiply, self, term(other))

    def __rmul__(self, other: Any) -> Term:
        return apply(np.multiply, term(other), self)

    def __sub__(self, other: Any) -> Term:
        return apply(np.subtract, self, term(other))

    def __rsub__(self, other: Any) -> Term:
        return apply(np.subtract, term(other), self)

    def __truediv__(self, other: Any) -> Term:
        return apply(np.divide, self, term(other))

    def __rtruediv__(self, other: Any) -> Term:
        return apply(np.divide, term(other), self)

    def __neg__(self) -> Term:
        return apply(np.negative, self)

    def conjugate(self) -> Term:
        return self  # symbols are real

    def __bool__(self) -> bool:
        raise TypeError(f"the truth of {self!r} is not known: it holds symbols")


_known: weakref.WeakValueDictionary[Any, Term] = weakref.WeakValueDictionary()


def _new(function: Function | None, args: tuple[Term, ...], value: Any) -> Term:
    key = (function, args, type(value), repr(value))
    new = _known.get(key)
    if new is None:
        new = Term()
        new.function, new.args, new.value = function, args, value
        _known[key] = new
    return new


def symbol(name: str) -> Term:
    """A variable of this name."""
    return _new(None, (), name)


def term(x: Any) -> Term:
    """A number as a term; terms are what they are."""
    if isinstance(x, (np.generic, np.ndarray)):
        x = x.item()
    if isinstance(x, Term):
        return x
    if isinstance(x, float) and x.is_integer() and abs(x) < 2**53:
        x = int(x)
    return _new(None, (), x)


def apply(function: Function, *args: Term) -> Term:
    """A function of terms."""
    if all(a.is_number for a in args):
        return _computed(function, args)
    short = _SHORT.get(function)
    shorter = short(*args) if short else None
    return _new(function, args, None) if shorter is None else shorter


def _computed(function: Function, args: tuple[Term, ...]) -> Term:
    numbers = [a.value if isinstance(a.value, bool) else float(a.value) for a in args]
    with np.errstate(all="ignore"):
        return term(_called(function, numbers))


def _called(function: Function, numbers: Iterable[Any]) -> Any:
    """A function of numbers or arrays; an opaque one is only ever called with arrays."""
    if getattr(function, "opaque", False):
        numbers = [x if hasattr(x, "dtype") else np.asarray(x) for x in numbers]
    return function(*numbers)


# ---- what nobody writes down -------------------------------------------------------------------


def _is(a: Term, number: float) -> bool:
    return a.is_number and not isinstance(a.value, bool) and a.value == number


def _negated(a: Term) -> Term | None:
    """The term of which `a` is the negative."""
    if a.function is np.negative:
        return a.args[0]
    return None


def _sum(a: Term, b: Term) -> Term | None:
    if _is(a, 0):
        return b
    if _is(b, 0):
        return a
    if (c := _negated(b)) is not None:
        return apply(np.subtract, a, c)
    return None


def _difference(a: Term, b: Term) -> Term | None:
    if _is(b, 0):
        return a
    if _is(a, 0):
        return apply(np.negative, b)
    if (c := _negated(b)) is not None:
        return apply(np.add, a, c)
    return None


def _product(a: Term, b: Term) -> Term | None:
    for x, y in ((a, b), (b, a)):
        if _is(x, 0):
            return x
        if _is(x, 1):
            return y
        if _is(x, -1):
            return apply(np.negative, y)
    if (c := _negated(a)) is not None:
        return apply(np.negative, apply(np.multiply, c, b))
    if (c := _negated(b)) is not None:
        return apply(np.negative, apply(np.multiply, a, c))
    return None


def _quotient(a: Term, b: Term) -> Term | None:
    if _is(a, 0) or _is(b, 1):
        return a
    if (c := _negated(a)) is not None:
        return apply(np.negative, apply(np.divide, c, b))
    return None


def _power(a: Term, b: Term) -> Term | None:
    if _is(b, 1):
        return a
    return term(1) if _is(b, 0) else None


def _choice(condition: Term, a: Term, b: Term) -> Term | None:
    if condition.is_number:
        return a if condition.value else b
    return a if a is b else None


def _negative(a: Term) -> Term | None:
    return _negated(a)


_SHORT: dict[Function, Callable[..., Term | None]] = {
    np.add: _sum,
    np.subtract: _difference,
    np.multiply: _product,
    np.divide: _quotient,
    np.power: _power,
    np.negative: _negative,
    np.where: _choice,
    np.positive: lambda a: a,
    np.conjugate: lambda a: a,
    np.square: lambda a: apply(np.power, a, term(2)),
    np.reciprocal: lambda a: apply(np.divide, term(1), a),
}


# ---- going through a formula -------------------------------------------------------------------


def ordered(roots: Iterable[Term]) -> list[Term]:
    """The terms that these consist of, each once, parts first. Formulas may be any depth."""
    terms: dict[Term, None] = {}
    stack = [(root, False) for root in reversed(list(roots))]
    while stack:
        a, done = stack.pop()
        if a in terms:
            continue
        if done:
            terms[a] = None
        else:
            stack.append((a, True))
            stack.extend((part, False) for part in reversed(a.args) if part not in terms)
    return list(terms)


def written_size(root: Term) -> int:
    """How many functions are applied in the formula written out, common parts each time."""
    sizes: dict[Term, int] = {}
    for a in ordered([root]):
        sizes[a] = sum(sizes[part] for part in a.args) + (a.function is not None)
    return sizes[root]


def shared_size(roots: Iterable[Term]) -> int:
    """How many functions are applied if common parts are computed once."""
    return sum(a.function is not None for a in ordered(roots))


def evaluated(roots: list[Term], values: dict[str, Any]) -> list[Any]:
    """The numbers that formulas have for these values of their symbols."""
    numbers: dict[Term, Any] = {}
    for a in ordered(roots):
        if a.function is not None:
            numbers[a] = _called(a.function, [numbers[part] for part in a.args])
        else:
            numbers[a] = values[a.value] if a.is_symbol else a.value
    return [numbers[root] for root in roots]
