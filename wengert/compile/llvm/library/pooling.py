"""Pools of signals and images as machine code, and what carries their derivatives back.

Windows of a row lie in the lanes. The places of a window are taken in the order that the eager
functions take them in, so that ties and NaN go to the same one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.compile.llvm.elementary import scalars
from wengert.compile.llvm.library import matmul
from wengert.compile.llvm.library.natives import NATIVES, Native
from wengert.compile.llvm.library.tiles import Vectors
from wengert.compile.llvm.library.windows import (
    Axis,
    Image,
    Planes,
    Seen,
    Working,
    arguments,
    axes,
    defined,
    has_code,
    images_of,
    interleaved,
    lanes_for,
    load,
    pair,
    store,
)
from wengert.compile.llvm.machine.control import along, nest, repeat
from wengert.compile.llvm.machine.lanes import Lanes, where
from wengert.compile.plan.plan import Call
from wengert.rules import convolution as rules

MOST_PLACES = 64
"""Places of a window up to which they are written out."""
MOST_STRIDE = 8


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool: its images, their windows, and what the step's arrays are, in order."""

    images: tuple[Image, ...]
    rows: Axis
    columns: Axis
    dtype: np.dtype
    places: tuple[int, ...]

    @property
    def many(self) -> tuple[int, int]:
        """Samples and channels."""
        return self.images[0].shape[:2]


def _pool(step: Call, arrays: str, wide: str, kinds: str) -> Pool | None:
    """The pool of a step, or None where there is no code for it. `arrays` are the names of its
    arrays, the result last; `wide` is what windows slide over, `kinds` those of the dtypes."""
    given, dtype = arguments(step), step.outputs[0].dtype
    (kernel, *steps, out), inputs = given["windows"], arrays.split()
    known = images_of(step, given, inputs[:-1], len(kernel))
    if known is None or dtype.kind not in kinds or dtype.itemsize not in (4, 8):
        return None
    images, places = known
    sizes = images[inputs.index(wide)].shape[2:]
    sides = axes(sizes, pair(kernel, 1), steps, pair(out, 1))
    fits = has_code(images, images[-1], sides, MOST_PLACES, MOST_STRIDE)
    return Pool(images, *sides, dtype, places) if fits else None


# ---- images -------------------------------------------------------------------------------------


def _seen(pool: Pool, image: Image, register: int, room: Working) -> Seen:
    """One channel with the border that windows reach into: a copy, whose rows are as long as that,
    or the image itself where windows stay inside."""
    sides = pool.rows, pool.columns
    copied = any(axis.padding > 0 or _extent(axis) > axis.size for axis in sides)
    rows, columns = (Axis(a.size, 1, 1, a.padding, 1, _extent(a)) for a in sides)
    row = _extent(columns) if copied else image.strides[2]
    planes = Planes(rows, columns, 1, _extent(rows) * _extent(columns), row, copied)
    return Seen.of(planes, image, pool.dtype, register, room)


def _strides(seen: Seen) -> tuple[int, int]:
    """Of the rows and columns that windows see."""
    return seen.planes.row, 1 if seen.planes.copied else seen.image.strides[3]


def _extent(axis: Axis) -> int:
    """How long an image is with its border."""
    reach = (axis.out - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1
    return max(reach, axis.padding + axis.size)


def _lowest(dtype: np.dtype) -> Any:
    return float(rules.lowest(dtype)) if dtype.kind == "f" else int(rules.lowest(dtype))


def _each_channel(v: Vectors, pool: Pool, addresses: list[Any], body: Callable[..., None]) -> None:
    """Run `body` with the addresses of one channel of all images."""

    def one(n: Any, c: Any) -> None:
        body(
            *(
                v.at(addresses[place], (n, image.strides[0]), (c, image.strides[1]))
                for place, image in zip(pool.places, pool.images, strict=True)
            )
        )

    nest(v.builder, pool.many, one)


def _each_window(v: Vectors, pool: Pool, lanes: int, body: Callable[[Any, Any, int], None]) -> None:
    """Run `body(row, first window, lanes in use)` along all rows of windows."""
    b = v.builder
    repeat(
        b,
        pool.rows.out,
        lambda i: along(v.builder, pool.columns.out, lanes, lambda j, used: body(i, j, used)),
    )


def _places(pool: Pool) -> list[tuple[int, int]]:
    """The places of a window, in order, as pixels."""
    return [
        (i * pool.rows.dilation, j * pool.columns.dilation)
        for i in range(pool.rows.kernel)
        for j in range(pool.columns.kernel)
    ]


# ---- the pools ----------------------------------------------------------------------------------


def _reduced(border: Callable[[np.dtype], Any], function: str) -> Native:
    """Each window's numbers combined by a function."""

    def define(module: Any, step: Call, name: str, pool: Pool) -> Any:
        register, room = matmul.registers().bytes, Working()
        lanes = lanes_for(register, pool.dtype, pool.columns.out)
        x = _seen(pool, pool.images[0], register, room)
        strides = _strides(x)

        def emit(builder: Any, addresses: list[Any]) -> None:
            v = Vectors(builder, pool.dtype)
            x.clear(v, addresses[-1], border(pool.dtype))

            def channel(source: Any, target: Any) -> None:
                source = x.seen(v, source, addresses[-1])

                def windows(i: Any, j: Any, used: int) -> None:
                    at = _first(v, pool, strides, source, (i, j), lanes)
                    total = None
                    for place in _places(pool):
                        one = _pixels(v, pool, strides, at, place, (lanes, used))
                        total = one if total is None else _apply(v, function, total, one)
                    row = pool.images[1].strides[2]
                    v.store(total, v.at(target, (i, row), (j, lanes)), used)

                _each_window(v, pool, lanes, windows)

            _each_channel(v, pool, addresses, channel)

        return defined(module, step, name, room.bytes, emit)

    return Native(lambda step: _pool(step, "x result", "x", "fi"), define)


def _first(
    v: Vectors, pool: Pool, strides: tuple[int, int], base: Any, at: tuple[Any, Any], lanes: int
) -> Any:
    """Where a row of windows begins."""
    row, column = strides
    (i, j), (down, across) = at, (pool.rows.stride, pool.columns.stride)
    return v.at(base, (i, down * row), (j, lanes * across * column))


def _pixels(
    v: Vectors,
    pool: Pool,
    strides: tuple[int, int],
    at: Any,
    place: tuple[int, int],
    lanes: tuple[int, int],
) -> Any:
    """One place of all windows in the lanes."""
    pointer = v.at(at, (place[0], strides[0]), (place[1], strides[1]))
    return load(v, pointer, lanes[0], pool.columns.stride * strides[1], lanes[1])


def _apply(v: Vectors, function: str, x: Any, y: Any) -> Any:
    return scalars.apply(v.builder, function, v.dtype, (v.dtype, v.dtype), [x, y])


# ---- back to the places -------------------------------------------------------------------------


def _spread(arrays: str) -> Native:
    """The windows' numbers g, added to the places of each window, or to its maximum's place."""

    def define(module: Any, step: Call, name: str, pool: Pool) -> Any:
        spreading = _Spreading(pool, matmul.registers().bytes)
        return defined(module, step, name, spreading.room.bytes, spreading.emit)

    return Native(lambda step: _pool(step, arrays, "result", "f"), define)


class _Spreading:
    def __init__(self, pool: Pool, register: int) -> None:
        self.pool, self.register = pool, register
        self.lanes = lanes_for(register, pool.dtype, pool.columns.out)
        self.room = Working()
        self.result = _seen(pool, pool.images[-1], register, self.room)
        several = len(pool.images) == 4
        self.condition = _seen(pool, pool.images[1], register, self.room) if several else None
        axes = (pool.rows, pool.columns)
        self.apart = all(a.stride >= (a.kernel - 1) * a.dilation + 1 for a in axes)

    def emit(self, builder: Any, addresses: list[Any]) -> None:
        v = Vectors(builder, self.pool.dtype)
        held = addresses[-1]
        if self.condition:
            self.condition.clear(v, held, _lowest(self.pool.dtype))

        def channel(g: Any, *rest: Any) -> None:
            *read, result = rest
            target = self.result.copies(v, held) if self.result.planes.copied else result
            self._clear(v, target)
            if self.condition:
                read[0] = self.condition.seen(v, read[0], held)
            _each_window(
                v,
                self.pool,
                self.lanes,
                lambda i, j, used: self._windows(v, (g, *read, target), (i, j), used),
            )
            if self.result.planes.copied:
                self._hand_over(v, target, result)

        _each_channel(v, self.pool, addresses, channel)

    def _clear(self, v: Vectors, target: Any) -> None:
        """Zeros everywhere: windows add to them, or leave some out."""
        image = self.result.image
        if self.result.planes.copied:
            self.result.planes.clear(v, self.register, target)
            return
        rows, columns = image.shape[2:]
        count, length = (1, rows * columns) if image.strides[2] == columns else (rows, columns)
        zero = v.zero(lanes_for(self.register, v.dtype, length))
        repeat(
            v.builder, count, lambda i: v.fill(v.at(target, (i, image.strides[2])), length, zero)
        )

    def _hand_over(self, v: Vectors, source: Any, result: Any) -> None:
        """The image without its border."""
        image = self.result.image
        rows, columns = image.shape[2:]
        lanes = lanes_for(self.register, v.dtype, columns)
        wide = _strides(self.result)[0]
        begin = v.at(source, (self.pool.rows.padding, wide), (self.pool.columns.padding, 1))

        def row(i: Any) -> None:
            a, b = v.at(begin, (i, wide)), v.at(result, (i, image.strides[2]))
            v.copy(a, b, columns, lanes)

        repeat(v.builder, rows, row)

    def _windows(self, v: Vectors, arrays: tuple[Any, ...], at: tuple[Any, Any], used: int) -> None:
        """The windows of a vector: which of their places gets how much."""
        pool, lanes = self.pool, self.lanes
        g, *read, result = arrays
        target = _first(v, pool, _strides(self.result), result, at, lanes)
        gs = self._of_windows(v, 0, g, at, used)
        if not self.condition:
            given = [gs] * len(_places(pool))
        else:
            given = self._won(v, gs, read, at, used)
        width = pool.columns.kernel
        for row in range(pool.rows.kernel):
            shares = given[row * width : (row + 1) * width]
            place = v.at(target, (row * pool.rows.dilation, _strides(self.result)[0]))
            self._add_row(v, shares, place, used)

    def _of_windows(self, v: Vectors, which: int, base: Any, at: tuple[Any, Any], used: int) -> Any:
        row, column = self.pool.images[which].strides[2:]
        place = v.at(base, (at[0], row), (at[1], self.lanes * column))
        return load(v, place, self.lanes, column, used)

    def _won(
        self, v: Vectors, gs: Any, read: list[Any], at: tuple[Any, Any], used: int
    ) -> list[Any]:
        """`gs` at the first place that holds the maximum, or NaN if that is one; else zero."""
        assert self.condition is not None
        lanes, strides = self.lanes, _strides(self.condition)
        source = _first(v, self.pool, strides, read[0], at, lanes)
        most = Lanes(v.builder, self._of_windows(v, 2, read[1], at, used))
        waiting = most.is_nan().full(1)
        shares = []
        for place in _places(self.pool):
            pixels = most.new(_pixels(v, self.pool, strides, source, place, (lanes, used)))
            hit = (pixels.equals(most) | (most.is_nan() & pixels.is_nan())) & waiting
            waiting = hit ^ waiting
            won = where(hit, most.new(gs), 0.0)
            shares.append((won + 0.0).value)  # no negative zero, as in the sum of several windows
        return shares

    def _add_row(self, v: Vectors, shares: list[Any], target: Any, used: int) -> None:
        """Add to one row of places of the windows."""
        columns = self.pool.columns
        if self.apart and columns.stride == columns.kernel == 2 and self.lanes > 1:
            interleaved(v, shares[0], shares[1], target, 2 * used)
            return
        for j, share in enumerate(shares):
            place = v.at(target, (j * columns.dilation, 1))
            if not self.apart:
                share = self._added(v, share, place, used)
            elif columns.stride == 2 and self.lanes > 1:
                interleaved(v, share, v.zero(self.lanes), place, 2 * used - 1)
                continue
            store(v, share, place, columns.stride, used)

    def _added(self, v: Vectors, share: Any, place: Any, used: int) -> Any:
        old = load(v, place, self.lanes, self.pool.columns.stride, used)
        return v.builder.fadd(share, old)


NATIVES[rules.max_pool] = _reduced(_lowest, "maximum")
NATIVES[rules.sum_pool] = _reduced(lambda _: 0, "add")
NATIVES[rules.max_spread] = _spread("g condition target result")
NATIVES[rules.sum_spread] = _spread("g result")
