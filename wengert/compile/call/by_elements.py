"""Machine code for eager mode: elementwise functions of many numbers, entered without Python.

`by_blocks.py` makes the code of a block. Here a builtin function looks at the arguments itself,
makes room for the result and goes through the blocks: on ten thousand numbers, that takes less time
than the numbers do, and Python's way to the same code five times as long.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir

from wengert.compile.call import by_blocks
from wengert.compile.call.entry import layouts as at
from wengert.compile.call.entry.layouts import LayoutError, layouts
from wengert.compile.call.entry.writer import HALF, WORD, Writer
from wengert.compile.llvm.machine.control import loop
from wengert.compile.llvm.machine.host import FAST, Method, compile_text
from wengert.dispatch import Function
from wengert.rules.blocks import ENOUGH

Facts = np.ndarray[Any, np.dtype[np.intp]]


def code(
    function: Function,
    step: int,
    arrays: Sequence[np.ndarray[Any, Any]],
    settings: tuple[Any, ...],
    sizes: range,
    body: Function,
    otherwise: Function,
) -> Function | None:
    """A builtin function of arrays and settings like these, of as many numbers as `sizes` holds.

    It hands arrays of several shapes, or few numbers that are not in order, to `body`, and what is
    of another kind, or less than a block, to `otherwise`. None where there is no code, where Python
    or NumPy keep arrays otherwise, or a result has another dtype.
    """
    blocks = by_blocks.kept(function, step, [x.reshape(-1) for x in arrays], (), settings)
    if blocks is None or blocks.arena:
        return None
    if [x.dtype for x in blocks.executable.plan.outputs] != [arrays[0].dtype]:
        return None
    try:
        layouts()
    except LayoutError:
        return None
    forms = [type(x) is float for x in settings]
    alone = step < ENOUGH
    name = f"elements of {len(arrays)} and {forms} {alone}"
    text = compile_text(name, lambda: _Entry(len(arrays), forms, alone).write(), "elements")
    method = Method(function.__name__.encode(), text.address("entry"), FAST, None)
    owned = (arrays[0].dtype, np.ndarray, np.empty_like, _facts(blocks, sizes), body, otherwise)
    return method.of((*owned, *settings, blocks, text, method))  # which live as long


DTYPE, ARRAY, EMPTY, FACTS, BODY, OTHERWISE, SETTINGS = range(7)
"""What the builtin function's self begins with."""
CODE, SLOTS, STEP, START, STOP, ITEM, TABLE = range(7)
"""What is said of the code of a block, before its table of addresses."""


def _facts(blocks: by_blocks.Blocks, sizes: range) -> Facts:
    plan = blocks.executable.plan
    table = blocks.facts[by_blocks.FACTS + len(plan.inputs) + 1 :]
    first = blocks.executable.body, len(table), blocks.step, sizes.start, sizes.stop
    return np.array([*first, plan.outputs[0].dtype.itemsize, *table], np.intp)


class _Entry:
    """`entry(self, arguments, count)`, as Python calls it, for so many arrays and these settings,
    of which it is said whether they are floats: those are compared, the others are the same object.
    It runs `alone` where other threads may wait: to let them in takes longer than the numbers take.
    """

    def __init__(self, arrays: int, floats: Sequence[bool], alone: bool) -> None:
        self.arrays, self.floats, self.alone = arrays, floats, alone
        self.w = Writer(ir.Module("elements"), None, "entry", WORD, WORD, WORD, WORD)
        self.mine, self.given, self.count = self.w.function.args
        self.others, self.unlike = self.w.block("others"), self.w.block("unlike")

    def write(self) -> ir.Module:
        w = self.w
        facts = w.load(self.own(FACTS), at.DATA)
        size, flags = self.check()
        for fact in (START, STEP):
            w.need(w.build.icmp_signed(">=", size, w.word(facts, fact)), self.others)
        w.need(w.build.icmp_signed("<", size, w.word(facts, STOP)), self.others)
        w.need(w.same(flags, at.C_CONTIGUOUS), self.unlike if self.alone else self.others)
        empty, one = self.own(EMPTY), w.number(1)
        result = w.call("python.PyObject_Vectorcall", empty, self.given, one, w.number(0))
        w.need(w.differs(result, 0))
        state = None if self.alone else w.call("python.PyEval_SaveThread")
        self.run(facts, size, result)
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

    def check(self) -> tuple[ir.Value, ir.Value]:
        """How many numbers there are, in arrays and with settings as they are expected; and whether
        all arrays are in order.
        """
        w, flags = self.w, self.w.number(at.C_CONTIGUOUS)
        w.need(w.same(self.count, self.arrays + len(self.floats)), self.others)
        arrays = [w.word(self.given, place) for place in range(self.arrays)]
        first, *rest = arrays
        for x in arrays:
            w.need(w.same(w.load(x, at.TYPE), self.own(ARRAY)), self.others)
            for part in (at.KIND_TO_NUMBER, at.ITEMSIZE):  # of a dtype that may be a copy
                of_x, expected = w.load(w.load(x, at.DTYPE), part), w.load(self.own(DTYPE), part)
                w.need(w.same(of_x, expected), self.others)
            flags = w.build.and_(flags, w.load(x, at.FLAGS))
        for place, is_float in enumerate(self.floats):
            x, expected = w.word(self.given, self.arrays + place), self.own(SETTINGS + place)
            if is_float:
                w.need(w.same(w.load(x, at.TYPE), w.load(expected, at.TYPE)), self.others)
                x, expected = w.load(x, at.NUMBER), w.load(expected, at.NUMBER)
            w.need(w.same(x, expected), self.others)
        count, shape = w.load(first, at.NDIM, HALF), w.load(first, at.DIMENSIONS)
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

    def run(self, facts: ir.Value, size: ir.Value, result: ir.Value) -> None:
        """The blocks; the last begins early enough to be a whole one."""
        w, build = self.w, self.w.build
        slots, step, item = (w.word(facts, fact) for fact in (SLOTS, STEP, ITEM))
        table = build.ptrtoint(build.alloca(WORD, slots), WORD)
        w.copy(build.add(facts, w.number(8 * TABLE)), table, slots)
        given = [w.word(self.given, place) for place in range(self.arrays)]
        places = [w.load(x, at.DATA) for x in (*given, result)]
        last = build.sub(size, step)
        with loop(build, w.number(0)) as blocks:
            (start,) = blocks.carried
            blocks.while_(build.icmp_signed("<", start, size))
            early = build.select(build.icmp_signed("<", start, last), start, last)
            for slot, place in enumerate(places):
                w.store(build.add(place, build.mul(early, item)), table, slot)
            w.call_address(w.word(facts, CODE), HALF, table)
            blocks.again(build.add(start, step))
