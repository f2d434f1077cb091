"""Random numbers in a traced function: each draw is a statement that draws when it runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.compile.trace.array import Trace


class Numbers:
    """A generator's numbers while tracing."""

    def __init__(self, trace: Trace, generator: Any) -> None:
        self.trace = trace
        self.generator = generator

    def __getattr__(self, method: str) -> Any:
        def draw(*args: Any, **kwargs: Any) -> Any:
            return self.trace.otherwise(Draw(self.generator, method), args, kwargs)

        return draw


class Draw:
    """Draws random numbers from a generator, as it is when the program runs."""

    draws = True
    __module__ = "wengert"

    def __init__(self, generator: Any, method: str) -> None:
        self.generator = generator
        self.method = method
        self.__name__ = f"draw_{method}"
        self.learning = True  # the first call, while tracing, is about the shape only

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        numbers = self.generator._numbers
        if self.learning:
            self.learning = False
            numbers = np.random.Generator(np.random.Philox(0))
        return getattr(numbers, self.method)(*args, **kwargs)
