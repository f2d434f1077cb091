"""The README's code runs, and prints what its comments say."""

import os
import re
from pathlib import Path

import numpy as np
import pytest

from docs.generate.gallery import made
from docs.generate.snippets import snippets
from wengert.rules.rule import elementwise

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def without_comments(text):
    """Printed programs name the lines of the page, which move."""
    return [line.split("  #")[0].rstrip() for line in text.strip().splitlines()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_python_snippet_runs_and_prints_the_text_after_it(page, table, capsys):
    names = {"np": np, "elementwise": elementwise}
    for code, said, _ in snippets(page.read_text(encoding="utf-8")):
        exec(compile(code, str(page), "exec"), names)  # noqa: S102
        out = capsys.readouterr().out.replace(f"{page.parent}{os.sep}", "")
        if said is not None:
            assert without_comments(out) == without_comments(said)


def test_the_readmes_snippets_print_what_their_comments_say(capsys, table):
    names = {"elementwise": elementwise}
    promises = 0
    for code, _, _ in snippets(PAGES[0].read_text(encoding="utf-8")):
        promised = re.findall(r"print\(.*\)  # (.*)", code)
        exec(compile(code, "README.md", "exec"), names)  # noqa: S102
        assert capsys.readouterr().out.splitlines() == promised
        promises += len(promised)
    assert promises == 3


def test_links_between_pages_lead_somewhere():
    generated = made()
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", re.sub(r"`[^`\n]*`", "", page.read_text())):
            known = target in generated or (page.parent / target).exists()
            assert known, f"{page.name} links to {target}"
