"""Jacobians in three ways: by differences, by reverse mode and by forward mode.

`comparison.py` compares them. Each is an array of shape (elements of the input, elements of the
output), or products of that matrix with vectors, in double precision. For a complex input, which
only real outputs are differentiated by, an entry is dL/d(real part) + i dL/d(imaginary part).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from wengert import dtypes, numeric
from wengert.autograd import forward_ad
from wengert.autograd.batching import units as units
from wengert.autograd.differentiate import grad
from wengert.tensor import Tensor, wrap

Function = Callable[..., Any]


def as_tuple(x: Any) -> tuple[Any, ...]:
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def tracked(values: Sequence[Any]) -> list[Tensor]:
    """Those of the values that are tensors which require grad."""
    return [values[i] for i in tracked_places(values)]


def tracked_places(values: Sequence[Any]) -> list[int]:
    return [i for i, x in enumerate(values) if isinstance(x, Tensor) and x.requires_grad]


def inexact(values: Sequence[Any]) -> list[Tensor]:
    """Those of the values that are floating-point or complex tensors."""
    return [x for x in values if isinstance(x, Tensor) and dtypes.is_inexact(x.dtype)]


def is_complex(x: Any) -> bool:
    return isinstance(x, Tensor) and x.dtype.kind == "c"


def double(x: Tensor) -> np.ndarray:
    """A tensor's numbers as a flat array of double precision."""
    return np.ravel(x._array).astype(np.complex128 if is_complex(x) else np.float64)


# ---- by differences ------------------------------------------------------------------------


class Differences:
    """A function's difference quotients by one of its inputs, which it is moved in place for.

    In place, since the function may know its inputs other than as its arguments. The input has its
    own numbers again after each evaluation, whatever happens.
    """

    def __init__(
        self, func: Function, inputs: Sequence[Any], x: Tensor, outputs: Sequence[Any]
    ) -> None:
        self.func = func
        self.inputs = inputs
        self.x = x
        self.outputs = inexact(outputs)

    def along(self, place: Any, unit: Any) -> numeric.Line:
        """All outputs in one array, as the entries at `place` move by multiples of `unit`."""
        array = self.x._array

        def line(t: float) -> np.ndarray:
            before = np.array(array[place])
            array[place] = before + t * unit
            try:
                outputs = inexact(as_tuple(self.func(*self.inputs)))
                self.check(outputs, place, t)
                return np.concatenate([np.empty(0), *map(double, outputs)])
            finally:
                array[place] = before

        return line

    def check(self, outputs: Sequence[Tensor], place: Any, t: float) -> None:
        where = f"on index {place} " if isinstance(place, tuple) else ""
        perturbed = f"when inputs are perturbed {where}by {t}, but got:"
        if len(outputs) != len(self.outputs):
            raise AssertionError(
                f"Expected `func` to return as many outputs {perturbed} {len(self.outputs)} and "
                f"{len(outputs)}."
            )
        for here, there in zip(self.outputs, outputs, strict=True):
            if here.shape != there.shape:
                raise AssertionError(
                    "Expected `func` to return outputs with the same shape "
                    f"{perturbed} shapes {here.shape} and {there.shape}."
                )
            if here.dtype != there.dtype:
                raise AssertionError(
                    "Expected `func` to return outputs with the same dtype "
                    f"{perturbed} dtypes {here.dtype} and {there.dtype}."
                )

    def slope(self, place: Any, h: float, real: Any = 1, imaginary: Any = 1) -> np.ndarray:
        """The change of all outputs along a direction of the entries at `place`.

        A complex input has two directions, one for its real and one for its imaginary part.
        """
        by_real = numeric.central(self.along(place, real), h)
        if not is_complex(self.x):
            return by_real
        return by_real + 1j * numeric.central(self.along(place, 1j * imaginary), h)

    def split(self, rows: np.ndarray) -> list[np.ndarray]:
        """The last axis cut into outputs."""
        ends = np.cumsum([y._array.size for y in self.outputs])
        return np.split(rows, ends[:-1], axis=-1) if self.outputs else []

    def jacobians(self, h: float) -> list[np.ndarray]:
        """The Jacobian of each output."""
        rows = [self.slope(i, h) for i in np.ndindex(self.x._array.shape)]
        size = sum(y._array.size for y in self.outputs)
        return self.split(np.stack(rows) if rows else np.empty((0, size)))


# ---- by reverse mode -----------------------------------------------------------------------


def pulled(
    output: Tensor, inputs: Sequence[Tensor], cotangents: Iterator[np.ndarray]
) -> list[tuple[Tensor | None, ...]]:
    """The cotangents of the inputs for each cotangent of one output."""
    return [grad(output, inputs, wrap(g), retain_graph=True, allow_unused=True) for g in cotangents]


def columns(rows: list[tuple[Tensor | None, ...]], inputs: Sequence[Tensor]) -> list[np.ndarray]:
    """What was pulled, as one matrix for each input."""
    return [
        np.stack(
            [np.zeros(x._array.size) if row[j] is None else double(row[j]) for row in rows],  # type: ignore[arg-type]
            axis=-1,
        )
        if rows
        else np.empty((x._array.size, 0))
        for j, x in enumerate(inputs)
    ]


# ---- by forward mode -----------------------------------------------------------------------


def pushed(func: Function, inputs: Sequence[Any], tangents: dict[int, Any]) -> list[Any]:
    """The outputs, and the tangents that forward mode gives them (None where it gives none).

    `tangents` are by position. The function gets inputs that do not require grad; those without
    a tangent that did require grad get a zero one, except where the tangent is given as None.
    """
    with forward_ad.dual_level():
        arguments = []
        for i, x in enumerate(inputs):
            if isinstance(x, Tensor) and x.requires_grad:
                primal = x.detach()
                tangent = tangents.get(i, np.zeros_like(x._array))
                x = primal if tangent is None else forward_ad.make_dual(primal, _tensor(tangent))
            arguments.append(x)
        pairs = []
        for y in inexact(as_tuple(func(*arguments))):
            primal, tangent = forward_ad.unpack_dual(y)
            pairs.append((primal, tangent))
        return pairs


def _tensor(tangent: Any) -> Tensor:
    return tangent if isinstance(tangent, Tensor) else wrap(tangent)


def pushed_columns(
    func: Function, inputs: Sequence[Any], place: int
) -> tuple[list[np.ndarray], list[Any]]:
    """The Jacobian of each output by one input, and what was pushed."""
    runs = [pushed(func, inputs, {place: unit}) for unit in units(inputs[place])]
    if not runs:
        runs = [pushed(func, inputs, {})]
        return [np.empty((0, primal._array.size)) for primal, _ in runs[0]], runs
    return [np.stack([flat(*run[i]) for run in runs]) for i in range(len(runs[0]))], runs


def flat(primal: Tensor, tangent: Tensor | None) -> np.ndarray:
    return np.zeros(primal._array.size) if tangent is None else double(tangent)
