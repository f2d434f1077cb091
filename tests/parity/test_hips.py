"""HIPS autograd's own tests of NumPy code, with the imports changed.

They are run where a checkout of github.com/HIPS/autograd is named by the environment variable
AUTOGRAD_TESTS, its folder `tests`; the files are not copied here. `hips.py` stands in for autograd.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.parity.hips import instead_of_autograd

FOLDER = Path(os.environ.get("AUTOGRAD_TESTS", "not given"))
FILES = (
    "test_numpy", "test_systematic", "test_linalg", "test_fft", "test_complex", "test_binary_ops",
    "test_scalar_ops", "test_dict", "test_list", "test_tuple",
    "test_jacobian", "test_direct", "test_truediv", "test_scipy",
)  # fmt: skip
DIFFERS = {
    "test_make_diagonal test_diagonal test_pinv": "autograd's own functions, which NumPy lacks",
    "test_no_relation test_r_no_relation": "a result without relation to x is an error here",
    "test_cast_to_int": "np.int64(x) is a class, which takes numbers",
    "test_eigvalh_lower test_eigvalh_upper test_eigvalh_lower_broadcasting "
    "test_eigvalh_upper_broadcasting test_eigvalh_lower_complex test_eigvalh_upper_complex":
    "of a matrix that is not symmetric; the derivative is among symmetric ones, as PyTorch's",
    "test_rfftn_odd_not_implemented": "it is implemented",
    "test_jacobian_against_grad": "the gradient of an array with one element",
    "test_convolve_generalization test_convolve_ignore test_convolve_ignore_dot":
    "axes= of autograd's own convolve, which SciPy's lacks",
    "test_logsumexp6": "the gradient of an array with one element",
    "test_grad_complex_output test_holomorphic_grad": "complex results of grad",
}  # fmt: skip
LEFT_OUT = {name for names in DIFFERS for name in names.split()}


def cases() -> Iterator[Any]:
    """The test functions of the files, if they are there."""
    sys.path.insert(0, str(FOLDER))
    try:
        with instead_of_autograd(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for file in FILES if FOLDER.is_dir() else ():
                spec = importlib.util.spec_from_file_location(file, FOLDER / f"{file}.py")
                assert spec is not None
                assert spec.loader is not None
                module = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(module)
                for name, test in vars(module).items():
                    takes_none = not getattr(getattr(test, "__code__", None), "co_argcount", 1)
                    if name.startswith("test_") and takes_none and name not in LEFT_OUT:
                        yield pytest.param(test, id=f"{file}-{name}")
    finally:
        sys.path.remove(str(FOLDER))


@pytest.mark.skipif(not FOLDER.is_dir(), reason="AUTOGRAD_TESTS names no folder")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("test", list(cases()))
def test_autograds_own_test_passes(test: Any) -> None:
    np.random.seed(42)
    with np.errstate(all="ignore"):
        test()
