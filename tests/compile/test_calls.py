"""Calls as users write them: whatever their shape, they go through the entry, and do as eagerly."""

import functools
import gc
import threading
from collections import OrderedDict, defaultdict
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from benchmarks import calls
from tests import counting
from wengert.compile.call.entry.entries import is_native
from wengert.compile.call.function import CompiledFunction
from wengert.compile.call.specialization import Specialization


@pytest.fixture
def slow(monkeypatch):
    """Notes what goes through Python: a call that looks for its specialization, a backward pass."""
    seen = []

    def watch(owner, name):
        method = getattr(owner, name)

        def noted(self, *args, **kwargs):
            seen.append(self)
            return method(self, *args, **kwargs)

        monkeypatch.setattr(owner, name, noted)

    watch(CompiledFunction, "_call")
    watch(Specialization, "pulled")
    return seen


@pytest.mark.parametrize("name", sorted(calls.SHAPES))
def test_a_step_of_any_shape_goes_through_the_entry(name, slow):
    make = calls.SHAPES[name]
    compiled, eager = make(wg, wg.compile), make(wg, calls.same)
    for k in range(6):
        if k == 3:
            slow.clear()
        np.testing.assert_allclose(compiled().numpy(), eager().numpy(), rtol=1e-5)
    assert not slow


@functools.cache
def once_per_process():
    for _ in range(3):
        calls.SHAPES["plain"](wg, wg.compile)()


@pytest.mark.parametrize("name", sorted(calls.SHAPES))
def test_a_trace_leaves_nothing_to_the_cycle_collector(name, compiled_anew):
    # The IR of a program's machine code, 30,000 objects that point to one another, once stayed.
    once_per_process()
    eager, call = calls.SHAPES[name](wg, calls.same), calls.SHAPES[name](wg, wg.compile)
    eager()
    gc.collect()
    enabled = gc.isenabled()
    gc.disable()
    try:
        left = []
        for _ in range(3):
            call()
            left.append(gc.collect())
    finally:
        if enabled:
            gc.enable()
    assert max(left) < 100  # classes of ctypes' arrays, which llvmlite makes


HELD = {
    "ordered": OrderedDict,
    "default": lambda items: defaultdict(list, items),
    "namespace": lambda items: SimpleNamespace(**items),
    "dict": dict,
    "list in a tuple": lambda items: ([items["x"]], {"k": items["y"]}),
}


def arrays_in(held):
    if isinstance(held, tuple):
        return held[0][0], held[1]["k"]
    return (held["x"], held["y"]) if isinstance(held, dict) else (held.x, held.y)


@pytest.mark.parametrize("mode", [wg.no_grad, wg.inference_mode, wg.enable_grad])
def test_each_mode_goes_through_an_entry(mode, slow):
    # Under no_grad each call looked for its specialization: 70 us, where eager mode takes 4.
    w = wg.tensor([2.0, 3.0], requires_grad=True)
    f = wg.compile(lambda x: (w * x, x[0], x.detach()))
    x = wg.ones(2)
    for k in range(6):
        if k == 3:
            slow.clear()
        f(x)
        with mode():
            y, first, same = f(x)
        assert y.requires_grad is (mode is wg.enable_grad)
        assert y.is_inference() is (mode is wg.inference_mode)
        assert first.tolist() == 1.0
        assert same.tolist() == [1.0, 1.0]
    assert not slow


def test_a_mode_of_another_thread_is_not_that_of_this_one(slow):
    f = wg.compile(lambda x: x * 2)
    x = wg.ones(2, requires_grad=True)
    inside, done = threading.Event(), threading.Event()

    def elsewhere():
        with wg.no_grad():
            for _ in range(4):
                assert not f(x).requires_grad
            inside.set()
            done.wait()

    thread = threading.Thread(target=elsewhere)
    thread.start()
    inside.wait()
    for k in range(4):
        if k == 3:
            slow.clear()
        assert f(x).requires_grad
    assert not slow
    done.set()
    thread.join()
    assert f(x).requires_grad


@pytest.mark.parametrize("name", HELD)
def test_what_the_function_changes_in_its_containers_changes_through_the_entry(name, slow):
    def step(held, other):
        x, y = arrays_in(held)
        if isinstance(held, tuple):
            held[0].append(x + y)
            held[1]["k"] = y * 2
        elif isinstance(held, dict):
            held["y"] = y * 2
            held["z"] = x + y
        else:
            held.y = y * 2
            del held.x
        other[0] = x - y
        return x * y

    compiled = wg.compile(step)
    for k in range(5):
        x, y = wg.tensor([1.0, 2.0 + k]), wg.tensor([3.0, k])
        one, two = [None], [None]
        if k == 3:
            slow.clear()
        first, second = (HELD[name]({"x": x, "y": y}) for _ in range(2))
        assert compiled(first, one).tolist() == step(second, two).tolist()
        assert str(first) == str(second)
        assert str(one) == str(two)
    assert not slow


def test_numbers_of_each_kind_go_out_through_the_entry(slow):
    def f(x, t):
        return {
            "float": t * 2,
            "scalar": x.numpy().sum(),
            "bool": t > 0,
            "both": (t + 1, x * t),
        }

    compiled, x = wg.compile(f), wg.tensor([1.0, 2.0])
    for k in range(5):
        if k == 3:
            slow.clear()
        made, expected = compiled(x, 0.5 + k), f(x, 0.5 + k)
        assert str(made) == str(expected)
        assert [type(v) for v in made.values()] == [type(v) for v in expected.values()]
    assert not slow


@pytest.mark.skipif(not is_native(), reason="the objects that are made in Python are counted")
def test_gradients_of_arguments_accumulate_through_the_entry(slow):
    def f(x):
        (x * x).sum().backward()

    compiled = wg.compile(f)
    x, y = (wg.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    for k in range(6):
        if k == 4:
            slow.clear()
        compiled(x)
        f(y)
        assert x.grad.tolist() == y.grad.tolist()
    assert not slow
    x.grad = y.grad = None
    for _ in range(3):
        compiled(x)
        f(y)
        assert x.grad.tolist() == y.grad.tolist()


def test_a_leaf_that_the_function_makes_is_one_through_the_entry(slow):
    def f(x):
        leaf = (x * 2).detach().requires_grad_()
        return leaf, leaf

    compiled, x = wg.compile(f), wg.tensor([1.0, 2.0])
    for k in range(5):
        if k == 3:
            slow.clear()
        a, b = compiled(x)
        assert a is b
        assert a.is_leaf
        (a * 3).sum().backward()
        assert a.grad.tolist() == [3, 3]
    assert not slow


@pytest.mark.parametrize(
    "loss",
    [
        lambda y: y.sum(),
        lambda y: (y.T * wg.ones(2, 3)).sum(),
        lambda y: y[0].sum(),
        lambda y: y @ y.T,
    ],
    ids=["expanded", "transposed", "a row", "a product"],
)
def test_cotangents_of_any_strides_are_pulled_by_machine_code(loss, slow):
    def f(x, w):
        return (x * w).sin() * w

    compiled, x = wg.compile(f), wg.randn(3, 2)
    w, v = (wg.ones(2, requires_grad=True) for _ in range(2))
    for k in range(5):
        if k == 3:
            slow.clear()
        loss(compiled(x, w)).sum().backward()
        loss(f(x, v)).sum().backward()
        np.testing.assert_allclose(
            w.grad, v.grad, rtol=1e-5, atol=1e-6
        )  # in float32, of terms that cancel
    assert not slow


def test_outputs_that_get_no_cotangent_or_the_same_one(slow):
    def f(w):
        return w * 2, w * 3, w.sin()

    compiled = wg.compile(f)
    w, v = (wg.ones(2, requires_grad=True) for _ in range(2))
    for k in range(5):
        if k == 3:
            slow.clear()
        for x, function in ((w, compiled), (v, f)):
            a, b, _ = function(x)
            (a + b).sum().backward()
        assert w.grad.tolist() == v.grad.tolist()
    assert not slow


def test_a_derivative_reads_numbers_of_the_call(slow):
    compiled = wg.compile(lambda w, t: (w * w * t).sum())
    for k in range(5):
        if k == 3:
            slow.clear()
        w = wg.ones(2, requires_grad=True)
        first, second = compiled(w, 1.0 + k), compiled(w, 10.0)
        first.backward()
        assert w.grad.tolist() == [2 * (1.0 + k)] * 2
        second.backward()
        assert w.grad.tolist() == [2 * (11.0 + k)] * 2
    assert not slow


def test_a_rate_may_become_a_number_of_another_kind():
    # An entry that was linked while an int stood there read its bits as those of a float.
    rates = [0.5, 1, 2, 0.25, np.float64(0.125), np.float32(0.5), 3, True, 0.5, np.int64(2)]
    ends = []
    for wrap in (wg.compile, calls.same):
        w = wg.ones(2, requires_grad=True)
        optimizer = wg.optim.SGD([w], lr=0.5)

        @wrap
        def step(x, w=w, optimizer=optimizer):
            optimizer.zero_grad()
            (w * x).sum().backward()
            optimizer.step()

        seen = []
        for rate in rates:
            optimizer.param_groups[0]["lr"] = rate
            step(wg.ones(2))
            seen.append(w.tolist())
        ends.append(seen)
    assert ends[0] == ends[1]


def test_calls_of_several_kinds_in_turn_go_through_their_entries(slow):
    # The entry of the last kind of call was the only one: all others were looked up in Python.
    net = wg.nn.Sequential(wg.nn.Linear(2, 3), wg.nn.Dropout(0.0))
    compiled, held = wg.compile(net), {"x": wg.randn(4, 2)}
    total = wg.compile(lambda batch: sum(batch.values()) if type(batch) is dict else batch * 2)
    for k in range(5):
        if k == 3:
            slow.clear()
        for training in (True, False):
            net.train(training)
            for size in (1, 2, 3):
                x = wg.randn(size, 2)
                np.testing.assert_allclose(compiled(x).detach(), net(x).detach(), rtol=1e-5)
        assert total(held).tolist() == held["x"].tolist()
        assert total(wg.ones(2)).tolist() == [2, 2]
        assert total(batch=wg.ones(2)).tolist() == [2, 2]
    assert not slow


def test_numbers_of_numpy_come_in_through_the_entry(slow):
    def f(x, t):
        a = x.numpy()
        return x * t, t * x, a * t, (t * a).sum() + t, t * 2, t

    compiled, x = wg.compile(f), wg.tensor([1.0, 2.0])
    for kind in (np.float64, np.float32, np.float16):
        for k in range(5):
            if k == 3:
                slow.clear()
            made, expected = compiled(x, kind(0.5 + k)), f(x, kind(0.5 + k))
            assert [str(y) for y in made] == [str(y) for y in expected]
            assert [type(y) for y in made] == [type(y) for y in expected]
            assert [y.dtype for y in made] == [y.dtype for y in expected]
        assert not slow


@pytest.mark.parametrize(
    "f",
    [
        lambda x, t: x * 2 if t > 1 else x,
        lambda x, t: x * 2 if float(t * 2) > 3 else x,
        lambda x, t: x * {1.0: 2, 2.0: 3}.get(t, 4),
        lambda x, t: x * len(f"{t:.3f}") * int(t),
    ],
)
def test_a_number_of_numpy_that_decides_is_the_one_of_the_call(f):
    compiled, x = wg.compile(f), wg.tensor([1.0, 2.0])
    for t in (0.5, 1.0, 2.0, 12.0, 0.5):
        assert compiled(x, np.float64(t)).tolist() == f(x, np.float64(t)).tolist()


VIEWS = {
    "a row": lambda x: x[0],
    "the transpose": lambda x: x.mT,
    "every other": lambda x: x[:, ::2],
    "itself": lambda x: x.view_as(x),
    "detached": lambda x: x.detach(),
    "detached row": lambda x: x.detach()[1],
    "detached reversed": lambda x: x.mT.detach()[1:],
    "numbers": lambda x: x.detach().numpy()[1:],
    "several": lambda x: (x[0], x.mT, x * 2),
    "of a result": lambda x: (lambda y: (y, y[0]))(x * 2),
}


def facts(x):
    """What can be known of a result, and what becomes of writing to it."""
    if isinstance(x, tuple):
        return list(map(facts, x))
    if isinstance(x, np.ndarray):
        return x.tolist(), x.strides, x.flags.writeable
    known = x.tolist(), x.stride(), x.requires_grad, x.is_leaf, x._is_view(), x.is_inference()
    try:
        x.mul_(2)
    except (RuntimeError, wg.errors.WengertError) as error:
        return *known, type(error)
    return *known, x.tolist()


@pytest.mark.crossed
@pytest.mark.parametrize("base", ["plain", "tracked", "leaf", "a view"])
@pytest.mark.parametrize("mode", [wg.enable_grad, wg.no_grad, wg.inference_mode])
@pytest.mark.parametrize("name", VIEWS)
def test_what_shares_memory_is_made_by_the_entry_as_in_eager_mode(name, mode, base, slow):
    f = VIEWS[name]
    compiled = wg.compile(f)
    for k in range(5):
        seen = []
        for function in (f, compiled):
            x = wg.arange(12.0).reshape(3, 4).clone()
            if base in ("leaf", "tracked"):
                x.requires_grad_()
            x = x * 1 if base == "tracked" else x[:2] if base == "a view" else x
            if k == 4:
                x.detach()  # from now on its writes are counted
            if k == 3:
                slow.clear()
            with mode():
                y = function(x)
            seen.append((facts(y), facts(x)))
        assert seen[0] == seen[1], k
    assert not slow


def test_numpys_functions_are_not_looked_into_at_each_call():
    # What they hold was once compared, in Python, each time: 170 us for seven of them.
    @wg.compile
    def f(x):
        return np.concatenate([x, np.stack([x, np.where(x > 0, x, 0.0)])[0]])

    x = np.ones(5)
    for _ in range(4):
        f(x)
    assert counting.calls(lambda: f(x)) < 5
