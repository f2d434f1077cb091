"""Looking into the graph, and deciding what happens to the values it saves."""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from wengert.autograd import engine, forward
from wengert.autograd.differentiate import GradientEdge as GradientEdge
from wengert.autograd.engine import mark_written
from wengert.history import modes
from wengert.history.node import Cell, RemovableHandle, source
from wengert.history.node import Node as Node
from wengert.imports import lacking as _lacking
from wengert.tensor import Tensor, View, cell_of, current_node, wrap


class saved_tensors_hooks(modes.Mode):
    """Pack what operations inside save, and unpack it when the backward needs it.

    `pack_hook(tensor)` runs when a value is saved and may return anything; `unpack_hook(packed)`
    returns a tensor of equal value, also after the context has ended. Only the innermost pair acts.

    >>> import wengert as wg
    >>> x = wg.ones(3, requires_grad=True)
    >>> with saved_tensors_hooks(lambda t: t.numpy().tolist(), wg.tensor):
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    tensor([2., 2., 2.])
    """

    fields = ("hooks",)

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def _changed(self, state: modes.State) -> modes.State:
        if state.hooks_refused is not None:
            raise RuntimeError(state.hooks_refused)
        return state._replace(hooks=(self.pack_hook, self.unpack_hook))


class save_on_cpu(saved_tensors_hooks):
    """Keep saved values as copies in main memory; there is nothing for `pin_memory` to pin."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cpu") -> None:
        super().__init__(lambda tensor: tensor.clone(), lambda packed: packed)


class disable_saved_tensors_hooks(modes.Mode):
    """Refuse saved-tensor hooks inside, with this message."""

    fields = ("hooks_refused",)

    def __init__(self, error_message: str) -> None:
        self.error_message = error_message

    def _changed(self, state: modes.State) -> modes.State:
        if state.hooks is not None:
            raise RuntimeError(self.error_message)
        return state._replace(hooks_refused=self.error_message)


# ---- mutation of saved values --------------------------------------------------------------


class SavedCopies:
    """The values saved inside `allow_mutation_on_saved_tensors`, by storage."""

    def __init__(self) -> None:
        self._saved: weakref.WeakKeyDictionary[Cell, list[weakref.ref[Tensor]]] = (
            weakref.WeakKeyDictionary()
        )

    def keep(self, value: Tensor) -> Tensor:
        """A stand-in for a saved tensor whose array can be exchanged for a copy."""
        kept = wrap(value._array, value._node)
        if not isinstance(value._origin, View):  # a view would keep its base, and that this node
            kept._origin = value._origin
        forward.lend(kept, value)
        self._saved.setdefault(cell_of(value), []).append(weakref.ref(kept))
        return kept

    def note(self, kept: Tensor) -> None:
        """Let the array of a tensor be exchanged for a copy before its storage is written."""
        self._saved.setdefault(cell_of(kept), []).append(weakref.ref(kept))

    def protect(self, x: Tensor) -> None:
        """Before a write to the storage of `x`: copy what was saved of it."""
        for reference in self._saved.pop(cell_of(x), []):
            kept = reference()
            if kept is not None:
                kept._array = kept._array.copy()
                forward.lend(kept, kept, copies=True)

    @classmethod
    def of_arrays(cls, state: modes.State) -> modes.State:
        """The mode of code written for arrays: what was saved is copied when overwritten."""
        if state.clone_saved is None and state.hooks is None:
            return state._replace(numpy_code=True, clone_saved=cls())
        return state if state.numpy_code else state._replace(numpy_code=True)


class allow_mutation_on_saved_tensors(modes.Mode):
    """Inside, saved values are copied before an in-place operation overwrites them.

    >>> import wengert as wg
    >>> x = wg.ones(2, requires_grad=True)
    >>> with allow_mutation_on_saved_tensors():
    ...     y = x * 3
    ...     z = y * y
    ...     _ = y.mul_(10)
    ...     z.sum().backward()
    >>> x.grad
    tensor([18., 18.])
    """

    fields = ("clone_saved", "hooks")

    def _changed(self, state: modes.State) -> modes.State:
        if state.clone_saved is not None:
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        return state._replace(clone_saved=SavedCopies(), hooks=None)


# ---- edges and counters --------------------------------------------------------------------


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Where this tensor stands in the graph: usable as a root or input of `autograd.grad`."""
    if not tensor.requires_grad:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients"
        )
    node, slot = source(current_node(tensor))
    assert node is not None
    return GradientEdge(node, slot, tensor)


def increment_version(tensors: Any) -> None:
    """Count a write to the tensors' storage that was made behind autograd's back."""
    for x in (tensors,) if isinstance(tensors, Tensor) else tensors:
        mark_written(x, "increment_version")


# ---- hooks on several tensors --------------------------------------------------------------


class _Handles:
    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self.handles = handles

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[..., None], *, mode: str = "all"
) -> _Handles:
    """Call `fn` once per pass when the gradients of all tensors (or of any) have been computed.

    With mode="all" it gets the list of gradients, None for tensors the pass did not reach; with
    mode="any" the first gradient that arrives.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    gathered = _Gathered(tensors, fn, mode == "any")
    tracked = [t for t in tensors if mode == "all" or t.requires_grad]
    return _Handles(
        [t.register_hook(functools.partial(gathered.arrived, i)) for i, t in enumerate(tracked)]
    )


class _Gathered:
    """The gradients of several tensors in one pass, kept apart from those of other threads."""

    def __init__(
        self, tensors: Sequence[Tensor], fn: Callable[..., None], first_only: bool
    ) -> None:
        self.nodes = [source(current_node(t))[0] for t in tensors]
        self.fn = fn
        self.first_only = first_only
        self.lock = threading.Lock()
        self.missing: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self.grads: weakref.WeakKeyDictionary[Any, list[Any]] = weakref.WeakKeyDictionary()

    def arrived(self, i: int, g: Any) -> None:
        task = engine.current_task()
        with self.lock:
            first = task not in self.missing
            if first:
                self.missing[task] = sum(
                    1 for node in self.nodes if node and engine.will_reach(node)
                )
                self.grads[task] = [None] * len(self.nodes)
            self.missing[task] -= 1
            last = self.missing[task] == 0
            grads = self.grads[task]
            grads[i] = g
        if self.first_only and first:
            self.fn(g)
        elif last and not self.first_only:
            self.fn(grads)


_lacking(__name__)
