"""What notebooks show as a picture, in one place: as SVG, and as PNG where that is not let through.

A notebook that was not run here is not trusted. JupyterLab then takes SVG out, and out of HTML too,
of which the bare text is left, and a picture's address; a PNG stays a PNG.
"""

from __future__ import annotations

import base64
import contextlib
import io
from typing import Any


class Picture:
    """Something with a figure of matplotlib's, as which notebooks show it."""

    def figure(self) -> Any:
        raise NotImplementedError

    def drawn(self, kind: str, **settings: Any) -> bytes:
        """The figure as a file of some kind: text stays text, and equal ones are equal files."""
        import matplotlib

        file = io.BytesIO()
        with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "wengert"}):
            settings |= {"metadata": {"Date": None}} if kind == "svg" else {}
            self.figure().savefig(file, format=kind, **settings)
        return file.getvalue()

    def svg(self) -> str:
        """The picture as the text of an SVG file."""
        return self.drawn("svg").decode()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        bundle = {"text/plain": str(self), "image/svg+xml": self.svg()}
        with contextlib.suppress(ImportError):  # a flame graph's SVG needs no matplotlib
            bundle["image/png"] = base64.b64encode(self.drawn("png", dpi=100)).decode()
        return bundle
