"""The site of several versions: a folder for each tag, and one for what is checked out.

    python -m docs.generate.versions SITE            # of every tag v1.2.3, and of the checkout
    python -m docs.generate.versions SITE --only     # of the checkout alone; the others stay

`SITE/versions.json` lists them, newest first, in the form that the theme's selector reads, and
`SITE/index.html` leads to the newest release, or to the checkout if there is none. A version is
built by its own `mkdocs.yml`, from its own files, with the packages that are installed.
"""

from __future__ import annotations

import argparse
import html
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
RELEASE = re.compile(r"v(\d+)\.(\d+)\.(\d+)$")
DEVELOPED = "dev"
"""The folder of the checkout."""
LEAD = (
    '<!DOCTYPE html>\n<meta http-equiv="refresh" content="0; url={0}/">\n<a href="{0}/">{0}</a>\n'
)


def releases(tags: list[str]) -> list[str]:
    """The tags that are releases, the newest first.

    >>> releases(["v0.9.0", "v0.10.1", "draft", "v1.0.0rc1"])
    ['v0.10.1', 'v0.9.0']
    """
    numbers = {tag: tuple(map(int, m.groups())) for tag in tags if (m := RELEASE.match(tag))}
    return sorted(numbers, key=lambda tag: numbers[tag], reverse=True)


def listed(found: list[str], version: str) -> list[dict[str, object]]:
    """What the selector shows: each folder with its title.

    >>> [entry["title"] for entry in listed(["v0.1.0"], "0.2.0")]
    ['0.2.0 (in development)', '0.1.0']
    """
    entries: list[dict[str, object]] = [
        {"version": DEVELOPED, "title": f"{version} (in development)", "aliases": []}
    ]
    for k, tag in enumerate(found):
        aliases = ["latest"] if k == 0 else []
        entries.append({"version": tag, "title": tag.removeprefix("v"), "aliases": aliases})
    return entries


def build(source: Path, site: Path) -> None:
    """One version, from its own files; pages know of the others by `WENGERT_VERSIONS`."""
    path = os.pathsep.join([str(source), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", site.resolve()],
        cwd=source, check=True, env={**os.environ, "WENGERT_VERSIONS": "1", "PYTHONPATH": path},
    )  # fmt: skip
    told = site / "sitemap.xml"
    if "<loc>" not in told.read_text(encoding="utf-8"):  # MkDocs lists none without an address
        told.write_text(sitemap(site), encoding="utf-8")


def sitemap(site: Path) -> str:
    """The pages of a version, by which the theme's selector stays on the page that is read.

    It puts the reader's host in the place of this one, and asks only what follows their beginning.
    """
    pages = sorted(page.parent.relative_to(site).as_posix() for page in site.rglob("index.html"))
    places = (f"http://localhost/{page}/".replace("/./", "/") for page in pages)
    lines = "".join(f"<url><loc>{html.escape(place)}</loc></url>\n" for place in places)
    return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{lines}</urlset>\n'


def write(site: Path, found: list[str]) -> None:
    """The list of versions, and the page that leads to one of them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    built = [tag for tag in found if (site / tag).is_dir()]
    text = json.dumps(listed(built, project["version"]), indent=1)
    (site / "versions.json").write_text(text + "\n", encoding="utf-8")
    newest = built[0] if built else DEVELOPED
    (site / "index.html").write_text(LEAD.format(newest), encoding="utf-8")


def _git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="the site, with a folder for each version")
    parser.add_argument("site", type=Path, help="the folder to write")
    parser.add_argument("--only", action="store_true", help="build what is checked out alone")
    options = parser.parse_args(words)
    options.site.mkdir(parents=True, exist_ok=True)
    found = releases(_git("tag").split())
    build(ROOT, options.site / DEVELOPED)
    for tag in [] if options.only else found:
        if not (options.site / tag).exists():  # what is released changes no more
            with tempfile.TemporaryDirectory() as folder:
                source = Path(folder) / "source"
                _git("clone", "--quiet", "--branch", tag, str(ROOT), str(source))
                build(source, options.site / tag)
    write(options.site, found)


if __name__ == "__main__":
    main()
