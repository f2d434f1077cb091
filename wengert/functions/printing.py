"""How tensors print: as PyTorch prints them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.autograd import forward
from wengert.dispatch import known
from wengert.history.node import AccumulateGrad, source
from wengert.tensor import Tensor

OPTIONS: dict[str, Any] = {
    "precision": 4,
    "threshold": 1000,
    "edgeitems": 3,
    "linewidth": 80,
    "sci_mode": None,
}


def set_printoptions(
    precision: int | None = None,
    threshold: int | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors print; None leaves an option as it is."""
    profiles: dict[str, dict[str, Any]] = {
        "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
        "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
        "full": {"precision": 4, "threshold": float("inf"), "edgeitems": 3, "linewidth": 80},
    }
    if profile is not None:
        OPTIONS.update(profiles[profile])
    given = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    OPTIONS.update({name: value for name, value in given.items() if value is not None})
    OPTIONS["sci_mode"] = sci_mode


def tensor_text(x: Tensor, head: str = "tensor(") -> str:
    """The text of `repr(x)`: values, then whatever of dtype, size and history is not the usual."""
    if not known(x._array):  # numbers that are not there yet: of which kind they will be
        return _with_tail(head + repr(x._array), history_text(x), len(head))
    array = np.asarray(x._array)
    tail = []
    usual = (dtypes.get_default_dtype(), dtypes.int64, dtypes.bool, dtypes.default_complex())
    if array.size == 0:
        body = "[]"
        if array.shape != (0,):
            tail.append(f"size={tuple(array.shape)}")
        if array.dtype != dtypes.get_default_dtype():
            tail.append(f"dtype=wengert.{array.dtype}")
    else:
        body = body_text(array, len(head))
        if array.dtype not in usual:
            tail.append(f"dtype=wengert.{array.dtype}")
    tail += history_text(x) + _tangent_text(x)
    return _with_tail(head + body, tail, len(head))


def history_text(x: Tensor) -> list[str]:
    if not x.requires_grad:
        return []
    node, _ = source(x._node)
    if node is None or isinstance(node, AccumulateGrad):
        return ["requires_grad=True"]
    return [f"grad_fn=<{node.name()}>"]


def _tangent_text(x: Tensor) -> list[str]:
    """The tangent at the innermost level of forward mode at which the tensor carries one."""
    for level in reversed(forward.active()):
        t = forward.tangent(x, level)
        if t is not None:
            return [f"tangent={t}"]
    return []


def _with_tail(text: str, tail: list[str], indent: int) -> str:
    width = len(text) - text.rfind("\n") + 1
    for item in tail:
        if width + len(item) + 2 > OPTIONS["linewidth"]:
            text += ",\n" + " " * indent + item
            width = indent + len(item)
        else:
            text += ", " + item
            width += len(item) + 2
    return text + ")"


class Writer:
    """Writes the numbers of one tensor, all in one width.

    The width is that of the widest number that is finite and not zero: PyTorch does the same, and
    lets a lone `nan` or `inf` stick out.
    """

    def __init__(self, values: np.ndarray[Any, Any]) -> None:
        if values.dtype.kind in "biu":
            self.write: Callable[[Any], str] = str
            self.width = max((len(str(v)) for v in values.ravel().tolist()), default=1)
            return
        flat = values.astype(np.float64).ravel()
        numbers = flat[np.isfinite(flat) & (flat != 0)]
        whole = bool(np.all(numbers == np.ceil(numbers)))
        scientific = OPTIONS["sci_mode"]
        if scientific is None:
            scientific = _is_wide(np.abs(numbers), whole)
        precision = OPTIONS["precision"]
        form = (
            f"{{:.{precision}e}}" if scientific else "{:.0f}." if whole else f"{{:.{precision}f}}"
        )
        self.write = lambda v: form.format(v) if math.isfinite(v) else str(v)
        self.width = max((len(self.write(v)) for v in numbers.tolist()), default=1)

    def __call__(self, value: Any) -> str:
        return self.write(value).rjust(self.width)


def _is_wide(sizes: np.ndarray[Any, Any], whole: bool) -> bool:
    """Whether numbers of these sizes are best written with exponents."""
    if not sizes.size:
        return False
    large, small = sizes.max(), sizes.min()
    return bool(large / small > 1000 or large > 1e8 or (not whole and small < 1e-4))


class ComplexWriter:
    """Writes complex numbers, real and imaginary parts each in a width of their own."""

    def __init__(self, values: np.ndarray[Any, Any]) -> None:
        self.real, self.imag = Writer(values.real), Writer(values.imag)
        self.width = self.real.width + self.imag.width + 1

    def __call__(self, value: Any) -> str:
        imag = f"{self.imag(value.imag)}j".lstrip()
        return self.real(value.real) + (imag if imag[0] in "+-" else "+" + imag)


def body_text(array: np.ndarray[Any, Any], indent: int) -> str:
    """The nested lists of numbers, summarised if there are many."""
    summarize = array.size > OPTIONS["threshold"]
    shown = _edges(array) if summarize else array
    write = ComplexWriter(shown) if array.dtype.kind == "c" else Writer(shown)
    return _nested(array, write, indent, summarize)


def _edges(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The elements that a summary shows."""
    n = OPTIONS["edgeitems"]
    for axis, size in enumerate(array.shape):
        if size > 2 * n:
            array = np.take(array, [*range(n), *range(size - n, size)], axis)
    return array


def _nested(
    array: np.ndarray[Any, Any], write: Writer | ComplexWriter, indent: int, summarize: bool
) -> str:
    if array.ndim == 0:
        return write(array.item())
    n = OPTIONS["edgeitems"]
    cut = summarize and array.shape[0] > 2 * n
    head, rest = (array[:n], array[-n:]) if cut else (array, array[:0])
    if array.ndim == 1:
        items = (
            [write(v) for v in head.tolist()]
            + ([" ..."] if cut else [])
            + [write(v) for v in rest.tolist()]
        )
        per_line = max(1, (OPTIONS["linewidth"] - indent) // (write.width + 2))
        lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    parts = [_nested(a, write, indent + 1, summarize) for a in head]
    parts += ["..."] if cut else []
    parts += [_nested(a, write, indent + 1, summarize) for a in rest]
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"
