"""The text of a plan, by which its machine code is kept: plans of equal text have equal code."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from llvmlite import ir

import wengert as wg
from tests.compile.plans import Interpreted
from wengert.compile import backend
from wengert.compile.llvm import body, description
from wengert.compile.llvm.backend import LLVM
from wengert.compile.llvm.machine import host
from wengert.compile.plan.plan import Call, Loops, Plan
from wengert.history import threads

X = np.linspace(-1.0, 1.0, 12).reshape(3, 4)
LAST = {"axis": 1}


class Asked(LLVM):
    """Keeps the plans that are to be code, and runs them as they are."""

    def __init__(self) -> None:
        self.plans: list[Plan] = []

    def code(self, plan: Plan, name: str, timed: bool = False) -> Any:
        self.plans.append(plan)
        return Interpreted(plan)


def plan_of(function: Callable[[Any], Any], x: Any = X) -> Plan:
    asked = Asked()
    with backend.using(asked):
        wg.compile(function)(x)
    return asked.plans[-1]


def test_a_kernel_is_told_once():
    # The last one that was new was told each time that it came again: that was most of the text.
    @wg.compile
    def f(x: Any) -> Any:
        for _ in range(5):
            x = np.cumsum(np.tanh(x), axis=1)
        return x

    asked = Asked()
    with backend.using(asked):
        f(X)
    text = description.told(asked.plans[-1])
    kernels = [line for line in text.splitlines() if line.startswith("kernel ")]
    assert text.count("\nloops ") == 5
    assert len(kernels) == len(set(kernels)) < 5


def test_layers_that_are_alike_have_one_kernel():
    # A kernel was made of each layer's terms, found equal to the one before, and hashed for that.
    @wg.compile
    def f(x: Any, h: Any) -> Any:
        for _ in range(4):
            h = np.maximum(h @ x, 0.5)
        return h + h.astype(np.float32).sum(), np.maximum(x[::-1], 0.5)

    asked = Asked()
    with backend.using(asked):
        f(X[:, :3], X[:2, :3])
    kernels = [step.kernel for step in asked.plans[-1].steps if isinstance(step, Loops)]
    assert len({id(kernel) for kernel in kernels}) == len(set(kernels)) < len(kernels)


def code_of(plan: Plan) -> str:
    module = ir.Module("plan")
    body.define(module, plan)
    return str(module)


def repeated(step: float, length: int = 4, reverse: bool = False) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        return wg.scan(lambda h, row: (h * step, h + row), x[0], x[:length], reverse=reverse)

    return function


def kept(part: int) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        return wg.scan(
            lambda s, _: (tuple(s[0] + s[1] if k == part else v for k, v in enumerate(s)), s[part]),
            (np.tile(x[0], 10), np.tile(x[1], 10)),
            None,
            length=4,
        )

    return function


def chosen(first: float, second: float) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        return wg.cond(x.sum() > 0, lambda x: x * first, lambda x: x + second, x)

    return function


def grown(most: float) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        return wg.while_loop(lambda x: x.sum() < most, lambda x: x + 1, x)

    return function


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "sine": lambda x: np.sin(x),
    "cosine": lambda x: np.cos(x),
    "of columns": lambda x: np.sin(x.T).ravel(),
    "of a slice": lambda x: np.sin(x[:, 1:]),
    "in half the digits": lambda x: np.sin(x.astype(np.float32)),
    "plus zero": lambda x: np.sin(x) * 0.0,
    "minus zero": lambda x: np.sin(x) * -0.0,
    "times a number": lambda x: np.sin(x) * 3.0,
    "times the next number": lambda x: np.sin(x) * np.nextafter(3.0, 4.0).item(),
    "twice": lambda x: (np.sin(x), np.cos(x)),
    "sum": lambda x: np.sum(x, **LAST),
    "largest": lambda x: np.max(x, **LAST),
    "product": lambda x: x @ x.T,
    "product, turned": lambda x: x.T @ x,
    "product and what it is added to": lambda x: x @ x.T + 1.0,
    "running sum": lambda x: np.cumsum(x, axis=0),
    "running sum of rows": lambda x: np.cumsum(x, **LAST),
    "running product": lambda x: np.cumprod(x, **LAST),
    "running maximum": lambda x: np.maximum.accumulate(x, **LAST),
    "running minimum": lambda x: np.minimum.accumulate(x, **LAST),
    "order": lambda x: np.argsort(x, kind="stable", **LAST),
    "places": lambda x: np.searchsorted(x[0], x[1]),
    "places on the right": lambda x: np.searchsorted(x[0], x[1], side="right"),
    "places of others": lambda x: np.searchsorted(x[1], x[0]),
    "in Python": lambda x: np.linalg.eigvalsh(x @ x.T),
    "repeated": repeated(2.0),
    "repeated otherwise": repeated(3.0),
    "repeated less often": repeated(2.0, 2),
    "repeated backwards": repeated(2.0, reverse=True),
    "a state in rows": kept(0),
    "the other state in rows": kept(1),
    "chosen": chosen(2.0, 3.0),
    "chosen the other way": chosen(3.0, 2.0),
    "until": grown(9.0),
    "until later": grown(10.0),
}


def test_plans_have_one_text_where_they_have_one_code() -> None:
    plans = {name: plan_of(function) for name, function in FUNCTIONS.items()}
    texts = {name: description.told(plan) for name, plan in plans.items()}
    codes = {name: code_of(plan) for name, plan in plans.items()}
    for one, other in itertools.combinations(FUNCTIONS, 2):
        assert (texts[one] == texts[other]) == (codes[one] == codes[other]), (one, other)
    assert len(set(codes.values())) == len(codes)
    for name, function in FUNCTIONS.items():
        assert description.told(plan_of(function)) == texts[name], name


def test_a_kept_function_is_not_written_again(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The module was built and printed in each process: half of a first call.
    monkeypatch.setenv("WENGERT_CACHE", str(tmp_path))
    first = wg.compile(lambda x: np.tanh(x).sum() + 5.5)(X)
    monkeypatch.setattr(host, "_live", type(host._live)())
    monkeypatch.setattr(body, "define", None)
    assert wg.compile(lambda x: np.tanh(x).sum() + 5.5)(X) == first
    with pytest.raises(TypeError, match="'NoneType' object is not callable"):
        wg.compile(lambda x: np.tanh(x).sum() + 6.5)(X)


def test_what_cannot_be_told_is_written() -> None:
    plan = plan_of(repeated(2.0))
    (loop,) = (s for s in plan.steps if isinstance(s, Call) and s.bodies)
    loop.statement.function.strange = object()  # type: ignore[attr-defined]
    with pytest.raises(description.Untold, match="There is no text for <object"):
        description.told(plan)
    assert LLVM().code(plan, "strange").body


def test_the_constants_of_a_loop_are_told_in_full() -> None:
    # They are part of the code. NumPy prints a long array in part.
    plans = [plan_of(repeated(2.0)) for _ in range(2)]
    for at, plan in enumerate(plans):
        (loop,) = (s for s in plan.steps if isinstance(s, Call) and s.bodies)
        loop.bodies[0].constants = [np.eye(1, 5000, 2500 + at)]
    assert description.told(plans[0]) != description.told(plans[1])
    assert code_of(plans[0]) != code_of(plans[1])


def test_code_for_a_blas_of_several_threads_is_not_that_for_one(monkeypatch):
    # Which products are left to BLAS was decided by its threads, and the code kept by the plan
    # alone: a process with one found what another had left to two, and took twice as long.
    plan = plan_of(lambda x: x @ x, np.ones((700, 700)))
    texts = set()
    for number in ("1", "2"):
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", number)
        texts.add((description.told(plan), "gemm" in code_of(plan)))
    assert len({text for text, _ in texts}) == 2
    assert {left for _, left in texts} == {False, True}


def test_products_are_ours_where_we_have_as_many_threads_as_blas(monkeypatch):
    # With two threads each, those of two were left to BLAS: 19 ms where ours take 9.
    plan = plan_of(lambda x: x @ x, np.ones((700, 700)))
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    monkeypatch.setattr(threads, "AT_FIRST", 2)
    assert "gemm" not in code_of(plan)
