"""What must be as it was for a program to be used again, beside its arguments.

The watch tells what the function reads: attributes of modules, globals, variables of enclosing
functions. What decides something by being what it is becomes a guard. Settings of optimizers are
numbers that the program reads; for the time of a trace, traced ones stand in their places.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wengert.compile.program.program import Value
from wengert.compile.trace.array import Trace
from wengert.compile.trace.identity import ByIdentity
from wengert.compile.trace.inputs import Inputs
from wengert.compile.trace.places import Element, Gradient, Guard, Item, Length, key_of
from wengert.history.surroundings import SETTINGS
from wengert.tensor import Tensor

_MEMBERS = ("_modules", "_parameters", "_buffers")  # where a module keeps what it consists of


class Conditions:
    """The guards of one trace, and the settings that it borrows."""

    def __init__(self, trace: Trace, inputs: Inputs) -> None:
        self.trace = trace
        self.inputs = inputs
        self.guards: dict[Any, Guard] = {}
        """By place: the first thing seen there counts."""
        self.names: dict[int, str] = {}
        """What modules call their tensors, by id."""
        self.borrowed: list[tuple[dict[str, Any], str, Any]] = []
        self.settings: list[tuple[Any, list[Value], list[Guard]]] = []
        """Of each optimizer: what is traced, and what must hold if any of that is used."""

    def note(self, guard: Guard) -> None:
        self.guards.setdefault(key_of(guard.place), guard)

    # ---- what the watch tells -------------------------------------------------------------------

    def attribute(self, owner: Any, name: str, value: Any) -> None:
        """The library's code reads an attribute of a module, and may go through what it holds."""
        home = home_of(owner, name)
        if home is not None:
            self.note(Guard(Item(home, name), value))
            if isinstance(value, Tensor):
                self.names.setdefault(id(value), name)
        if isinstance(value, list | dict):
            for guard in contents(value):
                self.note(guard)

    # ---- settings of optimizers -----------------------------------------------------------------

    def borrow_settings(self) -> None:
        """Put traced numbers in the place of optimizers' settings."""
        for holder in list(SETTINGS):
            values: list[Value] = []
            guards = [Guard(Item(vars(holder), "param_groups"), holder.param_groups)]
            for i, group in enumerate(holder.param_groups):
                for key, number in list(group.items()):
                    if type(number) is float:
                        name = f"{key}_{i}" if i else key
                        values.append(self._borrow(group, key, number, name))
                    else:
                        guards.append(Guard(Item(group, key), number))
            self.settings.append((holder, values, guards))

    def _borrow(self, group: dict[str, Any], key: str, number: float, name: str) -> Value:
        value = self.inputs.number(Item(group, key), number, name)
        self.borrowed.append((group, key, number))
        group[key] = self.trace.array(value)
        return value

    def give_back(self) -> None:
        for group, key, number in self.borrowed:
            group[key] = number

    # ---- the end --------------------------------------------------------------------------------

    def final(self, found: ByIdentity[Tensor, Any]) -> list[Guard]:
        """All guards, those on settings that are used among them; `found` has the tensors met.

        What the function itself has changed is no condition on later calls.
        """
        used = {v for s in self.inputs.program.statements for v in s.inputs}
        for holder, values, guards in self.settings:
            trained = (p for group in holder.param_groups for p in group["params"])
            if not used.isdisjoint(values) or any(p in found for p in trained):
                for guard in (*guards, *_remembered(holder)):
                    self.note(guard)
        for guard in self.inputs.decisive:
            self.note(guard)
        return [g for g in self.guards.values() if isinstance(g.place, Gradient) or g.holds()]


def home_of(owner: Any, name: str) -> dict[str, Any] | None:
    """The dictionary that has an attribute of an object: its own, or one of a module's."""
    own = getattr(owner, "__dict__", None)
    if type(own) is not dict:
        return None
    for mapping in (own, *(own.get(name, {}) for name in _MEMBERS)):
        if type(mapping) is dict and name in mapping:
            return mapping
    return None


def _remembered(optimizer: Any) -> Iterator[Guard]:
    """What an optimizer goes through, and where it looks for what it remembers of each tensor."""
    yield from contents(optimizer.param_groups)
    for group in optimizer.param_groups:
        yield from contents(group["params"])
    yield Guard(Item(vars(optimizer), "state"), optimizer.state)
    yield from contents(optimizer.state)
    for remembered in optimizer.state.values():
        yield from contents(remembered)


def contents(container: list[Any] | dict[Any, Any]) -> Iterator[Guard]:
    """A list or a dictionary has these items, and no others."""
    yield Guard(Length(container), len(container))
    if isinstance(container, dict):
        yield from (Guard(Item(container, key), item) for key, item in container.items())
    else:
        yield from (Guard(Element(container, i), item) for i, item in enumerate(container))
