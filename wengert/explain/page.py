"""The textbook's traces as one web page, to step through forward and back.

The page needs nothing but itself: a drawing of the computation, the three traces, a few buttons.
Going forward fills in values and tangents, and then the adjoints from the last step back. Its text,
style and script are the files page.html, page.css, page.js and picture.js beside this one.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from wengert.explain.graph import COLOURS, STYLE, Drawing, escaped, steps
from wengert.explain.mathml import math

if TYPE_CHECKING:
    from wengert.explain.explanation import Explanation, Row

PHONE = 560
"""The most pixels of a drawing that stands upright: a phone has its letters at half their size."""
SMALLEST, LARGEST = 0.65, 1.5
"""How far a drawing is made smaller or larger, to fill its frame."""


def page(e: Explanation) -> str:
    """An explanation as the text of an HTML file; `page.html#7` opens it at a step.

    >>> import wengert as wg
    >>> text = page(wg.explain(lambda x: x * x, 3.0))
    >>> text.startswith("<!DOCTYPE html>") and "http" not in text
    True
    """
    drawing, upright = Drawing(e), Drawing(e, upright=True)
    fits = upright.size()[0] <= min(PHONE, drawing.size()[0])
    return Template(_file("page.html")).substitute(
        title=escaped(e.title),
        heading=math(e.title),
        point=math(e.point),
        summary=math(e.summary()),
        wrt=math(f"∂/∂{e.wrt}"),
        adjoint_of=math(f"∂{e.of}/∂v"),
        of=math(e.of),
        drawing=_framed(drawing, "lying" if fits else "")
        + (_framed(upright, "upright") if fits else ""),
        wide=" class=wide" if drawing.stacked else "",
        primal="\n".join(_row(e, "p", k, row) for k, row in enumerate(e.primal)),
        tangent="\n".join(_row(e, "t", k, row) for k, row in enumerate(e.tangent)),
        adjoint="\n".join(_row(e, "a", k, row) for k, row in enumerate(e.adjoint)),
        data=json.dumps(steps(e, math)).replace("</", "<\\/"),
        colours=COLOURS + STYLE,
        style=_file("page.css"),
        script=_file("picture.js") + _file("page.js"),
    )


@functools.cache
def _file(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _framed(drawing: Drawing, kind: str) -> str:
    """A drawing that grows and shrinks with the page, as far as it can be read."""
    width, _ = drawing.size()
    least, most = SMALLEST * width, LARGEST * width
    style = f"min-width: {least:g}px; max-width: {most:g}px"
    if kind == "upright":
        style = f"max-width: {width:g}px"
    return f'<div class="picture {kind}" style="{style}">{drawing.svg()}</div>'


def _row(e: Explanation, kind: str, k: int, row: Row) -> str:
    formula = " = ".join(part for part in (row.chain, row.formula) if part)
    cells = [
        f"{row.name} = {formula}",
        row.numbers and f"= {row.numbers}",
        f"= {e.shown(row.value)}",
    ]
    texts = [math(cell) if cell else "" for cell in cells]
    return (
        f'<tr id="{kind}{k}"><td>{texts[0]}</td><td class="late">{texts[1]}</td>'
        f'<td class="late value">{texts[2]}</td></tr>'
    )
