"""Who takes part, on equal terms: the peers' names, imports and versions, one thread for each."""

import compileall
import functools
import importlib
import importlib.metadata
import importlib.util
import os
import subprocess
import sys
from collections.abc import Mapping

# Name in the tables -> the package that is imported. C has none: `by_hand.py` compiles it.
PACKAGES = {
    "wengert": "wengert",
    "PyTorch": "torch",
    "autograd": "autograd",
    "JAX": "jax",
    "NumPy": "numpy",
    "C": None,
}
NAMES = tuple(PACKAGES)

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    # XLA has no flag that holds all of its work to one thread; these size the pool it works with.
    "NPROC",
    "PJRT_NPROC",
)


def use_one_thread() -> None:
    """Give every peer one thread. Call it first: child processes inherit the setting."""
    assert "numpy" not in sys.modules, "too late: NumPy's BLAS has already started its threads"
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    # On the processor, as the others, and in the calling thread: the benchmarks wait for each
    # result, and a small step that is handed to another thread takes a third longer.
    os.environ.update(JAX_PLATFORMS="cpu", JAX_CPU_ENABLE_ASYNC_DISPATCH="false")


def load(names):
    """Import the peers: `{name: module}` of those found, `{name: reason}` of those missing."""
    found, missing = {}, {}
    for name in names:
        try:
            found[name] = _load_one(name)
        except ImportError as error:
            missing[name] = str(error)
    if "PyTorch" in found:
        found["PyTorch"].set_num_threads(1)
    return found, missing


def _load_one(name):
    if name == "C":
        from benchmarks import by_hand  # imports NumPy, which must not precede `use_one_thread`

        return by_hand.build()
    return importlib.import_module(PACKAGES[name])


def version(name):
    if name == "C":
        from benchmarks import by_hand

        return by_hand.version()
    try:
        return importlib.metadata.version(PACKAGES[name])
    except importlib.metadata.PackageNotFoundError:
        return "not installed, run from its source"


@functools.cache
def keep_bytecode() -> None:
    """Write the bytecode of wengert and the benchmarks, as pip writes that of what it installs.

    Else each fresh process would compile modules from text that its peers have compiled already.
    """
    for name in ("wengert", "benchmarks"):
        (folder,) = importlib.util.find_spec(name).submodule_search_locations
        compileall.compile_dir(folder, quiet=2)


def in_a_fresh_process(module: str, *words: str, env: Mapping[str, str]) -> str:
    """What `python -m benchmarks.MODULE WORDS` prints, with `env` added to the environment."""
    keep_bytecode()
    return subprocess.run(
        [sys.executable, "-m", f"benchmarks.{module}", *words],
        env=os.environ | env,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
