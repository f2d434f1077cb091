"""Where a statement comes from: the user's line, and whether an operator stands in it."""

from __future__ import annotations

import sys
from types import CodeType, FrameType

from wengert.history.location import INTERNAL, here, is_internal


def origin() -> tuple[CodeType, int]:
    """The user's line that a statement comes from: in a backward pass, that of the operation."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        file = code.co_filename
        # Asked here, as in `user_frame`: each statement has a whole stack of files that are known.
        if not (INTERNAL[file] if file in INTERNAL else is_internal(file)):
            return code, frame.f_lasti
        if code.co_name in _PULLS:
            node = frame.f_locals.get("self")
            if getattr(node, "code", None) is not None:
                return node.code, node.at  # type: ignore[union-attr]
        frame = frame.f_back
    return here()


_PULLS = frozenset({"pull", "pull_recorded"})


def is_users() -> bool:
    """Whether an operator stands in the user's code: the library's formulas are trusted."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__", "").startswith(_BELOW):
        frame = frame.f_back
    return frame is None or not is_internal(frame.f_code.co_filename)


_BELOW = ("numpy", "wengert.arrays", "wengert.compile.trace", "wengert.dispatch")
