"""Faster ways to compute a function give what its formula gives, and each is taken somewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wengert.rules import normalization, products, reductions, shapes
from wengert.rules.ways import WAYS

RNG = np.random.default_rng(0)


def arrays(count: int, *shape: int) -> list[Any]:
    return [RNG.standard_normal(shape) for _ in range(count)]


FEW, SOME, MANY, BATCH, IMAGES = (5, 7), (20, 30), (300, 200), (4, 3, 5), (16, 8, 24, 24)
CALLS: dict[Any, list[tuple[Any, ...]]] = {
    reductions.softmax: [(*arrays(1, *s), a) for s in (FEW, SOME, MANY) for a in (-1, 0)],
    reductions.log_softmax: [(*arrays(1, *s), a) for s in (FEW, MANY) for a in (-1, 0)],
    normalization.standardize: [
        (*arrays(1, *shape), axes, 1e-5)
        for shape, axes in ((FEW, (-1,)), (MANY, (1,)), (IMAGES, (0, 2, 3)), (BATCH, (0, 2)))
    ],
    reductions.variance: [(*arrays(1, *shape), (1,), 1) for shape in (FEW, MANY)],
    shapes.windows: [(*arrays(1, *FEW), 0, 3, 2), (*arrays(1, *FEW), -1, 2, 1)],
    products.pair_distances: [tuple(arrays(1, *shape)) for shape in (FEW, MANY)],
}
CALLS[products._pulled_together] = [
    (x, *arrays(1, len(x) * (len(x) - 1) // 2), products.pair_distances(x))
    for (x,) in CALLS[products.pair_distances]
]
CALLS[normalization._through] = [
    (*arrays(1, *x.shape), x, normalization.standardize(x, axes, eps), axes, eps)
    for x, axes, eps in CALLS[normalization.standardize]
]


def test_every_function_with_several_ways_has_calls():
    assert {f.formula for f in CALLS} == set(WAYS)


@pytest.mark.parametrize("function", CALLS, ids=lambda f: f.__name__)
def test_each_way_is_taken_and_gives_what_the_formula_gives(function):
    taken = set()
    for call in CALLS[function]:
        expected = function.formula(*call)
        np.testing.assert_allclose(function(*call), expected, rtol=1e-9, atol=1e-12)
        taken.add(next((k for k, (c, _) in enumerate(WAYS[function.formula]) if c(*call)), None))
    assert taken >= set(range(len(WAYS[function.formula])))
