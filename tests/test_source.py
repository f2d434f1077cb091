"""`wg.source`: the text runs in a process that cannot import the package, and agrees with it."""

from __future__ import annotations

import functools
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.special

import wengert as wg
from wengert.compile.call.standalone import Standalone
from wengert.errors import TracingError

RANDOM = np.random.default_rng(5)
F = wg.nn.functional


def perceptron(params: Any, x: Any, y: Any) -> Any:
    """The loss of a small network."""
    h = np.tanh(x @ params["w1"] + params["b1"])
    z = h @ params["w2"] + params["b2"]
    return np.mean((z - y) ** 2)


def mixture(means: Any, scales: Any, weights: Any, x: Any) -> Any:
    """The negative log-likelihood of a mixture of Gaussians."""
    logs = -0.5 * ((x[:, None] - means) / scales) ** 2 - np.log(scales) + np.log(weights)
    top = np.max(logs, axis=1, keepdims=True)
    return -np.sum(np.log(np.sum(np.exp(logs - top), axis=1)) + top[:, 0])


def runge_kutta(y: Any, a: float, h: float) -> Any:
    """One step of the classical method for a pendulum with friction."""

    def slope(y: Any) -> Any:
        return np.stack([y[1], -np.sin(y[0]) - a * y[1]])

    k1 = slope(y)
    k2 = slope(y + h / 2 * k1)
    k3 = slope(y + h / 2 * k2)
    k4 = slope(y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def lecture(x1: float, x2: float) -> Any:
    return np.log(x1) + x1 * x2 - np.sin(x2)


def rosenbrock(x: Any) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def classifier(x: Any, w: Any) -> Any:
    return F.cross_entropy(x @ w.T, wg.tensor([0, 2, 1]))


def picture(x: Any, w: Any) -> Any:
    return F.max_pool2d(F.conv2d(x, w, padding=1), 2).relu().sum()


def attention(q: Any, k: Any, v: Any) -> Any:
    return F.softmax(q @ np.swapaxes(k, -1, -2) / 2.0, -1) @ v


def filled(x: Any) -> Any:
    """An array made first, then filled in a loop."""
    out = np.zeros_like(x)
    for i in range(len(x)):
        out[i] = x[i] ** 2 * np.sum(x[: i + 1])
    return out


def chosen(x: Any) -> Any:
    return np.sum(np.where(x > 0, np.sqrt(np.abs(x)), np.cumsum(x)) * scipy.special.erf(x))


def normal(*shape: int) -> Any:
    return RANDOM.normal(size=shape)


FUNCTIONS: dict[Any, tuple[Any, ...]] = {
    perceptron: (
        {"w1": normal(3, 4), "b1": normal(4), "w2": normal(4, 2), "b2": normal(2)},
        normal(5, 3),
        normal(5, 2),
    ),
    mixture: (normal(3), np.abs(normal(3)) + 0.5, np.array([0.2, 0.3, 0.5]), normal(20)),
    runge_kutta: (normal(2), 0.3, 0.05),
    lecture: (2.0, 5.0),
    rosenbrock: (normal(6),),
    classifier: (normal(3, 4).astype(np.float32), normal(3, 4).astype(np.float32)),
    picture: (normal(2, 2, 6, 6), normal(3, 2, 3, 3)),
    attention: (normal(2, 3, 4), normal(2, 5, 4), normal(2, 5, 4)),
    filled: (normal(4),),
    chosen: (normal(7),),
}

RUNNER = """
import pickle, sys

class Refused:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "wengert":
            raise ImportError("the text imports what it is to do without")

sys.meta_path.insert(0, Refused())
text, name, args = pickle.load(sys.stdin.buffer)
space = {}
exec(text, space)
pickle.dump(space[name](*args), sys.stdout.buffer)
"""


def elsewhere(text: wg.source.Source, *args: Any) -> Any:  # type: ignore[name-defined]
    """What the text gives in a process of its own."""
    given = pickle.dumps((str(text), text.name, (*args, *text.arrays.values())))
    done = subprocess.run(
        [sys.executable, "-c", RUNNER], input=given, capture_output=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr.decode()
    return pickle.loads(done.stdout)


def leaves(item: Any) -> list[Any]:
    if isinstance(item, dict):
        return [leaf for part in item.values() for leaf in leaves(part)]
    if isinstance(item, (tuple, list)):
        return [leaf for part in item for leaf in leaves(part)]
    return [np.asarray(item.detach() if isinstance(item, wg.Tensor) else item)]


def agree(found: Any, expected: Any) -> None:
    for a, b in zip(leaves(found), leaves(expected), strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=8 * np.finfo(b.dtype).eps, atol=np.finfo(b.dtype).eps)


def places(args: Any) -> tuple[int, ...]:
    return tuple(range(len(args)))


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_the_reverse_text_runs_without_the_package(f: Any) -> None:
    args = FUNCTIONS[f]
    text = wg.source(f, *args)
    if text.name.endswith("_vjp"):
        y, pull = wg.vjp(f, *args)
        g = normal(*y.shape)
        expected: Any = (y, pull(g)[0] if len(args) == 1 else pull(g))
        found = elsewhere(text, *args, g)
    else:
        argnums = 0 if len(args) == 1 else places(args)
        expected = wg.value_and_grad(f, argnums)(*args)
        found = elsewhere(text, *args)
    agree(found, expected)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_the_forward_text_runs_without_the_package(f: Any) -> None:
    args = FUNCTIONS[f]
    tangents = pickle.loads(pickle.dumps(args))
    text = wg.source(f, *args, mode="forward")
    agree(elsewhere(text, *args, tangents), wg.jvp(f, args, tangents))


def test_it_names_the_line_of_each_statement() -> None:
    text = str(wg.source(lecture, 2.0, 5.0))
    assert f"# {Path(__file__).name}" in text
    assert "def lecture" in text
    assert ": return np.log(x1) + x1" in text
    assert "test_it_names" not in text


def test_common_subexpressions_are_computed_once_and_dead_code_is_gone() -> None:
    def f(x: Any) -> Any:
        unused = np.exp(x) * 3
        assert unused.shape == (3,)
        return np.sum(np.sin(x) * np.sin(x))

    text = re.sub("#.*", "", str(wg.source(f, np.ones(3))))
    assert text.count("np.sin(") == 1
    assert "exp" not in text


def test_arrays_from_outside_become_parameters() -> None:
    weights = normal(30)
    text = wg.source(lambda x: np.sum(x * weights), np.ones(30))
    (name,) = text.arrays
    assert f", {name})" in str(text)
    agree(text(np.ones(30)), (weights.sum(), weights))
    agree(text(np.ones(30), **{name: np.ones(30)}), (30.0, np.ones(30)))


def test_parameters_of_a_module_from_outside() -> None:
    layer = wg.nn.Linear(3, 2)
    x = normal(4, 3).astype(np.float32)
    text = wg.source(lambda x: layer(x).pow(2).sum(), x)
    assert list(text.arrays) == ["weight", "bias"]
    agree(text(x), wg.value_and_grad(lambda x: layer(x).pow(2).sum())(x))


def test_what_depends_on_a_number_is_refused_with_the_line() -> None:
    def branch(x: Any) -> Any:
        if x > 0:  # this line
            return np.sin(x)
        return x

    with pytest.raises(TracingError, match="no single text") as caught:
        wg.source(branch, 2.0)
    assert "if x > 0:  # this line" in str(caught.value)


def test_a_formula_as_text_will_do() -> None:
    text = wg.source("log(x1) + x1*x2 - sin(x2)", 2.0, 5.0)
    assert "def f_and_gradient(x1, x2):" in str(text)
    agree(elsewhere(text, 2.0, 5.0), wg.value_and_grad(lecture, (0, 1))(2.0, 5.0))


@functools.cache
def _remembered(n: int) -> int:
    return n + 1


def doubled(x: Any) -> Any:
    """Twice x, the long way."""
    factor: float = _remembered(1)
    result: Any
    result = x * factor
    return result


def test_annotations_and_caches_of_what_is_written_out_are_left_away() -> None:
    printer = Standalone.__new__(Standalone)
    printer.taken, printer.inlined, printer.imports, printer.title = set(), {}, {}, "f"
    assert printer._inlined(doubled) == "doubled"
    assert "factor = _remembered(1)" in printer.inlined[doubled]
    assert "Any" not in "".join(printer.inlined.values())
    assert printer.inlined[_remembered.__wrapped__].startswith("def _remembered(n):")


def test_only_what_may_be_pythons_number_is_made_numpys() -> None:
    text = str(wg.source(lecture, 2.0, 5.0))
    assert text.count("np.float64(") == 2  # x1 and x2, and none of what was computed from them
    with np.errstate(divide="ignore"):
        infinite = wg.source(lambda x: 1 / x, np.float64(1.0))
        assert infinite(np.float64(0.0)) == (np.inf, -np.inf)
        # What is differentiated by is an array, as eagerly: the function itself raises an error.
        assert wg.source(lambda x: 1 / x, 1.0)(0.0) == (np.inf, -np.inf)


def test_an_example_without_floating_point_numbers_is_refused() -> None:
    with pytest.raises(TypeError, match="nothing to differentiate"):
        wg.source(lambda x: x * 2, 3)


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="'reverse' or 'forward'"):
        wg.source(lecture, 2.0, 5.0, mode="backward")  # type: ignore[arg-type]


def test_what_has_no_text_is_refused() -> None:
    with pytest.raises(TracingError, match="has no text"):
        wg.source(lambda x: np.sum(x * wg.rand(3).numpy() + wg.rand(3)), np.ones(3))
