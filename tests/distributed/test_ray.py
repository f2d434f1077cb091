"""Ranks that are actors of Ray: on Ray where it is installed, and beside it on a stand-in.

The stand-in has ranks that are threads, and a desk that they reach only by what can be pickled.
"""

from __future__ import annotations

import pickle
import signal
import sys
import types

import pytest

import wengert as wg
from tests.distributed import (
    surviving,
    training,  # noqa: F401  (more checks)
)
from tests.distributed.checks import CHECKS
from tests.distributed.processes import is_started_again, run
from wengert import distributed as dist
from wengert.cli import actors, main
from wengert.distributed import ray as engine
from wengert.distributed import transport

needs_ray = pytest.mark.skipif(
    not engine.installed(), reason='Ray is not installed: pip install "wengert[ray]"'
)


@pytest.fixture
def stand_in(monkeypatch):
    """Threads whose hub is reached as an actor is."""
    desks = {}

    def asked(method, *words):
        return pickle.loads(pickle.dumps(method(*pickle.loads(pickle.dumps(words)))))

    nothing = type("Nothing", (Exception,), {})
    ray = types.SimpleNamespace(
        put=pickle.dumps,
        get=pickle.loads,
        exceptions=types.SimpleNamespace(ObjectLostError=nothing),
    )
    monkeypatch.setattr(engine, "library", lambda: ray)
    monkeypatch.setattr(engine, "asked", asked)
    monkeypatch.setattr(engine, "desk", lambda name, size: desks.setdefault(name, engine.Desk()))
    monkeypatch.setitem(transport.ENGINES, "threads", "wengert.distributed.ray:Ray")
    return desks


@pytest.mark.crossed
@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("name", CHECKS)
def test_actors_do_what_every_engine_must(name, size, stand_in):
    dist.run_threads(CHECKS[name], size, timeout=30)


@pytest.mark.parametrize("phase", surviving.PHASES[:3])
def test_those_that_are_left_go_on(phase, stand_in):
    work = lambda: surviving.train(sys.exit, phase, at=3, who=1)
    ended = dist.run_threads(work, 3, timeout=20)
    assert ended[1] is None
    for found in (ended[0], ended[2]):
        surviving.check(found, 2)


def test_what_went_wrong_at_the_desk_is_the_ranks_error(stand_in):
    def work():
        dist.all_reduce(wg.zeros(2 + dist.get_rank()))

    with pytest.raises(dist.DistBackendError, match=r"ranks have come to different operations"):
        dist.run_threads(work, 2, timeout=20)


def test_ranks_that_were_lost_one_after_the_other_are_named_as_they_began():
    desk = engine.Desk()
    world = desk.hubs[desk.enter(0, 4)]
    desk.lose(1)
    left, who = world.shrunk()
    desk.lose(3)
    assert who == [0, 2, 3]
    assert left.lost == {2}


def test_a_rank_that_dies_in_a_second_group_is_lost_to_that_one():
    # The first group of all was told, which nobody is in any more: the others waited in vain.
    desk = engine.Desk()
    first = [desk.enter(rank, 2) for rank in (0, 1)]
    second = [desk.enter(rank, 2) for rank in (0, 1)]
    desk.lose(1)
    assert len({*first}) == len({*second}) == 1
    assert desk.hubs[second[0]].lost == {1}
    assert desk.hubs[first[0]].lost == set()


def test_a_rank_that_dies_before_any_has_come_is_told_to_the_launcher():
    with pytest.raises(dist.DistBackendError, match="before any rank had come"):
        engine.Desk().lose(0)


def test_a_script_for_torchrun_takes_the_engine_that_it_was_started_by(monkeypatch):
    assert transport.named("gloo") == transport.named(None) == "mpi"
    monkeypatch.setenv(transport.LAUNCHED, "ray")
    assert transport.named("gloo") == transport.named(None) == "ray"
    assert transport.named("mpi") == "mpi"


def test_without_a_launcher_ranks_have_to_be_told_who_they_are(monkeypatch):
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match=r"wengert run --engine ray"):
        dist.init_process_group("ray")


def test_without_ray_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(dist.DistBackendError, match=r"pip install .wengert\[ray\]"):
        engine.library()
    done = run([sys.executable, "-c", WITHOUT_RAY])
    assert done.returncode == 2, done.stdout
    assert 'there is no Ray: pip install "wengert[ray]"' in done.stdout


@pytest.mark.parametrize(("told", "ranks"), [([], 7), (["--nproc", "3"], 3), (["--max", "5"], 5)])
def test_as_many_ranks_start_as_the_cluster_has_processors(told, ranks, monkeypatch):
    # As many as this machine has were started, on a cluster of any size.
    begun = []
    monkeypatch.setattr(actors, "room", lambda least: 7)
    monkeypatch.setattr(actors, "attempt", lambda nproc, *_: begun.append(nproc) or 0)
    assert main(["run", "--engine", "ray", *told, __file__]) == 0
    assert begun == [ranks]


WITHOUT_RAY = f"""
import sys
sys.modules["ray"] = None
from wengert.cli import main
sys.argv = ["wengert", "run", "--engine", "ray", "--nproc", "2", {__file__!r}]
sys.exit(main())
"""


@pytest.mark.sweep
@needs_ray
def test_on_ray_actors_do_what_every_engine_must(tmp_path):
    words = ["run", "--engine", "ray", "--nproc", "2", "-m", "tests.distributed.run_checks"]
    done = run([sys.executable, "-m", "wengert", *words])
    assert done.returncode == 0, done.stdout
    for name in CHECKS:
        assert f"passed {name}" in done.stdout


@pytest.mark.sweep
@needs_ray
def test_the_launcher_starts_actors_again_and_goes_on_without_those_that_died(tmp_path):
    is_started_again(tmp_path, "--engine", "ray")
    ray = [sys.executable, "-m", "wengert", "run", "--engine", "ray"]
    script = tmp_path / "script.py"
    script.write_text(KILLED)
    done = run([*ray, "--nproc", "3", "--min", "2", str(script)])
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("[3, 3, 2, 2]") == 2


KILLED = f"""
import os
import wengert as wg
from wengert import distributed as dist
from wengert.distributed import elastic

def step(state):
    if state.step == 2 and dist.get_rank() == 1 and dist.get_world_size() == 3:
        os.kill(os.getpid(), {int(signal.SIGKILL)})
    one = wg.ones(())
    dist.all_reduce(one)
    state.ranks = [*state.ranks, int(one)]

dist.init_process_group(timeout=30)
state = elastic.run(step, elastic.State(ranks=[]), steps=4)
print(state.ranks, flush=True)
"""
