"""How the tests are run: on all cores, without the long sweeps, and in full when asked."""

import gc
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.compile.stories import same

ROOT = Path(__file__).parents[1]

TESTS = """
import os
import pathlib
import subprocess
import sys

import pytest

def test_short():
    pass

def test_a_worker_starts_no_workers(pytestconfig):
    assert "PYTEST_XDIST_WORKER" not in os.environ or not pytestconfig.option.numprocesses

def test_code_is_made_once_for_all_processes_and_runs(pytestconfig):
    folder = pathlib.Path(os.environ["WENGERT_CACHE"])
    assert folder.parent.parent == pytestconfig.rootpath / ".pytest_cache"
    assert folder.is_dir()
    program = "import sys; print(sys.dont_write_bytecode)"
    assert subprocess.check_output([sys.executable, "-c", program]).strip() == b"False"

@pytest.mark.sweep
@pytest.mark.parametrize("n", range(3))
def test_long(n):
    pass

@pytest.mark.crossed
@pytest.mark.parametrize("letter", "ab")
@pytest.mark.parametrize("n", range(3))
def test_all_with_all(n, letter):
    pass
"""


@pytest.fixture
def run(tmp_path):
    """Run some tests with the settings of these, as from a shell, and give what is printed."""
    pytest.importorskip("xdist")
    (tmp_path / "test_some.py").write_text(TESTS, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nmarkers =\n sweep\n crossed\n", encoding="utf-8"
    )
    shell = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST")}
    shell["PYTHONDONTWRITEBYTECODE"] = "1"

    def run(*arguments):
        command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", *arguments]
        done = subprocess.run(
            command, cwd=tmp_path, env={**shell, "PYTHONPATH": str(ROOT)}, capture_output=True
        )
        return done.stdout.decode()

    return run


def test_a_plain_run_uses_workers_and_says_what_it_left_out(run):
    said = run()
    assert "worker" in said
    assert "6 passed" in said
    assert "6 long sweeps were left out: pytest --full runs them." in said


def test_a_full_run_leaves_nothing_out(run):
    said = run("--full")
    assert "12 passed" in said
    assert "left out" not in said


def test_a_file_runs_in_one_process(run):
    said = run("test_some.py")
    assert "worker" not in said
    assert "6 passed" in said
    assert "6 long sweeps were left out" in said


def test_of_combinations_each_row_of_each_list_runs(run):
    said = run("test_some.py", "-v", "-k", "all_with_all")
    assert re.findall(r"with_all\[(.*)\] PASSED", said) == ["0-a", "1-b", "2-a"]


def test_a_sweep_that_is_named_runs(run):
    assert "3 passed" in run("test_some.py::test_long")
    assert "1 passed" in run("test_some.py::test_long[1]")
    assert "6 passed" in run("test_some.py::test_all_with_all")


def test_what_is_out_of_the_collectors_sight_stays_so_after_a_story():
    # The tests came back into sight with the first one: each later collection took 0.3 s.
    gc.freeze()
    same(lambda compile: [compile(lambda: 1)()])
    assert gc.get_freeze_count() > 10_000


def test_workers_tell_of_what_failed_before_and_after_a_test(run, tmp_path):
    """Of tests that passed they tell little: what failed beside one must not be lost with it."""
    tests = [
        "import pytest",
        "@pytest.fixture",
        "def before(): raise ValueError",
        "@pytest.fixture",
        "def after():",
        "    yield",
        "    raise ValueError",
        "def test_before(before): pass",
        "def test_after(after): pass",
        "def test_skipped(): pytest.skip()",
    ]
    (tmp_path / "test_some.py").write_text("\n".join(tests), encoding="utf-8")
    assert "1 passed, 1 skipped, 2 errors" in run("-n", "1")
