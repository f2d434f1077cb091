"""What must be as it was for a program to be used again, beside its arguments.

The watch tells what the function reads: attributes of modules, globals, variables of enclosing
functions. What decides something by being what it is becomes a guard. Settings of optimizers are
numbers that the program reads; for the time of a trace, traced ones stand in their places.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import fields
from types import CellType, CodeType
from typing import Any

from wengert.compile.program.program import Value
from wengert.compile.trace.array import Trace
from wengert.compile.trace.inputs import Inputs
from wengert.compile.trace.places import Element, Gradient, Guard, Item, Length, Place, Variable
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
        self.enclosed: dict[CodeType, list[Any]] = {}
        """Of functions with variables of enclosing ones: what these held, call by call."""
        self.names: dict[int, str] = {}
        """What modules call their tensors, by id."""
        self.borrowed: list[tuple[dict[str, Any], str, Any]] = []
        self.settings: list[tuple[Any, list[Value], list[Guard]]] = []
        """Of each optimizer: what is traced, and what must hold if any of that is used."""

    def note(self, guard: Guard) -> None:
        self.guards.setdefault(_key(guard.place), guard)

    # ---- what the watch tells -------------------------------------------------------------------

    def attribute(self, owner: Any, name: str, value: Any) -> None:
        """An attribute of a module is read."""
        if type(value) is dict and name in _MEMBERS:
            for key, member in value.items():
                self._member(value, key, member)
        else:
            attributes = object.__getattribute__(owner, "__dict__")
            for mapping in (attributes, *(attributes.get(name, {}) for name in _MEMBERS)):
                if name in mapping:
                    self._member(mapping, name, value)
                    return

    def _member(self, mapping: dict[str, Any], key: str, member: Any) -> None:
        self.note(Guard(Item(mapping, key), member))
        if isinstance(member, Tensor):
            self.names.setdefault(id(member), key)

    def item(self, mapping: dict[str, Any], key: str, value: Any) -> None:
        """A user's function reads a global."""
        self.note(Guard(Item(mapping, key), value))

    def inside(self, owner: Any, names: Iterable[Any]) -> None:
        """A user's function names these attributes of an object, or keys of a dictionary."""
        mapping = owner if type(owner) is dict else getattr(owner, "__dict__", None)
        if type(mapping) is dict:
            for name in names:
                if name in mapping:
                    self.item(mapping, name, mapping[name])

    def variable(self, cell: Any) -> None:
        """A user's function has a variable of an enclosing one."""
        try:
            value = cell.cell_contents
        except ValueError:
            return
        self.note(Guard(Variable(cell), value))

    def forget_own(self) -> None:
        """Drop the variables that nobody else has any more: those of the function's own calls."""
        self.enclosed.clear()
        while own := [key for key, guard in self.guards.items() if _is_only_guarded(guard.place)]:
            for key in own:
                del self.guards[key]

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

    def final(self) -> list[Guard]:
        """All guards, those on settings that are used among them.

        What the function itself has changed is no condition on later calls.
        """
        used = {v for s in self.inputs.program.statements for v in s.inputs}
        for holder, values, guards in self.settings:
            if not used.isdisjoint(values):
                for guard in (*guards, *_remembered(holder)):
                    self.note(guard)
        for guard in self.inputs.decisive:
            self.note(guard)
        return [g for g in self.guards.values() if isinstance(g.place, Gradient) or g.holds()]


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


def _is_only_guarded(place: Any) -> bool:
    return type(place) is Variable and 0 < _holders(place) == _GUARD_ALONE


def _holders(place: Variable) -> int:
    """How many hold a variable, this call included; -1 if Python does not say."""
    return getattr(sys, "getrefcount", lambda _: -1)(place.cell)


_GUARD_ALONE = _holders(Variable(CellType()))


def _key(place: Place | Any) -> Any:
    """The same for the same place: what it leads through, by identity, and its key or index."""
    if not isinstance(place, Place):
        return place if type(place) in (str, int) else id(place)
    return type(place), *(_key(getattr(place, field.name)) for field in fields(place))
