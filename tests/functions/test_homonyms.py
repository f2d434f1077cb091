"""Methods of one name in NumPy and in PyTorch: an error of a call that the other takes shows both.

The names are NumPy's own list, the arguments those of the signatures of both.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.functions.numpy_arguments import CHOSEN, FURTHER, VALUES, X
from wengert.arrays.methods import METHODS

FIRST = FURTHER | {
    "take": ([0, 1],), "put": ([0, 1], 0.5), "dot": (X.T,), "fill": (0.5,), "searchsorted": (0.5,),
    "choose": ([X],), "compress": (CHOSEN[0],), "view": ("f4",), "item": (1,), "argpartition": (2,),
}  # fmt: skip
"""What NumPy's methods are called with, where they have to be given something."""
GIVEN = VALUES | {"axis": [0, (0, 1)], "dim": [0], "keepdim": [True], "unbiased": [True],
                  "descending": [True], "as_tuple": [True], "dim0": [1], "dim1": [1],
                  "start_dim": [0], "end_dim": [1], "decimals": [2], "axis1": [0], "axis2": [1],
                  "mode": ["clip"], "side": ["right"], "min": [0.1]}  # fmt: skip
NAMES = [
    name
    for name in dir(np.ndarray)
    if name[0] != "_"
    and callable(getattr(np.ndarray, name))
    and getattr(wg.Tensor, name, METHODS.get(name)) is not METHODS.get(name)  # which are NumPy's
]
"""Of what methods are to both."""

Call = tuple[str, tuple[Any, ...], dict[str, Any]]


def calls(name: str, method: Any, first: tuple[Any, ...]) -> Iterator[Call]:
    """Calls of a method, with one more argument by its name or by its place."""
    yield name, first, {}
    for argument, p in inspect.signature(method).parameters.items():
        for value in GIVEN.get(argument, []):
            yield name, first, {argument: value}
            if p.kind is p.POSITIONAL_OR_KEYWORD:
                yield name, (*first, value), {}
    if "kwargs" in inspect.signature(method).parameters and hasattr(np, name):
        for argument in ("keepdims", "initial", "where", "mean"):
            for value in GIVEN[argument] if argument in inspect.signature(
                getattr(np, name)).parameters else []:  # fmt: skip
                yield name, first, {argument: value}


def refusal(x: Any, call: Call) -> Exception | None:
    name, args, kwargs = call
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            getattr(x, name)(*args, **kwargs)
    except Exception as error:
        return error
    return None


def test_numpys_arguments_of_a_method_of_pytorchs_show_both_methods_and_what_to_write() -> None:
    # Python's own error came: got an unexpected keyword argument 'ddof'.
    seen = set()
    for name in NAMES:
        for call in calls(name, getattr(np.ndarray, name), FIRST.get(name, ())):
            if refusal(X.copy(), call) is not None:
                continue
            for x in (wg.from_numpy(X.copy()), wg.from_numpy(X.copy()).requires_grad_()):
                error = refusal(x, call)
                if error is None or isinstance(error, wg.errors.WengertError):
                    continue
                assert f"NumPy's x.{name}(" in str(error), (call, error)
                assert "of a tensor is PyTorch's" in str(error), (call, error)
                seen.add(name)
    assert seen >= {"std", "var", "repeat", "transpose", "round", "sort", "argsort", "max", "view",
                    "sum", "cumsum", "trace", "ravel", "reshape", "diagonal", "item"}  # fmt: skip


def test_pytorchs_arguments_of_a_method_of_numpys_show_both_methods_and_what_to_write() -> None:
    seen = set()
    for name in NAMES:
        method = getattr(wg.Tensor, name)
        for call in calls(name, method, ()):
            if refusal(wg.from_numpy(X.copy()), call) is not None:
                continue

            def f(x: Any, name: str = name, call: Call = call) -> Any:
                error = refusal(x * 1.0, call)
                if type(error) in (TypeError, ValueError):
                    assert f"PyTorch's x.{name}(" in str(error), (call, error)
                    assert f"wengert.Tensor.{name}(x" in str(error), (call, error)
                    seen.add(name)
                return x.sum()

            wg.grad(f)(X)
    assert seen >= {"std", "sum", "max", "cumsum", "sort", "squeeze", "flatten"}


def test_what_an_error_says_to_write_is_numpys_meaning() -> None:
    x = wg.from_numpy(X)
    with pytest.raises(TypeError, match=r"np\.std\(x, ddof=1\) on tensors"):
        x.std(ddof=1)
    with pytest.raises(TypeError, match=r"np\.var\(x, axis=0, ddof=1\) on tensors"):
        x.var(axis=0, ddof=1)  # was asked of NumPy by PyTorch's name of the axis
    with pytest.raises(RuntimeError, match=r"np\.repeat\(x, 2\) on tensors"):
        x.repeat(2)  # which PyTorch refuses for another reason
    with pytest.raises(TypeError, match=r"np\.transpose\(x, \(1, 0\)\) on tensors"):
        x.transpose((1, 0))
    with pytest.raises(TypeError, match=r"np\.reshape\(x, \(4, 3\), order='F'\) on tensors"):
        x.reshape(4, 3, order="F")
    with pytest.raises(TypeError, match=r"x\[\.\.\.\] = np\.sort\(x, kind='stable'\)"):
        x.sort(kind="stable")
    with pytest.raises(TypeError) as told:
        x.transpose(0, 1, 2)  # is no one's
    assert "NumPy's" not in str(told.value)


def test_one_element_of_an_array_is_its_item_in_code_for_arrays() -> None:
    def f(x: Any) -> Any:
        assert (x.item(1), x.item(2, 3), x.item((0, 1))) == (X.item(1), X.item(2, 3), X.item(0, 1))
        return x.sum()

    np.testing.assert_array_equal(wg.grad(f)(X), np.ones_like(X))
