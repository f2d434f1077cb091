"""History: nodes, the leaves where it ends, and the cells that count writes.

A `Node` is one recorded operation. Its edges point to the nodes that made its inputs; for output
number k > 0 of an operation an edge is an `Output(node, k)`. Nodes never hold the tensors they
made, so history has no reference cycles and dies by reference counting.
"""

from __future__ import annotations

import itertools
import weakref
from array import array
from collections.abc import Callable, Iterator
from types import CodeType
from typing import TYPE_CHECKING, Any, ClassVar

from wengert.history import modes

if TYPE_CHECKING:
    from wengert.rules.rule import Rule

tick = itertools.count(1).__next__
"""The clock: nodes take their creation time from it, cells the time of the last write."""


class Node:
    """One recorded operation, waiting to pull cotangents back through itself.

    `saved` holds what the rule named, `edges` where each differentiable input came from (None if
    it needs no gradient), `order` the time of creation, `code` and `at` the line that ran the
    operation, `extras` hooks and notes, None almost always. `direct` says that calling `pull` with
    one array is all there is to this node, or is who may do more where nothing else is left of a
    sweep: `direct.settle(saved, node, g)` pulls, and adds to the `.grad` of the leaves that are all
    that this node was made from; it tells whether that is done, else nothing is. `frees` says that
    `saved` may simply be dropped.
    """

    # Slots, not class attributes: the sweep reads them for every node.
    __slots__ = (
        "__weakref__",
        "at",
        "code",
        "direct",
        "edges",
        "extras",
        "frees",
        "order",
        "saved",
    )
    outputs: int = 1  # nodes with several have a slot for their number
    # Whether it is not known yet what lies before it, as at the begin of a loop's body.
    opens: ClassVar[bool] = False
    # Whether it raises for whoever goes back through it: what lies before it is not known.
    refuses: ClassVar[bool] = False
    rule: ClassVar[Rule | None] = None
    selecting: ClassVar[Callable[[bool], Callable[..., Any]]]
    """`pull`, or recorded, where zeros stay zero; nodes of a rule have it."""
    # How many inputs were Python numbers. They have no edge, but users see them, as in PyTorch.
    numbers: ClassVar[int] = 0
    # What the items of `saved` are called: arguments of the function, "y" for its output, ...
    fields: ClassVar[tuple[str, ...]] = ()

    edges: tuple[Any, ...]
    saved: Any
    order: int
    code: CodeType | None
    at: int
    extras: Extras | None
    direct: Any
    frees: bool

    # No __init__: the recorders set every slot themselves, and calling the bare class is quickest.

    def begin(self, edges: tuple[Any, ...] = ()) -> None:
        """Set the slots of a node that is made otherwise than by a recorder."""
        if edges and modes.special and modes.current().level is not None:
            edges = modes.current().level.bridged(edges)
        self.edges = edges
        self.saved = ()
        self.order = tick()
        self.extras = None
        self.direct = self.frees = False
        self.code, self.at = None, 0

    def pull(self, g: Any) -> Any:
        """The inputs' cotangents, from plain arrays to plain arrays."""
        raise NotImplementedError

    def pull_recorded(self, g: Any) -> Any:
        """`pull` from Tensors to Tensors: the derivative is recorded in its turn."""
        raise NotImplementedError

    __call__: ClassVar[Callable[..., Any]]
    """A node as a function of the cotangents of its outputs; see `autograd.engine.call`."""

    def pull_undefined(self, recorded: bool) -> Any:
        """What to pass on when no cotangent arrived at all."""
        return (None,) * len(self.edges)

    def release(self, freed: Any) -> None:
        """Let go of saved values after a pass that does not retain them; leave `freed` there."""

    # ---- what users see -------------------------------------------------------------------

    if TYPE_CHECKING:  # the class of each rule has `_saved_self` and so on: `autograd/saved.py`

        def __getattr__(self, name: str) -> Any: ...

    def name(self) -> str:
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        return (*map(source, self.edges), *[(None, 0)] * self.numbers)

    @property
    def metadata(self) -> dict[Any, Any]:
        return self._extras().metadata

    def _sequence_nr(self) -> int:
        return self.order

    def _extras(self) -> Extras:
        if self.extras is None:
            self.extras = Extras()
        return self.extras

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(grad_inputs, grad_outputs)` after this node.

        A tuple returned replaces the gradients of the inputs.
        """
        return RemovableHandle(self._extras().posthooks, hook)

    def register_prehook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(grad_outputs)` before this node; a tuple returned replaces them."""
        return RemovableHandle(self._extras().prehooks, hook)

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"


class Output:
    """Output number `slot` > 0 of a node that has several."""

    __slots__ = ("__weakref__", "node", "slot")
    direct: ClassVar[bool] = False  # not a node: the sweep looks at `node` and `slot`

    def __init__(self, node: Node, slot: int) -> None:
        self.node = node
        self.slot = slot


def source(edge: Node | Output | None) -> tuple[Node | None, int]:
    """An edge as PyTorch shows it: (node, output number)."""
    return (edge.node, edge.slot) if isinstance(edge, Output) else (edge, 0)


class Extras:
    """What few nodes have: hooks, notes, the traceback kept in anomaly mode.

    `tensor_hooks` and `retainers` are lists of (slot, ...): they run on the sum of all
    contributions to that output, before the node itself.
    """

    __slots__ = ("metadata", "posthooks", "prehooks", "retainers", "tensor_hooks")

    def __init__(self) -> None:
        self.metadata: dict[Any, Any] = {}
        self.prehooks: dict[int, Any] = {}
        self.posthooks: dict[int, Any] = {}
        self.tensor_hooks: dict[int, dict[int, Any]] = {}
        self.retainers: dict[int, weakref.ref[Any]] = {}

    def copy(self) -> Extras:
        """A copy, to which hooks are added by themselves."""
        extras = Extras()
        extras.metadata, extras.retainers = self.metadata, self.retainers.copy()
        extras.prehooks, extras.posthooks = self.prehooks.copy(), self.posthooks.copy()
        extras.tensor_hooks = {slot: hooks.copy() for slot, hooks in self.tensor_hooks.items()}
        return extras


class RemovableHandle:
    """What registering a hook returns: `remove()` takes the hook away, as often as you like.

    The hook comes last among the `hooks`, or `first` if they have an order.
    """

    __slots__ = ("_hooks", "id")
    _ids: ClassVar[Iterator[int]] = itertools.count()

    def __init__(self, hooks: Any, hook: Any, first: bool = False) -> None:
        self.id = next(self._ids)
        self._hooks = hooks
        hooks[self.id] = hook
        if first:
            self._hooks.move_to_end(self.id, last=False)

    def remove(self) -> None:
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


class AccumulateGrad(Node):
    """Where history ends: adds what arrives to its leaf's `.grad`.

    The leaf owns its accumulator, not the other way round.
    """

    __slots__ = ("leaf", "post_hooks")

    def __init__(self, leaf: Any) -> None:
        self.begin()
        self.order = -self.order
        self.leaf = weakref.ref(leaf)
        self.post_hooks: dict[int, Any] | None = None

    @property
    def variable(self) -> Any:
        return self.leaf()


class Cell:
    """Counts the writes to one storage; the views of a storage share its cell.

    `stamp` is the time of the last write: a node made before it that saved the storage finds its
    value overwritten. `rewritten` is the time when a write last rewrote the base's history: views
    that were taken before it look up their own anew. `writer` says which operation wrote last, and
    where.
    """

    __slots__ = ("__dict__", "__weakref__", "memory")

    memory: array[int]  # of a SharedCell
    # Defaults of the class, not an __init__: making a cell must cost next to nothing.
    count = 0
    stamp = 0
    rewritten = 0
    writer: tuple[str, CodeType | None, int] | None = None

    def numbers(self) -> tuple[Any, ...]:
        return self.count, self.stamp, self.rewritten, self.writer

    def hold(self, numbers: tuple[Any, ...]) -> None:
        self.count, self.stamp, self.rewritten, self.writer = numbers


def _in_memory(index: int) -> Any:
    def read(cell: Any) -> int:
        return cell.memory[index]

    def write(cell: Any, number: int) -> None:
        cell.memory[index] = number

    return property(read, write)


class SharedCell(Cell):
    """A cell of which machine code has a part: its numbers lie in `memory`, in this order."""

    __slots__ = ()

    count = _in_memory(0)
    stamp = _in_memory(1)
    rewritten = _in_memory(2)

    @staticmethod
    def become(cell: Cell) -> None:
        """A cell stays the same object: views and nodes have it."""
        if type(cell) is Cell:
            numbers = cell.numbers()
            cell.memory = array("q", [0, 0, 0])
            cell.__class__ = SharedCell
            cell.hold(numbers)

    @property
    def writer(self) -> Any:
        """Machine code counts and leaves no name."""
        count, writer = self.__dict__["told"]
        return writer if count == self.count else ("a compiled function", None, 0)

    @writer.setter
    def writer(self, writer: Any) -> None:
        self.__dict__["told"] = self.count, writer


def move_retainer(x: Any, node: Node | Output | None) -> None:
    """`retain_grad` follows a tensor to its new value: from the node it has to `node`."""
    old, slot = source(x._node)
    if old is None or old.extras is None:
        return
    reference = old.extras.retainers.get(slot)
    if reference is not None and reference() is x:
        del old.extras.retainers[slot]
        new, slot = source(node)
        if new is not None:
            new._extras().retainers[slot] = reference
