"""Imports point one way: each module leans only on the layers below it.

Every import counts: those that run when a module does, those inside functions, and those for type
checkers only.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

import wengert

ROOT = Path(wengert.__file__).parent

LAYERS = [
    {"errors", "imports", "dispatch", "dtypes"},
    {"rules", "tree"},
    {"history"},
    {"arrays"},
    {"tensor"},
    {"numeric"},
    {"autograd"},
    {"functions"},
    {"compile", "transforms"},
    {"control", "distributed"},
    {"nn", "solvers", "sparse", "symbolic"},
    {"optim", "serialization", "explain"},
    {"utils", "numpy"},
]
"""From the ground up: what others lean on. A module may import its own room, and those below."""

HALL = {"__init__", "__main__", "cli"}
"""Where all comes together. Every room that stands neither here nor above is a leaf."""

UPWARD: dict[tuple[str, str], str] = {
    ("compile", "control"): "a `for` loop in a compiled function is one of wg.scan's",
    ("compile", "visual"): "a compiled function draws itself when it is asked to: f.graph()",
    ("profiler", "visual"): "a profile draws itself when it is asked to: prof.flame_graph()",
}
"""Imports that point upward, each with its reason."""

LARGEST_CIRCLE = 3
"""So many files may import each other in a circle: programs, their inference, and their text."""


def module(path: Path) -> str:
    """The name of a file's module: `wengert.a.b`."""
    name = ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)
    return name.removesuffix(".__init__")


FILES = {module(path): path for path in sorted(ROOT.rglob("*.py"))}


def room(path: Path) -> str:
    """The folder at the top of the package, or the file there, that a module belongs to."""
    return path.relative_to(ROOT).with_suffix("").parts[0]


ROOMS = {room(path) for path in FILES.values()}
LEAVES = ROOMS - HALL - set().union(*LAYERS)


@functools.cache
def imports(path: Path) -> list[tuple[int, Path]]:
    """All imports of a module: the line of each, and the file it names."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [
        (node.lineno, FILES[name])
        for node in ast.walk(tree)
        for name in imported(node)
        if name in FILES and FILES[name] != path
    ]


def imported(node: ast.AST) -> Iterator[str]:
    """`from wengert import dtypes` names a module, `from wengert.dtypes import int64` a name in it.

    What type checkers read, `functions/methods/attached.pyi`, is no module.
    """
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        assert not node.level, "imports name the whole path"
        for alias in node.names:
            name = f"{node.module}.{alias.name}"
            yield name if name in FILES or is_stub(name) else str(node.module)


def is_stub(name: str) -> bool:
    return (ROOT.parent / name.replace(".", "/")).with_suffix(".pyi").exists()


def may_import(mine: str, other: str) -> bool:
    if mine == other or mine in HALL:
        return True
    return other not in HALL | LEAVES and (mine in LEAVES or rank(other) < rank(mine))


def rank(name: str) -> int:
    return next(i for i, layer in enumerate(LAYERS) if name in layer)


@pytest.mark.parametrize("path", FILES.values(), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_of_a_module_point_down_or_are_listed_with_a_reason(path):
    mine = room(path)
    upward = [
        f"line {line}: {module(other)}"
        for line, other in imports(path)
        if not may_import(mine, room(other)) and (mine, room(other)) not in UPWARD
    ]
    assert upward == [], "move what is imported down, or give it a layer below those who lean on it"


def test_no_exception_is_listed_in_vain_and_there_are_three_at_most():
    used = {(room(path), room(other)) for path in FILES.values() for _, other in imports(path)}
    assert set(UPWARD) - used == set()
    assert len(UPWARD) <= 3


def test_each_room_has_one_layer_and_rows_are_short():
    rows = [*LAYERS, HALL]
    assert set().union(*rows) <= ROOMS
    assert sum(map(len, rows)) == len(set().union(*rows))
    assert max(map(len, rows)) <= 5


def test_all_that_stands_in_a_layer_is_leaned_on():
    leaned_on = {
        room(other)
        for path in FILES.values()
        for _, other in imports(path)
        if room(path) not in {room(other), *HALL}
    }
    assert set().union(*LAYERS) - leaned_on == set(), "these are leaves: take them off the layers"


def test_no_circle_of_files_is_larger_than_it_was():
    largest = max(map(circle, FILES.values()), key=len)
    assert len(largest) <= LARGEST_CIRCLE, sorted(map(module, largest))


def circle(path: Path) -> set[Path]:
    """The files that a file leans on, and that lean on it."""
    return {path} | {other for other in reached(path) if path in reached(other)}


@functools.cache
def reached(path: Path) -> set[Path]:
    """All that a file leans on. A folder's `__init__` only names what stands in it."""
    seen: set[Path] = set()
    waiting = [path]
    while waiting:
        new = {other for _, other in imports(waiting.pop()) if other.name != "__init__.py"} - seen
        seen |= new
        waiting += new
    return seen


def test_the_rules_know_of_nothing_but_numpy_and_dispatch():
    for path in (ROOT / "rules").rglob("*.py"):
        found = {room(other) for _, other in imports(path)}
        assert found <= {"rules", "dispatch", "dtypes", "errors"}, path.name


def test_networks_and_optimizers_know_nothing_of_the_compiler():
    """What it has to know of them they tell on the ground: `history/surroundings.py`."""
    for path in (*(ROOT / "nn").rglob("*.py"), *(ROOT / "optim").rglob("*.py")):
        assert "compile" not in {room(other) for _, other in imports(path)}, path.name
