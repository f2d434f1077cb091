"""Entries: what a call checks, hands to the body, and gives back; native and in Python alike."""

import dataclasses
import gc
import pickle
import sys
import sysconfig
import weakref
from collections import OrderedDict, defaultdict
from types import CellType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.compile.bodies import (
    BYTE,
    F8,
    Slow,
    array,
    body,
    each_kind,
    entry,
    ir,
    reference_entry,
    state,
    status,
    sums,
)
from wengert.compile.call.entry import entries
from wengert.compile.call.entry.entry import Entry
from wengert.compile.call.specialization import wrote as count
from wengert.compile.trace.arguments import Spread, flatten
from wengert.compile.trace.world.places import (
    Aliasing,
    Argument,
    Array,
    Input,
    Item,
    Known,
    Number,
    Output,
    Variable,
)
from wengert.history.node import AccumulateGrad, Node, tick
from wengert.tensor import wrap


@each_kind
def make(request):
    return request.param


# ---- arguments ----------------------------------------------------------------------------


def adding(make, slow, a=None, b=None, apart=None, **fields):
    """f(x, y) = x + y, for arrays of two elements; those of y are so many `apart`."""
    strides = None if apart is None else (8 * apart,)
    return make(
        entry(
            sums(0, 1, out=2),
            slow=slow,
            arguments=(Array(0, F8, (2,), a, **fields), Array(1, F8, (2,), b, strides=strides)),
            outputs=(Array(2, F8, (2,)),),
            results=(Output(0),),
        )
    )


def test_arrays_come_in_and_go_out(make):
    slow = Slow()
    f = adding(make, slow)
    out = f(array(1.0, 2.0), array(10.0, 20.0))
    assert type(out) is np.ndarray
    assert out.tolist() == [11, 22]
    assert f(array(1.0, 2.0), array(0.0, 0.0)) is not out
    assert not slow.calls
    assert f.__name__ == "compiled"


@pytest.mark.parametrize(
    "wrong",
    [
        array(1.0, 2.0, 3.0),
        np.zeros((2, 1)),
        np.zeros((1, 2)),
        np.zeros(()),
        np.zeros(2, np.float32),
        np.zeros(2, np.int64),
        np.zeros(2, ">f8"),
        np.ma.zeros(2),
        [1.0, 2.0],
        1.0,
        None,
        wg.zeros(2, dtype=wg.float64),
    ],
    ids=lambda x: f"{type(x).__name__}{getattr(x, 'shape', '')}{getattr(x, 'dtype', '')}",
)
@pytest.mark.parametrize("first", [True, False])
def test_what_is_not_such_an_array_goes_the_slow_way(make, wrong, first):
    slow = Slow()
    f = adding(make, slow)
    args = (wrong, array()) if first else (array(), wrong)
    assert f(*args) == "slow"
    ((seen, _),) = slow.calls
    assert all(a is b for a, b in zip(seen, args, strict=True))
    assert f(array(), array()).tolist() == [2, 4]


STRIDED = {
    "every other": np.arange(4.0)[::2],
    "backwards": np.arange(2.0)[::-1],
    "unaligned": np.frombuffer(bytes(1) + np.arange(2.0).tobytes(), np.float64, offset=1),
    "expanded": np.broadcast_to(np.float64(3), (2,)),
    "a column": np.arange(6.0).reshape(2, 3)[:, 1],
}


@pytest.mark.parametrize("name", STRIDED)
def test_an_array_of_other_strides_is_read_from_a_copy(make, name):
    slow, x = Slow(), STRIDED[name]
    strides = None if x.flags.c_contiguous else x.strides
    f, expected = adding(make, slow, strides=strides), (x + np.array([10.0, 20.0])).tolist()
    before = sys.getrefcount(x)
    for _ in range(3):
        assert f(x, array(10.0, 20.0)).tolist() == expected
        assert strides is None or f(array(10.0, 20.0), array()) == "slow"
    assert sys.getrefcount(x) == before
    assert len(slow.calls) == (strides is not None) * 3
    f = adding(make, slow, wg.Tensor, strides=strides)
    assert f(wrap(x), array(10.0, 20.0)).tolist() == expected
    assert adding(make, slow, strides=strides, written=True)(x, array()) == "slow"
    assert f(wrap(x), 1.0) == "slow"
    slow.calls.clear()
    assert sys.getrefcount(x) == before


@pytest.mark.parametrize("name", STRIDED)
def test_an_array_may_have_any_strides_where_that_is_said(make, name):
    slow = Slow()
    f = adding(make, slow, strides=...)
    for x in (STRIDED[name], array(3.0, 4.0), np.zeros((2, 2)).T[0]):
        assert f(x, array(10.0, 20.0)).tolist() == (x + np.array([10.0, 20.0])).tolist()
    assert not slow.calls


@pytest.mark.parametrize("step", [2, -2])
def test_what_is_read_from_a_copy_is_apart_from_what_is_written(make, step):
    slow, memory = Slow(), np.zeros(12)
    f, strided = adding(make, slow, written=True, apart=step), memory[4:8][::step]
    for k in range(11):
        overlaps = abs(2 * k + 1 - 2 * (5 if step > 0 else 6)) < 5
        assert (type(f(memory[k : k + 2], strided)) is str) is overlaps
    f = adding(make, slow, written=True, apart=6)
    assert f(memory[10:12], memory[::6]).tolist() == [0, 0]
    assert f(memory[6:8], memory[::6]) == "slow"
    f = adding(make, slow, written=True, apart=-6)
    assert f(memory[5:7], memory[::-6]) == "slow"


def test_other_numbers_of_arguments_and_keywords_go_the_slow_way(make):
    slow = Slow()
    f = adding(make, slow)
    x = array()
    assert f(x) == f(x, x, x) == f() == f(x, y=x) == f(x, x, z=1) == "slow"
    assert [(len(args), kwargs) for args, kwargs in slow.calls] == [
        (1, {}),
        (3, {}),
        (0, {}),
        (1, {"y": x}),
        (2, {"z": 1}),
    ]


def test_an_exception_of_the_slow_way_is_the_callers(make):
    def slow(*_):
        raise ZeroDivisionError("slowly")

    f = adding(make, slow)
    with pytest.raises(ZeroDivisionError, match="slowly"):
        f(1, 2)


def test_an_unpickled_array_is_as_good_as_another(make):
    slow = Slow()
    f = adding(make, slow)
    x = pickle.loads(pickle.dumps(array()))
    odd = array().view(np.dtype("<f8", metadata={"an": "instance of its own"}))
    assert odd.dtype is not F8
    assert f(x, odd).tolist() == [2, 4]
    assert not slow.calls


def test_read_only_memory_can_be_read_but_not_written(make):
    slow = Slow()
    x = array()
    x.flags.writeable = False
    assert adding(make, slow)(x, array()).tolist() == [2, 4]
    assert adding(make, slow, written=True)(x, array()) == "slow"


def test_tensors_come_in(make):
    slow = Slow()
    f = adding(make, slow, wg.Tensor, wg.Tensor)
    x = wg.tensor([1.0, 2.0], dtype=wg.float64)
    assert f(x, x.clone()).tolist() == [2, 4]
    assert not slow.calls
    tracked = x.clone().requires_grad_()
    with wg.inference_mode():
        inference = x.clone()
    parameter = wg.nn.Parameter(x, requires_grad=False)
    for other in (tracked, tracked * 2, inference, parameter, array(), None, x.float()):
        assert f(other, x) == "slow"
        assert f(x, other) == "slow"
    view = wg.zeros(4, dtype=wg.float64)[1:3]
    assert f(view, x).tolist() == [1, 2]
    base = wg.zeros(4, dtype=wg.float64, requires_grad=True)
    with wg.no_grad():
        unrecorded = base[1:3]
    assert f(unrecorded, x) == "slow"  # it counts as a leaf of its own
    slotless = object.__new__(wg.Tensor)
    if make is not reference_entry:
        slotless._node = slotless._origin = None
        assert f(slotless, x) == "slow"


def test_history_and_other_classes_may_be_allowed(make):
    slow = Slow()
    x = wg.tensor([1.0, 2.0], dtype=wg.float64, requires_grad=True)
    plain = x.detach().clone()
    for history in (AccumulateGrad, ...):
        f = adding(make, slow, wg.Tensor, wg.Tensor, history=history)
        assert f(x, plain).tolist() == [2, 4]
        f = adding(make, slow, wg.nn.Parameter, wg.Tensor, history=history)
        assert f(wg.nn.Parameter(plain.clone()), plain).tolist() == [2, 4]
    assert not slow.calls
    # What was linked for one with history took one without, and its results required grad.
    leaf = adding(make, slow, wg.Tensor, wg.Tensor, history=AccumulateGrad)
    assert leaf(plain.clone(), plain) == "slow"
    # What was linked for a leaf took what was computed, whose gradients go elsewhere.
    assert leaf(x * 1, plain) == "slow"
    computed = adding(make, slow, wg.Tensor, wg.Tensor, history=Node)
    assert computed(x * 1, plain).tolist() == [2, 4]
    assert computed(x, plain) == computed(plain.clone(), plain) == "slow"
    assert adding(make, slow, wg.Tensor, wg.Tensor)(x, plain) == "slow"


class Whole(int):
    pass


def copying(make, slow, kind, source=None):
    """A number comes in and goes out as the same bits."""
    size = np.dtype(kind).itemsize
    word = ir.ArrayType(BYTE, size)

    def write(build, pointer):
        build.store(build.load(pointer(0, word)), pointer(1, word))

    number = Number(0, kind)
    fields = {"inputs": (Input(source, number),)} if source else {"arguments": (number,)}
    scalar = issubclass(kind, np.generic)
    output = Array(1, np.dtype(kind), (), scalar=True) if scalar else Number(1, kind)
    return make(entry(body(write), slow=slow, outputs=(output,), results=(Output(0),), **fields))


NUMBERS = {
    float: [0.5, -0.0, float("inf"), 1e-320],
    complex: [0.5 - 1j, complex(-0.0, float("inf"))],
    int: [0, -1, 5, 2**63 - 1, -(2**63)],
    bool: [True, False],
    np.float64: [np.float64(0.5), np.float64("-inf")],
    np.float32: [np.float32(0.1), np.float32(-0.0)],
    np.complex128: [np.complex128(1 - 2j)],
    np.uint8: [np.uint8(255), np.uint8(0)],
    np.int64: [np.int64(-(2**63))],
    np.bool_: [np.True_, np.False_],
}
OTHERS = [0.5, 3, True, 2**63, -(2**64), np.float64(1), np.int64(1), Whole(3), "x", None, 1j]
OTHERS += [np.float32(1), np.uint8(1), np.bool_(1), np.complex128(1), np.array(1.0)]


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_come_in_and_go_out_exactly(make, kind):
    slow = Slow()
    f = copying(make, slow, kind)
    for number in NUMBERS[kind]:
        out = f(number)
        assert type(out) is type(number)
        assert str(out) == str(number)
    assert not slow.calls
    for other in OTHERS:
        if type(other) is not kind or other is OTHERS[3] or other is OTHERS[4]:
            assert f(other) == "slow"


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("where", ["dict", "cell"])
def test_numbers_are_read_from_where_they_are_at_the_call(make, kind, where):
    slow = Slow()
    members, cell = {"lr": NUMBERS[kind][0]}, CellType(NUMBERS[kind][0])
    source = Item(members, "lr") if where == "dict" else Variable(cell)
    f = copying(make, slow, kind, source)
    for number in NUMBERS[kind]:
        members["lr"] = cell.cell_contents = number
        assert str(f()) == str(number)
    assert not slow.calls
    members["lr"] = cell.cell_contents = "high"
    assert f() == "slow"
    del members["lr"], cell.cell_contents
    assert f() == "slow"


def test_a_fixed_argument_is_that_very_object(make):
    slow, thing = Slow(), object()
    f = make(entry(status(0), slow=slow, arguments=(thing, None)))
    assert f(thing, None) is None
    assert f(object(), None) == f(thing, 0) == "slow"


# ---- containers and keywords ---------------------------------------------------------------


class Pair(NamedTuple):
    x: Any
    y: Any


@dataclasses.dataclass
class Batch:
    x: Any
    y: Any


def adding_of(make, slow, *args, **kwargs):
    """f(*args, **kwargs) = the sum of the two arrays in this structure."""
    leaves = []
    structure = flatten((args, kwargs), leaves)
    assert len(leaves) == 2
    return make(
        Entry(
            (code := sums(0, 1, out=2)).address("body"),
            8,
            slow,
            spread=Spread.of(structure),
            inputs=tuple(Input(Argument(i), Array(i, F8, (2,))) for i in (0, 1)),
            outputs=(Array(2, F8, (2,)),),
            results=(Output(0),),
            keep=code,
        )
    )


HELD = {
    "tuple": lambda x, y: ((x, y),),
    "list": lambda x, y: ([x, y],),
    "dict": lambda x, y: ({"x": x, "y": y},),
    "dict of numbers": lambda x, y: ({1: x, (2, 3): y},),
    "named tuple": lambda x, y: (Pair(x, y),),
    "dataclass": lambda x, y: (Batch(x, y),),
    "namespace": lambda x, y: (SimpleNamespace(x=x, y=y),),
    "ordered": lambda x, y: (OrderedDict(x=x, y=y),),
    "default": lambda x, y: (defaultdict(list, x=x, y=y),),
    "nested": lambda x, y: ([(), {"a": (x, [])}], {"b": y}),
    "two": lambda x, y: ((x,), [y]),
    "none": lambda x, y: (x, y),
}
_JOINED = "".join(["x", "yz"])  # equal to other strings without being them


@pytest.mark.parametrize("name", HELD)
def test_arrays_come_in_containers(make, name):
    slow, x, y = Slow(), array(), array(10.0, 20.0)
    f = adding_of(make, slow, *HELD[name](x, y))
    for _ in range(3):
        assert f(*HELD[name](x, y)).tolist() == [11, 22]
    assert not slow.calls
    for other, hold in HELD.items():
        if other != name:
            assert f(*hold(x, y)) == "slow"
    assert f(*HELD[name](x, y)).tolist() == [11, 22]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x, y: ({"y": y, "x": x},),
        lambda x, y: ({"x": x},),
        lambda x, y: ({"x": x, "z": y},),
        lambda x, y: ({"x": x, "y": y, "z": y},),
        lambda x, y: ({"x": x, 1: y},),
    ],
)
def test_a_dictionary_has_its_keys_in_their_order(make, wrong):
    slow, x, y = Slow(), array(), array()
    f = adding_of(make, slow, {"x": x, "y": y})
    assert f(*wrong(x, y)) == "slow"
    assert f({"x": x, "".join(["", "y"]): y}).tolist() == [2, 4]


def test_a_dictionary_that_was_put_into_another_order_is_another(make):
    slow, x, y = Slow(), array(), array()
    f = adding_of(make, slow, OrderedDict(x=x, y=y))
    moved = OrderedDict(x=x, y=y)
    moved.move_to_end("x")
    assert f(moved) == "slow"


def _emptied(x, y):
    """A dictionary's table keeps the places of keys that went."""
    found = {"gone": y, "x": x, "went": x, "y": y}
    del found["gone"], found["went"]
    return found


def _begun_with_numbers(x, y):
    found = {0: y, "x": x, "y": y}
    del found[0]
    return found


KEPT = {
    "strings": lambda x, y: {"x": x, "y": y},
    "some went": _emptied,
    "keys shared with instances": lambda x, y: vars(Batch(x, y)),
    "a table for all kinds of keys": _begun_with_numbers,
}


@pytest.mark.parametrize("name", KEPT)
def test_a_dictionary_is_opened_however_it_keeps_its_entries(make, name):
    slow, x, y = Slow(), array(), array(10.0, 20.0)
    f = adding_of(make, slow, KEPT[name](x, y))
    for kept in KEPT.values():
        assert f(kept(x, y)).tolist() == [11, 22]
        assert not slow.calls
        assert f(kept(x, y) | {"z": x}) == f({"w": y} | kept(x, y)) == "slow"
        slow.calls.clear()


def test_equal_keys_are_as_good_as_the_same(make):
    slow, x, y = Slow(), array(), array()
    f = adding_of(make, slow, {"x": x, "xyz": y})
    assert f({"x": x, _JOINED: y}).tolist() == [2, 4]
    assert not slow.calls


def test_arguments_come_by_name(make):
    slow, x, y = Slow(), array(), array()
    f = adding_of(make, slow, x, y=y)
    assert f(x, y=y).tolist() == [2, 4]
    assert not slow.calls
    for args, kwargs in [((x, y), {}), ((x,), {"z": x}), ((x,), {}), ((), {"x": x, "y": y})]:
        assert f(*args, **kwargs) == "slow"
        assert slow.calls[-1] == (args, kwargs)
    f = adding_of(make, slow, x=x, xyz=y)
    count = len(slow.calls)
    assert f(x=x, xyz=y).tolist() == f(x=x, **{_JOINED: y}).tolist() == [2, 4]
    assert len(slow.calls) == count
    assert f(xyz=y, x=x) == "slow"  # **kwargs would be in that order


def test_parts_that_were_made_for_a_call_are_let_go(make):
    x = array()
    f = adding_of(make, Slow(), Batch(x, array()))
    batch, other = Batch(x, array()), Batch(x, None)
    f(batch)
    before = sys.getrefcount(x), sys.getrefcount(batch)
    for _ in range(5):
        f(batch)
        assert f(other) == "slow"
    assert (sys.getrefcount(x), sys.getrefcount(batch)) == before


# ---- states and memory ---------------------------------------------------------------------


def test_a_state_is_read_at_each_call_and_written_in_place(make):
    slow = Slow()
    x = wg.tensor([1.0, 2.0], dtype=wg.float64)
    step = array(10.0, 20.0)
    f = make(
        entry(
            sums(0, 1, out=0),
            slow=slow,
            inputs=(state(x, 0, written=True), state(step, 1)),
        )
    )
    assert f() is None
    assert x.tolist() == [11, 22]
    x._array = array(5.0, 5.0)
    f()
    assert x.tolist() == [15, 25]
    for other in (np.zeros(3), np.zeros(2, np.float32), np.zeros(4)[::2], None):
        x._array = other
        assert f() == "slow"
    x._array = array()
    x._array.flags.writeable = False
    assert f() == "slow"


def counting(make, x, writes, **fields):
    """An entry that writes to x."""
    read = dataclasses.replace(state(x, 0, written=True), writes=writes)
    return make(entry(status(0), inputs=(read,), **fields))


def test_writes_are_counted_in_shared_cells_and_told_of_all_others(make):
    # Cells that a tensor alone had were passed over: a node that saved the tensor saw nothing.
    told = []
    x = wg.zeros(2, dtype=wg.float64)
    f = counting(make, x, 3, wrote=lambda *write: (told.append(write), count(*write)))
    assert f() is None
    assert told == [(x, 3)]
    cell, before = x._cell, x._cell.stamp
    f()
    assert len(told) == (2 if make is reference_entry else 1)
    assert x._cell is cell
    assert (x._version, cell.count) == (6, 6)
    assert before < cell.stamp == cell.rewritten < tick()
    assert cell.writer[0] == "a compiled function"
    with wg.no_grad():
        x.add_(1)
    assert (x._version, cell.writer[0]) == (7, "add_")
    f()
    assert (x._version, cell.writer[0]) == (10, "a compiled function")


def test_a_write_to_what_has_history_does_not_rewrite_it(make):
    x = wg.zeros(2, dtype=wg.float64, requires_grad=True)
    f = counting(make, x, 1, wrote=count)
    f()
    f()
    assert x._cell.rewritten == 0


def test_writes_to_views_and_to_inference_tensors_are_told_of(make):
    told = []
    x = wg.zeros(4, dtype=wg.float64)[:2]
    with wg.inference_mode():
        y = wg.zeros(2, dtype=wg.float64)
    for tensor in (x, y):
        f = counting(make, tensor, 1, wrote=lambda *write: (told.append(write), count(*write)))
        f()
        f()
    assert told == [(x, 1), (x, 1), (y, 1), (y, 1)]
    assert x._origin.base._version == 2
    assert y._cell is None


def test_a_written_argument_is_counted(make):
    pair = (Array(0, F8, (2,), wg.Tensor, written=True), Array(1, F8, (2,)))
    inputs = tuple(Input(Argument(i), form, 1 - i) for i, form in enumerate(pair))
    made = entry(sums(0, 1, out=0), arguments=pair, wrote=count)
    f = make(dataclasses.replace(made, inputs=inputs))
    x = wg.tensor([1.0, 2.0], dtype=wg.float64)
    for k in (1, 2, 3):
        f(x, array())
        assert x._version == k


def test_an_exception_when_told_is_the_callers(make):
    def wrote(*_):
        raise RuntimeError("told")

    x = wg.zeros(2, dtype=wg.float64)
    f = counting(make, x, 1, wrote=wrote)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="told"):
            f()


def test_memory_that_is_written_must_not_be_anything_elses(make):
    slow = Slow()
    memory = np.zeros(6)
    x, y = wrap(memory[:2]), wrap(memory[2:4])
    f = make(
        entry(
            sums(0, 1, 2, out=0),
            slow=slow,
            arguments=(Array(2, F8, (2,)),),
            inputs=(state(x, 0, written=True), state(y, 1)),
        )
    )
    assert f(array()) is None
    assert f(memory[2:4]) == "slow"  # two that are read, but are not said to be one
    assert f(memory[4:6]) is None
    assert f(memory[0:2]) == f(memory[1:3]) == "slow"
    y._array = memory[1:3]
    assert f(array()) == f(array()) == "slow"
    y._array = memory[4:6]
    assert f(array()) is None
    x._array = memory[3:5]
    assert f(array()) == "slow"


@pytest.mark.parametrize("one_object", [True, False])
def test_arguments_that_are_said_to_be_one_must_be(make, one_object):
    one = (Aliasing(Argument(0), Argument(1), one_object),)
    slow = Slow()
    pair = (Array(0, F8, (2,)), Array(1, F8, (2,)))
    f = make(entry(status(0), slow=slow, arguments=pair, aliasing=one))
    x = array()
    assert f(x, x) == (None if one_object else "slow")
    assert f(x, x[:]) == ("slow" if one_object else None)
    assert f(x, array()) == "slow"


def test_many_arguments_are_told_apart_in_any_order(make):
    # They were held against one another pair by pair: 64 arrays took 6 us, 1 us without.
    count = 9
    forms = tuple(Array(i, F8, (2,), written=i == 4) for i in range(count))
    f = make(entry(status(0), buffers=count, slow=Slow(), arguments=forms))
    memory, order = np.zeros(2 * count + 1), np.random.default_rng(0)
    for _ in range(50):
        at = 2 * order.permutation(count)
        assert f(*(memory[k : k + 2] for k in at)) is None
        one, other = order.choice(count, 2, replace=False)
        at[one] = at[other] + order.integers(2)
        written = at[4]
        apart = all(abs(k - written) >= 2 for i, k in enumerate(at) if i != 4)
        expected = None if apart and len(set(at)) == count else "slow"
        assert f(*(memory[k : k + 2] for k in at)) == expected


def test_two_written_arguments_must_be_apart_but_empty_ones_always_are(make):
    code = status(0)
    two = make(entry(code, arguments=tuple(Array(i, F8, (2,), written=True) for i in (0, 1))))
    x = np.zeros(3)
    assert two(x[:2], x[1:]) == "slow"
    assert two(x[:2], array()) is None
    shapes = ((0,), (3,))
    empty = make(
        entry(code, arguments=tuple(Array(i, F8, s, written=True) for i, s in enumerate(shapes)))
    )
    assert empty(x[1:1], x) is None


def test_fixed_buffers_are_where_they_were_put_and_kept(make):
    constant = array(3.0, 4.0)
    gone = weakref.ref(constant)
    f = make(
        entry(
            sums(0, 1, out=2),
            arguments=(Array(0, F8, (2,)),),
            fixed=((1, constant.ctypes.data, constant),),
            outputs=(Array(2, F8, (2,)),),
            results=(Output(0),),
        )
    )
    del constant
    gc.collect()
    assert f(array(1.0, 1.0)).tolist() == [4, 5]
    del f
    gc.collect()
    assert gone() is None


# ---- what goes out -------------------------------------------------------------------------


def test_a_tensor_goes_out_as_wrap_would_make_it(make):
    outputs = (Array(1, F8, (2,), wg.Tensor), Array(2, F8, (), wg.nn.Parameter))
    f = make(
        entry(
            sums(0, 0, out=1),
            arguments=(Array(0, F8, (2,)),),
            outputs=outputs,
            results=(Output(0), Output(1)),
            many=True,
        )
    )
    out, scalar = f(array())
    assert type(out) is wg.Tensor
    assert type(scalar) is wg.nn.Parameter
    assert out.tolist() == [2, 4]
    assert (out._node, out._origin, out._cell, out.__dict__) == (None, None, None, {})
    made = wrap(array())
    count, usual = sys.getrefcount(out._array), sys.getrefcount(made._array)
    assert count == usual
    assert scalar.shape == ()
    assert gc.is_tracked(out)
    out.name = "has attributes"
    (out.requires_grad_() * 2).sum().backward()
    assert out.grad.tolist() == [2, 2]


def test_a_tensor_goes_out_with_the_history_that_is_said(make):
    node = object()
    output = Array(1, F8, (2,), wg.Tensor, node=node)
    f = make(
        entry(
            sums(0, 0, out=1),
            outputs=(output,),
            results=(Output(0),),
            arguments=(Array(0, F8, (2,)),),
        )
    )
    before = sys.getrefcount(node)
    out = f(array())
    assert out._node is node
    assert sys.getrefcount(node) == before + 1
    del out
    assert sys.getrefcount(node) == before


def test_results_may_be_many_and_of_all_kinds(make):
    thing = object()
    results = (
        Output(1),
        Known(thing),
        Argument(0),
        Output(0),
        Output(1),
    )
    fields = {
        "arguments": (Array(0, F8, (2,)),),
        "outputs": (Number(1, int), Array(2, F8, (3, 0), wg.Tensor)),
        "results": results,
    }
    x = array()
    out = make(entry(status(0), many=True, **fields))(x)
    assert type(out) is tuple
    assert out[0] is out[4]
    assert out[0].shape == (3, 0)
    assert out[1] is thing
    assert out[2] is x
    assert out[3] == 0
    rebuilt = make(entry(status(0), many=True, rebuild=list, **fields))(x)
    assert type(rebuilt) is list
    assert rebuilt[2] is x
    assert make(entry(status(0), many=True))() == ()
    assert make(entry(status(0), results=(Known(thing),)))() is thing

    def refuse(_):
        raise ValueError("cannot be built")

    with pytest.raises(ValueError, match="cannot be built"):
        make(entry(status(0), many=True, rebuild=refuse, **fields))(x)


# ---- which kind ----------------------------------------------------------------------------


def test_the_fallback_is_taken_where_layouts_are_unknown(monkeypatch):
    from wengert.compile.call.entry import layouts

    def unknown():
        raise layouts.LayoutError("none of this is known")

    monkeypatch.setattr(layouts, "layouts", unknown)
    entries.is_native.cache_clear()
    try:
        f = entries.make(entry(status(0)))
        assert "function" in type(f).__name__
        assert not type(f).__name__.startswith("builtin")
        assert f() is None
    finally:
        entries.is_native.cache_clear()


@pytest.mark.skipif(
    sys.implementation.name != "cpython" or bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    reason="native entries are for CPython with its lock",
)
def test_entries_are_native_here():
    assert entries.is_native()
    assert entries.make(entry(status(0), name="step")).__name__ == "step"
