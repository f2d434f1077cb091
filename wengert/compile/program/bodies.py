"""Loops and branches as statements whose functions have programs of their own: their bodies.

Statements of a loop are `finals..., rows... = repeat(inits..., xs..., invariants...)`. The body is
a program by itself. Its inputs are the number of the iteration, the state, one row of each of the
`xs`, and the invariants; it updates the state, and its outputs are one row of each result.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from wengert.compile.program.program import Program, Statement, Value, values_in

NEAR = 256
"""Bytes of a part of a state that lies in registers, or on the stack, while a loop runs."""
LONG = 1 << 30
"""Operations that take so long that the user may wish to interrupt them: a second, or some tenths.
"""


class _WithBodies:
    """A function that runs programs."""

    __module__ = "wengert"
    bodies: Sequence[Program]
    settings: ClassVar[tuple[str, ...]]
    """What tells two of a kind with equal bodies apart; but for what an `Until` keeps."""

    @property
    def draws(self) -> bool:
        """Whether it is carried out even if no result is needed, and never merged with another."""
        return any(s.acts for body in self.bodies for s in body.statements)


class Repeat(_WithBodies):
    """The function of such a statement: it runs the body on NumPy's arrays, as machine code does.

    `length` is the number of iterations, which count down if it goes `backwards`; `carries` and
    `rows` are how many arrays the state and the `xs` are.
    """

    __name__ = "repeat"
    settings = ("length", "backwards", "carries", "rows")

    def __init__(
        self, body: Program, length: int, backwards: bool, carries: int, rows: int
    ) -> None:
        self.body, self.bodies = body, [body]
        self.length = length
        self.backwards = backwards
        self.carries = carries
        self.rows = rows

    @property
    def moves(self) -> dict[int, int]:
        """The parts of the state that lie in the rows of a result, by number, and which result that
        is: its rows are what the part was before each iteration.
        """
        body = self.body
        state = {v: i for i, v in enumerate(body.inputs[1 : 1 + self.carries])}
        moves: dict[int, int] = {}
        for j, v in enumerate(body.outputs):
            if v in state and v in body.updates and v.nbytes > NEAR:
                moves.setdefault(state[v], j)
        return moves

    @property
    def moving(self) -> Program:
        """The body as machine code runs it: parts of the state that move are not written over, but
        the next row of that result is what follows them.
        """
        moving = copy.copy(self.body)
        moving.outputs, moving.updates = list(moving.outputs), dict(moving.updates)
        for i, j in self.moves.items():
            moving.outputs[j] = moving.updates.pop(moving.inputs[1 + i])
        return moving

    def dtype_of(self, k: int) -> np.dtype[Any]:
        """The dtype of an argument."""
        return self.body.inputs[1 + k].dtype

    def given_to(self, number: int, args: tuple[Any, ...]) -> tuple[Any, ...]:
        return args[self.carries + self.rows :]

    taken = 0
    """Bytes that machine code takes beside its bodies' and the results."""

    @property
    def lasts(self) -> bool:
        """Whether it may run for long, and has to be interruptible."""
        return self.length * max(_operations(self.body), 1) >= LONG

    def __call__(self, *args: Any) -> Any:
        body, carries = self.body, self.carries
        state = body.inputs[1 : 1 + carries]
        kept = [np.array(x, v.dtype) for v, x in zip(state, args, strict=False)]
        xs, invariants = args[carries : carries + self.rows], args[carries + self.rows :]
        blocks = [np.empty((self.length, *v.shape), v.dtype) for v in body.outputs]
        order = range(self.length)
        for k in reversed(order) if self.backwards else order:
            given = [x.item() if v.weak else x for v, x in zip(state, kept, strict=True)]
            news = self._once([k, *given, *(x[k] for x in xs), *invariants])
            kept = [np.array(x, v.dtype) for v, x in zip(state, news, strict=False)]
            for rows, row in zip(blocks, news[carries:], strict=True):
                rows[k] = row
        results = (*kept, *blocks)
        return results if len(results) != 1 else results[0]

    def _once(self, inputs: list[Any]) -> list[Any]:
        """The next state, and a row of the results."""
        body = self.body
        part = Program()
        part.inputs, part.constants, part.statements = body.inputs, body.constants, body.statements
        state = body.inputs[1 : 1 + self.carries]
        part.outputs = [*(body.updates.get(v, v) for v in state), *body.outputs]
        return part.run(inputs)


class Choose(_WithBodies):
    """The function of `results... = choose(index, inputs...)`: one of several programs is run.

    `given[b]` are the numbers of the arguments after the index that body b gets, `makes[b]` those
    of the results that it makes; what another body has saved for its derivative is left as it is.
    """

    __name__ = "choose"
    settings = ("given", "makes")

    def __init__(self, bodies: list[Program], given: list[list[int]], makes: list[list[int]]):
        self.bodies = bodies
        self.given = given
        self.makes = makes
        self.likes: list[Value] = []

    def given_to(self, number: int, args: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(args[1 + k] for k in self.given[number])

    taken = 0

    def dtype_of(self, k: int) -> np.dtype[Any]:
        """The dtype of an argument."""
        for body, given in zip(self.bodies, self.given, strict=True):
            if k - 1 in given:
                return body.inputs[given.index(k - 1)].dtype
        return np.dtype(np.int64)

    def __call__(self, index: Any, *args: Any) -> Any:
        b = min(max(int(index), 0), len(self.bodies) - 1)
        results = [np.zeros(v.shape, v.dtype) for v in self.likes]
        for k, array in zip(
            self.makes[b], self.bodies[b].run([args[k] for k in self.given[b]]), strict=True
        ):
            results[k] = array
        return tuple(results) if len(results) != 1 else results[0]


ROOM = 1 << 24
"""Bytes for states that a loop of unknown length keeps. What of it no loop reaches is no memory,
but an address."""
CACHED = 1 << 20
"""That many for states that do not lie near, if iterations go element by element: to write one
down takes as long as to compute it, and longer where it does not stay in a core's second cache."""
TIGHT = 1 << 21
"""That many within a budget: what a core's second cache holds, or twice that."""


FEW = 16
"""Of fewer states than that none are kept."""
MANY = 64
"""That many are kept wherever they lie."""


def room(state: list[Value], kinds: int | None, cheap: bool = False) -> int:
    """How many states of this kind are kept, an even number; none if they are large.

    They are fewer if it is `cheap` to compute the next one; within a budget they are, the more
    kinds of blocks that asks for.
    """
    if kinds is not None:
        rows = _tight(state, kinds)
    else:
        rows = ROOM // _bytes(state)
        if cheap and _bytes(state) > NEAR:
            rows = min(rows, max(CACHED // _bytes(state), MANY))
    return rows // 2 * 2 if rows >= FEW else 0


def apart(number: int, rows: int) -> int:
    """How many iterations lie between two whose states are in rows, once iteration `number` is."""
    return 1 << (number // rows).bit_length()


def limit(state: list[Value], kinds: int, loops: int, budget: int) -> int:
    """How many states the derivative of a loop of unknown length has within a budget.

    Of more than one loop there have to be as many as iterations: it may be half of the budget.
    """
    most = max(TIGHT, budget // 2) if loops > 1 else TIGHT
    return max(_tight(state, kinds, most), FEW >> kinds, 2)


def _tight(state: list[Value], kinds: int, most: int = TIGHT) -> int:
    return (most >> 5 * kinds) // _bytes(state)


def _bytes(state: list[Value]) -> int:
    return max(sum(v.nbytes for v in state), 1)


class _Kept(_WithBodies):
    """A loop of unknown length, some parts of whose states are results too.

    `keeps` are the numbers of these parts, of `rows` rows each. Row k of such a result is what the
    part was before iteration k, if it has so many.
    """

    keeps: list[int]
    rows = 0

    def kept(self, state: list[Any]) -> list[np.ndarray]:
        """Room for these results."""
        return [np.zeros((self.rows, *state[k].shape), state[k].dtype) for k in self.keeps]

    def keep(self, number: int, state: list[Any], blocks: list[np.ndarray]) -> None:
        if number < self.rows:
            for k, block in zip(self.keeps, blocks, strict=True):
                block[number] = state[k]


class Until(_Kept):
    """The function of `finals..., count, kept... = until(inits..., invariants...)`.

    Its bodies are a test of the state, and what updates that. Each gets the state, then as many of
    the invariants as it has inputs left, in order. `count` is how often the test held.

    Where there are more iterations than rows, those that are kept lie a power of two apart: when
    the rows are full, every second one stays.
    """

    __name__ = "until"
    settings = ("carries",)
    lasts = endless = True
    """It may run for ever, and has to be interruptible."""
    taken = 0

    def __init__(self, test: Program, body: Program, carries: int) -> None:
        self.bodies = [test, body]
        self.carries = carries
        self.keeps = []

    def dtype_of(self, k: int) -> np.dtype[Any]:
        """The dtype of an argument."""
        test, body = self.bodies
        return [*test.inputs, *body.inputs[self.carries :]][k].dtype

    def given_to(self, number: int, args: tuple[Any, ...]) -> tuple[Any, ...]:
        test, _ = self.bodies
        middle = len(test.inputs)
        return args[middle:] if number else args[self.carries : middle]

    def keep(self, number: int, state: list[Any], blocks: list[np.ndarray]) -> None:
        if not blocks or number % (far := apart(number, self.rows)):
            return
        for k, block in zip(self.keeps, blocks, strict=True):
            if number and far > apart(number - 1, self.rows):
                block[: self.rows // 2] = block[::2].copy()
            block[number // far] = state[k]

    def __call__(self, *args: Any) -> Any:
        test, body = self.bodies
        state = [
            np.array(x, v.dtype) for v, x in zip(body.inputs, args[: self.carries], strict=False)
        ]
        middle = len(test.inputs)
        count, blocks = 0, self.kept(state)
        while test.run(_given(test, [*state, *args[self.carries : middle]]))[0]:
            self.keep(count, state, blocks)
            body.run(_given(body, [*state, *args[middle:]]))
            count += 1
        return (*state, np.array(count), *blocks)


class Rewind(_Kept):
    """The function of `finals..., kept... = rewind(count, inits..., invariants..., blocks...)`:
    derivatives of an `Until` that ran `count` times.

    Its bodies are run one after the other, each for all iterations: the first is the loop itself,
    the next goes through the iterations in reverse, and so on in turns. The inputs of a body are
    its own state, what the states of those before it were before the same iteration, and
    invariants. The results are the final state of the last one. `carries` are how many arrays each
    state is. Of two bodies the first may have `results` beside its state, which the other gets
    after the states before (`passes/rerun.py`); `alone` is the other one without them. Of all
    states `blocks` are the numbers of those that the loop kept rows of. Where these are as many as
    the iterations, and all that the last body reads, that alone is run.

    With a `limit`, machine code has room for so many states, however many iterations there are:
    those before a few of these, and before all of a stretch, which it runs again from there.
    """

    __name__ = "rewind"
    settings = ("carries", "blocks", "limit", "keeps")
    draws = False
    alone: Program | None = None
    lasts = endless = True

    def __init__(self, bodies: list[Program], carries: list[int], blocks: list[int]) -> None:
        self.bodies = bodies
        self.carries = carries
        self.blocks = blocks
        self.keeps = []
        self.limit: int | None = None

    @property
    def taken(self) -> int:
        """The bytes that machine code takes for states, as far as their number is known."""
        before = sum(v.nbytes for v in self.states[: -self.carries[-1]])
        return before * (1 + (self.limit or 0))

    @property
    def states(self) -> list[Value]:
        """The parts of all states."""
        pairs = zip(self.bodies, self.carries, strict=True)
        return [v for body, n in pairs for v in body.inputs[:n]]

    @property
    def results(self) -> list[Value]:
        """What the first body makes beside its state."""
        return self.bodies[0].outputs

    @property
    def invariants(self) -> list[list[Value]]:
        """What each body gets beside states, and results."""
        more = [0, *[len(self.results)] * (len(self.bodies) - 1)]
        begins = np.cumsum(self.carries) + more
        return [body.inputs[n:] for body, n in zip(self.bodies, begins, strict=True)]

    def arguments(self, args: tuple[Any, ...]) -> Iterator[tuple[Value, Any]]:
        """The invariants of all bodies, each with what is given for it."""
        invariants = [v for part in self.invariants for v in part]
        return zip(invariants, args[1 + sum(self.carries) :], strict=False)

    def given_to(self, number: int, args: tuple[Any, ...]) -> tuple[Any, ...]:
        counts = list(map(len, self.invariants))
        first = 1 + sum(self.carries) + sum(counts[:number])
        return args[first : first + counts[number]]

    def dtype_of(self, k: int) -> np.dtype[Any]:
        """The dtype of an argument."""
        states = self.states
        formals = [*states, *(v for part in self.invariants for v in part)]
        formals += [states[number] for number in self.blocks]
        return formals[k - 1].dtype if k else np.dtype(np.int64)

    def __call__(self, count: Any, *args: Any) -> Any:
        rest, order = iter(args), range(int(count))
        inits = [[next(rest) for _ in range(n)] for n in self.carries]
        rows: list[list[Any]] = [[] for _ in order]  # of each iteration, the states before it
        state: list[Any] = []
        blocks: list[Any] = []
        for j, (body, init) in enumerate(zip(self.bodies, inits, strict=True)):
            given = [next(rest) for _ in self.invariants[j]]
            state = [np.array(x, v.dtype) for v, x in zip(body.inputs, init, strict=False)]
            blocks = self.kept(state) if body is self.bodies[-1] else []
            for k in reversed(order) if j % 2 else order:
                before = [x.copy() for x in state]
                if blocks:
                    self.keep(k, state, blocks)
                results = body.run(_given(body, [*state, *rows[k], *given]))
                rows[k] += [*before, *results]
        finals = (*state, *blocks)
        return finals if len(finals) != 1 else finals[0]


LOOPS = frozenset({Repeat, Until, Rewind})
"""The functions whose bodies run again and again."""


def _given(program: Program, arrays: list[Any]) -> list[Any]:
    """Arrays for a program to read, and to write its state into."""
    return [np.asarray(x, v.dtype) for v, x in zip(program.inputs, arrays, strict=True)]


def bodies(statement: Statement) -> list[Program]:
    """The programs that a statement runs: the body of a loop, the branches of a choice."""
    return getattr(statement.function, "bodies", [])


def given(statement: Statement, number: int) -> Sequence[Any]:
    """The arguments that a body gets as they are: its last inputs, for all of its iterations."""
    function: Any = statement.function
    return function.given_to(number, statement.args)


def draws(statement: Statement) -> bool:
    """Whether it draws random numbers, itself or in its bodies: run again, it would draw others.

    What only checks something may run again.
    """
    inside = [s for body in bodies(statement) for s in body.statements]
    return any(map(draws, inside)) if inside else getattr(statement.function, "draws", False)


def _operations(program: Program) -> int:
    """How many operations a program takes, at most but for loops of unknown length in it."""
    return sum(map(operations, program.statements))


def operations(s: Statement) -> int:
    inside = bodies(s)
    if inside:
        often = s.function.length if isinstance(s.function, Repeat) else 1
        return often * sum(map(_operations, inside))
    size = max(
        (math.prod(v.shape) for v in (*values_in((s.args, s.kwargs)), *s.outputs)), default=1
    )
    # A product of matrices, or a solution, takes as many for each element as a side is long.
    elementwise = isinstance(s.function, np.ufunc) and s.function.signature is None
    return size if elementwise else math.ceil(size**1.5)
