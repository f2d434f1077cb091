"""NVIDIA's library of GPU kernels: not there. Its switches can be set, and choose nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

enabled = True
benchmark = False
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """Whether the library can be used: no."""
    return False


def version() -> int | None:
    """The library's version: None."""
    return None


@contextlib.contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    deterministic: bool = False,
    allow_tf32: bool = True,
) -> Iterator[None]:
    """Set the switches for a `with` block."""
    names = ("enabled", "benchmark", "deterministic", "allow_tf32")
    before = {name: globals()[name] for name in names}
    globals().update(zip(names, (enabled, benchmark, deterministic, allow_tf32), strict=True))
    try:
        yield
    finally:
        globals().update(before)
