"""Whatever calls a function inside of a compiled one, what it reads is read at each call.

Each feature of the library that calls a function, by each thing that such a function reads or does,
with changes of that between the calls: its derivative is taken outside, inside, or not at all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.compile.callers import CALLERS, EFFECTS, READS, Around, Caller
from tests.compile.random_functions import Seen, compare
from tests.compile.stories import noted
from wengert.errors import BatchingError, StateError, TracingError

MODES = "derivative outside", "derivative inside", "no derivative"
REFUSALS = TracingError, StateError, BatchingError
pytestmark = [
    pytest.mark.filterwarnings("ignore:autocast"),
    pytest.mark.filterwarnings("ignore:None of the inputs"),
]


def told(caller: Caller, row: Any, mode: str, compile: Any) -> list[Any]:
    """What is seen of some calls, with the changes of a row between them, up to the first error."""
    around, (body, changes) = Around(), row
    around.body = body

    def function(v: Any) -> Any:
        return body(around, v)

    def f(x: Any) -> Any:
        y = caller.call(around, function, x)
        if mode == "derivative inside" and y.requires_grad:
            y.sum().backward()
        return y.detach() if mode == "derivative inside" else y

    f, seen = compile(f), list[Any]()
    for change in (None, *changes):
        if change is not None:
            change(around)
        for _ in range(3):
            x = wg.tensor([0.5, 1.5, -0.7], requires_grad=mode != "no derivative")
            try:
                with np.errstate(all="ignore"):
                    y = f(x)
                    if mode == "derivative outside" and y.requires_grad:
                        y.sum().backward()
            except Exception as error:
                return [*seen, error]
            seen.append(noted([y.detach(), y.requires_grad, x.grad, *around.seen()]))
    return seen


def without(otherwise: frozenset[str], call: list[Any]) -> list[Any]:
    """What is seen of a call, but for what the documentation says is told otherwise."""
    result, tracked, own, tensors, gradients, counts, generators = call
    if "none" in otherwise:
        own, *gradients = map(_or_none, [own, *gradients])
    if "versions" in otherwise:
        counts = counts[:-1]
    if "tracked" in otherwise:
        tracked = None
    return [result, tracked, own, tensors, gradients, counts, generators]


def _or_none(gradient: Any) -> Any:
    return None if isinstance(gradient, Seen) and not gradient.array.any() else gradient


@pytest.mark.crossed
@pytest.mark.parametrize("read", [*READS, *EFFECTS])
@pytest.mark.parametrize("name", CALLERS)
def test_a_function_is_what_it_is_in_eager_mode_whatever_calls_it(name: str, read: str) -> None:
    # A checkpoint's second run went further than eagerly, and drew no numbers of its own; odeint
    # called its function once more; a first run that nobody records said that it was recorded.
    caller, row = CALLERS[name], (READS | EFFECTS)[read]
    for mode in MODES:
        expected = told(caller, row, mode, lambda f: f)
        found = told(caller, row, mode, wg.compile)
        where = f"{name}, {read}, {mode}"
        for k, (x, y) in enumerate(zip(found, expected, strict=False)):
            if isinstance(x, REFUSALS) and read in EFFECTS:
                assert ", line " in str(x), where
                break
            if isinstance(y, Exception) and "taken" in caller.otherwise:
                break
            if isinstance(x, Exception) or isinstance(y, Exception):
                assert type(x) is type(y), f"{where}: {x!r} instead of {y!r}"
                break
            got, want = (without(caller.otherwise, call) for call in (x, y))
            compare(got, want, 1e-3, f"{where}, call {k}")
