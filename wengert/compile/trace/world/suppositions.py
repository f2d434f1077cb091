"""What numbers decide: a program is for the calls in which they decide as they did in its trace.

A branch on numbers that a call is given, or finds, need not know them: `if n % 10 == 0` goes one of
two ways, whatever n is. So the trace supposes that it goes the way that it goes now. What computes
the condition becomes a program of its own. The traced program begins with it, and a call for which
a condition does not hold is another program's, before anything is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from wengert.compile.program.bodies import bodies
from wengert.compile.program.operations import Otherwise, check
from wengert.compile.program.program import Makers, Program, Statement, Value, mapped
from wengert.history.location import here, line_of

TRUTH = Value((), bool)
"""What a condition is like."""


class Suppositions:
    """The conditions of one trace. `numbers` are the inputs that are numbers, as they are now;
    `outside` tells what else there is that may decide; `met` are the arrays that somebody
    outside may have, by id, which are no constants.
    """

    def __init__(
        self,
        makers: Makers,
        numbers: Mapping[Value, float],
        outside: Callable[[Value], Any],
        met: Mapping[int, tuple[Any, ...]],
    ) -> None:
        self.program = Program()
        self._met = met
        self._makers = makers
        self._numbers = numbers
        self._outside = outside
        self._own: dict[Value, Value] = {}
        """What the program has of the values of the traced one."""
        self._now: dict[Value, Any] = {}

    def decided(self, value: Value, truth: bool) -> Any:
        """What a number is that is computed now, or only its truth: supposed to be so at each call.

        NotImplemented if it is computed of something else than numbers that are inputs, and what
        else may decide.
        """
        if value.shape or value in self._numbers:
            return NotImplemented
        try:
            own = self._again(value)
        except LookupError:
            return NotImplemented
        now = self._now[own]
        now = bool(now) if truth else np.asarray(now).item() if value.weak else now
        if now != now:
            return NotImplemented  # NaN, which equals nothing
        same = np.not_equal if truth and now else np.equal
        code, at = here()
        holds = self._append(Statement(same, (own, 0 if truth else now), {}, (TRUTH,), code, at))
        told = f"what is decided was {now} at\n    {line_of(code, at)}"
        self.program.statements.append(Statement(check, (holds, Otherwise, told), {}, (), code, at))
        return now

    def _again(self, value: Value) -> Value:
        """A value of the traced program, computed in this one; LookupError if it cannot be."""
        if value not in self._own:
            constant = self._makers.program.constants.get(value)
            now = self._numbers[value] if value in self._numbers else self._outside(value)
            if now is not None:
                self._own[value] = self._begin(value, now)
            elif constant is not None and all(value is not v for *_, v in self._met.values()):
                self._own[value] = own = self.program.constant(constant)
                self._now[own] = constant
            else:
                self._own[value] = self._append(self._maker(value).replaced(self._again))
        return self._own[value]

    def _maker(self, value: Value) -> Statement:
        s = self._makers.of(value)
        if s is None or len(s.outputs) != 1 or s.acts or any(True for _ in bodies(s)):
            raise LookupError
        return s

    def _begin(self, value: Value, now: Any) -> Value:
        self.program.inputs.append(value)
        self._now[value] = now
        return value

    def _append(self, s: Statement) -> Value:
        like = s.output
        own = Value(like.shape, like.dtype, like.weak)
        own.bounds = like.bounds
        known = self._now.__getitem__
        with np.errstate(all="ignore"):  # as machine code does
            self._now[own] = s.function(*mapped(s.args, known), **mapped(s.kwargs, known))
        statement = Statement(s.function, s.args, s.kwargs, (own,), s.code, s.at)
        self.program.statements.append(statement)
        return own
