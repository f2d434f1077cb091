"""Rows of which a plain run takes a few: `pytest --full` takes them all."""

from __future__ import annotations

from collections.abc import Collection, Mapping
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
