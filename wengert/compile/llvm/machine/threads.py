"""Threads that share the work of one large loop or product: a small pool, in machine code.

`parallel(function, addresses, parts)` calls `function(addresses, k)` for each k below `parts`, and
returns when all are done. Whoever is free takes the next part: the caller, and the workers, which
sleep otherwise. What the parts are does not depend on the number of threads, so neither do results.

Workers start when they are first needed. They run no Python, and see no signals. While one caller
has the pool, others do their parts alone, as do parts that have parts. A process that was forked
begins with a pool of its own.
"""

from __future__ import annotations

import ctypes
import functools
import sys

from llvmlite import ir

from wengert.compile.llvm.machine import host
from wengert.compile.llvm.machine.control import Merge, counting, loop
from wengert.compile.llvm.machine.functions import call, internal
from wengert.compile.llvm.machine.lanes import Lanes
from wengert.compile.llvm.machine.scratch import stack
from wengert.compile.llvm.machine.values import I32, I64, POINTER, VOID, B, V
from wengert.history import forks, threads

NAME = "parallel"
WORK = ir.FunctionType(VOID, [POINTER, I64])
"""What is called with the addresses, and the number of a part."""
SPINS = 2000
"""How often it is looked whether the others are done before the processor is given to them."""
AWAKE = 1 << 14
"""How often a worker looks for more before it sleeps: some microseconds, as much as it costs to
wake it. The loops and products of one program follow one another in less.
"""

# The pool is a table of words. Those that several threads change at the same time lie in lines of
# the cache of their own; the lock and the condition of the C library are opaque, and smaller.
WANTED, STARTED, BUSY, GENERATION, FUNCTION, ADDRESSES, PARTS = range(7)
NEXT, DONE, ACTIVE, LOCK, CONDITION = 16, 24, 32, 64, 96
WORDS = 128


def available() -> bool:
    """Whether there are threads as the pool knows them."""
    return sys.platform != "win32"


# ---- for Python ---------------------------------------------------------------------------------


@functools.cache
def address() -> int:
    """Where `parallel` begins, in the pool of this process, whose code runs until that ends."""
    module = ir.Module("threads")
    define(module)
    code = host.compile_module(module, "threads")
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(code))  # workers wait in it to the very end
    words = (ctypes.c_int64 * WORDS).from_address(code.address("pool"))
    begin = ctypes.PYFUNCTYPE(None)(code.address("begin"))

    def tell(number: int) -> None:
        words[WANTED] = number

    begin()
    threads.follow(tell)
    forks.in_child(begin)
    return code.address(NAME)


# ---- the machine code ---------------------------------------------------------------------------


def define(module: ir.Module) -> None:
    """Add the pool to a module of its own."""
    words = ir.GlobalVariable(module, ir.ArrayType(I64, WORDS), "pool")
    words.initializer = ir.Constant(words.value_type, None)
    words.align = 64
    pool = _Words(words)
    work = _work(module, pool)
    worker = _worker(module, pool, work)
    _run(module, pool, work, worker)
    _begin(module, pool)


class _Words:
    def __init__(self, words: ir.GlobalVariable) -> None:
        self.words = words

    def at(self, b: B, word: int) -> V:
        return b.gep(self.words, [I64(0), I64(word)], inbounds=True)

    def part(self, b: B, word: int) -> V:
        """The address of what the C library keeps there."""
        at = self.at(b, word)
        at.type = POINTER  # llvmlite gives it a type that knows its contents
        return at

    def get(self, b: B, word: int) -> Lanes:
        return Lanes(b, b.load_atomic(self.at(b, word), "acquire", 8))

    def put(self, b: B, word: int, value: V) -> None:
        b.store_atomic(value, self.at(b, word), "release", 8)

    def add(self, b: B, word: int, value: int) -> Lanes:
        """Add to a word; what it was before."""
        return Lanes(b, b.atomic_rmw("add", self.at(b, word), I64(value), "acq_rel"))


def _do(b: B, pool: _Words, name: str, *words: int) -> None:
    """Call a function of the C library on parts of the pool."""
    call(b, name, I32, [pool.part(b, word) for word in words])


def _work(module: ir.Module, pool: _Words) -> ir.Function:
    """Take parts as long as there are any."""
    function, b = internal(module, "work", VOID, [POINTER, POINTER, I64])
    task, addresses, parts = function.args
    with loop(b) as takes:
        k = pool.add(b, NEXT, 1)
        takes.while_((k < k.new(parts)).value)
        _called(b, task, addresses, k.value)
        pool.add(b, DONE, 1)
        takes.again()
    b.ret_void()
    return function


def _called(b: B, task: V, addresses: V, k: V) -> None:
    b.call(b.inttoptr(b.ptrtoint(task, I64), WORK.as_pointer()), [addresses, k])


def _worker(module: ir.Module, pool: _Words, work: ir.Function) -> ir.Function:
    """What a worker does until the process ends. It is told its number, and which generation of
    work it has seen, in one word.
    """
    function, b = internal(module, "worker", POINTER, [POINTER])
    _refuse_signals(b)
    told = Lanes(b, b.ptrtoint(function.args[0], I64))
    mine = told & 0xFFFF
    generation = Merge(b, "generation")
    generation.come([(told >> 16).value])
    (seen,) = generation.begin()
    with loop(b, I64(0)) as awake:
        tries = Lanes(b, *awake.carried)
        awake.while_(pool.get(b, GENERATION).equals(tries.new(seen)).value)
        awake.while_((tries < AWAKE).value)
        awake.again((tries + 1).value)
    _do(b, pool, "pthread_mutex_lock", LOCK)
    with loop(b) as looks:
        now = pool.get(b, GENERATION)
        looks.while_(now.equals(now.new(seen)).value)
        _do(b, pool, "pthread_cond_wait", CONDITION, LOCK)
        looks.again()
    with b.if_else((mine < pool.get(b, WANTED) - 1).value) as (works, passes):
        with works:
            # Noted under the lock: no other work begins before this worker has left this one.
            pool.add(b, ACTIVE, 1)
            task, addresses = (
                b.inttoptr(pool.get(b, word).value, POINTER) for word in (FUNCTION, ADDRESSES)
            )
            parts = pool.get(b, PARTS).value
            _do(b, pool, "pthread_mutex_unlock", LOCK)
            b.call(work, [task, addresses, parts])
            pool.add(b, ACTIVE, -1)
        with passes:
            _do(b, pool, "pthread_mutex_unlock", LOCK)
    generation.come([now.value])
    generation.close()
    return function


def _refuse_signals(b: B) -> None:
    """Signals are for threads that run Python."""
    signals = stack(b, ir.ArrayType(I64, 16), 16)  # as large as the C library's set, or larger
    call(b, "sigfillset", I32, [signals])
    block = 1 if sys.platform == "darwin" else 0
    call(b, "pthread_sigmask", I32, [I32(block), signals, ir.Constant(POINTER, None)])


def _run(module: ir.Module, pool: _Words, work: ir.Function, worker: ir.Function) -> None:
    function, b = internal(module, NAME, VOID, [POINTER, POINTER, I64])
    function.linkage = ""  # all modules call it
    task, addresses, parts = function.args
    alone = Merge(b, "alone")
    alone.come(unless=(pool.get(b, WANTED) > 1).value)
    taken = b.cmpxchg(pool.at(b, BUSY), I64(0), I64(1), "acq_rel", "acquire")
    alone.come(unless=b.extract_value(taken, 1))
    _start(b, pool, worker)
    _publish(b, pool, task, addresses, parts)
    b.call(work, [task, addresses, parts])
    _wait(b, pool, parts)
    pool.put(b, BUSY, I64(0))
    b.ret_void()
    alone.begin()
    _in_order(b, task, addresses, parts)
    b.ret_void()


def _in_order(b: B, task: V, addresses: V, parts: V) -> None:
    with counting(b, I64(0), parts) as k:
        _called(b, task, addresses, k)


def _start(b: B, pool: _Words, worker: ir.Function) -> None:
    """Start the workers that are missing; if there are no threads left, there are fewer."""
    thread = stack(b, I64)
    with loop(b) as missing:
        started = pool.get(b, STARTED)
        missing.while_((started < pool.get(b, WANTED) - 1).value)
        told = b.inttoptr((pool.get(b, GENERATION) << 16 | started).value, POINTER)
        null, code = ir.Constant(POINTER, None), b.inttoptr(b.ptrtoint(worker, I64), POINTER)
        failed = Lanes(b, call(b, "pthread_create", I32, [thread, null, code, told]))
        missing.while_(failed.equals(0).value)
        call(b, "pthread_detach", I32, [b.load(thread, typ=I64)])
        pool.put(b, STARTED, (started + 1).value)
        missing.again()


def _publish(b: B, pool: _Words, task: V, addresses: V, parts: V) -> None:
    """Say what is to be done, once all workers have left what was done before."""
    with loop(b) as waits:
        _do(b, pool, "pthread_mutex_lock", LOCK)
        waits.while_(pool.get(b, ACTIVE).differs(0).value)
        _do(b, pool, "pthread_mutex_unlock", LOCK)
        call(b, "sched_yield", I32, [])
        waits.again()
    pool.put(b, FUNCTION, b.ptrtoint(task, I64))
    pool.put(b, ADDRESSES, b.ptrtoint(addresses, I64))
    pool.put(b, PARTS, parts)
    pool.put(b, NEXT, I64(0))
    pool.put(b, DONE, I64(0))
    pool.add(b, GENERATION, 1)
    _do(b, pool, "pthread_cond_broadcast", CONDITION)
    _do(b, pool, "pthread_mutex_unlock", LOCK)


def _wait(b: B, pool: _Words, parts: V) -> None:
    """Until all parts are done that others have taken."""
    with loop(b, I64(0)) as spins:
        tries = Lanes(b, *spins.carried)
        spins.while_(pool.get(b, DONE).differs(tries.new(parts)).value)
        with b.if_then((tries >= SPINS).value):
            call(b, "sched_yield", I32, [])
        spins.again((tries + 1).value)


def _begin(module: ir.Module, pool: _Words) -> None:
    """All words but the number of threads as they are at first; a lock that nobody holds."""
    function, b = internal(module, "begin", VOID, [])
    function.linkage = ""
    for word in (STARTED, BUSY, GENERATION, NEXT, DONE, ACTIVE):
        pool.put(b, word, I64(0))
    null = ir.Constant(POINTER, None)
    for name, word in (("pthread_mutex_init", LOCK), ("pthread_cond_init", CONDITION)):
        call(b, name, I32, [pool.part(b, word), null])
    b.ret_void()
