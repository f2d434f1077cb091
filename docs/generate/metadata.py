"""What the build puts into the package's metadata: the README, for readers who have no checkout.

Its links to files lead nowhere outside of the repository. They lead to the address under
`project.urls` in pyproject.toml, `Source`, if there is one; else their text stays, and no link.
"""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

INSIDE = re.compile(r"(!?)\[([^\]]+)\]\((?!https?:|#)([^)]+)\)")
"""A link to a file of the repository, or a picture: its text, and the file."""


def readme(text: str, source: str | None) -> str:
    """The README with links that work anywhere.

    >>> readme("See [the tutorial](docs/tutorial.md) and [us](https://x.org).", None)
    'See the tutorial and [us](https://x.org).'
    >>> readme("See [the tutorial](docs/tutorial.md).", "https://x.org/wengert")
    'See [the tutorial](https://x.org/wengert/blob/main/docs/tutorial.md).'
    """

    def placed(found: re.Match[str]) -> str:
        picture, words, file = found.groups()
        if source is None:
            return words
        return (
            f"{picture}[{words}]({source.rstrip('/')}/{'raw' if picture else 'blob'}/main/{file})"
        )

    return INSIDE.sub(placed, text)


class Metadata(MetadataHookInterface):
    """What hatchling calls while it builds."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        told = readme(text, metadata.get("urls", {}).get("Source"))
        metadata["readme"] = {"content-type": "text/markdown", "text": told}
