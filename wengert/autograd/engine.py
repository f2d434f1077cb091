"""The reverse sweep: cotangents flow from the roots back to the leaves.

A node is always created after the nodes that made its inputs. So taking nodes latest first, from a
heap keyed by their time of creation, is a topological order, and one pass over the graph is enough:
no counting of dependencies beforehand. All state is local, so any number of threads may sweep at
once. Leaves wait until every operation has run: a sweep that fails midway has changed no `.grad`.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from typing import Any

import numpy as np

from wengert.autograd import anomaly, saved
from wengert.autograd.saved import Freed
from wengert.errors import FreedGraphError
from wengert.history import modes
from wengert.history.location import here
from wengert.history.node import AccumulateGrad, Cell, Node, Output, tick
from wengert.tensor import Tensor, cell_of, wrap

Edge = Node | Output
NOTHING: Any = object()


def sweep(
    roots: Iterable[tuple[Edge, Any]],
    retain: bool,
    recorded: bool,
    targets: dict[Edge, Any] | None = None,
) -> None:
    """Pull the roots' cotangents back to the leaves, or to `targets` only, which are filled in.

    `recorded` runs the rules on Tensors instead of arrays, so that the sweep can be differentiated.
    """
    arrived: dict[Node, Any] = {}
    queue: list[tuple[int, Node]] = []
    needed = None if targets is None else on_the_way(roots, targets)
    for edge, g in roots:
        if needed is None or node_of(edge) in needed or edge in targets:  # type: ignore[operator]
            deposit(arrived, queue, edge, g)
    freed = None if retain else Freed(sys._getframe(3))  # the caller of backward, or backward itself
    watched = bool(modes.special) and modes.current().anomaly
    usual = targets is None and not recorded and not watched
    while queue:
        node = heappop(queue)[1]
        g = arrived.pop(node)
        if usual and node.plain and node.extras is None and g is not None:
            pulled = node.pull(g)
        else:
            if node.extras is not None:
                g = before_node(node, g, recorded)
            if targets is not None:
                capture(node, g, targets)
                if node not in needed:  # type: ignore[operator]
                    continue
            pulled = anomaly.watched(node, g, recorded, pull) if watched else pull(node, g, recorded)
        if not retain:
            if node.frees:
                node.saved = freed
            else:
                node.release(freed)
        for edge, g in zip(node.edges, pulled):  # noqa: B905  (a custom backward may return more)
            if edge is None or (needed is not None and node_of(edge) not in needed and edge not in targets):  # type: ignore[operator]
                continue
            have = arrived.get(edge, NOTHING)
            if have is NOTHING:
                if edge.plain:
                    arrived[edge] = g
                    heappush(queue, (-edge.order, edge))
                else:
                    deposit(arrived, queue, edge, g)
            elif have is None or g is None or type(have) is list:
                deposit(arrived, queue, edge, g)
            else:
                arrived[edge] = have + g
    g = pulled = have = None  # nobody but the leaves shall hold the last cotangents
    finish(arrived, recorded, targets)


def finish(leaves: dict[Node, Any], recorded: bool, targets: dict[Edge, Any] | None) -> None:
    """The leaves, which are all that is left: first every hook, which may fail, then the sums."""
    for leaf, g in leaves.items():
        if leaf.extras is not None:
            leaves[leaf] = before_node(leaf, g, recorded)
    while leaves:
        leaf, g = leaves.popitem()
        if targets is not None:
            capture(leaf, g, targets)
        else:
            accumulate(leaf, g, recorded)  # type: ignore[arg-type]


def pull(node: Node, g: Any, recorded: bool) -> Any:
    """One step of the sweep with all that it may involve: undefined cotangents, hooks."""
    if g is None or (node.outputs != 1 and all(item is None for item in g)):
        # Nothing arrived: an undefined cotangent is passed on without computing.
        pulled: Any = node.pull_undefined()
    else:
        pulled = node.pull_recorded(g) if recorded else node.pull(g)
    if node.extras is not None and node.extras.posthooks:
        pulled = after_node(node, pulled, g, recorded)
    return pulled


def deposit(arrived: dict[Node, Any], queue: list[tuple[int, Node]], edge: Edge, g: Any) -> None:
    """Put a cotangent where it arrives; any node of an edge that is met will run."""
    node, slot = (edge.node, edge.slot) if isinstance(edge, Output) else (edge, 0)
    have = arrived.get(node, NOTHING)
    if have is NOTHING:
        if type(node) is not AccumulateGrad:
            heappush(queue, (-node.order, node))
        have = arrived[node] = None if node.outputs == 1 else [None] * node.outputs
    if node.outputs == 1:
        arrived[node] = add(have, g)
    else:
        have[slot] = add(have[slot], g)


def add(a: Any, b: Any) -> Any:
    """Cotangents that meet are added, never in place: either may be in use elsewhere."""
    if a is None:
        return b
    return a if b is None else a + b


# ---- leaves --------------------------------------------------------------------------------


def accumulate(node: AccumulateGrad, g: Any, recorded: bool) -> None:
    """Add `g` to the leaf's `.grad`: the buffer itself the first time, if nobody else can reach it."""
    leaf = node.leaf()
    if leaf is None or g is None:
        return
    with node.lock:
        have = leaf._grad
        if recorded:
            leaf._grad = g if have is None else have + g
        elif have is None:
            leaf._grad = wrap(own(g, leaf._array))
        elif have._node is not None:
            leaf._grad = wrap(have._array + g)
        else:
            have._array += g
            mark_written(have, "AccumulateGrad")
    if node.post_hooks:
        for hook in list(node.post_hooks.values()):
            with modes.set_grad_enabled(recorded):
                hook(leaf)


def own(g: Any, like: Any) -> Any:
    """`g` as a buffer of the leaf's own, in the leaf's layout."""
    if type(g) is not np.ndarray or type(like) is not np.ndarray:
        return g
    if sys.getrefcount(g) <= _SOLE_OWNER and g.base is None and g.strides == like.strides:
        return g
    fresh = np.empty_like(like, dtype=g.dtype)
    np.copyto(fresh, g)
    return fresh


def _measure() -> int:
    """What `own` counts for a buffer that the sweep alone holds; Python versions differ in this."""

    def accumulate(node: Any, g: Any, recorded: bool) -> int:
        return own(g, recorded)

    def own(g: Any, like: Any) -> int:
        return sys.getrefcount(g)

    leaves = {None: np.empty(1)}
    leaf, g = leaves.popitem()
    return accumulate(leaf, g, False)


_SOLE_OWNER = _measure()


def mark_written(x: Tensor, name: str) -> None:
    """Count a write to the storage of `x`, and remember who wrote and where."""
    cell: Cell = cell_of(x)
    cell.count += 1
    cell.writer = (name, *here())
    cell.stamp = tick()


# ---- hooks ---------------------------------------------------------------------------------


def shown(g: Any) -> Any:
    """A cotangent as hooks see it: a Tensor, or None."""
    return g if g is None or isinstance(g, Tensor) else wrap(g)


def hidden(g: Any, recorded: bool) -> Any:
    """What a hook returned, as the sweep carries it."""
    return g if recorded or not isinstance(g, Tensor) else g._array


def before_node(node: Node, g: Any, recorded: bool) -> Any:
    """Tensor hooks and `retain_grad` on the node's outputs, then the node's own pre-hooks."""
    extras = node.extras
    assert extras is not None
    gs = [g] if node.outputs == 1 else list(g)
    with modes.set_grad_enabled(recorded):
        for slot, hooks in extras.tensor_hooks.items():
            for key in list(hooks):
                if key not in hooks:  # an earlier hook removed it
                    continue
                result = hooks[key](shown(gs[slot]))
                if result is not None:
                    gs[slot] = hidden(result, recorded)
        for key in list(extras.prehooks):
            result = extras.prehooks[key](tuple(shown(item) for item in gs))
            if result is not None:
                result = result if isinstance(result, tuple) else (result,)
                gs = [hidden(item, recorded) for item in result]
    for slot, reference in extras.retainers.items():
        tensor = reference()
        if tensor is not None and gs[slot] is not None:
            retain(tensor, gs[slot])
    return gs[0] if node.outputs == 1 else gs


def retain(tensor: Tensor, g: Any) -> None:
    """A non-leaf's `.grad` accumulates over passes like a leaf's."""
    g = shown(g)
    have = tensor._grad
    tensor._grad = wrap(g._array, g._node) if have is None else have + g


def after_node(node: Node, pulled: Any, g: Any, recorded: bool) -> Any:
    extras = node.extras
    assert extras is not None
    grad_outputs = tuple(shown(item) for item in ([g] if node.outputs == 1 else g))
    with modes.set_grad_enabled(recorded):
        for key in list(extras.posthooks):
            result = extras.posthooks[key](tuple(shown(item) for item in pulled), grad_outputs)
            if result is not None:
                result = result if isinstance(result, tuple) else (result,)
                pulled = tuple(hidden(item, recorded) for item in result)
    return pulled


# ---- only part of the graph ----------------------------------------------------------------


def on_the_way(roots: Iterable[tuple[Edge, Any]], targets: dict[Edge, Any]) -> set[Node]:
    """The nodes on a path from a root to a target; no others may run."""
    ends = {node_of(edge) for edge in targets}
    order: list[Node] = []
    seen: set[Node] = set()
    stack = [node_of(edge) for edge, _ in roots]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        order.append(node)
        stack += [node_of(edge) for edge in node.edges if edge is not None]
    # Oldest first, each node after the nodes its edges lead to.
    needed: set[Node] = set()
    for node in sorted(order, key=lambda node: node.order):
        for edge in node.edges:
            child = edge and node_of(edge)
            if child in needed or child in ends:
                needed.add(node)
                break
    return needed


def node_of(edge: Edge) -> Node:
    return edge.node if type(edge) is Output else edge  # type: ignore[return-value,union-attr]


def capture(node: Node, g: Any, targets: dict[Edge, Any]) -> None:
    """Note what arrived for targets that are outputs of this node."""
    if node.outputs == 1:
        if node in targets:
            targets[node] = g
        return
    for slot, item in enumerate(g):
        for target in targets:
            if (target is node and slot == 0) or (
                isinstance(target, Output) and target.node is node and target.slot == slot
            ):
                targets[target] = item


# ---- nesting -------------------------------------------------------------------------------


class _Task(threading.local):
    """What this thread knows of the sweep it is in, the innermost one."""

    def __init__(self) -> None:
        self.now = _Now(0, False)


class _Now:
    __slots__ = ("callbacks", "nested", "targeted")

    def __init__(self, nested: int, targeted: bool) -> None:
        self.nested = nested
        self.targeted = targeted
        self.callbacks: list[Callable[[], None]] = []


_task = _Task()
MAX_NESTED = 40


def run(roots: list[tuple[Edge, Any]], retain: bool, recorded: bool, targets: Any = None) -> None:
    """Sweep, as the innermost task of this thread."""
    outer = _task.now
    if outer.nested >= MAX_NESTED:
        _run_elsewhere(roots, retain, recorded, targets)
        return
    task = _task.now = _Now(outer.nested + 1, targets is not None)
    try:
        if recorded:
            with modes.set_grad_enabled(True):
                sweep(roots, retain, recorded, targets)
        else:
            sweep(roots, retain, recorded, targets)
        while task.callbacks:
            task.callbacks.pop(0)()
    except FreedGraphError as error:
        saved.explain_freed(error, max(node_of(edge).order for edge, _ in roots))
        raise
    finally:
        _task.now = outer


def _run_elsewhere(*arguments: Any) -> None:
    """A sweep nested deeply within others gets a thread, and so a stack, of its own."""
    failures: list[BaseException] = []
    state = modes.current()

    def elsewhere() -> None:
        modes.enter(state)
        try:
            run(*arguments)
        except BaseException as error:  # noqa: BLE001  (handed to the waiting thread, whatever it is)
            failures.append(error)
        finally:
            modes.enter(modes.DEFAULT)

    thread = threading.Thread(target=elsewhere, name="wengert nested sweep")
    thread.start()
    thread.join()
    if failures:
        raise failures[0]


def queue_callback(callback: Callable[[], None]) -> None:
    """Have `callback` called once, when the innermost sweep of this thread has accumulated all."""
    task = _task.now
    if not task.nested:  # no sweep is running
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    task.callbacks.append(callback)


def current_task() -> Any:
    """Something that is the same throughout one sweep and differs between sweeps."""
    return _task.now


def has_targets() -> bool:
    """Whether the innermost sweep of this thread goes to given inputs only."""
    return _task.now.targeted
