"""Work without collections of garbage: a compilation or an import needs all objects that it makes.

A collection looks through what lives, again and again while more is made. What is set aside is the
threshold that starts collections, not whether they are on: `gc.isenabled`, `gc.disable` and
`gc.collect` keep their meaning for all threads, and a threshold that somebody sets meanwhile stays.
"""

from __future__ import annotations

import ast
import gc
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from wengert.history import forks

NEVER = 1 << 30
"""So many objects are not made. No one else has this number, so it says who set it."""


class _Work:
    """It is in progress as long as it is there: an interrupted end does not make it last."""


_working: weakref.WeakSet[_Work] = weakref.WeakSet()
_before: tuple[int, ...] = gc.get_threshold()


@contextmanager
def uncollected() -> Iterator[None]:
    """No collection starts by itself within; as a decorator, while the function runs.

    The last such work that ends, in any thread, sets the threshold to what the first one found.
    """
    work = _Work()
    try:  # an interrupt may come before each line: `_end` does what is left to do
        _begin(work)
        yield
    finally:
        _end(work)


# Without a lock: who begins while another ends may be collected, but whoever is last to end, ends.


def _begin(work: _Work) -> None:
    global _before
    _working.add(work)
    thresholds = gc.get_threshold()
    if thresholds[0] != NEVER:
        _before = thresholds
        gc.set_threshold(NEVER)


def _end(work: _Work) -> None:
    _working.discard(work)
    if not _working and gc.get_threshold()[0] == NEVER:
        gc.set_threshold(*_before)


@uncollected()
def parsed(text: str | bytes, mode: str = "exec") -> Any:
    """The syntax tree of a text, as `ast.parse` makes it, which fails where threads meet in it.

    Up to 3.11.7 Python counts in one place, for all of them, how deep a tree is, and raises
    SystemError when the number is another one in the end. They meet there while garbage is
    collected, by finalizers and by those who are told of it.
    """
    return ast.parse(text, mode=mode)


def _in_child() -> None:
    """Work of other threads ends nowhere."""
    _working.clear()
    _end(_Work())


forks.in_child(_in_child)
