"""A rule read forward: from the tangents of some operands to those of the outputs.

`rules.rule.push` states what it means, for one operand at a time. Here that reading is written out
as text for each rule (`codegen.push_text`) and compiled when first used, as the reverse one is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.autograd import codegen
from wengert.rules.blocks import by_elements, has_steps, many
from wengert.rules.rule import Rule, fact, push_sequence

Push = Callable[[Sequence[Any], Sequence[Any], Sequence[Any]], Sequence[Any]]

LARGE = 1 << 17
"""Tangents of so many numbers are worth machine code, which takes some 20 ms to make."""


class Pusher:
    """What `forward.carried` needs to know of a rule.

    `places` are the arguments that may have tangents, and where they stand among the operands;
    `views` says that the output looks into its first operand, and its tangent into that one's.
    `push(operands, tangents, outputs)` gives the tangents of the outputs, those of the operands
    being given in the order of `places`, with None for an operand that has none.
    """

    __slots__ = ("places", "push", "views")

    def __init__(self, rule: Rule) -> None:
        first = rule.arguments[0]
        self.places = [(n, k) for k, n in enumerate(rule.arguments) if n in rule.reverse]
        self.views = (
            rule.view and rule.outputs == 1 and first in rule.reverse and first not in rule.forward
        )
        self.push: Push = _joined(rule) if rule.sequence else _written(rule)
        if rule.formulas and isinstance(rule.function, np.ufunc):
            self.push = _at_once(rule, self.push)


pusher_of = functools.cache(Pusher)


def _written(rule: Rule) -> Push:
    space: dict[str, Any] = {f"forward_{n}": f for n, f in rule.forward.items()}
    space |= {"function": rule.function, "fact": fact, "plus": plus}
    space |= {"broadcast_to": np.broadcast_to}
    push: Push = codegen.compiled(codegen.push_text(rule), space, rule)
    return push


def _joined(rule: Rule) -> Push:
    """The push of a function of a list of arrays."""

    def push(operands: Sequence[Any], tangents: Sequence[Any], ys: Sequence[Any]) -> Any:
        return [push_sequence(rule, tangents[0], dict(zip(rule.arguments, operands, strict=True)))]

    return push


def plus(a: Any, b: Any, tangents: Sequence[Any]) -> Any:
    """a + b, into the memory of `a` where that was made for it: new memory is slow to get."""
    if (
        type(a) is np.ndarray
        and type(b) is np.ndarray
        and a.base is None
        and a.ndim
        and (a.shape, a.dtype) == (b.shape, b.dtype)
        and all(a is not t for t in tangents)
    ):
        return np.add(a, b, out=a)
    return a + b


# ---- large arrays --------------------------------------------------------------------------


def _at_once(rule: Rule, push: Push) -> Push:
    """A push that goes through memory once where arrays are large and the rule has steps."""
    formulas = functools.cache(functools.partial(_formula, rule))

    def pushed(operands: Sequence[Any], tangents: Sequence[Any], outputs: Sequence[Any]) -> Any:
        y = outputs[0]
        if type(y) is np.ndarray and y.size >= LARGE:
            formula, places = formulas(tuple([t is not None for t in tangents]))
            if formula is not None:
                values = (*operands, *tangents, y)
                arrays = [values[k] for k in places]
                if many(*arrays) and y.shape == arrays[0].shape:
                    return [by_elements(formula, *arrays)]
        return push(operands, tangents, outputs)

    return pushed


def _formula(rule: Rule, given: tuple[bool, ...]) -> tuple[Any, list[int]]:
    """The sum of what the given tangents contribute, as a function of arrays.

    With it where those arrays stand among operands, tangents and output. None for a formula of one
    step, which NumPy computes as fast.
    """
    text, names = codegen.formula_text(rule, given)
    tangents = [f"{n}_t" for n in rule.arguments if n in rule.reverse]
    known = [*rule.arguments, *tangents, "y"]
    space = {f"forward_{n}": f for n, f in rule.forward.items()}
    formula = codegen.compiled(text, space, rule)
    return formula if has_steps(formula, len(names)) else None, [known.index(n) for n in names]
