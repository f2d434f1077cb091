"""`f.explain()`: what a compiled function consists of, and where its time goes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.compile.backend import backend
from wengert.compile.call.executable import Executable, aligned, lasts
from wengert.compile.plan.kernel import Apply, Load, Reduce, Store
from wengert.compile.plan.plan import Call, Loops, Multiply, Plan, Step, numbered
from wengert.compile.program.operations import check
from wengert.compile.program.program import Statement

ROUNDS = 5
_CHEAP = {"astype", "copy", "positive", "where"}


@dataclass(frozen=True)
class Line:
    """One step: what it is, what of the program it carries out, and what it costs."""

    kind: str
    what: str
    loops: str
    bytes: int
    flops: int
    share: float
    line: str

    def __str__(self) -> str:
        cost = f"{_short(self.bytes)}B {_short(self.flops)}flop"
        return f"{self.share:6.1%}  {self.kind:<6} {self.loops:<22} {cost:>18}  {self.what}"


@dataclass(frozen=True)
class Explanation:
    """What `f.explain()` returns; it prints as a table."""

    name: str
    lines: list[Line]
    arena: int
    statements: int
    retraces: list[str]

    def __str__(self) -> str:
        kinds = [line.kind for line in self.lines]
        head = (
            f"{self.name}: {self.statements} statements in {kinds.count('loops')} fused loops, "
            f"{kinds.count('matmul')} products and {kinds.count('python')} calls of Python; "
            f"{_short(self.arena)}B of working memory"
        )
        calls = sorted({line.what for line in self.lines if line.kind == "python"})
        tail = [f"called in Python, having no loops: {', '.join(calls)}"] if calls else []
        tail += [f"compiled again: {reason}" for reason in self.retraces]
        return "\n".join([head, " share  step   loops                               cost  of"]
                         + [str(line) for line in self.lines] + tail)  # fmt: skip

    __repr__ = __str__


def explain(name: str, plan: Plan, statements: int, retraces: list[str]) -> Explanation:
    """Describe a plan, and measure its steps on ones."""
    shares = measure(plan)
    lines = [_line(step, share) for step, share in zip(plan.steps, shares, strict=True)]
    return Explanation(name, lines, plan.arena, statements, retraces)


def measure(plan: Plan) -> list[float]:
    """The share of each step in the time of all: medians over a few runs.

    A loop that ends when a condition holds may never end on ones: then nothing is measured.
    """
    if any(lasts(step) for _, step, _ in numbered(plan)):
        return [0.0] * len(plan.steps)
    timed = Executable(plan, timed=True)
    arrays = [np.ones(v.shape, v.dtype) if not v.weak else 1 for v in plan.inputs]
    ticks = np.zeros(len(plan.steps) + 1, np.int64)
    arena = aligned(plan.arena)  # one for all: memory costs most when it is first touched
    runs = []
    for _ in range(ROUNDS):
        timed.run(arrays, ticks.ctypes.data, arena)
        runs.append(np.diff(ticks))
    medians = np.median(runs, axis=0)
    return (medians / max(medians.sum(), 1)).tolist()


def _line(step: Step, share: float) -> Line:
    if isinstance(step, Call):
        name, line = step.statement.name, step.statement.line()
        moved = sum(_nbytes(x) for x in (*step.inputs.values(), *step.outputs))
        kind = "native" if backend().runs(step) else "python"
        kind = "check" if step.statement.function is check else kind
        return Line(kind, name, "", moved, 0, share, line)
    what = ", ".join(dict.fromkeys(_names(step.statements)))
    line = step.statements[0].line() if step.statements else ""
    if isinstance(step, Multiply):
        m, n, k = *step.out.shape[-2:], step.a.shape[-1]
        count = math.prod(step.out.shape[:-2])
        loops = f"{m}x{k} @ {k}x{n}" + (f" x {count}" if count > 1 else "")
        moved = sum(_nbytes(x) for x in (step.a, step.b, step.out))
        return Line("matmul", what, loops, moved, 2 * m * n * k * count, share, line)
    return Line("loops", what, *_costs(step), share, line)


def _costs(step: Loops) -> tuple[str, int, int]:
    """Loops, bytes moved and floating-point operations of a kernel."""
    kernel = step.kernel
    operations = [op for stage in kernel.stages for op in stage]
    elements = math.prod(kernel.extents)
    touched: dict[tuple[int, tuple[int, ...]], int] = {}
    for op in operations:
        if isinstance(op, (Load, Store)):
            pairs = zip(kernel.extents, op.access.strides, strict=True)
            size = math.prod(n for n, stride in pairs if stride)
            touched[op.access.buffer, op.access.strides] = (
                size * kernel.buffers[op.access.buffer].itemsize
            )
    work = sum(isinstance(op, Reduce) or (isinstance(op, Apply) and op.name not in _CHEAP)
               for op in operations)  # fmt: skip
    outer, inner = kernel.extents[: kernel.outer], kernel.extents[kernel.outer :]
    loops = " ".join(map(str, outer)) + (" | " if outer and inner else "")
    loops += " ".join(map(str, inner))
    return loops, sum(touched.values()), work * elements


def _names(statements: Iterable[Statement]) -> Iterable[str]:
    return (s.name.removeprefix("np.") for s in statements)


def _nbytes(layout: Any) -> int:
    return int(math.prod(layout.shape) * layout.dtype.itemsize)


def _short(number: float) -> str:
    for unit in ("", "k", "M", "G"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} T"
