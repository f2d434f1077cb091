"""Who takes part, on equal terms: the peers' names, imports and versions, one thread for each."""

import importlib
import importlib.metadata
import os
import sys

# Name in the tables -> the package that is imported.
PACKAGES = {"wengert": "wengert", "PyTorch": "torch", "autograd": "autograd", "NumPy": "numpy"}
NAMES = tuple(PACKAGES)

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


def use_one_thread() -> None:
    """Give every peer one thread. Call it first: child processes inherit the setting."""
    assert "numpy" not in sys.modules, "too late: NumPy's BLAS has already started its threads"
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))


def load(names):
    """Import the peers: `{name: module}` of those found, `{name: reason}` of those missing."""
    found, missing = {}, {}
    for name in names:
        try:
            found[name] = importlib.import_module(PACKAGES[name])
        except ImportError as error:
            missing[name] = str(error)
    if "PyTorch" in found:
        found["PyTorch"].set_num_threads(1)
    return found, missing


def version(name):
    try:
        return importlib.metadata.version(PACKAGES[name])
    except importlib.metadata.PackageNotFoundError:
        return "not installed, run from its source"
