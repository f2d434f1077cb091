"""What comes at any time, and calls what is no part of a trace: garbage collected, and signals.

Between the first and the last of `gc.callbacks` the functions there run, and finalizers. A signal's
handler runs between any two instructions. Nobody watches meanwhile, and what they read and write
is real.
"""

from __future__ import annotations

import atexit
import functools
import gc
import signal
from collections.abc import Container, Iterator
from threading import get_ident
from types import FunctionType, MethodType
from typing import Any

from wengert.compile.trace.observe import rewrite
from wengert.compile.trace.observe.objects import static
from wengert.compile.trace.world import watch

FINALIZER, HANDLER = "a finalizer", "a signal's handler"
_ABSENT = object()
_looking_aside: dict[int, tuple[str, Any, Any, Any]] = {}
"""By thread: why, the capture, the observer, and what stood where the function has written."""


def begin(why: str) -> None:
    """Look aside, if this thread is observed; what comes in the midst of that changes nothing."""
    observer = rewrite.THREAD.observer
    if observer is None or observer.telling:
        return
    thread = get_ident()
    if thread in _looking_aside:
        return
    capture = watch.CAPTURES.get(thread, _ABSENT)
    _looking_aside[thread] = why, capture, observer, observer.standing_now()
    if capture is not _ABSENT:
        watch.CAPTURES[thread] = None
    rewrite.THREAD.observer = None


def end(why: str) -> None:
    thread = get_ident()
    before = _looking_aside.get(thread)
    if before is not None and before[0] == why:
        _, capture, observer, stood = before
        rewrite.THREAD.observer = observer
        if capture is not _ABSENT:
            watch.CAPTURES[thread] = capture
        del _looking_aside[thread]
        observer.came(why, stood)


# ---- garbage ---------------------------------------------------------------------------------


def _begin(phase: str, info: Any) -> None:
    if phase == "start":
        begin(FINALIZER)


def _end(phase: str, info: Any) -> None:
    if phase == "stop" and _looking_aside:
        end(FINALIZER)


def expect() -> None:
    """Be the first and the last that are told of collections; once set, for as long as Python."""
    told = gc.callbacks
    if not told or told[0] is not _begin or told[-1] is not _end:
        told[:] = [_begin, *(f for f in told if f is not _begin and f is not _end), _end]


def _leave() -> None:
    """Python ends: what is collected while its modules are taken apart finds nothing here."""
    gc.callbacks[:] = callbacks()


atexit.register(_leave)


def callbacks() -> list[Any]:
    """Who else is told of collections."""
    return [f for f in gc.callbacks if f is not _begin and f is not _end]


# ---- signals ---------------------------------------------------------------------------------


_SIGNALS = tuple(map(int, signal.valid_signals()))


def handlers() -> Iterator[FunctionType]:
    """The functions that handle signals."""
    for number in _SIGNALS:
        handler: Any = signal.getsignal(number)
        if callable(handler):
            while isinstance(handler, MethodType | functools.partial):
                handler = handler.__func__ if isinstance(handler, MethodType) else handler.func
            if not isinstance(handler, FunctionType):
                handler = static(type(handler), "__call__")
            if isinstance(handler, FunctionType):
                yield handler


def raised_by(error: BaseException, codes: Container[int]) -> bool:
    """Whether an error came out of code with one of these ids."""
    step = error.__traceback__
    while step is not None:
        if id(step.tb_frame.f_code) in codes:
            return True
        step = step.tb_next
    return False
