"""`wengert doctor`: what is installed, what is missing, whether it is as fast as it should be."""

from __future__ import annotations

import os
import platform
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import numpy as np

import wengert as wg
from wengert.history import cache
from wengert.visual.flames import time_of

Say = Callable[[str], None]
Line = tuple[str, str]

SLOW = 4.0
"""How many times the expected time is worth a word: machines differ by two or three."""


@dataclass(frozen=True)
class Timing:
    """Something to time: what is expected, in seconds, and where it went if it takes far longer."""

    name: str
    expected: float
    make: Callable[[], Callable[[], Any]]
    cure: str


def run(say: Say = print) -> bool:
    """Say what is found; whether all is well."""
    for heading, lines in (
        ("Versions", versions()),
        ("Machine", machine()),
        ("Optional packages", optional()),
    ):
        say(heading)
        for name, value in lines:
            say(f"  {name:<12}{value}")
    say("Speed, beside what a processor of 2023 takes")
    problems = []
    for timing in TIMINGS:
        try:
            seconds = measured(timing.make())
        except Exception as error:
            problems.append(f"{timing.name}: {type(error).__name__}: {error}")
            say(f"  {timing.name:<42}failed")
            continue
        took, expected = time_of(1e9 * seconds), time_of(1e9 * timing.expected)
        say(f"  {timing.name:<42}{took:>10}  (expected {expected})")
        if seconds > SLOW * timing.expected:
            problems.append(f"{timing.name}: slow. {timing.cure}")
    busy = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    if problems and busy > (os.cpu_count() or 1):
        problems.append(f"The machine is busy: {busy:.1f} processes wait for its cores.")
    for problem in problems:
        say(f"! {problem}")
    say("! See above." if problems else "All is well.")
    return not problems


# ---- what is there -----------------------------------------------------------------------------


def versions() -> Iterator[Line]:
    from wengert.cli.commands import version

    yield "wengert", version()
    yield "Python", f"{platform.python_version()}, {sys.executable}"
    for name, _ in requirements(""):
        yield name, installed(name) or "missing"
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    yield "BLAS", f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip()


def machine() -> Iterator[Line]:
    from wengert.compile.llvm.machine.host import host, vector_bytes

    yield "system", f"{platform.system()} {platform.machine()}"
    yield "processor", f"{host().cpu}, {8 * vector_bytes()} bits a vector"
    threads = os.environ.get("OMP_NUM_THREADS", "as many as NumPy's BLAS likes")
    yield "cores", f"{os.cpu_count()}, threads of NumPy's products: {threads}"
    yield "cache", _cache()


def _cache() -> str:
    """Where code is kept between processes."""
    folder = cache.folder()
    if folder is None:
        return "none: WENGERT_CACHE is empty, so each process compiles anew"
    if not folder.exists():
        return f"{folder}, not there yet"
    sizes = [path.stat().st_size for path in folder.rglob("*.code")]
    words = f"{len(sizes)} files, {sum(sizes) / 2**20:.1f} of {cache.LIMIT // 2**20} MB"
    writable = "" if os.access(folder, os.W_OK) else ", read-only: nothing is kept"
    return f"{folder}, {words}{writable}"


def optional() -> Iterator[Line]:
    """What wengert does without: the packages of the extra that has all of them for programs."""
    for name, _ in requirements("all"):
        extra = next(e for n, e in requirements() if n == name and e not in ("", "all"))
        there = installed(name)
        yield name, there or f"missing; pip install 'wengert[{extra}]' brings it"


def requirements(extra: str | None = None) -> list[tuple[str, str]]:
    """The packages that the installed metadata names, each with its extra, or "" if none."""
    try:
        lines = metadata.requires("wengert") or []
    except metadata.PackageNotFoundError:  # a checkout that was never installed
        lines = ["numpy", "scipy", "llvmlite"]
    packages = []
    for line in lines:
        name = re.split(r"[^\w-]", line)[0]
        marked = re.search(r"extra == ['\"](\w+)['\"]", line)
        packages.append((name, marked[1] if marked else ""))
    return [pair for pair in packages if extra is None or pair[1] == extra]


def installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


# ---- what it takes -----------------------------------------------------------------------------


def measured(function: Callable[[], Any], seconds: float = 0.6) -> float:
    """The least time of a call: what else the machine does only adds to it."""
    for _ in range(3):
        function()
    begin = time.perf_counter()
    function()
    once = max(time.perf_counter() - begin, 1e-9)
    rounds = max(1, min(10_000, int(seconds / 11 / once)))
    times = []
    for _ in range(11):
        begin = time.perf_counter()
        for _ in range(rounds):
            function()
        times.append((time.perf_counter() - begin) / rounds)
    return min(times)


def _product() -> Callable[[], Any]:
    a = np.random.default_rng(0).random((512, 512), np.float32)
    return lambda: a @ a


def _operation() -> Callable[[], Any]:
    x = wg.ones(8, requires_grad=True)
    return lambda: x * x


def _step() -> Callable[[], Any]:
    parts = [wg.nn.Linear(2, 16), wg.nn.Tanh(), wg.nn.Linear(16, 1)]
    net = wg.nn.Sequential(*parts)
    optimizer = wg.optim.SGD(net.parameters(), lr=0.01)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = (net(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    compiled, x = wg.compile(step), wg.ones(4, 2)
    return lambda: compiled(x)


def _elements() -> Callable[[], Any]:
    f = wg.compile(lambda x: np.tanh(x) * x)
    x = np.ones(1_000_000, np.float32)
    return lambda: f(x)


TIMINGS = (
    Timing(
        "NumPy: a product of 512 × 512 matrices", 4e-3, _product,
        "NumPy's BLAS decides: python -c 'import numpy; numpy.show_config()' names it.",
    ),
    Timing(
        "eager: a product of 8 floats, recorded", 1.1e-6, _operation,
        "Something else keeps the processor busy, or Python is a debug build.",
    ),
    Timing(
        "compiled: a training step of 65 parameters", 1.5e-6, _step,
        "The native entry is not used: another process may be busy, or Python is an unknown one.",
    ),
    Timing(
        "compiled: tanh(x) x of a million floats", 5e-4, _elements,
        "The vectors of this processor are narrow, or it is busy.",
    ),
)  # fmt: skip
