"""The script or the module that the words of a command name: whether it is there, and its run."""

from __future__ import annotations

import os
import runpy
import sys
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ENDED = "WENGERT_ENDED"
"""The variable that names a folder in which processes say that the program has ended well."""


def missing(words: list[str]) -> str | None:
    """What is wrong with the script or the module of these words, if it is not there.

    >>> missing(["-m", "nosuch"]), missing(["-m", "json.tool"])
    ('there is no module nosuch', None)
    """
    if words[:1] != ["-m"]:
        path = Path(words[0])
        if path.is_dir() and not (path / "__main__.py").exists():
            return f"{words[0]} is a folder without __main__.py: name a script"
        return None if path.exists() else f"there is no script {words[0]}"
    name = words[1]
    if Path(name).is_file():
        return f"-m takes a module's name, and {name} is a script: leave out -m"
    spec: Any = None
    folders: Any = [str(Path.cwd()), *sys.path]
    parts = name.split(".")
    for k, part in enumerate(parts):  # none of them is imported here, so each is looked up alone
        below = folders if spec is None else spec.submodule_search_locations or []
        spec = PathFinder.find_spec(part, below) or (None if spec else find_spec(part))
        if spec is None:
            return f"there is no module {'.'.join(parts[: k + 1])}"
    inside = spec.submodule_search_locations
    if inside is not None and PathFinder.find_spec("__main__", inside) is None:
        return f"{name} is a package without __main__.py: name one of its modules"
    return None


def run(words: list[str]) -> None:
    """Run a script, or a module, as Python does; SystemExit if there is none."""
    if message := missing(words):
        raise SystemExit(f"wengert run: {message}")
    if words[:1] == ["-m"]:
        sys.argv = words[1:]
        sys.path.insert(0, os.getcwd())  # noqa: PTH109  (as Python does)
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = words
        sys.path.insert(0, os.path.dirname(os.path.abspath(words[0])))  # noqa: PTH100, PTH120
        runpy.run_path(words[0], run_name="__main__")
