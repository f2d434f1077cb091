"""The ring in which ranks of one machine combine blocks, turn by turn in one thread."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from wengert.distributed.near import SLOT, SLOTS, Block, Board, Differs, Layout, Ring, shared


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
    assert [block.put for block in begun] == [1] * SLOTS + [0]
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


def test_a_rank_that_came_to_another_operation_as_the_same_one_is_named():
    # Only those were that had begun fewer: a timeout did not say who was at a broadcast meanwhile.
    memory = bytearray(Board.size(3))
    boards = [Board(memory, range(3), k) for k in range(3)]
    for board, name in zip(boards, ("all_reduce", "broadcast", "all_reduce"), strict=True):
        board.note(name)
    said = boards[0].where()
    assert "rank 1 has begun 1 operations, the last of them broadcast" in said
    assert "rank 2" not in said


class Alone:
    """A communicator of one rank."""

    rank = 0

    def bcast(self, x):
        return x

    def Barrier(self):
        pass


def test_without_room_for_a_file_there_is_no_shared_memory(monkeypatch):
    memory = shared(Alone(), Board.size(2))
    assert bytes(memory) == bytes(32)
    monkeypatch.setattr("tempfile.mkstemp", lambda **_: (_ for _ in ()).throw(OSError("full")))
    assert shared(Alone(), 32) is None
