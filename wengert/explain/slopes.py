"""What a textbook writes for an argument's share in a derivative: read off the rule itself.

The rule is given symbols, and the formula that comes back is written with the signs of
`notation.py`: np.arctan's `t / (1 + x * x)` becomes {t} / (1 + {x}²).
"""

from __future__ import annotations

import functools
import math
import re
from typing import Any

import numpy as np

from wengert.arrays.symbolic.array import symbols
from wengert.arrays.symbolic.formulas import ATOM, POWER, PRODUCT, SUM, held, put_together
from wengert.arrays.symbolic.terms import Term, term
from wengert.errors import TracingError
from wengert.explain.notation import notation, number
from wengert.rules.rule import RULES, Rule, push

LONGEST = 80
"""More letters than this, placeholders counted, are not written beside a number."""
_CONSTANTS = {
    math.log(2): "ln 2",
    math.log(10): "ln 10",
    math.pi: "π",
    math.pi / 180: "π/180",
    180 / math.pi: "180/π",
    2 / math.sqrt(math.pi): "2/√π",
}
_UNREADABLE = np.where, np.isinf, np.logical_not, np.bitwise_and, np.bitwise_or


@functools.cache
def slope(rule: Rule, argument: str) -> str | None:
    """The template of an argument's share; None where the rule is no formula that one can read.

    >>> from wengert.rules.rule import RULES
    >>> slope(RULES[np.arctan], "x")
    '{t} / (1 + {x}²)'
    """
    if rule.family != "elementwise" or argument not in rule.forward:
        return None
    call = {name: symbols(name) for name in rule.arguments}
    try:
        share = push(rule, argument, symbols("t"), call, symbols("y")).item()
        text = put_together(share, lambda name: f"{{{name}}}", _number, _call)
    except (TracingError, _UnreadableError, ValueError):
        return None
    if text == "0":
        return "{t} × 0"
    return text if len(text) <= LONGEST else None


class _UnreadableError(Exception):
    """A formula has cases, which a line beside a number has no room for."""


def _number(value: Any) -> tuple[str, int]:
    known = _CONSTANTS.get(abs(value)) if isinstance(value, float) else None
    text = known or number(abs(value), 6)
    sign = "-" if value < 0 else ""
    return sign + text, SUM if sign else PRODUCT if known and known != "π" else ATOM


Part = tuple[str, int]


def _call(a: Term, parts: list[Part]) -> Part:
    function = a.function
    if function in _UNREADABLE:
        raise _UnreadableError
    if function is np.negative:
        return f"-{held(parts[0], PRODUCT)}", SUM
    if function in (np.add, np.subtract):
        sign, least = (" + ", SUM) if function is np.add else (" - ", PRODUCT)
        return f"{held(parts[0], SUM)}{sign}{held(parts[1], least)}", SUM
    if function in (np.multiply, np.divide):
        return _quotient(a)
    return _applied(a, parts)


def _quotient(a: Term) -> Part:
    """A product of powers over another, the tangent first, and one sign before all."""
    above, below = _factors(a)
    negative = sum(map(_is_negative, above + below)) % 2
    above, below = ([_unsigned(f) for f in side] for side in (above, below))
    above.sort(key=lambda f: not (f.is_symbol and f.value == "t"))
    text = " × ".join(_powers(above)) or "1"
    if below:
        under = " × ".join(_powers(below))
        text += f" / {under}" if _strength(under) > PRODUCT else f" / ({under})"
    return (f"-{text}", SUM) if negative else (text, PRODUCT)


def _strength(text: str) -> int:
    """How tightly a text holds together, by what stands outside its parentheses."""
    while (bare := re.sub(r"\([^()]*\)", "…", text)) != text:
        text = bare
    if text[0] == "-" or " + " in text or " - " in text:
        return SUM
    if "×" in text or "/" in text:
        return PRODUCT
    return POWER if re.search(r"[ ²³^]", text) else ATOM


def _factors(a: Term) -> tuple[list[Term], list[Term]]:
    """What a term is a product of, and what it is divided by."""
    if a.function is np.multiply:
        (p, q), (r, s) = _factors(a.args[0]), _factors(a.args[1])
        return p + r, q + s
    if a.function is np.divide:
        (p, q), (r, s) = _factors(a.args[0]), _factors(a.args[1])
        return p + s, q + r
    return [a], []


def _is_negative(a: Term) -> bool:
    return a.function is np.negative or (a.is_number and a.value < 0)


def _unsigned(a: Term) -> Term:
    if not _is_negative(a):
        return a
    return term(-a.value) if a.is_number else a.args[0]


def _powers(factors: list[Term]) -> list[str]:
    texts = []
    for f in dict.fromkeys(factors):
        text = put_together(f, lambda name: f"{{{name}}}", _number, _call)
        if f.function in (np.add, np.subtract) or text[0] == "-":
            text = f"({text})"
        count = factors.count(f)
        texts.append(text + {1: "", 2: "²", 3: "³"}.get(count, f"^{count}"))
    return texts


def _applied(a: Term, parts: list[Part]) -> Part:
    """A function of other terms, as `notation.py` writes a step."""
    rule = RULES.get(a.function)  # type: ignore[arg-type]
    known = notation(rule) if rule else None
    if rule is None or known is None:
        name = getattr(a.function, "__name__", str(a.function)).lstrip("_")
        return f"{name}({', '.join(text for text, _ in parts)})", ATOM
    given = dict(zip(rule.arguments, parts, strict=False))
    values = [arg.value if arg.is_number else arg for arg in a.args]
    call = dict(zip(rule.arguments, values, strict=False))
    template = known.step if isinstance(known.step, str) else known.step(call)

    def put(match: re.Match[str]) -> str:
        text, strength = given[match[1]]
        before, after = template[: match.start()][-2:], template[match.end() :][:1]
        alone = before.endswith(("(", ", ")) and after in (")", ",")
        least = SUM if alone else PRODUCT if after == ")" else ATOM
        return held((text, strength), least)

    text = re.sub(r"\{(\w+)\}", put, template)
    text = re.sub(r"(?<=[a-z]) (?=\()", "", text)
    return text, _strength(text)
