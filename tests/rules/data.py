"""Seeded data for sample calls, and the variations that a family of functions is called with.

Data keeps away from kinks, steps and poles by construction. Every array is read-only, so a rule
that writes into its inputs fails.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Call = dict[str, Any]
Draw = Callable[..., np.ndarray]

_random = np.random.default_rng(1964)

# ---- data ----------------------------------------------------------------------------------


def fixed(array: Any) -> np.ndarray:
    """An array, made read-only."""
    array = np.asarray(array)
    array.flags.writeable = False
    return array


def normal(*shape: int) -> np.ndarray:
    return fixed(_random.standard_normal(shape))


def between(low: float, high: float) -> Draw:
    return lambda *shape: fixed(_random.uniform(low, high, shape))


def both_signs(draw: Draw) -> Draw:
    return lambda *shape: fixed(draw(*shape) * _random.choice([-1.0, 1.0], shape))


def distinct(*shape: int) -> np.ndarray:
    """Numbers at least 0.3 apart: no ties, nor anything close to one."""
    n = int(np.prod(shape))
    return fixed(0.3 * (_random.permutation(n) - n // 2 + 0.25).reshape(shape))


def between_integers(*shape: int) -> np.ndarray:
    return fixed(_random.integers(-3, 4, shape) + _random.uniform(0.2, 0.8, shape))


def complex_normal(*shape: int) -> np.ndarray:
    return fixed(_random.standard_normal(shape) + 1j * _random.standard_normal(shape))


def right_half_plane(*shape: int) -> np.ndarray:
    """Complex numbers away from 0 and from the branch cut along the negative axis."""
    return fixed(_random.uniform(0.4, 1.6, shape) + 1j * _random.uniform(-0.8, 0.8, shape))


def small_disc(*shape: int) -> np.ndarray:
    """Complex numbers well inside the unit circle."""
    return fixed(0.6 * right_half_plane(*shape) - 0.5)


def upper_half_plane(*shape: int) -> np.ndarray:
    return fixed(_random.uniform(1.2, 2, shape) + 1j * _random.uniform(0.4, 1.2, shape))


positive = between(0.4, 2)
away_from_zero = both_signs(positive)
unit_interval = both_signs(between(0.1, 0.8))


def scattered(draw: Draw, *shape: int) -> np.ndarray:
    """Data that are not contiguous in memory, with a negative stride."""
    return fixed(draw(*(2 * n for n in shape))[tuple(slice(None, None, -2) for _ in shape)])


# ---- families of calls ---------------------------------------------------------------------


def one(draw: Draw, complex_draw: Draw | None = None) -> list[Call]:
    """Calls of an elementwise function of x: a matrix, 0-d, empty, strided, complex."""
    calls = [{"x": draw(2, 3)}, {"x": draw()}, {"x": draw(0, 2)}, {"x": scattered(draw, 2, 2)}]
    if complex_draw is not None:
        calls += [{"x": complex_draw(2, 2)}, {"x": complex_draw()}]
    return calls


def two(draw_a: Draw, draw_b: Draw, *complex_draws: Draw) -> list[Call]:
    """Calls of an elementwise function of a and b: equal shapes, and every way to broadcast."""
    pairs = [((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2,)), ((2, 2), ()), ((), ())]
    calls = [
        {"a": draw_a(*a), "b": draw_b(*b)} for a, b in [*pairs, ((0, 3), (1, 3)), ((1, 1, 2), (2,))]
    ]
    calls.append({"a": scattered(draw_a, 2, 3), "b": scattered(draw_b, 2, 1)})
    if complex_draws:
        draw_a, draw_b = complex_draws
        calls += [{"a": draw_a(*a), "b": draw_b(*b)} for a, b in pairs[:3]]
    return calls


def real_and_complex(*calls: Call) -> list[Call]:
    """The calls as they are, and with complex numbers in place of the real ones."""
    return [*calls, *({name: _complexed(value) for name, value in call.items()} for call in calls)]


def _complexed(value: Any) -> Any:
    if isinstance(value, list) and value and isinstance(value[0], np.ndarray):
        return [_complexed(item) for item in value]
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return fixed(value + 1j * normal(*value.shape))
    return value


def reductions_of(draw: Draw) -> list[Call]:
    """Calls of a reduction of a: all axes, one, several, negative, kept; 0-d and strided."""
    return [
        {"a": draw(2, 3)},
        {"a": draw(2, 3), "keepdims": True},
        {"a": draw(2, 3), "axis": 1},
        {"a": draw(2, 3), "axis": -2, "keepdims": True},
        {"a": draw(2, 3, 2), "axis": (0, -1)},
        {"a": draw(2, 1, 2), "axis": (2, 0), "keepdims": True},
        {"a": draw(2, 3), "axis": ()},
        {"a": draw()},
        {"a": draw(), "keepdims": True},
        {"a": scattered(draw, 2, 2), "axis": 0},
    ]


def integers(*values: Any) -> np.ndarray:
    return fixed(np.array(values, np.int64))
