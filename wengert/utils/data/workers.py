"""Worker processes that load batches, and the iterator that gives their batches in order.

Every worker has a pipe of its own, so that one that dies in the middle of a message hurts nobody
else. A worker lives as long as the other end of its pipe is open: a thread in it does nothing but
wait there, so it notices at once when the program that started it has ended, however it ended. The
same thread takes in orders at all times, so that the program never waits for a busy worker.
"""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import os
import pickle
import queue
import random
import signal
import sys
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing import connection
from typing import Any

import numpy as np

from wengert.functions.random import manual_seed
from wengert.utils.data import worker_info
from wengert.utils.data.worker_info import END, WorkerInfo

GRACE = 5.0
"""Seconds that a worker gets to finish what it is doing when the loader is closed."""


# ---- messages ------------------------------------------------------------------------------


def _send(pipe: Any, message: Any) -> None:
    """Send an object, arrays beside the pickle: they are neither copied nor read byte by byte."""
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
    raws = [buffer.raw() for buffer in buffers]
    pipe.send_bytes(pickle.dumps((data, [raw.nbytes for raw in raws]), protocol=5))
    for raw in raws:
        if raw.nbytes:
            pipe.send_bytes(raw)


def _receive(pipe: Any) -> Any:
    data, sizes = pickle.loads(pipe.recv_bytes())
    buffers = []
    for size in sizes:
        buffer = bytearray(size)
        if size:
            pipe.recv_bytes_into(buffer)
        buffers.append(buffer)
    return pickle.loads(data, buffers=buffers)


class _Text(str):
    """A message that KeyError prints as it stands, in the place of its repr."""

    def __repr__(self) -> str:
        return str(self)


@dataclass
class Failure:
    """An exception of a worker, as text, and its type where that can travel."""

    kind: Any
    text: str

    @staticmethod
    def now(number: int) -> Failure:
        """The exception being handled."""
        kind, _, _ = sys.exc_info()
        try:
            if pickle.loads(pickle.dumps(kind)) is not kind:
                kind = RuntimeError
        except Exception:  # a class made inside a function, say
            kind = RuntimeError
        text = (
            f"Caught {getattr(sys.exc_info()[0], '__name__', 'an exception')} in DataLoader worker "
            f"process {number}.\nOriginal {traceback.format_exc()}"
        )
        return Failure(kind, text)

    def error(self) -> BaseException:
        """The exception to raise in the main process."""
        kind = RuntimeError if self.kind in (StopIteration, GeneratorExit) else self.kind
        try:
            error = kind(_Text(self.text) if issubclass(kind, KeyError) else self.text)
        except Exception:  # its constructor wants other arguments
            error = RuntimeError(self.text)
        return error if isinstance(error, BaseException) else RuntimeError(self.text)


# ---- in a worker ---------------------------------------------------------------------------

_ends: weakref.WeakSet[Any] = weakref.WeakSet()
"""The main process' ends of all pipes: a forked worker inherits them and must let go of them."""


def _work(
    pipe: Any,
    number: int,
    workers: int,
    seed: int,
    dataset: Any,
    make_fetch: Callable[[Any], Callable[[Any], Any]],
    init: Any,
) -> None:
    """The life of a worker: orders come in, batches go out, until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process decides when to end
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for end in list(_ends):
        end.close()
    orders: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(pipe, os.getppid(), orders), daemon=True).start()
    worker_info.current = WorkerInfo(number, workers, seed, dataset)
    manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed & 0xFFFFFFFF)  # noqa: NPY002  (data sets in use draw from it)
    failure = None
    try:
        if init is not None:
            init(number)
    except Exception:
        failure = Failure.now(number)
    fetch, epoch = None, None
    while (order := orders.get()) is not None:
        run, task, indices = order
        batch: Any = failure
        if failure is None:
            try:
                if fetch is None or run != epoch:  # an iterable data set begins anew each time
                    fetch, epoch = make_fetch(dataset), run
                batch = fetch(indices)
            except Exception:
                batch = Failure.now(number)
        try:
            _answer(pipe, number, (run, task, None if batch is END else [batch]))
        except (BrokenPipeError, ConnectionError):
            return


def _answer(pipe: Any, number: int, message: Any) -> None:
    try:
        _send(pipe, message)
    except (BrokenPipeError, ConnectionError):
        raise
    except Exception:  # what cannot be pickled
        _send(pipe, (*message[:2], [Failure.now(number)]))


def _listen(pipe: Any, parent: int, orders: queue.SimpleQueue[Any]) -> None:
    """Take in orders; when the main process is gone, end the worker, whatever it is doing."""
    try:
        while True:
            while not pipe.poll(GRACE):
                if os.getppid() != parent:
                    raise EOFError
            orders.put(pickle.loads(pipe.recv_bytes()))
    except (EOFError, OSError):
        orders.put(None)
        time.sleep(GRACE)
        os._exit(1)


# ---- in the main process -------------------------------------------------------------------


class Worker:
    """A process and the pipe to it."""

    def __init__(self, context: Any, number: int, arguments: tuple[Any, ...]) -> None:
        self.number = number
        self.pipe, theirs = context.Pipe()
        _ends.add(self.pipe)
        self.process = context.Process(target=_work, args=(theirs, number, *arguments), daemon=True)
        self.process.start()
        theirs.close()
        self.used_up = False

    def order(self, message: Any) -> None:
        # The death of the worker is reported by whoever waits for it.
        with contextlib.suppress(BrokenPipeError, ConnectionError):
            self.pipe.send_bytes(pickle.dumps(message))

    def why(self) -> str:
        """What ended it, for a message."""
        self.process.join(1)
        code = self.process.exitcode
        if code is not None and code < 0:
            return f"is killed by signal: {signal.strsignal(-code) or -code}."
        return f"exited unexpectedly with exit code {code}."


class Pool:
    """The workers of one loader."""

    def __init__(self, loader: Any, seed: int) -> None:
        context = loader.multiprocessing_context
        if context is None or isinstance(context, str):
            context = multiprocessing.get_context(context)
        n = loader.num_workers
        self.workers: list[Worker] = []
        self.run = 0
        self.close = weakref.finalize(self, _close, self.workers, os.getpid())
        for i in range(n):
            arguments = (n, seed + i, loader.dataset, loader.fetcher(), loader.worker_init_fn)
            self.workers.append(Worker(context, i, arguments))


def _close(workers: list[Worker], owner: int) -> None:
    """End all workers: closing their pipes asks for it, signals insist."""
    if os.getpid() != owner:
        return  # a forked copy of the loader
    for worker in workers:
        with contextlib.suppress(OSError):
            worker.pipe.close()
    deadline = time.monotonic() + 1
    for worker in workers:
        worker.process.join(max(0.0, deadline - time.monotonic()))
    for insist in ("terminate", "kill"):
        for worker in workers:
            if worker.process.is_alive():
                getattr(worker.process, insist)()
        for worker in workers:
            worker.process.join(1)
    for worker in workers:
        if not worker.process.is_alive():
            worker.process.close()
    workers.clear()


class Batches:
    """The batches of one epoch from the workers, in the order of the sampler."""

    def __init__(self, loader: Any, pool: Pool, indices: Iterator[Any]) -> None:
        self.pool = pool
        self.indices = indices
        self.timeout = loader.timeout or None
        self.in_order = loader.in_order
        self.keep = loader.persistent_workers
        pool.run += 1
        for worker in pool.workers:
            worker.used_up = False
        self.turns = itertools.cycle(pool.workers)
        self.tasks = itertools.count()
        self.waiting: dict[int, Worker] = {}  # tasks given out, oldest first
        self.arrived: dict[int, Any] = {}
        self.batches: dict[Any, Worker] = {worker.pipe: worker for worker in pool.workers}
        for _ in range((loader.prefetch_factor or 2) * len(pool.workers)):
            self._give_out()

    def _give_out(self) -> None:
        """One more task, to the next worker that has something left to do."""
        for _ in self.pool.workers:
            worker = next(self.turns)
            if not worker.used_up:
                break
        else:
            return
        try:
            indices = next(self.indices)
        except StopIteration:
            return
        task = next(self.tasks)
        self.waiting[task] = worker
        worker.order((self.pool.run, task, indices))

    def __iter__(self) -> Batches:
        return self

    def __next__(self) -> Any:
        try:
            while self.waiting:
                task = next(iter(self.waiting))
                if not self.in_order and self.arrived:
                    task = next(iter(self.arrived))
                if task not in self.arrived:
                    self._wait()
                    continue
                del self.waiting[task]
                content = self.arrived.pop(task)
                self._give_out()
                if content is not None:
                    (batch,) = content
                    if isinstance(batch, Failure):
                        raise batch.error()
                    return batch
        except BaseException:
            self.pool.close()
            raise
        if not self.keep:
            self.pool.close()
        raise StopIteration

    def _wait(self) -> None:
        """Take in what has arrived, at least one message of this epoch or an earlier one."""
        workers = set(self.waiting.values())
        things = [w.pipe for w in workers] + [w.process.sentinel for w in workers]
        ready = connection.wait(things, self.timeout)
        if not ready:
            raise RuntimeError(f"DataLoader timed out after {self.timeout} seconds")
        pipes = [thing for thing in ready if thing in self.batches]
        if not pipes:
            dead = next(w for w in workers if w.process.sentinel in ready)
            if not dead.pipe.poll():
                raise RuntimeError(f"DataLoader worker (pid {dead.process.pid}) {dead.why()}")
            pipes = [dead.pipe]
        for pipe in pipes:
            worker = self.batches[pipe]
            try:
                run, task, content = _receive(pipe)
            except (EOFError, ConnectionError) as error:
                pid = worker.process.pid
                raise RuntimeError(f"DataLoader worker (pid {pid}) {worker.why()}") from error
            if run == self.pool.run:
                worker.used_up = worker.used_up or content is None
                self.arrived[task] = content
