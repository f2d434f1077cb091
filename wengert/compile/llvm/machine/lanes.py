"""Lanes: LLVM values written as formulas.

One `Lanes` is a number, a mask, or a vector of them; Python's operators emit the instruction for
every lane at once, and a Python number on either side is the constant in every lane. Integers are
signed unless it is said otherwise. NumPy's elementwise functions are said in this language.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from llvmlite import ir

from wengert.compile.llvm.machine import host as machine
from wengert.compile.llvm.machine.control import rounds
from wengert.compile.llvm.machine.functions import call
from wengert.compile.llvm.machine.values import mangled, number

INT1 = ir.IntType(1)
INT32 = ir.IntType(32)


class Format(NamedTuple):
    """A binary floating-point format: sign, exponent, and `digits` stored bits of fraction."""

    bits: int
    digits: int
    bias: int
    scalar: ir.Type
    integer: ir.IntType

    @property
    def one(self) -> int:
        """The bits of 1.0."""
        return self.bias << self.digits

    @property
    def round_shift(self) -> float:
        """Adding 1.5 2^digits leaves a rounded integer in the low bits of the fraction."""
        return 1.5 * 2.0**self.digits

    @property
    def smallest_normal(self) -> float:
        return 2.0 ** (1 - self.bias)

    @property
    def epsilon(self) -> float:
        return 2.0**-self.digits

    @property
    def largest(self) -> float:
        return (2.0 - self.epsilon) * 2.0**self.bias


FLOAT16 = Format(16, 10, 15, ir.HalfType(), ir.IntType(16))
FLOAT32 = Format(32, 23, 127, ir.FloatType(), ir.IntType(32))
FLOAT64 = Format(64, 52, 1023, ir.DoubleType(), ir.IntType(64))


def element(kind: ir.Type) -> ir.Type:
    """The type of one lane."""
    return kind.element if isinstance(kind, ir.VectorType) else kind


def like(kind: ir.Type, lane: ir.Type) -> ir.Type:
    """As many lanes as `kind` has, of type `lane`."""
    return ir.VectorType(lane, kind.count) if isinstance(kind, ir.VectorType) else lane


class Lanes:
    """One LLVM value and the builder that continues its formula."""

    __slots__ = ("builder", "value")

    def __init__(self, builder: ir.IRBuilder, value: ir.Value) -> None:
        self.builder = builder
        self.value = value

    @property
    def type(self) -> ir.Type:
        return self.value.type

    @property
    def format(self) -> Format:
        lane = element(self.type)
        return next((f for f in (FLOAT64, FLOAT16) if lane in (f.scalar, f.integer)), FLOAT32)

    @property
    def is_float(self) -> bool:
        return not isinstance(element(self.type), ir.IntType)

    def new(self, value: ir.Value) -> Lanes:
        return Lanes(self.builder, value)

    def full(self, value: float | int) -> Lanes:
        """A number in every lane, in this value's type."""
        return self.new(number(self.type, value))

    def _operand(self, other: Lanes | float | int) -> ir.Value:
        return other.value if isinstance(other, Lanes) else number(self.type, other)

    def _emit(self, floats: str, integers: str, other: Any, swapped: bool = False) -> Lanes:
        build = getattr(self.builder, floats if self.is_float else integers)
        a, b = self.value, self._operand(other)
        return self.new(build(b, a) if swapped else build(a, b))

    def __add__(self, other: Lanes | float | int) -> Lanes:
        return self._emit("fadd", "add", other)

    def __radd__(self, other: float | int) -> Lanes:
        return self._emit("fadd", "add", other, swapped=True)

    def __sub__(self, other: Lanes | float | int) -> Lanes:
        return self._emit("fsub", "sub", other)

    def __rsub__(self, other: float | int) -> Lanes:
        return self._emit("fsub", "sub", other, swapped=True)

    def __mul__(self, other: Lanes | float | int) -> Lanes:
        return self._emit("fmul", "mul", other)

    def __rmul__(self, other: float | int) -> Lanes:
        return self._emit("fmul", "mul", other, swapped=True)

    def __truediv__(self, other: Lanes | float | int) -> Lanes:
        return self._emit("fdiv", "", other)

    def __rtruediv__(self, other: float | int) -> Lanes:
        return self._emit("fdiv", "", other, swapped=True)

    def __neg__(self) -> Lanes:
        return self.new(self.builder.fneg(self.value) if self.is_float else (0 - self).value)

    def __lshift__(self, places: Lanes | int) -> Lanes:
        return self._emit("", "shl", places)

    def __rshift__(self, places: Lanes | int) -> Lanes:
        """Zeros enter from the left: not every processor shifts the sign into 64-bit lanes."""
        return self._emit("", "lshr", places)

    def __and__(self, other: Lanes | int) -> Lanes:
        return self._emit("", "and_", other)

    def __or__(self, other: Lanes | int) -> Lanes:
        return self._emit("", "or_", other)

    def __xor__(self, other: Lanes | int) -> Lanes:
        return self._emit("", "xor", other)

    def __invert__(self) -> Lanes:
        return self.new(self.builder.not_(self.value))

    def by(self, instruction: str, other: Lanes | float | int) -> Lanes:
        """An instruction for which there is no operator: udiv, ashr."""
        return self.new(getattr(self.builder, instruction)(self.value, self._operand(other)))

    def below(self, other: Lanes | int) -> Lanes:
        """Less, of integers without sign."""
        return self.new(self.builder.icmp_unsigned("<", self.value, self._operand(other)))

    def _compare(self, sign: str, other: Lanes | float | int) -> Lanes:
        build = self.builder.fcmp_ordered if self.is_float else self.builder.icmp_signed
        return self.new(build(sign, self.value, self._operand(other)))

    def __lt__(self, other: Lanes | float | int) -> Lanes:
        return self._compare("<", other)

    def __le__(self, other: Lanes | float | int) -> Lanes:
        return self._compare("<=", other)

    def __gt__(self, other: Lanes | float | int) -> Lanes:
        return self._compare(">", other)

    def __ge__(self, other: Lanes | float | int) -> Lanes:
        return self._compare(">=", other)

    def equals(self, other: Lanes | float | int) -> Lanes:
        """Equal, and neither is nan."""
        return self._compare("==", other)

    def differs(self, other: Lanes | float | int) -> Lanes:
        """Not equal, or one is nan."""
        if not self.is_float:
            return self._compare("!=", other)
        return self.new(self.builder.fcmp_unordered("!=", self.value, self._operand(other)))

    def is_nan(self) -> Lanes:
        return self.new(self.builder.fcmp_unordered("uno", self.value, self.value))

    def to(self, instruction: str, lane: ir.Type) -> Lanes:
        """As many lanes of another type, by an instruction that makes them: fpext, bitcast."""
        return self.new(getattr(self.builder, instruction)(self.value, like(self.type, lane)))

    def bits(self) -> Lanes:
        """The bits of floats, read as integers."""
        return self.to("bitcast", self.format.integer)

    def floats(self) -> Lanes:
        """The bits of integers, read as floats."""
        return self.to("bitcast", self.format.scalar)

    def sign_bit(self) -> Lanes:
        """A mask: the sign is minus, also that of -0 and of nan."""
        return self.bits() < 0

    def widen(self) -> Lanes:
        """float32 lanes in float64, exactly."""
        return self.to("fpext", FLOAT64.scalar)

    def narrow(self) -> Lanes:
        """float64 lanes rounded to float32."""
        return self.to("fptrunc", FLOAT32.scalar)

    def call(self, intrinsic: str, *others: Lanes | float) -> Lanes:
        """An intrinsic of LLVM whose arguments and result are all of this type."""
        operands = [self.value, *(self._operand(other) for other in others)]
        name = f"llvm.{intrinsic}.{mangled(self.type)}"
        return self.new(call(self.builder, name, self.type, operands))

    def any(self) -> ir.Value:
        """Whether a mask holds in some lane: one bit, to branch on."""
        if not isinstance(self.type, ir.VectorType):
            return self.value
        name = f"llvm.vector.reduce.or.{mangled(self.type)}"
        return call(self.builder, name, INT1, [self.value])


def of_values(builder: ir.IRBuilder, value: Any) -> Any:
    """A value as lanes; the pair of a complex number as a pair of them."""
    if isinstance(value, tuple):
        return tuple(Lanes(builder, part) for part in value)
    return Lanes(builder, value)


def values_of(lanes: Any) -> Any:
    return tuple(x.value for x in lanes) if isinstance(lanes, tuple) else lanes.value


def _first(*operands: Lanes | float) -> Lanes:
    return next(operand for operand in operands if isinstance(operand, Lanes))


def _of_three(name: str, a: Lanes | float, b: Lanes | float, c: Lanes | float) -> Lanes:
    x = a if isinstance(a, Lanes) else _first(b, c).full(a)
    return x.call(name, b, c)


def mad(a: Lanes | float, b: Lanes | float, c: Lanes | float) -> Lanes:
    """a b + c, rounded once where the processor can and twice where that is faster."""
    return _of_three("fmuladd", a, b, c)


def fma(a: Lanes | float, b: Lanes | float, c: Lanes | float) -> Lanes:
    """a b + c, rounded once everywhere: for errors of products, which two roundings would lose."""
    return _of_three("fma", a, b, c)


def where(mask: Lanes, a: Lanes | float, b: Lanes | float) -> Lanes:
    """a in the lanes where the mask holds, b in the others."""
    lead = _first(a, b)
    return lead.new(mask.builder.select(mask.value, lead._operand(a), lead._operand(b)))


def smaller(a: Lanes, b: Lanes | float) -> Lanes:
    """The smaller; `a` where one is nan. One instruction where the processor has it so."""
    return where(a > b, b, a)


def larger(a: Lanes, b: Lanes | float) -> Lanes:
    """The larger; `a` where one is nan."""
    return where(a < b, b, a)


def absolute(x: Lanes) -> Lanes:
    return x.call("fabs")


def sqrt(x: Lanes) -> Lanes:
    return x.call("sqrt")


def copysign(magnitude: Lanes, sign: Lanes) -> Lanes:
    return magnitude.call("copysign", sign)


def can_scale(x: Lanes) -> bool:
    """Whether the processor multiplies such lanes by powers of two in one instruction."""
    kind = x.type
    return (
        isinstance(kind, ir.VectorType)
        and x.is_float
        and kind.count * x.format.bits == 512
        and machine.host().has("avx512f")
    )


def scale(x: Lanes, n: Lanes) -> Lanes:
    """x 2^n for whole n, rounded once: AVX-512's vscalef."""
    short, mask = ("ps", ir.IntType(16)) if x.format is FLOAT32 else ("pd", ir.IntType(8))
    name = f"llvm.x86.avx512.mask.scalef.{short}.512"
    every, as_usual = mask(-1), INT32(4)  # all lanes; the current direction of rounding
    return x.new(call(x.builder, name, x.type, [x.value, n.value, x.value, every, as_usual]))


def negate_where(mask: Lanes, x: Lanes) -> Lanes:
    return where(mask, -x, x)


def polynomial(x: Lanes, table: Mapping[int, tuple[float, ...]]) -> Lanes:
    """Σ c[k] x^k, by Horner's rule.

    A long one is two rules in x², for its odd and its even part: half the waiting, one
    multiplication more.
    """
    coefficients = table[x.format.bits]
    if len(coefficients) < 10:
        return horner(x, coefficients)
    square = x * x
    return mad(x, horner(square, coefficients[1::2]), horner(square, coefficients[::2]))


def horner(x: Lanes, coefficients: Sequence[float]) -> Lanes:
    total: Lanes | float = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        total = mad(x, total, coefficient)
    return total if isinstance(total, Lanes) else x.full(total)


def two_sum(a: Lanes, b: Lanes) -> tuple[Lanes, Lanes]:
    """a + b and its rounding error, where |a| >= |b| (Dekker, 1971)."""
    total = a + b
    return total, (a - total) + b


def two_product(a: Lanes, b: Lanes | float) -> tuple[Lanes, Lanes]:
    """a b and its rounding error."""
    product = a * b
    return product, fma(a, b, -product)


def branch(
    condition: ir.Value, rare: Callable[[], Sequence[Lanes]], usual: Sequence[Lanes]
) -> list[Lanes]:
    """`rare()` where the condition holds in some lane, else `usual`, which is computed already."""
    builder = usual[0].builder
    before = builder.block
    with builder.if_then(condition, likely=False):
        results = rare()
        after = builder.block
    merged = []
    for result, value in zip(results, usual, strict=True):
        phi = builder.phi(value.type)
        phi.add_incoming(value.value, before)
        phi.add_incoming(result.value, after)
        merged.append(Lanes(builder, phi))
    return merged


def repeat(
    start: Sequence[Lanes], step: Callable[..., tuple[ir.Value, Sequence[Lanes]]]
) -> list[Lanes]:
    """Replace the values by `step` of them, once and while the step says that more is to do."""
    builder = start[0].builder
    with rounds(builder, [value.value for value in start]) as (carried, end):
        more, results = step(*(Lanes(builder, value) for value in carried))
        end(more, [result.value for result in results])
    return list(results)
