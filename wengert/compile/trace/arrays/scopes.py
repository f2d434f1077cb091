"""Scopes: where the statements go that are traced inside of a loop's body.

A body is traced once. While its scope is open, statements are written to a list of their own; when
it closes, those that do not depend on the iteration go to the list around it, and what the others
read from there becomes an input of the loop.

The derivative of a loop reads what its iterations computed. A scope may be *aligned* with those of
loops that ended before: its iteration k goes with theirs. A value of theirs that it reads is saved
in each of their iterations, as a row of one more result, and handed to it row by row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.autograd import forward
from wengert.compile.program.again import FREE, computed_again, is_cheap
from wengert.compile.program.bodies import Choose, Repeat, draws
from wengert.compile.program.program import Program, Statement, Value
from wengert.compile.trace.arrays.storage import unwritable
from wengert.errors import TracingError
from wengert.history.location import here, line_of
from wengert.history.node import tick

if TYPE_CHECKING:
    from wengert.compile.trace.arrays.array import Trace
    from wengert.compile.trace.arrays.storage import Storage

SMALL = 64
"""Constants of so many elements are part of the body."""


class Scope:
    """The body of a loop: while it is traced, and afterwards, when derivatives read its values."""

    moves_out = True

    def __init__(self, trace: Trace, length: int, aligned: tuple[Scope, ...] = ()) -> None:
        self.trace = trace
        self.length = length
        self.aligned = aligned
        self.start = tick()
        self.periods: list[tuple[int, int]] = []
        """When the body was at work."""
        self.parent: Scope | None = trace.scopes[-1] if trace.scopes else None
        self.index = Value((), np.int64, weak=True)
        self.carries: list[Value] = []
        self.rows: list[Value] = []
        self.statement: Statement | None = None
        self.statements: list[Statement] = []
        self.made: dict[Value, Statement] = {}
        self.saved: dict[Value, Value] = {}
        self.written: dict[Storage, Any] = {}
        """The memory from outside that the body writes, and what was there before."""
        self.note: Callable[[Storage], Any] | None = None
        """What stands in a memory that is about to be written; None where nothing may be."""

    def __enter__(self) -> Scope:
        program = self.trace.program
        self.around, program.statements = program.statements, self.statements
        self.trace.scopes.append(self)
        self.begun = tick()
        for level in forward.active():
            # History in a body is never freed: with a tangent that a node keeps it is a cycle.
            level.clears = True
            self.trace.levels[level] = None
        return self

    def __exit__(self, error: object, *rest: object) -> None:
        self.statements, self.trace.program.statements = self.trace.program.statements, self.around
        self.trace.scopes.pop()
        self.periods.append((self.begun, tick()))
        if error is not None:
            self.abandon()

    def abandon(self) -> None:
        """Leave what the body computed that is not its own: arrays of outside know such values."""
        self._sorted([self.index, *self.carries, *self.rows])

    @property
    def draws(self) -> bool:
        """Whether the body draws random numbers, once it is closed."""
        return any(map(draws, self.made.values()))

    @property
    def lineage(self) -> tuple[Scope, ...]:
        """The bodies that one iteration of this one goes along with, and itself."""
        return (*self.aligned, self)

    def began(self, time: int) -> bool:
        """Whether what was made at a time was made in this body, or in those of its lineage."""
        return any(a < time < b for scope in self.lineage for a, b in scope.periods)

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
        self.made = body.makers()
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
            stays = s.acts or (not self.moves_out and not _is_free(s))
            varies = stays or any(v in varying or self._is_step(v) for v in s.inputs)
            if varies or _is_free(s):
                inside.append(s)
            if varies:
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
        asked = [v for v in self._read(statements, own, results) if self._is_step(v)]
        statements[:0] = computed_again(asked, self._maker, self._price)

    def _maker(self, v: Value) -> Statement | None:
        """What may be carried out again for a value, of an iteration or of outside."""
        return self.trace.homes[v].maker(v) if self._is_step(v) else None

    def _price(self, v: Value) -> int:
        return self.trace.homes[v].price(v) if self._is_step(v) else 0

    def _is_constant(self, v: Value, body: Program) -> bool:
        """Whether a value is a small array made while tracing, which becomes the body's."""
        array = self.trace.program.constants.get(v)
        if array is None or array.size > SMALL or self.trace.is_outside(array):
            return False
        body.constants[v] = array
        return True

    # ---- being read -----------------------------------------------------------------------------

    def maker(self, v: Value) -> Statement | None:
        """The statement that is carried out again for a value, unless it is saved."""
        s = self.made.get(v)
        return s if s is not None and is_cheap(s) else None

    def price(self, v: Value) -> int:
        """The bytes that are moved to save a value, or to read it where it lies in any case."""
        there = v in self.rows or v in self.saved or v is self.index
        return v.nbytes if there else 2 * v.nbytes

    def rows_of(self, v: Value) -> Value:
        """All iterations' values of `v`, which the loop saves from now on."""
        assert self.statement is not None
        repeat: Any = self.statement.function
        if v in self.rows:
            return self.statement.args[repeat.carries + self.rows.index(v)]
        if v not in self.saved:
            if v is self.index:
                self.saved[v] = self.trace.program.constant(np.arange(self.length))
            else:
                repeat.body.outputs.append(v)
                self._save(v, Value((self.length, *v.shape), v.dtype))
        return self.saved[v]

    def _save(self, v: Value, output: Value) -> None:
        """One more result of the statement: what is saved of `v`."""
        assert self.statement is not None
        home = self._home(self.statement)
        self.saved[v] = output
        self.statement.outputs = (*self.statement.outputs, output)
        if home is not None and home not in self.trace.scopes:
            self.trace.homes[output] = home
            home.made[output] = self.statement

    def _home(self, statement: Statement) -> Scope | None:
        """The body that the statement of this one is in: bodies that it is the same for each time
        have moved it out."""
        scope = self.parent
        while scope is not None and scope not in self.trace.scopes:
            if not statement.outputs or statement.outputs[0] in scope.made:
                break
            scope = scope.parent
        return scope


class Branch(Scope):
    """One of several bodies, of which each call runs one. What it computes stays in it."""

    moves_out = False

    def __init__(self, trace: Trace, aligned: tuple[Scope, ...] = ()) -> None:
        super().__init__(trace, 1, aligned)
        self.number = 0

    def body(self, results: list[Value]) -> tuple[Program, list[Value]]:
        """The program of this branch, and what it is given."""
        body = Program()
        body.statements, varying = self._sorted([])
        self._make_again(body.statements, [], results)
        self.made = body.makers()
        given = []
        for v in self._read(body.statements, [], results):
            if self._is_constant(v, body):
                continue
            body.inputs.append(v)
            given.append(self.trace.homes[v].rows_of(v) if self._is_step(v) else v)
        body.outputs = list(results)
        self.trace.homes |= dict.fromkeys(varying, self)
        return body, given

    def rows_of(self, v: Value) -> Value:
        """What this branch computed, as one more result of the choice."""
        assert self.statement is not None
        if v not in self.saved:
            rows = Value(v.shape, v.dtype)
            choose: Any = self.statement.function
            choose.bodies[self.number].outputs.append(v)
            choose.makes[self.number].append(len(self.statement.outputs))
            choose.likes.append(rows)
            self._save(v, rows)
        return self.saved[v]


class Loop(Scope):
    """The body, or the test, of a loop of unknown length: what it closes over are inputs.

    Of an iteration there is the state alone, and all else is made again of it.
    """

    def program(self, results: list[Value]) -> tuple[Program, list[Value]]:
        """The program of this body, whose first inputs are the state, and what it closes over."""
        if any(loop.draws for loop in self.aligned):
            raise TracingError(
                "the derivative of wg.while_loop in a compiled function runs its iterations again, "
                f"which would draw other random numbers, at\n  {line_of(*here())}\nDraw them "
                "before the loop, or use wg.scan of a fixed length."
            )
        body = Program()
        body.statements, varying = self._sorted(self.carries)
        self._make_again(body.statements, self.carries, results)
        self.made = body.makers()
        read = self._read(body.statements, self.carries, results)
        around = [v for v in read if not self._is_step(v) and not self._is_constant(v, body)]
        body.inputs = [*self.carries, *self.rows, *around]
        self.trace.homes |= dict.fromkeys(varying, self)
        return body, around

    def maker(self, v: Value) -> Statement | None:
        return self.made.get(v)

    def price(self, v: Value) -> int:
        """Nothing is saved but the state, which is there."""
        return 1 << 62 if v in self.made else 0


def chosen(
    trace: Trace, index: Value, branches: list[Branch], results: list[list[Value]]
) -> tuple[Value, ...]:
    """Write a choice between branches as one statement; returns its results."""
    args: list[Value] = []
    bodies, numbers = [], []
    for branch, values in zip(branches, results, strict=True):
        body, given = branch.body(values)
        bodies.append(body)
        args += [v for v in dict.fromkeys(given) if v not in args]
        numbers.append([args.index(v) for v in given])
    outputs = tuple(Value(v.shape, v.dtype, v.weak) for v in results[0])
    choose = Choose(bodies, numbers, [list(range(len(outputs))) for _ in bodies])
    choose.likes = list(outputs)
    statement = Statement(choose, (index, *args), {}, outputs, *here())
    trace.program.statements.append(statement)
    for k, branch in enumerate(branches):
        branch.statement, branch.number = statement, k
    return outputs


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


def writable_now(trace: Trace, storage: Storage) -> Storage:
    """What is about to be written: of outside what the body may write, and nothing that eagerly is
    one memory with others, of which the trace knows what to raise.
    """
    if trace.returned is not None and storage.born < trace.returned:
        raise late_write()
    scope = trace.scopes[-1] if trace.scopes else None
    if scope is not None and storage.born < scope.start and storage not in scope.written:
        if scope.note is None or trace.kinds:
            raise refuse_write("writes into an array that was made outside of it,")
        scope.written[storage] = scope.note(storage)
    if storage in trace.apart:
        raise trace.apart[storage]()
    if storage.shows_one_twice():
        raise unwritable()
    return storage


def late_write() -> TracingError:
    return TracingError(
        f"the derivative of a compiled function changes something outside, at\n  {line_of(*here())}"
        "\nCall backward() in the compiled function, or leave it uncompiled."
    )


def refuse_write(what: str) -> TracingError:
    return TracingError(
        f"the body of a loop {what} at\n  {line_of(*here())}\nIn a compiled function what a body "
        "changes has to be part of its state: pass it in, and return the new one. Or give the loop "
        "unroll=True, which compiles each iteration by itself."
    )
