"""What is found by two ways, or made inside: copies, parameters, containers that are arguments."""

# ruff: noqa: E501  (programs as text read best with a statement on a line)
from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.compile.stories import module, noted, numbers, same
from wengert.errors import GradError

# ---- containers among the arguments -----------------------------------------------------------

HELD = """
from dataclasses import dataclass
@dataclass
class Box: k: float
class Plain: pass
held = Plain(); held.l = [1.0, 2.0]
l, d, box = [1.5, 2.5], {"t": wg.ones(2), "k": 1.0}, Box(2.0)
def enclosed():
    c = [1.0, 2.0]
    def f(x, k):
        k[0] += 1
        return x * c[0]
    return f, c
made, c = enclosed()
"""
FOUND: dict[str, tuple[str, str, str]] = {
    "a list that it is given grows": ("k.append(3.5); return x * l[-1] * len(l)", "l", "[9.0, 8.0]"),
    "a list of the module grows": ("l.append(4.5); return x * k[-1] * len(k)", "l", "[9.0, 8.0]"),
    "a dictionary": ("k['t'] = x * 2; return d['t'] + x", "d", "{'t': wg.zeros(2), 'k': 2.0}"),
    "which it is": ("return x * 2 if k is l else x * 3", "l", "[9.0, 8.0]"),
    "an attribute": ("held.l[0] += 1; return x * k[0]", "held.l", "[9.0, 8.0]"),
    "a dataclass": ("box.k += 1; return x * k.k", "box", "Box(5.0)"),
    "an item": ("k[0] = 7.0; return x * sum(l)", "l", "[9.0, 8.0]"),
    "a variable of an enclosing function": ("", "c", "[9.0, 8.0]"),
}  # fmt: skip


@pytest.mark.crossed
@pytest.mark.parametrize("order", ["outside last", "outside first", "in turn"])
@pytest.mark.parametrize("name", FOUND)
def test_a_container_that_is_passed_may_be_one_that_is_found_outside(name: str, order: str) -> None:
    # The function got a container of its own, which was never the one that it found outside.
    lines, found, other = FOUND[name]
    body = "\n".join(f"    {line}" for line in lines.split("\n"))

    def story(compile: Any) -> Any:
        m = module(HELD + (f"def f(x, k):\n{body}" if lines else "f = made"))
        f, seen = compile(m.f), []
        turns = {"outside last": [0, 0, 0, 1, 1, 0], "outside first": [1, 1, 1, 0, 0, 1]}
        for is_outside in turns.get(order, [0, 1] * 3):
            given = eval(found if is_outside else other, vars(m))  # noqa: S307
            seen += [noted(f(numbers(1, 2), given)), str(given), str(m.l), str(m.c), str(m.held.l)]
        return seen

    same(story)


# ---- copies ------------------------------------------------------------------------------------

COPIED: dict[str, tuple[str, str, str]] = {
    # Of a tensor that a function computed it was an error, with a line of the library's.
    "what is computed": ("", "return copy.deepcopy(x.detach() * 2) * x", "pass"),
    "a dictionary": (
        "d = {'a': [1.5], 't': wg.ones(2)}",
        "e = copy.deepcopy(d); e['a'].append(1); e['t'].mul_(3); return x * d['a'][0] + d['t'] + e['t'] * len(e['a'])",
        "d['a'][0] += 1; d['t'].mul_(0.5)",
    ),
    "a state": ("net = nn.Linear(2, 2)", "return copy.deepcopy(net.state_dict())['weight'] + net(x)", "net.weight.data.mul_(2)"),
    "a module whose weight is replaced": ("net = nn.Linear(2, 2)", "return copy.deepcopy(net)(x)", "net.weight = nn.Parameter(net.weight.detach() * 2)"),
    "a module whose bias is removed": ("net = nn.Linear(2, 2)", "m = copy.deepcopy(net); m.weight.data.mul_(2); return m(x) + net(x)", "net.bias = None"),
    "a part of a module that is replaced": ("net = nn.Sequential(nn.Linear(2, 2), nn.Tanh())", "return copy.deepcopy(net)(x)", "net[1] = nn.ReLU()"),
    "a copy that keeps the parts": ("net = nn.Linear(2, 2)", "return copy.copy(net)(x)", "net.weight.data.mul_(2)"),
}  # fmt: skip


@pytest.mark.parametrize("name", COPIED)
def test_a_copy_that_is_made_inside_is_one_of_what_is_there_now(name: str) -> None:
    setup, lines, change = COPIED[name]

    def story(compile: Any) -> Any:
        m = module(f"import copy\n{setup}\ndef f(x):\n    {lines}")
        f, seen = compile(m.f), []
        for n in range(6):
            if n > 2:
                exec(change, vars(m))  # noqa: S102
            y = f(numbers(1, n))
            seen += [noted(y), y.requires_grad]
        return seen

    same(story)


# ---- leaves ------------------------------------------------------------------------------------

MADE: dict[str, str] = {
    # What was computed of nothing but these required no grad.
    "alone": "w = wg.ones(2, requires_grad=True); return [x * w]",
    "a copied parameter": "return [nn.Parameter(x.detach() * 2) * x]",
    "beside a parameter": "w = wg.ones(2, requires_grad=True); return [net(x), w]",
    "in grad mode of its own": "with wg.enable_grad(): return [net(x)]",
    # It was a Tensor at the next call.
    "a parameter": "return [nn.Parameter(x.detach() * 2)]",
    "a parameter and parts": "p = nn.Parameter(x.detach() * 3); return [p, p.detach(), {'p': p}['p'], p.data]",
    "a parameter that is kept": "net.w = nn.Parameter(net.weight.detach()[0] * 2); return [net.w * x.detach()]",
}  # fmt: skip


@pytest.mark.parametrize("mode", ["enable_grad", "no_grad"])
@pytest.mark.parametrize("name", MADE)
def test_leaves_that_a_function_makes_are_leaves(name: str, mode: str) -> None:
    def story(compile: Any) -> Any:
        m = module(f"net = nn.Linear(2, 2)\ndef f(x):\n    {MADE[name]}")
        f, seen = compile(m.f), []
        for n in range(3):
            with getattr(wg, mode)():
                results = f(numbers(1, n))
            for t in results:
                seen += [noted(t), type(t).__name__, t.requires_grad, t.is_leaf]
            losses = [t.sum() for t in results if t.grad_fn is not None]
            if losses:
                sum(losses[1:], losses[0]).backward()
                seen.append(noted(m.net.weight.grad))
            results[0].detach().zero_()
        return seen

    if name == "a parameter that is kept" and mode == "enable_grad":
        with pytest.raises(GradError, match="Make that tensor outside"):
            same(story)
    else:
        same(story)


def test_the_gradient_of_a_leaf_that_is_made_and_returned_is_refused() -> None:
    # It was that of the leaf alone, without what came through the other results.
    @wg.compile
    def f(x: Any) -> Any:
        w = wg.ones(2, requires_grad=True)
        return x * w, w

    for _ in range(3):
        y, w = f(numbers(3, 4))
        assert y.requires_grad
        assert w.is_leaf
        with pytest.raises(GradError, match="Make that tensor outside of the function"):
            y.sum().backward()
