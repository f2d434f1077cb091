"""Seeing derivatives: the textbook's traces, pages to step through, and NumPy programs.

Begin with `traces.py`: `wengert.explain(f, *args)` runs f on arrays that write down each step, and
`explanation.py` is what it returns, as text, LaTeX, Markdown or a page (`page.py`, `tables.py`).
`notation.py` says how each step is written; `source.py` is `wengert.source`, value and gradient as
NumPy code. A primitive whose step should read better gets a line in `notation.py`.
Imports `symbolic/` and what lies below.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from wengert.imports import later as _later

if _TYPE_CHECKING:
    from wengert.explain.explanation import Explanation as Explanation
    from wengert.explain.traces import MAX_STEPS as MAX_STEPS
    from wengert.explain.traces import explain as explain

__getattr__, __dir__ = _later(__name__)
