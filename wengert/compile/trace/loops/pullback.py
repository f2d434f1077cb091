"""The derivative of a traced function is traced with it: cotangents of its results, pulled back.

What runs backward is cut from the program later (`program/partition.py`).
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from wengert.autograd.differentiate import GradientEdge, grad
from wengert.autograd.engine import node_of, reachable
from wengert.autograd.saved import Freed
from wengert.compile.program.program import Value
from wengert.compile.trace.capture import Capture
from wengert.compile.trace.world.places import Cotangent, Known, Place
from wengert.errors import FreedGraphError, GradError, InplaceError, ModifiedError, WengertError
from wengert.history.node import AccumulateGrad, Node
from wengert.tensor import Tensor, current_node


@dataclass
class Pulled:
    """What the derivative is of, by what, and the traced arrays of the gradients."""

    outs: list[Tensor] = field(default_factory=list)
    cotangents: list[Value] = field(default_factory=list)
    leaves: list[Place] = field(default_factory=list)
    gradients: list[Any] = field(default_factory=list)
    refusal: WengertError | None = None
    """Why nothing could be pulled back: what whoever tries gets to see."""
    freed: list[int] = field(default_factory=list)
    """Which of `outs` a sweep from each of them makes unusable, a bit for each."""
    reached: list[int] = field(default_factory=list)
    """From which of `outs` a sweep comes to each of the leaves, a bit for each."""


def pull_back(capture: Capture, result: Any) -> Pulled:
    """Pull traced cotangents of the results back to everything that requires grad.

    What is overwritten on the way is an error for whoever goes there. But where a branch may have
    written it, or may not, that is for each call to tell: it is raised here.
    """
    capture.has_returned = True
    tensors = capture.back.outcomes(result)
    recorded = {id(t): t for t in tensors if current_node(t) is not None}.values()
    own = list(filter(_is_leaf, recorded))
    outs = [t for t in recorded if not _is_leaf(t)]
    if not outs:
        return Pulled()
    leaves: list[tuple[Place, Tensor]] = [
        (s.place, s.tensor) for s in capture.passed.stand_ins.values() if s.tensor.requires_grad
    ]
    outer = [f.tensor for f in capture.outside.tensors.values() if f.is_differentiable()]
    leaves += [(Known(tensor), tensor) for tensor in outer]
    values = [
        capture.inputs.add(Cotangent(k), t._array.shape, t._array.dtype, f"g{k}")
        for k, t in enumerate(outs)
    ]
    for tensor in outer:
        capture.outside.history(tensor)._node.extras = None  # its hooks run when gradients arrive
    gs = [capture.trusted(value) for value in values]
    count = len(capture.program.statements)
    try:
        nodes = reachable((x, None) for x in map(current_node, outs) if x is not None)
        # To every leaf that the function made, though nobody has it: whoever calls backward() goes
        # there as well, and gets an error if what was saved on the way is overwritten, or freed.
        ends = [GradientEdge(node, 0) for node in nodes if isinstance(node, AccumulateGrad)]
        by = [*(t for _, t in leaves), *own, *ends]
        gradients = grad(outs, by, gs, allow_unused=True) if by else ()
    except FreedGraphError:
        refusal: WengertError = FreedGraphError(
            "Trying to backward through the graph of a compiled function a second time: the "
            "function has called backward() itself, which freed it. Return the gradient, or leave "
            "the call of backward() to the caller."
        )
    except (ModifiedError, InplaceError) as error:
        if capture.trace.may_write:
            raise
        refusal = error.with_traceback(None)
    else:
        reached = [leaf for leaf, g in zip(leaves, gradients, strict=False) if g is not None]
        if not any(g is not None for g in gradients[len(leaves) : len(by) - len(ends)]):
            arrays = [g._array for g in gradients[: len(leaves)] if g is not None]
            leading = _leading(outs, nodes)
            by_outs = [leading.get(node_of(current_node(t)), -1) for _, t in reached]  # type: ignore[arg-type]
            places, freed = [place for place, _ in reached], _freed(len(outs), leading)
            return Pulled(outs, values, places, arrays, freed=freed, reached=by_outs)
        refusal = GradError(
            "a compiled function has made a tensor that requires grad, and returned it, or kept "
            "it, with what it computed of it: a program that runs again has no gradient for it. "
            "Make that tensor outside of the function."
        )
    del capture.program.statements[count:]  # some of the way back was there
    return Pulled(refusal=refusal)


def _is_leaf(t: Tensor) -> bool:
    """Whether gradients of a tensor accumulate in itself; those of what a transform has handed on
    accumulate in the argument.
    """
    node = current_node(t)
    return isinstance(node, AccumulateGrad) and node.leaf() is t


def _leading(outs: list[Tensor], nodes: Iterable[Node]) -> dict[Node, int]:
    """Which of some tensors lead to each of the nodes behind them, a bit for each."""
    leading = dict.fromkeys(nodes, 0)
    for k, t in enumerate(outs):
        leading[node_of(current_node(t))] |= 1 << k  # type: ignore[arg-type]
    for node in sorted(leading, key=lambda node: -node.order):  # consumers first
        for edge in filter(None, node.edges):
            leading[node_of(edge)] |= leading[node]
    return leading


def _freed(count: int, leading: dict[Node, int]) -> list[int]:
    """For each of so many tensors those that lead to something saved to which it leads as well, and
    which a sweep has freed; a bit for each.
    """
    freed = {n for node, n in leading.items() if type(getattr(node, "saved", None)) is Freed}
    together = [[mask for mask in freed if mask >> k & 1] for k in range(count)]
    return [functools.reduce(operator.or_, masks, 0) for masks in together]
