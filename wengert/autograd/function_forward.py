"""Forward mode through custom functions: their `jvp`, and what it may return.

`jvp` is called once for each level at which an argument carries a tangent, after `forward`. Where
`forward` returns an input, or a view of one, or has written into it, the tangent that `jvp` returns
must stand in the same relation to the input's tangent: otherwise a later write to one of the
values would leave one of the tangents behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.autograd import forward
from wengert.errors import ForwardModeError
from wengert.tensor import Tensor, View, carries, wrap


class Pushed:
    """One call of a custom function whose arguments may carry tangents.

    `inputs` has its tensor arguments, None for others; `outputs` is what its forward returned,
    `results` the tensors that the caller gets for them.
    """

    def __init__(
        self,
        ctx: Any,
        inputs: Sequence[Tensor | None],
        outputs: Sequence[Any],
        dirty: Sequence[Any],
    ) -> None:
        self.ctx = ctx
        self.inputs = inputs
        self.outputs = outputs
        self.dirty = dirty
        self.constant = ctx._constant

    def push(self, results: Sequence[Any]) -> None:
        """Give the results their tangents, at every level that this thread is inside of."""
        for level in forward.active():
            tangents = [forward.tangent(x, level) for x in self.inputs]
            if any(t is not None for t in tangents):
                self._push(level, tangents, results)
        for place, slot in self.ctx._slots.items():  # outputs that it has saved for its backward
            kept = self.ctx.saved[place] if place < len(self.ctx.saved) else None
            if kept is not None and results[slot]._tangents is not None:
                kept._tangents = results[slot]._tangents

    def _push(self, level: Any, tangents: list[Tensor | None], results: Sequence[Any]) -> None:
        ctx = self.ctx
        given = [
            wrap(np.zeros_like(x._array))
            if x is not None and t is None and ctx.materialize_grads and _is_inexact(x)
            else t
            for x, t in zip(self.inputs, tangents, strict=True)
        ]
        versions = [None if t is None else t._version for t in tangents]
        mine = {id(o): r for o, r in zip(self.outputs, results, strict=True)}
        for_forward = [mine.get(id(x), x) for x in ctx._for_forward]
        ctx._read_instead = tuple(forward.beneath(x, level) for x in for_forward)
        try:
            returned = ctx.function.jvp(ctx, *given)
        finally:
            ctx._read_instead = None
        pushed = returned if isinstance(returned, tuple) else (returned,)
        if len(pushed) != len(results):
            raise ForwardModeError(
                f"Function's jvp returned an invalid number of forward gradients (expected "
                f"{len(results)} but got {len(pushed)}): {ctx.name()} has so many outputs, "
                "each with a tangent, or None."
            )
        for i, (result, t) in enumerate(zip(results, pushed, strict=True)):
            if not isinstance(result, Tensor) or any(self.outputs[i] is c for c in self.constant):
                continue
            if t is not None:
                self._check(i, t, result)
            self._check_relation(i, t, tangents, versions, result)
            if not any(self.outputs[i] is x for x in self.dirty):
                level.give(result, t)
            elif t is not None and forward.tangent(result, level) is None:
                forward.first(result, level, t)

    def _check(self, i: int, t: Any, result: Tensor) -> None:
        if not isinstance(t, Tensor):
            raise ForwardModeError(
                f"{self.ctx.name()}: jvp returned {type(t).__name__} as the tangent of output {i}. "
                "It returns a tensor for each output, or None."
            )
        if t._array.shape != result._array.shape:
            raise ForwardModeError(different_size(result, t))

    def _check_relation(
        self, i: int, t: Any, tangents: list[Any], versions: list[Any], result: Tensor
    ) -> None:
        output = self.outputs[i]
        places = [k for k, x in enumerate(self.inputs) if x is not None and tangents[k] is not None]
        for k in places:
            x, mine = self.inputs[k], tangents[k]
            assert x is not None
            if output is x and any(x is d for d in self.dirty):
                if mine._version == versions[k]:
                    raise ForwardModeError(
                        "An inplace custom Function is not modifying the forward mode gradients "
                        f"inplace. {self.ctx.name()} modifies argument {k}, so its jvp must modify "
                        "the tangent of that argument in place, e.g. by t.mul_(2), and return it."
                    )
                if t is not mine:
                    raise ForwardModeError(
                        "An inplace custom Function is not returning the forward mode gradients "
                        f"as-is. {self.ctx.name()} modifies argument {k}, so its jvp must return "
                        "the tangent of that argument, modified in place."
                    )
                return
            if output is x or (t is not None and _looks_into(output, x)):
                self._check_view(t, mine)
                return

    def _check_view(self, t: Any, mine: Tensor) -> None:
        if t is None or not isinstance(t._origin, View):
            raise ForwardModeError(
                "A custom Function's forward is returning a view (or an input as-is) but the jvp "
                f"is not returning a view. {self.ctx.name()}: return the same view of the given "
                "tangent, e.g. t.view_as(t)."
            )
        if isinstance(mine._origin, View):
            if t._origin.base is not mine._origin.base:
                raise ForwardModeError(
                    "A custom Function is returning a view but the jvp is not returning a view of "
                    "the same base as the given grad input."
                )
        elif t._origin.base is not mine:
            raise ForwardModeError(
                "A custom Function is returning a view but the jvp is not returning a view of the "
                f"given grad input. {self.ctx.name()}: take the view of the given tangent, not "
                "of a copy."
            )


def _is_inexact(x: Tensor) -> bool:
    return dtypes.is_inexact(x._array.dtype)


def _looks_into(output: Any, x: Tensor) -> bool:
    """Whether a tensor is a view of an input, or of what the input is a view of."""
    if not isinstance(output, Tensor) or not isinstance(output._origin, View):
        return False
    base = x._origin.base if isinstance(x._origin, View) else x
    return output._origin.base is base


def different_size(x: Tensor, t: Tensor) -> str:
    return (
        "Trying to set a forward gradient that has a different size than that of the original "
        f"Tensor, this is not supported. Tensor is of size {list(x.shape)} while the given forward "
        f"gradient is of size {list(t.shape)}."
    )


def check_has_jvp(function: Any, base: Any, inputs: Sequence[Any]) -> None:
    """ForwardModeError if an argument carries a tangent and the function does not push it."""
    if function.jvp is base.jvp and carries(*inputs):
        raise ForwardModeError(
            "You must implement the jvp function for custom autograd.Function to use it with "
            f"forward mode AD: {function.__name__} got a dual tensor. Write a static method "
            "jvp(ctx, *tangents) that returns the tangents of its outputs, or differentiate by "
            "reverse mode (wengert.grad, vjp, jacrev)."
        )
