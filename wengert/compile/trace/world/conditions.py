"""What must be as it was for a program to be used again, beside its arguments.

The world, the optimizers' settings and the leaves' hooks tell what was read there. What decides
something by being what it is becomes a guard.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wengert.compile.trace.arrays.array import Trace
from wengert.compile.trace.arrays.refusals import Postponed
from wengert.compile.trace.observe import contents, will_call
from wengert.compile.trace.observe.objects import ATOMS, same, written_with
from wengert.compile.trace.world.inputs import Inputs, Unsettled
from wengert.compile.trace.world.places import (
    MISSING,
    Attribute,
    Gradient,
    Guard,
    Place,
    key_of,
    owners,
    unchanged,
)
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
        self.changed: set[int] = set()
        """The ids of what the function has written in."""
        self.late: set[Any] = set()
        """The places that were first asked for after the function may have written there."""
        self.names: dict[int, str] = {}
        """What modules call their tensors, by id."""
        self.settings = Settings(trace, inputs)

    def note(self, guard: Guard, late: bool = False) -> None:
        key = key_of(guard.place)
        if key not in self.guards:
            self.guards[key] = guard
            if late or (self.changed and self._has_changed(guard.place)):
                self.late.add(key)

    def _has_changed(self, place: Place) -> bool:
        """Whether the function has written in what a place leads through."""
        return any(self.changed & written_with(owner) for owner in owners(place))

    def forget(self, part: Any) -> None:
        """The function has made this: it is no condition."""
        for key, guard in [*self.guards.items()]:
            if any(x is part for x in owners(guard.place)):
                del self.guards[key]

    def is_known(self, key: Any) -> bool:
        """Whether what is at a place has to be what it is."""
        return key in self.guards and self.guards[key].object is not MISSING

    def is_there(self, key: Any, value: Any) -> bool:
        """Whether this is at a place before each call."""
        if type(value) not in ATOMS or key in self.late or not self.is_known(key):
            return False
        return same(self.guards[key].object, value)

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

    def final(self, has_begun: bool) -> list[Guard]:
        """All guards, once all is as it was before the function wrote: what it asked for after that
        had depended on what was there before. What else has changed meanwhile, as a cache that
        fills, it may have seen in either state: it is traced again.

        If the trace `has_begun` state that is there from now on, the first call alone may have seen
        that there was none: it runs eagerly.
        """
        everywhere = map(unchanged, (*EVERYWHERE, *EVER))
        for guard in (*self.settings.guards(), *self.inputs.decisive, *everywhere):
            self.note(guard)
        return [self._settled(key, guard, has_begun) for key, guard in self.guards.items()]

    def _settled(self, key: Any, guard: Guard, has_begun: bool) -> Guard:
        if isinstance(guard.place, Gradient) or guard.holds():
            return guard
        if has_begun:
            raise Postponed
        if key not in self.late:
            raise Unsettled(guard)
        before = guard.place.read(())
        if guard.object is MISSING:
            return Guard(guard.place, MISSING, equal=before is MISSING)
        return Guard(guard.place, before)


def home_of(owner: Any, name: str) -> dict[str, Any] | None:
    """The dictionary that has an attribute of an object: its own, or one of a module's."""
    return next((mapping for mapping in homes(owner) if name in mapping), None)


def homes(owner: Any) -> Iterator[dict[str, Any]]:
    """The dictionaries that have an object's attributes."""
    own = getattr(owner, "__dict__", None)
    if type(own) is dict:
        yield own
        yield from (x for name in _MEMBERS if type(x := own.get(name)) is dict)
