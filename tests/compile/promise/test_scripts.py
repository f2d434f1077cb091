"""What training scripts do around a step: a compiled one does it as the eager one."""

# ruff: noqa: E501, ISC004  (programs as text read best with a statement on a line)

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.compile.stories import module, noted, numbers, same

NETWORK = """
import collections, math
from wengert import optim
lin = nn.Linear(2, 2)
with wg.no_grad():
    for p in lin.parameters(): p.copy_(wg.arange(float(p.numel())).reshape(p.shape) * 0.1)
optimizer = optim.SGD(lin.parameters(), lr=0.1, momentum=0.5)
it, k = 0, 1.0
"""
STEP = "optimizer.zero_grad(); loss = (lin(x) ** 2).mean(); loss.backward(); optimizer.step()"

SCRIPTS: dict[str, tuple[str, str, str]] = {
    # A rate that the step itself had set was fetched from where it stood before.
    "a rate by a schedule of one's own": (
        "def rate(i): return 0.1 * (i + 1) if i < 2 else 0.05 * (1 + math.cos(i / 5))",
        f"global it\nfor g in optimizer.param_groups: g['lr'] = rate(it)\n{STEP}\nit += 1\nreturn loss",
        "it = 0",
    ),
    "a rate that is set for a step": (
        "",
        f"g = optimizer.param_groups[0]; old = g['lr']; g['lr'] = 0.01\n{STEP}\ng['lr'] = old\nreturn loss",
        "optimizer.param_groups[0]['lr'] = 0.3",
    ),
    # A gradient that was None in the trace, and that it had set to None, was left as it was.
    "a gradient of what is frozen": (
        "lin.weight.requires_grad_(False)",
        f"{STEP}\nreturn loss",
        "lin.weight.grad = wg.ones(2, 2)",
    ),
    "gradients that are cleared": (
        "",
        "optimizer.zero_grad()\nreturn x * 2",
        "lin.weight.grad = wg.ones(2, 2)",
    ),
    # A gradient that is a tensor from outside became a copy of it.
    "a gradient that is given": (
        "g0 = wg.ones(2, 2)",
        "lin.weight.grad = g0\noptimizer.step()\nreturn lin.weight.grad is g0",
        "g0 = wg.ones(2, 2) * 3",
    ),
    # One that it was in the trace, too, was not put there when something else had come between.
    "a gradient that is given, and was there": (
        "g0 = wg.ones(2, 2); lin.weight.grad = g0",
        "lin.weight.grad = g0\noptimizer.step()\nreturn lin.weight.grad is g0",
        "lin.weight.grad = None",
    ),
    # Gradients that were one tensor became two.
    "gradients that are one tensor": (
        "w = wg.ones(2, 2, requires_grad=True)",
        "optimizer.zero_grad()\n(lin.weight * x).sum().backward()\nw.grad = lin.weight.grad\nw.grad.mul_(0.5)\noptimizer.step()\nreturn lin.weight.grad is w.grad, w.grad",
        "w.grad.mul_(3)",
    ),
    # What the step forgot was forgotten after all else: with what it had begun anew.
    "momentum that is forgotten": (
        "",
        f"global it\nit += 1\nif it % 3 == 0: optimizer.state.clear()\n{STEP}\n"
        "return [s['momentum_buffer'] for s in optimizer.state.values()]",
        "it = 1",
    ),
    # Objects that keep what is computed were refused.
    "meters that are made when they are asked for": (
        "class Meter:\n    def __init__(self): self.sum, self.n = 0.0, 0\n"
        "    def add(self, v): self.sum += v; self.n += 1\nmeters = collections.defaultdict(Meter)",
        f"{STEP}\nmeters['loss'].add(loss.item())\nmeters['x'].add(x.mean().detach())\n"
        "return loss * meters['loss'].n, meters['x'].sum",
        "meters.clear(); k = 2",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_compiled_step_does_what_scripts_do(name: str) -> None:
    setup, lines, change = SCRIPTS[name]
    body = "".join(f"    {line}\n" for line in lines.splitlines())

    def story(compile: Any) -> Any:
        m = module(f"{NETWORK}\n{setup}\ndef f(x):\n{body}")
        f, seen = compile(m.f), []
        for n in range(9):
            if n in (4, 6):
                exec(change, vars(m))  # noqa: S102
            seen += [noted(f(numbers(1, n).reshape(1, 2))), noted(dict(m.lin.named_parameters()))]
            seen += [noted([p.grad for p in m.lin.parameters()]), m.optimizer.param_groups[0]["lr"]]
        return seen

    same(story)


CONTAINERS: dict[str, str] = {
    "a list": "[x, 1.5]", "a dictionary": "{'x': x, 'k': 2}", "a tuple": "(x, 1.5)", "an empty list": "[]",
    "a dataclass": "Batch(x)", "a named tuple": "Pair(x, 2.5)", "a list in a dictionary": "{'l': [x]}",
}  # fmt: skip


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_container_that_is_passed_is_the_one_that_is_returned_and_kept(name: str) -> None:
    # The function got containers of its own, and returned and kept those.
    source = f"""
import collections, dataclasses
x = wg.ones(2)
@dataclasses.dataclass
class Batch:
    x: object
Pair = collections.namedtuple("Pair", "x k")
def new(): return {CONTAINERS[name]}
kept = {{}}
def f(batch, y):
    kept["last"] = batch
    return batch, [y * 2, batch["l"] if type(batch) is dict and "l" in batch else batch]
def g(batch, y):
    if type(batch) is list: batch.append(y * 3)
    if type(batch) is dict: batch["y"] = y * 3
    return batch
"""

    def story(compile: Any) -> Any:
        m = module(source)
        f, g, seen = compile(m.f), compile(m.g), []
        for k in range(4):
            batch = m.new()
            one, (_, two) = f(batch, wg.ones(2) * k)
            seen += [one is batch, two is batch or two is batch["l"], m.kept["last"] is batch]
            seen += [
                g(batch, wg.ones(2) * k) is batch,
                noted(batch) if name != "a dataclass" else 0,
            ]
        return seen

    same(story)


@pytest.mark.parametrize("held", ["", "1.5", "wg.ones(2)"])
def test_one_container_passed_twice_is_one(held: str) -> None:
    # Two lists took its place, and what was put into one was not in the other.
    def story(compile: Any) -> Any:
        m = module(f"def f(a, b): a.append(1.0); return len(b), a is b\ndef new(): return [{held}]")
        f, seen = compile(m.f), []
        for k in range(8):
            one, other = m.new(), m.new()
            seen += [f(one, one) if k in (3, 4, 6) else f(one, other), len(one), len(other)]
        return seen

    same(story)
