"""Running kernels for the tests: as machine code, and interpreted with NumPy."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

import numpy as np
from llvmlite import ir

from wengert.compile.llvm.machine.host import compile_module, vector_bytes
from wengert.compile.llvm.nests.kernels import define
from wengert.compile.plan.kernel import Apply, Const, Index, Kernel, Load, Reduce, Store

POINTER = ir.PointerType()


def compiled(kernel: Kernel, lanes_bytes: int = 0) -> Any:
    """A Python function of one array's address per buffer; it keeps its code alive."""
    module = ir.Module("test")
    inner = define(module, kernel, lanes_bytes or vector_bytes())
    outer = ir.Function(module, inner.function_type, "run")
    b = ir.IRBuilder(outer.append_basic_block())
    b.call(inner, outer.args)
    b.ret_void()
    code = compile_module(module, "test")
    arguments = [ctypes.c_void_p] * len(kernel.buffers)
    function = ctypes.CFUNCTYPE(None, *arguments)(code.address("run"))

    def run(*arrays: np.ndarray) -> None:
        function(*(a.ctypes.data for a in arrays))

    run.code = code
    run.function = function
    return run


REDUCTIONS = {
    "add": np.add,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "logical_or": np.logical_or,
    "logical_and": np.logical_and,
}


def interpret(kernel: Kernel, arrays: list[np.ndarray]) -> None:
    """What a kernel means, with NumPy: every operation on the whole iteration space at once."""
    loops = np.indices(kernel.extents, sparse=True) if kernel.extents else ()
    row = tuple(range(kernel.outer, len(kernel.extents)))
    values: list[Any] = []
    uniform: list[bool] = []  # the same for a whole row

    def place(access: Any) -> Any:
        at = np.full((1,) * len(kernel.extents), access.offset)
        for stride, loop in zip(access.strides, loops, strict=True):
            at = at + stride * loop if stride else at
        for k, stride, size in access.indices:
            index = values[k].astype(np.int64)
            index = np.where(index < 0, index + size, index)
            bad = (index < 0) | (index >= size)
            at = at + np.where(bad, 0, index) * stride
        return at

    def even(access: Any) -> bool:
        return not any(access.strides[k] for k in row) and all(
            uniform[k] for k, _, _ in access.indices
        )

    operations = list(itertools.chain(*kernel.stages))
    for op in operations:
        if isinstance(op, Load):
            values.append(arrays[op.access.buffer].reshape(-1)[place(op.access)])
            uniform.append(even(op.access))
        elif isinstance(op, Const):
            values.append(np.full((1,) * len(kernel.extents), op.value, op.dtype))
            uniform.append(True)
        elif isinstance(op, Index):
            values.append(loops[op.loop].astype(op.dtype))
            uniform.append(op.loop not in row)
        elif isinstance(op, Apply):
            args = [values[k] for k in op.args]
            with np.errstate(all="ignore"):
                if op.name == "astype":
                    made = args[0].astype(op.dtype)
                elif op.name == "where":
                    made = np.where(*args)
                elif op.name in ("real", "imag"):
                    made = getattr(args[0], op.name)
                else:
                    made = getattr(np, op.name)(*args)
            values.append(np.asarray(made, op.dtype))
            uniform.append(all(uniform[k] for k in op.args))
        elif isinstance(op, Reduce):
            full = np.broadcast_to(values[op.arg], kernel.extents)
            with np.errstate(all="ignore"):
                if op.name.startswith("arg"):
                    made = getattr(np, op.name)(full, axis=row[0], keepdims=True)
                else:
                    wide = np.float64 if op.dtype in (np.float16, np.float32) else op.dtype
                    made = REDUCTIONS[op.name].reduce(full, axis=row, keepdims=True, dtype=wide)
            values.append(made.astype(op.dtype))
            uniform.append(True)
        else:
            write(
                kernel,
                op,
                arrays,
                place(op.access),
                values[op.arg],
                row if (uniform[op.arg] and even(op.access)) else (),
            )
            values.append(None)
            uniform.append(False)


def write(
    kernel: Kernel, op: Store, arrays: list[np.ndarray], at: Any, value: Any, once: tuple[int, ...]
) -> None:
    """A store; along the loops `once` it happens once."""
    shape = tuple(1 if k in once else n for k, n in enumerate(kernel.extents))
    target = arrays[op.access.buffer].reshape(-1)
    at = np.broadcast_to(np.asarray(at)[tuple(slice(0, n) for n in shape)], shape).ravel()
    value = np.broadcast_to(value[tuple(slice(0, n) for n in shape)], shape).ravel()
    if not op.combine:
        target[at] = value
        return
    ufunc = REDUCTIONS[op.combine]
    if op.onto or op.access.indices:
        with np.errstate(all="ignore"):
            ufunc.at(target, at, value)
        return
    wide = np.float64 if target.dtype in (np.float16, np.float32) else target.dtype
    identity = {"add": 0, "multiply": 1, "logical_or": False, "logical_and": True}
    sums: dict[int, Any] = {}
    with np.errstate(all="ignore"):
        for i, v in zip(at.tolist(), value.astype(wide), strict=True):
            sums[i] = ufunc(sums[i], v) if i in sums else v
    for i, v in sums.items():
        target[i] = v
    if not at.size and op.combine in identity:
        strides = [s for s, n in zip(op.access.strides, kernel.extents, strict=True) if s]
        sizes = [n for s, n in zip(op.access.strides, kernel.extents, strict=True) if s]
        spots = op.access.offset + sum(
            (s * i for s, i in zip(strides, np.indices(sizes), strict=True)), np.zeros(sizes, int)
        )
        target[spots.ravel()] = identity[op.combine]
