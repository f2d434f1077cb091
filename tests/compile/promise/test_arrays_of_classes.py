"""Arrays outside that are not traced, as of a subclass, are asked what comes of them at each call."""

# ruff: noqa: E501  (a piece of a program reads best on a line)
from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.compile.stories import alike, module, noted, numbers, same, told
from wengert.errors import TracingError

KINDS: dict[str, str] = {
    "a map of a file": "import os, tempfile\nfile, name = tempfile.mkstemp()\nos.close(file)\nO = np.memmap(name, dtype='f8', mode='w+', shape=(3,))\nos.unlink(name)\nO[:] = [1, 2, 3]",
    "a matrix": "O = np.array([1., 2., 3.]).view(np.matrix)",
    "a record array": "O = np.rec.array(np.array([1., 2., 3.]))",
    "a masked array": "O = np.ma.array([1., 2., 3.], mask=[0, 1, 0])",
    "a class of the user's": "class U(np.ndarray): pass\nO = np.array([1., 2., 3.]).view(U)",
    "a class with a ufunc": "class U(np.ndarray):\n    def __array_ufunc__(self, ufunc, method, *args, **named): return ufunc(*[np.asarray(x) for x in args]) * 2\nO = np.array([1., 2., 3.]).view(U)",
    "another byte order": "O = np.array([1., 2., 3.], dtype=np.dtype(float).newbyteorder())",
    "objects": "O = np.array([1., 2., 3.], dtype=object)",
    "texts": "O = np.array(['1', '2', '3'])",
    "periods": "O = np.array([1, 2, 3], 'm8[s]')",
}  # fmt: skip
TAKEN = (
    "O * 2", "2 * O", "O + O", "-O", "abs(O)", "O ** 2", "O @ O.T", "(O == O).all()", "O[::-1]", "O[[0]]",
    "O[0]", "O.T", "O[O == O]", "np.sort(O)", "list(O)", "[*O]", "(lambda *a: a[0])(*O)", "list(zip(O, O))",
    "tuple(map(str, O))", "sum(O.tolist())", "x * 2 + np.asarray(O).size", "x.numpy() * O", "str(O)",
)  # fmt: skip


def told_or_raised(function: Any, *args: Any) -> Any:
    """As `caught`, but for what a compiled function refuses."""
    try:
        return noted(function(*args))
    except TracingError:
        raise
    except Exception as error:
        return [type(error).__name__]


def same_if_not_refused(story: Any) -> None:
    with contextlib.suppress(TracingError):
        same(story)


@pytest.mark.parametrize("taken", TAKEN)
@pytest.mark.parametrize("name", KINDS)
def test_what_is_taken_of_such_an_array_is_that_of_each_call(name: str, taken: str) -> None:
    # Operators in C asked nobody; what was gone through was asked of a copy; and an array that is
    # new at each call was one object for ever, which its callers changed for each other.
    def story(compile: Any) -> Any:
        m = module(f"{KINDS[name]}\ndef f(x): return {taken}")
        f, seen = compile(m.f), []
        for k in range(5):
            if k == 3:
                m.O.flat[0] = m.O.flat[-1]
            seen.append(str(told_or_raised(f, numbers(1, 2, 3))))
        return seen

    same_if_not_refused(story)


def test_what_is_new_at_each_call_is_another_object() -> None:
    def story(compile: Any) -> Any:
        m = module("O = np.array(['a', 'b'])\ndef f(x): return O[[0, 1]], x * 2")
        f, seen = compile(m.f), []
        for _ in range(4):
            got, _ = f(numbers(1))
            seen.append(str(got))
            got[0] = "z"
        return seen

    same(story)


@pytest.mark.parametrize("made", ["wg.from_numpy(O)", "wg.as_tensor(O)", "wg.from_numpy(O[1:])"])
def test_a_tensor_in_the_memory_of_a_map_of_a_file_lies_there(made: str) -> None:
    # It was a copy, and what was written there was lost.
    def story(compile: Any) -> Any:
        m = module(
            f"{KINDS['a map of a file']}\ndef f(x):\n    y = {made}\n    y += 1\n    return y"
        )
        f, seen = compile(m.f), []
        for _ in range(4):
            y = f(numbers(1))
            seen += [noted(y), m.O.tolist()]
            y[0] = 7
            seen.append(m.O.tolist())
        return seen

    same(story)


def test_a_class_says_what_comes_of_an_array_and_a_computed_one_or_it_is_refused() -> None:
    # A matrix that met a traced array was one of NumPy's own: the product went element by element.
    def story(compile: Any) -> Any:
        m = module("O = np.array([[1., 2., 3.]]).view(np.matrix)\ndef f(x): return O * x.numpy()")
        return [told_or_raised(compile(m.f), wg.ones(3, 1)) for _ in range(3)]

    same_if_not_refused(story)


def test_arrays_of_wider_numbers_than_tensors_have_are_asked() -> None:
    def story(compile: Any) -> Any:
        m = module("O = np.array([1, 2], np.longdouble)\ndef f(x): return x * float(O.sum())")
        f = compile(m.f)
        first = [noted(f(numbers(1))) for _ in range(3)]
        m.O[0] = 5
        return [*first, noted(f(numbers(1)))]

    alike(told(story, wg.compile), told(story, lambda f: f), 1e-6, "")


@pytest.mark.parametrize("taken", [t for t in TAKEN if t not in ("O[::-1]", "O.T")])
@pytest.mark.parametrize("name", KINDS)
def test_an_argument_of_a_class_has_the_operators_of_that(name: str, taken: str) -> None:
    # It was read as one of NumPy's own: a matrix was multiplied element by element.
    def story(compile: Any) -> Any:
        m = module(f"{KINDS[name]}\ndef f(x, O): return {taken}")
        f = compile(m.f)
        return [str(told_or_raised(f, numbers(1, 2, 3), m.O)) for _ in range(3)]

    same_if_not_refused(story)


def test_an_argument_of_another_byte_order_makes_tensors_of_the_machines() -> None:
    # A tensor of such an argument was of that byte order.
    swapped = np.array([1.0, 2.0], np.dtype(float).newbyteorder())
    made = wg.compile(lambda x: wg.as_tensor(x))(swapped)
    assert made.dtype is wg.float64
    assert made.tolist() == [1, 2]
