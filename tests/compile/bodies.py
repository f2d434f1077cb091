"""Small bodies written by hand, and entries around them; shared by the tests of entries."""

import numpy as np
import pytest

ir = pytest.importorskip("llvmlite.ir")

from wengert.compile.call.entry.entries import is_native  # noqa: E402
from wengert.compile.call.entry.entry import Entry  # noqa: E402
from wengert.compile.call.entry.native import native_entry  # noqa: E402
from wengert.compile.call.entry.reference import reference_entry  # noqa: E402
from wengert.compile.llvm.machine.host import Code, compile_module  # noqa: E402
from wengert.compile.trace.arguments import Spread  # noqa: E402
from wengert.compile.trace.world.places import Argument, Array, Guard, Input, Known, Number  # noqa: E402
from wengert.tensor import Tensor  # noqa: E402

F8 = np.dtype(np.float64)
KINDS = [reference_entry, native_entry] if is_native() else [reference_entry]
each_kind = pytest.fixture(params=KINDS, ids=lambda make: make.__name__)
"""Makes a fixture give the kinds of entries, one by one."""

BYTE, INT, LONG, DOUBLE = ir.IntType(8), ir.IntType(32), ir.IntType(64), ir.DoubleType()
BODY = ir.FunctionType(INT, [BYTE.as_pointer().as_pointer()])


def body(write) -> Code:
    """A body; `write(build, pointer)` with pointer(i, type) to buffer i returns the status."""
    module = ir.Module("body")
    function = ir.Function(module, BODY, "body")
    build = ir.IRBuilder(function.append_basic_block())

    def pointer(i, kind=DOUBLE):
        place = build.gep(function.args[0], [ir.Constant(LONG, i)])
        return build.bitcast(build.load(place), kind.as_pointer())

    status = write(build, pointer)
    build.ret(ir.Constant(INT, 0) if status is None else status)
    return compile_module(module, "body")


def sums(*buffers, out, n=2):
    """buffers[out] = the sum of the others, elementwise; n elements each."""

    def write(build, pointer):
        for k in range(n):
            at = [ir.Constant(LONG, k)]
            values = [build.load(build.gep(pointer(b), at)) for b in buffers]
            total = values[0]
            for value in values[1:]:
                total = build.fadd(total, value)
            build.store(total, build.gep(pointer(out), at))

    return body(write)


def status(number):
    return body(lambda build, pointer: ir.Constant(INT, number))


def calling(make, function, slow=None, **fields):
    """An entry whose body calls a Python function without arguments."""

    def write(build, pointer):
        kind = ir.FunctionType(BYTE.as_pointer(), [BYTE.as_pointer()])
        call = ir.Function(build.module, kind, "python.PyObject_CallNoArgs")
        made = build.ptrtoint(build.call(call, [pointer(7, BYTE)]), LONG)
        raised = build.icmp_signed("==", made, ir.Constant(LONG, 0))
        return build.select(raised, ir.Constant(INT, -1), ir.Constant(INT, 0))

    return make(entry(body(write), slow=slow, fixed=((7, id(function), function),), **fields))


class Slow:
    """Notes how often it was called, and with what."""

    def __init__(self):
        self.calls = []

    def __call__(self, *args, **kwargs):
        self.calls.append((args, kwargs))
        return "slow"


def spread(count):
    """Of calls with so many arguments, none of them a container."""
    return Spread(count, slots=tuple(range(count)))


def entry(code, buffers=8, slow=None, arguments=(), guards=(), inputs=(), **fields):
    """An entry; an argument that is not given as a form must be that very object."""
    places = [(Argument(i), x) for i, x in enumerate(arguments)]
    read = [Input(place, x) for place, x in places if isinstance(x, Array | Number)]
    same = [Guard(place, x) for place, x in places if not isinstance(x, Array | Number)]
    return Entry(
        code.address("body"),
        buffers,
        Slow() if slow is None else slow,
        spread=spread(len(places)),
        guards=(*guards, *same),
        inputs=(*read, *inputs),
        keep=code,
        **fields,
    )


def state(x, buffer, **fields):
    """A tensor, or an array, of two elements from outside."""
    kind = Tensor if isinstance(x, Tensor) else None
    return Input(Known(x), Array(buffer, F8, (2,), kind, history=..., **fields))


def array(*values):
    return np.array(values or (1.0, 2.0))
