"""Writes `wengert/pytorch/modules.py` and `names.py`: PyTorch's modules, and their names here.

PyTorch has to be installed.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import textwrap
import types
import typing
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "wengert" / "pytorch"
MODULES = '''"""PyTorch's modules, by the package after `torch.` that holds them.

Written by `python -m docs.generate.modules`; a test compares it with PyTorch {version}.
"""


def entries(text: str) -> dict[str, str]:
    """What stands behind each path, whose further lines are indented."""
    lines = text.strip().replace("\\n    ", " ").splitlines()
    return {{path: names for path, _, names in (line.partition(": ") for line in lines)}}


COMPARED = "{version}"
MODULES = entries("""
{modules}
""")
'''
NAMES = '''"""Where names of PyTorch's are here, and which are not.

Written by `python -m docs.generate.modules`; a test compares it with PyTorch {version}.
"""

from wengert.pytorch.modules import entries

LACKING = entries("""
{lacking}
""")
"""Names of modules that have a file here, without a meaning here."""

HOMES = entries("""
{homes}
""")
"""Names of modules without a file here, by a module with one that has the same object of PyTorch's,
or by the file that defines it beside what else the module defines.

`_ConvNd=_Convolution`: PyTorch's private base of layers is this one of the same layers.
"""
'''


def tree() -> dict[str, list[str]]:
    """The modules in each package of PyTorch, found without running them.

    Left out is what is in private packages, but for the library's.
    """
    import torch

    from wengert.pytorch.absent import is_private

    found: dict[str, list[str]] = defaultdict(list)
    waiting = [("", list(torch.__path__))]
    while waiting:
        package, path = waiting.pop()
        for module in pkgutil.iter_modules(path):
            if module.name.startswith("__") and package:  # which are run, not imported
                continue
            found[package].append(module.name)
            own = f"{package}.{module.name}".lstrip(".")
            if module.ispkg and not is_private(own):
                waiting.append((own, [f"{p}/{module.name}" for p in path]))
    for name in sys.modules:
        package, _, own = name.removeprefix("torch.").rpartition(".")
        if name.startswith("torch._C."):  # the library that is no Python
            found[package].append(own)
    # Its operators are in an instance of a class, which programs read as a module.
    found["_C"] += [
        name
        for name, value in vars(torch._C).items()
        if not isinstance(value, type | ModuleType) and callable(getattr(value, "addmm", None))
    ]
    return {package: sorted(names) for package, names in sorted(found.items())}


def paths() -> list[str]:
    """PyTorch itself and its public modules, after `torch.`, each before those in it."""
    below = (f"{package}.{name}".lstrip(".") for package, names in tree().items() for name in names)
    return ["", *sorted(path for path in below if "._" not in f".{path}")]


def imported(path: str) -> Any:
    """A module of PyTorch's, or None where what it needs is not installed."""
    with warnings.catch_warnings(action="ignore"):  # of what is old
        try:
            return importlib.import_module(f"torch.{path}".rstrip("."))
        except ModuleNotFoundError:
            return None


def public(path: str) -> list[str]:
    """The public names of a module, but for those of other modules and libraries."""
    module = imported(path) or ModuleType("")
    with warnings.catch_warnings(action="ignore"):  # of what is old
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


def with_file(found: bool) -> list[str]:
    """The paths of PyTorch's modules that have a file here, or of the others."""
    from wengert.pytorch import absent

    return [path for path in paths() if absent.has_file(path) is found]


def ours(path: str) -> ModuleType:
    """What stands for a module of PyTorch's here."""
    from wengert.pytorch import absent

    return importlib.import_module(absent.counterpart(path))


def lacking() -> Iterator[tuple[str, list[str]]]:
    """For each module of PyTorch's that has a file here, the names that have no meaning."""
    for path in with_file(True):
        if names := [name for name in public(path) if not has(ours(path), name)]:
            yield path, names


def homes() -> Iterator[tuple[str, list[str]]]:
    """For each of the others, by the module here that has them, the names that have.

    Left out is what `absent._homes` knows by itself: what a package's modules have, and namesakes.
    """
    from wengert.pytorch.absent import namesakes

    rows = list(_homes())
    for path, home, names in rows:
        inner = [ns for p, h, ns in rows if p.startswith(f"{path}.") and h == home]
        parent = path.rpartition(".")[0]
        said = {*namesakes(path), *(n for ns in inner if home == parent for n in ns)}
        if left := [name for name in names if name not in said]:
            yield f"{path} in {home}".rstrip(), left


def _homes() -> Iterator[tuple[str, str, list[str]]]:
    known = _same_objects()
    for path in with_file(False):
        found: dict[str, list[str]] = defaultdict(list)
        for name in public(path):
            candidates = known.get((name, id(getattr(imported(path), name, None))), [])
            above = [home for home in candidates if f"{path}.".startswith(f"{home}.") or not home]
            if candidates:
                found[max(above) if above else min(candidates, key=len)].append(name)
        for name, home in _beside(path, known):
            found[home].append(name)
        for name, base in _bases(imported(path)):
            found[base.__module__.removeprefix("wengert.")].append(f"{name}={base.__name__}")
        yield from ((path, home, found[home]) for home in sorted(found))


def _beside(path: str, known: dict[tuple[str, int], list[str]]) -> Iterator[tuple[str, str]]:
    """The other names that a module defines, with the file here that defines them.

    It is one that defines what else the module does: `Module` stands beside the hooks of all
    modules, there and here. What stands for another name of PyTorch's does not for this one.
    """
    theirs = imported(path)
    own = {name: getattr(theirs, name, None) for name in public(path)}
    defined = [(n, id(v)) for n, v in own.items() if _home(v) == getattr(theirs, "__name__", "")]
    same = [(name, known[name, i]) for name, i in defined if (name, i) in known]
    files = {_home(getattr(ours(homes[0]), name)) for name, homes in same}
    taken = {name for name, _ in known}
    for file in sorted(f for f in files if f.startswith("wengert.")):
        module = importlib.import_module(file)
        for name, i in defined:
            new = (name, i) not in known and name not in taken and has(module, name)
            if new and _home(getattr(module, name)) == file:
                yield name, file.removeprefix("wengert.")


def _home(value: Any) -> str:
    with warnings.catch_warnings(action="ignore"):  # of what is old
        return str(getattr(value, "__module__", ""))


def _same_objects() -> dict[tuple[str, int], list[str]]:
    """For names and their objects, the modules with a file that have them here and in PyTorch."""
    known: dict[tuple[str, int], list[str]] = defaultdict(list)
    for path in with_file(True):
        for name, value in vars(imported(path) or ModuleType("")).items():
            if not name.startswith("_") and has(ours(path), name):
                known[name, id(value)].append(path)
    return known


def _bases(theirs: Any) -> Iterator[tuple[str, type]]:
    """The private bases of public layers that a module defines, each with its counterpart.

    That is the class which most of our layers of these names have in common, and no other layer:
    `isinstance` is never true where it is not in PyTorch.
    """
    from torch import nn as their_nn

    from wengert import nn as our_nn

    names = [n for n in public("nn") if type(getattr(their_nn, n)) is type and has(our_nn, n)]
    for name, base in vars(theirs or ModuleType("")).items():
        if name.startswith("_") and type(base) is type and base.__module__ == theirs.__name__:
            same = _below(base, their_nn, names)
            kinds = {kind for n in same for kind in getattr(our_nn, n).__mro__}
            most = max(
                (kind for kind in kinds if _below(kind, our_nn, names) <= same),
                key=lambda kind: (len(_below(kind, our_nn, names)), len(kind.__mro__)),
                default=None,
            )
            if most and 2 * len(_below(most, our_nn, names)) > len(same) > 1:
                yield name, most


def _below(base: type, package: ModuleType, names: Sequence[str]) -> set[str]:
    """Which of the classes of these names have this base."""
    return {name for name in names if issubclass(getattr(package, name), base)}


def has(module: Any, name: str) -> bool:
    """Whether a name is defined here, and not only explained."""
    from wengert.pytorch.absent import Unavailable

    try:
        return not isinstance(getattr(module, name), Unavailable)
    except AttributeError:
        return False
    except ImportError:  # the name is there, the package that it needs (bfloat16's) is not
        return True


def _entry(path: str, names: list[str]) -> str:
    line = f"{path}: {' '.join(sorted(names))}"
    return textwrap.fill(line, 92, subsequent_indent=" " * 4, break_on_hyphens=False)


def files() -> dict[Path, str]:
    """The files and their texts."""
    import torch

    version = torch.__version__.split("+")[0]
    tables = {
        name: "\n".join(_entry(*module) for module in table)
        for name, table in {
            "modules": tree().items(), "lacking": lacking(), "homes": homes()
        }.items()
    }  # fmt: skip
    return {
        FOLDER / f"{name}.py": head.format(version=version, **tables)
        for name, head in {"modules": MODULES, "names": NAMES}.items()
    }


if __name__ == "__main__":
    for target, text in files().items():
        target.write_text(text, encoding="utf-8")
        print(f"{target} written")
