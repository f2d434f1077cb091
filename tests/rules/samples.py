"""Sample calls for every rule of the table: what `test_table.py` differentiates.

`SAMPLES[function]` is a list of calls, each a dict of the rule's arguments by name. The points
where a function has no derivative have a table of their own, in `test_boundaries.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.rules import samples_linalg, samples_neural, samples_special
from tests.rules.data import (
    Call,
    away_from_zero,
    between,
    between_integers,
    both_signs,
    complex_normal,
    distinct,
    fixed,
    integers,
    normal,
    one,
    positive,
    real_and_complex,
    reductions_of,
    right_half_plane,
    scattered,
    small_disc,
    two,
    unit_interval,
    upper_half_plane,
)
from wengert.functions.rows import look_up
from wengert.rules import elementwise, indexing, products, reductions, shapes
from wengert.rules.elementwise import trunc_divide
from wengert.rules.indexing import getitem
from wengert.sparse import products as sparse

# ---- elementwise ---------------------------------------------------------------------------

# Quotients a / b with a fractional part between 0.1 and 0.9, of both signs.
dividend = both_signs(between(0.4, 1.8))
divisor = both_signs(between(2.2, 2.8))

ELEMENTWISE: dict[Any, list[Call]] = {
    np.add: two(normal, normal, complex_normal, complex_normal),
    np.subtract: two(normal, normal, complex_normal, complex_normal),
    np.multiply: two(normal, normal, complex_normal, complex_normal),
    np.divide: two(normal, away_from_zero, complex_normal, right_half_plane),
    elementwise.frac: one(between_integers),
    elementwise.between: [
        {**call, "weight": weight}
        for call in two(normal, normal, complex_normal, complex_normal)
        for weight in (0.3, 0.7)
    ],
    elementwise.product_added: [
        {"a": draw(2, 3), "b": draw(*b), "c": draw(*c), "value": value}
        for draw in (normal, complex_normal)
        for b, c, value in (((2, 3), (2, 3), 0.5), ((3,), (2, 1), 1))
    ],
    elementwise.quotient_added: [
        {"a": normal(2, 3), "b": normal(*b), "c": away_from_zero(*c), "value": value}
        for b, c, value in (((2, 3), (2, 3), 0.5), ((3,), (2, 1), 1))
    ],
    np.negative: one(normal, complex_normal),
    np.positive: one(normal, complex_normal),
    np.reciprocal: one(away_from_zero, right_half_plane),
    np.square: one(normal, complex_normal),
    np.power: [
        *two(positive, normal, right_half_plane, complex_normal),
        {"a": away_from_zero(2, 3), "b": 2},
        {"a": away_from_zero(2, 3), "b": 3.0},
        {"a": away_from_zero(2), "b": -1},
        {"a": positive(2), "b": 0.5},
        {"a": away_from_zero(2), "b": 0},
        {"a": right_half_plane(2), "b": 3},
        {"a": 2.0, "b": normal(2, 3)},
        {"a": 1.5, "b": complex_normal(2)},
        {"a": 1j, "b": small_disc(2)},
    ],
    np.remainder: two(dividend, divisor),
    np.fmod: two(dividend, divisor),
    np.floor_divide: two(dividend, divisor),
    trunc_divide: two(dividend, divisor),
    np.exp: one(normal, complex_normal),
    np.exp2: one(normal, complex_normal),
    np.expm1: one(normal, complex_normal),
    np.log: one(positive, right_half_plane),
    np.log2: one(positive, right_half_plane),
    np.log10: one(positive, right_half_plane),
    np.log1p: one(positive, right_half_plane),
    np.sqrt: one(positive, right_half_plane),
    np.cbrt: one(away_from_zero),
    np.logaddexp: two(normal, normal),
    np.sin: one(normal, complex_normal),
    np.cos: one(normal, complex_normal),
    np.tan: one(unit_interval, small_disc),
    np.arcsin: one(unit_interval, small_disc),
    np.arccos: one(unit_interval, small_disc),
    np.arctan: one(normal, small_disc),
    np.sinh: one(normal, complex_normal),
    np.cosh: one(normal, complex_normal),
    np.tanh: one(normal, small_disc),
    np.arcsinh: one(normal, small_disc),
    np.arccosh: one(between(1.4, 3), upper_half_plane),
    np.arctanh: one(unit_interval, small_disc),
    np.arctan2: two(away_from_zero, away_from_zero),
    np.hypot: two(away_from_zero, away_from_zero),
    np.deg2rad: one(normal),
    np.rad2deg: one(normal),
    np.sinc: [*one(away_from_zero, right_half_plane), {"x": fixed(np.zeros(2))}],
    elementwise.spherical_bessel: [
        {"x": normal(2, 3), "n": 0},
        {"x": right_half_plane(2, 3), "n": 2},
        {"x": fixed(np.zeros(2)), "n": 1},
    ],
    np.maximum: two(distinct, lambda *shape: fixed(distinct(*shape) + 0.15)),
    np.minimum: two(distinct, lambda *shape: fixed(distinct(*shape) + 0.15)),
    np.fmax: two(distinct, lambda *shape: fixed(distinct(*shape) + 0.15)),
    np.fmin: two(distinct, lambda *shape: fixed(distinct(*shape) + 0.15)),
    np.sign: one(away_from_zero, right_half_plane),
    np.floor: one(between_integers),
    np.ceil: one(between_integers),
    np.trunc: one(between_integers),
    np.rint: one(lambda *shape: fixed(between_integers(*shape) - 0.5)),
    np.copysign: two(away_from_zero, away_from_zero),
    np.heaviside: two(away_from_zero, normal),
    np.nextafter: two(normal, normal),
    np.absolute: one(away_from_zero, right_half_plane),
    np.fabs: one(away_from_zero),
    np.conjugate: one(normal, complex_normal),
    np.real: real_and_complex({"val": normal(2, 3)}, {"val": normal()}, {"val": normal(0)}),
    np.imag: real_and_complex({"val": normal(2, 3)}, {"val": normal()}, {"val": normal(0)}),
    np.angle: [
        {"z": away_from_zero(2, 3)},
        {"z": right_half_plane(2, 3)},
        {"z": right_half_plane()},
    ],
    elementwise.make_complex: [
        {"real": normal(2, 3), "imag": normal(2, 3)},
        {"real": normal(2, 3), "imag": normal(3)},
        {"real": normal(), "imag": normal(2)},
        {"real": normal(), "imag": normal()},
    ],
    np.where: real_and_complex(
        {"condition": fixed(normal(2, 3) > 0), "a": normal(2, 3), "b": normal(2, 3)},
        {"condition": fixed(normal(2, 3) > 0), "a": normal(3), "b": normal(2, 1)},
        {"condition": fixed(normal(3) > 0), "a": normal(2, 1), "b": normal()},
        {"condition": fixed(normal(2, 1, 3) > 0), "a": normal(), "b": normal()},
        {"condition": fixed(np.array(True)), "a": normal(2), "b": normal(3, 2)},
        {"condition": fixed(normal(3) > 0), "a": normal(3), "b": 0.5},
        {"condition": fixed(normal(3) > 0), "a": 0, "b": normal(3)},
    ),
    np.clip: [
        {"a": both_signs(between(0.2, 0.9))(2, 3), "a_min": -0.05, "a_max": 1.2},
        {"a": between_integers(3, 3), "a_min": -1, "a_max": 1},
        {"a": between_integers(3, 3), "a_min": None, "a_max": 1},
        {"a": between_integers(3, 3), "a_min": -1, "a_max": None},
        {"a": between_integers(3, 3), "a_min": fixed(np.array([-1.0, 0, 1])), "a_max": 2},
        {"a": between_integers(), "a_min": 0, "a_max": 1},
    ],
    elementwise.nan_to_num: [
        {"x": normal(2, 3)},
        {"x": normal(2, 3), "nan": 1.0, "posinf": 2.0, "neginf": 3.0},
    ],
}

# ---- reductions ----------------------------------------------------------------------------

_axis_calls = [
    {"x": normal(2, 3), "axis": 1},
    {"x": normal(2, 3), "axis": 0},
    {"x": normal(2, 3, 2), "axis": -2},
    {"x": normal(3), "axis": -1},
    {"x": scattered(normal, 2, 3), "axis": 1},
]

REDUCTIONS: dict[Any, list[Call]] = {
    np.sum: real_and_complex(
        *reductions_of(normal), {"a": normal(0, 3), "axis": 0}, {"a": normal(0)}
    ),
    np.mean: real_and_complex(*reductions_of(normal), {"a": normal(0, 3), "axis": 1}),
    np.cumsum: real_and_complex(
        {"a": normal(2, 3)},
        {"a": normal(2, 3), "axis": 0},
        {"a": normal(2, 3), "axis": -1},
        {"a": scattered(normal, 3, 2), "axis": 1},
        {"a": normal(0, 2), "axis": 0},
    ),
    np.max: reductions_of(distinct),
    np.min: reductions_of(distinct),
    np.prod: real_and_complex(
        *reductions_of(away_from_zero),
        {"a": fixed(np.array([[0.0, 2.0, 3.0], [0.5, 0.0, 0.0]])), "axis": 1},
        {"a": normal(0, 3), "axis": 0},
        {"a": normal(1, 3), "axis": 0},
    ),
    np.cumprod: real_and_complex(
        {"a": away_from_zero(2, 3)},
        {"a": away_from_zero(2, 3), "axis": 0},
        {"a": fixed(np.array([[0.0, 2.0, 3.0], [0.5, 0.0, 0.0]])), "axis": -1},
        {"a": normal(0, 3), "axis": 0},
    ),
    reductions.recurrence: real_and_complex(
        {"a": normal(2, 4), "b": normal(2, 4), "axis": 1},
        {"a": normal(3, 2), "b": normal(3, 2), "axis": -2},
        {"a": normal(0), "b": normal(0), "axis": 0},
    ),
    reductions.variance: real_and_complex(
        {"x": normal(2, 3), "axis": None},
        {"x": normal(2, 3), "axis": 1, "correction": 0, "keepdims": True},
        {"x": normal(2, 3, 2), "axis": (0, 2)},
    ),
    reductions.length: real_and_complex(
        {"x": normal(2, 3), "axis": None},
        {"x": normal(2, 3), "axis": 1, "keepdims": True},
        {"x": normal(2, 3, 2), "axis": (0, -1)},
    ),
    reductions.logsumexp: [
        *_axis_calls,
        {"x": normal(2, 3), "axis": 1, "keepdims": True},
        {"x": normal(2, 3, 2), "axis": (0, -1)},
        {"x": normal(2, 3), "axis": (0, 1), "keepdims": True},
        {"x": complex_normal(2, 3), "axis": 1},
    ],
    reductions.logcumsumexp: [
        *_axis_calls,
        {"x": fixed(np.array([[-800.0, 1.0, -2.0], [3.0, -800.0, 2.0]])), "axis": 1},
    ],
    reductions.softmax: _axis_calls,
    reductions.log_softmax: _axis_calls,
}

# ---- shapes --------------------------------------------------------------------------------

SHAPES: dict[Any, list[Call]] = {
    np.reshape: real_and_complex(
        {"a": normal(2, 3), "shape": (3, 2)},
        {"a": normal(2, 3), "shape": -1},
        {"a": normal(1), "shape": ()},
        {"a": normal(0, 3), "shape": (3, 0)},
        {"a": scattered(normal, 2, 3), "shape": (6,)},
    ),
    np.transpose: real_and_complex(
        {"a": normal(2, 3)},
        {"a": normal(2, 3, 4), "axes": (2, 0, 1)},
        {"a": normal(2, 3, 4), "axes": [-1, 0, -2]},
        {"a": normal()},
    ),
    np.swapaxes: real_and_complex(
        {"a": normal(2, 3, 4), "axis1": 0, "axis2": -1},
        {"a": normal(2, 3), "axis1": 1, "axis2": 1},
    ),
    np.moveaxis: real_and_complex(
        {"a": normal(2, 3, 4), "source": 0, "destination": -1},
        {"a": normal(2, 3, 4), "source": (0, 1), "destination": (-1, 0)},
        {"a": normal(2, 3, 4), "source": [2, 0], "destination": [0, 1]},
    ),
    np.squeeze: real_and_complex(
        {"a": normal(1, 2, 1)},
        {"a": normal(1, 2, 1), "axis": 0},
        {"a": normal(1, 2, 1), "axis": (0, -1)},
        {"a": normal(1, 1)},
    ),
    np.expand_dims: real_and_complex(
        {"a": normal(2, 3), "axis": 0},
        {"a": normal(2, 3), "axis": (0, -1)},
        {"a": normal(), "axis": 0},
    ),
    np.broadcast_to: real_and_complex(
        {"x": normal(3), "shape": (2, 3)},
        {"x": normal(2, 1), "shape": (4, 2, 3)},
        {"x": normal(), "shape": (2, 2)},
        {"x": normal(1), "shape": (0,)},
        {"x": normal(2, 3), "shape": (2, 3)},
        {"x": normal(3), "shape": 3},
    ),
    np.flip: real_and_complex(
        {"m": normal(2, 3)},
        {"m": normal(2, 3), "axis": 1},
        {"m": normal(2, 3, 2), "axis": (0, -1)},
    ),
    np.roll: real_and_complex(
        {"a": normal(2, 3), "shift": 2},
        {"a": normal(2, 3), "shift": -1, "axis": 1},
        {"a": normal(2, 3), "shift": (1, 2), "axis": (0, 1)},
        {"a": normal(2, 3), "shift": 1, "axis": (0, 1)},
        {"a": normal(2, 3), "shift": (1, 2), "axis": 1},
    ),
    np.rot90: real_and_complex(
        {"m": normal(2, 3)},
        {"m": normal(2, 3), "k": 2},
        {"m": normal(2, 3), "k": -1, "axes": (1, 0)},
        {"m": normal(2, 3, 4), "k": 3, "axes": (0, 2)},
    ),
    np.tril: real_and_complex(
        {"m": normal(3, 3)}, {"m": normal(2, 3, 4), "k": 1}, {"m": normal(3), "k": -1}
    ),
    np.triu: real_and_complex(
        {"m": normal(3, 3)}, {"m": normal(2, 3, 4), "k": -1}, {"m": normal(3), "k": 1}
    ),
    np.ravel: real_and_complex(
        {"a": normal(2, 3)}, {"a": normal()}, {"a": scattered(normal, 2, 2)}
    ),
    np.tile: real_and_complex(
        {"A": normal(2, 3), "reps": 2},
        {"A": normal(2, 3), "reps": (2, 1)},
        {"A": normal(3), "reps": (2, 2)},
        {"A": normal(2, 1, 3), "reps": (2,)},
        {"A": normal(2), "reps": 0},
        {"A": normal(), "reps": 3},
        {"A": normal(2, 3), "reps": [1, 2]},
        {"A": normal(2), "reps": np.int64(2)},
    ),
    shapes.repeat_interleave: real_and_complex(
        {"x": normal(2, 3), "repeats": 2, "axis": 0},
        {"x": normal(2, 3), "repeats": (1, 0, 2), "axis": -1},
        {"x": normal(2, 3), "repeats": integers(3, 1), "axis": 0},
    ),
    np.repeat: real_and_complex(
        {"a": normal(2, 3), "repeats": 2},
        {"a": normal(2, 2), "repeats": [1, 2, 0, 3]},
        {"a": normal(2, 3), "repeats": (2, 1), "axis": 0},
        {"a": normal(2, 3), "repeats": 2, "axis": -1},
        {"a": normal(2, 3), "repeats": [2], "axis": 1},
        {"a": normal(), "repeats": 3},
    ),
    shapes.difference: real_and_complex(
        {"x": fixed(np.sin(np.arange(4.0))), "axis": 0},
        {"x": fixed(np.sin(np.arange(24.0)).reshape(2, 3, 4)), "axis": 1},
        {"x": fixed(np.ones((2, 1))), "axis": -1},
    ),
    shapes.diagonal: real_and_complex(
        {"x": normal(3, 3)},
        {"x": normal(2, 3), "offset": 1},
        {"x": normal(2, 3, 4), "offset": -1, "axis1": -1, "axis2": 0},
    ),
    shapes.diagonal_scatter: real_and_complex(
        {"g": normal(3), "x_shape": (3, 3)},
        {"g": normal(2), "x_shape": (2, 3), "offset": 1},
        {"g": normal(3, 2), "x_shape": (2, 3, 4), "offset": -1, "axis1": -1, "axis2": 0},
    ),
    np.diagonal: real_and_complex(
        {"a": normal(3, 3)},
        {"a": normal(2, 3, 4), "offset": 1, "axis1": 2, "axis2": 1},
    ),
    shapes.astype: [
        {"x": normal(2, 3), "dtype": np.dtype("float64")},
        {"x": normal(2, 3), "dtype": np.dtype("complex128")},
        {"x": complex_normal(2, 3), "dtype": np.dtype("float64")},
        {"x": complex_normal(2), "dtype": np.dtype("complex128")},
        {"x": normal(), "dtype": np.dtype("complex128")},
    ],
    shapes.copy: real_and_complex(
        {"x": normal(2, 3)}, {"x": normal()}, {"x": scattered(normal, 2, 2)}
    ),
    shapes.alias: real_and_complex({"x": normal(2, 3)}, {"x": normal()}),
    np.concatenate: real_and_complex(
        {"arrays": [normal(2, 3), normal(1, 3)]},
        {"arrays": [normal(2, 1), normal(2, 3), normal(2, 0)], "axis": -1},
        {"arrays": [normal(2)]},
        {"arrays": [normal(2, 2), normal(3)], "axis": None},
    ),
    np.stack: real_and_complex(
        {"arrays": [normal(2, 3), normal(2, 3)]},
        {"arrays": [normal(2), normal(2), normal(2)], "axis": -1},
        {"arrays": [normal(), normal()]},
    ),
    shapes.split: real_and_complex(
        {"x": normal(4, 2), "sizes": (1, 3), "axis": 0},
        {"x": normal(2, 5), "sizes": (2, 0, 3), "axis": -1},
        {"x": normal(2, 3), "sizes": (3,), "axis": 1},
    ),
    shapes.unbind: real_and_complex(
        {"x": normal(2, 3), "axis": 0},
        {"x": normal(2, 3), "axis": -1},
        {"x": normal(2), "axis": 0},
    ),
}

# ---- indexing ------------------------------------------------------------------------------

_mask = fixed(np.array([[True, False, True], [False, True, True]]))
_indices: list[tuple[tuple[int, ...], Any]] = [
    ((3, 4), 1),
    ((3, 4), -1),
    ((3, 4), (2, -3)),
    ((3, 4), slice(None, None, -2)),
    ((3, 4), (Ellipsis, slice(1, 3))),
    ((3, 4), (None, slice(2), None, 0)),
    ((3, 4), (np.int64(1), slice(5, 2))),
    ((), ()),
    ((), Ellipsis),
    ((3, 4), integers(2, 0, 2)),
    ((3, 4), [0, 0, -1]),
    ((3, 4), (slice(1, None), integers(3, 3, -1))),
    ((3, 4), (integers(0, 2), integers(1, -1))),
    ((3, 4), (fixed(np.array([[0], [2]])), integers(1, 1, 3))),
    ((2, 3, 4), (integers(0, 1), slice(None), integers(2, 2))),
    ((2, 3, 4), (0, slice(None), integers(2, 2))),
    ((2, 3), _mask),
    ((2, 3, 2), _mask),
    ((2, 3), (slice(None), fixed(np.array([True, False, True])))),
    ((2, 3), (None, _mask)),
    ((2, 3), True),
    ((3, 4), fixed(np.zeros(0, np.int64))),
]


def _added(shape: tuple[int, ...], index: Any) -> Call:
    return {"g": normal(*np.empty(shape)[index].shape), "index": index, "x_shape": shape}


_gathers: list[tuple[tuple[int, ...], Any, int]] = [
    ((3, 4), fixed(np.array([[0, 2, 1, 0], [1, 1, 0, 2]])), 0),
    ((3, 4), fixed(np.array([[3, 3], [0, 1]])), 1),
    ((3, 4), fixed(np.array([[0, 3, 3, 1, 2], [0, 0, 0, 0, 0], [1, 2, 3, 0, 1]])), -1),
    ((3,), integers(2, 2, 0), 0),
    ((2, 3, 2), fixed(np.zeros((1, 2, 2), np.int64)), 1),
]

INDEXING: dict[Any, list[Call]] = {
    getitem: [
        *({"x": normal(*shape), "index": index} for shape, index in _indices),
        {"x": complex_normal(3, 4), "index": (slice(None), integers(0, 0, 1))},
        {"x": complex_normal(3, 4), "index": 0},
        {"x": scattered(normal, 3, 4), "index": (integers(0, 0, 1),)},
    ],
    indexing.add_at: [
        *(_added(shape, index) for shape, index in _indices),
        {"g": complex_normal(3), "index": integers(1, 1, 0), "x_shape": (4,)},
    ],
    indexing.added: [
        *(
            # In a tuple: masks by themselves would be batched, which is refused.
            {"x": normal(*shape), "value": _added(shape, index)["g"], "index": index}
            for shape, index in ((s, i if type(i) is tuple else (i,)) for s, i in _indices)
        ),
        {"x": complex_normal(4), "value": complex_normal(3), "index": integers(1, 1, 0)},
    ],
    indexing.put: real_and_complex(
        {"x": normal(3, 4), "index": 1, "value": normal(4)},
        {"x": normal(3, 4), "index": (slice(None), 2), "value": normal()},
        {"x": normal(3, 4), "index": slice(1, 3), "value": normal(4)},
        {"x": normal(3, 4), "index": slice(1, 3), "value": normal(2, 1)},
        {"x": normal(3, 4), "index": slice(1, 3), "value": normal(1, 1, 2, 4)},
        {"x": normal(3, 4), "index": integers(2, 0), "value": normal(2, 4)},
        {"x": normal(2, 3), "index": _mask, "value": normal(4)},
        {"x": normal(2, 3), "index": _mask, "value": normal()},
        {"x": normal(2, 3), "index": (1, 2), "value": 3.0},
        {"x": normal(), "index": (), "value": normal()},
    ),
    indexing.pick: real_and_complex(
        {"x": normal(2, 3), "index": np.array([2, 0]), "axis": 1},
        {"x": normal(3, 2, 2), "index": np.array([[2, 0], [1, 1]]), "axis": 0},
    ),
    indexing.unpick: real_and_complex(
        {"g": normal(2), "index": np.array([2, 0]), "x_shape": (2, 3), "axis": -1},
        {"g": normal(2, 2), "index": np.array([[2, 0], [1, 1]]), "x_shape": (3, 2, 2), "axis": 0},
    ),
    indexing.gather: real_and_complex(
        *({"x": normal(*shape), "index": index, "axis": axis} for shape, index, axis in _gathers)
    ),
    indexing.scatter_add: real_and_complex(
        *(
            {"g": normal(*index.shape), "index": index, "x_shape": shape, "axis": axis}
            for shape, index, axis in _gathers
        )
    ),
    indexing.scatter_added: real_and_complex(
        *(
            {"x": normal(*shape), "g": normal(*index.shape), "index": index, "axis": axis}
            for shape, index, axis in _gathers
        )
    ),
    np.take_along_axis: real_and_complex(
        {"arr": normal(2, 3), "indices": fixed(np.array([[0, 2, 2], [1, 0, 1]])), "axis": 1},
        {"arr": normal(2, 3), "indices": fixed(np.array([[1, 0, 1]])), "axis": 0},
        {"arr": normal(2, 3), "indices": fixed(np.array([[1, 1, 0, 2]])), "axis": -1},
        {"arr": normal(1, 3), "indices": fixed(np.array([[0], [2]])), "axis": 1},
        {"arr": normal(2, 3), "indices": integers(5, 0, 0), "axis": None},
        {"arr": normal(3), "indices": integers(-1, 0)},
    ),
    indexing.put_along_axis: real_and_complex(
        {
            "g": normal(2, 3),
            "indices": fixed(np.array([[0, 2, 2], [1, 0, 1]])),
            "shape": (2, 3),
            "axis": 1,
        },
        {
            "g": normal(2, 4),
            "indices": fixed(np.array([[1, 1, 0, 2]])),
            "shape": (2, 3),
            "axis": -1,
        },
        {"g": normal(3), "indices": integers(5, 0, 0), "shape": (2, 3), "axis": None},
    ),
    sparse.product: real_and_complex(
        {
            "values": normal(5),
            "dense": normal(3, 2),
            "rows": fixed(np.array([0, 0, 1, 3, 3])),
            "columns": fixed(np.array([0, 2, 1, 0, 2])),
            "count": 4,
        },
    ),
    indexing.take_rows: real_and_complex(
        {"x": normal(4, 2), "index": integers(1, 1, 3)},
        {"x": normal(4, 2), "index": fixed(np.array([[0, 1], [3, 0]]))},
        {"x": normal(4, 2), "index": fixed(np.array(2))},
    ),
    look_up: real_and_complex(
        {"x": normal(4, 2), "index": integers(1, 1, 3), "padding": -1},
        {"x": normal(4, 2), "index": fixed(np.array([[0, 1], [3, 0]])), "padding": -1},
    ),
    indexing.take_planes: real_and_complex(
        {"x": normal(2, 1, 2, 3), "places": fixed(np.array([[[[1, 5]]], [[[3, 3]]]]))},
        {"x": normal(1, 2, 4), "places": fixed(np.array([[[0, 3, 0], [2, 1, 1]]]))},
    ),
    indexing.put_planes: real_and_complex(
        {
            "g": normal(2, 1, 1, 2),
            "places": fixed(np.array([[[[1, 5]]], [[[3, 3]]]])),
            "x_shape": (2, 1, 2, 3),
        },
    ),
    indexing.add_rows: real_and_complex(
        {"g": normal(3, 2), "index": integers(1, 1, 3), "x_shape": (4, 2)},
        {"g": normal(2, 2, 2), "index": fixed(np.array([[0, 1], [3, 0]])), "x_shape": (4, 2)},
    ),
}

# ---- products ------------------------------------------------------------------------------

_matmuls = [
    ((2, 3), (3, 4)),
    ((3,), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3,)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((5, 2, 3), (5, 3, 4)),
    ((5, 1, 2, 3), (4, 3, 2)),
    ((3,), (5, 3, 4)),
    ((5, 2, 3), (3,)),
    ((0, 3), (3, 2)),
    ((2, 0), (0, 3)),
    ((1, 2, 3), (3, 1)),
]
_dots = [
    ((3,), (3,)),
    ((2, 3), (3, 4)),
    ((2, 3), (3,)),
    ((3,), (3, 4)),
    ((), (2,)),
    ((2,), ()),
    ((), ()),
]
_dots += [((2, 4, 3), (3,)), ((2, 3), (5, 3, 4)), ((3,), (5, 3, 4))]
_tensordots: list[tuple[tuple[int, ...], tuple[int, ...], Any]] = [
    ((2, 3, 4), (3, 4, 5), 2),
    ((2, 3), (3, 4), 1),
    ((2,), (3,), 0),
    ((2, 3, 4), (4, 3, 5), ((1, 2), (1, 0))),
    ((2, 3, 4), (4, 5, 2), ([0, -1], [2, 0])),
    ((2, 3), (4, 3), (1, 1)),
    ((2, 3), (4, 3), (-1, -1)),
    ((2, 3), (2, 3), 2),
    ((2, 3, 4), (4, 2, 3), ((2, 0, 1), (0, 1, 2))),
]
_einsums: list[tuple[str, tuple[tuple[int, ...], ...]]] = [
    ("ij,jk->ik", ((2, 3), (3, 4))),
    ("i,i->", ((3,), (3,))),
    ("i,j->ij", ((2,), (3,))),
    ("bij,bjk->bik", ((2, 2, 3), (2, 3, 2))),
    ("ij->ji", ((2, 3),)),
    ("ij->", ((2, 3),)),
    ("ij->i", ((2, 3),)),
    ("ij,kj->i", ((2, 3), (4, 3))),
    ("ij,jk,kl->il", ((2, 3), (3, 2), (2, 4))),
    ("ij,jk,kl->", ((2, 3), (3, 2), (2, 4))),
    ("i,->i", ((3,), ())),
    ("bhqd,bhkd->bhqk", ((1, 2, 2, 3), (1, 2, 4, 3))),
    ("ij,k->ki", ((2, 3), (2,))),
    ("ij,ij->i", ((1, 3), (2, 3))),
    ("ij,kj->k", ((2, 1), (4, 3))),
    ("ij,jk,ik->i", ((2, 1), (3, 2), (1, 2))),
]

PRODUCTS: dict[Any, list[Call]] = {
    products.cross: [
        {"a": normal(3), "b": normal(2, 3)},
        {"a": normal(2, 1, 3), "b": normal(2, 3)},
        {"a": complex_normal(2, 3), "b": complex_normal(2, 3)},
    ],
    products.distances: [
        {"a": normal(3, 4), "b": normal(2, 4)},
        {"a": normal(2, 3, 4), "b": normal(2, 4)},
    ],
    # No number of one is near that of another: there the slope jumps.
    products.block_distances: [
        {"a": fixed(np.rint(normal(*shape))), "b": between(0.2, 0.8)(2, 4)}
        for shape in ((3, 4), (2, 3, 4))
    ],
    products.pair_distances: [{"x": normal(4, 3)}],
    np.matmul: [
        *real_and_complex(*({"a": normal(*a), "b": normal(*b)} for a, b in _matmuls)),
        {"a": scattered(normal, 2, 3), "b": scattered(normal, 3, 2)},
    ],
    products.affine: real_and_complex(
        {"x": normal(2, 3), "weight": normal(4, 3), "bias": normal(4)},
        {"x": normal(2, 3), "weight": normal(4, 3), "bias": None},
        {"x": normal(3), "weight": normal(4, 3), "bias": normal(4)},
        {"x": normal(5, 2, 3), "weight": normal(4, 3), "bias": normal(4)},
        {"x": normal(0, 3), "weight": normal(4, 3), "bias": normal(4)},
    ),
    np.dot: real_and_complex(*({"a": normal(*a), "b": normal(*b)} for a, b in _dots)),
    np.convolve: real_and_complex(
        {"a": normal(5), "v": normal(3)},
        {"a": normal(3), "v": normal(4), "mode": "same"},
        {"a": normal(5), "v": normal(2), "mode": "same"},
        {"a": normal(2), "v": normal(5), "mode": "valid"},
        {"a": normal(1), "v": normal(1)},
    ),
    np.tensordot: real_and_complex(
        *({"a": normal(*a), "b": normal(*b), "axes": axes} for a, b, axes in _tensordots)
    ),
    products.einsum: real_and_complex(
        *(
            {"subscripts": subscripts, "operands": [normal(*shape) for shape in operands]}
            for subscripts, operands in _einsums
        )
    ),
}

SAMPLES: dict[Any, list[Call]] = (
    ELEMENTWISE
    | REDUCTIONS
    | SHAPES
    | INDEXING
    | PRODUCTS
    | samples_neural.SAMPLES
    | samples_special.SAMPLES
    | samples_linalg.LINALG
    | samples_linalg.FFT
)
