"""Of what kind results of loops and branches are: tensors, arrays, numbers of NumPy and Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wengert as wg

VALUES: dict[str, Callable[[Any], Any]] = {
    "a float": lambda x: 2.5,
    "an int": lambda x: 3,
    "a truth value": lambda x: True,
    "a number of NumPy": lambda x: np.float32(2),
    "an array of no dimensions": lambda x: np.array(2.0),
    "an array": lambda x: np.arange(3.0),
    "a tensor": lambda x: x,
    "a sum": lambda x: x.sum(),
    "nothing": lambda x: None,
    "a tuple": lambda x: (x, 2.0, np.ones(2)),
    "a dictionary": lambda x: {"a": x, "b": 1},
    "half precision": lambda x: x.to(wg.bfloat16),
    "complex numbers": lambda x: x * 1j,
    "no elements": lambda x: x[:0],
}
LOOPS: dict[str, Callable[[Any, Any], Any]] = {
    "cond": lambda v, x: wg.cond(x.sum() > 0, lambda: v(x), lambda: v(x)),
    "a known cond": lambda v, x: wg.cond(True, lambda: v(x), lambda: v(x)),
    "switch": lambda v, x: wg.switch(x.sum().long(), [lambda: v(x)] * 3),
    "fori_loop": lambda v, x: wg.fori_loop(0, 3, lambda i, s: s, v(x)),
    "no iteration": lambda v, x: wg.fori_loop(0, 0, lambda i, s: s, v(x)),
    "while_loop": lambda v, x: wg.while_loop(lambda s: x.sum() < 0, lambda s: s, v(x)),
    "scan": lambda v, x: wg.scan(lambda c, row: (c, row), v(x), wg.ones(3)),
    "map": lambda v, x: wg.map(lambda row: v(row), wg.ones(3, 2)),
}


def kind(x: Any) -> Any:
    if isinstance(x, tuple | list):
        return [kind(part) for part in x]
    if isinstance(x, dict):
        return {key: kind(part) for key, part in x.items()}
    if isinstance(x, wg.Tensor | np.ndarray):
        return type(x).__name__, str(x.dtype), tuple(x.shape)
    return type(x).__name__


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("value", VALUES)
def test_results_are_of_the_same_kinds_as_eagerly(value: str, loop: str) -> None:
    # The rows of a float were float64 among tensors, and a number of NumPy an array.
    def function(x: Any) -> Any:
        return LOOPS[loop](VALUES[value], x)

    compiled = wg.compile(function)
    for _ in range(3):
        assert kind(compiled(wg.ones(2))) == kind(function(wg.ones(2)))
