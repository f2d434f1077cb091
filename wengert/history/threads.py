"""How many threads share the work of one large loop: said here, done by the machine code."""

from __future__ import annotations

import os
from collections.abc import Callable


def _asked(*names: str) -> int | None:
    """How many threads the environment asks for, by the first of these names that says."""
    for name in names:
        said = os.environ.get(name, "")
        if said.isdecimal() and int(said) > 0:
            return int(said)
    return None


def of_blas() -> int:
    """How many threads BLAS uses, as far as one can tell from outside."""
    asked = _asked("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
    if asked is not None:
        return asked
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


AT_FIRST = _asked("OMP_NUM_THREADS") or 1
"""How many threads there are until `use` says otherwise."""
_number = AT_FIRST
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
