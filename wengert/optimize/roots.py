"""Systems of equations, solved exactly or in the sense of least squares, by SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.arrays.kind import array_of
from wengert.compile.call.function import compile as compiled
from wengert.history.modes import no_grad
from wengert.optimize.outside import outside
from wengert.optimize.vector import (
    Array,
    Function,
    How,
    Vector,
    bounds_of,
    flat_array,
    flat_tensor,
    jacobian_of,
)
from wengert.tensor import Tensor, wrap
from wengert.transforms.run import called, checked


class _Equations:
    """f as a function of vectors: its value, and its Jacobian."""

    def __init__(
        self, name: str, f: Function, args: tuple[Any, ...], vector: Vector, compile: bool
    ) -> None:
        self.name, self.f, self.args, self.vector = name, f, args, vector
        self._value: Function | None = compiled(self.recorded) if compile else None

    def recorded(self, x: Tensor) -> Any:
        return flat_tensor(self.f(self.vector.recorded(x), *self.args))

    def value(self, x: Array) -> Array:
        with no_grad():
            if self._value is not None:
                return np.asarray(array_of(self._value(wrap(x))), np.float64)
            return flat_array(self.f(self.vector.structured(x), *self.args), self.name, self.f)

    def start(self) -> Array:
        """x0, where f is finite."""
        x = self.vector.start()
        value = self.value(x)
        if not np.isfinite(value).all():
            raise ValueError(
                f"{self.name}: {int((~np.isfinite(value)).sum())} of the {value.size} numbers that "
                f"{called(self.f)} returns at x0 are not finite. Begin where they are."
            )
        return x

    def jacobian(self, x: Array, how: How, allowed: bool, compile: bool) -> Function:
        eager = jacobian_of(self.name, self.recorded, (x,), 0, how, allowed and not compile)
        slope = compiled(eager) if compile else eager

        def matrix(x: Array) -> Any:
            with no_grad():
                return slope(x)

        return matrix


@outside("wengert.implicit.argmin of the sum of squares")
def least_squares(
    f: Function,
    x0: Any,
    args: tuple[Any, ...] = (),
    method: str = "trf",
    *,
    bounds: Any = None,
    jac: How = "auto",
    compile: bool = False,
    **options: Any,
) -> Any:
    """x that minimizes the sum of squares of f(x, *args), by `scipy.optimize.least_squares`.

    x0 is a tensor, an array, a number, or containers of them; f gets the same and returns
    residuals: a tensor or an array of any shape, or containers of them. The Jacobian is exact. It
    is a sparse matrix, computed by `wengert.sparse_jacobian` for as many products as it has
    colours, where that pays: for more than 50 unknowns, if that takes at most a quarter of the
    products and a tenth of the matrix is nonzero, and the method is "trf" or "dogbox", which take
    such matrices; `jac="dense"` or `"sparse"` decides otherwise. Its pattern is checked at each
    point, and found anew where other branches are taken.

    `bounds` has the structure of x0, with (low, high) in the place of each parameter; what may be
    left out is as for `minimize`. The other `options` (loss, x_scale, ftol, max_nfev, verbose, ...)
    are SciPy's, on the flat vector. With `compile`, residuals and (dense) Jacobian are native code.

    The result is SciPy's, its x and its gradient `grad` in the structure of x0.

    Errors: ValueError for residuals that are not finite at x0 and for sparse Jacobians where there
    are none; GradError for integers among the parameters.

    Branch, Coleman and Li, "A subspace, interior, and conjugate gradient method for large-scale
    bound-constrained minimization problems" (1999), is "trf".

    >>> import numpy as np
    >>> t = np.linspace(0, 2, 20)
    >>> data = 3 * np.exp(-1.5 * t)
    >>> def residuals(p):
    ...     return p["height"] * np.exp(-p["rate"] * t) - data
    >>> found = least_squares(residuals, {"height": 1.0, "rate": 1.0})
    >>> {name: round(value, 6) for name, value in found.x.items()}
    {'height': 3.0, 'rate': 1.5}
    """
    from scipy import optimize

    checked("least_squares", f)
    if method not in ("trf", "dogbox", "lm"):
        raise ValueError(
            f"least_squares: there is no method {method!r}. Choose 'trf', 'dogbox' or 'lm'."
        )
    takes_sparse = method != "lm" and options.get("tr_solver") != "exact"
    if jac == "sparse" and (compile or not takes_sparse):
        why = (
            "compile=True" if compile else 'method="lm"' if method == "lm" else "tr_solver='exact'"
        )
        raise ValueError(
            f"least_squares: with {why} the Jacobian is dense. Leave out jac='sparse'."
        )
    vector = Vector("least_squares", "x0", x0)
    equations = _Equations("least_squares", f, args, vector, compile)
    start = equations.start()
    slope = equations.jacobian(start, jac, takes_sparse, compile)
    limits = bounds_of(vector, bounds, pairs=False)
    if limits is not None:
        options["bounds"] = limits
    result = optimize.least_squares(equations.value, start, slope, method=method, **options)
    result.x, result.grad = vector.structured(result.x), vector.structured(result.grad)
    return result


_WITH_JACOBIAN = ("hybr", "lm")
_WITHOUT = (
    "broyden1", "broyden2", "anderson", "linearmixing", "diagbroyden", "excitingmixing", "krylov",
    "df-sane",
)  # fmt: skip


@outside("wengert.implicit.root()(f)(x0, *args)")
def root(
    f: Function,
    x0: Any,
    args: tuple[Any, ...] = (),
    method: str = "hybr",
    *,
    tol: float | None = None,
    options: dict[str, Any] | None = None,
    compile: bool = False,
) -> Any:
    """x with f(x, *args) = 0, by `scipy.optimize.root` with the exact Jacobian.

    x0 is a tensor, an array, a number, or containers of them; f gets the same and returns as many
    numbers, in whatever containers. `method` is "hybr" (Powell's hybrid method, of MINPACK) or "lm"
    (Levenberg and Marquardt's). With `compile`, f and its Jacobian are native code.

    The result is SciPy's, its x in the structure of x0. It has no history: `wengert.implicit.root`
    makes a root differentiable in the parameters of f.

    Errors: ValueError for methods that take no Jacobian, and for an f that is not finite at x0 or
    has another number of equations than of unknowns; GradError for integers among the parameters.

    More, Garbow and Hillstrom, "User guide for MINPACK-1" (1980).

    >>> import numpy as np
    >>> found = root(lambda v: (v["x"] ** 2 - v["y"], v["x"] + v["y"] - 6), {"x": 1.0, "y": 1.0})
    >>> {name: round(value, 6) for name, value in found.x.items()}
    {'x': 2.0, 'y': 4.0}
    """
    from scipy import optimize

    checked("root", f)
    if method not in _WITH_JACOBIAN:
        if method in _WITHOUT:
            raise ValueError(
                f"root: {method} takes no Jacobian, so there is nothing to supply. Call "
                "scipy.optimize.root for it, or choose 'hybr' or 'lm'."
            )
        raise ValueError(f"root: there is no method {method!r}. Choose 'hybr' or 'lm'.")
    vector = Vector("root", "x0", x0)
    equations = _Equations("root", f, args, vector, compile)
    start = equations.start()
    size = equations.value(start).size
    if method == "hybr" and size != vector.n:
        raise ValueError(
            f"root: {called(f)} returns {size} numbers for {vector.n} unknowns, and there is to "
            "be one equation for each. least_squares takes any number of them."
        )
    slope = equations.jacobian(start, "dense", False, compile)
    result = optimize.root(
        equations.value, start, method=method, jac=slope, tol=tol, options=options
    )
    result.x = vector.structured(result.x)
    return result
