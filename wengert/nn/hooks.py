"""Hooks on a module's backward pass.

A module with such hooks runs between two nodes that pass cotangents through: one behind its
outputs, which notes what arrives, and one before its inputs, which calls the hooks with both.
"""

from __future__ import annotations

from typing import Any

from wengert.autograd import forward
from wengert.autograd.hooks import hidden, shown
from wengert.history import modes
from wengert.history.location import here, warn
from wengert.history.node import Node, Output
from wengert.tensor import Tensor, cell_of, current_node, wrap


class BackwardHooks:
    """One call of a module with backward hooks, from its inputs to its outputs and back."""

    def __init__(self, module: Any, before: list[Any], after: list[Any]) -> None:
        self.module = module
        self.before = before
        self.after = after
        self.grad_outputs: tuple[Any, ...] | None = None
        self.inputs = 0
        self.tracked_inputs: list[int] = []

    def around_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, those that require grad passed through a node."""
        self.inputs = len(args)
        args, self.tracked_inputs = _passed(args, InputsPassed, self)
        return args

    def around_outputs(self, result: Any) -> Any:
        """The result, its tensors passed through a node."""
        lone = isinstance(result, Tensor)
        if not lone and not isinstance(result, tuple):
            return result
        passed, _ = _passed((result,) if lone else result, OutputsPassed, self)
        if lone:
            return passed[0]
        return passed if type(result) is tuple else type(result)(*passed)

    def outputs_arrived(self, gs: list[Any], recorded: bool) -> list[Any]:
        grads = tuple(shown(g) for g in gs)
        with modes.set_grad_enabled(recorded):
            for hook in self.before:
                result = hook(self.module, grads)
                if result is not None:
                    grads = _same_number(result, grads, "backward pre hook")
            if not self.tracked_inputs:
                warn(
                    "Full backward hook is firing when gradients are computed with respect to "
                    "module outputs since no inputs require gradients. Make an input require grad "
                    "if its gradient is wanted."
                )
                self._fire((None,) * self.inputs, grads)
            else:
                self.grad_outputs = grads
        return [hidden(g, recorded) for g in grads]

    def inputs_arrived(self, gs: list[Any], recorded: bool) -> list[Any]:
        if self.grad_outputs is None:
            # The cotangent came another way, not from the outputs: a derivative of a derivative.
            return gs
        grads: list[Any] = [None] * self.inputs
        for i, g in zip(self.tracked_inputs, gs, strict=True):
            grads[i] = shown(g)
        grad_outputs, self.grad_outputs = self.grad_outputs, None
        with modes.set_grad_enabled(recorded):
            after = self._fire(tuple(grads), grad_outputs)
        return [hidden(after[i], recorded) for i in self.tracked_inputs]

    def _fire(self, grads: tuple[Any, ...], grad_outputs: tuple[Any, ...]) -> tuple[Any, ...]:
        for hook in self.after:
            result = hook(self.module, grads, grad_outputs)
            if result is not None:
                grads = _same_number(result, grads, "backward hook")
        return grads


def _same_number(result: Any, grads: tuple[Any, ...], name: str) -> tuple[Any, ...]:
    result = result if isinstance(result, tuple) else (result,)
    if len(result) != len(grads):
        raise RuntimeError(
            f"Module {name} returned an invalid number of gradients: got {len(result)}, but "
            f"expected {len(grads)}"
        )
    return result


class Passed(Node):
    """Cotangents pass through, and `hooks` sees them."""

    __slots__ = ("hooks", "outputs")
    hooks: BackwardHooks
    outputs: int

    def pull(self, g: Any) -> Any:
        return self._pull(g, False)

    def pull_recorded(self, g: Any) -> Any:
        return self._pull(g, True)

    def _pull(self, g: Any, recorded: bool) -> Any:
        raise NotImplementedError

    def _list(self, g: Any) -> list[Any]:
        return [g] if self.outputs == 1 else list(g)

    def name(self) -> str:
        return "BackwardHookFunctionBackward"


class InputsPassed(Passed):
    """Before a module's inputs."""

    __slots__ = ()

    def _pull(self, g: Any, recorded: bool) -> Any:
        return tuple(self.hooks.inputs_arrived(self._list(g), recorded))


class OutputsPassed(Passed):
    """Behind a module's outputs."""

    __slots__ = ()

    def _pull(self, g: Any, recorded: bool) -> Any:
        return tuple(self.hooks.outputs_arrived(self._list(g), recorded))


def _passed(
    values: tuple[Any, ...], kind: type[Passed], hooks: BackwardHooks
) -> tuple[tuple[Any, ...], list[int]]:
    """The values, tracked tensors among them passed through one node; and which those are."""
    tracked = [
        i
        for i, v in enumerate(values)
        if isinstance(v, Tensor) and v.requires_grad and modes.is_grad_enabled()
    ]
    if not tracked:
        return values, tracked
    node = object.__new__(kind)
    node.begin(tuple(current_node(values[i]) for i in tracked))
    node.code, node.at = here()
    node.hooks = hooks
    node.outputs = len(tracked)
    result = list(values)
    for slot, i in enumerate(tracked):
        out = wrap(values[i]._array, Output(node, slot) if slot else node)
        out._cell = cell_of(values[i])
        result[i] = forward.lend(out, values[i])
    return tuple(result), tracked
