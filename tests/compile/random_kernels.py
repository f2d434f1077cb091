"""Random kernels, with the arrays to run them on."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from wengert.compile.plan.kernel import (
    Access,
    Apply,
    Const,
    Index,
    Kernel,
    Load,
    Operation,
    Reduce,
    Store,
)

BOOL, INT64 = np.dtype(bool), np.dtype(np.int64)
DTYPES = [np.dtype(d) for d in ("f4", "f4", "f4", "f8", "i4", "i8", "u1", "i2", "?", "f2")]
SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 70, 130]

FLOAT = {
    1: ["negative", "absolute", "square", "sign", "floor", "exp", "tanh", "isnan", "logical_not"],
    2: ["add", "subtract", "multiply", "maximum", "minimum", "less", "equal", "copysign"],
}
INTEGER = {
    1: ["absolute", "square", "sign", "invert", "logical_not"],
    2: [
        *["add", "subtract", "multiply", "maximum", "minimum", "less_equal", "not_equal"],
        *["bitwise_and", "floor_divide", "remainder", "left_shift", "right_shift"],
    ],
}
TRUTH = {1: ["logical_not"], 2: ["logical_and", "logical_or", "logical_xor", "add", "less"]}
GIVES_BOOL = {"isnan", "less", "equal", "less_equal", "not_equal"}


def names(dtype: np.dtype, count: int) -> list[str]:
    return (FLOAT if dtype.kind == "f" else TRUTH if dtype.kind == "b" else INTEGER)[count]


class Builder:
    """A kernel under construction."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        loops = draw(st.integers(0, 3))
        self.extents = tuple(draw(st.sampled_from(SIZES)) for _ in range(loops))
        while math.prod(self.extents) > 4000:
            self.extents = tuple(max(1, n // 2) for n in self.extents)
        if loops and draw(st.integers(0, 15)) == 0:
            k = draw(st.integers(0, loops - 1))
            self.extents = (*self.extents[:k], 0, *self.extents[k + 1 :])
        self.outer = draw(st.integers(0, loops))
        self.operations: list[Operation] = []
        self.dtypes: list[np.dtype | None] = []
        self.uniform: list[bool] = []
        self.arrays: list[np.ndarray] = []
        self.written: list[int] = []
        self.seed = draw(st.integers(0, 2**32 - 1))
        self.rng = np.random.default_rng(self.seed)

    def chance(self, one_in: int) -> bool:
        return self.draw(st.integers(1, one_in)) == 1

    def pick(self, choices: Any) -> Any:
        return self.draw(st.sampled_from(list(choices)))

    # ---- arrays -----------------------------------------------------------------------------

    def layout(self, along: list[int]) -> tuple[tuple[int, ...], int, int]:
        """Strides, an offset, and a size for an array indexed by these loops."""
        order = self.draw(st.permutations(along)) if self.chance(3) else along
        strides, offset, size = [0] * len(self.extents), 0, 1
        for loop in reversed(order):
            step = size
            size *= max(self.extents[loop], 1)
            if self.chance(8):
                step, size = step * 2, size * 2
            strides[loop] = step
        for loop in along:
            if self.chance(8):
                offset += strides[loop] * max(self.extents[loop] - 1, 0)
                strides[loop] = -strides[loop]
        return tuple(strides), offset, size

    def numbers(self, dtype: np.dtype, size: int) -> np.ndarray:
        if dtype.kind == "f":
            made = self.rng.integers(-8, 9, size) / 4
            made[self.rng.random(size) < 0.02] = self.pick([np.nan, np.inf, 0.0])
            return made.astype(dtype)
        if dtype.kind == "b":
            return self.rng.random(size) < 0.5
        return self.rng.integers(0 if dtype.kind == "u" else -9, 10, size).astype(dtype)

    def buffer(self, dtype: np.dtype, size: int) -> int:
        self.arrays.append(self.numbers(dtype, size))
        return len(self.arrays) - 1

    # ---- operations -------------------------------------------------------------------------

    def add(self, op: Operation, dtype: np.dtype | None, uniform: bool) -> int:
        self.operations.append(op)
        self.dtypes.append(dtype)
        self.uniform.append(uniform)
        return len(self.operations) - 1

    def load(self) -> int:
        dtype = self.pick(DTYPES)
        along = [k for k in range(len(self.extents)) if not self.chance(4)]
        strides, offset, size = self.layout(along)
        uniform = not any(strides[self.outer :])
        indices: tuple[tuple[int, int, int], ...] = ()
        computed = [k for k, d in enumerate(self.dtypes) if d == INT64]
        if computed and self.chance(2):
            number, rows = self.pick(computed), 5
            indices = ((number, size, rows),)
            size *= rows
            uniform = uniform and self.uniform[number]
        access = Access(self.buffer(dtype, size), strides, offset, indices)
        return self.add(Load(access, dtype), dtype, uniform)

    def constant(self) -> int:
        dtype = self.pick(DTYPES)
        value = self.numbers(dtype, 1)[0].item()
        return self.add(Const(value, dtype), dtype, True)

    def index(self) -> int:
        loop = self.pick(range(len(self.extents)))
        return self.add(Index(loop), INT64, loop < self.outer)

    def cast(self, number: int, dtype: np.dtype) -> int:
        if self.dtypes[number] == dtype:
            return number
        return self.add(Apply("astype", (number,), dtype), dtype, self.uniform[number])

    def value(self) -> int:
        return self.pick([k for k, d in enumerate(self.dtypes) if d is not None])

    def apply(self) -> int:
        first = self.value()
        dtype = self.dtypes[first]
        if dtype.kind == "f" and self.operations[first] and self.chance(12):
            return self.cast(first, self.pick([np.dtype("f4"), np.dtype("f8"), np.dtype("f2")]))
        count = self.pick([1, 2, 2, 3])
        if count == 3:
            args = self.cast(self.value(), BOOL), first, self.cast_safely(self.value(), dtype)
            return self.add(Apply("where", args, dtype), dtype, all(self.uniform[k] for k in args))
        args = (first,) if count == 1 else (first, self.cast_safely(self.value(), dtype))
        name = self.pick(names(dtype, count))
        result = BOOL if name in GIVES_BOOL or name.startswith("logical") else dtype
        return self.add(Apply(name, args, result), result, all(self.uniform[k] for k in args))

    def cast_safely(self, number: int, dtype: np.dtype) -> int:
        """A cast; of floats to integers only where they are small, since others have no meaning."""
        if self.dtypes[number].kind == "f" and dtype.kind in "iu":
            number = self.cast(number, BOOL)
        return self.cast(number, dtype)

    def reduce(self) -> int:
        arg = self.value()
        dtype = self.dtypes[arg]
        row = self.extents[self.outer :]
        kinds = ["maximum", "minimum", "logical_or", "logical_and"] if math.prod(row) else []
        kinds = kinds if dtype == BOOL else kinds[:2]
        if dtype.kind != "b":
            kinds = [*kinds, "add"]
        if len(row) == 1 and row[0]:
            kinds = [*kinds, "argmax", "argmin"]
        if not kinds:
            kinds = ["logical_or"]
            arg, dtype = self.cast(arg, BOOL), BOOL
        name = self.pick(kinds)
        dtype = INT64 if name.startswith("arg") else dtype
        return self.add(Reduce(name, arg, dtype), dtype, True)

    def store(self) -> None:
        arg = self.value()
        dtype = self.dtypes[arg]
        row = range(self.outer, len(self.extents))
        along = list(range(self.outer)) if self.uniform[arg] else list(range(len(self.extents)))
        combine = ""
        if self.chance(3) and self.outer and dtype.kind != "b":
            along = [k for k in along if k in row or self.chance(2)]
            combine = self.pick(["add", "add", "maximum"])
            if 0 in self.extents:
                combine = "add"
        strides, offset, size = self.layout(along)
        onto = bool(combine) and self.chance(3)
        op = Store(Access(self.buffer(dtype, size), strides, offset), arg, combine, onto)
        self.written.append(len(self.arrays) - 1)
        self.add(op, None, False)

    def in_place(self) -> None:
        """A store over the memory of an array that is read in the same order."""
        loads = [
            (k, op)
            for k, op in enumerate(self.operations)
            if isinstance(op, Load) and not op.access.indices
        ]
        loads = [
            (k, op)
            for k, op in loads
            if all(s or n == 1 for s, n in zip(op.access.strides, self.extents, strict=True))
        ]
        if not loads:
            return
        _, load = self.pick(loads)
        if any(self.arrays[b] is self.arrays[load.access.buffer] for b in self.written):
            return
        arg = self.cast_safely(self.value(), load.dtype)
        self.arrays.append(self.arrays[load.access.buffer])
        access = replace(load.access, buffer=len(self.arrays) - 1)
        self.written.append(access.buffer)
        self.add(Store(access, arg), None, False)

    def kernel(self) -> Kernel:
        for _ in range(self.pick([1, 2, 3])):
            self.load()
        if self.chance(3):
            self.constant()
        if self.extents and self.chance(4):
            self.index()
        if self.chance(4):
            self.load()
        stages, start = [], 0
        for _ in range(self.pick([1, 1, 2, 3])):
            for _ in range(self.pick([0, 1, 2, 4])):
                self.apply()
            if len(self.extents) > self.outer and self.chance(2):
                made = [self.reduce()]
            else:
                made = []
            hidden = {k: self.dtypes[k] for k in made}
            for k in made:  # to be used in later stages
                self.dtypes[k] = None
            if self.chance(2):
                self.store()
            for k in made:
                self.dtypes[k] = hidden[k]
            stages.append(tuple(self.operations[start:]))
            start = len(self.operations)
        self.store()
        for _ in range(self.pick([0, 0, 0, 0, 1, 2])):
            self.in_place()
        stages.append(tuple(self.operations[start:]))
        buffers = tuple(a.dtype for a in self.arrays)
        return Kernel(self.extents, self.outer, tuple(stages), buffers, tuple(self.written))


def copies(arrays: list[np.ndarray]) -> list[np.ndarray]:
    """Copies, of which those are one that are one of the arrays."""
    copied = {id(a): a.copy() for a in arrays}
    return [copied[id(a)] for a in arrays]


@st.composite
def kernels(draw: Any) -> tuple[Kernel, list[np.ndarray]]:
    """A kernel and its arrays; two of these may be the same one."""
    builder = Builder(draw)
    return builder.kernel(), builder.arrays
