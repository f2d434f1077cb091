"""Intel's oneDNN: not used."""

from __future__ import annotations


def is_available() -> bool:
    """Whether it can be used: no."""
    return False
