"""Machine code for eager mode: functions of loops, on plain arrays of any shape.

`rules/loops.py` says what such a function is; here its text becomes a builtin function, once for
each combination of dtypes, and once more for arrays of which one is not in order. It looks at the
arguments itself: a key of their dtypes, made in Python in each call, would take longer than the
loops take on few numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir

from wengert.compile.call.entry import layouts as at
from wengert.compile.call.entry.layouts import DATA, DIMENSIONS, STRIDES, LayoutError, layouts
from wengert.compile.call.entry.writer import DOUBLE, WORD, Writer
from wengert.compile.llvm.library import texts
from wengert.compile.llvm.machine.host import FAST, USUAL, Method, compile_text
from wengert.compile.llvm.machine.values import POINTER
from wengert.dispatch import Function


def code(
    function: Function, kinds: Sequence[Any], packed: bool, otherwise: Function
) -> Function | None:
    """A builtin function of arguments of these kinds, which hands all others to `otherwise`.

    `packed` says whether all arrays are in order. None where Python or NumPy keep arrays otherwise.
    """
    try:
        layouts()
        source = texts.source(function, kinds)
    except (LayoutError, OSError):  # or the text is not at hand
        return None

    def write() -> ir.Module:
        module = ir.Module("loops")
        loops = texts.define(module, function, kinds, (DATA, DIMENSIONS, STRIDES), packed)
        loops.linkage = "internal"
        _Entry(module, kinds, packed).write(loops, texts.returns(function))
        return module

    name = f"loops.{function.__name__}"
    text = compile_text(f"{name} {packed}\n{source}", write, name, USUAL)
    method = Method(function.__name__.encode(), text.address("entry"), FAST, None)
    return method.of((*kinds, np.ndarray, otherwise, text, method))  # which live as long


class _Entry:
    """`entry(self, arguments, count)`, as Python calls it: its self begins with what is expected,
    then the class of arrays, and the function for all else.
    """

    def __init__(self, module: ir.Module, kinds: Sequence[Any], packed: bool) -> None:
        self.w = Writer(module, None, "entry", WORD, WORD, WORD, WORD)
        self.expected, self.given, self.count = self.w.function.args
        self.kinds, self.packed, self.others = kinds, packed, self.w.block("others")

    def write(self, loops: ir.Function, returns: bool) -> None:
        w = self.w
        self.check()
        values = [self.value(place, kind) for place, kind in enumerate(self.kinds)]
        state = w.call("python.PyEval_SaveThread")  # other threads run meanwhile
        result = w.build.call(loops, values)
        w.call("python.PyEval_RestoreThread", state)
        if returns:
            w.build.ret(w.call("python.PyLong_FromLongLong", result))
        else:
            w.call("python.Py_IncRef", none := w.known("python._Py_NoneStruct"))
            w.build.ret(none)
        w.build.position_at_end(self.others)
        otherwise, no_names = self.own(len(self.kinds) + 1), w.number(0)
        count = self.count
        w.build.ret(w.call("python.PyObject_Vectorcall", otherwise, self.given, count, no_names))

    def own(self, place: int) -> ir.Value:
        return self.w.load(self.expected, at.TUPLE_ITEMS + 8 * place)

    def check(self) -> None:
        """Go on with arguments of the kinds that are expected."""
        w, array, flags = self.w, self.own(len(self.kinds)), self.w.number(at.C_CONTIGUOUS)
        w.need(w.same(self.count, len(self.kinds)), self.others)
        for place, kind in enumerate(self.kinds):
            value, expected = w.word(self.given, place), self.own(place)
            is_array = isinstance(kind, np.dtype)
            held = w.load(value, at.TYPE)
            w.need(w.same(held, array if is_array else expected), self.others)
            if is_array:  # whose dtype, after a pickle, is equal to NumPy's own and another object
                dtype = w.load(value, at.DTYPE)
                for part in (at.KIND_TO_NUMBER, at.ITEMSIZE):
                    same = w.same(w.load(dtype, part), w.load(expected, part))
                    w.need(same, self.others)
                flags = w.build.and_(flags, w.load(value, at.FLAGS))
        w.need(w.same(flags, at.C_CONTIGUOUS if self.packed else 0), self.others)

    def value(self, place: int, kind: Any) -> ir.Value:
        """An argument as the loops take it."""
        w, value = self.w, self.w.word(self.given, place)
        if isinstance(kind, np.dtype):
            return w.build.inttoptr(value, POINTER)
        if kind is float:
            return w.load(value, at.NUMBER, DOUBLE)
        if kind is bool:
            return w.same(value, w.known("python._Py_TrueStruct"))
        number = w.call("python.PyLong_AsLongLong", value)
        with w.when(w.same(number, -1)), w.when(w.differs(w.call("python.PyErr_Occurred"), 0)):
            w.build.ret(w.number(0))  # the error that says that it is too large
        return number
