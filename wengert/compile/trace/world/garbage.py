"""Collections of garbage: they come at any time, and what they call is no part of a trace.

Between the first and the last of `gc.callbacks` the functions there run, and finalizers. Nobody
watches meanwhile, and what they read and write is real.
"""

from __future__ import annotations

import gc
from threading import get_ident
from typing import Any

from wengert.compile.trace.observe import rewrite
from wengert.compile.trace.world import watch

_ABSENT = object()
_looking_aside: dict[int, tuple[Any, Any, Any]] = {}
"""By thread: the capture, the observer, and what stood where the function has written."""


def _begin(phase: str, info: Any) -> None:
    observer = rewrite.THREAD.observer
    if phase != "start" or observer is None or observer.telling:
        return
    thread = get_ident()
    capture = watch.CAPTURES.get(thread, _ABSENT)
    _looking_aside[thread] = capture, observer, observer.standing_now()
    if capture is not _ABSENT:
        watch.CAPTURES[thread] = None
    rewrite.THREAD.observer = None


def _end(phase: str, info: Any) -> None:
    if phase != "stop" or not _looking_aside:
        return
    thread = get_ident()
    before = _looking_aside.get(thread)
    if before is not None:
        capture, observer, stood = before
        rewrite.THREAD.observer = observer
        if capture is not _ABSENT:
            watch.CAPTURES[thread] = capture
        del _looking_aside[thread]
        observer.collected(stood)


def expect() -> None:
    """Be the first and the last that are told of collections; once set, for as long as Python."""
    told = gc.callbacks
    if not told or told[0] is not _begin or told[-1] is not _end:
        told[:] = [_begin, *(f for f in told if f is not _begin and f is not _end), _end]


def callbacks() -> list[Any]:
    """Who else is told of collections."""
    return [f for f in gc.callbacks if f is not _begin and f is not _end]
