"""Samplers: in which order items are taken."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any

import numpy as np

from wengert.distributed import groups
from wengert.functions.creation import as_tensor
from wengert.functions.random import Generator, multinomial, numbers_of


class Sampler:
    """Base of samplers: subclasses write `__iter__`, which gives the items' numbers."""

    def __init__(self, data_source: Any = None) -> None:
        pass

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError

    def __class_getitem__(cls, item: Any) -> type:
        return cls


class SequentialSampler(Sampler):
    """In order."""

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


BLOCK = 1 << 14
"""So many numbers are drawn with replacement at once: an epoch may be longer than memory."""


class RandomSampler(Sampler):
    """In random order, or drawn with replacement."""

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        if not isinstance(replacement, bool):
            raise TypeError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(
                "num_samples should be a positive integer value, but got "
                f"num_samples={self.num_samples}"
            )

    @property
    def num_samples(self) -> int:
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        n, wanted = len(self.data_source), self.num_samples
        rng = numbers_of(self.generator)
        if self.replacement:
            for start in range(0, wanted, BLOCK):
                yield from rng.integers(n, size=min(BLOCK, wanted - start)).tolist()
            return
        # All is drawn at once: what else draws in the meantime cannot change the order.
        passes = [rng.permutation(n) for _ in range(-(-wanted // n))]
        yield from np.concatenate(passes)[:wanted].tolist()

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """Given numbers in random order."""

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for i in numbers_of(self.generator).permutation(len(self.indices)).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """Drawn with given probabilities, which need not sum to 1."""

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ValueError(
                f"num_samples should be a positive integer value, but got num_samples={num_samples}"
            )
        if not isinstance(replacement, bool):
            raise ValueError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        self.weights = as_tensor(np.asarray(weights, np.float64))
        if self.weights.ndim != 1:
            raise ValueError(
                "weights should be a 1d sequence but given weights have shape "
                f"{tuple(self.weights.shape)}"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = multinomial(
            self.weights, self.num_samples, self.replacement, generator=self.generator
        )
        yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler):
    """Lists of `batch_size` numbers that another sampler gives.

    >>> list(BatchSampler(SequentialSampler(range(5)), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(
                f"batch_size should be a positive integer value, but got batch_size={batch_size}"
            )
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        numbers = iter(self.sampler)
        while batch := list(itertools.islice(numbers, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        n = len(self.sampler)  # type: ignore[arg-type]
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)


class DistributedSampler(Sampler):
    """One process' share of a data set that `num_replicas` processes go through together.

    Within a process group both numbers are those of the group, unless given.

    Every process shuffles alike, by `seed` and the epoch given to `set_epoch`, and takes every
    `num_replicas`-th item from its `rank` on. So that all take equally many, some items are taken
    twice, or with `drop_last` left out.

    >>> [list(DistributedSampler(range(5), 2, rank, shuffle=False)) for rank in (0, 1)]
    [[0, 2, 4], [1, 3, 0]]
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            if not groups.is_initialized():
                raise RuntimeError(
                    "DistributedSampler: give num_replicas, the number of processes, and rank, the "
                    "number of this one; there is no process group to ask."
                )
            own = groups.resolve(None, "DistributedSampler")
            if num_replicas is None and rank is None:
                own.watch(self._divide)
            num_replicas = own.size() if num_replicas is None else num_replicas
            rank = own.rank() if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ValueError(
                f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]"
            )
        self.dataset = dataset
        self.epoch = 0
        self.shuffle = shuffle
        self.seed = seed
        self.drop_last = drop_last
        self._share(num_replicas, rank)

    def _share(self, num_replicas: int, rank: int) -> None:
        self.num_replicas = num_replicas
        self.rank = rank
        n = len(self.dataset)
        self.num_samples = n // num_replicas if self.drop_last else -(-n // num_replicas)
        self.total_size = self.num_samples * num_replicas

    def _divide(self) -> None:
        """The ranks are others now: this one's share of the data is another."""
        self._share(groups.get_world_size(), groups.get_rank())

    def set_epoch(self, epoch: int) -> None:
        """Name the epoch, before going through it: it decides the shuffling."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[int]:
        n = len(self.dataset)
        order = list(range(n))
        if self.shuffle:
            generator = Generator().manual_seed(self.seed + self.epoch)
            order = generator._numbers.permutation(n).tolist()
        wanted = itertools.islice(itertools.cycle(order), self.total_size)
        return itertools.islice(wanted, self.rank, None, self.num_replicas)

    def __len__(self) -> int:
        return self.num_samples
