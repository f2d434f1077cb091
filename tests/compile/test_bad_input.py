"""What compiled functions are given or do by mistake: an error that says so, and nothing spoilt."""

from __future__ import annotations

import copy
import cProfile
import pickle
import sys
import threading
from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.compile.stories import caught
from wengert import nn, optim
from wengert.compile.llvm.machine import host as machine
from wengert.errors import InplaceError, TracingError

FACTOR = 2.0


@wg.compile
def doubled(x: Any) -> Any:
    return x * 2


# ---- printing ------------------------------------------------------------------------------


def test_the_text_of_an_array_is_of_its_numbers() -> None:
    with pytest.raises(TracingError, match=r"str\(\) of a traced value"):
        wg.compile(lambda a: f"{a}")(np.ones(2))


def test_a_format_of_digits_needs_the_number() -> None:
    with pytest.raises(TracingError, match=r"format\(\) of a traced value"):
        wg.compile(lambda x: f"{x.sum():.3f}")(wg.ones(2))


# ---- arguments ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "array",
    [
        np.array([1, 2.5], object),
        np.array(["a", "b"]),
        np.array(["2020-01-01"], "M8[D]"),
        np.zeros(2, [("a", "f8")]),
    ],
    ids=["objects", "strings", "dates", "records"],
)
def test_arrays_of_other_things_than_numbers_run_eagerly(array: Any) -> None:
    f = lambda a: a * 2
    assert str(caught(wg.compile(f), array)) == str(caught(f, array))


@pytest.mark.parametrize("order", ["F", "C"])
@pytest.mark.parametrize("dtype", [">f8", "<f8", ">f4", "f4"])
def test_byte_orders_and_layouts_are_as_in_eager_mode(dtype: str, order: Any) -> None:
    def f(a: Any) -> Any:
        a += 1
        return a * 2

    g = wg.compile(f)
    x, y = (np.arange(6.0).reshape(2, 3).astype(dtype, order=order) for _ in range(2))
    for _ in range(3):
        np.testing.assert_array_equal(g(x), f(y))
    np.testing.assert_array_equal(x, y)
    assert x.dtype == np.dtype(dtype)


def test_iterators_are_refused_where_they_would_run_dry() -> None:
    with pytest.raises(TracingError, match="generator"):
        wg.compile(lambda items: sum(items))(x for x in [wg.ones(2)])
    with pytest.raises(TracingError, match="returned a generator"):
        wg.compile(lambda x: (y * 2 for y in [x]))(wg.ones(2))


def test_results_that_are_no_tensors() -> None:
    f = wg.compile(lambda x, s: (x.shape, "text", None, {"kind": x.dtype}, s, s * 2))
    for s in (1.5, 2.5):
        assert f(wg.ones(2), s) == ((2,), "text", None, {"kind": wg.float32}, s, 2 * s)
        assert type(f(wg.ones(2), s)[5]) is float


class Box:
    def __init__(self, x: Any) -> None:
        self.x = x


def test_objects_around_results_are_made_anew_and_others_returned() -> None:
    # Objects that keep what is computed were refused.
    empty = Box(wg.ones(2))
    assert wg.compile(lambda x: (empty, x))(wg.ones(2))[0] is empty
    w = wg.ones(2, requires_grad=True)
    for ones, f in (
        (wg.ones(2), lambda x: Box(x * 2)),
        (np.ones(2), lambda x: deque([Box(x * 2)])),
    ):
        compiled = wg.compile(f)
        boxes = [compiled(ones * k) for k in range(4)]
        assert len({*map(id, boxes)}) == 4
        held = [
            np.asarray(getattr(box, "x", None) if type(box) is Box else box[0].x) for box in boxes
        ]
        np.testing.assert_array_equal(held, [[0, 0], [2, 2], [4, 4], [6, 6]])
    boxed = wg.compile(lambda x: Box((w * x**3).sum()))
    for _ in range(3):
        x = wg.tensor([1.0, 2.0], requires_grad=True)
        (slope,) = wg.autograd.grad(boxed(x).x, x, create_graph=True)
        (curvature,) = wg.autograd.grad(slope.sum(), x)
        assert (slope.tolist(), curvature.tolist()) == ([3, 12], [6, 12])


@dataclass(frozen=True)
class Pair:
    left: Any
    right: Any


class Answers(OrderedDict[str, Any]):
    """As libraries of models return them."""


def test_each_call_returns_a_dataclass_or_a_dictionary_of_its_own() -> None:
    f = wg.compile(lambda x: Pair(x * 2, [x + 1, "text"]))
    g = wg.compile(lambda x: Answers(loss=x.sum(), nothing=None))
    for x in (wg.ones(2), np.ones(2)):
        one, two = f(x), f(x + 1)
        assert (type(one), type(one.left), one.right[1]) == (Pair, type(x), "text")
        assert (list(one.left), list(two.left), list(two.right[0])) == ([2, 2], [4, 4], [3, 3])
        many, more = g(x), g(x * 3)
        assert (type(many), many["nothing"]) == (Answers, None)
        assert (many["loss"], more["loss"]) == (2, 6)


def test_gradients_flow_through_a_returned_dataclass() -> None:
    w = wg.tensor([1.0, 2.0], requires_grad=True)
    pair = wg.compile(lambda w: Pair(w * w, w.sum()))(w)
    (pair.left.sum() + pair.right).backward()
    assert w.grad is not None
    assert w.grad.tolist() == [3, 5]


def test_two_tensors_on_the_same_memory_have_gradients_of_their_own() -> None:
    array = np.array([1.0, 2.0])
    x, y = wg.from_numpy(array).requires_grad_(), wg.from_numpy(array).requires_grad_()
    f = wg.compile(lambda x, y: wg.autograd.grad((x * x * y).sum(), [x, y]))
    for _ in range(2):
        by_x, by_y = f(x, y)
        assert (by_x.tolist(), by_y.tolist()) == ([2, 8], [1, 4])


def test_an_argument_returned_is_the_argument() -> None:
    w = wg.ones(2)
    f = wg.compile(lambda x, a: (x, a, w, x.add_(1)))
    x, a = wg.zeros(2), np.zeros(2)
    for k in (1, 2):
        found = f(x, a)
        assert found[0] is found[3] is x
        assert found[1] is a
        assert found[2] is w
        assert x.tolist() == [k, k]


def test_backward_inside_reaches_the_arguments_own_gradients() -> None:
    def f(x: Any) -> Any:
        (x * x).sum().backward()

    g = wg.compile(f)
    x, y = (wg.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    for _ in range(3):
        g(x), f(y)
        assert x.grad.tolist() == y.grad.tolist()
    x.grad = y.grad = None
    g(x), f(y)
    assert x.grad.tolist() == y.grad.tolist() == [2, 4]


def test_one_tensor_twice() -> None:
    def f(x: Any, y: Any) -> Any:
        (x * y * 3).sum().backward()
        return x - y

    x, y = (wg.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    wg.compile(f)(x, x), f(y, y)
    assert x.grad.tolist() == y.grad.tolist() == [6, 12]


def test_arguments_that_overlap() -> None:
    def f(a: Any, b: Any) -> Any:
        a += 1
        return a * b

    g = wg.compile(f)
    g(np.ones(4), np.ones(4))
    x, y = np.arange(5.0), np.arange(5.0)
    np.testing.assert_array_equal(g(x[:4], x[1:]), f(y[:4], y[1:]))
    np.testing.assert_array_equal(x, y)


def test_requires_grad_cannot_change_inside() -> None:
    w = wg.ones(2, requires_grad=True)
    for change in (lambda x: x.requires_grad_(), lambda x: x.add_(w)):
        with pytest.raises(TracingError, match="was False and became True"):
            wg.compile(change)(wg.ones(2))


def test_a_parameter_stays_one() -> None:
    f = wg.compile(lambda p: (type(p), p * 2))
    assert f(nn.Parameter(wg.ones(2)))[0] is nn.Parameter


# ---- calls ----------------------------------------------------------------------------------


def test_recursion() -> None:
    @wg.compile
    def power(x: Any, n: int) -> Any:
        return x if n == 0 else 2 * power(x, n - 1)

    assert power(wg.ones(1), 3).tolist() == [8]
    assert power(wg.ones(1), 2).tolist() == [4]


def test_threads_that_compile_the_same_function() -> None:
    f = wg.compile(lambda x: (x * 2).sum())
    wrong: list[Any] = []

    def run(k: int) -> None:
        try:
            for n in (3, 4, 5) * 4:
                if f(wg.ones(n) * k).item() != 2 * n * k:
                    wrong.append((n, k))
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_profiler_is_left_alone_and_globals_are_still_watched() -> None:
    global FACTOR
    f = wg.compile(lambda x: x * FACTOR)
    profiler = cProfile.Profile()
    profiler.enable()
    try:
        assert f(wg.ones(1)).tolist() == [2]
        assert sys.getprofile() is profiler
    finally:
        profiler.disable()
    FACTOR = 5.0
    assert f(wg.ones(1)).tolist() == [5]
    FACTOR = 2.0


def test_copies_and_pickles_compile_anew() -> None:
    x = wg.ones(2, 3)
    assert copy.deepcopy(doubled) is doubled
    net = wg.compile(nn.Linear(3, 2))
    net(x)
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert wg.equal(twin(x), net(x))
        twin.weight.data.zero_()
        assert net.weight.abs().sum() > 0
    f = pickle.loads(pickle.dumps(wg.compile(np.tanh)))
    np.testing.assert_allclose(f(np.ones(2)), np.tanh(1.0))


# ---- errors ---------------------------------------------------------------------------------


def test_what_an_interrupted_trace_leaves_behind_says_so() -> None:
    kept: list[Any] = []

    def f(x: Any) -> None:
        kept.append(x * 2)
        raise KeyboardInterrupt(kept[0])

    with pytest.raises(KeyboardInterrupt) as error:
        wg.compile(f)(wg.ones(2))
    assert kept == []
    (left,) = error.value.args
    assert repr(left) == "tensor(<traced float32[2]>)"
    with pytest.raises(TracingError, match="ended with an error"):
        left.tolist()


@pytest.mark.parametrize("where", ["tracing", "compiling"])
def test_an_interrupt_leaves_everything_as_it_was(where: str, monkeypatch: Any) -> None:
    wg.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 1))
    optimizer = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    stop = True

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        if stop and where == "tracing":
            raise KeyboardInterrupt
        return loss

    def interrupted(*args: Any) -> None:
        raise KeyboardInterrupt

    before = {k: v.clone() for k, v in net.state_dict().items()}
    versions = [p._version for p in net.parameters()]
    numbers = wg.get_rng_state()
    f, x = wg.compile(step), wg.ones(5, 3)
    with monkeypatch.context() as patch:
        if where == "compiling":
            patch.setattr(machine, "_compiled", interrupted)
        with pytest.raises(KeyboardInterrupt):
            f(x)
    for name, value in net.state_dict().items():
        assert wg.equal(value, before[name]), name
    assert [p._version for p in net.parameters()] == versions
    assert all(p.grad is None for p in net.parameters())
    assert not any(optimizer.state.values())
    assert type(optimizer.param_groups[0]["lr"]) is float
    assert wg.equal(numbers, wg.get_rng_state())
    stop = False
    assert np.isfinite(f(x).item())


# ---- views and gradients of writes that the fuzzer found -----------------------------------


def test_a_write_through_a_view_takes_the_gradient_of_what_was_there() -> None:
    def f(x: Any) -> Any:
        y = x * 2
        y[1:].mul_(0.25)
        return y

    x = wg.ones(3, requires_grad=True)
    wg.compile(f)(x).sum().backward()
    assert x.grad.tolist() == [2, 0.5, 0.5]


def test_a_view_that_is_returned_has_the_history_that_its_base_got_later() -> None:
    # It was asked for the history it had when it was taken: none.
    def f(x: Any) -> Any:
        base = wg.zeros(3, 3)
        view = base[0]
        base.add_(x * x)
        return view

    x = wg.tensor(np.arange(9.0).reshape(3, 3), requires_grad=True)
    compiled = wg.compile(f)
    for _ in range(2):
        (gradient,) = wg.autograd.grad(compiled(x).sum(), x, create_graph=True)
        assert np.array_equal(gradient.detach(), [[0, 2, 4], [0, 0, 0], [0, 0, 0]])
        (second,) = wg.autograd.grad(gradient.sum(), x)
        assert np.array_equal(second, [[2, 2, 2], [0, 0, 0], [0, 0, 0]])


def test_one_of_several_views_is_not_returned_after_a_write_into_its_base() -> None:
    @wg.compile
    def f(x: Any) -> Any:
        base = wg.zeros(3, 3)
        first, *_ = base.split(1)
        base.add_(x)
        return first

    with pytest.raises(InplaceError, match="returns multiple views"):
        f(wg.ones(3, 3, requires_grad=True))


def test_a_reshape_that_copies_is_no_view() -> None:
    def f(x: Any) -> Any:
        x.T.reshape(-1).zero_()
        x.reshape(-1)[0] = 5
        x.diagonal().add_(1)
        return x.sum()

    x, y = wg.ones(2, 3), wg.ones(2, 3)
    assert wg.compile(f)(x).item() == f(y).item()
    assert x.tolist() == y.tolist() == [[6, 1, 1], [1, 2, 1]]


def test_draws_that_nobody_reads_still_advance_the_generator() -> None:
    def f(x: Any) -> Any:
        wg.rand(3)
        return x + wg.rand(3)

    found = []
    for g in (f, wg.compile(f)):
        wg.manual_seed(3)
        found.append(g(wg.zeros(3)).tolist())
    assert found[0] == found[1]


def test_numbers_among_integers_have_the_default_dtype() -> None:
    f = wg.compile(lambda x, s: (x * s, s * x, x.clamp(max=s), wg.tensor(s), wg.full((2,), s)))
    for y in f(wg.tensor([1, 2, 3]), 1.5):
        assert y.dtype == wg.float32
