"""What eager mode refuses for its values, compiled code refuses: the same class, the same words."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("llvmlite")

from tests.compile.stories import caught, module, same

X = "wg.arange(12.0).reshape(3, 4)"
FUNCTIONS: dict[str, tuple[str, str, str]] = {
    # The function, an index that is right, and what is out of range.
    "cross_entropy": ("lambda i: F.cross_entropy(X, i)", "[0, 1, 2]", "[0, 1, {}]"),
    "nll_loss": ("lambda i: F.nll_loss(X, i)", "[0, 1, 2]", "[0, 1, {}]"),
    "embedding": ("lambda i: F.embedding(i, X)", "[0, 1, 2]", "[0, 1, {}]"),
    "gather": ("lambda i: X.gather(0, i[None])", "[0, 1, 2]", "[0, 1, {}]"),
    "index_select": ("lambda i: X.index_select(0, i)", "[0, 1, 2]", "[0, 1, {}]"),
    "index_add": ("lambda i: X.index_add(0, i, X)", "[0, 1, 2]", "[0, 1, {}]"),
    "index_copy": ("lambda i: X.index_copy(0, i, X)", "[0, 1, 2]", "[0, 1, {}]"),
    "index_fill": ("lambda i: X.index_fill(0, i, 7.0)", "[0, 1, 2]", "[0, 1, {}]"),
    "scatter": ("lambda i: X.scatter(0, i[None], X)", "[0, 1, 2]", "[0, 1, {}]"),
    "scatter_add": ("lambda i: X.scatter_add(0, i[None], X)", "[0, 1, 2]", "[0, 1, {}]"),
    "scatter_reduce": (
        "lambda i: X.scatter_reduce(0, i[None], X, 'amax')",
        "[0, 1, 2]",
        "[0, 1, {}]",
    ),
    "take": ("lambda i: X.take(i)", "[0, 1, 2]", "[0, 1, {}]"),
    "take_along_dim": ("lambda i: X.take_along_dim(i[None], 0)", "[0, 1, 2]", "[0, 1, {}]"),
    "an index": ("lambda i: X[i]", "[0, 1, 2]", "[0, 1, {}]"),
    "a second index": ("lambda i: X[:, i]", "[0, 1, 2]", "[0, 1, {}]"),
    "an item set": ("lambda i: X.clone().index_put((i,), wg.zeros(4))", "[0, 1, 2]", "[0, 1, {}]"),
    "one_hot": ("lambda i: F.one_hot(i, 3)", "[0, 1, 2]", "[0, 1, {}]"),
    "binary_cross_entropy": (
        "lambda p: F.binary_cross_entropy(p * 1.0, wg.ones(3))",
        "[0.1, 0.2, 0.9]",
        "[0.1, 0.2, {}]",
    ),
    "bernoulli": ("lambda p: wg.bernoulli(p * 1.0)", "[0.1, 0.2, 0.9]", "[0.1, 0.2, {}]"),
    "multinomial": ("lambda p: wg.multinomial(p * 1.0, 1)", "[0.1, 0.2, 0.9]", "[0.1, 0.2, {}]"),
    "np.take": ("lambda i: np.take(X.numpy(), i.numpy())", "[0, 1, 2]", "[0, 1, {}]"),
    "a NumPy index": ("lambda i: X.numpy()[i.numpy()]", "[0, 1, 2]", "[0, 1, {}]"),
}
WRONG = {"too low": "-1", "far too low": "-100", "too high": "100"}


@pytest.mark.parametrize("case", ([f"{f}, {w}" for f in FUNCTIONS for w in WRONG]))
def test_values_out_of_range_are_refused_as_in_eager_mode(case: str) -> None:
    name, wrong = case.split(", ")
    text, right, other = FUNCTIONS[name]
    other = other.format(WRONG[wrong])

    def story(compile: Any) -> Any:

        m = module(f"X = {X}\nf = {text}")
        f = compile(m.f)
        good = eval(f"wg.tensor({right})", vars(m))  # noqa: S307
        bad = eval(f"wg.tensor({other})", vars(m))  # noqa: S307
        seen = [caught(f, good) for _ in range(3)]
        seen += [caught(f, bad), caught(f, good), caught(f, bad)]
        fresh = compile(m.f)  # one whose first call is the wrong one
        return [*seen, caught(fresh, bad), caught(fresh, bad)]

    same(story)
