"""OpenMP: threads here are the BLAS library's, and the compiler's own."""

from __future__ import annotations


def is_available() -> bool:
    """Whether it is used: no."""
    return False
