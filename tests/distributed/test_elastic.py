"""Training that goes on when ranks die, between threads; `test_mpi.py` kills processes."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

import wengert as wg
from tests.distributed import surviving
from wengert import distributed as dist
from wengert.distributed import checkpoint, elastic, mpi
from wengert.distributed.optim import ZeroRedundancyOptimizer
from wengert.serialization import sharded


@pytest.mark.parametrize("phase", surviving.PHASES)
def test_those_that_are_left_train_as_one_rank_does(phase, tmp_path, monkeypatch):
    monkeypatch.setattr(sharded, "save_file", surviving.torn)
    found = dist.run_threads(surviving.train, 3, sys.exit, phase, 4, 1, tmp_path, timeout=20)
    assert found[1] is None
    for left in (found[0], found[2]):
        surviving.check(left, 2)
    assert checkpoint.latest(tmp_path) == tmp_path / "00000006"
    torn = {4} if phase == "in a checkpoint" else set()
    complete = {int(path.parent.name) for path in tmp_path.glob("*/index.json")}
    assert complete == {2, 4, 6} - torn


@pytest.mark.sweep
@pytest.mark.parametrize("phase", ["before", "after"])
def test_a_compiled_step_is_written_anew_for_the_ranks_that_are_left(phase):
    found = dist.run_threads(surviving.train, 3, sys.exit, phase, 4, 1, None, True, timeout=20)
    surviving.check(found[0], 2)
    surviving.check(found[2], 2)


def lost(*doomed: int, at: int = 2, size: int = 4) -> Any:
    """A step that some ranks do not survive while there are so many."""

    def step(state: Any) -> None:
        if state.step == at and dist.get_world_size() == size and dist.get_rank() in doomed:
            sys.exit()
        one = wg.ones(())
        dist.all_reduce(one)
        state.ranks = [*state.ranks, int(one)]

    return step


def run(step: Any, size: int = 4, **settings: Any) -> list[Any]:
    """The numbers of ranks that each rank saw, step by step."""
    work = lambda: elastic.run(step, elastic.State(ranks=[]), **{"steps": 5} | settings).ranks
    return dist.run_threads(work, size, timeout=20)


def test_ranks_may_be_lost_one_after_the_other():
    def step(state):
        if state.step == 5 - dist.get_world_size() and dist.get_rank() == 0:
            sys.exit()
        one = wg.ones(())
        dist.all_reduce(one)
        state.ranks = [*state.ranks, int(one)]

    assert run(step, steps=4) == [None, None, None, [4, 3, 2, 1]]


def test_several_are_lost_at_once_and_steps_since_the_commit_are_done_again():
    assert run(lost(0, 2, at=3), commit_every=2) == [None, [4, 4, 2, 2, 2]] * 2


def test_a_rank_that_is_lost_before_the_first_step_was_never_there():
    assert run(lost(1, at=0)) == [[3] * 5, None, [3] * 5, [3] * 5]


def test_a_rank_that_is_lost_after_its_last_step_is_not_missed():
    def work():
        state = elastic.run(lost(), elastic.State(ranks=[]), steps=2)
        return sys.exit() if dist.get_rank() == 1 else state.ranks

    with pytest.raises(SystemExit):  # nobody has gone on without it: it ended by itself
        dist.run_threads(work, 2, timeout=20)


def test_fewer_ranks_than_the_launcher_said_end_the_program(monkeypatch):
    monkeypatch.setenv("WENGERT_MIN_RANKS", "3")
    with pytest.raises(dist.DistError, match=r"2 rank\(s\) are left, fewer than the 3"):
        run(lost(0, 1))
    assert run(lost(1))[0] == [4, 4, 3, 3, 3]


def divided(doomed: tuple[int, ...], folder: Any = None) -> list[Any]:
    """Training with a divided optimizer, of which ranks are lost in step 2."""

    def work():
        x = [wg.ones(2, requires_grad=True) for _ in range(4)]
        optimizer = ZeroRedundancyOptimizer(x, wg.optim.SGD, lr=0.5, momentum=0.5)
        step_ = lost(*doomed)

        def step(state):
            step_(state)
            optimizer.zero_grad()
            sum(x).sum().backward()
            optimizer.step()

        state = elastic.State(x=list(x), optimizer=optimizer, ranks=[])
        settings = {} if folder is None else {"folder": folder, "save_every": 2}
        elastic.run(step, state, steps=4, **settings)
        return [p.tolist() for p in x]

    return dist.run_threads(work, 4, timeout=20)


def test_a_share_that_is_lost_with_its_copy_is_taken_from_a_checkpoint(tmp_path):
    with pytest.raises(dist.DistError, match="a rank and the one after it were lost together"):
        divided((1, 2))
    expected = divided(())[0]
    assert divided((0, 2))[1] == expected
    assert divided((1, 2), tmp_path)[0] == expected


def test_ranks_that_took_different_numbers_of_steps_are_told():
    def step(state):
        state.step += dist.get_rank() == 1

    with pytest.raises(dist.DistError, match="different numbers of steps, from 1 to 2"):
        run(step, 2)


def test_a_gradient_that_a_failed_step_has_added_to_is_what_it_was():
    # Steps that end with zero_grad would add the gradient of a failed one to the next.
    def work():
        net = wg.nn.Linear(1, 1, bias=False)
        seen = []

        def step(state):
            net(wg.ones(1, 1)).sum().backward()
            seen.append(net.weight.grad.item())
            if state.step == 1 and dist.get_world_size() == 2 and dist.get_rank() == 0:
                sys.exit()
            dist.all_reduce(wg.ones(1))
            net.zero_grad()

        elastic.run(step, elastic.State(net=net), steps=3)
        return seen

    assert dist.run_threads(work, 2, timeout=20) == [None, [1.0, 1.0, 1.0, 1.0]]


def test_samplers_divide_the_data_anew_and_groups_are_made_anew():
    def work():
        sampler = wg.utils.data.DistributedSampler(range(6), shuffle=False)
        shares, everybody = [], []

        def begin(state):
            shares.append(list(sampler))
            everybody.append(dist.new_group())

        elastic.run(lost(0, size=3), elastic.State(ranks=[]), steps=3, begin=begin)
        dist.all_reduce(wg.ones(1), group=everybody[1])
        with pytest.raises(dist.DistError, match="was made before ranks were lost"):
            dist.all_reduce(wg.ones(1), group=everybody[0])
        return shares

    assert dist.run_threads(work, 3, timeout=20)[1:] == [[[1, 4], [0, 2, 4]], [[2, 5], [1, 3, 5]]]


def test_what_a_state_cannot_keep_is_named():
    with pytest.raises(
        TypeError, match=r"elastic\.State: data is of range, which has no load_state"
    ):
        elastic.State(data=range(3))
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        elastic.run(lambda state: None, elastic.State(), steps=1)
    with pytest.raises(ValueError, match="commit_every=0 is not a number of steps"):
        elastic.run(lambda state: None, elastic.State(), steps=1, commit_every=0)


def test_an_error_that_the_driving_thread_was_told_is_told_to_who_waits():
    # MPI says once that a request has failed, and calls it done from then on: what a bucket held
    # was taken for what had arrived.
    class Failed(Exception):
        pass

    class Request:
        asked = 0

        def Test(self, status: Any) -> bool:
            self.asked += 1
            if self.asked == 1:
                raise Failed
            return True

    at = SimpleNamespace(
        MPI=SimpleNamespace(Exception=Failed),
        failed=lambda what, error: dist.RankLostError(f"{what()} failed"),
    )
    transfer = mpi.Transfer(at, Request(), lambda: "all_reduce", None)  # type: ignore[arg-type]
    for ask in (transfer.poll, transfer.poll, lambda: transfer.wait(1.0)):
        with pytest.raises(dist.RankLostError, match="all_reduce failed"):
            ask()


def test_a_checkpoint_gives_back_what_is_empty_and_lists_in_their_order(tmp_path):
    # The state of SGD without momentum was not there after a restart, and a list whose last item
    # is the largest could not be read.
    p = wg.ones(2, requires_grad=True)
    state = {"optimizer": wg.optim.SGD([p], lr=0.1).state_dict(), "list": [wg.ones(1), {}, p, ()]}
    checkpoint.save(state | {"none": {}}, checkpoint_id=tmp_path, no_dist=True)
    found = checkpoint.read(tmp_path)
    assert list(found) == ["optimizer", "list", "none"]
    assert found["optimizer"] == state["optimizer"]
    assert [getattr(x, "shape", x) for x in found["list"]] == [(1,), {}, (2,), ()]
    assert found["none"] == {}
    fresh = {"optimizer": {"state": {}}, "none": {}}  # which has nothing that could be taken over
    checkpoint.load(fresh, checkpoint_id=tmp_path, no_dist=True)
    wg.optim.SGD([p], lr=0.5).load_state_dict(found["optimizer"])
