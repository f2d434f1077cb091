"""What `explain` gives: the traces of a function at a point, in all the forms they are read in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.explain.notation import BAR, DOT, ascii_only, latex, number

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult


@dataclass(frozen=True)
class Row:
    """One line of a trace, `name = formula = numbers = value`, as `explain` shows it.

    In an adjoint trace `chain` is the formula with ∂v/∂w not yet worked out, and `edge` the places
    in the primal trace of w and v: along it, backwards, the adjoint comes.
    """

    name: str
    formula: str
    numbers: str
    value: float | np.ndarray
    chain: str = ""
    edge: tuple[int, int] | None = None


@dataclass(eq=False, repr=False)
class Explanation:
    """The traces of one function at one point. Print it, or let a notebook show it.

    `primal`, `tangent` and `adjoint` are lists of `Row`; `values` the results; `wrt` the argument
    that was seeded and `derivatives` those of the results by it; `gradient` the derivatives of the
    result `of` by all arguments, by name; `links` the places of the lines of the primal trace that
    each line of it is computed from, and `slopes` the derivatives by these, where they are numbers.
    """

    title: str
    point: str
    primal: list[Row]
    tangent: list[Row]
    adjoint: list[Row]
    wrt: str
    of: str
    values: tuple[Any, ...]
    derivatives: tuple[Any, ...]
    gradient: dict[str, Any]
    digits: int
    links: list[tuple[int, ...]]
    slopes: list[tuple[float | None, ...]]

    # ---- as text --------------------------------------------------------------------------

    @property
    def headings(self) -> tuple[str, str, str]:
        return (
            "Forward primal trace",
            f"Forward tangent trace, ∂/∂{self.wrt}",
            f"Reverse adjoint trace of {self.of}, from the last step back",
        )

    def summary(self) -> str:
        """The gradient in one line: ∂y/∂x1 = 5.5, ∂y/∂x2 = 1.716."""
        parts = (f"∂{self.of}/∂{n} = {self.shown(g)}" for n, g in self.gradient.items())
        return ", ".join(parts)

    def text(self, width: int = 120, *, ascii: bool = False) -> str:
        """Aligned columns; the forward traces side by side where `width` characters allow it."""
        spelled = ascii_only if ascii else str
        primal, tangent, adjoint = (self._lines(rows, spelled) for rows in self._traces())
        first, second, third = map(spelled, self.headings)
        left, right = _aligned(primal), _aligned(tangent)
        margin = max(map(_width, [first, *left])) + 4
        if margin + max(map(_width, [second, *right])) <= width:
            pairs = zip([first, *left], [second, *right], strict=True)
            forward = [_padded(a, margin) + b for a, b in pairs]
        else:
            forward = [first, *left, "", second, *right]
        head, foot = spelled(f"{self.title} at {self.point}"), spelled(self.summary())
        lines = [head, "", *forward, "", third, *_aligned(adjoint), "", foot]
        return "\n".join(line.rstrip() for line in lines)

    __str__ = text

    def __repr__(self) -> str:
        return f"<Explanation of {self.title} at {self.point}: {self.summary()}>"

    def markdown(self, *, ascii: bool = False) -> str:
        """The three traces as Markdown tables."""
        primal, tangent, adjoint = (self._lines(rows) for rows in self._traces())
        first, second, third = self.headings
        lines = [
            f"**{_marked(self.title)}** at {_marked(self.point)}",
            "",
            f"| {first} | | | {_marked(second)} | | |",
            "|:--|:--|--:|:--|:--|--:|",
            *(_cells([*p, *t]) for p, t in zip(primal, tangent, strict=True)),
            "",
            f"| {_marked(third)} | | | |",
            "|:--|:--|:--|--:|",
            *map(_cells, adjoint),
            "",
            _marked(self.summary()),
        ]
        text = "\n".join(lines)
        return ascii_only(text) if ascii else text

    def _repr_html_(self) -> str:
        """The page to step through; below it, folded, the traces as tables, which also those see
        who show notebooks without running what is in them.
        """
        page = _html(self.page())
        frame = "width: 100%; height: 60rem; border: 0; background: transparent"
        return (
            f'<iframe title="{_html(self.title)}" style="{frame}" srcdoc="{page}"></iframe>\n'
            f"<details><summary>The traces as tables</summary>\n{self._tables()}\n</details>"
        )

    def _tables(self) -> str:
        primal, tangent, adjoint = (self._lines(rows) for rows in self._traces())
        first, second, third = map(_html, self.headings)
        forward = [[*p, *t] for p, t in zip(primal, tangent, strict=True)]
        return "\n".join(
            [
                f"<p><b>{_html(self.title)}</b> at {_html(self.point)}</p>",
                "<table>",
                f'<tr><th colspan="3">{first}</th><th colspan="3">{second}</th></tr>',
                *map(_html_row, forward),
                "</table>",
                "<table>",
                f'<tr><th colspan="4">{third}</th></tr>',
                *map(_html_row, adjoint),
                "</table>",
                f"<p>{_html(self.summary())}</p>",
            ]
        )

    def latex(self) -> str:
        """The traces as three arrays in LaTeX's mathematics."""
        parts = [rf"\[ {latex(self.title)} \quad \text{{at}} \quad {latex(self.point)} \]"]
        for heading, rows in zip(self.headings, self._traces(), strict=True):
            lines = [" & ".join(map(latex, cells)) for cells in self._lines(rows)]
            body = " \\\\\n".join(lines)
            columns = "l" * len(self._lines(rows)[0])
            before, _, after = heading.partition(", ")
            title = rf"\text{{{before}{', ' if after else ''}}} {_words(after)}".strip()
            parts.append(
                f"\\[ {title} \\]\n\\[ \\begin{{array}}{{{columns}}}\n{body}\n\\end{{array}} \\]"
            )
        return "\n".join([*parts, rf"\[ {latex(self.summary())} \]"])

    def page(self) -> str:
        """A web page, complete in itself, on which to go through the traces step by step."""
        from wengert.explain.page import page

        return page(self)

    def animation(self, seconds: float = 1.2) -> str:
        """The graph as an SVG picture that fills itself, a step in so many seconds.

        Values appear from the arguments on, then adjoints from the result back. It stands in pages
        that allow no script, as `![](graph.svg)` in Markdown does.

        >>> import wengert as wg
        >>> text = wg.explain(lambda x: x * x, 3.0).animation()
        >>> text[:4], text.count("<animate")
        ('<svg', 28)
        """
        from wengert.explain.graph import Animation

        if not seconds > 0:
            raise ValueError(f"animation: a step must take some seconds, but got {seconds!r}")
        return Animation(self, seconds).svg()

    # ---- in a terminal --------------------------------------------------------------------

    def rich(self) -> Any:
        """Something for `rich` to print: tables, side by side where the terminal is wide enough."""
        from wengert.explain.tables import Traces

        return Traces(self)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self.rich()

    def _traces(self) -> tuple[list[Row], list[Row], list[Row]]:
        return self.primal, self.tangent, self.adjoint

    def _lines(self, rows: list[Row], spelled: Callable[[str], str] = str) -> list[list[str]]:
        adjoint = rows is self.adjoint
        return [[spelled(cell) for cell in self._line(row, adjoint)] for row in rows]

    def _line(self, row: Row, adjoint: bool) -> list[str]:
        equals = lambda text: f"= {text}" if text else ""
        first = [f"{row.name} = {row.chain or row.formula}"]
        if adjoint:
            first.append(equals(row.formula if row.chain else ""))
        return [*first, equals(row.numbers), equals(self.shown(row.value))]

    def shown(self, value: Any) -> str:
        """A number as the traces show it."""
        return number(value, self.digits)


def _words(text: str) -> str:
    """What stands behind the comma of a heading: a derivative, or words."""
    return latex(text) if text.startswith("∂") else rf"\text{{{text}}}" if text else ""


def _width(text: str) -> int:
    """Characters that take up room: the dots and bars over letters do not."""
    return sum(c not in (DOT, BAR) for c in text)


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def _aligned(lines: list[list[str]]) -> list[str]:
    """Columns padded to one width each, the first one at its equals sign."""
    names = max((_width(line[0].split(" = ")[0]) for line in lines), default=0)
    rows = []
    for line in lines:
        name, _, formula = line[0].partition(" = ")
        rows.append([f"{_padded(name, names)} = {formula}", *line[1:]])
    columns = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(_padded(cell, width) for cell, width in zip(row, columns, strict=True))
        for row in rows
    ]


def _cells(cells: list[str]) -> str:
    return f"| {' | '.join(map(_marked, cells))} |"


def _marked(text: str) -> str:
    """Text whose special characters mean nothing to Markdown."""
    for sign in "\\|*_[]<>`":
        text = text.replace(sign, "\\" + sign)
    return text


def _html(text: str) -> str:
    from html import escape

    return escape(text)


def _html_row(cells: list[str]) -> str:
    style = 'style="text-align: left; white-space: nowrap"'
    return f"<tr>{''.join(f'<td {style}>{_html(cell)}</td>' for cell in cells)}</tr>"
