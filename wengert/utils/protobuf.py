"""Protocol buffers, put together field by field: what TensorBoard's and ONNX's files are made of.

A message is the bytes of its fields, one after the other; a field begins with its number and kind.
"""

from __future__ import annotations

import struct


def _varint(n: int) -> bytes:
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def integer(number: int, value: int) -> bytes:
    """A field of an integer.

    >>> integer(1, 150).hex()
    '089601'
    """
    return _varint(number << 3) + _varint(value)


def double(number: int, value: float) -> bytes:
    """A field of a number of 64 bits."""
    return _varint(number << 3 | 1) + struct.pack("<d", value)


def single(number: int, value: float) -> bytes:
    """A field of a number of 32 bits."""
    return _varint(number << 3 | 5) + struct.pack("<f", value)


def bytes_field(number: int, value: bytes | str) -> bytes:
    """A field of bytes, of a text, or of another message."""
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data
