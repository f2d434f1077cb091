"""The README's code runs, and prints what its comments say."""

import re
from pathlib import Path

import numpy as np
import pytest

from wengert.rules.rule import RULES, elementwise

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def snippets(page):
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


@pytest.fixture
def table():
    """The table of rules, put back as it was: snippets may add to it."""
    before = dict(RULES)
    yield
    RULES.clear()
    RULES.update(before)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_python_snippet_runs(page, table):
    for code in snippets(page):
        exec(compile(code, str(page), "exec"), {"np": np, "elementwise": elementwise})  # noqa: S102


def test_the_first_snippet_prints_what_its_comments_say(capsys):
    code = snippets(PAGES[0])[0]
    exec(compile(code, "README.md", "exec"), {})  # noqa: S102
    promised = re.findall(r"print\(.*?\)  # (.*)", code)
    assert promised
    assert capsys.readouterr().out.splitlines() == promised


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
