"""Differential equations by `scipy.integrate.solve_ivp`, its implicit methods with Jacobians."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.arrays.kind import array_of
from wengert.compile.call.function import compile as compiled
from wengert.history.modes import no_grad
from wengert.optimize.outside import outside
from wengert.optimize.vector import Array, Function, How, Vector, flat_tensor, jacobian_of
from wengert.tensor import Tensor, wrap
from wengert.transforms.run import checked

_EXPLICIT = ("RK23", "RK45", "DOP853")
_IMPLICIT = ("Radau", "BDF", "LSODA")


@outside("wengert.odeint(f, y0, t, *args)")
def solve_ivp(
    f: Function,
    t_span: tuple[float, float],
    y0: Any,
    method: str = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    args: tuple[Any, ...] = (),
    *,
    jac: How = "auto",
    compile: bool = False,
    **options: Any,
) -> Any:
    """y(t) with dy/dt = f(t, y, *args) and y(t_span[0]) = y0, by `scipy.integrate.solve_ivp`.

    y0 is a tensor, an array, a number, or containers of them; f gets the same and returns it too.
    The implicit methods "Radau", "BDF" and "LSODA" get the exact Jacobian df/dy instead of
    differences: a sparse matrix where that pays (see `least_squares`; not for LSODA), unless
    `jac="dense"` or `"sparse"` decides. "RK23", "RK45" and "DOP853" need none. `t_eval`, events
    (functions of t and y, with SciPy's attributes `terminal` and `direction`), `dense_output` and
    the other `options` (rtol, atol, max_step, ...) are SciPy's. With `compile`, f and its dense
    Jacobian are native code.

    The result is SciPy's: in `y`, each leaf of y0 gets a last dimension, one entry for each time in
    `t`; `sol(t)` and `y_events` likewise.

    The result has no history: it is for solving. `wengert.odeint` is for differentiating: its
    solution is a function of y0, the times and the arguments of f, with gradients by the adjoint
    equation or through the steps.

    Errors: ValueError for an unknown method; GradError for integers in y0, and for an f that
    returns another structure than that of y0.

    Hairer and Wanner, "Solving Ordinary Differential Equations II", 2nd ed. (1996).

    >>> import numpy as np
    >>> def robertson(t, y):
    ...     a, b, c = 0.04 * y[0], 3e7 * y[1] ** 2, 1e4 * y[1] * y[2]
    ...     return np.stack([c - a, a - b - c, b])
    >>> found = solve_ivp(robertson, (0, 40), np.array([1.0, 0.0, 0.0]), "Radau", rtol=1e-6)
    >>> found.y[:, -1].round(4)
    array([0.7158, 0.    , 0.2842])
    """
    from scipy import integrate

    checked("solve_ivp", f)
    if method not in (*_EXPLICIT, *_IMPLICIT):
        known = ", ".join((*_EXPLICIT, *_IMPLICIT))
        raise ValueError(f"solve_ivp: there is no method {method!r}. Choose one of {known}.")
    if method == "LSODA" and jac == "sparse":
        raise ValueError("solve_ivp: LSODA takes no sparse Jacobian. Choose Radau or BDF.")
    if compile and jac == "sparse":
        raise ValueError("solve_ivp: with compile=True the Jacobian is dense. Leave out jac=.")
    vector = Vector("solve_ivp", "y0", y0)
    start = vector.start()

    def recorded(t: Any, y: Tensor) -> Any:
        return flat_tensor(f(t, vector.recorded(y), *args))

    native = compiled(recorded) if compile else None

    def flow(t: float, y: Array) -> Array:
        if native is not None:
            return np.asarray(array_of(native(wrap(np.asarray(t)), wrap(y))), np.float64)
        return vector.flat(f(t, vector.structured(y), *args), "the derivative")

    vector.flat(f(float(t_span[0]), vector.structured(start), *args), "the derivative")
    if method in _IMPLICIT:
        at = (np.asarray(float(t_span[0])), start)
        allowed = method != "LSODA" and not compile
        slope = jacobian_of("solve_ivp", recorded, at, 1, jac, allowed)
        slope = compiled(slope) if compile else slope
        options["jac"] = lambda t, y: slope(np.asarray(float(t)), y)
    with no_grad():
        result = integrate.solve_ivp(
            flow, t_span, start, method, t_eval, dense_output, _events(vector, events, args),
            **options,
        )  # fmt: skip
    result.y = vector.series(result.y)
    if result.sol is not None:
        result.sol = _Dense(vector, result.sol)
    if result.y_events is not None:
        result.y_events = [vector.series(np.reshape(y, (-1, vector.n)).T) for y in result.y_events]
    return result


def _events(vector: Vector, events: Any, args: tuple[Any, ...]) -> Any:
    """SciPy's events, of y as its user has it."""
    if events is None:
        return None

    def wrapped(event: Callable[..., Any]) -> Any:
        def at(t: float, y: Array) -> float:
            return float(event(t, vector.structured(y), *args))

        for attribute in ("terminal", "direction"):
            if hasattr(event, attribute):
                setattr(at, attribute, getattr(event, attribute))
        return at

    return [wrapped(e) for e in events] if isinstance(events, Sequence) else wrapped(events)


class _Dense:
    """The solution between the steps: `sol(t)` in the structure of y0."""

    def __init__(self, vector: Vector, sol: Any) -> None:
        self.vector, self.sol = vector, sol

    def __call__(self, t: Any) -> Any:
        state = self.sol(t)
        return self.vector.structured(state) if np.ndim(t) == 0 else self.vector.series(state)
