"""Tests of the compiler keep their machine code in a folder of their own."""

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    before = os.environ.get("WENGERT_CACHE")
    os.environ["WENGERT_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    yield
    if before is None:
        del os.environ["WENGERT_CACHE"]
    else:
        os.environ["WENGERT_CACHE"] = before


@pytest.fixture
def written_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code is kept by the text of what writes it, which is the same for a test that patches that:
    as if there were no text, every module is written."""
    host = pytest.importorskip("wengert.compile.llvm.machine.host")
    monkeypatch.setattr(host, "_text", lambda folder: "")
