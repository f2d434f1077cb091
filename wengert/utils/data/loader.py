"""DataLoader: batches of a data set, shuffled if asked for."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.autograd.record import recorder
from wengert.functions.creation import as_tensor, tensor
from wengert.functions.random import Generator, default_generator
from wengert.imports import lacking as _lacking
from wengert.tensor import Tensor, wrap
from wengert.utils.data.datasets import IterableDataset, Subset, TensorDataset
from wengert.utils.data.samplers import BatchSampler, RandomSampler, SequentialSampler
from wengert.utils.data.worker_info import END
from wengert.utils.data.worker_info import get_worker_info as get_worker_info

if TYPE_CHECKING:
    from wengert.utils.data import workers

# ---- samples to batches --------------------------------------------------------------------


def default_collate(batch: Sequence[Any]) -> Any:
    """Samples as one batch: tensors and arrays stacked, numbers made a tensor, containers by part.

    >>> default_collate([(1, 2.5), (3, 4.5)])
    [tensor([1, 3]), tensor([2.5000, 4.5000], dtype=wengert.float64)]
    """
    first = batch[0]
    if isinstance(first, Tensor):
        for k, x in enumerate(batch):
            if not isinstance(x, Tensor):
                raise TypeError(
                    f"expected Tensor as element {k} of a batch, but got {type(x).__name__}"
                )
        arrays = [x._array for x in batch if x._node is None]
        if len(arrays) == len(batch) and {*map(type, arrays)} == {np.ndarray}:
            return wrap(_stacked(arrays))
        return recorder(np.stack)(list(batch), 0)
    if isinstance(first, np.ndarray):
        if first.dtype.kind in "OSU":
            raise TypeError(_wrong(first.dtype))
        return as_tensor(_stacked([np.asarray(x) for x in batch]))
    if isinstance(first, np.generic):
        return as_tensor(np.asarray(batch))
    if isinstance(first, float):
        return tensor(batch, dtype=np.dtype(np.float64))
    if isinstance(first, int):
        return tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return _rebuilt(first, {k: default_collate([sample[k] for sample in batch]) for k in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(default_collate(part) for part in zip(*batch, strict=True)))
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        parts = [default_collate(part) for part in zip(*batch, strict=True)]
        return parts if isinstance(first, (tuple, list)) else _rebuilt(first, parts)
    raise TypeError(_wrong(type(first)))


def _stacked(arrays: Sequence[Any]) -> Any:
    """np.stack, in a third of its time for small arrays."""
    shape = arrays[0].shape
    for i, array in enumerate(arrays):
        if array.shape != shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 and "
                f"{list(array.shape)} at entry {i}. Give DataLoader a collate_fn that pads them."
            )
    return np.array(arrays)


def _wrong(kind: Any) -> str:
    return (
        "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found "
        f"{kind}. Give DataLoader a collate_fn of your own."
    )


def _rebuilt(like: Any, content: Any) -> Any:
    try:
        return type(like)(content)
    except TypeError:
        return content


def default_convert(data: Any) -> Any:
    """One sample with its arrays made tensors: what a loader without batches returns."""
    if isinstance(data, (Tensor, str, bytes)):
        return data
    if isinstance(data, (np.ndarray, np.generic)):
        return data if np.asarray(data).dtype.kind in "OSU" else as_tensor(np.asarray(data))
    if isinstance(data, Mapping):
        return _rebuilt(data, {k: default_convert(v) for k, v in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(default_convert(v) for v in data))
    if isinstance(data, tuple):
        return [default_convert(v) for v in data]
    if isinstance(data, Sequence):
        return _rebuilt(data, [default_convert(v) for v in data])
    return data


# ---- indices to batches --------------------------------------------------------------------


class Fetcher:
    """Makes the function that loads batches of a data set: here, or in a worker process."""

    def __init__(
        self, iterable: bool, size: int | None, batches: bool, drop_last: bool, collate: Any
    ) -> None:
        self.iterable = iterable
        self.size = size
        self.batches = batches
        self.drop_last = drop_last
        self.collate = collate

    def __call__(self, dataset: Any) -> Callable[[Any], Any]:
        if self.iterable:
            return self._from_iterable(iter(dataset))
        if self.batches:
            return lambda indices: self._batch(dataset, indices)
        return lambda index: self.collate(dataset[index])

    def _batch(self, dataset: Any, indices: Any) -> Any:
        if type(indices) is not list:
            indices = list(indices)
        while type(dataset) is Subset:
            numbers, dataset = dataset.indices, dataset.dataset
            indices = [numbers[i] for i in indices]
        if type(dataset) is TensorDataset and self.collate is default_collate:
            # One indexing operation for the whole batch instead of one per sample.
            where = np.asarray(indices, np.int64)
            return [wrap(x._array[where]) if x._node is None else x[where] for x in dataset.tensors]
        getitems = getattr(dataset, "__getitems__", None)
        samples = getitems(indices) if getitems is not None else [dataset[i] for i in indices]
        return self.collate(samples)

    def _from_iterable(self, items: Iterator[Any]) -> Callable[[Any], Any]:
        """What gives the next batch, and END when there is none."""
        if self.size is None:

            def following(_: Any) -> Any:
                item = next(items, END)
                return item if item is END else self.collate(item)

            return following
        size = self.size

        def following_batch(_: Any) -> Any:
            batch = list(itertools.islice(items, size))
            if not batch or (self.drop_last and len(batch) < size):
                return END
            return self.collate(batch)

        return following_batch


# ---- the loader ----------------------------------------------------------------------------


class DataLoader:
    """Goes through a data set in batches.

    With `num_workers` > 0 that many processes load them, each up to `prefetch_factor` (2) batches
    ahead; the batches and their order are the same. `worker_init_fn(id)` is called in each, its
    generators seeded from `generator`; `get_worker_info()` tells a data set where it is. An
    exception there is raised here, with its traceback; so is the death of a worker, and after
    `timeout` seconds its silence. `multiprocessing_context` is the way processes are started.

    `pin_memory` asks for memory that a GPU can read fast: with no GPU there is nothing to do.

    `state_dict()` says which batch of the epoch is next; after `load_state_dict` the first epoch
    begins there, with the same shuffling.

    >>> import wengert as wg
    >>> loader = DataLoader(TensorDataset(wg.arange(5)), batch_size=2)
    >>> [batch.tolist() for (batch,) in loader]
    [[0, 1], [2, 3], [4]]
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        self._check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self._check_context(multiprocessing_context, num_workers)
        self.dataset = dataset
        self.num_workers = num_workers
        self.pin_memory = pin_memory
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        if not isinstance(generator, (Generator, NoneType)):
            raise TypeError(f"generator must be a Generator, not {type(generator).__name__}")
        self.generator = generator
        self.prefetch_factor = prefetch_factor
        self.persistent_workers = persistent_workers
        self.multiprocessing_context = multiprocessing_context
        self.pin_memory_device = pin_memory_device
        self.in_order = in_order
        self._pool: workers.Pool | None = None
        self._start: Tensor | None = None
        self._given = 0
        self._resume: tuple[Tensor, int] | None = None
        self._iterable = isinstance(dataset, IterableDataset)
        if self._iterable:
            if shuffle:
                raise ValueError(
                    "DataLoader with IterableDataset: expected unspecified shuffle option, but got "
                    f"shuffle={shuffle}"
                )
            if sampler is not None or batch_sampler is not None:
                raise ValueError(
                    "DataLoader with IterableDataset: expected unspecified sampler option, but got "
                    f"sampler={sampler}, batch_sampler={batch_sampler}"
                )
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, "
                    "and drop_last"
                )
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError(
                "batch_size=None option disables auto-batching and is mutually exclusive with "
                "drop_last"
            )
        self.batch_size = batch_size
        self.drop_last = drop_last
        if sampler is None and not self._iterable:
            sampler = (
                RandomSampler(dataset, generator=generator)
                if shuffle
                else SequentialSampler(dataset)
            )
        if batch_size is not None and batch_sampler is None and not self._iterable:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self._batches = batch_sampler is not None or (self._iterable and batch_size is not None)
        if collate_fn is None:
            collate_fn = default_collate if self._batches else default_convert
        self.collate_fn = collate_fn

    @staticmethod
    def _check_workers(num_workers: int, timeout: float, prefetch: Any, persistent: bool) -> None:
        if num_workers < 0:
            raise ValueError(
                "num_workers option should be non-negative; use num_workers=0 to disable "
                "multiprocessing."
            )
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch is not None:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing. let "
                "num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
            )
        if num_workers == 0 and persistent:
            raise ValueError("persistent_workers option needs num_workers > 0")

    @staticmethod
    def _check_context(context: Any, num_workers: int) -> None:
        if context is None:
            return
        if num_workers == 0:
            raise ValueError(
                "multiprocessing_context can only be used with multi-process loading "
                f"(num_workers > 0), but got num_workers={num_workers}"
            )
        import multiprocessing  # takes 10 ms, which few programs need to spend

        known = multiprocessing.get_all_start_methods()
        if isinstance(context, str) and context not in known:
            raise ValueError(
                "multiprocessing_context option should specify a valid start method in "
                f"{known!r}, but got multiprocessing_context={context!r}"
            )

    # ---- one epoch ------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Any]:
        generator = self.generator or default_generator
        resume, self._resume = self._resume, None
        if resume is None:
            start, skip, after = generator.get_state(), 0, None
        else:
            (start, skip), after = resume, generator.get_state()
            generator.set_state(start)
        self._start, self._given = start, skip
        # Drawn with and without workers, so that their number does not change the shuffling.
        seed = int(generator._numbers.integers(2**63 - 1))
        indices = self._indices()
        if not self._iterable:
            for _ in itertools.islice(indices, skip):
                pass
        batches = self._batches_of(indices, seed)
        if self._iterable:
            for _ in itertools.islice(batches, skip):
                pass
        if after is not None and skip:
            generator.set_state(after)
        return self._counted(batches)

    def _counted(self, batches: Iterator[Any]) -> Iterator[Any]:
        """The batches, while the loader's position moves with them."""
        start = self._start
        for batch in batches:
            if self._start is start:
                self._given += 1
            yield batch
        if self._start is start:
            self._start, self._given = None, 0

    def _indices(self) -> Iterator[Any]:
        """What is asked for, batch by batch: numbers of items, or of an iterable just more."""
        if self._iterable:
            return itertools.repeat(None)
        return iter(self.sampler if self.batch_sampler is None else self.batch_sampler)

    def _batches_of(self, indices: Iterator[Any], seed: int) -> Iterator[Any]:
        if self.num_workers:
            from wengert.utils.data import workers

            pool = self._pool
            if pool is None or not pool.close.alive:
                pool = workers.Pool(self, seed)
                self._pool = pool if self.persistent_workers else None
            return workers.Batches(self, pool, indices)
        fetch = self.fetcher()(self.dataset)
        return itertools.takewhile(lambda batch: batch is not END, map(fetch, indices))

    def fetcher(self) -> Callable[[Any], Callable[[Any], Any]]:
        """What makes, of a data set, the function from indices to a batch; workers get it too."""
        return Fetcher(
            self._iterable, self.batch_size, self._batches, self.drop_last, self.collate_fn
        )

    # ---- its position ---------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Where the current epoch stands: how many batches were given, and how it was shuffled.

        With workers, batches loaded ahead do not count. Between epochs `given` is 0.
        """
        return {"start": self._start, "given": self._given}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Let the next epoch begin where `state_dict` was called.

        Batches passed are skipped without loading them; those of an iterable data set are loaded
        and thrown away. Afterwards the generator stands where it stood, so load its state as well.
        """
        start = state_dict["start"]
        self._resume = None if start is None else (start, int(state_dict["given"]))

    def __len__(self) -> int:
        """How many batches there are; TypeError if the data set does not know its length."""
        if self._iterable:
            n = len(self.dataset)
            if self.batch_size is None:
                return n
            return n // self.batch_size if self.drop_last else -(-n // self.batch_size)
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)


_lacking(__name__)
