"""Elements between memory and vectors: in a row, at a stride, or at computed places.

A vector may be partly active: its first `active` lanes are elements, the others are past the end of
the loop, are neither read nor written, and hold zeros. `lanes` 0 means one element as a scalar.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir

from wengert.compile.llvm.machine.values import (
    BIT,
    BYTE,
    I32,
    I64,
    POINTER,
    VOID,
    B,
    Uniform,
    V,
    intrinsic,
    lanes_of,
    like,
    mask,
    number,
    part,
    stored,
    wide,
)


def offset(b: B, pointer: V, elements: V | int, dtype: np.dtype) -> V:
    """The address so many elements further on."""
    if isinstance(elements, int):
        if not elements:
            return pointer
        elements = I64(elements)
    if dtype.kind == "c":
        elements = b.mul(elements, I64(2))
    return b.gep(pointer, [elements], source_etype=stored(dtype))


def _from_memory(b: B, value: V) -> V:
    """A bool of its byte."""
    return b.icmp_unsigned("!=", value, like(value, 0))


def _to_memory(b: B, value: V, dtype: np.dtype) -> V:
    return b.zext(value, wide(BYTE, lanes_of(value))) if dtype.kind == "b" else value


# ---- in a row ------------------------------------------------------------------------------


def load(b: B, pointer: V, dtype: np.dtype, lanes: int, stride: int, active: int) -> Any:
    """`active` elements from `pointer` on, `stride` elements apart."""
    if not lanes:
        return _load_one(b, pointer, dtype)
    if dtype.kind == "c":
        return _load_complex(b, pointer, dtype, lanes, stride, active)
    if stride == 1:
        value = load_row(b, pointer, stored(dtype), lanes, range(active))
    elif stride == -1:
        first = offset(b, pointer, 1 - lanes, dtype)
        used = range(lanes - active, lanes)
        value = _reversed(b, load_row(b, first, stored(dtype), lanes, used))
    else:
        places = [k * stride for k in range(active)]
        value = _collect(b, pointer, places, stored(dtype), lanes)
    return _from_memory(b, value) if dtype.kind == "b" else value


def store(
    b: B, value: Any, pointer: V, dtype: np.dtype, lanes: int, stride: int, active: int
) -> None:
    """Write `active` elements from `pointer` on, `stride` elements apart."""
    if not lanes:
        _store_one(b, value, pointer, dtype)
    elif dtype.kind == "c":
        _store_complex(b, value, pointer, dtype, lanes, stride, active)
    else:
        value = _to_memory(b, value, dtype)
        if stride == 1:
            store_row(b, value, pointer, range(active))
        elif stride == -1:
            first = offset(b, pointer, 1 - lanes, dtype)
            store_row(b, _reversed(b, value), first, range(lanes - active, lanes))
        else:
            for k in range(active):
                place = offset(b, pointer, k * stride, part(dtype))
                _plain_store(b, b.extract_element(value, I32(k)), place)


def _load_one(b: B, pointer: V, dtype: np.dtype) -> Any:
    kind = stored(dtype)
    if dtype.kind == "c":
        return _plain_load(b, pointer, kind), _plain_load(
            b, offset(b, pointer, 1, part(dtype)), kind
        )
    value = _plain_load(b, pointer, kind)
    return _from_memory(b, value) if dtype.kind == "b" else value


def _store_one(b: B, value: Any, pointer: V, dtype: np.dtype) -> None:
    if dtype.kind == "c":
        _plain_store(b, value[0], pointer)
        _plain_store(b, value[1], offset(b, pointer, 1, part(dtype)))
    else:
        _plain_store(b, _to_memory(b, value, dtype), pointer)


def _size(kind: ir.Type) -> int:
    kind = kind.element if isinstance(kind, ir.VectorType) else kind
    if isinstance(kind, ir.IntType):
        return kind.width // 8
    return {"half": 2, "float": 4, "double": 8}[str(kind)]


def _plain_load(b: B, pointer: V, kind: ir.Type) -> V:
    return b.load(pointer, typ=kind, align=_size(kind))


def _plain_store(b: B, value: V, pointer: V) -> None:
    b.store(value, pointer, align=_size(value.type))


def _lane_mask(lanes: int, used: Sequence[int]) -> ir.Constant:
    return ir.Constant(wide(BIT, lanes), [BIT(k in used) for k in range(lanes)])


def load_row(b: B, pointer: V, kind: ir.Type, lanes: int, used: Sequence[int]) -> V:
    """Adjacent elements into the lanes in use."""
    vector = wide(kind, lanes)
    if len(used) == lanes:
        return _plain_load(b, pointer, vector)
    if len(used) == 1 and used[0] == 0:
        one = _plain_load(b, pointer, kind)
        return b.insert_element(number(vector, 0), one, I32(0))
    args = [pointer, I32(_size(kind)), _lane_mask(lanes, used), number(vector, 0)]
    return intrinsic(b, "masked.load", [vector, POINTER], vector, args)


def store_row(b: B, value: V, pointer: V, used: Sequence[int]) -> None:
    """The lanes in use to adjacent elements."""
    lanes = lanes_of(value)
    if len(used) == lanes:
        _plain_store(b, value, pointer)
        return
    if len(used) == 1 and used[0] == 0:
        _plain_store(b, b.extract_element(value, I32(0)), pointer)
        return
    args = [value, pointer, I32(_size(value.type)), _lane_mask(lanes, used)]
    intrinsic(b, "masked.store", [value.type, POINTER], VOID, args)


def _reversed(b: B, value: V) -> V:
    return permuted(b, value, range(lanes_of(value) - 1, -1, -1))


def permuted(b: B, value: V, order: Sequence[int], other: V | None = None) -> V:
    """Lanes of one vector, or of two, in another order."""
    return b.shuffle_vector(value, value if other is None else other, _picks(tuple(order)))


@functools.lru_cache(1 << 10)
def _picks(order: tuple[int, ...]) -> ir.Constant:
    """The constant of an order: its text is long, and many shuffles share one."""
    return ir.Constant(wide(I32, len(order)), [I32(k) for k in order])


PART = 16
"""Bytes to which memory must be aligned to be written past the caches."""


def store_past_caches(b: B, value: V, pointer: V, dtype: np.dtype) -> None:
    """Write a whole vector to memory that is aligned to `PART`, without reading it first.

    Such writes are ordered with others only by `fence`.
    """
    instruction = b.store(_to_memory(b, value, dtype), pointer, align=PART)
    instruction.set_metadata("nontemporal", b.module.add_metadata([I32(1)]))


def fence(b: B) -> None:
    intrinsic(b, "x86.sse.sfence", [], VOID, [])


def prefetch(b: B, pointer: V, level: int, writes: bool = False) -> None:
    """Have the line that an address lies in brought into the cache of that level, for reading, or
    to be written there."""
    intrinsic(b, "prefetch", [POINTER], VOID, [pointer, I32(int(writes)), I32(4 - level), I32(1)])


# ---- complex numbers -----------------------------------------------------------------------


def _load_complex(
    b: B, pointer: V, dtype: np.dtype, lanes: int, stride: int, active: int
) -> tuple[V, V]:
    kind = stored(dtype)
    if stride == 1:
        both = load_row(b, pointer, kind, 2 * lanes, range(2 * active))
        return (
            permuted(b, both, range(0, 2 * lanes, 2)),
            permuted(b, both, range(1, 2 * lanes, 2)),
        )
    real, imag = ([2 * k * stride + i for k in range(active)] for i in (0, 1))
    return _collect(b, pointer, real, kind, lanes), _collect(b, pointer, imag, kind, lanes)


def _store_complex(
    b: B, value: tuple[V, V], pointer: V, dtype: np.dtype, lanes: int, stride: int, active: int
) -> None:
    if stride == 1:
        zipped = [k + i * lanes for k in range(lanes) for i in (0, 1)]
        store_row(b, permuted(b, value[0], zipped, value[1]), pointer, range(2 * active))
        return
    for k in range(active):
        for i in (0, 1):
            place = offset(b, pointer, 2 * k * stride + i, part(dtype))
            _plain_store(b, b.extract_element(value[i], I32(k)), place)


# ---- here and there ------------------------------------------------------------------------


def _collect(b: B, pointer: V, places: list[int], kind: ir.Type, lanes: int) -> V:
    """Elements at constant places relative to `pointer`, in elements of type `kind`."""
    if _size(kind) >= 4 and lanes >= 4:
        padded = places + [0] * (lanes - len(places))
        offsets = ir.Constant(wide(I64, lanes), [I64(place) for place in padded])
        return _gathered(b, pointer, offsets, kind, len(places))
    vector: V = number(wide(kind, lanes), 0)
    for k, place in enumerate(places):
        at = b.gep(pointer, [I64(place)], source_etype=kind) if place else pointer
        vector = b.insert_element(vector, _plain_load(b, at, kind), I32(k))
    return vector


def _gathered(b: B, pointer: V, offsets: V, kind: ir.Type, active: int) -> V:
    """Elements of type `kind` at offsets in a vector."""
    lanes = lanes_of(offsets)
    vector = wide(kind, lanes)
    if _size(kind) >= 4 and lanes >= 4:
        places = _VectorAddress(b.block, pointer, offsets, kind)
        b._insert(places)
        args = [places, I32(_size(kind)), mask(lanes, active), number(vector, 0)]
        return intrinsic(b, "masked.gather", [vector, places.type], vector, args)
    elements: V = number(vector, 0)
    for k in range(active):
        at = b.gep(pointer, [b.extract_element(offsets, I32(k))], source_etype=kind)
        elements = b.insert_element(elements, _plain_load(b, at, kind), I32(k))
    return elements


class _VectorAddress(ir.Instruction):  # type: ignore[misc]
    """getelementptr with a vector of offsets: a vector of addresses."""

    def __init__(self, block: ir.Block, pointer: V, offsets: V, kind: ir.Type) -> None:
        vector = ir.VectorType(POINTER, lanes_of(offsets))
        super().__init__(block, vector, "getelementptr", [pointer, offsets])
        self.kind = kind

    def descr(self, buf: list[str]) -> None:
        pointer, offsets = (f"{x.type} {x.get_reference()}" for x in self.operands)
        buf.append(f"getelementptr {self.kind}, {pointer}, {offsets}\n")


def gather(b: B, pointer: V, offsets: V, dtype: np.dtype, lanes: int, active: int) -> Any:
    """The elements at computed offsets, a vector of int64."""
    kind = stored(dtype)
    if dtype.kind == "c":
        offsets = b.mul(offsets, like(offsets, 2))
        other = offset(b, pointer, 1, part(dtype))
        return tuple(_gathered(b, p, offsets, kind, active) for p in (pointer, other))
    value = _gathered(b, pointer, offsets, kind, active)
    return _from_memory(b, value) if dtype.kind == "b" else value


def one_by_one(
    b: B,
    pointer: V,
    offsets: V,
    value: Any,
    dtype: np.dtype,
    active: int,
    combine: Callable[[Any, Any], Any] | None,
) -> None:
    """Write elements at computed offsets, in order, since places may repeat.

    `combine` makes what is written of what is there and the new value.
    """
    for k in range(active):
        at = offset(b, pointer, b.extract_element(offsets, I32(k)), dtype)
        one = lane(b, value, k)
        _store_one(b, one if combine is None else combine(_load_one(b, at, dtype), one), at, dtype)


# ---- vectors and scalars -------------------------------------------------------------------


def splat(b: B, value: Any, lanes: int) -> Any:
    """A scalar in all lanes."""
    if isinstance(value, tuple):
        return tuple(splat(b, p, lanes) for p in value)
    vector = wide(value.type, lanes)
    if isinstance(value, ir.Constant):
        return Uniform(vector, value)
    nothing = Uniform(vector, None)
    first = b.insert_element(nothing, value, I32(0))
    return b.shuffle_vector(first, nothing, number(wide(I32, lanes), 0))


def lane(b: B, value: Any, k: int) -> Any:
    """One lane of a vector, or a scalar itself."""
    if isinstance(value, tuple):
        return tuple(lane(b, p, k) for p in value)
    return b.extract_element(value, I32(k)) if lanes_of(value) else value


def blend(b: B, active: int, value: Any, other: Any) -> Any:
    """The active lanes of one vector, the other lanes of another."""
    if isinstance(value, tuple):
        return tuple(blend(b, active, p, q) for p, q in zip(value, other, strict=True))
    return b.select(mask(lanes_of(value), active), value, other)


def folded(b: B, value: Any, combine: Callable[[Any, Any], Any]) -> Any:
    """All lanes of a vector combined into one number, halves first."""
    parts = value if isinstance(value, tuple) else (value,)
    lanes = lanes_of(parts[0])
    while lanes > 1:
        lanes //= 2
        low = tuple(permuted(b, p, range(lanes)) for p in parts)
        high = tuple(permuted(b, p, range(lanes, 2 * lanes)) for p in parts)
        pair = isinstance(value, tuple)
        joined = combine(low if pair else low[0], high if pair else high[0])
        parts = joined if isinstance(joined, tuple) else (joined,)
    return lane(b, parts if isinstance(value, tuple) else parts[0], 0)


def zeros(value: V) -> ir.Constant:
    return number(value.type, 0)
