"""The derivative of a compiled function: a node of the history whose pull is a program too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.autograd import saved
from wengert.autograd.differentiate import grad
from wengert.compile.trace.arguments import tracked
from wengert.compile.trace.results import tensors_in
from wengert.errors import WengertError
from wengert.history.location import here
from wengert.history.node import Node, Output
from wengert.tensor import Tensor, current_node


class Refused(Node):
    """Stands for the history of a result that cannot be gone through: an error says why."""

    __slots__ = ("error",)
    error: WengertError

    def name(self) -> str:
        return "CompiledBackward"

    def pull(self, g: Any) -> Any:
        raise type(self.error)(*self.error.args)

    pull_recorded = pull


def refused(error: WengertError) -> Refused:
    node = Refused()
    node.begin()
    node.error = error
    return node


class CompiledBackward(Node):
    """One call of a compiled function, waiting for the cotangents of its results."""

    __slots__ = ("flat", "outputs", "owner")
    owner: Any
    flat: Sequence[Any]

    def pull(self, g: Any) -> Any:
        values = self._values()
        gs = [
            np.zeros(like.shape, like.dtype) if c is None else c
            for c, like in zip(self._listed(g), self.owner.likes, strict=True)
        ]
        return self.owner.pull(*self.flat, *values, *gs)

    def pull_recorded(self, g: Any) -> Any:
        self._values()
        gs = [
            Tensor(np.zeros(like.shape, like.dtype)) if c is None else c
            for c, like in zip(self._listed(g), self.owner.likes, strict=True)
        ]
        return tuple(self.owner.recorded_gradients(self.flat, gs))

    def release(self, freed: Any) -> None:
        self.saved = freed

    def _listed(self, g: Any) -> list[Any]:
        return [g] if self.outputs == 1 else g

    def _values(self) -> Any:
        if type(self.saved) is saved.Freed:
            raise saved.freed(self)
        for place in self.owner.tensors_back:
            tensor = place.read(self.flat)
            if tensor._cell is not None and tensor._cell.stamp > self.order:
                raise saved.modified(self, tensor._array, tensor._cell)
        return self.saved


def record(
    owner: Any, flat: Sequence[Any], results: Sequence[Tensor], values: Sequence[Any]
) -> None:
    """Give the results of one call their history."""
    node = CompiledBackward()
    node.begin(tuple([current_node(place.read(flat)) for place in owner.joint.leaves]))
    node.owner, node.flat, node.saved = owner, flat, values
    node.outputs = len(results)
    node.code, node.at = here()
    for slot, tensor in enumerate(results):
        tensor._node = Output(node, slot) if slot else node


def gradients_of(function: Any, states: list[Tensor]) -> Any:
    """The function that maps arguments and cotangents to gradients, to be compiled in its turn."""

    def pulled(arguments: Any, gs: list[Tensor]) -> list[Tensor]:
        args, kwargs = arguments
        leaves = [t for t in tensors_in([args, kwargs]) if t.requires_grad]
        result = tracked(function, args, kwargs)
        outs = [t for t in tensors_in(result) if current_node(t) is not None]
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
