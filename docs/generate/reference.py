"""The pages of the reference: for each subject an overview, and pages that one can look through.

A file of docs/reference/ says which modules make a subject, and under which headings. What a module
shows, and about how much room it takes, is known from its docstrings; each heading gets as many
pages as keep below `MOST`. The overview links every name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

MOST = 5000
"""Pixels of a page at a desktop's width, as estimated; `tests/test_site.py` measures them."""
HEADING, LINE, LETTERS = 135, 27, 88
"""Pixels of a heading with its signature and of a line, and letters of a line, about."""
SMALL, WRAPPED = 17, 60
"""Pixels of a line of a signature, and the letters of it."""
MODULE = re.compile(r"^::: (\S+)$", re.MULTILINE)
METHODS = "<!-- methods -->"
"""Becomes a list of Tensor's methods that are functions too, each with a link to its function."""


@dataclass(frozen=True)
class Entry:
    """What is described: a module's sentence, a function, a class with its methods or a method."""

    path: str
    name: str
    height: float
    level: int = 3
    alone: bool = False
    """Without its members: they are entries too, or no part of the reference."""

    def text(self) -> str:
        """What mkdocstrings reads.

        >>> print(Entry("wengert.tensor.Tensor", "Tensor", 200).text())
        ::: wengert.tensor.Tensor
            options:
              heading_level: 3
              show_root_full_path: false
        """
        lines = [f"::: {self.path}", "    options:", f"      heading_level: {self.level}"]
        lines += ["      show_root_full_path: false"] * (not self.is_module)
        return "\n".join([*lines, *["      members: false"] * self.alone])

    @property
    def is_module(self) -> bool:
        return self.level == 2


@dataclass
class Page:
    """One page: the entries that a heading's share of them has room for."""

    title: str
    name: str
    entries: list[Entry] = field(default_factory=list)

    def text(self, subject: str, overview: str) -> str:
        shown = [entry.text() for entry in self.entries]
        return "\n\n".join([f"[{subject}]({overview})", f"# {self.title}", *shown]) + "\n"


# ---- what is described, and how much room it takes ---------------------------------------------


def height(text: str) -> float:
    """Pixels of a docstring, about.

    >>> height("A sentence.") == LINE
    True
    """
    return LINE * sum(1 + len(line) // LETTERS for line in text.splitlines())


def entries(module: Any) -> Iterator[Entry]:
    """A module's sentence, and what is public in it, by what griffe read."""
    own = module.docstring.value if module.docstring else ""
    yield Entry(module.path, module.path, HEADING / 2 + height(own), level=2, alone=True)
    for item in _shown(module):
        yield from _described(item)


def _described(item: Any) -> Iterator[Entry]:
    """An entry, or if a class is longer than half a page, one for each of its methods."""
    inner = list(_shown(item)) if item.is_class else []
    whole = _height(item) + sum(map(_height, inner))
    if whole <= MOST / 2:
        yield Entry(item.path, item.name, whole)
        return
    yield Entry(item.path, item.name, _height(item), alone=True)
    for method in inner:
        yield Entry(method.path, f"{item.name}.{method.name}", _height(method), level=4)


def _shown(holder: Any) -> Iterator[Any]:
    for item in holder.members.values():
        if not (item.is_alias or item.is_module or item.name.startswith("_")) and (
            item.docstring or (item.is_class and any(_shown(item)))
        ):
            yield item


def _height(item: Any) -> float:
    text = item.docstring.value if item.docstring else ""
    return HEADING + (_lines(item) - 1) * SMALL + height(text)


def _lines(item: Any) -> int:
    """Lines of a signature: one, its parameters on a line of their own, or on one each."""
    given = [p for p in getattr(item, "parameters", ()) if p.name != "self"]
    parts = [f"{p.name}: {p.annotation or ''} = {p.default or ''}" for p in given]
    inner = sum(len(part) + 2 for part in parts)
    if inner + len(f"{item.name}() -> {getattr(item, 'returns', '')}") <= WRAPPED:
        return 1
    return 3 if inner + 4 <= WRAPPED else 3 + len(parts)


# ---- pages -------------------------------------------------------------------------------------


def divided(title: str, given: Iterable[Entry]) -> list[Page]:
    """Entries in their order, on as few pages as they have room on.

    >>> long = [Entry(f"m.f{k}", f"f{k}", MOST / 2) for k in range(3)]
    >>> [(page.title, len(page.entries)) for page in divided("Sums", long)]
    [('Sums: f0 to f1', 2), ('Sums: f2', 1)]
    """
    groups: list[list[Entry]] = []  # a module's sentence stays with what follows
    for entry in given:
        if groups and groups[-1][-1].is_module and groups[-1][-1].height < MOST / 2:
            groups[-1].append(entry)
        else:
            groups.append([entry])
    parts: list[list[Entry]] = [[]]
    for group in groups:
        if parts[-1] and sum(entry.height for entry in parts[-1] + group) > MOST:
            parts.append([])
        parts[-1] += group
    stem = re.sub(r"\W+", "-", title.lower()).strip("-")
    return [
        Page(_title(title, part) if parts[1:] else title, f"{stem}-{k}" if k > 1 else stem, part)
        for k, part in enumerate(parts, 1)
    ]


def _title(title: str, part: list[Entry]) -> str:
    names = [entry.name for entry in part if not entry.is_module] or [part[0].name]
    return f"{title}: {names[0]}" + f" to {names[-1]}" * (len(names) > 1)


def subject(text: str, collect: Any) -> tuple[str, list[Page]]:
    """The overview of a subject, and its pages; `collect` gives a module by its path."""
    if METHODS in text:
        text = text.replace(METHODS, _methods())
    start, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    name = start.partition("\n")[0].removeprefix("# ")
    whole, pages = [], []
    for section in [start, *sections]:
        heading = name if section is start else section.partition("\n")[0]
        of = {path: list(entries(collect(path))) for path in MODULE.findall(section)}
        links = MODULE.sub(lambda m, of=of: _links(of[m[1]]), section)
        whole.append(links if section is start else f"## {links}")
        if of:
            pages += divided(heading, (entry for part in of.values() for entry in part))
    return "".join(whole), pages


def _links(given: list[Entry]) -> str:
    module, *named = given
    listed = ", ".join(f"[`{entry.name}`][{entry.path}]" for entry in named)
    return f"[`{module.name}`][{module.path}]: {listed}" if listed else ""


def _methods() -> str:
    from docs.generate import methods  # which imports the package

    return ", ".join(f"[`{name}`][{path}]" for name, path in methods.functions().items())


# ---- what MkDocs calls -------------------------------------------------------------------------


def on_files(files: Any, config: Any) -> Any:
    """Put the pages in, and under their subjects in the list of pages."""
    from mkdocs.structure.files import File

    handler = config.plugins["mkdocstrings"].get_handler("python")
    options = handler.get_options({})
    inside: dict[str, Any] = {}
    for file in [f for f in files.documentation_pages() if f.src_uri.startswith("reference/")]:
        source = file.content_string
        title = source.partition("\n")[0].removeprefix("# ")
        overview, pages = subject(source, lambda path: handler.collect(path, options))
        folder = file.src_uri.removesuffix(".md")
        files.remove(file)
        files.append(File.generated(config, file.src_uri, content=overview))
        listed: list[Any] = [{"Overview": file.src_uri}]
        for page in pages:
            uri = f"{folder}/{page.name}.md"
            text = page.text(title, f"../{file.src_uri.partition('/')[2]}")
            files.append(File.generated(config, uri, content=text))
            listed.append({page.title: uri})
        inside[file.src_uri] = {title: listed}
    config.nav = _with_pages(config.nav, inside)
    return files


def _with_pages(nav: Any, inside: dict[str, Any]) -> Any:
    """A list of pages with those of each subject below it."""
    if isinstance(nav, list):
        return [_with_pages(item, inside) for item in nav]
    if isinstance(nav, dict):
        ((title, item),) = nav.items()
        if isinstance(item, str) and item in inside:
            return {title: next(iter(inside[item].values()))}
        return {title: _with_pages(item, inside)}
    return inside.get(nav, nav)
