"""Intel's MKL, which some builds of NumPy stand on."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.imports import lacking as _lacking


def is_available() -> bool:
    """Whether NumPy's BLAS is MKL."""
    configuration: Any = np.show_config(mode="dicts")
    return "mkl" in configuration["Build Dependencies"]["blas"]["name"].lower()


_lacking(__name__)
