"""Where an element comes from: index expressions, and what changes of layout do to them.

The element of a value that a kernel works on is given by one `Axis` per dimension: an affine
expression of the kernel's loops, or a computed number (a gather). Reading through a reshape takes
quotients and remainders; `Split` asks for loops that make them affine again, and `NeedsCopy` says
that none would.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.compile.plan.strides import blocks, entries_of_view, start_and_step
from wengert.compile.program.infer import axes_of
from wengert.compile.program.program import Shape, Statement, Value


class Affine(NamedTuple):
    """offset + sum of (loop index * step)."""

    offset: int
    terms: tuple[tuple[int, int], ...]


ZERO = Affine(0, ())
Axis = Any
"""An `Affine`, or the operation (`Term`) that computes the index."""


class Split(Exception):
    """The loop should be two, the inner one of `inner` steps; it stood in the way of `value`."""

    def __init__(self, loop: int, inner: int, value: Value) -> None:
        super().__init__()
        self.loop = loop
        self.inner = inner
        self.value = value


class NeedsCopy(Exception):
    """The elements of `value` have to lie in memory by themselves."""

    def __init__(self, value: Value) -> None:
        super().__init__()
        self.value = value


def affine(offset: int, terms: dict[int, int]) -> Affine:
    return Affine(offset, tuple(sorted((k, c) for k, c in terms.items() if c)))


def summed(parts: Sequence[tuple[int, Affine]], offset: int = 0) -> Affine:
    """offset + sum of (factor * expression)."""
    terms: dict[int, int] = {}
    for factor, (start, own) in parts:
        offset += factor * start
        for loop, step in own:
            terms[loop] = terms.get(loop, 0) + factor * step
    return affine(offset, terms)


def of_operand(axes: tuple[Axis, ...], shape: Shape, zero: Any = ZERO) -> tuple[Axis, ...]:
    """The axes of an operand of this shape that is broadcast to what `axes` are about."""
    lead = len(axes) - len(shape)
    if lead < 0:  # a Python number made of an array with one element
        return (zero,) * len(shape)
    return tuple(zero if n == 1 else a for n, a in zip(shape, axes[lead:], strict=True))


def transposed(s: Statement, axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
    result: list[Axis] = [None] * len(axes)
    for axis, k in zip(axes, axes_of(s), strict=True):
        result[k] = axis
    return tuple(result)


def before(s: Statement, axes: tuple[Axis, ...], extent: Callable[[int], int]) -> tuple[Axis, ...]:
    """The index into a layout's operand, for an index into its result."""
    x = s.args[0]
    if s.function is np.transpose:
        return transposed(s, axes)
    if s.function is np.broadcast_to:
        return of_operand(axes, x.shape)
    if s.function is np.reshape:
        return _unreshaped(x, s.output.shape, axes, extent)
    result: list[Axis] = [ZERO] * len(x.shape)
    rest = iter(axes)
    for entry, k in entries_of_view(s):
        if entry is None:
            next(rest)
        elif isinstance(entry, slice):
            start, step = start_and_step(entry, x.shape[k])
            axis = next(rest)
            if type(axis) is not Affine and (start, step) != (0, 1):
                raise NeedsCopy(s.output)  # a negative index would count from the wrong end
            result[k] = summed([(step, axis)], start) if type(axis) is Affine else axis
        else:
            result[k] = Affine(entry % x.shape[k], ())
    return tuple(result)


def _unreshaped(
    x: Value, shape: Shape, axes: tuple[Axis, ...], extent: Callable[[int], int]
) -> tuple[Axis, ...]:
    result: list[Axis] = [ZERO] * len(x.shape)
    for news, olds in blocks(shape, x.shape):
        new = [k for k in news if shape[k] != 1]
        old = [k for k in olds if x.shape[k] != 1]
        if len(new) == 1 == len(old):
            result[old[0]] = axes[new[0]]
            continue
        if any(type(axes[k]) is not Affine for k in new):
            raise NeedsCopy(x)
        parts, step = [], 1
        for k in reversed(new):
            parts.append((step, axes[k]))
            step *= shape[k]
        rest = summed(parts)
        for k in reversed(old[1:]):
            result[k], rest = _digit(rest, x.shape[k], extent, x)
        if old:
            result[old[0]] = rest
    return tuple(result)


def _digit(
    number: Affine, base: int, extent: Callable[[int], int], value: Value
) -> tuple[Affine, Affine]:
    """Remainder and quotient of an expression."""
    high, low = {}, {}
    quotient, remainder = divmod(number.offset, base)
    largest = remainder
    for loop, step in number.terms:
        if step % base == 0:
            high[loop] = step // base
            continue
        reach = step * (extent(loop) - 1)
        if step < 0 or largest + reach >= base:
            if step > 0 and base % step == 0 and extent(loop) % (base // step) == 0:
                raise Split(loop, base // step, value)
            raise NeedsCopy(value)
        largest += reach
        low[loop] = step
    return affine(remainder, low), affine(quotient, high)
