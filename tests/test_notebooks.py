"""The pages that are notebooks too: each runs from its first cell to its last, and shows itself."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import wengert as wg
from docs.generate import notebooks


@pytest.mark.sweep
@pytest.mark.parametrize("name", notebooks.NOTEBOOKS)
def test_a_notebook_runs_and_shows_what_its_page_shows(
    name: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    nbclient = pytest.importorskip("nbclient", reason="runs notebooks")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    monkeypatch.delenv("MPLBACKEND", raising=False)  # the kernel's own shows figures
    made = nbformat.reads(json.dumps(notebooks.notebook(notebooks.page(name))), as_version=4)
    nbformat.validate(made)
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(made, timeout=300, resources=resources).execute()
    drawn = [
        set(output["data"])
        for cell in made.cells if cell.cell_type == "code"
        for output in cell.outputs if "data" in output
    ]  # fmt: skip
    expected = len(notebooks.SHOWN.findall(notebooks.page(name)))
    rich = [kinds for kinds in drawn if kinds & {"text/html", "image/svg+xml", "image/png"}]
    assert len(rich) >= expected


def test_what_is_no_part_of_a_page_is_no_part_of_its_notebook() -> None:
    text = (
        "# A\n\n```python\nprint(1)\n```\n\n```text\n1\n```\n\n<!-- shown: f.page() -->\n\nEnd.\n"
    )
    assert list(notebooks.cells(text))[1:] == [
        ("markdown", "# A"), ("code", "print(1)"), ("code", "f"), ("markdown", "End."),
    ]  # fmt: skip


def test_an_error_curve_shows_its_plot_in_notebooks_and_a_program_its_source() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    with matplotlib.rc_context({"backend": "agg"}):
        assert "<svg" in wg.numeric.error_curve(np.exp, 1.0)._repr_mimebundle_()["image/svg+xml"]
    f = wg.compile(lambda x: np.sin(x) * 2)
    f(np.ones(3))
    assert f.program._repr_markdown_().startswith("```python\nimport numpy")


def test_progress_is_shown_in_notebooks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Only terminals were thought of.
    from wengert.utils.training import progress

    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    assert list(progress([1, 2], "training")) == [1, 2]
    said = capsys.readouterr().out
    assert "training" in said
    assert "2/2" in said
