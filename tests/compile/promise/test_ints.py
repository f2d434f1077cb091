"""Python's ints that change are read at each call, and are Python's: of any size, with errors."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.compile.stories import numbers
from wengert.compile.program import intervals

INTS = (2, 3, 1, 0, -1, 7, 300, -300, 2**31, 2**40, 2**63, 2**70)
X = np.array([1, 0, 3])

NUMBERS = """
-n | +n | ~n | abs(n) | bool(n) | not n | str(n) | f"{n} {n:4d}" | float(n) | int(n) | hash(n)
n + 1 | n - True | n * n | n * n * n | n**2 | n**3 | (3 * n - 1) * (n + 2) // 2 | n & 6 | n | 5 ^ n
n + 0.5 | -1.5 * n | n / 2 | 1 / n | n // 3 | 7 // n | n % 3 | n % -1.5 | -7 % n | divmod(n, 3)
2 ** min(n, 99) | 0.5**n | (-0.5)**n | 1 - 0.9 ** n | n**0.5 | abs(n)**-0.5 | 1 << n % 70 | n >> 2
n > 4 | n == 3 | 0 < n < 10 | (n > 1) + (n > 2) | ~(n > 1) | n < 2.5 | max(n, 5) | min(5, n)
1 if n > 4 else 2 | n % 2 == 0 | n and 3 | {2: 5, 3: 6}.get(n, 0) | isinstance(n, int) | n is None
slice(n) | [slice(0, n, 2)] | range(n % 9) | n % (n > 1) | (7 % (n > 1)) > 0
-5 // ((n > 1) - (n < 0)) | 7 % (n % 5 - 2)
(n & 6) - (n|5) * (5^n)
list(range(n % 5)) | [0] * (n % 4) | (n % 3) * "ab" | [5, 6, 7][n % 3] | n.bit_length() | round(n)
""".replace("\n", " | ")

ARRAYS = """
x + n | n - x | x * n | x / n | x // n | x % n | x ** abs(n) | x < n | n <= x | x == n | x & n
np.where(x, n, 1) | x.clip(0, n) | x[n % 3] | x[: n % 3] | x.sum(n % 1)
"""


def split(expressions: str) -> list[str]:
    found = [e.strip() for line in expressions.splitlines() for e in line.split(" | ")]
    return [e for e in found if e]


def seen(f: Callable[..., Any], *args: Any) -> Any:
    """The class and the text of a result, or of an error's class."""
    try:
        with np.errstate(all="ignore"):
            result = f(*args)
    except ZeroDivisionError as error:
        return type(error), str(error)
    except Exception as error:
        return type(error)
    if type(result) is float:
        return float, repr(float(f"{result:.12e}"))
    if not isinstance(result, wg.Tensor | np.ndarray):
        return type(result), repr(result)
    held = [
        float(f"{x:.4e}") if type(x) is float else x for x in np.ravel(result.tolist()).tolist()
    ]
    return type(result), str(result.dtype), result.shape, repr(held)


def read(source: str, namespace: dict[str, Any]) -> Any:
    return eval(source, {"np": np, **namespace})  # noqa: S307


@pytest.mark.crossed
@pytest.mark.parametrize("expression", split(NUMBERS))
@pytest.mark.parametrize("place", ["argument", "global"])
def test_an_int_that_changes_is_pythons(expression: str, place: str) -> None:
    # As inputs they had 64 bits: n * n * n wrapped, 2**70 was 0, n + 0.5 added the bits.
    world: dict[str, Any] = {}
    if place == "argument":
        f = compiled = read(f"lambda n: {expression}", world)
        compiled = wg.compile(f)
    else:
        f = eval(f"lambda: {expression}", world)  # noqa: S307
        compiled = wg.compile(f)
    for n in (*INTS, *INTS[:3]):
        world["n"] = n
        args = (n,) if place == "argument" else ()
        assert seen(compiled, *args) == seen(f, *args), n


# A power of an array of truth values is an int8 if the exponent is 2: of NumPy's, not of tensors.
KINDS = [*itertools.product(("int8", "float32"), ("tensor", "array")), ("bool", "tensor")]


@pytest.mark.crossed
@pytest.mark.parametrize("expression", split(ARRAYS))
@pytest.mark.parametrize(("dtype", "kind"), KINDS)
def test_an_int_that_changes_meets_arrays_as_in_eager_mode(
    expression: str, dtype: str, kind: str
) -> None:
    # With int8, n = 300 raised OverflowError, where tensors wrap around.
    x = X.astype(dtype)
    f = read(f"lambda n: {expression}", {"x": wg.tensor(x) if kind == "tensor" else x})
    compiled = wg.compile(f)
    for n in (2, 3, 0, -1, 300, 2**40):
        assert seen(compiled, n) == seen(f, n), n


@pytest.mark.parametrize("ufunc", intervals.RULES, ids=lambda ufunc: ufunc.__name__)
def test_an_interval_has_whatever_is_computed_of_ints(ufunc: Any) -> None:
    # The remainder by 0 or 1 was said to lie between 1 and 0, so that it was more than 0.
    rnd = random.Random(ufunc.__name__)
    for _ in range(300):
        size = 10 ** rnd.randint(0, 9)
        ends = [sorted(rnd.randint(-size, rnd.choice((1, size))) for _ in "ab") for _ in "ab"]
        known = [(low, high) for low, high in ends[: ufunc.nin]]
        found = intervals.RULES[ufunc](*known)
        for _ in range(8 if found else 0):
            numbers = [rnd.choice((rnd.randint(*ends), *ends)) for ends in known]
            try:
                made = ufunc(*(np.array(n, object) for n in numbers))  # as Python computes
            except (ZeroDivisionError, ValueError):
                continue
            assert type(made) is float or found[0] <= made <= found[1], (known, numbers)


def bias_corrected(compile: Any) -> tuple[list[float], Any]:
    """An optimizer by hand, whose steps are counted by the caller."""
    w, m = numbers(1, 2), numbers(0, 0)

    def step(g: Any, t: int) -> Any:
        m.mul_(0.9).add_(g, alpha=1 - 0.9)
        w.sub_(m / (1 - 0.9**t) * (0.1 if t > 5 else 0.1 * t / 5))
        return (w * w).sum()

    step = compile(step)
    return [step(numbers(0.3, t / 7), t).item() for t in range(1, 40)], step


def test_a_count_of_steps_is_no_reason_to_compile_again() -> None:
    # Each count was a signature of its own: after 16 steps the function ran eagerly.
    expected, _ = bias_corrected(lambda f: f)
    found, step = bias_corrected(wg.compile)
    assert found == pytest.approx(expected, rel=1e-5)
    assert len(step.retraces) <= 3  # it changes, and the warmup of 5 steps is over


def test_a_count_that_the_function_keeps_is_no_reason_to_compile_again() -> None:
    class Counter:
        n = 0

    def story(compile: Any) -> Any:
        counter = Counter()

        def step(x: Any) -> Any:
            counter.n += 1
            return x * 0.5**counter.n / counter.n

        step = compile(step)
        return [step(numbers(1.0)).item() for _ in range(30)], counter.n, step

    *expected, _ = story(lambda f: f)
    *found, step = story(wg.compile)
    assert found == expected
    assert len(step.retraces) <= 2


def test_a_number_of_rounds_is_known_while_tracing() -> None:
    @wg.compile
    def f(x: Any, n: int) -> Any:
        for i in range(n):
            x = x * 2 + i
        return x

    for n in (1, 2, 3, 2, 1):
        assert f(numbers(1.0), n).tolist() == f.function(numbers(1.0), n).tolist()


@pytest.mark.parametrize("expression", ["1.0 / v", "7 // v", "7 % v", "v**-1", "0.0**v", "v**v"])
def test_division_by_a_float_that_is_zero_is_an_error(expression: str) -> None:
    # A program's division gave inf, and Python raises ZeroDivisionError.
    f = read(f"lambda v: {expression}", {})
    compiled = wg.compile(f)
    for v in (2.0, 0.5, 0.0, -1.0, 3.0):
        assert seen(compiled, v) == seen(f, v), v


OF_NUMPY = """
n * n * n | n + 0.5 | n / 2 | n // 3 | -7 % n | abs(n) | n << 2 | n > 4 | list(range(n % 5))
[0] * (n % 4) | [5, 6, 7][n % 3] | isinstance(n, np.integer) | f'{n:4d}' | divmod(n, 3)
"""


@pytest.mark.parametrize("expression", [*split(OF_NUMPY), *split(ARRAYS)])
def test_an_int_of_numpys_that_changes_is_numpys(expression: str) -> None:
    # It was part of the signature: after 16 others the function ran eagerly.
    f = read(f"lambda n: {expression}", {"x": wg.tensor(X)})
    compiled = wg.compile(f)
    for n in (2, 3, 1, 0, -1, 100, 2):
        assert seen(compiled, np.int64(n)) == seen(f, np.int64(n)), n


def test_a_count_of_numpys_is_no_reason_to_compile_again() -> None:
    f = wg.compile(lambda x, n: x * 0.5**n)
    for n in range(20):
        assert f(numbers(1.0), np.int64(n)).tolist() == [0.5**n]
    assert not f.retraces


@pytest.mark.parametrize("expression", ["10.0**v", "v**2.0", "v**2", "v**v", "(v * 1e300) ** 1.5"])
def test_a_power_of_floats_that_is_too_large_is_an_error(expression: str) -> None:
    # A program's power gave inf, and Python raises OverflowError.
    f = read(f"lambda v: {expression}", {})
    compiled = wg.compile(f)
    for v in (2.0, 1e200, -400.0, float("inf"), float("-inf"), float("nan"), 400.0, 0.5):
        assert seen(compiled, v) == seen(f, v), v


def test_a_root_of_an_int_is_decided_by_its_sign_and_not_by_the_int() -> None:
    # int.__pow__ has no root, so what Python went on with was no number: the call ran eagerly.
    steps = wg.tensor([0])

    def rate(x: Any) -> Any:
        return x * (steps.item() + 1) ** 0.5, (1 + steps.item()) ** -0.5

    f = wg.compile(rate)
    for n in (3, 5, 0, 9, -4, 6):
        steps[0] = n
        x = wg.tensor(2.0)
        ours, known = f(x), rate(x)
        np.testing.assert_allclose([complex(y) for y in ours], [complex(y) for y in known])
        assert [*map(type, ours)] == [*map(type, known)]
    assert len(f.retraces) <= 1
