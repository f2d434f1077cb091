"""Entries: gradients and their memory, errors, calls within calls, and reference counts."""

import gc
import sys
import tracemalloc
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.compile.bodies import (
    F8,
    Slow,
    array,
    calling,
    each_kind,
    entry,
    state,
    status,
    sums,
)
from wengert.compile.call.entry.entry import Entry
from wengert.compile.program.operations import Otherwise
from wengert.compile.trace.world.places import (
    Argument,
    Array,
    Attribute,
    Gradient,
    Guard,
    Input,
    Item,
    Known,
    Number,
    Output,
    Write,
)
from wengert.history.node import Cell
from wengert.tensor import bare, wrap


@each_kind
def make(request):
    return request.param


@pytest.fixture
def leaf():
    return wg.zeros(2, dtype=wg.float64, requires_grad=True)


def gradient(leaf, number):
    """The output of this number becomes a tensor's gradient; or None does."""
    return Write(Gradient(Known(leaf)), number)


# ---- gradients -----------------------------------------------------------------------------


@pytest.fixture
def learn(make, leaf):
    """f(x): the leaf's gradient becomes x + x."""
    fields = {
        "arguments": (Array(0, F8, (2,)),),
        "outputs": (Array(1, F8, (2,)),),
        "writes": (gradient(leaf, 0),),
    }
    return make(entry(sums(0, 0, out=1), **fields))


def address(tensor):
    return tensor._array.ctypes.data


def test_a_gradient_is_a_tensor_like_any_other(learn, leaf):
    learn(array())
    g = leaf.grad
    assert type(g) is wg.Tensor
    assert g.tolist() == [2, 4]
    assert (g._node, g._origin, g._cell) == (None, None, None)


def test_memory_of_a_gradient_that_nobody_holds_is_used_again(learn, leaf):
    learn(array(1.0, 1.0))
    before = address(leaf.grad)
    number = id(leaf.grad)
    for i in range(5):
        learn(array(i, 1.0))
        assert (address(leaf.grad), id(leaf.grad)) == (before, number)
        assert leaf.grad.tolist() == [2 * i, 2]


@pytest.mark.parametrize(
    "hold",
    [
        lambda g: g,
        lambda g: g._array,
        lambda g: g.numpy(),
        lambda g: g._array[:1],
        lambda g: g.detach(),
        lambda g: g[:1],
        lambda g: g.view(1, 2),
        lambda g: memoryview(g._array),
        lambda g: np.lib.stride_tricks.as_strided(g._array, (2,), (0,)),
        lambda g: iter(g._array),
        lambda g: SimpleNamespace(held=g),
    ],
    ids=range(11),
)
def test_memory_that_somebody_holds_is_left_alone(learn, leaf, hold):
    learn(array(1.0, 2.0))
    kept = leaf.grad._array.copy()
    held = hold(leaf.grad)
    base, g = weakref.ref(leaf.grad), address(leaf.grad)
    learn(array(5.0, 5.0))
    assert leaf.grad.tolist() == [10, 10]
    assert address(leaf.grad) != g
    if isinstance(held, wg.Tensor):
        assert held.flatten()[0] == kept[0]
    elif isinstance(held, np.ndarray | memoryview):
        assert np.asarray(held).ravel()[0] == kept[0]
    assert base() is None or base() is not leaf.grad


def foreign(x):
    return wrap(np.frombuffer(bytearray(x.tobytes()), np.float64))


def locked(x):
    x.flags.writeable = False
    return wrap(x)


@pytest.mark.parametrize(
    "before",
    [
        lambda: wrap(np.zeros(3)),
        lambda: wrap(np.zeros((2, 1))),
        lambda: wrap(np.zeros(2, np.float32)),
        lambda: wrap(np.zeros(4)[::2]),
        lambda: wrap(np.zeros(4)[:2]),
        lambda: foreign(np.zeros(2)),
        lambda: locked(np.zeros(2)),
        lambda: wrap(np.ma.zeros(2)),
        lambda: wrap(None),
        lambda: bare(wg.nn.Parameter, np.zeros(2)),
        lambda: wg.zeros(2, dtype=wg.float64, requires_grad=True),
        lambda: wg.zeros(2, dtype=wg.float64, requires_grad=True) * 2,
        lambda: wg.zeros(1, 2, dtype=wg.float64)[0],
        lambda: None,
        lambda: "something",
    ],
    ids=range(15),
)
def test_a_gradient_of_another_kind_is_replaced(learn, leaf, before):
    leaf._grad = before()
    was = id(leaf._grad)
    held = leaf._grad
    learn(array(5.0, 5.0))
    assert type(leaf._grad) is wg.Tensor
    assert leaf.grad.tolist() == [10, 10]
    assert id(leaf._grad) != was
    assert held is None or held is not leaf._grad
    learn(array(6.0, 5.0))
    assert leaf.grad.tolist() == [12, 10]


def test_memory_of_a_gradient_with_a_cell_is_left_alone(learn, leaf):
    learn(array())
    leaf.grad._cell = Cell()
    before = address(leaf.grad)
    held = leaf.grad._array
    learn(array())
    assert address(leaf.grad) != before
    del held


def test_two_leaves_that_share_a_gradient_get_their_own(make):
    a, b = (wg.zeros(2, dtype=wg.float64, requires_grad=True) for _ in range(2))
    a._grad = b._grad = wrap(np.zeros(2))
    outputs = Array(0, F8, (2,)), Array(1, F8, (2,))
    writes = gradient(a, 0), gradient(b, 1)
    make(entry(status(0), outputs=outputs, writes=writes))()
    assert a._grad is not b._grad
    assert address(a._grad) != address(b._grad)


def test_a_gradient_that_comes_in_is_not_its_own_target(make, leaf):
    fields = {
        "arguments": (Array(0, F8, (2,), wg.Tensor),),
        "outputs": (Array(1, F8, (2,)),),
        "writes": (gradient(leaf, 0),),
    }
    f = make(entry(sums(0, 0, out=1), **fields))
    f(wrap(array(1.0, 1.0)))
    g = leaf.grad
    f(g)
    assert g.tolist() == [2, 2]
    assert leaf.grad.tolist() == [4, 4]
    del g
    f(leaf.grad)
    assert leaf.grad.tolist() == [8, 8]


def test_no_gradient_is_none(make, leaf):
    f = make(entry(status(0), writes=(gradient(leaf, None),)))
    f()
    assert leaf.grad is None
    leaf._grad = wrap(np.zeros(2))
    gone = weakref.ref(leaf._grad)
    f()
    assert leaf.grad is None
    assert gone() is None


# ---- errors and calls within calls ---------------------------------------------------------


@pytest.mark.parametrize("calls", [False, True])
def test_an_exception_in_the_body_is_the_callers(make, leaf, calls):
    def broken():
        raise KeyboardInterrupt

    f = calling(
        make,
        broken,
        calls=calls,
        outputs=(Array(0, F8, (2,), wg.Tensor), Array(1, F8, (2,))),
        results=(Output(0),),
        writes=(gradient(leaf, 1),),
    )
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            f()
    assert leaf.grad is None


@pytest.mark.parametrize("supposes", [False, True])
def test_a_call_for_which_numbers_decide_otherwise_goes_the_slow_way(make, leaf, supposes):
    errors = [Otherwise("n was 3"), ValueError("this is an error")]
    slow = Slow()

    def body():
        raise errors[0]

    f = calling(
        make,
        body,
        slow,
        supposes=supposes,
        outputs=(Array(0, F8, (2,), wg.Tensor), Array(1, F8, (2,))),
        results=(Output(0),),
        writes=(gradient(leaf, 1),),
    )
    for _ in range(3):
        if supposes:
            assert f() == "slow"
        else:
            with pytest.raises(Otherwise, match="n was 3"):
                f()
    del errors[0]
    with pytest.raises(ValueError, match="this is an error"):
        f()
    assert len(slow.calls) == 3 * supposes
    assert leaf.grad is None


def test_a_call_whose_body_raises_is_made_by_what_is_there_for_it(make, leaf):
    slow, failed = Slow(), Slow()
    errors: list[BaseException] = [ValueError("an error"), KeyboardInterrupt()]

    def body():
        raise errors[0]

    f = calling(
        make,
        body,
        slow,
        failed=failed,
        outputs=(Array(0, F8, (2,), wg.Tensor), Array(1, F8, (2,))),
        results=(Output(0),),
        writes=(gradient(leaf, 1),),
    )
    for _ in range(3):
        assert f() == "slow"
    assert (len(slow.calls), len(failed.calls)) == (0, 3)
    del errors[0]
    with pytest.raises(KeyboardInterrupt):
        f()
    assert len(failed.calls) == 3
    assert leaf.grad is None


def test_a_call_within_the_call_goes_the_slow_way(make):
    seen = []

    def again():
        seen.append(f())

    f = calling(make, again, calls=True)
    assert f() is None
    assert seen == ["slow"]
    assert f() is None


def test_arrays_outlive_a_body_that_lets_go_of_them(make, leaf):
    leaf._grad = wrap(np.zeros(2))
    x = wg.zeros(2, dtype=wg.float64)
    gone = []

    def let_go():
        gone.append(weakref.ref(x._array))
        gone.append(weakref.ref(leaf._grad))
        x._array = array(7.0, 7.0)
        leaf._grad = None
        gc.collect()
        gone.append([ref() is not None for ref in gone])

    f = calling(
        make,
        let_go,
        calls=True,
        arguments=(Array(2, F8, (2,), wg.Tensor),),
        inputs=(state(x, 0, written=True),),
        outputs=(Array(1, F8, (2,)),),
        writes=(gradient(leaf, 0),),
    )
    assert f(x.clone()) is None
    assert gone[2] == [True, True]
    assert gone[0]() is None
    assert leaf.grad is gone[1]()  # what the body computed stands there after all


# ---- reference counts ----------------------------------------------------------------------


def everything(make, slow, leaves, x, members):
    a, b = leaves
    return make(
        entry(
            sums(0, 1, out=4),
            slow=slow,
            arguments=(
                Array(0, F8, (2,), wg.Tensor),
                Array(1, F8, (2,)),
                Number(2, float),
                None,
            ),
            guards=(
                Guard(Item(members, "thing"), members["thing"]),
                Guard(Attribute(slow, "calls"), slow.calls),
                Guard(Attribute(a, "_node"), None, equal=False),
            ),
            inputs=(
                state(x, 3, written=True),
                Input(Item(members, "lr"), Number(7, float)),
            ),
            outputs=(
                Array(4, F8, (2,), wg.Tensor),
                Number(2, float),
                Array(5, F8, ()),
                Array(6, F8, (2,)),
            ),
            writes=(gradient(a, 3), gradient(b, None)),
            results=(
                *(Output(i) for i in range(3)),
                Argument(0),
                Known(slow),
            ),
            many=True,
        )
    )


def counts(things):
    return [sys.getrefcount(thing) for thing in things]


@pytest.mark.parametrize("way", ["fast", "slow", "held"])
def test_nothing_is_kept_and_nothing_is_lost(make, way):
    slow = Slow()
    leaves = [wg.zeros(2, dtype=wg.float64, requires_grad=True) for _ in range(2)]
    x, given, plain = wg.zeros(2, dtype=wg.float64), wg.ones(2, dtype=wg.float64), array()
    members = {"thing": object(), "lr": 12345.678}
    f = everything(make, slow, leaves, x, members)
    number = 0.1234567
    things = [
        *leaves, x, given, plain, members, slow, slow.calls, number, members["lr"],
        members["thing"], F8, wg.Tensor, np.ndarray, given._array, x._array, f,
    ]  # fmt: skip
    flag = 0 if way == "slow" else None

    def run(times):
        for _ in range(times):
            held = leaves[0].grad if way == "held" else None
            leaves[1]._grad = held
            f(given, plain, number, flag)
            slow.calls.clear()
        leaves[1]._grad = None

    run(10)
    before = counts(things)
    run(100)
    assert counts(things) == before
    # What is lost is lost each time; another thread's memory may grow once.
    assert any(grown(lambda: run(2000)) < 16000 for _ in range(3))  # 8 bytes a call


def grown(function):
    """How many bytes are there more after a call than after the one before."""
    tracemalloc.start()
    try:
        function()
        gc.collect()
        start = tracemalloc.get_traced_memory()[0]
        function()
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - start
    finally:
        tracemalloc.stop()


def test_an_entry_in_a_cycle_is_collected(make):
    class Owner:
        def slow(self, *_):
            return self

    owner = Owner()
    x = wg.zeros(2, dtype=wg.float64)
    code = status(0)
    owner.entry = make(Entry(code.address("body"), 1, owner.slow, inputs=(state(x, 0),)))
    assert owner.entry() is None
    assert owner.entry(1) is owner
    gone = weakref.ref(owner), weakref.ref(x)
    del owner, x
    gc.collect()
    assert [ref() for ref in gone] == [None, None]
