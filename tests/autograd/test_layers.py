"""Imports point one way: each module leans only on the layers below it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

import wengert

ROOT = Path(wengert.__file__).parent

LAYERS = [
    {"errors", "version"},
    {"dispatch"},
    {"dtypes"},
    {"rules"},
    {"history"},
    {"tensor"},
    {"numeric"},
    {"autograd"},
    {"functions"},
    {
        "arrays",
        "compile",
        "transforms",
        "solvers",
        "sparse",
        "func",
        "implicit",
        "primitive",
        "random",
        "linalg",
        "fft",
        "signal",
        "special",
        "cuda",
        "backends",
        "amp",
        "compiler",
        "jit",
    },
    {
        "nn",
        "optim",
        "optimize",
        "utils",
        "datasets",
        "distributions",
        "masked",
        "serialization",
    },
    {
        "symbolic",
        "explain",
        "tape",
        "interop",
        "distributed",
        "visual",
        "profiler",
        "models",
        "vision",
    },
    {"__init__"},
    {"cli", "as_torch", "__main__"},
]
"""From the ground up. A module may import its own layer, at its own peril, and those before it."""

UPWARD = {
    (
        "autograd",
        "transforms",
    ): "gradients for a batch of cotangents, is_grads_batched, are a vmap over the sweep",
}
"""Imports inside functions that point upward, each with its reason."""


def modules():
    return sorted(path for path in ROOT.rglob("*.py"))


def part(name: str) -> str:
    """The layer's name of a module given as `wengert.a.b`, or of the package itself."""
    pieces = name.split(".")
    return pieces[1] if len(pieces) > 1 else "__init__"


def of(path: Path) -> str:
    relative = path.relative_to(ROOT).with_suffix("").parts
    return relative[0]


def rank(name: str) -> int | None:
    return next((i for i, layer in enumerate(LAYERS) if name in layer), None)


def imported(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names if alias.name.split(".")[0] == "wengert"]
    if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "wengert":
        if node.module == "wengert":
            # `from wengert import dtypes` names a module, `import zeros` a function.
            return [
                f"wengert.{alias.name}" if rank(alias.name) is not None else "wengert"
                for alias in node.names
            ]
        return [node.module]
    return []


def is_for_types_only(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


@cache
def imports(path: Path) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    """The imports that run when the module does, and those inside functions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    here: list[tuple[int, str]] = []
    later: list[tuple[int, str]] = []

    def walk(node: ast.AST, inside: bool) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt) and is_for_types_only(child):
                continue
            if isinstance(child, (ast.Import, ast.ImportFrom)):
                (later if inside else here).extend((child.lineno, name) for name in imported(child))
            walk(
                child,
                inside or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)),
            )

    walk(tree, False)
    return here, later


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_every_module_has_a_layer(path):
    assert rank(of(path)) is not None, f"add {of(path)!r} to LAYERS, above all it imports"


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_of_a_module_point_down(path):
    here, _ = imports(path)
    mine = of(path)
    upward = [
        f"line {line}: {name}" for line, name in here if (rank(part(name)) or 0) > (rank(mine) or 0)
    ]
    assert upward == [], f"{mine} is a layer below these"


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_inside_functions_point_down_or_are_listed_with_a_reason(path):
    _, later = imports(path)
    mine = of(path)
    upward = [
        f"line {line}: {name}"
        for line, name in later
        if (rank(part(name)) or 0) > (rank(mine) or 0) and (mine, part(name)) not in UPWARD
    ]
    assert upward == [], "list them in UPWARD with a reason, or move what is imported down"


def test_no_exception_is_listed_in_vain():
    used = {(of(path), part(name)) for path in modules() for _, name in imports(path)[1]}
    assert set(UPWARD) - used == set()


def test_the_rules_know_of_nothing_but_numpy_and_dispatch():
    for path in (ROOT / "rules").rglob("*.py"):
        found = {part(name) for _, name in imports(path)[0]} - {
            "rules",
            "dispatch",
            "dtypes",
            "errors",
        }
        assert found == set(), path.name
