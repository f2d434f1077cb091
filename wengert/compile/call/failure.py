"""Programs that find an error, or that suppose something of numbers which is false.

They find it before anything is written. So the call runs eagerly instead: it does what the function
does before it raises, and raises what that does. What has moved by then are the generators that the
program draws from: they are set back, so that the eager call draws the same numbers. Where others
have seen what the program did, as other processes do, it raises its error itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from wengert.compile.backend import backend
from wengert.compile.plan.plan import Call as Step
from wengert.compile.plan.plan import Plan
from wengert.compile.program.operations import check
from wengert.compile.program.program import Statement
from wengert.compile.trace.world.drawn import GENERATORS, Draw, put_back, state_of
from wengert.dispatch import Unforeseen
from wengert.functions.random import Generator

Call = Callable[..., Any]


class Failure:
    """What a call does whose program raises; `eagerly` is a call of its function.

    >>> import wengert as wg
    >>> seen = []
    >>> @wg.compile
    ... def pick(x, i):
    ...     seen.append(1)
    ...     return x[i]
    >>> pick(wg.ones(3), wg.tensor([0, 2]))
    tensor([1., 1.])
    >>> pick(wg.ones(3), wg.tensor([0, 3]))
    Traceback (most recent call last):
    ...
    IndexError: index 3 is out of bounds for dimension 0 with size 3 (the tensor has shape [3])
    >>> seen
    [1, 1]
    """

    def __init__(self, plan: Plan, eagerly: Call) -> None:
        steps = list(_carried_out(plan))
        statements: list[Any] = [step.statement for step in steps]
        draws = [k for k, s in enumerate(statements) if isinstance(s.function, Draw)]
        owners = {id(x): x for x in (statements[k].function.place.read(()) for k in draws)}
        self.eagerly = eagerly
        self.generators = [x for x in owners.values() if isinstance(x, (Generator, *GENERATORS))]
        self.unseen = not any(map(_is_seen, statements))
        """Whether the function may do all again, whatever the program raises."""
        self.redraws = bool(self.generators) and any(map(_raises, steps[draws[0] + 1 :]))
        """Whether numbers are drawn before something that may raise."""
        self.supposes = any(_supposes(s) for s in statements)

    @property
    def instead(self) -> Call:
        """What is called where the program raises; generators are set back by `of`."""
        return _unforeseen if self.redraws else self.eagerly

    def of(self, call: Call) -> Call:
        """The call of a program; or that of its function, where it raises Unforeseen."""
        if not self.redraws and (self.unseen or not self.supposes):
            return call

        def checked(*args: Any, **kwargs: Any) -> Any:
            states = [*map(state_of, self.generators)]
            try:
                return call(*args, **kwargs)
            except Unforeseen:
                for generator, state in zip(self.generators, states, strict=True):
                    put_back(generator, state)
                return self.eagerly(*args, **kwargs)

        return checked


def _unforeseen(*_: Any, **__: Any) -> NoReturn:
    raise Unforeseen


def _carried_out(plan: Plan) -> Iterator[Step]:
    """The calls of a plan, in order; those in loops twice, for iterations follow each other."""
    for step in plan.steps:
        if isinstance(step, Step):
            inside = [part for body in step.bodies for part in _carried_out(body)]
            yield from inside * 2 if step.bodies else [step]


def _raises(step: Step) -> bool:
    s = step.statement
    raises = s.function is check or not backend().runs(step)
    return raises and bool(s.inputs or not isinstance(s.function, Draw))


def _supposes(s: Statement) -> bool:
    """Whether a statement may raise Unforeseen: for other ranks, what meets them does."""
    return s.meets or (s.function is check and s.args[1] is Unforeseen)


def _is_seen(s: Statement) -> bool:
    """Whether others may see that a statement was carried out."""
    if s.function is check or isinstance(s.function, Draw):
        return False
    return s.acts or getattr(s.function, "opaque", False)
