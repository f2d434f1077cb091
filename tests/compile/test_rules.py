"""Every rule of the table through the compiler: value and gradient, as in eager mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.rules.calls import Call, arrays_of, gradients, leaf, like, outputs, pulled, recorded
from tests.rules.each import thinned
from tests.rules.test_table import CASES
from wengert.compile.call.function import compile
from wengert.rules import Rule
from wengert.tensor import wrap

# The dtype of its results depends on the numbers; in a program they are complex.
_OTHERWISE = (np.linalg.eig,)
_TOGETHER = 12
"""So many calls are one program: a program costs more to compile than what is in it."""


def programs(cases: list[Any]) -> list[Any]:
    parts = [cases[i : i + _TOGETHER] for i in range(0, len(cases), _TOGETHER)]
    return [
        pytest.param([case.values for case in part], id=f"{part[0].id}...{part[-1].id}")
        for part in parts
    ]


COMPILED = [case for case in CASES if case.values[0].function not in _OTHERWISE]
SOME, OTHERS = map(programs, thinned(COMPILED, one_in=3))
SWEPT = [
    pytest.param(*part.values, id=f"{part.id} (others)", marks=pytest.mark.sweep) for part in OTHERS
]


@pytest.mark.parametrize("calls", [*SOME, *SWEPT])
def test_values_and_gradients_of_every_rule(calls: list[tuple[Rule, Call]]) -> None:
    random = np.random.default_rng(7)
    expected = [outputs(rule, call) for rule, call in calls]
    given = [arrays_of(rule, call) for rule, call in calls]
    gs = [[like(y, random) for y in ys] for ys in expected]

    @compile
    def values_and_gradients(inputs: Any, cotangents: Any) -> Any:
        found = []
        for (rule, call), xs, some in zip(calls, inputs, cotangents, strict=True):
            ys = recorded(rule, call, xs)
            found.append((ys, gradients(ys, xs, some)))
        return found

    found = values_and_gradients(
        [[leaf(x) for x in xs] for xs in given], [[wrap(g) for g in some] for some in gs]
    )
    for (rule, call), values, some, (ys, slopes) in zip(calls, expected, gs, found, strict=True):
        close(ys, values)
        close(slopes, pulled(rule, call, some))


def close(found: list[Any], expected: list[Any]) -> None:
    for x, y in zip(found, expected, strict=True):
        assert x.dtype == y.dtype
        assert x.shape == y.shape
        scale = np.max(np.abs(y), initial=1.0)
        np.testing.assert_allclose(x.detach().numpy(), y, rtol=0, atol=1e-13 * scale)
