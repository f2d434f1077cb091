"""Large kernels and products in parts, which threads share.

What the parts are follows from the work alone, whatever the number of threads: so each result is
the same for every number. A kernel is cut along one of its outer loops, whose steps write different
elements, or along one that it reduces along (`pieces.py`); a product along a leading dimension, by
its columns, or else by its rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from llvmlite import ir

from wengert.compile.llvm.library import matmul
from wengert.compile.llvm.library.blocks import suits
from wengert.compile.llvm.machine import host as machine
from wengert.compile.llvm.machine import threads
from wengert.compile.llvm.machine.control import counting
from wengert.compile.llvm.machine.functions import call, internal
from wengert.compile.llvm.machine.scratch import stack
from wengert.compile.llvm.machine.values import BYTE, I64, POINTER
from wengert.compile.llvm.nests import kernels, pieces
from wengert.compile.llvm.nests.schedule import cost
from wengert.compile.plan.kernel import LINE, Access, Index, Kernel, Load, Operation, Reduce, Store
from wengert.compile.plan.plan import Multiply
from wengert.history.cache import digest

WORTH = 1 << 15
"""Operations on vectors from which on a kernel is cut: waking a thread takes as long as some ten
thousand of them."""
LEAST = 1 << 13
"""Operations on vectors that are a part at least."""
MULTIPLICATIONS = 1 << 20
"""Multiplications from which on a product is cut."""
COLUMNS, ROWS = (64, 32), (96, 12)
"""Columns, or rows, that are a part of a product at least, and of which it has a multiple: whole
tiles. A part of the columns reads all of the left operand, as a block of a product does. One of the
rows arranges all of the right operand for itself, which costs four times as much.
"""
COUNTS = (matmul.PARTS, 6, 4, 2)
"""Parts of a product, the most that may be: even numbers, or one of two threads waits."""
MOST = 32
"""Parts at most."""
FEW = 4
"""Rows that are too few for threads to share, fewer than these."""
TOGETHER = 8
"""Steps of a loop that may read others together: see `schedule.py`."""


class Cut(NamedTuple):
    """How something is cut: into how many parts; what is added to each address from one part to the
    next, in bytes; which of the addresses each of the part's own buffers begins at.
    """

    parts: int
    moves: list[int]
    buffers: list[int]


# ---- kernels ------------------------------------------------------------------------------------


class Parts(NamedTuple):
    """How a kernel is cut, one of its parts, and the last one, which may be smaller."""

    cut: Cut
    part: Kernel
    last: Kernel


def of_kernel(kernel: Kernel) -> Parts | None:
    """The parts of a kernel; None where it is done at once."""
    loop = _best(kernel, _free(kernel))
    if loop is None or not (size := _size(kernel, loop)):
        return None
    extents = list(kernel.extents)
    extents[loop] = (extents[loop] - 1) % size + 1
    return _cut(kernel, loop, size, replace(kernel, extents=tuple(extents)))


def in_pieces(kernel: Kernel) -> pieces.Pieces | None:
    """A kernel that reduces along few long rows, in pieces of these; None for others."""
    free = _best(kernel, _free(kernel))
    if free is not None and kernel.extents[free] >= FEW and not _is_narrow(kernel, free):
        return None
    loop = _best(kernel, pieces.reduced(kernel))
    if loop is None or not (size := _size(kernel, loop)):
        return None
    return pieces.cut(kernel, loop, size)


def _size(kernel: Kernel, loop: int) -> int:
    """The steps of a loop that are a part of the kernel; 0 where it is done at once."""
    extent, operations = kernel.extents[loop], _operations(kernel)
    work = math.prod(kernel.extents) * sum(map(cost, operations)) * _itemsize(kernel)
    work /= machine.vector_bytes()
    if work < WORTH:
        return 0
    size = -(-extent // min(extent, MOST, int(work // LEAST) or 1))
    if extent >= 8 * LINE:
        size = -(-size // LINE) * LINE  # a part begins at a line of the cache, if all does
    elif extent >= 2 * TOGETHER:
        size = -(-size // TOGETHER) * TOGETHER
    return size if size < extent else 0


def _cut(kernel: Kernel, loop: int, size: int, last: Kernel) -> Parts:
    """Parts of so many steps of a loop, of which the last one is among those of another kernel."""
    count = -(-kernel.extents[loop] // size)
    pairs = list(dict.fromkeys((a.buffer, a.strides[loop]) for a in kernel.accesses()))
    moves = [size * stride * kernel.buffers[number].itemsize for number, stride in pairs]
    cut = Cut(count, moves, [number for number, _ in pairs])
    part, final = (_part(k, loop, min(size, k.extents[loop]), pairs, count) for k in (kernel, last))
    return Parts(cut, part, final)


def by_pieces(kernel: Kernel, last: Kernel) -> Parts:
    """The parts of a kernel whose first loop runs over pieces: see `pieces.Step`."""
    return _cut(kernel, 0, 1, last)


def _operations(kernel: Kernel) -> list[Operation]:
    return [op for stage in kernel.stages for op in stage]


def _itemsize(kernel: Kernel) -> int:
    return max((dtype.itemsize for dtype in kernel.buffers), default=8)


def _free(kernel: Kernel) -> list[int]:
    """The loops whose steps may be done in any order, by different threads."""
    free, operations = [], _operations(kernel)
    whole = len(kernel.stages) == 1 and not any(isinstance(op, Reduce) for op in operations)
    for k in range(len(kernel.extents) if whole else kernel.outer):
        if kernel.extents[k] < 2 or any(type(op) is Index and op.loop == k for op in operations):
            continue
        stores = [op.access for op in operations if isinstance(op, Store)]
        if all(a.strides[k] and not a.indices for a in stores) and _agree(kernel, k):
            free.append(k)
    return free


def _agree(kernel: Kernel, loop: int) -> bool:
    """Whether what is written is read by the same step, if at all."""
    steps: dict[int, set[int]] = {}
    for access in kernel.accesses():
        steps.setdefault(access.buffer, set()).add(access.strides[loop])
    return all(len(steps[number]) == 1 for number in kernel.written if number in steps)


def _best(kernel: Kernel, among: list[int]) -> int | None:
    """Of some loops the one to cut: enough parts first, then those whose elements lie together."""

    def merit(loop: int) -> tuple[int, int]:
        accesses = [a for a in kernel.accesses() if a.buffer in kernel.written or loop in reduced]
        return min(kernel.extents[loop], MOST // 2), max(abs(a.strides[loop]) for a in accesses)

    reduced = pieces.reduced(kernel)
    return max(among, key=merit, default=None)


def _is_narrow(kernel: Kernel, loop: int) -> bool:
    """Whether parts of a loop would be shorter than what is fetched from memory together."""
    along = any(abs(a.strides[loop]) == 1 for a in kernel.accesses())
    return along and kernel.extents[loop] < 8 * LINE


def _part(kernel: Kernel, loop: int, size: int, pairs: list[tuple[int, int]], count: int) -> Kernel:
    """So many steps of one loop. Where a buffer moves in two ways, it is two."""

    def moved(access: Access) -> Access:
        return replace(access, buffer=pairs.index((access.buffer, access.strides[loop])))

    def of(op: Any) -> Any:
        return replace(op, access=moved(op.access)) if isinstance(op, Load | Store) else op

    extents = list(kernel.extents)
    extents[loop] = size
    return replace(
        kernel,
        extents=tuple(extents),
        stages=tuple(tuple(map(of, stage)) for stage in kernel.stages),
        buffers=tuple(kernel.buffers[number] for number, _ in pairs),
        written=tuple(k for k, (number, _) in enumerate(pairs) if number in kernel.written),
        parts=count,
    )


def kernel_in_parts(module: ir.Module, kernel: Kernel, alone: bool = False) -> ir.Function | None:
    """The function of a kernel that is done in parts, of one address per buffer; None for others.

    One that is `alone` has no threads, and does pieces in order, as their sums are others.
    """
    alone = alone or not threads.available()
    whole = in_pieces(kernel)
    if whole is not None:
        return _define_pieces(module, kernel, whole, alone)
    parts = None if alone else of_kernel(kernel)
    if parts is None:
        return None
    task, count = _work(module, parts)
    share = lambda b, bases: _share(b, task, count, bases, alone)
    return _once(module, f"all parts: {task.name}", len(kernel.buffers), share)


def _define_pieces(
    module: ir.Module, kernel: Kernel, whole: pieces.Pieces, alone: bool
) -> ir.Function:
    def do_pieces(b: ir.IRBuilder, given: list[ir.Value]) -> None:
        bases = list(given)
        for dtype, size in whole.scratch:
            bases.append(stack(b, ir.ArrayType(BYTE, dtype.itemsize * size), LINE))
        for number, (step, last) in enumerate(whole.steps):
            if number == 2 and whole.doubt is not None:
                holds = b.load(bases[whole.doubt], typ=BYTE, align=1)
                with b.if_then(b.icmp_unsigned("==", holds, BYTE(0)), likely=False):
                    b.call(kernels.define(module, kernel, machine.vector_bytes()), given)
                    b.ret_void()
            if last is None:
                b.call(kernels.define(module, step, machine.vector_bytes()), bases)
            else:
                _share(b, *_work(module, by_pieces(step, last)), bases, alone)

    key = digest(repr((kernel, alone)).encode(), 12).hex()
    return _once(module, f"all pieces: {key}", len(kernel.buffers), do_pieces)


def _once(
    module: ir.Module, name: str, count: int, write: Callable[[ir.IRBuilder, list[ir.Value]], None]
) -> ir.Function:
    """The module's function of so many addresses; steps that are done alike share it."""
    if name in module.globals:
        return module.globals[name]
    function, b = internal(module, name, ir.VoidType(), [POINTER] * count, "noinline")
    write(b, list(function.args))
    b.ret_void()
    return function


def _work(module: ir.Module, parts: Parts) -> tuple[ir.Function, int]:
    """A function that does one part (`threads.WORK`), and how many there are."""
    lanes = machine.vector_bytes()
    part, last = (kernels.define(module, kernel, lanes) for kernel in parts[1:])
    return _task(module, parts.cut, part, last), parts.cut.parts


# ---- products -----------------------------------------------------------------------------------


def product_in_parts(module: ir.Module, step: Multiply) -> ir.Function | None:
    """The function of `a`, `b` and `out`; None for a product that is done at once."""
    parts = of_product(step)
    if parts is None:
        return None
    cut, *both = parts
    task = _task(module, cut, *(matmul.define(module, piece) for piece in both))
    share = lambda b, bases: _share(b, task, cut.parts, bases)
    return _once(module, f"all parts: {task.name}", 3, share)


def of_product(step: Multiply) -> tuple[Cut, Multiply, Multiply] | None:
    """The parts of a product: how it is cut, the first of them and the last."""
    *lead, m, n = step.out.shape
    k = step.a.shape[-1]
    if math.prod([*lead, m, n, k]) < MULTIPLICATIONS or not threads.available():
        return None
    if step.out.dtype.kind not in "f":
        return None
    axis, (least, whole) = _axis(step)
    if axis is None:
        return None
    extent = step.out.shape[axis]
    for count in COUNTS:
        size = -(-extent // (count * whole)) * whole
        last = extent - size * (count - 1)
        if last < least:
            continue
        first, moves = _slice(step, axis, size)
        pieces = first, _slice(step, axis, last)[0]
        if _as_good(step, pieces):
            return Cut(count, moves, [0, 1, 2]), *pieces
    return None


def _as_good(step: Multiply, pieces: tuple[Multiply, Multiply]) -> bool:
    """Whether our own tiles do the pieces, and those of a product in blocks in blocks."""
    whole, *parts = (matmul.describe(x).matrices for x in (step, *pieces))
    alone = matmul.rivals() == 1  # else its threads share all of the product
    return all(
        matmul.ours(part if alone else whole) and suits(part) >= suits(whole) for part in parts
    )


def _axis(step: Multiply) -> tuple[int | None, tuple[int, int]]:
    """The axis of the result that is cut; how many steps are a part at least, and a whole tile."""
    *lead, m, n = step.out.shape
    if lead and lead[0] >= 4:
        return -2 - len(lead), (1, 1)
    across, down = (-1, n), (-2, m)
    if step.out.strides[-1] != 1:  # its transpose is computed, of the operands' transposes
        across, down = down, across
    for (axis, extent), part in ((across, COLUMNS), (down, ROWS)):
        if extent >= 2 * part[0]:
            return axis, part
    return None, (1, 1)


def _slice(step: Multiply, axis: int, size: int) -> tuple[Multiply, list[int]]:
    """The first part of a product, and how far the operands and the result move to the next."""
    parts, moves = [], []
    for x, own in ((step.a, -2), (step.b, -1), (step.out, axis)):
        takes = axis < -2 and len(x.shape) >= -axis and x.shape[axis] > 1
        if axis == own or takes:
            shape = list(x.shape)
            shape[axis] = size
            parts.append(replace(x, shape=tuple(shape)))
            moves.append(size * x.strides[axis] * x.dtype.itemsize)
        else:
            parts.append(x)
            moves.append(0)
    return replace(step, a=parts[0], b=parts[1], out=parts[2]), moves


# ---- a part -------------------------------------------------------------------------------------


def _task(module: ir.Module, cut: Cut, function: ir.Function, final: ir.Function) -> ir.Function:
    """Do part k of what lies at some addresses; steps that are cut alike share the function."""
    key = digest(repr((cut, final.name)).encode(), 8).hex()
    name = f"part of {function.name} {key}"
    if name in module.globals:
        return module.globals[name]
    task, b = internal(module, name, threads.WORK.return_type, threads.WORK.args, "noinline")
    addresses, k = task.args
    given = []
    for number, move in zip(cut.buffers, cut.moves, strict=True):
        at = b.gep(addresses, [I64(number)], inbounds=True, source_etype=POINTER)
        base = b.load(at, typ=POINTER, align=8)
        far = b.mul(k, I64(move))
        given.append(b.gep(base, [far], inbounds=True, source_etype=BYTE) if move else base)
    if final is function:
        b.call(function, given)
    else:
        is_last = b.icmp_signed("==", k, I64(cut.parts - 1))
        with b.if_else(is_last) as (then, otherwise):
            with then:
                b.call(final, given)
            with otherwise:
                b.call(function, given)
    b.ret_void()
    return task


def _share(
    b: ir.IRBuilder, task: ir.Function, count: int, bases: list[ir.Value], alone: bool = False
) -> None:
    """Have all parts done, of what lies at these addresses."""
    addresses = stack(b, ir.ArrayType(POINTER, len(bases)))
    for k, base in enumerate(bases):
        at = b.gep(addresses, [I64(k)], inbounds=True, source_etype=POINTER)
        b.store(base, at, align=8)
    if alone:
        with counting(b, I64(0), I64(count)) as k:
            b.call(task, [addresses, k])
        return
    work = b.inttoptr(b.ptrtoint(task, I64), POINTER)
    call(b, threads.NAME, ir.VoidType(), [work, addresses, I64(count)])
