"""Which names the reference is about: those that readers of the package find.

A package gives a name away by importing it under that name, `from wengert.tree import map as map`.
If that is a module, all that is written in it is given away, and what it imports in the same way.
What functions give back is public too, though nobody calls it by its name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docs.generate.signatures import named

OPEN = {
    f"wengert.{name}"
    for name in (
        "autograd.primitive", "distributed.model", "distributions.elementwise_transforms",
        "distributions.transform", "distributions.vector_transforms", "functions.elementary",
        "nn.distributed", "rules.rule", "serialization.archive", "symbolic.formula",
        "utils.tensorboard",
    )
}  # fmt: skip
"""Modules that are public as a whole, though a package gives away what is in them by other ways."""
MIXED = {"wengert.tree", "wengert.pytorch.overrides"}
"""Modules that have helpers for others beside what is public."""


def modules(module: Any) -> Iterator[Any]:
    """A module, and those in it."""
    yield module
    for inner in module.modules.values():
        if not inner.is_alias:
            yield from modules(inner)


def names(found: list[Any]) -> tuple[set[str], set[str]]:
    """The modules that are public as a whole, and the names that are, by their paths."""
    given = {  # by folders, and by files that hold nothing of their own
        path
        for module in found
        if module.is_init_module or all(item.is_alias for item in module.members.values())
        for path in module.imports.values()
    } | {f"{module.path}.{name}" for module in found for name in module.exports or ()}
    unmixed = {module.path for module in found} - MIXED
    folders = (module for module in found if module.is_init_module)
    whole = OPEN | {path for folder in folders for path in imported(folder) if path in unmixed}
    return whole, given | {p for m in found if m.path in whole for p in imported(m)}


def imported(module: Any) -> Iterator[str]:
    """What a module imports under the name that it has already, which gives it away."""
    if Path(module.filepath).suffix == ".py":
        for node in ast.walk(ast.parse(Path(module.filepath).read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                yield from (f"{node.module}.{a.name}" for a in node.names if a.name == a.asname)


def results(item: Any) -> Iterator[str]:
    """The types of what a function gives back, or the methods and properties of a class."""
    if item.is_class:
        for inner in item.members.values():
            if not inner.is_alias and not inner.name.startswith("_"):
                yield from results(inner)
    elif item.is_function:
        forms = [item, *(item.overloads or ())]
        yield from (n.canonical_path for f in forms for n in named(f.returns))
    elif item.is_attribute:
        yield from (name.canonical_path for name in named(item.annotation))
