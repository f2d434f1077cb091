"""SciPy's iterations in a compiled function: what is said where their numbers are not known."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from wengert.control.recorded import tracing
from wengert.errors import TracingError
from wengert.history.location import here, line_of

P = ParamSpec("P")
R = TypeVar("R")


def outside(instead: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Of a function that calls SciPy: where a trace has no numbers for it, say what has."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return function(*args, **kwargs)
            except TracingError as error:
                if tracing() is None:
                    raise
                raise TracingError(
                    f"{function.__name__}: SciPy's iterations are no part of a compiled function, "
                    "and need numbers that are not known while it is compiled, at\n"
                    f"  {line_of(*here())}\nCall it outside of the compiled function; or write "
                    f"{instead}, whose iterations are machine code, and which has derivatives."
                ) from error

        return called

    return decorate
