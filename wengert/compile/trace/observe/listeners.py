"""Who has Python tell an observer of the calls in a thread."""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any


class Kind(enum.IntEnum):
    """What code is to every observer: once that is noted, its calls need not be told again."""

    ENGINE = 1
    OBSERVED = 2
    LIBRARY = 3
    """Told again where it is called by observed code."""


class Listener:
    """Tells of every call, whatever was noted."""

    def listen(self, event: Callable[..., Any], acting: frozenset[int]) -> None:
        """Have `event(frame, name, argument)` called as `sys.setprofile` does; at least for calls
        of functions whose kind is not noted, their returns, and functions in C that act."""
        sys.setprofile(event)

    def note(self, code: CodeType, kind: Kind) -> None:
        """Calls of this code are of a kind, for all observers and for ever."""


EVERY_CALL = Listener()
