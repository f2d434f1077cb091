"""Random histories around compiled functions: calls, with changes of the world between them.

Histories are drawn from the kinds of change that are honoured: all but what is refused.
WENGERT_FUZZ_HISTORIES says how many are drawn, WENGERT_FUZZ_HISTORY where their seeds begin. A
failure shows the smallest history that fails, as a program that can be run.
"""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.compile.chunks import chunks
from tests.compile.histories.history import (
    NUDGES,
    Difference,
    History,
    compared,
    difference,
    directed,
    draw,
    report,
    rounded,
    run,
    shrunk,
)
from tests.compile.histories.pieces import KINDS, NAMES, REFUSED

FIRST = int(os.environ.get("WENGERT_FUZZ_HISTORY", "0"))
ASKED = os.environ.get("WENGERT_FUZZ_HISTORIES")
COUNT = int(ASKED or 2000)
USUAL = int(ASKED or 40)
"""So many histories are drawn in any run, the others in the full one."""
ROOT = Path(__file__).parents[2]
CHUNK = 20
"""So many histories are one test."""

HONOURED = [kind for kind in KINDS if kind not in REFUSED]


@pytest.mark.parametrize("seeds", chunks(FIRST, COUNT, USUAL, CHUNK))
def test_a_compiled_function_lives_as_the_eager_one(seeds: range) -> None:
    found = []
    for seed in seeds:
        history = draw(seed, HONOURED)
        first = unexpected(history)
        if first is not None:
            small = shrunk(history, lambda h: unexpected(h) is not None)
            last = unexpected(small)
            now_and_then = "NOT EACH TIME; once it was\n" + report(history, first)
            found.append(now_and_then if last is None else report(small, last))
    if found:
        pytest.fail("\n\n".join(found), pytrace=False)


TOGETHER = (
    "which may be changed by what is called before",
    "that was computed outside",  # and is swept to, or written, by a piece
)
"""Of what the table of the documentation refuses: what a piece does with what another one, or a
call, brings."""


def unexpected(history: History) -> Difference | None:
    """A difference, unless it takes two to make what the table refuses."""
    found = difference(history, ())
    if found is None or found.how != "refused":
        return found
    return None if any(words in found.text for words in TOGETHER) else found


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_refused_is_in_the_table_of_the_documentation(kind: str) -> None:
    found = difference(directed(0, kind), ())
    assert found is not None
    assert found.how == "refused"
    assert REFUSED[kind] in (ROOT / "docs" / "compiler.md").read_text()


def test_what_eager_mode_rounds_otherwise_itself_is_no_difference() -> None:
    """The gradient behind a BatchNorm of two rows is zero: in float32, noise of 4e-4."""
    history = draw(22468848, HONOURED)
    eager = run(history, lambda f: f)
    assert compared(eager, run(history, lambda f: f, NUDGES[0])) is not None
    assert difference(history) is None


def test_what_rounding_does_not_make_is_a_difference() -> None:
    history = draw(22468848, HONOURED)
    eager = run(history, lambda f: f)
    found = compared(eager, run(history, lambda f: f, 1.1))
    assert found is not None
    assert found.place is not None
    assert not rounded(history, eager, found, ())


def test_every_kind_of_piece_runs_eagerly() -> None:
    for k, name in enumerate(NAMES):
        kind = next(kind for kind in KINDS if kind.startswith(f"{name}: "))
        if k % 7 == 0:
            seen = run(directed(k, kind), lambda f: f).seen
            assert seen[0]["error"] is None, (kind, seen[0]["error"])


@pytest.fixture
def apart() -> Iterator[None]:
    """A collection looks at what came since only."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("apart")
@pytest.mark.parametrize("places", chunks(0, 1200, 80, CHUNK))
def test_no_call_of_a_compiled_function_leaves_a_cycle_to_the_collector(places: range) -> None:
    # A call that was not native left one with its arguments and results, and a trace that began
    # again one with the variables of all who called: batches lived until garbage was collected.
    for place in places:
        history = directed(place, HONOURED[(place * 1009) % len(HONOURED)])
        eager = left_by(history, lambda f: f)
        found = [x for x in left_by(history, wg.compile) - eager if not x.startswith(OF_CTYPES)]
        assert not found, history.kinds()


OF_CTYPES = "_ctypes.", "ctypes.", "llvmlite.", "builtins."
"""Classes of arrays in C, which are made with the first machine code of their length."""


def left_by(history: History, compile: Any) -> Counter[str]:
    """The classes of what only a collection frees after a history."""
    collects, flags = gc.isenabled(), gc.get_debug()
    gc.disable()
    try:
        run(history, compile)
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        return Counter(f"{type(x).__module__}.{type(x).__name__}" for x in gc.garbage)
    finally:
        gc.set_debug(flags)
        gc.garbage.clear()
        if collects:
            gc.enable()


def test_a_history_is_the_same_for_the_same_seed() -> None:
    assert draw(3, KINDS).script() == draw(3, KINDS).script()
    assert draw(3, KINDS).script() != draw(4, KINDS).script()


def test_a_failing_history_is_made_small() -> None:
    history = next(h for h in (draw(s, KINDS, most=4) for s in range(99)) if len(h.pieces) == 4)
    wanted = history.events[-2].kind
    small = shrunk(history, lambda h: wanted in h.kinds())
    assert [event.kind for event in small.events] == [wanted]
    assert len(small.pieces) <= 1
    compile(small.script(), "a history", "exec")
