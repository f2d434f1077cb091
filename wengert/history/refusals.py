"""Why a view may not be written: the errors that say how it came about, and what to do instead."""

from __future__ import annotations

import re

from wengert.errors import InplaceError
from wengert.history.node import Node, Output, source

REASONS = {
    "no_grad": "Take the view outside no_grad, or do both inside; or clone() it.",
    "inference": "Take the view outside inference_mode, or clone() it.",
    "multi": "This view is the output of a function that returns multiple views. Such functions do "
    "not allow the output views to be modified inplace. Replace the inplace operation by an "
    "out-of-place one, or index instead of splitting.",
    "custom": "This view was created inside a custom Function (or because an input was returned "
    "as-is), whose backward a write would bypass. Clone the output of the custom Function.",
}
"""How views come about that may not be written while tracked, and what to do instead."""


def refusal(node: Node | Output | None, creation: str, indirect: bool = False) -> InplaceError:
    """The error of writing through such a view, or of reading its history after another write."""
    done = "its base or another view of its base has been" if indirect else "is being"
    if creation in ("no_grad", "inference"):
        where = f"{creation} mode" if creation == "no_grad" else "inference mode"
        then = "with grad mode enabled" if creation == "no_grad" else "in normal mode"
        cause = f"A view was created in {where} and {done} modified inplace {then}."
    else:
        made_by, slot = source(node)
        kind = (
            "A"
            if made_by is None
            else f"Output {slot} of {re.sub('Backward0?$', '', made_by.name())} is a"
        )
        cause = f"{kind} view and {done} modified inplace."
    return InplaceError(f"{cause} {REASONS[creation]}")
