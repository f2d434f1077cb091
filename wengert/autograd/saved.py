"""Saved values: what a node keeps for its backward, how it is checked, packed and read back.

A node saves input tensors themselves, so that reading one back gives the very same object. A node
that held its own output would be a cycle: of that it saves the array and, in the next field, the
cell. When saved-tensor hooks are active, `Packed` takes the tensor's or the array's place.

Nodes with several outputs, and custom functions, save twins of them: tensors that share array and
cell with an output, but have no history.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FrameType
from typing import Any

from wengert.autograd import anomaly
from wengert.errors import FreedGraphError, InferenceError, ModifiedError
from wengert.history import modes
from wengert.history.location import INTERNAL, line_of, user_frame
from wengert.history.node import Cell as Cell
from wengert.history.node import Node, tick
from wengert.rules.shapes import copy
from wengert.tensor import INFERENCE, Mark, Tensor, cell_of, current_node, wrap

TWIN = Mark()
"""The origin of an output's twin."""


def twin(out: Tensor) -> Tensor:
    """A stand-in for an output that its own node may keep: same array and cell, no history."""
    return twin_of(out._array, cell_of(out))


def twin_of(array: Any, cell: Cell) -> Tensor:
    kept = wrap(array)
    kept._cell = cell
    kept._origin = TWIN
    return kept


# ---- errors --------------------------------------------------------------------------------


def line(node: Node) -> str:
    return line_of(node.code, node.at)


class Freed:
    """Stands in a node for the values that a sweep freed: remembers when, and by which line."""

    __slots__ = ("at", "code", "stamp")

    def __init__(self, frame: FrameType) -> None:
        outer: Any = frame
        code = frame.f_code
        try:  # as `user_frame` has it: each sweep makes one
            while INTERNAL[code.co_filename]:
                outer = outer.f_back
                code = outer.f_code
        except (KeyError, AttributeError):
            outer = user_frame(frame)
            code = outer.f_code
        self.code, self.at = code, outer.f_lasti
        self.stamp = tick()


def freed(node: Node, by: Freed | None = None) -> FreedGraphError:
    """The error of a pass that reaches freed values."""
    by = node.saved if by is None else by
    error = FreedGraphError(
        "Trying to backward through the graph a second time (or directly access saved tensors "
        f"after they have already been freed): the values saved by {node.name()}, recorded at\n  "
        f"{line(node)}\nwere freed by the pass at\n  {line_of(by.code, by.at)}\n"
        "Specify retain_graph=True there if you need to backward through the graph a second time "
        "or to access saved tensors after calling backward."
    )
    error.stamp = by.stamp
    return error


def kept(node: Node) -> Any:
    """What a node saved, read once: a sweep in another thread may free it."""
    values = node.saved
    if type(values) is Freed:
        raise freed(node)
    return values


def explain_freed(error: FreedGraphError, root_order: int) -> None:
    """Add the likely cause, told by whether the root of this pass is younger than the freeing."""
    if root_order > error.stamp and error.args:
        told = (
            f"{error.args[0]}\nLikely cause: what this pass starts from was computed after that "
            "one, so a tensor made before the first pass (outside the loop, or kept from the "
            "previous iteration) is still tied to the freed graph. Compute it anew inside the "
            "loop, or detach() it; retain_graph=True would keep the graph growing."
        )
        error.args = (told,)


def modified(node: Node, array: Any, cell: Cell) -> ModifiedError:
    """The error of a pass that needs a value which was overwritten."""
    name, code, at = cell.writer or ("an in-place operation", None, 0)
    return ModifiedError(
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: a tensor of shape {list(array.shape)} and dtype {array.dtype}, saved by "
        f"{node.name()} at\n  {line(node)}\n"
        f"was overwritten by {name}, which made it version {cell.count}, at\n"
        f"  {line_of(code, at)}\n"
        "Write it out of place (x = x + y instead of x += y), or give the first operation a "
        "clone()."
    )


# ---- hooks on saved values -----------------------------------------------------------------


class Packed:
    """A saved tensor that went through a pack hook; its unpack hook brings it back.

    Also what `_raw_saved_*` shows: `register_hooks` packs a value that was saved plainly.
    """

    __slots__ = ("_tangents", "content", "edge", "is_output", "unpack")
    _cell = None  # what was packed is out of reach of later writes

    def __init__(
        self, tensor: Tensor, pack: Callable[..., Any], unpack: Callable[..., Any], is_output: bool
    ):
        shown = wrap(tensor._array) if is_output else detached(tensor)
        tangents = _as_now(tensor._tangents)
        copies = modes.current().clone_saved
        if copies is not None:  # a hook that returns what it gets has packed no copy
            shown._cell = cell_of(tensor)
            copies.note(shown)
        before = shown._cell.count if shown._cell else 0
        state = modes.enter(modes.State(grad=False))
        try:
            self.content = pack(shown)
        finally:
            modes.enter(state)
        if (shown._cell.count if shown._cell else 0) != before:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. "
                "Let it work on a clone()."
            )
        self.edge = None if is_output else current_node(tensor)
        self._tangents = tangents
        self.is_output = is_output
        self.unpack = unpack

    @property
    def _array(self) -> Any:
        return self.tensor()._array

    def tensor(self) -> Tensor:
        state = modes.enter(modes.State(grad=False))
        try:
            value = self.unpack(self.content)
        finally:
            modes.enter(state)
        if not isinstance(value, Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got "
                f"{type(value).__name__}"
            )
        return value


def _as_now(tangents: Any) -> Any:
    """Copies of the tangents that a tensor carries now: a write gives it others, in their place."""
    if tangents is None:
        return None
    copies = {level: t if t is None else copy(t) for level, t in tangents.items()}
    held = type(tangents)(copies)
    for level in held:
        if level.clears:
            level.remember(held)
    return held


def detached(tensor: Tensor) -> Tensor:
    """A tensor's storage and cell without history."""
    out = wrap(tensor._array)
    out._cell = cell_of(tensor)
    return out


def operand(value: Any) -> Any:
    """A saved value whose cell was seen to, as an array or number for the rule."""
    return value._array if isinstance(value, (Packed, Tensor)) else value


def checked(node: Node, value: Any, edge: Any) -> Any:
    """A saved value as an array, after the check that nothing overwrote it."""
    if not isinstance(value, Tensor):
        return operand(value)
    if value._cell is not None and value._cell.stamp > node.order:
        raise modified(node, value._array, value._cell)
    return value._array


def overwritten(node: Node, cell: Cell | None) -> bool:
    """Whether what has this cell was written after the node was recorded."""
    return cell is not None and cell.stamp > node.order


def restored(node: Node, value: Any, edge: Any) -> Any:
    """A saved value as it takes part in a recorded backward: a Tensor with its history."""
    if isinstance(value, Packed):
        return restored_output(node, value, None, edge if value.is_output else value.edge)
    if not isinstance(value, Tensor):
        return value
    if value._origin is TWIN or value._node is not edge:
        # An output's twin, or an input that has since been detached: connect it as it was.
        return restored_output(node, value, value._cell, edge)
    if value._cell is not None and value._cell.stamp > node.order:
        raise modified(node, value._array, value._cell)
    return value


def restored_output(node: Node, value: Any, cell: Cell | None, edge: Any) -> Tensor:
    """A saved array and its cell as a Tensor; `edge` is its history, for an output the node.

    What stands in for the array, a twin or a packed value, has tangents of forward mode too.
    """
    if cell is not None and cell.stamp > node.order:
        raise modified(node, operand(value), cell)
    tensor = wrap(operand(value), edge)
    tensor._cell = cell
    if isinstance(value, (Packed, Tensor)):
        tensor._tangents = value._tangents
    return tensor


def settle_node(node: Node, output: Any = None) -> None:
    """After recording in an unusual mode: pack what was saved, note where and what was made."""
    state = modes.current()
    if state.level is not None:
        state.level.enclose(node)
    if isinstance(node.saved, tuple):
        node.saved = tuple(_packed(node, value, state) for value in node.saved)
        if "y_cell" in node.fields:
            _pack_output(node, state)
    if state.anomaly:
        anomaly.note(node, state.creator, output)


def _packed(node: Node, value: Any, state: modes.State) -> Any:
    if type(value) is tuple and any(isinstance(item, Tensor) for item in value):
        return tuple(_packed(node, item, state) for item in value)  # the outputs of one operation
    if not isinstance(value, Tensor):
        return value
    if value._origin is INFERENCE:
        raise InferenceError(
            "Inference tensors cannot be saved for backward. Make a normal tensor of it with "
            "clone() outside inference_mode, or use no_grad instead of inference_mode."
        )
    is_output = value._origin is TWIN
    if state.hooks is not None:
        return Packed(value, *state.hooks, is_output=is_output)
    return value if state.clone_saved is None else state.clone_saved.keep(value)


def _pack_output(node: Node, state: modes.State) -> None:
    """Let what a mode makes of the output take the place of its array, without a cell to check."""
    k = node.fields.index("y")
    array, cell = node.saved[k : k + 2]
    if array is not None:
        stand_in = twin_of(array, cell)
        packed = _packed(node, stand_in, state)
        if packed is not stand_in:
            node.saved = (*node.saved[:k], packed, None, *node.saved[k + 2 :])


class SavedTensor:
    """One saved slot of a node, as `_raw_saved_self` shows it; hooks may be put on it."""

    __slots__ = ("_index", "_node")

    def __init__(self, node: Node, index: int) -> None:
        self._node = node
        self._index = index

    def register_hooks(self, *hooks: Callable[..., Any]) -> None:
        """Pack this value now by the first of two hooks, and unpack it by the other when needed."""
        if len(hooks) != 2 or not all(map(callable, hooks)):
            raise TypeError(
                "register_hooks(): incompatible function arguments. It takes two callables, "
                "register_hooks(pack_hook, unpack_hook)."
            )
        node = self._node
        values = kept(node)
        value = values[self._index]
        is_output = node.fields[self._index + 1 : self._index + 2] == ("y_cell",)
        if is_output and not isinstance(value, Packed):
            value = twin_of(value, values[self._index + 1])
        if not isinstance(value, (Tensor, Packed)):
            raise RuntimeError(
                "Calling register_hooks on a saved tensor with value None is forbidden: "
                f"{node.name()} saved no tensor here."
            )
        if isinstance(value, Packed):
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set"
            )
        if value._cell is not None and value._cell.stamp > node.order:
            raise modified(node, value._array, value._cell)
        packed = Packed(value, *hooks, is_output=value._origin is TWIN)
        rest = values[self._index + 1 :]
        rest = (None, *rest[1:]) if is_output else rest
        node.saved = (*values[: self._index], packed, *rest)


_SHOWN = {
    "a": ("self",),
    "x": ("self",),
    "val": ("self",),
    "b": ("other", "exponent"),
    "y": ("result",),
    "axis": ("dim",),
    "index": ("indices",),
}
"""PyTorch's names for what our rules call otherwise."""


def introspection(
    fields: tuple[str, ...], parts: dict[str, tuple[str, ...]]
) -> dict[str, property]:
    """The properties `_saved_self`, `_raw_saved_self` and so on of a class of nodes. Of a field
    that has `parts` each is one.

    They are written out per class: a `__getattr__` would slow down every attribute of every node.
    """
    members = {}
    for index, field in enumerate(fields):
        if field == "y_cell":  # part of how the output is kept
            continue
        for name in (field, *_SHOWN.get(field, ())):
            members[f"_saved_{name}"] = property(
                functools.partial(_shown, index=index, field=field)
            )
            members[f"_raw_saved_{name}"] = property(functools.partial(_raw, index=index))
        for place, name in enumerate(parts.get(field, ())):
            shown = lambda node, i=index, k=place: kept(node)[i][k]
            members[f"_saved_{name}"] = property(shown)
    return members


def _shown(node: Node, index: int, field: str) -> Any:
    values = kept(node)
    value = values[index]
    if "y_cell" in node.fields and field == "y":
        return restored_output(node, value, values[index + 1], node)
    edge = node if field == "y" else value._node if isinstance(value, Tensor) else None
    return restored(node, value, edge)


def _raw(node: Node, index: int) -> SavedTensor:
    kept(node)
    return SavedTensor(node, index)
