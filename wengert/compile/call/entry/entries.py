"""From the description of an entry to the callable, the fastest kind that this Python allows.

That is `native.py` where CPython's and NumPy's objects are laid out as known, else
`reference.py`, Python that does the same.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from wengert.compile.call.entry import layouts
from wengert.compile.call.entry.entry import Entry
from wengert.compile.call.entry.reference import reference_entry


def make(entry: Entry) -> Callable[..., Any]:
    """The callable."""
    if not is_native():
        return reference_entry(entry)
    # Not above: what writes machine code takes a while to import, and serves native entries only.
    from wengert.compile.call.entry.native import native_entry

    return native_entry(entry)


@functools.cache
def is_native() -> bool:
    """Whether entries are native here."""
    try:
        layouts.layouts()
    except layouts.LayoutError:
        return False
    return True
