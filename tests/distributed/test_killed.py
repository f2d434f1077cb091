"""Ranks that are killed at any time: the others go on or end, and no file is half written."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from tests.distributed import killed
from tests.distributed.processes import needs_mpi, run
from wengert.cli.run import survives
from wengert.serialization import load, sharded

pytestmark = needs_mpi
SHORT, LONG = 2, 40


@pytest.mark.parametrize(
    "seed", [pytest.param(k, marks=[pytest.mark.sweep] * (k >= SHORT)) for k in range(LONG)]
)
def test_a_rank_that_is_killed_at_any_time_is_missed_by_nobody(seed, tmp_path):
    draw = random.Random(seed)
    phase = killed.PHASES[seed % len(killed.PHASES)]
    size, goes_on = draw.randint(2, 3), survives() and draw.random() < 0.6
    at = draw.choice([2, 4] if phase == "in a checkpoint" else range(1, 6))
    who = draw.randrange(size)
    seconds = draw.uniform(0, 1.5 if phase == killed.STARTING else killed.LONGEST)
    words = ["--nproc", str(size), *(["--min", "1"] if goes_on else []), "--max-restarts", "1"]
    words += ["-m", "tests.distributed.killed", str(tmp_path), phase, str(at), str(who)]
    done = run([sys.executable, "-m", "wengert", "run", *words, str(seconds)])
    assert done.returncode == 0, done.stdout
    again = "starting again (1 of 1)" in done.stdout
    # One that is killed before MPI has started everywhere cannot be gone on without.
    assert again == (not goes_on) or phase == killed.STARTING, done.stdout
    through = {rank for rank in range(size) if f"trained to the end: {rank}" in done.stdout}
    assert through >= set(range(size)) - (set() if again else {who}), done.stdout
    assert_whole(tmp_path)


def assert_whole(folder: Path) -> None:
    """Checkpoints are complete or none, and what has a file's name is a whole file."""
    for file in folder.glob("*/rank*.safetensors"):
        load(file)
    newest = sharded.latest(folder)
    assert newest is not None
    for index in folder.glob(f"*/{sharded.INDEX}"):
        assert sharded.read(index.parent)["net"]
