"""Windows of images times a weight, summed: the loops of a convolution and of its transpose.

No matrix of windows is made. A tile of the result, some channels by some vectors of pixels, stays
in registers while the taps of the window run by: each tap multiplies vectors of pixels, which lie
next to each other in memory at an offset that the tap says, by numbers of the weight that are
repeated across the lanes. Rows may be taken as one long row with the pixels between them, which are
then computed for nothing, where that wastes fewer lanes than a last vector in each row does.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir

from wengert.compile.llvm.library.tiles import LATENCY, Registers, Vectors
from wengert.compile.llvm.library.windows import lanes_for
from wengert.compile.llvm.machine.control import evenly, fold, nest, repeat
from wengert.compile.llvm.machine.scratch import constant
from wengert.compile.llvm.machine.values import I64

UNROLLED = 72
"""Multiplications of vectors up to which a whole window is written out, and not one row of it."""

Offsets = tuple[tuple[int, int], ...]
"""For each tap along one side: where it is in the image and in the weight, in elements."""


@dataclass(frozen=True, slots=True)
class Correlation:
    """y[o, i, j] = sum over c and taps of x[c, i, j + tap] w[o, c, tap], with strides in elements.

    `channels` are the c, of strides `x_channel` and `w_channel`; `outputs` the o; pixels i, j run
    over `height` and `width`, neighbours along j next to each other in x and in y.
    """

    dtype: np.dtype
    channels: int
    x_channel: int
    w_channel: int
    rows: Offsets
    columns: Offsets
    outputs: int
    w_output: int
    y_output: int
    height: int
    width: int
    x_row: int
    y_row: int


@dataclass(frozen=True, slots=True)
class Patch:
    """Pixels that are computed together, and where else: `vectors` have offsets in x and in y and
    the lanes in use; `loops` repeat them with a count and steps in x and in y, from `start` on."""

    vectors: tuple[tuple[int, int, int], ...]
    loops: tuple[tuple[int, int, int], ...]
    start: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Schedule:
    """How the result is cut into tiles: so many of its channels by patches of pixels. A flat one
    has its results in working memory, whose rows are as far apart as those of x."""

    channels: int
    patches: tuple[Patch, ...]
    flat: bool
    lanes: int


@functools.cache  # layers that are alike ask as often as there are layers
def schedule(c: Correlation, registers: Registers) -> Schedule:
    """The one with the least estimated time."""
    lanes = lanes_for(registers.bytes, c.dtype, c.width)
    best, least = None, float("inf")
    for flat, vectors in itertools.product((False, True), range(1, 9)):
        if flat:
            lanes = max(1, registers.bytes // c.dtype.itemsize)
            patches = tuple(_flat(c, lanes, vectors))
        else:
            patches = tuple(_by_rows(c, lanes, vectors))
        for channels in range(1, c.outputs + 1):
            if channels * vectors + vectors + 1 > registers.number and channels > 1:
                break
            time = _time(c, patches, channels)
            if flat and c.x_row != c.y_row:  # the results are moved to their places
                time += c.outputs * c.height * (4 + 3 * -(-c.width // lanes))
            if time < least:
                best, least = Schedule(channels, patches, flat, lanes), time
    assert best is not None
    return best


def _flat(c: Correlation, lanes: int, vectors: int) -> Iterator[Patch]:
    """All rows as one, of x's row stride."""
    total = (c.height - 1) * c.x_row + c.width
    wide = vectors * lanes
    full, rest = divmod(total, wide)
    if full:
        yield Patch(_run(0, 0, wide, lanes), ((full, wide, wide),))
    if rest:
        yield Patch(_run(0, 0, rest, lanes), (), (full * wide, full * wide))


def _by_rows(c: Correlation, lanes: int, vectors: int) -> Iterator[Patch]:
    """A few whole rows, or parts of one."""
    each = -(-c.width // lanes)
    if each >= vectors:
        wide = vectors * lanes
        full, rest = divmod(c.width, wide)
        down = (c.height, c.x_row, c.y_row)
        if full:
            yield Patch(_run(0, 0, wide, lanes), (down, (full, wide, wide)))
        if rest:
            yield Patch(_run(0, 0, rest, lanes), (down,), (full * wide, full * wide))
        return
    for times, first, rows in evenly(c.height, vectors // each):
        runs = (_run(i * c.x_row, i * c.y_row, c.width, lanes) for i in range(rows))
        yield Patch(
            tuple(itertools.chain.from_iterable(runs)),
            ((times, rows * c.x_row, rows * c.y_row),),
            (first * c.x_row, first * c.y_row),
        )


def _run(x: int, y: int, count: int, lanes: int) -> tuple[tuple[int, int, int], ...]:
    return tuple((x + j, y + j, min(lanes, count - j)) for j in range(0, count, lanes))


def _time(c: Correlation, patches: tuple[Patch, ...], channels: int) -> float:
    """Cycles, roughly, on a machine of two multipliers and two loads."""
    steps = c.channels * len(c.rows) * len(c.columns)

    def tile(r: int, v: int) -> float:
        # Vectors of pixels mostly lie across two lines.
        step = max(r * v / 2, (r + 1.8 * v) / 2, LATENCY / 2)
        return steps * step + r * v + 8

    sizes, total = evenly(c.outputs, channels), 0.0
    for patch in patches:
        times, v = 1, len(patch.vectors)
        for n, _, _ in patch.loops:
            times *= n
        total += times * sum(count * tile(size, v) for count, _, size in sizes)
    # More kinds of tiles are more code.
    return total * (1 + 0.05 * (len(patches) * len(sizes) - 1))


Samples = tuple[int, int, int]
"""How many samples there are, and how far apart in x and in y."""


# ---- emitting -----------------------------------------------------------------------------------


def working(c: Correlation, how: Schedule) -> int:
    """Elements of working memory that a schedule needs."""
    return c.outputs * c.height * c.x_row if _moves(c, how) else 0


def _moves(c: Correlation, how: Schedule) -> bool:
    return how.flat and c.x_row != c.y_row and c.height > 1


def emit(
    v: Vectors,
    c: Correlation,
    how: Schedule,
    pointers: tuple[Any, Any, Any],
    room: Any,
    bias: tuple[Any, int] | None = None,
    samples: Samples = (1, 0, 0),
) -> None:
    """Append the loops to the builder's block: `pointers` are x, w, y, `bias` one and its stride;
    `room` is the address of the working memory, of each sample."""
    x, w, y = pointers
    if not _moves(c, how):
        _CorrelationWriter(v, c, how, bias, c.y_output, samples).run(x, w, y)
        return
    count, apart, y_apart = samples
    each = c.height * c.x_row
    inner = (count, apart, c.outputs * each)
    _CorrelationWriter(v, c, how, bias, each, inner).run(x, w, room)
    lanes = lanes_for(how.lanes * v.size, v.dtype, c.width)

    def line(n: Any, o: Any, i: Any) -> None:
        source = v.at(room, (n, c.outputs * each), (o, each), (i, c.x_row))
        target = v.at(y, (n, y_apart), (o, c.y_output), (i, c.y_row))
        v.copy(source, target, c.width, lanes)

    nest(v.builder, (count, c.outputs, c.height), line)


class _CorrelationWriter:
    def __init__(
        self,
        v: Vectors,
        c: Correlation,
        how: Schedule,
        bias: tuple[Any, int] | None,
        y_output: int,
        samples: Samples,
    ) -> None:
        self.v, self.c, self.how, self.bias, self.y_output = v, c, how, bias, y_output
        self.samples = samples

    def run(self, x: Any, w: Any, y: Any) -> None:
        """One sample: pixels stay near while the weight runs by. More: some channels of the weight
        stay near while the samples do."""
        v, (count, dx, dy) = self.v, self.samples
        if count == 1:
            self._patches(x, y, lambda patch, a, b: self._all(patch, a, w, b))
            return

        def some(w: Any, target: Any, bias: Any, channels: int) -> None:
            def tile(patch: Patch, a: Any, b: Any) -> None:
                self._tile(patch, channels, a, w, b, bias)

            repeat(
                v.builder,
                count,
                lambda n: self._patches(v.at(x, (n, dx)), v.at(target, (n, dy)), tile),
            )

        self._channels(w, y, some)

    def _patches(self, x: Any, y: Any, body: Callable[[Patch, Any, Any], None]) -> None:
        """Run `body(patch, x, y)` at all places of all patches."""
        for patch in self.how.patches:
            self._patch(patch, x, y, functools.partial(body, patch))

    def _patch(self, patch: Patch, x: Any, y: Any, body: Callable[[Any, Any], None]) -> None:
        """Run `body(x, y)` at all places of a patch."""
        v = self.v

        def nest(loops: tuple[tuple[int, int, int], ...], x: Any, y: Any) -> None:
            if not loops:
                body(x, y)
                return
            (count, dx, dy), *inner = loops
            repeat(
                v.builder, count, lambda i: nest(tuple(inner), v.at(x, (i, dx)), v.at(y, (i, dy)))
            )

        nest(patch.loops, v.at(x, (patch.start[0], 1)), v.at(y, (patch.start[1], 1)))

    def _all(self, patch: Patch, x: Any, w: Any, y: Any) -> None:
        """All channels of the result at a patch."""
        self._channels(
            w, y, lambda w, y, bias, channels: self._tile(patch, channels, x, w, y, bias)
        )

    def _channels(self, w: Any, y: Any, body: Callable[[Any, Any, Any, int], None]) -> None:
        """Run `body(w, y, bias, channels)` for a few channels of the result at a time."""
        v, c = self.v, self.c

        def block(first: int, channels: int, i: Any) -> None:
            weight = v.at(w, (i, channels * c.w_output), (first, c.w_output))
            target = v.at(y, (i, channels * self.y_output), (first, self.y_output))
            bias = None
            if self.bias is not None:
                pointer, stride = self.bias
                bias = v.at(pointer, (i, channels * stride), (first, stride))
            body(weight, target, bias, channels)

        for times, first, channels in evenly(c.outputs, self.how.channels):
            repeat(v.builder, times, functools.partial(block, first, channels))

    def _tile(self, patch: Patch, channels: int, x: Any, w: Any, y: Any, bias: Any) -> None:
        v, c, lanes = self.v, self.c, self.how.lanes
        across = len(patch.vectors)

        def tap(a: Any, b: Any, totals: list[Any]) -> list[Any]:
            """One pixel of the window: at `a` in x, at `b` in w."""
            pixels = [v.load(v.at(a, (at, 1)), lanes, used) for at, _, used in patch.vectors]
            weights = (v.element(v.at(b, (o, c.w_output))) for o in range(channels))
            return v.outer(weights, pixels, totals)

        def line(a: Any, b: Any, totals: list[Any]) -> list[Any]:
            for dx, dw in c.columns:
                totals = tap(v.at(a, (dx, 1)), v.at(b, (dw, 1)), totals)
            return totals

        def window(l: Any, totals: list[Any]) -> list[Any]:
            a, b = v.at(x, (l, c.x_channel)), v.at(w, (l, c.w_channel))
            if len(c.rows) * len(c.columns) * len(totals) <= UNROLLED:
                for dx, dw in c.rows:
                    totals = line(v.at(a, (dx, 1)), v.at(b, (dw, 1)), totals)
                return totals

            def row(i: Any, totals: list[Any]) -> list[Any]:
                dx, dw = self._offset(0, i), self._offset(1, i)
                return line(v.at(a, (dx, 1)), v.at(b, (dw, 1)), totals)

            return fold(v.builder, len(c.rows), totals, row)

        totals = self._started(channels, across, bias)
        for at, total in enumerate(self._summed(totals, window)):
            o, n = divmod(at, across)
            _, place, used = patch.vectors[n]
            v.store(total, v.at(y, (o, self.y_output), (place, 1)), used)

    def _summed(self, totals: list[Any], window: Any) -> list[Any]:
        """Over the channels of x; a few at a time where the window is one pixel."""
        c = self.c
        size = len(c.rows) * len(c.columns) * len(totals)
        turn = 4 if 4 * size <= UNROLLED and c.channels % 4 == 0 else 1

        def turns(i: Any, totals: list[Any]) -> list[Any]:
            first = i if turn == 1 else self.v.builder.mul(i, I64(turn))
            for k in range(turn):
                totals = window(self.v.builder.add(first, I64(k)) if k else first, totals)
            return totals

        return fold(self.v.builder, c.channels // turn, totals, turns)

    def _started(self, channels: int, across: int, bias: Any) -> list[Any]:
        v, lanes = self.v, self.how.lanes
        if bias is None or self.bias is None:
            return [v.zero(lanes)] * (channels * across)
        stride = self.bias[1]
        each = (v.element(v.at(bias, (o, stride))) for o in range(channels))
        return [total for one in each for total in [v.repeated(one, lanes)] * across]

    def _offset(self, which: int, i: Any) -> Any:
        """The offset of row number `i` of the window in x (0) or in w (1)."""
        b, numbers = self.v.builder, [row[which] for row in self.c.rows]
        steps = {y - x for x, y in itertools.pairwise(numbers)}
        if isinstance(i, ir.Constant):
            return numbers[i.constant]
        if len(steps) == 1:
            scaled = b.mul(i, I64(steps.pop()), flags=("nsw",))
            return b.add(scaled, I64(numbers[0])) if numbers[0] else scaled
        module, name = b.module, f"offsets {numbers}"
        data = np.array(numbers, np.int64).tobytes()
        table = module.globals.get(name) or constant(module, name, data)
        place = b.gep(table, [i], inbounds=True, source_etype=I64)
        return b.load(place, typ=I64, align=8)
