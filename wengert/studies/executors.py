"""What a study has to know of an executor, beside `submit`, for each kind of them.

An executor takes `submit(f, *args)` and returns a Future. Its result is that of f, or raises what f
raised; it raises one of `LOST` where a worker was lost before f was done: then the batch is run
again. Whether the executor goes on after that, how many calls it runs at once and how functions get
to its workers is said by a `Kind`, which is found by the executor's class, so that none of the
packages is imported here.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

from wengert.studies.lent import Lent
from wengert.studies.rows import Rows
from wengert.studies.work import Job, run

LOST = (BrokenExecutor, CancelledError)
"""What futures raise whose worker is gone. (Dask cancels those whose scheduler is gone.)"""


def _itself(executor: Any) -> Any:
    return executor


def _none(executor: Any) -> Any:
    return None


def _by_value(job: Job) -> bytes:
    """With the text of functions that workers cannot import, as Dask and Ray send them."""
    import cloudpickle

    packed: bytes = cloudpickle.dumps(job)
    return packed


def _processes(old: Any) -> Executor:
    """A pool of processes like one that broke."""
    return ProcessPoolExecutor(
        old._max_workers,
        old._mp_context,
        old._initializer,
        old._initargs,
        max_tasks_per_child=old._max_tasks_per_child,
    )


def _end_broken_pool(pool: Any) -> bool:
    """End the workers that a pool of processes still has when it has lost one; whether it has.

    The pool ends those it knew when it broke. One that `submit` was starting at that moment is
    left waiting for work that never comes, and so is who waits for the pool's end.
    """
    if pool._broken:
        for worker in list((pool._processes or {}).values()):
            worker.kill()
    return bool(pool._broken)


@dataclass(frozen=True)
class Kind:
    """How many calls run at once, how the job gets to workers, and what goes on after a loss.

    `end_broken` ends what is left of an executor that broke, and says whether it did. Workers that
    are `near` are processes of this machine.
    """

    size: Callable[[Any], int | None] = _none
    packed: Callable[[Job], bytes] | None = pickle.dumps
    another: Callable[[Any], Any] = _none
    end_broken: Callable[[Any], bool | None] = _none
    near: bool = False


KINDS = {
    "concurrent.futures._base.Executor": Kind(),
    "concurrent.futures.thread.ThreadPoolExecutor": Kind(lambda e: e._max_workers, packed=None),
    "concurrent.futures.process.ProcessPoolExecutor": Kind(
        lambda e: e._max_workers, another=_processes, end_broken=_end_broken_pool, near=True
    ),
    "mpi4py.futures.pool.MPIPoolExecutor": Kind(lambda e: e.num_workers),
    "distributed.cfexecutor.ClientExecutor": Kind(
        lambda e: sum(e._client.nthreads().values()), _by_value, _itself
    ),
    "wengert.studies.executors.Here": Kind(packed=None),
    "wengert.studies.executors.RayExecutor": Kind(lambda e: e.workers, _by_value, _itself),
}


def kind_of(executor: Any) -> Kind:
    """The kind of an executor: that of its class, or of the nearest class above it."""
    for cls in type(executor).__mro__:
        if known := KINDS.get(f"{cls.__module__}.{cls.__qualname__}"):
            return known
    return Kind()


class Here(Executor):
    """Runs each call at once, in this process."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(fn(*args, **kwargs))
        return done


class RayExecutor(Executor):
    """Ray's workers as an executor: `submit` starts a task, and Ray replaces workers it loses.

    `options` are those of `ray.remote`, such as `num_cpus=2`. Ray is started if it is not running.
    """

    def __init__(self, **options: Any) -> None:
        import ray

        if not ray.is_initialized():
            ray.init()
        self._call = ray.remote(**{"num_cpus": 1, **options})(_called)
        self._lost = (ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError)
        cpus = ray.cluster_resources().get("CPU", 1)
        self.workers = max(1, int(cpus / options.get("num_cpus", 1)))

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        theirs = self._call.remote(fn, args, kwargs).future()
        ours: Future[Any] = Future()
        ours.set_running_or_notify_cancel()
        theirs.add_done_callback(lambda theirs: self._pass_on(theirs, ours))
        return ours

    def _pass_on(self, theirs: Any, ours: Future[Any]) -> None:
        error = theirs.exception()
        if error is None:
            ours.set_result(theirs.result())
        elif isinstance(error, self._lost):
            ours.set_exception(BrokenExecutor(str(error)))
        else:
            ours.set_exception(getattr(error, "cause", None) or error)


def _called(fn: Any, args: Any, kwargs: Any) -> Any:
    return fn(*args, **kwargs)


class Crew:
    """The executor of one study: it is replaced where it breaks, and closed if it was made here."""

    def __init__(self, executor: Any, job: Job) -> None:
        if executor is None:
            executor = Here()
        elif not hasattr(executor, "submit") and not callable(executor):
            raise TypeError(
                f"studies.map: executor is a {type(executor).__name__}; pass an object with "
                "submit(f, *args), such as concurrent.futures.ProcessPoolExecutor(), or a function "
                "that makes one"
            )
        self.make = None if hasattr(executor, "submit") else executor
        self.executor = executor if self.make is None else self.make()
        self.made = [] if self.make is None else [self.executor]
        self.kind = kind_of(self.executor)
        self.generation = 0
        self.job = job if self.kind.packed is None else _packed(job, self.kind.packed)

    @property
    def ahead(self) -> int:
        """So many calls are with the executor: one for each worker, and one waiting for it."""
        if isinstance(self.executor, Here):
            return 1
        return 2 * (self.kind.size(self.executor) or os.cpu_count() or 1)

    def submit(self, given: Rows | Lent, size: int, moment: float) -> Future[Any]:
        """Begin with rows: for a moment, `size` of them at once."""
        future = self.executor.submit(run, self.job, given, size, moment)
        if self.kind.end_broken(self.executor):  # perhaps before it had this call
            raise BrokenExecutor("a worker was lost while the executor took a call")
        return future

    def renew(self) -> bool:
        """Put another executor in the place of one that broke; whether there is one."""
        self.kind.end_broken(self.executor)
        other = self.make() if self.make else self.kind.another(self.executor)
        if other is None:
            return False
        if other is not self.executor:
            self.made.append(other)
        self.executor = other
        self.generation += 1
        return True

    def close(self) -> None:
        self.kind.end_broken(self.executor)
        for executor in self.made:
            executor.shutdown(cancel_futures=True)


def _packed(job: Job, packed: Callable[[Job], bytes]) -> bytes:
    try:
        return packed(job)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        name = getattr(job.function, "__qualname__", repr(job.function))
        raise TypeError(
            f"studies.map: {name} cannot be sent to the executor's workers ({error}). Define it "
            "at the top of a module, where workers can import it, and give it its data by "
            "functools.partial(f, data); or leave executor out, to run it in this process."
        ) from error
