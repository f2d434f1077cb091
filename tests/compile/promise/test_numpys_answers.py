"""What NumPy's functions and Python's numbers give in a compiled function is of their classes."""

# ruff: noqa: E501  (a piece of a program reads best on a line)
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.compile.stories import caught, module, noted, numbers, same

SETUP = "import math\nI = np.array([1, 2, 3]); O = I * 1.0; H = O.astype('f2'); S = O.astype('f4'); K = 1.5"
CHANGE = "I[0] = 9; O[0] = 9; H[0] = 9; S[0] = 9; K = 2.5"


def same_of(body: str) -> None:
    def story(compile: Any) -> Any:
        m = module(f"{SETUP}\ndef f(x): return {body}")
        f, seen = compile(m.f), []
        for k in range(5):
            if k == 3:
                exec(CHANGE, vars(m))  # noqa: S102
            seen.append(_classes(caught(f, numbers(1, 2, 3))))
        return seen

    def _classes(result: Any) -> Any:
        dtype = str(result.dtype) if hasattr(result, "dtype") else ""
        return [result, dtype]

    same(story, 1e-6)


INTS = (
    "v ** 70", "v << 60", "v * 10 ** 18 * 10", "(v + 2 ** 62) * 2", "-v * 2 ** 62", "2 ** (v * 20)", "1 << v * 20",
    "math.prod([v] * 70)", "sum([v * 2 ** 61] * 9)", "(v << 62) >> 60", "~(v << 62)", "divmod(v, 2)", "divmod(7, v)",
    "v * 2 ** 63 // 2 ** 62", "v / 3", "v % 5",
)  # fmt: skip


@pytest.mark.parametrize("v", ["I.tolist()[0]", "I[0].item()", "int(I[0])"])
@pytest.mark.parametrize("body", INTS)
def test_an_int_of_an_array_outside_is_pythons(body: str, v: str) -> None:
    # Where 64 bits have no room the number is guarded, but 64 bits were computed all the same.
    same_of(f"(lambda v: {body})({v})")


STRONG = (
    "np.float32(2) * H", "H * np.float64(K)", "np.int64(2) * H", "np.maximum(H, np.float64(2))", "H ** np.sqrt(K)",
    "np.where(H > 0, H, np.float32(0))", "np.float16(2) * H", "2.0 * H", "H + np.int8(1)",
)  # fmt: skip


@pytest.mark.parametrize("body", STRONG)
def test_numpys_numbers_make_half_precision_wider(body: str) -> None:
    # They counted as Python's, which have no dtype.
    same_of(body)


LISTS = (
    "wg.tensor(O.tolist())", "wg.tensor(S.tolist())", "wg.tensor([float(O[0])])", "wg.tensor(I.tolist())",
    "wg.tensor(x.tolist())", "wg.tensor([x[0].item(), 1])", "wg.tensor([[v] for v in x.tolist()])",
    "wg.tensor([True, x[0].item() > 0.5])", "wg.as_tensor(x.int().tolist())",
)  # fmt: skip


@pytest.mark.parametrize("body", LISTS)
def test_a_tensor_of_pythons_numbers_has_the_default_dtype(body: str) -> None:
    # Those of arrays outside gave float64; those that are computed were refused.
    same_of(body)


COMPOSED = (
    "np.linspace(I[0], I[1], 5)", "np.histogram_bin_edges(I)", "np.trapezoid(I)", "np.vander(S)", "np.corrcoef(S, S[::-1])",
    "np.i0(I)", "np.unwrap(I)", "np.cov(I)", "np.geomspace(I[0], I[1], 4)", "np.pad(I[0], 0)",
)  # fmt: skip


@pytest.mark.parametrize("body", COMPOSED)
def test_a_composed_function_of_numpys_has_the_dtype_and_the_class_of_numpys(body: str) -> None:
    # It was computed as tensors are: of ints in float32.
    same_of(body)


TRUTHS = ("np.array_equal(O, O)", "np.allclose(O, x.numpy())", "np.array_equiv(O, O[:1])", "np.array_equal(O, [1.0])")  # fmt: skip


@pytest.mark.parametrize("body", TRUTHS)
def test_truths_of_numpys_that_are_pythons_are(body: str) -> None:
    same_of(body)


@pytest.mark.parametrize("text", ["array_str", "array_repr", "array2string"])
def test_a_text_of_an_array_outside_is_that_of_each_call(text: str) -> None:
    # It raised KeyError, or became an array of texts.
    same_of(f"len(np.{text}(O)), np.{text}(O[:0])")


def test_a_real_array_is_its_own_conjugate() -> None:
    def story(compile: Any) -> Any:
        m = module(f"{SETUP}\ndef f(x): return O.conj(), (O > 1).conjugate()")
        f, seen = compile(m.f), []
        for _ in range(3):
            mine, truths = f(numbers(1))
            mine[0] += 1
            seen += [noted(m.O), str(truths.dtype)]
        return seen

    same(story)


AS_WIDE = {
    "covariances": lambda v: np.cov(v),
    "an integral of a polynomial": lambda v: np.polyint(v),
    "an interpolation": lambda v: np.interp(1.7, v, v / 3),
    "a polynomial of its roots": lambda v: np.poly(v),
    "a geometric series": lambda v: np.geomspace(v[0], v[1], 4),
    "roots": lambda v: np.roots(v),
}


@pytest.mark.parametrize("dtype", ["u1", "i4", "f4", "f8"])
@pytest.mark.parametrize("name", AS_WIDE)
def test_a_composition_computes_in_the_dtype_of_numpys_result(name: str, dtype: str) -> None:
    # It was computed in that of its arguments and made wider after: uint8 wrapped around, float32
    # was rounded. And complex roots became real ones, since those of zeros are.
    values = np.array([1, 2, 3], dtype)
    expected = AS_WIDE[name](values)
    f = wg.compile(lambda x: (x, AS_WIDE[name](values)))
    for _ in range(3):
        found = f(wg.ones(1))[1]
        np.testing.assert_allclose(found, expected, rtol=1e-6 if dtype == "f4" else 1e-13)
        assert found.dtype == expected.dtype


BY_NUMBERS = {
    "eigenvalues": lambda a: np.linalg.eigvals(a),
    "eigenvectors": lambda a: np.linalg.eig(a)[1],
    "a root of what may be negative": lambda a: np.emath.sqrt(a[0, 1]),
    "roots": lambda a: np.roots(np.array([1.0, 0.0, 1.5 - a[0, 1] * a[0, 1]])),
}


@pytest.mark.parametrize("name", BY_NUMBERS)
def test_what_numpy_makes_complex_by_its_numbers_is_real_where_numpys_is(name: str) -> None:
    # Eigenvalues were always complex; a root of what is negative lost its imaginary part.
    f = BY_NUMBERS[name]
    compiled = wg.compile(f)
    for corner in (1.0, -1.0, 2.0, -2.0):
        a = np.array([[0.5, corner], [1.0, 0.5]])
        try:
            found = compiled(a)
        except wg.errors.TracingError:
            assert name == "roots"  # where they lead depends on which are zeros
            continue
        expected = f(a)
        assert np.asarray(found).dtype == np.asarray(expected).dtype
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_numpys_results_of_several_parts_are_of_its_classes() -> None:
    # They were plain tuples: .eigenvalues was an AttributeError in a compiled function alone.
    for f in (np.linalg.svd, np.linalg.qr, np.linalg.eigh, np.linalg.slogdet):
        assert type(wg.compile(lambda a, f=f: f(a))(np.eye(3))) is type(f(np.eye(3)))


def test_linear_algebra_in_half_precision_is_refused_as_numpy_does() -> None:
    # It was computed in single precision.
    for f in (np.linalg.inv, np.linalg.det, np.linalg.svd, np.linalg.eigvalsh, np.linalg.cond):
        with pytest.raises(TypeError, match="float16 is unsupported in linalg"):
            wg.compile(lambda a, f=f: f(a))(np.eye(3, dtype="f2"))


LIMITS = [(0, np.float32(2)), (0, 2), (None, 2), (0.5, None), (np.int64(1), None), (0, np.int8(1))]


@pytest.mark.parametrize("dtype", ["?", "i1", "f2", "f8"])
@pytest.mark.parametrize("limits", LIMITS)
def test_clipped_numbers_have_the_dtype_of_all_three(limits: Any, dtype: str) -> None:
    # Truth values met one limit after the other, and became ints before they met a float.
    x = np.array([1, 0, 1], dtype)
    found = wg.compile(lambda x: np.clip(x, *limits))(x)
    assert found.dtype == np.clip(x, *limits).dtype


@pytest.mark.parametrize("decimals", [0, 1, -1])
def test_rounded_ints_stay_ints(decimals: int) -> None:
    # They became floats where decimals were asked for.
    x = np.array([12, 17, -25])
    found = wg.compile(lambda x: np.round(x, decimals))(x)
    assert found.dtype == x.dtype
    assert found.tolist() == np.round(x, decimals).tolist()


NO_AXIS = (
    np.sum,
    np.all,
    np.argmax,
    np.max,
    np.mean,
    np.prod,
    np.median,
    np.flip,
    np.count_nonzero,
)


@pytest.mark.parametrize("function", NO_AXIS)
def test_a_number_has_no_axis_to_numpys_functions_wherever_it_is_written(function: Any) -> None:
    # As a second argument, and not by its name, it was ignored.
    for given in ((1,), (0,)):
        for compile in (lambda f: f, wg.compile):
            try:
                compile(lambda x: function(x, *given))(np.array(2.5))  # noqa: B023
            except np.exceptions.AxisError:
                continue
            assert given == (0,)
            assert function not in (np.median, np.flip)


@pytest.mark.parametrize("axis", [1, -2])
@pytest.mark.parametrize("call", ["np.take(x, 0, axis)", "np.diff(x, axis=axis)"])
def test_an_axis_that_is_not_there_is_an_error_and_no_other_axis(call: str, axis: int) -> None:
    # It was taken modulo the dimensions.
    f = eval(f"lambda x, axis: {call}", {"np": np})  # noqa: S307
    for x in (np.ones(3), wg.ones(3)):
        for g in (f, wg.compile(f)):
            with pytest.raises(np.exceptions.AxisError):
                g(x, axis)
