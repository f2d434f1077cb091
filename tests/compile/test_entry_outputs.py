"""Entries: the memory of large outputs, used again when nobody can see it any more."""

import gc
import weakref

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wengert as wg
from tests.compile.bodies import F8, array, body, calling, each_kind, entry, sums
from wengert.compile.call.entry.entry import KEPT, LARGE
from wengert.compile.trace.world.places import Array, Output

SHAPE = (4, LARGE // 32)


@each_kind
def make(request):
    return request.param


def doubling(make, kind=wg.Tensor, shape=SHAPE):
    """f(x): an array of which the first two elements are those of x + x."""
    fields = {
        "arguments": (Array(0, F8, (2,)),),
        "outputs": (Array(1, F8, shape, kind),),
        "results": (Output(0),),
    }
    return make(entry(sums(0, 0, out=1), **fields))


@pytest.fixture(params=[wg.Tensor, None], ids=["tensor", "array"])
def double(make, request):
    return doubling(make, request.param)


def plain(y):
    return y if type(y) is np.ndarray else y._array


def address(y):
    return plain(y).ctypes.data


def test_memory_that_nobody_sees_is_used_again(double):
    seen = []
    for i in range(6):
        y = double(array(i, 1.0))
        assert plain(y).ravel()[:2].tolist() == [2 * i, 2]
        seen.append(address(y))
    assert seen == seen[:2] * 3  # while a call runs, y is the result before
    del y
    assert len({address(double(array())) for _ in range(6)}) == 1


def test_small_outputs_are_fresh(make):
    f = doubling(make, None, (4, LARGE // 32 - 1))
    gone = weakref.ref(f(array()))
    assert gone() is None


def test_a_tensor_is_new_each_time(make):
    f = doubling(make)
    y = f(array())
    node, kept = weakref.ref(y), address(y)
    del y
    assert node() is None
    again = f(array())
    assert address(again) == kept
    assert type(again) is wg.Tensor
    assert (again._node, again._origin, again._cell) == (None, None, None)


HOLDS = {
    "itself": lambda y: y,
    "its array": plain,
    "a part": lambda y: plain(y)[:1],
    "another shape": lambda y: plain(y).reshape(-1),
    "a view of a view": lambda y: plain(y)[1:].T[:2],
    "a memoryview": lambda y: memoryview(plain(y)),
    "strided": lambda y: np.lib.stride_tricks.as_strided(plain(y), (2,), (8,)),
    "bytes": lambda y: plain(y).view(np.int8),
    "an iterator": lambda y: iter(plain(y)),
    "a buffer": lambda y: np.frombuffer(plain(y)),
    "DLPack": lambda y: np.from_dlpack(plain(y)),
    "a container": lambda y: [{"y": (y,)}],
    "a weak reference": lambda y: weakref.ref(plain(y)),
    "a tensor's view": lambda y: wg.from_numpy(plain(y))[0],
    "a tensor's iterator": lambda y: iter(wg.from_numpy(plain(y))),
}


@pytest.mark.parametrize("hold", HOLDS.values(), ids=HOLDS)
def test_what_somebody_holds_is_never_written(double, hold):
    y = double(array(1.0, 2.0))
    held, taken = hold(y), address(y)
    del y
    for i in range(5):
        assert address(double(array(i, 9.0))) != taken
    del held


def test_a_kept_result_keeps_its_numbers(double):
    results = [double(array(float(i), float(-i))) for i in range(5)]
    for i, y in enumerate(results):
        assert plain(y).ravel()[:2].tolist() == [2 * i, -2 * i]
    assert len(set(map(address, results))) == 5


def locked(y):
    y.flags.writeable = False


def resized(y):
    y.resize((SHAPE[0] * SHAPE[1] // 2,), refcheck=False)


def retyped(y):
    with np.errstate(all="ignore"):
        y.dtype = np.int64


def reshaped(y):
    y.shape = (-1,)


@pytest.mark.parametrize("change", [locked, resized, reshaped, retyped])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_array_that_became_another_is_left_alone(make, change):
    f = doubling(make, None)
    y = f(array())
    change(y)
    number = id(y)
    del y
    for i in range(3):
        y = f(array(i, 3.0))
        assert id(y) != number
        assert (y.shape, y.dtype, y.flags.writeable) == (SHAPE, F8, True)
        assert y[0, :2].tolist() == [2 * i, 6]
        del y


def test_no_more_than_two_arrays_are_kept_and_they_go_with_the_entry(make):
    f = doubling(make, None)
    results = [f(array()) for _ in range(5)]
    gone = [weakref.ref(y) for y in results]
    del results
    gc.collect()
    assert [ref() is not None for ref in gone] == [False] * (5 - KEPT) + [True] * KEPT
    del f
    gc.collect()
    assert not any(ref() is not None for ref in gone)


def test_two_outputs_have_arrays_of_their_own(make):
    outputs = tuple(Array(k, F8, SHAPE) for k in (1, 2))
    results = (Output(0), Output(1))
    arguments = (Array(0, F8, (2,)),)
    code = sums(0, 0, out=1)
    f = make(entry(code, arguments=arguments, outputs=outputs, results=results, many=True))
    for _ in range(3):
        a, b = f(array())
        assert address(a) != address(b)


def test_a_result_may_be_the_next_argument(make):
    def write(build, pointer):  # out[0] = x[0] + 1
        one = build.load(pointer(0))
        build.store(build.fadd(one, one.type(1.0)), pointer(1))

    arguments, outputs = (Array(0, F8, SHAPE),), (Array(1, F8, SHAPE),)
    f = make(entry(body(write), arguments=arguments, outputs=outputs, results=(Output(0),)))
    y = np.zeros(SHAPE)
    for i in range(1, 8):
        before = y
        y = f(y)
        assert (before[0, 0], y[0, 0]) == (i - 1, i)
        del before


def test_a_failed_call_gives_its_array_back(make):
    fields = {"outputs": (Array(0, F8, SHAPE),), "results": (Output(0),)}

    def broken():
        raise KeyboardInterrupt

    f = calling(make, broken, calls=True, **fields)
    for _ in range(5):
        with pytest.raises(KeyboardInterrupt):
            f()


def test_a_compiled_function_uses_memory_again():
    f = wg.compile(lambda x: x * 2 + 1)
    x = wg.ones(LARGE // 4)
    for _ in range(3):
        y = f(x)
    seen = set()
    for _ in range(6):
        y = f(x)
        seen.add(address(y))
    assert len(seen) == 2
    held = y[3:]
    del y
    f(x * 5)
    f(x * 5)
    assert held[0].item() == 3
