"""Batched arrays: every rule of the table, and NumPy's functions, as a loop computes them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.rules.calls import Call, arrays_of, gradients, like, outputs, pulled, recorded
from tests.rules.calls import with_arrays
from tests.rules.test_table import CASES
from wengert.arrays.batched import BatchedArray, Level
from wengert.errors import BatchingError
from wengert.rules import Rule
from wengert.rules.shapes import as_strided
from wengert.tensor import wrap

LOOPED = {as_strided}
SIZE = 3


def examples(x: np.ndarray) -> np.ndarray:
    """Arrays of the same kind of numbers as `x`."""
    return np.stack([np.roll(x.ravel(), k).reshape(x.shape) for k in range(SIZE)])


def close(found: Any, expected: Any) -> None:
    found = found.detach()._array if isinstance(found, wg.Tensor) else found
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    scale = np.max(np.abs(expected), initial=1.0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * scale)


@pytest.mark.parametrize("chosen", ["all", "first", "last"])
@pytest.mark.parametrize(("rule", "call"), CASES)
def test_value_and_gradient_of_every_rule(rule: Rule, call: Call, chosen: str) -> None:
    arrays = arrays_of(rule, call)
    if len(arrays) < 2 and chosen != "all":
        return
    picked = {"all": range(len(arrays)), "first": [0], "last": [len(arrays) - 1]}[chosen]
    xs = [examples(x) if k in picked else x for k, x in enumerate(arrays)]
    calls = [
        with_arrays(rule, call, [x[i, ...] if k in picked else x for k, x in enumerate(xs)])
        for i in range(SIZE)
    ]
    with np.errstate(all="ignore"):
        each = [outputs(rule, c) for c in calls]
        random = np.random.default_rng(3)
        expected = [np.stack(column) for column in zip(*each, strict=True)]
        gs = [like(y, random) for y in expected]
        slopes = [pulled(rule, c, [g[i, ...] for g in gs]) for i, c in enumerate(calls)]
        leaves = [wrap(x).requires_grad_() for x in xs]
        mapped = wg.vmap(
            lambda *tensors: tuple(recorded(rule, call, list(tensors))),
            in_dims=tuple(0 if k in picked else None for k in range(len(xs))),
        )
        with warnings.catch_warnings():
            if rule.function in LOOPED:
                warnings.simplefilter("ignore")
            ys = list(mapped(*leaves))
            found = gradients(ys, leaves, [wrap(g) for g in gs])
    for y, e in zip(ys, expected, strict=True):
        close(y, e)
    for k, g in enumerate(found):
        column = np.stack([s[k] for s in slopes])
        close(g, column if k in picked else column.sum(0))
