"""What must be as it was for a program to be used again, beside its arguments.

The world, the optimizers' settings and the leaves' hooks tell what was read there. What decides
something by being what it is becomes a guard.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wengert.compile.trace.arrays.array import Trace
from wengert.compile.trace.observe import contents, will_call
from wengert.compile.trace.world.inputs import Inputs
from wengert.compile.trace.world.places import Attribute, Gradient, Guard, key_of, unchanged
from wengert.compile.trace.world.settings import Settings
from wengert.history.node import AccumulateGrad, Node
from wengert.history.surroundings import EVER, EVERYWHERE
from wengert.tensor import Tensor

_MEMBERS = ("_modules", "_parameters", "_buffers")  # where a module keeps what it consists of


class Conditions:
    """The guards of one trace."""

    def __init__(self, trace: Trace, inputs: Inputs) -> None:
        self.trace = trace
        self.inputs = inputs
        self.guards: dict[Any, Guard] = {}
        """By place: the first thing seen there counts."""
        self.names: dict[int, str] = {}
        """What modules call their tensors, by id."""
        self.settings = Settings(trace, inputs)

    def note(self, guard: Guard) -> None:
        self.guards.setdefault(key_of(guard.place), guard)

    def name(self, named: dict[str, Any]) -> None:
        """What tensors are called."""
        for name, value in named.items():
            if isinstance(value, Tensor):
                self.names.setdefault(id(value), name)

    def hooks(self, node: Node) -> None:
        """A leaf's gradient may be wanted: its hooks are what they are."""
        self.note(Guard(Attribute(node, "extras"), node.extras))
        held: list[Any] = []
        if isinstance(node, AccumulateGrad):
            self.note(Guard(Attribute(node, "post_hooks"), node.post_hooks))
            held.append(node.post_hooks)
        if node.extras is not None:
            by_slot = node.extras.tensor_hooks
            held += [node.extras.prehooks, node.extras.posthooks, by_slot, *by_slot.values()]
        for hooks in (hooks for hooks in held if hooks is not None):
            self.note(unchanged(hooks))
            for hook in contents(hooks):
                will_call(hook)

    # ---- the end --------------------------------------------------------------------------------

    def final(self) -> list[Guard]:
        """All guards. What the function itself has changed is no condition on later calls."""
        everywhere = map(unchanged, (*EVERYWHERE, *EVER))
        for guard in (*self.settings.guards(), *self.inputs.decisive, *everywhere):
            self.note(guard)
        return [g for g in self.guards.values() if isinstance(g.place, Gradient) or g.holds()]


def home_of(owner: Any, name: str) -> dict[str, Any] | None:
    """The dictionary that has an attribute of an object: its own, or one of a module's."""
    return next((mapping for mapping in homes(owner) if name in mapping), None)


def homes(owner: Any) -> Iterator[dict[str, Any]]:
    """The dictionaries that have an object's attributes."""
    own = getattr(owner, "__dict__", None)
    if type(own) is dict:
        yield own
        yield from (x for name in _MEMBERS if type(x := own.get(name)) is dict)
