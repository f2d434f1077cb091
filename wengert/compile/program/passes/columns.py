"""Columns: arrays of many short rows, taken apart into their columns.

`vmap` of a function of a few numbers makes arrays of shape (n, 3), (n, 2, 11)...: loops over rows
of two or three elements, which slices, concatenations and writes into parts cut into pieces that go
through memory. Taken apart, each column is one array of n elements, each statement one for each
element of a row, and what only moves elements within rows is no statement at all: NumPy itself does
it, on arrays of columns. What is left is one loop over n.

A statement means on columns what it means on elements, so results are the same; a sum along a row
adds its elements in order.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.arrays.facts import REDUCED_BY
from wengert.compile.program.infer import Calls, axes_of, infer
from wengert.compile.program.operations import LAYOUTS, added, full, take, updated, view
from wengert.compile.program.passes.rewrite import is_elementwise, shortest
from wengert.compile.program.program import Program, Shape, Statement, Value, mapped

MANY, SHORT = 64, 32
"""How many rows there are at least, and how many elements in a row at most."""

PIECES = 12
"""So many statements that cut rows are worth the change: fewer do not fall into many loops."""

LIMIT = 2000
"""Statements that the columns may become: more are long to compile."""

CROSSING = 8
"""So many columns are computed for each that is cut out of, or joined into, an array on the way.

Products of matrices and other whole statements between would have each array copied twice."""

Columns = np.ndarray  # of values, of the shape of a row


def columns(program: Program, many: int = MANY, pieces: int = PIECES) -> bool:
    """Take rows apart where it is worth it; whether the program was changed, in place."""
    n = _rows(program, many)
    if n is None:
        return False
    apart = _Apart(program, n)
    if not apart.pays(pieces):
        return False
    apart.run()
    return True


def _rows(program: Program, many: int) -> int | None:
    """The first extent that most statements have."""
    extents = Counter(
        s.output.shape[0]
        for s in program.statements
        if len(s.outputs) == 1 and len(s.output.shape) > 1 and s.output.shape[0] >= many
    )
    return extents.most_common(1)[0][0] if extents else None


class _Apart:
    def __init__(self, program: Program, n: int) -> None:
        self.program = program
        self.n = n
        self.columns: dict[Value, Columns] = {}
        self.whole: dict[Value, Value] = {}
        self.statements: list[Statement] = []
        self.call = Calls(self.statements)

    def run(self) -> None:
        for s in self.program.statements:
            self.call.line = s.code, s.at
            if self.takes(s):
                self.columns[s.output] = MEANINGS[_kind(s)](self, s)
            else:
                self.statements.append(s.replaced(self.together))
        program = self.program
        program.outputs = [self.together(v) for v in program.outputs]
        program.updates = {k: self.together(v) for k, v in program.updates.items()}
        program.statements = self.statements

    def pays(self, pieces: int) -> bool:
        """Whether rows are cut so often, and arrays so seldom, that columns are less work."""
        inside = [s for s in self.program.statements if self.takes(s)]
        if sum(map(self.cuts, inside)) < pieces:
            return False
        own = {s.output for s in inside}
        work = 0
        for s in inside:
            if _kind(s) in ("map", take):
                work += s.output.size
            elif _kind(s) == "reduce":
                work += s.inputs[0].size
        # Inputs and results are read and written in any case.
        others = [s for s in self.program.statements if own.isdisjoint(s.outputs)]
        between = {v for s in others for v in s.outputs} & {v for s in inside for v in s.inputs}
        between |= own & {v for s in others for v in s.inputs}
        wide = sum(v.size for v in between if len(v.shape) > 1)
        return work // self.n <= LIMIT and (not pieces or CROSSING * wide <= work)

    # ---- what is taken apart --------------------------------------------------------------------

    def short(self, shape: Shape) -> bool:
        return bool(shape) and shape[0] == self.n and math.prod(shape[1:]) <= SHORT

    def takes(self, s: Statement) -> bool:
        kind = _kind(s)
        if kind is None or len(s.outputs) != 1 or s.output.weak or not self.short(s.output.shape):
            return False
        if not all(self._fits(v, s) for v in s.inputs):
            return False
        return TAKES[kind](self, s) if kind in TAKES else True

    def _fits(self, value: Value, s: Statement) -> bool:
        """Whether an operand has rows, or is the same for all of them."""
        shape, rank = value.shape, len(s.output.shape)
        spreads = is_elementwise(s.function) or s.function is np.broadcast_to
        if not spreads:
            return self.short(shape) or s.function is take
        if self.short(shape) and len(shape) == rank:
            return True
        alone = shape[1:] if len(shape) == rank and shape[0] == 1 else shape
        return len(alone) < rank and math.prod(alone) <= SHORT and not value.weak

    def cuts(self, s: Statement) -> bool:
        """Whether it moves elements within rows, or reduces rows."""
        kind = _kind(s)
        if kind not in (np.concatenate, updated, added, "reduce") or not self.takes(s):
            return False
        return len(s.output.shape) > 1 or kind == "reduce"

    # ---- columns and whole arrays ---------------------------------------------------------------

    def of(self, value: Any, rank: int) -> Any:
        """The columns of an operand beside others of a rank; a number is itself."""
        if type(value) is not Value:
            return value
        if self.short(value.shape) and len(value.shape) >= rank:
            if value not in self.columns:
                self.columns[value] = self._split(value)
                self.whole[value] = value
            return self.columns[value]
        return self._repeated(value, value.shape[1:] if len(value.shape) == rank else value.shape)

    def _split(self, value: Value) -> Columns:
        columns = np.empty(value.shape[1:], object)
        for place in np.ndindex(*columns.shape):
            columns[place] = self.call(view, value, (slice(0, self.n, 1), *place))
        return columns

    def _repeated(self, value: Value, shape: Shape) -> Columns:
        """Of an array that is the same for all rows."""
        columns = np.empty(shape, object)
        array = self.program.constants.get(value)
        for place in np.ndindex(*shape):
            if array is not None:
                number = shortest(array.reshape(shape)[place])
                columns[place] = self.call(full, (self.n,), number, value.dtype)
            else:
                index = (0,) * (len(value.shape) - len(place)) + place
                element = self.call(view, self.together(value), index)
                columns[place] = self.call(np.broadcast_to, element, (self.n,))
        return columns

    def together(self, value: Value) -> Value:
        """The array of its columns."""
        if value not in self.columns or value in self.whole:
            return self.whole.get(value, value)
        columns = self.columns[value].reshape(-1)
        parts = tuple(self.call(np.reshape, c, (self.n, 1)) for c in columns)
        whole = self.call(np.concatenate, parts, axis=1) if len(parts) > 1 else parts[0]
        if whole.shape != value.shape:
            whole = self.call(np.reshape, whole, value.shape)
        self.whole[value] = whole
        return whole


# ---- what statements mean -----------------------------------------------------------------------


def _kind(s: Statement) -> Any:
    """The kind of a statement that can be taken apart."""
    if is_elementwise(s.function) and not s.kwargs:
        return "map"
    return "reduce" if s.function in REDUCED_BY else s.function if s.function in MEANINGS else None


def _map(apart: _Apart, s: Statement) -> Columns:
    rows = [apart.of(x, len(s.output.shape)) for x in s.args]
    return _each(functools.partial(apart.call, s.function), rows, s.output.shape[1:])


def _each(make: Callable[..., Any], rows: list[Any], shape: Shape) -> Columns:
    new = np.empty(shape, object)
    wide = [np.broadcast_to(r, shape) if isinstance(r, np.ndarray) else None for r in rows]
    for place in np.ndindex(*shape):
        new[place] = make(*[r if w is None else w[place] for r, w in zip(rows, wide, strict=True)])
    return new


def _reduced(apart: _Apart, s: Statement) -> Columns:
    row, combine = apart.of(s.args[0], 0), REDUCED_BY[s.function]
    axes = tuple(axis - 1 for axis in s.kwargs["axis"])
    rest = [i for i in range(row.ndim) if i not in axes]
    lines = row.transpose(*rest, *axes).reshape(*[row.shape[i] for i in rest], -1)
    columns = np.empty(lines.shape[:-1], object)
    for place in np.ndindex(*columns.shape):
        line = list(lines[place])
        columns[place] = functools.reduce(lambda a, b: apart.call(combine, a, b), line)
    return columns.reshape(s.output.shape[1:])


def _reduces(apart: _Apart, s: Statement) -> bool:
    x = s.args[0]
    axis = s.kwargs.get("axis")
    truth = s.function in (np.any, np.all)
    fine = isinstance(axis, tuple) and 0 not in axis and (not truth or x.dtype == np.bool_)
    return fine and x.size > 0 and x.dtype == s.output.dtype


def _moved(apart: _Apart, s: Statement) -> Columns:
    """As NumPy moves elements, with one row of columns for all rows."""
    rank = len(s.output.shape) if s.function is np.broadcast_to else 0
    x, *rest = mapped(s.args, lambda v: apart.of(v, rank)[None])
    if s.function in (np.reshape, np.broadcast_to):
        rest = [(1, *s.output.shape[1:])]
    return np.asarray(s.function(x, *rest, **s.kwargs)[0, ...], object)


def _written(apart: _Apart, s: Statement) -> Columns:
    x, index, value = s.args
    columns = apart.of(x, 0).copy()
    shape = columns[index[1:]].shape if isinstance(columns[index[1:]], np.ndarray) else ()
    new = np.broadcast_to(apart.of(value, 0), shape)
    if s.function is added:
        old = np.broadcast_to(np.asarray(columns[index[1:]], object), shape)
        new = _each(lambda a, b: apart.call(np.add, a, b), [old, new], shape)
    columns[index[1:]] = new if shape else new[()]
    return columns


def _writes(apart: _Apart, s: Statement) -> bool:
    x, index, value = s.args
    if not _plain(apart, index) or type(value) is not Value or value.dtype != x.dtype:
        return False
    place = infer(view, (x, index))
    return place is not None and len(place[0]) == len(value.shape)


def _plain(apart: _Apart, index: Any) -> bool:
    """Whether an index takes all rows, and of each the same elements."""
    if type(index) is not tuple or type(index[0]) is not slice:
        return False
    whole = range(apart.n)[index[0]] == range(apart.n)
    return whole and all(type(e) in (slice, int, type(None)) for e in index)


def _taken(apart: _Apart, s: Statement) -> Columns:
    x, index = s.args
    columns = np.empty(s.output.shape[1:], object)
    for place in np.ndindex(*columns.shape):
        columns[place] = apart.call(take, apart.together(x), (apart.together(index[0]), *place))
    return columns


def _takes(apart: _Apart, s: Statement) -> bool:
    """Rows chosen by one index."""
    x, index = s.args
    index = index if type(index) is tuple else (index,)
    fine = type(index[0]) is Value and index[0].shape == (apart.n,) and len(index) == len(x.shape)
    return fine and all(
        type(e) is slice and range(k)[e] == range(k)
        for e, k in zip(index[1:], x.shape[1:], strict=True)
    )


def _fulls(apart: _Apart, s: Statement) -> Columns:
    _, number, dtype = s.args
    columns = np.empty(s.output.shape[1:], object)
    columns[...] = apart.call(full, (apart.n,), number, dtype)
    return columns


MEANINGS: dict[Any, Callable[[_Apart, Statement], Columns]] = {
    "map": _map,
    "reduce": _reduced,
    **dict.fromkeys((*LAYOUTS, np.concatenate), _moved),
    updated: _written,
    added: _written,
    take: _taken,
    full: _fulls,
}

TAKES: dict[Any, Callable[[_Apart, Statement], bool]] = {
    "reduce": _reduces,
    np.transpose: lambda apart, s: axes_of(s)[0] == 0,
    np.broadcast_to: lambda apart, s: True,
    view: lambda apart, s: _plain(apart, s.args[1]),
    np.concatenate: lambda apart, s: s.kwargs.get("axis", 0) > 0,
    updated: _writes,
    added: _writes,
    take: _takes,
}
"""What a kind asks of a statement; the others ask for nothing."""
