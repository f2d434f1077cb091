"""Optimizers as a trace sees them: their settings are numbers that the program reads at each call.

The groups that the library's code gets are copies, in which traced numbers stand for floats; those
of the optimizer stay as they are. What is no float is a condition on later calls, if it was asked
for: a user may keep anything there, as a count of steps.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from typing import Any

from wengert.compile.trace.arrays.array import Trace
from wengert.compile.trace.arrays.identity import ByIdentity
from wengert.compile.trace.observe.objects import contents
from wengert.compile.trace.observe.users import is_users_class
from wengert.compile.trace.world.inputs import Inputs
from wengert.compile.trace.world.places import Guard, Item, is_number, key_of, unchanged
from wengert.errors import TracingError

Group = dict[str, Any]


class Copy(Group):
    """A copy of a group, that knows for what of it was asked."""

    def __init__(self, items: Group) -> None:
        super().__init__(items)
        self.asked: set[str] = set()
        self.check: Callable[[], None] | None = None
        """Called where a setting is asked for: a schedule may have changed it before."""


def _asking(name: str) -> Any:
    """A method of dictionaries that asks for the item of a key, or for all of them."""
    method = getattr(dict, name)

    def asks(self: Copy, *args: Any) -> Any:
        keys = args[:1] if name in _OF_A_KEY else (*dict.keys(self),)
        if self.check is not None and any(key != "params" for key in keys):
            self.check()
        self.asked.update(keys)
        return method(self, *args)

    return asks


_OF_A_KEY = ("__getitem__", "__contains__", "get")
_OF_ALL = (
    *("__iter__", "__reversed__", "keys", "values", "items", "copy"),
    *("__eq__", "__ne__", "__or__", "__ror__", "__repr__"),
)
for _name in (*_OF_A_KEY, *_OF_ALL):
    setattr(Copy, _name, _asking(_name))


@dataclass(slots=True, eq=False)
class Seen:
    """The groups of an optimizer, what they hold, the copies, and what these held at first; and
    where it remembers something of tensors, with those of which it did.
    """

    optimizer: Any
    groups: list[Group]
    held: list[Group]
    copies: list[Copy]
    given: list[Group]
    state: dict[Any, Any]
    known: dict[int, Any]

    def follow(self) -> None:
        """Let the copies have what the function has put into the groups themselves."""
        for group, held, copy, given in zip(
            self.groups, self.held, self.copies, self.given, strict=True
        ):
            for key, setting in group.items():
                if setting is not held.get(key):
                    held[key] = copy[key] = given[key] = setting


class Settings:
    """The optimizers that one trace has met."""

    def __init__(self, trace: Trace, inputs: Inputs) -> None:
        self.trace = trace
        self.inputs = inputs
        self.written: Container[Any] = ()
        """The keys of places that the function has written: what is there is not the caller's."""
        self.before: dict[int, tuple[Any, ...]] = {}
        """What containers held that the function has changed, by id."""
        self._seen: ByIdentity[Any, Seen] = ByIdentity()
        self._made: ByIdentity[Any, None] = ByIdentity()
        """Optimizers that the function makes: what they hold is their own."""

    def groups_of(self, optimizer: Any, groups: Any, check: Callable[[Any, str], None]) -> Any:
        """`param_groups` is read; `check` a group before a setting is asked for."""
        if optimizer in self._made or groups is None:
            return groups
        seen = self._seen.get(optimizer)
        if seen is None:
            seen = self._seen[optimizer] = self._see(optimizer, groups)
        seen.follow()
        for group, copy in zip(seen.groups, seen.copies, strict=False):
            copy.check = functools.partial(check, group, "setting of an optimizer")
        return seen.copies

    def may_set(self, optimizer: Any, before: Any) -> bool:
        """Whether the function may set `param_groups`: if it makes the optimizer."""
        if before is None:
            self._made[optimizer] = None
        return optimizer in self._made

    def _see(self, optimizer: Any, groups: list[Group]) -> Seen:
        copies = [
            Copy({key: self._traced(group, key, x, i) for key, x in group.items()})
            for i, group in enumerate(groups)
        ]
        held, given = [*map(dict, groups)], [dict(dict.items(copy)) for copy in copies]
        state = vars(optimizer)["state"]
        before = self.before.get(id(state), contents(state))
        known = {id(key): key for key in before[: len(before) // 2]}
        return Seen(optimizer, groups, held, copies, given, state, known)

    def _traced(self, group: Group, key: str, setting: Any, i: int) -> Any:
        place = Item(group, key)
        if not is_number(setting) or key_of(place) in self.written:
            return setting
        value = self.inputs.number(place, setting, f"{key}_{i}" if i else key)
        return self.trace.array(value)

    # ---- the end --------------------------------------------------------------------------------

    def forgets(self, changed: Container[int]) -> bool:
        """Whether the function has changed what an optimizer remembers; the ids of what it has
        changed.
        """
        for seen in self._seen.values():
            own = vars(seen.optimizer)
            remembered = own["state"], *own["state"].values()
            if key_of(Item(own, "state")) in self.written or any(
                id(x) in changed for x in remembered
            ):
                return True
        return False

    def begun(self) -> list[tuple[Any, Any]]:
        """Where optimizers remember something of tensors of which they did not before."""
        return [
            (seen.state, key)
            for seen in self._seen.values()
            for key in seen.state
            if id(key) not in seen.known
        ]

    def check(self) -> None:
        """Settings are the caller's to change: what the function did to a copy would be lost."""
        for seen in self._seen.values():
            if len(seen.copies) != len(seen.given):
                raise _changed("the list")
            for copy, given in zip(seen.copies, seen.given, strict=True):
                now = dict(dict.items(copy))
                for key in now.keys() | given.keys():
                    if now.get(key) is not given.get(key):
                        raise _changed(repr(key))

    def guards(self) -> Iterator[Guard]:
        """What must be as it was: all that was asked for but the floats."""
        for seen in self._seen.values():
            yield Guard(Item(vars(seen.optimizer), "param_groups"), seen.groups)
            yield unchanged(seen.groups)
            for group, copy in zip(seen.groups, seen.copies, strict=True):
                asked = ((key, x) for key, x in group.items() if key in copy.asked)
                yield from (Guard(Item(group, key), x) for key, x in asked if not is_number(x))
                yield unchanged(group["params"])
            yield from remembered(seen.optimizer, self.written)


OF_A_STEP = frozenset({"step", "zero_grad"})
"""The methods that a program may call whatever an optimizer remembers at first."""


def remembered(optimizer: Any, written: Container[Any] = ()) -> Iterator[Guard]:
    """The hooks of an optimizer, and where it looks for what it remembers of each tensor."""
    for name in ("_before", "_after", "state"):
        yield Guard(Item(vars(optimizer), name), vars(optimizer)[name])
        yield unchanged(vars(optimizer)[name])
    if not is_users_class(type(optimizer)):
        yield from map(unchanged, optimizer.state.values())
        return
    # Numbers, as the count of its steps, are read where the user's own code asks for them.
    for values in optimizer.state.values():
        for key, x in values.items() if type(values) is dict else ():
            place = Item(values, key)
            if type(x) not in (int, float) and key_of(place) not in written:
                yield Guard(place, x)


def _changed(what: str) -> TracingError:
    return TracingError(
        f"a compiled function, or a schedule that it steps, changes {what} in an optimizer's "
        "param_groups. Change settings between its calls: it reads them at each."
    )
