"""The derivative of a compiled function: a node of the history whose pull is a program too."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.arrays.batched.array import BatchedArray, in_turn
from wengert.autograd import saved
from wengert.autograd.differentiate import grad
from wengert.compile.trace.arguments import tracked
from wengert.compile.trace.captured import Captured
from wengert.compile.trace.results import tensors_in
from wengert.history.location import here
from wengert.history.node import AccumulateGrad, Node, Output
from wengert.tensor import Tensor, current_node


class Refused(Node):
    """Stands for the history of a result that cannot be gone through: an error says why."""

    __slots__ = ("error",)
    error: Any
    refuses = True

    def name(self) -> str:
        return "CompiledBackward"

    def pull(self, g: Any) -> Any:
        raise type(self.error)(*self.error.args)

    pull_recorded = pull


def refused(captured: Captured) -> Node | None:
    """The history of a result, if those that require grad cannot be differentiated.

    Each has its own: cotangents of several would be added on the way to one.
    """
    if captured.refusal is None:
        return None
    node = Refused()
    node.begin()
    node.error = captured.refusal
    return node


class CompiledBackward(Node):
    """One call of a compiled function, waiting for the cotangents of its results.

    `saved` has the call's arguments, what else it found, and what the forward program saved. Of
    several results a sweep may leave some usable: `arrived` are those that it came from, and `gone`
    those that earlier ones have made unusable, a bit for each, and by which.
    """

    __slots__ = ("arrived", "gone", "outputs", "owner")
    owner: Any
    arrived: int
    gone: tuple[int, Any]

    def pull(self, g: Any) -> Any:
        g = _whole(g) if self.outputs == 1 else [*map(_whole, self._full(g))]
        for x in g if type(g) is list else [g]:
            if type(x) is BatchedArray:
                return in_turn(x.level, self.pull, [g], {})
        return self._arriving(self.owner.pull(self.saved, self, g))

    def pull_recorded(self, g: Any) -> Any:
        values, gs = self.values(), [g] if self.outputs == 1 else self._full(g, Tensor)
        return self._arriving(tuple(self.owner.recorded_gradients(values, gs)))

    def _arriving(self, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        """The gradients that eager mode has: none of what only other results were computed from."""
        if self.outputs == 1:
            return gradients
        pairs = zip(gradients, self.owner.joint.reached, strict=True)
        return tuple([g if mask & self.arrived else None for g, mask in pairs])

    def release(self, freed: Any) -> None:
        if self.outputs > 1:
            masks = enumerate(self.owner.joint.freed)
            by = [mask for k, mask in masks if self.arrived >> k & 1]
            gone, before = self._gone()
            self.gone = functools.reduce(operator.or_, by, gone), freed if any(by) else before

    def _gone(self) -> tuple[int, Any]:
        return getattr(self, "gone", (0, None))

    def _full(self, g: Any, of: Callable[[Any], Any] = np.asarray) -> list[Any]:
        """The cotangents, zeros where none arrived."""
        self.arrived = sum(1 << k for k, c in enumerate(g) if c is not None)
        gone, freed = self._gone()
        if gone & self.arrived:
            raise saved.freed(self, freed)
        return [
            of(np.zeros(like.shape, like.dtype)) if c is None else c
            for c, like in zip(g, self.owner.likes, strict=True)
        ]

    def values(self) -> tuple[Any, ...]:
        """What is saved, if it is still there, and as it was."""
        values: tuple[Any, ...] = saved.kept(self)
        for place in self.owner.tensors_back:
            tensor = place.read(values)
            if tensor._cell is not None and tensor._cell.stamp > self.order:
                raise saved.modified(self, tensor._array, tensor._cell)
        return values


def _whole(g: Any) -> Any:
    """What NumPy has made a number, an array of no dimensions: machine code reads arrays."""
    return np.asarray(g) if isinstance(g, np.generic) else g


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """The node that a call makes: from the tensors at `edges`, for those that are `results`.

    It keeps what is at `saved`, and has these attributes beside.
    """

    owner: Any
    edges: Sequence[Any]
    saved: Sequence[Any]
    results: Sequence[Any]

    def attributes(self) -> dict[str, Any]:
        """What the node of every call has."""
        direct = self.owner if len(self.results) == 1 else False
        known = {"owner": self.owner, "outputs": len(self.results)}
        return {**known, "extras": None, "direct": direct, "frees": self.owner.joint.frees}

    def record(self, value_at: Callable[[Any], Any]) -> None:
        """Give the results of one call their history; `value_at` gives what is at a place in it."""
        node = CompiledBackward()
        node.begin(tuple([current_node(value_at(place)) for place in self.edges]))
        node.saved = tuple([value_at(place) for place in self.saved])
        node.code, node.at = here()
        for name, value in self.attributes().items():
            setattr(node, name, value)
        for slot, result in enumerate(self.results):
            value_at(result)._node = Output(node, slot) if slot else node


def gradients_of(function: Any, states: list[Tensor]) -> Any:
    """The function that maps arguments and cotangents to gradients, to be compiled in its turn."""

    def pulled(arguments: Any, gs: list[Tensor]) -> list[Tensor]:
        args, kwargs = arguments
        leaves = [t for t in tensors_in([args, kwargs]) if t.requires_grad]
        result = tracked(function, args, kwargs)
        nodes = {id(t): (t, current_node(t)) for t in tensors_in(result)}
        outs = [t for t, node in nodes.values() if not isinstance(node, AccumulateGrad | None)]
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
