"""Every public function of SciPy's, called with tensors: its value, its gradient, or an error.

The functions are SciPy's own lists, and so are how many arguments they need; what they are given is
tried from a few values for each module. A function may have no derivative, but it has to say so:
where it gives a result, the value is SciPy's, and the gradient is that of differences.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import scipy.stats

import wengert as wg
import wengert.scipy

_random = np.random.default_rng(18)
V = np.sort(_random.uniform(0.2, 0.9, 8))
A = _random.uniform(0.1, 0.5, (4, 4))
POSITIVE = A @ A.T + np.eye(4)
IMAGE = _random.normal(size=(6, 5))
KERNEL = _random.normal(size=(3, 3))

VALUES: dict[str, list[Any]] = {
    "linalg": [POSITIVE, V[:4], 2],
    "signal": [V, 0.4, 3, IMAGE, np.array([[0.1, 0.2, 0.1, 1.1, -0.3, 0.1]])],
    "special": [0.7, 2, V, 3],
    "stats": [V, 0.4, A, 3],
    "integrate": [V, lambda x: np.exp(-x * x), 0.3, 1.7, 4],
    "interpolate": [V, 0.5, 3, A],
    "ndimage": [IMAGE, KERNEL, V[:3], 2],
    "spatial.distance": [V, A, A[:3]],
    "fft": [V, A, 3],
    "sparse": [A, V, 3],
}
"""What the functions of a module are tried with."""
OTHERWISE = {
    "linalg.cho_factor": "the other triangle holds whatever was there",
    "linalg.eigh": "the signs of vectors are LAPACK's choice",
    "stats.multiscale_graphcorr": "a thousand permutations",
}
"""Functions that are left out, and why."""
CALLS = 4
"""So many calls of a function are looked at, as SciPy takes them."""


def _functions() -> Iterator[str]:
    for module in VALUES:
        scipys = importlib.import_module(f"scipy.{module}")
        for name in sorted(getattr(scipys, "__all__", dir(scipys))):
            found = getattr(scipys, name)
            called = inspect.isroutine(found) or isinstance(found, np.ufunc)
            if called and not name.startswith("_") and f"{module}.{name}" not in OTHERWISE:
                yield f"{module}.{name}"


FUNCTIONS = [*_functions()]
SAMPLE = 12
"""One of so many functions is called unless all tests are asked for."""


def _found(package: ModuleType, path: str) -> Any:
    importlib.import_module(f"{package.__name__}.{path.split('.')[0]}")
    for name in path.split("."):
        package = getattr(package, name)
    return package


def _is_real(x: Any) -> bool:
    return isinstance(x, (float, np.ndarray)) and np.asarray(x).dtype.kind == "f"


def _calls(path: str) -> Iterator[tuple[Any, ...]]:
    """Arguments that SciPy takes, with a number of them for what has to be given."""
    function = _found(scipy, path)
    values = VALUES[path.rpartition(".")[0]]
    if isinstance(function, np.ufunc):
        counts = [function.nin]
    else:
        try:
            parameters = inspect.signature(function).parameters.values()
        except ValueError:  # functions in C say nothing of theirs
            counts = [1, 2, 3]
        else:
            needed = [p for p in parameters if p.default is p.empty]
            counts = [sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in needed)]
            counts[0] += any(p.kind is p.VAR_POSITIONAL for p in parameters)
    random, found = np.random.default_rng(len(path)), 0
    for count in counts:
        choices = list(itertools.product(values, repeat=min(count, 5)))
        for k in random.permutation(len(choices))[:60]:
            args = tuple(
                x * (1 + 0.03 * random.uniform(size=x.shape)) if _is_real(x) and np.ndim(x) else x
                for x in choices[k]  # an array that comes twice would be full of ties
            )
            if not any(map(_is_real, args)):
                continue
            try:
                numbers = _numbers(function(*args))
            except Exception:  # which is SciPy's business
                continue
            if numbers.size and np.isfinite(numbers).all():
                yield args
                found += 1
                if found == CALLS:
                    return


def _arrays(result: Any) -> Iterator[Any]:
    """The arrays and numbers of a result that are real or complex, in containers and objects."""
    if isinstance(result, (tuple, list)):
        for part in result:
            yield from _arrays(part)
    elif isinstance(result, (wg.Tensor, np.ndarray, np.generic, float, complex)):
        if np.dtype(getattr(result, "dtype", type(result))).kind in "fc":
            yield result
    elif not callable(result):
        yield from _arrays([v for n, v in sorted(vars(result).items()) if n[0] != "_"]
                           if hasattr(result, "__dict__") else [])  # fmt: skip


def _numbers(result: Any) -> Any:
    """The numbers of a result in one vector; of complex ones both parts."""
    parts = [np.zeros(0)]
    for x in _arrays(result):
        x = np.ravel(np.asarray(x.detach() if isinstance(x, wg.Tensor) else x))
        parts += [x.real, x.imag] if x.dtype.kind == "c" else [x]
    return np.concatenate(parts).astype(float)


def _total(result: Any, weights: Any) -> Any:
    """The weighted sum of the numbers of a result, as far as it has a derivative."""
    total: Any = wg.zeros((), dtype=wg.float64)
    for x in _arrays(result):
        shares = [np.real, np.imag] if np.dtype(getattr(x, "dtype", type(x))).kind == "c" else [abs]
        for share in shares:
            n = int(np.prod(np.shape(x)))
            if isinstance(x, wg.Tensor) and x.requires_grad:
                part = x if share is abs else share(x)
                total = total + np.sum(np.reshape(part, (-1,)) * weights[:n])
            weights = weights[n:]
    return total


def check(path: str, args: tuple[Any, ...]) -> str:
    """What became of a call with tensors; AssertionError if something is wrong without an error."""
    theirs, ours = (_found(package, path) for package in (scipy, wengert.scipy))
    where = [i for i, x in enumerate(args) if _is_real(x)]
    expected = _numbers(theirs(*args))
    if not np.array_equal(expected, _numbers(theirs(*args)), equal_nan=True):
        return "random"
    given = list(args)
    for i in where:
        given[i] = wg.tensor(np.asarray(args[i]), dtype=wg.float64, requires_grad=True)
    try:
        result = ours(*given)
    except Exception as error:
        if isinstance(error, wg.errors.MissingRuleError) or path.rpartition(".")[2] in str(error):
            return "refused"
        raise AssertionError("an error that does not say what was called") from error
    np.testing.assert_allclose(_numbers(result), expected, rtol=1e-6, atol=1e-8)
    random = np.random.default_rng(len(args))
    ts = {i: np.asarray(random.normal(size=np.shape(args[i])))[()] for i in where}
    weights = np.cos(np.arange(expected.size) + 1)

    def moved(h: float) -> float:
        numbers = _numbers(theirs(*(x + h * ts[i] if i in ts else x for i, x in enumerate(args))))
        return float(weights @ numbers) if numbers.size == weights.size else np.nan

    rough, fine = ((moved(h) - moved(-h)) / (2 * h) for h in (1e-5, 3e-6))
    if not abs(rough - fine) <= 1e-4 * max(1.0, abs(fine)):
        return "not smooth"
    total, slope = _total(result, weights), 0.0
    if total.requires_grad:
        gradients = wg.autograd.grad(total, [given[i] for i in where], allow_unused=True)
        slope = sum(
            float(np.sum(g.numpy() * ts[i]))
            for i, g in zip(where, gradients, strict=True)
            if g is not None
        )
    if np.isnan(slope):
        return "undefined"  # of samples of one number, say; which is told
    assert slope == pytest.approx(fine, rel=2e-4, abs=2e-4)
    return "differentiated"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=() if k % SAMPLE == 0 else pytest.mark.sweep)
        for k, path in enumerate(FUNCTIONS)
    ],
)
def test_a_function_of_scipys_has_its_value_and_gradient_on_tensors_or_refuses_them(
    path: str,
) -> None:
    with np.errstate(all="ignore"):
        for args in _calls(path):
            check(path, args)


def test_enough_of_scipys_functions_are_called() -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        sample = [path for path in FUNCTIONS if not path.startswith("special.")][::SAMPLE]
        called = sum(any(True for _ in _calls(path)) for path in sample)
    assert called > 0.5 * len(sample)
    assert len(FUNCTIONS) > 900
