"""Loops of groups of statements, before they are numbered: shared, split and identified.

A `Frame` says for each axis of a value which loops run along it, the last one fastest. A loop may
later turn out to be several (`parts`); `resolved` follows that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.compile.plan.indices import of_operand, transposed
from wengert.compile.plan.strides import blocks, entries_of_view
from wengert.compile.program.program import Shape, Statement, Value


class Loop:
    """A loop; `parts`, if not None, are the loops that it was replaced by."""

    __slots__ = ("extent", "parts", "whole")

    def __init__(self, extent: int, whole: bool = False) -> None:
        self.extent = extent
        self.parts: list[Loop] | None = None
        self.whole = whole  # must not be split: the position within it is asked for

    def __repr__(self) -> str:
        return f"Loop({self.extent}, {id(self) % 9973})"


Axis = tuple[Loop, ...] | None
"""The loops along an axis; None for an axis that is not walked in order from end to end."""

Frame = tuple[Axis, ...]


def new_frame(shape: Shape, whole: bool = False) -> Frame:
    return tuple((Loop(n, whole),) if n != 1 else () for n in shape)


def along(frame: Frame) -> tuple[Loop, ...]:
    """All loops of a frame, in order."""
    return tuple(loop for axis in frame for loop in axis or ())


def resolved(loops: Sequence[Loop], by: dict[Loop, list[Loop]] | None = None) -> tuple[Loop, ...]:
    """The loops that these are now, or would be after replacing some more."""
    for loop in loops:  # mostly, all are what they were
        if loop.parts is not None or (by and loop in by):
            break
    else:
        return loops if type(loops) is tuple else tuple(loops)
    result: list[Loop] = []
    for loop in loops:
        parts = loop.parts
        if parts is not None:
            if any(part.parts is not None for part in parts):
                parts = loop.parts = list(resolved(parts))
            result += resolved(parts, by) if by else parts
        elif by and loop in by:
            result += resolved(by[loop], by)
        else:
            result.append(loop)
    return tuple(result)


def current(frame: Frame, by: dict[Loop, list[Loop]] | None = None) -> Frame:
    return tuple(None if axis is None else resolved(axis, by) for axis in frame)


def split(loop: Loop, inner: int) -> None:
    loop.parts = [Loop(loop.extent // inner), Loop(inner)]


def before(s: Statement, frame: Frame) -> Frame:
    """The frame of a layout's operand, for that of its result; loops are split as needed."""
    x = s.args[0]
    if s.function is np.transpose:
        return transposed(s, frame)
    if s.function is np.broadcast_to:
        return of_operand(frame, x.shape, ())
    if s.function is np.reshape:
        return _unreshaped(x, s.output.shape, frame)
    result: list[Axis] = [() if n == 1 else None for n in x.shape]
    rest = iter(frame)
    for entry, k in entries_of_view(s):
        if entry is None:
            next(rest)
        elif isinstance(entry, slice):
            axis = next(rest)
            if entry.indices(x.shape[k]) == (0, x.shape[k], 1) and x.shape[k] != 1:
                result[k] = axis
    return tuple(result)


def _unreshaped(x: Value, shape: Shape, frame: Frame) -> Frame:
    result: list[Axis] = [()] * len(x.shape)
    for news, olds in blocks(shape, x.shape):
        axes: list[Any] = [frame[k] for k in news if shape[k] != 1]
        old = [k for k in olds if x.shape[k] != 1]
        if len(axes) == 1 == len(old):
            result[old[0]] = axes[0]
            continue
        shares = None
        if None not in axes:
            shares = deal([loop for axis in axes for loop in axis], [x.shape[k] for k in old])
        nothing: list[Axis] = [None] * len(old)
        for k, share in zip(old, shares or nothing, strict=True):
            result[k] = share
    return tuple(result)


def deal(loops: Sequence[Loop], sizes: list[int]) -> list[tuple[Loop, ...]] | None:
    """Share loops out to axes of these sizes, splitting some; None if they do not fit."""
    left = list(resolved(loops))
    shares: list[tuple[Loop, ...]] = []
    for size in reversed(sizes):
        share: list[Loop] = []
        while size > 1:
            if not left:
                return None
            loop = left.pop()
            if size % loop.extent == 0:
                share.append(loop)
                size //= loop.extent
            elif loop.extent % size == 0 and not loop.whole:
                split(loop, size)
                assert loop.parts is not None
                left.append(loop.parts[0])
                share.append(loop.parts[1])
                size = 1
            else:
                return None
        shares.append(tuple(reversed(share)))
    return list(reversed(shares)) if not left else None


class Match:
    """Which loops of two groups are the same: a replacement of loops by new, common ones."""

    def __init__(self) -> None:
        self.by: dict[Loop, list[Loop]] = {}
        self.common: set[Loop] = set()

    def same(self, a: Sequence[Loop], b: Sequence[Loop]) -> bool:
        """Identify the loops of one group with those of another; False if that cannot be."""
        left, right = list(resolved(a, self.by)), list(resolved(b, self.by))
        if left == right:
            return True
        while left and right:
            p, q = left.pop(), right.pop()
            if p is q:
                continue
            if (
                p in self.common
                or q in self.common
                or (p.extent != q.extent and (p.whole or q.whole))
            ):
                return False
            n = min(p.extent, q.extent)
            if p.extent % n or q.extent % n:
                return False
            loop = Loop(n, p.whole or q.whole)
            self.common.add(loop)
            for mine, rest in ((p, left), (q, right)):
                if mine.extent == n:
                    self.by[mine] = [loop]
                else:
                    more = Loop(mine.extent // n)
                    self.by[mine] = [more, loop]
                    rest.append(more)
        return not left and not right

    def commit(self) -> None:
        for loop, parts in self.by.items():
            loop.parts = parts
