"""How terms are written: as Python text, as LaTeX, and for SymPy."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.arrays.symbolic.terms import Term, ordered
from wengert.rules.neural import relu, sigmoid
from wengert.rules.rule import RULES

Function = Callable[..., Any]

SUM, PRODUCT, SIGN, POWER, ATOM = range(5)
"""How tightly a formula holds together."""

_INFIX: dict[Function, tuple[str, int]] = {
    np.add: (" + ", SUM),
    np.subtract: (" - ", SUM),
    np.multiply: ("*", PRODUCT),
    np.divide: ("/", PRODUCT),
    np.power: ("**", POWER),
    np.less: (" < ", SUM),
    np.less_equal: (" <= ", SUM),
    np.greater: (" > ", SUM),
    np.greater_equal: (" >= ", SUM),
    np.equal: (" == ", SUM),
    np.not_equal: (" != ", SUM),
}
_NAMES: dict[Function, str] = {np.absolute: "abs", np.maximum: "max", np.minimum: "min"}
LIMIT = 100_000
"""A text of more letters than this is not written: shared parts would be repeated in it."""


def name_of(function: Function) -> str:
    """What a function is called in a formula."""
    return _NAMES.get(function) or str(getattr(function, "__name__", function))


Parts = list[tuple[str, int]]


def put_together(root: Term, symbol: Any, number: Any, call: Callable[[Term, Parts], Any]) -> str:
    """A formula put together from the texts of its parts, each with how tightly it holds."""
    texts: dict[Term, tuple[str, int]] = {}
    for a in ordered([root]):
        if a.is_symbol:
            texts[a] = symbol(a.value), ATOM
        elif a.function is None:
            texts[a] = number(a.value)
        else:
            texts[a] = call(a, [texts[part] for part in a.args])
            if len(texts[a][0]) > LIMIT:
                raise ValueError(
                    f"the formula has more than {LIMIT} letters written out. Look at parts of it, "
                    "or simplify it first."
                )
    return texts[root][0]


def held(part: tuple[str, int], least: int, brackets: str = "()") -> str:
    """A part's text, in brackets if it holds together less than it must."""
    text, strength = part
    return text if strength >= least else f"{brackets[0]}{text}{brackets[1]}"


def _sides(function: Function, strength: int) -> tuple[int, int]:
    """How tightly the operands of an operator must hold."""
    left = strength + (function is np.power)
    right = strength + (function in (np.subtract, np.divide))
    if function is np.multiply:
        right = strength
    return left, right


# ---- text --------------------------------------------------------------------------------------


def text(root: Term) -> str:
    """A formula as Python text.

    >>> from wengert.arrays.symbolic.array import symbols
    >>> x = symbols("x")
    >>> text((4 * x * (1 - x)).item())
    '4*x*(1 - x)'
    """

    def number(value: Any) -> tuple[str, int]:
        negative = isinstance(value, (int, float)) and math.copysign(1, value) < 0
        return repr(value), SIGN if negative else ATOM

    def call(a: Term, parts: Parts) -> tuple[str, int]:
        function = a.function
        if function is np.negative:
            return f"-{held(parts[0], PRODUCT)}", SUM
        if function in _INFIX:
            sign, strength = _INFIX[function]
            left, right = _sides(function, strength)
            return f"{held(parts[0], left)}{sign}{held(parts[1], right)}", strength
        return f"{name_of(function)}({', '.join(p for p, _ in parts)})", ATOM  # type: ignore[arg-type]

    return put_together(root, str, number, call)


# ---- LaTeX -------------------------------------------------------------------------------------

_COMMANDS: dict[Function, str] = {
    **{
        getattr(np, n): f"\\{n}"
        for n in ["sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh"]
    },
    np.log: r"\ln",
    np.maximum: r"\max",
    np.minimum: r"\min",
    sigmoid: r"\sigma",
}
_RELATIONS = {
    np.less: "<",
    np.less_equal: r"\le",
    np.greater: ">",
    np.greater_equal: r"\ge",
    np.equal: "=",
    np.not_equal: r"\ne",
}
_GREEK = re.compile(
    "alpha|beta|gamma|delta|epsilon|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|pi|rho|sigma|tau|"
    "upsilon|phi|chi|psi|omega"
)


def latex(root: Term) -> str:
    r"""A formula as LaTeX.

    >>> from wengert.arrays.symbolic.array import symbols
    >>> x, y = symbols("x1"), symbols("theta")
    >>> latex((np.log(x) / y ** 2).item())
    '\\frac{\\ln x_{1}}{\\theta^{2}}'
    """
    return put_together(root, _latex_symbol, _latex_number, _latex_call)


def _latex_symbol(name: str) -> str:
    letters, digits = re.fullmatch(r"(.*?)[_]?([\d_]*)", name).groups()  # type: ignore[union-attr]
    letters = f"\\{letters}" if _GREEK.fullmatch(letters) else letters
    letters = letters if len(letters) == 1 or letters[:1] == "\\" else rf"\mathrm{{{letters}}}"
    return letters + (f"_{{{digits.replace('_', ',')}}}" if digits else "")


def _latex_number(value: Any) -> tuple[str, int]:
    if isinstance(value, float) and "e" in repr(value):
        digits, _, power = repr(value).partition("e")
        return rf"{digits} \cdot 10^{{{int(power)}}}", PRODUCT
    return repr(value), ATOM if not str(value).startswith("-") else SIGN


def _latex_call(a: Term, parts: Parts) -> tuple[str, int]:
    function = a.function
    texts = [p for p, _ in parts]
    brackets = (r"\left(", r"\right)")
    part = lambda k, least: held(parts[k], least, brackets)  # type: ignore[arg-type]
    if function is np.negative:
        return f"-{part(0, PRODUCT)}", SUM
    if function in (np.add, np.subtract):
        sign = "+" if function is np.add else "-"
        return f"{part(0, SUM)} {sign} {part(1, SUM + (function is np.subtract))}", SUM
    if function is np.multiply:
        right = part(1, PRODUCT)
        dot = r" \cdot " if right[:1].isdigit() else r" "
        return f"{part(0, PRODUCT)}{dot}{right}", PRODUCT
    if function is np.divide:
        return rf"\frac{{{texts[0]}}}{{{texts[1]}}}", PRODUCT + 1
    if function is np.power:
        return f"{part(0, ATOM)}^{{{texts[1]}}}", POWER
    if function is np.exp:
        return f"e^{{{texts[0]}}}", POWER
    if function is np.sqrt:
        return rf"\sqrt{{{texts[0]}}}", ATOM
    if function is np.absolute:
        return rf"\left|{texts[0]}\right|", ATOM
    if function in _RELATIONS:
        return f"{texts[0]} {_RELATIONS[function]} {texts[1]}", SUM
    if function is np.where:
        rows = rf"{texts[1]} & \text{{if }} {texts[0]} \\ {texts[2]} & \text{{otherwise}}"
        return rf"\begin{{cases}} {rows} \end{{cases}}", ATOM
    command = _COMMANDS.get(function) or rf"\operatorname{{{name_of(function)}}}"  # type: ignore[arg-type]
    if len(parts) == 1 and parts[0][1] >= ATOM and a.args[0].function is None:
        return f"{command} {texts[0]}", PRODUCT
    return rf"{command}\left({', '.join(texts)}\right)", POWER


# ---- SymPy -------------------------------------------------------------------------------------


def _meanings(sympy: Any) -> dict[Function, Any]:
    names = (
        "sign floor ceil:ceiling maximum:Max minimum:Min absolute:Abs less:Lt less_equal:Le "
        "greater:Gt greater_equal:Ge equal:Eq not_equal:Ne logical_and:And logical_or:Or "
        "logical_not:Not"
    )
    pairs = (name.partition(":") for name in names.split())
    sense = {getattr(np, ours): getattr(sympy, theirs or ours) for ours, _, theirs in pairs}
    # PyTorch and SymPy call a function by one name, but for sinc, which is sin(x)/x in SymPy.
    alike = vars(sympy.functions).keys() - {"sinc"}
    sense |= {r.function: getattr(sympy, n) for r in RULES.values() for n in r.names if n in alike}
    return sense | {
        np.add: lambda a, b: a + b,
        np.subtract: lambda a, b: a - b,
        np.multiply: lambda a, b: a * b,
        np.divide: lambda a, b: a / b,
        np.power: lambda a, b: a**b,
        np.negative: lambda a: -a,
        np.expm1: lambda a: sympy.exp(a) - 1,
        np.log1p: lambda a: sympy.log(1 + a),
        np.log2: lambda a: sympy.log(a) / sympy.log(2),
        np.log10: lambda a: sympy.log(a) / sympy.log(10),
        np.exp2: lambda a: 2**a,
        np.cbrt: sympy.cbrt,
        np.hypot: lambda a, b: sympy.sqrt(a**2 + b**2),
        np.logaddexp: lambda a, b: sympy.log(sympy.exp(a) + sympy.exp(b)),
        np.where: lambda c, a, b: sympy.Piecewise((a, c), (b, True)),
        sigmoid: lambda a: 1 / (1 + sympy.exp(-a)),
        relu: lambda a: sympy.Max(a, 0),
    }


def to_sympy(root: Term) -> Any:
    """A formula as an expression of SymPy, whose symbols are real."""
    import sympy

    meanings = _meanings(sympy)
    expressions: dict[Term, Any] = {}
    for a in ordered([root]):
        if a.is_symbol:
            expressions[a] = sympy.Symbol(a.value, real=True)
        elif a.function is None:
            expressions[a] = sympy.nsimplify(a.value, rational=True)
        elif a.function in meanings:
            expressions[a] = meanings[a.function](*(expressions[part] for part in a.args))
        else:
            raise ValueError(
                f"{name_of(a.function)} has no counterpart in SymPy that is known here. Write it "
                "with arithmetic and elementary functions to simplify the formula."
            )
    return expressions[root]
