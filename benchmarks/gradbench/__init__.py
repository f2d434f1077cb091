"""GradBench's twelve problems: in wengert as a user writes them, in PyTorch, JAX and C.

Each file (`gmm.py`, `ba.py`, ...) is a problem beside its mathematics. `python -m
benchmarks.gradbench` is a tool for GradBench's harness, which asks for values and derivatives line
by line (`protocol.py`). `python -m benchmarks gradbench --data FOLDER` runs the problems by itself
and prints the table (`table.py`).

Nothing is imported here: NumPy's BLAS reads the number of threads once, when NumPy is imported.
"""

import importlib
from pathlib import Path

PEERS = ("wengert", "PyTorch", "JAX", "C")

NAMES = (
    "hello",
    "gmm",
    "ba",
    "ht",
    "lstm",
    "lse",
    "kmeans",
    "det",
    "llsq",
    "ode",
    "particle",
    "saddle",
)


def named(name: str):
    """The `Problem` of a name in `NAMES`."""
    return importlib.import_module(f"benchmarks.gradbench.{name}").PROBLEM


def run(peers, quick, only, data: Path | None = None):
    from benchmarks.gradbench.table import run

    return run(peers, quick, only, data)
