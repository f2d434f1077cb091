"""Formulas as browsers typeset them: the text of a trace read by precedence, written as MathML.

The text is what `notation.py` writes, or a formula as a user typed it. ` / ` divides all that the
product has before it; `/` without spaces, as in ∂v₅/∂v₄, only the factor. What is no formula stays
text, in its place: nothing is lost, and nothing raises.
"""

from __future__ import annotations

import re
import unicodedata
from html import escape

from wengert.explain.notation import BAR, DOT, SIGNS, typeset

_TOKEN = re.compile(
    rf"""\s+/\s+ | \*\* | (?P<number>\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.]))
    | (?P<name>[^\W\d²³ᵀ][{DOT}{BAR}]?[^\W²³ᵀ]*[₋₀-₉]*) | \s+ | .""",
    re.VERBOSE | re.DOTALL,
)
_DOWN = str.maketrans("₋₀₁₂₃₄₅₆₇₈₉", "−0123456789")
_UP = {"²": "<mn>2</mn>", "³": "<mn>3</mn>", "ᵀ": "<mo>⊤</mo>"}
_MARKS = {DOT: "\u02d9", BAR: "\u00af"}
_CLOSED = {"(": ")", "[": "]", "{": "}"}
_SHOWN = {"*": "·", "-": "−"}
_WORDS = {"pi": "π", "inf": "∞"}
_MINUS = '<mo form="prefix" lspace="0" rspace="0">−</mo>'
_APPLIED, _THIN = "<mo>&#8289;</mo>", '<mspace width="0.17em"/>'
_SPACE = '<mspace width="0.25em"/>'
_ROOTS = {"√": "<msqrt>{}</msqrt>", "∛": "<mroot><mrow>{}</mrow><mn>3</mn></mroot>"}


def math(text: str) -> str:
    """A formula as a MathML element; its attribute `alttext` is the formula as text.

    >>> math("v₁ / 2").partition(">")[2].removesuffix("</math>")
    '<mfrac><msub><mi>v</mi><mn>1</mn></msub><mn>2</mn></mfrac>'
    """
    shown = escape(typeset(text), quote=True)
    return f'<math alttext="{shown}">{_Reader(text).whole()}</math>'


class _Reader:
    """Reads tokens from the left; each method gives the MathML of what it has read."""

    def __init__(self, text: str) -> None:
        text = unicodedata.normalize("NFD", typeset(text))
        self.tokens = list(_TOKEN.finditer(text))
        self.place = 0

    def whole(self) -> str:
        parts = [self.relation("")]
        while self.place < len(self.tokens):  # a parenthesis that nothing opens
            parts += [_operator(self.take()), self.relation("")]
        return "".join(parts)

    def relation(self, end: str) -> str:
        """Sums with signs between them, up to what ends them."""
        parts = [self.sum()]
        while (sign := self.next().strip()) and sign not in (end, *_CLOSED.values()):
            parts += [_operator(self.take().strip()), self.sum()]
        return "".join(parts)

    def sum(self) -> str:
        parts = []
        if self.next().strip() == "-":
            self.take()
            parts.append(_MINUS)
        parts.append(self.product())
        while self.next().strip() in ("+", "-"):
            parts += [_operator(self.take().strip()), self.product()]
        return "".join(parts)

    def product(self) -> str:
        """Factors; a division has under it the next one, and above it all before."""
        factors: list[str] = []
        while True:
            token = self.next()
            if token.strip() in ("×", "·", "*"):
                factors.append(_operator(self.take()))
            elif token.isspace():
                self.take()
                if factors and factors[-1][:4] != "<mo>" and self.starts():
                    factors.append(_SPACE)
            elif token.strip() == "/" and token != "/" and factors:
                self.take()
                factors = [_fraction("".join(factors), self.factor())]
            elif self.starts():
                factors.append(self.factor())
            else:
                return "".join(factors)

    def starts(self) -> bool:
        """Whether what follows begins a factor."""
        match = self.match()
        if match is None:
            return False
        return bool(match.lastgroup) or match[0] in (*_CLOSED, *_ROOTS, "∂", "Σ", "…")

    def factor(self) -> str:
        quotient = self.power()
        while self.next() == "/":
            self.take()
            quotient = _fraction(quotient, self.power())
        return quotient

    def power(self) -> str:
        base = self.atom()
        while self.next() in (*_UP, "^", "**"):
            sign = self.take()
            over = _UP.get(sign) or self.exponent()
            base = f"<msup>{_grouped(base)}{over}</msup>"
        return base

    def exponent(self) -> str:
        if self.next() == "-":
            self.take()
            return f"<mrow>{_MINUS}{self.atom()}</mrow>"
        return _grouped(_bare(self.atom()))

    def atom(self) -> str:
        match = self.match()
        if match is None:
            return "<mrow></mrow>"
        token = self.take()
        if match.lastgroup == "number":
            return _number(token)
        if match.lastgroup == "name":
            return self.named(token)
        if token in _ROOTS:
            return _ROOTS[token].format(_bare(self.factor()))
        if token in _CLOSED:
            inner = self.relation(_CLOSED[token])
            close = self.take() if self.next() == _CLOSED[token] else ""
            return f"<mrow>{_operator(token)}{inner}{_operator(close) if close else ''}</mrow>"
        if token in ("∂", "Σ"):
            return f"<mrow>{_operator(token)}{self.power() if self.starts() else ''}</mrow>"
        return _operator(token)

    def named(self, name: str) -> str:
        """A variable, or a function before what it is applied to."""
        if name in SIGNS.split() or self.next() == "(":
            apart = _APPLIED if self.next() == "(" else _THIN
            if self.next().isspace():
                self.take()
            to = apart + self.power() if self.starts() else ""
            return f"<mrow><mi>{escape(name)}</mi>{to}</mrow>"
        return _variable(name)

    def match(self) -> re.Match[str] | None:
        return self.tokens[self.place] if self.place < len(self.tokens) else None

    def next(self) -> str:
        """The token that comes; with the spaces before it if it is a sign between two others."""
        match = self.match()
        if match is not None and match[0].isspace():
            after = self.tokens[self.place + 1 : self.place + 2]
            if after and not after[0].lastgroup and after[0][0] in "=<>+-×·*,)]}":
                self.place += 1
                return after[0][0]
        return match[0] if match is not None else ""

    def take(self) -> str:
        self.place += 1
        return self.tokens[self.place - 1][0]


def _variable(name: str) -> str:
    """A letter with its mark and its number below the line; a word as it is."""
    letter, mark, rest = re.match(rf"(.)([{DOT}{BAR}]?)(.*)", name, re.DOTALL).groups()  # type: ignore[union-attr]
    word = letter + re.sub("[₋₀-₉]+$", "", rest)
    below = rest[len(word) - 1 :].translate(_DOWN)
    mi = f"<mi>{escape(_WORDS.get(word, word))}</mi>"
    if len(word) > 1 and word not in _WORDS:
        mi = f"<mtext>{escape(word)}</mtext>"
    if mark:
        mi = f'<mover accent="true">{mi}<mo>{_MARKS[mark]}</mo></mover>'
    if not below:
        return mi
    return f"<msub>{mi}{_grouped(''.join(map(_digits, re.findall(r'−|[0-9]+', below))))}</msub>"


def _digits(text: str) -> str:
    return _MINUS if text == "−" else f"<mn>{text}</mn>"


def _number(text: str) -> str:
    head, _, power = text.partition("e")
    if not power:
        return f"<mn>{head}</mn>"
    sign = _MINUS if power[0] == "-" else ""
    over = f"<mrow>{sign}<mn>{power.lstrip('+-0') or '0'}</mn></mrow>"
    return f"<mrow><mn>{head}</mn><mo>·</mo><msup><mn>10</mn>{over}</msup></mrow>"


def _operator(sign: str) -> str:
    return f"<mo>{escape(_SHOWN.get(sign, sign))}</mo>"


def _fraction(above: str, below: str) -> str:
    return f"<mfrac>{_grouped(_bare(above))}{_grouped(_bare(below))}</mfrac>"


def _bare(markup: str) -> str:
    """Without the parentheses around the whole, which a bar or a root stands for."""
    inner = re.fullmatch(r"<mrow><mo>\(</mo>(.*)<mo>\)</mo></mrow>", markup, re.DOTALL)
    if inner is None or not _balanced(inner[1]):
        return markup
    return inner[1]


def _balanced(markup: str) -> bool:
    depth = 0
    for sign in re.findall(r"<mo>([()])</mo>", markup):
        depth += 1 if sign == "(" else -1
        if depth < 0:
            return False
    return True


def _grouped(markup: str) -> str:
    """As one element, which parts of fractions and powers have to be."""
    depth, roots = 0, 0
    for close, single in re.findall(r"<(/?)[a-z]+[^>]*?(/?)>", markup):
        roots += depth == 0
        depth += -1 if close else not single
    return markup if roots == 1 else f"<mrow>{markup}</mrow>"
