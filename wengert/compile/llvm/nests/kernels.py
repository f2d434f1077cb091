"""Kernels as functions of a module.

What the loops of one are is `loops.py`; here is what comes before and around them.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from wengert.compile.llvm.elementary.scalars import identity
from wengert.compile.llvm.machine import functions
from wengert.compile.llvm.machine import host as machine
from wengert.compile.llvm.machine.lanes import Lanes
from wengert.compile.llvm.machine.memory import PART, fence, offset
from wengert.compile.llvm.machine.values import I64, POINTER, B, V
from wengert.compile.llvm.nests.loops import NestWriter
from wengert.compile.llvm.nests.schedule import Nest, arrange, dtype_of
from wengert.compile.llvm.nests.traffic import past_caches
from wengert.compile.plan.kernel import Const, Kernel, Store
from wengert.history.cache import digest

_INLINE = 160
"""A function of no more instructions becomes part of its caller."""


def define(module: ir.Module, kernel: Kernel, lanes_bytes: int = 64) -> ir.Function:
    """The function of a kernel in a module, of one address per buffer."""
    content = f"{lanes_bytes} {kernel!r}"
    name = f"loops.{digest(content.encode(), 12).hex()}"
    known = module.globals.get(name)
    if known is not None:
        return known
    kind = ir.FunctionType(ir.VoidType(), [POINTER] * len(kernel.buffers))
    function = functions.Function(module, kind, name)
    try:
        _fill(function, kernel, lanes_bytes)
    except BaseException:  # what is not supported leaves nothing behind
        del module.globals[name]
        raise
    return function


def _fill(function: ir.Function, kernel: Kernel, lanes_bytes: int) -> None:
    function.linkage = "internal"
    function.attributes.add("nounwind")
    b = ir.IRBuilder(function.append_basic_block("entry"))
    body = b.append_basic_block("body")
    b.branch(body)
    b.position_at_end(body)
    _emit(b, kernel, list(function.args), lanes_bytes)
    b.ret_void()
    if sum(len(block.instructions) for block in function.blocks) <= _INLINE:
        function.attributes.add("alwaysinline")


def _emit(b: B, kernel: Kernel, bases: list[V], lanes_bytes: int) -> None:
    nest = arrange(kernel, lanes_bytes)
    for op in nest.operations:
        if isinstance(op, Store) and op.combine and not (op.onto or op.access.indices):
            _emit(b, _start(nest, op), bases, lanes_bytes)
    if 0 in nest.extents[: nest.outer]:
        return
    fused = lanes_bytes > 16
    past = (
        past_caches(nest, kernel.parts)
        if machine.host().triple.startswith("x86_64")
        else frozenset()
    )
    if not past:
        NestWriter(b, nest, bases, fused, parts=kernel.parts).run()
        return
    with b.if_else(_are_aligned(b, nest, bases, past)) as (then, otherwise):
        with then:
            NestWriter(b, nest, bases, fused, past, kernel.parts).run()
            fence(b)
        with otherwise:
            NestWriter(b, nest, bases, fused, parts=kernel.parts).run()


def _are_aligned(b: B, nest: Nest, bases: list[V], stores: frozenset[int]) -> V:
    """Whether what these stores write begins where memory can be written past the caches."""
    together = Lanes(b, I64(0))
    for access in (nest.operations[k].access for k in stores):  # type: ignore[union-attr]
        begin = offset(b, bases[access.buffer], access.offset, nest.buffers[access.buffer])
        together = together | Lanes(b, b.ptrtoint(begin, I64))
    return (together & (PART - 1)).equals(0).value


def _start(nest: Nest, accumulated: Store) -> Kernel:
    """A kernel that writes what an accumulation begins with."""
    dtype = dtype_of(accumulated, nest.operations)
    access = accumulated.access
    pairs = zip(nest.extents, access.strides, strict=True)
    value: Any = identity(accumulated.combine, dtype)
    if dtype.kind in "fc" and accumulated.combine == "add":
        value = 0.0  # an empty sum
    return Kernel(
        extents=tuple(n if s else 1 for n, s in pairs),
        outer=len(nest.extents),
        stages=((Const(value, dtype), Store(access, 0)),),
        buffers=nest.buffers,
        written=(access.buffer,),
    )
