"""Hooks in a sweep: the user's functions that look at cotangents, and may replace them.

On the way through one node: the hooks of its output tensors, `retain_grad`, the node's pre-hooks,
the node itself, its post-hooks. They see Tensors; the sweep may be carrying plain arrays. They run
recorded exactly if the sweep does. All of this is reached only by way of `node.extras`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numpy import ndarray

from wengert.arrays.kind import kind_of
from wengert.history import modes
from wengert.history.node import AccumulateGrad, Node
from wengert.rules.half import held
from wengert.tensor import Tensor, current_node, settle, wrap


def on_outputs(node: Node, g: Any, recorded: bool) -> Any:
    """The hooks of the tensors that are this node's outputs, then `retain_grad`."""
    extras = node.extras
    assert extras is not None
    if not extras.tensor_hooks and not extras.retainers:
        return g
    gs = [g] if node.outputs == 1 else list(g)
    with modes.set_grad_enabled(recorded and modes.is_grad_enabled()):
        for slot, hooks in list(extras.tensor_hooks.items()):
            for hook in _still_registered(hooks):
                result = hook(shown(gs[slot]))
                if result is not None:
                    gs[slot] = _accepted(hook, result, gs[slot], recorded)
        for slot, reference in list(extras.retainers.items()):
            tensor = reference()
            if tensor is not None and gs[slot] is not None:
                _retain(tensor, shown(gs[slot]))
    return gs[0] if node.outputs == 1 else gs


def before(node: Node, g: Any, recorded: bool) -> Any:
    """The node's pre-hooks, each on what the last one returned."""
    extras = node.extras
    assert extras is not None
    if not extras.prehooks:
        return g
    gs: Any = (g,) if node.outputs == 1 else tuple(g)
    with modes.set_grad_enabled(recorded and modes.is_grad_enabled()):
        for hook in tuple(extras.prehooks.values()):
            result = hook(tuple(shown(item) for item in gs))
            if result is not None:
                gs = _all_accepted(hook, result, gs, recorded)
    return gs[0] if node.outputs == 1 else list(gs)


def after(node: Node, pulled: Any, g: Any, recorded: bool) -> Any:
    """The node's post-hooks, on what it returned and what it was given."""
    extras = node.extras
    assert extras is not None
    if not extras.posthooks:
        return pulled
    given = tuple(shown(item) for item in ([g] if node.outputs == 1 else g))
    pulled = (*pulled, *[None] * node.numbers)
    with modes.set_grad_enabled(recorded and modes.is_grad_enabled()):
        for hook in _still_registered(extras.posthooks):
            result = hook(tuple(shown(item) for item in pulled), given)
            if result is not None:
                pulled = _all_accepted(hook, result, pulled, recorded)
    return pulled[: len(node.edges)]


def after_accumulation(node: AccumulateGrad, g: Any, recorded: bool) -> None:
    """The hooks that wait for a leaf's `.grad`, then the post-hooks of its node.

    Recorded as the sweep is: that is set for all leaves at once.
    """
    if node.post_hooks:
        for hook in _still_registered(node.post_hooks):
            hook(node.variable)
    if node.extras is not None:
        after(node, (), g, recorded)


def shown(g: Any) -> Any:
    """A cotangent as hooks see it: a Tensor, or None."""
    if type(g) is ndarray:
        return wrap(g)
    return g if g is None or isinstance(g, Tensor) else kind_of(g).tensor(settle(g))


def hidden(g: Any, recorded: bool) -> Any:
    """A cotangent as the sweep carries it: a Tensor only if the sweep is recorded."""
    return g if recorded or not isinstance(g, Tensor) else held(g._array)


def _still_registered(hooks: dict[int, Any]) -> Iterator[Any]:
    """The hooks there are now, without those that an earlier one removes."""
    for key in list(hooks):
        if key in hooks:
            yield hooks[key]


def _retain(tensor: Tensor, g: Tensor) -> None:
    """A non-leaf's `.grad` accumulates over passes like a leaf's; its buffer is its own."""
    have = tensor._grad
    if have is None:
        tensor._grad = wrap(g._array.copy(), current_node(g))
        tensor._grad._tangents = g._tangents
    else:
        tensor._grad = have + g


# ---- what hooks return ---------------------------------------------------------------------


def _all_accepted(hook: Any, results: Any, before: Any, recorded: bool) -> tuple[Any, ...]:
    if not isinstance(results, tuple):
        raise TypeError(
            f"expected tuple, but hook returned '{type(results).__name__}'. A hook on a node "
            "returns a tuple with one gradient (or None) for each, or None to leave them alone."
        )
    if len(results) != len(before):
        raise RuntimeError(
            f"hook '{_name(hook)}' has returned an incorrect number of values "
            f"(got {len(results)}, but expected {len(before)})"
        )
    return tuple(
        None if result is None else _accepted(hook, result, g, recorded)
        for result, g in zip(results, before, strict=True)
    )


def _accepted(hook: Any, result: Any, before: Any, recorded: bool) -> Any:
    """What a hook returned in a cotangent's place, as the sweep carries it."""
    if not isinstance(result, Tensor):
        raise TypeError(
            f"expected Variable, but hook returned '{type(result).__name__}'. A hook returns a "
            "tensor to replace the gradient, or None to leave it alone."
        )
    if before is None:
        raise RuntimeError(
            f"can't replace a None gradient with a non-None value: no gradient arrived where hook "
            f"'{_name(hook)}' returned one"
        )
    if result.dtype != before.dtype:
        raise RuntimeError(
            f"hook '{_name(hook)}' has changed the type of value (was {before.dtype} got "
            f"{result.dtype})"
        )
    if tuple(result.shape) != tuple(before.shape):
        raise RuntimeError(
            f"hook '{_name(hook)}' has changed the size of value "
            f"(was {list(before.shape)} got {list(result.shape)})"
        )
    return hidden(result, recorded)


def _name(hook: Any) -> str:
    return getattr(hook, "__name__", type(hook).__name__)
