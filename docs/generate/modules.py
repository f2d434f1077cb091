"""Writes `wengert/pytorch/modules.py`: the modules of PyTorch, which has to be installed."""

from __future__ import annotations

import pkgutil
import textwrap
from collections import defaultdict
from pathlib import Path

TARGET = Path(__file__).resolve().parents[2] / "wengert" / "pytorch" / "modules.py"
HEAD = '''"""PyTorch's modules: for each package, after `torch.`, those that it holds.

Written by `python -m docs.generate.modules`; a test compares it with PyTorch {version}.
"""

COMPARED = "{version}"
MODULES = {{
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


def text() -> str:
    """The file's text."""
    import torch

    lines = [HEAD.format(version=torch.__version__.split("+")[0])]
    for package, names in tree().items():
        held = textwrap.fill(" ".join(sorted(names)), 92, initial_indent=" " * 8,
                             subsequent_indent=" " * 8, break_on_hyphens=False)  # fmt: skip
        lines.append(f'    "{package}": """\n{held}\n    """,\n')
    return "".join([*lines, "}\n"])


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
    print(f"{TARGET} written")
