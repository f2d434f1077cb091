"""How a textbook writes the steps of a computation: ln v, v × w, and their derivatives.

One entry for each function with a notation of its own: a template for the step itself, where {x},
{a}, {b} stand for arguments. How an argument's share in the derivative is written follows from the
rule (`slopes.py`); a template for it, with {t} for the tangent or cotangent and {y} for the result,
stands here only where the rule has cases or is about matrices. Numbers never come from here: they
come from the rules, and a test checks the two against each other. Functions without an entry are
written f(x), or f x if their name is a sign of its own, as sin is.
"""

from __future__ import annotations

import inspect
import math
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wengert.rules.indexing import getitem, put
from wengert.rules.neural import erf, relu, sigmoid
from wengert.rules.products import affine
from wengert.rules.rule import Rule

Template = str | Callable[[dict[str, Any]], str]


@dataclass(frozen=True)
class Notation:
    """A function's templates: the step, and each argument's share in the derivative.

    A linear function does to a tangent what it does to a value; `pushes` are for those that are
    only affine.
    """

    step: Template
    slopes: dict[str, Template] = field(default_factory=dict)
    pushes: dict[str, Template] = field(default_factory=dict)


def _binary(step: Template, a: Template, b: Template) -> Notation:
    return Notation(step, {"a": a, "b": b})


def _power(call: dict[str, Any]) -> str:
    return "{a}²" if _is_number(call["b"], 2) else "{a}^{b}"


def _power_slope(call: dict[str, Any]) -> str:
    b = call["b"]
    if _is_number(b, 2):
        return "{t} × 2 × {a}"
    if isinstance(b, float):
        power = "²" if b == 3 else "" if b == 2 else f"^{_parenthesised(number(b - 1))}"
        return "{t} × {b} × {a}" + power
    return "{t} × {b} × {a}^({b} - 1)"


def _divisor_slope(call: dict[str, Any]) -> str:
    return "-{t} / {b}²" if _is_number(call["a"], 1) else "-{t} × {a} / {b}²"


def _chosen(a: str, sign: str, b: str) -> Template:
    """The share of the one that is chosen; where both are equal, each has a half."""
    usual = f"{{t}} × [{{{a}}} {sign} {{{b}}}]"
    tied = f"{{t}} × ([{{{a}}} {sign} {{{b}}}] + [{{{a}}} = {{{b}}}] / 2)"
    return lambda call: tied if np.any(np.equal(call[a], call[b])) else usual


def _bias_slope(call: dict[str, Any]) -> str:
    return "{t}" if np.ndim(call["x"]) < 2 else "Σ {t}"


def _is_number(value: Any, number: float) -> bool:
    return isinstance(value, (int, float)) and value == number


def _index(call: dict[str, Any]) -> str:
    index = call["index"]
    parts = index if isinstance(index, tuple) else (index,)
    return f"[{', '.join(map(_part, parts))}]"


def _part(part: Any) -> str:
    if part is Ellipsis:
        return "..."
    if isinstance(part, slice):
        ends = ["" if end is None else str(end) for end in (part.start, part.stop, part.step)]
        return ":".join(ends if ends[2] else ends[:2])
    return "…" if isinstance(part, np.ndarray) and part.ndim else str(part)


NOTATION: dict[Any, Notation] = {
    np.add: Notation("{a} + {b}"),
    np.subtract: Notation("{a} - {b}"),
    np.multiply: Notation("{a} × {b}"),
    np.divide: Notation("{a} / {b}", {"b": _divisor_slope}),
    np.power: _binary(_power, _power_slope, "{t} × {y} × ln {a}"),
    np.negative: Notation("-{x}"),
    np.positive: Notation("{x}"),
    np.reciprocal: Notation("1 / {x}"),
    np.square: Notation("{x}²"),
    np.exp2: Notation("2^{x}"),
    np.expm1: Notation("exp {x} - 1"),
    np.log: Notation("ln {x}"),
    np.log2: Notation("log₂ {x}"),
    np.log10: Notation("log₁₀ {x}"),
    np.log1p: Notation("ln(1 + {x})"),
    np.sqrt: Notation("√{x}"),
    np.cbrt: Notation("∛{x}"),
    np.logaddexp: _binary("ln(exp {a} + exp {b})", "{t} × exp({a} - {y})", "{t} × exp({b} - {y})"),
    np.arctan2: _binary(
        "atan2({a}, {b})", "{t} × {b} / ({a}² + {b}²)", "-{t} × {a} / ({a}² + {b}²)"
    ),
    np.hypot: _binary("√({a}² + {b}²)", "{t} × {a} / {y}", "{t} × {b} / {y}"),
    np.absolute: Notation("abs {x}", {"x": "{t} × sign {x}"}),
    np.sign: Notation("sign {x}", {"x": "{t} × 0"}),
    np.floor: Notation("floor {x}"),
    np.ceil: Notation("ceil {x}"),
    np.maximum: _binary("max({a}, {b})", _chosen("a", ">", "b"), _chosen("b", ">", "a")),
    np.minimum: _binary("min({a}, {b})", _chosen("a", "<", "b"), _chosen("b", "<", "a")),
    sigmoid: Notation("σ({x})"),
    relu: Notation("relu({x})", {"x": "{t} × [{x} > 0]"}),
    erf: Notation("erf {x}"),
    np.matmul: Notation("{a} {b}", {"a": "{t} {b}ᵀ", "b": "{a}ᵀ {t}"}),
    np.dot: Notation("{a} · {b}"),
    affine: Notation(
        lambda call: "{x} {weight}ᵀ" + ("" if call["bias"] is None else " + {bias}"),
        {"x": "{t} {weight}", "weight": "{t}ᵀ {x}", "bias": _bias_slope},
        {"x": "{t} {weight}ᵀ", "weight": "{x} {t}ᵀ", "bias": "{t}"},
    ),
    np.sum: Notation("Σ {a}", {"a": "{t} × 1"}),
    np.mean: Notation("mean {a}", {"a": lambda call: f"{{t}} / {np.size(call['a'])}"}),
    np.transpose: Notation("{a}ᵀ", {"a": "{t}ᵀ"}),
    getitem: Notation(
        lambda call: "{x}" + _index(call), {"x": lambda call: "{t} at " + _index(call)}
    ),
    put: Notation(
        lambda call: "{x} with {value} at " + _index(call),
        {"x": lambda call: "{t} with 0 at " + _index(call), "value": lambda c: "{t}" + _index(c)},
        {
            "x": lambda call: "{t} with 0 at " + _index(call),
            "value": lambda call: "{t} at " + _index(call),
        },
    ),
}


SIGNS = "ln sin cos tan sinh cosh tanh arcsin arccos arctan exp max min log"
"""Names that are signs of their own: they stand upright, and need no parentheses."""


def notation(rule: Rule) -> Notation | None:
    """How a function's step is written, and shares in its derivative that say more than the rule.

    >>> from wengert.rules.rule import RULES
    >>> notation(RULES[np.sin]).step
    'sin {x}'
    """
    known = NOTATION.get(rule.function)
    name = getattr(rule.function, "__name__", "")
    if known is None and name in SIGNS.split() and len(rule.arguments) == 1:
        return Notation(f"{name} {{{rule.arguments[0]}}}")
    return known


def written(template: Template, call: dict[str, Any], names: dict[str, str]) -> str:
    """A template with names or numbers in it, negative numbers in parentheses where needed.

    >>> written("{t} × {a}²", {}, {"t": "0.5", "a": "-3"})
    '0.5 × (-3)²'
    """
    text = template if isinstance(template, str) else template(call)
    pieces, position = [], 0
    for match in re.finditer(r"\{(\w+)\}", text):
        pieces.append(text[position : match.start()])
        before = "".join(pieces)[-1:]
        after = text[match.end() : match.end() + 1]
        item = names[match[1]]
        if _needs_parentheses(item, before, after):
            item = f"({item})"
        pieces.append(item)
        position = match.end()
    return "".join([*pieces, text[position:]])


def _needs_parentheses(item: str, before: str, after: str) -> bool:
    if after in ("²", "^") and item[0] in "-(":
        return True
    return item.startswith("-") and before not in ("", "(", "[")


def _parenthesised(text: str) -> str:
    return f"({text})" if text.startswith("-") else text


# ---- names and numbers ---------------------------------------------------------------------

_SUBSCRIPTS = str.maketrans("-0123456789", "₋₀₁₂₃₄₅₆₇₈₉")
_ASCII = {ord(c): p for c, p in zip("₋₀₁₂₃₄₅₆₇₈₉", "-0123456789", strict=True)}
DOT, BAR = "\u0307", "\u0304"


def variable(index: int, mark: str = "") -> str:
    """v₋₁, or with a mark v̇₋₁ and v̄₋₁.

    >>> variable(-1)
    'v₋₁'
    """
    return f"v{mark}{subscript(index)}"


def marked(name: str, mark: str) -> str:
    """A name with a dot or bar over its first letter, as one character where there is one.

    >>> marked("y", DOT) == "\N{LATIN SMALL LETTER Y WITH DOT ABOVE}"
    True
    """
    return unicodedata.normalize("NFC", f"{name[0]}{mark}{name[1:]}")


def subscript(index: int) -> str:
    return str(index).translate(_SUBSCRIPTS)


_NUMBERED = re.compile("(?<!\\w)([^\\W\\d_][\u0304\u0307]?)(\\d+)(?!\\w)")


def typeset(text: str) -> str:
    """A text with the numbers of variables below the line, as they are printed.

    >>> typeset("ln x1 + atan2(x1, x22)")
    'ln x₁ + atan2(x₁, x₂₂)'
    """
    return _NUMBERED.sub(lambda m: m[1] + m[2].translate(_SUBSCRIPTS), text)


def ascii_only(text: str) -> str:
    """A text in ASCII, for terminals that know nothing else: v_1, dot(v_1), bar(v_1).

    >>> ascii_only("v̄₀ = v̄₂ × v₋₁")
    'bar(v_0) = bar(v_2) * v_-1'
    """
    text = unicodedata.normalize("NFD", text)
    text = re.sub(rf"(\w){DOT}([\w₋₀-₉]*)", r"dot(\1\2)", text)
    text = re.sub(rf"(\w){BAR}([\w₋₀-₉]*)", r"bar(\1\2)", text)
    text = re.sub(r"(?<=[a-z])([₋₀-₉]+)", lambda m: "_" + m[1].translate(_ASCII), text)
    for sign, ascii in {
        "×": "*", "·": ".", "²": "^2", "√": "sqrt ", "∛": "cbrt ", "∂": "d", "ᵀ": "^T", "Σ": "sum",
        "σ": "sigmoid", "π": "pi", "…": "...", "—": "-", "→": "->",
    }.items():  # fmt: skip
        text = text.replace(sign, ascii)
    return text.encode("ascii", "replace").decode()


_COMMANDS = re.compile(rf"(?<![A-Za-z])({SIGNS.replace(' ', '|')})(?![A-Za-z])")


def latex(text: str) -> str:
    r"""A text in LaTeX's mathematics.

    >>> print(latex("v̄₀ = v̄₂ × sin v₋₁"))
    \bar{v}_{0} = \bar{v}_{2} \times \sin v_{-1}
    """
    text = unicodedata.normalize("NFD", text)
    text = re.sub(r"\*\*(\w+|\([^()]*\))", r"^{\1}", text).replace("*", r" \cdot ")
    text = _COMMANDS.sub(r"\\\1", text)
    text = re.sub(rf"(\w){DOT}", r"\\dot{\1}", text)
    text = re.sub(rf"(\w){BAR}", r"\\bar{\1}", text)
    text = re.sub("[₋₀-₉]+", lambda m: f"_{{{m[0].translate(_ASCII)}}}", text)
    text = re.sub(r"(?<=[A-Za-z}])(\d+)", r"_{\1}", text)
    text = re.sub(r"(\d)e([+-]?)0*(\d+)", r"\1 \\cdot 10^{\2\3}", text)
    text = re.sub(r"\^\(([^()]*)\)", r"^{\1}", text)
    for sign, command in {
        "×": r"\times", "·": r"\cdot", "²": "^2", "√": r"\surd ", "∛": r"\sqrt[3]", "ᵀ": r"^{\top}",
        "∂": r"\partial ", "Σ": r"\sum ", "σ": r"\sigma ", "π": r"\pi ", "…": r"\dots", "→": r"\to",
    }.items():  # fmt: skip
        text = text.replace(sign, command)
    return text.replace("^{+", "^{")


def number(value: Any, digits: int = 3) -> str:
    """A number as a textbook prints it: three decimals, fewer if they are zeros.

    >>> [number(x) for x in (2.0, 0.6931471, -0.00012345, 1e9, float("inf"))]
    ['2', '0.693', '-0.000123', '1e+09', 'inf']
    """
    value = np.asarray(value)
    if value.ndim:
        return _array(value, digits)
    x = float(value)
    if not math.isfinite(x):
        return str(x)
    if x == 0:
        return "0"
    size = abs(x)
    if size >= 10 ** max(6, digits) or size < 1e-4:
        return re.sub(r"\.?0*e", "e", f"{x:.{max(digits - 1, 0)}e}")
    decimals = digits if size >= 0.1 else digits - 1 - math.floor(math.log10(size))
    text = f"{x:.{max(decimals, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _array(value: Any, digits: int) -> str:
    if value.size > 9 or value.ndim > 2:
        return f"array of {' × '.join(map(str, value.shape))}"
    inner = (_array(v, digits) if v.ndim else number(v, digits) for v in value)
    return f"[{', '.join(inner)}]"


def parameters_of(f: Any) -> list[str]:
    """The names of f's parameters, as far as it tells."""
    if variables := getattr(f, "variables", None):
        return list(variables)
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
