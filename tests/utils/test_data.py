"""Data sets, samplers, loaders."""

import collections
import itertools

import numpy as np
import pytest

import wengert as wg
from wengert.utils.data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    StackDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    random_split,
)


class Squares(Dataset):
    def __init__(self, n):
        self.n = n

    def __getitem__(self, i):
        if not -self.n <= i < self.n:
            raise IndexError(i)
        return i, float(i * i)

    def __len__(self):
        return self.n


class Counting(IterableDataset):
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return iter(range(self.n))


def test_tensor_datasets_must_agree_in_length():
    with pytest.raises(AssertionError, match="Size mismatch"):
        TensorDataset(wg.ones(2), wg.ones(3))


def test_datasets_are_joined_cut_and_stacked():
    joined = Squares(2) + Squares(3)
    assert isinstance(joined, ConcatDataset)
    assert [joined[i][0] for i in range(5)] == [0, 1, 0, 1, 2]
    assert joined[-1] == (2, 4.0)
    with pytest.raises(ValueError, match="absolute value"):
        joined[-6]
    assert list(Subset(Squares(9), [8, 3]))[1] == (3, 9.0)
    assert StackDataset(a=[1, 2], b=[3, 4])[1] == {"a": 2, "b": 4}
    assert StackDataset([1, 2], [3, 4])[0] == (1, 3)
    chained = Counting(2) + Counting(3)
    assert isinstance(chained, ChainDataset)
    assert list(chained) == [0, 1, 0, 1, 2]


def test_random_splits_partition_the_data():
    generator = wg.Generator().manual_seed(0)
    parts = random_split(range(10), [3, 7], generator)
    assert sorted(i for part in parts for i in part) == list(range(10))
    assert [len(p) for p in random_split(range(11), [0.5, 0.5])] == [6, 5]
    with pytest.raises(ValueError, match="does not equal the length"):
        random_split(range(10), [3, 3])


def test_samplers_give_the_orders_they_promise():
    assert list(SequentialSampler(range(3))) == [0, 1, 2]
    assert sorted(RandomSampler(range(5))) == list(range(5))
    assert len(list(RandomSampler(range(5), replacement=True, num_samples=12))) == 12
    assert len(list(RandomSampler(range(5), num_samples=12))) == 12
    assert sorted(SubsetRandomSampler([4, 7])) == [4, 7]
    assert set(WeightedRandomSampler([0.0, 1.0], 5)) == {1}
    assert list(BatchSampler(range(5), 2, True)) == [[0, 1], [2, 3]]
    assert len(BatchSampler(range(5), 2, True)) == 2
    a, b = (
        list(RandomSampler(range(20), generator=wg.Generator().manual_seed(1))) for _ in range(2)
    )
    assert a == b
    with pytest.raises(ValueError, match="num_samples should be a positive"):
        RandomSampler([])


def test_loaders_batch_in_order_and_may_drop_the_last():
    loader = DataLoader(Squares(5), batch_size=2)
    batches = list(loader)
    assert [b[0].tolist() for b in batches] == [[0, 1], [2, 3], [4]]
    assert batches[0][1].dtype == wg.float64
    assert len(loader) == 3
    assert (
        len(DataLoader(Squares(5), 2, drop_last=True))
        == len(list(DataLoader(Squares(5), 2, drop_last=True)))
        == 2
    )


def test_shuffled_loaders_give_everything_once_in_a_new_order_each_time():
    wg.manual_seed(0)
    loader = DataLoader(TensorDataset(wg.arange(100)), 10, shuffle=True)
    first, second = (np.concatenate([b.numpy() for (b,) in loader]) for _ in range(2))
    assert sorted(first) == list(range(100))
    assert not np.array_equal(first, second)


def test_tensor_datasets_are_batched_as_sample_by_sample():
    data = TensorDataset(wg.randn(7, 3), wg.arange(7))
    slow = DataLoader(data, 3, collate_fn=lambda samples: default_collate(samples))
    for quick, plain in zip(DataLoader(data, 3), slow, strict=True):
        assert type(quick) is list
        for a, b in zip(quick, plain, strict=True):
            assert wg.equal(a, b)


def test_loaders_without_batches_give_samples():
    loader = DataLoader(Squares(3), batch_size=None)
    assert list(loader) == [[0, 0.0], [1, 1.0], [2, 4.0]]
    assert len(loader) == 3


def test_iterable_datasets_are_batched_and_have_no_length():
    loader = DataLoader(Counting(5), 2)
    assert [b.tolist() for b in loader] == [[0, 1], [2, 3], [4]]
    with pytest.raises(TypeError, match=r"has no len\(\)"):
        len(loader)
    with pytest.raises(ValueError, match="IterableDataset: expected unspecified shuffle"):
        DataLoader(Counting(5), shuffle=True)


def test_batch_samplers_replace_the_other_options():
    loader = DataLoader(Squares(4), batch_sampler=[[3, 0], [1]])
    assert [b[0].tolist() for b in loader] == [[3, 0], [1]]
    with pytest.raises(ValueError, match="mutually exclusive"):
        DataLoader(Squares(4), batch_size=2, batch_sampler=[[0]])
    with pytest.raises(ValueError, match="mutually exclusive with shuffle"):
        DataLoader(Squares(4), shuffle=True, sampler=[0])


def test_distributed_samplers_share_a_data_set_out():
    for shuffle in (False, True):
        parts = [DistributedSampler(range(10), 3, rank, shuffle, seed=4) for rank in range(3)]
        for part in parts:
            part.set_epoch(2)
        taken = [list(part) for part in parts]
        assert [len(part) for part in parts] == list(map(len, taken)) == [4, 4, 4]
        assert {i for part in taken for i in part} == set(range(10))
    short = [list(DistributedSampler(range(10), 3, r, False, drop_last=True)) for r in range(3)]
    assert short == [[0, 3, 6], [1, 4, 7], [2, 5, 8]]
    shuffled = DistributedSampler(range(10), 1, 0)
    first = list(shuffled)
    assert first == list(shuffled)
    shuffled.set_epoch(1)
    assert first != list(shuffled)
    with pytest.raises(RuntimeError, match="give num_replicas"):
        DistributedSampler(range(3))
    with pytest.raises(ValueError, match="Invalid rank 3"):
        DistributedSampler(range(3), 3, 3)


def test_samples_of_all_kinds_are_collated():
    Point = collections.namedtuple("Point", "x y")
    batch = default_collate(
        [
            {"p": Point(1, np.ones(2)), "s": "a", "t": wg.ones(1)},
            {"p": Point(2, np.zeros(2)), "s": "b", "t": wg.zeros(1)},
        ]
    )
    assert batch["p"].x.tolist() == [1, 2]
    assert batch["p"].y.shape == (2, 2)
    assert batch["s"] == ["a", "b"]
    assert batch["t"].tolist() == [[1.0], [0.0]]
    with pytest.raises(TypeError, match="collate_fn of your own"):
        default_collate([object()])
    with pytest.raises(RuntimeError, match="equal size"):
        default_collate([[1], [1, 2]])


def test_an_epoch_with_replacement_may_be_longer_than_memory():
    # All numbers were drawn at once: 75 GB.
    drawn = RandomSampler(range(10), replacement=True, num_samples=10**10)
    assert len(drawn) == 10**10
    assert set(itertools.islice(drawn, 100)) <= set(range(10))
