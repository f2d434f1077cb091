"""Divisions by zero and overflows where NumPy is to raise them, or to tell a function of them.

Machine code makes the infinity and looks at nothing: compiled functions once gave it in silence.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.compile.stories import alike, module, noted, numbers, same, told
from wengert.errors import TracingError


@pytest.fixture(autouse=True)
def settings() -> Iterator[None]:
    """NumPy's settings, as they are after a test what they were before."""
    before, call = np.geterr(), np.geterrcall()
    with np.errstate(all="ignore"):
        yield
    np.seterr(**before)
    np.seterrcall(call)


def story_of(body: str, change: str, inside: str) -> Any:
    def story(compile: Any) -> Any:
        m = module(f"told = []\ndef f(x):\n    {body}")
        f, seen = compile(m.f), []
        for around in ("np.errstate()", "np.errstate()", "np.errstate()", change, inside, change):
            with eval(around, vars(m)):  # noqa: S307
                try:
                    seen.append(noted(f(numbers(1, 2))))
                except FloatingPointError as error:
                    seen.append(str(error))
                seen.append(len(m.told))
        return seen

    return story


RAISED = {
    "a division by zero": ("return 1 / (x - 1)", 'np.errstate(divide="raise")'),
    "an overflow": ("return wg.exp(x * 1000)", 'np.errstate(over="raise")'),
    "what is no number": ("return wg.log(x - 2)", 'np.errstate(all="raise")'),
    "a function that is told": (
        "return 1 / (x - 1)",
        'np.errstate(divide="call", call=lambda *what: told.append(what))',
    ),
}


@pytest.mark.parametrize("case", RAISED)
def test_errors_of_arithmetic_are_raised_where_numpy_is_to_raise_them(case: str) -> None:
    story = story_of(*RAISED[case], 'np.errstate(all="ignore")')
    alike(told(story, wg.compile), told(story, lambda f: f), 1e-5, case)


def test_large_formulas_raise_in_eager_mode_too() -> None:
    # From 8,192 numbers on they are machine code, which gave infinities whatever NumPy was to do.
    x = np.zeros(40_000)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        wg.log(wg.tensor(x))


def test_settings_in_a_function_that_have_errors_raised_are_refused_with_the_line() -> None:
    @wg.compile
    def f(x: Any) -> Any:
        with np.errstate(divide="raise"):
            return 1 / x

    with pytest.raises(TracingError, match=r"(?s)test_arithmetic.py.*with np.errstate.*isfinite"):
        f(numbers(0, 1))
    assert np.geterr()["divide"] == "ignore"  # the manager was left again


def test_settings_that_pass_errors_by_make_no_program_anew() -> None:
    f = wg.compile(lambda x: 1 / x)
    for _ in range(3):
        for setting in ("ignore", "warn"):
            with np.errstate(all=setting):
                f(numbers(1, 2))
    assert not f.retraces


POLES = ["1 / x", "x ** -1.0", "x**1.0 / x", "(1 / x) * 0 + x"]
DERIVED = [
    "wg.grad(g)",
    "wg.value_and_grad(g)",
    "lambda a: wg.jvp(g, (a,), (1.0,))",
    "lambda a: wg.vjp(g, a)[1](1.0)",
    "wg.hessian(g)",
]


@pytest.mark.parametrize("derived", DERIVED)
@pytest.mark.parametrize("formula", POLES)
def test_a_number_to_differentiate_by_is_an_array(formula: str, derived: str) -> None:
    # What stood for it was Python's number still, which raised ZeroDivisionError.
    def story(compile: Any) -> list[Any]:
        m = module(f"g = lambda x: {formula}\nf = {derived}")
        f = compile(m.f)
        return [noted(f(a)) for a in (1.0, 0.0, 2.0)]

    same(story)


OPERATIONS = {f"i{f.__name__}": f for f in (
    operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv,
    operator.imod, operator.ipow,
)}  # fmt: skip
RIGHT = {
    "a float": 2.5, "an int": 2, "floats": np.ones(3), "wider ints": np.ones((2, 3), np.int64),
    "more rows": np.ones((4, 2, 3), np.uint8), "too few": np.ones((3, 3), np.uint8),
}  # fmt: skip


@pytest.mark.parametrize(
    "dtype", [np.uint8, np.int64, np.float32, np.bool_], ids=lambda d: d.__name__
)
@pytest.mark.parametrize("right", RIGHT)
@pytest.mark.parametrize("name", OPERATIONS)
def test_an_array_takes_in_place_what_numpy_lets_it_take(name, right, dtype):
    # Floats were cast to the array's ints in silence, and other shapes ended the compiler.
    def changes(x):
        y = x.T
        return OPERATIONS[name](y, RIGHT[right]) * 1

    def told(f):
        x = np.ones((3, 2), dtype)
        try:
            return f(x).tolist(), x.tolist()
        except (TypeError, ValueError) as error:
            return type(error), str(error), x.tolist()

    compiled = wg.compile(changes)
    with warnings.catch_warnings(action="ignore"):
        for _ in range(2):
            assert told(compiled) == told(changes)


def test_a_cast_that_is_asked_for_is_made_in_place():
    def halved(x):
        np.divide(x, 2, out=x, casting="unsafe")
        return x

    with warnings.catch_warnings(action="ignore"):
        assert wg.compile(halved)(np.array([3, 4])).tolist() == [1, 2]


@pytest.mark.parametrize("named", [{"where": np.array([True, False])}, {"initial": 2.0}], ids=str)
def test_what_a_sum_begins_with_is_refused_with_its_line(named):
    with pytest.raises(TracingError, match=r"np.sum with where= or initial= .*, at\n.*line"):
        wg.compile(lambda x: np.sum(x, **named))(np.ones(2))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_difference_of_what_is_equal_is_zero(dtype):
    # One rounding of both would leave what the other product had lost: the root of it was NaN.
    x = np.random.default_rng(2).normal(size=1000).astype(dtype)
    for n in (1000, 7, 1):
        assert not wg.compile(lambda x, y: x * x - y)(x[:n], x[:n] * x[:n]).any()
        assert not wg.compile(lambda x, y: y - x * x)(x[:n], x[:n] * x[:n]).any()
    a, b = np.random.default_rng(0).normal(size=(2, 1000)).astype(dtype)
    c, d = b.copy(), a.copy()

    @wg.compile
    def area(a, b, c, d):
        return np.sqrt(a * b - c * d)

    for n in (1000, 7, 1):
        assert np.array_equal(area(a[:n], b[:n], c[:n], d[:n]), np.zeros(n, dtype))
    crossed = wg.compile(lambda u, v: np.cross(u, v))
    u = np.random.default_rng(1).normal(size=(100, 3)).astype(dtype)
    assert not crossed(u, 2 * u).any()


def test_arrays_that_agree_in_their_nans_are_equal_if_nan_is_to_equal_nan():
    # A trace had a meaning of np.array_equal of its own, which left out equal_nan.
    def f(a: Any, b: Any) -> Any:
        return np.where(np.array_equal(a, b, equal_nan=True), 1.0, 0.0)

    a = np.array([1.0, np.nan])
    for b in (a.copy(), np.array([1.0, 2.0]), np.array([np.nan, 1.0]), np.ones(3)):
        assert wg.compile(f)(a, b) == f(a, b)
