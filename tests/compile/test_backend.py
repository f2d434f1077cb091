"""The seam between plans and machines: a second back end, which runs plans by NumPy."""

import ast
from pathlib import Path

import numpy as np
import pytest

import wengert as wg
from tests.compile.plans import NumPy
from wengert import nn, optim
from wengert.compile import backend
from wengert.compile.llvm import backend as llvm
from wengert.compile.llvm.machine import host
from wengert.compile.plan.planner import plan
from wengert.nn import functional as F

COMPILER = Path(backend.__file__).parent


def training_step():
    wg.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.LayerNorm(4), nn.Linear(4, 2))
    optimizer = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def test_a_training_step_runs_on_a_back_end_of_a_screen_of_code():
    x, y = wg.randn(8, 3), wg.randn(8, 2)
    step = training_step()
    eager = [step(x, y).item() for _ in range(3)]
    with backend.using(NumPy()):
        compiled = wg.compile(training_step())
        losses = [compiled(x, y).item() for _ in range(3)]
    np.testing.assert_allclose(losses, eager, rtol=1e-5)
    assert type(compiled.explain().lines) is list


def test_a_statement_without_loops_is_its_own_if_the_back_end_runs_it():
    x = np.random.default_rng(0).normal(size=(4, 5))
    with backend.using(NumPy()):
        compiled = wg.compile(lambda x: np.linalg.eigvalsh(x @ x.T))
        np.testing.assert_allclose(compiled(x), np.linalg.eigvalsh(x @ x.T))
        assert "1 products and 0 calls of Python" in str(compiled.explain())


def test_llvm_is_used_where_nothing_else_is_chosen():
    with backend.using(NumPy()):
        assert type(backend.backend()) is NumPy
    assert type(backend.backend()).__name__ == "LLVM"


ROOMS = ["program", "plan", "call"]


@pytest.mark.parametrize("room", ROOMS)
def test_no_back_end_is_known_outside_of_its_folder(room):
    # Python's calling convention and eager mode's loops are written as LLVM too: no part of a plan.
    besides = {"entry", "listener", "by_blocks", "by_elements", "by_loops"}
    for path in sorted((COMPILER / room).rglob("*.py")):
        if path.relative_to(COMPILER / room).with_suffix("").parts[0] in besides:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            named = getattr(node, "module", None) or ""
            names = [named, *(a.name for a in getattr(node, "names", ()) if hasattr(a, "name"))]
            assert not any("llvm" in name for name in names), path


@pytest.mark.parametrize(("n", "passes"), [(16, host.USUAL), (256, host.PASSES)])
def test_tiles_of_large_products_in_a_loop_keep_their_registers(n, passes):
    # LLVM's own pipeline computed what tells a tile's rows apart before all of its loops: two
    # products of 256x64 by 64x256 took 1.6 times as long in a loop as outside of it.
    f = wg.compile(lambda x: wg.map(lambda a: (a @ a.T) @ a, x))
    f(np.ones((3, n, n // 4)))
    assert llvm._passes(plan(f.program, backend.backend())) == passes
