"""What eager mode refuses for its values, compiled code refuses: the same class, the same words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.compile.stories import caught, module, same
from wengert.nn import functional as F

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
    "an item set in place": (
        "def f(i):\n    y = X.clone()\n    y[i] = 7.0\n    return y",
        "[0, 1, 2]",
        "[0, 1, {}]",
    ),
    "a single item set in place": (
        "def f(i):\n    y = X.clone()\n    y[i[2]] = 7.0\n    return y",
        "[0, 1, 2]",
        "[0, 1, {}]",
    ),
    "items added": (
        "lambda i: X.index_put((i,), wg.ones(4), accumulate=True)",
        "[0, 1, 2]",
        "[0, 1, {}]",
    ),
    "choose": ("lambda i: np.choose(i.numpy(), [1.0, 2.0, 3.0])", "[0, 1, 2]", "[0, 1, {}]"),
    "an index beside one of nothing": (
        "lambda i: X[i[:, None], i[:0]]",
        "[0, 1, 2]",
        "[0, 1, {}]",
    ),
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


@pytest.mark.crossed
@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_out_of_range_are_refused_as_in_eager_mode(name: str, wrong: str) -> None:
    text, right, other = FUNCTIONS[name]
    other = other.format(WRONG[wrong])

    def story(compile: Any) -> Any:

        m = module(f"X = {X}\n{text if text.startswith('def') else f'f = {text}'}")
        f = compile(m.f)
        good = eval(f"wg.tensor({right})", vars(m))  # noqa: S307
        bad = eval(f"wg.tensor({other})", vars(m))  # noqa: S307
        seen = [caught(f, good) for _ in range(3)]
        seen += [caught(f, bad), caught(f, good), caught(f, bad)]
        fresh = compile(m.f)  # one whose first call is the wrong one
        return [*seen, caught(fresh, bad), caught(fresh, bad)]

    same(story)


def training(compile: Any) -> tuple[Any, list[Any], Any]:
    wg.manual_seed(0)
    table, layer = wg.nn.Embedding(10, 4), wg.nn.Linear(4, 3)
    parameters = [*table.parameters(), *layer.parameters()]
    optimizer = wg.optim.SGD(parameters, lr=0.1, momentum=0.9)

    def step(rows: Any, targets: Any) -> Any:
        optimizer.zero_grad()
        loss = F.cross_entropy(layer(table(rows)), targets)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return compile(step), parameters, optimizer


ROWS, TARGETS = [1, 2, 3, 9], [0, 1, 2, 0]


@pytest.mark.parametrize(
    "wrong", [([1, 2, 10, 3], TARGETS), ([1, -1, 2, 3], TARGETS), (ROWS, [0, 1, 3, 0])], ids=str
)
def test_a_step_that_fails_has_done_what_comes_before(wrong: Any) -> None:
    # Kernels once told of an index when they met it, after the embedding had been updated; later a
    # step that failed had done nothing, where eager mode has cleared the gradients.
    def story(compile: Any) -> Any:
        step, parameters, optimizer = training(compile)
        seen = []
        for batch in [(ROWS, TARGETS)] * 3 + [wrong] * 2 + [(ROWS, TARGETS)]:
            seen.append(caught(step, *map(wg.tensor, batch)))
            moments = [s["momentum_buffer"] for s in optimizer.state_dict()["state"].values()]
            held = [*parameters, *moments, *(p.grad for p in parameters)]
            seen.append([None if x is None else x.detach().numpy().copy() for x in held])
        return seen

    same(story)


def test_a_part_of_an_argument_that_is_written_before_a_check_is_written_where_that_fails() -> None:
    # It was written at once, though it was to be written late: an AssertionError when planned.
    def call(x: Any) -> Any:
        x[0] = 2.0
        return wg.arange(4).gather(0, x.long())

    compiled, x = wg.compile(call), wg.tensor([0.0, 1.0])
    assert compiled(x).tolist() == [2, 1]
    assert x.tolist() == [2, 1]
    wrong = wg.tensor([0.0, 7.0])
    with pytest.raises(RuntimeError, match="out of bounds"):
        compiled(wrong)
    assert wrong.tolist() == [2, 7]


def test_targets_that_are_ignored_count_for_nothing() -> None:
    # A traced target was taken for a class number: -100 was an index out of range.
    def story(compile: Any) -> Any:
        step, _, _ = training(compile)
        rows, ignoring = wg.tensor(ROWS), wg.tensor([0, -100, 2, 0])
        none = wg.tensor([-100] * 4)
        return [*(caught(step, rows, ignoring) for _ in range(3)), caught(step, rows, none)]

    same(story)


def test_a_check_within_a_differentiable_function_is_made_at_the_call() -> None:
    def story(compile: Any) -> Any:
        weight = wg.arange(12.0).reshape(3, 4).requires_grad_()
        f = compile(lambda i: F.embedding(i, weight).exp().sum())
        seen = [caught(f, wg.tensor(i)) for i in ([0, 1], [0, 1], [0, 3], [2, 2], [-1, 1])]
        f(wg.tensor([0, 2, 2])).backward()
        return [*seen, weight.grad]

    same(story)


def test_a_program_shows_its_checks() -> None:
    f = wg.compile(lambda i: F.one_hot(i, 3))
    f(wg.tensor([0, 1]))
    text = "check(every, RuntimeError, 'Class values must be non-negative.')"
    assert text in str(f.program)
    names: dict[str, Any] = {}
    exec(str(f.program), names)  # noqa: S102
    with pytest.raises(RuntimeError, match="smaller than num_classes"):
        names["program"](np.array([0, 3]))
    assert "check" in str(f.explain())
    assert "0 calls of Python" in str(f.explain())


def test_what_cannot_fail_is_not_checked() -> None:
    f = wg.compile(lambda x: [x.sort(-1)[0], x.topk(2)[0], x[x.argmax()], x.nanmedian()])
    f(wg.arange(5.0))
    assert "check(" not in str(f.program)


POWERS = {
    "of a tensor": ("lambda x, n: x ** n", wg.tensor([1, 2]), -2),
    "of an array": ("lambda x, n: x ** n", np.array([1, 2]), -2),
    "by a tensor": ("lambda x, n: x ** n", wg.tensor([1, 2]), wg.tensor([1, -2])),
    "in place": ("lambda x, n: x.clone().pow_(n)", wg.tensor([1, 2]), -1),
}


@pytest.mark.parametrize("name", POWERS)
def test_a_negative_power_of_ints_is_the_error_of_eager_mode(name: str) -> None:
    # Of tensors it was NumPy's.
    text, x, n = POWERS[name]
    f = eval(text)  # noqa: S307
    assert caught(wg.compile(f), x, n) == caught(f, x, n)
    assert isinstance(caught(f, x, n)[0], str)


@pytest.mark.parametrize("axis", [0, -1, 1])
@pytest.mark.parametrize("name", ["sum", "mean", "max", "std", "argmax", "cumsum", "all"])
def test_an_axis_of_a_number_is_the_error_of_eager_mode(name: str, axis: int) -> None:
    # It was taken for the axis of an array of one element.
    def f(x: Any) -> Any:
        return getattr(np, name)(x, axis=axis)

    for x in (np.array(3.0), wg.tensor(3.0)):
        assert caught(wg.compile(f), x) == caught(f, x)


BEYOND = {
    "stack": lambda x: np.stack([x, x], axis=3),
    "stack, from the end": lambda x: np.stack([x, x], axis=-3),
    "stack of tensors": lambda x: wg.stack([wg.tensor(x), wg.tensor(x)], dim=3),
    "gradient": lambda x: np.gradient(x, axis=2),
    "percentile": lambda x: np.percentile(x, 50, axis=2),
    "median": lambda x: np.median(x, axis=2),
    "insert": lambda x: np.insert(x, 0, 1.0, axis=2),
    "concatenate": lambda x: np.concatenate([x, x], axis=2),
    "sort": lambda x: np.sort(x, axis=3),
    "round, by a float": lambda x: x.round(2.0),
    "take_along_axis": lambda x: np.take_along_axis(x, np.array([0]), axis=2),
}


@pytest.mark.parametrize("name", BEYOND)
def test_an_axis_that_is_not_there_is_the_error_of_eager_mode(name: str) -> None:
    # Some functions counted it round and round.
    f = BEYOND[name]
    x = np.arange(3.0)
    assert caught(wg.compile(f), x) == caught(f, x)
    assert isinstance(caught(f, x)[0], str)


@pytest.mark.parametrize("name", ["gradient", "percentile", "median", "insert"])
def test_an_axis_that_a_tensor_lacks_is_an_error(name: str) -> None:
    with pytest.raises(np.exceptions.AxisError):
        BEYOND[name](wg.ones(3))
