"""Devices and memory formats: names that programs pass around. There is one device, the CPU."""

from __future__ import annotations

from typing import Any


class device:
    """Where a tensor lives. Any device can be named; tensors can be made on the CPU.

    >>> device("cpu")
    device(type='cpu')
    """

    __slots__ = ("index", "type")

    def __init__(self, type: Any, index: int | None = None) -> None:
        if isinstance(type, device):
            index = type.index if index is None else index
        kind, _, number = str(type).partition(":")
        if kind not in _KINDS:
            raise RuntimeError(
                f"Expected one of {', '.join(_KINDS)} device type at start of device string: {type}"
            )
        if number:
            index = int(number)
        self.type: str = kind
        self.index: int | None = index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __repr__(self) -> str:
        return f"device(type='{self.type}'" + (
            ")" if self.index is None else f", index={self.index})"
        )

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __reduce__(self) -> Any:
        return device, (self.type, self.index)

    def __enter__(self) -> device:
        return self

    def __exit__(self, *exception: object) -> None:
        return None


_KINDS = ("cpu", "cuda", "meta", "mps", "xpu", "xla")
CPU = device("cpu")


class layout:
    """How a tensor's elements are arranged."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"wengert.{self.name}"


class memory_format(layout):
    """In what order a tensor's dimensions lie in memory."""


strided = layout("strided")
sparse_coo = layout("sparse_coo")
sparse_csr = layout("sparse_csr")
contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")
