"""In-place operations: write the memory, count the write, rewrite the history.

An in-place operation is its out-of-place twin followed by a write. Where nothing is tracked the
result goes straight into the memory. Where something is, the twin is recorded as usual; then the
tensor takes over its node, and if the tensor is a view, its base is given a `CopySlices` node: the
old base with one region replaced. The other views of that base look their history up anew when
they are next asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.arrays.kind import kind_of
from wengert.autograd import forward
from wengert.autograd.engine import mark_written
from wengert.autograd.operands import cast
from wengert.autograd.record import recorder
from wengert.dispatch import ERRORS, QUIET
from wengert.errors import InferenceError, InplaceError
from wengert.history import modes
from wengert.history.location import here
from wengert.history.node import AccumulateGrad, Node, move_retainer, tick
from wengert.history.refusals import refusal
from wengert.rules.elementwise import make_complex
from wengert.rules.ways import INTO
from wengert.tensor import (
    INFERENCE,
    Call,
    Tensor,
    View,
    cell_of,
    current_node,
    follow,
    is_leaf,
    wrap,
)


def write(x: Tensor, record: Callable[..., Any], args: tuple[Any, ...], name: str) -> Tensor:
    """Make `x` hold `record(x, *args)`, in place.

    Raises InplaceError where PyTorch refuses: leaves that require grad, views that may not be
    written through; RuntimeError if the result does not fit.
    """
    if unrecorded(x, args):
        return hold(x, record(x, *args), name, args)
    before = x
    refuse(x, args)
    if modes.is_grad_enabled() and (x.requires_grad or any(map(_tracked, args))):
        # The old value as its own object: the node may save it, and x is about to change.
        before = wrap(x._array, current_node(x))
        before._cell = x._cell
        if modes.special:
            forward.lend(before, x)
            if modes.current().clone_saved is not None:
                before._cell = cell_of(x)  # by which what is saved of it is found, and copied
            if modes.current().hooks is not None:
                before._array = x._array.copy()  # out of reach, should a pack hook keep it as it is
    return hold(x, record(before, *args), name, args, before)


def hold(
    x: Tensor, result: Any, name: str, args: tuple[Any, ...] = (), before: Tensor | None = None
) -> Tensor:
    """Make `x` hold a result of operands `args`, which was recorded of what it held `before`."""
    if result is NotImplemented:
        kinds = ", ".join(type(a).__name__ for a in args)
        raise TypeError(
            f"{name}() takes tensors and numbers, but got {kinds}. Make a tensor with "
            "wengert.tensor(...)."
        )
    _check_fit(x, result._array, name)
    _check_memory(x)
    if result._node is not None:
        keep_old_value(result._node, x if before is None else before, x)
        if result._array.dtype is not x._array.dtype:
            result = cast(result, x._array.dtype)
    if modes.special and modes.current().clone_saved is not None:
        modes.current().clone_saved.protect(x)
    if type(x._array) is type(result._array) is np.ndarray:
        x._array[...] = result._array
    else:
        np.copyto(x._array, result._array, casting="unsafe")
    if x._origin is not INFERENCE:
        mark_written(x, name, ours=2)
    if result._node is not None:
        share_result(result._node, result, x)
        adopt(x, result._node)
    if modes.special:
        forward.written(x, result)
    return x


def write_by(x: Tensor, function: Any, name: str, *settings: Any) -> Tensor:
    """x = function(x, *settings), in place: an array without history takes the result directly."""
    array, straight = x._array, INTO[function]
    if straight is not None and takes_out(array) and unrecorded(x):
        before = ERRORS.set(QUIET)
        try:
            straight(array, *settings, out=array)
        finally:
            ERRORS.reset(before)
        mark_written(x, name, ours=2)
        return x
    return write(x, recorder(function), settings, name)


def takes_out(array: Any, kinds: str = "f") -> bool:
    """Whether a ufunc may write its result straight into this array: it lies in one piece."""
    if type(array) is not np.ndarray or array.dtype.kind not in kinds:
        return False
    flags = array.flags
    return flags.carray or (flags.f_contiguous and flags.writeable)


def unrecorded(x: Tensor, args: Sequence[Any] = ()) -> bool:
    """Whether it shows at a glance that nothing about a write of `x` is recorded or refused.

    The glance is at tensors that are no views, and outside of all modes.
    """
    if modes.special or x._node is not None or x._origin is not None:
        return False
    for a in args:
        if isinstance(a, Tensor):
            if a._node is not None or a._origin is not None:
                return False
        elif isinstance(a, (list, tuple)) and not unrecorded(x, a):
            return False
    return True


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
    if array.dtype is not x._array.dtype and not dtypes.can_cast(array.dtype, x._array.dtype):
        raise RuntimeError(
            f"result type {array.dtype} can't be cast to the desired output type {x._array.dtype}. "
            f"Use x = x.to(wengert.{array.dtype}) first."
        )


def _check_memory(x: Tensor, alike: bool = False) -> None:
    """RuntimeError for memory that may not be written.

    If what is written is `alike` everywhere, one place may be that of several elements.
    """
    array = x._array
    if type(array) is not np.ndarray and not kind_of(array).has_layout:
        return
    if (
        0 in array.strides
        and not alike
        and array.size
        and any(s == 0 and n > 1 for s, n in zip(array.strides, array.shape, strict=True))
    ):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a "
            "single memory location (it was made by expand). Please clone() the tensor before "
            "performing the operation."
        )
    if not array.flags.writeable:
        view = x._origin
        if not isinstance(view, View) or not view.base._array.flags.writeable:
            raise RuntimeError(
                "this tensor looks into a read-only NumPy array, or is an argument of a function "
                "that is being differentiated, and cannot be changed in place. Make it a copy: "
                "x = x.clone(), or x = np.copy(x)."
            )
        array.flags.writeable = True  # NumPy makes the views of broadcast_to and diagonal read-only


# ---- what may be written -------------------------------------------------------------------


def refuse(x: Tensor, args: tuple[Any, ...] = ()) -> None:
    """Raise where an in-place change of `x`, with `args` as operands, is not allowed."""
    view = x._origin
    if view is INFERENCE:
        if not modes.is_inference_mode_enabled():
            raise InferenceError(
                "Inplace update to inference tensor outside InferenceMode is not allowed. "
                "clone() it first to get a normal tensor."
            )
        return
    if not modes.is_grad_enabled():
        return
    if isinstance(view, View):
        tracked = x.requires_grad
        if view.creation is not None and (tracked or any(map(_tracked, args))):
            raise refusal(x._node, view.creation)
        if tracked and is_leaf(view.base):
            raise InplaceError(
                "a view of a leaf Variable that requires grad is being used in an in-place "
                "operation. Update parameters under wengert.no_grad(), or clone() the leaf first."
            )
    elif isinstance(x._node, AccumulateGrad):
        raise InplaceError(
            "a leaf Variable that requires grad is being used in an in-place operation. Update "
            "parameters under wengert.no_grad(), or work on a clone()."
        )


# ---- history -------------------------------------------------------------------------------


def keep_old_value(node: Any, before: Tensor, x: Tensor) -> None:
    """If the operation saved the value that is about to be overwritten, let it keep a copy."""
    node = getattr(node, "node", node)
    if isinstance(node.saved, tuple) and any(value is before for value in node.saved):
        before._array = x._array.copy()
        before._cell = None
        forward.lend(before, x, copies=True)


def share_result(node: Any, result: Tensor, x: Tensor) -> None:
    """If the operation saved its own result, that is what `x` now holds: share array and cell.

    The node's time is set after the write, so that its own write does not count as a later one.
    """
    node = getattr(node, "node", node)
    if not isinstance(node.saved, tuple) or (
        modes.special and modes.current().clone_saved is not None
    ):
        return
    if "y_cell" in node.fields:
        k = node.fields.index("y")
        if node.saved[k] is result._array:
            node.saved = (*node.saved[:k], x._array, cell_of(x), *node.saved[k + 2 :])
            node.order = tick()


class CopySlices(Node):
    """A base tensor after a write through one of its views: one region came from elsewhere.

    Transpose: the region's cotangent goes to what was written, the rest to the old base.
    `calls` leads from the base to the view; `layout` is the order of the base's dimensions in
    memory: in a buffer laid out alike, what was a view is one again.
    """

    __slots__ = ("calls", "layout")
    calls: list[Call]
    layout: list[int]

    def pull(self, g: Any) -> Any:
        rest, region = None, None
        if self.edges[0] is not None:
            if type(g) is np.ndarray:
                rest = laid_out(self.layout, g.shape, g.dtype)
                np.copyto(rest, g)
                follow(self.calls, wrap(rest))._array[...] = 0
            else:
                rest = outside(g, self.written(g.shape, g.dtype))
        if self.edges[1] is not None:
            region = follow(self.calls, wrap(g))._array
        return rest, region

    def pull_recorded(self, g: Any) -> Any:
        rest, region = None, None
        if self.edges[0] is not None:
            rest = outside(g, self.written(g.shape, g.dtype))
        if self.edges[1] is not None:
            region = follow(self.calls, g)
        return rest, region

    def written(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
        """An array of the base's shape that is 1 (or 1 + i) where the view looks, else 0."""
        mask = wrap(laid_out(self.layout, shape, dtype))
        mask._array[...] = 0
        region = follow(self.calls, mask)._array
        region[...] = 1 + 1j if region.dtype.kind == "c" else 1
        return mask._array


def laid_out(layout: list[int], shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
    """A new array whose dimensions lie in memory in this order, outermost first."""
    if not layout:
        return np.empty(shape, dtype)
    return np.empty([shape[i] for i in layout], dtype).transpose(np.argsort(layout))


def layout_of(array: Any) -> list[int]:
    """The dimensions of an array by their stride, largest first; nothing if that is their order."""
    if not isinstance(array, np.ndarray) or array.flags.c_contiguous:
        return []
    strides = array.strides
    return sorted(range(array.ndim), key=lambda i: -abs(strides[i]))


def outside(g: Any, written: np.ndarray[Any, Any]) -> Any:
    """`g` where nothing was written, else 0; real and imaginary parts may be written separately."""
    if written.dtype.kind != "c" or (written.real == written.imag).all():
        return np.where(written.real != 0, np.zeros((), written.dtype), g)
    return make_complex(outside(np.real(g), written.real), outside(np.imag(g), written.imag))


def adopt(x: Tensor, node: Any) -> None:
    """Give `x` the history of the value just written into it, and its base the matching one."""
    view = x._origin
    cell = cell_of(x)
    if not isinstance(view, View):
        move_retainer(x, node)
        x._node = node
        cell.rewritten = tick()
        return
    base = view.base
    copy = CopySlices()
    copy.begin((base._node, node))
    copy.calls = view.path()
    copy.layout = layout_of(base._array)
    copy.code, copy.at = here()
    move_retainer(base, copy)
    base._node = copy
    cell.rewritten = tick()


# ---- in-place view operations --------------------------------------------------------------


def turn(
    x: Tensor, change: Callable[[Tensor], Tensor], back: Callable[[Tensor], Tensor], name: str
) -> Tensor:
    """Make `x` the view of itself that `change` takes; `back` undoes it, for views taken before.

    Raises like `write`: what may not be written may not be turned either.
    """
    refuse(x)
    view, node = x._origin, current_node(x)
    leaf = node is None or isinstance(node, AccumulateGrad)
    before = wrap(x._array, None if leaf else node)
    before._origin, before._cell = view, x._cell
    # Values stay as they are, so the history stays right, whatever the mode.
    state = modes.enter(modes.DEFAULT)
    try:
        out = change(before)
    finally:
        modes.enter(state)
    if modes.special:
        forward.turned(x, change)
    if isinstance(view, View):
        out._origin.creation = view.creation  # type: ignore[union-attr]
        x._origin = out._origin
    elif x._cell is not None:  # there may be views of it
        x._turns = ((tick(), (back, ())), *x._turns)
    x._array = out._array
    if not leaf:
        move_retainer(x, out._node)
        x._node = out._node
    if view is not INFERENCE:
        cell = cell_of(x)
        rewritten = cell.rewritten
        mark_written(x, name)
        of_views = node is not None and not isinstance(view, View)
        cell.rewritten = tick() if of_views else rewritten
    return x
