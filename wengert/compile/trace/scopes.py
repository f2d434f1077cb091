"""Scopes: where the statements go that are traced inside of a loop's body.

A body is traced once. While its scope is open, statements are written to a list of their own; when
it closes, those that do not depend on the iteration go to the list around it, and what the others
read from there becomes an input of the loop.

The derivative of a loop reads what its iterations computed. A scope may be *aligned* with those of
loops that ended before: its iteration k goes with theirs. A value of theirs that it reads is saved
in each of their iterations, as a row of one more result, and handed to it row by row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.compile.program import operations
from wengert.compile.program.program import Program, Statement, Value
from wengert.compile.program.repeats import Repeat
from wengert.errors import TracingError
from wengert.history.location import here, line_of
from wengert.history.node import tick

if TYPE_CHECKING:
    from wengert.compile.trace.array import Trace

FREE = frozenset({np.reshape, np.transpose, np.broadcast_to, operations.view, operations.full})
"""What costs nothing where it is read: written in the body and around it, and not saved."""
AGAIN = FREE | {operations.astype}
"""What is computed again rather than saved."""
SMALL = 64
"""Constants of so many elements are part of the body."""


class Scope:
    """The body of a loop: while it is traced, and afterwards, when derivatives read its values."""

    def __init__(self, trace: Trace, length: int, aligned: tuple[Scope, ...] = ()) -> None:
        self.trace = trace
        self.length = length
        self.aligned = aligned
        self.start = tick()
        self.parent: Scope | None = trace.scopes[-1] if trace.scopes else None
        self.index = Value((), np.int64, weak=True)
        self.carries: list[Value] = []
        self.rows: list[Value] = []
        self.statement: Statement | None = None
        self.made: dict[Value, Statement] = {}
        self.saved: dict[Value, Value] = {}

    def __enter__(self) -> Scope:
        program = self.trace.program
        self.around, program.statements = program.statements, []
        self.trace.scopes.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        program = self.trace.program
        self.statements, program.statements = program.statements, self.around
        self.trace.scopes.pop()

    # ---- closing --------------------------------------------------------------------------------

    def close(
        self,
        inits: list[Value],
        xs: list[Value],
        news: list[Value],
        ys: list[Value],
        backwards: bool,
    ) -> tuple[Value, ...]:
        """Write the loop as one statement; returns the final state and the rows of the results."""
        body = Program()
        own = [self.index, *self.carries, *self.rows]
        body.statements, varying = self._sorted(own)
        self._make_again(body.statements, own, [*news, *ys])
        self.made = {v: s for s in body.statements for v in s.outputs}
        around: list[Value] = []
        for v in self._read(body.statements, own, [*news, *ys]):
            if self._is_step(v):
                xs = [*xs, self.trace.homes[v].rows_of(v)]
                self.rows.append(v)
            elif not self._is_constant(v, body):
                around.append(v)
        body.inputs = [self.index, *self.carries, *self.rows, *around]
        body.updates = dict(zip(self.carries, news, strict=True))
        body.outputs = list(ys)
        self.trace.homes |= dict.fromkeys(varying, self)
        repeat = Repeat(body, self.length, backwards, len(inits), len(self.rows))
        outputs = [
            *(Value(v.shape, v.dtype, v.weak) for v in self.carries),
            *(Value((self.length, *v.shape), v.dtype) for v in ys),
        ]
        code, at = here()
        self.statement = Statement(repeat, (*inits, *xs, *around), {}, tuple(outputs), code, at)
        self.trace.program.statements.append(self.statement)
        return self.statement.outputs

    def _sorted(self, own: list[Value]) -> tuple[list[Statement], dict[Value, None]]:
        """The statements of the body, and the values that vary; the others are moved out of it."""
        varying, inside = dict.fromkeys(own), []
        for s in self.statements:
            varies = any(v in varying or self._is_step(v) for v in s.inputs)
            if varies or s.acts or _is_free(s):
                inside.append(s)
            if varies or s.acts:
                varying |= dict.fromkeys(s.outputs)
            else:
                self.around.append(s)
        return inside, varying

    def _is_step(self, v: Value) -> bool:
        """Whether a value is that of an iteration of a loop which this one goes along with."""
        return self.trace.homes.get(v) in self.aligned

    def _read(self, statements: list[Statement], own: list[Value], results: list[Value]) -> Any:
        """What the body reads and does not make."""
        known = {*own, *(v for s in statements for v in s.outputs)}
        asked = [*(v for s in statements for v in s.inputs), *results]
        return [v for v in dict.fromkeys(asked) if v not in known]

    def _make_again(self, statements: list[Statement], own: list[Value], results: Any) -> None:
        """Put in front what is cheaper to compute again than to save."""
        pending = self._read(statements, own, results)
        again: dict[Statement, None] = {}
        while pending:
            v = pending.pop()
            maker = self.trace.homes[v].made.get(v) if self._is_step(v) else None
            if maker is not None and maker.function in AGAIN:
                again.pop(maker, None)
                again[maker] = None
                pending += maker.inputs
        statements[:0] = reversed(again)

    def _is_constant(self, v: Value, body: Program) -> bool:
        """Whether a value is a small array made while tracing, which becomes the body's."""
        array = self.trace.program.constants.get(v)
        if array is None or array.size > SMALL or self.trace.is_outside(array):
            return False
        body.constants[v] = array
        return True

    # ---- being read -----------------------------------------------------------------------------

    def rows_of(self, v: Value) -> Value:
        """All iterations' values of `v`, which the loop saves from now on."""
        assert self.statement is not None
        repeat: Any = self.statement.function
        if v in self.rows:
            return self.statement.args[repeat.carries + self.rows.index(v)]
        if v not in self.saved:
            if v is self.index:
                made = self.trace.program.constant(np.arange(self.length))
            else:
                made = Value((self.length, *v.shape), v.dtype)
                repeat.body.outputs.append(v)
                self.statement.outputs = (*self.statement.outputs, made)
                if self.parent is not None and self.parent not in self.trace.scopes:
                    self.trace.homes[made] = self.parent
                    self.parent.made[made] = self.statement
            self.saved[v] = made
        return self.saved[v]


def _is_free(s: Statement) -> bool:
    return s.function in FREE


def check_is_inside(trace: Trace, values: list[Value]) -> None:
    """A value of a loop's body is good inside of that."""
    for v in values:
        home = trace.homes.get(v)
        if home is not None and not any(home in scope.aligned for scope in trace.scopes):
            raise TracingError(
                "a value that was computed in the body of a loop is used after it, at\n  "
                f"{line_of(*here())}\nIt differs between iterations: return it as part of the "
                "state, or as a result of wg.scan."
            )


def refuse_write(what: str) -> TracingError:
    return TracingError(
        f"the body of a loop {what} at\n  {line_of(*here())}\nIn a compiled function what a body "
        "changes has to be part of its state: pass it in, and return the new one. Or give the loop "
        "unroll=True, which compiles each iteration by itself."
    )
