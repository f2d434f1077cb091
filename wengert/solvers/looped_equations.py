"""Roots and minima as loops of `wengert.control`: what compiled functions run in SciPy's place.

Both take the steps that SciPy's routines take, so that of several solutions they find the same:
Powell's hybrid method as MINPACK's hybrj has it (More, Garbow and Hillstrom, "User guide for
MINPACK-1", 1980), and a trust-region Newton method whose steps conjugate gradients find
(Nocedal and Wright, "Numerical Optimization", 2nd ed. 2006, algorithms 4.1 and 7.2).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from wengert.control.branches import cond
from wengert.control.choice import chosen
from wengert.control.loops import while_loop
from wengert.solvers.dense import solved

Map = Callable[[Any], Any]
EPS = float(np.finfo(np.float64).eps)


def norm(x: Any) -> Any:
    return np.sqrt(np.sum(x * x))


# ---- roots -----------------------------------------------------------------------------------

HYBRID_ENDS = {
    2: "The number of calls to function has reached maxfev.",
    3: "xtol is too small, no further improvement in the approximate solution is possible.",
    4: "The iteration is not making good progress, as measured by the improvement from the last "
    "five Jacobian evaluations.",
    5: "The iteration is not making good progress, as measured by the improvement from the last "
    "ten iterations.",
}
"""What SciPy says of how the search ended, if it is not 1."""


class _Hybrid(NamedTuple):
    x: Any
    value: Any
    slope: Any
    """The Jacobian, or what Broyden's updates have made of it."""
    exact: Any
    """Whether it is the Jacobian."""
    scale: Any
    size: Any
    """The length of x in units of `scale`."""
    radius: Any
    steps: Any
    moved: Any
    """Whether a step was taken."""
    failures: Any
    successes: Any
    slow: Any
    """Steps in succession that made the residual hardly smaller,"""
    slow_slopes: Any
    """and Jacobians."""
    end: Any


def hybrid(f: Map, jacobian: Map, x: Any, tol: float) -> tuple[Any, Any]:
    """The root of a function of vectors, and how the search ended."""
    most = 100 * (x.size + 1)
    zero = np.zeros((), np.int64)

    def measured(slope: Any) -> tuple[Any, Any, Any]:
        """The scale that the first Jacobian gives, the length of x in it, and the first radius."""
        lengths = _lengths(slope)
        scale = np.where(lengths == 0, 1.0, lengths)
        size = norm(scale * x)
        return scale, size, np.where(size == 0, 100.0, 100 * size)

    def begin() -> _Hybrid:
        slope = jacobian(x)
        no = np.zeros((), bool)
        return _Hybrid(
            x, f(x), slope, ~no, *measured(slope), zero + 1, no, zero, zero, zero, zero, zero
        )

    def step(s: _Hybrid) -> _Hybrid:
        p = -_dogleg(s.slope, s.value, s.scale, s.radius)
        length = norm(s.scale * p)
        radius = np.where(s.moved, s.radius, np.minimum(s.radius, length))
        value = f(s.x + p)
        before, after = norm(s.value), norm(value)
        predicted = s.value + np.matmul(s.slope, p)
        actual = _reduction(after, before, -1.0)
        expected = _reduction(norm(predicted), before, 0.0)
        ratio = np.where(expected > 0, actual / np.where(expected > 0, expected, 1.0), 0.0)

        bad = ratio < 0.1
        failures = np.where(bad, s.failures + 1, 0)
        successes = np.where(bad, 0, s.successes + 1)
        wider = (ratio >= 0.5) | (successes > 1)
        grown = np.where(wider, np.maximum(radius, 2 * length), radius)
        grown = np.where(np.abs(ratio - 1) <= 0.1, 2 * length, grown)
        radius = np.where(bad, 0.5 * radius, grown)

        taken = ratio >= 1e-4
        new = np.where(taken, s.x + p, s.x)
        size = np.where(taken, norm(s.scale * (s.x + p)), s.size)
        residual = np.where(taken, after, before)
        slow = np.where(actual >= 0.001, 0, s.slow + 1)
        slow_slopes = np.where(actual >= 0.1, 0, s.slow_slopes + s.exact)
        steps = s.steps + 1
        end = np.where(steps >= most, 2, 0)
        end = np.where(0.1 * np.maximum(0.1 * radius, length) <= EPS * size, 3, end)
        end = np.where(slow_slopes == 5, 4, end)
        end = np.where(slow == 10, 5, end)
        end = np.where((radius <= tol * size) | (residual == 0), 1, end)

        anew = (failures == 2) & (end == 0)
        moved = s.moved | taken

        def updated() -> tuple[Any, ...]:
            along = s.scale * s.scale * p / length
            slope = s.slope + ((value - predicted) / length)[:, None] * along
            return slope, s.scale, size, radius

        def computed() -> tuple[Any, ...]:
            slope = jacobian(new)
            later = np.maximum(s.scale, _lengths(slope)), size, radius
            return slope, *chosen(moved, later, measured(slope))  # MINPACK begins anew, too

        slope, scale, size, radius = cond(anew, computed, updated)
        return _Hybrid(
            new, np.where(taken, value, s.value), slope, anew, scale, size, radius, steps, moved,
            failures, successes, slow, slow_slopes, end,
        )  # fmt: skip

    last = while_loop(lambda s: s.end == 0, step, begin())
    return last.x, last.end


def _lengths(slope: Any) -> Any:
    return np.sqrt(np.sum(slope * slope, axis=0))


def _reduction(after: Any, before: Any, otherwise: float) -> Any:
    smaller = after < before
    return np.where(smaller, 1 - (after / np.where(smaller, before, 1.0)) ** 2, otherwise)


def _dogleg(slope: Any, value: Any, scale: Any, radius: Any) -> Any:
    """Newton's step, if it is short enough; else one between it and that down the gradient."""
    newton = solved(slope, value[:, None], patched=True)[:, 0]
    length = norm(scale * newton)
    gradient = np.matmul(value, slope) / scale
    steepness = norm(gradient)
    steep = np.where(steepness == 0, 1.0, steepness)
    down = gradient / steep / scale
    curvature = norm(np.matmul(slope, down))
    lowest = np.where(steepness == 0, 0.0, steepness / curvature / curvature)
    part, ahead = lowest / radius, radius / length
    t = norm(value) / steep * (norm(value) / length) * part
    root = np.sqrt((t - ahead) ** 2 + (1 - ahead * ahead) * (1 - part * part))
    between = ahead * (1 - part * part) / (t - ahead * part * part + root)
    share = np.where(steepness == 0, ahead, np.where(lowest < radius, between, 0.0))
    both = (1 - share) * np.minimum(lowest, radius) * down + share * newton
    return np.where(length <= radius, newton, both)


# ---- minima ----------------------------------------------------------------------------------

TRUST_ENDS = {
    1: "Maximum number of iterations has been exceeded.",
    2: "A bad approximation caused failure to predict improvement.",
}


class _Trust(NamedTuple):
    x: Any
    value: Any
    slope: Any
    radius: Any
    steps: Any
    end: Any


class _Conjugate(NamedTuple):
    p: Any
    rest: Any
    """The gradient of the model at p."""
    d: Any
    turned: Any
    """The Hessian's product with d, once it is known."""
    end: Any


_INSIDE, _BENT, _OUTSIDE = 1, 2, 3
"""How a search for a step ends: at a minimum, at a direction without one, at the boundary."""


def trust_region(both: Map, product: Callable[[Any, Any], Any], x: Any, tol: float) -> Any:
    """The minimum of a function of vectors, its value and gradient there, and how the search ended.

    `both(x)` is its value and its gradient, `product(x, v)` the Hessian's product.
    """
    most = 200 * x.size
    zero = np.zeros((), np.int64)

    def step(s: _Trust) -> _Trust:
        p, turned, bounded = _step(lambda d: product(s.x, d), s.slope, s.radius)
        predicted = -(np.sum(s.slope * p) + 0.5 * np.sum(p * turned))
        value, slope = both(s.x + p)
        ratio = (s.value - value) / predicted
        far = (ratio > 0.75) & bounded
        radius = np.where(far, np.minimum(2 * s.radius, 1000.0), s.radius)
        radius = np.where(ratio < 0.25, 0.25 * s.radius, radius)
        steps = s.steps + 1
        vain = predicted <= 0
        end = np.where(vain, 2, np.where(steps >= most, 1, 0))
        taken = (ratio > 0.15) & ~vain
        ahead = _Trust(s.x + p, value, slope, radius, steps, end)
        return chosen(taken, ahead, s._replace(radius=radius, steps=steps, end=end))

    value, slope = both(x)
    begun = _Trust(x, value, slope, np.ones(()), zero, zero)
    last = while_loop(lambda s: (s.end == 0) & (norm(s.slope) >= tol), step, begun)
    return last.x, last.value, last.slope, np.where(norm(last.slope) < tol, 0, last.end)


def _step(product: Map, slope: Any, radius: Any) -> tuple[Any, Any, Any]:
    """The step to the minimum of the model within a radius, the Hessian's product with it, and
    whether it goes as far as it may.
    """
    length = norm(slope)
    tolerance = np.minimum(0.5, np.sqrt(length)) * length
    zero = np.zeros((), np.int64)

    def again(s: _Conjugate) -> _Conjugate:
        turned = product(s.d)
        bent, square = np.sum(s.d * turned), np.sum(s.rest * s.rest)
        share = square / bent
        p, rest = s.p + share * s.d, s.rest + share * turned
        left = np.sum(rest * rest)
        end = np.where(np.sqrt(left) < tolerance, _INSIDE, 0)
        end = np.where(norm(p) >= radius, _OUTSIDE, end)
        end = np.where(bent > 0, end, _BENT)
        on = end <= _INSIDE
        d = np.where(on, left / square * s.d - rest, s.d)
        return _Conjugate(np.where(on, p, s.p), np.where(on, rest, s.rest), d, turned, end)

    begun = _Conjugate(np.zeros_like(slope), slope, -slope, np.zeros_like(slope), zero)
    s = while_loop(lambda s: s.end == 0, again, begun)
    near, far = _crossings(s.p, s.d, radius)
    turned = s.rest - slope  # the Hessian's product with s.p

    def at(t: Any) -> tuple[Any, Any]:
        return s.p + t * s.d, turned + t * s.turned

    low, high = (np.sum((slope + 0.5 * bent) * p) for p, bent in (at(near), at(far)))
    back = (s.end == _BENT) & (low < high)
    t = np.where(s.end == _INSIDE, 0.0, np.where(back, near, far))
    return *at(t), s.end != _INSIDE


def _crossings(p: Any, d: Any, radius: Any) -> tuple[Any, Any]:
    """Both t at which p + t d is as long as the radius, the smaller first."""
    a, b, c = np.sum(d * d), 2 * np.sum(p * d), np.sum(p * p) - radius * radius
    one = b + np.copysign(np.sqrt(b * b - 4 * a * c), b)
    ends = -one / (2 * a), -2 * c / one
    return np.minimum(*ends), np.maximum(*ends)
