"""Every program in `examples/` runs, says what its document says, and is listed in their README."""

from __future__ import annotations

import importlib.util
import math
import random
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import wengert as wg

FOLDER = Path(__file__).resolve().parents[1] / "examples"
PROGRAMS = sorted(FOLDER.glob("*.py"))

SMALL = {
    "bouncing_ray": ["--rays", "201"],
    "cnn_digits": ["--epochs", "8"],
    "distributed": ["--steps", "5"],
    "diffusion_digits": ["--steps", "60", "--width", "32"],
    "double_pendulum": ["--seconds", "0.5"],
    "evaluation_loop": ["--epochs", "8"],
    "gpt_sonnets": ["--steps", "20", "--width", "32", "--context", "32"],
    "lstm_airline": ["--steps", "60"],
    "vae_digits": ["--epochs", "6"],
    "exponent_by_hand": ["--epochs", "150"],
    "grad_modes": ["--repeats", "1"],
    "named_scalars": ["--epochs", "300"],
    "newton": ["--size", "60"],
    "neural_field": ["--steps", "20", "--size", "32"],
    "physics_informed": ["--steps", "400"],
    "study": ["--fits", "1000"],
}
"""Arguments that make a program quick."""

SAYS = {
    "autograd_graph": [
        "SubBackward0",
        "AccumulateGrad of a leaf (2,)",
        "3.1635",
        "[6.0, 12.0, 18.0]",
    ],
    "bouncing_ball": ["5.42658886 m/s: bounce 3 at 9.00000000 m", "differences: 1.6713"],
    "bouncing_ray": ["reflections   rays", "\n          3 "],
    "newton": ["dz/da = -0.2846930800 through", "theorem: dz/da = -0.2846930800"],
    "bilevel": ["derivative in a direction: implicit +0.0516", "test accuracy 0.911 -> 0.9"],
    "complex_autograd": ["Re(z^3)            -0.8400 -2.8800i", "a real number"],
    "data_parallel": [
        "[10, 10, 10]",
        "around the model were called in replicas: False",
        "inside of forward were called in every replica: True",
    ],
    "custom_function": ["ExpBackward\n", "needs_input_grad = (True, False)", "the result"],
    "cnn_digits": ["test accuracy 9"],
    "distributed": ["step   5   loss 3.83", "rank 0 of 4 keeps Adam's state of 8192 of 30657"],
    "descent": ["Newton                  6", "never"],
    "diffusion_digits": ["of 20 digits drawn"],
    "double_pendulum": ["energy 16.024020, kept to"],
    "evaluation_loop": ["Accuracy: 2.4%, Avg loss: 2.321474", "Accuracy: 9"],
    "evaluation_mode": ["Dropout      differs", "LayerNorm    the same"],
    "exponent_autograd": ["optim.SGD    differs from the version by hand by at most"],
    "exponent_by_hand": ["batch gradient descent", "stochastic gradient descent"],
    "expression_swell": ["16*(-16*x**3 + 24*x**2 - 10*x + 1)", "65536"],
    "freezing": ["dw1     None", "33 of 1153 numbers"],
    "gpt_sonnets": ["6239 characters of 65 kinds", "\nWhen "],
    "grad_modes": ["inference  yes          yes       no", "cannot be saved for backward"],
    "gradient_tape": ["to theta 1.4998", "0.6931471814", "before the tape began to record"],
    "hogwild": ["[7200.0, 7200.0, 7200.0]", "400 calls of 400"],
    "inplace": ["z = y.sin()", "y.mul_(3)", "a leaf Variable that requires grad", "CopySlices"],
    "kinks": ["gives inf", "gives (0.5, 0.5)", "refused"],
    "lens": ["c = 0.192308, k = -2.310400: spot of", "c = 0.192308, k = -n^2 = -2.310400"],
    "linear_layer": ["16.25 TiB, X, W", "dL/dW: backward = the formula"],
    "lynx_and_hare": ["-> -42.74", "a                0.5402", "period of 9.6 years"],
    "lstm_airline": ["next year as this year: 15.5%"],
    "mini_engine": ["grad_fn=Add", "-12.583993  -12.583993", "derivative 1.0"],
    "modules": [
        "<All keys matched successfully>",
        "['bias', 'weight_mask', 'weight_orig']",
        "QuantizedConv2d(1, 8, kernel_size=(3, 3)",
        "half of the weights pruned",
    ],
    "named_scalars": ["x1 * x2 + sin(x1)", "sqrt((y - x ** theta) ** 2)", "131071"],
    "neural_field": ["a network of waves :"],
    "numerical_differentiation": ["1001      2000        1 + sweep", "the rule eps^(1/3) says"],
    "physics_informed": ["largest error of u"],
    "saved_tensor_hooks": ["after the last backward                0 files"],
    "sparse_newton": ["products", "the pattern holds", "times less error"],
    "study": ["1000 fits", "1.00e-01   0.797576", "0.800000"],
    "traces": ["= 11.652", "∂y/∂x1 = 5.5, ∂y/∂x2 = 1.716", "row [5.5   1.716 0.   ]"],
    "vae_digits": ["nats a picture"],
    "vector_jacobian": ["only for scalar outputs", "[36.0, 81.0]", "[-12.0, -8.0]"],
}
"""A key number or phrase of each document, as the program prints it."""


PICTURES = {
    "bouncing_ray": {"bouncing_ray.png"},
    "newton": {"newton.png"},
    "descent": {"descent.png"},
    "diffusion_digits": {"diffusion_digits.png"},
    "lens": {"lens.png"},
    "neural_field": {"neural_field.png"},
    "expression_swell": {"expression_swell.png"},
    "gpt_sonnets": {"gpt_sonnets.png"},
    "sparse_newton": {"sparse_newton.png"},
    "exponent_by_hand": {"exponent_batch.png", "exponent_stochastic.png"},
    "named_scalars": {"exponent_named_scalars.png"},
    "exponent_autograd": {"exponent_autograd.png"},
    "mini_engine": {"mini_engine_loss.png"},
    "gradient_tape": {"exponent_tape.png"},
    "lstm_airline": {"airline.png"},
    "numerical_differentiation": {"numerical_differentiation.png"},
    "physics_informed": {"physics_informed.png"},
}
"""The files that a program draws where it is told to, by `--out`."""


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_runs_says_what_its_document_says_and_draws_where_asked(program, tmp_path, capsys):
    pictures, folder = PICTURES.get(program.stem, set()), tmp_path / "out"
    out = ["--out", str(folder)] if pictures else []
    load(program.stem).main([*SMALL.get(program.stem, []), *out])
    said = capsys.readouterr().out
    assert said
    for phrase in SAYS.get(program.stem, []):
        assert phrase in said
    assert pictures == {path.name for path in folder.glob("*")}


def test_the_readme_lists_every_program_and_no_other():
    listed = re.findall(r"\]\((\w+\.py)\)", (FOLDER / "README.md").read_text(encoding="utf-8"))
    assert sorted(listed) == [path.name for path in PROGRAMS]


def test_the_exponent_is_found_by_hand_and_by_named_scalars_in_the_same_steps():
    by_hand, scalars = load("exponent_by_hand"), load("named_scalars")
    rng = random.Random(1)
    xs = [10 * rng.random() for _ in range(10)]
    samples = [(x, x**1.5) for x in xs]
    x, y = (wg.tensor(column, dtype=wg.float64) for column in zip(*samples, strict=True))
    _, thetas = by_hand.stochastic_descent(x, y, epochs=100)
    _, others, worst = scalars.descend(samples, epochs=100)
    np.testing.assert_allclose(thetas, others, rtol=1e-12)
    assert worst < 1e-12


def test_the_hand_written_slope_is_the_recorded_one_and_zero_at_a_perfect_fit():
    by_hand = load("exponent_by_hand")
    x = wg.tensor([0.5, 2.0, 7.0], dtype=wg.float64)
    y = x.pow(1.5)
    theta = wg.tensor(2.5, dtype=wg.float64, requires_grad=True)
    by_hand.rmse(x, y, theta).backward()
    assert math.isclose(theta.grad.item(), by_hand.rmse_slope(x, y, 2.5).item(), rel_tol=1e-12)
    assert by_hand.rmse_slope(x, y, 1.5).item() == 0


def test_stochastic_descent_comes_to_the_true_exponent():
    by_hand = load("exponent_by_hand")
    wg.manual_seed(0)
    _, thetas = by_hand.stochastic_descent(*by_hand.sample(10, 1.5), epochs=1100)
    assert abs(thetas[-1] - 1.5) < 1e-3


def test_all_versions_come_to_the_true_exponent_together():
    example = load("exponent_autograd")
    wg.manual_seed(0)
    x, y = example.sample(10, 1.5)
    runs = [example.descend(version, x, y)[1] for version in example.VERSIONS.values()]
    np.testing.assert_allclose(runs, [runs[0]] * 3, rtol=1e-12)
    assert abs(runs[0][-1] - 1.5) < 1e-3


def test_named_scalars_print_the_parentheses_that_they_need():
    scalars = load("named_scalars")
    a, b, c = (scalars.Var(name, 2.0) for name in "abc")
    assert str((a + b) * c) == "(a + b) * c"
    assert str(a - (b - c)) == "a - (b - c)"
    assert str((a**b) ** c) == "(a ** b) ** c"
    assert str(a ** (b**c)) == "a ** b ** c"


def test_a_named_scalar_is_handled_once_however_many_paths_lead_to_it():
    counts = load("named_scalars").fan_out(sizes=(3, 10))
    assert counts == {3: (4, 15), 10: (11, 2047)}


def test_the_mini_engine_learns():
    _, losses = load("mini_engine").train(500)
    assert np.mean(losses[-100:]) < 0.02 * np.mean(losses[:100])


def test_offloaded_files_outlive_the_first_pass_and_die_with_the_graph():
    assert load("saved_tensor_hooks").offloading() == [3, 3, 0]


def test_the_network_solves_its_differential_equation():
    example = load("physics_informed")
    u, losses = example.train(800)
    assert losses[-1] < 1e-2 * losses[0]
    x = wg.linspace(0, 1, 11, dtype=wg.float64)
    with wg.no_grad():
        assert (wg.vmap(u)(x) - example.exact(x)).abs().max() < 0.05


def test_complex_weights_are_found_by_descent(capsys):
    losses, error = load("complex_autograd").descend()
    assert losses[-1] < 1e-10 * losses[0]
    assert error < 1e-5
