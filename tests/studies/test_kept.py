"""The file of a study: what is finished stays, whatever ends the program; and whose it is."""

import errno
import functools
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import wengert as wg
from tests.studies import fits
from wengert import studies
from wengert.errors import StudyError
from wengert.studies import kept

ONE_BY_ONE = {"vmap": False, "compile": False}


def asked(folder):
    """How often each row was run."""
    return {int(path.name): len(path.read_text()) for path in folder.iterdir()}


@pytest.fixture
def runs(tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    return folder


def test_a_study_that_failed_goes_on_with_the_rows_that_are_left(tmp_path, runs):
    path, xs = tmp_path / "study.wg", np.arange(9.0)
    with pytest.raises(ValueError, match="five") as caught:
        studies.map(functools.partial(fits.refused, runs), xs, file=path, batch=2, **ONE_BY_ONE)
    assert caught.value.__notes__[-1].startswith(
        "4 of 9 rows of the study are finished and kept in"
    )
    (runs / "5").unlink()
    content = wg.load(path)
    assert content["done"].tolist() == [True] * 4 + [False] * 5
    np.testing.assert_equal(content["results"], [0, 1, 4, 9] + [np.nan] * 5)


def test_a_finished_study_is_read_and_not_run(tmp_path, runs):
    f, xs = functools.partial(fits.noted, runs), np.arange(6.0)
    how = {"file": tmp_path / "study.wg", **ONE_BY_ONE}
    first = studies.map(f, xs, **how)
    again = studies.map(f, xs, **how)
    assert again.tolist() == first.tolist() == [0, 1, 4, 9, 16, 25]
    assert asked(runs) == dict.fromkeys(range(6), 1)
    assert [k for k, _ in studies.as_completed(f, xs, **how)] == list(range(6))
    assert asked(runs) == dict.fromkeys(range(6), 1)


class Fit(NamedTuple):
    p: object
    loss: object


def test_results_are_kept_in_their_containers(tmp_path):
    f = lambda x: {"t": x * 2, "n": (x.sum(), None)}
    rows = wg.arange(6.0).reshape(3, 2)
    first = studies.map(f, rows, file=tmp_path / "a.wg")
    again = studies.map(f, rows, file=tmp_path / "a.wg")
    assert wg.equal(again["t"], first["t"])
    assert isinstance(again["n"], tuple)
    for _ in range(2):
        fits = studies.map(lambda x: Fit(x, x), np.arange(3.0), file=tmp_path / "b.wg")
        assert type(fits) is Fit


@pytest.mark.parametrize(
    ("f", "rows", "differs"),
    [
        (fits.decay, np.ones((3, 2)), "function, code"),
        (functools.partial(fits.square), np.ones(3) * 2, "parameters"),
        (functools.partial(fits.square), np.ones(4), "rows, parameters"),
    ],
)
def test_a_file_of_another_study_is_refused_and_both_are_told(f, rows, differs, tmp_path):
    path = tmp_path / "study.wg"
    studies.map(fits.square, np.ones(3), file=path, **ONE_BY_ONE)
    with pytest.raises(
        StudyError, match=r"There: function .*square.*, rows 3, .* Here: "
    ) as caught:
        studies.map(f, rows, file=path, **ONE_BY_ONE)
    assert differs in str(caught.value)


def test_data_that_a_function_brings_along_are_part_of_the_study(tmp_path):
    path = tmp_path / "study.wg"
    offset = np.zeros(1)
    f = lambda x: x + offset
    studies.map(f, np.ones(3), file=path, **ONE_BY_ONE)
    offset[0] = 5
    with pytest.raises(StudyError, match="They differ in code"):
        studies.map(f, np.ones(3), file=path, **ONE_BY_ONE)


def test_a_file_that_holds_something_else_is_left_alone(tmp_path):
    path = tmp_path / "weights.wg"
    wg.save({"w": wg.ones(2)}, path)
    with pytest.raises(StudyError, match="is not the file of a study"):
        studies.map(fits.square, np.ones(3), file=path)
    assert wg.load(path)["w"].tolist() == [1, 1]


def test_a_place_where_nothing_can_be_written_is_told_before_anything_runs(tmp_path, runs):
    with pytest.raises(FileNotFoundError, match="no such folder"):
        studies.map(functools.partial(fits.noted, runs), np.ones(3), file=tmp_path / "no" / "a.wg")
    assert asked(runs) == {}


def test_a_disk_that_is_full_half_way_does_not_lose_results(tmp_path, monkeypatch):
    real, calls = kept.save, []

    def full(value, path):
        calls.append(path)
        if len(calls) in (2, 3):
            raise OSError(errno.ENOSPC, "No space left on device")
        real(value, path)

    monkeypatch.setattr(kept, "save", full)
    monkeypatch.setattr(kept, "SHARE", np.inf)  # writes after each batch, however long that takes
    path = tmp_path / "study.wg"
    with pytest.warns(RuntimeWarning, match="No space left on device.* holds 0 finished rows"):
        found = studies.map(fits.square, np.arange(4.0), file=path, **ONE_BY_ONE)
    assert found.tolist() == [0, 1, 4, 9]
    assert wg.load(path)["done"].all()  # it was tried again


def test_what_is_finished_is_kept_when_the_user_interrupts(tmp_path):
    def f(x):
        if x == 3:
            raise KeyboardInterrupt
        return x

    with pytest.raises(KeyboardInterrupt):
        studies.map(f, np.arange(6.0), file=tmp_path / "study.wg", **ONE_BY_ONE)
    assert wg.load(tmp_path / "study.wg")["done"].tolist() == [True] * 3 + [False] * 3


def test_a_loop_that_is_left_early_keeps_what_came(tmp_path):
    path = tmp_path / "study.wg"
    for k, _ in studies.as_completed(fits.square, np.arange(6.0), file=path, **ONE_BY_ONE):
        if k == 2:
            break
    assert wg.load(path)["done"].sum() == 3


KILLED = """
import functools, sys
import numpy as np
from tests.studies import fits
from wengert import studies
studies.map(functools.partial(fits.slow, sys.argv[1]), np.arange(40.0), file=sys.argv[2],
            vmap=False, compile=False)
"""


@pytest.mark.sweep
def test_a_study_killed_half_way_goes_on_where_it_was(tmp_path, runs):
    path = tmp_path / "study.wg"
    command = [sys.executable, "-c", KILLED, str(runs), str(path)]
    process = subprocess.Popen(command, cwd=Path(wg.__file__).parents[1])
    try:
        end = time.monotonic() + 60
        while not (path.exists() and wg.load(path)["done"].any()):
            assert time.monotonic() < end
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.wait(60)
    done = np.flatnonzero(wg.load(path)["done"])
    again = functools.partial(fits.slow, str(runs))
    found = studies.map(again, np.arange(40.0), file=path, **ONE_BY_ONE)
    assert found.tolist() == [k * k for k in range(40)]
    times = asked(runs)
    assert all(times[k] == 1 for k in done)
    assert len(times) == 40
