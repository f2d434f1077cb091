"""Dictionaries whose keys are objects themselves, whatever they are equal to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class ByIdentity(Generic[K, V]):
    """What is known of each object. The objects are kept: ids of dead ones are used again."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[K, V]] = {}

    def __setitem__(self, key: K, value: V) -> None:
        self._known[id(key)] = key, value

    def __contains__(self, key: object) -> bool:
        return id(key) in self._known

    def get(self, key: object) -> V | None:
        known = self._known.get(id(key))
        return None if known is None else known[1]

    def values(self) -> Iterator[V]:
        return (value for _, value in self._known.values())
