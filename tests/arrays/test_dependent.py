"""Arrays that know what they were computed from: no dependence is lost, and few are made up."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rules.calls import (
    arrays_of,
    gradients,
    leaf,
    listed,
    number,
    places,
    pushed,
    recorded,
    with_arrays,
)
from tests.rules.each import each_sample
from tests.rules.test_table import CASES
from wengert.arrays.dependent.array import Dependence, DependentArray, ids_of
from wengert.errors import PatternError
from wengert.tensor import Tensor, wrap


def dependent(arrays, origins):
    """The arrays, whose elements are the inputs, in order."""
    made, first = [], 1
    for array in arrays:
        ids = np.arange(first, first + array.size).reshape(array.shape)
        made.append(DependentArray(np.array(array), ids, origins))
        first += array.size
    return made


def pattern(outputs, origins):
    """A matrix of truth values: outputs by inputs."""
    ids = np.concatenate([np.ravel(ids_of(y)) for y in outputs])
    indptr, indices = origins.rows(ids)
    dense = np.zeros((len(ids), origins.n), bool)
    dense[np.repeat(np.arange(len(ids)), np.diff(indptr)), indices] = True
    return dense


def jacobian(rule, call):
    """Where the derivative is not zero, pushing one input at a time."""
    columns = []
    for place in places(rule, call):
        x = place.of(call)
        for k in range(x.size):
            column = 0
            for unit in (1, 1j) if x.dtype.kind == "c" else (1,):
                t = np.zeros(x.size, x.dtype)
                t[k] = unit
                ys = pushed(rule, call, place, t.reshape(x.shape))
                column = column + np.abs(np.concatenate([np.ravel(y) for y in ys]))
            columns.append(column != 0)
    return np.stack(columns, axis=-1)


@each_sample(CASES)
def test_a_rule_s_pattern_contains_every_nonzero_of_its_jacobian(rule, call):
    arrays = arrays_of(rule, call)
    n = sum(x.size for x in arrays)
    if not n:
        return  # nothing to differentiate by
    origins = Dependence(n)
    ys = listed(rule.apply(with_arrays(rule, call, dependent(arrays, origins))))
    expected = rule.apply(call)
    for y, value in zip(ys, listed(expected), strict=True):
        np.testing.assert_allclose(y.value, value, rtol=1e-12, atol=1e-14)
    found = pattern(ys, origins)
    with np.errstate(all="ignore"):
        true = jacobian(rule, call)
    assert not (true & ~found).any()


# ---- gradients: the engine runs on these arrays too ------------------------------------------

FEW = [
    case
    for case in CASES
    if int(case.id.rpartition("-")[2]) < 3
    and 0 < sum(x.size for x in arrays_of(*case.values)) <= 12
    and all(x.dtype.kind == "f" for x in arrays_of(*case.values))
]


def slopes(rule, call, leaves):
    """The gradient of a scalar in which every output counts, and is bent."""
    total = 0.0
    for y in recorded(rule, call, leaves):
        if y.dtype.kind in "fc" and y.requires_grad:
            weights = np.linspace(1, 2, y.numel()).reshape(y.shape)
            bend = y * (1 + y * (1 / 2 + y / 6))
            total = total + np.sum(weights * (np.real(bend) if y.dtype.kind == "c" else bend))
    if not isinstance(total, Tensor):
        return None
    return gradients([total], leaves, None, create_graph=True)


@each_sample(FEW)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_pattern_of_a_gradient_contains_every_nonzero_of_the_hessian(rule, call):
    arrays = arrays_of(rule, call)
    leaves = [leaf(array) for array in arrays]
    first = slopes(rule, call, leaves)
    if first is None:
        return  # no output has a derivative
    flat = [s.reshape(-1)[k] for s in first for k in range(s.numel())]
    rows = [
        np.concatenate(
            [np.ravel(number(g)) for g in gradients([s], leaves, None, retain_graph=True)]
        )
        if s.requires_grad
        else np.zeros(sum(x.size for x in arrays))
        for s in flat
    ]
    true = np.stack(rows) != 0

    origins = Dependence(true.shape[1])
    watching = [wrap(x).requires_grad_() for x in dependent(arrays, origins)]
    found = slopes(rule, call, watching)
    assert not (true & ~pattern([s._array for s in found], origins)).any()


# ---- NumPy's functions, called on the arrays themselves --------------------------------------

A = np.random.default_rng(3).uniform(0.5, 1.5, (3, 4))
SQUARE = A[:, :3] + 3 * np.eye(3)
STENCIL = np.eye(3) - np.eye(3, k=1)


def out_of(x):
    y = np.zeros_like(x)
    np.multiply(x, x, out=y)
    np.add(y, 1, out=y, where=np.arange(4) < 2)
    return y


def written(x):
    y = np.ones_like(x)
    y[0] = x[1]
    y[1, :2] += x[0, 2:]
    y[2][y[2] > 0] = x[0, 0]
    view = y.T
    view[3] *= x[:, 0]
    np.copyto(y, x[::-1], where=np.eye(3, 4) > 0)
    return y


def added_at(x):
    y = np.zeros_like(x)
    np.add.at(y, (np.array([0, 0, 2]), np.array([1, 1, 3])), x[:, 0])
    np.multiply.at(y, (slice(0, 1),), x[1:2])
    return y


# A function of A, and whether its pattern is exact.
FUNCTIONS = {
    "out=": (out_of, True),
    "writes": (written, True),
    "ufunc.at": (added_at, False),
    "put": (lambda x: put_into(x), False),
    "select": (lambda x: np.select([x > 1, x > 0.7], [x, 2 * x], x[::-1]), False),
    "where of a constant": (lambda x: np.where(np.eye(3, 4) > 0, x, x[::-1]), True),
    "block": (lambda x: np.block([[x, 2 * x], [np.zeros((3, 4)), x]]), True),
    "column_stack": (lambda x: np.column_stack([x, x[:, 0]]), True),
    "pad": (lambda x: np.pad(x, 1), False),
    "diff": (lambda x: np.diff(x, n=2, axis=1), True),
    "prepended diff": (lambda x: np.diff(x, axis=1, prepend=0.0), False),
    "roll": (lambda x: np.roll(x, (1, 2), (0, 1)), True),
    "take": (lambda x: np.take(x, [2, 0], axis=1), True),
    "tril": (lambda x: np.tril(x), True),
    "windows": (lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, 1).sum(-1), True),
    "split": (lambda x: np.split(x, 2, 1)[1] ** 2, True),
    "delete": (lambda x: np.delete(x, 1, 1), True),
    "median": (lambda x: np.median(x, 1), False),
    "mean of two dimensions": (lambda x: np.mean(x, (0, 1), keepdims=True), True),
    "std": (lambda x: x.std(0), True),
    "add.reduce": (lambda x: np.add.reduce(x), True),
    "multiply.accumulate": (lambda x: np.multiply.accumulate(x, 1), True),
    "flat cumsum": (lambda x: np.cumsum(x), True),
    "outer": (lambda x: np.multiply.outer(x[0], x[1, :2]), True),
    "sort": (lambda x: np.sort(x, 0), False),
    "partition": (lambda x: np.partition(x, 1, 1), False),
    "fft": (lambda x: np.fft.rfft(x, axis=1).real, False),
    "ifft of a longer one": (lambda x: np.abs(np.fft.fft(x, 6, 0)), False),
    "solve": (lambda x: np.linalg.solve(SQUARE + x[:, :3], x[:, 3]), True),
    "solve with a batch": (
        lambda x: np.linalg.solve(SQUARE * x[:, :, None, None], x[:, :3]),
        False,
    ),
    "slogdet": (lambda x: np.linalg.slogdet(SQUARE * x[:, :1, None])[1], False),
    "norm": (lambda x: np.linalg.norm(x, axis=1), True),
    "constant matrix": (lambda x: STENCIL @ x, True),
    "constant matrix, dot": (lambda x: np.dot(x.T, STENCIL), True),
    "product": (lambda x: x @ x.T, True),
    "batched product": (lambda x: np.matmul(x.reshape(2, 2, 3), x.reshape(2, 3, 2)), True),
    "tensordot": (lambda x: np.tensordot(x, x, (0, 0)), True),
    "einsum": (lambda x: np.einsum("ij,kj->ik", x, x), True),
    "a trace": (lambda x: np.trace(x @ x.T), True),
    "convolve": (lambda x: np.convolve(x[0], [1.0, 0.0, 2.0]), True),
    "convolve, same": (lambda x: np.convolve([1.0, -2.0, 1.0], x.ravel(), "same"), True),
    "convolve, valid": (lambda x: np.convolve(x.ravel(), x[0], "valid"), True),
    "kron": (lambda x: np.kron(x[0], x[1]), False),
    "interp": (lambda x: np.interp(x, A.ravel().cumsum() / 12, A.ravel()), False),
    "steps": (lambda x: x * np.floor(3 * x) + np.sign(x), True),
    "argsort": (lambda x: x[:, np.argsort(x[0])], True),
    "a branch": (lambda x: x[0] if x[0, 0] > 0 else x[1], True),
    "divmod": (lambda x: np.divmod(x, 0.4)[1], True),
    "modf": (lambda x: np.modf(3 * x)[0], True),
    "hypot": (lambda x: np.hypot(x[0], x[1]), True),
    "conj": (lambda x: np.real(np.conj(x * 1j) * (1 + x * 1j)), True),
    "astype": (lambda x: x.astype(np.longdouble).astype(float), True),
    "a loop": (lambda x: np.stack([row * row[::-1] for row in x]), True),
}


def put_into(x):
    y = np.zeros_like(x)
    np.put(y, [1, 2], x[0, :2])
    np.fill_diagonal(y, x[0, 0])
    return y


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numpy_s_functions_lose_no_dependence(name):
    f, exact = FUNCTIONS[name]
    origins = Dependence(A.size)
    (x,) = dependent([A], origins)
    y = f(x)
    expected = f(A.copy())
    np.testing.assert_allclose(y.value, expected, rtol=1e-12)
    true = np.zeros((expected.size, A.size), bool)
    for k in range(A.size):
        step = np.zeros(A.size)
        step[k] = 1e-5
        up, down = (f(A + s * step.reshape(A.shape)) for s in (1, -1))
        true[:, k] = np.abs(up - down).ravel() > 1e-9
    found = pattern([y], origins)
    assert not (true & ~found).any()
    if exact:
        np.testing.assert_array_equal(found, true)


def test_values_may_be_looked_at_but_not_turned_into_constants():
    origins = Dependence(12)
    (x,) = dependent([A], origins)
    assert float(x[0, 0]) == A[0, 0]
    assert x[0, 1].item() == A[0, 1]
    assert bool(x[0, 0] > 0)
    assert x[[0]].tolist() == A[[0]].tolist()
    assert (len(x), x.size, x.nbytes) == (3, 12, 96)
    np.testing.assert_array_equal(np.asarray(x > 1), A > 1)
    for lose in (np.asarray, lambda x: np.zeros(4).__setitem__(slice(None), x[0])):
        with pytest.raises(PatternError, match="numbers that depend on the inputs"):
            lose(x)
    with pytest.raises(PatternError, match=r"written into ndarray of shape \(3, 4\)"):
        np.add(x, x, out=np.zeros((3, 4)))


@given(
    st.lists(
        st.tuples(st.sampled_from(["either", "union", "along"]), st.integers(0, 99)), max_size=8
    )
)
@settings(deadline=None)
def test_names_stand_for_the_sets_that_they_were_made_of(steps):
    origins = Dependence(6)
    ids, sets = np.arange(7), [set(), *({k} for k in range(6))]
    for step, k in steps:
        other = np.roll(ids, k)
        turned = [sets[(i - k) % len(sets)] for i in range(len(sets))]
        if step == "either":
            ids, sets = (
                origins.either(ids, other),
                [a | b for a, b in zip(sets, turned, strict=True)],
            )
        elif step == "union":
            targets = np.arange(len(ids)) * (k + 1) % len(ids)
            ids = origins.union(targets, ids, len(ids))
            sets = [
                set().union(*(s for s, t in zip(sets, targets, strict=True) if t == i))
                for i in range(len(sets))
            ]
        else:
            ids = np.concatenate([ids, origins.along(ids[: k % 7 + 1], (0,))])
            sets = [*sets, set().union(*sets[: k % 7 + 1])]
    indptr, indices = origins.rows(ids)
    assert [set(indices[a:b].tolist()) for a, b in itertools.pairwise(indptr)] == sets
