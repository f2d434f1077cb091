"""`f.roofline()`: how fast each loop of a compiled function is, beside what the machine can do.

A loop that makes few operations of each byte can be no faster than memory, one that makes many no
faster than arithmetic (Williams, Waterman and Patterson, "Roofline: an insightful visual
performance model", Communications of the ACM, 2009). Both limits are measured once, by compiled
functions.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wengert.compile.call.report import Line, grouped, line_of, short, ticks_of, timed_runs
from wengert.compile.plan.plan import Plan
from wengert.errors import TracingError
from wengert.history.files import ending, whole
from wengert.history.pictures import Picture

LONG = 4 << 20  # elements of an array that no cache holds
SIDE = 128  # of matrices whose product is as fast as products are, and too short to be interrupted
TRIES = 20


@dataclass(frozen=True)
class Machine:
    """What one thread can do: bytes and floating-point operations in a second."""

    bandwidth: float
    peak: float
    ticks: float
    """Of the clock that steps are timed by, in a second."""

    @property
    def ridge(self) -> float:
        """Operations for each byte above which arithmetic is the limit."""
        return self.peak / self.bandwidth

    def roof(self, intensity: float) -> float:
        """The most operations in a second, with so many of them for each byte."""
        return min(self.peak, intensity * self.bandwidth)


@dataclass(frozen=True)
class Point:
    """Equal loops: operations for each byte and in a second, and their share of the time."""

    what: str
    intensity: float
    speed: float
    share: float


class Roofline(Picture):
    """What `f.roofline()` returns; it prints as a table, and notebooks show it as a picture."""

    def __init__(self, name: str, machine: Machine, points: list[Point], rest: float) -> None:
        self.name = name
        self.machine = machine
        self.points = points
        self.rest = rest
        """The share of the time of what makes no floating-point operations."""

    def __str__(self) -> str:
        m = self.machine
        head = (
            f"{self.name}: this machine moves {short(m.bandwidth)}B/s and computes "
            f"{short(m.peak)}flop/s; below {m.ridge:.2g} flop/B memory is the limit"
        )
        rows = [head, " share    flop/B      speed  of roof  limit       of"]
        for p in sorted(self.points, key=lambda p: -p.share):
            limit = "memory" if p.intensity < m.ridge else "arithmetic"
            part = p.speed / m.roof(p.intensity)
            limit = "in cache" if part > 1 and limit == "memory" else limit
            rows.append(
                f"{p.share:6.1%} {p.intensity:9.3g} {short(p.speed):>7}flop/s {part:5.0%}  "
                f"{limit:<11} {p.what}"
            )
        return "\n".join([*rows, f"{self.rest:6.1%} without floating-point operations"])

    __repr__ = __str__

    def save(self, path: str | Path, dpi: int = 150) -> Path:
        """Write the picture to a file, whose name says the format: .svg, .png, .pdf."""
        path = Path(path)
        kind = ending(path, "a roofline", (".svg", ".png", ".pdf"))
        with whole(path) as part:
            part.write_bytes(self.drawn(kind[1:], dpi=dpi))
        return path

    def figure(self) -> Any:
        """The picture: the roof, and below it a disc for each loop, as large as its share."""
        from matplotlib.figure import Figure

        m = self.machine
        places = [p.intensity for p in self.points] or [m.ridge]
        low, high = min(*places, m.ridge / 8) / 2, max(*places, m.ridge * 4) * 2
        figure = Figure(figsize=(9, 4.5), layout="constrained")
        ax = figure.subplots()
        ends = [low, m.ridge, high]
        ax.loglog(ends, [m.roof(x) for x in ends], color="0.3")
        told = [f"roof: {short(m.bandwidth)}B/s", f"{short(m.peak)}flop/s", ""]
        for k, p in enumerate(sorted(self.points, key=lambda p: -p.share), 1):
            colour = "C0" if p.intensity < m.ridge else "C1"
            ax.scatter(p.intensity, p.speed, s=30 + 900 * p.share, color=colour, alpha=0.6)
            if k <= NAMED:
                ax.text(p.intensity, p.speed, str(k), fontsize=7, ha="center", va="center")
                told.append(f"{k}  {p.share:.0%}  {_cut(p.what)}")
        ax.text(1.02, 1.0, "\n".join(told), transform=ax.transAxes, va="top", fontsize=8)
        ax.set(xlim=(low, high), xlabel="operations for each byte", title=self.name)
        ax.set(ylabel="floating-point operations in a second")
        ax.grid(which="major", alpha=0.3)
        return figure


NAMED = 12  # discs with numbers, which the list beside the picture explains


def _cut(text: str) -> str:
    return text if len(text) <= 32 else f"{text[:31]}…"


def roofline(name: str, plan: Plan) -> Roofline:
    """Time the steps of a plan on ones, and set them beside the machine's limits."""
    ticks = ticks_of(plan)
    if ticks is None:
        raise TracingError(
            f"{name} has a check that fails on the arrays of ones that steps are timed on, or a "
            "loop that ends when a condition holds, which may be never on the arrays of ones. Time "
            "calls of it, with wengert.profiler.profile."
        )
    machine, whole = limits(), max(ticks.sum(), 1)
    lines = [line_of(s, t / whole) for s, t in zip(plan.steps, ticks.tolist(), strict=True)]
    points, rest = [], 0.0
    for line in grouped(lines):
        share = line.share or 0.0
        if line.flops and line.bytes and share:
            points.append(_point(line, share, share * whole / machine.ticks))
        else:
            rest += share
    return Roofline(name, machine, points, rest)


def _point(line: Line, share: float, seconds: float) -> Point:
    what = line.loops if line.kind == "matmul" else line.what
    often = f"{line.times:,} x " if line.times > 1 else ""
    return Point(f"{often}{what}", line.flops / line.bytes, line.flops / seconds, share)


@functools.cache
def limits() -> Machine:
    """The limits, measured: a long sum of products, and a product of single-precision matrices."""

    line, ticks, seconds = _fastest(lambda x, y: np.sum(x * y), *np.ones((2, LONG)))
    rate = ticks / seconds  # of the clock: in so long a run all that is not the loop is nothing
    product, fewest, _ = _fastest(np.matmul, *np.ones((2, SIDE, SIDE), np.float32))
    return Machine(line.bytes * rate / ticks, product.flops * rate / fewest, rate)


def _fastest(f: Any, *args: Any) -> tuple[Line, float, float]:
    """The largest step of a function, its ticks, and the seconds of the run that has fewest."""
    from wengert.compile.call.function import CompiledFunction

    compiled: CompiledFunction[..., Any] = CompiledFunction(f)
    compiled(*args)
    plan = compiled._latest().forward.plan
    ticks, seconds = min(timed_runs(plan, TRIES), key=lambda run: run[0].sum())
    k = int(np.argmax(ticks))
    return line_of(plan.steps[k], None), float(ticks[k]), seconds
