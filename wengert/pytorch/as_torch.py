"""Run a program written for PyTorch: `python -m wengert.as_torch program.py arguments...`.

While it runs, `import torch`, `import torch.nn as nn`, `from torch.utils.data import DataLoader`
and so on mean wengert. The program is not changed. What wengert lacks is an ImportError or an
AttributeError where the program asks for it.

>>> import sys
>>> with installed():
...     import torch
>>> torch.tensor([1.0]).add(1)
tensor([2.])
"""

from __future__ import annotations

import contextlib
import importlib.util
import runpy
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from wengert.imports import Aliases
from wengert.pytorch import absent as absent
from wengert.pytorch import version
from wengert.pytorch.modules import COMPARED


def _counterpart(name: str) -> str | None:
    """The name of wengert's module for one of PyTorch; ModuleNotFoundError if there is none."""
    package, _, path = name.partition(".")
    if package != "torch":
        return None
    ours = absent.counterpart(path)
    if _exists(ours):
        return ours
    raise ModuleNotFoundError(
        f"wengert has nothing that stands for {name}. docs/coming_from_pytorch.md lists what is "
        "missing.",
        name=name,
    )


def _exists(ours: str) -> bool:
    try:
        return importlib.util.find_spec(ours) is not None
    except ModuleNotFoundError as error:  # its parent is missing, or something that this imports
        if error.name is None or not ours.startswith(error.name):
            raise
        return False


@contextlib.contextmanager
def installed() -> Iterator[None]:
    """Let `import torch` mean wengert in a `with` block, even where PyTorch is imported already."""
    before = _take_out()
    finder = Aliases(_counterpart, packages=True)
    sys.meta_path.insert(0, finder)
    # Programs compare a version of PyTorch's: they are told the one that wengert is compared with.
    # And those that change PyTorch look for the place by the package's name.
    package, own = sys.modules["wengert"], version.__version__
    package.__version__ = version.__version__ = COMPARED  # type: ignore[attr-defined]
    package.__name__ = "torch"
    try:
        yield
    finally:
        package.__name__ = "wengert"
        package.__version__ = version.__version__ = own  # type: ignore[attr-defined]
        sys.meta_path.remove(finder)
        _take_out()
        sys.modules.update(before)


def _take_out() -> dict[str, ModuleType]:
    """Remove PyTorch's names from the imported modules; returns what they were."""
    names = [name for name in sys.modules if name == "torch" or name.startswith("torch.")]
    return {name: sys.modules.pop(name) for name in names}


def run(program: str | Path, arguments: Sequence[str] = ()) -> dict[str, Any]:
    """Run a program as `python program arguments...` would; returns its global variables."""
    program = Path(program)
    argv, path = sys.argv, sys.path[:]
    sys.argv = [str(program), *arguments]
    sys.path.insert(0, str(program.resolve().parent))
    try:
        with installed():
            return runpy.run_path(str(program), run_name="__main__")
    finally:
        sys.argv, sys.path[:] = argv, path


def main(arguments: Sequence[str] | None = None) -> int:
    """The command: runs the program that the first argument names."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if not arguments or arguments[0] in ("-h", "--help"):
        print(f"wengert {version.__version__}: python -m wengert.as_torch PROGRAM [ARGUMENTS...]")
        print("Runs a program written for PyTorch, with wengert in the place of torch.")
        return 0 if arguments else 2
    if not Path(arguments[0]).is_file():
        print(f"wengert.as_torch: there is no file {arguments[0]}", file=sys.stderr)
        return 2
    run(arguments[0], arguments[1:])
    return 0


if __name__ == "__main__":
    sys.exit(main())
