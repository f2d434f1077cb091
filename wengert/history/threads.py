"""How many threads share the work of one large loop: said here, done by the machine code."""

from __future__ import annotations

import os
from collections.abc import Callable


def _asked() -> int:
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return int(asked) if asked.isdecimal() and int(asked) > 0 else 1


_number = _asked()
_told: list[Callable[[int], None]] = []


def number() -> int:
    """So many threads, the one that asks for the work among them."""
    return _number


def use(number: int) -> None:
    """Let so many threads share the work from now on."""
    global _number
    _number = number
    for tell in _told:
        tell(number)


def follow(tell: Callable[[int], None]) -> None:
    """Have a function told of the number, now and when it changes."""
    _told.append(tell)
    tell(_number)
