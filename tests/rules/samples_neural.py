"""Sample calls for the rules that neural networks need: activations, losses, windows, layouts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tests.rules.data import (
    Call,
    away_from_zero,
    between,
    between_integers,
    complex_normal,
    distinct,
    fixed,
    integers,
    normal,
    one,
    real_and_complex,
    scattered,
    two,
)
from wengert.rules import (
    alignment,
    convolution,
    gates,
    indexing,
    losses,
    neural,
    normalization,
    sampling,
    shapes,
)

_targets = integers(0, 2, 1, 2)
_probabilities = between(0.25, 0.75)
_SIGNS = np.array([[0.5, -1.5, 2.0], [-0.7, 1.2, -0.4]])
_TWELVE = np.hstack([_SIGNS, _SIGNS[::-1] + 0.1])

ACTIVATIONS: dict[Any, list[Call]] = {
    neural.sigmoid: one(normal),
    gates.glu: [{"x": np.vstack([_SIGNS, _SIGNS + 0.4]), "axis": axis} for axis in (0, -2)],
    neural.relu: one(away_from_zero),
    neural.threshold_pull: [{"g": normal(2, 3), "at": away_from_zero(2, 3)}],
    neural.erf: one(normal),
    neural.gelu: one(normal),
    neural.gelu_tanh: [{"x": _SIGNS}],
    neural.gelu_tanh_slope: [{"x": _SIGNS}],
    neural.mish: [{"x": _SIGNS}],
    neural.silu: one(normal),
    neural.leaky_relu: [
        {"x": away_from_zero(2, 3), "slope": 0.1},
        {"x": away_from_zero(2, 3), "slope": -0.5},
        {"x": away_from_zero(2, 3), "slope": 2.0},
    ],
    neural.leaky_pull: [{"g": normal(2, 3), "at": away_from_zero(2, 3), "slope": 0.1}],
    neural.prelu: [{"x": _SIGNS, "weight": w} for w in (_SIGNS[0], np.array([0.3]))],
    neural.prelu_pull: [{"g": _SIGNS[::-1], "weight": np.array([0.3]), "at": _SIGNS}],
    neural.below_zero: [{"g": _SIGNS[::-1], "at": _SIGNS}],
    neural.elu: [
        {"x": away_from_zero(2, 3), "alpha": 1.0, "scale": 1.0, "rate": 1.0},
        {"x": away_from_zero(3), "alpha": 0.7, "scale": 1.5, "rate": 0.5},
    ],
    neural.softplus: [
        {"x": normal(2, 3)},
        {"x": normal(2, 3), "beta": 2.0, "threshold": 20.0},
        {"x": away_from_zero(2, 3), "beta": 0.5, "threshold": 0.0},
    ],
    neural.log_sigmoid: one(normal),
    neural.hardshrink: [{"x": normal(2, 3), "lambd": 0.5}],
    neural.softshrink: [{"x": normal(2, 3), "lambd": 0.5}],
    neural.threshold: [{"x": normal(2, 3), "limit": 0.3, "value": 2.0}],
    neural.above_pull: [{"g": normal(2, 3), "at": normal(2, 3), "limit": 0.3}],
    neural.shrink_pull: [{"g": normal(2, 3), "at": normal(2, 3), "lambd": 0.5}],
    neural.hardsigmoid: [{"x": 3 * normal(2, 3)}],
    neural.hardswish: [{"x": 3 * normal(2, 3)}],
    neural.hardtanh: [
        {"x": between_integers(3, 3), "low": -1.0, "high": 1.0},
        {"x": between_integers(3), "low": -2.0, "high": 0.0},
    ],
    neural.huber: [
        {"a": between_integers(3, 3), "b": fixed(np.zeros((3, 3))), "bound": 1.0},
        {"a": fixed(np.linspace(-3.2, 2.9, 9).reshape(3, 3)), "b": fixed(np.ones(3)), "bound": 1.0},
    ],
    neural.hardtanh_pull: [
        {"g": normal(3, 3), "at": between_integers(3, 3), "low": -1.0, "high": 1.0}
    ],
}

LOSSES: dict[Any, list[Call]] = {
    losses.mse: [
        {"x": normal(2, 3), "target_": normal(2, 3)},
        {"x": normal(), "target_": normal()},
    ],
    losses.mse_slope: [{"scale": normal(), "x": normal(2, 3), "target_": normal(2, 3)}],
    losses.picked: [
        {"x": normal(4, 3), "target": _targets, "weights": None, "axis": 1},
        {"x": normal(3, 2), "target": integers(1, -1), "weights": normal(2), "axis": 0},
    ],
    losses.mean_picked: [
        {
            "x": fixed(np.sin(np.arange(12.0)).reshape(4, 3)),
            "target": _targets,
            "count": 3,
            "axis": 1,
        },
    ],
    losses.unpicked: [
        {"g": normal(4), "target": _targets, "weights": None, "x_shape": (4, 3), "axis": 1},
        {
            "g": normal(2),
            "target": integers(1, -1),
            "weights": normal(2),
            "x_shape": (3, 2),
            "axis": 0,
        },
    ],
    **{
        function: [
            {"x": normal(4, 3), "target": _targets, "margin": margin, "p": p}
            for margin, p in ((1.0, 1), (0.3, 2))
        ]
        for function in (losses.margins, losses.margins_slope)
    },
    losses.cross_entropy: [
        {"x": normal(4, 3), "target": _targets, "kept": None},
        {"x": normal(4, 3), "target": _targets, "kept": _targets > 0},
    ],
    losses.cross_entropy_slope: [
        {"x": normal(4, 3), "target": _targets, "kept": None},
        {"x": normal(4, 3), "target": _targets, "kept": _targets > 0},
    ],
    losses.bernoulli_loss: [
        {"x": call["a"], "b": call["b"]} for call in two(_probabilities, _probabilities)
    ],
    normalization.to_unit_square: real_and_complex(
        {"x": fixed(np.linspace(-1.0, 2.0, 12).reshape(3, 4)), "axes": (1,), "eps": 1e-3},
        {"x": fixed(np.sin(np.arange(24.0)).reshape(2, 3, 4)), "axes": (1, 2), "eps": 0.5},
    ),
    normalization.standardize_groups: [
        {"x": fixed(np.sin(np.arange(24.0)).reshape(2, 4, 3)), "groups": 2, "eps": 0.1},
    ],
    normalization.standardize: [
        {"x": distinct(2, 3, 4), "axes": (2,), "eps": 1e-5},
        {"x": normal(4, 2, 3), "axes": (0, 2), "eps": 1e-3},
        {"x": scattered(normal, 3, 2), "axes": (-1,), "eps": 0.1},
    ],
    normalization.scaled: real_and_complex(
        {"x": normal(4, 2, 3), "weight": normal(3), "bias": normal(3)},
        {"x": normal(4, 2, 3), "weight": normal(2, 3), "bias": None},
    ),
    normalization.layer_norm: [
        {"x": distinct(2, 3, 4), "weight": normal(4), "bias": normal(4), "eps": 1e-5},
        {"x": normal(4, 2, 3), "weight": normal(2, 3), "bias": normal(2, 3), "eps": 0.1},
    ],
    normalization.scaled_channels: real_and_complex(
        {"x": normal(4, 2, 3), "weight": normal(2), "bias": normal(2)},
        {"x": normal(4, 2), "weight": normal(2), "bias": None},
    ),
}

# ---- windows -------------------------------------------------------------------------------

_Sizes = tuple[int, ...]
# (x, weight, stride, padding, dilation, groups): one, two and three dimensions.
_convolutions: list[tuple[_Sizes, _Sizes, _Sizes, _Sizes, _Sizes, int]] = [
    ((2, 3, 5), (4, 3, 2), (1,), (0,), (1,), 1),
    ((1, 2, 7), (2, 2, 3), (2,), (1,), (2,), 1),
    ((2, 4, 5, 4), (6, 2, 3, 2), (2, 1), (1, 0), (1, 2), 2),
    ((1, 2, 3, 3), (3, 2, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    ((1, 1, 3, 3, 3), (2, 1, 2, 2, 2), (1, 1, 1), (1, 0, 0), (1, 1, 1), 1),
    ((0, 2, 4), (3, 2, 2), (1,), (0,), (1,), 1),
]


def _convolved(kind: str) -> list[Call]:
    """Calls of a convolution or of one of its transposes."""
    calls = []
    for x, weight, stride, padding, dilation, groups in _convolutions:
        spatial = convolution.output_sizes(x[2:], weight[2:], stride, padding, dilation)
        y = (x[0], weight[0], *spatial)
        arrays: Call = {
            "forward": {"x": normal(*x), "weight": normal(*weight), "bias": normal(weight[0])},
            "input": {"g": normal(*y), "weight": normal(*weight), "x_shape": x},
            "weight": {"g": normal(*y), "x": normal(*x), "weight_shape": weight},
        }[kind]
        calls.append(arrays | {"windows": (stride, padding, dilation, groups)})
    return real_and_complex(*calls)


_unfolding = {"windows": ((2, 3), (2, 1), (1, 0), (1, 2), (3, 1))}
_columns = (2, 3 * 6, 3 * 1)
# Three windows of three along five numbers, and a fourth that only the border makes room for.
_pool_1d = {"windows": ((3,), (1,), (1,), (1,), (5,))}
_pool_2d = {"windows": ((2, 2), (2, 2), (0, 0), (1, 1), (3, 2))}
_pool_apart = {"x": distinct(1, 6), "windows": ((2,), (1,), (0,), (2,), (4,))}


def _maxima(pool: Call) -> Call:
    """Windows with their maxima, as max_pool's own cotangent is asked."""
    x = distinct(2, 3, 5) if pool is _pool_1d else distinct(2, 5, 4)
    return {"condition": x, "target": fixed(convolution.max_pool(x, pool["windows"]))} | pool


_spread_1d, _spread_2d = _maxima(_pool_1d), _maxima(_pool_2d)

WINDOWS: dict[Any, list[Call]] = {
    convolution.convolution: _convolved("forward"),
    convolution.convolution_input: _convolved("input"),
    convolution.convolution_weight: _convolved("weight"),
    convolution.unfold: real_and_complex({"x": normal(2, 3, 4, 5)} | _unfolding),
    convolution.fold: real_and_complex(
        {"g": normal(*_columns), "x_shape": (2, 3, 4, 5)} | _unfolding
    ),
    convolution.max_pool: [
        {"x": distinct(2, 3, 5)} | _pool_1d,
        {"x": distinct(2, 5, 4)} | _pool_2d,
        _pool_apart,
    ],
    convolution.max_spread: [
        {"g": normal(2, 3, 5)} | _spread_1d,
        {"g": normal(2, 3, 2)} | _spread_2d,
    ],
    convolution.max_collect: [
        {"h": normal(2, 3, 5)} | _spread_1d,
        {"h": normal(2, 5, 4)} | _spread_2d,
    ],
    convolution.sum_pool: real_and_complex(
        {"x": normal(2, 3, 5)} | _pool_1d,
        {"x": normal(2, 5, 4)} | _pool_2d,
        _pool_apart | {"x": normal(1, 6)},
    ),
    convolution.sum_spread: real_and_complex(
        {"g": normal(2, 3, 5), "x_shape": (2, 3, 5)} | _pool_1d,
        {"g": normal(2, 3, 2), "x_shape": (2, 5, 4)} | _pool_2d,
    ),
    convolution.pad_with: real_and_complex(
        {"x": normal(2, 3), "before": (1,), "after": (2,), "value": 0.0},
        {"x": normal(2, 3), "before": (1, 0), "after": (0, 2), "value": 1.5},
        {"x": normal(2, 4), "before": (-1,), "after": (-2,), "value": 1.5},
        {"x": normal(2, 4), "before": (-1, 2), "after": (1, -1), "value": math.pi},
        {"x": normal(2), "before": (0,), "after": (0,), "value": 0.0},
    ),
}

_borders: list[Call] = [
    {"before": (2,), "after": (1,), "mode": "reflect"},
    {"before": (1, 3), "after": (2, 0), "mode": "replicate"},
    {"before": (3, 1), "after": (0, 2), "mode": "circular"},
    {"before": (0, 2), "after": (2, 2), "mode": "reflect"},
]
WINDOWS |= {
    convolution.bordered: real_and_complex(*({"x": normal(2, 3, 3)} | how for how in _borders)),
    convolution.unbordered: real_and_complex(
        {"g": normal(2, 3, 6), "x_shape": (2, 3, 3)} | _borders[0],
        {"g": normal(2, 6, 6), "x_shape": (2, 3, 3)} | _borders[1],
        {"g": normal(2, 6, 6), "x_shape": (2, 3, 3)} | _borders[2],
        {"g": normal(1, 5, 7), "x_shape": (1, 3, 3)} | _borders[3],
    ),
}

# ---- between pixels ------------------------------------------------------------------------


def _places(low: int, high: int, points: tuple[int, ...]) -> np.ndarray:
    """A coordinate of points, in the upper half of what lies between two pixels."""
    whole = np.arange(math.prod(points)).reshape(*points, 1) * 5 % (high - low) + low
    return whole + between(0.6, 0.9)(*points, 1)


def _sampled(mode: str, padding: str, corners: bool, *orders: int) -> list[Call]:
    """Calls of `sample` and of `spread`."""
    n = len(orders)
    x, points = (2, 2, 4, 3, 5)[: 2 + n], (2, 3, 2, 1)[: 1 + n]
    # Away from places between which an image has a kink or, of the nearest pixel, a step.
    sizes = np.array(x[:1:-1])
    places = np.concatenate([_places(-1, size, points) for size in sizes], -1)
    grid = fixed(2 * places / (sizes - 1) - 1 if corners else (2 * places + 1) / sizes - 1)
    how = {"mode": mode, "padding": padding, "corners": corners, "orders": orders}
    return [
        {"x": normal(*x), "grid": grid} | how,
        {"g": normal(2, 2, *points[1:]), "grid": grid, "x_shape": x} | how,
    ]


_samples = [
    _sampled("bilinear", "zeros", False, 0, 0),
    _sampled("bilinear", "reflection", True, 0, 0, 0),
    _sampled("bicubic", "border", False, 0, 1),
    _sampled("nearest", "border", True, 0, 0),
]
_spelled = {
    "states": fixed([[0, 1, 0, 2, 0], [0, 2, 0, 2, 0]]),
    "frames": integers(4, 3),
    "lengths": integers(2, 1),
}
_band = {"by": sampling.Band(integers(0, 0, 2), normal(3, 2), 4)}
SAMPLING: dict[Any, list[Call]] = {
    sampling.sample: [forward for forward, _ in _samples],
    sampling.spread: [backward for _, backward in _samples],
    alignment.alignments: [{"x": normal(4, 2, 3)} | _spelled],
    sampling.resize: [
        {"x": normal(4), "axis": 0} | _band,
        {"x": normal(2, 4, 3), "axis": 1} | _band,
        {"x": complex_normal(2, 4), "axis": 1} | _band,
    ],
    sampling.unresize: [
        {"g": normal(2, 3), "axis": 1} | _band,
        {"g": complex_normal(3, 2), "axis": 0} | _band,
    ],
}

# ---- layouts and overwriting ---------------------------------------------------------------

LAYOUTS: dict[Any, list[Call]] = {
    shapes.expand: real_and_complex(
        {"x": normal(3), "shape": (2, 3)},
        {"x": normal(2, 1), "shape": (4, 2, 3)},
        {"x": normal(), "shape": (2,)},
    ),
    shapes.windows: real_and_complex(
        {"x": normal(5), "axis": 0, "size": 3, "step": 1},
        {"x": normal(2, 6), "axis": -1, "size": 2, "step": 3},
        {"x": normal(5, 2), "axis": 0, "size": 2, "step": 2},
        {"x": normal(), "axis": 0, "size": 1, "step": 1},
    ),
    shapes.overlapped: real_and_complex(
        {"g": normal(3, 3), "x_shape": (5,), "axis": 0, "step": 1},
        {"g": normal(2, 2, 2), "x_shape": (2, 6), "axis": -1, "step": 3},
        {"g": normal(2, 2, 2), "x_shape": (5, 2), "axis": 0, "step": 2},
    ),
    shapes.as_strided: real_and_complex(
        {"x": normal(6), "size": (2, 3), "stride": (1, 2), "offset": 0, "layout": (1,)},
        {"x": normal(3, 4), "size": (3,), "stride": (5,), "offset": 1, "layout": (4, 1)},
        {"x": normal(4), "size": (2, 2), "stride": (0, 1), "offset": 1, "layout": (1,)},
    ),
    shapes.trace: [{"x": x} for x in (_SIGNS, _SIGNS.T, (1 + 2j) * _SIGNS)],
    shapes.pixel_shuffle: [
        {"x": x.reshape(1, 4, 1, 3), "factor": 2} for x in (_TWELVE, (1 + 2j) * _TWELVE)
    ],
    shapes.pixel_unshuffle: [
        {"x": x.reshape(1, 2, 6), "factor": 2} for x in (_TWELVE, (1 + 2j) * _TWELVE)
    ],
    shapes.real_pairs: [
        {"x": complex_normal(2, 3)},
        {"x": complex_normal()},
        {"x": complex_normal(0, 2)},
    ],
    shapes.complex_of_pairs: [{"x": normal(2, 3, 2)}, {"x": normal(2)}, {"x": normal(0, 2)}],
    shapes.flipped: real_and_complex(
        {"x": normal(2, 3), "axis": 1}, {"x": normal(2, 3, 2), "axis": (0, -1)}
    ),
    indexing.select: real_and_complex(
        {"x": normal(3, 4), "index": 1}, {"x": normal(3, 4), "index": (slice(None), -2)}
    ),
    indexing.slices: real_and_complex(
        {"x": normal(3, 4), "index": slice(None, None, 2)},
        {"x": normal(3, 4), "index": (Ellipsis, None, slice(1, 3))},
    ),
    indexing.overwritten: real_and_complex(
        {"old": normal(2, 3), "value": normal(2, 3)}, {"old": normal(2, 3), "value": normal(3)}
    ),
    indexing.refilled: real_and_complex({"old": normal(2, 3), "value": normal()}),
    indexing.zeroed: real_and_complex({"old": normal(2, 3)}, {"old": normal()}),
}

SAMPLES: dict[Any, list[Call]] = ACTIVATIONS | LOSSES | WINDOWS | SAMPLING | LAYOUTS
