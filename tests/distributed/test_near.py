"""The ring in which ranks of one machine combine blocks, turn by turn in one thread."""

from __future__ import annotations

import itertools
import os
import random
import sys

import numpy as np
import pytest

import wengert as wg
from wengert.distributed import mpi, near
from wengert.distributed.board import KEPT, Board
from wengert.distributed.collectives import ReduceOp
from wengert.distributed.near import (
    AT_ONCE,
    SLOT,
    SLOTS,
    Block,
    Differs,
    Layout,
    Place,
    Ring,
    shared,
)
from wengert.distributed.near_code import Entered
from wengert.tensor import wrap


def rings(size: int) -> list[Ring]:
    memory = bytearray(Ring.size(size))
    return [Ring(memory, r, size) for r in range(size)]


def begin(ring: Ring, x: np.ndarray, op: np.ufunc = np.add, number: int = 0) -> Block:
    block = Block(Layout(ring, number, x.shape, x.dtype, op), x, x)
    ring.add(block)
    return block


def numbers(rank: int, count: int) -> np.ndarray:
    return np.random.default_rng(rank).standard_normal(count).astype(np.float32)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_blocks_longer_than_the_ring_are_combined_in_any_order_of_turns(size):
    count = SLOT // 4 * (SLOTS + 3) + 5
    every = [numbers(r, count) for r in range(size)]
    into = [x.copy() for x in every]
    around = rings(size)
    blocks = [begin(ring, x) for ring, x in zip(around, into, strict=True)]
    turns = random.Random(size)
    for _ in range(100 * size):
        turns.choice(around).go_on()
    assert all(block.done for block in blocks)
    expected = sum(every[1:], every[0])  # in the order of the ranks
    assert all(np.array_equal(x, expected) for x in into)


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (2, 3)])
def test_blocks_of_any_shape_are_combined(shape):
    first, second = np.full(shape, 1.5), np.full(shape, 2.5)
    around = rings(2)
    blocks = [begin(ring, x) for ring, x in zip(around, (first, second), strict=True)]
    around[0].go_on()
    assert all(block.done for block in blocks)
    assert np.array_equal(first, second)
    assert np.array_equal(first, np.full(shape, 4.0))


def test_a_rank_may_be_ahead_by_as_much_as_there_is_room_for():
    first, second = rings(2)
    x = [np.full((3, 1), k) for k in range(SLOTS + 1)]
    begun = [begin(first, each, np.maximum) for each in x]
    assert [block.written for block in begun] == [True] * SLOTS + [False]
    for k in range(SLOTS + 1):
        y = np.full((3, 1), -k)
        block = begin(second, y, np.maximum)
        first.go_on()
        assert begun[k].done
        second.go_on()
        assert block.done
        assert x[k].tolist() == y.tolist() == [[k]] * 3


def test_ranks_that_come_to_different_operations_are_told_at_every_call():
    for numbers_, size in itertools.product([(0, 1), (3, 2)], [2, 3]):
        around = rings(size)
        for rank, ring in enumerate(around):
            try:
                begin(ring, np.ones(2), number=numbers_[rank == size - 1])
            except Differs:
                assert rank == size - 1  # it sees at once what the others have written
        for rank, ring in enumerate(around):
            with pytest.raises(Differs) as error:
                ring.go_on()
            other, number = error.value.args
            assert number == numbers_[other == size - 1] != numbers_[rank == size - 1]


def boards(size: int) -> list[Board]:
    memory = bytearray(Board.size(size))
    return [Board(memory, range(size), k) for k in range(size)]


def test_a_rank_that_came_to_another_operation_as_the_same_one_is_named():
    # Only those were that had begun fewer: a timeout did not say who was at a broadcast meanwhile.
    three = boards(3)
    for board, number in zip(three, (0, 1, 0), strict=True):
        board.note(number)
    said = three[0].where(("all_reduce", "broadcast").__getitem__)
    assert "rank 1 has begun 1 operations, the last of them broadcast" in said
    assert "rank 2" not in said


def test_a_rank_that_has_left_is_absent_from_what_it_had_not_begun():
    first, second = boards(2)
    first.note(0)
    second.note(0)
    second.leave(os.getppid())  # a process forked of it ends: nothing to say
    assert first.absent(2) is None
    second.leave(os.getpid())
    assert (first.absent(1), first.absent(2)) == (None, 1)


def test_before_the_first_operation_only_the_others_are_told_of():
    # A rank that waited in the comparison before the first one was told that it had begun none.
    first, _ = boards(2)
    said = first.where(str)
    assert "rank 1 has begun 0 operations, none of them in this group" in said
    assert "rank 0" not in said


def test_a_rank_that_had_come_to_another_operation_is_found_by_who_comes_later():
    first, second, third = boards(3)
    places = [first.note(n) for n in (0, 7, 2)]
    assert [second.note(n) for n in (0, 6)] == places[:2]
    assert first.differing(places[0]) is None
    assert first.differing(places[1]) == (1, 6)
    assert second.differing(places[1]) == (0, 7)
    assert first.differing(places[2]) is None  # nobody else has come there
    assert third.differing(third.note(0)) is None
    for _ in range(2 * KEPT):
        first.note(2)
    assert second.differing(places[1]) is None  # what it was is no longer known,
    for _ in range(2 * KEPT):
        second.note(2)
    found = second.differing(second.note(2))
    assert found is not None  # but that it was another one still is
    assert found[0] == 0


class Alone:
    """A communicator of one rank."""

    rank = 0

    def bcast(self, x):
        return x

    def Barrier(self):
        pass


@pytest.mark.parametrize("rank", [0, 1])
def test_the_file_of_shared_memory_is_gone_when_a_rank_died_before_all_had_it(rank, tmp_path):
    # Each run of which a rank was killed there left 9 MB in memory.
    class Losing(Alone):
        def bcast(self, x):
            return x or near._reserved(8, [str(tmp_path)])

        def Barrier(self):
            raise OSError("a rank was lost")

    one = Losing()
    one.rank = rank
    with pytest.raises(OSError, match="a rank was lost"):
        shared(one, 8, [str(tmp_path)])
    assert list(tmp_path.iterdir()) == []


def test_without_room_for_a_file_there_is_no_shared_memory(monkeypatch):
    memory = shared(Alone(), Board.size(2))
    assert bytes(memory) == bytes(Board.size(2))
    monkeypatch.setattr("tempfile.mkstemp", lambda **_: (_ for _ in ()).throw(OSError("full")))
    assert shared(Alone(), 32) is None


@pytest.mark.parametrize("count", [0, 3, SLOT // 8, 2 * SLOT // 8 + 5])
@pytest.mark.parametrize("size", [2, 3])
def test_what_ranks_make_in_places_is_combined_and_stays_until_all_have_read_it(size, count):
    slots = Place.slots(count, np.dtype(float))
    memory = bytearray(Ring.size(size, slots, SLOT))
    places = [
        Place(Ring(memory, r, size, slots, SLOT), 4, count, np.dtype(float)) for r in range(size)
    ]
    for turn in range(3):
        made = [turn + np.random.default_rng(r).standard_normal(count) for r in range(size)]
        into = [np.zeros(count) for _ in range(size)]
        for place, x, y in zip(places, made, into, strict=True):
            assert place.free
            place.array[:] = x
            place.ring.add(place.block(y))
            assert not place.free
        for place in places:
            place.ring.go_on()
        assert all(place.free for place in places)
        assert all(np.array_equal(place.array, x) for place, x in zip(places, made, strict=True))
        assert all(np.array_equal(y, sum(made[1:], made[0])) for y in into)


# ---- machine code ------------------------------------------------------------------------------


@pytest.mark.parametrize("op", [op for op in ReduceOp if op is not ReduceOp.AVG])
def test_numbers_of_every_dtype_are_combined_as_numpy_does(op):
    taken = []
    for char in "?bBhHiIlLqQefdgFDG":
        dtype = np.dtype(char)
        first, second = rings(2)
        if not first.takes(op.function, dtype):
            continue
        x, y = (np.random.default_rng(r).integers(0, 3, 37).astype(dtype) for r in (0, 1))
        expected = op.function(x, y)
        for ring, array in ((first, x), (second, y)):
            begin(ring, array, op.function)
        first.go_on()
        assert np.array_equal(x, expected)
        assert np.array_equal(y, expected)
        taken.append(char)
    integers = set("?bBhHiIlLqQ")
    assert set(taken) >= (integers if op.name[0] == "B" else integers | set("efdFD"))


def test_numbers_that_numpy_combines_by_other_means_are_left_to_mpi():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    (ring,) = rings(1)
    for dtype in (np.dtype(ml_dtypes.bfloat16), np.dtype(object), np.dtype(">f4")):
        assert not ring.takes(np.add, dtype)


def entered(ring: Ring, x: np.ndarray, number: int = 0):
    layout = Layout(ring, number, x.shape, x.dtype, np.add)
    made = layout.at_once(Board(bytearray(Board.size(2)), range(2), ring.rank))
    assert made is not None
    return made


def test_a_block_that_is_combined_at_once_is_left_when_nobody_comes():
    first, second = rings(2)
    x, y = np.full(3, 1.0), np.full(3, 2.0)
    tensors = [wg.from_numpy(array) for array in (x, y)]
    at_once = entered(first, x)
    references = sys.getrefcount(x)
    assert at_once.begin(tensors[0]) == Entered.LEFT
    assert at_once.begin(tensors[0]) == Entered.NOT  # one is under way
    assert at_once.end() == Entered.LEFT
    block = first.left(at_once.words)
    assert block is not None
    assert block.written
    assert not block.done
    assert at_once.end() == Entered.LEFT
    assert entered(second, y).begin(tensors[1]) == Entered.DONE
    first.go_on()
    assert block.done
    assert at_once.end() == Entered.DONE
    assert x.tolist() == y.tolist() == [3.0] * 3
    assert first.left(at_once.words) is None
    assert sys.getrefcount(x) == references


@pytest.mark.parametrize("count", [1, 3, SLOT // 8 + 5, AT_ONCE * SLOT // 8])
def test_a_block_that_others_come_to_before_its_end_is_done_there(count):
    first, second = rings(2)
    x, y = (np.random.default_rng(r).standard_normal(count) for r in (0, 1))
    both = [entered(ring, array) for ring, array in ((first, x), (second, y))]
    tensors, references = [wg.from_numpy(array) for array in (x, y)], sys.getrefcount(x)
    for _ in range(2 * SLOTS):
        expected = x + y
        assert both[0].begin(tensors[0]) == Entered.LEFT
        assert both[1].begin(tensors[1]) in (Entered.LEFT, Entered.DONE)
        assert [each.end() for each in both] == [Entered.DONE] * 2
        assert np.array_equal(x, expected)
        assert np.array_equal(y, expected)
        x /= 2
        y /= 2
    assert sys.getrefcount(x) == references


def test_a_block_of_more_parts_than_are_combined_at_once_is_waited_for():
    (ring, _) = rings(2)
    layout = Layout(ring, 0, (AT_ONCE * SLOT // 8 + 1,), np.dtype(float), np.add)
    assert layout.at_once(Board(bytearray(Board.size(2)), range(2), 0)) is None


def test_what_is_combined_at_once_is_written_down_as_all_else():
    (ring, _), (board, other) = rings(2), boards(2)
    layout = Layout(ring, 5, (3,), np.dtype(float), np.add)
    at_once = layout.at_once(board)
    assert at_once is not None
    board.note(3)
    assert at_once.begin(wg.zeros(3, dtype=wg.float64)) == Entered.LEFT
    for number in (3, 5):
        other.note(number)
    assert board.count == other.count == 2
    assert board.row.tolist() == other.row.tolist()


def test_ranks_without_a_core_each_do_not_spin(monkeypatch):
    # Three ranks on two cores: who looked for the others held the core that they needed.
    assert rings(2)[0].spins > 0 or os.cpu_count() == 1
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert [ring.spins for ring in rings(3)] == [0, 0, 0]


def test_blocks_that_follow_one_that_was_left_come_after_it():
    first, second = rings(2)
    x, y, z = np.full(3, 1.0), np.full(3, 10.0), np.full(3, 100.0)
    assert entered(first, x).begin(wg.from_numpy(x)) == Entered.LEFT
    after = begin(first, y)
    assert entered(second, z).begin(wg.from_numpy(z)) == Entered.DONE
    begin(second, z)
    first.go_on()
    assert after.done
    assert x.tolist() == [101.0] * 3
    assert y.tolist() == z.tolist() == [111.0] * 3


def test_what_is_no_whole_tensor_of_that_shape_and_dtype_is_not_begun():
    # Each shape and dtype is another operation, which the others have to have come to as well.
    (ring, _) = rings(2)
    x = np.zeros(6)
    at_once = entered(ring, np.zeros(3))
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    unaligned = np.zeros(25, np.uint8)[1:].view(np.float64)
    others = np.zeros(4), np.zeros((3, 1)), np.zeros(()), np.zeros(3, np.int64)
    matrix = np.zeros((1, 3)).view(np.matrix)
    recorded = wg.zeros(3, dtype=wg.float64, requires_grad=True)
    tensors = [wrap(array) for array in (x[::2], frozen, unaligned, matrix, *others)]
    for wrong in (np.zeros(3), [0.0] * 3, None, recorded, recorded * 2, *tensors):
        assert at_once.begin(wrong) == Entered.NOT
    assert ring.go_on() is None


def test_ranks_that_differ_at_once_are_told():
    first, second = rings(2)
    both = [entered(ring, np.zeros(3), number) for number, ring in enumerate((first, second))]
    for each in both:
        assert each.begin(wg.zeros(3, dtype=wg.float64)) == Entered.LEFT
        assert each.end() == Entered.LEFT
    for ring in (first, second):
        with pytest.raises(Differs):
            ring.go_on()


def test_who_waits_for_parts_that_come_does_not_sleep(monkeypatch):
    # It slept a millisecond between two looks, however fast others were: cores had nothing to do.
    class Coming(mpi.Polled):
        parts = 0

        def poll(self):
            self.parts = min(self.parts + 1, 100)
            return next(looks) == 150

    looks, clock, slept = itertools.count(), itertools.count(0, 1e-3), []
    monkeypatch.setattr(mpi.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(mpi.time, "sleep", lambda seconds: slept.append(len(slept)))
    Coming().wait(10)
    assert 40 < len(slept) < 50
