"""Each example that trains has the same losses when its training step is compiled."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import demo, nn

FOLDER = Path(__file__).resolve().parents[2] / "examples"


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"compiled_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---- the training of each example: whether to compile its step -> its losses ---------------------


def exponent_autograd(compiled: bool) -> list[float]:
    example = load("exponent_autograd")
    x, y = example.sample(10, 1.5)
    runs = [
        example.descend(version, x, y, epochs=50, compiled=compiled)
        for version in example.VERSIONS.values()
    ]
    return [number for losses, thetas in runs for number in (*losses, *thetas)]


def exponent_by_hand(compiled: bool) -> list[float]:
    """Its parameter is a Python number, an argument of the loss and of the slope."""
    example = load("exponent_by_hand")
    x, y = example.sample(10, 1.5)
    if compiled:
        example.rmse, example.rmse_slope = wg.compile(example.rmse), wg.compile(example.rmse_slope)
    losses, thetas = example.batch_descent(x, y, epochs=30)
    others, more = example.stochastic_descent(x, y, epochs=5)
    return [*losses, *thetas, *others, *more]


def freezing(compiled: bool) -> list[float]:
    """With a body that learns, is frozen, and learns again."""
    return [loss for run in load("freezing").fine_tuning(60, compiled) for loss in run]


def hogwild(compiled: bool) -> list[float]:
    net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    step = load("hogwild").stepper(net)
    step = wg.compile(step) if compiled else step
    x = wg.linspace(-2, 2, 64).reshape(-1, 1)
    return [step(x, wg.sin(x)).item() for _ in range(50)]


def the_demo(compiled: bool) -> list[float]:
    history = demo.train(demo.network(), demo.split(), 2, say=lambda line: None, compiled=compiled)
    return history.losses


TRAINING: dict[str, Callable[[bool], list[float]]] = {
    "exponent_autograd": exponent_autograd,
    "exponent_by_hand": exponent_by_hand,
    "freezing": freezing,
    "hogwild": hogwild,
    "wengert demo": the_demo,
}

OTHERS = {
    "autograd_graph": "looks at graphs, and trains nothing",
    "custom_function": "looks at what a Function saves, and trains nothing",
    "evaluation_mode": "compares modes, and trains nothing",
    "grad_modes": "times forward passes, and trains nothing",
    "inplace": "shows errors and version counters, and trains nothing",
    "kinks": "evaluates gradients at single points, and trains nothing",
    "mini_engine": "trains with an engine of its own, whose tensors are made by np.asarray",
    "named_scalars": "trains with an engine of its own, on Python numbers",
    "saved_tensor_hooks": "runs under saved-tensor hooks, where compiled functions run eagerly",
    "vector_jacobian": "evaluates products with Jacobians, and trains nothing",
}
"""Examples without a training step of ours."""


@pytest.mark.parametrize("name", [*TRAINING, *OTHERS])
def test_a_compiled_step_has_the_losses_of_the_eager_one(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if name in OTHERS:
        pytest.skip(f"it {OTHERS[name]}")
    made = []
    compile = wg.compile

    def noted(function: Any) -> Any:
        made.append(compile(function))
        return made[-1]

    monkeypatch.setattr(wg, "compile", noted)
    train = TRAINING[name]
    wg.manual_seed(0)
    eager = train(False)
    assert not made
    wg.manual_seed(0)
    compiled = train(True)
    np.testing.assert_allclose(compiled, eager, rtol=1e-4, atol=1e-6)
    assert made
    for function in made:
        assert function.program.statements  # it was compiled, not passed over


def test_every_example_is_in_one_of_the_tables() -> None:
    programs = {path.stem for path in FOLDER.glob("*.py")}
    assert sorted([*TRAINING, *OTHERS]) == sorted([*programs, "wengert demo"])
