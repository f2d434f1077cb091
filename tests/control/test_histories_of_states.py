"""What a body is told of its state's history: whether it requires grad, is a leaf, what made it.

In a trace the state has a history in the body, so that there is a derivative, whether it begins
with one or not. That is not what eager mode says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from wengert.errors import TracingError

WEIGHT = wg.ones(2, requires_grad=True) * 1
ASKED: dict[str, Callable[[Any], float]] = {
    "requires_grad": lambda y: 2.0 if y.requires_grad else 3.0,
    "is_leaf": lambda y: 2.0 if y.is_leaf else 3.0,
    "grad_fn": lambda y: 2.0 if y.grad_fn is None else 3.0,
}
BODIES: dict[str, Callable[[Any, Any], Any]] = {
    "it stays": lambda q, y: y * q(y) / 3,
    "it begins": lambda q, y: y * q(y) * WEIGHT / 3,
    "it ends": lambda q, y: y.detach() * q(y) / 3,
    "of a product": lambda q, y: y * q(y * WEIGHT) / 3,
    "of another tensor": lambda q, y: y * q(WEIGHT) / 3,
    "in a loop": lambda q, y: wg.fori_loop(0, 3, lambda i, t: t * q(t) / 3, y),
    "which decides about a write": lambda q, y: (q(y) > 2 and y.data.mul_(0.5), y * 1)[1],
}


def rolled(body: Any, y: Any) -> Any:
    for _ in range(70):
        y = body(y) * 0.9 + 1
    return y


LOOPS: dict[str, Callable[[Any, Any], Any]] = {
    "fori_loop": lambda body, x: wg.fori_loop(0, 4, lambda i, y: body(y), x),
    "scan": lambda body, x: wg.scan(lambda c, row: (body(c) + row, c * 1), x, wg.ones(4, 2))[0],
    "while_loop": lambda body, x: wg.while_loop(
        lambda s: s[0] < 4, lambda s: (s[0] + 1, body(s[1])), (wg.tensor(0), x)
    )[1],
    "for": rolled,
}
BEGIN: dict[str, Callable[[], Any]] = {
    "without": lambda: wg.ones(2),
    "a leaf": lambda: wg.ones(2, requires_grad=True),
    "computed": lambda: wg.ones(2, requires_grad=True) * 1,
}


@pytest.mark.parametrize("begin", BEGIN)
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("asked", ASKED)
def test_a_body_is_told_what_eager_mode_says_of_its_states_history(
    asked: str, body: str, loop: str, begin: str
) -> None:
    # It was told that each state requires grad.
    def function(x: Any) -> Any:
        return LOOPS[loop](lambda y: BODIES[body](ASKED[asked], y), x)

    changes = (body, begin) in {("it begins", "without"), ("it ends", "a leaf")}
    changes = changes or (body, begin) == ("it ends", "computed")
    if changes and loop != "for":
        with pytest.raises(TracingError, match="asks for the history of its state"):
            wg.compile(function)(BEGIN[begin]())
        return
    seen = []
    for run in (function, wg.compile(function)):
        x = BEGIN[begin]()
        y = run(x)
        seen.append((y.requires_grad, y.detach().numpy().copy(), x.detach().numpy().copy()))
    assert seen[0][0] == seen[1][0]
    for one, other in zip(seen[0][1:], seen[1][1:], strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-5)
