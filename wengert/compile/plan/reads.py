"""What a statement of loops reads, and along which of them: the frame of each operand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from wengert.compile.plan.indices import of_operand
from wengert.compile.plan.loops import Axis, Frame, before, new_frame
from wengert.compile.plan.roles import SEARCHES, Roles, axes_of, operands
from wengert.compile.plan.strides import entries_of_view
from wengert.compile.program.infer import infer
from wengert.compile.program.operations import take
from wengert.compile.program.program import Shape, Statement, Value, values_in


def own_frames(s: Statement, roles: Roles) -> tuple[Frame, Frame]:
    """Loops for a statement by itself: those of its result, and those that it works along."""
    if roles.of[s] == "gathering":
        return (None,) * len(s.output.shape), new_frame(arriving(s))
    if roles.of[s] != "reduce":
        frame = new_frame(s.output.shape)
        return frame, frame
    x, axes = s.args[0], axes_of(s)
    work = new_frame(x.shape, whole=s.function in SEARCHES)
    if len(x.shape) == len(s.output.shape):
        return tuple(() if k in axes else a for k, a in enumerate(work)), work
    return tuple(a for k, a in enumerate(work) if k not in axes), work


def arriving(s: Statement) -> Shape:
    """The shape of what a statement writes at computed places."""
    return infer(take, s.args[:2])[0]  # type: ignore[index]


def trace(value: Value, frame: Frame, roles: Roles) -> tuple[Value, Frame] | None:
    """What a value is a view of, and the frame in which that is read."""
    for s in roles.layouts(value):
        frame = before(s, frame)
    source = roles.source(value)
    return None if source is None else (source, frame)


def operand_frames(s: Statement, work: Frame, roles: Roles) -> Iterator[tuple[Value, Frame]]:
    """The values that a statement reads, and the frame it reads each in."""
    role = roles.of[s]
    if role == "map":
        for x in operands(s):
            if type(x) is Value:
                yield x, of_operand(work, x.shape, ())
    elif role == "reduce":
        yield s.args[0], work
    elif role == "take":
        yield from _take_frames(s, work, roles)
    elif role == "gathering":
        for x in values_in(s.args[1:]):
            yield x, of_operand(work, x.shape, ())
    else:
        hit = roles.hits[s]
        common: list[Axis] = [()] * len(hit.shape)
        for d, k in enumerate(hit.rows):
            if k is not None:
                common[k] = work[d]
        yield hit.target, of_operand(tuple(common), hit.target.shape, ())
        x, index, value = s.args
        index = index if isinstance(index, tuple) else (index,)
        yield x, work
        if type(value) is Value:
            whole = [work[d] for d, e in enumerate(index) if type(e) is slice]
            yield value, of_operand((*common, *whole), value.shape, ())


def _take_frames(s: Statement, work: Frame, roles: Roles) -> Iterator[tuple[Value, Frame]]:
    x = s.args[0]
    rest, picked = take_axes(s, work)
    read: list[Axis] = [() if n == 1 else None for n in x.shape]
    for entry, k in entries_of_view(s):
        n = x.shape[k] if k < len(x.shape) else 0
        if type(entry) is slice and n != 1 and entry.indices(n) == (0, n, 1):
            read[k] = rest[k]
        elif type(entry) is Value:
            frame = of_operand(picked, entry.shape, ())
            ramp = roles.ramp(entry)
            if ramp is not None and entry.shape[ramp] == n and n != 1:
                read[k] = frame[ramp]
            yield entry, frame
    yield x, tuple(read)


def take_axes(s: Statement, axes: tuple[Any, ...]) -> tuple[dict[int, Any], tuple[Any, ...]]:
    """The axes of a gather's result: those of the sliced axes of the operand, by their number,
    and those of the index arrays' common shape.

    They stand where the arrays are, or first if something stands between these.
    """
    entries = list(entries_of_view(s))
    arrays = [e for e, _ in entries if type(e) is Value]
    rank = len(np.broadcast_shapes(*[e.shape for e in arrays]))
    picks = [i for i, (e, _) in enumerate(entries) if e is not None and type(e) is not slice]
    together = picks == list(range(picks[0], picks[-1] + 1))
    start = picks[0] if together else 0
    rest: dict[int, Any] = {}
    left = iter([*axes[:start], *axes[start + rank :]])
    for entry, k in entries:
        if entry is None:
            next(left)
        elif type(entry) is slice:
            rest[k] = next(left)
    return rest, tuple(axes[start : start + rank])
