"""Machine code for eager mode: functions of numbers, or of rows, entered without Python.

`by_blocks.py` makes the code of a block. Here a builtin function looks at the arguments itself,
makes room for the result and goes through the blocks: on ten thousand numbers, that takes less time
than the numbers do, and Python's way to the same code five times as long.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir

from wengert.compile.call import by_blocks
from wengert.compile.call.entry import layouts as at
from wengert.compile.call.entry.layouts import LayoutError, layouts
from wengert.compile.call.entry.writer import BYTE, HALF, WORD, Writer
from wengert.compile.llvm.machine.control import loop
from wengert.compile.llvm.machine.host import FAST, Method, compile_text
from wengert.dispatch import Function
from wengert.rules.blocks import ENOUGH, Rows

Facts = np.ndarray[Any, np.dtype[np.intp]]


def code(
    function: Function,
    step: int,
    arrays: Sequence[np.ndarray[Any, Any]],
    settings: tuple[Any, ...],
    sizes: range,
    body: Function,
    otherwise: Function,
    rows: Rows | None = None,
) -> Function | None:
    """A builtin function of arrays and settings like these, of as many numbers as `sizes` holds.

    It hands arrays of several shapes, or few numbers that are not in order, to `body`, and what is
    of another kind, or less than a block, to `otherwise`. None where there is no code, where Python
    or NumPy keep arrays otherwise, or what comes out is not one array. A block is `step` numbers,
    or `rows`.
    """
    shared = () if rows is None else rows.shared
    shape = (-1,) if rows is None else (-1, *rows.shape)
    blocks = by_blocks.kept(function, step, [x.reshape(shape) for x in arrays], shared, settings)
    if blocks is None or blocks.several or blocks.arena > ARENA:
        return None
    try:
        layouts()
    except LayoutError:
        return None
    forms = [type(x) is float for x in settings]
    last, length = (1, 1) if rows is None else (rows.shape[-1], rows.size)
    alone = step * length < ENOUGH
    facts = len(arrays), len(shared), 0 if rows is None else len(rows.shape), alone
    name = f"rows of {facts} and {forms}"
    text = compile_text(name, lambda: _Entry(*facts, forms).write(), "elements")
    method = Method(function.__name__.encode(), text.address("entry"), FAST, None)
    empty = _empty(arrays[0].dtype, blocks.executable.plan.outputs[0].dtype, rows)
    about = _facts(blocks, sizes, length, last)
    owned = (arrays[0].dtype, np.ndarray, empty, about, body, otherwise)
    return method.of((*owned, *settings, blocks, text, method))  # which live as long


ARENA = 1 << 17
"""So many bytes between steps are taken from the stack."""


def _empty(given: Any, result: Any, rows: Rows | None) -> Any:
    """What makes room for a result, called with the first array."""
    if rows is not None and rows.reduces:
        if len(rows.shape) == 2:
            return lambda x: np.empty((*x.shape[:-2], x.shape[-1]), result)
        return lambda x: np.empty(x.shape[:-1], result)
    return np.empty_like if given is result else functools.partial(np.empty_like, dtype=result)


DTYPE, ARRAY, EMPTY, FACTS, BODY, OTHERWISE, SETTINGS = range(7)
"""What the builtin function's self begins with."""
CODE, SLOTS, PLACE, ROOM, STEP, START, STOP, LENGTH, LAST, BYTES = range(10)
"""What is said of the code of a block: `PLACE` and `ROOM` of its arena, how many numbers a row or a
matrix has, and its last dimension. Then the bytes of a row in each array, and its table of
addresses.
"""


def _facts(blocks: by_blocks.Blocks, sizes: range, length: int, last: int) -> Facts:
    plan = blocks.executable.plan
    body, slots, place, step = blocks.facts[: by_blocks.FACTS]
    of_arrays = by_blocks.FACTS + len(plan.inputs) + 1
    bytes_of_rows = blocks.facts[by_blocks.FACTS : of_arrays] // step
    first = body, slots, place, blocks.arena, step, sizes.start, sizes.stop, length, last
    return np.array([*first, *bytes_of_rows, *blocks.facts[of_arrays:]], np.intp)


class _Entry:
    """`entry(self, arguments, count)`, as Python calls it, for so many arrays, those that all rows
    share, and these settings, of which it is said whether they are floats: those are compared, the
    others are the same object. A row has `ndim` dimensions, a number has none. It runs `alone`
    where other threads may wait: to let them in takes longer than the numbers take.
    """

    def __init__(
        self, arrays: int, shared: int, ndim: int, alone: bool, floats: Sequence[bool]
    ) -> None:
        self.arrays, self.shared, self.ndim, self.alone = arrays, shared, ndim, alone
        self.floats = floats
        self.w = Writer(ir.Module("elements"), None, "entry", WORD, WORD, WORD, WORD)
        self.mine, self.given, self.count = self.w.function.args
        self.others, self.unlike = self.w.block("others"), self.w.block("unlike")

    def write(self) -> ir.Module:
        w = self.w
        facts = w.load(self.own(FACTS), at.DATA)
        size, flags = self.check(facts)
        rows = w.build.sdiv(size, w.word(facts, LENGTH)) if self.ndim else size
        w.need(w.build.icmp_signed(">=", size, w.word(facts, START)), self.others)
        w.need(w.build.icmp_signed(">=", rows, w.word(facts, STEP)), self.others)
        w.need(w.build.icmp_signed("<", size, w.word(facts, STOP)), self.others)
        w.need(w.same(flags, at.C_CONTIGUOUS), self.unlike if self.alone else self.others)
        empty, one = self.own(EMPTY), w.number(1)
        result = w.call("python.PyObject_Vectorcall", empty, self.given, one, w.number(0))
        w.need(w.differs(result, 0))
        state = None if self.alone else w.call("python.PyEval_SaveThread")
        self.run(facts, rows, result)
        if state is not None:
            w.call("python.PyEval_RestoreThread", state)
        w.build.ret(result)
        for block, function in ((self.unlike, BODY), (self.others, OTHERWISE)):
            w.build.position_at_end(block)
            rest = self.given, self.count, w.number(0)
            w.build.ret(w.call("python.PyObject_Vectorcall", self.own(function), *rest))
        w.finish()
        return w.module

    def own(self, place: int) -> ir.Value:
        return self.w.load(self.mine, at.TUPLE_ITEMS + 8 * place)

    def check(self, facts: ir.Value) -> tuple[ir.Value, ir.Value]:
        """How many numbers there are, in arrays and with settings as they are expected; and whether
        all arrays are in order.
        """
        w, flags = self.w, self.w.number(at.C_CONTIGUOUS)
        held = self.arrays + self.shared
        w.need(w.same(self.count, held + len(self.floats)), self.others)
        arrays = [w.word(self.given, place) for place in range(held)]
        for x in arrays:
            w.need(w.same(w.load(x, at.TYPE), self.own(ARRAY)), self.others)
            for part in (at.KIND_TO_NUMBER, at.ITEMSIZE):  # of a dtype that may be a copy
                of_x, expected = w.load(w.load(x, at.DTYPE), part), w.load(self.own(DTYPE), part)
                w.need(w.same(of_x, expected), self.others)
            flags = w.build.and_(flags, w.load(x, at.FLAGS))
        for place, is_float in enumerate(self.floats, held):
            x, expected = w.word(self.given, place), self.own(SETTINGS + place - held)
            if is_float:
                w.need(w.same(w.load(x, at.TYPE), w.load(expected, at.TYPE)), self.others)
                x, expected = w.load(x, at.NUMBER), w.load(expected, at.NUMBER)
            w.need(w.same(x, expected), self.others)
        for x in arrays[self.arrays :]:
            w.need(w.same(w.load(x, at.NDIM, HALF), HALF(1)), self.others)
            w.need(w.same(w.word(w.load(x, at.DIMENSIONS), 0), w.word(facts, LAST)), self.others)
        first, *rest = arrays[: self.arrays]
        count, shape = w.load(first, at.NDIM, HALF), w.load(first, at.DIMENSIONS)
        if self.ndim:
            w.need(w.build.icmp_signed(">=", count, HALF(self.ndim)), self.others)
            before = w.build.sub(w.build.zext(count, WORD), w.number(self.ndim))
            end = w.build.add(shape, w.build.mul(before, w.number(8)))
            length = w.word(end, 0)
            if self.ndim == 2:
                w.need(w.same(w.word(end, 1), w.word(facts, LAST)), self.others)
                length = w.build.mul(length, w.word(end, 1))
            w.need(w.same(length, w.word(facts, LENGTH)), self.others)
        for x in rest:
            w.need(w.same(w.load(x, at.NDIM, HALF), count), self.unlike)
        distances = [w.build.sub(w.load(x, at.DIMENSIONS), shape) for x in rest]
        size = w.variable()
        w.build.store(w.number(1), size)
        with w.each(shape, w.build.zext(count, WORD), 1) as place:
            n = w.word(place, 0)
            for distance in distances:
                w.need(w.same(w.word(w.build.add(place, distance), 0), n), self.unlike)
            w.build.store(w.build.mul(w.build.load(size), n), size)
        return w.build.load(size), flags

    def run(self, facts: ir.Value, rows: ir.Value, result: ir.Value) -> None:
        """The blocks; the last begins early enough to be a whole one."""
        w, build = self.w, self.w.build
        slots, step = w.word(facts, SLOTS), w.word(facts, STEP)
        given = [w.word(self.given, place) for place in range(self.arrays + self.shared)]
        places = [w.load(x, at.DATA) for x in (*given, result)]
        sizes = [w.word(facts, BYTES + slot) for slot in range(len(places))]
        table = build.ptrtoint(build.alloca(WORD, slots), WORD)
        w.copy(build.add(facts, w.number(8 * (BYTES + len(places)))), table, slots)
        room = build.alloca(BYTE, build.add(w.word(facts, ROOM), w.number(64)))
        arena = build.and_(build.add(build.ptrtoint(room, WORD), w.number(63)), w.number(-64))
        here = build.add(table, build.mul(w.word(facts, PLACE), w.number(8)))
        with w.when(w.differs(w.word(facts, ROOM), 0)):
            w.store(arena, here)
        last = build.sub(rows, step)
        with loop(build, w.number(0)) as blocks:
            (start,) = blocks.carried
            blocks.while_(build.icmp_signed("<", start, rows))
            early = build.select(build.icmp_signed("<", start, last), start, last)
            for slot, (place, size) in enumerate(zip(places, sizes, strict=True)):
                w.store(build.add(place, build.mul(early, size)), table, slot)
            w.call_address(w.word(facts, CODE), HALF, table)
            blocks.again(build.add(start, step))
