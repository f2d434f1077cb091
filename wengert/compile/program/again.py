"""What is computed again rather than kept in memory: cheap functions, and the least that is kept.

Where one run reads what another one computed, as a derivative reads values of the function, some of
those values are kept, and the others computed again. What is kept is a minimum cut between what is
there anyway and what is read: the fewest bytes from which cheap functions make all of it. (So do
compilers that trade memory for work; the algorithm is that of Ford and Fulkerson, 1956.)
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from wengert.compile.program.infer import is_ufunc
from wengert.compile.program.operations import LAYOUTS, SOURCES, astype, number, take, updated
from wengert.compile.program.program import Statement, Value

FREE = LAYOUTS | SOURCES
"""What costs nothing where it is read."""

MOVES = FREE | {np.concatenate, updated, take}
"""What moves elements, and computes none."""

OTHER_MAPS = {np.where: "where", astype: "astype", number: "astype", np.real: "real"}
OTHER_MAPS |= {np.imag: "imag"}

CHEAP = frozenset(
    [
        "add", "subtract", "multiply", "negative", "absolute", "maximum", "minimum", "where",
        "astype", "greater", "less", "equal", "greater_equal", "less_equal", "not_equal",
        "logical_and", "logical_or", "logical_not", "bitwise_and", "bitwise_or", "bitwise_xor",
        "invert", "square", "sign", "conjugate", "real", "imag", "positive", "copysign", "isnan",
        "isfinite", "isinf",
    ]
)  # fmt: skip
"""Functions that cost less than reading their result back from memory."""

AS_LONG = frozenset({"divide", "reciprocal", "sqrt"})
"""Functions that cost as much as writing their result and reading it back."""


def map_name(function: Any) -> str | None:
    """The name of a function of single elements; None of others."""
    if function in OTHER_MAPS:
        return OTHER_MAPS[function]
    return function.__name__ if is_ufunc(function) else None


def is_cheap(s: Statement) -> bool:
    """Whether a statement costs no more than it takes to keep its result, and to read it again."""
    name = map_name(s.function)
    return s.function in MOVES or (len(s.outputs) == 1 and (name in CHEAP or name in AS_LONG))


def computed_again(
    asked: Iterable[Value],
    maker: Callable[[Value], Statement | None],
    price: Callable[[Value], int],
) -> list[Statement]:
    """The statements that make what is asked for of what is kept, each after those it reads from.

    `maker` tells the statement that may be carried out again for a value, None where that has to be
    kept; `price` what it costs to keep it.
    """
    asked = list(dict.fromkeys(asked))
    makers: dict[Value, Statement | None] = {}
    pending = list(asked)
    while pending:
        v = pending.pop()
        if v not in makers:
            makers[v] = s = maker(v)
            pending += s.inputs if s is not None else ()
    kept = _Cut(asked, makers, price).kept()
    again: dict[Statement, None] = {}
    below: list[tuple[Value, bool]] = [(v, False) for v in asked]
    while below:  # depth first, each once: a statement comes after the makers of its inputs
        v, ready = below.pop()
        s = makers[v]
        if s is None or s in again or v in kept:
            continue
        if ready:
            again[s] = None
        else:
            below.append((v, True))
            below += [(x, False) for x in s.inputs]
    return list(again)


class _Cut:
    """Flow through the values that may be kept, each of which lets through as much as its price.

    It comes from what cannot be made again, and goes to what is asked for. A point is a value and
    whether it is before that (what it is made of) or behind it (what it is used for).
    """

    def __init__(
        self,
        asked: list[Value],
        makers: dict[Value, Statement | None],
        price: Callable[[Value], int],
    ) -> None:
        self.asked = asked
        self.made_of = {
            v: None if s is None else list(dict.fromkeys(s.inputs)) for v, s in makers.items()
        }
        self.left = {v: price(v) for v in makers}
        self.through: dict[Value, int] = dict.fromkeys(makers, 0)
        self.flows: dict[tuple[Value, Value], int] = {}
        """How much goes from one value on to another that is made of it."""
        self.users: dict[Value, list[Value]] = {v: [] for v in makers}
        for v, parts in self.made_of.items():
            for part in parts or ():
                self.users[part].append(v)

    def kept(self) -> set[Value]:
        """The cut that lies next to what is asked for: the least is computed again."""
        while True:
            came, source = self._reached()
            if source is None:
                return {v for v, behind in came if behind and (v, False) not in came}
            self._push(came, source)

    def _reached(self) -> tuple[dict[Any, Any], Any]:
        """From which points more could come, each with the next on its way; a source if one can."""
        came: dict[Any, Any] = {(v, True): None for v in self.asked}
        pending = list(came)
        for point in pending:
            v, behind = point
            if not behind and self.made_of[v] is None:
                return came, point
            for before in self._before(v, behind):
                if before not in came:
                    came[before] = point
                    pending.append(before)
        return came, None

    def _before(self, v: Value, behind: bool) -> Iterable[tuple[Value, bool]]:
        if behind:
            if self.left[v]:
                yield v, False
            for user in self.users[v]:
                if self.flows.get((v, user)):
                    yield user, False
        else:
            for part in self.made_of[v] or ():
                yield part, True
            if self.through[v]:
                yield v, True

    def _push(self, came: dict[Any, Any], point: Any) -> None:
        """Let as much flow along the way from a source as there is room for."""
        way = [point]
        while came[way[-1]] is not None:
            way.append(came[way[-1]])
        steps = list(itertools.pairwise(way))
        amount = min(room for step in steps if (room := self._room(*step)) is not None)
        for (v, behind), (w, _) in steps:
            if v is w:
                more = amount if not behind else -amount
                self.left[v] -= more
                self.through[v] += more
            elif behind:
                self.flows[v, w] = self.flows.get((v, w), 0) + amount
            else:
                self.flows[w, v] -= amount

    def _room(self, here: Any, there: Any) -> int | None:
        """How much can go from one point to the next; None for any amount."""
        (v, behind), (w, _) = here, there
        if v is w:
            return self.through[v] if behind else self.left[v]
        return None if behind else self.flows[w, v]
