"""Which arguments of NumPy's functions and methods work on tensors: the lower tables of the page.

The arguments are those of NumPy's own signatures. A call with one more argument counts as taken if
its value is NumPy's and its derivative along a direction is the difference quotient; a call that
NumPy itself refuses is left out.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg
from tests.functions.numpy_samples import SAMPLES
from wengert.arrays.methods import METHODS

X = np.random.default_rng(7).uniform(0.2, 1.4, size=(3, 4))
DIRECTION = np.random.default_rng(8).normal(size=(3, 4))
CHOSEN = np.array([[True, False, True, True], [True, True, False, True], [False, True, True, True]])

VALUES: dict[str, list[Any]] = {
    "axis": [0, -1, (0, 1), None], "keepdims": [True], "dtype": [np.float64], "ddof": [1],
    "initial": [0.7], "where": [CHOSEN], "correction": [1], "order": ["C", "F"],
    "mean": [np.full((1, 1), 0.8)], "casting": ["unsafe"], "subok": [True, False], "copy": [True],
    "kind": ["stable"], "stable": [True], "include_initial": [True], "returned": [True],
    "weights": [X + 1], "deg": [True], "sparse": [True], "endpoint": [False],
    "period": [0.9], "prepend": [0.3], "append": [0.3], "n": [2],
    "method": ["lower", "higher", "midpoint", "nearest", "linear"],
    "norm": ["ortho"], "offset": [1], "k": [1], "UPLO": ["U"], "full_matrices": [False],
}  # fmt: skip
"""What each argument is tried with, by its name."""

FURTHER = {
    "take": (1,), "repeat": (2,), "delete": (1,), "insert": (1, 0.5), "reshape": ((4, 3),),
    "partition": (2,), "percentile": (30,), "nanpercentile": (30,), "quantile": (0.3,),
    "nanquantile": (0.3,), "roll": (1,), "tile": (2,), "resize": ((2, 3),), "astype": (float,),
    "swapaxes": (0, 1), "moveaxis": (0, 1), "compress": (CHOSEN[:, 0],), "clip": (0.3, 1.1),
}  # fmt: skip
"""What a function is called with after the array."""

METHOD_CALLS: dict[str, list[Callable[[Any], Any]]] = {
    "compress": [lambda x: x.compress(CHOSEN[0], axis=1)],
    "choose": [lambda x: x * (x > 2).astype(int).choose([1.0, 2.0])],
    "fill": [lambda x: _filled(x)],
    "sort": [lambda x: _sorted(x)],
    "partition": [lambda x: _partitioned(x)],
    "transpose": [lambda x: x.transpose(), lambda x: x.transpose(1, 0)],
    "reshape": [lambda x: x.reshape(4, 3), lambda x: x.reshape((2, -1), order="F")],
    "dot": [lambda x: x.dot(x.T)],
    "searchsorted": [lambda x: x * x.ravel().searchsorted(0.5)],
    "put": [lambda x: _put(x)],
    "size": [lambda x: x / x.size],
    "strides": [lambda x: x * x.strides[0]],
    "nonzero": [lambda x: x[x.nonzero()]],
    "argpartition": [lambda x: x.ravel()[x.argpartition(1, axis=None)[:1]]],
    "flat": [lambda x: x.flat[2] * x],
    "itemsize": [lambda x: x * x.itemsize],
    "nbytes": [lambda x: x * x.nbytes],
    "device": [lambda x: x * len(x.device)],
    "flags": [lambda x: x * x.flags.aligned],
    "view": [lambda x: x.view(), lambda x: x.view(float), lambda x: np.real(x.view(complex))],
}
"""Calls of the methods that are no functions of the array alone."""


def _filled(x: Any) -> Any:
    y = x.copy()
    y[0].fill(2.0)
    return y


def _sorted(x: Any) -> Any:
    y = x.copy()
    y.sort(axis=0)
    return y


def _partitioned(x: Any) -> Any:
    y = x.copy()
    y.partition(1)
    return y.min(0)


def _put(x: Any) -> Any:
    y = x.copy()
    y.put([0, 5], [1.0, 2.0])
    return y


def _leading(result: Any) -> Any:
    while isinstance(result, (tuple, list)):
        result = result[0]
    return result


def holds(call: Callable[[Any], Any]) -> bool:
    """Whether a call has NumPy's value, and its derivative is the difference quotient."""

    def f(x: Any) -> Any:
        return _leading(call(x))

    try:
        y, t = wg.jvp(lambda x: f(x) + 0 * x.sum(), (X,), (DIRECTION,))
        _, pull = wg.func.vjp(lambda x: f(x) + 0 * x.sum(), X)
        (g,) = pull(np.ones_like(y))
    except Exception:
        return False
    h = 1e-6
    expected = np.sum(f(X + h * DIRECTION) - f(X - h * DIRECTION)) / (2 * h)
    scale = max(1.0, abs(float(expected)))
    return (
        np.shape(y) == np.shape(f(X))
        and np.allclose(y, f(X), rtol=1e-10, atol=1e-12)
        and abs(np.sum(t) - expected) < 1e-5 * scale
        and abs(np.sum(g * DIRECTION) - expected) < 1e-5 * scale
    )


def arguments_of(function: Any, name: str) -> tuple[list[str], list[str]]:
    """The arguments of a function that are taken on tensors, and those that are refused."""
    try:
        names = inspect.signature(function).parameters
    except ValueError:
        return [], []
    first = (X + 0.1,) * (function.nin - 1) if isinstance(function, np.ufunc) else ()
    further = FURTHER.get(name, first)
    taken, refused = [], []
    for argument in names:
        for value in VALUES.get(argument, []):
            given = {argument: value}
            if argument == "where" and "initial" in names:
                given["initial"] = 0.3
            if argument == "where" and isinstance(function, np.ufunc):
                continue  # elements that are left out would be undefined

            def call(x: Any, given: dict[str, Any] = given) -> Any:
                return function(x, *further, **given)

            try:
                kind = np.asarray(_leading(call(X))).dtype.kind
            except Exception:
                continue
            if kind == "f":
                (taken if holds(call) else refused).append(argument)
    return [n for n in dict.fromkeys(taken) if n not in refused], [*dict.fromkeys(refused)]


def functions() -> dict[str, tuple[list[str], list[str]]]:
    """The arguments of the functions that the page lists, for those that have some."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = {
            name: arguments_of(getattr(np, name), name)
            for name in sorted(SAMPLES)
            if not isinstance(getattr(np, name), np.ufunc) or name in ("exp", "add")
        }
    return {name: both for name, both in found.items() if any(both)}


def methods() -> dict[str, bool]:
    """The methods that NumPy's arrays have, and whether calls of them work."""
    found = {}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for name in sorted({*METHODS, "strides", "flags", "view", "real", "imag"}):
            if not hasattr(X, name):
                continue
            calls = METHOD_CALLS.get(name, [])
            if not calls:
                calls = [lambda x, name=name: _member(x, name)]
                for argument in ("axis", "keepdims", "ddof", "initial"):
                    calls += [
                        lambda x, name=name, given={argument: value}: _member(x, name, **given)
                        for value in VALUES[argument]
                        if _possible(name, {argument: value})
                    ]
            found[name] = all(map(holds, calls))
    return found


def _possible(name: str, given: dict[str, Any]) -> bool:
    try:
        _member(X, name, **given)
    except Exception:
        return False
    return True


def _member(x: Any, name: str, **given: Any) -> Any:
    member = getattr(x, name)
    result = member(*FURTHER.get(name, ()), **given) if callable(member) else member
    kind = np.dtype(getattr(result, "dtype", np.float64)).kind
    return result if kind == "f" else x * np.sum(result)


HEAD = """
## Arguments

The functions take NumPy's arguments as NumPy's signatures name and order them, by position too.
This table has those that were tried, one at a time: for each, the value is NumPy's and the
derivatives are right. All ufuncs take what `np.exp` and `np.add` do, and `where=` together with
`out=`. An argument that says how elements lie in memory is refused where tensors lie otherwise.

| function | taken | refused |
| --- | --- | --- |
"""
METHODS_HEAD = """
## Methods

In a function that a transform calls with NumPy's arrays, methods are NumPy's
([transforms](transforms.md)). Each was called with each of its arguments: value and derivatives
agree with NumPy's.

| method | agrees |
| --- | --- |
"""


def text() -> str:
    rows = [
        f"| `np.{name}` | {', '.join(taken) or '-'} | {', '.join(refused) or '-'} |\n"
        for name, (taken, refused) in functions().items()
    ]
    lines = [f"| `x.{name}` | {'yes' if good else 'no'} |\n" for name, good in methods().items()]
    return HEAD + "".join(rows) + METHODS_HEAD + "".join(lines)
