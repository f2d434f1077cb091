"""Curves through points: SciPy's `curve_fit`, given the exact Jacobian."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from wengert.arrays.kind import array_of
from wengert.compile.call.function import compile as compiled
from wengert.history.modes import no_grad
from wengert.optimize.outside import outside
from wengert.optimize.vector import Array, Function, flat_array
from wengert.transforms.forward import jacfwd
from wengert.transforms.run import called, checked


@outside("wengert.implicit.argmin of the sum of squares")
def curve_fit(
    f: Function, xdata: Any, ydata: Any, p0: Any = None, *, compile: bool = False, **options: Any
) -> Any:
    """(parameters, covariance): the p for which f(xdata, *p) is nearest to ydata.

    What is least is Σ ((f(xdata, *p) - ydata) / sigma)², by `scipy.optimize.curve_fit`, whose
    Jacobian ∂f/∂p is exact here. f is NumPy code, called with xdata and a number for each
    parameter; its result has the shape of ydata, (m,). The covariance, (k, k) for k parameters, is
    (JᵀJ)⁻¹, times the variance of the residuals unless `absolute_sigma=True`. p0 is where to begin:
    a sequence of k numbers, ones by default. The other `options` (sigma, bounds, method, ...) are
    SciPy's. With `compile`, f and the Jacobian are native code.

    Errors: ValueError for data that are not finite, and for an f whose parameters cannot be
    counted when there is no p0; RuntimeError where no minimum is found. `least_squares` takes
    parameters in containers, and data of any shape.

    >>> import numpy as np
    >>> t = np.linspace(0, 2, 20)
    >>> found, covariance = curve_fit(lambda t, a, b: a * np.exp(-b * t), t, 3 * np.exp(-1.5 * t))
    >>> found.round(6), covariance.shape
    (array([3. , 1.5]), (2, 2))
    """
    from scipy import optimize

    checked("curve_fit", f)
    start = np.ones(_count(f)) if p0 is None else np.array(array_of(p0), np.float64, ndmin=1)
    run: Function = compiled(f) if compile else f
    slope: Function = jacfwd(lambda p, x: f(x, *p))
    if compile:
        slope = compiled(slope)

    def value(x: Any, *p: float) -> Array:
        with no_grad():
            return flat_array(run(x, *p), "curve_fit", f)

    def jacobian(x: Any, *p: float) -> Array:
        with no_grad():
            return np.asarray(array_of(slope(np.array(p), x)))

    options.setdefault("jac", jacobian)
    return optimize.curve_fit(value, array_of(xdata), array_of(ydata), start, **options)


def _count(f: Function) -> int:
    """How many parameters f has, beside the points."""
    kinds = [p.kind for p in inspect.signature(f).parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL in kinds or len(kinds) < 2:
        raise ValueError(
            f"curve_fit: how many parameters {called(f)} has cannot be seen from its arguments. "
            "Say where to begin: p0=[1.0, 1.0], one number for each."
        )
    return len(kinds) - 1
