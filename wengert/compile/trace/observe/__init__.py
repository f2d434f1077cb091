"""Observing a user's function: every read from outside and every write to it, with its owner."""

from __future__ import annotations

from typing import Any

from wengert.compile.trace.observe import rewrite
from wengert.compile.trace.observe.events import MISSING as MISSING
from wengert.compile.trace.observe.events import Read as Read
from wengert.compile.trace.observe.events import Unobserved as Unobserved
from wengert.compile.trace.observe.events import Write as Write
from wengert.compile.trace.observe.objects import contents as contents
from wengert.compile.trace.observe.observer import Observer as Observer


def observed(function: Any) -> Any:
    """A function as this thread's observer wants it called; the function itself if there is none.

    For a library's code that calls what the user wrote, as a module its `forward`.
    """
    observer = rewrite.THREAD.observer
    return function if observer is None else observer.observed(function)
