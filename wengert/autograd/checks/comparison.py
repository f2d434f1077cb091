"""Analytical Jacobians beside numerical ones, and what is told where they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert import numeric
from wengert.autograd.checks.jacobians import (
    Differences,
    Function,
    columns,
    flat,
    inexact,
    is_complex,
    pulled,
    pushed,
    pushed_columns,
    tracked,
    tracked_places,
    units,
)
from wengert.errors import GradcheckError
from wengert.tensor import Tensor, wrap


@dataclass(frozen=True)
class Check:
    """What is compared, and how closely. `note` says which part of complex numbers is looked at."""

    func: Function
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    check_grad_dtypes: bool
    fast: bool
    masked: bool
    forward: bool = False
    note: str = ""

    @property
    def places(self) -> list[int]:
        """The positions of the inputs that require grad."""
        return tracked_places(self.inputs)

    @property
    def chosen(self) -> list[int]:
        """Which of the inexact outputs require grad."""
        return [i for i, y in enumerate(inexact(self.outputs)) if y.requires_grad]

    def differences(self, j: int) -> Differences:
        return Differences(self.func, self.inputs, self.inputs[self.places[j]], self.outputs)

    def allowed(self, numerical: Any, weight: float = 1.0) -> Any:
        return weight * self.atol + self.rtol * np.abs(numerical)


def generator() -> np.random.Generator:
    """Numbers of our own, the same each time: the user's generators stay where they are."""
    return np.random.default_rng(20220914)


# ---- Jacobians -----------------------------------------------------------------------------


def compare(check: Check) -> None:
    if not check.chosen:
        _constant(check)
    elif check.fast:
        _compare_products(check)
    else:
        _compare_matrices(check)


def _constant(check: Check) -> None:
    """Outputs that do not require grad may not depend on inputs that do."""
    for j, place in enumerate(check.places):
        message = (
            [_directional(check, j, *directions(check.inputs[place], generator()))]
            if check.fast
            else check.differences(j).jacobians(check.eps)
        )
        for slopes in message:
            if (np.abs(slopes) > (check.nondet_tol if check.fast else 0.0)).any():
                raise GradcheckError(
                    "Numerical gradient for function expected to be zero: no output requires grad, "
                    f"yet outputs change with input {place}, by up to {np.abs(slopes).max():.6g} "
                    "per unit. Its history is cut on the way (detach, item, numpy, no_grad), or a "
                    "custom function marked its output non-differentiable."
                )


def _compare_matrices(check: Check) -> None:
    count = len(check.places)
    numerical = [
        [blocks[i] for i in check.chosen]
        for blocks in (check.differences(j).jacobians(check.eps) for j in range(count))
    ]
    if check.forward:
        analytical = [_pushed_matrices(check, j) for j in range(count)]
    for i in range(len(check.chosen)):
        by_input = (
            [matrices[i] for matrices in analytical]
            if check.forward
            else _pulled_matrices(check, i, None)
        )
        for j in range(count):
            _agree(check, i, j, by_input[j], numerical[j][i])


def _agree(check: Check, i: int, j: int, a: np.ndarray, n: np.ndarray) -> None:
    if not np.allclose(a, n, check.rtol, check.atol):
        raise GradcheckError(_headline(check, i, j, a, n) + _entries(check, i, j, a, n))


def _pulled_matrices(check: Check, i: int, cotangent: np.ndarray | None) -> list[np.ndarray]:
    """The Jacobian of one output by each input, row by row or one combination of rows; computed
    twice, which must make no difference."""
    inputs = tracked(check.inputs)
    output = inexact(check.outputs)[check.chosen[i]]

    def run() -> Any:
        return pulled(output, inputs, units(output) if cotangent is None else iter([cotangent]))

    rows = run()
    for row in rows:
        for j, (g, x) in enumerate(zip(row, inputs, strict=True)):
            if g is not None and g.shape != x.shape:
                raise GradcheckError(
                    f"Analytical gradient has incorrect size: the gradient of output {i} with "
                    f"respect to input {j} has shape {list(g.shape)}, the input {list(x.shape)}"
                )
            if g is not None and check.check_grad_dtypes and g.dtype != x.dtype:
                raise GradcheckError(
                    f"Gradient has dtype mismatch: the gradient of output {i} with respect to "
                    f"input {j} has dtype {g.dtype}, the input {x.dtype}"
                )
    first, second = columns(rows, inputs), columns(run(), inputs)
    for j, (a, b) in enumerate(zip(first, second, strict=True)):
        apart = np.abs(a - b)
        if (apart > check.nondet_tol).any():
            k = np.unravel_index(np.argmax(apart), apart.shape)
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and grad_output "
                "multiple times gives different values, although analytical gradient matches "
                f"numerical gradient: for output {i} and input {j}, {a[k]} and then {b[k]}. The "
                f"tolerance for nondeterminism was {check.nondet_tol}; nondet_tol= allows for more."
            )
    return first


def _pushed_matrices(check: Check, j: int) -> list[np.ndarray]:
    matrices, runs = pushed_columns(check.func, check.inputs, check.places[j])
    for run in runs:
        _check_tangent_dtypes(check, run)
    return [matrices[i] for i in check.chosen]


def _check_tangent_dtypes(check: Check, run: Sequence[Any]) -> None:
    for i, (primal, tangent) in enumerate(run):
        if check.check_grad_dtypes and tangent is not None and is_complex(primal) != is_complex(
            tangent
        ):  # fmt: skip
            raise GradcheckError(
                f"Forward AD gradient has dtype mismatch: output {i} has dtype {primal.dtype}, its "
                f"tangent {tangent.dtype}"
            )


# ---- products with random vectors ----------------------------------------------------------


def directions(x: Tensor, numbers: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Random directions of length one in x's real and imaginary parts.

    Their entries are positive, so that errors of one sign cannot cancel.
    """
    real, imaginary = (_direction(x._array.size, numbers).reshape(x.shape) for _ in range(2))
    return real, imaginary


def _direction(n: int, numbers: np.random.Generator) -> np.ndarray:
    vector = numbers.random(n)
    return vector / (np.linalg.norm(vector) or 1)


def _directional(check: Check, j: int, real: np.ndarray, imaginary: np.ndarray) -> np.ndarray:
    return check.differences(j).slope(..., check.eps, real, imaginary)


def _compare_products(check: Check) -> None:
    """vᵀJu both ways (reverse mode), or Ju (forward mode)."""
    numbers = generator()
    inputs = [check.inputs[place] for place in check.places]
    us = [directions(x, numbers) for x in inputs]
    changes = [
        check.differences(j).split(_directional(check, j, *us[j])) for j in range(len(inputs))
    ]
    for i, k in enumerate(check.chosen):
        output = inexact(check.outputs)[k]
        if not check.forward:
            v = _direction(output._array.size, numbers)
            pulled_back = _pulled_matrices(check, i, v.reshape(output.shape).astype(output.dtype))
        for j, x in enumerate(inputs):
            real, imaginary = us[j]
            if check.forward:
                run = pushed(check.func, check.inputs, {check.places[j]: real.astype(x.dtype)})
                _check_tangent_dtypes(check, run)
                a, n, weight = flat(*run[k]), changes[j][k], real.sum()
            else:
                g = pulled_back[j][:, 0]
                a = g.real @ real.ravel()
                if is_complex(x):
                    a = a + 1j * (g.imag @ imaginary.ravel())
                n = changes[j][k] @ v
                weight = (real.sum() + imaginary.sum() * is_complex(x)) * v.sum()
            if not np.allclose(a, n, check.rtol, check.atol * weight):
                raise GradcheckError(
                    _headline(check, i, j, np.asarray(a), np.asarray(n)) + _slowly(check, i, j)
                )


def _slowly(check: Check, i: int, j: int) -> str:
    """What the whole matrices say, where products disagreed."""
    n = check.differences(j).jacobians(check.eps)[check.chosen[i]]
    a = _pushed_matrices(check, j)[i] if check.forward else _pulled_matrices(check, i, None)[j]
    told = (
        "The above are products with random vectors (fast_mode=True). The whole Jacobians:\n"
        f"numerical:{wrap(n)}\nanalytical:{wrap(a)}\n"
    )
    if np.allclose(a, n, check.rtol, check.atol):
        return told + (
            "Fast gradcheck failed but element-wise differences are small: with fast_mode=False "
            "this passes."
        )
    return told + _entries(check, i, j, a, n)


# ---- telling -------------------------------------------------------------------------------


def _headline(check: Check, i: int, j: int, a: np.ndarray, n: np.ndarray) -> str:
    mode = "computed with forward mode " if check.forward else ""
    return (
        f"{check.note}Jacobian {mode}mismatch for output {i} with respect to input {j},\n"
        f"numerical:{wrap(n)}\nanalytical:{wrap(a)}\n"
    )


def _entries(check: Check, i: int, j: int, a: np.ndarray, n: np.ndarray) -> str:
    """Which entries differ, the worst one's values, and the error curve around the step."""
    x = check.inputs[check.places[j]]
    y = inexact(check.outputs)[check.chosen[i]]
    apart, allowed = np.abs(a - n), check.allowed(n)
    # NaN is the worst of all.
    excess = np.where(np.isnan(apart), np.inf, apart - allowed)
    row, column = (int(k) for k in np.unravel_index(np.argmax(excess), excess.shape))
    of_x = tuple(int(k) for k in np.unravel_index(row, x.shape))
    of_y = tuple(int(k) for k in np.unravel_index(column, y.shape))
    differ = int((~(apart <= allowed) & ~((a == n) & np.isinf(n))).sum())
    where = f" (argument {check.places[j]})" if check.places[j] != j else ""
    return (
        f"{differ} of {a.size} entries differ by more than atol + rtol |numerical|, most of all "
        f"entry {of_y} of output {i} by entry {of_x} of input {j}{where}, where the input is "
        f"{x._array[of_x]}:\n"
        f"    numerical   {n[row, column]:.10g}\n"
        f"    analytical  {a[row, column]:.10g}\n"
        f"    difference  {apart[row, column]:.3g}, allowed {allowed[row, column]:.3g}\n"
        + _around(check, j, of_x, _offset(check, i) + column, a[row, column])
    )


def _offset(check: Check, i: int) -> int:
    """Where an output begins in the array that holds all inexact outputs."""
    return sum(y._array.size for y in inexact(check.outputs)[: check.chosen[i]])


def _around(check: Check, j: int, place: tuple[int, ...], column: int, exact: Any) -> str:
    """The error curve of one entry's difference quotient, and what it says."""
    differences = check.differences(j)

    def slope(h: float) -> Any:
        try:
            return differences.slope(place, h)[column]
        except Exception:  # larger steps may lead where the function refuses to go
            return np.nan

    steps = check.eps * 10.0 ** np.arange(3, -4, -1)
    curve = numeric.curve(slope, exact, steps, check.eps, "central")
    best, allowed = curve.best_error, float(check.allowed(curve.values[curve.best]))
    finite = curve.values[np.isfinite(curve.values)]
    near = np.abs(np.diff(finite))
    if not np.isfinite(exact):
        verdict = "The analytical value is not finite: detect_anomaly() shows where that began."
    elif best <= allowed:
        way = "large" if curve.best_step < check.eps else "small"
        verdict = (
            f"With step {curve.best_step:.1e} they agree: eps={check.eps:g} is too {way} for this "
            "function here."
        )
    elif near.size and near.min() <= 0.1 * best:
        verdict = (
            "No step brings them together, and the difference quotients agree among themselves: "
            "the analytical derivative is at fault."
        )
    else:
        verdict = (
            "No step brings them together, and the difference quotients do not agree among "
            "themselves: the function has no derivative here, or is noisy or coarse (float32)."
        )
    return f"Difference quotients of this entry, and their distance from it:\n{curve}\n{verdict}"
