"""Random functions, eagerly and compiled: results, gradients and what else they change.

A hundred and twenty are drawn, and five thousand by `pytest --full`; WENGERT_FUZZ_PROGRAMS asks for
another number, WENGERT_FUZZ_SEED says where their seeds begin. A failure shows the source of the
function and its seed:
`WENGERT_FUZZ_SEED=1234 WENGERT_FUZZ_PROGRAMS=1` runs that one alone.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.compile.chunks import chunks
from tests.compile.random_functions import Function, compare, draw, outcome

FIRST = int(os.environ.get("WENGERT_FUZZ_SEED", "0"))
ASKED = os.environ.get("WENGERT_FUZZ_PROGRAMS")
COUNT = int(ASKED or 5_000)
USUAL = int(ASKED or 120)
"""So many functions are drawn in any run, the others in the full one."""
CALLS = (0, 0, 1, 1)
"""Twice with each list of arguments: first a program is made, later its native entry runs."""
CHUNK = 20
"""So many functions are one test."""


@pytest.mark.parametrize("seeds", chunks(FIRST, COUNT, USUAL, CHUNK))
def test_compiled_is_eager(seeds: range) -> None:
    found = []
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in seeds:
            function = draw(seed)
            error = trouble([function])
            if error is not None:
                found.append(report(function, error))
    if found:
        pytest.fail("\n\n".join(found), pytrace=False)


def trouble(functions: list[Function]) -> Exception | None:
    """What is wrong with one of these functions when it is compiled, if something is."""
    try:
        for f in functions:
            check(f)
    except Exception as error:
        return error
    return None


def check(f: Function) -> None:
    eager, twin = f.made(), f.made()
    compiled = wg.compile(twin)
    compiled.state = twin.state
    tolerance = f.tolerance
    for n, call in enumerate(CALLS):
        expected = outcome(eager, f.fresh(call))
        try:
            compare(outcome(compiled, f.fresh(call)), expected, tolerance, f"call {call}: ")
        except AssertionError:
            if steady(f, CALLS[: n + 1], tolerance):
                raise
    refuse_alike(f, eager, compiled)  # where a program is there, and at the first call
    refuse_alike(f, f.made(), wg.compile(f.made()))


def refuse_alike(f: Function, eager: Any, compiled: Any) -> None:
    """Arguments that may be out of range: the same errors, if there are any."""
    expected, found = (refusal(function, f.wild()) for function in (eager, compiled))
    assert found == expected, f"out of range: {found} instead of {expected}"


def refusal(function: Any, arguments: list[Any]) -> tuple[str, str] | None:
    try:
        function(*arguments)
    except Exception as error:
        return type(error).__name__, str(error).splitlines()[0]
    return None


def steady(f: Function, calls: Sequence[int], tolerance: float) -> bool:
    """Whether the results of the last of some calls do not depend on how numbers are rounded.

    Where they do (the order of two values that are equal but for rounding, say), nothing can be
    said.
    """

    def last(function: Any) -> Any:
        return [outcome(function, f.fresh(call)) for call in calls][-1]

    expected = last(f.made())
    for seed in range(8):
        try:
            compare(last(f.made(np.random.default_rng(seed))), expected, tolerance)
        except (AssertionError, RuntimeError):
            return False
    return True


def report(f: Function, error: Exception) -> str:
    notes = "".join(f"\n{note}" for note in getattr(error, "__notes__", ()))
    arguments = "\n".join(f"    {x!r}" for x in f.arguments[0])
    kind = type(error).__name__
    return f"seed {f.seed}: {kind}: {error}{notes}\n{f.source}called with\n{arguments}"
