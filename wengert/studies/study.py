"""`studies.map` and `studies.as_completed`: batches go out, results come in, lost ones go again."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any

import numpy as np

from wengert.errors import StudyError
from wengert.studies.executors import LOST, Crew
from wengert.studies.kept import Kept, identity
from wengert.studies.lent import Left
from wengert.studies.rows import Rows
from wengert.studies.rows import parameters as rows_of
from wengert.studies.stock import Batch, Stock
from wengert.studies.work import WITHIN, Job
from wengert.utils.training import bar

PARTS = 64
"""A study is cut into about so many batches, if nothing is said."""

MOMENT = 0.02
"""Batches that take fewer seconds go out together, if nothing is said: a message takes some.
Those that a worker has not begun with by then come back."""

Running = dict[Future[Any], tuple[Batch, int]]
"""Calls that the executor has, and which of the executors that there were."""

PATIENCE = 3
"""A batch is given up when so many workers were lost with it, the last with it alone."""


def map(
    f: Callable[[Any], Any],
    parameters: Any,
    *,
    executor: Any = None,
    vmap: bool = True,
    compile: bool = True,
    batch: int | None = None,
    file: Any = None,
    progress: bool = True,
    timeout: float | None = None,
) -> Any:
    """f of each row of `parameters`, in order, each leaf of the results stacked to one array.

        map(f, {"a": a, "b": b})  ->  [f({"a": a[0], "b": b[0]}), f({"a": a[1], "b": b[1]}), ...]

    `parameters` is a container of arrays or tensors, (n, ...), with a row for each call. Rows go
    out in batches of `batch` (by default n/64, and several together where they take no time), which
    `wg.vmap` runs at once, in one compiled function: f decides nothing by numbers then (but
    `wg.where`, `wg.cond`). With `vmap=False` f is compiled and called for one row after the other,
    with `compile=False` it is not compiled.

    `executor` runs the batches: None this process, else an executor of `concurrent.futures` or what
    has its `submit`: `ProcessPoolExecutor()`, `mpi4py.futures.MPIPoolExecutor()`, Dask's
    `client.get_executor()`, `studies.RayExecutor()`; or a function that makes one. f has to be one
    that workers can import. The batch of a worker that was lost is run again. With `file`, finished
    rows are kept there, and a study that was ended half way goes on with the others when it is
    called again. A bar shows the progress, if the output is a terminal and `progress` is true.

    Errors: what f raises, with the rows in question; StudyError if a batch loses three workers, if
    the file is another study's, or if no batch was finished for `timeout` seconds; StateError if
    leaves differ in their number of rows, or results in shape; TypeError if f cannot be sent.

    >>> import numpy as np
    >>> map(lambda p: {"area": p["r"] ** 2 * np.pi}, {"r": np.array([1.0, 2.0])})["area"].round(2)
    array([ 3.14, 12.57])
    """
    study = Study(f, parameters, executor, vmap, compile, batch, file, progress, timeout)
    for _ in study.run():
        pass
    assert study.kept.results is not None
    return study.kept.results.value()


def as_completed(
    f: Callable[[Any], Any],
    parameters: Any,
    *,
    executor: Any = None,
    vmap: bool = True,
    compile: bool = True,
    batch: int | None = None,
    file: Any = None,
    progress: bool = True,
    timeout: float | None = None,
) -> Iterator[tuple[int, Any]]:
    """(k, f of row k) for all rows, as they come; what a file holds comes first.

    Arguments and errors are those of `map`. Without a file, results are not kept.

    >>> import numpy as np
    >>> sorted(as_completed(lambda x: x * x, np.array([1.0, 2.0, 3.0])))
    [(0, np.float64(1.0)), (1, np.float64(4.0)), (2, np.float64(9.0))]
    """
    study = Study(f, parameters, executor, vmap, compile, batch, file, progress, timeout)
    return _by_row(study, file is not None)


def _by_row(study: Study, keeps: bool) -> Iterator[tuple[int, Any]]:
    for k in np.flatnonzero(study.kept.done):
        assert study.kept.results is not None
        yield int(k), study.kept.results.row(int(k))
    for rows, results in study.run(keeps):
        for at, k in enumerate(rows):
            yield int(k), results.row(at)


class Study:
    """One study: the rows that are finished, those that wait, and those with the executor."""

    def __init__(
        self, f: Any, parameters: Any, executor: Any, vmap: bool, compile: bool, batch: int | None,
        file: Any, progress: bool, timeout: float | None,
    ) -> None:  # fmt: skip
        if not callable(f):
            raise TypeError(f"studies.map takes a function, but got {type(f).__name__}")
        self.parameters = rows_of(parameters)
        count = len(self.parameters)
        self.size = max(1, -(-count // PARTS)) if batch is None else batch
        if type(self.size) is not int or self.size < 1:
            raise ValueError(f"studies.map: batch should be a number of rows, not {batch!r}")
        self.job, self.executor = Job(f, vmap, compile), executor
        self.progress, self.timeout = progress, timeout
        study = None if file is None else identity(f, self.parameters)
        self.kept = Kept(count, file, study)
        self.joins = batch is None
        self.sent = 0
        self.seconds = math.inf
        """What a row takes, at least: the first ones of a worker wait for machine code."""

    def run(self, keeps: bool = True) -> Iterator[tuple[Any, Rows]]:
        """The rows and results of each batch, when it is finished."""
        if self.kept.done.all():
            return
        crew = Crew(self.executor, self.job)
        with self._shown() as show, contextlib.closing(self._finished(crew)) as finished:
            try:
                for rows, results in finished:
                    if keeps:
                        self.kept.add(rows, results, self.job.function)
                    show(len(rows))
                    yield rows, results
            except Exception as error:
                error.add_note(self._standing())
                raise
            finally:
                self.kept.write()
                crew.close()

    def _finished(self, crew: Crew) -> Generator[tuple[Any, Rows]]:
        stock = Stock(self.parameters, np.flatnonzero(~self.kept.done), self.size, crew.kind.near)
        running: Running = {}
        try:
            stock.write(self.size * crew.ahead // 2)
            while stock.left.any():
                while batch := self._next(stock, running, crew.ahead):
                    self._submit(crew, stock, batch, running)
                assert running, "rows are left, and nobody has them"
                writes = stock.write()
                done, _ = wait(running, 0 if writes else self.timeout, FIRST_COMPLETED)
                if not done and not writes:
                    told = dict.fromkeys(str(stock.out(batch)) for batch, _ in running.values())
                    raise StudyError(
                        f"no batch was finished for {self.timeout} seconds: its workers hang, or "
                        f"are gone. Waited for {', '.join(told)}."
                    )
                # Losses last: what came before one of them is not lost.
                for future in sorted((f for f in running if f in done), key=_is_lost):
                    batch, generation = running.pop(future)
                    if lost := _lost(future):
                        batch = stock.missing(batch)
                        self._again(crew, batch, generation, lost)
                        stock.put_back(batch)
                        continue
                    which, results, seconds = _result(future, batch)
                    if results is not None and (part := stock.finished(batch, which, results)):
                        self.seconds = min(self.seconds, seconds / len(part[0]))
                        yield part
        finally:
            for future in running:
                future.cancel()
            stock.close()

    def _next(self, stock: Stock, running: Running, ahead: int) -> Batch | None:
        """The batch that goes out next, if one does now.

        Several together, where one is done in less than a moment. The first of each worker is
        small: they run while the next are put together. How long a row takes is known later.
        Towards the end fewer, or some workers would have nothing to do while others have much.
        """
        waiting = stock.waiting
        if not waiting:
            return stock.shared if stock.has_shared and len(running) < ahead else None
        if not _fits(waiting[0], running, ahead):
            return None
        batch = waiting.popleft()
        self.sent += 1
        if self.sent <= ahead // 2 or batch.losses or not self.joins or ahead == 1:
            return batch
        most = int(MOMENT / max(self.seconds, 1e-9) / self.size)
        fair = max(len(waiting) // ahead, most // 10)
        some = [waiting.popleft() for _ in range(min(most, fair, len(waiting)))]
        return Batch(np.concatenate([one.rows for one in (batch, *some)])) if some else batch

    def _submit(self, crew: Crew, stock: Stock, batch: Batch, running: Running) -> None:
        moment = MOMENT if self.joins else 0.0 if batch is stock.shared else math.inf
        moment = math.inf if batch.losses else moment
        try:
            future = crew.submit(stock.given(batch), self.size, moment)
        except LOST as error:  # it broke since the last look at it
            future = Future()
            future.set_exception(error)
        except Exception as error:
            _tell(error, batch)
            raise
        running[future] = batch, crew.generation

    def _again(self, crew: Crew, batch: Batch, generation: int, lost: BaseException) -> None:
        """Note that a worker was lost with this batch; StudyError if it is not to run again."""
        batch.losses += 1
        if batch.losses >= PATIENCE:
            raise StudyError(
                f"{batch}: {PATIENCE} workers were lost with this batch, the last one while it ran "
                "alone. Does it need more memory than there is, or crash? Run it by itself, "
                "without an executor."
            ) from lost
        if generation == crew.generation and not crew.renew():
            raise StudyError(
                f"{type(crew.executor).__name__} is broken and cannot be replaced: a worker was "
                f"lost with {batch}. Call again with another executor, or pass a function that "
                "makes one, such as executor=lambda: ProcessPoolExecutor(4)."
            ) from lost

    def _standing(self) -> str:
        done, count = int(self.kept.done.sum()), len(self.kept.done)
        if self.kept.path is None:
            return f"{done} of {count} rows of the study were finished; file= would have kept them."
        return (
            f"{done} of {count} rows of the study are finished and kept in {self.kept.path}; the "
            "same call goes on with the others."
        )

    @contextlib.contextmanager
    def _shown(self) -> Iterator[Callable[[int], None]]:
        if not self.progress:
            yield lambda rows: None
            return
        with bar(len(self.kept.done), "study", completed=int(self.kept.done.sum())) as show:
            yield show


def _fits(batch: Batch, running: Running, ahead: int) -> bool:
    """Whether a batch may go out: one that lost two workers runs alone, to know that it was it."""
    alone = PATIENCE - 1
    if batch.losses >= alone or any(b.losses >= alone for b, _ in running.values()):
        return not running
    return len(running) < ahead


def _is_lost(future: Future[Any]) -> bool:
    return _lost(future) is not None


def _lost(future: Future[Any]) -> BaseException | None:
    if future.cancelled():
        return LOST[1]()
    error = future.exception()
    return error if isinstance(error, LOST) else None


def _result(future: Future[Any], batch: Batch) -> tuple[list[range], Rows | Left | None, float]:
    try:
        return future.result()
    except Exception as error:
        _tell(error, batch)
        raise


def _tell(error: Exception, batch: Batch) -> None:
    """Say with an error in which rows it was raised."""
    within = error.__dict__.pop(WITHIN, slice(None))
    error.add_note(f"in {Batch(batch.rows[within])} of the study")
