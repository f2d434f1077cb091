"""Dtypes are NumPy's, and know what PyTorch's do."""

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

import wengert as wg

NAMES = [
    *("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
]


def told(library, name):
    dtype = getattr(library, name)
    facts = [dtype.is_floating_point, dtype.is_complex, dtype.is_signed, dtype.itemsize]
    return [*facts, *(tried(getattr(dtype, f"to_{part}")) for part in ("real", "complex"))]


def tried(function):
    try:
        name = str(function()).removeprefix("torch.")
    except RuntimeError:
        return None
    return {"complex32": "complex64"}.get(name, name)  # NumPy has no smaller one


@pytest.mark.parametrize("name", NAMES)
def test_a_dtype_tells_of_itself_what_pytorchs_does(name):
    assert told(wg, name) == told(torch, name)


def test_dtypes_are_numpys_own():
    assert wg.float32 is np.dtype("float32")
    assert wg.ones(1).dtype is np.ones(1, "f4").dtype
    assert np.result_type(wg.float32, wg.float64) is wg.float64
    with pytest.raises(AttributeError):
        wg.float32.is_floating_point = False
    with pytest.raises(RuntimeError, match=r"no complex dtype of int64\. Convert to float32"):
        wg.int64.to_complex()
