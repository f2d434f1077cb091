"""The table docs/numpy_coverage.md: what of each NumPy function works on Tensors.

`python -m tests.functions.numpy_coverage` writes it; a test fails where it is out of date. A mark
is put only for what a check has just seen: a value equal to NumPy's, a derivative equal to a
difference quotient, a batched or compiled result equal to the eager one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import wengert as wg
from tests.functions import numpy_arguments
from tests.functions.numpy_samples import SAMPLES, Sample

PAGE = Path(__file__).parents[2] / "docs" / "numpy_coverage.md"
COLUMNS = ("value", "first", "second", "forward", "batched", "compiled", "complex")
YES, NO, NONE = "yes", "no", "-"
_STEP = 1e-6

Arrays = list[np.ndarray]


# ---- calls ---------------------------------------------------------------------------------


def outputs(result: Any) -> list[Any]:
    """The floating-point results of a call."""
    many = list(result) if isinstance(result, (tuple, list)) else [result]
    return [y for y in many if np.dtype(y.dtype).kind in "fc"]


def arrays_of(result: Any) -> Arrays:
    return [np.asarray(y.detach().numpy() if isinstance(y, wg.Tensor) else y) for y in result]


def leaves(arrays: Arrays) -> list[wg.Tensor]:
    return [wg.from_numpy(x.copy()).requires_grad_() for x in arrays]


def weights_like(arrays: Arrays) -> Arrays:
    random = np.random.default_rng(5)
    return [
        random.normal(size=y.shape)
        + (1j * random.normal(size=y.shape) if y.dtype.kind == "c" else 0)
        for y in arrays
    ]


def weighted(weights: Arrays, ys: list[Any]) -> Any:
    """Re <w, y>, a number to differentiate."""
    total: Any = 0.0
    for w, y in zip(weights, ys, strict=True):
        total = total + np.sum(np.real(np.conj(w) * y))
    return total


def along(gradients: Arrays, directions: Arrays) -> float:
    return float(sum(np.real(np.vdot(g, t)) for g, t in zip(gradients, directions, strict=True)))


def same(found: Arrays, expected: Arrays, tolerance: float) -> bool:
    """Equal up to a tolerance, relative to the largest number; NaN where NaN is."""
    for x, y in zip(found, expected, strict=True):
        scale = max(1.0, float(np.max(np.abs(np.nan_to_num(y)), initial=0)))
        if x.shape != y.shape or not np.allclose(
            x, y, rtol=0, atol=tolerance * scale, equal_nan=True
        ):
            return False
    return len(found) == len(expected)


def moved(arrays: Arrays, directions: Arrays, h: float) -> Arrays:
    return [x + h * t for x, t in zip(arrays, directions, strict=True)]


# ---- checks --------------------------------------------------------------------------------


def value(call: Callable[..., Any], arrays: Arrays) -> bool:
    found = outputs(call(*leaves(arrays)))
    expected = outputs(call(*arrays))
    return (
        all(isinstance(y, wg.Tensor) for y in found)
        and [y.dtype for y in found] == [y.dtype for y in expected]
        and same(arrays_of(found), arrays_of(expected), 1e-12)
    )


def gradient(call: Callable[..., Any], arrays: Arrays, w: Arrays) -> Arrays:
    xs = leaves(arrays)
    total = weighted(w, outputs(call(*xs)))
    found = wg.autograd.grad(total, xs, allow_unused=True, materialize_grads=True)
    return arrays_of(found)


def first(call: Callable[..., Any], arrays: Arrays) -> bool:
    w = weights_like(arrays_of(outputs(call(*arrays))))
    ts = weights_like(arrays)
    quotient = [weighted(w, outputs(call(*moved(arrays, ts, h)))) for h in (_STEP, -_STEP)]
    expected = (quotient[0] - quotient[1]) / (2 * _STEP)
    found = along(gradient(call, arrays, w), ts)
    return abs(found - expected) <= 1e-6 * max(1.0, abs(expected))


def second(call: Callable[..., Any], arrays: Arrays) -> bool:
    w, ts, us = (
        weights_like(arrays_of(outputs(call(*arrays)))),
        weights_like(arrays),
        weights_like(arrays),
    )
    xs = leaves(arrays)
    # A cube, so that the gradient of a linear function depends on its argument too.
    total = weighted(w, [y * y * y for y in outputs(call(*xs))])
    slopes = wg.autograd.grad(
        total, xs, create_graph=True, allow_unused=True, materialize_grads=True
    )
    inner = weighted(us, list(slopes))
    if not (isinstance(inner, wg.Tensor) and inner.requires_grad):
        return not any(np.any(g) for g in arrays_of(slopes))  # constant: nothing to differentiate
    found = arrays_of(wg.autograd.grad(inner, xs, allow_unused=True, materialize_grads=True))

    def slope(h: float) -> float:
        at = leaves(moved(arrays, ts, h))
        total = weighted(w, [y * y * y for y in outputs(call(*at))])
        gs = wg.autograd.grad(total, at, allow_unused=True, materialize_grads=True)
        return along(us, arrays_of(gs))

    expected = (slope(_STEP) - slope(-_STEP)) / (2 * _STEP)
    return abs(along(found, ts) - expected) <= 1e-5 * max(1.0, abs(expected))


def forward(call: Callable[..., Any], arrays: Arrays) -> bool:
    ts = weights_like(arrays)

    def f(*xs: Any) -> Any:
        return tuple(outputs(call(*xs)))

    primals = tuple(wg.from_numpy(x.copy()) for x in arrays)
    tangents = tuple(wg.from_numpy(t) for t in ts)
    _, found = wg.func.jvp(f, primals, tangents)
    up, down = (arrays_of(outputs(call(*moved(arrays, ts, h)))) for h in (_STEP, -_STEP))
    quotients = [(a - b) / (2 * _STEP) for a, b in zip(up, down, strict=True)]
    return same(
        [np.nan_to_num(y) for y in arrays_of(found)], [np.nan_to_num(q) for q in quotients], 1e-6
    )


def batched(call: Callable[..., Any], arrays: Arrays) -> bool:
    """Along a batch of the call's arrays and small changes of them, one call for all."""
    rows = [[x * (1 + 1e-3 * k) for k in range(3)] for x in arrays]

    def f(*xs: Any) -> Any:
        return tuple(outputs(call(*xs)))

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the loop that vmap falls back to says so
        found = arrays_of(wg.vmap(f)(*(wg.from_numpy(np.stack(r)) for r in rows)))
    each = [arrays_of(f(*(r[k] for r in rows))) for k in range(3)]
    return same(found, [np.stack(parts) for parts in zip(*each, strict=True)], 1e-12)


def compiled(call: Callable[..., Any], arrays: Arrays) -> bool:
    def f(*xs: Any) -> Any:
        return tuple(outputs(call(*xs)))

    found = arrays_of(wg.compile(f)(*(wg.from_numpy(x.copy()) for x in arrays)))
    return same(found, arrays_of(f(*arrays)), 1e-10)


CHECKS = {
    "value": value,
    "first": first,
    "second": second,
    "forward": forward,
    "batched": batched,
    "compiled": compiled,
}


def passes(check: Callable[..., bool], call: Callable[..., Any], arrays: Arrays) -> bool:
    """Whether a check holds; what raises does not."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            return check(call, arrays)
        except Exception:
            return False


def on_complex(sample: Sample) -> str:
    """Value and first derivative of the call with complex arrays, where NumPy has one."""
    if sample.real:
        return NONE
    arrays = [x * (1 + 0.3j) for x in sample.arrays]
    try:
        with np.errstate(all="ignore"):
            kinds = [y.dtype.kind for y in outputs(sample.call(*arrays))]
    except (TypeError, ValueError, DeprecationWarning):
        return NONE
    if not kinds:
        return NONE
    done = passes(value, sample.call, arrays) and passes(first, sample.call, arrays)
    return YES if done else NO


def row(name: str) -> tuple[str, ...]:
    """The marks of one function, in the order of COLUMNS."""
    sample = SAMPLES[name]
    arrays = list(sample.arrays)
    marks = [YES if passes(check, sample.call, arrays) else NO for check in CHECKS.values()]
    return (*marks, on_complex(sample))


# ---- the page ------------------------------------------------------------------------------

_HEAD = """# NumPy's functions on Tensors

Every differentiable function of NumPy's main namespace can be called by its NumPy name on Tensors,
and gives what NumPy gives. The table is written by `python -m tests.functions.numpy_coverage`,
which runs a sample of each function; a test fails when it is out of date.

value: the result is NumPy's, dtype included. first, second: the derivatives by reverse mode agree
with difference quotients. forward: so does forward mode. batched: `wengert.vmap` runs the function
once for a whole batch, without falling back to a loop. compiled: `wengert.compile` gives the same
result. complex: value and first derivative hold for complex arrays too; "-" where NumPy has no
meaning for them, or no derivative is asked for.

"""


def page(rows: dict[str, tuple[str, ...]]) -> str:
    lines = [
        f"| function | {' | '.join(COLUMNS)} |",
        f"| --- | {' | '.join(['---'] * len(COLUMNS))} |",
        *(f"| `np.{name}` | {' | '.join(rows[name])} |" for name in sorted(rows)),
    ]
    return _HEAD + "\n".join(lines) + "\n" + numpy_arguments.text()


def listed() -> dict[str, tuple[str, ...]]:
    """The marks that the page has now."""
    found = {}
    for line in PAGE.read_text().partition("\n## ")[0].splitlines():
        if line.startswith("| `np."):
            name, *marks = (part.strip() for part in line.strip("|").split("|"))
            found[name.strip("`").removeprefix("np.")] = tuple(marks)
    return found


if __name__ == "__main__":
    PAGE.write_text(page({name: row(name) for name in SAMPLES}))
