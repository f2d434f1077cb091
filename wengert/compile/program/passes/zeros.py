"""Zeros: products of matrices that are mostly zero, where it is known what to leave out.

Jacobians multiply one-hot vectors through a program. What these make is zero wherever a result does
not depend on an argument, and 0 * x is 0 unless x is inf or NaN: so it is known beforehand which
elements will be zero if all goes well. A product with such a matrix is taken of the blocks of it
that are left. Whether all goes well is looked at when it runs, for what is left out and for what
that would have been multiplied by; if not, the whole product is taken.

Sums leave out zeros, and are taken in another order.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from wengert.arrays.facts import REDUCED_BY
from wengert.compile.program.bodies import Choose
from wengert.compile.program.infer import Calls
from wengert.compile.program.operations import LAYOUTS, added, astype, full, updated, view
from wengert.compile.program.passes.picks import along
from wengert.compile.program.passes.rewrite import is_elementwise
from wengert.compile.program.program import Program, Statement, Value, mapped

LARGE = 1 << 17
"""Multiplications of a product that is looked at."""
LOOKED = 1 << 18
"""Elements of an array up to which its zeros are written down."""
SAVES = 2
"""A product is taken in blocks if that takes so many times fewer multiplications."""
LANES = 8
"""So many columns of a block are multiplied at once."""
START = 1 << 13
"""Multiplications that take as long as it takes to begin a product."""
MOST = 32
"""Blocks of a product: each has machine code of its own."""
TURNS = 1 << 10
"""Columns that are unlike the one before, up to which blocks are looked for."""

Zeros = np.ndarray
"""Which elements of an array are zero."""


def blocks_of_products(program: Program) -> bool:
    """Take products in blocks where that is worth it; whether the program was changed, in place."""
    large = [s for s in program.statements if _is_large(s)]
    if not large:
        return False
    zeros = zeros_of(program, large[-1])
    cuts = {s: cut for s in large if (cut := _cut(s, zeros)) is not None}
    if cuts:
        old = program.statements
        program.statements = [
            new for s in old for new in (_in_blocks(program, s, cuts[s]) if s in cuts else [s])
        ]
    return bool(cuts)


def _is_large(s: Statement) -> bool:
    if s.function is not np.matmul or s.output.dtype.kind != "f":
        return False
    a, b = s.args
    same = a.dtype == b.dtype == s.output.dtype
    return same and len(s.output.shape) <= 3 and s.output.size * a.shape[-1] >= LARGE


# ---- which elements are zero ---------------------------------------------------------------------


def zeros_of(program: Program, last: Statement) -> dict[Value, Zeros]:
    """Of the values before a statement, those with elements that are zero if all is finite."""
    known = {v: array == 0 for v, array in program.constants.items() if array.size <= LOOKED}
    known = {v: zeros for v, zeros in known.items() if zeros.any()}
    for s in itertools.takewhile(lambda s: s is not last, program.statements):
        if len(s.outputs) != 1 or s.output.size > LOOKED:
            continue
        meaning = _meaning(s)
        if meaning and (s.function is full or any(v in known for v in s.inputs)):
            zeros = meaning(s, lambda x: _known(known, x))
            if zeros is not None and zeros.any():
                known[s.output] = np.broadcast_to(zeros, s.output.shape)
    return known


def _known(known: dict[Value, Zeros], x: Any) -> Zeros:
    if type(x) is not Value:
        return np.asarray(x) == 0
    return known[x] if x in known else np.broadcast_to(False, x.shape)


Of = Callable[[Any], Zeros]


def _meaning(s: Statement) -> Callable[[Statement, Of], Zeros | None] | None:
    return _elements if is_elementwise(s.function) else _MEANINGS.get(s.function)


def _elements(s: Statement, of: Of) -> Zeros | None:
    """f is zero where it is zero for whatever the operands that are not may be."""
    operands = s.args[:1] if s.function is astype else s.args
    kinds = tuple("b" if x is s.args[0] and s.function is np.where else _kind(x) for x in operands)
    zeros: Zeros | None = None
    for zero in _vanishes(s.function, kinds):
        here = functools.reduce(np.logical_and, [of(operands[k]) for k in zero])
        zeros = here if zeros is None else np.logical_or(zeros, here)
    return zeros


def _kind(x: Any) -> Any:
    return x.dtype.kind if type(x) is Value else x


@functools.lru_cache(1024)
def _vanishes(function: Any, kinds: tuple[Any, ...]) -> tuple[tuple[int, ...], ...]:
    """The sets of operands such that f is zero where these are, found by trying."""
    places = range(len(kinds))
    sets = (c for n in places for c in itertools.combinations(places, n + 1))
    least: list[tuple[int, ...]] = []
    for zero in sets:
        if not any(set(zero) >= set(other) for other in least) and _is_zero(function, kinds, zero):
            least.append(zero)
    return tuple(least)


def _is_zero(function: Any, kinds: tuple[Any, ...], zero: tuple[int, ...]) -> bool:
    rest = [float] if function is astype else []
    choices = [
        [0.0 if kind != "b" else False] if k in zero else TRIED.get(kind, [kind])
        for k, kind in enumerate(kinds)
    ]
    try:
        with np.errstate(all="ignore"):
            return all(function(*x, *rest) == 0 for x in itertools.product(*choices))
    except TypeError:  # a function of whole numbers, say
        return False


TRIED: dict[Any, list[Any]] = {
    "f": [-1.3, 0.7],
    "c": [0.7 - 1.3j],
    "i": [-3, 2],
    "u": [3, 2],
    "b": [False, True],
}


def _moved(s: Statement, of: Of) -> Zeros:
    """What only moves elements moves zeros."""
    return np.asarray(s.function(*mapped(s.args, of), **s.kwargs))


def _reduced(s: Statement, of: Of) -> Zeros:
    return np.all(of(s.args[0]), **s.kwargs)


def _product(s: Statement, of: Of) -> Zeros | None:
    a, b = s.args
    if s.output.size * a.shape[-1] > LOOKED * 64:
        return None
    terms = np.matmul(*((~of(x)).astype(np.float32) for x in (a, b)))
    return np.asarray(terms == 0)


def _full(s: Statement, of: Of) -> Zeros | None:
    return np.ones(s.output.shape, bool) if s.args[1] == 0 else None


def _written(s: Statement, of: Of) -> Zeros | None:
    x, index, value = s.args
    if any(type(e) not in (slice, int, type(None)) for e in index):
        return None
    zeros = of(x).copy()
    zeros[index] = of(value) if s.function is updated else zeros[index] & of(value)
    return zeros


_MEANINGS: dict[Any, Callable[[Statement, Of], Zeros | None]] = {
    **dict.fromkeys((*LAYOUTS, np.concatenate), _moved),
    **dict.fromkeys(REDUCED_BY, _reduced),
    **dict.fromkeys([updated, added], _written),
    np.matmul: _product,
    full: _full,
}


# ---- blocks --------------------------------------------------------------------------------------


class Block(NamedTuple):
    """Of so many columns of a matrix, the rows that are not all zero there."""

    columns: slice
    rows: slice

    def joined(self, other: Block) -> Block:
        parts = [block.rows for block in (self, other) if block.rows.stop]
        ends = ((r.start for r in parts), (r.stop for r in parts))
        rows = slice(min(ends[0], default=0), max(ends[1], default=0), 1)
        return Block(slice(self.columns.start, other.columns.stop, 1), rows)


@dataclass(frozen=True)
class Cut:
    """How a product may be taken: in blocks of its operand number 0 or 1.

    `zeros` has a column for each of the results that a block may be made of, rows or columns of a
    matrix, or whole matrices; and in it the elements that are multiplied and summed. `each` are
    the multiplications for one of these, `lanes` how many columns are multiplied at once.
    """

    operand: int
    zeros: Zeros
    each: int
    lanes: int

    @functools.cached_property
    def blocks(self) -> list[Block]:
        """All columns, joined with their neighbours where that costs less."""
        blocks: list[Block] = []
        for block in self._columns():
            both = blocks[-1].joined(block) if blocks else block
            if blocks and self.cost(both) <= self.cost(blocks[-1]) + self.cost(block):
                blocks[-1] = both
            else:
                blocks.append(block)
        while len(blocks) > MOST:
            pairs = itertools.zip_longest(blocks[::2], blocks[1::2])
            blocks = [a.joined(b) if b else a for a, b in pairs]
        return blocks

    def _columns(self) -> Iterator[Block]:
        """All columns, those side by side together whose rows begin and end alike."""
        kept = ~self.zeros
        first, last = kept.argmax(axis=0), len(kept) - kept[::-1].argmax(axis=0)
        last[~kept.any(axis=0)] = 0
        changes = np.flatnonzero((np.diff(first) != 0) | (np.diff(last) != 0)) + 1
        if len(changes) > TURNS:
            yield Block(slice(0, len(first), 1), slice(0, len(kept), 1))
            return
        for a, b in itertools.pairwise([0, *changes.tolist(), len(first)]):
            yield Block(slice(a, b, 1), slice(int(first[a]), int(last[a]), 1))

    def cost(self, block: Block) -> int:
        """In multiplications."""
        width, depth = (x.stop - x.start for x in block)
        return START + self.each * -(-width // self.lanes) * self.lanes * depth

    @property
    def kept(self) -> Zeros:
        """What need not be zero."""
        kept = np.zeros(self.zeros.shape, bool)
        for block in self.blocks:
            kept[block.rows, block.columns] = True
        return kept


def _cut(s: Statement, zeros: dict[Value, Zeros]) -> Cut | None:
    """How to take a product in blocks, if that is worth it."""
    cuts = [cut for k in (0, 1) if (cut := _cut_of(s, k, zeros.get(s.args[k]))) is not None]
    costs = [(sum(map(cut.cost, cut.blocks)), cut.operand, cut) for cut in cuts]
    cost, _, cut = min(costs, default=(math.inf, 0, None))
    return cut if cost * SAVES < s.output.size * s.args[0].shape[-1] else None


def _cut_of(s: Statement, operand: int, zeros: Zeros | None) -> Cut | None:
    """How to take a product in blocks of one of its operands, if that has zeros."""
    *lead, m, n = s.output.shape
    if zeros is None or list(zeros.shape[:-2]) != lead:
        return None
    if lead:
        return Cut(operand, np.all(zeros, axis=1 + operand).T, m * n, 1)
    return Cut(operand, zeros if operand else zeros.T, m if operand else n, LANES)


# ---- the program ---------------------------------------------------------------------------------


def _in_blocks(program: Program, s: Statement, cut: Cut) -> list[Statement]:
    """The statements in place of a product: the test, and a choice between two ways to take it."""
    statements: list[Statement] = []
    call = Calls(statements)
    thin, whole = s.args[cut.operand], s.args[1 - cut.operand]
    kept = cut.kept if cut.operand else cut.kept.T
    if len(s.output.shape) == 3:
        kept = np.expand_dims(cut.kept.T, 1 + cut.operand)
    zero = call.every(call(np.logical_or, call(np.equal, thin, 0), program.constant(kept)))
    finite = call.every(call(np.isfinite, whole))
    index = call(astype, call(np.logical_and, zero, finite), np.int64)
    choose = Choose([_body(s, None), _body(s, cut)], [[0, 1], [0, 1]], [[0], [0]])
    choose.likes = [*s.outputs]
    return [*statements, Statement(choose, (index, *s.args), {}, s.outputs, s.code, s.at)]


def _body(s: Statement, cut: Cut | None) -> Program:
    """A product as a program: in blocks, or whole."""
    body = Program()
    a, b = (body.input(x.shape, x.dtype, name) for x, name in zip(s.args, "ab", strict=True))
    call = Calls(body.statements)
    if cut is None:
        body.outputs = [call(np.matmul, a, b)]
        return body
    axis = cut.operand if len(s.output.shape) == 2 else 0
    parts = tuple(_part(s, cut.operand, block, axis, call, a, b) for block in cut.blocks)
    body.outputs = [call(np.concatenate, parts, axis=axis)]
    return body


def _part(
    s: Statement, operand: int, block: Block, axis: int, call: Calls, a: Value, b: Value
) -> Value:
    """The part of a product that a block makes, along an axis."""
    if not block.rows.stop:
        shape = list(s.output.shape)
        shape[axis] = block.columns.stop - block.columns.start
        return call(full, tuple(shape), 0.0, s.output.dtype)
    parts = []
    for k, x in enumerate((a, b)):
        index = [*along(x.shape, len(x.shape) - 1 - k, block.rows)]
        if k == operand or (len(x.shape) == 3 and x.shape[0] > 1):
            index[axis] = block.columns
        parts.append(call(view, x, tuple(index)))
    return call(np.matmul, *parts)
