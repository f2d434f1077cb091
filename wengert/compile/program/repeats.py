"""A loop as one statement: a program that is repeated, whose state goes from one time to the next.

Statements of a loop are `finals..., rows... = repeat(inits..., xs..., invariants...)`. The body is
a program by itself. Its inputs are the number of the iteration, the state, one row of each of the
`xs`, and the invariants; it updates the state, and its outputs are one row of each result.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.compile.program.program import Program, Statement


class Repeat:
    """The function of such a statement: it runs the body on NumPy's arrays, as machine code does.

    `length` is the number of iterations, which count down if it goes `backwards`; `carries` and
    `rows` are how many arrays the state and the `xs` are.
    """

    __module__ = "wengert"
    __name__ = "repeat"

    def __init__(
        self, body: Program, length: int, backwards: bool, carries: int, rows: int
    ) -> None:
        self.body = body
        self.length = length
        self.backwards = backwards
        self.carries = carries
        self.rows = rows

    @property
    def draws(self) -> bool:
        """Whether it is carried out even if no result is needed, and never merged with another."""
        return any(s.acts for s in self.body.statements)

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        body, carries = self.body, self.carries
        state = body.inputs[1 : 1 + carries]
        kept = [np.array(x, v.dtype) for v, x in zip(state, args, strict=False)]
        xs, invariants = args[carries : carries + self.rows], args[carries + self.rows :]
        made = [np.empty((self.length, *v.shape), v.dtype) for v in body.outputs]
        order = range(self.length)
        for k in reversed(order) if self.backwards else order:
            given = [x.item() if v.weak else x for v, x in zip(state, kept, strict=True)]
            news = self._once([k, *given, *(x[k] for x in xs), *invariants])
            kept = [np.array(x, v.dtype) for v, x in zip(state, news, strict=False)]
            for rows, row in zip(made, news[carries:], strict=True):
                rows[k] = row
        return (*kept, *made)

    def _once(self, inputs: list[Any]) -> list[Any]:
        """The next state, and a row of the results."""
        body = self.body
        part = Program()
        part.inputs, part.constants, part.statements = body.inputs, body.constants, body.statements
        state = body.inputs[1 : 1 + self.carries]
        part.outputs = [*(body.updates.get(v, v) for v in state), *body.outputs]
        return part.run(inputs)


def repeats(statement: Statement) -> Program | None:
    """The body of a statement that is a loop; None of any other."""
    return statement.function.body if type(statement.function) is Repeat else None
