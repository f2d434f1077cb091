"""Plain NumPy code on Tensors: which functions record, which compute, which refuse by name."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.errors import MissingRuleError
from wengert.rules import RULES


def leaf(*values, dtype=wg.float64):
    return wg.tensor(list(values), dtype=dtype, requires_grad=True)


def gradient(f, *values):
    x = leaf(*values)
    f(x).backward()
    return x.grad.tolist()


def quotient(f, *values):
    x, eps = np.array(values), 1e-6
    return [(f(x + eps * e) - f(x - eps * e)) / (2 * eps) for e in np.eye(len(values))]


# ---- programs written for NumPy ------------------------------------------------------------


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def softmax_entropy(x):
    e = np.exp(x - np.max(x))
    p = e / np.sum(e)
    return -np.sum(p * np.log(p))


def polynomial(x):
    return np.sum(np.stack([x**k / (k + 1) for k in range(4)]))


def norms(x):
    return np.linalg.norm(x) + np.linalg.norm(x, 1) + np.linalg.norm(np.outer(x, x), axis=0).sum()


def joined(x):
    both = np.concatenate([x, np.ones(2), x[::-1]])
    return np.sum(both * np.arange(len(both)))


def piecewise(x):
    return (
        np.sum(np.where(x > 1.5, x**2, np.sin(x)))
        + np.sum(np.maximum(x, 1.2))
        + np.sum(np.clip(x, 1.1, 2.5))
    )


def matrices(x):
    a = np.outer(x, x) + 3 * np.eye(3)
    return np.trace(a @ a.T) + np.sum(np.matmul(a, x)) + np.trace(np.linalg.multi_dot([a, a, a]))


def stacked(x):
    columns = np.column_stack([x, x**2])
    return np.sum(np.vstack([x, columns.T]) * np.arange(9.0).reshape(3, 3)) + np.sum(
        np.hstack([x, x[:1]]) ** 2
    )


def moments(x):
    return np.mean(x) * np.var(x) + np.std(x) + np.prod(x) + np.cumsum(x)[-1]


def shapes(x):
    y = np.reshape(np.tile(x, 2), (2, 3)).T
    y = np.expand_dims(np.squeeze(y[None]), 0)
    return np.sum(np.swapaxes(y, 1, 2) * np.arange(6.0).reshape(1, 2, 3))


def contracted(x):
    return (
        np.einsum("i,j,ij->", x, x, np.arange(9.0).reshape(3, 3))
        + np.dot(x, x)
        + np.tensordot(x, x, 1)
        + np.vdot(x, x)
    )


def filled(x):
    out = np.zeros_like(x)
    for i in range(len(x)):
        out[i] = x[i] * x[-1 - i]
    return np.sum(out**2)


def updated(x):
    total = x * 0
    total += x * 2
    total -= np.sin(x)
    total *= x
    total /= 1 + x**2
    return np.sum(total)


def sorted_and_padded(x):
    return (
        np.sum(np.sort(x) * np.arange(3.0))
        + np.sum(np.pad(x, 1) * np.arange(5.0))
        + np.sum(np.diff(x) ** 2)
    )


def differences_of_kinds(x):
    return np.sum(
        np.hypot(x, 2.0)
        + np.arctan2(x, 1.0)
        + np.logaddexp(x, 0)
        + np.tanh(x)
        + np.sqrt(x)
        + np.abs(x)
    )


PROGRAMS = [
    rosenbrock,
    softmax_entropy,
    polynomial,
    norms,
    joined,
    piecewise,
    matrices,
    stacked,
    moments,
    shapes,
    contracted,
    filled,
    updated,
    sorted_and_padded,
    differences_of_kinds,
]


@pytest.mark.skipif(np.linalg.inv not in RULES, reason="linear algebra has no rules yet")
def test_linear_algebra_is_differentiated_as_it_stands():
    def f(x):
        a = np.outer(x, x) + 3 * np.eye(3)
        return np.sum(np.linalg.inv(a)) + np.linalg.det(a) + np.linalg.solve(a, x).sum()

    np.testing.assert_allclose(
        gradient(f, 1.0, 2.0, 3.0), quotient(f, 1.0, 2.0, 3.0), rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_a_program_written_for_numpy_is_differentiated_as_it_stands(f):
    values = (1.0, 2.0, 3.0)
    assert float(f(wg.tensor(values, dtype=wg.float64))) == pytest.approx(
        float(f(np.array(values)))
    )
    np.testing.assert_allclose(gradient(f, *values), quotient(f, *values), rtol=1e-6, atol=1e-6)


# ---- arrays and tensors together -----------------------------------------------------------


@pytest.mark.parametrize(
    "operation",
    [
        lambda a, t: a * t,
        lambda a, t: t * a,
        lambda a, t: a + t,
        lambda a, t: a - t,
        lambda a, t: t - a,
        lambda a, t: a / t,
        lambda a, t: a @ t,
        lambda a, t: t @ a,
        lambda a, t: a**t,
        lambda a, t: np.multiply(a, t),
    ],
)
def test_arrays_on_either_side_of_an_operator(operation):
    a, t = np.array([2.0, 3.0]), leaf(5.0, 7.0)
    y = operation(a, t)
    assert type(y) is wg.Tensor
    assert y.requires_grad
    np.testing.assert_allclose(y.detach().numpy(), operation(a, t.detach().numpy()))


def test_numpy_scalars_are_numbers():
    x = leaf(1.0, 2.0)
    for y in (x * np.float64(2), np.float64(2) * x, x * np.int64(2), np.sum(np.ones(2)) * x):
        assert type(y) is wg.Tensor
        assert y.requires_grad
        assert y.dtype == wg.float64
        assert y.tolist() == [2, 4]


def test_an_array_operand_of_a_float32_tensor_promotes_as_pytorch_does_for_operators():
    x = wg.ones(2, requires_grad=True)
    assert (x * np.ones(2)).dtype == wg.float64
    assert (x * np.float64(2)).dtype == wg.float32
    assert (x * 2.0).dtype == wg.float32


def test_comparisons_with_arrays():
    x = leaf(1.0, 2.0)
    assert (x > np.array([0.0, 3.0])).tolist() == [True, False]
    assert (np.array([0.0, 3.0]) < x).tolist() == [True, False]
    assert (x == np.array([1.0, 0.0])).tolist() == [True, False]


def test_writing_a_tracked_tensor_into_a_numpy_array_is_refused():
    # NumPy arrays remember nothing; a silent copy would cut the gradient.
    a, x = np.zeros(2), leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="requires grad"):
        a[:] = x
    with pytest.raises(RuntimeError, match="out="):
        a += x
    with pytest.raises(RuntimeError, match="requires grad"):
        np.asarray(x)
    assert a.tolist() == [0, 0]
    a += x.detach()
    a[:] = x.detach()
    with wg.no_grad():
        a += x
    assert a.tolist() == [2, 4]


def test_reading_an_untracked_tensor_as_an_array_shares_its_memory():
    x = wg.zeros(2)
    np.asarray(x)[0] = 5
    assert x.tolist() == [5, 0]
    assert np.array(x, dtype=np.int64).tolist() == [5, 0]


# ---- out= ----------------------------------------------------------------------------------


def test_out_writes_into_tensors_and_arrays():
    x, t, a = wg.ones(2), wg.zeros(2), np.zeros(2)
    assert np.add(x, 1, out=t) is t
    assert np.add(x, 1, out=a) is a
    assert t.tolist() == a.tolist() == [2, 2]
    assert t._version == 1
    np.sum(wg.ones(2, 2), axis=0, out=t)
    assert t.tolist() == [2, 2]


def test_out_refuses_what_is_tracked():
    x, t = leaf(1.0, 2.0), wg.zeros(2, dtype=wg.float64)
    for call in (
        lambda: np.add(x, 1, out=t),
        lambda: np.add(t, 1, out=x),
        lambda: np.exp(x, out=t),
    ):
        with pytest.raises(RuntimeError, match="out="):
            call()
    with wg.no_grad():
        np.add(x, 1, out=t)
    assert t.tolist() == [2, 3]


# ---- functions without derivative ----------------------------------------------------------


@pytest.mark.parametrize(
    "f",
    [
        np.argmax,
        np.argsort,
        np.isnan,
        np.shape,
        np.ndim,
        np.size,
        np.count_nonzero,
        np.nonzero,
        lambda x: np.allclose(x, x),
        lambda x: np.array_equal(x, x),
        lambda x: np.searchsorted(x, 1.5),
        np.sign,
        np.floor,
        np.ceil,
        np.round,
        np.isfinite,
        lambda x: np.greater(x, 1),
        np.any,
        np.all,
        lambda x: np.floor_divide(x, 1),
        np.unique,
    ],
)
def test_functions_that_are_constant_almost_everywhere_work_on_tracked_tensors(f):
    x = leaf(1.0, 2.0)
    result = f(x)
    expected = f(np.array([1.0, 2.0]))
    for got, want in zip(
        result if isinstance(result, tuple) else (result,),
        expected if isinstance(expected, tuple) else (expected,),
        strict=True,
    ):
        np.testing.assert_array_equal(
            got.detach().numpy() if isinstance(got, wg.Tensor) else got, want
        )


NO_RULE = [
    ("fft.rfftn", lambda x: np.fft.rfftn(x)),
    ("i0", np.i0),
    ("unwrap", np.unwrap),
    ("percentile", lambda x: np.percentile(x, 30)),
    ("cov", np.cov),
    ("frexp", np.frexp),
    ("nextafter", lambda x: np.nextafter(x, 2.0)),
    ("convolve", lambda x: np.convolve(x, x)),
    ("interp", lambda x: np.interp(x, [0.0, 1.0], [0.0, 1.0])),
    ("polyfit", lambda x: np.polyfit(x, x, 1)),
    ("partition", lambda x: np.partition(x, 1)),
    ("gradient", np.gradient),
]


@pytest.mark.parametrize(("name", "f"), NO_RULE, ids=[name for name, _ in NO_RULE])
def test_a_function_without_a_rule_names_itself_and_the_way_out_or_has_one(name, f):
    x = leaf(1.0, 2.0)
    try:
        y = f(x)
    except MissingRuleError as error:
        assert name.rpartition(".")[2] in str(error)  # noqa: PT017
        assert "detach()" in str(error)  # noqa: PT017
    else:  # it has been given a rule since
        assert all(
            part.requires_grad
            for part in (y if isinstance(y, (tuple, list)) else (y,))
            if part.dtype.kind == "f"
        )
    plain = f(x.detach())
    want = f(np.array([1.0, 2.0]))
    for got, expected in (
        zip(plain, want, strict=True) if isinstance(want, tuple) else [(plain, want)]
    ):
        np.testing.assert_allclose(np.asarray(got), expected)


def test_the_missing_rule_error_is_a_not_implemented_error():
    with pytest.raises(NotImplementedError, match=r"numpy\.unique_values has no derivative rule"):
        np.unique_values(leaf(1.0, 2.0))


def test_a_missing_rule_is_no_error_where_nothing_is_recorded():
    x = leaf(1.0, 2.0)
    with wg.no_grad():
        assert np.unique_values(x).shape == (2,)
    assert np.unique_values(wg.ones(2)).shape == (1,)


def test_ufunc_methods():
    x = leaf(1.0, 2.0, 3.0)
    assert np.add.reduce(x).requires_grad
    with pytest.raises(MissingRuleError, match=r"numpy\.logaddexp\.accumulate"):
        np.logaddexp.accumulate(x)
    np.testing.assert_allclose(
        np.asarray(np.logaddexp.accumulate(x.detach())), np.logaddexp.accumulate([1.0, 2.0, 3.0])
    )


def test_writing_functions_count_as_writes_and_refuse_what_is_tracked():
    x = wg.zeros(3)
    np.put(x, [0], 5)
    np.add.at(x, [1, 1], 2)
    np.copyto(x, 7, where=np.array([False, False, True]))
    np.putmask(x, np.array([True, False, False]), 1)
    assert x.tolist() == [1, 4, 7]
    assert x._version == 4
    y = leaf(1.0, 2.0, 3.0) * 1
    for write in (
        lambda: np.put(y, [0], 5),
        lambda: np.add.at(y, [1], 2),
        lambda: np.putmask(y, y > 0, 1),
    ):
        with pytest.raises(MissingRuleError):
            write()


def test_copyto_carries_gradients_into_tensors_and_refuses_arrays():
    w, x = leaf(1.0, 2.0), wg.zeros(2, dtype=wg.float64)
    np.copyto(x, w)
    (x * x).sum().backward()
    assert w.grad.tolist() == [2, 4]
    with pytest.raises(RuntimeError, match="requires grad"):
        np.copyto(np.zeros(2), w)


@pytest.mark.parametrize(
    "f",
    [
        np.add.reduce,
        np.multiply.reduce,
        np.maximum.reduce,
        lambda x: np.add.accumulate(x)[-1],
        lambda x: np.multiply.accumulate(x)[-1],
    ],
)
def test_reductions_by_ufuncs(f):
    np.testing.assert_allclose(gradient(f, 1.0, 2.0, 3.0), quotient(f, 1.0, 2.0, 3.0), atol=1e-6)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.add(x, 1, where=np.array([True, False])),
        lambda x: np.add(x, 1, dtype=np.float32),
        lambda x: np.exp(x, order="F"),
        lambda x: np.sum(x, where=np.array([True, False])),
        lambda x: np.max(x, initial=5.0),
    ],
)
def test_options_without_a_meaning_on_tensors_are_refused_not_ignored(f):
    a = np.array([1.0, 2.0])
    try:
        got = f(leaf(1.0, 2.0))
    except (TypeError, MissingRuleError):
        return
    np.testing.assert_allclose(got.detach().numpy(), f(a))
    assert got.dtype == f(a).dtype


# ---- dtypes under NumPy's names ------------------------------------------------------------


@pytest.mark.parametrize(
    "f", [np.exp, np.sin, np.sqrt, np.mean, np.sum, np.negative, np.square, np.cumsum, np.prod]
)
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_results_under_numpys_names_have_numpys_dtype(f, dtype):
    a = np.ones(3, dtype)
    assert f(wg.from_numpy(a)).dtype == f(a).dtype


@pytest.mark.parametrize("f", [np.add, np.multiply, np.true_divide, np.maximum, np.arctan2])
def test_binary_functions_under_numpys_names_have_numpys_dtype(f):
    for left in ("int64", "float32", "float64"):
        for right in ("int32", "float32", "float64"):
            a, b = np.ones(2, left), np.ones(2, right)
            assert f(wg.from_numpy(a), wg.from_numpy(b)).dtype == f(a, b).dtype


# ---- what shares memory --------------------------------------------------------------------


@pytest.mark.parametrize(
    "f",
    [
        np.flip,
        np.ravel,
        np.transpose,
        np.squeeze,
        np.fliplr,
        lambda x: np.rot90(x),
        lambda x: np.real(x),
        lambda x: np.swapaxes(x, 0, 1),
        lambda x: np.diagonal(x),
        lambda x: np.broadcast_to(x, (2, 2, 2)),
        lambda x: np.atleast_2d(x),
        lambda x: np.reshape(x, 4),
        lambda x: np.split(x, 2)[0],
        lambda x: np.moveaxis(x, 0, 1),
        np.copy,
        np.positive,
        np.triu,
        lambda x: np.roll(x, 1),
        lambda x: np.tile(x, 1),
        lambda x: np.clip(x, 0, 9),
        lambda x: np.repeat(x, 1),
        lambda x: np.concatenate([x]),
        lambda x: np.nan_to_num(x),
        np.conjugate,
    ],
)
def test_a_result_that_shares_memory_also_shares_the_counter_of_writes(f):
    # A write to the base that its result does not know of would leave stale values undetected.
    x = wg.tensor([[1.0, 2.0], [3.0, 4.0]])
    y = f(x)
    if np.shares_memory(y._array, x._array):
        assert y._is_view() or y is x
        assert y._cell is x._cell
    else:
        assert not y._is_view()


def test_every_rule_whose_function_returns_a_view_says_so():
    silent = []
    for function, rule in RULES.items():
        if rule.view or (rule.family == "elementwise" and rule.function is not np.real):
            continue
        if len(rule.arguments) - len(rule.defaults) != 1 or rule.sequence:
            continue
        x = np.ones((2, 2))
        try:
            y = getattr(function, "body", function)(x)
        except Exception:
            continue
        if isinstance(y, np.ndarray) and np.shares_memory(x, y):
            silent.append(rule.name)
    assert silent == []
