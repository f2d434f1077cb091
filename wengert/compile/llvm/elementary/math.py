"""Elementary functions as LLVM code: `call(builder, "exp", x)` for floats and vectors of them.

Each function is defined in the caller's module once for every type it is called with, so that LLVM
can inline it into a loop and keep its constants in registers. They hold to NumPy's values at
infinities, nan and signed zeros, and to 2 units in the last place elsewhere, denormal numbers
included: 4 for `power` and `tan`, and for `logaddexp`, which cancels near 0, 4 of its largest
argument; 5 for what only the compiler calls, exp(x - m) of float32 where m is the maximum of x,
once that is below -6. `tests/compile/test_math.py` measures it. `lanes.py` is the language of the
formulas, and the files beside it hold them by family.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from llvmlite import ir

from wengert.compile.llvm.elementary import (
    arithmetic,
    exponentials,
    logarithms,
    special,
    trigonometry,
)
from wengert.compile.llvm.machine.lanes import Lanes, absolute, copysign, sqrt, suffix

FUNCTIONS: dict[str, Callable[..., Lanes]] = {
    "exp": exponentials.exp,
    "exp2": exponentials.exp2,
    "expm1": exponentials.expm1,
    "sinh": exponentials.sinh,
    "cosh": exponentials.cosh,
    "tanh": exponentials.tanh,
    "sigmoid": exponentials.sigmoid,
    "log": logarithms.log,
    "log2": logarithms.log2,
    "log10": logarithms.log10,
    "log1p": logarithms.log1p,
    "arcsinh": logarithms.arcsinh,
    "arccosh": logarithms.arccosh,
    "arctanh": logarithms.arctanh,
    "logaddexp": logarithms.logaddexp,
    "logaddexp2": logarithms.logaddexp2,
    "softplus": logarithms.softplus,
    "power": logarithms.power,
    "float_power": logarithms.power,
    "sin": trigonometry.sin,
    "cos": trigonometry.cos,
    "tan": trigonometry.tan,
    "arcsin": trigonometry.arcsin,
    "arccos": trigonometry.arccos,
    "arctan": trigonometry.arctan,
    "arctan2": trigonometry.arctan2,
    "erf": special.erf,
    "erfc": special.erfc,
    "sqrt": sqrt,
    "cbrt": arithmetic.cbrt,
    "hypot": arithmetic.hypot,
    "fmod": arithmetic.fmod,
    "remainder": arithmetic.remainder,
    "floor_divide": arithmetic.floor_divide,
    "maximum": arithmetic.maximum,
    "minimum": arithmetic.minimum,
    "fmax": arithmetic.fmax,
    "fmin": arithmetic.fmin,
    "absolute": absolute,
    "copysign": copysign,
    "nextafter": arithmetic.nextafter,
    "sign": arithmetic.sign,
    "reciprocal": arithmetic.reciprocal,
    "square": arithmetic.square,
    "rint": partial(arithmetic.rounded, "rint"),
    "floor": partial(arithmetic.rounded, "floor"),
    "ceil": partial(arithmetic.rounded, "ceil"),
    "trunc": partial(arithmetic.rounded, "trunc"),
}
NAMES = frozenset(FUNCTIONS)
# What only the compiler knows where to use.
FUNCTIONS["falling_exp"] = exponentials.falling_exp
# Long functions, and those with rare paths: LLVM may inline one where it is called once.
LARGE = frozenset(
    {"power", "float_power", "sin", "cos", "tan", "erfc", "arctan2", "logaddexp", "logaddexp2"}
    | {"fmod", "remainder", "floor_divide"}
)


def call(builder: ir.IRBuilder, name: str, *args: ir.Value) -> ir.Value:
    """The value of the function `name`, one of `NAMES`, in every lane of `args`.

    The arguments have one type: `float`, `double`, or a vector of either.
    """
    kind = args[0].type
    symbol = f"wg.{name}.{suffix(kind)}"
    function = builder.module.globals.get(symbol)
    if function is None:
        function = define(builder.module, symbol, name, kind, len(args))
    return builder.call(function, args)


def define(module: ir.Module, symbol: str, name: str, kind: ir.Type, arity: int) -> ir.Function:
    """The function `name` for arguments of the type `kind`, under `symbol` in the module."""
    formula = FUNCTIONS[name]
    function = ir.Function(module, ir.FunctionType(kind, [kind] * arity), symbol)
    function.linkage = "internal"
    function.attributes.add("nounwind")
    if name not in LARGE:
        function.attributes.add("alwaysinline")
    builder = ir.IRBuilder(function.append_basic_block())
    builder.ret(formula(*(Lanes(builder, argument) for argument in function.args)).value)
    return function
