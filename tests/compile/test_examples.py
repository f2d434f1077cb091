"""Each example that trains has the same losses when its training step is compiled."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import nn
from wengert.cli import demo
from wengert.datasets import load_airline, load_digits, load_sonnets

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


def steps(example: Any, net: Any, inputs: list[Any], compiled: bool) -> list[float]:
    """The losses of an example's own step, which is a function of the batch."""
    step = example.stepper(net, wg.optim.Adam(net.parameters(), lr=2e-3))
    step = wg.compile(step) if compiled else step
    return [step(*batch).item() for batch in inputs]


def cnn_digits(compiled: bool) -> list[float]:
    example = load("cnn_digits")
    x = wg.tensor(load_digits()[0][:60]).view(6, 10, 1, 8, 8)
    y = wg.tensor(load_digits()[1][:60]).view(6, 10)
    return steps(example, example.LeNet(), [*zip(x, y, strict=True)], compiled)


def gpt_sonnets(compiled: bool) -> list[float]:
    example = load("gpt_sonnets")
    pieces = wg.tensor([ord(c) % 64 for c in load_sonnets()[:1020]]).view(5, 12, 17)
    net = example.GPT(64, 16, 2, 1, 16)
    return steps(example, net, [(p[:, :-1], p[:, 1:]) for p in pieces], compiled)


def lstm_airline(compiled: bool) -> list[float]:
    example = load("lstm_airline")
    series = wg.tensor(load_airline()[:20] / 100, dtype=wg.float32).view(1, -1, 1)
    return steps(example, example.Forecaster(4), [(series,)] * 5, compiled)


def vae_digits(compiled: bool) -> list[float]:
    example = load("vae_digits")
    x = wg.tensor(load_digits()[0][:60]).view(6, 10, 64)
    return steps(example, example.VAE(), [(batch,) for batch in x], compiled)


def modules(compiled: bool) -> list[float]:
    example = load("modules")
    x = wg.tensor(load_digits()[0][:60]).view(6, 10, 1, 8, 8)
    y = wg.tensor(load_digits()[1][:60]).view(6, 10)
    return steps(example, example.Net(), [*zip(x, y, strict=True)], compiled)


def physics_informed(compiled: bool) -> list[float]:
    """With third derivatives."""
    example = load("physics_informed")
    u = example.Solution().double()
    step = example.stepper(u, wg.optim.Adam(u.parameters(), lr=5e-3))
    step = wg.compile(step) if compiled else step
    x = wg.linspace(0.1, 0.9, 9, dtype=wg.float64)
    return [step(x).item() for _ in range(20)]


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
    "cnn_digits": cnn_digits,
    "gpt_sonnets": gpt_sonnets,
    "lstm_airline": lstm_airline,
    "vae_digits": vae_digits,
    "exponent_autograd": exponent_autograd,
    "exponent_by_hand": exponent_by_hand,
    "modules": modules,
    "physics_informed": physics_informed,
    "freezing": freezing,
    "hogwild": hogwild,
    "wengert demo": the_demo,
}

OTHERS = {
    "autograd_graph": "looks at graphs, and trains nothing",
    "bilevel": "trains by SciPy's L-BFGS, through the solution of an inner problem",
    "bouncing_ball": "has its solver compiled as it stands",
    "bouncing_ray": "has its loop compiled as it stands",
    "complex_autograd": "has complex parameters, which optimizers update outside of functions",
    "custom_function": "looks at what a Function saves, and trains nothing",
    "data_parallel": "looks at threads and hooks, and trains nothing",
    "descent": "follows four methods on one function, step by step",
    "diffusion_digits": "has its training step compiled as it stands",
    "distributed": "trains on several ranks, which tests/distributed runs",
    "double_pendulum": "integrates equations of motion, and trains nothing",
    "evaluation_loop": "keeps the lecture's loops as they stand",
    "evaluation_mode": "compares modes, and trains nothing",
    "expression_swell": "differentiates symbols, and trains nothing",
    "grad_modes": "times forward passes, and trains nothing",
    "gradient_tape": "trains on a gradient tape, which records eager operations",
    "inplace": "shows errors and version counters, and trains nothing",
    "kinks": "evaluates gradients at single points, and trains nothing",
    "lens": "is fitted by SciPy's least squares",
    "linear_layer": "counts the memory of Jacobians, and trains nothing",
    "lynx_and_hare": "trains by SciPy's L-BFGS, through a solver of adaptive steps",
    "mini_engine": "trains with an engine of its own, whose tensors are made by np.asarray",
    "named_scalars": "trains with an engine of its own, on Python numbers",
    "neural_field": "has its training step compiled as it stands",
    "newton": "has its iteration compiled as it stands",
    "numerical_differentiation": "compares difference quotients, and trains nothing",
    "saved_tensor_hooks": "runs under saved-tensor hooks, where compiled functions run eagerly",
    "sparse_newton": "solves systems with sparse Hessians, and trains nothing",
    "study": "fits by steps within a batch, which its own executor compiles",
    "traces": "prints traces, and trains nothing",
    "vector_jacobian": "evaluates products with Jacobians, and trains nothing",
}
"""Examples that are not trained twice here, and why."""


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
