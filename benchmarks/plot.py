"""Cost against problem size, as a drawing: a panel for each section whose rows have sizes.

Both axes are logarithmic, so a cost in proportion to the size is a line of slope one, whatever its
factor. The dotted line, through wengert's first point, has that slope.
"""

import base64
import html
import math
from collections.abc import Iterable
from itertools import groupby

from benchmarks.report import OURS, Report, Row, amount

DRAWN = {
    "JAX": "#12807a",
    "PyTorch": "#a4243b",
    "NumPy": "#5b74c9",
    "C": "#8a93a3",
    "objective": "#e3b27a",
    OURS: "#d9772b",
}
WIDTH, HEIGHT, ACROSS = 270, 200, 3
LEFT, RIGHT, TOP, BOTTOM = 54, 12, 30, 28  # around what is drawn in a panel
LEGEND = 26

STYLE = """
:root { --ink: #1c2330; --pale: #69717f; --paper: #fbfbf9; --line: #d5d9e0; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8eaf0; --pale: #98a2b3; --paper: #171a21; --line: #343b48; }
}
text { font: 11px system-ui, sans-serif; fill: var(--pale); }
text.title { font-size: 13px; font-weight: 600; fill: var(--ink); }
rect { fill: var(--paper); }
path { fill: none; stroke-width: 1.6; }
.axes { stroke: var(--line); }
.slope { stroke: var(--pale); stroke-dasharray: 2 4; stroke-width: 1; }
"""

Curve = list[tuple[float, float]]


def panels(rows: Iterable[Row]) -> dict[str, dict[str, Curve]]:
    """For each section of several sizes, each peer's times by size: those of a size's last row.

    >>> rows = [Row("sum", f"n={n}", "s", {"C": n / 4}, {}, (), size=n) for n in (10, 100)]
    >>> panels(rows)
    {'sum': {'C': [(10, 2.5), (100, 25.0)]}}
    """
    found: dict[str, dict[str, Curve]] = {}
    for section, group in groupby(rows, key=lambda row: row.section):
        by_size = {row.size: row for row in group if row.size}
        if len(by_size) < 2:
            continue
        curves: dict[str, Curve] = {peer: [] for peer in DRAWN}
        for size, row in sorted(by_size.items()):
            for peer, curve in curves.items():
                if best := row.best(peer):
                    curve.append((size, best[1]))
        found[section] = {peer: curve for peer, curve in curves.items() if curve}
    return found


def drawing(report: Report) -> str:
    """All panels as one SVG file; empty where no section has several sizes."""
    found = panels(report.rows)
    if not found:
        return ""
    width = WIDTH * min(ACROSS, len(found))
    height = LEGEND + HEIGHT * math.ceil(len(found) / ACROSS)
    label = f"Cost against size: the benchmark {report.benchmark}"
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{label}">',
        f'<style>{STYLE}</style><rect width="{width}" height="{height}"/>',
    ]
    entered = [peer for peer in DRAWN if any(peer in curves for curves in found.values())]
    for k, peer in enumerate(reversed(entered)):
        x = LEFT + 100 * k
        parts.append(f'<path stroke="{DRAWN[peer]}" d="M{x} 14h18"/>')
        parts.append(f'<text x="{x + 24}" y="18">{peer}</text>')
    for k, (section, curves) in enumerate(found.items()):
        row, column = divmod(k, ACROSS)
        parts.append(f'<g transform="translate({WIDTH * column} {LEGEND + HEIGHT * row})">')
        parts += [*_panel(section, curves), "</g>"]
    return "\n".join([*parts, "</svg>"]) + "\n"


def as_html(picture: str) -> str:
    """A drawing as an image, whose style is its own: that of an SVG in a page is the page's too."""
    if not picture:
        return ""
    data = base64.b64encode(picture.encode()).decode()
    return f'<img src="data:image/svg+xml;base64,{data}" alt="Cost against size">'


def _panel(section: str, curves: dict[str, Curve]) -> Iterable[str]:
    points = [point for curve in curves.values() for point in curve]
    across = _Axis([x for x, _ in points], LEFT, WIDTH - RIGHT)
    up = _Axis([y for _, y in points], HEIGHT - BOTTOM, TOP)
    yield f'<text class="title" x="{LEFT}" y="20">{html.escape(section)}</text>'
    yield f'<path class="axes" d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}"/>'
    for power in across.powers():
        at = f'x="{across.at(10.0**power):.1f}" y="{HEIGHT - BOTTOM + 15}" text-anchor="middle"'
        yield f'<text {at}>10<tspan dy="-4" font-size="8">{power}</tspan></text>'
    for power in up.powers():
        at = f'x="{LEFT - 5}" y="{up.at(10.0**power) + 4:.1f}" text-anchor="end"'
        number, unit = amount(10.0**power * 1.0000001, "s").split()  # 1 µs, and not 1000 ns
        yield f"<text {at}>{float(number):g} {unit}</text>"
    (x, y), *_ = curves.get(OURS) or points
    length = min(across.end - math.log10(x), up.end - math.log10(y))
    ends = [(x, y), (x * 10**length, y * 10**length)]
    yield f'<path class="slope" d="{_path(ends, across, up)}"/>'
    for peer, curve in curves.items():
        yield f'<path stroke="{DRAWN[peer]}" d="{_path(curve, across, up)}"/>'
        for x, y in curve:
            words = html.escape(f"{peer}, {x:g}: {amount(y, 's')}")
            at = f'cx="{across.at(x):.1f}" cy="{up.at(y):.1f}"'
            yield f'<circle {at} r="2.6" fill="{DRAWN[peer]}"><title>{words}</title></circle>'


def _path(curve: Curve, across: "_Axis", up: "_Axis") -> str:
    return "M" + "L".join(f"{across.at(x):.1f} {up.at(y):.1f}" for x, y in curve)


class _Axis:
    """A logarithmic axis over some numbers, between two places in the drawing."""

    def __init__(self, numbers: list[float], start: float, stop: float) -> None:
        logs = [math.log10(x) for x in numbers]
        self.begin, self.end = min(logs) - 0.15, max(logs) + 0.15
        self.start, self.scale = start, (stop - start) / (self.end - self.begin)

    def at(self, x: float) -> float:
        return self.start + self.scale * (math.log10(x) - self.begin)

    def powers(self) -> range:
        """The powers of ten that are marked: about four."""
        first, last = math.ceil(self.begin), math.floor(self.end)
        return range(first, last + 1, max(1, math.ceil((last - first + 1) / 5)))
