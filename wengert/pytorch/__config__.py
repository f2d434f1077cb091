"""How the libraries below were built: `torch.__config__`, which programs print and search."""

from __future__ import annotations

import json
import os

import numpy as np

from wengert.pytorch.version import __version__


def show() -> str:
    """The versions, and what NumPy says of its build.

    >>> show().splitlines()[0].startswith("wengert, ")
    True
    """
    # NumPy prints this text itself, but warns where PyYAML is missing.
    built = json.dumps(np.show_config(mode="dicts"), indent=2)
    return f"wengert, as PyTorch {__version__}, with NumPy {np.__version__}:\n{built}"


def parallel_info() -> str:
    """How many processors there are, and what was asked of the threads of NumPy's libraries.

    >>> "processors" in parallel_info()
    True
    """
    asked = [f"{name}={value}" for name, value in os.environ.items() if name.endswith("_THREADS")]
    return "\n".join([f"processors: {os.cpu_count()}", *sorted(asked)])
