"""One word per idea: names say what they hold, and docstrings what a function is.

What a word means is in `docs/glossary.md`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import wengert

ROOT = Path(wengert.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

SAY_NOTHING = {"made", "found"}
"""Of anything at all it can be said that it was made, or found: a variable says what it is."""


def variables(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_variables_say_what_they_hold(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert SAY_NOTHING.isdisjoint(variables(tree)), "name what it is: a tangent, the rows, a path"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_only_arrays_are_plain(path):
    text = " ".join(path.read_text(encoding="utf-8").split())
    assert re.findall(r"(?<!/)\bplain\b(?!(?: #)?(?: NumPy)?(?: #)? (?:array|NumPy))", text) == []


def test_a_docstring_says_what_a_thing_is_and_not_that_it_is_the_same():
    assert [path for path in FILES if '"""The same' in path.read_text(encoding="utf-8")] == []
