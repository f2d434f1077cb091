"""What the code for a rule depends on: which arguments are tracked, which values are saved.

A plan answers the questions that `template.py` asks, and nothing about the functions themselves:
rules with equal plans have the same code, which finds the functions by the same names.
"""

from __future__ import annotations

from functools import cache, cached_property
from typing import Literal, NamedTuple

import numpy as np

from wengert.autograd.folding import Formula
from wengert.autograd.operands import is_binary, is_unary, keeps_integers
from wengert.rules.blocks import has_steps
from wengert.rules.quick import QUICK
from wengert.rules.rule import Lambda, Rule, names_values, parameters

Names = tuple[str, ...]
Form = Literal["unary", "binary", "number", "usual", "any"]


class Usual(NamedTuple):
    """The calls that a public function usually gets: see `record.usually`."""

    when: tuple[Formula, ...]
    given: Formula
    quick: Formula | None
    more: bool  # whether calls come with more arguments than there are, which NumPy's takes


class _Answers(NamedTuple):
    """What a plan is made of: plans are equal, and have the same code, if these are."""

    form: Form
    arguments: Names
    positional: Names  # others are given by name
    tracked: Names  # that may need a derivative
    lookups: tuple[tuple[str, Names], ...]  # what each transpose names, in that order
    pushes: tuple[tuple[str, Names], ...]  # what each forward lambda names; others are linear
    joint: bool  # whether one lambda may give all cotangents
    together: Names  # and what it names
    constants: Names  # other arguments that may be tensors
    unstated: Names
    conjugated: Names  # whose transposes are about real arrays
    fused: Names  # of which many numbers go to machine code
    elementwise: bool
    several: bool  # outputs
    view: bool
    casts: bool
    opaque: bool
    quick: bool  # the function is the quick form of NumPy's, which takes all arguments in order
    direct: bool  # the function is the meaning on plain arrays, reached without dispatch
    blocks: bool  # many numbers go to machine code
    steps: bool  # as soon as they are several, since NumPy would go through them more than once
    halves: bool  # so do those of float16
    rounds: bool  # half precision is computed in float32: not views, casts and single steps
    floats: bool  # integers become floating point
    number: str | None = None  # the argument that is known to be a Python number
    usually: Usual | None = None


class Plan(_Answers):
    """A rule as `template.py` sees it: the answers, and what follows from them."""

    # ---- what is saved ---------------------------------------------------------------------

    def wanted(self, n: str) -> Names:
        """What the transpose of an argument names."""
        return dict(self.lookups)[n]

    @cached_property
    def names(self) -> set[str]:
        return {p for _, names in self.lookups for p in names}

    @cached_property
    def values(self) -> Names:
        """Arguments and the result."""
        return tuple(sorted(n for n in self.names if n in self.arguments or n == "y"))

    @cached_property
    def facts(self) -> Names:
        """Shapes and dtypes."""
        return tuple(sorted(self.names - set(self.values)))

    @cached_property
    def inputs(self) -> Names:
        """Which arguments among the values may be arrays."""
        return tuple(n for n in self.values if n in (*self.tracked, *self.constants) and n != "y")

    @cached_property
    def arrays(self) -> Names:
        """What of the values may be arrays; the result last."""
        return (*self.inputs, *(n for n in self.values if n == "y"))

    @cached_property
    def shapes(self) -> bool:
        """Whether arguments may have been repeated to meet each other."""
        return self.elementwise and len(self.operands) > 1

    @cached_property
    def fields(self) -> Names:
        """What a node saves, in order. A result is saved as its array and its cell."""
        cell = [] if self.several else ["y_cell"]
        values = [f for n in self.values for f in ([n, *cell] if n == "y" else [n])]
        return (*values, *self.facts, *(["shapes"] if self.shapes else []))

    @cached_property
    def repeatable(self) -> bool:
        """Whether all arguments are saved, so that the result can be computed again from them."""
        return not self.opaque and set(self.arguments) <= set(self.values)

    def users(self, field: str) -> Names:
        """The arguments whose derivative needs a value."""
        value = "y" if field == "y_cell" else field
        return tuple(n for n in self.tracked if value in self.wanted(n))

    def some(self, field: str) -> bool:
        """Whether an array is needed for the derivatives of some arguments only."""
        value = "y" if field == "y_cell" else field
        return value in self.arrays and len(self.users(field)) < len(self.tracked)

    @cached_property
    def freeing(self) -> Names:
        """The arguments for whose derivatives arrays are saved."""
        users = {user for field in self.arrays for user in self.users(field)}
        return tuple(n for n in self.tracked if n in users)

    @cached_property
    def frees(self) -> bool:
        """Whether arrays are saved in any case: a node without any can be gone through again."""
        return bool(self.arrays) and set(self.freeing) == set(self.tracked)

    # ---- calls -----------------------------------------------------------------------------

    @cached_property
    def depth(self) -> int:
        """How far out the caller is: the recorder of two tensors calls that of a number."""
        return 2 if self.form == "number" else 1

    @cached_property
    def rest(self) -> Names:
        return self.arguments[1:]

    @cached_property
    def backwards(self) -> Names:
        """The second argument is more often a number than the first."""
        return self.arguments[::-1]

    @cached_property
    def meeting(self) -> bool:
        """Whether several tensors must be of one dtype."""
        return len(self.tracked) > 1 and self.form in ("any", "binary")

    @cached_property
    def settled(self) -> bool:
        """Whether the result is known to be a plain array."""
        return self.form == "usual" and self.view

    @property
    def variables(self) -> dict[str, str]:
        """What arguments are called: PyTorch's functions of one tensor have one name for it."""
        return {n: "input" if self.form == "unary" else n for n in self.arguments}

    def head(self, name: str, *parameters: str) -> str:
        """The head of a function whose parameters are no arguments of the rule."""
        taken = self.variables.values()
        return f"{name}({', '.join(p + '_' if p in taken else p for p in parameters)})"

    @cached_property
    def first(self) -> str:
        return self.tracked[0]

    @cached_property
    def operands(self) -> Names:
        """Arguments that are tensors, or may be."""
        if self.usually:  # one tensor
            return (self.first,)
        return tuple(n for n in self.arguments if n in (*self.tracked, *self.constants))

    @cached_property
    def indices(self) -> Names:
        return tuple(n for n in self.arguments if n in self.constants)

    @cached_property
    def settings(self) -> Names:
        """Arguments that are given by name."""
        return tuple(n for n in self.arguments if n not in self.positional)

    @cached_property
    def optional(self) -> Names:
        """Arguments that may be left out of a call."""
        return self.tracked[2:]

    @property
    def all_tensors(self) -> bool:
        """Whether the recorder sees to it that every tracked argument is a tensor."""
        return self.form in ("unary", "binary", "number")

    def linear(self, n: str) -> bool:
        """Whether the function itself pushes the tangents of an argument."""
        return n not in dict(self.pushes)

    def pushed(self, n: str) -> Names:
        """What the forward lambda of an argument names."""
        return dict(self.pushes)[n]

    def usual(self, n: str) -> Formula:
        """An argument in usual calls, by the public function's."""
        assert self.usually is not None
        return self.usually.given._replace(item=self.arguments.index(n))

    @property
    def when(self) -> tuple[Formula, ...]:
        return self.usually.when if self.usually else ()

    @property
    def more(self) -> bool:
        return self.usually is not None and self.usually.more

    @property
    def quickly(self) -> Formula | None:
        return self.usually.quick if self.usually else None

    @property
    def files(self) -> set[str]:
        """Where expressions are taken from."""
        if not self.usually:
            return set()
        formulas = (*self.usually.when, self.usually.given, self.usually.quick)
        return {formula.file for formula in formulas if formula}

    def base(self, fact: str) -> str:
        """The argument whose shape or dtype a name stands for."""
        return fact.rpartition("_")[0]

    def attribute(self, fact: str) -> str:
        return fact.rpartition("_")[2]

    def place(self, n: str) -> int:
        return self.tracked.index(n)


@cache
def plan_of(rule: Rule, number: str | None = None) -> Plan:
    """The plan of a rule, or of one where an argument is known to be a Python number."""
    tracked = tuple(n for n in rule.differentiable if n != number)
    function = rule.function
    has_body = hasattr(function, "body")
    form: Form = "unary" if is_unary(rule) else "binary" if is_binary(rule) else "any"
    formula = rule.formulas and isinstance(function, np.ufunc)
    step = rule.formulas and has_body and not _has_steps_forward(rule)
    ufunc = getattr(function, "signature", "") is None
    names = {p for n in tracked for p in parameters(rule.reverse[n])}
    assert rule.together is None or names.issuperset(parameters(rule.together)), rule
    shares = rule.view and rule.outputs == 1
    assert not (shares and "y" in names), f"{rule}: a view shares the cell of its base"
    return Plan(
        form="number" if number else form,
        arguments=rule.arguments,
        positional=tuple(rule.positional),
        tracked=tracked,
        lookups=tuple((n, parameters(rule.reverse[n])) for n in tracked),
        pushes=tuple((n, parameters(rule.forward[n])) for n in tracked if n in rule.forward),
        joint=rule.together is not None,
        together=() if rule.together is None else parameters(rule.together),
        constants=rule.constants,
        unstated=rule.unstated,
        conjugated=tuple(n for n in tracked if _is_conjugated(rule, rule.reverse[n])),
        fused=tuple(n for n in tracked if rule.formulas and _is_fused(rule.reverse[n], number)),
        elementwise=rule.family == "elementwise",
        several=rule.outputs != 1,
        view=rule.view,
        casts=rule.casts,
        opaque=getattr(function, "opaque", False),
        quick=function in QUICK,
        direct=has_body or function in QUICK,
        blocks=rule.formulas and has_body,
        steps=rule.formulas and has_body and not step,
        halves=formula and not has_body and function not in QUICK,
        rounds=not (rule.view or rule.casts or step or ufunc),
        floats=form != "any" and not number and not keeps_integers(rule),
        number=number,
    )


def _is_conjugated(rule: Rule, transpose: Lambda) -> bool:
    return rule.family != "general" and names_values(rule, transpose)


def _has_steps_forward(rule: Rule) -> bool:
    body: Lambda = vars(rule.function)["body"]
    return has_steps(body, len(rule.arguments))


def _is_fused(transpose: Lambda, number: str | None) -> bool:
    """Whether many numbers go to machine code: it has steps, and takes arrays before a number."""
    names = parameters(transpose)
    return number not in names[:-1] and has_steps(transpose, 1 + len(names))


def usual_plan(rule: Rule, usual: Usual) -> Plan:
    """The plan of a rule's recorder for the calls that a public function usually gets."""
    return plan_of(rule)._replace(form="usual", usually=usual)
