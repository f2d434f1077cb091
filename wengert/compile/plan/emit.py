"""From a group of statements to its kernel: each stored value is pulled, element by element.

`Emitter.pull` gives the term that computes the element of a value at some axes. What lies in memory
is loaded; what is a view is pulled at the operand's axes; what the group (or a cheap statement of
another) makes is computed. Nothing is emitted that no store needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from wengert.compile.plan.arrays import Arrays
from wengert.compile.plan.groups import summed as summed_loops
from wengert.compile.plan.indices import ZERO, Affine, NeedsCopy, Split, before, of_operand, summed
from wengert.compile.plan.loops import Frame, Loop, resolved, split
from wengert.compile.plan.reads import take_axes
from wengert.compile.plan.roles import (
    BOOL,
    INT,
    REDUCTIONS,
    SEARCHES,
    STARTS,
    axes_of,
    operand_dtypes,
    operands,
)
from wengert.compile.plan.strides import Strided, entries_of_view, start_and_step
from wengert.compile.plan.terms import Built, Draft, Term
from wengert.compile.program.again import map_name
from wengert.compile.program.operations import added, full
from wengert.compile.program.program import Statement, Value


@dataclass(slots=True, eq=False)
class Target:
    """A value to store, the frame to compute it in, and where to; it may be broadcast there."""

    value: Value
    frame: Frame
    arrays: list[Strided]
    scatter: Statement | None = None  # whose index says where in the array the elements go
    adds: bool = False  # to what is there


class Job(NamedTuple):
    """What a kernel is to compute: the targets, along these loops.

    `inner` are those within a row, None if nothing says; `work` tells along which the reductions
    work, `onto` whose results others combine with what is there (`Groups.onto`).
    """

    targets: list[Target]
    loops: tuple[Loop, ...]
    inner: tuple[Loop, ...] | None = None
    work: Mapping[Statement, Frame] = MappingProxyType({})
    onto: Mapping[Statement, tuple[Statement, Value]] = MappingProxyType({})


def build(job: Job, arrays: Arrays) -> Built:
    """The kernel that computes and stores values; loops are split until that can be said."""
    while True:
        emitter = Emitter(job, arrays)
        try:
            for target in job.targets:
                emitter.store(target)
        except Split as wish:
            loop = emitter.loops[wish.loop]
            if loop.whole:
                raise NeedsCopy(wish.value) from None
            split(loop, wish.inner)
            continue
        return emitter.draft.kernel(arrays.kernels)


class Emitter:
    """The terms of one kernel."""

    def __init__(self, job: Job, arrays: Arrays) -> None:
        self.work, self.onto = job.work, job.onto
        self.arrays = arrays
        self.roles = arrays.roles
        self.loops = resolved(job.loops)
        self.number = {loop: k for k, loop in enumerate(self.loops)}
        self.inner: frozenset[int] | None = None
        if job.inner is not None:
            self.inner = frozenset(self.number[k] for k in resolved(job.inner))
        self.draft = Draft([k.extent for k in self.loops], self.inner)
        self.pulled: dict[tuple[Value, tuple[Any, ...]], Term] = {}

    # ---- stores -----------------------------------------------------------------------------

    def axis(self, loops: tuple[Loop, ...]) -> Affine:
        parts, step = [], 1
        for loop in reversed(resolved(loops)):
            parts.append((step, Affine(0, ((self.number[loop], 1),))))
            step *= loop.extent
        return summed(parts)

    def axes(self, frame: Frame) -> tuple[Affine, ...]:
        return tuple(self.axis(axis or ()) for axis in frame)

    def store(self, target: Target) -> None:
        axes = self.axes(target.frame)
        s = self.roles.made.get(target.value)
        if s is not None and self.arrays.located(target.value) is not None:
            s = None
        onto = s in self.onto
        if s is not None and onto:
            s = self.onto[s][0]
        combine, over = "", frozenset[int]()
        if s is not None and self.roles.of[s] == "reduce" and not self._is_row(s):
            combine, over = REDUCTIONS[s.function], self._over(s)
            term = self._reduced(s, axes)
        else:
            term = self.pull(target.value, of_operand(axes, target.value.shape))
        places: tuple[Any, ...] = axes
        if target.scatter is not None:
            combine = "add" if target.scatter.function is added else ""
            places = self._inside(target.scatter, axes, simply=False)
        elif target.adds:
            old = self.draft.load(target.arrays[0], axes, term.dtype)
            term = self.draft.apply("add", (old, term), term.dtype)
        for array in target.arrays:
            self.draft.store(term, array, places, combine, over, onto)

    def _over(self, s: Statement) -> frozenset[int]:
        return frozenset(self.number[k] for k in summed_loops(s, self.work[s]))

    def _is_row(self, s: Statement) -> bool:
        """Whether a reduction is made within a row (or of single elements: then it is none)."""
        over = self._over(s)
        return not over or over == self.inner

    # ---- pulling ----------------------------------------------------------------------------

    def pull(self, value: Value, axes: tuple[Any, ...]) -> Term:
        key = value, axes
        term = self.pulled.get(key)
        if term is None:
            term = self.pulled[key] = self._pull(value, axes)
        return term

    def _pull(self, value: Value, axes: tuple[Any, ...]) -> Term:
        number = self.arrays.scalar(value)
        if number is not None:
            return self.draft.const(number, value.dtype)
        s = self.roles.made.get(value)
        if s is not None and self.roles.of[s] == "layout" and self._is_number(s.args[0]):
            return self.pull(s.args[0], ())
        array = self.arrays.located(value)
        if array is not None:
            return self.draft.load(array, axes, value.dtype)
        assert s is not None, f"{value} is nowhere"
        return PULLS[self.roles.of[s]](self, s, axes)

    def _is_number(self, value: Value) -> bool:
        return value.shape == () and self.arrays.scalar(value) is not None

    def extent(self, loop: int) -> int:
        return self.loops[loop].extent

    def _layout(self, s: Statement, axes: tuple[Any, ...]) -> Term:
        return self.pull(s.args[0], before(s, axes, self.extent))

    def _source(self, s: Statement, axes: tuple[Any, ...]) -> Term:
        out = s.output.dtype
        if s.function is full:
            return self.draft.const(s.args[1], out)
        if s.function in REDUCTIONS:
            return self.draft.const(STARTS[REDUCTIONS[s.function]], out)
        return self._cast(self._position(axes[0], s.output.shape[0]), out)

    def _position(self, axis: Any, size: int) -> Term:
        """An index as a number; a computed one may count from the end."""
        if type(axis) is Affine:
            return self.draft.index(axis)
        draft = self.draft
        negative = draft.apply("less", (axis, draft.const(0, INT)), BOOL)
        wrapped = draft.apply("add", (axis, draft.const(size, INT)), INT)
        return draft.apply("where", (negative, wrapped, axis), INT)

    def _cast(self, term: Term, dtype: np.dtype) -> Term:
        return self.draft.apply("astype", (term,), dtype)

    def _operand(self, x: Any, dtype: np.dtype, axes: tuple[Any, ...]) -> Term:
        if type(x) is Value:
            return self.pull(x, of_operand(axes, x.shape))
        return self.draft.const(x, dtype)

    def _map(self, s: Statement, axes: tuple[Any, ...]) -> Term:
        name, out = map_name(s.function), s.output.dtype
        assert name is not None
        dtypes = operand_dtypes(s)
        args = [self._operand(x, dtype, axes) for x, dtype in zip(operands(s), dtypes, strict=True)]
        if name == "where":
            args[0] = self._truth(args[0])
        return self.draft.apply(name, tuple(args), out)

    def _truth(self, term: Term) -> Term:
        return self._cast(term, BOOL)

    def _reduce(self, s: Statement, axes: tuple[Any, ...]) -> Term:
        name = REDUCTIONS.get(s.function) or SEARCHES[s.function]
        term = self._reduced(s, axes)
        over = self._over(s)
        if not over:
            return term if s.function in REDUCTIONS else self.draft.const(0, s.output.dtype)
        bound = {k for a in axes if type(a) is Affine for k, _ in a.terms}
        computed = {k for a in axes if type(a) is Term for k in a.loops}
        if over != self.inner or (bound | computed) & over:
            raise NeedsCopy(s.output)
        return self.draft.reduce(name, term, s.output.dtype)

    def _reduced(self, s: Statement, axes: tuple[Any, ...]) -> Term:
        """The element of a reduction's operand, for the element of its result."""
        x, work, gone = s.args[0], self.work[s], axes_of(s)
        kept = iter(axes)
        keeps = len(axes) == len(x.shape)
        inside: list[Any] = []
        for k, axis in enumerate(work):
            if k in gone:
                inside.append(self.axis(axis or ()))
                if keeps:
                    next(kept)
            else:
                inside.append(next(kept) if x.shape[k] != 1 else ZERO)
                if x.shape[k] == 1:
                    next(kept)
        term = self.pull(x, tuple(inside))
        return self._truth(term) if s.function in (np.any, np.all) else term

    # ---- gathers and scatters ---------------------------------------------------------------

    def _take(self, s: Statement, axes: tuple[Any, ...]) -> Term:
        return self.pull(s.args[0], self._inside(s, axes))

    def _inside(self, s: Statement, axes: tuple[Any, ...], simply: bool = True) -> tuple[Any, ...]:
        """The index into what a statement indexes, for an index into `x[index]`.

        `simply` lets index arrays that count up, or hold one number, be seen as such. A store that
        adds at computed places must keep them: one without them begins by writing zeros.
        """
        x = s.args[0]
        rest, picked = take_axes(s, axes)
        inside: list[Any] = [ZERO] * len(x.shape)
        for entry, k in entries_of_view(s):
            if entry is None:
                continue
            n = x.shape[k]
            if type(entry) is slice:
                start, step = start_and_step(entry, n)
                axis = rest[k]
                if type(axis) is not Affine and (start, step) != (0, 1):
                    raise NeedsCopy(s.output)
                inside[k] = summed([(step, axis)], start) if type(axis) is Affine else axis
            elif type(entry) is Value:
                inside[k] = self._index(entry, of_operand(picked, entry.shape), n, simply)
            else:
                inside[k] = Affine(entry % n, ())
        return tuple(inside)

    def _index(self, value: Value, axes: tuple[Any, ...], size: int, simply: bool) -> Any:
        ramp = self.roles.ramp(value) if simply else None
        if ramp is not None and value.shape[ramp] <= size and type(axes[ramp]) is Affine:
            return axes[ramp]
        term = self._cast(self.pull(value, axes), INT)
        if not simply and not {k for axis in axes for k, _ in axis.terms} <= term.loops:
            raise NeedsCopy(value)  # a kernel does once what is the same for a whole row
        if simply and term.kind == "const" and 0 <= term.data < size:
            return Affine(term.data, ())
        return term

    def _hit(self, s: Statement, axes: tuple[Any, ...]) -> Term:
        hit, draft = self.roles.hits[s], self.draft
        x, index, value = s.args
        common: list[Any] = [ZERO] * len(hit.shape)
        for d, k in enumerate(hit.rows):
            if k is not None and hit.shape[k] != 1:
                common[k] = axes[d]
        target = self._cast(self.pull(hit.target, of_operand(tuple(common), hit.target.shape)), INT)
        size = s.output.shape[hit.axis]
        column = self._position(axes[hit.axis], size)
        here = draft.apply("equal", (self._position(target, size), column), BOOL)
        index = index if isinstance(index, tuple) else (index,)
        whole = [axes[d] for d, e in enumerate(index) if type(e) is slice]
        new = self._operand(value, s.output.dtype, (*common, *whole))
        old = self.pull(x, axes)
        if s.function is added and not self.roles.is_full_of(x, 0):
            new = draft.apply("add", (old, new), s.output.dtype)
        return draft.apply("where", (here, new, old), s.output.dtype)


PULLS: dict[str, Callable[[Emitter, Statement, tuple[Any, ...]], Term]] = {
    "layout": Emitter._layout,
    "source": Emitter._source,
    "map": Emitter._map,
    "reduce": Emitter._reduce,
    "take": Emitter._take,
    "hit": Emitter._hit,
}
