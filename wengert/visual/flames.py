"""`profile.flame_graph()`: where the time of a profile goes, as a picture.

Calls of one name and line that were made within the same calls are one bar, as wide as their time;
what they called stands below them.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from wengert.history.files import ending, whole
from wengert.history.pictures import Picture

WIDTH, ROW = 760, 18
"""Of the picture and the height of a bar, in pixels."""
LETTER = 6.2
"""Pixels of a letter; what a bar has no room for is in its title."""
THINNEST = 0.4
"""Bars that are not as wide are left out: nobody could see them."""
COLOURS = {
    "module": "#9fd3a8", "operation": "#a9cbe8", "backward": "#f3b98c", "user": "#d9c3ea",
}  # fmt: skip


class Timed(Protocol):
    """What is needed of an event of a profile."""

    name: str
    kind: str
    begin: int
    end: int
    module: str

    @property
    def line(self) -> str: ...


@dataclass
class Frame:
    """Calls of one name and line within the same calls; times in nanoseconds."""

    name: str
    kind: str = ""
    line: str = ""
    module: str = ""
    total: int = 0
    count: int = 0
    inside: dict[tuple[str, str], Frame] = field(default_factory=dict)

    @property
    def own(self) -> int:
        return self.total - sum(frame.total for frame in self.inside.values())

    def walk(self, above: tuple[Frame, ...] = ()) -> Iterator[tuple[Frame, ...]]:
        """All frames, each with those around it, the outermost first."""
        here = (*above, self)
        yield here
        for frame in self.inside.values():
            yield from frame.walk(here)


def frames(events: Iterable[Timed]) -> Frame:
    """The events put together: one frame around all, as long as those outside of all others."""
    root = Frame("all")
    around: list[tuple[int, Frame]] = []
    for event in sorted(events, key=lambda event: (event.begin, -event.end)):
        while around and around[-1][0] <= event.begin:
            around.pop()
        outer = around[-1][1] if around else root
        key = event.name, event.line
        if key not in outer.inside:
            outer.inside[key] = Frame(event.name, event.kind, event.line, event.module)
        frame = outer.inside[key]
        frame.total += event.end - event.begin
        frame.count += 1
        around.append((event.end, frame))
    root.total = sum(frame.total for frame in root.inside.values())
    return root


class FlameGraph(Picture):
    """A flame graph. Notebooks show it; `save` writes it.

    Point at a bar: its title says the time, the number of calls, the line and the module.
    """

    def __init__(self, events: Iterable[Timed]) -> None:
        self.root = frames(events)

    def __repr__(self) -> str:
        count = sum(1 for _ in self.root.walk()) - 1
        return f"<FlameGraph of {count} bar{'s' if count != 1 else ''}: {time_of(self.root.total)}>"

    def save(self, path: str | Path) -> Path:
        """Write the picture, as .svg or as .html, whole or not at all."""
        path = Path(path)
        kind = ending(path, "a flame graph", (".svg", ".html"))
        text = self.svg() if kind == ".svg" else _PAGE.format(svg=self.svg())
        with whole(path) as part:
            part.write_text(text, encoding="utf-8")
        return path

    def stacks(self) -> str:
        """A line for each bar with the bars around it and its own time in microseconds.

        This is what flamegraph.pl, speedscope and others read.
        """
        lines = []
        for _, *path in self.root.walk():
            if path and path[-1].own > 0:
                names = ";".join(frame.name.replace(";", ",") for frame in path)
                lines.append(f"{names} {path[-1].own / 1000:.0f}")
        return "\n".join(lines)

    def svg(self) -> str:
        """The picture as the text of an SVG file."""
        bars = list(_bars(self.root, 0, 0.0, self.root.total or 1))
        rows = max(depth for depth, *_ in bars) + 1
        parts = [_bar(*bar, self.root.total or 1) for bar in bars]
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {rows * ROW}" '
            f'width="{WIDTH}" font-family="sans-serif" font-size="11" role="img" '
            f'aria-label="Flame graph">\n' + "\n".join(parts) + "\n</svg>"
        )

    def figure(self) -> Any:
        """The picture as a figure of matplotlib's, for what cannot show SVG."""
        from matplotlib.figure import Figure

        bars = list(_bars(self.root, 0, 0.0, self.root.total or 1))
        rows = max(depth for depth, *_ in bars) + 1
        figure = Figure(figsize=(WIDTH / 100, rows * ROW / 100))
        axes = figure.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(rows, 0))
        axes.set_axis_off()
        for depth, left, width, frame in bars:
            axes.barh(depth + 0.5, max(width - 0.5, 0.3), 0.94, left, color=colour(frame))
            axes.text(left + 4, depth + 0.5, fitting(frame.name, width), fontsize=8, va="center")
        return figure


def _bars(
    frame: Frame, depth: int, left: float, whole: int
) -> Iterator[tuple[int, float, float, Frame]]:
    """A frame's bar and those below it: row, left end and width in pixels."""
    width = WIDTH * frame.total / whole
    if width < THINNEST and depth:
        return
    yield depth, left, width, frame
    for inner in sorted(frame.inside.values(), key=lambda inner: -inner.total):
        yield from _bars(inner, depth + 1, left, whole)
        left += WIDTH * inner.total / whole


def _bar(depth: int, left: float, width: float, frame: Frame, whole: int) -> str:
    name = fitting(frame.name, width)
    shown = f'<text x="4" y="13">{html.escape(name)}</text>' if name else ""
    often = f"{frame.count:,} call{'s' if frame.count != 1 else ''}" if frame.count else ""
    said = "\n".join(
        part
        for part in (
            frame.name,
            f"{time_of(frame.total)}, {frame.total / whole:.1%}; {time_of(frame.own)} of it itself",
            often,
            frame.line,
            frame.module and f"in module {frame.module}",
        )
        if part
    )
    return (
        f'<g transform="translate({left:.2f} {depth * ROW})"><title>{html.escape(said)}</title>'
        f'<rect width="{max(width - 0.5, 0.3):.2f}" height="{ROW - 1}" rx="2" '
        f'fill="{colour(frame)}"/>{shown}</g>'
    )


def colour(frame: Frame) -> str:
    return COLOURS.get(frame.kind, "#dddddd")


def fitting(name: str, width: float) -> str:
    """As much of a name as a bar has room for.

    >>> fitting("backward", 40.0), fitting("backward", 10.0)
    ('back…', '')
    """
    letters = int((width - 6) / LETTER)
    if letters <= 2:
        return ""
    return name if len(name) <= letters else name[: letters - 1] + "…"


def time_of(nanoseconds: float) -> str:
    """
    >>> time_of(12_345_678)
    '12.3 ms'
    """
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= scale:
            return f"{nanoseconds / scale:.3g} {unit}"
    return f"{nanoseconds:.3g} ns"


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Flame graph</title>
<style>body {{ margin: 1rem; font: 14px sans-serif; }} svg {{ width: 100%; height: auto; }}</style>
</head>
<body>
<p>Each bar is as wide as its time; below it is what it called. Point at one for its numbers.</p>
{svg}
</body>
</html>
"""
