"""What the site shows that the pages only name: real source, the essay as text, what snippets draw.

MkDocs calls the two functions at the end for every page. In a page,

    <!-- source: wengert/autograd/engine.py sweep, finish -->

becomes these definitions as they are in the file today, `<!-- essay -->` becomes
`docs/from_scratch.py` with its comments as text, `<!-- speed -->` the chart of `chart.py`,
`<!-- changelog -->` the file CHANGELOG.md, and
`<!-- shown: picture -->` the value of this expression after the snippets above have run: a drawing,
traces, a plot, Python, or a page of its own. Where the pages are read as plain Markdown, nothing of
it is seen. A name that no longer exists
fails the build, and a test.
"""

from __future__ import annotations

import ast
import contextlib
import html
import io
import os
import re
import sys
import textwrap
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # MkDocs is a program of its own, and runs from anywhere

from docs.generate import chart  # noqa: E402
from docs.generate.snippets import snippets  # noqa: E402

SOURCE = re.compile(r"^<!-- source: (\S+) (.+?) -->$", re.MULTILINE)
ESSAY, SPEED, CHANGES = "<!-- essay -->", "<!-- speed -->", "<!-- changelog -->"
SHOWN = re.compile(r"^<!-- shown: (.+?) -->$", re.MULTILINE)
DIRECTIVE = re.compile(r"^<!-- .+? -->$", re.MULTILINE)


# ---- source ------------------------------------------------------------------------------------


def source(file: str, names: list[str]) -> str:
    """Definitions of a file, as a block of code under the file's name."""
    text = (ROOT / file).read_text(encoding="utf-8")
    found = "\n\n".join(definition(text, name) for name in names)
    return f'``` {{.python title="{file}"}}\n{found}\n```'


def definition(text: str, name: str) -> str:
    """What defines a name in a module: a function, class or assignment; `Class.method` too.

    >>> definition("x = 1\\nclass A:\\n    def f(self):\\n        return 2\\n", "A.f")
    'def f(self):\\n    return 2'
    """
    body: list[ast.stmt] = ast.parse(text).body
    node: Any = None
    for part in name.split("."):
        node = next((node for node in body if part in _names(node)), None)
        if node is None:
            raise LookupError(f"no definition of {name}: a page that shows it is out of date")
        body = getattr(node, "body", [])
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
    lines = text.splitlines()[first - 1 : node.end_lineno]
    return textwrap.dedent("\n".join(lines))


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


# ---- the essay ---------------------------------------------------------------------------------

HEADING = re.compile(r"# ---- (.+?) -+$")


def essay(text: str) -> str:
    """A program whose comments are its text, as Markdown: headings, paragraphs, blocks of code.

    Only comments that begin a line without indentation are text.

    >>> print(essay('# ---- 1. One ------\\n#\\n# Say this.\\nx = 1\\n'))
    ## 1. One
    <BLANKLINE>
    Say this.
    <BLANKLINE>
    ``` {.python}
    x = 1
    ```
    """
    parts: list[str] = []
    for prose, block in _blocks(text):
        lines = block.strip("\n").splitlines()
        if not lines:
            continue
        if not prose:
            parts.append("\n".join(["``` {.python}", *lines, "```"]))
            continue
        if heading := HEADING.match(lines[0]):
            parts.append(f"## {heading[1]}")
            lines = lines[1:]
        if words := "\n".join(line.removeprefix("#").removeprefix(" ") for line in lines).strip():
            parts.append(words)
    return "\n\n".join(parts)


def _blocks(text: str) -> list[tuple[bool, str]]:
    blocks: list[tuple[bool, str]] = []
    for line in text.splitlines():
        prose = line.startswith("#")
        if not line and blocks and blocks[-1][0]:
            blocks.append((False, ""))
        elif not blocks or blocks[-1][0] is not prose:
            blocks.append((prose, line + "\n"))
        else:
            blocks[-1] = prose, blocks[-1][1] + line + "\n"
    return blocks


def _program() -> str:
    """The essay without its docstring, which says for readers of the file what the page says."""
    text = (ROOT / "docs" / "from_scratch.py").read_text(encoding="utf-8")
    docstring = ast.parse(text).body[0]
    assert docstring.end_lineno is not None
    return "\n".join(text.splitlines()[docstring.end_lineno :])


def _changes() -> str:
    """The changelog, whose links lead from the root of the repository."""
    return (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").replace("](docs/", "](")


# ---- what snippets draw ------------------------------------------------------------------------


def shown(text: str, name: str) -> list[Any]:
    """The values of a page's `shown` expressions."""
    places = list(SHOWN.finditer(text))
    if not places:
        return []
    import numpy as np

    names: dict[str, Any] = {"np": np}
    found: list[Any] = []
    code = list(snippets(text))
    for place in places:
        while code and code[0].end < place.start():
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(code.pop(0).code, name, "exec"), names)  # noqa: S102
        found.append(eval(place[1], names))  # noqa: S307
    return found


def as_html(value: Any) -> str:
    """A page as a frame, a drawing or a plot as SVG, what notebooks show as they show it."""
    if isinstance(value, str):
        page = html.escape(value, quote=True)
        return f'<iframe class="shown" loading="lazy" title="Traces" srcdoc="{page}"></iframe>'
    if not hasattr(value, "savefig"):
        text = value.svg()
        return f'<div class="shown">{text[text.index("<svg") :]}</div>'
    import matplotlib

    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "wengert"}):
        value.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    return f'<div class="shown">{text[text.index("<svg") :]}</div>'


# ---- what MkDocs calls -------------------------------------------------------------------------


def expanded(markdown: str) -> str:
    """The page with its source, the essay and the chart in their places."""
    named = SOURCE.sub(lambda found: source(found[1], re.split(r",\s*", found[2])), markdown)
    for mark, write in (
        (ESSAY, lambda: essay(_program())),
        (SPEED, chart.speed),
        (CHANGES, _changes),
    ):
        if mark in named:
            named = named.replace(mark, write())
    return named


def on_config(config: Any, **_: Any) -> Any:
    """Say at the foot of each page which version it is about, and above where the others are."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    config.copyright = f"wengert {project['version']}"
    if "WENGERT_VERSIONS" in os.environ:  # versions.py builds several; alone it has no selector
        config.extra["version"] = {"provider": "mike"}
    return config


_waiting: dict[str, list[str]] = {}
"""For each page what is put into its HTML, which Markdown would spoil."""


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    values = iter(shown(markdown, page.file.src_path))
    waiting = _waiting[page.file.src_path] = []

    def place(found: re.Match[str]) -> str:
        value = next(values)
        if isinstance(value, str) and not value.startswith("<"):
            return f"``` {{.python}}\n{value}\n```"
        waiting.append(as_html(value))
        return _mark(len(waiting) - 1)

    return SHOWN.sub(place, expanded(markdown))


def on_page_content(html: str, page: Any, **_: Any) -> str:
    for k, value in enumerate(_waiting.pop(page.file.src_path)):
        html = html.replace(_mark(k), value)
    return html


def _mark(k: int) -> str:
    return f'<div class="waiting" id="shown-{k}"></div>'
