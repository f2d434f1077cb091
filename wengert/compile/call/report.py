"""`f.explain()`: what a compiled function consists of, and where its time goes."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wengert.compile.backend import backend
from wengert.compile.call.executable import Executable, aligned, says
from wengert.compile.call.memory import Memory
from wengert.compile.plan.kernel import Apply, Load, Reduce, Store
from wengert.compile.plan.plan import Call, Loops, Multiply, Plan, Step, numbered
from wengert.compile.plan.planner import memory as working
from wengert.compile.program.operations import check
from wengert.compile.program.program import Statement

ROUNDS = 5
_CHEAP = {"astype", "copy", "positive", "where"}


WIDE, HIGH = 46, 30
"""How many letters of a line say of what, and how many lines a table has at most."""


@dataclass(frozen=True)
class Line:
    """One step: what it is, what of the program it carries out, and what it costs.

    `inside` are the steps of the bodies that it has, each with what one iteration costs; `times`
    says how many such steps there are, where equal ones are one line.
    """

    kind: str  # loops, matmul, python, ...
    what: str  # the operations that it carries out
    loops: str  # the loops around them, and their lengths
    bytes: int  # bytes that it reads and writes
    flops: int  # operations on floating-point numbers
    share: float | None  # which part of the time it takes, if it was measured
    line: str
    inside: tuple[Line, ...] = ()
    times: int = 1

    def __str__(self) -> str:
        return "\n".join(self.rows(0))

    def rows(self, depth: int) -> list[str]:
        """The line as text, and those of what it has inside."""
        cost = f"{short(self.bytes)}B {short(self.flops)}flop"
        share = "" if self.share is None else f"{self.share:.1%}"
        often = "" if self.times == 1 else f"{self.times:,} x"
        what = self.what if len(self.what) <= WIDE else f"{self.what[: WIDE - 1]}…"
        kind = "· " * depth + self.kind
        row = f"{share:>6} {often:>7}  {kind:<10} {self.loops:<20} {cost:>18}  {what}"
        return [row, *(row for line in grouped(self.inside) for row in line.rows(depth + 1))]

    @property
    def alike(self) -> tuple[Any, ...]:
        """What equal steps have in common."""
        return self.kind, self.what, self.loops, tuple(line.alike for line in self.inside)


def grouped(lines: Iterable[Line]) -> list[Line]:
    """Equal steps as one line, where the first of them is; costs and shares are those of all."""
    groups: dict[Any, list[Line]] = {}
    for line in lines:
        groups.setdefault(line.alike, []).append(line)
    return [_sum(group) for group in groups.values()]


def _sum(group: list[Line], what: str = "") -> Line:
    shares = [line.share for line in group if line.share is not None]
    return replace(
        group[0],
        what=what or group[0].what,
        bytes=sum(line.bytes for line in group),
        flops=sum(line.flops for line in group),
        share=sum(shares) if shares else None,
        times=sum(line.times for line in group),
    )


@dataclass(frozen=True)
class Explanation:
    """What `f.explain()` returns; it prints as a table, in which equal steps are one line."""

    name: str
    lines: list[Line]  # the steps
    arena: int  # bytes of working memory
    statements: int  # how many statements the program has
    retraces: list[str]  # why it was compiled again, each time
    memory: Memory | None = None
    """What it takes with its derivative, or within a budget; None for one that has neither."""

    def __str__(self) -> str:
        kinds = [line.kind for line in self.lines]
        head = (
            f"{self.name}: {self.statements} statements in {kinds.count('loops')} fused loops, "
            f"{kinds.count('matmul')} products and {kinds.count('python')} calls of Python; "
            f"{short(self.arena)}B of working memory"
        )
        calls = sorted({line.what for line in self.lines if line.kind == "python"})
        tail = [f"called in Python, having no loops: {', '.join(calls)}"] if calls else []
        tail += [str(self.memory)] if self.memory is not None else []
        tail += [f"compiled again: {reason}" for reason in self.retraces]
        title = " share   times  step       loops                             cost  of"
        return "\n".join([head, title, *self._rows(), *tail])

    def _rows(self) -> list[str]:
        """The lines as text; of many, those that take the longest."""
        groups = grouped(self.lines)
        shown = sorted(groups, key=lambda line: -(line.share or 0))[:HIGH]
        rest = [line for line in groups if line not in shown]
        lines = [line for line in groups if line in shown]
        if rest:
            more = _sum(rest, f"{len(rest)} kinds of steps that take less")
            lines.append(replace(more, kind="others", loops="", inside=()))
        rows = [line.rows(0) for line in lines]
        room = max(HIGH - len(rows), 0)
        for k, (row, *inside) in enumerate(rows):
            hidden = len(inside) - room
            if hidden > 0:
                inside = [*inside[:room], f"{'':16}and {hidden} steps more inside"]
            rows[k] = [row, *inside]
            room = max(room - len(inside), 0)
        return [row for rows_of_one in rows for row in rows_of_one]

    __repr__ = __str__


def explain(
    name: str, plan: Plan, statements: int, retraces: list[str], memory: Memory | None = None
) -> Explanation:
    """Describe a plan, and measure its steps on ones."""
    shares: Sequence[float | None] = measure(plan) or [None] * len(plan.steps)
    lines = [line_of(step, share) for step, share in zip(plan.steps, shares, strict=True)]
    return Explanation(name, lines, working(plan), statements, retraces, memory)


def measure(plan: Plan) -> list[float] | None:
    """The share of each step in the time of all; None if nothing is measured."""
    ticks = ticks_of(plan)
    return None if ticks is None else (ticks / max(ticks.sum(), 1)).tolist()


def ticks_of(plan: Plan) -> np.ndarray | None:
    """How long each step takes, in ticks of the processor's clock: medians over a few runs.

    A loop that ends when a condition holds may never end on ones, what other processes take part in
    would wait for them, and a check may not let ones pass: then nothing is measured.
    """
    if any(says(step, "endless") or says(step, "meets") for _, step, _ in numbered(plan)):
        return None
    try:
        return np.median([ticks for ticks, _ in timed_runs(plan)], axis=0)
    except Exception:  # as the function raises it
        return None


def timed_runs(plan: Plan, rounds: int = ROUNDS) -> list[tuple[np.ndarray, float]]:
    """The ticks of each step, and the seconds of all, in a few runs on ones."""
    timed = Executable(plan, timed=True)
    arrays = [np.ones(v.shape, v.dtype) if not v.weak else 1 for v in plan.inputs]
    ticks = np.zeros(len(plan.steps) + 1, np.int64)
    arena = aligned(plan.arena)  # one for all: memory costs most when it is first touched
    runs = []
    for _ in range(rounds):
        began = time.perf_counter()
        timed.run(arrays, ticks.ctypes.data, arena)
        runs.append((np.diff(ticks), time.perf_counter() - began))
    return runs


def line_of(step: Step, share: float | None) -> Line:
    """What a step is and costs."""
    if isinstance(step, Call):
        function, line = step.statement.function, step.statement.line()
        moved = sum(_nbytes(x) for x in (*step.inputs.values(), *step.outputs))
        kind = "native" if backend().runs(step) else "python"
        kind = "check" if function is check else "exchange" if says(step, "meets") else kind
        inside = tuple(line_of(s, None) for body in step.bodies for s in body.steps)
        length = getattr(function, "length", 0)
        work = sum(x.flops for x in inside)
        loops = f"x {length:,}" if length else f"{short(work)}flop each" if inside else ""
        told = getattr(function, "told", None)
        name = step.statement.name + (f": {told(*step.statement.args)}" if told else "")
        return Line(kind, name, loops, moved, work * length, share, line, inside)
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


def short(number: float) -> str:
    """A number with the letter of its thousands."""
    for unit in ("", "k", "M", "G"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} T"
