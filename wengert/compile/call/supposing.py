"""Programs that suppose something of numbers (`dispatch.supposed`): where that is false, the call
runs eagerly instead.

A check finds it, before anything is written. What has moved by then are the generators that the
program draws from: they are set back, so that the eager call draws the same numbers.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wengert.compile.program.bodies import bodies
from wengert.compile.program.operations import check
from wengert.compile.program.program import Program, Statement
from wengert.compile.trace.world.drawn import GENERATORS, Draw
from wengert.dispatch import Unforeseen
from wengert.functions.random import Generator


def supposing(
    call: Callable[..., Any], program: Program, eagerly: Callable[..., Any]
) -> Callable[..., Any]:
    """The call of a program; or `eagerly` that of its function, where it has supposed wrongly."""
    statements = list(_statements(program))
    if not any(s.function is check and s.args[1] is Unforeseen for s in statements):
        return call
    places = [s.function.place for s in statements if type(s.function) is Draw]
    owners = {id(x): x for x in (place.read(()) for place in places)}
    generators = [x for x in owners.values() if isinstance(x, (Generator, *GENERATORS))]

    def supposed(*args: Any, **kwargs: Any) -> Any:
        states = [*map(_state_of, generators)]
        try:
            return call(*args, **kwargs)
        except Unforeseen:
            for generator, state in zip(generators, states, strict=True):
                _set_back(generator, state)
            return eagerly(*args, **kwargs)

    return supposed


def _statements(program: Program) -> Iterator[Statement]:
    for statement in program.statements:
        yield statement
        for body in bodies(statement):
            yield from _statements(body)


def _state_of(generator: Any) -> Any:
    if isinstance(generator, np.random.Generator):
        return generator.bit_generator.state
    return generator.getstate() if isinstance(generator, random.Random) else generator.get_state()


def _set_back(generator: Any, state: Any) -> None:
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = state
    elif isinstance(generator, random.Random):
        generator.setstate(state)
    else:
        generator.set_state(state)
