"""Tensor's methods about history: gradients, hooks, leaves, versions."""

from __future__ import annotations

import copy
import copyreg
import sys
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.arrays.memory import storage
from wengert.autograd import differentiate, engine
from wengert.autograd.saved import Freed
from wengert.autograd.settings import refuse_unless_truth
from wengert.autograd.watching import WATCHERS
from wengert.errors import InferenceError
from wengert.history import modes
from wengert.history.location import warn
from wengert.history.node import AccumulateGrad, Node, RemovableHandle, source
from wengert.tensor import (
    INFERENCE,
    Tensor,
    View,
    attach,
    bare,
    cell_of,
    current_node,
    is_leaf,
    may_record,
    require,
    wrap,
)

PAST = ("_version", "_is_view", "_base", "output_nr", "retains_grad", "_backward_hooks")
"""What a tensor says of its own past, beside its `HISTORY`, which tensors of one kind have in
common."""
HISTORY = ("requires_grad", "is_leaf", "grad_fn")


@attach
class HistoryMethods:
    """See the module's docstring. `self` is always a Tensor."""

    __slots__ = ()

    # ---- differentiation ------------------------------------------------------------------

    def backward(
        self: Any,
        gradient: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """Add this tensor's gradients to the `.grad` of the leaves it depends on.

        See `wengert.autograd.backward`; `gradient` is this tensor's cotangent, needed unless it has
        one element.
        """
        # The usual sweep begins here, with no frame between: of small steps each is a part.
        usual = not (create_graph or modes.pushing) and inputs is None
        seed = differentiate.usual_seed(self, gradient) if usual else None
        edge: Any = None
        if seed is not None:
            edge = self._node if self._origin is None else current_node(self)
        if edge is None:
            differentiate.backward(self, gradient, retain_graph, create_graph, inputs)
            return
        direct, done = edge.direct, False
        if direct is not True and direct and not (edge.extras or modes.special or WATCHERS):
            with engine.ACCUMULATING:
                done = direct.settle(edge.saved, edge, seed)
        if not done:
            engine.run([(edge, seed)], bool(retain_graph), False)
        elif not retain_graph and edge.frees:  # the sweep was of one node, and is done
            edge.saved = Freed(sys._getframe(1))

    @property
    def grad(self: Any) -> Tensor:  # None before a backward pass, which types pass over
        """The accumulated gradient, or None."""
        gradient = self._grad
        if (
            gradient is None
            and self._node is not None
            and not self.is_leaf
            and not self.retains_grad
        ):
            warn(differentiate.explain_non_leaf(self))
        return gradient

    @grad.setter
    def grad(self: Any, value: Any) -> None:
        if value is not None:
            if not isinstance(value, Tensor):
                raise TypeError(
                    "assigned grad expected to be a Tensor or None but got grad of type "
                    f"{type(value).__name__}"
                )
            if value is self:
                raise RuntimeError("can't assign Variable as its own grad")
            if value._array.dtype != self._array.dtype:
                raise RuntimeError(
                    f"assigned grad has data of a different type: {value.dtype} for a tensor of "
                    f"{self.dtype}. Use grad.to({self.dtype})."
                )
            if value._array.shape != self._array.shape:
                raise RuntimeError(
                    f"assigned grad has data of a different size: {list(value.shape)} for a "
                    f"tensor of {list(self.shape)}"
                )
        self._grad = value

    @grad.deleter
    def grad(self: Any) -> None:
        self._grad = None

    @property
    def grad_fn(self: Any) -> Node:  # None for a leaf, which types pass over, too
        """The node that made this tensor; None for a leaf."""
        node, _ = source(current_node(self))
        return None if isinstance(node, AccumulateGrad) else node  # type: ignore[return-value]

    @grad_fn.deleter
    def grad_fn(self: Any) -> None:
        raise RuntimeError("grad_fn cannot be deleted; use detach_()")

    @property
    def _grad_fn(self: Any) -> Node | None:
        return self.grad_fn

    @_grad_fn.deleter
    def _grad_fn(self: Any) -> None:
        raise RuntimeError("_grad_fn cannot be deleted; use detach_()")

    @property
    def output_nr(self: Any) -> int:
        """Which output of its node this tensor is."""
        return source(current_node(self))[1]

    @property
    def is_leaf(self: Any) -> bool:
        """Whether the user made this tensor, rather than a recorded operation."""
        return is_leaf(self)

    def requires_grad_(self: Any, requires_grad: bool = True) -> Tensor:
        """Mark this leaf as one to differentiate by, or unmark it; returns the tensor."""
        refuse_unless_truth("requires_grad", requires_grad)
        if requires_grad:
            if not self.requires_grad:
                if self._origin is INFERENCE and not modes.is_inference_mode_enabled():
                    raise InferenceError(
                        "Setting requires_grad=True on inference tensor outside InferenceMode is "
                        "not allowed. clone() it first."
                    )
                require(self)
                self._node = self.__dict__.pop("_hooked", self._node)
        elif self.requires_grad:
            if not is_leaf(self):
                raise RuntimeError(
                    "you can only change requires_grad flags of leaf variables. If you want to use "
                    "a computed variable in a subgraph that doesn't require differentiation use "
                    "var_no_grad = var.detach()."
                )
            node = self._node
            if node.extras is not None or node.post_hooks:
                self._hooked = node  # its hooks wait for the day that it requires grad again
            self._node = None
        return self

    def retain_grad(self: Any) -> None:
        """Keep this non-leaf's gradient in `.grad` as well. Does nothing for a leaf."""
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        node, slot = source(current_node(self))
        if node is not None and not isinstance(node, AccumulateGrad):
            node._extras().retainers[slot] = weakref.ref(self)

    @property
    def retains_grad(self: Any) -> bool:
        """Whether `retain_grad` was called on what is no leaf."""
        node, slot = source(current_node(self))
        if node is None or isinstance(node, AccumulateGrad) or node.extras is None:
            return False
        reference = node.extras.retainers.get(slot)
        return reference is not None and reference() is self

    # ---- cutting history ------------------------------------------------------------------

    def detach(self: Any) -> Tensor:
        """This memory without history. Changes of either are seen by both, and counted."""
        out = wrap(self._array)
        if self._origin is INFERENCE:
            out._origin = INFERENCE
            return out
        out._cell = cell_of(self)
        if modes.special:
            may_record(out)
            out._origin = None
        return out

    def detach_(self: Any) -> Tensor:
        """Cut this tensor's history, in place. Views cannot be cut from their base."""
        if isinstance(self._origin, View):
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead. If you are using "
                "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as "
                "True, gradients are views of DDP buckets; use zero_grad(set_to_none=True)."
            )
        self._node = None
        self._tangents = None
        return self

    @property
    def data(self: Any) -> Tensor:
        """This memory without history, its writes uncounted: prefer detach() or no_grad."""
        return wrap(self._array)

    @data.setter
    def data(self: Any, value: Any) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if self.requires_grad and not dtypes.is_inexact(value._array.dtype):
            raise RuntimeError(
                "data set to a tensor that requires gradients must be floating point or complex "
                "dtype"
            )
        self._array = value._array

    @data.deleter
    def data(self: Any) -> None:
        raise RuntimeError("data cannot be deleted")

    # ---- versions and views ---------------------------------------------------------------

    @property
    def _version(self: Any) -> int:
        """How often this storage was written in place; views share the count."""
        if self._origin is INFERENCE:
            raise InferenceError(
                "Inference tensors do not track version counter. Use no_grad instead of "
                "inference_mode if it matters."
            )
        return 0 if self._cell is None else self._cell.count

    def _is_view(self: Any) -> bool:
        return isinstance(self._origin, View)

    @property
    def _base(self: Any) -> Any:
        return self._origin.base if isinstance(self._origin, View) else None

    def is_inference(self: Any) -> bool:
        """Whether this tensor was made in inference mode."""
        return self._origin is INFERENCE

    # ---- hooks ----------------------------------------------------------------------------

    def register_hook(self: Any, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(grad)` when this tensor's gradient is computed; a tensor returned replaces it.

        >>> import wengert as wg
        >>> x = wg.ones(2, requires_grad=True)
        >>> handle = x.register_hook(lambda g: 2 * g)
        >>> x.sum().backward()
        >>> x.grad
        tensor([2., 2.])
        """
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        node, slot = source(current_node(self))
        assert node is not None
        return RemovableHandle(node._extras().tensor_hooks.setdefault(slot, {}), hook)

    def register_post_accumulate_grad_hook(self: Any, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(tensor)` after `.grad` of this leaf was updated."""
        if not isinstance(self._node, AccumulateGrad):
            raise RuntimeError(
                "post accumulate grad hooks cannot be registered on non-leaf tensors or on "
                "tensors that do not require grad"
            )
        if self._node.post_hooks is None:
            self._node.post_hooks = {}
        return RemovableHandle(self._node.post_hooks, hook)

    @property
    def _backward_hooks(self: Any) -> Any:
        node, slot = source(self._node)
        return None if node is None or node.extras is None else node.extras.tensor_hooks.get(slot)

    @_backward_hooks.deleter
    def _backward_hooks(self: Any) -> None:
        raise RuntimeError("_backward_hooks cannot be deleted")

    # ---- copies ---------------------------------------------------------------------------

    def __copy__(self: Any) -> Tensor:
        """Another leaf that shares this tensor's memory, and has no gradient yet."""
        return _rebuild(*_parts(self, self._array))

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Tensor:
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
                "protocol at the moment: a copy of a computed tensor would have no history. "
                "Use x.detach().clone()."
            )
        if id(self) in memo:
            return memo[id(self)]
        alone = type(self).copied_alone
        array = self._array.copy(order="K") if alone else _copied(self._array, memo)
        out = bare(type(self), array)
        memo[id(self)] = out
        kept = attributes_of(self) if alone else attributes_of(self) | {"_grad": self._grad}
        give(out, copy.deepcopy(kept, memo))
        if self.requires_grad:
            out.requires_grad_()
        return out

    def __reduce_ex__(self: Any, protocol: Any) -> Any:
        if not self.is_leaf:
            raise RuntimeError("cannot pickle a tensor with history; pickle x.detach() instead")
        return _rebuild, _parts(self, np.array(self._array))


def attributes_of(x: Any) -> dict[str, Any]:
    """What a program has given a tensor: attributes, in its dictionary or in slots of its class."""
    slots: list[str] = copyreg._slotnames(type(x))  # type: ignore[attr-defined]
    state = {name: getattr(x, name) for name in slots if hasattr(x, name)} | vars(x)
    return {k: v for k, v in state.items() if not (k.startswith("_") and hasattr(Tensor, k))}


def clear_gradients(tensors: Iterable[Tensor], set_to_none: bool) -> None:
    """Forget the gradients of tensors, or set them to 0."""
    for x in tensors:
        if set_to_none:
            x._grad = None
        elif x._grad is not None:
            if x._grad._node is not None:
                x._grad = x._grad.detach()
            x._grad.zero_()


def give(x: Any, attributes: dict[str, Any]) -> Any:
    """An object, which has these attributes from now on, frozen or not: its class runs no code."""
    for name, value in attributes.items():
        object.__setattr__(x, name, value)
    return x


def warn_of_hooks(x: Any) -> None:
    """Say of each hook of a tensor that it is not in the copy, or file, that is made."""
    for hook in (x._backward_hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warn(
                f"backward hook {hook!r} on tensor will not be serialized: register it again on "
                "the copy, or on what is loaded"
            )


def _copied(array: Any, memo: dict[int, Any]) -> Any:
    """A copy of an array; those that lie in one memory have copies that do."""
    owner = storage(array)
    copy = memo.get(id(owner))
    if copy is None:
        copy = memo[id(owner)] = owner.copy(order="K")
    if owner is array or copy.strides != owner.strides:
        return copy if owner is array else array.copy(order="K")
    offset = array.ctypes.data - owner.ctypes.data
    memory = copy.ravel(order="K").view(np.uint8)
    return np.ndarray(array.shape, array.dtype, memory, offset, array.strides)


def _parts(x: Any, array: Any) -> tuple[Any, ...]:
    warn_of_hooks(x)
    return type(x), array, x.requires_grad, attributes_of(x)


def _rebuild(kind: type, array: Any, requires_grad: bool, state: dict[str, Any]) -> Any:
    # An unpickled dtype is equal to NumPy's, not the same.
    out = give(bare(kind, dtypes.native(array)), state)
    return out.requires_grad_() if requires_grad else out
