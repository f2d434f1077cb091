"""`torch.testing`: comparing tensors in tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.dtypes import float64
from wengert.functions.creation import as_tensor
from wengert.functions.math import complex
from wengert.functions.random import rand
from wengert.imports import lacking as _lacking
from wengert.tensor import Tensor

_TOLERANCE = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "complex64": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex128": (1e-7, 1e-7),
}


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: Any = None,
) -> None:
    """AssertionError if two tensors, or containers of them, are not equal up to tolerances.

    Those are by dtype, as in PyTorch, if none are given. Shapes and dtypes have to agree.
    """
    if (rtol is None) != (atol is None):
        raise ValueError("rtol and atol must both be specified or both be unspecified")
    options: dict[str, Any] = {
        "rtol": rtol, "atol": atol, "equal_nan": equal_nan, "check_dtype": check_dtype, "msg": msg,
    }  # fmt: skip
    if isinstance(expected, dict) and isinstance(actual, dict):
        _alike(sorted(actual), sorted(expected), "keys", msg)
        for key, value in expected.items():
            assert_close(actual[key], value, **options)
    elif isinstance(expected, (list, tuple)) and isinstance(actual, (list, tuple)):
        _alike(len(actual), len(expected), "lengths", msg)
        for one, other in zip(actual, expected, strict=True):
            assert_close(one, other, **options)
    elif isinstance(actual, Tensor) != isinstance(expected, Tensor) and not all(
        hasattr(x, "__array__") for x in (actual, expected)
    ):
        raise TypeError(
            f"assert_close compares what is alike, not {type(actual).__name__} and "
            f"{type(expected).__name__}. Make both tensors with wengert.tensor(...)."
        )
    else:
        _numbers_close(as_tensor(actual).detach(), as_tensor(expected).detach(), options)


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """`assert_close` by its older name, of any dtypes."""
    assert_close(
        *(actual, expected),
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_dtype=False,
        msg=msg or None,
    )


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any = None,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
) -> Any:
    """A tensor of numbers drawn evenly from low to high: -9 to 9, integers 0 to 9 if unsigned."""
    size = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
    kind = np.dtype(dtype).kind
    least, most = {"b": (0, 2), "u": (0, 10), "i": (-9, 10)}.get(kind, (-9, 9))
    low, high = least if low is None else low, most if high is None else high
    out = rand(size, dtype=float64) * (high - low) + low
    if kind == "c":
        out = complex(out, rand(size, dtype=float64) * (high - low) + low)
    if kind in "biu":
        out = out.floor()
    out = out.to(dtype)
    if exclude_zero:
        out[out == 0] = 1
    if noncontiguous and out.numel() > 1:
        out = out.repeat_interleave(2, -1)[..., ::2]
    return out.requires_grad_(requires_grad)


def _alike(actual: Any, expected: Any, what: str, msg: Any) -> None:
    if actual != expected:
        raise AssertionError(_told(f"The {what} do not match: {actual} != {expected}.", msg))


def _told(text: str, msg: Any) -> str:
    return text if msg is None else msg(text) if callable(msg) else msg


def _numbers_close(actual: Any, expected: Any, options: dict[str, Any]) -> None:
    msg = options["msg"]
    _alike(tuple(actual.shape), tuple(expected.shape), "shapes", msg)
    if options["check_dtype"]:
        _alike(actual.dtype, expected.dtype, "dtypes", msg)
    pairs = [_TOLERANCE.get(x.dtype.name, (0.0, 0.0)) for x in (actual, expected)]
    rtol, atol = options["rtol"], options["atol"]
    if rtol is None:
        rtol, atol = (max(pair) for pair in zip(*pairs, strict=True))
    x, y = (
        np.asarray(t.numpy(), t.dtype if t.dtype.kind != "V" else np.float32)
        for t in (actual, expected)
    )
    close = np.isclose(x, y, rtol, atol, options["equal_nan"])
    if not close.all():
        text = (
            f"Tensor-likes are not close! Mismatched elements: {int((~close).sum())} / "
            f"{close.size}. Greatest absolute difference: {np.nanmax(np.abs(x - y))} (up to "
            f"{atol} allowed, and {rtol} of the expected number)."
        )
        raise AssertionError(_told(text, msg))


_lacking(__name__)
