"""What an optimizer remembers is read at each call, however it came there."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.compile.stories import numbers, same, thrice
from wengert import nn, optim
from wengert.errors import TracingError

Make = Callable[[Any], Any]
SETTINGS = {"SGD": {"momentum": 0.9}, "RMSprop": {"momentum": 0.5}}
OTHERS = {
    "Optimizer": "is the base",
    "LBFGS": "takes a closure",
    "SparseAdam": "takes sparse gradients",
    "Muon": "takes matrices",
}
MAKERS: dict[str, Make] = {
    name: functools.partial(vars(optim)[name], lr=0.1, **SETTINGS.get(name, {}))
    for name in sorted(vars(optim))
    if isinstance(vars(optim)[name], type)
    and issubclass(vars(optim)[name], optim.Optimizer)
    and name not in OTHERS
}
each_optimizer = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def trained(compile: Any, make: Make, change: Callable[[Any, Any, Any], None]) -> Any:
    """Three steps, a change, and three steps more; `change(optimizer, w, earlier)`."""
    w = numbers(1, 2, requires_grad=True)
    optimizer = make([w])

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = ((w * x) ** 2).sum()
        loss.backward()
        optimizer.step()
        return loss

    earlier = None
    step = compile(step)
    x = numbers(3, 4)
    seen: list[Any] = []
    for _ in range(3):
        seen.append(thrice(step, x)[0])
        earlier = earlier or copy.deepcopy(optimizer.state_dict())
    change(optimizer, w, earlier)
    seen += [*thrice(step, x), w.detach().clone()]
    return [*seen, [dict(sorted(state.items())) for state in optimizer.state.values()]]


@each_optimizer
def test_a_checkpoint_loaded_after_the_first_call_is_gone_on_from(make: Make) -> None:
    same(lambda compile: trained(compile, make, lambda o, w, s: o.load_state_dict(s)))


@each_optimizer
def test_state_that_is_cleared_starts_anew(make: Make) -> None:
    same(lambda compile: trained(compile, make, lambda o, w, s: o.state.clear()))


@each_optimizer
def test_state_tensors_that_are_replaced_are_read(make: Make) -> None:
    def replace(optimizer: Any, w: Any, earlier: Any) -> None:
        for name, value in optimizer.state[w].items():
            if isinstance(value, wg.Tensor):
                optimizer.state[w][name] = value * 0.5

    same(lambda compile: trained(compile, make, replace))


@each_optimizer
def test_state_tensors_that_are_written_are_read(make: Make) -> None:
    def write(optimizer: Any, w: Any, earlier: Any) -> None:
        for value in optimizer.state[w].values():
            if isinstance(value, wg.Tensor):
                value.mul_(0.5)

    same(lambda compile: trained(compile, make, write))


@each_optimizer
def test_a_rate_that_is_set_is_read(make: Make) -> None:
    def slower(optimizer: Any, w: Any, earlier: Any) -> None:
        optimizer.param_groups[0]["lr"] = 0.01

    same(lambda compile: trained(compile, make, slower))


SETTINGS = {
    "momentum": ("SGD", {"momentum": 0.5}),
    "no momentum": ("SGD", {"momentum": 0.0}),
    "decay": ("SGD", {"weight_decay": 0.1}),
    "nesterov": ("SGD", {"nesterov": True}),
    "maximize": ("SGD", {"maximize": True}),
    "betas": ("Adam", {"betas": (0.5, 0.5)}),
    "eps": ("Adam", {"eps": 0.5}),
    "amsgrad": ("Adam", {"weight_decay": 0.1}),
}


@pytest.mark.crossed
@pytest.mark.parametrize(("name", "settings"), SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("how", ["set", "whole group"])
def test_settings_that_are_changed_are_read(name: str, settings: dict[str, Any], how: str) -> None:
    def change(optimizer: Any, w: Any, earlier: Any) -> None:
        if how == "set":
            optimizer.param_groups[0].update(settings)
        else:
            optimizer.param_groups[0] = {**optimizer.param_groups[0], **settings}

    same(lambda compile: trained(compile, MAKERS[name], change))


def test_parameters_popped_from_a_group_stay_as_they_are() -> None:
    def pop(optimizer: Any, w: Any, earlier: Any) -> None:
        optimizer.param_groups[0]["params"].pop()

    same(lambda compile: trained(compile, MAKERS["SGD"], pop))


def test_groups_that_are_popped_stay_as_they_are() -> None:
    def pop(optimizer: Any, w: Any, earlier: Any) -> None:
        optimizer.param_groups.pop()

    same(lambda compile: trained(compile, MAKERS["SGD"], pop))


def test_parameters_that_are_added_are_trained() -> None:
    def story(compile: Any) -> Any:
        w, v = numbers(1, 2, requires_grad=True), numbers(3, 4, requires_grad=True)
        optimizer = optim.SGD([w], lr=0.1)

        def step(x: Any) -> Any:
            optimizer.zero_grad()
            loss = ((w * v * x) ** 2).sum()
            loss.backward()
            optimizer.step()
            return loss

        step = compile(step)
        seen = thrice(step, numbers(0.1, 0.2))
        optimizer.add_param_group({"params": [v], "lr": 0.05})
        return [*seen, *thrice(step, numbers(0.1, 0.2)), w.detach(), v.detach()]

    same(story)


def test_momentum_that_is_cleared_now_and_then_is_begun_anew_by_the_optimizer() -> None:
    # The function had read the state, to clear it, and so the optimizer was not to change it.
    def story(compile: Any) -> Any:
        w, count = numbers(1, 2, requires_grad=True), [0]
        optimizer = optim.SGD([w], lr=0.1, momentum=0.9)

        def step(x: Any) -> Any:
            if count[0] % 4 == 0:
                optimizer.state.clear()
            count[0] += 1
            optimizer.zero_grad()
            loss = ((w * x) ** 2).sum()
            loss.backward()
            optimizer.step()
            return loss

        step = compile(step)
        return [(step(numbers(0.1, 0.2)), w.detach().clone()) for _ in range(9)]

    same(story)


# ---- what a function asks of it ------------------------------------------------------------------

ASKING: dict[str, Callable[[Any, Any], Any]] = {
    "len": lambda o, p: len(o.state),
    "bool": lambda o, p: 1 if o.state else 2,
    "in": lambda o, p: 1 + (p in o.state),
    "for": lambda o, p: sum(1 for _ in o.state),
    "get": lambda o, p: len(o.state.get(p, ())),
    "==": lambda o, p: 1 + (o.state == {}),
    "dict": lambda o, p: len(dict(o.state)),
    "values": lambda o, p: len([*o.state.values()]),
    "an item's": lambda o, p: len(o.state[p]),
    "setdefault": lambda o, p: len(o.state.setdefault(p, {})),
    "state_dict": lambda o, p: len(o.state_dict()["state"]),
    "clear": lambda o, p: o.state.clear() or 1,
    "pop": lambda o, p: len(o.state.pop(p, ())),
}
OPTIMIZERS: dict[str, Make] = {**MAKERS, "sgd": lambda p: optim.SGD(p, lr=0.1)}


@pytest.mark.crossed
@pytest.mark.parametrize("writes", [True, False], ids=["after a write", "first"])
@pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS)
@pytest.mark.parametrize("ask", ASKING.values(), ids=ASKING)
def test_the_first_call_finds_that_an_optimizer_remembers_nothing(
    ask: Any, make: Make, writes: bool
) -> None:
    # A trace begins what is remembered, and was made again: its answer was that of later calls. And
    # what was asked after the function had written in any dictionary was no condition at all.
    def story(compile: Any) -> list[Any]:
        w = numbers(1, 2, requires_grad=True)
        optimizer, count = make([w]), {"calls": 0}

        def step(x: Any) -> Any:
            if writes:
                count["calls"] += 1
            asked = ask(optimizer, w)
            optimizer.zero_grad()
            loss = ((w * x) ** 2).sum() * (1 + asked)
            loss.backward()
            optimizer.step()
            return loss.detach()

        f, seen = compile(step), []
        for k in range(8):
            if k in (3, 6):
                optimizer.load_state_dict({**optimizer.state_dict(), "state": {}})
            if k == 4:
                for remembered in optimizer.state.values():
                    remembered.clear()
            seen.append(f(numbers(3, 4) * (1 + 0.1 * k)))
        return [*seen, w.detach(), [dict(sorted(s.items())) for s in optimizer.state.values()]]

    same(story)


class Counting(optim.Optimizer):
    """As published optimizers are: it counts its steps, and keeps the last gradient."""

    def __init__(self, params: Any) -> None:
        super().__init__(params, {"lr": 0.1})

    @wg.no_grad()
    def step(self) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if len(state) == 0:
                    state["step"], state["last"] = 0, wg.zeros_like(p)
                state["step"] += 1
                scale = 1 / (1 - 0.9 ** state["step"])
                p.sub_((p.grad - 0.5 * state["last"]) * group["lr"] * scale)
                state["last"] = p.grad.clone()


def test_an_optimizer_of_the_users_that_counts_its_steps_is_compiled_once() -> None:
    # All that it remembers was a condition, since zero_grad is the library's: each call was traced.
    def run(compile: Any) -> tuple[list[float], Any]:
        layer = nn.Linear(2, 1)
        with wg.no_grad():
            layer.weight.copy_(wg.tensor([[1.0, 2.0]]))
            layer.bias.zero_()
        optimizer = Counting(layer.parameters())

        def step(x: Any) -> Any:
            optimizer.zero_grad()
            loss = layer(x).pow(2).mean()
            loss.backward()
            optimizer.step()
            return loss

        f, losses = compile(step), []
        for k in range(10):
            if k == 5:
                for state in optimizer.state.values():
                    state["step"] = 0
            if k == 7:
                for state in optimizer.state.values():
                    state["last"] = wg.ones_like(state["last"])
            if k == 8:
                optimizer.state.clear()
            losses.append(f(wg.tensor([[1.0, k], [k, 2.0]])).item())
        return losses, f

    (ours, f), (known, _) = run(wg.compile), run(lambda g: g)
    np.testing.assert_allclose(ours, known, rtol=1e-4)
    assert len(f.retraces) <= 4


class CountingInGroups(optim.Optimizer):
    """As MADGRAD is published: the count of its steps is an item of its groups."""

    def __init__(self, params: Any) -> None:
        super().__init__(params, {"lr": 0.1, "k": 0})

    @wg.no_grad()
    def step(self) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for p in group["params"]:
                p.sub_(p.grad, alpha=group["lr"] / (group["k"] + 1) ** 0.5)
            group["k"] += 1


class Ahead:
    """As Lookahead is published: it counts in the groups of an optimizer of the library's."""

    def __init__(self, params: Any) -> None:
        self.optimizer = optim.Adam(params, lr=0.1)
        self.param_groups, self.zero_grad = self.optimizer.param_groups, self.optimizer.zero_grad
        self.slow = [[p.detach().clone() for p in g["params"]] for g in self.param_groups]
        for group in self.param_groups:
            group["counter"] = 0

    @wg.no_grad()
    def step(self) -> None:
        self.optimizer.step()
        for group, kept in zip(self.param_groups, self.slow, strict=True):
            group["counter"] += 1
            if group["counter"] == 7:
                group["counter"] = 0
                for p, slow in zip(group["params"], kept, strict=True):
                    slow += (p - slow) * 0.5
                    p.copy_(slow)


@pytest.mark.parametrize("make", [CountingInGroups, Ahead])
def test_what_groups_hold_beside_what_the_library_asks_for_is_no_condition(make: Any) -> None:
    # All that was no float was one, since zero_grad is the library's: each call was traced.
    def run(compile: Any) -> tuple[list[Any], Any]:
        w = wg.tensor([1.0, 2.0], requires_grad=True)
        optimizer = make([w])

        def step(x: Any) -> Any:
            optimizer.zero_grad()
            loss = (w * x).pow(2).sum()
            loss.backward()
            optimizer.step()
            return loss

        f, seen = compile(step), []
        (group,) = optimizer.param_groups
        for k in range(12):
            if k == 8:
                group["k" if "k" in group else "counter"] = 1
            if k == 10:
                group["maximize"] = True  # which Adam asks for
            seen += [f(wg.tensor([1.0, k])).item(), *w.tolist()]
        return seen, f

    (ours, f), (known, _) = run(wg.compile), run(lambda g: g)
    np.testing.assert_allclose(ours, known, rtol=1e-4)
    assert len(f.retraces) <= 5


@each_optimizer
@pytest.mark.parametrize("every", [2, 3])
def test_state_that_begins_in_a_later_call_goes_on(make: Make, every: int) -> None:
    # Adafactor's began anew at each step: the library's own code is not observed, and it asked
    # by itself whether there was any.
    def run(compile: Any) -> Any:
        w, n = numbers(1, 2, requires_grad=True), {"calls": 0}
        optimizer = make([w])

        def step(x: Any) -> Any:
            loss = ((w * x) ** 2).sum()
            loss.backward()
            n["calls"] += 1
            if n["calls"] % every == 0:
                optimizer.step()
            return loss

        step = compile(step)
        seen = [step(numbers(3, 4 + k)) for k in range(7)]
        return seen, [dict(sorted(state.items())) for state in optimizer.state.values()]

    same(run)


SCHEDULES: dict[str, Callable[[Any], Any]] = {
    "one": lambda o: optim.lr_scheduler.StepLR(o, 2),
    "a function": lambda o: optim.lr_scheduler.LambdaLR(o, lambda epoch: 1 / (1 + epoch)),
    "two, one after the other": lambda o: optim.lr_scheduler.SequentialLR(
        o,
        [optim.lr_scheduler.ConstantLR(o, 0.5, 2), optim.lr_scheduler.ExponentialLR(o, 0.8)],
        [2],
    ),
}
AFTERWARDS: dict[str, Callable[..., Any]] = {
    "gradients are forgotten": lambda o, w, x: o.zero_grad(),
    "gradients are set to zero": lambda o, w, x: o.zero_grad(set_to_none=False),
    "parameters are read": lambda o, w, x: (w * x).sum(),
    "a setting is read": lambda o, w, x: o.param_groups[0]["lr"] * x,
    "the optimizer goes on": lambda o, w, x: o.step(),
}


@pytest.mark.parametrize("afterwards", AFTERWARDS)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_schedule_changes_settings_alone(schedule: str, afterwards: str) -> None:
    # All that an optimizer leads to was refused after the step of its schedule, so zero_grad() too.
    def run(compile: Any) -> Any:
        w = numbers(1, 2, requires_grad=True)
        optimizer = optim.SGD([w], lr=0.1, momentum=0.9)
        steps = SCHEDULES[schedule](optimizer)

        def step(x: Any) -> Any:
            ((w * x) ** 2).sum().backward()
            optimizer.step()
            steps.step()
            return AFTERWARDS[afterwards](optimizer, w, x)

        step = compile(step)
        seen = [step(numbers(3, 4 + k)) for k in range(5)]
        return seen, w.detach(), optimizer.param_groups[0]["lr"], w.grad

    if "setting is" in afterwards or "goes on" in afterwards:
        with pytest.raises(TracingError, match="is used in a compiled function"):
            run(wg.compile)
    else:
        same(run)
