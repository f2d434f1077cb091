"""grad and value_and_grad: kinds, containers, plain NumPy functions."""

import dataclasses
from collections import OrderedDict, namedtuple

import numpy as np
import pytest

import wengert as wg
from tests.transforms import numeric

RNG = np.random.default_rng(0)
X = RNG.standard_normal(4)


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def filled(x):
    y = np.zeros_like(x)
    for i in range(len(x)):
        y[i] = np.sin(x[i]) if x[i] > 0 else x[i] ** 3
    return np.sum(y * y)


def emptied(x):
    y = np.empty_like(x)
    y[::2] = x[::2] ** 2
    y[1::2] = np.exp(x[1::2])
    return np.prod(y)


def reused(x):
    out = np.zeros_like(x)
    out[0] = x[0]
    for i in range(1, len(x)):
        out[i] = out[i - 1] * x[i] + out[0]
    return out[-1]


def overwritten(x):
    y = x * 2
    z = y * y
    y[0] = 5
    return np.sum(z * y)


def newton_root(x):
    y = x[0] * 0 + 1
    while abs(y * y - np.exp(x[0])) > 1e-12:
        y = y - (y * y - np.exp(x[0])) / (2 * y)
    return y * x[1]


def matrix(x):
    a = np.outer(x, x) + np.eye(len(x))
    return np.trace(a @ a) + np.linalg.norm(a[0]) + np.max(a)


@pytest.mark.parametrize(
    "f",
    [rosenbrock, filled, emptied, reused, overwritten, newton_root, matrix],
    ids=lambda f: f.__name__,
)
def test_the_gradient_of_plain_numpy_code_is_the_difference_quotient(f):
    g = wg.grad(f)(X)
    assert type(g) is np.ndarray
    np.testing.assert_allclose(g, numeric.gradient(f, X), rtol=1e-5, atol=1e-7)


def test_code_that_has_tensors_has_pytorchs_error_of_overwritten_values():
    with pytest.raises(wg.errors.ModifiedError, match="was overwritten by"):
        wg.grad(overwritten)(wg.tensor(X))


@pytest.mark.parametrize(
    ("x", "kind"),
    [(3.0, float), (np.float64(3), np.float64), (np.float32(3), np.float32)],
    ids=lambda v: getattr(v, "__name__", str(v)),
)
def test_a_number_has_a_gradient_of_its_own_type(x, kind):
    g = wg.grad(lambda x: x**2)(x)
    assert type(g) is kind
    assert g == 6


def test_arrays_give_arrays_and_tensors_tensors_of_their_dtype():
    for dtype in (np.float32, np.float64):
        a = X.astype(dtype)
        g = wg.grad(lambda x: np.sum(x * x))(a)
        assert type(g) is np.ndarray
        assert g.dtype == dtype
        t = wg.grad(lambda x: (x * x).sum())(wg.tensor(a))
        assert type(t) is wg.Tensor
        assert t.dtype == dtype
        assert not t.requires_grad
    zero = wg.grad(lambda x: x * x)(np.array(3.0))
    assert type(zero) is np.ndarray
    assert zero.shape == ()


def test_a_list_of_numbers_is_a_container():
    assert wg.grad(lambda a: a[0] * a[1])([2.0, 5.0]) == [5.0, 2.0]


Point = namedtuple("Point", "x y")


@dataclasses.dataclass
class Line:
    slope: float
    points: list


def test_containers_keep_their_types():
    assert wg.grad(lambda p: p.x * p.y)(Point(2.0, 3.0)) == Point(3.0, 2.0)
    made = wg.grad(lambda p: p.slope * p.points[0])(Line(2.0, [3.0, 4.0]))
    assert made == Line(3.0, [2.0, 0.0])
    ordered = OrderedDict(b=2.0, a=(1.0, None))
    g = wg.grad(lambda d: d["b"] * d["a"][0])(ordered)
    assert g == OrderedDict(b=1.0, a=(2.0, None))
    assert type(g) is OrderedDict


def test_argnums_choose_arguments():
    def f(a, b, c=1.0):
        return a * b * c

    assert wg.grad(f, 1)(2.0, 3.0) == 2.0
    assert wg.grad(f, -1)(2.0, 3.0) == 2.0
    assert wg.grad(f, (1, 0))(2.0, 3.0, c=10.0) == (20.0, 30.0)
    assert wg.grad(f, [0])(2.0, 3.0) == (3.0,)


def test_what_is_no_variable_may_be_anything():
    g = wg.grad(lambda x, name, n: {"a": x**n}[name])(3.0, "a", 2)
    assert g == 6.0


def test_value_and_gradient_come_from_one_run():
    runs = []

    def f(x):
        runs.append(x)
        return np.sum(x * x)

    value, g = wg.value_and_grad(f)(X)
    assert type(value) is np.float64
    assert value == pytest.approx(X @ X)
    np.testing.assert_array_equal(g, 2 * X)
    assert len(runs) == 1
    assert wg.func.grad_and_value(lambda x: x**2)(3.0) == (6.0, 9.0)


def test_aux_is_handed_through_in_the_callers_kind():
    g, aux = wg.grad(lambda x: (np.sum(x * x), {"y": 2 * x, "n": 3, "s": "s"}), has_aux=True)(X)
    np.testing.assert_array_equal(g, 2 * X)
    np.testing.assert_array_equal(aux["y"], 2 * X)
    assert type(aux["y"]) is np.ndarray
    assert (aux["n"], aux["s"]) == (3, "s")
    (value, aux), g = wg.value_and_grad(lambda x: (x * x, x + 1), has_aux=True)(3.0)
    assert (value, aux, g) == (9.0, 4.0, 6.0)
    g, (value, aux) = wg.func.grad_and_value(lambda x: (x * x, x + 1), has_aux=True)(3.0)
    assert (value, aux, g) == (9.0, 4.0, 6.0)


def test_no_influence_is_a_gradient_of_zero():
    g = wg.grad(lambda a, b: np.sum(a), (0, 1))(X, 2.0)
    np.testing.assert_array_equal(g[0], np.ones(4))
    assert g[1] == 0.0


def test_the_gradient_by_complex_numbers_points_uphill():
    z = 3 + 4j
    assert wg.grad(lambda z: abs(z) ** 2)(z) == 2 * z
    a = RNG.standard_normal(3) + 1j * RNG.standard_normal(3)
    g = wg.grad(lambda z: np.sum(np.real(z) * np.imag(z)))(a)
    np.testing.assert_allclose(g, a.imag + 1j * a.real)


def test_results_are_the_callers_own_memory():
    a, b = wg.grad(lambda a, b: np.sum(a + b), (0, 1))(X, X)
    a += 1
    np.testing.assert_array_equal(b, np.ones(4))
    _, y = wg.grad(lambda x: (np.sum(x), x), has_aux=True)(X)
    assert not np.shares_memory(y, X)
    y += 1


def test_saved_tensor_hooks_of_the_caller_are_used():
    packed = []
    with wg.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        assert wg.grad(lambda x: np.sin(x))(0.0) == 1.0
    assert packed


def test_the_callers_tensors_are_left_alone():
    x = wg.tensor([1.0, 2.0])
    wg.grad(lambda x: (x * x).sum())(x)
    assert not x.requires_grad
    assert x.grad is None
    w = wg.tensor([1.0, 2.0], requires_grad=True)
    wg.grad(lambda x: (x * x).sum())(w)
    assert w.grad is None


def test_a_transformed_function_keeps_name_and_docstring():
    g = wg.grad(rosenbrock)
    assert g.__name__ == "grad_rosenbrock"
    assert g.__wrapped__ is rosenbrock


def test_a_callable_object_is_a_function():
    class Square:
        def __call__(self, x):
            return x * x

    assert wg.grad(Square())(3.0) == 6.0


def test_float32_numbers_beside_python_numbers_stay_float32():
    g = wg.grad(lambda x, c: np.sum(c * x))(X.astype(np.float32), 2.0)
    assert g.dtype == np.float32


def test_parts_of_real_arrays_are_numpys_in_numpy_code():
    # PyTorch's tensors have no imaginary part if they are real; xarray asks all arrays for one.
    def f(x):
        x = x * 1
        x.real = x.real * 3
        return np.sum(x.imag + x.real * x)

    np.testing.assert_allclose(wg.grad(f)(np.array([1.0, 2.0])), [18.0, 36.0])
    with pytest.raises(RuntimeError, match="imag is not implemented for tensors"):
        wg.ones(2).imag
