"""The functions of `nn.functional` in every dtype: compiled code keeps those of eager mode."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.compile.stories import module
from wengert.errors import TracingError
from wengert.nn import functional as F

RANDOM = {
    "alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout",
    "gumbel_softmax", "rrelu",
}  # fmt: skip
FUNCTIONS = sorted(
    name
    for name, f in vars(F).items()
    if callable(f) and not inspect.isclass(f) and name[0] != "_" and name not in RANDOM
)
DTYPES = ["float16", "bfloat16", "float32", "float64"]
TOLERANCE = {2: 2e-2, 4: 2e-4, 8: 1e-6}


def numbers(seed: int, dtype: str) -> Any:
    made = np.random.default_rng(seed).uniform(0.1, 0.9, (3, 4))
    return wg.tensor(made).to(getattr(wg, dtype))


def calls(x: Any, y: Any) -> Iterator[tuple[Any, ...]]:
    """Arguments of which the functions take some."""
    classes = wg.tensor([0, 1, 2])
    yield from [(x,), (x, y), (x, classes), (x, 1), (x, y, y), (x, y, classes), (x, (4,))]
    yield from [(x[None], 2), (x[None], y.repeat(2, 1, 1)), (x[None, None], 2), (classes, x)]


def outcome(function: Any, arguments: tuple[Any, ...]) -> Any:
    """The tensors that it returns, or None."""
    try:
        made = function(*arguments)
    except Exception:
        return None
    tensors = made if isinstance(made, tuple) else (made,)
    return tensors if all(isinstance(x, wg.Tensor) for x in tensors) else None


def gradients(function: Any) -> Any:
    def of(*arguments: Any) -> Any:
        tracked = [x.detach() if isinstance(x, wg.Tensor) else x for x in arguments]
        leaves = [x for x in tracked if isinstance(x, wg.Tensor) and x.is_floating_point()]
        for x in leaves:
            x.requires_grad_()
        made = function(*tracked)
        outs = [x for x in (made if isinstance(made, tuple) else (made,)) if x.requires_grad]
        total = sum(x.double().sum() for x in outs)
        return tuple(g for g in wg.autograd.grad(total, leaves, allow_unused=True) if g is not None)

    return of


def agree(found: Any, expected: Any) -> None:
    for x, y in zip(found, expected, strict=True):
        assert x.dtype == y.dtype
        tolerance = TOLERANCE[y.dtype.itemsize]
        a, b = (z.detach().numpy().astype(np.float64) for z in (x, y))
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


CASES = [
    pytest.param(
        name,
        dtype,
        id=f"{dtype}-{name}",
        marks=[] if few else [pytest.mark.sweep],
    )
    for dtype in DTYPES
    for k, name in enumerate(FUNCTIONS)
    for few in [dtype == "float16" or (dtype == "bfloat16" and k % 8 == 0)]
]


@pytest.mark.crossed
@pytest.mark.parametrize(("name", "dtype"), CASES)
@pytest.mark.filterwarnings("ignore")
def test_functions_have_the_dtypes_and_values_of_eager_mode(name: str, dtype: str) -> None:
    # gelu of half precision was computed in single precision, and left so.
    function = getattr(F, name)
    x, y = numbers(0, dtype), numbers(1, dtype)
    with np.errstate(all="ignore"):
        given = next((a for a in calls(x, y) if outcome(function, a)), None)
        if given is None:
            pytest.skip("it takes other arguments")
        for f in (function, gradients(function)):
            expected = outcome(f, given)
            if expected:
                compiled = wg.compile(f)
                for _ in range(2):
                    made = compiled(*given)
                    agree(made if isinstance(made, tuple) else (made,), expected)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool"])
def test_casts_to_and_from_bfloat16_round_as_in_eager_mode(dtype: str) -> None:
    special = [0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 3.4e38, 1e-40, 65280.0, 65408.0]
    x = np.array([*special, *np.random.default_rng(0).normal(size=70)])
    with np.errstate(all="ignore"):
        x = wg.tensor(x if dtype.startswith("float") else np.nan_to_num(x)).to(getattr(wg, dtype))
        narrow = wg.compile(lambda x: x.bfloat16())
        back = wg.compile(lambda x: x.float())
        expected = x.bfloat16()
        for _ in range(2):
            bits = narrow(x).numpy().view(np.uint16), expected.numpy().view(np.uint16)
            np.testing.assert_array_equal(*bits)
            np.testing.assert_array_equal(back(expected).numpy(), expected.float().numpy())


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8"])
def test_what_is_no_number_becomes_the_integer_of_eager_mode_where_that_is_known_before(
    dtype: str,
) -> None:
    # LLVM knew that x * nan is NaN, and took 0 for its integer.
    def f(x: Any) -> Any:
        return [(x * k).to(getattr(wg, dtype)) for k in (np.nan, np.inf, 1e30, 1.0)]

    x = wg.tensor([1.0, -2.0, 3e9])
    with np.errstate(all="ignore"):
        compiled, expected = wg.compile(f), f(x)
        for _ in range(3):
            assert [y.tolist() for y in compiled(x)] == [y.tolist() for y in expected]


MIXED = {
    "einsum": lambda a, b: np.einsum("ij,kj->ik", a, b),
    "multi_dot": lambda a, b: np.linalg.multi_dot([a, b, a]),
    "kron": np.kron,
    "vdot": np.vdot,
    "cross": np.cross,
    "polyval": lambda a, b: np.polyval(a[0], b),
}


@pytest.mark.parametrize("name", MIXED)
def test_arrays_of_two_dtypes_have_the_product_that_numpy_gives(name: str) -> None:
    # They were promoted as tensors are, or refused: float32 and int64 made float32.
    random = np.random.default_rng(0)
    for dtypes in (["float32", "int64"], ["float32", "float64"], ["int8", "float32"]):
        given = [(random.normal(size=(3, 3)) * 4).astype(dtype) for dtype in dtypes]
        expected, found = MIXED[name](*given), wg.compile(MIXED[name])(*given)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.parametrize("dtype", [np.float64, "float64", float, np.dtype(np.float32), np.float16])
@pytest.mark.parametrize("call", [np.sum, lambda x, dtype: np.divide(x, 2.0, dtype=dtype)])
def test_a_dtype_that_is_asked_for_may_be_a_class_or_a_name(call: Any, dtype: Any) -> None:
    # Of half precision a class was an AttributeError, and a name was not seen.
    x = np.array([0.1, 2000, 3000], np.float16)
    expected, found = call(x, dtype=dtype), wg.compile(call)(x, dtype=dtype)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=2e-3)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_a_number_that_half_precision_is_compared_with_is_rounded_as_in_eager_mode(
    name: str, dtype: str
) -> None:
    # The array was widened first: none of its numbers was 1.2, or all were greater.
    function = getattr(operator, f"__{name}__")
    x = wg.tensor([1.2, 1.25, 0.5]).to(getattr(wg, dtype))
    for number in (1.2, 1.25, np.float16(1.2), np.float32(1.2)):
        expected = function(x, number)
        assert wg.equal(wg.compile(lambda x, number=number: function(x, number))(x), expected)
        assert wg.equal(wg.compile(function)(x, number), expected)


NO_NUMBERS = [
    "np.frompyfunc(lambda a: a * 2, 1, 1)(A)[0]",
    "np.frompyfunc(lambda a: (a, a), 1, 2)(A)[0][0]",
    "(np.place(A, A > 1, [K]), A[1])[1]",
    "(A.astype(object) * 2)[0]",
]


@pytest.mark.parametrize("made", NO_NUMBERS)
def test_what_makes_no_numbers_of_what_is_traced_is_refused(made: str) -> None:
    # Machine code copied objects as if they were numbers, and Python crashed; what a function of
    # NumPy's without a result writes was lost.
    m = module(f"A, K = np.ones(3), 2.0\ndef f(x): return x * float({made})")
    f = wg.compile(m.f)
    for _ in range(3):
        with pytest.raises(TracingError, match=r"makes no numbers.*\n.*, line 2"):
            f(wg.ones(1))


WITH_NUMBERS: dict[str, Any] = {
    "clamp": (wg.clamp, -0.5, 0.5),
    "hardtanh": (F.hardtanh, -0.5, 0.5),
    "logit": (lambda x, eps: wg.logit(x.abs(), eps=eps), 0.1),
    "layer_norm": (lambda x, eps: F.layer_norm(x, (4,), eps=eps), 1e-5),
    "batch_norm": (lambda x, m: F.batch_norm(x, None, None, None, None, True, m), 0.1),
    "leaky_relu": (F.leaky_relu, 0.3),
    "a product": (lambda x, a: x * a, 0.3),
    "a power": (lambda x, a: a ** x.abs(), 1.5),
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", WITH_NUMBERS)
def test_half_precision_and_a_number_that_is_passed_are_half_precision(
    name: str, dtype: str
) -> None:
    # A number that is an argument counted as an array of float64: of bfloat16 it made float32.
    function, *args = WITH_NUMBERS[name]
    x = numbers(0, dtype)
    expected, compiled = function(x, *args), wg.compile(function)
    for _ in range(3):
        found = compiled(x, *args)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(
            found.float().numpy(), expected.float().numpy(), rtol=2e-2, atol=2e-2
        )


def test_a_number_of_numpys_that_changes_leaves_a_tensor_the_dtype_it_had_at_the_first_call():
    # The first call multiplied as np.float64 does, and made int8 wider; a number that is
    # fetched at each call multiplied as the tensor does.
    by = np.float64(2)
    function = lambda x: by * x
    compiled = wg.compile(function)
    for by in np.linspace(2, 3, 4):  # noqa: B007
        x = wg.ones(3, dtype=wg.int8)
        assert compiled(x).dtype is function(x).dtype is wg.float32


def test_many_numbers_become_bfloat16_in_a_compiled_function() -> None:
    # Eager mode's loop over their bits was run on what is traced, and refused.
    x = wg.linspace(-3, 3, 70000)
    found = wg.compile(lambda x: x.sin().bfloat16() * 2)(x)
    assert found.dtype is wg.bfloat16
    assert wg.equal(found, x.sin().bfloat16() * 2)
