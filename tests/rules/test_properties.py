"""Random shapes, axes, indices and dtypes: what must hold for a rule whatever it is called with."""

from __future__ import annotations

import string
from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rules.calls import (
    Call,
    arrays_of,
    completed,
    gradients,
    inner,
    leaf,
    like,
    listed,
    outputs,
    places,
    pulled,
    pushed,
    recorded,
    with_arrays,
)
from wengert.rules import RULES, indexing, products, shapes
from wengert.tensor import wrap

few = settings(max_examples=40, deadline=None, derandomize=True)
small = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
nonempty = hnp.array_shapes(min_dims=1, max_dims=3, max_side=3)
dtypes = st.sampled_from(["float32", "float64", "complex64", "complex128"])

# Relative to the numbers that are added up in an inner product.
TOLERANCE = {"float32": 1e-4, "complex64": 1e-4, "float64": 1e-11, "complex128": 1e-11}


def array(shape: tuple[int, ...], dtype: str = "float64", seed: int = 0) -> np.ndarray:
    return like(np.empty(shape, dtype), np.random.default_rng(seed))


def _near_two(x: np.ndarray) -> np.ndarray:
    return np.asarray(2 + np.tanh(x))


def check(function: Any, call: Call, dtype: str = "float64") -> None:
    """Shapes and dtypes of all cotangents, adjointness, and the recorder's agreement."""
    rule = RULES[function]
    call = completed(rule, call)
    random = np.random.default_rng(1)
    gs = [like(y, random) for y in outputs(rule, call)]
    cotangents = pulled(rule, call, gs)
    for place, cotangent in zip(places(rule, call), cotangents, strict=True):
        x = place.of(call)
        assert (cotangent.shape, cotangent.dtype) == (x.shape, x.dtype)
        t = like(x, random)
        assert inner(gs, pushed(rule, call, place, t)) == pytest.approx(
            inner([cotangent], [t]), rel=TOLERANCE[dtype], abs=TOLERANCE[dtype]
        )
    xs = [leaf(x) for x in arrays_of(rule, call)]
    found = gradients(recorded(rule, call, xs), xs, [wrap(g) for g in gs])
    for x, cotangent in zip(found, cotangents, strict=True):
        np.testing.assert_allclose(x._array, cotangent, rtol=1e-5, atol=1e-6)


# ---- elementwise ---------------------------------------------------------------------------


@few
@given(
    st.sampled_from([np.add, np.subtract, np.multiply, np.divide, np.power]),
    hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3, min_side=0),
    dtypes,
)
def test_arithmetic_of_broadcastable_shapes(function: Any, shapes: Any, dtype: str) -> None:
    a, b = (array(shape, dtype, seed) for seed, shape in enumerate(shapes.input_shapes))
    # Away from 0 and from the branch cut of the power.
    check(function, {"a": _near_two(a), "b": _near_two(b)}, dtype)


@few
@given(
    st.sampled_from([np.maximum, np.minimum, np.fmax, np.fmin, np.hypot, np.arctan2, np.logaddexp]),
    hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3, min_side=0),
    st.sampled_from(["float32", "float64"]),
)
def test_real_functions_of_broadcastable_shapes(function: Any, shapes: Any, dtype: str) -> None:
    a, b = (array(shape, dtype, seed) for seed, shape in enumerate(shapes.input_shapes))
    check(function, {"a": a, "b": b}, dtype)


@few
@given(hnp.mutually_broadcastable_shapes(num_shapes=3, max_dims=3, max_side=3, min_side=0), dtypes)
def test_where_of_broadcastable_shapes(shapes: Any, dtype: str) -> None:
    condition, a, b = shapes.input_shapes
    call = {"condition": array(condition) > 0, "a": array(a, dtype), "b": array(b, dtype, 1)}
    check(np.where, call, dtype)


# ---- reductions and shapes -----------------------------------------------------------------


@few
@given(
    st.sampled_from([np.sum, np.mean, np.prod, np.max, np.min]), nonempty, st.data(), st.booleans()
)
def test_reductions_over_any_axes(
    function: Any, shape: tuple[int, ...], data: Any, keepdims: bool
) -> None:
    n = len(shape)
    axis = data.draw(st.none() | st.integers(-n, n - 1) | hnp.valid_tuple_axes(n))
    check(function, {"a": array(shape), "axis": axis, "keepdims": keepdims})


@few
@given(st.sampled_from([np.cumsum, np.cumprod]), nonempty, st.data(), dtypes)
def test_running_reductions(function: Any, shape: tuple[int, ...], data: Any, dtype: str) -> None:
    axis = data.draw(st.none() | st.integers(-len(shape), len(shape) - 1))
    check(function, {"a": array(shape, dtype), "axis": axis}, dtype)


@few
@given(small, st.data(), dtypes)
def test_transpose_by_any_permutation(shape: tuple[int, ...], data: Any, dtype: str) -> None:
    n = len(shape)
    order = data.draw(st.permutations(range(n)))
    signs = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    axes = tuple(i - n if negative else i for i, negative in zip(order, signs, strict=True))
    check(np.transpose, {"a": array(shape, dtype), "axes": axes}, dtype)


@few
@given(nonempty, st.data())
def test_moveaxis_of_several_axes(shape: tuple[int, ...], data: Any) -> None:
    n = len(shape)
    axes = st.permutations(range(-n, 0))
    count = data.draw(st.integers(0, n))
    source, destination = data.draw(axes)[:count], data.draw(axes)[:count]
    check(np.moveaxis, {"a": array(shape), "source": source, "destination": destination})


@few
@given(
    hnp.mutually_broadcastable_shapes(num_shapes=1, max_dims=3, max_side=3, min_side=0), st.data()
)
def test_broadcast_to(shapes: Any, data: Any) -> None:
    (shape,) = shapes.input_shapes
    lead = data.draw(st.lists(st.integers(0, 3), max_size=2))
    target = (*lead, *(data.draw(st.integers(0, 3)) if n == 1 else n for n in shape))
    check(np.broadcast_to, {"x": array(shape), "shape": target})


@few
@given(nonempty, st.lists(st.integers(0, 3), min_size=1, max_size=4))
def test_tile(shape: tuple[int, ...], reps: list[int]) -> None:
    check(np.tile, {"A": array(shape), "reps": tuple(reps)})


@few
@given(nonempty, st.data())
def test_repeat(shape: tuple[int, ...], data: Any) -> None:
    axis = data.draw(st.none() | st.integers(-len(shape), len(shape) - 1))
    n = int(np.prod(shape)) if axis is None else shape[axis]
    counts = st.integers(0, 3)
    repeats = data.draw(counts | st.lists(counts, min_size=n, max_size=n))
    check(np.repeat, {"a": array(shape), "repeats": repeats, "axis": axis})


@few
@given(nonempty, st.data())
def test_roll_and_flip(shape: tuple[int, ...], data: Any) -> None:
    axes = data.draw(hnp.valid_tuple_axes(len(shape), min_size=1))
    shift = data.draw(st.tuples(*(st.integers(-4, 4) for _ in axes)))
    check(np.roll, {"a": array(shape), "shift": shift, "axis": axes})
    check(np.flip, {"m": array(shape), "axis": axes})


@few
@given(st.lists(st.integers(0, 3), min_size=1, max_size=4), st.integers(-2, 1))
def test_concatenate_and_split(sizes: list[int], axis: int) -> None:
    parts = [array((n, 2) if axis % 2 == 0 else (2, n), seed=n) for n in sizes]
    check(np.concatenate, {"arrays": parts, "axis": axis})
    whole = np.concatenate(parts, axis)
    check(shapes.split, {"x": whole, "sizes": tuple(sizes), "axis": axis})


# ---- indexing ------------------------------------------------------------------------------

_shape = (3, 4, 2)
_basic = hnp.basic_indices(_shape, allow_newaxis=True)
_advanced = hnp.integer_array_indices(_shape)
_masks = hnp.arrays(bool, _shape[:2])


@few
@given(_basic | _advanced | _masks)
def test_any_index(index: Any) -> None:
    x = array(_shape)
    check(indexing.getitem, {"x": x, "index": index})
    taken = np.asarray(x[index])
    check(indexing.add_at, {"g": taken, "index": index, "x_shape": _shape})


@few
@given(_basic | _masks, st.booleans())
def test_assignment_at_any_index(index: Any, scalar: bool) -> None:
    x = array(_shape)
    value = array(()) if scalar else array(np.shape(x[index]), seed=1)
    check(indexing.put, {"x": x, "index": index, "value": value})


@few
@given(st.integers(-2, 1), hnp.array_shapes(min_dims=2, max_dims=2, max_side=3), st.data())
def test_gather_of_fewer_elements(axis: int, shape: tuple[int, ...], data: Any) -> None:
    sizes = (4, 3)
    index = data.draw(hnp.arrays(np.int64, shape, elements=st.integers(0, sizes[axis] - 1)))
    check(indexing.gather, {"x": array(sizes), "index": index, "axis": axis})
    call = {"g": array(shape), "index": index, "x_shape": sizes, "axis": axis}
    check(indexing.scatter_add, call)


# ---- products ------------------------------------------------------------------------------


@few
@given(
    hnp.mutually_broadcastable_shapes(
        signature=np.matmul.signature, max_dims=2, max_side=3, min_side=0
    ),
    dtypes,
)
def test_matmul_of_any_shapes(shapes: Any, dtype: str) -> None:
    a, b = shapes.input_shapes
    check(np.matmul, {"a": array(a, dtype), "b": array(b, dtype, 1)}, dtype)


@few
@given(st.data())
def test_einsum_of_random_subscripts(data: Any) -> None:
    letters = string.ascii_lowercase[:4]
    sizes = {c: data.draw(st.integers(1, 3)) for c in letters}
    subsets = st.lists(st.sampled_from(letters), unique=True, max_size=3)
    terms = data.draw(st.lists(subsets, min_size=1, max_size=3))
    used = sorted({c for term in terms for c in term})
    output = data.draw(st.permutations(used))[: data.draw(st.integers(0, len(used)))]
    spec = ",".join("".join(term) for term in terms) + "->" + "".join(output)
    operands = [array(tuple(sizes[c] for c in term), seed=k) for k, term in enumerate(terms)]
    check(products.einsum, {"subscripts": spec, "operands": operands})


@few
@given(st.data(), dtypes)
def test_tensordot_of_any_axes(data: Any, dtype: str) -> None:
    sizes = data.draw(st.lists(st.integers(1, 3), max_size=2))
    free_a, free_b = (data.draw(st.lists(st.integers(1, 3), max_size=2)) for _ in "ab")
    a_order = data.draw(st.permutations(range(len(sizes) + len(free_a))))
    b_order = data.draw(st.permutations(range(len(sizes) + len(free_b))))
    a = np.transpose(array((*sizes, *free_a), dtype), a_order)
    b = np.transpose(array((*sizes, *free_b), dtype, 1), b_order)
    axes = tuple([order.index(i) for i in range(len(sizes))] for order in (a_order, b_order))
    check(np.tensordot, {"a": a, "b": b, "axes": axes}, dtype)


# ---- operands of two dtypes ----------------------------------------------------------------

MIXED: list[tuple[Any, Call]] = [
    (np.add, {"a": (2, 3), "b": (3,)}),
    (np.multiply, {"a": (2, 3), "b": (3,)}),
    (np.divide, {"a": (3,), "b": (2, 3)}),
    (np.matmul, {"a": (2, 3), "b": (3, 4)}),
    (np.dot, {"a": (3,), "b": (3,)}),
    (np.tensordot, {"a": (2, 3), "b": (3, 2), "axes": 1}),
    (products.affine, {"x": (2, 3), "weight": (4, 3), "bias": (4,)}),
    (np.where, {"condition": np.array([True, False]), "a": (2,), "b": (2,)}),
    (np.concatenate, {"arrays": [(2,), (3,)]}),
    (np.stack, {"arrays": [(2,), (2,)]}),
    (products.einsum, {"subscripts": "ij,jk->ik", "operands": [(2, 3), (3, 2)]}),
]


def _filled(call: Call, kinds: list[str]) -> Call:
    """The call with arrays in place of the shapes of its places, of the dtypes in turn."""
    call = dict(call)
    kinds = list(kinds)
    for name, value in call.items():
        if name in ("a", "b", "x", "weight", "bias"):
            call[name] = _near_two(array(value, kinds.pop(0)))
        elif name in ("arrays", "operands"):
            call[name] = [_near_two(array(shape, kinds.pop(0))) for shape in value]
    return call


@pytest.mark.parametrize(
    "kinds", [("float64", "complex128"), ("complex64", "float64"), ("float32", "float64")]
)
@pytest.mark.parametrize(("function", "call"), MIXED, ids=[f.__name__ for f, _ in MIXED])
def test_operands_of_two_dtypes_get_gradients_of_their_own(
    function: Any, call: Call, kinds: tuple[str, str]
) -> None:
    rule = RULES[function]
    call = completed(rule, _filled(call, [*kinds, kinds[0]]))
    arrays = arrays_of(rule, call)
    xs = [leaf(x) for x in arrays]
    ys = listed(rule.apply(with_arrays(rule, call, xs)))  # by NumPy's name, promoted as NumPy does
    wide = max((x.dtype for x in arrays), key=lambda d: (d.kind == "c", d.itemsize))
    expected = listed(rule.apply(call))
    np.testing.assert_allclose(ys[0]._array, expected[0], rtol=1e-5)
    gs = [like(y._array, np.random.default_rng(2)) for y in ys]
    found = gradients(ys, xs, [wrap(g) for g in gs])
    assert [g.dtype for g in found] == [x.dtype for x in arrays]
    assert ys[0].dtype.kind == wide.kind
    for place, g in zip(places(rule, call), found, strict=True):
        t = like(place.of(call), np.random.default_rng(3))
        moved = outputs(rule, place.replaced(call, place.of(call) + 1e-3 * t))
        # Linear but for the quotient: its divisor's second derivative leaves a term of this size.
        difference = [
            (after - before) / 1e-3 for after, before in zip(moved, expected, strict=True)
        ]
        assert inner(gs, difference) == pytest.approx(inner([g._array], [t]), rel=2e-2, abs=2e-2)
