"""In-place operations: write the memory, count the write, rewrite the history.

An in-place operation is its out-of-place twin followed by a write. Where nothing is tracked the
result goes straight into the memory. Where something is, the twin is recorded as usual; then the
tensor takes over its node, and if the tensor is a view, its base is given a `CopySlices` node: the
old base with one region replaced. The other views of that base look their history up anew when
they are next asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.autograd import saved
from wengert.history import modes
from wengert.autograd.engine import mark_written
from wengert.history.location import here
from wengert.history.node import AccumulateGrad, Node, move_retainer, tick
from wengert.errors import InferenceError, InplaceError
from wengert.tensor import (
    INFERENCE,
    Tensor,
    View,
    cell_of,
    current_node,
    is_leaf,
    wrap,
)


def write(x: Tensor, record: Callable[..., Any], args: tuple[Any, ...], name: str) -> Tensor:
    """Make `x` hold `record(x, *args)`, in place.

    Raises InplaceError where PyTorch refuses: leaves that require grad, views that may not be
    written through; RuntimeError if the result does not fit.
    """
    refuse(x, args)
    before = x
    if modes.is_grad_enabled() and (x.requires_grad or any(_tracked(a) for a in args)):
        # The old value as its own object: the node may save it, and x is about to change.
        before = wrap(x._array, current_node(x))
        before._cell, before._origin = x._cell, None
    result = record(before, *args)
    array = result._array
    _check_fit(x, array, name)
    _check_memory(x)
    node = result._node
    if node is not None:
        keep_old_value(node, before, x)
    if modes.special and modes.current().clone_saved is not None:
        modes.current().clone_saved.protect(x)
    np.copyto(x._array, array, casting="unsafe")
    if x._origin is not INFERENCE:
        mark_written(x, name)
    if node is not None:
        share_result(node, result, x)
        adopt(x, node)
    return x


def _tracked(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_tracked(v) for v in value)
    return isinstance(value, Tensor) and value.requires_grad


def _check_fit(x: Tensor, array: Any, name: str) -> None:
    if array.shape != x._array.shape:
        raise RuntimeError(
            f"output with shape {list(x.shape)} doesn't match the broadcast shape "
            f"{list(array.shape)}: {name} writes into a tensor, which cannot grow. "
            "Use the operation without the underscore."
        )
    kinds = "buifc"
    rank = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
    source, target = array.dtype.kind, x._array.dtype.kind
    if source in kinds and target in kinds and rank[source] > rank[target]:
        raise RuntimeError(
            f"result type {array.dtype} can't be cast to the desired output type {x._array.dtype}. "
            f"Use x = x.to(wengert.{array.dtype}) first."
        )


def _check_memory(x: Tensor) -> None:
    array = x._array
    if isinstance(array, np.ndarray):
        if not array.flags.writeable:
            raise RuntimeError(
                "this tensor looks into a read-only NumPy array and cannot be changed in place. "
                "Make it a copy: x = x.clone()."
            )
        if 0 in array.strides and any(s == 0 and n > 1 for s, n in zip(array.strides, array.shape, strict=True)):
            raise RuntimeError(
                "unsupported operation: more than one element of the written-to tensor refers to a "
                "single memory location (it was made by expand). Please clone() the tensor before "
                "performing the operation."
            )


# ---- what may be written -------------------------------------------------------------------


def refuse(x: Tensor, args: tuple[Any, ...] = ()) -> None:
    """Raise where an in-place change is not allowed."""
    origin = x._origin
    if origin is INFERENCE:
        if not modes.is_inference_mode_enabled():
            raise InferenceError(
                "Inplace update to inference tensor outside InferenceMode is not allowed. "
                "clone() it first to get a normal tensor."
            )
        return
    if not modes.is_grad_enabled():
        return
    if isinstance(origin, View):
        base = origin.base
        if base.requires_grad and is_leaf(base):
            raise InplaceError(
                "a view of a leaf Variable that requires grad is being used in an in-place "
                "operation. Update parameters under wengert.no_grad(), or clone() the leaf first."
            )
        if origin.creation is not None and (base.requires_grad or x.requires_grad or any(map(_tracked, args))):
            raise InplaceError(_REASONS[origin.creation])
    elif isinstance(x._node, AccumulateGrad):
        raise InplaceError(
            "a leaf Variable that requires grad is being used in an in-place operation. Update "
            "parameters under wengert.no_grad(), or work on a clone()."
        )


_REASONS = {
    "no_grad": "A view was created in no_grad mode and is being modified inplace with grad mode "
    "enabled. Take the view outside no_grad, or do both inside; or clone() it.",
    "inference": "A view was created in inference mode and is being modified inplace in normal mode. "
    "Take the view outside inference_mode, or clone() it.",
    "multi": "Output of a function that returns multiple views is a view and is being modified "
    "inplace. Such functions do not allow the output views to be modified inplace. Replace the "
    "inplace operation by an out-of-place one, or index instead of splitting.",
    "custom": "Output of a view was created inside a custom Function (or because an input was returned "
    "as-is) and is being modified inplace. This view's gradient would bypass the custom backward. "
    "Clone the output of the custom Function.",
}


# ---- history -------------------------------------------------------------------------------


def keep_old_value(node: Any, before: Tensor, x: Tensor) -> None:
    """If the operation saved the value that is about to be overwritten, let it keep a copy."""
    node = getattr(node, "node", node)
    if isinstance(node.saved, tuple) and any(value is before for value in node.saved):
        before._array = x._array.copy()
        before._cell = None


def share_result(node: Any, result: Tensor, x: Tensor) -> None:
    """If the operation saved its own result, that is what `x` now holds: share array and cell.

    The node's time is set after the write, so that its own write does not count as a later one.
    """
    node = getattr(node, "node", node)
    if isinstance(node.saved, tuple):
        for value in node.saved:
            if isinstance(value, Tensor) and value._origin is saved.TWIN and value._array is result._array:
                value._array = x._array
                value._cell = cell_of(x)
                node.order = tick()


class CopySlices(Node):
    """A base tensor after a write through one of its views: one region came from elsewhere.

    Transpose: the region's cotangent goes to what was written, the rest to the old base.
    """

    __slots__ = ("view",)

    def pull(self, g: Any) -> Any:
        base, value = self.edges
        rest = None
        if base is not None:
            rest = np.array(g)
            self.view.replay(_stand_in(self.view, rest))._array[...] = 0
        region = None if value is None else self.view.replay(_stand_in(self.view, g))._array
        return rest, region

    def pull_recorded(self, g: Any) -> Any:
        base, value = self.edges
        rest = None
        if base is not None:
            mask = np.ones(g.shape, g.dtype)
            self.view.replay(_stand_in(self.view, mask))._array[...] = 0
            rest = g * wrap(mask)
        region = None if value is None else self.view.replay(g)
        return rest, region


def _stand_in(view: View, array: Any) -> Tensor:
    return wrap(array)


def adopt(x: Tensor, node: Any) -> None:
    """Give `x` the history of the value just written into it, and its base the matching one."""
    view = x._origin
    cell = cell_of(x)
    if not isinstance(view, View):
        move_retainer(x, node)
        x._node = node
        cell.history += 1
        return
    base = view.base
    copy = object.__new__(CopySlices)
    copy.edges = (base._node, node)
    copy.saved = ()
    copy.view = view
    copy.order = tick()
    copy.extras = None
    copy.code, copy.at = here()
    move_retainer(base, copy)
    base._node = copy
    cell.history += 1
