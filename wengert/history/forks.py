"""Locks in a process that is forked: the child has one of its threads, and not who held a lock.

What a lock guards decides how the child comes by a free one. Where there is no `fork`, a lock is
just a lock. What a module is imported under is a lock of Python's, which is not free in the child
if another thread was importing: so a fork waits for the imports that this package has begun.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

PATIENCE = 10.0
"""Seconds that a fork waits for imports: one may wait for what the thread that forks is to do."""

_WAITED_FOR: list[Any] = []
"""In the order in which a fork takes them."""
_taken: list[Any] = []


def waited_for(lock: Any, by_finalizers: bool = False) -> Any:
    """A lock that a fork takes, so that in the child what it guards is whole.

    For work that waits for nothing else. Forks take such locks in the opposite order to that in
    which they are given here; so one that is taken while another is held must come before it. One
    that is taken `by_finalizers` may be taken while any other is held, as garbage is collected at
    any time: a fork takes it after all others.
    """
    _WAITED_FOR.insert(len(_WAITED_FOR) if by_finalizers else 0, lock)
    return lock


def _take() -> None:
    until = time.monotonic() + PATIENCE
    while True:
        for lock in _WAITED_FOR:
            lock.acquire()
            _taken.append(lock)
        if not _others_import() or time.monotonic() > until:
            return
        _free()  # the import may need one
        time.sleep(0.001)


def _free() -> None:
    while _taken:
        _taken.pop().release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_take, after_in_parent=_free, after_in_child=_free)


def _others_import() -> bool:
    me = threading.get_ident()
    return any(_imports(top) for thread, top in sys._current_frames().items() if thread != me)


def _imports(frame: FrameType | None) -> bool:
    """Whether on this stack, which ends here, a module of the package imports something."""
    package, importing = __name__.partition(".")[0], False
    while frame is not None:
        inside = "importlib" in frame.f_code.co_filename
        asks = str(frame.f_globals.get("__name__")).partition(".")[0]
        if importing and not inside and asks == package:
            return True
        frame, importing = frame.f_back, inside
    return False


def renewed(lock: Any) -> Any:
    """A lock that is free in the child, whoever held it: for work that may wait for the fork."""
    in_child(lock._at_fork_reinit)
    return lock


def in_child(function: Callable[[], None]) -> None:
    """Have a function called in each child."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=function)
