"""What is promised and does not hold yet: for each test the cause, the cases, and how it fails.

A repair takes lines out: a listed case that passes is a failure.
"""

from __future__ import annotations

Broken = tuple[str, frozenset[str] | None, type[BaseException]]


def some(text: str) -> frozenset[str]:
    return frozenset(filter(None, map(str.strip, text.strip().splitlines())))


BROKEN: dict[str, tuple[Broken, ...]] = {}
