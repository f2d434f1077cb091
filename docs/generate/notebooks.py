"""Pages as notebooks: the text of a page in cells, its snippets as cells of code.

    python -m docs.generate.notebooks tutorial      # writes tutorial.ipynb

A page is the only source: what it prints is left out, since the notebook prints it, and where the
page shows a drawing, a cell ends in what draws it. MkDocs calls the functions at the end, and so
puts the notebooks beside the pages, with a link in each.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docs.generate.pages import DIRECTIVE, SHOWN
from docs.generate.snippets import SNIPPET

DOCS = Path(__file__).parents[1]
NOTEBOOKS = ("tutorial", "numeric", "seeing", "loops", "compiler")
BEGINNING = "%matplotlib inline\nimport numpy as np"
"""What snippets take for granted, and how notebooks show every figure."""
PART = re.compile(rf"(?P<snippet>{SNIPPET.pattern})|(?P<shown>{SHOWN.pattern})", SNIPPET.flags)


def cells(text: str) -> Iterator[tuple[str, str]]:
    """The cells of a page: their kind, and what is in them.

    >>> list(cells("Add:\\n\\n```python\\n1 + 1\\n```\\n"))[1:]
    [('markdown', 'Add:'), ('code', '1 + 1')]
    """
    yield "code", BEGINNING
    end = 0
    for part in PART.finditer(text):
        if words := DIRECTIVE.sub("", text[end : part.start()]).strip():
            yield "markdown", words
        if part["snippet"]:
            yield (
                "code",
                re.sub(rf"^{part['indent']}", "", part["code"], flags=re.MULTILINE).strip(),
            )
        else:
            value = SHOWN.match(part["shown"])
            assert value is not None
            yield "code", value[1].removesuffix(".page()")  # what it is of shows itself
        end = part.end()
    if words := DIRECTIVE.sub("", text[end:]).strip():
        yield "markdown", words


def notebook(text: str) -> dict[str, Any]:
    """A page in Jupyter's format, version 4.5, with nothing run."""
    made = []
    for k, (kind, source) in enumerate(cells(text)):
        cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{k}", "metadata": {}}
        cell |= {"execution_count": None, "outputs": []} if kind == "code" else {}
        made.append({**cell, "source": source.splitlines(keepends=True)})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": made, "metadata": about, "nbformat": 4, "nbformat_minor": 5}


def page(name: str) -> str:
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


def main(names: list[str]) -> None:
    for name in names or NOTEBOOKS:
        Path(f"{name}.ipynb").write_text(json.dumps(notebook(page(name)), indent=1), "utf-8")
        print(f"{name}.ipynb")


# ---- what MkDocs calls -------------------------------------------------------------------------


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File

    for name in NOTEBOOKS:
        text = json.dumps(notebook(page(name)), indent=1)
        files.append(File.generated(config, f"notebooks/{name}.ipynb", content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The link, below the page's title."""
    name = page.file.src_uri.removesuffix(".md")
    if name not in NOTEBOOKS:
        return markdown
    title, _, rest = markdown.partition("\n")
    return f"{title}\n\n[This page as a notebook](notebooks/{name}.ipynb)\n{rest}"


if __name__ == "__main__":
    main(sys.argv[1:])
