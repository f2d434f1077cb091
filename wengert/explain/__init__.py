"""Seeing derivatives: the textbook's traces, pages to step through, and NumPy programs."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from wengert.imports import later as _later

if _TYPE_CHECKING:
    from wengert.explain.explanation import Explanation as Explanation
    from wengert.explain.traces import MAX_STEPS as MAX_STEPS
    from wengert.explain.traces import explain as explain

__getattr__, __dir__ = _later(__name__)
