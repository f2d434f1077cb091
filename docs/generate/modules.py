"""Writes `wengert/pytorch/modules.py`: the modules of PyTorch, and its names that are not here.

PyTorch has to be installed.
"""

from __future__ import annotations

import importlib
import pkgutil
import textwrap
import types
import typing
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

TARGET = Path(__file__).resolve().parents[2] / "wengert" / "pytorch" / "modules.py"
HEAD = '''"""PyTorch's modules, by the package after `torch.` that holds them, and names not here.

Written by `python -m docs.generate.modules`; a test compares it with PyTorch {version}.
"""


def _entries(text: str) -> dict[str, str]:
    """What stands behind each path, whose further lines are indented."""
    lines = text.strip().replace("\\n    ", " ").splitlines()
    return {{path: names for path, _, names in (line.partition(": ") for line in lines)}}


COMPARED = "{version}"
MODULES = _entries("""
{modules}
""")
LACKING = _entries("""
{lacking}
""")
"""Names of modules that have a file here, without a meaning here."""
'''


def tree() -> dict[str, list[str]]:
    """The public modules in each package of PyTorch, found without running them."""
    import torch

    found: dict[str, list[str]] = defaultdict(list)
    waiting = [("", list(torch.__path__))]
    while waiting:
        package, path = waiting.pop()
        for module in pkgutil.iter_modules(path):
            if module.name.startswith("_"):
                continue
            found[package].append(module.name)
            if module.ispkg:
                inner = [f"{p}/{module.name}" for p in path]
                waiting.append((f"{package}.{module.name}".lstrip("."), inner))
    return dict(sorted(found.items()))


def paths() -> list[str]:
    """PyTorch itself and its modules, after `torch.`, each before those in it."""
    below = (f"{package}.{name}".lstrip(".") for package, names in tree().items() for name in names)
    return ["", *sorted(below)]


def public(path: str) -> list[str]:
    """The public names of a module, but for those of other modules and libraries."""
    with warnings.catch_warnings(action="ignore"):  # of what is old
        try:
            module = importlib.import_module(f"torch.{path}".rstrip("."))
        except ModuleNotFoundError:  # what it needs is not installed
            return []
        # Programs import what a module defines, whether or not it is in `__all__`.
        own = [name for name in vars(module) if _is_own(module, name)]
        names = [*getattr(module, "__all__", ()), *own]
        taken = {"Tensor"} if path else set()  # which some say to be theirs
        return sorted({name for name in names if not name.startswith("_")} - taken)


ALIASES = (types.GenericAlias, types.UnionType, type(typing.List[int]), type(typing.Optional[int]))  # noqa: UP006, UP045
"""What names of types are that a module gives to others."""


def _is_own(module: Any, name: str) -> bool:
    value = getattr(module, name)
    if isinstance(value, ALIASES):
        return True
    home = getattr(value, "__module__", module.__name__ if callable(value) else None)
    inside = f"torch._C._{module.__name__.removeprefix('torch.')}"
    return not isinstance(value, ModuleType) and str(home).startswith((module.__name__, inside))


def lacking() -> Iterator[tuple[str, list[str]]]:
    """For each module of PyTorch's that has a file here, the names that have no meaning."""
    from wengert.pytorch import absent

    for path in paths():
        if absent.has_file(path):
            ours = importlib.import_module(absent.counterpart(path))
            names = [name for name in public(path) if not has(ours, name)]
            if names:
                yield path, names


def has(ours: Any, name: str) -> bool:
    """Whether a name is defined here, and not only explained."""
    from wengert.pytorch.absent import Unavailable

    try:
        return not isinstance(getattr(ours, name), Unavailable)
    except AttributeError:
        return False
    except ImportError:  # the name is there, the package that it needs (bfloat16's) is not
        return True


def _entry(path: str, names: list[str]) -> str:
    line = f"{path}: {' '.join(sorted(names))}"
    return textwrap.fill(line, 92, subsequent_indent=" " * 4, break_on_hyphens=False)


def text() -> str:
    """The file's text."""
    import torch

    return HEAD.format(
        version=torch.__version__.split("+")[0],
        modules="\n".join(_entry(*package) for package in tree().items()),
        lacking="\n".join(_entry(*module) for module in lacking()),
    )


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
    print(f"{TARGET} written")
