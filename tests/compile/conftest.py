"""What tests of the compiler ask for."""

import pytest


@pytest.fixture
def written_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code is kept by the text of what writes it, which is the same for a test that patches that:
    as if there were no text, every module is written."""
    host = pytest.importorskip("wengert.compile.llvm.machine.host")
    monkeypatch.setattr(host, "_text", lambda folder: "")


@pytest.fixture
def compiled_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of what happens while LLVM is at work: no code is there already."""
    monkeypatch.setenv("WENGERT_CACHE", "")
