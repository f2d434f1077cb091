"""What a function may depend on besides its arguments: classes tell it here, for who must know.

A compiled function has to know whose attributes decide what is done, and which objects hold
numbers that are the user's to change. It asks here, and nobody has to know it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

BEFORE_ONCE: list[Callable[[], Any]] = []
"""Called before what is done once only, as a lazy module takes shape: who makes a program of what a
function does cannot have it there.
"""

BEGINNING: list[Callable[[Any], Any]] = []
"""Told of each object that is made of the classes that decide, before it has anything."""

DECIDING: list[type] = []
"""Classes whose instances' attributes decide what functions do: modules."""

EVERYWHERE: list[Any] = []
"""Containers of the process whose contents decide what functions do: of hooks of all modules."""

EVER: list[Any] = []
"""Dictionaries of the process that say what has ever been done: that a module got a hook."""

IN_TENSORS: list[type] = []
"""Classes that keep in tensors what their methods change: scalers of losses."""

KNOWING: list[type] = []
"""Classes whose instances tell by themselves what they depend on: compiled functions."""

SETTINGS: list[type] = []
"""Classes whose instances' `param_groups` hold numbers to be read at each use: optimizers."""

EXCHANGING: list[Callable[..., bool]] = []
"""Who writes, as `write(value, container, key)`, an entry that `exchange` puts, if it says True."""

UNHEARD: list[Callable[..., Any]] = []
"""Who calls, as `call(function, *args)`, what calls nothing of the user's: see `unheard`."""


def exchange(container: Any, key: Any, value: Any) -> None:
    """Put an entry in a container of the user's for a while, as tensors in place of parameters: who
    makes a program of what a function does must know what it reads there.
    """
    if not any(write(value, container, key) for write in EXCHANGING):
        container[key] = value


def unheard(function: Callable[..., Any], *args: Any) -> Any:
    """Call what calls nothing of the user's: a trace, which Python tells of all calls at half its
    speed, need not be told of these.
    """
    for call in UNHEARD:
        return call(function, *args)
    return function(*args)
