"""Elementary functions as LLVM code: `call(builder, "exp", x)` for floats and vectors of them.

Each function is defined in the caller's module once for every type it is called with, so that LLVM
can inline it into a loop and keep its constants in registers. They hold to NumPy's values at
infinities, nan and signed zeros, and to 2 units in the last place elsewhere, denormal numbers
included: 4 for `power` and `tan`, and for `logaddexp`, which cancels near 0, 4 of its largest
argument; 5 for what only the compiler calls, exp(x - m) of float32 where m is the maximum of x,
once that is below -6. `tests/compile/test_math.py` measures it. `lanes.py` is the language of the
formulas, and the files beside it hold them by family; what LLVM has instructions for is in
`scalars.py`.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from wengert.compile.llvm.elementary import arithmetic as arithmetic
from wengert.compile.llvm.elementary import exponentials
from wengert.compile.llvm.elementary import logarithms as logarithms
from wengert.compile.llvm.elementary import special as special
from wengert.compile.llvm.elementary import trigonometry as trigonometry
from wengert.compile.llvm.elementary.table import FUNCTIONS, LARGE
from wengert.compile.llvm.elementary.table import HEAVY as HEAVY
from wengert.compile.llvm.machine import functions
from wengert.compile.llvm.machine.lanes import Lanes
from wengert.compile.llvm.machine.values import mangled

NAMES = frozenset(FUNCTIONS)
# What only the compiler knows where to use.
FUNCTIONS["falling_exp"] = exponentials.falling_exp


def call(builder: ir.IRBuilder, name: str, *args: ir.Value) -> ir.Value:
    """The value of the function `name`, one of `NAMES`, in every lane of `args`.

    The arguments have one type: `float`, `double`, or a vector of either.
    """
    kind = args[0].type
    symbol = f"wg.{name}.{mangled(kind)}"
    function = builder.module.globals.get(symbol)
    if function is None:
        function = define(builder.module, symbol, name, kind, len(args))
    return builder.call(function, args)


def sin_and_cos(builder: ir.IRBuilder, x: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Both of a float, or of a vector: in little more time than one of them."""
    kind = x.type
    symbol = f"wg.sin and cos.{mangled(kind)}"
    function = builder.module.globals.get(symbol)
    if function is None:
        pair = ir.LiteralStructType([kind, kind])
        function, b = functions.internal(builder.module, symbol, pair, [kind])
        result = ir.Constant(pair, ir.Undefined)
        for k, lanes in enumerate(trigonometry.sin_and_cos(Lanes(b, function.args[0]))):
            result = b.insert_value(result, lanes.value, k)
        b.ret(result)
    result = builder.call(function, [x])
    return builder.extract_value(result, 0), builder.extract_value(result, 1)


def formula(name: str) -> Callable[..., Lanes]:
    """The function `name` of lanes."""

    def build(*args: Lanes) -> Lanes:
        return args[0].new(call(args[0].builder, name, *(x.value for x in args)))

    return build


def define(module: ir.Module, symbol: str, name: str, kind: ir.Type, arity: int) -> ir.Function:
    """The function `name` for arguments of the type `kind`, under `symbol` in the module."""
    attributes = () if name in LARGE else ("alwaysinline",)
    function, builder = functions.internal(module, symbol, kind, [kind] * arity, *attributes)
    builder.ret(FUNCTIONS[name](*(Lanes(builder, argument) for argument in function.args)).value)
    return function
