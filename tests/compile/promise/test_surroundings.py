"""NumPy arrays, random numbers and files around a function."""

# ruff: noqa: E501  (programs as text read best with a statement on a line)
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.compile.stories import module, numbers, same, same_or_refused, thrice

READS: dict[str, str] = {
    "an item": "x * ARR[0]",
    "an item as a float": "x * float(ARR[0])",
    "item()": "x * ARR[0].item()",
    "a product": "x * (ARR * 2)[0]",
    "a product with a number": "x * wg.from_numpy(ARR * 2)",
    "a sum": "x * ARR.sum()",
    "np.sum": "x * np.sum(ARR)",
    "the array": "x * wg.from_numpy(ARR)",
    "a tensor of it": "x * wg.tensor(ARR)",
    "as_tensor": "x * wg.as_tensor(ARR)",
    "a mean in a branch": "x * 2 if ARR.mean() > 3 else x * 3",
    "a slice": "x * wg.tensor(ARR[:1])",
    "tolist": "x * ARR.tolist()[0]",
    "the dtype": "x.to(wg.float64) if ARR.dtype == np.float64 else x",
    "the shape": "x * len(ARR)",
    "iteration": "x * sum(float(a) for a in ARR)",
    "as an index": "x[ARR.astype(int) % 2]",
    "as a mask": "x * wg.tensor(ARR > 1.5)",
}
ARRAYS = {
    "written": "ARR[:] = [5.0, 7.0]",
    "replaced": "ARR = np.array([5.0, 7.0])",
    "of another shape": "ARR = np.array([5.0])",
    "of another dtype": "ARR = np.array([5.0, 7.0], np.float32)",
}


@pytest.mark.parametrize("case", ([f"{r}, {c}" for r in READS for c in ARRAYS]))
def test_an_array_from_outside_is_read_again(case: str) -> None:
    read, change = case.rsplit(", ", 1)

    def story(compile: Any) -> Any:
        m = module(f"ARR = np.array([1.0, 2.0])\ndef f(x): return {READS[read]}")
        f = compile(m.f)
        seen = thrice(f, numbers(1, 2))
        exec(ARRAYS[change], vars(m))  # noqa: S102
        return [*seen, *thrice(f, numbers(1, 2))]

    same(story)


WRITES = {
    "an item": "G[0] = 1",
    "an item added to": "G[0] += 1",
    "all": "G += 1",
    "a slice": "G[1:] = 3",
    "by a function": "np.copyto(G, 7)",
    "fill": "G.fill(7)",
    "an item of x": "G[0] = float(np.float64(2))",
    "out": "np.add(G, 1, out=G)",
}


@pytest.mark.parametrize("name", (WRITES))
def test_a_write_to_an_array_from_outside_happens_at_each_call_or_is_refused(name: str) -> None:
    def story(compile: Any) -> Any:
        m = module(
            f"G = np.zeros(2)\ndef f(x):\n    global G\n    {WRITES[name]}\n    return x * 2"
        )
        f = compile(m.f)
        seen = []
        for _ in range(4):
            seen += [f(numbers(1, 2)), m.G.copy()]
            m.G *= 2
        return [*seen, m.G]

    same_or_refused(story)


DRAWS = {
    "np.random.normal": "x * float(np.random.normal())",
    "np.random.normal of a size": "x * wg.tensor(np.random.normal(size=2))",
    "np.random.rand": "x * np.random.rand(2)[0]",
    "np.random.randint": "x * np.random.randint(100)",
    "np.random.permutation": "x[wg.tensor(np.random.permutation(2))] * np.random.permutation(9)[0]",
    "default_rng": "x * wg.tensor(RNG.normal(size=2))",
    "default_rng in a number": "x * RNG.random()",
    "RandomState": "x * OLD.rand()",
    "a new default_rng": "x * np.random.default_rng().random() * 0 + np.random.default_rng(3).random()",
    "random.random": "x * random.random()",
    "random.gauss": "x * random.gauss(0, 1)",
    "random.choice": "x * random.choice(range(1000))",
    "random.shuffle": "x * shuffled()[0]",
    "random.Random": "x * PY.random()",
    "wengert's rand": "x * wg.rand(2)",
    "wengert's randint": "x * wg.randint(0, 100, (2,))",
    "wengert's randperm": "x * wg.randperm(100)[:2]",
    "wengert's normal_": "x.clone().normal_() + x",
    "wengert's generator": "x * wg.rand(2, generator=GEN)",
    "wengert's dropout": "F.dropout(x, 0.5)",
    "the clock": "x * time.perf_counter()",
}
RANDOM = """
import random, time
RNG = np.random.default_rng(0)
OLD = np.random.RandomState(0)
PY = random.Random(0)
GEN = wg.Generator().manual_seed(0)
def shuffled():
    items = list(range(1000))
    random.shuffle(items)
    return items
"""


@pytest.mark.parametrize("name", ([n for n in DRAWS if n != "the clock"]))
def test_random_numbers_are_drawn_at_each_call_or_refused(name: str) -> None:
    def story(compile: Any) -> Any:
        m = module(RANDOM + f"def f(x): return {DRAWS[name]}")
        f = compile(m.f)
        seen = thrice(f, numbers(1, 2))
        wg.manual_seed(5)
        np.random.seed(5)
        m.random.seed(5)
        seen += thrice(f, numbers(1, 2))
        return [*seen, np.random.rand(), m.random.random(), wg.rand(2), m.RNG.random()]

    same_or_refused(story)


@pytest.mark.parametrize("name", (["wengert's rand", "wengert's generator"]))
def test_the_state_of_a_generator_may_be_set_between_calls(name: str) -> None:
    def story(compile: Any) -> Any:
        m = module(RANDOM + f"def f(x): return {DRAWS[name]}")
        f = compile(m.f)
        seen = thrice(f, numbers(1, 2))
        state, own = wg.get_rng_state(), m.GEN.get_state()
        seen += thrice(f, numbers(1, 2))
        wg.set_rng_state(state)
        m.GEN.set_state(own)
        return [*seen, *thrice(f, numbers(1, 2))]

    same(story)


def test_a_clock_is_read_at_each_call() -> None:
    m = module(RANDOM + f"def f(x): return {DRAWS['the clock']}")
    f = wg.compile(m.f)
    seen = [float(f(numbers(1, dtype=wg.float64))) for _ in range(4)]
    assert seen == sorted(set(seen))
