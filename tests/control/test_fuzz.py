"""Random programs of nested loops and branches: compiled as eagerly, and within any budget.

`WENGERT_FUZZ_SEED=1234 WENGERT_FUZZ_PROGRAMS=1` runs the program of one seed alone; a failure shows
its source. What a budget promises is measured: arrays by tracemalloc, and what machine code takes
by a `malloc` of the test's own.
"""

from __future__ import annotations

import ctypes
import gc
import os
import re
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.compile.chunks import chunks
from tests.control.random_loops import Program, draw
from wengert.errors import StateError, TracingError

FIRST = int(os.environ.get("WENGERT_FUZZ_SEED", "0"))
ASKED = os.environ.get("WENGERT_FUZZ_PROGRAMS")
PROGRAMS = chunks(FIRST, int(ASKED or 250), int(ASKED or 12), 4)
BUDGETS = chunks(FIRST, int(ASKED or 8), int(ASKED or 2), 2)
WIDE = 2_000
"""So many states lie side by side where memory is measured, so that little else counts."""
SLACK = 32_000
"""Bytes of what a call takes beside arrays: tables of addresses, and Python's own objects."""

Call = Callable[[list[Any]], list[np.ndarray]]


def outcome(call: Call, given: list[Any]) -> Any:
    """The results, or the error."""
    wg.manual_seed(5)
    try:
        return call(given)
    except (StateError, TracingError, MemoryError) as error:
        return error


def differ(mine: Any, known: Any, tolerance: float) -> str:
    """What differs, beyond rounding; an empty text if nothing does."""
    if isinstance(mine, Exception) or isinstance(known, Exception):
        return "" if type(mine) is type(known) else f"{mine!r} instead of {known!r}"
    for k, (x, y) in enumerate(zip(mine, known, strict=True)):
        if (x.dtype, x.shape) != (y.dtype, y.shape):
            return f"result {k}: {x.dtype}{x.shape} instead of {y.dtype}{y.shape}"
        scale = max(1.0, float(np.abs(y[np.isfinite(y)]).max(initial=0)))
        if not np.allclose(x, y, rtol=tolerance, atol=tolerance * scale, equal_nan=True):
            return f"result {k}: {x.ravel()[:4]} instead of {y.ravel()[:4]}"
    return ""


def is_steady(program: Program, call: Call, given: list[Any], known: Any) -> bool:
    """Whether results stay what they are if the arguments are changed in their last digits."""
    rng, eps = np.random.default_rng(0), 4 * np.finfo(program.dtype).eps
    for _ in range(4):
        near = [(a * (1 + eps * rng.normal(size=a.shape))).astype(a.dtype) for a in given]
        if differ(outcome(call, near), known, program.tolerance / 10):
            return False
    return True


def reported(check: Callable[[Program], str], programs: list[Program]) -> None:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = [(p, check(p)) for p in programs]
    found = [f"seed {p.seed}, {p.way}, {p.dtype}: {what}\n{p.source}" for p, what in told if what]
    if found:
        pytest.fail("\n\n".join(found), pytrace=False)


@pytest.mark.parametrize("seeds", PROGRAMS)
def test_loops_within_loops_compiled_are_what_they_are_eagerly(seeds: range) -> None:
    reported(compiled_is_eager, [draw(seed) for seed in seeds])


def compiled_is_eager(program: Program) -> str:
    eager, compiled = program.made(), program.made(wg.compile)
    for call in (0, 0, 1, 1):
        given = program.arguments(call)
        known = outcome(eager, given)
        told = differ(outcome(compiled, given), known, program.tolerance)
        if told and (isinstance(known, Exception) or is_steady(program, eager, given, known)):
            return f"call {call}: {told}"
    return ""


# ---- budgets ------------------------------------------------------------------------------------


class Meter:
    """Bytes that arrays take, and what is taken from the C library by machine code."""

    def __init__(self) -> None:
        library = ctypes.CDLL(None)
        library.malloc.restype, library.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
        library.free.argtypes = [ctypes.c_void_p]
        self.library = library
        self.sizes: dict[int, int] = {}
        self.native = self.most = 0
        self.functions = (
            ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(self.take),
            ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.give),
        )

    def addresses(self) -> list[int]:
        """Those of its functions in place of malloc and free."""
        return [ctypes.cast(f, ctypes.c_void_p).value or 0 for f in self.functions]

    def take(self, size: int) -> int:
        place: int = self.library.malloc(size)
        self.sizes[place] = size
        self.native += size
        self.most = max(self.most, self.native + tracemalloc.get_traced_memory()[0])
        return place

    def give(self, place: int) -> None:
        self.native -= self.sizes.pop(place, 0)
        self.library.free(place)

    def peak(self, run: Callable[[], Any]) -> int:
        """The most that is taken during a call, beside what was there before."""
        gc.collect()
        tracemalloc.reset_peak()
        self.most = before = tracemalloc.get_traced_memory()[0]
        run()
        return max(self.most, tracemalloc.get_traced_memory()[1]) - before

    def held(self) -> int:
        """The bytes of all arrays."""
        gc.collect()
        arrays = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)
        return sum(t.size for t in tracemalloc.take_snapshot().filter_traces([arrays]).traces)


@pytest.fixture
def meter(monkeypatch: pytest.MonkeyPatch) -> Iterator[Meter]:
    llvm = pytest.importorskip("llvmlite.binding")
    meter, names = Meter(), ("malloc", "free")
    whole = llvm.JITLibraryBuilder.add_current_process

    def metered(builder: Any) -> Any:
        whole(builder)
        for name, address in zip(names, meter.addresses(), strict=True):
            builder.import_symbol(name, address)
        return builder

    monkeypatch.setattr(llvm.JITLibraryBuilder, "add_current_process", metered)
    monkeypatch.setenv("WENGERT_CACHE", "")
    tracemalloc.start()
    yield meter
    tracemalloc.stop()


@pytest.mark.parametrize("seeds", BUDGETS)
def test_no_call_takes_more_than_its_budget(seeds: range, meter: Meter) -> None:
    reported(partial(keeps_its_promise, meter), [draw(seed, WIDE) for seed in seeds])


def keeps_its_promise(meter: Meter, program: Program) -> str:
    """The least that is said to do, and more than that, do; and are not exceeded."""
    eager, given = program.made(), program.arguments(0)
    known = outcome(eager, given)
    if isinstance(known, Exception):
        return ""
    error = outcome(program.made(partial(wg.compile, memory=1)), given)
    least = re.search(r"with is ([\d,]+)", str(error))
    if least is None:
        return "" if not isinstance(error, MemoryError) else f"an error without a number: {error}"
    budget = int(least[1].replace(",", ""))
    for allowed in (budget, budget * 3):
        with told_apart(program, allowed) as (call, compiled):
            before = meter.held()
            found = outcome(call, given)
            if "second derivative of wg.while_loop" in str(found):  # it says what to do
                return ""
            told = differ(found, known, program.tolerance)
            if told and is_steady(program, eager, given, known):
                return f"within {allowed:,}: {told}"
            outcome(call, given)
            taken = meter.held() - before + meter.peak(lambda call=call: outcome(call, given))
            results = 4 * sum(a.nbytes for a in known)  # before, these, copies, and a cotangent
            if taken > allowed + SLACK + results:
                return f"took {taken:,} bytes within {allowed:,}: {compiled[0].explain().memory}"
    return ""


@contextmanager
def told_apart(program: Program, memory: int) -> Iterator[tuple[Call, list[Any]]]:
    """The program within a budget, and the compiled function in it."""
    compiled: list[Any] = []

    def compiler(f: Any) -> Any:
        compiled.append(wg.compile(f, memory=memory))
        return compiled[0]

    yield program.made(compiler), compiled
