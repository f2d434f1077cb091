"""Batched arrays: every rule of the table, and NumPy's functions, as a loop computes them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.rules.calls import (
    Call,
    arrays_of,
    completed,
    gradients,
    like,
    outputs,
    places,
    pulled,
    recorded,
    with_arrays,
)
from tests.rules.each import each_sample
from tests.rules.samples_linalg import LINALG
from tests.rules.test_table import CASES
from wengert.arrays.batched.array import BatchedArray, Level
from wengert.arrays.kind import array_of
from wengert.errors import BatchingError, MissingRuleError
from wengert.rules import Rule
from wengert.rules.shapes import as_strided
from wengert.tensor import wrap

LOOPED = {as_strided}
SIZE = 3


def examples(x: np.ndarray, matrices: bool = False) -> np.ndarray:
    """Arrays of the same kind of numbers as `x`; matrices as well conditioned as it is."""
    if matrices:
        return np.stack([x * (1 + k / 8) for k in range(SIZE)])
    return np.stack([np.roll(x.ravel(), k).reshape(x.shape) for k in range(SIZE)])


def close(found: Any, expected: Any) -> None:
    found = found.detach()._array if isinstance(found, wg.Tensor) else found
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    scale = np.max(np.abs(expected), initial=1.0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * scale)


@each_sample(CASES)
def test_value_and_gradient_of_every_rule(rule: Rule, call: Call) -> None:
    """Batched are all arguments, or the first alone, or the last."""
    n = len(arrays_of(rule, call))
    check_batched(rule, call, range(n))
    if n > 1:
        check_batched(rule, call, [0])
        check_batched(rule, call, [n - 1])


def check_batched(rule: Rule, call: Call, picked: Sequence[int]) -> None:
    arrays = arrays_of(rule, call)
    matrices = rule.function in LINALG
    xs = [examples(x, matrices) if k in picked else x for k, x in enumerate(arrays)]
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


def test_every_rule_is_mapped_without_a_loop() -> None:
    # Warnings are errors here, so a loop in the test above fails; this is what it leaves out.
    assert {as_strided} == LOOPED


@each_sample(CASES)
def test_every_argument_that_may_be_an_array_may_be_batched(rule: Rule, call: Call) -> None:
    # Which arguments are batched was each meaning's own to ask: pinv with a batched rcond called
    # itself without end, others took a batched setting for an array, or for a number.
    call = completed(rule, call)
    arrays = {p.argument: p.of(call) for p in places(rule, call) if p.item is None}
    for name, value in call.items():
        if name in rule.reverse or type(value) not in (np.ndarray, float):
            continue
        if name == "index" and value.dtype.kind == "b":
            continue  # how many elements it takes would differ
        if type(value) is float:
            many = value * np.array([1.0, 0.75, 1.25])
        else:
            many = examples(value)
        check_setting(rule, call, {name: many})
        for other in [n for n in arrays if arrays[n].size][:1]:
            check_setting(rule, call, {name: many, other: examples(arrays[other])})


def check_setting(rule: Rule, call: Call, batch: dict[str, Any]) -> None:
    picked = [{name: x[i] for name, x in batch.items()} for i in range(SIZE)]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what is done for each example in turn
        try:
            each = [outputs(rule, {**call, **chosen}) for chosen in picked]
        except (TypeError, ValueError):
            return  # it takes no array here
        found = wg.vmap(
            lambda xs: tuple(outputs(rule, {**call, **{n: array_of(x) for n, x in xs.items()}}))
        )({name: wrap(x) for name, x in batch.items()})
    for y, column in zip(found, zip(*each, strict=True), strict=True):
        close(y, np.stack([np.asarray(e) for e in column]))


# ---- NumPy's functions ----------------------------------------------------------------------

random = np.random.default_rng(5)
X = random.standard_normal((3, 4, 5))
S = X @ np.swapaxes(X, 1, 2) + np.eye(4)
V = random.standard_normal((3, 4))
W = random.standard_normal((4, 5))
u = random.standard_normal(4)
I = random.integers(0, 4, (3, 2))

FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "sum": (lambda x: np.sum(x, axis=-1, keepdims=True), X),
    "std": (lambda x: np.std(x, axis=0, ddof=1), X),
    "var": (np.var, X),
    "median": (lambda x: np.median(x, axis=1), X),
    "quantile": (lambda x: np.quantile(x, [0.1, 0.5], axis=0), X),
    "argmax": (lambda x: np.argmax(x, axis=1), X),
    "argmin of all": (np.argmin, X),
    "sort": (lambda x: np.sort(x, axis=0), X),
    "sort of all": (lambda x: np.sort(x, axis=None), X),
    "argsort": (lambda x: x.argsort(), X),
    "partition": (lambda x: np.partition(x, 1), V),
    "cumsum": (lambda x: np.cumsum(x), X),
    "diff": (np.diff, X),
    "any": (lambda x: np.any(x > 1, axis=0), X),
    "count_nonzero": (lambda x: np.count_nonzero(x > 0), X),
    "reshape in Fortran's order": (lambda x: np.reshape(x, (5, 4), order="F"), X),
    "swapaxes": (lambda x: x.swapaxes(0, 1), X),
    "rollaxis": (lambda x: np.rollaxis(x, 1), X),
    "atleast_3d": (np.atleast_3d, X),
    "stacks": (lambda x, b: (np.vstack([x, b]), np.hstack([x, b]), np.dstack([x, b])), V, u),
    "column_stack": (lambda x, b: np.column_stack([b, x]), V, u),
    "broadcast_arrays": (lambda x, b: np.broadcast_arrays(x, b)[1], V, W.T),
    "meshgrid": (lambda x: np.meshgrid(x, u)[0], V),
    "pad": (lambda x: np.pad(x, ((1, 0), (0, 2)), constant_values=3.0), X),
    "pad reflect": (lambda x: np.pad(x, 1, mode="reflect"), X),
    "split": (lambda x: np.split(x, [1, 2], axis=1), X),
    "tile": (lambda x: np.tile(x, (2, 1, 2)), X),
    "diag": (lambda x: np.diag(x, 1), V),
    "diag of a matrix": (np.diag, X),
    "trace": (np.trace, X),
    "isclose": (lambda x, b: np.isclose(x, b, atol=0.5), V, u),
    "allclose": (lambda x, b: np.allclose(x, b, atol=0.5), V, u),
    "array_equal": (np.array_equal, V, V),
    "clip": (lambda x, b: np.clip(x, -np.abs(b), np.abs(b)), V, V),
    "select": (lambda x: np.select([x > 0.5, x < 0], [x, -x], 7.0), V),
    "nan_to_num": (lambda x: np.nan_to_num(np.log(x)), np.abs(X)),
    "divmod": (lambda x, b: np.divmod(x, b), X, np.abs(W)),
    "frexp": (np.frexp, X),
    "logaddexp.reduce": (lambda x: np.logaddexp.reduce(x, axis=1), X),
    "maximum.accumulate": (lambda x: np.maximum.accumulate(x, axis=1), X),
    "add.outer": (np.add.outer, V, u),
    "vecdot": (np.vecdot, X, W),
    "matmul": (lambda x, b: x @ b, X, W.T),
    "matmul of vectors": (lambda x, b: x @ b, V, V),
    "matmul of a vector": (lambda x, b: b @ x, X, V),
    "dot": (np.dot, W.T, V),
    "inner": (np.inner, V, u),
    "vdot": (np.vdot, V, u),
    "outer": (np.outer, V, V),
    "kron": (np.kron, V, u),
    "cross": (lambda x, b: np.cross(x[:3], b[:3]), V, u),
    "tensordot": (lambda x, b: np.tensordot(x, b, ((0,), (0,))), X, W),
    "einsum": (lambda x, b: np.einsum("ij,ij->i", x, b), X, W),
    "einsum, implicit": (lambda x, b: np.einsum("ij,jk", x, b), X, W.T),
    "inv": (np.linalg.inv, S),
    "det": (np.linalg.det, S),
    "slogdet": (lambda x: np.linalg.slogdet(x).logabsdet, S),
    "cholesky": (np.linalg.cholesky, S),
    "eigh": (lambda x: np.linalg.eigh(x).eigenvalues, S),
    "svd": (lambda x: np.linalg.svd(x, compute_uv=False), X),
    "qr": (lambda x: np.linalg.qr(x).R, S),
    "pinv": (np.linalg.pinv, X),
    "solve": (np.linalg.solve, S, V),
    "solve for one matrix": (np.linalg.solve, S[0], V),
    "solve for many columns": (np.linalg.solve, S, W),
    "solve one system": (np.linalg.solve, S, u),
    "matrix_power": (lambda x: np.linalg.matrix_power(x, 3), S),
    "norm": (np.linalg.norm, X),
    "norm along": (lambda x: np.linalg.norm(x, 1, axis=0), X),
    "norm of a matrix": (lambda x: np.linalg.norm(x, "nuc"), X),
    "multi_dot": (lambda x, b: np.linalg.multi_dot([x, b, x]), X, W.T),
    "fft": (np.fft.fft, X),
    "fft2": (np.fft.fft2, X),
    "rfftn": (np.fft.rfftn, X),
    "fftshift": (np.fft.fftshift, X),
    "interp": (lambda x: np.interp(x, [-1.0, 0.0, 1.0], [1.0, 5.0, 2.0]), X),
    "searchsorted": (lambda x: np.searchsorted(np.array([-1.0, 0, 1]), x), X),
    "digitize": (lambda x: np.digitize(x, np.array([-1.0, 0, 1])), X),
    "take": (lambda x, i: np.take(x, i, axis=0), X, I),
    "take from a table": (lambda i, b: wg.as_tensor(b)[i]._array, I, W),
    "take_along_axis": (lambda x, i: np.take_along_axis(x, i, 0), V, I),
    "zeros_like": (lambda x: np.zeros_like(x) + np.ones_like(x, shape=(5,)), X),
    "full_like": (lambda x: np.full_like(x, 3), X),
    "copyto": (lambda x: _filled(x), X),
    "linalg.lstsq's rank": (lambda x: np.linalg.matrix_rank(x), X),
}


def _filled(x: Any) -> Any:
    out = np.empty_like(x)
    np.copyto(out, x)
    np.add(out, 1, out=out)
    np.add.at(out, (np.array([0, 0, 2]), 1), x[0, 0])
    out *= 2
    return out


def looped(f: Any, xs: Any, mapped: Any) -> list[Any]:
    made = [f(*(x[i] if m else x for x, m in zip(xs, mapped, strict=True))) for i in range(SIZE)]
    if isinstance(made[0], (tuple, list)):
        return [np.stack(column) for column in zip(*made, strict=True)]
    return [np.stack(made)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numpy_functions(name: str) -> None:
    f, *xs = FUNCTIONS[name]
    mapped = [x.shape[0] == SIZE for x in xs]
    expected = looped(f, xs, mapped)
    found = wg.vmap(f, in_dims=tuple(0 if m else None for m in mapped))(*xs)
    found = list(found) if isinstance(found, (tuple, list)) else [found]
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


COMPOSED: dict[str, Any] = {
    "take with clipped places": lambda x: np.take(x, np.array([-1, 7, 2]), mode="clip"),
    "take with wrapped places": lambda x: np.take(x, np.array([-1, 7, 2]), axis=1, mode="wrap"),
    "differences of truth values": lambda x: np.diff(x > 0),
    "differences with a number in front": lambda x: np.diff(x, prepend=0.0),
}


@pytest.mark.parametrize("name", COMPOSED)
@pytest.mark.parametrize("way", ["tensor", "batch", "compiled"])
def test_what_a_function_is_composed_of_takes_what_numpy_s_does(name: str, way: str) -> None:
    # Compiled functions took places from the end that were to be clipped, without an error.
    f = COMPOSED[name]
    for x in X:
        found = {
            "tensor": lambda x: f(wg.tensor(x)),
            "batch": lambda x: wg.vmap(f)(x[None])[0],
            "compiled": wg.compile(f),
        }[way](x)
        np.testing.assert_array_equal(np.asarray(found), f(x))


@pytest.mark.parametrize("kind", ["tensor", "batch", "compiled"])
def test_parts_that_are_not_equal_are_refused_and_odd_reflections_of_tensors(kind: str) -> None:
    # np.split gave parts of several sizes, and np.pad other elements than NumPy's.
    def run(f: Any) -> Any:
        if kind == "batch":
            return wg.vmap(f)(X)
        return wg.compile(f)(X[0]) if kind == "compiled" else f(wg.tensor(X[0]))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what runs eagerly then
        with pytest.raises(ValueError, match="equal division"):
            run(lambda x: np.split(x, 3, axis=0))
    if kind == "tensor":
        with pytest.raises(MissingRuleError, match="odd"):
            run(lambda x: np.pad(x, 1, "reflect", reflect_type="odd"))


# ---- indexing -------------------------------------------------------------------------------

T = random.standard_normal((4, 5, 6))
J = random.integers(0, 4, (3, 7))
_fixed = np.array([0, 2, 2, 1, 3, 3, 0])
INDICES: dict[str, Any] = {
    "first": lambda j: j,
    "after a slice": lambda j: (slice(1, None), j),
    "last": lambda j: (Ellipsis, j),
    "two": lambda j: (j, _fixed),
    "two, apart": lambda j: (j, slice(None), _fixed),
    "a number and one": lambda j: (1, j),
    "a number and one, apart": lambda j: (1, slice(None), j),
    "with a new dimension": lambda j: (None, j, slice(None), None),
    "new in between": lambda j: (j, None, _fixed),
    "two, in the middle": lambda j: (slice(None), j, _fixed),
    "a grid": lambda j: (j[:, None], _fixed[None, :3]),
    "a single one": lambda j: j[0],
    "a single one, later": lambda j: (slice(None), j[0]),
    "a list": lambda j: [j[0], j[1]],
}


@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("kind", ["both", "index", "array"])
def test_indices(name: str, kind: str) -> None:
    index = INDICES[name]
    table = np.stack([T, T + 1, T * 2]) if kind != "index" else T
    j = J if kind != "array" else _fixed
    dims = (None if kind == "index" else 0, None if kind == "array" else 0)
    f = lambda t, j: t[index(j)] if kind != "index" else wg.rules.indexing.getitem(t, index(j))
    mapped = (kind != "index", kind != "array")
    (expected,) = looped(f, (table, j), mapped)
    found = wg.vmap(f, in_dims=dims)(table, j)
    np.testing.assert_array_equal(found, expected)
    if kind != "index":

        def write(t: Any, j: Any) -> Any:
            t = t.copy()
            t[index(j)] = 7.0
            t[index(j)] *= t[index(j)]
            np.add.at(t, tuple(p) if isinstance(p := index(j), tuple) else p, 1.0)
            return t

        (expected,) = looped(write, (table, j), mapped)
        np.testing.assert_array_equal(wg.vmap(write, in_dims=dims)(table, j), expected)


def test_gradient_by_a_table_that_is_looked_up() -> None:
    table = wg.from_numpy(W.copy()).requires_grad_()
    index = wg.from_numpy(I)
    wg.vmap(lambda i: (table[i] ** 2).sum() + wg.nn.functional.embedding(i, table).sum())(
        index
    ).sum().backward()
    counts = np.bincount(I.ravel(), minlength=4)[:, None]
    close(table.grad, counts * (2 * W + 1))


# ---- the array itself -----------------------------------------------------------------------


def test_examples_are_looked_up_in_a_table_of_numpys() -> None:
    # np.interp indexed the table by what is batched, which was refused; a table of each example
    # was gone through one by one, with a warning.
    points, values = np.linspace(0, 1, 6), np.linspace(0, 1, 6) ** 2
    rng = np.random.default_rng(0)
    x, each = rng.random((4, 5)), rng.random((4, 6))
    for rest in ({}, {"left": -1.0, "right": 7.0}, {"period": 0.7}):
        expected = np.interp(x, points, values, **rest)
        for given in (x, wg.as_tensor(x)):
            mapped = wg.vmap(lambda v, rest=rest: np.interp(v, points, values, **rest))(given)
            np.testing.assert_allclose(np.asarray(mapped), expected, rtol=1e-12)
    expected = [np.interp(v, points, table) for v, table in zip(x, each, strict=True)]
    mapped = wg.vmap(lambda v, table: np.interp(v, points, table))(x, each)
    np.testing.assert_allclose(mapped, expected, rtol=1e-12)


def test_what_a_batched_array_shows() -> None:
    x = BatchedArray(X, Level(3))
    assert (x.shape, x.ndim, x.size, len(x), x.dtype) == ((4, 5), 2, 20, 4, X.dtype)
    assert repr(x) == "<batched float64[4, 5], 3 examples>"
    assert x.T.shape == (5, 4)
    assert np.may_share_memory(x[1:], x)
    assert not np.may_share_memory(x.copy(), x)
    with pytest.raises(BatchingError, match="data-dependent"):
        bool(x[0, 0] > 0)
    with pytest.raises(IndexError, match="too many indices"):
        x[0, 0, 0]


@pytest.mark.parametrize(
    "other",
    [2.0, 3, np.float32(2), X[0, 0], X[0], W[:5, :1], np.ones((2, 4, 5)), [1.0] * 5],
    ids=repr,
)
@pytest.mark.parametrize("examples", [X, X[:, 0], X[:, 0, 0]], ids=np.ndim)
@pytest.mark.parametrize("ufunc", [np.multiply, np.subtract, np.divmod])
def test_a_ufunc_of_examples_and_whatever_they_broadcast_with(
    ufunc: Any, examples: np.ndarray, other: Any
) -> None:
    batched = BatchedArray(examples, Level(3))
    try:
        expected = np.stack([ufunc(x, other) for x in examples], -1 if ufunc.nout == 1 else 1)
    except ValueError:
        with pytest.raises(ValueError, match="broadcast"):
            ufunc(batched, other)
        return
    if ufunc.nout == 1:
        np.testing.assert_array_equal(ufunc(batched, other).raw, np.moveaxis(expected, -1, 0))
    else:
        np.testing.assert_array_equal([part.raw for part in ufunc(batched, other)], expected)


def test_a_ufunc_of_two_levels_batches_over_both() -> None:
    inner, outer = Level(3), Level(4)
    a = BatchedArray(BatchedArray(X, inner), outer)  # X[i, j] is an example of both
    b = BatchedArray(W, outer)
    for found, expected in [(a * b, X * W), (b - a, W - X), (2 * a, 2 * X)]:
        assert found.level is outer
        assert found.raw.level is inner
        np.testing.assert_array_equal(found.raw.raw, expected)
