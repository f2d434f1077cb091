"""What goes through an object of a library, as a loop does: what that gives is asked again.

So is what is taken of an array that is not traced, as of one in a subclass: it is a new object.
"""

from __future__ import annotations

import itertools
import operator
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from wengert.compile.trace.observe.objects import ATOMS, CONTAINERS, static
from wengert.compile.trace.observe.operators import Decided
from wengert.compile.trace.observe.users import is_users_class
from wengert.compile.trace.world.asking import Asked, Asking
from wengert.compile.trace.world.readings import Made, Step, asks, is_asked
from wengert.errors import TracingError
from wengert.history.location import here, line_of

_IN_C = type(np.ndarray.T)


class Iterating(Asking):
    """The objects that one trace goes through."""

    def _trusted(self, callee: Any, args: Any, named: Any) -> Any:
        if goes_through(callee) and not self.telling:
            args = tuple([x if isinstance(x, CONTAINERS) else self.whole(x) for x in args])
        if isinstance(callee, type) and issubclass(callee, dict) and not self.telling:
            args = tuple(map(self._of_items, args))
        return super()._trusted(callee, args, named)

    def _of_items(self, x: Any) -> Any:
        """What a dictionary is made of, where that is a library's mapping."""
        if isinstance(x, CONTAINERS) or not hasattr(type(x), "keys") or not self._gives_items(x):
            return x
        return {key: self.read_item(x, key) for key in self.whole(x)}

    def read_item(self, owner: Any, key: Any) -> Any:
        decided = self._taken(operator.getitem, owner, key)
        if decided is None and self._gives_items(owner):
            decided = self._operator(operator.getitem, owner, key)
        return super().read_item(owner, key) if decided is None else decided.result

    def _gives_items(self, owner: Any) -> bool:
        """Whether a library's code gives an object's items: one that is made, or a class.

        Those of containers were compared when they were given; the function may have set them.
        """
        if self.telling or isinstance(owner, CONTAINERS):
            return False
        if self._method(owner, "__getitem__") is not None:
            return False
        if isinstance(owner, type):
            return static(type(owner), "__getitem__") is not None
        return id(owner) in self.made and asks(owner, "__getitem__")

    def read_attribute(self, owner: Any, name: str) -> Any:
        member = static(type(owner), name) if isinstance(owner, np.ndarray) else None
        if type(member) is _IN_C or (type(member) is property and not self._of_user(member.fget)):
            decided = self._taken(getattr, owner, name)
            if decided is not None and isinstance(decided.result, np.ndarray):
                return decided.result
        return super().read_attribute(owner, name)

    def _taken(self, function: Any, owner: Any, *what: Any) -> Decided | None:
        """What is taken of an array which is not traced, if that can be asked again."""
        if self.telling or not isinstance(owner, np.ndarray) or not is_asked(owner):
            return None
        return self._operator(function, owner, *what)

    def whole(self, value: Any) -> Any:
        """What goes through an object of a library gets what it gives now, which is asked."""
        is_made, asked = id(value) in self.made, is_asked(value) or isinstance(value, type)
        if self.telling or not (is_made or (self.is_outside(value) and asked)):
            return super().whole(value)
        if not hasattr(type(value), "__iter__") or (not is_made and isinstance(value, Iterator)):
            return super().whole(value)
        given = items_of(value)
        if len(given) == _MANY:
            raise TracingError(
                f"a {type(value).__name__} is gone through in a compiled function, at\n"
                f"  {line_of(*here())}\nIt gives more than {_MANY - 1} items, or never ends. Go "
                "through it before the call, and pass a list."
            )
        if any(type(x) not in ATOMS for x in given):
            self.check_held(value)
        step = self._step(items_of, (value,), {})
        self._note_copied((value,), step)
        shared = all(type(x) in ATOMS or sys.getrefcount(x) > _ITEMS for x in given)
        given = self._compare(Asked(None, items_of, step), given, shared)
        self._note_items(step, given)
        return super().whole(given)

    def _note_items(self, step: Step, given: Any) -> None:
        """Of what an object gives, the objects of a library may be asked in their turn."""
        self._made(step, given)
        number = len(self.steps) - 1
        for k, x in enumerate(given):
            if not self.is_outside(x) and (is_asked(x) or is_users_class(type(x))):
                self._made(Step(operator.getitem, (Made(number, "tuple"), k), {}), x)


_MANY = 10_001


def items_of(x: Iterable[Any]) -> tuple[Any, ...]:
    """What an object gives that is gone through."""
    return (*itertools.islice(x, _MANY),)


_ITEMS = 3
"""References to an item that only a tuple holds which is gone through."""
_GOING = (list, tuple, set, frozenset, zip, map, filter, enumerate)


def goes_through(callee: Any) -> bool:
    """Whether a class of Python's goes through what it is given, now or later."""
    if callee is itertools.repeat:  # which gives what it is given
        return False
    return isinstance(callee, type) and (callee in _GOING or callee.__module__ == "itertools")
