"""How tensors print: as PyTorch prints them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert import dtypes
from wengert.history.node import AccumulateGrad, source

if TYPE_CHECKING:
    from wengert.tensor import Tensor

OPTIONS: dict[str, Any] = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}


def set_printoptions(
    precision: int | None = None,
    threshold: int | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors print; None leaves an option as it is."""
    profiles = {
        "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
        "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
        "full": {"precision": 4, "threshold": float("inf"), "edgeitems": 3, "linewidth": 80},
    }
    if profile is not None:
        OPTIONS.update(profiles[profile])
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    OPTIONS.update({name: value for name, value in given.items() if value is not None})
    OPTIONS["sci_mode"] = sci_mode


def tensor_text(x: Tensor, head: str = "tensor(") -> str:
    """The text of `repr(x)`: values, then whatever of dtype, size and history is not the usual."""
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
    tail += history_text(x)
    return _with_tail(head + body, tail, len(head))


def history_text(x: Tensor) -> list[str]:
    if not x.requires_grad:
        return []
    node, _ = source(x._node)
    if node is None or isinstance(node, AccumulateGrad):
        return ["requires_grad=True"]
    return [f"grad_fn=<{node.name()}>"]


def _with_tail(text: str, tail: list[str], indent: int) -> str:
    width = len(text) - text.rfind("\n")
    for item in tail:
        if width + len(item) + 2 > OPTIONS["linewidth"]:
            text += ",\n" + " " * indent + item
            width = indent + len(item)
        else:
            text += ", " + item
            width += len(item) + 2
    return text + ")"


def body_text(array: np.ndarray[Any, Any], indent: int) -> str:
    summarize = array.size > OPTIONS["threshold"]
    shown = _edges(array) if summarize else array
    write = _complex_writer(shown) if array.dtype.kind == "c" else _writer(shown)
    return _nested(array, write, indent, summarize)


def _edges(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    n = OPTIONS["edgeitems"]
    for axis, size in enumerate(array.shape):
        if size > 2 * n:
            array = np.take(array, [*range(n), *range(size - n, size)], axis)
    return array


def _writer(values: np.ndarray[Any, Any]) -> Callable[[Any], str]:
    """A function that writes one number, all in one width."""
    if values.dtype.kind in "biu":
        width = max((len(str(v)) for v in values.ravel().tolist()), default=1)
        return lambda v: str(v.item() if hasattr(v, "item") else v).rjust(width if values.ndim else 0)
    precision = OPTIONS["precision"]
    flat = values.astype(np.float64).ravel()
    finite = flat[np.isfinite(flat)]
    nonzero = np.abs(finite[finite != 0])
    whole = bool(np.all(finite == np.ceil(finite)))
    large, small = (nonzero.max(), nonzero.min()) if nonzero.size else (0.0, 1.0)
    scientific = OPTIONS["sci_mode"]
    if scientific is None and nonzero.size:
        scientific = bool(large / small > 1000 or large > 1e8) if not whole else bool(large / small > 1000 and large > 1e8 or large > 1e8)
        if not whole:
            scientific = bool(large / small > 1000 or large > 1e8 or small < 1e-4)
    if scientific:
        form = f"{{:.{precision}e}}"
    elif whole:
        form = "{:.0f}."
    else:
        form = f"{{:.{precision}f}}"

    def one(v: Any) -> str:
        v = float(v)
        if not np.isfinite(v):
            return str(v)
        return form.format(v)

    width = max((len(one(v)) for v in flat), default=1) if values.ndim else 0
    return lambda v: one(v).rjust(width)


def _complex_writer(values: np.ndarray[Any, Any]) -> Callable[[Any], str]:
    real, imag = _writer(np.real(values)), _writer(np.abs(np.imag(values)))
    return lambda v: f"{real(v.real)}{'-' if np.signbit(v.imag) else '+'}{imag(abs(v.imag)).strip()}j"


def _nested(array: np.ndarray[Any, Any], write: Callable[[Any], str], indent: int, summarize: bool) -> str:
    if array.ndim == 0:
        return write(array[()])
    n = OPTIONS["edgeitems"]
    cut = summarize and array.shape[0] > 2 * n
    head, rest = (array[:n], array[-n:]) if cut else (array, array[:0])
    if array.ndim == 1:
        items = [write(v) for v in head] + (["..."] if cut else []) + [write(v) for v in rest]
        if not items:
            return "[]"
        per_line = max(1, (OPTIONS["linewidth"] - indent) // (max(len(i) for i in items) + 2))
        lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    parts = [_nested(a, write, indent + 1, summarize) for a in head]
    parts += ["..."] if cut else []
    parts += [_nested(a, write, indent + 1, summarize) for a in rest]
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"
