"""Minima: `scipy.optimize.minimize` with gradients and products with the Hessian."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.compile.call.function import compile as compiled
from wengert.history.modes import no_grad
from wengert.optimize.outside import outside
from wengert.optimize.vector import Array, Function, Vector, bounds_of, flat_array, flat_tensor
from wengert.tensor import Tensor
from wengert.transforms.reverse import value_and_gradient_of
from wengert.transforms.run import called, checked
from wengert.transforms.second import hessian, hvp, jacobian
from wengert.tree import paths, rebuild

# What each method takes: gradients all of them; the Hessian as products or as a matrix.
_GRADIENT = ("CG", "BFGS", "L-BFGS-B", "TNC", "SLSQP")
_PRODUCTS = ("Newton-CG", "trust-ncg", "trust-krylov", "trust-constr")
_MATRIX = ("dogleg", "trust-exact")
_METHODS = {name.lower(): name for name in (*_GRADIENT, *_PRODUCTS, *_MATRIX)}
_WITHOUT = ("nelder-mead", "powell", "cobyla", "cobyqa")
_BOUNDED = ("L-BFGS-B", "TNC", "SLSQP", "trust-constr")
_CONSTRAINED = ("SLSQP", "trust-constr")


@outside("wengert.implicit.argmin()(f)(x0, *args)")
def minimize(
    f: Function,
    x0: Any,
    args: tuple[Any, ...] = (),
    method: str | Callable[..., Any] | None = None,
    *,
    bounds: Any = None,
    constraints: Any = (),
    tol: float | None = None,
    callback: Callable[..., Any] | None = None,
    options: dict[str, Any] | None = None,
    compile: bool = False,
) -> Any:
    """The minimum of f(x, *args) near x0, by a method of `scipy.optimize.minimize`.

    x0 is a tensor, a NumPy array, a number, or lists, tuples, dicts, named tuples and dataclasses
    of them; f gets the same with tensors inside, and returns one real number. f may be NumPy code.
    The gradient comes from the same run as the value; products with the Hessian are forward over
    reverse mode.

    `method`: "CG", "BFGS" (the default), "L-BFGS-B" (with bounds), "TNC", "SLSQP" (with
    constraints); with Hessian products "Newton-CG", "trust-ncg", "trust-krylov", "trust-constr";
    with the whole Hessian "dogleg", "trust-exact"; or a function, as SciPy has it. `tol` and
    `options` are SciPy's.

    `bounds` has the structure of x0, with (low, high) in the place of each parameter: numbers,
    arrays, or None for a side without a bound; parameters may be left out of dicts. For a vector,
    SciPy's list of a pair for each element is taken too, and `scipy.optimize.Bounds` of the flat
    vector always. `constraints` are SciPy's dicts or `NonlinearConstraint`s whose functions take
    what f takes first, and get their derivatives here, or `LinearConstraint`s on the flat vector.
    `callback(x)` or `callback(intermediate_result)` is called after each iteration, with x in its
    structure; StopIteration ends the search.

    With `compile`, the value and the gradient (and the Hessian product) are one native function.

    The result is SciPy's `OptimizeResult`; its x and its jac, the gradient, have the structure, the
    kinds and the dtypes of x0. In single precision the gradient is exact to seven digits: use
    double, or `options={"gtol": 1e-4}`. The result has no history: `wengert.implicit.argmin` makes
    a minimum differentiable in the parameters of f.

    Errors: ValueError for methods without derivatives, for bounds or constraints that a method does
    not take, and for an f that is not finite at x0; GradError for integers among the parameters and
    for an f that does not return one number.

    Nocedal and Wright, "Numerical Optimization", 2nd ed. (2006).

    >>> import numpy as np
    >>> def rosenbrock(x):
    ...     return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    >>> found = minimize(rosenbrock, np.zeros(5), method="trust-ncg")
    >>> found.x.round(4), found.success
    (array([1., 1., 1., 1., 1.]), True)
    >>> minimize(lambda p: (p["a"] - p["b"]) ** 2 + p["a"] ** 2, {"a": 1.0, "b": 3.0},
    ...          bounds={"b": (2.0, None)}).x
    {'a': 1.0, 'b': 2.0}
    """
    from scipy import optimize

    checked("minimize", f)
    name = _method(method, bounds, constraints)
    vector = Vector("minimize", "x0", x0)
    objective = _Objective(f, args, vector, compile)
    start = vector.start()
    objective.check(start)
    given: dict[str, Any] = {}
    if name in _PRODUCTS or callable(name):
        given["hessp"] = objective.product
    elif name in _MATRIX:
        given["hess"] = objective.hessian
    with no_grad():
        result = optimize.minimize(
            objective.value, start, method=name, jac=objective.gradient, tol=tol,
            bounds=bounds_of(vector, bounds, pairs=True),
            constraints=_constraints(vector, constraints, name),
            callback=_callback(vector, callback, name), options=options, **given,
        )  # fmt: skip
    return _structured(vector, result)


def _method(method: Any, bounds: Any, constraints: Any) -> Any:
    if method is None:
        return "SLSQP" if np.size(constraints) else "BFGS" if bounds is None else "L-BFGS-B"
    if callable(method):
        return method
    known = ", ".join(_METHODS.values())
    name = _METHODS.get(str(method).lower())
    if str(method).lower() in _WITHOUT:
        raise ValueError(
            f"minimize: {method} takes no gradient, so there is nothing to supply. Call "
            f"scipy.optimize.minimize for it, or choose one of {known}."
        )
    if name is None:
        raise ValueError(f"minimize: there is no method {method!r}. Choose one of {known}.")
    for what, wanted, able in (
        ("bounds", bounds is not None, _BOUNDED),
        ("constraints", np.size(constraints) > 0, _CONSTRAINED),
    ):
        if wanted and name not in able:
            raise ValueError(f"minimize: {name} takes no {what}. Choose one of {', '.join(able)}.")
    return name


class _AtLeaves:
    """The derivatives of f, from leaves to leaves: what is compiled need not know of anybody's
    containers, and holds nothing that changes.
    """

    def __init__(self, f: Function, args: tuple[Any, ...], vector: Vector) -> None:
        self.f, self.args, self.vector = f, args, vector
        self.gradient = value_and_gradient_of("minimize", f, 0)

    def both(self, leaves: list[Any]) -> tuple[Any, list[Any]]:
        value, gradient = self.gradient(rebuild(self.vector.tree, iter(leaves)), *self.args)
        return value, self.vector.leaves_of(gradient, "the gradient")

    def product(self, leaves: list[Any], tangents: list[Any]) -> list[Any]:
        x, v = (rebuild(self.vector.tree, iter(given)) for given in (leaves, tangents))
        (product,) = hvp(lambda x: self.f(x, *self.args), (x,), (v,))
        return self.vector.leaves_of(product, "the Hessian's product")


class _Objective:
    """f as SciPy asks for it; value and gradient are computed together, once for each point."""

    def __init__(self, f: Function, args: tuple[Any, ...], vector: Vector, compile: bool) -> None:
        self.f, self.vector = f, vector
        at_leaves = _AtLeaves(f, args, vector)
        self._both, self._product = at_leaves.both, at_leaves.product
        if compile:
            self._both, self._product = compiled(self._both), compiled(self._product)
        self._hessian = hessian(lambda x: f(vector.recorded(x), *args))
        self._last: tuple[Array, float, Array] | None = None

    def both(self, x: Array) -> tuple[float, Array]:
        if self._last is None or not np.array_equal(self._last[0], x):
            with no_grad():
                value, gradient = self._both(self.vector.leaves(x))
            self._last = x.copy(), float(value), self.vector.joined(gradient)
        return self._last[1], self._last[2]

    def value(self, x: Array) -> float:
        return self.both(x)[0]

    def gradient(self, x: Array) -> Array:
        return self.both(x)[1].copy()

    def product(self, x: Array, v: Array) -> Array:
        leaves = self.vector.leaves
        return self.vector.joined(self._product(leaves(x), leaves(v)))

    def hessian(self, x: Array) -> Array:
        return self._hessian(x)

    def check(self, x: Array) -> None:
        """ValueError unless value and gradient are finite where the search begins."""
        value, gradient = self.both(x)
        name = called(self.f)
        if not np.isfinite(value):
            raise ValueError(f"minimize: {name} is {value} at x0. Begin where it is finite.")
        if not np.isfinite(gradient).all():
            v = self.vector
            steps = list(paths(v.tree))
            bad = [
                f"x0{step}"
                for step, (a, b) in zip(steps, itertools.pairwise(v.packing.ends), strict=True)
                if not np.isfinite(gradient[a:b]).all()
            ]
            raise ValueError(
                f"minimize: {name} is {value} at x0, but its gradient by {', '.join(bad)} is not "
                "finite. wengert.autograd.detect_anomaly() tells where it comes from; or begin "
                "elsewhere."
            )


# ---- constraints, callbacks, results ---------------------------------------------------------


def _constraints(vector: Vector, constraints: Any, method: Any) -> list[Any]:
    several = constraints if isinstance(constraints, Sequence) else [constraints]
    return [_constraint(vector, c, method) for c in several]


def _constraint(vector: Vector, constraint: Any, method: Any) -> Any:
    """A constraint on the vector, with its Jacobian, of one on the parameters."""
    from scipy import optimize
    from scipy.sparse.linalg import LinearOperator

    if isinstance(constraint, optimize.LinearConstraint):
        return constraint
    if isinstance(constraint, dict):
        f, args = constraint["fun"], tuple(constraint.get("args", ()))
    elif isinstance(constraint, optimize.NonlinearConstraint):
        f, args = constraint.fun, ()
    else:
        raise TypeError(
            "minimize: a constraint is a dict, a NonlinearConstraint or a LinearConstraint, not "
            f"{type(constraint).__name__}"
        )

    def recorded(x: Tensor) -> Any:
        return flat_tensor(f(vector.recorded(x), *args))

    def value(x: Array) -> Array:
        return flat_array(f(vector.structured(x), *args), "minimize", f)

    slope = jacobian(recorded)
    if isinstance(constraint, dict):
        kept = {k: v for k, v in constraint.items() if k not in ("fun", "args", "jac")}
        return {**kept, "fun": value, "jac": slope}

    def curvature(x: Array, weights: Array) -> Any:
        """sum_i w_i Hessian of c_i, as SciPy's interior point method wants it."""

        def product(v: Array) -> Array:
            return hvp(lambda x: np.sum(weights * recorded(x)), x, np.ravel(v))

        return LinearOperator((vector.n, vector.n), matvec=product, dtype=np.float64)

    limits = value, constraint.lb, constraint.ub, slope
    if method != "trust-constr":  # others warn of what they make no use of
        return optimize.NonlinearConstraint(*limits)
    return optimize.NonlinearConstraint(*limits, curvature, constraint.keep_feasible)


def _callback(vector: Vector, callback: Any, method: Any) -> Any:
    if callback is None:
        return None
    if not callable(callback):
        raise TypeError(f"minimize: callback is a function, not {callback!r}")
    if set(inspect.signature(callback).parameters) == {"intermediate_result"}:
        if method == "TNC":
            raise ValueError("minimize: TNC has no intermediate_result. Take x: callback(x).")

        def with_result(intermediate_result: Any) -> Any:
            return callback(intermediate_result=_structured(vector, intermediate_result.copy()))

        # SciPy asks for the names of a callback's arguments.
        with_result.__name__ = "callback"
        return with_result
    return lambda x, *state: callback(vector.structured(x))


def _structured(vector: Vector, result: Any) -> Any:
    """The result with x and the gradient in the parameters' structure."""
    from scipy.optimize import OptimizeResult

    structured = OptimizeResult(result)
    for name in ("x", "jac", "grad"):
        value = structured.get(name)
        if isinstance(value, np.ndarray) and value.shape == (vector.n,):
            structured[name] = vector.structured(value)
    return structured
