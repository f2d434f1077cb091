"""What convolutions and pools share: their geometry, working memory, and images with a border.

A window that moves by more than one pixel reads every second, third, ... row and column. Images are
copied apart for it: pixels of one remainder lie side by side (`Planes`), so that neighbouring
windows read neighbouring numbers whatever the stride is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir

from wengert.compile.llvm.library.tiles import Vectors
from wengert.compile.llvm.machine import memory
from wengert.compile.llvm.machine.control import along, repeat
from wengert.compile.llvm.machine.functions import internal
from wengert.compile.llvm.machine.scratch import Scratch
from wengert.compile.llvm.machine.values import BYTE, I32, I64, POINTER, number
from wengert.compile.plan.kernel import LINE
from wengert.compile.plan.plan import Call, Layout
from wengert.dispatch import signature

Pair = tuple[int, int]


# ---- statements ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Image:
    """An array of samples, channels, rows and columns: its extents, and strides in elements."""

    shape: tuple[int, int, int, int]
    strides: tuple[int, int, int, int]

    @staticmethod
    def of(layout: Layout, spatial: int) -> Image | None:
        """The array that windows of so many dimensions slide over: None for more than two.

        A signal is an image of one row; an image alone is a batch of one.
        """
        shape, strides = layout.shape, layout.strides
        before = len(shape) - spatial
        if spatial not in (1, 2) or not 0 <= before <= 2:
            return None
        lone = (1,) * (2 - before), (0,) * (2 - before)
        row = ((1,), (0,)) if spatial == 1 else ((), ())
        return Image(
            (*lone[0], *shape[:before], *row[0], *shape[before:]),
            (*lone[1], *strides[:before], *row[1], *strides[before:]),
        )


def pair(sizes: Sequence[int], missing: int) -> Pair:
    """Sizes along rows and columns."""
    return (missing, sizes[0]) if len(sizes) == 1 else (sizes[0], sizes[1])


def arguments(step: Call) -> dict[str, Any]:
    """The arguments of a step's statement by the names of its function's parameters."""
    statement = step.statement
    names, _ = signature(statement.function)
    return {**dict(zip(names, statement.args, strict=False)), **statement.kwargs}


def images_of(
    step: Call, given: dict[str, Any], names: Sequence[str], spatial: int
) -> tuple[tuple[Image, ...], tuple[int, ...]] | None:
    """The arguments of these names and the result, as what windows slide over or come of, and which
    of the step's arrays they are; None if they are no such arrays of one dtype.
    """
    position = {value: place for place, value in enumerate(step.inputs)}
    if len(step.outputs) != 1 or any(given[name] not in position for name in names):
        return None
    places = (*(position[given[name]] for name in names), len(position))
    layouts = [*step.inputs.values(), *step.outputs]
    images = [Image.of(layouts[place], spatial) for place in places]
    known = tuple([image for image in images if image is not None])
    alike = len({layout.dtype for layout in layouts}) == 1
    return (known, places) if alike and len(known) == len(images) else None


def axes(sizes: Pair, kernel: Pair, steps: Any, out: Pair) -> tuple[Axis, Axis]:
    """The two sides of windows; `steps` are their stride, padding and dilation."""
    rows, columns = map(Axis, sizes, kernel, *map(pair, steps, (1, 0, 1)), out)
    return rows, columns


def has_code(
    images: Iterable[Image], out: Image, sides: tuple[Axis, Axis], most_taps: int, most_stride: int
) -> bool:
    """Whether windows over images are few enough to be written out, and the result's rows lie in
    one piece."""
    rows, columns = sides
    contiguous = out.strides[3] == 1 or out.shape[3] == 1
    few = rows.kernel * columns.kernel <= most_taps
    near = max(rows.stride, columns.stride) <= most_stride
    return all(n > 0 for image in images for n in image.shape) and few and near and contiguous


Emit = Callable[[Any, list[Any]], None]


def defined(module: Any, step: Call, name: str, working: int, emit: Emit) -> Any:
    """The function of a step. `emit(builder, addresses)` writes it; behind the addresses of the
    step's arrays is that of `working` bytes of memory."""
    count = len(step.inputs) + len(step.outputs)
    function, builder = internal(module, name, I32, [POINTER] * count, "noinline")
    for argument in function.args:
        argument.add_attribute("noalias")
    memory = Scratch(builder)
    room = [memory.allocated(I64(working))] if working else []
    emit(builder, [*function.args, *room])
    memory.finish(I32(0))
    return function


class Working:
    """Counts out the parts of a step's working memory."""

    def __init__(self) -> None:
        self.bytes = 0

    def take(self, elements: int, dtype: np.dtype) -> int:
        """Where a part of so many elements begins, in bytes."""
        begin = self.bytes
        self.bytes += -(-elements * dtype.itemsize // LINE) * LINE
        return begin


def part(builder: Any, working: Any, begin: int) -> Any:
    """The address of a part."""
    if not begin:
        return working
    return builder.gep(working, [I64(begin)], inbounds=True, source_etype=BYTE)


# ---- rows ---------------------------------------------------------------------------------------


def lanes_for(register: int, dtype: np.dtype, count: int) -> int:
    """How many lanes vectors along `count` elements have, in registers of so many bytes."""
    most = max(1, register // dtype.itemsize)
    while most > 1 and most // 2 >= count:
        most //= 2
    return most


def load(v: Vectors, pointer: Any, lanes: int, stride: int, used: int) -> Any:
    """Elements `stride` apart; two vectors in a row are quicker than every second element."""
    if stride != 2 or lanes == 1:
        return memory.load(v.builder, pointer, v.dtype, lanes, stride, used)
    low = v.load(pointer, lanes, min(2 * used - 1, lanes))
    if 2 * used - 1 > lanes:
        high = v.load(v.at(pointer, (lanes, 1)), lanes, 2 * used - 1 - lanes)
    else:
        high = v.zero(lanes)
    return v.shuffle(low, high, range(0, 2 * lanes, 2))


def store(v: Vectors, value: Any, pointer: Any, stride: int, used: int) -> None:
    """Write elements `stride` apart."""
    memory.store(v.builder, value, pointer, v.dtype, value.type.count, stride, used)


def interleaved(v: Vectors, even: Any, odd: Any, pointer: Any, count: int) -> None:
    """Write `count` elements that alternate between two vectors, next to each other."""
    lanes = even.type.count
    order = [lane for i in range(lanes) for lane in (i, i + lanes)]
    v.store(v.shuffle(even, odd, order[:lanes]), pointer, min(count, lanes))
    if count > lanes:
        upper = v.shuffle(even, odd, order[lanes:])
        v.store(upper, v.at(pointer, (lanes, 1)), count - lanes)


# ---- images with a border -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Axis:
    """One side of the windows: pixel `tap * dilation + place * stride - padding` of `size`."""

    size: int
    kernel: int
    stride: int
    padding: int
    dilation: int
    out: int

    def tap(self, number: int) -> Pair:
        """The remainder that a tap reads, and by how much it is ahead there."""
        ahead, remainder = divmod(number * self.dilation, self.stride)
        return remainder, ahead

    @property
    def remainders(self) -> list[int]:
        return sorted({self.tap(k)[0] for k in range(self.kernel)})

    @property
    def length(self) -> int:
        """How many pixels of a remainder the windows see."""
        return self.out + max(self.tap(k)[1] for k in range(self.kernel))

    def inside(self, remainder: int) -> range:
        """Those of them that are not border."""
        first = -((remainder - self.padding) // self.stride)
        last = -((remainder - self.padding - self.size) // self.stride)
        return range(min(max(first, 0), self.length), max(0, min(last, self.length)))

    @property
    def in_place(self) -> bool:
        """Whether the windows see the image as it lies in memory."""
        reach = (self.out - 1) + (self.kernel - 1) * self.dilation
        return self.stride == 1 and self.padding == 0 and reach < self.size


@dataclass(frozen=True, slots=True)
class Planes:
    """Channels of one sample as windows see them. `at(tap)` is an offset in elements for a tap of
    the window; places of windows are `row` and 1 apart, channels `channel`."""

    rows: Axis
    columns: Axis
    channels: int
    channel: int
    row: int
    copied: bool

    @staticmethod
    def of(rows: Axis, columns: Axis, channels: int, image: Image, itemsize: int) -> Planes:
        """Where they lie: in the image itself if it has what is needed."""
        _, channel, row, column = image.strides
        # Channels a page apart would all fall on the same lines of the first-level cache.
        crowded = channels > 4 and channel * itemsize % 2048 == 0
        if rows.in_place and columns.in_place and column == 1 and not crowded:
            return Planes(rows, columns, channels, channel, row, False)
        width = columns.length
        each = len(rows.remainders) * len(columns.remainders) * rows.length * width
        if each * itemsize % 2048 == 0:
            each += LINE // itemsize
        return Planes(rows, columns, channels, each, width, True)

    @property
    def elements(self) -> int:
        """What a copy needs."""
        return self.channels * self.channel if self.copied else 0

    def row_tap(self, number: int) -> int:
        if not self.copied:
            return number * self.rows.dilation * self.row
        remainder, ahead = self.rows.tap(number)
        return self._plane(self.rows.remainders.index(remainder), 0) + ahead * self.row

    def column_tap(self, number: int) -> int:
        if not self.copied:
            return number * self.columns.dilation
        remainder, ahead = self.columns.tap(number)
        return self._plane(0, self.columns.remainders.index(remainder)) + ahead

    def _plane(self, a: int, b: int) -> int:
        return (a * len(self.columns.remainders) + b) * self.rows.length * self.row

    def clear(self, v: Vectors, register: int, target: Any, value: Any = 0) -> None:
        """Set everything to what the border has; copies of samples leave that alone."""
        lanes = lanes_for(register, v.dtype, self.elements)
        filled = number(ir.VectorType(v.type, lanes), value)
        v.fill(target, self.elements, filled)

    def copy(self, v: Vectors, register: int, source: Any, image: Image, target: Any) -> None:
        """Copy the channels from `source` on."""

        def channel(c: Any) -> None:
            from_, to = v.at(source, (c, image.strides[1])), v.at(target, (c, self.channel))
            for a, i in enumerate(self.rows.remainders):
                for b, j in enumerate(self.columns.remainders):
                    self._copy_plane(v, register, (from_, image), (i, j), to, self._plane(a, b))

        repeat(v.builder, self.channels, channel)

    def _copy_plane(
        self, v: Vectors, register: int, source: tuple[Any, Image], at: Pair, to: Any, plane: int
    ) -> None:
        pointer, image = source
        rows, columns = self.rows.inside(at[0]), self.columns.inside(at[1])
        if not rows or not columns:
            return
        row, column = image.strides[2:]
        first = rows.start * self.rows.stride + at[0] - self.rows.padding
        start = columns.start * self.columns.stride + at[1] - self.columns.padding
        pointer = v.at(pointer, (first, row), (start, column))
        to = v.at(to, (plane, 1), (rows.start, self.row), (columns.start, 1))
        lanes = lanes_for(register, v.dtype, len(columns))
        step = self.columns.stride * column

        def line(i: Any) -> None:
            from_, onto = v.at(pointer, (i, self.rows.stride * row)), v.at(to, (i, self.row))
            along(
                v.builder,
                len(columns),
                lanes,
                lambda j, used: v.store(
                    load(v, v.at(from_, (j, lanes * step)), lanes, step, used),
                    v.at(onto, (j, lanes)),
                    used,
                ),
            )

        repeat(v.builder, len(rows), line)


@dataclass(frozen=True, slots=True)
class Seen:
    """Where windows see an image, some samples at a time: where it lies, or in copies of it, which
    begin `at` so many bytes of the step's working memory. `register` is a vector's bytes."""

    planes: Planes
    image: Image
    dtype: np.dtype
    register: int
    at: int
    samples: int

    @staticmethod
    def of(
        planes: Planes,
        image: Image,
        dtype: np.dtype,
        register: int,
        room: Working,
        samples: int = 1,
    ) -> Seen:
        at = room.take(samples * planes.elements, dtype)
        return Seen(planes, image, dtype, register, at, samples)

    @property
    def apart(self) -> int:
        """How far samples are apart."""
        return self.planes.elements if self.planes.copied else self.image.strides[0]

    def copies(self, v: Vectors, working: Any) -> Any:
        """The address of the first copy."""
        return part(v.builder, working, self.at)

    def clear(self, v: Vectors, working: Any, border: Any = 0) -> None:
        """Make the borders of the copies, if there are any."""
        if not self.planes.copied:
            return
        first, apart = self.copies(v, working), self.apart
        one = lambda n: self.planes.clear(v, self.register, v.at(first, (n, apart)), border)
        repeat(v.builder, self.samples, one)

    def seen(self, v: Vectors, source: Any, working: Any) -> Any:
        """Where windows see the samples from `source` on, which are copied if they have to be."""
        if not self.planes.copied:
            return source
        target = self.copies(v, working)

        def one(n: Any) -> None:
            from_, to = v.at(source, (n, self.image.strides[0])), v.at(target, (n, self.apart))
            self.planes.copy(v, self.register, from_, self.image, to)

        repeat(v.builder, self.samples, one)
        return target
