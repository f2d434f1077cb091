"""Large loops and products in parts that threads share: bit by bit the same for any number."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import data, integers, sampled_from
from llvmlite import ir

import wengert as wg
from tests.compile.kernels import compiled, interpret
from tests.compile.random_kernels import copies, kernels
from wengert.compile.llvm.library import matmul
from wengert.compile.llvm.library.blocks import suits
from wengert.compile.llvm.machine.threads import address
from wengert.compile.llvm.nests import parts, pieces
from wengert.compile.plan.kernel import Access, Apply, Kernel, Load, Reduce, Store
from wengert.compile.plan.plan import Layout, Multiply, Place

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def number_of_threads(monkeypatch):
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        monkeypatch.setenv(name, "1")  # a BLAS with threads of its own is left larger products
    before = wg.get_num_threads()
    yield
    wg.set_num_threads(before)


def tensor(*shape, dtype="f4"):
    return wg.tensor(RNG.normal(size=shape).astype(dtype))


def gradient(x, w):
    loss = lambda w: wg.nn.functional.softmax((x @ w).tanh(), -1).pow(2).sum()
    return wg.grad(loss)(w)


CASES = {
    "elements": (lambda x: (x.sin() * x.exp() + x).tanh(), [tensor(500_017)]),
    "rows": (lambda x: x.softmax(-1), [tensor(515, 512)]),
    "broadcast": (lambda a, b: (a[:, None] * b).sin(), [tensor(520), tensor(520, 700)]),
    "transposed": (lambda a, b: (a.T + b).tanh(), [tensor(700, 610), tensor(610, 700)]),
    "product": (lambda a, b: a @ b, [tensor(300, 200), tensor(200, 260)]),
    "wide product": (lambda a, b: a @ b, [tensor(40, 500), tensor(500, 600)]),
    "batch": (lambda a, b: a @ b, [tensor(9, 100, 110), tensor(9, 110, 120)]),
    "one for all": (lambda a, b: a @ b, [tensor(9, 100, 110), tensor(110, 120)]),
    "gradient": (gradient, [tensor(300, 256), tensor(256, 256, dtype="f4")]),
}


@pytest.mark.parametrize("name", CASES)
def test_results_are_the_same_for_every_number_of_threads(name):
    f, args = CASES[name]
    shared = wg.compile(f)
    wg.set_num_threads(1)
    one = shared(*args)
    assert np.allclose(one, f(*args), rtol=1e-3, atol=1e-4)
    for number in (2, 3, 5, 2):
        wg.set_num_threads(number)
        for _ in range(3):
            assert np.array_equal(shared(*args), one)


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(kernels())
def test_random_kernels_in_parts(case):
    kernel, arrays = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "WORTH", 0)
        patch.setattr(parts, "LEAST", 1)
        found = parts.of_kernel(kernel)
    if found is None:
        return
    known, whole = copies(arrays), copies(arrays)
    interpret(kernel, known)
    with np.errstate(all="ignore"):
        run_parts(found, whole)
    agree(kernel, whole, known)


def run_parts(found, arrays):
    cut, part, last = found
    for k in range(cut.parts):
        moved = [
            arrays[number].reshape(-1).ctypes.data + k * move
            for number, move in zip(cut.buffers, cut.moves, strict=True)
        ]
        run = compiled(part if k < cut.parts - 1 else last)  # it keeps the code alive
        run.function(*moved)


def agree(kernel, whole, known):
    tolerance = 2e-2 if np.dtype("f2") in kernel.buffers else 1e-4
    for mine, theirs in zip(whole, known, strict=True):
        pair = mine.astype("f8"), theirs.astype("f8")
        np.testing.assert_allclose(*pair, rtol=tolerance, atol=tolerance)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(kernels(), data())
def test_random_kernels_in_pieces(case, data):
    # Rows were never cut: the sum of ten million numbers was one thread's, whatever their number.
    kernel, arrays = case
    loops = [k for k in pieces.reduced(kernel) if kernel.extents[k] > 1]
    if not loops or 0 in kernel.extents:
        return
    loop = data.draw(sampled_from(loops))
    found = pieces.cut(kernel, loop, data.draw(integers(1, kernel.extents[loop] - 1)))
    if found is None:
        return
    known, whole = copies(arrays), copies(arrays)
    left = [np.full(size, 77, dtype) for dtype, size in found.scratch]
    interpret(kernel, known)
    with np.errstate(all="ignore"):
        for number, (step, last) in enumerate(found.steps):
            if number == 2 and found.doubt is not None and not (whole + left)[found.doubt][0]:
                compiled(kernel)(*whole)
                break
            if last is None:
                compiled(step)(*whole, *left)
            else:
                run_parts(parts.by_pieces(step, last), whole + left)
    agree(kernel, whole, known)


def some_written(x, y, z):
    total, a, b = (x * y * z).sum(), y * 2 + z, x + y
    x.copy_(a)
    y.copy_(b)
    return total


def all_written(x, y, z):
    total, a, b = (x * y * z).sum(), y.exp() + z, x.sin() + y.exp()
    y.copy_(b)
    x.copy_(a)
    z.copy_(x + b)
    return total


@pytest.mark.parametrize("f", [some_written, all_written])
def test_pieces_of_long_rows_read_all_that_they_write_over_first(f):
    # y became 2 y + z + y: x was written before the second of the results read it.
    given, expected = ([wg.linspace(k, k + 1, 100_003) for k in range(3)] for _ in range(2))
    assert wg.allclose(wg.compile(f)(*given), f(*expected), rtol=1e-5)
    for found, known in zip(given, expected, strict=True):
        assert wg.allclose(found, known)


LONG = 1_000_003
PIECES = {
    "sum": lambda x: x.sum(),
    "log-sum-exp": lambda x: x.logsumexp(0),
    "softmax": lambda x: x.softmax(0),
    "variance": lambda x: x.var(),
    "extrema": lambda x: (x.argmax(), x.argmin(), x.max()),
    "few columns": lambda x: x[: LONG // 3 * 3].reshape(-1, 3).exp().sum(0),
    "few rows": lambda x: x[: LONG // 3 * 3].reshape(3, -1).softmax(1).amax(1),
    "gradient": wg.grad(lambda x: (x.exp() * x.sin()).sum() + x.logsumexp(0)),
}


@pytest.mark.parametrize("name", PIECES)
@pytest.mark.parametrize("holds", [None, "some masked", "a part masked", "inf", "nan"])
def test_long_rows_in_pieces_are_the_rows_whatever_they_hold(name, holds):
    f, x = PIECES[name], RNG.normal(size=LONG).astype("f4")
    if holds is not None:
        value = {"inf": np.inf, "nan": np.nan}.get(holds, -np.inf)
        x[slice(300_000) if holds == "a part masked" else [7, 600_000, LONG - 1]] = value
    shared = wg.compile(f)
    found = []
    for number in (1, 2, 3):
        wg.set_num_threads(number)
        found.append([np.asarray(y) for y in wg.tree.leaves(shared(wg.tensor(x)))])
    with np.errstate(all="ignore"):
        known = [np.asarray(y) for y in wg.tree.leaves(f(wg.tensor(x, dtype=wg.float64)))]
    for one, *others, exact in zip(*found, known, strict=True):
        for other in others:
            assert one.tobytes() == other.tobytes()
        np.testing.assert_allclose(one, exact, rtol=2e-5, atol=1e-6)


def test_rows_that_read_others_together_are_together_in_a_part():
    # Forty rows were parts of four, where eight turn what they read about once for all.
    f8 = np.dtype("f8")
    load = (Load(Access(0, (0, 16, 1)), f8), Load(Access(1, (16, 0, 1)), f8))
    far = (Apply("subtract", (0, 1), f8), Apply("multiply", (2, 2), f8), Reduce("add", 3, f8))
    store = (Store(Access(2, (1000, 1, 0)), 4),)
    whole = Kernel((40, 1000, 16), 2, (load + far, store), (f8,) * 3, (2,))
    cut, part, last = parts.of_kernel(whole)
    assert part.extents == last.extents == (8, 1000, 16)
    assert cut.parts == 5


def test_products_that_are_cut_alike_share_the_function_of_a_part():
    # Each had a copy: the same layers of a network were compiled as often as there were layers.
    f4, module = np.dtype("f4"), ir.Module("parts")
    at = lambda number, shape: Layout(Place("input", number), shape, (shape[1], 1), f4)
    tasks = []
    for first in (0, 3):
        shapes = (256, 128), (128, 256), (256, 256)
        a, b, out = (at(first + k, shape) for k, shape in enumerate(shapes))
        tasks.append(parts.product_in_parts(module, Multiply(a, b, out)))
    wide = parts.product_in_parts(
        module, Multiply(at(0, (256, 128)), at(1, (128, 512)), at(2, (256, 512)))
    )
    assert tasks[0] is tasks[1]
    assert wide is not tasks[0]


def test_several_callers_at_once():
    # Only one of them can have the pool; the others do their parts alone.
    f, args = CASES["elements"]
    shared = wg.compile(f)
    known = shared(*args)
    wg.set_num_threads(3)
    found = []

    def ask():
        found.extend(np.array_equal(shared(*args), known) for _ in range(10))

    asking = [threading.Thread(target=ask) for _ in range(3)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    assert found == [True] * 30


SCRIPT = """
import os, numpy as np, wengert as wg
f = wg.compile(lambda x: (x.sin() * x.exp() + x).tanh())
x = wg.ones(500_000)
wg.set_num_threads(3)
known = f(x).numpy().copy()
for _ in range(5):
    child = os.fork()
    if not child:
        os._exit(0 if all(np.array_equal(f(x), known) for _ in range(5)) else 1)
    assert np.array_equal(f(x), known)
    assert os.waitpid(child, 0)[1] == 0
print("done")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_that_was_forked_has_a_pool_of_its_own():
    # Of the threads of its parent it has one: it would wait for the others for ever.
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.split() == ["done"], done.stderr


BUSY = """
import os, threading, numpy as np, wengert as wg
f = wg.compile(lambda x: (x.sin() * x.exp() + x).tanh())
x = wg.ones(500_000)
wg.set_num_threads(3)
known = f(x).numpy().copy()
over, wrong = threading.Event(), []

def ask():
    while not over.is_set():
        wrong.extend([] if np.array_equal(f(x), known) else [1])

asking = [threading.Thread(target=ask) for _ in range(2)]
for thread in asking:
    thread.start()
for _ in range(20):
    child = os.fork()
    if not child:
        os._exit(0 if all(np.array_equal(f(x), known) for _ in range(3)) else 1)
    assert os.waitpid(child, 0)[1] == 0
over.set()
for thread in asking:
    thread.join()
print("done", *wrong)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_that_was_forked_while_threads_share_the_work_does_its_own():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", BUSY], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.split() == ["done"], done.stderr


INTERRUPTED = """
import os, signal, threading, time, numpy as np, wengert as wg
f = wg.compile(lambda x: (x.sin() * x.exp() + x).tanh())
x = wg.ones(500_000)
wg.set_num_threads(3)
known = f(x).numpy().copy()
for _ in range(3):
    f(x)  # an interrupt while the entry is linked is dropped by Python

def interrupt(after):
    time.sleep(after)
    os.kill(os.getpid(), signal.SIGINT)

for n in range(10):
    sender = threading.Thread(target=interrupt, args=(0.002 * n,))
    try:
        sender.start()
        while True:
            f(x)
    except KeyboardInterrupt:
        pass
    sender.join()
    assert np.array_equal(f(x), known)
print("done")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals for processes")
def test_an_interrupt_while_threads_share_the_work_leaves_the_pool_as_it_was():
    # Workers see no signals: one that ran Python's handler would do so without its lock.
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.split() == ["done"], done.stderr


def test_the_number_of_threads_is_a_positive_integer():
    for wrong in (0, -1, 1.5, True, 10**6):
        with pytest.raises(RuntimeError, match="expects a positive integer"):
            wg.set_num_threads(wrong)
    wg.set_num_threads(4)
    assert wg.get_num_threads() == 4
    assert address()


def doubled(n):
    f4 = np.dtype("f4")
    read, write = Access(0, (1,)), Access(1, (1,))
    stage = (Load(read, f4), Apply("add", (0, 0), f4), Store(write, 1))
    return Kernel((n,), 1, (stage,), (f4, f4), (1,))


def summed(n):
    f4 = np.dtype("f4")
    stage = Load(Access(0, (1,)), f4), Reduce("add", 0, f4)
    return Kernel((n,), 0, (stage, (Store(Access(1, (0,)), 1),)), (f4, f4), (1,))


def test_only_large_work_is_shared():
    module = ir.Module("test")
    assert parts.kernel_in_parts(module, doubled(10_000)) is None
    assert parts.kernel_in_parts(module, doubled(10_000_000)) is not None
    assert parts.kernel_in_parts(module, summed(10_000)) is None
    assert parts.kernel_in_parts(module, summed(10_000_000)) is not None


def multiplied(m, k, n, columnwise=False):
    def matrix(number, *shape):
        strides = (1, shape[0]) if columnwise else (shape[1], 1)
        return Layout(Place("input", number), shape, strides, np.dtype("f4"))

    return Multiply(matrix(0, m, k), matrix(1, k, n), matrix(2, m, n))


@pytest.mark.parametrize("shape", [(512, 128, 784), (128, 512, 784), (384, 768, 128)])
@pytest.mark.parametrize("columnwise", [False, True])
def test_parts_of_a_product_in_blocks_are_products_in_blocks(shape, columnwise):
    # Parts of 64 rows were too low for blocks, and took up to 1.6 times as long as the whole.
    m, k, n = shape[::-1] if columnwise else shape
    whole = multiplied(m, k, n, columnwise)
    assert suits(matmul.describe(whole).matrices)
    pieces = parts.of_product(whole)
    assert pieces is not None
    cut, first, last = pieces
    assert cut.parts > 1
    assert not cut.parts % 2  # of three parts, one of two threads did two
    for part in (first, last):
        assert suits(matmul.describe(part).matrices)
