"""How a pass is run: each statement is held against rules, and what they say replaces it.

A rule is a function `(program so far, statement) -> replacement`. It answers with a value, with a
number (which stands for an array full of it), or with None to say nothing. New statements are made
by calling the `Rewrite` as if it computed: `p(np.multiply, x, x)` is the value of x * x. These
statements go through the rules too, so one walk from the first statement to the last is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from wengert.compile.program.infer import infer, is_ufunc
from wengert.compile.program.operations import astype, full
from wengert.compile.program.program import Program, Shape, Statement, Value
from wengert.dispatch import Function

Rule = Callable[["Rewrite", Statement], Any]

ELEMENTWISE = "elementwise"
EVERY = "every"
NUMBERS = (float, int, bool, complex)


def is_elementwise(function: Function) -> bool:
    return function is np.where or function is astype or is_ufunc(function)


class Rules:
    """Rules by the function of the statement that they look at."""

    def __init__(self, *parts: Rules) -> None:
        self.table: dict[Any, list[Rule]] = {}
        self._found: dict[Function, list[Rule]] = {}
        for part in parts:
            for key, rules in part.table.items():
                self.table.setdefault(key, []).extend(rules)

    def on(self, *keys: Any) -> Callable[[Rule], Rule]:
        """Register a rule for functions, for all `ELEMENTWISE` ones, or for `EVERY` one."""

        def register(rule: Rule) -> Rule:
            for key in keys:
                self.table.setdefault(key, []).append(rule)
            return rule

        return register

    def of(self, function: Function) -> list[Rule]:
        rules = self._found.get(function)
        if rules is None:
            rules = [*self.table.get(function, ())]
            if is_elementwise(function):
                rules += self.table.get(ELEMENTWISE, ())
            rules += self.table.get(EVERY, ())
            self._found[function] = rules
        return rules


class Rewrite:
    """One walk over a program, which it changes in place.

    `made` tells the statement that made each value so far; `uses` how often a value is read, never
    less than it will be. `key` finds equal statements (`common.py`).
    """

    def __init__(
        self, program: Program, rules: Rules, key: Callable[[Statement], Hashable] | None = None
    ) -> None:
        self.program = program
        self.rules = rules
        self.key = key
        self.made: dict[Value, Statement] = {}
        self.uses: dict[Value, int] = {}
        self.results = set(program.results)
        self._by: dict[Value, Any] = {}
        self._known: dict[Hashable, Statement] = {}
        self._statements: list[Statement] = []
        self._code: tuple[Any, int] = (None, 0)

    def run(self) -> Program:
        program, by, uses = self.program, self._by, self.uses
        old = [(s, s.inputs) for s in program.statements]
        for value in program.results:
            uses[value] = uses.get(value, 0) + 1
        for _, inputs in old:
            for value in inputs:
                uses[value] = uses.get(value, 0) + 1
        with np.errstate(all="ignore"):
            for s, inputs in old:
                if any(value in by for value in inputs):
                    s = s.replaced(self._final)
                    inputs = s.inputs
                self._code = (s.code, s.at)
                self._visit(s, inputs)
        program.statements = self._statements
        program.outputs = [self._final(value) for value in program.outputs]
        program.updates = {k: self._final(value) for k, value in program.updates.items()}
        return program

    def _final(self, value: Value) -> Any:
        return self._by.get(value, value)

    def _visit(self, s: Statement, inputs: tuple[Value, ...]) -> None:
        """Keep an old statement, or note what its outputs are replaced by."""
        outputs = self._simplified(s)
        if outputs is s.outputs:
            return
        for value, new in zip(s.outputs, outputs, strict=True):
            self._by[value] = new
            if type(new) is Value:
                self.uses[new] = self.uses.get(new, 0) + self.uses.get(value, 0)
        for value in inputs:
            self.uses[value] -= 1

    def _simplified(self, s: Statement) -> tuple[Any, ...]:
        """What to use for the outputs of a statement: its own if it is kept."""
        if len(s.outputs) == 1:
            for rule in self.rules.of(s.function):
                new = rule(self, s)
                if new is not None:
                    new = self._fitted(new, s.outputs[0])
                    if new is not None:
                        return (new,)
        if self.key is not None:
            key = self.key(s)
            equal = self._known.setdefault(key, s)
            if equal is not s and [*map(_type, equal.outputs)] == [*map(_type, s.outputs)]:
                return equal.outputs
        self._statements.append(s)
        for value in s.outputs:
            self.made[value] = s
        return s.outputs

    def _fitted(self, new: Any, out: Value) -> Any:
        """A rule's answer in the shape and dtype of what it replaces; None if it has none."""
        if type(new) is not Value:
            if not out.weak:
                return self.full(out.shape, new, out.dtype)
            return None if out in self.results else out.dtype.type(new).item()
        if new.dtype != out.dtype or new.weak != out.weak:
            return None
        return new if new.shape == out.shape else self(np.broadcast_to, new, out.shape)

    # ---- what rules ask and say ----------------------------------------------------------

    def __call__(self, function: Function, *args: Any, **kwargs: Any) -> Any:
        """The value of a call: simplified, found among the statements so far, or a new one."""
        expected = infer(function, args, kwargs)
        assert expected is not None, f"a rule made {function.__name__}, which `infer` lacks"
        s = Statement(function, args, kwargs, (Value(*expected),), *self._code)
        outputs = self._simplified(s)
        if outputs is s.outputs:
            for value in s.inputs:
                self.uses[value] = self.uses.get(value, 0) + 1
        return outputs[0]

    def known(self, function: Function, *args: Any, **kwargs: Any) -> Value | None:
        """The value of such a call among the statements so far, if there is one."""
        s = self._known.get(self.key(Statement(function, args, kwargs, ()))) if self.key else None
        return s.output if s is not None else None

    def full(self, shape: Shape, number: Any, dtype: Any) -> Value:
        dtype = np.dtype(dtype)
        return self(full, shape, shortest(dtype.type(number)), dtype)

    def maker(self, value: Any, *functions: Function) -> Statement | None:
        """The statement that made a value, if it calls one of these functions."""
        s = self.made.get(value) if type(value) is Value else None
        return s if s is not None and s.function in functions else None

    def scalar(self, arg: Any) -> Any:
        """The number that an argument is, or is full of; None if it is neither."""
        if type(arg) is Value:
            s = self.made.get(arg)
            if s is None or s.function is not full or type(s.args[1]) not in NUMBERS:
                return None
            return s.args[1]
        return arg if type(arg) in NUMBERS else None

    def once(self, value: Value) -> bool:
        """Whether a value is read only once: its statement goes when this reader goes."""
        return self.uses.get(value, 0) <= 1


def shortest(scalar: Any) -> Any:
    """A NumPy number as Python's, with as few digits as tell it from its neighbours.

    >>> shortest(np.float32(0.1)), shortest(np.int64(3))
    (0.1, 3)
    """
    short = scalar.dtype in (np.float16, np.float32)
    return float(str(scalar)) if short else scalar.item()


def _type(value: Value) -> tuple[Any, ...]:
    return value.shape, value.dtype, value.weak


def rewrite(
    program: Program, rules: Rules, key: Callable[[Statement], Hashable] | None = None
) -> Program:
    """Hold each statement of a program against the rules; the program is changed in place."""
    return Rewrite(program, rules, key).run()
