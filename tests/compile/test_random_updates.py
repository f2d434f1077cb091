"""Random functions that change several tensors in place, made of each other, beside sums of them.

As steps of optimizers and simulations do: what is written may lie where other results still read.
Kernels, products and blocks are cut as those of large arrays are, at small sizes.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.compile.chunks import chunks

FIRST = int(os.environ.get("WENGERT_FUZZ_SEED", "0"))
ASKED = os.environ.get("WENGERT_FUZZ_PROGRAMS")
PROGRAMS = chunks(FIRST, int(ASKED or 2_000), int(ASKED or 60), 20)

SHAPES = (7,), (40,), (6, 6), (3, 50), (1, 70), (9, 1), (2, 3, 8)
FORMULAS = (
    "{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} * 0.5 + {b}", "{a} - 0.1 * {s}", "{a}.tanh()",
    "{a}.sin() + {b}", "wg.maximum({a}, {b})", "wg.where({a} > {b}, {a}, {b} * 0.5)",
    "{a}.flip(0)", "{a}.roll(1, -1)", "{a} / (1 + {s} * {s})", "({a}.abs() + 0.1).sqrt()",
    "({a} * {b}).exp().clamp(max=3)", "{a} - {a}.mean(-1, keepdim=True)", "{a}.softmax(-1)",
    "{a}.cumsum(-1) * 0.3", "{b} + {a}.amax(0, keepdim=True)",
)  # fmt: skip
SUMS = (
    "({a} * {b}).sum()", "{a}.mean()", "{a}.norm()", "({a} - {b}).abs().amax()", "{a}.var()",
    "{a}.argmax() * 0.1", "{a}.logsumexp(-1).sum()", "({a} * {a}).mean(-1).sum()",
    "(({a} > {b}) * {a}).sum()",
)  # fmt: skip
WRITES = (
    "{x}.copy_({a})", "{x}.copy_({a})", "{x}.add_({a}, alpha=0.5)", "{x}.mul_({a})",
    "{x}.lerp_({a}, 0.3)", "{x}[..., 1:] = {a}[..., :-1]", "{x}[0] = {a}[-1]", "{x} += {a}",
    "{x}[...] = {a}.flip(-1)", "{x}.addcmul_({a}, {b})", "{x}.clamp_(-{s}.abs(), 2)",
    "{x}.sub_({s})",
)  # fmt: skip
THRESHOLDS: dict[str, dict[str, Any]] = {
    "llvm.nests.parts": {"WORTH": 0, "LEAST": 1, "MULTIPLICATIONS": 1, "FEW": 2},
    "llvm.nests.streams": {"LONG": 2},
    "llvm.nests.phases": {"ROW_BYTES": 64},
    "llvm.nests.traffic": {"LONG": 4, "PAST_CACHES": 64},
    "program.passes.blocks": {"LARGE": 64, "INSIDE": 32, "BLOCK": 64, "OF_PRODUCTS": 64},
}


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done with large arrays is done with all."""
    for name, limits in THRESHOLDS.items():
        module = import_module(f"wengert.compile.{name}")
        for limit, value in limits.items():
            monkeypatch.setattr(module, limit, value)


def drawn(seed: int) -> tuple[str, list[np.ndarray]]:
    """The source of a function `f(*states)`, and what the states are at first."""
    random = np.random.default_rng(seed)
    pick = lambda items: items[int(random.integers(len(items)))]
    shape, dtype = pick(SHAPES), pick((np.float32, np.float64))
    states = [f"x{k}" for k in range(int(random.integers(2, 5)))]
    values, sums, lines = list(states), ["x0.sum()"], []
    for k in range(int(random.integers(4, 11))):
        kind = pick("vvsww")
        template = pick({"v": FORMULAS, "s": SUMS, "w": WRITES}[kind])
        text = template.format(a=pick(values), b=pick(values), s=pick(sums), x=pick(states))
        if kind == "w":
            lines.append(text)
        else:
            (values if kind == "v" else sums).append(f"{kind}{k}")
            lines.append(f"{kind}{k} = {text}")
    results = ", ".join(["x0.sum()", *sums[-2:], *(v for v in values[-2:] if v[0] == "v")])
    body = "".join(f"    {line}\n" for line in [*lines, f"return {results}"])
    return f"def f({', '.join(states)}):\n{body}", [
        random.standard_normal(shape).astype(dtype) for _ in states
    ]


def outcome(f: Any, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """The results, and the states after two calls."""
    states = [wg.from_numpy(array.copy()) for array in arrays]
    results = [x.numpy().copy() for _ in range(2) for x in f(*states)]
    return results + [x.numpy() for x in states]


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("seeds", PROGRAMS)
def test_tensors_made_of_each_other_are_what_they_are_eagerly(seeds: range) -> None:
    for seed in seeds:
        source, arrays = drawn(seed)
        names: dict[str, Any] = {"wg": wg}
        exec(source, names)  # noqa: S102
        with np.errstate(all="ignore"):
            expected = outcome(names["f"], arrays)
        if not all(np.isfinite(x).all() and (abs(x) < 1e3).all() for x in expected):
            continue
        rounding = 2e-3 if arrays[0].dtype == np.float32 else 1e-9
        results = outcome(wg.compile(names["f"]), arrays)
        for x, y in zip(results, expected, strict=True):
            np.testing.assert_allclose(x, y, rounding, rounding, err_msg=f"{seed}\n{source}")
