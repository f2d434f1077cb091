"""The derivative of a compiled function: a node of the history whose pull is a program too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.autograd import saved
from wengert.autograd.differentiate import grad
from wengert.compile.trace.arguments import tracked
from wengert.compile.trace.capture import Capture
from wengert.compile.trace.captured import Argument, Cotangent, Held, Source
from wengert.compile.trace.results import parts_of
from wengert.errors import FreedGraphError
from wengert.history import modes
from wengert.history.location import here
from wengert.history.node import Node, Output
from wengert.tensor import Tensor, current_node


@dataclass
class Joint:
    """What the trace of a function says of its derivative.

    `slots` numbers the program's outputs that are differentiable, `leaves` tells by what; the
    program has one input more per slot, its cotangent, and its last outputs are the gradients.
    """

    slots: list[int]
    leaves: list[Source]
    cotangents: list[Any]


def differentiate(capture: Capture, result: Any, arguments: list[tuple[int, Tensor]]) -> Any:
    """Pull traced cotangents of the results back to everything that requires grad.

    None if nothing does; `Spent` if the function has already run its own backward pass.
    """
    outs = [t for t in _tensors(result) if capture.is_made(t) and current_node(t) is not None]
    outs = list({id(t): t for t in outs}.values())
    if not outs or not modes.is_grad_enabled():
        return None
    own = {id(t): (place, t) for place, t in reversed(arguments) if t.requires_grad}
    leaves: list[tuple[Source, Tensor]] = [(Argument(place), t) for place, t in own.values()]
    leaves += [
        (Held(lifted.tensor), lifted.tensor)
        for lifted in capture.lifted.values()
        if lifted.node is not None and lifted.array.dtype.kind in "fc"
    ]
    if not leaves:
        return None
    values = [
        capture.input(Cotangent(k), t._array.shape, t._array.dtype, f"g{k}")
        for k, t in enumerate(outs)
    ]
    gs = [capture.trusted(value) for value in values]
    count = len(capture.program.statements)
    try:
        found = grad(outs, [t for _, t in leaves], gs, allow_unused=True, retain_graph=True)
    except FreedGraphError:
        del capture.program.statements[count:]  # some of the way back was still there
        return Spent
    pairs = [(s, g) for (s, _), g in zip(leaves, found, strict=True) if g is not None]
    return Found(outs, values, [s for s, _ in pairs], [g._array for _, g in pairs])


@dataclass
class Found:
    """The tensors and traced arrays behind a `Joint`, while the trace lasts."""

    outs: list[Tensor]
    cotangents: list[Any]
    leaves: list[Source]
    gradients: list[Any]


class Spent(Node):
    """Stands for the history of a result whose graph the function itself has gone through."""

    __slots__ = ()

    def name(self) -> str:
        return "CompiledBackward"

    def pull(self, g: Any) -> Any:
        raise FreedGraphError(
            "Trying to backward through the graph of a compiled function a second time: the "
            "function has called backward() itself, which freed it. Return the gradient, or leave "
            "the call of backward() to the caller."
        )

    pull_recorded = pull


def spent() -> Spent:
    node = Spent()
    node.begin()
    return node


class CompiledBackward(Node):
    """One call of a compiled function, waiting for the cotangents of its results."""

    __slots__ = ("flat", "likes", "outputs", "owner")
    owner: Any
    flat: list[Any]
    likes: list[tuple[Any, Any]]

    def pull(self, g: Any) -> Any:
        values = self._values()
        owner = self.owner
        arrays = [owner.backward_array(source, self.flat) for source in owner.read]
        gs = [
            np.zeros(shape, dtype) if c is None else c
            for c, (shape, dtype) in zip(self._listed(g), self.likes, strict=True)
        ]
        return tuple(owner.backward.run([*arrays, *values, *gs]))

    def pull_recorded(self, g: Any) -> Any:
        self._values()
        gs = [
            Tensor(np.zeros(shape, dtype)) if c is None else c
            for c, (shape, dtype) in zip(self._listed(g), self.likes, strict=True)
        ]
        return tuple(self.owner.recorded_gradients(self.flat, gs))

    def release(self, freed: Any) -> None:
        self.saved = freed

    def _listed(self, g: Any) -> list[Any]:
        return [g] if self.outputs == 1 else g

    def _values(self) -> Any:
        if type(self.saved) is saved.Freed:
            raise saved.freed(self)
        for tensor in self.owner.tensors_read(self.flat):
            if tensor._cell is not None and tensor._cell.stamp > self.order:
                raise saved.modified(self, tensor._array, tensor._cell)
        return self.saved


def record(owner: Any, flat: list[Any], results: list[Tensor], values: list[Any]) -> None:
    """Give the results of one call their history."""
    node = CompiledBackward()
    node.begin(tuple(_edge(source, flat) for source in owner.joint.leaves))
    node.owner, node.flat, node.saved = owner, flat, values
    node.outputs = len(results)
    node.likes = [(t._array.shape, t._array.dtype) for t in results]
    node.code, node.at = here()
    for slot, tensor in enumerate(results):
        tensor._node = Output(node, slot) if slot else node


def _edge(source: Source, flat: list[Any]) -> Any:
    tensor = flat[source.place] if isinstance(source, Argument) else source.tensor  # type: ignore[union-attr]
    return current_node(tensor)


def _tensors(item: Any) -> list[Tensor]:
    if isinstance(item, Tensor):
        return [item]
    return [t for part in parts_of(item) for t in _tensors(part)]


def gradients_of(function: Any, states: list[Tensor]) -> Any:
    """The function that maps arguments and cotangents to gradients, to be compiled in its turn."""

    def pulled(arguments: Any, gs: list[Tensor]) -> list[Tensor]:
        args, kwargs = arguments
        leaves = [t for t in _tensors([args, kwargs]) if t.requires_grad]
        outs = [t for t in _tensors(tracked(function, args, kwargs)) if current_node(t) is not None]
        outs = list({id(t): t for t in outs}.values())
        return list(
            grad(
                outs,
                [*leaves, *states],
                gs,
                create_graph=True,
                allow_unused=True,
                materialize_grads=True,
            )
        )

    return pulled
