"""Building a kernel: a graph of terms, cut into stages, with the loops in the order of memory.

A `Term` is an operation on the element at hand; equal ones are one. Terms are made first, for any
loops; `Draft.kernel` then orders and merges the loops, decides in which stage each term is
computed, and repeats in later stages what is cheaper to compute again than to keep. Drafts that
differ in their buffers alone, as those of layers do, have one kernel, which is made once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wengert.compile.plan.indices import Affine, summed
from wengert.compile.plan.kernel import (
    Access,
    Apply,
    Const,
    Index,
    Kernel,
    Load,
    Operation,
    Reduce,
    Store,
)
from wengert.compile.plan.roles import INT
from wengert.compile.plan.strides import Buffer, Strided
from wengert.compile.program.again import CHEAP


@dataclass(slots=True, eq=False)
class Term:
    """An operation of the kernel to be: a load, a const, an index, a function, a reduction."""

    kind: str
    data: Any
    args: tuple[Term, ...]
    dtype: np.dtype
    loops: frozenset[int]
    stage: int  # the first that it can be computed in: what needs a reduction comes after it
    number: int  # in its draft


@dataclass(slots=True)
class Address:
    """Offset + steps along loops + computed indices (their terms are among the load's args)."""

    buffer: Buffer
    offset: int
    steps: dict[int, int]
    sizes: tuple[tuple[int, int], ...] = ()


@dataclass(slots=True)
class Writing:
    """A store: of a term, at an address; `summed` are the loops that it combines over.

    `args` compute the address, of a scatter.
    """

    term: Term
    address: Address
    combine: str = ""
    summed: frozenset[int] = frozenset()
    args: tuple[Term, ...] = ()
    onto: bool = False

    @property
    def stage(self) -> int:
        return max([self.term.stage, *(a.stage + (a.kind == "reduce") for a in self.args)])


@dataclass(slots=True)
class Touch:
    """How a kernel accesses one of its buffers: what aliasing depends on."""

    loads: list[tuple[int, Access]] = field(default_factory=list)
    stores: list[tuple[int, Access, str]] = field(default_factory=list)


@dataclass(slots=True)
class Built:
    """A kernel, and the buffers to call it with."""

    kernel: Kernel
    buffers: list[Buffer]
    touches: list[Touch]


Pattern = tuple[Kernel, list[int], list[Touch]]
"""A kernel, the numbers of its buffers in a draft, and how it accesses them."""


class Draft:
    """The terms of one kernel. `inner` are the loops within a row, None where nothing says.

    Terms are found by what they are, in which buffers and other terms are numbers.
    """

    def __init__(self, extents: list[int], inner: frozenset[int] | None) -> None:
        self.extents = extents
        self.inner = inner
        self.ordered = False
        self.terms: dict[Any, Term] = {}
        self.buffers: dict[Buffer, int] = {}
        self.writings: list[Writing] = []

    # ---- terms ------------------------------------------------------------------------------

    def const(self, value: Any, dtype: np.dtype) -> Term:
        value = dtype.type(value).item()
        if isinstance(value, float) and value == 0 and math.copysign(1, value) < 0:
            # Kernels are compared, and 0.0 == -0.0.
            return self.apply("negative", (self.const(0.0, dtype),), dtype)
        return self._term("const", value, (), dtype, frozenset(), repr(value))

    def index(self, axis: Affine) -> Term:
        """An affine expression of the loop indices, as an int64."""
        total: Term | None = None
        for loop, step in axis.terms:
            term = self._term("index", loop, (), INT, frozenset([loop]))
            if step != 1:
                term = self.apply("multiply", (term, self.const(step, INT)), INT)
            total = term if total is None else self.apply("add", (total, term), INT)
        if total is None:
            return self.const(axis.offset, INT)
        if axis.offset:
            total = self.apply("add", (total, self.const(axis.offset, INT)), INT)
        return total

    def apply(self, name: str, args: tuple[Term, ...], dtype: np.dtype) -> Term:
        if name == "astype" and args[0].dtype == dtype:
            return args[0]
        if name == "astype" and args[0].kind == "const" and dtype.kind in "fiu":
            value = args[0].data
            if not isinstance(value, complex) and (dtype.kind == "f" or value == int(value) >= 0):
                return self.const(value, dtype)
        loops = frozenset().union(*[a.loops for a in args])
        return self._term("apply", name, args, dtype, loops)

    def reduce(self, name: str, arg: Term, dtype: np.dtype) -> Term:
        assert self.inner is not None, "a reduction in a kernel without rows"
        return self._term("reduce", name, (arg,), dtype, arg.loops - self.inner)

    def load(self, array: Strided, axes: tuple[Any, ...], dtype: np.dtype) -> Term:
        address, args = _address(array, axes)
        loops = frozenset(address.steps).union(*[a.loops for a in args])
        return self._term("load", address, args, dtype, loops, self._told(address))

    def store(
        self,
        term: Term,
        array: Strided,
        axes: tuple[Any, ...],
        combine: str = "",
        over: frozenset[int] = frozenset(),
        onto: bool = False,
    ) -> None:
        address, args = _address(array, axes)
        # What is written last at an element must stay, so the loops stay as they are.
        self.ordered |= bool(args)
        self.writings.append(Writing(term, address, combine, over, args, onto))

    def _term(
        self,
        kind: str,
        data: Any,
        args: tuple[Term, ...],
        dtype: np.dtype,
        loops: frozenset[int],
        key: Any = None,
    ) -> Term:
        full_key = kind, data if key is None else key, _numbers(args), dtype
        term = self.terms.get(full_key)
        if term is None:
            stage = max([a.stage + (a.kind == "reduce") for a in args], default=0)
            number = len(self.terms)
            term = self.terms[full_key] = Term(kind, data, args, dtype, loops, stage, number)
        return term

    def _told(self, address: Address) -> tuple[Any, ...]:
        number = self.buffers.setdefault(address.buffer, len(self.buffers))
        return number, address.offset, tuple(address.steps.items()), address.sizes

    # ---- the kernel -------------------------------------------------------------------------

    def kernel(self, known: dict[Any, Pattern]) -> Built:
        """The kernel; `known` has those of other drafts, by all that they depend on."""
        stores = [
            (w.term.number, *self._told(w.address), w.combine, w.summed, w.onto, _numbers(w.args))
            for w in self.writings
        ]
        dtypes = tuple([b.dtype for b in self.buffers])
        extents = tuple(self.extents)
        key = extents, self.inner, self.ordered, tuple(self.terms), tuple(stores), dtypes
        pattern = known.get(key)
        if pattern is None:
            outer, row = self._nest()
            pattern = known[key] = _Cut(self, outer, row).pattern()
        kernel, numbers, touches = pattern
        buffers = list(self.buffers)
        return Built(kernel, [buffers[k] for k in numbers], touches)

    def _used(self) -> list[Term]:
        """All terms that stores depend on."""
        return _below(*[t for w in self.writings for t in (w.term, *w.args)])

    def _nest(self) -> tuple[list[int], list[int]]:
        """The loops over rows and those within a row, in the order of memory, merged."""
        used = self._used()
        walks = [t.data.steps for t in used if t.kind == "load"]
        walks += [w.address.steps for w in self.writings]
        fixed = {t.data for t in used if t.kind == "index"}
        sizes = {w.address.buffer: 1 for w in self.writings}
        leader = self._leader(walks, len(sizes))
        loops = list(range(len(self.extents)))
        if not self.ordered:
            loops.sort(key=lambda k: -abs(leader.get(k, 0)))
        inner = self.inner
        if inner is not None:
            outer = self._merged([k for k in loops if k not in inner], walks, fixed)
            return outer, self._merged([k for k in loops if k in inner], walks, fixed)
        loops = self._merged(loops, walks, fixed)
        return loops[:-1], loops[-1:]

    def _leader(self, walks: list[dict[int, int]], stores: int) -> dict[int, int]:
        """The way of walking memory that most accesses agree on, among those along most loops."""
        most = max(map(len, walks), default=0)
        votes: dict[Any, int] = {}
        for k, walk in enumerate(walks):
            if len(walk) == most:
                key = tuple(sorted(walk.items()))
                votes[key] = votes.get(key, 0) + (3 if k >= len(walks) - stores else 2)
        return dict(max(votes, key=votes.__getitem__)) if votes else {}

    def _merged(self, loops: list[int], walks: list[dict[int, int]], fixed: set[int]) -> list[int]:
        """Merge neighbours that every access walks as one; the later one stands for both."""
        done: list[int] = []
        for loop in loops:
            last = done[-1] if done else -1
            n = self.extents[loop]
            if (
                done
                and last not in fixed
                and loop not in fixed
                and all(w.get(last, 0) == w.get(loop, 0) * n for w in walks)
            ):
                self.extents[loop] = n * self.extents[last]
                done[-1] = loop
            else:
                done.append(loop)
        return done


def _numbers(terms: tuple[Term, ...]) -> tuple[int, ...]:
    return tuple([term.number for term in terms])


def _address(array: Strided, axes: tuple[Any, ...]) -> tuple[Address, tuple[Term, ...]]:
    """Where an element of an array lies, and the terms that compute it, of a gather."""
    places = list(zip(axes, array.strides, array.shape, strict=True))
    parts = [(s, a) for a, s, _ in places if type(a) is Affine]
    computed = [(a, s, n) for a, s, n in places if type(a) is Term and s]
    offset, steps = summed(parts, array.offset)
    sizes = tuple((s, n) for _, s, n in computed)
    return Address(array.buffer, offset, dict(steps), sizes), tuple(a for a, _, _ in computed)


class _Cut:
    """Terms into numbered operations, stage by stage."""

    def __init__(self, draft: Draft, outer: list[int], row: list[int]) -> None:
        self.draft = draft
        self.loops = [*outer, *row]
        self.outer = len(outer)
        self.row = frozenset(row)
        self.position = {loop: k for k, loop in enumerate(self.loops)}
        self.buffers: dict[Buffer, int] = {}
        self.touches: list[Touch] = []
        self.written: dict[int, None] = {}
        self.count = 0
        self.stage = 0
        self.operations: list[Operation] = []
        self.placed: dict[Any, int] = {}
        self.lightness: dict[Term, tuple[int, int]] = {}

    def pattern(self) -> Pattern:
        stores = [self._lowered(w) for w in self.draft.writings]
        used = {t: None for w in stores for root in (w.term, *w.args) for t in _below(root)}
        reductions = [t for t in used if t.kind == "reduce"]
        stages = []
        for stage in range(max([w.stage for w in stores], default=0) + 1):
            self.stage, self.operations = stage, []
            for term in reductions:
                if term.stage == stage:
                    self._place(term)
            mine = [w for w in stores if w.stage == stage]
            numbers = [(self._place(w.term), [self._place(a) for a in w.args]) for w in mine]
            for writing, (number, args) in zip(mine, numbers, strict=True):
                self._store(writing, number, tuple(args))
            stages.append(tuple(self.operations))
        kernel = Kernel(
            tuple(self.draft.extents[k] for k in self.loops),
            self.outer,
            tuple(stages),
            tuple(b.dtype for b in self.buffers),
            tuple(self.written),
        )
        return kernel, [self.draft.buffers[b] for b in self.buffers], self.touches

    def _lowered(self, w: Writing) -> Writing:
        """A store that combines over the loops of a row reduces the row first."""
        if not w.summed:
            return w
        if not self.row or not self.row <= w.summed:
            assert not self.row & w.summed, "a sum over a part of a row"
            return w
        loops = w.term.loops - self.row
        term = self.draft._term("reduce", w.combine, (w.term,), w.term.dtype, loops)
        left = w.summed - self.row
        left = left.intersection(self.loops)
        combine = w.combine if left or w.onto else ""
        return Writing(term, w.address, combine, left, onto=w.onto)

    # ---- placing ----------------------------------------------------------------------------

    def _place(self, term: Term) -> int:
        """The number of the operation that computes a term, in this stage or before."""
        key: Any = term
        per_row = not term.loops & self.row
        if term.kind in ("const", "index") or (term.kind == "load" and not per_row):
            key = term, self.stage
        known = self.placed.get(key)
        if known is not None and (per_row or not self._again(term)):
            return known
        if known is not None:
            key = term, self.stage
            if key in self.placed:
                return self.placed[key]
        args = tuple(self._place(a) for a in term.args)
        self.placed[key] = number = self._emit(self._operation(term, args))
        return number

    def _again(self, term: Term) -> bool:
        """Whether a term of an earlier stage is better computed again than kept for a row."""
        if term.kind != "apply" or not self._earlier(term):
            return False
        ops, loads = self._light(term)
        return ops <= 2 and loads <= 1

    def _earlier(self, term: Term) -> bool:
        return self.placed[term] < self.count - len(self.operations)

    def _light(self, term: Term) -> tuple[int, int]:
        """How many functions and loads per element it takes to compute a term again."""
        if not term.loops & self.row or term.kind in ("const", "index", "reduce"):
            return 0, 0
        if term not in self.lightness:
            parts = [self._light(a) for a in term.args]
            ops, loads = sum(p[0] for p in parts), sum(p[1] for p in parts)
            if term.kind == "load":
                loads += 1 if not term.args else 9
            else:
                ops += 1 if term.data in CHEAP else 9
            self.lightness[term] = ops, loads
        return self.lightness[term]

    def _emit(self, operation: Operation) -> int:
        self.operations.append(operation)
        self.count += 1
        return self.count - 1

    def _operation(self, term: Term, args: tuple[int, ...]) -> Operation:
        if term.kind == "load":
            access = self._access(term.data, args)
            self.touches[access.buffer].loads.append((self.stage, access))
            return Load(access, term.dtype)
        if term.kind == "const":
            return Const(term.data, term.dtype)
        if term.kind == "index":
            return Index(self.position[term.data], term.dtype)
        if term.kind == "reduce":
            return Reduce(term.data, args[0], term.dtype)
        return Apply(term.data, args, term.dtype)

    def _store(self, w: Writing, number: int, args: tuple[int, ...]) -> None:
        access = self._access(w.address, args)
        self.touches[access.buffer].stores.append((self.stage, access, w.combine))
        self.written[access.buffer] = None
        # A scatter adds onto what is there; a sum over loops begins anew, if it is not told.
        onto = w.onto or (bool(w.combine) and not w.summed)
        self._emit(Store(access, number, w.combine, onto))

    def _access(self, address: Address, args: tuple[int, ...]) -> Access:
        number = self.buffers.setdefault(address.buffer, len(self.buffers))
        if number == len(self.touches):
            self.touches.append(Touch())
        strides = tuple(address.steps.get(k, 0) for k in self.loops)
        indices = tuple((a, *size) for a, size in zip(args, address.sizes, strict=True))
        return Access(number, strides, address.offset, indices)


def _below(*terms: Term) -> list[Term]:
    """Terms and all that they depend on."""
    seen: dict[Term, None] = {}
    todo = [*terms]
    while todo:
        term = todo.pop()
        if term not in seen:
            seen[term] = None
            todo.extend(term.args)
    return list(seen)
