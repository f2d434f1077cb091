"""The Python in a page of Markdown: each snippet, in its own lines, and what it should print."""

import re
from collections.abc import Iterator
from typing import NamedTuple

SNIPPET = re.compile(
    r"^(?P<indent> *)```python\n(?P<code>.*?)^(?P=indent)```\n"
    r"(?:\n(?P=indent)```text\n(?P<said>.*?)^(?P=indent)```)?",
    re.DOTALL | re.MULTILINE,
)
"""Code, and after it the text that it prints, if the page says so. Both may be indented."""


class Snippet(NamedTuple):
    """Code below so many empty lines that it stands in its own line of the page."""

    code: str
    said: str | None
    end: int


def snippets(text: str) -> Iterator[Snippet]:
    """The snippets of a page, from the first to the last.

    >>> [found.code for found in snippets("Add:\\n\\n```python\\n1 + 1\\n```\\n")]
    ['\\n\\n\\n1 + 1\\n']
    """
    for found in SNIPPET.finditer(text):
        above = "\n" * text.count("\n", 0, found.start("code"))
        inner = re.compile(rf"^{found['indent']}", re.MULTILINE)
        said = found["said"] and inner.sub("", found["said"])
        yield Snippet(above + inner.sub("", found["code"]), said, found.end())
