"""Calls of functions in the table, and what the tests of the table do with them.

A `Place` is one array that a call can be differentiated by: an argument, or an item of a list
argument. Outputs and cotangents are handled as lists, since some functions have several.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from wengert.autograd.differentiate import grad
from wengert.autograd.record import recorder
from wengert.rules import RULES, Rule
from wengert.rules import rule as reading
from wengert.tensor import Tensor, wrap

Call = dict[str, Any]
Arrays = list[np.ndarray]


class Place(NamedTuple):
    """Where in a call an array stands."""

    argument: str
    item: int | None = None

    def of(self, call: Call) -> Any:
        value = call[self.argument]
        return value if self.item is None else value[self.item]

    def replaced(self, call: Call, value: Any) -> Call:
        if self.item is not None:
            items = list(call[self.argument])
            items[self.item] = value
            value = items
        return {**call, self.argument: value}


def completed(rule: Rule, call: Call) -> Call:
    """The call with its defaults, in the order of the rule's arguments."""
    given = {**rule.defaults, **call}
    return {name: given[name] for name in rule.arguments}


def places(rule: Rule, call: Call) -> list[Place]:
    """The arrays to differentiate by: not the numbers, the Nones, nor the integers."""
    found = []
    for argument in rule.differentiable:
        value = call[argument]
        if argument == rule.sequence:
            found += [Place(argument, k) for k in range(len(value))]
        elif isinstance(value, np.ndarray) and value.dtype.kind in "fc":
            found.append(Place(argument))
    return found


def arrays_of(rule: Rule, call: Call) -> Arrays:
    return [place.of(call) for place in places(rule, call)]


def with_arrays(rule: Rule, call: Call, arrays: list[Any]) -> Call:
    """A call with other arrays in its places."""
    for place, array in zip(places(rule, call), arrays, strict=True):
        call = place.replaced(call, array)
    return call


def listed(outputs: Any) -> list[Any]:
    return list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]


def outputs(rule: Rule, call: Call) -> Arrays:
    return listed(rule.apply(call))


# ---- tangents, cotangents, inner products ---------------------------------------------------


def like(array: Any, random: np.random.Generator) -> np.ndarray:
    """Normal numbers of the same shape and dtype."""
    array = np.asarray(array)
    numbers = random.standard_normal(array.shape)
    if array.dtype.kind == "c":
        numbers = numbers + 1j * random.standard_normal(array.shape)
    return np.asarray(numbers, array.dtype)


HERMITIAN = {np.linalg.cholesky, np.linalg.eigh, np.linalg.eigvalsh}
"""Functions of Hermitian matrices that read one triangle: they move as Hermitian matrices."""


def allowed(rule: Rule, t: Any) -> Any:
    """A tangent as the function's domain has it."""
    return (t + np.conj(np.swapaxes(t, -1, -2))) / 2 if rule.function in HERMITIAN else t


def inner(xs: list[Any], ys: list[Any]) -> float:
    """Re <x, y>, the inner product of real vector spaces, to which cotangents refer."""
    return float(sum(np.vdot(x, y).real for x, y in zip(xs, ys, strict=True)))


def difference_quotient(f: Callable[[float], Arrays], h: float = 2**-5) -> Arrays:
    """f'(0), by central differences, twice extrapolated to h = 0: an error of order h^6."""

    def central(h: float) -> Arrays:
        return [(up - down) / (2 * h) for up, down in zip(f(h), f(-h), strict=True)]

    coarse, middle, fine = central(h), central(h / 2), central(h / 4)
    better = [_extrapolated(a, b, 4) for a, b in zip(coarse, middle, strict=True)]
    best = [_extrapolated(a, b, 4) for a, b in zip(middle, fine, strict=True)]
    return [_extrapolated(a, b, 16) for a, b in zip(better, best, strict=True)]


def _extrapolated(coarse: Any, fine: Any, ratio: int) -> Any:
    return (ratio * fine - coarse) / (ratio - 1)


# ---- the literal reading of a rule -----------------------------------------------------------


def pushed(rule: Rule, call: Call, place: Place, t: Any) -> Arrays:
    """The tangents of the outputs."""
    ys = rule.apply(call)
    tangent = t
    if place.item is not None:
        tangent = [t if k == place.item else None for k in range(len(call[place.argument]))]
    return listed(reading.push(rule, place.argument, tangent, call, ys))


def pulled(rule: Rule, call: Call, gs: Arrays) -> Arrays:
    """The cotangents of all places."""
    ys = rule.apply(call)
    g = gs if rule.outputs is None else gs[0]
    return [_pulled_to(rule, call, place, g, ys) for place in places(rule, call)]


def _pulled_to(rule: Rule, call: Call, place: Place, g: Any, ys: Any) -> Any:
    cotangent = reading.pull(rule, place.argument, g, call, ys)
    return cotangent if place.item is None else cotangent[place.item]


# ---- recording -------------------------------------------------------------------------------


def leaf(array: np.ndarray) -> Tensor:
    return wrap(array).requires_grad_()


def recorded(rule: Rule, call: Call, tensors: list[Any]) -> list[Tensor]:
    """The outputs of the compiled recorder."""
    return listed(recorder(rule.function)(*with_arrays(rule, call, tensors).values()))


def gradients(
    ys: list[Tensor], xs: list[Tensor], gs: list[Tensor] | None, **options: Any
) -> list[Tensor]:
    return list(grad(ys, xs, gs, allow_unused=True, materialize_grads=True, **options))


def scalar(weights: Arrays, values: list[Any]) -> Any:
    """Re <weights, values> as a scalar that can be differentiated."""
    total: Any = 0.0
    for w, value in zip(weights, values, strict=True):
        total = total + np.sum(np.real(np.conj(w) * value) if w.dtype.kind == "c" else w * value)
    return total


def bent(y: Any) -> Any:
    """A cubic: three derivatives, none of them large (a complex sine grows exponentially)."""
    return y * (1 + y * (1 / 2 + y / 6))


def derivatives(n: int, rule: Rule, call: Call, arrays: Arrays, seed: int) -> Any:
    """Scalars made of the derivatives of order 0 to n - 1, and the leaves they depend on.

    The first is Re <w, bent(f(x))>, where the bend makes a linear function's cotangents depend
    on x, so that its transpose is differentiated too. Each further one contracts the gradient of
    the one before with random numbers.
    """
    random = np.random.default_rng(seed)
    leaves = [leaf(array) for array in arrays]
    ys = [bent(y) for y in recorded(rule, call, leaves)]
    values = [scalar([like(y._array, random) for y in ys], ys)]
    while len(values) < n:
        value: Any = 0.0  # the derivative of a constant, such as the derivative of a step
        if isinstance(values[-1], Tensor) and values[-1].requires_grad:
            slopes = gradients([values[-1]], leaves, None, create_graph=True)
            value = scalar([like(x, random) for x in arrays], slopes)
        values.append(value)
    return values, leaves


def number(value: Any) -> np.ndarray:
    return np.asarray(value._array if isinstance(value, Tensor) else value)


def named(function: Any) -> Rule:
    return RULES[function]
