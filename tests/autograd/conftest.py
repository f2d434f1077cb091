"""Most tests here run twice: on wengert, and on PyTorch, which shows that they state its behaviour.

A test that takes `lib` must pass on both. What is wengert's own (messages that name lines, passes
that change nothing when they fail) imports wengert itself.
"""

from __future__ import annotations

from typing import Any

import pytest

import wengert


@pytest.fixture(params=["wengert", "torch"])
def lib(request: pytest.FixtureRequest) -> Any:
    if request.param == "wengert":
        return wengert
    return pytest.importorskip("torch", reason="PyTorch is not installed")
