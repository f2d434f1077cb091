"""A rule read forward: from the tangents of some operands to those of the outputs.

`rules.rule.push` states what it means, for one operand at a time. Here that reading is written out
as text for each rule (`codegen.push_text`) and compiled when first used, as the reverse one is.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.autograd import codegen
from wengert.rules.rule import Rule, fact, push_sequence


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
        self.push = _joined(rule) if rule.sequence else _written(rule)


pusher_of = functools.cache(Pusher)


def _written(rule: Rule) -> Any:
    space: dict[str, Any] = {f"forward_{n}": f for n, f in rule.forward.items()}
    space |= {"function": rule.function, "fact": fact, "plus": plus}
    space |= {"broadcast_to": np.broadcast_to}
    return codegen.compiled(codegen.push_text(rule), space, rule)


def _joined(rule: Rule) -> Any:
    """The same for a function of a list of arrays."""

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
