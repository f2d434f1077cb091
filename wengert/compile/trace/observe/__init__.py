"""Observing a user's function: every read from outside and every write to it, with its owner.

Begin with `observer.py`: `Observer.run` calls a function so that its loads, stores and calls are
told to `on_read`, `on_write` and `on_unobserved`. `rewrite.py` makes the copies of the user's
bytecode that tell them, `calls.py` decides which copy or which original a call goes to, `stubs.py`
has calls told that C or a library makes, `outside.py` knows which objects are from outside, and how
they were reached, `listeners.py` who is told of calls. `events.py` has the words.

Imports nothing of the compiler. What differs between versions of Python stands at the end of
`rewrite.py`: a new version is added there.
"""

from __future__ import annotations

import builtins
import functools
import sys
from types import FunctionType
from typing import Any

from wengert.compile.trace.observe import rewrite
from wengert.compile.trace.observe.events import MISSING as MISSING
from wengert.compile.trace.observe.events import Read as Read
from wengert.compile.trace.observe.events import Unobserved as Unobserved
from wengert.compile.trace.observe.events import Write as Write
from wengert.compile.trace.observe.objects import contents as contents
from wengert.compile.trace.observe.observer import Observer as Observer


def will_call(function: Any) -> None:
    """Have what the library is about to call observed by the observer of this thread."""
    if rewrite.THREAD.observer is not None:
        rewrite.THREAD.observer.reached(function)


@functools.cache
def references() -> int:
    """The references to an answer that nobody else has, as `answered` counts them."""
    counts = []

    class Counting(Observer):
        def answered(self, value: Any) -> Any:
            counts.append(sys.getrefcount(value))
            return value

    def probe() -> Any:
        return list()  # noqa: C408  (a call)

    outer, rewrite.THREAD.observer = rewrite.THREAD.observer, Counting()
    try:
        FunctionType(rewrite.rewritten(probe.__code__), vars(builtins))()
    finally:
        rewrite.THREAD.observer = outer
    return counts[0]
