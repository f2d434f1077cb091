"""Programs on several processes, for tests: each has a minute, and is ended by its process id."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from wengert.cli.run import command

ROOT = Path(__file__).parents[2]
MINUTE = 60

needs_mpi = pytest.mark.skipif(
    shutil.which("mpirun") is None or find_spec("mpi4py") is None,
    reason='needs mpirun and mpi4py: pip install "wengert[mpi]"',
)


def run(words: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
    """A command, from the root of the repository, with what it printed; both streams are one."""
    environment = os.environ | {"PYTHONPATH": path(), "OMP_NUM_THREADS": "1"} | variables
    process = subprocess.Popen(
        words,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        text, _ = process.communicate(timeout=MINUTE)
    except subprocess.TimeoutExpired:
        process.terminate()  # mpirun ends the processes that it has started
        text, _ = process.communicate(timeout=10)
        pytest.fail(f"not over after {MINUTE} s: {' '.join(words)}\n{text}")
    finally:
        process.kill()
    return subprocess.CompletedProcess(words, process.returncode, text)


def path() -> str:
    return os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))


def ranks(size: int, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A Python program on so many ranks."""
    return run(command(size, [sys.executable, *words]), **variables)


def program(size: int, text: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """The text of a program, on so many ranks that have joined a group as `dist`."""
    begin = (
        "import wengert as wg, os, time, signal\n"
        "from wengert import distributed as dist\n"
        "dist.init_process_group('mpi', timeout=20)\n"
        "rank, size = dist.get_rank(), dist.get_world_size()\n"
    )
    return ranks(size, "-c", begin + text, **variables)


def is_started_again(folder: Path, *options: str) -> None:
    """`wengert run` sets what torchrun sets, and starts a script again that has failed once."""
    script = folder / "script.py"
    script.write_text(
        "import os, sys\n"
        "names = 'RANK WORLD_SIZE LOCAL_RANK MASTER_ADDR TORCHELASTIC_RESTART_COUNT'.split()\n"
        "print(*[os.environ[n] for n in names], sys.argv[1:], flush=True)\n"
        "sys.exit(int(os.environ[names[-1]]) < 1)\n"
    )
    words = ["--nproc", "2", "--max-restarts", "2", str(script), "--epochs", "3"]
    done = run([sys.executable, "-m", "wengert", "run", *options, *words])
    assert done.returncode == 0, done.stdout
    for rank in (0, 1):
        assert f"{rank} 2 {rank} 127.0.0.1 1 ['--epochs', '3']" in done.stdout
    assert "starting again (1 of 2)" in done.stdout
    assert "starting again (2 of 2)" not in done.stdout
