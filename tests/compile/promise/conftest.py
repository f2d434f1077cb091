"""Promises that do not hold yet are tests expected to fail, as `broken.py` lists them."""

from __future__ import annotations

import pytest

from tests.compile.promise.broken import BROKEN


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        name, _, case = item.name.partition("[")
        for cause, cases, error in BROKEN.get(name, ()):
            if cases is None or case.removesuffix("]") in cases:
                mark = pytest.mark.xfail(strict=True, raises=error, reason=cause)
                item.add_marker(mark)
