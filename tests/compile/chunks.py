"""Random programs in chunks, each of which is one test: so processes share them."""

from __future__ import annotations

from typing import Any

import pytest


def chunks(first: int, count: int, usual: int, size: int) -> list[Any]:
    """Ranges of seeds, of which all but the `usual` ones are for the full run."""
    return [
        pytest.param(
            range(start, min(start + size, first + count)),
            id=str(start),
            marks=[] if start < first + usual else [pytest.mark.sweep],
        )
        for start in range(first, first + count, size)
    ]
