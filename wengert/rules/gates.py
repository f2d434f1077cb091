"""Gates: one half of the numbers decides how much of the other half passes."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.dispatch import primitive
from wengert.rules.blocks import EXACT
from wengert.rules.neural import sigmoid
from wengert.rules.rule import general
from wengert.rules.ways import implemented, way


@primitive
@implemented
def glu(x: Any, axis: int) -> Any:
    """a sigmoid(b), for the halves a and b of the input along `axis`."""
    a, b = _halves(x, axis)
    return a * sigmoid(b)


@way(glu, lambda x, axis: type(x) is np.ndarray and x.dtype in EXACT)
def _glu_in_place(x: Any, axis: int) -> Any:
    a, b = _halves(x, axis)
    out = sigmoid.body(b)  # type: ignore[attr-defined]
    return np.multiply(a, out, out)


def _halves(x: Any, axis: int) -> tuple[Any, Any]:
    before, middle = (slice(None),) * (axis % len(x.shape)), x.shape[axis] // 2
    return x[(*before, slice(middle))], x[(*before, slice(middle, None))]


def _glu_slopes(x: Any, axis: int) -> tuple[Any, Any]:
    """The derivatives of glu by both halves."""
    a, b = _halves(x, axis)
    s = sigmoid(b)
    return s, a * s * (1 - s)


def _glu_pull(g: Any, x: Any, axis: int) -> Any:
    return np.concatenate([g * slope for slope in _glu_slopes(x, axis)], axis=axis)


def _glu_push(t: Any, x: Any, axis: int) -> Any:
    (a, b), (by_a, by_b) = _halves(t, axis), _glu_slopes(x, axis)
    return a * by_a + b * by_b


general(glu, reverse={"x": _glu_pull}, forward={"x": _glu_push}, axes=("axis",))
