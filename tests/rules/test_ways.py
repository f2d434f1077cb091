"""Faster ways to compute a function give what its formula gives, and each is taken somewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.rules.samples_neural import SAMPLING
from wengert.functions import sorting
from wengert.rules import (
    alignment,
    convolution,
    elementwise,
    gates,
    indexing,
    losses,
    neural,
    normalization,
    products,
    reductions,
    sampling,
    shapes,
    special,
    stacks,
)
from wengert.rules.quick import QUICK
from wengert.rules.rule import RULES
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
        for shape, axes in (
            *((FEW, (-1,)), (MANY, (1,)), (IMAGES, (0, 2, 3)), (BATCH, (0, 2))),
            *((FEW, (0,)), (SOME, (0,)), (MANY, (0,))),
            *(((4, 4, 6), (1, 2)), ((8, 3, 5), (0, 2))),
        )
    ],
    reductions.variance: [
        (*arrays(1, *shape), axes, 1) for shape in (FEW, MANY) for axes in (1, (1,), (0,))
    ],
    reductions.length: [
        (*arrays(1, *shape), *how) for shape in (FEW, MANY) for how in ((1, True), (None,), (0,))
    ],
    shapes.windows: [(*arrays(1, *FEW), 0, 3, 2), (*arrays(1, *FEW), -1, 2, 1)],
    shapes.expand: [(*arrays(1, 5, 1), (5, 7)), (RNG.standard_normal((7, 5)).T[:, :1], (2, 5, 7))],
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
CALLS[normalization.to_unit_square] = [
    (*arrays(1, *shape), axes, 1e-5)
    for shape, axes in ((FEW, (1,)), (MANY, (1,)), (BATCH, (1, 2)), (FEW, (0,)))
]
CALLS[normalization._through_unit_square] = [
    (*arrays(1, *x.shape), x, *how) for x, *how in CALLS[normalization.to_unit_square]
]
CALLS[shapes.difference] = [
    (*arrays(1, *shape), axis)
    for shape in (FEW, MANY, IMAGES, (1, 9000), (9000, 1))
    for axis in (0, 1, -1)
]


# ---- sums and places along an axis

_pushed, _logs = RULES[reductions.softmax], RULES[reductions.log_softmax]
for function in (_pushed.forward["x"], _logs.reverse["x"], _logs.forward["x"]):
    CALLS[function] = [(*arrays(2, *shape), a) for shape in (FEW, MANY) for a in (-1, 0)]
CALLS[reductions._softmax_pull] = [
    (*arrays(2, *shape), axis) for shape in (FEW, MANY) for axis in (-1, 0)
]
CALLS[QUICK[np.cumsum]] = [(*arrays(1, *shape), axis) for shape in (FEW, MANY) for axis in (0, 1)]
CALLS[QUICK[np.cumprod]] = [(*arrays(1, *shape), axis) for shape in (FEW, MANY) for axis in (0, 1)]
CALLS[reductions.recurrence.body] = [
    (*arrays(1, *shape), RNG.uniform(-1, 1, shape), axis)
    for shape in (FEW, MANY)
    for axis in (0, 1)
]
CALLS[reductions.prod] = [(*arrays(1, *s), a) for s in (FEW, MANY) for a in (None, 0, 1)]
CALLS[reductions.prod] += [((1 + x / 9 + 0.1j * x), a) for x in arrays(1, *MANY) for a in (0, 1)]
CALLS[shapes.overlapped] = [
    (*arrays(1, 3, 7, 2), (5, 7), 0, 1),
    (*arrays(1, 5, 3, 3), (5, 8), -1, 2),
    (RNG.integers(0, 9, (3, 7, 2)), (5, 7), 0, 1),
]
CALLS[reductions._reverse_cumsum] = [
    (*arrays(1, *shape), shape, axis) for shape in (FEW, MANY) for axis in (0, 1)
]
CALLS[reductions.running_places] = [
    (x, axis, extremum)
    for x in (*arrays(1, *FEW), RNG.integers(0, 9, FEW))
    for axis in (0, 1)
    for extremum in (np.maximum, np.minimum)
]
CALLS[sorting.stable_order] = [(RNG.integers(0, 9, shape), 1) for shape in (FEW, MANY)]

# ---- rows and elements at places

INDEX = RNG.integers(0, 5, FEW)
CALLS[QUICK[np.take_along_axis]] = [(*arrays(1, *FEW), INDEX, 0), (*arrays(1, *FEW), INDEX[:2], 0)]
CALLS[indexing._added] = [
    (x, RNG.integers(0, 9, FEW), (9,)) for x in (*arrays(1, *FEW), RNG.integers(0, 9, FEW))
]
CALLS[indexing.add_rows] = [
    (RNG.integers(0, 9, (n, m)).astype(dtype), RNG.integers(0, 9, n), (9, m))
    for n, m, dtype in ((4, 3, "d"), (4, 3, "l"), (900, 6, "D"), (900, 6, "l"))
]
CALLS[indexing.gather] = [(*arrays(1, *FEW), i, 0) for i in (INDEX, INDEX[:2, :4])]
CALLS[indexing.pick] = [(*arrays(1, *s), INDEX[: s[0], 0], 1) for s in (FEW, (*FEW, 1))]
CALLS[indexing.pick].append((np.arange(7.0), np.array(3), 0))
CALLS[indexing.take_planes] = [(*arrays(1, 2, 3, 4, 5), RNG.integers(0, 20, (2, 3, 2, 2)))]
CALLS[indexing.scatter_add] = [
    (*arrays(1, *i.shape), i, FEW, 0) for i in (INDEX, INDEX[:2], INDEX[:2, :4])
]
CALLS[indexing.scatter_added] = [
    (*arrays(1, *FEW), *arrays(1, *i.shape), i, 0) for i in (INDEX, INDEX[:2], INDEX[:2, :4])
]
CALLS[indexing.added] = [
    (x, np.resize(x, x[index].shape), index)
    for x in (*arrays(1, *FEW), RNG.integers(0, 9, FEW))
    for index in (INDEX[0] % 3, (slice(None), INDEX[0] % 3), (INDEX[0] % 3,) * 2)
]
CALLS[indexing.put_along_axis] = [
    *((g, INDEX, FEW, 0) for g in (*arrays(1, *FEW), RNG.integers(0, 9, FEW, np.int32))),
    (*arrays(1, 7), INDEX[:2], FEW, 0),
]
CLASSES = RNG.integers(-1, 7, 5)
CALLS[losses.margins] = [(*arrays(1, *FEW), np.abs(CLASSES), 0.5, p) for p in (1, 2)]
CALLS[losses.picked] = [(*arrays(1, *FEW), CLASSES, w, 1) for w in (None, *arrays(1, 5))]
CALLS[losses.mean_picked] = [(*arrays(1, *FEW), CLASSES, 3, 1)]
CALLS[losses.unpicked] = [(*arrays(1, 5), CLASSES, w, FEW, 1) for w in (None, *arrays(1, 5))]

# ---- transforms and products

LONG = (40, 60)
for name in ("fft", "ifft", "rfft", "irfft"):
    transform = QUICK[getattr(np.fft, name)]
    CALLS[transform] = [(*arrays(1, *shape), n, 1) for shape in (FEW, LONG) for n in (None, 12)]
for name in ("fftn", "ifftn", "rfftn", "irfftn"):
    transform = QUICK[getattr(np.fft, name)]
    CALLS[transform] = [
        (*arrays(1, *shape), None, axes) for shape in (FEW, LONG) for axes in ((0, 1), (1,))
    ]
CALLS[QUICK[np.linalg.inv]] = [tuple(arrays(1, n, n)) for n in (3, 70)]
CALLS[QUICK[np.linalg.solve]] = [
    (*arrays(1, n, n), *arrays(1, n, *more)) for n in (3, 70) for more in ((), (2,))
]
CALLS[stacks.matmul] = [
    tuple(arrays(2, 3, 4, 4)),
    (*arrays(1, 64, 48, 32), np.swapaxes(arrays(1, 64, 80, 32)[0], 1, 2)),
]
CALLS[products.cross] = [
    tuple(arrays(2, 4, 3)),
    tuple(arrays(2, 40, 3)),
    (*arrays(1, 3), *arrays(1, 2, 3)),
]
CALLS[products.distances] = [(*arrays(1, *FEW), *arrays(1, 3, 7))]
CALLS[products.block_distances] = [(*arrays(1, *FEW), *arrays(1, 3, 7))]
CALLS[products._along_axes] = [(*arrays(1, 5, 3), *arrays(1, *FEW), *arrays(1, 3, 7))]

# ---- layers

CALLS[normalization.moments] = [
    tuple(arrays(1, *shape)) for shape in (SOME, BATCH, (8, 3, 5), IMAGES)
]
CALLS[normalization.scaled] = [
    (*arrays(1, *shape), *arrays(1, *shape[1:]), bias)
    for shape in (FEW, MANY)
    for bias in (None, *arrays(1, *shape[1:]))
]
CALLS[normalization._pull_weight] = [(*arrays(2, *FEW), FEW[1:])]
CALLS[normalization._pull_bias] = [(*arrays(1, *FEW), FEW[1:])]
CALLS[normalization.layer_norm] = [
    (*arrays(1, *shape), *arrays(2, *shape[1:]), 1e-5) for shape in (FEW, MANY)
]
CALLS[normalization._layer_norm_pull] = [
    (*arrays(2, *shape), *arrays(1, *shape[1:]), 1e-5) for shape in (FEW, MANY)
]
CALLS[normalization._layer_norm_pull_weight] = [
    (*arrays(2, *shape), shape[1:], 1e-5) for shape in (FEW, MANY)
]
CALLS[normalization.scaled_channels] = [
    (*arrays(1, *shape), *arrays(1, shape[1]), bias)
    for shape in (BATCH, IMAGES, MANY)
    for bias in (None, *arrays(1, shape[1]))
]
CALLS[normalization._channel_sums] = [tuple(arrays(1, *shape)) for shape in (BATCH, IMAGES)]
CALLS[normalization._channel_products] = [tuple(arrays(2, *shape)) for shape in (BATCH, IMAGES)]

# ---- windows and samples of images

ONE, NONE = (1, 1), (0, 0)
INPUTS, WEIGHT = IMAGES, (8, 8, 3, 3)
WINDOWS = ONE, ONE, ONE, 1
CALLS[convolution.convolution] = [
    (*arrays(1, n, *INPUTS[1:]), *arrays(1, *WEIGHT), WINDOWS, bias)
    for n in (1, 16)
    for bias in (None, *arrays(1, 8))
]
CALLS[convolution.convolution_input] = [
    (*arrays(1, n, *INPUTS[1:]), *arrays(1, *WEIGHT), (n, *INPUTS[1:]), WINDOWS) for n in (1, 16)
]
CALLS[convolution.convolution_weight] = [
    (*arrays(2, n, *INPUTS[1:]), WEIGHT, WINDOWS) for n in (1, 16)
]
CALLS[convolution._each_channel] = [tuple(arrays(1, *BATCH))]
LINE, PLANES = arrays(1, 2, 3, 11)[0], arrays(1, 2, 3, 7, 6)[0]
ROOM = ((2, 2, 3), (1, 2, 1), (1, 0, 1), (2, 1, 1), (3, 2, 4))
POOLED = [
    (LINE, ((3,), (2,), (1,), (1,), (6,))),
    (PLANES, ((2, 3), ONE, (0, 1), ONE, (6, 6))),
    (*arrays(1, 2, 1, 3, 4, 4), ROOM),
]
for function in (convolution.max_pool, convolution.sum_pool):
    CALLS[function] = [(x, windows) for x, windows in POOLED]
POOLS = [(convolution.max_pool(x, windows), x, windows) for x, windows in POOLED]
CALLS[convolution.max_spread] = [(*arrays(1, *y.shape), x, y, windows) for y, x, windows in POOLS]
CALLS[convolution.sum_spread] = [
    (*arrays(1, *y.shape), x.shape, windows) for y, x, windows in POOLS
]
BORDERS = [(ONE, (2, 1), mode) for mode in ("reflect", "replicate", "circular")]
CALLS[convolution.bordered] = [
    (*arrays(1, 1, *shape), *border) for shape in ((3, 5, 4), (140, 130)) for border in BORDERS
]
CALLS[convolution.unbordered] = [
    (*arrays(1, 2, 3, 8, 6), (2, 3, 5, 4), *border) for border in BORDERS
]
for function in (sampling.sample, sampling.spread, sampling.resize, sampling.unresize):
    CALLS[function] = [tuple(RULES[function].bind(**call).values()) for call in SAMPLING[function]]
CALLS[alignment.alignments] = [
    tuple(RULES[alignment.alignments].bind(**call).values())
    for call in SAMPLING[alignment.alignments]
]
CALLS[alignment.shares] = [(*arrays(1, 2), *call) for call in CALLS[alignment.alignments]]

# ---- single steps of many numbers

CALLS[neural.sigmoid] = [tuple(arrays(1, *FEW)), (RNG.standard_normal(3) * 1j,)]
CALLS[neural.erf] = CALLS[special.erfinv] = [
    (x.astype(dtype),) for x in (RNG.uniform(-0.9, 0.9, s) for s in (FEW, MANY)) for dtype in "fd"
]
CALLS[elementwise.masked] = [
    (g, g > 0) for g in (*arrays(1, *FEW), *arrays(1, *MANY), RNG.integers(-9, 9, FEW))
]
INFINITE = np.array([1.0, np.inf, -np.inf, np.nan])
CALLS[elementwise.nan_to_num] = [(INFINITE,), (INFINITE, 1, 2.0, None), (INFINITE, INFINITE[:1])]
CALLS[reductions.others] = [
    *((*arrays(1, *s), axis) for s in (FEW, MANY) for axis in (0, None, (0, 1))),
    *((np.where(RNG.random(SOME) < 0.1, 0.0, 2.0), axis) for axis in (0, 1)),
    (np.where(np.arange(9000) % 8999, 1.001, 0.0), 0),
]
CALLS[gates.glu] = [(x, axis) for x in arrays(1, 4, 6) for axis in (0, -1)]
CALLS[shapes.trace] = [(x,) for x in (*arrays(1, *FEW), RNG.integers(-9, 9, FEW))]
CALLS[shapes.real_pairs] = [(x * (1 + 2j),) for x in (*arrays(1, *FEW), arrays(1, *FEW)[0].T)]
CALLS[shapes.complex_of_pairs] = [
    *((x,) for x in (*arrays(1, *FEW, 2), arrays(1, 2, *FEW)[0].T, np.ones((9, 7, 2))[::2])),
    (np.broadcast_to(np.array([1.0, 2.0]), (3, 2)),),
]

TRUTHS = RNG.integers(0, 2, MANY) == 0
CALLS[QUICK[np.where]] = [
    (condition, *pair)
    for condition in (TRUTHS[:5, :7], TRUTHS)
    for pair in (
        arrays(2, *condition.shape),
        [*arrays(1, *condition.shape), np.zeros(())],
        [np.ones(()), *arrays(1, *condition.shape)],
    )
]
CALLS[QUICK[np.where]].append((TRUTHS, *(x * (1 + 2j) for x in arrays(2, *MANY))))
for function in (np.tril, np.triu):
    CALLS[QUICK[function]] = [
        (x, k) for x in (*arrays(1, *FEW), *arrays(1, *BATCH)) for k in (0, -1, 2, -9, 9)
    ]
CALLS[QUICK[np.roll]] = [(*arrays(1, *FEW), *by) for by in ((2, 0), ((3,), (1,)), ((1, 2), (0, 1)))]
CALLS[neural.erf] = [*CALLS[neural.erf], (np.array([0.3]),)]
CALLS[neural.prelu] = [(*arrays(1, *shape), arrays(1, 1)[0]) for shape in (FEW, MANY)]
CALLS[neural.prelu_pull] = [
    (x, weight, at) for x, at in (arrays(2, *FEW),) for weight in (*arrays(1, 1), *arrays(1, 7))
]
CALLS[QUICK[shapes.astype]] = [
    (x.astype(np.float16), np.dtype(np.float32)) for x in arrays(2, *MANY)
]


def test_every_function_with_several_ways_has_calls():
    assert {f.formula for f in CALLS} == set(WAYS)


@pytest.mark.parametrize("function", CALLS, ids=lambda f: f.__name__)
def test_each_way_is_taken_and_gives_what_the_formula_gives(function):
    taken = set()
    for call in CALLS[function]:
        expected = function.formula(*call)
        for ours, theirs in zip(*map(np.atleast_1d, (function(*call), expected)), strict=True):
            single = ours.dtype == np.float32
            np.testing.assert_allclose(ours, theirs, rtol=1e-6 if single else 1e-9, atol=1e-11)
        taken.add(next((k for k, (c, _) in enumerate(WAYS[function.formula]) if c(*call)), None))
    assert taken >= set(range(len(WAYS[function.formula])))


def _complex(x: Any) -> Any:
    """An array of floats with imaginary parts."""
    floats = type(x) is np.ndarray and x.dtype == np.float64
    return x + 0.01j * np.roll(x, 1) if floats else x


COMPLEX = [
    *(indexing.gather, indexing.scatter_add, indexing.scatter_added, indexing.add_rows),
    *(indexing.added, indexing._added, indexing.put_along_axis, indexing.take_planes),
    *(shapes.overlapped, shapes.difference, shapes.trace, QUICK[np.tril], QUICK[np.triu]),
    *(reductions.prod, reductions.recurrence.body, reductions.others, reductions.length),
    *(QUICK[np.cumsum], QUICK[np.cumprod], products.cross),
]


@pytest.mark.parametrize("function", COMPLEX, ids=lambda f: f.__name__)
def test_what_moves_adds_and_multiplies_complex_numbers_has_machine_code(function):
    # Loops took floats only: NumPy's own take up to ten times as long.
    taken = 0
    for call in CALLS[function]:
        call = tuple(map(_complex, call))
        expected = function.formula(*call)
        np.testing.assert_allclose(function(*call), expected, rtol=1e-9, atol=1e-11)
        held = any(np.iscomplexobj(x) for x in call if type(x) is np.ndarray)
        taken += held and any(condition(*call) for condition, _ in WAYS[function.formula])
    assert taken
