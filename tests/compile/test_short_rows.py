"""Products of short rows, points and the matrix that turns them, are part of the loops around."""

import numpy as np
import pytest

import wengert as wg
from tests.compile.programs import agree
from wengert.compile.backend import backend
from wengert.compile.plan.planner import plan


def steps(compiled):
    return [type(s).__name__ for s in plan(compiled.program, backend()).steps]


def arrays(*shapes):
    rng = np.random.default_rng(0)
    return [rng.normal(size=shape) for shape in shapes]


FUSED = {
    "turned": (lambda x, r: 2 * (x @ r.T) + 1, (5000, 3), (3, 3)),
    "each by its own": (lambda x, r: np.exp(x @ r), (2000, 3, 3), (2000, 3, 3)),
    "summed": (lambda x, r: np.sum((x @ r) ** 2, axis=1), (8000, 2), (2, 2)),
}


@pytest.mark.parametrize("case", FUSED)
def test_products_of_short_rows_are_in_the_loop_that_reads_them(case):
    # Points went to memory turned, and came back for what was added to them.
    f, *shapes = FUSED[case]
    compiled = wg.compile(f)
    x, r = arrays(*shapes)
    agree(compiled(x, r), f(x, r), exact=False)
    assert steps(compiled) == ["Loops"]


WHOLE = {
    "a result": (lambda x, r: x @ r, (5000, 3), (3, 3)),
    "read by a product": (lambda x, r: (x @ r) @ np.ones((3, 40)), (5000, 3), (3, 3)),
    "long rows": (lambda x, r: 2 * (x @ r), (5000, 40), (40, 40)),
    "few points": (lambda x, r: 2 * (x @ r), (50, 3), (3, 3)),
}


@pytest.mark.parametrize("case", WHOLE)
def test_other_products_are_taken_whole(case):
    f, *shapes = WHOLE[case]
    compiled = wg.compile(f)
    x, r = arrays(*shapes)
    agree(compiled(x, r), f(x, r), exact=False)
    assert "Multiply" in steps(compiled)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_zero_times_an_infinity_is_nan_in_the_loop_as_well(dtype):
    x, r = (a.astype(dtype) for a in arrays((5000, 3), (3, 3)))
    x[7], x[9, 1], r[1, 2] = np.inf, np.nan, 0
    with np.errstate(invalid="ignore"):
        agree(wg.compile(FUSED["turned"][0])(x, r), FUSED["turned"][0](x, r), exact=False)


def test_derivatives_of_turned_points_are_those_of_eager_mode():
    def loss(x, r):
        return wg.sum((x @ r.T + 1) ** 3)

    x, r = arrays((5000, 3), (3, 3))
    for mode in (wg.grad(loss, argnums=(0, 1)), wg.jacfwd(loss, argnums=1)):
        for a, b in zip(wg.compile(mode)(x, r), mode(x, r), strict=True):
            agree(a, b, exact=False)
