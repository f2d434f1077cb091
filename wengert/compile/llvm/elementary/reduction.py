"""Reducing huge angles: x modulo a multiple of π, one lane at a time.

x = m 2^e with m whole, so of the bits of 1/π only those count whose product with m 2^e is neither
a multiple of four turns nor too small to matter: 192 of them, from a place that e gives (Payne &
Hanek, "Radian reduction for trigonometric functions", 1983). Few programs come here; it is called,
never inlined.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from llvmlite import ir

from wengert.compile.llvm.machine.functions import internal
from wengert.compile.llvm.machine.lanes import (
    FLOAT64,
    INT1,
    INT32,
    Lanes,
    fma,
    like,
    mad,
    negate_where,
    repeat,
    where,
)
from wengert.compile.llvm.machine.values import mangled

INT8 = ir.IntType(8)
INT192 = ir.IntType(192)
INT256 = ir.IntType(256)
DOUBLE = FLOAT64.scalar

# 1/π to the digits that the largest float64 asks for: an integer over 2^PLACES. Its bytes are kept
# from the lowest, with zeros above, so that 32 of them lie from bit FARTHEST, where angles of 2^15
# begin to read.
PLACES = 1168
FARTHEST = 1016
INVERSE_PI = int(
    "517cc1b727220a94fe13abe8fa9a6ee06db14acc9e21c820ff28b1d5ef5de2b0db92371d2126e970"
    "0324977504e8c90e7f0ef58e5894d39f74411afa975da24274ce38135a2fbf209cc8eb1cc1a99cfa"
    "4e422fc5defc941d8ffc4bffef02cc07f79788c5ad05368fb69b3f6793e584dba7a31fb34f2ff516"
    "ba93dd63f5f2f8bd9e839cfbc529497535fdafd88fc6ae842b01",
    16,
)
# π in two parts, over the 63 bits that are kept of a fraction.
TURN = (math.pi * 2.0**-63, 1.2246467991473532e-16 * 2.0**-63)
SCALAR_RESULT = ir.LiteralStructType([FLOAT64.integer, DOUBLE])


def reduced_far(
    x: Lanes, far: Lanes, usual: Sequence[Lanes], period: float, offset: float
) -> list[Lanes]:
    """(n, r) of `trigonometry.reduced`, exact where `far` holds, and `usual` elsewhere."""
    builder = x.builder
    name = f"wg.reduce.{round(1 / period)}.{round(2 * offset)}.{mangled(x.type)}"
    function = builder.module.globals.get(name)
    if function is None:
        function = define_lanes(builder.module, name, x, period, offset)
    parts = builder.call(function, [x.value])
    exact = [Lanes(builder, builder.extract_value(parts, i)) for i in range(2)]
    return [where(far, a, b) for a, b in zip(exact, usual, strict=True)]


RARE = "noinline", "cold"


def define_lanes(
    module: ir.Module, name: str, x: Lanes, period: float, offset: float
) -> ir.Function:
    """The function that reduces each lane of a vector by the scalar one."""
    integers = like(x.type, x.format.integer)
    result = ir.LiteralStructType([integers, x.type])
    function, builder = internal(module, name, result, [x.type], *RARE)
    angles = Lanes(builder, function.args[0])
    flags = [ir.Constant(INT1, period == 0.5), ir.Constant(INT1, offset == 0.5)]
    if not isinstance(x.type, ir.VectorType):
        parts = lane_parts(angles, flags, period)
        builder.ret(packed(builder, result, parts))
        return function

    def step(index: Lanes, *vectors: Lanes) -> tuple[ir.Value, list[Lanes]]:
        angle = Lanes(builder, builder.extract_element(angles.value, index.value))
        parts = lane_parts(angle, flags, period)
        filled = [
            Lanes(builder, builder.insert_element(vector.value, part.value, index.value))
            for vector, part in zip(vectors, parts, strict=True)
        ]
        return (index + 1 < x.type.count).value, [index + 1, *filled]

    zero = Lanes(builder, ir.Constant(INT32, 0))
    start = [angles.bits(), angles]
    _, *filled = repeat([zero, *start], step)
    builder.ret(packed(builder, result, filled))
    return function


def packed(builder: ir.IRBuilder, kind: ir.Type, parts: Sequence[Lanes]) -> ir.Value:
    structure: ir.Value = ir.Constant(kind, ir.Undefined)
    for i, part in enumerate(parts):
        structure = builder.insert_value(structure, part.value, i)
    return structure


def lane_parts(angle: Lanes, flags: list[ir.Value], period: float) -> list[Lanes]:
    """(n, r) of one lane in its own format, by the function for float64."""
    builder = angle.builder
    single = angle.format is not FLOAT64
    function = builder.module.globals.get("wg.turns")
    if function is None:
        function = define_turns(builder.module)
    wide = angle.widen() if single else angle
    parts = builder.call(function, [wide.value, *flags])
    n, r = (Lanes(builder, builder.extract_value(parts, i)) for i in range(2))
    r = r * period
    return [n.new(builder.trunc(n.value, INT32)), r.narrow()] if single else [n, r]


def define_turns(module: ir.Module) -> ir.Function:
    """turns(x, doubled, centred) = (n, r) with x = (n + centred / 2) π + r.

    With `doubled`, the same of 2 x; with `centred`, of |x|: the cosine, which asks for it, is even.
    """
    function, builder = internal(module, "wg.turns", SCALAR_RESULT, [DOUBLE, INT1, INT1], *RARE)
    x, doubled, centred = (Lanes(builder, argument) for argument in function.args)
    turns = fixed_point_turns(module, x, doubled)
    half = turns.full(1 << 189)
    turns = where(centred, turns - half, turns)
    n = turns.new(builder.trunc(((turns + half) >> 190).value, FLOAT64.integer))
    # inf - inf is nan, which is what an infinite angle gives.
    r = radians(turns << 2) + (x - x)
    minus = x.sign_bit() & ~centred
    builder.ret(packed(builder, SCALAR_RESULT, [where(minus, -n, n), negate_where(minus, r)]))
    return function


def fixed_point_turns(module: ir.Module, x: Lanes, doubled: Lanes) -> Lanes:
    """|x| / π modulo 4, or 2 |x| / π, in units of 2^-190."""
    builder = x.builder
    bits = x.bits()
    m = (bits & ((1 << 52) - 1)) | (1 << 52)
    e = ((bits >> 52) & 2047) - 1075 + x.new(builder.zext(doubled.value, FLOAT64.integer))
    # Angles that need no such care have small e; what they get here is not used.
    place = PLACES - 190 - e
    place = where(place < FARTHEST, place, FARTHEST)
    digits = builder.gep(inverse_pi(module), [ir.Constant(INT32, 0), (place >> 3).value])
    window = x.new(builder.load(builder.bitcast(digits, INT256.as_pointer()), align=1))
    window = window >> x.new(builder.zext((place & 7).value, INT256))
    return x.new(builder.trunc(window.value, INT192)) * x.new(builder.zext(m.value, INT192))


def inverse_pi(module: ir.Module) -> ir.GlobalVariable:
    known = module.globals.get("wg.inverse_pi")
    if known is not None:
        return known
    digits = bytearray(INVERSE_PI.to_bytes(FARTHEST // 8 + 32, "little"))
    kind = ir.ArrayType(INT8, len(digits))
    table = ir.GlobalVariable(module, kind, "wg.inverse_pi")
    table.global_constant, table.linkage = True, "internal"
    table.initializer = ir.Constant(kind, digits)
    return table


def radians(turns: Lanes) -> Lanes:
    """π turns, for a signed 192-bit fraction of a turn, which may be close to 0."""
    builder = turns.builder
    minus = turns < 0
    size = where(minus, -turns, turns)
    zeros = size.new(builder.ctlz(size.value, ir.Constant(INT1, 0)))
    shifted = (size << zeros) >> 129
    top = size.new(builder.trunc(shifted.value, FLOAT64.integer))
    tail = top & 1023
    high = top.new(builder.sitofp((top - tail).value, DOUBLE))
    low = top.new(builder.sitofp(tail.value, DOUBLE))
    r = fma(high, TURN[0], mad(low, TURN[0], high * TURN[1]))
    zeros = zeros.new(builder.trunc(zeros.value, FLOAT64.integer))
    unit = ((FLOAT64.bias - zeros) << FLOAT64.digits).floats()
    return negate_where(minus, r * unit)
