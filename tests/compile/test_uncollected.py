"""Compiling starts no collections of garbage, and leaves the collector as it was."""

from __future__ import annotations

import contextlib
import gc
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.compile.backend import using
from wengert.compile.llvm.backend import LLVM
from wengert.history import uncollected as module
from wengert.history.uncollected import NEVER, uncollected


@pytest.fixture(autouse=True)
def thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(321, 7, 9)
    yield
    gc.set_threshold(*before)


def is_as_before() -> bool:
    return gc.get_threshold()[:2] == (321, 7) and gc.isenabled()


class Watching(LLVM):
    def __init__(self) -> None:
        self.seen: list[int] = []

    def code(self, *args: Any) -> Any:
        self.seen.append(gc.get_threshold()[0])
        return super().code(*args)


def test_machine_code_is_written_without_collections() -> None:
    with using(machine := Watching()):
        wg.compile(lambda x: np.sin(x) * 2)(np.ones(3))
    assert machine.seen == [NEVER]
    assert is_as_before()


def test_the_threshold_comes_back_after_an_error_and_after_the_outermost_of_several() -> None:
    with uncollected():
        with pytest.raises(ValueError, match="no plan"), uncollected():
            raise ValueError("no plan")
        assert gc.get_threshold()[0] == NEVER
    assert is_as_before()


@contextlib.contextmanager
def at_work_elsewhere() -> Iterator[None]:
    """Another thread has begun such work; it ends with the block."""
    begun, go = threading.Event(), threading.Event()

    def work() -> None:
        with uncollected():
            begun.set()
            assert go.wait(60)

    thread = threading.Thread(target=work)
    thread.start()
    assert begun.wait(60)
    yield
    go.set()
    thread.join(60)


def test_the_last_of_several_threads_to_end_sets_the_threshold_back() -> None:
    with contextlib.ExitStack() as later:
        with uncollected():
            later.enter_context(at_work_elsewhere())
        assert gc.get_threshold()[0] == NEVER
    assert is_as_before()


def test_what_others_set_meanwhile_stays() -> None:
    with uncollected():
        gc.disable()
        gc.set_threshold(50)
        with uncollected():
            assert gc.get_threshold()[0] == NEVER
    assert gc.get_threshold()[0] == 50
    assert not gc.isenabled()
    gc.enable()


def interrupted(line: int) -> bool:
    """Do some work, with an interrupt before a line of the module; whether it came to that line."""
    left = line

    def trace(frame: Any, event: str, arg: Any) -> Any:
        nonlocal left
        if frame.f_code.co_filename != module.__file__:
            return None
        if event == "line":
            left -= 1
            if left == 0:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with contextlib.suppress(KeyboardInterrupt), uncollected():
            pass
    finally:
        sys.settrace(before)
    return left <= 0


def test_an_interrupt_at_any_line_leaves_nothing_that_the_next_work_does_not_mend() -> None:
    line = 1
    while interrupted(line):
        with uncollected():
            pass
        assert is_as_before(), f"after an interrupt before line {line}"
        line += 1
    assert line > 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_collects_though_another_thread_of_its_parent_was_at_work() -> None:
    with at_work_elsewhere():
        child = os.fork()
        if child == 0:
            os._exit(0 if is_as_before() else 1)
        assert os.waitpid(child, 0)[1] == 0


def test_importing_leaves_the_collector_as_it_was_also_if_it_fails() -> None:
    program = """
import gc, sys
gc.set_threshold(321, 7, 9)
sys.modules["wengert.tensor"] = None
try:
    import wengert
except ImportError:
    pass
assert gc.get_threshold()[:2] == (321, 7), gc.get_threshold()
for name in [name for name in sys.modules if name.startswith("wengert")]:
    del sys.modules[name]
import wengert
assert gc.get_threshold()[:2] == (321, 7), gc.get_threshold()
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
