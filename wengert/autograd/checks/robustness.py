"""What a derivative must stand beyond being right once: zeros, nothing at all, batches."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.autograd import engine
from wengert.autograd.batching import each
from wengert.autograd.checks.comparison import Check, directions, generator
from wengert.autograd.checks.jacobians import as_tuple, double, is_complex, pushed, tracked
from wengert.autograd.differentiate import edge_of, grad
from wengert.errors import GradcheckError
from wengert.history.location import warn
from wengert.history.node import source
from wengert.tensor import Size, Tensor, wrap


def zeros_for_zeros(check: Check) -> None:
    """A zero cotangent must give zero gradients, exactly unless masked."""
    outputs, inputs = tracked(check.outputs), tracked(check.inputs)
    if not outputs:
        return
    zeros = [wrap(np.zeros_like(y._array)) for y in outputs]
    gradients = grad(outputs, inputs, zeros, allow_unused=True)
    for j, (g, x) in enumerate(zip(gradients, inputs, strict=True)):
        if g is None:
            continue
        small = np.allclose(g._array, 0) if check.masked else bool((g._array == 0).all())
        if not small:
            at = np.argwhere(~(g._array == 0))[0].tolist()
            raise GradcheckError(
                "backward not multiplied by grad_output: all incoming gradients were zero, and "
                f"that of input {j} is {g._array[tuple(at)]} at index {tuple(at)}. The backward "
                "ignores its argument, or multiplies it by an infinite derivative."
            )
        if g.dtype != x.dtype:
            raise GradcheckError(f"grad is incorrect type: {g.dtype} for an input of {x.dtype}")
        if g.shape != x.shape:
            raise GradcheckError(
                f"grad is incorrect size: {Size(g.shape)} for an input of {Size(x.shape)}"
            )


def undefined_cotangents(check: Check) -> None:
    """A backward must survive that nothing arrives: at all outputs, and at one while the others
    get zeros."""
    count = len(tracked(as_tuple(check.func(*check.inputs))))
    sets = [set(range(count))]
    if count > 1:
        sets += [{k} for k in range(count)]
    for undefined in sets:
        outputs = tracked(as_tuple(check.func(*check.inputs)))
        inputs = tracked(check.inputs)
        try:
            gradients = _pulled_undefined(outputs, inputs, undefined)
        except Exception as error:
            _warn_of_undefined()
            raise GradcheckError(
                "Expected backward function to handle undefined output grads: given None for "
                f"output {sorted(undefined)} and zeros for the others it raised "
                f"{type(error).__name__}: {error}"
            ) from error
        for j, g in enumerate(gradients):
            if g is not None and not (g == 0).all():
                _warn_of_undefined()
                raise GradcheckError(
                    "Expected all input grads to be undefined or zero when all output grads are "
                    f"undefined or zero, but that of input {j} is {g}"
                )


def _pulled_undefined(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], undefined: set[int]
) -> list[Any]:
    """The inputs' cotangents where some outputs have an undefined one, and the others zeros."""
    places: list[Any] = [source(edge_of(x)) for x in inputs]
    targets = engine.Targets(places)
    starts: list[Any] = [
        (edge_of(y), None if k in undefined else np.zeros_like(y._array))
        for k, y in enumerate(outputs)
    ]
    engine.run(starts, False, False, targets)
    return [getattr(targets.captured[p], "_array", targets.captured[p]) for p in places]


def _warn_of_undefined() -> None:
    warn(
        "Backwards compatibility: New undefined gradient support checking feature is enabled by "
        "default, but it may break existing callers of this function. If this is true for you, "
        'you can call this function with "check_undefined_grad=False" to disable the feature'
    )


def absent_tangents(check: Check) -> None:
    """An input without a tangent must count as one with a zero tangent."""
    numbers = generator()
    tangents: dict[int, Any] = {
        k: directions(check.inputs[k], numbers)[0].astype(check.inputs[k].dtype)
        for k in check.places
    }
    for k in check.places:
        zero = np.zeros_like(check.inputs[k]._array)
        with_zero = pushed(check.func, check.inputs, {**tangents, k: zero})
        without = pushed(check.func, check.inputs, {**tangents, k: None})
        for i, ((_, one), (_, other)) in enumerate(zip(with_zero, without, strict=True)):
            if one is None or other is None:
                continue
            if not np.allclose(double(one), double(other)):
                raise GradcheckError(
                    f"Mismatch in tangent values for output with index: {i} when input: {k} "
                    f"has an undefined tangent value. Got: {other} but expected: {one}"
                )


# ---- batches -------------------------------------------------------------------------------

_BATCHED = (
    "gradcheck or gradgradcheck failed while testing batched gradient computation: the backward is "
    "run by vmap over several cotangents at once. check_batched_grad=False leaves this out."
)
_BATCHED_FORWARD = (
    "gradcheck failed while testing batched gradient computation with forward-mode AD: the "
    "function is run by vmap over several tangents at once. check_batched_forward_grad=False "
    "leaves this out."
)


def batched_cotangents(check: Check) -> None:
    """Several cotangents in one run, and one after the other."""
    numbers = generator()
    inputs = tracked(check.inputs)
    for i, y in enumerate(tracked(check.outputs)):
        given = _noise(y, numbers)

        def pull(g: Tensor, y: Tensor = y, batched: bool = False) -> tuple[Any, ...]:
            return grad(
                y, inputs, g, retain_graph=True, allow_unused=True, is_grads_batched=batched
            )

        singly = [pull(wrap(g)) for g in given._array]
        together = _in_a_batch(functools.partial(pull, given, batched=True), _BATCHED)
        for j, x in enumerate(inputs):
            parts = [np.zeros(x.shape) if one[j] is None else one[j]._array for one in singly]
            _same_batch(i, j, together[j], np.stack(parts), _BATCHED)


def batched_tangents(check: Check) -> None:
    """Several tangents of one input in one run, and one after the other."""
    numbers = generator()
    for j, place in enumerate(check.places):
        given = _noise(check.inputs[place], numbers)

        def push(t: Tensor, place: int = place) -> tuple[Any, ...]:
            others: dict[int, Any] = {k: None for k in check.places if k != place}
            run = pushed(check.func, check.inputs, {**others, place: t})
            return tuple(
                wrap(np.zeros_like(primal._array)) if tangent is None else tangent
                for primal, tangent in run
            )

        singly = [push(wrap(t)) for t in given._array]
        together = _in_a_batch(
            functools.partial(each, push, len(given._array), given), _BATCHED_FORWARD
        )
        for i, batch in enumerate(together):
            expected = np.stack([one[i]._array for one in singly])
            _same_batch(i, j, batch, expected, _BATCHED_FORWARD)


def _noise(x: Tensor, numbers: np.random.Generator) -> Tensor:
    """Two random tensors like x, stacked."""
    shape = (2, *x.shape)
    array = numbers.standard_normal(shape)
    if is_complex(x):
        array = array + 1j * numbers.standard_normal(shape)
    return wrap(array.astype(x.dtype))


def _in_a_batch(run: Callable[[], Any], told: str) -> Any:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="There is a performance drop")
        try:
            return run()
        except RuntimeError as error:
            raise GradcheckError(
                f"While computing batched gradients, got: {error}\n\n{told}"
            ) from error


def _same_batch(i: int, j: int, actual: Tensor | None, expected: np.ndarray, told: str) -> None:
    got = np.zeros_like(expected) if actual is None else actual._array
    if not np.allclose(got, expected):
        raise GradcheckError(
            f"For output {i} and input {j}:\n\n{told}\n\nGot:\n{wrap(got)}\n\n"
            f"Expected:\n{wrap(expected)}"
        )
