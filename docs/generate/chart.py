"""The chart of speed on the first page, drawn from the README's table of compiled functions."""

from __future__ import annotations

import html
import math
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"
SECTION = "A compiled training step"
PEERS = ("PyTorch", "JAX")
LEFT, WIDTH, BAR, GAP = 250, 640, 13, 16


def rows(text: str, section: str = SECTION) -> list[tuple[str, dict[str, float]]]:
    """The table's rows below a heading: what was timed, and the peers' times in ours.

    >>> table = '''| | wengert | ÷ PyTorch | ÷ JAX |
    ... |---|---:|---:|---:|
    ... | **A compiled training step** | | | |
    ... | small | 1 µs | 0.5 |  |
    ... | **Others** | | | |'''
    >>> rows(table)
    [('small', {'PyTorch': 2.0})]
    """
    cells = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    heads = [cell.strip() for cell in cells[0]]
    found: list[tuple[str, dict[str, float]]] = []
    inside = False
    for name, *values in ([cell.strip() for cell in line] for line in cells):
        if name.startswith("**"):
            inside = name == f"**{section}**"
        elif inside:
            by_head = dict(zip(heads[1:], values, strict=True))
            ratios = {peer: by_head.get(f"÷ {peer}", "") for peer in PEERS}
            found.append((name, {peer: 1 / float(r) for peer, r in ratios.items() if r}))
    return found


def speed() -> str:
    """Each step's time in PyTorch and JAX beside wengert's, on a logarithmic axis, as SVG."""
    text = README.read_text(encoding="utf-8")
    timed = rows(text.partition("<!-- benchmark compile -->")[2].partition("<!-- /bench")[0])
    most = max(ratio for _, ratios in timed for ratio in ratios.values())
    scale = (WIDTH - LEFT - 110) / math.log10(10 * most)
    parts, y = [], 0
    for name, ratios in timed:
        title = html.escape(name)
        parts.append(f'<text x="0" y="{y + 11}"><title>{title}</title>{_short(title)}</text>')
        for kind, who, ratio in [
            ("own", "wengert", 1.0),
            *(("other", who, ratio) for who, ratio in ratios.items()),
        ]:
            length = scale * math.log10(10 * ratio)
            words = who if kind == "own" else f"{who} {ratio:.3g}×"
            parts.append(
                f'<rect class="{kind}" x="{LEFT}" y="{y}" width="{length:.0f}" height="{BAR - 2}"/>'
                f'<text x="{LEFT + length + 6:.0f}" y="{y + 10}">{words}</text>'
            )
            y += BAR
        y += GAP
    label = "Times of compiled training steps beside those of PyTorch and JAX"
    return (
        f'<svg class="speed" viewBox="0 0 {WIDTH} {y}" role="img" aria-label="{label}">'
        + "".join(parts)
        + "</svg>"
    )


def _short(name: str, most: int = 34) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"
