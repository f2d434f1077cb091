"""Worker processes of loaders: real ones, that fail, hang, are killed, and outlive nobody."""

import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

import wengert as wg
from wengert.utils.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    TensorDataset,
    get_worker_info,
)

pytestmark = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="the data sets here are made in tests, and inherited by fork"
)


class Items(Dataset):
    """Items whose loading does something."""

    def __init__(self, n, load=lambda i: i):
        self.n = n
        self.load = load

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return self.load(i)


class Shared(IterableDataset):
    """Numbers, divided among the workers."""

    def __init__(self, n):
        self.n = n

    def __iter__(self):
        info = get_worker_info()
        return iter(range(self.n) if info is None else range(info.id, self.n, info.num_workers))


def gone(pid, within=15.0):
    """Whether a process is gone, or a zombie nobody has waited for."""
    end = time.monotonic() + within
    while time.monotonic() < end:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.05)
    return False


def pids(loader):
    return {pid for batch in loader for pid in batch.tolist()}


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("prefetch", [1, 4])
def test_the_batches_do_not_depend_on_the_number_of_workers(workers, prefetch):
    x = wg.arange(37)
    found = []
    for n in (0, workers):
        wg.manual_seed(5)
        options = {"prefetch_factor": prefetch} if n else {}
        loader = DataLoader(TensorDataset(x), 4, shuffle=True, num_workers=n, **options)
        found.append([[batch.tolist() for (batch,) in loader] for _ in range(2)])
        found[-1].append(wg.rand(2).tolist())
    assert found[0] == found[1]
    assert found[0][0] != found[0][1]


def test_arrays_from_workers_can_be_written_to():
    (batch,) = DataLoader(Items(3, lambda i: np.full(5, float(i))), 3, num_workers=1)
    batch += 1
    assert batch.tolist() == [[i + 1.0] * 5 for i in range(3)]


def test_an_iterable_data_set_is_shared_out_and_begins_anew_each_epoch():
    loader = DataLoader(Shared(10), batch_size=2, num_workers=2, persistent_workers=True)
    for _ in range(2):
        batches = [batch.tolist() for batch in loader]
        assert batches == [[0, 2], [1, 3], [4, 6], [5, 7], [8], [9]]


def test_without_order_every_batch_still_comes_once():
    slow = Items(8, lambda i: (time.sleep(0.2 if i == 0 else 0), i)[1])
    loader = DataLoader(slow, batch_size=1, num_workers=2, in_order=False)
    found = [batch.item() for batch in loader]
    assert sorted(found) == list(range(8))
    assert found[0] != 0


def test_a_failure_is_raised_with_its_type_and_traceback():
    def load(i):
        if i == 5:
            raise ValueError("item five is broken")
        return i

    with pytest.raises(ValueError, match="Caught ValueError in DataLoader worker process") as e:
        list(DataLoader(Items(8, load), num_workers=2))
    assert "item five is broken" in str(e.value)
    assert "in load" in str(e.value)

    def missing(i):
        return {}["absent"]

    with pytest.raises(KeyError) as e:
        list(DataLoader(Items(1, missing), num_workers=1))
    assert "\nKeyError: 'absent'" in str(e.value)  # a KeyError's text would show its \n otherwise


def test_an_exception_that_cannot_be_made_again_is_a_runtime_error():
    class Picky(Exception):
        def __init__(self, one, two):
            super().__init__(one, two)

    def load(i):
        raise Picky(1, 2)

    with pytest.raises(RuntimeError, match="Caught Picky in DataLoader worker process 0"):
        list(DataLoader(Items(1, load), num_workers=1))


def test_a_batch_that_cannot_be_sent_is_reported():
    with pytest.raises(Exception, match=r"Caught .* in DataLoader worker process 0"):
        list(DataLoader(Items(1, lambda i: lambda: i), batch_size=None, num_workers=1))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_worker_is_reported_and_the_others_end(number, tmp_path):
    seen, begun = [], tmp_path / "begun"

    def load(i):
        if i == 3:
            while not begun.exists():  # a loader may report the killed one before it gives a batch
                time.sleep(0.01)
            os.kill(os.getpid(), number)
        return os.getpid()

    def take(pid):
        begun.touch()
        return pid

    loader = DataLoader(Items(20, load), num_workers=2, collate_fn=lambda batch: batch[0])
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid \d+\) is killed by signal"):
        seen.extend(map(take, loader))
    assert seen
    assert all(map(gone, seen))


def test_a_worker_that_exits_is_reported():
    with pytest.raises(RuntimeError, match="exited unexpectedly with exit code 3"):
        list(DataLoader(Items(2, lambda i: os._exit(3)), num_workers=1))


def test_a_silent_worker_is_reported_after_the_timeout_and_ended():
    began = time.monotonic()
    with pytest.raises(RuntimeError, match=r"timed out after 0.3 seconds"):
        list(DataLoader(Items(2, lambda i: time.sleep(60)), num_workers=2, timeout=0.3))
    assert time.monotonic() - began < 10


def test_leaving_the_loop_ends_the_workers():
    loader = DataLoader(Items(100, lambda i: os.getpid()), num_workers=2)
    seen = set()
    for i, batch in enumerate(loader):
        seen.add(batch.item())
        if i == 3:
            break
    assert len(seen) == 2
    assert os.getpid() not in seen
    assert all(map(gone, seen))


def test_persistent_workers_stay_for_the_next_epoch_even_after_an_abandoned_one():
    load = lambda i: np.array([os.getpid(), i])
    loader = DataLoader(Items(12, load), num_workers=2, persistent_workers=True)
    first = [batch[0].tolist() for batch in loader]
    next(iter(loader))
    second = [batch[0].tolist() for batch in loader]
    assert first == second
    assert [i for _, i in first] == list(range(12))
    seen = {pid for pid, _ in first}
    assert len(seen) == 2
    del loader
    assert all(map(gone, seen))
    fresh = DataLoader(Items(4, lambda i: os.getpid()), num_workers=1)
    assert not pids(fresh) & pids(fresh)


def test_workers_are_seeded_and_told_about():
    def load(i):
        info = get_worker_info()
        draws = [wg.rand(1).item(), random.random(), float(np.random.rand())]
        return [info.id, info.num_workers, info.dataset.n, *draws]

    assert get_worker_info() is None

    def run():
        wg.manual_seed(3)
        loader = DataLoader(Items(6, load), batch_size=None, num_workers=2, worker_init_fn=start)
        return [[list(map(float, item)) for item in loader] for _ in range(2)]

    def start(number):
        assert get_worker_info().id == number

    epochs = run()
    assert epochs == run()
    assert [item[:3] for item in epochs[0]] == [[i % 2, 2.0, 6.0] for i in range(6)]
    drawn = [x for epoch in epochs for item in epoch for x in item[3:]]
    assert len(set(drawn)) == len(drawn)


def test_a_failing_worker_init_fn_is_reported():
    def start(number):
        raise OSError("no such disk")

    with pytest.raises(OSError, match="no such disk"):
        list(DataLoader(Items(3), num_workers=1, worker_init_fn=start))


def test_spawned_workers_need_nothing_from_this_process():
    x = wg.arange(6.0)
    loader = DataLoader(TensorDataset(x), 2, num_workers=1, multiprocessing_context="spawn")
    assert [batch.tolist() for (batch,) in loader] == [[0, 1], [2, 3], [4, 5]]


def test_wrong_settings_are_refused():
    with pytest.raises(ValueError, match="valid start method"):
        DataLoader(Items(1), num_workers=1, multiprocessing_context="thread")
    with pytest.raises(ValueError, match="can only be used with multi-process loading"):
        DataLoader(Items(1), multiprocessing_context="fork")
    with pytest.raises(ValueError, match="non-negative"):
        DataLoader(Items(1), num_workers=-1)
    with pytest.raises(ValueError, match="prefetch_factor"):
        DataLoader(Items(1), prefetch_factor=2)


# ---- programs that end in the middle -------------------------------------------------------

PROGRAM = textwrap.dedent(
    """
    import os, signal, sys, time
    from wengert.utils.data import DataLoader, Dataset

    class Slow(Dataset):
        def __len__(self):
            return 1000
        def __getitem__(self, i):
            time.sleep(float(sys.argv[1]))
            return os.getpid()

    first, second = (DataLoader(Slow(), num_workers=2) for _ in range(2))
    other = iter(second)
    next(other)
    for i, batch in enumerate(first):
        print(batch.item(), flush=True)
    """
)


def started(seconds):
    """The program, running, and the processes that load its data."""
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(seconds)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    for _ in range(2):
        program.stdout.readline()
    listed = Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text()
    children = [int(pid) for pid in listed.split()]
    assert len(children) == 4
    return program, children


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks processes up in /proc")
@pytest.mark.parametrize("seconds", [0.02, 2])
def test_no_worker_outlives_a_killed_program(seconds):
    program, children = started(seconds)
    program.kill()
    program.communicate()
    assert all(map(gone, children))


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks processes up in /proc")
@pytest.mark.parametrize("seconds", [0.02, 2])
def test_an_interrupted_program_ends_at_once_and_alone(seconds):
    program, children = started(seconds)
    began = time.monotonic()
    os.killpg(program.pid, signal.SIGINT)  # as Ctrl-C does: to all of them
    _, errors = program.communicate(timeout=20)
    assert time.monotonic() - began < 10
    assert all(map(gone, children))
    assert errors.count("KeyboardInterrupt") == 1
    assert "worker" not in errors.lower().replace("workers.py", "")


# ---- positions -----------------------------------------------------------------------------


@pytest.mark.crossed
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("given", [0, 1, 3, 5])
def test_an_epoch_can_be_taken_up_in_the_middle(workers, given):
    make = lambda: DataLoader(TensorDataset(wg.arange(20)), 4, shuffle=True, num_workers=workers)
    wg.manual_seed(1)
    loader = make()
    list(loader)
    batches, rest = iter(loader), []
    for _ in range(given):
        next(batches)
        wg.rand(1)  # the model draws too
    state, rng = loader.state_dict(), wg.get_rng_state()
    rest = [(batch.tolist(), wg.rand(1).item()) for (batch,) in batches]
    following = [batch.tolist() for (batch,) in loader]

    wg.manual_seed(99)
    again = make()
    again.load_state_dict(state)
    wg.set_rng_state(rng)
    assert [(batch.tolist(), wg.rand(1).item()) for (batch,) in again] == rest
    assert [batch.tolist() for (batch,) in again] == following


def test_a_position_between_epochs_is_the_beginning_of_the_next():
    loader = DataLoader(TensorDataset(wg.arange(4)), 2)
    list(loader)
    again = DataLoader(TensorDataset(wg.arange(4)), 2)
    again.load_state_dict(loader.state_dict())
    assert len(list(again)) == 2


@pytest.mark.parametrize("workers", [0, 2])
def test_an_iterable_data_set_is_taken_up_by_passing_over_its_beginning(workers):
    loader = DataLoader(Shared(12), 2, num_workers=workers)
    batches = iter(loader)
    for _ in range(3):
        next(batches)
    state = loader.state_dict()
    rest = [batch.tolist() for batch in batches]
    again = DataLoader(Shared(12), 2, num_workers=workers)
    again.load_state_dict(state)
    assert [batch.tolist() for batch in again] == rest
