"""Recording functions of a list of arrays: concatenate, stack, einsum.

They are few, and so are run as they stand here, without a template. Read `record.py` first.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from wengert import dtypes
from wengert.autograd import saved
from wengert.autograd.forward import carried
from wengert.autograd.operands import Recorder, uniform
from wengert.autograd.plan import plan_of
from wengert.history import modes
from wengert.history.location import here
from wengert.history.node import Node
from wengert.rules.half import rounded
from wengert.rules.quick import QUICK
from wengert.rules.rule import Rule, parameters
from wengert.tensor import INFERENCE, Tensor, current_node, may_record, settle, wrap

ndarray = np.ndarray


def of_list(rule: Rule, kind: str) -> Recorder:
    """The recorder of a function whose argument is a list of arrays; `kind` names its nodes."""
    name = rule.sequence
    assert name is not None
    function = rule.function
    quick = QUICK.get(function, function)
    keeps = name in plan_of(rule).values

    place, count = rule.arguments.index(name), len(rule.arguments)
    settings = [n for n in rule.arguments if n != name]
    members = {"rule": rule, "settings": settings, "wanted": parameters(rule.reverse[name])}
    node_type = type(kind, (SequenceNode,), {"__slots__": (), **members})

    def record(*args: Any, **kwargs: Any) -> Any:
        if kwargs or len(args) != count:
            args = tuple(rule.bind(*args, **kwargs).values())
        items = args[place]
        usual = None if modes.special else _plain(items)
        if usual is None:
            items = uniform(items)
            arrays = [x._array if isinstance(x, Tensor) else x for x in items]
            nodes = [current_node(x) if isinstance(x, Tensor) else None for x in items]
            odd = any(isinstance(x, Tensor) and x._origin is INFERENCE for x in items)
            dtype = dtypes.of(arrays[0]) if arrays else None
            shapes = [np.shape(x) for x in arrays]
        else:
            arrays, nodes, shapes, odd, dtype = usual
        before, after = args[:place], args[place + 1 :]
        sequence = tuple(arrays)  # NumPy takes half as long for it as for a list
        if dtype is not None and dtype.itemsize == 2 and dtypes.is_half(dtype):
            array = rounded(function, *before, sequence, *after)
        else:
            array = (function if usual is None else quick)(*before, sequence, *after)
        out = wrap(array if type(array) is ndarray else settle(array))
        if modes.special and not may_record(out):
            operands = (*before, items, *after)
            return carried(record, rule, operands, out) if modes.pushing else out
        if nodes.count(None) < len(nodes):
            node = node_type()
            node.begin(tuple(nodes))
            node.shapes = shapes
            node.given = before + after
            # Products are linear in each item: one is needed for the cotangents of the others.
            node.saved = tuple(items) if keeps and len(items) > 1 else ()
            node.code, node.at = here()
            out._node = node
            if odd or modes.special:
                saved.settle_node(node, array)
        return carried(record, rule, (*before, items, *after), out) if modes.pushing else out

    return record


def _plain(items: Any) -> tuple[list[Any], list[Any], list[Any], bool, Any] | None:
    """Of tensors around plain arrays of one dtype: the arrays, the nodes, the shapes, whether one
    is of inference mode, and the dtype. None of others.

    Each is looked at once: a list for each question would take twice as long.
    """
    arrays: list[Any] = []
    nodes: list[Any] = []
    shapes: list[Any] = []
    odd, dtype = False, None
    for x in items:
        if type(x) is not Tensor or type(x._array) is not ndarray:
            return None
        array = x._array
        if array.dtype is not dtype:
            if arrays:
                return None
            dtype = array.dtype
        arrays.append(array)
        shapes.append(array.shape)
        if x._origin is None:
            nodes.append(x._node)
        else:
            nodes.append(current_node(x))
            odd = odd or x._origin is INFERENCE
    return arrays, nodes, shapes, odd, dtype


class SequenceNode(Node):
    """A node whose inputs are the items of one list argument."""

    __slots__ = ("given", "shapes")
    settings: ClassVar[list[str]]  # what the function's other arguments are called
    wanted: ClassVar[tuple[str, ...]]  # and those of the rule's lambda
    given: tuple[Any, ...]
    shapes: list[tuple[int, ...]]

    def pull(self, g: Any) -> Any:
        return self._pull(g, [saved.checked(self, value, None) for value in saved.kept(self)])

    def pull_recorded(self, g: Any) -> Any:
        values = zip(saved.kept(self), self.edges, strict=False)
        return self._pull(g, [saved.restored(self, value, edge) for value, edge in values])

    def release(self, freed: Any) -> None:
        if self.saved:
            self.saved = freed

    def _pull(self, g: Any, items: list[Any]) -> Any:
        rule = self.rule
        assert rule is not None
        name = rule.sequence or ""
        transpose = rule.reverse[name]
        given = dict(zip(self.settings, self.given, strict=True))
        given |= {name: items or [None] * len(self.shapes), f"{name}_shape": self.shapes}
        values = [given[p] for p in self.wanted]
        if g.dtype.kind == "c" and items:
            return [np.conj(x) for x in transpose(np.conj(g), *values)]
        return transpose(g, *values)
