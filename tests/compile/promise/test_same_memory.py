"""Arguments and parameters that are, or share, the same memory in one call and not in another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.compile.stories import (
    caught,
    forms,
    module,
    noted,
    numbers,
    same,
    same_or_refused,
    thrice,
)
from wengert import nn, optim
from wengert.nn import functional as F


@pytest.mark.parametrize("make", forms("x * 10 + y"))
def test_an_argument_given_twice_does_not_hide_a_second_one_later(make: Any) -> None:
    def story(compile: Any) -> Any:
        f = compile(make())
        a, b = numbers(1, 2), numbers(3, 4)
        return [*thrice(f, a, a), f(a, b), f(b, a), f(a, a)]

    same(story)


@pytest.mark.parametrize("make", forms("x * 10 + y"))
def test_two_arguments_may_become_one(make: Any) -> None:
    def story(compile: Any) -> Any:
        f = compile(make())
        a, b = numbers(1, 2), numbers(3, 4)
        return [*thrice(f, a, b), f(a, a), f(b, b)]

    same(story)


def test_gradients_of_two_arguments_after_calls_with_one() -> None:
    def story(compile: Any) -> Any:
        f = compile(lambda x, y: (x * 10 + y * y).sum())
        a, b = numbers(1, 2, requires_grad=True), numbers(3, 4, requires_grad=True)
        seen = []
        for x, y in ((a, a), (a, a), (a, a), (a, b), (b, a)):
            a.grad = b.grad = None
            f(x, y).backward()
            seen.append([x.grad, y.grad])
        return seen

    same(story)


def test_numpy_arguments_given_twice() -> None:
    def story(compile: Any) -> Any:
        f = compile(lambda x, y: x * 10 + y)
        a, b = np.array([1.0, 2.0]), np.array([3.0, 4.0])
        return [*thrice(f, a, a), f(a, b), f(b, a)]

    same(story)


@pytest.mark.parametrize("ask", ["x is y", "y is x", "any(a is y for a in [x])"])
def test_two_arrays_of_one_memory_are_two_objects(ask: str) -> None:
    # What stood for either was one, so `x is y` held, and `return y` gave x.
    def story(compile: Any) -> list[Any]:
        m, a = module(f"def f(x, y): return x * (2 if {ask} else 3), y"), np.arange(3.0)
        f, seen = compile(m.f), []
        for x, y in ((a, a), (a, a[:]), (a[:], a[:]), (a, a), (a, a.copy()), (a, a[:])):
            result, same_one = f(x, y)
            seen += [noted(result), same_one is y, same_one is x]
        return seen

    same(story)


SHARING = [
    "x[0], x[1]",
    "x[:2], x[1:]",
    "x, x.T",
    "x[::2], x[1::2]",
    "x, x + 1",
    "x, y",
    "x, x.copy()",
]


@pytest.mark.parametrize("pair", SHARING)
def test_whether_arrays_share_memory_is_known_or_refused(pair: str) -> None:
    # All parts of one array were said to, and of two that are given none.
    def story(compile: Any) -> list[Any]:
        m, a = (
            module(f"def f(x, y): return x * (2 if np.shares_memory({pair}) else 3)"),
            np.ones((3, 3)),
        )
        f = compile(m.f)
        return [noted(f(x, y)) for x, y in ((a, a[:2]), (a, a[:]), (a, a), (a, a.copy()))]

    same_or_refused(story)


MEMORY = ["flags.writeable", "flags.owndata", "flags.aligned", "flags['W']", "base is None"]


@pytest.mark.parametrize("asked", [*MEMORY, "flags.c_contiguous", "flags['F']"])
def test_what_an_array_says_of_its_memory_is_known_or_refused(asked: str) -> None:
    # All arrays could be written, and were nobody's view; what forbade to write it was forgotten.
    def story(compile: Any) -> list[Any]:
        m = module(f"def f(x): return x * (2 if x.{asked} else 3)")
        f, a = compile(m.f), np.arange(6.0)
        fixed, oblique = np.arange(3.0), np.frombuffer(bytearray(25), "u1")[1:].view("f8")
        fixed.flags.writeable = False
        return [noted(f(x)) for x in (np.arange(3.0), a[:3], a[::2], fixed, oblique)]

    same_or_refused(story)


def test_an_argument_and_a_view_of_it() -> None:
    def story(compile: Any) -> Any:
        f = compile(lambda x, y: x * 10 + y)
        a, b = numbers(1, 2), numbers(3, 4)
        return [*thrice(f, a, a.view(2)), f(a, b)]

    same(story)


def test_a_compiled_loss_of_a_tensor_and_itself_is_not_zero_for_ever() -> None:
    def story(compile: Any) -> Any:
        loss = compile(F.mse_loss)
        a, b = numbers(1, 2), numbers(3, 5)
        return [*thrice(loss, a, a), loss(a, b)]

    same(story)


@pytest.mark.parametrize(
    "first",
    [
        pytest.param("one", id="one object first"),
        pytest.param("two", id="two objects first"),
    ],
)
def test_a_function_may_ask_whether_its_arguments_are_one_object(first: str) -> None:
    def story(compile: Any) -> Any:
        f = compile(lambda x, y: x * 2 if x is y else x * 3)
        a, b = numbers(1, 2), numbers(3, 4)
        calls = [(a, a), (a, b)] if first == "one" else [(a, b), (a, a)]
        return [*thrice(f, *calls[0]), f(*calls[1]), f(*calls[0])]

    same(story)


@pytest.mark.parametrize("first", ["one", "two"])
def test_a_write_to_one_argument_is_seen_through_the_other(first: str) -> None:
    def story(compile: Any) -> Any:
        def write(x: Any, y: Any) -> Any:
            x += 1
            return x * 10 + y

        f = compile(write)
        a, b = numbers(1, 2), numbers(3, 4)
        calls = [(a, a), (a, b)] if first == "one" else [(a, b), (a, a)]
        return [*thrice(f, *calls[0]), f(*calls[1]), f(*calls[0]), a, b]

    same(story)


def test_arguments_in_containers_given_twice() -> None:
    def story(compile: Any) -> Any:
        f = compile(lambda pair: pair[0] * 10 + pair[1])
        a, b = numbers(1, 2), numbers(3, 4)
        return [*thrice(f, (a, a)), f((a, b))]

    same(story)


def test_an_argument_that_is_a_parameter_in_one_call_and_not_in_another() -> None:
    def story(compile: Any) -> Any:
        w = numbers(5, 6)
        f = compile(lambda x: x * 10 + w)
        return [*thrice(f, w), f(numbers(1, 2)), f(w)]

    same(story)


def test_an_argument_that_becomes_a_parameter_which_is_written() -> None:
    def story(compile: Any) -> Any:
        w = numbers(5, 6)

        def write(x: Any) -> Any:
            w.add_(1)
            return x * 10

        f = compile(write)
        return [*thrice(f, numbers(1, 2)), f(w), f(w.view(2)), w]

    same(story)


def two_layers() -> Any:
    net = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])
    optimizer = optim.SGD(net.parameters(), lr=0.1)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = (net[1](net[0](x).tanh()) ** 2).sum()
        loss.backward()
        optimizer.step()
        return loss

    return net, step


@pytest.mark.parametrize("how", ["data", "set"])
def test_parameters_that_come_to_share_memory_train_as_in_eager_mode(how: str) -> None:
    def story(compile: Any) -> Any:
        net, step = two_layers()
        step = compile(step)
        x = numbers(1, 2).reshape(1, 2)
        seen = thrice(step, x)
        if how == "data":
            net[1].weight.data = net[0].weight.data
        else:
            net[1].weight = net[0].weight
        return [*seen, *thrice(step, x), [p.detach() for p in net.parameters()]]

    same(story)


def test_parameters_that_stop_sharing_memory() -> None:
    def story(compile: Any) -> Any:
        net, step = two_layers()
        net[1].weight = net[0].weight
        step = compile(step)
        x = numbers(1, 2).reshape(1, 2)
        seen = thrice(step, x)
        with wg.no_grad():
            net[1].weight = nn.Parameter(net[0].weight.clone())
        return [*seen, *thrice(step, x), [p.detach() for p in net.parameters()]]

    same(story)


def test_parameters_whose_arrays_stop_being_one_train_by_themselves() -> None:
    # Both were read as one, and nothing asked whether they still were.
    def story(compile: Any) -> Any:
        net, step = two_layers()
        net[1].weight.data = net[0].weight.data
        step = compile(step)
        x = numbers(1, 2).reshape(1, 2)
        seen = thrice(step, x)
        net[1].weight.data = net[0].weight.data.clone()
        return [*seen, *thrice(step, x), [p.detach() for p in net.parameters()]]

    same(story)


def test_parameters_that_share_memory_still_do_when_an_optimizer_takes_its_bundle_apart() -> None:
    # Each got an array of its own, as an array with two holders counted as its tensor's alone.
    net, step = two_layers()
    x = numbers(1, 2).reshape(1, 2)
    thrice(step, x)
    net[1].weight.data = net[0].weight.data
    thrice(step, x)
    assert np.shares_memory(net[0].weight._array, net[1].weight._array)


GRADIENTS = {
    ".grad": "w.grad = None\n    w.sum().backward()\n    w.grad[0] = 5\n    return w.grad * x",
    "a view of .grad": (
        "w.grad = None\n    w.sum().backward()\n    w.grad.view(-1)[1] = 5\n    return w.grad * x"
    ),
    "autograd.grad": (
        "v = w * 1\n    g = wg.autograd.grad(v.sum() * 2, v)[0]\n    g.view(-1)[0] = 5\n"
        "    return g * x"
    ),
    "func.grad": "g = wg.func.grad(lambda t: t.sum())(x)\n    g[0] = 5\n    return g * x",
    "func.vjp": (
        "_, pull = wg.func.vjp(lambda t: t.mean(), x)\n    g = pull(wg.tensor(1.0))[0]\n"
        "    g[0] = 5\n    return g * x"
    ),
    "a hook's": (
        "def hook(g): g[0] = 7\n    w.grad = None\n    v = w * 1\n    v.register_hook(hook)\n"
        "    v.sum().backward()\n    return w.grad * x"
    ),
}


SHARED = {
    "two leaves": "(w + b).sum().backward()\n    w.grad.add_(1)\n    return b.grad * x + w.grad",
    "a leaf and what backward got": (
        "c = wg.ones(3)\n    (w + b).backward(c)\n    w.grad.add_(1)\n    return c * x + b.grad"
    ),
    "two leaves, recorded": (
        "(w + b).sum().backward(create_graph=True)\n"
        "    with wg.no_grad(): w.grad.add_(1)\n    return (b.grad * x + w.grad).detach()"
    ),
}


@pytest.mark.parametrize("shared", SHARED)
@pytest.mark.filterwarnings("ignore:.*create_graph")
def test_a_leafs_gradient_is_its_own_also_where_a_function_writes_in_it(shared: str) -> None:
    # One cotangent was what several leaves had: clipped once for each, it was clipped twice.
    text = (
        "w, b = wg.ones(3, requires_grad=True), wg.ones(3, requires_grad=True)\n"
        f"def f(x):\n    w.grad = b.grad = None\n    {SHARED[shared]}"
    )
    eager, compiled = module(text), module(text)
    found = wg.compile(compiled.f)
    for x in (numbers(1, 2, 3), numbers(4, 5, 6)):
        np.testing.assert_array_equal(found(x), eager.f(x))


@pytest.mark.parametrize("gradient", GRADIENTS)
def test_a_gradient_that_a_function_writes_in_has_a_place_for_each_element(gradient: str) -> None:
    # That of a sum was one number, seen at all places: a write to one element went to all of them.
    text = f"w = wg.ones(3, requires_grad=True)\ndef f(x):\n    {GRADIENTS[gradient]}"
    eager, compiled = module(text), module(text)
    found = wg.compile(compiled.f)
    for x in (numbers(1, 2, 3), numbers(4, 5, 6)):
        np.testing.assert_array_equal(found(x).detach(), eager.f(x).detach())


def test_a_large_gradient_is_its_callers_to_change() -> None:
    # One that repeats a number was a view that nobody may write in.
    v = wg.ones(100_000, requires_grad=True)
    (g,) = wg.autograd.grad((v * 1).sum(), v)
    g[0] = 7
    assert g[:3].tolist() == [7, 1, 1]


def test_what_numpy_does_not_let_write_is_not_written_in_a_compiled_function() -> None:
    # np.broadcast_to gives what is read only: the array behind it was changed.
    def f(x: Any) -> Any:
        np.broadcast_to(x.numpy()[:1], (3,))[0] = 1
        return x + 1

    assert caught(wg.compile(f), numbers(1, 2, 3)) == caught(f, numbers(1, 2, 3))


def test_two_views_of_memory_outside_are_read_and_none_is_written() -> None:
    # Masks that are one array, transposed, are buffers of published layers: they were refused.
    mask = np.triu(np.ones((3, 3)), 1)
    upper, lower = wg.from_numpy(mask), wg.from_numpy(mask.T)
    whole = wg.ones(6)
    part = whole[:3]
    f = wg.compile(lambda x: (x * upper + 2 * x * lower).sum() + whole.sum() * part.sum())
    for k in range(3):
        mask[0, 1] = whole[0] = k
        x = wg.ones(3, 3)
        assert f(x).item() == f.function(x).item()
    assert not f.retraces
    writers = (lambda x: (part.add_(x), whole.sum())[1], lambda x: (whole.mul_(x), part * x)[1])
    for g in writers:
        with pytest.raises(wg.errors.TracingError, match="overlap in memory"):
            wg.compile(g)(2.0)
