"""A rule read forward: from the tangents of some operands to those of the outputs.

`rules.rule.push` states what it means, for one operand at a time. Here that reading is written out
for each rule when it is first used, as the reverse one is (`template.py`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.autograd.folding import Named, folded, inline, template
from wengert.autograd.plan import Plan, plan_of
from wengert.rules.blocks import by_elements, has_steps, many
from wengert.rules.rule import Rule, fact, parameters, push_sequence

broadcast_to = np.broadcast_to
Push = Callable[[Sequence[Any], Sequence[Any], Sequence[Any]], Sequence[Any]]

LARGE = 1 << 17
"""Tangents of so many numbers are worth machine code, which takes some 20 ms to make."""


class Pusher:
    """What `forward.carried` needs to know of a rule.

    `places` are the arguments that may have tangents, and where they stand among the operands;
    `unstated` are those that may not, and may be tensors: nothing was said about them.
    `views` says that the output looks into its first operand, and its tangent into that one's.
    `push(operands, tangents, outputs)` gives the tangents of the outputs, those of the operands
    being given in the order of `places`, with None for an operand that has none.
    """

    __slots__ = ("places", "push", "unstated", "views")

    def __init__(self, rule: Rule) -> None:
        first = rule.arguments[0]
        self.places = [(n, k) for k, n in enumerate(rule.arguments) if n in rule.reverse]
        self.unstated = [(n, k) for k, n in enumerate(rule.arguments) if n in rule.unstated]
        self.views = (
            rule.view and rule.outputs == 1 and first in rule.reverse and first not in rule.forward
        )
        self.push: Push = _joined(rule) if rule.sequence else _written(rule)
        if rule.formulas and isinstance(rule.function, np.ufunc):
            self.push = _at_once(rule, self.push)


pusher_of = functools.cache(Pusher)


def _written(rule: Rule) -> Push:
    plan = plan_of(rule)
    return folded(push, {}, _own(rule), plan.head("push", "operands", "tangents", "outputs"), plan)


def _own(rule: Rule) -> dict[str, Any]:
    return {"dispatched": rule.function} | {f"forward_{n}": f for n, f in rule.forward.items()}


@template
def push(plan: Plan, own: Any, given: Named, operands: Any, tangents: Any, outputs: Any) -> Any:
    """A list with the tangent of each output, from those of the operands that have one."""
    tangent: Named = {}
    given.update(zip(plan.arguments, operands, strict=True))
    tangent.update(zip(plan.tracked, tangents, strict=True))
    y = outputs if plan.several else outputs[0]
    total: Any = None
    for n in plan.tracked:
        if tangent[n] is not None:
            term = pushed(plan, own, n, given, tangent, y)
            if n == plan.first or total is None:
                total = term
            elif plan.several:
                total = [plus(t, u, tangents) for t, u in zip(total, term, strict=True)]
            else:
                total = plus(total, term, tangents)
    if plan.elementwise and total.shape != y.shape:
        total = broadcast_to(total, y.shape)
    return total if plan.several else [total]


@template
def formula(plan: Plan, own: Any, present: tuple[str, ...], given: Named, y: Any) -> Any:
    """The sum of what the tangents of some arguments contribute, as a function of arrays."""
    tangent: Named = {}
    for n in present:
        if n == present[0]:
            total = pushed(plan, own, n, given, tangent, y)
        else:
            total = total + pushed(plan, own, n, given, tangent, y)
    return total


@inline
def pushed(plan: Plan, own: Any, n: str, given: Named, tangent: Named, y: Any) -> Any:
    """What one tangent contributes: by the lambda, or by the function, which is linear."""
    return (
        own.dispatched(
            *[tangent[m] if m == n else given[m] for m in plan.positional],
            **{m: tangent[m] if m == n else given[m] for m in plan.settings},
        )
        if plan.linear(n)
        else own.forward[n](tangent[n], *[told(plan, p, given, y) for p in plan.pushed(n)])
    )


@inline
def told(plan: Plan, p: str, given: Named, y: Any) -> Any:
    """What a lambda names: the result, an argument, or the shape or dtype of one."""
    return (
        y
        if p == "y"
        else given[p]
        if p in plan.arguments
        else fact(given[plan.base(p)], plan.attribute(p))
    )


def plus(a: Any, b: Any, tangents: Any) -> Any:
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


def _joined(rule: Rule) -> Push:
    """The push of a function of a list of arrays."""

    def push(operands: Sequence[Any], tangents: Sequence[Any], ys: Sequence[Any]) -> Any:
        return [push_sequence(rule, tangents[0], dict(zip(rule.arguments, operands, strict=True)))]

    return push


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
    tracked = [n for n in rule.arguments if n in rule.reverse]
    present = tuple(n for n, there in zip(tracked, given, strict=True) if there)
    named = (name for n in present for name in (f"{n}_tangent", *parameters(rule.forward[n])))
    names = tuple(dict.fromkeys(named))
    known = [*rule.arguments, *(f"{n}_tangent" for n in tracked), "y"]
    plan = plan_of(rule)
    head = f"formula({', '.join(plan.variables.get(name, name) for name in names)})"
    total = folded(formula, {}, _own(rule), head, plan, present=present)
    return total if has_steps(total, len(names)) else None, [known.index(n) for n in names]
