"""Ranks that are threads: every check on one, two, three and four of them, and what goes wrong."""

from __future__ import annotations

import re
import threading

import numpy as np
import pytest

import wengert as wg
from tests.distributed.checks import CHECKS
from tests.distributed.training import Branches, batch, network  # which has more checks
from wengert import distributed as dist
from wengert.distributed import functional
from wengert.distributed.exchange import exchange
from wengert.nn.parallel import DistributedDataParallel as DDP


@pytest.mark.crossed
@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("name", CHECKS)
def test_threads_do_what_every_engine_must(name, size):
    dist.run_threads(CHECKS[name], size, timeout=30)


def outcome(work, size=2, timeout=30.0):
    """What each rank of `work(rank)` ended with: a result, or an error's text."""
    found = [None] * size

    def run():
        rank = dist.get_rank()
        try:
            found[rank] = work(rank)
        except Exception as error:
            found[rank] = f"{type(error).__name__}: {error}"

    dist.run_threads(run, size, timeout=timeout)
    return found


def test_shapes_that_differ_name_both_ranks_and_lines():
    first, second = outcome(lambda rank: dist.all_reduce(wg.zeros(rank + 2)))
    for text in (first, second):
        assert "DistBackendError" in text
        assert re.search(r"rank 0: all_reduce SUM of float32\[2\], at .*test_threads.py", text)
        assert re.search(r"rank 1: all_reduce SUM of float32\[3\], at .*test_threads.py", text)


def test_different_operations_name_both():
    def work(rank):
        x = wg.zeros(2)
        dist.all_reduce(x) if rank else dist.broadcast(x, 0)

    for text in outcome(work):
        assert "ranks have come to different operations" in text
        assert "broadcast" in text
        assert "all_reduce" in text


@pytest.mark.parametrize("change", ["op", "dtype", "root"])
def test_different_arguments_are_different_operations(change):
    def work(rank):
        x = wg.zeros(2, dtype=wg.float64 if change == "dtype" and rank else wg.float32)
        if change == "root":
            dist.broadcast(x, rank)
        else:
            op = dist.ReduceOp.MAX if change == "op" and rank else dist.ReduceOp.SUM
            dist.all_reduce(x, op)

    assert all("different operations" in text for text in outcome(work))


def test_a_timeout_says_who_is_missing_and_where_it_stands():
    stay = threading.Event()

    def work(rank):
        dist.all_reduce(wg.zeros(3))
        if rank == 1:
            stay.wait(20)
            return "late"
        try:
            dist.barrier(timeout=0.2)
        finally:
            stay.set()

    first, second = outcome(work)
    assert "DistTimeoutError: rank 0 waited 0.2 s in barrier" in first
    assert "rank 1 last began all_reduce SUM of float32[3]" in first
    assert second == "late"


def test_a_message_that_does_not_come_is_a_timeout():
    stay = threading.Event()

    def work(rank):
        if rank == 1:
            return stay.wait(20)
        try:
            return dist.irecv(wg.zeros(1), 1).wait(0.1)
        finally:
            stay.set()

    assert "rank 0 waited 0.1 s in recv of float32[1] from rank 1" in outcome(work)[0]


@pytest.mark.parametrize("waits", [dist.recv, dist.all_reduce])
def test_a_rank_that_has_ended_is_not_waited_for(waits):
    # It was, until the time was up: half an hour, unless a timeout was given.
    first, _ = outcome(lambda rank: rank or waits(wg.zeros(1)))
    assert f"rank 0 cannot go on with {waits.__name__}" in first
    assert "rank 1 has ended" in first


def test_after_a_timeout_the_group_is_of_no_more_use():
    def work(rank):
        if rank == 0:
            with pytest.raises(dist.DistTimeoutError):
                dist.barrier(timeout=0.1)
            dist.all_reduce(wg.zeros(1))

    assert "DistBackendError: rank 0 cannot go on" in outcome(work)[0]


def test_a_rank_that_fails_stops_the_others():
    def work():
        if dist.get_rank() == 1:
            raise KeyError("lost")
        dist.barrier()

    with pytest.raises(KeyError, match="lost") as caught:
        dist.run_threads(work, 3)
    assert caught.value.__notes__ == ["(on rank 1 of 3)"]


def test_ranks_meet_by_the_method_that_they_are_given():
    found = {}

    def run(rank):
        dist.init_process_group("threads", "here", rank=rank, world_size=2, timeout=30)
        x = wg.tensor([1.0])
        dist.all_reduce(x)
        found[rank] = x.item()
        dist.destroy_process_group()
        assert not dist.is_initialized()

    threads = [threading.Thread(target=run, args=(r,)) for r in (0, 1)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert found == {0: 2.0, 1: 2.0}


def test_a_rank_that_waits_for_others_to_start_is_told_which_are_missing():
    with pytest.raises(dist.DistTimeoutError, match=r"0 waited 0.1 s for ranks \[1, 2\] to start"):
        dist.init_process_group("threads", "alone", rank=0, world_size=3, timeout=0.1)
    assert not dist.is_initialized()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"backend": "nccl"}, "Choose 'mpi' or 'ray' for processes"),
        ({"backend": "threads"}, "has to be told rank= and world_size="),
        ({"backend": "threads", "rank": 2, "world_size": 2}, "is not below the world_size"),
        ({"backend": "threads", "timeout": 0}, "not a positive time"),
    ],
)
def test_a_group_that_cannot_be_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        dist.init_process_group(**arguments)


def test_errors_in_a_group_of_some_ranks_name_them_as_they_count_among_all():
    # They named them by their places in the group: of ranks 1 and 2, "rank 0" and "rank 1".
    def work(rank):
        pair = dist.new_group([1, 2])
        if rank:
            dist.all_reduce(wg.zeros(rank), group=pair)

    _, *both = outcome(work, 3)
    for text in both:
        assert "rank 1: all_reduce SUM of float32[1], at" in text
        assert "rank 2: all_reduce SUM of float32[2], at" in text


def test_groups_that_differ_are_refused():
    # Each rank met in a group that it had to itself, where it waited until its time was up.
    for text in outcome(lambda rank: dist.new_group([0, 1] if rank else [0])):
        assert "rank 0: new_group([0]), at" in text
        assert "rank 1: new_group([0, 1]), at" in text


def test_a_rank_that_ends_has_left_the_groups_that_others_still_make():
    def work(rank):
        if rank:
            dist.new_group([0, 1])
            dist.barrier()

    assert "rank 1 cannot go on with new_group([0, 1]), at" in outcome(work)[1]


def test_objects_of_ranks_that_differ_in_the_root_are_refused():
    # Where all take another for the root nobody sends: "cannot reshape array of size 0".
    for text in outcome(lambda rank: dist.broadcast_object_list(["it"], 1 - rank)):
        assert "broadcast_object_list of uint8[0] with root 0" in text
        assert "broadcast_object_list of uint8[0] with root 1" in text


def test_what_objects_send_first_is_not_taken_for_a_sum_of_the_users():
    # Both sent one whole number of which the largest was wanted: the user's became a length.
    def work(rank):
        x = wg.tensor([rank])
        dist.all_reduce(x, dist.ReduceOp.MAX) if rank else dist.all_gather_object([None] * 2, x)

    for text in outcome(work):
        assert "rank 0: all_gather_object MAX of int64[1]" in text
        assert "rank 1: all_reduce MAX of int64[1]" in text


def test_a_message_of_another_form_names_both_lines():
    def work(rank):
        dist.recv(wg.zeros(3), 0) if rank else dist.send(wg.zeros(2), 1)

    text = outcome(work)[1]
    assert re.search(r"rank 1: recv of float32\[3\] from rank 0, at .*test_threads.py", text)
    assert re.search(r"rank 0: send of float32\[2\] to rank 1, at .*test_threads.py", text)


def test_a_message_that_nobody_receives_is_told():
    # It was lost, whether the receiver left before it or after it.
    for first in (0, 1):
        left = threading.Event()

        def work(first=first, left=left):
            rank = dist.get_rank()
            if rank != first:
                left.wait(20)
            if rank == 0:
                dist.send(wg.zeros(2), 1)
            if rank == first:
                try:
                    dist.destroy_process_group()
                finally:
                    left.set()

        with pytest.raises(dist.DistBackendError, match=r"send of float32\[2\] to rank 1, at"):
            dist.run_threads(work, 2, timeout=20)


def test_a_group_is_nothing_that_a_compiled_function_looks_through():
    # It saw all that the ranks have in common, and put that back as it was before the call, while
    # others were at work with it: they waited for what they had brought.
    def work(rank):
        group, found = dist.GroupMember.WORLD, []
        for _ in range(3):
            twice = wg.compile(lambda x: functional.all_reduce(2 * x, group=group))
            found.append(twice(wg.ones(1)).item())
        return found

    for _ in range(20):
        assert outcome(work) == [[4.0] * 3] * 2


def test_arguments_that_have_no_meaning_here_are_refused():
    # Only the members called new_group then, and waited for the others until the time was up.
    def work():
        for arguments in ({"use_local_synchronization": True}, {"pg_options": 1}):
            with pytest.raises(NotImplementedError, match=r"new_group: .*leave"):
                dist.new_group([0], **arguments)
        pair = dist.new_group([0, 1])
        if dist.get_rank() < 2:
            with pytest.raises(NotImplementedError, match="new_subgroups_by_enumeration"):
                dist.new_subgroups(1, pair)
        return [group.size() for group in dist.new_subgroups(1)[1] if group]

    assert dist.run_threads(work, 3, timeout=20) == [[1]] * 3


def test_before_there_is_a_group_operations_say_so():
    assert (dist.get_rank(), dist.get_world_size()) == (0, 1)
    assert dist.GroupMember.WORLD is None
    for operation in (lambda: dist.all_reduce(wg.zeros(1)), dist.barrier, dist.get_backend):
        with pytest.raises(ValueError, match="has not been initialized"):
            operation()


def test_a_function_that_was_compiled_for_other_ranks_is_compiled_again():
    f = wg.compile(lambda x: dist.functional.exchanged(x, "all_gather", None))
    for size in (2, 3, 2):
        assert (
            dist.run_threads(lambda: f(wg.ones(2)).tolist(), size) == [[[1.0, 1.0]] * size] * size
        )


def test_a_compiled_call_that_fails_on_one_rank_exchanges_nothing_twice():
    # It ran again eagerly: what it had exchanged was exchanged again, with what others did next.
    f = wg.compile(lambda x, i: (dist.functional.all_reduce(x), x[i])[1])
    g = wg.compile(lambda x: dist.functional.all_reduce(3 * x))

    def work(rank):
        for k in (0, 3 * rank):
            if k < 3:
                f(wg.ones(3), wg.tensor([k]))
            else:
                with pytest.raises(IndexError, match="index 3 is out of bounds"):
                    f(wg.ones(3), wg.tensor([k]))
        return [g(wg.ones(3)).tolist() for _ in range(2)]

    assert outcome(work) == [[[6.0] * 3] * 2] * 2


def received(x):
    y = wg.zeros(2)
    if dist.get_rank() == 0:
        dist.send(x, 1)
        return x
    dist.recv(y, 0)
    return y


def told(x):
    texts = [None, None]
    dist.all_gather_object(texts, float(x.sum()))
    return x * texts[0]


def written(collective, *args):
    def run(x):
        y = x if dist.get_rank() == 0 else wg.zeros(2)
        collective(y, *args)
        return 2 * y if dist.get_rank() == 0 or collective is not dist.reduce else x

    return run


def scattered(x):
    y = wg.zeros(2)
    dist.scatter(y, [x, 2 * x] if dist.get_rank() == 0 else None, 0)
    return y


def met(x):
    dist.barrier()
    return x + 1


@pytest.mark.parametrize(
    "f",
    [
        written(dist.broadcast, 0),
        written(dist.all_reduce),
        written(dist.reduce, 0),
        scattered,
        met,
        told,
        received,
    ],
    ids=["broadcast", "all_reduce", "reduce", "scatter", "barrier", "objects", "messages"],
)
@pytest.mark.filterwarnings("ignore:.*runs eagerly for such arguments")
def test_what_a_rank_brings_nothing_new_to_is_part_of_its_program(f):
    # It was carried out while the function was compiled, and what came then stayed for ever.
    def results(run):
        return [run(wg.ones(2) * (k + 1)).tolist() for k in range(4)]

    eager = outcome(lambda rank: results(f), timeout=5)
    assert outcome(lambda rank: results(wg.compile(f)), timeout=5) == eager
    assert isinstance(eager[0], list)


def test_a_compiled_call_brings_what_only_others_need():
    # What no result of its own needed was left out of its program: others waited for it.
    def work(rank):
        total = wg.compile(lambda x: dist.functional.reduce(x, 0) if rank == 0 else x)
        brings = wg.compile(lambda x: (dist.functional.reduce(x, 0), 2 * x)[1])
        return (total if rank == 0 else brings)(wg.ones(2)).tolist()

    assert outcome(work, timeout=5) == [[2.0, 2.0], [2.0, 2.0]]


def test_a_compiled_step_that_leaves_parameters_out_names_them_as_an_eager_one_does():
    # Their bucket was never full, and never sent: each rank trained by itself.
    def work(rank):
        net = DDP(Branches())
        step = wg.compile(lambda x: net(x, True).sum().backward())
        for _ in range(2):
            step(batch(rank)[0])

    with pytest.warns(UserWarning, match="has left parameters without a gradient"):
        found = outcome(work)
    assert all("no gradient came for b.0.weight, b.0.bias, c.0.weight" in text for text in found)


def test_ranks_of_which_some_compile_their_step_are_told():
    # One sends gradients and divides the sum, the others send shares: what all got was wrong.
    def work(rank):
        net = DDP(network())
        run = lambda x, y: ((net(x) - y) ** 2).mean().backward()
        (wg.compile(run) if rank == 0 else run)(*batch(rank))

    first, second = outcome(work)
    assert "rank 0: all_reduce SUM of float32[32]" in first
    assert "rank 1: all_reduce AVG of float32[32]" in second


@pytest.mark.parametrize("setting", ["find_unused_parameters", "static_graph"])
def test_a_compiled_step_whose_ranks_leave_different_parameters_out_runs_eagerly(setting):
    # One rank ran compiled, and the other eagerly: the sums that they sent were not of one kind.
    def work(rank):
        net = DDP(Branches(), **{setting: True})
        step = wg.compile(lambda x: net(x, rank == 0).sum().backward())
        for _ in range(2):
            net.zero_grad()
            step(batch(rank)[0])
        assert net.module.c[0].weight.grad is None
        return [m[0].weight.grad[0].tolist() for m in (net.module.a, net.module.b)]

    expected = [pytest.approx((batch(r)[0].sum(0) / 2).tolist(), rel=1e-5) for r in (0, 1)]
    with pytest.warns(UserWarning, match="is asked at each step"):
        assert outcome(work) == [expected] * 2


def test_an_exchange_made_for_other_ranks_is_refused():
    made_for_two = lambda: exchange(np.ones(2), "all_gather", 0, 0, 2)
    with pytest.raises(dist.DistError, match="program made for 2 ranks, and its group has 3"):
        dist.run_threads(made_for_two, 3)


def test_names_of_pytorch_are_found_where_it_has_them():
    assert wg.distributed.ReduceOp.SUM is dist.ReduceOp.SUM
    assert dist.is_available()
    assert dist.is_backend_available("gloo")
    assert not dist.is_nccl_available()
