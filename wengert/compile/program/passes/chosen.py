"""Chosen rows: products with a matrix that is one where an index is a column's number, else zero.

`one_hot(i, n) @ table` multiplies all of a table by zeros for the sake of one row of it each, and
`one_hot(i, n).T @ x` adds up those rows of x whose index is the same. 0 * x is 0 unless x is inf or
NaN: if the other matrix is finite, which is looked at when it runs, its rows are taken, or added
where they belong; if not, the whole product is taken.

Sums leave out zeros, and are taken in another order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from wengert.compile.program.bodies import Choose
from wengert.compile.program.infer import Calls, axes_of
from wengert.compile.program.operations import added, astype, full, take
from wengert.compile.program.passes.dead import dead
from wengert.compile.program.passes.zeros import LARGE
from wengert.compile.program.program import Program, Statement, Value

TAKEN, ADDED, TURNED = 8, 16, 32
"""Rows that are worth choosing from, as a product with fewer is as quick: where they are taken, are
added up, or make a result that has to be turned about."""


class Chosen(NamedTuple):
    """A matrix of ones where what is `given` is `numbers`, which count along an axis, and of zeros.

    It is `turned` if it is the transpose of what they make.
    """

    given: Value
    numbers: Value
    axis: int
    turned: bool = False


def rows_chosen(program: Program) -> bool:
    """Take such products by the index; whether the program was changed, in place."""
    makers = program.makers()
    new: list[Statement] = []
    for s in program.statements:
        new += _by_index(s, makers, program) or [s]
    changed = len(new) > len(program.statements)
    program.statements = new
    if changed:
        dead(program)
    return changed


def _by_index(
    s: Statement, makers: dict[Value, Statement], program: Program
) -> list[Statement] | None:
    """The statements in place of a product: the test, and a choice between two ways to take it."""
    if s.function is not np.matmul or s.output.dtype.kind != "f":
        return None
    if len(s.output.shape) != 2 or s.output.size * s.args[0].shape[-1] < LARGE:
        return None
    for side, x in enumerate(s.args):
        chosen = _chosen(x, makers, program)
        other = s.args[1 - side]
        if chosen and _pays(chosen, side) and other.dtype == s.output.dtype:
            statements: list[Statement] = []
            call = Calls(statements)
            rows = _turned(other, makers, call) if side else other  # x m = (m' x')'
            finite = call(astype, call.every(call(np.isfinite, rows)), np.int64)
            bodies = [_whole(s, chosen, side, rows), _picked(chosen, side, rows)]
            choose = Choose(bodies, [[0, 1, 2], [0, 2]], [[0], [0]])
            choose.likes = [*s.outputs]
            args = (finite, chosen.given, chosen.numbers, rows)
            return [*statements, Statement(choose, args, {}, s.outputs, s.code, s.at)]
    return None


def _pays(chosen: Chosen, side: int) -> bool:
    fewest = TURNED if side else ADDED if chosen.axis == side else TAKEN
    return chosen.numbers.size >= fewest


def _turned(x: Value, makers: dict[Value, Statement], call: Calls) -> Value:
    """The transpose."""
    s = makers.get(x)
    if s is not None and s.function is np.transpose and axes_of(s) == (1, 0):
        source: Value = s.args[0]
        return source
    return call(np.transpose, x, (1, 0))


def _chosen(x: Any, makers: dict[Value, Statement], program: Program) -> Chosen | None:
    """What a matrix is made of, if it is such a one."""
    s = makers.get(_plain(x, makers))
    if s is None:
        return None
    if s.function is np.transpose and axes_of(s) == (1, 0):
        turned = _chosen(s.args[0], makers, program)
        return turned and turned._replace(axis=1 - turned.axis, turned=not turned.turned)
    equal = makers.get(_plain(s.args[0], makers)) if s.function is astype else None
    if equal is None or equal.function is not np.equal or len(equal.output.shape) != 2:
        return None
    if not all(map(_is_integer, equal.args)):
        return None
    for index, numbers in (equal.args, equal.args[::-1]):
        for axis in (0, 1):
            if _counts(program.constants.get(numbers), axis) and _is_one(index, axis):
                return Chosen(index, numbers, axis)
    return None


def _plain(x: Value, makers: dict[Value, Statement]) -> Value:
    """An array before axes of size 1 were put between its own, or taken out."""
    while (s := makers.get(x)) and s.function is np.reshape:
        source: Value = s.args[0]
        if [n for n in source.shape if n != 1] != [n for n in x.shape if n != 1]:
            break
        x = source
    return x


def _is_integer(x: Any) -> bool:
    return type(x) is Value and x.dtype.kind in "iu"


def _counts(array: np.ndarray | None, axis: int) -> bool:
    """Whether constants beside a matrix count 0, 1, 2, ... along an axis of it."""
    if array is None or array.ndim > 2 or array.size != (1, 1, *array.shape)[axis - 2]:
        return False
    return np.array_equal(array.reshape(-1), np.arange(array.size))


def _is_one(index: Value, axis: int) -> bool:
    """Whether there is one index for all elements along an axis, and each has its own otherwise."""
    shape = (1, 1, *index.shape)[-2:]
    return shape[axis] == 1 and len(index.shape) <= 2


def _whole(s: Statement, chosen: Chosen, side: int, rows: Value) -> Program:
    """The product, as it is."""
    body = Program()
    index, numbers, other = (
        body.input(v.shape, v.dtype, name)
        for v, name in zip((*chosen[:2], rows), "ikx", strict=True)
    )
    call = Calls(body.statements)
    matrix = call(astype, call(np.equal, index, numbers), s.args[side].dtype)
    if chosen.turned:
        matrix = call(np.transpose, matrix, (1, 0))
    factors = (call(np.transpose, other, (1, 0)), matrix) if side else (matrix, other)
    body.outputs = [call(np.matmul, *factors)]
    return body


def _picked(chosen: Chosen, side: int, rows: Value) -> Program:
    """The rows that the index says, or the sums of those that it says the same of. What it says
    may be no number of a row."""
    body = Program()
    given, x = (
        body.input(v.shape, v.dtype, name)
        for v, name in zip((chosen.given, rows), "ix", strict=True)
    )
    call = Calls(body.statements)
    index = call(astype, call(np.reshape, given, (given.size,)), np.int64)
    size, width = chosen.numbers.size, x.shape[1]
    inside = call(np.logical_and, call(np.greater_equal, index, 0), call(np.less, index, size))
    place = call(np.where, inside, index, 0), slice(0, width, 1)
    beside = call(np.reshape, inside, (given.size, 1))
    if chosen.axis != side:
        result = call(np.where, beside, call(take, x, place), 0.0)
    else:
        zeros = call(full, (size, width), 0.0, x.dtype)
        result = call(added, zeros, place, call(np.where, beside, x, 0.0))
    body.outputs = [call(np.transpose, result, (1, 0)) if side else result]
    return body
