"""Every rule of the table through the compiler: value and gradient, as in eager mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.rules.calls import Call, arrays_of, gradients, leaf, like, outputs, pulled, recorded
from tests.rules.test_table import CASES
from wengert.compile.function import compile
from wengert.rules import Rule
from wengert.rules.shapes import as_strided
from wengert.tensor import wrap

# The first is about memory, of which a program has none. The dtype of the other's results depends
# on the numbers; in a program they are complex.
_OTHERWISE = (as_strided, np.linalg.eig)
_CASES = [case for case in CASES if case.values[0].function not in _OTHERWISE]


@pytest.mark.parametrize(("rule", "call"), _CASES)
def test_value_and_gradient_of_every_rule(rule: Rule, call: Call) -> None:
    random = np.random.default_rng(7)
    expected = outputs(rule, call)
    gs = [like(y, random) for y in expected]
    count = len(arrays_of(rule, call))

    @compile
    def value_and_gradient(*arrays: Any) -> Any:
        xs, cotangents = arrays[:count], arrays[count:]
        ys = recorded(rule, call, list(xs))
        return ys, gradients(ys, list(xs), list(cotangents))

    xs = [leaf(x) for x in arrays_of(rule, call)]
    ys, found = value_and_gradient(*xs, *map(wrap, gs))
    close(ys, expected)
    close(found, pulled(rule, call, gs))


def close(found: list[Any], expected: list[Any]) -> None:
    for x, y in zip(found, expected, strict=True):
        assert x.dtype == y.dtype
        assert x.shape == y.shape
        scale = np.max(np.abs(y), initial=1.0)
        np.testing.assert_allclose(x.detach().numpy(), y, rtol=0, atol=1e-13 * scale)
