"""The reverse sweep: cotangents flow from the roots back to the leaves.

A node is always created after the nodes that made its inputs. So taking nodes latest first, from a
heap keyed by their time of creation, is a topological order, and one pass over the graph is enough:
no counting of dependencies beforehand. All state is local, so any number of threads may sweep at
once. Leaves wait until every operation has run: a sweep that fails midway has changed no `.grad`.
Whoever wants to know earlier what arrives at some leaves watches (`watching.py`).
"""

from __future__ import annotations

import contextvars
import sys
import threading
from collections.abc import Callable, Iterable
from heapq import heappop, heappush, heapreplace
from operator import attrgetter
from sys import getrefcount
from types import CodeType
from typing import Any

import numpy as np
from numpy import ndarray

from wengert.arrays.kind import kind_of
from wengert.autograd import anomaly, hooks, saved, watching, zeros
from wengert.autograd.saved import Freed
from wengert.dispatch import ERRORS, QUIET
from wengert.errors import FreedGraphError, LayoutError
from wengert.history import forks, modes
from wengert.history.location import INTERNAL, here, user_frame
from wengert.history.node import AccumulateGrad, Cell, Node, Output, source, tick
from wengert.tensor import Tensor, View, cell_of, current_node, settle, wrap

Edge = Node | Output
NOTHING: Any = object()


def swept(root: Edge, g: Any) -> dict[tuple[Node, int], Any]:
    """What a sweep means: the cotangents of the leaves, from that of one result.

    The latest node goes first; each hands its own cotangents to its inputs, where those that meet
    are added. `sweep` below is this, with all that makes it fast and all that may intervene.
    """
    arrived: dict[tuple[Any, int], Any] = {source(root): g}
    while operations := {node for node, _ in arrived if type(node) is not AccumulateGrad}:
        node = max(operations, key=attrgetter("order"))
        gs = [arrived.pop((node, slot), None) for slot in range(node.outputs)]
        for edge, g in zip(node.edges, node.pull(gs if node.outputs > 1 else gs[0]), strict=True):
            if edge is not None and g is not None:
                arrived[source(edge)] = add(arrived.get(source(edge)), g)
    return arrived


def sweep(
    roots: list[tuple[Edge, Any]], retain: bool, recorded: bool, targets: Targets | None = None
) -> None:
    """Pull the roots' cotangents back to the leaves, or to `targets` only.

    `recorded` runs the rules on Tensors instead of arrays, so that the sweep can be differentiated:
    again by reverse mode if this thread records, by forward mode in any case.
    """
    arrived: dict[Node, Any] = {}
    queue: list[tuple[int, Node]] = []
    met = None if targets is None else targets.find(roots)
    # A node met while nothing else waits is held rather than queued: in a chain, that is each one.
    held: Any = None
    held_g: Any = None
    if len(roots) == 1 and roots[0][0].direct:
        if met is None or roots[0][0] in met:
            held, held_g = roots[0]
    else:
        for edge, g in roots:
            if met is None or node_of(edge) in met:
                deposit(arrived, queue, edge, g)
    # Three frames out is the caller of backward, or backward itself.
    freed = None if retain else Freed(sys._getframe(3))
    state = modes.current() if modes.special else modes.DEFAULT
    usual = not (recorded or state.anomaly or state.zeros)
    due = watching.due(roots) if watching.WATCHERS and targets is None and usual else None
    ends: Any = () if targets is None else targets.ends
    step = anomaly.watching(pull) if state.anomaly else pull
    while queue or held is not None:
        if held is None:
            node = heappop(queue)[1]
            g = arrived.pop(node)
        elif queue and queue[0][0] < -held.order:  # something later was met after it
            arrived[held] = held_g
            node = heapreplace(queue, (-held.order, held))[1]
            g = arrived.pop(node)
        else:
            node, g = held, held_g
        held, direct = None, node.direct
        if usual and direct and node.extras is None and g is not None and node not in ends:
            if direct is True or queue or arrived or met is not None or modes.special or due:
                pulled = node.pull(g)
            else:
                whole = np.asarray(g) if isinstance(g, np.generic) else g
                with ACCUMULATING:
                    settled = direct.settle(node.saved, node, whole)
                pulled = () if settled else node.pull(g)
        else:
            if node.extras is not None and (node not in ends or not targets.inner):  # type: ignore[union-attr]
                g = hooks.on_outputs(node, g, recorded)
            if targets is not None:
                targets.capture(node, g)
                if node not in targets.passed:
                    continue
            pulled = step(node, g, recorded)
        if not retain:
            if node.frees:
                node.saved = freed
            else:
                node.release(freed)
        for edge, g in zip(node.edges, pulled):  # noqa: B905  (a custom backward may return more)
            if edge is None or (met is not None and edge not in met and node_of(edge) not in met):
                continue
            if edge is held:
                held_g = add(held_g, g)
                continue
            have = arrived.get(edge, NOTHING)
            if have is NOTHING:
                if edge.direct and held is None and not queue:
                    held, held_g = edge, g
                elif edge.direct:
                    arrived[edge] = g
                    heappush(queue, (-edge.order, edge))
                elif type(edge) is AccumulateGrad:  # leaves wait for the end, in no queue
                    arrived[edge] = g
                else:
                    deposit(arrived, queue, edge, g)
            elif have is None or g is None or type(have) is list:
                deposit(arrived, queue, edge, g)
            else:
                arrived[edge] = have + g
        if due is not None and node in due:
            watching.tell(due[node], arrived)
    g = pulled = have = held_g = None  # nobody but the leaves shall hold the last cotangents
    finish(arrived, recorded, targets)
    if due is not None:
        watching.over(due)


def finish(leaves: dict[Any, Any], recorded: bool, targets: Targets | None) -> None:
    """The leaves, which are all that is left: hooks, which may fail; the sums; hooks after them."""
    accumulates = targets is None or targets.accumulates
    connects = recorded and modes.is_grad_enabled()  # else a leaf's `.grad` is numbers only
    for leaf, g in leaves.items():
        if leaf.extras is not None and not (targets is not None and targets.inner):
            g = hooks.on_outputs(leaf, g, recorded)
            leaves[leaf] = hooks.before(leaf, g, recorded) if accumulates else g
    if not accumulates:
        captured = targets.captured  # type: ignore[union-attr]
        for leaf, g in leaves.items():
            if (leaf, 0) in captured:
                captured[leaf, 0] = g
        return
    if recorded and not connects:
        leaves.update({leaf: g._array for leaf, g in leaves.items() if g is not None})
    g = None  # as in `sweep`
    with ACCUMULATING:
        hooked = accumulate(leaves, connects)
    if hooked:
        with modes.set_grad_enabled(connects):
            for leaf, g in hooked:
                hooks.after_accumulation(leaf, g, recorded)


def pull(node: Node, g: Any, recorded: bool) -> Any:
    """One step of the sweep with all that it may involve: undefined cotangents, hooks."""
    if node.extras is not None:
        g = hooks.before(node, g, recorded)
    if g is None or (node.outputs != 1 and all(item is None for item in g)):
        # Nothing arrived: an undefined cotangent is passed on without computing.
        pulled: Any = node.pull_undefined(recorded)
    elif modes.special and modes.current().zeros:
        pulled = zeros.pull(node, g, recorded)
    else:
        pulled = node.pull_recorded(g) if recorded else node.pull(g)
    if node.extras is not None:
        pulled = hooks.after(node, pulled, g, recorded)
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


def add(a: Any, b: Any) -> Tensor:
    """Cotangents that meet are added, never in place: either may be in use elsewhere."""
    if a is None:
        return b
    return a if b is None else a + b


# ---- leaves --------------------------------------------------------------------------------

ACCUMULATING = forks.renewed(threading.RLock())
"""Held by the thread that adds to leaves' `.grad`: one lock, since a sweep adds to many leaves."""


def accumulate(leaves: dict[Any, Any], recorded: bool) -> list[tuple[AccumulateGrad, Any]]:
    """Add to the leaves' `.grad` what arrived at each; gives those that have hooks for it.

    The first time it becomes the buffer itself, if nobody else can reach it: nothing is left in
    `leaves`. To be called with `ACCUMULATING` held.
    """
    hooked, line = [], None
    while leaves:
        node, g = leaves.popitem()
        leaf = node.leaf()
        if leaf is None or g is None or leaf._node is None:  # gone, or no gradient wanted any more
            continue
        have = leaf._grad
        if recorded:
            leaf._grad = connected_copy(g, leaf._array) if have is None else have + g
        elif have is not None:
            try:
                have._array += g
            except LayoutError:  # a dense gradient meets a sparse one
                have = leaf._grad = wrap(have.to_dense()._array + g)
            line = here() if line is None else line
            mark_written(have, "AccumulateGrad", line)
        elif (
            getrefcount(g) <= _SOLE_OWNER
            and type(g) is ndarray
            and (g.base is None or _keeps(g, g.base))
            and g.strides == leaf._array.strides
        ):
            leaf._grad = wrap(g)
        else:
            kind = kind_of(g)
            arriving = kind.arriving(g, abs(node.order))
            leaf._grad = kind.tensor(laid_out(arriving, leaf._array))
        if node.post_hooks or node.extras is not None:
            hooked.append((node, g))
    return hooked


def _keeps(g: Any, base: Any) -> bool:
    """Whether a view has all of an array's memory, and nobody else has that array."""
    return (
        type(base) is ndarray
        and base.base is None
        and base.nbytes == g.nbytes
        and getrefcount(base) <= _KEPT_BY_VIEW
    )


def laid_out(g: Any, like: Any) -> Any:
    """A copy of `g` with the strides of `like` if those leave no gaps, else in row-major order."""
    if not isinstance(g, ndarray) or type(like) is not ndarray:
        return settle(g)
    fresh = np.empty_like(like, dtype=g.dtype)
    if fresh.strides != like.strides and any(
        n > 1 and a != b for n, a, b in zip(like.shape, like.strides, fresh.strides, strict=True)
    ):
        fresh = np.empty(like.shape, g.dtype)
    np.copyto(fresh, g)
    return fresh


def connected_copy(g: Tensor, like: Any) -> Tensor:
    """A leaf's own buffer for a cotangent with history: other memory, the same node."""
    both = type(g._array) is ndarray and type(like) is ndarray
    copy = wrap(laid_out(g._array, like) if both else g._array.copy(), current_node(g))
    copy._tangents = g._tangents
    return copy


def _measure() -> int:
    """What `accumulate` counts for a buffer that the sweep alone holds; Python versions differ."""
    leaves, g = {None: np.empty(1)}, None
    _, g = leaves.popitem()
    return getrefcount(g)


def _measure_view() -> int:
    """What `_keeps` counts for memory that a view alone keeps."""
    count = lambda g, base: getrefcount(base)
    g = np.empty(1).reshape(1)
    return count(g, g.base)


_SOLE_OWNER = _measure()
_KEPT_BY_VIEW = _measure_view()


def mark_written(
    x: Tensor, name: str, line: tuple[CodeType, int] | None = None, ours: int = 1
) -> None:
    """Count a write to the storage of `x`, and remember who wrote and where: here, or that line.

    Of the frames around this one so many are known to be `ours`.
    """
    cell: Cell = x._cell or cell_of(x)
    if line is None:
        try:  # each frame that is looked at is made an object: of ours as few as may be
            frame = sys._getframe(ours + 1)
        except ValueError:  # nobody called it
            frame = sys._getframe(1)
        code = frame.f_code
        if INTERNAL.get(code.co_filename) is not False:
            frame = user_frame(frame)
            code = frame.f_code
        at = frame.f_lasti
    else:
        code, at = line
    cell.count += 1
    cell.writer = name, code, at  # a cell of machine code's knows by the count who was last
    cell.stamp = time = tick()
    view = x._origin
    if (view.base if type(view) is View else x)._node is None:
        # Views that outlived a detach_() of their base hold another value now.
        cell.rewritten = time


# ---- only part of the graph ----------------------------------------------------------------


class Targets:
    """The places that a sweep is to reach, as (node, output number); no node may run in vain.

    `captured` holds what arrived at each; with `accumulates` the leaves among them add it to their
    `.grad`. `passed` are the nodes that run: those on a path from a root to a target.
    """

    __slots__ = ("accumulates", "captured", "ends", "passed")
    inner = False
    """Whether it is part of a sweep around it, where hooks see all that arrives at the places."""

    def __init__(self, places: Iterable[tuple[Node, int]], accumulates: bool = False) -> None:
        self.captured: dict[tuple[Node, int], Any] = dict.fromkeys(places)
        self.ends = {node for node, _ in self.captured}
        self.accumulates = accumulates
        self.passed: set[Node] = set()

    def find(self, roots: Iterable[tuple[Edge, Any]]) -> set[Node]:
        """The nodes that run, and the targets' own, which are met although they need not run."""
        ends, passed = self.ends, self.passed
        # No path to a target leads through what is older than all of them. (A leaf's order is
        # the time of its creation, negative.)
        oldest = min([abs(node.order) for node in ends], default=0)
        # Oldest first, each node after the nodes its edges lead to.
        nodes = reachable(roots, oldest)
        for node in sorted(nodes, key=attrgetter("order")) if len(nodes) > 1 else nodes:
            if node.refuses:
                passed.add(node)
            for edge in node.edges:
                child = edge.node if type(edge) is Output else edge
                if child in passed or child in ends:
                    passed.add(node)
                    break
        return passed | ends

    def capture(self, node: Node, g: Any) -> None:
        """Note what arrived for targets that are outputs of this node."""
        if node not in self.ends:
            return
        for slot, item in enumerate((g,) if node.outputs == 1 else g):
            if (node, slot) in self.captured:
                self.captured[node, slot] = item


def reachable(roots: Iterable[tuple[Edge, Any]], oldest: int = 0) -> set[Node]:
    """All nodes from the roots down to the leaves, or without those made before a time `oldest`."""
    stack = [node_of(edge) for edge, _ in roots]
    seen = set(stack)
    while stack:
        for edge in stack.pop().edges:
            if edge is not None:
                node = edge.node if type(edge) is Output else edge
                if node not in seen and (not oldest or node.order >= oldest or node.refuses):
                    seen.add(node)
                    stack.append(node)
    return seen


def node_of(edge: Edge) -> Node:
    return edge.node if type(edge) is Output else edge  # type: ignore[return-value]


# ---- nesting -------------------------------------------------------------------------------


class _Task(threading.local):
    """What this thread knows of the sweep it is in, the innermost one."""

    def __init__(self) -> None:
        self.now = _begun(0, [], None)


class _Now:
    """One sweep. It has no `__init__`, like all that is made for each sweep or operation."""

    __slots__ = ("__weakref__", "callbacks", "nested", "reached", "roots", "targets")
    callbacks: list[Callable[[], None]]
    nested: int
    reached: set[Node] | None
    roots: list[tuple[Edge, Any]]
    targets: Targets | None


def _begun(nested: int, roots: list[tuple[Edge, Any]], targets: Targets | None) -> _Now:
    now = _Now()
    now.nested, now.roots, now.targets = nested, roots, targets
    now.reached, now.callbacks = None, []
    return now


_task = _Task()
MAX_NESTED = 20
"""So many sweeps may be nested on one stack; Python's own limit on recursion is not far beyond."""


def on_tensors() -> bool:
    """Whether this thread is inside of a level of forward mode, where sweeps run on Tensors."""
    return bool(modes.pushing and modes.current().duals)


def quietly(function: Callable[..., Any], *args: Any) -> Any:
    """The function's result, without NumPy's warnings about infinities and NaNs."""
    before = ERRORS.set(QUIET)
    try:
        return function(*args)
    finally:
        ERRORS.reset(before)


def run(
    roots: list[tuple[Edge, Any]], retain: bool, recorded: bool, targets: Targets | None = None
) -> None:
    """Sweep, as the innermost task of this thread."""
    outer = _task.now
    if outer.nested >= MAX_NESTED:
        _run_elsewhere(roots, retain, recorded, targets)
        return
    task = _task.now = _begun(outer.nested + 1, roots, targets)
    before = ERRORS.set(QUIET)  # the forward has already warned of infinities and NaNs
    try:
        if recorded or on_tensors():  # cotangents may carry tangents of forward mode
            with modes.set_grad_enabled(recorded):
                starts = [(edge, hooks.shown(g)) for edge, g in roots]
                sweep(starts, retain, True, targets)
        else:
            sweep(roots, retain, recorded, targets)
        while task.callbacks:
            task.callbacks.pop(0)()
    except FreedGraphError as error:
        saved.explain_freed(error, max(node_of(edge).order for edge, _ in roots))
        raise
    finally:
        ERRORS.reset(before)
        _task.now = outer


def _run_elsewhere(*arguments: Any) -> None:
    """A sweep nested deeply within others gets a thread, and so a stack, of its own."""
    failures: list[BaseException] = []
    state = modes.current()

    def elsewhere() -> None:
        modes.enter(state)
        try:
            run(*arguments)
        except BaseException as error:  # handed to the waiting thread, whatever it is
            failures.append(error)
        finally:
            modes.enter(modes.DEFAULT)

    # The context carries NumPy's error state and the user's context variables.
    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(elsewhere,), name="wengert nested sweep")
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
    """Whether the innermost sweep of this thread goes to given inputs only, as its user wants."""
    targets = _task.now.targets
    return targets is not None and not targets.inner


def will_reach(node: Node) -> bool:
    """Whether the innermost sweep of this thread comes to this node."""
    task = _task.now
    if task.reached is None:
        reached = reachable(task.roots)
        if task.targets is not None:
            reached &= task.targets.find(task.roots)
        task.reached = reached
    return node in task.reached


# ---- one node by itself --------------------------------------------------------------------


def call(node: Node, *grads: Any) -> Any:
    """A node as a function, from the cotangents of its outputs to those of its inputs.

    Recorded if this thread records. Nothing is freed, and hooks do not run.
    """
    if len(grads) != node.outputs:
        raise TypeError(
            f"expected {node.outputs} arguments, got {len(grads)} instead: {node.name()} takes the "
            "gradient of each of its outputs"
        )
    for i, g in enumerate(grads):
        if g is not None and not isinstance(g, Tensor):
            raise TypeError(
                f"argument {i} is not a Variable but {type(g).__name__}. Pass a tensor or None."
            )
    recorded = modes.is_grad_enabled() or on_tensors()
    gs = [hooks.hidden(g, recorded) for g in grads]
    if isinstance(node, AccumulateGrad):
        with ACCUMULATING:
            hooked = accumulate({node: gs[0]}, recorded)
        for leaf, g in hooked:
            hooks.after_accumulation(leaf, g, recorded)
        return ()
    if all(g is None for g in gs):
        pulled = node.pull_undefined(recorded)
    else:
        given = gs[0] if node.outputs == 1 else gs
        pulled = node.pull_recorded(given) if recorded else node.pull(given)
    results = (*map(hooks.shown, pulled), *[None] * node.numbers)
    return results[0] if len(results) == 1 else results


Node.__call__ = call
