"""Apple's GPUs: not used."""

from __future__ import annotations

from wengert.imports import lacking as _lacking


def is_available() -> bool:
    """Whether it can be used: no."""
    return False


def is_built() -> bool:
    """Whether this package was built to use it: no."""
    return False


_lacking(__name__)
