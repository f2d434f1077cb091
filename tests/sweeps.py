"""Rows of which a plain run takes a few: `pytest --full` takes them all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import pytest


def swept(rows: Mapping[str, Any] | Collection[str], *kept: str) -> list[Any]:
    """Parameters by their names; those that are not kept are long sweeps.

    >>> [bool(row.marks) for row in swept({"adam": 1, "sgd": 2}, "sgd")]
    [True, False]
    """
    values = rows if isinstance(rows, Mapping) else {name: name for name in rows}
    assert set(kept) <= values.keys()
    mark = pytest.mark.sweep
    return [
        pytest.param(value, id=name, marks=() if name in kept else mark)
        for name, value in values.items()
    ]


def covering(items: Sequence[pytest.Item]) -> Iterator[pytest.Item]:
    """Of the combinations of a test's rows, some in which each row of each axis is.

    One for each row of the longest axis, with those rows of the others that were taken least often;
    then what is still missing, if not all rows are combined with all.
    """
    rows = {item: item.callspec.params for item in items}  # type: ignore[attr-defined]
    axes = {name: {id(row[name]) for row in rows.values()} for name in rows[items[0]]}
    longest = max(axes, key=lambda name: len(axes[name]))
    taken: Counter[tuple[str, int]] = Counter()
    groups: dict[int, list[pytest.Item]] = {}
    for item in items:
        groups.setdefault(id(rows[item][longest]), []).append(item)

    def times(item: pytest.Item) -> list[int]:
        return [taken[name, id(value)] for name, value in rows[item].items() if name != longest]

    def take(item: pytest.Item) -> pytest.Item:
        taken.update((name, id(value)) for name, value in rows[item].items())
        return item

    for group in groups.values():
        yield take(min(group, key=lambda item: sum(times(item))))
    for item in items:
        if 0 in times(item):
            yield take(item)
