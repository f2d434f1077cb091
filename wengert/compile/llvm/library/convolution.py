"""Convolutions of signals and images as machine code, and their two transposes.

A convolution is one correlation per sample (`correlation.py`) with the image as it lies in memory,
or with a copy that has a border. Its transpose to the image is as many as there are remainders of
a pixel's row and column by the stride, since each meets taps of its own; a stride of one leaves a
single one. The transpose to the weight is a product whose rows are pixels: it is summed up in
registers over the pixels of a few rows, with the channels of the result's cotangent as lanes.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wengert.compile.llvm.library import correlation, matmul
from wengert.compile.llvm.library.correlation import Correlation
from wengert.compile.llvm.library.natives import NATIVES, Native
from wengert.compile.llvm.library.tiles import LATENCY, Registers, Vectors, transpose
from wengert.compile.llvm.library.windows import (
    Axis,
    Emit,
    Image,
    Pair,
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
    part,
    store,
)
from wengert.compile.llvm.machine.control import along, fold, nest, repeat
from wengert.compile.plan.plan import Call
from wengert.rules import convolution as rules

MOST_STRIDE = 4
"""Strides have code for each of their remainders."""
MOST_TAPS = 256
NARROW = 4
"""Channels below which lanes along them, in the transpose to the weight, are not worth it."""
PANEL = 24 * 1024
"""Bytes of a cotangent that all taps run over while they stay in the first-level cache."""
BLOCK = 1 << 19
"""Bytes of copies of samples that are held at once, in the second-level cache."""
LARGE = 1 << 19
"""Bytes of a weight that is read as seldom as can be: few of its channels for many samples. Where
it would be read across, its transpose is made before."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A convolution: its image x, weight w, result y, and windows. `places` tells which of the
    step's arrays they are, a bias last; None where there is none."""

    x: Image
    w: Image
    y: Image
    rows: Axis
    columns: Axis
    groups: int
    dtype: np.dtype
    places: tuple[int, ...]
    bias: int | None = None

    @property
    def channels(self) -> int:
        """Of the image in each group."""
        return self.w.shape[1]

    @property
    def outputs(self) -> int:
        """Channels of the result in each group."""
        return self.w.shape[0] // self.groups

    @property
    def samples(self) -> int:
        return self.x.shape[0]


def _layer(step: Call, roles: str) -> Layer | None:
    """The layer of a step, or None where there is no code for it. `roles` says which arrays of x, w
    and y the first two arguments and the result are."""
    given = arguments(step)
    *steps, groups = given["windows"]
    known, bias = images_of(step, given, [*given][:2], len(steps[0])), given.get("bias")
    order = list(step.inputs)
    if known is None or not (bias is None or bias in order):
        return None
    dtype = step.outputs[0].dtype
    if dtype not in (np.float32, np.float64):
        return None
    order_of = [roles.index(role) for role in "xwy"]
    x, w, y = (known[0][k] for k in order_of)
    places = [known[1][k] for k in order_of]
    sides = axes(x.shape[2:], w.shape[2:], steps, y.shape[2:])
    if not has_code(known[0], known[0][2], sides, MOST_TAPS, MOST_STRIDE):
        return None
    if bias is None:
        return Layer(x, w, y, *sides, groups, dtype, tuple(places))
    places, stride = [*places, order.index(bias)], step.inputs[bias].strides[0]
    return Layer(x, w, y, *sides, groups, dtype, tuple(places), stride)


Written = tuple[int, Emit]
"""Bytes of working memory, and what writes the code that uses them."""


def _native(roles: str, write: Callable[[Layer], Written], least: int = 1) -> Native:
    """One of the three, for at least so many channels of the result's cotangent."""

    def describe(step: Call) -> Layer | None:
        layer = _layer(step, roles)
        return layer if layer is not None and layer.outputs >= least else None

    def define(module: Any, step: Call, name: str, layer: Layer) -> Any:
        return defined(module, step, name, *write(layer))

    return Native(describe, define)


# ---- the convolution itself ---------------------------------------------------------------------


def _forward(layer: Layer) -> Written:
    registers = matmul.registers()
    planes = Planes.of(layer.rows, layer.columns, layer.channels, layer.x, layer.dtype.itemsize)
    w, y = layer.w.strides, layer.y
    c = Correlation(
        dtype=layer.dtype,
        channels=layer.channels,
        x_channel=planes.channel,
        w_channel=w[1],
        rows=tuple((planes.row_tap(k), k * w[2]) for k in range(layer.rows.kernel)),
        columns=tuple((planes.column_tap(k), k * w[3]) for k in range(layer.columns.kernel)),
        outputs=layer.outputs,
        w_output=w[0],
        y_output=y.strides[1],
        height=y.shape[2],
        width=y.shape[3],
        x_row=planes.row,
        y_row=y.strides[2],
    )
    how = correlation.schedule(c, registers)
    room = Working()
    each = correlation.working(c, how)
    samples = _together(layer, max(planes.elements, each))
    image = Seen.of(planes, layer.x, layer.dtype, registers.bytes, room, samples)
    moved = room.take(samples * each, layer.dtype)

    def emit(builder: Any, addresses: list[Any]) -> None:
        v = Vectors(builder, layer.dtype)
        held = addresses[-1]
        image.clear(v, held)

        def group(x: Any, w: Any, y: Any, g: Any) -> None:
            x = image.seen(v, x, held)
            bias = None
            if layer.bias is not None:
                pointer = v.at(addresses[layer.places[3]], (g, layer.outputs * layer.bias))
                bias = (pointer, layer.bias)
            several = (samples, image.apart, layer.y.strides[0])
            correlation.emit(v, c, how, (x, w, y), part(builder, held, moved), bias, several)

        _samples(v, layer, addresses, group, samples)

    return room.bytes, emit


def _together(layer: Layer, elements: int) -> int:
    """How many samples, of so many elements of working memory each, are best taken together."""
    size = layer.dtype.itemsize
    if layer.groups > 1 or math.prod(layer.w.shape) * size < LARGE:
        return 1
    return _divisor(layer.samples, BLOCK // (max(elements, 1) * size))


def _divisor(n: int, most: int) -> int:
    """The largest divisor that is not above `most`; 1 at least."""
    return max(d for d in range(1, n + 1) if n % d == 0 and d <= max(1, most))


def _samples(v: Vectors, layer: Layer, addresses: list[Any], body: Any, step: int = 1) -> None:
    """Run `body(x, w, y, group)` with the addresses of each group of each sample, or of the first
    of `step` samples."""
    x, w, y = (addresses[place] for place in layer.places[:3])

    def group(n: Any, g: Any) -> None:
        body(
            v.at(x, (n, step * layer.x.strides[0]), (g, layer.channels * layer.x.strides[1])),
            v.at(w, (g, layer.outputs * layer.w.strides[0])),
            v.at(y, (n, step * layer.y.strides[0]), (g, layer.outputs * layer.y.strides[1])),
            g,
        )

    nest(v.builder, (layer.samples // step, layer.groups), group)


# ---- the transpose to the image -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Remainder:
    """Pixels of an image whose number leaves one remainder by the stride: how many, and the taps
    that reach them, as (tap, place of the first pixel's window)."""

    count: int
    taps: tuple[Pair, ...]


def _remainders(axis: Axis) -> list[Remainder]:
    remainders = []
    for r in range(min(axis.stride, axis.size)):
        first, phase = divmod(r + axis.padding, axis.stride)
        taps = (divmod(k * axis.dilation, axis.stride) for k in range(axis.kernel))
        reach = tuple((k, first - ahead) for k, (ahead, at) in enumerate(taps) if at == phase)
        remainders.append(Remainder(len(range(r, axis.size, axis.stride)), reach))
    return remainders


def _seen(axis: Axis, remainders: list[Remainder]) -> Axis:
    """The cotangent's pixels that windows see, with zeros around them, as an axis with one tap."""
    ends = [(place, place + r.count) for r in remainders for _, place in r.taps] or [(0, 1)]
    before = max(0, -min(begin for begin, _ in ends))
    length = max(end for _, end in ends) + before
    return Axis(axis.out, 1, 1, before, 1, length)


def _input(layer: Layer) -> Written:
    registers = matmul.registers()
    given, turned = layer.w, _turned(layer)
    layer = replace(layer, w=turned or given)
    lines, columns = _remainders(layer.rows), _remainders(layer.columns)
    seen = _seen(layer.rows, lines), _seen(layer.columns, columns)
    planes = Planes.of(*seen, layer.outputs, layer.y, layer.dtype.itemsize)
    room = Working()
    single = len(lines) == len(columns) == 1
    pieces = [_piece(layer, planes, i, j, single) for i in lines for j in columns]
    hows = [correlation.schedule(c, registers) for c in pieces]
    sizes = [0 if single else c.outputs * c.height * c.width for c in pieces]
    starts = [room.take(size, layer.dtype) for size in sizes]
    needed = list(map(correlation.working, pieces, hows))
    samples = _together(layer, max(planes.elements, *needed)) if single else 1
    image = Seen.of(planes, layer.y, layer.dtype, registers.bytes, room, samples)
    moved = room.take(samples * max(needed), layer.dtype)
    weight = room.take(math.prod(given.shape) if turned else 0, layer.dtype)

    def emit(builder: Any, addresses: list[Any]) -> None:
        v = Vectors(builder, layer.dtype)
        held = addresses[-1]
        image.clear(v, held)
        if turned:
            addresses = list(addresses)
            source = addresses[layer.places[1]]
            target = addresses[layer.places[1]] = part(builder, held, weight)
            _turn(v, registers, (source, given), (target, turned))

        def group(x: Any, w: Any, y: Any, _: Any) -> None:
            y = image.seen(v, y, held)
            several = (samples, image.apart, layer.x.strides[0])
            for piece, how, start in zip(pieces, hows, starts, strict=True):
                target = x if single else part(builder, held, start)
                pointers, working = (y, w, target), part(builder, held, moved)
                correlation.emit(v, piece, how, pointers, working, None, several)
            if not single:
                parts = [part(builder, held, start) for start in starts]
                _woven(v, registers, layer, list(zip(parts, pieces, strict=True)), x)

        _samples(v, layer, addresses, group, samples)

    return room.bytes, emit


def _turned(layer: Layer) -> Image | None:
    """A weight with its channels in the other order, if it is too large to be read across."""
    o, c, rows, columns = layer.w.shape
    taps = rows * columns
    contiguous = layer.w.strides[2:] == (columns, 1)
    pixels = layer.samples * layer.x.shape[2] * layer.x.shape[3]
    if layer.groups > 1 or o * c * taps * layer.dtype.itemsize < LARGE or pixels < 64:
        return None
    return Image(layer.w.shape, (taps, o * taps, columns, 1)) if contiguous else None


def _turn(
    v: Vectors, registers: Registers, source: tuple[Any, Image], target: tuple[Any, Image]
) -> None:
    """Copy a weight to other strides of its channels."""
    (from_, a), (to, b) = source, target
    outputs, channels, rows, columns = a.shape
    lanes = lanes_for(registers.bytes, v.dtype, rows * columns)

    def window(o: Any, c: Any) -> None:
        x = v.at(from_, (o, a.strides[0]), (c, a.strides[1]))
        y = v.at(to, (o, b.strides[0]), (c, b.strides[1]))
        v.copy(x, y, rows * columns, lanes)

    nest(v.builder, (outputs, channels), window)


def _piece(layer: Layer, planes: Planes, i: Remainder, j: Remainder, single: bool) -> Correlation:
    """The pixels of one remainder of rows and one of columns, which are one correlation."""
    w, x = layer.w.strides, layer.x.strides
    up, left = planes.rows.padding, planes.columns.padding
    return Correlation(
        dtype=layer.dtype,
        channels=layer.outputs if i.taps and j.taps else 0,  # none: the sum of nothing
        x_channel=planes.channel,
        w_channel=w[0],
        rows=tuple(((place + up) * planes.row, k * w[2]) for k, place in i.taps),
        columns=tuple((place + left, k * w[3]) for k, place in j.taps),
        outputs=layer.channels,
        w_output=w[1],
        y_output=x[1] if single else i.count * j.count,
        height=i.count,
        width=j.count,
        x_row=planes.row,
        y_row=x[2] if single else j.count,
    )


def _woven(
    v: Vectors, registers: Registers, layer: Layer, sources: list[tuple[Any, Correlation]], x: Any
) -> None:
    """Put the pixels of all remainders to their places in the image."""
    across = min(layer.columns.stride, layer.x.shape[3])
    for at in range(0, len(sources), across):
        first = v.at(x, (at // across, layer.x.strides[2]))
        _woven_rows(v, registers, layer, sources[at : at + across], first)


def _woven_rows(
    v: Vectors, registers: Registers, layer: Layer, pieces: list[tuple[Any, Correlation]], x: Any
) -> None:
    """The rows of one remainder, from `x` on."""
    _, channel, row, _ = layer.x.strides
    widths = [c.width for _, c in pieces]
    lanes = lanes_for(registers.bytes, layer.dtype, widths[0])

    def line(o: Any, i: Any) -> None:
        target = v.at(x, (o, channel), (i, layer.rows.stride * row))
        sources = [v.at(start, (o, c.y_output), (i, c.y_row)) for start, c in pieces]
        _woven_row(v, sources, widths, target, layer.columns.stride, lanes)

    nest(v.builder, (layer.channels, pieces[0][1].height), line)


def _woven_row(
    v: Vectors, sources: list[Any], widths: list[int], target: Any, stride: int, lanes: int
) -> None:
    """Sources in turn, element by element."""
    for j in range(0, widths[0], lanes):
        used = [max(0, min(lanes, width - j)) for width in widths]
        values = [
            v.load(v.at(source, (j, 1)), lanes, n) if n else v.zero(lanes)
            for source, n in zip(sources, used, strict=True)
        ]
        start = v.at(target, (j, stride))
        if len(values) == 1 and stride == 1:
            v.store(values[0], start, used[0])
        elif len(values) == 2 and stride == 2:
            interleaved(v, values[0], values[1], start, sum(used))
        else:
            for r, value in enumerate(values):
                store(v, value, v.at(start, (r, 1)), stride, used[r])


# ---- the transpose to the weight ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Sums:
    """The tiles of a transpose to the weight: so many vectors of the cotangent's channels by
    columns, which are pairs of a channel of the image and a tap of the window."""

    lanes: int
    vectors: int
    columns: int


def _sums(layer: Layer, registers: Registers) -> _Sums:
    """The tiles with the least estimated time."""
    lanes = lanes_for(registers.bytes, layer.dtype, layer.outputs)
    across = -(-layer.outputs // lanes)
    best, least = _Sums(lanes, 1, 1), math.inf
    for vectors in range(1, min(4, across) + 1):
        full, rest = divmod(across, vectors)
        widths = [(full, vectors), (1, rest)] if rest else [(full, vectors)]
        for most in range(1, (registers.number - 1 - vectors) // vectors + 1):
            tiles = list(_column_tiles(layer, most))
            time = sum(
                times * count * (max(n * r / 2, (n + r) / 2, LATENCY / 2) + 1)
                for _, times, channels, _, taps in tiles
                for count, n in widths
                for r in (channels * taps,)
            )
            # More kinds of tiles are more code.
            time *= 1 + 0.06 * (len(widths) * len(tiles) - 1)
            if time < least:
                best, least = _Sums(lanes, vectors, most), time
    return best


def _column_tiles(layer: Layer, most: int) -> Iterator[tuple[int, int, int, int, int]]:
    """Tiles as (first channel, times, channels of each, first tap, taps)."""
    taps = layer.rows.kernel * layer.columns.kernel
    if taps > most:
        count = -(-taps // most)
        for i in range(count):
            begin, end = (i * taps) // count, ((i + 1) * taps) // count
            yield 0, layer.channels, 1, begin, end - begin
        return
    each = min(most // taps, layer.channels)
    full, rest = divmod(layer.channels, each)
    yield 0, full, each, 0, taps
    if rest:
        yield full * each, 1, rest, 0, taps


def _weight(layer: Layer) -> Written:
    registers = matmul.registers()
    planes = Planes.of(layer.rows, layer.columns, layer.channels, layer.x, layer.dtype.itemsize)
    sums = _sums(layer, registers)
    wide = -(-layer.outputs // sums.lanes) * sums.lanes
    taps = layer.rows.kernel * layer.columns.kernel
    height, width = layer.y.shape[2:]
    size = layer.dtype.itemsize
    fitting = PANEL // (sums.vectors * sums.lanes * width * size)
    rows = _divisor(height, fitting)
    samples = 1
    if rows == height:
        held = BLOCK // (max(planes.elements, height * width * wide) * size)
        samples = _divisor(layer.samples, min(fitting // height, held))
    room = Working()
    image = Seen.of(planes, layer.x, layer.dtype, registers.bytes, room, samples)
    turned = room.take(samples * rows * width * wide, layer.dtype)
    added = room.take(layer.groups * layer.channels * taps * wide, layer.dtype)
    emitter = _WeightWriter(layer, image, sums, wide, rows)

    def emit(builder: Any, addresses: list[Any]) -> None:
        v = Vectors(builder, layer.dtype)
        emitter.run(v, addresses, *(part(builder, addresses[-1], at) for at in (turned, added)))

    return room.bytes, emit


@dataclass(frozen=True, slots=True)
class _WeightWriter:
    """`panel` rows of each sample at hand are turned over at a time, with `wide` channels each."""

    layer: Layer
    image: Seen
    sums: _Sums
    wide: int
    panel: int

    @property
    def planes(self) -> Planes:
        return self.image.planes

    @property
    def taps(self) -> int:
        return self.layer.rows.kernel * self.layer.columns.kernel

    def run(self, v: Vectors, addresses: list[Any], turned: Any, added: Any) -> None:
        layer = self.layer
        columns = layer.groups * layer.channels * self.taps
        self.image.clear(v, addresses[-1])
        v.fill(added, columns * self.wide, v.zero(self.sums.lanes))

        def group(x: Any, w: Any, y: Any, g: Any) -> None:
            source = self.image.seen(v, x, addresses[-1])
            target = v.at(added, (g, layer.channels * self.taps * self.wide))
            repeat(
                v.builder,
                layer.y.shape[2] // self.panel,
                lambda i: self._panel(
                    v,
                    v.at(source, (i, self.panel * self.planes.row)),
                    v.at(y, (i, self.panel * layer.y.strides[2])),
                    turned,
                    target,
                ),
            )

        _samples(v, layer, addresses, group, self.image.samples)
        self._finish(v, added, addresses[layer.places[1]])

    def _panel(self, v: Vectors, x: Any, y: Any, turned: Any, added: Any) -> None:
        """A few rows of one sample: turn the cotangent over, then all columns."""
        layer, lanes = self.layer, self.sums.lanes
        _, channel, row, column = layer.y.strides
        width = layer.y.shape[3]
        count, length = (1, self.panel * width) if row == width * column else (self.panel, width)

        def turn(n: Any, first: int, i: Any) -> None:
            used = min(lanes, layer.outputs - first)
            source = v.at(y, (n, layer.y.strides[0]), (first, channel), (i, row))
            target = v.at(turned, (n, self._turned), (i, width * self.wide), (first, 1))
            transpose(v, (source, (column, channel)), (target, self.wide), length, lanes, used)

        def sample(n: Any) -> None:
            for first in range(0, layer.outputs, lanes):
                repeat(v.builder, count, functools.partial(turn, n, first))

        repeat(v.builder, self.image.samples, sample)
        for first, times, channels, tap, taps in _column_tiles(layer, self.sums.columns):
            at = [
                (c * self.planes.channel + self._tap(k), c * self.taps + k)
                for c in range(channels)
                for k in range(tap, tap + taps)
            ]

            def tiles(i: Any, at: Any = at, first: int = first, channels: int = channels) -> None:
                a = v.at(x, (i, channels * self.planes.channel), (first, self.planes.channel))
                to = v.at(added, (i, channels * self.taps * self.wide))
                to = v.at(to, (first, self.taps * self.wide))
                self._tiles(v, a, turned, to, at)

            repeat(v.builder, times, tiles)

    @property
    def _turned(self) -> int:
        """How far apart samples of the cotangent are when turned over."""
        return self.panel * self.layer.y.shape[3] * self.wide

    def _tap(self, number: int) -> int:
        row, column = divmod(number, self.layer.columns.kernel)
        return self.planes.row_tap(row) + self.planes.column_tap(column)

    def _tiles(self, v: Vectors, x: Any, turned: Any, added: Any, at: list[Pair]) -> None:
        """All channels of the cotangent, for some columns."""
        wide = self.sums.vectors * self.sums.lanes

        def tile(i: Any, used: int) -> None:
            vectors = used // self.sums.lanes
            self._tile(v, x, v.at(turned, (i, wide)), v.at(added, (i, wide)), at, vectors)

        along(v.builder, self.wide, wide, tile)

    def _tile(self, v: Vectors, x: Any, y: Any, added: Any, at: list[Pair], vectors: int) -> None:
        lanes, width = self.sums.lanes, self.layer.y.shape[3]

        def places() -> list[Any]:
            return [
                v.at(added, (number, self.wide), (n, lanes))
                for _, number in at
                for n in range(vectors)
            ]

        def pixel(a: Any, b: Any, totals: list[Any]) -> list[Any]:
            ys = [v.load(v.at(b, (n, lanes)), lanes, lanes) for n in range(vectors)]
            return v.outer((v.element(v.at(a, (offset, 1))) for offset, _ in at), ys, totals)

        def line(a: Any, b: Any, i: Any, totals: list[Any]) -> list[Any]:
            a, b = v.at(a, (i, self.planes.row)), v.at(b, (i, width * self.wide))
            return fold(
                v.builder,
                width,
                totals,
                lambda j, totals: pixel(v.at(a, (j, 1)), v.at(b, (j, self.wide)), totals),
            )

        def one(n: Any, totals: list[Any]) -> list[Any]:
            a, b = v.at(x, (n, self.image.apart)), v.at(y, (n, self._turned))
            return fold(v.builder, self.panel, totals, lambda i, totals: line(a, b, i, totals))

        totals = [v.load(place, lanes, lanes) for place in places()]
        totals = fold(v.builder, self.image.samples, totals, one)
        for place, total in zip(places(), totals, strict=True):
            v.store(total, place, lanes)

    def _finish(self, v: Vectors, added: Any, w: Any) -> None:
        """Turn the sums over into the weight."""
        layer, lanes = self.layer, self.sums.lanes
        output, channel, row, column = layer.w.strides
        across = layer.columns.kernel

        def one(g: Any, c: Any, i: Any, j: Any) -> None:
            source = v.at(added, (g, layer.channels * self.taps * self.wide))
            source = v.at(source, (c, self.taps * self.wide), (i, across * self.wide))
            source = v.at(source, (j, self.wide))
            target = v.at(w, (g, layer.outputs * output), (c, channel), (i, row), (j, column))
            for first in range(0, layer.outputs, lanes):
                used = min(lanes, layer.outputs - first)
                value = load(v, v.at(source, (first, 1)), lanes, 1, used)
                store(v, value, v.at(target, (first, output)), output, used)

        nest(v.builder, (layer.groups, layer.channels, layer.rows.kernel, across), one)


NATIVES[rules.convolution] = _native("xwy", _forward)
NATIVES[rules.convolution_input] = _native("ywx", _input)
NATIVES[rules.convolution_weight] = _native("yxw", _weight, least=NARROW)
