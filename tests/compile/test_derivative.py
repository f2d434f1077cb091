"""The node that a compiled call leaves, made and pulled by machine code, and by Python."""

import gc
import weakref

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.compile.bodies import KINDS
from wengert.compile.call import link
from wengert.compile.call.specialization import Specialization
from wengert.errors import FreedGraphError, ModifiedError


@pytest.fixture(params=KINDS, ids=lambda make: make.__name__, autouse=True)
def kind(request, monkeypatch):
    monkeypatch.setattr(link, "make", request.param)
    return request.param


@pytest.fixture
def slow(monkeypatch):
    """What was pulled without an entry, which is right too, but slow."""
    seen, pulled = [], Specialization.pulled

    def noted(self, *args):
        seen.append(args)
        return pulled(self, *args)

    monkeypatch.setattr(Specialization, "pulled", noted)
    return seen


def linked(f, *args):
    """The compiled function, called and pulled until its entries are there."""
    compiled = wg.compile(f)
    for _ in range(4):
        parts = compiled(*args)
        sum(y.sum() for y in (parts if isinstance(parts, tuple) else (parts,))).backward()
    for x in args:
        if x.is_leaf:
            x.grad = None
    return compiled


def leaf(*numbers):
    return wg.tensor(numbers, requires_grad=True)


def test_the_line_of_the_call_is_that_of_the_node():
    w = leaf(1.0, 2.0)
    f = linked(lambda x: (x * x).sum(), w)
    y = f(w)
    y.backward()
    with pytest.raises(FreedGraphError, match="saved by CompiledBackward") as told:
        y.backward()
    for line in ("\n    y = f(w)\nwere freed", "\n    y.backward()\n"):
        assert line in str(told.value)
    assert w.grad.tolist() == [2.0, 4.0]


def test_what_a_node_keeps_goes_with_a_pass_that_frees_it():
    # The arguments stayed as long as the result did, since they were no part of `saved`.
    w = leaf(1.0, 2.0)
    f = linked(lambda w, x: (w * x.sin()).sum(), w, wg.ones(2))
    x = wg.ones(2)
    gone, y = weakref.ref(x), f(w, x)
    del x
    assert gone() is not None
    y.backward()
    assert gone() is None


def test_an_argument_written_since_is_refused_whoever_counts_its_writes(slow):
    for write in (lambda w: w.mul_(2), wg.compile(lambda w: w.mul_(2))):
        w = leaf(1.0, 2.0)
        f = linked(lambda w: (w * w).sum(), w)
        with wg.no_grad():
            for _ in range(3):
                write(w)
        y = f(w)
        with wg.no_grad():
            write(w)
        slow.clear()
        with pytest.raises(ModifiedError, match="was overwritten by"):
            y.backward()
        assert w.grad is None
        z = f(w)
        slow.clear()
        z.backward()
        assert not slow
        assert w.grad.tolist() == (2 * w).tolist()


def test_each_of_several_results_has_its_place_in_the_node(slow):
    w = leaf(1.0, 2.0)
    f = linked(lambda w: (w * 2, w.sin(), w * w), w)
    nodes = [y.grad_fn for y in f(w)]
    assert nodes[0] is nodes[1] is nodes[2]
    for k, slope in enumerate((lambda x: 0 * x + 2, np.cos, lambda x: 2 * x)):
        w.grad, parts = None, f(w)
        slow.clear()
        parts[k].sum().backward()
        assert not slow
        np.testing.assert_allclose(w.grad.numpy(), slope(w.detach().numpy()), rtol=1e-6)


def test_a_result_and_a_view_of_it_have_histories_of_their_own():
    w, v = leaf(1.0, 2.0), leaf(1.0, 2.0)

    def both(w):
        y = w * w
        return y, y[1]

    for function, x in ((linked(both, w), w), (both, v)):
        y, part = function(x)
        (y.sum() * 3 + part).backward()
    assert w.grad.tolist() == v.grad.tolist() == [6.0, 16.0]


def test_an_argument_may_be_a_view_of_something_with_history(slow):
    w, v = leaf(1.0, 2.0), leaf(1.0, 2.0)
    f = linked(lambda x: (x * x).sum(), w)
    for function, x in ((f, w), (f.function, v)):
        for _ in range(3):
            base = x * 3
            row = base[:1]
            y = function(row)
            base.mul_(2)  # the row's history is another one now
            if function is f:
                slow.clear()
            with pytest.raises(ModifiedError):
                y.backward()
            function(row).backward()
    assert w.grad.tolist() == v.grad.tolist()


def test_a_call_leaves_nothing_to_the_collector():
    w = leaf(1.0, 2.0)
    f = linked(lambda w: (w.sin(), w * w), w)
    gc.collect()
    gc.disable()
    try:
        seen = [weakref.ref(f(w)[k].grad_fn) for k in range(2)]
        assert [node() for node in seen] == [None, None]
    finally:
        gc.enable()


def test_the_second_derivative_reads_what_the_node_keeps():
    w = leaf(1.0, 2.0)
    f = linked(lambda w: (w**3, w * 2), w)
    (g,) = wg.autograd.grad(f(w)[0].sum(), w, create_graph=True)
    (h,) = wg.autograd.grad(g.sum(), w)
    assert h.tolist() == [6.0, 12.0]
